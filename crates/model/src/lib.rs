//! The words of Backsight as types: labs, plans, benchmarks, cells, trials, units; TOML in, pointed
//! errors out.
//!
//! Everything here is a value. Refuses: to touch a disk beyond reading one file, a clock, a process or a
//! network; those belong to the floors above.

mod acceptance;
mod benchmark;
mod cell;
mod definition;
mod document;
mod event;
mod history;
mod lab;
mod monitor;
mod name;
pub mod numbers;
mod plan;
mod quantity;
mod results;
pub mod schema;
mod search;
mod simulator;
mod span;
mod step;
mod target;
mod template;
mod trial;
mod unit;
mod value;
mod version;

pub use acceptance::Acceptance;
pub use backsight_stats::Better;
pub use benchmark::{
    BUILT_IN, Benchmark, Column, Metric, Param, Parser, Pick, ROLE_FACTS, Resource, RoleSteps,
    Source,
};
pub use cell::Cell;
pub use definition::{Definition, Definitions, KeyDifference};
pub use document::{At, Document, Problem, Unreadable, did_you_mean};
pub use event::{Event, Suspect};
pub use history::{
    Boot, BootRecord, Build, BuildFailure, BuildRecord, CellMetric, HistoryCell, HistoryTestbed,
    HistoryTrial, StudyHistory,
};
pub use lab::{Address, Host, HostCommands, HostKind, Lab, Link, Seat, Testbed};
pub use monitor::{
    MONITOR_PLACEHOLDERS, Monitor, MonitorMetric, PlanMonitor, PlannedMonitor, Watches,
};
pub use name::{
    BadName, BenchmarkName, HostName, LabName, LinkName, MetricName, MonitorName, ParamName,
    RoleName, StudyName, TargetName, TestbedName, VariantName, nearest,
};
pub use numbers::{counted, grouped, significant};
pub use plan::{
    Arrangement, DEFAULT_ROUNDS, LeaveOut, MOST_CELLS, Machine, Missing, OnFailure, Plan,
    PlanParam, Variant, VariantRole,
};
pub use quantity::{Percent, quantity};
pub use results::{ResultSet, Series, StudyState, TrialSamples};
pub use search::Searched;
pub use simulator::{NoSuchSimulator, Simulator};
pub use span::{BadSize, BadTime, Size, Time};
pub use step::{Action, Phase, Port, Ready, Step, Steps, Stop, When};
pub use target::{
    Activate, BootKind, BuildStage, CvsSource, GitSource, Layout, LayoutKind, ListSource,
    PackageKind, PackageSource, Quirk, Relayout, Source as TargetSource, Stage,
    TARGET_PLACEHOLDERS, Target,
};
pub use template::{Template, TemplateError, shell_quoted};
pub use trial::{
    Ending, Failure, FillFault, FilledAction, FilledStep, MachineLoad, MetricSamples, OUTPUT_LIMIT,
    Output, READY_LIMIT, ReadyWhen, RoleTrial, STEP_LIMIT, StepRecord, TrialRecord, Unfillable,
    Usage, Watched,
};
pub use unit::{Unit, UnknownUnit};
pub use value::{Value, Values};
pub use version::{
    Amendment, Back, BadBack, BadEvery, Change, ChangedFile, Every, Range, TimeUnit, Version, span,
};
