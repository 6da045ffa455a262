//! Histories in git.
//!
//! Everything is read from a repository's objects, never from somebody's work tree, so that what lies changed
//! there doesn't matter; and nothing is ever written into a user's repository. A repository elsewhere is mirrored
//! first (`mirror`): only there the `git` program is run.
//!
//! The line of versions is the branch with its first parents: a merge is one version. With `full` it is every
//! commit that can be reached. Who descends from whom is read from git's commit-graph file where there is one, as `git gc` and
//! `git maintenance` write it, and from each commit else.
//!
//! A shallow clone is an error, since its history is cut off. A check-out converts no line ends and runs no filters; folders of
//! submodules stay empty.

mod changes;
mod graph;
mod mirror;
#[cfg(test)]
mod tests;
mod working_copy;

use crate::program::printable;
use crate::tree::{self, ContentOrigin, Files, PathKind, WantedPath};
use crate::when::{VersionPoint, at_or_before, instant, thin, window};
use crate::{History, HistoryError, nearest};
use backsight_model::{Change, ChangedFile, Every, GitSource, Range, Version};
use changes::Leaf;
use gix::objs::tree::EntryKind;
use gix::{ObjectId, Repository, ThreadSafeRepository};
use graph::{Graph, NodeIndex};
use jiff::Timestamp;
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use working_copy::{UncommittedChanges, WorkingCopy};

/// Memory for objects read not long ago, in bytes: neighbouring versions share most of their folders.
const RECENT_OBJECTS: usize = 64 << 20;

/// From when on, in seconds, git's commit-graph file isn't believed what time it was: some time before the 34 bits that it has are over.
const NOTED_SECONDS: i64 = 1 << 33;

/// Shortest abbreviation of a commit's identity that is printed, and that is taken.
const SHORTEST_SHOWN: usize = 7;
const SHORTEST_TAKEN: usize = 4;

/// Whatever a repository can't do, in words.
#[derive(Debug)]
struct GitError(String);

impl<E: std::error::Error> From<E> for GitError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(deeper) = cause {
            let said = deeper.to_string();
            if !text.contains(&said) {
                text = format!("{text}: {said}");
            }
            cause = deeper.source();
        }
        Self(printable(&text))
    }
}

/// A history in git.
pub(crate) struct Git {
    repository: ThreadSafeRepository,
    /// The target, as a user knows it.
    target: String,
    branch: Option<String>,
    full: bool,
    /// From where the last stretch of time is counted back.
    now: Timestamp,
    graph: Mutex<Graph>,
}

impl Git {
    /// Opens a repository: one beside `folder`, or the mirror under `work` of one elsewhere, brought up to date.
    ///
    /// # Errors
    /// There is none, it is a shallow clone, or it can't be fetched.
    pub(crate) fn open(
        target: &str,
        source: &GitSource,
        folder: &Path,
        work: &Path,
        now: Timestamp,
    ) -> Result<Self, HistoryError> {
        let beside = folder.join(&source.url);
        let place = if beside.exists() || !mirror::is_address(&source.url) {
            beside
        } else {
            mirror::up_to_date(&source.url, work)?
        };
        // What stands in for a commit isn't what its identity names, and could make it its own ancestor.
        let options =
            gix::open::Options::isolated().config_overrides(["core.useReplaceRefs=false"]);
        let repository = gix::open_opts(&place, options).map_err(|error| {
            let GitError(text) = GitError::from(error);
            HistoryError::Other(format!(
                "{target}: no git repository can be read at {}: {text}; source.git.url is a path beside the target's file, or an address",
                place.display()
            ))
        })?;
        let git = Self {
            repository: repository.into_sync(),
            target: target.to_owned(),
            branch: source.branch.clone(),
            full: source.full,
            now,
            graph: Mutex::default(),
        };
        let shallow = git.repository.to_thread_local().is_shallow();
        if shallow.map_err(|error| git.broken(error.into()))? {
            return Err(HistoryError::Shallow {
                what: place.display().to_string(),
            });
        }
        Ok(git)
    }

    fn broken(&self, GitError(text): GitError) -> HistoryError {
        HistoryError::Other(format!(
            "{}: the repository can't be read: {text}; `git fsck` says what is wrong with it",
            self.target
        ))
    }

