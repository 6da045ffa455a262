//! What was printed, as it was printed: zstd files named by the BLAKE3 hash of their content. The same content is
//! kept once.
//!
//! Files are written with `std::fs` and not through the library for buckets, because that doesn't wait until a file is
//! on the disk, and a trial whose raw output may vanish isn't durable.
//!
//! An object is given out only if its content is what its name says.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs::{self, File, TryLockError},
    io::{self, Read as _, Write},
    os::unix::fs::{FileExt as _, PermissionsExt},
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tempfile::NamedTempFile;
use zstd::bulk::Compressor;

use crate::{RawRef, StoreError, holder};

/// zstd's fastest ordinary level: the next trial waits for this.
pub(crate) const LEVEL: i32 = 1;
/// Beginning of the names of files that aren't objects yet.
const UNFINISHED: &str = ".new-";
/// Files that are waited for at once; more gain nothing.
const WAITING_AT_ONCE: usize = 16;
/// Bytes that are compared with an object's content at a time.
const PART: usize = 128 * 1024;
/// How often a lock that is held is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(5);

/// A part of a file that nobody writes any more.
#[derive(Debug, Clone)]
pub struct FilePart {
    /// The file.
    pub file: Arc<File>,
    /// Where the part begins, in bytes.
    pub from: u64,
    /// How many bytes it has.
    pub length: u64,
}

impl FilePart {
    pub(crate) fn reader(&self) -> impl io::Read {
        PartReader {
            file: &self.file,
            at: self.from,
            left: self.length,
        }
    }
}

/// Reads a part of a file, whatever its position.
struct PartReader<'a> {
    file: &'a File,
    at: u64,
    left: u64,
}

impl io::Read for PartReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let length = most.min(buffer.len());
        let read = self.file.read_at(&mut buffer[..length], self.at)?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// What a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweptObjects {
    /// Raw objects that nothing referred to any more.
    pub objects: u64,
    /// Their size on disk, in bytes.
    pub bytes: u64,
}

/// The folder of raw objects, and the store's lock.
#[derive(Debug, Clone)]
pub(crate) struct RawFolder {
    dir: PathBuf,
    lock: PathBuf,
    /// Held by whoever prunes.
    prune_lock: PathBuf,
    patience: Duration,
}

impl RawFolder {
    pub(crate) fn open(store: &Path, patience: Duration) -> Result<Self, StoreError> {
        let folder = Self::open_to_read(store, patience);
        fs::create_dir_all(&folder.dir).map_err(|e| StoreError::file("make", &folder.dir, e))?;
        // Whether the store can be written is found out here, not after the first trial.
        folder.lock_file(&folder.lock)?;
        Ok(folder)
    }

    /// The folder of a store that nothing is written into.
    pub(crate) fn open_to_read(store: &Path, patience: Duration) -> Self {
        Self {
            dir: store.join("raw"),
            lock: store.join("lock"),
            prune_lock: store.join("prune.lock"),
            patience,
        }
    }

    /// Whether there is any object. Blocks.
    pub(crate) fn has_objects(&self) -> Result<bool, StoreError> {
        match self.objects() {
            Ok(objects) => Ok(!objects.is_empty()),
            Err(_) if !self.dir.exists() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// That the database at this path, which refers to the objects here, is gone.
    pub(crate) fn database_lost(&self, path: PathBuf) -> StoreError {
        StoreError::DatabaseLost {
            path,
            raw: self.dir.clone(),
        }
    }

    /// Holds off sweeps until it is dropped. Taken before objects are written, kept until they are referred to.
    pub(crate) async fn unswept(&self) -> Result<File, StoreError> {
        self.lock_within(&self.lock, self.patience, File::try_lock_shared)
            .await
    }

    /// Waits until nobody holds off sweeps, and lets nobody do it until it is dropped.
    pub(crate) async fn alone(&self) -> Result<File, StoreError> {
        self.lock_within(&self.lock, self.patience, File::try_lock)
            .await
    }

    /// Waits until nobody else prunes, and lets nobody do it until it is dropped.
    pub(crate) async fn only_pruner(&self) -> Result<File, StoreError> {
        self.lock_within(&self.prune_lock, self.patience, File::try_lock)
            .await
    }

    /// As [`RawFolder::alone`], at once or not at all.
    pub(crate) async fn alone_at_once(&self) -> Result<File, StoreError> {
        self.lock_within(&self.lock, Duration::ZERO, File::try_lock)
            .await
    }

    async fn lock_within(
        &self,
        path: &Path,
        patience: Duration,
        lock: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<File, StoreError> {
        let file = self.lock_file(path)?;
        let until = Instant::now() + patience;
        loop {
            match lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    tokio::time::sleep(ASK_AGAIN).await;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Locked {
                        path: path.to_owned(),
                        by: holder::of_any(&[path]),
                    });
                }
                Err(TryLockError::Error(e)) => return Err(self.fault("lock", path, e)),
            }
        }
    }

