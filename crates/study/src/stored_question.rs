//! The question of a study as it was asked: what it goes on with, and what another study asks again.

use backsight_catalog::{Catalog, Monitors};
use backsight_store::{Store, StudyDocument, StudyRow};
use miette::IntoDiagnostic as _;

use crate::{Choices, Question, verbs::verb};

/// A question with its definitions, as the store has them.
pub struct StoredQuestion {
    /// Everything that was asked with.
    pub documents: Vec<StudyDocument>,
    /// The question, with the choices of its verb.
    pub question: Question,
    /// The definitions as they were when the study began: one result set, one way of measuring.
    pub catalog: Catalog,
}

impl StoredQuestion {
    /// Reads the question of a study.
    ///
    /// # Errors
    /// It was imported; another program wrote it; the store's own.
    pub async fn of_study(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        if verb(&study.verb).is_none() {
            return Err(miette::miette!(
                "study `{}` was imported: nothing here says how it was measured",
                study.name
            ));
        }
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let of_kind = |kind| StudyDocument::of_kind(&documents, kind);
        let monitors = Monitors::from_documents(of_kind("monitor").collect())?;
        let catalog = Catalog::from_documents(of_kind("benchmark").collect())?;
        let catalog = catalog.with_monitors(monitors);
        let catalog = catalog.with_settings(of_kind("setting").collect());
        let plan = of_kind("plan")
            .last()
            .ok_or_else(|| miette::miette!("study `{}` has no plan", study.name))?;
        let choices = Choices::from_study(study).into_diagnostic()?;
        let question = Question {
            plan,
            lab: of_kind("lab").last(),
            along_history: choices.verb.history().is_some(),
            choices,
        };
        Ok(Self {
            documents,
            question,
            catalog,
        })
    }
}
