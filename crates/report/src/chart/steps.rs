//! The measured versions of a bisection over their places, the levels between the changes, and where one is suspected.

use std::fmt::Write as _;

use backsight_policy::ChangeDirection;

use super::{TONES, scale::span};
use crate::escape;

/// The colour of the text around it, on light and dark paper.
const INK: &str = "currentColor";
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 200.0;
const EDGE: f64 = 10.0;
const FOOT: f64 = 18.0;
/// Height of the strip below, where changes are suspected.
const STRIP: f64 = 56.0;
/// What stands beside the strip.
const STRIP_LABEL: &str = "suspected";

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
    /// The steps, oldest first.
    pub steps: Vec<Step>,
    /// Where a change may be.
    pub suspected: Vec<Suspicion>,
    /// The version that is measured next.
    pub next: Option<usize>,
}

/// A change that is known.
pub struct Step {
    /// The last version before it.
    pub after: usize,
    /// The first that has it.
    pub until: usize,
    /// Which way it goes.
    pub direction: Option<ChangeDirection>,
}

/// A stretch that may have a change.
pub struct Suspicion {
    /// The last version before it.
    pub after: usize,
    /// The last that may have brought it.
    pub until: usize,
    /// With this probability, from 0 to 1.
    pub probability: f64,
    /// Everything about it in a sentence.
    pub about: String,
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
        let blue = TONES[0];
        if self.points.is_empty() {
            return String::new();
        }
        let (least, most) = span(self.points.iter().map(|point| point.mean));
        let last = self.versions.saturating_sub(1).max(1) as f64;
        let spread = (most - least).max(f64::MIN_POSITIVE);
        let strip = match self.suspected.is_empty() {
            true => 0.0,
            false => STRIP,
        };
        let beside = (strip > 0.0).then_some(STRIP_LABEL);
        let labels = self.extremes.iter().map(String::as_str).chain(beside);
        let longest = labels.map(|label| label.chars().count()).max();
        let height = HEIGHT + strip;
        let left = EDGE + 7.0 * longest.unwrap_or(0) as f64;
        let (top, low) = (EDGE, HEIGHT - FOOT - EDGE);
        let x = |at: f64| left + (WIDTH - EDGE - left) * at / last;
        let y = |mean: f64| low - (low - top) * (mean - least) / spread;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
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
                height - 4.0,
                escape::html(label)
            );
        }
        for step in &self.steps {
            let (from, until) = (x(step.after as f64), x(step.until as f64));
            // The reader's colours of better and worse where the page has them.
            let colour = match step.direction {
                Some(ChangeDirection::Better) => format!("var(--good,{})", TONES[2]),
                Some(ChangeDirection::Worse) => format!("var(--bad,{})", TONES[5]),
                _ => INK.to_owned(),
            };
            let _ = write!(
                svg,
                "<rect x=\"{from:.1}\" y=\"0\" width=\"{:.1}\" height=\"{:.1}\" style=\"fill:{colour}\" fill-opacity=\"0.2\"/>",
                (until - from).max(1.5),
                HEIGHT - FOOT
            );
        }
        if let Some(next) = self.next {
            let _ = write!(
                svg,
                "<path d=\"M{0:.1} 0V{1:.1}\" stroke=\"{INK}\" stroke-dasharray=\"2 3\"><title>measured next</title></path>",
                x(next as f64),
                height - FOOT
            );
        }
        self.draw_suspicions(&mut svg, x);
        let last_version = self.versions.saturating_sub(1);
        let stops = self
            .steps
            .iter()
            .map(|step| (step.after, step.until))
            .chain([(last_version, 0)]);
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

    /// The strip below: of each stretch that may have a change a column as high as that is probable.
    fn draw_suspicions(&self, svg: &mut String, x: impl Fn(f64) -> f64) {
        if self.suspected.is_empty() {
            return;
        }
        let foot = HEIGHT + STRIP - FOOT;
        let room = STRIP - 8.0;
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.1}\" font-size=\"12\" fill=\"currentColor\">{STRIP_LABEL}</text>\
             <path d=\"M{:.1} {foot}H{:.1}\" stroke=\"{INK}\" stroke-opacity=\"0.3\"/>",
            foot - room / 2.0 + 4.0,
            x(0.0),
            x(self.versions.saturating_sub(1) as f64)
        );
        for place in &self.suspected {
            let (from, until) = (x(place.after as f64), x(place.until as f64));
            let high = room * place.probability;
            let _ = write!(
                svg,
                "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{high:.1}\" fill=\"{}\" fill-opacity=\"0.55\"><title>{}</title></rect>",
                foot - high,
                (until - from).max(1.5),
                TONES[1],
                escape::html(&place.about)
            );
        }
    }
}