    fn lock_file(&self, path: &Path) -> Result<File, StoreError> {
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(|e| self.fault("open", path, e))
    }

    /// Where an object is: `ab/cdef….zst`.
    pub(crate) fn path_of(&self, raw: &RawRef) -> PathBuf {
        let hex = raw.to_string();
        let (folder, name) = hex.split_at(2);
        self.dir.join(folder).join(format!("{name}.zst"))
    }

    /// Keeps these contents; they are on disk, and found there after a crash, when it returns. An object that is there
    /// already is shared only if it still has this content; a damaged one is written anew. Blocks.
    pub(crate) fn keep(&self, contents: &[Vec<u8>]) -> Result<Vec<RawRef>, StoreError> {
        let mut fresh: Vec<(NamedTempFile, PathBuf)> = Vec::new();
        let mut seen = HashSet::new();
        let mut folders = BTreeSet::new();
        let mut refs = Vec::with_capacity(contents.len());
        // One for all: setting one up takes longer than packing a short output.
        let packer = Compressor::new(LEVEL);
        let mut packer = packer.map_err(|e| self.fault("write", &self.dir, e))?;
        for content in contents {
            let raw = RawRef::from_content(content);
            let path = self.path_of(&raw);
            folders.extend(path.parent().map(Path::to_owned));
            if seen.insert(raw) && !holds(&path, content.as_slice()) {
                fresh.push((self.unfinished(content, &mut packer)?, path));
            }
            refs.push(raw);
        }
        self.persist(fresh, folders)?;
        Ok(refs)
    }

    /// As [`RawFolder::keep`], with contents on disk, of which little is in memory at a time. Blocks.
    pub(crate) fn keep_parts(&self, parts: &[FilePart]) -> Result<Vec<RawRef>, StoreError> {
        let fault = |e| self.fault("write", &self.dir, e);
        let mut fresh: Vec<(NamedTempFile, PathBuf)> = Vec::new();
        let mut seen = HashSet::new();
        let mut folders = BTreeSet::new();
        let mut refs = Vec::with_capacity(parts.len());
        for part in parts {
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(part.reader()).map_err(fault)?;
            let raw = RawRef::from(hasher.finalize());
            let path = self.path_of(&raw);
            folders.extend(path.parent().map(Path::to_owned));
            if seen.insert(raw) && !holds(&path, part.reader()) {
                let mut file = self.new_file()?;
                zstd::stream::copy_encode(part.reader(), &mut file, LEVEL).map_err(fault)?;
                fresh.push((file, path));
            }
            refs.push(raw);
        }
        self.persist(fresh, folders)?;
        Ok(refs)
    }

    /// Gives these files their names, when they are on disk.
    fn persist(
        &self,
        fresh: Vec<(NamedTempFile, PathBuf)>,
        folders: BTreeSet<PathBuf>,
    ) -> Result<(), StoreError> {
        together(&fresh, |(file, path)| {
            let synced = file.as_file().sync_data();
            synced.map_err(|e| self.fault("write", path, e))
        })?;
        let mut new_folder = false;
        for folder in &folders {
            match fs::create_dir(folder) {
                Ok(()) => new_folder = true,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(self.fault("make", folder, e)),
            }
        }
        for (file, path) in fresh {
            file.persist(&path)
                .map_err(|e| self.fault("write", &path, e.error))?;
        }
        // Folders of objects that were there already too: another process may have put them there just now.
        let folders: Vec<PathBuf> = folders.into_iter().collect();
        let above = if new_folder {
            std::slice::from_ref(&self.dir)
        } else {
            &[]
        };
        for folders in [&folders, above] {
            together(folders, |folder| {
                let synced = File::open(folder).and_then(|folder| folder.sync_all());
                synced.map_err(|e| self.fault("write", folder, e))
            })?;
        }
        Ok(())
    }

    fn unfinished(
        &self,
        content: &[u8],
        packer: &mut Compressor<'_>,
    ) -> Result<NamedTempFile, StoreError> {
        let fault = |e| self.fault("write", &self.dir, e);
        let packed = packer.compress(content).map_err(fault)?;
        let mut file = self.new_file()?;
        file.write_all(&packed).map_err(fault)?;
        Ok(file)
    }

    fn new_file(&self) -> Result<NamedTempFile, StoreError> {
        tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(fs::Permissions::from_mode(0o644))
            .tempfile_in(&self.dir)
            .map_err(|e| self.fault("write", &self.dir, e))
    }

