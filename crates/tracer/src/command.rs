//! A command to trace: program, arguments, environment, user.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A command to start.
#[derive(Debug, Clone, Default)]
pub struct TracedCommand {
    /// The program: a path, or a name to be found in PATH.
    pub program: OsString,
    /// What the program is told to be called; nothing for the name that it was asked for by.
    pub own_name: Option<OsString>,
    /// Its arguments, without its own name.
    pub arguments: Vec<OsString>,
    /// Variables of its environment to set, or to remove.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Whose rights it gets.
    pub user: Option<UserRights>,
    /// What is done once it has all that it inherits, before it is executed.
    pub before_execve: Option<fn()>,
    /// Who waits to become it, if it isn't to be a child of the tracer: see [`detach_from_command`](crate::ptrace::command_start::detach_from_command).
    pub waiting_process: Option<WaitingProcess>,
}

/// Somebody whose rights a command gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRights {
    /// The user's number.
    pub uid: u32,
    /// The number of the user's first group.
    pub gid: u32,
    /// The numbers of all groups.
    pub groups: Vec<u32>,
}

impl UserRights {
    /// Somebody by numbers, `UID:GID`: with no other group, and looked up nowhere. Nothing if these aren't two numbers.
    pub fn from_numbers(text: &str) -> Option<Self> {
        let (uid, gid) = text.split_once(':')?;
        let number = |text: &str| text.parse::<u32>().ok();
        let (uid, gid) = (number(uid)?, number(gid)?);
        Some(Self {
            uid,
            gid,
            groups: vec![gid],
        })
    }

    /// Somebody by name; nothing if nobody is named so.
    ///
    /// # Errors
    ///
    /// If the list of users can't be read.
    pub fn from_name(name: &str) -> std::io::Result<Option<Self>> {
        let Some(user) = nix::unistd::User::from_name(name)? else {
            return Ok(None);
        };
        let name = std::ffi::CString::new(name)?;
        let groups = nix::unistd::getgrouplist(&name, user.gid)?;
        Ok(Some(Self {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            groups: groups.into_iter().map(nix::unistd::Gid::as_raw).collect(),
        }))
    }
}

impl TracedCommand {
    /// A command by its program and its arguments.
    pub fn new(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Sets a variable of its environment (`NAME=VALUE`), or removes it (`NAME`).
    pub fn change_environment(&mut self, text: &OsStr) {
        let bytes = text.as_bytes();
        self.environment
            .push(match bytes.iter().position(|byte| *byte == b'=') {
                Some(at) => {
                    let part = |part: &[u8]| OsString::from_vec(part.to_vec());
                    (part(&bytes[..at]), Some(part(&bytes[at + 1..])))
                }
                None => (text.to_owned(), None),
            });
    }

    /// Leaves the standard input and output before the command is executed: the ends of pipes that only the command is to
    /// have are then its alone.
    pub fn leave_standard_streams(&mut self) {
        self.before_execve = Some(|| {
            use rustix::stdio::{dup2_stdin, dup2_stdout};
            let mut options = std::fs::File::options();
            if let Ok(nothing) = options.read(true).write(true).open("/dev/null") {
                let _as_it_was = dup2_stdin(&nothing);
                let _as_it_was = dup2_stdout(&nothing);
            }
        });
    }

    /// The file that will be run: a path as it is, a name as PATH has it.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        if self.program.as_bytes().contains(&b'/') {
            return Some(PathBuf::from(&self.program));
        }
        if self.program.is_empty() {
            return None;
        }
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join(&self.program))
            .find(|file| is_program(file))
    }
}

/// Whether this is a file that may be run.
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// A process that waits to become the command, and how it is told to.
#[derive(Debug, Clone)]
pub struct WaitingProcess {
    /// Its number.
    pub(crate) tid: i32,
    /// Its end of the pair says when it may go on, and why it can't.
    pub(crate) door: Arc<UnixStream>,
}
