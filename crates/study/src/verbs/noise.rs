//! `noise`: how much a benchmark varies on the same boot, another boot, another layout; and how many repeats of what to buy.

use backsight_model::{HistoryCell, MetricName, StudyHistory, StudyName, TargetName};
use backsight_policy::{NoiseEnd, NoisePolicy, NoiseVerdict, WithinTrials};
use backsight_report::noise::NoiseStudy;
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;
use std::collections::BTreeMap;

use super::{Resumed, Verb};
use crate::{
    Choices, EndedLoop, EndedStudy, HistoryChoices, HistoryStudy, HistoryVerb, NoiseChoices,
    PolicyInputs, Progress, Question, ResolvedPlan, SessionOptions, StudyEnding, StudyOutcome,
    VerdictReport,
    evidence::evidence_of_study,
    study_as_found::{LeasedPlan, StudyAsFound},
    study_loop::evidence_with_figures,
};

/// The verb: of a version of a target, or of the software as it is found.
pub struct NoiseVerb;

impl Verb for NoiseVerb {
    const NAME: &'static str = "noise";
    type Choices = NoiseChoices;

    fn history(choices: &NoiseChoices) -> Option<HistoryChoices> {
        choices.history.clone()
    }

    async fn resume(
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        match resumed.question.choices.verb.history() {
            Some(_) => HistoryStudy::<Self>::resume(resumed, options).await,
            None => measure(StudyAsFound::resume(resumed, options, |_| Ok(())).await?).await,
        }
    }

    async fn judge(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        let report = NoiseReport::from_store(store, study).await?;
        Ok(VerdictReport::Noise(Box::new(report)))
    }
}

impl HistoryVerb for NoiseVerb {
    const SHARES_EVIDENCE: bool = false;
    type Policy = NoisePolicy;

    fn policy(inputs: &PolicyInputs<'_>) -> miette::Result<NoisePolicy> {
        let choices = inputs.choices.of_verb::<Self>()?;
        Ok(policy(choices, inputs.cells.len(), inputs.seed))
    }

    fn rounds(choices: &Choices) -> u32 {
        choices.of_verb::<Self>().map_or(1, |noise| noise.trials)
    }

    /// A layout costs what it costs alone: with one version the tree stays built.
    fn lays_out_ahead() -> bool {
        false
    }

    async fn conclude(ended: EndedLoop<'_, NoiseVerdict>) -> miette::Result<EndedStudy> {
        conclude(ended.store, ended.study, ended.progress).await
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
) -> miette::Result<EndedStudy> {
    let report = NoiseReport::from_store(store, &study).await?;
    let ending = match report.verdict.ended {
        Some(NoiseEnd::Dead) => StudyEnding::Failed,
        _ => progress.ending(),
    };
    let verdict = VerdictReport::Noise(Box::new(report));
    Ok(EndedStudy::new(study, verdict, progress, ending))
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
) -> miette::Result<StudyOutcome> {
    let leased = LeasedPlan::open(plan, NoiseVerb::NAME, store, name, options).await?;
    let cells = leased.cells.clone();
    measure(leased.create_study(&cells).await?).await
}

async fn measure(study: StudyAsFound<'_>) -> miette::Result<StudyOutcome> {
    let store = study.store;
    let cells = store.cells(study.row.id).await.into_diagnostic()?;
    let choices = study.plan.question.choices.of_verb::<NoiseVerb>()?;
    let (policy, rounds) = (policy(choices, cells.len(), study.row.seed), choices.trials);
    let conclude = async |row, progress| conclude(store, row, progress).await;
    study.measure(&cells, &policy, rounds, conclude).await
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
    /// How much interval samples vary, by the cell's number and the metric.
    pub within: BTreeMap<(usize, MetricName), WithinTrials>,
    /// Share of the processors that others took during the trials: their mean, from 0 to 1; nothing without a trial that gave samples.
    pub neighbours: Option<f64>,
    /// The command that measures the same, where rounds alone are repeated.
    pub command: Option<String>,
}

impl NoiseReport {
    async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let all = Choices::from_study(study).into_diagnostic()?;
        let choices = all.of_verb::<NoiseVerb>()?.clone();
        let command = match &choices.history {
            Some(_) => None,
            None => Some(run_command(store, study, &all).await?),
        };
        let (of, cells, evidence) = match (&choices.history, &study.target) {
            (Some(chosen), Some(target)) => {
                let history = store.study_history(study.id).await.into_diagnostic()?;
                let evidence = evidence_of_study(&history, &chosen.layouts);
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
        let measured = store.result_set(study.id).await.into_diagnostic()?;
        let within = measured.series.iter().filter_map(|series| {
            let cell = cells.iter().position(|it| it.cell == series.cell)?;
            let within = WithinTrials::from_series(series)?;
            Some(((cell, series.metric.clone()), within))
        });
        let trials = measured.series.iter().flat_map(|series| &series.trials);
        let neighbours = trials.map(|trial| (trial.trial, trial.neighbours));
        let neighbours: BTreeMap<u32, f64> = neighbours.collect();
        let share = neighbours.values().sum::<f64>() / neighbours.len() as f64;
        Ok(Self {
            within: within.collect(),
            neighbours: share.is_finite().then_some(share),
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
            within: &self.within,
            neighbours: self.neighbours,
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
    let asked = Question::plan_of_benchmarks(&choices.benchmarks).name;
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
        let metrics = shapes.get(&cell.benchmark).cloned();
        HistoryCell {
            metrics: metrics.unwrap_or_default(),
            cell,
            key: String::new(),
        }
    });
    Ok(with_metrics.collect())
}