    fn view(&self) -> Result<View<'_>, HistoryError> {
        let mut view = self.view_of_objects();
        view.read_references().map_err(|fault| self.broken(fault))?;
        Ok(view)
    }

    /// For what asks for versions by their identity and for none of their names: where every version has a tag, reading
    /// the references takes longer than anything else.
    fn view_of_objects(&self) -> View<'_> {
        let mut repository = self.repository.to_thread_local();
        repository.object_cache_size(RECENT_OBJECTS);
        View {
            git: self,
            repository,
            graph: self.graph.lock().unwrap_or_else(PoisonError::into_inner),
            references: Vec::new(),
            tags: HashMap::new(),
        }
    }
}

/// The repository during one call, with its references as they are now, if it needs them.
struct View<'a> {
    git: &'a Git,
    repository: Repository,
    graph: MutexGuard<'a, Graph>,
    /// Full names of references to commits, and what they lead to.
    references: Vec<(String, ObjectId)>,
    /// Names of tags by the commit that they lead to, in order.
    tags: HashMap<ObjectId, Vec<String>>,
}

impl View<'_> {
    fn read_references(&mut self) -> Result<(), GitError> {
        let platform = self.repository.references()?;
        for reference in platform.all()? {
            // One damaged reference doesn't spoil the others.
            let Ok(mut reference) = reference else {
                continue;
            };
            let name = reference.name().as_bstr().to_string();
            let Ok(id) = reference.peel_to_id() else {
                continue;
            };
            let Ok(header) = self.repository.find_header(id.detach()) else {
                continue;
            };
            if header.kind() == gix::objs::Kind::Commit {
                self.references.push((name, id.detach()));
            }
        }
        self.references.sort();
        for (name, id) in &self.references {
            if let Some(tag) = name.strip_prefix("refs/tags/") {
                self.tags.entry(*id).or_default().push(tag.to_owned());
            }
        }
        Ok(())
    }

    fn include(&mut self, id: ObjectId) -> Result<NodeIndex, HistoryError> {
        let repository = &self.repository;
        let noted = LazyCell::new(|| repository.commit_graph_if_enabled().ok().flatten());
        let mut read = |id: ObjectId| -> Result<graph::Read, GitError> {
            if let Some(read) = noted.as_ref().and_then(|graph| read_noted(graph, id)) {
                return Ok(read);
            }
            let commit = repository.find_commit(id)?;
            let decoded = commit.decode()?;
            let seconds = decoded
                .committer()
                .map_or(0, |committer| committer.seconds());
            Ok((decoded.parents().collect(), clamped(seconds)))
        };
        self.graph
            .include(id, &mut read)
            .map_err(|fault| self.git.broken(fault))
    }

    /// The newest version of the branch.
    fn newest(&mut self) -> Result<NodeIndex, HistoryError> {
        let target = &self.git.target;
        let id = match &self.git.branch {
            Some(branch) => self.named(branch, &BRANCHES).ok_or_else(|| {
                HistoryError::Other(format!(
                    "{target} has no branch `{branch}`{}",
                    self.near(branch)
                        .map(|near| format!(": did you mean `{near}`?"))
                        .unwrap_or_default()
                ))
            })?,
            None => self.head()?.ok_or_else(|| HistoryError::Empty {
                what: format!("the repository of {target} has no commit yet"),
            })?,
        };
        self.include(id)
    }

    fn head(&self) -> Result<Option<ObjectId>, HistoryError> {
        let read = || -> Result<Option<ObjectId>, GitError> {
            let head = self.repository.head()?;
            if head.is_unborn() {
                return Ok(None);
            }
            let id = head.into_peeled_id()?.detach();
            Ok(Some(self.repository.find_object(id)?.peel_to_commit()?.id))
        };
        read().map_err(|fault| self.git.broken(fault))
    }

    /// The line of versions, oldest first.
    fn line(&mut self) -> Result<Vec<NodeIndex>, HistoryError> {
        let newest = self.newest()?;
        Ok(if self.git.full {
            self.graph.after(None, newest)
        } else {
            self.graph.first_parents(newest)
        })
    }

    /// What a name is short for.
    fn named(&self, name: &str, prefixes: &[&str]) -> Option<ObjectId> {
        prefixes.iter().find_map(|prefix| {
            let full = format!("{prefix}{name}");
            let place = self
                .references
                .binary_search_by(|(known, _)| known.as_str().cmp(&full));
            Some(self.references[place.ok()?].1)
        })
    }

    fn near(&self, asked: &str) -> Option<String> {
        let short = self.references.iter().map(|(name, _)| {
            PREFIXES
                .iter()
                .find_map(|prefix| name.strip_prefix(prefix))
                .unwrap_or(name)
        });
        nearest(asked, short)
    }

    fn unknown(&self, asked: &str) -> HistoryError {
        HistoryError::Unknown {
            known: None,
            requested: asked.to_owned(),
            target: self.git.target.clone(),
            near: self.near(asked),
        }
    }

    /// The commit that a text names; dates name none.
    fn commit(&mut self, asked: &str) -> Result<Option<NodeIndex>, HistoryError> {
        let (base, steps) = match asked.find(['~', '^']) {
            Some(place) => asked.split_at(place),
            None => (asked, ""),
        };
        let id = match base {
            "HEAD" | "@" => self.head()?,
            _ => self.named(base, &PREFIXES).or_else(|| {
                base.starts_with("refs/")
                    .then(|| self.named(base, &[""]))
                    .flatten()
            }),
        };
        let id = match id {
            Some(id) => Some(id),
            None => self.by_hash(base)?,
        };
        let Some(id) = id else { return Ok(None) };
        let mut place = self.include(id)?;
        for step in steps_back(steps).ok_or_else(|| self.unknown(asked))? {
            let parents = &self.graph.node(place).parents;
            place = *parents.get(step).ok_or_else(|| self.unknown(asked))?;
        }
        Ok(Some(place))
    }

    /// The commit whose identity is, or begins with, these digits.
    fn by_hash(&self, digits: &str) -> Result<Option<ObjectId>, HistoryError> {
        let hex =
            digits.len() >= SHORTEST_TAKEN && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hex {
            return Ok(None);
        }
        let Ok(prefix) = gix::hash::Prefix::from_hex(&digits.to_ascii_lowercase()) else {
            return Ok(None);
        };
        let mut candidates = HashSet::new();
        self.repository
            .objects
            .lookup_prefix(prefix, Some(&mut candidates))
            .map_err(|error| self.git.broken(error.into()))?;
        let commits: HashSet<ObjectId> = candidates
            .into_iter()
            .filter_map(|id| {
                Some(
                    self.repository
                        .find_object(id)
                        .ok()?
                        .peel_to_commit()
                        .ok()?
                        .id,
                )
            })
            .collect();
        if commits.len() > 1 {
            let mut names: Vec<String> = commits.iter().take(8).map(ToString::to_string).collect();
            names.sort();
            return Err(HistoryError::Other(format!(
                "`{digits}` could be {} commits of {}: {}",
                commits.len(),
                self.git.target,
                names.join(", ")
            )));
        }
        Ok(commits.into_iter().next())
    }

    /// The version that a text names, dates among them.
    fn find(&mut self, asked: &str) -> Result<NodeIndex, HistoryError> {
        if let Some(place) = self.commit(asked)? {
            return Ok(place);
        }
        let Some(instant) = instant(asked) else {
            return Err(self.unknown(asked));
        };
        let line = self.line()?;
        let points = self.points(&line);
        match at_or_before(&points, instant) {
            Some(place) => Ok(line[place]),
            None => Err(HistoryError::Other(format!(
                "{} has no version as old as {asked}: its first is of {}",
                self.git.target,
                line.first()
                    .map_or(Timestamp::MIN, |first| self.graph.node(*first).at)
            ))),
        }
    }

    /// From one version to another along the line, both included.
    fn stretch(
        &mut self,
        range: (&str, NodeIndex),
        to: (&str, NodeIndex),
    ) -> Result<Vec<NodeIndex>, HistoryError> {
        let ((from_name, from), (to_name, to)) = (range, to);
        if from == to {
            return Ok(vec![to]);
        }
        let line = if self.git.full {
            Vec::new()
        } else {
            self.graph.first_parents(to)
        };
        if let Some(start) = line.iter().position(|place| *place == from) {
            return Ok(line[start..].to_vec());
        }
        let contains = self.graph.descendants(from);
        if !contains[to as usize] {
            let (from, to_place) = (from, to);
            let (from_name, to_name) = (from_name.to_owned(), to_name.to_owned());
            return Err(if self.graph.descendants(to_place)[from as usize] {
                HistoryError::Reversed {
                    from: from_name,
                    to: to_name,
                }
            } else {
                HistoryError::Unrelated {
                    from: from_name,
                    to: to_name,
                }
            });
        }
        let mut stretch = vec![from];
        if self.git.full {
            stretch.extend(self.graph.after(Some(from), to));
        } else {
            // It came in with a merge: from there on the line has it.
            stretch.extend(line.into_iter().filter(|place| contains[*place as usize]));
        }
        Ok(stretch)
    }

    fn points(&self, line: &[NodeIndex]) -> Vec<VersionPoint> {
        let point = |place: &NodeIndex| {
            let node = self.graph.node(*place);
            VersionPoint {
                at: Some(node.at),
                release: self.tags.contains_key(&node.id),
            }
        };
        line.iter().map(point).collect()
    }

    fn short(&self, id: ObjectId) -> String {
        // Long enough that two of so many objects are seldom alike, as git itself reckons.
        let objects = self.graph.len().saturating_mul(8).max(1);
        let length = usize::try_from(objects.ilog2() / 2 + 2).unwrap_or(SHORTEST_SHOWN);
        id.to_hex_with_len(length.max(SHORTEST_SHOWN)).to_string()
    }

    fn version(&self, place: NodeIndex) -> Result<Version, GitError> {
        let node = self.graph.node(place);
        let commit = self.repository.find_commit(node.id)?;
        let message = printable(&String::from_utf8_lossy(commit.message_raw_sloppy()));
        let tags = self.tags.get(&node.id);
        Ok(Version {
            id: node.id.to_string(),
            name: match tags.and_then(|tags| tags.first()) {
                Some(tag) => tag.clone(),
                None => self.short(node.id),
            },
            at: Some(node.at),
            title: message
                .trim_start()
                .lines()
                .next()
                .unwrap_or_default()
                .trim_end()
                .to_owned(),
            release: tags.is_some(),
            amendments: Vec::new(),
        })
    }

    fn place_of(&mut self, version: &Version) -> Result<NodeIndex, HistoryError> {
        let id =
            ObjectId::from_hex(version.id.as_bytes()).map_err(|_| self.unknown(&version.id))?;
        if self.repository.find_commit(id).is_err() {
            return Err(HistoryError::Other(format!(
                "{}: the commit {id} ({}) isn't in the repository any more",
                self.git.target, version.name
            )));
        }
        self.include(id)
    }

    fn change(&self, place: NodeIndex) -> Result<Change, GitError> {
        let node = self.graph.node(place);
        let commit = self.repository.find_commit(node.id)?;
        let decoded = commit.decode()?;
        let parent = match node.parents.first() {
            Some(parent) => Some(self.tree_of(*parent)?),
            None => None,
        };
        let differences = changes::differences(&self.repository, parent, Some(decoded.tree()))?;
        let files = differences
            .iter()
            .map(|difference| changes::counted(&self.repository, difference))
            .collect::<Result<_, GitError>>()?;
        let parents = node.parents.iter();
        Ok(Change {
            id: node.id.to_string(),
            name: self.short(node.id),
            author: author(&decoded),
            at: Some(node.at),
            message: printable(&String::from_utf8_lossy(decoded.message))
                .trim()
                .to_owned(),
            parents: parents
                .map(|parent| self.graph.node(*parent).id.to_string())
                .collect(),
            files,
        })
    }

    fn tree_of(&self, place: NodeIndex) -> Result<ObjectId, GitError> {
        let commit = self.repository.find_commit(self.graph.node(place).id)?;
        Ok(commit.tree_id()?.detach())
    }

    fn files(&self, place: NodeIndex) -> Result<Files, GitError> {
        let leaves = changes::leaves(&self.repository, self.tree_of(place)?)?;
        Ok(leaves
            .into_iter()
            .map(|(path, leaf)| (path, wanted(leaf)))
            .collect())
    }
}

