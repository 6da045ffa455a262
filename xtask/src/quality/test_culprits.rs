//! How often `bisect --test` names the version that changed a test's failure probability, on simulated histories, beside the
//! method of git_bayesect.

use backsight_model::MetricName;
use backsight_policy::{
    BisectEnd, Decision, Evidence, Observation, Policy as _, RequestOutcome, TestBisectPolicy,
};
use backsight_stats::{Confidence, Random, failures::FailurePriors};
use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use super::parallel::simulate;

/// Jobs of each row, unless said.
const JOBS: u64 = 400;
/// Runs after which a job has failed.
const MOST: usize = 5000;
const RUN: Duration = Duration::from_secs(60);

/// A row of the table.
struct Row {
    before: f64,
    after: f64,
    versions: usize,
    /// What a build costs, in runs.
    build: f64,
    /// Share of versions that don't build.
    broken: f64,
}

const fn row(before: f64, after: f64, versions: usize) -> Row {
    Row {
        before,
        after,
        versions,
        build: 1.0,
        broken: 0.0,
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (before, after) in [(0.0, 1.0), (0.0, 0.3), (0.05, 0.3), (0.3, 0.0), (0.2, 0.8)] {
        rows.extend([16, 128, 1024].map(|versions| row(before, after, versions)));
    }
    rows.extend([
        Row {
            build: 10.0,
            ..row(0.0, 0.3, 128)
        },
        Row {
            broken: 0.1,
            ..row(0.0, 0.3, 128)
        },
    ]);
    rows.extend([0.0, 0.05, 0.3].map(|rate| row(rate, rate, 128)));
    rows
}

impl Row {
    fn changes(&self) -> bool {
        self.before != self.after
    }
}

/// A history, drawn from its seed.
struct World<'a> {
    row: &'a Row,
    /// The first version after the change.
    at: usize,
    broken: HashSet<usize>,
    random: Random,
}

impl<'a> World<'a> {
    fn drawn(row: &'a Row, job: u64) -> Self {
        let mut random = Random::seeded(job * 7919 + row.versions as u64);
        let at = 1 + random.below(row.versions - 1);
        let broken = (1..row.versions - 1).filter(|_| random.uniform() < row.broken);
        Self {
            row,
            at,
            broken: broken.collect(),
            random,
        }
    }

    fn fails(&mut self, version: usize) -> bool {
        let rate = match version < self.at {
            true => self.row.before,
            false => self.row.after,
        };
        self.random.uniform() < rate
    }
}

/// What came of a job.
struct Job {
    right: bool,
    /// Whether a version was named.
    named: bool,
    runs: usize,
    builds: usize,
    probability: f64,
}

fn bisected(row: &Row, job: u64) -> Job {
    let mut world = World::drawn(row, job);
    let policy = TestBisectPolicy {
        versions: row.versions,
        cell: 0,
        metric: MetricName::new("failed").expect("a name"),
        revisits: true,
        priors: FailurePriors::default(),
        confidence: Confidence::USUAL,
        budget: None,
        most: MOST,
    };
    let mut evidence = Evidence::default();
    let mut built = HashSet::new();
    let verdict = loop {
        let request = match policy.decide(&evidence) {
            Decision::Done(verdict) => break verdict,
            Decision::Measure(request) => request,
        };
        if built.insert(request.version) {
            evidence.builds.push(RUN.mul_f64(row.build));
        }
        let failed = world.fails(request.version);
        evidence.observations.push(Observation {
            request,
            outcome: match world.broken.contains(&request.version) {
                true => RequestOutcome::NoBuild,
                false => RequestOutcome::Measured,
            },
            figures: BTreeMap::from([(policy.metric.clone(), f64::from(u8::from(failed)))]),
            took: RUN,
        });
    };
    let holds = |place: &backsight_policy::ChangeLocation| {
        place.after < world.at && world.at <= place.until
    };
    let culprit = verdict.culprit;
    Job {
        right: verdict.ended == Some(BisectEnd::Decided)
            && match row.changes() {
                true => culprit.is_some_and(|culprit| holds(&culprit.place)),
                false => culprit.is_none(),
            },
        named: culprit.is_some(),
        runs: verdict.trials.0,
        builds: built.len(),
        probability: culprit.map_or(verdict.no_change, |culprit| culprit.probability),
    }
}

