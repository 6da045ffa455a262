//! Choice of the estimator: how many trials make one measurement, and which statistic of them.
//!
//! The mean is best if the noise is symmetric. On a shared machine it isn't: disturbances make trials worse, several in a row,
//! and only undisturbed trials show what a program can do. There the best of several trials varies far less than their mean,
//! and drifts less (J. Chen, J. Revels, "Robust benchmarking in noisy environments", IEEE HPEC 2016). A processor that is
//! faster now and then makes a few trials unusually good; there the second or fourth best varies less than the best. The trials
//! themselves show which one to take.
//!
//! The best isn't taken where the means of two versions differ and the best don't: how often something is slow has changed.

use crate::Better;

/// What is taken of the trials of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialStatistic {
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
    pub statistic: TrialStatistic,
}

/// What is known of how trials that follow each other are disturbed alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SerialDependence {
    /// Trials of a measurement, at least, so that it lasts while what disturbs comes and goes.
    pub fewest: usize,
    /// Whether trials that follow each other are alike: then each for itself is no measurement.
    pub drifts: bool,
}

/// When the best of several trials is a measurement. Chosen on trials of a shared machine, and of one whose processor is faster
/// now and then.
struct EstimatorParameters {
    /// Numbers of trials of a measurement.
    trials: [usize; 6],
    /// Ranks from the best of the trial that is taken…
    ranks: [usize; 5],
    /// …which are at most the number of trials over this.
    trials_per_rank: usize,
    /// The variance of the mean, over that of the best for as many trials, from which on the best is taken.
    min_gain_over_mean: f64,
    /// The same over that of another one of the best.
    min_gain_over_best: f64,
    /// Trials of a series that are better than what is taken, on average, at least.
    min_trials_better: usize,
    /// Measurements that the trials of all series are enough for, at least.
    min_measurements: usize,
    /// Trials that are used, at most; more cost time.
    max_trials: usize,
    /// Means of series differ from this many standard errors on.
    min_standard_errors: f64,
}

const PARAMETERS: EstimatorParameters = EstimatorParameters {
    trials: [4, 8, 16, 32, 64, 128],
    ranks: [1, 2, 4, 8, 16],
    trials_per_rank: 8,
    min_gain_over_mean: 2.5,
    min_gain_over_best: 1.3,
    min_trials_better: 3,
    min_measurements: 2,
    max_trials: 1024,
    min_standard_errors: 4.0,
};

impl Estimator {
    /// Each trial is a measurement.
    pub const EACH: Self = Self::mean(1);

    /// The mean of so many trials.
    #[must_use]
    pub const fn mean(trials: usize) -> Self {
        Self {
            trials,
            statistic: TrialStatistic::Mean,
        }
    }

    /// The one that tells most for its trials, by series of trials, each of one version in order of time; the first and the
    /// last series are those of the versions that are furthest apart. And the variance of such a measurement, where that
    /// can be said. What is measured by now is kept unless another tells far more.
    #[must_use]
    pub fn choose(
        series: &[&[f64]],
        better: Better,
        now: Self,
        weather: SerialDependence,
    ) -> (Self, Option<f64>) {
        let sorted = sorted(series, better);
        let Some(single) = variance(&sorted, (1, 1)) else {
            return (now, None);
        };
        let of = |estimator: Self| match estimator.statistic {
            TrialStatistic::Mean => Some(single / estimator.trials as f64),
            TrialStatistic::Best(rank) => variance(&sorted, (estimator.trials, rank)),
        };
        let hidden = |estimator: Self, variance: f64| match estimator.statistic {
            TrialStatistic::Mean => false,
            TrialStatistic::Best(rank) => {
                hides(series, single, (estimator.trials, rank, variance), better)
            }
        };
        let (mut learnt, mut variance) = match weather.drifts {
            true => {
                let several = Self::mean(weather.fewest);
                (several, single / several.trials as f64)
            }
            false => (Self::EACH, single),
        };
        if now.trials > 1
            && let Some(same) = of(now)
            && !hidden(now, same)
        {
            (learnt, variance) = (now, same);
        }
        let mut least = variance * learnt.trials as f64
            / match learnt.statistic {
                TrialStatistic::Mean if weather.drifts => 1.0,
                TrialStatistic::Mean => PARAMETERS.min_gain_over_mean,
                TrialStatistic::Best(_) => PARAMETERS.min_gain_over_best,
            };
        for (trials, rank) in considered().filter(|(trials, _)| *trials >= weather.fewest) {
            let best = Self {
                trials,
                statistic: TrialStatistic::Best(rank),
            };
            let Some(its) = of(best) else {
                continue;
            };
            let cost = its * trials as f64;
            if cost < least && !hidden(best, its) {
                (least, learnt, variance) = (cost, best, its);
            }
        }
        (learnt, Some(variance))
    }

