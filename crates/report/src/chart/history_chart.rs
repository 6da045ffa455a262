//! A series along the versions, as a chart that a page can narrow: its coordinates are versions, so that a narrower view is
//! nothing but another `viewBox`.
//!
//! All points of a kind are one element: two thousand versions would make thousands. Text stands outside, where it isn't
//! stretched.

use backsight_policy::{
    ChangeDirection, DetectionMethod, LevelSpread, TargetHistory, VersionSeries, VersionStanding,
};
use backsight_stats::changes::ChangeKind;
use std::fmt::Write as _;

use super::scale::{series_span, share};
use crate::{SeriesText, clipped, escape};

/// More releases than this aren't drawn as lines.
const MOST_RELEASES: usize = 80;
/// Names under the axis, at most.
const MOST_NAMES: usize = 9;

/// Height of the picture's coordinates, and the part that values take.
const HEIGHT: f64 = 100.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 94.0;

/// A series along the versions.
pub struct HistoryChart {
    /// The picture; its heights are in percent, its widths in versions.
    pub svg: String,
    /// The greatest, middle and least value of the axis, as text.
    pub labels: [String; 3],
    /// The greatest and least value of the axis, as numbers in the unit shown.
    pub ends: (f64, f64),
}

/// A name under the axis.
pub struct AxisName {
    /// The version, by its place.
    pub version: usize,
    /// Its name.
    pub name: String,
    /// Its page.
    pub href: String,
    /// From the left, in percent.
    pub left: f64,
    /// Shown before anything is narrowed.
    pub shown: bool,
}

impl HistoryChart {
    /// The chart; nothing without a value. `range_of` gives the page of the interval that ends with a version.
    pub fn new(
        history: &TargetHistory,
        series: &VersionSeries,
        words: &SeriesText<'_>,
        id: &str,
        range_of: impl Fn(usize) -> Option<String>,
    ) -> Option<Self> {
        let (low, high) = series_span(series, 0.5)?;
        let drawing = Drawing {
            history,
            series,
            low,
            high,
        };
        let mut svg = String::new();
        let title = format!("{}: {}", series.name(), words.axis());
        let found = series.found.changes.iter().map(|c| words.change(c));
        let named = series.named.iter().map(|named| words.named(named));
        let told: Vec<String> = found.chain(named).collect();
        let _ = write!(
            svg,
            "<svg class=\"field\" role=\"img\" preserveAspectRatio=\"none\" viewBox=\"-0.5 0 {} {HEIGHT}\" \
             aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}. {}</desc>",
            history.versions.len(),
            escape::html(&title),
            escape::html(&words.coverage()),
            escape::html(&told.join("; ")),
        );
        drawing.lines(&mut svg);
        drawing.changes(&mut svg, words, &range_of);
        drawing.named(&mut svg, words, &range_of);
        drawing.levels(&mut svg);
        drawing.drift(&mut svg);
        drawing.points(&mut svg);
        drawing.unmeasured(&mut svg);
        svg.push_str("</svg>");
        Some(Self {
            svg,
            labels: [high, (low + high) / 2.0, low].map(|value| words.number(value, 4)),
            ends: (words.scaled(high), words.scaled(low)),
        })
    }
}

/// Names for the axis: of releases where there are some, else of any versions.
pub fn axis_names(history: &TargetHistory, href: impl Fn(usize) -> String) -> Vec<AxisName> {
    let count = history.versions.len();
    let releases = releases(history);
    let named: Vec<usize> = if releases.len() > 1 {
        releases
    } else {
        (0..count).collect()
    };
    let step = named.len().div_ceil(MOST_NAMES).max(1);
    let names = named.iter().enumerate().map(|(number, &version)| AxisName {
        version,
        name: clipped(&history.versions[version].version.name, 14),
        href: href(version),
        left: 100.0 * (version as f64 + 0.5) / count as f64,
        shown: number.is_multiple_of(step),
    });
    // A page with a narrowed view needs names, but not thousands of them.
    let thin = named.len().div_ceil(400).max(1);
    names
        .enumerate()
        .filter(|(n, name)| name.shown || n.is_multiple_of(thin))
        .map(|(_, name)| name)
        .collect()
}

fn releases(history: &TargetHistory) -> Vec<usize> {
    let versions = history.versions.iter().enumerate();
    versions
        .filter(|(_, version)| version.version.release)
        .map(|(at, _)| at)
        .collect()
}

struct Drawing<'a> {
    history: &'a TargetHistory,
    series: &'a VersionSeries,
    low: f64,
    high: f64,
}

