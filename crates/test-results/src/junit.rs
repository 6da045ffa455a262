//! JUnit's XML, as many tools write it.
//!
//! There is no specification; read here are Ant's and Surefire's files
//! (<https://maven.apache.org/surefire/maven-surefire-plugin/xsd/surefire-test-report.xsd>, with its `rerunFailure` and
//! `flakyFailure`), and what pytest, nextest, Meson, CTest, bats and GoogleTest add to them. Several documents may follow each other.
//!
//! A test's name is made of the names of its suites, its `classname` where it isn't the last of these or the test's own name, and its name.

use crate::{
    result::{Log, Outcome, TestResult, path, seconds},
    sink::Sink,
    xml::{Attributes, XmlHandler},
};

/// As much of a failure's text as a message is looked for in, in bytes.
const MAX_SAID: usize = 16 << 10;

#[derive(Default)]
pub(crate) struct JUnit {
    suites: Vec<String>,
    case: Option<Case>,
    /// Elements that are open within the test's.
    within: Vec<Element>,
}

struct Case {
    result: TestResult,
    status: String,
    log: Log,
    /// The next text of the log is another element's.
    part_ended: bool,
    /// Text of the element that says the outcome.
    said: Log,
    said_outcome: bool,
    /// It is no test's, but of a suite that couldn't run.
    of_suite: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    /// `failure`, `error` or `skipped`.
    Outcome,
    /// One of an earlier run: all that is in it is of that run.
    Rerun,
    Output,
    Other,
}

impl XmlHandler for JUnit {
    fn open(&mut self, name: &str, attributes: &Attributes<'_>, to: &mut Sink<'_>) {
        let Some(case) = &mut self.case else {
            match name {
                // CTest's build has no name unless it is given one.
                "testsuite" => {
                    let name = attributes.get("name").filter(|name| *name != "(empty)");
                    self.suites.push(name.unwrap_or_default().to_owned());
                }
                "testcase" => self.case = Some(self.begin(attributes, to)),
                "failure" | "error" => {
                    let mut case = self.begin_suite_failure(to);
                    let said = Said::new(name, attributes, "");
                    case.result.outcome = said.outcome();
                    case.result.message = said.message.map(str::to_owned);
                    self.case = Some(case);
                    self.within.push(Element::Outcome);
                }
                _ => {}
            }
            return;
        };
        let element = match name {
            _ if self.within.contains(&Element::Rerun) => Element::Other,
            "failure" | "error" | "skipped" => {
                let kind = Said::new(name, attributes, &case.status);
                // A test that failed and whose teardown failed too has two.
                if !case.said_outcome {
                    case.result.outcome = kind.outcome();
                    case.result.message = kind.message.map(str::to_owned);
                }
                Element::Outcome
            }
            "rerunFailure" | "rerunError" | "flakyFailure" | "flakyError" => {
                let kind = if name.ends_with("Error") {
                    "error"
                } else {
                    "failure"
                };
                let outcome = Said::new(kind, attributes, "").outcome();
                case.result.reruns.push(outcome);
                Element::Rerun
            }
            "system-out" | "system-err" => Element::Output,
            _ => Element::Other,
        };
        self.within.push(element);
    }

    fn text(&mut self, text: &str) {
        let Some(case) = &mut self.case else { return };
        match self.within.last() {
            Some(Element::Outcome) => {
                case.write(text);
                if !case.said_outcome && case.said.len() < MAX_SAID {
                    case.said.push(text);
                }
            }
            Some(Element::Output) => case.write(text),
            _ => {}
        }
    }

    fn close(&mut self, name: &str, to: &mut Sink<'_>) {
        if let Some(element) = self.within.pop() {
            let Some(case) = &mut self.case else { return };
            case.part_ended = true;
            if element == Element::Outcome {
                let said = std::mem::take(&mut case.said);
                if !case.said_outcome {
                    case.say(said.as_str());
                }
            }
            if self.within.is_empty()
                && let Some(case) = self.case.take_if(|case| case.of_suite)
            {
                to.result(case.finish());
            }
        } else if let Some(case) = self.case.take() {
            to.result(case.finish());
        } else if name == "testsuite" {
            self.suites.pop();
        }
    }

    fn end(&mut self, to: &mut Sink<'_>) {
        // The document ends within a test: it has no result.
        if let Some(case) = self.case.take() {
            let mut result = case.finish();
            result.outcome = Outcome::NoExit;
            to.result(result);
        }
    }
}

