//! Monitors that only the command has, since they take its tracer or its profiler: what they are asked for.

use backsight_agent::{MonitoredProcesses, monitored_processes};

/// The monitor of system calls.
pub(crate) const SYSCALLS: &str = "syscalls";
/// The monitor of functions.
pub(crate) const PROFILE: &str = "profile";

/// A monitor that only the command has, with what it is asked for.
#[derive(Debug)]
pub enum TracingMonitor {
    /// Counts system calls.
    Syscalls,
    /// Samples the functions that are running.
    Profile(ProfileMonitorArgs),
}

impl TracingMonitor {
    /// Its name in plans.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Syscalls => SYSCALLS,
            Self::Profile(_) => PROFILE,
        }
    }

    /// The processes of the trial that it is of.
    ///
    /// # Errors
    /// No agent started it.
    pub fn trial(&self) -> miette::Result<MonitoredProcesses> {
        let (name, option) = match self {
            Self::Syscalls => (SYSCALLS, "-c"),
            Self::Profile(_) => (PROFILE, "--profile FILE"),
        };
        monitored_processes().ok_or_else(|| {
            miette::miette!(
                help = format!(
                    "a plan starts it: monitors = [\"{name}\"]; for a command there is `backsight trace {option}`"
                ),
                "no trial is here to be watched"
            )
        })
    }
}

/// What is profiled.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "profile-options")]
pub struct ProfileMonitorArgs {
    /// Samples a second and processor, of `profile`; 99 unless said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub frequency: Option<u32>,
    /// Where time goes while threads wait, of `profile`
    #[arg(long, conflicts_with = "frequency")]
    pub off_cpu: bool,
    /// Everything that runs on the machine, of `profile`
    #[arg(long)]
    pub machine: bool,
}

impl ProfileMonitorArgs {
    /// The monitor of this name, if it is one of those.
    ///
    /// # Errors
    /// A profile's options for something else.
    pub(crate) fn monitor(&self, name: &str) -> miette::Result<Option<TracingMonitor>> {
        let of_profile = self.frequency.is_some() || self.off_cpu || self.machine;
        miette::ensure!(
            name == PROFILE || !of_profile,
            "`{name}` is no profile: it has no --frequency, --off-cpu or --machine"
        );
        Ok(match name {
            SYSCALLS => Some(TracingMonitor::Syscalls),
            PROFILE => Some(TracingMonitor::Profile(self.clone())),
            _ => None,
        })
    }
}
