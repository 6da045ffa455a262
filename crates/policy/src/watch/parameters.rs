//! Numbers that a standing job depends on, each with its unit, its meaning and what it trades.
//!
//! Values without another source were chosen by simulation: docs/quality.md, "A standing job".

use std::time::Duration;

/// Seconds of a day, which a budget is for.
pub(super) const DAY_SECONDS: i64 = 24 * 60 * 60;

/// Shares of a day's budget, and how far apart measurements are.
pub(super) struct ScheduleParameters {
    /// Share of the budget for the plan.
    pub plan_share: f64,
    /// Share of the budget for the sentinel. Questions have the rest, and what is left of these two at the end of the day.
    pub sentinel_share: f64,
    /// How far apart versions are measured with the whole plan: the shortest of these that the share pays for, else the last.
    pub plan_intervals: [Duration; 6],
    /// The rate at which versions come is that of so many newest days.
    pub rate_days: i64,
    /// A question is worked at for at most so long before the schedule is looked at again.
    pub max_slice: Duration,
    /// It isn't begun for less than so many builds and trials.
    pub min_slice_builds: f64,
    /// A change that isn't decided after so many days' budgets is told as it stands.
    pub days_of_a_change: u32,
    /// Where the budget doesn't pay for a question now, it is asked again after so long.
    pub look_again: Duration,
}

const HOUR: u64 = 60 * 60;

pub(super) const SCHEDULE: ScheduleParameters = ScheduleParameters {
    plan_share: 0.3,
    sentinel_share: 0.2,
    plan_intervals: [
        Duration::from_secs(2 * HOUR),
        Duration::from_secs(4 * HOUR),
        Duration::from_secs(8 * HOUR),
        Duration::from_secs(24 * HOUR),
        Duration::from_secs(3 * 24 * HOUR),
        Duration::from_secs(7 * 24 * HOUR),
    ],
    rate_days: 7,
    max_slice: Duration::from_secs(HOUR),
    min_slice_builds: 2.0,
    days_of_a_change: 7,
    look_again: Duration::from_secs(HOUR / 2),
};

/// When a step of a series is suspected.
pub(super) struct SuspicionParameters {
    /// False steps to accept per value. More than where a step is told at once: a suspicion is measured before it is told, and
    /// a wrong one costs some builds and trials.
    pub false_per_point: f64,
    /// Newest values of a series that are searched.
    pub window_values: usize,
    /// Values that stand for a version that was measured more often.
    pub max_values_of_version: usize,
    /// After a question was answered with no change, a step there is suspected again once its p-value is this many times smaller.
    pub renewed_ratio: f64,
    /// Within-version degrees of freedom from which on they give the noise of a trial.
    pub min_freedom: usize,
}

pub(super) const SUSPICION: SuspicionParameters = SuspicionParameters {
    false_per_point: 1e-3,
    window_values: 800,
    max_values_of_version: 8,
    renewed_ratio: 10.0,
    min_freedom: 10,
};

/// What questions ask for.
pub(super) struct QuestionParameters {
    /// The smallest step that counts in a bisection, as a share of the suspected one.
    pub smallest_share: f64,
    /// A change that is verified is refuted when it is smaller than this share of the one that was named.
    pub refuted_share: f64,
    /// Measurements that a bisection of a step of 1σ takes, for the order of questions.
    pub measurements_of_one_sigma: f64,
    /// Versions that it builds, in binary logarithms of the number of versions.
    pub builds_per_bit: f64,
    /// A question in work costs at least this share of its estimate yet.
    pub min_left_share: f64,
}

pub(super) const QUESTION: QuestionParameters = QuestionParameters {
    smallest_share: 0.5,
    refuted_share: 0.35,
    measurements_of_one_sigma: 100.0,
    builds_per_bit: 1.5,
    min_left_share: 0.1,
};
