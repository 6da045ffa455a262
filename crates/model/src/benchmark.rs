//! A benchmark's definition: what runs on which role, and how its output becomes metrics.
//!
//! Placeholders, roles and metrics are checked against each other here. Jq programs and regular expressions are checked by the
//! catalogue, which has the libraries for them.

mod guide;
mod search;
mod suite;

pub use guide::{BenchmarkGuide, Trap};
pub use search::SearchDefinition;
pub use suite::SuiteResults;

use backsight_stats::Better;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::{collections::BTreeSet, fmt};
use suite::ResultsTable;

use crate::{
    Across, BenchmarkName, CrossCheck, DocumentError, Located, MetricName, ParamName, Phase,
    Processors, RoleName, Steps, Template, TestCount, TomlDocument, Unit, Validity,
    ValidityCondition, Value,
    document::{IfTable, did_you_mean},
    fairness_metric, is_machine_placeholder, machine_placeholders,
};

/// Names that placeholders may use in every command, beside parameters, roles and what they ask of the machine.
const OF_BUILD: &[&str] = &["build", "version"];
/// The folder of the plan's file, as a host sees it.
pub(crate) const PLAN_FOLDER: &str = "plan";
/// What a host is among those that play its role.
const OF_INSTANCE: &[&str] = &["instance", "instances"];
/// The number of the program among the iterations of its step; 1 where that has none.
const ITERATION: &str = "iteration";
/// The placeholder for the file with the names of the tests that a suite leaves out, and the name of that file.
pub const WITHOUT: &str = "without";

/// Whether placeholders may use a name in every command.
pub(crate) fn is_built_in(name: &str) -> bool {
    name == ITERATION
        || name == PLAN_FOLDER
        || OF_BUILD.contains(&name)
        || OF_INSTANCE.contains(&name)
        || is_machine_placeholder(name)
}

/// The names that placeholders may use in every command.
pub(crate) fn built_in_placeholders() -> impl Iterator<Item = &'static str> {
    let of_step = OF_BUILD.iter().chain(OF_INSTANCE);
    let of_step = of_step.chain([&PLAN_FOLDER, &ITERATION]);
    machine_placeholders().chain(of_step.copied())
}

/// How many metrics of a benchmark can be primary.
const MOST_PRIMARY: usize = 2;

/// What `{role.…}` can ask of a role.
pub const ROLE_FACTS: &[&str] = &["data", "control", "interface", "host", "instances"];

/// A benchmark: roles, steps in four phases, parameters, metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Benchmark {
    /// Its name; also its file's.
    pub name: Located<BenchmarkName>,
    /// One line about it.
    pub about: String,
    /// How its numbers are to be read.
    pub guide: BenchmarkGuide,
    /// The roles that take part, in the order in which tables show them.
    pub roles: Vec<Located<RoleName>>,
    /// Packages that it needs, by system (`debian`, `openbsd`, …) or by a language's registry (`pip`, `npm`, …).
    pub needs: IndexMap<String, Vec<String>>,
    /// Programs that must be in the path of every role's host.
    pub programs: Vec<String>,
    /// A command whose first line of output says which version is measured.
    pub version: Option<String>,
    /// How long a step may take, unless it says so itself.
    pub timeout: Option<Template>,
    /// How its beginning is kept out of its numbers, or why it isn't.
    pub warm_up: Option<String>,
    /// Parameters with their defaults.
    pub params: IndexMap<ParamName, Param>,
    /// What each role does.
    pub steps: IndexMap<RoleName, RoleSteps>,
    /// What is measured.
    pub metrics: IndexMap<MetricName, Metric>,
    /// Where its output has results of tests: it is a suite then.
    pub results: Option<SuiteResults>,
    /// What a search for the highest load is about, if it says so.
    pub search: Option<SearchDefinition>,
    /// Numbers that have to agree in every trial, by the check's name.
    pub cross_checks: IndexMap<String, CrossCheck>,
    /// What has to hold in every trial, or something else was measured than was meant.
    pub valid: Validity,
}

/// A parameter of a benchmark.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Its value unless a plan says otherwise; a text may hold placeholders such as `{cpus}`.
    pub default: Value,
    /// One line about it.
    #[serde(default)]
    pub about: String,
    /// The only values that make sense.
    #[serde(default)]
    pub choices: Vec<Value>,
    /// Least value.
    #[serde(default)]
    pub min: Option<f64>,
    /// Largest value.
    #[serde(default)]
    pub max: Option<f64>,
    /// Unit of the value, for the reader.
    #[serde(default)]
    pub unit: Option<String>,
}

/// What one role does in a benchmark.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleSteps {
    /// Programs that must be in this role's path, beside the benchmark's own list.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Of a load generator: processors that `run` can keep busy at most. Where it did, the trial says that it was the limit.
    #[serde(default)]
    pub processors: Option<Processors>,
    /// Before the clock starts.
    #[serde(default)]
    pub startup: Steps,
    /// What is measured.
    #[serde(default)]
    pub run: Steps,
    /// Fetching what was measured.
    #[serde(default)]
    pub collect: Steps,
    /// Putting the host back; always done.
    #[serde(default)]
    pub reset: Steps,
}

impl RoleSteps {
    /// The steps of this phase; none for a variant's phases.
    pub fn in_phase(&self, phase: Phase) -> &[crate::Step] {
        match phase {
            Phase::Startup => &self.startup.0,
            Phase::Run => &self.run.0,
            Phase::Collect => &self.collect.0,
            Phase::Reset => &self.reset.0,
            Phase::Setup | Phase::Teardown => &[],
        }
    }

    /// Whether some step has one of these placeholders.
    fn ask_for(&self, names: &[&str]) -> bool {
        self.all().any(|(_, step)| {
            let mut asked = step.templates().into_iter().flat_map(Template::names);
            asked.any(|name| names.contains(&name))
        })
    }

