//! Upload of files to a host that doesn't see those of the controller: the agent's end. They are those of a build, or those beside a plan.
//!
//! They come as a whole or not at all, and are on the host's disk before they are said to be there: the next thing that
//! happens to the host may be a jump into another kernel. They come in chunks, each of which is what its hash says, and none comes that is
//! on the host already: in files that came before, which are kept for a while, or in what an upload that was cut off has left.
//!
//! Beside each kept folder `NAME` lies the list of its chunks, `.NAME.list`. Files that are still to come are a folder `.part-LIST.TOKEN`
//! with their `list` and their `tree`, which gets its name when it is whole, and never takes the place of one that is there. The agent
//! that fills it holds a lock on its list. Hosts may have one home, and several agents put the same there at the same moment: each fills a
//! folder of its own. One whose agent is gone is filled further by the next agent that gets the same list. Nothing that is found is
//! believed: a chunk counts if its bytes have its hash.
//!
//! A path that leads out of the files' own folder is an error.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt as _, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use prost::bytes::Bytes;
use rustix::fs::statvfs;
use tonic::Status;

use crate::chunks::{self, CHUNK, ChunkHash, ChunkList, ListedChunk};
use crate::file_tree::FileTree;
use crate::folders::{cache_folder, with_path};
use crate::proto::{Chunk, put_request::Piece, upload_entry::Kind};

/// Builds that a host keeps; the ones that were used last.
const KEPT: usize = 8;
/// How long a plan's files are kept that nobody uses.
const PLAN_KEPT: Duration = Duration::from_secs(14 * 24 * 3600);
/// How long what a cut upload has left is kept for the next one.
const PART_KEPT: Duration = Duration::from_secs(3 * 24 * 3600);
/// What the folders of files that are still to come begin with.
const PART: &str = ".part-";
/// In such a folder: the list of the files' chunks, and the files.
const LIST: &str = "list";
const TREE: &str = "tree";
/// The longest list, bytes: of a million files, or of a terabyte.
const LIST_LIMIT: u64 = 128 << 20;
/// The folder of an agent's own copy of a plan's files, below its own.
const PLAN: &str = "plan";
/// The longest name, bytes.
const NAME_LIMIT: usize = 200;

/// What is put on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UploadKind {
    /// A build; its name is unlike that of any other.
    Build,
    /// The files beside a plan; their name is of their content.
    Plan,
}

impl UploadKind {
    /// What a name stands for, in the first piece or in a question.
    pub(crate) fn of_plan(is_plan: bool) -> Self {
        if is_plan { Self::Plan } else { Self::Build }
    }

    /// Where they are below the cache of this host.
    fn folder(self, cache: &Path) -> PathBuf {
        cache.join(match self {
            Self::Build => "builds",
            Self::Plan => "plans",
        })
    }

    fn forget_old(self, kept: &Path) {
        let mut all = entries(kept);
        all.retain(|(path, _)| !is_hidden(path));
        all.sort_by_key(|(_, used)| std::cmp::Reverse(*used));
        let is_old = |used: &SystemTime| used.elapsed().is_ok_and(|age| age > PLAN_KEPT);
        let old = all
            .into_iter()
            .enumerate()
            .filter(|(number, (_, used))| match self {
                Self::Build => *number >= KEPT,
                Self::Plan => is_old(used),
            });
        for (_, (old, _)) in old {
            let _tried_again_with_the_next =
                fs::remove_dir_all(&old).and_then(|()| fs::remove_file(list_beside(&old)));
        }
    }
}

/// Where what has this name is, or would be.
///
/// # Errors
///
/// It is no name.
fn place(folder: &Path, name: &str) -> Result<PathBuf, Status> {
    let good = !name.is_empty()
        && name.len() <= NAME_LIMIT
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !good {
        return Err(Status::invalid_argument(format!(
            "`{}` is no name of files",
            name.escape_default()
        )));
    }
    Ok(folder.join(name))
}

/// The folder of what is here already, which counts as used now.
///
/// # Errors
///
/// It is no name.
pub(crate) fn find(kind: UploadKind, name: &str) -> Result<Option<PathBuf>, Status> {
    let place = place(&kind.folder(&cache_folder()), name)?;
    let there = File::open(&place).and_then(|folder| {
        folder.set_modified(SystemTime::now())?;
        folder.metadata()
    });
    Ok(there.is_ok_and(|meta| meta.is_dir()).then_some(place))
}

