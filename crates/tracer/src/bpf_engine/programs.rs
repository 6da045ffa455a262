//! Loading and attaching of the BPF programs. They are detached when this is dropped, or when the process ends.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use aya_obj::btf::{Btf, BtfFeatures};
use aya_obj::{EbpfSectionKind, Map, Object, ProgramSection};

use super::bpf_syscall::ProgramKind;
use super::btf::KernelTypes;
use super::count_map::CountMap;
use super::ring_buffer::{Ring, SharedMemory};
use super::task_storage::{TaskStorage, ThreadVisitor, opens_threads};
use super::{OutcomeFilter, bpf_syscall, btf, capture_plan, records, refused};
use crate::clock::now;
use crate::error::{BpfEngineError, TraceError};
use crate::options::{TraceOptions, TraceScope};

/// The object, aligned as a reader of it wants.
#[repr(align(16))]
struct Aligned<T: ?Sized>(T);

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/calls.bpf.o")));

/// The programs and where each is attached.
const PROGRAMS: [(&str, &str); 6] = [
    // The ones that say what becomes of a thread come first, so that no call is seen of a thread that isn't followed.
    ("fork", "sched_process_fork"),
    ("end", "sched_process_exit"),
    ("execute", "sched_process_exec"),
    ("deliver", "signal_deliver"),
    ("leave", "sys_exit"),
    ("enter", "sys_enter"),
];

/// The one that sees how long processors work, attached where that is asked for.
const SWITCH: (&str, &str) = ("yields", "sched_switch");

/// The one that reads what an `execve` is given once the kernel has read it, where that is told: Linux before 6.10 has no such place.
const PREPARE: (&str, &str) = ("prepare", "sched_prepare_exec");

/// The one that is run over the threads of a process, where the kernel opens no threads.
const VISIT: (&str, &str) = ("visit", "task");

/// The kernel's types by which those are attached that are loaded with the types of what they get.
const TYPED: [&str; 3] = [
    "btf_trace_sched_process_fork",
    "btf_trace_sched_switch",
    "bpf_iter_task",
];

/// The number of the first pid namespace.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Capabilities by their numbers.
const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// The programs, loaded.
pub(super) struct Programs {
    programs: Vec<LoadedProgram>,
    /// As long as these live, the programs are attached.
    links: Vec<OwnedFd>,
    threads: TaskStorage,
    control: Arc<ControlPage>,
}

/// A program that the kernel has checked.
struct LoadedProgram {
    /// Where it is attached.
    point: &'static str,
    /// Whether it was loaded with the types of what it gets.
    typed: bool,
    program: OwnedFd,
}

/// Where the list of threads that asked for a stop, other than by `SIGCHLD`, lies in that page, and its length.
const STOPPED_AT: usize = 44;
const STOPPED: usize = 512;

/// The page that the programs and the engine share.
#[derive(Debug)]
pub(super) struct ControlPage(SharedMemory);

impl ControlPage {
    /// Says whether the reader waits to be woken.
    pub fn sleeps(&self, asleep: bool) {
        self.0.u32(0).store(u32::from(asleep), Ordering::SeqCst);
    }

    /// After how many calls a thread stops so that others have their turn; 0 for never.
    pub fn turns(&self, calls: u32) {
        self.0.u32(4).store(calls, Ordering::SeqCst);
    }

    /// Records that were lost.
    pub fn lost_records(&self) -> u64 {
        self.0.u64(8).load(Ordering::SeqCst)
    }

    /// Children that the kernel had no memory to follow.
    pub fn unfollowed_children(&self) -> u64 {
        self.0.u64(24).load(Ordering::SeqCst)
    }

