//! One order of the versions of several studies.
//!
//! Each study has an order of its own; together they are a partial order, completed by time where they leave it open. The
//! histories outweigh the clock, and contradictions between studies don't stop it. The sides of a comparison stand in the order
//! in which they were named: that counts only where neither the history nor the clock says anything.

use backsight_model::Version;
use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap},
};

/// The versions of a study.
#[derive(Clone, Copy)]
pub struct StudyVersions<'a> {
    /// As the study has them.
    pub versions: &'a [Version],
    /// Whether they are the sides of a comparison, the base first, rather than a stretch of the history.
    pub sides: bool,
}

/// Versions in order, and where those of each study are among them.
pub struct VersionOrder {
    /// The versions, oldest first.
    pub versions: Vec<Version>,
    /// By study, by position.
    pub places: Vec<Vec<usize>>,
}

/// Merges; later studies say what a version is called, without what was changed on top of it where some study has it so.
pub fn merged_versions(studies: &[StudyVersions<'_>]) -> VersionOrder {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut versions: Vec<&Version> = Vec::new();
    let mut places: Vec<Vec<usize>> = Vec::new();
    for study in studies {
        let of_study = study.versions.iter().map(|version| {
            let place = *known.entry(version.id.as_str()).or_insert(versions.len());
            match versions.get_mut(place) {
                Some(earlier) if earlier.is_plain() && !version.is_plain() => {}
                Some(earlier) => *earlier = version,
                None => versions.push(version),
            }
            place
        });
        places.push(of_study.collect());
    }
    let order = sorted(&versions, &ordered_pairs(studies, &versions, &places));
    let mut rank = vec![0; versions.len()];
    for (place, version) in order.iter().enumerate() {
        rank[*version] = place;
    }
    for place in places.iter_mut().flatten() {
        *place = rank[*place];
    }
    VersionOrder {
        versions: order.iter().map(|at| versions[*at].clone()).collect(),
        places,
    }
}

/// The pairs of versions of which one comes directly before the other.
fn ordered_pairs(
    studies: &[StudyVersions<'_>],
    versions: &[&Version],
    places: &[Vec<usize>],
) -> Vec<(usize, usize)> {
    let chains = || studies.iter().zip(places);
    let mut in_history = vec![false; versions.len()];
    for place in chains()
        .filter(|(study, _)| !study.sides)
        .flat_map(|(_, chain)| chain)
    {
        in_history[*place] = true;
    }
    let by_clock = |at: usize, other: usize| {
        let times = versions[at].at.zip(versions[other].at);
        times.is_some_and(|(at, other)| at != other)
    };
    let pairs = chains().flat_map(|(study, chain)| {
        let pairs = chain.windows(2).map(|pair| (pair[0], pair[1]));
        pairs.filter(|(at, next)| {
            let known = in_history[*at] && in_history[*next];
            at != next && !(study.sides && (known || by_clock(*at, *next)))
        })
    });
    pairs.collect()
}

/// Kahn's order, the earliest version first among those that may come next (A. B. Kahn, "Topological sorting of large
/// networks", CACM 5, 1962).
fn sorted(versions: &[&Version], pairs: &[(usize, usize)]) -> Vec<usize> {
    let mut after: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); versions.len()];
    let mut before = vec![0_usize; versions.len()];
    for (at, next) in pairs {
        if after[*at].insert(*next) {
            before[*next] += 1;
        }
    }
    let key = |at: usize| Reverse((versions[at].at, &versions[at].id, at));
    let mut ready: BinaryHeap<_> = (0..versions.len())
        .filter(|at| before[*at] == 0)
        .map(key)
        .collect();
    let mut waiting: BTreeSet<_> = (0..versions.len()).map(|at| key(at).0).collect();
    let mut order = Vec::with_capacity(versions.len());
    // Studies that contradict each other leave versions that all wait for another: the earliest then goes first.
    while let Some(next) = ready
        .pop()
        .map(|Reverse(next)| next)
        .or_else(|| waiting.first().copied())
    {
        if !waiting.remove(&next) {
            continue;
        }
        let (_, _, at) = next;
        order.push(at);
        for later in &after[at] {
            before[*later] = before[*later].saturating_sub(1);
            if before[*later] == 0 {
                ready.push(key(*later));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::version;
    use backsight_model::Amendment;
    use proptest::prelude::*;

    fn names(chains: &[&[usize]]) -> Vec<usize> {
        names_beside(chains, &[], version)
    }

    /// The order of stretches of the history and of sides of comparisons, of such versions.
    fn names_beside(
        chains: &[&[usize]],
        sides: &[&[usize]],
        version: impl Fn(usize) -> Version,
    ) -> Vec<usize> {
        let of_chain = |chain: &&[usize]| chain.iter().map(|at| version(*at)).collect();
        let studies: Vec<Vec<Version>> = chains.iter().chain(sides).map(of_chain).collect();
        let lists: Vec<StudyVersions<'_>> = studies
            .iter()
            .enumerate()
            .map(|(at, versions)| StudyVersions {
                versions,
                sides: at >= chains.len(),
            })
            .collect();
        let order = merged_versions(&lists);
        for (study, places) in studies.iter().zip(&order.places) {
            for (version, place) in study.iter().zip(places) {
                assert_eq!(version.id, order.versions[*place].id);
            }
        }
        let number = |version: &Version| version.id[1..].parse().unwrap();
        order.versions.iter().map(number).collect()
    }

    #[test]
    fn versions_between_those_of_another_study_find_their_place() {
        assert_eq!(names(&[&[1, 5, 9], &[1, 3, 5], &[5, 7]]), [1, 3, 5, 7, 9]);
    }

    #[test]
    fn an_order_that_was_said_is_kept_against_the_clock() {
        assert_eq!(names(&[&[5, 1, 9]]), [5, 1, 9]);
    }

    #[test]
    fn a_newer_version_that_an_older_one_is_compared_with_stays_newer() {
        let order = |chains: &[&[usize]], sides: &[&[usize]]| names_beside(chains, sides, version);
        assert_eq!(order(&[&[1, 2, 3, 4]], &[&[3, 1]]), [1, 2, 3, 4]);
        assert_eq!(order(&[], &[&[3, 1], &[4, 2]]), [1, 2, 3, 4]);
        let of_one_second = |at| Version {
            at: version(1).at,
            ..version(at)
        };
        assert_eq!(
            names_beside(&[&[1, 2, 3, 4]], &[&[3, 1]], of_one_second),
            [1, 2, 3, 4]
        );
    }

    #[test]
    fn sides_without_a_time_are_in_the_order_in_which_they_were_named() {
        let undated = |at| Version {
            at: None,
            ..version(at)
        };
        assert_eq!(names_beside(&[], &[&[9, 10]], undated), [9, 10]);
    }

    #[test]
    fn a_version_is_called_without_what_was_changed_on_top_of_it() {
        let amended = Version {
            amendments: vec![Amendment::Revert {
                name: "1.1".to_owned(),
                content: "diff".to_owned(),
            }],
            ..version(2)
        };
        let stretch = [version(1), version(2)];
        let sides = [version(2), amended];
        let lists = [(&stretch[..], false), (&sides[..], true)];
        let lists = lists.map(|(versions, sides)| StudyVersions { versions, sides });
        assert_eq!(merged_versions(&lists).versions, stretch);
    }

    #[test]
    fn studies_that_contradict_each_other_still_have_an_order() {
        let mut order = names(&[&[1, 2, 3], &[3, 2, 1], &[2, 2]]);
        order.sort_unstable();
        assert_eq!(order, [1, 2, 3]);
    }

    proptest! {
        #[test]
        fn every_study_finds_its_own_order_in_the_merged_one(
            parts in prop::collection::vec(prop::collection::btree_set(0usize..40, 0..12), 1..6),
        ) {
            let parts: Vec<Vec<usize>> = parts.into_iter().map(|part| part.into_iter().collect()).collect();
            let chains: Vec<&[usize]> = parts.iter().map(Vec::as_slice).collect();
            let order = names(&chains);
            prop_assert!(order.is_sorted());
            let all: BTreeSet<usize> = parts.iter().flatten().copied().collect();
            prop_assert_eq!(order.len(), all.len());
        }
    }
}
