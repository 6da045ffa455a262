//! File systems that are made for a study: on a device that is named twice, on a sparse file, in memory.

use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    time::Duration,
};

use super::{ChangeState, SettingChange, SettingObstacle};
use crate::{
    machine_root::MachineRoot,
    program::{self, ProgramFault},
    request::SettingRequest,
};

/// Making a file system on a large disk takes minutes where it discards all blocks first.
const LIMIT: Duration = Duration::from_secs(300);
/// File systems whose `mkfs` takes no other arguments than these.
const FORMATS: [(&str, &[&str]); 4] = [
    ("ext4", &["-F", "-q"]),
    ("xfs", &["-f", "-q"]),
    ("btrfs", &["-f", "-q"]),
    ("f2fs", &["-f", "-q"]),
];

/// `[mount]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MountMechanism {
    /// What is mounted.
    pub source: MountSource,
}

/// What is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MountSource {
    /// A file system that is made on the device `{device}`, which `{confirm}` names again. What is on it is lost.
    Device,
    /// A file system that is made on a sparse file of `{size}`.
    Loop,
    /// Memory, up to `{size}`.
    Tmpfs,
}

/// A file system that is made and mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountChange {
    /// What is mounted.
    pub source: MountSource,
    /// The device, or the sparse file; nothing for memory.
    pub device: String,
    /// The kind of file system.
    pub format: String,
    /// Where.
    pub target: String,
    /// Size in bytes; 0 for a device.
    pub size: u64,
    /// Folders that aren't there and are made for it, the outermost first.
    pub folders: Vec<String>,
}

/// A line of the kernel's list of mounts, with its escapes undone.
struct Mounted {
    target: String,
    source: String,
}

fn unescaped(text: &str) -> String {
    let plain = text.replace("\\040", " ").replace("\\011", "\t");
    plain.replace("\\012", "\n").replace("\\134", "\\")
}

fn mounts(machine: &MachineRoot) -> io::Result<Vec<Mounted>> {
    let text = machine.read("/proc/self/mounts")?;
    let lines = text.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let (source, target) = (fields.next()?, fields.next()?);
        Some(Mounted {
            target: unescaped(target),
            source: unescaped(source),
        })
    });
    Ok(lines.collect())
}

/// What a device is called where no link leads to it any more: `/dev/dm-0` for `/dev/mapper/data`.
fn own_name(machine: &MachineRoot, device: &str) -> String {
    let root = machine.path("/");
    let found = fs::canonicalize(machine.path(device)).ok();
    let found = found.and_then(|path| {
        let path = path.strip_prefix(fs::canonicalize(root).ok()?).ok()?;
        Some(format!("/{}", path.to_str()?))
    });
    found.unwrap_or_else(|| device.to_owned())
}

/// Why a device can't be overwritten; none if it is a device, and nothing uses it or its partitions.
fn use_of(machine: &MachineRoot, device: &str) -> Option<String> {
    let own = own_name(machine, device);
    let name = own.strip_prefix("/dev/")?;
    let mut parts = vec![name.to_owned()];
    for partition in machine.files(&format!("/sys/class/block/{name}/*/partition")) {
        parts.extend(partition.rsplit('/').nth(1).map(str::to_owned));
    }
    let mounts = mounts(machine).unwrap_or_default();
    let swaps = machine.read("/proc/swaps").unwrap_or_default();
    for part in parts {
        let path = format!("/dev/{part}");
        let is_it = |other: &str| other == path || own_name(machine, other) == path;
        let sources = mounts
            .iter()
            .filter(|mount| mount.source.starts_with("/dev/"));
        if let Some(mount) = sources.into_iter().find(|mount| is_it(&mount.source)) {
            return Some(format!("{path} is mounted on {}", mount.target));
        }
        let mut swaps = swaps
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        if swaps.any(|swap| swap.starts_with("/dev/") && is_it(swap)) {
            return Some(format!("{path} is in use as swap"));
        }
        let holders = machine.files(&format!("/sys/class/block/{part}/holders/*"));
        if let Some(holder) = holders.first() {
            let holder = holder.rsplit('/').next().unwrap_or_default();
            return Some(format!("{path} is a part of {holder}"));
        }
    }
    if !machine.is_this_machine() {
        return None;
    }
    let path = machine.path(&own);
    if !fs::metadata(&path).is_ok_and(|data| data.file_type().is_block_device()) {
        return Some(format!("{device} is no block device"));
    }
    // The kernel lets one have it alone, if nobody has it or a part of it.
    let alone = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::EXCL.bits().cast_signed())
        .open(path);
    let error = alone.err()?;
    Some(format!("{device} can't be had alone: {error}"))
}

