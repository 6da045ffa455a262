//! Sizes of the machine, by the names of placeholders (`{cache.l3}`). What the kernel doesn't say is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use backsight_model::RAM_DISK;
use rustix::fs::statvfs;

use crate::facts;
use crate::machine_files::MachineFiles;

/// All of them; `folder` is on the file system on which steps run.
pub(crate) fn all(folder: &Path) -> BTreeMap<String, u64> {
    let mut sizes = Sizes::default();
    sizes.add("cpus", Some(u64::from(facts::cpus())));
    sizes.add("memory", backsight_platform::memory_bytes());
    sizes.add("page_size", Some(rustix::param::page_size() as u64));
    sizes.add_topology(&MachineFiles::here());
    if let Ok(file_system) = statvfs(folder) {
        sizes.add(
            "disk.size",
            bytes(file_system.f_blocks, file_system.f_frsize),
        );
        sizes.add(
            "disk.free",
            bytes(file_system.f_bavail, file_system.f_frsize),
        );
    }
    if Path::new(RAM_DISK).is_dir() {
        sizes.add(
            "ram_disk",
            statvfs(RAM_DISK)
                .ok()
                .and_then(|on| bytes(on.f_blocks, on.f_frsize)),
        );
    }
    sizes.0
}

fn bytes(blocks: u64, size: u64) -> Option<u64> {
    blocks.checked_mul(size)
}

#[derive(Default)]
struct Sizes(BTreeMap<String, u64>);

impl Sizes {
    fn add(&mut self, name: &str, size: Option<u64>) {
        if let Some(size) = size {
            self.0.insert(name.to_owned(), size);
        }
    }

    /// What the files of the kernel say.
    fn add_topology(&mut self, machine: &MachineFiles) {
        let nodes = machine.numbered("sys/devices/system/node", "node");
        let memory = |node: &String| {
            let text = machine.text(format!("{node}/meminfo"))?;
            let line = text.lines().find(|line| line.contains("MemTotal:"))?;
            kibibytes(line.split_once("MemTotal:")?.1)
        };
        let memories: Vec<u64> = nodes
            .iter()
            .filter_map(memory)
            .filter(|size| *size > 0)
            .collect();
        self.add(
            "nodes",
            Some(memories.len() as u64).filter(|count| *count > 0),
        );
        self.add("node_memory", memories.into_iter().min());

        let cpus = machine.numbered("sys/devices/system/cpu", "cpu");
        let siblings: Vec<String> = cpus
            .iter()
            .filter_map(|cpu| machine.value(format!("{cpu}/topology/thread_siblings_list")))
            .collect();
        let cores: BTreeSet<&String> = siblings.iter().collect();
        self.add("cores", Some(cores.len() as u64).filter(|count| *count > 0));
        self.add(
            "threads_per_core",
            siblings
                .len()
                .checked_div(cores.len())
                .map(|threads| threads as u64),
        );

        let caches = cpus
            .iter()
            .flat_map(|cpu| machine.numbered(&format!("{cpu}/cache"), "index"));
        let caches: BTreeSet<(u64, String, String, u64)> = caches
            .filter_map(|cache| {
                let of = |file: &str| machine.value(format!("{cache}/{file}"));
                let level = of("level")?.parse().ok()?;
                let size = size_of_cache(&of("size")?)?;
                Some((level, of("shared_cpu_list")?, of("type")?, size))
            })
            .collect();
        let last = caches.iter().map(|(level, ..)| *level).max();
        let of_last = caches
            .iter()
            .filter(|(level, ..)| Some(*level) == last)
            .count() as u64;
        self.add("llcs", last.map(|_| of_last));
        for (name, wanted) in [("cache.l1d", 1), ("cache.l2", 2), ("cache.l3", 3)] {
            let found = caches
                .iter()
                .find(|(level, _, kind, _)| *level == wanted && kind != "Instruction");
            self.add(name, found.map(|(.., size)| *size));
        }

        let memory = machine.text("proc/meminfo").unwrap_or_default();
        let huge = memory
            .lines()
            .find_map(|line| line.strip_prefix("Hugepagesize:"));
        self.add("huge_page_size", huge.and_then(kibibytes));

        let links = machine.names("sys/class/net").into_iter();
        let speeds = links.filter_map(|link| {
            let of = |file: &str| machine.value(format!("sys/class/net/{link}/{file}"));
            let up = of("operstate")? == "up";
            let megabits: u64 = of("speed")?.parse().ok()?;
            // A link that doesn't know its speed says -1, older kernels that number without its sign.
            (up && megabits > 0 && megabits < u64::from(u32::MAX))
                .then(|| megabits.checked_mul(1_000_000))?
        });
        self.add("link.speed", speeds.max());
    }
}

