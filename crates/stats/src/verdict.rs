//! Verdict of a comparison of two sides of one cell, with the interval that it comes from: better or worse, no change larger
//! than some percentage, or can't tell yet and about how many more repeats would.
//!
//! Whether sides are comparable at all (environments, parameters, units) is decided by the caller.

use serde::{Deserialize, Serialize};

use crate::distributions::t_quantile;
use crate::measurement_order::{allowed_for, corrected, inflation_of_mean, raw_autocorrelation};
use crate::multimodality::{share_difference_interval, share_p};
use crate::undefined::finite;
use crate::welch::{
    MeanWithError, Welch, compare, compare_with_freedom, paired, with_positive_ratio,
};
use crate::{
    Better, Confidence, Drift, Interval, Level, MannWhitney, Mean, NestedSamples, ReplicationUnits,
    Samples, SamplesError, TwoModes, Undefined, WarmUp, drift, mann_whitney, outliers, two_modes,
    warm_up,
};

/// What is asked of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VerdictOptions {
    /// Which direction of the metric is better.
    pub better: Better,
    /// Which means are compared. Harmonic ones need positive samples; if one isn't, arithmetic ones are.
    pub mean: Mean,
    /// The change, in percent of the base, below which it is no matter: 1% unless asked otherwise.
    pub margin_percent: f64,
    /// Of the interval.
    pub confidence: Confidence,
    /// So many equal units a side are believed where neither side varies: three unless asked otherwise.
    pub alike_enough: usize,
    /// What the sides differ by beyond the spread of their units: nothing unless said.
    pub beyond: UnrepeatedVariation,
}

/// What a side's mean varies by beyond what its own units show: a higher level that wasn't repeated and that the sides don't
/// share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schemars",
    derive(schemars::JsonSchema),
    schemars(rename = "Beyond")
)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum UnrepeatedVariation {
    /// Nothing: the units are of the highest level there is, or the sides were measured in turn.
    Nothing,
    /// Each side was measured in a session of its own, and how much sessions differ isn't known. They are taken to differ
    /// as much as single units of one session do: a session is worth one unit, however many it has.
    LikeUnits,
    /// How much whole sides differ is known from others.
    Known(KnownSpread),
}

/// How much sides of one and the same thing differ, known from more than the two that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct KnownSpread {
    /// The standard deviation of a side's mean, as a share of that mean.
    pub relative: f64,
    /// Its degrees of freedom: at least one.
    pub freedom: usize,
}

impl KnownSpread {
    /// How far a side's mean may lie from the truth, as a share of it.
    #[must_use]
    pub fn reach(&self, confidence: Confidence) -> f64 {
        t_quantile(confidence, self.freedom as f64) * self.relative
    }
}

