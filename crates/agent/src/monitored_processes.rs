//! The processes that a monitor watches: those of its trial, found from the agent that started the monitor.
//!
//! Monitors are recognized by a variable in their environment, so that they don't watch each other. A process that no agent
//! started watches nothing.

use std::env;

use crate::agent_mark;
use crate::{MONITOR_VARIABLE, procs};

/// The processes of a trial that a monitor may watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitoredProcesses {
    /// The agent, which starts everything else.
    pub agent: i32,
    /// Processes of the trial that run already; no monitor is among them.
    pub steps: Vec<i32>,
}

/// The processes that this process, a monitor, watches; none if no agent started it.
#[must_use]
pub fn monitored_processes() -> Option<MonitoredProcesses> {
    let agent = agent_mark::agent_of(&env::var(crate::MARK_VARIABLE).ok()?)?;
    let all = procs::descendants(agent, procs::all());
    let me = std::process::id().cast_signed();
    // A variable may have been inherited from long ago; parenthood is now.
    all.iter().find(|process| process.pid == me)?;
    let steps = all
        .iter()
        .filter(|process| process.pid != me && !process.zombie && !is_monitor(process.pid))
        .map(|process| process.pid)
        .collect();
    Some(MonitoredProcesses { agent, steps })
}

/// Whether a process is a monitor, or was started by one.
#[must_use]
pub fn is_monitor(pid: i32) -> bool {
    backsight_platform::environment(pid)
        .split(|byte| *byte == 0)
        .any(|entry| {
            let value = entry.strip_prefix(MONITOR_VARIABLE.as_bytes());
            value.is_some_and(|value| value.starts_with(b"="))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    #[test]
    fn a_monitor_is_known_by_its_environment() {
        let mut started = Vec::new();
        for variable in [Some(MONITOR_VARIABLE), None] {
            let mut command = Command::new("cat");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            if let Some(variable) = variable {
                command.env(variable, "x");
            }
            let mut child = command.spawn().unwrap();
            // `spawn` comes back a little before the kernel shows the new program's environment; what answers has it.
            child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            started.push(child);
        }
        let known: Vec<bool> = started
            .iter()
            .map(|child| is_monitor(child.id().cast_signed()))
            .collect();
        for mut child in started {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(known, [true, false]);
    }

    #[test]
    fn who_was_started_by_no_agent_watches_nothing() {
        // Whoever runs this test isn't an agent.
        assert_eq!(monitored_processes(), None);
    }
}
