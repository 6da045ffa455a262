//! How long the statistics take: `cargo run --release -p backsight-stats --example speed`.
//! Prints one line a measurement: what, milliseconds (median of several runs).

use std::hint::black_box;
use std::time::Instant;

use backsight_stats::{Better, Samples, Summary};

fn main() {
    let values = pseudo_random(1_000_000);
    report("check and sort 1,000,000 samples", 9, || {
        black_box(Samples::new(values.clone()).expect("finite"));
    });
    let samples = Samples::new(values).expect("finite");
    report("summary of 1,000,000 samples", 9, || {
        black_box(Summary::of(&samples, Better::Higher));
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
    println!("{what:50} {:10.3} ms", times[runs / 2]);
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
