//! Policies: what to measure next, and the verdicts.
//!
//! A policy is a value: evidence in, request or verdict out. It does no I/O, reads no clock, and draws random numbers from a
//! seed, so that a study resumes by a replay of its evidence and every policy can be tested on simulated histories. How a
//! request is measured is the caller's matter.
//!
//! A bisection of sixteen versions of which the tenth made the metric worse:
//!
//! ```
//! use backsight_model::{Better, MetricName};
//! use backsight_policy::{
//!     BisectPolicy, ChangeLocation, Decision, Evidence, Observation, Policy, RequestOutcome,
//! };
//! use std::{collections::BTreeMap, time::Duration};
//!
//! let metric = MetricName::new("time")?;
//! let policy = BisectPolicy {
//!     versions: 16,
//!     cell: 0,
//!     metric: metric.clone(),
//!     better: Better::Lower,
//!     testbeds: 1,
//!     layouts: 1,
//!     trials: Some(1),
//!     revisits: true,
//!     goal: Default::default(),
//!     smallest: None,
//!     budget: None,
//!     most: 100,
//!     seed: 1,
//! };
//! let mut evidence = Evidence::default();
//! let verdict = loop {
//!     match policy.decide(&evidence) {
//!         Decision::Done(verdict) => break verdict,
//!         Decision::Measure(request) => evidence.observations.push(Observation {
//!             request,
//!             outcome: RequestOutcome::Measured,
//!             figures: BTreeMap::from([(metric.clone(), if request.version < 9 { 10.0 } else { 12.0 })]),
//!             took: Duration::from_secs(1),
//!         }),
//!     }
//! };
//! assert_eq!(verdict.culprits[0].place, ChangeLocation { after: 8, until: 9 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alerts;
mod bisect;
mod change_significance;
mod compare;
mod duration_changes;
mod evidence_index;
pub mod explain;
mod failure_clusters;
mod history;
mod job_queue;
mod noise;
mod overhead;
mod pooled_spread;
mod profile_difference;
mod run;
mod run_until_decided;
mod search;
mod step;
mod test_bisect;
mod test_history;
mod test_run;
mod try_patch;
mod watch;

pub use alerts::{
    Alert, AlertKind, AlertMember, AlertRank, AlertState, ChangeStretch, MemberChange, MemberRank,
    MemberSort, alert_at, alerts, can_lie_at, triage_alerts,
};
pub use bisect::{BisectEnd, BisectPolicy, BisectVerdict, Culprit, NextReason, NextVersion};
pub use change_significance::{
    ChangeDirection, adjusted_tests, change_percent, significance_tests,
};
pub use compare::{
    BaselineRelation, CompareOptions, Comparison, ComparisonGate, ComparisonRow, ComparisonSide,
    DefinitionChange, Difference, DifferenceCall, Doubt, GateCondition, GateResult, IntervalWarmUp,
    MeasuredEntry, MeasuredTestbeds, MeasurementPart, MissingReason, NotComparable, NumberList,
    Origin, RatioMean, Remark, RowEntry, SequentialStudy, SideStudy, SplitError, SplitKey,
    StudyPart, Tally, VERSION_AXIS, VariantQuestion, VersionEvidence, Warning, combined_name,
    compare, compare_by, compare_lists, compare_versions, compare_with_spreads, join_versions,
    parts_by_version, parts_of_cells, questions_by_variant, records_side_by_side, same_machine,
    side_of, split,
};
pub use duration_changes::{DurationChange, duration_changes};
pub use failure_clusters::{FailureCluster, failure_clusters, normalized_message};
pub use history::{
    BisectedChange, BootSamples, BuildSamples, ChangeAcceptance, ChangePoint, DetectionMethod,
    HiddenStates, HistoryCondition, HistoryFindings, HistoryGap, HistoryGate, HistoryVersion,
    LevelSpread, NamedChange, NoiseEpoch, PendingChangePoint, ReferenceDrift, ReferenceMove,
    ReferencePoint, ReferenceSeries, ReferenceStudy, RepeatCounts, SeriesFindings, StateCause,
    StateHolder, StudyVersions, TargetHistory, TrialValues, VersionOrder, VersionPoint,
    VersionSeries, VersionStanding, history, merged_versions,
};
pub use job_queue::{
    HALF_LIFE, JobEstimate, JobLoss, JobOutlook, JobWait, PastDurations, QueueChoice, TimeRange,
    choose_job, job_outlooks, ranked_jobs, usage_by_person,
};
pub use noise::{MetricNoise, NoiseEnd, NoisePolicy, NoiseVerdict, RepeatCosts, WithinTrials};
pub use overhead::{
    CostCall, MonitorCost, MonitorEffect, MonitorSet, OverheadPolicy, OverheadVerdict, SideMean,
};
pub use pooled_spread::{PooledSpread, is_one_machine};
pub use profile_difference::{
    ComparedShare, FunctionDifference, FunctionPresence, FunctionsBelowFloor, ProfileDifference,
    ProfileOptions, ProfileSide, ShareDifference, SideShare,
};
pub use run::{RunPolicy, RunVerdict};
pub use run_until_decided::{RunUntilDecidedOptions, RunUntilDecidedPolicy};
pub use search::{
    BASELINE_WIDTH_RATIO, FigureReading, GeneratorLimit, GoalAnswer, LoadAnswer, LoadBounds,
    LoadGrid, LoadGridError, LoadPoint, LossReading, MAX_UNSENT_SHARE, SearchGoal, SearchPhase,
    SearchPolicy, SearchSubject, SearchVerdict, SubjectAnswer, TrialReadings,
};
pub use step::{StepOrder, StepPolicy, StepVerdict};
pub use test_bisect::{TestBisectPolicy, TestBisectVerdict, TestCulprit};
pub use test_history::{
    SuiteOnHost, TestCell, TestColumn, TestConcern, TestHistory, TestHistoryRun, TestRow,
};
pub use test_run::TestPolicy;
pub use try_patch::{
    ForecastNoise, RequestedMetric, TryCall, TryComparison, TryEnd, TryForecast, TryPolicy,
    TrySideOutcome, TryVerdict,
};

