//! Changes among few versions: compares each version with the one before it, as far as it was measured repeatedly; and, of too
//! few versions for a search, all before with all after. Takes the clearest split, then splits both parts again.
//!
//! Repeats are sessions, boots or layouts. Two versions with one session each also differ by their sessions: by as much as
//! sessions of other versions are known to differ. If that is unknown, sessions are taken to differ at least as much as single
//! runs of one do, and as neighbouring versions elsewhere do, but at most [`MAX_SESSION_RATIO`] times as much as runs. Enough
//! versions for a search show by themselves how much they differ.
//!
//! Every comparison of a series counts as a test (Bonferroni). Counts of a simulator vary by simulator and benchmark, not by
//! version, so that all versions together show how much: two repeats that happen to agree are then no certainty, and where no
//! repeats of any version differ, any difference of two versions is one.
//!
//! A single version is a part of its own only if it was measured repeatedly.

use backsight_stats::{
    Confidence, Interval, Level, NestedSamples, PooledDifference, Samples, Undefined,
    UnrepeatedVariation,
    changes::{ChangeKind, DetectedChange},
    difference_with_error, shared_deviation, welch, welch_beyond,
};
use std::ops::Range;

use super::{
    nesting::mean,
    session_spread::{Repeats, Spreads},
};

/// Half of the 95 % point of chi-squared with one degree of freedom: how much less likely than the likeliest place a place
/// within the interval may be, as a logarithm.
const MAX_LIKELIHOOD_DROP: f64 = 1.92;

/// So many versions are searched as any series is.
const MIN_SEARCHED_VERSIONS: usize = 8;

/// What was found among few versions.
pub(super) struct PairwiseFindings {
    /// In the order of versions; `p` is adjusted for all comparisons of the series.
    pub changes: Vec<Split>,
    /// The clearest split that isn't believed, and its p.
    pub doubted: Option<(usize, f64)>,
}

/// A change between two parts of the versions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Split {
    /// The change.
    pub change: DetectedChange,
    /// Whether what stands for either part is all alike: then chance has no say, and the interval no width.
    pub alike: bool,
}

/// Sessions aren't taken to differ more than so many times as much as single runs of one session do: of blocks whose
/// intraclass correlation is .985, an extreme one, means differ eight times as much as what is within them.
const MAX_SESSION_RATIO: f64 = 10.0;

/// The mean of so many squared normal deviates, from one on, without the largest of one more: what leaving it out does to the
/// spread that they show. By simulation, 200,000 draws each.
const MEAN_SQUARE_WITHOUT_LARGEST: [f64; 5] = [0.365, 0.449, 0.508, 0.556, 0.592];

/// Splits these versions, each with its value and samples; nothing if there is nothing to compare.
pub(super) fn compare_pairwise(
    versions: &[(f64, NestedSamples)],
    repeats: Repeats,
) -> Option<PairwiseFindings> {
    let mut splits = Splits {
        versions,
        repeats,
        tests: 0.0,
        found: PairwiseFindings {
            changes: Vec::new(),
            doubted: None,
        },
    };
    let all = 0..versions.len();
    splits.tests = splits.compare(&all).len() as f64;
    if splits.tests == 0.0 {
        return None;
    }
    splits.within(all);
    splits.between_neighbours();
    Some(splits.found)
}

struct Splits<'a> {
    versions: &'a [(f64, NestedSamples)],
    repeats: Repeats,
    tests: f64,
    found: PairwiseFindings,
}

