//! Upload of a build to a host that doesn't see the files of the controller: both ends.
//!
//! A build comes as a whole or not at all, and is on the host's disk before it is said to be there: the next thing that
//! happens to the host may be a jump into another kernel. A few of them are kept, so that going back to one costs
//! nothing.
//!
//! A path that leads out of the build's own folder is an error.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};
use tonic::Status;

use crate::folders::with_path;
use crate::proto::{PutFile, PutLink, PutRequest, put_request::Piece};

/// Builds that a host keeps; the ones that were used last.
const KEPT: usize = 8;
/// How much of a file goes into one message, bytes.
const PIECE: usize = 256 << 10;
/// The longest name of a build, bytes.
const NAME_LIMIT: usize = 200;

/// Where builds are on this host.
fn builds() -> PathBuf {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(home)
        .unwrap_or_else(|| PathBuf::from("/var/tmp"));
    cache.join("backsight/builds")
}

/// Where the build of this name is, or would be.
///
/// # Errors
///
/// It is no name.
fn place(folder: &Path, name: &str) -> Result<PathBuf, Status> {
    let good = !name.is_empty()
        && name.len() <= NAME_LIMIT
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !good {
        return Err(Status::invalid_argument(format!(
            "`{}` is no name of a build",
            name.escape_default()
        )));
    }
    Ok(folder.join(name))
}

/// The folder of a build that is here already, which counts as used now.
///
/// # Errors
///
/// It is no name.
pub(crate) fn find_build(name: &str) -> Result<Option<PathBuf>, Status> {
    let place = place(&builds(), name)?;
    let there = File::open(&place).and_then(|folder| {
        folder.set_modified(SystemTime::now())?;
        folder.metadata()
    });
    Ok(there.is_ok_and(|meta| meta.is_dir()).then_some(place))
}

/// Takes a build in.
///
/// # Errors
///
/// What can't be written and why, or what is wrong with the pieces; nothing is left of it then.
pub(crate) async fn receive_build(
    pieces: impl Stream<Item = Result<PutRequest, Status>> + Unpin,
) -> Result<PathBuf, Status> {
    receive_build_in(&builds(), pieces).await
}

pub(crate) async fn receive_build_in(
    builds: &Path,
    mut pieces: impl Stream<Item = Result<PutRequest, Status>> + Unpin,
) -> Result<PathBuf, Status> {
    let first = next(&mut pieces).await?;
    let Piece::Name(name) = first else {
        return Err(Status::invalid_argument("a build begins with its name"));
    };
    let place = place(builds, &name)?;
    let mut build = Unfinished::begin(builds, &name).map_err(refused)?;
    loop {
        match next(&mut pieces).await? {
            Piece::Whole(_) => break,
            piece => build.take(piece)?,
        }
    }
    // A disk may take its time, and we have other things to answer meanwhile.
    let (builds, finished) = (builds.to_owned(), place.clone());
    let done = tokio::task::spawn_blocking(move || {
        build.finish(&finished)?;
        forget_the_oldest(&builds);
        Ok(())
    });
    let done = done
        .await
        .map_err(|error| Status::internal(error.to_string()))?;
    done.map_err(refused)?;
    Ok(place)
}

async fn next(
    pieces: &mut (impl Stream<Item = Result<PutRequest, Status>> + Unpin),
) -> Result<Piece, Status> {
    let request = pieces.next().await.transpose()?;
    request
        .and_then(|request| request.piece)
        .ok_or_else(|| Status::aborted("the build ends before it is whole"))
}

fn refused(error: io::Error) -> Status {
    Status::resource_exhausted(error.to_string())
}

/// A build of which pieces are still to come; removed if they don't.
struct Unfinished {
    folder: PathBuf,
    file: Option<(PathBuf, File)>,
    /// Every file of it.
    files: Vec<PathBuf>,
}

