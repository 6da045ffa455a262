//! How often `bisect` is right, on simulated histories whose steps are known.

use backsight_model::MetricName;
use backsight_policy::{
    BisectEnd, BisectPolicy, BisectVerdict, Decision, Evidence, Observation, Policy as _,
    RequestOutcome,
};
use backsight_stats::{Better, Random, culprits::BisectionGoal, simulation::NoiseShape};
use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use super::parallel::simulate;

/// Jobs of each row, unless said.
const JOBS: u64 = 400;
/// Steps of one history are at least so many versions apart.
const APART: usize = 8;
/// The level before the first step, in standard deviations of the noise: one is 5 % of it.
const LEVEL: f64 = 20.0;
/// Where nothing changed, whether anything is named is asked whenever so much more was measured.
const ASKED_AGAIN: usize = 10;
/// A job that asks for more has failed.
const MOST: usize = 20_000;

/// A row of the table.
struct Row {
    name: &'static str,
    versions: usize,
    steps: &'static [f64],
    noise: NoiseShape,
    broken: f64,
    cancelling: bool,
    /// What a trial takes.
    trial: Duration,
    /// What a build costs, in trials.
    build: f64,
    /// How many testbeds measure at once, and the standard deviation of what each adds.
    testbeds: usize,
    apart: f64,
    /// Share right, measurements, builds, as asked; and the bound on measurements.
    required: (f64, f64, f64),
    bound: Option<f64>,
    /// Which share of the jobs; fewer where one takes long.
    share: u64,
}

const GAUSS: NoiseShape = NoiseShape::Gauss;
const LOGNORMAL: NoiseShape = NoiseShape::Lognormal { sigma: 0.5 };
const HEAVY: NoiseShape = NoiseShape::Lognormal { sigma: 1.0 };
const BIMODAL: NoiseShape = NoiseShape::Bimodal {
    upper_share: 0.3,
    apart: 4.0,
};
const ANY: f64 = f64::INFINITY;

const fn row(name: &'static str, versions: usize, steps: &'static [f64]) -> Row {
    Row {
        name,
        versions,
        steps,
        noise: GAUSS,
        broken: 0.0,
        cancelling: false,
        trial: Duration::from_secs(60),
        build: 1.0,
        testbeds: 1,
        apart: 0.0,
        required: (0.95, ANY, ANY),
        bound: None,
        share: 1,
    }
}

/// Rows of several testbeds beside those of one.
fn beside() -> Vec<Row> {
    let mut rows = Vec::new();
    let histories: [(&str, &[f64]); 4] = [
        ("one of 1σ", &[1.0]),
        ("one of 2σ", &[2.0]),
        ("+1.5, +1.5, +1.5σ", &[1.5, 1.5, 1.5]),
        ("none", &[]),
    ];
    for (name, steps) in histories {
        for (testbeds, apart) in [(1, 0.0), (2, 0.0), (2, 2.0), (4, 0.0), (4, 2.0)] {
            rows.push(Row {
                testbeds,
                apart,
                build: 0.1,
                ..row(name, 128, steps)
            });
        }
    }
    rows
}

