//! Test for two modes: a machine that boots into one of two states has two speeds and no meaningful mean. The null hypothesis
//! is the uniform distribution, the hardest with one mode.

use serde::Serialize;
use statrs::function::gamma::ln_gamma;

use crate::distributions::normal_quantile;
use crate::{Confidence, Interval, Samples, dithered};

/// Fewer values than this show no modes.
const MIN_VALUES: usize = 8;

/// Of more values, so many quantiles stand for all: the shape is there, the time isn't.
const MAX_VALUES: usize = 2_000;

/// Two modes are named when chance makes as deep a gap in at most one of a hundred.
const MAX_P: f64 = 0.01;

/// Two modes of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TwoModes {
    /// The lower mode's mean.
    pub low: f64,
    /// The upper mode's mean.
    pub high: f64,
    /// The middle of the gap between them.
    pub gap: f64,
    /// The share of values above the gap.
    pub high_share: f64,
    /// By how much two intervals hold more mass than one, at the best price per length: twice the dip.
    pub excess: f64,
    /// The probability that a uniform distribution gives as much; it may be large where modes of few values are far
    /// apart.
    pub p: f64,
}

/// Looks for two modes among independent values.
///
/// Source: D. W. Müller, G. Sawitzki, "Excess mass estimates and tests for multimodality", JASA 86 (1991); the statistic
/// is twice the dip of J. A. Hartigan, P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13 (1985).
/// Its quantiles under the uniform distribution were simulated with this very function.
#[must_use]
pub fn two_modes(samples: &Samples) -> Option<TwoModes> {
    if samples.n() < MIN_VALUES || samples.all_equal() {
        return None;
    }
    // The quantiles are those of values without ties.
    let spread = Samples::new(dithered(samples.ascending())).ok()?;
    let split = widest_split(&spread)?;
    let at_gap = |values: &[f64]| values.partition_point(|&x| x <= split.gap);
    let all = samples.ascending();
    let (low, high) = all.split_at(at_gap(all));
    if low.is_empty() || high.is_empty() {
        return None;
    }
    let p = chance_of(split.excess, samples.n().min(MAX_VALUES));
    let (spread_low, spread_high) = spread.ascending().split_at(at_gap(spread.ascending()));
    if p >= MAX_P && !far_apart(spread_low, spread_high) {
        return None;
    }
    Some(TwoModes {
        low: crate::sums::mean(low),
        high: crate::sums::mean(high),
        gap: split.gap,
        high_share: high.len() as f64 / all.len() as f64,
        excess: split.excess,
        p,
    })
}

/// Whether the gap is so wide, and the rarer mode so common, that the deviation within the modes can't explain it: what
/// a test against the uniform distribution is too cautious to see in ten or twenty boots.
fn far_apart(low: &[f64], high: &[f64]) -> bool {
    let rarer = low.len().min(high.len());
    let deviation = |mode: &[f64]| {
        crate::sums::root_of_squares(mode, crate::sums::mean(mode))
            / ((mode.len() - 1) as f64).sqrt()
    };
    let gap = high[0] - low[low.len() - 1];
    rarer >= 3
        && rarer * 7 >= low.len() + high.len()
        && gap > 5.0 * deviation(low).max(deviation(high))
}

struct Gap {
    excess: f64,
    gap: f64,
}

/// Tries prices per length from "one interval holds all" to "only ties are worth their length".
fn widest_split(samples: &Samples) -> Option<Gap> {
    let values: Vec<f64> = if samples.n() <= MAX_VALUES {
        samples.ascending().to_vec()
    } else {
        let step = (samples.n() - 1) as f64 / (MAX_VALUES - 1) as f64;
        (0..MAX_VALUES)
            .map(|i| samples.ascending()[(i as f64 * step).round() as usize])
            .collect()
    };
    let range = samples.max() - samples.min();
    let finest = 1e4;
    let at = |log_price: f64| excess(&values, log_price.exp() / range);
    let steps = 64;
    let prices: Vec<f64> = (0..=steps)
        .map(|i| -1.0 + (f64::ln(finest) + 1.0) * f64::from(i) / f64::from(steps))
        .collect();
    let tried: Vec<Option<Gap>> = prices.iter().map(|&price| at(price)).collect();
    let value = |gap: &Option<Gap>| gap.as_ref().map_or(0.0, |gap| gap.excess);
    let best = (0..tried.len()).max_by(|&a, &b| value(&tried[a]).total_cmp(&value(&tried[b])))?;
    // The excess is piecewise linear in the price: finer around the best.
    let width = prices[1] - prices[0];
    let finer = (-8..=8).map(|i| at(prices[best] + width * f64::from(i) / 8.0));
    finer.flatten().max_by(|a, b| a.excess.total_cmp(&b.excess))
}