impl Unfinished {
    fn begin(builds: &Path, name: &str) -> io::Result<Self> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(builds);
        made.map_err(|error| with_path(builds, &error))?;
        // What an agent that was killed has left.
        for (entry, _) in entries(builds) {
            if entry
                .file_name()
                .is_some_and(|n| n.as_bytes().starts_with(b"."))
            {
                let _in_nobodys_way = fs::remove_dir_all(entry);
            }
        }
        let folder = builds.join(format!(".{name}"));
        fs::create_dir(&folder).map_err(|error| with_path(&folder, &error))?;
        Ok(Self {
            folder,
            file: None,
            files: Vec::new(),
        })
    }

    fn path(&self, path: &[u8]) -> Result<PathBuf, Status> {
        let path = Path::new(OsStr::from_bytes(path));
        let inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        match inside && path != Path::new("") {
            true => Ok(self.folder.join(path)),
            false => Err(Status::invalid_argument(format!(
                "{} leads out of the build",
                path.display()
            ))),
        }
    }

    fn take(&mut self, piece: Piece) -> Result<(), Status> {
        match piece {
            Piece::Folder(path) => {
                let path = self.path(&path)?;
                fs::create_dir(&path).map_err(|error| refused(with_path(&path, &error)))
            }
            Piece::Link(PutLink { path, to }) => {
                let path = self.path(&path)?;
                let made = symlink(OsStr::from_bytes(&to), &path);
                made.map_err(|error| refused(with_path(&path, &error)))
            }
            Piece::File(PutFile { path, mode }) => {
                let path = self.path(&path)?;
                let file = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(mode & 0o777)
                    .open(&path)
                    .map_err(|error| refused(with_path(&path, &error)))?;
                self.files.push(path.clone());
                self.file = Some((path, file));
                Ok(())
            }
            Piece::Content(bytes) => match &mut self.file {
                Some((path, file)) => {
                    let written = file.write_all(&bytes);
                    written.map_err(|error| refused(with_path(path, &error)))
                }
                None => Err(Status::invalid_argument("content of no file")),
            },
            Piece::Name(_) | Piece::Whole(_) => {
                Err(Status::invalid_argument("one build after the other"))
            }
        }
    }

    /// All is there: on the disk, and then under its name.
    fn finish(mut self, place: &Path) -> io::Result<()> {
        self.file = None;
        for path in &self.files {
            let synced = OpenOptions::new()
                .write(true)
                .open(path)
                .and_then(|file| file.sync_all());
            // One that nobody may write was written all the same, and the folder's own turn comes.
            if let Err(error) = synced
                && error.kind() != io::ErrorKind::PermissionDenied
            {
                return Err(with_path(path, &error));
            }
        }
        if place.exists() {
            fs::remove_dir_all(place)?;
        }
        fs::rename(&self.folder, place).map_err(|error| with_path(place, &error))?;
        let parent = place.parent().unwrap_or(Path::new("/"));
        File::open(parent)?.sync_all()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _under_its_name_already = fs::remove_dir_all(&self.folder);
    }
}

/// What is in a folder, and when each was changed last.
fn entries(folder: &Path) -> Vec<(PathBuf, SystemTime)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?)))
        .collect()
}

fn forget_the_oldest(builds: &Path) {
    let mut kept = entries(builds);
    kept.sort_by_key(|(_, used)| std::cmp::Reverse(*used));
    for (old, _) in kept.into_iter().skip(KEPT) {
        let _tried_again_with_the_next = fs::remove_dir_all(old);
    }
}

/// Sends the pieces of a folder, until nobody takes them any more. Blocking.
///
/// # Errors
///
/// What can't be read.
pub(crate) fn send_build(
    name: String,
    folder: &Path,
    to: &mpsc::Sender<PutRequest>,
) -> io::Result<()> {
    let told = |piece| to.blocking_send(PutRequest { piece: Some(piece) }).is_ok();
    if told(Piece::Name(name)) && send_folder(folder, Path::new(""), &told)? {
        told(Piece::Whole(true));
    }
    Ok(())
}