fn rows() -> Vec<Row> {
    let asked = |row: Row, right, measured, builds, bound| Row {
        required: (right, measured, builds),
        bound: Some(bound),
        ..row
    };
    let mut rows = vec![
        asked(row("one of 0.5σ", 128, &[0.5]), 0.95, 400.0, 35.0, 152.0),
        asked(row("one of 1σ", 128, &[1.0]), 0.95, 110.0, 20.0, 41.0),
        asked(row("one of 2σ", 128, &[2.0]), 0.98, 36.0, 12.0, 14.0),
        asked(row("one of 1σ", 1024, &[1.0]), 0.95, 150.0, 35.0, 59.0),
        asked(row("one of 2σ", 1024, &[2.0]), 0.98, 46.0, 19.0, 20.0),
        Row {
            required: (0.90, ANY, ANY),
            ..row("+1.5, +1.5, +1.5σ", 128, &[1.5, 1.5, 1.5])
        },
        row("+3, −3, +3σ", 128, &[3.0, -3.0, 3.0]),
        Row {
            cancelling: true,
            share: 2,
            ..row("+3, −3, +3σ, --cancelling", 128, &[3.0, -3.0, 3.0])
        },
        Row {
            cancelling: true,
            share: 2,
            required: (0.90, ANY, ANY),
            ..row("+2, −2σ, --cancelling", 128, &[2.0, -2.0])
        },
        row("none", 128, &[]),
        Row {
            cancelling: true,
            share: 2,
            ..row("none, --cancelling", 128, &[])
        },
    ];
    // Where a trial is over at once it is looked everywhere.
    let cheap: [(&str, &[f64]); 6] = [
        ("one of 0.5σ, trials of 10 ms", &[0.5]),
        ("one of 1σ, trials of 10 ms", &[1.0]),
        ("one of 2σ, trials of 10 ms", &[2.0]),
        ("+1.5, +1.5, +1.5σ, trials of 10 ms", &[1.5, 1.5, 1.5]),
        ("+3, −3, +3σ, trials of 10 ms", &[3.0, -3.0, 3.0]),
        ("none, trials of 10 ms", &[]),
    ];
    rows.extend(cheap.map(|(name, steps)| Row {
        trial: Duration::from_millis(10),
        share: 4,
        ..row(name, 128, steps)
    }));
    for (name, noise, broken) in [
        ("one of 1σ, 10% broken", GAUSS, 0.1),
        ("one of 1σ, lognormal", LOGNORMAL, 0.0),
        ("one of 1σ, bimodal", BIMODAL, 0.0),
    ] {
        rows.push(Row {
            noise,
            broken,
            share: 2,
            required: (0.90, ANY, ANY),
            ..row(name, 128, &[1.0])
        });
    }
    for (name, keep) in [("one of 1σ, AR(1) .5", 0.5), ("one of 1σ, AR(1) .9", 0.9)] {
        rows.push(Row {
            noise: NoiseShape::Autoregressive { keep },
            share: 4,
            required: (0.90, ANY, ANY),
            ..row(name, 128, &[1.0])
        });
    }
    // Where nothing changed and the noise looks like changes, nothing may be named on the way to the answer either.
    for (name, noise, trial, share) in [
        ("none, heavy tails, trials of 250 ms", HEAVY, 250, 20),
        ("none, bimodal, trials of 250 ms", BIMODAL, 250, 20),
        ("none, heavy tails, trials of 10 ms", HEAVY, 10, 20),
        ("none, bimodal, trials of 10 ms", BIMODAL, 10, 20),
    ] {
        rows.push(Row {
            noise,
            trial: Duration::from_millis(trial),
            share,
            ..row(name, 128, &[])
        });
    }
    // Of a program that needs at most 1.9 times as long when a neighbour is busy: +3%, +8%, -5%, +2%.
    rows.push(Row {
        noise: NoiseShape::Disturbed { keep: 0.9 },
        trial: Duration::from_millis(250),
        share: 20,
        required: (0.90, ANY, ANY),
        ..row(
            "+.1, +.27, −.17, +.07σ, disturbed",
            60,
            &[0.1, 0.27, -0.17, 0.07],
        )
    });
    for (name, build) in [
        ("one of 1σ, builds 10:1", 10.0),
        ("one of 1σ, builds 100:1", 100.0),
    ] {
        rows.push(Row {
            build,
            share: 2,
            ..row(name, 128, &[1.0])
        });
    }
    rows
}

/// A history, drawn from its seed.
struct World<'a> {
    row: &'a Row,
    places: Vec<usize>,
    broken: HashSet<usize>,
    /// What each testbed adds.
    added: Vec<f64>,
    /// Of each measurement, in order of time.
    noise: std::vec::IntoIter<f64>,
}

impl<'a> World<'a> {
    fn drawn(row: &'a Row, job: u64) -> Self {
        let mut random = Random::seeded(job * 7919 + row.versions as u64);
        let places = loop {
            let drawn = row.steps.iter().map(|_| 1 + random.below(row.versions - 1));
            let mut places: Vec<usize> = drawn.collect();
            places.sort_unstable();
            if places.windows(2).all(|pair| pair[1] - pair[0] >= APART) {
                break places;
            }
        };
        let broken = (1..row.versions - 1).filter(|_| random.uniform() < row.broken);
        let broken = broken.collect();
        // Of streams of their own: the same history on one testbed and on several.
        let mut machines = Random::seeded(job * 104_729 + 1);
        let added = (0..row.testbeds).map(|_| row.apart * machines.normal());
        Self {
            row,
            places,
            broken,
            added: added.collect(),
            noise: row.noise.draw(2 * MOST, &mut random).into_iter(),
        }
    }

    fn measure(&mut self, testbed: usize, version: usize) -> f64 {
        let steps = self.places.iter().zip(self.row.steps);
        let level: f64 = steps
            .filter(|(at, _)| **at <= version)
            .map(|(_, size)| size)
            .sum();
        let noise = self.noise.next().expect("noise for all measurements");
        LEVEL + level + self.added[testbed] + noise
    }

