//! Samplers beside a program that does something so many times: what they count is what was done.
//!
//! Numbers of the whole machine have a lower bound alone, since others do something too.

#![allow(clippy::unwrap_used)]

use backsight_test_needs::Need;
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_backsight-agent");

/// Two processes on one processor that wait for each other 5000 times: 10,000 switches.
const SWITCHES: &str = "
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
there, back = os.pipe(), os.pipe()
pid = os.fork()
for _ in range(5000):
    if pid == 0:
        os.read(there[0], 1), os.write(back[1], b'x')
    else:
        os.write(there[1], b'x'), os.read(back[0], 1)
os._exit(0) if pid == 0 else os.waitpid(pid, 0)
";

/// 10,000 small pages that are touched once.
const FAULTS: &str = "
memory = mmap.mmap(-1, 10000 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(10000): memory[page * mmap.PAGESIZE] = 1
";

/// 1000 processes, each waited for.
const FORKS: &str = "
for _ in range(1000):
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
";

/// 1000 writes of 1000 bytes, each of which is on the disk before the next.
const SYNCS: &str = "
file = os.open(os.environ['FILE'], os.O_WRONLY | os.O_CREAT, 0o600)
for _ in range(1000): os.write(file, b'x' * 1000), os.fsync(file)
";

/// 10,000 datagrams over the loopback interface, each received before the next.
const DATAGRAMS: &str = "
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(a, 0x8914, struct.pack('16sH14x', b'lo', 1))
a.bind(('127.0.0.1', 0))
for _ in range(10000): a.sendto(b'x' * 100, a.getsockname()), a.recv(1000)
";

/// A connection over which 1,000,000 bytes go, to a socket that is open before and after.
const STREAM: &str = "
a.sendall(b'x' * 1000000)
left = 1000000
while left: left -= len(b.recv(65536))
";

/// A program that does something when it is told to.
struct Activity {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Activity {
    fn new(prepare: &str, what: &str, variables: &[(&str, &str)]) -> Self {
        let program = format!(
            "import fcntl, mmap, os, socket, struct, sys\n{prepare}\nprint('ready', flush=True)\n\
             sys.stdin.readline()\n{what}\nprint('done', flush=True)\nsys.stdin.readline()\n"
        );
        let mut command = Command::new("python3");
        command
            .args(["-c", &program])
            .envs(variables.iter().copied());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut activity = Self { child, answers };
        activity.until("ready");
        activity
    }

    fn until(&mut self, word: &str) {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), word);
    }

    fn tell(&mut self) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(b"\n").unwrap();
    }
}

/// By how much series rose while something was done, and what they were before; by the names of their samplers.
struct Change(HashMap<(String, String), (i64, i64)>);

impl Change {
    /// What these samplers saw of it.
    fn of(mut activity: Activity, samplers: &[&str], mut monitor: Command) -> Self {
        let pid = activity.child.id().to_string();
        monitor.arg("monitor").args(samplers);
        monitor.args(["--interval", "1h", "--pid", &pid]);
        let mut monitor = monitor.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(monitor.stdout.take().unwrap());
        let mut printed = String::new();
        for _ in samplers {
            let length = printed.len();
            while !printed[length..].lines().any(|line| line.starts_with('[')) {
                assert_ne!(lines.read_line(&mut printed).unwrap(), 0, "{printed}");
            }
        }
        activity.tell();
        activity.until("done");
        let monitor_pid = Pid::from_raw(monitor.id().cast_signed()).unwrap();
        kill_process(monitor_pid, Signal::TERM).unwrap();
        lines.read_to_string(&mut printed).unwrap();
        assert!(monitor.wait().unwrap().success());
        activity.tell();
        assert!(activity.child.wait().unwrap().success());
        Self::read(&printed)
    }

    fn read(printed: &str) -> Self {
        let mut series: HashMap<u64, (String, Vec<String>, Vec<i64>)> = HashMap::new();
        let mut changes = HashMap::new();
        for line in printed.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if let Some(numbers) = line.as_array() {
                let place = numbers[0].as_u64().unwrap();
                let (sampler, names, last) = series.get_mut(&place).unwrap();
                last.resize(names.len(), 0);
                assert_eq!(numbers.len(), 2 + names.len());
                for ((name, last), number) in names.iter().zip(last).zip(&numbers[2..]) {
                    *last += number.as_i64().unwrap();
                    let (first, rise) = changes
                        .entry((sampler.clone(), name.clone()))
                        .or_insert((*last, 0));
                    *rise = *last - *first;
                }
            } else {
                assert_eq!(line["fault"], Value::Null, "{line}");
                let names: Vec<String> = serde_json::from_value(line["series"].clone()).unwrap();
                let sampler = line["name"].as_str().unwrap().to_owned();
                let place = line["sampler"].as_u64().unwrap();
                series.insert(place, (sampler, names, Vec::new()));
            }
        }
        Self(changes)
    }

    #[track_caller]
    fn rise(&self, sampler: &str, series: &str) -> i64 {
        let key = (sampler.to_owned(), series.to_owned());
        self.0.get(&key).unwrap_or_else(|| panic!("{key:?}")).1
    }

    /// The sum over all series that end so.
    fn sum(&self, sampler: &str, end: &str) -> i64 {
        let fitting = self
            .0
            .iter()
            .filter(|((of, name), _)| of == sampler && name.ends_with(end));
        fitting.map(|(_, (_, rise))| rise).sum()
    }

    /// It was at least so often.
    #[track_caller]
    fn at_least(&self, sampler: &str, series: &str, count: i64) {
        let rise = self.rise(sampler, series);
        assert!(rise >= count, "{sampler} {series}: {rise}");
    }

    /// It was so often, and at most a tenth more.
    #[track_caller]
    fn about(&self, sampler: &str, series: &str, count: i64) {
        self.at_least(sampler, series, count);
        let rise = self.rise(sampler, series);
        assert!(rise <= count + count / 10, "{sampler} {series}: {rise}");
    }
}

