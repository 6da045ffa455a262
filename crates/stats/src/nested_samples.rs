//! Samples of one side of a comparison, each with its place in the nesting host › layout › boot › session › trial › sample.
//! Where a higher level was repeated, samples of one trial, or trials of one boot, don't count as repeats.

use serde::{Deserialize, Serialize};

use crate::{Mean, Samples, SamplesError, Undefined};

/// What can be repeated, from the inside out. The highest level that was repeated is the unit of replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// One measured value.
    Sample,
    /// One execution of a cell: a run of the program.
    Trial,
    /// What one sitting measured.
    Session,
    /// One start of the system under test.
    Boot,
    /// One way in which the same source was laid out in memory.
    Layout,
    /// One machine.
    Host,
}

impl Level {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Trial => "trial",
            Self::Session => "session",
            Self::Boot => "boot",
            Self::Layout => "layout",
            Self::Host => "host",
        }
    }
}

/// One sample and where it belongs. Numbers only tell apart: a boot is the same boot if host, layout and boot are the same. A
/// host's number alone means the same on both sides of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NestedSample {
    /// Which host.
    pub host: u64,
    /// Which layout (build) on that host.
    pub layout: u64,
    /// Which boot of that layout.
    pub boot: u64,
    /// Which session of that boot.
    pub session: u64,
    /// Which trial of that boot.
    pub trial: u64,
    /// The measured value.
    pub value: f64,
}

/// The samples of one side: at least one, all finite, in the order of measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedSamples {
    placed: Vec<NestedSample>,
    samples: Samples,
}

/// The units of replication of a side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplicationUnits {
    /// The highest level that was repeated; [`Level::Sample`] if none above it was.
    pub level: Level,
    /// One mean a unit, in the order in which the units were first measured; each group within a unit counts alike.
    pub means: Vec<f64>,
}

impl NestedSamples {
    /// Checks samples with their places, in the order of measurement.
    ///
    /// # Errors
    /// As [`Samples::new`].
    pub fn new(placed: Vec<NestedSample>) -> Result<Self, SamplesError> {
        let samples = Samples::new(placed.iter().map(|p| p.value).collect())?;
        Ok(NestedSamples { placed, samples })
    }

    /// Samples of which nothing but the order is known: each is its own repetition.
    #[must_use]
    pub fn from_independent(samples: Samples) -> Self {
        let placed = samples
            .measured()
            .iter()
            .map(|&value| NestedSample {
                host: 0,
                layout: 0,
                boot: 0,
                session: 0,
                trial: 0,
                value,
            })
            .collect();
        NestedSamples { placed, samples }
    }

    /// All samples, without their places.
    #[must_use]
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// All samples with their places, in the order of measurement.
    #[must_use]
    pub fn placed(&self) -> &[NestedSample] {
        &self.placed
    }

    /// The highest level of which there is more than one.
    #[must_use]
    pub fn replicated(&self) -> Level {
        let first = self.placed[0];
        let differs = |same: fn(&NestedSample, &NestedSample) -> bool| {
            self.placed.iter().any(|p| !same(&first, p))
        };
        if differs(|a, b| a.host == b.host) {
            Level::Host
        } else if differs(|a, b| a.layout == b.layout) {
            Level::Layout
        } else if differs(|a, b| a.boot == b.boot) {
            Level::Boot
        } else if differs(|a, b| a.session == b.session) {
            Level::Session
        } else if differs(|a, b| a.trial == b.trial) {
            Level::Trial
        } else {
            Level::Sample
        }
    }

    /// The units at the highest repeated level.
    #[must_use]
    pub fn units(&self) -> ReplicationUnits {
        self.units_at(self.replicated())
    }

    /// The units at `level`: one mean each, of the means one level below, of the means …: what has more trials or
    /// more samples weighs no more.
    #[must_use]
    pub fn units_at(&self, level: Level) -> ReplicationUnits {
        let means = match level {
            Level::Sample => self.samples.measured().to_vec(),
            Level::Trial => self.trials().into_iter().map(|trial| trial.mean).collect(),
            Level::Session => self.sessions().into_iter().map(|s| s.mean).collect(),
            Level::Boot => self.boots().into_iter().map(|boot| boot.mean).collect(),
            Level::Layout => self.layouts().into_iter().map(|l| l.mean).collect(),
            Level::Host => group(&self.layouts(), |key| [key[0], 0, 0, 0, 0])
                .into_iter()
                .map(|host| host.mean)
                .collect(),
        };
        ReplicationUnits { level, means }
    }

