//! Who holds settings: a process, known by the lock that it keeps on a file beside the journal.
//!
//! The system drops the lock when the process ends, however it ends. Everybody who has the journal's folder sees it, also in another
//! PID namespace (a container), where the process has another number or none. Entries of the journal name the file; a file that no
//! entry names is nobody's, and whoever has the journal removes it.
//!
//! A process has at most one such file for a journal, however many studies it prepares for.

use backsight_platform::process;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What the names of the files have between the journal's name and their number.
const ENDING: &str = ".holder-";

/// A process that holds settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process, for people: its number in its own PID namespace.
    pub pid: u32,
    /// When it was started, in the kernel's ticks since boot: a number alone is another's one day.
    pub started: u64,
    /// The number of its file; none in journals from before there were such files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<u64>,
    /// Whom it works for: all agents of one conductor have one number, whatever its study is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u64>,
}

/// A file with a lock that lasts as long as this process.
struct HolderLock {
    number: u64,
    file: File,
}

/// The locks of this process, by journal.
static OWN: Mutex<BTreeMap<PathBuf, HolderLock>> = Mutex::new(BTreeMap::new());

fn own() -> MutexGuard<'static, BTreeMap<PathBuf, HolderLock>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Holder {
    /// This process, with a lock beside the journal from now on until it ends. To be called by whoever has the journal.
    ///
    /// # Errors
    /// The file can't be made or locked.
    pub(crate) fn this_process(journal: &Path) -> io::Result<Self> {
        let mut own = own();
        let known = own.get(journal).filter(|lock| lock.is_there(journal));
        let number = match known {
            Some(lock) => lock.number,
            None => {
                let lock = HolderLock::new(journal)?;
                let number = lock.number;
                own.insert(journal.to_owned(), lock);
                number
            }
        };
        Ok(Self {
            lock: Some(number),
            ..Self::by_number()
        })
    }

    /// This process by its number alone, where another one changes settings for it: a process that isn't root's can't have a file beside
    /// root's journal.
    pub(crate) fn by_number() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            started: start_of(pid).unwrap_or_default(),
            lock: None,
            session: None,
        }
    }

    /// Whether it is that process.
    pub(crate) fn is_process(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }

    /// Whether it is this process.
    pub(crate) fn is_this_process(&self, journal: &Path) -> bool {
        match self.lock {
            Some(number) => own()
                .get(journal)
                .is_some_and(|lock| lock.number == number && lock.is_there(journal)),
            None => self.pid == std::process::id() && self.is_in_proc(),
        }
    }

    /// Whether it still runs.
    pub fn is_alive(&self, journal: &Path) -> bool {
        let Some(number) = self.lock else {
            return self.is_in_proc();
        };
        let file = match options().open(path_of(journal, number)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            // Whoever can't read the journal's folder can't tell; nobody puts back what may be held.
            Err(_) => return true,
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => false,
            Err(_) => true,
        }
    }

    fn is_in_proc(&self) -> bool {
        start_of(self.pid) == Some(self.started)
    }
}

impl HolderLock {
    fn new(journal: &Path) -> io::Result<Self> {
        let number = random_number()?;
        let path = path_of(journal, number);
        let mut options = options();
        let file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { number, file })
    }

    /// Whether others find it: once no entry named it, it may have been removed.
    fn is_there(&self, journal: &Path) -> bool {
        let there = fs::symlink_metadata(path_of(journal, self.number));
        let (Ok(there), Ok(own)) = (there, self.file.metadata()) else {
            return false;
        };
        (there.dev(), there.ino()) == (own.dev(), own.ino())
    }
}

/// Removes the files beside the journal that no entry names. To be called by whoever has the journal.
pub(crate) fn remove_unused(journal: &Path, used: &BTreeSet<u64>) {
    own().retain(|path, lock| path != journal || used.contains(&lock.number));
    let folder = journal.parent().map(fs::read_dir);
    for entry in folder.into_iter().flatten().flatten().flatten() {
        let number = number_of(journal, &entry.file_name().to_string_lossy());
        if number.is_some_and(|number| !used.contains(&number)) {
            let _removed_by_the_next = fs::remove_file(entry.path());
        }
    }
}

fn path_of(journal: &Path, number: u64) -> PathBuf {
    let mut path = journal.to_owned().into_os_string();
    path.push(format!("{ENDING}{number:016x}"));
    path.into()
}

fn number_of(journal: &Path, name: &str) -> Option<u64> {
    let own = journal.file_name()?.to_str()?;
    let number = name.strip_prefix(own)?.strip_prefix(ENDING)?;
    u64::from_str_radix(number, 16).ok()
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    options
}

fn random_number() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// When a process was started; none if there is none, or it is dead and only not yet waited for.
fn start_of(pid: u32) -> Option<u64> {
    let process = process(pid.cast_signed()).filter(|process| !process.zombie);
    Some(process?.start_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_for_as_long_as_it_has_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let this = Holder::this_process(&journal).unwrap();
        assert!(this.is_alive(&journal) && this.is_this_process(&journal));
        assert_eq!(Holder::this_process(&journal).unwrap(), this);
        let another = Holder {
            lock: this.lock.map(|number| number ^ 1),
            ..this
        };
        assert!(!another.is_alive(&journal) && !another.is_this_process(&journal));
        // What no entry names goes, and the process gets another file where it holds something again.
        let number = this.lock.unwrap();
        remove_unused(&journal, &BTreeSet::from([number]));
        assert!(this.is_alive(&journal));
        fs::write(folder.path().join("journal.holder-ff"), "").unwrap();
        fs::write(folder.path().join("journal.holder-mine"), "").unwrap();
        remove_unused(&journal, &BTreeSet::new());
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(!this.is_alive(&journal));
        let again = Holder::this_process(&journal).unwrap();
        assert!(again.is_alive(&journal) && again != this);
    }

    #[test]
    fn a_file_that_was_removed_under_a_process_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let this = Holder::this_process(&journal).unwrap();
        fs::remove_file(path_of(&journal, this.lock.unwrap())).unwrap();
        assert!(!this.is_this_process(&journal));
        let again = Holder::this_process(&journal).unwrap();
        assert!(again.is_alive(&journal) && again.lock != this.lock);
    }

    #[test]
    fn holders_of_journals_from_before_go_by_their_number_and_start() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let pid = std::process::id();
        let started = start_of(pid).unwrap();
        let read = |started: u64| -> Holder {
            serde_json::from_str(&format!("{{\"pid\":{pid},\"started\":{started}}}")).unwrap()
        };
        assert!(read(started).is_alive(&journal) && read(started).is_this_process(&journal));
        assert!(!read(started + 1).is_alive(&journal));
    }
}
