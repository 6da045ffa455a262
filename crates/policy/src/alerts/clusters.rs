//! Which changes may be one: changes of many series, each with the stretch of versions that it may lie in, put together at few versions.
//!
//! Every stretch is explained by a version within it. The version that explains most is taken first, then the one that explains most
//! of what is left, as long as any is left (the greedy cover of intervals by points). An exact place of a bisection goes before
//! any other. Then each change goes to the nearest of these versions that its stretch contains, so that one of which little is known
//! joins what it may well be and makes no bridge between two that are known. Two changes of one series are never one.
//!
//! The stretch of a weak change misses the truth now and then. A few changes right beside many are taken for such misses, unless a
//! series changed at both places.
//!
//! Sums are of whole numbers, so that the order of the input doesn't matter.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

/// Where a change lies. Versions are places in [`TargetHistory::versions`](crate::TargetHistory::versions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangeStretch {
    /// The last version known to be before it; none if it may have been there from the beginning.
    pub after: Option<usize>,
    /// The first version after it, at the best guess.
    pub at: usize,
    /// The first version known to be after it.
    pub until: usize,
}

impl ChangeStretch {
    /// Of a change that lies at this version and nowhere else.
    pub(super) fn exactly(at: usize) -> Self {
        Self {
            after: at.checked_sub(1),
            at,
            until: at,
        }
    }

    /// Whether the first version after the change may be this one.
    #[must_use]
    pub fn contains(&self, version: usize) -> bool {
        self.first() <= version && version <= self.until
    }

    /// The earliest version that may be the first after it.
    fn first(&self) -> usize {
        self.after.map_or(0, |after| after + 1)
    }

    /// How many versions may be the first after it.
    fn width(&self) -> usize {
        (self.until + 1).saturating_sub(self.first()).max(1)
    }

    /// Whether some version may be the first after both.
    pub(super) fn overlaps(&self, other: Self) -> bool {
        self.first() <= other.until && other.first() <= self.until
    }

    /// Whether fewer versions may be the first after this one.
    pub(super) fn is_narrower(&self, other: Self) -> bool {
        self.width() < other.width()
    }

    /// The versions that both may lie at; the best guess is this one's.
    pub(super) fn intersect(self, other: Self) -> Self {
        Self {
            after: self.after.max(other.after),
            at: self.at,
            until: self.until.min(other.until),
        }
    }
}

/// A change of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LocatedChange {
    /// What tells its series from others.
    pub series: usize,
    /// Where it lies.
    pub stretch: ChangeStretch,
    /// Whether a bisection named this place.
    pub is_named: bool,
}

impl LocatedChange {
    /// What it adds to each version of its stretch: as if each were as probable as any other.
    fn weight(&self) -> i64 {
        /// Of a change whose place is known exactly; a power of two, so large that stretchs of thousands of versions still count.
        const EXACT: i64 = 1 << 32;
        EXACT / i64::try_from(self.stretch.width()).unwrap_or(i64::MAX)
    }

    /// Whether this place is so near to its stretch that it may have missed it: no further than the stretch is long.
    fn may_stray_to(&self, place: usize) -> bool {
        let (stretch, width) = (self.stretch, self.stretch.width());
        !self.is_exact() && stretch.first() <= place + width && place <= stretch.until + width
    }

    /// Whether a bisection named a single version.
    fn is_exact(&self) -> bool {
        self.is_named && self.stretch.width() == 1
    }
}

/// By version, the changes that lie there, as positions in `changes`. Each is in one cluster.
pub(super) fn cluster(changes: &[LocatedChange]) -> BTreeMap<usize, Vec<usize>> {
    let mut places: Vec<usize> = Vec::new();
    let mut place_of: Vec<Option<usize>> = vec![None; changes.len()];
    let mut left: Vec<usize> = (0..changes.len()).collect();
    while let Some(place) = heaviest(changes, &left, &places) {
        places.push(place);
        for it in nearest_of_each_series(changes, &left, place) {
            place_of[it] = Some(place);
        }
        left.retain(|it| place_of[*it].is_none());
    }
    // What is left lies where another change of its series does: they can't be told apart.
    for it in left {
        place_of[it] = Some(changes[it].stretch.at);
    }
    let mut place_of: Vec<usize> = place_of.into_iter().flatten().collect();
    join_strays(changes, &mut places, &mut place_of);
    join_nearest(changes, &places, &mut place_of);
    by_place(&place_of)
}

/// The changes at each place.
fn by_place(place_of: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut clusters: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (it, place) in place_of.iter().enumerate() {
        clusters.entry(*place).or_default().push(it);
    }
    clusters
}

