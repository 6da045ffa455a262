//! What stands on a machine that no setting mends: limits of our own, a slow clock, too much work, mitigations.

use backsight_model::MachineObservation;

use super::cpus;
use crate::cgroup;
use crate::machine_files::MachineFiles;

/// Clock sources that a program reads without a call into the kernel.
const FAST_CLOCKS: [&str; 8] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
    "tod",
    "riscv_clocksource",
    "stable counter",
];

/// All of them.
pub(super) fn all(machine: &MachineFiles) -> Vec<MachineObservation> {
    let found = [
        clock_source(machine),
        limited_cpus(cpus::usable().len(), online(machine)),
        load(machine, cpus::usable().len()),
        mitigations(machine),
    ];
    let mut found: Vec<MachineObservation> = found.into_iter().flatten().collect();
    found.extend(cgroup_limits(machine));
    found
}

fn observation(name: &str, found: String, advice: &str) -> MachineObservation {
    MachineObservation {
        name: name.to_owned(),
        found,
        advice: advice.to_owned(),
    }
}

fn clock_source(machine: &MachineFiles) -> Option<MachineObservation> {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = machine.value(path)?;
    let is_fast = FAST_CLOCKS.contains(&source.as_str());
    (!is_fast).then(|| {
        observation(
            "machine.clock.source",
            format!("the clock is read from `{source}`, which takes a call into the kernel"),
            "see in the kernel's log why `tsc` was given up; `clocksource=tsc tsc=reliable` on its command line insists on it",
        )
    })
}

fn online(machine: &MachineFiles) -> Option<usize> {
    let text = machine.text("proc/stat")?;
    let is_cpu = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    Some(text.lines().filter(is_cpu).count())
}

fn limited_cpus(usable: usize, online: Option<usize>) -> Option<MachineObservation> {
    let online = online.filter(|online| usable < *online)?;
    Some(observation(
        "limit.cpus",
        format!("benchmarks may run on {usable} of {online} CPUs"),
        "start the agent without `taskset` and outside of a cpuset, unless that is meant",
    ))
}

fn load(machine: &MachineFiles, cpus: usize) -> Option<MachineObservation> {
    let text = machine.value("proc/loadavg")?;
    let load: f64 = text.split(' ').next()?.parse().ok()?;
    (load > 0.5 * cpus as f64).then(|| {
        observation(
            "service.load",
            format!(
                "{load:.1} programs ran or waited for a disk during the last minute, on {cpus} CPUs"
            ),
            "let them end before anything is measured; `top` shows them",
        )
    })
}

/// Said and not advised against: which of them are on is the question of many studies.
fn mitigations(machine: &MachineFiles) -> Option<MachineObservation> {
    let folder = "sys/devices/system/cpu/vulnerabilities";
    let names = machine.names(folder).into_iter();
    let active = names.filter(|name| {
        let verdict = machine.value(format!("{folder}/{name}"));
        verdict.is_some_and(|verdict| verdict.starts_with("Mitigation"))
    });
    let active: Vec<String> = active.collect();
    (!active.is_empty()).then(|| {
        observation(
            "machine.vulnerability.active",
            format!("mitigations that cost time are on: {}", active.join(", ")),
            "",
        )
    })
}

/// Limits of processor time and memory on our own cgroups, and so on every benchmark.
fn cgroup_limits(machine: &MachineFiles) -> Vec<MachineObservation> {
    let own = machine.is_here().then(cgroup::own_folder).flatten();
    let folders: Vec<_> = own.iter().flat_map(|own| own.ancestors()).collect();
    let mut found = Vec::new();
    for folder in folders {
        let of = |file: &str| machine.value(folder.join(file));
        let what = |what: String| {
            observation(
                "limit.cgroup",
                format!(
                    "the cgroup {} limits benchmarks to {what}",
                    folder.display()
                ),
                "start the controller, or the login, outside of this cgroup: `systemd-run --scope --slice=system.slice`",
            )
        };
        let cpus = of("cpu.max").and_then(|text| cpus_of_quota(&text));
        found.extend(cpus.map(|cpus| what(format!("{cpus:.1} CPUs"))));
        let memory = of("memory.max").and_then(|text| text.parse::<u64>().ok());
        found.extend(memory.map(|bytes| what(format!("{} MiB of memory", bytes >> 20))));
    }
    found
}

/// `QUOTA PERIOD` of `cpu.max` in CPUs; none without a limit.
fn cpus_of_quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    Some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, MachineFiles) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = MachineFiles::new(root.path());
        (root, machine)
    }

    #[test]
    fn a_slow_clock_is_said_and_a_fast_one_is_not() {
        let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        let (_root, slow) = machine(&[(path, "hpet\n")]);
        let found = clock_source(&slow).unwrap();
        assert!(found.found.contains("`hpet`") && found.advice.contains("clocksource=tsc"));
        let (_root, fast) = machine(&[(path, "tsc\n")]);
        assert_eq!(clock_source(&fast), None);
    }

    #[test]
    fn load_and_limits_are_said_where_there_are_some() {
        let (_root, busy) = machine(&[("proc/loadavg", "3.20 1.0 0.5 2/99 123\n")]);
        assert!(load(&busy, 4).unwrap().found.starts_with("3.2 programs"));
        assert_eq!(load(&busy, 8), None);
        assert_eq!(limited_cpus(4, Some(4)), None);
        assert!(limited_cpus(2, Some(4)).unwrap().found.contains("2 of 4"));
        assert_eq!(cpus_of_quota("150000 100000"), Some(1.5));
        assert_eq!(cpus_of_quota("max 100000"), None);
    }

    #[test]
    fn mitigations_are_mentioned_without_advice() {
        let folder = "sys/devices/system/cpu/vulnerabilities";
        let (_root, machine) = machine(&[
            (&format!("{folder}/meltdown"), "Not affected\n"),
            (
                &format!("{folder}/spectre_v2"),
                "Mitigation: Enhanced IBRS\n",
            ),
        ]);
        let found = mitigations(&machine).unwrap();
        assert!(found.found.ends_with("spectre_v2") && found.advice.is_empty());
    }
}
