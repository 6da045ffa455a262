//! What goes with a split of observations into two groups: which of many facts, known of each observation, separates the groups
//! best, and how likely chance alone does it as well.

use std::collections::{BTreeMap, BTreeSet};

use crate::multimodality::share_p;

/// A fact about each observation.
#[derive(Debug, Clone, PartialEq)]
pub enum FactValues {
    /// A word each; none where it isn't known.
    Words(Vec<Option<String>>),
    /// A number each; none where it isn't known.
    Numbers(Vec<Option<f64>>),
}

/// How a fact separates two groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Association {
    /// The fact's place among those that were given.
    pub fact: usize,
    /// What it is in most observations of the first group, and in most of the second one: words, or on which side of a number.
    pub sides: [String; 2],
    /// How many observations it separates as the groups do.
    pub agree: usize,
    /// Of how many.
    pub of: usize,
    /// The probability that chance separates as well: Fisher's exact test of the best split, times the splits that were tried, of
    /// this fact and of all others that split otherwise.
    pub p: f64,
}

/// Facts that take more words say who was observed, not what.
const MAX_WORDS: usize = 8;

/// A fact that is known of fewer of the observations isn't asked.
const MIN_KNOWN: f64 = 0.8;

/// The fact that separates the observations of the first group (`false`) from those of the second one best; none where no fact
/// differs.
///
/// Each fact is reduced to its best split in two: of words, which of them belong to which group; of numbers, a threshold.
/// Source: R. A. Fisher, "Statistical Methods for Research Workers" (1934), section 21.02; C. E. Bonferroni's inequality for the
/// splits that were tried.
#[must_use]
pub fn strongest_association(groups: &[bool], facts: &[FactValues]) -> Option<Association> {
    let mut tried = 0.0;
    let mut seen: BTreeSet<Vec<Option<bool>>> = BTreeSet::new();
    let mut best: Option<Association> = None;
    for (fact, values) in facts.iter().enumerate() {
        let Some(split) = best_split(groups, values) else {
            continue;
        };
        let known = split.sides_of.iter().flatten().count();
        if (known as f64) < MIN_KNOWN * groups.len() as f64 {
            continue;
        }
        // Facts that split alike are one question.
        if seen.insert(split.sides_of.clone()) {
            tried += split.tried;
        }
        let p = exact(groups, &split.sides_of);
        if best.as_ref().is_none_or(|known| p < known.p) {
            let pairs = groups.iter().zip(&split.sides_of);
            let agree = pairs.filter(|(group, side)| Some(**group) == **side);
            best = Some(Association {
                fact,
                sides: split.names,
                agree: agree.count(),
                of: known,
                p,
            });
        }
    }
    best.map(|best| Association {
        p: (best.p * tried).min(1.0),
        ..best
    })
}

/// A fact as two sides.
struct FactSplit {
    /// On which side each observation is.
    sides_of: Vec<Option<bool>>,
    names: [String; 2],
    /// How many splits there were to choose from.
    tried: f64,
}

fn best_split(groups: &[bool], values: &FactValues) -> Option<FactSplit> {
    match values {
        FactValues::Words(words) => split_of_words(groups, words),
        FactValues::Numbers(numbers) => split_of_numbers(groups, numbers),
    }
}

fn split_of_words(groups: &[bool], words: &[Option<String>]) -> Option<FactSplit> {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (group, word) in groups.iter().zip(words) {
        if let Some(word) = word {
            counts.entry(word).or_default()[usize::from(*group)] += 1;
        }
    }
    if !(2..=MAX_WORDS).contains(&counts.len()) {
        return None;
    }
    let all = [0, 1].map(|side| counts.values().map(|count| count[side]).sum::<usize>());
    // A word belongs to the group that has the larger share of it.
    let belongs = |count: &[usize; 2]| count[1] * all[0] > count[0] * all[1];
    let name = |side: bool| {
        let of_side = counts.iter().filter(|(_, count)| belongs(count) == side);
        let words: Vec<&str> = of_side.map(|(word, _)| *word).collect();
        words.join(" or ")
    };
    let names = [name(false), name(true)];
    if names.iter().any(String::is_empty) {
        return None;
    }
    let side = |word: &Option<String>| Some(belongs(&counts[word.as_deref()?]));
    Some(FactSplit {
        sides_of: words.iter().map(side).collect(),
        tried: 2_f64.powi(counts.len() as i32 - 1) - 1.0,
        names,
    })
}