    /// Takes a thread from the list of those that asked for a stop which wasn't seen yet; says whether it was in it.
    pub fn seen_stopped(&self, tid: i32) -> bool {
        (0..STOPPED).any(|place| {
            let word = self.0.u32(STOPPED_AT + place * 4);
            word.compare_exchange(tid as u32, 0, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        })
    }

    /// The threads in that list.
    pub fn stopped(&self) -> impl Iterator<Item = i32> {
        (0..STOPPED).map(|place| self.0.u32(STOPPED_AT + place * 4).load(Ordering::SeqCst) as i32)
    }

    /// Stops that threads asked for because the ring was filling up.
    pub fn backpressure_stops(&self) -> u64 {
        self.0.u64(32).load(Ordering::SeqCst)
    }
}

/// Why the kernel engine can't run here, if that can be told without trying.
pub(super) fn allowed() -> Result<(), BpfEngineError> {
    let status = std::fs::read_to_string("/proc/thread-self/status");
    let status = status.map_err(|_| BpfEngineError::Proc)?;
    let capabilities = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hexadecimal| u64::from_str_radix(hexadecimal.trim(), 16).ok())
        .unwrap_or(0);
    let has = |capability: u32| {
        capabilities >> capability & 1 == 1 || capabilities >> CAP_SYS_ADMIN & 1 == 1
    };
    for (capability, name) in [(CAP_BPF, "CAP_BPF"), (CAP_PERFMON, "CAP_PERFMON")] {
        if !has(capability) {
            return Err(BpfEngineError::Capability { name });
        }
    }
    if capabilities >> CAP_SYS_PTRACE & 1 == 0 {
        return Err(BpfEngineError::Capability {
            name: "CAP_SYS_PTRACE",
        });
    }
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if namespace.as_os_str() != FIRST_PID_NAMESPACE {
        return Err(BpfEngineError::Namespace);
    }
    if !std::fs::exists(btf::PATH).unwrap_or(false) {
        return Err(BpfEngineError::Types);
    }
    Ok(())
}

/// The programs, loaded, with what they are read by.
pub(super) struct LoadedPrograms {
    pub programs: Programs,
    pub ring: Ring,
    /// To be waited for.
    pub ring_map: OwnedFd,
    /// Where only counts are wanted.
    pub counts: Option<CountMap>,
}

/// Loads the programs; nothing is traced yet.
pub(super) fn load(options: &TraceOptions, counting: bool) -> Result<LoadedPrograms, TraceError> {
    load_with(options, counting, !opens_threads())
}

/// Loads them with the program that visits threads, or without.
fn load_with(
    options: &TraceOptions,
    counting: bool,
    visits: bool,
) -> Result<LoadedPrograms, TraceError> {
    allowed()?;
    let wanted: Vec<_> = PROGRAMS
        .into_iter()
        .chain(options.work.then_some(SWITCH))
        .chain((options.limits.is_some() && !counting).then_some(PREPARE))
        .chain(visits.then_some(VISIT))
        .collect();
    let kernel = KernelTypes::of_kernel(&TYPED)?;
    let processors = processors();
    let mut object = object(options, counting, &kernel.structures)?;
    let types = bpf_syscall::load_types(&object.types).map_err(failed("types"))?;
    let mut maps = maps(&mut object, options, counting, processors, &types)?;
    let mut programs = verified(&wanted, &object.object, &kernel, &types)?;
    // The last is run when it is wanted, and attached to nothing.
    let visitor = if visits { programs.pop() } else { None };
    let mut map = |name: &'static str| {
        let map = maps.remove(name).map(|(fd, _)| fd);
        map.ok_or(BpfEngineError::Object { what: name })
    };
    let visits = map("visits")?;
    let visitor = visitor.map(|visitor| ThreadVisitor::new(visitor.program, visits));
    let threads = TaskStorage::new(map("threads")?, visitor);
    let ring_map = map("ring")?;
    let page = rustix::param::page_size();
    let control = SharedMemory::new(map("controls")?.as_fd(), 0, page, true)
        .map_err(refused("share the programs' counters"))?;
    let ring = Ring::new(ring_map.as_fd(), options.ring).map_err(refused("share the ring"))?;
    let counts = map("counts")?;
    let counts = counting
        .then(|| CountMap::from_map(counts.as_fd(), processors))
        .transpose()
        .map_err(refused("share the programs' counts"))?;
    Ok(LoadedPrograms {
        programs: Programs {
            programs,
            links: Vec::new(),
            threads,
            control: Arc::new(ControlPage(control)),
        },
        ring,
        ring_map,
        counts,
    })
}

/// How many processors there may be, whether or not they run.
fn processors() -> u32 {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.trim().rsplit(['-', ',']).next();
    last.and_then(|last| last.parse::<u32>().ok())
        .map_or(1, |last| last.saturating_add(1))
}

/// The object, with the kernel's own offsets in it, and its types as the kernel takes them.
struct Prepared {
    object: Object,
    types: Vec<u8>,
}

