//! Alerts: one for each change of the software, whatever moved with it.
//!
//! In: a target's history and the history of its tests. Out: the alerts, the worst first. Every change that is believed, or that only a
//! bisection named, of every series and every test is a member of exactly one alert; what may have moved at the same version is one
//! alert. What an alert is called is its version's name: no two have the same.
//!
//! The worst first ([`AlertRank`]): what is over (fixed, accepted or invalid) is last. Then what became worse is before
//! what moved without a direction, and that before what became better. Within these the worst member decides: a test that fails now,
//! then primary metrics, tests that fail more or less often, secondary metrics and those of monitors; within these its size. A size is
//! the least that the interval leaves possible, in percent, and sizes are alike until one is twice as large: of alike ones
//! the newest is first. So +0.2 % is never beside +10 %, and a new alert isn't below an old one that is hardly larger.

mod clusters;

pub use clusters::ChangeStretch;

use backsight_model::{Acceptance, MetricFamily, Triage, TriageState};
use backsight_stats::{Interval, failures::FailureChange};
use jiff::Timestamp;
use std::{
    cmp::{Ordering, Reverse},
    collections::HashMap,
};

use crate::{
    ChangeDirection, ChangePoint, NamedChange, TargetHistory, TestConcern, TestHistory, TestRow,
    VersionSeries, change_percent,
};
use clusters::{LocatedChange, cluster};

/// What moved at the same versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// Where it lies: what the stretches of all members that contain `at` have in common. `at` names the alert.
    pub stretch: ChangeStretch,
    /// What moved, the worst first; at least one.
    pub members: Vec<AlertMember>,
    /// Worse if any member is.
    pub kind: AlertKind,
    /// Whether the level from before came back later: of every member of the worst one's sort of which that can be told.
    pub is_fixed: bool,
    /// The acceptance of the worst member, where all that may lie at `at` are accepted.
    pub acceptance: Option<Acceptance>,
    /// What was said of it last: see [`triage_alerts`].
    pub triage: Option<Triage>,
    /// Its place among alerts of all targets: the least is shown first.
    pub rank: AlertRank,
}

/// For better or for worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlertKind {
    /// For the worse.
    Worse,
    /// Nobody has said which direction is good.
    Other,
    /// For the better.
    Better,
}

/// How an alert stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlertState {
    /// Nobody has said anything of it.
    New,
    /// Somebody looks into it.
    Investigating,
    /// The software did change.
    Confirmed,
    /// The change is known, and its reason is good.
    Accepted,
    /// Somebody said so; or nobody said anything, and the level came back.
    Fixed,
    /// The software didn't change.
    Invalid,
}

/// A change of a series or of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertMember {
    /// Which change.
    pub change: MemberChange,
    /// The versions that it may lie at.
    pub stretch: ChangeStretch,
    /// Whether a bisection named these versions.
    pub is_named: bool,
    /// For better or for worse.
    pub kind: AlertKind,
    /// Its size in percent of the level before, with its interval; none of a test, and where the level before was zero.
    pub percent: Option<(f64, Interval)>,
    /// Whether the level from before came back later; none where that can't be told.
    pub is_back: Option<bool>,
    /// Its acceptance, if that isn't over.
    pub acceptance: Option<Acceptance>,
    /// Its place among members.
    pub rank: MemberRank,
}

/// A change by its place in the histories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemberChange {
    /// The series shows it.
    Found {
        /// Place in [`TargetHistory::series`].
        series: usize,
        /// Place in [`SeriesFindings::changes`](crate::SeriesFindings::changes).
        change: usize,
    },
    /// Only a bisection named it.
    Named {
        /// Place in [`TargetHistory::series`].
        series: usize,
        /// Place in [`VersionSeries::named`].
        named: usize,
    },
    /// A test fails more or less often.
    Test {
        /// Place in [`TestHistory::rows`].
        row: usize,
        /// Place in [`TestRow::changes`].
        change: usize,
    },
}

/// What is worse than what: the least is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberRank {
    /// Worse before better.
    pub kind: AlertKind,
    /// What moved.
    pub sort: MemberSort,
    /// The logarithm of the least size, in percent, to the base 2, rounded down.
    pub doublings: Reverse<i32>,
}

