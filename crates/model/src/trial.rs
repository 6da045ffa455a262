//! A trial: what is asked of the hosts (every placeholder filled) and what came of it.
//!
//! Nothing is lost: what a step printed is kept as it was, and a failure has a place and a reason.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, net::IpAddr, path::PathBuf, time::Duration};

use crate::{
    Action, Arrangement, Better, Cell, FillFault, FilledAction, FilledStep, HostName,
    InstanceSamples, InterfaceAddress, Iterations, Machine, MetricName, MonitorName, OUTPUT_LIMIT,
    ParamName, Phase, Processors, READY_LIMIT, ROLE_FACTS, Ready, ReadyCondition, ReadyWhen,
    RoleHost, RoleName, STEP_LIMIT, Seat, Step, SuiteRun, Template, TemplateError, TestCount, Unit,
    Value, VariantName,
    benchmark::{PLAN_FOLDER, WITHOUT},
    is_machine_placeholder,
};

/// What one host does in a role in a trial: an instance of the role, where several hosts play it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleTrial {
    /// The role.
    pub role: RoleName,
    /// Its host.
    pub host: HostName,
    /// Processors that its `run` can keep busy at most, where it is a load generator.
    pub processors: Option<u32>,
    /// Its steps by phase; phases without steps are missing.
    pub steps: IndexMap<Phase, Vec<FilledStep>>,
}

impl RoleTrial {
    /// Why this and another instance can't begin all iterations together: the same steps make different numbers of them.
    fn unlike_iterations(&self, other: &Self) -> Option<FillError> {
        let mut phases = self.steps.iter();
        let (phase, steps) = phases.find(|(phase, steps)| {
            let others = other.steps.get(*phase);
            others.is_some_and(|others| others.len() != steps.len())
        })?;
        let repeated = steps.iter().find(|step| step.iteration.is_some())?;
        Some(FillError {
            role: self.role.clone(),
            phase: *phase,
            text: repeated.command.clone(),
            cause: FillFault::UnlikeIterations(other.host.clone(), self.host.clone()),
        })
    }
}

/// A step that can't be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{phase} of role `{role}`, `{text}`: {cause}")]
pub struct FillError {
    /// The role.
    pub role: RoleName,
    /// The phase.
    pub phase: Phase,
    /// The text that can't be filled.
    pub text: String,
    /// Why.
    pub cause: FillFault,
}

impl Arrangement {
    /// What each host does in each of its roles in a trial of this cell, every placeholder filled.
    ///
    /// # Errors
    /// A placeholder has no value on this machine, or its value has the wrong kind.
    pub fn fill(
        &self,
        cell: &Cell,
        machine: impl Fn(&HostName) -> Option<Machine>,
    ) -> Result<Vec<RoleTrial>, FillError> {
        let benchmark = &self.benchmarks[&cell.benchmark];
        let variant = &self.variants[&cell.variant];
        let mut trials = Vec::new();
        let players = self.seats.iter().flat_map(|(role, seat)| {
            let numbered = seat.hosts().enumerate();
            numbered.map(move |(instance, host)| (role, instance, host))
        });
        for (role, instance, host) in players {
            let filler = Filler {
                arrangement: self,
                cell,
                role,
                host,
                instance,
                iteration: 1,
                machine: machine(host),
                limit: benchmark.timeout.as_ref(),
            };
            let fill_error = |phase| {
                move |(text, cause)| FillError {
                    role: role.clone(),
                    phase,
                    text,
                    cause,
                }
            };
            let processors = benchmark
                .steps
                .get(role)
                .and_then(|it| it.processors.as_ref());
            let processors = processors
                .map(|processors| filler.processors(processors))
                .transpose()
                .map_err(fill_error(Phase::Run))?;
            let mut steps = IndexMap::new();
            for phase in Phase::ALL {
                let plain = benchmark
                    .steps_of(role, phase)
                    .iter()
                    .chain(variant.steps_of(role, phase));
                let of_variant = matches!(phase, Phase::Setup | Phase::Teardown);
                let folder = self.folder_seen_by(host).filter(|_| of_variant);
                let tolerant = benchmark.tolerates(role, phase);
                let results = benchmark.results.as_ref().filter(|_| tolerant);
                let silence = results.and_then(|results| results.silence);
                let core_limit = results.map(|results| results.core_limit);
                let mut filled = Vec::new();
                for step in plain {
                    let programs = filler.step(step).map_err(fill_error(phase))?;
                    filled.extend(programs.into_iter().map(|program| FilledStep {
                        folder: folder.cloned(),
                        tolerant,
                        silence,
                        core_limit,
                        ..program
                    }));
                }
                if !filled.is_empty() {
                    steps.insert(phase, filled);
                }
            }
            let trial = RoleTrial {
                role: role.clone(),
                host: host.clone(),
                processors,
                steps,
            };
            let first = trials.iter().find(|other: &&RoleTrial| other.role == *role);
            if let Some(unlike) = first.and_then(|first| trial.unlike_iterations(first)) {
                return Err(unlike);
            }
            trials.push(trial);
        }
        Ok(trials)
    }

