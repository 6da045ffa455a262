//! Rows of a comparison table: means, best-first trimmed means, percentiles, spreads.
//!
//! Names and figures agree with what MMTests' `compare-mmtests.pl` prints for the same samples, except where that is wrong: its
//! median for odd n, its 0.00 for a harmonic mean that doesn't exist, its NaN and Inf. A definition without a value gives
//! [`Undefined`].

use serde::Serialize;

use crate::sums::{self, Sum};
use crate::undefined::finite;
use crate::{Better, Samples, Undefined};

/// The percentages of best samples that a [`Summary`] has `BAmean.N`, `BHmean.N` and `Pctile.N` for.
pub const SUMMARY_PERCENTS: [u8; 5] = [50, 75, 90, 95, 99];

/// Every summary of the samples of one metric in one cell. Values have the unit of the samples, `coeffvar` and
/// `hcoeffvar` are in percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// How many samples.
    pub n: usize,
    /// The direction that says which samples are the best.
    pub better: Better,
    /// The smallest sample.
    pub min: f64,
    /// The first quartile: [`Samples::quantile`] of 0.25.
    pub first_quartile: f64,
    /// [`Samples::median`].
    pub median: f64,
    /// The third quartile: [`Samples::quantile`] of 0.75.
    pub third_quartile: f64,
    /// The largest sample.
    pub max: f64,
    /// [`Samples::amean`], the mean to show for durations.
    pub amean: f64,
    /// [`Samples::hmean`], the mean to show for rates.
    pub hmean: Result<f64, Undefined>,
    /// [`Samples::gmean`].
    pub gmean: Result<f64, Undefined>,
    /// [`Samples::stddev`], shown beside `amean`.
    pub stddev: Result<f64, Undefined>,
    /// [`Samples::coeffvar`], in percent.
    pub coeffvar: Result<f64, Undefined>,
    /// [`Samples::hstddev`], shown beside `hmean`.
    pub hstddev: Result<f64, Undefined>,
    /// [`Samples::hcoeffvar`], in percent.
    pub hcoeffvar: Result<f64, Undefined>,
    /// `BAmean.N` and `BHmean.N` for each of [`SUMMARY_PERCENTS`].
    pub best: [BestMeans; SUMMARY_PERCENTS.len()],
    /// `Pctile.N` for each of [`SUMMARY_PERCENTS`].
    pub pctiles: [Percentile; SUMMARY_PERCENTS.len()],
}

/// The means of the best N% of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BestMeans {
    /// N of `BAmean.N`.
    pub percent: u8,
    /// The arithmetic mean of the best N%.
    pub amean: f64,
    /// The harmonic mean of the best N%.
    pub hmean: Result<f64, Undefined>,
}

/// The value that N% of the samples are at least as good as.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentile {
    /// N of `Pctile.N`.
    pub percent: u8,
    /// The value at that rank, best first.
    pub value: f64,
}

impl Summary {
    /// Computes all summaries in a few passes over the samples.
    #[must_use]
    pub fn new(samples: &Samples, better: Better) -> Self {
        let amean = samples.amean();
        let stddev = samples.stddev();
        let hmean = samples.hmean();
        let hstddev = hmean.and_then(|hmean| hstddev_around(samples, hmean));
        Summary {
            n: samples.n(),
            better,
            min: samples.min(),
            first_quartile: quantile(samples, 0.25),
            median: samples.median(),
            third_quartile: quantile(samples, 0.75),
            max: samples.max(),
            amean,
            hmean,
            gmean: samples.gmean(),
            stddev,
            coeffvar: stddev.and_then(|stddev| percent_of(stddev, amean)),
            hstddev,
            hcoeffvar: hstddev.and_then(|hstddev| percent_of(hstddev, hmean?)),
            best: best_means(samples, better),
            pctiles: SUMMARY_PERCENTS.map(|percent| Percentile {
                percent,
                value: nth_best(samples, best_count(samples, percent), better),
            }),
        }
    }
}

/// Definitions one by one; [`Summary::new`] has them all at once.
impl Samples {
    /// The arithmetic mean Σx/n: the mean of durations.
    #[must_use]
    pub fn amean(&self) -> f64 {
        sums::mean(self.ascending())
    }

    /// The harmonic mean n / Σ(1/x): the mean of rates.
    ///
    /// # Errors
    /// [`Undefined::NotPositive`] if any sample is zero or negative.
    pub fn hmean(&self) -> Result<f64, Undefined> {
        harmonic_mean(self.ascending())
    }

