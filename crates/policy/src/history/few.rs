//! Changes among few versions: each version compared with the one before it, as far as it was measured repeatedly, and all
//! before with all after, version by version. The clearest split is taken and what is on either side split again.
//!
//! Every comparison of a series counts as a test (Bonferroni). Refuses: a split that only one version stands for, unless
//! that version was measured repeatedly.

use backsight_stats::{
    Confidence, Interval, Samples, Side, Undefined,
    changes::{Change, Kind},
    welch,
};
use std::ops::Range;

/// Half of the 95 % point of chi-squared with one degree of freedom: how much less likely than the likeliest place a place
/// within the interval may be, as a logarithm.
const WITHIN: f64 = 1.92;

/// What was found among few versions.
pub(super) struct Few {
    /// In the order of versions; `p` is adjusted for all comparisons of the series.
    pub changes: Vec<Change>,
    /// The clearest split that isn't believed, and its p.
    pub doubted: Option<(usize, f64)>,
}

/// Splits these versions, each with its value and samples; nothing if there is nothing to compare.
pub(super) fn few(versions: &[(f64, Side)]) -> Option<Few> {
    let mut splits = Splits {
        versions,
        tests: 0.0,
        found: Few {
            changes: Vec::new(),
            doubted: None,
        },
    };
    let all = 0..versions.len();
    splits.tests = splits.of(&all).len() as f64;
    if splits.tests == 0.0 {
        return None;
    }
    splits.within(all);
    splits.between_neighbours();
    Some(splits.found)
}

struct Splits<'a> {
    versions: &'a [(f64, Side)],
    tests: f64,
    found: Few,
}

impl Splits<'_> {
    /// All comparisons at the places within this range.
    fn of(&self, range: &Range<usize>) -> Vec<Change> {
        let places = range.start + 1..range.end.max(range.start + 1);
        let at_place = |at| [self.neighbours(at), self.halves(range, at)];
        places.flat_map(at_place).flatten().collect()
    }

    fn within(&mut self, range: Range<usize>) {
        let mut splits = self.of(&range);
        splits.sort_by(|a, b| {
            a.p.total_cmp(&b.p)
                .then(b.size.abs().total_cmp(&a.size.abs()))
        });
        let Some(mut clearest) = splits.into_iter().next() else {
            return;
        };
        clearest.p = (clearest.p * self.tests).min(1.0);
        if clearest.p > 1.0 - Confidence::USUAL.share() {
            if self
                .found
                .doubted
                .is_none_or(|(_, least)| clearest.p < least)
            {
                self.found.doubted = Some((clearest.at, clearest.p));
            }
            return;
        }
        clearest.probability = probability(clearest.p);
        let at = clearest.at;
        self.found.changes.push(clearest);
        self.within(range.start..at);
        self.within(at..range.end);
    }

    /// Says sizes and places by what lies between each change and the ones next to it: when the clearest was found, the
    /// others weren't known.
    fn between_neighbours(&mut self) {
        self.found.changes.sort_by_key(|change| change.at);
        let mut ends = vec![0];
        ends.extend(self.found.changes.iter().map(|change| change.at));
        ends.push(self.versions.len());
        for number in 0..self.found.changes.len() {
            let range = ends[number]..ends[number + 2];
            let known = &self.found.changes[number];
            if let Some(change) = self.halves(&range, known.at) {
                self.found.changes[number] = Change {
                    p: known.p,
                    probability: known.probability,
                    ..change
                };
            }
        }
    }

    /// A version with the one before it, by what was repeated of both.
    fn neighbours(&self, at: usize) -> Option<Change> {
        let ((before, old), (after, new)) = (&self.versions[at - 1], &self.versions[at]);
        let level = old.replicated().min(new.replicated());
        let units = |side: &Side| side.units_at(level).means;
        change(at, at..=at, (*before, units(old)), (*after, units(new)))
    }

    /// The versions before a place with those from it on.
    fn halves(&self, range: &Range<usize>, at: usize) -> Option<Change> {
        let values = |part: Range<usize>| -> Vec<f64> {
            self.versions[part]
                .iter()
                .map(|(value, _)| *value)
                .collect()
        };
        let (old, new) = (values(range.start..at), values(at..range.end));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (before, after) = (mean(&old), mean(&new));
        change(at, self.places(range, at), (before, old), (after, new))
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
        let may_be = |place: &usize| n / 2.0 * (left(*place) / least).ln() <= WITHIN;
        let places = (range.start + 1..range.end).filter(|place| *place == at || may_be(place));
        let (earliest, latest) =
            places.fold((at, at), |(a, b), place| (a.min(place), b.max(place)));
        earliest..=latest
    }
}

