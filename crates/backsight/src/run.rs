//! `backsight run`: every cell of a plan, round by round.

use backsight_model::{StudyName, Time};
use backsight_stats::Confidence;
use backsight_study::{
    RunChoices, UntilChoices,
    verbs::{
        Verb as _,
        run::{self, RunVerb},
    },
};
use std::{num::NonZeroU32, path::Path, process::ExitCode};

use crate::{
    common_options::CommonOptions,
    files, outcome,
    plan_args::PlanArgs,
    resume::ResumeArgs,
    session_args::SessionArgs,
    value_parsers::{at_least_one, percent},
};

/// Rounds without end: the budget comes before.
const MOST_ROUNDS: u32 = 10_000;

/// Until when rounds are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Until {
    /// Every primary metric of every variant has its verdict against the first variant
    Decided,
}

/// How long `run` goes on, if not for a number of rounds.
#[derive(Debug, clap::Args)]
pub struct UntilArgs {
    /// Add rounds until every primary metric of every variant is better, worse or no different than in the first variant;
    /// then --rounds is how many at most
    #[arg(long, value_enum, value_name = "decided")]
    until: Option<Until>,
    /// With --until: what the trials may take together
    #[arg(long, value_name = "TIME", default_value = "30m", requires = "until")]
    budget: Time,
    /// With --until: a difference within this is no matter
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent, requires = "until")]
    margin: f64,
}

impl UntilArgs {
    /// The same for a study; nothing where it was to make a number of rounds.
    pub fn choices(&self, rounds: Option<NonZeroU32>) -> Option<UntilChoices> {
        self.until.map(|Until::Decided| UntilChoices {
            budget: Some(self.budget.0),
            most: rounds.map_or(MOST_ROUNDS, NonZeroU32::get),
            margin_percent: self.margin,
            confidence: Confidence::USUAL.share(),
        })
    }
}

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    until: UntilArgs,
    /// Measure on so many testbeds of the lab at once: the plan's own and others that have the same roles on hosts of the same
    /// kinds. Each round measures a cell on one of them, and the next round on the next one
    #[arg(long, value_name = "TESTBEDS", default_value = "1", conflicts_with = "until", value_parser = clap::value_parser!(u32).range(1..=64))]
    parallel: u32,
    /// Add so many rounds to a study that was measured before: `backsight run --more 5 STUDY`
    #[arg(long, value_name = "N", conflicts_with_all = ["use", "rounds", "lab", "until", "parallel", "name", "seed"], value_parser = at_least_one)]
    more: Option<NonZeroU32>,
    /// Name of the result set; else run-1, run-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the order within rounds; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    session: SessionArgs,
}

impl RunArgs {
    /// Measures it.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        if let Some(more) = self.more {
            let study = self.plan.plan().and_then(Path::to_str).ok_or_else(|| {
                miette::miette!(
                    help = format!(
                        "backsight run --more {more} STUDY; `backsight studies` lists them"
                    ),
                    "rounds are to be added to which study?"
                )
            })?;
            return ResumeArgs::with_more(study, more, self.session).execute(shared);
        }
        let resolved = self.plan.resolve(shared, RunVerb::NAME, false, self.seed);
        let plan = crate::block_on(resolved)?;
        let choices = RunChoices {
            from: None,
            until: self.until.choices(self.plan.rounds()),
            more_testbeds: plan.more_testbeds(self.parallel as usize)?,
        };
        let plan = plan.with_verb(choices)?;
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            let options = self.session.options()?;
            let outcome = run::begin(plan, &store, self.name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
        })
    }
}