    /// The plan's folder as a host sees it: its own copy, where it doesn't see this machine's files.
    fn folder_seen_by(&self, host: &HostName) -> Option<&PathBuf> {
        match self.sees_our_files(host) {
            true => self.folder.as_ref(),
            false => self.folder_on.get(host),
        }
    }

    /// Whether a host doesn't see the files of this machine: another machine, a virtual one, or a container.
    pub fn is_far(&self, host: &HostName) -> bool {
        let settings = self.lab.host.get(host);
        settings.is_some_and(|settings| settings.kind.has_own_files())
    }

    /// Where a host is reached, on the control plane.
    fn control(&self, host: &HostName) -> String {
        match self.lab.host.get(host) {
            Some(settings) if settings.is_reached_by_ssh() => {
                let login = settings.login(host);
                let place = login.rsplit_once('@').map_or(login, |(_, place)| place);
                place.to_owned()
            }
            _ => "127.0.0.1".to_owned(),
        }
    }

    /// The data-plane address of a role's player in a variant, or in a plan without one, and the interface that has it.
    fn data_address(
        &self,
        role: &str,
        player: &RoleHost,
        variant: Option<&VariantName>,
    ) -> Option<(IpAddr, Option<String>)> {
        let by_variant = variant
            .and_then(|variant| self.variants.get(variant))
            .and_then(|v| v.roles.iter().find(|(name, _)| name.as_str() == role))
            .and_then(|(_, r)| r.data.as_ref());
        let choice = by_variant.or(player.data.as_ref());
        let choice = choice.map(|data| data.as_str());
        self.lab.data_address(&player.host, choice).ok()
    }

