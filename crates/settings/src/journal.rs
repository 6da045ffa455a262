//! The journal: what was changed on a machine and what stood before, on disk before it is changed.
//!
//! A file of lines, each a checksum (CRC-32 in hexadecimal), a space and a record in JSON. An entry (`change`) is durable before its
//! change is made; marks that follow it (`writing`, `verified`, `undone`) survive the end of the process, and nothing is wrong where
//! a power cut takes them. A torn last line was never acted on and is dropped; a damaged line elsewhere is kept in a file beside.
//!
//! A lock guards it for as long as a [`Journal`] is open. Beside it are the files of those who [hold](Holder) what it says. When nothing is left to put back, the file is removed.

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    holder::{self, Holder},
    machine_root::MachineRoot,
    mechanism::SettingChange,
};

/// Where root's journal of a machine is.
pub const USUAL_PATH: &str = "/var/lib/backsight/journal";
/// How long another process is waited for that changes settings.
const USUAL_WAIT: Duration = Duration::from_secs(10);
/// How often the lock is tried meanwhile: there is no waiting for a lock with a limit.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// Longest journal that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// Where a journal is, and how long to wait for whoever has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalFile {
    /// The file; its folder is made when it is needed.
    pub path: PathBuf,
    /// How long another process is waited for.
    pub wait: Duration,
    /// The number of the session that asks for settings: a conductor's, which may have several agents one after the other.
    pub session: Option<u64>,
}

impl Default for JournalFile {
    /// Root's is [`USUAL_PATH`]; another user's is among what programs keep of theirs.
    fn default() -> Self {
        if rustix::process::geteuid().is_root() {
            return Self::new(USUAL_PATH);
        }
        let folder = |variable| std::env::var_os(variable).map(PathBuf::from);
        let state = folder("XDG_STATE_HOME").filter(|folder| folder.is_absolute());
        let state = state.or_else(|| Some(folder("HOME")?.join(".local/state")));
        match state {
            Some(state) => Self::new(state.join("backsight/journal")),
            None => Self::new(USUAL_PATH),
        }
    }
}

impl JournalFile {
    /// The journal at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            wait: USUAL_WAIT,
            session: None,
        }
    }

    /// A path beside it: the lock, a new version, damaged lines.
    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(ending);
        path.into()
    }
}

/// What is wrong with a journal.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum JournalError {
    /// It can't be read or written.
    #[error("the journal {}: {doing}: {cause}", path.display())]
    #[diagnostic(help(
        "nothing is changed on a machine without a journal: make the folder writable, or name another journal"
    ))]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// Another process has it.
    #[error("another process changes settings of this machine: the journal {} was locked for {} s", path.display(), waited.as_secs())]
    #[diagnostic(help("wait for it to end, or end it: `fuser {}.lock` says which it is", path.display()))]
    Locked {
        /// Which.
        path: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// Others may write to it.
    #[error("the journal {} isn't trusted: {why}", path.display())]
    #[diagnostic(help(
        "commands in it would be run by whoever puts settings back: look at it, then remove it or make it yours (mode 600)"
    ))]
    Untrusted {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Some of what it said is lost.
    #[error("the journal {}: nobody wrote line {line} so: what it said was changed isn't known", path.display())]
    #[diagnostic(help(
        "`backsight restore` puts back what the other lines say and moves this one to {}.damaged; look at what it may have been", path.display()
    ))]
    Damaged {
        /// Which.
        path: PathBuf,
        /// The first such line, from 1.
        line: usize,
    },
    /// The machine doesn't say which boot this is.
    #[error("this machine doesn't say which boot this is: {cause}")]
    #[diagnostic(help(
        "/proc/sys/kernel/random/boot_id must be readable: without it nobody knows after a restart what is left to put back"
    ))]
    Boot {
        /// What the system said.
        cause: io::Error,
    },
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum JournalRecord {
    /// Something will be changed.
    Change(Box<JournalEntry>),
    /// The entry of this number is made now.
    Writing {
        /// The entry.
        id: u64,
    },
    /// It was made and read again.
    Verified {
        /// The entry.
        id: u64,
    },
    /// It was put back, or needs nothing any more.
    Undone {
        /// The entry.
        id: u64,
    },
}

/// A change with all that it takes to put it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Its number, in the order in which changes are made.
    pub id: u64,
    /// The boot in which it was made.
    pub boot: String,
    /// The study that made it.
    pub study: String,
    /// The process that made it for the study, and holds it while it lives.
    pub holder: Holder,
    /// The setting.
    pub setting: String,
    /// What was changed.
    pub change: SettingChange,
}

