//! The distributions of the sides of a comparison: a strip of dots each, and below them the share of values up to each value
//! (the empirical distribution function), over one axis.

use std::fmt::Write as _;

use super::{
    FAINT, INK, RULE, TONES, px,
    scale::{share, span, ticks},
};
use crate::escape;

/// Most values that are drawn of a side: more can't be told apart.
const MOST_VALUES: usize = 200;
/// About as many of a course.
const MOST_COURSE: usize = 60;

const WIDTH: f64 = 460.0;
const LEFT: f64 = 34.0;
const RIGHT: f64 = 10.0;
const STRIP: f64 = 20.0;
const CURVES: f64 = 96.0;
const AXIS: f64 = 20.0;

/// Values of a side of a comparison.
pub struct Distribution {
    /// The side's name.
    pub name: String,
    /// Its values, in order of time; not a number is left out.
    pub values: Vec<f64>,
}

/// The distributions over one axis as SVG; nothing where there is no value. `id` is unique on its page.
pub fn distributions(id: &str, title: &str, unit: &str, sides: &[Distribution]) -> String {
    let sides: Vec<(&str, Vec<f64>)> = sides
        .iter()
        .map(|side| (side.name.as_str(), drawn(&side.values)))
        .collect();
    let (low, high) = span(sides.iter().flat_map(|(_, values)| values.iter().copied()));
    if low > high {
        return String::new();
    }
    let air = ((high - low) * 0.04).max(high.abs() * 1e-6);
    let (low, high) = (low - air, high + air);
    let x = |value: f64| LEFT + share(value, (low, high), 0.5) * (WIDTH - LEFT - RIGHT);
    let top = STRIP * sides.len() as f64 + 6.0;
    let foot = top + CURVES;
    let y = |share: f64| foot - share * CURVES;
    let height = foot + AXIS;
    let id = escape::html(id);
    let spoken: Vec<String> = sides.iter().map(spoken).collect();
    let mut svg = format!(
        "<svg class=\"chart distributions\" role=\"img\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         aria-labelledby=\"{id}-t {id}-d\" font-size=\"11\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
        escape::html(title),
        escape::html(&spoken.join("; ")),
    );
    let (marks, decimals) = ticks(low, high, 6.0);
    let _ = write!(svg, "<g class=\"axis\" fill=\"{FAINT}\">");
    for (number, mark) in marks.iter().enumerate() {
        let at = px(x(*mark));
        let unit = match number + 1 == marks.len() && !unit.is_empty() {
            true => format!(" {}", escape::html(unit)),
            false => String::new(),
        };
        let _ = write!(
            svg,
            "<path class=\"rule\" d=\"M{at} 0V{}\" stroke=\"{RULE}\"/><text x=\"{at}\" y=\"{}\" text-anchor=\"{}\">{mark:.decimals$}{unit}</text>",
            px(foot),
            px(height - 5.0),
            if unit.is_empty() { "middle" } else { "end" },
        );
    }
    for (part, text) in [(0.0, "0"), (0.5, "½"), (1.0, "1")] {
        let _ = write!(
            svg,
            "<path class=\"rule\" d=\"M{LEFT} {0}H{1}\" stroke=\"{RULE}\"/><text x=\"{2}\" y=\"{3}\" text-anchor=\"end\">{text}</text>",
            px(y(part)),
            px(WIDTH - RIGHT),
            px(LEFT - 6.0),
            px(y(part) + 4.0),
        );
    }
    svg.push_str("</g>");
    for (number, (name, values)) in sides.iter().enumerate() {
        let tone = number % TONES.len();
        let middle = STRIP * number as f64 + STRIP / 2.0;
        let mut dots = String::new();
        for (place, value) in values.iter().enumerate() {
            // Spread a little, lest equal values hide each other.
            let off = (place * 7 % 5) as f64 - 2.0;
            let _ = write!(dots, "M{} {}h0", px(x(*value)), px(middle + off * 1.6));
        }
        let mut ranked = values.clone();
        ranked.sort_by(f64::total_cmp);
        let mut curve = format!("M{LEFT} {}", px(foot));
        for (rank, value) in (1..).zip(&ranked) {
            let part = f64::from(rank) / ranked.len() as f64;
            let _ = write!(curve, "H{}V{}", px(x(*value)), px(y(part)));
        }
        let _ = write!(curve, "H{}", px(WIDTH - RIGHT));
        let _ = write!(
            svg,
            "<g class=\"tone-{tone}\"><title>{}</title><text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{INK}\">{}</text>\
             <path class=\"points\" d=\"{dots}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"5\" stroke-linecap=\"round\" stroke-opacity=\".7\"/>\
             <path class=\"curve\" d=\"{curve}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"{}/></g>",
            escape::html(name),
            px(LEFT - 6.0),
            px(middle + 4.0),
            letter(number),
            // Sides are told apart without colours too.
            if number == 0 {
                " stroke-dasharray=\"5 3\""
            } else {
                ""
            },
            colour = TONES[tone],
        );
    }
    svg.push_str("</svg>");
    svg
}

