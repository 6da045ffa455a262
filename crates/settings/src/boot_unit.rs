//! The unit with which a machine puts back at its start what an interrupted study left changed: after a power cut nobody else may come.
//!
//! systemd starts it. The program that it runs is a copy in [`PROGRAMS`], since what an agent runs from is a cache that is cleaned, and
//! what a user runs from may be anywhere: a build's folder, a home that is mounted later. The copy's name has the version; older ones
//! are removed. Everything is on disk before the next step, so that a power cut leaves a unit whose program is there, or none.

use rustix::fs::{OFlags, open};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{machine_root::MachineRoot, program};

/// The unit, with `PROGRAM` for the program's path.
const UNIT: &str = include_str!("../units/backsight-restore.service");
/// Where it is.
const UNIT_PATH: &str = "/etc/systemd/system/backsight-restore.service";
/// What has it started.
const WANTED_PATH: &str = "/etc/systemd/system/multi-user.target.wants/backsight-restore.service";
/// Where its programs are.
const PROGRAMS: &str = "/usr/local/lib/backsight";
/// What their names begin with.
const PROGRAM_PREFIX: &str = "backsight-";
/// What is there where systemd runs.
const SYSTEMD: &str = "/run/systemd/system";
/// How long systemd may take to read its units again.
const RELOAD_LIMIT: Duration = Duration::from_secs(60);

/// What to do with the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootUnitAction {
    /// It shall be there, as this version has it.
    Install,
    /// It shall not.
    Uninstall,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BootUnitReport {
    /// What was done, in order.
    pub done: Vec<BootUnitStep>,
    /// Why it couldn't be; then nothing was done.
    pub obstacle: Option<BootUnitObstacle>,
}

/// A thing that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum BootUnitStep {
    /// A file or a link was written.
    Wrote {
        /// Which.
        path: String,
    },
    /// One was removed.
    Removed {
        /// Which.
        path: String,
    },
    /// systemd can't be told, and will know after the next start of the machine.
    NotReloaded {
        /// What was said.
        why: String,
    },
}

/// Why a machine can't have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootUnitObstacle {
    /// Another init runs there.
    NoSystemd,
    /// The user isn't root.
    NeedsRoot,
}

impl fmt::Display for BootUnitStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrote { path } => write!(f, "{path}: written"),
            Self::Removed { path } => write!(f, "{path}: removed"),
            Self::NotReloaded { why } => {
                write!(
                    f,
                    "systemd reads its units again when it starts next: {why}"
                )
            }
        }
    }
}

impl fmt::Display for BootUnitObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSystemd => {
                "systemd doesn't run here, so that nothing is installed: have what starts the machine run `backsight restore` as root"
            }
            Self::NeedsRoot => "only root may install what runs when the machine starts: nothing is changed",
        })
    }
}

impl BootUnitReport {
    /// Whether the machine is as was asked.
    pub fn is_complete(&self) -> bool {
        self.obstacle.is_none()
    }

    /// What came of it, a sentence each, for people.
    pub fn sentences(&self, action: BootUnitAction) -> Vec<String> {
        let obstacle = self.obstacle.iter().map(ToString::to_string);
        let mut said: Vec<String> = obstacle
            .chain(self.done.iter().map(ToString::to_string))
            .collect();
        if said.is_empty() {
            said.push("nothing is to do".to_owned());
        }
        if self.is_complete() {
            said.push(
                match action {
                    BootUnitAction::Install => {
                        "at each start it puts back what an interrupted study left changed"
                    }
                    BootUnitAction::Uninstall => "at its start nothing is put back",
                }
                .to_owned(),
            );
        }
        said
    }
}

/// What went wrong half-way: the same action may be tried again.
#[derive(Debug, thiserror::Error)]
#[error("{}: {doing}: {cause}", path.display())]
pub struct BootUnitError {
    path: PathBuf,
    doing: &'static str,
    cause: io::Error,
}

