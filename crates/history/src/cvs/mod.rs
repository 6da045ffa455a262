//! Histories in CVS.
//!
//! A version is the state after a commit, named by the instant of its last revision: that is what
//! `cvs checkout -D` can bring back. A branch's versions are those since it left the trunk. The `cvs` program
//! does the work; a repository on this machine is read with `-R`, without locks or a trace in it.
//!
//! A branch that no file has is an error. Commits of the same second can't be told apart.

mod commits;
mod log;
#[cfg(test)]
mod tests;

use crate::diff::cut;
use crate::line::Line;
use crate::program::{FETCHING, printable, run};
use crate::tree::{self, ContentOrigin};
use crate::{History, HistoryError, nearest};
use backsight_model::{Change, ChangedFile, CvsSource, Every, Range, Version};
use commits::Commit;
use jiff::{Timestamp, tz::TimeZone};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// How many commits are in any text.
pub(crate) fn read_log(text: &str) -> usize {
    let files = log::read(text);
    let of_branches = commits::branches(&files).into_iter().map(Some);
    let all = of_branches
        .chain([None])
        .map(|branch| commits::commits(&files, branch).len());
    all.sum()
}

/// A history in CVS.
pub(crate) struct Cvs {
    line: Line,
    commits: Vec<Commit>,
    /// Instants of tags that lie on the line.
    tags: BTreeMap<String, Timestamp>,
    root: String,
    module: String,
    branch: Option<String>,
    work: PathBuf,
    /// The copy under `work` that is brought from version to version; one at a time.
    copy: Mutex<PathBuf>,
}

impl Cvs {
    /// Reads the log of a module.
    ///
    /// # Errors
    /// The repository can't be read, there is no such module or branch, or nothing was ever committed.
    pub(crate) fn open(
        target: &str,
        source: &CvsSource,
        folder: &Path,
        work: &Path,
        now: Timestamp,
    ) -> Result<Self, HistoryError> {
        let what = format!("the log of {} in CVS for {target}", source.module);
        let root = root(&source.root, folder);
        let mut names = [Some(&source.module), source.branch.as_ref()]
            .into_iter()
            .flatten();
        if names.any(|name| name.is_empty() || name.starts_with('-')) {
            return Err(HistoryError::Other(format!(
                "{what}: a module or a branch has a name, which can't begin with `-`"
            )));
        }
        let mut rlog = cvs(&root);
        rlog.arg("rlog")
            .arg("--")
            .arg(&source.module)
            .current_dir(folder);
        let printed = run(&mut rlog, &what, FETCHING)?;
        let mut files = log::read(&String::from_utf8_lossy(&printed));
        for file in &mut files {
            file.path = below(&file.path, &root, &source.module);
        }
        let branch = source.branch.as_deref();
        let branches = commits::branches(&files);
        if let Some(branch) = branch.filter(|branch| !branches.contains(branch)) {
            let near = nearest(branch, branches);
            let near = near
                .map(|near| format!(": did you mean `{near}`?"))
                .unwrap_or_default();
            return Err(HistoryError::Other(format!(
                "{target} has no branch `{branch}`{near}"
            )));
        }
        let commits = commits::commits(&files, branch);
        let mut tags = BTreeMap::new();
        for name in files.iter().flat_map(|file| file.names.keys()) {
            if !tags.contains_key(name)
                && let Some(at) = commits::tagged(&files, branch, name)
            {
                tags.insert(name.clone(), at);
            }
        }
        Ok(Self {
            line: Line {
                target: target.to_owned(),
                versions: versions(&commits, &tags, branch),
                now,
            },
            commits,
            tags,
            copy: Mutex::new(work.join("cvs-copy")),
            root,
            module: source.module.clone(),
            branch: source.branch.clone(),
            work: work.to_owned(),
        })
    }