pub use watch::{
    ChangeQuestion, MeasureReason, NamedStep, SuspectedStep, VerificationState, WaitReason,
    WatchAction, WatchBisection, WatchBisectionState, WatchCell, WatchEvidence, WatchFinding,
    WatchPolicy, WatchPurpose, WatchSeries, WatchSpending, WatchVerification,
};

use backsight_model::{Cell, MetricName};
pub use backsight_stats::culprits::ChangeLocation;
use std::{collections::BTreeMap, time::Duration};

/// A request: one trial of a cell, on one boot of one build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// Index of the study's testbed; 0 if it has only its plan's.
    pub testbed: usize,
    /// Position of the version in the study's history, from 0; 0 if the software is measured as found.
    pub version: usize,
    /// Index of the layout among the study's, from 0.
    pub layout: usize,
    /// Ordinal of the boot of the build, from 1; 0 if the software is measured as found.
    pub boot: u32,
    /// Index of the cell in the plan's order, from 0.
    pub cell: usize,
    /// The round, from 1; within its boot if there is one.
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
    /// There are samples.
    Measured,
    /// The trial failed.
    Failed,
    /// The build didn't boot: there was no trial, and there will be none on this boot.
    NoBoot,
    /// There is no such build: a fact about the version, or about its layout.
    NoBuild,
}

/// Result of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The request.
    pub request: Request,
    /// How it ended; a failed trial is evidence too.
    pub outcome: RequestOutcome,
    /// Mean of each metric's samples in the trial.
    pub figures: BTreeMap<MetricName, f64>,
    /// Duration of the trial, without builds and boots; zero if none was begun.
    pub took: Duration,
}

impl Observation {
    /// Whether there are samples.
    pub fn measured(&self) -> bool {
        self.outcome == RequestOutcome::Measured
    }

    /// The figure of a metric, if it is a finite number.
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
    /// Duration of each build that the study made, good or not.
    pub builds: Vec<Duration>,
    /// Duration of each boot that the study made, likewise.
    pub boots: Vec<Duration>,
}

impl Evidence {
    /// These observations, on builds and boots without cost.
    pub fn from_observations(observations: Vec<Observation>) -> Self {
        Self {
            observations,
            ..Self::default()
        }
    }

    /// Duration of all builds, boots and trials. Budgets count this instead of a clock, so that an interrupted study ends as it
    /// would have without the interruption.
    pub fn spent(&self) -> Duration {
        let trials = self.observations.iter().map(|seen| seen.took);
        let made = self.builds.iter().chain(&self.boots).copied();
        trials.chain(made).sum()
    }

    /// Mean duration of a build, in seconds; 0 without one.
    fn mean_build(&self) -> f64 {
        mean_seconds(&self.builds)
    }

    /// Mean duration of a boot, in seconds; 0 without one.
    fn mean_boot(&self) -> f64 {
        mean_seconds(&self.boots)
    }
}

fn mean_seconds(took: &[Duration]) -> f64 {
    let sum: Duration = took.iter().sum();
    sum.as_secs_f64() / took.len().max(1) as f64
}

/// Decision of a policy about its evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<Verdict> {
    /// Measure this next.
    Measure(Request),
    /// The verdict: nothing more is needed.
    Done(Verdict),
}

/// Decides what to measure, for one verb. The same evidence and seed give the same decision.
pub trait Policy: Clone + Send + Sync + 'static {
    /// The verb's answer.
    type Verdict: Send;

    /// The next step on the first testbed, given all evidence.
    fn decide(&self, evidence: &Evidence) -> Decision<Self::Verdict>;

    /// The next step on an idle testbed, while these requests are under way on others; `None` if it waits until one of them
    /// ends. `Done` comes only when nothing is under way, and then at least one testbed doesn't wait. By default one testbed
    /// measures at a time.
    fn decide_for_testbed(
        &self,
        evidence: &Evidence,
        _testbed: usize,
        under_way: &[Request],
    ) -> Option<Decision<Self::Verdict>> {
        under_way.is_empty().then(|| self.decide(evidence))
    }

    /// Estimate of the number of trials that are left.
    fn remaining_trials(&self, evidence: &Evidence) -> usize;

    /// The cell of a request, for a policy that makes cells as it goes: its next request may have one more cell than the study.
    /// The same for the same evidence. `None` if the cells are those of the plan.
    fn cell(&self, _evidence: &Evidence, _request: Request) -> Option<Cell> {
        None
    }

    /// The first request on each of the next builds, in the order of their use, beginning with the current one; at most `most`.
    /// Builds of earlier requests may be among them. Empty for a policy without builds.
    fn upcoming_builds(&self, _evidence: &Evidence, _most: usize) -> Vec<Request> {
        Vec::new()
    }

    /// Suspected changes so far with their probabilities, the most probable first; for progress displays. Empty for a policy
    /// that searches for none.
    fn suspects(&self, _evidence: &Evidence) -> Vec<(ChangeLocation, f64)> {
        Vec::new()
    }
}
