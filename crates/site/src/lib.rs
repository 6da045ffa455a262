//! Pages: studies and histories for a reader with a browser.
//!
//! [`report`] makes one self-contained file of studies that [`report_of`] has collected from the store; [`try_page`],
//! [`bisect_page`], [`noise_page`] and [`document_page`] make one of a verdict; a [`Site`] has the pages of targets and their
//! histories, and those of studies in its frame; [`publish`] writes it into a folder. Sentences, tables and charts are those of
//! `backsight_report`. What stands on a page is text that others wrote (names, commands, raw
//! outputs); it can be read there and can do nothing.
//!
//! A page takes nothing from the network, is readable without JavaScript, and has bounds.
//!
//! ```
//! use backsight_site::{ReportContent, Surroundings, report};
//!
//! let content = ReportContent {
//!     title: "<b>nightly</b>".to_owned(),
//!     studies: Vec::new(),
//!     comparison: None,
//!     versions: None,
//!     background: Default::default(),
//!     overhead: None,
//!     notes: vec!["nothing was measured".to_owned()],
//! };
//! let page = report(&content, &Surroundings::default())?;
//! assert!(page.contains("nothing was measured") && !page.contains("<b>nightly"));
//! # Ok::<(), backsight_site::PageError>(())
//! ```

mod crumb;
mod doubts;
mod escape;
mod instances;
mod machine;
mod overhead;
mod page;
mod pages;
mod printed;
mod profile_page;
mod report;
mod search;
mod surroundings;
mod test_matrix_data;
mod test_matrix_page;
mod timeline_page;
mod trials;
mod verdict_pages;

pub use page::{PageError, report, report_of_search};
pub use pages::{
    ChangesBetween, ComparedSets, FolderError, MeasureRequest, NoComparison, PublishError,
    PublishedFiles, Site, SiteError, SiteFile, SiteTarget, StudyPages, VersionChanges, alert_pages,
    data_of_page, named_sides, publish, study_page,
};
pub use printed::{PAGE_LIMIT, PrintedOutput};
pub use profile_page::profile_page;
pub use report::{
    ReportContent, ReportStep, ReportStudy, ReportTrial, ReportVersions, report_of, report_of_sets,
};
pub use surroundings::Surroundings;
pub use test_matrix_page::test_matrix_page;
pub use timeline_page::timeline_page;
pub use verdict_pages::{bisect_page, document_page, noise_page, try_page};
