//! What a study has measured, as one value.
//!
//! A cell of the plan without samples has a series without trials.

use backsight_model::{
    BenchmarkName, Cell, CellSeries, Definitions, Failure, HostName, ResultSet, TomlDocument,
    TrialSamples,
};
use indexmap::IndexMap;
use std::ops::RangeInclusive;

use crate::{
    ALL_TRIALS, Store, StoreError, StudyId,
    packed::{SampleKey, SampleKind},
    query::query,
};

/// The verb of studies that others measured.
const IMPORT: &str = "import";

type Facts = IndexMap<String, String>;

impl Store {
    /// Everything that a study has measured: a series for each metric of each cell, in the plan's order.
    ///
    /// # Errors
    /// There is no such study.
    pub async fn result_set(&self, study: StudyId) -> Result<ResultSet, StoreError> {
        let row = self.study_of(study).await?;
        let series = self.series_of_trials(study, &[ALL_TRIALS]).await;
        let series = series.map_err(|error| error.of_study(&row.name))?;
        let cells = self.cells(study).await?;
        let failed = self.failures(study, &cells).await?;
        let documents = self.documents(study).await?;
        let documents: Vec<(String, TomlDocument)> = documents
            .into_iter()
            .map(|it| (it.kind, TomlDocument::new(it.name, it.text)))
            .collect();
        let documents = documents.iter().map(|(kind, it)| (kind.as_str(), it));
        Ok(ResultSet {
            study: study.0,
            name: row.name.to_string(),
            study_name: row.name,
            began: row.began,
            state: row.state,
            interleaved: row.verb != IMPORT,
            hosts: self.hosts(study).await?,
            definitions: Definitions::from_documents(documents),
            series,
            failed,
        })
    }

    /// What the trials with numbers in these ranges measured, which are in order and have none twice: a series for each metric of each cell, in the plan's order.
    ///
    /// # Errors
    /// The store's own.
    pub async fn series_of_trials(
        &self,
        study: StudyId,
        ranges: &[RangeInclusive<u32>],
    ) -> Result<Vec<CellSeries>, StoreError> {
        let metrics = self.metrics(study).await?;
        let mut series = Vec::new();
        // Where in `series` each cell's metrics begin.
        let mut first = Vec::new();
        for cell in self.cells(study).await? {
            first.push(series.len());
            for metric in metrics.get(&cell.benchmark).into_iter().flatten() {
                series.push(CellSeries {
                    cell: cell.clone(),
                    metric: metric.name.clone(),
                    unit: metric.unit,
                    better: metric.better,
                    about: metric.about.clone(),
                    primary: metric.primary,
                    monitor: metric.monitor.clone(),
                    simulator: metric.simulator,
                    trials: Vec::new(),
                });
            }
        }
        for range in ranges {
            self.add_samples(study, range, &first, &mut series).await?;
        }
        Ok(series)
    }