    /// The players of a role that a host means: itself where it is one of them, else all.
    fn players<'a>(
        &'a self,
        role: &str,
        asking: Option<&'a HostName>,
    ) -> impl Iterator<Item = &'a RoleHost> {
        let seat = self.seats.get(role);
        let own = asking.filter(|host| seat.is_some_and(|seat| seat.is_played_by(host)));
        let players = seat.map_or(&[][..], Seat::instances).iter();
        players.filter(move |player| own.is_none_or(|own| *player.host == *own))
    }

    /// The interface that has an address on a machine, as that said it.
    fn interface_with(&self, host: &HostName, address: IpAddr) -> Option<String> {
        let mut all = self.addresses_on.get(host)?.iter();
        let found = all.find(|own| own.address == address)?;
        Some(found.interface.clone())
    }

    /// Why the interfaces behind a placeholder (`server.interface`) aren't known: a machine hasn't the address.
    fn no_interface(
        &self,
        name: &str,
        variant: &VariantName,
        asking: &HostName,
    ) -> Option<FillFault> {
        let role = name.strip_suffix(".interface")?;
        self.players(role, Some(asking)).find_map(|player| {
            let (address, made) = self.data_address(role, player, Some(variant))?;
            let is_known = made.is_some() || self.interface_with(&player.host, address).is_some();
            (!is_known).then(|| FillFault::NoInterface {
                host: (*player.host).clone(),
                address,
                there: InterfaceAddress::listed(
                    self.addresses_on
                        .get(&*player.host)
                        .map_or(&[], Vec::as_slice),
                ),
            })
        })
    }

    /// The addresses that links give the data-plane of a machine's roles, in any variant: they must be there.
    pub fn link_addresses(&self, host: &HostName) -> BTreeSet<IpAddr> {
        let variants = self.variants.keys();
        let of_host = self.seats.iter().flat_map(|(role, seat)| {
            let players = seat.instances().iter();
            players
                .filter(|player| *player.host == *host)
                .map(move |player| (role, player))
        });
        let chosen = of_host.flat_map(|(role, player)| {
            variants
                .clone()
                .filter_map(move |variant| self.data_address(role.as_str(), player, Some(variant)))
        });
        let linked = |address: &IpAddr| {
            self.lab
                .addresses(host)
                .any(|(_, own, _)| own.ip == *address)
        };
        chosen.map(|(address, _)| address).filter(linked).collect()
    }

    /// A fact of a role by its placeholder (`server.data`), as a host means it that plays that role or another. Of several players,
    /// those of all are joined by commas. `look_up` finds the interface of a machine that has an address.
    fn role_fact(
        &self,
        name: &str,
        variant: Option<&VariantName>,
        asking: Option<&HostName>,
        look_up: impl Fn(&HostName, IpAddr) -> Option<String>,
    ) -> Option<Value> {
        let (role, fact) = name.rsplit_once('.')?;
        if fact == "instances" {
            let count = self.seats.get(role)?.instances().len();
            return i64::try_from(count).ok().map(Value::Integer);
        }
        let of = |player: &RoleHost| {
            let data = || self.data_address(role, player, variant);
            Some(match fact {
                "host" => player.host.to_string(),
                "control" => self.control(&player.host),
                "data" => data()?.0.to_string(),
                "interface" => {
                    let (address, made) = data()?;
                    made.or_else(|| look_up(&player.host, address))?
                }
                _ => return None,
            })
        };
        let all: Option<Vec<String>> = self.players(role, asking).map(of).collect();
        let all = all.filter(|all| !all.is_empty())?;
        Some(Value::Text(all.join(",")))
    }

    /// Whether the settings of a host may have this placeholder: what machines are, and facts of roles.
    pub fn has_setting_placeholder(&self, name: &str) -> bool {
        let of_role = name.rsplit_once('.');
        let is_fact = |(role, fact): (&str, &str)| {
            self.seats.contains_key(role) && ROLE_FACTS.contains(&fact)
        };
        is_machine_placeholder(name) || of_role.is_some_and(is_fact)
    }

    /// What a placeholder in the settings of a host stands for. The interface of a machine that isn't made by the lab is known by
    /// its address only: `@10.0.0.2`.
    pub fn setting_placeholder(
        &self,
        name: &str,
        variant: Option<&VariantName>,
        host: &HostName,
        machine: Option<Machine>,
    ) -> Option<Value> {
        let of_machine = machine.and_then(|machine| machine.lookup(name));
        let by_address = || {
            let role = name.strip_suffix(".interface")?;
            let player = self.players(role, Some(host)).next()?;
            let (address, _) = self.data_address(role, player, variant)?;
            Some(Value::Text(format!("@{address}")))
        };
        of_machine
            .or_else(|| self.role_fact(name, variant, Some(host), |_, _| None))
            .or_else(by_address)
    }
}

impl std::borrow::Borrow<str> for crate::Located<ParamName> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

struct Filler<'a> {
    arrangement: &'a Arrangement,
    cell: &'a Cell,
    role: &'a RoleName,
    host: &'a HostName,
    /// Its number among the hosts of the role, from 0.
    instance: usize,
    /// Which iteration of its step is filled, from 1.
    iteration: u32,
    machine: Option<Machine>,
    limit: Option<&'a Template>,
}

