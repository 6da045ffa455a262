//! How evenly several share one thing.

/// Jain's fairness index, (Σx)² / (n Σx²): 1 where all have the same, 1/n where one has all (R. Jain, D. Chiu, W. Hawe: A
/// Quantitative Measure of Fairness and Discrimination, DEC-TR-301, 1984). None of nobody, where something is negative or isn't
/// finite, and where all have nothing.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let largest = shares.iter().copied().fold(0.0, f64::max);
    let is_share = |share: &f64| share.is_finite() && *share >= 0.0;
    if largest <= 0.0 || !shares.iter().all(is_share) {
        return None;
    }
    // Parts of the largest: their squares neither overflow nor vanish.
    let parts = || shares.iter().map(|share| share / largest);
    let sum: f64 = parts().sum();
    let squares: f64 = parts().map(|part| part * part).sum();
    Some((sum * sum / (shares.len() as f64 * squares)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn examples() {
        assert_eq!(jain_index(&[5.0]), Some(1.0));
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        // Two have 1 and 3: 16 of 2 times 10.
        assert!((jain_index(&[1.0, 3.0]).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(jain_index(&[1e300, 1e300]), Some(1.0));
        for undefined in [
            &[][..],
            &[0.0, 0.0],
            &[1.0, -1.0],
            &[1.0, f64::NAN],
            &[f64::INFINITY, 1.0],
        ] {
            assert_eq!(jain_index(undefined), None, "{undefined:?}");
        }
    }

    proptest! {
        #[test]
        fn it_is_between_one_nth_and_one_and_knows_no_unit(
            shares in prop::collection::vec(0.001_f64..1e6, 1..40),
            factor in 1e-6_f64..1e6,
        ) {
            let index = jain_index(&shares).unwrap();
            prop_assert!(index >= 1.0 / shares.len() as f64 - 1e-12 && index <= 1.0);
            let scaled: Vec<f64> = shares.iter().map(|share| share * factor).collect();
            prop_assert!((jain_index(&scaled).unwrap() - index).abs() < 1e-9);
        }
    }
}
