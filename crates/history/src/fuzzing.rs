//! Doors for fuzzing to readers of foreign bytes that nothing else calls from outside.

/// Reads text as what `cvs rlog` prints; gives the commits that are in it.
pub fn cvs_log(text: &str) -> usize {
    crate::cvs::read_log(text)
}

/// Reads text as a change log of Debian's; gives the entries that are in it.
pub fn debian_changelog(text: &str) -> usize {
    crate::packages::read_changelog(text)
}

/// Reads text as a list of versions; gives those that are in it.
pub fn version_list(text: &str) -> usize {
    crate::list::read_any(text)
}