    /// The units at `level` as [`NestedSamples::units_at`] makes them, with this mean at every level.
    ///
    /// # Errors
    /// [`Undefined::NotPositive`] for harmonic means if a sample is zero or negative.
    pub fn units_by(&self, level: Level, mean: Mean) -> Result<ReplicationUnits, Undefined> {
        let inverse = |values: &[f64]| values.iter().map(|x| 1.0 / x).collect::<Vec<f64>>();
        match mean {
            Mean::Arithmetic => Ok(self.units_at(level)),
            Mean::Harmonic if self.samples.min() <= 0.0 => Err(Undefined::NotPositive),
            Mean::Harmonic if level == Level::Sample => Ok(self.units_at(level)),
            Mean::Harmonic => {
                // The harmonic mean of rates is the inverse of the mean time.
                let times = self.placed.iter().map(|placed| NestedSample {
                    value: 1.0 / placed.value,
                    ..*placed
                });
                let times = NestedSamples::new(times.collect()).map_err(|_| Undefined::TooLarge)?;
                Ok(ReplicationUnits {
                    level,
                    means: inverse(&times.units_at(level).means),
                })
            }
        }
    }

    fn trials(&self) -> Vec<Group> {
        let samples: Vec<Group> = self
            .placed
            .iter()
            .map(|p| Group {
                key: place(p),
                mean: p.value,
            })
            .collect();
        group(&samples, |key| key)
    }

    fn sessions(&self) -> Vec<Group> {
        group(&self.trials(), |key| [key[0], key[1], key[2], key[3], 0])
    }

    fn boots(&self) -> Vec<Group> {
        group(&self.sessions(), |key| [key[0], key[1], key[2], 0, 0])
    }

    fn layouts(&self) -> Vec<Group> {
        group(&self.boots(), |key| [key[0], key[1], 0, 0, 0])
    }

    /// The hosts that it was measured on, in the order of their numbers.
    #[must_use]
    pub fn hosts(&self) -> Vec<u64> {
        let hosts: std::collections::BTreeSet<u64> = self.placed.iter().map(|p| p.host).collect();
        hosts.into_iter().collect()
    }

    /// What was measured on these hosts, host by host in the order of their numbers; none if nothing was.
    #[must_use]
    pub fn on_hosts(&self, hosts: &[u64]) -> Option<Self> {
        let here = self.placed.iter().filter(|p| hosts.contains(&p.host));
        let mut placed: Vec<NestedSample> = here.copied().collect();
        placed.sort_by_key(|p| p.host);
        NestedSamples::new(placed).ok()
    }

    /// The samples of each trial, in the order of measurement.
    #[must_use]
    pub fn by_trial(&self) -> Vec<Vec<f64>> {
        let keys: Vec<Place> = self.placed.iter().map(place).collect();
        let (places, count) = first_seen(&keys);
        let mut trials = vec![Vec::new(); count];
        for (p, place) in self.placed.iter().zip(places) {
            trials[place].push(p.value);
        }
        trials
    }

    /// The nesting as variance components need it: layouts of boots of trials of samples. Sessions are no part of it.
    pub(crate) fn nested(&self) -> Vec<Vec<Vec<Vec<f64>>>> {
        let mut order: Vec<&NestedSample> = self.placed.iter().collect();
        order.sort_by_key(|p| (p.layout, p.boot, p.trial));
        let layouts = order.chunk_by(|a, b| a.layout == b.layout);
        layouts
            .map(|layout| {
                let boots = layout.chunk_by(|a, b| a.boot == b.boot);
                boots
                    .map(|boot| {
                        let trials = boot.chunk_by(|a, b| a.trial == b.trial);
                        trials
                            .map(|trial| trial.iter().map(|p| p.value).collect())
                            .collect()
                    })
                    .collect()
            })
            .collect()
    }
}

/// What of two sides is compared where hosts differ. What both sides measured on the same hosts is compared on these alone, the
/// rest of either side left out: of several hosts that both have, each is compared with itself ([`verdict`](fn@crate::verdict)).
/// Where each side has several hosts and they share no two, hosts are repeats like any other, and nothing is left out; nor where
/// no host is shared at all: the difference is then also that of the hosts.
///
/// None where nothing is left out.
#[must_use]
pub fn on_common_hosts(
    base: &NestedSamples,
    new: &NestedSamples,
) -> Option<(NestedSamples, NestedSamples)> {
    let (of_base, of_new) = (base.hosts(), new.hosts());
    let common: Vec<u64> = of_base
        .iter()
        .filter(|host| of_new.contains(host))
        .copied()
        .collect();
    let fewest = of_base.len().min(of_new.len());
    if common.is_empty() || (common.len() == 1 && fewest > 1) || of_base == of_new {
        return None;
    }
    Some((base.on_hosts(&common)?, new.on_hosts(&common)?))
}

