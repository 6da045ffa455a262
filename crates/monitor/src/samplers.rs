//! The samplers by their names.

use std::{
    io,
    path::{Path, PathBuf},
};

#[cfg(target_os = "linux")]
use crate::perf::Perf;
use crate::{
    files::{Files, ReadShape},
    process_tree::ProcessTree,
    processes::Processes,
    series::Series,
    shape,
};

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
    #[error("can't read {}: {cause}: this kernel doesn't have it, or doesn't show it here", path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    /// This machine hasn't what is sampled.
    #[error("{0}")]
    Missing(String),
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
type Open = fn(Option<&ProcessTree>, &mut Scratch) -> Result<Box<dyn Sampler>, SamplerError>;

/// Opens a sampler that reads these files.
macro_rules! files {
    ($($path:literal: $shape:expr),+ $(,)?) => {
        |_, scratch| {
            const FILES: &[(&str, ReadShape)] = &[$(($path, $shape)),+];
            Ok(Box::new(Files::open(Path::new("/"), FILES, scratch)?))
        }
    };
}

/// Every sampler.
const SAMPLERS: &[(&str, Open)] = &[
    (
        "cpu",
        files! {
            "proc/stat": shape::stat,
            "proc/loadavg": shape::load,
        },
    ),
    (
        "memory",
        files! {
            "proc/meminfo": shape::pairs,
            "proc/vmstat": shape::pairs,
            "proc/buddyinfo": shape::free_blocks,
        },
    ),
    // Both are slow to make, the second one with the zone's lock held.
    (
        "zones",
        files! {
            "proc/zoneinfo": shape::zones,
            "proc/pagetypeinfo": shape::migrate_types,
        },
    ),
    ("slab", files! { "proc/slabinfo": shape::slabs }),
    ("disk", files! { "proc/diskstats": shape::disks }),
    (
        "net",
        files! {
            "proc/net/dev": shape::interfaces,
            "proc/net/snmp": shape::protocols,
            "proc/net/snmp6": shape::pairs,
            "proc/net/netstat": shape::protocols,
            "proc/net/softnet_stat": shape::softnet,
        },
    ),
    (
        "interrupts",
        files! {
            "proc/interrupts": |text, series| shape::per_processor(b"irq.", text, series),
            "proc/softirqs": |text, series| shape::per_processor(b"softirq.", text, series),
        },
    ),
    (
        "sched",
        files! {
            "proc/stat": shape::switches,
            "proc/schedstat": shape::schedstat,
        },
    ),
    (
        "pressure",
        files! {
            "proc/pressure/cpu": |text, series| shape::pressure(b"cpu.", text, series),
            "proc/pressure/memory": |text, series| shape::pressure(b"memory.", text, series),
            "proc/pressure/io": |text, series| shape::pressure(b"io.", text, series),
            "proc/pressure/irq": |text, series| shape::pressure(b"irq.", text, series),
        },
    ),
    ("processes", |tree, scratch| {
        Ok(Box::new(Processes::open(tree, scratch)?))
    }),
    #[cfg(target_os = "linux")]
    ("perf", |tree, _| Ok(Box::new(Perf::open(tree)?))),
    #[cfg(target_os = "linux")]
    ("tracepoints", |tree, _| {
        Ok(Box::new(Perf::open_tracepoints(tree)?))
    }),
];

/// The names of all samplers.
pub fn sampler_names() -> impl Iterator<Item = &'static str> {
    SAMPLERS.iter().map(|(name, _)| *name)
}

/// The sampler of this name.
pub(crate) fn open(
    name: &str,
    tree: Option<&ProcessTree>,
    scratch: &mut Scratch,
) -> Result<Box<dyn Sampler>, SamplerError> {
    let unknown = || SamplerError::Missing(format!("there is no sampler `{name}`"));
    let named = SAMPLERS.iter().find(|(known, _)| *known == name);
    named.ok_or_else(unknown)?.1(tree, scratch)
}
