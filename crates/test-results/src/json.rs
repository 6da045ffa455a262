//! JSON lines: `go test -json`, libtest's and nextest's, pytest-reportlog's. And pytest-json-report's document.
//!
//! Formats: `go doc test2json`; <https://doc.rust-lang.org/rustc/tests/index.html#--format-format>,
//! <https://nexte.st/docs/machine-readable/libtest-json/>; <https://github.com/pytest-dev/pytest-reportlog>;
//! <https://github.com/numirias/pytest-json-report>.

use crate::{
    lines::LineDecoder,
    open::{Held, OpenTests},
    result::{Log, Outcome, ProblemKind, TestResult, path},
    sink::{Decoder, Sink},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Longest element of a document, in bytes.
const MAX_ELEMENT: usize = 4 << 20;

/// A line's JSON, if it is an object. Other lines (of a build, say) stand between such.
fn object<'a, T: Deserialize<'a>>(line: &'a str, to: &mut Sink<'_>) -> Option<T> {
    let line = line.trim();
    if !line.starts_with('{') {
        return None;
    }
    match serde_json::from_str(line) {
        Ok(read) => Some(read),
        Err(error) => {
            to.invalid_json(&error);
            None
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
    elapsed: Option<f64>,
    failed_build: Option<IgnoredAny>,
}

/// `go test -json`. A test's name is its package's path and its own. A package has a result of its own only where none of its tests
/// accounts for its failure: it doesn't build, or panics outside of tests.
#[derive(Default)]
pub(crate) struct GoTest {
    packages: OpenTests<GoPackage>,
    build: Log,
}

#[derive(Default)]
struct GoPackage {
    failures: u64,
    /// The test under way that wrote of a panic.
    panicked: String,
    log: Log,
}

impl Held for GoPackage {
    fn bytes(&self) -> usize {
        self.panicked.len() + self.log.len()
    }
}

impl LineDecoder for GoTest {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        let Some(event) = object::<GoEvent>(line, to) else {
            return;
        };
        let GoEvent {
            package,
            test,
            output,
            ..
        } = event;
        let name = path([package.as_str(), test.as_str()]);
        let outcome = match event.action.as_str() {
            "build-output" => return self.build.push(&output),
            _ if package.is_empty() => return,
            "run" => return to.started(name),
            "output" => {
                if test.is_empty() {
                    self.packages
                        .change(&package, to, |package| package.log.push(&output));
                } else if output.starts_with("panic: ") {
                    self.packages
                        .change(&package, to, |package| package.panicked.clone_from(&name));
                }
                return to.log(&name, &output);
            }
            "pass" => Outcome::Pass,
            "fail" => Outcome::Fail,
            "skip" => Outcome::Skip,
            _ => return,
        };
        let result = TestResult::new(name, outcome).with_seconds(event.elapsed);
        if test.is_empty() {
            let ended = self.packages.remove(&package).unwrap_or_default();
            if outcome != Outcome::Fail {
                benchmarks_ended(&package, to);
            }
            if outcome == Outcome::Fail && ended.failures == 0 {
                self.package_failed(result, ended.log, event.failed_build.is_some(), to);
            }
        } else {
            self.test_ended(&package, result, to);
        }
    }
}

/// The benchmarks of a package that has ended: `go test` says of one that it began, and of its end only where it failed.
fn benchmarks_ended(package: &str, to: &mut Sink<'_>) {
    for name in to.running_below(package) {
        let test = name.strip_prefix(package).unwrap_or_default();
        if test.trim_start_matches('/').starts_with("Benchmark") {
            to.result(TestResult::new(name, Outcome::Pass));
        }
    }
}

impl GoTest {
    /// A package failed for no test's sake.
    fn package_failed(&mut self, mut result: TestResult, log: Log, build: bool, to: &mut Sink<'_>) {
        let mut all = if build {
            std::mem::take(&mut self.build)
        } else {
            Log::default()
        };
        all.push(&log.into_string());
        result.outcome = Outcome::Error;
        let said = all.as_str().lines().find(|line| !line.starts_with('#'));
        let result = result.with_message(said.unwrap_or_default());
        to.result(result.with_log(all.into_string()));
    }

    fn test_ended(&mut self, package: &str, mut result: TestResult, to: &mut Sink<'_>) {
        if result.outcome == Outcome::Fail {
            let panicked = self.packages.change(package, to, |package| {
                package.failures += 1;
                package.panicked == result.name
            });
            if panicked {
                result.outcome = Outcome::Crash(None);
            }
        }
        to.result_with(result, |result, log| {
            if result.outcome == Outcome::Pass {
                return;
            }
            // `    a_test.go:4: not equal`; a skipped test's reason stands there too.
            let said = log.lines().find_map(|line| match line.split_once(".go:") {
                _ if line.starts_with("panic: ") => Some(line),
                Some((_, rest)) if line.starts_with("    ") => {
                    rest.split_once(": ").map(|(_, said)| said)
                }
                _ => None,
            });
            result.message = said.map(str::to_owned);
        });
    }
}

#[derive(Deserialize)]
struct LibtestEvent {
    #[serde(rename = "type")]
    kind: String,
    event: Option<String>,
    #[serde(default)]
    name: String,
    exec_time: Option<f64>,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    message: String,
    reason: Option<String>,
    #[serde(default)]
    ignored: usize,
    nextest: Option<NextestSuite>,
}

/// The program whose tests begin or end, as `libtest-json-plus` says it.
#[derive(Deserialize)]
struct NextestSuite {
    #[serde(rename = "crate")]
    package: String,
    test_binary: String,
}

/// libtest's JSON lines and nextest's, with what `libtest-json-plus` adds. nextest writes names as `package::binary$module::test#N`,
/// N being the number of the last of several tries.
#[derive(Default)]
pub(crate) struct LibtestJson {
    /// Test programs of nextest, by the path that names of their tests begin with.
    programs: OpenTests<NextestProgram>,
    benchmarks: Benchmarks,
}

/// A test program of nextest.
#[derive(Default)]
struct NextestProgram {
    /// Its ignored tests, as it said when it ended last; none where it goes on.
    ignored: usize,
    /// Those of them that have a result.
    told: usize,
}

impl Held for NextestProgram {
    fn bytes(&self) -> usize {
        0
    }
}

impl LineDecoder for LibtestJson {
    /// nextest doesn't say that a test is ignored where its program has ended before.
    fn finish(&mut self, to: &mut Sink<'_>) {
        for (program, NextestProgram { ignored, told }) in self.programs.drain() {
            let left_open = to.running_below(&program);
            if left_open.len() <= ignored.saturating_sub(told) {
                for name in left_open {
                    to.result(TestResult::new(name, Outcome::Skip));
                }
            }
        }
    }

    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        let Some(event) = object::<LibtestEvent>(line, to) else {
            return;
        };
        let outcome = match (event.kind.as_str(), event.event.as_deref()) {
            ("test", Some("started")) => return to.started(rust_path(&event.name).0),
            ("test", Some("ok")) => Outcome::Pass,
            ("test", Some("ignored")) => {
                if let Some((program, _)) = event.name.split_once('$') {
                    let program = path(program.split("::"));
                    self.programs.change(&program, to, |it| it.told += 1);
                }
                Outcome::Skip
            }
            // It runs longer than usual, and goes on.
            ("test", Some("timeout")) => return,
            ("test", Some("failed")) if event.reason.as_deref() == Some("time limit exceeded") => {
                Outcome::Timeout
            }
            ("test", Some("failed")) => Outcome::Fail,
            ("bench", _) => {
                self.benchmarks.found(to);
                Outcome::Pass
            }
            ("test", event) => {
                let word = event.unwrap_or_default().to_owned();
                return to.problem(ProblemKind::UnknownOutcome(word));
            }
            ("suite", Some(word)) => {
                if let Some(program) = event.nextest {
                    let name = path([program.package.as_str(), program.test_binary.as_str()]);
                    let ignored = if word == "started" { 0 } else { event.ignored };
                    self.programs.change(&name, to, |it| it.ignored = ignored);
                }
                return;
            }
            _ => return,
        };
        let (name, tries) = rust_path(&event.name);
        let mut result = TestResult::new(name, outcome).with_seconds(event.exec_time);
        // Only what failed is tried again.
        result.reruns = vec![Outcome::Fail; tries as usize];
        let said = if event.message.is_empty() {
            panic_message(&event.stdout)
        } else {
            &event.message
        };
        if outcome != Outcome::Pass {
            result = result.with_message(said);
        }
        to.result(result.with_log(event.stdout));
    }
}

/// `package::binary$module::test#2` as a path, and how many tries there were before.
fn rust_path(name: &str) -> (String, u32) {
    let numbered = name.rsplit_once('#').and_then(|(name, number)| {
        let number: u32 = number.parse().ok()?;
        (name.contains('$') && (2..=1000).contains(&number)).then_some((name, number - 1))
    });
    let (name, tries) = numbered.unwrap_or((name, 0));
    (path(name.replacen('$', "::", 1).split("::")), tries)
}

/// The line after the one that says where a panic was.
pub(crate) fn panic_message(log: &str) -> &str {
    let mut lines = log.lines();
    let place = lines.find(|line| line.starts_with("thread '") && line.contains(" panicked at "));
    let older = place.and_then(|line| line.split_once(" panicked at '"));
    match older {
        Some((_, said)) => said.rsplit_once("', ").map_or(said, |(said, _)| said),
        None => lines.next().unwrap_or_default(),
    }
}

/// libtest's own text.
#[derive(Default)]
pub(crate) struct LibtestText {
    /// The program whose tests follow, as cargo names it on standard error; nothing where that isn't in the text.
    program: Option<String>,
    /// The test whose name came without an outcome, because what it wrote is between.
    begun: Option<String>,
    planned: Option<u64>,
    found: u64,
    /// Failed tests, whose output follows: names and lines.
    failed: Vec<(String, u64)>,
    logs: Vec<(String, Log)>,
    in_logs: bool,
    benchmarks: Benchmarks,
}

/// Whether a document has benchmarks, which is said once.
#[derive(Default)]
struct Benchmarks(bool);

impl Benchmarks {
    fn found(&mut self, to: &mut Sink<'_>) {
        if !std::mem::replace(&mut self.0, true) {
            let what = "of benchmarks it is read that they ran, not their times";
            to.problem(ProblemKind::NotRead(what.to_owned()));
        }
    }
}

impl LibtestText {
    fn name(&self, test: &str) -> String {
        let test = test.trim_end_matches(" - should panic");
        path(self.program.as_deref().into_iter().chain(test.split("::")))
    }

    /// Failures come once their output has: after all tests of a program.
    fn release(&mut self, to: &mut Sink<'_>) {
        let mut logs: HashMap<_, _> = self.logs.drain(..).collect();
        for (name, line) in std::mem::take(&mut self.failed) {
            let log = logs.remove(&name).unwrap_or_default().into_string();
            let mut result =
                TestResult::new(self.name(&name), Outcome::Fail).with_message(panic_message(&log));
            result.line = line;
            to.result(result.with_log(log));
        }
        if let Some(planned) = self.planned.take()
            && planned != self.found
        {
            let found = self.found;
            to.problem(ProblemKind::PlanMismatch { planned, found });
        }
        self.found = 0;
    }

    fn end_test(&mut self, name: &str, said: &str, to: &mut Sink<'_>) -> bool {
        // `--report-time` adds `<0.123s>`.
        let (said, seconds) = match said.strip_suffix("s>").and_then(|s| s.rsplit_once(" <")) {
            Some((said, seconds)) => (said, crate::result::seconds(seconds)),
            None => (said, None),
        };
        let (word, reason) = said.split_once(", ").unwrap_or((said, ""));
        let outcome = match word {
            "ok" => Outcome::Pass,
            "FAILED" | "failed" => Outcome::Fail,
            "ignored" => Outcome::Skip,
            _ if word.starts_with("bench:") => {
                self.benchmarks.found(to);
                Outcome::Pass
            }
            _ => return false,
        };
        self.found += 1;
        if outcome == Outcome::Fail {
            let name = name.trim_end_matches(" - should panic");
            self.failed.push((name.to_owned(), to.line()));
            return true;
        }
        let is_skipped = outcome == Outcome::Skip;
        let result = TestResult::new(self.name(name), outcome);
        let reason = if is_skipped { reason } else { "" };
        to.result(result.with_message(reason).with_seconds(seconds));
        true
    }
}

/// `     Running tests/x.rs (target/debug/deps/x-0123456789abcdef)` and `   Doc-tests x`, as cargo writes them. Several programs of a
/// workspace have the same source or the same name, so that both are in the name.
fn cargo_program(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(package) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{package} documentation"));
    }
    let (source, program) = line.strip_prefix("Running ")?.split_once(" (")?;
    let (_, program) = program.strip_suffix(')')?.rsplit_once(['/', '\\'])?;
    let (name, _hash) = program.rsplit_once('-')?;
    let source = source.trim_start_matches("unittests ");
    Some(format!("{name} {source}"))
}

