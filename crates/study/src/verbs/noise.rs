//! `noise`: how much a benchmark varies on the same boot, another boot, another layout; and how many repeats of what to buy.

use backsight_model::{CellMetric, HistoryCell, StudyHistory, StudyName, TargetName};
use backsight_policy::{NoiseEnd, NoisePolicy, NoiseVerdict};
use backsight_report::noise::NoiseStudy;
use backsight_store::{Store, StudyRow};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use miette::IntoDiagnostic as _;

use super::{MeasuringVerb, Resumed, VerbChoices};
use crate::{
    Choices, EndedStudy, Ending, HistoryStudy, HistoryVerb, NoiseChoices, Outcome, PolicyInputs,
    Progress, Question, ResolvedPlan, Session, SessionOptions, Study, VerdictReport,
    evidence::evidence_of,
    history_study::{EndedLoop, expect_choices},
    resolved_plan::Naming,
    study_loop::evidence_with_figures,
};

/// The verb's name.
pub const NAME: &str = "noise";

/// The entry in the registry.
pub struct Verb;

impl MeasuringVerb for Verb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn resume<'a>(
        &'a self,
        resumed: Resumed<'a>,
        options: &'a SessionOptions,
    ) -> LocalBoxFuture<'a, miette::Result<Outcome>> {
        async move {
            match resumed.question.choices.history() {
                Some(_) => HistoryStudy::<NoiseOfVersion>::resume(resumed, options).await,
                None => resume_as_found(resumed, options).await,
            }
        }
        .boxed_local()
    }

    fn judge<'a>(
        &'a self,
        store: &'a Store,
        study: &'a StudyRow,
    ) -> LocalBoxFuture<'a, miette::Result<VerdictReport>> {
        async move {
            let report = NoiseReport::from_store(store, study).await?;
            Ok(VerdictReport::Noise(Box::new(report)))
        }
        .boxed_local()
    }
}

/// `noise` of a version along a history.
pub struct NoiseOfVersion;

impl HistoryVerb for NoiseOfVersion {
    const NAME: &'static str = NAME;
    const SHARES_EVIDENCE: bool = false;
    type Policy = NoisePolicy;

    fn policy(inputs: &PolicyInputs<'_>) -> miette::Result<NoisePolicy> {
        let choices = expect_choices(of_noise(inputs.choices))?;
        Ok(policy(choices, inputs.cells.len(), inputs.seed))
    }

    fn rounds(choices: &Choices) -> u32 {
        of_noise(choices).map_or(1, |noise| noise.trials)
    }

    /// A layout costs what it costs alone: with one version the tree stays built.
    fn lays_out_ahead() -> bool {
        false
    }

    async fn conclude(ended: EndedLoop<'_, NoiseVerdict>) -> miette::Result<Outcome> {
        conclude(ended.store, ended.study, ended.progress).await
    }
}

fn of_noise(choices: &Choices) -> Option<&NoiseChoices> {
    match &choices.verb {
        VerbChoices::Noise(noise) => Some(noise),
        _ => None,
    }
}

fn policy(choices: &NoiseChoices, cells: usize, seed: u32) -> NoisePolicy {
    let history = choices.history.as_ref();
    NoisePolicy {
        layouts: history.map_or(1, |history| history.layouts.len()),
        boots: choices.boots,
        trials: choices.trials,
        cells,
        as_found: history.is_none(),
        first_boot: choices.first_boot,
        budget: choices.budget,
        seed,
    }
}

async fn conclude(
    store: &Store,
    study: StudyRow,
    progress: Progress<NoiseVerdict>,
) -> miette::Result<Outcome> {
    let report = NoiseReport::from_store(store, &study).await?;
    let ending = match report.verdict.ended {
        Some(NoiseEnd::Dead) => Ending::Failed,
        _ => progress.ending(),
    };
    Ok(Outcome::Ended(Box::new(EndedStudy {
        study,
        verdict: VerdictReport::Noise(Box::new(report)),
        notes: Vec::new(),
        progress: progress.without_verdict(),
        ending,
    })))
}

