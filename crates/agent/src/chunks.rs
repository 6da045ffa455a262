//! Content in chunks, each known by its hash: what is compared when files are sent to a host, so that a chunk that is there isn't sent.
//!
//! A [`ChunkList`] says what a tree of files is: its folders, links and files, and the hash of every chunk of these. Chunks are of one
//! size and begin at multiples of it; the last one of a file may be shorter. Lists come from other machines and from disks: one that is
//! read says what it says, and whether a chunk is what its hash says is asked of its bytes.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path};
use std::thread;

use prost::Message as _;
use zlib_rs::{DeflateConfig, InflateConfig, ReturnCode, compress_bound};

use crate::file_tree::{EntryKind, FileTree};
use crate::folders::with_path;
use crate::proto::{UploadEntry, UploadFile, UploadList, upload_entry::Kind};

/// The size of a chunk, bytes. A list of 1 GB has a thousand hashes, and a cut connection costs a few chunks at most.
pub(crate) const CHUNK: usize = 1 << 20;
/// The length of a hash, bytes.
const HASH: usize = 32;
/// Threads that read and hash files; more wait for the disk.
const HASHING_THREADS: usize = 8;
/// How much of a chunk is packed to see whether packing it is worth it, bytes, and the share of it that must be saved.
const SAMPLE: usize = 32 << 10;
const WORTH_SHARE: usize = 10;
/// zlib's fastest level: hosts wait for this.
const LEVEL: i32 = 1;

/// The BLAKE3 hash of a chunk.
pub(crate) type ChunkHash = [u8; HASH];

pub(crate) fn hash(bytes: &[u8]) -> ChunkHash {
    *blake3::hash(bytes).as_bytes()
}

/// A chunk of a file of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedChunk {
    /// The file: its number among the list's entries.
    pub(crate) entry: usize,
    pub(crate) offset: u64,
    pub(crate) length: usize,
    pub(crate) hash: ChunkHash,
}

impl ListedChunk {
    /// The bytes that a file has in its place.
    ///
    /// # Errors
    ///
    /// They can't be read, or the file is too short.
    pub(crate) fn read(&self, file: &File) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.length];
        file.read_exact_at(&mut bytes, self.offset)?;
        Ok(bytes)
    }
}

/// The chunks of a file of this size, without their hashes.
fn chunks_of(entry: usize, size: u64) -> impl Iterator<Item = ListedChunk> {
    (0..size).step_by(CHUNK).map(move |offset| ListedChunk {
        entry,
        offset,
        length: usize::try_from(size - offset).map_or(CHUNK, |left| left.min(CHUNK)),
        hash: [0; HASH],
    })
}

/// Folders, links and files, and the chunks of these.
#[derive(Debug)]
pub(crate) struct ChunkList {
    list: UploadList,
    chunks: Vec<ListedChunk>,
}

impl ChunkList {
    /// Reads and hashes all files of a tree, whose entries are the list's. Blocking.
    ///
    /// # Errors
    ///
    /// One can't be read.
    pub(crate) fn from_tree(tree: &FileTree) -> io::Result<Self> {
        let (mut entries, mut chunks) = (Vec::new(), Vec::new());
        for (number, entry) in tree.entries.iter().enumerate() {
            let kind = match &entry.kind {
                EntryKind::Folder => Kind::Folder(true),
                EntryKind::Link(to) => Kind::Link(to.as_os_str().as_bytes().to_vec().into()),
                EntryKind::File { source, mode } => {
                    let meta = fs::metadata(source).map_err(|error| with_path(source, &error))?;
                    chunks.extend(chunks_of(number, meta.len()));
                    Kind::File(UploadFile {
                        mode: *mode,
                        size: meta.len(),
                        chunks: Vec::new().into(),
                    })
                }
            };
            entries.push(UploadEntry {
                path: entry.path.as_os_str().as_bytes().to_vec().into(),
                kind: Some(kind),
            });
        }
        hash_all(tree, &mut chunks)?;
        for of_file in chunks.chunk_by(|one, other| one.entry == other.entry) {
            if let Some(Kind::File(file)) = &mut entries[of_file[0].entry].kind {
                let hashes = of_file.iter().map(|chunk| chunk.hash);
                file.chunks = hashes.collect::<Vec<_>>().concat().into();
            }
        }
        let list = UploadList { entries };
        Ok(Self { list, chunks })
    }

    /// Reads a list that another machine made.
    ///
    /// # Errors
    ///
    /// It is none, or a path of it leads out of its folder.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let list = UploadList::decode(bytes).map_err(|error| error.to_string())?;
        let (mut chunks, mut paths) = (Vec::new(), HashSet::new());
        for (number, entry) in list.entries.iter().enumerate() {
            let path = entry_path(entry);
            if !paths.insert(path) {
                return Err(format!("{} is there twice", path.display()));
            }
            let is_inside = path
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            if !is_inside || path == Path::new("") {
                return Err(format!("{} leads out of its folder", path.display()));
            }
            let Some(Kind::File(file)) = &entry.kind else {
                continue;
            };
            let (hashes, rest) = file.chunks.as_chunks::<HASH>();
            let fits = hashes.len() as u64 == file.size.div_ceil(CHUNK as u64) && rest.is_empty();
            if !fits {
                return Err(format!("{} has other chunks than its size", path.display()));
            }
            let of_file = chunks_of(number, file.size).zip(hashes);
            chunks.extend(of_file.map(|(chunk, hash)| ListedChunk {
                hash: *hash,
                ..chunk
            }));
        }
        Ok(Self { list, chunks })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        self.list.encode_to_vec()
    }

    /// Each with its path below the folder and the numbers of its chunks.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Path, &Kind, Range<usize>)> {
        let mut end = 0;
        self.list.entries.iter().filter_map(move |entry| {
            let begin = end;
            if let Some(Kind::File(file)) = &entry.kind {
                end += file.chunks.len() / HASH;
            }
            Some((entry_path(entry), entry.kind.as_ref()?, begin..end))
        })
    }

    /// All chunks; those of a file follow each other.
    pub(crate) fn chunks(&self) -> &[ListedChunk] {
        &self.chunks
    }

    /// The path of a chunk's file, below the folder.
    pub(crate) fn path(&self, chunk: &ListedChunk) -> &Path {
        entry_path(&self.list.entries[chunk.entry])
    }
}

