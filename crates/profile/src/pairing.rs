//! Functions of two sides whose modules have other file names: `server-1.2` beside `server-1.3`, `work-base` beside `work-new`.

use std::collections::{BTreeMap, HashMap};

use crate::functions::{FunctionKey, FunctionWeights};

/// The part of a module's weight that functions of both modules have to have, on both sides.
const LEAST_COMMON_PART: f64 = 0.5;

/// Which function of the base's side each function is compared with, by number: itself, unless its module is one that the new side alone
/// has, and stands for one that the base alone has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPairing {
    counterparts: Vec<usize>,
    /// File names of the modules that are compared: the base's and the new side's.
    modules: Vec<(String, String)>,
}

impl FunctionPairing {
    /// Modules that one side alone has are the same if functions of the same names have at least half of the weight of both; those with
    /// the most in common first.
    pub fn new(
        functions: &[FunctionKey],
        base: &[FunctionWeights],
        new: &[FunctionWeights],
    ) -> Self {
        let base = ModuleWeights::new(functions, base);
        let new = ModuleWeights::new(functions, new);
        let mut candidates = Vec::new();
        for (of_base, base_functions) in base.not_in(&new) {
            for (of_new, new_functions) in new.not_in(&base) {
                let common = common_part(base_functions, new_functions);
                if common >= LEAST_COMMON_PART {
                    candidates.push((common, of_base, of_new));
                }
            }
        }
        candidates.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut counterparts: HashMap<&str, &str> = HashMap::new();
        for (_, of_base, of_new) in candidates {
            let is_taken = counterparts.values().any(|taken| *taken == of_base);
            if !is_taken {
                counterparts.entry(of_new).or_insert(of_base);
            }
        }
        let numbers: HashMap<&FunctionKey, usize> = functions.iter().zip(0..).collect();
        let counterpart = |function: &FunctionKey| {
            let key = FunctionKey {
                function: function.function.clone(),
                module: (*counterparts.get(&*function.module)?).to_owned(),
            };
            numbers.get(&key).copied()
        };
        let mut modules: Vec<(String, String)> = (counterparts.iter())
            .map(|(new, base)| ((*base).to_owned(), (*new).to_owned()))
            .collect();
        modules.sort();
        Self {
            counterparts: (functions.iter().zip(0..))
                .map(|(function, number)| counterpart(function).unwrap_or(number))
                .collect(),
            modules,
        }
    }

    /// File names of the modules that are compared although they differ: the base's and the new side's.
    pub fn modules(&self) -> &[(String, String)] {
        &self.modules
    }

    /// The function of the base's side that a function is compared with, by number.
    pub fn counterpart(&self, function: usize) -> usize {
        self.counterparts.get(function).copied().unwrap_or(function)
    }

    /// Weights with those of each function at its counterpart.
    pub fn apply(&self, weights: &FunctionWeights) -> FunctionWeights {
        let moved = |of: &[u64]| {
            let mut moved = vec![0; of.len()];
            for (function, weight) in of.iter().enumerate() {
                let counterpart = self.counterpart(function);
                if counterpart >= moved.len() {
                    moved.resize(counterpart + 1, 0);
                }
                moved[counterpart] += weight;
            }
            moved
        };
        FunctionWeights {
            total: weights.total,
            itself: moved(&weights.itself),
            inclusive: moved(&weights.inclusive),
        }
    }
}

/// Weights of one side's functions in themselves, by module.
struct ModuleWeights<'a>(BTreeMap<&'a str, HashMap<&'a str, u64>>);

impl<'a> ModuleWeights<'a> {
    fn new(functions: &'a [FunctionKey], trials: &[FunctionWeights]) -> Self {
        let mut modules: BTreeMap<&str, HashMap<&str, u64>> = BTreeMap::new();
        for (number, key) in functions.iter().enumerate() {
            let weight = |of: &[u64]| of.get(number).copied().unwrap_or(0);
            let seen: u64 = trials.iter().map(|trial| weight(&trial.inclusive)).sum();
            if seen > 0 {
                let itself = trials.iter().map(|trial| weight(&trial.itself)).sum();
                let functions = modules.entry(&key.module).or_default();
                functions.insert(&key.function, itself);
            }
        }
        Self(modules)
    }

    fn not_in<'b>(
        &'b self,
        other: &'b Self,
    ) -> impl Iterator<Item = (&'a str, &'b HashMap<&'a str, u64>)> {
        let alone = self
            .0
            .iter()
            .filter(|(module, _)| !other.0.contains_key(*module));
        alone.map(|(module, functions)| (*module, functions))
    }
}

/// The part of the weight that functions of both have, of the module of which it is less.
fn common_part(one: &HashMap<&str, u64>, other: &HashMap<&str, u64>) -> f64 {
    let part = |of: &HashMap<&str, u64>, in_it: &HashMap<&str, u64>| {
        let all: u64 = of.values().sum();
        let common = of.iter().filter(|(name, _)| in_it.contains_key(*name));
        let common: u64 = common.map(|(_, weight)| weight).sum();
        common as f64 / all.max(1) as f64
    };
    part(one, other).min(part(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(names: &[(&str, &str)]) -> Vec<FunctionKey> {
        let key = |(module, function): &(&str, &str)| FunctionKey {
            function: (*function).to_owned(),
            module: (*module).to_owned(),
        };
        names.iter().map(key).collect()
    }

    fn weights(itself: &[u64]) -> FunctionWeights {
        FunctionWeights {
            total: itself.iter().sum(),
            itself: itself.to_vec(),
            inclusive: itself.to_vec(),
        }
    }

    #[test]
    fn modules_of_other_names_with_the_same_functions_are_compared() {
        let all = functions(&[
            ("work-a", "parse"),
            ("work-a", "print"),
            ("libc.so.6", "memcpy"),
            ("work-b", "parse"),
            ("work-b", "print"),
            ("work-b", "flush"),
            ("other", "start"),
        ]);
        let base = [weights(&[60, 30, 10])];
        let new = [weights(&[0, 0, 10, 66, 20, 8, 3])];
        let pairing = FunctionPairing::new(&all, &base, &new);
        assert_eq!(pairing.modules(), [("work-a".into(), "work-b".into())]);
        let found = pairing.apply(&new[0]);
        assert_eq!(found.itself, [66, 20, 10, 0, 0, 8, 3]);
        assert_eq!(pairing.apply(&base[0]).itself, base[0].itself);
    }

    #[test]
    fn modules_of_both_sides_and_those_with_little_in_common_are_left_alone() {
        let all = functions(&[
            ("work", "parse"),
            ("first", "main"),
            ("first", "sort"),
            ("second", "main"),
            ("second", "read"),
        ]);
        let base = [weights(&[50, 1, 49])];
        let new = [weights(&[50, 0, 0, 1, 49])];
        let pairing = FunctionPairing::new(&all, &base, &new);
        assert!(pairing.modules().is_empty());
        assert_eq!(pairing.apply(&new[0]).itself, new[0].itself);
    }
}
