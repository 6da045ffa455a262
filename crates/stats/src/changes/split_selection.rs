//! Selection of significant splits: starts from seeded stretches, adds splits in the stretches between accepted changes,
//! removes those that their own neighbourhood doesn't confirm.

use std::collections::HashMap;

use super::rank_scan::{Scan, Significance, Split, Stretch};

/// The shortest of the seeded stretches: no order of eight points is unlikely enough to be believed.
const MIN_SEEDED_POINTS: usize = 16;

/// Adding and removing settle within a few rounds; should they chase each other, this ends it.
const MAX_ROUNDS: usize = 4;

/// How easily a split is believed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitAcceptance {
    /// False changes to accept per point of a series without changes.
    pub false_per_point: f64,
    /// How much each point keeps of the deviation of the one before.
    pub kept: f64,
}

impl SplitAcceptance {
    /// The largest p-value that is believed of a split of a stretch with so many points: longer stretches hold more
    /// chances, so that the number of false changes per point stays the same; never more than 5%.
    ///
    /// Autocorrelated noise hides changes so well that more false ones are accepted: twice as many at φ = .5.
    pub(crate) fn level(self, points: usize) -> f64 {
        let lenience = 1.0 + 4.0 * self.kept * self.kept;
        (self.false_per_point * lenience * points as f64).clamp(1e-4, 0.05)
    }

    pub(crate) fn believes(self, split: &Split) -> Option<Significance> {
        let significance = split.significance(self.kept);
        (significance.p <= self.level(split.stretch().points())).then_some(significance)
    }
}

/// Finds the changes of one series; keeps what it has scanned, for it is asked again with other beliefs.
pub(crate) struct Selection {
    n: usize,
    scan: Scan,
    seeded: Vec<Split>,
    scanned: HashMap<Stretch, Option<Split>>,
}

impl Selection {
    pub(crate) fn new(values: &[f64]) -> Self {
        let mut scan = Scan::new(values);
        let seeded = scan.best_of_seeded(MIN_SEEDED_POINTS);
        Selection {
            n: values.len(),
            scan,
            seeded,
            scanned: HashMap::new(),
        }
    }

    /// The first points of the new levels, ascending, beside those that are `clear` already.
    pub(crate) fn changes(&mut self, clear: &[usize], belief: SplitAcceptance) -> Vec<usize> {
        let mut changes = self.seeds(clear, belief);
        for _ in 0..MAX_ROUNDS {
            let before = changes.clone();
            self.add(&mut changes, belief);
            self.remove(&mut changes, clear, belief);
            if changes == before {
                break;
            }
        }
        changes
    }

    /// How likely chance makes the split between two neighbours of a change, and where it would be.
    pub(crate) fn significance(&mut self, stretch: Stretch, kept: f64) -> Option<Significance> {
        self.best(stretch).map(|split| split.significance(kept))
    }

    /// Of the seeded stretches, the surest splits first; a stretch that holds an accepted change is spent.
    fn seeds(&self, clear: &[usize], belief: SplitAcceptance) -> Vec<usize> {
        let mut believed: Vec<(f64, Stretch, usize)> = self
            .seeded
            .iter()
            .filter_map(|split| {
                let found = belief.believes(split)?;
                Some((
                    found.p / split.stretch().points() as f64,
                    split.stretch(),
                    found.at,
                ))
            })
            .collect();
        // Far out all probabilities are zero; then the longer stretch tells more.
        believed.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.points().cmp(&a.1.points())));
        let mut changes: Vec<usize> = clear.to_vec();
        for (_, stretch, at) in believed {
            let inside = changes.partition_point(|&change| change <= stretch.start);
            if changes
                .get(inside)
                .is_none_or(|&change| change >= stretch.end)
            {
                insert(&mut changes, at);
            }
        }
        changes
    }

    fn add(&mut self, changes: &mut Vec<usize>, belief: SplitAcceptance) {
        let mut open = stretches(changes, self.n, 1);
        while let Some(stretch) = open.pop() {
            if let Some(found) = self.best(stretch).and_then(|split| belief.believes(&split)) {
                insert(changes, found.at);
                open.push(Stretch {
                    end: found.at,
                    ..stretch
                });
                open.push(Stretch {
                    start: found.at,
                    ..stretch
                });
            }
        }
    }

    /// Removes the least sure change until each is believed between its neighbours, and puts each where it is
    /// likeliest there.
    fn remove(&mut self, changes: &mut Vec<usize>, clear: &[usize], belief: SplitAcceptance) {
        loop {
            let mut worst: Option<(f64, usize)> = None;
            let neighbourhoods = stretches(changes, self.n, 2);
            for (change, stretch) in changes.iter_mut().zip(neighbourhoods) {
                if clear.contains(change) {
                    continue;
                }
                let doubt = match self.best(stretch) {
                    Some(split) => {
                        let found = split.significance(belief.kept);
                        *change = found.at;
                        found.p / belief.level(stretch.points())
                    }
                    None => f64::INFINITY,
                };
                if doubt > 1.0 && worst.is_none_or(|(most, _)| doubt > most) {
                    worst = Some((doubt, *change));
                }
            }
            // Neighbours may have met, or passed each other, at the same place.
            changes.sort_unstable();
            changes.dedup();
            match worst {
                Some((_, least_sure)) => changes.retain(|&change| change != least_sure),
                None => break,
            }
        }
    }

    fn best(&mut self, stretch: Stretch) -> Option<Split> {
        *self
            .scanned
            .entry(stretch)
            .or_insert_with(|| self.scan.best(stretch))
    }
}

fn insert(changes: &mut Vec<usize>, at: usize) {
    let place = changes.partition_point(|&change| change < at);
    if changes.get(place) != Some(&at) {
        changes.insert(place, at);
    }
}

/// The stretches between changes, each of so many segments.
pub(crate) fn stretches(changes: &[usize], n: usize, segments: usize) -> Vec<Stretch> {
    let mut bounds = vec![0];
    bounds.extend_from_slice(changes);
    bounds.push(n);
    bounds
        .windows(segments + 1)
        .map(|bounds| Stretch {
            start: bounds[0],
            end: bounds[segments],
        })
        .collect()
}
