//! Monitors of a trial: started before each phase that they watch, mostly `run`, stopped when it is done, kept like steps.
//!
//! A monitor never fails a trial: one that can't be started or that ends by itself is a warning with its reason.

use backsight_agent::{BeginTrial, EndReason, Finished, MONITOR_VARIABLE, StepEvent};
use backsight_catalog::sampled_series::{sampler_faults, split_by_sampler};
use backsight_model::{
    Arrangement, Cell, FilledAction, FilledStep, HostName, Monitor, MonitorName, Phase,
    PlannedMonitor, RoleTrial, Watches,
};
use futures_util::future::join_all;
use indexmap::{IndexMap, IndexSet};
use std::{
    collections::HashMap,
    sync::{MutexGuard, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio::{sync::watch, time::timeout};

use crate::{
    Conductor, ConnectError, Events,
    hosts::Connected,
    package_manager::installations,
    phase::{RunningMonitors, RunningTrial, SpawnedProgram, Started, StepPosition, agent_step},
};

/// How long a monitor is tried before it counts as one that runs here.
const TRY_LIMIT: Duration = Duration::from_millis(500);

/// A program on one host that watches: one monitor, or all that are samplers with one interval.
pub(crate) struct Watcher {
    /// Each monitor that it is; at least one.
    members: Vec<StepPosition>,
    /// What is run there, or why it can't be said.
    step: Result<FilledStep, String>,
}

/// What came of a monitor that isn't as it should be.
pub(crate) struct MonitorFailure {
    pub(crate) name: MonitorName,
    /// The reason, with the host's name before it.
    pub(crate) reason: String,
}

impl MonitorFailure {
    /// As the reader of a result is told.
    pub(crate) fn sentence(&self) -> String {
        format!("monitor `{}`: {}", self.name, self.reason)
    }
}

impl Conductor {
    /// The monitors of a cell, each on the hosts that it watches.
    pub(crate) fn watchers(&self, cell: &Cell, roles: &[RoleTrial]) -> Vec<Watcher> {
        let asked = |planned: &&PlannedMonitor| {
            let only = cell.monitors.as_ref();
            only.is_none_or(|only| only.contains(&planned.monitor.name))
        };
        let takes_part = |role: &RoleTrial| !role.steps.is_empty();
        let planned = self.arrangement.monitors.iter().filter(asked);
        self.placed(planned, roles, takes_part)
    }

    /// Every monitor of the arrangement with each host that it may run on.
    pub(crate) fn monitored(&self) -> Vec<(&Monitor, &Connected)> {
        let mut found = Vec::new();
        for planned in &self.arrangement.monitors {
            let seats = self.arrangement.seats.iter();
            let meant =
                seats.filter(|(role, _)| planned.roles.is_empty() || planned.roles.contains(role));
            let hosts: IndexSet<&HostName> = meant.flat_map(|(_, seat)| seat.hosts()).collect();
            let hosts = hosts.into_iter().filter_map(|host| self.hosts.get(host));
            found.extend(hosts.map(|host| (&planned.monitor, host)));
        }
        found
    }

    fn placed<'a>(
        &self,
        planned: impl Iterator<Item = &'a PlannedMonitor>,
        roles: &[RoleTrial],
        takes_part: impl Fn(&RoleTrial) -> bool,
    ) -> Vec<Watcher> {
        let mut found: Vec<Watcher> = Vec::new();
        // Samplers of a host, by their interval and phase: one process takes all samples.
        let mut together: IndexMap<(&str, Duration, Phase), Sampling<'_>> = IndexMap::new();
        let mut monitors = 0;
        let by_phase = planned.flat_map(|planned| {
            let phases = planned.phases.iter();
            phases.map(move |phase| (planned, *phase))
        });
        for (planned, phase) in by_phase {
            let mut watched = IndexSet::new();
            for (number, role) in roles.iter().enumerate() {
                let meant = planned.roles.is_empty() || planned.roles.contains(&role.role);
                let Some(host) = self
                    .hosts
                    .get(&role.host)
                    .filter(|_| meant && takes_part(role))
                else {
                    continue;
                };
                let what = match planned.monitor.watches {
                    Watches::Machine => host.boot_id(),
                    Watches::Host => host.name.as_str(),
                };
                if !watched.insert(what) {
                    continue;
                }
                let before = role.steps.get(&phase).map_or(0, Vec::len);
                let place = StepPosition {
                    role: number,
                    phase,
                    number: before + monitors,
                    command: String::new(),
                    monitor: Some((*planned.monitor.name).clone()),
                };
                monitors += 1;
                if planned.monitor.sampler.is_none() {
                    let step = command_step(planned, host);
                    found.push(Watcher::new(vec![place], step));
                    continue;
                }
                let usual = planned.monitor.usual_interval();
                let interval = planned.interval.unwrap_or(usual);
                let sampling = together.entry((host.name.as_str(), interval, phase));
                let sampling = sampling.or_insert_with(|| Sampling {
                    host,
                    monitors: Vec::new(),
                    members: Vec::new(),
                });
                sampling.monitors.push(&planned.monitor);
                sampling.members.push(place);
            }
        }
        found.extend(together.into_iter().map(|((_, interval, _), sampling)| {
            let step = program_on(sampling.host)
                .map(|program| Monitor::fill_samplers(&sampling.monitors, interval, program));
            Watcher::new(sampling.members, step)
        }));
        found
    }

    /// Leaves these monitors out from now on.
    pub fn leave_out_monitors<'a>(&mut self, names: impl Iterator<Item = &'a MonitorName>) {
        let names: IndexSet<&MonitorName> = names.collect();
        let monitors = &mut self.arrangement.monitors;
        monitors.retain(|planned| !names.contains(&*planned.monitor.name));
    }

    /// Starts every monitor of the arrangement for a moment: those that don't run here, with the reason.
    ///
    /// # Errors
    /// A host refuses a trial.
    pub async fn try_monitors(&mut self) -> Result<IndexMap<MonitorName, String>, ConnectError> {
        let trials = self.hosts.values().map(|host| async move {
            let trial = BeginTrial {
                trial: "survey".into(),
                ..BeginTrial::default()
            };
            let begun = host.client.begin_trial(trial).await;
            begun.map_err(|cause| ConnectError::Agent {
                host: host.name.clone(),
                cause,
                message: String::new(),
            })
        });
        for begun in join_all(trials).await {
            begun?;
        }
        let seats = self.arrangement.seats.iter();
        let players = seats.flat_map(|(role, seat)| seat.hosts().map(move |host| (role, host)));
        let roles: Vec<RoleTrial> = players
            .map(|(role, host)| RoleTrial {
                role: role.clone(),
                host: host.clone(),
                processors: None,
                steps: IndexMap::new(),
            })
            .collect();
        let monitors = self.arrangement.monitors.iter();
        let once: Vec<PlannedMonitor> = monitors
            .map(|planned| PlannedMonitor {
                phases: vec![Phase::Run],
                ..planned.clone()
            })
            .collect();
        let watchers = self.placed(once.iter(), &roles, |_| true);
        let install = |monitor: Option<&MonitorName>, program: &str, host: &Connected| {
            self.arrangement.install(monitor, program, host)
        };
        let (quiet, (_never, stop)) = (Events::default(), watch::channel(false));
        let stage = RunningTrial::new(&self.hosts, HashMap::new(), &roles, &quiet, &install, stop);
        let mut complaints = stage
            .start_monitors(&watchers.iter().collect::<Vec<_>>())
            .await;
        let _ended_or_not = timeout(TRY_LIMIT, stage.all_monitors_ended()).await;
        complaints.extend(stage.stop_monitors().await);
        join_all(self.hosts.values().map(|host| host.client.end_trial())).await;
        let mut found = IndexMap::new();
        for complaint in complaints {
            found.entry(complaint.name).or_insert(complaint.reason);
        }
        Ok(found)
    }
}

