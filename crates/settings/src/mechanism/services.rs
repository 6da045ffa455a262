//! Units of systemd's that are stopped or started for the time of a study.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::{ChangeState, SettingChange, SettingObstacle};
use crate::{
    machine_root::MachineRoot,
    program::{self, ProgramFault},
    request::SettingRequest,
    value::SettingValue,
};

/// A unit may take systemd's own limit (90 s) to stop.
const LIMIT: Duration = Duration::from_secs(100);

/// `[services]`: the value is a list of units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServicesMechanism {
    /// What is done with the units of a list.
    pub action: ServiceAction,
    /// Units that run where the value is `true`, and don't where it is `false`.
    #[serde(default)]
    pub units: Vec<String>,
}

/// What is done with units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceAction {
    /// They are stopped.
    Stop,
    /// They are started.
    Start,
}

/// A unit, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitChange {
    /// Its name.
    pub unit: String,
    /// Whether it ran.
    pub ran: bool,
    /// What is done.
    pub action: ServiceAction,
}

fn is_active(machine: &MachineRoot, unit: &str) -> Result<bool, ProgramFault> {
    let words = [
        "systemctl",
        "show",
        "--property=ActiveState",
        "--value",
        "--",
        unit,
    ];
    let printed = program::run(machine, &words.map(str::to_owned), LIMIT)?;
    Ok(["active", "activating", "reloading"].contains(&printed.trim()))
}

impl ServicesMechanism {
    pub(super) fn plan(
        &self,
        machine: &MachineRoot,
        request: &SettingRequest,
    ) -> Result<Vec<SettingChange>, SettingObstacle> {
        let (units, action) = match &request.value {
            Some(SettingValue::List(units)) => (units, self.action),
            Some(SettingValue::Boolean(true)) => (&self.units, ServiceAction::Start),
            _ => (&self.units, ServiceAction::Stop),
        };
        if !machine.path("/run/systemd/system").exists() {
            return Err(SettingObstacle::Missing("systemd doesn't run here".into()));
        }
        let mut changes = Vec::new();
        for unit in units {
            let ran = is_active(machine, unit).map_err(|fault| match fault {
                ProgramFault::Missing(text) => SettingObstacle::Missing(text),
                ProgramFault::Failed(text) => SettingObstacle::Refused(text),
            })?;
            changes.push(SettingChange::Unit(UnitChange {
                unit: unit.clone(),
                ran,
                action,
            }));
        }
        Ok(changes)
    }
}

impl UnitChange {
    pub(super) fn is_already_so(&self) -> bool {
        self.ran == (self.action == ServiceAction::Start)
    }

    pub(super) fn old_text(&self) -> &'static str {
        if self.ran { "running" } else { "stopped" }
    }

    pub(super) fn new_text(&self) -> &'static str {
        match self.action {
            ServiceAction::Stop => "stopped",
            ServiceAction::Start => "running",
        }
    }

    pub(super) fn undo_by_hand(&self) -> String {
        let verb = if self.ran { "start" } else { "stop" };
        format!("systemctl {verb} {}", self.unit)
    }

    fn run(&self, machine: &MachineRoot, verb: &str) -> Result<(), String> {
        let words = ["systemctl", verb, "--", &self.unit].map(str::to_owned);
        let ran = program::run(machine, &words, LIMIT);
        ran.map(|_| ()).map_err(ProgramFault::into_text)
    }

    pub(super) fn make(&self, machine: &MachineRoot) -> Result<(), String> {
        self.run(
            machine,
            match self.action {
                ServiceAction::Stop => "stop",
                ServiceAction::Start => "start",
            },
        )
    }

    pub(super) fn undo(&self, machine: &MachineRoot) -> Result<(), String> {
        self.run(machine, if self.ran { "start" } else { "stop" })
    }

    pub(super) fn state(&self, machine: &MachineRoot) -> ChangeState {
        match is_active(machine, &self.unit) {
            Ok(runs) if runs == self.ran => ChangeState::Old,
            Ok(_) => ChangeState::New,
            Err(fault) => ChangeState::Unreadable(fault.into_text()),
        }
    }
}
