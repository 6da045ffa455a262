//! From what the steps of a trial printed to its samples.
//!
//! Nothing is guessed: an output without the value, with something else in its place, or with a number that isn't finite fails the
//! trial, and the message says what was looked for and what was printed.

mod readings;

pub use readings::{MetricReading, SoughtNumbers};

use backsight_model::{
    Across, Benchmark, ColumnParser, DocumentError, HostName, InstanceSamples, Located, Metric,
    MetricName, MetricSamples, OutputSource, Parser, Pick, Resource, StepRecord, TomlDocument,
    Unit, across_instances, fairness_metric, jain_index,
};
use jaq_json::Val;
use std::{borrow::Cow, cell::OnceCell, collections::HashMap, fmt, ops::Range};

use crate::{
    jq::{Program, QueryRunError, with_deep_stack},
    pattern::{ColumnField, Expression, MOST_SAMPLES, NumberError},
};

/// Longest output that is searched for samples, in bytes.
pub const LONGEST_OUTPUT: usize = 256 * 1024 * 1024;

/// Why an output gave no samples.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtractionError {
    /// No step printed it.
    #[error("no step of {0} has run")]
    NoStep(String),
    /// More than [`LONGEST_OUTPUT`].
    #[error("the output has {0} bytes, more than are searched")]
    TooLong(usize),
    /// A JSON parser on something else.
    #[error("the output isn't JSON: {0}")]
    NotJson(String),
    /// Nothing matches.
    #[error("the output doesn't have it")]
    Nothing,
    /// The kernel can't tell the program's memory from the agent's.
    #[error(
        "the program had less memory than its process had of the agent's before, which the kernel counts in; the monitor `processes` \
         samples the program's own (processes.rss-peak), and with `optional = true` the metric is left out"
    )]
    MemoryOfAgent,
    /// Something else than a number.
    #[error("`{0}` isn't a number")]
    NotANumber(String),
    /// Infinite, or not a number at all.
    #[error("the number isn't finite")]
    NotFinite,
    /// The output's unit measures something else than the metric's.
    #[error("the unit `{0}` can't be converted into the metric's")]
    Unit(String),
    /// A line with too few fields.
    #[error("a line that matches has only {0} fields")]
    Fields(usize),
    /// More than [`MOST_SAMPLES`].
    #[error("there are more than {MOST_SAMPLES} matches")]
    TooMany,
    /// The jq program's own error.
    #[error("{0}")]
    Program(String),
    /// A parser's own fault.
    #[error("the parser broke: {0}")]
    Broken(String),
    /// A jq program that doesn't come to an end on this output.
    #[error("the jq program takes too many steps on this output")]
    TooManySteps,
}

/// A metric that couldn't be read off an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleError {
    /// The metric.
    pub metric: MetricName,
    /// Where it was looked for.
    pub source: OutputSource,
    /// On which of the hosts that play the role; not said where one does.
    pub host: Option<HostName>,
    /// What was looked for, as the definition says it; empty for a resource.
    pub sought: String,
    /// What came of it.
    pub fault: ExtractionError,
    /// The beginning and the end of the output, in one printable line.
    pub excerpt: String,
}

impl fmt::Display for SampleError {
    /// One printable line, whatever was printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "metric `{}`: {}",
            self.metric,
            printable(&self.fault.to_string())
        )?;
        if !self.sought.is_empty() {
            write!(
                f,
                "; looked for `{}` in {}",
                printable(&self.sought),
                self.source
            )?;
        }
        if let Some(host) = &self.host {
            write!(f, " on {host}")?;
        }
        match self.excerpt.as_str() {
            "" => f.write_str("; nothing was printed"),
            excerpt => write!(f, "; printed was: {excerpt}"),
        }
    }
}

impl std::error::Error for SampleError {}

