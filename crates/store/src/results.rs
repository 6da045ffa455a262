//! What a study has measured, as one value.
//!
//! Refuses nothing and leaves nothing out: a cell of the plan without samples has a series without trials.

use backsight_model::{HostName, ResultSet, Series, TrialSamples};
use indexmap::IndexMap;
use std::collections::HashMap;

use crate::{Store, StoreError, StudyId};

type Facts = IndexMap<String, String>;

/// A trial, and where in the plan it belongs.
struct Place {
    cell: usize,
    round: u32,
    neighbours: f64,
}

impl Store {
    /// Everything that a study has measured: a series for each metric of each cell, in the plan's order.
    ///
    /// # Errors
    /// There is no such study.
    pub async fn result_set(&self, study: StudyId) -> Result<ResultSet, StoreError> {
        let row = self.study_of(study).await?;
        let metrics = self.metrics(study).await?;
        let mut series = Vec::new();
        // Where in `series` each cell's metrics begin.
        let mut first = Vec::new();
        let cells = self.cells(study).await?;
        for cell in &cells {
            first.push(series.len());
            for metric in metrics.get(&cell.benchmark).into_iter().flatten() {
                series.push(Series {
                    cell: cell.clone(),
                    metric: metric.name.clone(),
                    unit: metric.unit,
                    better: metric.better,
                    about: metric.about.clone(),
                    trials: Vec::new(),
                });
            }
        }
        let mut places = HashMap::new();
        let mut failed = Vec::new();
        for row in self.places(study).await? {
            let number: u32 = self.database.whole(&row, 0)?;
            let place = Place {
                cell: self.database.whole(&row, 1)?,
                round: self.database.whole(&row, 2)?,
                neighbours: self.database.column(&row, 3)?,
            };
            let cell = cells
                .get(place.cell)
                .ok_or_else(|| self.database.strange("a cell of the study", place.cell))?;
            if let Some(failure) = self.failure(&row, 4)? {
                failed.push((number, place.round, cell.clone(), failure));
            }
            places.insert(number, place);
        }
        self.add_samples(study, &places, &first, &mut series)
            .await?;
        Ok(ResultSet {
            study: study.0,
            name: row.name.to_string(),
            study_name: row.name,
            began: row.began,
            state: row.state,
            hosts: self.hosts(study).await?,
            series,
            failed,
        })
    }

    async fn places(&self, study: StudyId) -> Result<Vec<crate::database::AnswerRow>, StoreError> {
        sqlx::query(
            "SELECT number, cell, round, neighbours, failure FROM trial WHERE study = $1 ORDER BY number",
        )
        .bind(study.0)
        .fetch_all(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))
    }

    async fn add_samples(
        &self,
        study: StudyId,
        places: &HashMap<u32, Place>,
        first: &[usize],
        series: &mut [Series],
    ) -> Result<(), StoreError> {
        let rows = sqlx::query(
            "SELECT trial, metric, measured, within FROM sample WHERE study = $1 ORDER BY trial, metric",
        )
        .bind(study.0)
        .fetch_all(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))?;
        for row in &rows {
            let trial: u32 = self.database.whole(row, 0)?;
            let metric: usize = self.database.whole(row, 1)?;
            let place = places.get(&trial);
            let end = |cell: usize| first.get(cell + 1).copied().unwrap_or(series.len());
            let index = place
                .map(|place| (first[place.cell] + metric, end(place.cell)))
                .filter(|(index, end)| index < end)
                .map(|(index, _)| index);
            let (Some(place), Some(index)) = (place, index) else {
                return Err(self
                    .database
                    .strange("a metric of the trial's cell", metric));
            };
            series[index].trials.push(TrialSamples {
                trial,
                round: place.round,
                values: self.floats(row, 2)?,
                each: self.floats(row, 3)?,
                neighbours: place.neighbours,
            });
        }
        Ok(())
    }

    /// What each host was. A fact that changed between stop and resume says both: `6.1.0, then 6.1.1`.
    async fn hosts(&self, study: StudyId) -> Result<IndexMap<HostName, Facts>, StoreError> {
        let rows = sqlx::query("SELECT host, facts FROM facts WHERE study = $1 ORDER BY position")
            .bind(study.0)
            .fetch_all(self.database.pool())
            .await
            .map_err(|e| self.database.fault(e))?;
        let mut hosts: IndexMap<HostName, Vec<Facts>> = IndexMap::new();
        for row in &rows {
            let host = self.database.parsed(row, 0, "a host's name")?;
            let facts = self.database.json(row, 1, "facts about a host")?;
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
