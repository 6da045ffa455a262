//! Archives read entry by entry, straight from what decompresses them.
//!
//! Paths with `..` or a root, entries of more than a GiB, and sparse files in the newer format are errors.

use crate::HistoryError;
use crate::program::{RunningProgram, UNPACKING};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::Command;
use tar::EntryType;

/// Most that a file may hold, and what is read at a time.
const MOST: u64 = 1 << 30;
const BUFFER: usize = 1 << 18;

/// What kind of archive a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArchiveFormat {
    /// Its entries come one after the other, out of this program if it is packed.
    Stream(Option<(&'static str, &'static [&'static str])>),
    /// It has to be unpacked as a whole.
    Zip,
    /// A Debian source package, of several files.
    Description,
}

impl ArchiveFormat {
    /// The form of an archive, by how it begins.
    ///
    /// # Errors
    /// It can't be read.
    pub(super) fn detect(archive: &Path) -> Result<Self, HistoryError> {
        if archive.extension().is_some_and(|ending| ending == "dsc") {
            return Ok(Self::Description);
        }
        let mut start = Vec::new();
        File::open(archive)
            .and_then(|file| file.take(8).read_to_end(&mut start))
            .map_err(|error| super::at(archive, &error))?;
        Ok(Self::of_start(&start))
    }

    fn of_start(start: &[u8]) -> Self {
        const KNOWN: [(&[u8], ArchiveFormat); 10] = [
            (b"\xfd7zXZ\0", program("xz", &["-dc", "--"])),
            (b"\x5d\0\0", program("xz", &["-dc", "--format=lzma", "--"])),
            (b"\x1f\x8b", program("gzip", &["-dc", "--"])),
            (b"\x1f\x9d", program("gzip", &["-dc", "--"])),
            (b"BZh", program("bzip2", &["-dc", "--"])),
            (b"\x28\xb5\x2f\xfd", program("zstd", &["-dcq", "--"])),
            (b"LZIP", program("lzip", &["-dc", "--"])),
            (b"!<arch>\n", program("dpkg-deb", &["--fsys-tarfile"])),
            (b"PK\x03\x04", ArchiveFormat::Zip),
            (b"PK\x05\x06", ArchiveFormat::Zip),
        ];
        KNOWN
            .into_iter()
            .find(|(beginning, _)| start.starts_with(beginning))
            .map_or(Self::Stream(None), |(_, form)| form)
    }
}

const fn program(name: &'static str, args: &'static [&'static str]) -> ArchiveFormat {
    ArchiveFormat::Stream(Some((name, args)))
}

/// What an entry is.
pub(super) enum ArchiveEntry<'a> {
    File {
        program: bool,
        content: Content<'a>,
    },
    /// A symbolic link to here.
    Link(Vec<u8>),
    /// Another name of a file that came before.
    Same(Vec<u8>),
    Folder,
}

/// The content of a file, to be read or left.
pub(super) struct Content<'a> {
    size: u64,
    from: &'a mut dyn Read,
}

impl Content<'_> {
    /// All of it.
    pub(super) fn whole(self) -> Result<Vec<u8>, ArchiveError> {
        if self.size > MOST {
            let text = format!("a file of {} bytes is more than can be meant", self.size);
            return Err(HistoryError::Other(text).into());
        }
        let mut bytes = Vec::new();
        self.from.take(MOST).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == self.size {
            Ok(bytes)
        } else {
            Err(ArchiveError::Damaged(io::ErrorKind::UnexpectedEof.into()))
        }
    }
}

impl Read for Content<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.from.read(into)
    }
}

/// Why reading an archive ended early.
pub(super) enum ArchiveError {
    /// The archive can't be read on.
    Damaged(io::Error),
    /// Something else went wrong.
    Other(HistoryError),
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> Self {
        Self::Damaged(error)
    }
}

impl From<HistoryError> for ArchiveError {
    fn from(error: HistoryError) -> Self {
        Self::Other(error)
    }
}

/// How far an archive was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkEnd {
    Whole,
    /// Up to an entry that isn't in the top folder of those before it.
    OtherTop,
}

/// What is done with each entry, named by its path without dots, root or slash at its end.
pub(super) type EntryVisitor<'a> =
    &'a mut dyn FnMut(&[u8], ArchiveEntry<'_>) -> Result<(), ArchiveError>;

