//! Accepted changes in the store.
//!
//! Of two about the same version and metric the later one counts.

use backsight_model::{Acceptance, TargetName};

use crate::{Store, StoreError, database::AnswerRow, query::query};

impl Store {
    /// Keeps an acceptance, in place of one about the same version and metric.
    ///
    /// # Errors
    /// The disk is full; the store is locked.
    pub async fn accept(&self, acceptance: &Acceptance) -> Result<(), StoreError> {
        let asked = query(
            "INSERT INTO acceptance (target, version, name, metric, reason, work_around, who, made, until) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
             ON CONFLICT (target, version, metric) DO UPDATE SET name = $3, reason = $5, work_around = $6, who = $7, \
             made = $8, until = $9",
        )
        .bind(acceptance.target.as_str())
        .bind(&acceptance.version)
        .bind(&acceptance.name)
        .bind(acceptance.metric.as_deref().unwrap_or_default())
        .bind(&acceptance.reason)
        .bind(acceptance.work_around.as_deref())
        .bind(&acceptance.by)
        .bind(acceptance.at.to_string())
        .bind(acceptance.until.map(|until| until.to_string()));
        self.database.execute(asked).await?;
        Ok(())
    }

    /// Takes one back; tells whether there was one.
    ///
    /// # Errors
    /// The store is locked.
    pub async fn withdraw(
        &self,
        target: &TargetName,
        version: &str,
        metric: Option<&str>,
    ) -> Result<bool, StoreError> {
        let asked =
            query("DELETE FROM acceptance WHERE target = $1 AND version = $2 AND metric = $3")
                .bind(target.as_str())
                .bind(version)
                .bind(metric.unwrap_or_default());
        let gone = self.database.execute(asked).await?;
        Ok(gone > 0)
    }

    /// All of a target, the oldest first.
    ///
    /// # Errors
    /// The store is locked, or holds what no release of ours wrote.
    pub async fn acceptances(&self, target: &TargetName) -> Result<Vec<Acceptance>, StoreError> {
        let query = query(
            "SELECT version, name, metric, reason, work_around, who, made, until FROM acceptance WHERE target = $1 \
             ORDER BY made, version, metric",
        )
        .bind(target.as_str());
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| self.acceptance(target, row))
            .collect()
    }

    fn acceptance(&self, target: &TargetName, row: &AnswerRow) -> Result<Acceptance, StoreError> {
        let db = &self.database;
        let some = |column: &str| -> Result<Option<String>, StoreError> {
            let text: Option<String> = db.column(row, column)?;
            Ok(text.filter(|text| !text.is_empty()))
        };
        let until = match some("until")? {
            Some(_) => Some(db.parsed(row, "until", "a time")?),
            None => None,
        };
        Ok(Acceptance {
            target: target.clone(),
            version: db.column(row, "version")?,
            name: db.column(row, "name")?,
            metric: some("metric")?,
            reason: db.column(row, "reason")?,
            work_around: some("work_around")?,
            by: db.column(row, "who")?,
            at: db.parsed(row, "made", "a time")?,
            until,
        })
    }
}
