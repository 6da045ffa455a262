//! Bringing an archive's files into a tree while the archive is read, and a folder's where it can't be streamed.
//!
//! A package without the wanted part, and two names that a file system takes for one, are errors.

use super::archive::{self, ArchiveEntry, ArchiveError, ArchiveFormat, WalkEnd};
use super::at;
use crate::HistoryError;
use crate::program::{UNPACKING, run};
use crate::tree::{self, ContentOrigin, PathKind, TreeFilling};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The change log of a Debian source.
const SOURCE_LOG: &str = "debian/changelog";

/// What is wanted of an archive.
pub(super) struct ExtractRequest<'a> {
    /// Where its files go, if anywhere.
    pub(super) tree: Option<&'a Path>,
    /// The folder whose files these are, or the archive inside that is to be kept; else all.
    pub(super) inside: Option<&'a str>,
    /// The name under which a Debian package keeps its documents, if its change log is wanted.
    pub(super) documents: Option<&'a str>,
    /// A folder for what is needed only for now.
    pub(super) room: &'a Path,
}

/// What was taken of an archive.
#[derive(Default)]
pub(super) struct Extracted {
    pub(super) log: Option<Vec<u8>>,
    /// Nothing was, though something inside was wanted.
    pub(super) lacking: bool,
    /// The archive that was wanted.
    pub(super) inner: Option<PathBuf>,
}

/// Takes what is wanted out of an archive whose entries come one by one.
///
/// # Errors
/// The archive is damaged or hostile, or the tree can't be written: it is then mended by the next check-out.
pub(super) fn take_stream(
    archive: &Path,
    unpacker: Option<(&str, &[&str])>,
    without_top: bool,
    wants: &ExtractRequest<'_>,
) -> Result<Extracted, HistoryError> {
    let inside = wants.inside.map(without_dots);
    // Few archives have more than one thing at their top, and those that have tell early.
    let attempts = if without_top {
        &[true, false][..]
    } else {
        &[false]
    };
    for attempt in attempts {
        let mut extraction = Extraction::new(wants, inside.as_deref());
        let walked = archive::each(archive, unpacker, *attempt, &mut |path, found| {
            extraction.take(path, found)
        })?;
        if walked == WalkEnd::Whole {
            return extraction.finish();
        }
    }
    Err(HistoryError::Other(format!(
        "{}: has no top",
        archive.display()
    )))
}

/// Makes a tree what an archive holds, of whatever form it is.
pub(super) fn take_archive(archive: &Path, tree: &Path, room: &Path) -> Result<(), HistoryError> {
    match ArchiveFormat::detect(archive)? {
        ArchiveFormat::Stream(unpacker) => {
            let wants = ExtractRequest {
                tree: Some(tree),
                inside: None,
                documents: None,
                room,
            };
            take_stream(archive, unpacker, true, &wants).map(drop)
        }
        form => {
            let folder = room.join("inner-whole");
            sync_folder(&unpacked(archive, form, &folder)?, true, tree)
        }
    }
}

/// Makes a tree what a folder holds; the files of one that nobody needs afterwards may be moved.
pub(super) fn sync_folder(folder: &Path, spare: bool, tree: &Path) -> Result<(), HistoryError> {
    let files = tree::of_folder(folder)?;
    let origin = if spare {
        ContentOrigin::Spare(folder)
    } else {
        ContentOrigin::Folder(folder)
    };
    tree::sync(tree, &files, &origin)
}

/// Unpacks an archive that can't be streamed into a new folder; gives the one with the files.
pub(super) fn unpacked(
    archive: &Path,
    form: ArchiveFormat,
    into: &Path,
) -> Result<PathBuf, HistoryError> {
    fs::create_dir(into).map_err(|error| at(into, &error))?;
    let mut command;
    if form == ArchiveFormat::Description {
        // It makes the folder itself, and wants that there is none.
        command = Command::new("dpkg-source");
        command
            .args(["--no-check", "--no-copy", "--quiet", "--extract"])
            .arg(archive)
            .arg(into.join("source"));
    } else {
        command = Command::new("python3");
        command.args(["-m", "zipfile", "-e"]).arg(archive).arg(into);
    }
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    run(&mut command, &format!("unpacking {name}"), UNPACKING)?;
    Ok(only_folder(into.to_owned()))
}

