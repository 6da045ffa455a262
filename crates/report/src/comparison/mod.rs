//! A comparison of result sets: its view for programs, and its tables for a terminal, a pull request and a spreadsheet.
//!
//! Every number is shown with its spread, its count and its unit; a row stays where a side has nothing in it.

pub mod bar_figures;
mod markdown;
mod mmtests;
mod numbers;
pub mod page;
mod spreadsheet;
mod statistics;
pub mod summaries;
mod tables;
mod text;
mod view;

pub use view::{
    ComparisonDifferenceView, ComparisonEntryView, ComparisonMeasurementView, ComparisonRowView,
    ComparisonSideView, ComparisonView, KnownView, NumberView, RatioView, RemarkView,
    SideStudyView, TallyView,
};

use backsight_policy::Comparison;

use crate::{MoreRounds, instances::StudyInstances};

/// What is known of the studies of a comparison beside their metrics.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComparedBackground {
    /// The rounds that would decide what isn't decided.
    pub more_rounds: Option<MoreRounds>,
    /// What several hosts did beside each other, of each study in which they did.
    pub instances: Vec<StudyInstances>,
}

/// Format of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonFormat {
    /// Tables for a person at a terminal.
    Text,
    /// The table of MMTests, for people who compare by eye.
    Mmtests,
    /// The same for a pull request.
    MmtestsInMarkdown,
    /// Tables for a pull request.
    Markdown,
    /// One line a cell, metric and side, every number in full.
    Csv,
    /// Everything, for programs.
    Json,
}

/// Which parts of a comparison are shown, and how wide. Only tables depend on it; CSV and JSON have everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DisplayOptions {
    /// Secondary metrics that don't differ, too.
    pub all_metrics: bool,
    /// Every summary of the samples.
    pub statistics: bool,
    /// The ratios and their geometric means.
    pub ratio: bool,
    /// Colour codes for a terminal.
    pub colour: bool,
    /// Columns of the terminal; none where nothing is to be wrapped.
    pub width: Option<u16>,
    /// Digits behind the point, and as many significant ones; else as many as the spread allows.
    pub digits: Option<usize>,
}

/// The comparison as a text that ends with a line's end, with what is known of its studies: in JSON all of it, else the rounds that
/// would decide what isn't decided.
///
/// # Errors
/// None that is known: everything in a comparison has a form in JSON.
pub fn render(
    comparison: &Comparison,
    background: &ComparedBackground,
    format: ComparisonFormat,
    options: &DisplayOptions,
) -> Result<String, serde_json::Error> {
    let more_rounds = background.more_rounds.as_ref();
    Ok(match format {
        ComparisonFormat::Text => {
            let mut text = text::render(comparison, options);
            text.extend(more_rounds.map(|more| format!("\n{more}\n")));
            text
        }
        ComparisonFormat::Mmtests => mmtests::render(comparison, options),
        ComparisonFormat::MmtestsInMarkdown => {
            crate::markdown::fenced(&mmtests::render(comparison, options))
        }
        ComparisonFormat::Markdown => {
            let mut text = markdown::render(comparison, options);
            text.extend(more_rounds.map(markdown::way_out));
            text
        }
        ComparisonFormat::Csv => spreadsheet::render(comparison),
        ComparisonFormat::Json => crate::json(&ComparisonView::new(comparison, background))?,
    })
}

#[cfg(test)]
mod tests;