/// The object with what was asked put in.
fn object(
    options: &TraceOptions,
    counting: bool,
    kernel: &Btf,
) -> Result<Prepared, BpfEngineError> {
    let plans = capture_plan::table(options);
    let wake = (u64::from(options.ring) / 8).min(256 << 10).to_ne_bytes();
    let hold = hold_at(options.ring).to_ne_bytes();
    // The verifier trips over a loop that it knows to be empty.
    let elements = options
        .limits
        .map_or(1, |limits| capture_plan::elements(limits).max(1));
    let elements = u32::try_from(elements).unwrap_or(u32::MAX).to_ne_bytes();
    let follow = u32::from(options.follows()).to_ne_bytes();
    let begins = u32::from(options.tells_pending()).to_ne_bytes();
    let outcomes =
        OutcomeFilter::from_statuses(options.statuses).unwrap_or(OutcomeFilter::All) as u32;
    let outcomes = outcomes.to_ne_bytes();
    let counting = u32::from(counting).to_ne_bytes();
    let works = u32::from(options.work).to_ne_bytes();
    let mut object = Object::parse(&OBJECT.0).map_err(failed("object"))?;
    let scope = match &options.scope {
        None => 0_u32,
        Some(TraceScope::Cgroup(_)) => 1,
        Some(TraceScope::Machine) => 2,
    };
    let scope = scope.to_ne_bytes();
    let tracer = std::process::id().to_ne_bytes();
    let began = now().to_ne_bytes();
    let settings: [(&str, &[u8]); 12] = [
        ("plans", &plans),
        ("wake_at", &wake),
        ("hold_at", &hold),
        ("elements", &elements),
        ("follow", &follow),
        ("begins", &begins),
        ("outcomes", &outcomes),
        ("counting", &counting),
        ("works", &works),
        ("scope", &scope),
        ("tracer", &tracer),
        ("began", &began),
    ];
    let settings = settings
        .into_iter()
        .map(|(name, value)| (name, (value, true)));
    object
        .patch_map_data(settings.collect())
        .map_err(failed("settings"))?;
    // A kernel that has all else that the programs need knows all of these.
    let features = BtfFeatures::new(true, true, true, true, true, true, true, true);
    let types = object
        .fixup_and_sanitize_btf(&features)
        .map_err(failed("types"))?;
    let types = types.ok_or(BpfEngineError::Object { what: "types" })?;
    let types = types.to_bytes();
    object.relocate_btf(kernel).map_err(failed("structures"))?;
    Ok(Prepared { object, types })
}

type Maps = HashMap<String, (OwnedFd, Map)>;

/// The object's maps, made, filled and put into its programs.
fn maps(
    prepared: &mut Prepared,
    options: &TraceOptions,
    counting: bool,
    processors: u32,
    types: &OwnedFd,
) -> Result<Maps, BpfEngineError> {
    let object = &mut prepared.object;
    let mut maps = Maps::new();
    for (name, mut map) in object.maps.drain() {
        match name.as_str() {
            "ring" => map.set_max_entries(options.ring),
            "larges" if !counting => map.set_max_entries(processors),
            "counts" if counting => map.set_max_entries(processors),
            // As much is read and written as the map says.
            "threads" if map.value_size() as usize != records::STORAGE => {
                return Err(BpfEngineError::Object { what: "threads" });
            }
            _ => {}
        }
        let made = made(&name, &map, types).map_err(failed("maps"))?;
        if let (Some(TraceScope::Cgroup(cgroup)), "cgroups") = (&options.scope, name.as_str()) {
            let cgroup = cgroup.as_fd().as_raw_fd().to_ne_bytes();
            bpf_syscall::update(made.as_fd(), 0, &cgroup).map_err(failed("cgroup"))?;
        }
        maps.insert(name, (made, map));
    }
    let text = object.functions.keys().map(|(section, _)| *section);
    let text: HashSet<usize> = text.collect();
    let placed = maps
        .iter()
        .map(|(name, (fd, map))| (name.as_str(), fd.as_raw_fd(), map));
    object
        .relocate_maps(placed, &text)
        .map_err(failed("maps"))?;
    object.relocate_calls(&text).map_err(failed("functions"))?;
    Ok(maps)
}

fn made(name: &str, map: &Map, types: &OwnedFd) -> io::Result<OwnedFd> {
    let made = bpf_syscall::create_map(name, map, types.as_fd())?;
    if !map.data().is_empty() {
        bpf_syscall::update(made.as_fd(), 0, map.data())?;
    }
    if map.section_kind() == EbpfSectionKind::Rodata {
        bpf_syscall::freeze(made.as_fd())?;
    }
    Ok(made)
}