/// Sorts of members, in the order in which they matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemberSort {
    /// A test that fails now, since this change.
    FailingTest,
    /// What a benchmark is run for.
    Primary,
    /// Another test.
    Test,
    /// What a benchmark measures besides.
    Secondary,
    /// What monitors measure meanwhile.
    Monitored,
}

/// What is shown before what: see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AlertRank {
    /// Whether it is fixed, accepted or invalid.
    pub is_over: bool,
    /// That of the worst member.
    pub worst: MemberRank,
    /// The date of its version, the newest first; where it isn't known, last.
    pub newest: Reverse<(Option<Timestamp>, usize)>,
}

impl Alert {
    /// The worst of its members.
    ///
    /// # Panics
    /// Never for what [`alerts`] makes: no alert is empty.
    #[must_use]
    pub fn worst(&self) -> &AlertMember {
        &self.members[0]
    }

    /// How it stands. An acceptance counts more than what else was said: it says until when it holds.
    #[must_use]
    pub fn state(&self) -> AlertState {
        match &self.triage {
            _ if self.acceptance.is_some() => AlertState::Accepted,
            Some(triage) => triage.state.into(),
            None if self.is_fixed => AlertState::Fixed,
            None => AlertState::New,
        }
    }
}

impl AlertState {
    /// Whether somebody still has to deal with it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::New | Self::Investigating | Self::Confirmed)
    }

    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::New,
        Self::Investigating,
        Self::Confirmed,
        Self::Accepted,
        Self::Fixed,
        Self::Invalid,
    ];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Investigating => "investigating",
            Self::Confirmed => "confirmed",
            Self::Accepted => "accepted",
            Self::Fixed => "fixed",
            Self::Invalid => "invalid",
        }
    }

    /// Whether there is nothing left to do.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Accepted | Self::Fixed | Self::Invalid)
    }
}

impl From<TriageState> for AlertState {
    fn from(state: TriageState) -> Self {
        match state {
            TriageState::Investigating => Self::Investigating,
            TriageState::Confirmed => Self::Confirmed,
            TriageState::Fixed => Self::Fixed,
            TriageState::Invalid => Self::Invalid,
        }
    }
}

impl AlertKind {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Other => "other",
            Self::Better => "better",
        }
    }
}

impl From<ChangeDirection> for AlertKind {
    fn from(direction: ChangeDirection) -> Self {
        match direction {
            ChangeDirection::Worse => Self::Worse,
            ChangeDirection::Better => Self::Better,
            ChangeDirection::Up | ChangeDirection::Down => Self::Other,
        }
    }
}

impl From<MetricFamily> for MemberSort {
    fn from(family: MetricFamily) -> Self {
        match family {
            MetricFamily::Primary => Self::Primary,
            MetricFamily::Secondary => Self::Secondary,
            MetricFamily::Monitored => Self::Monitored,
        }
    }
}

impl MemberRank {
    /// The rank of a change whose size lies in this interval, in percent.
    fn new(kind: AlertKind, sort: MemberSort, percent: Option<Interval>) -> Self {
        let least = percent.map_or(0.0, least_size);
        Self {
            kind,
            sort,
            // Of zero it is the least there is; `as` saturates.
            doublings: Reverse(least.log2().floor() as i32),
        }
    }
}

/// The size nearest to zero that the interval leaves possible, without its sign.
fn least_size(percent: Interval) -> f64 {
    match percent.contains(0.0) {
        true => 0.0,
        false => percent.low.abs().min(percent.high.abs()),
    }
}

