//! Both engines beside each other, on random sequences of calls: what they tell must be the same.

use backsight_syscall_decode::table::find_syscall;
use backsight_syscall_decode::text::{TextOptions, TextWriter};
use backsight_syscall_decode::{EventKind, SyscallOutcome, TraceEvent};
use backsight_test_needs::Need;
use backsight_tracer::bpf_engine;
use backsight_tracer::command::TracedCommand;
use backsight_tracer::emit::Emit;
use backsight_tracer::engine::{EngineKind, trace};
use backsight_tracer::options::{ChildSelection, TraceOptions};
use backsight_tracer::outcome::{CommandExit, TraceOutcome};
use proptest::prelude::*;
use regex::Regex;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
    sync::{LazyLock, mpsc},
    thread::JoinHandle,
};

use crate::{in_time::in_time, programs::program};

/// What one engine tells of a program, by thread; threads are named by who made them.
type EventLines = BTreeMap<String, Vec<String>>;

/// Traces what ends by itself.
fn trace_in_time(engine: EngineKind, options: &TraceOptions, emit: &mut Emit<'_>) -> TraceOutcome {
    in_time(|interrupt| trace(engine, options, interrupt, emit)).unwrap()
}

/// Traces `random` in a folder that is new.
fn events(
    engine: EngineKind,
    folder: &Path,
    numbers: &[u16],
) -> (Vec<TraceEvent>, Option<CommandExit>) {
    let _not_there = std::fs::remove_dir_all(folder);
    std::fs::create_dir(folder).unwrap();
    let mut arguments = vec![folder.to_str().unwrap().to_owned()];
    arguments.extend(numbers.iter().map(ToString::to_string));
    let options = TraceOptions {
        command: Some(TracedCommand::new(program("random"), arguments)),
        follow: true,
        ..TraceOptions::default()
    };
    let mut events = Vec::new();
    let ended = trace_in_time(engine, &options, &mut |event| events.push(event));
    assert_eq!(ended.lost, 0);
    (events, ended.command)
}

/// The lines of each thread, with what is another each time made the same; `threads` are the numbers of all that there were
/// in any run.
fn lines(events: &[TraceEvent], threads: &HashSet<i32>) -> EventLines {
    let names = names(events);
    let mut by_thread: BTreeMap<i32, Vec<TraceEvent>> = BTreeMap::new();
    for event in events {
        if !matches!(
            event.kind,
            EventKind::Attached { .. } | EventKind::Pending(_)
        ) {
            by_thread.entry(event.tid).or_default().push(event.clone());
        }
    }
    let mut told = EventLines::new();
    for (tid, events) in by_thread {
        let mut out = Vec::new();
        let mut text = TextWriter::new(TextOptions::default());
        for event in &events {
            text.write(event, &mut out);
        }
        text.finish(&mut out);
        let text = String::from_utf8(out).unwrap();
        let lines = text.lines().map(|line| comparable(line, threads));
        told.insert(names[&tid].clone(), lines.collect());
    }
    told
}

/// A name for each thread: that of who made it, and the how manieth it is.
fn names(events: &[TraceEvent]) -> HashMap<i32, String> {
    let mut names = HashMap::new();
    let mut children: HashMap<i32, usize> = HashMap::new();
    for event in events {
        if let EventKind::Attached {
            parent: Some(parent),
        } = event.kind
        {
            let number = children.entry(parent).or_default();
            *number += 1;
            let maker = names.entry(parent).or_insert_with(|| "first".to_owned());
            let name = format!("{maker}.{number}");
            names.insert(event.tid, name);
        }
        names.entry(event.tid).or_insert_with(|| "first".to_owned());
    }
    names
}

/// A line without what is another each time: addresses, times, numbers of threads, large numbers.
fn comparable(line: &str, threads: &HashSet<i32>) -> String {
    static ADDRESS: LazyLock<Regex> = LazyLock::new(|| Regex::new("0x[0-9a-f]{5,}").unwrap());
    static TIME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("(tv_sec|tv_nsec|tv_usec)=[0-9]+").unwrap());
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9]+").unwrap());
    let line = ADDRESS.replace_all(line, "ADDRESS");
    let line = TIME.replace_all(&line, "$1=TIME");
    let plain = |number: &regex::Captures<'_>| {
        let text = &number[0];
        let of_thread = text.parse().is_ok_and(|number| threads.contains(&number));
        if of_thread || text.len() > 4 {
            "N".to_owned()
        } else {
            text.to_owned()
        }
    };
    let line = NUMBER.replace_all(&line, plain);
    // Results stand in a column unless the line is longer.
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_same(numbers: &[u16]) {
    assert_as_by_ptrace(EngineKind::Kernel, numbers);
}

