//! A monitor's definition: what watches while a benchmark runs. One file a monitor, whether it is a sampler of ours or
//! an outside tool: a command that is started before `run` and stopped after it, and what it prints.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::{fmt, time::Duration};

use crate::{
    Better, DocumentError, FillFault, FilledAction, FilledStep, Located, Machine, MetricName,
    MonitorName, OUTPUT_LIMIT, Phase, READY_LIMIT, ReadyWhen, RoleName, STEP_LIMIT, Size,
    StopSignal, Template, Time, TomlDocument, Unit, Value, document::did_you_mean,
    machine_placeholders, template::shell_quoted,
};

/// Names that placeholders may use in a monitor's command, beside what they ask of the machine.
const OF_MONITOR: [&str; 2] = ["interval", "backsight"];

/// Names that placeholders may use in a monitor's command.
pub fn monitor_placeholders() -> impl Iterator<Item = &'static str> {
    OF_MONITOR.into_iter().chain(machine_placeholders())
}

/// Time between two samples unless somebody says otherwise.
const USUAL_INTERVAL: Duration = Duration::from_secs(1);

/// What of a testbed a monitor watches, and so how often it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Watches {
    /// The whole machine: one is started for all hosts with the same running kernel.
    #[default]
    Machine,
    /// What every host has of its own, such as the interfaces of a network namespace: one is started on each.
    Host,
}

impl fmt::Display for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Machine => "machine",
            Self::Host => "host",
        })
    }
}

/// The phases that monitors can watch: before the variant's set-up and after `collect` nothing of a trial is measured.
const WATCHED_PHASES: [Phase; 3] = [Phase::Startup, Phase::Run, Phase::Collect];

fn only_run() -> Vec<Phase> {
    vec![Phase::Run]
}

/// Whether these phases can be watched.
///
/// # Errors
/// Why they can't.
pub(crate) fn check_phases(phases: &[Phase]) -> Result<(), String> {
    let can_be_watched = phases.iter().all(|phase| WATCHED_PHASES.contains(phase));
    let is_each_once = (1..phases.len()).all(|place| !phases[..place].contains(&phases[place]));
    match can_be_watched && is_each_once && !phases.is_empty() {
        true => Ok(()),
        false => {
            Err("`phases` are one or more of `startup`, `run` and `collect`, each once".into())
        }
    }
}

/// What stands before the names of the metrics that monitors measure in a phase: `startup.`; nothing in `run`.
pub fn phase_prefix(phase: Phase) -> String {
    match phase {
        Phase::Run => String::new(),
        phase => format!("{phase}."),
    }
}

/// The phase in which a monitor measured a metric of this name.
pub fn monitored_phase(metric: &MetricName) -> Phase {
    let mut others = WATCHED_PHASES
        .into_iter()
        .filter(|phase| *phase != Phase::Run);
    let found = others.find(|phase| metric.as_str().starts_with(&phase_prefix(*phase)));
    found.unwrap_or(Phase::Run)
}