    /// The measurement that these trials make; nothing where there are none.
    #[must_use]
    pub fn estimate(self, trials: &[f64], better: Better) -> Option<f64> {
        match self.statistic {
            TrialStatistic::Mean if trials.is_empty() => None,
            TrialStatistic::Mean => Some(trials.iter().sum::<f64>() / trials.len() as f64),
            TrialStatistic::Best(rank) => best(trials, rank, better),
        }
    }
}

/// The best but `rank` - 1; the worst where there aren't so many, nothing where there is none.
fn best(trials: &[f64], rank: usize, better: Better) -> Option<f64> {
    let mut trials = trials.to_vec();
    let at = rank.min(trials.len()).checked_sub(1)?;
    let (_, value, _) = trials.select_nth_unstable_by(at, |a, b| better.best_first(a, b));
    Some(*value)
}

/// Numbers of trials, and ranks of what is taken of them.
fn considered() -> impl Iterator<Item = (usize, usize)> {
    let ranks = |trials| PARAMETERS.ranks.map(|rank| (trials, rank));
    let all = PARAMETERS.trials.into_iter().flat_map(ranks);
    all.filter(|(trials, rank)| rank * PARAMETERS.trials_per_rank <= *trials || *rank == 1)
}

/// The longest series, the best trials first.
fn sorted(series: &[&[f64]], better: Better) -> Vec<Vec<f64>> {
    let mut longest = series.to_vec();
    longest.sort_by_key(|values| std::cmp::Reverse(values.len()));
    let mut left = PARAMETERS.max_trials;
    let mut sorted = Vec::new();
    for values in longest.into_iter().take_while(|values| values.len() > 1) {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(values.len());
        let mut values = values.to_vec();
        values.sort_by(|a, b| better.best_first(a, b));
        sorted.push(values);
    }
    sorted
}

/// The variance of the best but `rank` - 1 of so many trials, drawn from a series, pooled over them; nothing where they
/// aren't long enough. It is that of the bootstrap, exactly: at most the i-th of n is taken if at least `rank` of the drawn
/// are among the first i (J. S. Maritz, R. G. Jarrett, "A note on estimating the variance of the sample median", Journal of
/// the American Statistical Association 73, 1978).
fn variance(sorted: &[Vec<f64>], (trials, rank): (usize, usize)) -> Option<f64> {
    let (mut squares, mut weights) = (0.0, 0);
    for values in sorted {
        let n = values.len();
        if trials > 1 && (n * rank < PARAMETERS.min_trials_better * trials || 2 * n < trials) {
            continue;
        }
        let (mut mean, mut square, mut before) = (0.0, 0.0, 0.0);
        for (i, value) in values.iter().enumerate() {
            let until = at_least(rank, trials, (i + 1) as f64 / n as f64);
            let probability = until - before;
            before = until;
            // From the best, for exactness.
            let off = value - values[0];
            mean += probability * off;
            square += probability * off * off;
        }
        squares += n as f64 * (square - mean * mean).max(0.0);
        weights += n;
    }
    (weights >= PARAMETERS.min_measurements * trials.max(8)).then(|| squares / weights as f64)
}

/// How probable at least so many of so many are, each of this probability.
fn at_least(so_many: usize, of: usize, each: f64) -> f64 {
    if each >= 1.0 {
        return 1.0;
    }
    let mut exactly = (1.0 - each).powi(of as i32);
    let mut fewer = 0.0;
    for k in 0..so_many {
        fewer += exactly;
        exactly *= (of - k) as f64 / (k + 1) as f64 * each / (1.0 - each);
    }
    (1.0 - fewer).clamp(0.0, 1.0)
}

