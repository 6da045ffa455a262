//! From what the steps of a suite printed to the results of its tests.

use backsight_model::{
    Benchmark, Ending, HostName, MetricSamples, Outcome, Parser, Phase, ResultFormat, StepOutput,
    StepRecord, SuiteResults, SuiteRun, TestResult, console_words,
};
use backsight_test_results::{Event, Exit, Problem, ProblemKind, ReadOptions, ResultReader};
use std::collections::HashMap;

/// Sentences about an output that are kept; of more, only their number is.
const MOST_PROBLEMS: usize = 20;
/// Longest of them, in characters.
const LONGEST_PROBLEM: usize = 500;

/// What a suite gave until its programs ended, or were ended in the middle of its tests.
#[derive(Debug, Clone, PartialEq)]
pub struct SuitePass {
    /// The results.
    pub run: SuiteRun,
    /// Where it was ended, if that was in the middle.
    pub interrupted: Option<Interrupted>,
    /// Whether it ended well and had no test to run.
    pub had_nothing_to_do: bool,
}

/// Where the output of a suite ends that was ended in the middle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// The test that had a result last.
    pub after: Option<String>,
    /// The tests that ran, where the format says that tests begin.
    pub running: Vec<String>,
}

/// What ended a program in the middle of its tests: the outcome of the test that ran, and what is known of it.
struct Interruption {
    outcome: Outcome,
    message: String,
    log: String,
}

impl Interruption {
    /// What ended this step in the middle, if something did. The console is that of a host that went away.
    fn new(step: &StepRecord, console: &[u8]) -> Option<Self> {
        let (outcome, message) = match step.ending {
            Ending::TimedOut => (Outcome::Timeout, "it took longer than it may".to_owned()),
            Ending::Signal(signal) => {
                let message = format!("signal {signal} ended the suite");
                (Outcome::Crash(Some(signal)), message)
            }
            // A step is stopped where another host went away.
            Ending::Lost | Ending::Stopped => {
                let words = console_words(console);
                let said = (!words.is_empty()).then(|| format!(": {words}"));
                let message = format!("the host went away{}", said.unwrap_or_default());
                (Outcome::Crash(None), message)
            }
            _ => return None,
        };
        let is_gone = matches!(outcome, Outcome::Crash(None));
        let log = match is_gone && !console.is_empty() {
            true => last_lines(console),
            false => last_lines(&step.stderr.bytes),
        };
        Some(Self {
            outcome,
            message,
            log,
        })
    }

    /// The result of a test that ran.
    fn end(&self, test: TestResult) -> TestResult {
        let log = match test.log.is_empty() {
            true => self.log.clone(),
            false => format!("{}\n{}", test.log.trim_end(), self.log),
        };
        TestResult {
            outcome: self.outcome,
            message: Some(self.message.clone()),
            log,
            ..test
        }
    }
}

/// The results of the tests that a trial of a suite ran. Where several hosts play the role, the names of tests begin with theirs. The
/// console is that of a host that went away meanwhile. A pass that was ended before it had a result was ended after the test `last`.
pub(crate) fn suite_pass(
    suite: &str,
    results: &SuiteResults,
    steps: &[StepRecord],
    (console, last): (&[u8], Option<&str>),
) -> SuitePass {
    let from = &results.from;
    let programs = |phase: Phase| {
        let of_role = steps.iter().filter(|step| step.role == from.role);
        of_role.filter(move |step| step.phase == phase && step.monitor.is_none())
    };
    let waited_for = programs(from.phase).any(|step| !step.spawned);
    let sources = || programs(from.phase).filter(|step| step.spawned != waited_for);
    let mut hosts: Vec<&HostName> = sources().map(|step| &step.host).collect();
    hosts.dedup();
    let mut reader = SuiteRunReader::default();
    let mut interrupted: Option<Interrupted> = None;
    let mut ended_well = true;
    for step in sources() {
        // Of files that are read afterwards, it is the tests' own end that tells.
        let ran = programs(Phase::Run).rfind(|ran| ran.host == step.host && !ran.spawned);
        let exit = match from.phase {
            Phase::Run => exit(&step.ending),
            _ => ran.and_then(|ran| exit(&ran.ending)),
        };
        if matches!(exit, Some(Exit::Signal(_) | Exit::TimedOut)) {
            reader.run.complete = false;
        }
        ended_well &= exit == Some(Exit::Code(0));
        // The order of files that are read afterwards isn't that in which tests ran, what is spawned is stopped in any case, and a suite that
        // is one test says how it ended.
        let is_told = results.format == ResultFormat::ExitStatus && exit.is_some();
        let can_be_cut = from.phase == Phase::Run && !step.spawned && !is_told;
        let interruption = Interruption::new(step, console).filter(|_| can_be_cut);
        let ends = (exit, interruption.as_ref());
        let place = read_step(&mut reader, suite, results, step, ends, hosts.len() > 1);
        if let Some(interruption) = &interruption {
            reader.run.complete = false;
            if place.running.is_empty()
                && let Some(after) = place.after.as_deref().or(last)
            {
                let test = TestResult::new(format!("after {after}"), interruption.outcome);
                reader.run.results.push(interruption.end(test));
            }
            // Those that ran are no more among those that a plan has and that never began.
            let ran = place.running.len().max(1) as u64;
            reader.run.missing = reader.run.missing.saturating_sub(ran);
            let all = interrupted.get_or_insert_default();
            all.after = place.after.or(all.after.take());
            all.running.extend(place.running);
        }
    }
    SuitePass {
        had_nothing_to_do: ended_well && reader.run.results.is_empty(),
        interrupted,
        run: reader.finish(),
    }
}