impl VerdictOptions {
    /// The usual question about a metric: arithmetic means, a margin of 1% at 95% confidence.
    #[must_use]
    pub fn new(better: Better) -> Self {
        VerdictOptions {
            better,
            mean: Mean::Arithmetic,
            margin_percent: 1.0,
            confidence: Confidence::USUAL,
            alike_enough: 3,
            beyond: UnrepeatedVariation::Nothing,
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum VerdictOutcome {
    /// The interval of the ratio excludes 1 on the better side, or the better one of two modes became commoner.
    Better,
    /// The same on the worse side.
    Worse,
    /// The same on either side, of what is neither better nor worse.
    Changed,
    /// The interval lies inside of the margin.
    NoChange {
        /// No change larger than this, in percent of the base: the end of the interval further from no change.
        larger_than_percent: f64,
    },
    /// Neither.
    CannotTell {
        /// About so many more units (rounds, boots, layouts) on each side would tell, if the difference and the spread
        /// stay as they are; `None` if the samples give no idea.
        more: Option<usize>,
    },
}

/// The answer with what it stands on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The answer.
    pub outcome: VerdictOutcome,
    /// The unit of replication. The verdict holds for the levels above it as they were: with [`Level::Trial`] for these
    /// boots, with [`Level::Boot`] for these layouts.
    pub level: Level,
    /// Whether each unit of one side was compared with that of the other on the same host.
    pub paired: bool,
    /// How many units the base has, and the new side.
    pub units: (usize, usize),
    /// What the sides differ by beyond the spread of these units.
    pub beyond: UnrepeatedVariation,
    /// Which mean `base` and `new` are.
    pub mean: Mean,
    /// The base's mean over units.
    pub base: f64,
    /// The new side's mean over units.
    pub new: f64,
    /// The new side's mean less the base's, in the samples' unit: what is left to say when the base is zero.
    pub difference: f64,
    /// Its interval. That of harmonic means is the ratio's, of the base's mean.
    pub difference_interval: Result<Interval, Undefined>,
    /// new − base in percent of the base, whatever is better.
    pub percent: Result<f64, Undefined>,
    /// The interval of `percent`.
    pub percent_interval: Result<Interval, Undefined>,
    /// new/base.
    pub ratio: Result<f64, Undefined>,
    /// Fieller's interval of the ratio, for clustered and autocorrelated samples: see [`verdict`]. That of positive samples
    /// is positive.
    pub ratio_interval: Result<Interval, Undefined>,
    /// The p-value of "the means are equal"; adjust it over a table by [`benjamini_hochberg`](crate::benjamini_hochberg).
    pub p: Result<f64, Undefined>,
    /// The rank test of the same units, for the sceptic. It takes them as independent.
    pub ranks: MannWhitney,
    /// How much each unit keeps of the deviation of the one before; zero where there are too few to tell.
    pub kept: f64,
    /// What the order of measurement tells of the base, and of the new side.
    pub order: (OrderEffects, OrderEffects),
    /// The verdict's ratio and outcome without the leading units that are unlike the rest, if there are such.
    pub settled: Option<WarmedUpVerdict>,
    /// Two modes, if either side has them.
    pub modes: Option<ModeShares>,
    /// Units far from the bulk, by place: of the base, and of the new side. Named, not removed.
    pub outliers: (Vec<usize>, Vec<usize>),
}

/// What the order of measurement tells of one side's units.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct OrderEffects {
    /// A beginning that isn't like the rest.
    pub warm_up: Option<WarmUp>,
    /// A steady drift of what follows.
    pub drift: Option<Drift>,
}

/// The comparison without warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WarmedUpVerdict {
    /// Leading units left out of the base, and of the new side.
    pub dropped: (usize, usize),
    /// The answer without them.
    pub outcome: VerdictOutcome,
    /// [`Verdict::percent`] without them.
    pub percent: Result<f64, Undefined>,
    /// Its interval.
    pub percent_interval: Result<Interval, Undefined>,
    /// The ratio without them.
    pub ratio: Result<f64, Undefined>,
    /// Its interval.
    pub ratio_interval: Result<Interval, Undefined>,
    /// [`Verdict::difference`] without them.
    pub difference: f64,
    /// Its interval.
    pub difference_interval: Result<Interval, Undefined>,
    /// [`Verdict::p`] without them.
    pub p: Result<f64, Undefined>,
}

/// Two modes of at least one side, and their shares on both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schemars",
    derive(schemars::JsonSchema),
    schemars(rename = "Modes")
)]
pub struct ModeShares {
    /// The modes, of the side that has them most clearly.
    pub found: TwoModes,
    /// The share of the base's units above the gap.
    pub base_high_share: f64,
    /// The share of the new side's units above the gap.
    pub new_high_share: f64,
    /// The p-value of "the shares are equal".
    pub p: f64,
    /// The interval of the new side's share less the base's.
    pub share_interval: Interval,
}

impl ModeShares {
    /// What the change of the share alone changes the mean by, in the samples' unit, and its interval.
    #[must_use]
    pub fn difference(&self) -> (f64, Interval) {
        let apart = self.found.high - self.found.low;
        let interval = Interval {
            low: self.share_interval.low * apart,
            high: self.share_interval.high * apart,
        };
        (
            (self.new_high_share - self.base_high_share) * apart,
            interval,
        )
    }