/// An agent's own copy of the files beside a plan, made of what is kept: commands may change it, and nobody else sees that. None if
/// what is kept isn't what its name says. Blocking.
///
/// # Errors
///
/// It can't be written.
pub(crate) fn copy_plan(kept: &Path, own: &Path) -> io::Result<Option<PathBuf>> {
    let copy = own.join(PLAN);
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    FileTree::whole(kept)?.copy_to(&copy)?;
    let is_whole = kept.file_name() == Some(OsStr::new(&FileTree::whole(&copy)?.name()?));
    if !is_whole {
        let _another_agent_was_first = fs::remove_dir_all(kept);
    }
    Ok(is_whole.then_some(copy))
}

/// Takes files in: the pieces as they come, until an error ends them. `ask` hears once which chunks are missing, a bit for each, the
/// lowest of a byte first. Blocking.
///
/// # Errors
///
/// What can't be written and why, or what is wrong with the pieces.
pub(crate) fn receive(
    cache: &Path,
    mut next: impl FnMut() -> Result<Piece, Status>,
    ask: impl FnOnce(Vec<u8>),
) -> Result<(UploadKind, PathBuf), Status> {
    let Piece::Begin(begin) = next()? else {
        return Err(Status::invalid_argument("files begin with their name"));
    };
    let kind = UploadKind::of_plan(begin.plan);
    let kept = kind.folder(cache);
    let place = place(&kept, &begin.name)?;
    let encoded = receive_list(begin.list_bytes, &mut next)?;
    let list = ChunkList::decode(&encoded).map_err(Status::invalid_argument)?;
    if place.is_dir() {
        ask(Vec::new());
        return Ok((kind, place));
    }
    let mut part = Part::open(&kept, list, &encoded).map_err(refused)?;
    let made = part.make_files();
    made.map_err(|error| part.refuse(error))?;
    part.check_room()?;
    let taken = part.take_from_others(cache);
    taken.map_err(|error| part.refuse(error))?;
    let mut missing = part.missing();
    ask(bits(&missing, part.has.len()));
    while !missing.is_empty() {
        let Piece::Chunk(chunk) = next()? else {
            return Err(Status::invalid_argument("a chunk was expected"));
        };
        let (number, content) = part.content(chunk)?;
        if !missing.remove(&number) {
            return Err(Status::invalid_argument("a chunk that isn't missing"));
        }
        let stored = part.store(number, &content);
        stored.map_err(|error| part.refuse(error))?;
    }
    let completed = part.complete();
    completed.map_err(|error| part.refuse(error))?;
    if kind == UploadKind::Plan {
        let tree = FileTree::whole(&part.folder.join(TREE));
        let name = tree.and_then(|tree| tree.name()).map_err(refused)?;
        if name != begin.name {
            part.remove();
            return Err(Status::aborted(
                "the plan's files were changed while they were sent: try again",
            ));
        }
    }
    part.give_name(&place).map_err(refused)?;
    kind.forget_old(&kept);
    Ok((kind, place))
}

fn receive_list(
    length: u64,
    next: &mut impl FnMut() -> Result<Piece, Status>,
) -> Result<Vec<u8>, Status> {
    if length > LIST_LIMIT {
        return Err(Status::invalid_argument("a list that is too long"));
    }
    let mut list = Vec::new();
    while (list.len() as u64) < length {
        match next()? {
            Piece::List(piece) => list.extend_from_slice(&piece),
            _ => return Err(Status::invalid_argument("a list was expected")),
        }
    }
    Ok(list)
}

/// A bit for each of so many chunks.
fn bits(missing: &HashSet<usize>, of: usize) -> Vec<u8> {
    let mut bits = vec![0; of.div_ceil(8)];
    for number in missing {
        bits[number / 8] |= 1 << (number % 8);
    }
    bits
}

fn refused(error: io::Error) -> Status {
    Status::resource_exhausted(error.to_string())
}