/// How much more mass, less the price of its length, two intervals hold than one; and the gap between the two.
fn excess(values: &[f64], price: f64) -> Option<Gap> {
    let n = values.len() as f64;
    // An interval from the i-th to the j-th value is worth ends[j] − starts[i].
    let start = |i: usize| i as f64 / n - price * values[i];
    let end = |j: usize| (j + 1) as f64 / n - price * values[j];
    let (mut least_start, mut one) = (f64::INFINITY, f64::NEG_INFINITY);
    // What a first interval that ended before leaves to the second's start, and where the first ended.
    let mut best_start = f64::INFINITY;
    let (mut one_end, mut pair_start, mut pair_first_end) = (0, 0, 0);
    let (mut two, mut between) = (f64::NEG_INFINITY, (0, 0));
    for i in 0..values.len() {
        if one > f64::NEG_INFINITY && start(i) - one < best_start {
            (best_start, pair_start, pair_first_end) = (start(i) - one, i, one_end);
        }
        if best_start < f64::INFINITY && end(i) - best_start > two {
            two = end(i) - best_start;
            between = (pair_first_end, pair_start);
        }
        least_start = least_start.min(start(i));
        if end(i) - least_start > one {
            (one, one_end) = (end(i) - least_start, i);
        }
    }
    let (left, right) = between;
    (two > one && right > left).then(|| Gap {
        excess: two - one,
        gap: (values[left] + values[right]) / 2.0,
    })
}

/// √n times the excess of n uniform values: quantiles at these probabilities of more.
const EXCESS_TAIL_PROBABILITIES: [f64; 6] = [0.5, 0.2, 0.1, 0.05, 0.01, 0.001];

/// By n.
const EXCESS_QUANTILES: [(usize, [f64; 6]); 6] = [
    (8, [0.627, 0.709, 0.801, 0.870, 0.978, 1.100]),
    (16, [0.646, 0.773, 0.853, 0.920, 1.054, 1.195]),
    (32, [0.672, 0.809, 0.892, 0.965, 1.112, 1.285]),
    (100, [0.701, 0.845, 0.933, 1.014, 1.169, 1.379]),
    (400, [0.714, 0.860, 0.949, 1.031, 1.189, 1.443]),
    (2000, [0.715, 0.859, 0.953, 1.044, 1.188, 1.407]),
];

/// The probability that n uniform values have at least this excess, between the simulated quantiles.
fn chance_of(excess: f64, n: usize) -> f64 {
    let scaled = excess * (n as f64).sqrt();
    let above = EXCESS_QUANTILES
        .iter()
        .position(|(size, _)| *size >= n)
        .unwrap_or(EXCESS_QUANTILES.len() - 1);
    let (small, large) = (
        &EXCESS_QUANTILES[above.saturating_sub(1)],
        &EXCESS_QUANTILES[above],
    );
    let share = if large.0 > small.0 {
        ((n - small.0.min(n)) as f64 / (large.0 - small.0) as f64).min(1.0)
    } else {
        1.0
    };
    let quantile = |i: usize| small.1[i] * (1.0 - share) + large.1[i] * share;
    let Some(next) = (0..EXCESS_TAIL_PROBABILITIES.len()).find(|&i| scaled < quantile(i)) else {
        // Beyond the table the tail falls like a Gaussian's; the least that is said is one in ten thousand.
        let last = EXCESS_TAIL_PROBABILITIES.len() - 1;
        return (EXCESS_TAIL_PROBABILITIES[last] * (-4.0 * (scaled - quantile(last))).exp())
            .max(1e-4);
    };
    if next == 0 {
        return 1.0 - 0.5 * (scaled / quantile(0)).clamp(0.0, 1.0);
    }
    let place = (scaled - quantile(next - 1)) / (quantile(next) - quantile(next - 1));
    (EXCESS_TAIL_PROBABILITIES[next - 1].ln() * (1.0 - place)
        + EXCESS_TAIL_PROBABILITIES[next].ln() * place)
        .exp()
}

/// The interval of the difference of two shares, `new` less `base`, each a count of so many.
///
/// Source: R. G. Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine
/// 17 (1998), method 10: the square-and-add of E. B. Wilson's score intervals.
pub(crate) fn share_difference_interval(
    base: (usize, usize),
    new: (usize, usize),
    confidence: Confidence,
) -> Interval {
    let z = -normal_quantile(confidence.tail());
    let wilson = |(count, n): (usize, usize)| {
        let (n, share) = (n as f64, count as f64 / n as f64);
        let centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let half =
            z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        (share, centre - half, centre + half)
    };
    let ((p, p_low, p_high), (q, q_low, q_high)) = (wilson(base), wilson(new));
    Interval {
        low: (q - p - (q - q_low).hypot(p_high - p)).max(-1.0),
        high: (q - p + (q_high - q).hypot(p - p_low)).min(1.0),
    }
}

