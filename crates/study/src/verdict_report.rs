//! The verdict of a study, made of its stored evidence: live, when it ends, and afterwards alike. It isn't stored: the same
//! evidence gives the same one.

use backsight_model::{Event, ResultSet, TargetName};
use backsight_policy::{CompareOptions, Comparison, Warning, compare};
use backsight_report::{
    Render as _, comparison::ComparedBackground, overhead::OverheadStudy, test_study::TestStudy,
};
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;

use crate::{
    measurement_warnings, stored_study,
    verbs::{
        Verb as _,
        bisect::{BisectReport, BisectVerb},
        noise::{NoiseReport, NoiseVerb},
        overhead::OverheadVerb,
        search::{SearchReport, SearchVerb},
        test::{self, TestVerb},
        test_bisect::{TestBisectReport, TestBisectVerb},
        try_patch::TryReport,
        verb,
    },
};

/// The verdict of a study with everything that is shown of it.
pub enum VerdictReport {
    /// Sides beside a base.
    Try(Box<TryReport>),
    /// The changes along a history.
    Bisect(Box<BisectReport>),
    /// The change that broke or mended a test.
    TestBisect(Box<TestBisectReport>),
    /// How much benchmarks vary.
    Noise(Box<NoiseReport>),
    /// What monitors cost.
    Overhead(Box<OverheadStudy>),
    /// The highest loads.
    Search(Box<SearchReport>),
    /// What the tests of suites came to.
    Tests(Box<TestStudy>),
    /// The history of a target, which other studies are part of.
    History(TargetName),
    /// What was measured.
    Results(Box<ResultsReport>),
    /// Nothing yet.
    None,
}

impl VerdictReport {
    /// The verdict of a study, whatever its verb; what it measured, where its verb isn't one that measures.
    ///
    /// # Errors
    /// The store's own, or a study that another program wrote.
    pub async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        match verb(&study.verb) {
            Some(verb) => verb.judge(store, study).await,
            None if store.has_suite_runs(study.id).await.into_diagnostic()? => {
                let tests = test::report(store, study).await?;
                Ok(Self::Tests(Box::new(tests)))
            }
            None => ResultsReport::from_store(store, study).await,
        }
    }

    /// The verdict as an event of its study; none where a study only measured.
    ///
    /// # Errors
    /// None that is known: every name and number has a form in JSON.
    pub fn event(&self) -> serde_json::Result<Option<Event>> {
        match self {
            Self::Try(report) => report.study().event(report.verb),
            Self::Bisect(report) => report.study().event(BisectVerb::NAME),
            Self::TestBisect(report) => report.study().event(TestBisectVerb::NAME),
            Self::Noise(report) => report.study().event(NoiseVerb::NAME),
            Self::Overhead(study) => study.event(OverheadVerb::NAME),
            Self::Search(report) => report.study().event(SearchVerb::NAME),
            Self::Tests(study) => study.event(TestVerb::NAME),
            Self::Results(_) | Self::History(_) | Self::None => return Ok(None),
        }
        .map(Some)
    }
}

/// What a study measured, by itself.
pub struct ResultsReport {
    /// What was measured.
    pub set: ResultSet,
    /// What a reader should know of how it was measured.
    pub warnings: Vec<Warning>,
    /// What several hosts did beside each other.
    pub background: ComparedBackground,
}

impl ResultsReport {
    /// Reads what a study measured.
    ///
    /// # Errors
    /// The store's own.
    pub async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        let set = store.result_set(study.id).await.into_diagnostic()?;
        let warnings = measurement_warnings(store, [&set]).await?;
        let instances = stored_study::instances(store, study).await?;
        let background = ComparedBackground {
            more_rounds: None,
            instances: instances.into_iter().collect(),
        };
        Ok(VerdictReport::Results(Box::new(Self {
            set,
            warnings,
            background,
        })))
    }

    /// The results as a comparison with nothing.
    pub fn comparison(&self) -> Comparison {
        let options = CompareOptions {
            monitors: true,
            ..CompareOptions::default()
        };
        let mut alone = compare(std::slice::from_ref(&self.set), options);
        alone.warnings.extend(self.warnings.iter().cloned());
        alone
    }
}
