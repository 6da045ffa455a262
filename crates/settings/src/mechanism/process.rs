//! Settings of the programs of trials: priority, processors, memory nodes, address layout. Whoever starts a program gives them to
//! it, so that nothing of the machine is changed and nothing has to be put back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{os::unix::fs::MetadataExt as _, path::Path};

use super::{SettingChange, SettingObstacle};
use crate::{
    cpu_list::CpuList, machine_root::MachineRoot, request::SettingRequest, value::SettingValue,
};

/// Most bytes that the environment is made longer by: a part of what a program may be started with.
const MOST_ENVIRONMENT: u32 = 65_536;

/// `[process]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessMechanism {
    /// What of a program it sets.
    pub attribute: ProcessAttribute,
}

/// What can be set of a program when it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessAttribute {
    /// Its nice value, from -20 to 19.
    Nice,
    /// How the kernel schedules it.
    Scheduler,
    /// Its priority among those that are scheduled in real time, from 1 to 99.
    Priority,
    /// The processors that it may use.
    Cpus,
    /// The memory nodes that its pages are on.
    MemoryBind,
    /// The memory nodes that its pages take turns on.
    MemoryInterleave,
    /// Whether the layout of its address space is drawn at random: `on`, `off`, or `random` for one of them each trial.
    Aslr,
    /// The user that it runs as: a name, or `fresh` for one that nobody was before.
    User,
    /// How many bytes its environment is made longer by; `random` for another number each trial.
    EnvironmentSize,
}

/// How the kernel schedules a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerClass {
    /// As any other.
    Other,
    /// As one that computes without a person who waits.
    Batch,
    /// When nothing else runs.
    Idle,
    /// In real time, until it gives the processor away.
    Fifo,
    /// In real time, in turns.
    RoundRobin,
}

impl SchedulerClass {
    /// The class of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "other" => Self::Other,
            "batch" => Self::Batch,
            "idle" => Self::Idle,
            "fifo" => Self::Fifo,
            "rr" => Self::RoundRobin,
            _ => return None,
        })
    }

    /// Whether programs of it go before all others.
    pub fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo | Self::RoundRobin)
    }
}

/// The user that programs run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserChoice {
    /// One that nobody was before, another one in each trial.
    Fresh,
    /// One that the machine knows.
    Named {
        /// Its name.
        name: String,
        /// Its number.
        uid: u32,
        /// Its groups, its own first.
        groups: Vec<u32>,
        /// Its home.
        home: String,
    },
}

impl UserChoice {
    /// The one of this name, as `/etc/passwd` and `/etc/group` say.
    ///
    /// # Errors
    /// The machine knows no such user.
    pub fn find(machine: &MachineRoot, name: &str) -> Result<Self, String> {
        if name == "fresh" {
            return Ok(Self::Fresh);
        }
        let users = machine.read("/etc/passwd").unwrap_or_default();
        let found = users.lines().find_map(|line| {
            // passwd(5): name, password, uid, gid, comment, home.
            let fields: Vec<&str> = line.split(':').collect();
            let is_it = fields.first() == Some(&name);
            let user = || Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?));
            let (uid, gid): (u32, u32) = is_it.then(user)??;
            Some((uid, gid, (*fields.get(5)?).to_owned()))
        });
        let Some((uid, gid, home)) = found else {
            let known = users.lines().filter_map(|line| line.split(':').next());
            let near = backsight_model::did_you_mean(name, known.chain(["fresh"]));
            let near = near.map_or_else(String::new, |near| format!("; {near}"));
            return Err(format!("there is no user `{name}` in /etc/passwd{near}"));
        };
        if uid == 0 {
            return Err(format!("`{name}` is root by another name"));
        }
        let groups = machine.read("/etc/group").unwrap_or_default();
        let others = groups.lines().filter_map(|line| {
            // group(5): name, password, gid, members.
            let fields: Vec<&str> = line.split(':').collect();
            let is_member = fields.get(3)?.split(',').any(|member| member == name);
            let number: u32 = fields.get(2)?.parse().ok()?;
            (is_member && number != gid).then_some(number)
        });
        Ok(Self::Named {
            name: name.to_owned(),
            uid,
            groups: [gid].into_iter().chain(others).collect(),
            home,
        })
    }

    /// Checks that it can reach this folder, in which trials have theirs.
    ///
    /// # Errors
    /// A folder above is closed to it.
    pub fn check_way_to(&self, folder: &Path) -> Result<(), String> {
        for above in folder.ancestors() {
            let Ok(found) = std::fs::metadata(above) else {
                continue;
            };
            let (owner, group) = (found.uid(), found.gid());
            let right = match self {
                Self::Named { uid, .. } if *uid == owner => 0o100,
                Self::Named { groups, .. } if groups.contains(&group) => 0o010,
                _ => 0o001,
            };
            if found.mode() & right == 0 {
                return Err(format!(
                    "it can't reach {}: {} is closed to it; set TMPDIR to a folder that is open to all",
                    folder.display(),
                    above.display()
                ));
            }
        }
        Ok(())
    }
}