/// The alerts of a history and its tests, the worst first.
#[must_use]
pub fn alerts(history: &TargetHistory, tests: Option<&TestHistory>) -> Vec<Alert> {
    let mut members: Vec<AlertMember> = Vec::new();
    for (number, series) in history.series.iter().enumerate() {
        members.extend(members_of_series(history, number, series));
    }
    if let Some(tests) = tests {
        members.extend(members_of_tests(history, tests));
    }
    let located = members.iter().map(|member| LocatedChange {
        series: match member.change {
            MemberChange::Found { series, .. } | MemberChange::Named { series, .. } => series,
            MemberChange::Test { row, .. } => history.series.len() + row,
        },
        stretch: member.stretch,
        is_named: member.is_named,
    });
    let clusters = cluster(&located.collect::<Vec<_>>());
    let mut members: Vec<Option<AlertMember>> = members.into_iter().map(Some).collect();
    let alerts = clusters.into_iter().map(|(at, changes)| {
        let members = changes.into_iter().filter_map(|it| members[it].take());
        alert(history, tests, at, members.collect())
    });
    let mut alerts: Vec<Alert> = alerts.collect();
    alerts.sort_by_key(|alert| alert.rank);
    alerts
}

/// The place among alerts of the one that a version is about: the nearest of those that may lie there.
#[must_use]
pub fn alert_at(alerts: &[Alert], version: usize) -> Option<usize> {
    let there = alerts.iter().enumerate();
    let there = there.filter(|(_, alert)| alert.stretch.contains(version));
    let distance = |(_, it): &(usize, &Alert)| (it.stretch.at.abs_diff(version), it.stretch.at);
    there.min_by_key(distance).map(|(alert, _)| alert)
}

/// Whether somebody may say that an alert lies at this version: it isn't impossible, and names no other alert.
#[must_use]
pub fn can_lie_at(alerts: &[Alert], alert: usize, version: usize) -> bool {
    let mut others = alerts.iter().enumerate().filter(|(it, _)| *it != alert);
    alerts[alert].stretch.contains(version) && others.all(|(_, it)| it.stretch.at != version)
}

/// Notes what was said of alerts (the oldest first; see [`alert_at`]), moves those of which somebody says that they lie at another
/// version that they may lie at, and puts these in their order again.
pub fn triage_alerts(alerts: &mut [Alert], history: &TargetHistory, said: &[Triage]) {
    let versions = history.versions.iter().enumerate();
    let places: HashMap<&str, usize> = versions
        .map(|(at, version)| (version.version.id.as_str(), at))
        .collect();
    for triage in said {
        let Some(place) = places.get(triage.version.as_str()) else {
            continue;
        };
        if let Some(alert) = alert_at(alerts, *place) {
            let moved = triage.lies_at.as_ref();
            if let Some(to) = moved.and_then(|to| places.get(to.as_str()))
                && can_lie_at(alerts, alert, *to)
            {
                alerts[alert].stretch = ChangeStretch::exactly(*to);
            }
            alerts[alert].triage = Some(triage.clone());
        }
    }
    for alert in alerts.iter_mut() {
        alert.rank.is_over = alert.state().is_over();
    }
    alerts.sort_by_key(|alert| alert.rank);
}

/// The alert of what moved at this version.
fn alert(
    history: &TargetHistory,
    tests: Option<&TestHistory>,
    at: usize,
    mut members: Vec<AlertMember>,
) -> Alert {
    members.sort_by(|one, other| {
        one.worse(other)
            .then_with(|| by_name(history, tests, one, other))
    });
    let stretches = members.iter().map(|member| member.stretch);
    let there = stretches.filter(|stretch| stretch.contains(at));
    let stretch = there.reduce(ChangeStretch::intersect);
    let stretch = stretch.map_or(ChangeStretch::exactly(at), |stretch| ChangeStretch {
        at,
        ..stretch
    });
    let worst = members[0].rank;
    let alike = members
        .iter()
        .filter(|it| (it.rank.kind, it.rank.sort) == (worst.kind, worst.sort));
    let mut told = alike.filter_map(|member| member.is_back).peekable();
    let is_fixed = told.peek().is_some() && told.all(|is_back| is_back);
    // Those whose stretch misses it are taken for the same change.
    let mut accepted = (members.iter())
        .filter(|member| member.stretch.contains(at))
        .map(|member| member.acceptance.as_ref());
    let first = accepted.next().flatten().cloned();
    let acceptance = first.filter(|_| accepted.all(|it| it.is_some()));
    let date = history.versions.get(at).and_then(|it| it.version.at);
    Alert {
        stretch,
        kind: members[0].kind,
        is_fixed,
        triage: None,
        rank: AlertRank {
            is_over: is_fixed || acceptance.is_some(),
            worst,
            newest: Reverse((date, at)),
        },
        acceptance,
        members,
    }
}

