//! The Linux Test Project: what its tests write, what `runltp` writes around that, and `runltp`'s file of results.
//!
//! Format: <https://linux-test-project.readthedocs.io/> and `include/tst_res_flags.h` of its source. A test is a program: its checks have
//! no names that stay the same, so the worst of them is the program's outcome (`TBROK`, `TFAIL`, `TPASS`, `TCONF`).
//!
//! ```text
//! open01.c:59: TPASS: open with O_CREAT          a check, since 2016
//! open01      1  TPASS  :  open01.c:59: open     a check, before
//! <<<test_start>>> … tag=open01 … <<<test_end>>> runltp around a program
//! open01                 PASS       0            runltp's file of results
//! ```

use crate::{
    lines::LineDecoder,
    result::{Log, Outcome, TestResult, path, seconds},
    sink::Sink,
};
use regex::Regex;
use std::sync::LazyLock;

/// Bits of a program's exit status.
const FAILED: i32 = 1;
const BROKEN: i32 = 2;
const NOT_FOR_THIS_SYSTEM: i32 = 32;

#[derive(Default)]
pub(crate) struct Ltp {
    /// The program whose output is read.
    program: Option<Program>,
    /// In the columns of a file of results.
    columns: bool,
}

struct Program {
    name: String,
    /// Between runltp's marks: the name isn't changed by the output.
    marked: bool,
    /// Begun by its name and not only by a helper's line.
    named: bool,
    /// Its summary was written: what follows is of another one.
    ended: bool,
    line: u64,
    outcome: Option<Outcome>,
    message: String,
    seconds: Option<f64>,
    log: Log,
}

impl Program {
    fn new(name: &str, line: u64) -> Program {
        Program {
            name: path([name]),
            marked: false,
            named: true,
            ended: false,
            line,
            outcome: None,
            message: String::new(),
            seconds: None,
            log: Log::default(),
        }
    }

    /// A check of it: the worst one is its outcome.
    fn check(&mut self, outcome: Outcome, message: &str) {
        let severity = |outcome| match outcome {
            Outcome::Skip => 0,
            Outcome::Pass => 1,
            Outcome::Fail => 2,
            Outcome::Error => 3,
            _ => 4,
        };
        if self
            .outcome
            .is_none_or(|known| severity(known) < severity(outcome))
        {
            self.outcome = Some(outcome);
            message.clone_into(&mut self.message);
        }
    }
}

impl Ltp {
    fn release(&mut self, to: &mut Sink<'_>) {
        if let Some(program) = self.program.take()
            && let Some(outcome) = program
                .outcome
                .or(program.marked.then_some(Outcome::NoExit))
        {
            let message = if outcome == Outcome::Pass {
                ""
            } else {
                &program.message
            };
            let mut result = TestResult::new(program.name, outcome)
                .with_message(message)
                .with_seconds(program.seconds);
            result.line = program.line;
            to.result(result.with_log(program.log.into_string()));
        }
    }

    /// A line of a program of this name; of a helper if there is none.
    fn program(&mut self, name: Option<&str>, to: &mut Sink<'_>) -> &mut Program {
        let another = self.program.as_ref().is_none_or(|program| {
            let other = name.is_some_and(|name| program.name != path([name]));
            (program.ended || (other && program.named)) && !program.marked
        });
        if another {
            self.release(to);
        }
        let line = to.line();
        let unnamed = to.default_name();
        let program = self.program.get_or_insert_with(|| {
            let mut program = Program::new(name.unwrap_or(&unnamed), line);
            program.named = name.is_some();
            program
        });
        if let Some(name) = name
            && !program.named
        {
            program.name = path([name]);
            program.named = true;
        }
        program
    }

    fn mark(&mut self, mark: &str, to: &mut Sink<'_>) {
        match mark {
            "test_start" => {
                self.release(to);
                let mut program = Program::new("", to.line());
                program.marked = true;
                self.program = Some(program);
            }
            "test_end" => self.release(to),
            _ => {}
        }
    }