impl Splits<'_> {
    /// All comparisons at the places within this range.
    fn compare(&self, range: &Range<usize>) -> Vec<Split> {
        let places = range.start + 1..range.end.max(range.start + 1);
        // Versions that can be searched are: with all chances reckoned with, which two halves of them aren't.
        let by_halves = self.is_simulated() || self.versions.len() < MIN_SEARCHED_VERSIONS;
        let halves = |at| self.halves(range, at).filter(|_| by_halves);
        let at_place = |at| [self.neighbours(at), halves(at)];
        places.flat_map(at_place).flatten().collect()
    }

    fn within(&mut self, range: Range<usize>) {
        let mut splits = self.compare(&range);
        splits.sort_by(|a, b| {
            let (a, b) = (&a.change, &b.change);
            a.p.total_cmp(&b.p)
                .then(b.size.abs().total_cmp(&a.size.abs()))
        });
        let Some(mut clearest) = splits.into_iter().next() else {
            return;
        };
        let change = &mut clearest.change;
        change.p = (change.p * self.tests).min(1.0);
        if change.p > 1.0 - Confidence::USUAL.share() {
            // Versions that are all alike have no clearest change.
            if change.size != 0.0 && self.found.doubted.is_none_or(|(_, least)| change.p < least) {
                self.found.doubted = Some((change.at, change.p));
            }
            return;
        }
        change.probability = probability(change.p);
        let at = change.at;
        self.found.changes.push(clearest);
        self.within(range.start..at);
        self.within(at..range.end);
    }

    /// Says sizes and places by what lies between each change and the ones next to it: when the clearest was found, the
    /// others weren't known.
    fn between_neighbours(&mut self) {
        self.found.changes.sort_by_key(|split| split.change.at);
        let mut ends = vec![0];
        ends.extend(self.found.changes.iter().map(|split| split.change.at));
        ends.push(self.versions.len());
        for number in 0..self.found.changes.len() {
            let range = ends[number]..ends[number + 2];
            let known = &self.found.changes[number].change;
            if let Some(mut split) = self.halves(&range, known.at) {
                split.change.p = known.p;
                split.change.probability = known.probability;
                self.found.changes[number] = split;
            }
        }
    }

    fn is_simulated(&self) -> bool {
        self.repeats == Repeats::Simulated
    }

    /// A version with the one before it, by what was repeated of both.
    fn neighbours(&self, at: usize) -> Option<Split> {
        let ((before, old), (after, new)) = (&self.versions[at - 1], &self.versions[at]);
        let level = old.replicated().min(new.replicated());
        let noise = match self.repeats {
            Repeats::Simulated => Noise::OfAll(self.of_all(level)),
            Repeats::Measured(spreads) => self.noise_of_sessions(at, level, spreads)?,
        };
        let units = |side: &NestedSamples| side.units_at(level.max(Level::Trial)).means;
        let units = match self.repeats {
            Repeats::Simulated => [old.units_at(level).means, new.units_at(level).means],
            Repeats::Measured(_) => [units(old), units(new)],
        };
        let [old, new] = units;
        split(at, at..=at, [(*before, old), (*after, new)], noise)
    }

    /// Whose spread a version and the one before it are judged by, if by any.
    fn noise_of_sessions(&self, at: usize, level: Level, spreads: Spreads) -> Option<Noise> {
        let known = match level {
            Level::Session | Level::Boot | Level::Layout | Level::Host => return Some(Noise::Own),
            Level::Trial => spreads.sessions,
            Level::Sample => spreads.runs,
        };
        match known {
            Some(known) => Some(Noise::Beyond(UnrepeatedVariation::Known(known.spread))),
            None if level == Level::Sample => None,
            None => Some(Noise::OfSessions {
                elsewhere: self.between_others(at),
                searched: self.versions.len() >= MIN_SEARCHED_VERSIONS,
            }),
        }
    }

    /// The standard deviation of a difference of neighbours, from those elsewhere without the largest, for that may be a
    /// change; and its degrees of freedom. None for too few.
    fn between_others(&self, at: usize) -> Option<(f64, f64)> {
        let others = (1..self.versions.len()).filter(|other| *other != at);
        let mut squares: Vec<f64> = others
            .map(|other| (self.versions[other].0 - self.versions[other - 1].0).powi(2))
            .collect();
        squares.sort_by(f64::total_cmp);
        squares.pop()?;
        let left = MEAN_SQUARE_WITHOUT_LARGEST.get(squares.len().checked_sub(1)?)?;
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        Some(((mean / left).sqrt(), squares.len() as f64))
    }

    /// The standard deviation of this level's repeats of one version, of all versions together, and its degrees of
    /// freedom.
    fn of_all(&self, level: Level) -> (f64, usize) {
        let (mut squares, mut freedom) = (0.0, 0);
        for (_, side) in self.versions {
            let Ok(units) = Samples::new(side.units_at(level).means) else {
                continue;
            };
            let further = units.n() - 1;
            let variance = units.stddev().map_or(0.0, |deviation| deviation.powi(2));
            squares += variance * further as f64;
            freedom += further;
        }
        ((squares / freedom.max(1) as f64).sqrt(), freedom)
    }

    /// The versions before a place with those from it on.
    fn halves(&self, range: &Range<usize>, at: usize) -> Option<Split> {
        let values = |part: Range<usize>| -> Vec<f64> {
            self.versions[part]
                .iter()
                .map(|(value, _)| *value)
                .collect()
        };
        let (old, new) = (values(range.start..at), values(at..range.end));
        let (before, after) = (mean(&old)?, mean(&new)?);
        let values = [(before, old), (after, new)];
        let split = split(at, self.places(range, at), values, Noise::Own)?;
        // Values of versions may happen to agree where their repeats don't: that is no certainty.
        let by_luck = self.is_simulated() && split.alike && self.of_all(Level::Sample).0 > 0.0;
        (!by_luck).then_some(split)
    }

    /// Where the split may be, by the profile of the likelihood of two levels with the same normal noise.
    fn places(&self, range: &Range<usize>, at: usize) -> std::ops::RangeInclusive<usize> {
        let squares = |part: Range<usize>| -> f64 {
            let part = &self.versions[part];
            let mean = part.iter().map(|(value, _)| value).sum::<f64>() / part.len() as f64;
            part.iter().map(|(value, _)| (value - mean).powi(2)).sum()
        };
        let left = |at: usize| squares(range.start..at) + squares(at..range.end);
        let (n, least) = (range.len() as f64, left(at));
        let may_be = |place: &usize| n / 2.0 * (left(*place) / least).ln() <= MAX_LIKELIHOOD_DROP;
        let places = (range.start + 1..range.end).filter(|place| *place == at || may_be(place));
        let (earliest, latest) =
            places.fold((at, at), |(a, b), place| (a.min(place), b.max(place)));
        earliest..=latest
    }
}

