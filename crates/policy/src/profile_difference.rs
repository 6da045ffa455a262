//! Shares of functions in profiles, and the difference of two sides with its statistics.
//!
//! A trial is a replicate: of each function it has one share of the trial's weight in itself, and one with all that it called. Sides are
//! compared by Welch's method on these shares. The standard error of a side is never less than that of drawing so many samples
//! (binomial): a few samples that happen to be alike in every trial would pass for certainty. How much larger than that it is, is estimated
//! from all functions together (`VariancePrior`): a function alone has no more than its few trials. Functions are called changed by Benjamini
//! and Hochberg's procedure over all shares that are compared.

use backsight_profile::FunctionWeights;
use backsight_stats::{
    Confidence, EstimatedVariance, Interval, Samples, Undefined, VariancePrior, benjamini_hochberg,
    difference_with_error, mean_interval, welch,
};

/// How shares are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileOptions {
    /// Confidence of each interval.
    pub confidence: Confidence,
    /// Functions with less than this share on both sides are put together, in percent. A function has at least five of 1,000 samples at
    /// 0.5: of fewer, a trial says next to nothing, and each takes from the power to see the others.
    pub floor_percent: f64,
    /// The expected share of false ones among the functions that are called changed.
    pub false_share: f64,
    /// Whether weights are numbers of samples, which have at least the spread of drawing them.
    pub are_samples: bool,
}

impl Default for ProfileOptions {
    fn default() -> Self {
        Self {
            confidence: Confidence::USUAL,
            floor_percent: 0.5,
            false_share: 0.05,
            are_samples: true,
        }
    }
}

/// A profile of trials, beside that of a base if there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileDifference {
    /// The base's side, if there is one.
    pub base: Option<ProfileSide>,
    /// The new side, or the only one.
    pub new: ProfileSide,
    /// Functions at or above the floor: changed ones first, the largest change first; then by share of the function itself.
    pub functions: Vec<FunctionDifference>,
    /// Those below the floor, together.
    pub rest: Option<FunctionsBelowFloor>,
    /// The options.
    pub options: ProfileOptions,
}

/// The trials of a side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileSide {
    /// Trials with samples.
    pub trials: usize,
    /// Trials without any, which have no shares.
    pub empty_trials: usize,
    /// Mean weight of a trial with samples.
    pub weight: f64,
}

/// A function.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionDifference {
    /// Its number.
    pub function: usize,
    /// The share of samples that were in it.
    pub itself: ComparedShare,
    /// The share of samples that were in it or in what it called.
    pub inclusive: ComparedShare,
}

/// Functions that are too small to be shown each.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionsBelowFloor {
    /// How many.
    pub functions: usize,
    /// The share of samples that were in one of them.
    pub itself: ComparedShare,
}

/// A share on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedShare {
    /// The base's, if there is a base.
    pub base: Option<SideShare>,
    /// That of the new side, or of the only one.
    pub new: SideShare,
    /// new − base, if there is a base.
    pub difference: Option<ShareDifference>,
}

/// A share on one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideShare {
    /// The mean of the trials' shares, in percent.
    pub percent: f64,
    /// Its interval.
    pub interval: Result<Interval, Undefined>,
    /// The mean of the trials' weights.
    pub weight: f64,
}

/// The difference of two shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareDifference {
    /// new − base, in points of percent.
    pub points: f64,
    /// Its interval.
    pub interval: Result<Interval, Undefined>,
    /// The p-value of "the shares are equal", if it is known.
    pub p: Option<f64>,
    /// The same, adjusted for all shares that were compared.
    pub adjusted_p: Option<f64>,
    /// Whether it is called a change.
    pub is_changed: bool,
    spread: Result<DifferenceSpread, Undefined>,
}

/// How far a difference of shares may be off, by its trials alone.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DifferenceSpread {
    /// Standard error that the trials show, in points.
    error: f64,
    /// Its degrees of freedom.
    freedom: f64,
    /// Standard error of drawing so many samples; 0 where weights aren't numbers of samples.
    drawn: f64,
    /// Standard error, in points, if every share varied between trials by all of share × (1 − share).
    per_relative: f64,
}

/// On which sides a function has samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionPresence {
    /// On both, or there is one side only.
    Both,
    /// On the new side only.
    Appeared,
    /// On the base's side only.
    Disappeared,
}

