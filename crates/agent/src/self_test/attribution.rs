//! Names for lost time: how much of it each source can explain that was counted while it was lost.
//!
//! A thread that ran had the processor, so that its time explains lost time as it is. Interrupts are only counted: each can explain a
//! short gap, and all together no more than what isn't explained by threads. What is named was counted; how much it explains is a
//! bound.

use std::collections::{BTreeMap, BTreeSet};

use backsight_model::{NoiseKind, NoiseSource};

use super::noise::{Counted, NoiseTotals, ProgramKey, Used};
use crate::machine_files::MachineFiles;

/// What explains less than this share of the lost time isn't named.
pub(super) const LEAST: f64 = 0.01;
/// Most sources that are named.
const MOST: usize = 12;
/// A processor whose frequency changed by less than this share ran at one.
const STEADY: f64 = 0.02;

/// The lost time of all CPUs.
#[derive(Debug, Clone, Copy)]
pub(super) struct LostTime {
    pub(super) seconds: f64,
    /// Of it, while another thread ran.
    pub(super) preempted: f64,
    /// The length of a usual short gap, in seconds.
    pub(super) short_gap: f64,
}

/// The sources, those that explain most first, and the share that nothing explains. Frequencies are the lowest and the highest by CPU,
/// in kHz.
pub(super) fn attribute(
    lost: &LostTime,
    noise: &NoiseTotals,
    frequencies: &BTreeMap<u32, (u64, u64)>,
    machine: &MachineFiles,
) -> (Vec<NoiseSource>, f64) {
    let mut sources = Vec::new();
    let mut explained = 0.0;
    if lost.seconds > 0.0 {
        let share = |seconds: f64| (seconds / lost.seconds).min(1.0);
        for (key, used) in by_name(&noise.programs) {
            explained += used.all.seconds;
            let kind = match key.is_kernel {
                true => NoiseKind::KernelThread,
                false => NoiseKind::Program,
            };
            let children = key
                .is_children
                .then(|| "its children that have ended".to_owned());
            let others = match used.processes {
                0 | 1 => None,
                2 => Some("and another one of this name".to_owned()),
                more => Some(format!("and {} others of this name", more - 1)),
            };
            let details: Vec<String> = children.into_iter().chain(others).collect();
            sources.push(NoiseSource {
                pid: Some(key.pid),
                seconds: Some(used.all.seconds),
                count: Some(used.all.turns).filter(|turns| *turns > 0),
                explains: Some(share(used.all.seconds)),
                detail: details.join(", "),
                ..source(kind, &key.name, &used.all.cpus)
            });
        }
        if noise.steal.seconds > 0.0 {
            explained += noise.steal.seconds;
            sources.push(NoiseSource {
                seconds: Some(noise.steal.seconds),
                explains: Some(share(noise.steal.seconds)),
                ..source(NoiseKind::Steal, "hypervisor", &noise.steal.cpus)
            });
        }
        let left = lost.seconds - lost.preempted.max(explained).min(lost.seconds);
        let mut counted = |kind: NoiseKind, rows: &BTreeMap<String, Counted>| {
            let mut sum = 0.0;
            for (name, row) in rows {
                let seconds = (row.count as f64 * lost.short_gap).min(left);
                sum += seconds;
                sources.push(NoiseSource {
                    count: Some(row.count),
                    explains: Some(share(seconds)),
                    detail: row.description.clone(),
                    ..source(kind, name, &row.cpus)
                });
            }
            sum
        };
        // A softirq follows an interrupt: the gap is the same one.
        let by_interrupts = counted(NoiseKind::Interrupt, &noise.interrupts);
        let by_softirqs = counted(NoiseKind::Softirq, &noise.softirqs);
        explained += by_interrupts.max(by_softirqs).min(left);
    }
    sources.retain(|source| source.explains.is_some_and(|share| share >= LEAST));
    sources.sort_by(|one, other| {
        let of = |source: &NoiseSource| source.explains.unwrap_or_default();
        of(other)
            .total_cmp(&of(one))
            .then_with(|| one.name.cmp(&other.name))
    });
    sources.truncate(MOST);
    for source in &mut sources {
        source.siblings = siblings(machine, &source.cpus);
        source.service = source.pid.and_then(|pid| service(machine, pid));
    }
    sources.extend(changed_frequency(frequencies));
    let unexplained = match lost.seconds > 0.0 {
        true => (1.0 - explained / lost.seconds).max(0.0),
        false => 0.0,
    };
    (sources, unexplained)
}