    /// Whether the shares differ: chance makes as much too seldom, and the interval says the same.
    #[must_use]
    pub fn differ(&self, confidence: Confidence) -> bool {
        self.p <= 1.0 - confidence.share() && !self.share_interval.contains(0.0)
    }
}

/// Compares two sides of one cell.
///
/// The units are the means of the highest level that *both* sides repeated (Kalibera & Jones 2013: only that level's
/// spread counts). Their means are compared as in [`welch`](fn@crate::welch), with standard errors that know the units'
/// autocorrelation: by the variance of the mean of a first-order autoregression whose φ both sides share, if both have at
/// least eight units in the order of measurement. The ratio of harmonic means new/base is that of the mean times
/// base/new, with its interval.
///
/// Hosts have no order, and no share of theirs is a change of what was measured. Where both sides have the same hosts, each host is
/// compared with itself: Student's test of the logarithms of their ratios, so that how much hosts differ is no noise. Where they share only
/// some, [`on_common_hosts`](crate::on_common_hosts) leaves the rest out.
///
/// Where the sides differ by more than their units show ([`VerdictOptions::beyond`]), their standard errors are larger by that; where
/// that is known, a single trial a side is compared too.
#[must_use]
pub fn verdict(base: &NestedSamples, new: &NestedSamples, question: &VerdictOptions) -> Verdict {
    let repeated = base.replicated().min(new.replicated());
    let level = match question.beyond {
        UnrepeatedVariation::Known(_) => repeated.max(Level::Trial),
        UnrepeatedVariation::Nothing | UnrepeatedVariation::LikeUnits => repeated,
    };
    let hosts = (base.hosts(), new.hosts());
    let paired = level == Level::Host && hosts.0 == hosts.1;
    // The nth unit of either is of the nth host.
    let by_host = paired.then(|| Some((base.on_hosts(&hosts.0)?, new.on_hosts(&hosts.1)?)));
    let by_host = by_host.flatten();
    let (base, new) = match &by_host {
        Some((base, new)) => (base, new),
        None => (base, new),
    };
    let repeats = match (level, paired) {
        (Level::Host, true) => Repeats::Paired,
        (Level::Host, false) => Repeats::Unordered,
        _ => Repeats::InOrder,
    };
    let by = |mean| {
        base.units_by(level, mean)
            .and_then(|of_base| Ok((of_base, new.units_by(level, mean)?)))
    };
    let (question, base, new) = match by(question.mean) {
        Ok((base, new)) => (*question, base, new),
        Err(_) => (
            VerdictOptions {
                mean: Mean::Arithmetic,
                ..*question
            },
            base.units_at(level),
            new.units_at(level),
        ),
    };
    let question = &question;
    let compared = Compared::new(&base.means, &new.means, repeats, question);
    let order = match repeats {
        Repeats::InOrder => (
            OrderEffects::from_units(&base.means),
            OrderEffects::from_units(&new.means),
        ),
        Repeats::Unordered | Repeats::Paired => Default::default(),
    };
    let (base_units, new_units) = (samples(&base), samples(&new));
    let modes = match repeats {
        Repeats::InOrder => ModeShares::from_samples(&base_units, &new_units, question.confidence),
        // Hosts are of several kinds, and whoever measured chose them.
        Repeats::Unordered | Repeats::Paired => None,
    };
    Verdict {
        outcome: modes
            .and_then(|modes| modes.outcome(question))
            .unwrap_or(compared.outcome),
        level,
        paired,
        units: (base.means.len(), new.means.len()),
        beyond: question.beyond,
        mean: question.mean,
        base: compared.base,
        new: compared.new,
        difference: compared.difference,
        difference_interval: compared.difference_interval,
        percent: compared.percent(),
        percent_interval: compared.percent_interval(),
        ratio: compared.ratio,
        ratio_interval: compared.ratio_interval,
        p: compared.p,
        ranks: mann_whitney(&base_units, &new_units),
        kept: compared.kept,
        order,
        settled: WarmedUpVerdict::new(&base.means, &new.means, order, question),
        modes,
        outliers: (outliers(&base_units), outliers(&new_units)),
    }
}

