//! The conductor: a testbed's agents, and one trial after the other on them.
//!
//! Nothing is left behind: whatever happens, `reset` and `teardown` are done, spawned programs are stopped, and every process of a
//! trial is gone before the next one begins.

mod core_files;
mod monitors;
mod suite_passes;

use backsight_agent::{
    AgentError, BeginTrial, CoreFiles, CpuAccount, ProcessSnapshot, UploadFiles,
};
use backsight_catalog::{Catalog, SuitePasses, exhausted_generators};
use backsight_model::{
    Arrangement, Cell, DrawnSettings, Event, Failure, HostKind, HostName, InterfaceAddress, Lab,
    Machine, MachineLoad, MonitorName, Phase, Restore, RoleName, RoleTrial, Seat, TrialRecord,
    WITHOUT,
};
use futures_util::future::join_all;
use indexmap::IndexMap;
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::watch;

use crate::{
    BootError, CommandResult, ConnectError, Events, GuestBoot, HostAccess, Kernel,
    barriers::Barriers,
    data_plane::machine_addresses,
    hosts::{
        Connected, LastWords,
        guests::{self, BootFault, promised},
        this_boot,
    },
    machine_settings::MachineSettings,
    notice::Notice,
    phase::{RunningTrial, undo},
    plan_folder::{put_plan_files, read_plan_files},
    workbench::alone,
};

use core_files::TakenCoreFiles;
use monitors::{MonitorFailure, Watcher, hint, install_hint, install_of};
use suite_passes::{hindrance, limit_time, was_running};

/// How long a machine may stay away that went away while a suite ran on it.
const RETURN_LIMIT: Duration = Duration::from_secs(300);
/// How long a command that tells a version may take.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// What came of asking for a trial.
#[derive(Debug)]
pub enum TrialOutcome {
    /// It was executed; its outcome may be a failure.
    Trial(Box<TrialRecord>),
    /// The user stopped it; it was put back, and counts for nothing.
    Interrupted,
}

/// What came of a pass through all phases.
struct PassEnd {
    failure: Option<Failure>,
    /// The user stopped it.
    interrupted: bool,
    /// Whether a host went away.
    has_lost: bool,
    /// The consoles of those that did.
    console: Vec<u8>,
    /// What hosts said of core files.
    core_files: Vec<(HostName, CoreFiles)>,
}

/// What came of the phases of a pass.
struct Performed {
    outcome: Result<(), Failure>,
    /// The user stopped it.
    interrupted: bool,
    complaints: Vec<MonitorFailure>,
    /// What hosts said of core files.
    core_files: Vec<(HostName, CoreFiles)>,
}

/// What comes after a pass.
enum Next {
    /// Another one, without the tests that have ended.
    GoOn,
    /// The trial is over; and what kept a suite from going on that was ended in the middle.
    Conclude(Option<String>),
    Fail(Failure),
    Interrupted,
}

/// What a host has when it is ready for trials.
struct ReadyHost {
    /// The addresses of a machine.
    addresses: Vec<InterfaceAddress>,
    /// Its copy of the plan's folder, if it needs one.
    folder: Option<PathBuf>,
}

/// Agents on every host of an arrangement.
pub struct Conductor {
    pub(crate) reach: HostAccess,
    pub(crate) arrangement: Arrangement,
    pub(crate) events: Events,
    pub(crate) hosts: IndexMap<HostName, Connected>,
    /// The boots that hosts were restarted into, by their ids.
    pub(crate) restarted: IndexMap<HostName, String>,
    machines: HashMap<HostName, Machine>,
    /// What guests were booted with last.
    kernel: Option<Kernel>,
    pub(crate) settings: MachineSettings,
    /// The files beside the plan, where a host needs them that doesn't see them.
    pub(crate) plan_files: Option<Arc<UploadFiles>>,
    trials: u64,
    /// How long telling the hosts of an instant takes.
    notice: Arc<Mutex<Notice>>,
}

impl Conductor {
    /// Starts an agent on every host that the arrangement uses.
    ///
    /// # Errors
    /// A host can't be reached, or is a guest; the agents that were started are ended.
    pub async fn start(
        reach: HostAccess,
        arrangement: Arrangement,
        events: Events,
    ) -> Result<Self, ConnectError> {
        let conductor = Self::start_without_guests(reach, arrangement, events).await?;
        match conductor.require_guests() {
            Ok(()) => Ok(conductor),
            Err(missing) => {
                conductor.finish().await;
                Err(missing)
            }
        }
    }

    /// Starts an agent on every host that the arrangement uses and that isn't a guest. Guests are there from
    /// [`Conductor::boot`] on; before, nothing can be measured where there is one.
    ///
    /// # Errors
    /// A host can't be reached; the agents that were started are ended.
    pub async fn start_without_guests(
        reach: HostAccess,
        arrangement: Arrangement,
        events: Events,
    ) -> Result<Self, ConnectError> {
        let plan_files = read_plan_files(&arrangement).await?;
        let mut conductor = Self {
            reach,
            arrangement,
            events,
            hosts: IndexMap::new(),
            restarted: IndexMap::new(),
            machines: HashMap::new(),
            kernel: None,
            settings: MachineSettings::default(),
            plan_files,
            trials: 0,
            notice: Arc::default(),
        };
        let patience = conductor.reach.host_wait;
        if let Err(fault) = conductor.reach(patience, None).await {
            conductor.finish().await;
            return Err(fault);
        }
        // A host that goes away may have rebooted: a login from before is of no use then.
        conductor.reach = conductor.reach.with_own_logins();
        conductor.look_at_machines();
        Ok(conductor)
    }