/// Whose spread a difference is judged by.
enum Noise {
    /// That of its own two sides.
    Own,
    /// A standard deviation that all versions share, and its degrees of freedom.
    OfAll((f64, usize)),
    /// That of its own two sides, which differ by more.
    Beyond(UnrepeatedVariation),
    /// That of its own two sides, each of one session, where it isn't known how much sessions differ.
    OfSessions {
        /// How much neighbours differ elsewhere, with its degrees of freedom.
        elsewhere: Option<(f64, f64)>,
        /// Whether the series is searched too.
        searched: bool,
    },
}

/// A difference with its interval and p, of sides each of one session. Nothing but a change that no weather of sessions makes is
/// told where the series is searched too.
fn of_sessions(
    old: &Samples,
    new: &Samples,
    elsewhere: Option<(f64, f64)>,
    searched: bool,
) -> Result<(Interval, f64), Undefined> {
    let like_runs = welch_beyond(old, new, UnrepeatedVariation::LikeUnits, Confidence::USUAL)?;
    let by = |error| difference_with_error(like_runs.difference, error, Confidence::USUAL);
    let farthest = by((
        MAX_SESSION_RATIO * like_runs.error,
        like_runs.degrees_of_freedom,
    ))?;
    let told = |by: PooledDifference| (by.difference_interval, by.p);
    let like_runs = (like_runs.difference_interval, like_runs.p);
    if searched {
        return Ok(told(farthest));
    }
    // NoSpread: neighbours elsewhere are alike.
    let elsewhere = elsewhere.and_then(|elsewhere| by(elsewhere).ok().map(told));
    let more_certain = |a: (Interval, f64), b: (Interval, f64)| if a.1 <= b.1 { a } else { b };
    let less_certain = |a: (Interval, f64), b: (Interval, f64)| if a.1 > b.1 { a } else { b };
    Ok(match elsewhere {
        None => like_runs,
        Some(elsewhere) => less_certain(like_runs, more_certain(elsewhere, told(farthest))),
    })
}

