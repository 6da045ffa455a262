//! What is known of jobs in Slurm: their numbers there, why they wait, and that they are lost.

use backsight_model::JobState;

use crate::{Store, StoreError, query::query};

impl Store {
    /// Notes the number that Slurm gave a job; none: Slurm hasn't got it any more.
    ///
    /// # Errors
    /// The store's own.
    pub async fn set_slurm_job(&self, number: i64, id: Option<i64>) -> Result<(), StoreError> {
        let noted = query("UPDATE job SET slurm_job = $1, slurm_reason = NULL WHERE number = $2")
            .bind(id)
            .bind(number);
        self.database.execute(noted).await.map(drop)
    }

    /// Notes why a job waits in Slurm.
    ///
    /// # Errors
    /// The store's own.
    pub async fn set_slurm_reason(
        &self,
        number: i64,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let noted = query("UPDATE job SET slurm_reason = $1 WHERE number = $2")
            .bind(reason)
            .bind(number);
        self.database.execute(noted).await.map(drop)
    }

    /// Ends a job that Slurm doesn't have any more by this number, unless a worker has it or it is in Slurm by another number now; whether
    /// it did.
    ///
    /// # Errors
    /// The store's own.
    pub async fn end_lost_slurm_job(
        &self,
        number: i64,
        id: i64,
        state: JobState,
        why: &str,
    ) -> Result<bool, StoreError> {
        let now = self.queue_time().await?;
        let mut tx = self.change_queue().await?;
        let done = query(
            "UPDATE job SET state = $1, outcome = $2, ended = $3 \
             WHERE number = $4 AND slurm_job = $5 AND state = 'waiting' AND worker_pid IS NULL",
        )
        .bind(state.as_str())
        .bind(why)
        .bind(now.to_string())
        .bind(number)
        .bind(id)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(done.rows_affected() > 0)
    }
}
