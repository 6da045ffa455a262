//! `test`: the suites of a plan, and those with failures again as often as is wanted.

use backsight_model::{MetricName, Outcome, StudyName, SuiteRun, TestCount, TestResultRef};
use backsight_policy::{RunPolicy, RunVerdict, SuiteOnHost, TestHistory, TestPolicy, TestRow};
use backsight_report::test_study::{
    FailedTrial, SuiteReport, TestReport, TestStudy, TestVerdict, last_lines,
};
use backsight_stats::failures::TestState;
use backsight_store::{Store, StudyRow};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::collections::{BTreeMap, HashMap};

use super::{Resumed, Verb};
use crate::{
    Choices, EndedStudy, Progress, ResolvedPlan, SessionOptions, StudyEnding, StudyOutcome,
    TestChoices, TestSelection, VerdictReport,
    study_as_found::{LeasedPlan, StudyAsFound},
    test_history,
};

/// Earlier studies that a study's tests are compared with.
const EARLIER_STUDIES: usize = 100;

/// The verb.
pub struct TestVerb;

impl Verb for TestVerb {
    const NAME: &'static str = "test";
    type Choices = TestChoices;

    async fn resume(
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        measure(StudyAsFound::resume(resumed, options, |_| Ok(())).await?).await
    }

    async fn judge(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        Ok(VerdictReport::Tests(Box::new(report(store, study).await?)))
    }
}

/// Runs the suites of a plan.
///
/// # Errors
/// The plan has something else than suites, a host can't be had, or the store refuses.
pub async fn begin(
    plan: ResolvedPlan,
    store: &Store,
    name: Option<StudyName>,
    options: &SessionOptions,
) -> miette::Result<StudyOutcome> {
    let benchmarks = plan.arrangement.benchmarks.iter();
    if let Some((other, _)) = benchmarks.clone().find(|(_, it)| it.results.is_none()) {
        return Err(miette::miette!(
            help = "name suites with --use, or measure the plan with `backsight run`",
            "`{other}` is no suite: its definition has no [results]"
        ));
    }
    let leased = LeasedPlan::open(plan, TestVerb::NAME, store, name, options).await?;
    let cells = leased.cells.clone();
    measure(leased.create_study(&cells).await?).await
}

async fn measure(study: StudyAsFound<'_>) -> miette::Result<StudyOutcome> {
    let (store, rounds) = (study.store, study.plan.arrangement.rounds);
    let cells = store.cells(study.row.id).await.into_diagnostic()?;
    let choices = study.plan.question.choices.of_verb::<TestVerb>()?;
    let policy = TestPolicy {
        rounds: RunPolicy {
            cells: cells.len(),
            from: 1,
            rounds,
            seed: study.row.seed,
            testbeds: 1,
        },
        retries: choices.retries,
        failed: MetricName::new(TestCount::Failed.name()).into_diagnostic()?,
        not_run: MetricName::new(TestCount::NotRun.name()).into_diagnostic()?,
    };
    let conclude = async |row, progress| conclude(store, row, progress).await;
    study.measure(&cells, &policy, 0, conclude).await
}

async fn conclude(
    store: &Store,
    study: StudyRow,
    progress: Progress<RunVerdict>,
) -> miette::Result<EndedStudy> {
    let report = report(store, &study).await?;
    let ending = match &progress {
        it if it.interrupted => StudyEnding::Interrupted,
        it if it.stopped.is_none() && report.is_in_order() => StudyEnding::Success,
        _ => StudyEnding::Failed,
    };
    let verdict = VerdictReport::Tests(Box::new(report));
    Ok(EndedStudy::new(study, verdict, progress, ending))
}