    fn all(&self) -> impl Iterator<Item = (Phase, &crate::Step)> {
        Phase::ALL
            .into_iter()
            .flat_map(|phase| self.in_phase(phase).iter().map(move |step| (phase, step)))
    }
}

/// Where a metric's text comes from: `client.run`, `server.collect`, `client.run.stderr`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutputSource {
    /// Whose output.
    pub role: RoleName,
    /// The phase that printed it.
    pub phase: Phase,
    /// Standard error instead of standard output.
    pub stderr: bool,
}

impl fmt::Display for OutputSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{}{}",
            self.role,
            self.phase,
            if self.stderr { ".stderr" } else { "" }
        )
    }
}

impl OutputSource {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{text}` is no source: expected role.phase or role.phase.stderr, as in `client.run`"
            )
        };
        let mut parts = text.split('.');
        let role = parts.next().ok_or_else(bad)?;
        let phase = parts.next().ok_or_else(bad)?;
        let stderr = match parts.next() {
            None | Some("stdout") => false,
            Some("stderr") => true,
            Some(_) => return Err(bad()),
        };
        let phase = Phase::ALL
            .into_iter()
            .find(|p| p.to_string() == phase && !matches!(p, Phase::Setup | Phase::Teardown))
            .ok_or_else(bad)?;
        match (parts.next(), RoleName::new(role)) {
            (None, Ok(role)) => Ok(Self {
                role,
                phase,
                stderr,
            }),
            _ => Err(bad()),
        }
    }
}

impl<'de> Deserialize<'de> for OutputSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Which one of several matches is the sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pick {
    /// The first.
    First,
    /// The last.
    #[default]
    Last,
    /// Their sum.
    Sum,
    /// Their arithmetic mean.
    Mean,
    /// The least.
    Min,
    /// The largest.
    Max,
}

/// A field of lines of white-space separated columns.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Column")]
pub struct ColumnParser {
    /// A regular expression that picks the lines.
    pub line: Located<String>,
    /// The field's number, from 1.
    pub field: std::num::NonZeroUsize,
}

/// What the system counted of the `run` steps themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// Elapsed time, in seconds.
    Wall,
    /// CPU time in the program, in seconds.
    User,
    /// CPU time in the kernel, in seconds.
    Sys,
    /// Largest resident set, in bytes.
    Maxrss,
}

impl Resource {
    /// The unit that it is counted in.
    fn unit(self) -> &'static str {
        match self {
            Self::Wall | Self::User | Self::Sys => "s",
            Self::Maxrss => "B",
        }
    }
}

/// How a metric's samples are found in the output.
#[derive(Debug, Clone, PartialEq)]
pub enum Parser {
    /// jq programs on a JSON output.
    Json {
        /// The sample.
        summary: Located<String>,
        /// The interval samples.
        each: Option<Located<String>>,
    },
    /// Regular expressions with a group named `value`, and perhaps one named `unit`.
    Regex {
        /// The sample.
        summary: Located<String>,
        /// The interval samples.
        each: Option<Located<String>>,
    },
    /// Fields of a table.
    Column {
        /// The sample.
        summary: ColumnParser,
        /// The interval samples.
        each: Option<ColumnParser>,
    },
    /// What the system counted.
    Resource(Resource),
    /// How many tests of a suite ended so.
    Tests(TestCount),
    /// Whether the test of this name failed: 1, or 0 where it passed; nothing where it was skipped or not run.
    Test(String),
}

/// One thing that a benchmark measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The unit of the samples.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// One line about it.
    pub about: String,
    /// Whether the benchmark is run for it: see [`Benchmark::primary_metrics`].
    pub primary: bool,
    /// Where the text comes from.
    pub from: OutputSource,
    /// Whether an output without it is fine.
    pub optional: bool,
    /// Whether a simulator counts it: repeats agree by construction.
    pub simulated: bool,
    /// Which match counts.
    pub pick: Pick,
    /// What becomes of the samples of several hosts that play the role.
    pub across: Across,
    /// How it is found.
    pub parser: Parser,
}

/// A metric as a table in a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Metric")]
struct MetricTable {
    /// The unit of the samples.
    unit: Unit,
    /// Which direction is good: `higher` or `lower`.
    #[schemars(with = "BetterWord")]
    better: BetterWord,
    /// One line about it.
    #[serde(default)]
    about: String,
    /// Whether the benchmark is run for it: tables begin with it, and it raises alarms. Of at most two; of the first one
    /// where none says so.
    #[serde(default)]
    primary: bool,
    /// Where the text comes from: role.phase, perhaps with .stderr; the only role that runs something unless said.
    #[schemars(with = "Option<String>")]
    from: Option<Located<OutputSource>>,
    /// Whether an output without it is fine.
    #[serde(default)]
    optional: bool,
    /// Whether a simulator counts it, as callgrind does instructions: repeats then agree by construction, and verdicts
    /// and pages say so.
    #[serde(default)]
    simulated: bool,
    /// Which one of several matches is the sample; the last unless said.
    #[serde(default)]
    pick: Pick,
    /// Where several hosts play the role, what becomes of their samples; their mean unless said.
    #[serde(default)]
    across: Across,
    /// jq program for the sample.
    json: Option<Located<String>>,
    /// Regular expression with a group named `value`, perhaps one named `unit`.
    regex: Option<Located<String>>,
    /// A field of the lines that match.
    column: Option<ColumnParser>,
    /// What the system counted of the run steps.
    resource: Option<Resource>,
    /// Of a suite, a test by its name: 1 where it failed, 0 where it passed, no sample where it was skipped or not run.
    test: Option<String>,
    /// The interval samples, in the same language as the sample.
    each: Option<Each>,
}

/// How a file says which direction is good.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BetterWord {
    Higher,
    Lower,
}

impl From<BetterWord> for Better {
    fn from(word: BetterWord) -> Self {
        match word {
            BetterWord::Higher => Self::Higher,
            BetterWord::Lower => Self::Lower,
        }
    }
}

#[derive(Debug, JsonSchema)]
#[serde(untagged)]
enum Each {
    Text(Located<String>),
    Column(ColumnParser),
}

struct EachVisitor;

impl<'de> de::Visitor<'de> for EachVisitor {
    type Value = EachShape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a jq program, a regular expression, or a table with `line` and `field`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<EachShape, E> {
        Ok(EachShape::Text(text.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<EachShape, A::Error> {
        ColumnParser::deserialize(de::value::MapAccessDeserializer::new(map)).map(EachShape::Column)
    }
}

enum EachShape {
    Text(String),
    Column(ColumnParser),
}

impl<'de> Deserialize<'de> for EachShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EachVisitor)
    }
}

impl<'de> Deserialize<'de> for Each {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shape = Located::<EachShape>::deserialize(deserializer)?;
        let span = shape.span();
        Ok(match shape.into_inner() {
            EachShape::Text(text) => Self::Text(Located::spanning(text, span)),
            EachShape::Column(column) => Self::Column(column),
        })
    }
}

/// The table of a benchmark's file, keys as they stand there.
#[derive(Default)]
struct Table {
    name: Option<Located<BenchmarkName>>,
    about: Option<String>,
    guide: BenchmarkGuide,
    roles: Option<Vec<Located<RoleName>>>,
    needs: IndexMap<String, Vec<String>>,
    programs: Vec<String>,
    version: Option<String>,
    timeout: Option<Located<Template>>,
    warm_up: Option<String>,
    params: IndexMap<Located<ParamName>, Located<Param>>,
    metric: IndexMap<MetricName, Located<MetricTable>>,
    results: Option<Located<ResultsTable>>,
    search: Option<SearchDefinition>,
    cross_checks: IndexMap<String, Located<CrossCheck>>,
    valid: Option<Located<Validity>>,
    role_tables: Vec<(Located<String>, RoleSteps)>,
    unknown: Vec<Located<String>>,
}

const KEYS: &[&str] = &[
    "name",
    "about",
    "measures",
    "not",
    "traps",
    "roles",
    "needs",
    "programs",
    "version",
    "timeout",
    "warm-up",
    "params",
    "metric",
    "results",
    "search",
    "cross-check",
    "valid",
];

struct TableVisitor;

impl<'de> de::Visitor<'de> for TableVisitor {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a benchmark's definition")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
        let mut table = Table::default();
        while let Some(key) = map.next_key::<Located<String>>()? {
            match key.as_str() {
                "name" => table.name = Some(map.next_value()?),
                "about" => table.about = Some(map.next_value()?),
                "measures" => table.guide.measures = Some(map.next_value()?),
                "not" => table.guide.measures_not = Some(map.next_value()?),
                "traps" => table.guide.traps = Some(map.next_value()?),
                "roles" => table.roles = Some(map.next_value()?),
                "needs" => table.needs = map.next_value()?,
                "programs" => table.programs = map.next_value()?,
                "version" => table.version = Some(map.next_value()?),
                "timeout" => table.timeout = Some(map.next_value()?),
                "warm-up" => table.warm_up = Some(map.next_value()?),
                "params" => table.params = map.next_value()?,
                "metric" => table.metric = map.next_value()?,
                "results" => table.results = Some(map.next_value()?),
                "search" => table.search = Some(map.next_value()?),
                "cross-check" => table.cross_checks = map.next_value()?,
                "valid" => table.valid = Some(map.next_value()?),
                // Any other key should be a role; whether it is one is known when all keys are.
                _ => match map.next_value::<IfTable<RoleSteps>>()? {
                    IfTable::Table(steps) => table.role_tables.push((key, steps)),
                    IfTable::Other => table.unknown.push(key),
                },
            }
        }
        Ok(table)
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor)
    }
}

impl Benchmark {
    /// The definition that this document holds.
    ///
    /// # Errors
    /// It isn't TOML of the right shape, or its roles, parameters, placeholders and metrics don't fit
    /// together; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        let table: Table = document.read()?;
        let missing = |key: &str, help: &str| {
            document.problem(
                0..0,
                format!("`{key}` is missing"),
                "this definition",
                Some(help.to_owned()),
            )
        };
        let roles = table.roles.as_ref().filter(|roles| !roles.is_empty());
        let roles = roles
            .ok_or_else(|| missing("roles", "for example: roles = [\"server\", \"client\"]"))?
            .clone();
        if let Some(key) = table.unknown.first() {
            return Err(unknown_key(document, key, &roles));
        }
        let mut steps: IndexMap<RoleName, RoleSteps> = roles
            .iter()
            .map(|role| ((**role).clone(), RoleSteps::default()))
            .collect();
        if let Some(role) = roles.iter().find(|role| KEYS.contains(&role.as_str())) {
            return Err(document.problem(
                role.span(),
                format!("`{role}` can't be a role: it is a key of every definition"),
                "rename this role",
                None,
            ));
        }
        if steps.len() < roles.len() {
            return Err(document.problem(
                roles[0].span(),
                "a role stands here twice",
                "here",
                None,
            ));
        }
        for (key, role_steps) in table.role_tables {
            match steps.get_mut(key.as_str()) {
                Some(place) => *place = role_steps,
                None => return Err(unknown_key(document, &key, &roles)),
            }
        }
        for (name, param) in &table.params {
            check_param(document, name, param, &roles)?;
        }
        let mut benchmark = Self {
            name: table
                .name
                .ok_or_else(|| missing("name", "for example: name = \"ping-rtt\""))?,
            about: table
                .about
                .ok_or_else(|| missing("about", "one line for people who look for a benchmark"))?,
            guide: table.guide,
            roles,
            needs: table.needs,
            programs: table.programs,
            version: table.version,
            timeout: table.timeout.as_ref().map(|t| (**t).clone()),
            warm_up: table.warm_up,
            params: table
                .params
                .into_iter()
                .map(|(k, v)| (k.into_inner(), v.into_inner()))
                .collect(),
            steps,
            metrics: IndexMap::new(),
            results: None,
            search: table.search,
            cross_checks: IndexMap::new(),
            valid: Validity::default(),
        };
        if let Some(timeout) = &table.timeout {
            benchmark.check_template(document, timeout, timeout.span())?;
        }
        if let Some(results) = table.results {
            benchmark.results = Some(benchmark.suite_results(document, results)?);
        }
        benchmark.check_steps(document)?;
        for (name, metric) in table.metric {
            if metric.primary && benchmark.primary_metrics().count() == MOST_PRIMARY {
                return Err(document.problem(
                    metric.span(),
                    format!("more than {MOST_PRIMARY} metrics are primary"),
                    "this one besides",
                    Some("mark the one or two that the benchmark is run for".to_owned()),
                ));
            }
            let metric = benchmark.metric(document, &name, metric)?;
            benchmark.metrics.insert(name, metric);
        }
        if let Some(results) = &benchmark.results {
            let is_free = |name: &MetricName| !benchmark.metrics.contains_key(name);
            let mut counted = results.metrics();
            counted.retain(|name, _| is_free(name));
            benchmark.metrics.extend(counted);
        }
        if benchmark.primary_metrics().next().is_none()
            && let Some((_, first)) = benchmark.metrics.first_mut()
        {
            first.primary = true;
        }
        if benchmark.metrics.is_empty() {
            return Err(missing(
                "metric",
                "a benchmark without a metric measures nothing: add [metric.NAME], or [results] for a test suite",
            ));
        }
        for (name, check) in table.cross_checks {
            let is_role = |role: &RoleName| benchmark.steps.contains_key(role);
            let is_metric = |metric: &MetricName| benchmark.metrics.contains_key(metric);
            if let Some(mistake) = check.mistake(is_role, is_metric) {
                let message = format!("cross-check `{name}`: {mistake}");
                return Err(document.problem(check.span(), message, "here", None));
            }
            benchmark.cross_checks.insert(name, check.into_inner());
        }
        if let Some(valid) = table.valid {
            let is_metric = |it: &&ValidityCondition| benchmark.metrics.contains_key(&it.metric);
            if let Some(unknown) = valid.conditions().iter().find(|it| !is_metric(it)) {
                let message = format!("`{}` is no metric of this benchmark", unknown.metric);
                return Err(document.problem(valid.span(), message, "here", None));
            }
            benchmark.valid = valid.into_inner();
        }
        if let Some(search) = &benchmark.search {
            search.check(document, &benchmark.params, &benchmark.metrics)?;
        }
        Ok(benchmark)
    }

    /// The metrics that it is run for: those marked `primary = true`, else the first. Verdicts, alarms and the heads of
    /// tables are about these.
    pub fn primary_metrics(&self) -> impl Iterator<Item = &MetricName> {
        let primary = self.metrics.iter().filter(|(_, metric)| metric.primary);
        primary.map(|(name, _)| name)
    }

    /// Whether it is said how evenly a metric is shared, where several hosts play its role.
    pub fn has_fairness(&self, name: &MetricName, metric: &Metric) -> bool {
        let other = fairness_metric(name);
        metric.primary && other.is_some_and(|other| !self.metrics.contains_key(&other))
    }

    /// The steps of a role in a phase; none if it has no such role.
    pub fn steps_of(&self, role: &RoleName, phase: Phase) -> &[crate::Step] {
        self.steps
            .get(role)
            .map_or(&[], |steps| steps.in_phase(phase))
    }

    /// Programs that must be in the path of this role's host.
    pub fn programs_of(&self, role: &RoleName) -> impl Iterator<Item = &str> {
        let own = self
            .steps
            .get(role)
            .map_or(&[][..], |steps| &steps.programs);
        self.programs.iter().chain(own).map(String::as_str)
    }

    /// Roles that run something in the foreground of the `run` phase: what is measured.
    fn measured_roles(&self) -> Vec<&RoleName> {
        let runs = |steps: &RoleSteps| {
            steps
                .run
                .0
                .iter()
                .any(|step| matches!(step.action, crate::Action::Run(_)))
        };
        self.steps
            .iter()
            .filter(|(_, steps)| runs(steps))
            .map(|(role, _)| role)
            .collect()
    }

    fn metric(
        &self,
        document: &TomlDocument,
        name: &MetricName,
        table: Located<MetricTable>,
    ) -> Result<Metric, DocumentError> {
        let span = table.span();
        let table = table.into_inner();
        let fault = |message: String, help: &str| {
            document.problem(span.clone(), message, "this metric", Some(help.to_owned()))
        };
        let one_parser = || {
            fault(
                format!(
                    "metric `{name}` needs exactly one of `json`, `regex`, `column`, `resource` and `test`"
                ),
                "it says how the value is found in the output",
            )
        };
        let texts = |each: Option<Each>| match each {
            None => Ok(None),
            Some(Each::Text(text)) => Ok(Some(text)),
            Some(Each::Column(_)) => Err(fault(
                format!("`each` of metric `{name}` is a column, and its sample is not"),
                "write both in the same language",
            )),
        };
        if let Some(test) = table.test {
            let others = (table.json, table.regex, table.column, table.resource);
            if !matches!(others, (None, None, None, None)) || table.each.is_some() {
                return Err(one_parser());
            }
            let Some(results) = &self.results else {
                return Err(fault(
                    format!("metric `{name}` is a test, and this is no suite"),
                    "add [results], which says how the results of tests are read",
                ));
            };
            return Ok(Metric {
                unit: table.unit,
                better: table.better.into(),
                about: table.about,
                primary: table.primary,
                from: results.from.clone(),
                optional: true,
                simulated: false,
                pick: table.pick,
                across: table.across,
                parser: Parser::Test(test),
            });
        }
        let parser = match (table.json, table.regex, table.column, table.resource) {
            (Some(summary), None, None, None) => Parser::Json {
                summary,
                each: texts(table.each)?,
            },
            (None, Some(summary), None, None) => Parser::Regex {
                summary,
                each: texts(table.each)?,
            },
            (None, None, Some(summary), None) => {
                let each = match table.each {
                    None => None,
                    Some(Each::Column(column)) => Some(column),
                    Some(Each::Text(_)) => {
                        return Err(fault(
                            format!(
                                "`each` of metric `{name}` is a text, and its sample is a column"
                            ),
                            "write both in the same language",
                        ));
                    }
                };
                Parser::Column { summary, each }
            }
            (None, None, None, Some(resource)) if table.each.is_none() => {
                let unit = resource.unit();
                if table.unit.to_string() != unit {
                    return Err(fault(
                        format!(
                            "what the system counts for metric `{name}` is in {unit}, and its unit is {}",
                            table.unit
                        ),
                        &format!(
                            "write unit = \"{unit}\", or find the value in the output by `json`, `regex` or `column`"
                        ),
                    ));
                }
                Parser::Resource(resource)
            }
            _ => return Err(one_parser()),
        };
        let from = self.source(document, table.from, || {
            fault(
                format!("it isn't clear whose output metric `{name}` comes from"),
                "say it: from = \"ROLE.run\"",
            )
        })?;
        Ok(Metric {
            unit: table.unit,
            better: table.better.into(),
            about: table.about,
            primary: table.primary,
            from,
            optional: table.optional,
            simulated: table.simulated,
            pick: table.pick,
            across: table.across,
            parser,
        })
    }

    /// The output that a definition means: of the only role that runs something, unless it says which.
    fn source(
        &self,
        document: &TomlDocument,
        from: Option<Located<OutputSource>>,
        unclear: impl FnOnce() -> DocumentError,
    ) -> Result<OutputSource, DocumentError> {
        let Some(from) = from else {
            let [role] = self.measured_roles()[..] else {
                return Err(unclear());
            };
            return Ok(OutputSource {
                role: role.clone(),
                phase: Phase::Run,
                stderr: false,
            });
        };
        if !self.steps.contains_key(&from.role) {
            return Err(document.problem(
                from.span(),
                format!("`{}` is not a role of this benchmark", from.role),
                "expected one of its roles",
                did_you_mean(from.role.as_str(), self.roles.iter().map(|r| r.as_str())),
            ));
        }
        Ok(from.into_inner())
    }

    /// Where the results of a suite are.
    fn suite_results(
        &self,
        document: &TomlDocument,
        table: Located<ResultsTable>,
    ) -> Result<SuiteResults, DocumentError> {
        let span = table.span();
        let mut table = table.into_inner();
        let from = self.source(document, table.from.take(), || {
            document.problem(
                span.clone(),
                "it isn't clear whose output has the results",
                "here",
                Some("say it: from = \"ROLE.run\"".to_owned()),
            )
        })?;
        SuiteResults::new(table, from)
            .map_err(|message| document.problem(span, message, "in this table", None))
    }

    /// Whether the way in which this role's programs end in this phase is a result of a suite, and no failure of the trial.
    pub fn tolerates(&self, role: &RoleName, phase: Phase) -> bool {
        let results = self.results.as_ref();
        phase == Phase::Run && results.is_some_and(|results| results.from.role == *role)
    }

    fn check_steps(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let mut barriers: IndexMap<(Phase, &str), BTreeSet<&str>> = IndexMap::new();
        for (role, steps) in &self.steps {
            if let Some(Processors(template)) = &steps.processors {
                let place = place_of(document, template);
                self.check_template(document, template, place.clone())?;
                let is_run = |step: &crate::Step| matches!(step.action, crate::Action::Run(_));
                if !steps.run.0.iter().any(is_run) {
                    return Err(document.problem(
                        place,
                        format!("`processors` of `{role}` is about no program: its `run` starts none and waits for it"),
                        "here",
                        Some("give it to the role whose `run` generates the load".to_owned()),
                    ));
                }
            }
            for (phase, step) in steps.all() {
                for template in step.templates() {
                    self.check_template(document, template, place_of(document, template))?;
                    self.check_without(document, (role, phase), template)?;
                }
                if let crate::Action::Barrier(name) = &step.action
                    && !barriers
                        .entry((phase, name))
                        .or_default()
                        .insert(role.as_str())
                {
                    return Err(document.problem(
                        find(document, name),
                        format!("role `{role}` comes to barrier `{name}` twice in one phase"),
                        "here",
                        Some(
                            "a barrier is passed once a phase: name the second one otherwise"
                                .into(),
                        ),
                    ));
                }
            }
        }
        match barriers.iter().find(|(_, roles)| roles.len() < 2) {
            Some(((phase, name), roles)) => Err(document.problem(
                find(document, name),
                format!(
                    "only `{}` waits at barrier `{name}` in `{phase}`",
                    Vec::from_iter(roles)[0]
                ),
                "a barrier is for two roles or more",
                None,
            )),
            None => Ok(()),
        }
    }

    /// Whether some step asks for the build that is measured: its folder or its version.
    pub fn needs_build(&self) -> bool {
        let mut roles = self.steps.values();
        roles.any(|steps| steps.ask_for(OF_BUILD))
    }

    /// Whether some step of a role asks for the folder of the plan's file.
    pub fn needs_plan_folder(&self, role: &RoleName) -> bool {
        let steps = self.steps.get(role);
        steps.is_some_and(|steps| steps.ask_for(&[PLAN_FOLDER]))
    }

    /// Whether it is a suite that can leave out tests, so that it can go on where a test ended it.
    pub fn leaves_out_tests(&self) -> bool {
        let of_role = self.results.as_ref().map(|it| &it.from.role);
        let steps = of_role.and_then(|role| self.steps.get(role));
        !self.params.contains_key(WITHOUT) && steps.is_some_and(|it| it.ask_for(&[WITHOUT]))
    }

    /// Tests are left out by the programs that run them, and print their results as these are known.
    fn check_without(
        &self,
        document: &TomlDocument,
        (role, phase): (&RoleName, Phase),
        template: &Template,
    ) -> Result<(), DocumentError> {
        let asks = template.names().contains(&WITHOUT) && !self.params.contains_key(WITHOUT);
        let prints = self.results.as_ref().map(|results| &results.from);
        let is_run = prints.is_some_and(|from| from.phase == Phase::Run && from.role == *role);
        match asks && !(is_run && phase == Phase::Run) {
            false => Ok(()),
            true => Err(document.problem(
                place_of(document, template),
                "`{without}` is for the command that runs the tests and prints their results",
                "used here",
                Some(
                    "use it in `run` of the role that [results] names, with from = \"ROLE.run\""
                        .to_owned(),
                ),
            )),
        }
    }

    fn check_template(
        &self,
        document: &TomlDocument,
        template: &Template,
        span: std::ops::Range<usize>,
    ) -> Result<(), DocumentError> {
        let unknown = template
            .names()
            .into_iter()
            .find(|name| !self.defines(name));
        let Some(name) = unknown else { return Ok(()) };
        let known: Vec<String> = self
            .params
            .keys()
            .map(ToString::to_string)
            .chain(built_in_placeholders().map(str::to_owned))
            .chain(self.results.as_ref().map(|_| WITHOUT.to_owned()))
            .chain(
                self.roles
                    .iter()
                    .flat_map(|role| ROLE_FACTS.iter().map(move |f| format!("{role}.{f}"))),
            )
            .collect();
        Err(document.problem(
            span,
            format!("`{{{name}}}` is not defined in this benchmark"),
            "used here",
            did_you_mean(name, known.iter().map(String::as_str)).or_else(|| {
                Some(format!(
                    "known here: {}; write {{{{ and }}}} for literal braces",
                    known.join(", ")
                ))
            }),
        ))
    }

    fn defines(&self, name: &str) -> bool {
        self.params.contains_key(name)
            || is_built_in(name)
            || name == WITHOUT && self.results.is_some()
            || name.rsplit_once('.').is_some_and(|(role, fact)| {
                self.steps.contains_key(role) && ROLE_FACTS.contains(&fact)
            })
    }
}

fn unknown_key(
    document: &TomlDocument,
    key: &Located<String>,
    roles: &[Located<RoleName>],
) -> DocumentError {
    let known = KEYS
        .iter()
        .copied()
        .chain(roles.iter().map(|role| role.as_str()));
    document.problem(
        key.span(),
        format!(
            "unknown key `{}`: it is neither one of a benchmark's keys nor one of its roles",
            **key
        ),
        "here",
        did_you_mean(key, known).or_else(|| Some(format!("known keys: {}", KEYS.join(", ")))),
    )
}

fn check_param(
    document: &TomlDocument,
    name: &Located<ParamName>,
    param: &Located<Param>,
    roles: &[Located<RoleName>],
) -> Result<(), DocumentError> {
    if is_built_in(name.as_str()) || roles.iter().any(|role| role.as_str() == name.as_str()) {
        return Err(document.problem(
            name.span(),
            format!("`{name}` has a meaning of its own in placeholders"),
            "give this parameter another name",
            None,
        ));
    }
    let computed = matches!(&param.default, Value::Text(text) if text.contains('{'));
    if computed {
        return Ok(());
    }
    param.check(&param.default).map_err(|why| {
        document.problem(
            param.span(),
            format!("the default of `{name}`: {why}"),
            "here",
            None,
        )
    })
}

impl Param {
    /// Whether this value fits the parameter.
    ///
    /// # Errors
    /// Why it doesn't, as a clause for a message.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if !self.choices.is_empty() && !self.choices.contains(value) {
            let list: Vec<String> = self.choices.iter().map(ToString::to_string).collect();
            return Err(format!("{value} is none of {}", list.join(", ")));
        }
        let same_kind = match (&self.default, value) {
            (Value::Bool(_), other) => matches!(other, Value::Bool(_)),
            (Value::Integer(_) | Value::Float(_), other) => {
                other.number().is_some() || matches!(other, Value::Text(text) if text.contains('{'))
            }
            (Value::Text(_), other) => !matches!(other, Value::Bool(_)),
        };
        if !same_kind {
            return Err(format!(
                "{value} is {}, expected {}",
                value.kind(),
                self.default.kind()
            ));
        }
        let number = value.number();
        if let (Some(number), Some(min)) = (number, self.min)
            && number < min
        {
            return Err(format!("{value} is less than {min}"));
        }
        if let (Some(number), Some(max)) = (number, self.max)
            && number > max
        {
            return Err(format!("{value} is more than {max}"));
        }
        Ok(())
    }
}

/// Where a template stands in its document. Steps are read through enums that forget their places, so
/// it is found again by its text.
pub(crate) fn place_of(document: &TomlDocument, template: &Template) -> std::ops::Range<usize> {
    find(document, template.source())
}

fn find(document: &TomlDocument, text: &str) -> std::ops::Range<usize> {
    document
        .text
        .find(text)
        .map_or(0..0, |at| at..at + text.len())
}

/// The JSON schema of a benchmark's file.
pub(crate) fn schema() -> schemars::Schema {
    /// A benchmark: roles, steps in four phases, parameters and metrics. Every role has a table of its own.
    #[derive(JsonSchema)]
    #[schemars(rename = "Benchmark")]
    #[expect(dead_code, reason = "only its schema is used")]
    struct File {
        /// Its name; also its file's.
        name: BenchmarkName,
        /// One line about it.
        about: String,
        /// What it measures, in a sentence or two.
        measures: Option<String>,
        /// What it does not measure, though its numbers are often read so.
        not: Option<String>,
        /// What makes its numbers mislead, each with a source if there is one; an empty list says that nothing is known.
        traps: Option<Vec<Trap>>,
        /// The roles that take part.
        roles: Vec<RoleName>,
        /// Packages that it needs, by system (`debian`, `fedora`, `arch`, `opensuse`, `alpine`, `freebsd`, `openbsd`, `netbsd`) and by the
        /// registry of a language: `pip`, `npm`, `cargo`, `go` (programs), `go-module` (sources) and `maven`. Messages about programs
        /// that are missing name the command that installs them; nothing is installed by itself.
        #[serde(default)]
        needs: IndexMap<String, Vec<String>>,
        /// Programs that must be in the path of every role's host.
        #[serde(default)]
        programs: Vec<String>,
        /// A command whose first line of output says which version is measured.
        version: Option<String>,
        /// How long a step may take, unless it says so itself.
        timeout: Option<Template>,
        /// How its beginning, which is different, is kept out of its numbers, where neither a parameter nor a step of `startup` says
        /// so; or why it counts: prose, for readers and `backsight lint`.
        #[serde(rename = "warm-up")]
        warm_up: Option<String>,
        /// Parameters with their defaults.
        #[serde(default)]
        params: IndexMap<ParamName, Param>,
        /// What is measured. Needed unless there are results of tests.
        #[serde(default)]
        metric: IndexMap<MetricName, MetricTable>,
        /// Where the output has results of tests: it is a suite then, and its metrics are also how many of them failed, passed, were
        /// skipped and didn't run, and how long all took.
        results: Option<ResultsTable>,
        /// What `backsight search` is about, unless it is told otherwise.
        search: Option<SearchDefinition>,
        /// Numbers that several parts of the testbed count and that have to agree, by a name; see the key `equal`. What disagrees is
        /// a warning of its trial. Checked where the samplers that it names watched.
        #[serde(default, rename = "cross-check")]
        cross_check: IndexMap<String, CrossCheck>,
        /// What has to hold in every trial, or something else was measured than was meant: `"client_cpu < 95: the client is the
        /// bottleneck"`, in the metric's unit; or a list of these. What doesn't hold is a warning of its trial.
        #[serde(default)]
        valid: Validity,
    }
    let mut generator = schemars::SchemaGenerator::default();
    let role = generator.subschema_for::<RoleSteps>();
    let mut schema = generator.into_root_schema_for::<File>();
    schema.insert("additionalProperties".into(), role.into());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    const IPERF3: &str = r#"
