//! How much runs and sessions of the same software differ, pooled over studies (of one machine) or builds (of one history).
//!
//! Only repeats within a study or build count, because two may be of different software. The spread is relative to each one's
//! mean, so that different speeds can be pooled. Fewer than three degrees of freedom give no spread.

use backsight_model::{CellSeries, ResultSet};
use backsight_stats::{KnownSpread, Level};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Fewer degrees of freedom than this are no knowledge.
const MIN_FREEDOM: usize = 3;

/// A spread that is known, and from what.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PooledSpread {
    /// The spread.
    pub spread: KnownSpread,
    /// What was counted: [`Level::Trial`] or [`Level::Session`].
    pub level: Level,
    /// How many of these it is known from.
    pub units: usize,
    /// In how many studies or builds.
    pub studies: usize,
}

/// Repeats of one cell and metric, pooled over studies.
#[derive(Debug, Clone, Copy, Default)]
struct Pooled {
    squares: f64,
    freedom: usize,
    units: usize,
    studies: usize,
}

impl Pooled {
    fn add(&mut self, values: &[f64]) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if values.len() < 2 || mean == 0.0 || !mean.is_finite() {
            return;
        }
        let relative = values.iter().map(|value| (value / mean - 1.0).powi(2));
        self.squares += relative.sum::<f64>();
        self.freedom += values.len() - 1;
        self.units += values.len();
    }

    fn known(&self, level: Level, times: f64) -> Option<PooledSpread> {
        (self.freedom >= MIN_FREEDOM).then(|| PooledSpread {
            spread: KnownSpread {
                relative: (times * self.squares / self.freedom as f64).sqrt(),
                freedom: self.freedom,
            },
            level,
            units: self.units,
            studies: self.studies,
        })
    }
}

/// What was measured of one and the same thing on one host: the runs of each of its sessions.
pub(crate) type Sessions = Vec<Vec<f64>>;

/// What these tell of how much single runs (`level` is [`Level::Trial`]) or whole sessions ([`Level::Session`]) differ. Each is of
/// another study or build, and has what was measured on each of its hosts.
pub(crate) fn pool_spread(
    measured: impl Iterator<Item = Vec<Sessions>>,
    level: Level,
) -> Option<PooledSpread> {
    let (mut of_sessions, mut of_runs) = (Pooled::default(), Pooled::default());
    for hosts in measured {
        let before = [of_sessions.units, of_runs.units];
        for mut sessions in hosts {
            sessions.retain(|runs| !runs.is_empty());
            match (level, &sessions[..]) {
                (_, []) => {}
                (_, [only]) => of_runs.add(only),
                (Level::Session, several) => {
                    let means = several
                        .iter()
                        .map(|runs| runs.iter().sum::<f64>() / runs.len() as f64);
                    of_sessions.add(&means.collect::<Vec<f64>>());
                }
                (_, several) => of_sessions.add(&several.concat()),
            }
        }
        of_sessions.studies += usize::from(of_sessions.units > before[0]);
        of_runs.studies += usize::from(of_runs.units > before[1]);
    }
    let found = of_sessions.known(level, 1.0);
    match level {
        Level::Session => found,
        // Runs of one session don't show how sessions differ: as much again is allowed for it.
        _ => found.or_else(|| of_runs.known(level, 2.0)),
    }
}

/// The runs of each session of a series, of each host by itself: hosts differ by more than their sessions.
pub(crate) fn sessions_of_series(series: &CellSeries) -> Vec<Sessions> {
    let mut hosts: IndexMap<u32, IndexMap<u32, Vec<f64>>> = IndexMap::new();
    let trials = series.trials.iter();
    for trial in trials.filter(|trial| !trial.values.is_empty()) {
        let mean = trial.values.iter().sum::<f64>() / trial.values.len() as f64;
        let sessions = hosts.entry(trial.host).or_default();
        sessions.entry(trial.session).or_default().push(mean);
    }
    let sessions = hosts.into_values().map(IndexMap::into_values);
    sessions.map(Iterator::collect).collect()
}

/// Facts that tell one machine from another, by the names that importers and our own runs give them.
const IDENTITY: [&str; 8] = [
    "hostname",
    "machine",
    "architecture",
    "cpu",
    "cpu.model",
    "cpus",
    "num_cpu",
    "host_name",
];

/// Whether two studies were measured on one machine as far as they say: a host of the same name is in both, and no fact that
/// tells machines apart differs.
pub fn is_one_machine(a: &ResultSet, b: &ResultSet) -> bool {
    if a.hosts.is_empty() && b.hosts.is_empty() {
        return true;
    }
    a.hosts.iter().any(|(host, facts)| {
        b.hosts.get(host).is_some_and(|others| {
            IDENTITY
                .iter()
                .all(|fact| match (facts.get(*fact), others.get(*fact)) {
                    (Some(a), Some(b)) => a == b,
                    _ => true,
                })
        })
    })
}
