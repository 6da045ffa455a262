//! The builds that a target's cache has: listed with their size, and removed.
//!
//! A build is moved away whole before its files go, so that a part of one is never taken for a build.

use std::{fs, io, path::Path, time::SystemTime};

use crate::{
    cache::{BUILDS, Cache, remove},
    workshop_error::{WorkshopError, file},
};

/// A build in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedBuild {
    /// What identifies its content.
    pub key: String,
    /// When it was made.
    pub made: SystemTime,
    /// The size of its files, in bytes.
    pub bytes: u64,
}

/// The builds in the cache of a target whose own folder this is, in the order of their keys; none where nothing was built.
///
/// # Errors
/// A folder can't be read.
pub fn cached_builds(place: &Path) -> io::Result<Vec<CachedBuild>> {
    let mut builds = Vec::new();
    let entries = match fs::read_dir(place.join(BUILDS)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(builds),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let made = fs::metadata(entry.path().join("build.json"));
        let (Ok(key), Ok(made)) = (entry.file_name().into_string(), made) else {
            continue;
        };
        // What is being put together or removed has a point in its name.
        if !key.contains('.') {
            builds.push(CachedBuild {
                key,
                made: made.modified()?,
                bytes: size(&entry.path())?,
            });
        }
    }
    builds.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(builds)
}

/// Removes these builds, and what a killed process left half removed or half put together. A build that is asked for again is made
/// again.
///
/// # Errors
/// A study uses the target's builds; a file can't be removed.
pub fn remove_builds(place: &Path, keys: &[String]) -> Result<(), WorkshopError> {
    let _unused = Cache::lock_for_removal(place)?;
    let folder = place.join(BUILDS);
    for key in keys {
        let gone = folder.join(format!("{key}.gone"));
        remove(&gone).map_err(file("remove", &gone))?;
        match fs::rename(folder.join(key), &gone) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(file("remove", &gone)(error));
            }
            _ => {}
        }
    }
    let entries = fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    for entry in entries.map_err(file("read", &folder))? {
        if entry.file_name().to_string_lossy().contains('.') {
            remove(&entry.path()).map_err(file("remove", &entry.path()))?;
        }
    }
    Ok(())
}

/// The size of a file, or of all files in a folder; links count as they are.
fn size(path: &Path) -> io::Result<u64> {
    let kind = fs::symlink_metadata(path)?;
    if !kind.is_dir() {
        return Ok(kind.len());
    }
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        bytes += size(&entry?.path())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(place: &Path, name: &str) {
        let folder = place.join(BUILDS).join(name);
        fs::create_dir_all(folder.join("files")).unwrap();
        fs::write(folder.join("files/app"), [0; 1000]).unwrap();
        fs::write(folder.join("build.json"), "{}").unwrap();
    }

    #[test]
    fn builds_that_are_named_go_with_what_was_left_and_others_stay() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(cached_builds(place.path()).unwrap(), []);
        for name in ["ab", "cd", "ef.gone", "01.77"] {
            build(place.path(), name);
        }
        let keys = |builds: &[CachedBuild]| -> Vec<String> {
            builds.iter().map(|build| build.key.clone()).collect()
        };
        let before = cached_builds(place.path()).unwrap();
        assert_eq!(keys(&before), ["ab", "cd"]);
        assert_eq!(before[0].bytes, 1002);
        remove_builds(place.path(), &["cd".to_owned(), "99".to_owned()]).unwrap();
        assert_eq!(keys(&cached_builds(place.path()).unwrap()), ["ab"]);
        let left = fs::read_dir(place.path().join(BUILDS)).unwrap();
        assert_eq!(left.count(), 1);
    }

    #[tokio::test]
    async fn builds_that_a_study_uses_stay() {
        let place = tempfile::tempdir().unwrap();
        build(place.path(), "ab");
        let one = Cache::open(place.path()).await.unwrap();
        let other = Cache::open(place.path()).await.unwrap();
        let refused = remove_builds(place.path(), &["ab".to_owned()]).unwrap_err();
        assert!(refused.to_string().contains("a study uses"), "{refused}");
        assert_eq!(cached_builds(place.path()).unwrap().len(), 1);
        drop((one, other));
        remove_builds(place.path(), &["ab".to_owned()]).unwrap();
    }
}