/// Whether the first and the last series differ by their means, and by their best far less.
fn hides(series: &[&[f64]], single: f64, of: (usize, usize, f64), better: Better) -> bool {
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
    means > PARAMETERS.min_standard_errors && 2.0 * apart(of) < means
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, simulation::NoiseShape};

    const FAIR: SerialDependence = SerialDependence {
        fewest: 1,
        drifts: false,
    };

    fn slices(series: &[Vec<f64>]) -> Vec<&[f64]> {
        series.iter().map(Vec::as_slice).collect()
    }

    fn learnt(series: &[Vec<f64>], better: Better) -> Estimator {
        Estimator::choose(&slices(series), better, Estimator::EACH, FAIR).0
    }

    /// Two series of trials that took turns, the second with this shift.
    fn series(noise: NoiseShape, n: usize, shift: f64, seed: u64) -> Vec<Vec<f64>> {
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
            NoiseShape::Gauss,
            NoiseShape::Autoregressive { keep: 0.5 },
            NoiseShape::Outliers {
                share: 0.05,
                far: 10.0,
            },
        ] {
            let single = (0..100).filter(|seed| {
                let learnt = learnt(&series(noise, 64, 1.0, *seed), Better::Lower);
                learnt == Estimator::EACH
            });
            assert!(single.count() >= 99, "{noise:?}");
        }
    }

    #[test]
    fn where_others_disturb_for_a_while_the_best_of_several_is_taken() {
        for (better, turn) in [(Better::Lower, 1.0), (Better::Higher, -1.0)] {
            let best = (0..100).filter(|seed| {
                let mut series = series(NoiseShape::Disturbed { keep: 0.9 }, 256, 0.5, *seed);
                series.iter_mut().flatten().for_each(|x| *x *= turn);
                let learnt = learnt(&series, better);
                matches!(learnt.statistic, TrialStatistic::Best(_))
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
        let same = learnt(&jitter(same), Better::Lower);
        assert!(matches!(same.statistic, TrialStatistic::Best(_)));
        let changed = learnt(&jitter(changed), Better::Lower);
        assert_eq!(changed, Estimator::EACH);
    }

    #[test]
    fn where_a_few_trials_are_faster_than_usual_it_is_not_the_very_best() {
        let later = (0..50).filter(|seed| {
            let mut random = Random::seeded(*seed);
            let mut series = series(NoiseShape::Disturbed { keep: 0.9 }, 512, 0.5, *seed);
            for value in series.iter_mut().flatten() {
                // One of fifty by a tenth of what disturbs.
                if random.uniform() < 0.02 {
                    *value -= 0.3 * random.uniform();
                }
            }
            let learnt = learnt(&series, Better::Lower);
            matches!(learnt.statistic, TrialStatistic::Best(rank) if rank > 1)
        });
        let later = later.count();
        assert!(later >= 40, "{later}");
    }

    #[test]
    fn what_is_taken_is_the_mean_or_one_of_the_best() {
        let best = Estimator {
            trials: 3,
            statistic: TrialStatistic::Best(1),
        };
        let second = Estimator {
            statistic: TrialStatistic::Best(2),
            ..best
        };
        assert_eq!(
            Estimator::mean(3).estimate(&[1.0, 2.0, 6.0], Better::Lower),
            Some(3.0)
        );
        assert_eq!(best.estimate(&[1.0, 2.0, 6.0], Better::Lower), Some(1.0));
        assert_eq!(best.estimate(&[1.0, 2.0, 6.0], Better::Higher), Some(6.0));
        assert_eq!(second.estimate(&[6.0, 1.0, 2.0], Better::Lower), Some(2.0));
        assert_eq!(second.estimate(&[6.0, 1.0, 2.0], Better::Higher), Some(2.0));
        assert_eq!(second.estimate(&[6.0], Better::Lower), Some(6.0));
        assert_eq!(best.estimate(&[], Better::Lower), None);
        assert_eq!(learnt(&[], Better::Lower), Estimator::EACH);
    }

    #[test]
    fn the_variance_of_what_is_taken_is_that_of_what_is_drawn() {
        let mut random = Random::seeded(11);
        let values = NoiseShape::Disturbed { keep: 0.0 }.draw(400, &mut random);
        let all = sorted(&[&values[..]], Better::Lower);
        for (trials, rank) in [(8, 1), (64, 4), (128, 8)] {
            let said = variance(&all, (trials, rank)).unwrap();
            let drawn = (0..4000).map(|_| {
                let some: Vec<f64> = (0..trials).map(|_| values[random.below(400)]).collect();
                best(&some, rank, Better::Lower).unwrap()
            });
            let drawn: Vec<f64> = drawn.collect();
            let mean = drawn.iter().sum::<f64>() / 4000.0;
            let seen = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4000.0;
            assert!(
                (seen / said - 1.0).abs() < 0.2,
                "{trials} {rank}: {seen} {said}"
            );
        }
    }

    #[test]
    fn what_is_measured_by_stays_unless_another_tells_far_more() {
        let series = series(NoiseShape::Disturbed { keep: 0.9 }, 512, 0.5, 5);
        let series = slices(&series);
        let (first, variance) = Estimator::choose(&series, Better::Lower, Estimator::EACH, FAIR);
        assert!(first.trials > 1 && variance.unwrap() > 0.0);
        // A neighbour that is nearly as good isn't given up for it.
        let near = Estimator {
            trials: first.trials,
            statistic: match first.statistic {
                TrialStatistic::Best(rank) if rank > 1 => TrialStatistic::Best(rank / 2),
                _ => TrialStatistic::Best(2),
            },
        };
        let sorted = sorted(&series, Better::Lower);
        let cost = |of: Estimator| match of.statistic {
            TrialStatistic::Best(rank) => super::variance(&sorted, (of.trials, rank)),
            TrialStatistic::Mean => None,
        };
        let is_near = cost(near).unwrap() < PARAMETERS.min_gain_over_best * cost(first).unwrap();
        let (kept, _) = Estimator::choose(&series, Better::Lower, near, FAIR);
        assert_eq!(kept == near, is_near);
    }
}