/// A monitor: what watches while a benchmark runs.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Monitor {
    /// Its name; also its file's.
    pub name: Located<MonitorName>,
    /// One line about it.
    pub about: String,
    /// What it watches: the whole `machine`, or every `host` of it.
    #[serde(default)]
    pub watches: Watches,
    /// The phases that it watches unless a plan says otherwise: `startup`, `run`, `collect`; `run` unless said. It is started anew for
    /// each, and `startup.` or `collect.` stands before the names of metrics that aren't of `run`.
    #[serde(default = "only_run")]
    pub phases: Vec<Phase>,
    /// Packages that it needs, by system (`debian`, `openbsd`, …).
    #[serde(default)]
    pub needs: IndexMap<String, Vec<String>>,
    /// Programs that must be in the path of a host.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Whether `{backsight}` needs its tracer there: another machine gets the whole of this program for it, not the small agent.
    #[serde(default)]
    pub tracer: bool,
    /// The command, which goes on until it is stopped. `{interval}` is the time between two samples, in seconds;
    /// `{backsight}` is this program on that host. What it prints is kept with the trial.
    #[serde(default)]
    pub run: Option<Located<Template>>,
    /// The sampler of this program that it is, in place of `run`: a name that `backsight monitor` knows. All samplers of a host
    /// with one interval are one process.
    #[serde(default)]
    pub sampler: Option<Located<String>>,
    /// A line of its output that matches this regular expression says that it watches, and `run` begins only then (a monitor
    /// that doesn't say it within 10 s is ended); unless said, `run` begins as soon as it is started.
    #[serde(default)]
    pub ready: Option<String>,
    /// The signal that ends it: TERM unless said; INT for tools that print their report on ^C.
    #[serde(default)]
    pub stop: StopSignal,
    /// How long it may take to end after that, before it is killed: 2s unless said.
    #[serde(default)]
    pub grace: Option<Time>,
    /// Time between two samples unless a plan says otherwise; 1s unless said.
    #[serde(default)]
    pub interval: Option<Time>,
    /// The least interval that it can keep.
    #[serde(default)]
    pub least: Option<Time>,
    /// Whether a shell runs it; unless said, only when it has characters that only a shell understands.
    #[serde(default)]
    pub shell: Option<bool>,
    /// How much of each output stream is kept (32 MiB unless said); a monitor that prints more is ended.
    #[serde(default)]
    pub output_limit: Option<Size>,
    /// What it measures: metrics of every trial that it watches. The standard output of `run` is JSON then.
    #[serde(default, rename = "metric")]
    pub metrics: IndexMap<MetricName, MonitorMetric>,
}

/// A metric that a monitor measures, or a kind of metrics: one for each thing that it saw. In a benchmark of several roles `ROLE.`
/// stands before its name, the role on whose host it ran.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MonitorMetric {
    /// The unit of its samples.
    pub unit: Unit,
    /// Which direction is good: `higher`, `lower` or `neither`.
    #[schemars(with = "MonitorBetterWord")]
    pub better: Better,
    /// One line about it.
    #[serde(default)]
    pub about: String,
    /// Of a command: a jq program that gives a number, which is a sample of `MONITOR.METRIC`; or an object of numbers, each a
    /// sample of `KEY.METRIC`.
    #[serde(default)]
    pub json: Option<Located<String>>,
    /// Of a command: whether its value adds up over the time that it watches, as a count does and a share or a percentile doesn't.
    #[serde(default)]
    pub adds_up: bool,
    /// Of a sampler: the series that it is made of, whose sum is taken where these are several. A `*` in one stands for a part of
    /// its name without dots: each series that fits is a metric `PART.METRIC` then, PART being all between two dots that has the
    /// `*`.
    #[serde(default)]
    pub series: Option<SeriesNames>,
    /// Of a sampler: what becomes of the series' samples; their `rate` unless said.
    #[serde(default, rename = "as")]
    pub reduction: Reduction,
    /// Of a sampler: with a `*`, the sum over all parts is one metric `MONITOR.METRIC`.
    #[serde(default)]
    pub sum: bool,
    /// Of a sampler: the series whose increase the increase of `series` is divided by, in place of the time; their sum where these
    /// are several.
    #[serde(default)]
    pub per: Option<SeriesNames>,
    /// Of a sampler: what the result is multiplied by; 1 unless said.
    #[serde(default)]
    pub scale: Option<f64>,
}

