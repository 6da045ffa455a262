//! A search for the highest loads that meet goals: its view for programs, and its sentences, tables and charts.
//!
//! A rate has its bounds and the number of searches behind it, and a limit says whose it is.

mod study;
mod view;

pub use study::{LoadRow, SearchRow, SearchStudy};
pub use view::{GoalView, SearchView, SubjectView};

use crate::{Document, Render};

impl Render for SearchStudy<'_> {
    type View<'v>
        = SearchView<'v>
    where
        Self: 'v;

    fn view(&self) -> SearchView<'_> {
        SearchView::new(self)
    }

    fn document(&self) -> Document {
        self.document()
    }
}