type Fault = (String, FillFault);

impl Filler<'_> {
    fn lookup(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.cell.params.get(name) {
            return Some(value.clone());
        }
        if let Some(value) = self.machine.and_then(|machine| machine.lookup(name)) {
            return Some(value);
        }
        if let Some((version, folder)) = &self.arrangement.build {
            match name {
                "version" => return Some(Value::Text(version.clone())),
                "build" => {
                    let there = self.arrangement.build_on.get(self.host);
                    let folder = there.unwrap_or(folder);
                    return Some(Value::Text(folder.to_string_lossy().into_owned()));
                }
                _ => {}
            }
        }
        if name == PLAN_FOLDER {
            let folder = self.arrangement.folder_seen_by(self.host)?;
            return Some(Value::Text(folder.to_string_lossy().into_owned()));
        }
        // A file in the folder in which the command begins.
        if name == WITHOUT {
            return Some(Value::Text(WITHOUT.to_owned()));
        }
        let instances = || self.arrangement.seats[self.role].instances().len();
        let number = match name {
            "instance" => Some(self.instance + 1),
            "instances" => Some(instances()),
            "iteration" => usize::try_from(self.iteration).ok(),
            _ => None,
        };
        if let Some(number) = number {
            return i64::try_from(number).ok().map(Value::Integer);
        }
        let variant = Some(&self.cell.variant);
        let look_up = |host: &HostName, address| self.arrangement.interface_with(host, address);
        self.arrangement
            .role_fact(name, variant, Some(self.host), look_up)
    }

    /// What is wrong with a template that can't be filled.
    fn fault(&self, template: &Template, fault: TemplateError) -> Fault {
        let missing = match &fault {
            TemplateError::Unknown(name) => {
                self.arrangement
                    .no_interface(name, &self.cell.variant, self.host)
            }
            _ => None,
        };
        (
            template.source().to_owned(),
            missing.unwrap_or(fault.into()),
        )
    }

    fn text(&self, template: &Template) -> Result<String, Fault> {
        template
            .fill(&|name| self.lookup(name))
            .map_err(|e| self.fault(template, e))
    }

    fn time(&self, template: &Template) -> Result<Duration, Fault> {
        let text = self.text(template)?;
        crate::Time::parse(&text)
            .map(|time| time.0)
            .map_err(|e| (template.source().to_owned(), e.into()))
    }

    fn port(&self, port: &crate::Port) -> Result<u16, Fault> {
        match port {
            crate::Port::Number(number) => Ok(*number),
            crate::Port::Given(template) => {
                let text = self.text(template)?;
                text.parse()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or_else(|| (template.source().to_owned(), FillFault::Port(text)))
            }
        }
    }

    fn processors(&self, Processors(template): &Processors) -> Result<u32, Fault> {
        let text = self.text(template)?;
        let number = text.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| (template.source().to_owned(), FillFault::Processors(text)))
    }

    fn ready(&self, ready: &Ready) -> Result<ReadyWhen, Fault> {
        Ok(match &ready.when {
            ReadyCondition::Listens(port) => ReadyWhen::Listens(self.port(port)?),
            ReadyCondition::Binds(port) => ReadyWhen::Binds(self.port(port)?),
            ReadyCondition::Line(line) => ReadyWhen::Line(line.clone()),
            ReadyCondition::File(file) => ReadyWhen::File(self.text(file)?),
        })
    }

    /// The programs of a step: one, or one an iteration.
    fn step(&self, step: &Step) -> Result<Vec<FilledStep>, Fault> {
        let Some(iterations) = &step.iterations else {
            return Ok(vec![self.program(step)?]);
        };
        let count = match iterations {
            Iterations::Number(number) => *number,
            Iterations::Given(template) => {
                let text = self.text(template)?;
                let number = text.parse().ok();
                number
                    .filter(|number| Iterations::is_possible(*number))
                    .ok_or_else(|| (template.source().to_owned(), FillFault::Iterations(text)))?
            }
        };
        let program = |iteration| {
            let filler = Self { iteration, ..*self };
            Ok(FilledStep {
                iteration: Some(iteration),
                ..filler.program(step)?
            })
        };
        (1..=count).map(program).collect()
    }

    fn program(&self, step: &Step) -> Result<FilledStep, Fault> {
        let command = match step.command() {
            None => String::new(),
            Some(template) => template
                .fill_command(&|name| self.lookup(name))
                .map_err(|e| self.fault(template, e))?,
        };
        let action = match &step.action {
            Action::Run(_) => FilledAction::Run,
            Action::Spawn { ready, stop, .. } => FilledAction::Spawn {
                ready: ready.as_ref().map(|ready| self.ready(ready)).transpose()?,
                within: ready
                    .as_ref()
                    .and_then(|r| r.within)
                    .map_or(READY_LIMIT, |time| time.0),
                stop: *stop,
            },
            Action::Barrier(name) => FilledAction::Barrier(name.clone()),
        };
        let timeout = match step.timeout.as_ref().or(self.limit) {
            Some(template) => self.time(template)?,
            None => STEP_LIMIT,
        };
        let env = step
            .env
            .iter()
            .map(|(name, template)| Ok((name.clone(), self.text(template)?)))
            .collect::<Result<_, Fault>>()?;
        Ok(FilledStep {
            action,
            iteration: None,
            command,
            timeout,
            expect: step.expect.clone(),
            env,
            shell: step.shell,
            tolerant: false,
            silence: None,
            core_limit: None,
            grace: None,
            output_limit: step.output_limit.map_or(OUTPUT_LIMIT, |size| size.0),
            folder: None,
        })
    }
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It exited with this code.
    Exit(i32),
    /// A signal of this number killed it.
    Signal(i32),
    /// It took longer than its limit and was killed.
    TimedOut,
    /// It printed more than its limit and was killed.
    TooMuchOutput,
    /// It never became ready.
    NeverReady,
    /// There is no such program on the host.
    NotFound,
    /// It couldn't be started or watched; what the system said.
    Refused(String),
    /// We ended it: a spawned program after `collect`, or a step of a trial that had failed elsewhere.
    Stopped,
    /// The host went away under it.
    Lost,
}

