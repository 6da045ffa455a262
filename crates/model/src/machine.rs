//! A machine, as far as placeholders name it.

use crate::Value;

/// What placeholders can ask of a machine, each with what it is: numbers of things, and sizes in bytes unless it says otherwise.
pub const MACHINE_PLACEHOLDERS: [(&str, &str); 16] = [
    ("cpus", "processors that a program may use"),
    ("memory", "memory"),
    ("nodes", "NUMA nodes that have memory"),
    ("node_memory", "memory of the smallest of these nodes"),
    ("cores", "processor cores; threads of one core count once"),
    ("threads_per_core", "hardware threads of a core"),
    ("llcs", "last-level caches"),
    ("cache.l1d", "a core's first-level cache of data"),
    ("cache.l2", "a second-level cache"),
    ("cache.l3", "a third-level cache"),
    ("page_size", "a page of memory"),
    (
        "huge_page_size",
        "a huge page, of the size that is usual there",
    ),
    (
        "link.speed",
        "the fastest network link that is up, in bit/s",
    ),
    ("disk.size", "the file system on which steps run"),
    (
        "disk.free",
        "what is free on it for a program that isn't root's",
    ),
    ("ram_disk", "a folder in memory"),
];

/// The folder that `{ram_disk}` is, where the machine has one.
pub const RAM_DISK: &str = "/dev/shm";

/// What is known of a machine when placeholders are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Machine {
    /// In the order of [`MACHINE_PLACEHOLDERS`].
    values: [Option<u64>; MACHINE_PLACEHOLDERS.len()],
}

impl Machine {
    /// A machine of which no more is known than how many processors and how many bytes of memory it has.
    pub fn new(cpus: u32, memory: u64) -> Self {
        let sizes = [("cpus", u64::from(cpus)), ("memory", memory)];
        Self::from_sizes(sizes)
    }

    /// A machine with these sizes, by the names of [`MACHINE_PLACEHOLDERS`]; other names are for a later version than this one.
    pub fn from_sizes<'a>(sizes: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
        let mut machine = Self::default();
        for (name, size) in sizes {
            if let Some(at) = position(name) {
                machine.values[at] = Some(size);
            }
        }
        machine
    }

    /// The sizes that are known, by name.
    pub fn sizes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let named = MACHINE_PLACEHOLDERS.iter().zip(self.values);
        named.filter_map(|((name, _), value)| Some((*name, value?)))
    }

    /// The value of a placeholder; nothing where the machine doesn't say it.
    pub fn lookup(&self, name: &str) -> Option<Value> {
        let size = self.values[position(name)?]?;
        Some(match name {
            "ram_disk" => Value::Text(RAM_DISK.into()),
            _ => Value::Integer(i64::try_from(size).unwrap_or(i64::MAX)),
        })
    }
}

/// Whether a placeholder asks the machine.
pub fn is_machine_placeholder(name: &str) -> bool {
    position(name).is_some()
}

/// The names of placeholders that ask the machine.
pub fn machine_placeholders() -> impl Iterator<Item = &'static str> {
    MACHINE_PLACEHOLDERS.iter().map(|(name, _)| *name)
}

fn position(name: &str) -> Option<usize> {
    machine_placeholders().position(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_says_has_a_value_and_what_it_does_not_say_has_none() {
        let known = [("cpus", 8), ("cache.l3", 32 << 20), ("ram_disk", 1)];
        let machine = Machine::from_sizes(known.into_iter().chain([("warp", 9)]));
        assert_eq!(machine.lookup("cpus"), Some(Value::Integer(8)));
        assert_eq!(machine.lookup("cache.l3"), Some(Value::Integer(32 << 20)));
        assert_eq!(
            machine.lookup("ram_disk"),
            Some(Value::Text("/dev/shm".into()))
        );
        assert_eq!(
            (machine.lookup("nodes"), machine.lookup("warp")),
            (None, None)
        );
        assert!(machine.sizes().eq(known));
        assert!(is_machine_placeholder("nodes") && !is_machine_placeholder("warp"));
    }
}
