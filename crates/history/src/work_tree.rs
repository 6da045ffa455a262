//! The one tree of a target's source that is built in, and what state it is in.
//!
//! One process uses it at a time. The tree of a build that was killed counts as unfinished.

use std::{
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
};

use crate::{
    blocking::run_blocking,
    workshop_error::{WorkshopError, file},
};

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

/// A tree.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Where it is.
    pub folder: PathBuf,
    note: PathBuf,
    state: TreeState,
    /// The build whose state it has, if that one ended well.
    key: Option<String>,
    _alone: File,
}

const BUILDING: &str = "building";
const BUILT: &str = "built";

impl Tree {
    /// The tree in a target's place; made if it isn't there.
    pub(crate) fn open(place: &Path) -> Result<Self, WorkshopError> {
        let folder = place.join("tree");
        fs::create_dir_all(&folder).map_err(file("make", &folder))?;
        let lock = place.join("tree.lock");
        let alone = File::create(&lock).map_err(file("make", &lock))?;
        match alone.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(WorkshopError::Recipe(format!(
                    "another study builds in {}: wait for it, or give this one another store",
                    folder.display()
                )));
            }
            Err(fs::TryLockError::Error(error)) => return Err(file("lock", &lock)(error)),
        }
        let note = place.join("tree.state");
        let said = match fs::read_to_string(&note) {
            Ok(said) => said,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(file("read", &note)(error)),
        };
        let (state, key) = match said.trim().split_once(' ') {
            Some((BUILT, key)) => (TreeState::Built, Some(key.to_owned())),
            None if said.trim() == BUILT => (TreeState::Built, None),
            None if said.trim().is_empty() => (TreeState::Empty, None),
            _ => (TreeState::Building, None),
        };
        Ok(Self {
            folder,
            note,
            state,
            key,
            _alone: alone,
        })
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

    #[tokio::test]
    async fn a_tree_knows_what_it_holds_and_what_was_killed_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut tree = Tree::open(dir.path()).unwrap();
        assert_eq!(tree.state(), TreeState::Empty);
        tree.set_built("abc").unwrap();
        drop(tree);
        let mut tree = Tree::open(dir.path()).unwrap();
        assert!(tree.holds("abc") && !tree.holds("abd"));
        tree.set(TreeState::Building).unwrap();
        drop(tree);
        let mut tree = Tree::open(dir.path()).unwrap();
        assert!(!tree.can_be_built_in());
        fs::write(tree.folder.join("x"), "").unwrap();
        tree.clear().await.unwrap();
        assert!(tree.can_be_built_in());
        assert_eq!(fs::read_dir(&tree.folder).unwrap().count(), 0);
    }

    #[test]
    fn two_do_not_build_in_one_tree() {
        let dir = tempfile::tempdir().unwrap();
        let _first = Tree::open(dir.path()).unwrap();
        let second = Tree::open(dir.path()).unwrap_err();
        assert!(
            second.to_string().contains("another study builds"),
            "{second}"
        );
    }
}
