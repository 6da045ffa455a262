//! What a search found, out of the store, as text and as JSON.
//!
//! Refuses: to remember an answer. It is made anew from the evidence each time, and so is the same each time.

use backsight_catalog::Catalog;
use backsight_model::{Benchmark, Document, StudyName};
use backsight_policy::{Bounds, GeneratorStands, LoadPoint, SearchPolicy, SearchVerdict};
use backsight_site::SearchWords;
use backsight_store::{Store, StudyRow};
use backsight_study::{Choices, evidence_with_figures};
use miette::IntoDiagnostic as _;
use serde::Serialize;

/// A search as the store has it.
pub struct Kept {
    policy: SearchPolicy,
    benchmark: Benchmark,
    /// What it came to.
    pub verdict: SearchVerdict,
}

impl Kept {
    /// Reads it.
    pub async fn read(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let choices: Choices = serde_json::from_str(&study.arguments).into_diagnostic()?;
        let incomplete = || miette::miette!("study `{}` doesn't say what it searches", study.name);
        let policy = choices.search.ok_or_else(incomplete)?.policy;
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let definitions = documents
            .iter()
            .filter(|document| document.kind == "benchmark");
        let definitions = definitions.map(|d| Document::new(d.name.clone(), d.text.as_str()));
        let catalog = Catalog::of_documents(definitions.collect())?;
        let name = &policy
            .subjects
            .first()
            .ok_or_else(incomplete)?
            .cell
            .benchmark;
        let benchmark = catalog
            .find(name)?
            .ok_or_else(incomplete)?
            .benchmark
            .clone();
        let evidence = evidence_with_figures(store, study.id)
            .await
            .into_diagnostic()?;
        let verdict = policy.verdict(&evidence);
        Ok(Self {
            policy,
            benchmark,
            verdict,
        })
    }

    /// The words for it.
    pub fn words(&self) -> SearchWords<'_> {
        SearchWords::new(&self.policy, &self.benchmark)
    }
}

/// A search for programs; loads are in the parameter's unit.
#[derive(Serialize)]
pub struct SearchShape<'a> {
    name: &'a str,
    /// The parameter that is the load, and its unit.
    load: &'a str,
    unit: Option<&'a str>,
    complete: bool,
    subjects: Vec<SubjectShape<'a>>,
    sentences: Vec<String>,
    notes: Vec<String>,
}

/// The answers on one subject.
#[derive(Serialize)]
struct SubjectShape<'a> {
    searched: String,
    trials: usize,
    goals: Vec<GoalShape<'a>>,
    loads: &'a [LoadPoint],
}

/// The answer for one goal.
#[derive(Serialize)]
struct GoalShape<'a> {
    goal: String,
    /// The load up to which it was met: the median of the searches.
    met: Option<f64>,
    searches: &'a [Bounds],
    /// Whose limit it is.
    limit: GeneratorStands,
}

/// The answers for programs.
pub fn shape<'a>(kept: &'a Kept, name: &'a StudyName) -> SearchShape<'a> {
    let words = kept.words();
    let param = kept.benchmark.params.get(&kept.policy.load);
    let subjects = kept.verdict.subjects.iter().map(|answer| SubjectShape {
        searched: words.subject(answer.subject),
        trials: answer.trials,
        goals: answer
            .goals
            .iter()
            .map(|goal| GoalShape {
                goal: words.goal(&kept.policy.goals[goal.goal]),
                met: goal.median(),
                searches: &goal.searches,
                limit: goal.generator,
            })
            .collect(),
        loads: &answer.loads,
    });
    SearchShape {
        name: name.as_str(),
        load: kept.policy.load.as_str(),
        unit: param.and_then(|param| param.unit.as_deref()),
        complete: kept.verdict.complete,
        subjects: subjects.collect(),
        sentences: words.sentences(&kept.verdict),
        notes: words.notes(&kept.verdict),
    }
}