/// Host, layout, boot, session and trial; 0 above what a group is of.
type Place = [u64; 5];

fn place(of: &NestedSample) -> Place {
    [of.host, of.layout, of.boot, of.session, of.trial]
}

/// Samples, trials or boots of one mean.
struct Group {
    key: Place,
    mean: f64,
}

/// The means of the groups that share what `outer` leaves of their keys, in the order of first sight.
fn group(groups: &[Group], outer: impl Fn(Place) -> Place) -> Vec<Group> {
    let keys: Vec<Place> = groups.iter().map(|group| outer(group.key)).collect();
    let (places, count) = first_seen(&keys);
    let mut sums = vec![crate::sums::RunningMean::default(); count];
    let mut names = vec![[0; 5]; count];
    for ((inner, place), key) in groups.iter().zip(places).zip(keys) {
        sums[place].add(inner.mean);
        names[place] = key;
    }
    sums.into_iter()
        .zip(names)
        .map(|(sum, key)| Group {
            key,
            mean: sum.value(),
        })
        .collect()
}

/// For each key, which of the distinct keys it is, numbered in the order of first sight; and how many there are.
fn first_seen(keys: &[Place]) -> (Vec<usize>, usize) {
    let mut seen = std::collections::HashMap::new();
    let mut last: Option<(Place, usize)> = None;
    let places = keys
        .iter()
        .map(|&key| {
            // Samples of one trial mostly follow each other: a million of them need no million look-ups.
            if let Some((_, place)) = last.filter(|(before, _)| *before == key) {
                return place;
            }
            let next = seen.len();
            let place = *seen.entry(key).or_insert(next);
            last = Some((key, place));
            place
        })
        .collect();
    (places, seen.len())
}

