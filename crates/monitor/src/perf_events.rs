//! Counters of `perf_event_open`: opened for every processor, or for processes with all that they start; read as sums.

use std::{
    fs::{self, File},
    io,
    os::fd::{AsRawFd as _, FromRawFd as _},
};

use crate::{
    process_tree::{Members, for_each_task},
    sampler::{ProcessTree, SamplerError},
    series::Series,
};

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
pub(crate) const TYPE_TRACEPOINT: u32 = 2;

const FORMAT_TOTAL_TIMES: u64 = 3;
const FORMAT_GROUP: u64 = 8;
const FLAG_DISABLED: u64 = 1;
const FLAG_INHERIT: u64 = 2;
const REQUEST_ENABLE: u64 = 0x2400;
const OPEN_CLOSE_ON_EXEC: libc::c_ulong = 8;

/// The first edition of `struct perf_event_attr`, which every kernel takes.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

/// Something that can be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PerfEvent {
    pub(crate) name: String,
    pub(crate) kind: u32,
    pub(crate) config: u64,
}

fn events(kind: u32, known: &[(&str, u64)]) -> Vec<PerfEvent> {
    known
        .iter()
        .map(|(name, config)| PerfEvent {
            name: (*name).to_owned(),
            kind,
            config: *config,
        })
        .collect()
}

/// What the kernel itself counts (`enum perf_sw_ids`).
pub(crate) fn software_events() -> Vec<PerfEvent> {
    events(
        TYPE_SOFTWARE,
        &[
            ("task-clock", 1),
            ("context-switches", 3),
            ("cpu-migrations", 4),
            ("page-faults", 2),
            ("minor-faults", 5),
            ("major-faults", 6),
            ("alignment-faults", 7),
            ("emulation-faults", 8),
            ("cgroup-switches", 11),
        ],
    )
}

/// What processors count (`enum perf_hw_id`), as far as they do.
pub(crate) fn hardware_events() -> Vec<PerfEvent> {
    events(
        TYPE_HARDWARE,
        &[
            ("cycles", 0),
            ("instructions", 1),
            ("cache-references", 2),
            ("cache-misses", 3),
            ("branches", 4),
            ("branch-misses", 5),
        ],
    )
}

/// What counters are opened for.
#[derive(Debug, Clone, Copy)]
enum Target {
    Processor(i32),
    /// A thread, with everything that it will start.
    Thread(i32),
}

/// Counters that are counted together on one target: either all of them or none.
#[derive(Debug)]
struct CounterGroup {
    counters: Vec<File>,
    /// Whether the first one's file tells all; those of threads tell one each, since they are sums of what was started.
    together: bool,
}

impl CounterGroup {
    /// Begins to count.
    fn begin(counters: Vec<File>, target: Target) -> Self {
        if let Some(first) = counters.first() {
            // SAFETY: the request has no argument. Where it fails, its times stay 0.
            unsafe { libc::ioctl(first.as_raw_fd(), REQUEST_ENABLE as _, 0) };
        }
        Self {
            counters,
            together: matches!(target, Target::Processor(_)),
        }
    }
}

/// Events that are counted together, on all targets, and what was read last.
#[derive(Debug)]
struct EventGroup {
    name: String,
    events: Vec<PerfEvent>,
    on: Vec<CounterGroup>,
    /// Of the events, then enabled and running time.
    sums: Vec<i64>,
}

/// Counters of events.
#[derive(Debug)]
pub(crate) struct PerfCounters {
    groups: Vec<EventGroup>,
    buffer: Vec<u8>,
}

