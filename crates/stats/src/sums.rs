//! Sums without loss of small terms, and without overflow before the result overflows.

/// A running sum with the rounding errors carried along.
///
/// Source: A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54 (1974).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, x: f64) {
        let total = self.total + x;
        self.lost += if self.total.abs() >= x.abs() {
            (self.total - total) + x
        } else {
            (x - total) + self.total
        };
        self.total = total;
    }

    pub(crate) fn value(self) -> f64 {
        self.total + self.lost
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sum = Sum::default();
        for x in values {
            sum.add(x);
        }
        sum
    }
}

/// The sum of `values`.
pub(crate) fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().collect::<Sum>().value()
}

/// A running mean: of equal values that value, which a division may miss by a rounding.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunningMean {
    sum: Sum,
    count: f64,
    first: f64,
    differs: bool,
}

impl RunningMean {
    pub(crate) fn add(&mut self, x: f64) {
        if self.count == 0.0 {
            self.first = x;
        }
        self.differs |= x != self.first;
        self.sum.add(x);
        self.count += 1.0;
    }

    /// Of at least one value.
    pub(crate) fn value(self) -> f64 {
        if self.differs {
            self.sum.value() / self.count
        } else {
            self.first
        }
    }
}

/// The arithmetic mean of at least one finite value: finite, within their range, and of equal values that value.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.iter().all(|value| *value == values[0]) {
        return values[0];
    }
    let n = values.len() as f64;
    let direct = sum(values.iter().copied()) / n;
    // Near the largest float the sum overflows although the mean doesn't.
    if direct.is_finite() {
        direct
    } else {
        sum(values.iter().map(|x| x / n))
    }
}

/// √(Σ(x−centre)²), scaled by the largest deviation so that squares neither overflow nor vanish.
pub(crate) fn root_of_squares(values: &[f64], centre: f64) -> f64 {
    let largest = values
        .iter()
        .fold(0.0_f64, |most, x| most.max((x - centre).abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let squares = sum(values.iter().map(|x| {
        let part = (x - centre) / largest;
        part * part
    }));
    largest * squares.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_equal_values_is_that_value() {
        for value in [0.1, 828.813, 1e300, -1.0 / 3.0, 5e-324] {
            for count in 1..200 {
                let values = vec![value; count];
                assert_eq!(mean(&values), value);
                let mut running = RunningMean::default();
                values.iter().for_each(|x| running.add(*x));
                assert_eq!(running.value(), value);
            }
        }
    }

    #[test]
    fn small_addends_beside_large_ones_are_kept() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100]), 2.0);
    }

    #[test]
    fn the_mean_of_the_largest_floats_is_finite() {
        assert_eq!(mean(&[f64::MAX, f64::MAX]), f64::MAX);
    }

    #[test]
    fn squares_of_large_and_tiny_deviations_neither_overflow_nor_vanish() {
        assert!((root_of_squares(&[3e200, 4e200], 0.0) / 5e200 - 1.0).abs() < 1e-15);
        assert!((root_of_squares(&[3e-200, 4e-200], 0.0) / 5e-200 - 1.0).abs() < 1e-15);
    }
}
