//! The mark of an agent: what everything that belongs to the agent bears, so that it can be found and removed.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::MARK_VARIABLE;

/// Names everything that belongs to one agent, so that it can be found when the agent is gone. Worth keeping on disk:
/// after a crash of both, it is what the next start cleans up with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMark {
    /// Begins the value of [`MARK_VARIABLE`](crate::MARK_VARIABLE) in the environment of the agent and of everything
    /// it started.
    pub mark: String,
    /// The agent's process.
    pub pid: u32,
    /// When that process began, in the kernel's ticks: tells it from a later one with the same number.
    pub start_ticks: u64,
    /// The boot in which all this holds: in another one nothing can be left but folders.
    pub boot_id: String,
    /// Its own cgroup, if it could make one.
    pub cgroup: Option<PathBuf>,
    /// The folder with the folders of its trials.
    pub folder: PathBuf,
}

/// What follows an agent's mark in its own environment.
const AGENT: &str = "/agent";

/// What all marks begin with.
pub(crate) const PREFIX: &str = "backsight-";

/// The mark of this process, which it bears in its own environment. Without one it becomes its program anew, with one.
///
/// A child is its parent's image until its `exec`: were the agent unmarked, a sweep wouldn't see the children that it
/// was just starting when it was killed, and they would go on to run their programs.
///
/// `token` makes it unique, and `env` is what the program's environment gets besides.
///
/// # Errors
///
/// The system's.
pub(crate) fn borne(token: u64, env: &[(&str, &str)]) -> io::Result<String> {
    if let Some(mark) = ours() {
        return Ok(mark);
    }
    let value = format!("{}{AGENT}", name(std::process::id(), token));
    let anew = |program: &Path| {
        let mut arguments = env::args_os();
        Command::new(program)
            .arg0(arguments.next().unwrap_or_default())
            .args(arguments)
            .envs(env.iter().copied())
            .env(MARK_VARIABLE, &value)
            .exec()
    };
    let _replaced_or_removed_meanwhile = env::current_exe().map(|program| anew(&program));
    Err(anew(Path::new("/proc/self/exe")))
}

/// The agent in whose trial a process is that has this value in its environment.
pub(crate) fn agent_of(value: &str) -> Option<i32> {
    let number = value.strip_prefix(PREFIX)?.split('-').next()?;
    number.parse().ok()
}

/// The mark that this process bears already.
pub(crate) fn ours() -> Option<String> {
    // A value that we have inherited is another agent's, with another process id.
    let value = env::var(MARK_VARIABLE).ok()?;
    let mark = value.strip_suffix(AGENT)?;
    let ours = format!("{PREFIX}{}-", std::process::id());
    mark.starts_with(&ours).then(|| mark.to_owned())
}

/// The mark of the agent with this process id.
pub(crate) fn name(pid: u32, token: u64) -> String {
    format!("{PREFIX}{pid}-{token:016x}")
}

/// A token for a new mark.
///
/// # Errors
///
/// The system's.
pub(crate) fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}
