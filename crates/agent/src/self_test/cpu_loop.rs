//! The same work again and again on each core: how much its time varies on one core, and from core to core.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use backsight_model::Measure;

use super::numbers::Estimate;
use super::{StopFlag, TurnMeasure, cpus, measured, not_measured, numbers};
use crate::machine_files::MachineFiles;

/// How long one piece of work takes: as long as a scheduler's turn, so that a neighbour shows; and the least, where many cores share
/// the time.
const PIECE: (Duration, Duration) = (Duration::from_micros(300), Duration::from_millis(5));
/// Pieces on each core in a turn, at least.
const PIECES: u32 = 3;

/// The measure.
pub(super) struct CpuLoop {
    cpus: Vec<u32>,
    /// Steps of one piece of work; chosen in the first turn.
    steps: u64,
    /// Times of a piece by CPU, in seconds; of each turn.
    turns: Vec<BTreeMap<u32, Vec<f64>>>,
    /// The lowest and the highest frequency of a CPU while it worked, in kHz.
    pub(super) frequencies: BTreeMap<u32, (u64, u64)>,
}

impl CpuLoop {
    pub(super) fn new(cpus: &[u32]) -> Self {
        Self {
            cpus: cpus.to_vec(),
            steps: 0,
            turns: Vec::new(),
            frequencies: BTreeMap::new(),
        }
    }

    fn add_frequency(&mut self, cpu: u32, frequency: Option<u64>) {
        if let Some(frequency) = frequency {
            let (low, high) = self
                .frequencies
                .entry(cpu)
                .or_insert((frequency, frequency));
            (*low, *high) = ((*low).min(frequency), (*high).max(frequency));
        }
    }
}

impl TurnMeasure for CpuLoop {
    fn share(&self) -> f64 {
        0.2
    }

    fn take_turn(&mut self, length: Duration, stop: &StopFlag) {
        let Some(&first) = self.cpus.first() else {
            return;
        };
        let of_core = length / u32::try_from(self.cpus.len()).unwrap_or(u32::MAX);
        if self.steps == 0 {
            let wanted = (of_core / PIECES).clamp(PIECE.0, PIECE.1);
            self.steps = cpus::on_one(first, |_| steps_for(wanted)).unwrap_or(1);
        }
        let steps = self.steps;
        let mut turn = BTreeMap::new();
        for cpu in self.cpus.clone() {
            let times = cpus::on_one(cpu, |_| {
                // What the move to this core costs is no part of it.
                work(steps);
                let begun = Instant::now();
                let mut times = Vec::new();
                while !stop.is_set() && (begun.elapsed() < of_core || times.len() < PIECES as usize)
                {
                    times.push(timed(steps));
                }
                times
            });
            turn.insert(cpu, times.unwrap_or_default());
            self.add_frequency(cpu, frequency(cpu));
        }
        self.turns.push(turn);
    }

    fn finish(self: Box<Self>) -> Measure {
        const NAME: &str = "cpu";
        let within = Estimate::of_turns(&self.turns, |turns| {
            let times = by_cpu(turns).into_values();
            times
                .filter_map(|times| numbers::spread(&times))
                .reduce(f64::max)
        });
        let all: Vec<&BTreeMap<u32, Vec<f64>>> = self.turns.iter().collect();
        let (Some(within), Some(median)) = (within, numbers::median(&medians(&all))) else {
            return not_measured(NAME, "no thread could be kept on a CPU for long enough");
        };
        let mut figures = vec![("piece", median.into(), "s"), ("within", within, "ratio")];
        let between = Estimate::of_turns(&self.turns, |turns| {
            let medians = medians(turns);
            let slowest = medians.iter().copied().fold(0.0, f64::max);
            let fastest = medians.iter().copied().fold(f64::INFINITY, f64::min);
            // One core has no other to differ from.
            let share = || Some((slowest - fastest) / numbers::median(&medians)?);
            (medians.len() > 1).then(share).flatten()
        });
        figures.extend(between.map(|between| ("between", between, "ratio")));
        measured(NAME, &figures)
    }
}

/// The times of these turns by CPU.
fn by_cpu(turns: &[&BTreeMap<u32, Vec<f64>>]) -> BTreeMap<u32, Vec<f64>> {
    let mut all: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (cpu, times) in turns.iter().copied().flatten() {
        all.entry(*cpu).or_default().extend(times);
    }
    all
}

/// The median of each CPU in these turns.
fn medians(turns: &[&BTreeMap<u32, Vec<f64>>]) -> Vec<f64> {
    let times = by_cpu(turns).into_values();
    times.filter_map(|times| numbers::median(&times)).collect()
}

/// Steps of a linear congruential generator: each needs the one before it, so that only the clock of the core counts.
fn work(steps: u64) -> u64 {
    let mut state = black_box(1_u64);
    for _ in 0..steps {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(state)
}

fn timed(steps: u64) -> f64 {
    let begun = Instant::now();
    work(steps);
    begun.elapsed().as_secs_f64()
}

/// How many steps take so long, by the quickest of five runs.
fn steps_for(wanted: Duration) -> u64 {
    const TRIED: u64 = 100_000;
    let quickest = (0..5).map(|_| timed(TRIED)).fold(f64::INFINITY, f64::min);
    let steps = TRIED as f64 * wanted.as_secs_f64() / quickest.max(1e-9);
    (steps as u64).max(1)
}

/// At which frequency a CPU runs, in kHz.
fn frequency(cpu: u32) -> Option<u64> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    MachineFiles::here().value(path)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_the_worst_core_and_cores_are_compared_by_their_medians() {
        let mut cpu_loop = CpuLoop::new(&[0, 1]);
        let calm: Vec<f64> = (0..11).map(|_| 1.0).collect();
        let shaken: Vec<f64> = (0..11).map(|n| 1.0 + f64::from(n) / 10.0).collect();
        cpu_loop.turns = vec![[(0, calm), (1, shaken)].into()];
        let measure = (Box::new(cpu_loop) as Box<dyn TurnMeasure>).finish();
        let expected = [
            ("piece", 1.25, "s"),
            ("within", 0.8 / 2.563 / 1.5, "ratio"),
            ("between", 0.5 / 1.25, "ratio"),
        ];
        let backsight_model::MeasureOutcome::Measured(figures) = measure.outcome else {
            panic!("{measure:?}");
        };
        for (figure, (name, value, _)) in figures.iter().zip(expected) {
            assert_eq!(figure.name, name);
            assert!((figure.value - value).abs() < 1e-9, "{figure:?}");
        }
    }

    #[test]
    fn frequencies_are_kept_as_their_range() {
        let mut cpu_loop = CpuLoop::new(&[0]);
        for frequency in [Some(20), None, Some(10), Some(30)] {
            cpu_loop.add_frequency(0, frequency);
        }
        assert_eq!(cpu_loop.frequencies, [(0, (10, 30))].into());
    }
}
