//! Leases of a machine and of parts of it: locks on files that are the machine's, whichever users, homes and labs there are.
//!
//! In goes who wants a lease; out comes an open file that holds it. The system drops the lock when the last process that has the
//! file ends, however it ends. The text of a file says who holds it and since when; its time, when that one's controller was last heard.
//!
//! The machine itself has two files. Whoever begins a session holds the first. Further agents of the same session (another
//! name of the machine, or one that follows an agent whose connection was cut) share the second; a new session needs both, so
//! that the lease ends when the last agent of its session has ended.
//!
//! Everybody may write to these files: what they say is shown, and nothing is done by it.

use std::fmt;
use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use backsight_platform::FileWatch;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::io::{Interest, unix::AsyncFd};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::agent_mark;

/// The environment variable that says where lock files are.
const FOLDER_VARIABLE: &str = "BACKSIGHT_LEASES";
/// Folders for our own that every user of a machine has, the first that lets us in counts.
const SHARED_FOLDERS: [&str; 2] = ["/run/lock", "/tmp"];
/// The file of the machine itself.
const MACHINE: &str = "machine.lock";
/// The file that further agents of one session share.
const MEMBERS: &str = "machine-members.lock";
/// What is read of a file's text, in bytes.
const TEXT_LIMIT: u64 = 2000;
/// A controller that an agent hasn't heard for so long is silent: it is asked every five seconds.
const SILENCE: Duration = Duration::from_secs(15);
/// How long the parts of a machine may take to see that no agent of a session is left.
const GLANCE: Duration = Duration::from_millis(100);

/// Who has a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseHolder {
    /// What is done: "study `a`".
    pub work: String,
    /// The controller's process.
    pub process: u32,
    /// The controller's user.
    pub user: String,
    /// The controller's machine.
    pub controller: String,
    /// Tells the session from every other.
    pub session: u64,
    /// Since when, by the clock of the machine that is leased.
    pub since: Timestamp,
    /// Whether an agent holds it for a controller elsewhere, and tells when it was heard.
    pub by_agent: bool,
}

impl LeaseHolder {
    /// This process, which does this.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn new(work: String) -> io::Result<Self> {
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid())
            .ok()
            .flatten();
        let controller = nix::unistd::gethostname().unwrap_or_default();
        Ok(Self {
            work,
            process: std::process::id(),
            user: user.map_or_else(|| nix::unistd::geteuid().to_string(), |user| user.name),
            controller: controller.to_string_lossy().into_owned(),
            session: agent_mark::random()?,
            since: Timestamp::now(),
            by_agent: false,
        })
    }

    /// Whether its controller was a process of this machine that has ended: what still holds the lease is about to end.
    pub fn is_dead_here(&self) -> bool {
        let here = nix::unistd::gethostname().unwrap_or_default();
        self.controller == here.to_string_lossy()
            && backsight_platform::process(self.process.cast_signed()).is_none()
    }
}

/// Who has a lease that somebody else wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseInForce {
    /// Who; none if the file doesn't say.
    pub holder: Option<LeaseHolder>,
    /// For how many seconds its controller hasn't been heard, if that is long.
    pub silent: Option<u64>,
    /// Whether it is a part of the machine that is leased.
    pub of_part: bool,
}

impl fmt::Display for LeaseInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.holder {
            None => f.write_str("somebody else")?,
            Some(holder) => {
                // What somebody else wrote is shown without what a terminal would obey.
                let plain = |text: &str| -> String {
                    text.chars().filter(|c| !c.is_control()).take(200).collect()
                };
                let since = Timestamp::from_second(holder.since.as_second()).unwrap_or_default();
                write!(
                    f,
                    "{} (process {}) of {}@{} since {since}",
                    plain(&holder.work),
                    holder.process,
                    plain(&holder.user),
                    plain(&holder.controller),
                )?;
            }
        }
        if let Some(silent) = self.silent {
            write!(f, ", whose controller hasn't been heard for {silent} s")?;
        }
        f.write_str(match self.of_part {
            true => ", in a part of this machine",
            false => "",
        })
    }
}

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseFault {
    /// Somebody else has it at the end of the wait.
    #[error("leased to {0}")]
    Taken(Box<LeaseInForce>),
    /// A file can't be used.
    #[error("can't lock {path}: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

/// How a file is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// By one.
    Alone,
    /// By several, who say who they are in files of their own.
    Shared,
}