impl LineDecoder for LibtestText {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        if !self.in_logs
            && let Some(program) = cargo_program(line)
        {
            self.release(to);
            self.program = Some(program);
            return;
        }
        let count = line
            .strip_prefix("running ")
            .and_then(|rest| rest.split_once(' '));
        if let Some((planned, "test" | "tests")) = count
            && let Ok(planned) = planned.parse()
        {
            self.release(to);
            self.planned = Some(planned);
            return;
        }
        if let Some((name, said)) = line
            .strip_prefix("test ")
            .and_then(|l| l.split_once(" ... "))
        {
            if !self.end_test(name, said, to) {
                // The test wrote to the line (`--nocapture`); its outcome stands at a later line's end.
                to.started(self.name(name));
                self.begun = Some(name.to_owned());
            }
            return;
        }
        if let Some(name) = &self.begun
            && matches!(line, "ok" | "FAILED")
        {
            let name = name.clone();
            self.begun = None;
            self.end_test(&name, line, to);
            return;
        }
        let stdout = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = stdout {
            self.logs.push((name.to_owned(), Log::default()));
            self.in_logs = true;
        } else if line.starts_with("test result: ") {
            self.release(to);
        } else if line == "failures:" {
            // Before the outputs, and again before a list of names.
            self.in_logs = false;
        } else if self.in_logs
            && let Some((_, log)) = self.logs.last_mut()
        {
            log.push_line(line);
        }
    }

    fn unfinished(&mut self, line: &str, to: &mut Sink<'_>) {
        let begun = line
            .strip_prefix("test ")
            .and_then(|l| l.split_once(" ... "));
        if let Some((name, "")) = begun {
            to.started(self.name(name));
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        self.release(to);
    }

    fn held(&self) -> u64 {
        self.failed.len() as u64
    }
}

