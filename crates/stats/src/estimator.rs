//! How many trials make one measurement, and what is taken of them.
//!
//! The mean is best as long as the noise is alike on both sides. On a machine that others use as well it isn't: whatever
//! disturbs makes it worse, for some trials in a row, and what a program can do shows only where nothing disturbed. There
//! the best of several trials varies far less than their mean, and drifts less (J. Chen, J. Revels, "Robust benchmarking
//! in noisy environments", IEEE HPEC 2016). A processor that is now and then faster than usual makes a few trials better
//! than they are as a rule; there the second best or the fourth varies less than the best. Which it is is learnt from the
//! trials themselves.
//!
//! Refuses: to take the best where the means differ and the best don't: a change of how often something is slow.

use crate::Better;

/// What is taken of the trials of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Their mean.
    Mean,
    /// The best but so many: with 1 the least where less is better, the largest where more is.
    Best(usize),
}

/// How a measurement is made of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimator {
    /// Trials of one measurement; at least one.
    pub trials: usize,
    /// What is taken of them.
    pub statistic: Statistic,
}

/// What is considered: of so many trials the best, the second best, …
const BEST: [(usize, usize); 9] = [
    (4, 1),
    (8, 1),
    (16, 1),
    (32, 1),
    (64, 1),
    (64, 2),
    (64, 4),
    (128, 4),
    (128, 8),
];
/// So many times as much as the mean must the best tell for its trials, before it is taken.
const GAIN: f64 = 2.0;
/// Measurements that a series must be enough for, and degrees of freedom that all of them must have.
const FEWEST: usize = 2;
const FREEDOM: f64 = 3.0;
/// The means differ if they do by so many standard errors.
const DIFFER: f64 = 4.0;

impl Estimator {
    /// Each trial is a measurement.
    pub const EACH: Self = Self::mean(1);

    /// The mean of so many trials.
    #[must_use]
    pub const fn mean(trials: usize) -> Self {
        Self {
            trials,
            statistic: Statistic::Mean,
        }
    }

    /// The one that tells most for its trials, by series of trials, each of one version in order of time; the first and the
    /// last series are those of the versions that are furthest apart.
    #[must_use]
    pub fn learnt(series: &[Vec<f64>], better: Better) -> Self {
        let Some(single) = variance(series, (1, 1), better) else {
            return Self::EACH;
        };
        let mut learnt = Self::EACH;
        let mut least = single / GAIN;
        for (trials, rank) in BEST {
            let Some(variance) = variance(series, (trials, rank), better) else {
                continue;
            };
            let cost = variance * trials as f64;
            if cost < least && !hides(series, single, (trials, rank, variance), better) {
                least = cost;
                learnt = Self {
                    trials,
                    statistic: Statistic::Best(rank),
                };
            }
        }
        learnt
    }

    /// The measurement that these trials make; nothing where there are none.
    #[must_use]
    pub fn of(self, trials: &[f64], better: Better) -> Option<f64> {
        match self.statistic {
            Statistic::Mean if trials.is_empty() => None,
            Statistic::Mean => Some(trials.iter().sum::<f64>() / trials.len() as f64),
            Statistic::Best(rank) => best(trials, rank, better),
        }
    }
}

/// The best but `rank` - 1; the worst where there aren't so many, nothing where there is none. One pass, as windows of all
/// trials are looked at for each decision.
fn best(trials: &[f64], rank: usize, better: Better) -> Option<f64> {
    let precedes = |a: &f64, b: &f64| match better {
        Better::Lower => a.total_cmp(b).is_lt(),
        Better::Higher => a.total_cmp(b).is_gt(),
    };
    let mut best: Vec<f64> = Vec::with_capacity(rank + 1);
    for value in trials {
        if best.len() < rank || best.last().is_some_and(|last| precedes(value, last)) {
            let at = best.partition_point(|other| !precedes(value, other));
            best.insert(at, *value);
            best.truncate(rank);
        }
    }
    best.last().copied()
}

/// The variance of the best of so many successive trials about its series' mean, pooled; nothing where the series aren't
/// long enough. Windows overlap, so that little is lost; what the mean takes of it is given back.
fn variance(series: &[Vec<f64>], (trials, rank): (usize, usize), better: Better) -> Option<f64> {
    let (mut squares, mut weights, mut freedom) = (0.0, 0.0, 0.0);
    for values in series.iter().filter(|s| s.len() >= FEWEST * trials) {
        let windows = values.windows(trials);
        let taken: Vec<f64> = windows.filter_map(|w| best(w, rank, better)).collect();
        let n = taken.len() as f64;
        let mean = taken.iter().sum::<f64>() / n;
        let about: f64 = taken.iter().map(|x| (x - mean) * (x - mean)).sum();
        let given = 1.0 - trials as f64 / values.len() as f64;
        let weight = values.len() as f64;
        squares += weight * about / n / given;
        weights += weight;
        freedom += weight / trials as f64 - 1.0;
    }
    (freedom >= FREEDOM).then(|| squares / weights)
}