impl MountMechanism {
    pub(super) fn plan(
        &self,
        machine: &MachineRoot,
        request: &SettingRequest,
    ) -> Result<Vec<SettingChange>, SettingObstacle> {
        let refused = |text: String| Err(SettingObstacle::Refused(text));
        let parameter = |name: &str| request.lookup(name).unwrap_or_default();
        let target = parameter("mount");
        let format = match self.source {
            MountSource::Tmpfs => "tmpfs".to_owned(),
            _ => parameter("format"),
        };
        let device = match self.source {
            MountSource::Device => parameter("device"),
            MountSource::Loop => {
                let name = target.trim_matches('/').replace('/', "-");
                format!("/var/lib/backsight/loop-{name}.img")
            }
            MountSource::Tmpfs => "tmpfs".to_owned(),
        };
        let size = backsight_model::Size::parse(&parameter("size")).map_or(0, |size| size.0);
        if size == 0 && self.source != MountSource::Device {
            return refused("its size can't be nothing".into());
        }
        if self.source == MountSource::Device {
            if parameter("confirm") != device {
                return refused(format!(
                    "everything on {device} would be lost: `confirm = \"{device}\"` says that this is meant"
                ));
            }
            if !machine.path(&device).exists() {
                return refused(format!("there is no {device}"));
            }
            if let Some(why) = use_of(machine, &device) {
                return refused(format!("{why}: it isn't overwritten"));
            }
        } else if machine.path(&device).exists() && self.source == MountSource::Loop {
            return refused(format!("{device} is there already: remove it"));
        }
        let programs = match self.source {
            MountSource::Tmpfs => vec!["mount".to_owned(), "umount".to_owned()],
            _ => vec!["mount".into(), "umount".into(), format!("mkfs.{format}")],
        };
        for program in programs {
            if machine.program(&program).is_none() {
                return Err(SettingObstacle::Missing(format!(
                    "`{program}` isn't installed here"
                )));
            }
        }
        if mounts(machine).is_ok_and(|all| all.iter().any(|mount| mount.target == target)) {
            return refused(format!("something is mounted on {target} already"));
        }
        let mut folders = Vec::new();
        let mut folder = target.as_str();
        while !folder.is_empty() && !machine.path(folder).exists() {
            folders.insert(0, folder.to_owned());
            folder = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        Ok(vec![SettingChange::Mount(MountChange {
            source: self.source,
            device,
            format,
            target,
            size,
            folders,
        })])
    }
}

impl MountChange {
    /// Whether it leaves files behind that a restart doesn't remove.
    pub(super) fn leaves_files(&self) -> bool {
        self.source == MountSource::Loop || !self.folders.is_empty()
    }

    pub(super) fn new_text(&self) -> String {
        format!("{} of {} mounted", self.format, self.device)
    }

    pub(super) fn paths(&self) -> Vec<&str> {
        let device = (self.source == MountSource::Loop).then_some(self.device.as_str());
        let folders = self.folders.iter().map(String::as_str);
        folders
            .chain(device)
            .chain([self.target.as_str()])
            .collect()
    }

    pub(super) fn undo_by_hand(&self) -> String {
        match self.source {
            MountSource::Loop => format!("umount {}; rm {}", self.target, self.device),
            _ => format!("umount {}", self.target),
        }
    }