/// `16384 kB`, as in `/proc/meminfo`.
fn kibibytes(text: &str) -> Option<u64> {
    let number: u64 = text.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// `32768K`, as the kernel writes sizes of caches.
fn size_of_cache(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    );
    let unit: u64 = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(root: &Path, file: &str, text: &str) {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn a_machine_of_two_nodes_with_hyper_threads_says_its_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (node, memory) in [(0, 64), (1, 32), (2, 0)] {
            let text = format!("Node {node} MemTotal: {memory} kB\nNode {node} MemFree: 1 kB\n");
            write(
                root,
                &format!("sys/devices/system/node/node{node}/meminfo"),
                &text,
            );
        }
        for cpu in 0..8 {
            let at = format!("sys/devices/system/cpu/cpu{cpu}");
            let core = format!("{},{}", cpu % 4, cpu % 4 + 4);
            write(root, &format!("{at}/topology/thread_siblings_list"), &core);
            let half = if cpu % 4 < 2 { "0-1,4-5" } else { "2-3,6-7" };
            let caches = [
                ("1", "Data", "48K", &core[..]),
                ("1", "Instruction", "32K", &core),
                ("2", "Unified", "2048K", &core),
                ("3", "Unified", "36M", half),
            ];
            for (index, (level, kind, size, shared)) in caches.into_iter().enumerate() {
                for (file, text) in [
                    ("level", level),
                    ("type", kind),
                    ("size", size),
                    ("shared_cpu_list", shared),
                ] {
                    write(
                        root,
                        &format!("{at}/cache/index{index}/{file}"),
                        &format!("{text}\n"),
                    );
                }
            }
        }
        write(root, "sys/devices/system/cpu/cpufreq/boost", "1\n");
        write(
            root,
            "proc/meminfo",
            "MemTotal: 96 kB\nHugepagesize:    2048 kB\n",
        );
        for (link, state, speed) in [
            ("eth0", "up", "10000"),
            ("eth1", "down", "100000"),
            ("lo", "unknown", "-1"),
            ("tap0", "up", "4294967295"),
        ] {
            write(root, &format!("sys/class/net/{link}/operstate"), state);
            write(root, &format!("sys/class/net/{link}/speed"), speed);
        }
        let mut sizes = Sizes::default();
        sizes.add_topology(&MachineFiles::new(root));
        let wanted = [
            ("cache.l1d", 48 << 10),
            ("cache.l2", 2 << 20),
            ("cache.l3", 36 << 20),
            ("cores", 4),
            ("huge_page_size", 2 << 20),
            ("link.speed", 10_000_000_000),
            ("llcs", 2),
            ("node_memory", 32 << 10),
            ("nodes", 2),
            ("threads_per_core", 2),
        ];
        assert_eq!(
            sizes.0,
            wanted.map(|(name, size)| (name.to_owned(), size)).into()
        );
    }

    #[test]
    fn a_machine_that_says_nothing_has_no_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let mut sizes = Sizes::default();
        sizes.add_topology(&MachineFiles::new(folder.path()));
        assert_eq!(sizes.0, BTreeMap::new());
        for text in [
            "",
            "K",
            "1G",
            "99999999999999999999K",
            "18446744073709551615M",
        ] {
            assert_eq!(size_of_cache(text), None, "{text}");
        }
    }

    #[test]
    fn this_machine_says_what_every_machine_says() {
        let folder = tempfile::tempdir().unwrap();
        let sizes = all(folder.path());
        for name in ["cpus", "memory", "page_size", "disk.size", "disk.free"] {
            assert!(sizes.contains_key(name), "{name}: {sizes:?}");
        }
        assert!(
            sizes
                .keys()
                .all(|name| backsight_model::is_machine_placeholder(name))
        );
    }
}
