//! `backsight bisect`: the changes along a history that made a metric worse or better, each with its size and how sure it
//! is; and whether taking them back undoes them.

use backsight_model::{Every, StudyName, Time, Version, shell_line};
use backsight_stats::Confidence;
use backsight_study::{
    BisectChoices, BuildContext, HistoryChoices, HistoryStudy, OpenTarget, ResolvedPlan,
    StudyEnding, StudyOutcome, TestBisectChoices, VerdictReport,
    verbs::{
        Verb as _,
        bisect::{BisectVerb, Verification},
        test_bisect::{self, TestBisectVerb},
    },
};
use std::{num::NonZeroU32, process::ExitCode};

use crate::{
    common_options::CommonOptions,
    exit_status::ExitStatus,
    files,
    open_target::open_target,
    outcome,
    plan_args::PlanArgs,
    session_args::SessionArgs,
    value_parsers::{at_least_one, confidence, percent},
};

/// Arguments of `bisect`.
#[derive(Debug, clap::Args)]
pub struct BisectArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "like")]
    target: Option<String>,
    /// The oldest version: a version, a commit, a tag or a date
    #[arg(long, value_name = "VERSION")]
    good: String,
    /// The newest version
    #[arg(long, value_name = "VERSION", default_value = "HEAD")]
    bad: String,
    /// The metric: `time` or `work.time`. Needn't be said where there is only one
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Find the change that broke or mended this test of a suite, instead of changes of a metric; also where it fails only sometimes
    #[arg(long, value_name = "TEST", conflicts_with_all = ["metric", "resolution", "cancelling", "trials", "relink", "parallel"])]
    test: Option<String>,
    /// The cell, as `show` names it, where several have the metric
    #[arg(long, value_name = "CELL")]
    cell: Option<String>,
    /// Which versions are looked at: all, release, day, "10 commits"
    #[arg(long, value_name = "STEP", default_value = "all")]
    every: Every,
    /// How sure the answer is to be, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    confidence: Confidence,
    /// What builds, boots and trials may take together
    #[arg(long, value_name = "TIME")]
    budget: Option<Time>,
    /// A change is known closely enough when it is one of so many versions
    #[arg(long, value_name = "VERSIONS", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    resolution: u32,
    /// Smaller changes than this don't count. Unless said, a change that shows counts however small it is, as far as the noise
    /// lets see it at a fair price; and where none shows, the search ends when changes of 1 % and more are ruled out
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    smallest: Option<f64>,
    /// Look for changes that cancel each other as well
    #[arg(long)]
    cancelling: bool,
    /// Trials of a measurement, of which the mean is taken; a measurement is one boot where the target boots. Unless said,
    /// one; or the best of as many as tells most, where the noise turns out to be on one side only
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    trials: Option<NonZeroU32>,
    /// Sample so many layouts in memory of each version: the answer holds for the source, not for one layout
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    relink: Option<u32>,
    /// Measure on so many testbeds of the lab at once: the plan's own and others that have the same roles on hosts of the
    /// same kinds. What their machines differ by isn't taken for a change
    #[arg(long, value_name = "TESTBEDS", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    parallel: u32,
    /// Name the changes, and don't measure again whether taking them back undoes them; which takes at most as long again
    #[arg(long)]
    no_verify: bool,
    /// Try again what didn't build or boot in an earlier study
    #[arg(long)]
    retry: bool,
    /// Build nothing while other machines measure whether taking them back undoes them
    #[arg(long)]
    no_builds_ahead: bool,
    /// Name of the study; else bisect-1, bisect-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of what is drawn; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    session: SessionArgs,
}

impl BisectArgs {
    /// Measures until the changes are known.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        let resolved = self.plan.resolve(shared, BisectVerb::NAME, true, self.seed);
        let plan = crate::block_on(resolved)?;
        if let Some(test) = self.test.clone() {
            return self.bisect_test(shared, plan, test);
        }
        let metric = plan.chosen_metric(self.metric.as_deref())?;
        let more_testbeds = plan.more_testbeds(self.parallel as usize)?;
        crate::block_on(async {
            let (opened, versions) = self.open(shared).await?;
            let layouts = opened.sampled_layouts(self.relink)?;
            let plan = plan.with_verb(BisectChoices {
                history: HistoryChoices {
                    folder: opened.folder.clone(),
                    layouts,
                    retry: self.retry,
                    builds_ahead: false,
                    more_testbeds,
                },
                metric,
                cell: self.cell.clone(),
                trials: self.trials.map(NonZeroU32::get),
                budget: self.budget.map(|budget| budget.0),
                confidence: self.confidence.share(),
                resolution: self.resolution as usize,
                smallest: self.smallest.map(|percent| percent / 100.0),
                cancelling: self.cancelling,
                command: command_line(),
            })?;
            let store = files::open_store(shared).await?;
            let options = self.session.options()?;
            let site =
                BuildContext::open(opened.clone(), versions, Vec::new(), &options.reach).await?;
            let study = HistoryStudy::<BisectVerb>::new(plan.clone());
            let outcome = study.begin(&store, site, self.name, &options).await?;
            let status = outcome::show(&outcome, &store, &self.session.outcome_options()).await?;
            if let StudyOutcome::Ended(ended) = &outcome
                && let VerdictReport::Bisect(report) = &ended.verdict
                && !self.no_verify
            {
                let verification = Verification {
                    store: &store,
                    plan: &plan,
                    target: &opened,
                    builds_ahead: !self.no_builds_ahead,
                    options: &options,
                };
                let told = self.session.part_options();
                let show = async |outcome| {
                    outcome::show(&outcome, &store, &told).await?;
                    Ok(())
                };
                if verification.run(report, show).await? == StudyEnding::Interrupted {
                    return Ok(ExitStatus::Interrupted.into());
                }
            }
            Ok(status)
        })
    }

    /// The target, and its versions between the ends.
    async fn open(&self, shared: &CommonOptions) -> miette::Result<(OpenTarget, Vec<Version>)> {
        let opened = open_target(shared, self.target.as_deref(), &self.plan).await?;
        let ends = (self.good.clone(), self.bad.clone());
        let versions = opened.versions_to_bisect(ends.0, ends.1, self.every.clone());
        let versions = versions.await?;
        Ok((opened, versions))
    }

    /// Runs a test until it is known which change broke or mended it.
    fn bisect_test(
        self,
        shared: &CommonOptions,
        plan: ResolvedPlan,
        test: String,
    ) -> miette::Result<ExitCode> {
        let plan = test_bisect::with_test(plan, &test)?;
        crate::block_on(async {
            let (opened, versions) = self.open(shared).await?;
            let plan = plan.with_verb(TestBisectChoices {
                history: HistoryChoices {
                    folder: opened.folder.clone(),
                    layouts: opened.sampled_layouts(None)?,
                    retry: self.retry,
                    builds_ahead: false,
                    more_testbeds: Vec::new(),
                },
                test,
                cell: self.cell.clone(),
                budget: self.budget.map(|budget| budget.0),
                confidence: self.confidence.share(),
                smallest: self.smallest.map(|percent| percent / 100.0),
                command: command_line(),
            })?;
            let store = files::open_store(shared).await?;
            let options = self.session.options()?;
            let site =
                BuildContext::open(opened.clone(), versions, Vec::new(), &options.reach).await?;
            let study = HistoryStudy::<TestBisectVerb>::new(plan);
            let outcome = study.begin(&store, site, self.name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
        })
    }
}

/// The command line as a shell would take it again.
fn command_line() -> String {
    format!("backsight {}", shell_line(std::env::args().skip(1)))
}
