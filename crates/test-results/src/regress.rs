//! OpenBSD's `make regress`.
//!
//! Format: <https://man.openbsd.org/bsd.regress.mk> and its makefile; NetBSD's and FreeBSD's suites write TAP or have kyua.
//!
//! ```text
//! ===> sys/netinet            a directory, above its tests' names
//! ==== run-regress-args ====  a test begins
//! FAILED                      or SKIPPED, EXPECTED_FAIL, UNEXPECTED_PASS, DISABLED; nothing if it passed
//! ```
//!
//! A directory that doesn't build, or is skipped because it lacks a package, has a result of its own. `REGRESS_LOG` is read too: lines
//! like `SUCCESS bin/cat/a`.

use crate::{
    lines::LineDecoder,
    result::{Log, Outcome, ProblemKind, TestResult, path},
    sink::Sink,
};

#[derive(Default)]
pub(crate) struct Regress {
    directory: String,
    /// What was written in the directory before its tests; none once these began.
    before_tests: Option<Log>,
    test: Option<Test>,
}

struct Test {
    name: String,
    line: u64,
    outcome: Option<Outcome>,
    message: String,
    log: Log,
    /// An empty line ended it: what is written at a test's end stands before one.
    ended: bool,
    /// An empty line has come, and what came since the last one: of the test, or of what is built for the next.
    ended_before: bool,
    since_end: Option<Log>,
}

/// Whether make says that a file wasn't built, as `*** Error 1 in asn1 (<sys.mk>:87 'asn1basic.o')` does: the target isn't a test's.
fn is_failed_build(line: &str) -> bool {
    let target = line
        .strip_prefix("*** Error ")
        .and_then(|rest| rest.split_once('\''))
        .and_then(|(_, rest)| rest.split(['\'', ':']).next());
    target.is_some_and(|target| {
        let is_file = target
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ending == "o");
        is_file && !target.starts_with("run-regress-")
    })
}

impl Regress {
    /// The test is over. Without a word for it it passed, unless the output ends within it.
    fn release(&mut self, whole: bool, to: &mut Sink<'_>) {
        let Some(test) = self.test.take() else { return };
        let unknown = if whole || test.ended {
            Outcome::Pass
        } else {
            Outcome::NoExit
        };
        let outcome = test.outcome.unwrap_or(unknown);
        if outcome == Outcome::NoExit {
            to.problem_at(test.line, None, ProblemKind::NeverEnded(test.name.clone()));
        }
        let message = if outcome == Outcome::Pass {
            ""
        } else {
            &test.message
        };
        let mut result = TestResult::new(test.name, outcome).with_message(message);
        result.line = test.line;
        to.result(result.with_log(test.log.into_string()));
    }
}

fn outcome(word: &str) -> Option<Outcome> {
    Some(match word {
        "FAILED" => Outcome::Fail,
        "SKIPPED" | "DISABLED" => Outcome::Skip,
        "EXPECTED_FAIL" => Outcome::ExpectedFail,
        "UNEXPECTED_PASS" => Outcome::UnexpectedPass,
        _ => return None,
    })
}

/// A line of `REGRESS_LOG`.
fn logged(line: &str) -> Option<TestResult> {
    let (word, test) = line.split_once(' ')?;
    let outcome = match word {
        "SUCCESS" => Outcome::Pass,
        "FAIL" => Outcome::Fail,
        "SKIP" => Outcome::Skip,
        "XFAIL" => Outcome::ExpectedFail,
        "XPASS" => Outcome::UnexpectedPass,
        _ => return None,
    };
    let is_name = test.contains('/') && !test.contains(' ');
    is_name.then(|| TestResult::new(path([test]), outcome))
}

/// Whether it is a line of `REGRESS_LOG`.
pub(crate) fn is_logged(line: &str) -> bool {
    logged(line).is_some()
}

impl Regress {
    /// A line before the tests of a directory.
    fn before_tests(&mut self, line: &str, to: &mut Sink<'_>) {
        if self.directory.is_empty()
            && let Some(result) = logged(line)
        {
            return to.result(result);
        }
        let Some(log) = &mut self.before_tests else {
            return;
        };
        let fails = line.starts_with("*** Error ").then_some(Outcome::Error);
        let Some(outcome) = outcome(line).or(fails) else {
            return log.push_line(line);
        };
        let log = std::mem::take(log).into_string();
        self.before_tests = None;
        let mut lines = log.lines();
        let said = match outcome {
            Outcome::Error => lines.clone().find(|line| line.contains("error: ")),
            _ => None,
        };
        let said = said.or_else(|| lines.rfind(|line| !line.trim().is_empty()));
        let result = TestResult::new(path([self.directory.as_str()]), outcome);
        to.result(
            result
                .with_message(said.unwrap_or_default())
                .with_log(log.as_str()),
        );
    }
}

impl LineDecoder for Regress {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        if let Some(directory) = line.strip_prefix("===> ") {
            self.release(true, to);
            directory.trim().clone_into(&mut self.directory);
            self.before_tests = Some(Log::default());
            return;
        }
        let name = line
            .strip_prefix("==== ")
            .and_then(|rest| rest.strip_suffix(" ===="));
        if let Some(name) = name {
            self.release(true, to);
            self.before_tests = None;
            let name = name.strip_prefix("run-regress-").unwrap_or(name);
            let name = path([self.directory.as_str(), name]);
            to.started(name.clone());
            self.test = Some(Test {
                name,
                line: to.line(),
                outcome: None,
                message: String::new(),
                log: Log::default(),
                ended: false,
                ended_before: false,
                since_end: None,
            });
            return;
        }
        let Some(test) = &mut self.test else {
            return self.before_tests(line, to);
        };
        test.ended = line.is_empty();
        if test.ended {
            test.ended_before = true;
            test.since_end = Some(Log::default());
        }
        if let Some(outcome) = outcome(line) {
            test.outcome = Some(outcome);
            test.ended = true;
            return;
        }
        if test.ended_before && is_failed_build(line) {
            // What comes next in the directory didn't build: the test before it had ended.
            let log = test.since_end.take().unwrap_or_default();
            self.release(true, to);
            self.before_tests = Some(log);
            return self.before_tests(line, to);
        }
        if let Some(log) = &mut test.since_end {
            log.push_line(line);
        }
        test.log.push_line(line);
        if line.starts_with("*** Error ") {
            // Without `-k` make ends here, and `FAILED` never comes.
            test.outcome = test.outcome.or(Some(Outcome::Fail));
        } else if !line.trim().is_empty() && test.outcome.is_none() {
            line.clone_into(&mut test.message);
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        self.release(false, to);
    }
}
