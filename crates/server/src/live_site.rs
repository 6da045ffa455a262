//! The site of a store that others write into: made anew when something was written, and the old one shown meanwhile.

use backsight_model::TargetName;
use backsight_site::Site;
use backsight_store::{Store, StoreStamp};
use std::{
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};
use tokio::sync::watch;

use crate::{SiteContent, page_cache::Edition};

/// How often the store is asked whether something was written: one look at two files, or one question.
const LOOK: Duration = Duration::from_millis(500);
/// Between two sites lies at least this many times what it took to make one: following a study that keeps a trial a second
/// may not take a processor.
const REST: u32 = 4;

/// The site of a store as it is now.
pub struct LiveSite {
    store: Store,
    targets: Vec<TargetName>,
    /// Whether who has the token may say something.
    is_controlled: bool,
    /// Tells whoever started it what pages can't show.
    tell: fn(&str),
    edition: RwLock<Arc<Edition>>,
    /// What the store was like before the first one was made.
    first: StoreStamp,
    /// Counts the sites that were made.
    editions: watch::Sender<u64>,
}

impl LiveSite {
    /// The site of these targets, or of all where none is named. What pages can't show (a bisection that can't be read, that the
    /// store can't be read any more) is told.
    ///
    /// # Errors
    /// The store's.
    pub async fn open(
        store: Store,
        targets: Vec<TargetName>,
        is_controlled: bool,
        tell: fn(&str),
    ) -> miette::Result<Arc<Self>> {
        let first = store.stamp().await;
        let (site, notes) = collect(&store, &targets, is_controlled).await?;
        notes.iter().for_each(|note| tell(note));
        Ok(Arc::new(Self {
            first,
            tell,
            edition: RwLock::new(Arc::new(Edition::new(site))),
            store,
            targets,
            is_controlled,
            editions: watch::Sender::new(1),
        }))
    }

    /// The site as it was last made, with the pages of it that were asked for.
    pub(crate) fn edition(&self) -> Arc<Edition> {
        let edition = self.edition.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&edition)
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Says when another edition is there.
    pub fn editions(&self) -> watch::Receiver<u64> {
        self.editions.subscribe()
    }

    /// Makes the site anew whenever something was written; for ever.
    pub async fn follow(self: Arc<Self>) {
        let mut seen = self.first;
        let mut told = String::new();
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.store.stamp().await;
            if seen == now {
                continue;
            }
            let begun = Instant::now();
            let this = Arc::clone(&self);
            let runtime = tokio::runtime::Handle::current();
            let made = tokio::task::spawn_blocking(move || {
                runtime.block_on(collect(&this.store, &this.targets, this.is_controlled))
            });
            // A store that can't be read for a moment, or for ever, is no reason to lose what is shown.
            let trouble = match made.await {
                Ok(Ok((site, _))) => {
                    *self.edition.write().unwrap_or_else(PoisonError::into_inner) =
                        Arc::new(Edition::new(site));
                    self.editions.send_modify(|edition| *edition += 1);
                    seen = now;
                    String::new()
                }
                Ok(Err(error)) => format!("pages stay as they were: {error}"),
                Err(error) => format!("pages stay as they were: {error}"),
            };
            if !trouble.is_empty() && trouble != told {
                (self.tell)(&trouble);
            }
            told = trouble;
            tokio::time::sleep(begun.elapsed() * REST).await;
        }
    }
}

/// The site, and what a reader should know of what it can't show.
async fn collect(
    store: &Store,
    targets: &[TargetName],
    is_controlled: bool,
) -> miette::Result<(Site<'static>, Vec<String>)> {
    let content = SiteContent::collect(store, targets).await?;
    let notes = content.notes.clone();
    let site = content.into_site().live();
    Ok(match is_controlled {
        true => (site.controlled(), notes),
        false => (site, notes),
    })
}