/// The samples of the metrics that are made of results: how many tests ended in which way, and whether a test failed.
pub(crate) fn samples(
    benchmark: &Benchmark,
    run: &SuiteRun,
) -> impl Iterator<Item = MetricSamples> {
    benchmark.metrics.iter().filter_map(|(name, metric)| {
        let value = match &metric.parser {
            Parser::Tests(count) => run.count(*count) as f64,
            Parser::Test(test) => f64::from(u8::from(run.failed(test)?)),
            _ => return None,
        };
        Some(MetricSamples::new(name.clone(), vec![value], Vec::new()))
    })
}

/// Reads what a step printed. Returns where it was interrupted.
fn read_step(
    reader: &mut SuiteRunReader,
    suite: &str,
    results: &SuiteResults,
    step: &StepRecord,
    (exit, interruption): (Option<Exit>, Option<&Interruption>),
    names_host: bool,
) -> Interrupted {
    let output = match results.from.stderr {
        true => &step.stderr,
        false => &step.stdout,
    };
    let (place, prefix) = match names_host {
        true => (
            format!("{} on {}", results.from, step.host),
            format!("{}/", step.host),
        ),
        false => (results.from.to_string(), String::new()),
    };
    let options = match results.read_options(suite) {
        Ok(options) => options,
        Err(why) => {
            reader.incomplete(format!("{place}: {why}"));
            return Interrupted::default();
        }
    };
    if is_cut(output) {
        reader.incomplete(format!("{place}: the output is longer than its limit"));
    }
    let own_name = options.name.clone();
    let mut document = reader.document(results.format, options, &place, &prefix);
    document.feed(match step.ending {
        Ending::Lost => whole_lines(&output.bytes, results.format),
        _ => &output.bytes,
    });
    if let Some(interruption) = interruption {
        let (end, mut running) = document.interrupt(exit, interruption);
        if end.results == 0 && results.format == ResultFormat::ExitStatus {
            // The suite is one test.
            let name = format!("{prefix}{own_name}");
            let test = TestResult::new(name.clone(), interruption.outcome);
            reader.run.results.push(interruption.end(test));
            running.push(name);
        }
        let has_ended = end.results > running.len();
        let last = reader.run.results.last_name().filter(|_| has_ended);
        return Interrupted {
            after: last.map(str::to_owned),
            running,
        };
    }
    let end = document.finish(exit);
    // The suite's own end is no test's: it is a result of the suite.
    if let Some(how) = end.failed.filter(|_| end.results > 0) {
        let mut own = TestResult::new(format!("{prefix}{own_name}"), outcome_of(exit));
        own.message = Some(format!("no test failed, but the suite ended with {how}"));
        own.log = last_lines(&step.stderr.bytes);
        reader.run.results.push(own);
    }
    Interrupted::default()
}

