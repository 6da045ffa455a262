//! Steps of a benchmark and the phases that they belong to.
//!
//! A phase of a role is a command, a list of steps, or one step as a table. A step runs a command and
//! waits, spawns one that goes on in the background, or waits at a barrier for the other roles.
//!
//! A step is exactly one of these; only a spawned one can have `ready`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;

use crate::{Size, Template, Time};

/// A part of a trial. The four of a benchmark are `startup`, `run`, `collect` and `reset`; a variant's
/// `setup` goes before them and its `teardown` after, whatever happened.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The variant's set-up.
    Setup,
    /// Everything that must be there before the clock starts.
    Startup,
    /// What is measured.
    Run,
    /// Fetching what was measured.
    Collect,
    /// Putting the host back; always done.
    Reset,
    /// The variant's teardown; always done.
    Teardown,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [
        Self::Setup,
        Self::Startup,
        Self::Run,
        Self::Collect,
        Self::Reset,
        Self::Teardown,
    ];

    /// Whether this phase is done even when the trial has failed.
    pub fn always(self) -> bool {
        matches!(self, Self::Reset | Self::Teardown)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Setup => "setup",
            Self::Startup => "startup",
            Self::Run => "run",
            Self::Collect => "collect",
            Self::Reset => "reset",
            Self::Teardown => "teardown",
        })
    }
}

/// What makes a spawned program ready, and how long that may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "ReadyTable")]
#[schemars(with = "ReadyTable")]
pub struct Ready {
    /// What must hold.
    pub when: ReadyCondition,
    /// How long that may take; 10 s unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Time>,
}

/// What makes a spawned program ready.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadyCondition {
    /// A TCP port listens.
    Listens(Port),
    /// A UDP port is bound.
    Binds(Port),
    /// A line of its output matches this regular expression.
    Line(String),
    /// A file exists.
    File(Template),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ready")]
struct ReadyTable {
    /// A TCP port listens.
    listens: Option<Port>,
    /// A UDP port is bound.
    binds: Option<Port>,
    /// A line of its output matches this regular expression.
    line: Option<String>,
    /// A file exists.
    file: Option<Template>,
    /// How long that may take; 10 s unless said.
    within: Option<Time>,
}

impl TryFrom<ReadyTable> for Ready {
    type Error = &'static str;

    fn try_from(table: ReadyTable) -> Result<Self, &'static str> {
        let when = match (table.listens, table.binds, table.line, table.file) {
            (Some(port), None, None, None) => ReadyCondition::Listens(port),
            (None, Some(port), None, None) => ReadyCondition::Binds(port),
            (None, None, Some(line), None) => ReadyCondition::Line(line),
            (None, None, None, Some(file)) => ReadyCondition::File(file),
            _ => return Err("`ready` has exactly one of `listens`, `binds`, `line` and `file`"),
        };
        Ok(Self {
            when,
            within: table.within,
        })
    }
}

/// A port's number, or the placeholder that gives it (`"{port}"`).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Port {
    /// The number itself.
    Number(u16),
    /// A template that gives the number.
    Given(Template),
}

struct PortVisitor;

impl de::Visitor<'_> for PortVisitor {
    type Value = Port;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a port number or a placeholder such as \"{port}\"")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Port, E> {
        u16::try_from(number)
            .ok()
            .filter(|port| *port > 0)
            .map(Port::Number)
            .ok_or_else(|| E::custom(format!("{number} is no port: expected 1 to 65535")))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Port, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Port, E> {
        Template::parse(text).map(Port::Given).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Port {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PortVisitor)
    }
}

/// How often a step runs its command: a number, or the placeholder that gives it (`"{iterations}"`).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Iterations {
    /// The number itself.
    Number(u32),
    /// A template that gives the number.
    Given(Template),
}

impl Iterations {
    /// Most of them: each is a program of its own that is kept with its output.
    pub const MOST: u32 = 1000;

    /// Whether a step may run its command so often.
    pub fn is_possible(number: u32) -> bool {
        (1..=Self::MOST).contains(&number)
    }
}

struct IterationsVisitor;

impl de::Visitor<'_> for IterationsVisitor {
    type Value = Iterations;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of iterations or a placeholder such as \"{iterations}\"")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Iterations, E> {
        let possible = u32::try_from(number).ok();
        possible
            .filter(|number| Iterations::is_possible(*number))
            .map(Iterations::Number)
            .ok_or_else(|| {
                let most = Iterations::MOST;
                E::custom(format!("{number} iterations: expected 1 to {most}"))
            })
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Iterations, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Iterations, E> {
        Template::parse(text)
            .map(Iterations::Given)
            .map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Iterations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IterationsVisitor)
    }
}

/// The signal that ends a spawned program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "Stop")]
pub enum StopSignal {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT, for programs that print their report on ^C.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGKILL.
    Kill,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Run a command and wait for its end.
    Run(Template),
    /// Start a command that goes on until the end of `collect`.
    Spawn {
        /// The command.
        command: Template,
        /// When it is ready; at once, if nothing is said.
        #[serde(skip_serializing_if = "Option::is_none")]
        ready: Option<Ready>,
        /// The signal that ends it.
        #[serde(skip_serializing_if = "is_default")]
        stop: StopSignal,
    },
    /// Wait until every role that names this barrier in this phase has come to it.
    Barrier(String),
}

