//! The kernel engine, on real programs. Where it can't run these tests say so and do nothing.

use backsight_test_needs::Need;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use backsight_syscall_decode::memory::CaptureLimits;
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::text::{TextOptions, TextWriter};
use backsight_syscall_decode::{
    Abi, CapturePoint, EventKind, SyscallOutcome, SyscallRecord, TraceEvent,
};
use backsight_tracer::bpf_engine::{check_available, trace};
use backsight_tracer::emit::Emit;
use backsight_tracer::engine::{self, EngineKind};
use backsight_tracer::error::BpfEngineError;
use backsight_tracer::error::TraceError;
use backsight_tracer::interrupt::Interrupt;
use backsight_tracer::options::{CallStatus, StatusSet, TraceOptions};
use backsight_tracer::outcome::{CommandExit, TraceOutcome};
use backsight_tracer::summary::CallSummary;
use proptest::prelude::*;

use crate::{in_time::in_time, programs::program};

const SMALLEST: u32 = 65536;
const GETPPID: u64 = libc::SYS_getppid as u64;
/// Set where this binary is to be a tracer for another test: the command.
const AS_A_TRACER: &str = "BACKSIGHT_TEST_TRACER";

/// Whether the engine can run.
fn runs() -> bool {
    !Need::Bpf.is_missing_in(check_available())
}

/// A command, all of it told.
fn options_for(program: impl AsRef<Path>, words: &[&str]) -> TraceOptions {
    TraceOptions {
        command: Some(backsight_tracer::command::TracedCommand::new(
            program.as_ref(),
            words,
        )),
        ..TraceOptions::default()
    }
}

/// The program that makes known calls, alone.
fn command(words: &[&str]) -> TraceOptions {
    options_for(program("calls"), words)
}

/// With all its children and threads.
fn followed(words: &[&str]) -> TraceOptions {
    TraceOptions {
        follow: true,
        ..command(words)
    }
}

/// So, through the smallest ring.
fn tight(words: &[&str]) -> TraceOptions {
    TraceOptions {
        ring: SMALLEST,
        ..followed(words)
    }
}

fn traced(options: &TraceOptions, emit: &mut Emit<'_>) -> TraceOutcome {
    in_time(|interrupt| trace(options, interrupt, emit)).unwrap()
}

/// The command ended well.
const WELL: Option<CommandExit> = Some(CommandExit::Exited(0));

/// Traces, as slowly as a reader may be, and gives every event to `each`.
fn slowly(options: &TraceOptions, mut each: impl FnMut(TraceEvent) + Send) -> TraceOutcome {
    let mut number = 0_u32;
    traced(options, &mut |event| {
        number += 1;
        if number.is_multiple_of(1000) {
            std::thread::sleep(Duration::from_millis(1));
        }
        each(event);
    })
}

fn quickly(options: &TraceOptions) -> (Vec<TraceEvent>, TraceOutcome) {
    let mut events = Vec::new();
    let ended = traced(options, &mut |event| events.push(event));
    (events, ended)
}

fn all_calls(events: &[TraceEvent]) -> impl Iterator<Item = (&TraceEvent, &SyscallRecord)> {
    events.iter().filter_map(|event| match &event.kind {
        EventKind::Call(call) => Some((event, call)),
        _ => None,
    })
}

/// Counts calls of one number, by thread, and what is said to be lost.
#[derive(Default)]
struct Count {
    threads: BTreeMap<i32, u64>,
    lost: u64,
}

impl Count {
    fn take(&mut self, event: &TraceEvent) {
        match &event.kind {
            EventKind::Call(call) if call.number == GETPPID => {
                *self.threads.entry(event.tid).or_default() += 1
            }
            EventKind::Lost { number } => self.lost += number,
            _ => {}
        }
    }

    fn total(&self) -> u64 {
        self.threads.values().sum()
    }
}

