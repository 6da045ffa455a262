//! Moving the raw objects of a store to another place.
//!
//! 1. What something refers to is copied, and read back, while others may record.
//! 2. While nobody records, what came meanwhile is copied, and the settings say the new place and, as `leaving`, the old one.
//! 3. The old place is emptied of what was copied and of what nothing refers to.
//!
//! Killed before the second step, the next move copies what isn't there yet; after it, the next one ends the third. What is damaged at
//! the old place stays there.

use backsight_model::RawLocation;
use std::collections::HashSet;

use crate::{RawRef, Store, StoreError, raw_objects::RawObjects, settings::SettingsPlace};

/// Objects that are copied at a time.
const AT_ONCE: usize = 16;
/// Packed bytes from which on fewer are.
const BYTES_AT_ONCE: u64 = 64 << 20;

/// What a move did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MovedObjects {
    /// Objects that were copied.
    pub copied: u64,
    /// Objects that were there already.
    pub there: u64,
    /// Objects that are damaged, and stay where they were.
    pub damaged: Vec<RawRef>,
}

impl Store {
    fn settings_place(&self) -> SettingsPlace {
        SettingsPlace::of(&self.dir, &self.database)
    }

    /// Whether raw objects aren't any more where they were when the store was opened.
    pub(crate) async fn is_moved(&self) -> Result<bool, StoreError> {
        let location = self.raw.location();
        self.settings_place().moved(self.settings, &location).await
    }

    pub(crate) fn moved(&self) -> StoreError {
        StoreError::SettingsChanged {
            dir: self.dir.clone(),
        }
    }

    /// Whether raw objects may be written and removed where they were when the store was opened. Call it under the store's lock.
    pub(crate) async fn check_raw_place(&self) -> Result<(), StoreError> {
        if self.is_moved().await? {
            return Err(self.moved());
        }
        match self.raw.bucket() {
            Some(bucket) => bucket.claim(&self.database.identity().await?).await,
            None => Ok(()),
        }
    }

    /// Where the raw objects are.
    pub fn raw_location(&self) -> RawLocation {
        self.raw.location()
    }

    /// How many raw objects there are, and their packed size in bytes.
    ///
    /// # Errors
    /// The store's own.
    pub async fn raw_size(&self) -> Result<(u64, u64), StoreError> {
        let sizes = self.raw.sizes().await?;
        Ok((sizes.len() as u64, sizes.values().sum()))
    }

    /// Moves the raw objects. The store is opened anew afterwards: this one doesn't write any more.
    ///
    /// # Errors
    /// A study is being measured; another store is at that place; a place can't be read or written. What was copied until then needn't
    /// be copied again, and the old place has everything still.
    pub async fn move_raw(&self, to: &RawLocation) -> Result<MovedObjects, StoreError> {
        let place = self.settings_place();
        let settings = place.read().await?;
        let new = self.raw.elsewhere(to, &settings, &self.dir)?;
        if self.is_moved().await? {
            return Err(self.moved());
        }
        let studies = self.studies().await?;
        if let Some(study) = studies.iter().find(|study| study.is_measuring()) {
            let study = study.name.to_string();
            return Err(StoreError::Measuring { study });
        }
        let mut moved = MovedObjects::default();
        if let Some(left) = settings.leaving.as_ref().filter(|left| *left != to) {
            let old = self.raw.elsewhere(left, &settings, &self.dir)?;
            self.leave(&old, &self.raw, &mut moved).await?;
            place.say(&settings.raw, None).await?;
        }
        if *to == settings.raw {
            return Ok(moved);
        }
        if let Some(bucket) = new.bucket() {
            bucket.claim(&self.database.identity().await?).await?;
        }
        self.copy(&new, &mut moved).await?;
        let alone = self.raw.alone().await?;
        self.copy(&new, &mut moved).await?;
        place.say(to, Some(&settings.raw)).await?;
        drop(alone);
        self.leave(&self.raw, &new, &mut moved).await?;
        place.say(to, None).await?;
        Ok(moved)
    }

    /// Copies what something refers to and isn't there yet. What is there is read.
    async fn copy(&self, new: &RawObjects, moved: &mut MovedObjects) -> Result<(), StoreError> {
        let referred = self.referred_objects().await?;
        let there = new.sizes().await?;
        let sizes = self.raw.sizes().await?;
        let done: HashSet<RawRef> = moved.damaged.iter().copied().collect();
        let mut objects: Vec<RawRef> = referred
            .into_iter()
            .filter(|raw| sizes.contains_key(raw) && !done.contains(raw))
            .collect();
        // What was copied and read a moment ago isn't read again.
        let known = moved.copied + moved.there > 0;
        let (present, missing): (Vec<RawRef>, Vec<RawRef>) =
            objects.drain(..).partition(|raw| there.contains_key(raw));
        let mut missing = missing;
        if !known {
            for batch in present.chunks(AT_ONCE * 4) {
                let damaged = new.find_damaged(batch.to_vec()).await?;
                moved.there += (batch.len() - damaged.len()) as u64;
                missing.extend(damaged.into_iter().map(|(raw, _)| raw));
            }
        }
        let mut batch = Vec::new();
        let mut bytes = 0;
        for raw in missing {
            bytes += sizes.get(&raw).copied().unwrap_or_default();
            batch.push(raw);
            if batch.len() == AT_ONCE || bytes >= BYTES_AT_ONCE {
                self.copy_batch(new, std::mem::take(&mut batch), moved)
                    .await?;
                bytes = 0;
            }
        }
        self.copy_batch(new, batch, moved).await
    }

    async fn copy_batch(
        &self,
        new: &RawObjects,
        batch: Vec<RawRef>,
        moved: &mut MovedObjects,
    ) -> Result<(), StoreError> {
        let mut contents = Vec::with_capacity(batch.len());
        for raw in batch {
            match self.raw.read(raw).await {
                Ok(content) => contents.push(content),
                Err(StoreError::RawDamaged { .. }) => moved.damaged.push(raw),
                Err(error) => return Err(error),
            }
        }
        if contents.is_empty() {
            return Ok(());
        }
        let kept = new.keep(contents).await?;
        moved.copied += kept.len() as u64;
        match new.find_damaged(kept).await?.pop() {
            None => Ok(()),
            Some((raw, detail)) => Err(StoreError::RawDamaged {
                raw,
                path: new.location().to_string().into(),
                detail: format!("it was written and read back: {detail}"),
            }),
        }
    }

    /// Removes from the old place what the new one has, and what nothing refers to.
    async fn leave(
        &self,
        old: &RawObjects,
        new: &RawObjects,
        moved: &mut MovedObjects,
    ) -> Result<(), StoreError> {
        let referred = self.referred_objects().await?;
        let there = new.sizes().await?;
        let objects = old.sizes().await?.into_keys();
        let stays = |raw: &RawRef| referred.contains(raw) && !there.contains_key(raw);
        let (stay, go): (Vec<RawRef>, Vec<RawRef>) = objects.partition(stays);
        old.remove(go).await?;
        if let (Some(bucket), []) = (old.bucket(), &stay[..]) {
            bucket.give_up().await?;
        }
        for raw in stay {
            if !moved.damaged.contains(&raw) {
                moved.damaged.push(raw);
            }
        }
        Ok(())
    }
}
