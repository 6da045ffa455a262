//! Raw objects in a bucket: `PREFIX/ab/cdef….zst`, packed and named as in a folder, with a cache of them on this machine.
//!
//! An object is durable when the bucket has acknowledged it, which it does only if what arrived has the checksum that was sent along. It
//! is always written, also where it may be there: that mends a damaged one, and makes it young, so that no sweep removes it before
//! something refers to it. What is read is compared with its address; where it differs it is asked for again.
//!
//! An object `PREFIX/backsight-store` says whose place it is.

use backsight_model::{BucketUrl, StoreSettings};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _, path::Path as Key};
use std::{
    collections::{HashMap, HashSet},
    io::{Read as _, Seek as _},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use zstd::bulk::Compressor;

use crate::{
    FilePart, RawRef, StoreError, SweptObjects,
    bucket_client::{self, REQUEST},
    bucket_error::{BucketError, BucketFault},
    raw::{LEVEL, off_the_loop, unpack},
    raw_cache::RawCache,
};

/// Requests that are under way at once.
const AT_ONCE: usize = 16;
/// A larger object is sent in parts of this size.
const PART: usize = 8 * 1024 * 1024;
/// How often an object is asked for whose answer breaks off, or is another one.
const READINGS: usize = 3;
/// The time before it is asked for again.
const READ_AGAIN: Duration = Duration::from_millis(200);
/// The key, below the prefix, of the object that says whose place it is.
const OWNER: &str = "backsight-store";

/// A part of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct RawBucket(Arc<Place>);

#[derive(Debug)]
struct Place {
    url: BucketUrl,
    patience: Duration,
    unreferenced: Duration,
    cache: Option<RawCache>,
    /// Made when it is first needed: most commands need none.
    client: OnceLock<Arc<dyn ObjectStore>>,
    /// Whether it is known to be this store's.
    owned: AtomicBool,
}

type Packed = (RawRef, Bytes);

impl RawBucket {
    /// The bucket that these settings are about; what is kept at hand lies below the folder of the store.
    pub(crate) fn new(url: BucketUrl, settings: &StoreSettings, store: &Path) -> Self {
        Self(Arc::new(Place {
            url,
            patience: settings.request_patience(),
            unreferenced: settings.unreferenced_age(),
            cache: RawCache::new(store.join("raw-cache"), settings.cache_limit()),
            client: OnceLock::new(),
            owned: AtomicBool::new(false),
        }))
    }

    /// The address of the place.
    pub(crate) fn url(&self) -> &BucketUrl {
        &self.0.url
    }

    fn client(&self) -> Result<&Arc<dyn ObjectStore>, StoreError> {
        if let Some(client) = self.0.client.get() {
            return Ok(client);
        }
        let client = bucket_client::connect(&self.0.url, self.0.patience);
        let client = client.map_err(|error| {
            let fault = BucketFault::new(&error);
            self.fault("reach", None, fault)
        })?;
        Ok(self.0.client.get_or_init(|| client))
    }

    /// The key of something below the prefix.
    fn key(&self, name: &str) -> Key {
        Key::from(format!("{}/{name}", self.0.url.prefix))
    }

    fn key_of(&self, raw: &RawRef) -> Key {
        let hex = raw.to_string();
        let (folder, name) = hex.split_at(2);
        self.key(&format!("{folder}/{name}.zst"))
    }

    /// The address that a key says; `None` where it isn't an object's.
    fn address(&self, key: &Key) -> Option<RawRef> {
        let below = match self.0.url.prefix.as_str() {
            "" => key.as_ref(),
            prefix => key.as_ref().strip_prefix(prefix)?.strip_prefix('/')?,
        };
        let (folder, name) = below.strip_suffix(".zst")?.split_once('/')?;
        let is_object = folder.len() == 2 && name.len() == 62;
        is_object
            .then(|| format!("{folder}{name}").parse().ok())
            .flatten()
    }

    fn fault(&self, doing: &'static str, key: Option<&Key>, fault: BucketFault) -> StoreError {
        let bucket = &self.0.url.bucket;
        let url = match key {
            Some(key) => format!("s3://{bucket}/{key}"),
            None => self.0.url.to_string(),
        };
        StoreError::Bucket(Box::new(BucketError { doing, url, fault }))
    }

    /// The answer to a request, within a bound.
    async fn ask<T>(
        &self,
        doing: &'static str,
        key: Option<&Key>,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, StoreError> {
        let fault = match tokio::time::timeout(self.0.patience + 2 * REQUEST, request).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => BucketFault::new(&error),
            Err(_) => BucketFault::TimedOut,
        };
        Err(self.fault(doing, key, fault))
    }

    /// Makes the place this store's, if it is nobody's.
    pub(crate) async fn claim(&self, id: &str) -> Result<(), StoreError> {
        if self.0.owned.load(Ordering::Relaxed) {
            return Ok(());
        }
        let key = self.key(OWNER);
        let mut owner = self.owner(&key).await?;
        if owner.is_none() {
            let text = Bytes::from(format!("{id}\n"));
            self.put_bytes(&key, text).await?;
            // Of two that were here at once, the second one has it.
            owner = self.owner(&key).await?;
        }
        match owner.as_deref() == Some(id) {
            true => self.0.owned.store(true, Ordering::Relaxed),
            false => return Err(self.fault("use", None, BucketFault::Taken)),
        }
        Ok(())
    }

    /// Gives the place up, when nothing is there any more.
    pub(crate) async fn give_up(&self) -> Result<(), StoreError> {
        let key = self.key(OWNER);
        let client = self.client()?;
        match self.ask("remove", Some(&key), client.delete(&key)).await {
            Err(error) if !is_missing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    async fn owner(&self, key: &Key) -> Result<Option<String>, StoreError> {
        match self.get(key).await {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn get(&self, key: &Key) -> Result<Bytes, StoreError> {
        let client = self.client()?;
        let request = async { client.get(key).await?.bytes().await };
        self.ask("read", Some(key), request).await
    }

    /// Whether there is any object.
    pub(crate) async fn has_objects(&self) -> Result<bool, StoreError> {
        let mut found = false;
        self.each_object(|_, _| {
            found = true;
            false
        })
        .await?;
        Ok(found)
    }

    /// Keeps these contents.
    pub(crate) async fn keep(&self, contents: Vec<Vec<u8>>) -> Result<Vec<RawRef>, StoreError> {
        let (refs, packed) = off_the_loop(move || pack(&contents)).await?;
        let puts = packed.iter().map(|(raw, packed)| self.put(raw, packed));
        let mut puts = stream::iter(puts).buffer_unordered(AT_ONCE);
        while puts.try_next().await?.is_some() {}
        drop(puts);
        self.put_into_cache(packed).await?;
        Ok(refs)
    }

    /// Keeps contents on disk, one after the other, of which little is in memory at a time.
    pub(crate) async fn keep_parts(&self, parts: Vec<FilePart>) -> Result<Vec<RawRef>, StoreError> {
        let mut refs = Vec::with_capacity(parts.len());
        let mut seen = HashSet::new();
        for part in parts {
            let fault = |e| StoreError::file("read", "an imported file", e);
            let packing = move || {
                let mut hasher = blake3::Hasher::new();
                hasher.update_reader(part.reader()).map_err(fault)?;
                let raw = RawRef::from(hasher.finalize());
                let fault = |e| StoreError::file("write", std::env::temp_dir(), e);
                let mut file = tempfile::tempfile().map_err(fault)?;
                zstd::stream::copy_encode(part.reader(), &mut file, LEVEL).map_err(fault)?;
                file.rewind().map_err(fault)?;
                Ok((raw, file))
            };
            let (raw, file) = off_the_loop(packing).await?;
            if seen.insert(raw) {
                self.put_file(&raw, file).await?;
            }
            refs.push(raw);
        }
        Ok(refs)
    }

    async fn put(&self, raw: &RawRef, packed: &Bytes) -> Result<(), StoreError> {
        let key = self.key_of(raw);
        if packed.len() <= PART {
            return self.put_bytes(&key, packed.clone()).await;
        }
        let mut from = 0;
        self.put_in_parts(&key, async || {
            let to = packed.len().min(from + PART);
            let part = packed.slice(from..to);
            from = to;
            Ok(part)
        })
        .await
    }

    async fn put_file(&self, raw: &RawRef, file: std::fs::File) -> Result<(), StoreError> {
        let file = Arc::new(file);
        let next = async || {
            let file = Arc::clone(&file);
            off_the_loop(move || {
                let mut part = Vec::new();
                let read = file.as_ref().take(PART as u64).read_to_end(&mut part);
                read.map_err(|e| StoreError::file("read", std::env::temp_dir(), e))?;
                Ok(Bytes::from(part))
            })
            .await
        };
        let key = self.key_of(raw);
        let first = next().await?;
        if first.len() < PART {
            return self.put_bytes(&key, first).await;
        }
        let mut first = Some(first);
        self.put_in_parts(&key, async || match first.take() {
            Some(first) => Ok(first),
            None => next().await,
        })
        .await
    }

    async fn put_bytes(&self, key: &Key, bytes: Bytes) -> Result<(), StoreError> {
        let client = self.client()?;
        let request = client.put(key, bytes.into());
        self.ask("write", Some(key), request).await.map(drop)
    }

    /// Sends an object in parts, until one is empty; it is there when all are.
    async fn put_in_parts(
        &self,
        key: &Key,
        mut next: impl AsyncFnMut() -> Result<Bytes, StoreError>,
    ) -> Result<(), StoreError> {
        let client = self.client()?;
        let begun = client.put_multipart(key);
        let mut upload = self.ask("write", Some(key), begun).await?;
        let sent = async {
            loop {
                let part = next().await?;
                if part.is_empty() {
                    let ended = upload.complete();
                    return self.ask("write", Some(key), ended).await.map(drop);
                }
                let sent = upload.put_part(part.into());
                self.ask("write", Some(key), sent).await?;
            }
        };
        let sent = sent.await;
        if sent.is_err() {
            // Parts of what isn't ended cost room until somebody removes them.
            let _ = self.ask("write", Some(key), upload.abort()).await;
        }
        sent
    }

    async fn put_into_cache(&self, packed: Vec<Packed>) -> Result<(), StoreError> {
        let Some(cache) = self.0.cache.clone() else {
            return Ok(());
        };
        off_the_loop(move || {
            packed
                .iter()
                .for_each(|(raw, packed)| cache.put(raw, packed));
            Ok(())
        })
        .await
    }

    /// The content of an object in the cache, if it is there.
    pub(crate) async fn cached(&self, raw: RawRef) -> Result<Option<Vec<u8>>, StoreError> {
        match self.0.cache.clone() {
            Some(cache) => off_the_loop(move || Ok(cache.read(&raw))).await,
            None => Ok(None),
        }
    }

    /// The content of an object.
    pub(crate) async fn read(&self, raw: RawRef) -> Result<Vec<u8>, StoreError> {
        match self.cached(raw).await? {
            Some(content) => Ok(content),
            None => self.fetch(raw).await,
        }
    }

    /// The content of an object as the bucket has it.
    async fn fetch(&self, raw: RawRef) -> Result<Vec<u8>, StoreError> {
        let key = self.key_of(&raw);
        let mut detail = String::new();
        // A bucket that didn't answer for as long as it is asked isn't asked for as long again.
        let until = Instant::now() + self.0.patience;
        for reading in 1..=READINGS {
            if reading > 1 {
                tokio::time::sleep(READ_AGAIN).await;
            }
            let packed = match self.get(&key).await {
                Ok(packed) => packed,
                Err(error) if is_missing(&error) => {
                    detail = "it isn't in the bucket".to_owned();
                    break;
                }
                Err(StoreError::Bucket(error))
                    if error.fault.is_passing() && reading < READINGS && Instant::now() < until =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            let bytes = packed.clone();
            match off_the_loop(move || Ok(unpack(&raw, &bytes))).await? {
                Ok(content) => {
                    self.put_into_cache(vec![(raw, packed)]).await?;
                    return Ok(content);
                }
                Err(wrong) => detail = wrong + ", also when asked again",
            }
        }
        Err(StoreError::RawDamaged {
            raw,
            path: PathBuf::from(format!("s3://{}/{key}", self.0.url.bucket)),
            detail,
        })
    }

    /// Those of these objects that the bucket hasn't, or has damaged, each with what was found.
    pub(crate) async fn find_damaged(
        &self,
        objects: Vec<RawRef>,
    ) -> Result<Vec<(RawRef, String)>, StoreError> {
        let checks = objects
            .into_iter()
            .map(async |raw| match self.fetch(raw).await {
                Ok(_) => Ok(None),
                Err(StoreError::RawDamaged { detail, .. }) => Ok(Some((raw, detail))),
                Err(error) => Err(error),
            });
        let checks = stream::iter(checks).buffer_unordered(AT_ONCE);
        checks
            .try_filter_map(async |damaged| Ok(damaged))
            .try_collect()
            .await
    }

    /// The packed size of every object, in bytes.
    pub(crate) async fn sizes(&self) -> Result<HashMap<RawRef, u64>, StoreError> {
        let mut sizes = HashMap::new();
        self.each_object(|raw, meta| {
            sizes.insert(raw, meta.size);
            true
        })
        .await?;
        Ok(sizes)
    }

    /// Gives every object to `take`, until that says no.
    async fn each_object(
        &self,
        mut take: impl FnMut(RawRef, &ObjectMeta) -> bool,
    ) -> Result<(), StoreError> {
        let prefix = Key::from(self.0.url.prefix.as_str());
        let prefix = (!self.0.url.prefix.is_empty()).then_some(&prefix);
        let mut listed = self.client()?.list(prefix);
        while let Some(meta) = self.ask("list", None, listed.try_next()).await? {
            if let Some(raw) = self.address(&meta.location)
                && !take(raw, &meta)
            {
                break;
            }
        }
        Ok(())
    }

    /// Removes these objects.
    pub(crate) async fn remove(&self, objects: Vec<RawRef>) -> Result<(), StoreError> {
        let keys: Vec<_> = objects.iter().map(|raw| Ok(self.key_of(raw))).collect();
        let mut removed = self.client()?.delete_stream(stream::iter(keys).boxed());
        loop {
            match self.ask("remove from", None, removed.try_next()).await {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(cache) = self.0.cache.clone() {
            off_the_loop(move || {
                cache.remove(&objects);
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Removes every object but these that is old enough: what somebody else is just recording is young.
    pub(crate) async fn sweep(&self, keep: &HashSet<RawRef>) -> Result<SweptObjects, StoreError> {
        let now = Timestamp::now().as_second();
        let age = i64::try_from(self.0.unreferenced.as_secs()).unwrap_or(i64::MAX);
        let mut swept = SweptObjects::default();
        let mut doomed = Vec::new();
        self.each_object(|raw, meta| {
            let is_old = now.saturating_sub(meta.last_modified.timestamp()) >= age;
            if is_old && !keep.contains(&raw) {
                swept.objects += 1;
                swept.bytes += meta.size;
                doomed.push(raw);
            }
            true
        })
        .await?;
        self.remove(doomed).await?;
        Ok(swept)
    }
}

/// Addresses of these contents, and each content once, packed.
fn pack(contents: &[Vec<u8>]) -> Result<(Vec<RawRef>, Vec<Packed>), StoreError> {
    let fault = |e| StoreError::file("pack", "an output", e);
    let mut packer = Compressor::new(LEVEL).map_err(fault)?;
    let (mut refs, mut packed, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for content in contents {
        let raw = RawRef::from_content(content);
        if seen.insert(raw) {
            packed.push((raw, Bytes::from(packer.compress(content).map_err(fault)?)));
        }
        refs.push(raw);
    }
    Ok((refs, packed))
}

fn is_missing(error: &StoreError) -> bool {
    matches!(error, StoreError::Bucket(error) if error.fault == BucketFault::NoObject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    fn bucket(folder: &Path, settings: &str) -> (RawBucket, Arc<InMemory>) {
        let document = backsight_model::TomlDocument::new("store.toml", settings);
        let settings = StoreSettings::read(&document).unwrap();
        let backsight_model::RawLocation::Bucket(url) = "s3://lab/a/b".parse().unwrap() else {
            unreachable!()
        };
        let bucket = RawBucket::new(url, &settings, folder);
        let memory = Arc::new(InMemory::new());
        bucket.0.client.set(memory.clone()).unwrap();
        (bucket, memory)
    }

    #[tokio::test]
    async fn what_is_kept_is_read_listed_found_damaged_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (bucket, memory) = bucket(folder.path(), "cache = \"0B\"\n");
        assert!(!bucket.has_objects().await.unwrap());
        let contents = vec![b"one".to_vec(), b"two".to_vec(), b"one".to_vec()];
        let refs = bucket.keep(contents).await.unwrap();
        assert_eq!(refs[0], refs[2]);
        let large: Vec<u8> = blake3::Hasher::new().finalize_xof().bytes_of(9 << 20);
        let file = tempfile::tempfile().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &large, 0).unwrap();
        let part = FilePart {
            file: Arc::new(file),
            from: 0,
            length: large.len() as u64,
        };
        let parts = bucket.keep_parts(vec![part]).await.unwrap();
        assert_eq!(bucket.read(parts[0]).await.unwrap(), large);
        assert_eq!(bucket.read(refs[1]).await.unwrap(), b"two");
        assert_eq!(bucket.sizes().await.unwrap().len(), 3);
        assert!(bucket.has_objects().await.unwrap());

        memory
            .put(&bucket.key_of(&refs[0]), Bytes::from_static(b"x").into())
            .await
            .unwrap();
        memory.delete(&bucket.key_of(&refs[1])).await.unwrap();
        let all = vec![refs[0], refs[1], parts[0]];
        let mut damaged = bucket.find_damaged(all).await.unwrap();
        damaged.sort_by_key(|(raw, _)| *raw == refs[1]);
        assert!(
            damaged[0].1.contains("unpacked") && damaged[1].1.contains("isn't in"),
            "{damaged:?}"
        );
        assert_eq!(damaged.len(), 2);
        let error = bucket.read(refs[1]).await.unwrap_err().to_string();
        assert!(error.contains("s3://lab/a/b/"), "{error}");

        bucket.keep(vec![b"one".to_vec()]).await.unwrap();
        assert_eq!(bucket.read(refs[0]).await.unwrap(), b"one");
        bucket
            .remove(vec![refs[0], refs[1], parts[0]])
            .await
            .unwrap();
        assert!(!bucket.has_objects().await.unwrap());
    }

    #[tokio::test]
    async fn a_sweep_leaves_what_is_young_or_referred_to() {
        let folder = tempfile::tempdir().unwrap();
        let (young, _) = bucket(folder.path(), "");
        young.keep(vec![b"one".to_vec()]).await.unwrap();
        assert_eq!(young.sweep(&HashSet::new()).await.unwrap().objects, 0);
        let (old, _) = bucket(folder.path(), "unreferenced = \"0s\"\n");
        let refs = old
            .keep(vec![b"one".to_vec(), b"two".to_vec()])
            .await
            .unwrap();
        let swept = old.sweep(&HashSet::from([refs[1]])).await.unwrap();
        assert_eq!(swept.objects, 1);
        assert_eq!(
            old.sizes().await.unwrap().keys().collect::<Vec<_>>(),
            [&refs[1]]
        );
    }

    #[tokio::test]
    async fn the_cache_answers_and_what_is_damaged_there_is_fetched_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (bucket, memory) = bucket(folder.path(), "");
        let refs = bucket.keep(vec![b"one".to_vec()]).await.unwrap();
        let key = bucket.key_of(&refs[0]);
        memory.delete(&key).await.unwrap();
        assert_eq!(bucket.read(refs[0]).await.unwrap(), b"one");
        bucket.keep(vec![b"one".to_vec()]).await.unwrap();
        let hex = refs[0].to_string();
        let file = folder
            .path()
            .join("raw-cache")
            .join(&hex[..2])
            .join(format!("{}.zst", &hex[2..]));
        std::fs::write(file, "x").unwrap();
        assert_eq!(bucket.read(refs[0]).await.unwrap(), b"one");
    }

    #[tokio::test]
    async fn two_stores_dont_share_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let (first, memory) = bucket(folder.path(), "");
        first.claim("a").await.unwrap();
        let (second, _) = bucket(folder.path(), "");
        let second = RawBucket(Arc::new(Place {
            client: OnceLock::from(memory.clone() as Arc<dyn ObjectStore>),
            ..Arc::into_inner(second.0).unwrap()
        }));
        let refused = second.claim("b").await.unwrap_err().to_string();
        assert!(
            refused.contains("another store") && refused.contains("s3://lab/a/b"),
            "{refused}"
        );
        first.give_up().await.unwrap();
        second.claim("b").await.unwrap();
    }

    /// Bytes that can't be packed.
    trait Incompressible {
        fn bytes_of(self, length: usize) -> Vec<u8>;
    }

    impl Incompressible for blake3::OutputReader {
        fn bytes_of(mut self, length: usize) -> Vec<u8> {
            let mut bytes = vec![0; length];
            self.fill(&mut bytes);
            bytes
        }
    }
}
