//! The page of an alert: a change of the software, all that moved with it, and the commits that may have made it.

use askama::Template;
use backsight_model::shell_line;
use backsight_policy::{Alert, AlertKind, MemberChange, can_lie_at};
use backsight_report::{alerts::AlertView, clipped};

use super::{
    book::Here,
    frame::Frame,
    interval::{Link, link},
    site::Press,
};
use crate::crumb::Crumb;

#[derive(Template)]
#[template(path = "pages/alert.html")]
pub(super) struct AlertPage {
    frame: Frame,
    alert: AlertLine,
    note: String,
    /// The last version before it, and the first known to have it.
    after: Option<Link>,
    until: Link,
    /// The intervals that it may lie in, if they are several.
    intervals: Vec<Link>,
    members: Vec<MemberLine>,
    /// The command that narrows it down; empty where it is exact.
    bisect: String,
    triage: String,
    /// What forms say besides what the reader fills in: of which change, and which bisection is asked for. JSON.
    said: String,
    asked: String,
    /// The versions that it may lie at, if they are several: names and identities.
    possible: Vec<(String, String)>,
    commits: String,
}

/// What a form says besides what the reader fills in: of which version of which target. JSON.
pub(super) fn said_of(target: &str, version: &str) -> String {
    serde_json::json!({"target": target, "version": version}).to_string()
}

/// An alert in a list.
pub(super) struct AlertLine {
    pub href: String,
    /// What tells it from all others, for whoever remembers which were seen.
    pub identity: String,
    pub target: String,
    pub to_target: String,
    pub sentence: String,
    pub sign: &'static str,
    pub class: &'static str,
    pub range: String,
    pub to_range: String,
    pub spark: String,
    pub state: &'static str,
    pub by: String,
    pub date: String,
}

struct MemberLine {
    name: String,
    href: String,
    size: String,
    sign: &'static str,
    class: &'static str,
    between: String,
    bisected: bool,
    spark: String,
}

/// How a kind is coloured and marked.
fn mark(kind: AlertKind) -> (&'static str, &'static str) {
    match kind {
        AlertKind::Worse => ("bad", "✗"),
        AlertKind::Other => ("unsure", "○"),
        AlertKind::Better => ("good", "✓"),
    }
}

fn view_of<'a>(here: Here<'a>, alert: &'a Alert) -> AlertView<'a> {
    let book = here.book;
    let tests = book.tests.as_ref();
    AlertView::new(book.target.as_str(), &book.history, tests, alert)
}

impl AlertLine {
    pub fn new(here: Here<'_>, alert: &Alert) -> Self {
        Self::of_view(here, alert, &view_of(here, alert))
    }

    fn of_view(here: Here<'_>, alert: &Alert, view: &AlertView<'_>) -> Self {
        let book = here.book;
        let (class, sign) = mark(alert.kind);
        Self {
            href: here.to_alert(alert),
            identity: format!("{} {}", book.target, book.version(alert.stretch.at).id),
            target: clipped(book.target.as_str(), 60),
            to_target: here.to_target(),
            sentence: clipped(&view.sentence, 300),
            sign,
            class,
            range: clipped(&view.range(), 60),
            to_range: here.to_interval(alert.stretch.at).unwrap_or_default(),
            spark: spark(here, alert.worst().change, alert.stretch.at),
            state: view.state,
            by: view.by.map_or(String::new(), |by| clipped(by, 40)),
            date: book
                .version(alert.stretch.at)
                .at
                .map_or(String::new(), |at| at.strftime("%Y-%m-%d").to_string()),
        }
    }
}

/// Most versions from which a reader chooses.
const MOST_POSSIBLE: usize = 500;

