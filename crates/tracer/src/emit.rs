//! Emitting: where an engine's events go.

use backsight_syscall_decode::TraceEvent;

/// Gets each event as soon as it is known, one after the other, by whichever thread knows it.
pub type Emit<'a> = dyn FnMut(TraceEvent) + Send + 'a;