impl MonitorMetric {
    /// What is wrong with it, and the way out.
    fn mistake(&self, sampled: bool) -> Option<(&'static str, &'static str)> {
        let names = |names: &Option<SeriesNames>| {
            let names = names.iter().flat_map(SeriesNames::names);
            names.cloned().collect::<Vec<_>>()
        };
        let (series, per) = (names(&self.series), names(&self.per));
        let stars = |name: &String| name.matches('*').count();
        let starred = series.iter().filter(|name| stars(name) > 0).count();
        if series.is_empty() == sampled || self.json.is_some() == sampled {
            return Some((
                "lacks what it is made of",
                "a metric of `run` has `json`, one of a `sampler` has `series`",
            ));
        }
        if sampled && self.adds_up {
            return Some(("has `adds-up`, which its `as` says already", "leave it out"));
        }
        let reduced = self.reduction != Reduction::default();
        if !sampled && (reduced || self.sum || self.scale.is_some() || !per.is_empty()) {
            return Some((
                "has what only metrics of samplers have",
                "leave out `as`, `sum`, `per` and `scale`: its jq program can do that",
            ));
        }
        if series.iter().any(|name| stars(name) > 1) || (starred > 0 && starred < series.len()) {
            return Some((
                "has series with more than one `*`, or some with and some without",
                "give each of its series one `*`, or none of them",
            ));
        }
        if per.iter().any(|name| stars(name) > starred.min(1)) {
            return Some((
                "is divided by series with a `*` that its own don't have",
                "the `*` of `per` is the part that the one of `series` stands for",
            ));
        }
        if !per.is_empty() && reduced {
            return Some((
                "has `per` and `as`",
                "leave out `as`: with `per` it is the ratio of two increases",
            ));
        }
        if self
            .scale
            .is_some_and(|scale| !scale.is_finite() || scale == 0.0)
        {
            return Some((
                "has a `scale` that nothing can be multiplied by",
                "write a finite number that isn't zero",
            ));
        }
        None
    }
}

/// The words for the direction of a monitor's metric.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "the schema is made of it")]
enum MonitorBetterWord {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It changes, and is neither better nor worse.
    Neither,
}

/// Names of a sampler's series: one, or several whose sum is meant.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SeriesNames {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl SeriesNames {
    /// The names, each perhaps with a `*`.
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

/// What becomes of the samples of a series in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Of a counter: by how much it rose a second.
    #[default]
    Rate,
    /// Of a counter: by how much it rose.
    Increase,
    /// Of a counter: its highest rate between two samples.
    PeakRate,
    /// The mean of the samples.
    Mean,
    /// The least sample.
    Min,
    /// The greatest sample.
    Max,
    /// The median of the samples.
    Median,
    /// What 95 of 100 samples are at most.
    P95,
    /// What 99 of 100 samples are at most.
    P99,
}

