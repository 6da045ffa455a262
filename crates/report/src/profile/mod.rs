//! Profiles: where the time of a benchmark goes, and what changed beside a base. Their view for programs, and their sentences and
//! tables.

mod report;
mod view;

pub use report::{ProfileNumber, ProfileReport, ProfileRow, ProfiledTrials, change_word};
pub use view::{
    BelowFloorView, FunctionView, ProfileSideView, ProfileView, ShareDifferenceView, ShareView,
    SideShareView,
};

use crate::{Document, Render};

impl Render for ProfileReport {
    type View<'v> = ProfileView<'v>;

    fn view(&self) -> ProfileView<'_> {
        ProfileView::new(self)
    }

    fn document(&self) -> Document {
        self.document()
    }
}
