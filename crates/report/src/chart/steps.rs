//! The measured versions of a bisection over their places, and the levels between the changes.

use std::fmt::Write as _;

use super::{INK, TONES, scale::span};
use crate::escape;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 200.0;
const EDGE: f64 = 10.0;
const FOOT: f64 = 18.0;

/// Versions, the steps among them, and what was measured of them.
pub struct StepChart {
    /// What is drawn, for those who don't see it.
    pub title: String,
    /// The greatest and the least mean, as text.
    pub extremes: [String; 2],
    /// The names of the first and of the last version.
    pub ends: [String; 2],
    /// How many versions there are.
    pub versions: usize,
    /// The measured versions.
    pub points: Vec<StepPoint>,
    /// The last version before each step and the first after it, oldest first.
    pub steps: Vec<(usize, usize)>,
}

/// A measured version.
pub struct StepPoint {
    /// Its place.
    pub version: usize,
    /// How often it was measured.
    pub times: usize,
    /// The mean.
    pub mean: f64,
    /// Everything about it in a sentence.
    pub about: String,
}

impl StepChart {
    /// The chart as an SVG element; empty without a point.
    pub fn svg(&self) -> String {
        let (blue, red) = (TONES[0], TONES[5]);
        if self.points.is_empty() {
            return String::new();
        }
        let (least, most) = span(self.points.iter().map(|point| point.mean));
        let last = self.versions.saturating_sub(1).max(1) as f64;
        let spread = (most - least).max(f64::MIN_POSITIVE);
        let longest = self
            .extremes
            .iter()
            .map(|label| label.chars().count())
            .max();
        let left = EDGE + 7.0 * longest.unwrap_or(0) as f64;
        let (top, low) = (EDGE, HEIGHT - FOOT - EDGE);
        let x = |at: f64| left + (WIDTH - EDGE - left) * at / last;
        let y = |mean: f64| low - (low - top) * (mean - least) / spread;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             style=\"max-width:100%;height:auto\"><title>{}</title>",
            escape::html(&self.title)
        );
        for (label, at) in self.extremes.iter().zip([top, low]) {
            let _ = write!(
                svg,
                "<text x=\"0\" y=\"{:.1}\" font-size=\"12\" fill=\"currentColor\">{}</text>",
                at + 4.0,
                escape::html(label)
            );
        }
        for (label, at, anchor) in [
            (&self.ends[0], left, "start"),
            (&self.ends[1], WIDTH - EDGE, "end"),
        ] {
            let _ = write!(
                svg,
                "<text x=\"{at:.1}\" y=\"{:.1}\" font-size=\"12\" text-anchor=\"{anchor}\" fill=\"currentColor\">{}</text>",
                HEIGHT - 4.0,
                escape::html(label)
            );
        }
        for (after, until) in &self.steps {
            let at = x(*until as f64);
            let from = x(*after as f64);
            let _ = write!(
                svg,
                "<rect x=\"{from:.1}\" y=\"0\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{red}\" fill-opacity=\"0.25\"/>",
                (at - from).max(1.5),
                HEIGHT - FOOT
            );
        }
        let last_version = self.versions.saturating_sub(1);
        let stops = self.steps.iter().copied().chain([(last_version, 0)]);
        let mut begin = 0;
        for (after, until) in stops {
            let points = self.points.iter();
            let within = points.filter(|point| (begin..=after).contains(&point.version));
            let (n, sum) = within.fold((0.0, 0.0), |(n, sum), point| {
                let times = point.times as f64;
                (n + times, sum + times * point.mean)
            });
            if n > 0.0 {
                let level = y(sum / n);
                let _ = write!(
                    svg,
                    "<path d=\"M{:.1} {level:.1}H{:.1}\" stroke=\"{blue}\" stroke-width=\"2\"/>",
                    x(begin as f64),
                    x(after as f64)
                );
            }
            begin = until;
        }
        for point in &self.points {
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\" fill=\"{INK}\" fill-opacity=\"0.7\"><title>{}</title></circle>",
                x(point.version as f64),
                y(point.mean),
                2.0 + (point.times as f64).sqrt().min(6.0) / 2.0,
                escape::html(&point.about)
            );
        }
        svg.push_str("</svg>");
        svg
    }
}