impl ProfileDifference {
    /// The shares of one side's trials, or the difference to those of a base.
    pub fn new(
        base: Option<&[FunctionWeights]>,
        new: &[FunctionWeights],
        options: ProfileOptions,
    ) -> Self {
        let count = |weights: &FunctionWeights| weights.inclusive.len();
        let functions = base.unwrap_or_default().iter().chain(new).map(count);
        let functions = functions.max().unwrap_or(0);
        let base = base.map(SideTrials::new);
        let new = SideTrials::new(new);
        let share = |weights: &dyn Fn(&FunctionWeights) -> u64| ComparedShare {
            base: base.as_ref().map(|side| side.share(weights, options)),
            new: new.share(weights, options),
            difference: base
                .as_ref()
                .map(|base| difference(base, &new, weights, options)),
        };
        let (mut shown, mut small) = (Vec::new(), Vec::new());
        for function in 0..functions {
            let weight = |weights: &FunctionWeights| at(&weights.inclusive, function);
            let sides = base.iter().chain([&new]);
            let largest = sides.map(|side| side.mean_percent(&weight));
            let largest = largest.fold(0.0, f64::max);
            if largest >= options.floor_percent {
                shown.push(FunctionDifference {
                    function,
                    itself: share(&|weights| at(&weights.itself, function)),
                    inclusive: share(&weight),
                });
            } else if largest > 0.0 {
                small.push(function);
            }
        }
        let rest = (!small.is_empty()).then(|| FunctionsBelowFloor {
            functions: small.len(),
            itself: share(&|weights| small.iter().map(|&one| at(&weights.itself, one)).sum()),
        });
        let mut made = Self {
            base: base.as_ref().map(SideTrials::side),
            new: new.side(),
            functions: shown,
            rest,
            options,
        };
        made.call_changes();
        made.functions.sort_by(|a, b| {
            let by_change = b.changed_points().total_cmp(&a.changed_points());
            let by_share = b.largest_share().total_cmp(&a.largest_share());
            by_change.then(by_share)
        });
        made
    }

    /// Whether there are enough trials to call anything changed.
    pub fn is_judged(&self) -> bool {
        self.base
            .is_some_and(|base| base.trials.min(self.new.trials) >= 2)
    }

    /// Functions that changed.
    pub fn changed(&self) -> impl Iterator<Item = &FunctionDifference> {
        self.functions.iter().filter(|found| found.is_changed())
    }

    /// Tests all shares that are compared, and calls changes.
    fn call_changes(&mut self) {
        let options = self.options;
        let of_functions = self
            .functions
            .iter_mut()
            .flat_map(|found| [&mut found.itself, &mut found.inclusive]);
        let of_rest = self.rest.iter_mut().map(|rest| &mut rest.itself);
        let mut compared: Vec<&mut ShareDifference> = of_functions
            .chain(of_rest)
            .filter_map(|share| share.difference.as_mut())
            .collect();
        let spreads: Vec<DifferenceSpread> = compared
            .iter()
            .filter_map(|difference| difference.spread.ok())
            .collect();
        let model = SpreadModel::from_spreads(&spreads);
        for difference in &mut compared {
            difference.test(&model, options.confidence);
        }
        compared.retain(|difference| difference.p.is_some());
        let p: Vec<f64> = compared.iter().filter_map(|one| one.p).collect();
        for (difference, adjusted) in compared.into_iter().zip(benjamini_hochberg(&p)) {
            difference.adjusted_p = Some(adjusted);
            difference.is_changed = adjusted <= options.false_share;
        }
    }
}

impl ShareDifference {
    /// Sets the interval and the p-value.
    fn test(&mut self, model: &SpreadModel, confidence: Confidence) {
        let tested = self.spread.and_then(|spread| {
            difference_with_error(self.points, model.error(&spread), confidence)
        });
        self.interval = tested.map(|tested| tested.difference_interval);
        self.p = tested.ok().map(|tested| tested.p);
    }
}

/// How the spreads of all shares are made up: of drawing samples, and of programs that take different ways in each trial. The latter is
/// taken to be the same part of each share, and `prior` says how much functions differ from that.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SpreadModel {
    /// Standard deviation of a share between trials, in parts of share × (1 − share).
    relative: f64,
    /// Variances as multiples of the model's.
    prior: Option<VariancePrior>,
}

impl SpreadModel {
    fn from_spreads(spreads: &[DifferenceSpread]) -> Self {
        let spreads: Vec<&DifferenceSpread> =
            spreads.iter().filter(|spread| spread.drawn > 0.0).collect();
        let mut model = Self {
            relative: 0.0,
            prior: None,
        };
        // The relative deviation at which the variances are those of the model in the mean: between none and what is no variation any
        // more, in steps of a two-thousandth of the latter.
        let surplus = |model: &Self| {
            let ratios = spreads.iter().map(|spread| model.ratio(spread) - 1.0);
            ratios.sum::<f64>()
        };
        let (mut low, mut high) = (0.0, 2.0);
        for _ in 0..11 {
            model.relative = (low + high) / 2.0;
            match surplus(&model) > 0.0 {
                true => low = model.relative,
                false => high = model.relative,
            }
        }
        model.relative = high;
        let variances: Vec<EstimatedVariance> = spreads
            .iter()
            .map(|spread| (model.ratio(spread), spread.freedom))
            .collect();
        model.prior = VariancePrior::from_variances(&variances);
        model
    }

