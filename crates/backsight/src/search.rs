//! `backsight search`: the highest load that meets a goal, for several goals in one search.

use backsight_model::{Benchmark, BenchmarkName, Cell, Percent, StudyName, Time};
use backsight_study::{
    ResolvedPlan, ResolvedSearch, SearchChoices, SearchOptions,
    verbs::{
        Verb as _,
        search::{self, SearchVerb},
    },
};
use std::{num::NonZeroU32, path::PathBuf, process::ExitCode};

use crate::{
    common_options::CommonOptions,
    files, outcome,
    plan_args::{question_of, seed_of},
    session_args::SessionArgs,
    value_parsers::at_least_one,
};

/// Arguments of `search`.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// The plan's file; without one, --use says what is measured
    plan: Option<PathBuf>,
    /// The benchmark, instead of the plan's
    #[arg(id = "use", long = "use", value_name = "NAME")]
    benchmark: Option<BenchmarkName>,
    /// The parameter that is the load; else what the benchmark says
    #[arg(long, value_name = "PARAM")]
    load: Option<String>,
    /// What is looked for: the share that may be lost (0.5%), or a bound of a metric (rtt_p99<2ms); with a comma
    /// between them
    #[arg(
        long = "goal",
        value_name = "GOALS",
        value_delimiter = ',',
        default_value = "0%"
    )]
    goals: Vec<String>,
    /// The metric that says what is lost: what arrived, in a unit of the load, or what was lost, as a share or a count;
    /// `received` and `loss` are those that the benchmark says; else what it says
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// The least load, such as 10M; else what the benchmark says
    #[arg(long, value_name = "LOAD")]
    min: Option<String>,
    /// The greatest load; else what the benchmark says
    #[arg(long, value_name = "LOAD")]
    max: Option<String>,
    /// How near to each other the bounds come, as a share of the load
    #[arg(long, value_name = "SHARE", default_value = "0.5%")]
    width: Percent,
    /// The parameter that is a trial's length; else what the benchmark says, else `seconds` if it has that
    #[arg(long, value_name = "PARAM")]
    duration: Option<String>,
    /// Length of the trials that count in the end, such as 30s; else the plan's
    #[arg(long, value_name = "LENGTH")]
    trial: Option<String>,
    /// Length of the first trials; else 1, or the least that the benchmark takes
    #[arg(long, value_name = "LENGTH")]
    first: Option<String>,
    /// Length of all trials at a load together that makes it a bound; else three times that of one
    #[arg(long, value_name = "LENGTH")]
    sum: Option<String>,
    /// The share of that length which may miss the goal; 0% is as in RFC 2544
    #[arg(long, value_name = "SHARE", default_value = "50%")]
    exceed: Percent,
    /// Where what arrives is a rate: loss up to this can't be told from the error of a clock, and counts as none
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    slack: Percent,
    /// How often everything is searched anew
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one)]
    repeat: NonZeroU32,
    /// The variant of the plan, or the testbed of the lab, that is without the device: what the generator does alone is
    /// searched first
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// How long it may measure; what isn't found then goes on with `resume`, which may as long again
    #[arg(long, value_name = "TIME")]
    budget: Option<Time>,
    /// The lab's file; else the lab.toml beside the plan, else this machine alone
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
    /// Name of the study; else search-1, search-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the order of what is searched; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    session: SessionArgs,
}

impl SearchArgs {
    /// Searches.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        let plan = self.resolve(shared)?;
        let arrangement = plan.arrangement.clone();
        let search_options = self.search_options();
        let resolved = ResolvedSearch::new(&search_options, &arrangement)?;
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            let options = self.session.options()?;
            let choices = |cells: &[Cell], seed| {
                Ok(SearchChoices {
                    policy: resolved.policy(&search_options, cells, seed)?,
                    baseline: self.baseline.clone(),
                    budget: self.budget.map(|time| time.0.as_secs_f64()),
                })
            };
            let name = self.name.clone();
            let outcome = search::begin(plan, choices, &store, name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
        })
    }

    fn search_options(&self) -> SearchOptions {
        SearchOptions {
            load: self.load.clone(),
            goals: self.goals.clone(),
            metric: self.metric.clone(),
            min: self.min.clone(),
            max: self.max.clone(),
            width: self.width,
            duration: self.duration.clone(),
            trial: self.trial.clone(),
            first: self.first.clone(),
            sum: self.sum.clone(),
            exceed: self.exceed,
            slack: self.slack,
            repeat: self.repeat,
            baseline: self.baseline.clone(),
        }
    }

    /// The plan, narrowed to the one benchmark that is searched.
    fn resolve(&self, shared: &CommonOptions) -> miette::Result<ResolvedPlan> {
        let named: Vec<BenchmarkName> = self.benchmark.iter().cloned().collect();
        let asked = (SearchVerb::NAME, self.plan.as_deref());
        let (mut question, catalog) =
            question_of(shared, asked, (&named, None), self.lab.as_deref())?;
        let all = question.arrange(&catalog)?;
        if all.benchmarks.len() > 1 {
            let searchable = |benchmark: &Benchmark| match &self.load {
                Some(load) => benchmark.params.contains_key(load.as_str()),
                None => benchmark.search.is_some(),
            };
            let found: Vec<&BenchmarkName> = all
                .benchmarks
                .iter()
                .filter(|(_, benchmark)| searchable(benchmark))
                .map(|(name, _)| name)
                .collect();
            let [only] = found[..] else {
                let names: Vec<&str> = all.benchmarks.keys().map(|name| name.as_str()).collect();
                return Err(miette::miette!(
                    help = "name the one that is searched: --use NAME",
                    "a search is of one benchmark, and this plan has {}: {}",
                    names.len(),
                    names.join(", ")
                ));
            };
            question.choices.benchmarks = vec![only.clone()];
        }
        let seed = seed_of(&question.plan, self.seed)?;
        let mut plan = ResolvedPlan::new(question, catalog, seed)?;
        search::add_baseline(&mut plan.arrangement, self.baseline.as_deref())?;
        Ok(plan)
    }
}