/// One step. It is written with what is set only, so that a new key changes no step that doesn't have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// What it does.
    #[serde(flatten)]
    pub action: Action,
    /// How often it runs its command, one after the other: each iteration begins at one instant on all hosts of its role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<Iterations>,
    /// How long it may take; the benchmark's limit unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Template>,
    /// Exit codes that are fine; only 0 unless said.
    #[serde(skip_serializing_if = "is_success")]
    pub expect: Vec<i32>,
    /// Variables added to its environment.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, Template>,
    /// Whether a shell runs it; unless said, only when it has characters that only a shell understands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<bool>,
    /// How much of each output stream is kept; a step that prints more fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_limit: Option<Size>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_success(expected: &[i32]) -> bool {
    expected == SUCCESS
}

/// The exit codes that are fine unless a step says others.
const SUCCESS: &[i32] = &[0];

impl Step {
    /// A step that runs this command and waits.
    pub fn run(command: Template) -> Self {
        Self::plain(Action::Run(command))
    }

    fn plain(action: Action) -> Self {
        Self {
            action,
            iterations: None,
            timeout: None,
            expect: SUCCESS.to_vec(),
            env: IndexMap::new(),
            shell: None,
            output_limit: None,
        }
    }

    /// The command, unless it is a barrier.
    pub fn command(&self) -> Option<&Template> {
        match &self.action {
            Action::Run(command) | Action::Spawn { command, .. } => Some(command),
            Action::Barrier(_) => None,
        }
    }

    /// Every template in this step.
    pub fn templates(&self) -> Vec<&Template> {
        let mut found: Vec<&Template> = self.command().into_iter().collect();
        found.extend(&self.timeout);
        if let Some(Iterations::Given(template)) = &self.iterations {
            found.push(template);
        }
        found.extend(self.env.values());
        if let Action::Spawn {
            ready: Some(ready), ..
        } = &self.action
        {
            match &ready.when {
                ReadyCondition::File(template)
                | ReadyCondition::Listens(Port::Given(template))
                | ReadyCondition::Binds(Port::Given(template)) => found.push(template),
                ReadyCondition::Listens(_) | ReadyCondition::Binds(_) | ReadyCondition::Line(_) => {
                }
            }
        }
        found
    }
}

/// A step as a table in a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Step")]
struct StepTable {
    /// Run this command and wait for its end.
    run: Option<Template>,
    /// Start this command; it goes on until the end of `collect`.
    spawn: Option<Spawn>,
    /// Wait here for every other role that names this barrier in this phase.
    barrier: Option<String>,
    /// Run the command so often (1 to 1000), one after the other: where several hosts play the role, each iteration begins at one
    /// agreed instant on all of them.
    iterations: Option<Iterations>,
    /// When the spawned program is ready.
    ready: Option<Ready>,
    /// The signal that ends the spawned program; TERM unless said.
    stop: Option<StopSignal>,
    /// How long it may take; of several iterations each.
    timeout: Option<Template>,
    /// Exit codes that are fine; only 0 unless said.
    expect: Option<Vec<i32>>,
    /// Variables added to its environment.
    #[serde(default)]
    env: IndexMap<String, Template>,
    /// Whether a shell runs it.
    shell: Option<bool>,
    /// How much of each output stream is kept (32 MiB unless said); a step that prints more fails.
    output_limit: Option<Size>,
}

/// A spawned command: its text, or a table with when it is ready.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
enum Spawn {
    Command(Template),
    Table(SpawnTable),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SpawnTable {
    run: Template,
    ready: Option<Ready>,
    stop: Option<StopSignal>,
}

struct SpawnVisitor;

impl<'de> de::Visitor<'de> for SpawnVisitor {
    type Value = Spawn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command, or a table with `run` and `ready`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Spawn, E> {
        Template::parse(text).map(Spawn::Command).map_err(E::custom)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Spawn, A::Error> {
        SpawnTable::deserialize(de::value::MapAccessDeserializer::new(map)).map(Spawn::Table)
    }
}

impl<'de> Deserialize<'de> for Spawn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpawnVisitor)
    }
}

impl TryFrom<StepTable> for Step {
    type Error = &'static str;

    fn try_from(table: StepTable) -> Result<Self, &'static str> {
        let action = match (table.run, table.spawn, table.barrier) {
            (Some(command), None, None) => Action::Run(command),
            (None, Some(Spawn::Command(command)), None) => Action::Spawn {
                command,
                ready: table.ready.clone(),
                stop: table.stop.unwrap_or_default(),
            },
            (None, Some(Spawn::Table(spawn)), None) => Action::Spawn {
                command: spawn.run,
                ready: spawn.ready.or_else(|| table.ready.clone()),
                stop: spawn.stop.or(table.stop).unwrap_or_default(),
            },
            (None, None, Some(name)) => Action::Barrier(name),
            _ => return Err("a step has exactly one of `run`, `spawn` and `barrier`"),
        };
        if !matches!(action, Action::Spawn { .. })
            && (table.ready.is_some() || table.stop.is_some())
        {
            return Err("`ready` and `stop` belong to a `spawn`");
        }
        if !matches!(action, Action::Run(_)) && table.iterations.is_some() {
            return Err("`iterations` belongs to a `run`");
        }
        Ok(Self {
            action,
            iterations: table.iterations,
            timeout: table.timeout,
            expect: table.expect.unwrap_or_else(|| SUCCESS.to_vec()),
            env: table.env,
            shell: table.shell,
            output_limit: table.output_limit,
        })
    }
}