/// What the suites of a study gave, beside what earlier studies had.
///
/// # Errors
/// The store's own.
pub async fn report(store: &Store, study: &StudyRow) -> miette::Result<TestStudy> {
    let cells = store.cells(study.id).await.into_diagnostic()?;
    let mut runs: IndexMap<SuiteOnHost, Vec<(u32, SuiteRun)>> = IndexMap::new();
    let mut told: HashMap<usize, u32> = HashMap::new();
    for row in store.suite_runs(study.id).await.into_diagnostic()? {
        let suite = SuiteOnHost {
            suite: cells
                .get(row.cell)
                .map(ToString::to_string)
                .unwrap_or_default(),
            host: row.host.clone(),
        };
        told.insert(row.cell, row.trial);
        let run = store.suite_run(&row).await.into_diagnostic()?;
        runs.entry(suite).or_default().push((row.trial, run));
    }
    let trials = store.trials(study.id).await.into_diagnostic()?;
    let failed_trials = trials.into_iter().filter_map(|trial| {
        let failure = trial.failure?;
        Some(FailedTrial {
            trial: trial.number,
            suite: cells.get(trial.cell).map(ToString::to_string)?,
            reason: failure.to_string(),
            made_up_for: told.get(&trial.cell).is_some_and(|it| *it > trial.number),
        })
    });
    let failed_trials = failed_trials.collect();
    let history = match study.target {
        Some(_) => TestHistory::default(),
        None => {
            let selection = TestSelection {
                until: Some(study.id.0),
                newest: Some(EARLIER_STUDIES),
                ..TestSelection::default()
            };
            test_history(store, &selection).await.into_diagnostic()?
        }
    };
    let is_last = (history.columns.last()).is_some_and(|last| last.name == study.name.as_str());
    let history = Some(history).filter(|it| is_last && it.columns.len() > 1);
    // Results that were imported aren't of a plan.
    let choices = Choices::from_study(study).ok();
    let of_verb = choices
        .as_ref()
        .and_then(|it| it.of_verb::<TestVerb>().ok());
    let retries = of_verb.map_or(0, |choices| choices.retries);
    let suites = runs.iter().map(|(suite, runs)| {
        let made_up_for = retries > 0 && is_made_up_for(runs);
        suite_report(suite, runs, made_up_for, history.as_ref())
    });
    Ok(TestStudy {
        study: study.name.clone(),
        suites: suites.collect(),
        failed_trials,
    })
}

/// Whether a run came to its end after all that didn't.
fn is_made_up_for(runs: &[(u32, SuiteRun)]) -> bool {
    let is_broken = runs.iter().any(|(_, run)| !run.complete);
    is_broken && runs.last().is_some_and(|(_, run)| run.complete)
}

/// All results of one test in a study.
#[derive(Default)]
struct TestRuns<'a> {
    failed: u32,
    passed: u32,
    skipped: u32,
    /// Whether a run that came to its end has it.
    in_whole_run: bool,
    /// The last result that isn't in order, with its trial; else the last one.
    shown: Option<(u32, TestResultRef<'a>)>,
}

impl<'a> TestRuns<'a> {
    fn add(&mut self, trial: u32, result: TestResultRef<'a>) {
        match TestCount::of(result.outcome) {
            TestCount::Failed => self.failed += 1,
            TestCount::Passed => self.passed += 1,
            TestCount::Skipped => self.skipped += 1,
            TestCount::NotRun => {}
        }
        let is_failure = |it: TestResultRef<'_>| it.outcome.is_failure();
        if is_failure(result) || self.shown.is_none_or(|(_, shown)| !is_failure(shown)) {
            self.shown = Some((trial, result));
        }
        // A runner that repeats failures by itself says so.
        let again = result.reruns.iter().filter(|outcome| outcome.is_failure());
        self.failed += again.count() as u32;
    }

    /// What it is; where a run made up for those that broke off, what stands for the test that ended one is in no whole run.
    fn verdict(&self, made_up_for: bool) -> Option<TestVerdict> {
        match (self.failed, self.passed, self.skipped) {
            (0, 0, 0) if made_up_for && !self.in_whole_run => None,
            (0, 0, 0) => Some(TestVerdict::NotRun),
            (0, _, _) => None,
            _ if made_up_for && !self.in_whole_run => Some(TestVerdict::Flaky),
            (_, 0, _) => Some(TestVerdict::Fail),
            _ => Some(TestVerdict::Flaky),
        }
    }
}