#[test]
fn a_million_calls_through_the_smallest_ring_to_a_slow_reader_lose_nothing() {
    if !runs() {
        return;
    }
    let mut count = Count::default();
    let ended = slowly(&tight(&["threads", "8", "125000"]), |event| {
        count.take(&event)
    });
    assert_eq!(
        (count.total(), count.lost, ended.lost, ended.command),
        (1_000_000, 0, 0, WELL)
    );
    assert!(
        ended.backpressure_stops > 0,
        "the reader wasn't slow: {ended:?}"
    );
}

#[test]
fn a_thread_that_blocks_every_signal_loses_nothing_either() {
    if !runs() {
        return;
    }
    let mut count = Count::default();
    let ended = slowly(&tight(&["blocked", "100000"]), |event| count.take(&event));
    assert_eq!(
        (count.total(), count.lost, ended.lost, ended.command),
        (100_000, 0, 0, WELL)
    );
    assert!(
        ended.backpressure_stops > 0,
        "the reader wasn't slow: {ended:?}"
    );
}

#[test]
fn none_of_64_threads_starves_while_the_reader_is_slow() {
    if !runs() {
        return;
    }
    let mut count = Count::default();
    let mut least_so_far = u64::MAX;
    let ended = slowly(&tight(&["threads", "64", "4000"]), |event| {
        count.take(&event);
        // The first thread that is through shows how far the others are.
        if let (EventKind::Exited { .. }, Some(4000), u64::MAX) =
            (&event.kind, count.threads.get(&event.tid), least_so_far)
        {
            least_so_far = count.threads.values().copied().min().unwrap_or(0);
            assert_eq!(count.threads.len(), 64);
        }
    });
    assert_eq!((count.total(), count.lost, ended.lost), (256_000, 0, 0));
    assert!(
        least_so_far >= 1000,
        "when the first thread had made its 4000 calls, another had made {least_so_far}"
    );
}

#[test]
fn a_storm_of_forks_is_followed_to_the_last_call() {
    if !runs() {
        return;
    }
    let mut count = Count::default();
    let (mut attached, mut exited) = (0, 0);
    let ended = slowly(&tight(&["forks", "300", "20"]), |event| {
        count.take(&event);
        attached += u32::from(matches!(
            event.kind,
            EventKind::Attached { parent: Some(_) }
        ));
        exited += u32::from(matches!(event.kind, EventKind::Exited { status: 0 }));
    });
    assert_eq!((count.total(), count.lost, ended.lost), (6000, 0, 0));
    assert_eq!((attached, exited, count.threads.len()), (300, 301, 300));
}

#[test]
fn waits_are_not_interrupted_by_stops_of_ours() {
    if !runs() {
        return;
    }
    let ended = slowly(&tight(&["waiting"]), |_| ());
    assert_eq!((ended.command, ended.lost), (WELL, 0));
    assert!(ended.backpressure_stops > 0);
}

#[test]
fn a_job_that_stops_itself_is_seen_to_stop_so_often_and_no_more() {
    if !runs() {
        return;
    }
    let mut stopped = Vec::new();
    let ended = slowly(&tight(&["job"]), |event| {
        if let EventKind::Stopped { signal } = event.kind {
            stopped.push(signal);
        }
    });
    assert_eq!((ended.command, ended.lost), (WELL, 0));
    assert!(ended.backpressure_stops > 0);
    assert_eq!(stopped, [libc::SIGSTOP, libc::SIGTSTP]);
}

