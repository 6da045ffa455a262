//! Limits of what a trial's programs use together, kept by the kernel's control groups (`[limit]`). A group is made for a trial and
//! removed after it, so that nothing of the machine is changed.
//!
//! Of version 2 where a group above this process passes the controller on, else of version 1. Whoever makes groups asks for all limits
//! of a trial at once: a program is in one group of version 2.

use backsight_model::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use super::{SettingChange, SettingObstacle};
use crate::{
    cgroups::OwnCgroups, machine_root::MachineRoot, placeholder, request::SettingRequest,
    value::SettingValue,
};

/// Over this time the kernel counts what of the processors is used, in microseconds.
const CPU_PERIOD: u64 = 100_000;
/// Least that the kernel lets a group use of a processor in that time.
const LEAST_CPU: u64 = 1_000;

/// `[limit]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LimitMechanism {
    /// What a value says.
    pub unit: LimitUnit,
    /// How it is kept by control groups of version 2.
    pub unified: LimitFiles,
    /// How it is kept by those of version 1.
    #[serde(default)]
    pub legacy: Option<LimitFiles>,
}

/// What a limit's value says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitUnit {
    /// A size, `512MiB`, or a number of bytes.
    Bytes,
    /// A whole number.
    Count,
    /// A number of processors, `1.5`; written in microseconds of each 100 ms.
    Cpus,
}

/// The files of a group that keep a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitFiles {
    /// The controller that makes them.
    pub controller: String,
    /// What is written into them, in this order.
    pub files: Vec<LimitFile>,
    /// Where the kernel counts how often the limit stopped a program; none where it only slows programs down.
    #[serde(default)]
    pub event: Option<LimitEvent>,
}

/// A file of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitFile {
    /// Its name.
    pub name: String,
    /// The text, with placeholders: `{value}`, and `{number}` for the number of the block device that is a parameter.
    pub text: String,
    /// Whether some kernels haven't the file.
    #[serde(default)]
    pub optional: bool,
}

/// A counter of the kernel's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitEvent {
    /// The file.
    pub file: String,
    /// The word before the number in it.
    pub name: String,
    /// What happened so often, for people: `the kernel killed a program`.
    pub about: String,
    /// Whether a step fails that ended well meanwhile: a part of what it had started is gone.
    #[serde(default)]
    pub fatal: bool,
}

/// A limit that somebody asks for.
#[derive(Debug, Clone, Copy)]
pub struct WantedLimit<'a> {
    /// The setting's name.
    pub setting: &'a str,
    /// How it is kept.
    pub mechanism: &'a LimitMechanism,
    /// Its value.
    pub request: &'a SettingRequest,
}

/// A limit with the folder that keeps it.
struct PlacedLimit<'a> {
    wanted: WantedLimit<'a>,
    files: &'a LimitFiles,
    parent: PathBuf,
    is_unified: bool,
}

/// Groups that were made for one trial: at most one of version 2, and one of version 1 for each controller.
#[derive(Debug, Default)]
pub struct LimitGroups {
    folders: Vec<PathBuf>,
    /// The one of version 2 among them.
    unified: Option<PathBuf>,
    counters: Vec<LimitCounter>,
}

/// A counter of a limit.
#[derive(Debug)]
struct LimitCounter {
    limit: String,
    file: PathBuf,
    event: LimitEvent,
}

/// What a limit did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitHit {
    /// The limit: `process.limits.memory = 64MiB`.
    pub limit: String,
    /// What happened: `the kernel killed a program`.
    pub about: String,
    /// How often.
    pub count: u64,
    /// Whether a step fails that ended well meanwhile.
    pub fatal: bool,
}

impl LimitMechanism {
    pub(super) fn templates(&self) -> Vec<&str> {
        let all = [Some(&self.unified), self.legacy.as_ref()];
        let files = all.into_iter().flatten().flat_map(|it| &it.files);
        files.map(|file| file.text.as_str()).collect()
    }

    /// Checks what a value's type doesn't say.
    ///
    /// # Errors
    /// It can't be the limit's.
    pub(crate) fn check(&self, value: &SettingValue) -> Result<(), String> {
        self.unit.written(value).map(drop)
    }

