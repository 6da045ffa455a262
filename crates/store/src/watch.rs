//! What standing jobs began and found, in the store.
//!
//! A study is kept with its name before it is begun: a job that is killed in between begins it under that name.

use backsight_model::{StudyName, TargetName};
use jiff::Timestamp;
use std::{fmt, str::FromStr};

use crate::{
    Store, StoreError,
    database::AnswerRow,
    query::{query, query_scalar},
};

/// What a standing job began a study for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchStudyPurpose {
    /// A version by the schedule.
    Measure,
    /// Which version changed something.
    Bisect,
    /// A version beside the one before it.
    Verify,
    /// The newest version beside the same without a change.
    Revert,
}

impl WatchStudyPurpose {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Measure => "measure",
            Self::Bisect => "bisect",
            Self::Verify => "verify",
            Self::Revert => "revert",
        }
    }
}

impl fmt::Display for WatchStudyPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for WatchStudyPurpose {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let all = [Self::Measure, Self::Bisect, Self::Verify, Self::Revert];
        let found = all.into_iter().find(|purpose| purpose.as_str() == word);
        found.ok_or_else(|| format!("`{word}` is nothing that a standing job begins a study for"))
    }
}

/// A study of a standing job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchStudy {
    /// Its number among those of the job, from 1.
    pub number: i64,
    /// Its name; perhaps no study has it yet.
    pub study: StudyName,
    /// What for.
    pub purpose: WatchStudyPurpose,
    /// What it is to answer: a JSON object of whoever wrote it.
    pub question: String,
}

/// A standing job as its store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingJobRecord {
    /// Its name.
    pub job: String,
    /// The target that it follows.
    pub target: TargetName,
    /// The study that it began last; its number is how many there were.
    pub last: WatchStudy,
    /// How sure it is of each thing that it found.
    pub found: Vec<FindingKind>,
}

/// How sure a standing job is of what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// The version was measured beside the one before it, and differs.
    Verified,
    /// It lies between these versions; which of them it is couldn't be decided.
    Stretch,
    /// A bisection named the version, and beside the one before it shows no such difference.
    Refuted,
}

impl FindingKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Stretch => "stretch",
            Self::Refuted => "refuted",
        }
    }
}

impl FromStr for FindingKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let all = [Self::Verified, Self::Stretch, Self::Refuted];
        let found = all.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| format!("`{word}` is nothing that a standing job finds"))
    }
}

/// What a standing job found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFinding {
    /// The identity of the version before it.
    pub after: String,
    /// The identity of the first version with it.
    pub until: String,
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// How sure it is.
    pub kind: FindingKind,
    /// When.
    pub found: Timestamp,
}

