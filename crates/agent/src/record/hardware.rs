//! Processors, memory, links and disks, as the kernel's files say them.

use std::collections::BTreeSet;

use super::software::{Program, output_of};
use super::{AddValue as _, MachineFiles, Section};

/// Topology, caches, frequencies, idle states and NUMA distances.
pub(super) fn cpu(machine: &MachineFiles) -> Section {
    let mut found = Section::new();
    let base = "sys/devices/system/cpu";
    for file in [
        "online",
        "isolated",
        "nohz_full",
        "smt/control",
        "smt/active",
    ] {
        found.add(
            file.replace('/', "."),
            machine.value(format!("{base}/{file}")),
        );
    }
    let cpus = machine.numbered(base, "cpu");
    // What all processors share stands once; what differs, with the processors that have it.
    for file in [
        "cpufreq/scaling_driver",
        "cpufreq/scaling_governor",
        "cpufreq/scaling_min_freq",
        "cpufreq/scaling_max_freq",
        "cpufreq/cpuinfo_min_freq",
        "cpufreq/cpuinfo_max_freq",
        "cpufreq/energy_performance_preference",
        "power/energy_perf_bias",
        "topology/core_id",
        "topology/physical_package_id",
        "topology/thread_siblings_list",
        "microcode/version",
    ] {
        let values = cpus.iter().filter_map(|cpu| {
            let value = machine.value(format!("{cpu}/{file}"))?;
            Some((cpu.rsplit_once("cpu")?.1.to_owned(), value))
        });
        found.add(file.replace('/', "."), shared(values.collect()));
    }
    for index in machine.names(format!("{base}/cpu0/cache")) {
        let of = |file: &str| machine.value(format!("{base}/cpu0/cache/{index}/{file}"));
        let (Some(level), Some(kind)) = (of("level"), of("type")) else {
            continue;
        };
        let parts = [
            of("size"),
            of("ways_of_associativity").map(|ways| format!("{ways} ways")),
            of("shared_cpu_list").map(|cpus| format!("shared by {cpus}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        found.insert(
            format!("cache.l{level}.{}", kind.to_lowercase()),
            parts.join(", "),
        );
    }
    for state in machine.names(format!("{base}/cpu0/cpuidle")) {
        let of = |file: &str| machine.value(format!("{base}/cpu0/cpuidle/{state}/{file}"));
        let disabled = of("disable").is_some_and(|word| word != "0");
        let name = of("name").map(|name| {
            if disabled {
                format!("{name}, disabled")
            } else {
                name
            }
        });
        found.add(format!("idle.{state}"), name);
    }
    for file in ["current_driver", "current_governor"] {
        found.add(
            format!("idle.{file}"),
            machine.value(format!("{base}/cpuidle/{file}")),
        );
    }
    for node in machine.names("sys/devices/system/node") {
        for file in ["cpulist", "distance"] {
            found.add(
                format!("{node}.{file}"),
                machine.value(format!("sys/devices/system/node/{node}/{file}")),
            );
        }
    }
    let info = machine.text("proc/cpuinfo").unwrap_or_default();
    for (name, label) in [
        ("model", "model name"),
        ("stepping", "stepping"),
        ("microcode", "microcode"),
        ("flags", "flags"),
    ] {
        let values = info.lines().filter_map(|line| {
            let (found, value) = line.split_once(':')?;
            (found.trim() == label).then(|| value.trim().to_owned())
        });
        let values: BTreeSet<String> = values.collect();
        found.add(
            name,
            Some(values.into_iter().collect::<Vec<_>>().join("; ")),
        );
    }
    found
}

/// One value for all, or each value with the processors that have it.
fn shared(values: Vec<(String, String)>) -> Option<String> {
    let distinct: BTreeSet<&String> = values.iter().map(|(_, value)| value).collect();
    match distinct.len() {
        0 => None,
        1 => Some(values[0].1.clone()),
        _ => {
            let mut values = values.clone();
            values.sort_by_key(|(cpu, _)| cpu.parse::<u32>().unwrap_or(u32::MAX));
            let each: Vec<String> = values
                .iter()
                .map(|(cpu, value)| format!("{cpu}: {value}"))
                .collect();
            Some(each.join(", "))
        }
    }
}

/// Sizes, huge pages, what the kernel does with pages, and the modules where a program may read them.
pub(super) fn memory(machine: &MachineFiles) -> Section {
    let mut found = Section::new();
    let info = machine.text("proc/meminfo").unwrap_or_default();
    for label in ["MemTotal", "SwapTotal", "HugePages_Total", "Hugepagesize"] {
        let value = info
            .lines()
            .find_map(|line| line.strip_prefix(label)?.strip_prefix(':'));
        found.add(label, value.map(|value| value.trim().to_owned()));
    }
    for file in [
        "transparent_hugepage/enabled",
        "transparent_hugepage/defrag",
        "transparent_hugepage/shmem_enabled",
        "transparent_hugepage/khugepaged/defrag",
        "ksm/run",
        "lru_gen/enabled",
        "numa/demotion_enabled",
    ] {
        found.add(
            file.replace('/', "."),
            machine.value(format!("sys/kernel/mm/{file}")),
        );
    }
    let swaps = machine.text("proc/swaps").unwrap_or_default();
    for line in swaps.lines().skip(1) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [place, kind, size, ..] = words[..] {
            found.insert(format!("swap.{place}"), format!("{kind}, {size} kB"));
        }
    }
    if machine.is_here() {
        let modules = output_of(Program::Dmidecode).unwrap_or_default();
        found.extend(memory_modules(&modules));
    }
    found
}

/// The filled slots of `dmidecode -t memory`.
fn memory_modules(text: &str) -> Section {
    let devices = text
        .split("\n\n")
        .filter(|part| part.contains("Memory Device"));
    let slots = devices.filter_map(|device| {
        let of = |label: &str| {
            let lines = device.lines();
            lines
                .filter_map(|line| line.trim().split_once(": "))
                .find(|(found, _)| *found == label)
                .map(|(_, value)| value.trim().to_owned())
        };
        let size = of("Size").filter(|size| size != "No Module Installed")?;
        let rest = [
            "Type",
            "Speed",
            "Configured Memory Speed",
            "Manufacturer",
            "Part Number",
        ];
        let mut parts = vec![size];
        parts.extend(
            rest.into_iter()
                .filter_map(of)
                .filter(|value| value != "Unknown"),
        );
        Some((format!("module.{}", of("Locator")?), parts.join(", ")))
    });
    slots.collect()
}

/// Network interfaces: driver, speed, queues, and where they are plugged in.
pub(super) fn links(machine: &MachineFiles) -> Section {
    let mut found = Section::new();
    for link in machine.names("sys/class/net") {
        let base = format!("sys/class/net/{link}");
        found.add(
            format!("{link}.driver"),
            machine.link_name(format!("{base}/device/driver")),
        );
        for file in [
            "mtu",
            "speed",
            "duplex",
            "operstate",
            "tx_queue_len",
            "gro_flush_timeout",
            "napi_defer_hard_irqs",
            "device/current_link_speed",
            "device/current_link_width",
            "device/numa_node",
        ] {
            let value = machine
                .value(format!("{base}/{file}"))
                .filter(|value| value != "-1");
            found.add(format!("{link}.{}", file.replace("device/", "pci.")), value);
        }
        let queues = machine.names(format!("{base}/queues"));
        for kind in ["rx", "tx"] {
            let count = queues.iter().filter(|name| name.starts_with(kind)).count();
            found.add(
                format!("{link}.{kind}_queues"),
                (count > 0).then(|| count.to_string()),
            );
        }
        for queue in queues {
            for file in ["rps_cpus", "xps_cpus"] {
                let value = machine.value(format!("{base}/queues/{queue}/{file}"));
                found.add(format!("{link}.{queue}.{file}"), value);
            }
        }
        if machine.is_here() && link != "lo" {
            let offloads = output_of(Program::Ethtool(&link)).unwrap_or_default();
            let on = offloads.lines().filter_map(|line| {
                let (name, state) = line.trim().split_once(": ")?;
                state.starts_with("on").then_some(name)
            });
            let on: Vec<&str> = on.collect();
            found.add(format!("{link}.offloads"), Some(on.join(" ")));
        }
    }
    found
}

/// Disks: model, firmware, scheduler, queue.
pub(super) fn disks(machine: &MachineFiles) -> Section {
    let mut found = Section::new();
    for disk in machine.names("sys/block") {
        let base = format!("sys/block/{disk}");
        // An empty loop or RAM device is no disk.
        if machine
            .value(format!("{base}/size"))
            .is_none_or(|size| size == "0")
        {
            continue;
        }
        for file in [
            "size",
            "ro",
            "device/model",
            "device/vendor",
            "device/rev",
            "device/firmware_rev",
            "queue/scheduler",
            "queue/rotational",
            "queue/nr_requests",
            "queue/read_ahead_kb",
            "queue/write_cache",
            "queue/rq_affinity",
            "queue/nomerges",
            "queue/wbt_lat_usec",
            "queue/logical_block_size",
            "queue/max_sectors_kb",
        ] {
            let name = file.rsplit('/').next().unwrap_or(file);
            found.add(
                format!("{disk}.{name}"),
                machine.value(format!("{base}/{file}")),
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processors_share_stands_once_and_what_differs_with_their_numbers() {
        let values = |list: &[(&str, &str)]| {
            list.iter()
                .map(|(cpu, value)| ((*cpu).to_owned(), (*value).to_owned()))
                .collect()
        };
        assert_eq!(shared(values(&[])), None);
        let same = values(&[("0", "powersave"), ("1", "powersave")]);
        assert_eq!(shared(same).unwrap(), "powersave");
        let differ = values(&[("10", "powersave"), ("2", "performance")]);
        assert_eq!(shared(differ).unwrap(), "2: performance, 10: powersave");
    }

    #[test]
    fn memory_modules_are_the_filled_slots() {
        let text = "Handle 0x1\nMemory Device\n\tSize: 16 GB\n\tLocator: DIMM_A1\n\tType: DDR5\n\tSpeed: 4800 MT/s\n\tManufacturer: Unknown\n\nHandle 0x2\nMemory Device\n\tSize: No Module Installed\n\tLocator: DIMM_A2\n";
        let wanted = [(
            "module.DIMM_A1".to_owned(),
            "16 GB, DDR5, 4800 MT/s".to_owned(),
        )];
        assert_eq!(memory_modules(text), wanted.into());
    }
}
