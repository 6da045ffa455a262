//! Base and side pass by pass, over axes: the passes below, the values on the left.

use std::fmt::Write as _;

use super::{
    FAINT, RULE, TONES, px,
    scale::{share, span, ticks},
};
use crate::escape;

/// Most passes of a chart.
const MOST_PASSES: usize = 400;

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 168.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 372.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 140.0;

/// The figures of base and side, pass by pass, as SVG: the base as rings, the side as dots, the means as lines. Values are in the
/// unit that is named.
pub fn passes(title: &str, unit: &str, pairs: &[(f64, f64)]) -> String {
    let step = pairs.len().div_ceil(MOST_PASSES).max(1);
    let numbered = (1..).zip(pairs.iter().copied());
    let shown: Vec<(usize, (f64, f64))> = numbered.step_by(step).collect();
    let (low, high) = span(pairs.iter().flat_map(|(base, new)| [*base, *new]));
    let air = ((high - low) * 0.06)
        .max(high.abs() * 1e-6)
        .max(f64::MIN_POSITIVE);
    let ends = (low - air, high + air);
    let y = |value: f64| BOTTOM - share(value, ends, 0.5) * (BOTTOM - TOP);
    let last = pairs.len();
    let x = |pass: usize| LEFT + 8.0 + (pass as f64 - 0.5) / last as f64 * (RIGHT - LEFT - 16.0);
    let mut svg = format!(
        "<svg class=\"chart passes\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" font-size=\"11\">\
         <title>{}</title><g class=\"axis\" fill=\"{FAINT}\">",
        escape::html(&format!("{title}, pass by pass"))
    );
    let (marks, decimals) = ticks(ends.0, ends.1, 4.0);
    for mark in marks {
        let at = y(mark);
        let _ = write!(
            svg,
            "<path class=\"rule\" d=\"M{LEFT} {}H{RIGHT}\" stroke=\"{RULE}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{mark:.decimals$}</text>",
            px(at),
            px(LEFT - 6.0),
            px(at + 4.0),
        );
    }
    let last_pass = last as f64;
    let (marks, _) = ticks(1.0, last_pass.max(2.0), 6.0);
    let is_pass = |mark: &&f64| mark.fract() == 0.0 && (1.0..=last_pass).contains(*mark);
    for mark in marks.iter().filter(is_pass) {
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{mark:.0}</text>",
            px(x(*mark as usize)),
            px(BOTTOM + 14.0),
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\" text-anchor=\"end\">{}</text><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">pass</text></g>",
        px(TOP - 9.0),
        escape::html(unit),
        px(f64::midpoint(LEFT, RIGHT)),
        px(HEIGHT - 2.0),
    );
    type Which = fn(&(f64, f64)) -> f64;
    let sides: [(Which, &str, &str, &str); 2] = [
        (|pair| pair.0, "without", FAINT, "none"),
        (|pair| pair.1, "with", TONES[0], TONES[0]),
    ];
    for (which, class, colour, fill) in sides {
        let mean = pairs.iter().map(which).sum::<f64>() / last as f64;
        let _ = write!(
            svg,
            "<g class=\"{class}\" stroke=\"{colour}\" fill=\"{fill}\"><path d=\"M{LEFT} {}H{RIGHT}\" stroke-dasharray=\"3 3\"/>",
            px(y(mean))
        );
        for (pass, pair) in &shown {
            let _ = write!(
                svg,
                "<circle cx=\"{}\" cy=\"{}\" r=\"2.2\"/>",
                px(x(*pass)),
                px(y(which(pair)))
            );
        }
        svg.push_str("</g>");
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_axes_have_numbers_and_the_values_their_unit() {
        let pairs: Vec<(f64, f64)> = (0..12).map(|it| (10.0 + f64::from(it), 9.0)).collect();
        let svg = passes("a & b", "µs", &pairs);
        assert!(svg.contains("a &amp; b, pass by pass") && svg.contains(">µs</text>"));
        assert!(
            svg.contains(">10</text>") && svg.contains(">20</text>"),
            "{svg}"
        );
        assert!(
            svg.contains(">pass</text>") && svg.contains(">12</text>"),
            "{svg}"
        );
        assert_eq!(svg.matches("<circle").count(), 24);
        // All alike, and very many.
        let alike = passes("x", "s", &[(1.0, 1.0)]);
        assert!(
            alike.contains("<circle") && !alike.contains("NaN"),
            "{alike}"
        );
        let many = vec![(1.0, 2.0); 10_000];
        assert!(passes("x", "s", &many).matches("<circle").count() <= 2 * MOST_PASSES);
    }
}
