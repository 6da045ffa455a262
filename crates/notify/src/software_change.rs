//! Changes of the software as they are told: what an alert says, without the history that it was made of.

use backsight_model::TargetName;
use backsight_policy::{
    Alert, AlertKind, AlertMember, AlertState, ChangeStretch, MemberChange, TargetHistory,
};
use backsight_report::{alerts::AlertView, chart::history_picture, clipped, escape};
use backsight_site::alert_pages;
use backsight_store::Store;
use backsight_study::KnownAlerts;
use jiff::Timestamp;
use std::fmt;

/// Longest text of others that goes into a message, in characters.
const LONGEST: usize = 300;
/// Longest note.
const LONGEST_NOTE: usize = 2000;

/// A change of the software. Its texts are fit to be shown: one line each, with marks in the place of what isn't seen.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftwareChange {
    /// The target.
    pub target: TargetName,
    /// The identity of the version that names it.
    pub version: String,
    /// That version's name.
    pub name: String,
    /// What that version says of itself: a commit's subject; may be empty.
    pub title: String,
    /// When that version was made.
    pub made: Option<Timestamp>,
    /// Where it lies, by places in the target's history.
    pub stretch: ChangeStretch,
    /// The last version known to be before it: identity and name.
    pub after: Option<(String, String)>,
    /// The first version known to be after it: identity and name.
    pub until: (String, String),
    /// For better or for worse.
    pub kind: AlertKind,
    /// How it stands.
    pub state: ChangeState,
    /// Who said so, if anybody did.
    pub by: Option<String>,
    /// Why.
    pub note: Option<String>,
    /// It in a sentence.
    pub sentence: String,
    /// What moved, the worst first.
    pub moved: Vec<MovedSeries>,
    /// The page of the alert, from the root of the site.
    pub page: Option<String>,
}

/// A series or a test that moved.
#[derive(Debug, Clone, PartialEq)]
pub struct MovedSeries {
    /// What it is called.
    pub name: String,
    /// Its benchmark or suite.
    pub benchmark: String,
    /// For better or for worse.
    pub kind: AlertKind,
    /// Its size with its interval, as it is shown; of a test how often it failed.
    pub size: String,
    /// The size in percent; nothing of a test, and where the level before was zero.
    pub percent: Option<f64>,
    /// The probability that it changed, or, where a bisection says so, that it changed there.
    pub probability: Option<f64>,
}

/// How a change stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeState {
    /// As its alert does.
    Alert(AlertState),
    /// No alert is about it any more: later measurements don't show it.
    Withdrawn,
}

impl ChangeState {
    /// Whether somebody still has to deal with it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Alert(state) if state.is_open())
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alert(state) => state.as_str(),
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl fmt::Display for ChangeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The changes of a target, with what they are matched and drawn by.
pub struct TargetChanges {
    /// The target.
    pub target: TargetName,
    /// The identities of all versions of its history, the oldest first.
    pub versions: Vec<String>,
    /// Its changes, the worst first.
    pub changes: Vec<SoftwareChange>,
    /// What couldn't be taken into account.
    pub notes: Vec<String>,
    /// What they were made of; nothing where they were made by hand.
    known: Option<KnownAlerts>,
}

impl TargetChanges {
    /// These changes of a target whose history has these versions.
    pub fn new(target: TargetName, versions: Vec<String>, changes: Vec<SoftwareChange>) -> Self {
        Self {
            target,
            versions,
            changes,
            notes: Vec::new(),
            known: None,
        }
    }

    /// The changes that a store knows of a target, as they are accepted `now`.
    ///
    /// # Errors
    /// The store's own.
    pub async fn from_store(
        store: &Store,
        target: &TargetName,
        now: Timestamp,
    ) -> miette::Result<Self> {
        let known = KnownAlerts::from_store(store, target, now).await?;
        let history = &known.known.history;
        let versions = history.versions.iter().map(|it| &it.version);
        let pages = alert_pages(
            target.as_str(),
            versions
                .clone()
                .map(|it| (it.name.as_str(), it.id.as_str())),
        );
        let changes = known.alerts.iter().map(|alert| {
            let page = pages.get(alert.stretch.at).cloned();
            software_change(target, &known, alert, page)
        });
        Ok(Self {
            target: target.clone(),
            versions: versions.map(|it| it.id.clone()).collect(),
            changes: changes.collect(),
            notes: known.known.left_out.clone(),
            known: Some(known),
        })
    }

    /// The course of what moved most with a change, as an SVG document of its own; nothing of tests.
    pub fn picture(&self, change: usize) -> Option<String> {
        let known = self.known.as_ref()?;
        let mut series = known
            .alerts
            .get(change)?
            .members
            .iter()
            .filter_map(series_of);
        let history = &known.known.history;
        history_picture(history, &history.series[series.next()?])
    }
}

impl SoftwareChange {
    /// Whether it is known at which version it lies.
    pub fn is_located(&self) -> bool {
        let ChangeStretch { after, at, until } = self.stretch;
        until == at && after.is_some_and(|after| after + 1 == at)
    }

