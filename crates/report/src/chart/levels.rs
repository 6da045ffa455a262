//! A series of numbers: a line of small bars for a terminal, and an SVG with the points, the levels, and a band over the
//! versions that may hold each change. Of many points some are drawn: no more than can be told apart.

use backsight_model::significant;
use backsight_stats::changes::{ChangeKind, Findings};
use std::fmt::Write as _;

use super::{
    FAINT, INK, RULE, TONES,
    scale::{share, span},
};

/// Bars of a line.
const BARS: usize = 64;

/// The series as a line of bars, each the mean of its share of the points; from the least of them to the most.
pub fn sparks(values: &[f64]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bars = values.len().min(BARS);
    let mean = |i: usize| {
        let part = &values[i * values.len() / bars..(i + 1) * values.len() / bars];
        part.iter().map(|x| x / part.len() as f64).sum::<f64>()
    };
    let means: Vec<f64> = (0..bars).map(mean).collect();
    let ends = span(means.iter().copied());
    let height = |x: &f64| {
        let step = (share(*x, ends, 3.0 / 7.0) * 7.0).round() as usize;
        HEIGHTS[step.min(7)]
    };
    means.iter().map(height).collect()
}

/// A series with its levels and changes.
pub struct LevelChart<'a> {
    /// What is drawn, for those who don't see it.
    pub title: String,
    /// The versions' names.
    pub labels: &'a [&'a str],
    /// A value a version.
    pub values: &'a [f64],
    /// What was found in them.
    pub findings: &'a Findings,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 30.0;
const MOST_POINTS: usize = 3000;

impl LevelChart<'_> {
    /// The picture as a file of its own.
    pub fn svg(&self) -> String {
        let mut svg = String::new();
        // Writing to a string can't fail.
        let _ = self.write(&mut svg);
        svg
    }

    fn x(&self, index: f64) -> f64 {
        let last = (self.values.len().max(2) - 1) as f64;
        LEFT + (WIDTH - LEFT - RIGHT) * (index / last).clamp(0.0, 1.0)
    }

    fn y(&self, value: f64) -> f64 {
        let share = share(value, span(self.values.iter().copied()), 0.5).clamp(-0.05, 1.05);
        TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share)
    }

    fn write(&self, svg: &mut String) -> std::fmt::Result {
        let title = escaped(&self.title);
        write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\" role=\"img\"><title>{title}</title>\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
             <text x=\"{LEFT}\" y=\"18\" font-weight=\"bold\">{title}</text>"
        )?;
        self.axes(svg)?;
        for change in &self.findings.changes {
            self.band(svg, change.earliest, change.latest, TONES[1])?;
        }
        for epoch in &self.findings.epochs {
            self.band(svg, epoch.earliest, epoch.latest, FAINT)?;
        }
        self.points(svg)?;
        self.levels(svg)?;
        svg.push_str("</svg>\n");
        Ok(())
    }

    fn axes(&self, svg: &mut String) -> std::fmt::Result {
        let (least, most) = span(self.values.iter().copied());
        for value in [least, most] {
            let y = self.y(value);
            write!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{}\" stroke=\"{RULE}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{FAINT}\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                significant(value, 4)
            )?;
        }
        let ends = [(0, "start"), (self.labels.len().saturating_sub(1), "end")];
        for (index, anchor) in ends {
            let label: String = self
                .labels
                .get(index)
                .unwrap_or(&"")
                .chars()
                .take(40)
                .collect();
            write!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"{FAINT}\">{}</text>",
                self.x(index as f64),
                HEIGHT - 10.0,
                escaped(&label)
            )?;
        }
        Ok(())
    }

    /// Where a change may be, from half a version before the earliest to half a version after the latest.
    fn band(
        &self,
        svg: &mut String,
        earliest: usize,
        latest: usize,
        colour: &str,
    ) -> std::fmt::Result {
        let (from, to) = (self.x(earliest as f64 - 1.0), self.x(latest as f64));
        write!(
            svg,
            "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\" fill-opacity=\"0.25\"/>",
            (to - from).max(1.0),
            HEIGHT - TOP - BOTTOM
        )
    }

    fn points(&self, svg: &mut String) -> std::fmt::Result {
        write!(
            svg,
            "<path fill=\"none\" stroke=\"{}\" stroke-width=\"3\" stroke-linecap=\"round\" stroke-opacity=\"0.6\" d=\"",
            TONES[0]
        )?;
        for i in (0..self.values.len()).step_by(self.values.len().div_ceil(MOST_POINTS).max(1)) {
            write!(
                svg,
                "M{:.1} {:.1}h0",
                self.x(i as f64),
                self.y(self.values[i])
            )?;
        }
        svg.push_str("\"/>");
        Ok(())
    }

    fn levels(&self, svg: &mut String) -> std::fmt::Result {
        let changes = &self.findings.changes;
        let mean = self
            .values
            .iter()
            .map(|x| x / self.values.len() as f64)
            .sum();
        let last = self.values.len() as f64 - 1.0;
        // Beside the changes: what a version adds.
        let slope = self.findings.trend.map_or(0.0, |trend| trend.size / last);
        for i in 0..=changes.len() {
            let before = i.checked_sub(1).map(|i| &changes[i]);
            let after = changes.get(i);
            let end = after.map_or(last, |change| change.at as f64 - 1.0);
            // A trend says where it had led to, not where it began.
            let from = match (before, after) {
                (Some(change), _) => change.after,
                (None, Some(change)) if change.kind == ChangeKind::Level => {
                    change.before - slope * change.at as f64
                }
                (None, Some(_)) => continue,
                (None, None) => mean,
            };
            let to = match (before, after) {
                (_, Some(change)) => change.before,
                (Some(change), None) => from + slope * (last - change.at as f64),
                (None, None) => from,
            };
            write!(
                svg,
                "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{INK}\" stroke-width=\"1.5\"/>",
                self.x(before.map_or(0.0, |change| change.at as f64)),
                self.y(from),
                self.x(end),
                self.y(to)
            )?;
        }
        Ok(())
    }
}

/// A text as XML has it; control characters, which XML hasn't, as a space.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}
