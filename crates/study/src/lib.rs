//! The application: beginning, measuring, resuming and judging studies. The command, a server or a queue drive it alike.
//!
//! A study has a [`Question`] (the plan and the lab as documents) with [`Choices`]; a [`ResolvedPlan`] has everything that its
//! plan names. A [`Session`] leases the testbeds and starts their agents. [`run_study_loop`] is the loop, the same for every
//! verb: a policy says what it wants to know next, a measurer finds out, the store keeps it before anything else is measured.
//! [`TestbedMeasurer`] measures on real hosts, [`HistoryMeasurer`] any version of a target on them, [`Simulated`] in a made-up world.
//! Verbs are entries of one registry ([`verbs`]); a [`VerdictReport`] is made of stored evidence alone.
//!
//! ```
//! use backsight_study::{Choices, RunChoices, verbs::verb};
//!
//! let choices = Choices::new(RunChoices::default());
//! let run = verb(choices.verb.name()).expect("`run` is in the registry");
//! assert!(run.takes_rounds);
//! ```
//!
//! `examples/bisection.rs` begins, kills, resumes and judges a bisection through this library.

mod background_builds;
pub mod change_detection;
mod check_forecast;
mod checked_change;
mod choices;
mod comparison;
mod counters;
mod cross_checks;
mod doctor;
mod evidence;
mod explanation;
mod free_hosts;
mod histogram_export;
mod history_findings;
mod history_measurer;
mod history_study;
mod host_records;
mod import_arguments;
mod import_study;
mod import_tests;
mod interval_cache;
mod job_needs;
mod job_worker;
mod known_alerts;
mod known_counters;
mod known_history;
mod measurement_warnings;
mod monitor_export;
mod noise_repeats;
mod open_target;
mod outcome;
mod profiles;
mod pruned_outputs;
mod pruning;
mod question;
mod question_identity;
mod queue_listing;
mod reference;
mod remote_activation;
mod repeated_check;
mod requested_repeats;
mod reservation_wait;
mod resolved_plan;
mod resolved_search;
mod result_sets;
mod resume;
mod retention_references;
mod sampler_outputs;
mod scenario_matrix;
mod session;
mod shared_machine;
mod simulated;
mod slurm;
mod slurm_queue;
mod step_records;
mod store_check;
mod stored_question;
pub mod stored_study;
mod study_as_found;
mod study_log;
mod study_loop;
mod test_export;
mod test_history;
mod testbed_measurer;
mod timeline;
mod triage;
pub mod verbs;
mod verdict_report;
mod wanted_settings;

pub use checked_change::{ChangeSelection, CheckedChange, working_copy};
pub use choices::{
    BisectChoices, CheckChoices, Choices, HistoryChoices, NoiseChoices, OverheadChoices, Repeats,
    RunChoices, SearchChoices, StepChoices, TestBisectChoices, TestChoices, TryChoices,
    UntilChoices,
};
pub use comparison::{
    ComparedArguments, ComparedStudies, FileOptions, compare_parts, compared_background,
    more_rounds,
};
pub use counters::counters;
pub use cross_checks::cross_checks_of_study;
pub use doctor::{
    ExaminationOptions, ExaminedMachine, check_lab, check_question, examine_machines,
};
pub use evidence::{EvidenceScope, evidence_along, evidence_for_study, evidence_of_study};
pub use explanation::{ExplainSelection, explain};
pub use histogram_export::probe_histograms;
pub use history_measurer::HistoryMeasurer;
pub use history_study::{
    BeforeMeasuring, BuildContext, EndedLoop, HistoryStudy, HistoryVerb, PolicyInputs,
};
pub use host_records::{HostRecords, compare_records, hosts_of_study, machines};
pub use import_arguments::IMPORT_VERB;
pub use import_study::ReadImport;
pub use interval_cache::{Intervals, VersionInterval};
pub use job_needs::{
    job_needs_of_study, named_resource, needs_of_named_testbeds, slurm_words_of_testbeds,
};
pub use job_worker::{JobWorker, WAIT_VARIABLE, WorkDone, job_log_path};
pub use known_alerts::KnownAlerts;
pub use known_history::{
    KnownHistory, find_target, find_version, known_metric, known_versions, named_series,
    no_history, testbed_parts,
};
pub use measurement_warnings::measurement_warnings;
pub use monitor_export::export_monitors;
pub use noise_repeats::{NoiseLevel, NoiseRepeats};
pub use open_target::{OpenTarget, resolve_version};
pub use outcome::{EndedStudy, StudyEnding, StudyOutcome};
pub use profiles::{ComparedProfiles, ProfileSelection, ProfiledSide, profiles_of_parts};
pub use pruning::{PruneOptions, prune};
pub use question::{Question, QuestionError};
pub use queue_listing::{QueueLimits, list_queue};
pub use reference::{ReferenceChoices, reference_drift};
pub use requested_repeats::{RepeatMode, RequestedRepeats};
pub use reservation_wait::ReservationRule;
pub use resolved_plan::{ResolvedPlan, drawn_seed, free_name, metric_shapes};
pub use resolved_search::{ResolvedSearch, SearchOptions};
pub use result_sets::{named_result_sets, refuse_sides, result_sets};
pub use resume::resume;
pub use scenario_matrix::scenario_matrix;
pub use session::{Session, SessionOptions, StudyTestbeds};
pub use simulated::Simulated;
pub use slurm::check_slurm;
pub use slurm_queue::{slurm_log_path, submit_to_slurm, update_from_slurm, withdraw_from_slurm};
pub use store_check::{StoreCheck, check_store};
pub use stored_question::StoredQuestion;
pub use study_log::{StudyLog, log_lines};
pub use study_loop::{
    BootPlace, Measurement, Measurer, Progress, StudyLoopError, StudySetup, Unmeasurable,
    evidence_as_found, evidence_with_figures, run_study_loop,
};
pub use test_export::exported_tests;
pub use test_history::{PAGE_COLUMNS, TestSelection, add_failure_messages, test_history};
pub use testbed_measurer::TestbedMeasurer;
pub use timeline::timeline;
pub use triage::{
    AcceptanceStatement, AlertStatement, AnnotationStatement, accept_change, annotate_version,
    triage_alert,
};
pub use verdict_report::{ResultsReport, VerdictReport};
pub use wanted_settings::UnresolvedSettings;