    pub(crate) fn look_at_machines(&mut self) {
        for host in self.arrangement.hosts() {
            let machine = match self.hosts.get(host) {
                Some(host) => host.machine(),
                // What a guest will be, as far as its lab says.
                None => match self.arrangement.lab.host.get(host) {
                    Some(settings) => promised(settings),
                    None => continue,
                },
            };
            self.machines.insert(host.clone(), machine);
        }
    }

    /// Hosts that the arrangement uses.
    pub(crate) fn used(&self) -> Vec<HostName> {
        let mut used: Vec<HostName> = self.arrangement.hosts().cloned().collect();
        used.sort();
        used.dedup();
        used
    }

    pub(crate) fn is_guest(&self, host: &HostName) -> bool {
        let settings = self.arrangement.lab.host.get(host);
        settings.is_some_and(|settings| settings.kind.is_guest())
    }

    /// The hosts of the arrangement that are guests: what [`Conductor::boot`] boots.
    pub fn guests(&self) -> Vec<HostName> {
        let mut guests = self.used();
        guests.retain(|host| self.is_guest(host));
        guests
    }

    fn require_guests(&self) -> Result<(), ConnectError> {
        let missing = self
            .guests()
            .into_iter()
            .find(|host| !self.hosts.contains_key(host));
        missing.map_or(Ok(()), |host| Err(ConnectError::NotBooted { host }))
    }

    /// Ends the guests of the boot before, then boots this kernel on every host of the arrangement that is a guest,
    /// all at once, and greets their agents. A boot may follow another, a failed one, and the loss of a guest.
    ///
    /// # Errors
    /// A kernel that can't be started, ends before its agent says hello, or doesn't say it in time; its console is
    /// in the error, and no guest is left running.
    #[tracing::instrument(level = "info", skip_all, fields(kernel = %kernel.image.display()))]
    pub async fn boot(&mut self, kernel: &Kernel) -> Result<GuestBoot, BootError> {
        self.shut_down().await;
        self.kernel = Some(kernel.clone());
        let clock = Instant::now();
        let build = self
            .arrangement
            .build
            .iter()
            .map(|(_, folder)| folder.clone());
        let shown: Vec<_> = self
            .arrangement
            .folder
            .iter()
            .cloned()
            .chain(build)
            .collect();
        let guests = self.guests();
        let boots = guests.iter().map(|host| {
            let (reach, lab) = (&self.reach, &self.arrangement.lab);
            let booted = guests::boot(reach, lab, host, kernel, &shown);
            async move { (host, booted.await) }
        });
        let mut consoles = IndexMap::new();
        let mut first_fault = None;
        let mut booted_hosts = Vec::new();
        for (host, booted) in join_all(boots).await {
            match booted {
                Ok(booted) => booted_hosts.push(booted),
                Err((fault, console)) => {
                    consoles.insert(host.clone(), console);
                    first_fault.get_or_insert((host.clone(), fault));
                }
            }
        }
        for booted in booted_hosts {
            let host = booted.name.clone();
            let files = self.plan_files.as_deref();
            match put_plan_files(files, &self.arrangement, &booted).await {
                Ok(folder) => {
                    let folder = folder.map(|folder| (host.clone(), folder));
                    self.arrangement.folder_on.extend(folder);
                }
                Err(cause) => {
                    first_fault.get_or_insert((host.clone(), BootFault::Agent(cause)));
                }
            }
            consoles.insert(host.clone(), booted.console().unwrap_or_default());
            self.hosts.insert(host, booted);
        }
        if let Some((host, fault)) = first_fault {
            self.shut_down().await;
            let fault = Box::new(fault);
            return Err(BootError {
                host,
                fault,
                consoles,
            });
        }
        self.hosts.sort_keys();
        self.look_at_machines();
        let facts = guests.into_iter().filter_map(|host| {
            let facts = self.hosts.get(&host)?.facts.clone();
            Some((host, facts))
        });
        Ok(GuestBoot {
            took: clock.elapsed(),
            consoles,
            facts: facts.collect(),
        })
    }

    /// Powers every guest off; nothing of them is left when this returns. May be repeated.
    pub async fn shut_down(&mut self) {
        let guests: Vec<Connected> = self
            .guests()
            .iter()
            .filter_map(|host| self.hosts.shift_remove(host))
            .collect();
        join_all(guests.into_iter().map(Connected::dismiss)).await;
    }

    /// Runs one command on a host, between trials, and waits until it and all that it started have ended.
    ///
    /// # Errors
    /// The host isn't part of the arrangement or isn't booted, or its agent is lost. A command that fails is no error.
    pub async fn run_command(
        &self,
        host: &HostName,
        command: &str,
        limit: Duration,
    ) -> Result<CommandResult, ConnectError> {
        self.run_command_in(host, command, None, limit).await
    }

    /// The same in a folder of that host.
    ///
    /// # Errors
    /// As [`Conductor::run_command`].
    pub async fn run_command_in(
        &self,
        host: &HostName,
        command: &str,
        folder: Option<&Path>,
        limit: Duration,
    ) -> Result<CommandResult, ConnectError> {
        let host = host.clone();
        let Some(connected) = self.hosts.get(&host) else {
            return Err(if self.is_guest(&host) {
                ConnectError::NotBooted { host }
            } else {
                ConnectError::NotUsed { host }
            });
        };
        let mut step = backsight_agent::StepSpec::text(1, command, limit);
        step.cwd = folder.map(|folder| folder.to_string_lossy().into_owned());
        let done = alone(connected, "question", step).await;
        done.map_err(|cause| ConnectError::Agent {
            host,
            cause,
            message: String::new(),
        })
    }