/// Means of finite values are finite, and every side has at least one.
fn samples(units: &ReplicationUnits) -> Samples {
    match Samples::new(units.means.clone()) {
        Ok(samples) => samples,
        Err(SamplesError::Empty | SamplesError::NotFinite { .. }) => {
            unreachable!("a side has finite samples")
        }
    }
}

fn in_percent(ratio: Interval) -> Interval {
    Interval {
        low: 100.0 * ratio.low - 100.0,
        high: 100.0 * ratio.high - 100.0,
    }
}

/// How the units of two sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeats {
    /// In the order of measurement, either side by itself.
    InOrder,
    /// In no order.
    Unordered,
    /// The nth of one side and the nth of the other are of the same host.
    Paired,
}

/// Two lists of units, compared.
struct Compared {
    base: f64,
    new: f64,
    ratio: Result<f64, Undefined>,
    difference: f64,
    difference_interval: Result<Interval, Undefined>,
    kept: f64,
    ratio_interval: Result<Interval, Undefined>,
    p: Result<f64, Undefined>,
    outcome: VerdictOutcome,
}

impl Compared {
    fn new(base: &[f64], new: &[f64], repeats: Repeats, question: &VerdictOptions) -> Self {
        let kept = match repeats {
            Repeats::InOrder => shared_autocorrelation(base, new),
            Repeats::Unordered | Repeats::Paired => 0.0,
        };
        let of = |base: &[f64], new: &[f64]| {
            estimate(base, new, kept, question.beyond, question.confidence)
        };
        if repeats == Repeats::Paired
            && let Some(compared) = Self::paired(base, new, question)
        {
            return compared;
        }
        let inverse = |rates: &[f64]| rates.iter().map(|x| 1.0 / x).collect::<Vec<f64>>();
        let (base_mean, new_mean, welch) = match question.mean {
            Mean::Arithmetic => (
                crate::sums::mean(base),
                crate::sums::mean(new),
                of(base, new),
            ),
            Mean::Harmonic => {
                let times = (inverse(base), inverse(new));
                let rate = |times: &[f64]| 1.0 / crate::sums::mean(times);
                (rate(&times.0), rate(&times.1), of(&times.1, &times.0))
            }
        };
        let difference_interval = welch.and_then(|welch| match question.mean {
            Mean::Arithmetic => Ok(welch.difference_interval),
            Mean::Harmonic => welch.ratio_interval.map(|ratio| Interval {
                low: base_mean * (ratio.low - 1.0),
                high: base_mean * (ratio.high - 1.0),
            }),
        });
        let (ratio_interval, p, outcome) = match welch {
            Ok(welch) => {
                // A session, or a run of which the spread is known from others, is worth one.
                let fewest = match question.beyond {
                    UnrepeatedVariation::Nothing => base.len().min(new.len()),
                    UnrepeatedVariation::LikeUnits | UnrepeatedVariation::Known(_) => 1,
                };
                (
                    welch.ratio_interval,
                    Ok(welch.p),
                    outcome(&welch, fewest, question),
                )
            }
            Err(Undefined::NoSpread) => without_spread(base, new, question),
            Err(why) => (
                Err(why),
                Err(why),
                VerdictOutcome::CannotTell { more: None },
            ),
        };
        Compared {
            base: base_mean,
            new: new_mean,
            ratio: crate::ratio(base_mean, new_mean),
            difference: new_mean - base_mean,
            difference_interval,
            kept,
            ratio_interval,
            p,
            outcome,
        }
    }

