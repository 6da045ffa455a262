//! A simulated tree with its commits, changes and machine. The noise is resampled from real series (`noise.tsv`).

use backsight_stats::Random;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Days that are simulated.
pub(super) const DAYS: usize = 90;
/// Commits of a day, evenly spread.
pub(super) const COMMITS_A_DAY: usize = 200;
/// All commits.
pub(super) const COMMITS: usize = DAYS * COMMITS_A_DAY;
/// Seconds between two commits.
pub(super) const BETWEEN: f64 = 86_400.0 / COMMITS_A_DAY as f64;
/// Sizes of true changes in standard deviations of a trial of the benchmark that they change most.
pub(super) const SIZES: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];
/// True changes of each size.
pub(super) const CHANGES_OF_SIZE: usize = 8;
/// Seconds of a build.
pub(super) const BUILD: f64 = 180.0;
/// Seconds of a trial of one benchmark.
pub(super) const TRIAL: f64 = 20.0;
/// The level before the first change, in standard deviations of a trial: one is 5 % of it.
const LEVEL: f64 = 20.0;
/// The share of changes that make it worse.
const WORSE: f64 = 0.7;
/// Probability that a change also changes another benchmark, by .3 to 1 of its size.
const ALSO: f64 = 0.25;
/// Mean length of a block that is taken from a real series: its autocorrelation stays.
const BLOCK: f64 = 25.0;

/// The series: a name and a value a line, in the order of measurement.
const NOISE: &str = include_str!("noise.tsv");

/// Real series of repeated trials of the same program, each with mean 0 and standard deviation 1.
pub(super) fn real_series() -> Vec<(String, Vec<f64>)> {
    let mut series: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in NOISE.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.split_once('\t').expect("a name and a value");
        let value = value.parse().expect("a number");
        series.entry(name).or_default().push(value);
    }
    let standard = |values: Vec<f64>| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        let deviation = (squares / (n - 1.0)).sqrt();
        values.iter().map(|x| (x - mean) / deviation).collect()
    };
    let named = series.into_iter();
    named
        .map(|(name, values)| (name.to_owned(), standard(values)))
        .collect()
}

/// Noise like that of a real series: the stationary bootstrap, blocks of random length from random places. Source: D. N.
/// Politis, J. P. Romano, "The stationary bootstrap", Journal of the American Statistical Association 89 (1994).
struct ResampledNoise {
    values: Vec<f64>,
    at: usize,
    random: Random,
}

impl ResampledNoise {
    fn next(&mut self) -> f64 {
        self.at = match self.random.uniform() < 1.0 / BLOCK {
            true => self.random.below(self.values.len()),
            false => (self.at + 1) % self.values.len(),
        };
        self.values[self.at]
    }
}

/// A true change.
#[derive(Debug, Clone)]
pub(super) struct Change {
    /// The commit.
    pub(super) at: usize,
    /// Its number among [`SIZES`].
    pub(super) class: usize,
    /// What it adds to each benchmark.
    adds: Vec<f64>,
}

/// A tree and the machine on which it is measured.
pub(super) struct World {
    /// In the order of commits.
    pub(super) changes: Vec<Change>,
    noise: Vec<ResampledNoise>,
    built: HashSet<usize>,
    /// Levels by commit and benchmark, once asked for.
    levels: HashMap<(usize, usize), f64>,
    /// Seconds of the machine so far.
    pub(super) spent: f64,
}

impl World {
    /// The tree of this seed; each method of finding changes has the same ones.
    pub(super) fn new(seed: u64) -> Self {
        let series = real_series();
        let mut random = Random::seeded(seed * 7919 + 17);
        let mut places: Vec<usize> = Vec::new();
        while places.len() < SIZES.len() * CHANGES_OF_SIZE {
            let place = 1 + random.below(COMMITS - 1);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let mut changes: Vec<Change> = places
            .into_iter()
            .enumerate()
            .map(|(number, at)| {
                let class = number % SIZES.len();
                let size = match random.uniform() < WORSE {
                    true => SIZES[class],
                    false => -SIZES[class],
                };
                let most = random.below(series.len());
                let adds = (0..series.len())
                    .map(|cell| match random.uniform() {
                        _ if cell == most => size,
                        u if u < ALSO => size * (0.3 + 0.7 * random.uniform()),
                        _ => 0.0,
                    })
                    .collect();
                Change { at, class, adds }
            })
            .collect();
        changes.sort_by_key(|change| change.at);
        let noise = series
            .into_iter()
            .enumerate()
            .map(|(cell, (_, values))| ResampledNoise {
                at: 0,
                values,
                random: Random::seeded(seed * 104_729 + cell as u64),
            })
            .collect();
        Self {
            changes,
            noise,
            built: HashSet::new(),
            levels: HashMap::new(),
            spent: 0.0,
        }
    }

    /// How many benchmarks there are.
    pub(super) fn cells(&self) -> usize {
        self.noise.len()
    }

    /// Builds a commit, unless it is built; what that takes.
    pub(super) fn build(&mut self, commit: usize) -> f64 {
        let took = match self.built.insert(commit) {
            true => BUILD,
            false => 0.0,
        };
        self.spent += took;
        took
    }

    /// A trial of a commit, which is built.
    pub(super) fn measure(&mut self, commit: usize, cell: usize) -> f64 {
        self.spent += TRIAL;
        let changes = &self.changes;
        let level = *self.levels.entry((commit, cell)).or_insert_with(|| {
            let before = changes.iter().take_while(|change| change.at <= commit);
            LEVEL + before.map(|change| change.adds[cell]).sum::<f64>()
        });
        level + self.noise[cell].next()
    }
}

/// What was told of a tree.
#[derive(Debug, Default, Clone)]
pub(super) struct Told {
    /// By the number of a change: the days until it was named; none if it never was.
    pub(super) found: Vec<Option<f64>>,
    /// Commits that were named and changed nothing.
    pub(super) wrong: usize,
    /// Changes that were told as a stretch of several commits that holds a true one, and stretches that hold none.
    pub(super) stretches: (usize, usize),
    /// Hours of the machine.
    pub(super) hours: f64,
}

impl Told {
    pub(super) fn new(world: &World) -> Self {
        Self {
            found: vec![None; world.changes.len()],
            ..Self::default()
        }
    }

    /// A commit is named at this second.
    pub(super) fn name(&mut self, world: &World, commit: usize, now: f64) {
        match world.changes.iter().position(|it| it.at == commit) {
            None => self.wrong += 1,
            Some(number) => {
                let days = (now - commit as f64 * BETWEEN) / 86_400.0;
                self.found[number].get_or_insert(days);
            }
        }
    }

    /// A stretch of commits is told: after the first, up to the last.
    pub(super) fn tell_stretch(&mut self, world: &World, after: usize, until: usize) {
        let mut changes = world.changes.iter();
        match changes.any(|it| after < it.at && it.at <= until) {
            true => self.stretches.0 += 1,
            false => self.stretches.1 += 1,
        }
    }
}
