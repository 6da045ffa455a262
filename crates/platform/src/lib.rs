//! What agents and settings ask of the operating system and what each system does in a way of its own: processes and their ends,
//! signals, mounts, identity, and how exactly a thread wakes.
//!
//! Each system has a module with the same functions, chosen here and nowhere else. What only Linux has doesn't belong here:
//! whoever offers it asks [`needs_linux`] first.
//!
//! The side of FreeBSD (13 or later) is compiled by `make check`, and has never run.
//!
//! ```
//! use backsight_platform::{ProcessHandle, process};
//!
//! let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
//! let pid = child.id().cast_signed();
//! assert!(process(pid).is_some_and(|it| it.parent == std::process::id().cast_signed()));
//! ProcessHandle::open(pid)?.kill()?;
//! assert!(!child.wait()?.success());
//! # Ok::<(), std::io::Error>(())
//! ```

#[cfg(target_os = "freebsd")]
#[path = "freebsd.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;

use std::path::PathBuf;

pub use system::*;

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its parent's number.
    pub parent: i32,
    /// The number of its process group.
    pub group: i32,
    /// Whether it has ended and was not waited for.
    pub zombie: bool,
    /// When it began, in ticks since the boot: tells it from a later one with the same number.
    pub start_ticks: u64,
    /// Processor time that it and the children that it waited for have used, in ticks of `sysconf(_SC_CLK_TCK)`.
    pub ticks: u64,
    /// The kernel's short name for it.
    pub name: String,
}

/// CPU seconds of the whole machine since its boot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineCpuTime {
    /// Programs.
    pub user: f64,
    /// The kernel, for programs.
    pub system: f64,
    /// Interrupts.
    pub interrupts: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Nothing to do.
    pub idle: f64,
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mount {
    /// The kernel's number for it.
    pub id: u64,
    /// What of its file system it shows: `/` for all of it.
    pub root: PathBuf,
    /// Where it is.
    pub point: PathBuf,
    /// The kind of its file system.
    pub kind: String,
}

/// Something was asked of a host that only Linux has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} needs Linux: this host runs {system}")]
pub struct NeedsLinux {
    what: String,
    system: String,
}

/// Refuses what only Linux has.
///
/// # Errors
/// This isn't Linux.
pub fn needs_linux(what: &str) -> Result<(), NeedsLinux> {
    if cfg!(target_os = "linux") {
        return Ok(());
    }
    Err(NeedsLinux {
        what: what.to_owned(),
        system: rustix::system::uname()
            .sysname()
            .to_string_lossy()
            .into_owned(),
    })
}
