//! The monitor of system calls: counts those of a trial's steps while the trial runs, and prints the counts when it is
//! stopped.
//!
//! The agent is followed for its children's sake, so that each step is seen from its program's first call on; what runs
//! already is attached to. Refuses: to watch what no agent started.

use backsight_agent::{MonitoredProcesses, is_monitor, monitored_processes};
use backsight_syscall_decode::{EventKind, TraceEvent};
use backsight_tracer::engine;
use backsight_tracer::interrupt::Interrupt;
use backsight_tracer::options::{ChildSelection, TraceOptions};
use backsight_tracer::summary::CallStatistics;
use indexmap::IndexMap;
use miette::{IntoDiagnostic as _, WrapErr as _};
use serde::Serialize;
use std::{
    cell::Cell,
    collections::HashSet,
    io::{self, Write as _},
    process::ExitCode,
};

use super::{ENDS, by_what_fits, chain};

/// The name of this monitor.
pub const NAME: &str = "syscalls";

/// What is printed.
#[derive(Debug, Serialize)]
struct Counts {
    /// What collected them.
    engine: &'static str,
    /// By the name of the call.
    calls: IndexMap<String, Times>,
    /// Of all of them.
    total: Times,
    /// How many calls were lost: 0, unless something is wrong.
    lost: u64,
    /// Processes that ran already and couldn't be attached to: they belong to another user, or somebody else traces them.
    unwatched: Vec<String>,
}

/// How often a call was made and how long it took; times in seconds.
#[derive(Debug, Serialize)]
struct Times {
    calls: u64,
    errors: u64,
    time: f64,
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

impl Times {
    fn of(figures: &CallStatistics) -> Self {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        Self {
            calls: figures.calls,
            errors: figures.errors,
            time: seconds(figures.total),
            mean: seconds(figures.mean()),
            p50: seconds(figures.quantile(0.5)),
            p90: seconds(figures.quantile(0.9)),
            p99: seconds(figures.quantile(0.99)),
            max: seconds(figures.most),
        }
    }
}

/// Watches until it is stopped.
pub fn execute() -> miette::Result<ExitCode> {
    let MonitoredProcesses { agent, steps } = monitored_processes().ok_or_else(|| {
        miette::miette!(
            help = format!(
                "a plan starts it: monitors = [\"{NAME}\"]; for a command there is `backsight trace -c`"
            ),
            "no trial is here to be watched"
        )
    })?;
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
    let (by, reason) = (Cell::new(""), Cell::new(None));
    let says = |chosen: engine::EngineKind, why: Option<String>| {
        by.set(chosen.name());
        reason.set(why);
    };
    let mut tell = |event: TraceEvent| {
        if matches!(event.kind, EventKind::Attached { .. })
            && attached.insert(event.pid)
            && event.pid == agent
        {
            let why = reason
                .take()
                .map_or_else(String::new, |why| format!(": {why}"));
            crate::files::say(&format!("watching: the {} engine{why}", by.get()));
        }
    };
    let mut count = |chosen| engine::count_calls(chosen, &options, &interrupt, &mut tell);
    let counted = by_what_fits(&options, &says, &mut count);
    let (ended, summary) = counted.map_err(|error| miette::miette!("{}", chain(&error)))?;
    let unwatched = steps.iter().filter(|pid| !attached.contains(pid));
    print(&Counts {
        engine: by.get(),
        calls: summary
            .calls()
            .into_iter()
            .map(|(name, figures)| (plain(&name), Times::of(&figures)))
            .collect(),
        total: Times::of(&summary.total()),
        lost: ended.lost,
        unwatched: unwatched.filter_map(|pid| named(*pid)).collect(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A call's name as a part of a metric's.
fn plain(name: &str) -> String {
    name.replace(" (32 bit)", "-32")
}

/// A process with its name; none if it has ended.
fn named(pid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("{pid} {}", name.trim_end()))
}

fn print(counts: &Counts) -> miette::Result<()> {
    let mut out = io::stdout().lock();
    let written = serde_json::to_writer(&mut out, counts).map_err(io::Error::from);
    let written = written
        .and_then(|()| writeln!(out))
        .and_then(|()| out.flush());
    written
        .into_diagnostic()
        .wrap_err("the counts can't be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_32_bit_programs_have_names_that_metrics_may_have() {
        assert_eq!(plain("read (32 bit)"), "read-32");
        assert_eq!(plain("openat"), "openat");
    }
}