    /// The version that a text names; a tag is the version of its last revision.
    fn place(&self, asked: &str) -> Result<usize, HistoryError> {
        // A commit of the tag's may have gone on after the file that was tagged last.
        match self.tags.get(asked) {
            Some(at) => self
                .line
                .versions
                .iter()
                .position(|version| version.at >= Some(*at))
                .ok_or_else(|| self.line.unknown(asked)),
            None => self.line.place(asked),
        }
    }

    /// The text with a tag's name exchanged for what it stands for.
    fn plain(&self, asked: &str) -> Result<String, HistoryError> {
        Ok(self.line.versions[self.place(asked)?].id.clone())
    }

    fn fetch(&self, at: Timestamp, copy: &Path, what: &str) -> Result<(), HistoryError> {
        let mut checkout = cvs(&self.root);
        checkout.args(["checkout", "-P", "-D", &date(at)]);
        if let Some(branch) = &self.branch {
            checkout.args(["-r", branch]);
        }
        let name = copy.file_name().unwrap_or_default();
        checkout
            .arg("-d")
            .arg(name)
            .arg("--")
            .arg(&self.module)
            .current_dir(&self.work);
        run(&mut checkout, what, FETCHING).map(drop)
    }
}

/// The repository as `cvs -d` takes it; a path beside the target's file made a whole one.
fn root(given: &str, folder: &Path) -> String {
    let plain_path = !given.contains(':') && !given.starts_with('/');
    if plain_path {
        let beside = folder.join(given);
        let whole = fs::canonicalize(&beside).unwrap_or(beside);
        whole.to_string_lossy().into_owned()
    } else {
        given.to_owned()
    }
}

fn cvs(root: &str) -> Command {
    let mut command = Command::new("cvs");
    // Quiet, without a user's own defaults.
    command.args(["-Q", "-f"]);
    if root.starts_with('/') || root.starts_with(":local:") {
        command.arg("-R");
    }
    command.args(["-d", root]).env_remove("CVSROOT");
    command
}

/// An instant as `cvs` reads it.
fn date(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%d %H:%M:%S UTC")
        .to_string()
}

/// A file's path in the module, out of its path in the repository.
fn below(path: &str, root: &str, module: &str) -> String {
    let folder = root
        .rsplit(':')
        .next()
        .unwrap_or(root)
        .trim_end_matches('/');
    let path = path
        .strip_prefix(folder)
        .unwrap_or(path)
        .trim_start_matches('/');
    let inside = path
        .strip_prefix(module)
        .and_then(|path| path.strip_prefix('/'));
    inside.unwrap_or(path).to_owned()
}

/// The states after each commit; those of the same second are one.
fn versions(
    commits: &[Commit],
    tags: &BTreeMap<String, Timestamp>,
    branch: Option<&str>,
) -> Vec<Version> {
    let mut versions: Vec<Version> = Vec::new();
    for commit in commits {
        let title = commit.message.lines().next().unwrap_or_default().to_owned();
        if let Some(last) = versions.last_mut()
            && last.at == Some(commit.at)
        {
            last.title = title;
            continue;
        }
        versions.push(Version {
            id: match branch {
                Some(branch) => format!("{}@{branch}", commit.at),
                None => commit.at.to_string(),
            },
            name: name(commit.at, "%Y-%m-%d %H:%M"),
            at: Some(commit.at),
            title,
            release: false,
            amendments: Vec::new(),
        });
    }
    for at in tags.values() {
        // The version that has all of the tag.
        if let Some(version) = versions.iter_mut().find(|version| version.at >= Some(*at)) {
            version.release = true;
        }
    }
    let mut in_minute: HashMap<String, usize> = HashMap::new();
    for version in &versions {
        *in_minute.entry(version.name.clone()).or_default() += 1;
    }
    for version in &mut versions {
        if let (Some(at), true) = (version.at, in_minute[&version.name] > 1) {
            version.name = name(at, "%Y-%m-%d %H:%M:%S");
        }
    }
    versions
}

fn name(at: Timestamp, form: &str) -> String {
    at.to_zoned(TimeZone::UTC).strftime(form).to_string()
}

