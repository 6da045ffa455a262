//! Bars with their spread as SVG: one bar a cell, every sample a dot over it, the interval a whisker.
//!
//! The chart stands alone (its colours are attributes) and can be restyled where it is embedded (every part has a class).
//! A bar begins at zero and has a text with its interval; a cell that wasn't measured is a dashed frame.

// Writing to a String doesn't fail, so its result is dropped below.
use std::fmt::Write;

use super::{
    FAINT, INK, RULE, TONES, px,
    scale::{share, ticks},
};
use crate::escape;

/// Most dots of one bar: more than that can't be told apart.
const MOST_DOTS: usize = 200;

const LINE: f64 = 15.0;
const BAR: f64 = 13.0;
const GAP: f64 = 9.0;
const AXIS: f64 = 20.0;
/// Room for half a dot at the right edge.
const MARGIN: f64 = 4.0;
/// Between groups.
const BREAK: f64 = 8.0;
const BETWEEN: f64 = 22.0;

/// Mean width of a character in the labels, in pixels: an estimate on the wide side.
const CHARACTER: f64 = 6.9;
/// The same of the labels of an axis.
const SMALL_CHARACTER: f64 = 6.3;

/// A chart of bars that share one axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BarChart {
    /// What is drawn, for those who don't see it.
    pub title: String,
    /// Unit of the axis; every number of the chart is in it.
    pub unit: String,
    /// The bars.
    pub groups: Vec<BarGroup>,
}

/// Bars that belong together, under one heading.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BarGroup {
    /// The heading; none if empty.
    pub label: String,
    /// The bars, from top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    /// What it is of.
    pub label: String,
    /// Its value as text, with how sure it is; or why it is missing.
    pub value: String,
    /// Of how many samples; shown fainter, after the value.
    pub count: String,
    /// Everything about it in a sentence: its tooltip, and what is read out.
    pub about: String,
    /// Which of [`TONES`].
    pub tone: usize,
    /// Where it ends; nothing if nothing was measured.
    pub centre: Option<f64>,
    /// The whisker, lower end first.
    pub interval: Option<(f64, f64)>,
    /// The dots, in order of time: the first at the bar's upper edge, the last at its lower edge.
    pub samples: Vec<f64>,
}

