//! End to end: the real binary on real hosts, in good weather and in bad.
//!
//! Every test has a place of its own (a folder with store, lab, plan and definitions), awaits events instead of
//! sleeping, and asserts what a person could see: exit status, messages, `show`, `studies`, `compare`. When a
//! place goes, nothing of it may be left: no process, no namespace, no folder of an agent.
//!
//! Refuses: to look into the store by another way than the program, and to wait for anything without a limit.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod place;
mod preparing;
mod process_settings;
mod processes;
mod rounds;
mod running;

mod agents;
mod ahead;
mod bad_link;
mod barriers;
mod bisecting;
mod buckets;
mod checking;
mod ci;
mod comparing;
mod containers;
mod describing;
mod detecting;
mod disk;
mod doctor;
mod domains;
mod exchanging;
mod exit_statuses;
mod explaining;
mod far;
mod faults;
mod formats;
mod hiding;
mod history;
mod hostile;
mod instances;
mod interrupted;
mod killed;
mod labs;
mod lasting;
mod leases;
mod links;
mod locked;
mod logging;
mod model_context;
mod monitors;
mod network_examples;
mod noise;
mod order;
mod overhead;
mod parallel;
mod parallel_run;
mod power;
mod profiling;
mod pruning;
mod questions;
mod queueing;
mod real_suites;
mod rebooting;
mod recording;
mod reference;
mod restoring;
mod same_plan;
mod searching;
mod self_tests;
mod servers;
mod serving;
mod shared_lab;
mod sharing;
mod slurm;
mod standing_jobs;
mod stepping;
mod steps;
mod storing;
mod studies;
mod suites;
mod terminal;
mod test_matrix;
mod trace_formats;
mod trace_namespaces;
mod trace_scopes;
mod trace_summaries;
mod tracing;
mod trying;
mod uploads;
mod verdicts;
mod virtual_machines;
