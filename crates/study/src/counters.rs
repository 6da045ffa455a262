//! How much the counters of samplers rose in each trial of a study, read from the store.

use backsight_catalog::sampled_series::MISSING;
use backsight_model::{Cell, Ending, Phase};
use backsight_report::counters::{CounterGroup, CounterName, CounterRise, Counters, TrialCounters};
use backsight_store::{Store, StudyRow, TrialRow};
use miette::IntoDiagnostic as _;
use std::collections::HashMap;

use crate::{
    known_counters::KnownCounters,
    pruned_outputs::PrunedOutputs,
    sampler_outputs::{no_sampler_watched, sampler_output},
    stored_study::numbered,
};

/// The counters of these trials of a study, the most unusual first; of all its measured trials the most unusual ones, if none is named.
///
/// # Errors
/// There is no such trial, no sampler watched the study; the store's own.
pub async fn counters(store: &Store, study: &StudyRow, asked: &[u32]) -> miette::Result<Counters> {
    let rows = store.trials(study.id).await.into_diagnostic()?;
    for number in asked {
        numbered(study, "trial", *number, &rows, |trial| trial.number)?;
    }
    let cells = store.cells(study.id).await.into_diagnostic()?;
    let builds = builds_of_boots(store, study).await?;
    let mut known = KnownCounters::of_study(store, study).await?;
    let (mut trials, mut pruned) = (Vec::new(), PrunedOutputs::default());
    for row in &rows {
        let rises = rises(store, study, row, &mut known, &mut pruned).await?;
        trials.push(TrialCounters {
            number: row.number,
            cell: cells.get(row.cell).map(Cell::to_string).unwrap_or_default(),
            group: CounterGroup {
                cell: row.cell,
                build: builds.get(&row.boot).copied().unwrap_or(0),
            },
            measured: row.failure.is_none(),
            rises,
        });
    }
    if trials.iter().all(|trial| trial.rises.is_empty()) {
        return Err(no_sampler_watched(study, &pruned));
    }
    for trial in &mut trials {
        trial.rises.retain(|rise| {
            let counter = &rise.counter;
            known.is_counter(&counter.monitor, &counter.series)
        });
    }
    let counters = Counters::new(study.name.as_str(), &trials, asked);
    Ok(counters.with_notes(pruned.notes()))
}

/// By how much each series of each sampler rose in a trial.
async fn rises(
    store: &Store,
    study: &StudyRow,
    trial: &TrialRow,
    known: &mut KnownCounters,
    pruned: &mut PrunedOutputs,
) -> miette::Result<Vec<CounterRise>> {
    let mut rises = Vec::new();
    let steps = store.steps(study.id, trial.number).await;
    for step in steps.into_diagnostic()? {
        if step.phase != Phase::Run {
            continue;
        }
        let sampled = sampler_output(store, trial.number, &step, pruned).await?;
        let Some((monitor, sampled)) = sampled else {
            continue;
        };
        known.read(monitor, &sampled);
        // One that ended by itself counted for a part of `run` only.
        if step.ending != Ending::Stopped || sampled.fault.is_some() {
            continue;
        }
        let seen_twice = sampled.series.iter().filter(|(_, values)| {
            let seen = values.iter().filter(|value| **value != MISSING);
            seen.count() > 1
        });
        for (series, _) in seen_twice {
            rises.push(CounterRise {
                counter: CounterName {
                    role: step.role.clone(),
                    host: step.host.clone(),
                    monitor: monitor.clone(),
                    series: series.clone(),
                },
                rise: sampled.increases(&[series]).iter().sum(),
            });
        }
    }
    Ok(rises)
}

/// The build of each boot.
async fn builds_of_boots(store: &Store, study: &StudyRow) -> miette::Result<HashMap<u32, u32>> {
    if study.target.is_none() {
        return Ok(HashMap::new());
    }
    let history = store.study_history(study.id).await.into_diagnostic()?;
    let boots = history.boots.into_iter();
    Ok(boots.map(|boot| (boot.number, boot.build)).collect())
}