impl BarChart {
    /// The chart as an SVG element of this width, in pixels; `id` is unique on its page.
    pub fn svg(&self, id: &str, width: f64) -> String {
        let panels = self.panels(width);
        let height = self.height();
        let id = escape::html(id);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" viewBox=\"0 0 {} {}\" \
             width=\"{}\" height=\"{}\" aria-labelledby=\"{id}-t {id}-d\" font-family=\"system-ui, sans-serif\" \
             font-size=\"12\">\n<title id=\"{id}-t\">{}</title>\n<desc id=\"{id}-d\">{}</desc>\n",
            px(width),
            px(height),
            px(width),
            px(height),
            escape::html(&self.title),
            escape::html(&self.spoken()),
        );
        // Nothing has no scale.
        for panel in panels.iter().filter(|_| self.reach().is_some()) {
            panel.axis(&mut svg, height, &self.unit);
        }
        let mut y = 0.0;
        for (number, group) in self.groups.iter().enumerate() {
            if number > 0 {
                y += BREAK;
            }
            if !group.label.is_empty() {
                let label = escape::html(&elided(&group.label, width));
                let _ = writeln!(
                    svg,
                    "<text class=\"group\" x=\"0\" y=\"{}\" font-weight=\"600\" fill=\"{INK}\">{label}</text>",
                    px(y + 12.0)
                );
                y += LINE + 4.0;
            }
            for bar in &group.bars {
                bar.draw(&mut svg, y, width, &panels);
                y += LINE + BAR + GAP;
            }
        }
        svg.push_str("</svg>");
        svg
    }

    fn height(&self) -> f64 {
        let rows: usize = self.groups.iter().map(|group| group.bars.len()).sum();
        let headings = self.groups.iter().filter(|g| !g.label.is_empty()).count();
        let breaks = self.groups.len().saturating_sub(1);
        rows as f64 * (LINE + BAR + GAP)
            + headings as f64 * (LINE + 4.0)
            + breaks as f64 * BREAK
            + AXIS
    }

    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }

    fn spoken(&self) -> String {
        let bars: Vec<&str> = self.bars().map(|bar| bar.about.as_str()).collect();
        bars.join("; ")
    }

    /// One panel from zero; and beside it, where all values are near each other, one that magnifies them.
    fn panels(&self, width: f64) -> Vec<Panel> {
        let Some((low, high)) = self.reach() else {
            return vec![Panel::new(0.0, 1.0, 0.5, width - MARGIN, Kind::Only)];
        };
        let (from, to) = (low.min(0.0), high.max(0.0));
        let to = if from == to { 1.0 } else { to };
        let near = low > 0.0 && high > low && (high - low) / high < 0.4;
        if !near {
            return vec![Panel::new(from, to, 0.5, width - MARGIN, Kind::Only)];
        }
        let middle = (width - BETWEEN) * 0.42;
        let air = (high - low) * 0.06;
        vec![
            Panel::new(from, to, 0.5, middle, Kind::Bars),
            Panel::new(
                low - air,
                high + air,
                middle + BETWEEN,
                width - MARGIN,
                Kind::Dots,
            ),
        ]
    }

    /// From the least to the greatest number drawn. Samples are never cut off; a whisker longer than three
    /// times what the samples span is.
    fn reach(&self) -> Option<(f64, f64)> {
        let points = || {
            self.bars()
                .flat_map(|bar| bar.samples.iter().copied().chain(bar.centre))
                .filter(|x| x.is_finite())
        };
        let low = points().min_by(f64::total_cmp)?;
        let high = points().max_by(f64::total_cmp)?;
        let span = (high - low).max(low.abs().max(high.abs()) * 1e-3);
        let ends = || self.bars().filter_map(|bar| bar.interval);
        let lowest = ends().map(|(a, _)| a.max(low - span)).fold(low, f64::min);
        let highest = ends().map(|(_, b)| b.min(high + span)).fold(high, f64::max);
        // Whiskers of what can't be negative don't make room left of zero.
        let lowest = if low >= 0.0 { lowest.max(0.0) } else { lowest };
        Some((lowest, highest))
    }
}

/// A difference with its interval on a line around zero, `reach` to either side: what lies beyond is an arrow.
pub fn mark(difference: f64, interval: Option<(f64, f64)>, reach: f64) -> String {
    const WIDTH: f64 = 88.0;
    const HEIGHT: f64 = 14.0;
    let panel = Panel::new(-reach, reach, 2.0, WIDTH - 2.0, Kind::Only);
    let mut line = String::new();
    let (low, high) = interval.unwrap_or((difference, difference));
    panel.reach_of(&mut line, (low, high), HEIGHT / 2.0, 0.0);
    let dot = if difference.abs() <= reach {
        format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"2.6\" fill=\"currentColor\" stroke=\"none\"/>",
            px(panel.x(difference)),
            px(HEIGHT / 2.0)
        )
    } else {
        String::new()
    };
    format!(
        "<svg class=\"mark\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" aria-hidden=\"true\" \
         fill=\"none\" stroke=\"currentColor\"><path class=\"zero\" d=\"M{2} 0V{1}\" stroke=\"{RULE}\"/>\
         <path d=\"{line}\" stroke-width=\"1.6\"/>{dot}</svg>",
        px(WIDTH),
        px(HEIGHT),
        px(panel.x(0.0)),
    )
}

/// The course of these numbers as a line of this size, in pixels; nothing for less than two of them.
pub fn spark(numbers: &[f64], width: f64, height: f64) -> String {
    let step = numbers.len().div_ceil(MOST_DOTS).max(1);
    let shown: Vec<f64> = numbers
        .iter()
        .step_by(step)
        .copied()
        .filter(|number| number.is_finite())
        .collect();
    let ends = shown
        .iter()
        .copied()
        .reduce(f64::min)
        .zip(shown.iter().copied().reduce(f64::max));
    let (Some((low, high)), true) = (ends, shown.len() > 1) else {
        return String::new();
    };
    let panel = Panel::new(low, high, 1.0, height - 1.0, Kind::Only);
    let mut path = String::new();
    for (number, value) in shown.iter().enumerate() {
        let x = number as f64 / (shown.len() - 1) as f64 * width;
        let command = if number == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{command}{} {}", px(x), px(height - panel.x(*value)));
    }
    format!(
        "<svg class=\"spark\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" aria-hidden=\"true\">\
         <path d=\"{path}\" fill=\"none\" stroke=\"{FAINT}\"/></svg>",
        px(width),
        px(height)
    )
}