fn suite_report(
    suite: &SuiteOnHost,
    runs: &[(u32, SuiteRun)],
    made_up_for: bool,
    history: Option<&TestHistory>,
) -> SuiteReport {
    let mut tests: BTreeMap<&str, TestRuns<'_>> = BTreeMap::new();
    for (trial, run) in runs {
        for result in run.results.iter() {
            let test = tests.entry(result.name).or_default();
            test.add(*trial, result);
            test.in_whole_run |= run.complete;
        }
    }
    let rows = history.map(|it| (it, it.rows_of(suite)));
    let standing = |test: &str| {
        let (history, rows) = rows.as_ref()?;
        let row = rows.get(test)?;
        Some((*history, *row))
    };
    let mut report = SuiteReport {
        suite: suite.suite.clone(),
        host: suite.host.to_string(),
        runs: runs.len(),
        broken_runs: runs.iter().filter(|(_, run)| !run.complete).count(),
        made_up_for,
        passed: 0,
        failed: 0,
        flaky: 0,
        skipped: 0,
        not_run: runs.iter().map(|(_, run)| run.missing).min().unwrap_or(0) as usize,
        problems: problems(runs),
        tests: Vec::new(),
        skip_reasons: Vec::new(),
        fixed: Vec::new(),
    };
    let mut reasons: IndexMap<String, usize> = IndexMap::new();
    for (name, test) in &tests {
        let verdict = test.verdict(made_up_for);
        match verdict {
            None if test.passed == 0 => {
                report.skipped += 1;
                let why = test.shown.and_then(|(_, it)| it.message.map(str::to_owned));
                let why = why.unwrap_or_else(|| "no reason given".to_owned());
                *reasons.entry(why).or_default() += 1;
            }
            None => report.passed += 1,
            Some(TestVerdict::Fail) => report.failed += 1,
            Some(TestVerdict::Flaky) => report.flaky += 1,
            Some(TestVerdict::NotRun) => report.not_run += 1,
        }
        if let Some(verdict) = verdict {
            let listed = test_report(name, test, verdict, standing(name));
            report.tests.push(listed);
        } else if let Some((_, row)) = standing(name)
            && matches!(
                row.state,
                Some(TestState::Fixed { .. } | TestState::NewPass { .. })
            )
        {
            report.fixed.push((*name).to_owned());
        }
    }
    report
        .tests
        .sort_by_key(|test| (test.verdict, !is_new(test)));
    report.skip_reasons = reasons.into_iter().collect();
    report
        .skip_reasons
        .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    report
}

fn is_new(test: &TestReport) -> bool {
    matches!(test.state, Some("regression" | "new failure"))
}

/// What was wrong with the output of the runs, each once.
fn problems(runs: &[(u32, SuiteRun)]) -> Vec<String> {
    let all = runs.iter().flat_map(|(_, run)| run.problems.iter());
    let mut seen: IndexMap<&String, usize> = IndexMap::new();
    for problem in all {
        *seen.entry(problem).or_default() += 1;
    }
    seen.keys().map(|problem| (*problem).clone()).collect()
}

fn test_report(
    name: &str,
    test: &TestRuns<'_>,
    verdict: TestVerdict,
    standing: Option<(&TestHistory, &TestRow)>,
) -> TestReport {
    let (trial, result) = match test.shown {
        Some((trial, result)) => (trial, Some(result)),
        None => (0, None),
    };
    let state = standing.and_then(|(_, row)| row.state);
    let since = standing.and_then(|(history, row)| history.columns.get(history.since(row)?));
    TestReport {
        test: name.to_owned(),
        verdict,
        outcome: result
            .map_or(Outcome::NotRun, |result| result.outcome)
            .to_string(),
        failed: test.failed,
        runs: test.failed + test.passed,
        rate: standing.and_then(|(_, row)| row.rate()),
        state: state.map(|state| state.word()),
        since: since.map(|column| column.name.clone()),
        more_runs: match state {
            Some(TestState::NewFailure { more_runs } | TestState::NewPass { more_runs }) => {
                more_runs
            }
            _ => None,
        },
        message: result.and_then(|result| result.message.map(str::to_owned)),
        log: result
            .map(|result| last_lines(result.log))
            .unwrap_or_default(),
        trial,
    }
}
