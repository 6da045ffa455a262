//! Samplers: what `backsight monitor NAME...` prints. Several samplers are one process with one thread.
//!
//! A sampler reads files of /proc and /sys (or asks the kernel otherwise) and gives named whole numbers, its *series*. A
//! [`record`]ing is JSON lines, in which K is the sampler's place among those that were asked for:
//!
//! - `{"sampler": K, "name": "cpu", "series": ["ctxt", …]}` before the first sample and whenever the names have changed;
//! - `[K, at_ns, v1, …]` a sample, in nanoseconds of `CLOCK_MONOTONIC`: absolute after such a header, else the differences to the
//!   sampler's last one;
//! - `{"sampler": K, "name": "cpu", "fault": "…"}` where a sampler ends early.
//!
//! Counters are as the kernel counts them and only grow; gauges are as they are. A number is the kernel's 64 bits as a signed
//! number. What the kernel writes with decimals is scaled, and the name says so (`load.1min.hundredths`). A part of a name that the
//! kernel gives, such as an interface's, has `_` in place of dots.
//!
//! A [`probe`] does one small operation at every interval and reports how long that took.
//!
//! There are no means and no rates of samples here, and no sample in place of one that was missed. A sample allocates no memory while its names
//! are those of the last one. Outside tools are no matter of this room: they are commands in `monitors/*.toml`.
//!
//! ```
//! use backsight_monitor::{EndSignals, record};
//! use std::time::Duration;
//!
//! let mut lines = Vec::new();
//! let signals = EndSignals::block();
//! record(&["cpu", "memory"], None, Duration::from_millis(10), Some(2), &signals, &mut lines)?;
//! assert_eq!(String::from_utf8_lossy(&lines).lines().count(), 2 * 2 + 2);
//! # Ok::<(), backsight_monitor::RecordError>(())
//! ```

mod cgroup;
mod end_signals;
mod files;
mod numa;
mod probe;
mod process_tree;
mod processes;
mod recording;
mod sampler;
mod samplers;
mod series;
mod shape;
mod thermal;

// What needs Linux to be compiled: its calls, not its files.
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod calls;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod calls;
#[cfg(target_os = "linux")]
mod nic;
#[cfg(target_os = "linux")]
mod perf;
#[cfg(target_os = "linux")]
mod perf_events;
#[cfg(target_os = "linux")]
mod sockets;

pub use end_signals::EndSignals;
pub use probe::{ProbeReport, probe, probe_names};
pub use recording::{RecordError, record};
pub use sampler::ProcessTree;
pub use samplers::sampler_names;
