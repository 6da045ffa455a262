//! `backsight noise`: how much a benchmark varies on the same boot, another boot, another layout; and how many repeats of what
//! to buy.
//!
//! Refuses: levels that there aren't here.

use backsight_model::{BootKind, CellMetric, HistoryCell, LayoutKind, StudyName, TargetName, Time};
use backsight_policy::{NoiseEnd, NoisePolicy, NoiseVerdict};
use backsight_report::noise::NoiseStudy;
use backsight_store::{NewStudy, Store, StoreError, StudyRow};
use backsight_study::{
    AlongChoices, Choices, NoiseChoices, Pursuit, Question, Study, Testbed, evidence_of,
    evidence_with_figures, pursue,
};
use miette::IntoDiagnostic as _;
use std::{num::NonZeroU32, process::ExitCode};

use crate::{
    account,
    along::{AlongVerb, Asking, Concluded, Ground, Site, chosen},
    cli::Shared,
    compare::percent,
    exit_status::ExitStatus,
    files,
    output::Told,
    run::{Asked, Posed, Session, Watching, conclude, free_name, new_study},
    target::{Opened, resolved},
};

/// The verb's name in the store.
pub const VERB: &str = "noise";

/// Repeats of the highest level, unless said: their deviation is then known to about a quarter.
const HIGHEST: u32 = 30;
/// Trials on each boot, and boots of each layout, where they aren't the highest level.
const WITHIN: u32 = 4;

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

/// Arguments of `noise`.
#[derive(Debug, clap::Args)]
pub struct Noise {
    #[command(flatten)]
    asked: Asked,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there. Without one the software is
    /// measured as it is found
    #[arg(long, value_name = "NAME|FILE")]
    target: Option<String>,
    /// The version that is measured: a version, a commit, a tag or a date
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "HEAD",
        requires = "target"
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
    watching: Watching,
}

/// How often each level is repeated at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Repeats {
    layouts: u32,
    boots: u32,
    trials: u32,
}

impl Repeats {
    /// Of these levels the highest one as often as `most`, the others a few times within it.
    fn of(levels: &[Repeated], most: u32) -> Self {
        let highest = [Repeated::Layout, Repeated::Boot, Repeated::Trial];
        let highest = highest.into_iter().find(|level| levels.contains(level));
        let repeats = |level| match (levels.contains(&level), highest == Some(level)) {
            (true, true) => most,
            (true, false) => WITHIN,
            (false, _) => 1,
        };
        Self {
            layouts: repeats(Repeated::Layout),
            boots: repeats(Repeated::Boot),
            trials: repeats(Repeated::Trial),
        }
    }
}

