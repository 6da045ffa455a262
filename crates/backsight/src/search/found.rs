//! A search out of the store. Its verdict is made anew from the evidence each time, and so is the same each time.

use backsight_catalog::Catalog;
use backsight_model::{Benchmark, Document, StudyName};
use backsight_policy::{SearchPolicy, SearchVerdict};
use backsight_report::search::SearchStudy;
use backsight_store::{Store, StudyRow};
use backsight_study::{Choices, evidence_with_figures};
use miette::IntoDiagnostic as _;

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

    /// The study with its verdict, as it is reported.
    pub fn study<'a>(&'a self, name: &'a StudyName) -> SearchStudy<'a> {
        SearchStudy::new(name, &self.policy, &self.benchmark, &self.verdict)
    }
}
