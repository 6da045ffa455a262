//! The agent's standard input and output as one byte stream, out of everybody else's reach.
//!
//! It takes whatever can be awaited: pipes, sockets, terminals, serial lines. A plain file can't.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::{dup2_stdin, dup2_stdout};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, watch};
use tonic::transport::server::Connected;

/// What the stream is made of; where it was standard input and output, taken away from the rest of the process.
pub(crate) struct ClaimedStream {
    input: OwnedFd,
    output: OwnedFd,
}

/// Takes standard input and output; what children inherit in their place is `/dev/null`.
///
/// # Errors
///
/// The system's.
pub(crate) fn claim() -> io::Result<ClaimedStream> {
    let claimed = ClaimedStream {
        input: io::stdin().as_fd().try_clone_to_owned()?,
        output: io::stdout().as_fd().try_clone_to_owned()?,
    };
    let nothing = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    Ok(claimed)
}

impl ClaimedStream {
    /// One file that is both.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn both(file: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            input: file.try_clone()?,
            output: file,
        })
    }
}

/// The two as a stream.
pub(crate) struct Stream {
    input: AsyncFd<OwnedFd>,
    output: AsyncFd<OwnedFd>,
    /// Notified of whatever the other end says.
    heard: Arc<Notify>,
    /// Dropped with the stream: that is how its end is seen.
    _open: watch::Sender<()>,
}

impl Stream {
    /// The stream, and a watch that ends when it is dropped; `heard` is notified of whatever the other end says. Needs a runtime.
    ///
    /// # Errors
    ///
    /// The system's: one of the two can't be awaited.
    pub(crate) fn new(
        claimed: ClaimedStream,
        heard: Arc<Notify>,
    ) -> io::Result<(Self, watch::Receiver<()>)> {
        for end in [&claimed.input, &claimed.output] {
            let flags = OFlag::from_bits_retain(fcntl(end, FcntlArg::F_GETFL)?);
            fcntl(end, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        }
        let (open, closed) = watch::channel(());
        // SAFETY: an OwnedFd keeps its number until it is dropped.
        let (input, output) = unsafe {
            (
                AsyncFd::register(claimed.input)?,
                AsyncFd::register(claimed.output)?,
            )
        };
        Ok((
            Self {
                input,
                output,
                heard,
                _open: open,
            },
            closed,
        ))
    }
}

impl Connected for Stream {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.input.poll_read_ready(cx))?;
            let read =
                |input: &AsyncFd<OwnedFd>| Ok(rustix::io::read(input, buf.initialize_unfilled())?);
            match guard.try_io(read) {
                Ok(Ok(length)) => {
                    buf.advance(length);
                    self.heard.notify_one();
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.output.poll_write_ready(cx))?;
            match guard.try_io(|output| Ok(rustix::io::write(output, bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(written) => return Poll::Ready(written),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The output is closed when the stream is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
