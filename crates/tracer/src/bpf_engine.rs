//! The kernel engine: programs in the kernel write every call of a tree of processes into a ring, and nobody is stopped as
//! long as it is read fast enough.
//!
//! Where it fills up, threads are stopped in turn until there is room again, so that nothing is lost. For that the tree is
//! held with ptrace, without its stops at calls; whoever is traced can't be traced by another. Two threads do it: the
//! [`backpressure`] starts the command and answers the kernel's stops, and the caller's thread reads the ring and tells events.
//!
//! Refuses: to run without privileges (see [`available`]), to tell numbers of another pid namespace than the first, and to
//! change anything in the programs that it traces.

mod backpressure;
mod bpf_syscall;
mod btf;
mod capture_plan;
mod count_map;
mod event_assembler;
mod programs;
mod records;
mod ring_buffer;
mod stop_guard;

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use backsight_syscall_decode::{Event, What};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::error::{KernelError, TraceError};
use crate::interrupt::Interrupt;
use crate::options::{Asked, Status, Statuses};
use crate::outcome::Ended;
use crate::summary::Summary;
use programs::Loaded;

/// Reads records of the ring: see [`crate::fuzzing`].
pub(crate) fn ring_records(mut bytes: &[u8], tell: &mut dyn FnMut(Event)) {
    let Ok(nowhere) = std::fs::File::open("/dev/null") else {
        return;
    };
    let mut story =
        event_assembler::Story::of(&Asked::default(), programs::Threads::none(nowhere.into()));
    while let [low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (record, rest) = rest.split_at(length);
        story.record(record, tell);
        bytes = rest;
    }
    story.finish(tell);
}

/// Reads a kernel's types: see [`crate::fuzzing`].
pub(crate) fn kernel_types(bytes: &[u8]) {
    btf::read_any(bytes);
}

/// Calls by what came of them, as the programs know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Outcomes {
    All = 0,
    Failed = 1,
    Successful = 2,
}

impl Outcomes {
    fn of(statuses: Statuses) -> Option<Self> {
        let all = [
            (Statuses::all(), Self::All),
            (Statuses::only(Status::Failed), Self::Failed),
            (Statuses::only(Status::Successful), Self::Successful),
        ];
        let mut all = all.into_iter();
        all.find_map(|(set, outcomes)| (set == statuses).then_some(outcomes))
    }
}

/// What of this the kernel engine can't do.
pub(crate) fn unfit(asked: &Asked) -> Option<&'static str> {
    let reasons = [
        (!asked.paths.is_empty(), "paths are looked up at a stop"),
        (
            !asked.injections.is_empty(),
            "calls are tampered with at a stop",
        ),
        (
            !asked.detach_on.is_empty(),
            "detaching at a call takes a stop there",
        ),
        (
            asked.limit.is_some(),
            "a limit of calls takes a stop at each",
        ),
        (
            asked
                .limits
                .is_some_and(|limits| limits.string > records::PIECE_MOST / 2),
            "so much of a buffer is read at a stop",
        ),
        (
            asked.stacks,
            "which functions a thread is in is looked up at a stop",
        ),
        (
            asked.instructions,
            "where calls are made is looked up at a stop",
        ),
        (
            asked.command.is_some() && !asked.pids.is_empty(),
            "a command and processes together are traced by the ptrace engine",
        ),
        (
            Outcomes::of(asked.statuses).is_none(),
            "these statuses are known at stops",
        ),
    ];
    let mut reasons = reasons.into_iter();
    reasons.find_map(|(holds, why)| holds.then_some(why))
}

/// Wakes the thread that reads the ring.
#[derive(Debug)]
struct Bell(OwnedFd);

impl Bell {
    fn new() -> Result<Self, TraceError> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        fd.map(Self)
            .map_err(refused("make a descriptor for events"))
    }

    fn ring(&self) {
        // It can only fail where it was rung already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    fn quiet(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

/// Whether the kernel engine can run here.
///
/// # Errors
///
/// Says what is missing.
pub fn available() -> Result<(), KernelError> {
    programs::allowed()
}

/// Traces what is asked for, and tells what happens, until everything ended or `interrupt` asks.
///
/// # Errors
///
/// Where what is asked for isn't this engine's, the programs can't be loaded, the command can't be started or a process
/// can't be attached to. Once something is traced nothing fails: what can't be had is missing in the events, and says so.
pub fn trace(
    asked: &Asked,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event),
) -> Result<Ended, TraceError> {
    run(asked, interrupt, false, tell).map(|(ended, _)| ended)
}

