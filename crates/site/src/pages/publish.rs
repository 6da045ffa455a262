//! A site as plain files, served by anything that serves files, or by nothing.
//!
//! Publishing again writes what has changed; killed in the middle it leaves whole pages, old or new.

use std::{cmp::Reverse, collections::BTreeSet, path::Path};

use super::{
    address,
    folder::{Folder, FolderError, PublishedFiles},
    site::{Site, SiteError},
};

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
pub async fn publish(site: &Site<'_>, root: &Path) -> Result<PublishedFiles, PublishError> {
    let mut addresses: Vec<&str> = site.addresses().collect();
    let mut folder = Folder::open(root, &addresses)?;
    // What is linked to is there before the link is: pages of boots before those of targets, and the first page last.
    let depth = |address: &str| Reverse(address.matches('/').count());
    addresses.sort_by_key(|address| (*address == address::HOME, depth(address)));
    let mut raw = BTreeSet::new();
    for address in addresses {
        let Some(file) = site.file(address).await? else {
            continue;
        };
        for reference in file.raw {
            let address = address::raw(&reference);
            if raw.insert(address.clone())
                && !folder.keeps(&address)
                && let Some(file) = site.file(&address).await?
            {
                folder.write_file(&address, &file.content)?;
            }
        }
        folder.write_file(address, &file.content)?;
    }
    Ok(folder.sweep()?)
}
