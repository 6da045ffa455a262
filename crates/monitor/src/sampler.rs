//! What a sampler is, and why one ends.

use std::{io, path::PathBuf};

use crate::series::Series;

/// The processes that some samplers watch: a process and everything that descends from it.
#[derive(Debug, Clone, Copy)]
pub struct ProcessTree {
    /// The process that started the others.
    pub root: i32,
    /// Whether it is watched itself, or only what it has started.
    pub with_root: bool,
    /// Whether a process is left out, with all that descends from it.
    pub leaves_out: fn(i32) -> bool,
}

/// What all samplers of a recording share, so that nothing is allocated anew.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) bytes: Vec<u8>,
    /// What a user should know: told once on standard error.
    pub(crate) notes: Vec<String>,
}

/// What can be sampled.
pub(crate) trait Sampler {
    /// Adds the numbers of this instant.
    ///
    /// # Errors
    /// It can't go on.
    fn sample(&mut self, scratch: &mut Scratch, series: &mut Series) -> Result<(), SamplerError>;
}

/// Why a sampler can't start or can't go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SamplerError {
    /// A file can't be read.
    #[error("can't read {}: {cause}: {}", path.display(), explain(cause))]
    Unreadable { path: PathBuf, cause: io::Error },
    /// This machine hasn't what is sampled.
    #[error("{0}")]
    Missing(String),
}

/// What it means that a file can't be read.
fn explain(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => "only root reads it",
        _ => "this kernel doesn't have it, or doesn't show it here",
    }
}

impl SamplerError {
    /// One for all of these.
    pub(crate) fn all(errors: Vec<Self>) -> Self {
        let mut texts = errors.iter().map(Self::to_string);
        let first = texts.next().unwrap_or_default();
        Self::Missing(texts.fold(first, |all, text| all + "; " + &text))
    }
}

/// Opens a sampler.
pub(crate) type Open =
    fn(Option<&ProcessTree>, &mut Scratch) -> Result<Box<dyn Sampler>, SamplerError>;

/// Names and numbers of one sample, for tests of samplers.
#[cfg(test)]
pub(crate) fn sampled_once(sampler: &mut dyn Sampler) -> Vec<(String, i64)> {
    let mut series = Series::default();
    series.begin();
    sampler
        .sample(&mut Scratch::default(), &mut series)
        .unwrap();
    series.end();
    let names = series
        .names()
        .map(|name| String::from_utf8_lossy(name).into_owned());
    names.zip(series.values().iter().copied()).collect()
}
