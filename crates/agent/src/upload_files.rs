//! Files that are sent to hosts, and the conductor's end of sending them: the list of their chunks, and then those that the host misses.
//!
//! A chunk is packed only while the wire is busy with those before it, and only if that makes it clearly smaller: what a fast wire carries
//! as it is costs no time, and on a slow one packing costs less than it saves.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::{OnceCell, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tonic::{Status, Streaming};

use crate::build_upload::UploadKind;
use crate::chunks::{self, ChunkList, ListedChunk};
use crate::file_tree::{EntryKind, FileTree, PlanFiles};
use crate::folders::with_path;
use crate::proto::{Chunk, PutBegin, PutReply, PutRequest, put_reply::Reply, put_request::Piece};

/// How long the wire may take for a chunk, and the host to look for chunks that it has or to write files to its disk.
pub(crate) const STALL_LIMIT: Duration = Duration::from_secs(1800);
/// How much of a list goes into one message, bytes.
const LIST_PIECE: usize = 256 << 10;

/// Files that are sent to hosts: read and hashed once for all of them, when the first one asks.
pub struct UploadFiles {
    pub(crate) kind: UploadKind,
    pub(crate) name: String,
    files: FilesHere,
    listed: OnceCell<ListedFiles>,
}

/// What is sent.
#[derive(Clone)]
enum FilesHere {
    /// All of a folder.
    Folder(PathBuf),
    Chosen(FileTree),
}

/// Files and what their list says.
pub(crate) struct ListedFiles {
    list: ChunkList,
    encoded: Vec<u8>,
    /// Where an entry's content is here; empty for what isn't a file.
    sources: Vec<PathBuf>,
}

/// How far the upload of files is, in bytes of their content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UploadProgress {
    /// What was sent.
    pub sent: u64,
    /// What is to be sent: the chunks that the host hadn't.
    pub of: u64,
    /// What the host had, or has more than once in these files: it isn't sent.
    pub there: u64,
    /// What `sent` took on the wire, some of it packed.
    pub packed: u64,
}

/// Why files weren't sent.
pub(crate) enum SendFault {
    /// They can't be read here.
    Unreadable(io::Error),
    /// The agent said no, or is lost.
    Ended(Status),
    /// Nothing went on for [`STALL_LIMIT`].
    Stalled,
}

impl UploadFiles {
    /// All files below a folder, under a name (letters, digits, `-`, `_`, `.`) that other files don't have.
    #[must_use]
    pub fn of_build(name: &str, folder: &Path) -> Self {
        Self::new(
            UploadKind::Build,
            name,
            FilesHere::Folder(folder.to_owned()),
        )
    }

    /// The files beside a plan.
    #[must_use]
    pub fn of_plan(files: PlanFiles) -> Self {
        Self::new(UploadKind::Plan, &files.name, FilesHere::Chosen(files.tree))
    }

    fn new(kind: UploadKind, name: &str, files: FilesHere) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            files,
            listed: OnceCell::new(),
        }
    }

    pub(crate) async fn listed(&self) -> io::Result<&ListedFiles> {
        let read = async || {
            let files = self.files.clone();
            spawn_blocking(move || ListedFiles::read(&files)).await?
        };
        self.listed.get_or_try_init(read).await
    }

    /// The first message of a call.
    pub(crate) fn beginning(&self, listed: &ListedFiles) -> PutRequest {
        request(Piece::Begin(PutBegin {
            name: self.name.clone(),
            plan: self.kind == UploadKind::Plan,
            list_bytes: listed.encoded.len() as u64,
        }))
    }
}

impl ListedFiles {
    fn read(files: &FilesHere) -> io::Result<Self> {
        let tree = match files {
            FilesHere::Folder(folder) => FileTree::whole(folder)?,
            FilesHere::Chosen(tree) => tree.clone(),
        };
        let list = ChunkList::from_tree(&tree)?;
        let sources = tree.entries.into_iter().map(|entry| match entry.kind {
            EntryKind::File { source, .. } => source,
            EntryKind::Folder | EntryKind::Link(_) => PathBuf::new(),
        });
        Ok(Self {
            encoded: list.encode(),
            sources: sources.collect(),
            list,
        })
    }

