//! The quality of the statistics against known truth: `cargo run --release -p backsight-stats --example quality`.
//! Prints Markdown: the tables of docs/quality.md, with what the best peers reach beside each.

use backsight_stats::Random;
use backsight_stats::changes::{Search, detect};
use backsight_stats::simulate::{Noise, steps};
use backsight_stats::{Better, Outcome, Placed, Question, Side, verdict};

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
    coverage();
    power();
    change_points();
    staircase();
}

/// Comparisons simulated for a cell of a table.
const COMPARISONS: usize = 4_000;

/// Two sides of a comparison: noise around 100 with a deviation of 3, the new side `shift` deviations slower.
fn side(noise: Noise, n: usize, shift: f64, random: &mut Random) -> Side {
    let values = noise
        .draw(n, random)
        .into_iter()
        .map(|x| 100.0 + 3.0 * (x + shift));
    let placed = values.map(|value| Placed {
        layout: 0,
        boot: 0,
        trial: 0,
        value,
    });
    Side::new(placed.collect()).expect("simulated values are finite")
}

/// As many trials of ten samples each, with this intraclass correlation.
fn clustered(trials: usize, icc: f64, random: &mut Random) -> Side {
    let mut placed = Vec::new();
    for trial in 0..trials as u64 {
        let shared = icc.sqrt() * random.normal();
        for _ in 0..10 {
            let value = 100.0 + 3.0 * (shared + (1.0 - icc).sqrt() * random.normal());
            placed.push(Placed {
                layout: 0,
                boot: 0,
                trial,
                value,
            });
        }
    }
    Side::new(placed).expect("simulated values are finite")
}

/// The shares of intervals of the ratio that hold 1, and of verdicts that call equal sides different.
fn held(mut pair: impl FnMut() -> (Side, Side)) -> (f64, f64) {
    let question = Question::usual(Better::Lower);
    let (mut holds, mut wrong) = (0, 0);
    for _ in 0..COMPARISONS {
        let (base, new) = pair();
        let found = verdict(&base, &new, &question);
        holds += usize::from(found.ratio_interval.is_ok_and(|ratio| ratio.contains(1.0)));
        wrong += usize::from(matches!(found.outcome, Outcome::Better | Outcome::Worse));
    }
    (
        holds as f64 / COMPARISONS as f64,
        wrong as f64 / COMPARISONS as f64,
    )
}

fn coverage() {
    println!(
        "## Intervals\n\nTwo equal sides: how often the 95% interval of the ratio holds 1 / a verdict of better or worse.\n"
    );
    println!("| noise | n = 10 | n = 30 | n = 100 |\n|---|---|---|---|");
    for (name, noise, _) in ROWS {
        print!("| {name} |");
        for n in [10, 30, 100] {
            let mut random = Random::seeded(3);
            let (holds, wrong) = held(|| {
                (
                    side(noise, n, 0.0, &mut random),
                    side(noise, n, 0.0, &mut random),
                )
            });
            print!(" {holds:.3} / {wrong:.3} |");
        }
        println!();
    }
    for icc in [0.5, 0.98] {
        print!("| n trials of 10, intraclass correlation {icc} |");
        for n in [10, 30, 100] {
            let mut random = Random::seeded(4);
            let (holds, wrong) = held(|| {
                (
                    clustered(n, icc, &mut random),
                    clustered(n, icc, &mut random),
                )
            });
            print!(" {holds:.3} / {wrong:.3} |");
        }
        println!();
    }
    println!();
}

fn power() {
    println!(
        "## Power\n\nThe share of real changes that are called better or worse, 30 samples a side.\n"
    );
    println!("| noise | ½σ | 1σ | 2σ | 3σ |\n|---|---|---|---|---|");
    let question = Question::usual(Better::Lower);
    for (name, noise, _) in ROWS {
        print!("| {name} |");
        for shift in [0.5, 1.0, 2.0, 3.0] {
            let mut random = Random::seeded(5);
            let called = |random: &mut Random| {
                let (base, new) = (side(noise, 30, 0.0, random), side(noise, 30, shift, random));
                verdict(&base, &new, &question).outcome == Outcome::Worse
            };
            let share = (0..COMPARISONS / 4).filter(|_| called(&mut random)).count() as f64
                / (COMPARISONS / 4) as f64;
            print!(" {share:.3} |");
        }
        println!();
    }
    println!();
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