/// The difference of two levels, each with what stands for it.
fn split(
    at: usize,
    places: std::ops::RangeInclusive<usize>,
    [(before, old), (after, new)]: [(f64, Vec<f64>); 2],
    noise: Noise,
) -> Option<Split> {
    let fewest = match noise {
        Noise::Beyond(UnrepeatedVariation::Known(_)) => 1,
        _ => 2,
    };
    if old.len().min(new.len()) < fewest {
        return None;
    }
    let (old, new) = (Samples::new(old).ok()?, Samples::new(new).ok()?);
    let size = after - before;
    let judged = match noise {
        Noise::Own => welch(&old, &new, Confidence::USUAL).map(|w| (w.difference_interval, w.p)),
        Noise::OfAll(deviation) => shared_deviation(&old, &new, deviation, Confidence::USUAL)
            .map(|shared| (shared.difference_interval, shared.p)),
        Noise::Beyond(beyond) => welch_beyond(&old, &new, beyond, Confidence::USUAL)
            .map(|w| (w.difference_interval, w.p)),
        Noise::OfSessions {
            elsewhere,
            searched,
        } => of_sessions(&old, &new, elsewhere, searched),
    };
    let alike = judged == Err(Undefined::NoSpread);
    let (size_interval, p) = match judged {
        Ok(judged) => judged,
        // Both repeat exactly, as counted instructions do: any difference is one.
        Err(Undefined::NoSpread) => {
            let exactly = Interval {
                low: size,
                high: size,
            };
            (exactly, if size == 0.0 { 1.0 } else { 0.0 })
        }
        Err(_) => return None,
    };
    Some(Split {
        change: DetectedChange {
            at,
            earliest: *places.start(),
            latest: *places.end(),
            kind: ChangeKind::Level,
            before,
            after,
            size,
            size_interval,
            p,
            probability: 0.5,
        },
        alike,
    })
}

