//! The self-test of a host: how calm it is, measured by small loops, and what took the time that they lost.
//!
//! Measures take turns in rounds, so that each sees the whole length of the test. The loops lock nothing, write one file into the
//! agent's folder, and end when nobody waits for the answer any more. Grades are given elsewhere: this only has numbers.

mod attribution;
mod clock;
mod cpu_loop;
mod cpus;
mod disk_writers;
mod fsync;
mod interruptions;
mod loopback;
mod memory;
mod noise;
mod numbers;
mod observations;
mod steal;
mod throttling;
mod timer;

use std::path::Path;
use std::time::{Duration, Instant};

use backsight_model::{Measure, MeasureOutcome, SelfTest, TestFigure, Unit};
use backsight_settings::{JournalFile, MachineRoot, PreparationPolicy, inspect};

use crate::examination::{Examination, ExaminationOrder, StopFlag};
use crate::machine_files::MachineFiles;
use crate::sizes;
use numbers::Estimate;

/// A measure that takes turns with others.
trait TurnMeasure {
    /// Its share of the test's time.
    fn share(&self) -> f64;
    /// Measures for about so long, or until it is stopped.
    fn take_turn(&mut self, length: Duration, stop: &StopFlag);
    /// What it has measured.
    fn finish(self: Box<Self>) -> Measure;
}

/// The least and the most turns of a measure; about one every two seconds.
const TURNS: (f64, f64) = (3.0, 12.0);

/// Examines this machine; nothing if it was stopped. The file of the test for disks is made in `folder`.
pub(crate) fn examine(
    order: &ExaminationOrder,
    folder: &Path,
    stop: &StopFlag,
) -> Option<Examination> {
    let machine = MachineFiles::here();
    let settings = inspect(
        &MachineRoot::this_machine(),
        &order.settings,
        &JournalFile::default(),
        "doctor",
        PreparationPolicy::Skip,
    );
    // Before the test, which makes load of its own.
    let observations = observations::all(&machine);
    let self_test = match order.self_test {
        Some(seconds) => Some(measure(seconds, folder, stop)?),
        None => None,
    };
    Some(Examination {
        self_test,
        settings,
        observations,
    })
}

/// Measures for so many seconds.
fn measure(seconds: f64, folder: &Path, stop: &StopFlag) -> Option<SelfTest> {
    let machine = MachineFiles::here();
    let begun = Instant::now();
    let cpus = cpus::usable();
    let watch = interruptions::Interruptions::new(&cpus);
    let sizes = sizes::all(folder);
    let (steal, throttling, clock) = (
        steal::StealCounter::begin(&machine),
        throttling::ThrottleCounter::begin(&machine),
        clock::ClockReading::now(),
    );
    let mut watch = Box::new(watch);
    let mut cpu_loop = Box::new(cpu_loop::CpuLoop::new(&cpus));
    let mut others: Vec<Box<dyn TurnMeasure>> = vec![
        Box::new(timer::Timer::new(&cpus)),
        Box::new(memory::MemoryCopy::new(&cpus, &sizes, &machine)),
        Box::new(loopback::Loopback::new(&cpus)),
    ];
    let mut fsync = Box::new(fsync::Fsync::new(folder));
    let turns = (seconds / 2.0).clamp(TURNS.0, TURNS.1).floor();
    for turn in 0..turns as u32 {
        let mut measures: Vec<&mut dyn TurnMeasure> = vec![&mut *watch, &mut *cpu_loop];
        measures.extend(others.iter_mut().map(|measure| &mut **measure as _));
        measures.push(&mut *fsync);
        // What one measure overdraws, the turns after it make up for.
        let left = seconds - begun.elapsed().as_secs_f64();
        let of_turn = (left / (turns - f64::from(turn))).max(0.0);
        for measure in measures {
            let length = Duration::from_secs_f64(of_turn * measure.share());
            measure.take_turn(length, stop);
            if stop.is_set() {
                return None;
            }
        }
    }
    let (mut sources, unexplained) = watch.sources(&cpu_loop.frequencies, &machine);
    sources.extend(fsync.writers.sources(&machine));
    let mut measures = vec![
        (watch as Box<dyn TurnMeasure>).finish(),
        steal.finish(&machine),
        throttling.finish(&machine),
        (cpu_loop as Box<dyn TurnMeasure>).finish(),
    ];
    measures.extend(others.into_iter().map(TurnMeasure::finish));
    measures.push((fsync as Box<dyn TurnMeasure>).finish());
    measures.push(clock.finish());
    Some(SelfTest {
        seconds: begun.elapsed().as_secs_f64(),
        cpus,
        measures,
        sources,
        unexplained,
    })
}