#[test]
fn no_sigcont_is_lost_to_a_stop_of_ours() {
    if !runs() {
        return;
    }
    let ended = slowly(&tight(&["conts"]), |_| ());
    assert_eq!(ended.command, WELL);
    assert!(ended.backpressure_stops > 0);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_32_bit_call_of_a_64_bit_program_is_named_as_such() {
    if !runs() {
        return;
    }
    let (events, _) = quickly(&command(&["narrow"]));
    let narrow: Vec<_> = all_calls(&events)
        .filter(|(_, call)| call.abi == Abi::I386)
        .collect();
    let [(event, call)] = narrow[..] else {
        panic!("one such call was made: {narrow:?}")
    };
    assert_eq!(call.number, 20);
    assert!(
        matches!(call.outcome, SyscallOutcome::Returned { value, .. } if value == i64::from(event.pid))
    );
}

#[test]
fn the_first_call_is_the_execve_and_the_last_the_exit() {
    if !runs() {
        return;
    }
    let (events, ended) = quickly(&options_for("/bin/true", &["one", "two"]));
    let calls: Vec<_> = all_calls(&events).map(|(_, call)| call).collect();
    let first = calls[0];
    assert_eq!(first.number, libc::SYS_execve as u64);
    assert_eq!(
        first
            .memory
            .at(first.arguments[0], 100, CapturePoint::Entered),
        Some(&b"/bin/true\0"[..])
    );
    let pointers = first
        .memory
        .at(first.arguments[1], 32, CapturePoint::Entered)
        .unwrap();
    let texts: Vec<_> = pointers
        .chunks(8)
        .map(|pointer| u64::from_ne_bytes(pointer.try_into().unwrap()))
        .take_while(|pointer| *pointer != 0)
        .map(|pointer| {
            first
                .memory
                .at(pointer, 100, CapturePoint::Entered)
                .unwrap()
        })
        .collect();
    assert_eq!(texts, [&b"/bin/true\0"[..], b"one\0", b"two\0"]);
    let last = calls[calls.len() - 1];
    assert_eq!(
        (last.number, last.outcome),
        (libc::SYS_exit_group as u64, SyscallOutcome::Open)
    );
    assert!(matches!(
        events[events.len() - 1].kind,
        EventKind::Exited { status: 0 }
    ));
    assert_eq!(ended.command, WELL);
}

#[test]
fn a_command_that_cannot_be_run_shows_its_execve_and_says_why() {
    if !runs() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("nonsense");
    std::fs::write(&program, "\x01nonsense").unwrap();
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let mut events = Vec::new();
    let ended = in_time(|interrupt| {
        trace(&options_for(&program, &[]), interrupt, &mut |event| {
            events.push(event)
        })
    });
    let first = all_calls(&events).next().unwrap().1;
    let enoexec = i64::from(-libc::ENOEXEC);
    assert!(
        matches!(first.outcome, SyscallOutcome::Returned { value, .. } if value == enoexec),
        "{first:?}"
    );
    // What else the process did that was to become the command isn't the command's, but for its end.
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[1].kind, EventKind::Exited { status: 1 });
    let error = ended.unwrap_err();
    assert!(
        matches!(&error, TraceError::NotStarted { why, .. } if why.raw_os_error() == Some(libc::ENOEXEC)),
        "{error:?}"
    );
}

#[test]
fn a_long_path_comes_whole_and_a_buffer_as_far_as_is_asked() {
    if !runs() {
        return;
    }
    let path = format!("/{}", "p".repeat(3000));
    let (events, _) = quickly(&options_for("cat", &[path.as_str(), "/proc/self/maps"]));
    let opened = all_calls(&events).any(|(_, call)| {
        call.number == libc::SYS_openat as u64
            && call
                .memory
                .at(call.arguments[1], 5000, CapturePoint::Entered)
                .is_some_and(|bytes| bytes[..bytes.len() - 1] == *path.as_bytes())
    });
    assert!(opened);
    let written: Vec<_> = all_calls(&events)
        .filter(|(_, call)| call.number == libc::SYS_write as u64 && call.arguments[0] == 1)
        .filter_map(|(_, call)| {
            call.memory
                .at(call.arguments[1], 5000, CapturePoint::Entered)
        })
        .collect();
    // One more tells that there is more.
    assert!(!written.is_empty() && written.iter().all(|bytes| bytes.len() == 33));
}

// It makes calls that other machines don't have.
#[cfg(target_arch = "x86_64")]
#[test]
fn what_ends_where_memory_does_comes_up_to_there() {
    if !runs() {
        return;
    }
    let (events, _) = quickly(&options_for(program("rare"), &[]));
    let lengths: Vec<usize> = all_calls(&events)
        .filter(|(_, call)| call.number == libc::SYS_delete_module as u64)
        .filter_map(|(_, call)| {
            call.memory
                .at(call.arguments[0], 4096, CapturePoint::Entered)
        })
        .map(<[u8]>::len)
        .collect();
    // Of what is longer than what is asked for, one byte more tells that it is.
    assert_eq!(lengths, [31, 32, 33, 33, 8]);
}

