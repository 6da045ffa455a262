//! The files of one edition of a site as they are sent: made when one is first asked for, once however many ask for it meanwhile,
//! and kept until there is another edition or no room for them.
//!
//! Raw outputs aren't kept: they may be large, and whoever has one never asks for it again.

use axum::body::Bytes;
use backsight_site::{Site, SiteError, SiteFile};
use backsight_store::RawRef;
use flate2::{Compression, write::GzEncoder};
use std::{
    collections::HashMap,
    io::Write as _,
    num::NonZero,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::available_parallelism,
};
use tokio::{
    runtime::Handle,
    sync::{OnceCell, Semaphore},
    task::{JoinError, spawn_blocking},
};

/// Most bytes of files that are kept, as they are and compressed. A file that takes more by itself isn't kept: all others would have
/// to go for it.
const MOST_KEPT: usize = 64 << 20;
/// Less isn't worth compressing.
const LEAST_COMPRESSED: usize = 1 << 10;

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The site's own reason.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The program's fault.
    #[error("the page can't be made: {0}")]
    Making(#[from] JoinError),
}

/// A file as it is sent.
#[derive(Debug)]
pub struct SentFile {
    /// What it is, as HTTP says it.
    pub media_type: &'static str,
    /// What tells it from all others.
    pub tag: String,
    /// Its content.
    pub content: Bytes,
    /// The same by gzip, where that is smaller.
    pub compressed: Option<Bytes>,
    /// Whether it says why there is no such file.
    pub is_refusal: bool,
}

/// A site with those of its files that were asked for.
pub struct Edition {
    /// The site.
    pub site: Site<'static>,
    files: Mutex<KeptFiles>,
    /// For what computes: more at once than there are processors take memory, and no answer is there sooner.
    makers: Semaphore,
}

#[derive(Default)]
struct KeptFiles {
    by_address: HashMap<String, KeptFile>,
    bytes: usize,
    /// Counts questions: whichever file was asked for longest ago goes first.
    clock: u64,
}

#[derive(Default)]
struct KeptFile {
    /// None where there is nothing at the address.
    file: Arc<OnceCell<Option<Arc<SentFile>>>>,
    last_asked: u64,
    /// How many of the kept bytes are its.
    bytes: usize,
}

impl Edition {
    /// An edition of which nothing was asked for.
    pub fn new(site: Site<'static>) -> Self {
        Self {
            site,
            files: Mutex::default(),
            makers: Semaphore::new(available_parallelism().map_or(1, NonZero::get)),
        }
    }

    /// Does what computes: the threads that answer go on meanwhile.
    ///
    /// # Errors
    /// It panicked.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Handle) -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        // It is never closed.
        let _permit = self.makers.acquire().await;
        let runtime = Handle::current();
        spawn_blocking(move || work(&runtime)).await
    }

    /// The file at an address of the site; none where nothing is there.
    ///
    /// # Errors
    /// The site's own.
    pub async fn file(self: &Arc<Self>, address: &str) -> Result<Option<Arc<SentFile>>, PageError> {
        if is_raw(address) {
            return self.make(address).await;
        }
        let cell = self.kept().ask(address);
        let file = cell.get_or_try_init(|| self.make(address)).await?.clone();
        if let Some(file) = &file {
            self.kept().count(address, file.bytes());
        }
        Ok(file)
    }

    fn kept(&self) -> MutexGuard<'_, KeptFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn make(self: &Arc<Self>, address: &str) -> Result<Option<Arc<SentFile>>, PageError> {
        let (this, address) = (Arc::clone(self), address.to_owned());
        let made = self.compute(move |runtime| {
            let file = runtime.block_on(this.site.file(&address))?;
            Ok(file.map(|file| Arc::new(SentFile::new(file, !is_raw(&address)))))
        });
        made.await?
    }
}

impl KeptFiles {
    fn ask(&mut self, address: &str) -> Arc<OnceCell<Option<Arc<SentFile>>>> {
        self.clock += 1;
        let file = self.by_address.entry(address.to_owned()).or_default();
        file.last_asked = self.clock;
        Arc::clone(&file.file)
    }

    /// Counts the bytes of a file that was made, and forgets others that there is no room for then; or the file itself, where there
    /// is no room for it at all.
    fn count(&mut self, address: &str, bytes: usize) {
        if bytes > MOST_KEPT {
            self.forget(address);
            return;
        }
        let Some(file) = self.by_address.get_mut(address) else {
            return;
        };
        self.bytes += bytes - std::mem::replace(&mut file.bytes, bytes);
        while self.bytes > MOST_KEPT {
            let others = self.by_address.iter();
            let others = others.filter(|(other, file)| file.bytes > 0 && *other != address);
            let Some((oldest, _)) = others.min_by_key(|(_, file)| file.last_asked) else {
                return;
            };
            let oldest = oldest.clone();
            self.forget(&oldest);
        }
    }

    /// Whoever waits for the file gets it all the same.
    fn forget(&mut self, address: &str) {
        let forgotten = self.by_address.remove(address);
        self.bytes -= forgotten.map_or(0, |file| file.bytes);
    }
}

impl SentFile {
    fn new(file: SiteFile, is_compressed: bool) -> Self {
        let compressed = match is_compressed && file.content.len() >= LEAST_COMPRESSED {
            true => gzip(&file.content).filter(|packed| packed.len() < file.content.len()),
            false => None,
        };
        Self {
            media_type: file.media_type,
            tag: RawRef::from_content(&file.content).to_string(),
            is_refusal: file.refusal.is_some(),
            content: file.content.into(),
            compressed: compressed.map(Bytes::from),
        }
    }

    fn bytes(&self) -> usize {
        self.content.len() + self.compressed.as_ref().map_or(0, Bytes::len)
    }
}

fn is_raw(address: &str) -> bool {
    address.starts_with("raw/")
}

fn gzip(content: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_asked_for_longest_ago_make_room() {
        let mut kept = KeptFiles::default();
        for address in ["a", "b", "c"] {
            kept.ask(address);
            kept.count(address, MOST_KEPT / 3);
        }
        kept.ask("a");
        // Counted again, it takes no more room.
        kept.count("a", MOST_KEPT / 3);
        assert_eq!(kept.by_address.len(), 3);
        kept.ask("d");
        kept.count("d", MOST_KEPT / 3);
        let mut left: Vec<&str> = kept.by_address.keys().map(String::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["a", "c", "d"]);
        assert_eq!(kept.bytes, MOST_KEPT / 3 * 3);
    }

    #[test]
    fn a_file_that_is_larger_than_all_room_is_sent_and_not_kept() {
        let mut kept = KeptFiles::default();
        for (address, bytes) in [("a", 100), ("all", 2 * MOST_KEPT), ("b", 100)] {
            kept.ask(address);
            kept.count(address, bytes);
        }
        let mut left: Vec<&str> = kept.by_address.keys().map(String::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["a", "b"]);
        assert_eq!(kept.bytes, 200);
    }
}