/// The change log of a Debian source in a folder, if there is one.
pub(super) fn source_log(folder: &Path) -> Option<Vec<u8>> {
    fs::read(folder.join(SOURCE_LOG)).ok()
}

/// The only thing in a folder, if that is a folder; or else the folder itself.
fn only_folder(folder: PathBuf) -> PathBuf {
    let mut found = fs::read_dir(&folder).into_iter().flatten().flatten();
    match (found.next(), found.next()) {
        (Some(only), None) if only.file_type().is_ok_and(|kind| kind.is_dir()) => only.path(),
        _ => folder,
    }
}

/// A path as archives' entries are named here.
fn without_dots(path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.collect::<Vec<_>>().join("/")
}

/// The extraction of one archive.
struct Extraction<'a> {
    wants: &'a ExtractRequest<'a>,
    inside: Option<&'a str>,
    /// Where change logs lie, the better ones first.
    logs: Vec<String>,
    log: Option<(usize, Vec<u8>)>,
    filling: Option<TreeFilling<'a>>,
    inner: Option<PathBuf>,
}

impl<'a> Extraction<'a> {
    fn new(wants: &'a ExtractRequest<'a>, inside: Option<&'a str>) -> Self {
        let logs = wants.documents.map(|name| {
            let documents = format!("usr/share/doc/{name}");
            vec![
                format!("{documents}/changelog.Debian.gz"),
                format!("{documents}/changelog.gz"),
                SOURCE_LOG.to_owned(),
            ]
        });
        Self {
            wants,
            inside,
            logs: logs.unwrap_or_default(),
            log: None,
            filling: None,
            inner: None,
        }
    }

    fn take(&mut self, path: &[u8], found: ArchiveEntry<'_>) -> Result<(), ArchiveError> {
        let meant = self.inside.is_some_and(|inside| inside.as_bytes() == path);
        let in_tree = self.in_tree(path);
        match found {
            ArchiveEntry::Folder if meant => {
                self.filling()?;
            }
            ArchiveEntry::Folder => {}
            ArchiveEntry::File { mut content, .. } if meant => {
                if self.wants.tree.is_some() {
                    let place = self.wants.room.join("inner");
                    let mut file = File::create(&place).map_err(|error| at(&place, &error))?;
                    io::copy(&mut content, &mut file)?;
                    self.inner = Some(place);
                }
            }
            ArchiveEntry::File { program, content } => {
                let log = self.log_at(path);
                if log.is_none() && in_tree.is_none() {
                    return Ok(());
                }
                let content = content.whole()?;
                if let Some(path) = in_tree
                    && let Some(filling) = self.filling()?
                {
                    let kind = if program {
                        PathKind::Program
                    } else {
                        PathKind::File
                    };
                    filling.put(path, kind, &content)?;
                }
                if let Some(rank) = log {
                    self.log = Some((rank, content));
                }
            }
            ArchiveEntry::Link(target) => {
                if let Some(path) = in_tree
                    && let Some(filling) = self.filling()?
                {
                    filling.put(path, PathKind::Link, &target)?;
                }
            }
            ArchiveEntry::Same(other) => {
                let other = self.in_tree(&other).unwrap_or_default().to_vec();
                if let Some(path) = in_tree
                    && let Some(filling) = self.filling()?
                {
                    filling.put_same(path, &other)?;
                }
            }
        }
        Ok(())
    }