/// The intraclass correlation: the share of the variance of single samples that lies between units at `level`.
///
/// Source: one-way analysis of variance, P. E. Shrout, J. L. Fleiss, "Intraclass correlations", Psychological Bulletin
/// 86 (1979), ICC(1), with the mean number of samples for unequal units (Donner, 1986).
///
/// # Errors
/// [`Undefined::TooFew`] with fewer than two units or no unit with two samples; [`Undefined::NoSpread`] if all are equal.
pub fn intraclass_correlation(side: &NestedSamples) -> Result<f64, Undefined> {
    let trials = side.by_trial();
    let (k, n) = (trials.len() as f64, side.samples().n() as f64);
    if trials.len() < 2 || n <= k {
        return Err(Undefined::TooFew {
            needs: 2,
            has: trials.len().min(side.samples().n() - trials.len() + 1),
        });
    }
    let grand = side.samples().amean();
    let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
    for trial in &trials {
        let mean = crate::sums::mean(trial);
        between += trial.len() as f64 * (mean - grand).powi(2);
        within += trial.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        squares += (trial.len() as f64).powi(2);
    }
    let (between, within) = (between / (k - 1.0), within / (n - k));
    let per_unit = (n - squares / n) / (k - 1.0);
    let total = between + (per_unit - 1.0) * within;
    if total <= 0.0 {
        Err(Undefined::NoSpread)
    } else {
        Ok((between - within) / total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(places: &[(u64, u64, u64, f64)]) -> NestedSamples {
        NestedSamples::new(
            places
                .iter()
                .map(|&(layout, boot, trial, value)| NestedSample {
                    host: 0,
                    layout,
                    boot,
                    session: 0,
                    trial,
                    value,
                })
                .collect(),
        )
        .unwrap()
    }

    #[test]
    fn the_highest_repeated_level_is_the_unit() {
        assert_eq!(
            side(&[(1, 1, 1, 1.0), (1, 1, 1, 2.0)]).replicated(),
            Level::Sample
        );
        assert_eq!(
            side(&[(1, 1, 1, 1.0), (1, 1, 2, 2.0)]).replicated(),
            Level::Trial
        );
        assert_eq!(
            side(&[(1, 1, 1, 1.0), (1, 2, 1, 2.0)]).replicated(),
            Level::Boot
        );
        assert_eq!(
            side(&[(1, 1, 1, 1.0), (2, 1, 1, 2.0)]).replicated(),
            Level::Layout
        );
    }

    #[test]
    fn several_sessions_are_repeats_above_their_trials_and_below_boots() {
        let place = |boot, session, trial, value| NestedSample {
            host: 0,
            layout: 0,
            boot,
            session,
            trial,
            value,
        };
        let two = NestedSamples::new(vec![
            place(0, 1, 1, 1.0),
            place(0, 1, 2, 3.0),
            place(0, 2, 3, 10.0),
        ]);
        let units = two.unwrap().units();
        assert_eq!(
            (units.level, units.means),
            (Level::Session, vec![2.0, 10.0])
        );
        let booted = NestedSamples::new(vec![place(1, 1, 1, 1.0), place(2, 2, 2, 3.0)]).unwrap();
        assert_eq!(booted.replicated(), Level::Boot);
    }

    fn on(host: u64, trial: u64, value: f64) -> NestedSample {
        NestedSample {
            host,
            layout: 0,
            boot: 0,
            session: 1,
            trial,
            value,
        }
    }

    #[test]
    fn several_hosts_are_the_highest_repeats_and_each_counts_once() {
        let two = NestedSamples::new(vec![on(2, 1, 1.0), on(2, 2, 3.0), on(1, 1, 10.0)]).unwrap();
        let units = two.units();
        assert_eq!((units.level, units.means), (Level::Host, vec![2.0, 10.0]));
        assert_eq!(two.units_at(Level::Trial).means, [1.0, 3.0, 10.0]);
        assert_eq!(two.hosts(), [1, 2]);
        let sorted = two.on_hosts(&[1, 2]).unwrap();
        assert_eq!(sorted.units().means, [10.0, 2.0]);
    }

    #[test]
    fn only_hosts_that_both_sides_have_are_compared_where_that_takes_the_hosts_out() {
        let of = |hosts: &[u64]| {
            NestedSamples::new(hosts.iter().map(|host| on(*host, 1, 1.0)).collect()).unwrap()
        };
        let common = |base: &[u64], new: &[u64]| {
            on_common_hosts(&of(base), &of(new)).map(|(base, new)| (base.hosts(), new.hosts()))
        };
        let left = |hosts: &[u64]| Some((hosts.to_vec(), hosts.to_vec()));
        assert_eq!(common(&[1, 2, 3], &[2, 3, 4]), left(&[2, 3]));
        assert_eq!(common(&[1], &[1, 2]), left(&[1]));
        assert_eq!(common(&[1, 2], &[1, 2]), None);
        assert_eq!(common(&[1, 2], &[2, 3]), None, "hosts are repeats there");
        assert_eq!(common(&[1], &[2]), None);
        assert_eq!(common(&[1], &[2, 3]), None);
    }

    #[test]
    fn what_has_more_samples_weighs_no_more() {
        let uneven = side(&[
            (1, 1, 1, 1.0),
            (1, 1, 1, 1.0),
            (1, 1, 1, 1.0),
            (1, 1, 2, 3.0),
            (1, 2, 1, 10.0),
        ]);
        assert_eq!(
            uneven.units(),
            ReplicationUnits {
                level: Level::Boot,
                means: vec![2.0, 10.0]
            }
        );
        assert_eq!(uneven.units_at(Level::Trial).means, [1.0, 3.0, 10.0]);
        assert_eq!(uneven.units_at(Level::Layout).means, [6.0]);
    }

    #[test]
    fn rates_are_averaged_as_the_times_that_they_take() {
        let rates = side(&[(1, 1, 1, 10.0), (1, 1, 1, 30.0), (1, 1, 2, 15.0)]);
        let units = rates.units_by(Level::Trial, Mean::Harmonic).unwrap();
        assert!(units.means.iter().all(|unit| (unit - 15.0).abs() < 1e-12));
        assert_eq!(
            rates
                .units_by(Level::Trial, Mean::Arithmetic)
                .unwrap()
                .means,
            [20.0, 15.0]
        );
        let stopped = side(&[(1, 1, 1, 0.0), (1, 1, 2, 30.0)]);
        assert_eq!(
            stopped.units_by(Level::Trial, Mean::Harmonic),
            Err(Undefined::NotPositive)
        );
    }

    #[test]
    fn the_same_trial_number_in_another_boot_is_another_trial() {
        let two = side(&[(1, 1, 1, 1.0), (1, 2, 1, 5.0), (1, 1, 1, 3.0)]);
        assert_eq!(two.by_trial(), [vec![1.0, 3.0], vec![5.0]]);
        assert_eq!(two.nested(), [[[vec![1.0, 3.0]], [vec![5.0]]]]);
    }

    #[test]
    fn samples_that_agree_within_trials_are_correlated() {
        let alike = side(&[
            (1, 1, 1, 1.0),
            (1, 1, 1, 1.1),
            (1, 1, 2, 5.0),
            (1, 1, 2, 5.1),
            (1, 1, 3, 9.0),
            (1, 1, 3, 9.1),
        ]);
        assert!(intraclass_correlation(&alike).unwrap() > 0.99);
        let none = side(&[(1, 1, 1, 1.0)]);
        assert!(matches!(
            intraclass_correlation(&none),
            Err(Undefined::TooFew { .. })
        ));
    }
}
