//! Numbers that a bisection depends on, each with its unit, its meaning and what it trades.
//!
//! Values without another source were chosen by simulation: docs/quality.md, "Which change did it". σ is the standard
//! deviation of one measurement. The model's own parameters are in `backsight_stats::culprits`.

use std::time::Duration;

/// How small a step is searched for, by what a measurement costs.
pub(super) struct EffortParameters {
    /// Time for the search of small steps where there is no smaller budget.
    pub allowance: Duration,
    /// Measurements that decide about a step of 1σ. A step of x σ takes 1/x² times as many, so that the allowance decides
    /// which steps are searched for.
    pub measurements_of_one_sigma: f64,
    /// Steps of this size, in σ, are searched for at any cost…
    pub max_tellable: f64,
    /// …and smaller ones than this never.
    pub min_tellable: f64,
    /// Changes below this share of the first version end the search, unless they show by themselves: nobody acts on them.
    pub margin: f64,
    /// Entropy that a measurement removes on average, in nats; only for the estimate of how many are left.
    pub nats_per_measurement: f64,
}

pub(super) const EFFORT: EffortParameters = EffortParameters {
    allowance: Duration::from_secs(15 * 60),
    measurements_of_one_sigma: 100.0,
    max_tellable: 1.0,
    min_tellable: 0.05,
    margin: 0.01,
    nats_per_measurement: 0.12,
};

/// With which probability changes that cancel may remain in stretches without a measurement when the search ends. Smaller values
/// find more of +3σ, −3σ, +3σ and cost measurements of one step of 2σ, because the size of a step, which decides, is known
/// to about .6σ only (the table "looks: hidden, cheap, dear").
pub(super) struct HiddenChangeParameters {
    /// Where they are searched for, or a search of all versions is cheap.
    pub where_searched: f64,
    /// Where one look at a version decides and costs little.
    pub where_one_look_decides: f64,
    /// A look decides about a step of this many σ by one measurement; about smaller ones by the inverse square of their size.
    pub sigmas_of_one_look: f64,
    /// Up to this price of a look, in measurements with the build, it is worth it…
    pub cheap_look: f64,
    /// …and from this price on it isn't. Between them the logarithm of the probability is linear in the price.
    pub expensive_look: f64,
}

pub(super) const HIDDEN_CHANGES: HiddenChangeParameters = HiddenChangeParameters {
    where_searched: 0.015,
    where_one_look_decides: 0.008,
    sigmas_of_one_look: 3.0,
    cheap_look: 2.0,
    expensive_look: 3.5,
};

/// Prior probability of several changes, given one, by what it costs to rule out a second one of two fifths of the first.
pub(super) struct SeveralChangesParameters {
    /// At most this where the largest step is small. Trades measurements of one step of 1σ for several steps of 1σ; with .02 one
    /// step of ½σ is right in .948 of the jobs, and .95 is asked.
    pub of_small: f64,
    /// The largest step, in σ, up to which it is small.
    pub small_step: f64,
    /// The largest step, in σ, from which on the goal's prior holds; between them its logarithm is linear. Three steps
    /// of 1.5σ are to be found by the goal's prior.
    pub large_step: f64,
    /// Where a trial of every version is cheap.
    pub where_cheap: f64,
    /// It is cheap up to this share of the allowance.
    pub cheap_share: f64,
}

pub(super) const SEVERAL_CHANGES: SeveralChangesParameters = SeveralChangesParameters {
    of_small: 0.04,
    small_step: 1.2,
    large_step: 1.7,
    where_cheap: 0.5,
    cheap_share: 0.3,
};

/// What is measured of both ends before anything else.
pub(super) struct EndParameters {
    /// Measurements of each end, shared out among the testbeds…
    pub measurements: usize,
    /// …but at least this many on each testbed.
    pub measurements_per_testbed: usize,
    /// Measurements of each end of a metric that is counted, not measured.
    pub counted_measurements: usize,
    /// Counted values differ at most by this share.
    pub counted_tolerance: f64,
    /// Trials of each end, so that the noise is known…
    pub noise_trials: usize,
    /// …and where it has one side, so that a measurement is the best of several trials…
    pub noise_trials_one_sided: usize,
    /// …but at most this share of the allowance.
    pub max_noise_share: f64,
}

pub(super) const ENDS: EndParameters = EndParameters {
    measurements: 4,
    measurements_per_testbed: 2,
    counted_measurements: 2,
    counted_tolerance: 1e-6,
    noise_trials: 32,
    noise_trials_one_sided: 128,
    max_noise_share: 0.04,
};

/// How often the evidence is judged anew.
pub(super) struct PaceParameters {
    /// Boots that fail, or measurements without a value, after which a version is passed over.
    pub max_fruitless: usize,
    /// Trials after which the estimator is chosen for the first time; then whenever there are half as many more.
    pub first_estimator_trials: usize,
    /// Degrees of freedom that the estimator's variance counts for: it comes from trials, not from repeated measurements.
    pub estimator_freedom: f64,
    /// Duration of a decision, in seconds. Trials that are shorter are repeated for that long…
    pub decision_seconds: f64,
    /// …but at most this often.
    pub max_in_a_row: f64,
    /// A version is measured this share more often before the next decision, which would seldom be another…
    pub repeat_share: f64,
    /// …for at most the duration of this many decisions.
    pub max_repeat_decisions: f64,
}

pub(super) const PACE: PaceParameters = PaceParameters {
    max_fruitless: 2,
    first_estimator_trials: 32,
    estimator_freedom: 4.0,
    decision_seconds: 0.1,
    max_in_a_row: 16.0,
    repeat_share: 0.06,
    max_repeat_decisions: 10.0,
};

/// Measurements of several versions in turn, on a machine whose disturbances last. Source: trials on a machine whose
/// neighbours were busy for ten to sixty trials in a row.
pub(super) struct InterleavingParameters {
    /// Versions in turn at most…
    pub max_versions: usize,
    /// …and at least, if another version would tell less than `min_gain` times as much as the ones in turn.
    pub min_versions: usize,
    /// See there.
    pub min_gain: f64,
    /// A measurement lasts this share of the allowance, so that disturbances come and go meanwhile…
    pub duration_share: f64,
    /// …but at most this many trials.
    pub max_trials: usize,
    /// The autocorrelation of trials is the mean of the lags from 1 to this.
    pub lags: usize,
    /// Trials are alike from this autocorrelation on…
    pub min_autocorrelation: f64,
    /// …if it is this many times its standard error under independence.
    pub min_standard_errors: f64,
    /// Trials of a version from which on its mean is used.
    pub min_trials_of_version: usize,
}

pub(super) const INTERLEAVING: InterleavingParameters = InterleavingParameters {
    max_versions: 16,
    min_versions: 10,
    min_gain: 1.3,
    duration_share: 0.2,
    max_trials: 128,
    lags: 8,
    min_autocorrelation: 0.1,
    min_standard_errors: 4.0,
    min_trials_of_version: 4,
};