impl Bar {
    fn draw(&self, svg: &mut String, y: f64, width: f64, panels: &[Panel]) {
        let class = if self.centre.is_some() {
            "bar"
        } else {
            "bar missing"
        };
        let written = self.value.chars().count() + self.count.chars().count() + 1;
        let room = width - written as f64 * CHARACTER - 10.0;
        let tone = self.tone % TONES.len();
        let _ = write!(
            svg,
            "<g class=\"{class} tone-{tone}\"><title>{}</title><rect class=\"hit\" x=\"0\" y=\"{}\" \
                 width=\"{}\" height=\"{}\" fill=\"none\" pointer-events=\"all\"/>\
                 <text class=\"label\" x=\"0\" y=\"{}\" fill=\"{INK}\">{}</text>\
                 <text class=\"value\" x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{INK}\">{}\
             <tspan class=\"count\" fill=\"{FAINT}\"> {}</tspan></text>",
            escape::html(&self.about),
            px(y),
            px(width),
            px(LINE + BAR + GAP),
            px(y + 11.0),
            escape::html(&elided(&self.label, room)),
            px(width),
            px(y + 11.0),
            escape::html(&self.value),
            escape::html(&self.count),
        );
        for panel in panels {
            panel.draw(svg, self, y + LINE, TONES[tone]);
        }
        svg.push_str("</g>\n");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Bars with dots and whiskers.
    Only,
    /// Bars, whose dots are too near each other to be seen.
    Bars,
    /// The dots and whiskers of these bars, magnified.
    Dots,
}

/// A piece of axis and what stands over it.
#[derive(Debug, Clone, Copy)]
struct Panel {
    low: f64,
    high: f64,
    left: f64,
    right: f64,
    kind: Kind,
}

impl Panel {
    fn new(low: f64, high: f64, left: f64, right: f64, kind: Kind) -> Self {
        Self {
            low,
            high,
            left,
            right,
            kind,
        }
    }

    fn x(&self, value: f64) -> f64 {
        let share = share(value, (self.low, self.high), 0.0);
        self.left + share.clamp(0.0, 1.0) * (self.right - self.left)
    }

    fn axis(&self, svg: &mut String, height: f64, unit: &str) {
        let base = height - AXIS;
        let most = ((self.right - self.left) / 62.0).max(2.0);
        let (marks, decimals) = ticks(self.low, self.high, most);
        let dashes = if self.kind == Kind::Dots {
            " stroke-dasharray=\"2 3\""
        } else {
            ""
        };
        let _ = write!(svg, "<g class=\"axis\" fill=\"{FAINT}\" font-size=\"11\">");
        // From the right, where the unit is: a label that would run into the next is left out.
        let mut next = f64::INFINITY;
        for (number, mark) in marks.iter().enumerate().rev() {
            let x = self.x(*mark);
            let _ = write!(
                svg,
                "<path class=\"rule\" d=\"M{} 0V{}\" stroke=\"{RULE}\"{dashes}/>",
                px(x),
                px(base + 1.0)
            );
            let mut text = format!("{mark:.decimals$}");
            if number + 1 == marks.len() && self.kind != Kind::Bars {
                let _ = write!(text, " {unit}");
            }
            let label = self.label(x, text);
            if label.left + label.width + 4.0 <= next {
                let _ = write!(
                    svg,
                    "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                    px(label.at),
                    px(base + 14.0),
                    label.anchor,
                    escape::html(&label.text)
                );
                next = label.left;
            }
        }
        svg.push_str("</g>\n");
    }