fn split_of_numbers(groups: &[bool], numbers: &[Option<f64>]) -> Option<FactSplit> {
    let pairs = groups.iter().zip(numbers);
    let mut known: Vec<(f64, bool)> = pairs
        .filter_map(|(group, number)| Some(((*number)?, *group)))
        .filter(|(number, _)| number.is_finite())
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all = known.iter().filter(|(_, group)| *group).count();
    let (mut below, mut of_second_below) = (0, 0);
    let mut best: Option<(usize, f64, bool)> = None;
    for pair in known.windows(2) {
        below += 1;
        of_second_below += usize::from(pair[0].1);
        if pair[0].0 == pair[1].0 {
            continue;
        }
        // Observations that agree if the second group is above the threshold; if it is below, the others do.
        let agree = (below - of_second_below) + (all - of_second_below);
        let threshold = f64::midpoint(pair[0].0, pair[1].0);
        for (agree, second_is_above) in [(agree, true), (known.len() - agree, false)] {
            if best.is_none_or(|(most, ..)| agree > most) {
                best = Some((agree, threshold, second_is_above));
            }
        }
    }
    let (_, threshold, second_is_above) = best?;
    let side = |number: &Option<f64>| {
        let number = number.filter(|number| number.is_finite())?;
        Some((number > threshold) == second_is_above)
    };
    let (below, above) = (
        format!("below {threshold:.3}"),
        format!("above {threshold:.3}"),
    );
    Some(FactSplit {
        sides_of: numbers.iter().map(side).collect(),
        names: match second_is_above {
            true => [below, above],
            false => [above, below],
        },
        tried: (known.len() - 1) as f64,
    })
}

/// Fisher's exact test of two splits of the same observations.
fn exact(groups: &[bool], sides: &[Option<bool>]) -> f64 {
    let mut counts = [[0_usize; 2]; 2];
    for (group, side) in groups.iter().zip(sides) {
        if let Some(side) = side {
            counts[usize::from(*side)][usize::from(*group)] += 1;
        }
    }
    let [first, second] = counts;
    share_p(
        first[1],
        first[0] + first[1],
        second[1],
        second[0] + second[1],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn words(list: &[&str]) -> FactValues {
        FactValues::Words(list.iter().map(|word| Some((*word).to_owned())).collect())
    }

    #[test]
    fn the_fact_that_goes_with_the_groups_is_found_among_others() {
        let groups: Vec<bool> = (0..20).map(|n| n % 3 == 0).collect();
        let speed: Vec<&str> = groups
            .iter()
            .map(|slow| if *slow { "1000" } else { "2500" })
            .collect();
        let facts = [
            words(&["same"; 20]),
            words(&["a", "b"].repeat(10)),
            words(&speed),
            FactValues::Numbers((0..20).map(|n| Some(f64::from(n))).collect()),
        ];
        let found = strongest_association(&groups, &facts).unwrap();
        assert_eq!((found.fact, found.agree, found.of), (2, 20, 20));
        assert_eq!(found.sides, ["2500", "1000"]);
        assert!(found.p < 0.001, "{}", found.p);
    }

    #[test]
    fn a_number_separates_by_a_threshold() {
        let groups: Vec<bool> = (0..16).map(|n| n >= 10).collect();
        let busy = (0..16).map(|n| Some(if n >= 10 { 0.02 } else { 0.4 } + f64::from(n) / 1000.0));
        let found = strongest_association(&groups, &[FactValues::Numbers(busy.collect())]).unwrap();
        assert_eq!((found.agree, found.of), (16, 16));
        assert!(found.sides[0].starts_with("above") && found.sides[1].starts_with("below"));
        assert!(found.p < 0.01);
    }

    #[test]
    fn chance_among_many_facts_is_no_cause() {
        let mut random = Random::seeded(7);
        let mut falsely = 0;
        for _ in 0..200 {
            let mut draw = || random.uniform() < 0.5;
            let groups: Vec<bool> = (0..24).map(|_| draw()).collect();
            let facts: Vec<FactValues> = (0..30)
                .map(|_| {
                    words(
                        &(0..24)
                            .map(|_| if draw() { "on" } else { "off" })
                            .collect::<Vec<_>>(),
                    )
                })
                .collect();
            let found = strongest_association(&groups, &facts);
            falsely += usize::from(found.is_some_and(|found| found.p <= 0.01));
        }
        assert!(falsely <= 6, "{falsely} of 200");
    }

    #[test]
    fn what_is_hardly_known_or_names_each_observation_is_not_asked() {
        let groups = [
            true, false, true, false, true, false, true, false, true, false,
        ];
        let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let seldom: Vec<Option<String>> = (0..10)
            .map(|n| (n < 4).then(|| if n % 2 == 0 { "on" } else { "off" }.to_owned()))
            .collect();
        let facts = [words(&names), FactValues::Words(seldom)];
        assert_eq!(strongest_association(&groups, &facts), None);
    }
}
