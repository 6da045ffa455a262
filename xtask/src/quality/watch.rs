//! What a standing job finds of the changes of a busy tree, and what that costs, beside fixed rules.

mod by_rule;
mod standing_job;
mod world;

use super::parallel::simulate;
use world::{CHANGES_OF_SIZE, COMMITS_A_DAY, DAYS, SIZES, Told, World};

/// Trees of each line, unless said.
const TREES: u64 = 8;

/// A way to find changes: what it is called, and what it tells of the tree of a seed.
type Method = (String, Box<dyn Fn(u64) -> Told + Sync>);

fn methods() -> Vec<Method> {
    let watched = |hours: f64, name: &str| -> Method {
        let name = format!("`watch`, {name} a day");
        (
            name,
            Box::new(move |seed| standing_job::watched(seed, hours)),
        )
    };
    let every = |n: usize, name: &str| -> Method {
        (
            name.to_owned(),
            Box::new(move |seed| by_rule::every_nth(seed, n)),
        )
    };
    vec![
        every(1, "every commit, one trial"),
        every(4, "every 4th commit, one trial, `git bisect`"),
        every(16, "every 16th commit, one trial, `git bisect`"),
        (
            "every week, 5 trials, `git bisect`".to_owned(),
            Box::new(by_rule::weekly),
        ),
        watched(0.25, "15 minutes"),
        watched(1.0, "1 hour"),
        watched(4.0, "4 hours"),
    ]
}

/// Prints the table. For a quick look: how many trees a line, and a part of the lines' names.
pub fn print(arguments: &[String]) {
    let mut arguments = arguments.iter();
    let trees = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(TREES);
    let part = arguments.next().map_or("", String::as_str);
    let series = world::real_series();
    let lengths: Vec<usize> = series.iter().map(|(_, values)| values.len()).collect();
    println!(
        "## A standing job\n\n{DAYS} days of {COMMITS_A_DAY} commits, {} of which change one of {} benchmarks or more, {CHANGES_OF_SIZE} of each size (in \
         standard deviations of a trial of the benchmark that changes most); trees a line: {trees}, the same for each. The noise is resampled, \
         in blocks, from real series of {} to {} trials each. A build takes {:.0} minutes and a trial of a benchmark {:.0} seconds. *Found*: the \
         commit itself is named. *Wrong*: a commit is named that changed nothing. *Stretch*: told only as some commits in a row, of which one \
         is a change / none is. Means of a tree; days until it is named, from the commit, the median and the 90th percentile.\n",
        SIZES.len() * CHANGES_OF_SIZE,
        series.len(),
        lengths.iter().min().unwrap_or(&0),
        lengths.iter().max().unwrap_or(&0),
        world::BUILD / 60.0,
        world::TRIAL,
    );
    let sizes = SIZES.map(|size| format!(" {size}σ |")).concat();
    println!(
        "| method | machine hours | found of {} |{sizes} wrong | stretch | days |\n|---|---|---|{}---|---|---|",
        SIZES.len() * CHANGES_OF_SIZE,
        "---|".repeat(SIZES.len())
    );
    for (name, method) in methods()
        .into_iter()
        .filter(|(name, _)| name.contains(part))
    {
        let told = simulate(trees, |seed| (World::new(seed), method(seed)));
        println!("{}", line(&name, &told));
    }
}

fn line(name: &str, told: &[(World, Told)]) -> String {
    let trees = told.len() as f64;
    let mean = |of: &dyn Fn(&Told) -> usize| {
        told.iter().map(|(_, told)| of(told)).sum::<usize>() as f64 / trees
    };
    let found_of = |class: usize| {
        let each = told.iter().flat_map(|(world, told)| {
            let changes = world.changes.iter().zip(&told.found);
            changes.filter(|(change, found)| change.class == class && found.is_some())
        });
        each.count() as f64 / (trees * CHANGES_OF_SIZE as f64)
    };
    let sizes: String = (0..SIZES.len())
        .map(|class| format!(" {:.2} |", found_of(class)))
        .collect();
    let mut days: Vec<f64> = told
        .iter()
        .flat_map(|(_, told)| told.found.iter().flatten().copied())
        .collect();
    days.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        let at = (share * days.len() as f64) as usize;
        days.get(at.min(days.len().saturating_sub(1)))
            .map_or_else(String::new, |days| format!("{days:.1}"))
    };
    format!(
        "| {name} | {:.0} | {:.1} |{sizes} {:.1} | {:.1} / {:.1} | {} / {} |",
        told.iter().map(|(_, told)| told.hours).sum::<f64>() / trees,
        mean(&|told| told.found.iter().flatten().count()),
        mean(&|told| told.wrong),
        mean(&|told| told.stretches.0),
        mean(&|told| told.stretches.1),
        quantile(0.5),
        quantile(0.9),
    )
}
