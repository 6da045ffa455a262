//! Who descends from whom: the commits of a repository in memory, parents always before their children.
//!
//! No commit is read twice.

use gix::ObjectId;
use jiff::Timestamp;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

/// A commit's place in the graph. A parent's is always smaller than its child's.
pub(super) type NodeIndex = u32;

/// What the graph keeps of a commit.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) id: ObjectId,
    pub(super) parents: Vec<NodeIndex>,
    /// When it was committed.
    pub(super) at: Timestamp,
}

/// Commits with all their ancestors.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    places: HashMap<ObjectId, NodeIndex>,
}

/// What reading a commit gives: its parents, and when it was committed.
pub(super) type Read = (Vec<ObjectId>, Timestamp);

impl Graph {
    /// Takes up a commit with all its ancestors that aren't there yet; gives its place.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn include<E>(
        &mut self,
        newest: ObjectId,
        read: &mut dyn FnMut(ObjectId) -> Result<Read, E>,
    ) -> Result<NodeIndex, E> {
        if let Some(place) = self.places.get(&newest) {
            return Ok(*place);
        }
        let mut open: Vec<(ObjectId, Read, usize)> = vec![(newest, read(newest)?, 0)];
        while let Some((id, (parents, at), next)) = open.last_mut() {
            if let Some(parent) = parents.get(*next).copied() {
                *next += 1;
                if !self.places.contains_key(&parent) {
                    open.push((parent, read(parent)?, 0));
                }
                continue;
            }
            let node = Node {
                id: *id,
                parents: parents.iter().map(|parent| self.places[parent]).collect(),
                at: *at,
            };
            let place = NodeIndex::try_from(self.nodes.len()).unwrap_or(NodeIndex::MAX);
            self.places.insert(node.id, place);
            self.nodes.push(node);
            open.pop();
        }
        Ok(self.places[&newest])
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, place: NodeIndex) -> &Node {
        &self.nodes[place as usize]
    }

    /// A commit and its first parents, oldest first.
    pub(super) fn first_parents(&self, newest: NodeIndex) -> Vec<NodeIndex> {
        let next = |place: &NodeIndex| self.node(*place).parents.first().copied();
        let mut line: Vec<NodeIndex> = std::iter::successors(Some(newest), next).collect();
        line.reverse();
        line
    }

    /// Whether a commit is another one or one of its ancestors, for all commits at once.
    pub(super) fn descendants(&self, of: NodeIndex) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        reached[of as usize] = true;
        for place in of as usize + 1..self.nodes.len() {
            reached[place] = self.nodes[place]
                .parents
                .iter()
                .any(|parent| reached[*parent as usize]);
        }
        reached
    }

    /// The newest commit that both are, or descend from. Where several are the newest of their lines, which criss-cross merges make, the
    /// one that was taken up last.
    pub(super) fn common_ancestor(&self, one: NodeIndex, other: NodeIndex) -> Option<NodeIndex> {
        let (of_one, of_other) = (self.ancestors(one), self.ancestors(other));
        let mut places = (0..=one.min(other)).rev();
        places.find(|place| of_one[*place as usize] && of_other[*place as usize])
    }

    /// Whether each commit up to this one is it, or one that it descends from.
    fn ancestors(&self, of: NodeIndex) -> Vec<bool> {
        let mut reached = vec![false; of as usize + 1];
        reached[of as usize] = true;
        for place in (0..=of as usize).rev() {
            if reached[place] {
                for parent in &self.nodes[place].parents {
                    reached[*parent as usize] = true;
                }
            }
        }
        reached
    }

    /// The commits that are `to` or its ancestors, and neither `from` nor an ancestor of it: parents first, the
    /// older first where none is the other's ancestor.
    pub(super) fn after(&self, from: Option<NodeIndex>, to: NodeIndex) -> Vec<NodeIndex> {
        let mut chosen = HashSet::new();
        // Children come off before their parents, so whatever is known of a commit is known when it comes off.
        let mut open: BTreeMap<NodeIndex, bool> = BTreeMap::new();
        open.insert(to, false);
        if let Some(from) = from {
            open.insert(from, true);
        }
        let mut wanted = usize::from(from != Some(to));
        while wanted > 0 {
            let Some((place, excluded)) = open.pop_last() else {
                break;
            };
            if !excluded {
                wanted -= 1;
                chosen.insert(place);
            }
            for parent in &self.node(place).parents {
                match open.get_mut(parent) {
                    None => {
                        open.insert(*parent, excluded);
                        wanted += usize::from(!excluded);
                    }
                    Some(known) => {
                        if excluded && !*known {
                            *known = true;
                            wanted -= 1;
                        }
                    }
                }
            }
        }
        self.oldest_first(&chosen)
    }

    fn oldest_first(&self, chosen: &HashSet<NodeIndex>) -> Vec<NodeIndex> {
        let mut children: HashMap<NodeIndex, Vec<NodeIndex>> = HashMap::new();
        let mut missing: HashMap<NodeIndex, usize> = HashMap::new();
        let mut free = BinaryHeap::new();
        let key = |place: NodeIndex| Reverse((self.node(place).at, self.node(place).id, place));
        for place in chosen {
            // A hostile commit may have the same parent twice; it then waits for it twice and is freed twice.
            let parents = self.node(*place).parents.iter();
            let mut count = 0;
            for parent in parents.filter(|parent| chosen.contains(parent)) {
                children.entry(*parent).or_default().push(*place);
                count += 1;
            }
            missing.insert(*place, count);
            if count == 0 {
                free.push(key(*place));
            }
        }
        let mut sorted = Vec::with_capacity(chosen.len());
        while let Some(Reverse((_, _, place))) = free.pop() {
            sorted.push(place);
            for child in children.remove(&place).unwrap_or_default() {
                if let Some(count) = missing.get_mut(&child) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(key(child));
                    }
                }
            }
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: usize) -> ObjectId {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
        ObjectId::from_bytes_or_panic(&bytes)
    }

    /// Commit N has the given parents, all with smaller numbers; the dates are whatever they are.
    fn graph(parents: &[Vec<usize>], dates: &[i64]) -> Graph {
        let mut graph = Graph::default();
        for newest in 0..parents.len() {
            let mut read = |asked: ObjectId| {
                let number = (0..parents.len()).find(|n| id(*n) == asked).unwrap();
                let at = Timestamp::from_second(dates[number]).unwrap();
                Ok::<_, ()>((parents[number].iter().map(|p| id(*p)).collect(), at))
            };
            graph.include(id(newest), &mut read).unwrap();
        }
        graph
    }

    fn ancestors(parents: &[Vec<usize>], of: usize) -> HashSet<usize> {
        let mut seen = HashSet::from([of]);
        let mut open = vec![of];
        while let Some(one) = open.pop() {
            open.extend(parents[one].iter().filter(|p| seen.insert(**p)));
        }
        seen
    }

    fn histories() -> impl Strategy<Value = (Vec<Vec<usize>>, Vec<i64>)> {
        (2..25_usize).prop_flat_map(|count| {
            let parents: Vec<_> = (0..count)
                .map(|n| proptest::collection::vec(0..n.max(1), 0..=3.min(n)))
                .collect();
            (parents, proptest::collection::vec(0_i64..50, count))
        })
    }

    proptest! {
        #[test]
        fn what_lies_between_is_what_sets_say((parents, dates) in histories(), a in 0..1000_usize, b in 0..1000_usize) {
            let graph = graph(&parents, &dates);
            let (from, to) = (a % parents.len(), b % parents.len());
            let wanted: HashSet<usize> = &ancestors(&parents, to) - &ancestors(&parents, from);
            // Commits were taken up in the order of their numbers, so number and place are one.
            let found = graph.after(Some(from as NodeIndex), to as NodeIndex);
            prop_assert_eq!(found.iter().map(|p| *p as usize).collect::<HashSet<_>>(), wanted.clone());
            prop_assert_eq!(found.len(), wanted.len());
            for (position, place) in found.iter().enumerate() {
                for parent in &graph.node(*place).parents {
                    let before = found.iter().position(|p| p == parent);
                    prop_assert!(before.is_none_or(|before| before < position));
                }
            }
            // The common ancestor is one, and no other common ancestor descends from it.
            let common: HashSet<usize> = &ancestors(&parents, from) & &ancestors(&parents, to);
            let nearest = graph.common_ancestor(from as NodeIndex, to as NodeIndex);
            prop_assert_eq!(nearest.is_some(), !common.is_empty());
            if let Some(nearest) = nearest.map(|place| place as usize) {
                prop_assert!(common.contains(&nearest));
                for other in &common {
                    prop_assert!(*other == nearest || !ancestors(&parents, *other).contains(&nearest));
                }
            }
            let reached = graph.descendants(from as NodeIndex);
            for (place, reached) in reached.iter().enumerate() {
                prop_assert_eq!(*reached, ancestors(&parents, place).contains(&from));
            }
        }
    }

    #[test]
    fn unrelated_lines_come_by_date() {
        let graph = graph(
            &[vec![], vec![0], vec![0], vec![1], vec![2], vec![3, 4]],
            &[0, 10, 5, 20, 30, 40],
        );
        let ids: Vec<NodeIndex> = graph.after(Some(0), 5);
        assert_eq!(ids, [2, 1, 3, 4, 5]);
        assert_eq!(graph.first_parents(5), [0, 1, 3, 5]);
    }
}
