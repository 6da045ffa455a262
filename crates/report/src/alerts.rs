//! Alerts: the sentence of each, its view for programs, and the list for a terminal.

use backsight_policy::{
    Alert, AlertKind, AlertMember, AlertState, ChangeStretch, MemberChange, TargetHistory,
    TestHistory,
};
use backsight_stats::{Interval, failures::FailureRate};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    SeriesText, escape,
    findings::{ChangeRangeView, SeriesVersionView},
    list_table, numbers,
};

/// The alerts of targets, the worst first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AlertsView<'a> {
    /// One for each change of the software.
    pub alerts: Vec<AlertView<'a>>,
}

/// What moved at the same versions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AlertView<'a> {
    /// The target.
    pub target: &'a str,
    /// The alert's name: that of the version that most probably made the change.
    pub name: &'a str,
    /// It in a sentence.
    pub sentence: String,
    /// `worse`, `better` or `other`: nobody has said which direction is good.
    pub kind: &'static str,
    /// The versions that it may lie at. Their numbers are places in the target's history.
    pub between: ChangeRangeView<'a>,
    /// The date of the version that names it: RFC 3339.
    pub at: Option<String>,
    /// The size of its worst member, with its interval, as it is shown.
    pub size: String,
    /// The same in percent; nothing of a test, and where the level before was zero.
    pub percent: Option<f64>,
    /// Its interval.
    pub percent_interval: Option<Interval>,
    /// `new`, `investigating`, `confirmed`, `accepted`, `fixed` or `invalid`.
    pub state: &'static str,
    /// Who said so; nothing where nobody did.
    pub by: Option<&'a str>,
    /// Why.
    pub note: Option<&'a str>,
    /// When it was said: RFC 3339.
    pub said: Option<String>,
    /// Whether the level from before came back later.
    pub came_back: bool,
    /// What moved, the worst first.
    pub members: Vec<AlertMemberView<'a>>,
}

/// A change of a series or of a test.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AlertMemberView<'a> {
    /// The series, or the test with its suite and host.
    pub name: String,
    /// `worse`, `better` or `other`.
    pub kind: &'static str,
    /// Its size with its interval, as it is shown; of a test how often it failed.
    pub size: String,
    /// The size in percent; nothing of a test, and where the level before was zero.
    pub percent: Option<f64>,
    /// Its interval.
    pub percent_interval: Option<Interval>,
    /// The versions that it may lie at.
    pub between: ChangeRangeView<'a>,
    /// Whether a bisection named these versions.
    pub bisected: bool,
}

impl<'a> AlertsView<'a> {
    /// The alerts of targets, each with its target's name, history and tests, which come in any order.
    pub fn new(
        alerts: impl IntoIterator<
            Item = (
                &'a str,
                &'a TargetHistory,
                Option<&'a TestHistory>,
                &'a Alert,
            ),
        >,
    ) -> Self {
        let mut alerts: Vec<_> = alerts.into_iter().collect();
        alerts.sort_by_key(|(.., alert)| alert.rank);
        let views = alerts
            .into_iter()
            .map(|(target, history, tests, alert)| AlertView::new(target, history, tests, alert));
        Self {
            alerts: views.collect(),
        }
    }
}

impl<'a> AlertView<'a> {
    /// The view of an alert of this target, whose tests are those that the alerts were made of.
    pub fn new(
        target: &'a str,
        history: &'a TargetHistory,
        tests: Option<&'a TestHistory>,
        alert: &'a Alert,
    ) -> Self {
        let about = About { history, tests };
        let worst = alert.worst();
        let version = history.versions.get(alert.stretch.at);
        let said = match (&alert.acceptance, &alert.triage) {
            (Some(it), _) => Some((it.by.as_str(), Some(it.reason.as_str()), it.at)),
            (None, Some(it)) => Some((it.by.as_str(), it.note.as_deref(), it.at)),
            (None, None) => None,
        };
        Self {
            target,
            name: about.version(alert.stretch.at),
            sentence: about.sentence(alert),
            kind: alert.kind.as_str(),
            between: about.between(alert.stretch),
            at: version.and_then(|it| Some(it.version.at?.to_string())),
            size: about.size(worst),
            percent: worst.percent.map(|(percent, _)| percent),
            percent_interval: worst.percent.map(|(_, interval)| interval),
            state: alert.state().as_str(),
            by: said.map(|(by, ..)| by),
            note: said.and_then(|(_, note, _)| note),
            said: said.map(|(.., at)| at.to_string()),
            came_back: alert.is_fixed,
            members: alert.members.iter().map(|it| about.member(it)).collect(),
        }
    }

    /// Whether it stands so.
    pub fn is_in(&self, states: &[AlertState]) -> bool {
        states.iter().any(|state| state.as_str() == self.state)
    }

    /// `6.1.15..6.1.18`: the last version before it, and the first known to be after it.
    pub fn range(&self) -> String {
        let after = self.between.after.as_ref().map_or("", |it| it.version);
        format!("{after}..{}", self.between.until.version)
    }
}

