//! Loading the programs into the kernel and attaching them. They are gone when this is dropped, or when the process is.
//!
//! Refuses: to run where the kernel can't do it, and says what it would take.

#![allow(
    unsafe_code,
    reason = "bpf(2) and pidfd_open(2) for threads have no safe wrapper"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use aya::maps::{Map, MapData};
use aya::programs::{BtfTracePoint, Program, ProgramError};
use aya::{Btf, Ebpf, EbpfError, EbpfLoader};

use super::plan::{self, Choice};
use super::ring::{Ring, Shared};
use super::wire;
use super::{KernelError, Options, Outcomes};

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

/// The number of the first pid namespace.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Capabilities by their numbers.
const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// The programs, loaded.
pub(super) struct Programs {
    ebpf: Ebpf,
    threads: Arc<MapData>,
    control: Arc<Control>,
}

/// Where the list of threads that asked for a stop, other than by `SIGCHLD`, lies in that page, and its length.
const STOPPED_AT: usize = 44;
const STOPPED: usize = 512;

/// The page that the programs and the engine share.
#[derive(Debug)]
pub(super) struct Control(Shared);

impl Control {
    /// Says whether the reader waits to be woken.
    pub fn sleeps(&self, asleep: bool) {
        self.0.u32(0).store(u32::from(asleep), Ordering::SeqCst);
    }

    /// After how many calls a thread stops so that others have their turn; 0 for never.
    pub fn turns(&self, calls: u32) {
        self.0.u32(4).store(calls, Ordering::SeqCst);
    }

    /// Records that were lost.
    pub fn lost(&self) -> u64 {
        self.0.u64(8).load(Ordering::SeqCst)
    }

    /// Pieces of memory that found no room.
    pub fn cut(&self) -> u64 {
        self.0.u64(16).load(Ordering::SeqCst)
    }

    /// Children that the kernel had no memory to follow.
    pub fn unfollowed(&self) -> u64 {
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
    pub fn held(&self) -> u64 {
        self.0.u64(32).load(Ordering::SeqCst)
    }
}

/// The storages of threads.
#[derive(Debug, Clone)]
pub(super) struct Threads(Arc<MapData>);

/// What bpf(2) is told about an element of a map.
#[repr(C)]
struct Element {
    map: u32,
    filler: u32,
    key: u64,
    value: u64,
    flags: u64,
}

const LOOKUP: libc::c_long = 1;
const UPDATE: libc::c_long = 2;
const DELETE: libc::c_long = 3;

impl Threads {
    /// Has a thread's calls told from now on. `state` says where it is: see [`wire::state`], 0 for a thread that is in no call.
    pub fn follow(&self, tid: i32, state: u32, now: u64) -> io::Result<()> {
        let mut value = wire::storage(state, now);
        self.element(UPDATE, tid, &mut value)
    }

    /// Ends that.
    pub fn forget(&self, tid: i32) -> io::Result<()> {
        self.element(DELETE, tid, &mut [])
    }

    /// A thread's storage as it is now.
    pub fn look(&self, tid: i32) -> io::Result<Vec<u8>> {
        let mut value = vec![0; wire::STORAGE];
        self.element(LOOKUP, tid, &mut value)?;
        Ok(value)
    }

    fn element(&self, what: libc::c_long, tid: i32, value: &mut [u8]) -> io::Result<()> {
        let thread = thread_fd(tid)?;
        let key = thread.as_raw_fd();
        let element = Element {
            map: u32::try_from(self.0.fd().as_fd().as_raw_fd()).map_err(io::Error::other)?,
            filler: 0,
            key: (&raw const key) as u64,
            value: value.as_mut_ptr() as u64,
            flags: 0,
        };
        // SAFETY: key and value live through the call, and the value has the size that the map was made with or isn't used.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                what,
                &raw const element,
                size_of::<Element>(),
            )
        };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}

/// Opens a thread, whether or not it is its process's first.
fn thread_fd(tid: i32) -> io::Result<OwnedFd> {
    const PIDFD_THREAD: libc::c_int = libc::O_EXCL;
    // SAFETY: two numbers in, a descriptor or an error out.
    let open = |flags: libc::c_int| unsafe { libc::syscall(libc::SYS_pidfd_open, tid, flags) };
    let mut fd = open(PIDFD_THREAD);
    if fd < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        // Before Linux 6.9 only a process's first thread can be opened.
        fd = open(0);
    }
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Why the kernel engine can't run here, if that can be told without trying.
pub(super) fn allowed() -> Result<(), KernelError> {
    let status = std::fs::read_to_string("/proc/thread-self/status").map_err(|error| {
        KernelError::System {
            what: "reading /proc/thread-self/status",
            error,
        }
    })?;
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
            return Err(KernelError::Capability { name });
        }
    }
    if capabilities >> CAP_SYS_PTRACE & 1 == 0 {
        return Err(KernelError::Capability {
            name: "CAP_SYS_PTRACE",
        });
    }
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if namespace.as_os_str() != FIRST_PID_NAMESPACE {
        return Err(KernelError::Namespace);
    }
    if !std::fs::exists("/sys/kernel/btf/vmlinux").unwrap_or(false) {
        return Err(KernelError::Types);
    }
    Ok(())
}

