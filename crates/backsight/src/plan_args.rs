//! Arguments of a plan: its file, or benchmarks by name; and the question that they make.

use backsight_catalog::{Catalog, benchmark_sets};
use backsight_model::{BenchmarkName, MonitorName, Plan, TestbedName, TomlDocument, did_you_mean};
use backsight_store::{Store, StudyRow};
use backsight_study::{Choices, Question, ResolvedPlan, RunChoices, StoredQuestion, drawn_seed};
use miette::IntoDiagnostic as _;
use std::{
    collections::HashSet,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use crate::{common_options::CommonOptions, files, value_parsers::at_least_one};

/// What is measured: a plan's file, or benchmarks by name.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// The plan's file; without one, --use says what is measured
    plan: Option<PathBuf>,
    /// Benchmarks to measure, instead of the plan's; with a comma between them
    // Named, or it would be taken for the shared `--benchmarks`.
    #[arg(id = "use", long = "use", value_name = "NAMES", value_delimiter = ',')]
    benchmarks: Vec<BenchmarkName>,
    /// Monitors to watch with, instead of the plan's, with a comma between them; `all`: every one of the catalogue. `overhead` takes
    /// all that run here unless some are named
    #[arg(
        id = "monitor-names",
        long = "monitors",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    monitors: Vec<MonitorName>,
    /// How often each cell is measured, instead of the plan's rounds
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    rounds: Option<NonZeroU32>,
    /// Measure on this testbed of the lab, instead of the plan's
    #[arg(long, value_name = "NAME")]
    testbed: Option<TestbedName>,
    /// The lab's file; else the lab.toml beside the plan, else this machine alone
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
    /// Measure this set: a plan that comes with the program; `backsight list sets` shows them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["plan", "use"])]
    set: Option<String>,
    /// Measure as this study did: its plan, lab, definitions and target, as they were then
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["plan", "use", "set", "lab"])]
    like: Option<String>,
}

impl PlanArgs {
    /// The plan's file, if there is one.
    pub fn plan(&self) -> Option<&Path> {
        self.plan.as_deref()
    }

    /// The lab's file where nothing is named that is measured.
    pub fn lab_without_plan(&self) -> Option<Option<&Path>> {
        let names_nothing =
            self.plan.is_none() && self.benchmarks.is_empty() && self.like.is_none();
        let names_nothing = names_nothing && self.set.is_none();
        names_nothing.then_some(self.lab.as_deref())
    }

    /// The same, with so many rounds unless they are given; the plan's own don't count.
    pub fn with_usual_rounds(self, rounds: NonZeroU32) -> Self {
        Self {
            rounds: self.rounds.or(Some(rounds)),
            ..self
        }
    }

    /// Whether it is measured as a study did.
    pub fn is_like_study(&self) -> bool {
        self.like.is_some()
    }

    /// The same with this plan's file, unless something is named that is measured.
    pub fn or_plan(self, file: impl FnOnce() -> Option<PathBuf>) -> Self {
        let plan = match self.lab_without_plan() {
            Some(_) => file(),
            None => self.plan.clone(),
        };
        Self { plan, ..self }
    }

    /// The rounds, if they are given.
    pub fn rounds(&self) -> Option<NonZeroU32> {
        self.rounds
    }

    /// The study that is measured like, with the store that has it, if one is named.
    pub async fn liked(&self, shared: &CommonOptions) -> miette::Result<Option<(Store, StudyRow)>> {
        let Some(name) = &self.like else {
            return Ok(None);
        };
        let store = files::existing_store(shared).await?;
        let study = store.study(name).await.into_diagnostic()?;
        Ok(Some((store, study)))
    }

    /// The question, and the catalogue that it is asked with. The choices of `verb` are filled in later; until then they are those
    /// of the study that is measured like.
    pub async fn question(
        &self,
        shared: &CommonOptions,
        verb: &str,
    ) -> miette::Result<(Question, Catalog)> {
        let plan = self.plan.as_deref();
        let (mut question, catalog) = match self.liked(shared).await? {
            Some((store, study)) => {
                let StoredQuestion {
                    mut question,
                    catalog,
                    ..
                } = StoredQuestion::of_study(&store, &study).await?;
                // Any hosts that are free will do now as they did then.
                question.choices.hosts = Vec::new();
                (question, catalog)
            }
            None => {
                let named = (&self.benchmarks[..], self.set.as_deref());
                question_of(shared, (verb, plan), named, self.lab.as_deref())?
            }
        };
        question.choices.rounds = self.rounds.or(question.choices.rounds);
        question.choices.testbed = self.testbed.clone().or(question.choices.testbed.take());
        let monitors = self.monitors_of(&catalog)?;
        if !monitors.is_empty() {
            question.choices.monitors = monitors;
        }
        Ok((question, catalog))
    }

