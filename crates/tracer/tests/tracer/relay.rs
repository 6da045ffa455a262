//! Commands that begin under the ptrace engine and go on under the kernel engine: nothing is told twice, and nothing is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use backsight_syscall_decode::{EventKind, TraceEvent};
use backsight_test_needs::Need;
use backsight_tracer::bpf_engine::check_available;
use backsight_tracer::command::TracedCommand;
use backsight_tracer::engine::{EngineKind, choose_engine, count_calls, trace};
use backsight_tracer::interrupt::Interrupt;
use backsight_tracer::options::TraceOptions;
use backsight_tracer::outcome::{CommandExit, TraceOutcome};
use backsight_tracer::summary::{SummaryColumn, TableOptions};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::{in_time::in_time, programs::program};

const RELAY: EngineKind = EngineKind::PtraceThenKernel;
const GETPPID: u64 = libc::SYS_getppid as u64;
const EXECVE: u64 = libc::SYS_execve as u64;

fn runs() -> bool {
    !Need::Bpf.is_missing_in(check_available())
}

fn followed(program: impl AsRef<std::path::Path>, words: &[&str]) -> TraceOptions {
    TraceOptions {
        command: Some(TracedCommand::new(program.as_ref(), words)),
        follow: true,
        ..TraceOptions::default()
    }
}

/// What was told.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    /// Calls of `getppid` by thread.
    calls: BTreeMap<i32, u32>,
    attached: u32,
    exited: u32,
    superseded: u32,
    /// Those of whom the call by which they are gone was told as begun before that.
    superseded_in_a_call: u32,
    lost: u32,
    detached: u32,
    /// Threads whose `execve` was told as begun.
    execute: BTreeSet<i32>,
}

impl Told {
    fn take(&mut self, event: &TraceEvent) {
        match &event.kind {
            EventKind::Call(call) if call.number == GETPPID => {
                *self.calls.entry(event.tid).or_default() += 1;
            }
            EventKind::Attached { .. } => self.attached += 1,
            EventKind::Exited { .. } => self.exited += 1,
            EventKind::Superseded { by } => {
                self.superseded += 1;
                self.superseded_in_a_call += u32::from(self.execute.remove(by));
            }
            EventKind::Pending(call) if call.number == EXECVE => {
                self.execute.insert(event.tid);
            }
            EventKind::Lost { .. } => self.lost += 1,
            EventKind::Detached => self.detached += 1,
            _ => {}
        }
    }
}

fn told(engine: EngineKind, options: &TraceOptions) -> (Told, TraceOutcome) {
    let mut told = Told::default();
    let ended =
        in_time(|interrupt| trace(engine, options, interrupt, &mut |event| told.take(&event)));
    (told, ended.unwrap())
}

/// The same through the smallest ring to a slow reader, so that threads are held once the programs follow them.
fn told_slowly(options: TraceOptions) -> (Told, TraceOutcome) {
    let options = TraceOptions {
        ring: 65536,
        ..options
    };
    let mut told = Told::default();
    let mut number = 0_u32;
    let ended = in_time(|interrupt| {
        trace(RELAY, &options, interrupt, &mut |event| {
            number += 1;
            if number.is_multiple_of(1000) {
                std::thread::sleep(Duration::from_millis(1));
            }
            told.take(&event);
        })
    });
    (told, ended.unwrap())
}

const WELL: Option<CommandExit> = Some(CommandExit::Exited(0));

#[test]
fn a_command_begins_at_once_and_what_runs_already_is_followed_by_programs() {
    if !runs() {
        return;
    }
    let (engine, _) = choose_engine(&followed("/bin/true", &[]));
    assert_eq!(engine, RELAY);
    let attached = TraceOptions {
        pids: vec![1],
        ..TraceOptions::default()
    };
    assert_eq!(choose_engine(&attached).0, EngineKind::Kernel);
}

#[test]
fn a_short_command_is_told_as_by_the_ptrace_engine() {
    let names = |engine| {
        let mut calls = Vec::new();
        let options = followed("/bin/true", &[]);
        let ended = in_time(|interrupt| {
            trace(engine, &options, interrupt, &mut |event| {
                if let EventKind::Call(call) = event.kind {
                    calls.push(call.number);
                }
            })
        });
        (calls, ended.unwrap())
    };
    assert_eq!(names(RELAY), names(EngineKind::Ptrace));
}

#[test]
fn calls_of_threads_are_told_once_each_on_both_sides() {
    if !runs() {
        return;
    }
    let (told, ended) = told_slowly(followed(program("calls"), &["threads", "8", "20000"]));
    assert_eq!((ended.command, ended.lost, told.lost), (WELL, 0, 0));
    let counts: Vec<u32> = told.calls.values().copied().collect();
    assert_eq!(counts, [20_000; 8]);
    assert_eq!((told.attached, told.exited, told.detached), (8, 9, 0));
    assert!(
        ended.backpressure_stops > 0,
        "no program followed: {ended:?}"
    );
}

