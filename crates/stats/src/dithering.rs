//! Dithering of rounded values: what looks at a distribution's shape takes ties for a mass that isn't there.

/// Steps that are smaller than this share of the largest value are those of floating point, and round nothing.
const FINEST: f64 = 1e-9;

/// Remainders below this share of the largest value are none.
const TOLERANCE: f64 = 1e-12;

/// The values, in their order, as they may have been before they were rounded to the step that all of them are multiples of: those
/// that are the same are spread evenly over one step, those that are alone stay. The ones that come one after the other lie far
/// apart (J. G. van der Corput's sequence to the base 2, 1935), so that no part of the values is moved to one side.
///
/// Two different values are states, unless they are neighbours on the decimal scale.
#[must_use]
pub fn dithered(values: &[f64]) -> Vec<f64> {
    let mut distinct = values.to_vec();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    let largest = values
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    let step = match distinct.len() == values.len() {
        true => None,
        false => step_of(&distinct, largest),
    };
    let Some(step) = step else {
        return values.to_vec();
    };
    let mut seen = vec![0_u32; distinct.len()];
    let spread = |value: &f64| {
        let place = distinct.partition_point(|other| other < value);
        let Some(seen) = seen.get_mut(place) else {
            return *value;
        };
        *seen += 1;
        value + step * (van_der_corput(*seen) - 0.5)
    };
    values.iter().map(spread).collect()
}

/// The largest step that different ascending values are multiples of, but for a constant; none where there is no such scale.
fn step_of(distinct: &[f64], largest: f64) -> Option<f64> {
    let gaps = distinct.windows(2).map(|pair| pair[1] - pair[0]);
    let step = match distinct {
        [] | [_] => return None,
        [low, high] => decimal_step(*low, *high)?,
        _ => gaps.fold(0.0, |step, gap| common_step(step, gap, largest * TOLERANCE)),
    };
    (step > largest * FINEST).then_some(step)
}

/// Euclid's algorithm, where a remainder within the tolerance is none.
fn common_step(mut step: f64, mut gap: f64, tolerance: f64) -> f64 {
    while gap > tolerance {
        let rest = step % gap;
        (step, gap) = (gap, if gap - rest <= tolerance { 0.0 } else { rest });
    }
    step
}

/// The last digit that two values have.
fn decimal_step(low: f64, high: f64) -> Option<f64> {
    (0..=9).find_map(|digits| {
        let scale = 10_f64.powi(digits);
        let is_whole = |value: f64| {
            let scaled = value * scale;
            (scaled - scaled.round()).abs() <= scaled.abs() * TOLERANCE
        };
        (is_whole(low) && is_whole(high)).then_some(1.0 / scale)
    })
}

/// The n-th of a sequence that fills the numbers from 0 to 1 evenly: ½, ¼, ¾, ⅛, …
fn van_der_corput(n: u32) -> f64 {
    f64::from(n.reverse_bits()) / 2_f64.powi(32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_values_are_spread_over_the_step_of_their_scale() {
        assert_eq!(
            dithered(&[100.0, 101.0, 100.0, 103.0, 100.0]),
            [100.0, 101.0, 99.75, 103.0, 100.25]
        );
        // A clock of 4 ms.
        assert_eq!(dithered(&[8.0, 12.0, 8.0, 20.0])[2], 7.0);
        // Two states are no scale; two neighbours are.
        assert_eq!(dithered(&[5.0, 9.0, 9.0]), [5.0, 9.0, 8.75]);
        let close = dithered(&[0.31, 0.32, 0.32]);
        assert!((close[2] - 0.3175).abs() < 1e-12, "{close:?}");
    }

    #[test]
    fn values_without_a_scale_stay() {
        let third = 1.0_f64 / 3.0;
        for values in [
            vec![],
            vec![2.0],
            vec![2.0, 2.0],
            vec![third.sqrt(), third.ln(), third.exp(), third.exp()],
        ] {
            assert_eq!(dithered(&values), values);
        }
    }

    proptest! {
        #[test]
        fn no_value_moves_by_more_than_half_a_step(
            values in prop::collection::vec(-1000_i32..1000, 0..60),
            step in 1e-6_f64..1e6,
        ) {
            let values: Vec<f64> = values.into_iter().map(|it| f64::from(it) * step).collect();
            let spread = dithered(&values);
            let least = values.iter().flat_map(|a| values.iter().map(move |b| (a - b).abs()));
            let least = least.filter(|gap| *gap > step / 2.0).fold(f64::INFINITY, f64::min);
            for (before, after) in values.iter().zip(&spread) {
                prop_assert!((before - after).abs() <= least / 2.0 * (1.0 + 1e-6) || before == after);
            }
        }
    }
}