    /// Units of which the nth of either side are of the same host; none where their differences don't vary though the sides do.
    fn paired(base: &[f64], new: &[f64], question: &VerdictOptions) -> Option<Self> {
        let mean = |units: &[f64]| {
            question
                .mean
                .compute(&Samples::new(units.to_vec()).ok()?)
                .ok()
        };
        let (base_mean, new_mean) = (mean(base)?, mean(new)?);
        let positive = base.iter().chain(new).all(|unit| *unit > 0.0);
        let compared = Compared {
            base: base_mean,
            new: new_mean,
            ratio: crate::ratio(base_mean, new_mean),
            difference: new_mean - base_mean,
            difference_interval: Err(Undefined::NoSpread),
            kept: 0.0,
            ratio_interval: Err(Undefined::NoSpread),
            p: Err(Undefined::NoSpread),
            outcome: VerdictOutcome::CannotTell { more: None },
        };
        match paired(base, new, question.confidence) {
            Ok(found) => {
                // What was found is of the arithmetic mean of the base.
                let scale = base_mean / crate::sums::mean(base);
                let scale = if positive { scale } else { 1.0 };
                Some(Compared {
                    ratio: found.ratio,
                    difference: found.difference * scale,
                    difference_interval: Ok(Interval {
                        low: found.difference_interval.low * scale,
                        high: found.difference_interval.high * scale,
                    }),
                    ratio_interval: found.ratio_interval,
                    p: Ok(found.p),
                    outcome: outcome(&found, base.len(), question),
                    ..compared
                })
            }
            Err(Undefined::NoSpread) if positive => {
                let (ratio_interval, p, outcome) = without_spread(base, new, question);
                Some(Compared {
                    ratio_interval,
                    p,
                    outcome,
                    ..compared
                })
            }
            Err(Undefined::NoSpread) => None,
            Err(why) => Some(Compared {
                difference_interval: Err(why),
                ratio_interval: Err(why),
                p: Err(why),
                ..compared
            }),
        }
    }

    fn percent(&self) -> Result<f64, Undefined> {
        finite(100.0 * self.ratio? - 100.0)
    }

    fn percent_interval(&self) -> Result<Interval, Undefined> {
        self.ratio_interval.map(in_percent)
    }
}

/// φ of both sides, from the products of both; zero if either has too few units, or is sorted, so that its order is
/// not the order of measurement.
fn shared_autocorrelation(base: &[f64], new: &[f64]) -> f64 {
    let sorted = |units: &[f64]| units.is_sorted() || units.iter().rev().is_sorted();
    if sorted(base) || sorted(new) {
        return 0.0;
    }
    match (raw_autocorrelation(base), raw_autocorrelation(new)) {
        (Ok(of_base), Ok(of_new)) => {
            let (n, m) = (base.len(), new.len());
            let raw = (of_base * n as f64 + of_new * m as f64) / (n + m) as f64;
            allowed_for(corrected(raw, (n + m) / 2), n + m)
        }
        _ => 0.0,
    }
}

/// Compares the means of two sides as [`welch`](fn@crate::welch) does, where they differ by more than the spread of their
/// samples shows.
///
/// # Errors
/// [`Undefined::TooFew`] if a side has fewer than two samples and no more is known; [`Undefined::NoSpread`] if nothing varies.
pub fn welch_beyond(
    base: &Samples,
    new: &Samples,
    beyond: UnrepeatedVariation,
    confidence: Confidence,
) -> Result<Welch, Undefined> {
    estimate(base.measured(), new.measured(), 0.0, beyond, confidence)
}

/// The comparison of the means of two lists of units, with what they differ by beyond these.
fn estimate(
    base: &[f64],
    new: &[f64],
    kept: f64,
    beyond: UnrepeatedVariation,
    confidence: Confidence,
) -> Result<Welch, Undefined> {
    let inflation = |units: &[f64]| inflation_of_mean(kept, units.len());
    let of = |units: &[f64]| -> Result<MeanWithError, Undefined> {
        match beyond {
            UnrepeatedVariation::Nothing => mean(units, kept),
            UnrepeatedVariation::LikeUnits => {
                let mean = mean(units, kept)?;
                let deviation = mean.error * (units.len() as f64 / inflation(units)).sqrt();
                Ok(MeanWithError {
                    error: mean.error.hypot(deviation),
                    ..mean
                })
            }
            // The units' own spread is a part of what is known; where it is larger, it counts.
            UnrepeatedVariation::Known(known) => {
                let centre = crate::sums::mean(units);
                let own = mean(units, kept).map_or(0.0, |mean| mean.error);
                Ok(MeanWithError {
                    mean: centre,
                    error: own.max(known.relative * centre.abs()),
                    n: known.freedom as f64 + 1.0,
                })
            }
        }
    };
    let positive = base.iter().chain(new).all(|unit| *unit > 0.0);
    let (base, new) = (of(base)?, of(new)?);
    let welch = match beyond {
        UnrepeatedVariation::Known(known) => {
            compare_with_freedom(&base, &new, known.freedom as f64, confidence)?
        }
        UnrepeatedVariation::Nothing | UnrepeatedVariation::LikeUnits => {
            compare(&base, &new, confidence)?
        }
    };
    Ok(match positive {
        true => with_positive_ratio(welch, &base, &new, confidence),
        false => welch,
    })
}

