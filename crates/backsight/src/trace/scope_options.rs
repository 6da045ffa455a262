//! What is traced together without being started or attached to: a cgroup, a container, the whole machine; and for how long.

use backsight_model::Time;
use backsight_tracer::cgroups::Cgroup;
use backsight_tracer::options::TraceScope;
use miette::IntoDiagnostic as _;
use std::{path::PathBuf, time::Duration};

use super::containers;

/// How long the whole machine is traced where nobody says it.
const MACHINE: Duration = Duration::from_secs(10);

/// Bytes of the ring: who isn't held can't be stopped where it fills up.
pub(super) const RING: u32 = 32 << 20;

/// Where to trace, and for how long.
#[derive(Debug, clap::Args)]
pub(super) struct ScopeOptions {
    /// All that runs in this cgroup and below it, from now on, whoever started it: a folder of cgroups of version 2, or a path as
    /// /proc/PID/cgroup has it. By the kernel engine; nobody is stopped
    #[arg(long, value_name = "PATH", conflicts_with_all = ["replay", "diff"])]
    cgroup: Option<PathBuf>,
    /// All that runs in this container, by its name, its number or how that begins: of podman, docker, containerd, runc, lxc,
    /// systemd-nspawn. As --cgroup with its cgroup
    #[arg(long, value_name = "NAME", conflicts_with_all = ["replay", "diff"])]
    container: Option<String>,
    /// All that runs on this machine but the tracer itself and what it started, for 10s if --for doesn't say how long. By the kernel
    /// engine; nobody is stopped
    #[arg(long, conflicts_with_all = ["replay", "diff"])]
    all: bool,
    /// End tracing after this time, such as 30s or 5m; what is traced goes on
    #[arg(
        long = "for",
        value_name = "TIME",
        value_parser = Time::parse,
        conflicts_with_all = ["replay", "diff"]
    )]
    time_limit: Option<Time>,
}

/// What doesn't go together with a scope.
pub(super) struct OtherOptions {
    pub command: bool,
    pub pids: bool,
    pub apart: bool,
    pub profile: bool,
}

impl ScopeOptions {
    /// Whether something is traced by where it runs.
    pub fn is_asked(&self) -> bool {
        !self.names().is_empty()
    }

    fn names(&self) -> Vec<&'static str> {
        let asked = [
            (self.cgroup.is_some(), "--cgroup"),
            (self.container.is_some(), "--container"),
            (self.all, "--all"),
        ];
        let asked = asked.iter().filter(|(asked, _)| *asked);
        asked.map(|(_, name)| *name).collect()
    }

    /// What is traced by where it runs, if anything is.
    pub fn scope(&self, others: &OtherOptions) -> miette::Result<Option<TraceScope>> {
        let names = self.names();
        let Some(name) = names.first() else {
            return Ok(None);
        };
        miette::ensure!(
            names.len() == 1,
            "{}: each says what is traced; give one of them",
            names.join(", ")
        );
        let refused = [
            (
                others.command,
                "starts nothing, so it takes no command: leave the command out, or trace it with `-f COMMAND`",
            ),
            (
                others.pids,
                "traces every process there, so it takes no -p: leave one of them out; single processes are traced with `-f -p PID`",
            ),
            (
                others.apart,
                "has no command that could take this process's place, as -D wants it: leave -D out, and run this in the background with `&`",
            ),
            (
                others.profile,
                "goes without --profile, which samples a command or the processes of -p: leave it out, or give -p",
            ),
        ];
        for (given, why) in refused {
            miette::ensure!(!given, "{name} {why}");
        }
        if let Some(path) = &self.cgroup {
            let cgroup = Cgroup::open(path).into_diagnostic()?;
            return Ok(Some(TraceScope::Cgroup(cgroup)));
        }
        if let Some(name) = &self.container {
            return Ok(Some(TraceScope::Cgroup(containers::find_cgroup(name)?)));
        }
        Ok(Some(TraceScope::Machine))
    }

    /// How long it is traced, if that has an end of its own.
    pub fn time_limit(&self) -> Option<Duration> {
        let usual = self.all.then_some(MACHINE);
        self.time_limit.map(|time| time.0).or(usual)
    }

    /// What is to be said of that.
    pub fn note(&self) -> Option<String> {
        let unsaid = self.all && self.time_limit.is_none();
        unsaid.then(|| {
            let seconds = MACHINE.as_secs();
            format!("the whole machine for {seconds} s; `--for TIME` says how long")
        })
    }
}

/// What is to be said of events that were lost.
pub(super) fn lost_note(lost: u64) -> Option<String> {
    (lost > 0).then(|| {
        format!(
            "{lost} events were lost, as they came faster than they could be written and nobody is stopped here: ask for less \
             (-e trace=SET, -z, -Z), count (-c), or write to a file (-o FILE, --record FILE)"
        )
    })
}
