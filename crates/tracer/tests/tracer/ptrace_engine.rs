//! The ptrace engine.

use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::{
    Abi, CapturePoint, EventKind, StackFrame, SyscallOutcome, SyscallRecord, TraceEvent,
};
use backsight_test_needs::Need;
use backsight_tracer::command::{TracedCommand, UserRights};
use backsight_tracer::interrupt::Interrupt;
use backsight_tracer::options::{CallStatus, Injection, StatusSet, TraceOptions};
use backsight_tracer::outcome::{CommandExit, TraceOutcome};
use backsight_tracer::ptrace_engine;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{Read as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::Stdio,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use backsight_syscall_decode::table::{NamedSyscall, SyscallClass, find_syscall};
use backsight_syscall_decode::text::{TextOptions, TextWriter};

use crate::{
    in_time::{LONG, in_time},
    programs::{is_strace_missing, program},
};

/// Everything of a command and its children.
fn command(program: impl AsRef<Path>, arguments: &[&str]) -> TraceOptions {
    TraceOptions {
        command: Some(TracedCommand::new(program.as_ref(), arguments)),
        follow: true,
        ..TraceOptions::default()
    }
}

/// Traces what is asked for, and gives up if that never ends.
fn traced(options: &TraceOptions) -> (Vec<TraceEvent>, TraceOutcome) {
    let mut events = Vec::new();
    let ended = watched(options, &mut |event, _| events.push(event));
    (events, ended)
}

/// Traces what is asked for; whoever is told may end it.
fn watched(options: &TraceOptions, emit: &mut dyn FnMut(TraceEvent, &Interrupt)) -> TraceOutcome {
    let ended = in_time(|interrupt| {
        ptrace_engine::trace(options, interrupt, &mut |event| emit(event, interrupt))
    });
    let ended = ended.unwrap();
    assert_eq!(ended.lost, 0);
    ended
}

fn calls(events: &[TraceEvent]) -> impl Iterator<Item = (&TraceEvent, &SyscallRecord)> {
    events.iter().filter_map(|event| match &event.kind {
        EventKind::Call(call) => Some((event, call)),
        _ => None,
    })
}

/// How often each call was told.
fn counts(events: &[TraceEvent]) -> BTreeMap<u64, usize> {
    let mut counts = BTreeMap::new();
    for (_, call) in calls(events) {
        *counts.entry(call.number).or_default() += 1;
    }
    counts
}

fn native(numbers: &[(u64, u64)]) -> SyscallSet {
    let mut calls = SyscallSet::none();
    for (x86_64, aarch64) in numbers {
        calls.insert(Abi::X86_64, *x86_64);
        calls.insert(Abi::Aarch64, *aarch64);
    }
    calls
}

const NATIVE: Abi = if cfg!(target_arch = "aarch64") {
    Abi::Aarch64
} else {
    Abi::X86_64
};

const GETUID: (u64, u64) = (102, 174);
const OPENAT: (u64, u64) = (257, 56);
const CLOSE: (u64, u64) = (3, 57);
const EXECVE: (u64, u64) = (59, 221);
const EXIT_GROUP: (u64, u64) = (231, 94);

fn number_of(call: (u64, u64)) -> u64 {
    if cfg!(target_arch = "aarch64") {
        call.1
    } else {
        call.0
    }
}

#[test]
fn a_program_is_told_from_its_execve_to_its_end() {
    let (events, ended) = traced(&command(program("forks"), &["0", "0"]));
    let first = calls(&events).next().unwrap().1;
    assert_eq!(first.number, number_of(EXECVE));
    assert!(matches!(
        first.outcome,
        SyscallOutcome::Returned { value: 0, .. }
    ));
    let [.., last, end] = &events[..] else {
        panic!("{events:?}");
    };
    let EventKind::Call(last) = &last.kind else {
        panic!("{last:?}");
    };
    assert_eq!(
        (last.number, last.outcome),
        (number_of(EXIT_GROUP), SyscallOutcome::Open)
    );
    assert_eq!(end.kind, EventKind::Exited { status: 0 });
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    assert_eq!(ended.calls as usize, calls(&events).count());
}

#[test]
fn a_program_that_isnt_there_is_said_not_to_be() {
    let trace = |program: &str| {
        let options = command(program, &[]);
        ptrace_engine::trace(&options, &Interrupt::new(), &mut |_| {})
            .unwrap_err()
            .to_string()
    };
    assert!(trace("no-such-program-anywhere").contains("isn't to be found"));
    assert!(trace("/no/such/program").contains("can't be started"));
    assert!(trace("/").contains("can't be started"));
}

#[test]
fn a_command_that_cant_be_executed_is_told_with_its_end() {
    let mut events = Vec::new();
    let ended = ptrace_engine::trace(&command("/", &[]), &Interrupt::new(), &mut |event| {
        events.push(event.kind);
    });
    ended.unwrap_err();
    let [EventKind::Call(tried), EventKind::Exited { status: 1 }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(tried.error(), Some(i64::from(libc::EACCES)));
}

#[test]
fn nothing_asked_for_is_said_so() {
    let nothing = ptrace_engine::trace(&TraceOptions::default(), &Interrupt::new(), &mut |_| {});
    assert!(
        nothing
            .unwrap_err()
            .to_string()
            .contains("nothing to trace")
    );
}

#[test]
fn a_process_that_isnt_there_cant_be_attached_to() {
    let options = TraceOptions {
        pids: vec![i32::MAX],
        ..TraceOptions::default()
    };
    let error = ptrace_engine::trace(&options, &Interrupt::new(), &mut |_| {}).unwrap_err();
    assert!(
        error.to_string().contains("can't be attached to"),
        "{error}"
    );
}

#[test]
fn every_call_of_every_child_is_told() {
    let (events, ended) = traced(&command(program("forks"), &["50", "20"]));
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    assert_eq!(counts(&events)[&number_of(GETUID)], 50 * 20);
    let attached = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Attached { parent: Some(_) }));
    assert_eq!(attached.count(), 50);
    let exits: Vec<i32> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Exited { status } => Some(status),
            _ => None,
        })
        .collect();
    assert_eq!(exits, (0..50).chain([0]).collect::<Vec<_>>());
}