#[derive(Deserialize)]
struct ReportLine {
    #[serde(rename = "$report_type")]
    kind: Option<String>,
    #[serde(default)]
    nodeid: String,
    #[serde(default)]
    outcome: String,
    when: Option<String>,
    duration: Option<f64>,
    longrepr: Option<Value>,
    wasxfail: Option<String>,
    #[serde(default)]
    sections: Vec<(String, String)>,
    #[serde(rename = "_subtest.context")]
    subtest: Option<SubtestContext>,
}

/// What tells subtests of one test apart.
#[derive(Deserialize)]
struct SubtestContext {
    msg: Option<String>,
    #[serde(default)]
    kwargs: BTreeMap<String, Value>,
}

impl SubtestContext {
    /// `[message] (i=1)`, as pytest shows it.
    fn shown(&self) -> String {
        let values = self.kwargs.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        });
        let values: Vec<String> = values.collect();
        let message = self.msg.as_deref().map(|message| format!("[{message}] "));
        format!("{}({})", message.unwrap_or_default(), values.join(", "))
    }
}

/// A module that has no tests because it can't be imported, or is skipped as a whole. Others are none that is told.
fn uncollected(node: &str, outcome: &str, text: &str, to: &mut Sink<'_>) {
    let name = pytest_path(node);
    match outcome {
        "failed" => {
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            let message = last.unwrap_or_default().trim_start_matches("E ");
            let result = TestResult::new(name, Outcome::Error).with_message(message);
            to.result(result.with_log(text));
        }
        "skipped" => to.result(TestResult::new(name, Outcome::Skip).with_message(text)),
        _ => {}
    }
}

