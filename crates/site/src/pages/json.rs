//! What pages tell as JSON: the views that the command prints, for the files beside the pages and for the read API.

use backsight_policy::{CompareOptions, TestConcern};
use backsight_report::{
    alerts::AlertsView,
    comparison::{ComparedBackground, ComparisonView},
    history::{HistoryView, SelectedHistory},
    json,
    stored_study::StudyListEntry,
    test_matrix::{TestFilter, TestMatrix},
};

use super::{book::SiteTarget, site::Site};

impl Site<'_> {
    /// The changes of all targets, the worst first.
    ///
    /// # Errors
    /// None that is known: every name and number has a form in JSON. The same holds for the other views.
    pub fn alerts_json(&self) -> Result<String, serde_json::Error> {
        let alerts = self.targets().flat_map(|target| {
            let tests = target.tests.as_ref();
            let alerts = target.alerts.iter();
            alerts.map(move |alert| (target.target.as_str(), &target.history, tests, alert))
        });
        json(&AlertsView::new(alerts))
    }

    /// The studies, the newest first.
    ///
    /// # Errors
    /// As those of [`Site::alerts_json`].
    pub fn studies_json(&self) -> Result<String, serde_json::Error> {
        let entries = self.studies().iter().map(StudyListEntry::from);
        json(&entries.collect::<Vec<_>>())
    }

    /// The self-tests of machines.
    ///
    /// # Errors
    /// As those of [`Site::alerts_json`].
    pub fn machines_json(&self) -> Result<String, serde_json::Error> {
        json(&self.machines)
    }
}

impl SiteTarget {
    /// The series whose names have this text in them.
    ///
    /// # Errors
    /// As those of [`Site::alerts_json`].
    pub fn history_json(&self, part: &str) -> Result<String, serde_json::Error> {
        let series = self.history.series.iter();
        let selected = SelectedHistory {
            target: self.target.as_str(),
            studies: &self.studies,
            history: &self.history,
            series: series
                .filter(|series| series.name().contains(part))
                .collect(),
            all_metrics: true,
        };
        json(&HistoryView::new(&selected))
    }

    /// These of its versions beside each other; the first is the baseline.
    ///
    /// # Errors
    /// As those of [`Site::alerts_json`].
    pub(super) fn comparison_json(&self, versions: &[usize]) -> Result<String, serde_json::Error> {
        let comparison = self.evidence().compare(versions, CompareOptions::default());
        let background = ComparedBackground::default();
        json(&ComparisonView::new(&comparison, &background))
    }

    /// The tests of its suites; none where it has no suites.
    ///
    /// # Errors
    /// As those of [`Site::alerts_json`].
    pub fn tests_json(&self) -> Result<Option<String>, serde_json::Error> {
        let Some(tests) = &self.tests else {
            return Ok(None);
        };
        let filter = TestFilter {
            concerns: TestConcern::ALL.to_vec(),
            ..TestFilter::default()
        };
        json(&TestMatrix::new(tests, &filter)).map(Some)
    }
}