#[test]
fn a_child_is_attached_to_before_anything_is_told_of_it_and_silent_after_its_end() {
    let (events, _) = traced(&command(program("storm"), &["6"]));
    let mut alive: HashSet<i32> = HashSet::new();
    for (index, event) in events.iter().enumerate() {
        match event.kind {
            EventKind::Attached { .. } => assert!(alive.insert(event.tid), "{event:?}"),
            EventKind::Exited { .. } => assert!(alive.remove(&event.tid), "{event:?}"),
            // The command itself isn't attached to.
            _ if index == 0 => assert!(alive.insert(event.tid)),
            _ => assert!(alive.contains(&event.tid), "{event:?}"),
        }
    }
    assert!(alive.is_empty());
    let ends = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Exited { .. }))
        .count();
    assert_eq!(ends, (1 << 7) - 1);
}

#[test]
fn children_that_arent_followed_run_untraced() {
    let options = TraceOptions {
        follow: false,
        ..command(program("forks"), &["5", "20"])
    };
    let (events, ended) = traced(&options);
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    assert!(!counts(&events).contains_key(&number_of(GETUID)));
    assert_eq!(
        events
            .iter()
            .map(|event| event.tid)
            .collect::<HashSet<_>>()
            .len(),
        1
    );
}

#[test]
fn only_the_calls_that_are_asked_for_are_told_with_a_filter_and_without() {
    for filter in [true, false] {
        let options = TraceOptions {
            calls: native(&[GETUID]),
            filter,
            ..command(program("forks"), &["20", "20"])
        };
        let (events, ended) = traced(&options);
        assert_eq!(ended.command, Some(CommandExit::Exited(0)));
        assert_eq!(counts(&events), BTreeMap::from([(number_of(GETUID), 400)]));
    }
}

#[test]
fn threads_inherit_the_filter() {
    let options = TraceOptions {
        calls: native(&[GETUID]),
        ..command(program("threads"), &["calls", "8", "100"])
    };
    let (events, _) = traced(&options);
    assert_eq!(counts(&events), BTreeMap::from([(number_of(GETUID), 800)]));
    let threads: HashSet<i32> = calls(&events).map(|(event, _)| event.tid).collect();
    let processes: HashSet<i32> = calls(&events).map(|(event, _)| event.pid).collect();
    assert_eq!((threads.len(), processes.len()), (8, 1));
}

#[test]
fn an_execve_that_is_asked_for_is_told_with_a_filter() {
    let options = TraceOptions {
        calls: native(&[EXECVE]),
        ..command(program("vforks"), &["3", "/bin/true"])
    };
    let (events, ended) = traced(&options);
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    assert_eq!(counts(&events), BTreeMap::from([(number_of(EXECVE), 4)]));
}

#[test]
fn vfork_and_execve_are_followed() {
    let (events, ended) = traced(&command(program("vforks"), &["20", "/bin/true"]));
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    assert_eq!(counts(&events)[&number_of(EXECVE)], 21);
}

#[test]
fn signals_are_told_and_delivered_as_they_were_sent() {
    let (events, ended) = traced(&command(program("signals"), &[]));
    assert_eq!(ended.command, Some(CommandExit::Killed(15)));
    let signals: Vec<(i32, &Vec<u8>)> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Signal { number, info, .. } => Some((*number, info)),
            _ => None,
        })
        .collect();
    let numbers: Vec<i32> = signals.iter().map(|(number, _)| *number).collect();
    // What is ignored is delivered to the tracer only.
    assert_eq!(numbers, [10, 14, 12, 15]);
    for (number, info) in signals {
        assert_eq!(info.len(), 128);
        assert_eq!(info[..4], number.to_ne_bytes());
    }
    assert!(matches!(
        events.last().unwrap().kind,
        EventKind::Killed {
            signal: 15,
            core: false
        }
    ));
}

#[test]
fn only_the_signals_that_are_asked_for_are_told_but_all_are_delivered() {
    let options = TraceOptions {
        signals: backsight_tracer::options::SignalSet::parse("TERM").unwrap(),
        ..command(program("signals"), &[])
    };
    let (events, ended) = traced(&options);
    assert_eq!(ended.command, Some(CommandExit::Killed(15)));
    let signals = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Signal { .. }));
    assert_eq!(signals.count(), 1);
}

