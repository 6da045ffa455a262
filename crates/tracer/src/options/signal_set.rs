//! Sets of signals (`-e signal=`).

use std::str::FromStr as _;

use backsight_syscall_decode::value_list::ValueList;
use nix::sys::signal::Signal;

use crate::error::ExpressionError;

/// The greatest signal's number.
const LAST: i32 = 64;

/// A set of signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalSet(u64);

impl SignalSet {
    /// Every signal.
    pub const fn all() -> Self {
        Self(u64::MAX)
    }

    /// Bit N − 1 for signal N, as the kernel's sets have it.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Whether this one is of them, by number.
    pub fn contains(self, number: i32) -> bool {
        (1..=LAST).contains(&number) && self.0 >> (number - 1) & 1 == 1
    }

    /// Reads a set: names with or without `SIG`, and numbers, as [`ValueList`] has them.
    ///
    /// # Errors
    ///
    /// If it is no list or a signal isn't known.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let list = ValueList::parse(text)?;
        let mut set = 0;
        for name in list.values {
            set |= 1 << (number_of(name)? - 1);
        }
        Ok(Self(if list.negated { !set } else { set }))
    }
}

/// The number of a signal, by name or number.
pub(super) fn number_of(name: &str) -> Result<i32, ExpressionError> {
    let unknown = || ExpressionError::Signal(name.to_owned());
    if let Ok(number) = name.parse::<i32>() {
        return Some(number)
            .filter(|number| (1..=LAST).contains(number))
            .ok_or_else(unknown);
    }
    let upper = name.to_ascii_uppercase();
    let short = upper.strip_prefix("SIG").unwrap_or(&upper);
    Signal::from_str(&format!("SIG{short}"))
        .map(|signal| signal as i32)
        .map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_as_people_name_them() {
        let some = SignalSet::parse("SIGTERM,hup,10").unwrap();
        assert!(some.contains(15) && some.contains(1) && some.contains(10));
        assert!(!some.contains(2) && !some.contains(0) && !some.contains(65));
        let others = SignalSet::parse("!chld").unwrap();
        assert!(!others.contains(17) && others.contains(15));
        assert_eq!(
            SignalSet::parse("SIGNONE"),
            Err(ExpressionError::Signal("SIGNONE".to_owned()))
        );
        assert!(SignalSet::parse("65").is_err());
    }
}
