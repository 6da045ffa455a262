//! A test's result, and what was wrong with the document that it was read from.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Longest name, in bytes. What is longer is cut, and that is said.
pub const MAX_NAME: usize = 16 << 10;
/// Longest message, in bytes.
pub const MAX_MESSAGE: usize = 4 << 10;
/// Longest log of one test, in bytes: its first and its last half are kept.
pub const MAX_LOG: usize = 64 << 10;

/// What came of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Outcome {
    /// It passed.
    Pass,
    /// What it checks is wrong.
    Fail,
    /// It couldn't check: its set-up failed, or it is broken itself (pytest's and JUnit's error, LTP's `TBROK`).
    Error,
    /// It failed, as was expected (XFAIL, TAP's `not ok … # TODO`).
    ExpectedFail,
    /// It passed, though it was expected to fail, and its tool counts that as a failure (XPASS).
    UnexpectedPass,
    /// It chose not to run: something that it needs is missing.
    Skip,
    /// It ran longer than it may.
    Timeout,
    /// A signal ended it, or a crash of which no signal is known.
    Crash(Option<i32>),
    /// It was planned and never began.
    NotRun,
    /// It began, and the output ends before it did.
    NoExit,
    /// There is no output of it.
    NoLog,
}

impl Outcome {
    /// Every outcome but crashes by signal.
    pub const ALL: [Outcome; 11] = [
        Outcome::Pass,
        Outcome::Fail,
        Outcome::Error,
        Outcome::ExpectedFail,
        Outcome::UnexpectedPass,
        Outcome::Skip,
        Outcome::Timeout,
        Outcome::Crash(None),
        Outcome::NotRun,
        Outcome::NoExit,
        Outcome::NoLog,
    ];

    /// The word for it, without a crash's signal.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Error => "error",
            Outcome::ExpectedFail => "xfail",
            Outcome::UnexpectedPass => "xpass",
            Outcome::Skip => "skip",
            Outcome::Timeout => "timeout",
            Outcome::Crash(_) => "crash",
            Outcome::NotRun => "notrun",
            Outcome::NoExit => "noexit",
            Outcome::NoLog => "nolog",
        }
    }

    /// How bad it is beside others of one test: a pass that was expected the least.
    pub fn severity(self) -> u8 {
        match self {
            Outcome::Skip => 0,
            Outcome::Pass => 1,
            Outcome::ExpectedFail => 2,
            Outcome::NotRun => 3,
            Outcome::NoLog => 4,
            Outcome::UnexpectedPass => 5,
            Outcome::NoExit => 6,
            Outcome::Error => 7,
            Outcome::Fail => 8,
            Outcome::Timeout => 9,
            Outcome::Crash(_) => 10,
        }
    }

    /// Whether a suite with this result isn't in order. An expected failure and a skipped test are.
    pub fn is_failure(self) -> bool {
        !matches!(
            self,
            Outcome::Pass | Outcome::ExpectedFail | Outcome::Skip | Outcome::NotRun
        )
    }
}

/// `crash 11` for a crash whose signal is known; otherwise [`Outcome::word`].
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Outcome::Crash(Some(signal)) => write!(f, " {signal}"),
            _ => Ok(()),
        }
    }
}

/// A word that is no outcome's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no outcome: expected one of pass, fail, error, xfail, xpass, skip, timeout, crash, notrun, noexit, nolog"
)]
pub struct OutcomeError(pub String);

impl FromStr for Outcome {
    type Err = OutcomeError;

    fn from_str(text: &str) -> Result<Self, OutcomeError> {
        let signal = text.strip_prefix("crash ").and_then(|n| n.parse().ok());
        if signal.is_some() {
            return Ok(Outcome::Crash(signal));
        }
        let known = Outcome::ALL.into_iter().find(|known| known.word() == text);
        known.ok_or_else(|| OutcomeError(text.to_owned()))
    }
}

/// One test's result.
#[derive(Clone, Debug, PartialEq)]
pub struct TestResult {
    /// Path of names, from suite to test, joined by `/`; no part is empty. Newlines and NULs of the document are kept.
    pub name: String,
    /// What came of it: of its last run, where it ran several times.
    pub outcome: Outcome,
    /// Why it was skipped, or the first line of its failure; of a test that passed, that it is marked as one that fails.
    pub message: Option<String>,
    /// How long it took.
    pub seconds: Option<f64>,
    /// Its own part of the output. Empty where the format has none.
    pub log: String,
    /// Outcomes of earlier runs of the same test in the same run of the suite, oldest first.
    pub reruns: Vec<Outcome>,
    /// Line of the document, from 1, at which its result stands; for a test that never ended, at which it began.
    pub line: u64,
}

impl TestResult {
    /// A result with nothing but a name and an outcome. Its line is set when it is read.
    pub fn new(name: impl Into<String>, outcome: Outcome) -> TestResult {
        TestResult {
            name: name.into(),
            outcome,
            message: None,
            seconds: None,
            log: String::new(),
            reruns: Vec::new(),
            line: 0,
        }
    }

    /// With this message, unless it is blank.
    pub(crate) fn with_message(mut self, message: &str) -> TestResult {
        self.message = first_line(message);
        self
    }

    /// With this duration.
    pub(crate) fn with_seconds(mut self, seconds: Option<f64>) -> TestResult {
        self.seconds = seconds;
        self
    }

    /// With this log.
    pub(crate) fn with_log(mut self, log: impl Into<String>) -> TestResult {
        self.log = log.into();
        self
    }
}

