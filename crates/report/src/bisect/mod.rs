//! A bisection: which changes, how large, how probable, and what remains. Its view for programs, and its sentences, tables
//! and charts.
//!
//! A size has its interval; where several changes can't be told apart, none of them is named alone.

mod check;
mod checks;
mod study;
mod view;

pub use check::{CheckRow, CulpritCheck, CulpritCheckKind, CulpritCheckView};
pub(crate) use study::change_line;
pub use study::{BisectStudy, ChangeRow, CulpritRow, RangeChanges};
pub use view::{
    BisectMeasurementView, BisectVersionView, BisectView, CulpritView, EstimatorView, SuspectView,
    TestbedView, TrialCountView,
};

use crate::{Document, Render};

impl Render for BisectStudy<'_> {
    type View<'v>
        = BisectView<'v>
    where
        Self: 'v;

    fn view(&self) -> BisectView<'_> {
        BisectView::new(self)
    }

    fn document(&self) -> Document {
        self.document()
    }
}
