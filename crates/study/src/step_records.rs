//! The steps of a trial as they were when it was measured, read from the store.

use backsight_model::{StepOutput, StepRecord};
use backsight_store::{KeptOutput, StepRow, Store, StoreError, StudyId};

/// The steps of a trial; what they printed of those that are `wanted`, nothing of the others.
///
/// # Errors
/// The store's own.
pub(crate) async fn step_records(
    store: &Store,
    study: StudyId,
    trial: u32,
    wanted: impl Fn(&StepRow) -> bool,
) -> Result<Vec<StepRecord>, StoreError> {
    let mut records = Vec::new();
    for step in store.steps(study, trial).await? {
        let (stdout, stderr) = match wanted(&step) {
            true => (
                output(store, &step.stdout).await?,
                output(store, &step.stderr).await?,
            ),
            false => Default::default(),
        };
        records.push(StepRecord {
            stdout,
            stderr,
            role: step.role,
            host: step.host,
            phase: step.phase,
            number: step.number,
            command: step.command,
            spawned: step.spawned,
            monitor: step.monitor,
            began: step.began,
            began_monotonic: step.began_monotonic,
            ending: step.ending,
            usage: step.usage,
        });
    }
    Ok(records)
}

async fn output(store: &Store, kept: &KeptOutput) -> Result<StepOutput, StoreError> {
    let bytes = match &kept.raw {
        Some(raw) => store.raw(raw).await?,
        None => Vec::new(),
    };
    Ok(StepOutput {
        bytes,
        printed: kept.printed,
    })
}