    /// What is measured, and where.
    pub fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// The machine behind a role, for placeholders; behind its first instance, where several hosts play it.
    pub fn machine(&self, role: &RoleName) -> Option<Machine> {
        let seat = self.arrangement.seats.get(role)?;
        self.machine_of(&seat.first().host)
    }

    /// The machine that a host is, for placeholders.
    pub fn machine_of(&self, host: &HostName) -> Option<Machine> {
        self.machines.get(host).copied()
    }

    /// Whether nothing that is measured runs on this machine: each host of the testbed is one of another machine, which
    /// its agent says. A guest and a virtual machine are none: their kernels run here.
    pub fn is_elsewhere(&self) -> bool {
        let here = this_boot();
        let is_other = |id: &str| !id.is_empty() && !here.is_empty() && id != here;
        let elsewhere = |host: &HostName| {
            let agent = self.hosts.get(host);
            let settings = self.arrangement.lab.host.get(host);
            let is_part = settings.is_some_and(|it| it.kind.is_part_of_this_machine());
            !is_part && agent.is_some_and(|agent| is_other(agent.boot_id()))
        };
        self.used().iter().all(elsewhere)
    }

    /// Says which build is measured from now on: its version's name, and the folder that it is in.
    pub fn measure_build(&mut self, version: String, folder: PathBuf) {
        self.arrangement.build = Some((version, folder));
        self.arrangement.build_on.clear();
    }

    /// What each host is.
    pub fn facts(&self) -> IndexMap<HostName, BTreeMap<String, String>> {
        self.hosts
            .iter()
            .map(|(name, host)| (name.clone(), host.facts.clone()))
            .collect()
    }

    /// Starts agents on the hosts that have none, guests left out.
    async fn connect(&mut self) -> Result<(), ConnectError> {
        let mut wanted = self.used();
        wanted.retain(|host| !self.hosts.contains_key(host) && !self.is_guest(host));
        let arriving = wanted.iter().map(async |host| {
            let host = Connected::start(&self.reach, &self.arrangement.lab, host).await?;
            let ready = self.make_ready(&host).await;
            Ok((host, ready))
        });
        let arrived = join_all(arriving).await;
        let mut first_fault = Ok(());
        for arrived in arrived {
            let taken_in = match arrived {
                Ok((host, ready)) => self.admit(host, ready).await,
                Err(fault) => Err(fault),
            };
            first_fault = first_fault.and(taken_in);
        }
        self.hosts.sort_keys();
        first_fault.and(self.reach_beside(false).await)
    }

    /// Prepares a machine that was reached and makes it one of the hosts. One that can't be prepared isn't: nothing is measured there.
    ///
    /// # Errors
    /// It hasn't the addresses that the lab says, a setting can't be made, or the plan's files can't be put there.
    pub(crate) async fn take_in(&mut self, host: Connected) -> Result<(), ConnectError> {
        let ready = self.make_ready(&host).await;
        self.admit(host, ready).await
    }

    /// Learns what a host has, prepares it, and gives it what commands need there.
    async fn make_ready(&self, host: &Connected) -> Result<ReadyHost, ConnectError> {
        let addresses = machine_addresses(&self.arrangement, host).await?;
        self.prepare_machine(host).await?;
        let put = put_plan_files(self.plan_files.as_deref(), &self.arrangement, host).await;
        let folder = put.map_err(|cause| ConnectError::agent(host, cause))?;
        Ok(ReadyHost { addresses, folder })
    }

    /// Makes a host that was reached one of ours, or ends its agent.
    async fn admit(
        &mut self,
        host: Connected,
        ready: Result<ReadyHost, ConnectError>,
    ) -> Result<(), ConnectError> {
        let ReadyHost { addresses, folder } = match ready {
            Ok(ready) => ready,
            Err(fault) => {
                host.dismiss().await;
                return Err(fault);
            }
        };
        let (name, arrangement) = (&host.name, &mut self.arrangement);
        arrangement.addresses_on.insert(name.clone(), addresses);
        arrangement
            .folder_on
            .extend(folder.map(|folder| (name.clone(), folder)));
        self.hosts.insert(host.name.clone(), host);
        Ok(())
    }

    /// Reaches lost hosts anew, guests left out. Whether there were any.
    ///
    /// # Errors
    /// A host can't be reached.
    pub(crate) async fn recover(&mut self) -> Result<bool, ConnectError> {
        let gone = self.gone().await;
        self.bury_all(&gone, "its agent went away since the last trial")
            .await;
        let left = self.hosts.len();
        self.connect().await?;
        Ok(self.hosts.len() > left)
    }