/// An entry that isn't undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenEntry {
    /// What was changed.
    pub entry: JournalEntry,
    /// Whether its change was begun.
    pub writing: bool,
    /// Whether it was read again.
    pub verified: bool,
}

/// What a journal's text says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JournalContents {
    /// Entries that aren't undone, by number.
    pub open: BTreeMap<u64, OpenEntry>,
    /// Lines that aren't what somebody wrote, with their numbers from 1.
    pub damaged: Vec<(usize, Vec<u8>)>,
    /// The first number that is free.
    pub next: u64,
    /// Bytes up to the end of the last whole line.
    pub whole: usize,
}

fn line_of(record: &JournalRecord) -> io::Result<String> {
    let json = serde_json::to_string(record)?;
    Ok(format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())))
}

fn record_of(line: &[u8]) -> Option<JournalRecord> {
    let (sum, rest) = line.split_at_checked(8)?;
    let json = rest.strip_prefix(b" ")?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    if sum != crc32fast::hash(json) {
        return None;
    }
    let record = serde_json::from_slice(json).ok()?;
    match &record {
        JournalRecord::Change(entry) if !entry.change.is_confined() => None,
        _ => Some(record),
    }
}

impl JournalContents {
    /// Reads a journal's text. Whatever it is, it is read: lines that aren't records are damaged ones.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut contents = Self {
            next: 1,
            ..Self::default()
        };
        // What follows the last line's end was never acted on.
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        contents.whole = end.map_or(0, |end| end + 1);
        let lines = bytes[..contents.whole].split_inclusive(|byte| *byte == b'\n');
        for (number, line) in lines.enumerate() {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let Some(record) = record_of(line) else {
                contents.damaged.push((number + 1, line.to_vec()));
                continue;
            };
            match record {
                JournalRecord::Change(entry) => {
                    contents.next = contents.next.max(entry.id.saturating_add(1));
                    let open = OpenEntry {
                        entry: *entry,
                        writing: false,
                        verified: false,
                    };
                    contents.open.insert(open.entry.id, open);
                }
                JournalRecord::Writing { id } => {
                    if let Some(open) = contents.open.get_mut(&id) {
                        open.writing = true;
                    }
                }
                JournalRecord::Verified { id } => {
                    if let Some(open) = contents.open.get_mut(&id) {
                        open.verified = true;
                    }
                }
                JournalRecord::Undone { id } => {
                    contents.open.remove(&id);
                }
            }
        }
        contents
    }
}

/// A journal that is open and locked.
#[derive(Debug)]
pub struct Journal {
    place: JournalFile,
    lock: Arc<File>,
    file: Option<File>,
    contents: JournalContents,
    /// Folders whose new entries aren't known to be on disk.
    unsynced: Vec<PathBuf>,
}

impl Journal {
    /// Opens the journal and waits for its lock. A torn last line is removed.
    ///
    /// # Errors
    /// It can't be read, another process has it for longer than is waited, or others may write to it.
    pub fn open(place: &JournalFile) -> Result<Self, JournalError> {
        let fault = |doing| {
            move |cause| JournalError::File {
                path: place.path.clone(),
                doing,
                cause,
            }
        };
        let mut unsynced = Vec::new();
        if let Some(folder) = place.path.parent() {
            let missing = folder.ancestors().take_while(|folder| !folder.exists());
            let above = missing.filter_map(|folder| folder.parent());
            unsynced.extend(above.map(Path::to_owned));
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(fault("making its folder"))?;
        }
        let lock = take_lock(place)?;
        let mut journal = Self {
            place: place.clone(),
            lock: Arc::new(lock),
            file: None,
            contents: JournalContents {
                next: 1,
                ..JournalContents::default()
            },
            unsynced,
        };
        let _left_by_a_killed_process = fs::remove_file(place.beside(".new"));
        if let Some(file) = open_trusted(place)? {
            let mut bytes = Vec::new();
            let read = (&file).take(LONGEST + 1).read_to_end(&mut bytes);
            read.map_err(fault("reading"))?;
            if bytes.len() as u64 > LONGEST {
                return Err(JournalError::Untrusted {
                    path: place.path.clone(),
                    why: format!("it is longer than {LONGEST} bytes"),
                });
            }
            journal.contents = JournalContents::parse(&bytes);
            if journal.contents.whole < bytes.len() {
                let whole = journal.contents.whole as u64;
                file.set_len(whole).map_err(fault("removing a torn line"))?;
            }
            journal.file = Some(file);
        }
        Ok(journal)
    }

