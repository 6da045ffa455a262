//! One stream of a step, from its pipe into a file, up to a limit.
//!
//! The file is there as soon as something was written, and outlives the agent. What comes after the limit, or when
//! the disk is full, is counted and thrown away: a program must never hang because nobody reads.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::future::pending;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use tokio::{net::unix::pipe, time::Instant};

use crate::ready::LineSearch;

/// What a pipe holds: a step that writes much isn't stopped each time that the agent isn't on a processor.
const PIPE: i32 = 256 << 10;
/// What is read at once.
const PIECE: usize = 64 << 10;

thread_local! {
    static PIECE_READ: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE]);
}

/// Something about the stream that its step has to know; each is noted once.
pub(crate) enum SpoolNote {
    /// It is longer than its limit.
    OverLimit,
    /// It can't be written to its file.
    Broken(String),
    /// The line that was sought was seen.
    Line,
    /// There is something to send, after all before was sent; of a stream that is sent while it grows.
    Unsent,
}

/// A stream that is being kept.
pub(crate) struct Spool {
    pipe: Option<pipe::Receiver>,
    path: PathBuf,
    file: Option<File>,
    limit: u64,
    seen: u64,
    heard_at: Option<Instant>,
    kept: u64,
    /// How much of that was sent.
    sent: u64,
    /// Whether it is sent while it grows.
    streams: bool,
    broken: bool,
    sought: Option<LineSearch>,
}

