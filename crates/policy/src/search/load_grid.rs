//! The loads that a search may offer: a grid, each load at most the asked width above the one below.
//!
//! All searches of a study use the same grid, so that goals, phases and repeats share loads and with them cells.

use serde::{Deserialize, Serialize};

/// Maximum number of loads: more is a mistake in its width.
const MAX_LOADS: f64 = 100_000.0;

/// The loads between a least and a greatest one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadGrid {
    /// The least load.
    pub min: f64,
    /// The greatest load.
    pub max: f64,
    /// Maximum distance of a load from the one below, as a share of itself.
    pub width: f64,
    /// Whether only whole numbers can be offered.
    pub whole: bool,
}

/// Why there is no such grid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LoadGridError {
    /// It would begin at nothing or below.
    #[error("the least load is {0}, and a search halves ratios: it has to be above 0")]
    FromNothing(f64),
    /// It would lead downwards.
    #[error("the least load, {min}, is not below the greatest, {max}")]
    Downwards {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// Its width is no share.
    #[error("a width of {} % is none: expected more than 0 % and at most 50 %", .0 * 100.0)]
    Width(f64),
    /// It would have too many loads.
    #[error("from {min} to {max} in steps of {} % are too many loads", .width * 100.0)]
    TooLong {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
        /// The width.
        width: f64,
    },
}

impl LoadGrid {
    /// A grid from the least to the greatest load.
    ///
    /// # Errors
    /// See [`LoadGridError`].
    pub fn new(min: f64, max: f64, width: f64, whole: bool) -> Result<Self, LoadGridError> {
        if !(min > 0.0 && min.is_finite()) {
            return Err(LoadGridError::FromNothing(min));
        }
        if !(max > min && max.is_finite()) {
            return Err(LoadGridError::Downwards { min, max });
        }
        if !(width > 0.0 && width <= 0.5) {
            return Err(LoadGridError::Width(width));
        }
        let grid = Self {
            min,
            max,
            width,
            whole,
        };
        if grid.steps() > MAX_LOADS {
            return Err(LoadGridError::TooLong { min, max, width });
        }
        Ok(grid)
    }

    /// Steps of equal ratio that none exceeds the width.
    fn steps(&self) -> f64 {
        let step = -(1.0 - self.width).ln();
        // The last rounding of a ratio mustn't add a load.
        (((self.max / self.min).ln() / step) - 1e-9).ceil().max(1.0)
    }

    /// The loads, ascending; both ends are among them as they are.
    ///
    /// Between the ends they are rounded to what a person can read: digits well below the width.
    pub fn loads(&self) -> Vec<f64> {
        let steps = self.steps();
        let ratio = (self.max / self.min).ln();
        let digits = (2.0 - self.width.log10()).ceil() as i32;
        let mut loads = vec![self.min];
        for step in 1..steps as usize {
            let plain = self.min * (ratio * step as f64 / steps).exp();
            let unit = 10f64.powi(plain.log10().floor() as i32 - digits);
            // Dividing by a power of ten's reciprocal leaves no tail of nines in a decimal number.
            let rounded = match unit < 1.0 {
                true => (plain / unit).round() / (1.0 / unit).round(),
                false => (plain / unit).round() * unit,
            };
            let load = if self.whole { rounded.round() } else { rounded };
            if loads.last().is_some_and(|below| load > *below) && load < self.max {
                loads.push(load);
            }
        }
        loads.push(self.max);
        loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn neighbours_are_no_further_apart_than_the_width(
            min in 0.001f64..1e6, times in 1.01f64..1e5, width in 0.001f64..0.5,
        ) {
            let loads = LoadGrid::new(min, min * times, width, false).unwrap().loads();
            prop_assert_eq!(loads[0], min);
            prop_assert_eq!(*loads.last().unwrap(), min * times);
            for pair in loads.windows(2) {
                prop_assert!(pair[0] < pair[1]);
                prop_assert!((pair[1] - pair[0]) / pair[1] <= width * 1.05, "{pair:?}");
            }
        }

        #[test]
        fn whole_loads_are_whole_and_none_stands_there_twice(min in 1u32..50, more in 1u32..500, width in 0.001f64..0.5) {
            let max = f64::from(min + more);
            let loads = LoadGrid::new(f64::from(min), max, width, true).unwrap().loads();
            prop_assert!(loads.iter().all(|load| load.fract() == 0.0));
            prop_assert!(loads.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn ladders_that_lead_nowhere_are_refused() {
        let refused = |min, max, width| LoadGrid::new(min, max, width, false).unwrap_err();
        assert_eq!(refused(0.0, 1.0, 0.1), LoadGridError::FromNothing(0.0));
        assert_eq!(
            refused(2.0, 1.0, 0.1),
            LoadGridError::Downwards { min: 2.0, max: 1.0 }
        );
        assert_eq!(refused(1.0, 2.0, 0.0), LoadGridError::Width(0.0));
        assert!(matches!(
            refused(1.0, 1e9, 1e-5),
            LoadGridError::TooLong { .. }
        ));
        assert!(matches!(
            refused(f64::NAN, 1.0, 0.1),
            LoadGridError::FromNothing(_)
        ));
    }
}