#[test]
fn a_read_that_waits_is_told_while_it_does() {
    if !runs() {
        return;
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    // The command inherits our standard input otherwise; a shell gives it the pipe.
    let script = format!(
        "exec {} reads </proc/{}/fd/{}",
        program("calls").display(),
        std::process::id(),
        {
            use std::os::fd::AsRawFd;
            reader.as_raw_fd()
        }
    );
    let options = TraceOptions {
        pending: true,
        ..options_for("/bin/sh", &["-c", script.as_str()])
    };
    let (mut pending, mut returned) = (0, 0);
    traced(&options, &mut |event| match event.kind {
        EventKind::Pending(call)
            if call.number == libc::SYS_read as u64 && call.arguments[0] == 0 =>
        {
            pending += 1;
            assert_eq!(returned, 0);
            writer.write_all(b"x").unwrap();
        }
        EventKind::Call(call) if call.number == libc::SYS_read as u64 && call.arguments[0] == 0 => {
            returned += 1
        }
        _ => {}
    });
    assert_eq!((pending, returned), (1, 1));
}

fn child(way: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new(program("calls"))
        .arg(way)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, output)
}

#[test]
fn what_runs_already_is_attached_to_with_all_its_threads_and_let_go_unharmed() {
    if !runs() {
        return;
    }
    let (mut child, mut output) = child("attached");
    let pid = i32::try_from(child.id()).unwrap();
    let options = TraceOptions {
        pids: vec![pid],
        command: None,
        ..tight(&[])
    };
    let mut count = Count::default();
    let mut attached = 0;
    let ended = in_time(|interrupt| {
        trace(&options, interrupt, &mut |event| {
            count.take(&event);
            attached += u32::from(matches!(event.kind, EventKind::Attached { .. }));
            if count.total() == 20_000 {
                interrupt.trigger(libc::SIGINT);
            }
        })
    });
    let ended = ended.unwrap();
    assert_eq!((attached, count.lost, ended.lost), (2, 0, 0));
    // Nothing of it is stopped or traced.
    drop(child.stdin.take());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "done\n");
    assert!(child.wait().unwrap().success());
}

/// No test: what the one below starts.
#[test]
fn a_tracer_for_another_test() {
    let Ok(words) = std::env::var(AS_A_TRACER) else {
        return;
    };
    let words: Vec<_> = words.split(' ').collect();
    let mut number = 0_u32;
    trace(&tight(&words[1..]), &Interrupt::new(), &mut |_| {
        number += 1;
        if number == 20_000 {
            eprintln!("tracing");
        }
        if number.is_multiple_of(100) {
            std::thread::sleep(Duration::from_millis(1));
        }
    })
    .unwrap();
}

fn killed_tracer(way: &str) {
    let mut tracer = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "bpf_engine::a_tracer_for_another_test",
            "--nocapture",
        ])
        .env(
            AS_A_TRACER,
            format!("{} {way} 400000", program("calls").display()),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let says = BufReader::new(tracer.stderr.take().unwrap()).lines();
    // The last line to come before it is killed, in the middle of stops.
    assert!(
        says.map_while(Result::ok)
            .any(|line| line.contains("tracing"))
    );
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    // The command has the tracer's output, which ends when the command does.
    let output = tracer.stdout.take().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = BufReader::new(output).read_to_string(&mut text);
        let _ = sender.send(text);
    });
    let text = receiver
        .recv_timeout(Duration::from_secs(60))
        .expect("the command goes on");
    assert!(text.ends_with("done\n"), "{text}");
}

#[test]
fn a_command_whose_tracer_is_killed_goes_on() {
    if runs() {
        killed_tracer("calls");
    }
}

