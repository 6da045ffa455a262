//! Division of a history into stretches with one failure probability each: candidates for changes, and where a change lies.
//!
//! The probability of a stretch is integrated out under Jeffreys' prior Beta(½, ½), so that the outcomes of a stretch have a
//! closed marginal likelihood. Sources: P. Fearnhead, "Exact and efficient Bayesian inference for multiple changepoint problems",
//! Statistics and Computing 16 (2006); the recursion for the best division: B. Jackson et al., "An algorithm for optimal
//! partitioning of data on an interval", IEEE Signal Processing Letters 12 (2005).

use crate::Confidence;

use super::FailureCount;

/// Prior probability that a stretch always passes, and the same that it always fails, where a change is located. It makes the
/// location of a clear break sharp: a version that passed isn't one that fails always.
const ALWAYS_ALIKE: f64 = 0.2;

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

    /// The same if the stretch may also pass always or fail always.
    fn ln_marginal_of_mixture(&self, start: usize, end: usize) -> f64 {
        let (failures, passes) = (&self.failures, &self.passes);
        let is_alike = failures[start] == failures[end] || passes[start] == passes[end];
        let other = 1.0 - 2.0 * ALWAYS_ALIKE;
        // Where it isn't alike, its likelihood may be too small for anything but its logarithm.
        match is_alike {
            true => (ALWAYS_ALIKE + other * self.ln_marginal(start, end).exp()).ln(),
            false => other.ln() + self.ln_marginal(start, end),
        }
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
            .map(|at| self.ln_marginal_of_mixture(start, at) + self.ln_marginal_of_mixture(at, end))
            .collect();
        let top = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = ln.iter().map(|ln| (ln - top).exp()).collect();
        let wanted = confidence.share() * weights.iter().sum::<f64>();
        let best = ln.iter().position(|ln| *ln == top).unwrap_or(0);
        // The likelier neighbour is taken in until enough is.
        let (mut low, mut high, mut held) = (best, best, weights[best]);
        while held < wanted {
            let below = low.checked_sub(1).map_or(-1.0, |below| weights[below]);
            let above = weights.get(high + 1).copied().unwrap_or(-1.0);
            if below.max(above) < 0.0 {
                break;
            }
            match below > above {
                true => low -= 1,
                false => high += 1,
            }
            held += below.max(above);
        }
        SplitLocation {
            best: start + 1 + best,
            earliest: start + 1 + low,
            latest: start + 1 + high,
        }
    }
}
