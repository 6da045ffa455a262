//! Text beside that of strace itself, for the same programs.

use std::path::Path;
use std::process::Command;

use backsight_trace::table::Limits;
use backsight_trace::text::{Escapes, Options, Text, Who};
use backsight_trace::{Call, Descriptors, Event, What};

use crate::reader;

/// What is different every time: of lines that say this, numbers are not compared.
const VOLATILE: &[&str] = &[
    "clock_gettime(", "gettimeofday(", "time(", "sysinfo(", "getrandom(", "times(", "statfs(", "getrusage(", "pid", "getcpu(", "stat(", "statx(",
    "newfstatat(", "si_utime", "fstatfs(", "left {", "htons(", "gettid(", "wait", "clone", "kill", "set_tid_address", "nanosleep", "sigqueueinfo", "getdents", "restart_syscall", "getitimer", "timer_gettime", "timerfd_gettime", "adjtimex", "ppid", "fork(", "FUTEX_WAIT_BITSET|", "pgid", "shm", "socket:", "pipe:",
];

/// A folder of its own, that goes with it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("text-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What file descriptors are, as `/proc` says while the program stands still.
struct Proc;

impl Descriptors for Proc {
    fn describe(&mut self, pid: i32, fd: i32, _: &Call, out: &mut Vec<u8>) {
        let link = if fd == backsight_trace::CURRENT_DIRECTORY { format!("/proc/{pid}/cwd") } else { format!("/proc/{pid}/fd/{fd}") };
        if let Ok(path) = std::fs::read_link(link) {
            out.extend_from_slice(path.as_os_str().as_encoded_bytes());
        }
    }
}

fn strace_version() -> Option<String> {
    let output = Command::new("strace").arg("-V").output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

/// The same program, told by strace and by us.
fn both(name: &str, flags: &[&str], options: Options, descriptors: bool) -> Option<(Vec<String>, Vec<String>)> {
    let Some("strace -- version 6.1") = strace_version().as_deref() else {
        eprintln!("skipped: this compares with strace 6.1, which isn't here");
        return None;
    };
    let program = reader::compiled(name)?;
    let folder = Folder::new(name);
    let out = folder.0.join("strace.txt");
    let inner = folder.0.join("inner");
    std::fs::create_dir(&inner).unwrap();
    let mut strace = reader::command(Path::new("strace"));
    strace.current_dir(&inner).args(flags).arg("-f").arg("-o").arg(&out).arg(&program);
    strace.status().unwrap();
    let theirs = std::fs::read(&out).unwrap();
    std::fs::remove_dir_all(&inner).unwrap();
    std::fs::create_dir(&inner).unwrap();
    let mut ours = Vec::new();
    let limits = Limits { string: options.string, elements: options.string, verbose: options.verbose };
    let mut text = Text::new(Options { who: Who::Plain, ..options });
    if descriptors {
        text = text.with_descriptors(Proc);
    }
    reader::trace(&program, &inner, limits, &mut |event: Event| text.write(&event, &mut ours));
    text.finish(&mut ours);
    let _ = std::fs::remove_file(&program);
    Some((lines(&theirs), lines(&ours)))
}

/// The lines by process in the order in which they appear, without the call by which the first began, and with what was
/// interrupted made whole.
fn lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let mut processes: Vec<(&str, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let (pid, rest) = line.split_once(' ').unwrap_or(("", line));
        let rest = rest.trim_start();
        if rest.contains("execve(") && processes.is_empty() {
            continue;
        }
        let at = processes.iter().position(|(known, _)| *known == pid).unwrap_or_else(|| {
            processes.push((pid, Vec::new()));
            processes.len() - 1
        });
        if rest.starts_with("--- SIGCHLD") {
            // It comes when it comes: before the call that waits for the child, or behind it.
            continue;
        }
        let said = &mut processes[at].1;
        match (rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")), said.last_mut()) {
            (Some((_, end)), Some(before)) if before.ends_with(" <unfinished ...>") => {
                before.truncate(before.len() - " <unfinished ...>".len());
                before.push_str(end);
            }
            _ => said.push(rest.to_owned()),
        }
    }
    processes.into_iter().flat_map(|(_, said)| said).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn without_numbers(line: &str) -> String {
    let mut short = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_hexdigit() && (letter.is_ascii_digit() || short.ends_with('#') || short.ends_with("\\x")) {
            if !short.ends_with('#') {
                short.push('#');
            }
        } else {
            short.push(letter);
        }
    }
    short
}

fn same(theirs: &str, ours: &str) -> bool {
    let volatile = VOLATILE.iter().any(|name| theirs.contains(name));
    theirs == ours || (volatile && without_numbers(theirs) == without_numbers(ours)) || theirs.starts_with("rt_sigreturn(")
}

fn compare(name: &str, flags: &[&str], options: Options, descriptors: bool) {
    let Some((theirs, ours)) = both(name, flags, options, descriptors) else { return };
    let mut differences = String::new();
    for number in 0..theirs.len().max(ours.len()) {
        let (theirs, ours) = (theirs.get(number).map_or("", String::as_str), ours.get(number).map_or("", String::as_str));
        if !same(theirs, ours) {
            differences.push_str(&format!("  strace: {theirs}\n  ours:   {ours}\n"));
        }
    }
    assert!(!theirs.is_empty());
    assert!(differences.is_empty(), "{name} {flags:?}:\n{differences}");
}

fn compare_all(name: &str) {
    compare(name, &[], Options::default(), false);
    compare(name, &["-v", "-s", "300"], Options { verbose: true, string: 300, ..Options::default() }, false);
    compare(name, &["-x", "-s", "7"], Options { escapes: Escapes::HexWhereNeeded, string: 7, ..Options::default() }, false);
    compare(name, &["-xx"], Options { escapes: Escapes::Hex, ..Options::default() }, false);
    compare(name, &["-y"], Options::default(), true);
}

#[test]
fn files_are_told_as_strace_tells_them() {
    compare_all("files");
}

#[test]
fn processes_signals_and_clocks_are_told_as_strace_tells_them() {
    compare_all("processes");
}

#[test]
fn sockets_and_waiting_are_told_as_strace_tells_them() {
    compare_all("sockets");
}

#[test]
fn rare_calls_and_unknown_bits_are_told_as_strace_tells_them() {
    compare_all("rare");
}

#[test]
fn every_end_of_a_thread_is_told() {
    let mut text = Text::new(Options::default());
    let mut out = Vec::new();
    for what in [
        What::Stopped { signal: 19 },
        What::Exited { status: 0 },
        What::Killed { signal: 9, core: false },
        What::Killed { signal: 11, core: true },
        What::Superseded { by: 7 },
    ] {
        text.write(&Event { pid: 1, tid: 1, at: 0, what }, &mut out);
    }
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "--- stopped by SIGSTOP ---\n+++ exited with 0 +++\n+++ killed by SIGKILL +++\n+++ killed by SIGSEGV (core dumped) +++\n\
         +++ superseded by execve in pid 7 +++\n"
    );
}
