//! The quality of the statistics against known truth: tables with what was asked for beside each figure, and what the best peer
//! reaches; what misses is marked.

use backsight_stats::Random;
use backsight_stats::changes::{DetectionOptions, detect};
use backsight_stats::simulation::{NoiseShape, steps};
use backsight_stats::{
    Better, Confidence, ConfidenceSequence, NestedSample, NestedSamples, VerdictOptions,
    VerdictOutcome, verdict,
};

/// A row of the change-point table: noise, what was asked for, and what the best peer reaches.
struct Row {
    name: &'static str,
    noise: NoiseShape,
    required: Requirements,
    peer: &'static str,
}

/// At most so many false points per 1000 flat; at least these shares found at 1σ and 2σ.
struct Requirements {
    false_points: f64,
    one: f64,
    two: f64,
}

const fn require(false_points: f64, one: f64, two: f64) -> Requirements {
    Requirements {
        false_points,
        one,
        two,
    }
}

const ROWS: [Row; 7] = [
    Row {
        name: "Gauss",
        noise: NoiseShape::Gauss,
        required: require(0.10, 0.85, 1.0),
        peer: "0.10; .83/1",
    },
    Row {
        name: "lognormal, σ of the logarithm ½",
        noise: NoiseShape::Lognormal { sigma: 0.5 },
        required: require(0.10, 0.98, 1.0),
        peer: "0.10; .98/1",
    },
    Row {
        name: "lognormal, σ of the logarithm 1",
        noise: NoiseShape::Lognormal { sigma: 1.0 },
        required: require(0.10, 0.98, 1.0),
        peer: "",
    },
    Row {
        name: "bimodal, halves 4 apart",
        noise: NoiseShape::Bimodal {
            upper_share: 0.5,
            apart: 4.0,
        },
        required: require(0.15, 0.95, 1.0),
        peer: "0.15; .95/1",
    },
    Row {
        name: "bimodal, a fifth 5 apart",
        noise: NoiseShape::Bimodal {
            upper_share: 0.2,
            apart: 5.0,
        },
        required: require(0.15, 0.95, 1.0),
        peer: "",
    },
    Row {
        name: "AR(1) .5",
        noise: NoiseShape::Autoregressive { keep: 0.5 },
        required: require(0.5, 0.50, 0.90),
        peer: "2.95; .56/.90",
    },
    Row {
        name: "5% outliers at 10σ",
        noise: NoiseShape::Outliers {
            share: 0.05,
            far: 10.0,
        },
        required: require(0.10, 1.0, 1.0),
        peer: "0.15; 1/1",
    },
];

/// A figure to three digits, marked if it misses what was asked for.
fn judged(figure: f64, reached: bool) -> String {
    if reached {
        format!("{figure:.3}")
    } else {
        format!("{figure:.3} **missed**")
    }
}

/// As it is printed: what isn't seen there decides nothing.
fn rounded(figure: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits);
    (figure * unit).round() / unit
}

fn at_least(figure: f64, asked: f64) -> bool {
    rounded(figure, 3) >= asked
}

fn at_most(figure: f64, asked: f64) -> bool {
    rounded(figure, 3) <= asked
}

/// Shares found were asked for, and are known of peers, with two digits: "1" is .995 and more.
fn found_enough(share: f64, asked: f64) -> bool {
    rounded(share, 2) >= asked
}

const FLAT_SERIES: usize = 5_000;
const STEP_SERIES: usize = 2_000;

/// The parts, each with what prints it.
pub const PARTS: [(&str, fn()); 5] = [
    ("coverage", coverage),
    ("power", power),
    ("looks", looking_again),
    ("changes", || {
        change_points();
        staircase();
    }),
    ("intervals", change_intervals),
];

/// Comparisons simulated for a cell of a table.
const COMPARISONS: usize = 4_000;

/// Two sides of a comparison: noise around 100 with a deviation of 3, the new side `shift` deviations slower.
fn side(noise: NoiseShape, n: usize, shift: f64, random: &mut Random) -> NestedSamples {
    let values = noise
        .draw(n, random)
        .into_iter()
        .map(|x| 100.0 + 3.0 * (x + shift));
    let placed = values.map(|value| NestedSample {
        host: 0,
        layout: 0,
        boot: 0,
        session: 0,
        trial: 0,
        value,
    });
    NestedSamples::new(placed.collect()).expect("simulated values are finite")
}

/// As many trials of ten samples each, with this intraclass correlation.
fn clustered(trials: usize, icc: f64, random: &mut Random) -> NestedSamples {
    let mut placed = Vec::new();
    for trial in 0..trials as u64 {
        let shared = icc.sqrt() * random.normal();
        for _ in 0..10 {
            let value = 100.0 + 3.0 * (shared + (1.0 - icc).sqrt() * random.normal());
            placed.push(NestedSample {
                host: 0,
                layout: 0,
                boot: 0,
                session: 0,
                trial,
                value,
            });
        }
    }
    NestedSamples::new(placed).expect("simulated values are finite")
}