impl Noise {
    /// Measures, and says how much it varies.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        self.watching.check()?;
        let along_history = self.target.is_some();
        let mut posed = self.asked.posed(shared, along_history, self.seed)?;
        let most = posed
            .question
            .choices
            .rounds
            .map_or(HIGHEST, NonZeroU32::get);
        crate::block_on(async {
            let Some(target) = &self.target else {
                let levels = self.levels(None)?;
                let repeats = Repeats::of(&levels, most);
                posed.question.choices.noise = Some(self.choices(None, repeats, 0));
                let store = files::open_store(shared).await?;
                return AsFound(posed)
                    .begin(&store, self.name, &self.watching)
                    .await;
            };
            let opened = Opened::named(shared, target, self.asked.plan()).await?;
            let levels = self.levels(Some(&opened))?;
            let repeats = Repeats::of(&levels, most);
            let store = files::open_store(shared).await?;
            let first_boot = opened.first_boot(&store).await?;
            let sampled = Some(repeats.layouts).filter(|layouts| *layouts > 1);
            let layouts = opened.sampled_layouts(sampled)?;
            let along = AlongChoices {
                folder: opened.folder.clone(),
                layouts,
                retry: false,
                builds_ahead: !self.no_builds_ahead,
                beside: Vec::new(),
            };
            posed.question.choices.noise = Some(self.choices(Some(along), repeats, first_boot));
            let at = self.at.clone();
            let version = opened.ask(move |history| resolved(history, &at)).await?;
            let site = Site::open(opened, vec![version], Vec::new()).await?;
            let asking = Asking::<Noising>::of(posed);
            asking.begin(&store, site, self.name, &self.watching).await
        })
    }

    fn choices(
        &self,
        along: Option<AlongChoices>,
        repeats: Repeats,
        first_boot: u32,
    ) -> NoiseChoices {
        NoiseChoices {
            along,
            boots: repeats.boots,
            trials: repeats.trials,
            first_boot,
            budget: Some(self.budget.0),
            precision: self.precision,
        }
    }

    /// The levels that are asked for, or all that there are.
    fn levels(&self, opened: Option<&Opened>) -> miette::Result<Vec<Repeated>> {
        let target = opened.map(|opened| &opened.target);
        let boots = target.is_some_and(|target| target.activate.boot != BootKind::None);
        let relinks = target
            .and_then(|target| target.layout.as_ref())
            .is_some_and(|relayout| relayout.layouts.contains(&LayoutKind::Random));
        let has = |level: &Repeated| match level {
            Repeated::Trial => true,
            Repeated::Boot => boots,
            Repeated::Layout => relinks,
        };
        let all = [Repeated::Trial, Repeated::Boot, Repeated::Layout];
        if self.levels.is_empty() {
            return Ok(all.into_iter().filter(has).collect());
        }
        let Some(missing) = self.levels.iter().find(|level| !has(level)) else {
            return Ok(self.levels.clone());
        };
        let Some(target) = target else {
            return Err(miette::miette!(
                help = "name a target that is built and booted, with --target NAME; or ask for --levels trial",
                "software as it is found is neither booted nor laid out anew here"
            ));
        };
        Err(match missing {
            Repeated::Layout => miette::miette!(
                help = "give it one: layout = { relink = \"… {seed} …\" }, a command that is run in the built tree; or leave `layout` out of --levels",
                "target `{}` has no command that relinks it at random",
                *target.name
            ),
            _ => miette::miette!(
                help =
                    "leave `boot` out of --levels; or give the target activate = { boot = \"…\" }",
                "target `{}` has nothing to reboot: its programs are run from their folder",
                *target.name
            ),
        })
    }
}

fn policy(choices: &NoiseChoices, cells: usize, seed: u32) -> NoisePolicy {
    let along = choices.along.as_ref();
    NoisePolicy {
        layouts: along.map_or(1, |along| along.layouts.len()),
        boots: choices.boots,
        trials: choices.trials,
        cells,
        as_found: along.is_none(),
        first_boot: choices.first_boot,
        budget: choices.budget,
        seed,
    }
}

/// `noise` of a version along a history.
pub struct Noising;

impl AlongVerb for Noising {
    const VERB: &'static str = VERB;
    const SHARES: bool = false;
    type Policy = NoisePolicy;

    fn policy(ground: &Ground<'_>) -> miette::Result<NoisePolicy> {
        let choices = chosen(ground.choices.noise.as_ref())?;
        Ok(policy(choices, ground.cells.len(), ground.seed))
    }

    fn rounds(choices: &Choices) -> u32 {
        choices.noise.as_ref().map_or(1, |noise| noise.trials)
    }

    /// A layout costs what it costs alone: with one version the tree stays built.
    fn lays_out_ahead() -> bool {
        false
    }

    async fn conclude(ended: Concluded<'_, NoiseVerdict>) -> miette::Result<ExitCode> {
        let row = ended.store.study_of(ended.id).await.into_diagnostic()?;
        conclude_noise(ended.store, &row, &ended.told, &ended.pursuit).await
    }
}

