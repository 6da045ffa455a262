//! Samples of one metric: at least one, all finite, checked once.

/// The samples of one metric: at least one, all finite; kept in the order in which they were measured, and sorted.
///
/// Everything else in this room takes `&Samples` and needs no further check.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    measured: Vec<f64>,
    ascending: Vec<f64>,
}

/// Why numbers were refused as [`Samples`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplesError {
    /// There is no number at all: missing is missing, and has no summary.
    #[error("there are no samples: nothing can be said of what was not measured")]
    Empty,
    /// A number is NaN or infinite.
    #[error("sample {} is {value}, which is no measured value: leave a missing sample out, don't write a stand-in for it", index + 1)]
    NotFinite {
        /// Where it is, counted from zero in the order given.
        index: usize,
        /// NaN or an infinity.
        value: f64,
    },
}

impl Samples {
    /// Checks and sorts `measured`, which is in the order of measurement.
    ///
    /// # Errors
    /// [`SamplesError`] if there is none, or one is NaN or infinite.
    pub fn new(measured: Vec<f64>) -> Result<Self, SamplesError> {
        if measured.is_empty() {
            return Err(SamplesError::Empty);
        }
        if let Some(index) = measured.iter().position(|x| !x.is_finite()) {
            return Err(SamplesError::NotFinite {
                index,
                value: measured[index],
            });
        }
        let ascending = sorted(&measured);
        Ok(Samples {
            measured,
            ascending,
        })
    }

    /// How many there are; at least one.
    #[must_use]
    pub fn n(&self) -> usize {
        self.measured.len()
    }

    /// In the order of measurement.
    #[must_use]
    pub fn measured(&self) -> &[f64] {
        &self.measured
    }

    /// From the smallest to the largest.
    #[must_use]
    pub fn ascending(&self) -> &[f64] {
        &self.ascending
    }

    /// Whether no two differ.
    #[must_use]
    pub fn all_equal(&self) -> bool {
        self.min() == self.max()
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.ascending[0]
    }

    /// The largest.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.ascending[self.ascending.len() - 1]
    }
}

impl TryFrom<Vec<f64>> for Samples {
    type Error = SamplesError;

    fn try_from(measured: Vec<f64>) -> Result<Self, Self::Error> {
        Samples::new(measured)
    }
}

impl TryFrom<&[f64]> for Samples {
    type Error = SamplesError;

    fn try_from(measured: &[f64]) -> Result<Self, Self::Error> {
        Samples::new(measured.to_vec())
    }
}

/// Sorts by way of integers that compare as the floats do: a third of the time of comparing floats.
fn sorted(values: &[f64]) -> Vec<f64> {
    const SIGN: u64 = 1 << 63;
    let mut keys: Vec<u64> = values
        .iter()
        .map(|x| {
            // −0.0 equals 0.0 and must not be told apart by the order.
            let bits = (x + 0.0).to_bits();
            if bits & SIGN == 0 { bits | SIGN } else { !bits }
        })
        .collect();
    keys.sort_unstable();
    keys.into_iter()
        .map(|key| f64::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_samples_are_refused() {
        assert_eq!(Samples::new(vec![]), Err(SamplesError::Empty));
    }

    #[test]
    fn what_is_no_number_is_refused_with_its_place() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Samples::new(vec![1.0, bad, 2.0]).unwrap_err();
            assert!(matches!(error, SamplesError::NotFinite { index: 1, .. }));
            assert!(error.to_string().starts_with("sample 2 is"), "{error}");
        }
    }

    #[test]
    fn a_single_sample_is_all_equal() {
        let one = Samples::new(vec![-0.0]).unwrap();
        assert!(one.all_equal());
        assert_eq!((one.n(), one.min(), one.max()), (1, 0.0, 0.0));
    }

    proptest! {
        #[test]
        fn sorting_by_integers_is_sorting(values in prop::collection::vec(-1e300..1e300f64, 1..200)) {
            let mut expected = values.clone();
            expected.sort_by(f64::total_cmp);
            let samples = Samples::new(values.clone()).unwrap();
            prop_assert_eq!(samples.ascending(), &expected[..]);
            prop_assert_eq!(samples.measured(), &values[..]);
        }
    }
}
