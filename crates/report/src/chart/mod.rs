//! Charts: SVG for pages, and characters for terminals. They know places and texts, nothing of verbs or pages.

mod bands;
mod bars;
mod distributions;
mod fairness;
mod history_chart;
mod history_picture;
mod levels;
mod load_curve;
mod passes;
mod scale;
mod steps;
mod version_plot;

pub use bands::{Band, bands};
pub use bars::{Bar, BarChart, BarGroup, mark, spark};
pub use distributions::{Distribution, distributions, marked_course};
pub use fairness::{FairnessPoint, fairness_chart};
pub use history_chart::{
    AxisName, AxisTick, HistoryChart, SeriesLevel, axis_names, drift_line, series_levels,
};
pub use history_picture::history_picture;
pub use levels::{LevelChart, sparks};
pub use load_curve::{LoadCurve, LoadGoal, LoadMark};
pub use passes::passes;
pub(crate) use scale::span;
pub use steps::{Step, StepChart, StepPoint, Suspicion};
pub use version_plot::version_plot;

/// Colours, apart from each other for every kind of colour vision.
pub const TONES: [&str; 6] = [
    "#4477aa", "#cc7a29", "#2f8f74", "#9a5f9e", "#8a8f3c", "#b5566b",
];

/// A chart with what stands over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Its heading.
    pub heading: String,
    /// A line on what it shows.
    pub about: String,
    /// The chart.
    pub svg: String,
}

const INK: &str = "#24292f";
const FAINT: &str = "#6b747d";
const RULE: &str = "#d9dde1";

/// A length in pixels, to a tenth.
fn px(length: f64) -> String {
    let text = format!("{length:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
