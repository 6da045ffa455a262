//! Change points of series of numbers, whoever measured them: a table, or studies of the store.
//!
//! Series are read one after the other (`input`), searched side by side on all processors (`detection_job`, `series_search`),
//! and shown by `backsight_report::change_points`, or written as a table of one row a change (`change_table`). Over several
//! series, changes are believed by the false discovery rate (`false_discovery`), for which nothing but p-values is kept.
//!
//! Which direction is good is never guessed.

mod change_table;
mod detection_job;
mod false_discovery;
mod input;
mod picture_folder;
mod series_search;
mod short_series;

pub use change_table::{BelievedCounts, ChangeTable, join_change_tables};
pub use detection_job::{DetectionJob, FoundSeries, Shard};
pub use false_discovery::{FalseDiscoveryRate, adjust_for_all_series};
pub use input::{DetectionInput, DetectionSeries, DetectionStream};
pub use picture_folder::PictureFolder;
pub use short_series::ShortSeries;

#[cfg(test)]
mod tests;
