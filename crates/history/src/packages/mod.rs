//! Versions of a package: of Debian, of a language's registry.
//!
//! A registry is asked by its own tool (`apt-get`, `cargo`, `npm`, `pip`, `go`). What was fetched stays under the
//! work folder, in `packages/NAME=VERSION`, and is never fetched twice; a package that a registry no longer has may
//! be put there by hand. Tape archives are read straight into the tree; others are unpacked first. Every version is a
//! release. When it was made is known where the registry says so, and of Debian's packages once a change log has been
//! seen. Where each series has a package of its own, a version names its package: `PACKAGE=VERSION`.
//!
//! A name that a tool would take for an option, and a package of several archives without a choice among them, are errors.

mod archive;
mod debian;
mod extract;
mod registry;
#[cfg(test)]
mod tests;

use crate::line::Line;
use crate::temp_dirs;
use crate::{History, HistoryError};
use archive::ArchiveFormat;
use backsight_model::{Change, Every, PackageKind, PackageSource, Range, Version};
use extract::ExtractRequest;
use jiff::Timestamp;
use registry::{FetchedPackage, ListedVersion};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// How many entries are in any text.
pub(crate) fn read_changelog(text: &str) -> usize {
    debian::entries(text).len()
}

/// What marks a file as a change log that was kept.
const LOG: &str = ".changelog";
/// Stands for the name of a version's package.
const PACKAGE: &str = "{package}";

/// A package with its versions.
pub(crate) struct Packages {
    line: Line,
    source: PackageSource,
    /// The packages of the versions that are of another than the source's own.
    others: HashMap<String, String>,
    /// Where fetched packages are kept.
    kept: PathBuf,
    work: PathBuf,
}

impl Packages {
    /// Lists the versions, unless the target does.
    ///
    /// # Errors
    /// There is no such package, its registry can't be asked, or a name is none.
    pub(crate) fn open(
        target: &str,
        source: &PackageSource,
        work: &Path,
        now: Timestamp,
    ) -> Result<Self, HistoryError> {
        check_name(target, &source.name)?;
        if let Some(inside) = &source.inside {
            check_inside(target, &inside.replace(PACKAGE, &source.name))?;
        }
        let mut packages = Self {
            line: Line {
                target: target.to_owned(),
                versions: Vec::new(),
                now,
            },
            source: source.clone(),
            others: HashMap::new(),
            kept: work.join("packages"),
            work: work.to_owned(),
        };
        let listed: Vec<ListedVersion> = if source.versions.is_empty() {
            let empty = temp_dirs::temp_dir(work)?;
            registry::list(source.kind, &source.name, empty.path())?
        } else {
            source
                .versions
                .iter()
                .map(|version| (version.clone(), None))
                .collect()
        };
        if listed.is_empty() {
            return Err(HistoryError::Other(format!(
                "{target}: there is no version of a package {}: {}",
                source.name,
                registry::way_out(source.kind)
            )));
        }
        packages.take(listed)?;
        Ok(packages)
    }

    fn take(&mut self, listed: Vec<ListedVersion>) -> Result<(), HistoryError> {
        let dates = self.dates(&listed);
        let mut seen = HashSet::new();
        for (named, at) in listed {
            let version = match named.split_once('=') {
                Some((package, version)) => {
                    check_name(&self.line.target, package)?;
                    self.others.insert(version.into(), package.into());
                    version.to_owned()
                }
                None => named,
            };
            check_name(&self.line.target, &version)?;
            if !seen.insert(version.clone()) {
                let target = &self.line.target;
                return Err(HistoryError::Other(format!(
                    "{target}: the version {version} comes twice"
                )));
            }
            self.line.versions.push(Version {
                at: at.or_else(|| dates.get(&version).copied()),
                name: version.clone(),
                id: version,
                title: String::new(),
                release: true,
                amendments: Vec::new(),
            });
        }
        Ok(())
    }

