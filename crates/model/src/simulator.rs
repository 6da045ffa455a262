//! What counted a metric, where it wasn't the clock of a real machine.
//!
//! It is never guessed from a unit: a benchmark's definition says it, or the target whose guests have such a clock.

use std::{fmt, str::FromStr};

/// What counted a metric in place of a real machine's clock. Its repeats agree by construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Simulator {
    /// The benchmark runs its program in one: callgrind, an emulator.
    Program,
    /// The emulated machine on which it was measured: each of its instructions takes 2^N ns, and nothing else takes time.
    Icount(u8),
}

impl Simulator {
    /// What time is, where it isn't a real machine's: durations of different time bases are never the same quantity.
    pub fn time_base(self) -> Option<u8> {
        match self {
            Self::Program => None,
            Self::Icount(shift) => Some(shift),
        }
    }

    /// How it counted, as it stands after a unit: `counted by a simulator`.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Program => "counted by a simulator",
            Self::Icount(_) => "timed in instructions",
        }
    }

    /// What that means for whoever reads a verdict: a sentence without its capital and its full stop.
    pub fn meaning(self) -> String {
        let agree = "repeats agree by construction, and say nothing of another layout";
        match self {
            Self::Program => {
                format!("{}: {agree} or of what it doesn't simulate", self.phrase())
            }
            Self::Icount(shift) => format!(
                "{} of {} ns each, by an emulated machine: {agree}; caches and branches cost nothing there",
                self.phrase(),
                2_f64.powi(shift.into())
            ),
        }
    }
}

impl fmt::Display for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.pad("program"),
            Self::Icount(shift) => f.pad(&format!("icount={shift}")),
        }
    }
}

/// It is neither `program` nor `icount=N`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no simulator: expected `program` or `icount=N`")]
pub struct SimulatorError(pub String);

impl FromStr for Simulator {
    type Err = SimulatorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shift = text.strip_prefix("icount=").map(str::parse);
        match (text, shift) {
            ("program", _) => Ok(Self::Program),
            (_, Some(Ok(shift))) => Ok(Self::Icount(shift)),
            _ => Err(SimulatorError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for simulator in [Simulator::Program, Simulator::Icount(2)] {
            assert_eq!(simulator.to_string().parse(), Ok(simulator));
        }
        for text in ["", "icount", "icount=", "icount=-1", "icount=2 ", "gem5"] {
            assert!(text.parse::<Simulator>().is_err(), "{text}");
        }
    }
}
