//! Outcome of a trace, and the exit of its command.

/// How tracing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceOutcome {
    /// How the command that was started ended; nothing if none was, or if it goes on without being traced.
    pub command: Option<CommandExit>,
    /// How many calls were told.
    pub calls: u64,
    /// How many events were lost: 0, unless something is wrong.
    pub lost: u64,
    /// How often the kernel engine held a thread until it had read what came before.
    pub backpressure_stops: u64,
}

impl CommandExit {
    /// Ends this process in the same way: a shell sees no difference. Comes back with a status if a signal doesn't end it.
    pub fn exit_with_same_status(self) -> u8 {
        use nix::sys::{
            resource::{Resource, setrlimit},
            signal::{SigHandler, SigSet, Signal, raise, signal},
        };
        let number = match self {
            Self::Exited(status) => return status as u8,
            Self::Killed(number) => number,
        };
        if let Ok(by) = Signal::try_from(number) {
            // The memory that matters was the command's.
            let _as_it_was = setrlimit(Resource::RLIMIT_CORE, 0, 0);
            let mut only = SigSet::empty();
            only.add(by);
            // SAFETY: no code of ours is run by the signal's default.
            let _cant_be_set = unsafe { signal(by, SigHandler::SigDfl) };
            let _still_blocked = only.thread_unblock();
            let _survived = raise(by);
        }
        128_u8.wrapping_add(number as u8)
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandExit {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal.
    Killed(i32),
}
