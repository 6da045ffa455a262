//! What people said of alerts, in the store: all of it, in the order in which it was said.

use backsight_model::{TargetName, Triage};

use crate::{Store, StoreError, database::AnswerRow, query::query};

impl Store {
    /// Adds what somebody says.
    ///
    /// # Errors
    /// The disk is full; the store is locked.
    pub async fn record_triage(&self, triage: &Triage) -> Result<(), StoreError> {
        let mut tx = self.database.begin_alone("triage").await?;
        query(
            "INSERT INTO triage (number, target, version, name, state, note, who, made, lies_at) \
             SELECT COALESCE(MAX(number), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8 FROM triage",
        )
        .bind(triage.target.as_str())
        .bind(&triage.version)
        .bind(&triage.name)
        .bind(triage.state.as_str())
        .bind(triage.note.as_deref())
        .bind(&triage.by)
        .bind(triage.at.to_string())
        .bind(triage.lies_at.as_deref())
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    /// All of a target, the oldest first.
    ///
    /// # Errors
    /// The store is locked, or holds what no release of ours wrote.
    pub async fn triage(&self, target: &TargetName) -> Result<Vec<Triage>, StoreError> {
        let query = query(
            "SELECT version, name, state, note, who, made, lies_at FROM triage WHERE target = $1 ORDER BY number",
        )
        .bind(target.as_str());
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| self.one_triage(target, row))
            .collect()
    }

    fn one_triage(&self, target: &TargetName, row: &AnswerRow) -> Result<Triage, StoreError> {
        let db = &self.database;
        Ok(Triage {
            target: target.clone(),
            version: db.column(row, "version")?,
            name: db.column(row, "name")?,
            state: db.parsed(row, "state", "a state of an alert")?,
            note: db.column(row, "note")?,
            lies_at: db.column(row, "lies_at")?,
            by: db.column(row, "who")?,
            at: db.parsed(row, "made", "a time")?,
        })
    }
}
