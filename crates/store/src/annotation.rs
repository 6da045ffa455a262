//! Notes that people put beside versions.

use backsight_model::{Annotation, TargetName};

use crate::{
    Store, StoreError,
    database::AnswerRow,
    query::{query, query_scalar},
};

impl Store {
    /// Keeps a note; returns its number.
    ///
    /// # Errors
    /// The store's own.
    pub async fn annotate(&self, note: &Annotation) -> Result<i64, StoreError> {
        let mut tx = self.database.begin_alone("annotation").await?;
        let number = query_scalar(
            "INSERT INTO annotation (number, target, version, name, content, who, made) \
             SELECT COALESCE(MAX(number), 0) + 1, $1, $2, $3, $4, $5, $6 FROM annotation RETURNING number",
        )
        .bind(note.target.as_str())
        .bind(&note.version)
        .bind(&note.name)
        .bind(&note.text)
        .bind(&note.by)
        .bind(note.at.to_string())
        .fetch_one(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(number)
    }

    /// The notes of a target with their numbers, the oldest first.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn annotations(
        &self,
        target: &TargetName,
    ) -> Result<Vec<(i64, Annotation)>, StoreError> {
        let query = query(
            "SELECT number, version, name, content, who, made FROM annotation WHERE target = $1 ORDER BY number",
        )
        .bind(target.as_str());
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| self.one_annotation(target, row))
            .collect()
    }

    /// Removes a note of a target; whether it was there.
    ///
    /// # Errors
    /// The store's own.
    pub async fn remove_annotation(
        &self,
        target: &TargetName,
        number: i64,
    ) -> Result<bool, StoreError> {
        let asked = query("DELETE FROM annotation WHERE target = $1 AND number = $2")
            .bind(target.as_str())
            .bind(number);
        let done = self.database.execute(asked).await?;
        Ok(done > 0)
    }

    fn one_annotation(
        &self,
        target: &TargetName,
        row: &AnswerRow,
    ) -> Result<(i64, Annotation), StoreError> {
        let db = &self.database;
        let note = Annotation {
            target: target.clone(),
            version: db.column(row, "version")?,
            name: db.column(row, "name")?,
            text: db.column(row, "content")?,
            by: db.column(row, "who")?,
            at: db.parsed(row, "made", "a time")?,
        };
        Ok((db.column(row, "number")?, note))
    }
}