    /// Dates of versions, out of all change logs that were kept of these packages.
    fn dates(&self, listed: &[ListedVersion]) -> HashMap<String, Timestamp> {
        let files = fs::read_dir(&self.kept).into_iter().flatten().flatten();
        let others = listed.iter().filter_map(|(named, _)| named.split_once('='));
        let packages: HashSet<String> = others
            .map(|(package, _)| package)
            .chain([self.source.name.as_str()])
            .map(encoded)
            .collect();
        let named = |file: &str| {
            let package = file.split_once('=').map(|(package, _)| package);
            file.ends_with(LOG) && package.is_some_and(|package| packages.contains(package))
        };
        files
            .filter(|file| file.file_name().to_str().is_some_and(named))
            .filter_map(|file| fs::read(file.path()).ok())
            .flat_map(|log| debian::entries(&String::from_utf8_lossy(&log)))
            .filter_map(|entry| Some((entry.id, entry.at?)))
            .collect()
    }

    /// The package that a version is of.
    fn package(&self, version: &str) -> &str {
        self.others.get(version).unwrap_or(&self.source.name)
    }

    /// What is meant inside a version's package, if that isn't all of it.
    fn inside(&self, version: &str) -> Option<String> {
        let inside = self.source.inside.as_ref()?;
        Some(inside.replace(PACKAGE, self.package(version)))
    }

    fn place(&self, version: &str, ending: &str) -> PathBuf {
        let (name, version) = (encoded(self.package(version)), encoded(version));
        self.kept.join(format!("{name}={version}{ending}"))
    }

    /// The folder with what the registry gave, fetched if it isn't there yet.
    fn fetched(&self, version: &str) -> Result<(PathBuf, bool), HistoryError> {
        let place = self.place(version, "");
        if place.is_dir() {
            return Ok((place, true));
        }
        fs::create_dir_all(&self.kept).map_err(|error| at(&self.kept, &error))?;
        let room = temp_dirs::temp_dir(&self.work)?;
        match registry::fetch(
            self.source.kind,
            self.package(version),
            version,
            room.path(),
        )? {
            FetchedPackage::Folder(folder) => Ok((folder, false)),
            FetchedPackage::Files => {
                // Under its name only once it is whole.
                fs::rename(room.keep(), &place).map_err(|error| at(&place, &error))?;
                Ok((place, true))
            }
        }
    }

    /// Puts a version into a tree if one is named, and keeps its change log.
    fn take_out(&self, version: &str, tree: Option<&Path>) -> Result<(), HistoryError> {
        let (given, packed) = self.fetched(version)?;
        let room = temp_dirs::temp_dir(&self.work)?;
        if !packed {
            return self.sync(&given, false, version, tree, room.path());
        }
        let archive = only_archive(&given)?;
        let unpacker = match ArchiveFormat::detect(&archive)? {
            ArchiveFormat::Stream(unpacker) => unpacker,
            form => {
                let whole = extract::unpacked(&archive, form, &room.path().join("whole"))?;
                self.keep_log(version, extract::source_log(&whole))?;
                return self.sync(&whole, true, version, tree, room.path());
            }
        };
        let inside = self.inside(version);
        let wants = ExtractRequest {
            tree,
            inside: inside.as_deref(),
            documents: Some(self.package(version)),
            room: room.path(),
        };
        // The top of a binary package is the top of a system.
        let without_top = self.source.kind != PackageKind::Debian;
        let taken = extract::take_stream(&archive, unpacker, without_top, &wants)?;
        self.keep_log(version, taken.log)?;
        match (tree, taken.inner) {
            (Some(tree), Some(inner)) => extract::take_archive(&inner, tree, room.path()),
            _ if taken.lacking => Err(self.nothing_inside(version)),
            _ => Ok(()),
        }
    }