const BRANCHES: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/remotes/origin/"];
const PREFIXES: [&str; 4] = [
    "refs/tags/",
    "refs/heads/",
    "refs/remotes/",
    "refs/remotes/origin/",
];

fn wanted(leaf: Leaf) -> WantedPath {
    let kind = match leaf.mode.kind() {
        EntryKind::BlobExecutable => PathKind::Program,
        EntryKind::Link => PathKind::Link,
        EntryKind::Commit | EntryKind::Tree => PathKind::Folder,
        EntryKind::Blob => PathKind::File,
    };
    WantedPath {
        kind,
        id: leaf.id.to_string(),
    }
}

fn author(commit: &gix::objs::CommitRef<'_>) -> String {
    let text = match commit.author() {
        Ok(author) => format!("{} <{}>", author.name, author.email),
        Err(_) => String::from_utf8_lossy(commit.author).into_owned(),
    };
    printable(text.trim())
}

/// What git's commit-graph file says of a commit: no object need be found and unpacked for it. Nothing where it isn't in it, or where
/// that can't be so: the file has only 34 bits of a time, and may be damaged.
fn read_noted(graph: &gix::commitgraph::Graph, id: ObjectId) -> Option<graph::Read> {
    let commit = graph.commit_by_id(id)?;
    let seconds = i64::try_from(commit.committer_timestamp()).ok()?;
    let mut parents = Vec::new();
    for parent in commit.iter_parents() {
        let place = parent.ok().filter(|place| place.0 < graph.num_commits())?;
        parents.push(graph.id_at(place).to_owned());
    }
    (1..NOTED_SECONDS)
        .contains(&seconds)
        .then(|| (parents, clamped(seconds)))
}