/// The probability of a table of two shares at least as unlikely: a of n against b of m.
///
/// Source: R. A. Fisher's exact test, two-sided by the probability of the table (Freeman & Halton, Biometrika 38, 1951).
pub(crate) fn share_p(a: usize, n: usize, b: usize, m: usize) -> f64 {
    let ln_choose = |n: usize, k: usize| {
        ln_gamma(n as f64 + 1.0) - ln_gamma(k as f64 + 1.0) - ln_gamma((n - k) as f64 + 1.0)
    };
    let total = a + b;
    let ln_table = |x: usize| ln_choose(n, x) + ln_choose(m, total - x) - ln_choose(n + m, total);
    let observed = ln_table(a);
    let tables = total.saturating_sub(m)..=total.min(n);
    let p: f64 = tables
        .map(ln_table)
        .filter(|table| *table <= observed + 1e-9)
        .map(f64::exp)
        .sum();
    p.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::simulation::NoiseShape;

    fn samples(values: Vec<f64>) -> Samples {
        Samples::new(values).unwrap()
    }

    #[test]
    #[ignore = "prints the table of quantiles"]
    fn simulate_quantiles() {
        let mut random = Random::seeded(1);
        for (n, runs) in [
            (8, 200_000),
            (16, 100_000),
            (32, 60_000),
            (100, 30_000),
            (400, 10_000),
            (2000, 5_000),
        ] {
            let mut scaled: Vec<f64> = (0..runs)
                .map(|_| {
                    let uniform = samples((0..n).map(|_| random.uniform()).collect());
                    widest_split(&uniform).map_or(0.0, |gap| gap.excess) * (n as f64).sqrt()
                })
                .collect();
            scaled.sort_by(f64::total_cmp);
            let quantiles = EXCESS_TAIL_PROBABILITIES
                .map(|p| format!("{:.3}", scaled[((1.0 - p) * runs as f64) as usize]));
            println!("({n}, [{}]),", quantiles.join(", "));
        }
    }

    #[test]
    fn two_states_are_named_with_their_shares() {
        let mut random = Random::seeded(2);
        let boots: Vec<f64> = (0..20)
            .map(|i| if i % 4 == 0 { 1.6 } else { 4.4 } + 0.1 * random.normal())
            .collect();
        let found = two_modes(&samples(boots)).unwrap();
        assert!(
            (found.low - 1.6).abs() < 0.15 && (found.high - 4.4).abs() < 0.1,
            "{found:?}"
        );
        assert!(
            (found.high_share - 0.75).abs() < 1e-12 && (1.9..4.1).contains(&found.gap),
            "{found:?}"
        );
    }

    #[test]
    fn rounded_values_of_one_mode_are_seldom_taken_for_two() {
        let mut random = Random::seeded(4);
        for (level, spread, n) in [(1003.5, 4.0, 120), (20.0, 1.0, 30), (1000.2, 0.4, 60)] {
            let wrong = (0..300).filter(|case| {
                let mut draw = || match case % 2 {
                    0 => level + spread * (2.0 * random.uniform() - 1.0),
                    _ => level + spread / 2.0 * random.normal(),
                };
                let values: Vec<f64> = (0..n).map(|_| draw().round()).collect();
                two_modes(&samples(values)).is_some()
            });
            let wrong = wrong.count();
            assert!(wrong <= 9, "{level} {spread} {n}: {wrong} of 300");
        }
    }

    #[test]
    fn rounded_values_of_two_modes_are_named() {
        let values = [
            100.0, 101.0, 100.0, 100.0, 101.0, 130.0, 131.0, 130.0, 130.0,
        ];
        assert!(two_modes(&samples(values.to_vec())).is_some());
        // As few states as there can be.
        let values = [5.0, 9.0].repeat(8);
        assert!(two_modes(&samples(values)).is_some());
    }

    #[test]
    fn one_mode_is_seldom_taken_for_two() {
        let mut random = Random::seeded(3);
        for noise in [
            NoiseShape::Gauss,
            NoiseShape::Lognormal { sigma: 1.0 },
            NoiseShape::Outliers {
                share: 0.05,
                far: 10.0,
            },
        ] {
            for n in [10, 50, 300] {
                let wrong = (0..300)
                    .filter(|_| two_modes(&samples(noise.draw(n, &mut random))).is_some())
                    .count();
                assert!(wrong <= 9, "{noise:?} {n}: {wrong} of 300");
            }
        }
    }

    #[test]
    fn the_excess_is_twice_the_dip() {
        // Four values in two pairs: one interval over all but the gap's price, two without it. The dip of 0 0 1 1 is ¼.
        let gap = widest_split(&samples(vec![0.0, 0.0, 1.0, 1.0])).unwrap();
        assert!((gap.excess - 0.5).abs() < 1e-3, "{}", gap.excess);
    }

    #[test]
    fn shares_are_compared_as_fisher_does() {
        // R: fisher.test(matrix(c(3, 1, 1, 3), 2)) prints p-value = 0.4857 (the lady tasting tea).
        assert!((share_p(3, 4, 1, 4) - 0.4857).abs() < 5e-5);
        assert!((share_p(0, 5, 5, 5) - 2.0 / 252.0).abs() < 1e-12);
        assert!((share_p(2, 4, 2, 4) - 1.0).abs() < 1e-12);
    }
}