/// Counts what is asked for.
fn counted(engine: EngineKind, options: &TraceOptions) -> (TraceOutcome, CallSummary) {
    in_time(|interrupt| engine::count_calls(engine, options, interrupt, &mut |_| {})).unwrap()
}

/// How often each call was made and how often it failed.
fn numbers(summary: &CallSummary) -> BTreeMap<String, (u64, u64)> {
    let calls = summary.calls().into_iter();
    calls
        .map(|(name, figures)| (name, (figures.calls, figures.errors)))
        .collect()
}

/// What both engines count of the same command, that makes the same calls each time.
fn counted_alike(options: &TraceOptions) -> BTreeMap<String, (u64, u64)> {
    let (ended, of_kernel) = counted(EngineKind::Kernel, options);
    assert_eq!(ended.lost, 0);
    let (told, of_ptrace) = counted(EngineKind::Ptrace, options);
    assert_eq!(ended.command, told.command);
    let of_kernel = numbers(&of_kernel);
    assert_eq!(of_kernel, numbers(&of_ptrace), "{options:?}");
    assert_eq!(
        ended.calls,
        of_kernel.values().map(|(calls, _)| calls).sum::<u64>()
    );
    of_kernel
}

#[test]
fn what_the_kernel_counts_is_what_a_tracer_that_stops_at_each_call_counts() {
    if !runs() {
        return;
    }
    let forks = counted_alike(&followed(&["forks", "5", "20"]));
    assert_eq!(forks["getppid"], (100, 0));
    // A process that isn't followed is counted alone.
    let alone = counted_alike(&command(&["forks", "5", "20"]));
    assert_eq!(alone.get("getppid"), None);
    let threads = counted(EngineKind::Kernel, &followed(&["threads", "8", "1000"])).1;
    assert_eq!(numbers(&threads)["getppid"], (8000, 0));
    // What doesn't come back is counted once, with no time.
    assert_eq!(forks["exit_group"], (6, 0));
    let missing = ["/nowhere/at/all"];
    let cat = counted_alike(&options_for("cat", &missing));
    assert!(cat["openat"].1 > 0, "{cat:?}");
    assert_eq!(cat["execve"], (1, 0));
    assert_eq!(cat["exit_group"], (1, 0));
    for status in [CallStatus::Failed, CallStatus::Successful] {
        let some = counted_alike(&TraceOptions {
            statuses: StatusSet::only(status),
            ..options_for("cat", &missing)
        });
        assert!(!some.contains_key("exit_group"), "{some:?}");
        let failed = status == CallStatus::Failed;
        let all_of_them = |(calls, errors): &(u64, u64)| *errors == if failed { *calls } else { 0 };
        assert!(some.values().all(all_of_them), "{some:?}");
    }
    let mut calls = SyscallSet::none();
    calls.insert(Abi::X86_64, 257);
    calls.insert(Abi::Aarch64, 56);
    let chosen = counted_alike(&TraceOptions {
        calls,
        ..options_for("cat", &missing)
    });
    assert_eq!(
        chosen,
        BTreeMap::from([("openat".to_owned(), cat["openat"])])
    );
}

#[test]
fn what_is_under_way_when_a_process_is_attached_to_is_counted_when_it_comes_back() {
    if !runs() {
        return;
    }
    let mut child = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut byte = [0];
    // It has begun, and comes to its next read.
    input.write_all(b"a").unwrap();
    output.read_exact(&mut byte).unwrap();
    let pid = child.id();
    let call = move || std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap();
    while !call().starts_with(&format!("{} ", libc::SYS_read)) {
        std::thread::yield_now();
    }
    let (attached, is_attached) = std::sync::mpsc::channel();
    let goes_on = std::thread::spawn(move || {
        is_attached.recv().unwrap();
        for _ in 0..100 {
            input.write_all(b"b").unwrap();
            output.read_exact(&mut byte).unwrap();
        }
    });
    let options = TraceOptions {
        pids: vec![i32::try_from(pid).unwrap()],
        ..TraceOptions::default()
    };
    let (ended, summary) = in_time(move |interrupt| {
        engine::count_calls(EngineKind::Kernel, &options, interrupt, &mut |event| {
            if matches!(event.kind, EventKind::Attached { .. }) {
                attached.send(()).unwrap();
            }
        })
    })
    .unwrap();
    goes_on.join().unwrap();
    let _reaped_by_the_engine = child.wait();
    assert_eq!(ended.lost, 0);
    let counted = numbers(&summary);
    // The read that it was in, those of what came, and the last, which finds the end.
    assert_eq!(
        (counted["read"], counted["write"]),
        ((101, 0), (100, 0)),
        "{counted:?}"
    );
    assert_eq!(counted["exit_group"], (1, 0));
}