impl JUnit {
    fn begin(&self, attributes: &Attributes<'_>, to: &Sink<'_>) -> Case {
        let own = attributes.get("name").unwrap_or_default();
        let class = attributes.get("classname").filter(|class| {
            let last = self.suites.last().map(String::as_str);
            last != Some(*class) && *class != own
        });
        let suites = self.suites.iter().map(String::as_str);
        let mut result = TestResult::new(path(suites.chain(class).chain([own])), Outcome::Pass);
        result.line = to.line();
        result.seconds = attributes.get("time").and_then(seconds);
        // GoogleTest before 1.11 has `status="run" result="skipped"`, and no element within.
        let words = ["status", "result"].map(|name| attributes.get(name).unwrap_or_default());
        let skipped = ["notrun", "disabled", "suppressed", "skipped"];
        if words.iter().any(|word| skipped.contains(word)) {
            result.outcome = Outcome::Skip;
        } else if matches!(words[0], "fail" | "failed") {
            result.outcome = Outcome::Fail;
        }
        let [status, result_word] = words;
        let status = if status.is_empty() {
            result_word
        } else {
            status
        };
        Case::new(result, status)
    }

    fn begin_suite_failure(&self, to: &Sink<'_>) -> Case {
        let mut name = path(self.suites.iter().map(String::as_str));
        if name.is_empty() {
            name = path([to.default_name().as_str()]);
        }
        let mut result = TestResult::new(name, Outcome::Error);
        result.line = to.line();
        Case {
            of_suite: true,
            ..Case::new(result, "")
        }
    }
}

impl Case {
    fn new(result: TestResult, status: &str) -> Case {
        Case {
            result,
            status: status.to_owned(),
            log: Log::default(),
            part_ended: false,
            said: Log::default(),
            said_outcome: false,
            of_suite: false,
        }
    }

    /// Text of an element that belongs to the log: each begins a line.
    fn write(&mut self, text: &str) {
        let so_far = self.log.as_str();
        if std::mem::take(&mut self.part_ended) && !so_far.is_empty() && !so_far.ends_with('\n') {
            self.log.push("\n");
        }
        self.log.push(text);
    }

    /// The element that says the outcome has this text.
    fn say(&mut self, text: &str) {
        self.said_outcome = true;
        if self.result.message.is_none() {
            let result = std::mem::replace(&mut self.result, TestResult::new("", Outcome::Pass));
            self.result = result.with_message(text);
        }
        if let Some(message) = &self.result.message {
            self.result.outcome = outcome_by_message(self.result.outcome, message);
        }
    }

    fn finish(self) -> TestResult {
        TestResult {
            log: self.log.into_string(),
            ..self.result
        }
    }
}

/// An element that says an outcome.
struct Said<'a> {
    element: &'a str,
    kind: &'a str,
    message: Option<&'a str>,
    status: &'a str,
}

impl<'a> Said<'a> {
    fn new(element: &'a str, attributes: &'a Attributes<'_>, status: &'a str) -> Said<'a> {
        Said {
            element,
            kind: attributes.get("type").unwrap_or_default(),
            message: attributes.get("message"),
            status,
        }
    }

    fn outcome(&self) -> Outcome {
        // Our own word.
        if let Ok(outcome) = self.kind.parse() {
            return outcome;
        }
        let message = self.message.unwrap_or_default();
        let outcome = match (self.element, self.kind) {
            ("skipped", "pytest.xfail") => Outcome::ExpectedFail,
            // CTest: the program isn't there, or something that it depends on failed.
            ("skipped", _) if self.status == "notrun" && !message.starts_with("SKIP_") => {
                Outcome::NotRun
            }
            ("skipped", _) => Outcome::Skip,
            (_, "test timeout") => Outcome::Timeout,
            (_, "test abort") => Outcome::Crash(None),
            ("error", _) => Outcome::Error,
            _ => Outcome::Fail,
        };
        outcome_by_message(outcome, message)
    }
}

/// What only the message says.
fn outcome_by_message(outcome: Outcome, message: &str) -> Outcome {
    match outcome {
        // pytest's strict ones, unittest's, Meson's.
        Outcome::Fail
            if message.starts_with("[XPASS(strict)]")
                || message.ends_with("Unexpected success")
                || message == "Test unexpectedly passed." =>
        {
            Outcome::UnexpectedPass
        }
        // Meson's.
        Outcome::Error if message == "Test did not finish before configured timeout." => {
            Outcome::Timeout
        }
        // nextest: `process aborted with signal 6 (SIGABRT)`.
        Outcome::Crash(None) => {
            let number = message.split_once("signal ").map(|(_, rest)| rest);
            let number = number.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
            Outcome::Crash(number.and_then(|number| number.parse().ok()))
        }
        other => other,
    }
}
