//! The kernel engine, on real programs. Where it can't run these tests say so and do nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use backsight_trace::kernel::{
    Ended, KernelError, Options, Outcomes, Start, Stop, Subject, available, trace,
};
use backsight_trace::{Abi, Call, Event, Outcome, What, When};

const SMALLEST: u32 = 65536;
const GETPPID: u64 = libc::SYS_getppid as u64;
/// Set where this binary is to be a tracer for another test: the command.
const AS_A_TRACER: &str = "BACKSIGHT_TEST_TRACER";

/// Whether the engine can run; says why not.
fn runs() -> bool {
    match available() {
        Ok(()) => true,
        Err(error) => {
            eprintln!("skipped: {error}");
            false
        }
    }
}

/// The program that makes known calls.
fn calls() -> &'static Path {
    static PROGRAM: OnceLock<(PathBuf, tempfile::TempDir)> = OnceLock::new();
    let make = || {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("calls");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/kernel_calls.c");
        let built = Command::new("cc")
            .args(["-O1", "-pthread", "-o"])
            .arg(&program)
            .arg(source)
            .status()
            .unwrap();
        assert!(built.success());
        (program, folder)
    };
    &PROGRAM.get_or_init(make).0
}

fn command(words: &[&str]) -> Subject {
    Subject::Command(Start::new(calls(), words).unwrap())
}

/// Follows everything, through the smallest ring.
fn tight() -> Options {
    Options {
        follow: true,
        ring: SMALLEST,
        ..Options::default()
    }
}

/// Traces; a trace that takes far too long is ended, so that its test fails.
fn traced(subject: &Subject, options: &Options, tell: &mut dyn FnMut(Event)) -> Ended {
    let stop = Stop::new().unwrap();
    let late = stop.clone();
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if is_over
            .recv_timeout(Duration::from_secs(120))
            .is_err_and(|error| error == RecvTimeoutError::Timeout)
        {
            late.ask();
        }
    });
    let ended = trace(subject, options, &stop, tell).unwrap();
    drop(over);
    ended
}

/// Traces, as slowly as a reader may be, and gives every event to `each`.
fn slowly(subject: &Subject, options: &Options, mut each: impl FnMut(Event)) -> Ended {
    let mut number = 0_u32;
    traced(subject, options, &mut |event| {
        number += 1;
        if number.is_multiple_of(1000) {
            std::thread::sleep(Duration::from_millis(1));
        }
        each(event);
    })
}

fn quickly(subject: &Subject, options: &Options) -> (Vec<Event>, Ended) {
    let mut events = Vec::new();
    let ended = traced(subject, options, &mut |event| events.push(event));
    (events, ended)
}