impl Monitor {
    /// The definition that this document holds.
    ///
    /// # Errors
    /// It isn't TOML of the right shape, or its command asks for what nobody defines; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        let monitor: Self = document.read()?;
        monitor.check_source(document)?;
        let unknown = monitor.run.as_ref().and_then(|run| {
            let mut names = run.names().into_iter();
            let name = names.find(|name| !monitor_placeholders().any(|known| known == *name))?;
            Some((run, name))
        });
        if let Some((run, name)) = unknown {
            let help = did_you_mean(name, monitor_placeholders()).unwrap_or_else(|| {
                format!(
                    "known here: {}; write {{{{ and }}}} for literal braces",
                    monitor_placeholders().collect::<Vec<_>>().join(", ")
                )
            });
            let message = format!("`{{{name}}}` is not defined in a monitor");
            return Err(document.problem(run.span(), message, "here", Some(help)));
        }
        if let Err(message) = check_phases(&monitor.phases) {
            return Err(document.problem(monitor.name.span(), message, "this monitor", None));
        }
        let usual = monitor.usual_interval();
        if usual.is_zero() || monitor.least.is_some_and(|least| usual < least.0) {
            return Err(document.problem(
                monitor.name.span(),
                format!("`{}` can't sample every {}", monitor.name, Time(usual)),
                "this monitor",
                Some("`interval` is more than nothing, and not less than `least`".into()),
            ));
        }
        Ok(monitor)
    }

    /// It is a command or a sampler, and its metrics come from what that prints.
    fn check_source(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let fault = |message: String, help: &str| {
            document.problem(self.name.span(), message, "this monitor", Some(help.into()))
        };
        let name = &self.name;
        if self.run.is_some() == self.sampler.is_some() {
            return Err(fault(
                format!("`{name}` has to have either `run` or `sampler`"),
                "`run` is a command; `sampler` names what `backsight monitor` samples",
            ));
        }
        for (metric, of) in &self.metrics {
            if let Some((wrong, help)) = of.mistake(self.sampler.is_some()) {
                return Err(fault(
                    format!("metric `{metric}` of `{name}` {wrong}"),
                    help,
                ));
            }
        }
        Ok(())
    }

    /// Whether it takes samples at an interval.
    pub fn has_interval(&self) -> bool {
        match &self.run {
            Some(run) => run.names().contains(&"interval"),
            None => true,
        }
    }

    /// Whether it needs this program on the hosts that it watches.
    pub fn needs_program(&self) -> bool {
        match &self.run {
            Some(run) => run.names().contains(&"backsight"),
            None => true,
        }
    }

    /// Samplers of one host and one interval as one step that goes on until it is stopped. `program` is this program there.
    pub fn fill_samplers(monitors: &[&Self], interval: Duration, program: &str) -> FilledStep {
        let names = monitors.iter().filter_map(|it| it.sampler.as_deref());
        let names: Vec<String> = names.map(|name| shell_quoted(name)).collect();
        let command = format!(
            "{} monitor {} --interval {}s",
            shell_quoted(program),
            names.join(" "),
            interval.as_secs_f64()
        );
        let limits = monitors.iter().map(|it| it.output_limit());
        FilledStep {
            // Their first samples are written together, and are what later ones are compared with.
            action: FilledAction::Spawn {
                ready: Some(ReadyWhen::Line(r"^\[".to_owned())),
                within: READY_LIMIT,
                stop: StopSignal::Term,
            },
            output_limit: limits.sum(),
            ..monitor_step(command)
        }
    }

    fn output_limit(&self) -> u64 {
        self.output_limit.map_or(OUTPUT_LIMIT, |size| size.0)
    }

    /// Time between two samples unless a plan says otherwise.
    pub fn usual_interval(&self) -> Duration {
        self.interval.map_or(USUAL_INTERVAL, |time| time.0)
    }

    /// What a plan is told that asks for an interval that this monitor hasn't.
    ///
    /// # Errors
    /// Why it can't have it.
    pub fn check_interval(&self, interval: Duration) -> Result<(), String> {
        let name = &self.name;
        if !self.has_interval() {
            return Err(format!("`{name}` has no interval: it watches all the time"));
        }
        let least = self.least.map_or(Duration::from_millis(1), |least| least.0);
        if interval < least {
            return Err(format!(
                "`{name}` can't sample more often than every {}",
                Time(least)
            ));
        }
        Ok(())
    }

    /// Its command on a host, as a step that goes on until it is stopped. `program` is this program on that host.
    ///
    /// # Errors
    /// The command asks for something that has no value there.
    pub fn fill(
        &self,
        interval: Option<Duration>,
        machine: Option<Machine>,
        program: &str,
    ) -> Result<FilledStep, FillFault> {
        let interval = interval.unwrap_or_else(|| self.usual_interval());
        let Some(run) = &self.run else {
            return Ok(Self::fill_samplers(&[self], interval, program));
        };
        let lookup = |name: &str| match name {
            "interval" => Some(number(interval.as_secs_f64())),
            "backsight" => Some(Value::Text(program.to_owned())),
            _ => machine.and_then(|machine| machine.lookup(name)),
        };
        Ok(FilledStep {
            action: FilledAction::Spawn {
                ready: self.ready.clone().map(ReadyWhen::Line),
                within: READY_LIMIT,
                stop: self.stop,
            },
            shell: self.shell,
            grace: self.grace.map(|grace| grace.0),
            output_limit: self.output_limit(),
            ..monitor_step(run.fill_command(&lookup)?)
        })
    }
}

