//! Samplers of /proc: what `backsight monitor NAME` prints, a sample a line.
//!
//! A [`Sampler`] is a row of one table: its name and the files that it reads, each with its shape. A [`Sample`] is what
//! they said at one instant of the monotonic clock, counters as the kernel counts them: what changed between two samples
//! is their difference. Outside tools are no matter of this room: they are commands in `monitors/*.toml`, as these are.
//!
//! Refuses: to average, to take a difference, to put a number where the kernel said none, and to sample later what it
//! was too late for.

mod sampler;
mod shape;

pub use sampler::{RecordError, Sample, Sampler, Unsampled, record, sampler, samplers};
