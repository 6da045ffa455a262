//! What verdicts, histories and acceptances of a store refer to: the trials and builds of the versions beside each change. Whatever
//! the rules of keep.toml say, their outputs stay.

use backsight_model::{StudyHistory, TargetName};
use backsight_policy::{TargetHistory, TryCall, TryVerdict, VersionSeries};
use backsight_store::{KeptReferences, RetentionReason, Store, StudyId, StudyRow};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::collections::{BTreeMap, HashMap};

use crate::{
    KnownHistory, VerdictReport,
    verbs::{
        Verb as _,
        run::{RunVerb, until_report},
        try_patch::TryVerb,
    },
};

/// What the verdicts of all studies, the histories of all targets and what was accepted along these refer to.
///
/// # Errors
/// A verdict or a history can't be made: nothing is known then of what it refers to.
pub(crate) async fn retention_references(
    store: &Store,
    studies: &[StudyRow],
    now: Timestamp,
) -> miette::Result<KeptReferences> {
    let mut references = KeptReferences::default();
    for target in store.targets().await.into_diagnostic()? {
        add_history(store, &target, now, &mut references).await?;
    }
    for study in studies {
        let report = match study.verb.as_str() {
            TryVerb::NAME => match TryVerb::judge(store, study).await? {
                VerdictReport::Try(report) => Some(*report),
                _ => None,
            },
            RunVerb::NAME => until_report(store, study).await?,
            _ => None,
        };
        if report.is_some_and(|report| has_differences(&report.verdict)) {
            add_study(store, study, &mut references).await?;
        }
    }
    Ok(references)
}

/// Whether a side is better or worse by some metric.
fn has_differences(verdict: &TryVerdict) -> bool {
    let mut compared = verdict.compared.iter();
    compared.any(|compared| matches!(compared.call, TryCall::Better | TryCall::Worse))
}

/// All trials and builds of a study whose sides differ.
async fn add_study(
    store: &Store,
    study: &StudyRow,
    references: &mut KeptReferences,
) -> miette::Result<()> {
    let trials = store.trials(study.id).await.into_diagnostic()?;
    let trials = trials.iter().map(|trial| (study.id, trial.number));
    (references.trials).extend(trials.map(|trial| (trial, RetentionReason::Change)));
    if study.target.is_some() {
        let history = store.study_history(study.id).await.into_diagnostic()?;
        let builds = history.builds.iter().map(|build| (study.id, build.number));
        (references.builds).extend(builds.map(|build| (build, RetentionReason::Change)));
    }
    Ok(())
}

/// The trials and builds of the versions beside the changes of a target's history.
async fn add_history(
    store: &Store,
    target: &TargetName,
    now: Timestamp,
    references: &mut KeptReferences,
) -> miette::Result<()> {
    let known = KnownHistory::without_samples(store, target, now).await?;
    let mut versions = changed_versions(&known.history);
    for acceptance in store.acceptances(target).await.into_diagnostic()? {
        for version in accepted_versions(&known.history, &acceptance.version) {
            (versions.entry(version)).or_insert(RetentionReason::Acceptance);
        }
    }
    let reasons: HashMap<&str, RetentionReason> = versions
        .iter()
        .filter_map(|(at, reason)| Some((known.history.versions.get(*at)?, *reason)))
        .map(|(version, reason)| (version.version.id.as_str(), reason))
        .collect();
    for study in &known.studies {
        add_versions(study, &reasons, references);
    }
    Ok(())
}

/// The versions beside each change that a history has or a bisection named.
fn changed_versions(history: &TargetHistory) -> BTreeMap<usize, RetentionReason> {
    let of_series = |series: &VersionSeries| -> Vec<usize> {
        let found = series.believed().flat_map(|change| {
            let after = change.after.or(change.at.checked_sub(1));
            [after, Some(change.at), Some(change.until)]
        });
        let named = (series.named.iter()).flat_map(|named| [Some(named.after), Some(named.at)]);
        found.chain(named).flatten().collect()
    };
    let versions = history.series.iter().flat_map(of_series);
    versions
        .map(|version| (version, RetentionReason::Change))
        .collect()
}

/// An accepted version and, of each series, the one that was measured before it: the change lies between them.
fn accepted_versions(history: &TargetHistory, id: &str) -> Vec<usize> {
    let mut versions = history.versions.iter();
    let Some(accepted) = versions.position(|version| version.version.id == id) else {
        return Vec::new();
    };
    let before = history.series.iter().filter_map(|series| {
        let points = series.points.iter().map(|point| point.version);
        points.filter(|version| *version < accepted).max()
    });
    before.chain([accepted]).collect()
}

/// The builds of these versions in a study, and the trials on them.
fn add_versions(
    study: &StudyHistory,
    reasons: &HashMap<&str, RetentionReason>,
    references: &mut KeptReferences,
) {
    let id = StudyId(study.study);
    let builds: HashMap<u32, RetentionReason> = study
        .builds
        .iter()
        .filter_map(|build| {
            let version = study.versions.get(build.version)?;
            Some((build.number, *reasons.get(version.id.as_str())?))
        })
        .collect();
    let boots: HashMap<u32, RetentionReason> = study
        .boots
        .iter()
        .filter_map(|boot| Some((boot.number, *builds.get(&boot.build)?)))
        .collect();
    let trials = study.trials.iter();
    let trials = trials.filter_map(|trial| Some(((id, trial.number), *boots.get(&trial.boot)?)));
    references.trials.extend(trials);
    let builds = builds.into_iter();
    (references.builds).extend(builds.map(|(number, reason)| ((id, number), reason)));
}