impl AlertMember {
    /// The order of an alert's members by their size: the worst first.
    fn worse(&self, other: &Self) -> Ordering {
        let least = |it: &Self| it.percent.map_or(0.0, |(_, interval)| least_size(interval));
        (self.rank.cmp(&other.rank)).then_with(|| least(other).total_cmp(&least(self)))
    }
}

/// The order of members that are as bad: by what they are called, whichever comes first in the history.
fn by_name(
    history: &TargetHistory,
    tests: Option<&TestHistory>,
    one: &AlertMember,
    other: &AlertMember,
) -> Ordering {
    let name = |member: &AlertMember| match member.change {
        MemberChange::Found { series, .. } | MemberChange::Named { series, .. } => {
            let series = &history.series[series];
            Some((series.key.as_str(), series.metric.name.as_str()))
        }
        MemberChange::Test { row, .. } => {
            let tests = tests?;
            let row = &tests.rows[row];
            Some((tests.suites[row.suite].suite.as_str(), row.test.as_str()))
        }
    };
    name(one).cmp(&name(other))
}

/// The believed changes of a series, each where a bisection named it if one did, and those that only bisections named.
fn members_of_series(
    history: &TargetHistory,
    number: usize,
    series: &VersionSeries,
) -> Vec<AlertMember> {
    let found = series.found.changes.iter().enumerate();
    let found = found.filter(|(_, point)| point.believed);
    let mut members: Vec<AlertMember> = found
        .map(|(change, point)| {
            let change = MemberChange::Found {
                series: number,
                change,
            };
            found_member(series, change, point)
        })
        .collect();
    let places: Vec<usize> = members.iter().map(|member| member.stretch.at).collect();
    let distance = |at: usize| places.iter().map(|place| place.abs_diff(at)).min();
    // Of several within one found change the nearest is that change, and the others are changes of their own.
    let mut named: Vec<(usize, &NamedChange)> = series.named.iter().enumerate().collect();
    named.sort_by_key(|(_, named)| distance(named.at));
    for (place, named) in named {
        let stretch = ChangeStretch {
            after: Some(named.after),
            at: named.at,
            until: named.at,
        };
        let same = members
            .iter_mut()
            .filter(|member| member.stretch.overlaps(stretch));
        match same.min_by_key(|member| member.stretch.at.abs_diff(named.at)) {
            Some(member) if stretch.is_narrower(member.stretch) => {
                let at = member.stretch.at;
                member.stretch = stretch;
                if stretch.contains(at) {
                    member.stretch.at = at;
                }
                member.is_named = true;
            }
            // The series shows as exactly what the bisection named, or more so.
            Some(member) => {
                member.is_named |=
                    (member.stretch.after, member.stretch.until) == (stretch.after, stretch.until);
            }
            None => {
                let change = MemberChange::Named {
                    series: number,
                    named: place,
                };
                members.push(named_member(history, series, change, (named, stretch)));
            }
        }
    }
    members
}

fn found_member(series: &VersionSeries, change: MemberChange, point: &ChangePoint) -> AlertMember {
    let percent = change_percent(&point.change);
    let kind = point.direction.into();
    AlertMember {
        change,
        stretch: ChangeStretch {
            after: point.after,
            at: point.at,
            until: point.until,
        },
        is_named: false,
        kind,
        percent,
        is_back: Some(is_back(series, point)),
        acceptance: (point.accepted.as_ref())
            .filter(|accepted| !accepted.lapsed)
            .map(|accepted| accepted.acceptance.clone()),
        rank: MemberRank::new(kind, series.metric.family().into(), percent.map(|it| it.1)),
    }
}