    fn variance(&self, spread: &DifferenceSpread) -> f64 {
        spread.drawn.powi(2) + (self.relative * spread.per_relative).powi(2)
    }

    fn ratio(&self, spread: &DifferenceSpread) -> f64 {
        spread.error.powi(2) / self.variance(spread)
    }

    /// The standard error with what all functions say of it, and its degrees of freedom.
    fn error(&self, spread: &DifferenceSpread) -> (f64, f64) {
        let own = (spread.error, spread.freedom);
        if spread.drawn == 0.0 {
            return own;
        }
        let Some(prior) = self.prior else {
            return (spread.error.max(spread.drawn), spread.freedom);
        };
        let (ratio, freedom) = prior.moderate((self.ratio(spread), spread.freedom));
        let error = (ratio * self.variance(spread)).sqrt();
        (error.max(spread.drawn), freedom)
    }
}

impl FunctionDifference {
    /// Whether its share changed, of itself or with what it calls.
    pub fn is_changed(&self) -> bool {
        self.itself.is_changed() || self.inclusive.is_changed()
    }

    /// On which sides it has samples.
    pub fn presence(&self) -> FunctionPresence {
        match (self.inclusive.base, self.inclusive.new) {
            (Some(base), _) if base.weight == 0.0 => FunctionPresence::Appeared,
            (Some(_), new) if new.weight == 0.0 => FunctionPresence::Disappeared,
            _ => FunctionPresence::Both,
        }
    }

    /// The size of the largest change, or -1 without one.
    fn changed_points(&self) -> f64 {
        let changed = [&self.itself, &self.inclusive]
            .into_iter()
            .filter_map(|share| share.difference)
            .filter(|difference| difference.is_changed);
        changed.map(|one| one.points.abs()).fold(-1.0, f64::max)
    }

    fn largest_share(&self) -> f64 {
        let base = self.itself.base.map_or(0.0, |base| base.percent);
        self.itself.new.percent.max(base)
    }
}

impl ComparedShare {
    /// Whether it is called changed.
    pub fn is_changed(&self) -> bool {
        self.difference.is_some_and(|found| found.is_changed)
    }
}

/// The trials of a side that have samples.
struct SideTrials<'a> {
    trials: Vec<&'a FunctionWeights>,
    empty_trials: usize,
}

impl<'a> SideTrials<'a> {
    fn new(all: &'a [FunctionWeights]) -> Self {
        let trials: Vec<_> = all.iter().filter(|trial| trial.total > 0).collect();
        Self {
            empty_trials: all.len() - trials.len(),
            trials,
        }
    }

    fn weight(&self) -> f64 {
        self.trials.iter().map(|trial| trial.total as f64).sum()
    }

    fn mean(&self, value: impl Fn(&FunctionWeights) -> f64) -> f64 {
        let sum: f64 = self.trials.iter().map(|trial| value(trial)).sum();
        sum / self.trials.len().max(1) as f64
    }

    fn mean_percent(&self, weight: &dyn Fn(&FunctionWeights) -> u64) -> f64 {
        self.mean(|trial| percent(weight(trial), trial.total))
    }

    /// The trials' shares in percent.
    fn shares(&self, weight: &dyn Fn(&FunctionWeights) -> u64) -> Option<Samples> {
        let shares = self
            .trials
            .iter()
            .map(|trial| percent(weight(trial), trial.total));
        Samples::new(shares.collect()).ok()
    }

    fn share(
        &self,
        weight: &dyn Fn(&FunctionWeights) -> u64,
        options: ProfileOptions,
    ) -> SideShare {
        let none = Undefined::TooFew { needs: 2, has: 0 };
        let interval = self
            .shares(weight)
            .ok_or(none)
            .and_then(|shares| mean_interval(&shares, options.confidence));
        SideShare {
            percent: self.mean_percent(weight),
            interval: interval.map(|interval| Interval {
                low: interval.low.max(0.0),
                high: interval.high.min(100.0),
            }),
            weight: self.mean(|trial| weight(trial) as f64),
        }
    }

