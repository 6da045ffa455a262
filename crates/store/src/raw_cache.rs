//! Objects of a bucket that are kept at hand on this machine, as packed files in a folder, up to a limit.
//!
//! Several processes share the folder: files appear whole under their names, and one process at a time removes what was used
//! longest ago. Each looks at the whole folder after it has put a sixteenth of the limit into it, so that the folder is larger than its
//! limit by no more than that for each process. A file that isn't what its name says is removed. Nothing here is ever needed: what
//! can't be read or written is as if it weren't there.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use crate::{RawRef, raw::unpack};

/// Beginning of the names of files that aren't whole yet.
const UNFINISHED: &str = ".new-";
/// An unfinished file that is older than this was left by a killed process.
const ABANDONED: Duration = Duration::from_secs(3600);
/// A file that was used this long ago is marked as used now.
const USED_AGAIN: Duration = Duration::from_secs(60);

/// The folder.
#[derive(Debug, Clone)]
pub(crate) struct RawCache {
    dir: PathBuf,
    limit: u64,
    /// Bytes that this process has put since it looked at the whole folder; none before its first look.
    put: Arc<Mutex<Option<u64>>>,
}

impl RawCache {
    /// A cache of so many bytes; none where that is 0.
    pub(crate) fn new(dir: PathBuf, limit: u64) -> Option<Self> {
        (limit > 0).then(|| Self {
            dir,
            limit,
            put: Arc::default(),
        })
    }

    fn path_of(&self, raw: &RawRef) -> PathBuf {
        let hex = raw.to_string();
        let (folder, name) = hex.split_at(2);
        self.dir.join(folder).join(format!("{name}.zst"))
    }

    /// The content of an object, if it is here and sound. Blocks.
    pub(crate) fn read(&self, raw: &RawRef) -> Option<Vec<u8>> {
        let path = self.path_of(raw);
        let packed = fs::read(&path).ok()?;
        match unpack(raw, &packed) {
            Ok(content) => {
                mark_used(&path);
                Some(content)
            }
            Err(_) => {
                let _ = fs::remove_file(&path);
                None
            }
        }
    }

    /// Puts a packed object here. Blocks.
    pub(crate) fn put(&self, raw: &RawRef, packed: &[u8]) {
        let length = packed.len() as u64;
        if length > self.limit / 2 || self.write(raw, packed).is_err() {
            return;
        }
        let mut put = self.put.lock().unwrap_or_else(PoisonError::into_inner);
        let since = put.map(|since| since + length);
        *put = match since {
            Some(since) if since <= self.limit / 16 => Some(since),
            _ => {
                self.remove_oldest();
                Some(0)
            }
        };
    }

    fn write(&self, raw: &RawRef, packed: &[u8]) -> std::io::Result<()> {
        let path = self.path_of(raw);
        let folder = path.parent().unwrap_or(&self.dir);
        fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.dir)?;
        file.write_all(packed)?;
        file.persist(&path)?;
        Ok(())
    }

    /// Removes these objects. Blocks.
    pub(crate) fn remove(&self, objects: &[RawRef]) {
        for raw in objects {
            let _ = fs::remove_file(self.path_of(raw));
        }
    }

    /// Removes what was used longest ago, until nine tenths of the limit are left. Another process that does that now is enough.
    fn remove_oldest(&self) {
        let Ok(lock) = File::create(self.dir.join("lock")) else {
            return;
        };
        if lock.try_lock().is_err() {
            return;
        }
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for path in entries(&self.dir) {
            if path.is_dir() {
                files.extend(entries(&path).filter_map(described));
            } else if is_abandoned(&path) {
                let _ = fs::remove_file(path);
            }
        }
        let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
        if total <= self.limit {
            return;
        }
        files.sort();
        for (_, length, path) in files {
            if total <= self.limit / 10 * 9 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= length;
            }
        }
    }
}

