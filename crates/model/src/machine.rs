//! A machine, as far as placeholders name it.

use crate::Value;

/// What is known of a machine when placeholders are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Processors that it may use.
    pub cpus: u32,
    /// Memory, in bytes.
    pub memory: u64,
}

impl Machine {
    /// The value of a built-in placeholder.
    pub fn lookup(&self, name: &str) -> Option<Value> {
        match name {
            "cpus" => Some(Value::Integer(i64::from(self.cpus))),
            "memory" => Some(Value::Integer(
                i64::try_from(self.memory).unwrap_or(i64::MAX),
            )),
            _ => None,
        }
    }
}