/// Says what came of a study, and with which status.
async fn conclude_noise(
    store: &Store,
    study: &StudyRow,
    told: &Told,
    pursuit: &Pursuit<NoiseVerdict>,
) -> miette::Result<ExitCode> {
    let account = Account::of(store, study).await?;
    let dead = account.verdict.ended == Some(NoiseEnd::Dead);
    let account = account::Account::Noise(Box::new(account));
    told.verdict(&account, store).await?;
    let status = conclude(&study.name, pursuit);
    Ok(match dead {
        true => ExitStatus::Failed.into(),
        false => status,
    })
}

/// A question about software as it is found.
pub struct AsFound(Posed);

impl AsFound {
    async fn begin(
        self,
        store: &Store,
        name: Option<StudyName>,
        watching: &Watching,
    ) -> miette::Result<ExitCode> {
        let chosen = name.is_some();
        let mut name = match name {
            Some(name) => name,
            None => free_name(store, VERB).await?,
        };
        let session = Session::open(&self.0.arrangement, &name, watching).await?;
        let cells = session.cells()?;
        let id = loop {
            let new = new_study(
                &self.0.question,
                &self.0.catalog,
                (&self.0.arrangement, None),
                &name,
                &cells,
                self.0.seed,
            );
            let new = NewStudy {
                verb: VERB.to_owned(),
                ..new
            };
            match store.create_study(&new).await {
                Err(StoreError::NameTaken { .. }) if !chosen => {
                    name = free_name(store, VERB).await?;
                }
                made => break made.into_diagnostic()?,
            }
        };
        let study = store.study_of(id).await.into_diagnostic()?;
        self.measure(store, session, study, false).await
    }

    /// Goes on with a study of it.
    pub async fn resume(
        store: &Store,
        study: StudyRow,
        question: Question,
        catalog: backsight_catalog::Catalog,
        watching: &Watching,
    ) -> miette::Result<ExitCode> {
        let killed = study.was_killed();
        let asking = Self(Posed::of(question, catalog, study.seed)?);
        let session = Session::open(&asking.0.arrangement, &study.name, watching).await?;
        asking.measure(store, session, study, killed).await
    }

    async fn measure(
        self,
        store: &Store,
        mut session: Session,
        row: StudyRow,
        after_kill: bool,
    ) -> miette::Result<ExitCode> {
        let cells = store.cells(row.id).await.into_diagnostic()?;
        session.prepare(store, row.id, &cells, after_kill).await?;
        let choices = chosen(self.0.question.choices.noise.as_ref())?;
        let policy = policy(choices, cells.len(), self.0.seed);
        let evidence = evidence_with_figures(store, row.id)
            .await
            .into_diagnostic()?;
        let study = Study {
            id: row.id,
            name: row.name.clone(),
            cells: cells.clone(),
            rounds: choices.trials,
            seed: self.0.seed,
            on_failure: self.0.arrangement.on_failure,
            versions: Vec::new(),
            trials: u32::try_from(evidence.observations.len()).unwrap_or(u32::MAX),
            testbeds: Vec::new(),
            boots: None,
        };
        let told = session.told.clone();
        let mut testbed = Testbed {
            conductor: session.conductor,
            catalog: &self.0.catalog,
            cells,
            stop: session.stop,
        };
        let events = &session.events;
        let measurers = std::slice::from_mut(&mut testbed);
        let pursued = pursue(&policy, study, evidence, store, measurers, events).await;
        testbed.conductor.finish().await;
        match pursued {
            Ok(pursuit) => conclude_noise(store, &row, &told, &pursuit).await,
            Err(error) => Ok(crate::run::broke_off(&row.name, &error)),
        }
    }
}

/// A study of noise as it stands: what `noise`, `show` and `report` tell of it.
pub struct Account {
    row: StudyRow,
    what: String,
    cells: Vec<HistoryCell>,
    choices: NoiseChoices,
    verdict: NoiseVerdict,
    /// The command that measures what was measured, where rounds alone are its repeats.
    command: Option<String>,
}