/// What speaks for a version to be where changes lie.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct PlaceWeight {
    /// How many bisections named it exactly.
    exact: i64,
    /// The weights of the changes that may lie there.
    weight: i64,
}

/// The version that explains most of what is left, of those that are known to be after one of these changes and aren't taken.
fn heaviest(changes: &[LocatedChange], left: &[usize], taken: &[usize]) -> Option<usize> {
    let left = left.iter().map(|it| &changes[*it]);
    let ends = left.clone().map(|it| it.stretch.until.max(it.stretch.at));
    let last = ends.max()?;
    let mut is_candidate = vec![false; last + 1];
    // By version, first as differences from the version before.
    let mut weights = vec![PlaceWeight::default(); last + 2];
    for it in left.clone() {
        let stretch = it.stretch;
        let (weight, exact) = (it.weight(), i64::from(it.is_exact()));
        weights[stretch.first()].exact += exact;
        weights[stretch.first()].weight += weight;
        weights[stretch.until + 1].exact -= exact;
        weights[stretch.until + 1].weight -= weight;
        is_candidate[stretch.at] = true;
        is_candidate[stretch.until] = true;
    }
    for place in 1..weights.len() {
        let before = weights[place - 1];
        weights[place].exact += before.exact;
        weights[place].weight += before.weight;
    }
    // The best guess counts half as much again: it decides among versions that explain the same changes.
    for it in left {
        weights[it.stretch.at].weight += it.weight() / 2;
    }
    for place in taken.iter().filter(|place| **place <= last) {
        is_candidate[*place] = false;
    }
    let candidates = (0..=last).filter(|place| is_candidate[*place]);
    candidates.max_by_key(|place| (weights[*place], Reverse(*place)))
}

/// Of each series, the one of these changes that may lie at this version and whose best guess is nearest to it.
fn nearest_of_each_series(changes: &[LocatedChange], among: &[usize], place: usize) -> Vec<usize> {
    let mut nearest: HashMap<usize, usize> = HashMap::new();
    let distance = |it: usize| (changes[it].stretch.at.abs_diff(place), changes[it]);
    for it in among.iter().copied() {
        if changes[it].stretch.contains(place) {
            let known = nearest.entry(changes[it].series).or_insert(it);
            if distance(it) < distance(*known) {
                *known = it;
            }
        }
    }
    nearest.into_values().collect()
}

/// At least so many times as many changes lie where those beside are taken for misses. In simulated histories of 60 series whose noise is
/// a half to a third of the change up to a quarter of the stretches miss it.
const MIN_STRAY_RATIO: usize = 3;

/// Moves the few changes that lie beside many to them, and takes their place away.
fn join_strays(changes: &[LocatedChange], places: &mut Vec<usize>, place_of: &mut [usize]) {
    let mut clusters = by_place(place_of);
    let mut smallest: Vec<usize> = clusters.keys().copied().collect();
    smallest.sort_by_key(|place| clusters[place].len());
    for place in smallest {
        let few = &clusters[&place];
        let series = |it: &usize| changes[*it].series;
        let of_few: BTreeSet<usize> = few.iter().map(series).collect();
        let beside = clusters.iter().filter(|(beside, many)| {
            many.len() >= MIN_STRAY_RATIO * few.len()
                && few.iter().all(|it| changes[*it].may_stray_to(**beside))
                && !many.iter().map(series).any(|it| of_few.contains(&it))
        });
        let nearest = beside.min_by_key(|(beside, _)| beside.abs_diff(place));
        if let Some(nearest) = nearest.map(|(beside, _)| *beside) {
            let few = clusters.remove(&place).unwrap_or_default();
            few.iter().for_each(|it| place_of[*it] = nearest);
            clusters.entry(nearest).or_default().extend(few);
            places.retain(|it| *it != place);
        }
    }
}

