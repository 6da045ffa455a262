//! Versions of a package: of Debian, of a language's registry.
//!
//! A registry is asked by its own tool (`apt-get`, `cargo`, `npm`, `pip`, `go`). What was fetched stays under the
//! work folder, in `packages/NAME=VERSION`, and is never fetched twice; a package that a registry no longer has may
//! be put there by hand. Every version is a release. When it was made is known where the registry says so, and of
//! Debian's packages once a change log has been seen.
//!
//! Refuses: names that a tool would take for an option; a package of several archives without a word which it is.

mod debian;
mod registry;
#[cfg(test)]
mod tests;

use crate::fresh;
use crate::line::Line;
use crate::program::{UNPACKING, run};
use crate::tree::{self, Origin};
use crate::{History, HistoryError};
use backsight_model::{Change, Every, PackageKind, PackageSource, Range, Version};
use jiff::Timestamp;
use registry::{Given, Listed};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What marks a file as a change log that was kept.
const LOG: &str = ".changelog";

/// A package with its versions.
pub(crate) struct Packages {
    line: Line,
    source: PackageSource,
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
            check_inside(target, inside)?;
        }
        let mut packages = Self {
            line: Line {
                target: target.to_owned(),
                versions: Vec::new(),
                now,
            },
            source: source.clone(),
            kept: work.join("packages"),
            work: work.to_owned(),
        };
        let listed: Vec<Listed> = if source.versions.is_empty() {
            let empty = fresh::folder(work)?;
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
                "{target}: there is no version of a package {}",
                source.name
            )));
        }
        packages.take(listed)?;
        Ok(packages)
    }

    fn take(&mut self, listed: Vec<Listed>) -> Result<(), HistoryError> {
        let dates = self.dates();
        let mut seen = HashSet::new();
        for (version, at) in listed {
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
            });
        }
        Ok(())
    }

    /// Dates of versions, out of all change logs that were kept.
    fn dates(&self) -> HashMap<String, Timestamp> {
        let files = fs::read_dir(&self.kept).into_iter().flatten().flatten();
        let own = format!("{}=", encoded(&self.source.name));
        let named = |name: &str| name.starts_with(&own) && name.ends_with(LOG);
        files
            .filter(|file| file.file_name().to_str().is_some_and(named))
            .filter_map(|file| fs::read(file.path()).ok())
            .flat_map(|log| debian::entries(&String::from_utf8_lossy(&log)))
            .filter_map(|entry| Some((entry.id, entry.at?)))
            .collect()
    }

    fn place(&self, version: &str, ending: &str) -> PathBuf {
        let (name, version) = (encoded(&self.source.name), encoded(version));
        self.kept.join(format!("{name}={version}{ending}"))
    }

    /// The folder with what the registry gave, fetched if it isn't there yet.
    fn fetched(&self, version: &str) -> Result<(PathBuf, bool), HistoryError> {
        let place = self.place(version, "");
        if place.is_dir() {
            return Ok((place, true));
        }
        fs::create_dir_all(&self.kept).map_err(|error| at(&self.kept, &error))?;
        let room = fresh::folder(&self.work)?;
        match registry::fetch(self.source.kind, &self.source.name, version, room.path())? {
            Given::Folder(folder) => Ok((folder, false)),
            Given::Files => {
                // Under its name only once it is whole.
                fs::rename(room.keep(), &place).map_err(|error| at(&place, &error))?;
                Ok((place, true))
            }
        }
    }

    /// The source of a version, unpacked; the folder lives as long as the room does.
    fn unpacked(&self, version: &str) -> Result<(TempDir, PathBuf), HistoryError> {
        let (given, packed) = self.fetched(version)?;
        let room = fresh::folder(&self.work)?;
        let whole = if packed {
            let whole = room.path().join("whole");
            fs::create_dir(&whole).map_err(|error| at(&whole, &error))?;
            self.unpack_given(&given, &whole)?;
            self.keep_log(version, &whole)?;
            // The top of a binary package is the top of a system.
            let a_system = self.source.kind == PackageKind::Debian;
            if a_system { whole } else { only_folder(whole) }
        } else {
            given
        };
        let inner = self.inside(whole, room.path())?;
        Ok((room, inner))
    }

    fn unpack_given(&self, given: &Path, into: &Path) -> Result<(), HistoryError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(given).map_err(|error| at(given, &error))? {
            files.push(entry.map_err(|error| at(given, &error))?.path());
        }
        let description = files
            .iter()
            .find(|file| file.extension().is_some_and(|e| e == "dsc"));
        match (description, files.as_slice()) {
            (Some(description), _) | (None, [description]) => unpack(description, into),
            _ => Err(HistoryError::Other(format!(
                "{}: {} files instead of one package; remove the folder to have it fetched again",
                given.display(),
                files.len()
            ))),
        }
    }

    /// What is meant by `inside`, or else all of it.
    fn inside(&self, whole: PathBuf, room: &Path) -> Result<PathBuf, HistoryError> {
        let Some(inside) = &self.source.inside else {
            return Ok(whole);
        };
        let place = whole.join(inside);
        let found = fs::symlink_metadata(&place).map_err(|error| {
            HistoryError::Other(format!(
                "{}: no `{inside}` in the package: {error}",
                self.line.target
            ))
        })?;
        if found.is_dir() {
            return Ok(place);
        }
        let inner = room.join("inner");
        fs::create_dir(&inner).map_err(|error| at(&inner, &error))?;
        unpack(&place, &inner)?;
        Ok(only_folder(inner))
    }

    /// Keeps the change log of a Debian package that was unpacked.
    fn keep_log(&self, version: &str, whole: &Path) -> Result<(), HistoryError> {
        let kept = self.place(version, LOG);
        let documents = whole.join("usr/share/doc").join(&self.source.name);
        let packed = ["changelog.Debian.gz", "changelog.gz"].map(|name| documents.join(name));
        let log = if let Some(packed) = packed.iter().find(|place| place.is_file()) {
            run(
                Command::new("gzip").arg("-dc").arg(packed),
                "reading the change log",
                UNPACKING,
            )?
        } else {
            match fs::read(only_folder(whole.to_owned()).join("debian/changelog")) {
                Ok(log) => log,
                Err(_) => return Ok(()),
            }
        };
        fs::write(&kept, log).map_err(|error| at(&kept, &error))
    }

    /// The entries of a version's change log, if it has one.
    fn log(&self, version: &str) -> Result<Vec<Change>, HistoryError> {
        let kept = self.place(version, LOG);
        if !kept.is_file() {
            self.unpacked(version)?;
        }
        let log = fs::read(&kept).unwrap_or_default();
        Ok(debian::entries(&String::from_utf8_lossy(&log)))
    }
}