    /// The journal, if all of it can be read: what stands now may be what a lost line changed, and no old value.
    ///
    /// # Errors
    /// A line is damaged.
    pub(crate) fn undamaged(self) -> Result<Self, JournalError> {
        match self.contents.damaged.first() {
            None => Ok(self),
            Some((line, _)) => Err(JournalError::Damaged {
                path: self.place.path.clone(),
                line: *line,
            }),
        }
    }

    /// Whether there is one that has to be looked at. It is never made by asking.
    pub fn exists(place: &JournalFile) -> bool {
        fs::symlink_metadata(&place.path).is_ok()
    }

    /// The lock, for the programs that change something.
    pub(crate) fn lock(&self) -> Arc<File> {
        Arc::clone(&self.lock)
    }

    /// Entries that aren't undone, in the order in which they were made.
    pub fn open_entries(&self) -> impl DoubleEndedIterator<Item = &OpenEntry> {
        self.contents.open.values()
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.place.path
    }

    /// The open entry of this number.
    pub(crate) fn open_entry(&self, id: u64) -> Option<&OpenEntry> {
        self.contents.open.get(&id)
    }

    /// Numbers of lines that are damaged.
    pub fn damaged_lines(&self) -> Vec<usize> {
        self.contents
            .damaged
            .iter()
            .map(|(line, _)| *line)
            .collect()
    }

    fn fault(&self, doing: &'static str) -> impl FnOnce(io::Error) -> JournalError {
        let path = self.place.path.clone();
        move |cause| JournalError::File { path, doing, cause }
    }

