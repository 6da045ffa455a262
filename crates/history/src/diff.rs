//! Unified diffs as long as somebody wants to read them.
//!
//! A long diff is cut between lines.

use std::fmt::Write;

/// The diff if it isn't longer than so many bytes, or else its whole lines up to there and a note.
pub(crate) fn cut(mut diff: String, most: usize) -> String {
    if diff.len() <= most {
        return diff;
    }
    let end = diff.as_bytes()[..most]
        .iter()
        .rposition(|byte| *byte == b'\n');
    diff.truncate(end.map_or(0, |end| end + 1));
    // The note stands outside of any hunk: `patch` would stumble over what is cut anyhow.
    let _ = writeln!(diff, "[cut here after {most} bytes]");
    diff
}
