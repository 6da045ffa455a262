//! What a standing job is compared with: commits measured by a fixed rule.

use backsight_stats::{
    Confidence, Samples,
    changes::{DetectionOptions, OnlineDetector},
    welch,
};
use std::collections::HashSet;

use super::world::{BETWEEN, COMMITS, COMMITS_A_DAY, Told, World};

/// Trials of a commit where `git bisect` is done by hand, and of each benchmark in a week.
const REPEATS: usize = 5;
/// A change is named when so many commits behind it are measured…
const COMMITS_BEHIND: usize = 32;
/// …and so many measured ones.
const MIN_BEHIND: usize = 4;
/// By hand two weeks differ where the interval of their difference, this sure, excludes none.
const HAND_CONFIDENCE: f64 = 0.99;

/// A method with its clock.
struct ByRule {
    world: World,
    told: Told,
    named: HashSet<usize>,
    now: f64,
}

impl ByRule {
    fn new(seed: u64) -> Self {
        let world = World::new(seed);
        Self {
            told: Told::new(&world),
            world,
            named: HashSet::new(),
            now: 0.0,
        }
    }

    /// So many trials of each of these benchmarks.
    fn measure(&mut self, commit: usize, cells: &[usize], trials: usize) -> Vec<Vec<f64>> {
        let before = self.world.spent;
        self.world.build(commit);
        let each = cells.iter().map(|cell| {
            let trials = (0..trials).map(|_| self.world.measure(commit, *cell));
            trials.collect()
        });
        let values = each.collect();
        self.now += self.world.spent - before;
        values
    }

    fn name(&mut self, commit: usize) {
        if self.named.insert(commit) {
            self.told.name(&self.world, commit, self.now);
        }
    }

    /// `git bisect run` with the mean of some trials against the middle of both ends.
    fn bisect(&mut self, cell: usize, (good, bad): (usize, usize), (low, high): (f64, f64)) {
        let (mut good, mut bad) = (good, bad);
        while bad - good > 1 {
            let middle = good.midpoint(bad);
            let mean = mean(&self.measure(middle, &[cell], REPEATS)[0]);
            match (mean - low).abs() < (mean - high).abs() {
                true => good = middle,
                false => bad = middle,
            }
        }
        self.name(bad);
    }

    fn end(mut self) -> Told {
        self.told.hours = self.world.spent / 3600.0;
        self.told
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Every n-th commit, one trial of each benchmark; where Backsight's own change detection finds a change, it is named once some more are
/// measured: at its most probable place, or by `git bisect` where that is a stretch.
pub(super) fn every_nth(seed: u64, n: usize) -> Told {
    let mut method = ByRule::new(seed);
    let cells: Vec<usize> = (0..method.world.cells()).collect();
    let detector = || OnlineDetector::new(Vec::new(), DetectionOptions::default());
    let mut series: Vec<OnlineDetector> = cells
        .iter()
        .map(|_| detector().expect("an empty series"))
        .collect();
    // By benchmark: measured places that were named.
    let mut known: HashSet<usize> = HashSet::new();
    let behind = (COMMITS_BEHIND / n).max(MIN_BEHIND);
    for commit in (0..COMMITS).step_by(n) {
        method.now = method.now.max(commit as f64 * BETWEEN);
        let values = method.measure(commit, &cells, 1);
        for cell in &cells {
            let detector = &mut series[*cell];
            detector.push(values[*cell][0]).expect("a finite value");
            if commit % (7 * COMMITS_A_DAY) == 0 {
                detector.review().expect("finite values");
            }
            let found = detector.changes().iter();
            let ready = found.filter(|change| {
                change.at + behind <= detector.series().len()
                    && !(change.earliest..=change.latest).any(|at| known.contains(&at))
            });
            let ready: Vec<(usize, f64, f64)> = ready
                .map(|change| (change.at, change.before, change.after))
                .collect();
            for (at, before, after) in ready {
                known.insert(at);
                method.bisect(*cell, ((at - 1) * n, at * n), (before, after));
            }
        }
    }
    method.end()
}

/// Every week the newest commit; where it differs from the week before, `git bisect` between the two.
pub(super) fn weekly(seed: u64) -> Told {
    let mut method = ByRule::new(seed);
    let cells: Vec<usize> = (0..method.world.cells()).collect();
    let confidence = Confidence::new(HAND_CONFIDENCE).expect("a share");
    let week = 7 * COMMITS_A_DAY;
    let mut before: Option<Vec<Vec<f64>>> = None;
    for commit in (0..COMMITS).step_by(week) {
        method.now = method.now.max(commit as f64 * BETWEEN);
        let values = method.measure(commit, &cells, REPEATS);
        for (cell, old) in before.iter().flatten().enumerate() {
            let new = &values[cell];
            let samples = |values: &[f64]| Samples::new(values.to_vec()).expect("finite values");
            let differs = welch(&samples(old), &samples(new), confidence)
                .is_ok_and(|it| !it.difference_interval.contains(0.0));
            if differs {
                method.bisect(cell, (commit - week, commit), (mean(old), mean(new)));
            }
        }
        before = Some(values);
    }
    method.end()
}
