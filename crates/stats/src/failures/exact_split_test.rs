//! Exact test of "the failure probability never changed" against one change at an unknown version.
//!
//! Given the total numbers of runs and failures, every order of the failures is equally likely if nothing changed, whatever the
//! failure probability is. The failures before a split are then hypergeometric (R. A. Fisher's exact test, 1935). The statistic
//! is the smallest one-sided p-value over all splits; its own p-value is the share of orders with one as small, counted by a
//! forward recursion over the runs. Nothing is drawn and nothing is asymptotic. The construction, for permutations:
//! P. H. Westfall, S. S. Young, *Resampling-Based Multiple Testing* (1993), chapter 2.

use super::FailureCount;

/// Smaller p-values aren't computed: the distribution of a split is cut off there.
const LEAST_P: f64 = 1e-14;

/// Outcomes that are less probable than this by a factor relative to the most probable one are cut off.
const NEGLIGIBLE: f64 = 1e-18;

/// Relative difference below which two p-values are the same one, computed in two ways.
const ROUNDING: f64 = 1e-9;

/// Hypergeometric distribution of the failures before a split, cut off where it is negligible.
#[derive(Debug)]
struct SplitDistribution {
    /// Runs before the split.
    runs: usize,
    /// Number of failures that the first element of the tails is about.
    first: usize,
    /// P(at most this many failures).
    lower: Vec<f64>,
    /// P(at least this many failures).
    upper: Vec<f64>,
}

impl SplitDistribution {
    /// `runs` runs before the split, of `all` with `failed` failures in total; `ln` holds ln n!.
    fn new(runs: usize, all: usize, failed: usize, ln: &[f64]) -> Self {
        let (least, most) = ((runs + failed).saturating_sub(all), failed.min(runs));
        let mode = ((runs + 1) * (failed + 1) / (all + 2)).clamp(least, most);
        let choose = |n: usize, k: usize| ln[n] - ln[k] - ln[n - k];
        let top = choose(failed, mode) + choose(all - failed, runs - mode) - choose(all, runs);
        let top = top.exp();
        // P(k + 1) / P(k).
        let ratio = |k: usize| {
            ((failed - k) as f64 * (runs - k) as f64)
                / ((k + 1) as f64 * (all + k + 1 - failed - runs) as f64)
        };
        let (mut below, mut above) = (Vec::new(), vec![top]);
        let (mut p, mut k) = (top, mode);
        while k > least && p > top * NEGLIGIBLE {
            k -= 1;
            p /= ratio(k);
            below.push(p);
        }
        let first = k;
        (p, k) = (top, mode);
        while k < most && p > top * NEGLIGIBLE {
            p *= ratio(k);
            k += 1;
            above.push(p);
        }
        below.reverse();
        below.append(&mut above);
        let mut lower = below.clone();
        let mut upper = below;
        for at in 1..lower.len() {
            lower[at] += lower[at - 1];
        }
        for at in (0..upper.len() - 1).rev() {
            upper[at] += upper[at + 1];
        }
        Self {
            runs,
            first,
            lower,
            upper,
        }
    }

    /// The smaller of the two one-sided p-values of this many failures.
    fn p(&self, failures: usize) -> f64 {
        let at = failures.checked_sub(self.first);
        let at = at.filter(|at| *at < self.lower.len());
        at.map_or(0.0, |at| self.lower[at].min(self.upper[at]))
    }
}

/// The test of one stretch of versions.
#[derive(Debug)]
pub(super) struct ExactSplitTest {
    runs: usize,
    failures: usize,
    splits: Vec<SplitDistribution>,
    /// The smallest one-sided p-value over all splits: a lower bound of [`p`](Self::p).
    pub(super) least_split_p: f64,
}

impl ExactSplitTest {
    /// `None` where no order of the outcomes would differ: all runs passed, all failed, or one version was run.
    pub(super) fn new(counts: &[FailureCount]) -> Option<Self> {
        let all: FailureCount = counts.iter().copied().sum();
        if all.failures == 0 || all.passes() == 0 {
            return None;
        }
        // Passes and failures are exchanged where there are fewer passes: less to compute, the same answer.
        let rarer = |count: &FailureCount| match all.failures <= all.passes() {
            true => count.failures,
            false => count.passes(),
        };
        let (runs, failures) = (all.runs as usize, all.failures.min(all.passes()) as usize);
        let mut ln_factorial = vec![0.0; runs + 1];
        for n in 1..=runs {
            ln_factorial[n] = ln_factorial[n - 1] + (n as f64).ln();
        }
        let (mut splits, mut least_split_p) = (Vec::new(), 1.0_f64);
        let (mut before, mut failed) = (0, 0);
        for count in counts.iter().filter(|count| count.runs > 0) {
            before += count.runs as usize;
            failed += rarer(count) as usize;
            if before < runs {
                let split = SplitDistribution::new(before, runs, failures, &ln_factorial);
                least_split_p = least_split_p.min(split.p(failed));
                splits.push(split);
            }
        }
        (!splits.is_empty()).then_some(Self {
            runs,
            failures,
            splits,
            least_split_p: least_split_p.max(LEAST_P),
        })
    }

