//! `store.toml`: settings of a store in a folder, which all who use the store agree on; of a store in a database those of a controller, and where raw
//! outputs are stands in the database.
//!
//! Without the file, and for what it doesn't say, defaults hold.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use crate::{DocumentError, Size, Time, TomlDocument};

/// The name of the file in a store's folder.
pub const STORE_SETTINGS_FILE: &str = "store.toml";

/// Settings of a store: `store.toml` in its folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSettings {
    /// Where raw outputs are kept: `s3://BUCKET/PREFIX`, or `folder`: the folder `raw` beside the database, which is the default.
    /// `backsight store raw` writes it and moves what is there.
    pub raw: RawLocation,
    /// Where raw outputs were before, while a move from there isn't ended. `backsight store raw` writes it and takes it away.
    pub leaving: Option<RawLocation>,
    /// How much of what a bucket has each machine keeps at hand: `2GiB` unless said; `0B`: nothing.
    pub cache: Option<Size>,
    /// For how long a request to the bucket is tried again before it fails: `1m` unless said.
    pub patience: Option<Time>,
    /// The age from which on a raw output in a bucket is removed when nothing refers to it: `1d` unless said.
    pub unreferenced: Option<Time>,
}

impl StoreSettings {
    /// The settings that this document has.
    ///
    /// # Errors
    /// It isn't TOML of the right shape; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        document.read()
    }

    /// How many bytes of a bucket's objects a machine keeps at hand.
    pub fn cache_limit(&self) -> u64 {
        self.cache.map_or(2 << 30, |size| size.0)
    }

    /// For how long a request to a bucket is tried again.
    pub fn request_patience(&self) -> Duration {
        self.patience.map_or(Duration::from_secs(60), |time| time.0)
    }

    /// How old an object in a bucket is at least that a sweep removes.
    pub fn unreferenced_age(&self) -> Duration {
        let day = Duration::from_secs(86_400);
        self.unreferenced.map_or(day, |time| time.0)
    }
}

/// Where a store's raw outputs are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RawLocation {
    /// In the folder `raw` beside the database.
    #[default]
    Folder,
    /// In the database that the store is in.
    Database,
    /// In a bucket.
    Bucket(BucketUrl),
}

/// A part of a bucket: `s3://BUCKET/PREFIX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketUrl {
    /// The bucket's name.
    pub bucket: String,
    /// What the keys of all objects begin with, without a slash at its ends; may be empty.
    pub prefix: String,
}

/// A text that is no place for raw outputs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no place for raw outputs: expected s3://BUCKET/PREFIX of letters, digits, `-`, `_`, `.`, or folder, or database"
)]
pub struct RawLocationError(String);

impl FromStr for RawLocation {
    type Err = RawLocationError;

    fn from_str(text: &str) -> Result<Self, RawLocationError> {
        let bad = || RawLocationError(text.chars().take(80).collect());
        match text {
            "folder" => return Ok(Self::Folder),
            "database" => return Ok(Self::Database),
            _ => {}
        }
        let rest = text.strip_prefix("s3://").ok_or_else(bad)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let is_part = |part: &str| {
            !matches!(part, "" | "." | "..") && part.chars().all(is_plain) && part.len() <= 255
        };
        let prefix_is_right = prefix.is_empty() || prefix.split('/').all(is_part);
        match is_part(bucket) && prefix_is_right && prefix.len() <= 512 {
            true => Ok(Self::Bucket(BucketUrl {
                bucket: bucket.to_owned(),
                prefix: prefix.to_owned(),
            })),
            false => Err(bad()),
        }
    }
}

impl fmt::Display for RawLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder => f.write_str("folder"),
            Self::Database => f.write_str("database"),
            Self::Bucket(url) => url.fmt(f),
        }
    }
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bucket, prefix } = self;
        match prefix.as_str() {
            "" => write!(f, "s3://{bucket}"),
            prefix => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

impl<'de> Deserialize<'de> for RawLocation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for RawLocation {
    fn schema_name() -> Cow<'static, str> {
        "RawLocation".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Where raw outputs are: s3://BUCKET/PREFIX, folder, or, of a store in a database, database",
            "pattern": "^(folder|database|s3://[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/?)$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<StoreSettings, DocumentError> {
        StoreSettings::read(&TomlDocument::new(STORE_SETTINGS_FILE, text))
    }

    #[test]
    fn a_whole_file_is_read() {
        let settings = read(
            "raw = \"s3://lab-results/a/b/\"\nleaving = \"folder\"\ncache = \"10 GiB\"\npatience = \"5m\"\nunreferenced = \"12h\"\n",
        )
        .unwrap();
        assert_eq!(settings.raw.to_string(), "s3://lab-results/a/b");
        assert_eq!(settings.leaving, Some(RawLocation::Folder));
        assert_eq!(settings.cache_limit(), 10 << 30);
        assert_eq!(settings.request_patience(), Duration::from_secs(300));
        assert_eq!(settings.unreferenced_age(), Duration::from_secs(43_200));
    }

    #[test]
    fn an_empty_file_is_a_folder_beside_the_database() {
        let settings = read("").unwrap();
        assert_eq!(settings.raw, RawLocation::Folder);
        assert_eq!(settings.cache_limit(), 2_147_483_648);
    }

    #[test]
    fn faults_point_at_their_place() {
        for (text, place, said) in [
            ("raw = \"gs://x\"\n", (1, 7), "`gs://x` is no place"),
            ("raw = \"s3://x//y\"\n", (1, 7), "is no place"),
            ("raw = \"s3://\"\n", (1, 7), "is no place"),
            ("raw = \"s3://x/../y\"\n", (1, 7), "is no place"),
            ("cache = \"much\"\n", (1, 9), "is not a size"),
            ("\nraws = \"folder\"\n", (2, 1), "unknown field `raws`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.to_string().contains(said), "{text}: {error}");
            assert_eq!(error.place(), place, "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_place_is_read_as_it_is_shown(text in "(folder|s3://[a-z0-9.-]{1,9}(/[a-z.]{1,4}){0,3}/?)") {
            if let Ok(location) = text.parse::<RawLocation>() {
                prop_assert_eq!(location.to_string().parse::<RawLocation>(), Ok(location));
            }
        }

        #[test]
        fn any_text_is_settings_or_an_error(text in ".{0,60}") {
            let _ = read(&text);
            let _ = read(&format!("raw = {text:?}\n"));
        }
    }
}
