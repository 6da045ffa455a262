//! CTest: its text, and its `Test.xml`. (`--output-junit` is JUnit.)
//!
//! Format: <https://cmake.org/cmake/help/latest/manual/ctest.1.html>; both were read from CTest 3.25's output.

use crate::{
    lines::LineDecoder,
    result::{Log, Outcome, TestResult, path, seconds},
    sink::Sink,
    xml::{Attributes, XmlHandler},
};

/// The outcome of CTest's word for one, as both its text and its XML write it.
fn outcome(word: &str) -> Option<Outcome> {
    Some(match word {
        "Passed" => Outcome::Pass,
        "Failed" => Outcome::Fail,
        "Timeout" => Outcome::Timeout,
        "Skipped" | "Not Run (Disabled)" | "Disabled" => Outcome::Skip,
        "Not Run" | "Bad Command" => Outcome::NotRun,
        "SegFault" | "SEGFAULT" => Outcome::Crash(Some(11)),
        "Illegal" | "ILLEGAL" => Outcome::Crash(Some(4)),
        "Numerical" | "NUMERICAL" => Outcome::Crash(Some(8)),
        "Interrupt" | "INTERRUPT" => Outcome::Crash(Some(2)),
        "Child aborted" | "Subprocess aborted" => Outcome::Crash(Some(6)),
        "Child killed" | "Subprocess killed" => Outcome::Crash(Some(9)),
        "Other" | "OTHER_FAULT" => Outcome::Crash(None),
        _ => return None,
    })
}

/// The text. A test's output (`--output-on-failure`, `-V`) follows its result, or comes before it after `N: `.
#[derive(Default)]
pub(crate) struct CTestText {
    last: Option<(TestResult, Log)>,
    /// Earlier outcomes of the test that is repeated (`--repeat`), with its name.
    earlier: Option<(String, Vec<Outcome>)>,
    verbose: Log,
    ended: bool,
}

impl CTestText {
    fn release(&mut self, to: &mut Sink<'_>) {
        if let Some((mut result, log)) = self.last.take() {
            if result.log.is_empty() {
                result.log = log.into_string();
            }
            // A test that isn't in order is repeated at once, if at all: its last result counts.
            let earlier = self.earlier.take_if(|(name, _)| *name == result.name);
            if let Some((_, earlier)) = earlier {
                result.reruns = earlier;
            }
            to.result(result);
        }
    }

    fn begin(&mut self, name: String, to: &mut Sink<'_>) {
        if let Some((result, _)) = self.last.take_if(|(result, _)| result.name == name) {
            let (_, earlier) = self
                .earlier
                .get_or_insert_with(|| (name.clone(), Vec::new()));
            earlier.push(result.outcome);
        } else {
            self.release(to);
        }
        to.started(name);
    }
}

impl LineDecoder for CTestText {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        let text = line.trim_start();
        if let Some(name) = numbered(text, "Start ") {
            return self.begin(path([name]), to);
        }
        if let Some(result) = result(text) {
            // Without `Start` (`--quiet`) a repetition is seen here.
            if self
                .last
                .as_ref()
                .is_some_and(|(last, _)| last.name == result.name)
            {
                self.begin(result.name.clone(), to);
            }
            self.release(to);
            let mut result = result.with_log(std::mem::take(&mut self.verbose).into_string());
            result.line = to.line();
            self.last = Some((result, Log::default()));
        } else if text.contains("% tests passed, ") {
            self.release(to);
            self.ended = true;
        } else if !self.ended {
            // `3: what test 3 wrote`.
            let verbose = text
                .split_once(": ")
                .filter(|(n, _)| n.parse::<u32>().is_ok());
            match (&mut self.last, verbose) {
                (_, Some((_, text))) => self.verbose.push_line(text),
                (Some((_, log)), None) if !(log.is_empty() && text.is_empty()) => {
                    log.push_line(line)
                }
                _ => {}
            }
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        self.release(to);
    }

    fn held(&self) -> u64 {
        u64::from(self.last.is_some())
    }
}

/// The name after `Start  3: `.
fn numbered<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (number, name) = text.strip_prefix(word)?.split_once(": ")?;
    number.trim().parse::<u32>().ok().map(|_| name)
}