fn clamped(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

/// Which parent to go to, step by step: `~2` is twice the first, `^2` once the second; nothing if it isn't that.
fn steps_back(text: &str) -> Option<Vec<usize>> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        rest = &rest[1..];
        let digits = rest.find(['~', '^']).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let number = if number.is_empty() {
            1
        } else {
            number.parse::<u32>().ok()? as usize
        };
        rest = after;
        match sign {
            // Further back than any history goes.
            '~' if number > 100_000_000 => return None,
            '~' => steps.extend(std::iter::repeat_n(0, number)),
            _ => steps.extend(number.checked_sub(1)),
        }
    }
    Some(steps)
}

impl History for Git {
    fn resolve(&self, asked: &str) -> Result<Version, HistoryError> {
        let mut view = self.view()?;
        let place = view.find(asked)?;
        view.version(place).map_err(|fault| self.broken(fault))
    }

    fn versions(&self, range: &Range, every: &Every) -> Result<Vec<Version>, HistoryError> {
        let mut view = self.view()?;
        let line = match range {
            Range::Between { from, to } => {
                let ends = (view.find(from)?, view.find(to)?);
                view.stretch((from, ends.0), (to, ends.1))?
            }
            Range::Last(back) => {
                let line = view.line()?;
                let start = window(&view.points(&line), *back, self.now)?;
                line[start..].to_vec()
            }
        };
        thin(&view.points(&line), every)?
            .into_iter()
            .map(|place| {
                view.version(line[place])
                    .map_err(|fault| self.broken(fault))
            })
            .collect()
    }

