//! The raw objects of a store, wherever they are: files in a folder, or rows of a table.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
};

use crate::{
    FilePart, RawRef, StoreError, SweptObjects,
    query::Transaction,
    raw::{RawFolder, off_the_loop},
    raw_table::RawTable,
};

/// The place of raw objects, and the store's locks.
#[derive(Debug, Clone)]
pub(crate) enum RawObjects {
    Folder(RawFolder),
    Table(RawTable),
}

/// A lock of the store, held until it is dropped.
#[derive(Debug)]
pub(crate) enum StoreLock {
    /// Of a file.
    File { _file: File },
    /// Of a server's transaction.
    Transaction { _tx: Transaction },
}

impl From<File> for StoreLock {
    fn from(file: File) -> Self {
        Self::File { _file: file }
    }
}

impl From<Transaction> for StoreLock {
    fn from(tx: Transaction) -> Self {
        Self::Transaction { _tx: tx }
    }
}

/// Which raw objects there are.
#[derive(Debug, Clone)]
pub struct RawInventory(Inventory);

#[derive(Debug, Clone)]
enum Inventory {
    Folder(RawFolder),
    Table(HashSet<RawRef>),
}

impl RawInventory {
    /// Whether there is such an object; it may be damaged. Blocks.
    pub fn has(&self, raw: &RawRef) -> bool {
        match &self.0 {
            Inventory::Folder(folder) => folder.path_of(raw).is_file(),
            Inventory::Table(addresses) => addresses.contains(raw),
        }
    }
}

impl RawObjects {
    /// Holds off sweeps until it is dropped. Taken before objects are written, kept until they are referred to.
    pub(crate) async fn unswept(&self) -> Result<StoreLock, StoreError> {
        match self {
            Self::Folder(folder) => folder.unswept().await.map(Into::into),
            Self::Table(table) => table.unswept().await.map(Into::into),
        }
    }

    /// Waits until nobody holds off sweeps, and lets nobody do it until it is dropped.
    pub(crate) async fn alone(&self) -> Result<StoreLock, StoreError> {
        match self {
            Self::Folder(folder) => folder.alone().await.map(Into::into),
            Self::Table(table) => table.alone().await.map(Into::into),
        }
    }

    /// As [`RawObjects::alone`], at once or not at all.
    pub(crate) async fn alone_at_once(&self) -> Result<StoreLock, StoreError> {
        match self {
            Self::Folder(folder) => folder.alone_at_once().await.map(Into::into),
            Self::Table(table) => table.alone_at_once().await.map(Into::into),
        }
    }

    /// Waits until nobody else prunes, and lets nobody do it until it is dropped.
    pub(crate) async fn only_pruner(&self) -> Result<StoreLock, StoreError> {
        match self {
            Self::Folder(folder) => folder.only_pruner().await.map(Into::into),
            Self::Table(table) => table.only_pruner().await.map(Into::into),
        }
    }

    /// Keeps these contents: they are durable when it returns. Call it where sweeps are held off.
    pub(crate) async fn keep(&self, contents: Vec<Vec<u8>>) -> Result<Vec<RawRef>, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.keep(&contents)).await,
            Self::Table(table) => table.keep(contents).await,
        }
    }

    /// As [`RawObjects::keep`], with contents on disk, of which little is in memory at a time.
    pub(crate) async fn keep_parts(&self, parts: Vec<FilePart>) -> Result<Vec<RawRef>, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.keep_parts(&parts)).await,
            Self::Table(table) => table.keep_parts(parts).await,
        }
    }

    /// The content of an object.
    pub(crate) async fn read(&self, raw: RawRef) -> Result<Vec<u8>, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.read(&raw)).await,
            Self::Table(table) => table.read(raw).await,
        }
    }

    /// Those of these objects that are missing or damaged, each with what was found.
    pub(crate) async fn find_damaged(
        &self,
        objects: Vec<RawRef>,
    ) -> Result<Vec<(RawRef, String)>, StoreError> {
        let found = |raw, read| match read {
            Ok(_) => None,
            Err(StoreError::RawDamaged { detail, .. }) => Some((raw, detail)),
            Err(error) => Some((raw, error.to_string())),
        };
        match self {
            Self::Folder(folder) => {
                in_folder(folder, move |it| {
                    let checked = objects.into_iter();
                    Ok(checked
                        .filter_map(|raw| found(raw, it.read(&raw)))
                        .collect())
                })
                .await
            }
            Self::Table(table) => {
                let mut damaged = Vec::new();
                for raw in objects {
                    damaged.extend(found(raw, table.read(raw).await));
                }
                Ok(damaged)
            }
        }
    }

    /// Which objects there are.
    pub(crate) async fn inventory(&self) -> Result<RawInventory, StoreError> {
        Ok(RawInventory(match self {
            Self::Folder(folder) => Inventory::Folder(folder.clone()),
            Self::Table(table) => Inventory::Table(table.addresses().await?),
        }))
    }

    /// Whether there is such an object; it may be damaged.
    pub(crate) async fn has(&self, raw: RawRef) -> Result<bool, StoreError> {
        match self {
            Self::Folder(folder) => Ok(folder.path_of(&raw).exists()),
            Self::Table(table) => table.has(raw).await,
        }
    }

    /// Those of these objects that aren't there, in their order.
    pub(crate) async fn lacking(&self, objects: Vec<RawRef>) -> Result<Vec<RawRef>, StoreError> {
        match self {
            Self::Folder(folder) => {
                in_folder(folder, move |it| {
                    let lacking = objects.into_iter();
                    Ok(lacking.filter(|raw| !it.path_of(raw).exists()).collect())
                })
                .await
            }
            Self::Table(table) => table.lacking(objects).await,
        }
    }

    /// The packed size of every object, in bytes.
    pub(crate) async fn sizes(&self) -> Result<HashMap<RawRef, u64>, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, RawFolder::sizes).await,
            Self::Table(table) => table.sizes().await,
        }
    }

    /// Removes these objects. Call it [`alone`](RawObjects::alone).
    pub(crate) async fn remove(&self, objects: Vec<RawRef>) -> Result<(), StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.remove_objects(&objects)).await,
            Self::Table(table) => table.remove(&objects).await,
        }
    }

    /// Removes every object but these, and what a killed process left unfinished. Call it [`alone`](RawObjects::alone).
    pub(crate) async fn sweep(&self, keep: HashSet<RawRef>) -> Result<SweptObjects, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.sweep(&keep)).await,
            Self::Table(table) => table.sweep(&keep).await,
        }
    }
}

async fn in_folder<T: Send + 'static>(
    folder: &RawFolder,
    job: impl FnOnce(&RawFolder) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let folder = folder.clone();
    off_the_loop(move || job(&folder)).await
}
