//! A site as plain files, served by anything that serves files, or by nothing.
//!
//! Publishing again writes what has changed; killed in the middle it leaves whole pages, old or new.

use std::{
    cmp::Reverse,
    collections::HashMap,
    num::NonZero,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use tokio::{runtime::Handle, task::JoinSet};

use super::{
    address,
    folder::{Folder, FolderError, Made, PublishedFiles},
    inputs::Fingerprint,
    site::{Site, SiteError},
};
use backsight_store::RawRef;

/// Why a site can't be published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A page.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Publishes a site into a folder, which then has its files and no others of ours.
///
/// # Errors
/// The store's and the folder's own.
pub async fn publish(site: Site<'static>, root: &Path) -> Result<PublishedFiles, PublishError> {
    let mut addresses: Vec<&str> = site.addresses().collect();
    let fingerprints = site.fingerprints();
    let inventory = site.store.raw_inventory().await.map_err(SiteError::from)?;
    let is_current = |address: &str, made: &Made| {
        fingerprints.get(address) == Some(&made.fingerprint)
            && made.raw.iter().all(|raw| inventory.has(raw))
            && !made.pruned.iter().any(|raw| inventory.has(raw))
    };
    let folder = Folder::open(root, &addresses, is_current)?;
    // What is linked to is there before the link is: pages of boots before those of targets, and the first page last.
    let depth = |address: &str| {
        (
            address == address::HOME,
            Reverse(address.matches('/').count()),
        )
    };
    addresses.sort_by_key(|address| depth(address));
    let groups = addresses.chunk_by(|a, b| depth(a) == depth(b));
    let groups: Vec<Vec<String>> = groups
        .map(|group| group.iter().map(|&address| address.to_owned()).collect())
        .collect();
    let publisher = Arc::new(Publisher {
        site,
        folder,
        fingerprints,
    });
    for group in groups {
        publisher.publish(group).await?;
    }
    Ok(publisher.folder.sweep()?)
}

struct Publisher {
    site: Site<'static>,
    folder: Folder,
    fingerprints: HashMap<String, Fingerprint>,
}

impl Publisher {
    /// Publishes the files at these addresses, on all processors.
    async fn publish(self: &Arc<Self>, addresses: Vec<String>) -> Result<(), PublishError> {
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        let workers = workers.min(addresses.len());
        let addresses = Arc::new((addresses, AtomicUsize::new(0)));
        let mut running: JoinSet<Result<(), PublishError>> = JoinSet::new();
        for _ in 0..workers {
            let (this, addresses, runtime) =
                (Arc::clone(self), Arc::clone(&addresses), Handle::current());
            running.spawn_blocking(move || {
                let (addresses, next) = &*addresses;
                while let Some(address) = addresses.get(next.fetch_add(1, Ordering::Relaxed)) {
                    runtime.block_on(this.publish_file(address))?;
                }
                Ok(())
            });
        }
        while let Some(ended) = running.join_next().await {
            match ended {
                Ok(published) => published?,
                Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
            }
        }
        Ok(())
    }

    async fn publish_file(&self, address: &str) -> Result<(), PublishError> {
        if let Some(raw) = self.folder.keeps_page(address) {
            return self.publish_raw(&raw).await;
        }
        let Some(file) = self.site.file(address).await? else {
            return Ok(());
        };
        if file.refusal.is_some() {
            return Ok(());
        }
        self.publish_raw(&file.raw).await?;
        self.folder.write_file(address, &file.content)?;
        if let Some(fingerprint) = self.fingerprints.get(address).filter(|_| file.is_settled) {
            let made = Made {
                fingerprint: *fingerprint,
                length: file.content.len() as u64,
                raw: file.raw,
                pruned: file.pruned,
            };
            self.folder.note_made(address, made);
        }
        Ok(())
    }

    /// Publishes raw outputs that aren't there yet.
    async fn publish_raw(&self, references: &[RawRef]) -> Result<(), PublishError> {
        for reference in references {
            let address = address::raw(reference);
            if !self.folder.keeps(&address)
                && let Some(file) = self.site.file(&address).await?
            {
                self.folder.write_file(&address, &file.content)?;
            }
        }
        Ok(())
    }
}
