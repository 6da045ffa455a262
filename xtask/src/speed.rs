//! How long the statistics take. Arguments choose lines by a part of what they say.
//!
//! Prints one line a measurement: what, milliseconds of processor time (median and least of several runs; of the clock where
//! the system doesn't count processor time), and the least as a multiple of the floor: sorting 10,000 numbers, in the same run.

use std::hint::black_box;
use std::time::Instant;

use backsight_stats::changes::{DetectionOptions, OnlineDetector, detect};
use backsight_stats::simulation::{NoiseShape, steps};
use backsight_stats::{
    Better, NestedSample, NestedSamples, Random, Samples, Summary, VerdictOptions, verdict,
};

pub fn print(chosen: &[String]) {
    let speed = Speed::new(chosen.to_vec());
    let report = |what: &str, runs, job: &mut dyn FnMut()| speed.report(what, runs, job);
    let values = pseudo_random(1_000_000);
    report("check and sort 1,000,000 samples", 9, &mut || {
        black_box(Samples::new(values.clone()).expect("finite"));
    });
    let samples = Samples::new(values).expect("finite");
    report("summary of 1,000,000 samples", 9, &mut || {
        black_box(Summary::new(&samples, Better::Higher));
    });
    report(
        "verdict of 2 × 1,000,000 samples in 100 trials each",
        3,
        &mut || {
            let side = |seed| {
                let noise = NoiseShape::Gauss.draw(1_000_000, &mut Random::seeded(seed));
                let placed = noise.iter().zip(0_u64..).map(|(x, i)| NestedSample {
                    host: 0,
                    layout: 0,
                    boot: 0,
                    session: 0,
                    trial: i / 10_000,
                    value: 100.0 + x,
                });
                NestedSamples::new(placed.collect()).expect("finite")
            };
            black_box(verdict(
                &side(1),
                &side(2),
                &VerdictOptions::new(Better::Lower),
            ));
        },
    );
    report(
        "verdict of 2 × 1,000,000 independent samples",
        3,
        &mut || {
            let side = |seed| {
                NestedSamples::from_independent(
                    Samples::new(NoiseShape::Gauss.draw(1_000_000, &mut Random::seeded(seed)))
                        .expect("finite"),
                )
            };
            black_box(verdict(
                &side(1),
                &side(2),
                &VerdictOptions::new(Better::Lower),
            ));
        },
    );
    for n in [1_000, 10_000] {
        let series = steps(
            &[(n / 2, 100.0), (n / 2, 101.0)],
            NoiseShape::Gauss,
            &mut Random::seeded(1),
        );
        report(&format!("change points of {n} versions"), 31, &mut || {
            black_box(detect(&series, &DetectionOptions::default()).expect("finite"));
        });
    }
    for n in [1_000, 10_000] {
        let series = steps(
            &[(2 * n / 5, 100.0), (3 * n / 5, 102.0)],
            NoiseShape::Gauss,
            &mut Random::seeded(2),
        );
        report(&format!("{n} versions appended one by one"), 9, &mut || {
            let mut watch =
                OnlineDetector::new(Vec::new(), DetectionOptions::default()).expect("empty");
            for &value in &series {
                black_box(watch.push(value).expect("finite"));
            }
        });
        let watch = OnlineDetector::new(series, DetectionOptions::default()).expect("finite");
        report(&format!("one version appended to {n}"), 31, &mut || {
            black_box(watch.clone().push(101.9).expect("finite"));
        });
    }
    let many: Vec<Vec<f64>> = (0..100)
        .map(|seed| NoiseShape::Gauss.draw(500, &mut Random::seeded(seed)))
        .collect();
    report(
        "change points of 100 series of 500 versions",
        9,
        &mut || {
            for series in &many {
                black_box(detect(series, &DetectionOptions::default()).expect("finite"));
            }
        },
    );
}

/// What is measured, beside a floor.
struct Speed {
    chosen: Vec<String>,
    /// Milliseconds that sorting 10,000 numbers takes at least.
    floor: f64,
}

impl Speed {
    fn new(chosen: Vec<String>) -> Self {
        let values = pseudo_random(10_000);
        let times = times(31, &mut || {
            let mut values = values.clone();
            values.sort_unstable_by(f64::total_cmp);
            black_box(values);
        });
        println!(
            "{:50} {:10.3} ms, least {:10.3} ms",
            "floor: sort 10,000 numbers", times[15], times[0]
        );
        Speed {
            chosen,
            floor: times[0],
        }
    }

    fn report(&self, what: &str, runs: usize, job: &mut dyn FnMut()) {
        if !self.chosen.is_empty() && !self.chosen.iter().any(|part| what.contains(part)) {
            return;
        }
        let times = times(runs, job);
        println!(
            "{what:50} {:10.3} ms, least {:10.3} ms, {:8.2} floors",
            times[runs / 2],
            times[0],
            times[0] / self.floor
        );
    }
}

/// The processor's clock may tick every few milliseconds: short jobs are repeated until they take so long.
const LONG_ENOUGH: f64 = 0.04;

/// Milliseconds of each run, ascending.
fn times(runs: usize, job: &mut dyn FnMut()) -> Vec<f64> {
    let began = Instant::now();
    job();
    let repeats = (LONG_ENOUGH / began.elapsed().as_secs_f64())
        .ceil()
        .max(1.0);
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let (start, began) = (processor_time(), Instant::now());
            for _ in 0..repeats as usize {
                job();
            }
            let took = began.elapsed().as_secs_f64() * 1e3;
            let took = match (start, processor_time()) {
                (Some(start), Some(end)) => (end - start) / 1e6,
                _ => took,
            };
            took / repeats
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Nanoseconds that this thread has run, where the system says so.
fn processor_time() -> Option<f64> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split_whitespace().next()?.parse().ok()
}

/// Values in (0, 1) by a linear congruential generator: speed needs no better.
fn pseudo_random(n: usize) -> Vec<f64> {
    let mut state = 1_u64;
    (0..n)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        })
        .collect()
}
