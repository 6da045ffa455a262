//! The one tree of a target's source that is built in, and what state it is in.
//!
//! One build uses it at a time, whichever process makes it; others wait. The tree of a build that was killed counts as unfinished.

use std::{
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use crate::{
    blocking::run_blocking,
    file_lock::lock_within,
    workshop_error::{WorkshopError, file},
};

/// So long a build waits for those of other processes.
const WAIT: Duration = Duration::from_secs(12 * 3600);

/// In which state a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeState {
    /// Nothing was ever built in it.
    Empty,
    /// Something is being built in it, or was when the process was killed.
    Building,
    /// A build in it came to an end, good or bad.
    Built,
}

/// Is told that other processes build in a tree, where it is, and how long they are waited for at most.
pub type TreeWaitListener = Box<dyn Fn(&Path, Duration) + Send + Sync>;

/// A tree, which this process has from [`Tree::lock`] to [`Tree::unlock`].
pub(crate) struct Tree {
    /// Where it is.
    pub folder: PathBuf,
    note: PathBuf,
    state: TreeState,
    /// The build whose state it has, if that one ended well.
    key: Option<String>,
    /// Nobody else has it as long as this is open.
    alone: Option<File>,
    /// Is told once for each wait.
    pub on_wait: Option<TreeWaitListener>,
}

const BUILDING: &str = "building";
const BUILT: &str = "built";

impl Tree {
    /// The tree in a target's place; made if it isn't there.
    pub(crate) fn new(place: &Path) -> Result<Self, WorkshopError> {
        let folder = place.join("tree");
        fs::create_dir_all(&folder).map_err(file("make", &folder))?;
        Ok(Self {
            folder,
            note: place.join("tree.state"),
            state: TreeState::Empty,
            key: None,
            alone: None,
            on_wait: None,
        })
    }

    /// Waits until no other process builds in it, and reads its state. A build that was given up has it still.
    pub(crate) async fn lock(&mut self) -> Result<(), WorkshopError> {
        if self.alone.is_some() {
            return Ok(());
        }
        // Who waits is next: a process that builds one version after the other would never let another one in.
        let mut told = false;
        let next = self.lock_file("next", &mut told).await?;
        let alone = self.lock_file("lock", &mut told).await?;
        drop(next);
        self.read()?;
        self.alone = Some(alone);
        Ok(())
    }

    /// Lets other processes build in it. Not where something may still run there: then they wait until this process is done with its
    /// study.
    pub(crate) fn unlock(&mut self) {
        self.alone = None;
    }

    async fn lock_file(&self, extension: &str, told: &mut bool) -> Result<File, WorkshopError> {
        let path = self.note.with_extension(extension);
        let at_once = lock_within(&path, Duration::ZERO, File::try_lock).await;
        if let Some(locked) = at_once.map_err(file("lock", &path))? {
            return Ok(locked);
        }
        if let Some(on_wait) = self.on_wait.as_ref().filter(|_| !*told) {
            on_wait(&self.folder, WAIT);
            *told = true;
        }
        let locked = lock_within(&path, WAIT, File::try_lock).await;
        locked.map_err(file("lock", &path))?.ok_or_else(|| {
            WorkshopError::Recipe(format!(
                "other studies have been building in {} for {} hours: wait for them, or give this one another store",
                self.folder.display(),
                WAIT.as_secs() / 3600
            ))
        })
    }

    fn read(&mut self) -> Result<(), WorkshopError> {
        let said = match fs::read_to_string(&self.note) {
            Ok(said) => said,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(file("read", &self.note)(error)),
        };
        (self.state, self.key) = match said.trim().split_once(' ') {
            Some((BUILT, key)) => (TreeState::Built, Some(key.to_owned())),
            None if said.trim() == BUILT => (TreeState::Built, None),
            None if said.trim().is_empty() => (TreeState::Empty, None),
            _ => (TreeState::Building, None),
        };
        Ok(())
    }

    pub(crate) fn state(&self) -> TreeState {
        self.state
    }

