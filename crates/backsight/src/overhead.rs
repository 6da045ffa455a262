//! `backsight overhead`: what each monitor costs, alone and together with the others.

use backsight_catalog::Catalog;
use backsight_model::{MonitorName, StudyName, Time, did_you_mean};
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
    /// The monitors, with a comma between them; `all` that run here
    #[arg(
        id = "monitor-names",
        long = "monitors",
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "all"
    )]
    monitors: Vec<String>,
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
        let (mut question, catalog) = self.plan.question(shared, OverheadVerb::NAME)?;
        let asked = self.monitors(&catalog)?;
        let choices = OverheadChoices {
            monitors: asked.names.clone(),
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

    /// The monitors that were asked for.
    fn monitors(&self, catalog: &Catalog) -> miette::Result<RequestedMonitors> {
        let known = catalog.monitors().names();
        if self.monitors == ["all"] {
            return Ok(RequestedMonitors {
                names: known,
                leave_out_broken: true,
            });
        }
        let find = |name: &String| {
            let found = known.iter().find(|known| known.as_str() == name);
            found.cloned().ok_or_else(|| no_monitor(catalog, name))
        };
        let found = self.monitors.iter().map(find);
        let mut names = found.collect::<miette::Result<Vec<_>>>()?;
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        Ok(RequestedMonitors {
            names,
            leave_out_broken: false,
        })
    }
}

/// What is said where no monitor has such a name.
pub fn no_monitor(catalog: &Catalog, name: &str) -> miette::Report {
    let names = catalog.monitors().names();
    let near = did_you_mean(name, names.iter().map(MonitorName::as_str));
    let help = near.unwrap_or_else(|| "`backsight list monitors` shows what there is".into());
    miette::miette!(help = help, "no monitor `{name}` in the catalogue")
}
