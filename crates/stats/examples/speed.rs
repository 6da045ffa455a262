//! How long the statistics take: `cargo run --release -p backsight-stats --example speed`.
//! Prints one line a measurement: what, milliseconds (median and least of several runs).

use std::hint::black_box;
use std::time::Instant;

use backsight_stats::changes::{Search, Watch, detect};
use backsight_stats::simulate::{Noise, steps};
use backsight_stats::{Better, Placed, Question, Random, Samples, Side, Summary, verdict};

fn main() {
    let values = pseudo_random(1_000_000);
    report("check and sort 1,000,000 samples", 9, || {
        black_box(Samples::new(values.clone()).expect("finite"));
    });
    let samples = Samples::new(values).expect("finite");
    report("summary of 1,000,000 samples", 9, || {
        black_box(Summary::of(&samples, Better::Higher));
    });
    report(
        "verdict of 2 × 1,000,000 samples in 100 trials each",
        3,
        || {
            let side = |seed| {
                let noise = Noise::Gauss.draw(1_000_000, &mut Random::seeded(seed));
                let placed = noise.iter().zip(0_u64..).map(|(x, i)| Placed {
                    layout: 0,
                    boot: 0,
                    session: 0,
                    trial: i / 10_000,
                    value: 100.0 + x,
                });
                Side::new(placed.collect()).expect("finite")
            };
            black_box(verdict(&side(1), &side(2), &Question::usual(Better::Lower)));
        },
    );
    report("verdict of 2 × 1,000,000 independent samples", 3, || {
        let side = |seed| {
            Side::of_independent(
                Samples::new(Noise::Gauss.draw(1_000_000, &mut Random::seeded(seed)))
                    .expect("finite"),
            )
        };
        black_box(verdict(&side(1), &side(2), &Question::usual(Better::Lower)));
    });
    for n in [1_000, 10_000] {
        let series = steps(
            &[(n / 2, 100.0), (n / 2, 101.0)],
            Noise::Gauss,
            &mut Random::seeded(1),
        );
        report(&format!("change points of {n} versions"), 31, || {
            black_box(detect(&series, &Search::default()).expect("finite"));
        });
    }
    let series = steps(
        &[(400, 100.0), (600, 102.0)],
        Noise::Gauss,
        &mut Random::seeded(2),
    );
    report("1000 versions appended one by one", 9, || {
        let mut watch = Watch::new(Vec::new(), Search::default()).expect("empty");
        for &value in &series {
            black_box(watch.push(value).expect("finite"));
        }
    });
    let many: Vec<Vec<f64>> = (0..100)
        .map(|seed| Noise::Gauss.draw(500, &mut Random::seeded(seed)))
        .collect();
    report("change points of 100 series of 500 versions", 9, || {
        for series in &many {
            black_box(detect(series, &Search::default()).expect("finite"));
        }
    });
}

fn report(what: &str, runs: usize, mut job: impl FnMut()) {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            job();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "{what:50} {:10.3} ms, least {:10.3} ms",
        times[runs / 2],
        times[0]
    );
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
