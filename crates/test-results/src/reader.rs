//! Reading: bytes in as they arrive, events out as soon as they are known.

use crate::{
    format::Format,
    pattern::LinePattern,
    result::{
        Log, MAX_LOG, MAX_NAME, Outcome, Problem, ProblemKind, TestResult, first_line,
        floor_char_boundary, outcome_of_exit, path,
    },
};
use std::{
    collections::{HashMap, HashSet, hash_map::RandomState},
    hash::BuildHasher as _,
    io::{self, BufRead},
};

/// Names and logs of tests that are under way, in bytes. Of what comes on top neither is kept.
const MAX_RUNNING: usize = 64 << 20;

/// What a reader found.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A test began. Only of formats that say so.
    Started {
        /// Its name, as its result will have it.
        name: String,
    },
    /// A test's result.
    Result(TestResult),
    /// Something is wrong with the document.
    Problem(Problem),
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It ran too long and was ended.
    TimedOut,
}

/// What a reader has to know besides the format.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The name of what has none in the document: the only test of a program's exit status or of a `.trs` file, a TAP document
    /// that is skipped as a whole.
    pub name: String,
    /// Where lines have results, for [`Format::Lines`].
    pub pattern: Option<LinePattern>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            name: "all".to_owned(),
            pattern: None,
        }
    }
}

/// Reads a document of one format, in pieces of any size.
///
/// Memory is bounded by what is under way, not by what was read: of a result that was handed over eight bytes are kept, by which a
/// second result of the same test is found (with one chance in 10⁷ of a false one in a million results).
pub struct ResultReader {
    decoder: Box<dyn Decoder + Send>,
    state: State,
}

impl std::fmt::Debug for ResultReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultReader").finish_non_exhaustive()
    }
}

impl ResultReader {
    /// A reader of this format.
    pub fn new(format: Format, options: ReadOptions) -> ResultReader {
        ResultReader {
            decoder: format.decoder(&options),
            state: State {
                name: options.name,
                ..State::default()
            },
        }
    }

    /// Reads the next bytes and hands over what they complete.
    pub fn feed(&mut self, bytes: &[u8], to: &mut dyn FnMut(Event)) {
        self.decoder
            .feed(bytes, &mut Sink::new(&mut self.state, to));
    }

    /// The number of results that are known. Some of these may not be handed over yet, because their details follow them (TAP); for a
    /// limit of time per test it is this number that counts.
    pub fn known(&self) -> u64 {
        self.state.results + self.decoder.held()
    }

    /// The document is at its end, and so is the program that wrote it, if its end is known.
    pub fn finish(mut self, exit: Option<Exit>, to: &mut dyn FnMut(Event)) {
        let mut sink = Sink::new(&mut self.state, to);
        self.decoder.finish(&mut sink);
        let told = self.decoder.exited(exit, &mut sink);
        sink.end_running();
        if sink.state.results == 0 {
            sink.problem(ProblemKind::NoResults);
        }
        let failed = match exit {
            None | Some(Exit::Code(0)) => None,
            Some(Exit::Code(code)) => Some(format!("status {code}")),
            Some(Exit::Signal(signal)) => Some(format!("signal {signal}")),
            Some(Exit::TimedOut) => Some("its limit of time".to_owned()),
        };
        if let Some(how) =
            failed.filter(|_| !told && sink.state.failures == 0 && sink.state.results > 0)
        {
            sink.problem(ProblemKind::FailedWithoutResult(how));
        }
    }

