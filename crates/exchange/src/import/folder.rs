//! The files of a folder, or of an archive, that an importer reads; and the parts of the folder that it doesn't.
//!
//! Links aren't followed. Files are in the order of their names, in which `iter-2` stands before `iter-10`. Packed files are looked for by
//! the names that they'd have unpacked.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    ops::Bound,
    path::{Path, PathBuf},
};

use regex::Regex;

use super::{
    ImportError, Importer, SourceFile,
    definition::Shape,
    packed::{archive_folder, members, unpacked_path},
    sides::PathSide,
    source::{DEEPEST, MOST_FILES, whole_path},
};

/// The group of an importer's `path` that names the side of a comparison that a file is of.
const SIDE: &str = "side";
/// The same, where a folder of this name elsewhere is another side.
const SIDE_FOLDER: &str = "side_folder";

/// A file that an importer reads.
#[derive(Debug)]
pub(super) struct FoundFile {
    /// Its path, as if nothing were packed.
    pub path: PathBuf,
    /// Where its bytes are.
    pub origin: FileOrigin,
    /// The side of a comparison that its path says.
    pub side: Option<PathSide>,
}

/// Where the bytes of a file are.
#[derive(Debug)]
pub(super) enum FileOrigin {
    /// In this file.
    Disk(PathBuf),
    /// Here: they were a member of the archive of this number.
    Member(usize, Vec<u8>),
}

/// What is in a folder or an archive.
#[derive(Debug, Default)]
pub(super) struct FolderFiles {
    /// The files to read.
    pub files: Vec<FoundFile>,
    /// The archives that some of them came out of.
    pub archives: Vec<SourceFile>,
    /// Files of archives that say more about others, by their path.
    pub beside: HashMap<PathBuf, Vec<u8>>,
    /// Each part of the folder that the importer has a name for, and whether files of it are read.
    pub parts: BTreeMap<String, bool>,
}

/// Finds files of an importer.
struct Search<'a> {
    importer: &'a Importer,
    found: FolderFiles,
    seen: usize,
}

impl FolderFiles {
    /// The files of this importer in a folder.
    pub fn of_folder(importer: &Importer, folder: &Path) -> Result<Self, ImportError> {
        let mut search = Search::new(importer);
        search.walk(folder)?;
        Ok(search.finish())
    }

    /// The files of this importer in an archive that stands for this folder.
    pub fn of_archive(
        importer: &Importer,
        archive: &Path,
        folder: &Path,
    ) -> Result<Self, ImportError> {
        let mut search = Search::new(importer);
        search.open_archive(archive, folder)?;
        Ok(search.finish())
    }

    /// One file that was named.
    pub fn of_file(path: &Path) -> Self {
        Self {
            files: vec![FoundFile {
                path: unpacked_path(path),
                origin: FileOrigin::Disk(path.to_owned()),
                side: None,
            }],
            ..Self::default()
        }
    }

    /// The parts that no file was read of.
    pub fn unread_parts(&self) -> impl Iterator<Item = &String> {
        let unread = self.parts.iter().filter(|(_, read)| !**read);
        unread.map(|(part, _)| part)
    }
}

impl<'a> Search<'a> {
    fn new(importer: &'a Importer) -> Self {
        Self {
            importer,
            found: FolderFiles::default(),
            seen: 0,
        }
    }

