//! How settings are made and put back. None of these knows a setting by its name: definitions say what they need.
//!
//! A mechanism plans: it reads what stands and gives changes. A change has everything that it takes to put it back, since whoever
//! puts it back may be another process, another day, without the definition.

mod command;
mod files;
mod folder;
mod hold;
mod limit;
mod mount;
mod process;
mod route;
mod services;

pub use command::{CommandMechanism, ProgramChange};
pub use files::{FileAlternative, FileChange, FileFormat, FileReading};
pub use folder::{FolderChange, FolderMechanism};
pub use hold::{HeldFile, HeldFiles, HoldMechanism};
pub use limit::{
    LimitEvent, LimitFile, LimitFiles, LimitGroups, LimitHit, LimitMechanism, LimitUnit,
    WantedLimit,
};
pub use mount::{MountChange, MountMechanism, MountSource};
pub use process::{ProcessAttribute, ProcessMechanism, SchedulerClass, UserChoice};
pub use route::{RouteChange, RouteMechanism};
pub use services::{ServiceAction, ServicesMechanism, UnitChange};

use serde::{Deserialize, Serialize};

use crate::{machine_root::MachineRoot, request::SettingRequest};

/// How a setting is read, written, verified and put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Files of the kernel's; the first alternative of which the machine has files.
    Files(Vec<FileAlternative>),
    /// A folder that the kernel fills: a group of processors or of caches.
    Folder(FolderMechanism),
    /// Programs.
    Command(CommandMechanism),
    /// A file that is kept open.
    Hold(HoldMechanism),
    /// Units that are stopped or started.
    Services(ServicesMechanism),
    /// A file system that is made and mounted.
    Mount(MountMechanism),
    /// A route.
    Route(RouteMechanism),
    /// How programs of trials are started; nothing of the machine is changed.
    Process(ProcessMechanism),
    /// A limit of what programs of trials use together; nothing of the machine is changed.
    Limit(LimitMechanism),
}

/// Why a setting can't be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingObstacle {
    /// The machine hasn't it.
    Missing(String),
    /// The machine has it, and this value or this target is impossible.
    Refused(String),
}

/// One thing that is changed, with what it takes to put it back. This is what the journal keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SettingChange {
    /// The text of a file.
    File(FileChange),
    /// A folder that is made.
    Folder(FolderChange),
    /// What a program sets.
    Program(ProgramChange),
    /// A file that is kept open.
    Held(HeldFile),
    /// A unit.
    Unit(UnitChange),
    /// A file system.
    Mount(MountChange),
    /// Routes to a destination.
    Route(RouteChange),
}

/// Where a change's target stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeState {
    /// As it was before.
    Old,
    /// As it was made.
    New,
    /// Neither.
    Other(String),
    /// It isn't there any more, or can't be read.
    Unreadable(String),
}

impl Mechanism {
    /// What must change for this request. A change whose old state is the wanted one is among them.
    ///
    /// # Errors
    /// The machine hasn't the setting, or not this value.
    pub(crate) fn plan(
        &self,
        machine: &MachineRoot,
        setting: &str,
        request: &SettingRequest,
    ) -> Result<Vec<SettingChange>, SettingObstacle> {
        match self {
            Self::Files(alternatives) => files::plan(machine, request, alternatives),
            Self::Folder(mechanism) => mechanism.plan(machine, request),
            Self::Command(mechanism) => mechanism.plan(machine, setting, request),
            Self::Hold(mechanism) => mechanism.plan(machine, request),
            Self::Services(mechanism) => mechanism.plan(machine, request),
            Self::Mount(mechanism) => mechanism.plan(machine, request),
            Self::Route(mechanism) => mechanism.plan(machine, request),
            Self::Process(mechanism) => mechanism.plan(machine, request),
            Self::Limit(mechanism) => mechanism.plan(machine, setting, request),
        }
    }

    /// Whether it is given to the programs of trials as they are started, and nothing of the machine is changed.
    pub fn is_of_programs(&self) -> bool {
        matches!(self, Self::Process(_) | Self::Limit(_))
    }

    /// Every text with placeholders.
    pub(crate) fn templates(&self) -> Vec<&str> {
        match self {
            Self::Files(alternatives) => {
                let texts = alternatives.iter().flat_map(FileAlternative::templates);
                texts.collect()
            }
            Self::Folder(mechanism) => mechanism.templates(),
            Self::Command(mechanism) => mechanism.templates(),
            Self::Limit(mechanism) => mechanism.templates(),
            Self::Hold(_)
            | Self::Services(_)
            | Self::Mount(_)
            | Self::Process(_)
            | Self::Route(_) => Vec::new(),
        }
    }
}

impl SettingChange {
    /// What is changed, the same for every study that changes it: two may not hold it.
    pub fn target(&self) -> String {
        match self {
            Self::File(change) => change.path.clone(),
            Self::Folder(change) => change.path.clone(),
            Self::Program(change) => change.target.clone(),
            Self::Held(held) => held.path.clone(),
            Self::Unit(change) => format!("unit {}", change.unit),
            Self::Mount(change) => format!("mount {}", change.target),
            Self::Route(change) => format!("route {}", change.to),
        }
    }

    /// Whether a restart of the machine undoes it.
    pub fn is_volatile(&self) -> bool {
        match self {
            Self::File(_) | Self::Folder(_) | Self::Held(_) | Self::Route(_) => true,
            Self::Program(change) => change.volatile,
            Self::Unit(_) => false,
            Self::Mount(change) => !change.leaves_files(),
        }
    }

