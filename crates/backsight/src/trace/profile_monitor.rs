//! The monitor of functions: samples those that a trial's steps are in, and prints the profile when it is stopped.

use backsight_agent::is_monitor;
use backsight_agent_program::{ProfileMonitorArgs, TracingMonitor};
use backsight_profiler::{ProfiledProcesses, ProfilerOptions, profile_until_stopped};
use miette::IntoDiagnostic as _;

use crate::files;

pub fn execute(monitor: &TracingMonitor, asked: &ProfileMonitorArgs) -> miette::Result<()> {
    let options = ProfilerOptions {
        off_cpu: asked.off_cpu,
        frequency: asked.frequency,
        processes: match asked.machine {
            true => ProfiledProcesses::Machine,
            false => ProfiledProcesses::children_of(monitor.trial()?.agent, is_monitor),
        },
    };
    let profile = profile_until_stopped(options, files::print_note).into_diagnostic()?;
    files::print_foreign(&profile.to_json())
}
