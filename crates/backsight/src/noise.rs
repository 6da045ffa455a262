//! `backsight noise`: how much a benchmark varies on the same boot, another boot, another layout; and how many repeats of what
//! to buy.

use backsight_model::{StudyName, Time};
use backsight_study::{
    BuildContext, HistoryChoices, HistoryStudy, NoiseChoices, NoiseLevel, NoiseRepeats,
    resolve_version,
    verbs::{
        Verb as _,
        noise::{self, NoiseVerb},
    },
};
use std::process::ExitCode;

use crate::{
    common_options::CommonOptions,
    files,
    open_target::{open_target, target_liked},
    outcome,
    plan_args::PlanArgs,
    session_args::SessionArgs,
    value_parsers::percent,
};

/// A level at which something is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Repeated {
    /// The trial, on the same boot.
    Trial,
    /// The boot, of the same build.
    Boot,
    /// The build, with its parts elsewhere in memory.
    Layout,
}

impl From<Repeated> for NoiseLevel {
    fn from(level: Repeated) -> Self {
        match level {
            Repeated::Trial => Self::Trial,
            Repeated::Boot => Self::Boot,
            Repeated::Layout => Self::Layout,
        }
    }
}

/// Arguments of `noise`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("along").args(["target", "like"]).multiple(true))]
pub struct NoiseArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there. Without one the software is
    /// measured as it is found
    #[arg(long, value_name = "NAME|FILE")]
    target: Option<String>,
    /// The version that is measured: a version, a commit, a tag or a date
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "HEAD",
        requires = "along"
    )]
    at: String,
    /// What is repeated: trial, boot, layout; with a comma between them. All that there is here unless said
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LEVELS")]
    levels: Vec<Repeated>,
    /// What builds, boots and trials may take together
    #[arg(long, value_name = "TIME", default_value = "30m")]
    budget: Time,
    /// The difference between two versions that you want to see
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    precision: f64,
    /// Build nothing while other machines measure
    #[arg(long)]
    no_builds_ahead: bool,
    /// Name of the study; else noise-1, noise-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the orders; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    session: SessionArgs,
}

impl NoiseArgs {
    /// Measures, and says how much it varies.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        let (plan, opened) = crate::block_on(async {
            let opened = match &self.target {
                Some(_) => Some(open_target(shared, self.target.as_deref(), &self.plan).await?),
                None => target_liked(shared, &self.plan).await?,
            };
            let along_history = opened.is_some();
            let resolved = self
                .plan
                .resolve(shared, NoiseVerb::NAME, along_history, self.seed);
            Ok((resolved.await?, opened))
        })?;
        let asked: Vec<NoiseLevel> = self.levels.iter().map(|level| (*level).into()).collect();
        let most = self.plan.rounds();
        crate::block_on(async {
            let Some(opened) = opened else {
                let repeats = NoiseRepeats::resolve(&asked, None, most)?;
                let plan = plan.with_verb(self.choices(None, repeats, 0))?;
                let store = files::open_store(shared).await?;
                let options = self.session.options()?;
                let begun = noise::begin_as_found(plan, &store, self.name.clone(), &options);
                return outcome::show(&begun.await?, &store, &self.session.outcome_options()).await;
            };
            let repeats = NoiseRepeats::resolve(&asked, Some(&opened.target), most)?;
            let store = files::open_store(shared).await?;
            let first_boot = opened.first_boot(&store).await?;
            let sampled = Some(repeats.layouts).filter(|layouts| *layouts > 1);
            let history = HistoryChoices {
                folder: opened.folder.clone(),
                layouts: opened.sampled_layouts(sampled)?,
                retry: false,
                builds_ahead: !self.no_builds_ahead,
                more_testbeds: Vec::new(),
            };
            let plan = plan.with_verb(self.choices(Some(history), repeats, first_boot))?;
            let at = self.at.clone();
            let version = opened
                .query(move |history| resolve_version(history, &at))
                .await?;
            let options = self.session.options()?;
            let site =
                BuildContext::open(opened, vec![version], Vec::new(), &options.reach).await?;
            let study = HistoryStudy::<NoiseVerb>::new(plan);
            let outcome = study.begin(&store, site, self.name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
        })
    }

    fn choices(
        &self,
        history: Option<HistoryChoices>,
        repeats: NoiseRepeats,
        first_boot: u32,
    ) -> NoiseChoices {
        NoiseChoices {
            history,
            boots: repeats.boots,
            trials: repeats.trials,
            first_boot,
            budget: Some(self.budget.0),
            precision: self.precision,
        }
    }
}
