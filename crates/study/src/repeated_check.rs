//! A check of what was checked before: the earlier study is gone on with, so that its builds and its evidence count.
//!
//! It is the same question where versions, patches, cells with what identifies them, metrics and the demands on the answer are the same.
//! A decided one is shown again; one whose budget was spent gets the new budget on top of what it took. That is no second chance: the
//! intervals hold at every look.

use backsight_model::{HistoryCell, Version};
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;
use std::{path::PathBuf, time::Duration};

use crate::{
    BuildContext, Choices, HistoryChoices, TryChoices,
    verbs::{
        Verb as _,
        try_patch::{TryReport, TryVerb},
    },
};

/// The newest study that asked the same and isn't measured right now, with the new budget.
///
/// # Errors
/// The store's.
pub(crate) async fn earlier_check(
    store: &Store,
    site: &BuildContext,
    choices: &Choices,
    cells: &[HistoryCell],
) -> miette::Result<Option<StudyRow>> {
    let asked = choices.of_verb::<TryVerb>()?;
    let target = &site.workshop.target().name;
    for study in store.studies_of_target(target).await.into_diagnostic()? {
        if study.verb != TryVerb::NAME || study.is_measuring() {
            continue;
        }
        let Ok(earlier) = Choices::from_study(&study) else {
            continue;
        };
        let Ok(of_earlier) = earlier.of_verb::<TryVerb>() else {
            continue;
        };
        if of_earlier.check.is_none() || !asks_the_same(of_earlier, asked) {
            continue;
        }
        let report = TryReport::from_store(store, &study).await?;
        let history = &report.history;
        let same = is_same(&history.versions, site.workshop.versions())
            && history.cells.len() == cells.len()
            && history
                .cells
                .iter()
                .zip(cells)
                .all(|(a, b)| a.key == b.key && a.cell == b.cell)
            && history
                .builds
                .iter()
                .all(|build| site.workshop.place(build.version, build.layout).key == build.key);
        if !same {
            continue;
        }
        let budget = asked.budget.map(|budget| budget + report.verdict.spent);
        let is_over = report
            .verdict
            .compared
            .iter()
            .filter(|it| it.decides)
            .all(|it| it.call.is_decided());
        let mut now = choices.clone();
        now.verb = TryChoices {
            first_boot: of_earlier.first_boot,
            budget: if is_over { of_earlier.budget } else { budget },
            ..asked.clone()
        }
        .into();
        let arguments = serde_json::to_string(&now).into_diagnostic()?;
        store
            .set_arguments(study.id, &arguments)
            .await
            .into_diagnostic()?;
        return store.study_of(study.id).await.into_diagnostic().map(Some);
    }
    Ok(None)
}

fn is_same(earlier: &[Version], now: &[Version]) -> bool {
    earlier.len() == now.len()
        && earlier
            .iter()
            .zip(now)
            .all(|(a, b)| a.id == b.id && a.amendments == b.amendments)
}

/// Whether both ask the same, wherever the target's file lies now, and whatever it may take.
fn asks_the_same(earlier: &TryChoices, now: &TryChoices) -> bool {
    let demands = |choices: &TryChoices| TryChoices {
        history: HistoryChoices {
            folder: PathBuf::new(),
            builds_ahead: false,
            ..choices.history.clone()
        },
        budget: Some(Duration::ZERO),
        first_boot: 0,
        called: None,
        check: None,
        ..choices.clone()
    };
    demands(earlier) == demands(now)
}