struct StepVisitor;

impl<'de> de::Visitor<'de> for StepVisitor {
    type Value = Step;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command, or a table with `run`, `spawn` or `barrier`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Step, E> {
        // Elsewhere a list is one command and its arguments; here that would run them one after the other.
        if text.starts_with('-') {
            return Err(E::custom(format!(
                "`{text}` is no command: each element of a list is a command, one text with its arguments (\"sh -c 'echo 1'\")"
            )));
        }
        Template::parse(text).map(Step::run).map_err(E::custom)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Step, A::Error> {
        let table = StepTable::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Step::try_from(table).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StepVisitor)
    }
}

impl JsonSchema for Step {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StepOrCommand".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let table = generator.subschema_for::<StepTable>();
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, table] })
    }
}

/// The steps of one phase on one role, in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Steps(pub Vec<Step>);

struct StepsVisitor;

impl<'de> de::Visitor<'de> for StepsVisitor {
    type Value = Steps;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command, a step, or a list of steps")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Steps, E> {
        StepVisitor.visit_str(text).map(|step| Steps(vec![step]))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Steps, A::Error> {
        StepVisitor.visit_map(map).map(|step| Steps(vec![step]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Steps, A::Error> {
        let mut steps = Vec::new();
        while let Some(step) = seq.next_element()? {
            steps.push(step);
        }
        Ok(Steps(steps))
    }
}

impl<'de> Deserialize<'de> for Steps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StepsVisitor)
    }
}

impl JsonSchema for Steps {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Steps".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let step = generator.subschema_for::<Step>();
        schemars::json_schema!({ "anyOf": [step.clone(), { "type": "array", "items": step }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TomlDocument;

    #[derive(Debug, Deserialize)]
    struct File {
        phase: Steps,
    }

    fn steps(text: &str) -> Result<Vec<Step>, String> {
        TomlDocument::new("test", text)
            .read::<File>()
            .map(|f| f.phase.0)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_list_of_one_commands_arguments_is_refused() {
        let said = steps("phase = ['sh', '-c', 'echo 5']").unwrap_err();
        assert!(said.contains("`-c` is no command"), "{said}");
        assert!(steps("phase = ['sh -c true', 'true']").is_ok());
    }

    #[test]
    fn a_phase_is_a_command_a_list_or_a_table() {
        assert_eq!(steps("phase = 'true'").unwrap().len(), 1);
        assert_eq!(
            steps("phase = ['a', {run = 'b', timeout = '3s'}, {barrier = 'x'}]")
                .unwrap()
                .len(),
            3
        );
        let spawned = steps("phase.spawn = {run = 'srv', ready = {listens = 5201}}").unwrap();
        assert!(matches!(
            &spawned[0].action,
            Action::Spawn {
                ready: Some(Ready {
                    when: ReadyCondition::Listens(Port::Number(5201)),
                    ..
                }),
                ..
            }
        ));
        let flat =
            steps("phase = {spawn = 'srv', ready = {binds = '{port}'}, stop = 'INT'}").unwrap();
        assert!(matches!(
            &flat[0].action,
            Action::Spawn {
                stop: StopSignal::Int,
                ..
            }
        ));
    }

    #[test]
    fn a_step_that_is_two_things_or_none_is_refused() {
        assert!(
            steps("phase = {run = 'a', barrier = 'b'}")
                .unwrap_err()
                .contains("exactly one")
        );
        assert!(
            steps("phase = {timeout = '1s'}")
                .unwrap_err()
                .contains("exactly one")
        );
        assert!(
            steps("phase = {run = 'a', ready = {listens = 1}}")
                .unwrap_err()
                .contains("spawn")
        );
        assert!(
            steps("phase = {rum = 'a'}")
                .unwrap_err()
                .contains("unknown field")
        );
        assert!(
            steps("phase = {spawn = 'a', ready = {listens = 70000}}")
                .unwrap_err()
                .contains("no port")
        );
        assert!(steps("phase = 3").is_err());
        for (what, says) in [
            ("spawn = 'a', iterations = 2", "belongs to a `run`"),
            ("barrier = 'a', iterations = 2", "belongs to a `run`"),
            (
                "run = 'a', iterations = 0",
                "0 iterations: expected 1 to 1000",
            ),
            ("run = 'a', iterations = 1001", "expected 1 to 1000"),
            ("run = 'a', iterations = true", "a number of iterations"),
        ] {
            let said = steps(&format!("phase = {{{what}}}")).unwrap_err();
            assert!(said.contains(says), "{what}: {said}");
        }
    }
}
