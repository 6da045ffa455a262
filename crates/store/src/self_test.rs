//! Self-tests of machines in the store. They are no study's: deleting studies leaves them.

use backsight_model::{HostName, SelfTest};

use crate::{Store, StoreError, database::AnswerRow, query::query};

/// A self-test with its machine.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSelfTest {
    /// What tells machines apart: the system's own id, or the host's name.
    pub machine: String,
    /// The boot in which it was made.
    pub boot: String,
    /// What the lab called the machine.
    pub host: HostName,
    /// When it was made.
    pub made: jiff::Timestamp,
    /// What was measured.
    pub result: SelfTest,
}

impl Store {
    /// Keeps a self-test.
    ///
    /// # Errors
    /// The disk is full; the store is locked or can only be read.
    pub async fn record_self_test(&self, test: &StoredSelfTest) -> Result<(), StoreError> {
        let asked = query(
            "INSERT INTO self_test (machine, boot, host, made, result) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(&test.machine)
        .bind(&test.boot)
        .bind(test.host.as_str())
        .bind(test.made.to_string())
        .bind(self.to_json(&test.result)?);
        self.database.execute(asked).await?;
        Ok(())
    }

    /// All self-tests, by machine, the oldest of each first.
    ///
    /// # Errors
    /// The store is locked, or holds what no release of ours wrote.
    pub async fn self_tests(&self) -> Result<Vec<StoredSelfTest>, StoreError> {
        let query =
            query("SELECT machine, boot, host, made, result FROM self_test ORDER BY machine, id");
        let rows = self.database.rows(query).await?;
        rows.iter().map(|row| self.stored_self_test(row)).collect()
    }

    /// How many self-tests there are, and the numbers of those that can't be read.
    ///
    /// # Errors
    /// The store is locked.
    pub async fn damaged_self_tests(&self) -> Result<(usize, Vec<i64>), StoreError> {
        let query =
            query("SELECT id, machine, boot, host, made, result FROM self_test ORDER BY id");
        let rows = self.database.rows(query).await?;
        let mut damaged = Vec::new();
        for row in &rows {
            if self.stored_self_test(row).is_err() {
                damaged.push(self.database.column(row, "id")?);
            }
        }
        Ok((rows.len(), damaged))
    }

    /// Removes self-tests by their numbers.
    ///
    /// # Errors
    /// The store is locked or can only be read.
    pub async fn delete_self_tests(&self, ids: &[i64]) -> Result<(), StoreError> {
        let mut tx = self.database.begin().await?;
        for id in ids {
            query("DELETE FROM self_test WHERE id = $1")
                .bind(id)
                .execute(&mut *tx)
                .await
                .map_err(|e| self.database.fault(e))?;
        }
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    fn stored_self_test(&self, row: &AnswerRow) -> Result<StoredSelfTest, StoreError> {
        let db = &self.database;
        Ok(StoredSelfTest {
            machine: db.column(row, "machine")?,
            boot: db.column(row, "boot")?,
            host: db.parsed(row, "host", "a host's name")?,
            made: db.parsed(row, "made", "a time")?,
            result: db.json(row, "result", "a self-test")?,
        })
    }
}