    /// An entry's path in the tree, if it goes there.
    fn in_tree<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let below = match self.inside {
            None => path,
            Some(inside) => path.strip_prefix(inside.as_bytes())?.strip_prefix(b"/")?,
        };
        // A repository that was packed too belongs to no version.
        let top = below.split(|byte| *byte == b'/').next();
        (top != Some(b".git")).then_some(below)
    }

    /// The place of a path among the change logs, if none that is better was seen.
    fn log_at(&self, path: &[u8]) -> Option<usize> {
        let rank = self.logs.iter().position(|log| log.as_bytes() == path)?;
        let best = self.log.as_ref().map_or(usize::MAX, |(rank, _)| *rank);
        (rank < best).then_some(rank)
    }

    /// What fills the tree, which begins when there is something to be put there.
    fn filling(&mut self) -> Result<Option<&mut TreeFilling<'a>>, HistoryError> {
        if let (None, Some(tree)) = (&self.filling, self.wants.tree) {
            self.filling = Some(TreeFilling::begin(tree)?);
        }
        Ok(self.filling.as_mut())
    }

    fn finish(mut self) -> Result<Extracted, HistoryError> {
        if self.inside.is_none() {
            // An archive without files makes an empty tree.
            self.filling()?;
        }
        let lacking = self.wants.tree.is_some() && self.filling.is_none() && self.inner.is_none();
        let log = self
            .log
            .map(|(_, content)| readable(content, self.wants.room))
            .transpose()?;
        if let Some(filling) = self.filling {
            filling.finish()?;
        }
        Ok(Extracted {
            log,
            lacking,
            inner: self.inner,
        })
    }
}

