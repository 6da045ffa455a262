//! Automake's `PASS: name` lines, and its `.trs` files.
//!
//! Format: <https://www.gnu.org/software/automake/manual/html_node/Scripts_002dbased-Testsuites.html> and
//! <https://www.gnu.org/software/automake/manual/html_node/Log-files-generation-and-test-results-recording.html>.

use crate::{
    lines::LineDecoder,
    result::{Log, Outcome, ProblemKind, TestResult, first_line, path},
    sink::Sink,
};

fn outcome(word: &str) -> Option<Outcome> {
    Some(match word {
        "PASS" => Outcome::Pass,
        "FAIL" => Outcome::Fail,
        "SKIP" => Outcome::Skip,
        "XFAIL" => Outcome::ExpectedFail,
        "XPASS" => Outcome::UnexpectedPass,
        "ERROR" => Outcome::Error,
        _ => return None,
    })
}

/// Lines of `make check`, or `test-suite.log`. They may be coloured. Names begin with the directory below the first one.
#[derive(Default)]
pub(crate) struct Automake {
    directories: Directories,
    /// A result and its line: underlined by the next one, it begins a section of `test-suite.log`.
    last: Option<(TestResult, String)>,
    section: Option<Section>,
    /// There are results outside of sections: these show what is known (`make check VERBOSE=1`).
    is_console: bool,
}

/// A section of `test-suite.log`: the log of a test that isn't in order.
struct Section {
    heading: TestResult,
    /// The test's name in its directory, with which results of its points begin.
    test: String,
    log: Log,
    /// Whether its points have results, and whether one of these failed.
    points: Option<bool>,
}

impl Automake {
    fn release_last(&mut self, to: &mut Sink<'_>) {
        let Some((result, line)) = self.last.take() else {
            return;
        };
        match &mut self.section {
            None => self.is_console = true,
            Some(section) => {
                section.log.push_line(&line);
                let (_, name) = line.split_once(": ").unwrap_or_default();
                // Others are what the test printed.
                if self.is_console || !name.starts_with(&section.test) {
                    return;
                }
                let failed = section.points.get_or_insert(false);
                *failed |= result.outcome.is_failure();
            }
        }
        to.result(result);
    }

    fn begin_section(&mut self, heading: TestResult, line: &str, to: &mut Sink<'_>) {
        self.end_section(to);
        let (_, test) = line.split_once(": ").unwrap_or_default();
        self.section = Some(Section {
            heading,
            test: test.to_owned(),
            log: Log::default(),
            points: None,
        });
    }

    /// The points of a section account for its test, unless they are in order and it isn't.
    fn end_section(&mut self, to: &mut Sink<'_>) {
        let Some(section) = self.section.take() else {
            return;
        };
        let is_failure = section.heading.outcome.is_failure();
        let is_told = section.points.is_some_and(|failed| failed || !is_failure);
        if !is_told && !self.is_console {
            let log = section.log.into_string();
            let said = first_line(&log).unwrap_or_default();
            to.result(section.heading.with_message(&said).with_log(log));
        }
    }
}

impl LineDecoder for Automake {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        let plain = without_colours(line);
        let is_line = plain.len() > 2 && plain.bytes().all(|byte| byte == b'=');
        let underlined = self
            .last
            .take_if(|(_, text)| is_line && text.len() == plain.len());
        if let Some((heading, text)) = underlined {
            return self.begin_section(heading, &text, to);
        }
        self.release_last(to);
        if plain.starts_with("Testsuite summary for ") {
            return self.end_section(to);
        }
        if self.directories.read(&plain) {
            return;
        }
        let result = plain.split_once(": ").and_then(|(word, name)| {
            let mut point = point(name, outcome(word)?);
            point.name = path([self.directories.current.as_str(), point.name.as_str()]);
            point.line = to.line();
            Some(point)
        });
        match (result, &mut self.section) {
            (Some(result), _) => self.last = Some((result, plain)),
            (None, Some(section)) => section.log.push_line(&plain),
            (None, None) => {}
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        self.release_last(to);
        self.end_section(to);
    }

