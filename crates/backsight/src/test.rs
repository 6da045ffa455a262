//! `backsight test`: runs the suites of a plan and says which tests aren't in order.

use backsight_model::StudyName;
use backsight_study::{
    TestChoices,
    verbs::{
        Verb as _,
        test::{self, TestVerb},
    },
};
use std::{num::NonZeroU32, process::ExitCode};

use crate::{
    common_options::CommonOptions, files, outcome, plan_args::PlanArgs, session_args::SessionArgs,
};

/// Arguments of `test`.
#[derive(Debug, clap::Args)]
pub struct TestArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// Run a suite again, so often at most, while each of its runs had a failure or broke off: a test that passes then is flaky, not failed
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=1000))]
    retries: u32,
    /// Name of the study; else test-1, test-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the order of suites within rounds; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    session: SessionArgs,
}

impl TestArgs {
    /// Runs them.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        // A plan's rounds are for measurements, whose spread they show.
        let once = self.plan.with_usual_rounds(NonZeroU32::MIN);
        let plan = crate::block_on(once.resolve(shared, TestVerb::NAME, false, self.seed))?;
        let plan = plan.with_verb(TestChoices {
            retries: self.retries,
        })?;
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            let options = self.session.options()?;
            let outcome = test::begin(plan, &store, self.name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
        })
    }
}
