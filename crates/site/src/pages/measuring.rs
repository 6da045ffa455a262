//! Commands that measure more of a target as a study of it did: pages show them, and who has the token lets a worker run them.

use backsight_model::{StudyHistory, StudyName};
use backsight_policy::{Alert, MemberChange, VersionSeries, alert_at};

use super::{book::Book, site::Site};

/// What somebody who looks at a target's pages wants to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeasureRequest {
    /// All versions of a series between two, these included.
    Step {
        /// The part of its address that is the series.
        series: String,
        /// The name, identity or part of an address of the oldest version.
        from: String,
        /// Those of the newest.
        to: String,
    },
    /// The versions that an alert may lie at, until it is known at which one it does.
    Bisect {
        /// The name, identity or part of an address of a version that it may lie at.
        version: String,
    },
}

impl Site<'_> {
    /// The words behind `backsight` of the command that measures this.
    ///
    /// # Errors
    /// Why it can't be measured.
    pub fn measuring_words(
        &self,
        target: &str,
        request: &MeasureRequest,
    ) -> Result<Vec<String>, String> {
        let book = self.book_of(target).map_err(|why| why.to_string())?;
        let place = |named: &str| {
            let place = book.place_named(named);
            place.ok_or_else(|| format!("no version of {target} is called {named:?}"))
        };
        match request {
            MeasureRequest::Step { series, from, to } => {
                let number = (0..book.history.series.len()).find(|at| book.slug(*at) == series);
                let number = number.ok_or_else(|| format!("{target} has no series {series:?}"))?;
                let (from, to) = (place(from)?, place(to)?);
                let (from, to) = (from.min(to), from.max(to));
                book.step_words(&book.history.series[number], from, to)
                    .ok_or_else(|| "no study says how that series is measured".to_owned())
            }
            MeasureRequest::Bisect { version } => {
                let at = place(version)?;
                let alert = alert_at(&book.alerts, at);
                let alert = alert.ok_or_else(|| format!("no alert lies at {version}"))?;
                book.bisect_words(&book.alerts[alert])
                    .ok_or_else(|| "it is known at which version that change lies".to_owned())
            }
        }
    }
}

impl Book {
    /// The study that measured a series last: what is measured like it becomes part of the series.
    pub(super) fn like(&self, series: &VersionSeries) -> Option<&StudyName> {
        let asks = |study: &&StudyHistory| {
            let questions = study.questions();
            questions.iter().flatten().any(|key| *key == series.key)
        };
        let study = self.studies.iter().filter(asks);
        study
            .max_by_key(|study| study.study)
            .map(|study| &study.name)
    }

    /// Measures the versions of a series from one to another that have no value yet.
    fn step_words(&self, series: &VersionSeries, from: usize, to: usize) -> Option<Vec<String>> {
        let like = self.like(series)?.as_str();
        let (from, to) = (self.unique_name(from), self.unique_name(to));
        let words = [
            "step", "--like", like, "--from", from, "--to", to, "--every", "all",
        ];
        Some(words.map(str::to_owned).to_vec())
    }

    /// Narrows an alert down by its worst member; nothing where it is known at which version it lies, or since when it was so.
    pub(super) fn bisect_words(&self, alert: &Alert) -> Option<Vec<String>> {
        let stretch = alert.stretch;
        let after = stretch.after.filter(|after| after + 1 < stretch.until)?;
        let (good, bad) = (self.unique_name(after), self.unique_name(stretch.until));
        let of = |like: &str, what: &[&str]| {
            let words = ["bisect", "--like", like, "--good", good, "--bad", bad];
            let words = words.iter().chain(what);
            Some(words.map(|word| (*word).to_owned()).collect())
        };
        match alert.worst().change {
            MemberChange::Found { series, .. } | MemberChange::Named { series, .. } => {
                let series = &self.history.series[series];
                let metric = format!("{}.{}", series.cell.benchmark, series.metric.name);
                let same = |other: &&VersionSeries| {
                    other.cell.benchmark == series.cell.benchmark
                        && other.metric.name == series.metric.name
                };
                let cell = series.cell.to_string();
                let like = self.like(series)?.as_str();
                match self.history.series.iter().filter(same).count() {
                    1 => of(like, &["--metric", &metric]),
                    _ => of(like, &["--metric", &metric, "--cell", &cell]),
                }
            }
            MemberChange::Test { row, .. } => {
                let tests = self.tests.as_ref()?;
                let row = tests.rows.get(row)?;
                let suite = &tests.suites[row.suite].suite;
                let asks = |study: &&StudyHistory| {
                    let mut cells = study.cells.iter();
                    cells.any(|cell| cell.cell.to_string() == *suite)
                };
                let study = self.studies.iter().filter(asks);
                let like = study.max_by_key(|study| study.study)?.name.as_str();
                of(like, &["--test", &row.test])
            }
        }
    }

    /// The place of the version with this name, identity or part of an address; of several the newest.
    fn place_named(&self, named: &str) -> Option<usize> {
        let is_named = |at: &usize| {
            let version = self.version(*at);
            version.name == named || version.id == named || self.version_part(*at) == named
        };
        (0..self.history.versions.len()).rev().find(is_named)
    }
}