/// Files of which chunks are still to come.
struct Part {
    folder: PathBuf,
    list: ChunkList,
    /// Whether a chunk is in its place.
    has: Vec<bool>,
    /// The chunks with a hash.
    with_hash: HashMap<ChunkHash, Vec<usize>>,
    /// The file that was written last, and its entry's number.
    file: Option<(usize, File)>,
    /// Says to other agents that this one fills the folder.
    _lock: File,
}

impl Part {
    /// What an earlier upload of the same files has left and nobody fills, or a new folder.
    fn open(kept: &Path, list: ChunkList, encoded: &[u8]) -> io::Result<Self> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(kept);
        made.map_err(|error| with_path(kept, &error))?;
        remove_old_parts(kept);
        let name = blake3::hash(encoded).to_hex();
        let prefix = format!("{PART}{}.", &name[..32]);
        let found = entries(kept).into_iter().find_map(|(folder, _)| {
            let name = folder.file_name()?.as_bytes();
            // Looked at before it is locked: whoever makes it now needs the lock.
            let is_it = name.starts_with(prefix.as_bytes())
                && fs::read(folder.join(LIST)).is_ok_and(|list| list == encoded);
            let lock = is_it.then(|| lock(&folder).ok()).flatten()?;
            Some((folder, lock))
        });
        let (folder, lock) = match found {
            Some(found) => found,
            None => new_folder(kept, &prefix, encoded)?,
        };
        // Not old from now on.
        lock.set_modified(SystemTime::now())?;
        let mut with_hash: HashMap<_, Vec<_>> = HashMap::new();
        for (number, chunk) in list.chunks().iter().enumerate() {
            with_hash.entry(chunk.hash).or_default().push(number);
        }
        Ok(Self {
            folder,
            has: vec![false; list.chunks().len()],
            list,
            with_hash,
            file: None,
            _lock: lock,
        })
    }

    /// Makes the folders and files, and looks which chunks are in these.
    fn make_files(&mut self) -> io::Result<()> {
        for (path, kind, chunks) in self.list.entries() {
            let path = self.folder.join(TREE).join(path);
            let made = match kind {
                Kind::Folder(_) => match fs::create_dir(&path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    made => made,
                },
                // Last of all: no path leads through one.
                Kind::Link(_) => Ok(()),
                Kind::File(file) => writable(&path, file.size).map(|(file, is_new)| {
                    for number in chunks {
                        let chunk = &self.list.chunks()[number];
                        self.has[number] = match is_new {
                            // A hole has it.
                            true => chunk.hash == *ZEROS,
                            false => chunk_in(&file, chunk).is_some(),
                        };
                    }
                }),
            };
            made.map_err(|error| with_path(&path, &error))?;
        }
        Ok(())
    }

    /// Takes chunks that files of this host have.
    fn take_from_others(&mut self, cache: &Path) -> io::Result<()> {
        for (list, tree) in lists(cache) {
            let list = fs::read(list).ok();
            let Some(list) = list.and_then(|list| ChunkList::decode(&list).ok()) else {
                continue;
            };
            let mut open: Option<(usize, File)> = None;
            for chunk in list.chunks() {
                let Some(number) = self.lacking(&chunk.hash) else {
                    continue;
                };
                if open.as_ref().is_none_or(|(entry, _)| *entry != chunk.entry) {
                    let file = File::open(tree.join(list.path(chunk)));
                    open = file.ok().map(|file| (chunk.entry, file));
                }
                let content = open.as_ref().and_then(|(_, file)| chunk_in(file, chunk));
                if let Some(content) = content {
                    self.store(number, &content)?;
                }
            }
        }
        Ok(())
    }

    /// The first of the chunks with this hash, if one of them isn't in its place.
    fn lacking(&self, hash: &ChunkHash) -> Option<usize> {
        let numbers = self.with_hash.get(hash)?;
        let lacks = numbers.iter().any(|number| !self.has[*number]);
        lacks.then_some(numbers[0])
    }

    /// The chunks that have to come.
    fn missing(&self) -> HashSet<usize> {
        let hashes = self.with_hash.keys();
        hashes.filter_map(|hash| self.lacking(hash)).collect()
    }

    /// What came as a chunk, if it is that.
    fn content(&self, chunk: Chunk) -> Result<(usize, Bytes), Status> {
        let number = usize::try_from(chunk.number).unwrap_or(usize::MAX);
        let Some(listed) = self.list.chunks().get(number) else {
            return Err(Status::invalid_argument("a chunk that isn't listed"));
        };
        let content = match chunk.packed {
            true => chunks::unpack(&chunk.content, listed.length).map(Bytes::from),
            false => Some(chunk.content),
        };
        let content = content.filter(|content| chunks::hash(content) == listed.hash);
        content.map(|content| (number, content)).ok_or_else(|| {
            Status::aborted(format!(
                "{} was changed while it was sent, or damaged on the way: try again",
                self.list.path(listed).display()
            ))
        })
    }

    /// Writes the content of a chunk to all places that lack it.
    fn store(&mut self, number: usize, content: &[u8]) -> io::Result<()> {
        let hash = self.list.chunks()[number].hash;
        for number in self.with_hash.get(&hash).into_iter().flatten() {
            if self.has[*number] {
                continue;
            }
            let chunk = &self.list.chunks()[*number];
            let path = self.folder.join(TREE).join(self.list.path(chunk));
            let file = match self.file.take() {
                Some((entry, file)) if entry == chunk.entry => Ok(file),
                _ => OpenOptions::new().write(true).open(&path),
            };
            let written = file.and_then(|file| {
                file.write_all_at(content, chunk.offset)?;
                Ok(file)
            });
            let file = written.map_err(|error| with_path(&path, &error))?;
            self.file = Some((chunk.entry, file));
            self.has[*number] = true;
        }
        Ok(())
    }

    fn check_room(&self) -> Result<(), Status> {
        let (wanted, free) = self.room();
        match free {
            Some(free) if free < wanted => Err(self.no_room()),
            _ => Ok(()),
        }
    }

    /// Bytes that are still to be written, and those that are free; none if the file system doesn't say.
    fn room(&self) -> (u64, Option<u64>) {
        let chunks = self.list.chunks().iter().zip(&self.has);
        let wanted = chunks.filter(|(_, has)| !**has);
        let wanted = wanted.map(|(chunk, _)| chunk.length as u64).sum();
        let file_system = statvfs(&self.folder).ok().filter(|it| it.f_blocks > 0);
        (wanted, file_system.map(|it| it.f_bavail * it.f_frsize))
    }

    fn no_room(&self) -> Status {
        let (wanted, free) = self.room();
        let mebibytes = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        refused(io::Error::other(format!(
            "{} has no room for these files: {} are still to be written, and {} are free",
            self.folder.parent().unwrap_or(&self.folder).display(),
            mebibytes(wanted),
            free.map_or_else(|| "fewer".to_owned(), mebibytes),
        )))
    }

    /// An error as the controller hears it. A disk that is full gets its room back.
    fn refuse(&self, error: io::Error) -> Status {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                let status = self.no_room();
                self.remove();
                status
            }
            _ => refused(error),
        }
    }

    fn remove(&self) {
        let _tried_again_when_it_is_old = fs::remove_dir_all(&self.folder);
    }

    /// All chunks are there: the rest, and all of it on the disk.
    fn complete(&mut self) -> io::Result<()> {
        self.file = None;
        let tree = self.folder.join(TREE);
        for (path, kind, _) in self.list.entries() {
            let path = tree.join(path);
            let done = match kind {
                Kind::Folder(_) => Ok(()),
                Kind::Link(to) => {
                    let _of_an_upload_that_was_cut_here = fs::remove_file(&path);
                    symlink(OsStr::from_bytes(to), &path)
                }
                Kind::File(file) => {
                    let mode = fs::Permissions::from_mode(file.mode & 0o777);
                    let file = OpenOptions::new().write(true).open(&path);
                    file.and_then(|file| {
                        file.set_permissions(mode)?;
                        file.sync_all()
                    })
                }
            };
            done.map_err(|error| with_path(&path, &error))?;
        }
        Ok(())
    }

    fn give_name(&self, place: &Path) -> io::Result<()> {
        match fs::rename(self.folder.join(TREE), place) {
            // Another agent was first, and somebody may use it: what has the name is the same.
            Err(_) if place.is_dir() => {}
            named => {
                named.map_err(|error| with_path(place, &error))?;
                let _only_to_find_chunks = fs::rename(self.folder.join(LIST), list_beside(place));
            }
        }
        self.remove();
        let parent = place.parent().unwrap_or(Path::new("/"));
        File::open(parent)?.sync_all()
    }
}