    /// A mark's label: centred, unless that would leave the picture.
    fn label(&self, x: f64, text: String) -> Label {
        let width = text.chars().count() as f64 * SMALL_CHARACTER;
        let (anchor, at, left) = if self.kind != Kind::Dots && x < self.left + width / 2.0 {
            ("start", self.left - 0.5, self.left)
        } else if self.kind != Kind::Bars && x + width / 2.0 > self.right + MARGIN {
            let end = self.right + MARGIN;
            ("end", end, end - width)
        } else {
            ("middle", x, x - width / 2.0)
        };
        Label {
            text,
            anchor,
            at,
            left,
            width,
        }
    }

    fn draw(&self, svg: &mut String, bar: &Bar, y: f64, colour: &str) {
        match (bar.centre.filter(|x| x.is_finite()), self.kind) {
            (None, Kind::Dots) => {}
            (None, _) => {
                let _ = write!(
                    svg,
                    "<rect class=\"gap\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" \
                     stroke=\"{FAINT}\" stroke-dasharray=\"3 3\"/>",
                    px(self.x(0.0)),
                    px(y + 0.5),
                    px(self.right - self.x(0.0)),
                    px(BAR - 1.0),
                );
            }
            (Some(centre), kind) => {
                if kind != Kind::Dots {
                    self.block(svg, centre, y, colour);
                }
                if kind != Kind::Bars {
                    self.dots(svg, &bar.samples, y, colour);
                }
                self.whisker(svg, centre, bar.interval, y);
            }
        }
    }

    fn block(&self, svg: &mut String, centre: f64, y: f64, colour: &str) {
        let (zero, end) = (self.x(0.0), self.x(centre));
        let _ = write!(
            svg,
            "<rect class=\"block\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\" \
             fill-opacity=\"0.4\"/>",
            px(zero.min(end)),
            px(y),
            px((end - zero).abs().max(0.5)),
            px(BAR),
        );
    }

    fn dots(&self, svg: &mut String, samples: &[f64], y: f64, colour: &str) {
        let drawn = spread_out(samples);
        let steps = drawn.len().saturating_sub(1).max(1) as f64;
        let _ = write!(
            svg,
            "<g class=\"dots\" fill=\"{colour}\" fill-opacity=\"0.75\">"
        );
        for (number, sample) in drawn.iter().enumerate() {
            if !sample.is_finite() {
                continue;
            }
            let down = if drawn.len() == 1 {
                0.5
            } else {
                number as f64 / steps
            };
            let _ = write!(
                svg,
                "<circle cx=\"{}\" cy=\"{}\" r=\"2\"/>",
                px(self.x(*sample)),
                px(y + 2.0 + down * (BAR - 4.0)),
            );
        }
        svg.push_str("</g>");
    }

    fn whisker(&self, svg: &mut String, centre: f64, interval: Option<(f64, f64)>, y: f64) {
        let mut path = String::new();
        if let Some(ends) = interval {
            self.reach_of(&mut path, ends, y + BAR / 2.0, 3.0);
        }
        let _ = write!(
            path,
            "M{} {}V{}",
            px(self.x(centre)),
            px(y - 1.0),
            px(y + BAR + 1.0)
        );
        let _ = write!(
            svg,
            "<path class=\"whisker\" d=\"{path}\" fill=\"none\" stroke=\"{INK}\" stroke-width=\"1.3\"/>"
        );
    }

