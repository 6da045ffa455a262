//! Pages: what a study came to, for a reader with a browser.
//!
//! [`report`] makes one self-contained file of studies that [`report_of`] has collected from the store; [`publish`] makes a
//! site of the histories of targets. What stands on a
//! page is text that others wrote (names, commands, raw outputs); it can be read there and can do nothing.
//!
//! Refuses: anything from the network, content that needs JavaScript, a page without bounds, a number without its
//! spread and count.

mod comparison;
mod doubts;
mod escape;
mod figures;
mod machine;
mod overhead;
mod page;
mod printed;
mod published;
mod report;
mod search;
mod statistics;
mod trials;
mod verdict_pages;

pub use page::{PAGE_LIMIT, PageError, report, report_of_search};
pub use printed::Printed;
pub use published::{Between, FolderError, PublishError, Published, SaysBetween, publish};
pub use report::{Report, Step, Study, Trial, report_of};
pub use verdict_pages::{bisect_page, noise_page, try_page};
