//! `bisect --test`: the change along a history that broke or mended a test of a suite, flaky tests included.
//!
//! The suite has one more metric in such a study, which is 1 where the test failed and 0 where it passed.

use backsight_model::{
    BenchmarkName, HistoryCell, MetricName, StudyHistory, TargetName, TomlDocument, did_you_mean,
};
use backsight_policy::{BisectEnd, TestBisectPolicy, TestBisectVerdict};
use backsight_report::{bisect::RangeChanges, test_bisect::TestBisectStudy};
use backsight_stats::{Confidence, failures::FailurePriors};
use backsight_store::{RequestRecord, Store, StudyDocument, StudyId, StudyRow};
use miette::IntoDiagnostic as _;

use super::{Resumed, Verb};
use crate::{
    Choices, EndedLoop, EndedStudy, HistoryChoices, HistoryStudy, HistoryVerb, OpenTarget,
    PolicyInputs, ResolvedPlan, SessionOptions, StudyEnding, StudyOutcome, TestBisectChoices,
    VerdictReport, evidence::evidence_for_study, open_target::no_target,
};

/// Trials at most: more would not be asked by anybody who waits for it.
const MOST: usize = 5000;

/// The metric that says whether the test failed.
pub const TEST_METRIC: &str = "bisected-test";

/// The verb.
pub struct TestBisectVerb;

impl Verb for TestBisectVerb {
    const NAME: &'static str = "bisect-test";
    type Choices = TestBisectChoices;

    fn history(choices: &TestBisectChoices) -> Option<HistoryChoices> {
        Some(choices.history.clone())
    }

    async fn resume(
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        HistoryStudy::<Self>::resume(resumed, options).await
    }

    async fn judge(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        let report = TestBisectReport::from_store(store, study).await?;
        Ok(VerdictReport::TestBisect(Box::new(report)))
    }
}

impl HistoryVerb for TestBisectVerb {
    const SHARES_EVIDENCE: bool = true;
    type Policy = TestBisectPolicy;

    fn policy(inputs: &PolicyInputs<'_>) -> miette::Result<TestBisectPolicy> {
        let choices = inputs.choices.of_verb::<Self>()?;
        policy(choices, inputs.versions, inputs.cells, inputs.revisits)
    }

    fn rounds(_choices: &Choices) -> u32 {
        0
    }

    async fn conclude(ended: EndedLoop<'_, TestBisectVerdict>) -> miette::Result<EndedStudy> {
        let EndedLoop {
            store,
            study,
            progress,
            ..
        } = ended;
        let report = TestBisectReport::from_store(store, &study).await?;
        let ending = match (&progress.stopped, report.verdict.ended) {
            (Some(_), _) => progress.ending(),
            (None, Some(BisectEnd::Decided)) => StudyEnding::Success,
            (None, Some(BisectEnd::End(_) | BisectEnd::Short)) => StudyEnding::Failed,
            (None, _) => StudyEnding::Undecided,
        };
        let verdict = VerdictReport::TestBisect(Box::new(report));
        Ok(EndedStudy::new(study, verdict, progress, ending))
    }
}

/// A plan whose only suite has the metric of a test.
///
/// # Errors
/// The plan has no suite, or several.
pub fn with_test(plan: ResolvedPlan, test: &str) -> miette::Result<ResolvedPlan> {
    let benchmarks = plan.arrangement.benchmarks.iter();
    let suites = benchmarks.filter(|(_, benchmark)| benchmark.results.is_some());
    let suites: Vec<BenchmarkName> = suites.map(|(name, _)| name.clone()).collect();
    let [suite] = &suites[..] else {
        return Err(match suites[..] {
            [] => miette::miette!(
                help = "`backsight list benchmarks` shows which are suites; --use names one",
                "the plan has no suite, and only suites have tests"
            ),
            _ => {
                let names: Vec<&str> = suites.iter().map(BenchmarkName::as_str).collect();
                miette::miette!(
                    help = format!(
                        "say which suite has the test: --use NAME, one of: {}",
                        names.join(", ")
                    ),
                    "the plan has several suites"
                )
            }
        });
    };
    let metric = MetricName::new(TEST_METRIC).into_diagnostic()?;
    plan.with_catalog(|catalog| Ok(catalog.with_test_metric(suite, &metric, test)?))
}

