//! Variance components: the spread of each level (trial, boot, layout), and the cheapest repeats for a wanted precision. The
//! share of a level that wasn't repeated is unknown, not zero.

use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

use crate::distributions::normal_quantile;
use crate::{Confidence, Interval, Level, NestedSamples, Undefined};

/// The share of one level in the variance of a single sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VarianceComponent {
    /// Which level was repeated.
    pub level: Level,
    /// How many of it there are on average (the harmonic mean) in one of the level above.
    pub repeats: f64,
    /// The variance that this level adds, in the square of the samples' unit; an estimate below zero is zero.
    pub variance: f64,
    /// Its interval, cut at zero.
    pub interval: Interval,
}

/// The variance components of one side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VarianceComponents {
    /// The mean of the means of the means: every group counts alike.
    pub mean: f64,
    /// From [`Level::Sample`] up to the highest level that was repeated, levels without repeats left out.
    pub components: Vec<VarianceComponent>,
    /// The interval of `mean`, from the spread of the highest level alone.
    pub mean_interval: Interval,
}

/// Splits the variance of a side by level.
///
/// Source: T. Kalibera, R. Jones, *Rigorous Benchmarking in Reasonable Time* (ISMM 2013), section 6: Sᵢ² is the mean
/// variance of the means of level i, Tᵢ² = Sᵢ² − Sᵢ₋₁²/rᵢ₋₁. With unequal groups rᵢ is the harmonic mean. Intervals
/// of the Tᵢ²: N. Ting et al., "Confidence intervals on linear combinations of variance components that are
/// unrestricted in sign", J. Stat. Comput. Simul. 35 (1990).
///
/// # Errors
/// [`Undefined::TooFew`] if no level was repeated.
pub fn components(
    side: &NestedSamples,
    confidence: Confidence,
) -> Result<VarianceComponents, Undefined> {
    let nested = side.nested();
    let samples: Vec<Vec<f64>> = nested.iter().flatten().flatten().cloned().collect();
    let trials: Vec<Vec<f64>> = nested
        .iter()
        .flatten()
        .map(|boot| boot.iter().map(|t| crate::sums::mean(t)).collect())
        .collect();
    let boots: Vec<Vec<f64>> = nested
        .iter()
        .map(|layout| {
            layout
                .iter()
                .map(|boot| mean_of(boot.iter().map(|t| crate::sums::mean(t))))
                .collect()
        })
        .collect();
    let layouts: Vec<Vec<f64>> = vec![
        boots
            .iter()
            .map(|layout| crate::sums::mean(layout))
            .collect(),
    ];
    let levels = [
        (Level::Sample, samples),
        (Level::Trial, trials),
        (Level::Boot, boots),
        (Level::Layout, layouts),
    ];
    let spreads: Vec<Spread> = levels
        .iter()
        .filter_map(|(level, groups)| Spread::from_groups(*level, groups))
        .collect();
    let Some(top) = spreads.last() else {
        return Err(Undefined::TooFew { needs: 2, has: 1 });
    };
    let mean = crate::sums::mean(&levels[3].1[0]);
    let reach = crate::distributions::t_quantile(confidence, top.freedom)
        * (top.variance / top.groups_size).sqrt();
    let components = spreads
        .iter()
        .enumerate()
        .map(|(i, spread)| {
            // What the levels below make of this level's spread is left out of it.
            let below = i.checked_sub(1).map(|below| &spreads[below]);
            let variance =
                spread.variance - below.map_or(0.0, |below| below.variance / below.groups_size);
            VarianceComponent {
                level: spread.level,
                repeats: spread.groups_size,
                variance: variance.max(0.0),
                interval: interval(spread, below, confidence),
            }
        })
        .collect();
    Ok(VarianceComponents {
        mean,
        components,
        mean_interval: Interval {
            low: mean - reach,
            high: mean + reach,
        },
    })
}

fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    crate::sums::mean(&values.collect::<Vec<_>>())
}

/// The variance within groups of one level, averaged over the groups.
struct Spread {
    level: Level,
    /// S².
    variance: f64,
    freedom: f64,
    /// The harmonic mean of the groups' sizes.
    groups_size: f64,
}

impl Spread {
    /// `None` if no group has two.
    fn from_groups(level: Level, groups: &[Vec<f64>]) -> Option<Self> {
        let freedom: usize = groups.iter().map(|group| group.len() - 1).sum();
        if freedom == 0 {
            return None;
        }
        let squares: f64 = groups
            .iter()
            .map(|group| crate::sums::root_of_squares(group, crate::sums::mean(group)).powi(2))
            .sum();
        let inverse: f64 = groups.iter().map(|group| 1.0 / group.len() as f64).sum();
        let freedom = freedom as f64;
        Some(Spread {
            level,
            variance: squares / freedom,
            freedom,
            groups_size: groups.len() as f64 / inverse,
        })
    }
}