#[test]
fn stopped_jobs_stay_stopped_and_go_on_when_they_are_told_to() {
    let (events, ended) = traced(&command(program("stops"), &["20"]));
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    let stops = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Stopped { signal: 19 }));
    assert!(stops.count() >= 20);
}

#[test]
fn a_thread_that_executes_supersedes_the_first_one() {
    let (events, ended) = traced(&command(program("threads"), &["exec", "/bin/true"]));
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    let (index, leader, by) = events
        .iter()
        .enumerate()
        .find_map(|(index, event)| match event.kind {
            EventKind::Superseded { by } => Some((index, event.tid, by)),
            _ => None,
        })
        .expect("nobody was superseded");
    assert_ne!(leader, by);
    assert!(events[index..].iter().all(|event| event.tid != by));
    let executed = calls(&events[index..])
        .find(|(_, call)| call.number == number_of(EXECVE))
        .unwrap();
    assert_eq!(executed.0.tid, leader);
    assert!(matches!(
        executed.1.outcome,
        SyscallOutcome::Returned { value: 0, .. }
    ));
    assert!(matches!(
        events.last().unwrap().kind,
        EventKind::Exited { status: 0 }
    ));
}

#[test]
fn six_hundred_looping_threads_end_with_their_process() {
    let (events, ended) = traced(&command(program("threads"), &["loop", "600"]));
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    let attached = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Attached { .. }))
        .count();
    let ends = events
        .iter()
        .filter(|event| {
            matches!(
                event.kind,
                EventKind::Exited { .. } | EventKind::Killed { .. }
            )
        })
        .count();
    assert_eq!((attached, ends), (600, 601));
    // Who makes them doesn't wait for a turn of each that is there already: they would have made five times as many calls.
    let calls = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Call(_)))
        .count();
    assert!(calls < 400_000, "{calls}");
}

#[test]
fn the_end_of_a_process_whose_first_thread_left_is_the_last_ones() {
    let (_, ended) = traced(&command(program("threads"), &["leave", "8"]));
    assert_eq!(ended.command, Some(CommandExit::Exited(7)));
}

#[test]
fn no_thread_starves_while_others_call() {
    let options = TraceOptions {
        calls: native(&[GETUID]),
        filter: false,
        ..command(program("threads"), &["spin", "64", "32000"])
    };
    let (events, ended) = traced(&options);
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    let mut by_thread: HashMap<i32, usize> = HashMap::new();
    for (event, _) in calls(&events) {
        *by_thread.entry(event.tid).or_default() += 1;
    }
    assert_eq!(by_thread.values().sum::<usize>(), 32_000);
    assert_eq!(by_thread.len(), 64);
    // Who opens the barrier may be ahead of the others by what the system takes to wake them, and to let them run where others
    // are busy; nobody may be left behind.
    let least = by_thread.values().min().unwrap();
    assert!(least * 2 >= 32_000 / 64, "{least} of 500");
}

#[test]
fn a_tracer_that_is_traced_is_refused_its_child_and_works_unfollowed() {
    let (_, followed) = traced(&command(program("traces"), &[]));
    assert_eq!(followed.command, Some(CommandExit::Exited(3)));
    let alone = TraceOptions {
        follow: false,
        ..command(program("traces"), &[])
    };
    let (_, unfollowed) = traced(&alone);
    assert_eq!(unfollowed.command, Some(CommandExit::Exited(0)));
}

