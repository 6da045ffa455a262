//! Packed files: what gzip, xz and Zstandard have packed, and archives of tar.
//!
//! How a file is packed is seen by its first bytes; whether it is an archive, by its name. Everything stays in memory, and no more
//! than outputs are searched: a small file that unpacks without end is refused. Members of an archive are names and bytes: nothing
//! is written, links aren't followed.

use backsight_catalog::LONGEST_OUTPUT;
use std::{
    io::{self, Read},
    path::{Component, Path, PathBuf},
};
use xz4rust::{XzDecoder, XzNextBlockResult};

use super::{
    ImportError, SourceFile,
    record::printable,
    source::{MOST_FILES, too_long},
};

/// Endings of packed files that aren't part of what the file is called.
const ENDINGS: [&str; 3] = ["gz", "xz", "zst"];
/// Endings of archives.
const ARCHIVES: [&str; 8] = [
    ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst", ".tzst", ".tar.bz2",
];
/// The dictionary that unpacking xz begins with: what `xz` makes unless told otherwise needs no more.
const XZ_DICTIONARY: usize = 8 << 20;
/// The largest one: `xz -9` needs 64 MiB.
const MOST_XZ_DICTIONARY: usize = 128 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Gzip,
    Xz,
    Zstd,
    Bzip2,
}

impl Packing {
    fn of(content: &[u8]) -> Option<Self> {
        let begins = |with: &[u8]| content.starts_with(with);
        if begins(&[0x1f, 0x8b, 8]) {
            Some(Self::Gzip)
        } else if begins(b"\xfd7zXZ\0") {
            Some(Self::Xz)
        } else if begins(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Self::Zstd)
        } else if begins(b"BZh") && content.get(4..10) == Some(b"1AY&SY") {
            Some(Self::Bzip2)
        } else {
            None
        }
    }

    fn reader<'a>(self, content: &'a [u8]) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(content)),
            Self::Xz => Box::new(Xz {
                decoder: XzDecoder::in_heap_with_alloc_dict_size(XZ_DICTIONARY, MOST_XZ_DICTIONARY),
                packed: content,
                ended: false,
            }),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(content)?),
            Self::Bzip2 => {
                let message = "bzip2 isn't read: unpack it first (bunzip2)";
                return Err(io::Error::new(io::ErrorKind::Unsupported, message));
            }
        })
    }
}

/// Unpacks xz; several streams behind each other are one.
struct Xz<'a> {
    decoder: Box<XzDecoder<'static>>,
    packed: &'a [u8],
    ended: bool,
}

impl Read for Xz<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.ended {
                let padding = self.packed.iter().take_while(|byte| **byte == 0).count();
                self.packed = &self.packed[padding..];
                if self.packed.is_empty() {
                    return Ok(0);
                }
                self.decoder.reset();
                self.ended = false;
            }
            let (consumed, produced) = match self.decoder.decode(self.packed, buffer) {
                Ok(XzNextBlockResult::NeedMoreData(consumed, produced)) => (consumed, produced),
                Ok(XzNextBlockResult::EndOfStream(consumed, produced)) => {
                    self.ended = true;
                    (consumed, produced)
                }
                Err(fault) => return Err(io::Error::new(io::ErrorKind::InvalidData, fault)),
            };
            self.packed = &self.packed[consumed..];
            if produced > 0 || buffer.is_empty() {
                return Ok(produced);
            }
            if consumed == 0 && !self.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

fn broken(path: &Path, cause: &io::Error) -> ImportError {
    let cause = printable(&cause.to_string());
    ImportError::new(path, format!("it can't be unpacked: {cause}"))
        .help("was it cut off? unpack it with the program that packed it")
}

/// What a file holds; none where it isn't packed.
pub(super) fn unpacked(path: &Path, content: &[u8]) -> Result<Option<Vec<u8>>, ImportError> {
    let Some(packing) = Packing::of(content) else {
        return Ok(None);
    };
    let mut text = Vec::new();
    let reader = packing.reader(content);
    reader
        .and_then(|reader| {
            let most = LONGEST_OUTPUT as u64 + 1;
            reader.take(most).read_to_end(&mut text)
        })
        .map_err(|cause| broken(path, &cause))?;
    if text.len() > LONGEST_OUTPUT {
        return Err(too_long(path));
    }
    Ok(Some(text))
}

/// Whether a file is packed, by how it begins.
pub(super) fn is_packed(start: &[u8]) -> bool {
    Packing::of(start).is_some()
}

/// How the content of a file begins of which this is the beginning; none where it isn't packed.
pub(super) fn beginning(start: &[u8], most: usize) -> Option<Vec<u8>> {
    let reader = Packing::of(start)?.reader(start).ok()?;
    let mut text = Vec::new();
    // That the beginning ends in the middle is no fault: what came before it is kept.
    let _cut = reader.take(most as u64).read_to_end(&mut text);
    Some(text)
}

/// What a file would be called if it weren't packed.
pub(super) fn unpacked_path(path: &Path) -> PathBuf {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some(ending) if ENDINGS.contains(&ending) => path.with_extension(""),
        _ => path.to_owned(),
    }
}

/// The folder that an archive stands for, if the file is called like an archive.
pub(super) fn archive_folder(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let ending = ARCHIVES
        .iter()
        .filter(|ending| name.ends_with(*ending) && name.len() > ending.len())
        .max_by_key(|ending| ending.len())?;
    Some(path.with_file_name(&name[..name.len() - ending.len()]))
}

/// A file of an archive.
pub(super) struct ArchiveMember {
    /// Where it would be if the archive had been unpacked in its place, with what itself was packed unpacked.
    pub path: PathBuf,
    /// What was in it.
    pub content: Vec<u8>,
}