/// pytest-reportlog: a line for each of the three phases of a test.
#[derive(Default)]
pub(crate) struct PytestLog {
    open: OpenTests<PytestTest>,
}

#[derive(Default)]
struct PytestTest {
    outcome: Option<Outcome>,
    message: String,
    seconds: f64,
    log: Log,
    reruns: Vec<Outcome>,
    /// After its teardown it runs again.
    again: bool,
}

impl LineDecoder for PytestLog {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        let Some(report) = object::<ReportLine>(line, to) else {
            return;
        };
        let is_subtest = match report.kind.as_deref() {
            Some("CollectReport") => {
                let text = match report.outcome.as_str() {
                    "skipped" => pytest_message(report.longrepr.as_ref()),
                    _ => long_text(report.longrepr.as_ref()),
                };
                return uncollected(&report.nodeid, &report.outcome, &text, to);
            }
            Some("TestReport") => false,
            Some("SubTestReport") => true,
            _ => return,
        };
        let name = pytest_path(&report.nodeid);
        if !self.open.contains(&name) {
            to.started(name.clone());
        }
        let phase = self.open.change(&name, to, |test| match is_subtest {
            true => {
                test.subtest(&report);
                Ok(false)
            }
            false => test.phase(&report),
        });
        match phase {
            Err(word) => to.problem(ProblemKind::UnknownOutcome(word)),
            Ok(false) => {}
            Ok(true) => {
                if let Some(test) = self.open.remove(&name) {
                    to.result(test.result(name));
                }
            }
        }
    }
}