/// The method of git_bayesect, as its author describes it: each version but the oldest is as likely as any other to be the first
/// with another failure probability; both probabilities have uniform Beta priors, which are integrated out; the next run is of the
/// version with the least expected entropy of the posterior, whatever a build costs; until one has 95 %.
fn bayesect(row: &Row, job: u64) -> Job {
    let mut world = World::drawn(row, job);
    let versions = row.versions;
    let (mut failures, mut runs) = (vec![0.0; versions], vec![0.0; versions]);
    let mut built = HashSet::new();
    // ln of the posterior of "the first version after the change is `at`", and the means of both probabilities given that.
    let ln_factorials: Vec<f64> = (1..=MOST + 1)
        .scan(0.0, |sum, n| {
            *sum += (n as f64).ln();
            Some(*sum)
        })
        .collect();
    let ln_factorial = |n: f64| match n as usize {
        0 => 0.0,
        n => ln_factorials[n - 1],
    };
    let ln_beta = |failures: f64, runs: f64| {
        ln_factorial(failures) + ln_factorial(runs - failures) - ln_factorial(runs + 1.0)
    };
    let mean = |failures: f64, runs: f64| (failures + 1.0) / (runs + 2.0);
    let entropy = |p: f64| -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
    for made in 0.. {
        let all: (f64, f64) = (failures.iter().sum(), runs.iter().sum());
        let (mut before, mut ln) = ((0.0, 0.0), Vec::with_capacity(versions));
        let mut means = Vec::with_capacity(versions);
        for at in 1..versions {
            before = (before.0 + failures[at - 1], before.1 + runs[at - 1]);
            let since = (all.0 - before.0, all.1 - before.1);
            ln.push(ln_beta(before.0, before.1) + ln_beta(since.0, since.1));
            means.push((mean(before.0, before.1), mean(since.0, since.1)));
        }
        let top = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = ln.iter().map(|ln| (ln - top).exp()).sum();
        let posterior: Vec<f64> = ln.iter().map(|ln| (ln - top).exp() / total).collect();
        let best = (0..posterior.len()).max_by(|a, b| posterior[*a].total_cmp(&posterior[*b]));
        let best = best.expect("a version");
        if posterior[best] >= 0.95 || made == MOST {
            return Job {
                right: row.changes() && best + 1 == world.at,
                named: true,
                runs: made,
                builds: built.len(),
                probability: posterior[best],
            };
        }
        // Expected failures, and expected entropy of a run, over the hypotheses: as if all lay after the version, then one by one.
        let each = posterior.iter().zip(&means);
        let (mut failing, mut known) = each.fold((0.0, 0.0), |sum, (p, (old, _))| {
            (sum.0 + p * old, sum.1 + p * entropy(*old))
        });
        let mut next = (f64::NEG_INFINITY, 0);
        for version in 0..versions {
            if version > 0 {
                let (p, (old, new)) = (posterior[version - 1], means[version - 1]);
                failing += p * (new - old);
                known += p * (entropy(new) - entropy(old));
            }
            let information = entropy(failing) - known;
            // Of versions that tell the same, the newest.
            if information >= next.0 - 1e-12 {
                next = (information, version);
            }
        }
        built.insert(next.1);
        runs[next.1] += 1.0;
        failures[next.1] += f64::from(u8::from(world.fails(next.1)));
    }
    unreachable!("a job ends after {MOST} runs")
}

fn mean(jobs: &[Job], of: impl Fn(&Job) -> f64) -> f64 {
    jobs.iter().map(of).sum::<f64>() / jobs.len() as f64
}

/// Prints the table. For a quick look: how many jobs a row, and the part of a row's name.
pub fn print(arguments: &[String]) {
    let mut arguments = arguments.iter();
    let jobs = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(JOBS);
    let part = arguments.next().map_or("", String::as_str);
    println!(
        "## Which change broke a test\n\n`bisect --test` on simulated histories of a test whose failure probability changes at one version, \
         {jobs} jobs a row, asked for 95%. A build costs as much as a run, unless said. Beside it the method of git_bayesect on the same histories, simulated from \
         its description: uniform Beta priors, least expected entropy, until it says 95%; it doesn't know of \"nothing changed\" or of what a build \
         costs. What misses what was asked for (right in .95; where nothing changed, a version named in at most .05) is bold.\n\n\
         | fails with | versions | right | runs | builds | it said | git_bayesect right | runs | builds |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    for row in rows() {
        let mut name = match row.changes() {
            true => format!("{} → {}", row.before, row.after),
            false => format!("{}, no change", row.before),
        };
        if row.build != 1.0 {
            name += &format!(", builds {}:1", row.build);
        }
        if row.broken > 0.0 {
            name += &format!(", {:.0}% broken", 100.0 * row.broken);
        }
        if !format!("{name} of {}", row.versions).contains(part) {
            continue;
        }
        let done = simulate(jobs, |job| bisected(&row, job));
        let right = mean(&done, |job| f64::from(u8::from(job.right)));
        let is_good = match row.changes() {
            true => right >= 0.95,
            false => mean(&done, |job| f64::from(u8::from(job.named))) <= 0.05,
        };
        let right = match is_good {
            true => format!("{right:.3}"),
            false => format!("**{right:.3}**"),
        };
        let peer = match row.changes() && row.broken == 0.0 {
            true => {
                let done = simulate(jobs, |job| bayesect(&row, job));
                format!(
                    "{:.3} | {:.0} | {:.1}",
                    mean(&done, |job| f64::from(u8::from(job.right))),
                    mean(&done, |job| job.runs as f64),
                    mean(&done, |job| job.builds as f64)
                )
            }
            false => " | |".to_owned(),
        };
        println!(
            "| {name} | {} | {right} | {:.0} | {:.1} | {:.3} | {peer} |",
            row.versions,
            mean(&done, |job| job.runs as f64),
            mean(&done, |job| job.builds as f64),
            mean(&done, |job| job.probability),
        );
    }
}
