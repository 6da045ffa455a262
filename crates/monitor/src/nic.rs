//! Statistics that drivers of network interfaces keep themselves, as `ethtool -S` shows them.

use std::{fs, io, mem::MaybeUninit, os::fd::AsRawFd as _, os::fd::OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::{
    sampler::{Sampler, SamplerError, Scratch},
    series::Series,
    shape::NamePart,
};

const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const GET_SET_SIZES: u32 = 0x37;
const SET_STATISTICS: u32 = 1;
const NAME_BYTES: usize = 32;
/// Numbers that may come beyond those that were asked for, if a driver has more by then: the kernel writes all that it has.
const SPARE: usize = 4096;

/// An interface whose driver counts.
struct Interface {
    name: [u8; libc::IFNAMSIZ],
    part: NamePart,
    names: Vec<String>,
    /// The request, and its answer.
    statistics: Vec<u64>,
}

/// The sampler of all interfaces that there are as it starts.
pub(crate) struct Nics {
    socket: OwnedFd,
    interfaces: Vec<Interface>,
}

impl Nics {
    /// # Errors
    /// There is no interface whose driver counts.
    pub(crate) fn open() -> Result<Self, SamplerError> {
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let socket = socket.map_err(|error| {
            SamplerError::Missing(format!("can't ask drivers: no socket: {error}"))
        })?;
        // Not /sys/class/net, which shows the namespace that /sys was mounted in.
        let listed = fs::read_to_string("/proc/net/dev").unwrap_or_default();
        let names = listed.lines().filter_map(|line| line.rsplit_once(':'));
        let interfaces: Vec<Interface> = names
            .filter_map(|(name, _)| Interface::new(&socket, name.trim()).ok().flatten())
            .collect();
        match interfaces.is_empty() {
            true => Err(SamplerError::Missing(
                "no driver of an interface counts anything here".into(),
            )),
            false => Ok(Self { socket, interfaces }),
        }
    }
}

impl Sampler for Nics {
    fn sample(&mut self, scratch: &mut Scratch, series: &mut Series) -> Result<(), SamplerError> {
        self.interfaces.retain_mut(|interface| {
            if let Err(error) = interface.read(&self.socket) {
                let name = String::from_utf8_lossy(interface.part.as_bytes());
                scratch
                    .notes
                    .push(format!("without {name} from now on: {error}"));
                return false;
            }
            for (name, value) in interface.names.iter().zip(&interface.statistics[1..]) {
                let pieces: [&[u8]; 3] = [interface.part.as_bytes(), b".", name.as_bytes()];
                series.push(&pieces, value.cast_signed());
            }
            true
        });
        match self.interfaces.is_empty() {
            true => Err(SamplerError::Missing("no interface is left".into())),
            false => Ok(()),
        }
    }
}

impl Interface {
    /// None if its driver counts nothing.
    fn new(socket: &OwnedFd, name: &str) -> io::Result<Option<Self>> {
        let mut interface = Self {
            name: [0; libc::IFNAMSIZ],
            part: NamePart::new(name.as_bytes()),
            names: Vec::new(),
            statistics: Vec::new(),
        };
        for (to, from) in interface
            .name
            .iter_mut()
            .take(libc::IFNAMSIZ - 1)
            .zip(name.bytes())
        {
            *to = from;
        }
        interface.read_names(socket)?;
        Ok((!interface.names.is_empty()).then_some(interface))
    }

    fn read_names(&mut self, socket: &OwnedFd) -> io::Result<()> {
        // `struct ethtool_sset_info`: command, reserved, sets (64 bits), a size for each.
        let mut sizes = [GET_SET_SIZES, 0, 1 << SET_STATISTICS, 0, 0];
        if cfg!(target_endian = "big") {
            sizes.swap(2, 3);
        }
        self.ask(socket, sizes.as_mut_ptr().cast())?;
        let count = sizes[4] as usize;
        // `struct ethtool_gstrings`: command, set, length, names of 32 bytes.
        let mut strings = vec![0_u32; 3 + (count + SPARE) * NAME_BYTES / 4];
        strings[..3].copy_from_slice(&[GET_STRINGS, SET_STATISTICS, sizes[4]]);
        self.ask(socket, strings.as_mut_ptr().cast())?;
        let bytes: Vec<u8> = strings[3..]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        let names = bytes
            .chunks_exact(NAME_BYTES)
            .take((strings[2] as usize).min(count));
        self.names = names
            .map(|name| {
                let end = name
                    .iter()
                    .position(|byte| *byte == 0)
                    .unwrap_or(NAME_BYTES);
                String::from_utf8_lossy(name[..end].trim_ascii()).into_owned()
            })
            .collect();
        self.statistics = vec![0; 1 + self.names.len() + SPARE];
        Ok(())
    }

    fn read(&mut self, socket: &OwnedFd) -> io::Result<()> {
        // `struct ethtool_stats`: command, count, values.
        let header = |statistics: &[u64]| {
            let bytes = statistics[0].to_ne_bytes();
            let count = [bytes[4], bytes[5], bytes[6], bytes[7]];
            u32::from_ne_bytes(count) as usize
        };
        for _ in 0..2 {
            let mut request = [0; 8];
            request[..4].copy_from_slice(&GET_STATISTICS.to_ne_bytes());
            let count = u32::try_from(self.names.len()).unwrap_or(0);
            request[4..].copy_from_slice(&count.to_ne_bytes());
            self.statistics[0] = u64::from_ne_bytes(request);
            let statistics = self.statistics.as_mut_ptr();
            self.ask(socket, statistics.cast())?;
            if header(&self.statistics) == self.names.len() {
                return Ok(());
            }
            // It has other queues than before.
            self.read_names(socket)?;
        }
        Err(io::Error::other(
            "its driver counts something else each time",
        ))
    }

    /// A request of `SIOCETHTOOL`. What it points to has room for the kernel's answer.
    fn ask(&self, socket: &OwnedFd, request: *mut libc::c_char) -> io::Result<()> {
        // SAFETY: of plain numbers, all of which may be zero.
        let mut of: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
        for (to, from) in of.ifr_name.iter_mut().zip(self.name) {
            *to = from.cast_signed() as libc::c_char;
        }
        of.ifr_ifru.ifru_data = request;
        // SAFETY: the kernel reads the name and writes as much as the request says, for which there is room.
        let asked = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut of) };
        match asked {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
