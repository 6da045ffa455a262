//! What the samplers of a study saw, as a table.

use backsight_exchange::{
    export::{ExportFormat, MonitorWriter},
    table::TableOutput,
};
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;

use crate::{
    pruned_outputs::PrunedOutputs,
    sampler_outputs::{no_sampler_watched, sampler_output},
};

/// Writes every series of every sampler in the trials of a study; how many values there are, and what was pruned.
///
/// # Errors
/// No sampler watched it, the format is no table, it can't be written; the store's own.
pub async fn export_monitors(
    store: &Store,
    study: &StudyRow,
    form: ExportFormat,
    out: TableOutput,
) -> miette::Result<(u64, Vec<String>)> {
    let mut writer = MonitorWriter::new(form, out).into_diagnostic()?;
    let mut pruned = PrunedOutputs::default();
    for trial in store.trials(study.id).await.into_diagnostic()? {
        let steps = store.steps(study.id, trial.number).await;
        for step in steps.into_diagnostic()? {
            let sampled = sampler_output(store, trial.number, &step, &mut pruned).await?;
            let Some((monitor, sampled)) = sampled else {
                continue;
            };
            writer
                .write(trial.number, step.host.as_str(), monitor.as_str(), &sampled)
                .into_diagnostic()?;
        }
    }
    if writer.is_empty() {
        return Err(no_sampler_watched(study, &pruned));
    }
    Ok((writer.finish().into_diagnostic()?, pruned.notes()))
}