/// Something wrong with a document. What was read before it, and after it where that is possible, is kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {kind}", column.map_or(String::new(), |column| format!(", column {column}")))]
pub struct Problem {
    /// Line, from 1. In a binary document: how many packets came before, and 1.
    pub line: u64,
    /// Column in bytes, from 1, where one is known.
    pub column: Option<u64>,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// A plan or a count, and as many results as it doesn't say.
    #[error("{planned} results planned, {found} found")]
    PlanMismatch {
        /// The plan.
        planned: u64,
        /// Results there are.
        found: u64,
    },
    /// A numbered result that the plan doesn't have.
    #[error("result {0} is outside the plan")]
    OutsidePlan(u64),
    /// TAP without a plan.
    #[error("there is no plan: results may be missing")]
    NoPlan,
    /// Two results of one test.
    #[error("a second result of `{0}`")]
    DuplicateResult(String),
    /// A test that began and never ended.
    #[error("`{0}` began and never ended")]
    NeverEnded(String),
    /// The suite gave up.
    #[error("the suite gave up: {0}")]
    BailOut(String),
    /// There is no result at all.
    #[error("there is no result in it")]
    NoResults,
    /// The program failed, and none of its results did.
    #[error("every result is in order, but the program ended with {0}")]
    FailedWithoutResult(String),
    /// Bytes that are no UTF-8; they are replaced by U+FFFD.
    #[error("this isn't UTF-8")]
    NotUtf8,
    /// Something longer than is read; the rest of it is left out.
    #[error("{what} is longer than {limit} bytes: the rest is left out")]
    TooLong {
        /// What it is.
        what: &'static str,
        /// How much is read.
        limit: usize,
    },
    /// Tests or elements within each other, more than are read.
    #[error("more than {0} levels of nesting")]
    TooDeep(usize),
    /// A word that should say an outcome and doesn't.
    #[error("`{0}` is no outcome that this format has")]
    UnknownOutcome(String),
    /// Something that isn't read, or isn't in the document; no result is missing because of it.
    #[error("{0}")]
    NotRead(String),
    /// The document breaks its format's rules here.
    #[error("{0}")]
    Invalid(String),
}

/// The parts as a path: what is between slashes, without empty parts and blanks around them.
pub(crate) fn path<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut path = String::new();
    for part in parts.into_iter().flat_map(|part| part.split('/')) {
        let part = part.trim();
        if !part.is_empty() {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(part);
        }
    }
    path
}

/// The first line that isn't blank, without blanks around it.
pub(crate) fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line[..floor_char_boundary(line, MAX_MESSAGE)].to_owned())
}

/// The last end of a character at or before this place.
pub(crate) fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A number of seconds, also with separators of thousands (Surefire: `1,234.5`) or a comma as another language has it (`0,002`, `1.234,5`).
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = match (text.rfind(','), text.rfind('.')) {
        (None, _) => text.parse::<f64>(),
        (Some(comma), Some(point)) if comma < point => text.replace(',', "").parse(),
        // A whole number of thousands of seconds is as good as never measured.
        (Some(comma), _) if text.find(',') == Some(comma) => {
            text.replace('.', "").replace(',', ".").parse()
        }
        _ => text.replace(',', "").parse(),
    };
    number
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0)
}

/// What a program's end says about a test of it: 0 is passed, 77 skipped (Automake's and Meson's rule), 99 an error
/// (Automake's), 128 and a signal a crash (the shell's).
pub(crate) fn outcome_of_exit(code: i32) -> Outcome {
    match code {
        0 => Outcome::Pass,
        77 => Outcome::Skip,
        99 => Outcome::Error,
        129..=192 => Outcome::Crash(Some(code - 128)),
        _ => Outcome::Fail,
    }
}

/// Text of which the first and the last [`MAX_LOG`] / 2 bytes are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    text: String,
    /// Where the kept end begins, and how much was left out before it; once it is too long.
    cut: Option<(usize, u64)>,
}

impl Log {
    pub(crate) fn push(&mut self, text: &str) {
        // Of a text that is too long by itself the middle is left out twice, which comes to the same.
        for piece in pieces(text, MAX_LOG / 2) {
            self.text.push_str(piece);
            self.shorten();
        }
    }

    pub(crate) fn push_line(&mut self, line: &str) {
        self.push(line);
        self.push("\n");
    }

    /// Leaves the middle out where both halves are full twice over, so that it is moved seldom.
    fn shorten(&mut self) {
        if self.text.len() <= 2 * MAX_LOG {
            return;
        }
        let from = floor_char_boundary(&self.text, MAX_LOG / 2);
        let until = floor_char_boundary(&self.text, self.text.len() - MAX_LOG / 2);
        let (_, left_out) = self.cut.unwrap_or((from, 0));
        self.text.drain(from..until);
        self.cut = Some((from, left_out + (until - from) as u64));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, with a line in place of what was left out.
    pub(crate) fn into_string(mut self) -> String {
        if self.text.len() > MAX_LOG {
            let from = floor_char_boundary(&self.text, MAX_LOG / 2);
            let until = floor_char_boundary(&self.text, self.text.len() - MAX_LOG / 2);
            let (_, left_out) = self.cut.unwrap_or((from, 0));
            self.text.drain(from..until);
            self.cut = Some((from, left_out + (until - from) as u64));
        }
        if let Some((at, left_out)) = self.cut {
            self.text
                .insert_str(at, &format!("\n[{left_out} bytes left out]\n"));
        }
        self.text
    }
}

fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(floor_char_boundary(rest, size));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn a_comma_is_a_separator_of_thousands_or_of_decimals() {
        for (text, expected) in [
            ("1,234.5", 1234.5),
            ("1,234,567", 1_234_567.0),
            ("0,002", 0.002),
            ("1.234,5", 1234.5),
            (" 12.5 ", 12.5),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", ",", "1.2.3", "-1,5", "inf"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