/// What came of an output until its host went away, without a line that didn't come whole. Only xfstests says in the beginning of a line
/// which test runs.
fn whole_lines(output: &[u8], format: ResultFormat) -> &[u8] {
    let end = output.iter().rposition(|byte| *byte == b'\n');
    match format {
        ResultFormat::Xfstests => output,
        _ => &output[..end.map_or(0, |at| at + 1)],
    }
}

fn exit(ending: &Ending) -> Option<Exit> {
    match ending {
        Ending::Exit(code) => Some(Exit::Code(*code)),
        Ending::Signal(signal) => Some(Exit::Signal(*signal)),
        Ending::TimedOut => Some(Exit::TimedOut),
        _ => None,
    }
}

/// Makes one run of a suite of the documents that have its results.
#[derive(Debug)]
pub struct SuiteRunReader {
    run: SuiteRun,
    /// Problems beyond the first [`MOST_PROBLEMS`].
    left_out: usize,
    /// Where the second result of a test stands, of those that one document has, by the test's name. As many as can be said.
    second_results: HashMap<String, String>,
}

impl Default for SuiteRunReader {
    fn default() -> Self {
        let run = SuiteRun {
            complete: true,
            ..SuiteRun::default()
        };
        Self {
            run,
            left_out: 0,
            second_results: HashMap::new(),
        }
    }
}

impl SuiteRunReader {
    /// Begins a document: its problems begin with `place`, the names of its tests with `prefix`.
    pub fn document<'a>(
        &'a mut self,
        format: ResultFormat,
        options: ReadOptions,
        place: &'a str,
        prefix: &'a str,
    ) -> SuiteDocument<'a> {
        SuiteDocument {
            reader: ResultReader::new(format, options),
            to: self,
            place,
            prefix,
            end: DocumentEnd::default(),
        }
    }

    /// The run, with the results in the order of their names. Of several of one test the worst counts: a repetition that was meant
    /// to mend a failure is one result, whose reruns say so, in the formats that have such.
    pub fn finish(mut self) -> SuiteRun {
        let (results, repeated) = std::mem::take(&mut self.run.results).sorted();
        for (at, count) in repeated {
            if self.run.problems.len() >= MOST_PROBLEMS {
                self.left_out += 1;
                continue;
            }
            let test = results.name(at);
            let place = self.second_results.remove(test);
            let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
            self.problem(format!(
                "{place}{count} results of `{test}`: the worst counts"
            ));
        }
        self.run.results = results;
        if self.left_out > 0 {
            let more = format!("{} more problems of the output", self.left_out);
            self.run.problems.push(more);
        }
        self.run
    }

    fn take(&mut self, event: Event, place: &str, prefix: &str, end: &mut DocumentEnd) {
        match event {
            Event::Result(mut result) => {
                result.name.insert_str(0, prefix);
                // What a test printed that is in order stands in the suite's output.
                if !result.outcome.is_failure() {
                    result.log.clear();
                }
                end.results += 1;
                self.run.results.push(result);
            }
            Event::Problem(problem) => {
                self.run.complete &= !is_missing_results(&problem.kind);
                match &problem.kind {
                    ProblemKind::PlanMismatch { planned, found } => {
                        self.run.missing += planned.saturating_sub(*found);
                    }
                    ProblemKind::FailedWithoutResult(how) => end.failed = Some(how.clone()),
                    // How many there are is known at the end.
                    ProblemKind::DuplicateResult(test) => {
                        let test = format!("{prefix}{test}");
                        if self.second_results.len() < MOST_PROBLEMS {
                            let place = format!("{place}: line {}", problem.line);
                            self.second_results.entry(test).or_insert(place);
                        }
                        return;
                    }
                    _ => {}
                }
                self.problem(format!("{place}: {problem}"));
                end.problem.get_or_insert(problem);
            }
            Event::Started { .. } => {}
        }
    }

    fn incomplete(&mut self, problem: String) {
        self.run.complete = false;
        self.problem(problem);
    }

    fn problem(&mut self, problem: String) {
        match self.run.problems.len() < MOST_PROBLEMS {
            true => self.run.problems.push(sentence(&problem)),
            false => self.left_out += 1,
        }
    }
}

/// A problem in one line that can be shown: names of tests are of any length, and have newlines.
fn sentence(problem: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let mut sentence: String = problem.chars().take(LONGEST_PROBLEM).map(visible).collect();
    if problem.len() > sentence.len() {
        sentence.push('…');
    }
    sentence
}

