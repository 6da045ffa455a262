//! Interleaved measurements: on one testbed, trials of several versions take turns.
//!
//! Disturbances of a machine last, and trials in a row share them. The trials of interleaved measurements are all disturbed
//! alike: on a machine whose neighbours were busy for ten to sixty trials in turn, the best of 128 interleaved trials varied by
//! a fifth of what it did in a row.
//!
//! Fewer versions take turns where another version would tell little.

use backsight_stats::SerialDependence;
use std::collections::BTreeMap;

use super::{BisectEvidence, BisectPolicy, parameters::INTERLEAVING};
use crate::{Evidence, Request};

/// How trials depend on the ones before: from version, value and seconds of each trial, in order of time. The dependence
/// decides how long a measurement lasts.
pub(super) fn serial_dependence(trials: &[(usize, f64, f64)], allowance: f64) -> SerialDependence {
    let took = trials.iter().map(|(_, _, took)| took).sum::<f64>() / trials.len().max(1) as f64;
    let fewest = INTERLEAVING.duration_share * allowance
        / (took.max(1e-6) * INTERLEAVING.max_versions as f64);
    let fewest =
        (fewest.ceil().clamp(1.0, INTERLEAVING.max_trials as f64) as usize).next_power_of_two();
    let mut of_version: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
    for (version, value, _) in trials {
        let (sum, n) = of_version.entry(*version).or_default();
        *sum += value;
        *n += 1;
    }
    let off = trials.iter().filter_map(|(version, value, _)| {
        let (sum, n) = of_version[version];
        (n >= INTERLEAVING.min_trials_of_version).then(|| value - sum / n as f64)
    });
    let off: Vec<f64> = off.collect();
    let squares: f64 = off.iter().map(|x| x * x).sum();
    let with_before = |lag: usize| -> f64 { off.iter().zip(&off[lag..]).map(|(a, b)| a * b).sum() };
    let lags = 1..=INTERLEAVING.lags.min(off.len());
    let products = lags.map(with_before).sum::<f64>() / INTERLEAVING.lags as f64;
    let by_chance =
        INTERLEAVING.min_standard_errors / ((off.len() * INTERLEAVING.lags).max(1) as f64).sqrt();
    SerialDependence {
        fewest,
        drifts: squares > 0.0
            && products / squares > by_chance.max(INTERLEAVING.min_autocorrelation),
    }
}

/// The versions that take turns on a testbed.
pub(super) struct Interleaving {
    /// The versions; the next one first.
    versions: Vec<usize>,
    /// With this many the next trial needs no decision.
    enough: usize,
}

impl Interleaving {
    /// Reads the versions in work from the testbed's last trials; none where measurements aren't interleaved.
    pub fn from_evidence(
        policy: &BisectPolicy,
        evidence: &Evidence,
        seen: &BisectEvidence<'_>,
        testbed: usize,
    ) -> Self {
        let mut interleaving = Self {
            versions: Vec::new(),
            enough: INTERLEAVING.max_versions,
        };
        if !policy.is_interleaved(seen.estimator) {
            return interleaving;
        }
        let trials = seen.estimator.trials;
        let backwards = evidence.observations.iter().rev().filter(|o| o.is_trial());
        let own = backwards.map(|o| o.request);
        let own = own.filter(|r| r.testbed == testbed && r.cell == policy.cell);
        // The last trial of each version.
        let mut last: Vec<Request> = Vec::new();
        for request in own.take(2 * INTERLEAVING.max_versions) {
            if !last.iter().any(|other| other.version == request.version) {
                last.push(request);
            }
        }
        // A decision is worth its time when a measurement has just begun or ended; with few versions it isn't worth it either.
        if last
            .first()
            .is_some_and(|latest| latest.round as usize % trials > 1)
        {
            interleaving.enough = INTERLEAVING.min_versions.min(policy.versions / 2).max(1);
        }
        let begun = last
            .iter()
            .filter(|r| !(r.round as usize).is_multiple_of(trials));
        let begun = begun
            .map(|r| r.version)
            .filter(|v| !seen.broken.contains(v));
        interleaving.versions = begun.take(INTERLEAVING.max_versions).collect();
        interleaving.versions.reverse();
        interleaving
    }

    /// The next version, if no other is to be added.
    pub fn next_without_decision(&self) -> Option<usize> {
        let next = self.versions.first().copied();
        next.filter(|_| self.versions.len() >= self.enough)
    }

    /// This version, or the next one if this one is in work already.
    pub fn in_turn_or(&self, version: usize) -> usize {
        match self.versions.first() {
            Some(next) if self.contains(version) => *next,
            _ => version,
        }
    }

    pub fn contains(&self, version: usize) -> bool {
        self.versions.contains(&version)
    }

    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    pub fn versions(&self) -> impl Iterator<Item = usize> + '_ {
        self.versions.iter().copied()
    }

    /// A version in work is preferred unless another tells this many times as much.
    pub fn min_gain(&self) -> f64 {
        match self.versions.len() >= INTERLEAVING.min_versions {
            true => INTERLEAVING.min_gain,
            false => f64::INFINITY,
        }
    }
}
