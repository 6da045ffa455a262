//! What to measure next, and the verdicts.
//!
//! A policy is a pure value: evidence in, request or verdict out. It does no I/O, reads no clock, and its
//! random numbers come from a seed, so that a study can be resumed by replaying its evidence and every
//! policy can be tested on simulated histories.
//!
//! Refuses: to know how anything is measured.

mod compare;
mod discovery;
mod history;
mod run;

pub use compare::{
    Against, By, Call, CompareOptions, Comparison, Difference, Doubt, Entry, Listed, Measured,
    Missing, NotComparable, NothingToSplit, OfStudy, Origin, RatioMean, Remark, Row, Side, Tally,
    Warning, Within, compare, compare_by, compare_listed, split,
};
pub use discovery::{Direction, adjusted_tests, percent_of, tests_of};
pub use history::{
    BootSamples, BuildSamples, ChangePoint, Counts, Found, History, HistoryVersion, How,
    NoiseEpoch, Spread, TrialValues, VersionPoint, VersionSeries, VersionStanding, history,
};
pub use run::{RunPolicy, RunVerdict};

/// What is to be measured: one trial of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// Number of the cell in the plan's order, from 0.
    pub cell: usize,
    /// The round, from 1.
    pub round: u32,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// What was asked.
    pub request: Request,
    /// Whether it gave samples; a failed trial is evidence too.
    pub measured: bool,
}

/// Everything that a study has seen so far, in order of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// The observations.
    pub observations: Vec<Observation>,
}

/// What a policy says to its evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<Verdict> {
    /// Measure this next.
    Measure(Request),
    /// Enough: the answer.
    Done(Verdict),
}

/// The brain of a verb. Same evidence and same seed, same decision.
pub trait Policy {
    /// The verb's answer.
    type Verdict;

    /// What to do next, given everything that has been seen.
    fn decide(&self, evidence: &Evidence) -> Decision<Self::Verdict>;

    /// How many trials it will have asked for in all, as far as it can tell now.
    fn expected_trials(&self, evidence: &Evidence) -> usize;
}