/// The course of values along versions, with the sides of a comparison marked on it, as SVG; nothing of fewer than two values.
pub fn marked_course(values: &[f64], marks: &[Option<usize>]) -> String {
    const HEIGHT: f64 = 64.0;
    let (low, high) = span(values.iter().copied());
    if values.len() < 2 {
        return String::new();
    }
    let x = |place: usize| 8.0 + place as f64 / (values.len() - 1) as f64 * (WIDTH - 16.0);
    let y = |value: f64| HEIGHT - 18.0 - share(value, (low, high), 0.5) * (HEIGHT - 26.0);
    let step = values.len().div_ceil(MOST_COURSE);
    let mut line = String::new();
    for (place, value) in values.iter().enumerate().step_by(step) {
        let command = if place == 0 { 'M' } else { 'L' };
        let _ = write!(line, "{command}{} {}", px(x(place)), px(y(*value)));
    }
    let mut svg = format!(
        "<svg class=\"chart marked\" aria-hidden=\"true\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-size=\"11\"><path class=\"line\" d=\"{line}\" fill=\"none\" stroke=\"{FAINT}\"/>"
    );
    for (number, mark) in marks.iter().enumerate() {
        let Some((place, value)) = mark.and_then(|at| Some((at, values.get(at)?))) else {
            continue;
        };
        let tone = number % TONES.len();
        let _ = write!(
            svg,
            "<g class=\"tone-{tone}\"><circle class=\"dots\" cx=\"{0}\" cy=\"{1}\" r=\"4\" fill=\"{2}\"/>\
             <text x=\"{0}\" y=\"{3}\" text-anchor=\"middle\" fill=\"{INK}\">{4}</text></g>",
            px(x(place)),
            px(y(*value)),
            TONES[tone],
            px(HEIGHT - 4.0),
            letter(number)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// What a side is called in the chart: names have no room there.
fn letter(number: usize) -> char {
    (b'A'..=b'Z').nth(number).map_or('+', char::from)
}

fn spoken((name, values): &(&str, Vec<f64>)) -> String {
    let (low, high) = span(values.iter().copied());
    match values.len() {
        0 => format!("{name}: no value"),
        count => format!("{name}: {count} values from {low:.6} to {high:.6}"),
    }
}

/// The finite values; where there are more than can be drawn, some: evenly by rank, both ends included.
fn drawn(values: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|it| it.is_finite()).collect();
    if finite.len() <= MOST_VALUES {
        return finite;
    }
    finite.sort_by(f64::total_cmp);
    let last = finite.len() - 1;
    let rank = |number: usize| number * last / (MOST_VALUES - 1);
    (0..MOST_VALUES)
        .map(|number| finite[rank(number)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &str, values: &[f64]) -> Distribution {
        Distribution {
            name: name.into(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn every_value_is_a_dot_and_a_step() {
        let sides = [side("6.1", &[1.0, 2.0, 3.0]), side("6.2", &[2.0, 2.0])];
        let svg = distributions("d", "rate", "Gbit/s", &sides);
        assert_eq!(svg.matches("h0").count(), 5, "{svg}");
        let curve = svg.split("class=\"curve\" d=\"").nth(1).unwrap();
        let curve = curve.split('"').next().unwrap();
        assert_eq!(curve.matches('V').count(), 3);
        assert!(svg.contains(" Gbit/s</text>") && svg.contains("6.2: 2 values"));
    }

    #[test]
    fn what_is_no_number_or_too_much_or_hostile_makes_no_broken_picture() {
        assert_eq!(
            distributions("d", "rate", "", &[side("a", &[f64::NAN])]),
            ""
        );
        let alike = distributions("d", "rate", "", &[side("a", &[0.0; 3])]);
        assert!(!alike.contains("NaN") && !alike.contains("inf"), "{alike}");
        let many: Vec<f64> = (0..100_000).map(f64::from).collect();
        let svg = distributions("d", "rate", "", &[side("<script>\"", &many)]);
        assert_eq!(svg.matches("h0").count(), MOST_VALUES);
        assert!(!svg.contains("<script"));
    }
}
