//! Raw objects in a table of a PostgreSQL database: every controller of the store has them, with nothing else to set up.
//!
//! An object is durable when it is kept, as in a folder. Locks are the server's: each is held by a transaction that does nothing else.

use jiff::Timestamp;
use std::{
    collections::{HashMap, HashSet},
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};
use zstd::bulk::Compressor;

use crate::{
    FilePart, RawRef, StoreError, SweptObjects,
    database::Database,
    query::{QueryBuilder, Transaction, query},
    raw::{LEVEL, off_the_loop},
};

/// The lock that recording holds together and sweeping alone; the one of whoever prunes.
const SWEEPING: &str = "raw objects";
const PRUNING: &str = "pruning";
/// How long is waited for a lock that is probably on its way back.
const SOON: Duration = Duration::from_secs(1);
/// Packed bytes in one statement.
const BATCH: usize = 8 * 1024 * 1024;
/// Objects in one statement.
const OBJECTS_AT_ONCE: usize = 500;

/// The table of raw objects.
#[derive(Debug, Clone)]
pub(crate) struct RawTable {
    database: Database,
    patience: Duration,
}

impl RawTable {
    pub(crate) fn new(database: Database, patience: Duration) -> Self {
        Self { database, patience }
    }

    /// The database's address, without a password.
    pub(crate) fn path(&self) -> &Path {
        self.database.path()
    }

    /// Holds off sweeps until it is dropped.
    pub(crate) async fn unswept(&self) -> Result<Transaction, StoreError> {
        self.database.hold_lock(SWEEPING, true, self.patience).await
    }

    /// Waits until nobody holds off sweeps, and lets nobody do it until it is dropped.
    pub(crate) async fn alone(&self) -> Result<Transaction, StoreError> {
        self.database
            .hold_lock(SWEEPING, false, self.patience)
            .await
    }

    /// As [`RawTable::alone`], soon or not at all: a lock that was dropped just now is given back by its connection a moment later.
    pub(crate) async fn alone_at_once(&self) -> Result<Transaction, StoreError> {
        self.database.hold_lock(SWEEPING, false, SOON).await
    }

    /// Waits until nobody else prunes, and lets nobody do it until it is dropped.
    pub(crate) async fn only_pruner(&self) -> Result<Transaction, StoreError> {
        self.database.hold_lock(PRUNING, false, self.patience).await
    }

    /// Keeps these contents. One that is there already is written anew if its bytes aren't these.
    pub(crate) async fn keep(&self, contents: Vec<Vec<u8>>) -> Result<Vec<RawRef>, StoreError> {
        let packed = off_the_loop(move || {
            let faulty = |e| StoreError::file("pack", "a raw object", e);
            let mut packer = Compressor::new(LEVEL).map_err(faulty)?;
            let pack = |content: &Vec<u8>| {
                let packed = packer.compress(content).map_err(faulty)?;
                Ok::<_, StoreError>((RawRef::from_content(content), packed))
            };
            contents.iter().map(pack).collect::<Result<Vec<_>, _>>()
        });
        let packed = packed.await?;
        let refs = packed.iter().map(|(raw, _)| *raw).collect();
        self.insert(packed).await?;
        Ok(refs)
    }

    /// As [`RawTable::keep`], with contents on disk; one at a time is in memory.
    pub(crate) async fn keep_parts(&self, parts: Vec<FilePart>) -> Result<Vec<RawRef>, StoreError> {
        let mut refs = Vec::with_capacity(parts.len());
        for part in parts {
            let read = off_the_loop(move || {
                let mut content = Vec::new();
                let read = part.reader().read_to_end(&mut content);
                read.map_err(|e| StoreError::file("read", "an imported file", e))?;
                Ok(content)
            });
            refs.extend(self.keep(vec![read.await?]).await?);
        }
        Ok(refs)
    }

    async fn insert(&self, packed: Vec<(RawRef, Vec<u8>)>) -> Result<(), StoreError> {
        let mut objects: Vec<(String, Vec<u8>)> = packed
            .into_iter()
            .map(|(raw, packed)| (raw.to_string(), packed))
            .collect();
        // Everybody locks rows in the same order; a statement may have none twice.
        objects.sort();
        objects.dedup_by(|a, b| a.0 == b.0);
        let mut rest = objects.into_iter().peekable();
        while rest.peek().is_some() {
            let (mut chunk, mut bytes) = (Vec::new(), 0);
            while let Some(object) = rest.next_if(|(_, packed)| {
                chunk.is_empty() || (bytes + packed.len() <= BATCH && chunk.len() < OBJECTS_AT_ONCE)
            }) {
                bytes += object.1.len();
                chunk.push(object);
            }
            let made = Timestamp::now().to_string();
            let mut insert = QueryBuilder::new("INSERT INTO raw_object (address, packed, made) ");
            insert.push_values(chunk, |mut row, (address, packed)| {
                row.push_bind(address).push_bind(packed).push_bind(&made);
            });
            insert.push(
                " ON CONFLICT (address) DO UPDATE SET packed = excluded.packed WHERE raw_object.packed <> excluded.packed",
            );
            self.database.execute_again(insert.build()).await?;
        }
        Ok(())
    }

