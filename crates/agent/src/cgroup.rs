//! The agent's own cgroup, where the system lets it have one: it counts the CPU of everything that the agent started,
//! and it is the one way to kill what forks faster than it can be looked up.
//!
//! Control group v2 only, no controller needed. Nothing is limited, since that would change what is measured: limits that somebody asks
//! for are kept by groups of their own (`trial_limits.rs`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use backsight_settings::{MachineRoot, OwnCgroups};

/// A cgroup with two leaves: `steps`, where the agent and its children live, and `agent`, where the agent steps aside
/// when all of `steps` is killed.
pub(crate) struct Cgroup {
    root: PathBuf,
    /// Where the agent came from and goes back to.
    origin: PathBuf,
}

const STEPS: &str = "steps";
const ASIDE: &str = "agent";
const MEMBERS: &str = "cgroup.procs";

impl Cgroup {
    /// Makes a cgroup of this name below this process's own, and moves this process into it.
    ///
    /// # Errors
    ///
    /// The system's: no cgroup v2, or not ours to write.
    pub(crate) fn join(name: &str) -> io::Result<Self> {
        let origin = own_folder().ok_or(io::ErrorKind::NotFound)?;
        let cgroup = Self {
            root: origin.join(name),
            origin,
        };
        let joined = fs::create_dir(&cgroup.root)
            .and_then(|()| fs::create_dir(cgroup.root.join(STEPS)))
            .and_then(|()| fs::create_dir(cgroup.root.join(ASIDE)))
            .and_then(|()| enter(&cgroup.root.join(STEPS)));
        if joined.is_err() {
            remove(&cgroup.root, Duration::ZERO);
        }
        joined.map(|()| cgroup)
    }

    /// Where a cgroup of this name would be.
    pub(crate) fn place(name: &str) -> Option<PathBuf> {
        own_folder().map(|origin| origin.join(name))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The processes among the steps, the agent included.
    pub(crate) fn members(&self) -> Vec<i32> {
        members(&self.root.join(STEPS))
    }

    /// CPU seconds used in it since it was made.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        cpu_seconds(&self.root)
    }

    /// Kills everything in it but the agent, all at once. Moving the agent aside and back takes the kernel
    /// milliseconds: for the stubborn only.
    pub(crate) fn kill_steps(&self) -> io::Result<()> {
        enter(&self.root.join(ASIDE))?;
        let killed = fs::write(self.root.join(STEPS).join("cgroup.kill"), "1");
        enter(&self.root.join(STEPS))?;
        killed
    }

    /// Moves the agent back and removes the cgroup, which has to be empty.
    pub(crate) fn leave(&self) {
        // Failing leaves an empty cgroup that the conductor's sweep removes.
        let _ = enter(&self.origin);
        remove(&self.root, Duration::from_secs(1));
    }
}

/// CPU seconds used in a cgroup since it was made.
pub(crate) fn cpu_seconds(cgroup: &Path) -> Option<f64> {
    let stat = fs::read_to_string(cgroup.join("cpu.stat")).ok()?;
    let microseconds: u64 = stat
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec "))?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_micros(microseconds).as_secs_f64())
}

fn enter(cgroup: &Path) -> io::Result<()> {
    fs::write(cgroup.join(MEMBERS), "0")
}

fn members(cgroup: &Path) -> Vec<i32> {
    let text = fs::read_to_string(cgroup.join(MEMBERS)).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect()
}

/// The folder of this process's cgroup v2.
pub(crate) fn own_folder() -> Option<PathBuf> {
    let (_, own) = OwnCgroups::read(&MachineRoot::this_machine()).unified?;
    own.join(MEMBERS).exists().then_some(own)
}

/// Kills all in a cgroup and everything below it, and removes it. For one that nobody of us lives in.
/// Says which processes it found there.
pub(crate) fn destroy(root: &Path, limit: Duration) -> Vec<i32> {
    let found: Vec<i32> = leaves(root).iter().flat_map(|leaf| members(leaf)).collect();
    if fs::write(root.join("cgroup.kill"), "1").is_err() {
        // Before Linux 5.14: one by one, until none is left or time is up.
        let until = Instant::now() + limit;
        while Instant::now() < until {
            let alive: Vec<_> = leaves(root)
                .iter()
                .flat_map(|leaf| members(leaf))
                .filter_map(crate::procs::one)
                .collect();
            if alive
                .iter()
                .filter(|process| crate::procs::kill(process))
                .count()
                == 0
            {
                break;
            }
        }
    }
    remove(root, limit);
    found
}

/// A cgroup and all below it, the deepest first.
fn leaves(root: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            all.extend(leaves(&entry.path()));
        }
    }
    all.push(root.to_owned());
    all
}

/// Removes a cgroup as soon as it is empty, or gives up.
fn remove(root: &Path, limit: Duration) {
    let until = Instant::now() + limit;
    loop {
        for leaf in leaves(root) {
            let _busy_until_its_dead_are_gone = fs::remove_dir(leaf);
        }
        if !root.exists() || Instant::now() >= until {
            return;
        }
        sleep(Duration::from_millis(2));
    }
}
