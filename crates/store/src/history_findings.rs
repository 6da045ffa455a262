//! What was found in the samples of a target's history, kept as bytes between one question and the next; and histories without their
//! samples, with what tells whether these changed.
//!
//! The bytes are nothing of the store's: whoever keeps them says by a key what they were made of. Damaged ones are none. Nothing here
//! is copied to another store, and nothing is lost with it.

use backsight_model::{StudyHistory, TargetName};

use crate::{
    Store, StoreError, StudyId,
    history::SampleReading,
    query::{QueryBuilder, query},
};

/// Bytes in one statement, but for a row that is larger.
const BYTES_AT_ONCE: usize = 8 * 1024 * 1024;
/// Rows in one statement: five arguments each.
const ROWS_AT_ONCE: usize = 1000;

/// Of all samples of a study: how many there are, and sums of their checksums, which say where each stands and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleSums {
    /// Samples: one a trial and metric.
    pub count: i64,
    /// Of the upper and the lower halves of the checksums.
    pub sums: [i64; 2],
}

impl Store {
    /// What every study of a target has measured, the oldest first, without the samples: those of amended versions too, and not
    /// by testbed.
    ///
    /// # Errors
    /// The store's own.
    pub async fn target_outline(
        &self,
        target: &TargetName,
    ) -> Result<Vec<StudyHistory>, StoreError> {
        let mut outlines = Vec::new();
        for study in self.studies_of(target).await? {
            outlines.push(self.study_outline(study).await?);
        }
        Ok(outlines)
    }

    /// What one study has measured along its target's history, without the samples.
    ///
    /// # Errors
    /// There is no such study.
    pub async fn study_outline(&self, study: StudyId) -> Result<StudyHistory, StoreError> {
        self.history_of(study, SampleReading::None).await
    }

    /// What tells whether samples of a study changed; none where some have no checksum, as an older program recorded them.
    ///
    /// # Errors
    /// The store's own.
    pub async fn sample_sums(&self, study: StudyId) -> Result<Option<SampleSums>, StoreError> {
        // Halves, because sums of whole ones have no room.
        let asked = query(
            "SELECT COUNT(*) AS count, COUNT(measured_checksum) AS sealed, \
             CAST(COALESCE(SUM(measured_checksum / 4294967296), 0) AS BIGINT) AS upper, \
             CAST(COALESCE(SUM(measured_checksum % 4294967296), 0) AS BIGINT) AS lower FROM sample WHERE study = $1",
        );
        let rows = self.database.rows(asked.bind(study.0)).await?;
        let row = rows
            .first()
            .ok_or_else(|| self.database.strange("sums", "none"))?;
        let db = &self.database;
        let count: i64 = db.column(row, "count")?;
        let sealed: i64 = db.column(row, "sealed")?;
        let sums = [db.column(row, "upper")?, db.column(row, "lower")?];
        Ok((count == sealed).then_some(SampleSums { count, sums }))
    }

    /// What was kept of a target with this key, part by part; nothing where something else was kept, or what was is damaged.
    ///
    /// # Errors
    /// The store's own.
    pub async fn history_findings(
        &self,
        target: &TargetName,
        key: &str,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let asked = query(
            "SELECT part, packed, checksum FROM history_finding WHERE target = $1 AND key = $2 ORDER BY part",
        );
        let mut parts = Vec::new();
        let mut is_whole = true;
        let asked = asked.bind(target.as_str()).bind(key);
        let read = self.database.each_row(asked, |row| {
            let db = &self.database;
            let part: i64 = db.column(row, "part")?;
            let packed: Vec<u8> = db.column(row, "packed")?;
            let sum: i64 = db.column(row, "checksum")?;
            is_whole &= part == parts.len() as i64 && sum == checksum(key, part, &packed);
            parts.push(packed);
            Ok(())
        });
        read.await?;
        if !is_whole {
            parts.clear();
        }
        Ok(parts)
    }

    /// Keeps what was found of a target, in place of what was kept of it before.
    ///
    /// # Errors
    /// The store can only be read; the disk is full; the store is locked.
    pub async fn keep_history_findings(
        &self,
        target: &TargetName,
        key: &str,
        parts: &[Vec<u8>],
    ) -> Result<(), StoreError> {
        let mut tx = self.database.begin_alone("history_finding").await?;
        query("DELETE FROM history_finding WHERE target = $1")
            .bind(target.as_str())
            .execute(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        let mut rest = (0_i64..).zip(parts).peekable();
        while rest.peek().is_some() {
            let (mut chunk, mut bytes) = (Vec::new(), 0);
            while let Some((part, packed)) = rest.next_if(|(_, packed)| {
                chunk.is_empty()
                    || (bytes + packed.len() <= BYTES_AT_ONCE && chunk.len() < ROWS_AT_ONCE)
            }) {
                bytes += packed.len();
                chunk.push((part, packed));
            }
            let mut insert = QueryBuilder::new(
                "INSERT INTO history_finding (target, part, key, packed, checksum) ",
            );
            insert.push_values(chunk, |mut row, (part, packed)| {
                row.push_bind(target.as_str())
                    .push_bind(part)
                    .push_bind(key)
                    .push_bind(packed.as_slice())
                    .push_bind(checksum(key, part, packed));
            });
            self.execute(&mut tx, insert).await?;
        }
        tx.commit().await.map_err(|e| self.database.fault(e))
    }
}

fn checksum(key: &str, part: i64, packed: &[u8]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.as_bytes());
    hasher.update(&part.to_le_bytes());
    hasher.update(packed);
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}