impl Account {
    /// Reads it from the store.
    pub async fn of(store: &Store, row: &StudyRow) -> miette::Result<Self> {
        let all: Choices = serde_json::from_str(&row.arguments).into_diagnostic()?;
        let choices = chosen(all.noise.as_ref())?.clone();
        let command = match &choices.along {
            Some(_) => None,
            None => Some(run_command(store, row, &all).await?),
        };
        let (what, cells, evidence) = match (&choices.along, &row.target) {
            (Some(along), Some(target)) => {
                let history = store.study_history(row.id).await.into_diagnostic()?;
                let evidence = evidence_of(&history, &along.layouts);
                (of_version(target, &history), history.cells, evidence)
            }
            _ => {
                let evidence = evidence_with_figures(store, row.id)
                    .await
                    .into_diagnostic()?;
                let what = "the software as it is found".to_owned();
                (what, cells_of(store, row).await?, evidence)
            }
        };
        let verdict = policy(&choices, cells.len(), row.seed).verdict(&evidence);
        Ok(Self {
            row: row.clone(),
            what,
            cells,
            choices,
            verdict,
            command,
        })
    }

    /// The study with its verdict, as it is reported.
    pub fn study(&self) -> NoiseStudy<'_> {
        NoiseStudy {
            id: self.row.id.0,
            name: self.row.name.as_str(),
            what: &self.what,
            cells: &self.cells,
            verdict: &self.verdict,
            budget: self.choices.budget,
            precision: self.choices.precision,
            command: self.command.as_deref(),
        }
    }
}

/// The command that measures the same as it is found, without the number of rounds.
async fn run_command(store: &Store, row: &StudyRow, choices: &Choices) -> miette::Result<String> {
    let documents = store.documents(row.id).await.into_diagnostic()?;
    let plan = documents.iter().find(|document| document.kind == "plan");
    let asked = Question::plan_of(&choices.benchmarks).name;
    let mut command = "backsight run".to_owned();
    if let Some(plan) = plan.filter(|plan| plan.name != asked) {
        command.push_str(&format!(" {}", plan.name));
    }
    for benchmark in &choices.benchmarks {
        command.push_str(&format!(" --use {benchmark}"));
    }
    Ok(command)
}

fn of_version(target: &TargetName, history: &backsight_model::StudyHistory) -> String {
    let version = history.versions.first();
    let version = version.map_or_else(String::new, |version| version.full_name());
    format!("{target} {version}")
}

/// The cells of a study without a target, with their metrics.
async fn cells_of(store: &Store, row: &StudyRow) -> miette::Result<Vec<HistoryCell>> {
    let shapes = store.metrics(row.id).await.into_diagnostic()?;
    let cells = store.cells(row.id).await.into_diagnostic()?;
    let with_metrics = cells.into_iter().map(|cell| {
        let metrics = shapes.get(&cell.benchmark).into_iter().flatten();
        let metrics = metrics.map(|shape| CellMetric {
            name: shape.name.clone(),
            unit: shape.unit,
            better: shape.better,
            about: shape.about.clone(),
            primary: shape.primary,
            simulator: shape.simulator,
        });
        HistoryCell {
            metrics: metrics.collect(),
            cell,
            key: String::new(),
        }
    });
    Ok(with_metrics.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_is_repeated_most() {
        use Repeated::{Boot, Layout, Trial};
        let of = |levels: &[Repeated]| {
            let Repeats {
                layouts,
                boots,
                trials,
            } = Repeats::of(levels, 30);
            (layouts, boots, trials)
        };
        assert_eq!(of(&[Trial]), (1, 1, 30));
        assert_eq!(of(&[Trial, Boot]), (1, 30, 4));
        assert_eq!(of(&[Layout, Trial]), (30, 1, 4));
        assert_eq!(of(&[Trial, Boot, Layout]), (30, 4, 4));
        assert_eq!(of(&[Boot]), (1, 30, 1));
    }
}
