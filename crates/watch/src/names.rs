//! Versions and series as people read them.

use backsight_model::Version;
use backsight_report::escape;

use crate::memory::JobCell;

/// A version's name and what it says of itself.
pub(crate) fn named(version: &Version) -> String {
    match version.title.is_empty() {
        true => escape::line(&version.name),
        false => escape::line(&format!("{} “{}”", version.name, version.title)),
    }
}

/// A series as people read it.
pub(crate) fn series_name(cell: &JobCell) -> String {
    format!("{} {}", cell.cell, cell.metric)
}