/// The mean of units, each of which keeps `kept` of its predecessor's deviation.
fn mean(units: &[f64], kept: f64) -> Result<MeanWithError, Undefined> {
    let n = units.len() as f64;
    if units.len() < 2 {
        return Err(Undefined::TooFew {
            needs: 2,
            has: units.len(),
        });
    }
    let inflation = inflation_of_mean(kept, units.len());
    let mean = crate::sums::mean(units);
    // Autocorrelated units lie too close to their own mean: Σ(x − mean)² has the expectation (n − inflation)·σ².
    // The mean of equal values may differ from them by a rounding, which is no spread.
    let spread = if units.iter().all(|unit| *unit == units[0]) {
        0.0
    } else {
        crate::sums::root_of_squares(units, mean)
    };
    let deviation = spread / (n - inflation).max(1.0).sqrt();
    Ok(MeanWithError {
        mean,
        error: deviation * (inflation / n).sqrt(),
        n: (n / inflation).max(2.0),
    })
}

fn outcome(welch: &Welch, fewest: usize, question: &VerdictOptions) -> VerdictOutcome {
    let margin = question.margin_percent / 100.0;
    let Ok(interval) = welch.ratio_interval else {
        // Without a ratio there is no percentage to be within; a difference may still be seen.
        return match side_of(welch.difference_interval, 0.0, question.better) {
            Some(outcome) => outcome,
            None => VerdictOutcome::CannotTell { more: None },
        };
    };
    if let Some(outcome) = side_of(interval, 1.0, question.better) {
        return outcome;
    }
    let furthest = (interval.high - 1.0).max(1.0 - interval.low);
    if furthest <= margin {
        return VerdictOutcome::NoChange {
            larger_than_percent: 100.0 * furthest,
        };
    }
    VerdictOutcome::CannotTell {
        more: more(interval, welch, fewest, margin, question.confidence),
    }
}

impl VerdictOutcome {
    /// What a change to more (`higher`) or less is.
    fn changed(higher: bool, better: Better) -> Self {
        match better {
            Better::Neither => Self::Changed,
            better if higher == (better == Better::Higher) => Self::Better,
            _ => Self::Worse,
        }
    }
}

/// On which side of `none` the whole interval lies.
fn side_of(interval: Interval, none: f64, better: Better) -> Option<VerdictOutcome> {
    let higher = match (interval.low > none, interval.high < none) {
        (true, _) => true,
        (_, true) => false,
        _ => return None,
    };
    Some(VerdictOutcome::changed(higher, better))
}