/// Whether somebody still takes them.
fn send_folder(root: &Path, below: &Path, told: &impl Fn(Piece) -> bool) -> io::Result<bool> {
    let folder = root.join(below);
    let listed = fs::read_dir(&folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut entries = listed.map_err(|error| with_path(&folder, &error))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        let bytes = path.as_os_str().as_bytes().to_vec();
        let kind = entry.file_type()?;
        let taken = if kind.is_dir() {
            told(Piece::Folder(bytes.into())) && send_folder(root, &path, told)?
        } else if kind.is_symlink() {
            let to = fs::read_link(entry.path())?.into_os_string();
            let to = to.as_bytes().to_vec();
            told(Piece::Link(PutLink {
                path: bytes.into(),
                to: to.into(),
            }))
        } else if kind.is_file() {
            let sent = send_file(&entry.path(), bytes, told);
            sent.map_err(|error| with_path(&entry.path(), &error))?
        } else {
            true
        };
        if !taken {
            return Ok(false);
        }
    }
    Ok(true)
}

fn send_file(from: &Path, path: Vec<u8>, told: &impl Fn(Piece) -> bool) -> io::Result<bool> {
    let mut file = File::open(from)?;
    let mode = file.metadata()?.permissions().mode();
    let path = path.into();
    if !told(Piece::File(PutFile { path, mode })) {
        return Ok(false);
    }
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let length = (&mut file).take(PIECE as u64).read_to_end(&mut piece)?;
        if length == 0 {
            return Ok(true);
        }
        if !told(Piece::Content(piece.into())) {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(of: Vec<Piece>) -> impl Stream<Item = Result<PutRequest, Status>> + Unpin {
        tokio_stream::iter(
            of.into_iter()
                .map(|piece| Ok(PutRequest { piece: Some(piece) })),
        )
    }

    fn sent(name: &str, folder: &Path) -> Vec<Piece> {
        let (to, mut from) = mpsc::channel(1024);
        send_build(name.into(), folder, &to).unwrap();
        drop(to);
        std::iter::from_fn(|| from.try_recv().ok()?.piece).collect()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_folder_arrives_as_it_was() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let long = vec![7; PIECE + 1];
        fs::create_dir_all(here.path().join("a/b")).unwrap();
        fs::write(here.path().join("a/long"), &long).unwrap();
        fs::write(here.path().join("tool"), "").unwrap();
        fs::set_permissions(here.path().join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("../tool", here.path().join("a/link")).unwrap();
        let from = here.path().to_owned();
        let all = tokio::task::spawn_blocking(move || sent("one", &from))
            .await
            .unwrap();
        let place = receive_build_in(there.path(), pieces(all)).await.unwrap();
        assert_eq!(place, there.path().join("one"));
        assert_eq!(fs::read(place.join("a/long")).unwrap(), long);
        assert!(place.join("a/b").is_dir());
        assert_eq!(
            fs::read_link(place.join("a/link")).unwrap(),
            Path::new("../tool")
        );
        let mode = place.join("tool").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_breaks_off_leads_out_or_has_no_name_leaves_nothing() {
        let there = tempfile::tempdir().unwrap();
        let file = |path: &str| {
            Piece::File(PutFile {
                path: path.as_bytes().to_vec().into(),
                mode: 0o600,
            })
        };
        let name = |name: &str| Piece::Name(name.to_owned());
        for (wrong, why) in [
            (vec![name("x"), file("a")], "before it is whole"),
            (
                vec![name("x"), file("../a"), Piece::Whole(true)],
                "leads out",
            ),
            (vec![name("x"), file("/a"), Piece::Whole(true)], "leads out"),
            (
                vec![name("x"), Piece::Content(vec![1].into())],
                "of no file",
            ),
            (vec![name("../x")], "is no name"),
            (vec![file("a")], "begins with its name"),
        ] {
            let error = receive_build_in(there.path(), pieces(wrong))
                .await
                .unwrap_err();
            assert!(error.message().contains(why), "{error}");
            assert_eq!(entries(there.path()).len(), 0);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn only_the_last_builds_are_kept() {
        let there = tempfile::tempdir().unwrap();
        for number in 0..KEPT + 2 {
            let one = vec![Piece::Name(format!("b{number}")), Piece::Whole(true)];
            let place = receive_build_in(there.path(), pieces(one)).await.unwrap();
            // As if it had been a while ago.
            let when = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number as u64);
            File::open(place).unwrap().set_modified(when).unwrap();
        }
        assert_eq!(entries(there.path()).len(), KEPT);
        assert!(!there.path().join("b1").exists());
        assert!(there.path().join("b2").exists());
    }
}