/// The difference of two levels, each with what stands for it.
fn change(
    at: usize,
    places: std::ops::RangeInclusive<usize>,
    (before, old): (f64, Vec<f64>),
    (after, new): (f64, Vec<f64>),
) -> Option<Change> {
    if old.len() < 2 || new.len() < 2 {
        return None;
    }
    let (old, new) = (Samples::new(old).ok()?, Samples::new(new).ok()?);
    let size = after - before;
    let (size_interval, p) = match welch(&old, &new, Confidence::USUAL) {
        Ok(welch) => (welch.difference_interval, welch.p),
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
    Some(Change {
        at,
        earliest: *places.start(),
        latest: *places.end(),
        kind: Kind::Level,
        before,
        after,
        size,
        size_interval,
        p,
        probability: 0.5,
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
    use backsight_stats::Placed;

    fn versions(values: &[f64]) -> Vec<(f64, Side)> {
        let once = |value: &f64| {
            let placed = Placed {
                layout: 0,
                boot: 0,
                trial: 0,
                value: *value,
            };
            (*value, Side::new(vec![placed]).unwrap())
        };
        values.iter().map(once).collect()
    }

    #[test]
    fn versions_that_were_measured_once_show_a_step_that_several_stand_for() {
        let found = few(&versions(&[49.0, 53.0, 51.0, 94.0, 79.0, 103.0, 102.0])).unwrap();
        let [change] = &found.changes[..] else {
            panic!("{:?}", found.changes)
        };
        assert_eq!((change.at, change.earliest, change.latest), (3, 3, 3));
        assert!(change.p < 0.05 && change.size_interval.contains(change.size));
    }

    #[test]
    fn one_version_that_was_measured_once_stands_for_nothing() {
        let found = few(&versions(&[49.0, 53.0, 51.0, 50.0, 94.0])).unwrap();
        assert_eq!(found.changes, []);
        assert!(few(&versions(&[49.0, 94.0])).is_none());
        assert!(few(&[]).is_none());
    }

    #[test]
    fn two_steps_are_both_found() {
        let found = few(&versions(&[
            1.0, 1.01, 0.99, 3.0, 3.01, 2.99, 7.0, 7.01, 6.99,
        ]))
        .unwrap();
        let mut places: Vec<usize> = found.changes.iter().map(|change| change.at).collect();
        places.sort_unstable();
        assert_eq!(places, [3, 6]);
        let sizes = found.changes.iter().map(|change| change.size);
        for (size, expected) in sizes.zip([2.0, 4.0]) {
            assert!((size - expected).abs() < 1e-9, "{size}");
        }
    }

    #[test]
    fn a_flat_series_seldom_shows_a_change() {
        use backsight_stats::Random;
        let mut random = Random::seeded(7);
        let told = (0..400).filter(|_| {
            let values: Vec<f64> = (0..9).map(|_| 100.0 + random.normal()).collect();
            !few(&versions(&values)).unwrap().changes.is_empty()
        });
        assert!(
            told.count() <= 24,
            "at most one in twenty, and a little for luck"
        );
    }
}