#[test]
fn calls_of_unknown_numbers_and_of_32_bits_are_counted_too() {
    if !runs() {
        return;
    }
    let counted = counted_alike(&command(&["odd"]));
    assert_eq!(counted["syscall_0x1ff"], (1, 1));
    assert_eq!(counted["syscall_0x3ff"], (3, 3));
    if cfg!(target_arch = "x86_64") {
        let narrow = counted_alike(&command(&["narrow"]));
        assert_eq!(narrow["getpid (32 bit)"], (1, 0));
    }
}

#[test]
fn the_kernel_s_times_are_those_of_the_calls() {
    if !runs() {
        return;
    }
    // Sleeps of these lengths take as long, and no less.
    let (_, summary) = counted(EngineKind::Kernel, &command(&["sleeps"]));
    let calls = summary.calls();
    let (_, sleeps) = calls
        .iter()
        .find(|(name, _)| name == "clock_nanosleep")
        .unwrap();
    assert_eq!(sleeps.calls, 3);
    assert!(sleeps.least >= 1_000_000, "{sleeps:?}");
    assert!(sleeps.most >= 30_000_000, "{sleeps:?}");
    assert!(
        sleeps.total >= 41_000_000 && sleeps.total <= sleeps.most * 3,
        "{sleeps:?}"
    );
    let median = sleeps.quantile(0.5);
    assert!(median >= 10_000_000 * 31 / 32, "{sleeps:?}");
    assert!(sleeps.least <= median && median <= sleeps.most);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn any_calls_are_counted_alike(calls in proptest::collection::vec(0_u32..20, 0..300)) {
        if runs() {
            let words: Vec<String> = calls.iter().map(u32::to_string).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            counted_alike(&options_for(program("any"), &words));
        }
    }
}

#[test]
fn counts_agree_with_those_of_strace() {
    if !runs() {
        return;
    }
    if Need::Strace.is_missing_in(Command::new("strace").arg("-V").output().map(drop)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two", "three"] {
        std::fs::write(folder.path().join(name), name).unwrap();
    }
    let folder = folder.path().to_str().unwrap();
    for words in [
        &["ls", "-l", folder][..],
        &["cat", "/etc/passwd", "/nowhere/at/all"],
        &["sh", "-c", "true; /bin/true; /bin/false"],
        &["find", folder, "-type", "f"],
        &["grep", "-r", "t", folder],
    ] {
        // They look at where their output goes.
        let quietly = ["sh", "-c", "exec \"$@\" > /dev/null 2>&1", "sh"];
        let words = [&quietly, words].concat();
        let file = tempfile::NamedTempFile::new().unwrap();
        let strace = Command::new("strace")
            .args(["-f", "-c", "-o"])
            .arg(file.path())
            .args(&words)
            .output();
        strace.unwrap();
        let table = std::fs::read_to_string(file.path()).unwrap();
        let options = TraceOptions {
            follow: true,
            ..options_for(words[0], &words[1..])
        };
        let (ended, summary) = counted(EngineKind::Kernel, &options);
        assert_eq!(ended.lost, 0);
        let mut ours = numbers(&summary);
        // strace counts only calls that come back.
        ours.retain(|name, _| name != "exit_group" && name != "exit");
        assert_eq!(ours, of_strace(&table), "{words:?}\n{table}");
    }
}

