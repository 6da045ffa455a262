//! Scales: from values to places in a chart, and the round numbers beside an axis.

use backsight_policy::VersionSeries;

/// Where a value lies between two ends: 0 at the lower, 1 at the upper one; `alike` where the ends are one value.
pub(crate) fn share(value: f64, (low, high): (f64, f64), alike: f64) -> f64 {
    let share = (value - low) / (high - low);
    if share.is_finite() { share } else { alike }
}

/// The least and the greatest of these values; infinite, the wrong way round, where there are none.
pub(crate) fn span(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    values
        .into_iter()
        .fold(ends, |(least, most), x| (least.min(x), most.max(x)))
}

/// The least and the greatest number that is drawn of a series: all values, and intervals up to so many times what the values
/// span beyond them.
pub(crate) fn series_span(series: &VersionSeries, beyond: f64) -> Option<(f64, f64)> {
    let values = || series.points.iter().filter_map(|point| point.value);
    let low = values().min_by(f64::total_cmp)?;
    let high = values().max_by(f64::total_cmp)?;
    let span = (high - low).max(high.abs().max(low.abs()) * 1e-3);
    let intervals = || series.points.iter().filter_map(|point| point.interval);
    let least = intervals()
        .map(|i| i.low.max(low - span * beyond))
        .fold(low, f64::min);
    let most = intervals()
        .map(|i| i.high.min(high + span * beyond))
        .fold(high, f64::max);
    Some((least, most))
}

/// A scale in decades.
pub(crate) struct Decades {
    pub low: f64,
    pub high: f64,
    from: f64,
    to: f64,
}

impl Decades {
    /// Over these values, with a little room; nothing where there are none above zero.
    pub fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        (high > 0.0).then(|| Self {
            low: low / 1.15,
            high: high * 1.15,
            from,
            to,
        })
    }

    pub fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Values to be written beside it: powers of ten, with 2 and 5 between where there are few of them.
    pub fn ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let parts: &[f64] = if decades > 2.5 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let first = self.low.log10().floor() as i32;
        let all = (first..=first + decades as i32 + 1)
            .flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
        let inside: Vec<f64> = all
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect();
        let thin = inside.len().div_ceil(7).max(1);
        inside.into_iter().step_by(thin).collect()
    }
}

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
