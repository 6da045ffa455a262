//! What to measure next, and the verdicts.
//!
//! A policy is a pure value: evidence in, request or verdict out. It does no I/O, reads no clock, and its
//! random numbers come from a seed, so that a study can be resumed by replaying its evidence and every
//! policy can be tested on simulated histories.
//!
//! Refuses: to know how anything is measured.

mod bisect;
mod change_significance;
mod compare;
mod evidence_index;
mod history;
mod noise;
mod overhead;
mod pooled_spread;
mod run;
mod run_until_decided;
mod search;
mod step;
mod try_patch;

pub use bisect::{BisectEnd, BisectPolicy, BisectVerdict, Culprit};
pub use change_significance::{ChangeDirection, adjusted_tests, percent_of, tests_of};
pub use compare::{
    BaselineRelation, CompareOptions, Comparison, ComparisonRow, ComparisonSide, DefinitionChange,
    Difference, DifferenceCall, Doubt, IntervalWarmUp, MeasuredEntry, MeasurementPart,
    MissingReason, NotComparable, NumberList, Origin, RatioMean, Remark, RowEntry, SequentialStudy,
    SideStudy, SplitError, SplitKey, Tally, VariantQuestion, Warning, beside_by_variant, compare,
    compare_by, compare_knowing, compare_listed, same_machine, side_of, split,
};
pub use history::{
    BisectedChange, BootSamples, BuildSamples, ChangeAcceptance, ChangePoint, DetectionMethod,
    HistoryGap, HistoryVersion, LevelSpread, NamedChange, NoiseEpoch, PendingChangePoint,
    RepeatCounts, SeriesFindings, TargetHistory, TrialValues, VersionPoint, VersionSeries,
    VersionStanding, history,
};
pub use noise::{MetricNoise, NoiseEnd, NoisePolicy, NoiseVerdict, RepeatCosts};
pub use overhead::{
    CostCall, MonitorCost, MonitorEffect, MonitorSet, OverheadPolicy, OverheadVerdict, SideMean,
};
pub use pooled_spread::{PooledSpread, one_machine};
pub use run::{RunPolicy, RunVerdict};
pub use run_until_decided::{RunUntilDecidedOptions, RunUntilDecidedPolicy};
pub use search::{
    BASELINE_WIDTH_RATIO, FigureReading, GeneratorLimit, GoalAnswer, LoadAnswer, LoadBounds,
    LoadGrid, LoadGridError, LoadPoint, LossReading, MAX_UNSENT_SHARE, SearchGoal, SearchPhase,
    SearchPolicy, SearchSubject, SearchVerdict, SubjectAnswer, TrialReadings,
};
pub use step::{StepOrder, StepPolicy, StepVerdict};
pub use try_patch::{
    AskedMetric, TryCall, TryComparison, TryEnd, TryPolicy, TrySideOutcome, TryVerdict,
};

use backsight_model::{Cell, MetricName};
pub use backsight_stats::culprits::ChangeLocation;
use std::{collections::BTreeMap, time::Duration};

/// What is to be measured: one trial of a cell, on one boot of one build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// Which of the study's testbeds measures it; 0 where it has only its plan's.
    pub testbed: usize,
    /// The version's position in the study's history, from 0; 0 where the software is measured as it is found.
    pub version: usize,
    /// The layout's number among the study's, from 0.
    pub layout: usize,
    /// Which start of the build it is, from 1; 0 where the software is measured as it is found.
    pub boot: u32,
    /// Number of the cell in the plan's order, from 0.
    pub cell: usize,
    /// The round, from 1; within its boot where there is one.
    pub round: u32,
}

