//! A series along the versions as a picture that stands alone: with its axes, its words and its colours, for mails and files.

use backsight_policy::{TargetHistory, VersionSeries};
use std::fmt::Write as _;

use super::{HistoryChart, axis_names, px};
use crate::{SeriesText, clipped, escape};

/// Size of the picture, in pixels.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 260.0;
/// Where the chart stands in it.
const LEFT: f64 = 72.0;
const TOP: f64 = 44.0;
const CHART_WIDTH: f64 = WIDTH - LEFT - 16.0;
const CHART_HEIGHT: f64 = 172.0;
/// Longest heading, in characters.
const LONGEST: usize = 90;

/// What the chart's elements look like: the page of a site says the same by its style sheet.
const STYLE: &str = "text{font:12px sans-serif;fill:#24292f}.soft{fill:#6b747d}.field path{fill:none;vector-effect:non-scaling-stroke}\
    .field .value{stroke:#4477aa;stroke-linecap:round}.field .unstable{stroke:#cc7a29}.field .interval{stroke:#4477aa;stroke-opacity:.25}\
    .field .band{fill:#4477aa;fill-opacity:.15}.field .grid{stroke:#d9dde1;stroke-width:1}\
    .field .again{stroke:#2f8f74}.field .reboot{stroke:#9a5f9e}.field .relink{stroke:#b5566b}\
    .field .release{stroke:#6b747d;stroke-width:1;stroke-dasharray:1 3}.field .named path{stroke:#24292f;stroke-width:1.5;stroke-dasharray:10 4}\
    .field .quirk{stroke:#7b6a33;stroke-width:1;stroke-dasharray:5 3}.field .level{stroke:#24292f;stroke-width:1.2;stroke-opacity:.75}\
    .field .drift{stroke:#8a8f3c;stroke-width:1.5;stroke-dasharray:6 2 1 2}.field .unmeasured{stroke:#b2382b;stroke-width:5;stroke-linecap:square}\
    .field .change rect{fill-opacity:.16}.field .change path{stroke-width:1.5}\
    .field .worse rect{fill:#b2382b}.field .worse path{stroke:#b2382b}.field .better rect{fill:#17703f}.field .better path{stroke:#17703f}\
    .field .accepted rect{fill:#6b747d}.field .accepted path{stroke:#6b747d}";

/// The picture, a document of its own; nothing without a value.
pub fn history_picture(history: &TargetHistory, series: &VersionSeries) -> Option<String> {
    let words = SeriesText::new(history, series);
    let chart = HistoryChart::new(history, series, &words, "chart", |_| None)?;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">\
         <style>{STYLE}</style><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\
         <text x=\"16\" y=\"20\" font-weight=\"bold\">{}</text><text x=\"16\" y=\"36\" class=\"soft\">{}</text>",
        escape::html(&clipped(&escape::line(&series.name()), LONGEST)),
        escape::html(&clipped(&escape::line(&words.axis()), LONGEST)),
    );
    for tick in &chart.ticks {
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"soft\">{}</text>",
            LEFT - 8.0,
            px(TOP + CHART_HEIGHT * tick.top / 100.0 + 4.0),
            escape::html(&tick.text)
        );
    }
    let place =
        format!("<svg x=\"{LEFT}\" y=\"{TOP}\" width=\"{CHART_WIDTH}\" height=\"{CHART_HEIGHT}\" ");
    svg.push_str(&chart.svg.replacen("<svg ", &place, 1));
    for name in axis_names(history, |_| String::new()) {
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" class=\"soft\">{}</text>",
            px(LEFT + CHART_WIDTH * name.left / 100.0),
            TOP + CHART_HEIGHT + 20.0,
            escape::html(&escape::line(&name.name))
        );
    }
    svg.push_str("</svg>");
    Some(svg)
}
