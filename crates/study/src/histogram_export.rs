//! The histograms that probes of a study kept, read from the store.

use std::time::Duration;

use backsight_exchange::export::ProbeHistogram;
use backsight_model::{Ending, phase_prefix};
use backsight_store::{StepRow, Store, StudyRow};
use miette::IntoDiagnostic as _;
use serde::Deserialize;

use crate::pruned_outputs::PrunedOutputs;

/// The part of a probe's report that is its histogram; what else a monitor prints as JSON has none.
#[derive(Deserialize)]
struct ReportedHistogram {
    histogram: Vec<(u64, u64)>,
}

/// The histograms of every probe in the trials of a study, and what was pruned.
///
/// # Errors
/// No probe watched it; the store's own.
pub async fn probe_histograms(
    store: &Store,
    study: &StudyRow,
) -> miette::Result<(Vec<ProbeHistogram>, Vec<String>)> {
    let (mut found, mut pruned) = (Vec::new(), PrunedOutputs::default());
    for trial in store.trials(study.id).await.into_diagnostic()? {
        let steps = store.steps(study.id, trial.number).await;
        for step in steps.into_diagnostic()? {
            found.extend(histogram_of_step(store, trial.number, &step, &mut pruned).await?);
        }
    }
    if found.is_empty() {
        let asked = format!("what monitors of `{}` saw", study.name);
        if let Some(nothing_left) = pruned.nothing_left(&asked) {
            return Err(nothing_left);
        }
        return Err(miette::miette!(
            help = "measure with one: backsight run PLAN --monitors probe-timer",
            "no probe watched `{}`",
            study.name
        ));
    }
    Ok((found, pruned.notes()))
}

async fn histogram_of_step(
    store: &Store,
    trial: u32,
    step: &StepRow,
    pruned: &mut PrunedOutputs,
) -> miette::Result<Option<ProbeHistogram>> {
    let (Some(monitor), Some(raw)) = (&step.monitor, &step.stdout.raw) else {
        return Ok(None);
    };
    if step.ending != Ending::Stopped {
        return Ok(None);
    }
    let Some(printed) = pruned.read(store, raw).await.into_diagnostic()? else {
        return Ok(None);
    };
    let Ok(report) = serde_json::from_slice::<ReportedHistogram>(&printed) else {
        return Ok(None);
    };
    let (phase, host) = (phase_prefix(step.phase), &step.host);
    Ok(Some(ProbeHistogram {
        tag: format!("trial-{trial}.{phase}{host}.{monitor}"),
        began: Duration::try_from(step.began.duration_since(jiff::Timestamp::UNIX_EPOCH))
            .unwrap_or_default(),
        took: Duration::try_from_secs_f64(step.usage.wall).unwrap_or_default(),
        counts: report.histogram,
    }))
}
