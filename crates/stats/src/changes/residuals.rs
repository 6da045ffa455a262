//! Deviations of the points from the levels of their segments.

use super::rank_scan::Stretch;

/// Each segment's level and each point's deviation from it.
pub(crate) fn residuals(series: &[f64], segments: &[Stretch]) -> (Vec<f64>, Vec<f64>) {
    let levels: Vec<f64> = segments
        .iter()
        .map(|s| {
            let mut values = series[s.start..s.end].to_vec();
            trimmed_mean(&mut values)
        })
        .collect();
    let residuals = segments
        .iter()
        .zip(&levels)
        .flat_map(|(s, level)| series[s.start..s.end].iter().map(move |x| x - level))
        .collect();
    (levels, residuals)
}

/// Reorders `values`.
pub(crate) fn trimmed_mean(values: &mut [f64]) -> f64 {
    let cut = values.len() / 10;
    if cut == 0 {
        return crate::sums::mean(values);
    }
    let (_, _, upper) = values.select_nth_unstable_by(cut - 1, f64::total_cmp);
    let kept = upper.len() - cut;
    let (middle, _, _) = upper.select_nth_unstable_by(kept, f64::total_cmp);
    crate::sums::mean(middle)
}

/// The standard deviation that normal noise with this median deviation from zero has.
pub(crate) fn deviation(residuals: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    let middle = sizes.len() / 2;
    1.4826 * *sizes.select_nth_unstable_by(middle, f64::total_cmp).1
}
