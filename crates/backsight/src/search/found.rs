//! What a search found, out of the store, as text and as JSON.
//!
//! Refuses: to remember an answer. It is made anew from the evidence each time, and so is the same each time.

use backsight_catalog::Catalog;
use backsight_model::{Benchmark, Document, StudyName};
use backsight_policy::{SearchPolicy, SearchVerdict};
use backsight_site::SearchWords;
use backsight_store::{Store, StudyRow};
use backsight_study::{Choices, evidence_with_figures};
use miette::IntoDiagnostic as _;

use crate::list::table;

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

/// The answers as a table and sentences.
pub fn text(kept: &Kept) -> String {
    let words = kept.words();
    let mut rows = table(&[
        "searched",
        "goal",
        "met up to",
        "missed at",
        "arrives",
        "searches",
        "limit",
    ]);
    for row in words.rows(&kept.verdict) {
        rows.add_row([
            row.subject,
            row.goal,
            row.met,
            row.missed,
            row.arrives,
            row.searches.to_string(),
            row.limit,
        ]);
    }
    let mut text = format!("{rows}\n\n");
    for sentence in words.sentences(&kept.verdict) {
        text.push_str(&format!("{sentence}\n"));
    }
    for note in words.notes(&kept.verdict) {
        text.push_str(&format!("- {note}\n"));
    }
    text
}

/// The answers as one line of JSON; loads are in the parameter's unit.
pub fn json(kept: &Kept, name: &StudyName) -> serde_json::Value {
    let words = kept.words();
    let param = kept.benchmark.params.get(&kept.policy.load);
    let subjects = kept.verdict.subjects.iter().map(|answer| {
        let goals = answer.goals.iter().map(|goal| {
            serde_json::json!({
                "goal": words.goal(&kept.policy.goals[goal.goal]),
                "met": goal.median(),
                "searches": goal.searches,
                "limit": goal.generator,
            })
        });
        serde_json::json!({
            "searched": words.subject(answer.subject),
            "trials": answer.trials,
            "goals": goals.collect::<Vec<_>>(),
            "loads": answer.loads,
        })
    });
    serde_json::json!({
        "event": "verdict",
        "name": name.as_str(),
        "load": kept.policy.load.as_str(),
        "unit": param.and_then(|param| param.unit.as_deref()),
        "complete": kept.verdict.complete,
        "subjects": subjects.collect::<Vec<_>>(),
        "sentences": words.sentences(&kept.verdict),
        "notes": words.notes(&kept.verdict),
    })
}
