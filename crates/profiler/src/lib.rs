//! The profiler: which functions use the processors, or what threads wait for, by sampling with perf_event_open(2).
//!
//! Each processor has a ring of samples: the kernel's own stack, and registers and the end of the stack of the program that runs
//! there. One thread reads them in the order of their times, unwinds each stack at once and keeps only its addresses, merged, in
//! bounded memory. Names are looked up at the end, each address once. Out comes a [`backsight_profile::Profile`].
//!
//! Events are of whole processors, also where only some processes are profiled: a program that is switched to and fro pays nothing
//! for it, and who is born later is seen. Samples of others are dropped when they are read. Source lines and inlined functions aren't
//! looked up.
//!
//! ```no_run
//! use backsight_profiler::{ProfiledProcesses, Profiler, ProfilerOptions};
//! use std::{io::stdin, os::fd::AsFd};
//!
//! let profiler = Profiler::start(ProfilerOptions {
//!     processes: ProfiledProcesses::Machine,
//!     off_cpu: false,
//!     frequency: None,
//! })?;
//! let collected = profiler.run(stdin().as_fd())?;
//! println!("{} stacks", collected.profile.stacks.len());
//! # Ok::<(), backsight_profiler::ProfilerError>(())
//! ```

mod code_reader;
mod collector;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod kernel_symbols;
mod naming;
mod output;
mod perf_event;
mod perf_map;
mod processes;
mod profiler;
mod record;
mod ring;
mod sched_switch;
mod stack_store;
mod stop_signals;

pub use error::ProfilerError;
pub use output::{BackgroundProfiler, profile_until_stopped};
pub use processes::ProfiledProcesses;
pub use profiler::{CollectedProfile, Profiler, ProfilerOptions, USUAL_FREQUENCY};