    /// Appends entries for changes that are about to be made; when this returns, they are on disk. Gives their numbers.
    ///
    /// # Errors
    /// They can't be written: then nothing may be changed.
    pub(crate) fn append(
        &mut self,
        machine: &MachineRoot,
        study: &str,
        changes: &[(String, SettingChange)],
    ) -> Result<Vec<u64>, JournalError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let boot = machine.boot_id();
        let boot = boot.map_err(|cause| JournalError::Boot { cause })?;
        let is_new = self.file.is_none();
        // Before the holder's file: where there is a journal, somebody removes what is left beside it.
        self.create()?;
        let holder = match machine.holder() {
            Some(asker) => Ok(asker),
            None => Holder::this_process(&self.place.path),
        };
        let holder = holder.map_err(self.fault("making its holder's lock"))?;
        let holder = Holder {
            session: self.place.session,
            ..holder
        };
        let entries = changes.iter().zip(self.contents.next..);
        let entries = entries.map(|((setting, change), id)| JournalEntry {
            id,
            boot: boot.clone(),
            study: study.to_owned(),
            holder,
            setting: setting.clone(),
            change: change.clone(),
        });
        let entries: Vec<JournalEntry> = entries.collect();
        let mut text = String::new();
        for entry in &entries {
            let record = JournalRecord::Change(Box::new(entry.clone()));
            text.push_str(&line_of(&record).map_err(self.fault("writing"))?);
        }
        let file = self.file.as_ref();
        let file = file.ok_or_else(|| self.fault("writing")(io::ErrorKind::NotFound.into()))?;
        machine.pass("before journal write", 0);
        append_whole(file, text.as_bytes()).map_err(self.fault("writing"))?;
        machine.pass("after journal write, before fsync", 0);
        file.sync_data().map_err(self.fault("writing to disk"))?;
        machine.pass("after fsync", 0);
        if is_new {
            self.sync_folder()?;
            machine.pass("after fsync of the folder", 0);
        }
        let ids = entries.iter().map(|entry| entry.id).collect();
        for entry in entries {
            self.contents.next = entry.id + 1;
            let open = OpenEntry {
                entry,
                writing: false,
                verified: false,
            };
            self.contents.open.insert(open.entry.id, open);
        }
        Ok(ids)
    }

    fn create(&mut self) -> Result<(), JournalError> {
        if self.file.is_none() {
            let file = options().create_new(true).open(&self.place.path);
            self.file = Some(file.map_err(self.fault("making it"))?);
        }
        Ok(())
    }

    fn sync_folder(&mut self) -> Result<(), JournalError> {
        let own = self.place.path.parent().map(Path::to_owned);
        for folder in own.into_iter().chain(std::mem::take(&mut self.unsynced)) {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(self.fault("writing its folder to disk"))?;
        }
        Ok(())
    }

    /// Appends a mark. It needs no fsync: to put back what stands as it was does nothing.
    fn mark(&self, record: &JournalRecord) -> Result<(), JournalError> {
        let line = line_of(record).map_err(self.fault("writing"))?;
        match &self.file {
            Some(file) => append_whole(file, line.as_bytes()).map_err(self.fault("writing")),
            None => Ok(()),
        }
    }

    /// Marks that an entry's change is begun.
    pub(crate) fn mark_writing(&mut self, id: u64) -> Result<(), JournalError> {
        self.mark(&JournalRecord::Writing { id })?;
        if let Some(open) = self.contents.open.get_mut(&id) {
            open.writing = true;
        }
        Ok(())
    }

    /// Marks that an entry's change was read again.
    pub(crate) fn mark_verified(&mut self, id: u64) -> Result<(), JournalError> {
        self.mark(&JournalRecord::Verified { id })?;
        if let Some(open) = self.contents.open.get_mut(&id) {
            open.verified = true;
        }
        Ok(())
    }

    /// Marks that an entry is put back.
    pub(crate) fn mark_undone(&mut self, id: u64) -> Result<(), JournalError> {
        self.mark(&JournalRecord::Undone { id })?;
        self.contents.open.remove(&id);
        Ok(())
    }

    /// Removes the journal where nothing is left to put back, and what is done from a long one. Damaged lines go to a file
    /// beside it.
    ///
    /// # Errors
    /// It can't be written.
    pub(crate) fn tidy(&mut self, machine: &MachineRoot) -> Result<(), JournalError> {
        if self.file.is_none() {
            return Ok(());
        }
        if !self.contents.damaged.is_empty() {
            let mut text = Vec::new();
            for (_, line) in &self.contents.damaged {
                text.extend_from_slice(line);
                text.push(b'\n');
            }
            let kept = options()
                .create(true)
                .open(self.place.beside(".damaged"))
                .and_then(|file| {
                    append_whole(&file, &text)?;
                    file.sync_data()
                });
            kept.map_err(self.fault("keeping its damaged lines"))?;
        }
        let open = self.contents.open.values();
        let used = open.filter_map(|open| open.entry.holder.lock).collect();
        holder::remove_unused(&self.place.path, &used);
        if self.contents.open.is_empty() {
            machine.pass("before removal of the journal", 0);
            fs::remove_file(&self.place.path).map_err(self.fault("removing it"))?;
            machine.pass("after removal of the journal", 0);
            self.file = None;
        } else if self.contents.next > self.contents.open.len() as u64 + 1
            || !self.contents.damaged.is_empty()
        {
            self.rewrite(machine)?;
        }
        self.contents.damaged.clear();
        Ok(())
    }

    /// Replaces the file by one with the open entries alone.
    fn rewrite(&mut self, machine: &MachineRoot) -> Result<(), JournalError> {
        let mut text = String::new();
        for open in self.contents.open.values() {
            let id = open.entry.id;
            let mut records = vec![JournalRecord::Change(Box::new(open.entry.clone()))];
            if open.writing {
                records.push(JournalRecord::Writing { id });
            }
            if open.verified {
                records.push(JournalRecord::Verified { id });
            }
            for record in records {
                text.push_str(&line_of(&record).map_err(self.fault("writing"))?);
            }
        }
        let new = self.place.beside(".new");
        let written = options().create_new(true).open(&new).and_then(|file| {
            append_whole(&file, text.as_bytes())?;
            file.sync_data()?;
            machine.pass("before the journal is replaced", 0);
            fs::rename(&new, &self.place.path)?;
            Ok(file)
        });
        self.file = Some(written.map_err(self.fault("writing it anew"))?);
        machine.pass("after the journal is replaced", 0);
        self.sync_folder()
    }
}

/// How files of the journal are opened: for this user alone, never through a link, always at their end.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .append(true)
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    options
}