/// Measures the software as it is found.
///
/// # Errors
/// A host can't be had, or the store refuses.
pub async fn begin_as_found(
    plan: ResolvedPlan,
    store: &Store,
    name: Option<StudyName>,
    options: &SessionOptions,
) -> miette::Result<Outcome> {
    let naming = Naming::new(store, name, NAME).await?;
    let session = Session::open(&plan.arrangement, &naming.name, options).await?;
    let cells = session.cells()?;
    let new = plan.new_study(naming.name.clone(), &cells, None)?;
    let id = naming.create(store, new, None).await?;
    let study = store.study_of(id).await.into_diagnostic()?;
    measure(&plan, store, session, study, false).await
}

async fn resume_as_found(
    resumed: Resumed<'_>,
    options: &SessionOptions,
) -> miette::Result<Outcome> {
    let Resumed {
        store,
        study,
        question,
        catalog,
        ..
    } = resumed;
    let was_killed = study.was_killed();
    let plan = ResolvedPlan::new(question, catalog, study.seed)?;
    let session = Session::open(&plan.arrangement, &study.name, options).await?;
    measure(&plan, store, session, study, was_killed).await
}

async fn measure(
    plan: &ResolvedPlan,
    store: &Store,
    mut session: Session,
    row: StudyRow,
    after_kill: bool,
) -> miette::Result<Outcome> {
    let cells = store.cells(row.id).await.into_diagnostic()?;
    session.prepare(store, row.id, &cells, after_kill).await?;
    let choices = expect_choices(of_noise(&plan.question.choices))?;
    let policy = policy(choices, cells.len(), plan.seed);
    let evidence = evidence_with_figures(store, row.id)
        .await
        .into_diagnostic()?;
    let study = Study {
        rounds: choices.trials,
        seed: plan.seed,
        on_failure: plan.arrangement.on_failure,
        ..Study::as_found(&row, cells, &evidence)
    };
    let measured = session.measure_as_found(&policy, study, evidence, store, &plan.catalog);
    match measured.await {
        Ok(progress) => conclude(store, row, progress).await,
        Err(error) => Ok(Outcome::BrokeOff {
            name: row.name,
            error,
        }),
    }
}

/// A study of noise, as its evidence stands.
pub struct NoiseReport {
    /// The study.
    pub study: StudyRow,
    /// What was measured, in words.
    pub of: String,
    /// The cells, by number.
    pub cells: Vec<HistoryCell>,
    /// The study's choices.
    pub choices: NoiseChoices,
    /// Where it stands.
    pub verdict: NoiseVerdict,
    /// The command that measures the same, where rounds alone are repeated.
    pub command: Option<String>,
}

impl NoiseReport {
    async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let all = Choices::from_study(study).into_diagnostic()?;
        let choices = expect_choices(of_noise(&all))?.clone();
        let command = match &choices.history {
            Some(_) => None,
            None => Some(run_command(store, study, &all).await?),
        };
        let (of, cells, evidence) = match (&choices.history, &study.target) {
            (Some(chosen), Some(target)) => {
                let history = store.study_history(study.id).await.into_diagnostic()?;
                let evidence = evidence_of(&history, &chosen.layouts);
                (of_version(target, &history), history.cells, evidence)
            }
            _ => {
                let evidence = evidence_with_figures(store, study.id)
                    .await
                    .into_diagnostic()?;
                let of = "the software as it is found".to_owned();
                (of, cells_of(store, study).await?, evidence)
            }
        };
        let verdict = policy(&choices, cells.len(), study.seed).verdict(&evidence);
        Ok(Self {
            study: study.clone(),
            of,
            cells,
            choices,
            verdict,
            command,
        })
    }
}

impl NoiseReport {
    /// The study with its verdict, as it is reported.
    pub fn study(&self) -> NoiseStudy<'_> {
        NoiseStudy {
            id: self.study.id.0,
            name: self.study.name.as_str(),
            what: &self.of,
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

fn of_version(target: &TargetName, history: &StudyHistory) -> String {
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