/// Why a trial has no samples.
#[derive(Debug, thiserror::Error)]
pub enum TrialSamplesError {
    /// The catalogue has no such benchmark.
    #[error("no benchmark `{0}` in the catalogue")]
    Unknown(backsight_model::BenchmarkName),
    /// Its definition is at fault.
    #[error(transparent)]
    Definition(#[from] crate::CatalogError),
    /// A metric couldn't be read off the output.
    #[error(transparent)]
    Metric(#[from] Box<SampleError>),
    /// A suite without results.
    #[error("no test has a result: {0}")]
    NoResults(String),
}

/// The compiled parsers of a benchmark's metrics.
#[derive(Debug)]
pub struct Parsers(Vec<MetricParser>);

#[derive(Debug)]
struct MetricParser {
    name: MetricName,
    unit: Unit,
    from: OutputSource,
    optional: bool,
    pick: Pick,
    across: Across,
    /// The metric that says how evenly hosts share this one, if it is said.
    fairness: Option<MetricName>,
    summary: Seeker,
    each: Option<Seeker>,
}

#[derive(Debug)]
struct Seeker {
    sought: String,
    how: How,
}

#[derive(Debug)]
enum How {
    Json(Program),
    Expression(Expression),
    Field(ColumnField),
    Resource(Resource),
}

impl Parsers {
    /// The parsers of this benchmark, whose definition stands in this document; none of what is counted of a suite's results.
    ///
    /// # Errors
    /// A jq program or a regular expression that is none; the problem points at the place.
    pub fn compile(benchmark: &Benchmark, document: &TomlDocument) -> Result<Self, DocumentError> {
        let parser = |(name, metric): (&MetricName, &Metric)| {
            let Some((summary, each)) = seekers(metric, document)? else {
                return Ok(None);
            };
            Ok(Some(MetricParser {
                name: name.clone(),
                unit: metric.unit,
                from: metric.from.clone(),
                optional: metric.optional,
                pick: metric.pick,
                across: metric.across,
                fairness: (benchmark
                    .has_fairness(name, metric)
                    .then(|| fairness_metric(name)))
                .flatten(),
                summary,
                each,
            }))
        };
        benchmark
            .metrics
            .iter()
            .map(parser)
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The samples of each metric, in the definition's order, out of what the steps of a trial printed and
    /// used. A metric that is optional and wasn't found is left out. Where several hosts play the role of a metric, the trial's
    /// samples are what its `across` makes of theirs, and how evenly they share a primary metric is one more, after all others.
    ///
    /// # Errors
    /// A metric that isn't there, or isn't a finite number.
    pub fn samples(&self, steps: &[StepRecord]) -> Result<Vec<MetricSamples>, Box<SampleError>> {
        match (with_deep_stack(|| self.samples_here(steps)), self.0.first()) {
            (Ok(samples), _) => samples,
            (Err(why), Some(metric)) => {
                let printed = Printed::from_steps(&metric.from, steps, None);
                Err(metric.error(&metric.summary, &printed, ExtractionError::Broken(why)))
            }
            (Err(_), None) => Ok(Vec::new()),
        }
    }

    fn samples_here(&self, steps: &[StepRecord]) -> Result<Vec<MetricSamples>, Box<SampleError>> {
        let mut outputs: HashMap<&OutputSource, Vec<Printed<'_>>> = HashMap::new();
        let (mut samples, mut shared) = (Vec::new(), Vec::new());
        for metric in &self.0 {
            let printed = outputs
                .entry(&metric.from)
                .or_insert_with(|| Printed::by_host(&metric.from, steps));
            match &printed[..] {
                [only] => samples.extend(metric.samples(only)?),
                several => {
                    let of_all = metric.samples_of_instances(several)?;
                    shared.extend(of_all.as_ref().and_then(|of_all| metric.fairness(of_all)));
                    samples.extend(of_all);
                }
            }
        }
        samples.append(&mut shared);
        Ok(samples)
    }
}

impl MetricParser {
    fn samples(&self, printed: &Printed<'_>) -> Result<Option<MetricSamples>, Box<SampleError>> {
        let found = self.seek(&self.summary, printed)?;
        if found.is_empty() {
            if self.optional {
                return Ok(None);
            }
            return Err(self.error(&self.summary, printed, self.missing()));
        }
        let each = match &self.each {
            Some(each) => self.seek(each, printed)?,
            None => Vec::new(),
        };
        let sample = picked(self.pick, &found);
        if !sample.is_finite() {
            return Err(self.error(&self.summary, printed, ExtractionError::NotFinite));
        }
        Ok(Some(MetricSamples::new(
            self.name.clone(),
            vec![sample],
            each,
        )))
    }

    /// The samples of several hosts; none where one of them has none of an optional metric.
    fn samples_of_instances(
        &self,
        printed: &[Printed<'_>],
    ) -> Result<Option<MetricSamples>, Box<SampleError>> {
        let mut instances = Vec::with_capacity(printed.len());
        for of_host in printed {
            let Some(samples) = self.samples(of_host)? else {
                return Ok(None);
            };
            instances.extend(of_host.host.map(|host| InstanceSamples {
                host: host.clone(),
                values: samples.values,
                each: samples.each,
            }));
        }
        let combine = |all: &[f64]| Some(self.across.of(all.iter().copied()));
        let (values, each) = of_instances(&instances, combine);
        Ok(Some(MetricSamples {
            instances,
            ..MetricSamples::new(self.name.clone(), values.unwrap_or_default(), each)
        }))
    }

    /// How evenly the hosts share it, where that is said.
    fn fairness(&self, of_all: &MetricSamples) -> Option<MetricSamples> {
        let name = self.fairness.clone()?;
        let (values, each) = of_instances(&of_all.instances, jain_index);
        Some(MetricSamples::new(name, values?, each))
    }

    fn seek(&self, seeker: &Seeker, printed: &Printed<'_>) -> Result<Vec<f64>, Box<SampleError>> {
        seeker
            .numbers(printed, self.unit)
            .map_err(|fault| self.error(seeker, printed, fault))
    }

    /// Why nothing was found.
    fn missing(&self) -> ExtractionError {
        match self.summary.how {
            How::Resource(Resource::Maxrss) => ExtractionError::MemoryOfAgent,
            _ => ExtractionError::Nothing,
        }
    }

    fn error(
        &self,
        seeker: &Seeker,
        printed: &Printed<'_>,
        fault: ExtractionError,
    ) -> Box<SampleError> {
        Box::new(SampleError {
            metric: self.name.clone(),
            source: self.from.clone(),
            host: printed.host.cloned(),
            sought: seeker.sought.clone(),
            fault,
            excerpt: excerpt(&printed.text),
        })
    }
}

/// The samples and the interval samples that `combine` makes of those of all hosts.
fn of_instances(
    instances: &[InstanceSamples],
    combine: impl Fn(&[f64]) -> Option<f64>,
) -> (Option<Vec<f64>>, Vec<f64>) {
    let values: Vec<&[f64]> = instances.iter().map(|it| &it.values[..]).collect();
    let each: Vec<&[f64]> = instances.iter().map(|it| &it.each[..]).collect();
    let within = across_instances(&each, &combine).unwrap_or_default();
    (across_instances(&values, combine), within)
}

/// One of several; there is at least one.
fn picked(pick: Pick, found: &[f64]) -> f64 {
    let sum = || found.iter().sum::<f64>();
    match pick {
        Pick::First => found[0],
        Pick::Last => found[found.len() - 1],
        Pick::Sum => sum(),
        Pick::Mean => sum() / found.len() as f64,
        Pick::Min => found.iter().copied().fold(f64::INFINITY, f64::min),
        Pick::Max => found.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

impl Seeker {
    fn numbers(&self, printed: &Printed<'_>, unit: Unit) -> Result<Vec<f64>, ExtractionError> {
        if printed.steps.is_empty() {
            return Err(ExtractionError::NoStep(printed.source.clone()));
        }
        let text = &printed.text;
        if text.len() > LONGEST_OUTPUT {
            return Err(ExtractionError::TooLong(text.len()));
        }
        match &self.how {
            How::Expression(expression) => expression
                .numbers(text, unit)
                .map_err(ExtractionError::from),
            How::Field(field) => field.numbers(text).map_err(ExtractionError::from),
            How::Resource(resource) => Ok(Vec::from_iter(used(*resource, &printed.steps))),
            How::Json(program) => {
                let documents = printed.documents().map_err(ExtractionError::NotJson)?;
                let mut numbers = Vec::new();
                for document in documents {
                    numbers.extend(program.numbers(document, text.len())?);
                    if numbers.len() > MOST_SAMPLES {
                        return Err(ExtractionError::TooMany);
                    }
                }
                Ok(numbers)
            }
        }
    }
}

impl From<NumberError> for ExtractionError {
    fn from(none: NumberError) -> Self {
        match none {
            NumberError::NotANumber(text) => Self::NotANumber(text),
            NumberError::NotFinite => Self::NotFinite,
            NumberError::Unit(unit) => Self::Unit(unit),
            NumberError::Fields(count) => Self::Fields(count),
            NumberError::TooMany => Self::TooMany,
        }
    }
}

impl From<QueryRunError> for ExtractionError {
    fn from(stopped: QueryRunError) -> Self {
        match stopped {
            QueryRunError::Error(message) => Self::Program(message),
            QueryRunError::NotANumber(text) => Self::NotANumber(text),
            QueryRunError::NotFinite => Self::NotFinite,
            QueryRunError::TooManySteps => Self::TooManySteps,
        }
    }
}

/// What the steps of one role and phase printed: those that were waited for, or, where there are none, those
/// that were spawned. On one host, where several play the role.
struct Printed<'a> {
    source: String,
    host: Option<&'a HostName>,
    steps: Vec<&'a StepRecord>,
    text: Cow<'a, [u8]>,
    documents: OnceCell<Result<Vec<Val>, String>>,
}

impl<'a> Printed<'a> {
    /// What was printed on each host that plays the role, in the order of the steps.
    fn by_host(source: &OutputSource, steps: &'a [StepRecord]) -> Vec<Self> {
        let mut hosts: Vec<&HostName> = Vec::new();
        let of_role = steps.iter().filter(|step| step.role == source.role);
        for step in of_role.filter(|step| step.monitor.is_none()) {
            if !hosts.contains(&&step.host) {
                hosts.push(&step.host);
            }
        }
        match hosts.len() {
            0 | 1 => vec![Self::from_steps(source, steps, None)],
            _ => (hosts.into_iter())
                .map(|host| Self::from_steps(source, steps, Some(host)))
                .collect(),
        }
    }

    fn from_steps(
        source: &OutputSource,
        steps: &'a [StepRecord],
        host: Option<&'a HostName>,
    ) -> Self {
        let here = |spawned: bool| -> Vec<&'a StepRecord> {
            steps
                .iter()
                .filter(|step| step.monitor.is_none())
                .filter(|step| host.is_none_or(|host| step.host == *host))
                .filter(|step| step.role == source.role && step.phase == source.phase)
                .filter(|step| step.spawned == spawned)
                .collect()
        };
        let mut steps = here(false);
        if steps.is_empty() {
            steps = here(true);
        }
        let stream = |step: &'a StepRecord| -> &'a [u8] {
            if source.stderr {
                &step.stderr.bytes
            } else {
                &step.stdout.bytes
            }
        };
        let text = match steps[..] {
            [only] => Cow::Borrowed(stream(only)),
            _ => Cow::Owned(
                steps
                    .iter()
                    .flat_map(|step| stream(step))
                    .copied()
                    .collect(),
            ),
        };
        Self {
            source: source.to_string(),
            host,
            steps,
            text,
            documents: OnceCell::new(),
        }
    }

    /// The JSON documents that were printed, one behind the other. Their nesting is limited by the reader,
    /// so that neither reading nor dropping them can exhaust the stack.
    fn documents(&self) -> Result<&[Val], String> {
        self.documents
            .get_or_init(|| {
                serde_json::Deserializer::from_slice(&self.text)
                    .into_iter::<Val>()
                    .collect::<Result<_, _>>()
                    .map_err(|error| error.to_string())
            })
            .as_deref()
            .map_err(String::clone)
    }
}

/// What the steps used together, of memory the largest one; nothing where that isn't known.
fn used(resource: Resource, steps: &[&StepRecord]) -> Option<f64> {
    let sum = |of: fn(&backsight_model::ResourceUsage) -> f64| {
        Some(steps.iter().map(|step| of(&step.usage)).sum())
    };
    match resource {
        Resource::Wall => sum(|usage| usage.wall),
        Resource::User => sum(|usage| usage.user),
        Resource::Sys => sum(|usage| usage.sys),
        Resource::Maxrss => {
            let most = steps.iter().map(|step| step.usage.maxrss).max();
            most.filter(|most| *most > 0).map(|most| most as f64)
        }
    }
}

/// The beginning and the end of an output in one printable line.
fn excerpt(text: &[u8]) -> String {
    const END: usize = 150;
    let printable = |bytes: &[u8]| printable(&String::from_utf8_lossy(bytes));
    if text.len() <= 2 * END {
        return printable(text);
    }
    format!(
        "{} … {}",
        printable(&text[..END]),
        printable(&text[text.len() - END..])
    )
}

/// The text without control characters, all white space a single space.
fn printable(text: &str) -> String {
    let words = text
        .split_whitespace()
        .map(|word| word.replace(char::is_control, ""));
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What finds a metric's sample and its interval samples in an output; none of what isn't sought there.
fn seekers(
    metric: &Metric,
    document: &TomlDocument,
) -> Result<Option<(Seeker, Option<Seeker>)>, DocumentError> {
    let json = |code: &Located<String>| {
        let program = Program::compile(code).map_err(|mistake| {
            let place = place_in(document, code, mistake.place);
            document.problem(place, mistake.message, "here", mistake.help)
        })?;
        Ok(Seeker {
            sought: code.to_string(),
            how: How::Json(program),
        })
    };
    let text = |source: &Located<String>| {
        let expression = Expression::compile(source).map_err(|(message, help)| {
            document.problem(source.span(), message, "this expression", help)
        })?;
        Ok(Seeker {
            sought: source.to_string(),
            how: How::Expression(expression),
        })
    };
    let column = |column: &ColumnParser| {
        let field =
            ColumnField::compile(&column.line, column.field).map_err(|(message, help)| {
                document.problem(column.line.span(), message, "this expression", help)
            })?;
        let sought = format!("field {} of lines that match {}", column.field, column.line);
        Ok(Seeker {
            sought,
            how: How::Field(field),
        })
    };
    Ok(Some(match &metric.parser {
        Parser::Json { summary, each } => (json(summary)?, each.as_ref().map(json).transpose()?),
        Parser::Regex { summary, each } => (text(summary)?, each.as_ref().map(text).transpose()?),
        Parser::Column { summary, each } => {
            (column(summary)?, each.as_ref().map(column).transpose()?)
        }
        Parser::Resource(resource) => (
            Seeker {
                sought: String::new(),
                how: How::Resource(*resource),
            },
            None,
        ),
        // Counted where the results are read.
        Parser::Tests(_) | Parser::Test(_) => return Ok(None),
    }))
}

/// Where a part of a text stands in its document: exactly, unless the text is written with escapes.
pub(crate) fn place_in(
    document: &TomlDocument,
    text: &Located<String>,
    part: Range<usize>,
) -> Range<usize> {
    let span = text.span();
    let written = document.text.get(span.clone()).unwrap_or_default();
    match written.find(text.as_str()) {
        Some(at) => {
            let start = span.start + at;
            start + part.start..start + part.end
        }
        None => span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{Phase, ResourceUsage, StepOutput};
    use proptest::prelude::*;

    const HEAD: &str = "name = 'x'\nabout = 'x'\nroles = ['a']\n[a]\nrun = 'x'\ncollect = 'y'\n[metric.m]\nbetter = 'lower'\nunit = 's'\n";

    fn parsers(metric: &str) -> Result<Parsers, DocumentError> {
        let head = match metric {
            it if it.starts_with("resource = 'maxrss'") => HEAD.replace("unit = 's'", "unit = 'B'"),
            _ => HEAD.to_owned(),
        };
        let document = TomlDocument::new("x.toml", format!("{head}{metric}\n"));
        Parsers::compile(&Benchmark::read(&document).unwrap(), &document)
    }

    fn step(phase: Phase, spawned: bool, stdout: &[u8], stderr: &[u8]) -> StepRecord {
        StepRecord {
            spawned,
            usage: ResourceUsage {
                wall: 1.5,
                user: 2.5,
                sys: 0.5,
                maxrss: 4096,
                ..ResourceUsage::default()
            },
            stdout: StepOutput::whole(stdout),
            stderr: StepOutput::whole(stderr),
            ..StepRecord::new("a".parse().unwrap(), "h".parse().unwrap(), phase)
        }
    }

    fn of_steps(
        metric: &str,
        steps: &[StepRecord],
    ) -> Result<Vec<MetricSamples>, Box<SampleError>> {
        parsers(metric).unwrap().samples(steps)
    }

    fn value(metric: &str, steps: &[StepRecord]) -> f64 {
        of_steps(metric, steps).unwrap()[0].values[0]
    }

    fn fault(metric: &str, stdout: impl AsRef<[u8]>) -> ExtractionError {
        of_steps(metric, &[step(Phase::Run, false, stdout.as_ref(), b"")])
            .unwrap_err()
            .fault
    }

    #[test]
    fn several_matches_become_one_sample_as_the_definition_says() {
        let run = [step(Phase::Run, false, b"m 1\nm 5\nm 3\n", b"")];
        let of = |pick: &str| value(&format!(r"regex = 'm (?<value>\d)'{pick}"), &run);
        assert_eq!(of(""), 3.0);
        assert_eq!(of("\npick = 'first'"), 1.0);
        assert_eq!(of("\npick = 'sum'"), 9.0);
        assert_eq!(of("\npick = 'mean'"), 3.0);
        assert_eq!(of("\npick = 'min'"), 1.0);
        assert_eq!(of("\npick = 'max'"), 5.0);
        let each = of_steps(
            "column = { line = 'm', field = 2 }\neach = { line = 'm', field = 2 }",
            &run,
        );
        assert_eq!(each.unwrap()[0].each, [1.0, 5.0, 3.0]);
    }

    #[test]
    fn the_output_is_that_of_the_phase_and_stream_that_the_definition_says() {
        let steps = [
            step(Phase::Run, false, b"m 1", b"m 2"),
            step(Phase::Run, true, b"m 3", b""),
            step(Phase::Collect, false, b"m 4", b""),
            step(Phase::Collect, false, b"2\n", b""),
            step(Phase::Startup, true, b"m 5", b""),
        ];
        let of = |from: &str| value(&format!(r"regex = 'm (?<value>\d+)'{from}"), &steps);
        assert_eq!(of(""), 1.0);
        assert_eq!(of("\nfrom = 'a.run.stderr'"), 2.0);
        assert_eq!(
            of("\nfrom = 'a.collect'"),
            42.0,
            "the outputs of a phase are one text"
        );
        assert_eq!(
            of("\nfrom = 'a.startup'"),
            5.0,
            "only a spawned step printed there"
        );
        assert_eq!(
            value("json = '.'", &[step(Phase::Run, false, b"1 2\n3", b"")]),
            3.0
        );
    }

    #[test]
    fn what_the_system_counted_is_added_over_the_steps_that_ran() {
        let steps = [
            step(Phase::Run, false, b"", b""),
            step(Phase::Run, false, b"", b""),
            step(Phase::Run, true, b"", b""),
        ];
        assert_eq!(value("resource = 'wall'", &steps), 3.0);
        assert_eq!(value("resource = 'user'", &steps), 5.0);
        assert_eq!(value("resource = 'sys'", &steps), 1.0);
        assert_eq!(value("resource = 'maxrss'", &steps), 4096.0);
        assert_eq!(
            of_steps("resource = 'wall'", &[]).unwrap_err().fault,
            ExtractionError::NoStep("a.run".into())
        );
    }

    #[test]
    fn memory_that_may_be_the_agents_is_none_of_the_programs() {
        let mut small = step(Phase::Run, true, b"", b"");
        small.usage.maxrss = 0;
        let of = |metric| of_steps(metric, &[small.clone()]);
        let refused = of("resource = 'maxrss'").unwrap_err();
        assert_eq!(refused.fault, ExtractionError::MemoryOfAgent);
        assert_eq!(of("resource = 'maxrss'\noptional = true").unwrap(), []);
        let steps = [small, step(Phase::Run, true, b"", b"")];
        assert_eq!(value("resource = 'maxrss'", &steps), 4096.0);
    }

    #[test]
    fn an_optional_metric_may_be_missing_but_not_wrong() {
        let optional = "regex = 'm (?<value>.*)'\noptional = true";
        let run = |text: &[u8]| of_steps(optional, &[step(Phase::Run, false, text, b"")]);
        assert_eq!(run(b"nothing here").unwrap(), []);
        assert_eq!(
            run(b"m fast").unwrap_err().fault,
            ExtractionError::NotANumber("fast".into())
        );
        assert_eq!(
            fault("regex = 'm (?<value>.*)'", "nothing here"),
            ExtractionError::Nothing
        );
    }

    #[test]
    fn bad_json_is_an_error_that_says_where() {
        assert_eq!(fault("json = '.'", ""), ExtractionError::Nothing);
        assert_eq!(fault("json = '.a'", "{}"), ExtractionError::Nothing);
        let message = |text: &[u8]| match fault("json = '.'", text) {
            ExtractionError::NotJson(message) => message,
            other => panic!("{other}"),
        };
        assert!(message(b"{\"a\": 1,\n nan}").contains("line 2 column 2"));
        assert!(message(b"1 oops").contains("column 3"));
        assert!(message(b"[NaN]").contains("column 2"));
        assert!(message(b"1e999").contains("out of range"));
        assert!(message(b"\"\xff\"").contains("column"), "not UTF-8");
        assert!(message("[".repeat(1_000_000).as_bytes()).contains("recursion limit"));
    }

    #[test]
    fn outputs_of_fifty_megabytes_end_in_samples_or_an_error() {
        let size = 50 * 1024 * 1024;
        let mut lines = b"all work and no play\n".repeat(size / 21);
        lines.extend(b"m 7\n");
        let steps = [step(Phase::Run, false, &lines, b"")];
        assert_eq!(value(r"regex = '^m (?<value>\d)'", &steps), 7.0);
        assert_eq!(
            fault("json = '.'", &lines),
            ExtractionError::NotJson("expected value at line 1 column 1".into())
        );
        assert!(matches!(
            fault("json = '.'", "{\"a\":".repeat(size / 5)),
            ExtractionError::NotJson(_)
        ));
        assert!(matches!(
            fault("json = '.'", "9".repeat(size)),
            ExtractionError::NotJson(_)
        ));
        assert!(matches!(
            fault("json = '.'", vec![0; size]),
            ExtractionError::NotJson(_)
        ));
    }

    #[test]
    fn the_message_says_what_was_looked_for_and_what_was_there() {
        let text = "\u{1b}[31mno\u{1b}[0m such\n\n\tthing".repeat(50);
        let steps = [step(Phase::Run, false, text.as_bytes(), b"")];
        let message = of_steps("json = '.end'", &steps).unwrap_err().to_string();
        let expected = "metric `m`: the output isn't JSON: expected value at line 1 column 1; looked for `.end` in a.run; printed was: [31mno[0m such thing";
        assert!(message.starts_with(expected), "{message}");
        assert!(message.contains(" … ") && message.len() < 600, "{message}");
        let silent = [step(Phase::Run, false, b"", b"")];
        let message = of_steps("json = '.end'", &silent).unwrap_err().to_string();
        assert_eq!(
            message,
            "metric `m`: the output doesn't have it; looked for `.end` in a.run; nothing was printed"
        );
    }

    #[test]
    fn a_mistake_in_a_definition_points_at_its_line_and_column() {
        let place = |metric: &str| {
            let problem = parsers(metric).unwrap_err();
            (problem.place(), problem.to_string())
        };
        let line = HEAD.lines().count() + 1;
        let (at, message) = place("json = '.a | slect(.b)'");
        assert_eq!(at, (line, 14), "{message}");
        assert!(message.contains("no filter `slect`"), "{message}");
        let (at, _) = place("json = '.a'\neach = \"\"\"\n.a |\n  }\"\"\"");
        assert_eq!(at, (line + 3, 3));
        let (at, _) = place(r#"json = "\u002ea | oops""#);
        assert_eq!(
            at,
            (line, 8),
            "a text with escapes is pointed at as a whole"
        );
        let (at, message) = place("regex = '(?<value>'");
        assert_eq!(at, (line, 9));
        assert!(message.contains("unclosed group"), "{message}");
        let (at, _) = place("column = { line = '(', field = 1 }");
        assert_eq!(at, (line, 19));
    }

    proptest! {
        #[test]
        fn any_output_ends_in_finite_samples_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            text in "[\\[\\]{}\",:0-9a-z \n.eE+-]{0,60}",
        ) {
            for metric in [
                "json = '..'",
                "json = '.[]?'\noptional = true",
                "regex = '(?<value>[^ ]+)'",
                "column = { line = '', field = 2 }",
            ] {
                for output in [&bytes[..], text.as_bytes()] {
                    let found = of_steps(metric, &[step(Phase::Run, false, output, b"")]);
                    let finite = |s: &MetricSamples| s.values.iter().all(|value| value.is_finite());
                    prop_assert!(found.as_ref().map_or(true, |all| all.iter().all(finite)));
                    if let Err(error) = found {
                        prop_assert!(!error.to_string().contains(|c: char| c.is_control()));
                    }
                }
            }
        }
    }
}