#[test]
fn a_setuid_program_gets_its_rights_where_the_tracer_has_them() {
    if Need::Root.is_missing() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    // Readable by anybody, as the folders of the build needn't be.
    let folder = std::env::temp_dir().join(format!("backsight-setuid-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let copy = folder.join("whose");
    std::fs::copy(program("whose"), &copy).unwrap();
    let nobody = UserRights {
        uid: 65534,
        gid: 65534,
        groups: vec![65534],
    };
    let mut ends = Vec::new();
    for mode in [0o755, 0o4755] {
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(mode)).unwrap();
        for filter in [false, true] {
            let mut options = command(&copy, &[]);
            options.calls = if filter {
                native(&[GETUID])
            } else {
                SyscallSet::all()
            };
            if let Some(command) = &mut options.command {
                command.user = Some(nobody.clone());
            }
            ends.push(traced(&options).1.command);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let exited = |status| Some(CommandExit::Exited(status));
    assert_eq!(ends, [exited(1), exited(1), exited(0), exited(0)]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_in_the_32_bit_way_are_named_as_such() {
    let (events, ended) = traced(&command(program("narrow"), &[]));
    let found = match ended.command {
        Some(CommandExit::Exited(2)) => Err("this kernel doesn't take them"),
        _ => Ok(()),
    };
    if Need::Calls32.is_missing_in(found) {
        return;
    }
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    let narrow: Vec<&SyscallRecord> = calls(&events)
        .map(|(_, call)| call)
        .filter(|call| call.abi == Abi::I386)
        .collect();
    assert_eq!(narrow.len(), 1);
    assert_eq!(narrow[0].number, 20);
    assert!(
        matches!(narrow[0].outcome, SyscallOutcome::Returned { value, .. } if value == i64::from(events[0].pid))
    );
}

#[test]
fn a_process_is_attached_to_with_all_its_threads_and_goes_on_when_it_is_detached_from() {
    let mut child = std::process::Command::new(program("threads"))
        .args(["calls", "4", "100000000"])
        .spawn()
        .unwrap();
    let pid = child.id().cast_signed();
    // All its threads are there, and not the first one's start.
    while std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .count()
        < 5
    {
        std::thread::yield_now();
    }
    let options = TraceOptions {
        pids: vec![pid],
        follow: true,
        calls: native(&[GETUID]),
        limit: Some(1000),
        ..TraceOptions::default()
    };
    let (events, ended) = traced(&options);
    assert_eq!((ended.calls, ended.command), (1000, None));
    assert_eq!(calls(&events).count(), 1000);
    let of = |wanted: fn(&EventKind) -> bool| -> HashSet<i32> {
        events
            .iter()
            .filter(|event| wanted(&event.kind))
            .map(|event| event.tid)
            .collect()
    };
    let attached = of(|what| matches!(what, EventKind::Attached { parent: None }));
    assert_eq!(attached.len(), 5);
    assert_eq!(attached, of(|what| matches!(what, EventKind::Detached)));
    for tid in attached {
        let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).unwrap();
        assert!(status.contains("TracerPid:\t0"), "{status}");
        assert!(!status.contains("State:\tt"), "{status}");
    }
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_thread_waits_in_is_known_where_it_takes_that_up_again() {
    let mut child = std::process::Command::new("sleep")
        .arg("1.5")
        .spawn()
        .unwrap();
    let pid = child.id().cast_signed();
    let asleep = || {
        let waits = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
        waits.starts_with(&format!("{} ", libc::SYS_clock_nanosleep))
    };
    let until = Instant::now() + LONG;
    while !asleep() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let options = TraceOptions {
        pids: vec![pid],
        ..TraceOptions::default()
    };
    let (events, _) = traced(&options);
    // Whoever traces has waited for it.
    let _reaped = child.wait();
    let mut text = TextWriter::new(TextOptions {
        column: 0,
        ..TextOptions::default()
    });
    let mut out = Vec::new();
    events.iter().for_each(|event| text.write(event, &mut out));
    let out = String::from_utf8(out).unwrap();
    let resumed = "restart_syscall(<... resuming interrupted clock_nanosleep ...>) = 0\n";
    assert!(out.contains(resumed), "{out}");
}

#[test]
fn an_interrupt_detaches_from_a_process_that_was_attached_to() {
    let mut child = std::process::Command::new("sleep")
        .arg("1000")
        .spawn()
        .unwrap();
    let options = TraceOptions {
        pids: vec![child.id().cast_signed()],
        ..TraceOptions::default()
    };
    // It sleeps in a call that doesn't come back: only the interrupt can end this.
    let interrupt = Arc::new(Interrupt::new());
    let asker = Arc::clone(&interrupt);
    let (attached, is_attached) = mpsc::channel();
    let asking = std::thread::spawn(move || {
        is_attached.recv_timeout(LONG).unwrap();
        asker.trigger(2);
    });
    let mut events = Vec::new();
    let ended = ptrace_engine::trace(&options, &interrupt, &mut |event| {
        let _first_only = attached.send(());
        events.push(event.kind);
    });
    asking.join().unwrap();
    assert_eq!(ended.unwrap().command, None);
    assert_eq!(events.last(), Some(&EventKind::Detached));
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn an_interrupt_goes_to_the_command_that_was_started() {
    for calls in [SyscallSet::all(), native(&[GETUID])] {
        let options = TraceOptions {
            calls,
            ..command(program("threads"), &["calls", "2", "100000000"])
        };
        let interrupt = Interrupt::new();
        let mut command = 0;
        let ended = std::thread::scope(|scope| {
            let mut asking = None;
            ptrace_engine::trace(&options, &interrupt, &mut |event| {
                command = event.pid;
                if asking.is_none() {
                    asking = Some(scope.spawn(|| interrupt.trigger(15)));
                }
            })
            .unwrap()
        });
        // It is gone, by whoever's hand: nobody can send it anything, but who has to wait for it.
        assert!(matches!(ended.command, None | Some(CommandExit::Killed(_))));
        let status = nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(command), None);
        assert!(
            matches!(
                status,
                Err(nix::errno::Errno::ECHILD)
                    | Ok(nix::sys::wait::WaitStatus::Signaled(
                        _,
                        nix::sys::signal::Signal::SIGTERM,
                        _
                    ))
            ),
            "{status:?}"
        );
    }
}

#[test]
fn a_program_goes_on_when_its_tracer_is_killed() {
    let (mut ticks, output) = std::io::pipe().unwrap();
    let ticker = program("ticks");
    // SAFETY: the child goes on with its one thread only, and ends without coming back here.
    let tracer = match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Child => {
            nix::unistd::dup2_stdout(&output).unwrap();
            drop((output, ticks));
            let _never_ends =
                ptrace_engine::trace(&command(ticker, &[]), &Interrupt::new(), &mut |_| {});
            std::process::abort();
        }
        nix::unistd::ForkResult::Parent { child } => child,
    };
    drop(output);
    let mut tick = [0_u8; 50];
    ticks.read_exact(&mut tick).unwrap();
    nix::sys::signal::kill(tracer, nix::sys::signal::Signal::SIGKILL).unwrap();
    nix::sys::wait::waitpid(tracer, None).unwrap();
    // More than a pipe could hold from before.
    let mut many = vec![0_u8; 1000];
    ticks.read_exact(&mut many).unwrap();
}

#[test]
fn a_call_is_told_as_pending_before_anything_else_is_told() {
    let options = TraceOptions {
        pending: true,
        ..command(program("threads"), &["calls", "4", "50"])
    };
    let (events, _) = traced(&options);
    let mut pending: HashMap<i32, SyscallRecord> = HashMap::new();
    let mut told = 0;
    for event in &events {
        match &event.kind {
            EventKind::Pending(call) => {
                assert_eq!(call.outcome, SyscallOutcome::Open);
                assert!(
                    pending.insert(event.tid, call.clone()).is_none(),
                    "told twice: {event:?}"
                );
                told += 1;
            }
            EventKind::Call(call) => {
                if let Some(before) = pending.remove(&event.tid) {
                    assert_eq!((before.number, before.entered), (call.number, call.entered));
                }
            }
            _ => {}
        }
    }
    assert!(told > 0, "four threads never called at the same time");
    assert!(pending.is_empty());
    assert_eq!(counts(&events)[&number_of(GETUID)], 200);
}

#[test]
fn nothing_is_told_as_pending_when_nobody_asks_for_it() {
    let (events, _) = traced(&command(program("threads"), &["calls", "4", "50"]));
    assert!(
        !events
            .iter()
            .any(|event| matches!(event.kind, EventKind::Pending(_)))
    );
}

#[test]
fn an_injected_result_is_what_the_program_sees_and_the_call_isnt_made() {
    let injections = |text: &str| vec![Injection::parse(text, &[]).unwrap()];
    let getuid = number_of(GETUID);
    for (filter, all) in [(true, false), (false, true)] {
        let options = TraceOptions {
            injections: injections(&format!("{getuid}:retval=4321:when=2..3")),
            calls: if all {
                SyscallSet::all()
            } else {
                native(&[GETUID])
            },
            filter,
            ..command(program("forks"), &["1", "4"])
        };
        let (events, ended) = traced(&options);
        assert_eq!(ended.command, Some(CommandExit::Exited(0)));
        let results: Vec<(i64, bool)> = calls(&events)
            .filter(|(_, call)| call.number == getuid)
            .map(|(_, call)| match call.outcome {
                SyscallOutcome::Returned { value, .. } => (value, call.injected),
                SyscallOutcome::Open => panic!("{call:?}"),
            })
            .collect();
        let uid = i64::from(nix::unistd::getuid().as_raw());
        assert_eq!(
            results,
            [(uid, false), (4321, true), (4321, true), (uid, false)]
        );
    }
}

#[test]
fn nothing_is_done_to_calls_that_are_not_traced() {
    for filter in [true, false] {
        let options = TraceOptions {
            injections: vec![
                Injection::parse(&format!("{}:error=EIO", number_of(OPENAT)), &[]).unwrap(),
            ],
            calls: native(&[GETUID]),
            filter,
            ..command(program("forks"), &["1", "4"])
        };
        // Without its libraries it would not even begin.
        let (events, ended) = traced(&options);
        assert_eq!(ended.command, Some(CommandExit::Exited(0)));
        assert!(calls(&events).all(|(_, call)| !call.injected));
    }
}

#[test]
fn another_call_is_made_instead_and_memory_is_written() {
    let (getuid, openat, getpid) = (number_of(GETUID), number_of(OPENAT), "getpid");
    let known = [NamedSyscall {
        abi: NATIVE,
        number: backsight_syscall_decode::table::syscall_number(NATIVE, getpid).unwrap(),
        name: getpid,
        classes: [SyscallClass::Pure].into_iter().collect(),
    }];
    let parse = |text: &str| Injection::parse(text, &known);
    assert!(parse(&format!("{getuid}:syscall=getpid")).is_err());
    let options = TraceOptions {
        injections: vec![parse(&format!("{getuid}:syscall=getpid:delay_enter=1")).unwrap()],
        calls: native(&[GETUID]),
        ..command(program("forks"), &["1", "1"])
    };
    let (events, _) = traced(&options);
    let call = calls(&events).find(|(_, call)| call.number == getuid);
    let (_, call) = call.unwrap();
    assert!(call.delayed && !call.injected);
    assert!(matches!(
        call.outcome,
        SyscallOutcome::Returned { value: 0, .. }
    ));
    // What is opened is another file.
    let options = TraceOptions {
        injections: vec![parse(&format!("{openat}:poke_enter=@arg2=2f6e6f7468696e6700")).unwrap()],
        ..command("/bin/cat", &["/dev/null"])
    };
    let (events, _) = traced(&options);
    let poked = calls(&events).find(|(_, call)| {
        call.rewritten
            && call
                .memory
                .pieces()
                .iter()
                .any(|piece| piece.bytes == b"/nothing\0")
    });
    assert!(poked.is_some());
}

#[test]
fn what_a_call_is_given_is_changed_as_far_as_memory_reaches() {
    let plain = TraceOptions {
        calls: native(&[OPENAT]),
        ..command(program("texts"), &[])
    };
    let changed = |options: &TraceOptions| -> (Vec<bool>, usize) {
        let (events, _) = traced(options);
        let unchanged = events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Unchanged { argument: 1, .. }));
        let changed = calls(&events).map(|(_, call)| call.rewritten);
        (changed.collect(), unchanged.count())
    };
    // Its own ten: two where memory ends, one over a page's end, three at no memory, three in the middle, one where memory
    // ends that can only be read.
    let loader = changed(&plain).0.len() - 10;
    let injection = format!(
        "{}:poke_enter=@arg2=2f6e6f7468696e6700:when={}+",
        number_of(OPENAT),
        loader + 1
    );
    let options = TraceOptions {
        injections: vec![Injection::parse(&injection, &[]).unwrap()],
        ..plain
    };
    let (changed, unchanged) = changed(&options);
    assert_eq!(
        changed[loader..],
        [
            true, true, true, false, false, false, true, true, true, true
        ]
    );
    assert_eq!(unchanged, 3, "each is told");
}

#[test]
fn an_injected_error_makes_a_program_fail() {
    let options = TraceOptions {
        // No child: `fork` fails, which the C library makes with `clone`.
        injections: vec![
            Injection::parse(&format!("{}:error=EAGAIN", libc::SYS_clone), &[]).unwrap(),
        ],
        ..command(program("forks"), &["1", "1"])
    };
    assert_eq!(traced(&options).1.command, Some(CommandExit::Exited(2)));
}

#[test]
fn an_injected_signal_is_delivered_at_the_call() {
    let getuid = number_of(GETUID);
    let options = TraceOptions {
        injections: vec![Injection::parse(&format!("{getuid}:signal=USR1:when=3"), &[]).unwrap()],
        ..command(program("threads"), &["calls", "1", "10"])
    };
    let (events, ended) = traced(&options);
    assert_eq!(ended.command, Some(CommandExit::Killed(10)));
    assert_eq!(counts(&events)[&getuid], 3);
}

#[test]
fn an_injected_delay_holds_a_thread_and_no_other() {
    let getuid = number_of(GETUID);
    let delay = Duration::from_millis(30);
    let text = format!("{getuid}:delay_enter=30ms:delay_exit=30ms:when=1");
    let options = TraceOptions {
        injections: vec![Injection::parse(&text, &[]).unwrap()],
        ..command(program("threads"), &["calls", "2", "2"])
    };
    let (events, _) = traced(&options);
    let mut delayed = 0;
    for (_, call) in calls(&events).filter(|(_, call)| call.number == getuid) {
        if let SyscallOutcome::Returned { took, .. } = call.outcome {
            delayed += usize::from(u128::from(took) >= delay.as_nanos());
        }
    }
    // On a busy machine others are slow by themselves.
    assert!(delayed >= 2);
    assert_eq!(counts(&events)[&getuid], 4);
}

#[test]
fn only_calls_that_ended_as_asked_for_are_told() {
    let told = |status| {
        let options = TraceOptions {
            statuses: StatusSet::only(status),
            ..command("/bin/cat", &["/no/such/file"])
        };
        traced(&options).0
    };
    let value = |call: &SyscallRecord| match call.outcome {
        SyscallOutcome::Returned { value, .. } => Some(value),
        SyscallOutcome::Open => None,
    };
    let failed = told(CallStatus::Failed);
    assert!(calls(&failed).count() > 0);
    assert!(
        calls(&failed)
            .all(|(_, call)| value(call).is_some_and(|value| (-4095..0).contains(&value)))
    );
    let fine = told(CallStatus::Successful);
    assert!(
        calls(&fine).all(|(_, call)| value(call).is_some_and(|value| !(-4095..0).contains(&value)))
    );
    let unfinished = told(CallStatus::Unfinished);
    let numbers: Vec<u64> = calls(&unfinished).map(|(_, call)| call.number).collect();
    assert_eq!(numbers, [number_of(EXIT_GROUP)]);
}

#[test]
fn a_process_is_detached_from_at_a_call_that_was_named() {
    let options = TraceOptions {
        detach_on: native(&[EXECVE]),
        ..command(program("vforks"), &["3", "/bin/true"])
    };
    let (events, ended) = traced(&options);
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    let detached = events
        .iter()
        .filter(|event| event.kind == EventKind::Detached)
        .count();
    assert_eq!(detached, 3);
}

#[test]
fn what_the_tracer_counts_is_what_strace_counts() {
    let strace = Path::new("/usr/bin/strace");
    let found = if strace.exists() {
        Ok(())
    } else {
        Err("it isn't here")
    };
    if Need::Strace.is_missing_in(found) {
        return;
    }
    let out = std::env::temp_dir().join(format!("backsight-strace-{}", std::process::id()));
    for line in [
        "true",
        "ls -l /etc",
        "dd if=/dev/zero of=/dev/null bs=1 count=1000",
        // Nothing that waits for a child: how often that is interrupted by its end is chance.
        "sh -c 'echo 1; read line < /etc/passwd; exec /bin/echo 2'",
        "find /etc -maxdepth 1 -type f",
    ] {
        let shell = format!("exec {line} > /dev/null 2>&1");
        let done = std::process::Command::new(strace)
            .args(["-f", "-c", "-U", "calls,name", "-o"])
            .arg(&out)
            .args(["/bin/sh", "-c", &shell])
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(done.success());
        let summary = std::fs::read_to_string(&out).unwrap();
        let total: u64 = summary
            .lines()
            .find(|line| line.trim_end().ends_with("total"))
            .and_then(|line| line.split_whitespace().next()?.parse().ok())
            .unwrap_or_else(|| panic!("{summary}"));
        // A call that never comes back isn't in its summary: one for each process and thread.
        let (events, ended) = traced(&command("/bin/sh", &["-c", &shell]));
        let open = calls(&events)
            .filter(|(_, call)| call.outcome == SyscallOutcome::Open)
            .count() as u64;
        assert_eq!(ended.calls - open, total, "{line}\n{summary}");
    }
    std::fs::remove_file(out).unwrap();
}

#[test]
fn only_what_concerns_a_path_is_told_by_name_or_by_descriptor() {
    let told = |path: &str| {
        let options = TraceOptions {
            paths: vec![path.into()],
            limits: None,
            ..command("/bin/cat", &["/etc/passwd"])
        };
        let (events, ended) = traced(&options);
        assert_eq!(ended.command, Some(CommandExit::Exited(0)));
        counts(&events)
    };
    assert_eq!(told("/no/such/path"), BTreeMap::new());
    let passwd = told("/etc/passwd");
    assert_eq!(passwd[&number_of(OPENAT)], 1);
    assert_eq!(passwd[&number_of(CLOSE)], 1);
    assert!(!passwd.contains_key(&number_of(EXIT_GROUP)));
}

#[test]
fn texts_are_captured_as_far_as_memory_goes_and_no_further() {
    let options = TraceOptions {
        calls: native(&[OPENAT]),
        ..command(program("texts"), &[])
    };
    let (events, _) = traced(&options);
    let all: Vec<&SyscallRecord> = calls(&events).map(|(_, call)| call).collect();
    let slashes = |count: usize| "/".repeat(count).into_bytes();
    let expected: [&[u8]; 10] = [
        b"/end\0",
        b"/open",
        b"/boundary\0",
        b"",
        b"",
        b"",
        &[slashes(4095), vec![0]].concat(),
        &slashes(4096),
        b"/zero\0",
        b"/read",
    ];
    // Before these come those of the loader.
    let own = &all[all.len() - expected.len()..];
    for (call, text) in own.iter().zip(expected) {
        let captured = call
            .memory
            .at(call.arguments[1], 1 << 20, CapturePoint::Entered);
        assert_eq!(captured.unwrap_or_default(), text, "{call:?}");
    }
}

#[test]
fn a_program_never_sees_that_it_shared_a_processor_with_its_tracer() {
    let (events, ended) = traced(&command(program("affinity"), &["20000"]));
    assert_eq!(ended.command, Some(CommandExit::Exited(0)));
    assert!(events.len() > 4 * 20000);
}

#[test]
fn a_program_gets_its_processors_back_when_its_tracer_is_killed() {
    use nix::sched::{CpuSet, sched_getaffinity};
    let pid = nix::unistd::Pid::from_raw;
    let count = |set: CpuSet| {
        (0..CpuSet::count())
            .filter(|at| set.is_set(*at).unwrap())
            .count()
    };
    let all = count(sched_getaffinity(pid(0)).unwrap());
    if Need::Processors.is_missing() {
        return;
    }
    let (mut first, mut output) = std::io::pipe().unwrap();
    let caller = program("threads");
    // SAFETY: the child goes on with its one thread only, and ends without coming back here.
    let tracer = match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Child => {
            let mut told = false;
            let options = command(caller, &["alone", "1000000000"]);
            let _never_ends = ptrace_engine::trace(&options, &Interrupt::new(), &mut |event| {
                if !std::mem::replace(&mut told, true) {
                    output.write_all(&event.pid.to_ne_bytes()).unwrap();
                }
            });
            std::process::abort();
        }
        nix::unistd::ForkResult::Parent { child } => child,
    };
    let mut number = [0_u8; 4];
    first.read_exact(&mut number).unwrap();
    let caller = pid(i32::from_ne_bytes(number));
    let until = Instant::now() + LONG;
    let awaited = |wanted: usize| {
        while count(sched_getaffinity(caller).unwrap()) != wanted {
            assert!(Instant::now() < until, "never on {wanted} processors");
            std::thread::yield_now();
        }
    };
    awaited(1);
    nix::sys::signal::kill(tracer, nix::sys::signal::Signal::SIGKILL).unwrap();
    nix::sys::wait::waitpid(tracer, None).unwrap();
    awaited(all);
    nix::sys::signal::kill(caller, nix::sys::signal::Signal::SIGKILL).unwrap();
}

/// The functions on each stack that is told, beside the number of the call or the name of what it is of.
fn stacks(events: &[TraceEvent]) -> Vec<(String, Vec<&StackFrame>)> {
    let pairs = events.windows(2).filter_map(|pair| match &pair[1].kind {
        EventKind::Stack(frames) => Some((&pair[0], frames)),
        _ => None,
    });
    let named = pairs.map(|(before, frames)| {
        let what = match &before.kind {
            EventKind::Call(call) => find_syscall(call.abi, call.number).unwrap().name.to_owned(),
            EventKind::Signal { .. } => "signal".to_owned(),
            other => panic!("{other:?} has no stack"),
        };
        (what, frames.iter().collect())
    });
    named.collect()
}

fn functions<'a>(stacks: &'a [(String, Vec<&StackFrame>)], of: &str) -> Vec<&'a str> {
    let mut stacks = stacks.iter();
    let (_, frames) = stacks
        .find(|(what, _)| what == of)
        .unwrap_or_else(|| panic!("there is a stack of {of}"));
    let name = |frame: &&'a StackFrame| match &frame.function {
        Some((name, _)) => std::str::from_utf8(name).unwrap(),
        None => "",
    };
    frames.iter().map(name).collect()
}

