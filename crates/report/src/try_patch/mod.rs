//! A try: each patched side against its base. Its view for programs, and its sentences, tables and charts.
//!
//! A sentence says first what is known, then what isn't. A difference has its interval and its number of differences.

mod study;
mod view;

pub use study::{BuildRow, CheckedBase, TryRow, TryStudy};
pub use view::{CheckView, TryDifferenceView, TrySideView, TryView};

use crate::{Document, Render};

impl Render for TryStudy<'_> {
    type View<'v>
        = TryView<'v>
    where
        Self: 'v;

    fn view(&self) -> TryView<'_> {
        TryView::new(self)
    }

    fn document(&self) -> Document {
        self.document()
    }
}
