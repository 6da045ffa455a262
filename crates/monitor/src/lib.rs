//! Samplers of /proc: what `backsight monitor NAME` prints, a sample a line.
//!
//! A [`Sampler`] is a row of one table: its name and the files that it reads, each with its shape. A [`Sample`] is what
//! they said at one instant of the monotonic clock, counters as the kernel counts them: what changed between two samples
//! is their difference. Outside tools are no matter of this room: they are commands in `monitors/*.toml`, as these are.
//!
//! There are no means and no differences here, no number that the kernel didn't give, and no sample in place of one that was
//! missed.
//!
//! ```
//! let sampler = backsight_monitor::sampler("proc-stat").unwrap();
//! let sample = sampler.sample()?;
//! assert!(sample.values.keys().any(|name| name.contains("user")), "{:?}", sample.values);
//! # Ok::<(), backsight_monitor::SamplerError>(())
//! ```

mod sampler;
mod shape;

pub use sampler::{RecordError, Sample, Sampler, SamplerError, record, sampler, samplers};
