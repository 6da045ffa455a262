//! Results of tests in the store: of each trial of a suite the tests' names, outcomes and durations, packed; and what failures said, as
//! a raw object.
//!
//! Runs of the same tests share the object with their names. Outcomes and durations carry a checksum, as samples do.

use backsight_model::{HostName, Outcome, SuiteRun, TestResult, TestResultRef};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, sync::Arc};

use crate::{
    RawRef, Store, StoreError, StudyId,
    database::AnswerRow,
    packed::{SampleKey, SampleKind, checksum},
    query::{Transaction, query},
    study::saturated,
};

/// A run of a suite as it is stored: its tests in the order of their names.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteRunRow {
    /// The study.
    pub study: StudyId,
    /// The trial's number in it.
    pub trial: u32,
    /// The cell's number in the plan's order, from 0.
    pub cell: usize,
    /// The version that it ran on, by its position among those of the study; none where the software was tested as found.
    pub version: Option<usize>,
    /// When the trial began.
    pub began: Timestamp,
    /// The host on which the tests ran; the first of several.
    pub host: HostName,
    /// Whether the suite came to its end.
    pub complete: bool,
    /// How many tests were to run and have no result, not even a name.
    pub missing: u64,
    /// What was wrong with its output.
    pub problems: Vec<String>,
    /// The names of the tests; runs of the same tests share them.
    pub names: Arc<[String]>,
    /// The outcome of each; a crash without its signal.
    pub outcomes: Vec<Outcome>,
    /// How long each took, in seconds; not a number where nobody says it.
    pub seconds: Vec<f32>,
    /// Where it stands what failures said.
    pub details: Option<RawRef>,
}

/// What is known of a test beside its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TestDetail {
    /// Its number among the tests of the run.
    test: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reruns: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    log: String,
    line: u64,
}

impl TestDetail {
    fn new(test: usize, result: TestResultRef<'_>) -> Option<Self> {
        let signal = match result.outcome {
            Outcome::Crash(signal) => signal,
            _ => None,
        };
        let is_plain = signal.is_none()
            && result.message.is_none()
            && result.reruns.is_empty()
            && result.log.is_empty();
        (!is_plain).then(|| Self {
            test,
            signal,
            message: result.message.map(str::to_owned),
            reruns: result.reruns.iter().map(ToString::to_string).collect(),
            log: result.log.to_owned(),
            line: result.line,
        })
    }
}

/// The stored number of each outcome. A published one never changes.
const CODES: [(u8, Outcome); 11] = [
    (0, Outcome::Pass),
    (1, Outcome::Fail),
    (2, Outcome::Error),
    (3, Outcome::ExpectedFail),
    (4, Outcome::UnexpectedPass),
    (5, Outcome::Skip),
    (6, Outcome::Timeout),
    (7, Outcome::Crash(None)),
    (8, Outcome::NotRun),
    (9, Outcome::NoExit),
    (10, Outcome::NoLog),
];

fn code(outcome: Outcome) -> u8 {
    let plain = match outcome {
        Outcome::Crash(_) => Outcome::Crash(None),
        other => other,
    };
    let known = CODES.iter().find(|(_, known)| *known == plain);
    known.map_or(u8::MAX, |(code, _)| *code)
}

fn outcome(code: u8) -> Option<Outcome> {
    let known = CODES.get(usize::from(code))?;
    Some(known.1)
}

/// Where the checksum of a run stands among those of its trial: no metric has this number.
pub(crate) fn run_key(study: i64, trial: i64) -> SampleKey {
    SampleKey {
        study,
        trial,
        metric: -1,
    }
}

/// The raw objects of a run.
pub(crate) struct SuiteObjects {
    names: RawRef,
    details: Option<RawRef>,
}