/// A change log, unpacked if it is packed.
fn readable(log: Vec<u8>, room: &Path) -> Result<Vec<u8>, HistoryError> {
    if !log.starts_with(b"\x1f\x8b") {
        return Ok(log);
    }
    let place = room.join("log.gz");
    fs::write(&place, log).map_err(|error| at(&place, &error))?;
    let mut command = Command::new("gzip");
    command.arg("-dc").arg(&place);
    run(&mut command, "reading the change log", UNPACKING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::{MetadataExt, symlink};
    use tar::{Builder, EntryType, Header};

    struct Room {
        folder: tempfile::TempDir,
        tree: PathBuf,
    }

    impl Room {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("outside")).unwrap();
            fs::write(folder.path().join("outside/file"), "theirs").unwrap();
            let tree = folder.path().join("tree");
            Self { folder, tree }
        }

        fn take(&self, archive: &[u8]) -> Result<(), HistoryError> {
            let place = self.folder.path().join("archive");
            fs::write(&place, archive).unwrap();
            take_archive(&place, &self.tree, self.folder.path())
        }

        /// What lies in the tree, with what identifies it.
        fn held(&self) -> BTreeMap<String, (PathKind, String)> {
            let files = tree::of_folder(&self.tree).unwrap();
            let text = |path: Vec<u8>| String::from_utf8(path).unwrap();
            files
                .into_iter()
                .map(|(path, wanted)| (text(path), (wanted.kind, wanted.id)))
                .collect()
        }

        fn outside_is_untouched(&self) -> bool {
            let outside = self.folder.path().join("outside");
            fs::read(outside.join("file")).unwrap() == b"theirs"
                && fs::read_dir(outside).unwrap().count() == 1
        }
    }

    /// An entry with a name as it stands, however bad.
    fn entry(kind: EntryType, name: &str, content: &str, mode: u32) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(mode);
        let linked = matches!(kind, EntryType::Symlink | EntryType::Link);
        if linked {
            header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
        }
        let content = if linked { "" } else { content };
        header.set_size(content.len() as u64);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(content.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn file(name: &str, content: &str) -> Vec<u8> {
        entry(EntryType::Regular, name, content, 0o644)
    }

    fn link(name: &str, target: &str) -> Vec<u8> {
        entry(EntryType::Symlink, name, target, 0o777)
    }

    fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = entries.concat();
        bytes.resize(bytes.len() + 1024, 0);
        bytes
    }

    fn is(kind: PathKind, content: &str) -> (PathKind, String) {
        (kind, blake3::hash(content.as_bytes()).to_hex().to_string())
    }

    fn holds(expected: &[(&str, PathKind, &str)]) -> BTreeMap<String, (PathKind, String)> {
        expected
            .iter()
            .map(|(path, kind, content)| ((*path).to_owned(), is(*kind, content)))
            .collect()
    }

    #[test]
    fn paths_that_leave_the_tree_are_refused_and_the_tree_is_mended_by_the_next_check_out() {
        let room = Room::new();
        let (folder, same) = (EntryType::Directory, EntryType::Link);
        let hostile = [
            vec![file("t/../../outside/file", "x")],
            vec![file("../outside/file", "x")],
            vec![file("/t/x", "x")],
            vec![entry(folder, "t/..", "", 0o755), file("t/x", "x")],
            vec![file("t/sub/.git/hooks/x", "x")],
            vec![file("t/sub/.GIT/x", "x")],
            vec![link("t/way", "../outside"), file("t/way/file", "x")],
            vec![file("t/f", "x"), file("t/f/file", "x")],
            vec![file("t/f/file", "x"), file("t/f", "x")],
            vec![entry(same, "t/x", "../outside/file", 0o644)],
            vec![entry(same, "t/x", "/etc/passwd", 0o644)],
            vec![entry(same, "t/x", "t/missing", 0o644)],
        ];
        let sound = archive(&[file("t/a", "1"), file("t/sub/b", "2")]);
        let expected = holds(&[("a", PathKind::File, "1"), ("sub/b", PathKind::File, "2")]);
        for entries in hostile {
            let mut all = vec![file("t/a", "changed"), file("t/new", "new")];
            all.extend(entries);
            assert!(room.take(&archive(&all)).is_err());
            assert!(room.outside_is_untouched());
            room.take(&sound).unwrap();
            assert_eq!(room.held(), expected);
        }
    }

    #[test]
    fn nothing_is_written_through_a_link_that_lies_in_the_tree() {
        let room = Room::new();
        let version = archive(&[file("t/way/file", "1"), file("t/f", "2")]);
        room.take(&version).unwrap();
        fs::remove_dir_all(room.tree.join("way")).unwrap();
        fs::remove_file(room.tree.join("f")).unwrap();
        symlink("../outside", room.tree.join("way")).unwrap();
        symlink("../outside/file", room.tree.join("f")).unwrap();
        room.take(&version).unwrap();
        let expected = holds(&[
            ("way/file", PathKind::File, "1"),
            ("f", PathKind::File, "2"),
        ]);
        assert_eq!(room.held(), expected);
        assert!(room.outside_is_untouched());
    }

    #[test]
    fn only_a_folder_that_all_lies_in_is_left_out_of_the_paths() {
        let room = Room::new();
        let folder = |name: &str| entry(EntryType::Directory, name, "", 0o555);
        let one = [folder("./"), folder("./t/"), file("./t/a", "1")];
        room.take(&archive(&one)).unwrap();
        assert_eq!(room.held(), holds(&[("a", PathKind::File, "1")]));
        let late = [file("t/a", "1"), file("t/b", "2"), file("other", "3")];
        room.take(&archive(&late)).unwrap();
        let expected = [
            ("other", PathKind::File, "3"),
            ("t/a", PathKind::File, "1"),
            ("t/b", PathKind::File, "2"),
        ];
        assert_eq!(room.held(), holds(&expected));
        room.take(&archive(&[file("only", "1")])).unwrap();
        assert_eq!(room.held(), holds(&[("only", PathKind::File, "1")]));
        room.take(&archive(&[])).unwrap();
        assert_eq!(room.held(), holds(&[]));
    }

    #[test]
    fn other_names_long_names_and_modes_are_kept_and_repositories_left_out() {
        let room = Room::new();
        let long = format!("t/{}/{}", "d".repeat(120), "f".repeat(200));
        let mut long_entry = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.set_size(1);
        header.set_mode(0o444);
        long_entry
            .append_data(&mut header, &long, &b"l"[..])
            .unwrap();
        let mut long_entry = long_entry.into_inner().unwrap();
        long_entry.truncate(long_entry.len() - 1024);
        let version = archive(&[
            entry(
                EntryType::XGlobalHeader,
                "pax_global_header",
                "13 comment=x\n",
                0o644,
            ),
            file("t/.git/config", "x"),
            entry(EntryType::Regular, "t/run", "p", 0o755),
            entry(EntryType::Link, "t/again", "t/run", 0o755),
            entry(EntryType::Fifo, "t/pipe", "", 0o644),
            file("t/twice", "1"),
            file("t/twice", "2"),
            long_entry,
        ]);
        let expected = holds(&[
            ("run", PathKind::Program, "p"),
            ("again", PathKind::Program, "p"),
            ("twice", PathKind::File, "2"),
            (&long[2..], PathKind::File, "l"),
        ]);
        for _ in 0..2 {
            room.take(&version).unwrap();
            assert_eq!(room.held(), expected);
        }
        assert_eq!(fs::metadata(room.tree.join("run")).unwrap().nlink(), 1);
    }

    #[test]
    fn sparse_files_that_would_be_misread_are_refused() {
        let room = Room::new();
        let extension = entry(
            EntryType::XHeader,
            "x",
            "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n",
            0o644,
        );
        let error = room.take(&archive(&[extension, file("t/a", "1")]));
        assert!(error.unwrap_err().to_string().contains("sparse"));
    }

    #[test]
    fn every_packing_is_known_by_how_it_begins() {
        let room = Room::new();
        let version = archive(&[file("t/a", "1")]);
        for program in ["cat", "gzip", "xz", "bzip2"] {
            let plain = room.folder.path().join("plain");
            fs::write(&plain, &version).unwrap();
            let mut command = Command::new("sh");
            command
                .args(["-c", "exec $0 < \"$1\"", program])
                .arg(&plain);
            let packed = run(&mut command, program, UNPACKING).unwrap();
            room.take(&packed).unwrap();
            assert_eq!(room.held(), holds(&[("a", PathKind::File, "1")]));
            let _ = fs::remove_dir_all(&room.tree);
        }
        let mut command = Command::new("python3");
        let (zip, of) = (room.folder.path().join("zip"), room.folder.path().join("t"));
        fs::create_dir(&of).unwrap();
        fs::write(of.join("a"), "1").unwrap();
        command.args(["-m", "zipfile", "-c"]).args([&zip, &of]);
        run(&mut command, "zip", UNPACKING).unwrap();
        room.take(&fs::read(&zip).unwrap()).unwrap();
        assert_eq!(room.held(), holds(&[("a", PathKind::File, "1")]));
        assert!(room.take(&[b'x'; 2048]).is_err());
    }

    const PATHS: [&str; 8] = ["a", "a/b", "a/b/c", "b", "b/a", "c", "d/e/f", "d/e"];
    const CONTENTS: [&str; 4] = ["1", "2", "3", "../outside"];

    /// Entries by the numbers of their path and content; the content's number is the kind's too.
    fn entries() -> impl Strategy<Value = Vec<(usize, usize)>> {
        proptest::collection::vec((0..8_usize, 0..4_usize), 0..6)
    }

    type Model = BTreeMap<String, (PathKind, String)>;

    /// The archive of the entries that don't clash with those before them, and what it should make of a tree.
    fn version(entries: &[(usize, usize)]) -> (Vec<Vec<u8>>, Model) {
        let (mut packed, mut model) = (vec![file("t/always", "a")], Model::new());
        model.insert("always".into(), is(PathKind::File, "a"));
        for (path, content) in entries {
            let (path, text) = (PATHS[*path], CONTENTS[*content]);
            let below = |above: &str, path: &str| path.starts_with(&format!("{above}/"));
            if model
                .keys()
                .any(|other| below(other, path) || below(path, other))
            {
                continue;
            }
            let name = format!("t/{path}");
            let kind = [
                PathKind::File,
                PathKind::Program,
                PathKind::File,
                PathKind::Link,
            ][*content];
            packed.push(match kind {
                PathKind::Link => link(&name, text),
                PathKind::Program => entry(EntryType::Regular, &name, text, 0o755),
                _ => file(&name, text),
            });
            model.insert(path.to_owned(), is(kind, text));
        }
        (packed, model)
    }

    proptest! {
        /// Versions of few paths that get into each other's way, some broken off, each followed by somebody
        /// meddling with one of them.
        #[test]
        fn the_tree_holds_exactly_the_archive(
            versions in proptest::collection::vec(
                (entries(), proptest::option::of(0..8_usize), proptest::option::of(0..7_usize)),
                1..6,
            ),
        ) {
            let room = Room::new();
            let look = |path: &str| {
                let found = fs::symlink_metadata(room.tree.join(path)).ok()?;
                Some((found.ino(), found.mtime_nsec(), found.ctime_nsec()))
            };
            let mut before = Model::new();
            for (entries, meddled, broken_off) in versions {
                let (packed, model) = version(&entries);
                if let Some(count) = broken_off {
                    let mut some = packed[..packed.len().min(count)].to_vec();
                    some.push(file("t/../x", ""));
                    prop_assert!(room.take(&archive(&some)).is_err());
                    before.clear();
                }
                let looks: Vec<_> = model
                    .iter()
                    .filter(|(path, is)| before.get(*path) == Some(*is))
                    // What comes twice is written twice.
                    .filter(|(path, _)| entries.iter().filter(|(one, _)| PATHS[*one] == *path).count() < 2)
                    .map(|(path, _)| (path.clone(), look(path)))
                    .collect();
                room.take(&archive(&packed)).unwrap();
                prop_assert_eq!(room.held(), model.clone());
                for (path, before) in looks {
                    prop_assert_eq!(look(&path), before, "{}", path);
                }
                before = model;
                if let Some(path) = meddled.map(|path| PATHS[path])
                    && before.remove(path).is_some()
                    && fs::remove_file(room.tree.join(path)).is_ok()
                {
                    symlink("../outside", room.tree.join(path)).unwrap();
                }
                prop_assert!(room.outside_is_untouched());
            }
        }

        #[test]
        fn an_archive_cut_short_is_mended_by_the_version_before(cut in 1..2048_usize) {
            let room = Room::new();
            let old = archive(&[file("t/a", "1"), file("t/gone/b", "2")]);
            let new = archive(&[file("t/a", "3"), file("t/new", "4")]);
            room.take(&old).unwrap();
            fs::write(room.tree.join("built.o"), "o").unwrap();
            // Short of its header's end, or of the content that the header promises.
            let _ = room.take(&new[..cut]);
            room.take(&old).unwrap();
            fs::remove_file(room.tree.join("built.o")).unwrap();
            prop_assert_eq!(room.held(), holds(&[("a", PathKind::File, "1"), ("gone/b", PathKind::File, "2")]));
        }

        #[test]
        fn no_archive_upsets_the_reader(mut bytes in proptest::collection::vec(any::<u8>(), 0..600), at in 0..4000_usize) {
            let room = Room::new();
            let mut packed = archive(&[file("t/a", "1"), link("t/l", "a"), file("t/b", "2")]);
            let at = at.min(packed.len());
            packed.splice(at..at, bytes.drain(..));
            let _ = room.take(&packed);
            prop_assert!(room.outside_is_untouched());
        }
    }
}
