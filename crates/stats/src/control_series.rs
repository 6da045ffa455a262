//! By how much a control series moved between two groups of moments: those at which two sides were measured beside it.

use serde::Serialize;

use crate::distributions::t_quantile;
use crate::{Confidence, Interval};

/// By how much a control series moved from one group of moments to another, in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ControlMove {
    /// Its mean at the moments of the first side.
    pub from: f64,
    /// Its mean at those of the other side, less `from`.
    pub size: f64,
    /// The interval of the size.
    pub interval: Interval,
}

/// Compares a control series between two sides. `base` and `new` are the places in `series` that are nearest to each measurement of a
/// side, as often as there are measurements. Where both sides were measured in turns these are the same places, and the move is
/// nothing, whatever the series does.
///
/// The move is a linear contrast: the mean over `new` less that over `base`, so that a point weighs the difference w of its shares of
/// the two. Its variance is s²·Σw². For s² stands the larger of two estimates: around the two means, and half of the mean square of
/// the differences of neighbours there (J. von Neumann, "Distribution of the ratio of the mean square successive difference to the
/// variance", Ann. Math. Stat. 12, 1941), so that neither a drift nor an alternation makes it too small. The interval is Student's with two degrees of
/// freedom fewer than points that weigh anything.
///
/// None with fewer than four such points, or where a place is beyond the series.
#[must_use]
pub fn control_move(
    series: &[f64],
    base: &[usize],
    new: &[usize],
    confidence: Confidence,
) -> Option<ControlMove> {
    let shares = |places: &[usize]| {
        let mut shares = vec![0.0; series.len()];
        for place in places {
            *shares.get_mut(*place)? += 1.0 / places.len() as f64;
        }
        Some(shares)
    };
    let (base, new) = (shares(base)?, shares(new)?);
    let mean = |shares: &[f64]| -> f64 {
        series
            .iter()
            .zip(shares)
            .map(|(it, share)| it * share)
            .sum()
    };
    let (from, to) = (mean(&base), mean(&new));
    let weighs = |place: &usize| base[*place] + new[*place] > 0.0;
    let used: Vec<usize> = (0..series.len()).filter(weighs).collect();
    let freedom = used.len().checked_sub(2).filter(|freedom| *freedom >= 2)? as f64;
    let residual = |place: &usize| {
        let share = new[*place] / (base[*place] + new[*place]);
        series[*place] - from - share * (to - from)
    };
    let residuals: Vec<f64> = used.iter().map(residual).collect();
    let around = residuals.iter().map(|it| it * it).sum::<f64>() / freedom;
    let steps = residuals.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
    let steps = steps.sum::<f64>() / 2.0 / (used.len() - 1) as f64;
    let reach: f64 = base
        .iter()
        .zip(&new)
        .map(|(base, new)| (new - base).powi(2))
        .sum();
    let half = t_quantile(confidence, freedom) * (around.max(steps) * reach).sqrt();
    Some(ControlMove {
        from,
        size: to - from,
        interval: Interval {
            low: to - from - half,
            high: to - from + half,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn moved(series: &[f64], base: &[usize], new: &[usize]) -> ControlMove {
        control_move(series, base, new, Confidence::USUAL).unwrap()
    }

    #[test]
    fn a_step_between_the_sides_is_the_move() {
        let series = [10.0, 10.2, 9.8, 10.0, 9.0, 9.2, 8.8, 9.0];
        let found = moved(&series, &[0, 1, 2, 3], &[4, 5, 6, 7]);
        assert!((found.from - 10.0).abs() < 1e-12 && (found.size + 1.0).abs() < 1e-12);
        assert!(
            found.interval.high < -0.5 && -1.5 < found.interval.low,
            "{found:?}"
        );
    }

    #[test]
    fn sides_that_were_measured_in_turns_saw_the_same() {
        let series = [10.0, 9.0, 8.0, 7.0, 6.0];
        let all = [0, 1, 2, 3, 4];
        let found = moved(&series, &all, &all);
        assert_eq!(
            (found.size, found.interval.low, found.interval.high),
            (0.0, 0.0, 0.0)
        );
    }

    #[test]
    fn few_points_and_places_beyond_the_series_tell_nothing() {
        let usual = Confidence::USUAL;
        assert_eq!(control_move(&[1.0, 2.0, 3.0], &[0, 1], &[2], usual), None);
        assert_eq!(control_move(&[1.0; 8], &[0, 8], &[2, 3], usual), None);
        assert_eq!(control_move(&[], &[], &[], usual), None);
    }

    #[test]
    fn its_interval_holds_the_truth_as_often_as_it_says() {
        let mut random = Random::seeded(5);
        for (before, after) in [(2, 2), (4, 8), (20, 20)] {
            let base: Vec<usize> = (0..before).collect();
            let new: Vec<usize> = (before..before + after).collect();
            let covered = (0..2000).filter(|_| {
                let series: Vec<f64> = (0..before + after).map(|_| random.normal()).collect();
                let found = moved(&series, &base, &new);
                found.interval.low <= 0.0 && 0.0 <= found.interval.high
            });
            let covered = covered.count() as f64 / 2000.0;
            assert!(
                (0.94..0.995).contains(&covered),
                "{before} and {after}: {covered}"
            );
        }
    }
}
