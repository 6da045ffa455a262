//! `backsight step`: versions of a target along its history.

use backsight_model::{Every, LayoutKind, Lookback, Range, StudyName};
use backsight_policy::StepOrder;
use backsight_study::{
    BuildContext, HistoryStudy, RepeatMode, Repeats, RequestedRepeats, ResolvedPlan, StepChoices,
    verbs::{Verb as _, step::StepVerb},
};
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{
    common_options::CommonOptions, files, open_target::open_target, outcome, plan_args::PlanArgs,
    session_args::SessionArgs,
};

/// A level at which measuring is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// Once more on the same boot.
    Again,
    /// On a new boot of the same build.
    Reboot,
    /// On a build of the same version whose parts lie elsewhere in memory.
    Relink,
}

/// When it is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Until {
    /// When two passes over the versions have seen the same change points.
    Stable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Order {
    /// Both ends first, then the middles of what is between.
    #[default]
    Halving,
    /// From the oldest to the newest.
    Forward,
    /// From the newest to the oldest.
    Backward,
}

impl From<Mode> for RepeatMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Again => Self::Again,
            Mode::Reboot => Self::Reboot,
            Mode::Relink => Self::Relink,
        }
    }
}

impl From<Order> for StepOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Halving => Self::Halving,
            Order::Forward => Self::Forward,
            Order::Backward => Self::Backward,
        }
    }
}

/// Arguments of `step`.
#[derive(Debug, clap::Args)]
pub struct StepArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "like")]
    target: Option<String>,
    /// The oldest version: a version, a commit, a tag or a date
    #[arg(long, value_name = "VERSION", requires = "to", conflicts_with = "last")]
    from: Option<String>,
    /// The newest version
    #[arg(long, value_name = "VERSION", requires = "from")]
    to: Option<String>,
    /// The newest part of the history, and the version before it: 1w, 3d, 2mo
    #[arg(long, value_name = "TIME")]
    last: Option<Lookback>,
    /// The step: all, release, hour, day, week, month, 6h, 2w, "10 commits"
    #[arg(long, value_name = "STEP", default_value = "all")]
    every: Every,
    /// What is repeated: again, reboot, relink; with a comma between them
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MODES")]
    modes: Vec<Mode>,
    /// How often each of the modes; or for each its own: again=3,reboot=3,relink=8. The plan's rounds unless said
    #[arg(long, value_name = "N", value_delimiter = ',')]
    repeat: Vec<String>,
    /// The layouts that relink makes
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "LAYOUTS",
        default_value = "random"
    )]
    layouts: Vec<LayoutKind>,
    /// The order of the first pass over the versions; later ones are shuffled
    #[arg(long, value_enum, default_value_t)]
    order: Order,
    /// Measure a neighbour in place of a version that doesn't build or boot
    #[arg(long)]
    skip_broken: bool,
    /// End early
    #[arg(long, value_enum, value_name = "WHEN")]
    until: Option<Until>,
    /// Try again what didn't build or boot in an earlier study
    #[arg(long)]
    retry: bool,
    /// Build nothing while other machines measure
    #[arg(long)]
    no_builds_ahead: bool,
    /// Name of the study; else step-1, step-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the orders; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    session: SessionArgs,
}

impl StepArgs {
    /// Measures what isn't known yet.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        let resolved = self.plan.resolve(shared, StepVerb::NAME, true, self.seed);
        let plan = crate::block_on(resolved)?;
        crate::block_on(async {
            let opened = open_target(shared, self.target.as_deref(), &self.plan).await?;
            let repeats = RequestedRepeats {
                modes: self.modes.iter().map(|mode| (*mode).into()).collect(),
                numbers: &self.repeat,
                layouts: &self.layouts,
                rounds: plan.arrangement.rounds,
            };
            let repeats = match self.repeats_liked(&plan) {
                Some(liked) => liked,
                None => repeats.of_target(&opened.target)?,
            };
            let versions = opened.versions_to_step(self.range()?, self.every, self.skip_broken);
            let (versions, wanted) = versions.await?;
            let choices = StepChoices {
                folder: opened.folder.clone(),
                wanted,
                repeats,
                order: self.order.into(),
                skip_broken: self.skip_broken,
                until_stable: self.until == Some(Until::Stable),
                retry: self.retry,
                builds_ahead: !self.no_builds_ahead,
            };
            let plan = plan.with_verb(choices)?;
            let store = files::open_store(shared).await?;
            // A change that was checked is on the line once it is merged; what is asked for beside the line is a line of its own.
            let ids = versions.iter().map(|version| version.id.clone()).collect();
            let (on_line, _) = opened.divided_by_line(ids).await?;
            let placed = store.place_versions(&opened.target.name, &[], &on_line);
            placed.await.into_diagnostic()?;
            let options = self.session.options()?;
            let site = BuildContext::open(opened, versions, Vec::new(), &options.reach).await?;
            let study = HistoryStudy::<StepVerb>::new(plan);
            let outcome = study.begin(&store, site, self.name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
        })
    }

    /// How often the study that is measured like measured each version, unless something else is asked for.
    fn repeats_liked(&self, plan: &ResolvedPlan) -> Option<Repeats> {
        let asks =
            !self.modes.is_empty() || !self.repeat.is_empty() || self.plan.rounds().is_some();
        let choices = plan.question.choices.of_verb::<StepVerb>().ok();
        choices
            .filter(|_| !asks)
            .map(|choices| choices.repeats.clone())
    }

    fn range(&self) -> miette::Result<Range> {
        match (&self.from, &self.to, self.last) {
            (Some(from), Some(to), _) => Ok(Range::Between {
                from: from.clone(),
                to: to.clone(),
            }),
            (_, _, Some(back)) => Ok(Range::Last(back)),
            _ => Err(miette::miette!(
                help = "--from VERSION --to VERSION, both included; or the newest part: --last 2w",
                "it isn't said which versions are to be measured"
            )),
        }
    }
}