/// A step that goes on until it is stopped.
fn monitor_step(command: String) -> FilledStep {
    FilledStep {
        iteration: None,
        action: FilledAction::Spawn {
            ready: None,
            within: READY_LIMIT,
            stop: StopSignal::Term,
        },
        command,
        timeout: STEP_LIMIT,
        grace: None,
        expect: vec![0],
        tolerant: false,
        silence: None,
        core_limit: None,
        env: Vec::new(),
        shell: None,
        output_limit: OUTPUT_LIMIT,
        folder: None,
    }
}

/// Whole seconds without a point: what tools take that count in seconds.
fn number(seconds: f64) -> Value {
    if seconds.fract() == 0.0 {
        Value::Integer(seconds as i64)
    } else {
        Value::Float(seconds)
    }
}

/// A monitor in a plan: its name, or a table with its name, its interval and the roles that it watches.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanMonitor {
    /// Which.
    pub name: MonitorName,
    /// Time between two samples; the definition's unless said.
    pub interval: Option<Time>,
    /// The roles on whose hosts it runs; on every role's unless said.
    pub roles: Vec<RoleName>,
    /// The phases that it watches; the definition's unless said.
    pub phases: Option<Vec<Phase>>,
}

impl PlanMonitor {
    /// A monitor with nothing said but its name.
    pub fn named(name: MonitorName) -> Self {
        Self {
            name,
            interval: None,
            roles: Vec::new(),
            phases: None,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PlanMonitor")]
struct PlanMonitorTable {
    /// Which.
    name: MonitorName,
    /// Time between two samples; the definition's unless said.
    #[serde(default)]
    interval: Option<Time>,
    /// The roles on whose hosts it runs; on every role's unless said.
    #[serde(default)]
    roles: Vec<RoleName>,
    /// The phases that it watches, of `startup`, `run` and `collect`; the definition's unless said.
    #[serde(default)]
    phases: Option<Vec<Phase>>,
}

struct PlanMonitorVisitor;

impl<'de> de::Visitor<'de> for PlanMonitorVisitor {
    type Value = PlanMonitor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a monitor's name, or a table with `name`, `interval`, `roles` and `phases`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<PlanMonitor, E> {
        MonitorName::new(text)
            .map(PlanMonitor::named)
            .map_err(E::custom)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<PlanMonitor, A::Error> {
        let table = PlanMonitorTable::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(PlanMonitor {
            name: table.name,
            interval: table.interval,
            roles: table.roles,
            phases: table.phases,
        })
    }
}

impl<'de> Deserialize<'de> for PlanMonitor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlanMonitorVisitor)
    }
}

impl JsonSchema for PlanMonitor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PlanMonitorOrName".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let name = generator.subschema_for::<MonitorName>();
        let table = generator.subschema_for::<PlanMonitorTable>();
        schemars::json_schema!({ "anyOf": [name, table] })
    }
}

