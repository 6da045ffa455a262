//! A try: each patched side against its base. Its view for programs, and its sentences, tables and charts.
//!
//! A sentence says first what is known, then what isn't. A difference has its interval and its number of differences.

mod study;
mod view;

pub use study::{BuildRow, TryRow, TryStudy};
pub use view::{DifferenceView, SideView, TryView};
