//! `reference`: no verb of its own, but what `run` and `step` measure beside on a testbed that always runs the same release.

use backsight_store::{Store, StudyRow};

use super::{Resumed, Verb};
use crate::{ReferenceChoices, ResultsReport, SessionOptions, StudyOutcome, VerdictReport};

/// The verb.
pub struct ReferenceVerb;

impl Verb for ReferenceVerb {
    const NAME: &'static str = "reference";
    type Choices = ReferenceChoices;

    async fn resume(
        resumed: Resumed<'_>,
        _options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        let choices = resumed.question.choices.of_verb::<Self>()?;
        let (study, beside) = (&resumed.study.name, &choices.beside);
        Err(miette::miette!(
            help = format!("go on with that: backsight resume {beside}"),
            "study `{study}` is the reference of `{beside}`, which measures it"
        ))
    }

    async fn judge(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        ResultsReport::from_store(store, study).await
    }
}