    fn held(&self) -> u64 {
        u64::from(self.last.is_some()) + u64::from(self.section.is_some())
    }
}

/// The directory in which tests run, as make says it.
#[derive(Default)]
struct Directories {
    /// The first one; names begin with what is below it.
    top: Option<String>,
    entered: Vec<String>,
    /// What `Making check in` said last: where make doesn't say which directory it enters, it is this one.
    making: String,
    current: String,
}

impl Directories {
    /// Whether the line says where make is.
    fn read(&mut self, line: &str) -> bool {
        if let Some((_, directory)) = line
            .strip_prefix("Making ")
            .and_then(|rest| rest.split_once(" in "))
        {
            directory.trim().clone_into(&mut self.making);
        } else if let Some(directory) = directory(line, ": Entering directory ") {
            let top = match directory.strip_suffix(&self.making) {
                Some(above) if above.ends_with('/') => above.trim_end_matches('/'),
                _ => directory,
            };
            self.top.get_or_insert_with(|| top.to_owned());
            self.entered.push(directory.to_owned());
            // No make is nested as deep.
            self.entered.truncate(100);
        } else if let Some(directory) = directory(line, ": Leaving directory ") {
            if let Some(at) = self
                .entered
                .iter()
                .rposition(|entered| entered == directory)
            {
                self.entered.truncate(at);
            }
        } else if let Some((_, log)) = line
            .strip_prefix("   ")
            .and_then(|title| title.split_once(": "))
            && let Some(directory) = log.strip_suffix("/test-suite.log")
        {
            // The title of a `test-suite.log`.
            directory.clone_into(&mut self.making);
        } else {
            return false;
        }
        let entered = self.entered.last().map(|entered| {
            let below = self
                .top
                .as_deref()
                .and_then(|top| entered.strip_prefix(top));
            below
                .filter(|below| below.is_empty() || below.starts_with('/'))
                .unwrap_or(entered)
        });
        let current = entered
            .unwrap_or(&self.making)
            .split('/')
            .filter(|part| *part != ".");
        self.current = path(current);
        true
    }
}

/// The directory after these words of make, which quotes it in several ways.
fn directory<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    let (make, directory) = line.split_once(words)?;
    let is_make = !make.contains(char::is_whitespace);
    is_make.then(|| directory.trim_matches(['\'', '`', '"', ' ']))
}

/// A `.trs` file: the result of one script. One that has several points (TAP) is a group of these, by their descriptions
/// (`PASS 1 - description`) or else their numbers.
#[derive(Default)]
pub(crate) struct Trs {
    /// Points that were read.
    points: u64,
    /// The first one, while it is the only one and has no name.
    first: Option<TestResult>,
    /// The result of the script, which comes before or after those of its points.
    script: Option<TestResult>,
}

impl Trs {
    fn result(text: &str, to: &mut Sink<'_>) -> Option<TestResult> {
        let text = text.trim();
        let (word, name) = text.split_once(' ').unwrap_or((text, ""));
        let Some(outcome) = outcome(word) else {
            to.problem(ProblemKind::UnknownOutcome(word.to_owned()));
            return None;
        };
        let mut result = point(name, outcome);
        result.line = to.line();
        Some(result)
    }

    fn point(number: u64, mut point: TestResult, to: &mut Sink<'_>) {
        if point.name.is_empty() {
            point.name = number.to_string();
        }
        point.name = path([to.default_name().as_str(), point.name.as_str()]);
        to.result(point);
    }
}