#[test]
fn children_are_told_by_whoever_has_their_parents() {
    if !runs() {
        return;
    }
    let (told, ended) = told_slowly(followed(program("calls"), &["forks", "300", "20"]));
    assert_eq!((ended.command, ended.lost, told.lost), (WELL, 0, 0));
    assert!(told.calls.values().all(|calls| *calls == 20), "{told:?}");
    assert_eq!(
        (told.calls.len(), told.attached, told.exited, told.detached),
        (300, 300, 301, 0)
    );
    // Many at once, from many parents.
    let (told, ended) = told_slowly(followed(program("storm"), &["8"]));
    assert_eq!((ended.command, ended.lost, told.lost), (WELL, 0, 0));
    assert_eq!((told.attached, told.exited, told.detached), (510, 511, 0));
}

#[test]
fn threads_that_execute_programs_take_first_threads_places_on_both_sides() {
    if !runs() {
        return;
    }
    let each = program("threads");
    let all = format!(
        "i=0; while [ $i -lt 40 ]; do {} exec /bin/true; i=$((i+1)); done",
        each.display()
    );
    let options = followed("/bin/sh", &["-c", &all]);
    let (ptrace, by_ptrace) = told(EngineKind::Ptrace, &options);
    let (relay, by_relay) = told(RELAY, &options);
    assert_eq!(by_ptrace.command, by_relay.command);
    assert_eq!((relay.lost, by_relay.lost), (0, 0));
    assert_eq!((relay.superseded, ptrace.superseded), (40, 40));
    assert_eq!(relay.attached, ptrace.attached);
    assert_eq!(relay.detached, 0);
}

#[test]
fn a_first_thread_that_is_replaced_across_the_sides_is_gone_within_the_execve() {
    if !runs() {
        return;
    }
    let options = TraceOptions {
        pending: true,
        ..followed(program("threads"), &["later", "/bin/true"])
    };
    // Both threads wait as the programs get ready: the first one stays in its call, and the other one is taken before it executes.
    let (told, ended) = told(RELAY, &options);
    assert_eq!((ended.command, ended.lost), (WELL, 0));
    assert_eq!((told.superseded, told.superseded_in_a_call), (1, 1));
}

#[test]
fn job_control_and_waits_are_as_without_a_tracer() {
    if !runs() {
        return;
    }
    for what in ["waiting", "job", "conts"] {
        let (told, ended) = told_slowly(followed(program("calls"), &[what]));
        assert_eq!((ended.command, ended.lost), (WELL, 0), "{what}: {told:?}");
    }
}

#[test]
fn calls_are_counted_on_both_sides() {
    if !runs() {
        return;
    }
    let options = followed(program("calls"), &["threads", "4", "20000"]);
    let counted = in_time(|interrupt| count_calls(RELAY, &options, interrupt, &mut |_| ()));
    let (ended, summary) = counted.unwrap();
    assert_eq!((ended.command, ended.lost), (WELL, 0));
    assert_eq!(ended.calls, summary.total().calls);
    let options = TableOptions::new(&SummaryColumn::PERCENTILES);
    let table = summary.aligned_table(&options);
    let row = table.lines().find(|line| line.contains("getppid"));
    assert!(row.unwrap().contains("80000"), "{table}");
}

#[test]
fn where_the_programs_cannot_be_loaded_all_calls_are_told_nevertheless() {
    let without = std::thread::spawn(|| {
        #[repr(C)]
        struct Header {
            version: u32,
            pid: i32,
        }
        let header = Header {
            version: 0x2008_0522,
            pid: 0,
        };
        let none = [0_u32; 6];
        // SAFETY: both live through the call, which takes from this thread alone what it may do.
        let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
        assert_eq!(result, 0);
        told(
            RELAY,
            &followed(program("calls"), &["threads", "2", "2000"]),
        )
    });
    let (told, ended) = without.join().unwrap();
    assert_eq!((ended.command, ended.lost), (WELL, 0));
    assert_eq!(told.calls.values().sum::<u32>(), 4000);
}

#[test]
fn tracing_ends_when_it_is_asked_to_on_both_sides() {
    if !runs() {
        return;
    }
    let endless = followed(
        "/bin/dd",
        &["if=/dev/zero", "of=/dev/null", "bs=1", "status=none"],
    );
    // Before there are programs, and long after.
    for events in [100, 100_000] {
        let (mut number, mut pid) = (0, 0);
        let interrupt = Interrupt::new();
        let mut emit = |event: TraceEvent| {
            pid = event.pid;
            number += 1;
            if number == events {
                interrupt.trigger(Signal::SIGTERM as i32);
            }
        };
        // What was handed over is held until the thread that traced it ends.
        let ended = std::thread::scope(|scope| {
            let tracer = scope.spawn(|| trace(RELAY, &endless, &interrupt, &mut emit));
            tracer.join().unwrap()
        });
        assert_eq!(ended.unwrap().lost, 0);
        let status = waitpid(Pid::from_raw(pid), None).unwrap();
        assert!(
            matches!(status, WaitStatus::Signaled(_, Signal::SIGTERM, _)),
            "{status:?}"
        );
    }
}

#[test]
fn a_command_that_cannot_be_run_says_why() {
    let options = followed("/dev/null", &[]);
    let error = in_time(|interrupt| trace(RELAY, &options, interrupt, &mut |_| ())).unwrap_err();
    let by_ptrace =
        trace(EngineKind::Ptrace, &options, &Interrupt::new(), &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), by_ptrace.to_string());
}