/// How many more units a side until the half width is short enough either to exclude 1 or to fit into the margin, if the
/// ratio is what it seems: the half width falls with √n, and with Student's quantile.
fn more(
    interval: Interval,
    welch: &Welch,
    units: usize,
    margin: f64,
    confidence: Confidence,
) -> Option<usize> {
    let half = interval.width() / 2.0;
    let seen = (welch.ratio.ok()? - 1.0).abs();
    let wanted = seen.max(margin - seen);
    if wanted <= 0.0 || !half.is_finite() {
        return None;
    }
    let now = t_quantile(confidence, welch.degrees_of_freedom) / (units as f64).sqrt();
    let enough = |n: usize| {
        let freedom = welch.degrees_of_freedom * n as f64 / units as f64;
        half * t_quantile(confidence, freedom) / (n as f64).sqrt() <= wanted * now
    };
    let (mut low, mut high) = (units, units * 2);
    while !enough(high) {
        (low, high) = (high, high * 2);
        if high > 10_000_000 {
            return None;
        }
    }
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if enough(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    Some(high - units)
}

/// Sides that are each all equal, such as counts of instructions: a few a side are believed.
fn without_spread(
    base: &[f64],
    new: &[f64],
    question: &VerdictOptions,
) -> (
    Result<Interval, Undefined>,
    Result<f64, Undefined>,
    VerdictOutcome,
) {
    let ratio = if base[0] == new[0] {
        Ok(1.0)
    } else {
        crate::ratio(base[0], new[0])
    };
    let interval = ratio.map(|ratio| Interval {
        low: ratio,
        high: ratio,
    });
    let fewest = base.len().min(new.len());
    if fewest < question.alike_enough {
        let more = Some(question.alike_enough - fewest);
        let too_few = Undefined::TooFew {
            needs: question.alike_enough,
            has: fewest,
        };
        return (
            Err(too_few),
            Err(Undefined::NoSpread),
            VerdictOutcome::CannotTell { more },
        );
    }
    let outcome = if base[0] == new[0] {
        VerdictOutcome::NoChange {
            larger_than_percent: 0.0,
        }
    } else {
        VerdictOutcome::changed(new[0] > base[0], question.better)
    };
    (interval, Err(Undefined::NoSpread), outcome)
}

impl OrderEffects {
    fn from_units(units: &[f64]) -> Self {
        let sorted = units.is_sorted() || units.iter().rev().is_sorted();
        let warm_up = if sorted { None } else { warm_up(units) };
        let rest = &units[warm_up.map_or(0, |found| found.drop)..];
        OrderEffects {
            warm_up,
            drift: if sorted { None } else { drift(rest) },
        }
    }
}

impl WarmedUpVerdict {
    fn new(
        base: &[f64],
        new: &[f64],
        order: (OrderEffects, OrderEffects),
        question: &VerdictOptions,
    ) -> Option<Self> {
        let drop = |order: OrderEffects| order.warm_up.map_or(0, |found| found.drop);
        let dropped = (drop(order.0), drop(order.1));
        if dropped == (0, 0) {
            return None;
        }
        let rest = Compared::new(
            &base[dropped.0..],
            &new[dropped.1..],
            Repeats::InOrder,
            question,
        );
        Some(WarmedUpVerdict {
            dropped,
            outcome: rest.outcome,
            percent: rest.percent(),
            percent_interval: rest.percent_interval(),
            ratio: rest.ratio,
            ratio_interval: rest.ratio_interval,
            difference: rest.difference,
            difference_interval: rest.difference_interval,
            p: rest.p,
        })
    }
}

impl ModeShares {
    fn from_samples(base: &Samples, new: &Samples, confidence: Confidence) -> Option<Self> {
        let found = [two_modes(base), two_modes(new)]
            .into_iter()
            .flatten()
            .min_by(|a, b| a.p.total_cmp(&b.p))?;
        let above =
            |side: &Samples| side.n() - side.ascending().partition_point(|&x| x <= found.gap);
        let (of_base, of_new) = (above(base), above(new));
        Some(ModeShares {
            found,
            base_high_share: of_base as f64 / base.n() as f64,
            new_high_share: of_new as f64 / new.n() as f64,
            p: share_p(of_base, base.n(), of_new, new.n()),
            share_interval: share_difference_interval(
                (of_base, base.n()),
                (of_new, new.n()),
                confidence,
            ),
        })
    }

    /// A change of the share is a change.
    fn outcome(&self, question: &VerdictOptions) -> Option<VerdictOutcome> {
        if !self.differ(question.confidence) {
            return None;
        }
        let higher = self.new_high_share > self.base_high_share;
        Some(VerdictOutcome::changed(higher, question.better))
    }
}

#[cfg(test)]
mod tests;
