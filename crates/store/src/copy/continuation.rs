//! What `notify` and `watch` go on from in the other store: what channels were told, and the studies of standing jobs; with them the
//! record of what was asked.
//!
//! A copy of some studies leaves all of it out: channels would be told that changes went away whose studies aren't there.

use jiff::Timestamp;
use std::collections::{HashMap, HashSet};

use super::{
    StoreCopy,
    digest::{RowHash, row_hash},
    identity_of,
    table::{CopyRow, CopyTable},
};
use crate::{
    StoreError,
    query::{Argument, query},
};

/// The tables that are copied here.
#[cfg(test)]
pub(super) const CONTINUATION_TABLES: &[&str] =
    &["told", "notify_channel", "watch_study", "audit_entry"];

/// How much was copied of what `notify` and `watch` go on from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopiedContinuation {
    /// Changes of which a channel was told.
    pub told: usize,
    /// Studies of standing jobs.
    pub watch_studies: usize,
    /// Entries of the audit.
    pub audit_entries: usize,
}

impl StoreCopy {
    /// Copies what `notify` and `watch` go on from, and the audit, as far as the other store hasn't it. Of a change that a channel
    /// was told of from both stores, what was told last counts. Call it when all studies were copied: a study of a standing job that
    /// isn't in the other store is left out.
    ///
    /// # Errors
    /// What was written isn't what was read; the stores' own.
    pub async fn continuation(&self) -> Result<CopiedContinuation, StoreError> {
        let copied = CopiedContinuation {
            told: self.copy_told().await?,
            watch_studies: self.copy_watch_studies().await?,
            audit_entries: self.copy_new_rows("audit_entry", Some("number")).await?,
        };
        self.copy_channels().await?;
        Ok(copied)
    }

    async fn copy_told(&self) -> Result<usize, StoreError> {
        let (from, to) = (&self.from.database, &self.to.database);
        let table = CopyTable::new(to, "told").await?;
        let mut reading = from.begin_to_read().await?;
        let mut tx = to.begin().await?;
        let told = |row: &CopyRow| {
            let told = table.text(row, "told");
            told.and_then(|told| told.parse::<Timestamp>().ok())
        };
        let there = table.read_all(to, &mut tx).await?;
        let there: HashMap<String, Option<Timestamp>> = there
            .iter()
            .filter_map(|row| Some((table.text(row, "thread")?.to_owned(), told(row))))
            .collect();
        let mut new = Vec::new();
        for row in table.read_all(from, &mut reading).await? {
            let Some(thread) = table.text(&row, "thread") else {
                continue;
            };
            match there.get(thread) {
                None => {}
                Some(known) if told(&row) > *known => {
                    let older = query("DELETE FROM told WHERE thread = $1").bind(thread);
                    older.execute(&mut *tx).await.map_err(|e| to.fault(e))?;
                }
                Some(_) => continue,
            }
            new.push(row);
        }
        let copied = self.insert_compared(&table, &mut tx, new).await?;
        tx.commit().await.map_err(|e| to.fault(e))?;
        Ok(copied)
    }

    /// Copies how channels are that the other store doesn't know; nobody has them there.
    async fn copy_channels(&self) -> Result<(), StoreError> {
        let (from, to) = (&self.from.database, &self.to.database);
        let table = CopyTable::new(to, "notify_channel").await?;
        let mut reading = from.begin_to_read().await?;
        let mut rows = table.read_all(from, &mut reading).await?;
        for row in &mut rows {
            table.set(row, "taken_until", Argument::Text(None));
        }
        let mut tx = to.begin().await?;
        table.insert_new(&self.to, &mut tx, rows).await?;
        tx.commit().await.map_err(|e| to.fault(e))
    }

    /// Copies which studies standing jobs began, under the names that these have in the other store.
    async fn copy_watch_studies(&self) -> Result<usize, StoreError> {
        let (from, to) = (&self.from.database, &self.to.database);
        let table = CopyTable::new(to, "watch_study").await?;
        let studies = self.to.studies().await?;
        let names: HashMap<_, _> = studies
            .iter()
            .map(|study| (identity_of(study), study.name.as_str()))
            .collect();
        let studies = self.from.studies().await?;
        let names: HashMap<&str, &str> = studies
            .iter()
            .filter_map(|study| Some((study.name.as_str(), *names.get(&identity_of(study))?)))
            .collect();
        let mut reading = from.begin_to_read().await?;
        let mut tx = to.begin_alone("watch_study").await?;
        // Of each job along each target: the studies, and their numbers.
        let mut there: HashMap<(String, String), (HashSet<String>, HashSet<i64>)> = HashMap::new();
        for row in table.read_all(to, &mut tx).await? {
            if let Some((job, study, number)) = watch_study(&table, &row) {
                let (studies, numbers) = there.entry(job).or_default();
                studies.insert(study);
                numbers.insert(number);
            }
        }
        let mut rows = table.read_all(from, &mut reading).await?;
        rows.sort_by_key(|row| watch_study(&table, row).map(|(.., number)| number));
        let mut new = Vec::new();
        for mut row in rows {
            let Some((job, study, number)) = watch_study(&table, &row) else {
                continue;
            };
            let Some(&study) = names.get(study.as_str()) else {
                continue;
            };
            let (studies, numbers) = there.entry(job).or_default();
            if !studies.insert(study.to_owned()) {
                continue;
            }
            let number = match numbers.contains(&number) {
                false => number,
                true => numbers.iter().max().map_or(1, |highest| highest + 1),
            };
            numbers.insert(number);
            table.set(&mut row, "study", study.into());
            table.set(&mut row, "number", number.into());
            new.push(row);
        }
        let expected: HashSet<RowHash> = new.iter().map(row_hash).collect();
        let copied = new.len();
        table.insert(&self.to, &mut tx, new).await?;
        self.compare_written(&table, &mut tx, &expected, copied)
            .await?;
        tx.commit().await.map_err(|e| to.fault(e))?;
        Ok(copied)
    }
}

/// The job and the target of a row of `watch_study`, its study and its number.
fn watch_study(table: &CopyTable, row: &CopyRow) -> Option<((String, String), String, i64)> {
    let text = |column| table.text(row, column).map(str::to_owned);
    let Some(Argument::Whole(Some(number))) = table.get(row, "number") else {
        return None;
    };
    Some(((text("job")?, text("target")?), text("study")?, *number))
}
