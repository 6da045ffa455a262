//! What an outside program prints, read while it prints it: a decompressor's output isn't kept anywhere.
//!
//! Refuses: to wait longer than a limit, and to leave processes of the program's group behind.

use crate::HistoryError;
use crate::program::printable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What is kept of the end of the standard error.
const LAST_WORDS: usize = 4096;

/// The more a pipe holds, the less its two ends wait for each other.
const PIPE: usize = 1 << 20;

/// A program that runs and whose standard output is read. It is killed when it is dropped.
pub(super) struct Printing {
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

impl Printing {
    /// Starts a program without input and in the C locale.
    ///
    /// # Errors
    /// It can't be started.
    pub(super) fn start(
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

    /// Waits until there is something to read, or for the program's end, and hears what it says meanwhile.
    fn wait(&mut self, for_the_end: bool) -> io::Result<()> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = format!("stopped after {} s", self.limit.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            let awaited = if for_the_end {
                self.ended.as_fd()
            } else {
                self.out.as_fd()
            };
            let mut watched = vec![PollFd::from_borrowed_fd(awaited, PollFlags::IN)];
            if let Some(err) = &self.err {
                watched.push(PollFd::from_borrowed_fd(err.as_fd(), PollFlags::IN));
            }
            match poll(&mut watched, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let there = !watched[0].revents().is_empty();
            self.hear();
            if there {
                return Ok(());
            }
        }
    }

    fn hear(&mut self) {
        let mut buffer = [0; 4096];
        while let Some(err) = &mut self.err {
            match err.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(read) if read > 0 => {
                    self.last_words.extend_from_slice(&buffer[..read]);
                    let more = self.last_words.len().saturating_sub(LAST_WORDS);
                    self.last_words.drain(..more);
                    // One that never stops complaining keeps nobody from what it prints.
                    return;
                }
                _ => self.err = None,
            }
        }
    }

    /// Waits for the program's end once its output was read.
    ///
    /// # Errors
    /// It failed, or took longer than its limit; with the last lines of its standard error.
    pub(super) fn finish(mut self) -> Result<(), HistoryError> {
        let awaited = self.wait(true);
        self.hear();
        let ended = end(&mut self.child);
        self.reaped = true;
        let fault = |text: String| {
            let said = String::from_utf8_lossy(&self.last_words);
            let lines: Vec<&str> = said
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect();
            let last = lines[lines.len().saturating_sub(5)..].join(" / ");
            let colon = if last.is_empty() { "" } else { ": " };
            let what = &self.what;
            HistoryError::Other(format!("{what}: {text}{colon}{}", printable(&last)))
        };
        awaited.map_err(|error| fault(error.to_string()))?;
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(fault(format!("failed ({status})"))),
            Err(error) => Err(fault(format!("can't be waited for: {error}"))),
        }
    }
}

impl Read for Printing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.out.read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(false)?,
                read => return read,
            }
        }
    }
}

impl Drop for Printing {
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

    fn shell(line: &str, limit: Duration) -> Printing {
        Printing::start(Command::new("sh").args(["-c", line]), "the test", limit).unwrap()
    }

    fn all(printing: &mut Printing) -> io::Result<Vec<u8>> {
        let mut read = Vec::new();
        printing.read_to_end(&mut read).map(|_| read)
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn what_is_printed_is_read_in_full_whatever_is_said_beside_it() {
        let mut printing = shell("seq 100000; seq 100000 >&2; seq 100000", LONG);
        let read = all(&mut printing).unwrap();
        assert_eq!(read.split(|byte| *byte == b'\n').count(), 200_001);
        printing.finish().unwrap();
    }

    #[test]
    fn a_failure_brings_its_last_words() {
        let mut printing = shell("echo out; echo 'no \tgood' >&2; exit 3", LONG);
        assert_eq!(all(&mut printing).unwrap(), b"out\n");
        let error = printing.finish().unwrap_err().to_string();
        assert_eq!(error, "the test: failed (exit status: 3): no \tgood");
    }

    #[test]
    fn a_program_that_hangs_is_stopped() {
        let short = Duration::from_millis(200);
        let error = all(&mut shell("sleep 1000", short)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let mut printing = shell("exec >&-; sleep 1000", short);
        assert_eq!(all(&mut printing).unwrap(), b"");
        let error = printing.finish().unwrap_err().to_string();
        assert!(error.contains("stopped after"), "{error}");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = Printing::start(&mut Command::new("no-such-program"), "the test", LONG);
        let error = error.err().unwrap().to_string();
        assert!(error.contains("`no-such-program` isn't installed"));
    }
}
