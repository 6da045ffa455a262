//! The cross-checks of a study's trials, made again of what is stored: the samples, and what monitors printed.

use backsight_catalog::{Catalog, CheckedTrial, cross_checks};
use backsight_model::Cell;
use backsight_report::cross_checks::{
    CrossCheckNumber, CrossCheckOutcome, CrossCheckRow, CrossChecks,
};
use backsight_store::{Store, StoreError, StudyDocument, StudyRow};
use miette::IntoDiagnostic as _;

use crate::{step_records::step_records, stored_study::numbered};

/// The cross-checks of these trials of a study; of all measured ones, if none is named. None if no benchmark of it has any.
///
/// # Errors
/// There is no such trial; a definition is at fault; the store's own.
pub async fn cross_checks_of_study(
    store: &Store,
    study: &StudyRow,
    asked: &[u32],
) -> miette::Result<Option<CrossChecks>> {
    let documents = store.documents(study.id).await.into_diagnostic()?;
    let benchmarks = StudyDocument::of_kind(&documents, "benchmark").collect();
    let catalog = Catalog::from_documents(benchmarks).into_diagnostic()?;
    let cells = store.cells(study.id).await.into_diagnostic()?;
    let trials = store.trials(study.id).await.into_diagnostic()?;
    for number in asked {
        numbered(study, "trial", *number, &trials, |trial| trial.number)?;
    }
    let mut has_checks = false;
    for cell in &cells {
        let definition = catalog.find(&cell.benchmark).into_diagnostic()?;
        has_checks |= definition.is_some_and(|it| !it.benchmark.cross_checks.is_empty());
    }
    if !has_checks {
        return Ok(None);
    }
    let mut rows = Vec::new();
    for trial in &trials {
        let is_asked = match asked {
            [] => true,
            _ => asked.contains(&trial.number),
        };
        if !is_asked || trial.failure.is_some() {
            continue;
        }
        let Some(cell) = cells.get(trial.cell) else {
            continue;
        };
        let Some(definition) = catalog.find(&cell.benchmark).into_diagnostic()? else {
            continue;
        };
        let steps = step_records(store, study.id, trial.number, |step| step.monitor.is_some());
        let (steps, pruned) = match steps.await {
            Ok(steps) => (steps, None),
            Err(StoreError::Pruned { mark, .. }) => (Vec::new(), Some(mark)),
            Err(error) => return Err(error).into_diagnostic(),
        };
        let samples = store.samples(study.id, trial.number).await;
        let samples = samples.into_diagnostic()?;
        let mut checked = cross_checks(&definition.benchmark, &steps, &samples);
        if let Some(mark) = pruned {
            let numbers = checked.iter_mut().flat_map(|check| &mut check.numbers);
            for why in numbers.filter_map(|number| number.as_mut().err()) {
                *why = mark.to_string();
            }
        }
        rows.extend(
            checked
                .iter()
                .map(|checked| row(trial.number, cell, checked)),
        );
    }
    Ok(Some(CrossChecks::new(study.name.as_str(), rows)))
}

fn row(trial: u32, cell: &Cell, checked: &CheckedTrial<'_>) -> CrossCheckRow {
    let sides = checked.check.equal.iter().zip(&checked.numbers);
    let numbers = sides.map(|(side, number)| CrossCheckNumber {
        of: side.to_string(),
        number: number.as_ref().ok().copied(),
        why: number.as_ref().err().cloned(),
    });
    let (difference, percent) = checked.difference().unzip();
    CrossCheckRow {
        trial,
        cell: cell.to_string(),
        check: checked.name.to_owned(),
        about: checked.check.about.clone(),
        outcome: match checked.holds() {
            Some(true) => CrossCheckOutcome::Held,
            Some(false) => CrossCheckOutcome::Failed,
            None => CrossCheckOutcome::NotMade,
        },
        numbers: numbers.collect(),
        difference,
        percent,
        tolerance: checked.check.tolerance,
        slack: checked.check.slack,
    }
}