/// Where lock files are: shared by all users of the machine where the system has such a place.
///
/// # Errors
///
/// There is none.
pub fn lease_folder() -> Result<PathBuf, LeaseFault> {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        let path = PathBuf::from(folder);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        return match made.and_then(|()| make_folder(&path)) {
            Ok(()) => Ok(path),
            Err(cause) => Err(LeaseFault::File { path, cause }),
        };
    }
    let mut fault = None;
    for shared in SHARED_FOLDERS {
        let path = Path::new(shared).join("backsight");
        match make_folder(&path) {
            Ok(()) => return Ok(path),
            Err(cause) => fault = fault.or(Some(LeaseFault::File { path, cause })),
        }
    }
    Err(fault.unwrap_or_else(|| LeaseFault::File {
        path: "/tmp".into(),
        cause: io::Error::from(io::ErrorKind::NotFound),
    }))
}

/// Makes a folder that everybody may write to, in which nobody removes others' files. A link in its place is refused.
fn make_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        // Only who made it sets its mode, and on the folder itself.
        Ok(()) => {
            let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
            let mut options = File::options();
            let folder = options
                .read(true)
                .custom_flags(flags.bits().cast_signed())
                .open(path)?;
            folder.set_permissions(Permissions::from_mode(0o1777))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match path.symlink_metadata()?.is_dir() {
                true => Ok(()),
                false => Err(io::Error::from(io::ErrorKind::NotADirectory)),
            }
        }
        Err(error) => Err(error),
    }
}

/// A lock's file, made if it isn't there, for every user to lock.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    // In a folder that everybody may write to, somebody may have put a link in our way.
    options
        .read(true)
        .write(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    loop {
        // What another user made can be opened there, and can't be by whoever would also make it.
        match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(file) => {
                let meta = file.metadata()?;
                return match meta.is_file() && meta.nlink() <= 1 {
                    true => Ok(file),
                    false => Err(io::Error::other("it is no file of a lock")),
                };
            }
            Err(error) => return Err(error),
        }
        match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                file.set_permissions(Permissions::from_mode(0o666))?;
                return Ok(file);
            }
        }
    }
}