    /// Sends what a host misses, after the first message of the call: the folder of the files there.
    ///
    /// # Errors
    ///
    /// A file can't be read, the agent, or the wire stands still.
    pub(crate) async fn send(
        &self,
        to: mpsc::Sender<PutRequest>,
        mut replies: Streaming<PutReply>,
        on_progress: &(dyn Fn(UploadProgress) + Sync),
    ) -> Result<PathBuf, SendFault> {
        for piece in self.encoded.chunks(LIST_PIECE) {
            put(&to, Piece::List(piece.to_vec().into()), &mut replies).await?;
        }
        let Reply::Missing(missing) = reply(&mut replies).await? else {
            return Err(nonsense());
        };
        let is_missing = |number: usize| {
            missing
                .get(number / 8)
                .is_some_and(|byte| byte >> (number % 8) & 1 == 1)
        };
        let chunks = || self.list.chunks().iter().enumerate();
        let bytes = |chunks: &mut dyn Iterator<Item = (usize, &ListedChunk)>| {
            chunks.map(|(_, chunk)| chunk.length as u64).sum::<u64>()
        };
        let of = bytes(&mut chunks().filter(|(number, _)| is_missing(*number)));
        let mut progress = UploadProgress {
            of,
            there: bytes(&mut chunks()) - of,
            ..UploadProgress::default()
        };
        on_progress(progress);
        for (number, chunk) in chunks().filter(|(number, _)| is_missing(*number)) {
            let is_busy = to.capacity() == 0;
            let (chunk, source) = (*chunk, self.sources[chunk.entry].clone());
            let read = spawn_blocking(move || read_chunk(&source, &chunk, is_busy)).await;
            let (content, packed) = read
                .map_err(io::Error::from)
                .flatten()
                .map_err(SendFault::Unreadable)?;
            progress.sent += chunk.length as u64;
            progress.packed += content.len() as u64;
            let piece = Piece::Chunk(Chunk {
                number: number as u64,
                content: content.into(),
                packed,
            });
            put(&to, piece, &mut replies).await?;
            on_progress(progress);
        }
        match reply(&mut replies).await? {
            Reply::Folder(folder) => Ok(folder.into()),
            Reply::Missing(_) => Err(nonsense()),
        }
    }
}

/// A chunk as it is sent, and whether it is packed. Blocking.
fn read_chunk(source: &Path, chunk: &ListedChunk, may_pack: bool) -> io::Result<(Vec<u8>, bool)> {
    let read = File::open(source).and_then(|file| chunk.read(&file));
    let bytes = read.map_err(|error| with_path(source, &error))?;
    let packed = may_pack.then(|| chunks::pack(&bytes)).flatten();
    let is_packed = packed.is_some();
    Ok((packed.unwrap_or(bytes), is_packed))
}

fn request(piece: Piece) -> PutRequest {
    PutRequest { piece: Some(piece) }
}

fn nonsense() -> SendFault {
    SendFault::Ended(Status::internal("another reply was expected"))
}

/// Hands a piece to the wire, unless the agent has something to say before.
async fn put(
    to: &mpsc::Sender<PutRequest>,
    piece: Piece,
    replies: &mut Streaming<PutReply>,
) -> Result<(), SendFault> {
    tokio::select! {
        permit = timeout(STALL_LIMIT, to.reserve()) => match permit {
            Ok(Ok(permit)) => {
                permit.send(request(piece));
                Ok(())
            }
            // Nobody takes it any more: why, the last reply says.
            Ok(Err(_)) => Err(reply(replies).await.err().unwrap_or_else(nonsense)),
            Err(_) => Err(SendFault::Stalled),
        },
        early = replies.message() => Err(early.err().map_or_else(nonsense, SendFault::Ended)),
    }
}

async fn reply(replies: &mut Streaming<PutReply>) -> Result<Reply, SendFault> {
    let message = timeout(STALL_LIMIT, replies.message()).await;
    let message = message.map_err(|_| SendFault::Stalled)?;
    let message = message.map_err(SendFault::Ended)?;
    message.and_then(|reply| reply.reply).ok_or_else(nonsense)
}
