//! The quality of the statistics against known truth: `cargo run --release -p backsight-stats --example quality`.
//! Prints Markdown: the tables of docs/quality.md, with what the best peers reach beside each.

use backsight_stats::Random;
use backsight_stats::changes::{Search, detect};
use backsight_stats::simulate::{Noise, steps};

/// A row of the change-point table: noise, and what peers reach (false points, found at 1σ, found at 2σ).
const ROWS: [(&str, Noise, &str); 7] = [
    ("Gauss", Noise::Gauss, "0.10; .83/1"),
    (
        "lognormal, σ of the logarithm ½",
        Noise::Lognormal { sigma: 0.5 },
        "0.10; .98/1",
    ),
    (
        "lognormal, σ of the logarithm 1",
        Noise::Lognormal { sigma: 1.0 },
        "",
    ),
    (
        "bimodal, halves 4 apart",
        Noise::Bimodal {
            upper_share: 0.5,
            apart: 4.0,
        },
        "0.15; .95/1",
    ),
    (
        "bimodal, a fifth 5 apart",
        Noise::Bimodal {
            upper_share: 0.2,
            apart: 5.0,
        },
        "",
    ),
    (
        "AR(1) .5",
        Noise::Autoregressive { keep: 0.5 },
        "2.95; .56/.90",
    ),
    (
        "5% outliers at 10σ",
        Noise::Outliers {
            share: 0.05,
            far: 10.0,
        },
        "0.15; 1/1",
    ),
];

const FLAT_SERIES: usize = 5_000;
const STEP_SERIES: usize = 2_000;

fn main() {
    change_points();
    staircase();
}

fn places(series: &[f64]) -> Vec<usize> {
    let findings = detect(series, &Search::default()).expect("simulated values are finite");
    findings.changes.iter().map(|change| change.at).collect()
}

/// One standard deviation of the noise as it is, outliers included.
fn deviation(noise: Noise) -> f64 {
    match noise {
        Noise::Outliers { share, far } => (1.0 + share * far * far).sqrt(),
        _ => 1.0,
    }
}

fn change_points() {
    println!(
        "## Change points\n\nSeries of 200 points, one step in the middle; a hit is within ±5 points.\n"
    );
    println!(
        "| noise | false points per 1000 flat | found at 1σ | found at 2σ | best peer (Mongo SPA) |"
    );
    println!("|---|---|---|---|---|");
    for (name, noise, peer) in ROWS {
        let mut random = Random::seeded(1);
        let wrong: usize = (0..FLAT_SERIES)
            .map(|_| places(&noise.draw(200, &mut random)).len())
            .sum();
        let mut found = |size: f64| {
            let levels = [(100, 0.0), (100, size * deviation(noise))];
            let hit = |series: Vec<f64>| places(&series).iter().any(|at| at.abs_diff(100) <= 5);
            let hits = (0..STEP_SERIES)
                .filter(|_| hit(steps(&levels, noise, &mut random)))
                .count();
            hits as f64 / STEP_SERIES as f64
        };
        let false_points = wrong as f64 / (FLAT_SERIES as f64 * 0.2);
        println!(
            "| {name} | {false_points:.3} | {:.3} | {:.3} | {peer} |",
            found(1.0),
            found(2.0)
        );
    }
}

fn staircase() {
    let levels: Vec<(usize, f64)> = (0..20)
        .map(|i| (50, if i % 2 == 0 { 0.0 } else { 3.0 }))
        .collect();
    let mut random = Random::seeded(2);
    let (mut found, mut named) = (0, 0);
    for _ in 0..200 {
        let at = places(&steps(&levels, Noise::Gauss, &mut random));
        found += (1..20)
            .filter(|step| at.iter().any(|at| at.abs_diff(step * 50) <= 5))
            .count();
        named += at.len();
    }
    println!(
        "\nNineteen alternating 3σ steps 50 points apart, 200 series: {found} of 3800 found, {named} named."
    );
}