impl ProcessMechanism {
    /// Checks what a value's type doesn't say.
    ///
    /// # Errors
    /// It can't be the attribute's.
    pub(crate) fn check(&self, value: &SettingValue) -> Result<(), String> {
        let text = value.to_string();
        match self.attribute {
            ProcessAttribute::MemoryBind | ProcessAttribute::MemoryInterleave => {
                match CpuList::parse(&text) {
                    Ok(nodes) if !nodes.is_empty() => Ok(()),
                    _ => Err(format!("`{text}` is no list of memory nodes such as `0-1`")),
                }
            }
            ProcessAttribute::EnvironmentSize if text != "random" => match text.parse() {
                Ok(0..=MOST_ENVIRONMENT) => Ok(()),
                _ => Err(format!(
                    "`{text}` is neither `random` nor a number of bytes up to {MOST_ENVIRONMENT}"
                )),
            },
            ProcessAttribute::User if text == "root" => {
                Err("`root` is no user without rights: leave the setting out".to_owned())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn plan(
        &self,
        machine: &MachineRoot,
        request: &SettingRequest,
    ) -> Result<Vec<SettingChange>, SettingObstacle> {
        let value = request.value.as_ref();
        let text = value.map(ToString::to_string).unwrap_or_default();
        let root_alone = |needs: bool| match needs && !machine.permits_root() {
            true => Err(SettingObstacle::Refused("only root may".into())),
            false => Ok(Vec::new()),
        };
        match self.attribute {
            ProcessAttribute::Nice => root_alone(text.starts_with('-')),
            ProcessAttribute::Scheduler => {
                root_alone(SchedulerClass::parse(&text).is_some_and(SchedulerClass::is_real_time))
            }
            ProcessAttribute::Priority => root_alone(true),
            ProcessAttribute::User => {
                let user = UserChoice::find(machine, &text).map_err(SettingObstacle::Refused)?;
                root_alone(true)?;
                if machine.is_this_machine() {
                    let reachable = user.check_way_to(&std::env::temp_dir());
                    reachable.map_err(SettingObstacle::Refused)?;
                }
                Ok(Vec::new())
            }
            ProcessAttribute::MemoryBind | ProcessAttribute::MemoryInterleave => {
                let wanted = CpuList::parse(&text).map_err(SettingObstacle::Refused)?;
                let there = machine.read("/sys/devices/system/node/has_memory");
                let there = there.ok().and_then(|text| CpuList::parse(&text).ok());
                let Some(there) = there else {
                    let why = "the kernel knows no memory nodes";
                    return Err(SettingObstacle::Missing(why.into()));
                };
                let unknown = wanted.without(&there);
                match unknown.is_empty() {
                    true => Ok(Vec::new()),
                    false => Err(SettingObstacle::Refused(format!(
                        "there is no memory node {unknown}: this machine has {there}"
                    ))),
                }
            }
            ProcessAttribute::Cpus | ProcessAttribute::Aslr | ProcessAttribute::EnvironmentSize => {
                Ok(Vec::new())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_with_all_of_its_groups() {
        let folder = tempfile::tempdir().unwrap();
        let etc = folder.path().join("etc");
        std::fs::create_dir(&etc).unwrap();
        let users =
            "root:x:0:0::/root:/bin/sh\nalso:x:0:0::/:\nbench:x:1001:1002:a:/home/b:/bin/sh\n";
        std::fs::write(etc.join("passwd"), users).unwrap();
        std::fs::write(
            etc.join("group"),
            "bench:x:1002:\ndisk:x:6:x,bench\nno:x:7:benches\n",
        )
        .unwrap();
        let machine = MachineRoot::in_folder(folder.path(), Vec::new());
        let bench = UserChoice::Named {
            name: "bench".into(),
            uid: 1001,
            groups: vec![1002, 6],
            home: "/home/b".into(),
        };
        assert_eq!(UserChoice::find(&machine, "bench"), Ok(bench));
        assert_eq!(UserChoice::find(&machine, "fresh"), Ok(UserChoice::Fresh));
        let fault = UserChoice::find(&machine, "bensh").unwrap_err();
        assert!(fault.contains("did you mean `bench`?"), "{fault}");
        assert!(
            UserChoice::find(&machine, "also")
                .unwrap_err()
                .contains("root")
        );
    }
}