fn mark_used(path: &Path) {
    let now = SystemTime::now();
    let Ok(file) = File::open(path) else { return };
    let used = file.metadata().and_then(|meta| meta.modified());
    if used.is_ok_and(|used| now.duration_since(used).is_ok_and(|ago| ago > USED_AGAIN)) {
        let _ = file.set_modified(now);
    }
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn described(path: PathBuf) -> Option<(SystemTime, u64, PathBuf)> {
    let meta = fs::metadata(&path).ok()?;
    Some((meta.modified().ok()?, meta.len(), path))
}

fn is_abandoned(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let made = fs::metadata(path).and_then(|meta| meta.modified());
    let age = made.ok().and_then(|made| made.elapsed().ok());
    name.starts_with(UNFINISHED) && age.is_some_and(|age| age > ABANDONED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(content: &[u8]) -> (RawRef, Vec<u8>) {
        let raw = RawRef::from_content(content);
        (raw, zstd::bulk::compress(content, 1).unwrap())
    }

    /// Contents of 1,000 bytes that can't be packed, each unlike the others.
    fn content(number: u64) -> Vec<u8> {
        let mut bytes = vec![0; 1000];
        blake3::Hasher::new()
            .update(&number.to_le_bytes())
            .finalize_xof()
            .fill(&mut bytes);
        bytes
    }

    #[test]
    fn what_was_used_longest_ago_goes_when_the_limit_is_reached() {
        let folder = tempfile::tempdir().unwrap();
        let cache = RawCache::new(folder.path().join("cache"), 20_000).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(10_000);
        let mut objects = Vec::new();
        for number in 0..18 {
            let (raw, bytes) = packed(&content(number));
            cache.put(&raw, &bytes);
            let file = File::open(cache.path_of(&raw)).unwrap();
            let made = long_ago + Duration::from_secs(number);
            file.set_modified(made).unwrap();
            objects.push(raw);
        }
        // The first one is used again.
        assert_eq!(cache.read(&objects[0]), Some(content(0)));
        for number in 18..23 {
            let (raw, bytes) = packed(&content(number));
            cache.put(&raw, &bytes);
            objects.push(raw);
        }
        assert!(cache.read(&objects[0]).is_some(), "it was used lately");
        assert!(cache.read(&objects[1]).is_none(), "it was used longest ago");
        assert!(cache.read(&objects[22]).is_some());
        let there = objects.iter().filter(|raw| cache.read(raw).is_some());
        let count = there.count();
        assert!((16..=21).contains(&count), "{count}");
    }

    #[test]
    fn a_damaged_file_is_as_if_it_werent_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = RawCache::new(folder.path().join("cache"), 20_000).unwrap();
        let (raw, bytes) = packed(b"one");
        let (_, others) = packed(b"two");
        for damaged in [&bytes[..bytes.len() - 2], &others[..], b""] {
            cache.put(&raw, &bytes);
            assert_eq!(cache.read(&raw).unwrap(), b"one");
            fs::write(cache.path_of(&raw), damaged).unwrap();
            assert_eq!(cache.read(&raw), None);
            assert!(!cache.path_of(&raw).exists());
        }
    }

    #[test]
    fn several_share_a_folder_and_stay_near_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("cache");
        std::thread::scope(|scope| {
            for writer in 0..4_u64 {
                let cache = RawCache::new(dir.clone(), 40_000).unwrap();
                scope.spawn(move || {
                    for number in 0..100 {
                        let bytes = content(writer * 1000 + number);
                        let (raw, packed) = packed(&bytes);
                        cache.put(&raw, &packed);
                        if let Some(read) = cache.read(&raw) {
                            assert_eq!(read, bytes);
                        }
                    }
                });
            }
        });
        let folders = entries(&dir).filter(|path| path.is_dir());
        let files = folders.flat_map(|folder| entries(&folder).filter_map(described));
        let total: u64 = files.map(|(_, length, _)| length).sum();
        assert!(total <= 40_000 + 5 * 2_500 + 5_000, "{total}");
        assert!(RawCache::new(dir, 0).is_none());
    }
}