impl Drawing<'_> {
    fn y(&self, value: f64) -> f64 {
        let share = share(value, (self.low, self.high), 0.5);
        TOP + (BOTTOM - TOP) * (1.0 - share.clamp(0.0, 1.0))
    }

    /// Releases and quirks.
    fn lines(&self, svg: &mut String) {
        let releases = releases(self.history);
        if releases.len() <= MOST_RELEASES && releases.len() * 2 < self.history.versions.len() {
            uprights(svg, "release", releases.into_iter());
        }
        let versions = self.history.versions.iter().enumerate();
        let quirky = versions.filter(|(_, version)| !version.quirks.is_empty());
        uprights(svg, "quirk", quirky.map(|(at, _)| at));
    }

    fn changes(
        &self,
        svg: &mut String,
        words: &SeriesText<'_>,
        range_of: impl Fn(usize) -> Option<String>,
    ) {
        for point in self.series.believed() {
            let class = match point.direction {
                _ if point.is_accepted() => "accepted",
                ChangeDirection::Better | ChangeDirection::Up => "better",
                ChangeDirection::Worse | ChangeDirection::Down => "worse",
            };
            let from = point.after.map_or(-0.5, |after| after as f64);
            let shape = format!(
                "<rect x=\"{from}\" y=\"0\" width=\"{}\" height=\"{HEIGHT}\"/><path d=\"M{} 0V{HEIGHT}\"/><title>{}</title>",
                point.until as f64 - from,
                point.at as f64 - 0.5,
                escape::html(&words.change(point))
            );
            let _ = match range_of(point.at) {
                Some(href) => write!(
                    svg,
                    "<a class=\"change {class}\" href=\"{href}\">{shape}</a>"
                ),
                None => write!(svg, "<g class=\"change {class}\">{shape}</g>"),
            };
        }
    }

    /// Where bisections named a change.
    fn named(
        &self,
        svg: &mut String,
        words: &SeriesText<'_>,
        range_of: impl Fn(usize) -> Option<String>,
    ) {
        for named in &self.series.named {
            let shape = format!(
                "<path d=\"M{} 0V{HEIGHT}\"/><title>{}</title>",
                named.at as f64 - 0.5,
                escape::html(&words.named(named))
            );
            let _ = match range_of(named.at) {
                Some(href) => write!(svg, "<a class=\"named\" href=\"{href}\">{shape}</a>"),
                None => write!(svg, "<g class=\"named\">{shape}</g>"),
            };
        }
    }

    /// The levels between changes, where a search has found levels.
    fn levels(&self, svg: &mut String) {
        let found = &self.series.found;
        let changes = &found.changes;
        if found.how != DetectionMethod::Searched
            || changes.is_empty()
            || changes.iter().any(|c| c.change.kind == ChangeKind::Trend)
        {
            return;
        }
        let last = self.history.versions.len() as f64 - 0.5;
        svg.push_str("<path class=\"level\" d=\"");
        for number in 0..=changes.len() {
            let from = number.checked_sub(1).map(|before| &changes[before]);
            let to = changes.get(number);
            let level = from.map(|c| c.change.after).or(to.map(|c| c.change.before));
            let start = from.map_or(-0.5, |change| change.at as f64 - 0.5);
            let end = to.map_or(last, |change| change.at as f64 - 0.5);
            if let Some(level) = level {
                let _ = write!(svg, "M{start} {}H{end}", hundredth(self.y(level)));
            }
        }
        svg.push_str("\"/>");
    }

    /// What the drift of the reference by itself would have made of the series, where it drifted.
    fn drift(&self, svg: &mut String) {
        let beside = self.series.points.iter();
        let beside = beside.filter_map(|point| Some((point.version, point.value?, point.drift?)));
        let beside: Vec<(usize, f64, f64)> = beside.collect();
        if beside.iter().all(|(.., drift)| *drift == beside[0].2) {
            return;
        }
        let undrifted: f64 = beside.iter().map(|(_, value, drift)| value / drift).sum();
        let undrifted = undrifted / beside.len() as f64;
        svg.push_str("<path class=\"drift\" d=\"");
        for (number, (version, _, drift)) in beside.iter().enumerate() {
            let step = if number == 0 { 'M' } else { 'L' };
            let _ = write!(
                svg,
                "{step}{version} {}",
                hundredth(self.y(undrifted * drift))
            );
        }
        svg.push_str("\"/>");
    }

    /// Intervals, the spreads beside each other, and the values.
    fn points(&self, svg: &mut String) {
        let mut intervals = String::new();
        let mut spreads = [String::new(), String::new(), String::new()];
        let mut values = String::new();
        let mut unstable = String::new();
        for point in &self.series.points {
            let Some(value) = point.value else { continue };
            let at = point.version;
            if let Some(interval) = point.interval {
                let (top, bottom) = (self.y(interval.high), self.y(interval.low));
                let _ = write!(intervals, "M{at} {}V{}", hundredth(top), hundredth(bottom));
            }
            let levels = [
                (point.again, -0.18),
                (point.reboot, 0.0),
                (point.relink, 0.18),
            ];
            for (path, (spread, beside)) in spreads.iter_mut().zip(levels) {
                self.spread(path, at as f64 + beside, value, spread);
            }
            let dots = if point.unstable {
                &mut unstable
            } else {
                &mut values
            };
            let _ = write!(dots, "M{at} {}h0", hundredth(self.y(value)));
        }
        let [again, reboot, relink] = spreads;
        for (class, path) in [
            ("interval", intervals),
            ("again", again),
            ("reboot", reboot),
            ("relink", relink),
            ("value", values),
            ("value unstable", unstable),
        ] {
            if !path.is_empty() {
                let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
            }
        }
    }

    /// One standard deviation to either side.
    fn spread(&self, path: &mut String, x: f64, value: f64, spread: Option<LevelSpread>) {
        if let Some(spread) = spread {
            let (top, bottom) = (
                self.y(value + spread.deviation),
                self.y(value - spread.deviation),
            );
            let _ = write!(path, "M{x} {}V{}", hundredth(top), hundredth(bottom));
        }
    }

    /// Versions that couldn't be measured, at the foot.
    fn unmeasured(&self, svg: &mut String) {
        let mut path = String::new();
        for (at, version) in self.history.versions.iter().enumerate() {
            if !matches!(
                version.standing,
                VersionStanding::Measured | VersionStanding::Pending
            ) {
                let _ = write!(path, "M{at} 97.5h0");
            }
        }
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"unmeasured\" d=\"{path}\"/>");
        }
    }
}

fn uprights(svg: &mut String, class: &str, versions: impl Iterator<Item = usize>) {
    let path: String = versions.map(|at| format!("M{at} 0V{HEIGHT}")).collect();
    if !path.is_empty() {
        let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
    }
}

fn hundredth(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
