//! Logins by `ssh` that outlive their study for a while, where a lab asks for that, so that the next one finds the way open: a login
//! costs more than all else of starting an agent.
//!
//! `ssh` does it itself: its first login to a host goes on in the background for as long as the host's `ControlPersist` says, and the
//! next ones are streams of it.
//! Whoever can speak to its socket is logged in, so that this lies in a folder that only we can enter.

use backsight_agent::cache_folder;
use std::{
    env,
    fs::{self, DirBuilder},
    io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
};

/// The longest path of a socket that `ssh` can make: it adds a name of its own while it does.
const PATH_LIMIT: usize = 107 - 17;

/// A login that is kept, or will be.
#[derive(Debug, Clone)]
pub(super) struct KeptLogin(PathBuf);

impl KeptLogin {
    /// The login of somebody at a host by a command with these words; none where no folder is safe for it.
    pub(super) fn new(words: &[&str], login: &str) -> Option<Self> {
        let named =
            env::var_os("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("backsight"));
        Self::in_folder(
            &named.unwrap_or_else(cache_folder).join("ssh"),
            words,
            login,
        )
    }

    fn in_folder(folder: &Path, words: &[&str], login: &str) -> Option<Self> {
        make_private(folder).ok()?;
        // Other options may lead elsewhere.
        let id = [words, &[login]].concat().join("\0");
        let id = blake3::hash(id.as_bytes()).to_hex();
        let path = folder.join(&id[..16]);
        (path.as_os_str().as_bytes().len() <= PATH_LIMIT).then_some(Self(path))
    }

    /// Options for `ssh`, after those of the host: the first word on a thing counts, so that a lab can say otherwise.
    pub(super) fn options(&self) -> [String; 2] {
        [
            "ControlMaster=auto".to_owned(),
            format!("ControlPath={}", self.0.display()),
        ]
    }

    /// Whether there is one, which may be dead.
    pub(super) fn is_there(&self) -> bool {
        self.0.exists()
    }

    /// Has nobody use it any more. What goes through it goes on.
    pub(super) fn forget(&self) {
        let _gone = fs::remove_file(&self.0);
    }
}

/// Makes a folder that only we can enter, in one that only we can change.
fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(folder)?;
    let is_ours = |folder: &Path, forbidden: u32| {
        let meta = folder.symlink_metadata()?;
        let owner = rustix::process::geteuid().as_raw();
        let is_ours = meta.is_dir() && meta.uid() == owner && meta.mode() & forbidden == 0;
        is_ours
            .then_some(())
            .ok_or(io::ErrorKind::PermissionDenied)?;
        io::Result::Ok(())
    };
    is_ours(folder.parent().unwrap_or(folder), 0o022)?;
    is_ours(folder, 0o077)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn each_way_to_a_host_has_a_login_of_its_own_where_nobody_else_can_enter() {
        let folder = tempfile::tempdir().unwrap();
        let logins = folder.path().join("ssh");
        let login = |words: &[&str], who: &str| Some(KeptLogin::in_folder(&logins, words, who)?.0);
        let one = login(&["-p", "22"], "dut").unwrap();
        assert_eq!(login(&["-p", "22"], "dut").unwrap(), one);
        assert_ne!(login(&["-p", "23"], "dut").unwrap(), one);
        assert_ne!(login(&["-p", "22"], "root@dut").unwrap(), one);
        let permit = |folder: &Path, mode| {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(logins.metadata().unwrap().mode() & 0o777, 0o700);
        permit(&logins, 0o750);
        assert_eq!(login(&[], "dut"), None);
        permit(&logins, 0o700);
        permit(folder.path(), 0o777);
        assert_eq!(login(&[], "dut"), None);
        permit(folder.path(), 0o700);
        assert!(login(&[], "dut").is_some());
        let link = folder.path().join("link");
        symlink(folder.path(), &link).unwrap();
        assert!(KeptLogin::in_folder(&link, &[], "dut").is_none());
        let long = folder.path().join("x".repeat(90));
        assert!(KeptLogin::in_folder(&long, &[], "dut").is_none());
    }
}