/// Ting et al. (1990), eqs. 2.4 and 2.5, for S₁² − S₂²/r.
fn interval(spread: &Spread, below: Option<&Spread>, confidence: Confidence) -> Interval {
    let tail = confidence.tail();
    let s1 = spread.variance;
    let chi =
        |p: f64, freedom: f64| ChiSquared::new(freedom).map_or(1.0, |c| c.inverse_cdf(p) / freedom);
    let (upper1, lower1) = (
        chi(1.0 - tail, spread.freedom),
        chi(tail, spread.freedom).max(f64::MIN_POSITIVE),
    );
    let Some(below) = below else {
        return Interval {
            low: s1 / upper1,
            high: s1 / lower1,
        };
    };
    let s2 = below.variance / below.groups_size;
    let (upper2, lower2) = (
        chi(1.0 - tail, below.freedom),
        chi(tail, below.freedom).max(f64::MIN_POSITIVE),
    );
    let f = |p: f64| {
        FisherSnedecor::new(spread.freedom, below.freedom).map_or(1.0, |f| f.inverse_cdf(p))
    };
    let (upper_f, lower_f) = (f(1.0 - tail), f(tail).max(f64::MIN_POSITIVE));
    let (g1, h2) = (1.0 - 1.0 / upper1, 1.0 / lower2 - 1.0);
    let g12 = ((upper_f - 1.0).powi(2) - (g1 * upper_f).powi(2) - h2 * h2) / upper_f;
    let (h1, g2) = (1.0 / lower1 - 1.0, 1.0 - 1.0 / upper2);
    let h12 = ((1.0 - lower_f).powi(2) - (h1 * lower_f).powi(2) - g2 * g2) / lower_f;
    let down = ((g1 * s1).powi(2) + (h2 * s2).powi(2) + g12 * s1 * s2)
        .max(0.0)
        .sqrt();
    let up = ((h1 * s1).powi(2) + (g2 * s2).powi(2) + h12 * s1 * s2)
        .max(0.0)
        .sqrt();
    let difference = s1 - s2;
    Interval {
        low: (difference - down).max(0.0),
        high: (difference + up).max(0.0),
    }
}

/// What one more of a level costs, in seconds or any other unit; what lies within it is not included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicationCost {
    /// One more sample in a trial.
    pub sample: f64,
    /// Starting one more trial.
    pub trial: f64,
    /// One more boot.
    pub boot: f64,
    /// One more build or relink.
    pub layout: f64,
}

impl ReplicationCost {
    fn at_level(&self, level: Level) -> f64 {
        match level {
            Level::Sample => self.sample,
            Level::Trial | Level::Session => self.trial,
            Level::Boot => self.boot,
            // Hosts are no part of the nesting that is bought.
            Level::Layout | Level::Host => self.layout,
        }
    }
}

/// How many repeats of each level to make.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplicationAdvice {
    /// From the lowest repeated level to the highest: how many of it in one of the next.
    pub repeats: Vec<(Level, usize)>,
    /// What all of that costs, in the unit of the costs given.
    pub cost: f64,
    /// The half width that the interval of the mean is then expected to have, relative to the mean.
    pub precision: f64,
}