    fn walk(&mut self, folder: &Path) -> Result<(), ImportError> {
        let mut left = vec![(folder.to_owned(), 0)];
        while let Some((folder, depth)) = left.pop() {
            let unreadable =
                |cause| ImportError::new(&folder, format!("it can't be read: {cause}"));
            for entry in fs::read_dir(&folder).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                self.seen += 1;
                if self.seen > MOST_FILES {
                    let message = format!("more than {MOST_FILES} files are in here");
                    return Err(ImportError::new(&folder, message)
                        .help("name the folder that has the results"));
                }
                let kind = entry.file_type().map_err(unreadable)?;
                let path = entry.path();
                if kind.is_dir() && depth < DEEPEST {
                    left.push((path, depth + 1));
                } else if kind.is_file() {
                    match archive_folder(&path) {
                        Some(folder) if self.importer.is_mixed() => {
                            self.open_archive(&path, &folder)?;
                        }
                        _ => self.consider(path),
                    }
                }
            }
        }
        Ok(())
    }

    fn consider(&mut self, file: PathBuf) {
        let path = unpacked_path(&file);
        if self.wants(&path) {
            let origin = FileOrigin::Disk(file);
            self.found.files.push(FoundFile {
                path,
                origin,
                side: None,
            });
        }
    }

    /// Whether a shape reads files of this path. The part that it is of is one of the folder's.
    fn wants(&mut self, path: &Path) -> bool {
        let whole = whole_path(path);
        if let Some(part) = self.importer.part_of(&whole) {
            self.found.parts.entry(part).or_default();
        }
        self.importer.shape_of(&whole).is_some()
    }

    fn open_archive(&mut self, file: &Path, folder: &Path) -> Result<(), ImportError> {
        let archive = SourceFile::open(file)?;
        let number = self.found.archives.len();
        let importer = self.importer;
        let says_more = |path: &Path| {
            let beside = importer.shapes.iter().flat_map(|shape| &shape.beside);
            beside.into_iter().any(|name| path.ends_with(name))
        };
        let found = members(&archive, folder, |path| self.wants(path) || says_more(path))?;
        self.seen += found.len();
        for member in found {
            if says_more(&member.path) {
                let content = member.content.clone();
                self.found.beside.insert(member.path.clone(), content);
            }
            if self.wants(&member.path) {
                self.found.files.push(FoundFile {
                    path: member.path,
                    origin: FileOrigin::Member(number, member.content),
                    side: None,
                });
            }
        }
        self.found.archives.push(archive);
        Ok(())
    }

    fn finish(mut self) -> FolderFiles {
        let files = &mut self.found.files;
        files.sort_by_cached_key(|file| natural(&file.path.to_string_lossy()));
        // Packed and not packed, a file is read once.
        files.dedup_by(|a, b| a.path == b.path);
        let names: BTreeSet<String> = files.iter().map(|file| whole_path(&file.path)).collect();
        let importer = self.importer;
        files.retain(|file| {
            let whole = whole_path(&file.path);
            let shape = importer.shape_of(&whole);
            !shape.is_some_and(|shape| has_better(shape, &whole, &names))
        });
        for file in files {
            let whole = whole_path(&file.path);
            let path = importer.shape_of(&whole);
            let path = path.and_then(|shape| shape.path.as_ref());
            file.side = path.and_then(|path| side_of(path, &whole));
        }
        self.found
    }
}

/// The side that a path names.
fn side_of(expression: &Regex, whole: &str) -> Option<PathSide> {
    let captures = expression.captures(whole)?;
    let folder = captures.name(SIDE_FOLDER);
    let name = folder.or_else(|| captures.name(SIDE))?;
    Some(PathSide {
        name: name.as_str().to_owned(),
        within: folder.map(|it| whole[..it.start()].trim_end_matches('/').to_owned()),
    })
}

/// Whether a file stands beside this one that says the same in more detail.
fn has_better(shape: &Shape, whole: &str, names: &BTreeSet<String>) -> bool {
    let Some(unless) = &shape.unless else {
        return false;
    };
    let folder = &whole[..whole.rfind('/').map_or(0, |at| at + 1)];
    let inside = names.range::<str, _>((Bound::Included(folder), Bound::Unbounded));
    inside
        .take_while(|name| name.starts_with(folder))
        .any(|name| name != whole && unless.is_match(&name[folder.len()..]))
}

/// An order in which `iter-2` stands before `iter-10`.
fn natural(text: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (words, numbered) = rest.split_at(digits);
        let end = numbered
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(numbered.len());
        let (number, after) = numbered.split_at(end);
        parts.push((words.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iteration_two_stands_before_iteration_ten() {
        let mut names = ["iter-10/x", "iter-2/x", "iter-1/x"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["iter-1/x", "iter-2/x", "iter-10/x"]);
    }
}