impl PerfCounters {
    /// Opens what there is of these groups of events, each with its name. Events that can't be counted here are left out; one that
    /// doesn't fit beside the others begins a group of its own.
    ///
    /// # Errors
    /// None can be counted, or this user may not.
    pub(crate) fn open(
        wanted: Vec<(&str, Vec<PerfEvent>)>,
        tree: Option<&ProcessTree>,
    ) -> Result<Self, SamplerError> {
        let (first, targets) = targets(&wanted, tree)?;
        let mut groups = Vec::new();
        for (name, events) in wanted {
            let mut number = 1;
            let mut left = events;
            while !left.is_empty() {
                let (events, group, rest) = open_what_fits(left, first);
                left = rest;
                if events.is_empty() {
                    continue;
                }
                let mut on = vec![group];
                for target in &targets {
                    // A thread may have ended meanwhile, or a processor been taken offline.
                    on.extend(open_group(&events, *target).ok());
                }
                groups.push(EventGroup {
                    name: match number {
                        1 => name.to_owned(),
                        _ => format!("{name}{number}"),
                    },
                    sums: vec![0; events.len() + 2],
                    events,
                    on,
                });
                number += 1;
            }
        }
        match groups.is_empty() {
            true => Err(SamplerError::Missing(
                "nothing that it counts exists here".into(),
            )),
            false => Ok(Self {
                groups,
                buffer: Vec::new(),
            }),
        }
    }

    pub(crate) fn sample(&mut self, series: &mut Series) {
        for group in &mut self.groups {
            group.read(&mut self.buffer);
            for (event, sum) in group.events.iter().zip(&group.sums) {
                series.push(&[event.name.as_bytes()], *sum);
            }
            let times = &group.sums[group.events.len()..];
            for (name, time) in [".enabled_ns", ".running_ns"].iter().zip(times) {
                series.push(&[group.name.as_bytes(), name.as_bytes()], *time);
            }
        }
    }
}

impl EventGroup {
    fn read(&mut self, buffer: &mut Vec<u8>) {
        let count = self.events.len();
        self.sums.fill(0);
        buffer.resize(8 * (count + 3), 0);
        let word = |buffer: &[u8], at: usize| {
            let bytes = buffer.get(8 * at..8 * at + 8);
            bytes
                .and_then(|bytes| bytes.try_into().ok())
                .map_or(0, i64::from_ne_bytes)
        };
        for on in &self.on {
            if on.together {
                // Count, enabled, running, values.
                if rustix::io::read(&on.counters[0], &mut buffer[..]).is_ok() {
                    for at in 0..count {
                        self.sums[at] = self.sums[at].wrapping_add(word(buffer, 3 + at));
                    }
                    self.sums[count] += word(buffer, 1);
                    self.sums[count + 1] += word(buffer, 2);
                }
                continue;
            }
            for (at, counter) in on.counters.iter().enumerate() {
                // Value, enabled, running.
                if rustix::io::read(counter, &mut buffer[..24]).is_ok() {
                    self.sums[at] = self.sums[at].wrapping_add(word(buffer, 0));
                    if at == 0 {
                        self.sums[count] += word(buffer, 1);
                        self.sums[count + 1] += word(buffer, 2);
                    }
                }
            }
        }
    }
}

/// The first target and the others: processors where this user may count on them, else the threads that there are now.
fn targets(
    wanted: &[(&str, Vec<PerfEvent>)],
    tree: Option<&ProcessTree>,
) -> Result<(Target, Vec<Target>), SamplerError> {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let processors: Vec<Target> = numbers(online.trim()).map(Target::Processor).collect();
    let probe = wanted.first().and_then(|(_, events)| events.first());
    let Some(probe) = probe else {
        return Err(SamplerError::Missing(
            "nothing that it counts exists here".into(),
        ));
    };
    let may = |target: Target| match open_counter(probe, target, None) {
        Err(error) => !matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)),
        Ok(_) => true,
    };
    let mut targets = processors;
    if !targets.first().is_some_and(|first| may(*first)) {
        targets = Vec::new();
        if let Ok(mut members) = Members::new(tree) {
            let mut add = |pid| for_each_task(pid, |tid| targets.push(Target::Thread(tid)));
            let root = members.tree().root;
            add(root);
            members.refresh(&mut Default::default())?;
            let others = members.members().iter().filter(|member| member.pid != root);
            others.for_each(|member| add(member.pid));
        }
        targets.retain(|target| may(*target));
    }
    if targets.is_empty() {
        return Err(refused());
    }
    let first = targets.remove(0);
    Ok((first, targets))
}