    /// Programs that are missing, each with its host and the way to install it; and the versions of those
    /// that are there, by host.
    pub async fn survey(&mut self) -> (Vec<String>, IndexMap<HostName, BTreeMap<String, String>>) {
        let mut missing = Vec::new();
        let mut versions: IndexMap<HostName, BTreeMap<String, String>> = IndexMap::new();
        let opened = join_all(self.hosts.values().map(|host| {
            host.client.begin_trial(BeginTrial {
                trial: "survey".into(),
                ..BeginTrial::default()
            })
        }));
        if opened.await.iter().any(Result::is_err) {
            // The first trial will say what is wrong with that host.
            return (missing, versions);
        }
        let mut number = 0;
        for benchmark in self.arrangement.benchmarks.values() {
            let mut complete = true;
            let players = benchmark.roles.iter();
            let players =
                players.flat_map(|role| self.hosts_of(role).map(move |host| (role, host)));
            for (role, host) in players {
                for program in benchmark.programs_of(role) {
                    number += 1;
                    if !self.has(host, number, program).await {
                        complete = false;
                        missing.push(format!(
                            "{}: {}",
                            host.name,
                            install_hint(benchmark, program, host)
                        ));
                    }
                }
            }
            let (Some(command), Some(role)) = (&benchmark.version, benchmark.roles.last()) else {
                continue;
            };
            for host in self.hosts_of(role).filter(|_| complete) {
                number += 1;
                if let Some(version) = self.first_line(host, number, command).await {
                    let of_host = versions.entry(host.name.clone()).or_default();
                    of_host.insert(format!("version of {}", benchmark.name), version);
                }
            }
        }
        for (monitor, host) in self.monitored() {
            for program in &monitor.programs {
                number += 1;
                if !self.has(host, number, program).await {
                    let way_out = hint(&monitor.needs, program, host);
                    let (host, name) = (&host.name, &monitor.name);
                    missing.push(format!("{host}: monitor `{name}`: {way_out}"));
                }
            }
        }
        join_all(self.hosts.values().map(|host| host.client.end_trial())).await;
        missing.dedup();
        (missing, versions)
    }

    /// Whether a host has a program.
    async fn has(&self, host: &Connected, number: u64, program: &str) -> bool {
        let probe = format!("command -v {}", backsight_model::shell_quoted(program));
        self.probe(host, number, &probe)
            .await
            .is_some_and(|outcome| outcome.finished.as_expected)
    }

    /// The first line that a command prints. Its exit status says nothing: some programs tell their version
    /// and then complain of having been asked.
    async fn first_line(&self, host: &Connected, number: u64, command: &str) -> Option<String> {
        let outcome = self.probe(host, number, command).await?;
        let text = String::from_utf8_lossy(&outcome.stdout);
        let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(
            first
                .chars()
                .filter(|c| !c.is_control())
                .take(200)
                .collect(),
        )
    }

    async fn probe(
        &self,
        host: &Connected,
        number: u64,
        command: &str,
    ) -> Option<backsight_agent::StepOutcome> {
        let line = vec!["/bin/sh".into(), "-c".into(), format!("{command} 2>&1")];
        let step = backsight_agent::StepSpec::new(
            number,
            backsight_agent::StepCommand::Argv(line),
            VERSION_LIMIT,
        );
        host.client.run(step).await.ok()?.outcome().await.ok()
    }

    fn hosts_of(&self, role: &RoleName) -> impl Iterator<Item = &Connected> {
        let seat = self.arrangement.seats.get(role);
        let hosts = seat.into_iter().flat_map(Seat::hosts);
        hosts.filter_map(|host| self.hosts.get(host))
    }

    /// Executes one trial of a cell. Lost hosts are reached anew first, and waited for as long as [`HostAccess::host_wait`] says.
    ///
    /// `stop` becomes true when the user wants to stop: the trial is then put back and counts for nothing.
    ///
    /// # Errors
    /// A host can't be reached any more, or a guest isn't booted: nothing can be measured until it is back.
    #[tracing::instrument(level = "info", skip_all, fields(testbed = %self.arrangement.testbed, %cell))]
    pub async fn trial(
        &mut self,
        catalog: &Catalog,
        cell: &Cell,
        stop: watch::Receiver<bool>,
    ) -> Result<TrialOutcome, ConnectError> {
        let restored = self.restore_used_hosts().await;
        let patience = self.reach.host_wait;
        let recovered = match self.reach(patience, Some(stop.clone())).await {
            Err(_) if *stop.borrow() => return Ok(TrialOutcome::Interrupted),
            reached => reached?,
        };
        self.require_guests()?;
        for host in self.hosts.values_mut() {
            host.is_used = true;
        }
        let prepared = self.prepare_for(&cell.variant).await;
        let compared = self.hosts.values_mut().map(Connected::compare_clock);
        let clocks = join_all(compared).await.into_iter().flatten().collect();
        let began = jiff::Timestamp::now();
        let clock = Instant::now();
        self.trials += 1;
        let mut record = TrialRecord {
            host: None,
            boot: 0,
            began,
            took: Duration::ZERO,
            outcome: Ok(Vec::new()),
            watched: Vec::new(),
            suite: None,
            steps: Vec::new(),
            core_files: Vec::new(),
            clocks,
            meetings: Vec::new(),
            load: Vec::new(),
            warnings: Vec::new(),
            drawn: Default::default(),
        };
        if recovered && !restored {
            record
                .warnings
                .push("a host was reached anew before this trial".into());
        }
        if let Err(failure) = prepared {
            let lost = self.lost_with(&failure).await;
            self.bury_all(&lost, &failure.reason).await;
            record.outcome = Err(failure);
            return Ok(TrialOutcome::Trial(Box::new(record)));
        }
        let interrupted = self.execute(catalog, cell, stop, &mut record).await;
        record.took = clock.elapsed();
        Ok(if interrupted {
            TrialOutcome::Interrupted
        } else {
            TrialOutcome::Trial(Box::new(record))
        })
    }

    /// Ends hosts that go back to what they are made of before each trial, where one has run on them. Whether there were any.
    async fn restore_used_hosts(&mut self) -> bool {
        let lab = &self.arrangement.lab;
        let restores = |name: &HostName| {
            let settings = lab.host.get(name);
            settings.is_some_and(|settings| settings.restores() == Restore::Trial)
        };
        let used = self.hosts.values().filter(|host| host.is_used);
        let used: Vec<HostName> = used.map(|host| host.name.clone()).collect();
        let used: Vec<Connected> = used
            .iter()
            .filter(|name| restores(name))
            .filter_map(|name| self.hosts.shift_remove(name))
            .collect();
        let any = !used.is_empty();
        join_all(used.into_iter().map(Connected::dismiss)).await;
        any
    }