/// Monitors of one host that are samplers with one interval.
struct Sampling<'a> {
    host: &'a Connected,
    monitors: Vec<&'a Monitor>,
    members: Vec<StepPosition>,
}

/// This program on a host.
fn program_on(host: &Connected) -> Result<&str, String> {
    host.client.hello().program.as_deref().ok_or_else(|| {
        "the agent there is older than this program: install the same version on both".into()
    })
}

fn command_step(planned: &PlannedMonitor, host: &Connected) -> Result<FilledStep, String> {
    let program = match planned.monitor.needs_program() {
        true => program_on(host)?,
        false => "",
    };
    let filled = planned
        .monitor
        .fill(planned.interval, Some(host.machine()), program);
    filled.map_err(|fault| fault.to_string())
}

impl Watcher {
    fn new(mut members: Vec<StepPosition>, step: Result<FilledStep, String>) -> Self {
        let names = members.iter().filter_map(|member| member.monitor.as_ref());
        let names: Vec<&str> = names.map(MonitorName::as_str).collect();
        let variable = (MONITOR_VARIABLE.to_owned(), names.join(","));
        let step = step.map(|mut step| {
            step.env.push(variable);
            step
        });
        for member in &mut members {
            member.command = step
                .as_ref()
                .map_or(String::new(), |step| step.command.clone());
        }
        Self { members, step }
    }