    fn side(&self) -> ProfileSide {
        ProfileSide {
            trials: self.trials.len(),
            empty_trials: self.empty_trials,
            weight: self.mean(|trial| trial.total as f64),
        }
    }
}

fn difference(
    base: &SideTrials<'_>,
    new: &SideTrials<'_>,
    weight: &dyn Fn(&FunctionWeights) -> u64,
    options: ProfileOptions,
) -> ShareDifference {
    let spread = spread(base, new, weight, options);
    ShareDifference {
        points: new.mean_percent(weight) - base.mean_percent(weight),
        interval: Err(Undefined::NoSpread),
        p: None,
        adjusted_p: None,
        is_changed: false,
        spread,
    }
}

fn spread(
    base: &SideTrials<'_>,
    new: &SideTrials<'_>,
    weight: &dyn Fn(&FunctionWeights) -> u64,
    options: ProfileOptions,
) -> Result<DifferenceSpread, Undefined> {
    let too_few = Undefined::TooFew { needs: 2, has: 0 };
    let of_base = base.shares(weight).ok_or(too_few)?;
    let of_new = new.shares(weight).ok_or(too_few)?;
    let trials = of_base.measured().len().min(of_new.measured().len());
    let (error, freedom) = match welch(&of_base, &of_new, options.confidence) {
        Ok(found) => (found.error, found.degrees_of_freedom),
        // Trials that are all alike: the least freedom that Welch and Satterthwaite give.
        Err(Undefined::NoSpread) => (0.0, (trials - 1) as f64),
        Err(why) => return Err(why),
    };
    let mut made = DifferenceSpread {
        error,
        freedom,
        drawn: 0.0,
        per_relative: 0.0,
    };
    if options.are_samples {
        // Both sides as if they had the same share.
        let weighed = |side: &SideTrials<'_>| -> f64 {
            side.trials.iter().map(|trial| weight(trial) as f64).sum()
        };
        let (samples_of_base, samples_of_new) = (base.weight(), new.weight());
        let share = (weighed(base) + weighed(new)) / (samples_of_base + samples_of_new);
        let variance = share * (1.0 - share);
        let per_sample = 1.0 / samples_of_base + 1.0 / samples_of_new;
        let per_trial = 1.0 / base.trials.len() as f64 + 1.0 / new.trials.len() as f64;
        made.drawn = 100.0 * (variance * per_sample).sqrt();
        made.per_relative = 100.0 * variance * per_trial.sqrt();
    }
    Ok(made)
}

fn percent(weight: u64, total: u64) -> f64 {
    100.0 * weight as f64 / total as f64
}