/// The files of an archive whose paths are wanted. Their names begin in the folder that is called like the archive, whether the
/// archive says so or not.
pub(super) fn members(
    archive: &SourceFile,
    folder: &Path,
    mut wanted: impl FnMut(&Path) -> bool,
) -> Result<Vec<ArchiveMember>, ImportError> {
    let fault = |cause: io::Error| broken(&archive.path, &cause);
    let reader: Box<dyn Read + '_> = match Packing::of(&archive.content) {
        Some(packing) => packing.reader(&archive.content).map_err(fault)?,
        None => Box::new(&archive.content[..]),
    };
    // Whatever is skipped is unpacked as well.
    let mut tar = tar::Archive::new(reader.take(16 * LONGEST_OUTPUT as u64));
    let mut found = Vec::new();
    let (mut count, mut left) = (0, LONGEST_OUTPUT);
    for entry in tar.entries().map_err(fault)? {
        let mut entry = entry.map_err(fault)?;
        count += 1;
        if count > MOST_FILES {
            let message = format!("more than {MOST_FILES} files are in it");
            return Err(ImportError::new(&archive.path, message)
                .help("unpack it, and name the folder that has the results"));
        }
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let said = entry.path().map_err(fault)?;
        let path = unpacked_path(&place(folder, &said));
        if !wanted(&path) {
            continue;
        }
        let mut content = Vec::new();
        let most = left as u64 + 1;
        (&mut entry)
            .take(most)
            .read_to_end(&mut content)
            .map_err(fault)?;
        let content = match unpacked(&path, &content)? {
            Some(text) => text,
            None => content,
        };
        left = left
            .checked_sub(content.len())
            .ok_or_else(|| too_long(&archive.path))?;
        found.push(ArchiveMember { path, content });
    }
    Ok(found)
}

fn place(folder: &Path, said: &Path) -> PathBuf {
    let plain = said.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let plain: PathBuf = plain.collect();
    let says_folder = folder
        .file_name()
        .is_some_and(|name| plain.starts_with(name));
    match folder.parent() {
        Some(above) if says_folder => above.join(plain),
        _ => folder.join(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const XZ: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x06\x54\x69\x6d\x65\x3a\x20\x31\x00\x00\x1b\xf7\xa6\x87\x46\x98\x31\xeb\x00\x01\x1f\x07\x16\x2e\xb8\x73\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            let name = name.as_bytes();
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn what_is_packed_is_seen_by_its_first_bytes() {
        let path = Path::new("log");
        assert_eq!(unpacked(path, b"Time: 1").unwrap(), None);
        let text = unpacked(path, &gzip(b"Time: 1")).unwrap();
        assert_eq!(text.as_deref(), Some(&b"Time: 1"[..]));
        let zstd = zstd::encode_all(&b"Time: 1"[..], 1).unwrap();
        assert_eq!(
            unpacked(path, &zstd).unwrap().as_deref(),
            Some(&b"Time: 1"[..])
        );
        // `printf 'Time: 1' | xz`
        let xz = XZ;
        let text = unpacked(path, xz).unwrap();
        assert_eq!(text.as_deref(), Some(&b"Time: 1"[..]));
        let twice = [xz, &[0; 4], xz].concat();
        let text = unpacked(path, &twice).unwrap();
        assert_eq!(text.as_deref(), Some(&b"Time: 1Time: 1"[..]));
        assert!(unpacked(path, &xz[..xz.len() - 3]).is_err());
        let cut = &gzip(&[b'x'; 1000])[..20];
        let refused = unpacked(path, cut).unwrap_err();
        assert!(refused.message.contains("can't be unpacked"), "{refused}");
        let bzip2 = unpacked(path, b"BZh91AY&SY rest").unwrap_err();
        assert!(bzip2.message.contains("bunzip2"), "{bzip2}");
    }

    #[test]
    fn a_file_that_unpacks_without_end_is_refused() {
        let mut packer = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        let block = vec![0; 1 << 20];
        for _ in 0..300 {
            packer.write_all(&block).unwrap();
        }
        let bomb = packer.finish().unwrap();
        let refused = unpacked(Path::new("bomb"), &bomb).unwrap_err();
        assert!(refused.message.contains("longer than"), "{refused}");
    }

    #[test]
    fn names_lose_their_packing_and_archives_are_folders() {
        let plain = |path: &str| unpacked_path(Path::new(path));
        assert_eq!(plain("a/fio.log.gz"), Path::new("a/fio.log"));
        assert_eq!(plain("a/pipe-1.log"), Path::new("a/pipe-1.log"));
        let folder = |path: &str| archive_folder(Path::new(path));
        assert_eq!(folder("a/run.1.tar.gz"), Some("a/run.1".into()));
        assert_eq!(folder("a/run.txz"), Some("a/run".into()));
        assert_eq!(folder("a/.tar"), None);
        assert_eq!(folder("a/run.gz"), None);
    }

    #[test]
    fn members_of_an_archive_stand_where_it_would_have_been_unpacked() {
        let packed = gzip(b"two");
        let content = archive(&[
            ("run/iter-0/a", b"one"),
            ("./iter-1/b.gz", &packed),
            ("../../etc/passwd", b"three"),
            ("/abs", b"four"),
        ]);
        let archive = SourceFile {
            path: "x/run.tar".into(),
            content,
        };
        let found = members(&archive, Path::new("x/run"), |_| true).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.path.to_str().unwrap(), &it.content[..]))
            .collect();
        assert_eq!(
            found,
            [
                ("x/run/iter-0/a", &b"one"[..]),
                ("x/run/iter-1/b", b"two"),
                ("x/run/etc/passwd", b"three"),
                ("x/run/abs", b"four"),
            ]
        );
    }
}
