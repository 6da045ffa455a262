//! Base and side pass by pass.

use std::fmt::Write as _;

use super::{FAINT, TONES, scale::span};
use crate::escape;

/// Most passes of a chart.
const MOST_PASSES: usize = 400;

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 120.0;

/// The figures of base and side, pass by pass, as SVG: the base as rings, the side as dots, the means as lines.
pub fn passes(title: &str, pairs: &[(f64, f64)]) -> String {
    let step = pairs.len().div_ceil(MOST_PASSES).max(1);
    let shown: Vec<(f64, f64)> = pairs.iter().copied().step_by(step).collect();
    let all = || shown.iter().flat_map(|(base, new)| [*base, *new]);
    let (low, high) = span(all());
    let span = (high - low).max(high.abs() * 1e-6).max(f64::MIN_POSITIVE);
    let y = |value: f64| HEIGHT - 8.0 - (value - low) / span * (HEIGHT - 16.0);
    let x = |at: usize| 6.0 + (at as f64 + 0.5) / shown.len() as f64 * (WIDTH - 12.0);
    let mut svg = format!(
        "<svg class=\"course\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\
         <title>{}</title>",
        escape::html(&format!("{title}, pass by pass"))
    );
    type Which = fn(&(f64, f64)) -> f64;
    let sides: [(Which, &str, &str); 2] = [
        (|pair| pair.0, FAINT, "none"),
        (|pair| pair.1, TONES[0], TONES[0]),
    ];
    for (which, colour, fill) in sides {
        let mean = pairs.iter().map(which).sum::<f64>() / pairs.len() as f64;
        let _ = write!(
            svg,
            "<path d=\"M0 {:.1}H{WIDTH}\" stroke=\"{colour}\" stroke-dasharray=\"3 3\"/>",
            y(mean)
        );
        for (at, pair) in shown.iter().enumerate() {
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\" stroke=\"{colour}\" fill=\"{fill}\"/>",
                x(at),
                y(which(pair))
            );
        }
    }
    svg.push_str("</svg>");
    svg
}
