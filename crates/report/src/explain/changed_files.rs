//! Files that differ between the two sides of a change.

use backsight_model::{ChangedFile, counted};

use crate::{Section, Table, field, left, right};

/// Files that text and pages show.
const MOST_SHOWN: usize = 20;

/// Lines that were added and removed; of a file without lines none.
fn lines(file: &ChangedFile) -> u64 {
    file.added.unwrap_or(0) + file.removed.unwrap_or(0)
}

/// Orders files by how many lines changed, the largest first; those without lines last.
pub fn sort_changed_files(files: &mut [ChangedFile]) {
    files.sort_by(|one, other| {
        lines(other)
            .cmp(&lines(one))
            .then_with(|| one.path.cmp(&other.path))
    });
}

/// The files of a change between these versions, in their order.
pub(super) fn section(files: &[ChangedFile], base: &str, new: &str) -> Section {
    let mut table = Table::new(vec![left("file"), right("added"), right("removed")]);
    for file in files.iter().take(MOST_SHOWN) {
        let signed = |sign: char, lines: Option<u64>| match lines {
            Some(lines) => format!("{sign}{lines}"),
            None => "not text".to_owned(),
        };
        table.row(vec![
            field(file.path.clone()),
            field(signed('+', file.added)),
            field(signed('−', file.removed)),
        ]);
    }
    let mut about = counted(files.len(), "file");
    if files.len() > MOST_SHOWN {
        about += &format!("; {} more: --format json has all", files.len() - MOST_SHOWN);
    }
    Section::table(format!("Files that changed from {base} to {new}"), table).with_about(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, TerminalStyle};

    fn file(path: &str, added: Option<u64>, removed: Option<u64>) -> ChangedFile {
        ChangedFile {
            path: path.into(),
            added,
            removed,
        }
    }

    #[test]
    fn the_largest_files_are_shown_first_and_the_rest_is_counted() {
        let mut files: Vec<_> = (0..22)
            .map(|lines| file(&format!("f{lines}"), Some(lines), Some(1)))
            .collect();
        files.push(file("picture", None, None));
        files.push(file("gone", Some(0), Some(90)));
        sort_changed_files(&mut files);
        assert_eq!(files[0].path, "gone");
        assert_eq!(files[23].path, "picture");
        let document = Document::new("").with_section(section(&files, "v1", "v2"));
        let text = document.text(&TerminalStyle::default());
        assert!(text.contains("Files that changed from v1 to v2"), "{text}");
        assert!(text.contains("24 files; 4 more"), "{text}");
        assert!(text.contains("f21") && !text.contains("picture"), "{text}");
    }
}
