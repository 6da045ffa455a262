//! Change points of series of numbers: their view for programs, and their sentences and tables for a terminal, a pull
//! request and a page.
//!
//! A change of the noise is told apart from a change of level, and a change that isn't believed among many series is said
//! to be doubted.

mod markdown;
mod page;
mod series_changes;
mod text;
mod view;

pub use series_changes::{
    ChangeRange, FoundChange, PendingSeriesChange, SeriesChanges, SeriesVersion,
};
pub use view::{ChangePointsSeriesView, ChangePointsView};

use crate::Format;

/// The series that were searched, with their changes.
pub struct ChangePoints<'a> {
    /// What was searched: a file, standard input, studies.
    pub source: String,
    /// The column that was taken for the versions' names.
    pub guessed_label: Option<String>,
    /// The series that are told: all, or those with findings.
    pub series_changes: &'a [SeriesChanges],
    /// Series in all.
    pub series: usize,
    /// The false discovery rate that was kept over several series, in percent; none if a part was searched.
    pub false_percent: Option<f64>,
    /// Confidence of the intervals, in percent.
    pub confidence: f64,
}

impl ChangePoints<'_> {
    /// The change points in this format; tables of a terminal within `width` columns.
    ///
    /// # Errors
    /// None that is known: every name and number has a form in JSON.
    pub fn render(&self, format: Format, width: Option<u16>) -> Result<String, serde_json::Error> {
        Ok(match format {
            Format::Text => text::render(self, width),
            Format::Markdown => markdown::render(self),
            Format::Json => crate::json(&ChangePointsView::new(self))?,
            Format::Html => page::render(self),
        })
    }
}
