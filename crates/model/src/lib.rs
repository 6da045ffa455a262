//! The words of Backsight as types: labs, plans, benchmarks, cells, trials, units; TOML in, pointed
//! errors out.
//!
//! Everything here is a value. Only a file is ever read; clocks, processes and networks belong to the floors above.
//!
//! ```
//! use backsight_model::{TomlDocument, Unit};
//!
//! let unit = Unit::parse("bit/s").unwrap();
//! assert_eq!(unit.show(38_210_000_000.0), "38.21 Gbit/s");
//!
//! let plan = TomlDocument::new("plan.toml", "testbed = 'wire'\nroundz = 3\n");
//! let error = backsight_model::Plan::read(&plan).unwrap_err();
//! assert!(error.to_string().contains("roundz"), "{error}");
//! ```

mod acceptance;
mod annotation;
mod benchmark;
mod cell;
mod console_state;
mod cross_check;
mod definition;
mod digits;
mod document;
mod event;
mod filled_step;
mod history;
mod install;
mod instances;
mod job;
mod job_queue;
mod keep;
mod lab;
mod lab_check;
mod machine;
mod moment;
mod monitor;
mod name;
mod name_pattern;
pub mod numbers;
mod plan;
mod power;
mod preparation;
mod processors;
mod quantity;
mod record;
mod reservation;
mod results;
pub mod schema;
mod seat;
mod self_test;
mod simulator;
mod span;
mod step;
mod store_settings;
mod suite_run;
mod target;
mod template;
mod test_results;
mod triage;
mod trial;
mod unit;
mod validity;
mod value;
mod version;

pub use acceptance::Acceptance;
pub use annotation::Annotation;
pub use backsight_stats::Better;
pub use backsight_test_results::{Format as ResultFormat, Outcome, TestResult};
pub use benchmark::{
    Benchmark, BenchmarkGuide, ColumnParser, Metric, OutputSource, Param, Parser, Pick, ROLE_FACTS,
    Resource, RoleSteps, SearchDefinition, SuiteResults, Trap, WITHOUT,
};
pub use cell::Cell;
pub use console_state::{ConsoleAction, ConsoleRecognizer, ConsoleState, console_words};
pub use cross_check::{CrossCheck, CrossCheckSide, CrossCheckTerm};
pub use definition::{Definition, Definitions, KeyDifference};
pub use document::{DocumentError, Located, TomlDocument, UnreadableFileError, did_you_mean};
pub use event::{Event, SuspectRange};
pub use filled_step::{
    FillFault, FilledAction, FilledStep, OUTPUT_LIMIT, READY_LIMIT, ReadyWhen, STEP_LIMIT,
};
pub use history::{
    Boot, BootRecord, Build, BuildFailure, BuildRecord, CellMetric, HistoryCell, HistoryTestbed,
    HistoryTrial, MetricFamily, StudyHistory,
};
pub use install::Install;
pub use instances::{Across, InstanceSamples, across_instances, fairness_metric, jain_index};
pub use job::{Job, JobEngine, JobNeeds, JobRequest, JobState, SlurmStanding};
pub use job_queue::{
    MachineUse, QueuePause, QueueSnapshot, QueueWorker, QueuedJob, RunningJob, WorkerScope,
};
pub use keep::{
    KEEP_FILE, KeepRule, KeepRules, KeptFor, Period, PeriodError, StudyPattern, Thinning,
};
pub use lab::{
    Address, Channel, ContainerEngine, Group, Host, HostCommands, HostKind, Lab, LabFileError,
    Link, Recipe, Restore, Testbed,
    host_pattern::{HostPattern, HostPatternError, UnknownHostError},
    host_set::{HostSet, HostSetError, HostSets, MOST_HOSTS},
    toml_quoted,
};
pub use lab_check::{CheckFinding, CheckKind, CheckedHost};
pub use machine::{
    MACHINE_PLACEHOLDERS, Machine, RAM_DISK, is_machine_placeholder, machine_placeholders,
};
pub use moment::{MomentError, moment_after};
pub use monitor::{
    Monitor, MonitorMetric, PlanMonitor, PlannedMonitor, Reduction, SeriesNames, Watches,
    monitor_placeholders, monitored_phase, phase_prefix,
};
pub use name::{
    BarrierName, BenchmarkName, GroupName, HostName, LabName, LinkName, MetricName, MonitorName,
    NameError, ParamName, ReleaseName, RoleName, StudyName, TagName, TargetName, TestbedName,
    VariantName, nearest,
};
pub use name_pattern::NamePattern;
pub use numbers::{counted, grouped, significant};
pub use plan::{
    Arrangement, BenchmarkLookupError, CrossedCell, DEFAULT_ROUNDS, InterfaceAddress, LeaveOut,
    MOST_CELLS, OnFailure, Plan, PlanMatrix, PlanParam, PlanReference, Variant, VariantRole,
};
pub use power::{Bmc, Console, Power, PowerCommands, PowerMeans, PowerState};
pub use preparation::{Preparation, PreparationPart, PreparationPolicy, SettingNode, SettingTable};
pub use processors::Processors;
pub use quantity::{Percent, quantity};
pub use record::{
    EXPLAINING_WEIGHT, HostRecord, HostRecordMap, RecordDifference, RecordSection,
    differences_of_hosts, record_weight,
};
pub use reservation::Reservation;
pub use results::{CellSeries, ResultSet, StudyState, TrialSamples};
pub use seat::{RoleHost, Seat};
pub use self_test::{
    Grade, GradeRange, GradedFigure, MachineObservation, Measure, MeasureOutcome, NoiseKind,
    NoiseSource, SelfTest, TestFigure,
};
pub use simulator::{Simulator, SimulatorError};
pub use span::{Size, SizeError, Time, TimeError};
pub use step::{Action, Iterations, Phase, Port, Ready, ReadyCondition, Step, Steps, StopSignal};
pub use store_settings::{
    BucketUrl, RawLocation, RawLocationError, STORE_SETTINGS_FILE, StoreSettings,
};
pub use suite_run::{SuiteRun, TestCount};
pub use target::{
    Activate, BootKind, BuildStage, CvsSource, GitSource, Layout, LayoutKind, ListSource,
    PackageKind, PackageSource, Quirk, Relayout, Stage, Target, TargetSource, target_placeholders,
};
pub use template::{Template, TemplateError, shell_line, shell_quoted};
pub use test_results::{TestResultIter, TestResultRef, TestResults};
pub use triage::{Triage, TriageState};
pub use trial::{
    CoreFile, DrawnSettings, Ending, Failure, FillError, HostClock, MachineLoad, Meeting,
    MeetingKind, MetricSamples, MonitorSample, ResourceUsage, RoleTrial, Skew, StepOutput,
    StepRecord, TrialRecord,
};
pub use unit::{Unit, UnitError};
pub use validity::{Relation, Validity, ValidityCondition};
pub use value::{Value, Values};
pub use version::{
    Amendment, Change, ChangedFile, Every, EveryError, Lookback, LookbackError, Range, TimeUnit,
    Version, span,
};