/// `1/11 Test  #1: passes .......   Passed    0.01 sec`; a repetition has no `1/11`.
fn result(text: &str) -> Option<TestResult> {
    let test = match text.split_once(" Test ") {
        Some((count, test))
            if count
                .split_once('/')
                .is_some_and(|(n, _)| n.parse::<u32>().is_ok()) =>
        {
            test
        }
        _ => text.strip_prefix("Test ")?,
    };
    let rest = numbered(test.trim_start(), "#")?;
    let rest = rest.strip_suffix(" sec").unwrap_or(rest);
    let (rest, took) = rest.rsplit_once(' ')?;
    // Dots up to a column, `***` before what isn't in order.
    let (name, word) = rest
        .rsplit_once("...")
        .or_else(|| rest.rsplit_once(".."))
        .or_else(|| rest.rsplit_once(" ."))?;
    let word = word.trim_start_matches(['.', '*', ' ']).trim_end();
    let (name, word) = match word {
        "" => return None,
        _ => (name.trim_end_matches('.').trim_end(), word),
    };
    let word = word.strip_prefix("Exception: ").unwrap_or(word);
    // `Failed  Required regular expression not found.Regex=[...]`
    let known = outcome(word);
    let outcome = known.or_else(|| word.starts_with("Failed").then_some(Outcome::Fail))?;
    let message = if known.is_some() && outcome != Outcome::Crash(None) {
        ""
    } else {
        word
    };
    let message = message.strip_prefix("Failed").unwrap_or(message);
    Some(
        TestResult::new(path([name]), outcome)
            .with_message(message)
            .with_seconds(seconds(took)),
    )
}

/// `Test.xml`, which a dashboard is sent.
#[derive(Default)]
pub(crate) struct CTestXml {
    test: Option<TestResult>,
    status: String,
    measurement: String,
    element: String,
    exit: String,
    completion: String,
    log: Log,
    text: String,
}

impl XmlHandler for CTestXml {
    fn open(&mut self, name: &str, attributes: &Attributes<'_>, to: &mut Sink<'_>) {
        self.text.clear();
        name.clone_into(&mut self.element);
        match name {
            // Those of the list of tests have no status.
            "Test" if let Some(status) = attributes.get("Status") => {
                let mut test = TestResult::new("", Outcome::Pass);
                test.line = to.line();
                *self = CTestXml {
                    test: Some(test),
                    status: status.to_owned(),
                    ..CTestXml::default()
                };
            }
            "NamedMeasurement" => attributes
                .get("name")
                .unwrap_or_default()
                .clone_into(&mut self.measurement),
            "Measurement" => self.measurement.clear(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.element == "Value" && self.measurement.is_empty() {
            self.log.push(text);
        } else if self.text.len() < 16 << 10 {
            self.text.push_str(text);
        }
    }

    fn close(&mut self, name: &str, to: &mut Sink<'_>) {
        self.element.clear();
        let Some(test) = &mut self.test else { return };
        match (name, self.measurement.as_str()) {
            ("Name", _) => test.name = path([self.text.as_str()]),
            ("Value", "Execution Time") => test.seconds = seconds(&self.text),
            ("Value", "Exit Code") => self.exit = std::mem::take(&mut self.text),
            ("Value", "Completion Status") => self.completion = std::mem::take(&mut self.text),
            ("Test", _) => {
                let said = if self.exit.is_empty() {
                    &self.completion
                } else {
                    &self.exit
                };
                test.outcome = match (self.status.as_str(), outcome(said)) {
                    ("passed", _) => Outcome::Pass,
                    ("notrun", _) if said == "Disabled" || said.starts_with("SKIP_") => {
                        Outcome::Skip
                    }
                    ("notrun", _) => Outcome::NotRun,
                    (_, Some(outcome)) => outcome,
                    _ => Outcome::Fail,
                };
                if let Some(test) = self.test.take() {
                    let said = if outcome(said).is_some() || test.outcome == Outcome::Pass {
                        ""
                    } else {
                        said
                    };
                    to.result(
                        test.with_message(said)
                            .with_log(std::mem::take(&mut self.log).into_string()),
                    );
                }
            }
            _ => {}
        }
    }
}