    fn is_right(&self, verdict: &BisectVerdict) -> bool {
        let named = verdict.culprits.iter().zip(&self.places);
        verdict.culprits.len() == self.places.len()
            && named
                .into_iter()
                .all(|(culprit, at)| culprit.place.after < *at && *at <= culprit.place.until)
    }
}

/// What came of a job.
struct Job {
    right: bool,
    /// Changes that were named in the end; where there is none, at any time.
    named: usize,
    measured: usize,
    builds: usize,
    probability: f64,
    /// How long it took, in trials.
    took: f64,
}

fn bisected(row: &Row, job: u64) -> Job {
    let mut world = World::drawn(row, job);
    let policy = BisectPolicy {
        versions: row.versions,
        cell: 0,
        metric: MetricName::new("m").expect("a name"),
        better: Better::Lower,
        testbeds: row.testbeds,
        layouts: 1,
        trials: None,
        revisits: true,
        goal: BisectionGoal {
            cancelling: row.cancelling,
            ..BisectionGoal::default()
        },
        smallest: None,
        budget: None,
        most: MOST,
        seed: job as u32,
    };
    let mut evidence = Evidence::default();
    let mut built: BTreeMap<usize, Duration> = BTreeMap::new();
    let mut testbeds: Vec<Option<(Duration, Observation)>> = vec![None; row.testbeds];
    let (mut now, mut workshop) = (Duration::ZERO, Duration::ZERO);
    let mut named_before = 0;
    let verdict = 'all: loop {
        for testbed in 0..row.testbeds {
            if testbeds[testbed].is_some() {
                continue;
            }
            let under_way = testbeds.iter().flatten().map(|(_, seen)| seen.request);
            let under_way: Vec<_> = under_way.collect();
            let request = match policy.decide_for_testbed(&evidence, testbed, &under_way) {
                None => continue,
                Some(Decision::Done(verdict)) => break 'all verdict,
                Some(Decision::Measure(request)) => request,
            };
            let build = row.trial.mul_f64(row.build);
            let ready = *built.entry(request.version).or_insert_with(|| {
                evidence.builds.push(build);
                workshop = now.max(workshop) + build;
                workshop
            });
            let value = world.measure(testbed, request.version);
            let seen = Observation {
                request,
                outcome: match world.broken.contains(&request.version) {
                    true => RequestOutcome::NoBuild,
                    false => RequestOutcome::Measured,
                },
                figures: BTreeMap::from([(policy.metric.clone(), value)]),
                took: row.trial,
            };
            testbeds[testbed] = Some((now.max(ready) + row.trial, seen));
        }
        let ends = testbeds.iter_mut().filter(|busy| busy.is_some());
        let first = ends.min_by_key(|busy| busy.as_ref().map(|(ends, _)| *ends));
        let (ends, seen) = first
            .and_then(Option::take)
            .expect("nobody waits for nothing");
        now = ends;
        evidence.observations.push(seen);
        if row.steps.is_empty() && evidence.observations.len().is_multiple_of(ASKED_AGAIN) {
            named_before = named_before.max(policy.verdict(&evidence).culprits.len());
        }
    };
    Job {
        right: verdict.ended == Some(BisectEnd::Decided) && world.is_right(&verdict),
        named: named_before.max(verdict.culprits.len()),
        measured: verdict.trials.0,
        builds: built.len(),
        probability: verdict.probability,
        took: now.as_secs_f64() / row.trial.as_secs_f64(),
    }
}

/// `git bisect run` with the mean of so many repeats against the middle of both ends.
fn halved(row: &Row, job: u64, repeats: usize) -> Job {
    let mut world = World::drawn(row, job);
    let mut mean = |version: usize| {
        (0..repeats).map(|_| world.measure(0, version)).sum::<f64>() / repeats as f64
    };
    let (mut good, mut bad) = (0, row.versions - 1);
    let (low, high) = (mean(good), mean(bad));
    let mut builds = 2;
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        builds += 1;
        match (mean(middle) - low).abs() < (mean(middle) - high).abs() {
            true => good = middle,
            false => bad = middle,
        }
    }
    Job {
        right: world.places == [bad],
        named: 1,
        measured: builds * repeats,
        builds,
        probability: 1.0,
        took: f64::NAN,
    }
}

fn mean(jobs: &[Job], of: impl Fn(&Job) -> f64) -> f64 {
    jobs.iter().map(of).sum::<f64>() / jobs.len() as f64
}

fn judged(figure: String, is_good: bool) -> String {
    match is_good {
        true => figure,
        false => format!("**{figure}**"),
    }
}

