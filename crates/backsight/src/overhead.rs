//! `backsight overhead`: what each monitor costs, alone and together with the others.

use backsight_model::{StudyName, Time};
use backsight_study::{
    OverheadChoices, ResolvedPlan,
    verbs::{
        Verb as _,
        overhead::{self, OverheadVerb, RequestedMonitors},
    },
};
use std::process::ExitCode;

use crate::{
    common_options::CommonOptions, files, outcome, plan_args::PlanArgs, session_args::SessionArgs,
};

/// Arguments of `overhead`.
#[derive(Debug, clap::Args)]
pub struct OverheadArgs {
    // Its --rounds fixes the number of rounds beforehand.
    #[command(flatten)]
    plan: PlanArgs,
    /// What the trials may take in all; else until every cost is decided, 32 rounds at most
    #[arg(long, value_name = "TIME")]
    budget: Option<Time>,
    /// A cost within this is no matter
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = crate::value_parsers::percent)]
    margin: f64,
    /// Name of the study; else overhead-1, overhead-2, …
    #[arg(long)]
    name: Option<StudyName>,
    #[command(flatten)]
    session: SessionArgs,
}

impl OverheadArgs {
    /// Measures it.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        let asked = self.plan.question(shared, OverheadVerb::NAME);
        let (mut question, catalog) = crate::block_on(asked)?;
        if question.choices.monitors.is_empty() {
            question.choices.monitors = catalog.monitors().names();
        }
        let asked = RequestedMonitors {
            names: question.choices.monitors.clone(),
            leave_out_broken: !self.plan.names_monitors(),
        };
        let choices = OverheadChoices {
            budget: self.budget.map(|time| time.0.as_secs_f64()),
            margin_percent: self.margin,
            looked: 0,
        };
        question.choices.verb = choices.into();
        let plan = ResolvedPlan::new(question, catalog, 0)?;
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            let options = self.session.options()?;
            let outcome = overhead::begin(plan, asked, &store, self.name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
        })
    }
}