/// Has the kernel check the programs: the large ones take it a few milliseconds each, so all at the same time.
fn verified(
    wanted: &[(&'static str, &'static str)],
    object: &Object,
    kernel: &KernelTypes,
    types: &OwnedFd,
) -> Result<Vec<LoadedProgram>, BpfEngineError> {
    let load = |(name, point): (&'static str, &'static str)| {
        let program = object.programs.get(name);
        let missing = BpfEngineError::Object { what: name };
        let Some((program, code)) = program
            .and_then(|program| Some((program, object.functions.get(&program.function_key())?)))
        else {
            return Err(missing);
        };
        let type_of = |before: &str| {
            let number = kernel.point(&format!("{before}{point}"));
            number.ok_or(BpfEngineError::Object { what: point })
        };
        let kind = match program.section {
            ProgramSection::BtfTracePoint => ProgramKind::Typed(type_of("btf_trace_")?),
            ProgramSection::Iter { .. } => ProgramKind::Iterator(type_of("bpf_iter_")?),
            _ => ProgramKind::Raw,
        };
        let loaded = bpf_syscall::load_program(name, &program.license, code, types.as_fd(), kind);
        Ok(LoadedProgram {
            point,
            typed: kind != ProgramKind::Raw,
            program: loaded.map_err(failed(point))?,
        })
    };
    std::thread::scope(|scope| {
        let loads = wanted
            .iter()
            .map(|program| scope.spawn(move || load(*program)));
        let loads: Vec<_> = loads.collect();
        let results = loads.into_iter().map(|load| load.join());
        let lost = || Err(BpfEngineError::Object { what: "loader" });
        results
            .map(|result| result.unwrap_or_else(|_| lost()))
            .collect()
    })
}

/// Which of them the kernel refuses.
fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    what: &'static str,
) -> impl Fn(E) -> BpfEngineError {
    move |error| BpfEngineError::Load {
        what,
        error: error.into(),
    }
}

impl Programs {
    /// Attaches them: from now on the calls of threads that are followed are told.
    pub fn attach(&mut self) -> Result<(), BpfEngineError> {
        for it in &self.programs {
            let point = (!it.typed).then_some(it.point);
            match bpf_syscall::attach(point, it.program.as_fd()) {
                Err(error) if it.point == PREPARE.1 && error.kind() == io::ErrorKind::NotFound => {}
                link => self.links.push(link.map_err(failed(it.point))?),
            }
        }
        Ok(())
    }

    /// The storages of threads.
    pub fn threads(&self) -> TaskStorage {
        self.threads.clone()
    }

    /// The page that is shared with them.
    pub fn control(&self) -> Arc<ControlPage> {
        Arc::clone(&self.control)
    }
}

/// Bytes in a ring of this size at which threads are stopped.
pub(super) fn hold_at(ring: u32) -> u64 {
    u64::from(ring) / 2
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::super::records;
    use super::*;
    use backsight_test_needs::Need;

    #[test]
    fn storages_of_threads_are_made_read_and_removed_by_descriptors_and_by_visits() {
        if Need::Bpf.is_missing_in(allowed()) {
            return;
        }
        for visits in [false, true] {
            if !visits && !opens_threads() {
                continue;
            }
            let loaded = load_with(&TraceOptions::default(), false, visits).unwrap();
            let storages = loaded.programs.threads();
            let (tell, told) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let thread = std::thread::spawn(move || {
                tell.send(rustix::thread::gettid()).unwrap();
                let _ = ended.recv();
            });
            let other = told.recv().unwrap().as_raw_nonzero().get();
            let first = std::process::id().cast_signed();
            for tid in [other, first] {
                let missing = |found: io::Result<Vec<u8>>| {
                    found.unwrap_err().raw_os_error() == Some(libc::ENOENT)
                };
                assert!(missing(storages.get(tid)), "{visits} {tid}");
                // Made, and set again.
                for state in [records::state::JOINED, records::state::EXCLUDED] {
                    storages.follow(tid, state, 7).unwrap();
                    let storage = storages.get(tid).unwrap();
                    assert_eq!(storage, records::storage(state, false, 7));
                }
                storages.forget(tid).unwrap();
                assert!(missing(storages.get(tid)), "{visits} {tid}");
                assert!(missing(storages.forget(tid).map(|()| Vec::new())));
            }
            // What belongs to one thread is no other's.
            storages.follow(other, records::state::OUTSIDE, 8).unwrap();
            assert!(storages.get(first).is_err());
            drop(end);
            thread.join().unwrap();
            while std::fs::exists(format!("/proc/self/task/{other}")).unwrap() {
                std::thread::yield_now();
            }
            assert!(storages.follow(other, records::state::OUTSIDE, 9).is_err());
            assert!(storages.get(other).is_err());
        }
    }
}