/// Prints the table. For a quick look: how many jobs a row, and a part of the rows' names.
pub fn print(arguments: &[String]) {
    let mut arguments = arguments.iter();
    let number_of_jobs = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(JOBS);
    let part = arguments.next().map_or("", String::as_str);
    println!(
        "## Which change did it\n\n`bisect` on simulated histories, asked for 95%, both ends included; steps of \
         one history are drawn at random, at least {APART} versions apart. Share right is of jobs in which exactly the true steps \
         are named. A trial takes a minute and a build as long, unless said. The bound is .95·log₂N divided by what one measurement \
         can tell with known means. What misses what was asked for is bold.\n"
    );
    println!(
        "| steps | versions | jobs | right | measurements | builds | asked | bound | it said | git bisect, 5 repeats | git bisect, 20 repeats |\n\
         |---|---|---|---|---|---|---|---|---|---|---|"
    );
    let (mut said, mut right, mut all) = (0.0, 0, 0);
    for row in rows().into_iter().filter(|row| row.name.contains(part)) {
        let done = simulate(number_of_jobs.div_ceil(row.share), |job| {
            bisected(&row, job)
        });
        let share = mean(&done, |job| f64::from(u8::from(job.right)));
        let (measured, builds) = (
            mean(&done, |j| j.measured as f64),
            mean(&done, |j| j.builds as f64),
        );
        let (least, most, most_builds) = row.required;
        let asked = match (most.is_finite(), row.steps.is_empty()) {
            (true, _) => format!("≥ {least:.2}, ≤ {most:.0}, ≤ {most_builds:.0}"),
            (false, true) => "false culprit ≤ .05".to_owned(),
            (false, false) => format!("≥ {least:.2}"),
        };
        // What is asked where nothing changed is about culprits alone.
        let good = match row.steps.is_empty() {
            true => mean(&done, |j| f64::from(u8::from(j.named > 0))) <= 0.05,
            false => share >= least,
        };
        let peer = |repeats| match row.steps.len() {
            1 if row.broken == 0.0 => {
                let done = simulate(number_of_jobs, |job| halved(&row, job, repeats));
                format!(
                    "{:.2} / {} / {}",
                    mean(&done, |job| f64::from(u8::from(job.right))),
                    done[0].measured,
                    done[0].builds
                )
            }
            _ => String::new(),
        };
        println!(
            "| {} | {} | {} | {} | {} | {} | {asked} | {} | {:.3} | {} | {} |",
            row.name,
            row.versions,
            done.len(),
            judged(format!("{share:.3}"), good),
            judged(format!("{measured:.0}"), measured <= most),
            judged(format!("{builds:.1}"), builds <= most_builds),
            row.bound
                .map_or_else(String::new, |bound| format!("{bound:.0}")),
            mean(&done, |job| job.probability),
            peer(5),
            peer(20),
        );
        said += done.iter().map(|job| job.probability).sum::<f64>();
        right += done.iter().filter(|job| job.right).count();
        all += done.len();
    }
    let (said, right) = (said / all as f64, right as f64 / all as f64);
    println!(
        "\nOver all rows it said {said:.3} and was right in {} (asked: .93 to .97 where it says 95%).",
        judged(format!("{right:.3}"), (0.93..=0.97).contains(&right))
    );
    on_several_testbeds(number_of_jobs.div_ceil(4), part);
}

/// What several testbeds at once make of it.
fn on_several_testbeds(number_of_jobs: u64, part: &str) {
    println!(
        "\n### On several testbeds at once\n\n`--parallel`, {number_of_jobs} jobs a row, 128 versions; builds, one after the other, cost a \
         tenth of a trial. Machines that differ add amounts of that standard deviation to what is measured on them. Time is in \
         trials, from the first to the end of the last.\n\n\
         | steps | testbeds | machines differ by | right | measurements | time | as fast as one | it said |\n\
         |---|---|---|---|---|---|---|---|"
    );
    let mut alone = f64::NAN;
    for row in beside().into_iter().filter(|row| row.name.contains(part)) {
        let done = simulate(number_of_jobs, |job| bisected(&row, job));
        let took = mean(&done, |job| job.took);
        if row.testbeds == 1 {
            alone = took;
        }
        let right = mean(&done, |job| f64::from(u8::from(job.right)));
        let (named, apart) = (mean(&done, |j| f64::from(u8::from(j.named > 0))), row.apart);
        // What is asked where nothing changed is about culprits alone.
        let good = match row.steps.is_empty() {
            true => named <= 0.05,
            false => right >= 0.95,
        };
        println!(
            "| {} | {} | {apart}σ | {} | {:.0} | {took:.0} | {:.1} times | {:.3} |",
            row.name,
            row.testbeds,
            judged(format!("{right:.3}"), good),
            mean(&done, |job| job.measured as f64),
            alone / took,
            mean(&done, |job| job.probability),
        );
    }
}