impl Store {
    /// The studies of a standing job of a target, in the order in which they were begun.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn watch_studies(
        &self,
        job: &str,
        target: &TargetName,
    ) -> Result<Vec<WatchStudy>, StoreError> {
        let asked = query(
            "SELECT number, study, purpose, question FROM watch_study WHERE job = $1 AND target = $2 ORDER BY number",
        )
        .bind(job)
        .bind(target.as_str());
        let rows = self.database.rows(asked).await?;
        rows.iter().map(|row| self.watch_study(row)).collect()
    }

    /// All standing jobs that ever began a study, by their names and targets.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn standing_jobs(&self) -> Result<Vec<StandingJobRecord>, StoreError> {
        let db = &self.database;
        let last = query(
            "SELECT s.job, s.target, s.number, s.study, s.purpose, s.question FROM watch_study s JOIN \
             (SELECT job, target, MAX(number) AS number FROM watch_study GROUP BY job, target) l \
             ON l.job = s.job AND l.target = s.target AND l.number = s.number ORDER BY s.job, s.target",
        );
        let mut jobs = Vec::new();
        for row in db.rows(last).await? {
            jobs.push(StandingJobRecord {
                job: db.column(&row, "job")?,
                target: db.parsed(&row, "target", "a target's name")?,
                last: self.watch_study(&row)?,
                found: Vec::new(),
            });
        }
        let found = query("SELECT job, target, kind FROM watch_finding ORDER BY found");
        for row in db.rows(found).await? {
            let (name, target): (&str, &str) =
                (db.column(&row, "job")?, db.column(&row, "target")?);
            let kind = db.parsed(&row, "kind", "how sure a finding is")?;
            let mut jobs = jobs.iter_mut();
            if let Some(job) = jobs.find(|job| job.job == name && job.target.as_str() == target) {
                job.found.push(kind);
            }
        }
        Ok(jobs)
    }

    /// Keeps that a standing job begins a study: under the first name of JOB-PURPOSE-NUMBER that no study has
    /// and none is to have.
    ///
    /// # Errors
    /// The store's own.
    pub async fn add_watch_study(
        &self,
        job: &str,
        target: &TargetName,
        purpose: WatchStudyPurpose,
        question: &str,
    ) -> Result<WatchStudy, StoreError> {
        let mut tx = self.database.begin_alone("watch_study").await?;
        let highest =
            query_scalar("SELECT CAST(COALESCE(MAX(number), 0) AS BIGINT) FROM watch_study WHERE job = $1 AND target = $2")
                .bind(job)
                .bind(target.as_str())
                .fetch_one(&mut *tx)
                .await;
        let highest: i64 = highest.map_err(|e| self.database.fault(e))?;
        let number = highest + 1;
        let mut suffix = number;
        let study = loop {
            let name = format!("{job}-{purpose}-{suffix}");
            let taken: i64 = query_scalar(
                "SELECT (SELECT COUNT(*) FROM study WHERE name = $1) + (SELECT COUNT(*) FROM watch_study WHERE study = $1)",
            )
                .bind(&name)
                .fetch_one(&mut *tx)
                .await
                .map_err(|e| self.database.fault(e))?;
            if taken == 0 {
                break name;
            }
            suffix += 1;
        };
        query(
            "INSERT INTO watch_study (job, target, number, study, purpose, question) VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(job)
        .bind(target.as_str())
        .bind(number)
        .bind(&study)
        .bind(purpose.as_str())
        .bind(question)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        let study = StudyName::new(study.clone())
            .map_err(|_| self.database.strange("a study's name", &study))?;
        Ok(WatchStudy {
            number,
            study,
            purpose,
            question: question.to_owned(),
        })
    }

    /// What a standing job found along a target's history, the oldest first.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn watch_findings(
        &self,
        job: &str,
        target: &TargetName,
    ) -> Result<Vec<StoredFinding>, StoreError> {
        let asked = query(
            "SELECT after_version, until_version, cell, metric, kind, found FROM watch_finding \
             WHERE job = $1 AND target = $2 ORDER BY found, until_version, cell, metric",
        )
        .bind(job)
        .bind(target.as_str());
        let rows = self.database.rows(asked).await?;
        let db = &self.database;
        let finding = |row: &AnswerRow| {
            Ok(StoredFinding {
                after: db.column(row, "after_version")?,
                until: db.column(row, "until_version")?,
                cell: db.column(row, "cell")?,
                metric: db.column(row, "metric")?,
                kind: db.parsed(row, "kind", "how sure a finding is")?,
                found: db.parsed(row, "found", "a time")?,
            })
        };
        rows.iter().map(finding).collect()
    }

    /// Keeps what a standing job found; whether it wasn't known yet.
    ///
    /// # Errors
    /// The store's own.
    pub async fn record_watch_finding(
        &self,
        job: &str,
        target: &TargetName,
        finding: &StoredFinding,
    ) -> Result<bool, StoreError> {
        let asked = query(
            "INSERT INTO watch_finding (job, target, after_version, until_version, cell, metric, kind, found) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        )
        .bind(job)
        .bind(target.as_str())
        .bind(&finding.after)
        .bind(&finding.until)
        .bind(&finding.cell)
        .bind(&finding.metric)
        .bind(finding.kind.as_str())
        .bind(finding.found.to_string());
        let done = self.database.execute(asked).await?;
        Ok(done > 0)
    }

    fn watch_study(&self, row: &AnswerRow) -> Result<WatchStudy, StoreError> {
        let db = &self.database;
        Ok(WatchStudy {
            number: db.column(row, "number")?,
            study: db.parsed(row, "study", "a study's name")?,
            purpose: db.parsed(row, "purpose", "what a standing job begins a study for")?,
            question: db.column(row, "question")?,
        })
    }
}