/// What alerts are about.
#[derive(Clone, Copy)]
struct About<'a> {
    history: &'a TargetHistory,
    tests: Option<&'a TestHistory>,
}

impl<'a> About<'a> {
    /// `tbench throughput and 11 more got worse at 6.1.18: −4.2 % [−4.6, −3.8]; 3 got better`.
    fn sentence(self, alert: &Alert) -> String {
        let worst = alert.worst();
        let count = |kind| alert.members.iter().filter(|it| it.kind == kind).count();
        let more = match count(worst.kind) - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let ChangeStretch { after, at, until } = alert.stretch;
        let is_exact = until == at && after.is_none_or(|after| after + 1 == at);
        let sure = if is_exact { "" } else { "most probably " };
        let mut text = format!(
            "{}{more} {} {sure}at {}: {}",
            self.short_name(worst),
            verb(worst.kind),
            self.version(at),
            self.size(worst)
        );
        for kind in [AlertKind::Other, AlertKind::Better] {
            let others = count(kind);
            if kind != worst.kind && others > 0 {
                text.push_str(&format!("; {others} {}", verb(kind)));
            }
        }
        if alert.is_fixed {
            text.push_str("; the level from before came back");
        }
        text
    }

    /// `tbench throughput`, without what tells its cells apart; of a test its suite and its name.
    fn short_name(self, member: &AlertMember) -> String {
        match member.change {
            MemberChange::Found { series, .. } | MemberChange::Named { series, .. } => {
                let series = &self.history.series[series];
                format!("{} {}", series.cell.benchmark, series.metric.name)
            }
            MemberChange::Test { row, .. } => self.test(row),
        }
    }

    /// `unit parser.quotes`.
    fn test(self, row: usize) -> String {
        let named = self.tests.and_then(|tests| {
            let row = tests.rows.get(row)?;
            Some(format!(
                "{} {}",
                tests.suites.get(row.suite)?.suite,
                row.test
            ))
        });
        named.unwrap_or_default()
    }

    fn size(self, member: &AlertMember) -> String {
        match member.change {
            MemberChange::Found { series, change } => {
                let series = &self.history.series[series];
                SeriesText::new(self.history, series).size(&series.found.changes[change])
            }
            MemberChange::Named { series, named } => {
                let series = &self.history.series[series];
                SeriesText::new(self.history, series).named_size(&series.named[named])
            }
            MemberChange::Test { row, change } => {
                let change = self
                    .tests
                    .and_then(|it| it.rows.get(row)?.changes.get(change));
                change.map_or_else(String::new, |change| {
                    let (after, before) = (failures(change.after), failures(change.before));
                    format!("failed in {after}, before in {before}")
                })
            }
        }
    }

    fn member(self, member: &AlertMember) -> AlertMemberView<'a> {
        AlertMemberView {
            name: match member.change {
                MemberChange::Found { series, .. } | MemberChange::Named { series, .. } => {
                    self.history.series[series].name()
                }
                MemberChange::Test { row, .. } => {
                    let host = self.tests.and_then(|tests| {
                        Some(&tests.suites.get(tests.rows.get(row)?.suite)?.host)
                    });
                    let host = host.map_or_else(String::new, |host| format!(" on {host}"));
                    format!("{}{host}", self.test(row))
                }
            },
            kind: member.kind.as_str(),
            size: self.size(member),
            percent: member.percent.map(|(percent, _)| percent),
            percent_interval: member.percent.map(|(_, interval)| interval),
            between: self.between(member.stretch),
            bisected: member.is_named,
        }
    }

    fn between(self, stretch: ChangeStretch) -> ChangeRangeView<'a> {
        let version = |at: usize| SeriesVersionView {
            number: at + 1,
            version: self.version(at),
            id: (self.history.versions.get(at)).map(|it| it.version.id.as_str()),
        };
        ChangeRangeView {
            after: stretch.after.map(version),
            at: version(stretch.at),
            until: version(stretch.until),
        }
    }

    /// The name of a version.
    fn version(self, at: usize) -> &'a str {
        let version = self.history.versions.get(at);
        version.map_or("", |version| version.version.name.as_str())
    }
}

fn verb(kind: AlertKind) -> &'static str {
    match kind {
        AlertKind::Worse => "got worse",
        AlertKind::Other => "moved",
        AlertKind::Better => "got better",
    }
}

/// `15 of 16 runs`.
fn failures(rate: FailureRate) -> String {
    let runs = usize::try_from(rate.count.runs).unwrap_or(usize::MAX);
    format!(
        "{} of {}",
        rate.count.failures,
        numbers::counted(runs, "run")
    )
}

/// The alerts as a list.
pub fn alerts_table(alerts: &[AlertView<'_>], width: Option<u16>) -> String {
    if alerts.is_empty() {
        return "no alerts\n".to_owned();
    }
    let mut rows = list_table(&["target", "state", "by", "alert", "between"], width);
    for alert in alerts {
        rows.add_row([
            escape::line(alert.target),
            alert.state.to_owned(),
            alert.by.map_or_else(String::new, escape::line),
            escape::line(&alert.sentence),
            escape::line(&alert.range()),
        ]);
    }
    format!("{rows}\n")
}