/// The hash of a whole chunk of zeros.
static ZEROS: LazyLock<ChunkHash> = LazyLock::new(|| chunks::hash(&vec![0; CHUNK]));

/// What a file has where a chunk of it should be, if it is that.
fn chunk_in(file: &File, chunk: &ListedChunk) -> Option<Vec<u8>> {
    let content = chunk.read(file).ok()?;
    (chunks::hash(&content) == chunk.hash).then_some(content)
}

/// A file of this size that chunks can be written to, and whether it is new. Its permissions come last.
fn writable(path: &Path, size: u64) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
            options.open(path)?
        }
        opened => opened?,
    };
    let is_new = file.metadata()?.len() != size;
    if is_new {
        file.set_len(size)?;
    }
    Ok((file, is_new))
}

/// A new folder for files to come, and the lock on it.
fn new_folder(kept: &Path, prefix: &str, encoded: &[u8]) -> io::Result<(PathBuf, File)> {
    loop {
        // Each state has keys of its own, out of the system's random numbers.
        let token = RandomState::new().build_hasher().finish();
        let folder = kept.join(format!("{prefix}{token:016x}"));
        let made = fs::create_dir(&folder).and_then(|()| {
            fs::create_dir(folder.join(TREE))?;
            fs::write(folder.join(LIST), encoded)
        });
        made.map_err(|error| with_path(&folder, &error))?;
        match lock(&folder) {
            Ok(lock) => return Ok((folder, lock)),
            // Another agent has found it.
            Err(TryLockError::WouldBlock) => {}
            // A file system without locks: nobody takes over what can't be locked.
            Err(TryLockError::Error(_)) => {
                let list = File::options().write(true).open(folder.join(LIST))?;
                return Ok((folder, list));
            }
        }
    }
}