#[test]
fn a_call_is_told_with_the_functions_that_the_thread_was_in() {
    let (events, _) = traced(&TraceOptions {
        stacks: true,
        ..command(program("stacks"), &[])
    });
    let told = stacks(&events);
    assert_eq!(
        functions(&told, "getuid")[..6],
        [
            "getuid",
            "inner",
            "space::calm(int)",
            "crate::shaken",
            "outer",
            "main"
        ]
    );
    // What a handler goes back to has no name.
    let handled = ["getgid", "handler", "", "kill", "raised", "main"];
    assert_eq!(functions(&told, "getgid")[..6], handled);
    assert_eq!(functions(&told, "signal")[..3], ["kill", "raised", "main"]);
    assert_eq!(functions(&told, "geteuid")[..3], ["moved", "again", "main"]);
    // Where the program was before it was another; of the first of these that is nobody's business.
    assert!(functions(&told, "execve").contains(&"main"));
    assert!(!functions(&told, "exit_group").is_empty());
    let (_, frames) = told.iter().find(|(what, _)| what == "getuid").unwrap();
    assert!(frames[0].file.ends_with(b"/libc.so.6"), "{frames:?}");
    assert!(frames[1].file.ends_with(b"/stacks"), "{frames:?}");
}

#[test]
fn what_was_mapped_unseen_is_found_on_stacks_too() {
    const GETEUID: (u64, u64) = (107, 175);
    let (events, _) = traced(&TraceOptions {
        stacks: true,
        calls: native(&[GETUID, GETEUID]),
        ..command(program("stacks"), &[])
    });
    let told = stacks(&events);
    assert_eq!(functions(&told, "getuid")[..2], ["getuid", "inner"]);
    assert_eq!(functions(&told, "geteuid")[..3], ["moved", "again", "main"]);
}