impl Held for PytestTest {
    fn bytes(&self) -> usize {
        self.message.len() + self.log.len() + self.reruns.len() * size_of::<Outcome>()
    }
}

impl PytestTest {
    /// Reads one of its phases; whether it was the last one. A word that is no outcome is refused.
    fn phase(&mut self, report: &ReportLine) -> Result<bool, String> {
        let when = report.when.as_deref().unwrap_or_default();
        // pytest-rerunfailures before 13 doesn't write the teardown of a run that is repeated.
        self.again &= when != "setup";
        self.seconds += report.duration.unwrap_or(0.0);
        let message = pytest_message(report.longrepr.as_ref());
        let outcome = match (report.outcome.as_str(), when, &report.wasxfail) {
            ("passed", _, _) => None,
            ("skipped", _, Some(_)) => Some(Outcome::ExpectedFail),
            ("skipped", _, None) => Some(Outcome::Skip),
            ("failed", "call", _) if is_strict_xpass(&message) => Some(Outcome::UnexpectedPass),
            ("failed", "call", _) => Some(Outcome::Fail),
            ("failed", _, _) => Some(Outcome::Error),
            ("rerun", when, _) => {
                // pytest-rerunfailures.
                let failure = if when == "call" {
                    Outcome::Fail
                } else {
                    Outcome::Error
                };
                self.reruns.push(failure);
                self.again = true;
                None
            }
            (word, _, _) => return Err(word.to_owned()),
        };
        // Of a failure and a failed teardown the first counts.
        if let Some(outcome) = outcome
            && self.outcome.is_none_or(|known| !known.is_failure())
        {
            self.outcome = Some(outcome);
            let reason = report.wasxfail.as_ref().filter(|said| !said.is_empty());
            self.message = reason.cloned().unwrap_or(message);
        }
        if (report.outcome.as_str(), when) == ("passed", "call") && self.outcome.is_none() {
            // pytest counts it as passed, unless the mark is strict.
            self.message = match report.wasxfail.as_deref() {
                None => String::new(),
                Some("") => MENDED.to_owned(),
                Some(reason) => format!("{MENDED}: {reason}"),
            };
        }
        if report.outcome == "failed" {
            self.log.push(&long_text(report.longrepr.as_ref()));
        }
        if when != "teardown" || std::mem::take(&mut self.again) {
            return Ok(false);
        }
        for (title, text) in &report.sections {
            self.log.push_line(&format!("---- {title} ----"));
            self.log.push(text);
        }
        Ok(true)
    }

    /// A part of a test that pytest counts by itself. Its failure is the test's: the test's own report says that it passed.
    fn subtest(&mut self, report: &ReportLine) {
        if report.outcome != "failed" {
            return;
        }
        let which = report.subtest.as_ref().map(SubtestContext::shown);
        let which = which.unwrap_or_default();
        if self.outcome.is_none_or(|known| !known.is_failure()) {
            self.outcome = Some(Outcome::Fail);
            let message = pytest_message(report.longrepr.as_ref());
            self.message = format!("{which} {message}");
        }
        self.log.push_line(&format!("---- subtest {which} ----"));
        self.log.push(&long_text(report.longrepr.as_ref()));
    }

    fn result(self, name: String) -> TestResult {
        let result = TestResult::new(name, self.outcome.unwrap_or(Outcome::Pass));
        TestResult {
            reruns: self.reruns,
            seconds: Some(self.seconds),
            log: self.log.into_string(),
            ..result.with_message(&self.message)
        }
    }
}

/// `tests/test_a.py::TestGroup::test_inside[x::y]` as a path.
fn pytest_path(node: &str) -> String {
    let file = node.find("::").unwrap_or(node.len());
    let values = node[file..].find('[').map_or(node.len(), |at| file + at);
    let (names, values) = node.split_at(values);
    path([format!("{}{values}", names.replace("::", "/")).as_str()])
}