fn refused() -> SamplerError {
    const PATH: &str = "/proc/sys/kernel/perf_event_paranoid";
    SamplerError::Missing(match fs::read_to_string(PATH) {
        Ok(value) => format!(
            "this user may not count events: {PATH} is {}; 0 would do (or 1 for a benchmark's processes alone; -1 for \
             tracepoints), or root, or the capability CAP_PERFMON",
            value.trim()
        ),
        Err(_) => format!("this kernel counts no events: there is no {PATH}"),
    })
}

/// The numbers of a list such as `0-3,8`.
fn numbers(list: &str) -> impl Iterator<Item = i32> {
    list.split(',')
        .filter_map(|range| {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            Some(from.parse().ok()?..=to.parse().ok()?)
        })
        .flatten()
}

/// Opens as many of these events as are counted together on a target: those, their counters, and what needs another group.
fn open_what_fits(
    events: Vec<PerfEvent>,
    target: Target,
) -> (Vec<PerfEvent>, CounterGroup, Vec<PerfEvent>) {
    let (mut fitting, mut rest) = (Vec::new(), Vec::new());
    let mut counters: Vec<File> = Vec::new();
    for event in events {
        match open_counter(&event, target, counters.first()) {
            Ok(counter) => {
                counters.push(counter);
                fitting.push(event);
            }
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && !counters.is_empty() => {
                rest.push(event);
            }
            Err(_) => {}
        }
    }
    let group = CounterGroup::begin(counters, target);
    (fitting, group, rest)
}

fn open_group(events: &[PerfEvent], target: Target) -> io::Result<CounterGroup> {
    let mut counters: Vec<File> = Vec::new();
    for event in events {
        counters.push(open_counter(event, target, counters.first())?);
    }
    Ok(CounterGroup::begin(counters, target))
}

fn open_counter(event: &PerfEvent, target: Target, group: Option<&File>) -> io::Result<File> {
    let size = size_of::<Attributes>();
    let mut attributes = Attributes {
        kind: event.kind,
        size: size.try_into().unwrap_or(0),
        config: event.config,
        read_format: FORMAT_TOTAL_TIMES,
        ..Attributes::default()
    };
    // What joins a group that counts already isn't counted: a group begins when it is complete.
    if group.is_none() {
        attributes.flags |= FLAG_DISABLED;
    }
    let (pid, cpu) = match target {
        Target::Processor(cpu) => {
            attributes.read_format |= FORMAT_GROUP;
            (-1, cpu)
        }
        Target::Thread(tid) => {
            attributes.flags |= FLAG_INHERIT;
            (tid, -1)
        }
    };
    let group = group.map_or(-1, |leader| leader.as_raw_fd());
    // SAFETY: the call reads attributes of the size that they say, and gives a file of this process's.
    unsafe {
        let file = libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            pid,
            cpu,
            group,
            OPEN_CLOSE_ON_EXEC,
        );
        match i32::try_from(file) {
            Ok(file) if file >= 0 => Ok(File::from_raw_fd(file)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_test_needs::Need;
    use std::process::Command;

    #[test]
    fn attributes_have_the_size_of_the_first_edition() {
        assert_eq!(size_of::<Attributes>(), 64);
    }

    #[test]
    fn what_a_thread_starts_is_counted_with_it() {
        if Need::Root.is_missing() {
            return;
        }
        // 0 is this thread.
        let (events, on, _) = open_what_fits(software_events(), Target::Thread(0));
        let mut group = EventGroup {
            name: "software".into(),
            sums: vec![0; events.len() + 2],
            events,
            on: vec![on],
        };
        group.read(&mut Vec::new());
        let before = group.sums.clone();
        Command::new("true").status().unwrap();
        group.read(&mut Vec::new());
        let at = |name: &str| {
            group
                .events
                .iter()
                .position(|event| event.name == name)
                .unwrap()
        };
        // This thread alone has no fault while it waits.
        let faults = at("minor-faults");
        assert!(group.sums[faults] - before[faults] > 20, "{:?}", group.sums);
        assert!(group.sums[at("task-clock")] > before[at("task-clock")]);
    }

    #[test]
    fn lists_of_processors_are_read() {
        assert!(numbers("0-2,5").eq([0, 1, 2, 5]));
        assert_eq!(numbers("").count(), 0);
    }
}
