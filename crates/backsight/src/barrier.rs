//! `backsight barrier`: called by a benchmark's own program on its host.

/// Arguments of `barrier`.
#[derive(Debug, clap::Args)]
pub struct BarrierArgs {
    /// The barrier's name
    pub name: String,
    /// Go on when N steps of any role are there, not every host of this one's role
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub of: Option<u32>,
}
