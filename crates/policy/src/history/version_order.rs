//! One order of the versions of several studies.
//!
//! Each study has an order of its own; together they are a partial order, completed by time where they leave it open. The
//! histories outweigh the clock, and contradictions between studies don't stop it.

use backsight_model::Version;
use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap},
};

/// Versions in order, and where those of each study are among them.
pub struct VersionOrder {
    /// The versions, oldest first.
    pub versions: Vec<Version>,
    /// By study, by position.
    pub places: Vec<Vec<usize>>,
}

/// Merges; later studies say what a version is called.
pub fn merged_versions(studies: &[&[Version]]) -> VersionOrder {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut versions: Vec<&Version> = Vec::new();
    let mut places: Vec<Vec<usize>> = Vec::new();
    for study in studies {
        let of_study = study.iter().map(|version| {
            let place = *known.entry(version.id.as_str()).or_insert(versions.len());
            match versions.get_mut(place) {
                Some(earlier) => *earlier = version,
                None => versions.push(version),
            }
            place
        });
        places.push(of_study.collect());
    }
    let order = sorted(&versions, &places);
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

/// Kahn's order, the earliest version first among those that may come next (A. B. Kahn, "Topological sorting of large
/// networks", CACM 5, 1962).
fn sorted(versions: &[&Version], chains: &[Vec<usize>]) -> Vec<usize> {
    let mut after: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); versions.len()];
    let mut before = vec![0_usize; versions.len()];
    for pair in chains.iter().flat_map(|chain| chain.windows(2)) {
        if pair[0] != pair[1] && after[pair[0]].insert(pair[1]) {
            before[pair[1]] += 1;
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
    use proptest::prelude::*;

    fn names(chains: &[&[usize]]) -> Vec<usize> {
        let of_chain = |chain: &&[usize]| chain.iter().map(|at| version(*at)).collect();
        let studies: Vec<Vec<Version>> = chains.iter().map(of_chain).collect();
        let lists: Vec<&[Version]> = studies.iter().map(Vec::as_slice).collect();
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
