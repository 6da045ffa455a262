//! The addresses that this machine's interfaces have, and from which of them it reaches others. Nothing is sent.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use backsight_model::InterfaceAddress;

/// A port that nobody needs to listen on: a UDP socket that is connected only looks its route up.
const DISCARD: u16 = 9;

/// From where a host reaches another address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerRoute {
    /// The other's address.
    pub peer: IpAddr,
    /// Its own address on the way there; or why there is no way, in the system's words.
    pub from: Result<IpAddr, String>,
}

/// What is asked about addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAddresses {
    /// All that its interfaces have.
    pub own: Vec<InterfaceAddress>,
    /// The ways to the peers that were asked for.
    pub routes: Vec<PeerRoute>,
}

/// The addresses of the interfaces that are there.
pub(crate) fn own() -> io::Result<Vec<InterfaceAddress>> {
    let all = nix::ifaddrs::getifaddrs()?;
    let own = all.filter_map(|it| {
        let address = it.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
        let v6 = || address.as_sockaddr_in6().map(|v6| IpAddr::from(v6.ip()));
        Some(InterfaceAddress {
            interface: it.interface_name,
            address: v4.or_else(v6)?,
        })
    });
    Ok(own.collect())
}

/// From where an address is reached.
pub(crate) fn route_to(peer: IpAddr) -> PeerRoute {
    let any: SocketAddr = match peer {
        IpAddr::V4(_) => ([0; 4], 0).into(),
        IpAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let looked_up = || {
        let socket = UdpSocket::bind(any)?;
        socket.connect((peer, DISCARD))?;
        Ok(socket.local_addr()?.ip())
    };
    let from = looked_up().map_err(|error: io::Error| error.to_string());
    PeerRoute { peer, from }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn this_machine_has_its_loopback_address_and_reaches_it_from_there() {
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        let own = own().unwrap();
        let lo = own.iter().find(|it| it.address == loopback).unwrap();
        assert_eq!(lo.interface, "lo");
        assert_eq!(route_to(loopback).from, Ok(loopback));
        // A test network, which only a default route leads to.
        let nowhere = route_to("2001:db8::1".parse().unwrap());
        assert!(nowhere.from.is_err() || nowhere.from.is_ok_and(|from| from.is_ipv6()));
    }
}