    /// Makes the group for a moment: what the machine hasn't or refuses is known before anything is measured.
    pub(super) fn plan(
        &self,
        machine: &MachineRoot,
        setting: &str,
        request: &SettingRequest,
    ) -> Result<Vec<SettingChange>, SettingObstacle> {
        let wanted = WantedLimit {
            setting,
            mechanism: self,
            request,
        };
        let name = format!("backsight-try-{}", std::process::id());
        place(machine, &[wanted])?;
        let made = LimitGroups::make(machine, &name, &[wanted]);
        made.map_err(SettingObstacle::Refused)?.remove();
        Ok(Vec::new())
    }
}

impl LimitUnit {
    /// A value as files of the kernel's take it.
    fn written(self, value: &SettingValue) -> Result<u64, String> {
        let text = value.to_string();
        let number = match self {
            Self::Bytes => match text.parse() {
                Ok(bytes) => Some(bytes),
                Err(_) => Some(Size::parse(&text).map_err(|error| error.to_string())?.0),
            },
            Self::Count => text.parse().ok(),
            Self::Cpus => {
                let cpus = text.parse::<f64>().ok().filter(|cpus| *cpus < 1e6);
                cpus.map(|cpus| (cpus * CPU_PERIOD as f64).round() as u64)
            }
        };
        let least = if self == Self::Cpus { LEAST_CPU } else { 1 };
        number.filter(|it| *it >= least).ok_or_else(|| match self {
            Self::Bytes => format!("`{text}` is no size above 0"),
            Self::Count => format!("`{text}` is no whole number above 0"),
            Self::Cpus => {
                format!("`{text}` is no number of processors from 0.01 on, such as `1.5`")
            }
        })
    }
}

/// Finds the groups below which those of these limits are made.
fn place<'a>(
    machine: &MachineRoot,
    wanted: &[WantedLimit<'a>],
) -> Result<Vec<PlacedLimit<'a>>, SettingObstacle> {
    let own = OwnCgroups::read(machine);
    let is_passed_on = |group: &Path, controller: &str| {
        let passed_on =
            fs::read_to_string(machine.path_below(group).join("cgroup.subtree_control"));
        passed_on.is_ok_and(|words| words.split_whitespace().any(|word| word == controller))
    };
    let above = |root: &Path, group: &Path| -> Vec<PathBuf> {
        let all = group.ancestors().take_while(|it| it.starts_with(root));
        all.map(Path::to_path_buf).collect()
    };
    let by_unified = |controller: &str| {
        let (root, group) = own.unified.as_ref()?;
        let mut above = above(root, group).into_iter();
        above.find(|group| is_passed_on(group, controller))
    };
    // One group for all controllers of version 2: the nearest that passes all of them on.
    let (mut unified, mut placed) = (Vec::new(), Vec::new());
    for one in wanted {
        let files = &one.mechanism.unified;
        if by_unified(&files.controller).is_some() {
            unified.push((*one, files));
            continue;
        }
        let legacy = one.mechanism.legacy.as_ref();
        let parent = legacy.and_then(|files| own.legacy_of(&files.controller));
        let (Some(files), Some(parent)) = (legacy, parent) else {
            return Err(missing(machine, &own, one));
        };
        placed.push(PlacedLimit {
            wanted: *one,
            files,
            parent: parent.to_owned(),
            is_unified: false,
        });
    }
    if let (Some((root, group)), false) = (&own.unified, unified.is_empty()) {
        let passes_all = |group: &PathBuf| {
            let mut all = unified.iter();
            all.all(|(_, files)| is_passed_on(group, &files.controller))
        };
        let Some(parent) = above(root, group).into_iter().find(passes_all) else {
            let names: Vec<&str> = unified.iter().map(|(it, _)| it.setting).collect();
            return Err(SettingObstacle::Missing(format!(
                "no control group above the agent passes the controllers of {} on together",
                names.join(", ")
            )));
        };
        placed.extend(unified.into_iter().map(|(wanted, files)| PlacedLimit {
            wanted,
            files,
            parent: parent.clone(),
            is_unified: true,
        }));
    }
    Ok(placed)
}

