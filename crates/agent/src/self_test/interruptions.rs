//! Interruptions: a loop on every CPU reads the clock, and a gap between two readings is time that the loop didn't get. So do the
//! kernel's `osnoise` and `hwlat` tracers; this needs no right.
//!
//! Counters of the machine are read around each watch, so that what took the time can be named.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use backsight_model::{Measure, NoiseSource};

use super::attribution::{LostTime, attribute};
use super::noise::{NoiseCounters, NoiseTotals};
use super::numbers::Estimate;
use super::{StopFlag, TurnMeasure, cpus, measured, not_measured, numbers};
use crate::machine_files::MachineFiles;

/// The shortest gap that counts: `osnoise`'s usual tolerance is 1 to 5 µs, and reading the clock takes 30 ns.
const SHORTEST: Duration = Duration::from_micros(1);
/// Where reading the clock is slow, a gap is longer than this many readings.
const READINGS: u32 = 10;
/// The longest gap that an interrupt or a softirq usually makes, in seconds; a thread makes longer ones.
const SHORT: f64 = 100e-6;
/// Short gaps whose lengths are kept, of each CPU and watch.
const KEPT: usize = 2000;

/// What a CPU lost.
#[derive(Debug, Clone, Default)]
struct CpuGaps {
    /// Watched for so many seconds.
    watched: f64,
    lost: f64,
    count: u64,
    longest: f64,
    /// Lengths of short gaps.
    short: Vec<f64>,
    /// Seconds for which the loop was ready to run and another thread ran.
    preempted: f64,
}

impl CpuGaps {
    fn add_gap(&mut self, seconds: f64) {
        self.lost += seconds;
        self.count += 1;
        self.longest = self.longest.max(seconds);
        if seconds <= SHORT && self.short.len() < KEPT {
            self.short.push(seconds);
        }
    }

    fn add(&mut self, other: Self) {
        self.watched += other.watched;
        self.lost += other.lost;
        self.count += other.count;
        self.longest = self.longest.max(other.longest);
        self.short.extend(other.short);
        self.preempted += other.preempted;
    }
}

/// The measure.
pub(super) struct Interruptions {
    cpus: Vec<u32>,
    threshold: Duration,
    gaps: BTreeMap<u32, CpuGaps>,
    /// Lost and watched seconds by CPU, of each turn.
    turns: Vec<BTreeMap<u32, (f64, f64)>>,
    noise: NoiseTotals,
}

impl Interruptions {
    pub(super) fn new(cpus: &[u32]) -> Self {
        let readings: Vec<f64> = (0..200)
            .map(|_| Instant::now().elapsed().as_secs_f64())
            .collect();
        let reading = Duration::from_secs_f64(numbers::median(&readings).unwrap_or_default());
        Self {
            cpus: cpus.to_vec(),
            threshold: SHORTEST.max(reading * READINGS),
            gaps: BTreeMap::new(),
            turns: Vec::new(),
            noise: NoiseTotals::default(),
        }
    }

    fn add_turn(&mut self, found: Vec<(u32, CpuGaps)>) {
        let lost = found.iter();
        let lost = lost.map(|(cpu, gaps)| (*cpu, (gaps.lost, gaps.watched)));
        self.turns.push(lost.collect());
        for (cpu, gaps) in found {
            self.gaps.entry(cpu).or_default().add(gaps);
        }
    }

    /// What took the lost time, and the share of it that nothing explains.
    pub(super) fn sources(
        &self,
        frequencies: &BTreeMap<u32, (u64, u64)>,
        machine: &MachineFiles,
    ) -> (Vec<NoiseSource>, f64) {
        let mut all = CpuGaps::default();
        self.gaps.values().for_each(|gaps| all.add(gaps.clone()));
        let lost = LostTime {
            seconds: all.lost,
            preempted: all.preempted,
            short_gap: numbers::median(&all.short).unwrap_or_default(),
        };
        attribute(&lost, &self.noise, frequencies, machine)
    }
}

impl TurnMeasure for Interruptions {
    fn share(&self) -> f64 {
        0.35
    }