/// Figures of a measure: name, value, unit.
fn measured<V: Copy + Into<Estimate>>(name: &str, figures: &[(&str, V, &str)]) -> Measure {
    let figure = |&(name, value, unit): &(&str, V, &str)| {
        let Estimate { value, interval } = value.into();
        TestFigure {
            name: name.to_owned(),
            value,
            interval,
            unit: Unit::parse(unit).unwrap_or_else(|error| unreachable!("{error}")),
        }
    };
    let figures: Vec<TestFigure> = figures.iter().map(figure).collect();
    // JSON has no other numbers.
    if figures.iter().any(|figure| !figure.value.is_finite()) {
        return not_measured(name, "what was measured gives no number");
    }
    Measure {
        name: name.to_owned(),
        outcome: MeasureOutcome::Measured(figures),
    }
}

/// Times of a turn, in seconds.
#[derive(Debug, Clone, Default)]
struct TimesOfTurn {
    /// Each.
    times: Vec<f64>,
    /// The median of each part of the turn.
    medians: Vec<f64>,
}

/// A measure of times, and of the spread of their medians; none of too few.
fn measured_times(name: &str, turns: &[TimesOfTurn]) -> Option<Measure> {
    let times: Vec<f64> = turns.iter().flat_map(|turn| &turn.times).copied().collect();
    let spread = Estimate::of_turns(turns, |turns| {
        let medians = turns.iter().flat_map(|turn| &turn.medians).copied();
        numbers::spread(&medians.collect::<Vec<_>>())
    })?;
    let figures = [
        ("median", numbers::median(&times)?.into(), "s"),
        ("p99", numbers::quantile(&times, 0.99)?.into(), "s"),
        ("spread", spread, "ratio"),
    ];
    Some(measured(name, &figures))
}

/// A measure that can't be made here, and why.
fn not_measured(name: &str, why: impl Into<String>) -> Measure {
    Measure {
        name: name.to_owned(),
        outcome: MeasureOutcome::NotMeasured(why.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examination::StopWhenDropped;

    #[test]
    fn a_short_test_of_this_machine_has_every_measure_and_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let begun = Instant::now();
        let test = measure(1.5, folder.path(), &StopFlag::default()).unwrap();
        // Machines that build meanwhile give threads their turn late.
        assert!(begun.elapsed() < Duration::from_secs(15));
        let names: Vec<&str> = test.measures.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "interruptions",
                "steal",
                "throttling",
                "cpu",
                "timer",
                "memory",
                "loopback",
                "fsync",
                "clock"
            ]
        );
        for name in ["interruptions", "cpu", "timer", "clock"] {
            let measure = test.measures.iter().find(|it| it.name == name).unwrap();
            assert!(measure.grade().is_some(), "{measure:?}");
        }
        for figure in test.measures.iter().filter_map(|it| match &it.outcome {
            MeasureOutcome::Measured(figures) => Some(figures),
            MeasureOutcome::NotMeasured(_) => None,
        }) {
            assert!(figure.iter().all(|it| it.value.is_finite()), "{figure:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_test_that_nobody_waits_for_ends_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let stop = StopFlag::default();
        let (begun, ended) = std::thread::scope(|scope| {
            let running = scope.spawn(|| measure(60.0, folder.path(), &stop).is_none());
            std::thread::sleep(Duration::from_millis(300));
            let begun = Instant::now();
            drop(StopWhenDropped(stop.clone()));
            assert!(running.join().unwrap());
            (begun, Instant::now())
        });
        assert!(
            ended - begun < Duration::from_secs(5),
            "{:?}",
            ended - begun
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