fn all_calls(events: &[Event]) -> impl Iterator<Item = (&Event, &Call)> {
    events.iter().filter_map(|event| match &event.what {
        What::Call(call) => Some((event, call)),
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
    fn take(&mut self, event: &Event) {
        match &event.what {
            What::Call(call) if call.number == GETPPID => {
                *self.threads.entry(event.tid).or_default() += 1
            }
            What::Lost { number } => self.lost += number,
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
    let ended = slowly(&command(&["threads", "8", "125000"]), &tight(), |event| {
        count.take(&event)
    });
    assert_eq!(
        (count.total(), count.lost, ended.lost, ended.status),
        (1_000_000, 0, 0, Some(0))
    );
    assert!(ended.held > 0, "the reader wasn't slow: {ended:?}");
}

#[test]
fn a_thread_that_blocks_every_signal_loses_nothing_either() {
    if !runs() {
        return;
    }
    let mut count = Count::default();
    let ended = slowly(&command(&["blocked", "100000"]), &tight(), |event| {
        count.take(&event)
    });
    assert_eq!(
        (count.total(), count.lost, ended.lost, ended.status),
        (100_000, 0, 0, Some(0))
    );
    assert!(ended.held > 0, "the reader wasn't slow: {ended:?}");
}

#[test]
fn none_of_64_threads_starves_while_the_reader_is_slow() {
    if !runs() {
        return;
    }
    let mut count = Count::default();
    let mut least_so_far = u64::MAX;
    let ended = slowly(&command(&["threads", "64", "4000"]), &tight(), |event| {
        count.take(&event);
        // The first thread that is through shows how far the others are.
        if let (What::Exited { .. }, Some(4000), u64::MAX) =
            (&event.what, count.threads.get(&event.tid), least_so_far)
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
    let ended = slowly(&command(&["forks", "300", "20"]), &tight(), |event| {
        count.take(&event);
        attached += u32::from(matches!(event.what, What::Attached { parent: Some(_) }));
        exited += u32::from(matches!(event.what, What::Exited { status: 0 }));
    });
    assert_eq!((count.total(), count.lost, ended.lost), (6000, 0, 0));
    assert_eq!((attached, exited, count.threads.len()), (300, 301, 300));
}

#[test]
fn waits_are_not_interrupted_by_stops_of_ours() {
    if !runs() {
        return;
    }
    let ended = slowly(&command(&["waiting"]), &tight(), |_| ());
    assert_eq!((ended.status, ended.lost), (Some(0), 0));
    assert!(ended.held > 0);
}

#[test]
fn a_job_that_stops_itself_is_seen_to_stop_so_often_and_no_more() {
    if !runs() {
        return;
    }
    let mut stopped = Vec::new();
    let ended = slowly(&command(&["job"]), &tight(), |event| {
        if let What::Stopped { signal } = event.what {
            stopped.push(signal);
        }
    });
    assert_eq!((ended.status, ended.lost), (Some(0), 0));
    assert!(ended.held > 0);
    assert_eq!(stopped, [libc::SIGSTOP, libc::SIGTSTP]);
}

#[test]
fn no_sigcont_is_lost_to_a_stop_of_ours() {
    if !runs() {
        return;
    }
    let ended = slowly(&command(&["conts"]), &tight(), |_| ());
    assert_eq!(ended.status, Some(0));
    assert!(ended.held > 0);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_32_bit_call_of_a_64_bit_program_is_named_as_such() {
    if !runs() {
        return;
    }
    let (events, _) = quickly(&command(&["narrow"]), &Options::default());
    let narrow: Vec<_> = all_calls(&events)
        .filter(|(_, call)| call.abi == Abi::I386)
        .collect();
    let [(event, call)] = narrow[..] else {
        panic!("one such call was made: {narrow:?}")
    };
    assert_eq!(call.number, 20);
    assert!(
        matches!(call.outcome, Outcome::Returned { value, .. } if value == i64::from(event.pid))
    );
}

#[test]
fn the_first_call_is_the_execve_and_the_last_the_exit() {
    if !runs() {
        return;
    }
    let (events, ended) = quickly(
        &Subject::Command(Start::new("/bin/true", ["one", "two"]).unwrap()),
        &Options::default(),
    );
    let calls: Vec<_> = all_calls(&events).map(|(_, call)| call).collect();
    let first = calls[0];
    assert_eq!(first.number, libc::SYS_execve as u64);
    assert_eq!(
        first.memory.at(first.arguments[0], 100, When::Entered),
        Some(&b"/bin/true\0"[..])
    );
    let pointers = first
        .memory
        .at(first.arguments[1], 32, When::Entered)
        .unwrap();
    let texts: Vec<_> = pointers
        .chunks(8)
        .map(|pointer| u64::from_ne_bytes(pointer.try_into().unwrap()))
        .take_while(|pointer| *pointer != 0)
        .map(|pointer| first.memory.at(pointer, 100, When::Entered).unwrap())
        .collect();
    assert_eq!(texts, [&b"/bin/true\0"[..], b"one\0", b"two\0"]);
    let last = calls[calls.len() - 1];
    assert_eq!(
        (last.number, last.outcome),
        (libc::SYS_exit_group as u64, Outcome::Open)
    );
    assert!(matches!(
        events[events.len() - 1].what,
        What::Exited { status: 0 }
    ));
    assert_eq!(ended.status, Some(0));
}

#[test]
fn a_command_that_cannot_be_run_shows_its_execve_and_ends() {
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
    let (events, ended) = quickly(
        &Subject::Command(Start::new(&program, std::iter::empty::<&str>()).unwrap()),
        &Options::default(),
    );
    let first = all_calls(&events).next().unwrap().1;
    let enoexec = i64::from(-libc::ENOEXEC);
    assert!(
        matches!(first.outcome, Outcome::Returned { value, .. } if value == enoexec),
        "{first:?}"
    );
    assert_eq!(ended.status, Some(127 << 8));
}

#[test]
fn a_long_path_comes_whole_and_a_buffer_as_far_as_is_asked() {
    if !runs() {
        return;
    }
    let path = format!("/{}", "p".repeat(3000));
    let start = Start::new("cat", [path.as_str(), "/proc/self/maps"]).unwrap();
    let (events, _) = quickly(&Subject::Command(start), &Options::default());
    let opened = all_calls(&events).any(|(_, call)| {
        call.number == libc::SYS_openat as u64
            && call
                .memory
                .at(call.arguments[1], 5000, When::Entered)
                .is_some_and(|bytes| bytes[..bytes.len() - 1] == *path.as_bytes())
    });
    assert!(opened);
    let written: Vec<_> = all_calls(&events)
        .filter(|(_, call)| call.number == libc::SYS_write as u64 && call.arguments[0] == 1)
        .filter_map(|(_, call)| call.memory.at(call.arguments[1], 5000, When::Entered))
        .collect();
    assert!(!written.is_empty() && written.iter().all(|bytes| bytes.len() == 32));
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
        calls().display(),
        std::process::id(),
        {
            use std::os::fd::AsRawFd;
            reader.as_raw_fd()
        }
    );
    let options = Options {
        pending: Some(Duration::from_millis(50)),
        ..Options::default()
    };
    let (mut pending, mut returned) = (0, 0);
    let subject = Subject::Command(Start::new("/bin/sh", ["-c", script.as_str()]).unwrap());
    traced(&subject, &options, &mut |event| match event.what {
        What::Pending(call) if call.number == libc::SYS_read as u64 && call.arguments[0] == 0 => {
            pending += 1;
            assert_eq!(returned, 0);
            writer.write_all(b"x").unwrap();
        }
        What::Call(call) if call.number == libc::SYS_read as u64 && call.arguments[0] == 0 => {
            returned += 1
        }
        _ => {}
    });
    assert_eq!((pending, returned), (1, 1));
}

fn child(way: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new(calls())
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
    let stop = Stop::new().unwrap();
    let mut count = Count::default();
    let mut attached = 0;
    let ended = trace(
        &Subject::Running(vec![pid]),
        &tight(),
        &stop,
        &mut |event| {
            count.take(&event);
            attached += u32::from(matches!(event.what, What::Attached { .. }));
            if count.total() == 20_000 {
                stop.ask();
            }
        },
    )
    .unwrap();
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
    let subject = Subject::Command(Start::new(words[0], &words[1..]).unwrap());
    let mut number = 0_u32;
    trace(&subject, &tight(), &Stop::new().unwrap(), &mut |_| {
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
            "kernel::a_tracer_for_another_test",
            "--nocapture",
        ])
        .env(AS_A_TRACER, format!("{} {way} 400000", calls().display()))
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

#[test]
fn counts_agree_with_those_of_strace() {
    if !runs() {
        return;
    }
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: there is no strace");
        return;
    }
    let known: [(&str, libc::c_long); 8] = [
        ("openat", libc::SYS_openat),
        ("read", libc::SYS_read),
        ("write", libc::SYS_write),
        ("close", libc::SYS_close),
        ("newfstatat", libc::SYS_newfstatat),
        ("mprotect", libc::SYS_mprotect),
        ("execve", libc::SYS_execve),
        ("rt_sigaction", libc::SYS_rt_sigaction),
    ];
    for script in [
        "ls -l /usr",
        "cat /etc/passwd",
        "/bin/sh -c true|true;false",
        "find /etc -maxdepth 1",
        "grep -c root /etc/passwd",
    ] {
        let (program, rest) = script.split_once(' ').unwrap();
        let words: Vec<&str> = match rest.strip_prefix("-c ").filter(|_| program == "/bin/sh") {
            Some(script) => vec!["-c", script],
            None => rest.split(' ').collect(),
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let _ = Command::new("strace")
            .args(["-f", "-c", "-o"])
            .arg(file.path())
            .arg(program)
            .args(&words)
            .output()
            .unwrap();
        let table = std::fs::read_to_string(file.path()).unwrap();
        let (events, ended) = quickly(
            &Subject::Command(Start::new(program, &words).unwrap()),
            &Options {
                follow: true,
                ..Options::default()
            },
        );
        assert_eq!(ended.lost, 0);
        for (name, number) in known {
            let theirs: u64 = table
                .lines()
                .filter(|line| line.split_whitespace().next_back() == Some(name))
                .filter_map(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok())
                .sum();
            let ours = all_calls(&events)
                .filter(|(_, call)| call.number == number as u64)
                .count() as u64;
            assert_eq!(ours, theirs, "{name} of `{script}`\n{table}");
        }
    }
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
        let subject =
            Subject::Command(Start::new("/bin/true", std::iter::empty::<&str>()).unwrap());
        let error = trace(
            &subject,
            &Options::default(),
            &Stop::new().unwrap(),
            &mut |_| (),
        )
        .unwrap_err();
        assert!(matches!(error, KernelError::Capability { .. }));
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
    let subject = Subject::Command(Start::new("/bin/true", std::iter::empty::<&str>()).unwrap());
    let options = Options {
        ring: 100_000,
        ..Options::default()
    };
    let error = trace(&subject, &options, &Stop::new().unwrap(), &mut |_| ()).unwrap_err();
    assert!(matches!(error, KernelError::Ring { bytes: 100_000 }));
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
    let options = Options {
        follow: true,
        ..Options::default()
    };
    let (events, ended) = quickly(&command(&["execs"]), &options);
    let superseded: Vec<_> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Superseded { by } => Some((event.tid, by)),
            _ => None,
        })
        .collect();
    let [(first, by)] = superseded[..] else {
        panic!("one thread did: {superseded:?}")
    };
    let ends: Vec<_> = events
        .iter()
        .filter(|event| matches!(event.what, What::Exited { .. }))
        .collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!((ends[0].tid, ends[0].pid), (first, first));
    assert_ne!(first, by);
    let executed = all_calls(&events)
        .any(|(event, call)| call.number == libc::SYS_execve as u64 && event.tid == first);
    assert!(executed);
    assert_eq!((ended.status, ended.lost), (Some(0), 0));
}

#[test]
fn signals_are_told_with_what_the_kernel_says_of_them_and_ends_by_them_too() {
    if !runs() {
        return;
    }
    let options = Options {
        follow: true,
        ..Options::default()
    };
    let (events, ended) = quickly(&command(&["signals"]), &options);
    let signals: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::Signal { number, info } => {
                Some((*number, i32::from_ne_bytes(info[..4].try_into().unwrap())))
            }
            _ => None,
        })
        .collect();
    let expected = [libc::SIGUSR1, libc::SIGCHLD, libc::SIGTERM];
    assert_eq!(signals, expected.map(|number| (number, number)));
    let killed: Vec<_> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Killed { signal, .. } => Some(signal),
            _ => None,
        })
        .collect();
    assert_eq!(killed, [libc::SIGKILL, libc::SIGTERM]);
    assert_eq!(ended.status, Some(libc::SIGTERM));
}

#[test]
fn without_following_only_the_command_itself_is_told() {
    if !runs() {
        return;
    }
    let (events, ended) = quickly(&command(&["forks", "3", "5"]), &Options::default());
    assert!(events.iter().all(|event| event.tid == events[0].tid));
    assert_eq!((ended.status, ended.lost), (Some(0), 0));
}

#[test]
fn only_calls_that_are_chosen_and_came_out_as_asked_are_told() {
    if !runs() {
        return;
    }
    let chosen = |_, number| number == libc::SYS_openat as u64 || number == libc::SYS_access as u64;
    let options = Options {
        chosen: Some(std::sync::Arc::new(chosen)),
        outcomes: Outcomes::Failed,
        ..Options::default()
    };
    let start = Start::new("cat", ["/nowhere/at/all"]).unwrap();
    let (events, ended) = quickly(&Subject::Command(start), &options);
    let calls: Vec<_> = all_calls(&events).map(|(_, call)| call).collect();
    assert!(!calls.is_empty());
    for call in calls {
        assert!(chosen(call.abi, call.number), "{call:?}");
        assert!(
            matches!(call.outcome, Outcome::Returned { value, .. } if value < 0),
            "{call:?}"
        );
    }
    assert_eq!((ended.status, ended.lost), (Some(256), 0));
}
