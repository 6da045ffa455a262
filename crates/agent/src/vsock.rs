//! Sockets between a virtual machine and the machine that runs it (vsock): a guest's agent listens, its conductor calls.
//!
//! They need no network in the guest; a guest is found by its number (CID), which whoever runs it gives it.

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, VsockAddr, accept, bind, connect, listen, socket,
};
use std::{
    io,
    os::{
        fd::{AsRawFd, FromRawFd as _, OwnedFd},
        unix::net::UnixStream,
    },
};

/// What the channel of an agent that listens is called: `vsock:PORT`.
pub(crate) const PREFIX: &str = "vsock:";
/// The port on which agents listen.
pub const VSOCK_PORT: u32 = 9559;
/// Whoever calls.
const ANY: u32 = nix::libc::VMADDR_CID_ANY;

/// Waits for one caller at this port.
pub(crate) fn await_caller(port: u32) -> io::Result<OwnedFd> {
    let listening = stream()?;
    bind(listening.as_raw_fd(), &VsockAddr::new(ANY, port))?;
    listen(&listening, Backlog::new(1)?)?;
    let caller = loop {
        match accept(listening.as_raw_fd()) {
            Err(nix::Error::EINTR) => {}
            accepted => break accepted?,
        }
    };
    // SAFETY: it is new, and nobody else has it.
    let caller = unsafe { OwnedFd::from_raw_fd(caller) };
    rustix::io::fcntl_setfd(&caller, rustix::io::FdFlags::CLOEXEC)?;
    Ok(caller)
}

/// Calls the agent in the guest with this number, within the two seconds that the kernel gives it.
///
/// # Errors
/// There is no such guest, or nobody listens there (yet); this machine has no such sockets.
pub fn connect_vsock(guest: u32) -> io::Result<UnixStream> {
    let calling = stream()?;
    connect(calling.as_raw_fd(), &VsockAddr::new(guest, VSOCK_PORT))?;
    // Streams are read, written and ended by the same calls, whatever their addresses.
    Ok(UnixStream::from(calling))
}

fn stream() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    Ok(socket(AddressFamily::Vsock, SockType::Stream, flags, None)?)
}
