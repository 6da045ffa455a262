//! Settings that last as long as somebody keeps a file open: /dev/cpu_dma_latency. The kernel puts them back when the process that
//! holds them ends, however it ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io::Write as _,
};

use super::{SettingChange, SettingObstacle};
use crate::{machine_root::MachineRoot, request::SettingRequest, value::SettingValue};

/// `[hold]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldMechanism {
    /// The file.
    pub path: String,
    /// How the value is written.
    pub bytes: HeldBytes,
}

/// How a value is written into such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeldBytes {
    /// A number of 32 bits in the machine's order.
    NativeI32,
    /// Its text.
    Text,
}

/// A file that is kept open with a value in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldFile {
    /// The file.
    pub path: String,
    /// The value.
    pub value: String,
    /// How it is written.
    pub bytes: HeldBytes,
}

/// The files that this process keeps open: what is held ends when this is dropped.
#[derive(Debug, Default)]
pub struct HeldFiles(Vec<File>);

impl HeldFiles {
    /// How many files are open.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl HoldMechanism {
    pub(super) fn plan(
        &self,
        machine: &MachineRoot,
        request: &SettingRequest,
    ) -> Result<Vec<SettingChange>, SettingObstacle> {
        if !machine.path(&self.path).exists() {
            return Err(SettingObstacle::Missing(format!(
                "this machine hasn't {}",
                self.path
            )));
        }
        if !machine.keeps_files() {
            let why = "only an agent that is root itself can keep it open";
            return Err(SettingObstacle::Refused(why.into()));
        }
        let value = match (&request.value, self.bytes) {
            (Some(SettingValue::Integer(number)), HeldBytes::NativeI32) => {
                let fits = i32::try_from(*number);
                fits.map_err(|_| SettingObstacle::Refused(format!("`{number}` has over 32 bits")))?
                    .to_string()
            }
            (Some(value), HeldBytes::Text) => value.to_string(),
            _ => return Err(SettingObstacle::Refused("it takes a whole number".into())),
        };
        Ok(vec![SettingChange::Held(HeldFile {
            path: self.path.clone(),
            value,
            bytes: self.bytes,
        })])
    }
}

impl HeldFile {
    pub(super) fn make(&self, machine: &MachineRoot, held: &mut HeldFiles) -> Result<(), String> {
        let bytes = match self.bytes {
            HeldBytes::NativeI32 => {
                let number: i32 = self.value.parse().map_err(|_| "no number".to_owned())?;
                number.to_ne_bytes().to_vec()
            }
            HeldBytes::Text => self.value.clone().into_bytes(),
        };
        let fault = |error| format!("{} can't be held: {error}", self.path);
        let mut file = OpenOptions::new()
            .write(true)
            .open(machine.path(&self.path))
            .map_err(fault)?;
        // In a folder that stands for a machine it would stay written.
        if machine.is_this_machine() {
            file.write_all(&bytes).map_err(fault)?;
        }
        held.0.push(file);
        Ok(())
    }
}