    fn reached(&self, point: &str, versions: &[Version]) -> Result<Vec<bool>, HistoryError> {
        let mut view = self.view()?;
        let Some(place) = view.commit(point)? else {
            let since = instant(point).ok_or_else(|| view.unknown(point))?;
            return Ok(versions
                .iter()
                .map(|version| version.at.is_some_and(|at| at >= since))
                .collect());
        };
        let places: Vec<NodeIndex> = versions
            .iter()
            .map(|version| view.place_of(version))
            .collect::<Result<_, _>>()?;
        let contains = view.graph.descendants(place);
        Ok(places
            .into_iter()
            .map(|place| contains[place as usize])
            .collect())
    }

    fn on_line(&self, ids: &[String]) -> Result<Vec<bool>, HistoryError> {
        let mut view = self.view()?;
        let ids = ids.iter().map(|id| ObjectId::from_hex(id.as_bytes()));
        let asked: Vec<Option<ObjectId>> = ids.map(Result::ok).collect();
        let line = view.line()?;
        let line = line.into_iter().map(|place| view.graph.node(place).id);
        let wanted: HashSet<ObjectId> = asked.iter().copied().flatten().collect();
        let found: HashSet<ObjectId> = line.filter(|id| wanted.contains(id)).collect();
        let is_on_line = |id: Option<ObjectId>| id.is_some_and(|id| found.contains(&id));
        Ok(asked.into_iter().map(is_on_line).collect())
    }

