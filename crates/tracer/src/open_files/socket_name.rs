//! Names of sockets: the address that one is connected to, else its family.

use backsight_syscall_decode::{CapturePoint, SyscallRecord};

/// The name of a socket that has no address yet.
pub(super) fn family_name(family: u64) -> String {
    let family = match family & 0xffff_ffff {
        1 => "AF_UNIX",
        2 => "AF_INET",
        10 => "AF_INET6",
        16 => "AF_NETLINK",
        17 => "AF_PACKET",
        other => return format!("socket (family {other})"),
    };
    format!("socket ({family})")
}

/// The address of a socket in memory, by the arguments that say where it is and how long.
pub(super) fn address_at(
    call: &SyscallRecord,
    place: usize,
    length: usize,
    when: CapturePoint,
) -> Option<Vec<u8>> {
    const LONGEST: usize = 128;
    let length = usize::try_from(call.arguments[length]).ok()?.min(LONGEST);
    address_name(call.memory.at(call.arguments[place], length, when)?)
}

/// The address of who was accepted.
pub(super) fn peer_of(call: &SyscallRecord) -> Option<Vec<u8>> {
    const LONGEST: usize = 128;
    let address = call
        .memory
        .at(call.arguments[1], LONGEST, CapturePoint::Left)?;
    address_name(address)
}

fn address_name(address: &[u8]) -> Option<Vec<u8>> {
    use std::net::{Ipv4Addr, Ipv6Addr};
    let family = u16::from_le_bytes(*address.first_chunk()?);
    let port = || Some(u16::from_be_bytes(*address.get(2..)?.first_chunk()?));
    match family {
        1 => {
            // The name of a socket without a file begins with a zero.
            let path = address.get(2..)?;
            let path = match path {
                [0, rest @ ..] if !rest.is_empty() => [b"@", rest].concat(),
                path => path.split(|byte| *byte == 0).next()?.to_vec(),
            };
            (!path.is_empty()).then(|| [b"socket:", &path[..]].concat())
        }
        2 => {
            let ip: [u8; 4] = *address.get(4..)?.first_chunk()?;
            Some(format!("socket:{}:{}", Ipv4Addr::from(ip), port()?).into_bytes())
        }
        10 => {
            let ip: [u8; 16] = *address.get(8..)?.first_chunk()?;
            Some(format!("socket:[{}]:{}", Ipv6Addr::from(ip), port()?).into_bytes())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(address: &[u8]) -> Option<String> {
        Some(String::from_utf8(address_name(address)?).unwrap())
    }

    #[test]
    fn sockets_are_called_as_their_addresses() {
        let six = [&[10, 0, 1, 187, 0, 0, 0, 0][..], &[0; 15], &[1, 0, 0, 0, 0]].concat();
        assert_eq!(named(&six).unwrap(), "socket:[::1]:443");
        assert_eq!(named(b"\x01\0/run/x\0\0\0").unwrap(), "socket:/run/x");
        assert_eq!(named(b"\x01\0\0hidden").unwrap(), "socket:@hidden");
        assert_eq!(named(b"\x01\0"), None);
        assert_eq!(named(b"\x02\0\0P"), None);
    }

    proptest! {
        #[test]
        fn whatever_an_address_is_it_is_named_or_not(bytes in prop::collection::vec(any::<u8>(), 0..140)) {
            let _named_or_not = address_name(&bytes);
        }
    }
}
