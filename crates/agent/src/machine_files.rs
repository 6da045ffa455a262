//! The kernel's files and others that say what a machine is. Missing is missing: what isn't there has no value.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of a machine, below its root.
pub(crate) struct MachineFiles {
    root: PathBuf,
}

impl MachineFiles {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Those of the machine on which this runs.
    pub(crate) fn here() -> Self {
        Self::new(Path::new("/"))
    }

    /// A whole file; nothing if it can't be read.
    pub(crate) fn bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        fs::read(self.path(path)).ok()
    }

    /// A whole file as text; nothing if it can't be read.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = self.bytes(path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file with one value, with single blanks between its words.
    pub(crate) fn value(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.text(path)?;
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        Some(words.join(" ")).filter(|value| !value.is_empty())
    }

    /// The names in a folder, in order.
    pub(crate) fn names(&self, folder: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder))
            .into_iter()
            .flatten()
            .flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The folders `NAME0`, `NAME1`, … of a folder.
    pub(crate) fn numbered(&self, folder: &str, name: &str) -> Vec<String> {
        let is_numbered = |entry: &String| {
            let number = entry.strip_prefix(name);
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let entries = self.names(folder).into_iter().filter(is_numbered);
        entries.map(|entry| format!("{folder}/{entry}")).collect()
    }

    /// The last part of what a link leads to: the name of a device's driver.
    pub(crate) fn link_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// Whether these are the files of the machine on which this runs, whose programs may be asked.
    pub(crate) fn is_here(&self) -> bool {
        self.root == Path::new("/")
    }
}
