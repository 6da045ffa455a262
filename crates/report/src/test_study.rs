//! A study of suites with its verdict: what failed, what fails now and then, what wasn't run; failures with their last lines.

use backsight_model::{StudyName, counted, numbers::share};
use backsight_stats::failures::FailureRate;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Body, Document, Render, Section, Table, Tone, clipped, field, left, right};

/// Failures whose last lines are shown; the store has those of all.
const MOST_LOGS: usize = 20;
/// Last lines of a failure that are shown.
const LOG_LINES: usize = 12;
/// Tests that a table lists; the JSON has all.
const MOST_LISTED: usize = 200;
/// Longest message in a table, in characters.
const MESSAGE_WIDTH: usize = 80;

/// A study of suites.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TestStudy {
    /// The study.
    #[schemars(with = "String")]
    pub study: StudyName,
    /// The suites, each on each host.
    pub suites: Vec<SuiteReport>,
    /// Trials that say nothing of the tests: a host was lost, a program wasn't there.
    pub failed_trials: Vec<FailedTrial>,
}

/// A trial that failed itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedTrial {
    /// Its number.
    pub trial: u32,
    /// The suite.
    pub suite: String,
    /// Why.
    pub reason: String,
    /// Whether a later trial of the suite told what this one couldn't.
    pub made_up_for: bool,
}

/// What a suite gave on a host.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SuiteReport {
    /// The suite, with its parameters and its variant.
    pub suite: String,
    /// The host.
    pub host: String,
    /// How often it was run.
    pub runs: usize,
    /// Runs that didn't come to their end.
    pub broken_runs: usize,
    /// Whether a later run, made for that (`--retries`), came to its end.
    pub made_up_for: bool,
    /// Tests that passed, or failed as was expected, in each run.
    pub passed: usize,
    /// Tests that failed in each run.
    pub failed: usize,
    /// Tests that failed in some runs.
    pub flaky: usize,
    /// Tests that were skipped.
    pub skipped: usize,
    /// Tests that were to run and didn't, in any run.
    pub not_run: usize,
    /// What was wrong with its output.
    pub problems: Vec<String>,
    /// Tests that aren't in order, the worst first.
    pub tests: Vec<TestReport>,
    /// Why tests were skipped, and how many; the most frequent reason first.
    pub skip_reasons: Vec<(String, usize)>,
    /// Tests that work again, and failed before.
    pub fixed: Vec<String>,
}

impl SuiteReport {
    /// Whether a test passed or failed: a suite whose tests were all skipped says nothing of the software.
    fn ran_tests(&self) -> bool {
        self.passed + self.failed + self.flaky > 0
    }
}

/// What a test that isn't in order did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TestReport {
    /// Its name.
    pub test: String,
    /// `fail`, `flaky` or `notrun`.
    pub verdict: TestVerdict,
    /// Its worst outcome: `fail`, `error`, `timeout`, `crash 11`, …
    pub outcome: String,
    /// Runs that failed.
    pub failed: u32,
    /// Runs that say whether it works.
    pub runs: u32,
    /// How often it fails since it changed last, over earlier studies too.
    pub rate: Option<FailureRate>,
    /// How it stands in its history: `regression`, `new failure`, `still failing`, `flaky`, …; none where there is no history.
    pub state: Option<&'static str>,
    /// The version or study since which it fails.
    pub since: Option<String>,
    /// How many more runs would tell whether it changed.
    pub more_runs: Option<u64>,
    /// The first line of its failure.
    pub message: Option<String>,
    /// The last lines of its log.
    pub log: Vec<String>,
    /// The trial that they are of.
    pub trial: u32,
}

/// How a test did in all runs of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TestVerdict {
    /// It failed in each run.
    Fail,
    /// It failed in some runs.
    Flaky,
    /// It was to run and never did.
    NotRun,
}

impl TestVerdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fail => "FAIL",
            Self::Flaky => "FLAKY",
            Self::NotRun => "NOT RUN",
        }
    }
}

