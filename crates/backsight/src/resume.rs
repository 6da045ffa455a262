//! `backsight resume`: goes on with a study where it stopped, measuring nothing twice.

use miette::IntoDiagnostic as _;
use std::{num::NonZeroU32, process::ExitCode};

use crate::{
    common_options::CommonOptions, files, outcome, session_args::SessionArgs,
    value_parsers::at_least_one,
};

/// Arguments of `resume`.
#[derive(Debug, clap::Args)]
pub struct ResumeArgs {
    /// The study: its name or its number
    study: String,
    /// Add so many rounds to it, also if it is finished
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    rounds: Option<NonZeroU32>,
    #[command(flatten)]
    session: SessionArgs,
}

impl ResumeArgs {
    /// Goes on with a study for so many rounds more.
    pub fn with_more(study: &str, rounds: NonZeroU32, session: SessionArgs) -> Self {
        Self {
            study: study.to_owned(),
            rounds: Some(rounds),
            session,
        }
    }

    /// Goes on.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.study).await.into_diagnostic()?;
            let options = self.session.options()?;
            let resumed = backsight_study::resume(&store, study, self.rounds, &options).await?;
            outcome::show(&resumed, &store, &self.session.outcome_options()).await
        })
    }
}