fn change(commit: &Commit) -> Change {
    let files = commit.files.iter();
    Change {
        id: commit.id.clone().unwrap_or_else(|| commit.at.to_string()),
        name: name(commit.at, "%Y-%m-%d %H:%M:%S"),
        author: commit.author.clone(),
        at: Some(commit.at),
        message: commit.message.clone(),
        parents: Vec::new(),
        files: files
            .map(|(path, lines)| ChangedFile {
                path: printable(path),
                added: lines.map(|(added, _)| added),
                removed: lines.map(|(_, removed)| removed),
            })
            .collect(),
    }
}

impl History for Cvs {
    fn resolve(&self, asked: &str) -> Result<Version, HistoryError> {
        Ok(self.line.versions[self.place(asked)?].clone())
    }

    fn versions(&self, range: &Range, every: &Every) -> Result<Vec<Version>, HistoryError> {
        match range {
            Range::Last(_) => self.line.range(range, every),
            Range::Between { from, to } => {
                let (older, newer) = (self.plain(from)?, self.plain(to)?);
                let plain = Range::Between {
                    from: older,
                    to: newer,
                };
                let stretch = self.line.range(&plain, every);
                stretch.map_err(|error| error.about(from, to))
            }
        }
    }

    fn reached(&self, point: &str, versions: &[Version]) -> Result<Vec<bool>, HistoryError> {
        if self.tags.contains_key(point) {
            return self.line.reached(&self.plain(point)?, versions);
        }
        self.line.reached(point, versions)
    }

    fn between(&self, from: &Version, to: &Version) -> Result<Vec<Change>, HistoryError> {
        let commits = self.commits.iter();
        let inside = commits.filter(|commit| Some(commit.at) > from.at && Some(commit.at) <= to.at);
        Ok(inside.map(change).collect())
    }

    fn diff(
        &self,
        from: &Version,
        to: &Version,
        most: usize,
    ) -> Result<Option<String>, HistoryError> {
        let what = format!(
            "the difference between {} and {} of {}",
            from.name, to.name, self.line.target
        );
        let mut rdiff = cvs(&self.root);
        rdiff.args(["rdiff", "-u"]);
        for version in [from, to] {
            let at = date(version.at.ok_or_else(|| self.line.unknown(&version.name))?);
            match &self.branch {
                Some(branch) => rdiff.args(["-r", &format!("{branch}:{at}")]),
                None => rdiff.args(["-D", &at]),
            };
        }
        rdiff
            .arg("--")
            .arg(&self.module)
            .current_dir(&self.work_folder()?);
        let printed = run(&mut rdiff, &what, FETCHING)?;
        Ok(Some(cut(
            String::from_utf8_lossy(&printed).into_owned(),
            most,
        )))
    }

    fn check_out(&self, version: &Version, tree: &Path) -> Result<(), HistoryError> {
        let version = &self.line.versions[self.line.own(version)?];
        let at = version.at.ok_or_else(|| self.line.unknown(&version.name))?;
        let what = format!(
            "checking {} of {} out of CVS",
            version.name, self.line.target
        );
        self.work_folder()?;
        let copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        let had_copy = copy.exists();
        if let Err(error) = self.fetch(at, &copy, &what) {
            if !had_copy {
                return Err(error);
            }
            // A copy that was broken off in the middle may be past bringing on.
            fs::remove_dir_all(&*copy)
                .map_err(|error| HistoryError::Other(format!("{}: {error}", copy.display())))?;
            self.fetch(at, &copy, &what)?;
        }
        let mut files = tree::of_folder(&copy)?;
        files.retain(|path, _| {
            !path.starts_with(b"CVS/") && !path.windows(5).any(|part| part == b"/CVS/")
        });
        tree::sync(tree, &files, &ContentOrigin::Folder(&copy))
    }
}

impl Cvs {
    fn work_folder(&self) -> Result<PathBuf, HistoryError> {
        fs::create_dir_all(&self.work)
            .map_err(|error| HistoryError::Other(format!("{}: {error}", self.work.display())))?;
        Ok(self.work.clone())
    }
}
