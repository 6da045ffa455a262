//! Offered against what came of it, as SVG: both axes in decades, the bounds of each goal as lines.
//!
//! Refuses: to draw what wasn't measured; between two loads there is a line to lead the eye and nothing else.

// Writing to a String doesn't fail, so its result is dropped below.
use std::fmt::Write;

use backsight_model::{Unit, significant};
use backsight_policy::{LoadPoint, SubjectAnswer};

use super::{
    SearchWords,
    words::{loss, mean},
};
use crate::{chart::TONES, escape};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 626.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 280.0;
const INK: &str = "#24292f";
const FAINT: &str = "#6b747d";
const RULE: &str = "#d9dde1";

/// An axis in decades.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Over these values, with a little room; nothing where there are none above zero.
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        (high > 0.0).then(|| Self {
            low: low / 1.15,
            high: high * 1.15,
            from,
            to,
        })
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Values to be written beside it: powers of ten, with 2 and 5 between where there are few of them.
    fn ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let parts: &[f64] = if decades > 2.5 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let first = self.low.log10().floor() as i32;
        let all = (first..=first + decades as i32 + 1)
            .flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
        let inside: Vec<f64> = all
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect();
        let thin = inside.len().div_ceil(7).max(1);
        inside.into_iter().step_by(thin).collect()
    }
}

/// The picture of a subject, and what it shows in a sentence.
pub(super) fn curve(words: &SearchWords<'_>, answer: &SubjectAnswer, id: &str) -> (String, String) {
    let reads_loss = answer.loads.iter().any(|point| loss(point).is_some());
    // Without a loss it is the metric of the first goal that is about one.
    let of = (0..words.policy.goals.len()).find(|goal| {
        answer
            .loads
            .iter()
            .any(|point| !point.values[*goal].is_empty())
    });
    let value = |point: &LoadPoint| match (reads_loss, of) {
        (true, _) => loss(point).map(|loss| point.load * (1.0 - loss)),
        (false, Some(goal)) => mean(&point.values[goal]),
        (false, None) => None,
    };
    let about = match (reads_loss, of) {
        (true, _) => {
            "what arrived over what was offered; on the dashed line nothing is lost".to_owned()
        }
        (false, Some(goal)) => format!(
            "{} over what was offered",
            words.goal(&words.policy.goals[goal])
        ),
        (false, None) => return (String::new(), "nothing was measured".to_owned()),
    };
    let points: Vec<(f64, f64)> = answer
        .loads
        .iter()
        .filter_map(|point| Some((point.load, value(point)?)))
        .collect();
    let x = Axis::over(points.iter().map(|(load, _)| *load), LEFT, RIGHT);
    let y = Axis::over(points.iter().map(|(_, value)| *value), BOTTOM, TOP);
    let (Some(x), Some(y)) = (x, y) else {
        return (String::new(), "nothing arrived".to_owned());
    };
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" style=\"width:100%;max-width:46rem;height:auto\" \
         aria-labelledby=\"{id}-t\" font-family=\"system-ui, sans-serif\" font-size=\"12\"><title id=\"{id}-t\">{}: {}</title>",
        escape::text(&words.subject(answer.subject)),
        escape::text(&about)
    );
    axes(&mut svg, words, (&x, &y), reads_loss);
    if reads_loss {
        // Where what arrives is what was offered.
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
    bounds(&mut svg, words, answer, &x);
    let path: Vec<String> = points
        .iter()
        .map(|(load, value)| format!("{:.1},{:.1}", x.at(*load), y.at(*value)))
        .collect();
    let _ = write!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{INK}\" stroke-opacity=\"0.35\"/>",
        path.join(" ")
    );
    for (point, (load, value)) in answer
        .loads
        .iter()
        .filter(|p| value(p).is_some())
        .zip(&points)
    {
        let told = format!(
            "offered {}, lost {}, {} trials",
            words.load(*load),
            words.lost(point),
            point.trials
        );
        let _ = write!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"{}\"><title>{}</title></circle>",
            x.at(*load),
            y.at(*value),
            if point.short > 0 { TONES[1] } else { INK },
            escape::text(&told)
        );
    }
    svg.push_str("</svg>");
    (svg, about)
}

fn axes(svg: &mut String, words: &SearchWords<'_>, (x, y): (&Axis, &Axis), reads_loss: bool) {
    let written = |value: f64| number(words.load_unit(), value);
    for tick in x.ticks() {
        line(svg, (x.at(tick), TOP), (x.at(tick), BOTTOM), RULE, "");
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"{FAINT}\">{}</text>",
            x.at(tick),
            BOTTOM + 17.0,
            escape::text(&written(tick))
        );
    }
    for tick in y.ticks() {
        line(svg, (LEFT, y.at(tick)), (RIGHT, y.at(tick)), RULE, "");
        let text = if reads_loss {
            written(tick)
        } else {
            significant(tick, 2)
        };
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{FAINT}\">{}</text>",
            LEFT - 6.0,
            y.at(tick) + 4.0,
            escape::text(&text)
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{FAINT}\">offered: {}</text>",
        f64::midpoint(LEFT, RIGHT),
        BOTTOM + 38.0,
        escape::text(words.load_name())
    );
}

/// The interval between the least lower and the greatest upper bound of each goal, of all searches.
fn bounds(svg: &mut String, words: &SearchWords<'_>, answer: &SubjectAnswer, x: &Axis) {
    for (goal, tone) in answer.goals.iter().zip(TONES.iter().cycle().skip(2)) {
        let lower = goal
            .searches
            .iter()
            .filter_map(|s| s.lower)
            .reduce(f64::min);
        let upper = goal
            .searches
            .iter()
            .filter_map(|s| s.upper)
            .reduce(f64::max);
        let name = words.goal(&words.policy.goals[goal.goal]);
        let place = |load: Option<f64>| load.map(|load| x.at(load));
        let (Some(from), Some(to)) = (place(lower.or(upper)), place(upper.or(lower))) else {
            continue;
        };
        let _ = write!(
            svg,
            "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{}\" fill=\"{tone}\" fill-opacity=\"0.5\"><title>{}</title></rect>\
             <text transform=\"translate({:.1} {}) rotate(-90)\" fill=\"{tone}\">{}</text>",
            (to - from).max(1.5),
            BOTTOM - TOP,
            escape::text(&name),
            from - 4.0,
            BOTTOM - 6.0 - 110.0 * goal.goal as f64 % (BOTTOM - TOP - 60.0),
            escape::text(&name),
        );
    }
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, dashes: &str) {
    let _ = write!(
        svg,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{colour}\" stroke-dasharray=\"{dashes}\"/>",
        from.0, from.1, to.0, to.1
    );
}

/// A round number with its unit.
fn number(unit: Option<Unit>, value: f64) -> String {
    match unit {
        Some(unit) => {
            let readable = unit.readable_for(value);
            let scaled = value * unit.in_terms_of(readable).unwrap_or(1.0);
            format!("{} {readable}", (scaled * 1e6).round() / 1e6)
        }
        None => format!("{}", (value * 1e6).round() / 1e6),
    }
}
