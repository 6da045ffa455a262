//! A profiler at work: a ring a processor, all of them read by one thread.

use std::{cmp::Reverse, collections::BinaryHeap, io, os::fd::BorrowedFd, time::Duration};

use backsight_profile::{Profile, ProfileEvent, ProfileHead, ProfileScope, ProfileUnit};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    param::page_size,
    time::{ClockId, clock_gettime},
};

use crate::{
    collector::Collector,
    error::{ProfilerError, refused},
    naming::make_profile,
    perf_event::{
        EventAttributes, SAMPLED_REGISTERS, disable, enable, flag, kind, online_processors, sample,
    },
    processes::ProfiledProcesses,
    record,
    ring::Ring,
    sched_switch::SchedSwitch,
};

/// Samples a second unless somebody says otherwise: in step with nothing that happens every hundredth of a second.
pub const USUAL_FREQUENCY: u32 = 99;
/// Bytes of a stack that are copied for a sample of a clock. Copying takes about 1 µs; a stack that is deeper has no root.
const STACK: u32 = 16 << 10;
/// The same for a thread that begins to wait, which may happen 100,000 times a second.
const STACK_OFF_CPU: u32 = 8 << 10;
/// Bytes of a ring: a second of samples, within these limits. It is read when a quarter is full, so that this thread may have to wait
/// long for a processor.
const RING_LEAST: usize = 1 << 20;
const RING_MOST: usize = 16 << 20;
/// Bytes of all rings, at most, where there are many processors.
const RINGS_MOST: usize = 256 << 20;
/// Longest time between two readings: files of a program that has ended are soon gone.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// A record is in its ring that long after its time at the latest.
const WRITING_NS: u64 = 1_000_000;

/// What is to be profiled.
#[derive(Debug, Clone)]
pub struct ProfilerOptions {
    /// Which processes.
    pub processes: ProfiledProcesses,
    /// Where the time goes that they wait, in place of where they run.
    pub off_cpu: bool,
    /// Samples a second and processor, [`USUAL_FREQUENCY`] unless said; waiting isn't sampled, but seen whole.
    pub frequency: Option<u32>,
}

/// A profile, and what is to be said of it.
#[derive(Debug)]
pub struct CollectedProfile {
    /// The profile.
    pub profile: Profile,
    /// Why functions of the kernel have no names, if so.
    pub kernel_without_names: Option<String>,
}

impl CollectedProfile {
    /// Says what is wrong with it.
    pub(crate) fn warn(&self, say: fn(&str)) {
        let lost = self.profile.lost;
        if lost > 0 {
            say(&format!(
                "warning: {lost} records are lost: they found no room, or the kernel left them out"
            ));
        }
        if let Some(why) = &self.kernel_without_names {
            say(&format!(
                "warning: functions of the kernel have no names: {why}"
            ));
        }
    }
}

/// A profiler that samples.
pub struct Profiler {
    rings: Vec<Ring>,
    collector: Collector,
    head: ProfileHead,
}

impl Profiler {
    /// Begins to sample.
    ///
    /// # Errors
    /// This user may not, or the kernel can't.
    pub fn start(options: ProfilerOptions) -> Result<Self, ProfilerError> {
        raise_limit_of_files();
        let scope = match options.processes {
            ProfiledProcesses::Machine => ProfileScope::Machine,
            ProfiledProcesses::Some { .. } => ProfileScope::Processes,
        };
        let frequency = options.frequency.unwrap_or(USUAL_FREQUENCY);
        let head = ProfileHead {
            frequency_hz: frequency,
            scope,
            ..ProfileHead::default()
        };
        if options.off_cpu {
            let switches = SchedSwitch::read().map_err(ProfilerError::NoTracepoint)?;
            let event = EventAttributes {
                kind: kind::TRACEPOINT,
                config: switches.id,
                period: 1,
                sample_type: sample::RAW,
                flags: flag::CONTEXT_SWITCH,
                sample_stack_user: STACK_OFF_CPU,
                ..EventAttributes::default()
            };
            let head = ProfileHead {
                event: ProfileEvent::OffCpu,
                unit: ProfileUnit::Ns,
                frequency_hz: 0,
                ..head
            };
            let collector = Collector::new(options.processes, Some(switches));
            return Self::open(&event, RING_MOST, collector, head)
                // What a tracepoint says of others asks for more rights than a clock.
                .map_err(|error| ProfilerError::opening(error, -1));
        }
        check_frequency(frequency)?;
        let collector = Collector::new(options.processes, None);
        let cycles = EventAttributes {
            kind: kind::HARDWARE,
            period: frequency.into(),
            flags: flag::FREQUENCY,
            sample_stack_user: STACK,
            ..EventAttributes::default()
        };
        let clock = EventAttributes {
            kind: kind::SOFTWARE,
            // Work of interrupts that come while nothing runs is the machine's, and nobody's process.
            flags: match scope {
                ProfileScope::Machine => flag::FREQUENCY,
                ProfileScope::Processes => flag::FREQUENCY | flag::EXCLUDE_IDLE,
            },
            ..cycles.clone()
        };
        let length = frequency as usize * STACK as usize;
        let (event, name) = match has_cycles(&cycles) {
            true => (&cycles, ProfileEvent::Cycles),
            false => (&clock, ProfileEvent::CpuClock),
        };
        let head = ProfileHead {
            event: name,
            ..head
        };
        Self::open(event, length, collector, head).map_err(|error| ProfilerError::opening(error, 0))
    }