    /// Does it; true if the user stopped it. A suite that was ended in the middle goes on where it can leave out tests.
    async fn execute(
        &mut self,
        catalog: &Catalog,
        cell: &Cell,
        stop: watch::Receiver<bool>,
        record: &mut TrialRecord,
    ) -> bool {
        let benchmark = &self.arrangement.benchmarks[&cell.benchmark];
        let leaves_out = benchmark.leaves_out_tests();
        let tester = benchmark.results.as_ref().map(|it| it.from.role.clone());
        // Where several hosts run tests, none of them is told what the others did.
        let tester = tester.as_ref();
        let goes_on = leaves_out && tester.is_some_and(|it| self.hosts_of(it).count() == 1);
        let mut passes = SuitePasses::default();
        let mut core_files = TakenCoreFiles::default();
        let core_limit = benchmark.results.as_ref().map_or(0, |it| it.core_limit);
        let (mut from, mut came_back) = (0, false);
        let ended = loop {
            let mut roles = match self.arrangement.fill(cell, |host| self.machine_of(host)) {
                Ok(roles) => roles,
                Err(fault) => break Err(Failure::of_trial(fault.to_string())),
            };
            limit_time(&mut roles, &record.steps);
            from = record.steps.len();
            let left_out = tester
                .filter(|_| goes_on)
                .map(|it| (it, passes.ended_tests()));
            let left = core_limit.saturating_sub(core_files.bytes());
            let stop_too = stop.clone();
            let pass = (self.pass(cell, &roles, left_out, left, stop_too, record)).await;
            for (host, taken) in pass.core_files {
                core_files.add(&host, taken);
            }
            let steps = &record.steps[from..];
            if pass.failure.is_none() {
                record.warnings.extend(exhausted_generators(&roles, steps));
            }
            let is_lost = pass.failure.as_ref().is_some_and(|it| it.host_lost);
            let was_running = is_lost && tester.is_some_and(|it| was_running(it, steps));
            let is_told = pass.failure.is_none() || was_running;
            let suite = is_told
                .then(|| catalog.suite_pass(&cell.benchmark, steps, &pass.console, passes.last()));
            let was_cut = suite.flatten().is_some_and(|suite| passes.add(suite));
            let mut next = match pass.failure {
                _ if pass.interrupted => Next::Interrupted,
                Some(failure) if !passes.has_results() => Next::Fail(failure),
                // What earlier passes gave stays.
                Some(failure) if !is_told => Next::Conclude(Some(failure.to_string())),
                _ if !was_cut || !goes_on => Next::Conclude(None),
                _ => match hindrance(&passes, &roles, steps) {
                    None => Next::GoOn,
                    Some(why) => Next::Conclude(Some(why)),
                },
            };
            if was_running && matches!(next, Next::GoOn | Next::Conclude(_)) {
                next = self.bring_back(next, cell, stop.clone()).await;
            }
            if pass.has_lost
                && let Err(why) = self.put_back(cell).await
            {
                record.warnings.push(format!(
                    "what this trial had set up can't be put back: {why}"
                ));
            }
            match next {
                Next::GoOn => came_back |= was_running,
                Next::Conclude(hindrance) => break Ok(passes.finish(hindrance)),
                Next::Fail(failure) => break Err(failure),
                Next::Interrupted => return true,
            }
        };
        if came_back {
            let message =
                "a host went away while a suite ran, and was booted again or reached anew";
            record.warnings.push(message.to_owned());
            // A boot that isn't recorded ends with its trial.
            self.shut_down().await;
        }
        let ended = ended.map(|mut run| {
            if let Some(run) = &mut run {
                core_files.describe(run, core_limit);
            }
            run
        });
        record.core_files = core_files.files;
        let measured = ended.and_then(|run| {
            let samples = catalog.samples_with(&cell.benchmark, &record.steps, run);
            samples.map_err(|fault| Failure::of_trial(fault.to_string()))
        });
        record.outcome = measured.map(|(samples, suite)| {
            record.suite = suite;
            samples
        });
        if let Ok(samples) = &record.outcome {
            // Monitors watched each pass by itself.
            let steps = &record.steps[from..];
            let (watched, faults) = catalog.watched(&cell.benchmark, steps);
            record.watched = watched;
            record.warnings.extend(faults);
            let disagreements = catalog.disagreements(&cell.benchmark, steps, samples);
            record.warnings.extend(disagreements);
        }
        false
    }

