//! What samplers printed in a trial, read from the store as series.

use backsight_catalog::sampled_series::{SampledSeries, is_of_sampler};
use backsight_model::MonitorName;
use backsight_store::{StepRow, Store, StudyRow};
use miette::IntoDiagnostic as _;

use crate::pruned_outputs::PrunedOutputs;

/// What a step of a trial printed, if it was a sampler; nothing if that was pruned, which is counted.
///
/// # Errors
/// A line that is none of a sampler; the store's own.
pub(crate) async fn sampler_output<'a>(
    store: &Store,
    trial: u32,
    step: &'a StepRow,
    pruned: &mut PrunedOutputs,
) -> miette::Result<Option<(&'a MonitorName, SampledSeries)>> {
    let (Some(monitor), Some(raw)) = (&step.monitor, &step.stdout.raw) else {
        return Ok(None);
    };
    let Some(printed) = pruned.read(store, raw).await.into_diagnostic()? else {
        return Ok(None);
    };
    if !is_of_sampler(&printed) {
        return Ok(None);
    }
    let sampled = SampledSeries::read(&printed)
        .map_err(|why| miette::miette!("monitor `{monitor}` of trial {trial}: {why}"))?;
    Ok(Some((monitor, sampled)))
}

/// What is said of a study that no sampler watched, or of which nothing is left that one saw.
pub(crate) fn no_sampler_watched(study: &StudyRow, pruned: &PrunedOutputs) -> miette::Report {
    let nothing_left = pruned.nothing_left(&format!("what monitors of `{}` saw", study.name));
    nothing_left.unwrap_or_else(|| {
        miette::miette!(
            help = "measure with samplers: backsight run PLAN --monitors cpu,memory",
            "no sampler watched `{}`",
            study.name
        )
    })
}