    /// The geometric mean exp(Σ ln x / n).
    ///
    /// # Errors
    /// [`Undefined::NotPositive`] if any sample is zero or negative.
    pub fn gmean(&self) -> Result<f64, Undefined> {
        if self.min() <= 0.0 {
            return Err(Undefined::NotPositive);
        }
        let mean_log = sums::sum(self.ascending().iter().map(|x| x.ln())) / self.n() as f64;
        // exp(ln x) may miss x by a rounding; a mean lies between the smallest and the largest.
        Ok(mean_log.exp().clamp(self.min(), self.max()))
    }

    /// `BAmean.N`: the arithmetic mean of the best max(1, ⌊n·N/100⌋) samples.
    ///
    /// # Errors
    /// [`Undefined::NoSuchPercent`] unless 1 ≤ `percent` ≤ 100.
    pub fn best_amean(&self, percent: u8, better: Better) -> Result<f64, Undefined> {
        check_percent(percent)?;
        Ok(sums::mean(best(self, best_count(self, percent), better)))
    }

    /// `BHmean.N`: the harmonic mean of the best max(1, ⌊n·N/100⌋) samples.
    ///
    /// # Errors
    /// [`Undefined::NoSuchPercent`] unless 1 ≤ `percent` ≤ 100; [`Undefined::NotPositive`] if one of the best is
    /// zero or negative.
    pub fn best_hmean(&self, percent: u8, better: Better) -> Result<f64, Undefined> {
        check_percent(percent)?;
        harmonic_mean(best(self, best_count(self, percent), better))
    }

    /// `Pctile.N`: sorted best first, the sample at rank max(1, ⌊n·N/100⌋). Say on a table which side is best.
    ///
    /// # Errors
    /// [`Undefined::NoSuchPercent`] unless 1 ≤ `percent` ≤ 100.
    pub fn pctile(&self, percent: u8, better: Better) -> Result<f64, Undefined> {
        check_percent(percent)?;
        Ok(nth_best(self, best_count(self, percent), better))
    }

    /// The quantile at `p` by linear interpolation between order statistics, `None` unless 0 ≤ `p` ≤ 1.
    ///
    /// Source: Hyndman & Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996),
    /// definition 7; R's and NumPy's default.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<f64> {
        (0.0..=1.0).contains(&p).then(|| quantile(self, p))
    }

    /// The quantile at 0.5: the middle sample, or the mean of the two in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        quantile(self, 0.5)
    }

    /// The sample standard deviation √(Σ(x−mean)²/(n−1)).
    ///
    /// # Errors
    /// [`Undefined::TooFew`] for a single sample; [`Undefined::TooLarge`] if it overflows.
    pub fn stddev(&self) -> Result<f64, Undefined> {
        if self.n() < 2 {
            return Err(Undefined::TooFew {
                needs: 2,
                has: self.n(),
            });
        }
        let root = sums::root_of_squares(self.ascending(), self.amean());
        finite(root / ((self.n() - 1) as f64).sqrt())
    }

    /// The coefficient of variation 100·stddev/amean, in percent.
    ///
    /// # Errors
    /// As [`Samples::stddev`]; [`Undefined::ZeroMean`] if the mean is zero.
    pub fn coeffvar(&self) -> Result<f64, Undefined> {
        percent_of(self.stddev()?, self.amean())
    }

    /// The spread printed beside the harmonic mean H: √(H⁴·Σ(1/x − 1/H)²/n).
    ///
    /// # Errors
    /// As [`Samples::hmean`]; [`Undefined::TooFew`] for a single sample, whose spread is unknown and not zero.
    pub fn hstddev(&self) -> Result<f64, Undefined> {
        hstddev_around(self, self.hmean()?)
    }

    /// 100·hstddev/hmean, in percent.
    ///
    /// # Errors
    /// As [`Samples::hstddev`].
    pub fn hcoeffvar(&self) -> Result<f64, Undefined> {
        let hmean = self.hmean()?;
        percent_of(hstddev_around(self, hmean)?, hmean)
    }
}

fn check_percent(percent: u8) -> Result<(), Undefined> {
    if (1..=100).contains(&percent) {
        Ok(())
    } else {
        Err(Undefined::NoSuchPercent(percent))
    }
}

/// max(1, ⌊n·N/100⌋), in integers because 100·0.29 is less than 29 in floats.
fn best_count(samples: &Samples, percent: u8) -> usize {
    let count = samples.n() as u128 * u128::from(percent) / 100;
    (count as usize).max(1)
}

/// The best `count` samples, in ascending order.
fn best(samples: &Samples, count: usize, better: Better) -> &[f64] {
    let all = samples.ascending();
    match better {
        Better::Lower | Better::Neither => &all[..count],
        Better::Higher => &all[all.len() - count..],
    }
}