/// Whether the first and the last series differ by their means, and by their best far less.
fn hides(series: &[Vec<f64>], single: f64, of: (usize, usize, f64), better: Better) -> bool {
    let (Some(first), Some(last)) = (series.first(), series.last()) else {
        return false;
    };
    let apart = |(trials, rank, variance): (usize, usize, f64)| {
        let mean = |values: &[f64]| {
            let taken = values
                .chunks_exact(trials)
                .filter_map(|c| best(c, rank, better))
                .collect::<Vec<f64>>();
            (taken.iter().sum::<f64>() / taken.len() as f64, taken.len())
        };
        let ((a, of_a), (b, of_b)) = (mean(first), mean(last));
        (a - b).abs() / (variance * (1.0 / of_a as f64 + 1.0 / of_b as f64)).sqrt()
    };
    let means = apart((1, 1, single));
    means > DIFFER && 2.0 * apart(of) < means
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, simulate::Noise};

    /// Two series of trials that took turns, the second with this shift.
    fn series(noise: Noise, n: usize, shift: f64, seed: u64) -> Vec<Vec<f64>> {
        let drawn = noise.draw(2 * n, &mut Random::seeded(seed));
        let every = |from: usize| drawn.iter().skip(from).step_by(2);
        vec![
            every(0).map(|x| 100.0 + x).collect(),
            every(1).map(|x| 100.0 + shift + x).collect(),
        ]
    }

    #[test]
    fn where_the_noise_is_alike_on_both_sides_each_trial_is_a_measurement() {
        for noise in [
            Noise::Gauss,
            Noise::Autoregressive { keep: 0.5 },
            Noise::Outliers {
                share: 0.05,
                far: 10.0,
            },
        ] {
            let single = (0..100).filter(|seed| {
                let learnt = Estimator::learnt(&series(noise, 64, 1.0, *seed), Better::Lower);
                learnt == Estimator::EACH
            });
            assert!(single.count() >= 99, "{noise:?}");
        }
    }

    #[test]
    fn where_others_disturb_for_a_while_the_best_of_several_is_taken() {
        for (better, turn) in [(Better::Lower, 1.0), (Better::Higher, -1.0)] {
            let best = (0..100).filter(|seed| {
                let mut series = series(Noise::Disturbed { keep: 0.9 }, 256, 0.5, *seed);
                series.iter_mut().flatten().for_each(|x| *x *= turn);
                let learnt = Estimator::learnt(&series, better);
                matches!(learnt.statistic, Statistic::Best(_))
            });
            let best = best.count();
            assert!(best >= 90, "{better:?} {best}");
        }
    }

    #[test]
    fn a_change_of_how_often_it_is_slow_is_not_hidden() {
        let mut random = Random::seeded(3);
        let mut slow = |share: f64| -> Vec<f64> {
            let drawn = (0..256).map(|_| f64::from(u8::from(random.uniform() < share)));
            drawn.map(|slow| 100.0 + 30.0 * slow).collect()
        };
        let same = vec![slow(0.3), slow(0.3)];
        let jitter = |series: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let mut random = Random::seeded(4);
            let more = |x: f64, random: &mut Random| x + random.normal();
            let all = series.into_iter();
            all.map(|s| s.into_iter().map(|x| more(x, &mut random)).collect())
                .collect()
        };
        let changed = vec![slow(0.3), slow(0.7)];
        let same = Estimator::learnt(&jitter(same), Better::Lower);
        assert!(matches!(same.statistic, Statistic::Best(_)));
        let changed = Estimator::learnt(&jitter(changed), Better::Lower);
        assert_eq!(changed, Estimator::EACH);
    }

    #[test]
    fn where_a_few_trials_are_faster_than_usual_it_is_not_the_very_best() {
        let later = (0..50).filter(|seed| {
            let mut random = Random::seeded(*seed);
            let mut series = series(Noise::Disturbed { keep: 0.9 }, 512, 0.5, *seed);
            for value in series.iter_mut().flatten() {
                // One of fifty by a tenth of what disturbs.
                if random.uniform() < 0.02 {
                    *value -= 0.3 * random.uniform();
                }
            }
            let learnt = Estimator::learnt(&series, Better::Lower);
            matches!(learnt.statistic, Statistic::Best(rank) if rank > 1)
        });
        let later = later.count();
        assert!(later >= 40, "{later}");
    }

    #[test]
    fn what_is_taken_is_the_mean_or_one_of_the_best() {
        let best = Estimator {
            trials: 3,
            statistic: Statistic::Best(1),
        };
        let second = Estimator {
            statistic: Statistic::Best(2),
            ..best
        };
        assert_eq!(
            Estimator::mean(3).of(&[1.0, 2.0, 6.0], Better::Lower),
            Some(3.0)
        );
        assert_eq!(best.of(&[1.0, 2.0, 6.0], Better::Lower), Some(1.0));
        assert_eq!(best.of(&[1.0, 2.0, 6.0], Better::Higher), Some(6.0));
        assert_eq!(second.of(&[6.0, 1.0, 2.0], Better::Lower), Some(2.0));
        assert_eq!(second.of(&[6.0, 1.0, 2.0], Better::Higher), Some(2.0));
        assert_eq!(second.of(&[6.0], Better::Lower), Some(6.0));
        assert_eq!(best.of(&[], Better::Lower), None);
        assert_eq!(Estimator::learnt(&[], Better::Lower), Estimator::EACH);
    }
}
