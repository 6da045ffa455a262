//! OpenBSD's `make regress`.
//!
//! Format: <https://man.openbsd.org/bsd.regress.mk> and its makefile; NetBSD's and FreeBSD's suites write TAP or have kyua.
//!
//! ```text
//! ===> sys/netinet            a directory, above its tests' names
//! ==== run-regress-args ====  a test begins
//! FAILED                      or SKIPPED, EXPECTED_FAIL, UNEXPECTED_PASS, DISABLED; nothing if it passed
//! ```

use crate::{
    lines::LineDecoder,
    result::{Log, Outcome, ProblemKind, TestResult, path},
    sink::Sink,
};

#[derive(Default)]
pub(crate) struct Regress {
    directory: String,
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

impl LineDecoder for Regress {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        if let Some(directory) = line.strip_prefix("===> ") {
            self.release(true, to);
            directory.trim().clone_into(&mut self.directory);
            return;
        }
        let name = line
            .strip_prefix("==== ")
            .and_then(|rest| rest.strip_suffix(" ===="));
        if let Some(name) = name {
            self.release(true, to);
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
            });
            return;
        }
        let Some(test) = &mut self.test else { return };
        test.ended = line.is_empty();
        let outcome = match line {
            "FAILED" => Outcome::Fail,
            "SKIPPED" | "DISABLED" => Outcome::Skip,
            "EXPECTED_FAIL" => Outcome::ExpectedFail,
            "UNEXPECTED_PASS" => Outcome::UnexpectedPass,
            _ => {
                test.log.push_line(line);
                if line.starts_with("*** Error ") {
                    // Without `-k` make ends here, and `FAILED` never comes.
                    test.outcome = test.outcome.or(Some(Outcome::Fail));
                } else if !line.trim().is_empty() && test.outcome.is_none() {
                    line.clone_into(&mut test.message);
                }
                return;
            }
        };
        test.outcome = Some(outcome);
        test.ended = true;
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        self.release(false, to);
    }
}
