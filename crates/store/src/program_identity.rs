//! What tells this program from others that may make something else of the same rows.

use std::time::UNIX_EPOCH;

/// Version, length and time of the program's file; none where that isn't known, so that nothing which an unknown program made counts
/// as ours.
pub fn program_identity() -> Option<String> {
    let file = std::env::current_exe().ok()?.metadata().ok()?;
    let modified = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let version = env!("CARGO_PKG_VERSION");
    Some(format!("{version} {} {modified:?}", file.len()))
}
