//! Stacks with weights in bounded memory: a tree of addresses, in which stacks share what they have in common at their roots.

use std::collections::HashMap;

/// Most addresses of all stacks: about 45 MB with their index.
const ADDRESSES_MOST: usize = 500_000;
/// Most pairs of a stack and a thread: about 20 MB.
const SAMPLES_MOST: usize = 250_000;

/// An address on a stack: which module, and where in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CodeAddress {
    pub module: u32,
    pub address: u64,
}

/// A stack: the position of its innermost address in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StackId(u32);

impl StackId {
    /// No address at all.
    const EMPTY: Self = Self(u32::MAX);
    /// All stacks that there was no room for.
    const REFUSED: Self = Self(u32::MAX - 1);
}

/// What is known of one stack in one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    pub weight: u64,
    /// Processor; -1 where there were several.
    pub cpu: i32,
    pub first_ns: u64,
}

/// Stacks with their weights.
#[derive(Debug)]
pub(crate) struct StackStore {
    nodes: Vec<(StackId, CodeAddress)>,
    index: HashMap<(StackId, CodeAddress), StackId>,
    weights: HashMap<(StackId, u32), Weight>,
    addresses_most: usize,
    samples_most: usize,
}

impl Default for StackStore {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            index: HashMap::new(),
            weights: HashMap::new(),
            addresses_most: ADDRESSES_MOST,
            samples_most: SAMPLES_MOST,
        }
    }
}

impl StackStore {
    /// A stack by its addresses, root first.
    pub fn add_stack(&mut self, addresses: impl Iterator<Item = CodeAddress>) -> StackId {
        let mut stack = StackId::EMPTY;
        for address in addresses {
            let key = (stack, address);
            stack = match self.index.get(&key) {
                Some(known) => *known,
                None if self.nodes.len() >= self.addresses_most => return StackId::REFUSED,
                None => {
                    let new = StackId(self.nodes.len() as u32);
                    self.nodes.push(key);
                    self.index.insert(key, new);
                    new
                }
            };
        }
        stack
    }

    /// Adds to the weight of a stack in a thread.
    pub fn add_weight(&mut self, stack: StackId, thread: u32, added: Weight) {
        let full = self.weights.len() >= self.samples_most;
        let kept = match full && !self.weights.contains_key(&(stack, thread)) {
            // One more a thread at most.
            true => StackId::REFUSED,
            false => stack,
        };
        let known = self
            .weights
            .entry((kept, thread))
            .or_insert(Weight { weight: 0, ..added });
        known.weight = known.weight.saturating_add(added.weight);
        known.first_ns = known.first_ns.min(added.first_ns);
        if known.cpu != added.cpu {
            known.cpu = -1;
        }
    }

    /// All stacks with their threads and weights, in the order of the first samples.
    pub fn weights(&self) -> Vec<(StackId, u32, Weight)> {
        let all = self.weights.iter();
        let mut all: Vec<_> = all
            .map(|((stack, thread), weight)| (*stack, *thread, *weight))
            .collect();
        all.sort_unstable_by_key(|(stack, thread, weight)| (weight.first_ns, *thread, *stack));
        all
    }

    /// The addresses of a stack, root first; none of the stacks that there was no room for.
    pub fn addresses(&self, stack: StackId) -> Option<Vec<CodeAddress>> {
        if stack == StackId::REFUSED {
            return None;
        }
        let mut addresses = Vec::new();
        let mut next = stack;
        while next != StackId::EMPTY {
            let (parent, address) = self.nodes[next.0 as usize];
            addresses.push(address);
            next = parent;
        }
        addresses.reverse();
        Some(addresses)
    }

    /// Every address of a module.
    pub fn addresses_of(&self, module: u32) -> impl Iterator<Item = u64> {
        let all = self.nodes.iter();
        all.filter_map(move |(_, code)| (code.module == module).then_some(code.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: u64) -> CodeAddress {
        CodeAddress { module: 0, address }
    }

    fn one(first_ns: u64, cpu: i32) -> Weight {
        Weight {
            weight: 1,
            cpu,
            first_ns,
        }
    }

    #[test]
    fn equal_stacks_are_one_and_have_all_their_weight() {
        let mut store = StackStore::default();
        let stack = store.add_stack([1, 2, 3].map(at).into_iter());
        let other = store.add_stack([1, 2].map(at).into_iter());
        assert_eq!(store.add_stack([1, 2, 3].map(at).into_iter()), stack);
        store.add_weight(stack, 0, one(9, 1));
        store.add_weight(stack, 0, one(7, 0));
        store.add_weight(other, 1, one(8, 1));
        assert_eq!(store.addresses(stack).unwrap(), [1, 2, 3].map(at));
        assert_eq!(store.nodes.len(), 3);
        let both = Weight {
            weight: 2,
            cpu: -1,
            first_ns: 7,
        };
        assert_eq!(store.weights(), [(stack, 0, both), (other, 1, one(8, 1))]);
    }

    #[test]
    fn stacks_that_there_is_no_room_for_are_counted_together() {
        let mut store = StackStore {
            addresses_most: 3,
            samples_most: 3,
            ..StackStore::default()
        };
        let kept = store.add_stack([1, 2].map(at).into_iter());
        let refused = store.add_stack([4, 5, 6].map(at).into_iter());
        assert_eq!(
            (refused, store.addresses(refused)),
            (StackId::REFUSED, None)
        );
        assert_eq!(store.add_stack([1, 2].map(at).into_iter()), kept);
        for thread in 0..5 {
            store.add_weight(kept, thread, one(thread.into(), 0));
        }
        let stacks = store.weights().into_iter().map(|(stack, ..)| stack);
        assert_eq!(stacks.filter(|stack| *stack == refused).count(), 2);
        assert_eq!(
            store
                .weights()
                .iter()
                .map(|(.., it)| it.weight)
                .sum::<u64>(),
            5
        );
    }
}
