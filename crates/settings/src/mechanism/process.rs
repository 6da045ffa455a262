//! Settings of the programs of trials: priority, processors, memory nodes, address layout. Whoever starts a program gives them to
//! it, so that nothing of the machine is changed and nothing has to be put back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Whether the layout of its address space is drawn at random.
    Aslr,
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