    fn take_turn(&mut self, length: Duration, stop: &StopFlag) {
        let before = NoiseCounters::read();
        let threshold = self.threshold;
        let found = cpus::on_each(&self.cpus, |cpu| (cpu, watch_gaps(length, threshold, stop)));
        let after = NoiseCounters::read();
        self.noise.add(
            &before,
            &after,
            &self.cpus,
            std::process::id().cast_signed(),
        );
        self.add_turn(found);
    }

    fn finish(self: Box<Self>) -> Measure {
        const NAME: &str = "interruptions";
        let gaps = self.gaps.values().filter(|gaps| gaps.watched > 0.0);
        let lost = Estimate::of_turns(&self.turns, worst_share);
        let Some(lost) = lost.map(|lost| lost.at_most(1.0)) else {
            return not_measured(NAME, "no thread could be kept on a CPU");
        };
        let watched: f64 = gaps.clone().map(|gaps| gaps.watched).sum();
        let count: u64 = gaps.clone().map(|gaps| gaps.count).sum();
        let longest = gaps.map(|gaps| gaps.longest).fold(0.0, f64::max);
        measured(
            NAME,
            &[
                ("lost", lost, "ratio"),
                ("rate", (count as f64 / watched).into(), "events/s"),
                ("longest", longest.into(), "s"),
            ],
        )
    }
}

/// The share that the worst CPU lost in these turns.
fn worst_share(turns: &[&BTreeMap<u32, (f64, f64)>]) -> Option<f64> {
    let mut all: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (cpu, (lost, watched)) in turns.iter().copied().flatten() {
        let sum = all.entry(*cpu).or_default();
        *sum = (sum.0 + lost, sum.1 + watched);
    }
    let watched = all.into_values().filter(|(_, watched)| *watched > 0.0);
    watched
        .map(|(lost, watched)| lost / watched)
        .reduce(f64::max)
}

/// Watches the CPU on which the calling thread is kept.
fn watch_gaps(length: Duration, threshold: Duration, stop: &StopFlag) -> CpuGaps {
    let mut gaps = CpuGaps::default();
    let waited = waited_seconds();
    let begun = Instant::now();
    let mut last = begun;
    loop {
        let now = Instant::now();
        let gap = now - last;
        if gap > threshold {
            gaps.add_gap(gap.as_secs_f64());
        }
        last = now;
        if now - begun >= length || stop.is_set() {
            break;
        }
    }
    gaps.watched = (last - begun).as_secs_f64();
    gaps.preempted = match (waited, waited_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => 0.0,
    };
    gaps
}

/// For how long this thread has been ready to run and didn't (the second number of `schedstat`).
fn waited_seconds() -> Option<f64> {
    let text = MachineFiles::here().value("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_cpu_is_what_counts_and_gaps_of_all_are_added() {
        let mut watch = Interruptions::new(&[0, 1]);
        let gaps = |lost, longest| CpuGaps {
            watched: 1.0,
            lost,
            count: 10,
            longest,
            ..CpuGaps::default()
        };
        watch.add_turn(vec![(0, gaps(0.01, 0.004)), (1, gaps(0.08, 0.02))]);
        watch.add_turn(vec![(0, gaps(0.01, 0.001))]);
        let measure = (Box::new(watch) as Box<dyn TurnMeasure>).finish();
        assert_eq!(
            measure,
            measured(
                "interruptions",
                &[
                    ("lost", 0.08, "ratio"),
                    ("rate", 10.0, "events/s"),
                    ("longest", 0.02, "s")
                ]
            )
        );
        let none = Interruptions::new(&[]);
        assert_eq!(
            (Box::new(none) as Box<dyn TurnMeasure>).finish().grade(),
            None
        );
    }

    #[test]
    fn gaps_are_kept_by_their_length() {
        let mut gaps = CpuGaps::default();
        for gap in [2e-6, 3e-6, 4e-3] {
            gaps.add_gap(gap);
        }
        assert_eq!((gaps.count, gaps.longest), (3, 4e-3));
        assert_eq!(gaps.short, [2e-6, 3e-6]);
    }
}
