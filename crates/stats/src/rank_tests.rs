//! Two-sample rank tests, beside the intervals: they need only an order.

use serde::Serialize;

use crate::Samples;
use crate::distributions::normal_cdf;

/// Up to so many samples on both sides together the distribution under "no difference" is counted out.
const MAX_SAMPLES_FOR_EXACT: usize = 40;

/// What the Mann–Whitney test says of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MannWhitney {
    /// How many of the n·m pairs have the new sample larger; ties count half.
    pub u: f64,
    /// The probability that a new sample is larger than a base sample: ½ if there is no difference.
    pub new_is_larger: f64,
    /// The two-sided p-value of "both sides come from one distribution".
    pub p: f64,
    /// Whether `p` was counted out (exact, ties included) rather than read from the normal distribution.
    pub exact: bool,
}

/// The Mann–Whitney (Wilcoxon rank-sum) test of two sides of independent samples.
///
/// Source: H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is stochastically larger than
/// the other", Annals of Mathematical Statistics 18 (1947). With ties, midranks: exactly as their permutation
/// distribution up to 40 samples in all, beyond that with the tie-corrected variance and a continuity correction.
#[must_use]
pub fn mann_whitney(base: &Samples, new: &Samples) -> MannWhitney {
    let ranked = Ranked::new(base, new);
    let (n, m) = (base.n() as f64, new.n() as f64);
    // Twice the rank sum is a whole number even with midranks.
    let u = ranked.twice_new_sum as f64 / 2.0 - m * (m + 1.0) / 2.0;
    let exact = base.n() + new.n() <= MAX_SAMPLES_FOR_EXACT;
    let p = if exact {
        ranked.exact_p(new.n())
    } else {
        ranked.normal_p(u, n, m)
    };
    MannWhitney {
        u,
        new_is_larger: u / (n * m),
        p,
        exact,
    }
}

/// Both sides in one order.
struct Ranked {
    /// Groups of equal values: how many, and twice their midrank.
    ties: Vec<(usize, u64)>,
    twice_new_sum: u64,
}

impl Ranked {
    fn new(base: &Samples, new: &Samples) -> Self {
        let (base, new) = (base.ascending(), new.ascending());
        let (mut i, mut j) = (0, 0);
        let mut ranked = Ranked {
            ties: Vec::new(),
            twice_new_sum: 0,
        };
        while i < base.len() || j < new.len() {
            let value = match (base.get(i), new.get(j)) {
                (Some(&a), Some(&b)) => a.min(b),
                (Some(&a), None) => a,
                (None, b) => b.copied().unwrap_or(f64::INFINITY),
            };
            let before = i + j;
            while base.get(i).is_some_and(|&x| x <= value) {
                i += 1;
            }
            let first_new = j;
            while new.get(j).is_some_and(|&x| x <= value) {
                j += 1;
            }
            let twice_midrank = (before + 1 + i + j) as u64;
            ranked.ties.push((i + j - before, twice_midrank));
            ranked.twice_new_sum += twice_midrank * (j - first_new) as u64;
        }
        ranked
    }

    /// The share of all choices of `m` of the ranks whose sum is at least as far from its mean.
    fn exact_p(&self, m: usize) -> f64 {
        let total: usize = self.ties.iter().map(|(count, _)| count).sum();
        let most = (total * (total + 1)) as u64;
        // ways[k][s]: choices of k ranks with twice the sum s; below 2^53 for 40 samples, so exact.
        let mut ways = vec![vec![0.0; most as usize + 1]; m + 1];
        ways[0][0] = 1.0;
        for &(count, twice_midrank) in &self.ties {
            for _ in 0..count {
                for k in (1..=m).rev() {
                    let (fewer, more) = ways.split_at_mut(k);
                    let rank = twice_midrank as usize;
                    for (to, from) in more[0][rank..].iter_mut().zip(&fewer[k - 1]) {
                        *to += from;
                    }
                }
            }
        }
        let mean = (m * (total + 1)) as f64;
        let observed = (self.twice_new_sum as f64 - mean).abs();
        let all: f64 = ways[m].iter().sum();
        let extreme: f64 = ways[m]
            .iter()
            .enumerate()
            .filter(|(s, _)| (*s as f64 - mean).abs() >= observed)
            .map(|(_, w)| w)
            .sum();
        extreme / all
    }

