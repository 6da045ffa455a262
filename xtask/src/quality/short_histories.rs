//! The quality of change points in short histories, against known truth.

use backsight_stats::Random;
use backsight_stats::changes::{DetectionOptions, Findings, detect};
use backsight_stats::simulation::{NoiseShape, steps};

/// Prints the parts that are named (`steps`, `listed`, `stretches`, `pending`, `flat`), all where none is; `series=N` says how many
/// series are simulated for a cell.
pub fn print(arguments: &[String]) {
    let series = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("series=")?.parse().ok())
        .unwrap_or(1000);
    let parts: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| !argument.contains('='))
        .collect();
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    println!("## Change points of short histories\n");
    if wanted("steps") {
        one_step(series);
    }
    if wanted("listed") {
        listed(series);
    }
    if wanted("stretches") {
        stretches(series);
    }
    if wanted("pending") {
        pending(series);
    }
    if wanted("flat") {
        flat(series);
    }
}

const LENGTHS: [usize; 5] = [10, 20, 40, 80, 200];

fn search(series: &[f64]) -> Findings {
    detect(series, &DetectionOptions::default()).expect("simulated values are finite")
}

/// Whether exactly the true steps are found, each within one version of its place and with its size: within three
/// standard errors of the two levels beside it.
fn exact(levels: &[(usize, f64)], found: &Findings) -> bool {
    let mut at = 0;
    let truth: Vec<(usize, f64, f64)> = levels
        .windows(2)
        .map(|pair| {
            let [(before, old), (after, new)] = [pair[0], pair[1]];
            at += before;
            let error = (1.0 / before as f64 + 1.0 / after as f64).sqrt();
            (at, new - old, error)
        })
        .collect();
    found.changes.len() == truth.len()
        && found
            .changes
            .iter()
            .zip(&truth)
            .all(|(change, &(at, size, error))| {
                change.at.abs_diff(at) <= 1
                    && (change.size - size).abs() <= 3.0 * error + 0.15 * size.abs()
            })
}

fn share(
    series: usize,
    seed: u64,
    mut levels: impl FnMut(&mut Random) -> Vec<(usize, f64)>,
) -> f64 {
    let mut random = Random::seeded(seed);
    let hits = (0..series).filter(|_| {
        let levels = levels(&mut random);
        exact(
            &levels,
            &search(&steps(&levels, NoiseShape::Gauss, &mut random)),
        )
    });
    hits.count() as f64 / series as f64
}

fn judged(figure: f64, reached: bool) -> String {
    match reached {
        true => format!("{figure:.3}"),
        false => format!("{figure:.3} **missed**"),
    }
}

fn one_step(series: usize) {
    println!(
        "One step before the last k versions / after the first k of n, normal noise, {series} series a cell: the share in which \
         exactly that step is found, within one version and with its size (asked: at least .95 of 5σ with 3 behind it and \
         of 10σ with 2 behind it, from 20 versions on).\n"
    );
    println!(
        "| step | k | n = 10 | n = 20 | n = 40 | n = 80 | n = 200 |\n|---|---|---|---|---|---|---|"
    );
    for size in [3.0, 5.0, 10.0] {
        for k in [1, 2, 3, 5, 10] {
            print!("| {size}σ | {k} |");
            for n in LENGTHS {
                if k + 3 > n {
                    print!(" |");
                    continue;
                }
                let last = share(series, 41, |_| vec![(n - k, 0.0), (k, size)]);
                let first = share(series, 42, |_| vec![(k, 0.0), (n - k, size)]);
                let asked = n >= 20 && (size >= 5.0 && k >= 3 || size >= 10.0 && k >= 2);
                print!(" {} / {first:.3} |", judged(last, !asked || last >= 0.95));
            }
            println!();
        }
    }
    println!();
}

fn listed(series: usize) {
    println!("Histories that were once missed, the same share (asked: at least .95).\n");
    println!("| stretches | levels, σ | found exactly |\n|---|---|---|");
    let listed: [(&[usize], &[f64]); 10] = [
        (&[34, 5], &[0.0, -17.0]),
        (&[35, 5], &[0.0, 10.0]),
        (&[36, 3], &[0.0, 10.0]),
        (&[20, 5], &[0.0, 5.0]),
        (&[12, 12], &[0.0, 5.0]),
        (&[5, 15], &[0.0, 10.0]),
        (&[11, 15, 6, 7], &[0.0, 10.0, 40.0, 18.0]),
        (&[10, 10, 10, 10], &[0.0, 7.0, 0.0, 7.0]),
        (&[60, 60, 60], &[0.0, 3.0, -2.0]),
        (&[100, 6], &[0.0, 10.0]),
    ];
    for (lengths, sizes) in listed {
        let levels: Vec<(usize, f64)> =
            lengths.iter().copied().zip(sizes.iter().copied()).collect();
        let found = share(series, 43, |_| levels.clone());
        println!(
            "| {lengths:?} | {sizes:?} | {} |",
            judged(found, found >= 0.95)
        );
    }
    println!();
}