/// A monitor of a plan with its definition.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedMonitor {
    /// The definition.
    pub monitor: Monitor,
    /// Time between two samples; the definition's unless said.
    pub interval: Option<Duration>,
    /// The roles on whose hosts it runs; none: on every role's.
    pub roles: Vec<RoleName>,
    /// The phases that it watches.
    pub phases: Vec<Phase>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const VMSTAT: &str = "name = 'vmstat'\nabout = 'x'\nprograms = ['vmstat']\nleast = '1s'\nrun = 'vmstat -n {interval}'\nstop = 'INT'\n";

    fn read(text: &str) -> Result<Monitor, String> {
        Monitor::read(&TomlDocument::new("test", text)).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_monitor_is_a_command_that_goes_on_until_it_is_stopped() {
        let monitor = read(VMSTAT).unwrap();
        let step = monitor.fill(None, None, "/bin/backsight").unwrap();
        assert_eq!(step.command, "vmstat -n 1");
        assert!(matches!(
            step.action,
            FilledAction::Spawn {
                stop: StopSignal::Int,
                ..
            }
        ));
        let often = Some(Duration::from_millis(250));
        let ours = read(&VMSTAT.replace(
            "'vmstat -n {interval}'",
            "'{backsight} monitor x --interval {interval}s'",
        ))
        .unwrap();
        let step = ours.fill(often, None, "/a b/backsight").unwrap();
        assert_eq!(step.command, "'/a b/backsight' monitor x --interval 0.25s");
    }

    #[test]
    fn an_interval_that_the_tool_cannot_keep_is_refused() {
        let monitor = read(VMSTAT).unwrap();
        assert!(monitor.check_interval(Duration::from_secs(2)).is_ok());
        let why = monitor
            .check_interval(Duration::from_millis(500))
            .unwrap_err();
        assert!(why.contains("every 1.0s"), "{why}");
        let always = read(&VMSTAT.replace(" {interval}", "")).unwrap();
        let why = always.check_interval(Duration::from_secs(2)).unwrap_err();
        assert!(why.contains("no interval"), "{why}");
        assert!(read(&VMSTAT.replace("least = '1s'", "least = '2s'")).is_err());
    }

    #[test]
    fn a_sampler_and_a_command_each_have_metrics_of_their_kind() {
        let sampler = "name = 'cpu'\nabout = 'x'\nsampler = 'cpu'\n[metric.m]\nunit = 'count'\nbetter = 'neither'\n";
        let good = format!("{sampler}series = ['a.*', 'b.*']\nper = 'c.*'\nscale = 2.0\n");
        let step = read(&good).unwrap().fill(None, None, "/a b/x").unwrap();
        assert_eq!(step.command, "'/a b/x' monitor cpu --interval 1s");
        for (text, said) in [
            (sampler.to_owned(), "lacks what it is made of"),
            (
                format!("{sampler}json = '.x'\n"),
                "lacks what it is made of",
            ),
            (
                format!("{sampler}series = ['a.*', 'b']\n"),
                "some with and some without",
            ),
            (format!("{sampler}series = '*.*'\n"), "more than one `*`"),
            (
                format!("{sampler}series = 'a'\nper = 'b.*'\n"),
                "a `*` that its own don't have",
            ),
            (
                format!("{sampler}series = 'a'\nper = 'b'\nas = 'mean'\n"),
                "`per` and `as`",
            ),
            (format!("{sampler}series = 'a'\nscale = 0\n"), "a `scale`"),
            (
                good.replace("sampler = 'cpu'", "sampler = 'cpu'\nrun = 'x'"),
                "either `run` or",
            ),
            (good.replace("sampler = 'cpu'", ""), "either `run` or"),
            (
                good.replace("sampler = 'cpu'", "run = 'x'"),
                "lacks what it is made of",
            ),
        ] {
            let fault = read(&text).unwrap_err();
            assert!(fault.contains(said), "{text}: {fault}");
        }
    }

    #[test]
    fn phases_are_some_of_the_three_that_are_measured_and_run_unless_said() {
        assert_eq!(read(VMSTAT).unwrap().phases, [Phase::Run]);
        let with = |phases: &str| read(&format!("phases = {phases}\n{VMSTAT}"));
        let both = with("['startup', 'run']").unwrap();
        assert_eq!(both.phases, [Phase::Startup, Phase::Run]);
        for wrong in ["[]", "['run', 'run']", "['reset']", "['nap']"] {
            assert!(with(wrong).is_err(), "{wrong}");
        }
        let phase_of = |name: &str| monitored_phase(&MetricName::new(name).unwrap());
        assert_eq!(phase_of("startup.client.cpu.busy"), Phase::Startup);
        assert_eq!(phase_of("cpu.busy"), Phase::Run);
    }

    #[test]
    fn a_placeholder_that_nobody_fills_is_a_mistake_of_the_file() {
        let fault = read(&VMSTAT.replace("{interval}", "{intervall}")).unwrap_err();
        assert!(fault.contains("`{intervall}` is not defined"), "{fault}");
        assert!(read(&VMSTAT.replace("about", "abuot")).is_err());
    }
}