fn missing(machine: &MachineRoot, own: &OwnCgroups, limit: &WantedLimit<'_>) -> SettingObstacle {
    let controller = &limit.mechanism.unified.controller;
    let root = own.unified.as_ref().map(|(root, _)| root);
    let there = root.filter(|root| {
        let names = fs::read_to_string(machine.path_below(root).join("cgroup.controllers"));
        names.is_ok_and(|names| names.split_whitespace().any(|name| name == controller))
    });
    SettingObstacle::Missing(match there {
        Some(root) => format!(
            "no control group above the agent passes the controller `{controller}` on: `echo +{controller} > {}/cgroup.subtree_control` does",
            root.display()
        ),
        None => {
            let version = match limit.mechanism.legacy {
                Some(_) => "",
                None => " of version 2",
            };
            format!("the kernel has no controller `{controller}` for control groups{version} here")
        }
    })
}

impl LimitGroups {
    /// The folders that groups of this name would be, for whoever removes them after this process.
    pub fn folders_for(
        machine: &MachineRoot,
        name: &str,
        wanted: &[WantedLimit<'_>],
    ) -> Vec<PathBuf> {
        let placed = place(machine, wanted).unwrap_or_default();
        let mut folders: Vec<PathBuf> = placed.iter().map(|it| it.parent.join(name)).collect();
        folders.sort();
        folders.dedup();
        folders
    }

    /// Makes groups of this name with these limits, and reads each of them again. Nothing is left where one can't be made.
    ///
    /// # Errors
    /// The machine hasn't a controller; it refuses a value, or doesn't hold it.
    pub fn make(
        machine: &MachineRoot,
        name: &str,
        wanted: &[WantedLimit<'_>],
    ) -> Result<Self, String> {
        let placed = place(machine, wanted).map_err(|obstacle| match obstacle {
            SettingObstacle::Missing(why) | SettingObstacle::Refused(why) => why,
        })?;
        let mut groups = Self::default();
        for limit in &placed {
            if let Err(fault) = groups.add(machine, name, limit) {
                groups.remove();
                return Err(fault);
            }
        }
        Ok(groups)
    }

    fn add(
        &mut self,
        machine: &MachineRoot,
        name: &str,
        limit: &PlacedLimit<'_>,
    ) -> Result<(), String> {
        let folder = machine.path_below(&limit.parent).join(name);
        if !self.folders.contains(&folder) {
            fs::create_dir(&folder).map_err(|error| match error.kind() {
                std::io::ErrorKind::PermissionDenied => "only root may".to_owned(),
                _ => format!("{} can't be made: {error}", folder.display()),
            })?;
            self.folders.push(folder.clone());
        }
        if limit.is_unified {
            self.unified = Some(folder.clone());
        }
        let WantedLimit {
            setting,
            mechanism,
            request,
        } = limit.wanted;
        let value = request.value.as_ref().ok_or("it has no value")?;
        let written = mechanism.unit.written(value)?;
        let number = request.parameters.get("device").map(|it| block_number(it));
        let number = number.transpose()?;
        let lookup = |name: &str| match name {
            "value" => Some(written.to_string()),
            "number" => number.clone(),
            _ => request.lookup(name),
        };
        for file in &limit.files.files {
            let path = folder.join(&file.name);
            // In a folder that stands for a machine the kernel makes no files.
            if machine.is_this_machine() && file.optional && !path.exists() {
                continue;
            }
            let text = placeholder::fill(&file.text, &lookup)?;
            let refused =
                |error| format!("`{text}` can't be written to {}: {error}", path.display());
            fs::write(&path, &text).map_err(refused)?;
            let read = fs::read_to_string(&path).unwrap_or_default();
            if !holds(read.trim(), &text) {
                return Err(format!(
                    "{} doesn't hold `{text}`: it reads `{}`",
                    path.display(),
                    read.trim()
                ));
            }
        }
        if let Some(event) = &limit.files.event {
            let parameters = match request.parameters.is_empty() {
                true => String::new(),
                false => format!(" ({})", request.shown_parameters()),
            };
            self.counters.push(LimitCounter {
                limit: format!("{setting} = {value}{parameters}"),
                file: folder.join(&event.file),
                event: event.clone(),
            });
        }
        Ok(())
    }

    /// The files into which a process writes `0` to become a member.
    pub fn member_files(&self) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().map(|it| it.join("cgroup.procs"))
    }

    /// The processes in them.
    pub fn members(&self) -> Vec<i32> {
        let texts = self.member_files().map(fs::read_to_string);
        let texts: Vec<String> = texts.filter_map(Result::ok).collect();
        let lines = texts.iter().flat_map(|text| text.lines());
        lines.filter_map(|line| line.trim().parse().ok()).collect()
    }

    /// The group of version 2: its members left that of whoever made it.
    pub fn unified(&self) -> Option<&Path> {
        self.unified.as_deref()
    }

    /// What the limits did so far.
    pub fn hits(&self) -> Vec<LimitHit> {
        let hits = self.counters.iter().filter_map(|counter| {
            let text = fs::read_to_string(&counter.file).ok()?;
            let count = text.lines().find_map(|line| {
                let (name, count) = line.split_once(' ')?;
                (name == counter.event.name).then(|| count.trim().parse::<u64>().ok())?
            })?;
            Some(LimitHit {
                limit: counter.limit.clone(),
                about: counter.event.about.clone(),
                count,
                fatal: counter.event.fatal,
            })
        });
        hits.filter(|hit| hit.count > 0).collect()
    }

    /// The folders.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Removes groups that nobody is in.
    pub fn remove(self) {
        for folder in &self.folders {
            let _busy_for_the_sweep = fs::remove_dir(folder);
        }
    }
}

/// Whether what a file of the kernel's shows has all that was written: sizes are rounded down to pages, and a device has more limits
/// than one.
fn holds(read: &str, written: &str) -> bool {
    let page = rustix::param::page_size() as u64;
    match (read.parse::<u64>(), written.parse::<u64>()) {
        (Ok(read), Ok(written)) => read == written || read == written / page * page,
        _ => {
            let mut words = written.split_whitespace();
            words.all(|word| read.split_whitespace().any(|it| it == word))
        }
    }
}

/// The number of a block device, as files of control groups name it.
fn block_number(device: &str) -> Result<String, String> {
    let found = fs::metadata(device).map_err(|error| format!("{device}: {error}"))?;
    if !found.file_type().is_block_device() {
        return Err(format!("{device} is no block device"));
    }
    let number = found.rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    Ok(format!("{major}:{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SettingCatalog, value::ValueType};
    use indexmap::IndexMap;

    /// A machine whose agent is in `/user/session`; these controllers there are, and are passed on.
    fn machine(there: &str, passed_on: &str) -> (tempfile::TempDir, MachineRoot) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let group = root.join("sys/fs/cgroup/user/session");
        fs::create_dir_all(&group).unwrap();
        fs::create_dir_all(root.join("proc/self")).unwrap();
        fs::write(
            root.join("proc/self/cgroup"),
            "4:pids:/\n0::/user/session\n",
        )
        .unwrap();
        let mounts = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n42 31 0:39 / /old rw - cgroup cgroup rw,pids\n";
        fs::write(root.join("proc/self/mountinfo"), mounts).unwrap();
        fs::create_dir(root.join("old")).unwrap();
        let cgroups = root.join("sys/fs/cgroup");
        fs::write(cgroups.join("cgroup.controllers"), there).unwrap();
        fs::write(cgroups.join("cgroup.subtree_control"), passed_on).unwrap();
        fs::write(cgroups.join("user/cgroup.subtree_control"), "memory").unwrap();
        let machine = MachineRoot::in_folder(root, Vec::new());
        (folder, machine)
    }

    fn request(value: &str) -> SettingRequest {
        SettingRequest {
            value_type: ValueType::Text,
            value: Some(SettingValue::Text(value.into())),
            parameters: IndexMap::new(),
        }
    }

    fn limit(name: &str) -> LimitMechanism {
        let catalog = SettingCatalog::load(&[]).unwrap();
        match &catalog.setting(name).unwrap().mechanism {
            super::super::Mechanism::Limit(limit) => limit.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_limits_of_version_2_are_in_one_group_below_the_nearest_that_passes_them_on() {
        let (folder, machine) = machine("cpu memory", "cpu memory");
        let names = [
            "process.limits.memory",
            "process.limits.cpu",
            "process.limits.processes",
        ];
        let limits = names.map(limit);
        let requests = ["64MiB", "1.5", "20"].map(request);
        let wanted: Vec<WantedLimit<'_>> = names
            .iter()
            .zip(&limits)
            .zip(&requests)
            .map(|((setting, mechanism), request)| WantedLimit {
                setting,
                mechanism,
                request,
            })
            .collect();
        let groups = LimitGroups::make(&machine, "mine", &wanted).unwrap();
        let text = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(text("sys/fs/cgroup/mine/memory.max"), "67108864");
        assert_eq!(text("sys/fs/cgroup/mine/memory.swap.max"), "0");
        assert_eq!(text("sys/fs/cgroup/mine/cpu.max"), "150000 100000");
        assert_eq!(text("old/mine/pids.max"), "20");
        assert_eq!(
            groups.unified(),
            Some(&*folder.path().join("sys/fs/cgroup/mine"))
        );
        assert_eq!(groups.folders().len(), 2);
        assert_eq!(LimitGroups::folders_for(&machine, "mine", &wanted).len(), 2);
        // Memory alone is passed on by a nearer one.
        let nearer = LimitGroups::make(&machine, "mine", &wanted[..1]).unwrap();
        assert!(nearer.unified().unwrap().ends_with("user/mine"));

        assert_eq!(groups.hits(), []);
        let events = folder.path().join("sys/fs/cgroup/mine/memory.events");
        fs::write(events, "low 0\noom 2\noom_kill 1\noom_group_kill 0\n").unwrap();
        let hits = groups.hits();
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].limit, "process.limits.memory = 64MiB");
        assert!(hits[0].fatal && hits[0].count == 1);
    }

    #[test]
    fn a_controller_that_is_not_there_or_not_passed_on_is_said_with_the_way_out() {
        let (_folder, machine) = machine("cpu memory", "");
        let plan = |name: &str, value: &str| limit(name).plan(&machine, name, &request(value));
        let Err(SettingObstacle::Missing(why)) = plan("process.limits.cpu", "1") else {
            panic!();
        };
        assert!(
            why.contains("`echo +cpu > /sys/fs/cgroup/cgroup.subtree_control` does"),
            "{why}"
        );
        let Err(SettingObstacle::Missing(why)) = plan("process.limits.read", "1") else {
            panic!();
        };
        assert!(why.contains("no controller `io`"), "{why}");
    }

    #[test]
    fn a_value_is_a_size_a_count_or_processors() {
        let written = |unit: LimitUnit, text: &str| unit.written(&SettingValue::Text(text.into()));
        assert_eq!(written(LimitUnit::Bytes, "64MiB"), Ok(64 << 20));
        assert_eq!(written(LimitUnit::Bytes, "4096"), Ok(4096));
        assert_eq!(written(LimitUnit::Cpus, "0.5"), Ok(50_000));
        assert_eq!(written(LimitUnit::Count, "7"), Ok(7));
        for (unit, text) in [
            (LimitUnit::Bytes, "0"),
            (LimitUnit::Bytes, "much"),
            (LimitUnit::Cpus, "0"),
            (LimitUnit::Cpus, "-1"),
            (LimitUnit::Cpus, "nan"),
            (LimitUnit::Count, "1.5"),
        ] {
            assert!(written(unit, text).is_err(), "{text}");
        }
        assert!(holds("8:0 rbps=100 wbps=max", "8:0 rbps=100"));
        assert!(
            holds("4096", "5000") && !holds("max", "5000") && !holds("8:0 rbps=10", "8:0 rbps=1")
        );
    }
}
