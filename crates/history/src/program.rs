//! Running an outside program for a bounded time, with everything that it starts. What it prints is read while it prints
//! it: a decompressor's output isn't kept anywhere.
//!
//! Time and output have limits, and no process of the program's group stays behind.

use crate::HistoryError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long listing versions may take, fetching one, and unpacking what is on this machine already.
pub(crate) const LISTING: Duration = Duration::from_secs(60);
pub(crate) const FETCHING: Duration = Duration::from_secs(600);
pub(crate) const UNPACKING: Duration = Duration::from_secs(1800);

/// Most that a program may print where all of it is kept.
const MOST: u64 = 1 << 30;

/// What is kept of the end of the standard error, and lines of it in a message.
const LAST_WORDS: usize = 4096;
const LAST_LINES: usize = 5;

/// The more a pipe holds, the less its two ends wait for each other.
const PIPE: usize = 1 << 20;

/// Runs a program without input and in the C locale; gives what it printed on its standard output.
///
/// # Errors
/// It can't be started, fails, prints more than can be meant, or takes longer than `limit`: then its process
/// group is killed. The last lines of its standard error are part of the error.
pub(crate) fn run(
    command: &mut Command,
    what: &str,
    limit: Duration,
) -> Result<Vec<u8>, HistoryError> {
    let mut printing = RunningProgram::start(command, what, limit)?;
    let mut printed = Vec::new();
    let read = (&mut printing).take(MOST + 1).read_to_end(&mut printed);
    if let Err(error) = read {
        return Err(printing.fault(&error.to_string()));
    }
    if printed.len() as u64 > MOST {
        return Err(printing.fault(&format!("printed more than {MOST} bytes")));
    }
    printing.finish()?;
    Ok(printed)
}

/// The text with a mark in place of every character that a terminal would act on; lines and tabs stay.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' && c != '\t' {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// A program that runs and whose standard output is read. It is killed when it is dropped.
pub(crate) struct RunningProgram {
    what: String,
    child: Child,
    ended: OwnedFd,
    out: ChildStdout,
    err: Option<ChildStderr>,
    last_words: Vec<u8>,
    deadline: Instant,
    limit: Duration,
    reaped: bool,
}

impl RunningProgram {
    /// Starts a program without input and in the C locale.
    ///
    /// # Errors
    /// It can't be started.
    pub(crate) fn start(
        command: &mut Command,
        what: &str,
        limit: Duration,
    ) -> Result<Self, HistoryError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let fault = |text: String| HistoryError::Other(format!("{what}: {text}"));
        let started = command
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = started.map_err(|error| {
            fault(if error.kind() == io::ErrorKind::NotFound {
                format!("the program `{program}` isn't installed here")
            } else {
                format!("can't start `{program}`: {error}")
            })
        })?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let (Some(out), Some(err), Ok(ended)) = (out, err, ended) else {
            let _ = end(&mut child);
            return Err(fault(format!("can't watch `{program}`")));
        };
        let printing = Self {
            what: what.to_owned(),
            child,
            ended,
            out,
            err: Some(err),
            last_words: Vec::new(),
            deadline: Instant::now() + limit,
            limit,
            reaped: false,
        };
        // Less room in the pipe only costs time.
        let _ = fcntl_setpipe_size(&printing.out, PIPE);
        rustix::io::ioctl_fionbio(&printing.out, true)
            .and_then(|()| {
                printing
                    .err
                    .as_ref()
                    .map_or(Ok(()), |err| rustix::io::ioctl_fionbio(err, true))
            })
            .map_err(|error| fault(format!("can't be read: {error}")))?;
        Ok(printing)
    }

    /// Waits until there is something to read (if that is asked for) or the program has ended, and hears what it says
    /// meanwhile; whether it has ended and nothing is left to read.
    fn wait(&mut self, to_read: bool) -> io::Result<bool> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = format!("stopped after {} s", self.limit.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut watched = vec![PollFd::from_borrowed_fd(self.ended.as_fd(), PollFlags::IN)];
            if to_read {
                watched.push(PollFd::from_borrowed_fd(self.out.as_fd(), PollFlags::IN));
            }
            if let Some(err) = &self.err {
                watched.push(PollFd::from_borrowed_fd(err.as_fd(), PollFlags::IN));
            }
            match poll(&mut watched, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let ended = !watched[0].revents().is_empty();
            let readable = to_read && !watched[1].revents().is_empty();
            // One that never stops complaining keeps nobody from what it prints.
            self.read_stderr(1);
            if ended || readable {
                return Ok(!readable);
            }
        }
    }

    /// Reads its standard error, at most so many pieces.
    fn read_stderr(&mut self, pieces: usize) {
        let mut buffer = [0; 4096];
        for _ in 0..pieces {
            let Some(err) = &mut self.err else { return };
            match err.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(read) if read > 0 => {
                    self.last_words.extend_from_slice(&buffer[..read]);
                    let more = self.last_words.len().saturating_sub(LAST_WORDS);
                    self.last_words.drain(..more);
                }
                _ => self.err = None,
            }
        }
    }

    /// Waits for the program's end once its output was read.
    ///
    /// # Errors
    /// It failed, or took longer than its limit; with the last lines of its standard error.
    pub(crate) fn finish(mut self) -> Result<(), HistoryError> {
        let awaited = self.wait(false);
        // As much as a pipe holds.
        self.read_stderr(PIPE / 4096);
        let ended = end(&mut self.child);
        self.reaped = true;
        awaited.map_err(|error| self.fault(&error.to_string()))?;
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.fault(&format!("failed ({status})"))),
            Err(error) => Err(self.fault(&format!("can't be waited for: {error}"))),
        }
    }

    /// What went wrong, with the program's last words.
    fn fault(&self, text: &str) -> HistoryError {
        let said = String::from_utf8_lossy(&self.last_words);
        let lines: Vec<&str> = said
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join(" / ");
        let colon = if last.is_empty() { "" } else { ": " };
        HistoryError::Other(format!("{}: {text}{colon}{}", self.what, printable(&last)))
    }
}

