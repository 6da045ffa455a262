//! Best split of a stretch into two levels, by ranks: for any shape of noise and any unit, and no outlier decides. Its
//! significance is judged in `split_selection`.

use crate::distributions::{NormalScores, normal_pdf};

use super::variance_inflation::inflation;

/// A part of a series: the points `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stretch {
    pub start: usize,
    pub end: usize,
}

impl Stretch {
    pub(crate) fn points(self) -> usize {
        self.end - self.start
    }
}

/// The best split of a stretch into two levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Split {
    stretch: Stretch,
    /// Where the standardised sum of scores is largest (first point of the new level), and how large, for
    /// independent points.
    standardised: (usize, f64),
    /// Where the plain sum of scores is largest, over √m standard deviations. This favours the middle.
    plain: (usize, f64),
}

/// How unlikely a split is by chance, and where it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Significance {
    pub at: usize,
    /// Probability of a split at least as good somewhere in a stretch without a change.
    pub p: f64,
}

impl Split {
    pub(crate) fn stretch(&self) -> Stretch {
        self.stretch
    }

    /// How likely chance splits a stretch so well, if each point keeps `kept` of its predecessor's deviation.
    ///
    /// Two statistics share the search: the standardised one, best for changes near the ends, after R. Miller and
    /// D. Siegmund, "Maximally selected chi square statistics", Biometrics 38 (1982), eq. 8; and the plain one,
    /// best in the middle, with Kolmogorov's distribution.
    pub(crate) fn significance(&self, kept: f64) -> Significance {
        let (edge_at, z) = self.standardised;
        let independent = self.stretch.points() as f64 * (1.0 - kept) / (1.0 + kept);
        let edge = maximally_selected(z / self.inflated(edge_at, kept), independent);
        let (middle_at, d) = self.plain;
        let d = d / self.inflated(middle_at, kept);
        let middle = 2.0 * (-2.0 * d * d).exp();
        let at = if middle < edge { middle_at } else { edge_at };
        Significance {
            at,
            p: (2.0 * middle.min(edge)).min(1.0),
        }
    }

    fn inflated(&self, at: usize, kept: f64) -> f64 {
        inflation(kept, at - self.stretch.start, self.stretch.end - at).sqrt()
    }
}

/// The probability that the largest of the standardised differences of all splits of `points` exceeds `z`.
fn maximally_selected(z: f64, points: f64) -> f64 {
    if z < 1.5 {
        return 1.0;
    }
    let ends = 2.0 * (points - 1.0).max(1.0).ln();
    (normal_pdf(z) * ((z - 1.0 / z) * ends + 4.0 / z)).min(1.0)
}

/// Scans stretches of one series.
pub(crate) struct Scan {
    ranks: Vec<u32>,
    /// All points by rank.
    order: Vec<u32>,
    score: Vec<f64>,
    sorted: Vec<u32>,
}

impl Scan {
    pub(crate) fn new(values: &[f64]) -> Self {
        let order = ascending_order(values);
        Scan {
            ranks: ranks_in(&order, values),
            order,
            score: Vec::new(),
            sorted: Vec::new(),
        }
    }

    /// The best split; `None` if the stretch has fewer than four points or all are equal.
    pub(crate) fn best(&mut self, stretch: Stretch) -> Option<Split> {
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        let (start, end) = (stretch.start as u32, stretch.end as u32);
        if stretch.points() * 16 > self.order.len() {
            sorted.extend(
                self.order
                    .iter()
                    .copied()
                    .filter(|i| (start..end).contains(i)),
            );
        } else {
            sorted.extend(start..end);
            sorted.sort_unstable_by_key(|&i| self.ranks[i as usize]);
        }
        let split = self.best_of_sorted(stretch, &sorted, &Length::new(stretch.points()));
        self.sorted = sorted;
        split
    }

