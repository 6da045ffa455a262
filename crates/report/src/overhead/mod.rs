//! Overhead: what each monitor costs. Its view for programs, and its sentences and tables.
//!
//! A cost has its interval, and a mean its spread and count.

mod study;
mod view;

pub use study::{OverheadLine, OverheadStudy};
pub use view::{OverheadCostView, OverheadSideView, OverheadView};

use crate::{Document, Render};

impl Render for OverheadStudy {
    type View<'v> = OverheadView<'v>;

    fn view(&self) -> OverheadView<'_> {
        OverheadView::new(self)
    }

    fn document(&self) -> Document {
        self.document()
    }
}
