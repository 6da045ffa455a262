//! What decoders of formats hand over, and where to: the state that all formats share.

use crate::result::{
    Log, MAX_LOG, MAX_NAME, Outcome, Problem, ProblemKind, TestResult, first_line,
    floor_char_boundary,
};
use std::{
    collections::{HashMap, HashSet, hash_map::RandomState},
    hash::BuildHasher as _,
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

/// What is known of a document so far.
#[derive(Default)]
pub(crate) struct State {
    /// The name of what has none.
    name: String,
    line: u64,
    pub(crate) results: u64,
    pub(crate) failures: u64,
    hasher: RandomState,
    seen: HashSet<u64>,
    running: HashMap<String, Running>,
    running_bytes: usize,
}

impl State {
    pub(crate) fn new(name: String) -> State {
        State {
            name,
            ..State::default()
        }
    }
}

struct Running {
    line: u64,
    log: Log,
}

/// Where decoders hand over what they find; it knows which tests are under way and which have a result.
pub(crate) struct Sink<'a> {
    pub(crate) state: &'a mut State,
    to: &'a mut dyn FnMut(Event),
}

impl<'a> Sink<'a> {
    pub(crate) fn new(state: &'a mut State, to: &'a mut dyn FnMut(Event)) -> Sink<'a> {
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

    /// The tests below this path that are under way, in the order of their names.
    pub(crate) fn running_below(&self, above: &str) -> Vec<String> {
        let is_below = |name: &&String| {
            let rest = name.strip_prefix(above);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let mut below: Vec<String> = self
            .state
            .running
            .keys()
            .filter(is_below)
            .cloned()
            .collect();
        below.sort();
        below
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
    pub(crate) fn end_running(&mut self) {
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
