//! A change that a standing job found, as it is told.

use backsight_model::{StudyName, TargetName, Version, numbers::percent_in};
use backsight_policy::{TryComparison, WatchFinding};
use backsight_store::{Store, WatchStudyPurpose};
use backsight_study::VerdictReport;
use miette::IntoDiagnostic as _;

use crate::{
    memory::JobMemory,
    names::{named, series_name},
};

/// A change that a standing job found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChange {
    /// The target.
    pub target: TargetName,
    /// The version before it.
    pub after: Version,
    /// The first version with it; of a stretch the last that may be it.
    pub until: Version,
    /// What moved: the cell and the metric.
    pub series: String,
    /// The version beside the one before it; none of a stretch.
    pub difference: Option<TryComparison>,
    /// The newest version without the change beside itself, where that was measured.
    pub reverted: Option<TryComparison>,
    /// Whether it was verified.
    pub is_verified: bool,
    /// The study that measured it side by side, if one did.
    pub verification: Option<StudyName>,
}

impl FoundChange {
    pub(crate) async fn new(
        store: &Store,
        job: &str,
        target: &TargetName,
        memory: &JobMemory,
        finding: &WatchFinding,
        pair: &str,
    ) -> miette::Result<Self> {
        let place = finding.place;
        let mut verified = memory.evidence.verifications.iter();
        let verified = verified.position(|it| it.version == place.until && it.cell == finding.cell);
        let verification = verified.map(|number| memory.verifications[number].study.clone());
        let difference = match &verification {
            Some(study) if finding.is_verified => compared(store, study).await?,
            _ => None,
        };
        // The revert was perhaps begun only now.
        let begun = store.watch_studies(job, target).await.into_diagnostic()?;
        let revert = begun
            .iter()
            .find(|it| it.purpose == WatchStudyPurpose::Revert && it.question == pair);
        let reverted = match revert {
            Some(revert) => compared(store, &revert.study).await?,
            None => None,
        };
        Ok(Self {
            target: target.clone(),
            after: memory.versions[place.after].clone(),
            until: memory.versions[place.until].clone(),
            series: series_name(&memory.cells[finding.cell]),
            difference,
            reverted,
            is_verified: finding.is_verified,
            verification,
        })
    }

    /// It in a sentence.
    pub fn sentence(&self) -> String {
        let series = &self.series;
        if !self.is_verified {
            return format!(
                "{}: {series} changed between {} and {}; which version it was isn't decided",
                self.target,
                named(&self.after),
                named(&self.until)
            );
        }
        let size = self.difference.as_ref().and_then(size);
        let size = size.map_or_else(String::new, |size| format!(" by {size}"));
        let reverted = self.reverted.as_ref().and_then(size_of_revert);
        let reverted = reverted.unwrap_or_default();
        format!(
            "{}: {} changed {series}{size}, measured beside the version before it{reverted}",
            self.target,
            named(&self.until)
        )
    }
}

/// The comparison that a study of `try` was made for; none where it doesn't say anything yet.
async fn compared(store: &Store, study: &StudyName) -> miette::Result<Option<TryComparison>> {
    let Ok(row) = store.study(study.as_str()).await else {
        return Ok(None);
    };
    let VerdictReport::Try(report) = VerdictReport::from_store(store, &row).await? else {
        return Ok(None);
    };
    let mut compared = report.verdict.compared.into_iter();
    Ok(compared.find(|it| it.decides))
}

fn size(compared: &TryComparison) -> Option<String> {
    Some(percent_in(compared.percent?, compared.percent_interval))
}

fn size_of_revert(compared: &TryComparison) -> Option<String> {
    let size = size(compared)?;
    Some(format!("; taken back on top of the newest version: {size}"))
}
