//! Loads against what came of them: both axes in decades, the bounds of each goal as lines. Between two loads there is a
//! line to lead the eye and nothing else.

use std::fmt::Write as _;

use super::{FAINT, INK, RULE, TONES, scale::Decades};
use crate::escape;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 626.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 280.0;

/// What came of each load, with the bounds of goals.
pub struct LoadCurve<'a> {
    /// The element's name, unique on its page.
    pub id: &'a str,
    /// What is drawn, for those who don't see it.
    pub title: String,
    /// What the loads are, below their axis.
    pub axis: String,
    /// Writes a load beside its axis.
    pub load_text: &'a dyn Fn(f64) -> String,
    /// Writes a value beside its axis.
    pub value_text: &'a dyn Fn(f64) -> String,
    /// Whether values are loads too: a dashed line then shows where they are equal.
    pub has_diagonal: bool,
    /// The loads that were measured, ascending.
    pub marks: Vec<LoadMark>,
    /// The goals.
    pub goals: Vec<LoadGoal>,
}

/// A load that was measured.
pub struct LoadMark {
    /// The load.
    pub load: f64,
    /// What came of it.
    pub value: f64,
    /// Everything about it in a sentence.
    pub about: String,
    /// Whether the generator fell short of it.
    pub fell_short: bool,
}

/// The bounds of a goal.
pub struct LoadGoal {
    /// What it asks for.
    pub name: String,
    /// Its number, from 0: keeps labels apart.
    pub number: usize,
    /// The least lower bound.
    pub lower: Option<f64>,
    /// The greatest upper bound.
    pub upper: Option<f64>,
}

impl LoadCurve<'_> {
    /// The curve as an SVG element; nothing where no value is above zero.
    pub fn svg(&self) -> Option<String> {
        let x = Decades::over(self.marks.iter().map(|mark| mark.load), LEFT, RIGHT)?;
        let y = Decades::over(self.marks.iter().map(|mark| mark.value), BOTTOM, TOP)?;
        let id = self.id;
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" style=\"width:100%;max-width:46rem;height:auto\" \
             aria-labelledby=\"{id}-t\" font-family=\"system-ui, sans-serif\" font-size=\"12\"><title id=\"{id}-t\">{}</title>",
            escape::html(&self.title)
        );
        self.axes(&mut svg, &x, &y);
        if self.has_diagonal {
            let (low, high) = (x.low.max(y.low), x.high.min(y.high));
            if low < high {
                line(
                    &mut svg,
                    (x.at(low), y.at(low)),
                    (x.at(high), y.at(high)),
                    FAINT,
                    "5 4",
                );
            }
        }
        self.bounds(&mut svg, &x);
        let places = self
            .marks
            .iter()
            .map(|mark| (x.at(mark.load), y.at(mark.value)));
        let path: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{INK}\" stroke-opacity=\"0.35\"/>",
            path.join(" ")
        );
        for mark in &self.marks {
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"{}\"><title>{}</title></circle>",
                x.at(mark.load),
                y.at(mark.value),
                if mark.fell_short { TONES[1] } else { INK },
                escape::html(&mark.about)
            );
        }
        svg.push_str("</svg>");
        Some(svg)
    }

    fn axes(&self, svg: &mut String, x: &Decades, y: &Decades) {
        for tick in x.ticks() {
            line(svg, (x.at(tick), TOP), (x.at(tick), BOTTOM), RULE, "");
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"{FAINT}\">{}</text>",
                x.at(tick),
                BOTTOM + 17.0,
                escape::html(&(self.load_text)(tick))
            );
        }
        for tick in y.ticks() {
            line(svg, (LEFT, y.at(tick)), (RIGHT, y.at(tick)), RULE, "");
            let text = (self.value_text)(tick);
            let _ = write!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{FAINT}\">{}</text>",
                LEFT - 6.0,
                y.at(tick) + 4.0,
                escape::html(&text)
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{FAINT}\">{}</text>",
            f64::midpoint(LEFT, RIGHT),
            BOTTOM + 38.0,
            escape::html(&self.axis)
        );
    }

    fn bounds(&self, svg: &mut String, x: &Decades) {
        for (goal, tone) in self.goals.iter().zip(TONES.iter().cycle().skip(2)) {
            let place = |load: Option<f64>| load.map(|load| x.at(load));
            let (lower, upper, name) = (goal.lower, goal.upper, &goal.name);
            let (Some(from), Some(to)) = (place(lower.or(upper)), place(upper.or(lower))) else {
                continue;
            };
            let _ = write!(
                svg,
                "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{}\" fill=\"{tone}\" fill-opacity=\"0.5\"><title>{}</title></rect>\
             <text transform=\"translate({:.1} {}) rotate(-90)\" fill=\"{tone}\">{}</text>",
                (to - from).max(1.5),
                BOTTOM - TOP,
                escape::html(name),
                from - 4.0,
                BOTTOM - 6.0 - 110.0 * goal.number as f64 % (BOTTOM - TOP - 60.0),
                escape::html(name),
            );
        }
    }
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, dashes: &str) {
    let _ = write!(
        svg,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{colour}\" stroke-dasharray=\"{dashes}\"/>",
        from.0, from.1, to.0, to.1
    );
}