    /// All phases of a trial, once. The role's programs find a file with these names of tests to leave out. Core files are taken up to
    /// a limit in bytes.
    async fn pass(
        &mut self,
        cell: &Cell,
        roles: &[RoleTrial],
        left_out: Option<(&RoleName, Vec<u8>)>,
        core_limit: u64,
        stop: watch::Receiver<bool>,
        record: &mut TrialRecord,
    ) -> PassEnd {
        let here = Here::now(&self.hosts);
        let spools = match self.begin(roles, left_out, &mut record.drawn).await {
            Ok(spools) => spools,
            Err(failure) => return self.never_began(failure).await,
        };
        let round_trips = self.hosts.values().map(Connected::round_trip_ns);
        let barrier_notice = {
            let mut notice = self.notice.lock().unwrap_or_else(PoisonError::into_inner);
            notice.set_round_trips(round_trips);
            notice.anew()
        };
        let barriers = match Barriers::open(&self.hosts, roles, barrier_notice).await {
            Ok(barriers) => barriers,
            Err((host, error)) => return self.never_began(cant_begin(&host, &error)).await,
        };
        let (outcome, interrupted, core_files) = {
            let install = install_of(&self.arrangement, cell);
            let watchers = self.watchers(cell, roles);
            let stage = RunningTrial::new(&self.hosts, spools, roles, &self.events, &install, stop)
                .with_barriers(barriers)
                .with_notice(Arc::clone(&self.notice));
            let done = perform(&stage, &watchers, core_limit).await;
            let complaints = done.complaints.iter().map(MonitorFailure::sentence);
            record.warnings.extend(complaints);
            record.meetings.extend(stage.meetings().await);
            record.steps.extend(stage.into_records());
            (done.outcome, done.interrupted, done.core_files)
        };
        let ended = join_all(
            self.hosts
                .values()
                .map(|host| async move { (host, host.client.end_trial().await) }),
        );
        let mut used = Vec::new();
        // An agent that doesn't know of its trial any more is on its way out, and won't put anything back for us.
        let mut lost = Vec::new();
        let mut failure = outcome.err();
        for (host, ended) in ended.await {
            match ended {
                Ok(ended) => {
                    for stray in ended.survivors.iter().filter(|s| s.step.is_none()) {
                        record.warnings.push(format!(
                            "{}: process {} ({}) was left by a step and was killed",
                            host.name, stray.pid, stray.name
                        ));
                    }
                    if let Some(reason) = lasting(ended.left, &ended.mounts) {
                        failure.get_or_insert(Failure {
                            host: Some(host.name.clone()),
                            ..Failure::of_trial(reason)
                        });
                    }
                    if !ended.unkillable.is_empty() {
                        record.warnings.push(format!(
                            "{}: processes {:?} can't be killed: the host needs a look",
                            host.name, ended.unkillable
                        ));
                    }
                    used.push(Used {
                        host: host.name.clone(),
                        boot_id: host.boot_id(),
                        account: ended.account,
                        neighbours: ended.neighbours,
                    });
                }
                Err(error) => {
                    lost.push(host.name.clone());
                    failure.get_or_insert(Failure {
                        host: Some(host.name.clone()),
                        host_lost: true,
                        ..Failure::of_trial(format!("the agent on this host went away: {error}"))
                    });
                }
            }
        }
        let used = here.until_now(used);
        // Of several passes the last one's.
        record.load = loads(&used);
        let mut console = Vec::new();
        if let Some(cause) = failure.take() {
            lost.extend(self.lost_with(&cause).await);
            let mut words = self.bury_all(&lost, &cause.reason).await;
            failure = Some(with_last_words(cause, &words));
            let of_lost = lost.iter().filter_map(|host| words.remove(host));
            console = of_lost.flat_map(|words| words.console).collect();
        }
        PassEnd {
            failure,
            interrupted,
            has_lost: !lost.is_empty(),
            console,
            core_files,
        }
    }

    /// A pass that couldn't begin.
    async fn never_began(&mut self, failure: Failure) -> PassEnd {
        let lost = self.lost_with(&failure).await;
        let words = self.bury_all(&lost, &failure.reason).await;
        PassEnd {
            failure: Some(with_last_words(failure, &words)),
            interrupted: false,
            has_lost: false,
            console: Vec::new(),
            core_files: Vec::new(),
        }
    }

    /// Has the hosts back that went away while a suite ran, for what comes next. Guests are booted for more of the same trial only: the
    /// next one boots them.
    async fn bring_back(
        &mut self,
        next: Next,
        cell: &Cell,
        mut stop: watch::Receiver<bool>,
    ) -> Next {
        let is_there = |host: &HostName| self.hosts.contains_key(host);
        let gone: Vec<HostName> = self.used().into_iter().filter(|it| !is_there(it)).collect();
        let patience = self.reach.host_wait.max(RETURN_LIMIT);
        let back = tokio::select! {
            back = self.reach_or_power_cycle(patience) => back,
            Ok(_) = stop.wait_for(|stop| *stop) => return Next::Interrupted,
        };
        let lost = |why: String| {
            Next::Fail(Failure {
                host: gone.first().cloned(),
                host_lost: true,
                ..Failure::of_trial(format!("it went away while a suite ran, and: {why}"))
            })
        };
        if let Err(why) = back {
            return lost(why.to_string());
        }
        if !matches!(next, Next::GoOn) {
            return next;
        }
        if gone.iter().any(|host| !self.has_build(host)) {
            let why = "the host came back without the build that is measured";
            return Next::Conclude(Some(why.to_owned()));
        }
        let is_missing = self.require_guests().is_err();
        if let Some(kernel) = self.kernel.clone().filter(|_| is_missing) {
            let booted = tokio::select! {
                booted = self.boot(&kernel) => booted,
                Ok(_) = stop.wait_for(|stop| *stop) => return Next::Interrupted,
            };
            if let Err(why) = booted {
                return lost(why.to_string());
            }
        }
        match self.prepare_for(&cell.variant).await {
            Ok(()) => next,
            Err(failure) => Next::Fail(failure),
        }
    }

