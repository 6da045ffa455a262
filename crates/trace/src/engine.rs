//! Which engine traces what is asked: the kernel engine where it can, else the ptrace engine.
//!
//! Refuses: to trace otherwise than asked without saying so.

use std::{ffi::OsString, sync::Arc, time::Duration};

use crate::asked::is_program;
use crate::{
    Asked, Ended, Event, Finish, Interrupt, Status, Statuses, TraceError, What, kernel, ptrace,
    table::Limits,
};

/// After how long a call is told while it goes on.
const PENDING: Duration = Duration::from_millis(500);

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
    use kernel::KernelError as Error;
    matches!(
        error,
        TraceError::Kernel(
            Error::Capability { .. }
                | Error::Namespace
                | Error::Types
                | Error::Load { .. }
                | Error::Object { .. }
        )
    )
}

/// The kernel engine if it can do what is asked; else the other one, with the reason.
pub fn fitting(asked: &Asked) -> (Engine, Option<String>) {
    let why = unfit(asked).map(str::to_owned);
    let why = why.or_else(|| kernel::available().err().map(|error| error.to_string()));
    match why {
        None => (Engine::Kernel, None),
        why => (Engine::Ptrace, why),
    }
}

/// What of this the kernel engine can't do.
fn unfit(asked: &Asked) -> Option<&'static str> {
    let user = asked.command.as_ref().is_some_and(|c| c.user.is_some());
    let reasons = [
        (!asked.paths.is_empty(), "paths are looked up at a stop"),
        (
            !asked.injections.is_empty(),
            "calls are tampered with at a stop",
        ),
        (
            !asked.detach_on.is_empty(),
            "detaching at a call takes a stop there",
        ),
        (
            asked.limit.is_some(),
            "a limit of calls takes a stop at each",
        ),
        (
            user,
            "a command of another user is started by the ptrace engine",
        ),
        (
            asked.command.is_some() && !asked.pids.is_empty(),
            "a command and processes together are traced by the ptrace engine",
        ),
        (
            outcomes(asked.statuses).is_none(),
            "these statuses are known at stops",
        ),
    ];
    let mut reasons = reasons.into_iter();
    reasons.find_map(|(holds, why)| holds.then_some(why))
}

fn outcomes(statuses: Statuses) -> Option<kernel::Outcomes> {
    if statuses.is_all() {
        Some(kernel::Outcomes::All)
    } else if statuses == Statuses::only(Status::Successful) {
        Some(kernel::Outcomes::Successful)
    } else if statuses == Statuses::only(Status::Failed) {
        Some(kernel::Outcomes::Failed)
    } else {
        None
    }
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
    interrupt: &Arc<Interrupt>,
    tell: &mut dyn FnMut(Event),
) -> Result<Ended, TraceError> {
    match engine {
        Engine::Ptrace => ptrace::trace(asked, interrupt, tell),
        Engine::Kernel => by_kernel(asked, interrupt, tell),
    }
}

fn by_kernel(
    asked: &Asked,
    interrupt: &Arc<Interrupt>,
    tell: &mut dyn FnMut(Event),
) -> Result<Ended, TraceError> {
    if let Some(why) = unfit(asked) {
        return Err(TraceError::Unfit { why });
    }
    let subject = match &asked.command {
        Some(command) => {
            let not_found = || TraceError::NotFound {
                program: command.program.clone(),
            };
            let file = command.file().ok_or_else(not_found)?;
            if !is_program(&file) {
                return Err(TraceError::NotStarted {
                    program: command.program.clone(),
                    why: std::io::ErrorKind::PermissionDenied.into(),
                });
            }
            let start = kernel::Start::new(&command.program, &command.arguments);
            let start = start.map_err(|_| not_found())?;
            let start = start.blocking(interrupt.blocked_before());
            kernel::Subject::Command(start.environment(environment(&command.environment)))
        }
        None if asked.pids.is_empty() => return Err(TraceError::Nothing),
        None => kernel::Subject::Running(asked.pids.clone()),
    };
    let calls = asked.calls.clone();
    let nothing = Limits {
        string: 0,
        elements: 0,
        verbose: false,
    };
    let options = kernel::Options {
        follow: asked.follow,
        limits: asked.limits.unwrap_or(nothing),
        chosen: (!calls.is_all()).then(|| -> Arc<kernel::Chosen> {
            Arc::new(move |abi, number| calls.has(abi, number))
        }),
        outcomes: outcomes(asked.statuses).unwrap_or_default(),
        pending: asked.pending.then_some(PENDING),
        ..kernel::Options::default()
    };
    let stop = kernel::Stop::new().map_err(|why| TraceError::Refused {
        what: "make a descriptor for events",
        why,
    })?;
    let asks = stop.clone();
    interrupt.then(move || asks.ask());
    let mut told = 0;
    let ended = kernel::trace(&subject, &options, &stop, &mut |event| {
        let wanted = match &event.what {
            What::Signal { number, .. } => asked.signals.has(*number),
            _ => true,
        };
        told += u64::from(matches!(event.what, What::Call(_)));
        if wanted {
            tell(event);
        }
    })?;
    Ok(Ended {
        command: ended.status.map(finish),
        told,
        lost: ended.lost,
    })
}

/// This process's environment with these changes.
fn environment(changes: &[(OsString, Option<OsString>)]) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<_> = std::env::vars_os().collect();
    for (name, value) in changes {
        environment.retain(|(known, _)| known != name);
        environment.extend(value.clone().map(|value| (name.clone(), value)));
    }
    environment
}

/// How a process ended, by its status as `wait` has it.
fn finish(status: i32) -> Finish {
    match status & 0x7f {
        0 => Finish::Exited((status >> 8) & 0xff),
        signal => Finish::Killed(signal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_changed_by_name() {
        let set = |name: &str, value: Option<&str>| (name.into(), value.map(Into::into));
        let changed = environment(&[set("BACKSIGHT_A", Some("1")), set("PATH", None)]);
        assert!(changed.contains(&("BACKSIGHT_A".into(), "1".into())));
        assert!(!changed.iter().any(|(name, _)| name == "PATH"));
    }

    #[test]
    fn a_status_of_wait_is_an_exit_or_a_signal() {
        assert_eq!(finish(3 << 8), Finish::Exited(3));
        assert_eq!(finish(9), Finish::Killed(9));
        assert_eq!(finish(0x80 | 11), Finish::Killed(11));
    }

    #[test]
    fn what_takes_a_stop_is_not_the_kernel_engines() {
        assert_eq!(unfit(&Asked::default()), None);
        let limited = Asked {
            limit: Some(3),
            ..Asked::default()
        };
        assert!(unfit(&limited).is_some());
        assert_eq!(fitting(&limited).0, Engine::Ptrace);
    }
}