    /// Whether what it changes is on a disk: it has to be written there before it counts as put back. What units do isn't.
    pub(crate) fn is_on_disk(&self) -> bool {
        !self.is_volatile() && !matches!(self, Self::Unit(_))
    }

    /// Whether it needs an entry in the journal: what can't be undone, and what nobody needs to, has none.
    pub(crate) fn is_journaled(&self) -> bool {
        !matches!(self, Self::File(change) if change.once)
    }

    /// Whether two changes of the target by two studies are harmless.
    pub(crate) fn is_shareable(&self) -> bool {
        matches!(self, Self::Held(_)) || !self.is_journaled()
    }

    /// Whether somebody asked for it: the kernel changes other files along with one.
    pub(crate) fn is_wanted(&self) -> bool {
        !matches!(self, Self::File(change) if change.new.is_none())
    }

    /// Whether others of the same setting may stand if this one is refused.
    pub(crate) fn is_dispensable(&self) -> bool {
        matches!(self, Self::File(change) if change.partial)
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_already_so(&self) -> bool {
        match self {
            Self::File(change) => change.is_already_so(),
            Self::Program(change) => change.old == change.new,
            Self::Unit(change) => change.is_already_so(),
            Self::Route(change) => change.is_already_so(),
            Self::Folder(_) | Self::Held(_) | Self::Mount(_) => false,
        }
    }

    /// What stood before, for people.
    pub fn old_text(&self) -> String {
        match self {
            Self::File(change) => change.old.trim().to_owned(),
            Self::Program(change) => change.old.clone(),
            Self::Unit(change) => change.old_text().to_owned(),
            Self::Folder(_) => "no folder".to_owned(),
            Self::Held(_) => "closed".to_owned(),
            Self::Mount(_) => "not mounted".to_owned(),
            Self::Route(change) => change.old_text(),
        }
    }

    /// What is wanted, for people.
    pub fn new_text(&self) -> String {
        match self {
            Self::File(change) => change.new.clone().unwrap_or_default(),
            Self::Program(change) => change.new.clone(),
            Self::Unit(change) => change.new_text().to_owned(),
            Self::Folder(_) => "a folder".to_owned(),
            Self::Held(held) => format!("held open with {}", held.value),
            Self::Mount(change) => change.new_text(),
            Self::Route(change) => change.new.clone(),
        }
    }

    /// Makes it.
    ///
    /// # Errors
    /// What the machine said.
    pub(crate) fn make(&self, machine: &MachineRoot, held: &mut HeldFiles) -> Result<(), String> {
        match self {
            Self::File(change) => change.make(machine),
            Self::Folder(change) => change.make(machine),
            Self::Program(change) => change.make(machine),
            Self::Held(file) => file.make(machine, held),
            Self::Unit(change) => change.make(machine),
            Self::Mount(change) => change.make(machine),
            Self::Route(change) => change.make(machine),
        }
    }

    /// Where its target stands.
    pub(crate) fn state(&self, machine: &MachineRoot) -> ChangeState {
        match self {
            Self::File(change) => change.state(machine),
            Self::Folder(change) => change.state(machine),
            Self::Program(change) => change.state(machine),
            // Whoever held it is gone, or closes it.
            Self::Held(_) => ChangeState::Old,
            Self::Unit(change) => change.state(machine),
            Self::Mount(change) => change.state(machine),
            Self::Route(change) => change.state(machine),
        }
    }

    /// Whether reading it again can say that it holds.
    pub(crate) fn is_verifiable(&self) -> bool {
        match self {
            Self::File(change) => change.new.is_some() && !change.once,
            Self::Held(_) => false,
            _ => true,
        }
    }

    /// Puts it back.
    ///
    /// # Errors
    /// What the machine said.
    pub(crate) fn undo(&self, machine: &MachineRoot) -> Result<(), String> {
        match self {
            Self::File(change) => change.undo(machine),
            Self::Folder(change) => change.undo(machine),
            Self::Program(change) => change.undo(machine),
            Self::Held(_) => Ok(()),
            Self::Unit(change) => change.undo(machine),
            Self::Mount(change) => change.undo(machine),
            Self::Route(change) => change.undo(machine),
        }
    }

    /// Whether every path in it stays below the machine's root: those of a journal are others' bytes.
    pub(crate) fn is_confined(&self) -> bool {
        let confined = |path: &str| path.starts_with('/') && !path.split('/').any(|c| c == "..");
        match self {
            Self::File(change) => confined(&change.path),
            Self::Folder(change) => confined(&change.path),
            Self::Held(held) => confined(&held.path),
            Self::Program(_) | Self::Unit(_) | Self::Route(_) => true,
            Self::Mount(change) => change.paths().into_iter().all(confined),
        }
    }

    /// A line that a person may type to put it back by hand.
    pub fn undo_by_hand(&self) -> String {
        match self {
            Self::File(change) => format!(
                "echo {} > {}",
                backsight_model::shell_quoted(change.old.trim()),
                change.path
            ),
            Self::Folder(change) => format!("rmdir {}", change.path),
            Self::Program(change) => change.undo.join(" "),
            Self::Held(_) => String::new(),
            Self::Unit(change) => change.undo_by_hand(),
            Self::Mount(change) => change.undo_by_hand(),
            Self::Route(change) => change.undo_by_hand(),
        }
    }
}