fn entry_path(entry: &UploadEntry) -> &Path {
    Path::new(OsStr::from_bytes(&entry.path))
}

/// Fills in the hashes of chunks of a tree's files.
fn hash_all(tree: &FileTree, chunks: &mut [ListedChunk]) -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = chunks.len().div_ceil(threads.min(HASHING_THREADS)).max(1);
    thread::scope(|scope| {
        let shares = chunks.chunks_mut(share);
        let threads: Vec<_> = shares
            .map(|share| scope.spawn(|| hash_share(tree, share)))
            .collect();
        let mut done = threads.into_iter().map(|thread| {
            let panicked = |_| Err(io::Error::other("a thread that hashes files ended"));
            thread.join().unwrap_or_else(panicked)
        });
        done.try_for_each(|done| done)
    })
}

fn hash_share(tree: &FileTree, chunks: &mut [ListedChunk]) -> io::Result<()> {
    for of_file in chunks.chunk_by_mut(|one, other| one.entry == other.entry) {
        let EntryKind::File { source, .. } = &tree.entries[of_file[0].entry].kind else {
            continue;
        };
        let mut hash_file = || {
            let file = File::open(source)?;
            for chunk in &mut *of_file {
                chunk.hash = hash(&chunk.read(&file)?);
            }
            Ok(())
        };
        hash_file().map_err(|error: io::Error| with_path(source, &error))?;
    }
    Ok(())
}

/// Packs a chunk if that makes it clearly smaller.
pub(crate) fn pack(bytes: &[u8]) -> Option<Vec<u8>> {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let saves =
        |whole: &[u8], packed: &[u8]| packed.len() < whole.len() - whole.len() / WORTH_SHARE;
    if !saves(sample, &deflated(sample)?) {
        return None;
    }
    deflated(bytes).filter(|packed| saves(bytes, packed))
}

fn deflated(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut packed = vec![0; compress_bound(bytes.len())];
    let config = DeflateConfig::new(LEVEL);
    let (made, ending) = zlib_rs::compress_slice(&mut packed, bytes, config);
    let length = made.len();
    packed.truncate(length);
    (ending == ReturnCode::Ok).then_some(packed)
}

/// A packed chunk of this length; none if it is something else.
pub(crate) fn unpack(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let (made, ending) = zlib_rs::decompress_slice(&mut bytes, packed, InflateConfig::default());
    (ending == ReturnCode::Ok && made.len() == length).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_knows_each_chunk_by_its_content_and_reads_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let mut content = vec![1; 2 * CHUNK + 5];
        content[CHUNK] = 2;
        fs::write(folder.path().join("large"), &content).unwrap();
        fs::write(folder.path().join("empty"), "").unwrap();
        let list = ChunkList::from_tree(&FileTree::whole(folder.path()).unwrap()).unwrap();
        let again = ChunkList::decode(&list.encode()).unwrap();
        let lengths: Vec<usize> = again.chunks().iter().map(|chunk| chunk.length).collect();
        assert_eq!(lengths, [CHUNK, CHUNK, 5]);
        for (chunk, bytes) in again.chunks().iter().zip(content.chunks(CHUNK)) {
            assert_eq!(chunk.hash, hash(bytes));
            assert_eq!(again.path(chunk), Path::new("large"));
        }
    }

    #[test]
    fn a_list_that_contradicts_itself_is_refused() {
        let file = |path: &str, size, chunks| UploadEntry {
            path: path.as_bytes().to_vec().into(),
            kind: Some(Kind::File(UploadFile {
                mode: 0o600,
                size,
                chunks: vec![0; chunks].into(),
            })),
        };
        for (entry, why) in [
            (file("../a", 0, 0), "leads out"),
            (file("/a", 0, 0), "leads out"),
            (file("", 0, 0), "leads out"),
            (file("a", 1, 0), "other chunks"),
            (file("a", 1, 33), "other chunks"),
            (file("a", u64::MAX, 32), "other chunks"),
        ] {
            let list = UploadList {
                entries: vec![entry],
            };
            let refused = ChunkList::decode(&list.encode_to_vec()).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn what_packing_makes_no_smaller_is_left_as_it_is() {
        let text = b"the same words again, ".repeat(CHUNK / 22);
        let packed = pack(&text).unwrap();
        assert!(packed.len() < text.len() / 10);
        assert_eq!(unpack(&packed, text.len()), Some(text.clone()));
        assert_eq!(unpack(&packed, text.len() - 1), None);
        assert_eq!(unpack(&packed[..packed.len() - 9], text.len()), None);
        let mut noise = vec![0; CHUNK];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        assert_eq!(pack(&noise), None);
        assert_eq!(pack(b""), None);
    }
}
