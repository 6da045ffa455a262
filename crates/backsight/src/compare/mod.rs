//! `backsight compare`: result sets beside each other, and how that is written: for a terminal, for a pull request, for
//! a spreadsheet, for a program.
//!
//! Refuses: a number without its spread, its count and its unit, and a row less because a side has nothing in it.

mod file;
mod json;
mod markdown;
mod mmtests;
mod numbers;
mod sheet;
mod spreadsheet;
mod statistics;
mod status;
mod text;
mod verb;

pub use verb::{Compare, confidence, more_rounds, percent};

use backsight_policy::Comparison;
use backsight_site::MoreRounds;

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
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

/// What is shown beside the comparison itself, and how wide. Only tables know of it; CSV and JSON have everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
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
    /// Digits behind the point, and as many significant ones; else as many as tell something.
    pub digits: Option<usize>,
}

/// The comparison as a text that ends with a line's end, with the way to what isn't decided.
///
/// # Errors
/// None that is known: everything in a comparison can be said in JSON.
pub fn render(
    comparison: &Comparison,
    more_rounds: Option<&MoreRounds>,
    format: Format,
    look: &Look,
) -> miette::Result<String> {
    Ok(match format {
        Format::Text => {
            let mut text = text::render(comparison, look);
            text.extend(more_rounds.map(|more| format!("\n{more}\n")));
            text
        }
        Format::Mmtests => mmtests::render(comparison, look),
        Format::MmtestsInMarkdown => {
            backsight_report::markdown::fenced(&mmtests::render(comparison, look))
        }
        Format::Markdown => {
            let mut text = markdown::render(comparison, look);
            text.extend(more_rounds.map(markdown::way_out));
            text
        }
        Format::Csv => spreadsheet::render(comparison),
        Format::Json => json::render(comparison, more_rounds)?,
    })
}

#[cfg(test)]
mod tests;
