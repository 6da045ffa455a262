//! Bands beside each other: how far single values lie from what they share.

use std::fmt::Write as _;

use super::{RULE, TONES};
use crate::{escape, numbers::significant};

/// Most dots of a band.
const MOST_DOTS: usize = 200;

/// Where single trials lie that are new up to a level.
pub struct Band {
    /// What stands below it.
    pub label: &'static str,
    /// Everything about it in a sentence.
    pub about: String,
    /// Half its width, in percent of the mean.
    pub half: f64,
    /// How far each trial is from the mean of what it shares with the others, in percent.
    pub dots: Vec<f64>,
}

const COLUMN: f64 = 110.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 52.0;
const LABELS: f64 = 18.0;

/// The bands side by side as SVG.
pub fn bands(title: &str, bands: &[Band]) -> String {
    let reach = bands
        .iter()
        .flat_map(|band| band.dots.iter().map(|dot| dot.abs()).chain([band.half]))
        .filter(|reach| reach.is_finite())
        .fold(1e-6, f64::max);
    let middle = (HEIGHT - LABELS) / 2.0;
    let y = |percent: f64| middle - percent / reach * (middle - 6.0);
    let width = LEFT + COLUMN * bands.len() as f64;
    let mut svg = format!(
        "<svg class=\"bands\" width=\"{width}\" height=\"{HEIGHT}\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" \
         font-size=\"11\" fill=\"currentColor\"><title>{}</title>",
        escape::html(title)
    );
    for percent in [reach, 0.0, -reach] {
        let _ = write!(
            svg,
            "<path d=\"M{LEFT} {0:.1}H{width}\" stroke=\"{RULE}\"/><text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>",
            y(percent),
            LEFT - 4.0,
            y(percent) + 4.0,
            match percent == 0.0 {
                true => "mean".to_owned(),
                false => format!(
                    "{}{} %",
                    if percent > 0.0 { "+" } else { "−" },
                    significant(reach, 2)
                ),
            }
        );
    }
    let blue = TONES[0];
    for (at, band) in bands.iter().enumerate() {
        let x = LEFT + COLUMN * at as f64;
        let _ = write!(
            svg,
            "<g class=\"band\"><title>{0}</title><rect x=\"{1:.1}\" y=\"{2:.1}\" \
             width=\"{3:.1}\" height=\"{4:.1}\" fill=\"{blue}\" fill-opacity=\"0.22\"/>",
            escape::html(&band.about),
            x + 12.0,
            y(band.half),
            COLUMN - 24.0,
            y(-band.half) - y(band.half),
        );
        let step = band.dots.len().div_ceil(MOST_DOTS).max(1);
        let dots: Vec<f64> = band.dots.iter().copied().step_by(step).collect();
        for (number, dot) in dots.iter().enumerate() {
            let across = (number as f64 + 0.5) / dots.len() as f64;
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"1.6\" fill=\"{blue}\"/>",
                x + 12.0 + across * (COLUMN - 24.0),
                y(*dot)
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>",
            x + COLUMN / 2.0,
            HEIGHT - 5.0,
            band.label
        );
    }
    svg.push_str("</svg>");
    svg
}
