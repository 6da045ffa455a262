//! How evenly several hosts shared, iteration by iteration.

use std::fmt::Write as _;

use super::px;
use crate::escape;

/// Most iterations of a chart.
const MOST_POINTS: usize = 400;

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 130.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 372.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 104.0;

/// An iteration of a fairness chart.
#[derive(Debug, Clone, PartialEq)]
pub struct FairnessPoint {
    /// Its number, from 1.
    pub iteration: usize,
    /// Jain's index.
    pub fairness: f64,
    /// The ends of its interval, where that is known.
    pub interval: Option<(f64, f64)>,
    /// Everything about it in a sentence.
    pub about: String,
}

/// Jain's index over iterations as SVG: a dot each with its interval as a whisker, between `1/n` (one host has all) and 1.
pub fn fairness_chart(title: &str, hosts: usize, points: &[FairnessPoint]) -> String {
    let least = 1.0 / hosts.max(2) as f64;
    let y = |index: f64| {
        let share = (index.clamp(least, 1.0) - least) / (1.0 - least);
        BOTTOM - share * (BOTTOM - TOP)
    };
    let last = points.last().map_or(1, |point| point.iteration);
    let x = |iteration: usize| {
        LEFT + 8.0 + (iteration as f64 - 0.5) / last as f64 * (RIGHT - LEFT - 16.0)
    };
    let title = escape::html(title);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-size=\"12\"><title>{title}</title><g class=\"axis\">"
    );
    // Writing to a string can't fail.
    let worst = format!("1/{}", hosts.max(2));
    for (index, label) in [(1.0, "1"), (least, worst.as_str())] {
        let (line, text) = (px(y(index)), px(y(index) + 4.0));
        let _ = write!(
            svg,
            "<path class=\"rule\" d=\"M{LEFT} {line}H{RIGHT}\"/><text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{label}</text>",
            LEFT - 6.0
        );
    }
    let below = BOTTOM + 18.0;
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{below}\">1</text><text x=\"{RIGHT}\" y=\"{below}\" text-anchor=\"end\">iteration {last}</text>",
        LEFT + 4.0
    );
    svg.push_str("</g><g class=\"tone-0\"><g class=\"dots\">");
    let step = points.len().div_ceil(MOST_POINTS).max(1);
    for point in points.iter().step_by(step) {
        let at = px(x(point.iteration));
        if let Some((low, high)) = point.interval {
            let (low, high) = (px(y(low)), px(y(high)));
            let _ = write!(svg, "<path class=\"whisker\" d=\"M{at} {low}V{high}\"/>");
        }
        let (height, about) = (px(y(point.fairness)), escape::html(&point.about));
        let _ = write!(
            svg,
            "<circle cx=\"{at}\" cy=\"{height}\" r=\"2.6\"><title>{about}</title></circle>"
        );
    }
    svg.push_str("</g></g></svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_has_all_is_at_the_bottom_and_even_shares_at_the_top() {
        let point = |iteration, fairness| FairnessPoint {
            iteration,
            fairness,
            interval: Some((fairness - 0.1, fairness + 0.1)),
            about: format!("iteration {iteration} <{fairness}>"),
        };
        let svg = fairness_chart("a & b", 4, &[point(1, 1.0), point(2, 0.25)]);
        assert!(
            svg.contains("cy=\"12\"") && svg.contains("cy=\"104\""),
            "{svg}"
        );
        assert!(
            svg.contains(">1/4</text>") && svg.contains("a &amp; b"),
            "{svg}"
        );
        assert!(svg.contains("iteration 2 &lt;0.25&gt;"), "{svg}");
        // No whisker leaves the chart.
        assert!(!svg.contains("V-") && !svg.contains(" -"), "{svg}");
        let many: Vec<_> = (1..=10_000).map(|it| point(it, 0.5)).collect();
        assert!(fairness_chart("x", 2, &many).matches("<circle").count() <= MOST_POINTS);
    }
}