fn policy(
    choices: &TestBisectChoices,
    versions: usize,
    cells: &[HistoryCell],
    revisits: bool,
) -> miette::Result<TestBisectPolicy> {
    let has_test = |cell: &HistoryCell| {
        let mut metrics = cell.metrics.iter();
        metrics.any(|metric| metric.name.as_str() == TEST_METRIC)
    };
    let having = cells.iter().enumerate().filter(|(_, it)| has_test(it));
    let named: Vec<(usize, &HistoryCell)> = having
        .filter(|(_, it)| match &choices.cell {
            Some(asked) => it.cell.to_string() == *asked,
            None => true,
        })
        .collect();
    let [(cell, _)] = named[..] else {
        let names: Vec<String> = named.iter().map(|(_, it)| it.cell.to_string()).collect();
        return Err(miette::miette!(
            help = "say which with --cell",
            "{} cells of the plan have the test: {}",
            named.len(),
            names.join("; ")
        ));
    };
    let usual = FailurePriors::default();
    Ok(TestBisectPolicy {
        versions,
        cell,
        metric: MetricName::new(TEST_METRIC).into_diagnostic()?,
        revisits,
        priors: FailurePriors {
            smallest: choices.smallest.unwrap_or(usual.smallest),
            ..usual
        },
        confidence: Confidence::new(choices.confidence).unwrap_or_default(),
        budget: choices.budget,
        most: MOST,
    })
}

/// A bisection of a test, as its evidence stands.
pub struct TestBisectReport {
    /// What was run.
    pub history: StudyHistory,
    /// The study's choices.
    pub choices: TestBisectChoices,
    /// The suite with its parameters.
    pub suite: String,
    /// Where it stands.
    pub verdict: TestBisectVerdict,
    /// What of the history lies at the culprit; none without one.
    pub between: Option<RangeChanges>,
    /// Where no run of the suite had the test: `; did you mean …?`, or nothing.
    pub similar: Option<String>,
}

impl TestBisectReport {
    /// Reads the evidence from the store, and what lies at the culprit from the target's history.
    ///
    /// # Errors
    /// The store's own.
    async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let target: &TargetName = study.target.as_ref().ok_or_else(no_target)?;
        let asked = store.requests_along(target).await.into_diagnostic()?;
        let history = store.study_history(study.id).await.into_diagnostic()?;
        let choices = Choices::from_study(study).into_diagnostic()?;
        let choices = choices.of_verb::<TestBisectVerb>()?.clone();
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let document = StudyDocument::of_kind(&documents, "target").next();
        let document = document.ok_or_else(no_target)?;
        let (verdict, suite) = judged(&history, &choices, &document, &asked)?;
        let between = match verdict.culprit {
            None => None,
            Some(culprit) => {
                let ends = (
                    history.versions[culprit.place.after].clone(),
                    history.versions[culprit.place.until].clone(),
                );
                let folder = choices.history.folder.clone();
                let opened = OpenTarget::open(document, folder, store.dir().to_owned()).await;
                let asked = match opened {
                    Ok(opened) => opened.query(move |h| h.between(&ends.0, &ends.1)).await,
                    Err(why) => Err(why),
                };
                Some(asked.map_err(|why| format!("the history can't be asked what it was: {why}")))
            }
        };
        let similar = match verdict.trials {
            (0, _) => unknown_test(store, study.id, &choices.test).await?,
            _ => None,
        };
        Ok(Self {
            similar,
            history,
            choices,
            suite,
            verdict,
            between,
        })
    }

    /// The study with its verdict, as it is reported.
    pub fn study(&self) -> TestBisectStudy<'_> {
        TestBisectStudy {
            history: &self.history,
            suite: &self.suite,
            test: &self.choices.test,
            verdict: &self.verdict,
            confidence: self.choices.confidence,
            budget: self.choices.budget,
            between: self.between.as_ref(),
            similar: self.similar.as_deref(),
            command: &self.choices.command,
        }
    }
}

/// What is said of a test that no run of a study had: a name that is like it. None where a run had it, or there was none.
async fn unknown_test(store: &Store, study: StudyId, test: &str) -> miette::Result<Option<String>> {
    let runs = store.suite_runs(study).await.into_diagnostic()?;
    let Some(last) = runs.last() else {
        return Ok(None);
    };
    if runs
        .iter()
        .any(|run| run.names.iter().any(|name| name == test))
    {
        return Ok(None);
    }
    let near = did_you_mean(test, last.names.iter().map(String::as_str));
    Ok(Some(
        near.map_or_else(String::new, |near| format!("; {near}")),
    ))
}

/// The verdict as the evidence stands, and the suite with its parameters.
fn judged(
    history: &StudyHistory,
    choices: &TestBisectChoices,
    target: &TomlDocument,
    asked: &[RequestRecord],
) -> miette::Result<(TestBisectVerdict, String)> {
    let boot = backsight_model::Target::read(target)?.activate.boot;
    let policy = policy(
        choices,
        history.versions.len(),
        &history.cells,
        boot.can_be_revisited(),
    )?;
    let evidence = evidence_for_study(asked, history, &choices.history);
    let suite = history.cells[policy.cell].cell.to_string();
    Ok((policy.verdict(&evidence), suite))
}