/// The least that a p-value leaves of doubt, if a change was as likely as not before: T. Sellke, M. J. Bayarri,
/// J. O. Berger, "Calibration of p values for testing precise null hypotheses", Am. Stat. 55 (2001), equation 3.
fn probability(p: f64) -> f64 {
    if p <= 0.0 {
        return 1.0;
    }
    if p >= (-1.0_f64).exp() {
        return 0.5;
    }
    1.0 / (1.0 - std::f64::consts::E * p * p.ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_stats::NestedSample;

    const MEASURED: Repeats = Repeats::Measured(Spreads {
        runs: None,
        sessions: None,
    });

    fn versions(values: &[f64]) -> Vec<(f64, NestedSamples)> {
        let boots: Vec<Vec<f64>> = values.iter().map(|value| vec![*value]).collect();
        booted(&boots)
    }

    /// Versions, each with the values of its boots.
    fn booted(versions: &[Vec<f64>]) -> Vec<(f64, NestedSamples)> {
        let version = |boots: &Vec<f64>| {
            let placed = boots.iter().zip(0..).map(|(value, boot)| NestedSample {
                host: 0,
                layout: 0,
                boot,
                session: 0,
                trial: boot,
                value: *value,
            });
            let side = NestedSamples::new(placed.collect()).unwrap();
            (mean(boots).unwrap(), side)
        };
        versions.iter().map(version).collect()
    }

    fn places(found: &PairwiseFindings) -> Vec<usize> {
        found.changes.iter().map(|split| split.change.at).collect()
    }

    #[test]
    fn one_version_with_fifty_instructions_more_is_two_certain_changes() {
        let counts = [828.813, 828.813, 1028.813, 828.813, 828.813];
        let versions = booted(&counts.map(|count| vec![count; 2]));
        let found = compare_pairwise(&versions, Repeats::Simulated).unwrap();
        assert_eq!(places(&found), [2, 3]);
        for (split, size) in found.changes.iter().zip([200.0, -200.0]) {
            assert!(split.alike, "{split:?}");
            assert!((split.change.size - size).abs() < 1e-9, "{split:?}");
            assert_eq!(
                (split.change.earliest, split.change.latest),
                (split.change.at, split.change.at)
            );
        }
        assert_eq!(found.doubted, None);
    }

    #[test]
    fn counts_that_are_all_alike_hold_no_change_however_they_are_averaged() {
        // A third of it, taken three times, is another number.
        for value in [828.813, 0.1, 1e300, 0.0] {
            for repeats in [(2, 3), (3, 7), (1, 3)] {
                let versions: Vec<Vec<f64>> = (0..7)
                    .map(|at| vec![value; if at % 2 == 0 { repeats.0 } else { repeats.1 }])
                    .collect();
                for repeats in [Repeats::Simulated, MEASURED] {
                    let found = compare_pairwise(&booted(&versions), repeats).unwrap();
                    assert_eq!(
                        (&found.changes[..], found.doubted),
                        (&[][..], None),
                        "{value}"
                    );
                }
            }
        }
    }

    #[test]
    fn boots_that_agree_by_luck_are_no_certainty_where_others_of_the_simulator_do_not() {
        let jitter = [
            vec![5000.0, 5000.0],
            vec![5000.4, 5000.4],
            vec![5000.1, 5000.9],
            vec![5000.2, 5000.7],
            vec![5000.6, 5000.3],
        ];
        let found = compare_pairwise(&booted(&jitter), Repeats::Simulated).unwrap();
        assert_eq!(found.changes, []);
        // By themselves the first two would be told apart.
        assert_eq!(
            places(&compare_pairwise(&booted(&jitter), MEASURED).unwrap()),
            [1]
        );
        let mut stepped = jitter;
        for value in stepped[3..].iter_mut().flatten() {
            *value += 200.0;
        }
        let found = compare_pairwise(&booted(&stepped), Repeats::Simulated).unwrap();
        assert_eq!(places(&found), [3]);
        let split = &found.changes[0];
        assert!(!split.alike && split.change.size_interval.width() > 0.0);
        assert!(split.change.size_interval.contains(200.0), "{split:?}");
    }

    #[test]
    fn versions_that_were_measured_once_show_a_step_that_several_stand_for() {
        let found = compare_pairwise(
            &versions(&[49.0, 53.0, 51.0, 94.0, 79.0, 103.0, 102.0]),
            MEASURED,
        )
        .unwrap();
        let [Split { change, .. }] = &found.changes[..] else {
            panic!("{:?}", found.changes)
        };
        assert_eq!((change.at, change.earliest, change.latest), (3, 3, 3));
        assert!(change.p < 0.05 && change.size_interval.contains(change.size));
    }

    #[test]
    fn one_version_that_was_measured_once_stands_for_nothing() {
        let found = compare_pairwise(&versions(&[49.0, 53.0, 51.0, 50.0, 94.0]), MEASURED).unwrap();
        assert_eq!(found.changes, []);
        assert!(compare_pairwise(&versions(&[49.0, 94.0]), MEASURED).is_none());
        assert!(compare_pairwise(&[], MEASURED).is_none());
    }

    #[test]
    fn two_steps_are_both_found() {
        let levels = [1.0, 1.01, 3.0, 3.01, 2.99, 7.0, 7.01];
        let found = compare_pairwise(&versions(&levels), MEASURED).unwrap();
        assert_eq!(places(&found), [2, 5]);
        let sizes = found.changes.iter().map(|split| split.change.size);
        for (size, expected) in sizes.zip([1.995, 4.005]) {
            assert!((size - expected).abs() < 1e-2, "{size}");
        }
    }

    #[test]
    fn a_flat_series_seldom_shows_a_change() {
        use backsight_stats::Random;
        let mut random = Random::seeded(7);
        let told = (0..400).filter(|_| {
            let values: Vec<f64> = (0..7).map(|_| 100.0 + random.normal()).collect();
            !compare_pairwise(&versions(&values), MEASURED)
                .unwrap()
                .changes
                .is_empty()
        });
        assert!(
            told.count() <= 24,
            "at most one in twenty, and a little for luck"
        );
    }
}