/// What a program used. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ResourceUsage {
    /// Elapsed.
    pub wall: f64,
    /// CPU time in the program.
    pub user: f64,
    /// CPU time in the kernel.
    pub sys: f64,
    /// Largest resident set, in bytes; 0 where it isn't known.
    pub maxrss: u64,
    /// Times that it gave the processor away.
    pub voluntary_switches: u64,
    /// Times that the processor was taken from it.
    pub involuntary_switches: u64,
}

/// An output stream, as it was printed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepOutput {
    /// What was kept.
    pub bytes: Vec<u8>,
    /// How much was printed; more than was kept when it went over the limit.
    pub printed: u64,
}

/// What came of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The role.
    pub role: RoleName,
    /// Its host.
    pub host: HostName,
    /// The phase.
    pub phase: Phase,
    /// Its number within role and phase, from 0.
    pub number: usize,
    /// The command, filled.
    pub command: String,
    /// Whether it was spawned.
    pub spawned: bool,
    /// The monitor that it is, if it is one; not a step of the benchmark then.
    pub monitor: Option<MonitorName>,
    /// When the program began, on the host's wall clock.
    pub began: jiff::Timestamp,
    /// When it began on the host's monotonic clock, in nanoseconds.
    pub began_monotonic: u64,
    /// How it ended.
    pub ending: Ending,
    /// What it used.
    pub usage: ResourceUsage,
    /// What it printed.
    pub stdout: StepOutput,
    /// What it printed on standard error.
    pub stderr: StepOutput,
}

impl StepRecord {
    /// A step that ended well and of which nothing else is known: it printed nothing and used nothing.
    pub fn new(role: RoleName, host: HostName, phase: Phase) -> Self {
        Self {
            role,
            host,
            phase,
            number: 0,
            command: String::new(),
            spawned: false,
            monitor: None,
            began: jiff::Timestamp::UNIX_EPOCH,
            began_monotonic: 0,
            ending: Ending::Exit(0),
            usage: ResourceUsage::default(),
            stdout: StepOutput::default(),
            stderr: StepOutput::default(),
        }
    }
}

