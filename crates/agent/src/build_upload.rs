//! Upload of files to a host that doesn't see those of the controller: both ends. They are those of a build, or those beside a plan.
//!
//! They come as a whole or not at all, and are on the host's disk before they are said to be there: the next thing that
//! happens to the host may be a jump into another kernel. Some are kept, so that nothing is sent twice. Hosts may have one home, and
//! several agents put the same there at the same moment: each into a folder of its own, which gets its name when it is whole, and
//! never takes the place of one that is there.
//!
//! A path that leads out of the files' own folder is an error.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};
use tonic::Status;

use crate::file_tree::{EntryKind, FileTree, TreeEntry};
use crate::folders::{cache_folder, with_path};
use crate::proto::{PutFile, PutLink, PutRequest, put_request::Piece};

/// Builds that a host keeps; the ones that were used last.
const KEPT: usize = 8;
/// How long a plan's files are kept that nobody uses.
const PLAN_KEPT: Duration = Duration::from_secs(14 * 24 * 3600);
/// How long what an agent that was killed has left may be of an upload that goes on: longer than any takes.
const LONGEST_UPLOAD: Duration = Duration::from_secs(24 * 3600);
/// The folder of an agent's own copy of a plan's files, below its own.
const PLAN: &str = "plan";
/// How much of a file goes into one message, bytes.
const PIECE: usize = 256 << 10;
/// The longest name, bytes.
const NAME_LIMIT: usize = 200;

/// What is put on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UploadKind {
    /// A build; its name is unlike that of any other.
    Build,
    /// The files beside a plan; their name is of their content.
    Plan,
}

impl UploadKind {
    /// What a name stands for, in the first piece or in a question.
    pub(crate) fn of_plan(is_plan: bool) -> Self {
        if is_plan { Self::Plan } else { Self::Build }
    }

    /// Where they are below the cache of this host.
    fn folder(self, cache: &Path) -> PathBuf {
        cache.join(match self {
            Self::Build => "builds",
            Self::Plan => "plans",
        })
    }

    fn forget_old(self, kept: &Path) {
        let mut all = entries(kept);
        all.sort_by_key(|(_, used)| std::cmp::Reverse(*used));
        let is_old = |used: &SystemTime| used.elapsed().is_ok_and(|age| age > PLAN_KEPT);
        let old = all
            .into_iter()
            .enumerate()
            .filter(|(number, (_, used))| match self {
                Self::Build => *number >= KEPT,
                Self::Plan => is_old(used),
            });
        for (_, (old, _)) in old {
            let _tried_again_with_the_next = fs::remove_dir_all(old);
        }
    }
}

/// Where what has this name is, or would be.
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
            "`{}` is no name of files",
            name.escape_default()
        )));
    }
    Ok(folder.join(name))
}

/// The folder of what is here already, which counts as used now.
///
/// # Errors
///
/// It is no name.
pub(crate) fn find(kind: UploadKind, name: &str) -> Result<Option<PathBuf>, Status> {
    let place = place(&kind.folder(&cache_folder()), name)?;
    let there = File::open(&place).and_then(|folder| {
        folder.set_modified(SystemTime::now())?;
        folder.metadata()
    });
    Ok(there.is_ok_and(|meta| meta.is_dir()).then_some(place))
}

/// An agent's own copy of the files beside a plan, made of what is kept: commands may change it, and nobody else sees that. None if
/// what is kept isn't what its name says. Blocking.
///
/// # Errors
///
/// It can't be written.
pub(crate) fn copy_plan(kept: &Path, own: &Path) -> io::Result<Option<PathBuf>> {
    let copy = own.join(PLAN);
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    FileTree::whole(kept)?.copy_to(&copy)?;
    let is_whole = kept.file_name() == Some(OsStr::new(&FileTree::whole(&copy)?.name()?));
    if !is_whole {
        let _another_agent_was_first = fs::remove_dir_all(kept);
    }
    Ok(is_whole.then_some(copy))
}

/// Takes files in.
///
/// # Errors
///
/// What can't be written and why, or what is wrong with the pieces; nothing is left of it then.
pub(crate) async fn receive(
    pieces: impl Stream<Item = Result<PutRequest, Status>> + Unpin,
) -> Result<(UploadKind, PathBuf), Status> {
    receive_in(&cache_folder(), pieces).await
}

