//! Suites: benchmarks whose output has results of tests.

use backsight_stats::Better;
use backsight_test_results::{Format, LinePattern, Outcome, ReadOptions};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

use crate::{
    Across, Located, Metric, MetricName, OutputSource, Parser, Phase, Pick, Resource, Size,
    TestCount, Time,
};

/// Where the results of a suite's tests are, and how they are read.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteResults {
    /// The format.
    pub format: Format,
    /// The output that has them.
    pub from: OutputSource,
    /// The name of a test that has none in the output.
    pub name: Option<String>,
    /// The lines with results, for the format `lines`.
    pub regex: Option<String>,
    /// Words of these lines, with the outcomes that they mean.
    pub words: IndexMap<String, Outcome>,
    /// How long the suite may print nothing; a test that takes longer is timed out, and the suite with it, unless it goes on without it.
    pub silence: Option<Duration>,
    /// How many bytes of core files are kept of a trial.
    pub core_limit: u64,
}

/// Bytes of core files that are kept of a trial unless its suite says otherwise.
const CORE_LIMIT: Size = Size(64 << 20);

/// The results of a suite as a table in a file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Results")]
pub(crate) struct ResultsTable {
    /// The format: `tap`, `ktap`, `junit`, `subunit`, `go-test`, `libtest-json`, `libtest`, `pytest-json-report`,
    /// `pytest-reportlog`, `ctest`, `ctest-xml`, `automake`, `automake-trs`, `ltp`, `xfstests`, `bsd-regress`, `lines` or
    /// `exit-status`.
    format: String,
    /// Where the text comes from: role.phase, perhaps with .stderr; the only role that runs something unless said.
    #[schemars(with = "Option<String>")]
    pub(crate) from: Option<Located<OutputSource>>,
    /// The name of a test that has none in the output, as with `exit-status`; the suite's own unless said.
    name: Option<String>,
    /// For `lines`: a regular expression with the groups `name` and `outcome`, and perhaps `duration` (in seconds) and `message`. A line that
    /// matches without an outcome says that the test begins.
    regex: Option<String>,
    /// For `lines`: what words of the group `outcome` mean; those called as outcomes are known: `pass`, `fail`, `error`, `xfail`,
    /// `xpass`, `skip`, `timeout`, `crash`, `notrun`.
    #[serde(default)]
    words: IndexMap<String, String>,
    /// How long the suite may print nothing, as in `"60s"`: a limit of time per test, where results are printed as they are known.
    silence: Option<Time>,
    /// How large core files of a trial may be together, to be kept: `"64MiB"` unless said. `"0B"` keeps programs from leaving any.
    core_limit: Option<Size>,
}

impl SuiteResults {
    /// What a table says of this output.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence for a message.
    pub(crate) fn new(table: ResultsTable, from: OutputSource) -> Result<Self, String> {
        let format: Format = (table.format.parse()).map_err(|no| format!("`format`: {no}"))?;
        let of_lines = table.regex.is_some() || !table.words.is_empty();
        match (format, &table.regex) {
            (Format::Lines, None) => {
                return Err("the format `lines` needs `regex`, which finds the lines".to_owned());
            }
            (Format::Lines, Some(_)) => {}
            _ if of_lines => {
                return Err("`regex` and `words` are for the format `lines`".to_owned());
            }
            _ => {}
        }
        let word = |(word, outcome): (String, String)| match outcome.parse() {
            Ok(outcome) => Ok((word, outcome)),
            Err(no) => Err(format!("`words`: {no}")),
        };
        let results = Self {
            format,
            from,
            name: table.name,
            regex: table.regex,
            words: table
                .words
                .into_iter()
                .map(word)
                .collect::<Result<_, _>>()?,
            silence: table.silence.map(|time| time.0),
            core_limit: table.core_limit.unwrap_or(CORE_LIMIT).0,
        };
        results.read_options("").map(|_| results)
    }

    /// What the reader of an output has to know; `suite` is the name of what has none.
    ///
    /// # Errors
    /// The regular expression is none, or its groups are others.
    pub fn read_options(&self, suite: &str) -> Result<ReadOptions, String> {
        let words = || self.words.iter().map(|(word, outcome)| (word, *outcome));
        let pattern = (self.regex.as_ref()).map(|regex| LinePattern::new(regex, words()));
        Ok(ReadOptions {
            name: self.name.clone().unwrap_or_else(|| suite.to_owned()),
            pattern: pattern.transpose().map_err(|no| format!("`regex`: {no}"))?,
        })
    }

    /// The metrics that every suite has: how many of its tests ended in which way, and how long all took.
    pub(crate) fn metrics(&self) -> IndexMap<MetricName, Metric> {
        let of_run = OutputSource {
            phase: Phase::Run,
            ..self.from.clone()
        };
        let metric = |parser: Parser, unit: &str, better: Better, across: Across, about: &str| {
            Some(Metric {
                unit: unit.parse().ok()?,
                better,
                about: about.to_owned(),
                primary: parser == Parser::Tests(TestCount::PRIMARY),
                from: match parser {
                    Parser::Tests(_) => self.from.clone(),
                    _ => of_run.clone(),
                },
                optional: false,
                simulated: false,
                pick: Pick::Last,
                across,
                parser,
            })
        };
        let counted = TestCount::ALL.into_iter().map(|count| {
            let made = metric(
                Parser::Tests(count),
                "tests",
                count.better(),
                Across::Sum,
                count.about(),
            );
            (count.name(), made)
        });
        let wall = metric(
            Parser::Resource(Resource::Wall),
            "s",
            Better::Lower,
            Across::Max,
            "elapsed time of all tests",
        );
        counted
            .chain([("wall", wall)])
            .filter_map(|(name, metric)| Some((MetricName::new(name).ok()?, metric?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Benchmark, TomlDocument};

    #[test]
    fn how_long_tests_took_is_that_of_run_wherever_their_results_are() {
        let text = "name = \"s\"\nabout = \"a suite\"\nroles = [\"dut\"]\n[dut]\nrun = \"true\"\ncollect = \"cat results.xml\"\n\
            [results]\nformat = \"junit\"\nfrom = \"dut.collect\"\n";
        let suite = Benchmark::read(&TomlDocument::new("s.toml", text)).unwrap();
        let from = |metric: &str| suite.metrics[metric].from.to_string();
        assert_eq!(
            (from("passed"), from("wall")),
            ("dut.collect".into(), "dut.run".into())
        );
    }
}