fn fault(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> BootUnitError {
    let path = path.to_owned();
    move |cause| BootUnitError { path, doing, cause }
}

/// Installs the unit on a machine, with a copy of this program, or removes both. Once more, it does nothing.
///
/// # Errors
/// A file can't be written or removed.
pub fn change_boot_unit(
    machine: &MachineRoot,
    program: &Path,
    action: BootUnitAction,
) -> Result<BootUnitReport, BootUnitError> {
    let mut report = BootUnitReport::default();
    let obstacle = match action {
        _ if !machine.permits_root() => Some(BootUnitObstacle::NeedsRoot),
        BootUnitAction::Install if !machine.path(SYSTEMD).is_dir() => {
            Some(BootUnitObstacle::NoSystemd)
        }
        _ => None,
    };
    if obstacle.is_some() {
        report.obstacle = obstacle;
        return Ok(report);
    }
    match action {
        BootUnitAction::Install => install(machine, program, &mut report.done)?,
        BootUnitAction::Uninstall => uninstall(machine, &mut report.done)?,
    }
    if !report.done.is_empty() && machine.path(SYSTEMD).is_dir() {
        let words = ["systemctl", "daemon-reload"].map(str::to_owned);
        if let Err(fault) = program::run(machine, &words, RELOAD_LIMIT) {
            let why = fault.into_text();
            report.done.push(BootUnitStep::NotReloaded { why });
        }
    }
    Ok(report)
}

fn install(
    machine: &MachineRoot,
    program: &Path,
    done: &mut Vec<BootUnitStep>,
) -> Result<(), BootUnitError> {
    let name = format!("{PROGRAM_PREFIX}{}", env!("CARGO_PKG_VERSION"));
    let copy = format!("{PROGRAMS}/{name}");
    let bytes = fs::read(program).map_err(fault(program, "reading it"))?;
    write(machine, &copy, &bytes, 0o755, done)?;
    write(
        machine,
        UNIT_PATH,
        UNIT.replace("PROGRAM", &copy).as_bytes(),
        0o644,
        done,
    )?;
    let wanted = machine.path(WANTED_PATH);
    if fs::read_link(&wanted).ok().as_deref() != Some(Path::new(UNIT_PATH)) {
        make_folder(&wanted)?;
        remove_file(&wanted)?;
        symlink(UNIT_PATH, &wanted).map_err(fault(&wanted, "making it"))?;
        sync_folder(&wanted)?;
        done.push(BootUnitStep::Wrote {
            path: WANTED_PATH.to_owned(),
        });
    }
    remove_programs(machine, Some(&name), done)
}

fn uninstall(machine: &MachineRoot, done: &mut Vec<BootUnitStep>) -> Result<(), BootUnitError> {
    for path in [WANTED_PATH, UNIT_PATH] {
        if remove_file(&machine.path(path))? {
            sync_folder(&machine.path(path))?;
            done.push(BootUnitStep::Removed {
                path: path.to_owned(),
            });
        }
    }
    remove_programs(machine, None, done)?;
    let _others_are_in_it = fs::remove_dir(machine.path(PROGRAMS));
    Ok(())
}

/// Removes the programs of the unit but this one.
fn remove_programs(
    machine: &MachineRoot,
    kept: Option<&str>,
    done: &mut Vec<BootUnitStep>,
) -> Result<(), BootUnitError> {
    let there = fs::read_dir(machine.path(PROGRAMS))
        .into_iter()
        .flatten()
        .flatten();
    let names = there.filter_map(|entry| entry.file_name().into_string().ok());
    let mut old: Vec<String> = names
        .filter(|name| name.starts_with(PROGRAM_PREFIX) && Some(name.as_str()) != kept)
        .collect();
    old.sort();
    for name in old {
        let path = format!("{PROGRAMS}/{name}");
        remove_file(&machine.path(&path))?;
        done.push(BootUnitStep::Removed { path });
    }
    Ok(())
}

/// Makes a file have these bytes, all of them on disk or none.
fn write(
    machine: &MachineRoot,
    path: &str,
    bytes: &[u8],
    mode: u32,
    done: &mut Vec<BootUnitStep>,
) -> Result<(), BootUnitError> {
    let place = machine.path(path);
    if has(&place, bytes, mode) {
        return Ok(());
    }
    make_folder(&place)?;
    let new = place.with_extension("new");
    remove_file(&new)?;
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&new);
    let written = written.and_then(|mut file| {
        file.write_all(bytes)?;
        // The user's mask has no say.
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()
    });
    written.map_err(fault(&new, "writing it"))?;
    fs::rename(&new, &place).map_err(fault(&place, "replacing it"))?;
    sync_folder(&place)?;
    done.push(BootUnitStep::Wrote {
        path: path.to_owned(),
    });
    Ok(())
}

/// Whether a file, no link, has these bytes and this mode.
fn has(path: &Path, bytes: &[u8], mode: u32) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = open(path, flags, rustix::fs::Mode::empty()) else {
        return false;
    };
    let mut file = File::from(file);
    let mut found = Vec::new();
    file.metadata().is_ok_and(|data| {
        data.is_file()
            && data.permissions().mode() & 0o7777 == mode
            && data.len() == bytes.len() as u64
    }) && file.read_to_end(&mut found).is_ok()
        && found == bytes
}

fn make_folder(path: &Path) -> Result<(), BootUnitError> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|folder| !folder.exists())
        .collect();
    let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
    made.map_err(fault(folder, "making it"))?;
    missing.into_iter().try_for_each(sync_folder)
}