pub(crate) async fn receive_in(
    cache: &Path,
    mut pieces: impl Stream<Item = Result<PutRequest, Status>> + Unpin,
) -> Result<(UploadKind, PathBuf), Status> {
    let (kind, name) = match next(&mut pieces).await? {
        Piece::Name(name) => (UploadKind::Build, name),
        Piece::Plan(name) => (UploadKind::Plan, name),
        _ => return Err(Status::invalid_argument("files begin with their name")),
    };
    let kept = kind.folder(cache);
    let place = place(&kept, &name)?;
    let mut upload = Unfinished::begin(&kept, &name).map_err(refused)?;
    loop {
        match next(&mut pieces).await? {
            Piece::Whole(_) => break,
            piece => upload.take(piece)?,
        }
    }
    // A disk may take its time, and we have other things to answer meanwhile.
    let finished = place.clone();
    let done = tokio::task::spawn_blocking(move || {
        if kind == UploadKind::Plan && FileTree::whole(&upload.folder)?.name()? != name {
            return Err(io::Error::other(
                "the plan's files were changed while they were sent: try again",
            ));
        }
        upload.finish(&finished)?;
        kind.forget_old(&kept);
        Ok(())
    });
    let done = done
        .await
        .map_err(|error| Status::internal(error.to_string()))?;
    done.map_err(refused)?;
    Ok((kind, place))
}

async fn next(
    pieces: &mut (impl Stream<Item = Result<PutRequest, Status>> + Unpin),
) -> Result<Piece, Status> {
    let request = pieces.next().await.transpose()?;
    request
        .and_then(|request| request.piece)
        .ok_or_else(|| Status::aborted("they end before they are whole"))
}

fn refused(error: io::Error) -> Status {
    Status::resource_exhausted(error.to_string())
}

/// Files of which pieces are still to come; removed if they don't.
struct Unfinished {
    folder: PathBuf,
    file: Option<(PathBuf, File)>,
    /// Every file of them.
    files: Vec<PathBuf>,
}