    /// The monitors that were named, once each; every one of the catalogue for `all`.
    fn monitors_of(&self, catalog: &Catalog) -> miette::Result<Vec<MonitorName>> {
        let known = catalog.monitors().names();
        if matches!(&self.monitors[..], [name] if name.as_str() == "all") {
            return Ok(known);
        }
        if let Some(name) = self.monitors.iter().find(|name| !known.contains(name)) {
            return Err(no_monitor(catalog, name.as_str()));
        }
        let mut once = self.monitors.clone();
        let mut seen = HashSet::new();
        once.retain(|name| seen.insert(name.clone()));
        Ok(once)
    }

    /// Whether some monitors were asked for by name.
    pub fn names_monitors(&self) -> bool {
        self.monitors.iter().any(|name| name.as_str() != "all")
    }

    /// The plan with everything that it names. Its seed is the given one, else the plan's, else drawn; the choices of `verb`
    /// are filled in later.
    pub async fn resolve(
        &self,
        shared: &CommonOptions,
        verb: &str,
        along_history: bool,
        seed: Option<u32>,
    ) -> miette::Result<ResolvedPlan> {
        let (mut question, catalog) = self.question(shared, verb).await?;
        question.along_history = along_history;
        let seed = seed_of(&question.plan, seed)?;
        Ok(ResolvedPlan::new(question, catalog, seed)?)
    }
}

/// What is said where no monitor has such a name.
pub fn no_monitor(catalog: &Catalog, name: &str) -> miette::Report {
    let names = catalog.monitors().names();
    let near = did_you_mean(name, names.iter().map(MonitorName::as_str));
    let help = near.unwrap_or_else(|| "`backsight list monitors` shows what there is".into());
    miette::miette!(help = help, "no monitor `{name}` in the catalogue")
}

/// The seed that is given, else the plan's, else one that is drawn.
pub fn seed_of(plan: &TomlDocument, given: Option<u32>) -> miette::Result<u32> {
    let planned = Plan::read(plan)?.seed;
    Ok(given.or(planned).unwrap_or_else(drawn_seed))
}

/// The plan of a set.
fn plan_of_set(name: &str) -> miette::Result<TomlDocument> {
    let mut sets = benchmark_sets()?;
    if let Some(at) = sets.iter().position(|set| set.name == name) {
        return Ok(sets.swap_remove(at).document);
    }
    let near = did_you_mean(name, sets.iter().map(|set| set.name));
    let help = near.unwrap_or_else(|| "`backsight list sets` shows what there is".into());
    Err(miette::miette!(help = help, "there is no set `{name}`"))
}

/// The question of a plan's file, of a set, or of benchmarks by name, and the catalogue that it is asked with. The choices of `verb`
/// are filled in later.
pub fn question_of(
    shared: &CommonOptions,
    (verb, plan_file): (&str, Option<&Path>),
    (benchmarks, set): (&[BenchmarkName], Option<&str>),
    lab: Option<&Path>,
) -> miette::Result<(Question, Catalog)> {
    let plan = match (plan_file, set) {
        (Some(path), _) => TomlDocument::open(path)?,
        (None, Some(set)) => plan_of_set(set)?,
        (None, None) if benchmarks.is_empty() => {
            return Err(miette::miette!(
                help = format!(
                    "backsight {verb} plan.toml, backsight {verb} --use NAME, backsight {verb} --set quick, or backsight {verb} --like STUDY"
                ),
                "what is to be measured? name a plan's file, or benchmarks with --use"
            ));
        }
        (None, None) => Question::plan_of_benchmarks(benchmarks),
    };
    let lab = files::lab(lab, plan_file)?;
    // Without a plan its definitions are those that would stand beside one here.
    let catalog = files::catalog(shared, plan_file.or(Some(Path::new("plan.toml"))))?;
    for name in benchmarks {
        if catalog.find(name)?.is_none() {
            let names = catalog.names();
            let near = did_you_mean(name.as_str(), names.iter().map(BenchmarkName::as_str));
            let help =
                near.unwrap_or_else(|| "`backsight list benchmarks` shows what there is".into());
            return Err(miette::miette!(
                help = help,
                "no benchmark `{name}` in the catalogue"
            ));
        }
    }
    let folder = plan_file.and_then(|path| {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        folder.map_or_else(
            || std::env::current_dir().ok(),
            |folder| folder.canonicalize().ok(),
        )
    });
    let question = Question {
        plan,
        lab,
        choices: Choices {
            benchmarks: benchmarks.to_vec(),
            folder,
            hosts: Vec::new(),
            ..Choices::new(RunChoices::default())
        },
        along_history: false,
    };
    Ok((question, catalog))
}