impl Spool {
    /// Keeps what comes out of a pipe in a file, which is made when the first byte comes.
    ///
    /// # Errors
    ///
    /// The system's, if the pipe can't be awaited.
    pub(crate) fn new(
        pipe: PipeReader,
        path: PathBuf,
        limit: u64,
        sought: Option<LineSearch>,
    ) -> io::Result<Self> {
        backsight_platform::enlarge_pipe(&pipe, PIPE);
        let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(pipe))?;
        Ok(Self {
            pipe: Some(pipe),
            path,
            file: None,
            limit,
            seen: 0,
            heard_at: None,
            kept: 0,
            sent: 0,
            streams: false,
            broken: false,
            sought,
        })
    }

    /// The same, sent while it grows.
    pub(crate) fn streaming(self, streams: bool) -> Self {
        Self { streams, ..self }
    }

    /// Moves bytes until there is something to note; for ever, if there never is. Cancel safe.
    pub(crate) async fn pump(&mut self) -> SpoolNote {
        loop {
            let Some(pipe) = &self.pipe else {
                return pending().await;
            };
            let _read_tells = pipe.readable().await;
            if let Ok(Some(note)) = self.step(pipe::Receiver::try_read) {
                return note;
            }
        }
    }

    /// Moves what is there now, and doesn't wait for more. At most one pipe full: a writer that outlived its step
    /// might never stop.
    pub(crate) fn drain(&mut self) -> Vec<SpoolNote> {
        // Asked of the kernel: the runtime only knows what it was told of before.
        let now = |pipe: &pipe::Receiver, piece: &mut [u8]| Ok(rustix::io::read(pipe, piece)?);
        let full = self.seen + PIPE as u64;
        let mut notes = Vec::new();
        while self.seen < full {
            match self.step(now) {
                Ok(note) => notes.extend(note),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        notes
    }

    /// Moves one piece.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is none now, `UnexpectedEof` if there will never be one.
    fn step(
        &mut self,
        read: impl Fn(&pipe::Receiver, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<Option<SpoolNote>> {
        PIECE_READ.with_borrow_mut(|piece| {
            let pipe = self.pipe.as_ref().ok_or(io::ErrorKind::UnexpectedEof)?;
            match read(pipe, piece) {
                Ok(0) => {
                    self.pipe = None;
                    Err(io::ErrorKind::UnexpectedEof.into())
                }
                Ok(length) => {
                    self.heard_at = Some(Instant::now());
                    Ok(self.keep(&piece[..length]))
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) =>
                {
                    Err(error)
                }
                Err(error) => {
                    self.pipe = None;
                    Err(error)
                }
            }
        })
    }

    fn keep(&mut self, piece: &[u8]) -> Option<SpoolNote> {
        let was_over = self.seen > self.limit;
        let was_sent = !self.has_unsent();
        self.seen += piece.len() as u64;
        if let Some(broken) = self.write(piece) {
            return Some(SpoolNote::Broken(broken));
        }
        if self.seen > self.limit && !was_over {
            return Some(SpoolNote::OverLimit);
        }
        if self
            .sought
            .as_mut()
            .is_some_and(|sought| sought.seen(piece))
        {
            self.sought = None;
            return Some(SpoolNote::Line);
        }
        (was_sent && self.has_unsent()).then_some(SpoolNote::Unsent)
    }

    /// Writes as much of a piece as the limit allows. Says why not, the first time.
    fn write(&mut self, piece: &[u8]) -> Option<String> {
        let room = self.limit.saturating_sub(self.kept);
        let length = piece.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        if self.broken || length == 0 {
            return None;
        }
        let kept = self.kept;
        let written = self
            .open()
            .and_then(|file| file.write_all_at(&piece[..length], kept));
        match written {
            Ok(()) => self.kept += length as u64,
            Err(error) => {
                self.broken = true;
                return Some(format!("{}: {error}", self.path.display()));
            }
        }
        None
    }

    fn open(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&self.path)?;
            self.file = Some(file);
        }
        self.file
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// When the last byte was read; none: none was.
    pub(crate) fn heard_at(&self) -> Option<Instant> {
        self.heard_at
    }

    /// Bytes that came, kept or not.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Whether some of them weren't kept.
    pub(crate) fn truncated(&self) -> bool {
        self.kept < self.seen
    }

    /// Whether something is to be sent while it grows.
    pub(crate) fn has_unsent(&self) -> bool {
        self.streams && self.sent < self.kept
    }

    /// The next piece to send; empty where all was.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn next_piece(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let piece = self.read(self.sent, length)?;
        self.sent += piece.len() as u64;
        Ok(piece)
    }

    /// A piece of what was kept, from an offset; empty at its end.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.kept.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut piece = vec![0; length.min(left)];
        if let Some(file) = &self.file {
            file.read_exact_at(&mut piece, offset)?;
        }
        Ok(piece)
    }

    /// Throws away what still comes, until the last writer is gone: a daemon that a step left behind must not be killed
    /// by a closed pipe.
    pub(crate) async fn discard(mut self) {
        self.limit = 0;
        self.file = None;
        while let Some(pipe) = &self.pipe {
            let _read_tells = pipe.readable().await;
            let _nothing_to_note = self.step(pipe::Receiver::try_read);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn a_drain_takes_what_the_runtime_has_not_heard_of_yet() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, mut writer) = io::pipe().unwrap();
        let mut spool = Spool::new(pipe, folder.path().join("out"), 1 << 20, None).unwrap();
        for piece in ["first ", "second ", "third"] {
            assert!(spool.drain().is_empty());
            writer.write_all(piece.as_bytes()).unwrap();
        }
        assert!(spool.drain().is_empty());
        assert_eq!(spool.read(0, 100).unwrap(), b"first second third");
        assert_eq!(spool.read(6, 6).unwrap(), b"second");
        assert!(spool.read(18, 6).unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_is_over_the_limit_is_counted_and_noted_once() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, mut writer) = io::pipe().unwrap();
        let mut spool = Spool::new(pipe, folder.path().join("out"), 4, None).unwrap();
        writer.write_all(b"12345").unwrap();
        assert!(matches!(spool.drain().as_slice(), [SpoolNote::OverLimit]));
        writer.write_all(b"678").unwrap();
        assert!(spool.drain().is_empty());
        assert_eq!((spool.seen(), spool.truncated()), (8, true));
        assert_eq!(spool.read(0, 100).unwrap(), b"1234");
    }
}
