//! The record of what was asked through a server, and of who may ask: written before it is done, never changed.

use jiff::Timestamp;

use crate::{
    Store, StoreError,
    database::AnswerRow,
    query::{Transaction, query, query_scalar},
};

/// Something that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// Who asked.
    pub person: String,
    /// The name of the token, where one of the store's was used.
    pub token: Option<String>,
    /// Through what: `serve`, `mcp`, `command`.
    pub way: String,
    /// What: a path of the API, a tool, a command.
    pub action: String,
    /// What else was said: a JSON object.
    pub detail: String,
}

impl Store {
    /// Writes an entry down.
    ///
    /// # Errors
    /// The store's own: nothing is to be done then.
    pub async fn record_audit(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let mut tx = self.begin_audited().await?;
        self.insert_audit(&mut tx, entry).await?;
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    /// Begins a change of which an entry is written in the same transaction: both are there, or neither.
    pub(crate) async fn begin_audited(&self) -> Result<Transaction, StoreError> {
        self.database.begin_alone("audit_entry").await
    }

    /// Writes an entry in a transaction that was [begun for it](Store::begin_audited).
    pub(crate) async fn insert_audit(
        &self,
        tx: &mut Transaction,
        entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let _number: i64 = query_scalar(
            "INSERT INTO audit_entry (number, made, person, token, way, action, detail) \
             SELECT COALESCE(MAX(number), 0) + 1, $1, $2, $3, $4, $5, $6 FROM audit_entry RETURNING number",
        )
        .bind(entry.at.to_string())
        .bind(&entry.person)
        .bind(&entry.token)
        .bind(&entry.way)
        .bind(&entry.action)
        .bind(&entry.detail)
        .fetch_one(&mut **tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        Ok(())
    }

    /// The last entries, at most so many, the oldest first.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn audit_entries(&self, limit: u32) -> Result<Vec<AuditEntry>, StoreError> {
        let asked = query(
            "SELECT made, person, token, way, action, detail FROM audit_entry ORDER BY number DESC LIMIT $1",
        )
        .bind(i64::from(limit));
        let rows = self.database.rows(asked).await?;
        let mut entries = rows
            .iter()
            .map(|row| self.audit_row(row))
            .collect::<Result<Vec<_>, _>>()?;
        entries.reverse();
        Ok(entries)
    }

    fn audit_row(&self, row: &AnswerRow) -> Result<AuditEntry, StoreError> {
        let db = &self.database;
        Ok(AuditEntry {
            at: db.parsed(row, "made", "a time")?,
            person: db.column(row, "person")?,
            token: db.column(row, "token")?,
            way: db.column(row, "way")?,
            action: db.column(row, "action")?,
            detail: db.column(row, "detail")?,
        })
    }
}