impl StepOutput {
    /// An output of which all was kept.
    pub fn whole(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self {
            printed: bytes.len() as u64,
            bytes,
        }
    }
}

/// Where and why a trial failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}{reason}", self.place())]
pub struct Failure {
    /// What went wrong, and the way out where there is one.
    pub reason: String,
    /// The host, if it was one.
    pub host: Option<HostName>,
    /// The role.
    pub role: Option<RoleName>,
    /// The phase.
    pub phase: Option<Phase>,
    /// The host is gone: nothing more can be measured on it until somebody brings it back.
    #[serde(default)]
    pub host_lost: bool,
}

impl Failure {
    /// A failure that belongs to no host.
    pub fn of_trial(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            host: None,
            role: None,
            phase: None,
            host_lost: false,
        }
    }

    fn place(&self) -> String {
        let mut place = String::new();
        if let Some(phase) = self.phase {
            place.push_str(&format!("{phase}"));
        }
        if let Some(role) = &self.role {
            place.push_str(&format!(" of {role}"));
        }
        if let Some(host) = &self.host
            && self
                .role
                .as_ref()
                .is_none_or(|role| role.as_str() != host.as_str())
        {
            place.push_str(&format!(" on {host}"));
        }
        let place = place.trim_start();
        if place.is_empty() {
            String::new()
        } else {
            format!("{place}: ")
        }
    }
}

/// Samples of one metric in one trial, in the metric's unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricSamples {
    /// The metric.
    pub metric: MetricName,
    /// The trial's samples: mostly one.
    pub values: Vec<f64>,
    /// The interval samples within the trial, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<f64>,
    /// Where several hosts play the role, what each of them measured, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<InstanceSamples>,
}

impl MetricSamples {
    /// How many tests of a run are counted in which way: the metrics that every suite has.
    pub fn of_suite(run: &SuiteRun) -> Vec<Self> {
        let samples = |count: TestCount| {
            let name = MetricName::new(count.name()).ok()?;
            let value = run.count(count) as f64;
            Some(Self::new(name, vec![value], Vec::new()))
        };
        TestCount::ALL.into_iter().filter_map(samples).collect()
    }

    /// Samples of a whole trial.
    pub fn new(metric: MetricName, values: Vec<f64>, each: Vec<f64>) -> Self {
        Self {
            metric,
            values,
            each,
            instances: Vec::new(),
        }
    }
}

/// What a monitor measured in one trial: a sample of a metric that its definition and its output make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MonitorSample {
    /// The monitor.
    pub monitor: MonitorName,
    /// The metric, which no benchmark declares.
    pub metric: MetricName,
    /// Unit of the sample.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// One line about the metric.
    pub about: String,
    /// The sample.
    pub value: f64,
}

/// How the processors of one machine were used during a trial, in CPU seconds.
///
/// Several hosts may be one machine (namespaces); the machine is counted once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineLoad {
    /// Hosts that are this machine.
    pub hosts: Vec<HostName>,
    /// CPU seconds that there were: elapsed time × processors.
    pub available: f64,
    /// Used by the trial itself, and by Backsight.
    pub ours: f64,
    /// Used by anybody else, the kernel's own interrupt work not counted.
    pub others: f64,
    /// Names of the busiest of them, each with at least 1 % of what there was; the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busiest: Vec<String>,
    /// Interrupt work of the kernel, which belongs to nobody.
    pub interrupts: f64,
    /// Taken by other guests of the same physical machine.
    pub stolen: f64,
}

impl MachineLoad {
    /// The share of the processors above which others disturb.
    pub const DISTURBED: f64 = 0.05;

    /// The share of the processors that others took, from 0 to 1: the noisy neighbour.
    pub fn neighbours(&self) -> f64 {
        if self.available > 0.0 {
            (self.others + self.stolen) / self.available
        } else {
            0.0
        }
    }
}