    /// Reads all of an input.
    ///
    /// # Errors
    /// Those of the input; what was read before is handed over.
    pub fn read(mut self, mut input: impl BufRead, to: &mut dyn FnMut(Event)) -> io::Result<()> {
        let failed = loop {
            match input.fill_buf() {
                Ok([]) => break None,
                Ok(bytes) => {
                    let length = bytes.len();
                    self.feed(bytes, to);
                    input.consume(length);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
        };
        self.finish(None, to);
        failed.map_or(Ok(()), Err)
    }
}

/// Reads a format: bytes to events.
pub(crate) trait Decoder {
    fn feed(&mut self, bytes: &[u8], to: &mut Sink<'_>);
    fn finish(&mut self, to: &mut Sink<'_>);
    /// Results that are known and not handed over.
    fn held(&self) -> u64 {
        0
    }
    /// The program ended so. Whether that is one of the results.
    fn exited(&mut self, _exit: Option<Exit>, _to: &mut Sink<'_>) -> bool {
        false
    }
}

#[derive(Default)]
struct State {
    name: String,
    line: u64,
    results: u64,
    failures: u64,
    hasher: RandomState,
    seen: HashSet<u64>,
    running: HashMap<String, Running>,
    running_bytes: usize,
}

struct Running {
    line: u64,
    log: Log,
}

/// Where decoders hand over what they find; it knows which tests are under way and which have a result.
pub(crate) struct Sink<'a> {
    state: &'a mut State,
    to: &'a mut dyn FnMut(Event),
}

impl<'a> Sink<'a> {
    fn new(state: &'a mut State, to: &'a mut dyn FnMut(Event)) -> Sink<'a> {
        Sink { state, to }
    }

    /// The name of what has none.
    pub(crate) fn default_name(&self) -> String {
        self.state.name.clone()
    }

    /// The line that is being read.
    pub(crate) fn line(&self) -> u64 {
        self.state.line
    }

    pub(crate) fn at_line(&mut self, line: u64) {
        self.state.line = line;
    }

    pub(crate) fn problem(&mut self, kind: ProblemKind) {
        self.problem_at(self.state.line, None, kind);
    }

    pub(crate) fn problem_at(&mut self, line: u64, column: Option<u64>, kind: ProblemKind) {
        (self.to)(Event::Problem(Problem { line, column, kind }));
    }

    /// JSON that can't be read.
    pub(crate) fn invalid_json(&mut self, error: &serde_json::Error) {
        let column = Some(error.column() as u64);
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        let kind = ProblemKind::Invalid(format!("invalid JSON: {what}"));
        self.problem_at(self.state.line, column, kind);
    }

    fn bounded_name(&mut self, mut name: String) -> String {
        if name.len() > MAX_NAME {
            name.truncate(floor_char_boundary(&name, MAX_NAME));
            self.problem(ProblemKind::TooLong {
                what: "a name",
                limit: MAX_NAME,
            });
        }
        if name.is_empty() {
            name.push_str("(unnamed)");
        }
        name
    }

    /// A test began.
    pub(crate) fn started(&mut self, name: String) {
        let name = self.bounded_name(name);
        if self.state.running.contains_key(&name) {
            return;
        }
        if self.state.running_bytes + name.len() <= MAX_RUNNING {
            self.state.running_bytes += name.len();
            let running = Running {
                line: self.state.line,
                log: Log::default(),
            };
            self.state.running.insert(name.clone(), running);
        }
        (self.to)(Event::Started { name });
    }

    /// A test that is under way wrote this.
    pub(crate) fn log(&mut self, name: &str, text: &str) {
        if let Some(running) = self.state.running.get_mut(name)
            && self.state.running_bytes + text.len().min(MAX_LOG) <= MAX_RUNNING
        {
            let before = running.log.len();
            running.log.push(text);
            self.state.running_bytes += running.log.len();
            self.state.running_bytes -= before;
        }
    }

    fn take_running(&mut self, name: &str) -> Option<Running> {
        let (name, running) = self.state.running.remove_entry(name)?;
        self.state.running_bytes -= name.len() + running.log.len();
        Some(running)
    }

    /// A test has a result. Its line is the one that is being read unless it has one; its log is what it wrote while it was under
    /// way unless it has one.
    pub(crate) fn result(&mut self, mut result: TestResult) {
        result.name = self.bounded_name(result.name);
        if result.line == 0 {
            result.line = self.state.line;
        }
        if let Some(running) = self.take_running(&result.name)
            && result.log.is_empty()
        {
            result.log = running.log.into_string();
        }
        if result.log.len() > MAX_LOG + 100 {
            let mut log = Log::default();
            log.push(&result.log);
            result.log = log.into_string();
        }
        result.message = result.message.as_deref().and_then(first_line);
        result.seconds = result.seconds.filter(|s| s.is_finite() && *s >= 0.0);
        self.state.results += 1;
        self.state.failures += u64::from(result.outcome.is_failure());
        if !self
            .state
            .seen
            .insert(self.state.hasher.hash_one(&result.name))
        {
            let kind = ProblemKind::DuplicateResult(result.name.clone());
            self.problem_at(result.line, None, kind);
        }
        (self.to)(Event::Result(result));
    }

    /// A result whose message and outcome follow from what the test wrote while it was under way.
    pub(crate) fn result_with(
        &mut self,
        mut result: TestResult,
        complete: impl FnOnce(&mut TestResult, &str),
    ) {
        if let Some(running) = self.take_running(&result.name) {
            result.log = running.log.into_string();
        }
        let log = std::mem::take(&mut result.log);
        complete(&mut result, &log);
        self.result(result.with_log(log));
    }

    /// Nothing more comes: what is under way never ended.
    fn end_running(&mut self) {
        let names = self.state.running.iter();
        let mut names: Vec<_> = names
            .map(|(n, running)| (running.line, n.clone()))
            .collect();
        names.sort();
        for (line, name) in names {
            self.problem_at(line, None, ProblemKind::NeverEnded(name.clone()));
            let mut result = TestResult::new(name, Outcome::NoExit);
            result.line = line;
            self.result(result);
        }
    }
}

/// A program's exit status: the whole output is the log of one test.
#[derive(Default)]
pub(crate) struct ExitStatus(Log);

impl Decoder for ExitStatus {
    fn feed(&mut self, bytes: &[u8], _to: &mut Sink<'_>) {
        self.0.push(&String::from_utf8_lossy(bytes));
    }

    fn finish(&mut self, _to: &mut Sink<'_>) {}

    fn exited(&mut self, exit: Option<Exit>, to: &mut Sink<'_>) -> bool {
        let outcome = match exit {
            None => return false,
            Some(Exit::Code(code)) => outcome_of_exit(code),
            Some(Exit::Signal(signal)) => Outcome::Crash(Some(signal)),
            Some(Exit::TimedOut) => Outcome::Timeout,
        };
        let log = std::mem::take(&mut self.0).into_string();
        // The last line says more than the first one of why a program gave up.
        let last = log.lines().rev().find(|line| !line.trim().is_empty());
        let message = last.filter(|_| outcome != Outcome::Pass).unwrap_or("");
        let name = path([to.default_name().as_str()]);
        let result = TestResult::new(name, outcome).with_message(message);
        to.result(result.with_log(log));
        true
    }
}
