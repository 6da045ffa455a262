//! `run`: every cell of a plan, round by round; or rounds until every primary metric of every variant has its verdict against
//! the first variant (`run --until decided`).

use backsight_conductor::Events;
use backsight_model::{
    BenchmarkName, Cell, CellMetric, Event, HistoryCell, StudyHistory, StudyName, VariantName,
    Version,
};
use backsight_policy::{
    Comparison, RequestedMetric, RunPolicy, RunUntilDecidedOptions, RunUntilDecidedPolicy,
    SequentialStudy, SplitKey, TryCall, TryVerdict, questions_by_variant,
};
use backsight_stats::Confidence;
use backsight_store::{Store, StudyRow};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::num::NonZeroU32;

use super::{Resumed, Verb, try_patch::TryReport};
use crate::{
    Choices, EndedStudy, Progress, ResolvedPlan, ResultsReport, RunChoices, SessionOptions,
    StudyEnding, StudyOutcome, UntilChoices, VerdictReport,
    resolved_plan::metric_shapes,
    study_as_found::{LeasedPlan, StudyAsFound},
    study_loop::{evidence_as_found, evidence_with_figures},
};

/// The verb.
pub struct RunVerb;

impl Verb for RunVerb {
    const NAME: &'static str = "run";
    const TAKES_ROUNDS: bool = true;
    const HAS_REFERENCE: bool = true;
    type Choices = RunChoices;

    async fn resume(
        mut resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        if let Some(more) = resumed.more {
            let rounds = resumed.question.arrange(&resumed.catalog)?.rounds;
            let choices = &mut resumed.question.choices;
            add_rounds(resumed.store, &resumed.study, choices, (rounds, more.get())).await?;
        }
        measure(StudyAsFound::resume(resumed, options, |_| Ok(())).await?).await
    }

    async fn judge(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        Ok(match until_report(store, study).await? {
            Some(report) => VerdictReport::Try(Box::new(report)),
            None => ResultsReport::from_store(store, study).await?,
        })
    }
}

/// Measures every cell of a plan.
///
/// # Errors
/// There is nothing to decide, a host can't be had, or the store refuses.
pub async fn begin(
    plan: ResolvedPlan,
    store: &Store,
    name: Option<StudyName>,
    options: &SessionOptions,
) -> miette::Result<StudyOutcome> {
    let testbeds = 1
        + (plan.question.choices.of_verb::<RunVerb>()?)
            .more_testbeds
            .len();
    check_rounds(plan.arrangement.rounds, testbeds, &options.events)?;
    let leased = LeasedPlan::open(plan, RunVerb::NAME, store, name, options).await?;
    let (plan, cells) = (&leased.plan, leased.cells.clone());
    if let Some(until) = &plan.question.choices.of_verb::<RunVerb>()?.until {
        let benchmarks = plan.arrangement.benchmarks.iter();
        let metrics =
            benchmarks.map(|(name, b)| (name.clone(), metric_shapes(&plan.arrangement, b, None)));
        if let Err(nothing) = policy(until, &cells, &metrics.collect(), plan.seed) {
            leased.session.finish().await;
            return Err(nothing);
        }
    }
    measure(leased.create_study(&cells).await?).await
}

/// Each cell has to be measured on each testbed, and as often on one as on another.
fn check_rounds(rounds: u32, testbeds: usize, events: &Events) -> miette::Result<()> {
    let rounds = rounds as usize;
    if rounds < testbeds {
        return Err(miette::miette!(
            help = format!("say --rounds {testbeds}, or more"),
            "{testbeds} testbeds need {testbeds} rounds at least, and the plan has {rounds}: each round measures a cell on one testbed, and cells that weren't measured on the same ones can't be compared"
        ));
    }
    let more = rounds % testbeds;
    if more > 0 {
        let even = rounds - more + testbeds;
        events.emit(&Event::Note {
            message: format!(
                "{rounds} rounds on {testbeds} testbeds: some cells are measured once more on one testbed than on another; --rounds {even} would be even"
            ),
        });
    }
    Ok(())
}

/// Asks for so many rounds more, which is kept, so that a study that is stopped meanwhile goes on with them. One whose
/// variants were measured until they were decided has them behind its last round, in all its cells.
async fn add_rounds(
    store: &Store,
    study: &StudyRow,
    choices: &mut Choices,
    (arranged, more): (u32, u32),
) -> miette::Result<()> {
    let mut run = choices.of_verb::<RunVerb>()?.clone();
    let last = match (&run.until, run.from) {
        (Some(_), None) => {
            let evidence = evidence_as_found(store, study.id).await.into_diagnostic()?;
            let rounds = evidence.observations.iter().map(|seen| seen.request.round);
            let last = rounds.max().unwrap_or(0);
            run.from = NonZeroU32::new(last.saturating_add(1));
            last
        }
        _ => arranged,
    };
    choices.rounds = NonZeroU32::new(last.saturating_add(more));
    choices.verb = run.into();
    let arguments = serde_json::to_string(choices).into_diagnostic()?;
    let kept = store.set_arguments(study.id, &arguments).await;
    kept.into_diagnostic()
}