    /// The newest studies that have cells of this benchmark, those along a history left out: at most so many.
    ///
    /// # Errors
    /// The store's own.
    pub async fn studies_of_benchmark(
        &self,
        benchmark: &BenchmarkName,
        most: usize,
    ) -> Result<Vec<StudyId>, StoreError> {
        let query = query(
            "SELECT s.id FROM study s WHERE s.target IS NULL \
             AND EXISTS (SELECT 1 FROM cell c WHERE c.study = s.id AND c.benchmark = $1) ORDER BY s.id DESC LIMIT $2",
        )
        .bind(benchmark.as_str())
        .bind(most as i64);
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| Ok(StudyId(self.database.column(row, "id")?)))
            .collect()
    }

    async fn failures(
        &self,
        study: StudyId,
        cells: &[Cell],
    ) -> Result<Vec<(u32, u32, Cell, Failure)>, StoreError> {
        let query = query(
            "SELECT number, round, cell, failure FROM trial WHERE study = $1 AND failure IS NOT NULL ORDER BY number",
        )
        .bind(study.0);
        let rows = self.database.rows(query).await?;
        let mut failures = Vec::new();
        for row in &rows {
            let cell: usize = self.database.whole(row, "cell")?;
            let strange = || self.database.strange("a cell of the study", cell);
            let cell = cells.get(cell).ok_or_else(strange)?.clone();
            if let Some(failure) = self.database.json_if_any(row, "failure", "a failure")? {
                let (number, round) = (
                    self.database.whole(row, "number")?,
                    self.database.whole(row, "round")?,
                );
                failures.push((number, round, cell, failure));
            }
        }
        Ok(failures)
    }

    /// Adds the samples of these trials to their series; `first` says where in `series` each cell's metrics begin.
    async fn add_samples(
        &self,
        study: StudyId,
        trials: &RangeInclusive<u32>,
        first: &[usize],
        series: &mut [CellSeries],
    ) -> Result<(), StoreError> {
        let db = &self.database;
        let query = query(
            "SELECT t.number, t.cell, t.round, t.neighbours, s.metric, s.measured, s.measured_checksum, s.within, s.within_checksum, t.boot, t.session, t.host \
             FROM trial t JOIN sample s ON s.study = t.study AND s.trial = t.number \
             WHERE t.study = $1 AND t.number BETWEEN $2 AND $3 ORDER BY t.number, s.metric",
        )
        .bind(study.0)
        .bind(i64::from(*trials.start()))
        .bind(i64::from(*trials.end()));
        db.each_row(query, |row| {
            let (cell, metric): (usize, usize) = (db.whole(row, "cell")?, db.whole(row, "metric")?);
            let end = first.get(cell + 1).copied().unwrap_or(series.len());
            let index = first.get(cell).map(|first| first + metric);
            let Some(index) = index.filter(|index| *index < end) else {
                return Err(db.strange("a metric of the trial's cell", metric));
            };
            let trial: u32 = db.whole(row, "number")?;
            let key = SampleKey {
                study: study.0,
                trial: i64::from(trial),
                metric: db.column(row, "metric")?,
            };
            series[index].trials.push(TrialSamples {
                trial,
                round: db.whole(row, "round")?,
                boot: db.whole(row, "boot")?,
                session: db.whole(row, "session")?,
                host: db.whole(row, "host")?,
                values: self.sound_samples(row, key, SampleKind::Measured)?,
                each: self.sound_samples(row, key, SampleKind::Within)?,
                neighbours: db.column(row, "neighbours")?,
            });
            Ok(())
        })
        .await
    }

    /// What each host was. A fact that changed between stop and resume says both: `6.1.0, then 6.1.1`.
    ///
    /// # Errors
    /// The store's own.
    pub async fn hosts(&self, study: StudyId) -> Result<IndexMap<HostName, Facts>, StoreError> {
        let query =
            query("SELECT host, facts FROM facts WHERE study = $1 ORDER BY position").bind(study.0);
        let rows = self.database.rows(query).await?;
        let mut hosts: IndexMap<HostName, Vec<Facts>> = IndexMap::new();
        for row in &rows {
            let host = self.database.parsed(row, "host", "a host's name")?;
            let facts = self.database.json(row, "facts", "facts about a host")?;
            hosts.entry(host).or_default().push(facts);
        }
        Ok(hosts
            .into_iter()
            .map(|(host, said)| (host, in_turn(&said)))
            .collect())
    }
}

fn in_turn(said: &[Facts]) -> Facts {
    let names = said.iter().flat_map(|facts| facts.keys());
    let mut merged = Facts::new();
    for name in names {
        if merged.contains_key(name) {
            continue;
        }
        let mut values: Vec<&str> = said
            .iter()
            .map(|facts| facts.get(name).map_or("unknown", String::as_str))
            .collect();
        values.dedup();
        merged.insert(name.clone(), values.join(", then "));
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_that_changed_says_both_and_one_that_did_not_says_one() {
        let facts = |pairs: &[(&str, &str)]| -> Facts {
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect()
        };
        let merged = in_turn(&[
            facts(&[("kernel", "6.1.0"), ("cpus", "2")]),
            facts(&[("kernel", "6.1.1"), ("cpus", "2"), ("memory", "24 GiB")]),
        ]);
        assert_eq!(merged["kernel"], "6.1.0, then 6.1.1");
        assert_eq!(merged["cpus"], "2");
        assert_eq!(merged["memory"], "unknown, then 24 GiB");
    }
}