    /// Whether a host that went away and came back has what is measured: it runs what it was restarted into, and its disk is as it was
    /// where a build is on it.
    fn has_build(&self, host: &HostName) -> bool {
        let is_restarted = |boot: &String| {
            let connected = self.hosts.get(host);
            connected.is_some_and(|connected| connected.boot_id() == boot)
        };
        let settings = self.arrangement.lab.host.get(host);
        let goes_back = settings.is_some_and(|settings| match settings.kind {
            HostKind::Vm | HostKind::Domain | HostKind::Container => {
                settings.restores() != Restore::Never
            }
            _ => false,
        });
        let has_disk = self.arrangement.build.is_none() || !goes_back;
        has_disk && self.restarted.get(host).is_none_or(is_restarted)
    }

    /// Opens the trial on every host.
    async fn begin(
        &self,
        roles: &[RoleTrial],
        left_out: Option<(&RoleName, Vec<u8>)>,
        drawn: &mut DrawnSettings,
    ) -> Result<HashMap<HostName, PathBuf>, Failure> {
        let trial = format!("{}", self.trials);
        let begun = join_all(self.hosts.values().map(|host| {
            let runs = |role: &RoleName| {
                roles
                    .iter()
                    .any(|it| it.role == *role && it.host == host.name)
            };
            let files = left_out.iter().filter(|(role, _)| runs(role));
            let trial = BeginTrial {
                files: files
                    .map(|(_, names)| (WITHOUT.to_owned(), names.clone().into()))
                    .collect(),
                trial: trial.clone(),
                // What programs print is read by other programs: no decimal commas.
                env: BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]),
                undo: undo(roles, &host.name),
                neighbours: self.speaks_for_its_machine(host),
            };
            async move { (&host.name, host.client.begin_trial(trial).await) }
        }));
        let mut spools = HashMap::new();
        for (name, begun) in begun.await {
            let begun = begun.map_err(|error| cant_begin(name, &error))?;
            if !begun.drawn.is_empty() {
                drawn.insert(name.clone(), begun.drawn);
            }
            spools.insert(name.clone(), begun.spool);
        }
        Ok(spools)
    }

    /// Whether a host is the first of those that are one machine.
    fn speaks_for_its_machine(&self, host: &Connected) -> bool {
        let first = self.first_of_machine(host.boot_id());
        first.is_some_and(|first| first.name == host.name)
    }

    /// The first host of those that run this kernel: one that sees this machine's files, if there is one. An agent in a container sees
    /// less of the machine.
    pub(crate) fn first_of_machine(&self, boot_id: &str) -> Option<&Connected> {
        let same = || {
            let hosts = self.hosts.values();
            hosts.filter(|host| host.boot_id() == boot_id)
        };
        same().find(|host| host.is_here()).or_else(|| same().next())
    }

    /// The hosts that were lost when this happened.
    async fn lost_with(&self, failure: &Failure) -> Vec<HostName> {
        if !failure.host_lost {
            return Vec::new();
        }
        let mut lost: Vec<HostName> = failure.host.iter().cloned().collect();
        // A second host may have gone with the first one.
        lost.extend(self.gone().await);
        lost
    }

    /// The hosts whose agents don't answer.
    async fn gone(&self) -> Vec<HostName> {
        let asked = self.hosts.values().map(|host| async move {
            host.client
                .clock_offset(1)
                .await
                .is_err()
                .then(|| host.name.clone())
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// Removes hosts, those that are still there, with whatever their agents left. Returns their last words.
    async fn bury_all(&mut self, names: &[HostName], why: &str) -> HashMap<HostName, LastWords> {
        let mut last_words = HashMap::new();
        for name in names {
            if let Some(host) = self.hosts.shift_remove(name) {
                let last = host.bury().await;
                let why = if last.words.is_empty() {
                    why.to_owned()
                } else {
                    last.words.clone()
                };
                self.events.emit(&Event::HostLost {
                    host: name.clone(),
                    why,
                });
                last_words.insert(name.clone(), last);
            }
        }
        last_words
    }

    /// Does the `reset` and `teardown` that a lost agent couldn't do. A step that fails is left at that: it may
    /// have been done before.
    ///
    /// # Errors
    /// Nothing can be done on the hosts; a clause for a message.
    async fn put_back(&mut self, cell: &Cell) -> Result<(), String> {
        self.connect().await.map_err(|fault| fault.to_string())?;
        let roles = self
            .arrangement
            .fill(cell, |host| self.machine_of(host))
            .map_err(|fault| fault.to_string())?;
        let spools = self
            .begin(&roles, None, &mut DrawnSettings::new())
            .await
            .map_err(|failure| failure.to_string())?;
        let quiet = Events::default();
        let hint = |_: Option<&MonitorName>, program: &str, _: &Connected| program.to_owned();
        let (_never, stop) = watch::channel(false);
        let stage = RunningTrial::new(&self.hosts, spools, &roles, &quiet, &hint, stop);
        for phase in Phase::ALL.into_iter().filter(|phase| phase.always()) {
            let _ = stage.phase(phase).await;
        }
        join_all(self.hosts.values().map(|host| host.client.end_trial())).await;
        Ok(())
    }

    /// Puts back what a killed run of these cells may have left: the `reset` and `teardown` of each.
    pub async fn put_back_all(&mut self, cells: &[Cell]) {
        let mut done: Vec<(&str, &str)> = Vec::new();
        for cell in cells {
            let kind = (cell.benchmark.as_str(), cell.variant.as_str());
            if !done.contains(&kind) {
                done.push(kind);
                // What can't be put back now fails the next trial of its kind, which says why.
                let _ = self.put_back(cell).await;
            }
        }
    }

    /// Ends every agent in order.
    pub async fn finish(self) {
        self.restore_machines().await;
        let agents = self
            .hosts
            .into_values()
            .chain(self.settings.beside.into_values());
        join_all(agents.map(Connected::dismiss)).await;
    }
}

/// The phases of a trial, each with the monitors that watch it beside it. What is always done is done even after a failure.
async fn perform(stage: &RunningTrial<'_>, watchers: &[Watcher], core_limit: u64) -> Performed {
    let mut complaints = Vec::new();
    let mut core_files = Vec::new();
    let mut outcome = Ok(());
    let mut interrupted = false;
    for phase in Phase::ALL {
        if phase == Phase::Reset
            && let Err(failure) = stage.stop_spawned().await
            && outcome.is_ok()
            && !interrupted
        {
            outcome = Err(failure);
        }
        if !phase.always() && (outcome.is_err() || interrupted) {
            continue;
        }
        let of_phase: Vec<&Watcher> = watchers.iter().filter(|it| it.phase() == phase).collect();
        complaints.extend(stage.start_monitors(&of_phase).await);
        let done = stage.phase(phase).await;
        complaints.extend(stage.stop_monitors().await);
        // What comes after may remove them.
        if phase == Phase::Run && !matches!(done, Err(None)) {
            core_files = stage.take_core_files(core_limit).await;
        }
        match done {
            Ok(()) => {}
            Err(None) => interrupted = true,
            Err(Some(failure)) => {
                if outcome.is_ok() {
                    outcome = Err(failure);
                }
            }
        }
    }
    Performed {
        outcome,
        interrupted,
        complaints,
        core_files,
    }
}

fn cant_begin(host: &HostName, error: &AgentError) -> Failure {
    Failure {
        host: Some(host.clone()),
        host_lost: !matches!(error, AgentError::Refused { .. }),
        ..Failure::of_trial(format!("can't begin a trial on this host: {error}"))
    }
}

/// A failure with what the console of the host that it happened on said at its end.
fn with_last_words(mut failure: Failure, words: &HashMap<HostName, LastWords>) -> Failure {
    let last = failure.host.as_ref().and_then(|host| words.get(host));
    if let Some(last) = last.filter(|last| !last.console.is_empty() && !last.words.is_empty()) {
        failure.reason.push_str("; ");
        failure.reason.push_str(&last.words);
    }
    failure
}

/// CPU time that this process has used, in seconds.
fn own_cpu_seconds() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9
}

/// The least share of a machine's processors for which a neighbour is named.
const NAMED_SHARE: f64 = 0.01;

/// What was said of a machine at the end of a trial.
struct Used<'a> {
    host: HostName,
    boot_id: &'a str,
    account: CpuAccount,
    neighbours: Vec<(String, f64)>,
}

