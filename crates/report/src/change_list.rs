//! Text of the commits between two versions.

use backsight_model::{Change, counted};
use std::collections::HashSet;

/// The commits with their authors, messages and files; at the end how many there are.
pub fn render(changes: &[Change]) -> String {
    let mut text = String::new();
    let mut files = HashSet::new();
    let (mut added, mut removed) = (0, 0);
    for change in changes {
        let at = change.at.map_or(String::new(), |at| format!("  {at}"));
        text.push_str(&format!("{}  {}{at}\n", change.name, change.author));
        for line in change.message.trim_end().lines() {
            text.push_str(&format!("    {line}\n"));
        }
        for file in &change.files {
            files.insert(&file.path);
            added += file.added.unwrap_or(0);
            removed += file.removed.unwrap_or(0);
            let lines = match (file.added, file.removed) {
                (Some(added), Some(removed)) => format!("+{added} -{removed}"),
                _ => "not text".to_owned(),
            };
            text.push_str(&format!("      {}  {lines}\n", file.path));
        }
        text.push('\n');
    }
    let authors: HashSet<&str> = changes
        .iter()
        .map(|change| change.author.as_str())
        .collect();
    text.push_str(&format!(
        "{} by {}: {}, +{added} -{removed}\n",
        counted(changes.len(), "commit"),
        counted(authors.len(), "author"),
        counted(files.len(), "file")
    ));
    text
}