/// Moves each change to the nearest of the places that its stretch contains and where no other change of its series lies; of two as
/// near, to the one that was taken first.
fn join_nearest(changes: &[LocatedChange], places: &[usize], place_of: &mut [usize]) {
    let mut by_series: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (it, change) in changes.iter().enumerate() {
        by_series.entry(change.series).or_default().push(it);
    }
    for mut of_series in by_series.into_values() {
        of_series.sort_by_key(|it| (changes[*it].stretch.at, changes[*it]));
        for it in of_series.iter().copied() {
            let stretch = changes[it].stretch;
            let others = of_series.iter().filter(|other| **other != it);
            let taken: BTreeSet<usize> = others.map(|other| place_of[*other]).collect();
            let free = places.iter().copied();
            let free = free.filter(|place| stretch.contains(*place) && !taken.contains(place));
            if let Some(place) = free.min_by_key(|place| stretch.at.abs_diff(*place)) {
                place_of[it] = place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(series: usize, after: usize, at: usize, until: usize) -> LocatedChange {
        LocatedChange {
            series,
            stretch: ChangeStretch {
                after: Some(after),
                at,
                until,
            },
            is_named: false,
        }
    }

    fn clusters(changes: &[LocatedChange]) -> Vec<(usize, Vec<usize>)> {
        cluster(changes).into_iter().collect()
    }

    #[test]
    fn a_vague_change_between_two_joins_the_nearer_and_is_no_bridge() {
        let [one, other] = [found(0, 9, 10, 10), found(1, 19, 20, 20)];
        for (vague, expected) in [(14, [vec![0, 2], vec![1]]), (17, [vec![0], vec![1, 2]])] {
            let changes = [one, other, found(2, 7, vague, 22)];
            let [first, second] = expected;
            assert_eq!(clusters(&changes), [(10, first), (20, second)]);
        }
    }

    #[test]
    fn the_exact_place_of_a_bisection_goes_before_any_other() {
        let named = LocatedChange {
            is_named: true,
            ..found(0, 11, 12, 12)
        };
        let others = (1..9).map(|series| found(series, 8, 10, 13));
        let changes: Vec<LocatedChange> = [named].into_iter().chain(others).collect();
        assert_eq!(clusters(&changes), [(12, (0..9).collect())]);
    }

    #[test]
    fn changes_without_a_version_in_common_are_apart() {
        let changes = [found(0, 9, 10, 12), found(1, 12, 14, 16)];
        assert_eq!(clusters(&changes), [(10, vec![0]), (14, vec![1])]);
        let changes = [found(0, 9, 10, 13), found(1, 12, 14, 16)];
        assert_eq!(clusters(&changes), [(13, vec![0, 1])]);
    }

    #[test]
    fn two_changes_of_one_series_are_apart_though_their_stretches_overlap() {
        let series = 0..6;
        let both = series.flat_map(|series| [found(series, 7, 10, 13), found(series, 10, 13, 16)]);
        let both: Vec<LocatedChange> = both.collect();
        let places = cluster(&both);
        assert_eq!(places.keys().copied().collect::<Vec<_>>(), [10, 13]);
        assert!(places.values().all(|of_place| of_place.len() == 6));
    }

    #[test]
    fn few_beside_many_are_misses_unless_a_series_changed_at_both() {
        let many = (0..9).map(|series| found(series, 9, 10, 10));
        let many: Vec<LocatedChange> = many.collect();
        let with = |stray: LocatedChange| {
            let changes: Vec<LocatedChange> = many.iter().copied().chain([stray]).collect();
            clusters(&changes).len()
        };
        assert_eq!(with(found(9, 10, 11, 12)), 1);
        assert_eq!(with(found(9, 15, 16, 17)), 2, "too far away");
        assert_eq!(with(found(3, 10, 11, 12)), 2, "a second change of a series");
        let named = LocatedChange {
            is_named: true,
            ..found(9, 10, 11, 11)
        };
        assert_eq!(with(named), 2, "a bisection knows its place");
    }

    fn any_change() -> impl Strategy<Value = LocatedChange> {
        let place = (
            0_usize..8,
            0_usize..40,
            0_usize..9,
            0_usize..9,
            any::<bool>(),
        );
        place.prop_map(|(series, at, before, beyond, is_named)| LocatedChange {
            series,
            stretch: ChangeStretch {
                after: at.checked_sub(before + 1),
                at,
                until: at + beyond,
            },
            is_named,
        })
    }

    proptest! {
        #[test]
        fn every_change_is_in_one_cluster_near_its_stretch_whatever_the_order(
            mut changes in prop::collection::vec(any_change(), 0..40),
            seed in any::<u64>(),
        ) {
            let sorted = |changes: &[LocatedChange]| {
                let clusters = cluster(changes).into_iter();
                let found = clusters.map(|(place, of_place)| {
                    let of_place = of_place.into_iter().map(|it| changes[it]);
                    let mut of_place: Vec<LocatedChange> = of_place.collect();
                    of_place.sort_unstable();
                    (place, of_place)
                });
                found.collect::<Vec<_>>()
            };
            let before = sorted(&changes);
            let count: usize = before.iter().map(|(_, of_place)| of_place.len()).sum();
            prop_assert_eq!(count, changes.len());
            for (place, of_place) in &before {
                prop_assert!(of_place.iter().any(|it| it.stretch.contains(*place)));
                for it in of_place {
                    prop_assert!(it.stretch.contains(*place) || it.may_stray_to(*place));
                }
            }
            backsight_stats::Random::seeded(seed).shuffle(&mut changes);
            prop_assert_eq!(before, sorted(&changes));
        }
    }
}