/// Whether the level from before a change came back with a later one, as far as their intervals tell. A better level than that
/// doesn't say that the change was mended.
fn is_back(series: &VersionSeries, point: &ChangePoint) -> bool {
    let change = &point.change;
    series.believed().any(|later| {
        let half = |of: &ChangePoint| of.change.size_interval.width() / 2.0;
        let left = (later.change.after - change.before).abs();
        // Numbers that are all alike have no interval, but are rounded.
        let rounding = 1e-9 * change.before.abs();
        later.at > point.at && left <= half(point).hypot(half(later)) + rounding
    })
}

fn named_member(
    history: &TargetHistory,
    series: &VersionSeries,
    change: MemberChange,
    (named, stretch): (&NamedChange, ChangeStretch),
) -> AlertMember {
    let kind = named.direction.map_or(AlertKind::Other, AlertKind::from);
    let (benchmark, metric) = (series.cell.benchmark.as_str(), series.metric.name.as_str());
    AlertMember {
        change,
        stretch,
        is_named: true,
        kind,
        percent: named.percent,
        is_back: None,
        acceptance: history.acceptance(stretch, |it| it.covers(benchmark, metric)),
        rank: MemberRank::new(
            kind,
            series.metric.family().into(),
            named.percent.map(|it| it.1),
        ),
    }
}

/// The changes of tests, at versions of the history.
fn members_of_tests(history: &TargetHistory, tests: &TestHistory) -> Vec<AlertMember> {
    let versions = history.versions.iter().enumerate();
    let places: HashMap<&str, usize> = versions
        .map(|(at, version)| (version.version.id.as_str(), at))
        .collect();
    let place = |row: &TestRow, position: usize| {
        let column = tests.suite_columns.get(row.suite)?.get(position)?;
        places.get(tests.columns.get(*column)?.id.as_str()).copied()
    };
    let mut members = Vec::new();
    for (number, row) in tests.rows.iter().enumerate() {
        for (change, found) in row.changes.iter().enumerate() {
            let Some(at) = place(row, found.at) else {
                continue;
            };
            let stretch = ChangeStretch {
                after: place(row, found.location.after).filter(|after| *after < at),
                at,
                until: place(row, found.location.until).map_or(at, |until| until.max(at)),
            };
            let change = MemberChange::Test {
                row: number,
                change,
            };
            members.push(test_member(history, row, change, (found, stretch)));
        }
    }
    members
}

fn test_member(
    history: &TargetHistory,
    row: &TestRow,
    change: MemberChange,
    (found, stretch): (&FailureChange, ChangeStretch),
) -> AlertMember {
    let is_last = row.changes.last() == Some(found);
    let (kind, sort) = match found.is_worse() {
        true if is_last && row.concern() == TestConcern::Failing => {
            (AlertKind::Worse, MemberSort::FailingTest)
        }
        true => (AlertKind::Worse, MemberSort::Test),
        false => (AlertKind::Better, MemberSort::Test),
    };
    let mut later = row.changes.iter().filter(|later| later.at > found.at);
    let before = found.before.interval;
    let is_back = later.any(|later| match found.is_worse() {
        true => later.after.rate <= before.high,
        false => later.after.rate >= before.low,
    });
    let moved = 100.0 * (found.after.rate - found.before.rate);
    let moved = Interval {
        low: moved,
        high: moved,
    };
    AlertMember {
        change,
        stretch,
        is_named: false,
        kind,
        percent: None,
        is_back: Some(is_back),
        // What is accepted by a metric says nothing of tests.
        acceptance: history.acceptance(stretch, |it| it.metric.is_none()),
        rank: MemberRank::new(kind, sort, Some(moved)),
    }
}

impl TargetHistory {
    /// What is accepted, and isn't over, of a change that may lie at these versions.
    fn acceptance(
        &self,
        stretch: ChangeStretch,
        is_about: impl Fn(&Acceptance) -> bool,
    ) -> Option<Acceptance> {
        let accepted = self.acceptances.iter().find(|(place, accepted)| {
            !accepted.lapsed && stretch.contains(*place) && is_about(&accepted.acceptance)
        });
        accepted.map(|(_, accepted)| accepted.acceptance.clone())
    }
}

#[cfg(test)]
mod tests;
