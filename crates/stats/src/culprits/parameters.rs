//! Numbers that the model of changes and its search depend on, each with its unit, its meaning and what it trades.
//!
//! Values without another source were chosen by simulation: docs/quality.md, "Which change did it". σ is the standard
//! deviation of one measurement.

/// Prior distribution of the changes along a history, before anything is measured.
pub(super) struct PriorParameters {
    /// Probability that no version changed the mean. A larger value ends histories without a change sooner and takes changes of
    /// ½σ for none.
    pub no_change: f64,
    /// Expected number of changes along the history, Poisson, if there is one change; "no change" has its own prior. So small
    /// that, given one change, a second one has a probability of about 0.025.
    pub expected_if_single: f64,
    /// The same if there are several changes, which has the probability [`BisectionGoal::several`](super::BisectionGoal::several).
    pub expected_if_several: f64,
    /// Probability that two changes cancel each other somewhere along the history, so that they show only between them.
    pub cancelling_pair: f64,
    /// The same where the user asks for changes that cancel.
    pub cancelling_pair_if_asked: f64,
}

pub(super) const PRIOR: PriorParameters = PriorParameters {
    no_change: 0.07,
    expected_if_single: 0.05,
    expected_if_several: 3.0,
    cancelling_pair: 0.3,
    cancelling_pair_if_asked: 1.0,
};

/// The smallest step that counts: its size is `tellable` σ, but within these limits. The number of measurements that decide
/// about a step grows with the inverse square of its size.
pub(super) struct SmallestStepParameters {
    /// Lower limit, as a share of the largest step. Of steps of 8 % and 2 % both count.
    pub min_share: f64,
    /// Upper limit, as a share of the largest step. A larger value needs fewer measurements and misses second changes: with .45
    /// three steps of 1.5σ are right in .863 of the jobs.
    pub max_share: f64,
    /// The upper limit is at least this, in σ: smaller steps cost too much beside a small largest step.
    pub max_size_at_least: f64,
    /// The largest step is taken to be at least this, in σ.
    pub largest_at_least: f64,
}

pub(super) const SMALLEST_STEP: SmallestStepParameters = SmallestStepParameters {
    min_share: 0.18,
    max_share: 0.4,
    max_size_at_least: 0.3,
    largest_at_least: 0.4,
};

/// When something is taken as known.
pub(super) struct StoppingParameters {
    /// From this probability on that the ends differ, a change that is smaller than the margin is searched for too.
    pub certain_change: f64,
    /// From this probability on that the ends differ, a change seems to be there, and versions between the ends are measured.
    pub likely_change: f64,
    /// "No change" is an answer only if the ends differ with at most this probability. Trades measurements where nothing
    /// changed for steps of ½σ, which look like none at first; .01 took 315 measurements instead of 231 and made no answer righter.
    pub max_change_beside_none: f64,
    /// A version that was measured once and is off is measured again only if the search for changes that cancel goes on below
    /// this probability that one is left.
    pub recheck_below_hidden: f64,
    /// A version is off if its mean differs from its level by this share of the largest step…
    pub off_share: f64,
    /// …and by this many σ.
    pub off_deviations: f64,
}

pub(super) const STOPPING: StoppingParameters = StoppingParameters {
    certain_change: 0.99,
    likely_change: 0.5,
    max_change_beside_none: 0.02,
    recheck_below_hidden: 0.04,
    off_share: 0.5,
    off_deviations: 1.0,
};

/// The numerical integration: a grid over what is unknown beside the places of the steps, and draws from it. Finer values cost time
/// and change no answer noticeably.
pub(super) struct GridParameters {
    /// Segmentations that are drawn from the posterior; probabilities have steps of one over this.
    pub draws: usize,
    /// Variances of the noise on the grid, in units of the pooled variance: a row for fewer degrees of freedom than its first
    /// number. They cover the middle of the scaled inverse χ² distribution of the variance.
    pub noise_factors: [(f64, &'static [f64]); 3],
    /// Standard deviations of the levels on the grid, spaced geometrically.
    pub level_spreads: usize,
    /// The least of these, in σ.
    pub level_spread_from: f64,
    /// The greatest of these, in units of the range of the means or of twice σ, whichever is more.
    pub level_spread_to: f64,
    /// Sets of offsets of the testbeds on the grid.
    pub offsets: usize,
    /// The first such sets lie this many times as wide as the versions that several testbeds measured make probable.
    pub offset_widening: f64,
    /// Scales with less weight than this on one testbed are left out for the sets of offsets.
    pub negligible_scale: f64,
    /// The noise is at least this share of the values: numbers are rounded.
    pub rounding: f64,
}

pub(super) const GRID: GridParameters = GridParameters {
    draws: 512,
    noise_factors: [
        (12.0, &[0.5, 0.72, 1.05, 1.5, 2.2, 3.2]),
        (60.0, &[0.7, 0.9, 1.15, 1.45]),
        (f64::INFINITY, &[0.88, 1.0, 1.14]),
    ],
    level_spreads: 5,
    level_spread_from: 0.5,
    level_spread_to: 2.0,
    offsets: 8,
    offset_widening: 1.3,
    negligible_scale: 1e-3,
    rounding: 1e-9,
};

/// The candidates for the next measurement, and how their expected information is computed.
pub(super) struct ChoiceParameters {
    /// Numbers of repeats that are compared.
    pub repeats: [usize; 4],
    /// Candidates, the best by one measurement first, for which repeats are compared.
    pub repeated_candidates: usize,
    /// Candidates lie within a gap if a step there has at least this probability.
    pub min_gap_probability: f64,
    /// Their positions within the gap, as shares of it.
    pub gap_fractions: [f64; 3],
    /// Levels of a version with less probability than this tell nothing.
    pub negligible_level: f64,
    /// Sets of changes that are drawn where measurements are under way on other testbeds.
    pub drawn_changes: usize,
    /// Outcomes of these measurements that are averaged over.
    pub predicted_outcomes: usize,
    /// Seed of both, always the same: the same evidence gives the same choice.
    pub seed: u64,
}

pub(super) const CHOICE: ChoiceParameters = ChoiceParameters {
    repeats: [1, 2, 4, 8],
    repeated_candidates: 4,
    min_gap_probability: 0.004,
    gap_fractions: [0.5, 0.3, 0.7],
    negligible_level: 1e-3,
    drawn_changes: 256,
    predicted_outcomes: 16,
    seed: 1,
};
