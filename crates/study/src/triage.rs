//! What people say of changes and versions: how an alert stands, that a change is accepted, notes. Versions are named as for `bisect`.

use backsight_model::{Acceptance, Annotation, TargetName, Triage, TriageState};
use backsight_policy::{TargetHistory, alert_at, can_lie_at};
use backsight_report::escape;
use backsight_store::Store;
use jiff::Timestamp;
use miette::IntoDiagnostic as _;

use crate::{KnownAlerts, KnownHistory, find_version, known_metric, known_versions};

/// How somebody says that an alert stands.
#[derive(Debug, Clone)]
pub struct AlertStatement {
    /// The version that names the alert, or another that it may lie at.
    pub version: String,
    /// How it stands.
    pub state: TriageState,
    /// Why, or what comes next.
    pub note: Option<String>,
    /// The version that it lies at, where who says it knows better.
    pub lies_at: Option<String>,
    /// Who says it.
    pub by: String,
}

/// Keeps how an alert stands.
///
/// # Errors
/// There is no such version, or no alert lies at it; it can't lie where it is said to; the store's own.
pub async fn triage_alert(
    store: &Store,
    target: &TargetName,
    said: AlertStatement,
) -> miette::Result<Triage> {
    let at = Timestamp::now();
    let KnownAlerts { known, alerts, .. } = KnownAlerts::from_store(store, target, at).await?;
    let versions = &known.history.versions;
    let (id, name) = find_version(store, target, &known.history, &said.version).await?;
    let place = versions.iter().position(|it| it.version.id == id);
    let Some(alert) = place.and_then(|place| alert_at(&alerts, place)) else {
        return Err(miette::miette!(
            help = format!("`backsight alerts --target {target}` lists what there is"),
            "no alert lies at {}",
            escape::line(&name)
        ));
    };
    let version = &versions[alerts[alert].stretch.at].version;
    let mut lies_at = None;
    if let Some(asked) = &said.lies_at {
        let (id, name) = find_version(store, target, &known.history, asked).await?;
        let to = versions.iter().position(|it| it.version.id == id);
        if !to.is_some_and(|to| can_lie_at(&alerts, alert, to)) {
            return Err(miette::miette!(
                help = "a version that it may lie at, and that names no other alert",
                "the alert of {} can't lie at {}",
                escape::line(&version.name),
                escape::line(&name)
            ));
        }
        lies_at = Some(id);
    }
    let triage = Triage {
        target: target.clone(),
        version: version.id.clone(),
        name: version.name.clone(),
        state: said.state,
        note: said.note,
        lies_at,
        by: said.by,
        at,
    };
    store.record_triage(&triage).await.into_diagnostic()?;
    Ok(triage)
}

/// That somebody accepts a change.
#[derive(Debug, Clone)]
pub struct AcceptanceStatement {
    /// The version that made it.
    pub version: String,
    /// Only by this metric.
    pub metric: Option<String>,
    /// Why.
    pub reason: String,
    /// What those do who can't live with it.
    pub work_around: Option<String>,
    /// Who accepts it.
    pub by: String,
    /// Until when; for ever unless said.
    pub until: Option<Timestamp>,
}

/// Keeps that a change is accepted. Returns it with the history in which it is.
///
/// # Errors
/// The reason is empty, the time is over, there is no such version or metric; the store's own.
pub async fn accept_change(
    store: &Store,
    target: &TargetName,
    said: AcceptanceStatement,
) -> miette::Result<(Acceptance, TargetHistory)> {
    let known = KnownHistory::without_samples(store, target, Timestamp::now()).await?;
    let mut history = known.history;
    let (version, name) = find_version(store, target, &history, &said.version).await?;
    let reason = said.reason.trim();
    if reason.is_empty() {
        return Err(miette::miette!(
            help = "say it in a sentence: --reason \"spilling is what makes it safe\"",
            "the reason is empty"
        ));
    }
    if let Some(metric) = &said.metric {
        known_metric(metric, &history.series)?;
    }
    let at = Timestamp::now();
    if said.until.is_some_and(|until| until <= at) {
        return Err(miette::miette!(
            help = "name a day to come; or leave out --until",
            "it would be over already"
        ));
    }
    let acceptance = Acceptance {
        target: target.clone(),
        version,
        name,
        metric: said.metric,
        reason: reason.to_owned(),
        work_around: said.work_around,
        by: said.by,
        at,
        until: said.until,
    };
    store.accept(&acceptance).await.into_diagnostic()?;
    history.accept(std::slice::from_ref(&acceptance), at);
    Ok((acceptance, history))
}

/// A note that somebody puts beside a version.
#[derive(Debug, Clone)]
pub struct AnnotationStatement {
    /// The version.
    pub version: String,
    /// What there is to know.
    pub text: String,
    /// Who says it.
    pub by: String,
}

/// Keeps a note beside a version; returns it with its number.
///
/// # Errors
/// The text is empty, or there is no such version; the store's own.
pub async fn annotate_version(
    store: &Store,
    target: &TargetName,
    said: AnnotationStatement,
) -> miette::Result<(i64, Annotation)> {
    let text = said.text.trim();
    if text.is_empty() {
        return Err(miette::miette!(
            help = "say it in a sentence: \"the machine was moved\"",
            "the note is empty"
        ));
    }
    let known = known_versions(store, target).await?;
    let (version, name) = find_version(store, target, &known, &said.version).await?;
    let note = Annotation {
        target: target.clone(),
        version,
        name,
        text: text.to_owned(),
        by: said.by,
        at: Timestamp::now(),
    };
    let number = store.annotate(&note).await.into_diagnostic()?;
    Ok((number, note))
}