/// The calls and errors of a table of strace's, by name.
fn of_strace(table: &str) -> BTreeMap<String, (u64, u64)> {
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| !line.starts_with('-'));
    rows.map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let errors = if words.len() == 6 { number(4) } else { 0 };
        (words[words.len() - 1].to_owned(), (number(3), errors))
    })
    .collect()
}

#[test]
fn without_privileges_it_says_what_is_missing() {
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
        let error = trace(
            &options_for("/bin/true", &[]),
            &Interrupt::new(),
            &mut |_| (),
        )
        .unwrap_err();
        assert!(matches!(
            error,
            TraceError::Kernel(BpfEngineError::Capability { .. })
        ));
        error.to_string()
    });
    let text = without.join().unwrap();
    assert!(
        text.contains("CAP_BPF") && text.contains("ptrace"),
        "{text}"
    );
}

#[test]
fn a_size_that_no_ring_has_is_refused() {
    let options = TraceOptions {
        ring: 100_000,
        ..options_for("/bin/true", &[])
    };
    let error = trace(&options, &Interrupt::new(), &mut |_| ()).unwrap_err();
    assert!(matches!(
        error,
        TraceError::Kernel(BpfEngineError::Ring { bytes: 100_000 })
    ));
}

#[test]
fn a_command_that_blocks_every_signal_goes_on_too_when_its_tracer_is_killed() {
    if runs() {
        killed_tracer("blocked");
    }
}

#[test]
fn a_thread_that_executes_takes_its_process_s_place() {
    if !runs() {
        return;
    }
    let (events, ended) = quickly(&followed(&["execs"]));
    let superseded: Vec<_> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Superseded { by } => Some((event.tid, by)),
            _ => None,
        })
        .collect();
    let [(first, by)] = superseded[..] else {
        panic!("one thread did: {superseded:?}")
    };
    let ends: Vec<_> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Exited { .. }))
        .collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!((ends[0].tid, ends[0].pid), (first, first));
    assert_ne!(first, by);
    let executed = all_calls(&events)
        .any(|(event, call)| call.number == libc::SYS_execve as u64 && event.tid == first);
    assert!(executed);
    assert_eq!((ended.command, ended.lost), (WELL, 0));
}

#[test]
fn what_a_first_thread_was_in_is_told_between_the_begin_and_the_end_of_the_execve_that_ends_it() {
    if !runs() {
        return;
    }
    let (events, _) = quickly(&TraceOptions {
        pending: true,
        ..followed(&["execs"])
    });
    let told = |event: &TraceEvent| match &event.kind {
        EventKind::Superseded { .. } => "superseded",
        EventKind::Pending(call) if call.number == libc::SYS_execve as u64 => "begun",
        EventKind::Call(call) if call.number == libc::SYS_execve as u64 => "ended",
        EventKind::Call(call) if call.outcome == SyscallOutcome::Open => "was in",
        _ => "",
    };
    let superseded = events.iter().position(|event| told(event) == "superseded");
    let superseded = superseded.expect("one thread did");
    // It may not have got as far as waiting for the other.
    let begun = superseded - 1 - usize::from(told(&events[superseded - 1]) == "was in");
    let within: Vec<_> = events[begun..].iter().map(told).collect();
    let within: Vec<_> = within.into_iter().filter(|told| !told.is_empty()).collect();
    assert!(
        matches!(
            within[..],
            ["begun", "was in", "superseded", "ended", ..] | ["begun", "superseded", "ended", ..]
        ),
        "{within:?}"
    );
}

#[test]
fn signals_are_told_with_what_the_kernel_says_of_them_and_ends_by_them_too() {
    if !runs() {
        return;
    }
    let (events, ended) = quickly(&followed(&["signals"]));
    let signals: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Signal { number, info, .. } => {
                Some((*number, i32::from_ne_bytes(info[..4].try_into().unwrap())))
            }
            _ => None,
        })
        .collect();
    let expected = [libc::SIGUSR1, libc::SIGCHLD, libc::SIGTERM];
    assert_eq!(signals, expected.map(|number| (number, number)));
    let killed: Vec<_> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Killed { signal, .. } => Some(signal),
            _ => None,
        })
        .collect();
    assert_eq!(killed, [libc::SIGKILL, libc::SIGTERM]);
    assert_eq!(ended.command, Some(CommandExit::Killed(libc::SIGTERM)));
}