impl LineDecoder for Trs {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        if let Some(text) = line.strip_prefix(":global-test-result:") {
            self.script = Self::result(text, to);
        } else if let Some(text) = line.strip_prefix(":test-result:") {
            let Some(result) = Self::result(text, to) else {
                return;
            };
            self.points += 1;
            if self.points == 1 && result.name.is_empty() {
                self.first = Some(result);
                return;
            }
            if let Some(first) = self.first.take() {
                Self::point(1, first, to);
            }
            Self::point(self.points, result, to);
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        // The only result of a script is its own.
        let script = self.script.take().or(self.first.take());
        if let Some(script) = script {
            let name = path([to.default_name().as_str()]);
            to.result(TestResult { name, ..script });
        }
    }

    fn held(&self) -> u64 {
        u64::from(self.first.is_some() || self.script.is_some())
    }
}

/// A result of Automake's driver for TAP is `script 1 - description # SKIP why`, of others only a name.
fn point(name: &str, outcome: Outcome) -> TestResult {
    let (name, reason) = name.split_once(" # ").unwrap_or((name, ""));
    let reason = ["SKIP", "TODO"]
        .iter()
        .find_map(|word| reason.strip_prefix(word))
        .unwrap_or(reason);
    // The number counts what came before, and is no name.
    let numbered = name.split_once(" - ").and_then(|(before, description)| {
        let (script, number) = before.rsplit_once(' ').unwrap_or(("", before));
        number
            .parse::<u64>()
            .ok()
            .map(|_| path([script, description]))
    });
    let name = numbered.unwrap_or_else(|| path([name]));
    TestResult::new(name, outcome).with_message(reason)
}

/// A line without a terminal's colours.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix('m').unwrap_or(rest);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use crate::{Event, Format, Outcome, ReadOptions, ResultReader};

    fn read(format: Format, name: &str, text: &str) -> Vec<(String, Outcome)> {
        let mut results = Vec::new();
        let mut take = |event| match event {
            Event::Result(result) => results.push((result.name, result.outcome)),
            Event::Problem(problem) => panic!("{problem}"),
            Event::Started { .. } => {}
        };
        let options = ReadOptions {
            name: name.to_owned(),
            ..ReadOptions::default()
        };
        let mut reader = ResultReader::new(format, options);
        reader.feed(text.as_bytes(), &mut take);
        reader.finish(None, &mut take);
        results
    }

    fn names(text: &str) -> Vec<String> {
        let results = read(Format::Automake, "all", text);
        results.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn directories_tell_tests_apart() {
        let two = "make[1]: Entering directory `/a'\nPASS: check-all\nmake[1]: Leaving directory `/a'\nmake[1]: Entering directory `/b'\nFAIL: check-all\n";
        assert_eq!(names(two), ["check-all", "b/check-all"]);
        // make --no-print-directory.
        let silent = "Making check in lib\nPASS: x\nMaking check in .\nFAIL: x\n";
        assert_eq!(names(silent), ["lib/x", "x"]);
    }

    #[test]
    fn logs_that_follow_results_are_no_results() {
        let verbose = "FAIL: a\nPASS: b\n=====\n   x 1: ./test-suite.log\n=====\n\nFAIL: a\n=======\n\nPASS: a thing\nFAIL a (exit status: 1)\n\n\
            =====\nTestsuite summary for x 1\n=====\nmake[1]: Leaving directory '/x'\nPASS: c\n";
        assert_eq!(names(verbose), ["a", "b", "c"]);
    }

    #[test]
    fn a_script_of_several_points_has_its_own_result() {
        let text = ":global-test-result: FAIL\n:test-result: PASS\n:test-result: FAIL\n:test-result: PASS 3 - named\n";
        let result = |name: &str, outcome| (name.to_owned(), outcome);
        assert_eq!(
            read(Format::AutomakeTrs, "t", text),
            [
                result("t/1", Outcome::Pass),
                result("t/2", Outcome::Fail),
                result("t/named", Outcome::Pass),
                result("t", Outcome::Fail),
            ]
        );
        let alone = ":test-result: SKIP\n:global-test-result: SKIP\n:recheck: no\n";
        assert_eq!(
            read(Format::AutomakeTrs, "t", alone),
            [result("t", Outcome::Skip)]
        );
    }
}
