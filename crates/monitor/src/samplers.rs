//! The samplers by their names.

use std::path::Path;

use crate::{
    calls, cgroup,
    files::{Files, ReadShape},
    numa::Numa,
    processes::Processes,
    sampler::{Open, ProcessTree, Sampler, SamplerError, Scratch},
    shape,
    thermal::Thermal,
};

/// Opens a sampler that reads these files.
macro_rules! files {
    ($($path:literal: $shape:expr),+ $(,)?) => {
        |_, scratch| {
            const FILES: &[(&str, ReadShape)] = &[$(($path, $shape)),+];
            Ok(Box::new(Files::open(Path::new("/"), FILES, scratch)?))
        }
    };
}

/// Every sampler that only reads files.
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
    ("zones", files! { "proc/zoneinfo": shape::zones }),
    // The kernel walks all blocks of pages for it, some of the time with a zone's lock held: milliseconds a sample.
    (
        "pagetypes",
        files! { "proc/pagetypeinfo": shape::migrate_types },
    ),
    // Half a millisecond and more a sample.
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
    ("cgroup", |tree, scratch| {
        Ok(Box::new(cgroup::open(tree, scratch)?))
    }),
    ("numa", |tree, _| {
        Ok(Box::new(Numa::open(Path::new("/"), tree)?))
    }),
    ("thermal", |_, _| {
        Ok(Box::new(Thermal::open(Path::new("/"))?))
    }),
];

/// All, with those that ask the system by calls.
fn all() -> impl Iterator<Item = &'static (&'static str, Open)> {
    SAMPLERS.iter().chain(calls::SAMPLERS)
}

/// The names of all samplers.
pub fn sampler_names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| *name)
}

/// The sampler of this name.
pub(crate) fn open(
    name: &str,
    tree: Option<&ProcessTree>,
    scratch: &mut Scratch,
) -> Result<Box<dyn Sampler>, SamplerError> {
    let unknown = || SamplerError::Missing(format!("there is no sampler `{name}`"));
    let named = all().find(|(known, _)| *known == name);
    named.ok_or_else(unknown)?.1(tree, scratch)
}
