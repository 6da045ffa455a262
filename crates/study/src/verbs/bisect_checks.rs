//! Checks of the changes that a bisection names: which tries of the target measured one of them beside the version before it, or
//! a version without it. `bisect` makes such tries itself, users make them with `try --revert`; both count.

use backsight_history::Diff;
use backsight_model::{Amendment, HistoryCell, MetricName, TargetName, Version};
use backsight_report::bisect::{CulpritCheck, CulpritCheckKind};
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;

use super::{
    Verb as _,
    try_patch::{TryReport, TryVerb},
};
use crate::OpenTarget;

/// A change that may have been checked.
#[derive(Debug, Clone)]
pub struct CheckedChange {
    /// What identifies the version before it.
    pub before: String,
    /// What identifies the version with it.
    pub version: String,
    /// What identifies the diff that takes it back, where there is one.
    pub revert: Option<String>,
}

impl CheckedChange {
    /// The change behind one version, up to another. Where there are several versions between them nothing takes it back.
    pub async fn between(target: Option<&OpenTarget>, ends: [&Version; 2], is_one: bool) -> Self {
        let [before, version] = ends.map(|version| version.id.clone());
        let revert = match target {
            Some(target) if is_one => {
                let asked = version.clone();
                let diff = target.query(move |history| Diff::revert(history, &asked));
                diff.await.ok()
            }
            _ => None,
        };
        Self {
            before,
            version,
            revert: revert.map(|diff| diff.amendment.content().to_owned()),
        }
    }

    /// How a side checks it, given the side's base.
    fn kind(&self, base: &Version, side: &Version) -> Option<CulpritCheckKind> {
        if !base.is_plain() {
            return None;
        }
        match &side.amendments[..] {
            [] => (base.id == self.before && side.id == self.version)
                .then_some(CulpritCheckKind::Neighbour),
            [Amendment::Revert { content, .. }] => (base.id == side.id
                && self.revert.as_ref() == Some(content))
            .then_some(CulpritCheckKind::Revert),
            _ => None,
        }
    }
}

/// The checks of each change, oldest first, by the cell and the metric that were bisected.
///
/// # Errors
/// The store's own. A try that can't be judged any more is left out.
pub async fn checks_of_changes(
    store: &Store,
    target: &TargetName,
    (cell, metric): (&HistoryCell, &MetricName),
    changes: &[CheckedChange],
) -> miette::Result<Vec<Vec<CulpritCheck>>> {
    let mut checks = vec![Vec::new(); changes.len()];
    if changes.is_empty() {
        return Ok(checks);
    }
    let studies = store.studies_of_target(target).await.into_diagnostic()?;
    let is_try = |study: &&StudyRow| study.verb == TryVerb::NAME;
    for study in studies.iter().rev().filter(is_try) {
        let versions = store.versions(study.id).await.into_diagnostic()?;
        let found = sides_that_check(&versions, changes);
        if found.is_empty() {
            continue;
        }
        let Ok(report) = TryReport::from_store(store, study).await else {
            continue;
        };
        for (side, change, kind) in found {
            let is_it = |number: usize| {
                let of_try = report.history.cells.get(number);
                of_try.is_some_and(|of_try| of_try.key == cell.key)
            };
            let mut compared = report.verdict.compared.iter();
            let comparison =
                compared.find(|it| it.side == side && it.metric == *metric && is_it(it.cell));
            if let Some(comparison) = comparison {
                checks[change].push(CulpritCheck {
                    study: study.name.clone(),
                    kind,
                    base: versions[0].name.clone(),
                    comparison: comparison.clone(),
                });
            }
        }
    }
    Ok(checks)
}

/// The sides of a try that check a change: the side's number from 1, the change's position, and how.
fn sides_that_check(
    versions: &[Version],
    changes: &[CheckedChange],
) -> Vec<(usize, usize, CulpritCheckKind)> {
    let Some((base, sides)) = versions.split_first() else {
        return Vec::new();
    };
    let sides = sides.iter().enumerate();
    sides
        .flat_map(|(side, version)| {
            let changes = changes.iter().enumerate();
            changes
                .filter_map(move |(change, it)| Some((side + 1, change, it.kind(base, version)?)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(id: &str, amendments: Vec<Amendment>) -> Version {
        Version {
            id: id.to_owned(),
            name: id.to_owned(),
            at: None,
            title: String::new(),
            release: false,
            amendments,
        }
    }

    fn revert(content: &str) -> Amendment {
        Amendment::Revert {
            name: "c14".to_owned(),
            content: content.to_owned(),
        }
    }

    #[test]
    fn a_change_is_checked_beside_its_neighbour_and_by_its_revert_alone() {
        let changes = [CheckedChange {
            before: "c13".to_owned(),
            version: "c14".to_owned(),
            revert: Some("diff".to_owned()),
        }];
        let checks = |versions: &[Version]| sides_that_check(versions, &changes);
        let plain = |id: &str| version(id, Vec::new());

        assert_eq!(
            checks(&[plain("c13"), plain("c15"), plain("c14")]),
            [(2, 0, CulpritCheckKind::Neighbour)]
        );
        let without = version("c60", vec![revert("diff")]);
        assert_eq!(
            checks(&[plain("c60"), without.clone()]),
            [(1, 0, CulpritCheckKind::Revert)]
        );
        // Another base, another change, and two changes at once say nothing about this one.
        assert!(checks(&[plain("c59"), without]).is_empty());
        let other = version("c60", vec![revert("other")]);
        let both = version("c60", vec![revert("diff"), revert("other")]);
        assert!(checks(&[plain("c60"), other, both.clone()]).is_empty());
        assert!(checks(&[both.clone(), both]).is_empty());
        assert!(checks(&[]).is_empty());
    }
}