    /// Makes room for files that patches will make: those that patches of other versions made are removed. They aren't
    /// the history's, so a check-out leaves them.
    pub(crate) fn expect_files(
        &self,
        files: impl Iterator<Item = String>,
    ) -> Result<(), WorkshopError> {
        let note = self.note.with_extension("patched");
        let before = match fs::read_to_string(&note) {
            Ok(before) => before,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(file("read", &note)(error)),
        };
        for name in before.lines() {
            let path = self.folder.join(name);
            match fs::remove_file(&path) {
                Err(error)
                    if !matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
                {
                    return Err(file("remove", &path)(error));
                }
                _ => {}
            }
        }
        let inside = |name: &String| {
            Path::new(name)
                .components()
                .all(|part| matches!(part, Component::Normal(_)))
        };
        let mut names: Vec<String> = files.filter(inside).collect();
        names.dedup();
        fs::write(&note, names.join("\n")).map_err(file("write", &note))
    }

    /// Whether it is as the build of this key left it.
    pub(crate) fn holds(&self, key: &str) -> bool {
        self.state == TreeState::Built && self.key.as_deref() == Some(key)
    }

    /// Whether another version may be built in it as it is.
    pub(crate) fn can_be_built_in(&self) -> bool {
        self.state != TreeState::Building
    }

    /// Removes everything in it.
    pub(crate) async fn clear(&mut self) -> Result<(), WorkshopError> {
        self.set(TreeState::Building)?;
        let folder = self.folder.clone();
        run_blocking("clearing the tree", move || {
            fs::remove_dir_all(&folder).map_err(file("remove", &folder))?;
            fs::create_dir_all(&folder).map_err(file("make", &folder))
        })
        .await?;
        self.set(TreeState::Empty)
    }

    pub(crate) fn set(&mut self, state: TreeState) -> Result<(), WorkshopError> {
        self.write(state, None)
    }

    pub(crate) fn set_built(&mut self, key: &str) -> Result<(), WorkshopError> {
        self.write(TreeState::Built, Some(key.to_owned()))
    }

    fn write(&mut self, state: TreeState, key: Option<String>) -> Result<(), WorkshopError> {
        let said = match (state, &key) {
            (TreeState::Empty, _) => String::new(),
            (TreeState::Building, _) => BUILDING.to_owned(),
            (TreeState::Built, None) => BUILT.to_owned(),
            (TreeState::Built, Some(key)) => format!("{BUILT} {key}"),
        };
        fs::write(&self.note, said).map_err(file("write", &self.note))?;
        (self.state, self.key) = (state, key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    async fn taken(place: &Path) -> Tree {
        let mut tree = Tree::new(place).unwrap();
        tree.lock().await.unwrap();
        tree
    }

    #[tokio::test]
    async fn a_tree_knows_what_it_holds_and_what_was_killed_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut tree = taken(dir.path()).await;
        assert_eq!(tree.state(), TreeState::Empty);
        tree.set_built("abc").unwrap();
        drop(tree);
        let mut tree = taken(dir.path()).await;
        assert!(tree.holds("abc") && !tree.holds("abd"));
        tree.set(TreeState::Building).unwrap();
        drop(tree);
        let mut tree = taken(dir.path()).await;
        assert!(!tree.can_be_built_in());
        fs::write(tree.folder.join("x"), "").unwrap();
        tree.clear().await.unwrap();
        assert!(tree.can_be_built_in());
        assert_eq!(fs::read_dir(&tree.folder).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn one_build_uses_the_tree_at_a_time_and_knows_what_the_last_one_left() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = taken(dir.path()).await;
        let mut second = Tree::new(dir.path()).unwrap();
        let (place, short) = (dir.path(), Duration::from_millis(200));
        assert!(timeout(short, second.lock()).await.is_err());
        let builds = async {
            first.set_built("abc").unwrap();
            first.unlock();
            // Whoever waits is before it.
            first.lock().await.unwrap();
            first.holds("def")
        };
        let waits = async {
            second.lock().await.unwrap();
            let held = second.holds("abc");
            second.set_built("def").unwrap();
            second.unlock();
            held
        };
        assert_eq!(tokio::join!(waits, builds), (true, true));
        // One that was given up keeps it until its process is done.
        assert!(timeout(short, taken(place)).await.is_err());
        drop(first);
        taken(place).await;
    }
}
