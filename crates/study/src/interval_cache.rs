//! Cache of what lies between versions (commits, authors, files), beside the target's builds: reading a long history takes
//! long. An entry that can't be read is made anew.

use backsight_model::{Change, Version};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    fs,
    io::Write as _,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use crate::OpenTarget;

/// Goes up when histories say more, or otherwise, of what lies between versions: what was kept before isn't taken then.
const FORMAT: u32 = 1;

/// What lies between two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionInterval {
    /// The changes after the older version up to and including the newer one, oldest first.
    pub changes: Vec<Change>,
    /// The difference of the trees as a unified diff.
    pub diff: Option<String>,
}

/// The intervals of a target that are known.
pub struct Intervals {
    folder: PathBuf,
    /// What the history is, as its target says.
    source: String,
    /// Files that were asked for.
    used: Mutex<HashSet<String>>,
}

impl Intervals {
    /// Those of a target whose history is open.
    pub fn new(opened: &OpenTarget) -> Self {
        Self {
            folder: opened.place.join("between"),
            // Values of the model: their JSON can't fail.
            source: serde_json::to_string(&*opened.target.source).unwrap_or_default(),
            used: Mutex::default(),
        }
    }

    /// What tells it from other histories, and from what later programs read of it.
    pub fn identity(&self) -> String {
        format!("{FORMAT} {}", self.source)
    }

    /// What lies between two versions, with at most so much of the difference: from the cache, or as `fetch` gives it.
    ///
    /// # Errors
    /// What `fetch` gives; that isn't kept.
    pub fn get_or_fetch<E>(
        &self,
        from: &Version,
        to: &Version,
        most: usize,
        fetch: impl FnOnce() -> Result<VersionInterval, E>,
    ) -> Result<VersionInterval, E> {
        let name = self.name(from, to, most);
        let path = self.folder.join(&name);
        self.used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name);
        let known = fs::read(&path).ok();
        let known = known.and_then(|text| serde_json::from_slice(&text).ok());
        if let Some(interval) = known {
            return Ok(interval);
        }
        let interval = fetch()?;
        let _ = self.keep(&path, &interval);
        Ok(interval)
    }

    /// The file of an interval: named by all that says what is in it.
    fn name(&self, from: &Version, to: &Version, most: usize) -> String {
        let mut hasher = blake3::Hasher::new();
        let (format, most) = (FORMAT.to_string(), most.to_string());
        for part in [&format, &self.source, &from.id, &to.id, &most] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        format!("{}.json", &hasher.finalize().to_hex()[..32])
    }

    fn keep(&self, path: &std::path::Path, interval: &VersionInterval) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut part = tempfile::NamedTempFile::new_in(&self.folder)?;
        part.write_all(&serde_json::to_vec(interval)?)?;
        part.persist(path)?;
        Ok(())
    }

    /// Removes what wasn't asked for: other versions have been measured in between.
    pub fn remove_unused(&self) {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_str().is_none_or(|name| !used.contains(name)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(id: &str) -> Version {
        Version {
            id: id.into(),
            name: id.into(),
            at: None,
            title: String::new(),
            release: false,
            amendments: Vec::new(),
        }
    }

    fn interval(diff: &str) -> VersionInterval {
        VersionInterval {
            changes: Vec::new(),
            diff: Some(diff.into()),
        }
    }

    fn intervals(folder: &std::path::Path) -> Intervals {
        Intervals {
            folder: folder.join("between"),
            source: "a repository".into(),
            used: Mutex::default(),
        }
    }

    fn asked(intervals: &Intervals, to: &str, most: usize, says: &str) -> VersionInterval {
        let fetch = || Ok::<_, ()>(interval(says));
        let known = intervals.get_or_fetch(&version("a"), &version(to), most, fetch);
        known.unwrap()
    }

    #[test]
    fn an_interval_is_asked_for_once_and_forgotten_when_it_is_no_longer_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let first = intervals(dir.path());
        assert_eq!(asked(&first, "b", 10, "one"), interval("one"));
        assert_eq!(asked(&first, "b", 10, "two"), interval("one"));
        assert_eq!(asked(&first, "b", 20, "longer"), interval("longer"));
        assert_eq!(asked(&first, "c", 10, "other"), interval("other"));
        first.remove_unused();
        let second = intervals(dir.path());
        assert_eq!(asked(&second, "c", 10, "again"), interval("other"));
        second.remove_unused();
        assert_eq!(asked(&second, "b", 10, "anew"), interval("anew"));
        let elsewhere = Intervals {
            source: "another repository".into(),
            ..intervals(dir.path())
        };
        assert_eq!(asked(&elsewhere, "c", 10, "its own"), interval("its own"));
    }

    #[test]
    fn what_cannot_be_read_is_asked_for_again_and_an_error_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let intervals = intervals(dir.path());
        let failed = intervals.get_or_fetch(&version("a"), &version("b"), 10, || Err("no network"));
        assert_eq!(failed, Err("no network"));
        assert_eq!(asked(&intervals, "b", 10, "one"), interval("one"));
        for entry in fs::read_dir(dir.path().join("between")).unwrap() {
            fs::write(entry.unwrap().path(), "{\"changes\": [").unwrap();
        }
        assert_eq!(asked(&intervals, "b", 10, "mended"), interval("mended"));
    }
}
