//! Measured versions that aren't on the line that their target's history follows.

use backsight_model::TargetName;
use std::collections::HashSet;

use crate::{
    Store, StoreError,
    query::{query, query_scalar},
};

impl Store {
    /// The identities of a target's versions that are beside its line.
    ///
    /// # Errors
    /// The store is locked.
    pub async fn side_versions(&self, target: &TargetName) -> Result<HashSet<String>, StoreError> {
        let ids: Vec<String> = query_scalar("SELECT version FROM side_version WHERE target = $1")
            .bind(target.as_str())
            .fetch_all(self.database.pool())
            .await
            .map_err(|e| self.database.fault(e))?;
        Ok(ids.into_iter().collect())
    }

    /// Says of versions of a target, by their identities, that they are beside its line, and of others that they are on it; what was
    /// said before of the same ones doesn't hold any more.
    ///
    /// # Errors
    /// The disk is full; the store is locked.
    pub async fn place_versions(
        &self,
        target: &TargetName,
        beside: &[String],
        on_line: &[String],
    ) -> Result<(), StoreError> {
        let known = self.side_versions(target).await?;
        let come = beside.iter().filter(|id| !known.contains(*id));
        let gone = on_line.iter().filter(|id| known.contains(*id));
        let come: HashSet<&String> = come.collect();
        let gone: HashSet<&String> = gone.collect();
        if come.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let mut tx = self.database.begin_alone("side_version").await?;
        for id in come {
            query(
                "INSERT INTO side_version (target, version) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            )
            .bind(target.as_str())
            .bind(id)
            .execute(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        }
        for id in gone {
            query("DELETE FROM side_version WHERE target = $1 AND version = $2")
                .bind(target.as_str())
                .bind(id)
                .execute(&mut *tx)
                .await
                .map_err(|e| self.database.fault(e))?;
        }
        tx.commit().await.map_err(|e| self.database.fault(e))
    }
}
