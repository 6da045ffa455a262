//! From what the steps of a suite printed to the results of its tests.

use backsight_model::{
    Benchmark, Ending, HostName, MetricSamples, Outcome, Parser, Phase, StepOutput, StepRecord,
    SuiteResults, SuiteRun, TestResult,
};
use backsight_test_results::{Event, Exit, ProblemKind, ResultReader};

/// Sentences about an output that are kept; of more, only their number is.
const MOST_PROBLEMS: usize = 20;

/// The results of the tests that a trial of a suite ran. Where several hosts play the role, the names of tests begin with theirs.
pub(crate) fn suite_run(suite: &str, results: &SuiteResults, steps: &[StepRecord]) -> SuiteRun {
    let from = &results.from;
    let programs = |phase: Phase| {
        let of_role = steps.iter().filter(|step| step.role == from.role);
        of_role.filter(move |step| step.phase == phase && step.monitor.is_none())
    };
    let waited_for = programs(from.phase).any(|step| !step.spawned);
    let sources = || programs(from.phase).filter(|step| step.spawned != waited_for);
    let mut hosts: Vec<&HostName> = sources().map(|step| &step.host).collect();
    hosts.dedup();
    let mut seen = Seen::new();
    for step in sources() {
        // Of files that are read afterwards, it is the tests' own end that tells.
        let ran = programs(Phase::Run).rfind(|ran| ran.host == step.host && !ran.spawned);
        let exit = match from.phase {
            Phase::Run => exit(&step.ending),
            _ => ran.and_then(|ran| exit(&ran.ending)),
        };
        seen.run.complete &= !matches!(exit, Some(Exit::Signal(_) | Exit::TimedOut));
        seen.read(suite, results, step, exit, hosts.len() > 1);
    }
    if seen.left_out > 0 {
        let more = format!("{} more problems of the output", seen.left_out);
        seen.run.problems.push(more);
    }
    seen.run.sorted()
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

fn exit(ending: &Ending) -> Option<Exit> {
    match ending {
        Ending::Exit(code) => Some(Exit::Code(*code)),
        Ending::Signal(signal) => Some(Exit::Signal(*signal)),
        Ending::TimedOut => Some(Exit::TimedOut),
        _ => None,
    }
}

/// What was read so far.
struct Seen {
    run: SuiteRun,
    /// Problems beyond the first [`MOST_PROBLEMS`].
    left_out: usize,
}

impl Seen {
    fn new() -> Self {
        let run = SuiteRun {
            complete: true,
            ..SuiteRun::default()
        };
        Self { run, left_out: 0 }
    }

    fn read(
        &mut self,
        suite: &str,
        results: &SuiteResults,
        step: &StepRecord,
        exit: Option<Exit>,
        names_host: bool,
    ) {
        let output = match results.from.stderr {
            true => &step.stderr,
            false => &step.stdout,
        };
        let place = |problem: String| match names_host {
            true => format!("{} on {}: {problem}", results.from, step.host),
            false => format!("{}: {problem}", results.from),
        };
        let options = match results.read_options(suite) {
            Ok(options) => options,
            Err(why) => return self.incomplete(place(why)),
        };
        if is_cut(output) {
            self.incomplete(place("the output is longer than its limit".to_owned()));
        }
        let prefix = match names_host {
            true => format!("{}/", step.host),
            false => String::new(),
        };
        let own_name = options.name.clone();
        let (before, mut failed) = (self.run.results.len(), None);
        let mut reader = ResultReader::new(results.format, options);
        let mut take = |event| match event {
            Event::Result(mut result) => {
                result.name.insert_str(0, &prefix);
                // What a test printed that is in order stands in the suite's output.
                if !result.outcome.is_failure() {
                    result.log.clear();
                }
                self.run.results.push(result);
            }
            Event::Problem(problem) => {
                self.run.complete &= !is_missing_results(&problem.kind);
                match &problem.kind {
                    ProblemKind::PlanMismatch { planned, found } => {
                        self.run.missing += planned.saturating_sub(*found);
                    }
                    ProblemKind::FailedWithoutResult(how) => failed = Some(how.clone()),
                    _ => {}
                }
                match self.run.problems.len() < MOST_PROBLEMS {
                    true => self.run.problems.push(place(problem.to_string())),
                    false => self.left_out += 1,
                }
            }
            Event::Started { .. } => {}
        };
        reader.feed(&output.bytes, &mut take);
        reader.finish(exit, &mut take);
        // The suite's own end is no test's: it is a result of the suite.
        if let Some(how) = failed.filter(|_| self.run.results.len() > before) {
            let mut own = TestResult::new(format!("{prefix}{own_name}"), outcome_of(exit));
            own.message = Some(format!("no test failed, but the suite ended with {how}"));
            own.log = last_lines(&step.stderr.bytes);
            self.run.results.push(own);
        }
    }

    fn incomplete(&mut self, problem: String) {
        self.run.complete = false;
        self.run.problems.push(problem);
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
    const MOST: usize = 4096;
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