/// Locks a folder with files to come, unless another agent fills it.
fn lock(folder: &Path) -> Result<File, TryLockError> {
    let list = folder.join(LIST);
    let file = File::options().read(true).write(true).open(&list);
    let file = file.map_err(TryLockError::Error)?;
    file.try_lock()?;
    // Who had it before has perhaps just finished.
    match list.exists() && folder.join(TREE).exists() {
        true => Ok(file),
        false => Err(TryLockError::WouldBlock),
    }
}

/// Removes what uploads that were cut off have left and nobody came back for.
fn remove_old_parts(kept: &Path) {
    let folders = entries(kept).into_iter();
    for (folder, changed) in folders.filter(|(path, _)| is_hidden(path) && path.is_dir()) {
        let list = fs::metadata(folder.join(LIST)).and_then(|list| list.modified());
        let is_old = |time: SystemTime| time.elapsed().is_ok_and(|age| age > PART_KEPT);
        let is_filled =
            || matches!(lock(&folder), Err(TryLockError::WouldBlock)) && folder.join(TREE).exists();
        if is_old(list.unwrap_or(changed)) && !is_filled() {
            let _in_nobodys_way = fs::remove_dir_all(folder);
        }
    }
}

/// Lists of chunks of files that this host has, whole or not, and the folders of these.
fn lists(cache: &Path) -> Vec<(PathBuf, PathBuf)> {
    let kept = [UploadKind::Build, UploadKind::Plan].map(|kind| kind.folder(cache));
    let lists = kept.iter().flat_map(|kept| entries(kept));
    let lists = lists.filter_map(|(path, _)| {
        let name = path.file_name()?.to_str()?;
        match name.strip_prefix('.')?.strip_suffix(&format!(".{LIST}")) {
            Some(kept) => Some((path.clone(), path.with_file_name(kept))),
            None => (name.starts_with(PART)).then(|| (path.join(LIST), path.join(TREE))),
        }
    });
    lists.collect()
}

/// Where the list of a kept folder's chunks is.
fn list_beside(kept: &Path) -> PathBuf {
    let name = kept.file_name().unwrap_or_default().to_string_lossy();
    kept.with_file_name(format!(".{name}.{LIST}"))
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_bytes().starts_with(b".")
}