fn stretches(series: usize) {
    println!(
        "One to four stretches of unequal length, each at least three versions, drawn at random; the same share (asked: at least .95 \
         of 5σ and 10σ, from 20 versions on; of one stretch that nothing is found).\n"
    );
    println!(
        "| stretches | steps | n = 10 | n = 20 | n = 40 | n = 80 | n = 200 |\n|---|---|---|---|---|---|---|"
    );
    let row = |count: usize, size: f64| {
        for n in LENGTHS {
            if n < 4 * count {
                print!(" |");
                continue;
            }
            let found = share(series, 44, |random| unequal(n, count, size, random));
            let asked = count == 1 || n >= 20 && size >= 5.0;
            print!(" {} |", judged(found, !asked || found >= 0.95));
        }
        println!();
    };
    print!("| 1 | |");
    row(1, 0.0);
    for count in [2, 3, 4] {
        for size in [3.0, 5.0, 10.0] {
            print!("| {count} | ±{size}σ |");
            row(count, size);
        }
    }
    println!();
}

fn unequal(n: usize, count: usize, size: f64, random: &mut Random) -> Vec<(usize, f64)> {
    let mut cuts: Vec<usize> = Vec::new();
    while cuts.len() + 1 < count {
        let cut = 3 + random.below(n - 5);
        if cuts.iter().all(|other| other.abs_diff(cut) >= 3) {
            cuts.push(cut);
        }
    }
    cuts.sort_unstable();
    cuts.push(n);
    let (mut start, mut level) = (0, 0.0);
    cuts.into_iter()
        .map(|cut| {
            let stretch = (cut - start, level);
            start = cut;
            level += if random.uniform() < 0.5 { size } else { -size };
            stretch
        })
        .collect()
}

fn pending(series: usize) {
    println!(
        "The newest one or two versions at another level, normal noise: the share in which they are said to be pending or are found \
         (asked: one at 10σ at least .95, from 20 versions on); and the share of flat series of which something is said to be \
         pending.\n"
    );
    println!(
        "| newest versions | n = 10 | n = 20 | n = 40 | n = 80 | n = 200 |\n|---|---|---|---|---|---|"
    );
    for (newest, size) in [(1, 5.0), (1, 7.0), (1, 10.0), (2, 5.0), (2, 7.0)] {
        print!("| {newest} at {size}σ |");
        for n in LENGTHS {
            let mut random = Random::seeded(46);
            let levels = [(n - newest, 0.0), (newest, size)];
            let said = (0..series).filter(|_| {
                let found = search(&steps(&levels, NoiseShape::Gauss, &mut random));
                let at = found.pending.map(|pending| pending.change.at);
                at.or(found.changes.last().map(|change| change.at))
                    .is_some_and(|at| at.abs_diff(n - newest) <= 1)
            });
            let share = said.count() as f64 / series as f64;
            let asked = newest == 1 && size == 10.0 && n >= 20;
            print!(" {} |", judged(share, !asked || share >= 0.95));
        }
        println!();
    }
    for (name, noise, _) in FLAT {
        print!("| none, {name} |");
        for n in LENGTHS {
            let mut random = Random::seeded(47);
            let said = (0..10 * series)
                .filter(|_| search(&noise.draw(n, &mut random)).pending.is_some())
                .count();
            print!(" {:.4} |", said as f64 / (10 * series) as f64);
        }
        println!();
    }
    println!();
}

/// Noise, with the false points per 1000 that are asked for.
const FLAT: [(&str, NoiseShape, Option<f64>); 8] = [
    ("Gauss", NoiseShape::Gauss, Some(0.1)),
    (
        "lognormal, σ of the logarithm ½",
        NoiseShape::Lognormal { sigma: 0.5 },
        Some(0.1),
    ),
    (
        "lognormal, σ of the logarithm 1",
        NoiseShape::Lognormal { sigma: 1.0 },
        Some(0.1),
    ),
    (
        "bimodal, halves 4 apart",
        NoiseShape::Bimodal {
            upper_share: 0.5,
            apart: 4.0,
        },
        Some(0.15),
    ),
    (
        "bimodal, a fifth 5 apart",
        NoiseShape::Bimodal {
            upper_share: 0.2,
            apart: 5.0,
        },
        Some(0.15),
    ),
    (
        "AR(1) .5",
        NoiseShape::Autoregressive { keep: 0.5 },
        Some(0.5),
    ),
    ("AR(1) .8", NoiseShape::Autoregressive { keep: 0.8 }, None),
    (
        "5% outliers at 10σ",
        NoiseShape::Outliers {
            share: 0.05,
            far: 10.0,
        },
        Some(0.1),
    ),
];

fn flat(series: usize) {
    let points = series * 200;
    println!("False points per 1000 versions that don't change, {points} versions a cell.\n");
    println!(
        "| noise | n = 10 | n = 20 | n = 40 | n = 80 | n = 200 | asked |\n|---|---|---|---|---|---|---|"
    );
    for (name, noise, asked) in FLAT {
        print!("| {name} |");
        for n in LENGTHS {
            let mut random = Random::seeded(45);
            let wrong: usize = (0..points / n)
                .map(|_| search(&noise.draw(n, &mut random)).changes.len())
                .sum();
            let wrong = wrong as f64 * 1000.0 / points as f64;
            print!(
                " {} |",
                judged(wrong, asked.is_none_or(|most| wrong <= most))
            );
        }
        println!(
            " {} |",
            asked.map_or(String::new(), |most| format!("≤ {most}"))
        );
    }
    println!();
}