    /// A line from end to end with caps of this size; an end beyond the axis is an arrow instead.
    fn reach_of(&self, path: &mut String, (low, high): (f64, f64), y: f64, cap: f64) {
        let _ = write!(path, "M{} {}H{}", px(self.x(low)), px(y), px(self.x(high)));
        for end in [low, high] {
            let x = self.x(end);
            let _ = if self.low <= end && end <= self.high {
                write!(path, "M{} {}V{}", px(x), px(y - cap), px(y + cap))
            } else {
                let back = px(if end < self.low { x + 3.0 } else { x - 3.0 });
                write!(
                    path,
                    "M{back} {}L{} {}L{back} {}",
                    px(y - 3.0),
                    px(x),
                    px(y),
                    px(y + 3.0)
                )
            };
        }
    }
}

/// A label of an axis: where it is put, and about where it begins.
struct Label {
    text: String,
    anchor: &'static str,
    at: f64,
    left: f64,
    width: f64,
}

/// All samples; or, where there are more than can be drawn, some of them: evenly by rank, both ends included.
fn spread_out(samples: &[f64]) -> Vec<f64> {
    if samples.len() <= MOST_DOTS {
        return samples.to_vec();
    }
    let mut ranked = samples.to_vec();
    ranked.sort_by(f64::total_cmp);
    let last = ranked.len() - 1;
    let by_rank: Vec<f64> = (0..MOST_DOTS)
        .map(|number| ranked[number * last / (MOST_DOTS - 1)])
        .collect();
    // In no order of size, lest the dots make a slope that isn't in the samples; 77 and 200 have no common divisor.
    (0..MOST_DOTS)
        .map(|number| by_rank[number * 77 % MOST_DOTS])
        .collect()
}

/// As much of a label as there is room for, in pixels.
fn elided(label: &str, room: f64) -> String {
    let most = (room / CHARACTER).max(6.0) as usize;
    if label.chars().count() <= most {
        label.to_owned()
    } else {
        let kept: String = label.chars().take(most - 1).collect();
        format!("{}…", kept.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bar(label: &str, samples: &[f64]) -> Bar {
        let centre = samples.iter().sum::<f64>() / samples.len() as f64;
        Bar {
            label: label.into(),
            value: format!("{centre:.2} ±0.1"),
            count: "n=3".into(),
            about: format!("{label}: mean {centre:.2}, n = 3"),
            centre: (!samples.is_empty()).then_some(centre),
            interval: (samples.len() > 1).then_some((centre - 0.1, centre + 0.1)),
            samples: samples.to_vec(),
            ..Bar::default()
        }
    }

    fn chart(bars: Vec<Bar>) -> BarChart {
        BarChart {
            title: "rate".into(),
            unit: "Gbit/s".into(),
            groups: vec![BarGroup {
                label: "streams=1".into(),
                bars,
            }],
        }
    }

    fn count(svg: &str, part: &str) -> usize {
        svg.matches(part).count()
    }

    #[test]
    fn every_cell_has_a_bar_and_every_sample_a_dot() {
        let svg = chart(vec![
            bar("direct", &[9.0, 9.1, 9.2]),
            bar("filter", &[2.0, 2.2, 2.1]),
        ])
        .svg("a", 440.0);
        assert_eq!(count(&svg, "class=\"block\""), 2);
        assert_eq!(count(&svg, "<circle"), 6);
        assert_eq!(count(&svg, "class=\"whisker\""), 2);
        assert!(
            svg.contains("Gbit/s</text>"),
            "the axis has its unit: {svg}"
        );
        assert!(
            svg.contains("aria-labelledby=\"a-t a-d\"")
                && svg.contains("<title id=\"a-t\">rate</title>")
        );
    }

    #[test]
    fn what_is_missing_has_a_gap_and_no_bar() {
        let mut missing = bar("forward", &[]);
        missing.centre = None;
        missing.value = "missing: 5 of 5 trials failed".into();
        let svg = chart(vec![bar("direct", &[9.0, 9.1, 2.2]), missing]).svg("a", 440.0);
        assert_eq!(count(&svg, "class=\"block\""), 1);
        assert_eq!(count(&svg, "class=\"gap\""), 1);
        assert!(svg.contains("missing: 5 of 5 trials failed"));
    }

    #[test]
    fn a_chart_of_nothing_is_still_a_chart() {
        let svg = chart(vec![Bar::default()]).svg("a", 440.0);
        assert!(svg.contains("class=\"gap\"") && !svg.contains("NaN"));
        assert!(BarChart::default().svg("b", 440.0).ends_with("</svg>"));
    }

    #[test]
    fn values_near_each_other_are_magnified_beside_bars_from_zero() {
        let svg = chart(vec![
            bar("a", &[99.0, 100.0, 101.0]),
            bar("b", &[98.0, 99.0, 99.5]),
        ])
        .svg("a", 440.0);
        assert_eq!(count(&svg, "<g class=\"axis\""), 2);
        assert_eq!(
            count(&svg, "<circle"),
            6,
            "dots only where they can be told apart"
        );
        assert_eq!(count(&svg, "class=\"whisker\""), 4);
        assert_eq!(count(&svg, "class=\"block\""), 2);
    }

    #[test]
    fn a_whisker_without_bounds_does_not_squeeze_the_samples() {
        let mut wild = bar("a", &[9.0, 11.0]);
        wild.interval = Some((-1e9, 1e9));
        let (low, high) = chart(vec![wild]).reach().unwrap();
        assert!(low >= 0.0 && high <= 20.0, "{low} {high}");
    }

    #[test]
    fn a_difference_beyond_the_picture_is_an_arrow_outwards() {
        let within = mark(-5.0, Some((-8.0, -2.0)), 10.0);
        assert_eq!((count(&within, "<circle"), count(&within, "L")), (1, 0));
        let beyond = mark(-50.0, Some((-80.0, -20.0)), 10.0);
        assert_eq!(
            (count(&beyond, "<circle"), count(&beyond, "M5 4L2 7L5 10")),
            (0, 2),
            "{beyond}"
        );
    }

    #[test]
    fn a_line_needs_two_points() {
        assert_eq!(spark(&[1.0], 160.0, 18.0), "");
        assert!(spark(&[1.0, 1.0], 160.0, 18.0).contains("M0 "));
        assert!(!spark(&[1.0, f64::NAN, 2.0], 160.0, 18.0).contains("NaN"));
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(ticks(0.0, 9.3, 5.0), (vec![0.0, 2.0, 4.0, 6.0, 8.0], 0));
        assert_eq!(ticks(0.31, 0.52, 4.0).1, 1);
        assert_eq!(ticks(-3.0, 4.0, 4.0).0, vec![-2.0, 0.0, 2.0, 4.0]);
        assert_eq!(ticks(0.0, 1e-9, 4.0).0.len(), 3);
    }

    #[test]
    fn a_million_samples_keep_their_ends_and_the_picture_its_size() {
        let many: Vec<f64> = (0..1_000_000).map(|i| f64::from(i % 1000)).collect();
        let drawn = spread_out(&many);
        assert_eq!(drawn.len(), MOST_DOTS);
        assert!(drawn.contains(&0.0) && drawn.contains(&999.0));
    }

    #[test]
    fn a_long_unit_pushes_the_marks_beside_it_away() {
        let mut long = chart(vec![bar("a", &[20.5, 20.9])]);
        long.unit = "ktransactions/s".into();
        long.groups[0].bars.push(bar("b", &[1.0]));
        let svg = long.svg("a", 380.0);
        assert!(
            svg.contains(">20 ktransactions/s</text>") && !svg.contains(">15</text>"),
            "{svg}"
        );
        assert!(svg.contains(">10</text>"));
        assert_eq!(count(&svg, "class=\"rule\""), 5);
    }

    #[test]
    fn labels_are_text() {
        let mut hostile = bar("<script>", &[1.0, 2.0]);
        hostile.value = "\"><image href=x>".into();
        hostile.about = "</title></svg>\u{202e}".into();
        let svg = chart(vec![hostile]).svg("x\" onload=\"y", 440.0);
        assert!(!svg.contains("<script") && !svg.contains("<image") && !svg.contains('\u{202e}'));
        assert_eq!(count(&svg, "</svg>"), 1);
        assert!(!svg.contains("onload=\""));
    }

    proptest! {
        #[test]
        fn any_numbers_make_a_picture_within_its_frame(
            rows in prop::collection::vec(prop::collection::vec(prop::num::f64::ANY, 0..6), 0..6),
        ) {
            let bars = rows.iter().map(|row| bar("x", row)).collect();
            let svg = chart(bars).svg("a", 440.0);
            prop_assert!(!svg.contains("NaN") || svg.contains("mean NaN") || svg.contains(">NaN"));
            prop_assert!(!svg.contains("=\"NaN") && !svg.contains("=\"inf") && !svg.contains("=\"-inf"));
        }
    }
}