/// Why a test was skipped, of Python's `('file', 6, 'Skipped: why')`.
fn skip_reason(text: &str) -> Option<String> {
    let (before, rest) = text.strip_prefix('(')?.split_once("Skipped: ")?;
    let quote = before.chars().next_back()?;
    let mut characters = rest.strip_suffix(')')?.strip_suffix(quote)?.chars();
    let mut reason = String::new();
    while let Some(character) = characters.next() {
        reason.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(escaped) => escaped,
                None => '\\',
            },
            plain => plain,
        });
    }
    Some(reason)
}

/// Of a test that is marked as `xfail`, not strictly, and passed.
const MENDED: &str = "expected to fail";

fn is_strict_xpass(message: &str) -> bool {
    message.starts_with("[XPASS(strict)]") || message.ends_with("Unexpected success")
}

/// A failure's message, in any of the forms in which pytest writes it.
fn pytest_message(said: Option<&Value>) -> String {
    match said {
        Some(Value::String(text)) => text.clone(),
        // File, line, `Skipped: why`.
        Some(Value::Array(parts)) => {
            let text = parts.last().and_then(Value::as_str).unwrap_or_default();
            text.strip_prefix("Skipped: ").unwrap_or(text).to_owned()
        }
        Some(Value::Object(parts)) => {
            let crash = parts
                .get("reprcrash")
                .and_then(|crash| crash.get("message"));
            crash.and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// All strings of a failure's description, each on its line: the traceback.
fn long_text(said: Option<&Value>) -> String {
    fn collect(value: &Value, text: &mut String) {
        match value {
            Value::String(line) => {
                text.push_str(line);
                text.push('\n');
            }
            Value::Array(parts) => parts.iter().for_each(|part| collect(part, text)),
            Value::Object(parts) => {
                for (key, part) in parts {
                    if matches!(
                        key.as_str(),
                        "reprtraceback" | "reprentries" | "data" | "lines" | "longrepr"
                    ) {
                        collect(part, text);
                    }
                }
            }
            _ => {}
        }
    }
    let mut text = String::new();
    if let Some(said) = said {
        collect(said, &mut text);
    }
    text
}

/// pytest-json-report: one document, of which the elements of `tests` and `collectors` are read one by one.
#[derive(Default)]
pub(crate) struct PytestReport {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Text of the last string at depth 1: the key of what follows.
    key: Vec<u8>,
    /// The array that is open at depth 2.
    array: Option<ReportArray>,
    element: Vec<u8>,
    too_long: bool,
    line: u64,
    begun_line: u64,
    ended: bool,
}

/// An array of the document that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReportArray {
    Tests,
    /// Files and classes, of which those matter that have no tests.
    Collectors,
}

impl ReportArray {
    fn called(key: &[u8]) -> Option<ReportArray> {
        match key {
            b"tests" => Some(ReportArray::Tests),
            b"collectors" => Some(ReportArray::Collectors),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct ReportedCollector {
    nodeid: String,
    outcome: String,
    #[serde(default)]
    longrepr: String,
}

#[derive(Deserialize)]
struct ReportedTest {
    nodeid: String,
    outcome: String,
    setup: Option<ReportedPhase>,
    call: Option<ReportedPhase>,
    teardown: Option<ReportedPhase>,
}

#[derive(Deserialize)]
struct ReportedPhase {
    duration: Option<f64>,
    crash: Option<ReportedCrash>,
    longrepr: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
    #[serde(default)]
    outcome: String,
}

#[derive(Deserialize)]
struct ReportedCrash {
    message: String,
}

impl Decoder for PytestReport {
    fn feed(&mut self, bytes: &[u8], to: &mut Sink<'_>) {
        for byte in bytes {
            self.byte(*byte, to);
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        to.at_line(self.line + 1);
        if !self.ended {
            to.problem(ProblemKind::Invalid(
                "invalid JSON: the document isn't at its end".to_owned(),
            ));
        }
    }
}

impl PytestReport {
    fn byte(&mut self, byte: u8, to: &mut Sink<'_>) {
        self.line += u64::from(byte == b'\n');
        if self.array.is_some() && self.depth >= 3 {
            self.keep(byte);
        }
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ if self.depth == 1 && self.key.len() < 16 => self.key.push(byte),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 {
                    self.key.clear();
                }
            }
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 2 {
                    let array = ReportArray::called(&self.key);
                    self.array = array.filter(|_| byte == b'[');
                }
                if self.array.is_some() && self.depth == 3 {
                    self.begun_line = self.line + 1;
                    self.keep(byte);
                }
            }
            b'}' | b']' => {
                if let Some(array) = self.array.filter(|_| self.depth == 3) {
                    self.element(array, to);
                }
                self.depth = self.depth.saturating_sub(1);
                self.array = self.array.filter(|_| self.depth >= 2);
                self.ended |= self.depth == 0;
            }
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.element.len() < MAX_ELEMENT {
            self.element.push(byte);
        } else {
            self.too_long = true;
        }
    }

    fn element(&mut self, array: ReportArray, to: &mut Sink<'_>) {
        to.at_line(self.begun_line);
        let element = std::mem::take(&mut self.element);
        if std::mem::take(&mut self.too_long) {
            if array == ReportArray::Collectors {
                // One with a long list of tests: it was collected.
                return;
            }
            to.problem(ProblemKind::TooLong {
                what: "a test",
                limit: MAX_ELEMENT,
            });
            return;
        }
        let text = String::from_utf8_lossy(&element);
        if let std::borrow::Cow::Owned(_) = text {
            to.problem(ProblemKind::NotUtf8);
        }
        let read = match array {
            ReportArray::Tests => serde_json::from_str(&text).map(|test| reported(test, to)),
            ReportArray::Collectors => {
                serde_json::from_str(&text).map(|collector: ReportedCollector| {
                    let said = collector.longrepr;
                    let said = match collector.outcome.as_str() {
                        "skipped" => skip_reason(&said).unwrap_or(said),
                        _ => said,
                    };
                    uncollected(&collector.nodeid, &collector.outcome, &said, to);
                })
            }
        };
        if let Err(error) = read {
            to.invalid_json(&error);
        }
    }
}

fn reported(test: ReportedTest, to: &mut Sink<'_>) {
    let phases = [test.setup, test.call, test.teardown];
    let mut log = Log::default();
    let mut message = String::new();
    let mut seconds = None;
    let mut failed = false;
    for phase in phases.into_iter().flatten() {
        failed |= phase.outcome == "failed";
        if let Some(duration) = phase.duration {
            seconds = Some(seconds.unwrap_or(0.0) + duration);
        }
        if message.is_empty() {
            message = phase.crash.map(|crash| crash.message).unwrap_or_default();
        }
        let said = phase.longrepr.unwrap_or_default();
        if message.is_empty() {
            message = skip_reason(&said).unwrap_or_else(|| said.clone());
        }
        for text in [Some(said), phase.stdout, phase.stderr]
            .into_iter()
            .flatten()
        {
            log.push(&text);
            if !text.is_empty() && !text.ends_with('\n') {
                log.push("\n");
            }
        }
    }
    let outcome = match test.outcome.as_str() {
        "passed" => Outcome::Pass,
        "failed" if is_strict_xpass(&message) => Outcome::UnexpectedPass,
        "failed" => Outcome::Fail,
        "error" => Outcome::Error,
        "skipped" => Outcome::Skip,
        "xfailed" => Outcome::ExpectedFail,
        // pytest counts it as passed, unless the mark is strict.
        "xpassed" => Outcome::Pass,
        // pytest-rerunfailures: the phases are those of the last run.
        "rerun" if failed => Outcome::Fail,
        "rerun" => Outcome::Pass,
        "subtests failed" => Outcome::Fail,
        word if word.starts_with("subtests ") => {
            let kind = "of its subtests only the last one's result is in the report";
            let kind = format!("`{}`: {kind}", pytest_path(&test.nodeid));
            to.problem(ProblemKind::NotRead(kind));
            match failed {
                true => Outcome::Fail,
                false => Outcome::Pass,
            }
        }
        word => {
            to.problem(ProblemKind::UnknownOutcome(word.to_owned()));
            return;
        }
    };
    let message = match outcome {
        Outcome::Pass if test.outcome == "xpassed" => MENDED,
        Outcome::Pass => "",
        _ => &message,
    };
    let mut result = TestResult::new(pytest_path(&test.nodeid), outcome).with_message(message);
    if test.outcome == "rerun" {
        result.reruns.push(Outcome::Fail);
    }
    to.result(result.with_seconds(seconds).with_log(log.into_string()));
}
