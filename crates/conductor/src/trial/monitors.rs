//! Monitors of a trial: started when `startup` is done, stopped when `run` is, kept like steps.
//!
//! A monitor never fails a trial: one that can't be started or that ends by itself is a warning with its reason.

use backsight_agent::{BeginTrial, EndReason, Finished, MONITOR_VARIABLE, StepEvent};
use backsight_model::{
    Arrangement, Cell, FilledAction, FilledStep, HostName, Monitor, MonitorName, Phase,
    PlannedMonitor, RoleTrial, Watches,
};
use futures_util::future::join_all;
use indexmap::{IndexMap, IndexSet};
use std::{
    collections::HashMap,
    sync::{PoisonError, atomic::Ordering},
    time::Duration,
};
use tokio::{sync::watch, time::timeout};

use crate::{
    Conductor, ConnectError, Events,
    hosts::Connected,
    phase::{RunningTrial, SpawnedProgram, Started, StepPosition, agent_step},
};

/// How long a monitor is tried before it counts as one that runs here.
const TRY_LIMIT: Duration = Duration::from_millis(500);

/// A monitor on one host.
pub(crate) struct Watcher {
    place: StepPosition,
    name: MonitorName,
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
        let mut found = Vec::new();
        for planned in planned {
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
                if watched.insert(what) {
                    let before = role.steps.get(&Phase::Run).map_or(0, Vec::len);
                    found.push(watcher(planned, host, number, before + found.len()));
                }
            }
        }
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
                steps: IndexMap::new(),
            })
            .collect();
        let watchers = self.placed(self.arrangement.monitors.iter(), &roles, |_| true);
        let install = |monitor: Option<&MonitorName>, program: &str, host: &Connected| {
            self.arrangement.install(monitor, program, host)
        };
        let (quiet, (_never, stop)) = (Events::default(), watch::channel(false));
        let stage = RunningTrial::new(&self.hosts, HashMap::new(), &roles, &quiet, &install, stop);
        let mut complaints = stage.start_monitors(&watchers).await;
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

fn watcher(planned: &PlannedMonitor, host: &Connected, role: usize, number: usize) -> Watcher {
    let monitor = &planned.monitor;
    let program = host.client.hello().program.clone();
    let step = match program {
        None if monitor.needs_program() => Err(
            "the agent there is older than this program: install the same version on both".into(),
        ),
        program => monitor
            .fill(
                planned.interval,
                Some(host.machine()),
                &program.unwrap_or_default(),
            )
            .map(|mut step| {
                let name = monitor.name.to_string();
                step.env.push((MONITOR_VARIABLE.to_owned(), name));
                step
            })
            .map_err(|fault| fault.to_string()),
    };
    let command = step.as_ref().map(|step| step.command.clone());
    Watcher {
        place: StepPosition {
            role,
            phase: Phase::Run,
            number,
            command: command.unwrap_or_default(),
            monitor: Some((*monitor.name).clone()),
        },
        name: (*monitor.name).clone(),
        step,
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
    pub(crate) async fn start_monitors(&self, watchers: &[Watcher]) -> Vec<MonitorFailure> {
        let started = join_all(watchers.iter().map(|watcher| self.start_monitor(watcher))).await;
        let mut complaints = Vec::new();
        for (watcher, started) in watchers.iter().zip(started) {
            match started {
                Ok(Some(spawned)) => self
                    .watching
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(spawned),
                Ok(None) => {}
                Err(reason) => {
                    complaints.push(self.complaint(watcher.place.role, &watcher.name, reason))
                }
            }
        }
        complaints
    }

    fn complaint(&self, role: usize, name: &MonitorName, reason: String) -> MonitorFailure {
        MonitorFailure {
            name: name.clone(),
            reason: format!("{}: {reason}", self.roles[role].host),
        }
    }

    async fn start_monitor(&self, watcher: &Watcher) -> Result<Option<SpawnedProgram>, String> {
        let step = watcher.step.as_ref().map_err(Clone::clone)?;
        let Some(host) = self.host_of(watcher.place.role) else {
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
                    };
                    if !awaits_ready {
                        return Ok(Some(self.keep(run, watcher.place.clone(), started, step)));
                    }
                }
                Ok(Some(StepEvent::Ready(_))) => {
                    return Ok(Some(self.keep(run, watcher.place.clone(), started, step)));
                }
                Ok(Some(StepEvent::Stdout(piece))) => output.0.extend_from_slice(&piece),
                Ok(Some(StepEvent::Stderr(piece))) => output.1.extend_from_slice(&piece),
                Ok(Some(StepEvent::Finished(finished))) => {
                    let printed = (&output.0[..], &output.1[..]);
                    let why = self.why_it_ended(&watcher.place, &finished, printed, &step.expect);
                    self.finish(&watcher.place, true, started, &finished, output);
                    return why.map_or(Ok(None), Err);
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Resolves when no monitor is left.
    async fn all_monitors_ended(&self) {
        let mut ended = self.ended.subscribe();
        loop {
            ended.borrow_and_update();
            let all = self
                .watching
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .all(SpawnedProgram::has_ended);
            if all || ended.changed().await.is_err() {
                return;
            }
        }
    }

    /// Stops every monitor and takes in what it printed.
    pub(crate) async fn stop_monitors(&self) -> Vec<MonitorFailure> {
        let watching =
            std::mem::take(&mut *self.watching.lock().unwrap_or_else(PoisonError::into_inner));
        let stopped = join_all(watching.into_iter().map(|one| self.stop_monitor(one))).await;
        stopped.into_iter().flatten().collect()
    }

    async fn stop_monitor(&self, spawned: SpawnedProgram) -> Option<MonitorFailure> {
        let (place, started, number) = (spawned.place.clone(), spawned.started, spawned.number());
        let expect = spawned.expect.clone();
        let host = self.host_of(place.role)?;
        let why = match spawned.end(host).await {
            Ok(outcome) => {
                let (stdout, stderr) = (outcome.stdout, outcome.stderr);
                let why = self.why_it_ended(&place, &outcome.finished, (&stdout, &stderr), &expect);
                self.finish(&place, true, started, &outcome.finished, (stdout, stderr));
                why
            }
            Err(error) => {
                self.lost_step(&place, number, started, host);
                let failure = self.agent_failure(&place, &error);
                (!failure.host_lost).then_some(failure.reason)
            }
        };
        let name = place.monitor.as_ref()?;
        why.map(|why| self.complaint(place.role, name, why))
    }

    /// What is amiss with a monitor that has ended; nothing if it was stopped.
    fn why_it_ended(
        &self,
        place: &StepPosition,
        finished: &Finished,
        printed: (&[u8], &[u8]),
        expect: &[i32],
    ) -> Option<String> {
        if finished.reason == EndReason::Stopped {
            return None;
        }
        let host = self.host_of(place.role)?;
        let failure = self.judge(place, finished, printed, expect, host);
        Some(failure.map_or_else(
            || format!("`{}` ended before `run` did", place.command),
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
    let like = host.facts.get("os.id").map_or("debian", String::as_str);
    let packages = needs.get(like).or_else(|| needs.get("debian"));
    match packages {
        Some(packages) if !packages.is_empty() => {
            format!(
                "`{program}` is not installed: apt-get install {}",
                packages.join(" ")
            )
        }
        _ => format!("`{program}` is not installed"),
    }
}
