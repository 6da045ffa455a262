//! `backsight explain`: what goes along with the changes between studies, variants or versions.

use backsight_policy::SplitKey;
use backsight_study::{ExplainSelection, explain};
use std::process::ExitCode;

use crate::{common_options::CommonOptions, files, output::Output};

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// Studies, by name or number, the first is the baseline; or one study: a bisection, a try, a step or parts of a run
    #[arg(required = true, value_name = "STUDY")]
    studies: Vec<String>,
    /// Of one study its parts: `variant`, or the name of a parameter
    #[arg(long, value_name = "WHAT")]
    by: Option<SplitKey>,
    /// Of one study along a history: the change that this version is the first to have
    #[arg(long, value_name = "VERSION", conflicts_with = "by")]
    at: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl ExplainArgs {
    /// Explains them.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        if self.studies.len() > 1 && (self.by.is_some() || self.at.is_some()) {
            return Err(miette::miette!(
                help = "name one study",
                "--by and --at are about the parts and versions of one study, and {} were named",
                self.studies.len()
            ));
        }
        let selection = ExplainSelection {
            by: self.by,
            at: self.at,
        };
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let explained = explain(&store, &self.studies, &selection).await?;
            self.output.render(&explained)?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