/// Whether the file is still the one at its path: one that was removed excludes nobody.
fn is_current(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    Ok(path
        .symlink_metadata()
        .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

/// Locks a file now; none if somebody else has it.
fn try_lock(path: &Path, mode: LockMode) -> io::Result<Option<File>> {
    loop {
        let file = open(path)?;
        let locked = match mode {
            LockMode::Alone => file.try_lock(),
            LockMode::Shared => file.try_lock_shared(),
        };
        match locked {
            Ok(()) if is_current(&file, path)? => return Ok(Some(file)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Locks a file however long that takes.
fn block_on_lock(path: &Path, mode: LockMode) -> io::Result<File> {
    loop {
        let file = open(path)?;
        match mode {
            LockMode::Alone => file.lock()?,
            LockMode::Shared => file.lock_shared()?,
        }
        if is_current(&file, path)? {
            return Ok(file);
        }
    }
}

/// Locks a file within this time; none if somebody else still has it. `changed` is called when somebody writes to it.
async fn await_lock(
    path: &Path,
    mode: LockMode,
    until: Instant,
    mut changed: impl FnMut(),
) -> io::Result<Option<File>> {
    if let Some(file) = try_lock(path, mode)? {
        return Ok(Some(file));
    }
    if until <= Instant::now() {
        return Ok(None);
    }
    changed();
    let (sender, mut locked) = oneshot::channel();
    let file = path.to_path_buf();
    // Only a thread can wait for a lock. If nobody waits any more when it has it, the file is closed again.
    std::thread::Builder::new()
        .name("lease".into())
        .spawn(move || {
            let _nobody_waits = sender.send(block_on_lock(&file, mode));
        })?;
    // Where the kernel has no more watches, nothing is seen.
    let watch = FileWatch::new(path).ok().and_then(|watch| {
        // SAFETY: a watch keeps its number until it is dropped.
        unsafe { AsyncFd::register_with_interest(watch, Interest::READABLE) }.ok()
    });
    loop {
        tokio::select! {
            locked = &mut locked => {
                let locked = locked.map_err(|_| io::Error::other("the thread that waits has ended"))?;
                return locked.map(Some);
            }
            () = written(watch.as_ref()) => changed(),
            () = sleep_until(until) => return Ok(None),
        }
    }
}

/// Until somebody writes to the file; for ever, where nobody sees that.
async fn written(watch: Option<&AsyncFd<FileWatch>>) {
    let Some(watch) = watch else {
        return std::future::pending().await;
    };
    let Ok(mut ready) = watch.readable().await else {
        return std::future::pending().await;
    };
    watch.get_ref().take_events();
    ready.clear_ready();
}

/// Who has the lock of a file, as it and others beside it say.
fn lease_in_force(path: &Path) -> LeaseInForce {
    let stated = File::open(path).ok().and_then(|file| stated_holder(&file));
    if stated.is_none()
        && let Some(part) = path.parent().and_then(holder_of_part)
    {
        return LeaseInForce {
            holder: Some(part),
            silent: None,
            of_part: true,
        };
    }
    let is_of_agent = stated.as_ref().is_some_and(|holder| holder.by_agent);
    let members = path.with_file_name(MEMBERS);
    let heard = [path, &members].into_iter();
    let heard = heard
        .filter_map(|path| path.metadata().ok()?.modified().ok())
        .max();
    let silent = heard.and_then(|heard| SystemTime::now().duration_since(heard).ok());
    let silent = silent.filter(|silent| is_of_agent && *silent >= SILENCE);
    LeaseInForce {
        holder: stated,
        silent: silent.map(|silent| silent.as_secs()),
        of_part: false,
    }
}

fn stated_holder(file: &File) -> Option<LeaseHolder> {
    let mut text = String::new();
    file.take(TEXT_LIMIT).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Who holds a part of the machine.
fn holder_of_part(folder: &Path) -> Option<LeaseHolder> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let parts = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("netns-") || name.starts_with("guest-")
    });
    let mut leased =
        parts.filter(|part| matches!(try_lock(&part.path(), LockMode::Shared), Ok(None)));
    leased.find_map(|part| stated_holder(&File::open(part.path()).ok()?))
}

/// Writes down who has the lock of a file.
fn state_holder(mut file: &File, holder: Option<&LeaseHolder>) -> io::Result<()> {
    let text = holder.map_or(Ok(Vec::new()), serde_json::to_vec)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&text)
}

/// Tells of each other holder once.
fn tell_once(path: &Path, awaited: &mut impl FnMut(&LeaseInForce)) -> impl FnMut() {
    let mut told = None;
    move || {
        let in_force = lease_in_force(path);
        // Between two holders, or while one writes, nobody is named.
        if told.is_some() && in_force.holder.is_none() {
            return;
        }
        let holder = Some(in_force.holder.clone());
        if told != holder {
            awaited(&in_force);
            told = holder;
        }
    }
}

/// Locks a file for `holder`, waiting at most this long. `awaited` hears of each holder that is waited for.
///
/// # Errors
///
/// [`LeaseFault::Taken`] when somebody else still has it at the end of the wait.
pub async fn lease_file(
    path: &Path,
    mode: LockMode,
    holder: &LeaseHolder,
    until: Instant,
    mut awaited: impl FnMut(&LeaseInForce),
) -> Result<File, LeaseFault> {
    let fault = |cause| LeaseFault::File {
        path: path.to_path_buf(),
        cause,
    };
    let locked = await_lock(path, mode, until, tell_once(path, &mut awaited)).await;
    let Some(file) = locked.map_err(fault)? else {
        return Err(LeaseFault::Taken(Box::new(lease_in_force(path))));
    };
    let holder = LeaseHolder {
        since: Timestamp::now(),
        ..holder.clone()
    };
    // Those who share it say who they are in their own files.
    state_holder(&file, (mode == LockMode::Alone).then_some(&holder)).map_err(fault)?;
    Ok(file)
}

/// The same now or not at all.
///
/// # Errors
///
/// As [`lease_file`].
pub fn try_lease_file(path: &Path, holder: &LeaseHolder) -> Result<File, LeaseFault> {
    let fault = |cause| LeaseFault::File {
        path: path.to_path_buf(),
        cause,
    };
    let Some(file) = try_lock(path, LockMode::Alone).map_err(fault)? else {
        return Err(LeaseFault::Taken(Box::new(lease_in_force(path))));
    };
    let holder = LeaseHolder {
        since: Timestamp::now(),
        ..holder.clone()
    };
    state_holder(&file, Some(&holder)).map_err(fault)?;
    Ok(file)
}

/// A machine that is leased until this is dropped.
#[derive(Debug)]
pub struct MachineLease {
    files: Vec<File>,
}

impl MachineLease {
    /// Takes the machine for a session, alone or beside others in parts of it, waiting at most this long. Where the session has it
    /// already, this is one more that keeps it.
    ///
    /// # Errors
    ///
    /// [`LeaseFault::Taken`] when another session still has it at the end of the wait.
    pub async fn take(
        folder: &Path,
        mode: LockMode,
        holder: &LeaseHolder,
        until: Instant,
        mut awaited: impl FnMut(&LeaseInForce),
    ) -> Result<Self, LeaseFault> {
        let (machine, members) = (folder.join(MACHINE), folder.join(MEMBERS));
        let fault = |cause| LeaseFault::File {
            path: machine.clone(),
            cause,
        };
        if let Some(member) = Self::join(&machine, &members, holder).map_err(fault)? {
            return Ok(member);
        }
        let locked = await_lock(&machine, mode, until, tell_once(&machine, &mut awaited)).await;
        let Some(first) = locked.map_err(fault)? else {
            return Err(LeaseFault::Taken(Box::new(lease_in_force(&machine))));
        };
        // The session before may have agents yet, though not its first.
        let until = until.max(Instant::now() + GLANCE);
        let tell = tell_once(&machine, &mut awaited);
        let locked = await_lock(&members, LockMode::Alone, until, tell).await;
        let Some(others) = locked.map_err(fault)? else {
            return Err(LeaseFault::Taken(Box::new(lease_in_force(&machine))));
        };
        let holder = LeaseHolder {
            since: Timestamp::now(),
            ..holder.clone()
        };
        state_holder(&first, (mode == LockMode::Alone).then_some(&holder)).map_err(fault)?;
        let mut files = vec![first];
        if mode == LockMode::Alone {
            // Nobody else comes in between: others need the first file, and those who share this one its session.
            others.lock_shared().map_err(fault)?;
            files.push(others);
        }
        Ok(Self { files })
    }

    /// Shares the lease that the session has already; none if it has none.
    fn join(machine: &Path, members: &Path, holder: &LeaseHolder) -> io::Result<Option<Self>> {
        let is_ours = || {
            let stated = File::open(machine)
                .ok()
                .and_then(|file| stated_holder(&file));
            stated.is_some_and(|stated| stated.session == holder.session)
        };
        if !is_ours() {
            return Ok(None);
        }
        // Enough, also if the first file is free by now: nobody else comes in without this one.
        let shared = try_lock(members, LockMode::Shared)?.filter(|_| is_ours());
        Ok(shared.map(|member| Self {
            files: vec![member],
        }))
    }

    /// Writes down that the controller was heard now.
    pub fn note_controller(&self) {
        for file in &self.files {
            let _the_lock_is_what_counts = file.set_modified(SystemTime::now());
        }
    }

    /// The files that hold it.
    pub fn into_files(self) -> Vec<File> {
        self.files
    }
}

#[cfg(test)]
mod tests;