/// What all processes of a name used.
#[derive(Default)]
struct UsedByName {
    all: Used,
    processes: usize,
    /// What the busiest of them used, in seconds.
    most: f64,
}

/// Programs of one name together, under the process of it that used most.
fn by_name(programs: &BTreeMap<ProgramKey, Used>) -> Vec<(ProgramKey, UsedByName)> {
    let mut found: Vec<(ProgramKey, UsedByName)> = Vec::new();
    for (key, used) in programs {
        let is_same = |(other, _): &&mut (ProgramKey, UsedByName)| {
            (&other.name, other.is_kernel, other.is_children)
                == (&key.name, key.is_kernel, key.is_children)
        };
        if found.iter_mut().find(is_same).is_none() {
            found.push((key.clone(), UsedByName::default()));
        }
        if let Some((of, sum)) = found.iter_mut().find(is_same) {
            sum.all.seconds += used.seconds;
            sum.all.turns += used.turns;
            sum.all.cpus.extend(&used.cpus);
            sum.processes += 1;
            if used.seconds > sum.most {
                (of.pid, sum.most) = (key.pid, used.seconds);
            }
        }
    }
    found
}

pub(super) fn source(kind: NoiseKind, name: &str, cpus: &BTreeSet<u32>) -> NoiseSource {
    NoiseSource {
        kind,
        name: name.to_owned(),
        pid: None,
        service: None,
        cpus: cpus.iter().copied().collect(),
        siblings: Vec::new(),
        seconds: None,
        count: None,
        bytes: None,
        explains: None,
        detail: String::new(),
    }
}

/// One source for all processors that didn't keep their frequency.
fn changed_frequency(frequencies: &BTreeMap<u32, (u64, u64)>) -> Option<NoiseSource> {
    let changed = frequencies
        .iter()
        .filter(|(_, (low, high))| (high - low) as f64 > STEADY * *high as f64);
    let changed: Vec<_> = changed.collect();
    let low = changed.iter().map(|(_, (low, _))| *low).min()?;
    let high = changed.iter().map(|(_, (_, high))| *high).max()?;
    let cpus = changed.iter().map(|(cpu, _)| **cpu).collect();
    Some(NoiseSource {
        detail: format!("from {} to {} MHz", low / 1000, high / 1000),
        ..source(NoiseKind::Frequency, "frequency", &cpus)
    })
}

/// Other CPUs on the cores of these.
fn siblings(machine: &MachineFiles, cpus: &[u32]) -> Vec<u32> {
    let mut found = BTreeSet::new();
    for cpu in cpus {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let list = machine.value(path).unwrap_or_default();
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
                found.extend(first..=last);
            }
        }
    }
    found
        .into_iter()
        .filter(|cpu| !cpus.contains(cpu))
        .collect()
}

/// The unit of systemd that a process belongs to.
pub(super) fn service(machine: &MachineFiles, pid: i32) -> Option<String> {
    unit_in(&machine.text(format!("proc/{pid}/cgroup"))?)
}