fn append_whole(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

/// The journal's file, if there is one: a file of this user's that nobody else may write to.
fn open_trusted(place: &JournalFile) -> Result<Option<File>, JournalError> {
    let path = &place.path;
    let file = match options().open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => {
            return Err(JournalError::File {
                path: path.clone(),
                doing: "opening",
                cause,
            });
        }
    };
    let data = file.metadata().map_err(|cause| JournalError::File {
        path: path.clone(),
        doing: "opening",
        cause,
    })?;
    let user = rustix::process::geteuid().as_raw();
    let why = if !data.is_file() {
        Some("it is no file".to_owned())
    } else if data.uid() != user {
        Some(format!("it belongs to user {}", data.uid()))
    } else if data.mode() & 0o022 != 0 {
        Some("others may write to it".to_owned())
    } else {
        None
    };
    match why {
        Some(why) => Err(JournalError::Untrusted {
            path: path.clone(),
            why,
        }),
        None => Ok(Some(file)),
    }
}

fn take_lock(place: &JournalFile) -> Result<File, JournalError> {
    let path = place.beside(".lock");
    let fault = |cause| JournalError::File {
        path: path.clone(),
        doing: "locking",
        cause,
    };
    let file = options().create(true).open(&path).map_err(fault)?;
    let until = Instant::now() + place.wait;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => {
                std::thread::sleep(BETWEEN_TRIES);
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(JournalError::Locked {
                    path: place.path.clone(),
                    waited: place.wait,
                });
            }
            Err(errno) => return Err(fault(errno.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{FileChange, FileFormat, FileReading};
    use proptest::prelude::*;

    fn change(path: &str) -> SettingChange {
        SettingChange::File(FileChange {
            path: path.into(),
            reading: FileReading::Whole,
            format: FileFormat::Text,
            old: "1\n".into(),
            new: Some("0".into()),
            partial: false,
            once: false,
        })
    }

    fn text(paths: &[&str]) -> String {
        let lines = paths.iter().zip(1..).map(|(path, id)| {
            let entry = JournalEntry {
                id,
                boot: "b".into(),
                study: "s".into(),
                holder: Holder {
                    pid: 1,
                    started: 1,
                    lock: None,
                    session: None,
                },
                setting: "x".into(),
                change: change(path),
            };
            line_of(&JournalRecord::Change(Box::new(entry))).unwrap()
        });
        lines.collect()
    }

    #[test]
    fn a_torn_last_line_is_nothing_and_a_damaged_one_is_kept() {
        let whole = text(&["/a", "/b", "/c"]);
        for length in 0..whole.len() {
            let contents = JournalContents::parse(&whole.as_bytes()[..length]);
            assert!(contents.damaged.is_empty());
            let lines = whole[..length].matches('\n').count();
            assert_eq!(contents.open.len(), lines);
            assert_eq!(contents.next, lines as u64 + 1);
        }
        let damaged = whole.replacen("/b", "/x", 1);
        let contents = JournalContents::parse(damaged.as_bytes());
        assert_eq!(contents.open.keys().copied().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(contents.damaged[0].0, 2);
    }

    #[test]
    fn a_path_that_leads_out_of_the_machine_is_damage() {
        for path in ["/a/../../etc/passwd", "etc"] {
            let contents = JournalContents::parse(text(&[path]).as_bytes());
            assert!(contents.open.is_empty() && contents.damaged.len() == 1);
        }
    }

    #[test]
    fn a_journal_of_others_isnt_trusted() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let place = JournalFile::new(folder.path().join("journal"));
        fs::write(&place.path, "").unwrap();
        fs::set_permissions(&place.path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(
            Journal::open(&place),
            Err(JournalError::Untrusted { .. })
        ));
        fs::remove_file(&place.path).unwrap();
        fs::write(folder.path().join("elsewhere"), "").unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &place.path).unwrap();
        assert!(Journal::open(&place).is_err());
    }

    #[test]
    fn one_process_at_a_time_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = JournalFile {
            path: folder.path().join("deep/journal"),
            wait: Duration::from_millis(20),
            session: None,
        };
        let first = Journal::open(&place).unwrap();
        assert!(matches!(
            Journal::open(&place),
            Err(JournalError::Locked { .. })
        ));
        drop(first);
        assert!(Journal::open(&place).is_ok());
        assert!(!Journal::exists(&place));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0_usize..400) {
            let mut mixed = text(&["/a", "/b"]).into_bytes();
            let at = at.min(mixed.len());
            mixed.splice(at..at, bytes.iter().copied());
            let contents = JournalContents::parse(&mixed);
            prop_assert!(contents.open.len() <= 2);
            let _ = JournalContents::parse(&bytes);
        }
    }
}
