//! What tells a store apart from every other: by it a controller knows a database again, and a bucket whose it is.

use jiff::Timestamp;
use std::{fs::File, io::Read as _};

use crate::{
    StoreError,
    database::Database,
    query::{query, query_scalar},
};

impl Database {
    /// The store's identity; drawn when it is first asked for.
    pub(crate) async fn identity(&self) -> Result<String, StoreError> {
        const ASK: &str = "SELECT id FROM store_identity";
        let known = query_scalar(ASK).fetch_optional(self.pool()).await;
        if let Some(known) = known.map_err(|error| self.fault(error))? {
            return Ok(known);
        }
        let drawn = draw()?;
        // Two processes that ask at once agree on what came first.
        let mut tx = self.begin_alone("store_identity").await?;
        let known = query_scalar(ASK).fetch_optional(&mut *tx).await;
        if let Some(known) = known.map_err(|error| self.fault(error))? {
            return Ok(known);
        }
        query("INSERT INTO store_identity (id, made) VALUES ($1, $2)")
            .bind(&drawn)
            .bind(Timestamp::now().to_string())
            .execute(&mut *tx)
            .await
            .map_err(|error| self.fault(error))?;
        tx.commit().await.map_err(|error| self.fault(error))?;
        Ok(drawn)
    }
}

/// 128 bits that nobody else draws.
fn draw() -> Result<String, StoreError> {
    const SOURCE: &str = "/dev/urandom";
    let mut bits = [0; 16];
    File::open(SOURCE)
        .and_then(|mut source| source.read_exact(&mut bits))
        .map_err(|e| StoreError::file("read", SOURCE, e))?;
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}