/// The last unit in a process's cgroup path.
fn unit_in(cgroups: &str) -> Option<String> {
    let path = cgroups.lines().find_map(|line| {
        line.strip_prefix("0::")
            .or(line.split_once("name=systemd:").map(|it| it.1))
    })?;
    let is_unit = |part: &&str| part.ends_with(".service") || part.ends_with(".scope");
    path.rsplit('/').find(is_unit).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn nowhere() -> MachineFiles {
        MachineFiles::new(Path::new("/nonexistent"))
    }

    fn used(seconds: f64) -> Used {
        Used {
            seconds,
            turns: 3,
            cpus: [1].into(),
        }
    }

    fn key(pid: i32, name: &str, is_kernel: bool) -> ProgramKey {
        ProgramKey {
            pid,
            name: name.into(),
            is_kernel,
            is_children: false,
        }
    }

    #[test]
    fn a_program_that_had_the_processor_explains_what_was_lost() {
        let noise = NoiseTotals {
            programs: [
                (key(6, "busy", false), used(0.4)),
                (key(7, "busy", false), used(1.5)),
                (key(8, "kworker/1:0", true), used(0.05)),
                (key(9, "idle-one", false), used(0.001)),
            ]
            .into(),
            ..NoiseTotals::default()
        };
        let lost = LostTime {
            seconds: 2.0,
            preempted: 1.95,
            short_gap: 5e-6,
        };
        let (sources, unexplained) = attribute(&lost, &noise, &BTreeMap::new(), &nowhere());
        let named: Vec<_> = sources
            .iter()
            .map(|it| (it.kind, it.name.as_str(), it.pid))
            .collect();
        assert_eq!(
            named,
            [
                (NoiseKind::Program, "busy", Some(7)),
                (NoiseKind::KernelThread, "kworker/1:0", Some(8))
            ]
        );
        assert!((sources[0].explains.unwrap() - 0.95).abs() < 1e-9);
        assert_eq!(sources[0].count, Some(6));
        assert_eq!(sources[0].detail, "and another one of this name");
        assert!((unexplained - 0.0245).abs() < 1e-6, "{unexplained}");
    }

    #[test]
    fn an_interrupt_explains_short_gaps_and_no_more_than_threads_leave() {
        let counted = |count| Counted {
            count,
            cpus: [0].into(),
            description: "eth0-rx-0".into(),
        };
        let noise = NoiseTotals {
            programs: [(key(7, "busy", false), used(0.5))].into(),
            interrupts: [
                ("28".to_owned(), counted(20_000)),
                ("9".to_owned(), counted(3)),
            ]
            .into(),
            softirqs: [("NET_RX".to_owned(), counted(10_000))].into(),
            ..NoiseTotals::default()
        };
        let lost = LostTime {
            seconds: 0.7,
            preempted: 0.5,
            short_gap: 10e-6,
        };
        let (sources, unexplained) = attribute(&lost, &noise, &BTreeMap::new(), &nowhere());
        let names: Vec<_> = sources.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["busy", "28", "NET_RX"]);
        // 0.2 s are left by the program, and 20,000 gaps of 10 µs are as much.
        assert!((sources[1].explains.unwrap() - 2.0 / 7.0).abs() < 1e-9);
        assert_eq!(
            (sources[1].count, sources[1].detail.as_str()),
            (Some(20_000), "eth0-rx-0")
        );
        assert!(unexplained < 1e-9, "{unexplained}");
    }

    #[test]
    fn nothing_is_named_where_nothing_was_lost() {
        let noise = NoiseTotals {
            programs: [(key(7, "busy", false), used(1.0))].into(),
            ..NoiseTotals::default()
        };
        let lost = LostTime {
            seconds: 0.0,
            preempted: 0.0,
            short_gap: 0.0,
        };
        assert_eq!(
            attribute(&lost, &noise, &BTreeMap::new(), &nowhere()),
            (vec![], 0.0)
        );
    }

    #[test]
    fn frequencies_that_change_are_a_source_of_their_own() {
        let frequencies = [(0, (2_000_000, 3_400_000)), (1, (3_400_000, 3_400_000))].into();
        let source = changed_frequency(&frequencies).unwrap();
        assert_eq!(
            (source.cpus, source.detail.as_str()),
            (vec![0], "from 2000 to 3400 MHz")
        );
        assert_eq!(source.explains, None);
        assert_eq!(changed_frequency(&[(0, (1000, 1000))].into()), None);
    }

    #[test]
    fn siblings_and_services_are_read_from_the_machine() {
        let root = tempfile::tempdir().unwrap();
        let topology = root.path().join("sys/devices/system/cpu/cpu2/topology");
        std::fs::create_dir_all(&topology).unwrap();
        std::fs::write(topology.join("thread_siblings_list"), "2,6-7\n").unwrap();
        let machine = MachineFiles::new(root.path());
        assert_eq!(siblings(&machine, &[2]), [6, 7]);
        let unified = "0::/system.slice/cron.service\n";
        assert_eq!(unit_in(unified).as_deref(), Some("cron.service"));
        let old = "9:name=systemd:/user.slice/user-0.slice/session-3.scope\n0::/\n";
        assert_eq!(unit_in(old).as_deref(), Some("session-3.scope"));
        assert_eq!(unit_in("0::/\n"), None);
    }
}