    /// The content of an object. Blocks.
    pub(crate) fn read(&self, raw: &RawRef) -> Result<Vec<u8>, StoreError> {
        let path = self.path_of(raw);
        let damaged = |detail: String| StoreError::RawDamaged {
            raw: *raw,
            path: path.clone(),
            detail,
        };
        let packed = fs::read(&path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => damaged("its file is missing".into()),
            _ => self.fault("read", &path, e),
        })?;
        unpack(raw, &packed).map_err(damaged)
    }

    /// The addresses of all objects in the folder. Blocks.
    pub(crate) fn objects(&self) -> Result<Vec<RawRef>, StoreError> {
        let mut objects = Vec::new();
        for folder in self.entries(&self.dir)? {
            if folder.file_name().len() == 2 && folder.path().is_dir() {
                objects.extend(self.entries(&folder.path())?.iter().filter_map(address));
            }
        }
        Ok(objects)
    }

    /// The size on disk of every object, in bytes; none where there is no folder. Blocks.
    pub(crate) fn sizes(&self) -> Result<HashMap<RawRef, u64>, StoreError> {
        let mut sizes = HashMap::new();
        if !self.dir.exists() {
            return Ok(sizes);
        }
        for folder in self.entries(&self.dir)? {
            if folder.file_name().len() == 2 && folder.path().is_dir() {
                for object in self.entries(&folder.path())? {
                    let size = object.metadata().map_or(0, |meta| meta.len());
                    sizes.extend(address(&object).map(|raw| (raw, size)));
                }
            }
        }
        Ok(sizes)
    }

    /// Removes these objects. Blocks; call it [`alone`].
    ///
    /// [`alone`]: RawFolder::alone
    pub(crate) fn remove_objects(&self, objects: &[RawRef]) -> Result<(), StoreError> {
        let mut paths = objects.iter().map(|object| self.path_of(object));
        paths.try_for_each(|path| self.remove(&path))
    }

    /// Removes every object but these, and what a killed process left unfinished. Blocks; call it [`alone`].
    ///
    /// [`alone`]: RawFolder::alone
    pub(crate) fn sweep(&self, keep: &HashSet<RawRef>) -> Result<SweptObjects, StoreError> {
        let mut swept = SweptObjects::default();
        for entry in self.entries(&self.dir)? {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(UNFINISHED) {
                self.remove(&entry.path())?;
            } else if name.len() == 2 && entry.path().is_dir() {
                for object in self.entries(&entry.path())? {
                    // What isn't named like an object isn't ours to remove.
                    if address(&object).is_some_and(|raw| !keep.contains(&raw)) {
                        swept.bytes += object.metadata().map_or(0, |meta| meta.len());
                        swept.objects += 1;
                        self.remove(&object.path())?;
                    }
                }
            }
        }
        Ok(swept)
    }

    fn entries(&self, dir: &Path) -> Result<Vec<fs::DirEntry>, StoreError> {
        fs::read_dir(dir)
            .and_then(Iterator::collect)
            .map_err(|e| self.fault("read", dir, e))
    }

    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        match fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(self.fault("remove", path, e)),
            _ => Ok(()),
        }
    }

    fn fault(&self, doing: &'static str, path: &Path, error: io::Error) -> StoreError {
        StoreError::file(doing, path, error)
    }
}

/// The content of a packed object, or what is wrong with it.
pub(crate) fn unpack(raw: &RawRef, packed: &[u8]) -> Result<Vec<u8>, String> {
    let content =
        zstd::stream::decode_all(packed).map_err(|e| format!("it can't be unpacked ({e})"))?;
    match RawRef::from_content(&content) == *raw {
        true => Ok(content),
        false => Err("its content is another one".into()),
    }
}

/// The address that a file's name and its folder's say; `None` where it isn't named like an object.
fn address(object: &fs::DirEntry) -> Option<RawRef> {
    let path = object.path();
    let name = path.file_name()?.to_str()?.strip_suffix(".zst")?;
    let folder = path.parent()?.file_name()?.to_str()?;
    format!("{folder}{name}").parse().ok()
}

/// Whether the object at this path unpacks to exactly this content. A damaged object may claim to be of any size, so no
/// more of it is unpacked than agrees.
fn holds(path: &Path, mut content: impl io::Read) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let Ok(mut unpacked) = zstd::stream::read::Decoder::new(file) else {
        return false;
    };
    let mut part = vec![0; PART];
    let mut expected = vec![0; PART];
    loop {
        match unpacked.read(&mut part) {
            Ok(0) => return matches!(content.read(&mut expected[..1]), Ok(0)),
            Ok(length) => {
                let expected = &mut expected[..length];
                if content.read_exact(expected).is_err() || *expected != part[..length] {
                    return false;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// Does something with all of these that waits for the disk, many at once: the file system then commits its journal
/// for all of them together.
fn together<T: Sync>(
    items: &[T],
    job: impl Fn(&T) -> Result<(), StoreError> + Sync,
) -> Result<(), StoreError> {
    if let [] | [_] = items {
        return items.iter().try_for_each(job);
    }
    let job = &job;
    let share = items.len().div_ceil(WAITING_AT_ONCE);
    thread::scope(|scope| {
        let waiting: Vec<_> = items
            .chunks(share)
            .map(|items| scope.spawn(move || items.iter().try_for_each(job)))
            .collect();
        waiting
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Runs a job that blocks where it doesn't hold up whoever waits for events.
pub(crate) async fn off_the_loop<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(job).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(_) => Err(StoreError::Stopping),
    }
}