/// The names and identities of other versions that an alert may lie at; none where they are too many to choose from.
fn possible_versions(here: Here<'_>, number: usize) -> Vec<(String, String)> {
    let book = here.book;
    let stretch = book.alerts[number].stretch;
    let first = stretch.after.map_or(0, |after| after + 1);
    let other = (first..=stretch.until).filter(|at| can_lie_at(&book.alerts, number, *at));
    let other = other.filter(|at| *at != stretch.at);
    let versions: Vec<(String, String)> = other
        .take(MOST_POSSIBLE + 1)
        .map(|at| (book.name(at), book.version(at).id.clone()))
        .collect();
    match versions.len() > MOST_POSSIBLE {
        true => Vec::new(),
        false => versions,
    }
}

/// Versions on either side of a change that its picture shows.
const SPARK_REACH: usize = 20;

/// The course of a series around a change; nothing of tests.
fn spark(here: Here<'_>, change: MemberChange, at: usize) -> String {
    let (MemberChange::Found { series, .. } | MemberChange::Named { series, .. }) = change else {
        return String::new();
    };
    let points = &here.book.history.series[series].points;
    let place = points.partition_point(|point| point.version < at);
    let range = place.saturating_sub(SPARK_REACH)..(place + SPARK_REACH).min(points.len());
    let values: Vec<f64> = points[range]
        .iter()
        .filter_map(|point| point.value)
        .collect();
    backsight_report::chart::spark(&values, 96.0, 18.0)
}

impl Press<'_> {
    pub(super) fn alert(&self, here: Here<'_>, number: usize) -> Result<AlertPage, askama::Error> {
        let book = here.book;
        let alert = &book.alerts[number];
        let view = view_of(here, alert);
        let stretch = alert.stretch;
        let members = alert
            .members
            .iter()
            .zip(&view.members)
            .map(|(member, view)| {
                let (class, sign) = mark(member.kind);
                let href = match member.change {
                    MemberChange::Found { series, .. } | MemberChange::Named { series, .. } => {
                        Some(here.to_series(series))
                    }
                    MemberChange::Test { .. } => here.to_tests(),
                };
                let between = &view.between;
                let after = between.after.as_ref().map_or("", |it| it.version);
                MemberLine {
                    name: clipped(&view.name, 200),
                    href: href.unwrap_or_default(),
                    size: view.size.clone(),
                    sign,
                    class,
                    between: clipped(&format!("{after}..{}", between.until.version), 80),
                    bisected: view.bisected,
                    spark: spark(here, member.change, stretch.at),
                }
            });
        let within =
            |at: &&usize| stretch.after.is_none_or(|after| **at > after) && **at <= stretch.until;
        let intervals: Vec<Link> = book
            .measured
            .iter()
            .filter(within)
            .filter_map(|at| {
                let before = book.before(*at)?;
                Some(Link {
                    name: format!("{} to {}", book.name(before), book.name(*at)),
                    href: here.to_interval(*at)?,
                })
            })
            .collect();
        let commits = match stretch.after {
            Some(after) => self.commits(here, after, stretch.until).render()?,
            None => String::new(),
        };
        let name = &book.version(stretch.at).name;
        let bisect = book.bisect_words(alert);
        let bisect = bisect.map(|words| format!("backsight {}", shell_line(words)));
        let mut crumbs = here.crumbs();
        crumbs.push(Crumb::new(
            &book.name(stretch.at),
            &here.to_version(stretch.at),
        ));
        Ok(AlertPage {
            frame: Frame::new(&view.sentence, here.page, crumbs),
            alert: AlertLine::of_view(here, alert, &view),
            note: view.note.map_or(String::new(), |note| clipped(note, 2000)),
            after: stretch.after.map(|after| link(here, after)),
            until: link(here, stretch.until),
            intervals: if intervals.len() > 1 {
                intervals
            } else {
                Vec::new()
            },
            members: members.collect(),
            bisect: clipped(&bisect.unwrap_or_default(), 500),
            possible: possible_versions(here, number),
            said: said_of(book.target.as_str(), &book.version(stretch.at).id),
            asked: {
                let version = serde_json::json!({"version": book.version(stretch.at).id});
                serde_json::json!({"target": book.target, "bisect": version}).to_string()
            },
            triage: clipped(
                &format!("backsight triage {} {name} confirmed", book.target),
                200,
            ),
            commits,
        })
    }
}
