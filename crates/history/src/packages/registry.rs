//! Asking the tools of each registry which versions a package has, and for one of them.
//!
//! Addresses, keys and mirrors are set up in the registry's own tool, not here.

use super::debian;
use crate::HistoryError;
use crate::program::{FETCHING, LISTING, run};
use backsight_model::PackageKind;
use jiff::Timestamp;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A version as a registry lists it, with when it was published where that is said.
pub(super) type ListedVersion = (String, Option<Timestamp>);

/// `npm` says what went wrong, and not where else it has written that down.
const NPM: &[&str] = &["--loglevel=error", "--logs-max=0"];

/// The versions of a package, oldest first; `empty` is a folder without anything that a tool might look at.
pub(super) fn list(
    kind: PackageKind,
    name: &str,
    empty: &Path,
) -> Result<Vec<ListedVersion>, HistoryError> {
    let ask = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).current_dir(empty);
        let printed = run(
            &mut command,
            &format!("listing the versions of {name}"),
            LISTING,
        )?;
        Ok::<_, HistoryError>(String::from_utf8_lossy(&printed).into_owned())
    };
    Ok(match kind {
        PackageKind::Debian => undated(madison(&ask("apt-cache", &["madison", name])?, "Packages")),
        PackageKind::DebianSource => {
            undated(madison(&ask("apt-cache", &["madison", name])?, "Sources"))
        }
        PackageKind::Npm => {
            let fields = ["versions", "time", "--json"];
            npm(&ask("npm", &[&["view"], NPM, &[name], &fields].concat())?)
        }
        PackageKind::Pypi => undated(pip(&ask(
            "python3",
            &["-m", "pip", "index", "versions", name],
        )?)),
        PackageKind::Go => {
            let printed = ask("go", &["list", "-m", "-versions", name])?;
            undated(
                printed
                    .split_whitespace()
                    .skip(1)
                    .map(str::to_owned)
                    .collect(),
            )
        }
        PackageKind::Crate => {
            ask("cargo", &["info", "--quiet", name])?;
            undated(crate_versions(name))
        }
    })
}

/// Why a registry may list no version of a package, and the way out.
pub(super) fn way_out(kind: PackageKind) -> String {
    match kind {
        PackageKind::DebianSource if lacks_sources() => NO_SOURCES.to_owned(),
        PackageKind::Debian | PackageKind::DebianSource => {
            "apt knows none: is the name right, and has `apt-get update` been run?".to_owned()
        }
        PackageKind::Go => {
            "its repository has no tagged ones: name those that you mean with versions = [\"…\"]"
                .to_owned()
        }
        PackageKind::Crate | PackageKind::Pypi | PackageKind::Npm => {
            "is the name right?".to_owned()
        }
    }
}

const NO_SOURCES: &str = "apt isn't set up for source packages: add `deb-src` to the `Types:` of a file in \
    /etc/apt/sources.list.d (or a `deb-src …` line beside each `deb …` line), then run `apt-get update`";

/// Whether apt is set up without any source packages. One that can't be asked isn't.
fn lacks_sources() -> bool {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "Created-By: Sources"]);
    run(&mut command, "asking apt for its sources", LISTING).is_ok_and(|said| said.is_empty())
}

fn undated(versions: Vec<String>) -> Vec<ListedVersion> {
    versions
        .into_iter()
        .map(|version| (version, None))
        .collect()
}

/// `name | version | where it is kept`, from `apt-cache madison`.
fn madison(printed: &str, kept_in: &str) -> Vec<String> {
    let mut versions: Vec<String> = printed
        .lines()
        .filter(|line| line.trim_end().ends_with(kept_in))
        .filter_map(|line| Some(line.split('|').nth(1)?.trim().to_owned()))
        .collect();
    versions.sort_by(|a, b| debian::compare(a, b));
    versions.dedup();
    versions
}

