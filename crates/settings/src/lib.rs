//! Settings of a machine (CPU governor, transparent huge pages, swappiness, …): made before a study's trials and put back after them,
//! whatever happens in between: a kill, a crash, a power cut.
//!
//! Definitions say what a setting is and how it is made (`settings/*.toml`; none is known to the code). [`resolve`] turns what files
//! ask for into a list for an agent, [`apply`] makes it there, [`restore`] puts it back. Everything that crosses between them is
//! serde. What a power cut leaves, a [unit](change_boot_unit) of the machine puts back when it starts. The [`Journal`] holds what stood before, on disk before it is changed: it alone says what an old value is.
//!
//! Which study may have a host, and when it ends, is decided elsewhere.
//!
//! ```
//! use backsight_model::{Preparation, TomlDocument};
//! use backsight_settings::{
//!     JournalFile, MachineRoot, PreparationPolicy, PreparationSource, RestoreScope, SettingCatalog, apply, resolve, restore,
//! };
//! # use std::fs;
//! # let folder = std::env::temp_dir().join(format!("backsight-settings-{}", std::process::id()));
//! # fs::create_dir_all(folder.join("proc/sys/kernel/random"))?;
//! # fs::create_dir_all(folder.join("proc/sys/vm"))?;
//! # fs::write(folder.join("proc/sys/kernel/random/boot_id"), "1\n")?;
//! # fs::write(folder.join("proc/sys/vm/swappiness"), "60\n")?;
//! let document = TomlDocument::new("plan.toml", "sysctl.\"vm.swappiness\" = 0");
//! let preparation: Preparation = document.read()?;
//! let source = PreparationSource::new(&document, &preparation);
//! let wanted = resolve(&SettingCatalog::load(&[])?, &[source])?;
//!
//! // A folder that stands for a machine.
//! let machine = MachineRoot::in_folder(&folder, Vec::new());
//! let journal = JournalFile::new(folder.join("journal"));
//! let made = apply(&machine, &wanted, &journal, "a study", PreparationPolicy::Strict)?;
//! assert!(made.report.stands);
//! assert_eq!(fs::read_to_string(folder.join("proc/sys/vm/swappiness"))?, "0\n");
//!
//! restore(&machine, &journal, &RestoreScope::Study("a study".into()))?;
//! assert_eq!(fs::read_to_string(folder.join("proc/sys/vm/swappiness"))?, "60\n");
//! # fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use backsight_model::PreparationPolicy;

mod apply;
mod boot_unit;
mod catalog;
mod cgroups;
mod cpu_list;
mod definition;
mod holder;
mod interface_address;
mod journal;
mod machine_root;
mod mechanism;
mod network_namespace;
mod one_machine;
mod parameter;
mod placeholder;
mod program;
mod reference;
mod report;
mod request;
mod restore;
mod root_helper;
mod schema;
mod standing;
mod value;
mod wanted;

pub use apply::{Application, apply, change_to, inspect};
pub use boot_unit::{
    BootUnitAction, BootUnitError, BootUnitObstacle, BootUnitReport, BootUnitStep, change_boot_unit,
};
pub use catalog::{SettingCatalog, SettingCatalogError, SettingSet, setting_documents};
pub use cgroups::OwnCgroups;
pub use cpu_list::CpuList;
pub use definition::{RequiredRight, SettingConflict, SettingDefinition};
pub use holder::Holder;
pub use journal::{
    Journal, JournalContents, JournalEntry, JournalError, JournalFile, JournalRecord, OpenEntry,
    USUAL_PATH,
};
pub use machine_root::{Checkpoint, MachineRoot};
pub use mechanism::{
    CommandMechanism, FileAlternative, FileChange, FileFormat, FileReading, FolderChange,
    FolderMechanism, HeldFile, HeldFiles, HoldMechanism, LimitEvent, LimitFile, LimitFiles,
    LimitGroups, LimitHit, LimitMechanism, LimitUnit, Mechanism, MountChange, MountMechanism,
    MountSource, ProcessAttribute, ProcessMechanism, ProgramChange, SchedulerClass, ServiceAction,
    ServicesMechanism, SettingChange, UnitChange, UserChoice, WantedLimit,
};
pub use one_machine::{MachineConflict, merge_hosts};
pub use parameter::ParameterType;
pub use reference::reference_page;
pub use report::{
    ChangeReport, PreparationReport, RestoreOutcome, RestoreReport, RestoredChange, SettingOutcome,
    SettingReport,
};
pub use request::SettingRequest;
pub use restore::{RestoreScope, is_prepared_by_another, restore};
pub use root_helper::{RootHelper, RootHelperError, serve_root_request};
pub use schema::{KINDS, schema_for};
pub use standing::StandingPreparation;
pub use value::{SettingValue, ValueType};
pub use wanted::{AS_IS, Placeholders, PreparationSource, WantedSetting, resolve};
