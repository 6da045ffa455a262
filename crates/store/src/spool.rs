//! Trials that wait on this controller for the store's server: each a file, until the server has it.
//!
//! ```text
//! DIR/spool/STUDY-TRIAL    the first 32 bytes are the BLAKE3 hash of the rest: zstd of JSON
//! ```
//!
//! A trial that was measured while the server was away isn't measured again, even if the process that measured it is gone: whoever goes on
//! with its study here hands it in first.

use backsight_model::TrialRecord;
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::{Store, StoreError, StudyId, trial::NewTrial};

const FOLDER: &str = "spool";
const HASH: usize = 32;
const LEVEL: i32 = 1;

/// A trial as it waits.
#[derive(Serialize, Deserialize)]
struct SpooledTrial<'a> {
    number: u32,
    cell: usize,
    round: u32,
    record: Cow<'a, TrialRecord>,
}

/// What became of trials that waited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveredTrials {
    /// The numbers of those that the store has now.
    pub delivered: Vec<u32>,
    /// Those in whose place another was measured meanwhile.
    pub replaced: Vec<u32>,
    /// Files that can't be read, and why.
    pub damaged: Vec<(PathBuf, String)>,
}

impl Store {
    /// Has a trial wait in a file. Whoever measured it may be gone before the server is back.
    pub(crate) fn spool(&self, trial: &NewTrial<'_>) -> Result<SpooledFile, StoreError> {
        let path = self
            .spool_folder()
            .join(format!("{}-{}", trial.study.0, trial.number));
        let spooled = SpooledTrial {
            number: trial.number,
            cell: trial.cell,
            round: trial.round,
            record: Cow::Borrowed(trial.record),
        };
        let text = serde_json::to_vec(&spooled).map_err(io::Error::from);
        let written = text.and_then(|text| write(&path, &text));
        match written {
            Ok(()) => Ok(SpooledFile { path }),
            Err(source) => Err(StoreError::file("write", path, source)),
        }
    }

    /// Hands in the trials of a study that wait here, the first one first. A trial that is handed in twice is there once.
    ///
    /// # Errors
    /// The store's own: what isn't handed in goes on waiting.
    pub async fn deliver_trials(&self, study: StudyId) -> Result<DeliveredTrials, StoreError> {
        let mut came = DeliveredTrials::default();
        for (path, _) in self.spooled(study)? {
            let SpooledTrial {
                number,
                cell,
                round,
                record,
            } = match read(&path) {
                Ok(spooled) => spooled,
                Err(why) => {
                    came.damaged.push((path, why));
                    continue;
                }
            };
            let trial = NewTrial {
                study,
                number,
                cell,
                round,
                record: &record,
            };
            match self.record(&trial).await {
                Ok(()) => came.delivered.push(number),
                // Its server took it before it went away.
                Err(StoreError::Twice { .. }) if self.is_recorded(&trial).await? => {}
                Err(StoreError::Twice { .. }) => came.replaced.push(number),
                Err(other) => return Err(other),
            }
            SpooledFile { path }.remove();
        }
        Ok(came)
    }

    /// How many trials of a study wait on this controller.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn waiting_trials(&self, study: StudyId) -> Result<usize, StoreError> {
        Ok(self.spooled(study)?.len())
    }

    /// The files of a study's trials with their numbers, in order.
    fn spooled(&self, study: StudyId) -> Result<Vec<(PathBuf, u32)>, StoreError> {
        let beginning = format!("{}-", study.0);
        let number = |path: &Path| {
            let name = path.file_name()?.to_str()?;
            name.strip_prefix(&beginning)?.parse().ok()
        };
        let files = self.files()?.into_iter();
        let mut files: Vec<(PathBuf, u32)> = files
            .filter_map(|path| number(&path).map(|number| (path, number)))
            .collect();
        files.sort_by_key(|(_, number)| *number);
        Ok(files)
    }

    fn files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let path = self.spool_folder();
        let listed = fs::read_dir(&path).and_then(|entries| {
            let paths = entries.map(|entry| entry.map(|entry| entry.path()));
            paths.collect::<io::Result<Vec<PathBuf>>>()
        });
        match listed {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(StoreError::file("read", path, source)),
            Ok(mut files) => {
                files.retain(|file| file.extension().is_none());
                Ok(files)
            }
        }
    }

    fn spool_folder(&self) -> PathBuf {
        self.dir().join(FOLDER)
    }
}

/// A trial's file. It stays where nothing else is said.
pub(crate) struct SpooledFile {
    path: PathBuf,
}

impl SpooledFile {
    /// Removes it: the server has the trial. One that stays all the same is found to be there already.
    pub(crate) fn remove(self) {
        let _it_is_found_to_be_there = fs::remove_file(&self.path);
    }
}

/// Writes a file that is there whole or not at all.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let packed = zstd::bulk::compress(text, LEVEL)?;
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(blake3::hash(&packed).as_bytes())?;
    file.write_all(&packed)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    File::open(folder)?.sync_all()
}

fn read(path: &Path) -> Result<SpooledTrial<'static>, String> {
    let content = fs::read(path).map_err(|why| why.to_string())?;
    let (hash, packed) = content
        .split_at_checked(HASH)
        .ok_or_else(|| "it is cut off".to_owned())?;
    if blake3::hash(packed).as_bytes() != hash {
        return Err("its content isn't what was written".to_owned());
    }
    let text = zstd::stream::decode_all(packed).map_err(|why| why.to_string())?;
    serde_json::from_slice(&text).map_err(|why| why.to_string())
}