fn at(weights: &[u64], function: usize) -> u64 {
    weights.get(function).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Trials of so many samples each, drawn from functions with these weights, each of which varies between trials by this share. All
    /// are called by function 0.
    fn draw_varying(
        random: &mut ChaCha8Rng,
        weights: &[f64],
        varies: f64,
        trials: usize,
        samples: u32,
    ) -> Vec<FunctionWeights> {
        let trial = |_| {
            let weights = weights.iter();
            let weights: Vec<f64> = weights
                .map(|weight| {
                    let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                    weight * (varies * normal).exp()
                })
                .collect();
            draw(random, &weights, 1, samples).remove(0)
        };
        (0..trials).map(trial).collect()
    }

    /// Trials of so many samples each, drawn from functions with these weights. All are called by function 0.
    fn draw(
        random: &mut ChaCha8Rng,
        weights: &[f64],
        trials: usize,
        samples: u32,
    ) -> Vec<FunctionWeights> {
        let sum: f64 = weights.iter().sum();
        let trial = |random: &mut ChaCha8Rng| {
            let mut itself = vec![0; weights.len()];
            for _ in 0..samples {
                let mut at = random.random::<f64>() * sum;
                let function = weights.iter().position(|weight| {
                    at -= weight;
                    at < 0.0
                });
                itself[function.unwrap_or(0)] += 1;
            }
            weigh(itself)
        };
        (0..trials).map(|_| trial(random)).collect()
    }

    fn weigh(itself: Vec<u64>) -> FunctionWeights {
        let total = itself.iter().sum();
        let mut inclusive = itself.clone();
        inclusive[0] = total;
        FunctionWeights {
            total,
            itself,
            inclusive,
        }
    }

    /// Shares as programs have them: a few large ones and a long tail.
    fn zipf(functions: usize) -> Vec<f64> {
        (1..=functions).map(|rank| 1.0 / rank as f64).collect()
    }

    fn compare(base: &[FunctionWeights], new: &[FunctionWeights]) -> ProfileDifference {
        ProfileDifference::new(Some(base), new, ProfileOptions::default())
    }

    #[test]
    fn equal_sides_are_called_changed_in_few_of_many_pairs() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        const PAIRS: usize = 150;
        for (trials, samples, varies) in [
            (2, 200, 0.0),
            (3, 1000, 0.0),
            (10, 500, 0.0),
            (2, 1000, 0.1),
            (3, 1000, 0.2),
            (10, 1000, 0.1),
        ] {
            let called = (0..PAIRS)
                .filter(|_| {
                    let mut side = || draw_varying(&mut random, &zipf(60), varies, trials, samples);
                    compare(&side(), &side()).changed().count() > 0
                })
                .count();
            // 5 %, and two standard errors of so many pairs.
            assert!(
                called <= 13,
                "{called} of {PAIRS} pairs of {trials} trials of {samples}, {varies}"
            );
        }
    }

    #[test]
    fn a_function_that_grew_by_a_tenth_is_found() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        // 40 % of the time in one function, which grows by a tenth.
        let mut weights = zipf(50);
        let rest: f64 = weights.iter().sum();
        weights.push(rest * 0.4 / 0.6);
        let mut grown = weights.clone();
        grown[50] *= 1.1;
        const PAIRS: usize = 100;
        let found = (0..PAIRS)
            .filter(|_| {
                let base = draw(&mut random, &weights, 10, 2000);
                let new = draw(&mut random, &grown, 10, 2000);
                let found = compare(&base, &new);
                found.changed().any(|found| found.function == 50)
            })
            .count();
        assert!(found >= 80, "{found} of {PAIRS}");
    }

    #[test]
    fn few_samples_that_are_alike_are_no_certainty() {
        let base = vec![weigh(vec![98, 2]); 4];
        let new = vec![weigh(vec![96, 4]); 4];
        let found = compare(&base, &new);
        assert_eq!(found.changed().count(), 0);
        let difference = found.functions[1].itself.difference.unwrap();
        assert!((difference.points - 2.0).abs() < 1e-9);
        assert!(difference.interval.unwrap().contains(0.0));
    }

    #[test]
    fn one_trial_a_side_shows_differences_and_calls_none() {
        let found = compare(&[weigh(vec![50, 50])], &[weigh(vec![10, 90])]);
        assert!(!found.is_judged());
        let difference = found.functions[0].itself.difference.unwrap();
        assert_eq!(difference.points.abs(), 40.0);
        assert!(matches!(difference.interval, Err(Undefined::TooFew { .. })));
        assert_eq!((difference.p, difference.is_changed), (None, false));
    }

    #[test]
    fn functions_appear_and_disappear_and_small_ones_are_put_together() {
        let base = vec![
            weigh(vec![9000, 500, 0, 10, 12]),
            weigh(vec![9050, 520, 0, 9, 11]),
        ];
        let new = vec![
            weigh(vec![9000, 0, 510, 10, 12]),
            weigh(vec![9020, 0, 540, 9, 11]),
        ];
        let found = compare(&base, &new);
        let presence = |function: usize| {
            let mut found = found.functions.iter();
            found
                .find(|one| one.function == function)
                .unwrap()
                .presence()
        };
        assert_eq!(presence(0), FunctionPresence::Both);
        assert_eq!(presence(1), FunctionPresence::Disappeared);
        assert_eq!(presence(2), FunctionPresence::Appeared);
        assert_eq!(found.rest.unwrap().functions, 2);
        assert_eq!(found.functions.len(), 3);
    }

    #[test]
    fn trials_without_samples_have_no_shares() {
        let found = compare(
            &[weigh(vec![5, 5]), weigh(vec![0, 0]), weigh(vec![6, 4])],
            &[],
        );
        let base = found.base.unwrap();
        assert_eq!((base.trials, base.empty_trials, base.weight), (2, 1, 10.0));
        assert_eq!(found.new.trials, 0);
        assert_eq!(found.changed().count(), 0);
    }

    proptest! {
        #[test]
        fn shares_of_all_functions_are_the_whole(trials in proptest::collection::vec(proptest::collection::vec(0_u64..200, 12), 1..5)) {
            let trials: Vec<FunctionWeights> = trials.into_iter().map(weigh).collect();
            let found = compare(&trials, &trials);
            let rest = found.rest.as_ref().map(|rest| rest.itself.new.percent);
            let sum: f64 = found.functions.iter().map(|one| one.itself.new.percent).chain(rest).sum();
            let whole = if found.new.trials == 0 { 0.0 } else { 100.0 };
            prop_assert!((sum - whole).abs() < 1e-6, "{}", sum);
            prop_assert_eq!(found.changed().count(), 0);
        }
    }
}