    /// Makes a tree, if one is named, what a folder holds, or what is meant by `inside`.
    fn sync(
        &self,
        folder: &Path,
        spare: bool,
        version: &str,
        tree: Option<&Path>,
        room: &Path,
    ) -> Result<(), HistoryError> {
        let Some(tree) = tree else {
            return Ok(());
        };
        let Some(inside) = self.inside(version) else {
            return extract::sync_folder(folder, spare, tree);
        };
        let place = folder.join(inside);
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => extract::sync_folder(&place, spare, tree),
            Ok(found) if found.is_file() => extract::take_archive(&place, tree, room),
            _ => Err(self.nothing_inside(version)),
        }
    }

    fn nothing_inside(&self, version: &str) -> HistoryError {
        HistoryError::Other(format!(
            "{}: no `{}` in the package that is a folder or an archive",
            self.line.target,
            self.inside(version).unwrap_or_default()
        ))
    }

    /// Keeps the change log of a Debian package.
    fn keep_log(&self, version: &str, log: Option<Vec<u8>>) -> Result<(), HistoryError> {
        let kept = self.place(version, LOG);
        log.map_or(Ok(()), |log| fs::write(&kept, log))
            .map_err(|error| at(&kept, &error))
    }

    /// The entries of a version's change log, if it has one.
    fn log(&self, version: &str) -> Result<Vec<Change>, HistoryError> {
        let kept = self.place(version, LOG);
        if !kept.is_file() {
            self.take_out(version, None)?;
        }
        let log = fs::read(&kept).unwrap_or_default();
        Ok(debian::entries(&String::from_utf8_lossy(&log)))
    }
}

/// What a package was given as: the description of its files, or its only file.
fn only_archive(given: &Path) -> Result<PathBuf, HistoryError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(given).map_err(|error| at(given, &error))? {
        files.push(entry.map_err(|error| at(given, &error))?.path());
    }
    let described = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "dsc");
    let description = files.iter().position(described);
    match (description, files.len()) {
        (Some(place), _) => Ok(files.swap_remove(place)),
        (None, 1) => Ok(files.swap_remove(0)),
        (None, count) => Err(HistoryError::Other(format!(
            "{}: {count} files instead of one package; remove the folder to have it fetched again",
            given.display()
        ))),
    }
}

/// A name of a file that no other name has.
fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'+' | b'-' | b'~' | b'_' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02x}"),
        })
        .collect()
}

fn check_name(target: &str, name: &str) -> Result<(), HistoryError> {
    let sound = !name.is_empty()
        && name.len() < 100
        && !name.starts_with('-')
        && !name.contains(|c: char| c.is_whitespace() || c.is_control());
    if sound {
        return Ok(());
    }
    Err(HistoryError::Other(format!(
        "{target}: \"{}\" is no name of a package or version",
        name.escape_debug()
    )))
}

fn check_inside(target: &str, inside: &str) -> Result<(), HistoryError> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !inside.is_empty() && Path::new(inside).components().all(plain) {
        return Ok(());
    }
    Err(HistoryError::Other(format!(
        "{target}: inside = \"{}\" isn't a path inside a package",
        inside.escape_debug()
    )))
}

fn at(place: &Path, error: &std::io::Error) -> HistoryError {
    HistoryError::Other(format!("{}: {error}", place.display()))
}

impl History for Packages {
    fn resolve(&self, asked: &str) -> Result<Version, HistoryError> {
        self.line.resolve(asked)
    }

    fn versions(&self, range: &Range, every: &Every) -> Result<Vec<Version>, HistoryError> {
        self.line.range(range, every)
    }

    fn reached(&self, point: &str, versions: &[Version]) -> Result<Vec<bool>, HistoryError> {
        self.line.reached(point, versions)
    }

    fn between(&self, from: &Version, to: &Version) -> Result<Vec<Change>, HistoryError> {
        let debian = matches!(
            self.source.kind,
            PackageKind::Debian | PackageKind::DebianSource
        );
        if !debian {
            return Ok(Vec::new());
        }
        self.line.own(to)?;
        let mut entries = self.log(&to.id)?;
        entries.retain(|entry| {
            debian::compare(&entry.id, &from.id).is_gt()
                && debian::compare(&entry.id, &to.id).is_le()
        });
        entries.reverse();
        Ok(entries)
    }

    fn diff(&self, _: &Version, _: &Version, _: usize) -> Result<Option<String>, HistoryError> {
        Ok(None)
    }

    fn check_out(&self, version: &Version, tree: &Path) -> Result<(), HistoryError> {
        self.line.own(version)?;
        self.take_out(&version.id, Some(tree))
    }
}