#[test]
fn stacks_are_those_of_strace() {
    if is_strace_missing() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("strace.txt");
    let program = program("stacks");
    let mut strace = std::process::Command::new("strace");
    let done = strace.args(["-k", "-o"]).arg(&out).arg(&program).status();
    assert!(done.unwrap().success());
    let mut theirs: Vec<(String, Vec<String>)> = Vec::new();
    for line in String::from_utf8_lossy(&std::fs::read(out).unwrap()).lines() {
        match (line.strip_prefix(" > "), theirs.last_mut()) {
            (Some(frame), Some((_, frames))) => {
                // Which symbol is before a place, however far, isn't which function it is in; a name in C++ has parentheses.
                let (file, rest) = frame.split_once('(').unwrap();
                let (_, place) = rest.rsplit_once(") ").unwrap();
                frames.push(format!("{file} {place}"));
            }
            _ => theirs.push((line.split('(').next().unwrap().to_owned(), Vec::new())),
        }
    }
    let (events, _) = traced(&TraceOptions {
        stacks: true,
        ..command(&program, &[])
    });
    let ours = stacks(&events).into_iter().map(|(what, frames)| {
        let frames = frames.into_iter().map(|frame| {
            let file = String::from_utf8_lossy(&frame.file);
            format!("{file} [{:#x}]", frame.offset)
        });
        (what, frames.collect::<Vec<_>>())
    });
    // Where a program was that is gone, and what one goes back to by `rt_sigreturn`, strace tells elsewhere; and of a file of
    // which a part is mapped once more it finds only the innermost function.
    let elsewhere = |what: &str| {
        let others = "execve exit_group rt_sigreturn geteuid signal --- +++";
        others.split(' ').any(|it| what.starts_with(it))
    };
    let ours: Vec<_> = ours.filter(|(what, _)| !elsewhere(what)).collect();
    theirs.retain(|(what, _)| !elsewhere(what));
    assert!(theirs.len() > 20, "{theirs:?}");
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
}

/// Whether each stranger had ended, and how the command did, which follows nobody.
fn strangers(kind: &str) -> (Vec<bool>, Option<CommandExit>) {
    let options = TraceOptions {
        follow: false,
        ..command(program("strangers"), &[kind])
    };
    let (events, ended) = traced(&options);
    let others = events.iter().filter_map(|event| match event.kind {
        EventKind::Stranger { ended } => Some(ended),
        _ => None,
    });
    (others.collect(), ended.command)
}

#[test]
fn a_child_that_its_maker_gave_to_the_tracer_goes_on_untraced() {
    assert_eq!(
        strangers("ptrace"),
        (vec![false], Some(CommandExit::Exited(0)))
    );
    assert_eq!(
        strangers("parent"),
        (vec![true], Some(CommandExit::Exited(0)))
    );
}