/// The cheapest repeats that reach `precision` (half width of the interval over the mean, e.g. 0.01).
///
/// Source: Kalibera & Jones (2013), section 6.3: rᵢ = √((cᵢ₊₁/cᵢ)·(Tᵢ²/Tᵢ₊₁²)) within each level, and of the highest as
/// many as the precision needs.
///
/// # Errors
/// [`Undefined::ZeroMean`] if the mean is zero, [`Undefined::NotPositive`] if a cost or the precision isn't positive.
pub fn advice(
    found: &VarianceComponents,
    cost: &ReplicationCost,
    precision: f64,
    confidence: Confidence,
) -> Result<ReplicationAdvice, Undefined> {
    if found.mean == 0.0 {
        return Err(Undefined::ZeroMean);
    }
    let parts = &found.components;
    if precision <= 0.0 || parts.iter().any(|part| cost.at_level(part.level) <= 0.0) {
        return Err(Undefined::NotPositive);
    }
    let mut repeats: Vec<(Level, usize)> = Vec::new();
    for pair in parts.windows(2) {
        let cheaper = cost.at_level(pair[1].level) / cost.at_level(pair[0].level);
        // A higher level that adds nothing needs no repeats: as many below as were ever made at once will do.
        let wanted = if pair[1].variance > 0.0 {
            (cheaper * pair[0].variance / pair[1].variance).sqrt()
        } else {
            pair[0].repeats
        };
        repeats.push((pair[0].level, (wanted.ceil() as usize).clamp(1, 10_000)));
    }
    // The variance of one of the highest level's means with these repeats inside.
    let mut variance = 0.0;
    for (i, part) in parts.iter().enumerate() {
        let within: f64 = repeats[i.min(repeats.len())..]
            .iter()
            .map(|(_, count)| *count as f64)
            .product();
        variance += part.variance / within;
    }
    let reach = |count: usize| {
        crate::distributions::t_quantile(confidence, (count - 1) as f64)
            * (variance / count as f64).sqrt()
            / found.mean.abs()
    };
    // Student's quantile falls with the count: start from the normal one and count up.
    let normal = -normal_quantile(confidence.tail());
    let mut count = ((normal * variance.sqrt() / (precision * found.mean.abs()))
        .powi(2)
        .min(1e6) as usize)
        .max(2);
    while count < 1_000_000 && reach(count) > precision {
        count += 1 + count / 50;
    }
    let precision = reach(count);
    if let Some(top) = parts.last() {
        repeats.push((top.level, count));
    }
    let cost = repeats.iter().rev().scan(1.0, |made, (level, count)| {
        *made *= *count as f64;
        Some(*made * cost.at_level(*level))
    });
    Ok(ReplicationAdvice {
        cost: cost.sum(),
        repeats,
        precision,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NestedSample, Random};

    /// Layouts, boots, trials and samples with the given standard deviations.
    fn nested(counts: [u64; 4], deviations: [f64; 4], random: &mut Random) -> NestedSamples {
        let mut placed = Vec::new();
        for layout in 0..counts[3] {
            let at_layout = 100.0 + deviations[3] * random.normal();
            for boot in 0..counts[2] {
                let at_boot = at_layout + deviations[2] * random.normal();
                for trial in 0..counts[1] {
                    let at_trial = at_boot + deviations[1] * random.normal();
                    for _ in 0..counts[0] {
                        placed.push(NestedSample {
                            host: 0,
                            layout,
                            boot,
                            session: 0,
                            trial,
                            value: at_trial + deviations[0] * random.normal(),
                        });
                    }
                }
            }
        }
        NestedSamples::new(placed).unwrap()
    }

    #[test]
    fn every_level_gets_its_share() {
        let side = nested(
            [10, 10, 10, 40],
            [1.0, 2.0, 3.0, 4.0],
            &mut Random::seeded(1),
        );
        let found = components(&side, Confidence::USUAL).unwrap();
        let levels: Vec<Level> = found.components.iter().map(|c| c.level).collect();
        assert_eq!(
            levels,
            [Level::Sample, Level::Trial, Level::Boot, Level::Layout]
        );
        for (component, expected) in found.components.iter().zip([1.0, 4.0, 9.0, 16.0]) {
            assert!(
                (component.variance / expected - 1.0).abs() < 0.5,
                "{component:?}"
            );
            assert!(
                component.interval.contains(component.variance),
                "{component:?}"
            );
        }
        assert!(found.mean_interval.contains(100.0));
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_stated() {
        let mut random = Random::seeded(2);
        let (mut trials, mut samples, mut means) = (0, 0, 0);
        for _ in 0..300 {
            let found = components(
                &nested([5, 10, 1, 1], [1.0, 1.0, 0.0, 0.0], &mut random),
                Confidence::USUAL,
            )
            .unwrap();
            samples += usize::from(found.components[0].interval.contains(1.0));
            trials += usize::from(found.components[1].interval.contains(1.0));
            means += usize::from(found.mean_interval.contains(100.0));
        }
        for covered in [samples, trials, means] {
            assert!(
                (273..=297).contains(&covered),
                "{samples} {trials} {means} of 300"
            );
        }
    }

    #[test]
    fn levels_that_were_not_repeated_have_no_share() {
        let side = nested([1, 4, 1, 1], [1.0, 1.0, 0.0, 0.0], &mut Random::seeded(3));
        let found = components(&side, Confidence::USUAL).unwrap();
        assert_eq!(
            found.components.iter().map(|c| c.level).collect::<Vec<_>>(),
            [Level::Trial]
        );
        let one = nested([1, 1, 1, 1], [1.0; 4], &mut Random::seeded(3));
        assert_eq!(
            components(&one, Confidence::USUAL),
            Err(Undefined::TooFew { needs: 2, has: 1 })
        );
    }

    #[test]
    fn advice_buys_more_of_what_varies_and_is_cheap() {
        let found = VarianceComponents {
            mean: 100.0,
            components: vec![
                VarianceComponent {
                    level: Level::Trial,
                    repeats: 5.0,
                    variance: 4.0,
                    interval: Interval {
                        low: 0.0,
                        high: 9.0,
                    },
                },
                VarianceComponent {
                    level: Level::Boot,
                    repeats: 5.0,
                    variance: 1.0,
                    interval: Interval {
                        low: 0.0,
                        high: 9.0,
                    },
                },
            ],
            mean_interval: Interval {
                low: 99.0,
                high: 101.0,
            },
        };
        let cost = ReplicationCost {
            sample: 1.0,
            trial: 10.0,
            boot: 90.0,
            layout: 600.0,
        };
        let advice = advice(&found, &cost, 0.01, Confidence::USUAL).unwrap();
        // √(90/10 · 4/1) = 6 trials a boot, so that a boot's mean has the variance 1 + 4/6; the half width of n boots'
        // mean is t·√(1.67/n) ≤ 1 from n = 9 on.
        assert_eq!(advice.repeats, [(Level::Trial, 6), (Level::Boot, 9)]);
        assert_eq!(advice.cost, 9.0 * 90.0 + 54.0 * 10.0);
        assert!(advice.precision <= 0.01);
        assert_eq!(
            super::advice(&found, &cost, 0.0, Confidence::USUAL),
            Err(Undefined::NotPositive)
        );
    }
}
