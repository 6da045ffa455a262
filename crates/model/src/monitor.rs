//! A monitor's definition: what watches while a benchmark runs. One file a monitor, whether it is a sampler of ours or
//! an outside tool: a command that is started before `run` and stopped after it, and what it prints.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::{fmt, time::Duration};

use crate::{
    Better, DocumentError, FillFault, FilledAction, FilledStep, Located, Machine, MetricName,
    MonitorName, OUTPUT_LIMIT, READY_LIMIT, ReadyWhen, RoleName, STEP_LIMIT, Size, StopSignal,
    Template, Time, TomlDocument, Unit, Value, benchmark::BetterWord, document::did_you_mean,
    machine_placeholders,
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
    pub run: Located<Template>,
    /// A line of its output that matches this regular expression says that it watches, and `run` begins only then (a monitor
    /// that doesn't say it within 10 s is ended); unless said, `run` begins as soon as it is started.
    #[serde(default)]
    pub ready: Option<String>,
    /// The signal that ends it: TERM unless said; INT for tools that print their report on ^C.
    #[serde(default)]
    pub stop: StopSignal,
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
    /// What it measures: metrics of every trial that it watches. Its standard output is JSON then.
    #[serde(default, rename = "metric")]
    pub metrics: IndexMap<MetricName, MonitorMetric>,
}

/// A metric that a monitor measures, or a kind of metrics: one for each thing that it saw.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MonitorMetric {
    /// The unit of its samples.
    pub unit: Unit,
    /// Which direction is good: `higher` or `lower`.
    #[schemars(with = "BetterWord")]
    pub better: Better,
    /// One line about it.
    #[serde(default)]
    pub about: String,
    /// A jq program that gives a number, which is a sample of `MONITOR.METRIC`; or an object of numbers, each a sample of
    /// `KEY.METRIC`. In a benchmark of several roles `ROLE.` stands before, the role on whose host it ran.
    pub json: Located<String>,
}

impl Monitor {
    /// The definition that this document holds.
    ///
    /// # Errors
    /// It isn't TOML of the right shape, or its command asks for what nobody defines; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        let monitor: Self = document.read()?;
        let names = monitor.run.names();
        if let Some(name) = names
            .iter()
            .find(|n| !monitor_placeholders().any(|known| known == **n))
        {
            let help = did_you_mean(name, monitor_placeholders()).unwrap_or_else(|| {
                format!(
                    "known here: {}; write {{{{ and }}}} for literal braces",
                    monitor_placeholders().collect::<Vec<_>>().join(", ")
                )
            });
            let message = format!("`{{{name}}}` is not defined in a monitor");
            return Err(document.problem(monitor.run.span(), message, "here", Some(help)));
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

    /// Whether it takes samples at an interval.
    pub fn has_interval(&self) -> bool {
        self.run.names().contains(&"interval")
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
        let seconds = interval.unwrap_or_else(|| self.usual_interval());
        let lookup = |name: &str| match name {
            "interval" => Some(number(seconds.as_secs_f64())),
            "backsight" => Some(Value::Text(program.to_owned())),
            _ => machine.and_then(|machine| machine.lookup(name)),
        };
        Ok(FilledStep {
            iteration: None,
            action: FilledAction::Spawn {
                ready: self.ready.clone().map(ReadyWhen::Line),
                within: READY_LIMIT,
                stop: self.stop,
            },
            command: self.run.fill_command(&lookup)?,
            timeout: STEP_LIMIT,
            expect: vec![0],
            env: Vec::new(),
            shell: self.shell,
            output_limit: self.output_limit.map_or(OUTPUT_LIMIT, |size| size.0),
            folder: None,
        })
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
}

impl PlanMonitor {
    /// A monitor with nothing said but its name.
    pub fn named(name: MonitorName) -> Self {
        Self {
            name,
            interval: None,
            roles: Vec::new(),
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
}

struct PlanMonitorVisitor;

impl<'de> de::Visitor<'de> for PlanMonitorVisitor {
    type Value = PlanMonitor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a monitor's name, or a table with `name`, `interval` and `roles`")
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
    fn a_placeholder_that_nobody_fills_is_a_mistake_of_the_file() {
        let fault = read(&VMSTAT.replace("{interval}", "{intervall}")).unwrap_err();
        assert!(fault.contains("`{intervall}` is not defined"), "{fault}");
        assert!(read(&VMSTAT.replace("about", "abuot")).is_err());
    }
}