/// The shares of intervals of the ratio that hold 1, and of verdicts that call equal sides different.
fn held(mut pair: impl FnMut() -> (NestedSamples, NestedSamples)) -> (f64, f64) {
    let question = VerdictOptions::new(Better::Lower);
    let (mut holds, mut wrong) = (0, 0);
    for _ in 0..COMPARISONS {
        let (base, new) = pair();
        let found = verdict(&base, &new, &question);
        holds += usize::from(found.ratio_interval.is_ok_and(|ratio| ratio.contains(1.0)));
        wrong += usize::from(matches!(
            found.outcome,
            VerdictOutcome::Better | VerdictOutcome::Worse
        ));
    }
    (
        holds as f64 / COMPARISONS as f64,
        wrong as f64 / COMPARISONS as f64,
    )
}

fn judged_pair(holds: f64, wrong: f64) -> String {
    let held = at_least(holds, 0.93) && at_most(holds, 0.97);
    format!(
        "{} / {}",
        judged(holds, held),
        judged(wrong, at_most(wrong, 0.05))
    )
}

fn coverage() {
    println!(
        "## Intervals and false alarms of comparisons\n\nTwo equal sides, {COMPARISONS} pairs a cell: how often the 95% interval of \
         the ratio holds 1 (asked: .93 to .97) / how often the verdict is better or worse (asked: at most .05). The \
         simulation's own standard error is .003.\n"
    );
    println!("| noise | n = 10 | n = 30 | n = 100 |\n|---|---|---|---|");
    for Row { name, noise, .. } in ROWS {
        print!("| {name} |");
        for n in [10, 30, 100] {
            let mut random = Random::seeded(3);
            let (holds, wrong) = held(|| {
                (
                    side(noise, n, 0.0, &mut random),
                    side(noise, n, 0.0, &mut random),
                )
            });
            print!(" {} |", judged_pair(holds, wrong));
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
            print!(" {} |", judged_pair(holds, wrong));
        }
        println!();
    }
    println!();
}

fn power() {
    println!(
        "## Power of comparisons\n\nThe share of real differences, of so many standard deviations of the noise, that are called worse, 30 samples a side.\n"
    );
    println!("| noise | ½σ | 1σ | 2σ | 3σ |\n|---|---|---|---|---|");
    let question = VerdictOptions::new(Better::Lower);
    for Row { name, noise, .. } in ROWS {
        print!("| {name} |");
        for shift in [0.5, 1.0, 2.0, 3.0] {
            let mut random = Random::seeded(5);
            let called = |random: &mut Random| {
                let (base, new) = (side(noise, 30, 0.0, random), side(noise, 30, shift, random));
                verdict(&base, &new, &question).outcome == VerdictOutcome::Worse
            };
            let share = (0..COMPARISONS / 4).filter(|_| called(&mut random)).count() as f64
                / (COMPARISONS / 4) as f64;
            print!(" {share:.3} |");
        }
        println!();
    }
    println!();
}

/// After how many passes over two sides `shift` apart, measured A B, B A, B A, A B, …, looking after each of them decides that
/// they differ; nothing if 200 don't.
fn decided_after(noise: NoiseShape, shift: f64, random: &mut Random) -> Option<usize> {
    let mut sequence = ConfidenceSequence::default();
    let values = noise.draw(400, random);
    values.chunks(2).enumerate().find_map(|(pass, pair)| {
        let difference = match (pass / 2 + pass % 2) % 2 {
            0 => pair[1] - pair[0],
            _ => pair[0] - pair[1],
        };
        sequence.add(difference + shift);
        let interval = sequence.interval(Confidence::USUAL).ok()?;
        (sequence.n() >= 4 && !interval.contains(0.0)).then_some(pass + 1)
    })
}

fn looking_again() {
    println!(
        "## Looking after every pass\n\nTwo sides in turn (`try`), looked at after each of up to 200 passes, 2000 studies a cell: the share in which \
         equal sides are called different at any of the looks (asked: at most .05), and how many passes it takes to see a \
         difference of so many standard deviations of the noise, the median.\n"
    );
    println!("| noise | equal | 1σ | 2σ | 3σ | 5σ |\n|---|---|---|---|---|---|");
    const STUDIES: usize = 2000;
    for row in &ROWS {
        let mut random = Random::seeded(29);
        let mut decided = |shift: f64| -> Vec<Option<usize>> {
            (0..STUDIES)
                .map(|_| decided_after(row.noise, shift, &mut random))
                .collect()
        };
        let wrong = decided(0.0).iter().flatten().count() as f64 / STUDIES as f64;
        print!("| {} | {}", row.name, judged(wrong, at_most(wrong, 0.05)));
        for shift in [1.0, 2.0, 3.0, 5.0] {
            let mut passes: Vec<usize> = decided(shift)
                .into_iter()
                .map(|after| after.unwrap_or(usize::MAX))
                .collect();
            passes.sort_unstable();
            match passes[STUDIES / 2] {
                usize::MAX => print!(" | over 200"),
                median => print!(" | {median}"),
            }
        }
        println!(" |");
    }
    println!();
}