    fn between(&self, from: &Version, to: &Version) -> Result<Vec<Change>, HistoryError> {
        let mut view = self.view_of_objects();
        let (from, to) = (view.place_of(from)?, view.place_of(to)?);
        let line = view.graph.after(Some(from), to);
        line.into_iter()
            .map(|place| view.change(place).map_err(|fault| self.broken(fault)))
            .collect()
    }

    fn common_ancestor(
        &self,
        one: &Version,
        other: &Version,
    ) -> Result<Option<Version>, HistoryError> {
        let mut view = self.view()?;
        let (one, other) = (view.place_of(one)?, view.place_of(other)?);
        let found = view.graph.common_ancestor(one, other);
        let version = found.map(|place| view.version(place)).transpose();
        version.map_err(|fault| self.broken(fault))
    }

    fn diff(
        &self,
        from: &Version,
        to: &Version,
        most: usize,
    ) -> Result<Option<String>, HistoryError> {
        let mut view = self.view_of_objects();
        let (from, to) = (view.place_of(from)?, view.place_of(to)?);
        let made = || -> Result<String, GitError> {
            let (old, new) = (view.tree_of(from)?, view.tree_of(to)?);
            let differences = changes::differences(&view.repository, Some(old), Some(new))?;
            changes::unified(&view.repository, &differences, most)
        };
        made().map(Some).map_err(|fault| self.broken(fault))
    }

    fn changed_files(
        &self,
        from: &Version,
        to: &Version,
    ) -> Result<Option<Vec<ChangedFile>>, HistoryError> {
        let mut view = self.view_of_objects();
        let (from, to) = (view.place_of(from)?, view.place_of(to)?);
        let made = || -> Result<Vec<ChangedFile>, GitError> {
            let (old, new) = (view.tree_of(from)?, view.tree_of(to)?);
            let differences = changes::differences(&view.repository, Some(old), Some(new))?;
            let counted = |it| changes::counted(&view.repository, it);
            differences.iter().map(counted).collect()
        };
        made().map(Some).map_err(|fault| self.broken(fault))
    }

    fn undo(&self, asked: &str) -> Result<Option<(String, String)>, HistoryError> {
        let mut view = self.view()?;
        let place = view.find(asked)?;
        let node = view.graph.node(place);
        let name = view.short(node.id);
        // What a merge brought to its branch: the difference to its first parent.
        let before = node.parents.first().copied();
        let made = || -> Result<Vec<changes::Difference>, GitError> {
            let old = before.map(|before| view.tree_of(before)).transpose()?;
            let new = view.tree_of(place)?;
            changes::differences(&view.repository, Some(new), old)
        };
        let differences = made().map_err(|fault| self.broken(fault))?;
        let diff = changes::unified(&view.repository, &differences, usize::MAX);
        let diff = diff.map_err(|fault| self.broken(fault))?;
        match changes::unsaid(&diff) {
            Some(file) => Err(HistoryError::Other(format!(
                "{name} can't be reverted by a diff: it changes {file}, which isn't text"
            ))),
            None => Ok(Some((name, diff))),
        }
    }

    fn check_out(&self, version: &Version, tree: &Path) -> Result<(), HistoryError> {
        let mut view = self.view_of_objects();
        let place = view.place_of(version)?;
        let files = view.files(place).map_err(|fault| self.broken(fault))?;
        let read = |_: &[u8], wanted: &WantedPath| -> Result<Vec<u8>, HistoryError> {
            let found = || -> Result<Vec<u8>, GitError> {
                let id = ObjectId::from_hex(wanted.id.as_bytes())?;
                Ok(view.repository.find_object(id)?.detach().data)
            };
            found().map_err(|fault| self.broken(fault))
        };
        tree::sync(tree, &files, &ContentOrigin::Read(&read))
    }
}
