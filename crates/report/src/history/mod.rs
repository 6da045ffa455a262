//! A target's history: its view for programs, its document, its text for a terminal, and its rows for a spreadsheet.
//!
//! Every value is shown with its interval, every change with its interval and its probability.

mod document;
mod reference_drift;
mod spreadsheet;
mod text;
mod view;

pub use reference_drift::sentences as reference_sentences;
pub use view::{
    BootView, BuildView, HistorySeriesView, HistoryStudyView, HistoryVersionView, HistoryView,
    NamedChangeView, PointView, ReferencePointView, ReferenceView, SpreadView, TrialView,
};

use backsight_model::StudyHistory;
use backsight_policy::{TargetHistory, VersionSeries};

use crate::{Document, Format, escape};

/// Columns where there is no terminal to ask.
const USUAL_WIDTH: u16 = 100;

/// A history, and which of its series are shown.
pub struct SelectedHistory<'a> {
    /// The target's name.
    pub target: &'a str,
    /// The studies that the history is made of.
    pub studies: &'a [StudyHistory],
    /// The history.
    pub history: &'a TargetHistory,
    /// The series that are shown.
    pub series: Vec<&'a VersionSeries>,
    /// Whether secondary metrics without a change are shown too.
    pub all_metrics: bool,
}

/// How a history is laid out on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistoryTextOptions {
    /// Columns of the terminal; none where nothing is to be wrapped.
    pub width: Option<u16>,
    /// Every version in the tables.
    pub all: bool,
}

impl HistoryTextOptions {
    fn columns(&self) -> usize {
        self.width.unwrap_or(USUAL_WIDTH).into()
    }
}

impl SelectedHistory<'_> {
    /// The history in this format.
    ///
    /// # Errors
    /// None that is known: every name and number has a form in JSON.
    pub fn render(
        &self,
        format: Format,
        options: &HistoryTextOptions,
    ) -> Result<String, serde_json::Error> {
        Ok(match format {
            Format::Text => escape::visible(&text::render(self, options)),
            Format::Markdown => self.document().markdown(),
            Format::Json => crate::json(&HistoryView::new(self))?,
            Format::Html => self.document().html(),
        })
    }

    /// The history as a document: its changes as a table, then the sentences and the chart of each series.
    pub fn document(&self) -> Document {
        document::document(self)
    }

    /// A line for each series and version, as CSV.
    pub fn csv(&self) -> String {
        spreadsheet::csv(self)
    }
}
