//! What benches share: a folder with a lab and a plan, and how figures are taken and shown.

// Each bench is a program of its own, and none uses all of it.
#![allow(dead_code)]

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

pub const BINARY: &str = env!("CARGO_BIN_EXE_backsight");

/// What `ssh` speaks through: a server for one connection, to a machine that has a home and a boot of its own.
const DIAL: &str = r#"#!/bin/sh
exec unshare -m --propagation private sh -c '
    mount --bind @/home-'"$1"' /root && mount --bind @/boot-'"$1"' /proc/sys/kernel/random/boot_id &&
    mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -i -e -f @/sshd_config'
"#;

/// Which figures are wanted: all of them, or those whose names have a word of the command line in them.
pub fn wanted() -> impl Fn(&str) -> bool {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    move |name| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()))
}

pub fn row(figure: &str, measured: &str, asked: &str, beside: &str) {
    println!("{figure:<52} {measured:>12} {asked:>12}   {beside}");
}

pub fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

pub fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Runs it this often and takes the median of the wall times.
pub fn timed(times: usize, mut command: impl FnMut() -> Command) -> Duration {
    let measure = |command: &mut Command| {
        let begin = Instant::now();
        let status = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.expect("it starts").success(), "{command:?} failed");
        begin.elapsed()
    };
    measure(&mut command());
    median((0..times).map(|_| measure(&mut command())).collect())
}

pub fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A folder with a plan for hosts of one kind, and the command that runs it.
pub struct Place {
    folder: tempfile::TempDir,
    runs: std::cell::Cell<usize>,
}

impl Place {
    /// Hosts of this machine play the roles `r1`, `r2` and so on.
    pub fn local(hosts: usize, benchmark: &str, plan: &str) -> Self {
        let place = Self::empty();
        place.fill(hosts, "kind = \"local\"", benchmark, plan);
        place
    }

    /// The same by machines that `ssh` reaches: this one, seen through servers of its own.
    pub fn ssh(hosts: usize, benchmark: &str, plan: &str) -> Self {
        let place = Self::empty();
        let here = place.path().display().to_string();
        place.write("tmp/.keep", "");
        for file in ["key", "host"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            let made = keygen.arg(place.path().join(file)).status();
            assert!(made.expect("ssh-keygen").success());
        }
        let public = fs::read_to_string(place.path().join("key.pub")).expect("a key");
        for n in 1..=hosts {
            place.write(&format!("home-bench-{n}/.ssh/authorized_keys"), &public);
            place.write(&format!("boot-bench-{n}"), &format!("boot-{n}\n"));
        }
        place.write("dial", &DIAL.replace('@', &here));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.path().join("dial"), mode).expect("a script");
        place.write(
            "sshd_config",
            &format!(
                "HostKey {here}/host\nUsePAM no\nStrictModes no\nPrintMotd no\n\
                 PermitRootLogin prohibit-password\nPidFile none\nLogLevel ERROR\nSetEnv TMPDIR={here}/tmp BACKSIGHT_LEASES={here}/leases\n"
            ),
        );
        let keys = format!(
            "kind = \"ssh\"\nlogin = \"root@{{host}}\"\ndata = \"127.0.0.1\"\n\
             options = [\"-i\", \"{here}/key\", \"-o\", \"StrictHostKeyChecking=no\", \"-o\", \
             \"UserKnownHostsFile=/dev/null\", \"-o\", \"ProxyCommand={here}/dial %h\", \"-o\", \"ControlPersist=20s\"]"
        );
        place.fill(hosts, &keys, benchmark, plan);
        place
    }

    fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            runs: std::cell::Cell::new(0),
        }
    }

    fn fill(&self, hosts: usize, keys: &str, benchmark: &str, plan: &str) {
        let mut lab =
            format!("[group.bench]\nhosts = \"bench-[1-{hosts}]\"\n{keys}\n[testbed.bench]\n");
        for n in 1..=hosts {
            let _ = writeln!(lab, "r{n} = \"bench-{n}\"");
        }
        self.write("lab.toml", &lab);
        self.write("benchmarks/bench.toml", benchmark);
        self.write("plan.toml", plan);
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn store(&self) -> PathBuf {
        self.path().join("store")
    }

    pub fn run(&self) -> Command {
        self.runs.set(self.runs.get() + 1);
        let mut command = Command::new(BINARY);
        command
            .args([
                "run",
                "plan.toml",
                "--quiet",
                "--name",
                &format!("bench-{}", self.runs.get()),
            ])
            .arg("--store")
            .arg(self.store())
            .current_dir(self.path());
        command
    }
}

/// A benchmark in which every role runs these steps.
pub fn benchmark(hosts: usize, steps: &str, metrics: &str) -> String {
    let roles: Vec<String> = (1..=hosts).map(|n| format!("\"r{n}\"")).collect();
    let mut text = format!(
        "name = \"bench\"\nabout = \"bench\"\nroles = [{}]\n",
        roles.join(", ")
    );
    for n in 1..=hosts {
        let _ = writeln!(text, "[r{n}]\nrun = {steps}");
    }
    text + metrics
}

pub fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}
