//! Sockets by which the kernel is asked about sockets and families of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with, sockopt};

/// How long the kernel's answer is waited for: it comes at once, or not at all.
const PATIENCE: Duration = Duration::from_millis(100);

/// A netlink socket of a protocol.
pub(crate) fn connect_netlink(protocol: Protocol) -> io::Result<OwnedFd> {
    let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::RAW, flags, Some(protocol))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
    Ok(socket)
}
