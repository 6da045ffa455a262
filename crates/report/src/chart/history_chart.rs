//! A series along the versions as a picture: for reports and for readers without scripts. Its coordinates are versions and
//! percent, and it is stretched to the room that there is; text stands outside, where it isn't stretched.
//!
//! All points of a kind are one element: two thousand versions would make thousands.

use backsight_policy::{
    ChangeDirection, DetectionMethod, LevelSpread, TargetHistory, VersionPoint, VersionSeries,
    VersionStanding,
};
use backsight_stats::{Interval, changes::ChangeKind};
use std::fmt::Write as _;

use super::scale::{series_span, share, span, ticks};
use crate::{SeriesText, clipped, escape, numbers::grouped};

/// More releases than this aren't drawn as lines.
const MOST_RELEASES: usize = 80;
/// Names under the axis, at most.
const MOST_NAMES: usize = 9;

/// Values beside the axis, at about most.
const MOST_TICKS: f64 = 6.0;
/// Smaller numbers have no groups of digits.
const GROUPED: f64 = 10_000.0;
/// Points that are drawn each by itself, at most.
const MOST_APART: usize = 400;
/// How wide the picture usually is, in pixels.
const USUAL_WIDTH: f64 = 1000.0;

/// Height of the picture's coordinates, and the part that values take.
const HEIGHT: f64 = 100.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 94.0;

/// A series along the versions.
pub struct HistoryChart {
    /// The picture; its heights are in percent, its widths in versions.
    pub svg: String,
    /// Round values of the axis, the least first; each has a line in the picture.
    pub ticks: Vec<AxisTick>,
}

/// A value beside the axis.
pub struct AxisTick {
    /// The value, without its unit.
    pub text: String,
    /// From the top, in percent.
    pub top: f64,
}

/// A level between changes, or before the first and after the last one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesLevel {
    /// Where it begins and ends, in versions: half a version before the first that has it, half a one after the last.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// The value, in the metric's unit.
    pub value: f64,
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
        let ticks = drawing.ticks(words);
        drawing.grid(&mut svg, &ticks);
        drawing.lines(&mut svg);
        drawing.changes(&mut svg, words, &range_of);
        drawing.named(&mut svg, words, &range_of);
        drawing.levels(&mut svg);
        drawing.drift(&mut svg);
        drawing.points(&mut svg);
        drawing.unmeasured(&mut svg);
        svg.push_str("</svg>");
        Some(Self { svg, ticks })
    }
}

/// The levels between changes, where a search has found levels.
pub fn series_levels(history: &TargetHistory, series: &VersionSeries) -> Vec<SeriesLevel> {
    let found = &series.found;
    let changes = &found.changes;
    let has_levels = found.how == DetectionMethod::Searched
        && !changes.is_empty()
        && changes.iter().all(|c| c.change.kind != ChangeKind::Trend);
    if !has_levels {
        return Vec::new();
    }
    let last = history.versions.len() as f64 - 0.5;
    let level = |number: usize| {
        let from = number.checked_sub(1).map(|before| &changes[before]);
        let to = changes.get(number);
        Some(SeriesLevel {
            from: from.map_or(-0.5, |change| change.at as f64 - 0.5),
            to: to.map_or(last, |change| change.at as f64 - 0.5),
            value: from
                .map(|c| c.change.after)
                .or(to.map(|c| c.change.before))?,
        })
    };
    (0..=changes.len()).filter_map(level).collect()
}

