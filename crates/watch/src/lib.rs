//! Standing jobs: `watch`. A job follows the history of a target, measures new versions as its budget allows, and where something
//! may have changed asks until it knows: it bisects, measures what was named beside the version before it, takes it back on top of the
//! newest version, and tells.
//!
//! What is next is decided by [`WatchPolicy`](backsight_policy::WatchPolicy) from what the store and the history say; nothing else is
//! remembered, so that a job that was killed goes on where it was. What it decides is done by the verbs that people use (`step`,
//! `bisect`, `try`): its studies are like theirs.
//!
//! ```
//! use backsight_model::TomlDocument;
//! use backsight_watch::WatchConfig;
//! use std::path::Path;
//!
//! let file = r#"
//!     [job.main]
//!     target = "app"
//!     plan   = "plan.toml"
//!     budget = "4h"
//! "#;
//! let config = WatchConfig::read(&TomlDocument::new("watch.toml", file), Path::new("/lab"))?;
//! assert_eq!(config.jobs["main"].plan, Path::new("/lab/plan.toml"));
//! # Ok::<(), backsight_model::DocumentError>(())
//! ```

mod config;
mod description;
mod followed_versions;
mod found_change;
mod job_studies;
mod look_times;
mod memory;
mod names;
mod question;
mod refutation;
mod schema;
mod standing_job;
mod work;

pub use config::{JobConfig, WatchConfig};
pub use found_change::FoundChange;
pub use look_times::LookTimes;
pub use schema::{KINDS, schema_for};
pub use standing_job::{JobFailures, JobPlace, NextStep, Outlook, StandingJob, StepEnd};
pub use work::{Teller, WorkEnd, WorkUntil, work};
