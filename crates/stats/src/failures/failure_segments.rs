//! Division of a history into stretches with one failure probability each: candidates for changes, and where a change lies.
//!
//! The probability of a stretch is integrated out under Jeffreys' prior Beta(½, ½), so that the outcomes of a stretch have a
//! closed marginal likelihood. Sources: P. Fearnhead, "Exact and efficient Bayesian inference for multiple changepoint problems",
//! Statistics and Computing 16 (2006); the recursion for the best division: B. Jackson et al., "An algorithm for optimal
//! partitioning of data on an interval", IEEE Signal Processing Letters 12 (2005).

use crate::Confidence;

use super::FailureCount;

/// Counts with runs, and what their marginal likelihoods need. Indices are those of the counts.
pub(super) struct FailureSegments {
    /// Failures, and passes, before each count.
    failures: Vec<usize>,
    passes: Vec<usize>,
    /// ln Γ(n + ½) − ln Γ(½), and ln n!.
    ln_half: Vec<f64>,
    ln_factorial: Vec<f64>,
}

/// Where the change of a stretch lies: indices of the first count after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SplitLocation {
    pub best: usize,
    pub earliest: usize,
    pub latest: usize,
}

impl FailureSegments {
    pub(super) fn new(counts: &[FailureCount]) -> Self {
        let (mut failures, mut passes) = (vec![0], vec![0]);
        for (at, count) in counts.iter().enumerate() {
            failures.push(failures[at] + count.failures as usize);
            passes.push(passes[at] + count.passes() as usize);
        }
        let runs = failures[counts.len()] + passes[counts.len()];
        let (mut ln_half, mut ln_factorial) = (vec![0.0], vec![0.0]);
        for n in 0..runs {
            ln_half.push(ln_half[n] + (n as f64 + 0.5).ln());
            ln_factorial.push(ln_factorial[n] + (n as f64 + 1.0).ln());
        }
        Self {
            failures,
            passes,
            ln_half,
            ln_factorial,
        }
    }

    fn counts(&self) -> usize {
        self.failures.len() - 1
    }

    /// ln of the marginal likelihood of the counts from `start` to before `end`.
    fn ln_marginal(&self, start: usize, end: usize) -> f64 {
        let failures = self.failures[end] - self.failures[start];
        let passes = self.passes[end] - self.passes[start];
        self.ln_half[failures] + self.ln_half[passes] - self.ln_factorial[failures + passes]
    }

    /// The best division, where each change costs as much as it has places: the first count of each stretch but the first.
    pub(super) fn candidates(&self) -> Vec<usize> {
        let counts = self.counts();
        let price = (counts as f64).ln();
        let mut best = vec![0.0];
        let mut begins = vec![0];
        for end in 1..=counts {
            let mut most = (f64::NEG_INFINITY, 0);
            for (start, before) in best.iter().enumerate() {
                let price = if start == 0 { 0.0 } else { price };
                let value = before - price + self.ln_marginal(start, end);
                if value > most.0 {
                    most = (value, start);
                }
            }
            best.push(most.0);
            begins.push(most.1);
        }
        let mut changes = Vec::new();
        let mut end = counts;
        while begins[end] > 0 {
            end = begins[end];
            changes.push(end);
        }
        changes.reverse();
        changes
    }

    /// Where one change lies among the counts from `start` to before `end`, at least two, if each place is equally likely
    /// beforehand.
    pub(super) fn locate(&self, start: usize, end: usize, confidence: Confidence) -> SplitLocation {
        let places = start + 1..end;
        let ln: Vec<f64> = places
            .map(|at| self.ln_marginal(start, at) + self.ln_marginal(at, end))
            .collect();
        let top = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = ln.iter().map(|ln| (ln - top).exp()).collect();
        let tail = confidence.tail() * weights.iter().sum::<f64>();
        let cut = |weights: &mut dyn Iterator<Item = &f64>| {
            let mut sum = 0.0;
            let is_tail = |weight: &&f64| {
                sum += **weight;
                sum <= tail
            };
            weights.take_while(is_tail).count()
        };
        let best = ln.iter().position(|ln| *ln == top).unwrap_or(0);
        SplitLocation {
            best: start + 1 + best,
            earliest: start + 1 + cut(&mut weights.iter()).min(best),
            latest: end - 1 - cut(&mut weights.iter().rev()).min(ln.len() - 1 - best),
        }
    }
}
