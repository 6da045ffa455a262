//! Histories in the store: versions, builds and boots recorded as they come, and what all studies of a target
//! have measured, read back.
//!
//! A version has one build in one layout within a study; a boot needs its build.

use backsight_model::{
    Boot, BootRecord, Build, BuildRecord, HistoryCell, HistoryTestbed, HistoryTrial, Layout,
    StudyHistory, TargetName, Version,
};
use std::{collections::HashMap, ops::RangeInclusive, time::Duration};

use crate::{
    ALL_TRIALS, NumberRanges, Store, StoreError, StudyId,
    database::AnswerRow,
    packed::{JoinedSample, SampleKey, SampleKind, StoredSamples},
    query::{PerEngine, Query, QueryBuilder, Transaction, query, query_per_engine, query_scalar},
    study::{chunks, saturated},
};

/// What happened to a request along a target's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredOutcome {
    /// It gave samples.
    Measured,
    /// The trial failed.
    Failed,
    /// The boot failed: no trial was begun.
    NoBoot,
    /// There is no build.
    NoBuild,
}

/// Which samples of a history are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleReading {
    All,
    None,
}

/// A request along a target's history and what came of it, in whatever study.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRecord {
    /// The study.
    pub study: StudyId,
    /// The version's identity.
    pub version: String,
    /// Whether the version was as its history has it, without a patch or a revert on top.
    pub plain: bool,
    /// What identifies the build.
    pub content: String,
    /// Its layout.
    pub layout: Layout,
    /// Which start of the build, from 1; 0 where there was none.
    pub ordinal: u32,
    /// What identifies the cell's question; empty where no trial was begun.
    pub question: String,
    /// The round within the boot, from 1; 0 where no trial was begun.
    pub round: u32,
    /// What came of it.
    pub standing: StoredOutcome,
    /// How long the trial took; nothing where none was begun.
    pub took: Duration,
    /// The mean of each metric's samples in the trial, by the metric's name.
    pub figures: Vec<(String, f64)>,
}

/// The samples of trials with these numbers, a row a trial.
fn joined_samples(study: StudyId, trials: &RangeInclusive<u32>) -> Query {
    query_per_engine(PerEngine {
        sqlite: "SELECT trial, group_concat(metric || ' ' || COALESCE(measured_checksum, '') || ' ' || hex(measured)) AS joined \
                 FROM sample WHERE study = $1 AND trial BETWEEN $2 AND $3 GROUP BY trial ORDER BY trial",
        postgres: "SELECT trial, string_agg(CAST(metric AS TEXT) || ' ' || COALESCE(CAST(measured_checksum AS TEXT), '') || ' ' || \
                   encode(measured, 'hex'), ',') AS joined FROM sample WHERE study = $1 AND trial BETWEEN $2 AND $3 GROUP BY trial ORDER BY trial",
    })
    .bind(study.0)
    .bind(i64::from(*trials.start()))
    .bind(i64::from(*trials.end()))
}

