//! The conductor's side of a guest: the channel to its first process, and what that process is told before it serves.
//!
//! A guest is a kernel that was booted with an agent as its first process. Both ends have one byte stream; until the
//! first process says that it is there, whatever the kernel does with its terminals may come along it, and nothing may
//! be sent. Then one line of JSON says what the machine is to be, and one line says that it is.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// What the first process says when it is there: control characters, because no console prints them.
pub(crate) const HERE: &[u8] = b"\x02backsight guest\x03\n";
/// What it says when all was done; anything else is why not.
pub(crate) const DONE: &str = "done";
/// The longest line, bytes.
pub(crate) const LINE_LIMIT: usize = 1 << 20;
/// How much noise may come before it says that it is there, bytes.
const NOISE_LIMIT: usize = 1 << 20;
/// The descriptor that a program started by [`exec_with_channel`] has its channel on.
const CHANNEL: i32 = 3;

/// What the machine that was booted is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestSetup {
    /// Its host name; the one that it has if none.
    pub hostname: Option<String>,
    /// The folder that is its root; what it was booted with if none.
    pub root: Option<PathBuf>,
    /// Folders below its folders for temporary files that have to stay in sight.
    pub shown: Vec<PathBuf>,
    /// Its interfaces, `lo` not counted.
    pub interfaces: Vec<GuestInterface>,
    /// Routes, as `ip route` takes them.
    pub routes: Vec<String>,
    /// Settings: paths below `/proc/sys`, and values.
    pub sysctl: Vec<(String, String)>,
    /// Whether its folders for temporary files stay on its disk; else they are in memory.
    #[serde(default)]
    pub keeps_disk: bool,
    /// Whether it goes on when the conductor has gone, and waits for the next one, also where the agent is its first process.
    #[serde(default)]
    pub stays_on: bool,
}

/// An interface of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestInterface {
    /// Its hardware address, by which it is found: six pairs of small hexadecimal digits.
    pub mac: String,
    /// What it is to be called.
    pub name: String,
    /// Its address with the length of the prefix.
    pub address: String,
    /// Largest packet; the kernel's own choice if none.
    pub mtu: Option<u32>,
}

/// Why a guest didn't become what it was to be.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The channel ended.
    #[error("the channel to its first process ended: {0}")]
    Channel(#[from] io::Error),
    /// Something else speaks.
    #[error("something else than an agent speaks on the channel to its first process: `{0}`")]
    Noise(String),
    /// It couldn't.
    #[error("{0}")]
    Refused(String),
}

/// Waits for a guest's first process and tells it what its machine is to be. The stream is ready for
/// [`Client::connect`](crate::Client::connect) then. Who calls bounds the wait.
///
/// # Errors
///
/// As [`GuestError`] says.
pub async fn set_up<S>(stream: &mut S, setup: &GuestSetup) -> Result<(), GuestError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut heard = Vec::new();
    while !heard.ends_with(HERE) {
        if heard.len() >= NOISE_LIMIT {
            let said = String::from_utf8_lossy(&heard[..80]).into_owned();
            return Err(GuestError::Noise(said));
        }
        heard.push(stream.read_u8().await?);
    }
    let mut line = serde_json::to_vec(setup).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    stream.flush().await?;
    let mut answer = Vec::new();
    // Byte by byte: what follows the line is somebody else's.
    loop {
        match stream.read_u8().await? {
            b'\n' => break,
            byte if answer.len() < LINE_LIMIT => answer.push(byte),
            _ => {}
        }
    }
    if answer == DONE.as_bytes() {
        return Ok(());
    }
    Err(GuestError::Refused(
        String::from_utf8_lossy(&answer).into_owned(),
    ))
}

/// Becomes a program that has a stream to this unix socket as its descriptor 3, and one place for all that it prints.
/// Returns only if that can't be.
#[must_use]
pub fn exec_with_channel(socket: &Path, program: &Path, arguments: &[OsString]) -> io::Error {
    let channel = match UnixStream::connect(socket) {
        Ok(channel) => channel,
        Err(error) => return error,
    };
    let number = channel.as_raw_fd();
    // SAFETY: plain system calls on numbers; a copy under the wanted number outlives the exec, as does the number
    // itself without its flag.
    let given = unsafe {
        if number == CHANNEL {
            nix::libc::fcntl(channel.into_raw_fd(), nix::libc::F_SETFD, 0)
        } else {
            nix::libc::dup2(number, CHANNEL)
        }
    };
    // SAFETY: as above.
    if given < 0 || unsafe { nix::libc::dup2(1, 2) } < 0 {
        return io::Error::last_os_error();
    }
    Command::new(program).args(arguments).exec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> GuestSetup {
        GuestSetup {
            hostname: Some("client".into()),
            sysctl: vec![("net/ipv4/ip_forward".into(), "1".into())],
            ..GuestSetup::default()
        }
    }

    #[tokio::test]
    async fn a_guest_is_told_what_to_be_after_its_kernels_noise() {
        let (mut ours, mut theirs) = tokio::io::duplex(1 << 16);
        theirs.write_all(b"login: \x02backsight").await.unwrap();
        theirs.write_all(HERE).await.unwrap();
        theirs.write_all(b"done\nrest").await.unwrap();
        set_up(&mut ours, &setup()).await.unwrap();
        let mut rest = [0; 4];
        ours.read_exact(&mut rest).await.unwrap();
        assert_eq!(&rest, b"rest");
        drop(ours);
        let mut told = Vec::new();
        theirs.read_to_end(&mut told).await.unwrap();
        assert_eq!(
            serde_json::from_slice::<GuestSetup>(&told).unwrap(),
            setup()
        );
    }

    #[tokio::test]
    async fn what_a_guest_cannot_do_is_told_in_its_words() {
        let (mut ours, mut theirs) = tokio::io::duplex(1 << 16);
        theirs.write_all(HERE).await.unwrap();
        theirs.write_all(b"no such route\n").await.unwrap();
        let error = set_up(&mut ours, &setup()).await.unwrap_err();
        assert_eq!(error.to_string(), "no such route");
        drop(theirs);
        assert!(matches!(
            set_up(&mut ours, &setup()).await,
            Err(GuestError::Channel(_))
        ));
    }
}