/// The sample at rank `nth` (from 1), best first.
fn nth_best(samples: &Samples, nth: usize, better: Better) -> f64 {
    let all = samples.ascending();
    match better {
        Better::Lower | Better::Neither => all[nth - 1],
        Better::Higher => all[all.len() - nth],
    }
}

/// min·n / Σ(min/x): the harmonic mean without the overflow of 1/x for tiny x. `ascending` isn't empty.
fn harmonic_mean(ascending: &[f64]) -> Result<f64, Undefined> {
    let min = ascending[0];
    if min <= 0.0 {
        return Err(Undefined::NotPositive);
    }
    let inverse = sums::sum(ascending.iter().map(|x| min / x)) / ascending.len() as f64;
    Ok(min / inverse)
}

/// H·√(Σ(H/x − 1)²/n), which is √(H⁴·Σ(1/x − 1/H)²/n) without its overflows.
fn hstddev_around(samples: &Samples, hmean: f64) -> Result<f64, Undefined> {
    if samples.n() < 2 {
        return Err(Undefined::TooFew {
            needs: 2,
            has: samples.n(),
        });
    }
    let squares = sums::sum(samples.ascending().iter().map(|x| {
        let part = hmean / x - 1.0;
        part * part
    }));
    finite(hmean * (squares / samples.n() as f64).sqrt())
}

fn percent_of(spread: f64, mean: f64) -> Result<f64, Undefined> {
    if mean == 0.0 {
        return Err(Undefined::ZeroMean);
    }
    finite(100.0 * spread / mean)
}

fn quantile(samples: &Samples, p: f64) -> f64 {
    let all = samples.ascending();
    let place = p * (all.len() - 1) as f64;
    let (below, above) = (all[place.floor() as usize], all[place.ceil() as usize]);
    let share = place.fract();
    // Weighted rather than `below + share·(above − below)`, whose difference may overflow.
    if below == above {
        below
    } else {
        below * (1.0 - share) + above * share
    }
}