    fn open(
        event: &EventAttributes,
        length: usize,
        collector: Collector,
        head: ProfileHead,
    ) -> io::Result<Self> {
        let mut event = event.clone();
        event.sample_type |= sample::TID
            | sample::TIME
            | sample::CPU
            | sample::CALLCHAIN
            | sample::REGS_USER
            | sample::STACK_USER;
        event.sample_regs_user = SAMPLED_REGISTERS;
        event.clock = libc::CLOCK_MONOTONIC;
        event.flags |= flag::DISABLED
            | flag::MMAP
            | flag::MMAP2
            | flag::COMM
            | flag::COMM_EXEC
            | flag::TASK
            | flag::SAMPLE_ID_ALL
            | flag::EXCLUDE_CALLCHAIN_USER
            | flag::USE_CLOCKID
            | flag::WATERMARK;
        let processors = online_processors()?;
        let fitting = (RINGS_MOST / processors.len()).next_power_of_two();
        let length = length.next_power_of_two().clamp(RING_LEAST, RING_MOST);
        let length = length.min(fitting);
        let mut rings = Vec::new();
        for cpu in processors {
            rings.push(open_ring(&mut event, cpu, length)?);
        }
        for ring in &rings {
            enable(&ring.event)?;
        }
        let mut profiler = Self {
            rings,
            collector,
            head,
        };
        profiler.head.began_ns = now_ns();
        profiler.collector.processes.read_running();
        Ok(profiler)
    }

    /// What is sampled.
    #[must_use]
    pub fn event(&self) -> ProfileEvent {
        self.head.event
    }

    /// Samples until something can be read from `stop`, and names what was found.
    ///
    /// # Errors
    /// The kernel refuses to wait.
    pub fn run(mut self, stop: BorrowedFd<'_>) -> Result<CollectedProfile, ProfilerError> {
        let timeout = Timespec {
            tv_sec: READ_AGAIN.as_secs().cast_signed(),
            tv_nsec: 0,
        };
        loop {
            let rings = self.rings.iter();
            let events = rings.map(|ring| PollFd::new(&ring.event, PollFlags::IN));
            let mut waited: Vec<PollFd<'_>> = events.collect();
            waited.push(PollFd::from_borrowed_fd(stop, PollFlags::IN));
            match poll(&mut waited, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(refused("poll")(error.into())),
            }
            if waited.last().is_some_and(|stop| !stop.revents().is_empty()) {
                break;
            }
            drop(waited);
            self.read_records(now_ns().saturating_sub(WRITING_NS));
        }
        self.head.ended_ns = now_ns();
        for ring in &self.rings {
            disable(&ring.event).map_err(refused("an end of sampling"))?;
        }
        self.read_records(u64::MAX);
        self.collector.end_waiting(self.head.ended_ns);
        self.head.lost = self.collector.lost;
        self.head.truncated = self.collector.truncated;
        let (profile, kernel_without_names) = make_profile(&self.collector, self.head);
        Ok(CollectedProfile {
            profile,
            kernel_without_names,
        })
    }

    /// Applies all records of before a time, in the order of their times: what is mapped on one processor is sampled on others.
    fn read_records(&mut self, before_ns: u64) {
        let with_raw = self.collector.with_raw();
        let mut next = BinaryHeap::new();
        for (number, ring) in self.rings.iter_mut().enumerate() {
            ring.update();
            next.extend(next_time(ring).map(|time| Reverse((time, number))));
        }
        while let Some(Reverse((time, number))) = next.pop() {
            if time >= before_ns {
                break;
            }
            let ring = &mut self.rings[number];
            let Some(bytes) = ring.record() else { continue };
            let size = bytes.len();
            if let Some(record) = record::parse(bytes, with_raw) {
                self.collector.apply(record, time);
            }
            ring.skip(size);
            next.extend(next_time(ring).map(|time| Reverse((time, number))));
        }
        for ring in &self.rings {
            ring.release();
        }
    }
}

/// When the next record was written.
fn next_time(ring: &mut Ring) -> Option<u64> {
    // A record without a time is none of those that are asked for: it is read at once.
    ring.record()
        .map(|bytes| record::time(bytes).unwrap_or_default())
}

/// Opens an event with its ring: a smaller one, where this user may not lock so much memory.
fn open_ring(event: &mut EventAttributes, cpu: u32, mut length: usize) -> io::Result<Ring> {
    loop {
        event.wakeup_watermark = (length / 4) as u32;
        match Ring::new(event.open(cpu)?, length) {
            Err(error)
                if error.raw_os_error() == Some(libc::EPERM) && length > 16 * page_size() =>
            {
                length /= 2;
            }
            opened => return opened,
        }
    }
}

/// Whether processors count their cycles here.
fn has_cycles(event: &EventAttributes) -> bool {
    let processors = online_processors().unwrap_or_default();
    processors
        .first()
        .is_some_and(|cpu| event.open(*cpu).is_ok())
}

fn check_frequency(asked: u32) -> Result<(), ProfilerError> {
    let most = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    let most = most.ok().and_then(|most| most.trim().parse().ok());
    match most {
        Some(most) if asked > most => Err(ProfilerError::TooOften { asked, most }),
        _ => Ok(()),
    }
}

/// Programs and libraries stay open until their functions are named.
fn raise_limit_of_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // What doesn't fit is named no worse: files of more than a few hundred programs aren't kept open.
    let _ = setrlimit(Resource::Nofile, raised);
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