    /// The phase that it watches.
    pub(crate) fn phase(&self) -> Phase {
        self.members[0].phase
    }
}

/// What to do about programs that hosts don't have.
pub(crate) trait Installs {
    /// The hint about a program of a monitor; of no monitor, that it is missing.
    fn install(&self, monitor: Option<&MonitorName>, program: &str, host: &Connected) -> String;
}

impl Installs for Arrangement {
    fn install(&self, monitor: Option<&MonitorName>, program: &str, host: &Connected) -> String {
        let planned = self
            .monitors
            .iter()
            .find(|planned| Some(&*planned.monitor.name) == monitor);
        match planned {
            Some(planned) => hint(&planned.monitor.needs, program, host),
            None => hint(&IndexMap::new(), program, host),
        }
    }
}

impl RunningTrial<'_> {
    /// Starts monitors, all at once; returns when each has begun or can't.
    pub(crate) async fn start_monitors(&self, watchers: &[&Watcher]) -> Vec<MonitorFailure> {
        let started = join_all(watchers.iter().map(|watcher| self.start_monitor(watcher))).await;
        let mut complaints = Vec::new();
        for (watcher, started) in watchers.iter().zip(started) {
            match started {
                Ok(Some(program)) => self.lock_watching().push(RunningMonitors {
                    program,
                    members: watcher.members.clone(),
                }),
                Ok(None) => {}
                Err(reason) => complaints.extend(self.complaints(&watcher.members, &reason)),
            }
        }
        complaints
    }

    fn lock_watching(&self) -> MutexGuard<'_, Vec<RunningMonitors>> {
        let watching = self.watching.lock();
        watching.unwrap_or_else(PoisonError::into_inner)
    }

    /// The same reason for each.
    fn complaints(&self, members: &[StepPosition], reason: &str) -> Vec<MonitorFailure> {
        let complaints = members.iter().map(|member| self.complaint(member, reason));
        complaints.flatten().collect()
    }

    fn complaint(&self, member: &StepPosition, reason: &str) -> Option<MonitorFailure> {
        Some(MonitorFailure {
            name: member.monitor.clone()?,
            reason: format!("{}: {reason}", self.roles[member.role].host),
        })
    }

    async fn start_monitor(&self, watcher: &Watcher) -> Result<Option<SpawnedProgram>, String> {
        let step = watcher.step.as_ref().map_err(Clone::clone)?;
        let place = &watcher.members[0];
        let Some(host) = self.host_of(place.role) else {
            return Ok(None);
        };
        let id = self.next_step.fetch_add(1, Ordering::Relaxed);
        let run = host.client.run(agent_step(id, step, false)).await;
        let mut run = run.map_err(|error| error.to_string())?;
        let mut output = (Vec::new(), Vec::new());
        let mut started = Started::default();
        let awaits_ready = matches!(step.action, FilledAction::Spawn { ready: Some(_), .. });
        loop {
            match run.next().await {
                Ok(Some(StepEvent::Started { at, .. } | StepEvent::Begun(at))) => {
                    started = Started {
                        wall_ns: at.wall_ns,
                        monotonic_ns: at.monotonic_ns,
                        heard: Some(Instant::now()),
                    };
                    if !awaits_ready {
                        return Ok(Some(self.keep(run, place.clone(), started)));
                    }
                }
                Ok(Some(StepEvent::Ready(_))) => {
                    return Ok(Some(self.keep(run, place.clone(), started)));
                }
                Ok(Some(StepEvent::Stdout(piece))) => output.0.extend_from_slice(&piece),
                Ok(Some(StepEvent::Stderr(piece))) => output.1.extend_from_slice(&piece),
                Ok(Some(StepEvent::Finished(finished))) => {
                    let printed = (&output.0[..], &output.1[..]);
                    let why = self.why_it_ended(place, &finished, printed);
                    self.finish_monitors(&watcher.members, started, &finished, output);
                    return why.map_or(Ok(None), Err);
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Keeps what a program printed that is these monitors, each with its part.
    fn finish_monitors(
        &self,
        members: &[StepPosition],
        started: Started,
        finished: &Finished,
        output: (Vec<u8>, Vec<u8>),
    ) {
        if let [only] = members {
            self.finish(only, true, started, finished, output);
            return;
        }
        let (stdout, stderr) = output;
        let split = split_by_sampler(&stdout, members.len());
        // What the process used and said to nobody's name is kept once.
        let mut once = Some((finished.usage, stderr));
        for (member, stdout) in members.iter().zip(split) {
            let (usage, stderr) = once.take().unwrap_or_default();
            let finished = Finished {
                usage,
                stdout_bytes: stdout.len() as u64,
                stderr_bytes: stderr.len() as u64,
                ..finished.clone()
            };
            self.finish(member, true, started, &finished, (stdout, stderr));
        }
    }

    /// Resolves when no monitor is left.
    async fn all_monitors_ended(&self) {
        let mut ended = self.ended.subscribe();
        loop {
            ended.borrow_and_update();
            let all = self
                .lock_watching()
                .iter()
                .all(|running| running.program.has_ended());
            if all || ended.changed().await.is_err() {
                return;
            }
        }
    }

    /// Stops every monitor and takes in what it printed.
    pub(crate) async fn stop_monitors(&self) -> Vec<MonitorFailure> {
        let watching = std::mem::take(&mut *self.lock_watching());
        let stopped = join_all(watching.into_iter().map(|one| self.stop_monitor(one))).await;
        stopped.into_iter().flatten().collect()
    }

    async fn stop_monitor(&self, running: RunningMonitors) -> Vec<MonitorFailure> {
        let RunningMonitors { program, members } = running;
        let (place, started, number) = (program.place.clone(), program.started, program.number());
        let Some(host) = self.host_of(place.role) else {
            return Vec::new();
        };
        match program.end(host).await {
            Ok(outcome) => {
                let (stdout, stderr) = (outcome.stdout, outcome.stderr);
                let printed = (&stdout[..], &stderr[..]);
                let why = self.why_it_ended(&place, &outcome.finished, printed);
                let complaints = match why {
                    Some(why) => self.complaints(&members, &why),
                    None => {
                        let faults = sampler_faults(&stdout).into_iter();
                        let faults = faults.filter_map(|(sampler, fault)| {
                            self.complaint(members.get(sampler)?, &fault)
                        });
                        faults.collect()
                    }
                };
                self.finish_monitors(&members, started, &outcome.finished, (stdout, stderr));
                complaints
            }
            Err(error) => {
                self.lost_step(&place, number, started, host, Default::default());
                let failure = self.agent_failure(&place, &error);
                match failure.host_lost {
                    true => Vec::new(),
                    false => self.complaints(&members, &failure.reason),
                }
            }
        }
    }

    /// What is amiss with a monitor that has ended; nothing if it was stopped.
    fn why_it_ended(
        &self,
        place: &StepPosition,
        finished: &Finished,
        printed: (&[u8], &[u8]),
    ) -> Option<String> {
        if finished.reason == EndReason::Stopped {
            return None;
        }
        let host = self.host_of(place.role)?;
        let failure = self.judge(place, finished, printed, host);
        Some(failure.map_or_else(
            || format!("`{}` ended before `{}` did", place.command, place.phase),
            |failure| failure.reason,
        ))
    }
}

/// What a benchmark or a monitor needs on a host, or how its lack is mended.
pub(crate) fn install_of<'a>(
    arrangement: &'a Arrangement,
    cell: &Cell,
) -> impl Fn(Option<&MonitorName>, &str, &Connected) -> String + Sync + 'a {
    let benchmark = arrangement.benchmarks.get(&cell.benchmark);
    move |monitor, program, host| match (monitor, benchmark) {
        (None, Some(benchmark)) => install_hint(benchmark, program, host),
        (monitor, _) => arrangement.install(monitor, program, host),
    }
}

/// What to do about a program of a benchmark that a host doesn't have.
pub(crate) fn install_hint(
    benchmark: &backsight_model::Benchmark,
    program: &str,
    host: &Connected,
) -> String {
    hint(&benchmark.needs, program, host)
}

/// What to do about a program that a host doesn't have, of a definition that needs these packages.
pub(crate) fn hint(
    needs: &IndexMap<String, Vec<String>>,
    program: &str,
    host: &Connected,
) -> String {
    let system = host.facts.get("os.id").map_or("debian", String::as_str);
    let found = installations(needs, system);
    let commands: Vec<String> = found.iter().map(ToString::to_string).collect();
    match commands.is_empty() {
        true => format!("`{program}` is not installed"),
        false => {
            let commands = commands.join(" && ").replace(" && #", "  #");
            format!("`{program}` is not installed: {commands}")
        }
    }
}
