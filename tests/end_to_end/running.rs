//! The program while it runs: its events, its output, its end; none of them waited for without a limit.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Read as _},
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use crate::processes::{self, LIMIT};

/// A program that was started.
pub struct Running {
    pub pid: Pid,
    lines: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_end: Receiver<()>,
    status: Receiver<ExitStatus>,
    ended: bool,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub bytes: Vec<u8>,
    pub stderr: String,
}

impl Running {
    /// Starts it with its output watched.
    pub fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let pid = Pid::from_raw(child.id().cast_signed());
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (line_seen, lines) = channel();
        thread::spawn(move || {
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                if line_seen.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let mut complaints = child.stderr.take().unwrap();
        let stderr: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (at_end, stderr_end) = channel();
        let kept = Arc::clone(&stderr);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = complaints.read(&mut piece) {
                kept.lock().unwrap().extend_from_slice(&piece[..n]);
            }
            let _ = at_end.send(());
        });
        let (reap, status) = channel();
        thread::spawn(move || {
            let _ = reap.send(child.wait().unwrap());
        });
        Self {
            pid,
            lines,
            seen: Vec::new(),
            stderr,
            stderr_end,
            status,
            ended: false,
        }
    }

    /// What it has said on standard error so far.
    pub fn complaints(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().unwrap()).into_owned()
    }

    /// Waits for the first event from now on that is like this.
    pub fn until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        self.until_within(LIMIT, what, is_it)
    }

    /// The same where it may take this long.
    pub fn until_within(
        &mut self,
        limit: Duration,
        what: &str,
        is_it: impl Fn(&Value) -> bool,
    ) -> Value {
        let end = Instant::now() + limit;
        loop {
            match self
                .lines
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => {
                    self.seen.extend_from_slice(&line);
                    let event = event(&line);
                    if is_it(&event) {
                        return event;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("hang: {limit:?} without {what}; {}", self.told())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended without {what}; {}", self.told())
                }
            }
        }
    }

    /// Waits for the next line that it prints.
    pub fn next_line(&mut self) -> String {
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => {
                self.seen.extend_from_slice(&line);
                String::from_utf8(line).unwrap()
            }
            Err(why) => panic!("no line: {why}; {}", self.told()),
        }
    }

    /// Waits for the next event; none if it has ended.
    pub fn next_event(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => {
                self.seen.extend_from_slice(&line);
                Some(event(&line))
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("hang: {LIMIT:?} without an event; {}", self.told())
            }
        }
    }

    /// Waits for the beginning of a step in this phase.
    pub fn until_step_in(&mut self, phase: &str) -> Value {
        self.until(&format!("a step in {phase}"), |e| {
            e["event"] == "step-started" && e["phase"] == phase
        })
    }

    /// Waits for the end of a trial.
    pub fn until_trial_finished(&mut self) -> Value {
        self.until("the end of a trial", |e| e["event"] == "trial-finished")
    }

    fn told(&self) -> String {
        let seen = String::from_utf8_lossy(&self.seen);
        format!("it printed\n{seen}\nand complained\n{}", self.complaints())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid, signal).unwrap();
    }

    /// Kills it without a warning, and waits until it is gone.
    pub fn after_sigkill(self) -> Ended {
        self.signal(Signal::SIGKILL);
        self.ends()
    }

    /// Waits for its end.
    pub fn ends(self) -> Ended {
        self.ends_within(LIMIT)
    }

    /// Waits for its end, this long.
    pub fn ends_within(mut self, limit: Duration) -> Ended {
        let status = self.status.recv_timeout(limit).unwrap_or_else(|_| {
            self.seen.extend(self.lines.try_iter().flatten());
            let below = processes::below(self.pid.as_raw());
            panic!(
                "hang: no end within {limit:?}; below it: {below:#?}; {}",
                self.told()
            )
        });
        self.ended = true;
        // Whoever else held its output would outlive it.
        self.stderr_end
            .recv_timeout(LIMIT)
            .unwrap_or_else(|_| panic!("hang: somebody keeps its standard error open"));
        loop {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => self.seen.extend_from_slice(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("hang: somebody keeps its standard output open")
                }
            }
        }
        Ended {
            status,
            bytes: std::mem::take(&mut self.seen),
            stderr: self.complaints(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended && self.status.try_recv().is_err() {
            let _ = kill(self.pid, Signal::SIGKILL);
        }
    }
}

fn event(line: &[u8]) -> Value {
    serde_json::from_slice(line)
        .unwrap_or_else(|e| panic!("no event: {e}: {}", String::from_utf8_lossy(line)))
}

impl Ended {
    pub fn stdout(&self) -> String {
        String::from_utf8(self.bytes.clone()).expect("standard output is UTF-8")
    }

    /// What it said on both streams, each run of white space and frame as one space: what a person reads.
    pub fn words(&self) -> String {
        let both = format!("{} {}", self.stderr, String::from_utf8_lossy(&self.bytes));
        let plain = both.replace(['│', '·', '╭', '╰', '─', '┬', '├', '▲'], " ");
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Asserts its exit code; a signal has none.
    pub fn assert_code(&self, code: i32) {
        let signal = self
            .status
            .signal()
            .map(|n| format!(" (killed by signal {n})"))
            .unwrap_or_default();
        assert_eq!(
            self.status.code(),
            Some(code),
            "exit status{signal}: {}",
            self.all()
        );
    }

    /// Asserts that it said all of this, wherever its lines were broken: also a path is, behind its `/`.
    pub fn assert_says(&self, parts: &[&str]) {
        let unspaced = |text: &str| text.split_whitespace().collect::<String>();
        let words = unspaced(&self.words());
        for part in parts {
            let said = words.contains(&unspaced(part));
            assert!(said, "{part:?} is not in: {}", self.all());
        }
    }

    /// Its events, in order.
    pub fn events(&self) -> Vec<Value> {
        self.bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(event)
            .collect()
    }

    fn all(&self) -> String {
        format!("{}\n{}", String::from_utf8_lossy(&self.bytes), self.stderr)
    }
}