    /// The best splits of the seeded stretches of a whole series.
    ///
    /// Points are dealt out in the order of their ranks, so that no stretch has to be sorted by itself.
    pub(crate) fn best_of_seeded(&mut self, shortest: usize) -> Vec<Split> {
        let n = self.ranks.len();
        let order = self.order.clone();
        let whole = Stretch { start: 0, end: n };
        let mut splits: Vec<Split> = self
            .best_of_sorted(whole, &order, &Length::new(n))
            .into_iter()
            .collect();
        let mut dealt = Vec::new();
        for stretches in seeded_stretches(n, shortest) {
            let length = stretches[0].points();
            let of_length = Length::new(length);
            let (aligned, last) = stretches.split_at(stretches.len() - 1);
            deal(&order, aligned, &mut dealt);
            for (stretch, sorted) in aligned.iter().zip(dealt.chunks_exact(length)) {
                splits.extend(self.best_of_sorted(*stretch, sorted, &of_length));
            }
            splits.extend(last.iter().filter_map(|&stretch| self.best(stretch)));
        }
        splits
    }

    /// `length` is that of the stretch.
    fn best_of_sorted(
        &mut self,
        stretch: Stretch,
        sorted: &[u32],
        length: &Length,
    ) -> Option<Split> {
        if stretch.points() < 4 {
            return None;
        }
        let squares = self.fill_scores(stretch, sorted, &length.scores);
        if squares <= 1e-9 {
            return None;
        }
        let (mut sum, mut most_square, mut edge_at) = (0.0_f64, 0.0, 1);
        let (mut most_sum, mut middle_at) = (0.0, 1);
        for (i, (score, weight)) in self.score.iter().zip(&length.weights).enumerate() {
            sum += score;
            let plain = sum * sum;
            if plain > most_sum {
                (most_sum, middle_at) = (plain, i + 1);
            }
            if plain * weight > most_square {
                (most_square, edge_at) = (plain * weight, i + 1);
            }
        }
        let points = stretch.points() as f64;
        let variance = squares / (points - 1.0);
        Some(Split {
            stretch,
            standardised: (
                stretch.start + edge_at,
                (most_square * points / variance).sqrt(),
            ),
            plain: (
                stretch.start + middle_at,
                (most_sum / (points * variance)).sqrt(),
            ),
        })
    }

    /// The normal scores of the points of a stretch among themselves, ties sharing the mean of their ranks.
    /// Returns the sum of their squares.
    fn fill_scores(&mut self, stretch: Stretch, sorted: &[u32], scores: &[f64]) -> f64 {
        let m = stretch.points();
        self.score.resize(m, 0.0);
        let (mut sum, mut squares, mut first) = (0.0, 0.0, 0);
        while first < m {
            let rank = self.ranks[sorted[first] as usize];
            let mut last = first;
            while last + 1 < m && self.ranks[sorted[last + 1] as usize] == rank {
                last += 1;
            }
            let score = (scores[(first + last) / 2] + scores[(first + last).div_ceil(2)]) / 2.0;
            let count = (last + 1 - first) as f64;
            sum += score * count;
            squares += score * score * count;
            for &i in &sorted[first..=last] {
                self.score[i as usize - stretch.start] = score;
            }
            first = last + 1;
        }
        // With ties the scores' mean isn't quite zero.
        let mean = sum / m as f64;
        if mean != 0.0 {
            self.score.iter_mut().for_each(|score| *score -= mean);
        }
        squares - sum * mean
    }
}

/// What all stretches of one length share.
struct Length {
    /// The normal score of each rank.
    scores: Vec<f64>,
    /// 1/(k·(m − k)) for k = 1…m−1: what makes the squares of sums of k of m scores comparable.
    weights: Vec<f64>,
}

impl Length {
    fn new(m: usize) -> Self {
        let (scores, length) = (NormalScores::new(m), m as f64);
        Length {
            scores: (0..m).map(|rank| scores.score(rank as f64)).collect(),
            weights: (1..m)
                .map(|k| 1.0 / (k as f64 * (length - k as f64)))
                .collect(),
        }
    }
}

/// Deals points out to stretches of one length that start at every half length, in the order given: one chunk a stretch.
fn deal(order: &[u32], stretches: &[Stretch], dealt: &mut Vec<u32>) {
    let Some(length) = stretches.first().map(|s| s.points()) else {
        dealt.clear();
        return;
    };
    dealt.clear();
    dealt.resize(length * stretches.len(), 0);
    let mut filled: Vec<usize> = (0..stretches.len())
        .map(|stretch| stretch * length)
        .collect();
    let half = length / 2;
    for &point in order {
        let later = point as usize / half;
        for stretch in [later.wrapping_sub(1), later] {
            if let Some(next) = filled.get_mut(stretch) {
                dealt[*next] = point;
                *next += 1;
            }
        }
    }
}

