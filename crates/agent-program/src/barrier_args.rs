//! `barrier`: called by a benchmark's own program on its host.

use std::process::ExitCode;

/// Arguments of `barrier`.
#[derive(Debug, clap::Args)]
pub struct BarrierArgs {
    /// The barrier's name
    name: String,
    /// Go on when N steps of any role are there, not every host of this one's role
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    of: Option<u32>,
}

impl BarrierArgs {
    /// Waits; the status says whether all went on.
    pub fn execute(self) -> ExitCode {
        backsight_agent::wait_at_barrier(&self.name, self.of)
    }
}
