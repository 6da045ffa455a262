//! `monitor`: a sampler of ours, or the monitor of system calls, as the definitions of monitors start it.

use backsight_model::Time;
use backsight_monitor::{RecordError, Sampler, record, sampler, samplers};
use backsight_platform::needs_linux;
use miette::IntoDiagnostic as _;
use std::{io::ErrorKind, process::ExitCode, time::Duration};

/// The monitor of system calls.
pub const SYSCALLS: &str = "syscalls";
/// Time between two samples unless somebody says otherwise.
const USUAL_INTERVAL: Duration = Duration::from_secs(1);

/// Arguments of `monitor`.
#[derive(Debug, clap::Args)]
pub struct MonitorArgs {
    /// Which sampler; or `syscalls`, which counts the system calls of a trial's steps until it is stopped
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(names()))]
    name: String,
    /// Time between two samples; 1s unless said
    #[arg(long, value_name = "TIME")]
    interval: Option<Time>,
    /// How many samples; without end unless said
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

fn names() -> impl Iterator<Item = &'static str> {
    let samplers = samplers().iter().map(|sampler| sampler.name);
    samplers.chain([SYSCALLS])
}

impl MonitorArgs {
    /// Samples until it is stopped; `count_syscalls` does so for system calls.
    ///
    /// # Errors
    /// It can't sample here, or what it samples can't be written.
    pub fn execute(
        self,
        count_syscalls: impl FnOnce() -> miette::Result<ExitCode>,
    ) -> miette::Result<ExitCode> {
        if self.name == SYSCALLS {
            if self.interval.is_some() || self.count.is_some() {
                return Err(miette::miette!(
                    "`{}` has no samples: it counts all the time",
                    self.name
                ));
            }
            return count_syscalls();
        }
        needs_linux(&format!("the monitor `{}`", self.name)).into_diagnostic()?;
        let interval = self.interval.map_or(USUAL_INTERVAL, |time| time.0);
        let unknown = || miette::miette!("there is no sampler `{}`", self.name);
        let sampler: &Sampler = sampler(&self.name).ok_or_else(unknown)?;
        // A line is written whole: a monitor that is killed leaves no half of a sample.
        let mut out = std::io::stdout().lock();
        match record(sampler, interval, self.count, &mut out) {
            // The reader has seen enough.
            Err(RecordError::Unwritten(error)) if error.kind() == ErrorKind::BrokenPipe => {}
            recorded => recorded.map_err(miette::Report::msg)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
