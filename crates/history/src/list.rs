//! Histories that a command lists and another one fetches, for whatever else keeps versions.
//!
//! The first command runs in the folder of the target's file; the second one in an empty folder, with the other's
//! path in `BACKSIGHT_FOLDER`.
//!
//! The same name twice and names that would act on a terminal are errors; commands have a time limit.

use crate::line::Line;
use crate::program::{FETCHING, LISTING, printable, run};
use crate::tree::{self, ContentOrigin};
use crate::{History, HistoryError};
use backsight_model::{Change, Every, ListSource, Range, Template, TemplateError, Value, Version};
use jiff::Timestamp;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A history that a command lists.
pub(crate) struct List {
    line: Line,
    fetch: Template,
    /// The folder of the target's file, where the listing ran; and ours, where versions are fetched.
    folder: PathBuf,
    work: PathBuf,
    limit: Duration,
}

impl List {
    /// Asks the command for its versions.
    ///
    /// # Errors
    /// The command fails or takes too long, or what it printed is no list of versions.
    pub(crate) fn open(
        target: &str,
        source: &ListSource,
        folder: &Path,
        work: &Path,
        now: Timestamp,
    ) -> Result<Self, HistoryError> {
        let what = format!("listing the versions of {target}");
        let line = command(&source.versions, target, None)
            .map_err(|error| HistoryError::Other(format!("{what}: {error}")))?;
        let mut shell = shell(&line, folder);
        let printed = run(&mut shell, &what, LISTING)?;
        let versions = parse(&String::from_utf8_lossy(&printed))
            .map_err(|text| HistoryError::Other(format!("{what}: {text}")))?;
        let line = Line {
            target: target.to_owned(),
            versions,
            now,
        };
        Ok(Self {
            line,
            fetch: source.fetch.clone(),
            folder: folder.to_owned(),
            work: work.to_owned(),
            limit: FETCHING,
        })
    }
}

fn command(
    template: &Template,
    target: &str,
    version: Option<&str>,
) -> Result<String, TemplateError> {
    template.fill_command(&|name| match name {
        "target" => Some(Value::Text(target.to_owned())),
        "version" => version.map(|version| Value::Text(version.to_owned())),
        _ => None,
    })
}

fn shell(line: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder);
    shell
}

/// How many versions are in any text.
pub(crate) fn read_any(text: &str) -> usize {
    parse(text).map_or(0, |versions| versions.len())
}

/// Lines of names, each with perhaps the time when the version was made.
fn parse(text: &str) -> Result<Vec<Version>, String> {
    let mut versions: Vec<Version> = Vec::new();
    let mut seen = HashSet::new();
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let line = line.trim_end();
        if line.is_empty() {
            continue;
        }
        let shown = || printable(&line.chars().take(80).collect::<String>());
        if line.chars().any(|c| c.is_control() && c != '\t') {
            return Err(format!("line {number} has control characters: {}", shown()));
        }
        let mut words = line.split_whitespace();
        let (Some(name), at, None) = (words.next(), words.next(), words.next()) else {
            return Err(format!(
                "line {number} isn't `NAME` or `NAME TIME`: {}",
                shown()
            ));
        };
        let at = match at {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| {
                format!(
                    "line {number} has no time that RFC 3339 knows after the name: {}",
                    shown()
                )
            })?),
        };
        if !seen.insert(name.to_owned()) {
            return Err(format!(
                "line {number} has a name that came before: {}",
                shown()
            ));
        }
        versions.push(Version {
            id: name.to_owned(),
            name: name.to_owned(),
            at,
            title: String::new(),
            release: true,
            amendments: Vec::new(),
        });
    }
    if versions.is_empty() {
        return Err("the command printed no version".into());
    }
    Ok(versions)
}

impl History for List {
    fn resolve(&self, asked: &str) -> Result<Version, HistoryError> {
        self.line.resolve(asked)
    }

    fn versions(&self, range: &Range, every: &Every) -> Result<Vec<Version>, HistoryError> {
        self.line.range(range, every)
    }

    fn reached(&self, point: &str, versions: &[Version]) -> Result<Vec<bool>, HistoryError> {
        self.line.reached(point, versions)
    }

    fn between(&self, _: &Version, _: &Version) -> Result<Vec<Change>, HistoryError> {
        Ok(Vec::new())
    }

    fn diff(&self, _: &Version, _: &Version, _: usize) -> Result<Option<String>, HistoryError> {
        Ok(None)
    }

