//! Commits between two versions, made up, with texts that want to leave their element.

use crate::stepped::HOSTILE;
use backsight_model::{Change, ChangedFile, TargetName, Version};
use backsight_site::VersionChanges;

/// Two commits between any two versions, and their difference.
pub fn between(
    _: &TargetName,
    from: &Version,
    to: &Version,
) -> Result<Option<VersionChanges>, String> {
    let change = |version: &Version, number: u64| Change {
        id: format!("{}{number}", version.id),
        name: format!("{:.8}{number}", version.id),
        author: format!("A. N. Author {HOSTILE}"),
        at: version.at,
        message: format!("net: come to {} faster\n\nBecause {HOSTILE}", version.name),
        parents: vec![from.id.clone(); number as usize],
        files: vec![
            ChangedFile {
                path: "net/core/dev.c".into(),
                added: Some(10 * number),
                removed: Some(3),
            },
            ChangedFile {
                path: format!("logo{HOSTILE}.gif"),
                added: None,
                removed: None,
            },
        ],
    };
    let diff = format!(
        "diff --git a/net/core/dev.c b/net/core/dev.c\n--- a/net/core/dev.c\n+++ b/net/core/dev.c\n\
         @@ -1,3 +1,3 @@\n \tint budget;\n-\tbudget = 64;\n+\tbudget = 300; /* {HOSTILE} */\n"
    );
    Ok(Some(VersionChanges {
        changes: vec![change(from, 1), change(to, 2)],
        diff: Some(diff),
    }))
}