/// The last lines of a log, without blank ones at its end.
pub fn last_lines(log: &str) -> Vec<String> {
    let lines: Vec<&str> = log.trim_end().lines().collect();
    let from = lines.len().saturating_sub(LOG_LINES);
    lines[from..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}

impl TestStudy {
    /// What a gate asks: every suite ran tests and came to its end in each run, or in one that was made for that, and no test failed in
    /// each of its runs or wasn't run.
    pub fn is_in_order(&self) -> bool {
        let in_order = |it: &SuiteReport| {
            let is_whole = it.broken_runs == 0 || it.made_up_for;
            it.ran_tests() && it.failed == 0 && it.not_run == 0 && is_whole
        };
        let told = self.failed_trials.iter().all(|trial| trial.made_up_for);
        !self.suites.is_empty() && self.suites.iter().all(in_order) && told
    }

    /// Whether a test failed in some of its runs.
    pub fn has_flaky_tests(&self) -> bool {
        self.suites.iter().any(|suite| suite.flaky > 0)
    }

    fn sum(&self, of: impl Fn(&SuiteReport) -> usize) -> usize {
        self.suites.iter().map(of).sum()
    }

    /// The tests that aren't in order, with their suites.
    fn listed(&self) -> impl Iterator<Item = (&SuiteReport, &TestReport)> {
        let suites = self.suites.iter();
        suites.flat_map(|suite| suite.tests.iter().map(move |test| (suite, test)))
    }

    /// The whole in one line: "2 new failures, 1 fixed, 3 flaky, 409 passed".
    pub fn summary(&self) -> String {
        let is_new = |test: &TestReport| {
            test.verdict == TestVerdict::Fail
                && matches!(test.state, Some("new failure" | "regression"))
        };
        let failed = self.sum(|it| it.failed);
        let new = self.listed().filter(|(_, test)| is_new(test)).count();
        let fixed = self.sum(|it| it.fixed.len());
        let mut parts = Vec::new();
        if new > 0 {
            parts.push(counted(new, "new failure"));
        }
        if failed > new {
            let word = if new > 0 { "more failed" } else { "failed" };
            parts.push(format!("{} {word}", failed - new));
        }
        for (count, word) in [
            (fixed, "fixed"),
            (self.sum(|it| it.flaky), "flaky"),
            (self.sum(|it| it.not_run), "not run"),
            (self.sum(|it| it.passed), "passed"),
            (self.sum(|it| it.skipped), "skipped"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {word}"));
            }
        }
        if parts.is_empty() {
            return "no test ran".to_owned();
        }
        parts.join(", ")
    }

    fn sentences(&self) -> Vec<(String, Tone)> {
        let tone = match (self.is_in_order(), self.has_flaky_tests()) {
            (false, _) => Tone::Bad,
            (true, true) => Tone::Changed,
            (true, false) => Tone::Good,
        };
        let mut said = vec![(self.summary(), tone)];
        for trial in self.failed_trials.iter() {
            let (tone, after) = match trial.made_up_for {
                true => (Tone::Plain, "; run again"),
                false => (Tone::Bad, ""),
            };
            let FailedTrial {
                trial,
                suite,
                reason,
                ..
            } = trial;
            said.push((
                format!("{suite} wasn't run in trial {trial}: {reason}{after}"),
                tone,
            ));
        }
        for suite in self.suites.iter().filter(|suite| suite.broken_runs > 0) {
            let (tone, after) = match suite.made_up_for {
                true => (Tone::Plain, ", and did when it was run again"),
                false => (Tone::Bad, ""),
            };
            let broken = format!(
                "{} didn't come to its end in {} of {}{after}",
                suite.suite,
                suite.broken_runs,
                counted(suite.runs, "run")
            );
            said.push((broken, tone));
        }
        for suite in self.suites.iter().filter(|suite| !suite.ran_tests()) {
            let SuiteReport {
                suite,
                host,
                skip_reasons,
                ..
            } = suite;
            let mut nothing = format!("{suite} ran no test on {host}");
            if let Some((why, _)) = skip_reasons.first() {
                nothing.push_str(&format!(": {why}"));
            }
            said.push((nothing, Tone::Bad));
        }
        for suite in &self.suites {
            for problem in &suite.problems {
                said.push((format!("{}: {problem}", suite.suite), Tone::Plain));
            }
        }
        said
    }

    fn suites_table(&self) -> Table {
        let mut table = Table::new(vec![
            left("suite"),
            left("host"),
            right("runs"),
            right("passed"),
            right("failed"),
            right("flaky"),
            right("skipped"),
            right("not run"),
        ]);
        for suite in &self.suites {
            let count = |number: usize, tone: Tone| match number {
                0 => field("0"),
                some => field(some.to_string()).with_tone(tone),
            };
            table.row(vec![
                field(suite.suite.clone()),
                field(suite.host.clone()),
                field(suite.runs.to_string()),
                field(suite.passed.to_string()),
                count(suite.failed, Tone::Bad),
                count(suite.flaky, Tone::Changed),
                field(suite.skipped.to_string()),
                count(suite.not_run, Tone::Bad),
            ]);
        }
        table
    }

    fn tests_table(&self) -> Table {
        let mut table = Table::new(vec![
            left("test"),
            left(""),
            right("failed"),
            left("before"),
            left("what it said"),
        ]);
        let several = self.suites.len() > 1;
        let mut last = None;
        for (suite, test) in self.listed().take(MOST_LISTED) {
            if several && last != Some(&suite.suite) {
                table.group(suite.suite.clone());
                last = Some(&suite.suite);
            }
            let tone = match test.verdict {
                TestVerdict::Flaky => Tone::Changed,
                TestVerdict::Fail | TestVerdict::NotRun => Tone::Bad,
            };
            let verdict = match test.outcome.as_str() {
                "fail" | "notrun" => test.verdict.word().to_owned(),
                other => format!("{} ({other})", test.verdict.word()),
            };
            let failed = match test.verdict {
                TestVerdict::NotRun => String::new(),
                _ => format!("{} of {}", test.failed, test.runs),
            };
            table.row(vec![
                field(test.test.clone()),
                field(verdict).with_tone(tone),
                field(failed),
                field(test.standing()),
                field(clipped(
                    test.message.as_deref().unwrap_or(""),
                    MESSAGE_WIDTH,
                )),
            ]);
        }
        table
    }

    fn log_sections(&self) -> impl Iterator<Item = Section> {
        let with_log = self.listed().filter(|(_, test)| !test.log.is_empty());
        with_log.take(MOST_LOGS).map(|(suite, test)| {
            let heading = format!("{} of {}, trial {}", test.test, suite.suite, test.trial);
            Section::new(heading, Body::Verbatim(test.log.join("\n"))).folded()
        })
    }
}

impl TestReport {
    /// How it stands in its history, in words.
    fn standing(&self) -> String {
        let Some(state) = self.state else {
            return String::new();
        };
        let mut text = state.to_owned();
        if let Some(since) = &self.since {
            text.push_str(&format!(" since {since}"));
        }
        if let Some(rate) = self.rate.filter(|_| matches!(state, "flaky" | "unstable")) {
            text.push_str(&format!(
                ", fails {} [{}, {}]",
                share(rate.rate),
                share(rate.interval.low),
                share(rate.interval.high)
            ));
        }
        if let Some(more) = self.more_runs {
            text.push_str(&format!(
                ", {} would tell",
                counted(more as usize, "more run")
            ));
        }
        text
    }
}

impl Render for TestStudy {
    type View<'v> = &'v Self;

    fn view(&self) -> &Self {
        self
    }

    fn document(&self) -> Document {
        let mut document = Document::new(self.study.to_string());
        for (text, tone) in self.sentences() {
            document = document.with_sentence(text, tone);
        }
        document = document
            .with_section(Section::table("", self.suites_table()))
            .with_section(Section::table("Not in order", self.tests_table()));
        let left_out = self.listed().count().saturating_sub(MOST_LISTED);
        if left_out > 0 {
            let more = format!("{} more: --format json has all", counted(left_out, "test"));
            document = document.with_section(Section::list("", vec![more]));
        }
        for section in self.log_sections() {
            document = document.with_section(section);
        }
        let fixed = self.suites.iter().flat_map(|suite| {
            let fixed = suite.fixed.iter();
            fixed.map(|test| format!("{}: {test}", suite.suite))
        });
        document = document.with_section(Section::list("Fixed", fixed.collect()));
        let skips = self.suites.iter().flat_map(|suite| {
            let reasons = suite.skip_reasons.iter();
            reasons.map(|(reason, count)| format!("{}: {count} × {reason}", suite.suite))
        });
        document.with_section(Section::list("Skipped", skips.collect()).folded())
    }
}
