//! Sets of call statuses (`-e status=`).

use backsight_syscall_decode::value_list::ValueList;
use backsight_syscall_decode::{SyscallOutcome, SyscallRecord};

use crate::error::ExpressionError;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// Without an error.
    Successful,
    /// With one.
    Failed,
    /// It didn't come back.
    Unfinished,
    /// It came back, but how wasn't to be learnt.
    Unavailable,
    /// Its thread was detached from meanwhile.
    Detached,
}

const NAMES: [(&str, CallStatus); 5] = [
    ("successful", CallStatus::Successful),
    ("failed", CallStatus::Failed),
    ("unfinished", CallStatus::Unfinished),
    ("unavailable", CallStatus::Unavailable),
    ("detached", CallStatus::Detached),
];

impl CallStatus {
    /// How a call ended.
    pub fn from_call(call: &SyscallRecord) -> Self {
        match call.outcome {
            SyscallOutcome::Returned { .. } if call.error().is_some() => Self::Failed,
            SyscallOutcome::Returned { .. } => Self::Successful,
            SyscallOutcome::Open => Self::Unfinished,
        }
    }
}

/// A set of statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusSet(u8);

impl StatusSet {
    /// Every status.
    pub const fn all() -> Self {
        Self(0b1_1111)
    }

    /// One status.
    pub const fn only(status: CallStatus) -> Self {
        Self(1 << status as u8)
    }

    /// Whether it is every status.
    pub fn is_all(self) -> bool {
        self == Self::all()
    }

    /// Whether this one is of them.
    pub fn contains(self, status: CallStatus) -> bool {
        self.0 >> (status as u8) & 1 == 1
    }

    /// Reads a set: names, as [`ValueList`] has them.
    ///
    /// # Errors
    ///
    /// If it is no list or a status isn't known.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let list = ValueList::parse(text)?;
        let mut set = 0;
        for value in list.values {
            let named = NAMES.iter().find(|(name, _)| *name == value);
            let (_, status) = named.ok_or_else(|| ExpressionError::Status(value.to_owned()))?;
            set |= Self::only(*status).0;
        }
        Ok(Self(if list.negated {
            Self::all().0 & !set
        } else {
            set
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::{Abi, CapturedMemory, table};

    #[test]
    fn statuses_are_told_apart_by_the_result() {
        let ended = |name, outcome| {
            let abi = Abi::X86_64;
            CallStatus::from_call(&SyscallRecord {
                abi,
                number: table::syscall_number(abi, name).unwrap(),
                arguments: [0; 6],
                entered: 0,
                outcome,
                memory: CapturedMemory::default(),
                injected: false,
                rewritten: false,
                delayed: false,
                instruction: None,
                worked: None,
            })
        };
        let of = |value| ended("mmap", SyscallOutcome::Returned { value, took: 0 });
        assert_eq!(of(0), CallStatus::Successful);
        assert_eq!(of(-2), CallStatus::Failed);
        assert_eq!(of(-4095), CallStatus::Failed);
        // An address of the upper half is no error.
        assert_eq!(of(-4096), CallStatus::Successful);
        assert_eq!(ended("mmap", SyscallOutcome::Open), CallStatus::Unfinished);
    }

    #[test]
    fn statuses_are_named_and_negated() {
        let some = StatusSet::parse("failed,unfinished").unwrap();
        assert!(some.contains(CallStatus::Failed) && some.contains(CallStatus::Unfinished));
        assert!(!some.contains(CallStatus::Successful) && !some.is_all());
        let others = StatusSet::parse("!successful").unwrap();
        assert!(!others.contains(CallStatus::Successful) && others.contains(CallStatus::Detached));
        assert!(StatusSet::parse("all").unwrap().is_all());
        assert!(StatusSet::parse("fine").is_err());
    }
}
