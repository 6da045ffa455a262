//! Running an outside program for a bounded time, with everything that it starts.
//!
//! Refuses: to wait for ever, to read more than a limit, and to leave processes of the program's group behind.

use crate::HistoryError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long listing versions may take, fetching one, and unpacking what is on this machine already.
pub(crate) const LISTING: Duration = Duration::from_secs(60);
pub(crate) const FETCHING: Duration = Duration::from_secs(600);
pub(crate) const UNPACKING: Duration = Duration::from_secs(1800);

/// Most that a program may print on its standard output, and what is kept of the end of its standard error.
const MOST: usize = 1 << 30;
const LAST_WORDS: usize = 4096;

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
    let fault = |text: String| HistoryError::Other(format!("{what}: {text}"));
    let mut child = command
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            fault(if error.kind() == std::io::ErrorKind::NotFound {
                format!("the program `{program}` isn't installed here")
            } else {
                format!("can't start `{program}`: {error}")
            })
        })?;
    let mut heard = Heard::default();
    let listened = listen(&mut child, &mut heard, limit);
    let ended = end(&mut child);
    match listened {
        Ok(true) => {}
        Ok(false) => {
            return Err(fault(format!(
                "stopped after {} s{}",
                limit.as_secs(),
                heard.last_words()
            )));
        }
        Err(error) => return Err(fault(format!("can't be read: {error}"))),
    }
    let status = ended.map_err(|error| fault(format!("can't be waited for: {error}")))?;
    if heard.out.len() > MOST {
        return Err(fault(format!("printed more than {MOST} bytes")));
    }
    if !status.success() {
        return Err(fault(format!("failed ({status}){}", heard.last_words())));
    }
    Ok(heard.out)
}

#[derive(Default)]
struct Heard {
    out: Vec<u8>,
    out_closed: bool,
    err: Vec<u8>,
    err_closed: bool,
}

impl Heard {
    fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.err);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let last = &lines[lines.len().saturating_sub(5)..];
        if last.is_empty() {
            String::new()
        } else {
            format!(": {}", printable(&last.join(" / ")))
        }
    }
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

/// Reads until the program itself has ended; whether it did within the limit.
fn listen(child: &mut Child, heard: &mut Heard, limit: Duration) -> std::io::Result<bool> {
    let deadline = Instant::now() + limit;
    let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
        return Ok(true);
    };
    rustix::io::ioctl_fionbio(&out, true)?;
    rustix::io::ioctl_fionbio(&err, true)?;
    let ended = pidfd_open(pid(child), PidfdFlags::empty())?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(std::io::Error::other)?;
        let mut watched = vec![PollFd::new(&ended, PollFlags::IN)];
        if !heard.out_closed {
            watched.push(PollFd::from_borrowed_fd(out.as_fd(), PollFlags::IN));
        }
        if !heard.err_closed {
            watched.push(PollFd::from_borrowed_fd(err.as_fd(), PollFlags::IN));
        }
        match poll(&mut watched, Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let over = !watched[0].revents().is_empty();
        heard.out_closed |= drain(&mut out, &mut heard.out, MOST + 1)?;
        heard.err_closed |= drain(&mut err, &mut heard.err, 1 << 20)?;
        if heard.err.len() > LAST_WORDS {
            heard.err.drain(..heard.err.len() - LAST_WORDS);
        }
        if over || heard.out.len() > MOST {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
    }
}

/// Takes what is there to be read; whether that was the end.
fn drain(from: &mut impl Read, into: &mut Vec<u8>, most: usize) -> std::io::Result<bool> {
    let mut buffer = [0; 65_536];
    while into.len() < most {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(read) => into.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Kills what is left of the program's group and reaps the program. The group is killed first: until it is
/// reaped, the program holds the group's number.
fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    // Nobody left to kill is what one hopes for. A program that has ended keeps its status.
    let _ = kill_process_group(pid(child), Signal::KILL);
    child.wait()
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str, limit: Duration) -> Result<Vec<u8>, HistoryError> {
        run(Command::new("sh").args(["-c", line]), "the test", limit)
    }

    #[test]
    fn what_is_printed_is_heard_in_full() {
        let out = shell("seq 100000; seq 100000 >&2", FETCHING).unwrap();
        assert_eq!(out.split(|byte| *byte == b'\n').count(), 100_001);
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
}