    fn normal_p(&self, u: f64, n: f64, m: f64) -> f64 {
        let total = n + m;
        let ties: f64 = self
            .ties
            .iter()
            .map(|&(count, _)| (count as f64).powi(3) - count as f64)
            .sum();
        let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
        if variance <= 0.0 {
            return 1.0;
        }
        let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
        (2.0 * normal_cdf(-distance / variance.sqrt())).min(1.0)
    }
}

/// What the Kolmogorov–Smirnov test says of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KolmogorovSmirnov {
    /// The largest vertical distance between the two distribution functions.
    pub d: f64,
    /// The p-value of "both sides come from one distribution"; with ties it is too large rather than too small.
    pub p: f64,
    /// Whether `p` was counted out rather than read from Kolmogorov's distribution.
    pub exact: bool,
}

/// The two-sample Kolmogorov–Smirnov test: any difference of shape, not only of location.
///
/// Sources: J. L. Hodges, "The significance probability of the Smirnov two-sample test", Arkiv för Matematik 3
/// (1958), for the count up to n·m = 10,000; beyond that M. A. Stephens' approximation (J. R. Stat. Soc. B 32, 1970).
#[must_use]
pub fn kolmogorov_smirnov(base: &Samples, new: &Samples) -> KolmogorovSmirnov {
    let d = distance(base.ascending(), new.ascending());
    let (n, m) = (base.n(), new.n());
    let exact = n * m <= 10_000;
    let p = if exact {
        paths_beyond(n, m, d)
    } else {
        kolmogorov(d, n as f64 * m as f64 / (n + m) as f64)
    };
    KolmogorovSmirnov { d, p, exact }
}

fn distance(base: &[f64], new: &[f64]) -> f64 {
    let (mut i, mut j, mut most) = (0, 0, 0.0_f64);
    while i < base.len() && j < new.len() {
        let value = base[i].min(new[j]);
        while base.get(i).is_some_and(|&x| x <= value) {
            i += 1;
        }
        while new.get(j).is_some_and(|&x| x <= value) {
            j += 1;
        }
        most = most.max((i as f64 / base.len() as f64 - j as f64 / new.len() as f64).abs());
    }
    most
}

/// The share of lattice paths from (0, 0) to (n, m) that come as far from the diagonal as `d`.
fn paths_beyond(n: usize, m: usize, d: f64) -> f64 {
    let beyond =
        |i: usize, j: usize| (i as f64 / n as f64 - j as f64 / m as f64).abs() >= d - 1e-12;
    // within[j]: the probability that a random path to (i, j) has stayed within.
    let mut within = vec![0.0; m + 1];
    for i in 0..=n {
        for j in 0..=m {
            within[j] = match (i, j) {
                (0, 0) => 1.0,
                _ if beyond(i, j) => 0.0,
                (0, _) => within[j - 1],
                (_, 0) => within[0],
                // Of the paths to (i, j), i/(i+j) come by a step of i.
                _ => (i as f64 * within[j] + j as f64 * within[j - 1]) / (i + j) as f64,
            };
        }
    }
    if d <= 0.0 {
        1.0
    } else {
        (1.0 - within[m]).clamp(0.0, 1.0)
    }
}