/// What the drift of the reference by itself would have made of the series, by version; nothing where it didn't drift.
pub fn drift_line(series: &VersionSeries) -> Vec<(usize, f64)> {
    let beside = series.points.iter();
    let beside = beside.filter_map(|point| Some((point.version, point.value?, point.drift?)));
    let beside: Vec<(usize, f64, f64)> = beside.collect();
    if beside.iter().all(|(.., drift)| *drift == beside[0].2) {
        return Vec::new();
    }
    let undrifted: f64 = beside.iter().map(|(_, value, drift)| value / drift).sum();
    let undrifted = undrifted / beside.len() as f64;
    let line = beside.into_iter();
    line.map(|(version, _, drift)| (version, undrifted * drift))
        .collect()
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
    let shown = named.into_iter().step_by(step);
    let names = shown.map(|version| AxisName {
        version,
        name: clipped(&history.versions[version].version.name, 14),
        href: href(version),
        left: 100.0 * (version as f64 + 0.5) / count as f64,
    });
    names.collect()
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

    fn levels(&self, svg: &mut String) {
        let levels = series_levels(self.history, self.series);
        if levels.is_empty() {
            return;
        }
        svg.push_str("<path class=\"level\" d=\"");
        for SeriesLevel { from, to, value } in levels {
            let _ = write!(svg, "M{from} {}H{to}", hundredth(self.y(value)));
        }
        svg.push_str("\"/>");
    }

    fn drift(&self, svg: &mut String) {
        let drift = drift_line(self.series);
        if drift.is_empty() {
            return;
        }
        svg.push_str("<path class=\"drift\" d=\"");
        for (number, (version, value)) in drift.into_iter().enumerate() {
            let step = if number == 0 { 'M' } else { 'L' };
            let _ = write!(svg, "{step}{version} {}", hundredth(self.y(value)));
        }
        svg.push_str("\"/>");
    }

    /// Round values in the unit that is shown.
    fn ticks(&self, words: &SeriesText<'_>) -> Vec<AxisTick> {
        let (low, high) = (words.scaled(self.low), words.scaled(self.high));
        let (values, decimals) = ticks(low, high, MOST_TICKS);
        let tick = |value: f64| {
            let share = share(value, (low, high), 0.5);
            let text = match value.abs() >= GROUPED && decimals == 0 {
                true if value < 0.0 => format!("\u{2212}{}", grouped(-value as u64)),
                true => grouped(value as u64),
                false => format!("{value:.decimals$}").replace('-', "\u{2212}"),
            };
            AxisTick {
                text,
                top: hundredth(TOP + (BOTTOM - TOP) * (1.0 - share)),
            }
        };
        values.into_iter().map(tick).collect()
    }

    fn grid(&self, svg: &mut String, ticks: &[AxisTick]) {
        let width = self.history.versions.len();
        let lines = ticks
            .iter()
            .map(|tick| format!("M-.5 {}h{width}", tick.top));
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"{}\"/>",
            lines.collect::<String>()
        );
    }

    /// Intervals, the spreads beside each other, and the values; of more points than there is room for, what they span.
    fn points(&self, svg: &mut String) {
        if self.series.points.len() > MOST_APART {
            return self.spans(svg);
        }
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
        // Intervals of neighbours don't make a slab.
        let room = USUAL_WIDTH / self.history.versions.len() as f64;
        let wide = hundredth((0.6 * room).clamp(0.6, 7.0));
        let dot = hundredth((0.8 * room).clamp(2.0, 5.0));
        let [again, reboot, relink] = spreads;
        for (class, width, path) in [
            ("interval", wide, intervals),
            ("again", 1.6, again),
            ("reboot", 1.6, reboot),
            ("relink", 1.6, relink),
            ("value", dot, values),
            ("value unstable", dot, unstable),
        ] {
            if !path.is_empty() {
                let _ = write!(
                    svg,
                    "<path class=\"{class}\" stroke-width=\"{width}\" d=\"{path}\"/>"
                );
            }
        }
    }

    /// Neighbouring points together: from the least to the greatest value, and the median of the intervals' ends as a band.
    fn spans(&self, svg: &mut String) {
        let valued: Vec<&VersionPoint> = self
            .series
            .points
            .iter()
            .filter(|p| p.value.is_some())
            .collect();
        let mut spans = String::new();
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for some in valued.chunks(valued.len().div_ceil(MOST_APART)) {
            let values = some.iter().filter_map(|point| point.value);
            let at = some[some.len() / 2].version;
            let (least, most) = span(values);
            let _ = write!(
                spans,
                "M{at} {}V{}",
                hundredth(self.y(most)),
                hundredth(self.y(least) + 0.01)
            );
            let ends = |end: fn(Interval) -> f64| {
                let mut ends: Vec<f64> = some.iter().filter_map(|p| p.interval.map(end)).collect();
                ends.sort_by(f64::total_cmp);
                ends.get(ends.len() / 2)
                    .map(|end| format!("{at} {}", hundredth(self.y(*end))))
            };
            upper.extend(ends(|interval| interval.high));
            lower.extend(ends(|interval| interval.low));
        }
        if !upper.is_empty() {
            lower.reverse();
            let around = [upper, lower].concat().join("L");
            let _ = write!(svg, "<path class=\"band\" d=\"M{around}Z\"/>");
        }
        let _ = write!(
            svg,
            "<path class=\"value\" stroke-width=\"2\" d=\"{spans}\"/>"
        );
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
