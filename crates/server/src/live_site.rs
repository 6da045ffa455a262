//! The site of a store that others write into: made anew when something was written, and the old one shown meanwhile.

use backsight_model::TargetName;
use backsight_site::Site;
use backsight_store::{Store, StoreStamp, StudyRow};
use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    runtime::Handle,
    sync::{Mutex, watch},
    task::spawn_blocking,
};

use crate::{SiteContent, page_cache::Edition};

/// How often the store is asked whether something was written: one look at two files, or one question.
const LOOK: Duration = Duration::from_millis(500);
/// Between two sites lies at least this many times what it took to make one: following a study that keeps a trial a second
/// may not take a processor.
const REST: u32 = 4;

/// A reading of the store for an edition.
struct Reading {
    /// What the store was like before it.
    stamp: StoreStamp,
    /// Which one it is.
    number: u64,
}

/// The site of a store as it is now.
pub struct LiveSite {
    store: Store,
    targets: Vec<TargetName>,
    /// Whether who has the token may say something.
    is_controlled: bool,
    /// Tells whoever started it what pages can't show.
    tell: fn(&str),
    edition: RwLock<Arc<Edition>>,
    /// Of what the shown one was made. Whoever makes another holds it.
    shown: Mutex<Reading>,
    /// How often the store was begun to be read for an edition.
    readings: AtomicU64,
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
            shown: Mutex::new(Reading {
                stamp: first,
                number: 0,
            }),
            readings: AtomicU64::new(0),
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

    /// Whether a study is of what is served.
    pub(crate) fn shows(&self, study: &StudyRow) -> bool {
        let is_served = |target: &TargetName| self.targets.contains(target);
        self.targets.is_empty() || study.target.as_ref().is_some_and(is_served)
    }

    /// Says when another edition is there.
    pub fn editions(&self) -> watch::Receiver<u64> {
        self.editions.subscribe()
    }

    /// Makes the site anew whenever something was written; for ever.
    pub async fn follow(self: Arc<Self>) {
        let mut told = String::new();
        loop {
            tokio::time::sleep(LOOK).await;
            let mut shown = self.shown.lock().await;
            let now = self.store.stamp().await;
            if shown.stamp == now {
                continue;
            }
            let begun = Instant::now();
            let trouble = match self.make_edition(&mut shown, now).await {
                Ok(()) => String::new(),
                Err(error) => format!("pages stay as they were: {error}"),
            };
            drop(shown);
            if !trouble.is_empty() && trouble != told {
                (self.tell)(&trouble);
            }
            told = trouble;
            tokio::time::sleep(begun.elapsed() * REST).await;
        }
    }

    /// Makes the site anew with what was just written through this server: whoever wrote it finds it in the next answer. Several that
    /// write at once wait for one edition. If the store can't be read, the pages stay as they were, and [`LiveSite::follow`] tells that.
    pub(crate) async fn show_written(self: &Arc<Self>) {
        let before = self.readings.load(Ordering::SeqCst);
        let mut shown = self.shown.lock().await;
        // Whoever held it may have begun to read after this was written. A stamp doesn't say that: PostgreSQL counts a second later.
        if shown.number > before {
            return;
        }
        let now = self.store.stamp().await;
        let _ = self.make_edition(&mut shown, now).await;
    }

    /// Makes the site of a store that was like this before. A store that can't be read for a moment, or for ever, is no reason to lose what
    /// is shown.
    async fn make_edition(
        self: &Arc<Self>,
        shown: &mut Reading,
        stamp: StoreStamp,
    ) -> Result<(), String> {
        let number = self.readings.fetch_add(1, Ordering::SeqCst) + 1;
        let this = Arc::clone(self);
        let runtime = Handle::current();
        let made = spawn_blocking(move || {
            runtime.block_on(collect(&this.store, &this.targets, this.is_controlled))
        });
        let made = made.await.map_err(|error| error.to_string())?;
        let (site, _) = made.map_err(|error| error.to_string())?;
        *self.edition.write().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(Edition::new(site));
        self.editions.send_modify(|edition| *edition += 1);
        *shown = Reading { stamp, number };
        Ok(())
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
