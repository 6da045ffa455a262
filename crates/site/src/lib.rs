//! Pages: what a study came to, for a reader with a browser.
//!
//! [`report`] makes one self-contained file of studies that [`report_of`] has collected from the store; [`publish`] makes a
//! site of the histories of targets. What stands on a
//! page is text that others wrote (names, commands, raw outputs); it can be read there and can do nothing.
//!
//! Refuses: anything from the network, content that needs JavaScript, a page without bounds, a number without its
//! spread and count.

mod attempt;
pub mod chart;
mod comparison;
mod culprits;
mod doubts;
mod escape;
mod figures;
mod machine;
mod noise;
mod overhead;
mod page;
mod printed;
mod published;
mod report;
mod search;
mod shown;
mod statistics;
mod trials;
mod words;

pub use attempt::{SideCame, TryRow, TryWords};
pub use culprits::{BisectWords, ChangeRow, CulpritRow, Holds};
pub use noise::{NoiseRow, NoiseWords, level_name};
pub use overhead::{OverheadLine, OverheadStory};
pub use page::{PAGE_LIMIT, PageError, report, report_of_search};
pub use printed::Printed;
pub use published::{Between, FolderError, PublishError, Published, SaysBetween, publish};
pub use report::{Report, Step, Study, Trial, report_of};
pub use search::{SearchRow, SearchWords};
pub use words::SeriesWords;
