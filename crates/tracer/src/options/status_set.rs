//! How calls may end, as `-e status=` names it.

use backsight_syscall_decode::{Call, Outcome};

use crate::error::ExpressionError;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
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

const NAMES: [(&str, Status); 5] = [
    ("successful", Status::Successful),
    ("failed", Status::Failed),
    ("unfinished", Status::Unfinished),
    ("unavailable", Status::Unavailable),
    ("detached", Status::Detached),
];

impl Status {
    /// How a call ended.
    pub fn of(call: &Call) -> Self {
        match call.outcome {
            Outcome::Returned { .. } if call.error().is_some() => Self::Failed,
            Outcome::Returned { .. } => Self::Successful,
            Outcome::Open => Self::Unfinished,
        }
    }
}

/// A set of statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statuses(u8);

impl Statuses {
    /// Every status.
    pub const fn all() -> Self {
        Self(0b1_1111)
    }

    /// One status.
    pub const fn only(status: Status) -> Self {
        Self(1 << status as u8)
    }

    /// Whether it is every status.
    pub fn is_all(self) -> bool {
        self == Self::all()
    }

    /// Whether this one is of them.
    pub fn has(self, status: Status) -> bool {
        self.0 >> (status as u8) & 1 == 1
    }

    /// Reads a set: names, `all` or `none`, separated by commas; `!` before the whole for every other status.
    ///
    /// # Errors
    ///
    /// If a status isn't known.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let (text, negated) = match text.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let mut set = 0;
        for item in text.split(',').filter(|item| !item.is_empty()) {
            set |= match (item, NAMES.iter().find(|(name, _)| *name == item)) {
                ("all", _) => Self::all().0,
                ("none", _) => 0,
                (_, Some((_, status))) => Self::only(*status).0,
                _ => return Err(ExpressionError::Status(item.to_owned())),
            };
        }
        Ok(Self(if negated { Self::all().0 & !set } else { set }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::{Abi, Memory, table};

    #[test]
    fn statuses_are_told_apart_by_the_result() {
        let ended = |name, outcome| {
            let abi = Abi::X86_64;
            Status::of(&Call {
                abi,
                number: table::number(abi, name).unwrap(),
                arguments: [0; 6],
                entered: 0,
                outcome,
                memory: Memory::default(),
                injected: false,
                rewritten: false,
                delayed: false,
                instruction: None,
                worked: None,
            })
        };
        let of = |value| ended("mmap", Outcome::Returned { value, took: 0 });
        assert_eq!(of(0), Status::Successful);
        assert_eq!(of(-2), Status::Failed);
        assert_eq!(of(-4095), Status::Failed);
        // An address of the upper half is no error.
        assert_eq!(of(-4096), Status::Successful);
        assert_eq!(ended("mmap", Outcome::Open), Status::Unfinished);
        // Nor is anything that a call says which has none.
        let highest = Outcome::Returned { value: -1, took: 0 };
        assert_eq!(ended("getuid", highest), Status::Successful);
    }

    #[test]
    fn statuses_are_named_and_negated() {
        let some = Statuses::parse("failed,unfinished").unwrap();
        assert!(some.has(Status::Failed) && some.has(Status::Unfinished));
        assert!(!some.has(Status::Successful) && !some.is_all());
        let others = Statuses::parse("!successful").unwrap();
        assert!(!others.has(Status::Successful) && others.has(Status::Detached));
        assert!(Statuses::parse("all").unwrap().is_all());
        assert!(Statuses::parse("fine").is_err());
    }
}
