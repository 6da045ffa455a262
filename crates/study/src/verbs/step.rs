//! `step`: versions of a target along its history.

use backsight_model::{HistoryCell, MetricName, TargetName, Version};
use backsight_policy::{StepPolicy, StepVerdict};
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;

use super::{Resumed, Verb};
use crate::{
    Choices, EndedLoop, EndedStudy, HistoryChoices, HistoryStudy, HistoryVerb, PolicyInputs,
    SessionOptions, StepChoices, StudyEnding, StudyOutcome, VerdictReport, open_target::no_target,
};

/// The verb.
pub struct StepVerb;

impl Verb for StepVerb {
    const NAME: &'static str = "step";
    const HAS_REFERENCE: bool = true;
    type Choices = StepChoices;

    fn history(choices: &StepChoices) -> Option<HistoryChoices> {
        Some(HistoryChoices {
            folder: choices.folder.clone(),
            layouts: choices.repeats.layouts.clone(),
            retry: choices.retry,
            builds_ahead: choices.builds_ahead,
            more_testbeds: Vec::new(),
        })
    }

    async fn resume(
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        HistoryStudy::<Self>::resume(resumed, options).await
    }

    async fn judge(_store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        let target = study.target.clone();
        let target = target.ok_or_else(no_target)?;
        Ok(VerdictReport::History(target))
    }
}

/// The metrics of a cell that its benchmark is run for.
fn primary(cell: &HistoryCell) -> Vec<MetricName> {
    let primary = cell.metrics.iter().filter(|metric| metric.primary);
    primary.map(|metric| metric.name.clone()).collect()
}

impl HistoryVerb for StepVerb {
    const SHARES_EVIDENCE: bool = true;
    type Policy = StepPolicy;

    fn policy(inputs: &PolicyInputs<'_>) -> miette::Result<StepPolicy> {
        let choices = inputs.choices.of_verb::<Self>()?;
        Ok(StepPolicy {
            versions: inputs.versions,
            wanted: choices.wanted.clone(),
            skipped: inputs.skipped.to_vec(),
            layouts: choices.repeats.layouts.len(),
            boots: choices.repeats.reboot,
            rounds: choices.repeats.again,
            cells: inputs.cells.iter().map(primary).collect(),
            order: choices.order,
            revisits: inputs.revisits,
            skip_broken: choices.skip_broken,
            until_stable: choices.until_stable,
            seed: inputs.seed,
        })
    }

    fn rounds(choices: &Choices) -> u32 {
        choices
            .of_verb::<Self>()
            .map_or(1, |step| step.repeats.again)
    }

    fn nothing_missing(
        target: &TargetName,
        known: usize,
        verdict: &StepVerdict,
        versions: &[Version],
    ) -> Option<(String, StudyEnding)> {
        let gap = gap(verdict, versions);
        let mut answer = format!(
            "{target}: nothing is missing: {known} trials of this are in the store; `backsight history --target {target}` shows them"
        );
        if let Some(gap) = &gap {
            answer = format!(
                "{target}: nothing new to measure, and {gap} (`--retry` tries again): {known} trials are in the store"
            );
        }
        Some((answer, ending_of(gap.as_deref())))
    }

    async fn conclude(ended: EndedLoop<'_, StepVerdict>) -> miette::Result<EndedStudy> {
        let EndedLoop {
            store,
            study,
            target,
            progress,
        } = ended;
        let name = &study.name;
        let mut notes = Vec::new();
        let mut ending = progress.ending();
        if let Some(verdict) = &progress.verdict {
            if !verdict.broken.is_empty() {
                notes.push(format!(
                    "{name}: {} of the versions don't build or boot",
                    verdict.broken.len()
                ));
            }
            if verdict.stable {
                notes.push(format!(
                    "{name}: ended early: two passes one after the other saw the same change points"
                ));
            }
            let versions = store.versions(study.id).await.into_diagnostic()?;
            if let Some(gap) = gap(verdict, &versions) {
                notes.push(format!("{name}: {gap}"));
                ending = StudyEnding::Failed;
            }
        }
        let verdict = VerdictReport::History(target.clone());
        Ok(EndedStudy {
            notes,
            ..EndedStudy::new(study, verdict, progress, ending)
        })
    }
}

/// What a study of versions can't do without and hasn't got: any measurement, and one of the newest version.
fn gap(verdict: &StepVerdict, versions: &[Version]) -> Option<String> {
    if verdict.measured == 0 {
        return Some("no version could be measured".to_owned());
    }
    let newest = versions.get(verdict.newest_missing?)?;
    Some(format!(
        "the newest version, {}, couldn't be measured",
        newest.full_name()
    ))
}

fn ending_of(gap: Option<&str>) -> StudyEnding {
    match gap {
        Some(_) => StudyEnding::Failed,
        None => StudyEnding::Success,
    }
}
