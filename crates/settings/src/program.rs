//! Running a program of the machine's for a bounded time, without a shell and without input.

use backsight_platform::ProcessHandle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io::{self, Read},
    os::{fd::AsFd, unix::process::CommandExt as _},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::machine_root::MachineRoot;

/// Most that is kept of each of its outputs.
const MOST: usize = 1 << 20;

/// Why a program didn't do what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramFault {
    /// It isn't installed.
    Missing(String),
    /// It failed; in its own words.
    Failed(String),
}

impl ProgramFault {
    /// The sentence for people.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Missing(text) | Self::Failed(text) => text,
        }
    }
}

/// Runs a program; gives what it printed.
///
/// # Errors
/// It isn't there, can't be started, fails, or takes longer than the limit: then it and its children are killed.
pub(crate) fn run(
    machine: &MachineRoot,
    words: &[String],
    limit: Duration,
) -> Result<String, ProgramFault> {
    run_with(machine, words, machine.input(), limit)
}

/// The same with this standard input.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_with(
    machine: &MachineRoot,
    words: &[String],
    input: Stdio,
    limit: Duration,
) -> Result<String, ProgramFault> {
    let Some((name, arguments)) = words.split_first() else {
        return Err(ProgramFault::Failed("a command without a program".into()));
    };
    let program = machine
        .program(name)
        .ok_or_else(|| ProgramFault::Missing(format!("`{name}` isn't installed here")))?;
    let fault = |text: String| ProgramFault::Failed(format!("`{}`: {text}", words.join(" ")));
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| fault(error.to_string()))?;
    let pid = Pid::from_child(&child);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let heard = match (out, err) {
        (Some(out), Some(err)) => hear(pid, out, err, limit),
        _ => Err(io::Error::other("can't be read")),
    };
    let (printed, said) = heard.map_err(|error| {
        let _gone_already = kill_process_group(pid, Signal::KILL);
        let _reaped = child.wait();
        fault(error.to_string())
    })?;
    let status = child.wait().map_err(|error| fault(error.to_string()))?;
    if !status.success() {
        let said = String::from_utf8_lossy(if said.is_empty() { &printed } else { &said });
        let readable = said.chars().map(|c| if c.is_control() { ' ' } else { c });
        let said: String = readable.take(500).collect();
        return Err(fault(format!("{status}: {}", said.trim())));
    }
    String::from_utf8(printed).map_err(|_| fault("what it printed isn't text".into()))
}

/// Reads both outputs until the program has ended.
fn hear(
    pid: Pid,
    mut out: impl Read + AsFd,
    mut err: impl Read + AsFd,
    limit: Duration,
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let deadline = Instant::now() + limit;
    let ended = ProcessHandle::open(pid.as_raw_pid())?;
    rustix::io::ioctl_fionbio(&out, true)?;
    rustix::io::ioctl_fionbio(&err, true)?;
    let (mut printed, mut said) = (Vec::new(), Vec::new());
    let (mut out_open, mut err_open) = (true, true);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let text = format!("stopped after {} s", limit.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        let mut watched = vec![PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN)];
        if out_open {
            watched.push(PollFd::from_borrowed_fd(out.as_fd(), PollFlags::IN));
        }
        if err_open {
            watched.push(PollFd::from_borrowed_fd(err.as_fd(), PollFlags::IN));
        }
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_ended = !watched[0].revents().is_empty();
        out_open = out_open && take(&mut out, &mut printed)?;
        err_open = err_open && take(&mut err, &mut said)?;
        if has_ended {
            return Ok((printed, said));
        }
    }
}

/// Takes what there is to read; whether more may come.
fn take(from: &mut impl Read, into: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(_) if into.len() > MOST => return Err(io::Error::other("prints without end")),
            Ok(read) => into.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_here(words: &[&str], limit: Duration) -> Result<String, ProgramFault> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        run(&MachineRoot::this_machine(), &words, limit)
    }

    #[test]
    fn a_program_prints_fails_is_missing_or_is_stopped() {
        let long = Duration::from_secs(20);
        assert_eq!(run_here(&["echo", "a b"], long).unwrap(), "a b\n");
        let fault = run_here(&["sh", "-c", "echo no >&2; exit 3"], long).unwrap_err();
        let text = fault.into_text();
        assert!(text.contains("no") && text.contains('3'), "{text}");
        assert!(matches!(
            run_here(&["no-such-program"], long),
            Err(ProgramFault::Missing(_))
        ));
        let begun = Instant::now();
        let fault = run_here(&["sleep", "60"], Duration::from_millis(50)).unwrap_err();
        assert!(fault.into_text().contains("stopped after"));
        assert!(begun.elapsed() < Duration::from_secs(20));
        let fault = run_here(&["yes"], long).unwrap_err();
        assert!(fault.into_text().contains("without end"));
    }
}