/// `{"versions": […], "time": {…}}`; of a single version it is a text instead of a list.
fn npm(printed: &str) -> Vec<ListedVersion> {
    let Ok(found) = serde_json::from_str::<Value>(printed) else {
        return Vec::new();
    };
    let versions: Vec<&str> = match &found["versions"] {
        Value::String(only) => vec![only],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let at = |version: &str| found["time"][version].as_str()?.parse().ok();
    versions
        .into_iter()
        .map(|version| (version.to_owned(), at(version)))
        .collect()
}

/// `Available versions: 2.0, 1.0`, the newest first.
fn pip(printed: &str) -> Vec<String> {
    let line = printed
        .lines()
        .find_map(|line| line.strip_prefix("Available versions:"));
    let versions = line
        .unwrap_or_default()
        .split(',')
        .map(|version| version.trim().to_owned());
    let mut versions: Vec<String> = versions.filter(|version| !version.is_empty()).collect();
    versions.reverse();
    versions
}

/// What `cargo` remembers of a crate's versions since it was asked for it: it has no command that prints them.
fn crate_versions(name: &str) -> Vec<String> {
    let lower = name.to_ascii_lowercase();
    let indexes = cargo_home().join("registry/index");
    let places = fs::read_dir(indexes).into_iter().flatten().flatten();
    let newest = places
        .map(|index| {
            index
                .path()
                .join(".cache")
                .join(index_folder(&lower))
                .join(&lower)
        })
        .filter_map(|place| Some((fs::metadata(&place).ok()?.modified().ok()?, place)))
        .max();
    let remembered = newest
        .and_then(|(_, place)| fs::read(place).ok())
        .unwrap_or_default();
    let mut versions: Vec<String> = remembered
        .split(|byte| *byte == 0)
        .filter_map(|part| serde_json::from_slice::<Value>(part).ok())
        .filter(|entry| entry["yanked"] != Value::Bool(true))
        .filter_map(|entry| Some(entry["vers"].as_str()?.to_owned()))
        .collect();
    versions.sort_by_cached_key(|version| semantic(version));
    versions
}

/// Folders that an index spreads crates over by their first letters.
fn index_folder(lower: &str) -> PathBuf {
    let part = |start: usize, end: usize| lower.get(start..end).unwrap_or_default();
    match lower.len() {
        1 => PathBuf::from("1"),
        2 => PathBuf::from("2"),
        3 => Path::new("3").join(part(0, 1)),
        _ => Path::new(part(0, 2)).join(part(2, 4)),
    }
}

/// The order of semantic versions (Semantic Versioning 2.0.0, 11): numbers, then a pre-release before none.
fn semantic(version: &str) -> (Vec<u64>, bool, Vec<(bool, u64, String)>) {
    let version = version.split('+').next().unwrap_or_default();
    let (numbers, before) = version.split_once('-').unwrap_or((version, ""));
    let numbers = numbers
        .split('.')
        .map(|number| number.parse().unwrap_or(0))
        .collect();
    let word = |word: &str| match word.parse() {
        Ok(number) => (false, number, String::new()),
        Err(_) => (true, 0, word.to_owned()),
    };
    (
        numbers,
        before.is_empty(),
        before.split('.').map(word).collect(),
    )
}

fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// What a registry gave: files for us to keep, or a folder that its tool keeps itself.
pub(super) enum FetchedPackage {
    Files,
    Folder(PathBuf),
}

/// Fetches a version into a folder, unless the registry's tool keeps it where it can be read.
pub(super) fn fetch(
    kind: PackageKind,
    name: &str,
    version: &str,
    into: &Path,
) -> Result<FetchedPackage, HistoryError> {
    let what = format!("fetching {name} {version}");
    let ask = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).current_dir(into);
        run(&mut command, &what, FETCHING)
    };
    let (equal, at) = (format!("{name}={version}"), format!("{name}@{version}"));
    match kind {
        PackageKind::Debian => ask("apt-get", &["download", "--quiet", "--quiet", &equal])?,
        PackageKind::DebianSource => {
            let args = ["source", "--download-only", "--quiet", "--quiet", &equal];
            let asked = ask("apt-get", &args);
            asked.map_err(|error| match lacks_sources() {
                true => missing(&what, NO_SOURCES),
                false => error,
            })?
        }
        PackageKind::Npm => ask("npm", &[&["pack"], NPM, &[&at]].concat())?,
        PackageKind::Pypi => {
            let exactly = format!("{name}=={version}");
            ask(
                "python3",
                &["-m", "pip", "download", "--quiet", "--no-deps", &exactly],
            )?
        }
        PackageKind::Go => {
            // Asked for JSON it says what goes wrong where nobody looks for it.
            ask("go", &["mod", "download", &at])?;
            let printed = ask("go", &["mod", "download", "-json", &at])?;
            let found: Value = serde_json::from_slice(&printed).unwrap_or_default();
            let folder = found["Dir"].as_str().map(PathBuf::from);
            return folder
                .map(FetchedPackage::Folder)
                .ok_or_else(|| missing(&what, "`go` names no folder"));
        }
        PackageKind::Crate => {
            ask("cargo", &["info", "--quiet", &at])?;
            let sources = fs::read_dir(cargo_home().join("registry/src"))
                .into_iter()
                .flatten()
                .flatten();
            let name = format!("{name}-{version}");
            let folder = sources
                .map(|source| source.path().join(&name))
                .find(|place| place.is_dir());
            return folder
                .map(FetchedPackage::Folder)
                .ok_or_else(|| missing(&what, "`cargo` didn't keep it"));
        }
    };
    Ok(FetchedPackage::Files)
}

fn missing(what: &str, why: &str) -> HistoryError {
    HistoryError::Other(format!("{what}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_of_the_tools_are_read() {
        let printed = " x | 2-1 | http://m stable/main amd64 Packages\n x | 10-1 | http://m s/main amd64 Packages\n x | 2-1 | http://n s/main amd64 Packages\n x | 3-1 | http://m s/main Sources\n";
        assert_eq!(madison(printed, "Packages"), ["2-1", "10-1"]);
        assert_eq!(madison(printed, "Sources"), ["3-1"]);
        assert_eq!(
            pip("six (1.2)\nAvailable versions: 1.2, 1.10, 1.1\n"),
            ["1.1", "1.10", "1.2"]
        );
        let dated = npm(
            r#"{"versions": ["1.0.0", "2.0.0"], "time": {"created": "x", "1.0.0": "2015-01-01T00:00:00.000Z"}}"#,
        );
        assert_eq!(dated[0].0, "1.0.0");
        assert_eq!(dated[0].1.unwrap().to_string(), "2015-01-01T00:00:00Z");
        assert_eq!(dated[1], ("2.0.0".to_owned(), None));
        assert_eq!(npm(r#"{"versions": "1.0.0"}"#).len(), 1);
    }

    #[test]
    fn semantic_versions_are_ordered() {
        let sorted = [
            "0.9.10",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0",
            "1.2.0",
            "1.10.0",
        ];
        for pair in sorted.windows(2) {
            assert!(semantic(pair[0]) < semantic(pair[1]), "{pair:?}");
        }
        assert_eq!(index_folder("serde"), Path::new("se/rd"));
        assert_eq!(index_folder("nom"), Path::new("3/n"));
    }

    proptest! {
        #[test]
        fn no_output_upsets_the_readers(text: String) {
            madison(&text, "Packages");
            pip(&text);
            npm(&text);
            semantic(&text);
            index_folder(&text);
        }
    }
}
