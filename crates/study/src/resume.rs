//! Going on with a study that was stopped or killed, or adding rounds to one: by its verb's entry in the registry.

use backsight_model::{Event, StudyState, numbers::counted};
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;
use std::num::NonZeroU32;

use crate::{
    SessionOptions, StoredQuestion, StudyOutcome,
    verbs::{Resumed, VERBS, verb},
};

/// Goes on with a study, for so many rounds more where that is said.
///
/// # Errors
/// The study is running, was imported, or takes no rounds; or as [`crate::verbs::Verb::resume`].
pub async fn resume(
    store: &Store,
    study: StudyRow,
    more: Option<NonZeroU32>,
    options: &SessionOptions,
) -> miette::Result<StudyOutcome> {
    if study.is_measuring() {
        return Err(miette::miette!(
            help = "watch it, or stop it with ^C; then resume",
            "study `{}` is running, in process {}{}",
            study.name,
            study.runner.as_ref().map_or(0, |runner| runner.pid),
            study.host_of_runner()
        ));
    }
    let Some(entry) = verb(&study.verb) else {
        return Err(miette::miette!(
            help =
                "import what was measured since as a study of its own, or all files together again",
            "study `{}` was imported: there is nothing here to go on with",
            study.name
        ));
    };
    if more.is_some() && !entry.takes_rounds {
        let takes = VERBS.iter().filter(|verb| verb.takes_rounds);
        let takes: Vec<String> = takes.map(|verb| format!("`{}`", verb.name)).collect();
        return Err(miette::miette!(
            help = format!(
                "`backsight resume {}` goes on with it; what it may take is its own verb's --budget",
                study.name
            ),
            "study `{}` is of `{}`, which decides itself how much it measures: rounds can be added to studies of {}",
            study.name,
            study.verb,
            takes.join(" and ")
        ));
    }
    let study = hand_in(store, study, options).await?;
    let StoredQuestion {
        documents,
        question,
        catalog,
    } = StoredQuestion::of_study(store, &study).await?;
    let resumed = Resumed {
        store,
        study,
        documents,
        question,
        catalog,
        more,
    };
    entry.resume(resumed, options).await
}

/// Hands in the trials that wait on this controller for the store's server; returns the study with these.
async fn hand_in(
    store: &Store,
    study: StudyRow,
    options: &SessionOptions,
) -> miette::Result<StudyRow> {
    if store.waiting_trials(study.id).into_diagnostic()? == 0 {
        return Ok(study);
    }
    // A store takes trials from the study's own process.
    let set_state = async |state| store.set_state(study.id, state).await.into_diagnostic();
    set_state(StudyState::Running).await?;
    let came = store.deliver_trials(study.id).await;
    set_state(StudyState::Stopped).await?;
    let came = came.into_diagnostic()?;
    if !came.delivered.is_empty() {
        let count = counted(came.delivered.len(), "trial");
        options.events.emit(&Event::Note {
            message: format!("the store has now {count} that waited here for its server"),
        });
    }
    for number in came.replaced {
        options.events.emit(&Event::Warning {
            message: format!(
                "trial {number} waited here for the store's server; another was measured in its place meanwhile, and it is dropped"
            ),
        });
    }
    for (file, why) in came.damaged {
        options.events.emit(&Event::Warning {
            message: format!(
                "a trial waits in {} that can't be read ({why}): it is measured anew",
                file.display()
            ),
        });
    }
    store.study_of(study.id).await.into_diagnostic()
}
