//! Core files of trials: kept as raw objects, each named with the program that crashed.

use backsight_model::{CoreFile, HostName};

use crate::{
    RawRef, Store, StoreError, StudyId,
    query::{QueryBuilder, Transaction, query},
    study::{chunks, saturated},
};

/// A core file of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreFileRow {
    /// Its host.
    pub host: HostName,
    /// Its path below the trial's folder.
    pub path: String,
    /// What the kernel called the program, if that is known.
    pub program: Option<String>,
    /// The signal that ended it, if that is known.
    pub signal: Option<i32>,
    /// How long it was in bytes.
    pub bytes: u64,
    /// Its content: what [`Store::raw`] takes. None where it was longer than was to be kept.
    pub content: Option<RawRef>,
}

impl Store {
    /// Keeps the content of core files: for each, where it is. Call it where sweeps are held off.
    pub(crate) async fn keep_core_files(
        &self,
        files: &[CoreFile],
    ) -> Result<Vec<Option<RawRef>>, StoreError> {
        let mut kept = Vec::with_capacity(files.len());
        for file in files {
            kept.push(match &file.content {
                Some(content) => self.keep_batch(vec![content.clone()]).await?.pop(),
                None => None,
            });
        }
        Ok(kept)
    }

    pub(crate) async fn insert_core_files(
        &self,
        tx: &mut Transaction,
        (study, trial): (i64, i64),
        files: &[CoreFile],
        kept: &[Option<RawRef>],
    ) -> Result<(), StoreError> {
        let files: Vec<_> = files.iter().zip(kept).collect();
        for (chunk, from) in chunks(&files) {
            let mut insert = QueryBuilder::new(
                "INSERT INTO core_file (study, trial, position, host, path, program, signal, bytes, content) ",
            );
            insert.push_values(
                chunk.iter().zip(from + 1..),
                |mut row, ((file, content), at)| {
                    row.push_bind(study)
                        .push_bind(trial)
                        .push_bind(at)
                        .push_bind(file.host.as_str())
                        .push_bind(&file.path)
                        .push_bind(&file.program)
                        .push_bind(file.signal.map(i64::from))
                        .push_bind(saturated(file.bytes))
                        .push_bind(content.map(|raw| raw.to_string()));
                },
            );
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    /// The core files of a trial, in the order in which its programs crashed.
    ///
    /// # Errors
    /// The store's own.
    pub async fn core_files(
        &self,
        study: StudyId,
        trial: u32,
    ) -> Result<Vec<CoreFileRow>, StoreError> {
        let query = query(
            "SELECT host, path, program, signal, bytes, content FROM core_file \
             WHERE study = $1 AND trial = $2 ORDER BY position",
        )
        .bind(study.0)
        .bind(i64::from(trial));
        let db = &self.database;
        let rows = db.rows(query).await?;
        rows.iter()
            .map(|row| {
                let signal: Option<i64> = db.column(row, "signal")?;
                Ok(CoreFileRow {
                    host: db.parsed(row, "host", "a host's name")?,
                    path: db.column(row, "path")?,
                    program: db.column(row, "program")?,
                    signal: signal.and_then(|signal| signal.try_into().ok()),
                    bytes: db.whole(row, "bytes")?,
                    content: db.parsed_if_any(row, "content", "a raw output's address")?,
                })
            })
            .collect()
    }
}