fn places(series: &[f64]) -> Vec<usize> {
    let findings =
        detect(series, &DetectionOptions::default()).expect("simulated values are finite");
    findings.changes.iter().map(|change| change.at).collect()
}

/// One standard deviation of the noise as it is, outliers included.
fn deviation(noise: NoiseShape) -> f64 {
    match noise {
        NoiseShape::Outliers { share, far } => (1.0 + share * far * far).sqrt(),
        _ => 1.0,
    }
}

fn change_points() {
    println!(
        "## Change points\n\nSeries of 200 points, one step in the middle, default settings; a hit is within ±5 points. False \
         points from {FLAT_SERIES} flat series, hits from {STEP_SERIES} series a size. Shares asked for have \
         two digits: 1 is .995 and more. The best peer known is Mongo SPA, as published with the targets.\n"
    );
    println!(
        "| noise | false points per 1000 flat | found at 1σ | found at 2σ | asked | best peer |\n|---|---|---|---|---|---|"
    );
    for row in ROWS {
        let noise = row.noise;
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
        let (one, two) = (found(1.0), found(2.0));
        println!(
            "| {} | {} | {} | {} | ≤ {}; ≥ {}/{} | {} |",
            row.name,
            judged(
                false_points,
                at_most(false_points, row.required.false_points)
            ),
            judged(one, found_enough(one, row.required.one)),
            judged(two, found_enough(two, row.required.two)),
            row.required.false_points,
            row.required.one,
            row.required.two,
            row.peer
        );
    }
}

/// How often the intervals that come with a change hold the truth.
fn change_intervals() {
    println!(
        "\n## Intervals of change points\n\nOf the changes found in series of 200 points with one step in the middle: how often the \
         95% interval of versions holds the true place / the 95% interval of the size the true size (asked: at least .93).\n"
    );
    println!("| noise | 1σ | 2σ | 3σ |\n|---|---|---|---|");
    for row in ROWS {
        print!("| {} |", row.name);
        for sigmas in [1.0, 2.0, 3.0] {
            let mut random = Random::seeded(6);
            let size = sigmas * deviation(row.noise);
            let (mut told, mut places_held, mut sizes_held) = (0, 0, 0);
            for _ in 0..STEP_SERIES / 2 {
                let series = steps(&[(100, 0.0), (100, size)], row.noise, &mut random);
                let findings = detect(&series, &DetectionOptions::default())
                    .expect("simulated values are finite");
                // Several changes are another question than one.
                let [change] = &findings.changes[..] else {
                    continue;
                };
                told += 1;
                places_held += usize::from((change.earliest..=change.latest).contains(&100));
                sizes_held += usize::from(change.size_interval.contains(size));
            }
            let share = |held: usize| held as f64 / f64::from(told);
            let (places, sizes) = (share(places_held), share(sizes_held));
            print!(
                " {} / {} |",
                judged(places, at_least(places, 0.93)),
                judged(sizes, at_least(sizes, 0.93))
            );
        }
        println!();
    }
}

/// Writes series like those of the table for peers to search (`benches/peers.py quality`): for each row a file of flat
/// ones and files with steps of 1σ and 2σ, a series a line; and the rows' names.
pub fn series_for_peers(folder: &std::path::Path) {
    let write = |name: String, all: Vec<Vec<f64>>| {
        let lines = all.iter().map(|series| {
            let numbers: Vec<String> = series.iter().map(f64::to_string).collect();
            numbers.join(" ") + "\n"
        });
        std::fs::write(folder.join(name), lines.collect::<String>())
            .expect("the folder can be written");
    };
    for (i, row) in ROWS.iter().enumerate() {
        let mut random = Random::seeded(1);
        let flat = (0..1000).map(|_| row.noise.draw(200, &mut random));
        write(format!("{i}-flat"), flat.collect());
        for size in [1, 2] {
            let levels = [(100, 0.0), (100, f64::from(size) * deviation(row.noise))];
            let stepped = (0..300).map(|_| steps(&levels, row.noise, &mut random));
            write(format!("{i}-{size}"), stepped.collect());
        }
    }
    let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    std::fs::write(folder.join("names"), names.join("\n")).expect("the folder can be written");
}

fn staircase() {
    let levels: Vec<(usize, f64)> = (0..20)
        .map(|i| (50, if i % 2 == 0 { 0.0 } else { 3.0 }))
        .collect();
    let mut random = Random::seeded(2);
    let (mut found, mut named) = (0, 0);
    for _ in 0..200 {
        let at = places(&steps(&levels, NoiseShape::Gauss, &mut random));
        found += (1..20)
            .filter(|step| at.iter().any(|at| at.abs_diff(step * 50) <= 5))
            .count();
        named += at.len();
    }
    println!(
        "\nNineteen alternating 3σ steps 50 points apart, 200 series: {found} of 3800 found{}, {named} named.",
        if found == 3800 {
            ""
        } else {
            " (asked: all; **missed**)"
        }
    );
}