name = "iperf3-tcp"
about = "TCP bulk throughput between two hosts"
roles = ["server", "client"]
needs = { debian = ["iperf3"] }
[params]
streams = { default = 1, about = "parallel connections", min = 1 }
reverse = { default = false, about = "the server sends" }
seconds = { default = 10 }
[server]
startup.spawn = { run = "iperf3 --server --json", ready = { listens = 5201 } }
[client]
startup = ["ping -c 3 {server.data}"]
run = "iperf3 --client {server.data} --json --parallel {streams} --time {seconds} {reverse:--reverse}"
[metric.throughput]
unit = "bit/s"
better = "higher"
json = ".end.sum_received.bits_per_second"
each = ".intervals[].sum.bits_per_second"
"#;

    fn read(text: &str) -> Result<Benchmark, DocumentError> {
        Benchmark::read(&TomlDocument::new("iperf3-tcp.toml", text))
    }

    #[test]
    fn processors_are_those_of_a_run_that_is_waited_for() {
        assert!(read(&IPERF3.replace("[client]", "[client]\nprocessors = 1")).is_ok());
        let server = read(&IPERF3.replace("[server]", "[server]\nprocessors = 1"));
        let refused = server.unwrap_err().to_string();
        assert!(
            refused.contains("`processors` of `server` is about no program"),
            "{refused}"
        );
    }

    #[test]
    fn a_definition_is_read_whole() {
        let benchmark = read(IPERF3).unwrap();
        assert_eq!(benchmark.roles.len(), 2);
        let server = RoleName::new("server").unwrap();
        assert_eq!(benchmark.steps_of(&server, Phase::Startup).len(), 1);
        let metric = &benchmark.metrics["throughput"];
        assert_eq!(metric.from.to_string(), "client.run");
        assert_eq!(metric.better, Better::Higher);
    }

    #[test]
    fn a_definition_says_how_its_numbers_are_to_be_read() {
        let unsaid = read(IPERF3).unwrap().guide;
        assert_eq!(unsaid, BenchmarkGuide::default());
        let keys = "measures = \"bulk\"\nnot = \"latency\"\ntraps = [{ trap = \"a\", source = \"https://example.org\" }, { trap = \"b\" }]\n[params]";
        let guide = read(&IPERF3.replace("[params]", keys)).unwrap().guide;
        assert_eq!(guide.measures.as_deref(), Some("bulk"));
        assert_eq!(guide.measures_not.as_deref(), Some("latency"));
        let sources = guide.traps.unwrap().into_iter().map(|trap| trap.source);
        let sources: Vec<_> = sources.collect();
        assert_eq!(sources, [Some("https://example.org".to_owned()), None]);
        let wrong = "traps = [{ tarp = \"a\" }]\n[params]";
        let problem = read(&IPERF3.replace("[params]", wrong)).unwrap_err();
        assert_eq!(problem.place().0, 6);
    }

    #[test]
    fn a_benchmark_is_run_for_the_metrics_that_it_marks_else_for_the_first() {
        let rest = |name: &str, primary: &str| {
            format!("[metric.{name}]\nunit = \"%\"\nbetter = \"lower\"\njson = \".\"\n{primary}\n")
        };
        let primary = |text: &str| -> Vec<String> {
            let benchmark = read(text).unwrap();
            let names = benchmark.primary_metrics();
            names.map(ToString::to_string).collect()
        };
        let none = format!("{IPERF3}{}{}", rest("cpu", ""), rest("loss", ""));
        assert_eq!(primary(&none), ["throughput"]);
        let mark = "primary = true";
        let two = format!("{IPERF3}{}{}", rest("cpu", mark), rest("loss", mark));
        assert_eq!(primary(&two), ["cpu", "loss"]);
        let three = read(&format!("{two}{}", rest("jitter", mark))).unwrap_err();
        assert!(
            three
                .to_string()
                .contains("more than 2 metrics are primary")
        );
        assert!(three.place().0 > 25, "{three:?}");
    }

    #[test]
    fn faults_point_at_their_place_with_a_way_out() {
        let fault = |from: &str, to: &str| {
            let problem = read(&IPERF3.replace(from, to)).unwrap_err();
            let help = miette::Diagnostic::help(&problem)
                .map(|h| h.to_string())
                .unwrap_or_default();
            (problem.to_string(), problem.place().0, help)
        };
        let (message, line, help) = fault("[client]", "[cleint]");
        assert!(message.contains("unknown key `cleint`"), "{message}");
        assert_eq!((line, help.as_str()), (12, "did you mean `client`?"));
        let (message, line, help) = fault("{streams}", "{steams}");
        assert!(message.contains("`{steams}` is not defined"), "{message}");
        assert_eq!((line, help.as_str()), (14, "did you mean `streams`?"));
        let (message, line, _) = fault("bit/s", "parsec");
        assert!(message.contains("unknown unit `parsec`"), "{message}");
        assert_eq!(line, 16);
        let (message, line, help) = fault("better =", "beter =");
        assert!(message.contains("unknown field `beter`"), "{message}");
        assert_eq!((line, help.as_str()), (17, "did you mean `better`?"));
        assert!(
            fault("json = ", "from = 'sever.run'\njson = ")
                .0
                .contains("`sever` is not a role")
        );
        assert!(
            fault("json = ", "regex = 'x'\njson = ")
                .0
                .contains("exactly one")
        );
        assert!(
            fault("default = 1,", "default = 0,")
                .0
                .contains("less than 1")
        );
        assert!(
            fault("roles = [\"server\", \"client\"]", "")
                .0
                .contains("`roles` is missing")
        );
        assert!(
            fault("about = \"TCP", "abuot = \"TCP")
                .2
                .contains("`about`")
        );
    }

    #[test]
    fn what_is_searched_has_to_be_there() {
        let params = "reverse = {";
        let with = |search: &str| {
            let rate = "rate = { default = 1, unit = \"bit/s\" }\nreverse = {";
            let text = IPERF3.replace(params, rate);
            read(&format!(
                "{text}[metric.cpu]\nunit = \"%\"\nbetter = \"lower\"\njson = \".\"\n[search]\n{search}\n"
            ))
        };
        let good = "load = \"rate\"\nduration = \"seconds\"\nreceived = \"throughput\"\nloss = \"cpu\"\nmin = 1e6";
        let search = with(good).unwrap().search.unwrap();
        assert_eq!((search.load.as_str(), search.min), ("rate", Some(1e6)));
        for (from, to, says, helps) in [
            (
                "\"rate\"",
                "\"rat\"",
                "`rat` is not a parameter",
                "did you mean `rate`?",
            ),
            ("\"rate\"", "\"reverse\"", "`reverse` is no number", ""),
            (
                "\"throughput\"",
                "\"thruput\"",
                "`thruput` is not a metric",
                "",
            ),
            (
                "\"throughput\"",
                "\"cpu\"",
                "expected a unit of the load, such as bit/s",
                "",
            ),
            ("\"cpu\"", "\"throughput\"", "expected a share", ""),
            ("min", "mn", "unknown field `mn`", "did you mean `min`?"),
        ] {
            let problem = with(&good.replace(from, to)).unwrap_err();
            let help = miette::Diagnostic::help(&problem).map(|h| h.to_string());
            assert!(problem.to_string().contains(says), "{problem}");
            assert!(help.unwrap_or_default().contains(helps), "{problem:?}");
        }
    }

    #[test]
    fn a_barrier_needs_two_roles() {
        let alone = IPERF3.replace("startup = [", "startup = [{barrier = 'go'}, ");
        assert!(
            read(&alone)
                .unwrap_err()
                .to_string()
                .contains("only `client` waits at barrier `go`")
        );
        let both = alone.replace("[client]", "collect = []\nrun = []\n[client]");
        assert!(
            read(
                &both
                    .replace("startup.spawn = {", "startup = [{barrier='go'}, {spawn = {")
                    .replace("listens = 5201 } }", "listens = 5201 } }}]")
            )
            .is_ok()
        );
    }
}
