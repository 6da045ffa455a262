//! Marks of raw objects that a rule removed: what refers to one says so.
//!
//! A mark is made before its object's file goes, and taken back when the same content is kept anew: no reference is ever to an object
//! that is gone without a mark.

use crate::{
    PruneMark, RawRef, RulePruning, Store, StoreError,
    database::AnswerRow,
    query::{QueryBuilder, Transaction, query},
    study::ROWS_AT_ONCE,
};

/// A mark as its table has it: the object's address, when it was made, and the rule.
pub(crate) type MarkRow = (String, String, String);

impl Store {
    /// When this object was pruned, if it was.
    ///
    /// # Errors
    /// The store's own.
    pub async fn prune_mark(&self, raw: &RawRef) -> Result<Option<PruneMark>, StoreError> {
        let query = query("SELECT made, rule FROM pruned WHERE object = $1");
        let rows = self.database.rows(query.bind(raw.to_string())).await?;
        rows.first().map(|row| self.mark(row)).transpose()
    }

    fn mark(&self, row: &AnswerRow) -> Result<PruneMark, StoreError> {
        Ok(PruneMark {
            made: self.database.parsed(row, "made", "a time")?,
            rule: self.database.column(row, "rule")?,
        })
    }

    /// What was pruned so far, by rule.
    ///
    /// # Errors
    /// The store's own.
    pub async fn prunings(&self) -> Result<Vec<RulePruning>, StoreError> {
        let query = query(
            "SELECT rule, COUNT(*) AS objects, MAX(made) AS made FROM pruned GROUP BY rule ORDER BY rule",
        );
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| {
                Ok(RulePruning {
                    objects: self.database.whole(row, "objects")?,
                    last: self.mark(row)?,
                })
            })
            .collect()
    }

    /// Those of these objects that have a mark, in their order.
    pub(crate) async fn marked_of(&self, objects: &[RawRef]) -> Result<Vec<RawRef>, StoreError> {
        let mut marked = Vec::new();
        for chunk in objects.chunks(ROWS_AT_ONCE) {
            let mut query = QueryBuilder::new("SELECT object FROM pruned WHERE object IN (");
            let mut addresses = query.separated(", ");
            for object in chunk {
                addresses.push_bind(object.to_string());
            }
            query.push(")");
            for row in &self.database.rows(query.build()).await? {
                marked.push(
                    self.database
                        .parsed(row, "object", "a raw output's address")?,
                );
            }
        }
        Ok(marked)
    }

    /// The mark of an object, if it has one.
    pub(crate) async fn mark_row(&self, raw: &RawRef) -> Result<Option<MarkRow>, StoreError> {
        let db = &self.database;
        let asked = query("SELECT object, made, rule FROM pruned WHERE object = $1");
        let rows = db.rows(asked.bind(raw.to_string())).await?;
        let mark = |row| {
            Ok((
                db.column(row, "object")?,
                db.column(row, "made")?,
                db.column(row, "rule")?,
            ))
        };
        rows.first().map(mark).transpose()
    }

    /// Writes marks that another store has; those that are there stay.
    pub(crate) async fn insert_marks(
        &self,
        tx: &mut Transaction,
        marks: &[MarkRow],
    ) -> Result<(), StoreError> {
        for chunk in marks.chunks(ROWS_AT_ONCE) {
            let mut insert = QueryBuilder::new("INSERT INTO pruned (object, made, rule) ");
            insert.push_values(chunk, |mut row, (object, made, rule)| {
                row.push_bind(object).push_bind(made).push_bind(rule);
            });
            insert.push(" ON CONFLICT (object) DO NOTHING");
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    /// Takes back the marks of objects that were kept anew.
    pub(crate) async fn unmark(&self, kept: &[RawRef]) -> Result<(), StoreError> {
        for object in self.marked_of(kept).await? {
            let asked = query("DELETE FROM pruned WHERE object = $1").bind(object.to_string());
            self.database.execute(asked).await?;
        }
        Ok(())
    }

    /// Removes marks of objects that nothing refers to any more.
    pub(crate) async fn remove_lone_marks(&self) -> Result<(), StoreError> {
        let asked = query(concat!(
            "DELETE FROM pruned WHERE object NOT IN (",
            crate::check::referred_objects!(),
            ")"
        ));
        self.database.execute(asked).await?;
        Ok(())
    }
}