impl Unfinished {
    fn begin(builds: &Path, name: &str) -> io::Result<Self> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(builds);
        made.map_err(|error| with_path(builds, &error))?;
        // What an agent that was killed has left.
        for (entry, changed) in entries(builds) {
            let is_hidden = entry
                .file_name()
                .is_some_and(|n| n.as_bytes().starts_with(b"."));
            if is_hidden && changed.elapsed().is_ok_and(|age| age > LONGEST_UPLOAD) {
                let _in_nobodys_way = fs::remove_dir_all(entry);
            }
        }
        // Each state has keys of its own, out of the system's random numbers.
        let token = RandomState::new().build_hasher().finish();
        let folder = builds.join(format!(".{token:016x}.{name}"));
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
                "{} leads out of its folder",
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
                    .and_then(|file| {
                        // Whatever mask we run under.
                        file.set_permissions(fs::Permissions::from_mode(mode & 0o777))?;
                        Ok(file)
                    })
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
            Piece::Name(_) | Piece::Plan(_) | Piece::Whole(_) => {
                Err(Status::invalid_argument("one after the other"))
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
        match fs::rename(&self.folder, place) {
            // Another agent was first, and somebody may use it: what has the name is the same.
            Err(_) if place.is_dir() => {}
            named => named.map_err(|error| with_path(place, &error))?,
        }
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

/// How much of the content of files has been sent: so many bytes, of so many.
pub(crate) type OnSent<'a> = dyn Fn(u64, u64) + 'a;

/// Sends the pieces of files, until nobody takes them any more; `on_sent` hears of each. Blocking.
///
/// # Errors
///
/// What can't be read.
pub(crate) fn send(
    kind: UploadKind,
    name: String,
    tree: &FileTree,
    to: &mpsc::Sender<PutRequest>,
    on_sent: &OnSent<'_>,
) -> io::Result<()> {
    let (size, sent) = (tree.content_size()?, Cell::new(0));
    let told = |piece: Piece| {
        let length = match &piece {
            Piece::Content(bytes) => bytes.len() as u64,
            _ => 0,
        };
        let is_taken = to.blocking_send(PutRequest { piece: Some(piece) }).is_ok();
        if is_taken && length > 0 {
            sent.set(sent.get() + length);
            on_sent(sent.get(), size);
        }
        is_taken
    };
    let first = match kind {
        UploadKind::Build => Piece::Name(name),
        UploadKind::Plan => Piece::Plan(name),
    };
    let mut is_taken = told(first);
    for entry in &tree.entries {
        if !is_taken {
            return Ok(());
        }
        is_taken = send_entry(entry, &told)?;
    }
    if is_taken {
        told(Piece::Whole(true));
    }
    Ok(())
}

/// Whether somebody still takes them.
fn send_entry(entry: &TreeEntry, told: &impl Fn(Piece) -> bool) -> io::Result<bool> {
    let path = entry.path.as_os_str().as_bytes().to_vec();
    match &entry.kind {
        EntryKind::Folder => Ok(told(Piece::Folder(path.into()))),
        EntryKind::Link(to) => Ok(told(Piece::Link(PutLink {
            path: path.into(),
            to: to.as_os_str().as_bytes().to_vec().into(),
        }))),
        EntryKind::File { source, mode } => {
            let sent = send_file(source, path, *mode, told);
            sent.map_err(|error| with_path(source, &error))
        }
    }
}

fn send_file(
    from: &Path,
    path: Vec<u8>,
    mode: u32,
    told: &impl Fn(Piece) -> bool,
) -> io::Result<bool> {
    let mut file = File::open(from)?;
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
        let tree = FileTree::whole(folder).unwrap();
        send(UploadKind::Build, name.into(), &tree, &to, &|_, _| ()).unwrap();
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
        let again = all.clone();
        let (_, place) = receive_in(there.path(), pieces(all)).await.unwrap();
        assert_eq!(place, there.path().join("builds/one"));
        let used = place.join("a/used");
        fs::write(&used, "by somebody").unwrap();
        let second = receive_in(there.path(), pieces(again)).await.unwrap();
        assert_eq!(second, (UploadKind::Build, place.clone()));
        assert!(used.exists(), "what is there stays there");
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
            (vec![name("x"), file("a")], "before they are whole"),
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
            (vec![file("a")], "begin with their name"),
        ] {
            let error = receive_in(there.path(), pieces(wrong)).await.unwrap_err();
            assert!(error.message().contains(why), "{error}");
            assert_eq!(entries(&there.path().join("builds")).len(), 0);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn only_the_last_builds_are_kept() {
        let there = tempfile::tempdir().unwrap();
        for number in 0..KEPT + 2 {
            let one = vec![Piece::Name(format!("b{number}")), Piece::Whole(true)];
            let (_, place) = receive_in(there.path(), pieces(one)).await.unwrap();
            // As if it had been a while ago.
            let when = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64);
            File::open(place).unwrap().set_modified(when).unwrap();
        }
        let builds = there.path().join("builds");
        assert_eq!(entries(&builds).len(), KEPT);
        assert!(!builds.join("b1").exists());
        assert!(builds.join("b2").exists());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_files_of_a_plan_are_what_their_name_says_and_each_agent_has_a_copy() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(here.path().join("on"), "#!/bin/sh").unwrap();
        let tree = FileTree::whole(here.path()).unwrap();
        let name = tree.name().unwrap();
        let sent = |name: &str| {
            let (to, mut from) = mpsc::channel(1024);
            let (name, tree) = (name.to_owned(), tree.clone());
            std::thread::spawn(move || {
                send(UploadKind::Plan, name, &tree, &to, &|_, _| ()).unwrap()
            })
            .join()
            .unwrap();
            pieces(std::iter::from_fn(|| from.try_recv().ok()?.piece).collect())
        };
        let wrong = receive_in(there.path(), sent("plan-0")).await.unwrap_err();
        assert!(wrong.message().contains("changed while"), "{wrong}");
        let plans = there.path().join("plans");
        fs::create_dir_all(plans.join("old")).unwrap();
        let long_ago = SystemTime::now() - PLAN_KEPT - Duration::from_secs(60);
        File::open(plans.join("old"))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        let (kind, kept) = receive_in(there.path(), sent(&name)).await.unwrap();
        assert_eq!((kind, entries(&plans).len()), (UploadKind::Plan, 1));
        let agents = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, other] = agents
            .each_ref()
            .map(|own| copy_plan(&kept, own.path()).unwrap().unwrap());
        fs::write(one.join("on"), "changed").unwrap();
        assert_eq!(fs::read(other.join("on")).unwrap(), b"#!/bin/sh");
        fs::write(kept.join("on"), "damaged").unwrap();
        assert_eq!(copy_plan(&kept, agents[0].path()).unwrap(), None);
        assert!(!kept.exists(), "sent again");
    }
}
