//! Who runs a study, and for which job: a process, told apart from a later one of the same number by when it began.

use std::fs;

/// A lease that wasn't renewed for so long is over, in seconds: five renewals may be lost.
const STALE_AFTER: f64 = 30.0;

/// The variable that tells a process the number of the job that it is run for.
pub const JOB_VARIABLE: &str = "BACKSIGHT_JOB";

/// The variable that tells it when the worker that runs it took the job ([`backsight_model::Job::began`]).
pub const JOB_BEGAN_VARIABLE: &str = "BACKSIGHT_JOB_BEGAN";

/// The number of the job that this process is run for, if it is.
pub(crate) fn job_of_this_process() -> Option<i64> {
    std::env::var(JOB_VARIABLE).ok()?.parse().ok()
}

/// When the worker that runs this process took its job.
pub(crate) fn job_began() -> Option<String> {
    std::env::var(JOB_BEGAN_VARIABLE).ok()
}

/// A process, for as long as the machine is up and beyond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    /// Its number.
    pub pid: u32,
    /// The machine's boot in which it began.
    pub boot: String,
    /// When it began, in clock ticks since that boot.
    pub start: u64,
}

impl Runner {
    /// This process. `None` where the system doesn't tell (no /proc).
    pub fn this_process() -> Option<Self> {
        let pid = std::process::id();
        Some(Self {
            pid,
            boot: this_boot()?,
            start: start_of(pid)?,
        })
    }

    /// Whether it is still there. One of another machine is for as long as it renews its lease.
    pub fn is_there(&self, lease: Option<&RunnerLease>) -> bool {
        match self.is_of_this_machine() {
            true => self.is_alive(),
            false => lease.is_some_and(|lease| lease.is_fresh),
        }
    }

    /// Whether it began in this boot of this machine.
    pub fn is_of_this_machine(&self) -> bool {
        this_boot().as_deref() == Some(&self.boot)
    }

    /// Whether it is still there, by this machine's own table of processes. A process that only waits to be reaped isn't.
    pub fn is_alive(&self) -> bool {
        this_boot().as_deref() == Some(&self.boot) && start_of(self.pid) == Some(self.start)
    }
}

/// What a process of some machine says of itself in a database that several share.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerLease {
    /// Its machine's name.
    pub host: String,
    /// Whether it said so lately, by the database's clock: then it can be believed to be there.
    pub is_fresh: bool,
}

impl RunnerLease {
    /// What a process said so many seconds ago.
    pub(crate) fn new(host: String, unseen: f64) -> Self {
        Self {
            host,
            is_fresh: unseen < STALE_AFTER,
        }
    }
}

/// What tells this machine from others that share a store: its name and its id. Two that are equal have one boot at a time.
pub fn this_machine() -> String {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let name = rustix::system::uname();
    format!("{}/{}", name.nodename().to_string_lossy(), id.trim())
}

fn this_boot() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
}

/// Field 22 of /proc/PID/stat; fields are counted after the name, which may itself hold spaces and brackets.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn this_process_is_alive_and_an_older_one_of_its_number_is_not() {
        let this = Runner::this_process().unwrap();
        assert!(this.is_alive());
        let older = Runner {
            start: this.start - 1,
            ..this.clone()
        };
        let before_the_boot = Runner {
            boot: "another".into(),
            ..this
        };
        assert!(!older.is_alive() && !before_the_boot.is_alive());
    }

    #[test]
    fn a_killed_process_is_gone_even_before_its_parent_has_reaped_it() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let runner = Runner {
            pid: child.id(),
            boot: this_boot().unwrap(),
            start: start_of(child.id()).unwrap(),
        };
        assert!(runner.is_alive());
        child.kill().unwrap();
        // WNOWAIT: wait for its end, and leave it unreaped.
        rustix::process::waitid(
            rustix::process::WaitId::Pid(rustix::process::Pid::from_child(&child)),
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
        )
        .unwrap();
        assert!(!runner.is_alive());
        child.wait().unwrap();
    }
}
