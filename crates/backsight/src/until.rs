//! `run --until decided`: rounds until every primary metric of every variant has its verdict against the first variant.
//!
//! Refuses: plans that have nothing to compare.

use backsight_model::{
    BenchmarkName, Cell, CellMetric, HistoryCell, StudyHistory, Time, VariantName, Version,
};
use backsight_policy::{
    AskedMetric, AttemptCall, AttemptVerdict, By, Comparison, Looked, UntilOptions, UntilPolicy,
    beside_by_variant,
};
use backsight_stats::Confidence;
use backsight_store::{MetricShape, Store, StudyRow};
use backsight_study::{Choices, UntilChoices, evidence_with_figures};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::num::NonZeroU32;

use crate::{attempt::Account, compare::percent};

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
pub struct UntilArguments {
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

impl UntilArguments {
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

type Shapes = IndexMap<BenchmarkName, Vec<MetricShape>>;

/// The policy of these cells.
///
/// # Errors
/// No question is asked of the first variant and another.
pub fn policy(
    choices: &UntilChoices,
    cells: &[Cell],
    metrics: &Shapes,
    seed: u32,
) -> miette::Result<UntilPolicy> {
    let asked = |cell: &Cell| {
        let shapes = metrics.get(&cell.benchmark).into_iter().flatten();
        let asked = shapes.map(|shape| AskedMetric {
            name: shape.name.clone(),
            better: shape.better,
            decides: shape.primary,
        });
        asked.collect()
    };
    let options = UntilOptions {
        budget: choices.budget,
        most: choices.most,
        margin: choices.margin_percent / 100.0,
        confidence: Confidence::new(choices.confidence).unwrap_or_default(),
        seed,
    };
    UntilPolicy::new(cells, asked, options).ok_or_else(|| {
        miette::miette!(
            help = "give the plan a second [[variant]], or leave --until out and say --rounds",
            "there is nothing to decide: no benchmark is measured in the first variant and in another"
        )
    })
}

/// What a study of `run --until` came to; nothing of any other study.
pub async fn account(store: &Store, study: &StudyRow) -> miette::Result<Option<Account>> {
    if study.verb != crate::run::VERB {
        return Ok(None);
    }
    let choices: Choices = serde_json::from_str(&study.arguments).into_diagnostic()?;
    let Some(until) = choices.until else {
        return Ok(None);
    };
    let cells = store.cells(study.id).await.into_diagnostic()?;
    let metrics = store.declared_metrics(study.id).await.into_diagnostic()?;
    let policy = policy(&until, &cells, &metrics, study.seed)?;
    let evidence = evidence_with_figures(store, study.id)
        .await
        .into_diagnostic()?;
    let (variants, _) = beside_by_variant(&cells);
    let asked = policy.questions().map(|cell| HistoryCell {
        cell: cell.clone(),
        key: String::new(),
        metrics: metrics
            .get(&cell.benchmark)
            .map_or_else(Vec::new, |shapes| shapes.iter().map(in_history).collect()),
    });
    Ok(Some(Account {
        verb: crate::run::VERB,
        history: StudyHistory {
            study: study.id.0,
            name: study.name.clone(),
            began: study.began,
            state: study.state,
            versions: variants.iter().map(side).collect(),
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
        verdict: policy.verdict(&evidence),
    }))
}

/// A comparison of parts of this study: of its variants with the answers that hold at every look, where it was measured until
/// it was decided.
pub async fn at_every_look(
    store: &Store,
    study: &StudyRow,
    comparison: Comparison,
) -> miette::Result<Comparison> {
    if comparison.by != Some(By::Variant) {
        return Ok(comparison);
    }
    let Some(account) = account(store, study).await? else {
        return Ok(comparison);
    };
    let (variants, _) = beside_by_variant(&store.cells(study.id).await.into_diagnostic()?);
    let cells = account.history.cells.into_iter();
    let questions: Vec<Cell> = cells.map(|cell| cell.cell).collect();
    Ok(comparison.at_every_look(Looked {
        study: &study.name,
        variants: &variants,
        questions: &questions,
        tried: &account.verdict.compared,
        margin_percent: account.equal.unwrap_or_default(),
    }))
}

fn in_history(shape: &MetricShape) -> CellMetric {
    CellMetric {
        name: shape.name.clone(),
        unit: shape.unit,
        better: shape.better,
        about: shape.about.clone(),
        primary: shape.primary,
        simulator: shape.simulator,
    }
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
pub fn is_decided(verdict: &AttemptVerdict) -> bool {
    let asked = verdict.compared.iter().filter(|tried| tried.decides);
    let mut calls = asked.map(|tried| tried.call);
    calls.all(AttemptCall::is_decided)
}
