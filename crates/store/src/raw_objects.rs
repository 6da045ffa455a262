//! The raw objects of a store, wherever they are: files in a folder, rows of a table, or objects in a bucket.
//!
//! A place keeps objects under the BLAKE3 address of their content. What it has acknowledged is durable, and it gives an object out
//! only if its content is what its address says.

use backsight_model::{RawLocation, StoreSettings};
use std::{
    collections::{HashMap, HashSet},
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    FilePart, RawRef, StoreError, SweptObjects,
    query::Transaction,
    raw::{RawFolder, off_the_loop},
    raw_bucket::RawBucket,
    raw_table::RawTable,
    settings_file::SettingsFile,
};

/// The place of raw objects, and the store's locks.
#[derive(Debug, Clone)]
pub(crate) enum RawObjects {
    /// Files in a folder beside the database.
    Folder(RawFolder),
    /// Rows of the database that the store is in.
    Table(RawTable),
    /// Objects in a bucket; the store's own place has the locks.
    Bucket(RawBucket, OwnPlace),
}

/// The place of raw objects that a store has in itself, and that has its locks.
#[derive(Debug, Clone)]
pub(crate) enum OwnPlace {
    Folder(RawFolder),
    Table(RawTable),
}

impl OwnPlace {
    async fn unswept(&self) -> Result<StoreLock, StoreError> {
        match self {
            Self::Folder(folder) => folder.unswept().await.map(Into::into),
            Self::Table(table) => table.unswept().await.map(Into::into),
        }
    }

    async fn alone(&self) -> Result<StoreLock, StoreError> {
        match self {
            Self::Folder(folder) => folder.alone().await.map(Into::into),
            Self::Table(table) => table.alone().await.map(Into::into),
        }
    }

    async fn alone_at_once(&self) -> Result<StoreLock, StoreError> {
        match self {
            Self::Folder(folder) => folder.alone_at_once().await.map(Into::into),
            Self::Table(table) => table.alone_at_once().await.map(Into::into),
        }
    }

    async fn only_pruner(&self) -> Result<StoreLock, StoreError> {
        match self {
            Self::Folder(folder) => folder.only_pruner().await.map(Into::into),
            Self::Table(table) => table.only_pruner().await.map(Into::into),
        }
    }
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
    Listed(HashSet<RawRef>),
}

impl RawInventory {
    /// Whether there is such an object; it may be damaged. Blocks.
    pub fn has(&self, raw: &RawRef) -> bool {
        match &self.0 {
            Inventory::Folder(folder) => folder.path_of(raw).is_file(),
            Inventory::Listed(objects) => objects.contains(raw),
        }
    }
}

impl RawObjects {
    /// The objects of a store in a folder that is written into.
    pub(crate) fn open(store: &Path, patience: Duration) -> Result<Self, StoreError> {
        let folder = RawFolder::open(store, patience)?;
        let settings = SettingsFile::new(store).read()?;
        Self::at(&settings.raw, OwnPlace::Folder(folder), &settings, store)
    }

    /// The objects of a store in a folder that nothing is written into.
    pub(crate) fn open_to_read(store: &Path, patience: Duration) -> Result<Self, StoreError> {
        let folder = RawFolder::open_to_read(store, patience);
        let settings = SettingsFile::new(store).read()?;
        Self::at(&settings.raw, OwnPlace::Folder(folder), &settings, store)
    }

    /// The objects of a store in a database.
    pub(crate) fn of_database(
        table: RawTable,
        settings: &StoreSettings,
        controller: &Path,
    ) -> Result<Self, StoreError> {
        Self::at(&settings.raw, OwnPlace::Table(table), settings, controller)
    }

    fn at(
        location: &RawLocation,
        own: OwnPlace,
        settings: &StoreSettings,
        store: &Path,
    ) -> Result<Self, StoreError> {
        match (location, own) {
            (RawLocation::Folder, OwnPlace::Folder(folder)) => Ok(Self::Folder(folder)),
            (RawLocation::Database, OwnPlace::Table(table)) => Ok(Self::Table(table)),
            (RawLocation::Bucket(url), own) => {
                let bucket = RawBucket::new(url.clone(), settings, store);
                Ok(Self::Bucket(bucket, own))
            }
            (RawLocation::Folder, OwnPlace::Table(table)) => Err(StoreError::RawInDatabase {
                path: table.path().to_owned(),
            }),
            (RawLocation::Database, OwnPlace::Folder(_)) => Err(StoreError::RawInFolder {
                path: store.to_owned(),
            }),
        }
    }

    /// Objects of the same store at another place.
    ///
    /// # Errors
    /// A store of this kind has none there.
    pub(crate) fn elsewhere(
        &self,
        location: &RawLocation,
        settings: &StoreSettings,
        store: &Path,
    ) -> Result<Self, StoreError> {
        Self::at(location, self.own(), settings, store)
    }

    /// The store's own place, which has its locks.
    fn own(&self) -> OwnPlace {
        match self {
            Self::Folder(folder) => OwnPlace::Folder(folder.clone()),
            Self::Table(table) => OwnPlace::Table(table.clone()),
            Self::Bucket(_, own) => own.clone(),
        }
    }

