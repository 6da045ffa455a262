//! The monitor of system calls: counts those of a trial's steps while the trial runs, and prints the counts when it is
//! stopped.
//!
//! The agent is followed for its children's sake, so that each step is seen from its program's first call on; what runs
//! already is attached to.

use backsight_agent::{MonitoredProcesses, is_monitor};
use backsight_agent_program::TracingMonitor;
use backsight_syscall_decode::{EventKind, TraceEvent};
use backsight_tracer::engine;
use backsight_tracer::interrupt::Interrupt;
use backsight_tracer::options::{ChildSelection, TraceOptions};
use backsight_tracer::summary::CallCounts;
use miette::IntoDiagnostic as _;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::{ENDS, chain};
use crate::files;

/// Watches until it is stopped.
pub fn execute(monitor: &TracingMonitor) -> miette::Result<()> {
    let MonitoredProcesses { agent, steps } = monitor.trial()?;
    let interrupt = Interrupt::on(&ENDS).into_diagnostic()?;
    let options = TraceOptions {
        pids: steps.clone(),
        children_of: Some(ChildSelection {
            parent: agent,
            accepts: |pid| !is_monitor(pid),
        }),
        follow: true,
        limits: None,
        share_processor: false,
        ..TraceOptions::default()
    };
    let mut attached = HashSet::new();
    let by = Mutex::new(("", None));
    let says = |chosen: engine::EngineKind, why: Option<String>| {
        *by.lock().unwrap_or_else(PoisonError::into_inner) = (chosen.name(), why);
    };
    let mut say_engine = |event: TraceEvent| {
        if matches!(event.kind, EventKind::Attached { .. })
            && attached.insert(event.pid)
            && event.pid == agent
        {
            let mut by = by.lock().unwrap_or_else(PoisonError::into_inner);
            let why = by.1.take();
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            files::print_note(&format!("watching: the {} engine{why}", by.0));
        }
    };
    let mut count = |chosen| engine::count_calls(chosen, &options, &interrupt, &mut say_engine);
    let counted =
        engine::run_with_fitting_engine(engine::choose_engine(&options), &says, &mut count);
    let (ended, summary) = counted.map_err(|error| miette::miette!("{}", chain(&error)))?;
    let unwatched = steps.iter().filter(|pid| !attached.contains(pid));
    let unwatched = unwatched.filter_map(|pid| named(*pid)).collect();
    let (by_engine, _) = by.into_inner().unwrap_or_else(PoisonError::into_inner);
    let counts = CallCounts::new(&summary, by_engine, ended.lost, unwatched);
    files::print(&format!(
        "{}\n",
        serde_json::to_string(&counts).into_diagnostic()?
    ))
}

/// A process with its name; none if it has ended.
fn named(pid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("{pid} {}", name.trim_end()))
}