    /// `tag=open01 stime=1700000000`, `duration=0 termination_type=exited termination_id=0 corefile=no`.
    fn marked_fields(&mut self, line: &str, to: &mut Sink<'_>) -> bool {
        let Some(program) = self.program.as_mut().filter(|program| program.marked) else {
            return false;
        };
        let field = |name: &str| {
            line.split_whitespace()
                .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
        };
        if program.name.is_empty()
            && let Some(tag) = field("tag")
        {
            program.name = path([tag]);
            to.started(program.name.clone());
            return true;
        }
        let Some(ending) = field("termination_type") else {
            return false;
        };
        program.seconds = field("duration").and_then(seconds);
        let number: Option<i32> = field("termination_id").and_then(|id| id.parse().ok());
        let outcome = match (ending, number) {
            ("exited", Some(status)) => of_status(status),
            ("signaled", signal) => Outcome::Crash(signal),
            _ => Outcome::Error,
        };
        // Older tests end with 0 and say in their output that they couldn't run.
        if outcome != Outcome::Pass || program.outcome.is_none() {
            program.check(outcome, "");
            if outcome == Outcome::Skip {
                program.outcome = Some(outcome);
            }
        }
        true
    }

    /// `open01      PASS       0`, in a file of results.
    fn column(&self, line: &str, to: &mut Sink<'_>) {
        let mut columns = line.split_whitespace();
        let (name, word, status) = (columns.next(), columns.next(), columns.next());
        let status: Option<i32> = status.and_then(|status| status.parse().ok());
        if let (Some(name), Some(word), Some(status), None) = (name, word, status, columns.next()) {
            let outcome = match word {
                "PASS" => Outcome::Pass,
                "CONF" => Outcome::Skip,
                "BROK" => Outcome::Error,
                "FAIL" => of_status(status),
                _ => return,
            };
            to.result(TestResult::new(path([name]), outcome));
        }
    }
}

fn of_status(status: i32) -> Outcome {
    match status {
        0 => Outcome::Pass,
        _ if status & FAILED != 0 => Outcome::Fail,
        _ if status & BROKEN != 0 => Outcome::Error,
        _ if status & NOT_FOR_THIS_SYSTEM != 0 => Outcome::Skip,
        _ => Outcome::Fail,
    }
}

impl LineDecoder for Ltp {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        if let Some(mark) = line
            .strip_prefix("<<<")
            .and_then(|rest| rest.strip_suffix(">>>"))
        {
            return self.mark(mark, to);
        }
        if line.starts_with("Testcase ") && line.contains("Result") {
            self.columns = true;
            return;
        }
        if self.marked_fields(line, to) {
            return;
        }
        if let Some(check) = Check::parse(line) {
            let program = self.program(check.program, to);
            program.log.push_line(line);
            if let Some(outcome) = check.outcome {
                program.check(outcome, check.message);
            }
            return;
        }
        if self.columns {
            self.column(line, to);
        } else if let Some(program) = &mut self.program {
            program.ended |= line == "Summary:";
            program.log.push_line(line);
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        self.release(to);
    }

    fn held(&self) -> u64 {
        u64::from(
            self.program
                .as_ref()
                .is_some_and(|program| program.outcome.is_some()),
        )
    }
}

/// A line that says what a check found.
struct Check<'a> {
    /// The program's name; none where a helper (`tst_test.c`, a header) wrote the line.
    program: Option<&'a str>,
    /// None of `TINFO` and `TWARN`, which are no outcome.
    outcome: Option<Outcome>,
    message: &'a str,
}

impl<'a> Check<'a> {
    fn parse(line: &'a str) -> Option<Check<'a>> {
        // Colours of a terminal may stand around the word.
        static CHECK: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(
                r"(?x)^ (?: (?<file>[^\s:]+) :\d+: | (?<name>[^\s:]+) \s+ \d+ ) \s+
                (?: \x1b\[[\d;]*m )* T(?<word>PASS|FAIL|BROK|CONF|INFO|WARN) \s*
                (?: \x1b\[[\d;]*m )* \s* : \s* (?: \x1b\[[\d;]*m )* (?<message>.*) $",
            )
            .ok()
        });
        let found = CHECK.as_ref()?.captures(line)?;
        let outcome = match &found["word"] {
            "PASS" => Some(Outcome::Pass),
            "FAIL" => Some(Outcome::Fail),
            "BROK" => Some(Outcome::Error),
            "CONF" => Some(Outcome::Skip),
            _ => None,
        };
        let name = found.name("file").or(found.name("name"))?.as_str();
        let name = name.rsplit('/').next().unwrap_or(name);
        let stem = name
            .strip_suffix(".c")
            .or(name.strip_suffix(".sh"))
            .unwrap_or(name);
        let helper = name.ends_with(".h") || stem.starts_with("tst_") || stem.starts_with("safe_");
        Some(Check {
            program: (!helper && !stem.is_empty()).then_some(stem),
            outcome,
            message: found.name("message").map_or("", |message| message.as_str()),
        })
    }
}