impl Request {
    /// A trial of the software as it is found.
    pub fn as_found(cell: usize, round: u32) -> Self {
        Self {
            testbed: 0,
            version: 0,
            layout: 0,
            boot: 0,
            cell,
            round,
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestOutcome {
    /// It gave samples.
    Measured,
    /// The trial failed.
    Failed,
    /// The build didn't boot: there was no trial, and there will be none on this boot.
    NoBoot,
    /// There is no such build: a fact about the version, or about its layout.
    NoBuild,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// What was asked.
    pub request: Request,
    /// How it ended; a failed trial is evidence too.
    pub outcome: RequestOutcome,
    /// The mean of each metric's samples in the trial.
    pub figures: BTreeMap<MetricName, f64>,
    /// How long the trial took, without what had to be built and booted for it; nothing where none was begun.
    pub took: Duration,
}

impl Observation {
    /// Whether it gave samples.
    pub fn measured(&self) -> bool {
        self.outcome == RequestOutcome::Measured
    }

    /// The figure of a metric, if it is a number.
    pub fn value(&self, metric: &MetricName) -> Option<f64> {
        self.figures.get(metric).copied().filter(|v| v.is_finite())
    }

    /// Whether a trial was begun.
    pub fn is_trial(&self) -> bool {
        matches!(
            self.outcome,
            RequestOutcome::Measured | RequestOutcome::Failed
        )
    }
}

/// Everything that a study has seen so far, in order of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// The observations.
    pub observations: Vec<Observation>,
    /// What each build took that the study itself made, good or not.
    pub builds: Vec<Duration>,
    /// What each boot took that the study itself made, likewise.
    pub boots: Vec<Duration>,
}

impl Evidence {
    /// These observations, made on builds and boots that cost nothing.
    pub fn from_observations(observations: Vec<Observation>) -> Self {
        Self {
            observations,
            ..Self::default()
        }
    }

    /// What all of it took: builds, boots and trials. Budgets are kept by this, not by a clock, so that a study that was
    /// stopped in between ends as it would have otherwise.
    pub fn spent(&self) -> Duration {
        let trials = self.observations.iter().map(|seen| seen.took);
        let made = self.builds.iter().chain(&self.boots).copied();
        trials.chain(made).sum()
    }
}

/// What a policy says to its evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<Verdict> {
    /// Measure this next.
    Measure(Request),
    /// Enough: the answer.
    Done(Verdict),
}

/// The brain of a verb: a value, which any thread can think with. Same evidence and same seed, same decision.
pub trait Policy: Clone + Send + Sync + 'static {
    /// The verb's answer.
    type Verdict: Send;

    /// What to do next on the first testbed, given everything that has been seen.
    fn decide(&self, evidence: &Evidence) -> Decision<Self::Verdict>;

    /// What to do next on the idle testbed with this number, while this is under way on others; nothing where it is to
    /// wait until something of that has come to an end. It is done only when nothing is under way, and of testbeds of
    /// which nothing is under way one at least doesn't wait. A policy that can't use several lets one measure at a time.
    fn decide_beside(
        &self,
        evidence: &Evidence,
        _testbed: usize,
        under_way: &[Request],
    ) -> Option<Decision<Self::Verdict>> {
        under_way.is_empty().then(|| self.decide(evidence))
    }

    /// How many more trials it will ask for, as far as it can tell now.
    fn left(&self, evidence: &Evidence) -> usize;

    /// The cell that a request is about, of a policy that makes cells as it goes: a request may then be about one more
    /// than the study has. The same for the same evidence. `None` where a study's cells are those that it began with.
    fn cell(&self, _evidence: &Evidence, _request: Request) -> Option<Cell> {
        None
    }

    /// The first request on each of the builds that it will ask for next, as far as it can tell now: in that order,
    /// beginning with the one of now, at most so many. Builds that were asked for before may be among them. None of a
    /// policy that needs no builds.
    fn coming(&self, _evidence: &Evidence, _most: usize) -> Vec<Request> {
        Vec::new()
    }

    /// Where it suspects a change so far, and how probable that is, the most probable first: for who watches. None of a
    /// policy that looks for none.
    fn suspects(&self, _evidence: &Evidence) -> Vec<(ChangeLocation, f64)> {
        Vec::new()
    }
}