    fn run(machine: &MachineRoot, words: &[&str]) -> Result<(), String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let ran = program::run(machine, &words, LIMIT);
        ran.map(|_| ()).map_err(ProgramFault::into_text)
    }

    /// The mount point as programs see it.
    fn target_path(&self, machine: &MachineRoot) -> String {
        machine.path(&self.target).display().to_string()
    }

    pub(super) fn make(&self, machine: &MachineRoot) -> Result<(), String> {
        for folder in &self.folders {
            let made = fs::create_dir(machine.path(folder));
            made.map_err(|error| format!("{folder} can't be made: {error}"))?;
        }
        let target = self.target_path(machine);
        let size = format!("size={}", self.size);
        if self.source == MountSource::Tmpfs {
            return Self::run(
                machine,
                &["mount", "-t", "tmpfs", "-o", &size, "tmpfs", &target],
            );
        }
        let device = machine.path(&self.device);
        if self.source == MountSource::Loop {
            let fault = |error: io::Error| format!("{} can't be made: {error}", self.device);
            if let Some(folder) = device.parent() {
                fs::create_dir_all(folder).map_err(fault)?;
            }
            let file = File::create_new(&device).map_err(fault)?;
            file.set_len(self.size).map_err(fault)?;
        }
        let device = device.display().to_string();
        let options = FORMATS.iter().find(|(name, _)| *name == self.format);
        let (name, options) =
            options.ok_or_else(|| format!("`{}` isn't made here", self.format))?;
        let mkfs = format!("mkfs.{name}");
        let words = [&[mkfs.as_str()], *options, &[device.as_str()]].concat();
        Self::run(machine, &words)?;
        match self.source {
            // The kernel detaches the loop device with the mount.
            MountSource::Loop => Self::run(
                machine,
                &["mount", "-o", "loop", "-t", name, &device, &target],
            ),
            _ => Self::run(machine, &["mount", "-t", name, &device, &target]),
        }
    }

    fn is_mounted(&self, machine: &MachineRoot) -> Result<bool, String> {
        let target = self.target_path(machine);
        let all = mounts(machine).map_err(|error| format!("mounts can't be read: {error}"))?;
        let is_ours = |source: &str| match self.source {
            MountSource::Device => own_name(machine, source) == own_name(machine, &self.device),
            MountSource::Loop => source.starts_with("/dev/loop"),
            MountSource::Tmpfs => source == "tmpfs",
        };
        Ok(all
            .iter()
            .any(|mount| mount.target == target && is_ours(&mount.source)))
    }

    /// Whether something of it is left but the mount: after a restart, or where it was never mounted.
    fn is_left(&self, machine: &MachineRoot) -> bool {
        let is_empty = |folder: &String| {
            let entries = fs::read_dir(machine.path(folder));
            // Somebody else's files may lie in it by now.
            entries.is_ok_and(|mut entries| entries.next().is_none())
        };
        self.folders.iter().any(is_empty)
            || self.source == MountSource::Loop && machine.path(&self.device).exists()
    }

    pub(super) fn state(&self, machine: &MachineRoot) -> ChangeState {
        match self.is_mounted(machine) {
            Ok(mounted) if mounted || self.is_left(machine) => ChangeState::New,
            Ok(_) => ChangeState::Old,
            Err(fault) => ChangeState::Unreadable(fault),
        }
    }

    pub(super) fn undo(&self, machine: &MachineRoot) -> Result<(), String> {
        if self.is_mounted(machine)? {
            Self::run(machine, &["umount", "--", &self.target_path(machine)])?;
        }
        if self.source == MountSource::Loop {
            match fs::remove_file(machine.path(&self.device)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(format!("{} can't be removed: {error}", self.device));
                }
                _ => {}
            }
        }
        for folder in self.folders.iter().rev() {
            match fs::remove_dir(machine.path(folder)) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(format!("{folder} can't be removed: {error}"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