impl Store {
    /// Keeps what a run of a suite says in raw objects.
    pub(crate) async fn keep_suite_objects(
        &self,
        run: &SuiteRun,
    ) -> Result<SuiteObjects, StoreError> {
        let names: Vec<&str> = run.results.iter().map(|it| it.name).collect();
        let numbered = run.results.iter().enumerate();
        let details: Vec<TestDetail> = numbered
            .filter_map(|(test, result)| TestDetail::new(test, result))
            .collect();
        let mut objects = vec![self.to_json(&names)?.into_bytes()];
        if !details.is_empty() {
            objects.push(self.to_json(&details)?.into_bytes());
        }
        let names = RawRef::from_content(&objects[0]);
        let kept = self.keep_batch(objects).await?;
        Ok(SuiteObjects {
            names,
            details: kept.get(1).copied(),
        })
    }

    pub(crate) async fn insert_suite_run(
        &self,
        tx: &mut Transaction,
        (study, trial): (i64, i64),
        run: &SuiteRun,
        objects: &SuiteObjects,
    ) -> Result<(), StoreError> {
        let outcomes = run.results.outcomes().iter();
        let outcomes: Vec<u8> = outcomes.map(|it| code(*it)).collect();
        let seconds = run.results.iter();
        let seconds = seconds.flat_map(|it| it.seconds.unwrap_or(f32::NAN).to_le_bytes());
        let seconds: Vec<u8> = seconds.collect();
        let packed = [outcomes.as_slice(), &seconds].concat();
        let sum = checksum(run_key(study, trial), SampleKind::Measured, &packed);
        query(
            "INSERT INTO suite_run (study, trial, complete, missing, problems, names, outcomes, seconds, checksum, details) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(study)
        .bind(trial)
        .bind(run.complete)
        .bind(saturated(run.missing))
        .bind(self.to_json(&run.problems)?)
        .bind(objects.names.to_string())
        .bind(outcomes)
        .bind(seconds)
        .bind(sum)
        .bind(objects.details.map(|raw| raw.to_string()))
        .execute(&mut **tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        Ok(())
    }

    /// The runs of suites of a study, in the order of its trials.
    ///
    /// # Errors
    /// The store's own; results that aren't what was recorded.
    pub async fn suite_runs(&self, study: StudyId) -> Result<Vec<SuiteRunRow>, StoreError> {
        let query = query(
            "SELECT r.trial, t.cell, t.began, b.version, \
             (SELECT p.host FROM step p WHERE p.study = r.study AND p.trial = r.trial AND p.monitor IS NULL \
              ORDER BY CASE p.phase WHEN 'run' THEN 0 ELSE 1 END, p.position LIMIT 1) AS host, \
             r.complete, r.missing, r.problems, r.names, r.outcomes, r.seconds, r.checksum, r.details \
             FROM suite_run r JOIN trial t ON t.study = r.study AND t.number = r.trial \
             LEFT JOIN boot o ON o.study = t.study AND o.number = t.boot \
             LEFT JOIN build b ON b.study = o.study AND b.number = o.build \
             WHERE r.study = $1 ORDER BY r.trial",
        )
        .bind(study.0);
        let rows = self.database.rows(query).await?;
        let mut known: HashMap<RawRef, Arc<[String]>> = HashMap::new();
        let mut runs = Vec::with_capacity(rows.len());
        for row in &rows {
            let raw: RawRef = self
                .database
                .parsed(row, "names", "a raw output's address")?;
            let names = match known.get(&raw) {
                Some(names) => Arc::clone(names),
                None => {
                    let names: Arc<[String]> = self.list_object(&raw).await?.into();
                    known.insert(raw, Arc::clone(&names));
                    names
                }
            };
            runs.push(self.suite_run_row(study, row, names)?);
        }
        Ok(runs)
    }

    /// Whether any trial of a study ran a suite.
    ///
    /// # Errors
    /// The store's own.
    pub async fn has_suite_runs(&self, study: StudyId) -> Result<bool, StoreError> {
        let query = query("SELECT trial FROM suite_run WHERE study = $1 LIMIT 1");
        Ok(!self.database.rows(query.bind(study.0)).await?.is_empty())
    }

    fn suite_run_row(
        &self,
        study: StudyId,
        row: &AnswerRow,
        names: Arc<[String]>,
    ) -> Result<SuiteRunRow, StoreError> {
        let db = &self.database;
        let trial: u32 = db.whole(row, "trial")?;
        let outcomes: &[u8] = db.column(row, "outcomes")?;
        let seconds: &[u8] = db.column(row, "seconds")?;
        let packed = [outcomes, seconds].concat();
        let key = run_key(study.0, i64::from(trial));
        let damaged = || db.strange("results as they were recorded", format!("trial {trial}"));
        if checksum(key, SampleKind::Measured, &packed) != db.column::<i64>(row, "checksum")? {
            return Err(damaged());
        }
        let (floats, rest) = seconds.as_chunks::<4>();
        if outcomes.len() != names.len() || floats.len() != names.len() || !rest.is_empty() {
            return Err(damaged());
        }
        let outcomes: Option<Vec<Outcome>> = outcomes.iter().map(|code| outcome(*code)).collect();
        Ok(SuiteRunRow {
            study,
            trial,
            cell: db.whole(row, "cell")?,
            version: match db.column::<Option<i64>>(row, "version")? {
                Some(_) => Some(db.whole(row, "version")?),
                None => None,
            },
            began: db.parsed(row, "began", "a time")?,
            host: db.parsed(row, "host", "a host's name")?,
            complete: db.column(row, "complete")?,
            missing: db.whole(row, "missing")?,
            problems: db.json(row, "problems", "a list of sentences")?,
            names,
            outcomes: outcomes.ok_or_else(damaged)?,
            seconds: floats.iter().map(|it| f32::from_le_bytes(*it)).collect(),
            details: db.parsed_if_any(row, "details", "a raw output's address")?,
        })
    }

    /// A run with what its failures said.
    ///
    /// # Errors
    /// The store's own.
    pub async fn suite_run(&self, row: &SuiteRunRow) -> Result<SuiteRun, StoreError> {
        let tests = row.names.iter().zip(&row.outcomes).zip(&row.seconds);
        let result = |((name, outcome), seconds): ((&String, &Outcome), &f32)| TestResult {
            seconds: (!seconds.is_nan()).then(|| f64::from(*seconds)),
            ..TestResult::new(name.clone(), *outcome)
        };
        let details: Vec<TestDetail> = match &row.details {
            None => Vec::new(),
            Some(raw) => match self.list_object(raw).await {
                // Results stay when what failures said is gone by the rules of the store.
                Err(StoreError::Pruned { .. }) => Vec::new(),
                details => details?,
            },
        };
        let mut details = details.into_iter().peekable();
        let with_detail = |(test, mut result): (usize, TestResult)| {
            let Some(detail) = details.next_if(|detail| detail.test == test) else {
                return result;
            };
            if let (Outcome::Crash(_), Some(signal)) = (result.outcome, detail.signal) {
                result.outcome = Outcome::Crash(Some(signal));
            }
            result.message = detail.message;
            result.reruns = (detail.reruns.iter())
                .filter_map(|word| word.parse().ok())
                .collect();
            result.log = detail.log;
            result.line = detail.line;
            result
        };
        Ok(SuiteRun {
            results: tests.map(result).enumerate().map(with_detail).collect(),
            complete: row.complete,
            missing: row.missing,
            problems: row.problems.clone(),
        })
    }

    /// A raw object that is a JSON list.
    async fn list_object<T: serde::de::DeserializeOwned>(
        &self,
        raw: &RawRef,
    ) -> Result<Vec<T>, StoreError> {
        let content = self.raw(raw).await?;
        serde_json::from_slice(&content)
            .map_err(|error| self.database.strange("a JSON list", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_number() {
        for known in Outcome::ALL {
            assert_eq!(outcome(code(known)), Some(known));
        }
        assert_eq!(outcome(11), None);
        assert_eq!(outcome(u8::MAX), None);
    }
}
