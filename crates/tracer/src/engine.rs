//! Which engine traces what is asked: the kernel engine where it can, else the ptrace engine.
//!
//! Refuses: to trace otherwise than asked without saying so.

use backsight_syscall_decode::{Abi, Event, table};

use crate::error::TraceError;
use crate::interrupt::Interrupt;
use crate::options::Asked;
use crate::outcome::Ended;
use crate::summary::Summary;
use crate::{bpf_engine, ptrace_engine};

/// What collects calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Programs in the kernel.
    Kernel,
    /// Stops at each call.
    Ptrace,
}

impl Engine {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Ptrace => "ptrace",
        }
    }
}

/// Whether the kernel engine can't run here, and nothing was begun when it said so: the other one can take its place.
pub fn can_be_replaced(error: &TraceError) -> bool {
    use crate::error::KernelError as Error;
    matches!(error, TraceError::Kernel(why) if !matches!(why, Error::Ring { .. }))
}

/// The kernel engine if it can do what is asked; else the other one, with the reason.
pub fn fitting(asked: &Asked) -> (Engine, Option<String>) {
    let why =
        bpf_engine::unfit(asked)
            .or(asked
                .descriptors
                .then_some("descriptors and processes are looked up at a stop"))
            .or(reaches_far(asked)
                .then_some("memory behind pointers in memory is looked up at a stop"));
    let why = why.map(str::to_owned);
    let why = why.or_else(|| bpf_engine::available().err().map(|error| error.to_string()));
    match why {
        None => (Engine::Kernel, None),
        why => (Engine::Ptrace, why),
    }
}

/// So few calls that a stop at each costs little, but for those that all programs make.
const FEW: usize = 8;

/// Whether nothing but a few calls is asked for, and some of them point to memory that points to memory: the kernel engine
/// would look there when the program may have gone on.
fn reaches_far(asked: &Asked) -> bool {
    let Some(limits) = asked.limits else {
        return false;
    };
    let mut count = 0;
    let mut far = false;
    for (_, row) in
        table::rows(Abi::NATIVE).filter(|(number, _)| asked.calls.has(Abi::NATIVE, *number))
    {
        count += 1;
        far |= row.reaches_far(limits.verbose);
        if count > FEW {
            return false;
        }
    }
    far
}

/// Traces what is asked by this engine, and tells what happens, until everything ended or `interrupt` asks.
///
/// # Errors
///
/// As the engines': nothing is asked for, what is asked for isn't this engine's, the command can't be started, a process
/// can't be attached to, or the kernel refuses.
pub fn trace(
    engine: Engine,
    asked: &Asked,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event),
) -> Result<Ended, TraceError> {
    match engine {
        Engine::Ptrace => ptrace_engine::trace(asked, interrupt, tell),
        Engine::Kernel => bpf_engine::trace(asked, interrupt, tell),
    }
}

/// Counts the calls that are asked for, with what they took, until everything ended or `interrupt` asks: for those who want
/// no single call. What else happens is told. The kernel engine counts where calls are made, which costs a fraction of
/// telling them; it counts the calls of all processes together, the other one those of each.
///
/// # Errors
///
/// As [`trace`].
pub fn count(
    engine: Engine,
    asked: &Asked,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event),
) -> Result<(Ended, Summary), TraceError> {
    if engine == Engine::Kernel {
        return bpf_engine::count(asked, interrupt, tell);
    }
    let mut summary = Summary::new();
    let asked = Asked {
        limits: None,
        pending: false,
        ..asked.clone()
    };
    let ended = ptrace_engine::trace(&asked, interrupt, &mut summary.telling(tell))?;
    Ok((ended, summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::call_set::Calls;

    #[test]
    fn what_takes_a_stop_is_for_the_engine_that_stops() {
        let limited = Asked {
            limit: Some(3),
            ..Asked::default()
        };
        let looked_up = Asked {
            descriptors: true,
            ..Asked::default()
        };
        let mut calls = Calls::none();
        for abi in [Abi::X86_64, Abi::Aarch64] {
            calls.add(abi, table::number(abi, "seccomp").unwrap());
        }
        let far = Asked {
            calls,
            limits: Some(backsight_syscall_decode::memory::Limits::default()),
            ..Asked::default()
        };
        for asked in [limited, looked_up, far] {
            let (engine, why) = fitting(&asked);
            assert_eq!(engine, Engine::Ptrace);
            assert!(why.is_some());
        }
    }
}