impl Read for RunningProgram {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.out.read(into) {
                // What a program has left behind may hold its output open: that ends with the program all the same.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.wait(true)? {
                        return Ok(0);
                    }
                }
                read => return read,
            }
        }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = end(&mut self.child);
        }
    }
}

/// Kills what is left of a program's group, then reaps the program: until then it holds the group's number.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    // A program that has ended keeps its status.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    child.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str, limit: Duration) -> Result<Vec<u8>, HistoryError> {
        run(Command::new("sh").args(["-c", line]), "the test", limit)
    }

    #[test]
    fn what_is_printed_is_heard_in_full_whatever_is_said_beside_it() {
        let out = shell("seq 100000; seq 100000 >&2; seq 100000", FETCHING).unwrap();
        assert_eq!(out.split(|byte| *byte == b'\n').count(), 200_001);
    }

    #[test]
    fn a_failure_brings_its_last_words() {
        let error = shell("echo one >&2; printf 'two\\033[1m' >&2; exit 3", FETCHING).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the test: failed (exit status: 3): one / two\u{fffd}[1m"
        );
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let line = format!(
            "mkfifo '{0}'; sleep 1000 > '{0}' & cat '{0}'; sleep 1000",
            fifo.display()
        );
        let error = shell(&line, Duration::from_millis(300)).unwrap_err();
        assert!(error.to_string().contains("stopped after"), "{error}");
    }

    #[test]
    fn a_child_left_behind_keeps_nobody_waiting() {
        let out = shell("sleep 1000 & echo started", FETCHING).unwrap();
        assert_eq!(out, b"started\n");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = run(&mut Command::new("no-such-program"), "the test", LISTING).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("`no-such-program` isn't installed")
        );
    }

    #[test]
    fn what_is_read_while_it_is_printed_ends_with_the_program_or_its_limit() {
        let start = |line: &str, limit| {
            RunningProgram::start(Command::new("sh").args(["-c", line]), "the test", limit).unwrap()
        };
        let mut printing = start(
            "sleep 1000 & echo out; echo 'no \tgood' >&2; exit 3",
            FETCHING,
        );
        let mut read = Vec::new();
        printing.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"out\n");
        let error = printing.finish().unwrap_err().to_string();
        assert_eq!(error, "the test: failed (exit status: 3): no \tgood");
        let short = Duration::from_millis(200);
        let error = start("sleep 1000", short).read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let mut silent = start("exec >&-; sleep 1000", short);
        assert_eq!(silent.read(&mut [0; 8]).unwrap(), 0);
        let error = silent.finish().unwrap_err().to_string();
        assert!(error.contains("stopped after"), "{error}");
    }
}
