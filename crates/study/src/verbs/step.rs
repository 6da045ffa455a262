//! `step`: versions of a target along its history.

use backsight_model::{HistoryCell, MetricName, TargetName, Version};
use backsight_policy::{StepPolicy, StepVerdict};
use backsight_store::{Store, StudyRow};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use miette::IntoDiagnostic as _;

use super::{MeasuringVerb, Resumed, VerbChoices};
use crate::{
    Choices, EndedStudy, Ending, HistoryStudy, HistoryVerb, Outcome, PolicyInputs, SessionOptions,
    StepChoices, VerdictReport,
    history_study::{EndedLoop, expect_choices},
};

/// The verb's name.
pub const NAME: &str = "step";

/// The entry in the registry.
pub struct Verb;

impl MeasuringVerb for Verb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn resume<'a>(
        &'a self,
        resumed: Resumed<'a>,
        options: &'a SessionOptions,
    ) -> LocalBoxFuture<'a, miette::Result<Outcome>> {
        HistoryStudy::<Step>::resume(resumed, options).boxed_local()
    }

    fn judge<'a>(
        &'a self,
        _store: &'a Store,
        study: &'a StudyRow,
    ) -> LocalBoxFuture<'a, miette::Result<VerdictReport>> {
        async move {
            let target = expect_choices(study.target.as_ref())?;
            Ok(VerdictReport::History(target.clone()))
        }
        .boxed_local()
    }
}

/// `step` along a history.
pub struct Step;

fn of_step(choices: &Choices) -> Option<&StepChoices> {
    match &choices.verb {
        VerbChoices::Step(step) => Some(step),
        _ => None,
    }
}

/// The metrics of a cell that its benchmark is run for.
fn primary(cell: &HistoryCell) -> Vec<MetricName> {
    let primary = cell.metrics.iter().filter(|metric| metric.primary);
    primary.map(|metric| metric.name.clone()).collect()
}

impl HistoryVerb for Step {
    const NAME: &'static str = NAME;
    const SHARES_EVIDENCE: bool = true;
    type Policy = StepPolicy;

    fn policy(inputs: &PolicyInputs<'_>) -> miette::Result<StepPolicy> {
        let choices = expect_choices(of_step(inputs.choices))?;
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
        of_step(choices).map_or(1, |step| step.repeats.again)
    }

    fn nothing_missing(
        target: &TargetName,
        known: usize,
        verdict: &StepVerdict,
        versions: &[Version],
    ) -> Option<(String, Ending)> {
        let gap = gap(verdict, versions);
        let mut said = format!(
            "{target}: nothing is missing: {known} trials of this are in the store; `backsight history --target {target}` shows them"
        );
        if let Some(gap) = &gap {
            said = format!(
                "{target}: nothing new to measure, and {gap} (`--retry` tries again): {known} trials are in the store"
            );
        }
        Some((said, ending_of(gap.as_deref())))
    }

    async fn conclude(ended: EndedLoop<'_, StepVerdict>) -> miette::Result<Outcome> {
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
                ending = Ending::Failed;
            }
        }
        Ok(Outcome::Ended(Box::new(EndedStudy {
            verdict: VerdictReport::History(target.clone()),
            study,
            notes,
            progress: progress.without_verdict(),
            ending,
        })))
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

fn ending_of(gap: Option<&str>) -> Ending {
    match gap {
        Some(_) => Ending::Failed,
        None => Ending::Success,
    }
}
