//! Reservations of testbeds and hosts.

use backsight_model::{JobNeeds, Reservation};
use jiff::Timestamp;

use crate::{
    Store, StoreError,
    database::AnswerRow,
    query::{query, query_scalar},
};

/// What somebody wants for himself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReservation {
    /// The testbed or the host, as it was named.
    pub name: String,
    /// What that is.
    pub needs: JobNeeds,
    /// Who.
    pub by: String,
    /// What for; of something that he has already, as he said before unless it is said anew.
    pub why: Option<String>,
    /// Until when.
    pub until: Timestamp,
}

impl Store {
    /// Reserves something, and returns it. What the same person has of it already is replaced.
    ///
    /// # Errors
    /// Somebody else has it ([`StoreError::Reserved`]); the store's own.
    pub async fn reserve(&self, new: &NewReservation) -> Result<Reservation, StoreError> {
        let now = self.queue_time().await?;
        // The change begins before it is looked at: of two, one is first.
        let mut tx = self.change_queue().await?;
        let fault = |e| self.database.fault(e);
        let rows = query(
            "SELECT number, name, needs, who, why, made, ends FROM reservation \
             WHERE released IS NULL AND ends > $1 ORDER BY number",
        )
        .bind(now.to_string())
        .fetch_all(&mut *tx)
        .await
        .map_err(fault)?;
        let mut why = new.why.clone();
        for row in &rows {
            let held = self.reservation_row(row)?;
            if held.needs.in_common(&new.needs).is_none() {
                continue;
            }
            if held.by != new.by {
                return Err(StoreError::Reserved {
                    name: held.name,
                    by: held.by,
                    until: held.until,
                });
            }
            if held.name == new.name {
                why = why.or(held.why);
                query("UPDATE reservation SET released = $1 WHERE number = $2")
                    .bind(now.to_string())
                    .bind(held.number)
                    .execute(&mut *tx)
                    .await
                    .map_err(fault)?;
            }
        }
        let number: i64 = query_scalar(
            "INSERT INTO reservation (number, name, needs, who, why, made, ends) \
             SELECT COALESCE(MAX(number), 0) + 1, $1, $2, $3, $4, $5, $6 FROM reservation RETURNING number",
        )
        .bind(&new.name)
        .bind(self.to_json(&new.needs)?)
        .bind(&new.by)
        .bind(&why)
        .bind(now.to_string())
        .bind(new.until.to_string())
        .fetch_one(&mut *tx)
        .await
        .map_err(fault)?;
        tx.commit().await.map_err(fault)?;
        Ok(Reservation {
            number,
            name: new.name.clone(),
            needs: new.needs.clone(),
            by: new.by.clone(),
            why,
            made: now,
            until: new.until,
        })
    }

    /// Reservations that are in force at this time, the oldest first.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn reservations(&self, now: Timestamp) -> Result<Vec<Reservation>, StoreError> {
        let query = query(
            "SELECT number, name, needs, who, why, made, ends FROM reservation \
             WHERE released IS NULL AND ends > $1 ORDER BY number",
        )
        .bind(now.to_string());
        let rows = self.database.rows(query).await?;
        rows.iter().map(|row| self.reservation_row(row)).collect()
    }

    /// Ends a reservation; whether it was in force.
    ///
    /// # Errors
    /// The store's own.
    pub async fn release_reservation(&self, number: i64) -> Result<bool, StoreError> {
        let now = self.queue_time().await?.to_string();
        let mut tx = self.change_queue().await?;
        let done = query(
            "UPDATE reservation SET released = $1 WHERE number = $2 AND released IS NULL AND ends > $1",
        )
        .bind(now)
        .bind(number)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(done.rows_affected() > 0)
    }

    fn reservation_row(&self, row: &AnswerRow) -> Result<Reservation, StoreError> {
        let db = &self.database;
        Ok(Reservation {
            number: db.column(row, "number")?,
            name: db.column(row, "name")?,
            needs: db.json(row, "needs", "a testbed or a host")?,
            by: db.column(row, "who")?,
            why: db.column(row, "why")?,
            made: db.parsed(row, "made", "a time")?,
            until: db.parsed(row, "ends", "a time")?,
        })
    }
}