    /// The content of an object.
    pub(crate) async fn read(&self, raw: RawRef) -> Result<Vec<u8>, StoreError> {
        let asked = query("SELECT packed FROM raw_object WHERE address = $1").bind(raw.to_string());
        let rows = self.database.rows(asked).await?;
        let packed: Vec<u8> = match rows.first() {
            Some(row) => self.database.column(row, "packed")?,
            None => return Err(self.damaged(raw, "it is missing".to_owned())),
        };
        let table = self.clone();
        off_the_loop(move || {
            let content = zstd::stream::decode_all(packed.as_slice())
                .map_err(|e| table.damaged(raw, format!("it can't be unpacked ({e})")))?;
            match RawRef::from_content(&content) == raw {
                true => Ok(content),
                false => Err(table.damaged(raw, "its content is another one".to_owned())),
            }
        })
        .await
    }

    fn damaged(&self, raw: RawRef, detail: String) -> StoreError {
        StoreError::RawDamaged {
            raw,
            path: PathBuf::from(format!("{} (raw_object)", self.database.path().display())),
            detail,
        }
    }

    /// Which objects there are.
    pub(crate) async fn addresses(&self) -> Result<HashSet<RawRef>, StoreError> {
        let sizes = self.sizes().await?;
        Ok(sizes.into_keys().collect())
    }

    /// The packed size of every object, in bytes.
    pub(crate) async fn sizes(&self) -> Result<HashMap<RawRef, u64>, StoreError> {
        let (db, mut sizes) = (&self.database, HashMap::new());
        let asked =
            query("SELECT address, CAST(LENGTH(packed) AS BIGINT) AS bytes FROM raw_object");
        db.each_row(asked, |row| {
            let raw = db.parsed(row, "address", "a raw output's address")?;
            sizes.insert(raw, db.whole(row, "bytes")?);
            Ok(())
        })
        .await?;
        Ok(sizes)
    }

    /// Removes these objects. Call it [`alone`](RawTable::alone).
    pub(crate) async fn remove(&self, objects: &[RawRef]) -> Result<(), StoreError> {
        for chunk in objects.chunks(OBJECTS_AT_ONCE) {
            let mut delete = QueryBuilder::new("DELETE FROM raw_object WHERE address IN (");
            let mut addresses = delete.separated(", ");
            for object in chunk {
                addresses.push_bind(object.to_string());
            }
            delete.push(")");
            self.database.execute(delete.build()).await?;
        }
        Ok(())
    }

    /// Removes every object but these. Call it [`alone`](RawTable::alone).
    pub(crate) async fn sweep(&self, keep: &HashSet<RawRef>) -> Result<SweptObjects, StoreError> {
        let sizes = self.sizes().await?;
        let doomed = sizes.iter().filter(|(raw, _)| !keep.contains(*raw));
        let doomed: Vec<(RawRef, u64)> = doomed.map(|(raw, bytes)| (*raw, *bytes)).collect();
        let objects: Vec<RawRef> = doomed.iter().map(|(raw, _)| *raw).collect();
        self.remove(&objects).await?;
        Ok(SweptObjects {
            objects: doomed.len() as u64,
            bytes: doomed.iter().map(|(_, bytes)| bytes).sum(),
        })
    }

    /// Those of these objects that aren't there, in their order.
    pub(crate) async fn lacking(
        &self,
        mut objects: Vec<RawRef>,
    ) -> Result<Vec<RawRef>, StoreError> {
        let (db, mut there) = (&self.database, HashSet::<RawRef>::new());
        for chunk in objects.chunks(OBJECTS_AT_ONCE) {
            let mut asked = QueryBuilder::new("SELECT address FROM raw_object WHERE address IN (");
            let mut addresses = asked.separated(", ");
            for object in chunk {
                addresses.push_bind(object.to_string());
            }
            asked.push(")");
            for row in db.rows(asked.build()).await? {
                there.insert(db.parsed(&row, "address", "a raw output's address")?);
            }
        }
        objects.retain(|raw| !there.contains(raw));
        Ok(objects)
    }
}