/// A core file that a program of a trial left when it crashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreFile {
    /// The host.
    pub host: HostName,
    /// Its path below the trial's folder.
    pub path: String,
    /// What the kernel called the program, if that is known.
    pub program: Option<String>,
    /// The signal that ended it, if that is known.
    pub signal: Option<i32>,
    /// How long it is in bytes, or would be if the kernel hadn't cut it.
    pub bytes: u64,
    /// The file; none where it is longer than was to be kept.
    pub content: Option<Vec<u8>>,
}

/// The monotonic clock of a host that doesn't have the controller's, as it was when a trial began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClock {
    /// The host.
    pub host: HostName,
    /// What it is ahead of the controller's, in nanoseconds.
    pub ahead_ns: i64,
    /// That is right within so many nanoseconds.
    pub uncertainty_ns: u64,
}

/// What was drawn at random for a trial, by host and setting.
pub type DrawnSettings = IndexMap<HostName, std::collections::BTreeMap<String, String>>;

/// What programs of a trial did together at agreed instants.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MeetingKind {
    /// Steps began.
    Start,
    /// Programs passed a barrier.
    Barrier,
    /// An iteration of a step began.
    Iteration,
}

impl MeetingKind {
    /// As it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Barrier => "barrier",
            Self::Iteration => "iteration",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Start, Self::Barrier, Self::Iteration]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }
}

/// How exactly programs went on together in a trial: by how much the last one came after the first, each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meeting {
    /// What they did.
    pub kind: MeetingKind,
    /// Whose they are, where they are of one role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// The barrier's name; of a start, the phase or the barrier after which they began; of iterations, their phase.
    pub name: String,
    /// How many came each time.
    pub parties: u32,
    /// How often they went on together.
    pub times: u64,
    /// The latest minus the earliest of them, where all said when they went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew: Option<Skew>,
}

/// How far apart programs went on, over all times, in nanoseconds of the controller's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skew {
    /// Half of the times it was at most this.
    pub median_ns: u64,
    /// In 99 of 100 it was at most this.
    pub p99_ns: u64,
    /// It was never more.
    pub largest_ns: u64,
}

impl Skew {
    /// That of these times, in any order; nothing of none.
    pub fn new(mut each_ns: Vec<u64>) -> Option<Self> {
        each_ns.sort_unstable();
        // The nearest rank: a time that was measured.
        let rank = |percent: usize| (each_ns.len() * percent).div_ceil(100).checked_sub(1);
        Some(Self {
            median_ns: each_ns[rank(50)?],
            p99_ns: each_ns[rank(99)?],
            largest_ns: *each_ns.last()?,
        })
    }
}

/// One execution of one cell, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// The testbed that it was measured on, by the first of its hosts; none where the study has only one testbed.
    pub host: Option<HostName>,
    /// The number of the boot in its study on which it ran; 0 where nothing was booted.
    pub boot: u32,
    /// When it began.
    pub began: jiff::Timestamp,
    /// How long it took.
    pub took: Duration,
    /// The samples, or why there are none.
    pub outcome: Result<Vec<MetricSamples>, Failure>,
    /// What its monitors measured; nothing if it failed.
    pub watched: Vec<MonitorSample>,
    /// The results of its tests, where it ran a suite.
    pub suite: Option<SuiteRun>,
    /// Every step that was begun.
    pub steps: Vec<StepRecord>,
    /// Core files of its programs, in the order in which they crashed.
    pub core_files: Vec<CoreFile>,
    /// The processors' use, by machine.
    pub load: Vec<MachineLoad>,
    /// The clocks of hosts that don't have ours.
    pub clocks: Vec<HostClock>,
    /// How exactly programs began and passed barriers together.
    pub meetings: Vec<Meeting>,
    /// Things that the reader of the result should know.
    pub warnings: Vec<String>,
    /// What was drawn at random for it, by host and setting: `process.aslr = off`.
    pub drawn: DrawnSettings,
}