/// Shows all entries of an archive, with the folder that all of them lie in left out of their paths if asked.
///
/// # Errors
/// The archive can't be read, is damaged or has hostile paths; or the visitor's.
pub(super) fn each(
    archive: &Path,
    unpacker: Option<(&str, &[&str])>,
    without_top: bool,
    visit: EntryVisitor<'_>,
) -> Result<WalkEnd, HistoryError> {
    let what = format!(
        "unpacking {}",
        archive.file_name().unwrap_or_default().to_string_lossy()
    );
    let source = match unpacker {
        None => Source::Plain(File::open(archive).map_err(|error| super::at(archive, &error))?),
        Some((program, args)) => {
            let mut command = Command::new(program);
            command.args(args).arg(archive);
            Source::Unpacked(RunningProgram::start(&mut command, &what, UNPACKING)?)
        }
    };
    let mut packed = tar::Archive::new(BufReader::with_capacity(BUFFER, source));
    let walked = walk(&mut packed, without_top.then(Top::default), visit);
    let mut rest = packed.into_inner();
    let damaged = match walked {
        Err(ArchiveError::Other(error)) => return Err(error),
        Ok(WalkEnd::OtherTop) => return Ok(WalkEnd::OtherTop),
        Ok(WalkEnd::Whole) => None,
        Err(ArchiveError::Damaged(error)) => Some(error),
    };
    let damaged = match (damaged, io::copy(&mut rest, &mut io::sink())) {
        (None, Ok(_)) => None,
        (Some(error), _) | (None, Err(error)) => Some(error),
    };
    // The program knows best why its output ended early.
    if let Source::Unpacked(printing) = rest.into_inner() {
        printing.finish()?;
    }
    damaged.map_or(Ok(WalkEnd::Whole), |error| {
        Err(HistoryError::Other(format!("{what}: {error}")))
    })
}

enum Source {
    Plain(File),
    Unpacked(RunningProgram),
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(into),
            Self::Unpacked(printing) => printing.read(into),
        }
    }
}

/// The folder that every entry so far lies in.
#[derive(Default)]
struct Top(Option<Vec<u8>>);

impl Top {
    /// A path below the top folder; an empty one is the top folder itself. None if it lies elsewhere.
    fn below<'p>(&mut self, path: &'p [u8], folder: bool) -> Option<&'p [u8]> {
        let mut parts = path.splitn(2, |byte| *byte == b'/');
        let (first, rest) = (parts.next()?, parts.next());
        let top = self.0.get_or_insert_with(|| first.to_vec());
        (top == first && (folder || rest.is_some())).then_some(rest.unwrap_or_default())
    }
}

fn walk(
    packed: &mut tar::Archive<impl Read>,
    mut top: Option<Top>,
    visit: EntryVisitor<'_>,
) -> Result<WalkEnd, ArchiveError> {
    for entry in packed.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let raw = entry.path_bytes().into_owned();
        let folder = kind == EntryType::Directory || (kind.is_file() && raw.ends_with(b"/"));
        let whole_path = plain(&raw)?;
        if whole_path.is_empty() {
            continue;
        }
        let path = match &mut top {
            None => whole_path.as_slice(),
            Some(top) => match top.below(&whole_path, folder) {
                None => return Ok(WalkEnd::OtherTop),
                Some([]) => continue,
                Some(path) => path,
            },
        };
        let target = || Some(entry.link_name_bytes()?.into_owned());
        let found = match kind {
            _ if folder => ArchiveEntry::Folder,
            EntryType::Symlink => ArchiveEntry::Link(target().unwrap_or_default()),
            EntryType::Link => {
                let target = plain(&target().unwrap_or_default())?;
                let other = match &mut top {
                    None => target.as_slice(),
                    Some(top) => top.below(&target, false).unwrap_or_default(),
                };
                ArchiveEntry::Same(other.to_vec())
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                refuse_new_sparse(&mut entry)?;
                let program = entry.header().mode()? & 0o100 != 0;
                let content = Content {
                    size: entry.size(),
                    from: &mut entry,
                };
                ArchiveEntry::File { program, content }
            }
            // Sockets and devices belong to no version.
            _ => continue,
        };
        visit(path, found)?;
    }
    Ok(WalkEnd::Whole)
}

/// An entry's path without dots and doubled slashes.
fn plain(raw: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    let parts: Vec<&[u8]> = raw
        .split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .collect();
    if raw.starts_with(b"/") || parts.contains(&b"..".as_slice()) {
        let shown = String::from_utf8_lossy(raw);
        let shown = shown.escape_debug();
        let text = format!("the archive has the path \"{shown}\", which leads out of the tree");
        return Err(HistoryError::Other(text).into());
    }
    Ok(parts.join(&b'/'))
}

/// Of these the reader of archives would give a map with the content, which would be taken for the content.
fn refuse_new_sparse(entry: &mut tar::Entry<'_, impl Read>) -> Result<(), ArchiveError> {
    let Some(extensions) = entry.pax_extensions()? else {
        return Ok(());
    };
    for extension in extensions {
        if extension?.key_bytes().starts_with(b"GNU.sparse.") {
            let text = "the archive has sparse files in a format that isn't read here";
            return Err(HistoryError::Other(text.to_owned()).into());
        }
    }
    Ok(())
}