fn assert_as_by_ptrace(engine: EngineKind, numbers: &[u16]) {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let (of_kernel, kernel_ended) = events(engine, &work, numbers);
    let (of_ptrace, ptrace_ended) = events(EngineKind::Ptrace, &work, numbers);
    assert_eq!(kernel_ended, ptrace_ended, "{numbers:?}");
    let all = of_kernel.iter().chain(&of_ptrace);
    let threads: HashSet<i32> = all.map(|event| event.tid).collect();
    let of_kernel = lines(&of_kernel, &threads);
    let of_ptrace = lines(&of_ptrace, &threads);
    let threads: Vec<&String> = of_kernel.keys().collect();
    assert_eq!(threads, of_ptrace.keys().collect::<Vec<_>>(), "{numbers:?}");
    let exits: HashSet<&String> = of_kernel
        .values()
        .filter_map(|lines| lines.last())
        .collect();
    // `wait` gives a thread that ends while its process does the status of the process, if it comes late.
    let is_late = |kernel: &String, ptrace: &String| {
        let ends = |line: &String| line.starts_with("+++ exited with ");
        ends(kernel) && ends(ptrace) && exits.contains(ptrace)
    };
    for (thread, lines) in &of_kernel {
        let other = &of_ptrace[thread];
        let differs = lines
            .iter()
            .zip(other)
            .position(|(a, b)| a != b && !is_late(a, b));
        if let Some(at) = differs {
            panic!(
                "{numbers:?}, thread {thread}, line {at}:\nkernel: {}\nptrace: {}",
                lines[at], other[at]
            );
        }
        assert_eq!(
            lines.len(),
            other.len(),
            "{numbers:?}, thread {thread}: {lines:#?} {other:#?}"
        );
    }
}

/// A number of the program's table with what it gets; those that make children, threads and other programs come often.
fn number() -> impl Strategy<Value = u16> {
    let plain = (0..46_u16, 0..1000_u16).prop_map(|(which, n)| n * 64 + which);
    let makes = (60..64_u16, 0..8_u16).prop_map(|(which, n)| n * 64 + which);
    prop_oneof![5 => plain, 1 => makes]
}

#[test]
fn calls_that_end_with_their_threads_are_told_as_such() {
    let waits = |event: &TraceEvent| match &event.kind {
        EventKind::Call(call)
            if find_syscall(call.abi, call.number).is_some_and(|row| row.name == "read") =>
        {
            Some(matches!(call.outcome, SyscallOutcome::Open))
        }
        _ => None,
    };
    for engine in [EngineKind::Kernel, EngineKind::Ptrace] {
        if engine == EngineKind::Kernel && Need::Bpf.is_missing_in(bpf_engine::check_available()) {
            continue;
        }
        let options = TraceOptions {
            command: Some(TracedCommand::new(program("threads"), ["wait", "5"])),
            follow: true,
            ..TraceOptions::default()
        };
        let mut events = Vec::new();
        let ended = trace_in_time(engine, &options, &mut |event| events.push(event));
        assert_eq!(ended.command, Some(CommandExit::Exited(3)));
        let of_threads = events.iter().filter(|event| event.tid != event.pid);
        let told: Vec<bool> = of_threads.filter_map(waits).collect();
        assert_eq!(told, [true; 5], "{engine:?}");
    }
}

#[test]
fn every_call_of_the_table_is_told_alike_by_both_engines() {
    if Need::Bpf.is_missing_in(bpf_engine::check_available()) {
        return;
    }
    // Each call thrice with other arguments, some at a time; then children, a thread, vfork and exec of such.
    let all: Vec<u16> = (0..3)
        .flat_map(|n| (0..46).map(move |which| (n * 37 + 1) * 64 + which))
        .collect();
    for some in all.chunks(46) {
        assert_same(some);
    }
    for makes in 60..64 {
        assert_same(&[64, 5 * 64 + makes, 65, 3, 27, 28, 26, 64 + 1, 7, 11]);
        assert_same(&[
            7 * 64 + makes,
            3 * 64 + 60,
            26,
            2 * 64 + 63,
            26,
            64 + 61,
            28,
            64 + 62,
            26,
        ]);
    }
}

#[test]
fn what_begins_under_one_engine_and_ends_under_the_other_is_told_alike() {
    if Need::Bpf.is_missing_in(bpf_engine::check_available()) {
        return;
    }
    // Long enough for the programs to be loaded meanwhile, with children, threads and other programs all along.
    let all: Vec<u16> = (0..40_u16)
        .flat_map(|n| {
            let makes = [n % 8 * 64 + 60 + n % 4, 26, 28];
            (0..46)
                .map(move |which| (n * 7 % 1000 + 1) * 64 + which)
                .chain(makes)
        })
        .collect();
    assert_as_by_ptrace(EngineKind::PtraceThenKernel, &all);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_calls_are_told_alike_by_both_engines(numbers in prop::collection::vec(number(), 1..40)) {
        if !Need::Bpf.is_missing_in(bpf_engine::check_available()) {
            assert_same(&numbers);
        }
    }
}