impl Store {
    pub(crate) async fn insert_versions(
        &self,
        tx: &mut Transaction,
        study: i64,
        versions: &[Version],
    ) -> Result<(), StoreError> {
        for (chunk, from) in chunks(versions) {
            let mut insert = QueryBuilder::new(
                "INSERT INTO version (study, position, id, name, made, title, release, amendments) ",
            );
            let amendments = |version: &Version| match &version.amendments[..] {
                [] => Ok(None),
                some => self.to_json(&some).map(Some),
            };
            let rows = chunk.iter().zip(from..).map(|(version, position)| {
                let amendments = amendments(version)?;
                Ok((version, position, amendments))
            });
            let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
            insert.push_values(rows, |mut row, (version, position, amendments)| {
                row.push_bind(study)
                    .push_bind(position)
                    .push_bind(&version.id)
                    .push_bind(&version.name)
                    .push_bind(version.at.map(|at| at.to_string()))
                    .push_bind(&version.title)
                    .push_bind(version.release)
                    .push_bind(amendments);
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    pub(crate) async fn insert_testbeds(
        &self,
        tx: &mut Transaction,
        study: i64,
        testbeds: &[HistoryTestbed],
    ) -> Result<(), StoreError> {
        for (number, testbed) in (0_i64..).zip(testbeds) {
            query("INSERT INTO testbed (study, number, name, questions) VALUES ($1, $2, $3, $4)")
                .bind(study)
                .bind(number)
                .bind(testbed.name.as_str())
                .bind(self.to_json(&testbed.questions)?)
                .execute(&mut **tx)
                .await
                .map_err(|e| self.database.fault(e))?;
        }
        Ok(())
    }

    async fn testbeds(&self, study: StudyId) -> Result<Vec<HistoryTestbed>, StoreError> {
        let query = query("SELECT name, questions FROM testbed WHERE study = $1 ORDER BY number")
            .bind(study.0);
        let rows = self.database.rows(query).await?;
        let db = &self.database;
        rows.iter()
            .map(|row| {
                Ok(HistoryTestbed {
                    name: db.parsed(row, "name", "a testbed's name")?,
                    questions: db.json(row, "questions", "a list of questions")?,
                })
            })
            .collect()
    }

    /// Records a build, or that there is none. One that the study has already keeps what was said first.
    ///
    /// Returns its number in the study, from 1.
    ///
    /// # Errors
    /// The study has no such version; the disk is full; the store is locked.
    pub async fn record_build(
        &self,
        study: StudyId,
        build: &BuildRecord,
    ) -> Result<u32, StoreError> {
        let unswept = self.raw.unswept().await?;
        let log = self.keep_log(&build.log).await?;
        let layout = self.to_json(&build.layout)?;
        let mut tx = self.database.begin_alone("build").await?;
        let known: Option<i64> = query_scalar(
            "SELECT number FROM build WHERE study = $1 AND version = $2 AND layout = $3",
        )
        .bind(study.0)
        .bind(build.version as i64)
        .bind(&layout)
        .fetch_optional(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        if let Some(number) = known {
            return u32::try_from(number)
                .map_err(|_| self.database.strange("a build's number", number));
        }
        let failure = build
            .failure
            .as_ref()
            .map(|f| self.to_json(f))
            .transpose()?;
        let number: i64 = query_scalar(
            "INSERT INTO build (study, number, version, layout, content, quirks, failure, cached, began, took, log, compilers) \
             SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM build WHERE study = $1 \
             RETURNING number",
        )
        .bind(study.0)
        .bind(build.version as i64)
        .bind(layout)
        .bind(&build.key)
        .bind(self.to_json(&build.quirks)?)
        .bind(failure)
        .bind(build.cached)
        .bind(build.began.to_string())
        .bind(nanos(build.took))
        .bind(log)
        .bind(self.to_json(&build.compilers)?)
        .fetch_one(&mut *tx)
        .await
        .map_err(|e| self.stray_or_fault(study, "a build of a version that it hasn't", e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        drop(unswept);
        u32::try_from(number).map_err(|_| self.database.strange("a build's number", number))
    }

    /// Records a boot of a build that the study has, or that it failed. Returns its number in the study, from 1.
    ///
    /// # Errors
    /// The study has no such build; the disk is full; the store is locked.
    pub async fn record_boot(&self, study: StudyId, boot: &BootRecord) -> Result<u32, StoreError> {
        let unswept = self.raw.unswept().await?;
        let log = self.keep_log(&boot.log).await?;
        let mut tx = self.database.begin_alone("boot").await?;
        let build: Option<i64> = query_scalar(
            "SELECT number FROM build WHERE study = $1 AND version = $2 AND layout = $3",
        )
        .bind(study.0)
        .bind(boot.version as i64)
        .bind(self.to_json(&boot.layout)?)
        .fetch_optional(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        let build = build.ok_or_else(|| StoreError::Stray {
            study: study.0,
            what: "a boot of a build that it hasn't".into(),
        })?;
        let number: i64 = query_scalar(
            "INSERT INTO boot (study, number, build, ordinal, failure, began, took, facts, log, testbed) \
             SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9 FROM boot WHERE study = $1 \
             RETURNING number",
        )
        .bind(study.0)
        .bind(build)
        .bind(i64::from(boot.ordinal))
        .bind(boot.failure.as_deref())
        .bind(boot.began.to_string())
        .bind(nanos(boot.took))
        .bind(self.to_json(&boot.facts)?)
        .bind(log)
        .bind(boot.testbed as i64)
        .fetch_one(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        drop(unswept);
        u32::try_from(number).map_err(|_| self.database.strange("a boot's number", number))
    }

    async fn keep_log(&self, log: &[u8]) -> Result<Option<String>, StoreError> {
        if log.is_empty() {
            return Ok(None);
        }
        let kept = self.keep_batch(vec![log.to_vec()]).await?;
        Ok(kept.first().map(ToString::to_string))
    }

    /// The names of all targets that some study is about.
    ///
    /// # Errors
    /// The store's own.
    pub async fn targets(&self) -> Result<Vec<TargetName>, StoreError> {
        let names: Vec<String> = query_scalar(
            "SELECT DISTINCT target FROM study WHERE target IS NOT NULL ORDER BY target",
        )
        .fetch_all(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))?;
        names
            .iter()
            .map(|name| {
                let strange = |_| self.database.strange("a target's name", name);
                name.parse().map_err(strange)
            })
            .collect()
    }

    /// What every study of a target's history has measured of its versions as they are, the oldest study first; by testbed,
    /// where it measured on several at once. What was measured of amended versions is no point of the history and left
    /// out: see [`Store::study_history`].
    ///
    /// # Errors
    /// The store's own.
    pub async fn target_history(
        &self,
        target: &TargetName,
    ) -> Result<Vec<StudyHistory>, StoreError> {
        let histories = self.histories_of(target).await?.into_iter();
        let by_testbed = histories.map(StudyHistory::plain);
        Ok(by_testbed.flat_map(StudyHistory::by_testbed).collect())
    }

    async fn histories_of(&self, target: &TargetName) -> Result<Vec<StudyHistory>, StoreError> {
        let mut histories = Vec::new();
        for study in self.studies_of(target).await? {
            histories.push(self.study_history(study).await?);
        }
        Ok(histories)
    }

    pub(crate) async fn studies_of(&self, target: &TargetName) -> Result<Vec<StudyId>, StoreError> {
        let ids: Vec<i64> = query_scalar("SELECT id FROM study WHERE target = $1 ORDER BY id")
            .bind(target.as_str())
            .fetch_all(self.database.pool())
            .await
            .map_err(|e| self.database.fault(e))?;
        Ok(ids.into_iter().map(StudyId).collect())
    }

    /// What one study has measured along its target's history.
    ///
    /// # Errors
    /// There is no such study.
    pub async fn study_history(&self, study: StudyId) -> Result<StudyHistory, StoreError> {
        self.history_of(study, SampleReading::All).await
    }

    pub(crate) async fn history_of(
        &self,
        study: StudyId,
        samples: SampleReading,
    ) -> Result<StudyHistory, StoreError> {
        let row = self.study_of(study).await?;
        let cells = self.history_cells(study).await?;
        let trials = self.history_trials(study, &cells, samples).await;
        let trials = trials.map_err(|error| error.of_study(&row.name))?;
        let sides = row.compares_sides();
        Ok(StudyHistory {
            study: study.0,
            name: row.name,
            began: row.began,
            state: row.state,
            versions: self.versions(study).await?,
            sides,
            testbeds: self.testbeds(study).await?,
            builds: self.builds(study).await?,
            boots: self.boots(study).await?,
            cells,
            trials,
        })
    }

    /// The versions of a study, oldest first.
    ///
    /// # Errors
    /// The store's own.
    pub async fn versions(&self, study: StudyId) -> Result<Vec<Version>, StoreError> {
        let query = query(
            "SELECT id, name, made, title, release, amendments FROM version WHERE study = $1 ORDER BY position",
        )
        .bind(study.0);
        let rows = self.database.rows(query).await?;
        let db = &self.database;
        rows.iter()
            .map(|row| {
                Ok(Version {
                    id: db.column(row, "id")?,
                    name: db.column(row, "name")?,
                    at: db.parsed_if_any(row, "made", "a time")?,
                    title: db.column(row, "title")?,
                    release: db.column(row, "release")?,
                    amendments: db
                        .json_if_any(row, "amendments", "a version's amendments")?
                        .unwrap_or_default(),
                })
            })
            .collect()
    }

    async fn builds(&self, study: StudyId) -> Result<Vec<Build>, StoreError> {
        let query = query(
            "SELECT number, version, layout, content, quirks, failure, cached, began, took, log, compilers \
             FROM build WHERE study = $1 ORDER BY number",
        )
        .bind(study.0);
        let rows = self.database.rows(query).await?;
        rows.iter().map(|row| self.build_row(row)).collect()
    }

    fn build_row(&self, row: &AnswerRow) -> Result<Build, StoreError> {
        let db = &self.database;
        Ok(Build {
            number: db.whole(row, "number")?,
            version: db.whole(row, "version")?,
            layout: db.json(row, "layout", "a layout")?,
            key: db.column(row, "content")?,
            quirks: db.json(row, "quirks", "a list of quirks")?,
            compilers: db.json(row, "compilers", "a list of compilers")?,
            failure: db.json_if_any(row, "failure", "a build's failure")?,
            cached: db.column(row, "cached")?,
            began: db.parsed(row, "began", "a time")?,
            took: Duration::from_nanos(db.whole(row, "took")?),
            log: db.column(row, "log")?,
        })
    }

    async fn boots(&self, study: StudyId) -> Result<Vec<Boot>, StoreError> {
        let query = query(
            "SELECT number, build, ordinal, failure, began, took, facts, log, testbed \
             FROM boot WHERE study = $1 ORDER BY number",
        )
        .bind(study.0);
        let rows = self.database.rows(query).await?;
        let db = &self.database;
        rows.iter()
            .map(|row| {
                Ok(Boot {
                    number: db.whole(row, "number")?,
                    build: db.whole(row, "build")?,
                    ordinal: db.whole(row, "ordinal")?,
                    failure: db.column(row, "failure")?,
                    began: db.parsed(row, "began", "a time")?,
                    took: Duration::from_nanos(db.whole(row, "took")?),
                    facts: db.json(row, "facts", "facts about a boot")?,
                    log: db.column(row, "log")?,
                    testbed: db.whole(row, "testbed")?,
                })
            })
            .collect()
    }

    async fn history_cells(&self, study: StudyId) -> Result<Vec<HistoryCell>, StoreError> {
        let metrics = self.metrics(study).await?;
        let questions: Vec<Option<String>> =
            query_scalar("SELECT question FROM cell WHERE study = $1 ORDER BY number")
                .bind(study.0)
                .fetch_all(self.database.pool())
                .await
                .map_err(|e| self.database.fault(e))?;
        let cells = self.cells(study).await?;
        let with_metrics = cells.into_iter().zip(questions).map(|(cell, question)| {
            let shapes = metrics.get(&cell.benchmark).into_iter().flatten();
            HistoryCell {
                metrics: shapes.cloned().collect(),
                cell,
                key: question.unwrap_or_default(),
            }
        });
        Ok(with_metrics.collect())
    }

    async fn history_trials(
        &self,
        study: StudyId,
        cells: &[HistoryCell],
        samples: SampleReading,
    ) -> Result<Vec<HistoryTrial>, StoreError> {
        let db = &self.database;
        let mut trials: Vec<HistoryTrial> = Vec::new();
        // Trials may be recorded while this is read. All samples of a trial are one row, which the database joins: handing over a
        // row takes longer than reading it, and a long history has a thousand samples a trial.
        let mut moment = db.begin_to_read().await?;
        let of_trials = query(
            "SELECT number, boot, cell, round, began, failure, neighbours, took FROM trial WHERE study = $1 ORDER BY number",
        );
        let read = db.each_row_of(&mut *moment, of_trials.bind(study.0), |row| {
            let cell: usize = db.whole(row, "cell")?;
            let metrics = match samples {
                SampleReading::All => cells.get(cell).map_or(0, |cell| cell.metrics.len()),
                SampleReading::None => 0,
            };
            trials.push(HistoryTrial {
                number: db.whole(row, "number")?,
                boot: db.whole(row, "boot")?,
                cell,
                round: db.whole(row, "round")?,
                began: db.parsed(row, "began", "a time")?,
                took: Duration::from_nanos(db.whole(row, "took")?),
                failure: db.json_if_any(row, "failure", "a failure")?,
                samples: vec![Vec::new(); metrics],
                neighbours: db.column(row, "neighbours")?,
            });
            Ok(())
        });
        read.await?;
        if samples == SampleReading::None {
            return Ok(trials);
        }
        let mut of_samples = 0;
        let asked = joined_samples(study, &ALL_TRIALS);
        let read = db.each_row_of(&mut *moment, asked, |row| {
            let number: u32 = db.whole(row, "trial")?;
            while trials
                .get(of_samples)
                .is_some_and(|trial| trial.number < number)
            {
                of_samples += 1;
            }
            let trial = trials.get_mut(of_samples);
            match trial.filter(|trial| trial.number == number) {
                Some(trial) => self.take_samples(study, row, trial),
                None => Err(db.strange("a trial of the study", number)),
            }
        });
        read.await?;
        Ok(trials)
    }

    /// Reads the samples of some trials of a study that was read without samples.
    ///
    /// # Errors
    /// As [`Store::study_history`].
    pub async fn read_samples(
        &self,
        history: &mut StudyHistory,
        is_wanted: impl Fn(&HistoryTrial) -> bool,
    ) -> Result<(), StoreError> {
        let study = StudyId(history.study);
        let mut ranges = NumberRanges::default();
        for trial in history.trials.iter_mut().filter(|trial| is_wanted(trial)) {
            let cell = history.cells.get(trial.cell);
            trial.samples = vec![Vec::new(); cell.map_or(0, |cell| cell.metrics.len())];
            ranges.add(trial.number);
        }
        for range in ranges.as_slice() {
            let read = self.database.each_row(joined_samples(study, range), |row| {
                let number: u32 = self.database.whole(row, "trial")?;
                let place = (history.trials).binary_search_by_key(&number, |it| it.number);
                match place.ok().map(|place| &mut history.trials[place]) {
                    Some(trial) if is_wanted(trial) => self.take_samples(study, row, trial),
                    _ => Ok(()),
                }
            });
            read.await.map_err(|error| error.of_study(&history.name))?;
        }
        Ok(())
    }

    /// Takes in the samples of a trial that a row of [`joined_samples`] has.
    fn take_samples(
        &self,
        study: StudyId,
        row: &AnswerRow,
        trial: &mut HistoryTrial,
    ) -> Result<(), StoreError> {
        let db = &self.database;
        for sample in JoinedSample::all(db.column(row, "joined")?) {
            let sample = sample.ok_or_else(|| db.strange("samples of a trial", trial.number))?;
            let place = trial.samples.get_mut(sample.metric);
            let place =
                place.ok_or_else(|| db.strange("a metric of the trial's cell", sample.metric))?;
            let stands = SampleKey {
                study: study.0,
                trial: i64::from(trial.number),
                metric: sample.metric as i64,
            };
            let stored = StoredSamples::read(
                &sample.packed,
                sample.checksum,
                stands,
                SampleKind::Measured,
            );
            *place = self.sound(stored, stands)?;
        }
        Ok(())
    }

    /// Earlier studies that asked one of a study's questions of a history: what they measured is evidence for it.
    ///
    /// # Errors
    /// The store's own.
    pub async fn studies_of_same_questions(
        &self,
        study: StudyId,
    ) -> Result<Vec<StudyId>, StoreError> {
        let query = query(
            "SELECT DISTINCT study FROM cell WHERE study < $1 AND question IN \
             (SELECT question FROM cell WHERE study = $1 AND question IS NOT NULL) ORDER BY study",
        )
        .bind(study.0);
        let rows = self.database.rows(query).await?;
        let numbers = rows.iter().map(|row| self.database.column(row, "study"));
        numbers.map(|number| Ok(StudyId(number?))).collect()
    }

    /// What came of every request along a target's history, over all its studies, in order of time.
    ///
    /// # Errors
    /// The store's own.
    pub async fn requests_along(
        &self,
        target: &TargetName,
    ) -> Result<Vec<RequestRecord>, StoreError> {
        let mut all = Vec::new();
        for history in self.histories_of(target).await? {
            all.extend(requests_in(&history));
        }
        Ok(all)
    }
}

/// What a study asked, in order of time: broken builds and failed boots stand before the trials.
fn requests_in(history: &StudyHistory) -> Vec<RequestRecord> {
    let study = StudyId(history.study);
    let of = |build: &Build, ordinal, standing| RequestRecord {
        study,
        version: history
            .versions
            .get(build.version)
            .map_or_else(String::new, |version| version.id.clone()),
        plain: history
            .versions
            .get(build.version)
            .is_some_and(Version::is_plain),
        content: build.key.clone(),
        layout: build.layout,
        ordinal,
        question: String::new(),
        round: 0,
        standing,
        took: Duration::ZERO,
        figures: Vec::new(),
    };
    let questions = history.questions();
    let builds: HashMap<u32, &Build> = history.builds.iter().map(|b| (b.number, b)).collect();
    let boots: HashMap<u32, (&Build, &Boot)> = history
        .boots
        .iter()
        .filter_map(|boot| Some((boot.number, (*builds.get(&boot.build)?, boot))))
        .collect();
    let unbuilt = history
        .builds
        .iter()
        .filter(|build| build.failure.is_some());
    let mut all: Vec<RequestRecord> = unbuilt.map(|b| of(b, 0, StoredOutcome::NoBuild)).collect();
    let unbooted = history.boots.iter().filter(|boot| boot.failure.is_some());
    all.extend(unbooted.filter_map(|boot| {
        let build = builds.get(&boot.build)?;
        Some(of(build, boot.ordinal, StoredOutcome::NoBoot))
    }));
    all.extend(history.trials.iter().filter_map(|trial| {
        let (build, boot) = boots.get(&trial.boot)?;
        let cell = history.cells.get(trial.cell)?;
        let standing = match trial.failure {
            None => StoredOutcome::Measured,
            Some(_) => StoredOutcome::Failed,
        };
        let samples = cell.metrics.iter().zip(&trial.samples);
        let figures = samples
            .filter(|(_, values)| !values.is_empty())
            .map(|(metric, values)| {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                (metric.name.to_string(), mean)
            });
        Some(RequestRecord {
            question: questions.get(boot.testbed)?.get(trial.cell)?.clone(),
            round: trial.round,
            took: trial.took,
            figures: figures.collect(),
            ..of(build, boot.ordinal, standing)
        })
    }));
    all
}

fn nanos(duration: Duration) -> i64 {
    saturated(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