impl Programs {
    /// Loads the programs; nothing is traced yet.
    pub fn load(options: &Options) -> Result<(Self, Ring, MapData), KernelError> {
        allowed()?;
        // Reading the kernel's types is most of the work; the loader reads them once more for itself.
        let (mut ebpf, btf) = std::thread::scope(|scope| {
            let types = scope.spawn(|| Btf::from_sys_fs().map_err(|_| KernelError::Types));
            let ebpf = Self::prepare(options)?;
            let types = types.join().unwrap_or(Err(KernelError::Types))?;
            Ok::<_, KernelError>((ebpf, types))
        })?;
        verify(&mut ebpf, &btf)?;
        let mut map = |name: &'static str| {
            let map = ebpf
                .take_map(name)
                .ok_or(KernelError::Object { what: name })?;
            match map {
                Map::RingBuf(map) | Map::Array(map) | Map::Unsupported(map) => Ok(map),
                _ => Err(KernelError::Object { what: name }),
            }
        };
        let ring = map("ring")?;
        let control = map("controls")?;
        let threads = map("threads")?;
        let shared = |what| {
            move |error: rustix::io::Errno| KernelError::System {
                what,
                error: error.into(),
            }
        };
        let page = rustix::param::page_size();
        let control = Shared::of(control.fd().as_fd(), 0, page, true)
            .map_err(shared("mapping the programs' counters"))?;
        let reader =
            Ring::of(ring.fd().as_fd(), options.ring).map_err(shared("mapping the ring"))?;
        let programs = Self {
            ebpf,
            threads: Arc::new(threads),
            control: Arc::new(Control(control)),
        };
        Ok((programs, reader, ring))
    }

    /// The object with what was asked put in, and its maps made.
    fn prepare(options: &Options) -> Result<Ebpf, KernelError> {
        let choice = Choice::of(options);
        let plans = plan::table(&choice, options.limits);
        let wake = (u64::from(options.ring) / 8).min(256 << 10).to_ne_bytes();
        let hold = hold_at(options.ring).to_ne_bytes();
        // The verifier trips over a loop that it knows to be empty.
        let elements = u32::try_from(options.limits.elements)
            .unwrap_or(u32::MAX)
            .max(1)
            .to_ne_bytes();
        let follow = u32::from(options.follow).to_ne_bytes();
        let outcomes = match options.outcomes {
            Outcomes::All => 0_u32,
            Outcomes::Failed => 1,
            Outcomes::Successful => 2,
        }
        .to_ne_bytes();
        let processors = u32::try_from(aya::util::nr_cpus().unwrap_or(1)).unwrap_or(1);
        EbpfLoader::new()
            .allow_unsupported_maps()
            .map_max_entries("ring", options.ring)
            .map_max_entries("larges", processors)
            .override_global("plans", &plans[..], true)
            .override_global("wake_at", &wake[..], true)
            .override_global("hold_at", &hold[..], true)
            .override_global("elements", &elements[..], true)
            .override_global("follow", &follow[..], true)
            .override_global("outcomes", &outcomes[..], true)
            .load(&OBJECT.0)
            .map_err(load_error)
    }

    /// Attaches them: from now on the calls of threads that are followed are told.
    pub fn attach(&mut self) -> Result<(), KernelError> {
        for (name, point) in PROGRAMS {
            tracepoint(&mut self.ebpf, name)?
                .attach()
                .map_err(|error| program_error(point, error))?;
        }
        Ok(())
    }

    /// The storages of threads.
    pub fn threads(&self) -> Threads {
        Threads(Arc::clone(&self.threads))
    }

    /// The page that is shared with them.
    pub fn control(&self) -> Arc<Control> {
        Arc::clone(&self.control)
    }
}

/// Has the kernel check the programs: the large ones take it a few milliseconds each, so all at the same time.
fn verify(ebpf: &mut Ebpf, btf: &Btf) -> Result<(), KernelError> {
    let load = |name: &str, program: &mut Program| {
        let Some((_, point)) = PROGRAMS.iter().find(|(known, _)| *known == name) else {
            return Ok(());
        };
        let program: &mut BtfTracePoint = program
            .try_into()
            .map_err(|error| program_error(point, error))?;
        program
            .load(point, btf)
            .map_err(|error| program_error(point, error))
    };
    std::thread::scope(|scope| {
        let loads: Vec<_> = ebpf
            .programs_mut()
            .map(|(name, program)| scope.spawn(move || load(name, program)))
            .collect();
        let results: Vec<_> = loads.into_iter().map(|load| load.join()).collect();
        results
            .into_iter()
            .try_for_each(|result| result.unwrap_or(Err(KernelError::Object { what: "loader" })))
    })
}

/// Bytes in a ring of this size at which threads are stopped.
pub(super) fn hold_at(ring: u32) -> u64 {
    u64::from(ring) / 2
}

fn tracepoint<'a>(
    ebpf: &'a mut Ebpf,
    name: &'static str,
) -> Result<&'a mut BtfTracePoint, KernelError> {
    ebpf.program_mut(name)
        .and_then(|program| program.try_into().ok())
        .ok_or(KernelError::Object { what: name })
}

fn load_error(error: EbpfError) -> KernelError {
    KernelError::Load {
        what: "maps",
        error: Box::new(error),
    }
}

fn program_error(what: &'static str, error: ProgramError) -> KernelError {
    KernelError::Load {
        what,
        error: Box::new(error),
    }
}