/// Unpacks an archive by the kind that its name says.
fn unpack(archive: &Path, into: &Path) -> Result<(), HistoryError> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let mut command;
    if name.ends_with(".deb") {
        command = Command::new("dpkg-deb");
        command.arg("--extract").arg(archive).arg(into);
    } else if name.ends_with(".dsc") {
        // It makes the folder itself, and wants that there is none.
        command = Command::new("dpkg-source");
        command
            .args(["--no-check", "--quiet", "--extract"])
            .arg(archive)
            .arg(into.join("source"));
    } else if name.ends_with(".whl") || name.ends_with(".zip") {
        command = Command::new("python3");
        command.args(["-m", "zipfile", "-e"]).arg(archive).arg(into);
    } else {
        command = Command::new("tar");
        command
            .args(["--extract", "--no-same-owner", "--file"])
            .arg(archive)
            .arg("-C")
            .arg(into);
    }
    run(&mut command, &format!("unpacking {name}"), UNPACKING).map(drop)
}

/// The only thing in a folder, if that is a folder; or else the folder itself.
fn only_folder(folder: PathBuf) -> PathBuf {
    let mut found = fs::read_dir(&folder).into_iter().flatten().flatten();
    match (found.next(), found.next()) {
        (Some(only), None) if only.file_type().is_ok_and(|kind| kind.is_dir()) => only.path(),
        _ => folder,
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
        let (room, folder) = self.unpacked(&version.id)?;
        let files = tree::of_folder(&folder)?;
        // What a registry's tool keeps for itself is only read.
        let ours = folder.starts_with(room.path());
        let origin = if ours {
            Origin::Spare(&folder)
        } else {
            Origin::Folder(&folder)
        };
        tree::sync(tree, &files, &origin)
    }
}
