//! The first page, for two minutes every morning: what changed, what isn't measured, what is being measured, and every target.

use askama::Template;
use backsight_policy::{Alert, AlertRank};
use backsight_report::{clipped, numbers::grouped};

use super::{
    address,
    alert::AlertLine,
    assets::HOME_SCRIPT,
    book::Here,
    frame::Frame,
    machines::MachineLine,
    site::Press,
    studies::StudyLine,
    target::{TestsLink, tests_link},
};

/// Most alerts that are listed as long as nobody has dealt with them, and of the others.
const MOST_OPEN: usize = 100;
const MOST_DEALT_WITH: usize = 50;
/// Most sentences on what can't be measured, and most studies.
const MOST_GAPS: usize = 20;
const MOST_STUDIES: usize = 10;

#[derive(Template)]
#[template(path = "pages/home.html")]
pub(super) struct HomePage {
    frame: Frame,
    script: String,
    feed: String,
    status: String,
    machines: Vec<MachineLine>,
    /// Their page, if there is one.
    to_machines: Option<String>,
    worse: AlertList,
    other: AlertList,
    better: AlertList,
    dealt_with: AlertList,
    gaps: Vec<Gap>,
    gaps_left_out: usize,
    running: Vec<StudyLine>,
    /// The list of studies, if there are pages of them.
    studies: Option<String>,
    targets: Vec<TargetLine>,
}

/// Alerts of a kind.
struct AlertList {
    lines: Vec<AlertLine>,
    left_out: usize,
}

/// Something that isn't measured as it should be.
pub(super) struct Gap {
    pub target: String,
    pub href: String,
    pub sentence: String,
}

/// A target.
struct TargetLine {
    name: String,
    href: String,
    newest: String,
    to_newest: String,
    date: String,
    measured: String,
    series: String,
    open: usize,
    tests: Option<TestsLink>,
}

impl Press<'_> {
    pub(super) fn home(&self) -> HomePage {
        let books = 0..self.site.books.len();
        let mut alerts: Vec<(AlertRank, &'static str, Here<'_>, &Alert)> = Vec::new();
        let mut targets = Vec::new();
        let mut gaps = Vec::new();
        for number in books {
            let here = self.here(number);
            let mut open = 0;
            for alert in &here.book.alerts {
                let is_open = alert.state().is_open();
                open += usize::from(is_open);
                let list = if is_open {
                    alert.kind.as_str()
                } else {
                    "dealt with"
                };
                alerts.push((alert.rank, list, here, alert));
            }
            gaps.extend(gaps_of(here));
            targets.push(TargetLine::new(here, open));
        }
        alerts.sort_by_key(|(rank, ..)| *rank);
        // Many targets have far more than are listed.
        let take = |kind: &str, most: usize| {
            let of_kind = alerts.iter().filter(|(_, list, ..)| *list == kind);
            let listed = of_kind.clone().take(most);
            AlertList {
                lines: listed
                    .map(|(.., here, alert)| AlertLine::new(*here, alert))
                    .collect(),
                left_out: of_kind.count().saturating_sub(most),
            }
        };
        let has_studies = self.site.has(address::STUDIES);
        let running = self.study_lines(|study| study.state_name() == "running");
        HomePage {
            frame: Frame::new("Backsight", self.page, Vec::new())
                .with_data("Changes as JSON", &self.page.link(address::ALERTS_DATA))
                .with_scripts(),
            feed: self.to_feed(),
            status: self.page.link(address::STATUS),
            machines: self
                .site
                .machines
                .machines
                .iter()
                .map(MachineLine::new)
                .collect(),
            to_machines: self
                .site
                .has(address::MACHINES)
                .then(|| self.page.link(address::MACHINES)),
            script: self.page.link(HOME_SCRIPT),
            worse: take("worse", MOST_OPEN),
            other: take("other", MOST_OPEN),
            better: take("better", MOST_OPEN),
            dealt_with: take("dealt with", MOST_DEALT_WITH),
            gaps_left_out: gaps.len().saturating_sub(MOST_GAPS),
            gaps: gaps.into_iter().take(MOST_GAPS).collect(),
            running: running.into_iter().take(MOST_STUDIES).collect(),
            studies: has_studies.then(|| self.page.link(address::STUDIES)),
            targets,
        }
    }
}

/// What of a target is broken, and how much of it is stale.
pub(super) fn gaps_of(here: Here<'_>) -> Vec<Gap> {
    let history = &here.book.history;
    let series: Vec<_> = history
        .series
        .iter()
        .filter(|series| series.current)
        .collect();
    let gap = |sentence: String| Gap {
        target: clipped(here.target.as_str(), 60),
        href: here.to_target(),
        sentence: clipped(&sentence, 300),
    };
    let broken = history.broken(&series).into_iter();
    let mut gaps: Vec<Gap> = broken.map(|broken| gap(broken.to_string())).collect();
    match &history.stale(&series, None)[..] {
        [] => {}
        [one] => gaps.push(gap(one.to_string())),
        [first, rest @ ..] => {
            let more = grouped(rest.len() as u64);
            gaps.push(gap(format!("{first}, and {more} more series")));
        }
    }
    gaps
}

impl TargetLine {
    fn new(here: Here<'_>, open: usize) -> Self {
        let book = here.book;
        let newest = book.measured.last().copied();
        let version = newest.map(|at| book.version(at));
        Self {
            name: clipped(book.target.as_str(), 60),
            href: here.to_target(),
            newest: newest.map_or(String::new(), |at| book.name(at)),
            to_newest: newest.map_or(String::new(), |at| here.to_version(at)),
            date: version
                .and_then(|version| version.at)
                .map_or(String::new(), |at| at.strftime("%Y-%m-%d").to_string()),
            measured: format!(
                "{} of {}",
                grouped(book.measured.len() as u64),
                grouped(book.history.versions.len() as u64)
            ),
            series: grouped(book.history.series.len() as u64),
            open,
            tests: tests_link(here),
        }
    }
}