/// A document that is being read.
#[derive(Debug)]
pub struct SuiteDocument<'a> {
    to: &'a mut SuiteRunReader,
    reader: ResultReader,
    place: &'a str,
    prefix: &'a str,
    end: DocumentEnd,
}

/// What there was in a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentEnd {
    /// How many results.
    pub results: usize,
    /// The first of its problems.
    pub problem: Option<Problem>,
    /// How its program ended, if that is a failure and no result says it.
    pub failed: Option<String>,
}

impl SuiteDocument<'_> {
    /// Reads the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let (to, end) = (&mut *self.to, &mut self.end);
        let mut take = |event| to.take(event, self.place, self.prefix, end);
        self.reader.feed(bytes, &mut take);
    }

    /// The document is at its end, and so is its program, if it is known how.
    pub fn finish(self, exit: Option<Exit>) -> DocumentEnd {
        let mut end = self.end;
        let mut take = |event| self.to.take(event, self.place, self.prefix, &mut end);
        self.reader.finish(exit, &mut take);
        end
    }

    /// The program was ended in the middle: what had begun and has no result ended as it did. Returns the names of these tests.
    fn interrupt(
        self,
        exit: Option<Exit>,
        interruption: &Interruption,
    ) -> (DocumentEnd, Vec<String>) {
        let (mut end, mut running) = (self.end, Vec::new());
        let mut take = |event| {
            let event = match event {
                Event::Result(result) if result.outcome == Outcome::NoExit => {
                    running.push(format!("{}{}", self.prefix, result.name));
                    Event::Result(interruption.end(result))
                }
                // That follows from it.
                Event::Problem(Problem {
                    kind: ProblemKind::PlanMismatch { planned, found },
                    ..
                }) => {
                    self.to.run.missing += planned.saturating_sub(found);
                    return;
                }
                Event::Problem(Problem {
                    kind:
                        ProblemKind::NeverEnded(_)
                        | ProblemKind::FailedWithoutResult(_)
                        | ProblemKind::NoResults,
                    ..
                }) => return,
                other => other,
            };
            self.to.take(event, self.place, self.prefix, &mut end);
        };
        self.reader.finish(exit, &mut take);
        (end, running)
    }
}

/// What the end of a suite is, none of whose tests says why.
fn outcome_of(exit: Option<Exit>) -> Outcome {
    match exit {
        Some(Exit::TimedOut) => Outcome::Timeout,
        Some(Exit::Signal(signal)) => Outcome::Crash(Some(signal)),
        _ => Outcome::Error,
    }
}

/// The end of what was printed.
fn last_lines(text: &[u8]) -> String {
    const MOST: usize = 8192;
    let end = &text[text.len().saturating_sub(MOST)..];
    String::from_utf8_lossy(end).trim_end().to_owned()
}

/// Why there are no results, as far as the programs say: how they ended, and their last words.
pub(crate) fn no_results(results: &SuiteResults, run: &SuiteRun, steps: &[StepRecord]) -> String {
    let ran = steps.iter().filter(|step| step.role == results.from.role);
    let ran = ran.filter(|step| step.phase == Phase::Run && step.monitor.is_none());
    let words = ran.map(|step| {
        let how = match &step.ending {
            Ending::Exit(code) => format!("exited with code {code}"),
            Ending::Signal(signal) => format!("was killed by signal {signal}"),
            Ending::TimedOut => "took longer than it may".to_owned(),
            _ => "ended".to_owned(),
        };
        let printed = last_lines(&step.stderr.bytes);
        match printed.lines().last() {
            Some(last) => format!("`{}` {how}: {last}", step.command),
            None => format!("`{}` {how}", step.command),
        }
    });
    let said: Vec<String> = run.problems.iter().cloned().chain(words).collect();
    said.join("; ")
}

fn is_cut(output: &StepOutput) -> bool {
    output.printed > output.bytes.len() as u64
}

/// Whether tests that were to run have no result because of it.
fn is_missing_results(problem: &ProblemKind) -> bool {
    match problem {
        ProblemKind::PlanMismatch { planned, found } => planned > found,
        ProblemKind::NeverEnded(_)
        | ProblemKind::BailOut(_)
        | ProblemKind::NoResults
        | ProblemKind::Invalid(_) => true,
        _ => false,
    }
}