    /// The probability that chance gives a split as clear somewhere in the stretch.
    pub(super) fn p(&self) -> f64 {
        let limit = self.least_split_p * (1.0 + ROUNDING);
        // Probability of the orders of the runs so far that have had no split as clear, by the number of failures.
        let mut alive = vec![0.0; self.failures + 1];
        alive[0] = 1.0;
        let (mut from, mut to) = (0, 0);
        let (mut done, mut p) = (0, 0.0);
        for split in &self.splits {
            for run in done..split.runs {
                let left = (self.runs - run) as f64;
                to = (to + 1).min(self.failures);
                for failed in (from..=to).rev() {
                    let passes = left - (self.failures - failed) as f64;
                    let stays = alive[failed] * (passes / left).max(0.0);
                    let comes = match failed > from {
                        true => alive[failed - 1] * (self.failures - failed + 1) as f64 / left,
                        false => 0.0,
                    };
                    alive[failed] = stays + comes;
                }
            }
            done = split.runs;
            for (failed, alive) in alive.iter_mut().enumerate().take(to + 1).skip(from) {
                if split.p(failed) <= limit {
                    p += std::mem::take(alive);
                }
            }
            while from < to && alive[from] == 0.0 {
                from += 1;
            }
            while to > from && alive[to] == 0.0 {
                to -= 1;
            }
        }
        p.clamp(self.least_split_p, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(failed: &[u8]) -> Vec<FailureCount> {
        let of = |failures: &u8| FailureCount {
            failures: u64::from(*failures),
            runs: 1,
        };
        failed.iter().map(of).collect()
    }

    #[test]
    fn one_failure_at_the_end_is_as_probable_as_one_anywhere() {
        let mut history = counts(&[0; 20]);
        history.extend(counts(&[1]));
        let test = ExactSplitTest::new(&history).unwrap();
        assert!((test.least_split_p - 1.0 / 21.0).abs() < 1e-12);
        // At the end or at the beginning.
        assert!((test.p() - 2.0 / 21.0).abs() < 1e-12, "{}", test.p());
    }

    #[test]
    fn the_p_value_is_the_share_of_all_orders() {
        let history = [0, 0, 1, 0, 1, 1, 0, 1, 1];
        let mut orders = Vec::new();
        for bits in 0_u32..1 << history.len() {
            if bits.count_ones() == 5 {
                let order: Vec<u8> = (0..history.len()).map(|i| (bits >> i & 1) as u8).collect();
                orders.push(ExactSplitTest::new(&counts(&order)).unwrap().least_split_p);
            }
        }
        let test = ExactSplitTest::new(&counts(&history)).unwrap();
        let as_clear = orders
            .iter()
            .filter(|p| **p <= test.least_split_p * 1.000_001);
        let share = as_clear.count() as f64 / orders.len() as f64;
        assert!((test.p() - share).abs() < 1e-12, "{} {share}", test.p());
    }

    #[test]
    fn versions_without_runs_and_exchanged_outcomes_make_no_difference() {
        let p = |history: &[FailureCount]| ExactSplitTest::new(history).unwrap().p();
        let history = [(0, 3), (1, 4), (4, 5), (2, 2)]
            .map(|(failures, runs)| FailureCount { failures, runs });
        let exchanged = history.map(|count| FailureCount {
            failures: count.passes(),
            ..count
        });
        let mut spread = history.to_vec();
        spread.insert(2, FailureCount::default());
        assert!((p(&history) - p(&exchanged)).abs() < 1e-12);
        assert_eq!(p(&history), p(&spread));
    }

    #[test]
    fn nothing_is_tested_where_all_runs_are_alike() {
        assert!(ExactSplitTest::new(&counts(&[0, 0, 0])).is_none());
        assert!(ExactSplitTest::new(&counts(&[1, 1])).is_none());
        assert!(
            ExactSplitTest::new(&[FailureCount {
                failures: 1,
                runs: 2
            }])
            .is_none()
        );
        assert!(ExactSplitTest::new(&[]).is_none());
    }
}