    /// A change that was told, and that no alert is about any more.
    pub(crate) fn withdrawn(told: &backsight_store::ToldChange, stretch: ChangeStretch) -> Self {
        Self {
            target: told.target.clone(),
            version: told.version.clone(),
            name: shown(&told.name),
            title: String::new(),
            made: None,
            stretch,
            after: None,
            until: (told.version.clone(), shown(&told.name)),
            kind: AlertKind::Other,
            state: ChangeState::Withdrawn,
            by: None,
            note: None,
            sentence: format!(
                "the change at {} isn't seen any more: what was measured since doesn't show it",
                shown(&told.name)
            ),
            moved: Vec::new(),
            page: None,
        }
    }
}

/// A text of others on one line.
fn shown(text: &str) -> String {
    clipped(&escape::line(text), LONGEST)
}

fn series_of(member: &AlertMember) -> Option<usize> {
    match member.change {
        MemberChange::Found { series, .. } | MemberChange::Named { series, .. } => Some(series),
        MemberChange::Test { .. } => None,
    }
}

fn software_change(
    target: &TargetName,
    known: &KnownAlerts,
    alert: &Alert,
    page: Option<String>,
) -> SoftwareChange {
    let history = &known.known.history;
    let view = AlertView::new(target.as_str(), history, Some(&known.tests), alert);
    let version = |at: usize| {
        let version = &history.versions[at].version;
        (version.id.clone(), shown(&version.name))
    };
    let at = &history.versions[alert.stretch.at].version;
    let moved = alert.members.iter().zip(&view.members);
    SoftwareChange {
        target: target.clone(),
        version: at.id.clone(),
        name: shown(&at.name),
        title: shown(&at.title),
        made: at.at,
        stretch: alert.stretch,
        after: alert.stretch.after.map(version),
        until: version(alert.stretch.until),
        kind: alert.kind,
        state: ChangeState::Alert(alert.state()),
        by: view.by.map(shown),
        note: view
            .note
            .map(|note| clipped(&escape::line(note), LONGEST_NOTE)),
        sentence: shown(&view.sentence),
        moved: moved
            .map(|(member, view)| MovedSeries {
                name: shown(&view.name),
                benchmark: benchmark(known, member),
                kind: member.kind,
                size: shown(&view.size),
                percent: view.percent,
                probability: probability(history, member),
            })
            .collect(),
        page,
    }
}

/// The benchmark or the suite.
fn benchmark(known: &KnownAlerts, member: &AlertMember) -> String {
    match member.change {
        MemberChange::Found { series, .. } | MemberChange::Named { series, .. } => {
            known.known.history.series[series]
                .cell
                .benchmark
                .to_string()
        }
        MemberChange::Test { row, .. } => {
            let suite = known.tests.rows.get(row);
            let suite = suite.and_then(|row| known.tests.suites.get(row.suite));
            let name = suite.and_then(|suite| suite.suite.split_whitespace().next());
            name.unwrap_or_default().to_owned()
        }
    }
}

fn probability(history: &TargetHistory, member: &AlertMember) -> Option<f64> {
    match member.change {
        MemberChange::Found { series, change } => {
            let change = &history.series[series].found.changes[change];
            change.adjusted.map(|chance| 1.0 - chance)
        }
        MemberChange::Named { series, named } => {
            Some(history.series[series].named[named].probability)
        }
        MemberChange::Test { .. } => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A change for the worse of `app` at `v4`, the fourth of six versions.
    pub(crate) fn change() -> SoftwareChange {
        let moved = |name: &str, benchmark: &str, size: &str, percent, probability| MovedSeries {
            name: name.to_owned(),
            benchmark: benchmark.to_owned(),
            kind: AlertKind::Worse,
            size: size.to_owned(),
            percent,
            probability,
        };
        SoftwareChange {
            target: "app".parse().unwrap(),
            version: id(3),
            name: "v4".to_owned(),
            title: "flush every write".to_owned(),
            made: Some("2026-11-26T12:00:00Z".parse().unwrap()),
            stretch: ChangeStretch {
                after: Some(2),
                at: 3,
                until: 3,
            },
            after: Some((id(2), "v3".to_owned())),
            until: (id(3), "v4".to_owned()),
            kind: AlertKind::Worse,
            state: ChangeState::Alert(AlertState::New),
            by: None,
            note: None,
            sentence: "work time and 1 more got worse at v4: +12.0 % [+11.2, +12.8]".to_owned(),
            moved: vec![
                moved(
                    "work time",
                    "work",
                    "+12.0 % [+11.2, +12.8]",
                    Some(12.0),
                    Some(0.9995),
                ),
                moved(
                    "unit disk/write on lab",
                    "unit",
                    "failed in 12 of 12 runs, before in 0 of 12 runs",
                    None,
                    None,
                ),
            ],
            page: Some("app/c/v4.html".to_owned()),
        }
    }

    /// The identity of a version.
    pub(crate) fn id(place: usize) -> String {
        format!("{place:040x}")
    }

    /// These changes of `app`, whose history has six versions.
    pub(crate) fn changes(changes: Vec<SoftwareChange>) -> TargetChanges {
        let versions = (0..6).map(id).collect();
        TargetChanges::new("app".parse().unwrap(), versions, changes)
    }
}