    fn check_out(&self, version: &Version, tree: &Path) -> Result<(), HistoryError> {
        self.line.own(version)?;
        let what = format!("fetching {} of {}", version.name, self.line.target);
        let line = command(&self.fetch, &self.line.target, Some(&version.id))
            .map_err(|error| HistoryError::Other(format!("{what}: {error}")))?;
        let fresh = crate::temp_dirs::temp_dir(&self.work)?;
        let mut shell = shell(&line, fresh.path());
        // The command runs in the folder that it fills; what lies beside the target's file is reached by this.
        shell.env("BACKSIGHT_FOLDER", &self.folder);
        run(&mut shell, &what, self.limit)?;
        tree::sync(
            tree,
            &tree::of_folder(fresh.path())?,
            &ContentOrigin::Spare(fresh.path()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{Lookback, TimeUnit};
    use proptest::prelude::*;
    use std::fs;

    fn open(folder: &Path, versions: &str, fetch: &str) -> Result<List, HistoryError> {
        let source = ListSource {
            versions: Template::parse(versions).unwrap(),
            fetch: Template::parse(fetch).unwrap(),
        };
        let now = "2024-03-10T00:00:00Z".parse().unwrap();
        List::open("app", &source, folder, &folder.join("work"), now)
    }

    const THREE: &str = "printf 'one 2024-01-01T00:00:00Z\\ntwo 2024-02-01T00:00:00Z\\nthree 2024-03-09T00:00:00Z\\n'";

    #[test]
    fn versions_are_listed_and_fetched() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("same"), "same").unwrap();
        let fetch = "echo {version} > what; cp \"$BACKSIGHT_FOLDER/same\" .";
        let list = open(folder.path(), THREE, fetch).unwrap();
        let tree = folder.path().join("tree");
        list.check_out(&list.resolve("one").unwrap(), &tree)
            .unwrap();
        fs::write(tree.join("built.o"), "o").unwrap();
        let same = fs::metadata(tree.join("same")).unwrap().modified().unwrap();
        list.check_out(&list.resolve("2024-02-15").unwrap(), &tree)
            .unwrap();
        assert_eq!(fs::read_to_string(tree.join("what")).unwrap(), "two\n");
        assert_eq!(
            fs::metadata(tree.join("same")).unwrap().modified().unwrap(),
            same
        );
        assert!(tree.join("built.o").exists());
        assert_eq!(fs::read_dir(folder.path().join("work")).unwrap().count(), 0);
    }

    #[test]
    fn ranges_are_taken_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let list = open(folder.path(), THREE, "true").unwrap();
        let names = |range: &Range, every: &Every| {
            let versions = list.versions(range, every)?;
            Ok::<_, HistoryError>(
                versions
                    .into_iter()
                    .map(|version| version.name)
                    .collect::<Vec<_>>(),
            )
        };
        let between = |from: &str, to: &str| Range::Between {
            from: from.into(),
            to: to.into(),
        };
        assert_eq!(
            names(&between("one", "three"), &Every::Release).unwrap(),
            ["one", "two", "three"]
        );
        assert_eq!(names(&between("two", "two"), &Every::All).unwrap(), ["two"]);
        assert_eq!(
            names(&Range::Last(Lookback(1, TimeUnit::Week)), &Every::All).unwrap(),
            ["two", "three"]
        );
        assert_eq!(
            names(&Range::Last(Lookback(1, TimeUnit::Hour)), &Every::All).unwrap(),
            ["three"]
        );
        let reversed = names(&between("three", "one"), &Every::All).unwrap_err();
        assert!(matches!(reversed, HistoryError::Reversed { .. }));
        assert_eq!(
            names(&between("tow", "three"), &Every::All)
                .unwrap_err()
                .to_string(),
            "`tow` is no version of app: did you mean `two`?"
        );
        let all = list
            .versions(&between("one", "three"), &Every::All)
            .unwrap();
        assert_eq!(list.reached("two", &all).unwrap(), [false, true, true]);
        assert_eq!(
            list.reached("2024-02-02", &all).unwrap(),
            [false, false, true]
        );
        assert!(list.reached("four", &all).is_err());
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        for (versions, message) in [
            ("true", "printed no version"),
            (
                "printf 'a\\nb\\na\\n'",
                "line 3 has a name that came before: a",
            ),
            (
                "printf 'a\\033[2J\\n'",
                "line 1 has control characters: a\u{fffd}[2J",
            ),
            ("echo a yesterday", "line 1 has no time that RFC 3339 knows"),
            ("echo a b c", "line 1 isn't `NAME` or `NAME TIME`"),
            ("echo broken >&2; false", "failed (exit status: 1): broken"),
            ("echo {version}", "`{version}` is not defined here"),
        ] {
            let error = open(folder.path(), versions, "true").err().unwrap();
            assert!(error.to_string().contains(message), "{versions}: {error}");
        }
    }

    #[test]
    fn a_fetch_that_fails_or_hangs_leaves_the_tree_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let fetch = "test {version} = one && echo 1 > f || (echo half > f; echo no such thing >&2; sleep 1000)";
        let mut list = open(folder.path(), THREE, fetch).unwrap();
        list.limit = Duration::from_millis(300);
        let tree = folder.path().join("tree");
        list.check_out(&list.resolve("one").unwrap(), &tree)
            .unwrap();
        let error = list
            .check_out(&list.resolve("two").unwrap(), &tree)
            .unwrap_err();
        assert!(error.to_string().contains("no such thing"), "{error}");
        assert_eq!(fs::read_to_string(tree.join("f")).unwrap(), "1\n");
    }

    #[test]
    fn a_name_is_no_command() {
        let folder = tempfile::tempdir().unwrap();
        let list = open(
            folder.path(),
            "echo \"a;touch\\$IFS'evil'\"",
            "echo {version} > name",
        )
        .unwrap();
        let tree = folder.path().join("tree");
        list.check_out(&list.resolve("a;touch$IFS'evil'").unwrap(), &tree)
            .unwrap();
        assert!(!tree.join("evil").exists());
        assert_eq!(
            fs::read_to_string(tree.join("name")).unwrap(),
            "a;touch$IFS'evil'\n"
        );
    }

    proptest! {
        #[test]
        fn no_output_upsets_the_reader(text: String) {
            if let Ok(versions) = parse(&text) {
                prop_assert!(!versions.is_empty());
            }
        }
    }
}
