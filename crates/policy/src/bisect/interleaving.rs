//! Measurements of several versions at once on one testbed: a trial of each in turn.
//!
//! What disturbs a machine lasts for some time, and trials that were made in a row are disturbed alike. A measurement whose
//! trials are spread among those of a dozen others sees the same weather as they do; the best of 128 of them varied by a
//! fifth of what it did in a row, on a machine whose neighbours were busy for ten to sixty trials in turn.
//!
//! Refuses: to keep measurements in work that nobody would begin: fewer are in turn where the others tell little.

use backsight_stats::SerialDependence;
use std::collections::BTreeMap;

use super::{BisectPolicy, Seen};
use crate::{Evidence, Request};

/// At most so many are in work.
const MOST: usize = 16;
/// Fewer, down to so many, where those that are in work already tell so many times as much as another would.
const FEWEST: usize = 10;
const UNLESS: f64 = 1.3;

/// What disturbs should come and go while a measurement lasts: for this share of the allowance; but in no more trials.
const LASTS: f64 = 0.2;
const LONGEST: usize = 128;
/// Trials that follow each other are alike where the correlation of what they are off, with that of so many before, is at
/// least this, and this many times what it is by chance.
const BEFORE: usize = 8;
const ALIKE: (f64, f64) = (0.1, 4.0);
/// Trials of a version that say what it is as a rule.
const SOME: usize = 4;

/// What trials say of how they are disturbed, by what each came to and how long it took, in order of time: the version of
/// each, its value, seconds.
pub(super) fn weather(trials: &[(usize, f64, f64)], allowance: f64) -> SerialDependence {
    let took = trials.iter().map(|(_, _, took)| took).sum::<f64>() / trials.len().max(1) as f64;
    let fewest = LASTS * allowance / (took.max(1e-6) * MOST as f64);
    let fewest = (fewest.ceil().clamp(1.0, LONGEST as f64) as usize).next_power_of_two();
    let mut of_version: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
    for (version, value, _) in trials {
        let (sum, n) = of_version.entry(*version).or_default();
        *sum += value;
        *n += 1;
    }
    let off = trials.iter().filter_map(|(version, value, _)| {
        let (sum, n) = of_version[version];
        (n >= SOME).then(|| value - sum / n as f64)
    });
    let off: Vec<f64> = off.collect();
    let squares: f64 = off.iter().map(|x| x * x).sum();
    let with_before = |lag: usize| -> f64 { off.iter().zip(&off[lag..]).map(|(a, b)| a * b).sum() };
    let lags = 1..=BEFORE.min(off.len());
    let products = lags.map(with_before).sum::<f64>() / BEFORE as f64;
    let (least, times) = ALIKE;
    let by_chance = times / ((off.len() * BEFORE).max(1) as f64).sqrt();
    SerialDependence {
        fewest,
        drifts: squares > 0.0 && products / squares > by_chance.max(least),
    }
}

/// What a testbed has in work.
pub(super) struct Interleaving {
    /// The versions, the one whose turn is next at the front.
    versions: Vec<usize>,
    /// With so many it goes on without a decision.
    enough: usize,
}

impl Interleaving {
    /// What a testbed has in work, by its last trials; nothing where measurements aren't interleaved.
    pub fn of(policy: &BisectPolicy, evidence: &Evidence, seen: &Seen<'_>, testbed: usize) -> Self {
        let mut in_work = Self {
            versions: Vec::new(),
            enough: MOST,
        };
        if !policy.is_interleaved(seen.estimator) {
            return in_work;
        }
        let trials = seen.estimator.trials;
        let backwards = evidence.observations.iter().rev().filter(|o| o.is_trial());
        let own = backwards.map(|o| o.request);
        let own = own.filter(|r| r.testbed == testbed && r.cell == policy.cell);
        // Of each version what it did last.
        let mut last: Vec<Request> = Vec::new();
        for request in own.take(2 * MOST) {
            if !last.iter().any(|other| other.version == request.version) {
                last.push(request);
            }
        }
        // When a measurement has just been begun or ended it is worth deciding what else to take up; of few versions
        // nothing else is worth it either.
        if last
            .first()
            .is_some_and(|latest| latest.round as usize % trials > 1)
        {
            in_work.enough = FEWEST.min(policy.versions / 2).max(1);
        }
        let begun = last
            .iter()
            .filter(|r| !(r.round as usize).is_multiple_of(trials));
        let begun = begun
            .map(|r| r.version)
            .filter(|v| !seen.broken.contains(v));
        in_work.versions = begun.take(MOST).collect();
        in_work.versions.reverse();
        in_work
    }

    /// The version whose turn it is, if nothing else is to be taken up.
    pub fn goes_on(&self) -> Option<usize> {
        let next = self.versions.first().copied();
        next.filter(|_| self.versions.len() >= self.enough)
    }

    /// This version; or, where it is in work already, the one whose turn it is.
    pub fn instead_of(&self, version: usize) -> usize {
        match self.versions.first() {
            Some(next) if self.has(version) => *next,
            _ => version,
        }
    }

    pub fn has(&self, version: usize) -> bool {
        self.versions.contains(&version)
    }

    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    pub fn versions(&self) -> impl Iterator<Item = usize> + '_ {
        self.versions.iter().copied()
    }

    /// How many times as much as another one must tell what is in work, for that other not to be taken up.
    pub fn unless(&self) -> f64 {
        match self.versions.len() >= FEWEST {
            true => UNLESS,
            false => f64::INFINITY,
        }
    }
}
