//! Noise: how much a benchmark varies, where that comes from (the same boot, another boot, another layout), and how many
//! repeats to buy. Its view for programs, and its sentences, tables and charts.
//!
//! A level that wasn't repeated has no band.

mod study;
mod view;

pub use study::{NoiseRow, NoiseStudy, level_name};
pub use view::{AdviceView, LevelView, NoiseCostView, NoiseMetricView, NoiseView, WithinView};

use crate::{Document, Render};

impl Render for NoiseStudy<'_> {
    type View<'v>
        = NoiseView<'v>
    where
        Self: 'v;

    fn view(&self) -> NoiseView<'_> {
        NoiseView::new(self)
    }

    fn document(&self) -> Document {
        self.document()
    }
}