/// The trimmed means of all [`SUMMARY_PERCENTS`] in one pass, best first.
fn best_means(samples: &Samples, better: Better) -> [BestMeans; SUMMARY_PERCENTS.len()] {
    let n = samples.n();
    // Harmonic sums are scaled by the best positive sample, as in `harmonic_mean`.
    let scale = nth_best(samples, 1, better);
    let (mut direct, mut inverse) = (Sum::default(), Sum::default());
    let mut positive = true;
    let mut added = 0;
    SUMMARY_PERCENTS.map(|percent| {
        let count = best_count(samples, percent).min(n);
        while added < count {
            added += 1;
            let x = nth_best(samples, added, better);
            direct.add(x);
            positive &= x > 0.0;
            inverse.add(scale / x);
        }
        let amean = direct.value() / count as f64;
        let hmean = scale / (inverse.value() / count as f64);
        BestMeans {
            percent,
            amean: if amean.is_finite() {
                amean
            } else {
                sums::mean(best(samples, count, better))
            },
            hmean: match positive {
                false => Err(Undefined::NotPositive),
                true if hmean.is_finite() && hmean > 0.0 => Ok(hmean),
                true => harmonic_mean(best(samples, count, better)),
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mmtests_percent;
    use proptest::prelude::*;

    fn samples(values: &[f64]) -> Samples {
        Samples::new(values.to_vec()).unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-300)
    }

    #[test]
    fn the_worked_example_of_mmtests_comes_out_as_printed() {
        let base = Summary::new(&samples(&[3.5, 3.1, 3.9]), Better::Lower);
        let new = Summary::new(&samples(&[4.5, 4.1, 4.9]), Better::Lower);
        let row = |base: f64, new: f64| {
            let percent = mmtests_percent(base, new, Better::Lower).unwrap();
            format!("{base:.2} {new:.2} ({percent:.2}%)")
        };
        assert_eq!(row(base.min, new.min), "3.10 4.10 (-32.26%)");
        assert_eq!(row(base.amean, new.amean), "3.50 4.50 (-28.57%)");
        assert_eq!(
            row(base.stddev.unwrap(), new.stddev.unwrap()),
            "0.40 0.40 (-0.00%)"
        );
        assert_eq!(
            row(base.coeffvar.unwrap(), new.coeffvar.unwrap()),
            "11.43 8.89 (22.22%)"
        );
        assert_eq!(row(base.max, new.max), "3.90 4.90 (-25.64%)");
        let (base95, new95) = (base.best[3], new.best[3]);
        assert_eq!(base95.percent, 95);
        assert_eq!(row(base95.amean, new95.amean), "3.30 4.30 (-30.30%)");
    }

    #[test]
    fn the_mean_of_rates_is_harmonic() {
        // Jain (1991), section 12.4: equal work at 10 and at 30 units per second takes as long as at 15.
        let rates = samples(&[10.0, 30.0]);
        assert!(close(rates.hmean().unwrap(), 15.0));
        // √(15⁴·((1/10−1/15)² + (1/30−1/15)²)/2) = 225·(1/30)
        assert!(close(rates.hstddev().unwrap(), 7.5));
        assert!(close(rates.hcoeffvar().unwrap(), 50.0));
    }

    #[test]
    fn a_single_sample_has_a_mean_but_no_spread() {
        let one = Summary::new(&samples(&[2.5]), Better::Higher);
        let too_few = Err(Undefined::TooFew { needs: 2, has: 1 });
        assert_eq!(
            (one.n, one.min, one.median, one.max, one.amean),
            (1, 2.5, 2.5, 2.5, 2.5)
        );
        assert_eq!((one.hmean, one.gmean), (Ok(2.5), Ok(2.5)));
        assert_eq!(
            [one.stddev, one.coeffvar, one.hstddev, one.hcoeffvar],
            [too_few; 4]
        );
        for (best, pctile) in one.best.iter().zip(&one.pctiles) {
            assert_eq!((best.amean, best.hmean, pctile.value), (2.5, Ok(2.5), 2.5));
        }
    }

    #[test]
    fn means_of_rates_that_hold_a_zero_are_undefined_not_zero() {
        let stalled = Summary::new(&samples(&[0.0, 10.0, 20.0, 30.0]), Better::Higher);
        assert_eq!(stalled.hmean, Err(Undefined::NotPositive));
        assert_eq!(stalled.gmean, Err(Undefined::NotPositive));
        assert_eq!(stalled.hstddev, Err(Undefined::NotPositive));
        assert_eq!(stalled.amean, 15.0);
        // The best half, 30 and 20, has a harmonic mean all the same.
        assert!(close(stalled.best[0].hmean.unwrap(), 24.0));
        assert!(close(
            stalled.best[4].hmean.unwrap(),
            3.0 / (1.0 / 30.0 + 1.0 / 20.0 + 1.0 / 10.0)
        ));
    }

    #[test]
    fn a_spread_relative_to_a_mean_of_zero_is_undefined() {
        assert_eq!(samples(&[-1.0, 1.0]).coeffvar(), Err(Undefined::ZeroMean));
    }

    #[test]
    fn percentiles_count_from_the_best() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        let all = samples(&values);
        assert_eq!(all.pctile(99, Better::Lower), Ok(198.0));
        assert_eq!(all.pctile(99, Better::Higher), Ok(3.0));
        assert_eq!(all.pctile(100, Better::Higher), Ok(1.0));
        assert_eq!(all.best_amean(1, Better::Lower), Ok(1.5));
        assert_eq!(all.best_amean(1, Better::Higher), Ok(199.5));
        assert_eq!(
            all.pctile(0, Better::Lower),
            Err(Undefined::NoSuchPercent(0))
        );
        assert_eq!(
            all.best_hmean(101, Better::Lower),
            Err(Undefined::NoSuchPercent(101))
        );
    }

    #[test]
    fn quantiles_are_those_of_r_type_7() {
        // R: quantile(c(1, 2, 4, 8, 16), c(.1, .25, .5, .9)) prints 1.4, 2.0, 4.0, 12.8.
        let five = samples(&[16.0, 8.0, 4.0, 2.0, 1.0]);
        for (p, expected) in [
            (0.1, 1.4),
            (0.25, 2.0),
            (0.5, 4.0),
            (0.9, 12.8),
            (0.0, 1.0),
            (1.0, 16.0),
        ] {
            assert!(close(five.quantile(p).unwrap(), expected), "{p}");
        }
        assert_eq!(samples(&[1.0, 2.0, 3.0, 10.0]).median(), 2.5);
        assert_eq!(five.quantile(1.5), None);
        assert_eq!(five.quantile(f64::NAN), None);
    }

    #[test]
    fn extreme_magnitudes_stay_finite() {
        let huge = Summary::new(&samples(&[1e308, 1.5e308, 1.7e308]), Better::Higher);
        assert!(close(huge.amean, 1.4e308));
        assert!(huge.hmean.unwrap() > 1e308 && huge.gmean.unwrap() > 1e308);
        assert!(close(huge.stddev.unwrap(), 3.605_551_275_463_989e307));
        assert!(close(huge.best[4].amean, 1.6e308));
        let tiny = Summary::new(&samples(&[5e-324, 5e-324]), Better::Lower);
        assert_eq!(
            (tiny.amean, tiny.hmean, tiny.gmean),
            (5e-324, Ok(5e-324), Ok(5e-324))
        );
        let spread = Summary::new(&samples(&[-1.7e308, 1.7e308]), Better::Lower);
        assert_eq!((spread.amean, spread.median), (0.0, 0.0));
    }

    fn positive() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(1e-3..1e6f64, 1..60)
    }

    proptest! {
        #[test]
        fn means_are_ordered_and_within_the_range(values in positive()) {
            let s = Summary::new(&samples(&values), Better::Higher);
            let slack = 1.0 + 1e-12;
            let (h, g, a) = (s.hmean.unwrap(), s.gmean.unwrap(), s.amean);
            prop_assert!(s.min <= h * slack && h <= g * slack && g <= a * slack && a <= s.max * slack);
            prop_assert!(s.min <= s.first_quartile && s.first_quartile <= s.median);
            prop_assert!(s.median <= s.third_quartile && s.third_quartile <= s.max);
        }

        #[test]
        fn the_order_of_measurement_changes_nothing(mut values in positive()) {
            let before = Summary::new(&samples(&values), Better::Lower);
            values.reverse();
            prop_assert_eq!(before, Summary::new(&samples(&values), Better::Lower));
        }

        #[test]
        fn a_change_of_unit_scales_every_value(values in positive(), scale in 1e-3..1e3f64) {
            let scaled: Vec<f64> = values.iter().map(|x| x * scale).collect();
            let (one, two) = (samples(&values), samples(&scaled));
            let (one, two) = (Summary::new(&one, Better::Lower), Summary::new(&two, Better::Lower));
            let mut pairs = vec![
                (one.min, two.min), (one.median, two.median), (one.max, two.max), (one.amean, two.amean),
                (one.hmean.unwrap(), two.hmean.unwrap()), (one.gmean.unwrap(), two.gmean.unwrap()),
                (one.first_quartile, two.first_quartile), (one.third_quartile, two.third_quartile),
            ];
            pairs.extend(one.best.iter().zip(&two.best).map(|(a, b)| (a.amean, b.amean)));
            pairs.extend(one.best.iter().zip(&two.best).map(|(a, b)| (a.hmean.unwrap(), b.hmean.unwrap())));
            pairs.extend(one.pctiles.iter().zip(&two.pctiles).map(|(a, b)| (a.value, b.value)));
            for (a, b) in pairs {
                prop_assert!((a * scale / b - 1.0).abs() < 1e-9, "{a} × {scale} = {b}");
            }
            if let (Ok(a), Ok(b)) = (one.coeffvar, two.coeffvar) {
                prop_assert!((a - b).abs() < 1e-6);
            }
        }

        #[test]
        fn a_shift_moves_the_mean_and_leaves_the_spread(values in prop::collection::vec(-1e3..1e3f64, 2..60), by in -1e3..1e3f64) {
            let shifted: Vec<f64> = values.iter().map(|x| x + by).collect();
            let (one, two) = (samples(&values), samples(&shifted));
            prop_assert!((one.amean() + by - two.amean()).abs() < 1e-9);
            prop_assert!((one.median() + by - two.median()).abs() < 1e-9);
            prop_assert!((one.stddev().unwrap() - two.stddev().unwrap()).abs() < 1e-9);
        }

        #[test]
        fn the_summary_has_what_the_single_definitions_have(values in positive()) {
            let all = samples(&values);
            for better in [Better::Higher, Better::Lower] {
                let s = Summary::new(&all, better);
                for (best, pctile) in s.best.iter().zip(&s.pctiles) {
                    prop_assert!(close(best.amean, all.best_amean(best.percent, better).unwrap()));
                    prop_assert!(close(best.hmean.unwrap(), all.best_hmean(best.percent, better).unwrap()));
                    prop_assert_eq!(pctile.value, all.pctile(pctile.percent, better).unwrap());
                }
                prop_assert_eq!((s.stddev, s.coeffvar), (all.stddev(), all.coeffvar()));
                prop_assert_eq!((s.hstddev, s.hcoeffvar), (all.hstddev(), all.hcoeffvar()));
            }
        }

        #[test]
        fn the_best_are_no_worse_than_all(values in positive(), percent in 1..=100u8) {
            let all = samples(&values);
            let slack = 1.0 + 1e-12;
            prop_assert!(all.best_amean(percent, Better::Higher).unwrap() * slack >= all.amean());
            prop_assert!(all.best_amean(percent, Better::Lower).unwrap() <= all.amean() * slack);
        }
    }
}
