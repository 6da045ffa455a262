//! Profiles: stacks with weights. The document that a profiler prints, merging of several, weights by function, exports.
//!
//! A [`Profile`] comes from a stranger's program as bytes and is checked once, by [`Profile::from_json`]: every number in it then
//! points at something, and sums of its weights don't overflow. [`ProfileBuilder`] makes one, with everything in it once.
//!
//! ```
//! use backsight_profile::{ProfileFrame, Profile, ProfileBuilder, ProfileHead, Module, Sample, Thread};
//!
//! let mut builder = ProfileBuilder::new(ProfileHead::default());
//! let module = builder.add_module(Module { path: "/usr/bin/x".into(), build_id: String::new() });
//! let main = builder.add_frame(ProfileFrame::new("main", module));
//! let work = builder.add_frame(ProfileFrame::new("work", module));
//! let stack = builder.add_stack(&[main, work]);
//! let thread = builder.add_thread(Thread { pid: 1, tid: 1, process: "x".into(), thread: "x".into() });
//! builder.add_sample(Sample { stack, thread, weight: 3, cpu: 0, first_ns: 0 });
//! let profile = builder.finish();
//!
//! assert_eq!(Profile::from_json(&profile.to_json())?, profile);
//! assert_eq!(backsight_profile::export::folded::write(&profile), "x;main;work 3\n");
//! # Ok::<(), backsight_profile::ProfileError>(())
//! ```

mod builder;
mod document;
pub mod export;
mod functions;
mod merge;
mod pairing;

pub use builder::ProfileBuilder;
pub use document::{
    Module, Profile, ProfileError, ProfileEvent, ProfileFrame, ProfileHead, ProfileScope,
    ProfileUnit, Sample, Thread,
};
pub use functions::{CallNode, CallTree, FunctionKey, FunctionTable, FunctionWeights};
pub use merge::{MergeError, merge};
pub use pairing::FunctionPairing;