/// This machine when a trial begins.
struct Here {
    boot_id: String,
    own: f64,
    /// Where guests run on it, which see themselves alone.
    around: Option<ProcessSnapshot>,
}

impl Here {
    fn now(hosts: &IndexMap<HostName, Connected>) -> Self {
        Self {
            boot_id: this_boot(),
            own: own_cpu_seconds(),
            around: hosts
                .values()
                .any(Connected::is_guest)
                .then(ProcessSnapshot::now),
        }
    }

    /// What the agents said, and what is to be said of this machine besides.
    fn until_now<'a>(&'a self, mut used: Vec<Used<'a>>) -> Vec<Used<'a>> {
        let on_it = |used: &Used<'_>| used.boot_id == self.boot_id;
        let Some(around) = &self.around else {
            if let Some(first) = used.iter_mut().find(|used| on_it(used)) {
                first.account.own += own_cpu_seconds() - self.own;
            }
            return used;
        };
        let seen = around.since();
        // Its agents are counted there already.
        for agent in used.iter_mut().filter(|used| on_it(used)) {
            agent.account.own = 0.0;
            agent.neighbours.clear();
        }
        used.push(Used {
            host: Lab::this_machine_name(),
            boot_id: &self.boot_id,
            account: seen.account,
            neighbours: seen.others,
        });
        used
    }
}

/// The processors' use by machine: hosts with one running kernel are one machine.
fn loads(used: &[Used<'_>]) -> Vec<MachineLoad> {
    let mut machines: IndexMap<&str, Vec<&Used<'_>>> = IndexMap::new();
    for used in used {
        machines.entry(used.boot_id).or_default().push(used);
    }
    machines.into_values().map(|of_it| load(&of_it)).collect()
}

/// That of one machine, of which each of its hosts has said something.
fn load(said: &[&Used<'_>]) -> MachineLoad {
    let account = said[0].account;
    let ours = said.iter().map(|used| used.account.own).sum();
    let available = account.wall * f64::from(account.cpus);
    let named = said.iter().flat_map(|used| &used.neighbours);
    MachineLoad {
        hosts: said.iter().map(|used| used.host.clone()).collect(),
        available,
        ours,
        others: (account.user + account.system - ours).max(0.0),
        busiest: named
            .filter(|(_, cpu)| *cpu >= NAMED_SHARE * available)
            .map(|(name, _)| name.clone())
            .collect(),
        interrupts: account.interrupts,
        stolen: account.steal,
    }
}
/// What of a trial outlasts it and changes the host for the next ones: why the trial failed.
fn lasting(left: Option<String>, mounts: &[String]) -> Option<String> {
    if let Some(left) = left {
        return Some(format!(
            "what a step left can't be removed: {left}: remove it by hand, and have the benchmark's `reset` or the \
             variant's `teardown` do it"
        ));
    }
    (!mounts.is_empty()).then(|| {
        let mounts = mounts.join(", ");
        format!(
            "this was mounted during the trial and still is: {mounts}: `umount` it, and have the benchmark's `reset` or \
             the variant's `teardown` do it"
        )
    })
}