/// Whether a child of the shell below is to be traced: not the one that has another name.
fn joins(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() != "cat")
}

/// A shell that waits for a line and then starts two children, one of which has a child of its own, and one that isn't to be
/// traced. It is another shell's child, which a thread of its own waits for: tracers wait for children of theirs.
fn shell() -> (i32, std::process::ChildStdin, JoinHandle<Option<i32>>) {
    use std::io::BufRead as _;
    const SHELL: &str = "read x; dd if=/dev/zero of=/dev/null bs=1 count=20 status=none; \
         sh -c 'dd if=/dev/zero of=/dev/null bs=1 count=30 status=none; true'; cat /dev/null; exit 3";
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut outer = std::process::Command::new("sh")
            .args([
                "-c",
                "exec 3<&0; sh -c \"$0\" <&3 & echo $!; wait $!",
                SHELL,
            ])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(outer.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let pid: i32 = line.trim().parse().unwrap();
        tell.send((pid, outer.stdin.take().unwrap())).unwrap();
        outer.wait().unwrap().code()
    });
    let (pid, ask) = told.recv().unwrap();
    (pid, ask, thread)
}

/// What is told of the children of a shell that is followed for their sake, by process.
fn of_children(engine: EngineKind) -> (i32, BTreeMap<i32, Vec<&'static str>>) {
    use std::io::Write as _;
    let (pid, ask, ends) = shell();
    let mut ask = Some(ask);
    let options = TraceOptions {
        children_of: Some(ChildSelection {
            parent: pid,
            accepts: joins,
        }),
        limits: None,
        ..TraceOptions::default()
    };
    let mut told: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
    let ended = trace_in_time(engine, &options, &mut |event| match event.kind {
        EventKind::Attached { .. } if event.pid == pid => {
            ask.take().unwrap().write_all(b"go\n").unwrap();
        }
        EventKind::Call(call) => told
            .entry(event.pid)
            .or_default()
            .push(find_syscall(call.abi, call.number).unwrap().name),
        _ => {}
    });
    // It ends with the shell.
    assert_eq!(ended.lost, 0);
    assert_eq!(ends.join().unwrap(), Some(3));
    (pid, told)
}

#[test]
fn children_are_traced_from_their_own_first_call_on_and_who_makes_them_is_not() {
    for engine in [EngineKind::Kernel, EngineKind::Ptrace] {
        if engine == EngineKind::Kernel && Need::Bpf.is_missing_in(bpf_engine::check_available()) {
            continue;
        }
        let (shell, told) = of_children(engine);
        assert!(!told.contains_key(&shell), "{engine:?}: {told:?}");
        // dd, the other shell, its dd; `true` is the shell's own.
        assert_eq!(told.len(), 3, "{engine:?}: {told:?}");
        let writes = |calls: &Vec<&str>| calls.iter().filter(|name| **name == "write").count();
        let mut all: Vec<usize> = told.values().map(writes).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 20, 30], "{engine:?}: {told:?}");
        // Their own child's `execve` is seen, those of the children themselves aren't.
        let executed: Vec<usize> = told
            .values()
            .map(|calls| calls.iter().filter(|name| **name == "execve").count())
            .collect();
        assert_eq!(executed.iter().sum::<usize>(), 1, "{engine:?}: {told:?}");
        assert!(
            told.values().all(|calls| calls.contains(&"exit_group")),
            "{engine:?}: {told:?}"
        );
    }
}

#[test]
fn what_a_filter_refuses_is_told_by_both_engines() {
    if Need::Bpf.is_missing_in(bpf_engine::check_available()) {
        return;
    }
    let told = |engine| {
        let options = TraceOptions {
            command: Some(TracedCommand::new(program("refused"), Vec::<String>::new())),
            ..TraceOptions::default()
        };
        let mut out = Vec::new();
        let mut text = TextWriter::new(TextOptions {
            column: 0,
            ..TextOptions::default()
        });
        let outcome = trace_in_time(engine, &options, &mut |event| text.write(&event, &mut out));
        assert_eq!(outcome.command, Some(CommandExit::Killed(libc::SIGSYS)));
        let out = String::from_utf8(out).unwrap();
        let begun = out.find("PR_SET_SECCOMP").unwrap();
        let threads = HashSet::new();
        let lines = out[begun..].lines().skip(1);
        lines
            .map(|line| comparable(line, &threads))
            .collect::<Vec<_>>()
    };
    let by_ptrace = told(EngineKind::Ptrace);
    assert_eq!(told(EngineKind::Kernel), by_ptrace);
    let refused = by_ptrace
        .iter()
        .filter(|line| line.starts_with("getppid() = -1 EPERM"));
    assert_eq!(refused.count(), 3, "{by_ptrace:?}");
}