async fn measure(study: StudyAsFound<'_>) -> miette::Result<StudyOutcome> {
    let (store, rounds) = (study.store, study.plan.arrangement.rounds);
    let (id, seed) = (study.row.id, study.row.seed);
    let cells = store.cells(id).await.into_diagnostic()?;
    let choices = study.plan.question.choices.of_verb::<RunVerb>()?.clone();
    if let (Some(until), None) = (&choices.until, choices.from) {
        let metrics = store.declared_metrics(id).await.into_diagnostic()?;
        let policy = policy(until, &cells, &metrics, seed)?;
        let conclude = async |row, progress| conclude(store, row, progress).await;
        return study.measure(&cells, &policy, 0, conclude).await;
    }
    let policy = RunPolicy {
        cells: cells.len(),
        from: choices.from.map_or(1, NonZeroU32::get),
        rounds,
        seed,
        testbeds: 1 + choices.more_testbeds.len(),
    };
    let conclude = async |row, progress| conclude(store, row, progress).await;
    study.measure(&cells, &policy, rounds, conclude).await
}

async fn conclude<Verdict>(
    store: &Store,
    study: StudyRow,
    progress: Progress<Verdict>,
) -> miette::Result<EndedStudy> {
    let verdict = RunVerb::judge(store, &study).await?;
    let is_whole = progress.stopped.is_none() && progress.failed == 0;
    let ending = match &verdict {
        VerdictReport::Try(report) if is_whole && !is_decided(&report.verdict) => {
            StudyEnding::Undecided
        }
        _ => progress.ending(),
    };
    Ok(EndedStudy::new(study, verdict, progress, ending))
}

type Shapes = IndexMap<BenchmarkName, Vec<CellMetric>>;

/// The policy of these cells.
///
/// # Errors
/// No question is asked of the first variant and another.
fn policy(
    choices: &UntilChoices,
    cells: &[Cell],
    metrics: &Shapes,
    seed: u32,
) -> miette::Result<RunUntilDecidedPolicy> {
    let asked = |cell: &Cell| {
        let shapes = metrics.get(&cell.benchmark).into_iter().flatten();
        let asked = shapes.map(|shape| RequestedMetric {
            name: shape.name.clone(),
            better: shape.better,
            decides: shape.primary,
        });
        asked.collect()
    };
    let options = RunUntilDecidedOptions {
        budget: choices.budget,
        most: choices.most,
        margin: choices.margin_percent / 100.0,
        confidence: Confidence::new(choices.confidence).unwrap_or_default(),
        seed,
    };
    RunUntilDecidedPolicy::new(cells, asked, options).ok_or_else(|| {
        miette::miette!(
            help = "give the plan a second [[variant]], or leave --until out and say --rounds",
            "there is nothing to decide: no benchmark is measured in the first variant and in another"
        )
    })
}

/// The verdict of a study of `run --until`; none of any other study.
pub(crate) async fn until_report(
    store: &Store,
    study: &StudyRow,
) -> miette::Result<Option<TryReport>> {
    let choices = Choices::from_study(study).into_diagnostic()?;
    let Some(until) = choices.of_verb::<RunVerb>()?.until.clone() else {
        return Ok(None);
    };
    let cells = store.cells(study.id).await.into_diagnostic()?;
    let metrics = store.declared_metrics(study.id).await.into_diagnostic()?;
    let policy = policy(&until, &cells, &metrics, study.seed)?;
    let evidence = evidence_with_figures(store, study.id)
        .await
        .into_diagnostic()?;
    let (variants, _) = questions_by_variant(&cells);
    let asked = policy.questions().map(|cell| HistoryCell {
        cell: cell.clone(),
        key: String::new(),
        metrics: metrics.get(&cell.benchmark).cloned().unwrap_or_default(),
    });
    Ok(Some(TryReport {
        verb: RunVerb::NAME,
        history: StudyHistory {
            study: study.id.0,
            name: study.name.clone(),
            began: study.began,
            state: study.state,
            versions: variants.iter().map(side).collect(),
            sides: true,
            testbeds: Vec::new(),
            builds: Vec::new(),
            boots: Vec::new(),
            cells: asked.collect(),
            trials: Vec::new(),
        },
        budget: until.budget,
        confidence: until.confidence,
        equal: Some(until.margin_percent),
        called: None,
        check: None,
        verdict: policy.verdict(&evidence),
    }))
}

/// The comparison of a study's variants with the answers that hold at every look, where it was measured until it was decided.
///
/// # Errors
/// The store's own.
pub async fn at_every_look(
    store: &Store,
    study: &StudyRow,
    comparison: Comparison,
) -> miette::Result<Comparison> {
    if comparison.by != Some(SplitKey::Variant) || study.verb != RunVerb::NAME {
        return Ok(comparison);
    }
    let Some(report) = until_report(store, study).await? else {
        return Ok(comparison);
    };
    let (variants, _) = questions_by_variant(&store.cells(study.id).await.into_diagnostic()?);
    let cells = report.history.cells.into_iter();
    let questions: Vec<Cell> = cells.map(|cell| cell.cell).collect();
    Ok(comparison.at_every_look(SequentialStudy {
        study: &study.name,
        variants: &variants,
        questions: &questions,
        tried: &report.verdict.compared,
        margin_percent: report.equal.unwrap_or_default(),
    }))
}

/// A variant as a side.
fn side(variant: &VariantName) -> Version {
    Version {
        id: variant.to_string(),
        name: variant.to_string(),
        at: None,
        title: String::new(),
        release: false,
        amendments: Vec::new(),
    }
}

/// Whether every comparison that was asked for has its answer.
fn is_decided(verdict: &TryVerdict) -> bool {
    let asked = verdict.compared.iter().filter(|tried| tried.decides);
    let mut calls = asked.map(|tried| tried.call);
    calls.all(TryCall::is_decided)
}