/// Ranks of values from 0, equal values alike.
pub(crate) fn dense_ranks(values: &[f64]) -> Vec<u32> {
    ranks_in(&ascending_order(values), values)
}

fn ascending_order(values: &[f64]) -> Vec<u32> {
    let mut keyed: Vec<(f64, u32)> = values.iter().copied().zip(0..).collect();
    keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    keyed.into_iter().map(|(_, index)| index).collect()
}

fn ranks_in(order: &[u32], values: &[f64]) -> Vec<u32> {
    let mut ranks = vec![0; values.len()];
    let mut rank = 0;
    for pair in order.windows(2) {
        if values[pair[1] as usize] > values[pair[0] as usize] {
            rank += 1;
        }
        ranks[pair[1] as usize] = rank;
    }
    ranks
}

/// Stretches that half overlap, of every length that is a power of two, shorter than the whole and at least
/// `shortest`: one list a length, of which the last ends at the end of the series.
///
/// Source: S. Kovács, P. Bühlmann, H. Li, A. Munk, "Seeded binary segmentation", Biometrika 110 (2023), with decay ½.
fn seeded_stretches(n: usize, shortest: usize) -> Vec<Vec<Stretch>> {
    let lengths = std::iter::successors(Some(n.next_power_of_two() / 2), |length| Some(length / 2));
    lengths
        .take_while(|&length| length >= shortest.max(2))
        .map(|length| {
            let starts = (0..n - length).step_by(length / 2).chain([n - length]);
            starts
                .map(|start| Stretch {
                    start,
                    end: start + length,
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::simulation::{NoiseShape, steps};

    #[test]
    fn a_clean_step_is_split_at_the_step() {
        let values: Vec<f64> = (0..20)
            .map(|i| {
                if i < 13 {
                    f64::from(i % 2)
                } else {
                    10.0 + f64::from(i % 2)
                }
            })
            .collect();
        let split = Scan::new(&values)
            .best(Stretch { start: 0, end: 20 })
            .unwrap();
        let significance = split.significance(0.0);
        assert_eq!(significance.at, 13);
        assert!(significance.p < 0.01, "{significance:?}");
    }

    #[test]
    fn equal_points_have_no_split() {
        assert_eq!(
            Scan::new(&[3.0; 50]).best(Stretch { start: 0, end: 50 }),
            None
        );
        assert_eq!(
            Scan::new(&[1.0, 2.0, 3.0]).best(Stretch { start: 0, end: 3 }),
            None
        );
    }

    #[test]
    fn the_p_value_of_noise_is_seldom_small() {
        let mut random = Random::seeded(11);
        let small = (0..2000)
            .filter(|_| {
                let values = steps(
                    &[(60, 0.0)],
                    NoiseShape::Lognormal { sigma: 1.0 },
                    &mut random,
                );
                Scan::new(&values)
                    .best(Stretch { start: 0, end: 60 })
                    .unwrap()
                    .significance(0.0)
                    .p
                    < 0.05
            })
            .count();
        assert!(small <= 100, "{small} of 2000");
    }

    #[test]
    fn stretches_cover_every_scale_and_end_at_the_end() {
        let lists = seeded_stretches(100, 8);
        assert_eq!(
            lists
                .iter()
                .map(|list| list[0].points())
                .collect::<Vec<_>>(),
            [64, 32, 16, 8]
        );
        for list in lists {
            let length = list[0].points();
            assert_eq!((list[0].start, list.last().unwrap().end), (0, 100));
            assert!(
                list.windows(2)
                    .all(|pair| pair[1].start <= pair[0].start + length / 2)
            );
            assert!(list.iter().all(|stretch| stretch.points() == length));
        }
    }

    #[test]
    fn dealt_stretches_split_as_sorted_ones_do() {
        let mut random = Random::seeded(12);
        for n in [16, 17, 31, 32, 33, 100, 257] {
            // Whole numbers, so that there are ties.
            let values: Vec<f64> = NoiseShape::Gauss
                .draw(n, &mut random)
                .iter()
                .map(|x| (x * 3.0).round())
                .collect();
            let mut scan = Scan::new(&values);
            for split in scan.best_of_seeded(8) {
                assert_eq!(scan.best(split.stretch()), Some(split), "{n}");
            }
        }
    }
}