#[test]
fn without_following_only_the_command_itself_is_told() {
    if !runs() {
        return;
    }
    let (events, ended) = quickly(&command(&["forks", "3", "5"]));
    assert!(events.iter().all(|event| event.tid == events[0].tid));
    assert_eq!((ended.command, ended.lost), (WELL, 0));
}

#[test]
fn only_calls_that_are_chosen_and_came_out_as_asked_are_told() {
    if !runs() {
        return;
    }
    // What the loader asks with whether there is a file.
    #[cfg(target_arch = "x86_64")]
    const ACCESS: u64 = libc::SYS_access as u64;
    #[cfg(not(target_arch = "x86_64"))]
    const ACCESS: u64 = libc::SYS_faccessat as u64;
    let chosen = |_, number| number == libc::SYS_openat as u64 || number == ACCESS;
    let mut options = TraceOptions {
        calls: SyscallSet::none(),
        statuses: StatusSet::only(CallStatus::Failed),
        ..options_for("cat", &["/nowhere/at/all"])
    };
    for number in 0..512 {
        if chosen(Abi::X86_64, number) {
            options.calls.insert(Abi::X86_64, number);
            options.calls.insert(Abi::Aarch64, number);
        }
    }
    let (events, ended) = quickly(&options);
    let calls: Vec<_> = all_calls(&events).map(|(_, call)| call).collect();
    assert!(!calls.is_empty());
    for call in calls {
        assert!(chosen(call.abi, call.number), "{call:?}");
        assert!(
            matches!(call.outcome, SyscallOutcome::Returned { value, .. } if value < 0),
            "{call:?}"
        );
    }
    assert_eq!(
        (ended.command, ended.lost),
        (Some(CommandExit::Exited(1)), 0)
    );
}

/// Texts that a program holds and doesn't look at itself lie on pages that it hasn't: the kernel reads them.
#[test]
fn an_execve_of_texts_that_nobody_looked_at_is_told_with_them() {
    let prepares = Path::new("/sys/kernel/tracing/events/sched/sched_prepare_exec");
    if !runs() || !prepares.exists() {
        return;
    }
    let options = TraceOptions {
        follow: true,
        limits: Some(CaptureLimits::default()),
        ..options_for(program("untouched"), &[])
    };
    let (events, ended) = quickly(&options);
    assert_eq!(ended.command, WELL);
    let mut text = TextWriter::new(TextOptions::default());
    let mut told = Vec::new();
    events.iter().for_each(|event| text.write(event, &mut told));
    let told = String::from_utf8(told).unwrap();
    let expected = "execve(\"/bin/true\", [\"true\", \"of the program's own\"], ";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_call_that_makes_a_child_is_told_before_the_child_is() {
    if !runs() {
        return;
    }
    let options = TraceOptions {
        follow: true,
        pending: true,
        ..options_for(
            "/bin/sh",
            &["-c", "/bin/true; /bin/true; (/bin/true); exit 0"],
        )
    };
    let (events, ended) = quickly(&options);
    assert_eq!(ended.command, WELL);
    let mut children = 0;
    for (index, event) in events.iter().enumerate() {
        let EventKind::Attached {
            parent: Some(parent),
        } = event.kind
        else {
            continue;
        };
        children += 1;
        let its = |event: &&TraceEvent| event.tid == parent;
        let last = events[..index].iter().rev().find(its).unwrap();
        assert!(matches!(last.kind, EventKind::Pending(_)), "{last:?}");
        let makes = |event: &TraceEvent| match &event.kind {
            EventKind::Call(call) if event.tid == parent => Some(call.outcome),
            _ => None,
        };
        let Some(SyscallOutcome::Returned { value, .. }) = events[index..].iter().find_map(makes)
        else {
            panic!("it comes back later");
        };
        assert_eq!(value, i64::from(event.tid));
    }
    assert_eq!(children, 3);
}