/// What is in a folder, and when each was changed last.
fn entries(folder: &Path) -> Vec<(PathBuf, SystemTime)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::file_tree::EntryKind;
    use crate::proto::PutBegin;

    type Received = Result<(UploadKind, PathBuf), Status>;

    /// Sends all of a folder, and breaks off after so many chunks. Returns how many were sent, too.
    fn send(
        cache: &Path,
        begin: (UploadKind, &str),
        from: &Path,
        most: usize,
    ) -> (Received, usize) {
        let tree = FileTree::whole(from).unwrap();
        let list = ChunkList::from_tree(&tree).unwrap();
        let encoded = list.encode();
        let first = [
            Piece::Begin(PutBegin {
                name: begin.1.into(),
                plan: begin.0 == UploadKind::Plan,
                list_bytes: encoded.len() as u64,
            }),
            Piece::List(encoded.into()),
        ];
        let (mut first, asked) = (first.into_iter(), RefCell::new(Vec::new()));
        let (mut number, mut sent) = (0, 0);
        let next = || {
            if let Some(piece) = first.next() {
                return Ok(piece);
            }
            let asked: std::cell::Ref<'_, Vec<u8>> = asked.borrow();
            while asked[number / 8] >> (number % 8) & 1 == 0 {
                number += 1;
            }
            if sent == most {
                return Err(Status::aborted("they end before they are whole"));
            }
            let chunk = &list.chunks()[number];
            let EntryKind::File { source, .. } = &tree.entries[chunk.entry].kind else {
                panic!("a chunk of no file");
            };
            let content = chunk.read(&File::open(source).unwrap()).unwrap();
            let packed = chunks::pack(&content);
            (number, sent) = (number + 1, sent + 1);
            Ok(Piece::Chunk(Chunk {
                number: number as u64 - 1,
                packed: packed.is_some(),
                content: packed.unwrap_or(content).into(),
            }))
        };
        let received = receive(cache, next, |bits| *asked.borrow_mut() = bits);
        (received, sent)
    }

    fn send_build(cache: &Path, name: &str, from: &Path) -> (PathBuf, usize) {
        let (received, sent) = send(cache, (UploadKind::Build, name), from, usize::MAX);
        (received.unwrap().1, sent)
    }

    /// Content of so many chunks that are all different, and differ with `seed`.
    fn noise(seed: u8, chunks: usize) -> Vec<u8> {
        let mut bytes = vec![0; chunks * CHUNK];
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[seed]);
        hasher.finalize_xof().fill(&mut bytes);
        bytes
    }

    /// What is in the folder of builds that isn't hidden, and the folders of cut uploads.
    fn kept_and_parts(cache: &Path) -> (usize, usize) {
        let all = entries(&cache.join("builds"));
        let (hidden, kept): (Vec<_>, Vec<_>) = all.iter().partition(|(it, _)| is_hidden(it));
        let parts = hidden.iter().filter(|(path, _)| path.is_dir());
        (kept.len(), parts.count())
    }

    #[test]
    fn a_folder_arrives_as_it_was() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |path: &str| here.path().join(path);
        let long = [noise(1, 1), vec![7]].concat();
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/long"), &long).unwrap();
        for (file, mode) in [("tool", 0o755), ("fixed", 0o444)] {
            fs::write(at(file), "").unwrap();
            fs::set_permissions(at(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink("../tool", at("a/link")).unwrap();
        let (place, sent) = send_build(there.path(), "one", here.path());
        assert_eq!((place.clone(), sent), (there.path().join("builds/one"), 2));
        assert_eq!(fs::read(place.join("a/long")).unwrap(), long);
        assert!(place.join("a/b").is_dir());
        let link = fs::read_link(place.join("a/link")).unwrap();
        assert_eq!(link, Path::new("../tool"));
        for (file, mode) in [("tool", 0o755), ("fixed", 0o444)] {
            let kept = place.join(file).metadata().unwrap().permissions().mode();
            assert_eq!(kept & 0o777, mode);
        }
        fs::write(place.join("a/used"), "by somebody").unwrap();
        let (again, sent) = send_build(there.path(), "one", here.path());
        assert_eq!((&again, sent), (&place, 0));
        assert!(place.join("a/used").exists(), "what is there stays there");
    }

    #[test]
    fn what_is_cut_off_goes_on_where_it_was_and_is_used_by_nobody_before() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(here.path().join("disk"), noise(1, 8)).unwrap();
        let (cut, sent) = send(there.path(), (UploadKind::Build, "one"), here.path(), 6);
        assert!(cut.unwrap_err().message().contains("before they are whole"));
        assert_eq!((sent, kept_and_parts(there.path())), (6, (0, 1)));
        let part = entries(&there.path().join("builds")).remove(0).0;
        // As after a power failure.
        let disk = OpenOptions::new().write(true).open(part.join("tree/disk"));
        disk.unwrap().write_all_at(b"torn", 5).unwrap();
        let (place, sent) = send_build(there.path(), "one", here.path());
        assert_eq!(
            sent, 3,
            "the two that were to come, and the one that is torn"
        );
        assert_eq!(fs::read(place.join("disk")).unwrap(), noise(1, 8));
        assert_eq!(kept_and_parts(there.path()), (1, 0));
    }

    #[test]
    fn an_upload_that_another_agent_is_at_is_left_to_it_and_its_chunks_are_taken() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(here.path().join("disk"), noise(1, 4)).unwrap();
        let (cut, _) = send(there.path(), (UploadKind::Build, "one"), here.path(), 3);
        assert!(cut.is_err());
        let part = entries(&there.path().join("builds")).remove(0).0;
        let other = lock(&part).unwrap();
        let (place, sent) = send_build(there.path(), "one", here.path());
        assert_eq!(sent, 1);
        assert_eq!(fs::read(place.join("disk")).unwrap(), noise(1, 4));
        assert_eq!(kept_and_parts(there.path()), (1, 1));
        let filled = fs::read(part.join("tree/disk")).unwrap();
        assert_eq!(filled[..3 * CHUNK], noise(1, 4)[..3 * CHUNK]);
        drop(other);
    }

    #[test]
    fn several_agents_that_get_the_same_at_once_do_no_harm() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(here.path().join("disk"), noise(1, 4)).unwrap();
        let places = std::thread::scope(|scope| {
            let agent = || send_build(there.path(), "one", here.path()).0;
            let agents = [(); 6].map(|()| scope.spawn(agent));
            agents.map(|agent| agent.join().unwrap())
        });
        for place in &places {
            assert_eq!(fs::read(place.join("disk")).unwrap(), noise(1, 4));
        }
        assert_eq!(kept_and_parts(there.path()), (1, 0));
    }

    #[test]
    fn a_chunk_that_is_there_under_whatever_name_isnt_sent_again() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |path: &str| here.path().join(path);
        fs::write(at("vmlinux"), noise(1, 4)).unwrap();
        fs::write(at("module"), noise(2, 2)).unwrap();
        let (first, sent) = send_build(there.path(), "one", here.path());
        assert_eq!(sent, 6);
        // One chunk of a file changed, another file moved, twice the same, and a hole.
        let mut changed = noise(1, 4);
        changed[CHUNK + 1] ^= 1;
        fs::write(at("vmlinux"), &changed).unwrap();
        fs::rename(at("module"), at("moved")).unwrap();
        for copy in ["new", "copy"] {
            fs::write(at(copy), noise(3, 1)).unwrap();
        }
        File::create(at("hole"))
            .unwrap()
            .set_len(3 * CHUNK as u64)
            .unwrap();
        // A command that a build brought has changed it since.
        fs::write(first.join("module"), noise(4, 2)).unwrap();
        let (second, sent) = send_build(there.path(), "two", here.path());
        assert_eq!(sent, 1 + 1 + 2);
        assert_eq!(fs::read(second.join("vmlinux")).unwrap(), changed);
        assert_eq!(fs::read(second.join("moved")).unwrap(), noise(2, 2));
        assert_eq!(fs::read(second.join("copy")).unwrap(), noise(3, 1));
        let hole = second.join("hole").metadata().unwrap();
        assert_eq!(
            (hole.len(), std::os::unix::fs::MetadataExt::blocks(&hole)),
            (3 << 20, 0)
        );
    }

    #[test]
    fn what_is_no_upload_is_refused_and_leads_nowhere() {
        let there = tempfile::tempdir().unwrap();
        let begin = |name: &str, list_bytes| {
            Piece::Begin(PutBegin {
                name: name.into(),
                plan: false,
                list_bytes,
            })
        };
        let chunk = || {
            Piece::Chunk(Chunk {
                number: 7,
                content: vec![1].into(),
                packed: false,
            })
        };
        let here = tempfile::tempdir().unwrap();
        fs::write(here.path().join("a"), "content").unwrap();
        let tree = FileTree::whole(here.path()).unwrap();
        let list = ChunkList::from_tree(&tree).unwrap().encode();
        let length = list.len() as u64;
        let list = || Piece::List(list.clone().into());
        let other = |number| {
            Piece::Chunk(Chunk {
                number,
                content: b"CONTENT".to_vec().into(),
                packed: false,
            })
        };
        for (wrong, why) in [
            (vec![begin("../x", 0)], "is no name"),
            (vec![list()], "begin with their name"),
            (vec![begin("x", LIST_LIMIT + 1)], "too long"),
            (vec![begin("x", length), chunk()], "a list was expected"),
            (vec![begin("x", length), list(), chunk()], "isn't listed"),
            (
                vec![begin("x", length), list(), other(0)],
                "was changed while",
            ),
            (
                vec![begin("x", length), list(), list()],
                "a chunk was expected",
            ),
        ] {
            let mut pieces = wrong.into_iter();
            let next = || pieces.next().ok_or_else(|| Status::aborted("the end"));
            let error = receive(there.path(), next, |_| ()).unwrap_err();
            assert!(error.message().contains(why), "{error}");
            assert_eq!(kept_and_parts(there.path()).0, 0);
        }
    }

    #[test]
    fn only_the_last_builds_are_kept_and_what_nobody_came_back_for_goes() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(here.path().join("a"), "content").unwrap();
        let builds = there.path().join("builds");
        let long_ago = SystemTime::now() - PART_KEPT - Duration::from_secs(60);
        for part in [".part-old.1", ".part-new.2", ".part-locked.3"] {
            fs::create_dir_all(builds.join(part).join(TREE)).unwrap();
            let list = File::create(builds.join(part).join(LIST)).unwrap();
            if !part.contains("new") {
                list.set_modified(long_ago).unwrap();
            }
        }
        let _other = lock(&builds.join(".part-locked.3")).unwrap();
        for number in 0..KEPT + 2 {
            let (place, _) = send_build(there.path(), &format!("b{number}"), here.path());
            // As if it had been a while ago.
            let when = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64);
            File::open(place).unwrap().set_modified(when).unwrap();
        }
        assert_eq!(kept_and_parts(there.path()), (KEPT, 2));
        assert!(!builds.join("b1").exists() && !builds.join(".b1.list").exists());
        assert!(builds.join("b2").exists() && builds.join(".b2.list").exists());
        assert!(!builds.join(".part-old.1").exists());
    }

    #[test]
    fn the_files_of_a_plan_are_what_their_name_says_and_each_agent_has_a_copy() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(here.path().join("on"), "#!/bin/sh").unwrap();
        let name = FileTree::whole(here.path()).unwrap().name().unwrap();
        let sent = |name: &str| send(there.path(), (UploadKind::Plan, name), here.path(), 9).0;
        let wrong = sent("plan-0").unwrap_err();
        assert!(wrong.message().contains("changed while"), "{wrong}");
        let plans = there.path().join("plans");
        fs::create_dir_all(plans.join("old")).unwrap();
        let long_ago = SystemTime::now() - PLAN_KEPT - Duration::from_secs(60);
        File::open(plans.join("old"))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        let (kind, kept) = sent(&name).unwrap();
        let all = entries(&plans);
        let all: Vec<_> = all.iter().filter(|(path, _)| !is_hidden(path)).collect();
        assert_eq!((kind, all.len()), (UploadKind::Plan, 1));
        let agents = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, other] = agents
            .each_ref()
            .map(|own| copy_plan(&kept, own.path()).unwrap().unwrap());
        fs::write(one.join("on"), "changed").unwrap();
        assert_eq!(fs::read(other.join("on")).unwrap(), b"#!/bin/sh");
        fs::write(kept.join("on"), "damaged").unwrap();
        assert_eq!(copy_plan(&kept, agents[0].path()).unwrap(), None);
        assert!(!kept.exists(), "sent again");
        sent(&name).unwrap();
        assert_eq!(fs::read(kept.join("on")).unwrap(), b"#!/bin/sh");
    }
}
