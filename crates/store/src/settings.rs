//! Where the settings of a store are: in a file of its folder; where it is in a database, what all controllers agree on is in a table there, and
//! the rest in the file of each controller.

use backsight_model::{RawLocation, StoreSettings};
use std::path::Path;

use crate::{
    StoreError,
    database::Database,
    query::query,
    settings_file::{FileStamp, SettingsFile},
};

/// The settings of a store.
#[derive(Debug, Clone)]
pub(crate) struct SettingsPlace {
    file: SettingsFile,
    /// The database that has what all agree on.
    shared: Option<Database>,
}

impl SettingsPlace {
    /// Those of a store with this folder and this database.
    pub(crate) fn of(folder: &Path, database: &Database) -> Self {
        Self {
            file: SettingsFile::new(folder),
            shared: database.is_shared().then(|| database.clone()),
        }
    }

    /// What they say; the defaults where they say nothing.
    pub(crate) async fn read(&self) -> Result<StoreSettings, StoreError> {
        let mut settings = self.file.read()?;
        let Some(database) = &self.shared else {
            return Ok(settings);
        };
        (settings.raw, settings.leaving) = shared_places(database).await?;
        Ok(settings)
    }

    /// Says where raw outputs are, and where they were before. It is on disk when it returns.
    pub(crate) async fn say(
        &self,
        raw: &RawLocation,
        leaving: Option<&RawLocation>,
    ) -> Result<(), StoreError> {
        let keys = [("raw", Some(raw)), ("leaving", leaving)];
        let Some(database) = &self.shared else {
            let texts = keys.map(|(name, place)| (name, place.map(ToString::to_string)));
            return self.file.change(&texts);
        };
        let fault = |e| database.fault(e);
        let mut tx = database.begin().await?;
        let gone = query("DELETE FROM store_setting").execute(&mut *tx).await;
        gone.map_err(fault)?;
        for (name, place) in keys {
            let Some(place) = place else { continue };
            let said = query("INSERT INTO store_setting (name, value) VALUES ($1, $2)")
                .bind(name)
                .bind(place.to_string());
            said.execute(&mut *tx).await.map_err(fault)?;
        }
        tx.commit().await.map_err(fault)
    }

    /// Whether raw outputs are elsewhere than they were, by the file as it was or by what the database says now.
    pub(crate) async fn moved(
        &self,
        before: FileStamp,
        location: &RawLocation,
    ) -> Result<bool, StoreError> {
        match &self.shared {
            None => Ok(self.file.stamp() != before),
            Some(database) => Ok(shared_places(database).await?.0 != *location),
        }
    }
}

/// Where raw outputs of a store in a database are, and where they were before.
async fn shared_places(
    database: &Database,
) -> Result<(RawLocation, Option<RawLocation>), StoreError> {
    let (mut raw, mut leaving) = (RawLocation::Database, None);
    let asked = query("SELECT name, value FROM store_setting");
    for row in database.rows(asked).await? {
        let place = database.parsed(&row, "value", "a place for raw outputs")?;
        match database.column(&row, "name")? {
            "raw" => raw = place,
            "leaving" => leaving = Some(place),
            _ => {}
        }
    }
    Ok((raw, leaving))
}
