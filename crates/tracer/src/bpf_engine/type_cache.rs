//! Cache of the kernel's reduced types: a small file of the user's, good until the next boot.
//!
//! A file is read only where nobody but this user can have written it, and used only where it says that it was made for the
//! running kernel, since this boot, of the same names. What it holds is data: its reader checks it as it checks what the kernel says.

use std::env;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Most bytes of such a file: those of Linux 6.18 take 50 thousand.
const MOST: u64 = 1 << 20;
/// Its name in the folder.
const NAME: &str = "kernel-types";

/// Where types are kept, and what for.
pub(super) struct TypeCache {
    folder: PathBuf,
    /// Which kernel, since which boot, and what is wanted of it.
    made_for: String,
}

/// What the file holds.
#[derive(Serialize, Deserialize)]
struct KeptTypes<T> {
    made_for: String,
    types: T,
}

impl TypeCache {
    /// That of this user for these names of what the kernel says in so many bytes; nothing if it can't be said where it is, or
    /// which boot this is.
    pub fn of_user(names: &str, size: u64) -> Option<Self> {
        let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.filter(|path| path.is_absolute()).or_else(home)?;
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let kernel = rustix::system::uname();
        let (release, version) = (kernel.release(), kernel.version());
        let made_for = format!(
            "2 {} {size} {} {} {names}",
            boot.trim(),
            release.to_string_lossy(),
            version.to_string_lossy()
        );
        Some(Self {
            folder: cache.join("backsight"),
            made_for,
        })
    }

    /// What is kept; nothing if there is nothing, or if it is another kernel's or may be another user's.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        let folder = self.open_folder().ok()?;
        // One that isn't a file isn't waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, NAME, flags, Mode::empty()).ok()?;
        let about = rustix::fs::fstat(&file).ok()?;
        if !is_ours_alone(&about, FileType::RegularFile) {
            return None;
        }
        let mut bytes = Vec::new();
        File::from(file).take(MOST).read_to_end(&mut bytes).ok()?;
        let kept: KeptTypes<T> = postcard::from_bytes(&bytes).ok()?;
        (kept.made_for == self.made_for).then_some(kept.types)
    }

    /// Keeps these, in place of what was kept.
    ///
    /// # Errors
    /// The file can't be written, or its folder isn't this user's alone.
    pub fn write(&self, types: &impl Serialize) -> io::Result<()> {
        let kept = KeptTypes {
            made_for: self.made_for.clone(),
            types,
        };
        let bytes = postcard::to_allocvec(&kept).map_err(io::Error::other)?;
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.folder)?;
        let folder = self.open_folder()?;
        // Whoever reads meanwhile reads the old one or the new one.
        let own = format!("{NAME}.{}", std::process::id());
        let made = write_new(&folder, &own, &bytes)
            .and_then(|()| Ok(rustix::fs::renameat(&folder, &own, &folder, NAME)?));
        if made.is_err() {
            let _not_made = rustix::fs::unlinkat(&folder, &own, AtFlags::empty());
        }
        made
    }

    fn open_folder(&self) -> io::Result<OwnedFd> {
        open_folder(&self.folder)
    }
}

/// Opens a folder of this user's that nobody else can write to.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    match is_ours_alone(&rustix::fs::fstat(&folder)?, FileType::Directory) {
        true => Ok(folder),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Whether something of this kind is this user's, and nobody else may change it.
fn is_ours_alone(about: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(about.st_mode) == kind
        && about.st_uid == rustix::process::geteuid().as_raw()
        && about.st_mode & 0o022 == 0
}

fn write_new(folder: impl AsFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
    File::from(file).write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn cache(folder: &Path, made_for: &str) -> TypeCache {
        TypeCache {
            folder: folder.join("backsight"),
            made_for: made_for.to_owned(),
        }
    }

    type Kept = (Vec<(String, u32)>, Vec<u8>);

    fn types() -> Kept {
        (vec![("sys_enter".to_owned(), 7)], vec![1, 2, 3])
    }

    fn kept(cache: &TypeCache) -> Option<Kept> {
        cache.read()
    }

    #[test]
    fn what_is_kept_is_for_this_boot_and_kernel_alone() {
        let folder = tempfile::tempdir().unwrap();
        let ours = cache(folder.path(), "this boot");
        assert_eq!(kept(&ours), None);
        ours.write(&types()).unwrap();
        assert_eq!(kept(&ours), Some(types()));
        assert_eq!(kept(&cache(folder.path(), "the next boot")), None);
        // It takes the place of what was there.
        cache(folder.path(), "the next boot")
            .write(&types())
            .unwrap();
        assert_eq!(kept(&ours), None);
        let files = std::fs::read_dir(&ours.folder).unwrap();
        assert_eq!(files.count(), 1);
    }

    #[test]
    fn what_others_may_have_written_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let ours = cache(folder.path(), "this boot");
        ours.write(&types()).unwrap();
        let file = ours.folder.join(NAME);
        let allow = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        allow(&file, 0o620);
        assert_eq!(kept(&ours), None);
        allow(&file, 0o600);
        assert!(kept(&ours).is_some());
        allow(&ours.folder, 0o777);
        assert_eq!(kept(&ours), None);
        assert!(ours.write(&types()).is_err());
        allow(&ours.folder, 0o700);
        // Nor what stands elsewhere.
        let elsewhere = folder.path().join("elsewhere");
        std::fs::rename(&file, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        assert_eq!(kept(&ours), None);
    }

    #[test]
    fn what_is_no_such_file_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ours = cache(folder.path(), "this boot");
        ours.write(&types()).unwrap();
        let file = ours.folder.join(NAME);
        let whole = std::fs::read(&file).unwrap();
        for bytes in [&b""[..], b"\xff\xff\xff\xff\xff", &whole[..whole.len() - 1]] {
            std::fs::write(&file, bytes).unwrap();
            assert_eq!(kept(&ours), None);
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert_eq!(kept(&ours), None);
        assert!(ours.write(&types()).is_err());
    }
}
