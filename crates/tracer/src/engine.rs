//! Choice of the engine: the BPF engine where it can do what the options ask, else the ptrace engine, with the reason. A command begins
//! under the ptrace engine in both cases, since most are over before programs are loaded.

use backsight_syscall_decode::{Abi, table};

use crate::emit::Emit;
use crate::error::TraceError;
use crate::interrupt::Interrupt;
use crate::options::TraceOptions;
use crate::outcome::TraceOutcome;
use crate::summary::CallSummary;
use crate::{bpf_engine, ptrace_engine};

/// What collects calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Programs in the kernel.
    Kernel,
    /// Stops at each call.
    Ptrace,
    /// Stops at each call of a command's first ones, then programs in the kernel, if it makes so many that these pay.
    PtraceThenKernel,
}

impl EngineKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Ptrace => "ptrace",
            Self::PtraceThenKernel => "ptrace, then the kernel",
        }
    }
}

/// Whether the kernel engine can't run here, and nothing was begun when it said so: the other one can take its place.
fn can_fall_back(error: &TraceError) -> bool {
    use crate::error::BpfEngineError as Error;
    matches!(error, TraceError::Kernel(why) if !matches!(why, Error::Ring { .. }))
}

/// The kernel engine if it can do what is asked, or where nothing else can: for a scope; for a command after the ptrace engine; else that one, with the reason.
pub fn choose_engine(options: &TraceOptions) -> (EngineKind, Option<String>) {
    if options.scope.is_some() {
        return (EngineKind::Kernel, None);
    }
    let why = bpf_engine::unsupported_option(options)
        .or(options
            .descriptors
            .then_some("descriptors and processes are looked up at a stop"))
        .or(is_apart(options).then_some(
            "a command that its tracer is apart from ends when all of it is written, which takes a stop",
        ))
        .or(reaches_far(options)
            .then_some("memory behind pointers in memory is looked up at a stop"));
    let why = why.map(str::to_owned);
    let why = why.or_else(|| {
        bpf_engine::check_available()
            .err()
            .map(|error| error.to_string())
    });
    match why {
        None if options.command.is_some() => (EngineKind::PtraceThenKernel, None),
        None => (EngineKind::Kernel, None),
        why => (EngineKind::Ptrace, why),
    }
}

/// Whether the command took the place of the process that was asked to trace it (`-D`): whoever waits for that one reads what was
/// written as soon as the command ends.
fn is_apart(options: &TraceOptions) -> bool {
    let command = options.command.as_ref();
    command.is_some_and(|command| command.waiting_process.is_some())
}

/// So few calls that a stop at each costs little, but for those that all programs make.
const FEW: usize = 8;

/// Whether nothing but a few calls is asked for, and some of them point to memory that points to memory: the kernel engine
/// would look there when the program may have gone on.
fn reaches_far(options: &TraceOptions) -> bool {
    let Some(limits) = options.limits else {
        return false;
    };
    let mut count = 0;
    let mut far = false;
    for call in table::named_syscalls(Abi::NATIVE)
        .filter(|call| options.calls.contains(call.abi, call.number))
    {
        count += 1;
        far |= table::find_syscall(call.abi, call.number)
            .is_some_and(|row| row.reaches_far(limits.verbose));
        if count > FEW {
            return false;
        }
    }
    far
}

/// Traces what is asked by this engine, and emits events, until everything ended or `interrupt` asks.
///
/// # Errors
///
/// As the engines': nothing is asked for, what is asked for isn't this engine's, the command can't be started, a process
/// can't be attached to, or the kernel refuses.
pub fn trace(
    engine: EngineKind,
    options: &TraceOptions,
    interrupt: &Interrupt,
    emit: &mut Emit<'_>,
) -> Result<TraceOutcome, TraceError> {
    match engine {
        EngineKind::Ptrace if options.scope.is_some() => Err(TraceError::ScopeByPtrace),
        EngineKind::Ptrace => ptrace_engine::trace(options, interrupt, emit),
        EngineKind::Kernel => bpf_engine::trace(options, interrupt, emit),
        EngineKind::PtraceThenKernel => bpf_engine::trace_after_ptrace(options, interrupt, emit),
    }
}

/// Counts the calls that are asked for, with what they took, until everything ended or `interrupt` asks: for those who want
/// no single call. Other events are emitted. The kernel engine counts where calls are made, which costs a fraction of
/// emitting them; it counts the calls of all processes together, the other one those of each.
///
/// # Errors
///
/// As [`trace`].
pub fn count_calls(
    engine: EngineKind,
    options: &TraceOptions,
    interrupt: &Interrupt,
    emit: &mut Emit<'_>,
) -> Result<(TraceOutcome, CallSummary), TraceError> {
    match engine {
        EngineKind::Kernel => return bpf_engine::count_calls(options, interrupt, emit),
        EngineKind::PtraceThenKernel => {
            return bpf_engine::count_calls_after_ptrace(options, interrupt, emit);
        }
        EngineKind::Ptrace if options.scope.is_some() => return Err(TraceError::ScopeByPtrace),
        EngineKind::Ptrace => {}
    }
    let mut summary = CallSummary::new();
    let options = TraceOptions {
        limits: None,
        pending: false,
        ..options.clone()
    };
    let ended = ptrace_engine::trace(&options, interrupt, &mut summary.counting(emit))?;
    Ok((ended, summary))
}

/// Runs a trace by the engine that [`choose_engine`] chose or, should that turn out not to run here, by the other. `report` gets each
/// engine before it runs, with the reason why it isn't the other.
///
/// # Errors
/// As [`trace`].
pub fn run_with_fitting_engine<T>(
    (chosen, why): (EngineKind, Option<String>),
    report: &dyn Fn(EngineKind, Option<String>),
    run: &mut dyn FnMut(EngineKind) -> Result<T, TraceError>,
) -> Result<T, TraceError> {
    report(chosen, why);
    match run(chosen) {
        Err(error) if can_fall_back(&error) => {
            report(EngineKind::Ptrace, Some(error.to_string()));
            run(EngineKind::Ptrace)
        }
        ended => ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::syscall_set::SyscallSet;

    #[test]
    fn what_takes_a_stop_is_for_the_engine_that_stops() {
        let limited = TraceOptions {
            limit: Some(3),
            ..TraceOptions::default()
        };
        let looked_up = TraceOptions {
            descriptors: true,
            ..TraceOptions::default()
        };
        let mut calls = SyscallSet::none();
        for abi in [Abi::X86_64, Abi::Aarch64] {
            calls.insert(abi, table::syscall_number(abi, "seccomp").unwrap());
        }
        let far = TraceOptions {
            calls,
            limits: Some(backsight_syscall_decode::memory::CaptureLimits::default()),
            ..TraceOptions::default()
        };
        for options in [limited, looked_up, far] {
            let (engine, why) = choose_engine(&options);
            assert_eq!(engine, EngineKind::Ptrace);
            assert!(why.is_some());
        }
    }
}
