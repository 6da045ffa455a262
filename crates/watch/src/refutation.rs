//! What a bisection named and a verification refuted: its alert is marked as invalid, so that nobody is told.

use backsight_model::{TargetName, TriageState, Version};
use backsight_policy::{AlertMember, MemberChange, VersionSeries};
use backsight_store::Store;
use backsight_study::{AlertStatement, KnownAlerts, triage_alert};
use jiff::Timestamp;

use crate::memory::JobCell;

/// Marks the alert at a version as invalid, if it is about nothing but this series and nobody has said anything of it.
///
/// # Errors
/// The store's own.
pub(crate) async fn mark_invalid(
    store: &Store,
    target: &TargetName,
    job: &str,
    version: &Version,
    series: &JobCell,
) -> miette::Result<()> {
    let KnownAlerts { known, alerts, .. } =
        KnownAlerts::from_store(store, target, Timestamp::now()).await?;
    let history = &known.history;
    let is_ours =
        |it: &VersionSeries| it.cell.to_string() == series.cell && it.metric.name == series.metric;
    let is_named_by_us = |member: &AlertMember| match member.change {
        MemberChange::Named { series, .. } => history.series.get(series).is_some_and(is_ours),
        MemberChange::Found { .. } | MemberChange::Test { .. } => false,
    };
    let alert = alerts.iter().find(|alert| {
        let at = history.versions.get(alert.stretch.at);
        at.is_some_and(|at| at.version.id == version.id)
    });
    let Some(alert) = alert else { return Ok(()) };
    if alert.triage.is_some() || !alert.members.iter().all(is_named_by_us) {
        return Ok(());
    }
    let said = AlertStatement {
        version: version.id.clone(),
        state: TriageState::Invalid,
        note: Some("measured beside the version before it, there is no such difference".to_owned()),
        lies_at: None,
        by: format!("watch {job}"),
    };
    triage_alert(store, target, said).await?;
    Ok(())
}