/// The monitor, where it sees tracepoints, which only this process's children do.
fn with_tracefs() -> Command {
    let mut command = Command::new("unshare");
    // It may be there already: `perf` mounts it for all.
    let mount = "{ test -e /sys/kernel/tracing/events || mount -t tracefs nodev /sys/kernel/tracing; } && exec \"$@\"";
    command.args(["--mount", "sh", "-c", mount, "sh", PROGRAM]);
    command
}

#[test]
fn switches_are_counted() {
    if Need::Root.is_missing() {
        return;
    }
    let activity = Activity::new("", SWITCHES, &[]);
    let samplers = ["cpu", "sched", "processes", "perf", "tracepoints"];
    let change = Change::of(activity, &samplers, with_tracefs());
    for (sampler, series) in [
        ("cpu", "ctxt"),
        ("sched", "ctxt"),
        ("perf", "context-switches"),
        ("tracepoints", "sched:sched_switch"),
    ] {
        change.at_least(sampler, series, 10_000);
    }
    change.at_least("tracepoints", "raw_syscalls:sys_enter", 20_000);
    // Those of the process that has ended are seen only as often as samples are taken.
    let own = change.rise("processes", "processes.voluntary_switches")
        + change.rise("processes", "processes.involuntary_switches");
    assert!((4_900..6_500).contains(&own), "{own}");
}

#[test]
fn page_faults_are_counted() {
    if Need::Root.is_missing() {
        return;
    }
    let samplers = ["memory", "processes", "perf"];
    let change = Change::of(
        Activity::new("", FAULTS, &[]),
        &samplers,
        Command::new(PROGRAM),
    );
    change.at_least("memory", "pgfault", 10_000);
    change.at_least("perf", "minor-faults", 10_000);
    change.about("processes", "processes.minor_faults", 10_000);
    let grown = change.rise("processes", "processes.rss_bytes");
    let page = i64::try_from(rustix::param::page_size()).unwrap();
    assert!(grown > 9_000 * page, "{grown}");
}

#[test]
fn processes_that_have_ended_stay_in_the_sums() {
    let samplers = ["cpu", "sched", "processes"];
    let change = Change::of(
        Activity::new("", FORKS, &[]),
        &samplers,
        Command::new(PROGRAM),
    );
    change.at_least("cpu", "processes", 1_000);
    change.at_least("sched", "processes", 1_000);
    // No sample was taken while any of them lived: their parent has what they used.
    change.at_least("processes", "processes.minor_faults", 10_000);
    assert_eq!(change.rise("processes", "processes.count"), 0);
}

#[test]
fn writes_are_counted_by_process_and_by_disk() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("file");
    let activity = Activity::new("", SYNCS, &[("FILE", file.to_str().unwrap())]);
    let change = Change::of(activity, &["disk", "processes"], Command::new(PROGRAM));
    change.about("processes", "processes.write_calls", 1_000);
    change.about("processes", "processes.write_bytes", 1_000_000);
    let requests = change.sum("disk", ".writes") + change.sum("disk", ".flushes");
    assert!(requests >= 1_000, "{requests}");
}

#[test]
fn datagrams_are_counted_in_their_own_namespace() {
    if Need::Root.is_missing() {
        return;
    }
    // What this thread starts is in a network of its own, with the loopback interface alone.
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    let samplers = ["net", "interrupts", "processes"];
    let change = Change::of(
        Activity::new("", DATAGRAMS, &[]),
        &samplers,
        Command::new(PROGRAM),
    );
    for series in [
        "lo.rx_packets",
        "lo.tx_packets",
        "Udp.InDatagrams",
        "Udp.OutDatagrams",
    ] {
        change.about("net", series, 10_000);
    }
    change.at_least("net", "lo.rx_bytes", 10_000 * 100);
    assert!(change.sum("net", ".processed") >= 10_000);
    change.at_least("interrupts", "softirq.NET_RX", 1);
}

#[test]
fn bytes_of_a_connection_are_counted_until_after_its_end() {
    let prepare = "
l = socket.create_server(('127.0.0.1', 0))
a = socket.create_connection(l.getsockname())
b, _ = l.accept()
";
    for (after, open) in [("", 0), ("a.close(), b.close()", -2)] {
        let activity = Activity::new(prepare, &format!("{STREAM}{after}"), &[]);
        let change = Change::of(activity, &["sockets"], Command::new(PROGRAM));
        assert_eq!(change.rise("sockets", "state.established"), open);
        assert_eq!(change.rise("sockets", "state.listening"), 0);
        if open == 0 {
            assert_eq!(change.rise("sockets", "bytes_acked"), 1_000_000);
            assert_eq!(change.rise("sockets", "bytes_received"), 1_000_000);
        } else {
            // What was counted after the last sample with it is gone, but nothing that was told.
            assert!(change.rise("sockets", "bytes_acked") >= 0);
        }
    }
}
