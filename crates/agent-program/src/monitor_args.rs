//! `monitor`: samplers of ours, or the monitor of system calls or of functions, as the definitions of monitors start them.

use backsight_agent::{MonitoredProcesses, is_monitor, monitored_processes};
use backsight_model::Time;
use backsight_monitor::{
    EndSignals, ProcessTree, RecordError, probe, probe_names, record, sampler_names,
};
use backsight_platform::needs_linux;
use miette::{Context as _, IntoDiagnostic as _};
use std::{io::ErrorKind, process::ExitCode, time::Duration};

use crate::tracing_monitor::{PROFILE, ProfileMonitorArgs, SYSCALLS, TracingMonitor};

/// Time between two samples unless somebody says otherwise.
const USUAL_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two operations of a probe unless somebody says otherwise.
const USUAL_PROBE_INTERVAL: Duration = Duration::from_millis(10);

/// Arguments of `monitor`.
#[derive(Debug, clap::Args)]
pub struct MonitorArgs {
    /// Which samplers; or one probe, which does a small operation at every interval and prints as it is stopped how long they took;
    /// or `syscalls`, which counts the system calls of a trial's steps until it is stopped; or `profile`, which samples the functions
    /// that they are in
    #[arg(required = true, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(names()))]
    names: Vec<String>,
    /// Time between two samples, 1s unless said, or between two operations of a probe, 10ms
    #[arg(long, value_name = "TIME")]
    interval: Option<Time>,
    /// How many samples or operations; without end unless said
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Watch this process and what it starts, not those of a trial
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,
    #[command(flatten)]
    profile: ProfileMonitorArgs,
}

fn names() -> impl Iterator<Item = &'static str> {
    let traced = [SYSCALLS, PROFILE];
    sampler_names().chain(probe_names()).chain(traced)
}

impl MonitorArgs {
    /// Samples until it is stopped; `trace` does so for what only the command has.
    ///
    /// # Errors
    /// It can't sample here, or what it samples can't be written.
    pub fn execute(
        self,
        trace: impl FnOnce(&TracingMonitor) -> miette::Result<()>,
    ) -> miette::Result<ExitCode> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        if let Some(monitor) = self.tracing_monitor()? {
            return trace(&monitor).map(|()| ExitCode::SUCCESS);
        }
        needs_linux(&format!("the monitor `{}`", names.join(" "))).into_diagnostic()?;
        // Before anything takes long: a signal that comes early ends it after its first sample.
        let signals = EndSignals::block();
        if let Some(name) = names
            .iter()
            .find(|name| probe_names().any(|probe| probe == **name))
        {
            if names.len() > 1 {
                return Err(miette::miette!("`{name}` is no sampler: it runs alone"));
            }
            return self.probe(name, &signals);
        }
        let interval = self.interval.map_or(USUAL_INTERVAL, |time| time.0);
        let tree = self.tree();
        let mut out = std::io::stdout().lock();
        match record(
            &names,
            tree.as_ref(),
            interval,
            self.count,
            &signals,
            &mut out,
        ) {
            // The reader has seen enough.
            Err(RecordError::Unwritten(error)) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error @ RecordError::NoneLeft { .. }) => {
                eprintln!("{error}");
                return Ok(ExitCode::from(1));
            }
            recorded => recorded.map_err(miette::Report::msg)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn probe(&self, name: &str, signals: &EndSignals) -> miette::Result<ExitCode> {
        let interval = self.interval.map_or(USUAL_PROBE_INTERVAL, |time| time.0);
        // What the definitions of probes wait for.
        let ready = || eprintln!("watching");
        let report = probe(name, interval, self.count, signals, ready);
        let report = report
            .into_diagnostic()
            .wrap_err_with(|| format!("`{name}` can't go on"))?;
        println!("{}", serde_json::to_string(&report).into_diagnostic()?);
        Ok(ExitCode::SUCCESS)
    }

    /// The processes that are asked for, or those of the trial that this is a monitor of.
    fn tree(&self) -> Option<ProcessTree> {
        if let Some(root) = self.pid {
            return Some(ProcessTree {
                root,
                with_root: true,
                leaves_out: |_| false,
            });
        }
        let MonitoredProcesses { agent, .. } = monitored_processes()?;
        Some(ProcessTree {
            root: agent,
            with_root: false,
            leaves_out: is_monitor,
        })
    }

    /// The monitor that only the command has, if it is one.
    fn tracing_monitor(&self) -> miette::Result<Option<TracingMonitor>> {
        let mut found = None;
        for name in &self.names {
            found = found.or(self.profile.monitor(name)?);
        }
        let Some(monitor) = &found else {
            return Ok(None);
        };
        let name = monitor.name();
        miette::ensure!(
            self.names.len() == 1,
            "`{name}` is no sampler: it runs alone"
        );
        miette::ensure!(
            self.interval.is_none() && self.count.is_none() && self.pid.is_none(),
            "`{name}` has no samples: it counts all the time"
        );
        Ok(found)
    }
}