/// Counts the calls that are asked for, within the kernel, until everything ended or `interrupt` asks; tells what else
/// happens.
///
/// # Errors
///
/// As [`trace`].
pub fn count(
    asked: &Asked,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event),
) -> Result<(Ended, Summary), TraceError> {
    let mut summary = Summary::new();
    let asked = Asked {
        limits: None,
        pending: false,
        ring: asked.ring.min(RING_OF_NO_CALLS),
        ..asked.clone()
    };
    let (mut ended, counts) = run(&asked, interrupt, true, &mut summary.telling(tell))?;
    ended.told += counts.map_or(0, |counts| counts.add_to(&mut summary));
    Ok((ended, summary))
}

/// Bytes of a ring for what isn't a call.
const RING_OF_NO_CALLS: u32 = 256 << 10;

fn run(
    asked: &Asked,
    interrupt: &Interrupt,
    counting: bool,
    tell: &mut dyn FnMut(Event),
) -> Result<(Ended, Option<count_map::Counts>), TraceError> {
    if let Some(why) = unfit(asked) {
        return Err(TraceError::Unfit { why });
    }
    if asked.command.is_none() && asked.pids.is_empty() && asked.offspring.is_none() {
        return Err(TraceError::Nothing);
    }
    if !asked.ring.is_power_of_two() || asked.ring < 65536 {
        return Err(KernelError::Ring { bytes: asked.ring }.into());
    }
    let Loaded {
        mut programs,
        mut ring,
        ring_map,
        counts,
    } = programs::load(asked, counting)?;
    programs.attach()?;
    let bell = Arc::new(Bell::new()?);
    let rung = Arc::clone(&bell);
    interrupt.then(move || rung.ring());
    let control = programs.control();
    let begin = backpressure::Begin {
        asked: asked.clone(),
        mask: interrupt.blocked_before(),
    };
    let keeper = backpressure::Keeper::start(begin, &programs, ring.gauge(), Arc::clone(&bell))?;
    let mut story = event_assembler::Story::of(asked, programs.threads());
    let mut told = 0;
    let tell: &mut dyn FnMut(Event) = &mut |event| {
        told += u64::from(matches!(event.what, What::Call(_)));
        match &event.what {
            What::Signal { number, .. } if !asked.signals.has(*number) => {}
            _ => tell(event),
        }
    };
    let mut attached = Some(programs);
    // What the keeper saw, until what happened before is told.
    let mut kept: VecDeque<backpressure::Told> = VecDeque::new();
    loop {
        ring.drain(
            |record| {
                if keeper.has_told() {
                    kept.extend(keeper.told());
                }
                while let Some(told) =
                    kept.pop_front_if(|it| it.is_before(event_assembler::at(record)))
                {
                    story.kept(told, tell);
                }
                story.record(record, tell);
            },
            || keeper.freed(),
        );
        kept.extend(keeper.told());
        for told in kept.drain(..) {
            story.kept(told, tell);
        }
        if let Some(signal) = interrupt.asked()
            && attached.take().is_some()
        {
            story.leave();
            // The links are gone: no thread asks for a stop from here on, and those that did are let go.
            keeper.release(signal);
        }
        if keeper.is_done() {
            break;
        }
        control.sleeps(true);
        if ring.gauge().waiting() < u64::from(asked.ring) / 8 {
            let idle = wait(&ring_map, &bell);
            if idle && ring.gauge().waiting() == 0 {
                story.idle(tell);
            }
        }
        control.sleeps(false);
    }
    drop(attached);
    ring.drain(|record| story.record(record, tell), || ());
    for told in keeper.told() {
        story.kept(told, tell);
    }
    story.finish(tell);
    let ended = Ended {
        command: keeper.finish()?,
        told,
        lost: control.lost(),
        held: control.held(),
    };
    Ok((ended, counts))
}

/// Waits for the ring or for the bell, so long that few records make few wake-ups and yet are soon seen. Says whether
/// nothing came.
fn wait(ring: &OwnedFd, bell: &Bell) -> bool {
    let most = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };
    let mut fds = [
        PollFd::from_borrowed_fd(bell.0.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(ring.as_fd(), PollFlags::IN),
    ];
    let came = poll(&mut fds, Some(&most)).unwrap_or(0);
    if fds[0].revents().contains(PollFlags::IN) {
        bell.quiet();
    }
    came == 0
}

/// What the kernel refused.
fn refused<E: Into<std::io::Error>>(what: &'static str) -> impl Fn(E) -> TraceError {
    move |why| TraceError::Refused {
        what,
        why: why.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_a_stop_is_not_this_engine_s() {
        assert_eq!(unfit(&Asked::default()), None);
        let limited = Asked {
            limit: Some(3),
            ..Asked::default()
        };
        assert!(unfit(&limited).is_some());
        let successful = |statuses| Asked {
            statuses,
            ..Asked::default()
        };
        assert_eq!(unfit(&successful(Statuses::only(Status::Failed))), None);
        assert!(unfit(&successful(Statuses::only(Status::Unfinished))).is_some());
    }
}