/// Has what was made or removed in a path's folder on disk.
fn sync_folder(path: &Path) -> Result<(), BootUnitError> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(fault(folder, "writing it to disk"))
}

/// Whether there was one.
fn remove_file(path: &Path) -> Result<bool, BootUnitError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(fault(path, "removing it")(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BootUnitAction::{Install, Uninstall};

    /// A machine in a folder, whose `systemctl` leaves a file.
    fn machine(folder: &Path) -> MachineRoot {
        let programs = folder.join("usr/bin");
        fs::create_dir_all(&programs).unwrap();
        let script = format!("#!/bin/sh\necho \"$@\" >> {}/said\n", folder.display());
        fs::write(programs.join("systemctl"), script).unwrap();
        fs::set_permissions(programs.join("systemctl"), Permissions::from_mode(0o755)).unwrap();
        MachineRoot::in_folder(folder, vec![programs])
    }

    fn paths(report: &BootUnitReport) -> Vec<&str> {
        let paths = report.done.iter().map(|step| match step {
            BootUnitStep::Wrote { path } | BootUnitStep::Removed { path } => path.as_str(),
            BootUnitStep::NotReloaded { why } => why,
        });
        paths.collect()
    }

    #[test]
    fn it_is_installed_once_replaced_by_another_version_and_removed_without_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine(folder.path());
        fs::create_dir_all(folder.path().join("run/systemd/system")).unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "one").unwrap();
        let installed = change_boot_unit(&machine, &program, Install).unwrap();
        let copy = format!("{PROGRAMS}/backsight-{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(paths(&installed), [copy.as_str(), UNIT_PATH, WANTED_PATH]);
        let unit = fs::read_to_string(machine.path(UNIT_PATH)).unwrap();
        assert!(
            unit.contains(&format!("ExecStart={copy} restore\n")),
            "{unit}"
        );
        assert_eq!(
            fs::read_to_string(folder.path().join("said")).unwrap(),
            "daemon-reload\n"
        );
        let mode = fs::metadata(machine.path(&copy))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o755);
        // Once more: nothing is done, and systemd isn't bothered.
        let again = change_boot_unit(&machine, &program, Install).unwrap();
        assert_eq!(again, BootUnitReport::default());
        assert_eq!(
            fs::read_to_string(folder.path().join("said"))
                .unwrap()
                .lines()
                .count(),
            1
        );
        // Another build, beside what an older version left.
        fs::write(&program, "two").unwrap();
        let old = format!("{PROGRAMS}/backsight-0.0.1");
        fs::write(machine.path(&old), "").unwrap();
        let replaced = change_boot_unit(&machine, &program, Install).unwrap();
        assert_eq!(paths(&replaced), [copy.as_str(), old.as_str()]);
        assert_eq!(fs::read(machine.path(&copy)).unwrap(), b"two");
        let removed = change_boot_unit(&machine, &program, Uninstall).unwrap();
        assert_eq!(paths(&removed), [WANTED_PATH, UNIT_PATH, copy.as_str()]);
        assert!(!machine.path(PROGRAMS).exists());
        let again = change_boot_unit(&machine, &program, Uninstall).unwrap();
        assert_eq!(again, BootUnitReport::default());
        assert_eq!(again.sentences(Uninstall)[0], "nothing is to do");
    }

    #[test]
    fn a_machine_without_systemd_is_told_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine(folder.path());
        let program = folder.path().join("program");
        fs::write(&program, "one").unwrap();
        let report = change_boot_unit(&machine, &program, Install).unwrap();
        assert_eq!(report.obstacle, Some(BootUnitObstacle::NoSystemd));
        assert!(!report.is_complete() && !machine.path(PROGRAMS).exists());
        assert!(report.sentences(Install)[0].contains("systemd doesn't run here"));
    }

    #[test]
    fn systemd_that_can_not_be_told_is_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let machine = MachineRoot::in_folder(folder.path(), Vec::new());
        fs::create_dir_all(folder.path().join("run/systemd/system")).unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "one").unwrap();
        let report = change_boot_unit(&machine, &program, Install).unwrap();
        assert!(report.is_complete());
        assert!(matches!(
            report.done.last(),
            Some(BootUnitStep::NotReloaded { .. })
        ));
    }

    #[test]
    fn systemd_finds_no_fault_with_it() {
        if backsight_test_needs::Need::Systemd.is_missing() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let unit = folder.path().join("backsight-restore.service");
        fs::write(&unit, UNIT.replace("PROGRAM", "/bin/true")).unwrap();
        let mut verify = std::process::Command::new("systemd-analyze");
        let output = verify.arg("verify").arg(&unit).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("backsight-restore"), "{said}");
    }
}
