//! Scales: from values to places in a chart, and the round numbers beside an axis.

/// At most about `most` round numbers from `low` to `high`, and the decimals that tell them apart.
pub(crate) fn ticks(low: f64, high: f64, most: f64) -> (Vec<f64>, usize) {
    let rough = (high - low) / most;
    let power = rough.log10().floor();
    let step = [1.0, 2.0, 5.0, 10.0]
        .iter()
        .map(|nice| nice * 10f64.powf(power))
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(rough);
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let first = (low / step - 1e-9).ceil();
    let marks = (0..)
        .map(|number| (first + f64::from(number)) * step)
        .take_while(|mark| *mark <= high + step * 1e-6)
        .take(40)
        // -0.0 has a sign.
        .map(|mark| mark + 0.0)
        .collect();
    (marks, decimals)
}