    /// Where the objects are, as settings say it.
    pub(crate) fn location(&self) -> RawLocation {
        match self {
            Self::Folder(_) => RawLocation::Folder,
            Self::Table(_) => RawLocation::Database,
            Self::Bucket(bucket, _) => RawLocation::Bucket(bucket.url().clone()),
        }
    }

    /// The bucket, if they are in one.
    pub(crate) fn bucket(&self) -> Option<&RawBucket> {
        match self {
            Self::Folder(_) | Self::Table(_) => None,
            Self::Bucket(bucket, _) => Some(bucket),
        }
    }

    /// Holds off sweeps until it is dropped. Taken before objects are written, kept until they are referred to.
    pub(crate) async fn unswept(&self) -> Result<StoreLock, StoreError> {
        self.own().unswept().await
    }

    /// Waits until nobody holds off sweeps, and lets nobody do it until it is dropped.
    pub(crate) async fn alone(&self) -> Result<StoreLock, StoreError> {
        self.own().alone().await
    }

    /// As [`RawObjects::alone`], at once or not at all.
    pub(crate) async fn alone_at_once(&self) -> Result<StoreLock, StoreError> {
        self.own().alone_at_once().await
    }

    /// Waits until nobody else prunes, and lets nobody do it until it is dropped.
    pub(crate) async fn only_pruner(&self) -> Result<StoreLock, StoreError> {
        self.own().only_pruner().await
    }

    /// Whether there is any object without a database; a database that has them itself isn't asked.
    pub(crate) async fn has_objects(&self) -> Result<bool, StoreError> {
        match self {
            Self::Folder(folder) => folder.has_objects(),
            Self::Table(_) => Ok(false),
            Self::Bucket(bucket, _) => bucket.has_objects().await,
        }
    }

    /// That the database at this path, which refers to the objects here, is gone.
    pub(crate) fn database_lost(&self, path: PathBuf) -> StoreError {
        match self {
            Self::Folder(folder) => folder.database_lost(path),
            Self::Table(table) => StoreError::DatabaseLost {
                path,
                raw: table.path().to_owned(),
            },
            Self::Bucket(bucket, _) => StoreError::DatabaseLost {
                path,
                raw: PathBuf::from(bucket.url().to_string()),
            },
        }
    }

    /// Keeps these contents: they are durable when it returns. Call it where sweeps are held off.
    pub(crate) async fn keep(&self, contents: Vec<Vec<u8>>) -> Result<Vec<RawRef>, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.keep(&contents)).await,
            Self::Table(table) => table.keep(contents).await,
            Self::Bucket(bucket, _) => bucket.keep(contents).await,
        }
    }

    /// As [`RawObjects::keep`], with contents on disk, of which little is in memory at a time.
    pub(crate) async fn keep_parts(&self, parts: Vec<FilePart>) -> Result<Vec<RawRef>, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.keep_parts(&parts)).await,
            Self::Table(table) => table.keep_parts(parts).await,
            Self::Bucket(bucket, _) => bucket.keep_parts(parts).await,
        }
    }

    /// The content of an object.
    pub(crate) async fn read(&self, raw: RawRef) -> Result<Vec<u8>, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.read(&raw)).await,
            Self::Table(table) => table.read(raw).await,
            Self::Bucket(bucket, _) => bucket.read(raw).await,
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
            Self::Bucket(bucket, _) => bucket.find_damaged(objects).await,
        }
    }

    /// Which objects there are.
    pub(crate) async fn inventory(&self) -> Result<RawInventory, StoreError> {
        Ok(RawInventory(match self {
            Self::Folder(folder) => Inventory::Folder(folder.clone()),
            Self::Table(table) => Inventory::Listed(table.addresses().await?),
            Self::Bucket(bucket, _) => {
                Inventory::Listed(bucket.sizes().await?.into_keys().collect())
            }
        }))
    }

    /// Those of these objects that aren't there, in their order. Of a bucket nothing is asked: what is written there again makes an
    /// object young, so that no sweep removes it.
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
            Self::Bucket(..) => Ok(objects),
        }
    }

    /// The packed size of every object, in bytes.
    pub(crate) async fn sizes(&self) -> Result<HashMap<RawRef, u64>, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, RawFolder::sizes).await,
            Self::Table(table) => table.sizes().await,
            Self::Bucket(bucket, _) => bucket.sizes().await,
        }
    }

    /// Removes these objects. Call it [`alone`](RawObjects::alone).
    pub(crate) async fn remove(&self, objects: Vec<RawRef>) -> Result<(), StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.remove_objects(&objects)).await,
            Self::Table(table) => table.remove(&objects).await,
            Self::Bucket(bucket, _) => bucket.remove(objects).await,
        }
    }

    /// Removes every object but these, and what a killed process left unfinished. Call it [`alone`](RawObjects::alone).
    pub(crate) async fn sweep(&self, keep: HashSet<RawRef>) -> Result<SweptObjects, StoreError> {
        match self {
            Self::Folder(folder) => in_folder(folder, move |it| it.sweep(&keep)).await,
            Self::Table(table) => table.sweep(&keep).await,
            Self::Bucket(bucket, _) => bucket.sweep(&keep).await,
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