fn kolmogorov(d: f64, effective: f64) -> f64 {
    let root = effective.sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * d;
    if lambda < 0.2 {
        return 1.0;
    }
    let series = (1..=100).map(|k| {
        let k = f64::from(k);
        let sign = if k % 2.0 == 1.0 { 1.0 } else { -1.0 };
        sign * (-2.0 * k * k * lambda * lambda).exp()
    });
    (2.0 * series.sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples(values: &[f64]) -> Samples {
        Samples::new(values.to_vec()).unwrap()
    }

    #[test]
    fn the_textbook_example_comes_out_as_r_prints_it() {
        // R's ?wilcox.test, Hollander & Wolfe (1973), 69f: wilcox.test(x, y) prints W = 35, p-value = 0.2544 (two-sided).
        let x = samples(&[0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]);
        let y = samples(&[1.15, 0.88, 0.90, 0.74, 1.21]);
        let test = mann_whitney(&y, &x);
        assert_eq!((test.u, test.exact), (35.0, true));
        assert!((test.p - 0.2544).abs() < 5e-5, "{test:?}");
        assert!((test.new_is_larger - 0.7).abs() < 1e-12);
        // SciPy: ks_2samp(x, y) prints statistic=0.6, pvalue=0.16583416583416583.
        let test = kolmogorov_smirnov(&x, &y);
        assert!(
            (test.d - 0.6).abs() < 1e-12 && (test.p - 0.165_834_165_834).abs() < 1e-9,
            "{test:?}"
        );
    }

    #[test]
    fn ties_are_counted_out() {
        // Of the 20 choices of 3 from 1 2 2 3 3 3 (midranks 1, 2.5, 2.5, 5, 5, 5) two are as extreme: 1 2 2 and 3 3 3.
        let test = mann_whitney(&samples(&[1.0, 2.0, 2.0]), &samples(&[3.0, 3.0, 3.0]));
        assert_eq!(test.u, 9.0);
        assert!((test.p - 0.1).abs() < 1e-12, "{test:?}");
    }

    #[test]
    fn equal_sides_do_not_differ() {
        let same = samples(&[2.0; 30]);
        assert_eq!(mann_whitney(&same, &same).p, 1.0);
        assert_eq!(mann_whitney(&samples(&[2.0]), &samples(&[2.0])).p, 1.0);
        assert_eq!(kolmogorov_smirnov(&same, &same).p, 1.0);
    }

    #[test]
    fn counted_and_approximate_p_values_meet() {
        let base: Vec<f64> = (0..20).map(|i| f64::from(i * i % 37)).collect();
        let new: Vec<f64> = (0..20).map(|i| f64::from(i * i % 31) + 6.5).collect();
        let test = mann_whitney(&samples(&base), &samples(&new));
        let approximate = Ranked::new(&samples(&base), &samples(&new)).normal_p(test.u, 20.0, 20.0);
        assert!(
            (test.p - approximate).abs() < 0.01,
            "{} {approximate}",
            test.p
        );
    }

    #[test]
    fn a_difference_of_spread_is_seen_by_kolmogorov_smirnov_alone() {
        let narrow: Vec<f64> = (0..50).map(|i| f64::from(i) - 24.5).collect();
        let wide: Vec<f64> = narrow.iter().map(|x| x * 5.0).collect();
        assert!(mann_whitney(&samples(&narrow), &samples(&wide)).p > 0.5);
        assert!(kolmogorov_smirnov(&samples(&narrow), &samples(&wide)).p < 0.001);
    }

    #[test]
    fn separate_sides_are_as_unlikely_as_counting_says() {
        // Two of the C(8, 4) = 70 orders separate four from four.
        let test = kolmogorov_smirnov(
            &samples(&[1.0, 2.0, 3.0, 4.0]),
            &samples(&[5.0, 6.0, 7.0, 8.0]),
        );
        assert_eq!((test.d, test.exact), (1.0, true));
        assert!((test.p - 2.0 / 70.0).abs() < 1e-12, "{test:?}");
    }

    #[test]
    fn kolmogorovs_distribution_is_that_of_the_tables() {
        // The 5% point is 1.3581.
        assert!((kolmogorov(1.3581 / 1e6_f64.sqrt(), 1e6) - 0.05).abs() < 1e-4);
    }

    proptest! {
        #[test]
        fn sides_exchanged_give_the_same_p(
            base in prop::collection::vec(-20..20_i32, 1..30),
            new in prop::collection::vec(-20..20_i32, 1..30),
        ) {
            let side = |values: &[i32]| samples(&values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
            let (base, new) = (side(&base), side(&new));
            let (one, two) = (mann_whitney(&base, &new), mann_whitney(&new, &base));
            prop_assert!((one.p - two.p).abs() < 1e-9 && (0.0..=1.0).contains(&one.p));
            prop_assert!((one.new_is_larger + two.new_is_larger - 1.0).abs() < 1e-12);
            let (one, two) = (kolmogorov_smirnov(&base, &new), kolmogorov_smirnov(&new, &base));
            prop_assert!((one.d - two.d).abs() < 1e-12 && (one.p - two.p).abs() < 1e-9);
        }
    }
}
