//! `backsight monitor`: a sampler of ours, as the definitions of monitors start it.

use backsight_model::Time;
use backsight_monitor::{RecordError, Sampler, record, sampler, samplers};
use std::{io::ErrorKind, process::ExitCode};

/// Arguments of `monitor`.
#[derive(Debug, clap::Args)]
pub struct Monitor {
    /// Which sampler
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(samplers().iter().map(|s| s.name)))]
    name: String,
    /// Time between two samples
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Time,
    /// How many samples; without end unless said
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

impl Monitor {
    /// Samples until it is stopped.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let unknown = || miette::miette!("there is no sampler `{}`", self.name);
        let sampler: &Sampler = sampler(&self.name).ok_or_else(unknown)?;
        // A line is written whole: a monitor that is killed leaves no half of a sample.
        let mut out = std::io::stdout().lock();
        match record(sampler, self.interval.0, self.count, &mut out) {
            // The reader has seen enough.
            Err(RecordError::Unwritten(error)) if error.kind() == ErrorKind::BrokenPipe => {}
            recorded => recorded.map_err(miette::Report::msg)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
