//! Names of a process's descriptors, looked up in `/proc` while the process is stopped: paths, sockets with their addresses,
//! devices, processes; and of families of netlink and interfaces.
//!
//! Sockets are looked up where strace does it: the protocol is an attribute of the descriptor's link in `/proc`, addresses stand in
//! the tables of `/proc/PID/net`, and the kernel's socket diagnostics know a Unix socket's peer, in this process's network
//! namespace. A lookup that fails or takes too long gives the link's own text.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
    sockopt,
};

use crate::captured_descriptors::CapturedDescriptor;
use crate::error::ExpressionError;
use crate::generic_families::generic_families;
use crate::netlink_connection::connect_netlink;
use crate::processes::{self, PidDetails, PidTranslator, shown_as};
use crate::result_details::ResultDetails;
use backsight_syscall_decode::format::{self, EscapeStyle};
use backsight_syscall_decode::resolver::{CURRENT_DIRECTORY, DescriptorInfo, Resolver};
use backsight_syscall_decode::table;
use backsight_syscall_decode::table::PidKind;
use backsight_syscall_decode::value_list::ValueList;
use backsight_syscall_decode::{CapturePoint, SyscallRecord, TraceEvent};

/// Which of what is known of descriptors is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DescriptorDetails {
    /// Paths, and what the kernel has instead.
    pub path: bool,
    /// Sockets' protocols and addresses.
    pub socket: bool,
    /// Numbers of devices.
    pub device: bool,
    /// Numbers of the processes that descriptors of processes mean.
    pub pidfd: bool,
    /// Counts of event descriptors.
    pub eventfd: bool,
    /// The signals that descriptors of signals tell of.
    pub signalfd: bool,
}

impl DescriptorDetails {
    /// Paths alone (`-y`).
    pub const PATHS: Self = Self {
        path: true,
        socket: false,
        device: false,
        pidfd: false,
        eventfd: false,
        signalfd: false,
    };
    /// All (`-yy`).
    pub const ALL: Self = Self {
        path: true,
        socket: true,
        device: true,
        pidfd: true,
        eventfd: true,
        signalfd: true,
    };

    /// Reads a set as `-e decode-fds=` names it: `path`, `socket`, `dev`, `pidfd`, `eventfd` and `signalfd`, as [`ValueList`]
    /// has them.
    ///
    /// # Errors
    ///
    /// If it is no list or something isn't known.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let list = ValueList::parse(text)?;
        let mut aspects = if list.negated {
            Self::ALL
        } else {
            Self::default()
        };
        for value in list.values {
            let aspect = match value {
                "path" => &mut aspects.path,
                "socket" => &mut aspects.socket,
                "dev" => &mut aspects.device,
                "pidfd" => &mut aspects.pidfd,
                "eventfd" => &mut aspects.eventfd,
                "signalfd" => &mut aspects.signalfd,
                _ => return Err(ExpressionError::Aspect(value.to_owned())),
            };
            *aspect = !list.negated;
        }
        Ok(aspects)
    }

    /// Whether nothing is told.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// The files of descriptors. One that was just closed is what it was.
#[derive(Debug)]
pub struct ProcResolver {
    aspects: DescriptorDetails,
    seen: HashMap<(i32, i32), DescriptorInfo>,
    /// What was asked for last by what came with a call: a process, when its call was entered, and the descriptor.
    asked: Option<(i32, u64, i32)>,
    /// What is told of processes, if anything.
    processes: Option<PidTranslator>,
    /// What is told beside results.
    results: ResultDetails,
    escapes: EscapeStyle,
    /// What asks for Unix sockets; nothing until one is to be asked for, or where it can't be had.
    diagnostics: Option<Option<OwnedFd>>,
    /// Unix sockets that had a peer, by their inodes.
    pairs: HashMap<u32, String>,
    /// What asks for interfaces; nothing until one is to be asked for, or where it can't be had.
    interfaces: Option<Option<OwnedFd>>,
    /// Families of generic netlink by their numbers; nothing until one is to be named.
    families: Option<HashMap<u16, String>>,
}

impl ProcResolver {
    /// Tells of these aspects.
    pub fn new(aspects: DescriptorDetails) -> Self {
        Self {
            aspects,
            seen: HashMap::new(),
            asked: None,
            processes: None,
            results: ResultDetails::default(),
            escapes: EscapeStyle::default(),
            diagnostics: None,
            pairs: HashMap::new(),
            interfaces: None,
            families: None,
        }
    }

    /// Tells this beside results too.
    pub fn with_results(mut self, results: ResultDetails) -> Self {
        self.results = results;
        self
    }

    /// Tells of processes too, their names with these escapes.
    pub fn with_processes(mut self, details: PidDetails, escapes: EscapeStyle) -> Self {
        self.processes = (!details.is_empty()).then(|| PidTranslator::new(details));
        self.escapes = escapes;
        self
    }

    fn look(&mut self, pid: i32, fd: i32) -> Option<DescriptorInfo> {
        let pid = shown_as(pid);
        let place = if fd == CURRENT_DIRECTORY {
            format!("/proc/{pid}/cwd")
        } else {
            format!("/proc/{pid}/fd/{fd}")
        };
        let link = fs::read_link(&place).ok()?.into_os_string().into_vec();
        let mut told = DescriptorInfo::default();
        if fd != CURRENT_DIRECTORY {
            if self.aspects.socket && self.socket(pid, &place, &link, &mut told.detail) {
                return Some(told);
            }
            if self.aspects.device && device(&place, &mut told.detail) {
                (told.path, told.deleted) = path_of(&place, link);
                return Some(told);
            }
            if self.aspects.eventfd
                && link == EVENT_DESCRIPTOR
                && event_count(pid, fd, &mut told.detail)
            {
                return Some(told);
            }
            if self.aspects.signalfd
                && link == b"anon_inode:[signalfd]"
                && signals(pid, fd, &mut told.detail)
            {
                return Some(told);
            }
            if self.aspects.pidfd
                && link == b"anon_inode:[pidfd]"
                && process(pid, fd, &mut told.detail)
            {
                return Some(told);
            }
        }
        if self.aspects.path {
            (told.path, told.deleted) = path_of(&place, link);
        }
        Some(told)
    }

    /// What a descriptor was by what came with the call, with what is known besides if it still is the same.
    fn captured(&mut self, pid: i32, fd: i32, call: &SyscallRecord) -> Option<DescriptorInfo> {
        // Of a call that changes what it is, the arguments are told before the result.
        let asked = Some((pid, call.entered, fd));
        let again = self.asked == asked;
        self.asked = asked;
        let [first, second] = match again {
            true => [CapturePoint::Left, CapturePoint::Entered],
            false => [CapturePoint::Entered, CapturePoint::Left],
        };
        let known = CapturedDescriptor::from_call(call, fd, first)
            .or_else(|| CapturedDescriptor::from_call(call, fd, second))?;
        if known.has_details && self.aspects != DescriptorDetails::PATHS {
            let place = format!("/proc/{}/fd/{fd}", shown_as(pid));
            if fs::metadata(place).is_ok_and(|about| about.ino() == known.inode) {
                return self.look(pid, fd);
            }
        }
        let mut told = DescriptorInfo::default();
        if let (Some((kind, major, minor)), true) = (known.device, self.aspects.device) {
            told.detail = format!("<{kind} {major}:{minor}>").into_bytes();
        }
        if self.aspects.path || !told.detail.is_empty() {
            (told.path, told.deleted) = (known.path, known.deleted);
        }
        Some(told)
    }

    /// Says what a socket is; whether it is one.
    fn socket(&mut self, pid: i32, place: &str, link: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(inode) = socket_inode(link) else {
            return false;
        };
        let mut name = [0_u8; 64];
        let Ok(length) = rustix::fs::getxattr(place, "system.sockprotoname", &mut name[..]) else {
            return false;
        };
        let name = &name[..length];
        let name = name.strip_suffix(b"\0").unwrap_or(name);
        let name = String::from_utf8_lossy(name).into_owned();
        let found = if name.starts_with("UNIX") {
            self.unix(&name, inode)
        } else if name == "NETLINK" {
            netlink_socket(pid, inode)
        } else {
            let address = internet(pid, &name, inode).or_else(|| self.bound(&name, inode));
            address.map(|address| format!("{name}:[{address}]"))
        };
        out.extend_from_slice(
            found
                .unwrap_or_else(|| format!("{name}:[{inode}]"))
                .as_bytes(),
        );
        true
    }

    /// A Unix socket with its peer and its path.
    fn unix(&mut self, protocol: &str, inode: u32) -> Option<String> {
        let mut answer = [0_u8; 4096];
        let length = self.ask(&unix_question(inode), &mut answer)?;
        let told = unix_answer(protocol, inode, answer.get(..length)?)?;
        // Who has lost its peer is told as it was.
        let alone = told.contains("->0,") || told.ends_with("->0]");
        if alone && let Some(before) = self.pairs.get(&inode) {
            return Some(before.clone());
        }
        if told.contains("->") {
            if self.pairs.len() >= MOST_PAIRS {
                self.pairs.clear();
            }
            self.pairs.insert(inode, told.clone());
        }
        Some(told)
    }

    /// The address of a TCP socket that is bound and neither listens nor is connected: no table has it, and only kernels
    /// from 6.8 on tell it.
    fn bound(&mut self, protocol: &str, inode: u32) -> Option<String> {
        let found = self.look_through_bound(protocol, inode);
        // The rest of the answer is nobody's.
        self.diagnostics = None;
        found
    }

    fn look_through_bound(&mut self, protocol: &str, inode: u32) -> Option<String> {
        let family = match protocol {
            "TCP" => AddressFamily::INET,
            "TCPv6" => AddressFamily::INET6,
            _ => return None,
        };
        let mut answer = [0_u8; 16384];
        let mut length = self.ask(&bound_question(family), &mut answer)?;
        for _ in 0..MOST_ANSWERS {
            match bound_answer(inode, answer.get(..length)?) {
                Bound::There(address) => return Some(address),
                Bound::Nowhere => return None,
                Bound::Elsewhere => {}
            }
            let socket = self.diagnostics.as_ref()?.as_ref()?;
            (_, length) = recv(socket, &mut answer[..], RecvFlags::empty()).ok()?;
        }
        None
    }

    /// Asks the kernel, and says how long its answer is.
    fn ask(&mut self, question: &[u8], answer: &mut [u8]) -> Option<usize> {
        let open = || connect_netlink(netlink::SOCK_DIAG);
        let socket = self.diagnostics.get_or_insert_with(|| open().ok());
        send(socket.as_ref()?, question, SendFlags::empty()).ok()?;
        let (_, length) = recv(socket.as_ref()?, answer, RecvFlags::empty()).ok()?;
        Some(length)
    }
}

/// What descriptors that count events are.
const EVENT_DESCRIPTOR: &[u8] = b"anon_inode:[eventfd]";
/// Most Unix sockets that are remembered.
const MOST_PAIRS: usize = 1 << 16;
/// Most pieces of an answer that are looked through.
const MOST_ANSWERS: usize = 64;

impl Resolver for ProcResolver {
    fn note_event(&mut self, event: &TraceEvent) {
        if let Some(processes) = &mut self.processes {
            processes.note_event(event);
        }
    }

    fn describe_pid(&mut self, pid: i32, number: i32, whose: PidKind) -> Vec<u8> {
        let processes = self.processes.as_mut();
        processes.map_or_else(Vec::new, |it| it.explain(pid, number, whose, self.escapes))
    }

    fn translate_pid(&mut self, pid: i32, number: i32) -> Option<i32> {
        processes::here(pid, number)
    }

    fn pid_of_descriptor(&mut self, pid: i32, descriptor: i32) -> Option<i32> {
        meant(shown_as(pid), descriptor)
    }

    fn describe_result(&mut self, tid: i32, call: &SyscallRecord) -> Option<Vec<u8>> {
        self.results.describe(tid, call)
    }

    fn interface_name(&mut self, pid: i32, number: u32) -> Option<String> {
        let socket = self
            .interfaces
            .get_or_insert_with(|| {
                let flags = SocketFlags::CLOEXEC;
                socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None).ok()
            })
            .as_ref()?;
        // Another network's interfaces have other numbers. A process that is gone was in this one, most likely.
        let network = |process: &str| fs::read_link(format!("/proc/{process}/ns/net"));
        if let (Ok(own), Ok(other)) = (network("self"), network(&shown_as(pid).to_string()))
            && own != other
        {
            return None;
        }
        rustix::net::netdevice::index_to_name(socket, number).ok()
    }

    fn machine_start(&mut self) -> Option<i64> {
        use rustix::time::{ClockId, clock_gettime};
        let nanoseconds = |clock| {
            let now = clock_gettime(clock);
            now.tv_sec * 1_000_000_000 + now.tv_nsec
        };
        Some(nanoseconds(ClockId::Realtime) - nanoseconds(ClockId::Boottime))
    }

    fn generic_family(&mut self, number: u16) -> Option<String> {
        let families = self.families.get_or_insert_with(generic_families);
        families.get(&number).cloned()
    }

    fn describe_thread(&mut self, tid: i32) -> Vec<u8> {
        let processes = self.processes.as_mut();
        processes.map_or_else(Vec::new, |it| it.thread(tid, self.escapes))
    }

    fn describe_descriptor(&mut self, pid: i32, fd: i32, call: &SyscallRecord) -> DescriptorInfo {
        if self.aspects.is_empty() {
            return DescriptorInfo::default();
        }
        if let Some(told) = self.captured(pid, fd, call) {
            return told;
        }
        match self.look(pid, fd) {
            Some(told) => {
                self.seen.insert((pid, fd), told.clone());
                told
            }
            // Others are asked what isn't a descriptor any longer.
            None if table::find_syscall(call.abi, call.number)
                .is_none_or(|row| row.name != "close") =>
            {
                DescriptorInfo::default()
            }
            None => self.seen.remove(&(pid, fd)).unwrap_or_default(),
        }
    }
}

/// What the kernel says of a descriptor behind this word.
fn information(pid: i32, fd: i32, word: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()?;
    let mut lines = text.lines();
    let said = lines.find_map(|line| line.strip_prefix(word)?.strip_prefix(':'))?;
    Some(said.trim().to_owned())
}

/// Whether this is a descriptor that counts events.
pub(crate) fn is_event_descriptor(tid: i32, fd: i32) -> bool {
    let link = fs::read_link(format!("/proc/{}/fd/{fd}", shown_as(tid)));
    link.is_ok_and(|link| link.as_os_str().as_bytes() == EVENT_DESCRIPTOR)
}

/// Says the count of an event descriptor, its number, and whether it is a semaphore; whether that is known.
fn event_count(pid: i32, fd: i32, out: &mut Vec<u8>) -> bool {
    let said = |word| information(pid, fd, word);
    let (Some(count), Some(id)) = (said("eventfd-count"), said("eventfd-id")) else {
        return false;
    };
    let semaphore = said("eventfd-semaphore").unwrap_or_else(|| "0".into());
    let count = match count.as_str() {
        "0" => count,
        _ => format!("0x{count}"),
    };
    let text = format!("{{eventfd-count={count}, eventfd-id={id}, eventfd-semaphore={semaphore}}}");
    out.extend_from_slice(text.as_bytes());
    true
}

/// Says the signals that a descriptor tells of; whether they are known.
fn signals(pid: i32, fd: i32, out: &mut Vec<u8>) -> bool {
    let mask = information(pid, fd, "sigmask");
    let Some(mask) = mask.and_then(|mask| u64::from_str_radix(&mask, 16).ok()) else {
        return false;
    };
    out.extend_from_slice(b"signalfd:");
    format::signal_set(out, format::ConstantStyle::Names, mask);
    true
}

/// Says a device's numbers; whether it is one.
fn device(place: &str, out: &mut Vec<u8>) -> bool {
    let Ok(about) = fs::metadata(place) else {
        return false;
    };
    let kind = match about.file_type() {
        kind if kind.is_char_device() => "char",
        kind if kind.is_block_device() => "block",
        _ => return false,
    };
    let (major, minor) = (
        rustix::fs::major(about.rdev()),
        rustix::fs::minor(about.rdev()),
    );
    out.extend_from_slice(format!("<{kind} {major}:{minor}>").as_bytes());
    true
}

/// The path that a link says, and whether the file has it no longer: the kernel adds a word to it then, which a name may
/// have too.
pub(crate) fn path_of(place: &str, link: Vec<u8>) -> (Vec<u8>, bool) {
    let Some(path) = link.strip_suffix(b" (deleted)") else {
        return (link, false);
    };
    let file = |about: io::Result<fs::Metadata>| about.ok().map(|it| (it.dev(), it.ino()));
    let named = file(fs::symlink_metadata(OsStr::from_bytes(&link)));
    if named.is_some() && named == file(fs::metadata(place)) {
        return (link, false);
    }
    (path.to_vec(), true)
}

/// Which process a descriptor means.
fn meant(pid: i32, fd: i32) -> Option<i32> {
    let about = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()?;
    let number = about.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    let number: i32 = number.trim().parse().ok()?;
    (number > 0).then_some(number)
}

/// Says which process a descriptor means; whether that is known.
fn process(pid: i32, fd: i32, out: &mut Vec<u8>) -> bool {
    let Some(number) = meant(pid, fd) else {
        return false;
    };
    out.extend_from_slice(format!("pid:{number}").as_bytes());
    true
}

/// The addresses of an internet socket, by its protocol's table.
fn internet(pid: i32, protocol: &str, inode: u32) -> Option<String> {
    let table = match protocol {
        "TCP" => "tcp",
        "TCPv6" => "tcp6",
        "UDP" => "udp",
        "UDPv6" => "udp6",
        "UDP-Lite" | "UDPLITE" => "udplite",
        "UDPLITEv6" => "udplite6",
        "RAW" => "raw",
        "RAWv6" => "raw6",
        "PING" => "icmp",
        "PINGv6" => "icmp6",
        _ => return None,
    };
    let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).ok()?;
    text.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (fields.next()?, fields.next()?);
        let number = fields.nth(6)?.parse::<u32>().ok()?;
        (number == inode).then(|| addresses(local, remote))?
    })
}

/// `127.0.0.1:5432->127.0.0.1:40000`, of two addresses as those tables have them.
fn addresses(local: &str, remote: &str) -> Option<String> {
    let (local, remote) = (address(local)?, address(remote)?);
    let shown = |(address, port): (IpAddr, u16)| match address {
        IpAddr::V4(address) => format!("{address}:{port}"),
        IpAddr::V6(address) => format!("[{address}]:{port}"),
    };
    let mut text = shown(local);
    if remote.1 != 0 || !remote.0.is_unspecified() {
        // Writing to a string can't fail.
        let _ = write!(text, "->{}", shown(remote));
    }
    Some(text)
}

/// An address and a port in hexadecimal, the address in words of this machine's order.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for word in 0..address.len() / 8 {
        let word = u32::from_str_radix(address.get(word * 8..word * 8 + 8)?, 16).ok()?;
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    let address = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(bytes) => Ipv4Addr::from(bytes).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[..]).ok()?).into(),
    };
    Some((address, port))
}

/// The protocol of a netlink socket; one that there is none of where it can't be known, and nothing where the descriptor
/// is of something else.
pub fn netlink_protocol(pid: i32, fd: i32) -> Option<u8> {
    const NAME: &[u8] = b"NETLINK";
    let shown = shown_as(pid);
    let place = format!("/proc/{shown}/fd/{fd}");
    let mut name = [0_u8; 64];
    let length = rustix::fs::getxattr(&place, "system.sockprotoname", &mut name[..]).ok()?;
    let name = name.get(..length)?;
    if name.strip_suffix(b"\0").unwrap_or(name) != NAME {
        return None;
    }
    // No table has those that aren't bound: the socket itself is asked.
    let protocol = protocol_of(pid, fd).or_else(|| {
        let link = fs::read_link(&place).ok()?.into_os_string().into_vec();
        Some(netlink_numbers(shown, socket_inode(&link)?)?.0)
    });
    let protocol = protocol.and_then(|protocol| u8::try_from(protocol).ok());
    Some(protocol.unwrap_or(u8::MAX))
}

fn protocol_of(pid: i32, fd: i32) -> Option<u32> {
    use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
    let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let socket = pidfd_getfd(process, fd, PidfdGetfdFlags::empty()).ok()?;
    let protocol = sockopt::socket_protocol(socket).ok()?;
    Some(protocol.map_or(0, |protocol| protocol.as_raw().get()))
}

fn socket_inode(link: &[u8]) -> Option<u32> {
    let number = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// The protocol of a netlink socket, and its number there.
fn netlink_numbers(pid: i32, inode: u32) -> Option<(u32, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/net/netlink")).ok()?;
    text.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        if fields.last()?.parse::<u32>().ok()? != inode {
            return None;
        }
        Some((fields.get(1)?.parse().ok()?, fields.get(2)?.parse().ok()?))
    })
}

/// What a netlink socket speaks and its number there.
fn netlink_socket(pid: i32, inode: u32) -> Option<String> {
    const PROTOCOLS: [(u32, &str); 20] = [
        (0, "ROUTE"),
        (1, "UNUSED"),
        (2, "USERSOCK"),
        (3, "FIREWALL"),
        (4, "SOCK_DIAG"),
        (5, "NFLOG"),
        (6, "XFRM"),
        (7, "SELINUX"),
        (8, "ISCSI"),
        (9, "AUDIT"),
        (10, "FIB_LOOKUP"),
        (11, "CONNECTOR"),
        (12, "NETFILTER"),
        (13, "IP6_FW"),
        (14, "DNRTMSG"),
        (15, "KOBJECT_UEVENT"),
        (16, "GENERIC"),
        (18, "SCSITRANSPORT"),
        (19, "ECRYPTFS"),
        (21, "CRYPTO"),
    ];
    let (protocol, port) = netlink_numbers(pid, inode)?;
    let name = PROTOCOLS.iter().find(|(number, _)| *number == protocol);
    let name = name.map_or_else(|| protocol.to_string(), |(_, name)| (*name).to_owned());
    Some(format!("NETLINK:[{name}:{port}]"))
}

/// What is asked of a Unix socket: its name and its peer (`struct unix_diag_req`, sock_diag(7)).
fn unix_question(inode: u32) -> Vec<u8> {
    const BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const NAME_AND_PEER: u32 = 1 | 4;
    let mut body = vec![AddressFamily::UNIX.as_raw() as u8, 0, 0, 0];
    for word in [u32::MAX, inode, NAME_AND_PEER, u32::MAX, u32::MAX] {
        body.extend_from_slice(&word.to_ne_bytes());
    }
    let mut message = Vec::new();
    message.extend_from_slice(&(16 + body.len() as u32).to_ne_bytes());
    message.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    message.extend_from_slice(&REQUEST.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend(body);
    message
}

/// What is asked of sockets that are bound (`struct inet_diag_req_v2`, sock_diag(7)).
fn bound_question(family: AddressFamily) -> Vec<u8> {
    const BY_FAMILY: u16 = 20;
    const REQUEST_ALL: u16 = 0x301;
    const TCP: u8 = 6;
    const BOUND: u32 = 1 << 13;
    const LENGTH: u32 = 16 + 56;
    let mut message = Vec::new();
    message.extend_from_slice(&LENGTH.to_ne_bytes());
    message.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    message.extend_from_slice(&REQUEST_ALL.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&[family.as_raw() as u8, TCP, 0, 0]);
    message.extend_from_slice(&BOUND.to_ne_bytes());
    message.resize(LENGTH as usize, 0);
    message
}

/// What a piece of an answer says of a socket.
#[derive(Debug, PartialEq, Eq)]
enum Bound {
    /// Its address.
    There(String),
    /// Nothing yet.
    Elsewhere,
    /// Nothing, and there is no more.
    Nowhere,
}

/// Looks for a socket in a piece of an answer (`struct inet_diag_msg`).
fn bound_answer(inode: u32, answer: &[u8]) -> Bound {
    const BY_FAMILY: u16 = 20;
    const HEAD: usize = 16;
    let mut rest = answer;
    while rest.len() >= HEAD {
        let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        let kind = u16::from_ne_bytes([rest[4], rest[5]]);
        let Some(message) = rest.get(HEAD..length).filter(|_| kind == BY_FAMILY) else {
            return Bound::Nowhere;
        };
        if let Some(address) = bound_address(inode, message) {
            return Bound::There(address);
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Bound::Elsewhere
}

fn bound_address(inode: u32, message: &[u8]) -> Option<String> {
    let number = u32::from_ne_bytes(message.get(68..72)?.try_into().ok()?);
    if number != inode {
        return None;
    }
    let port = u16::from_be_bytes([message[4], message[5]]);
    if i32::from(message[0]) == i32::from(AddressFamily::INET6.as_raw()) {
        let address = <[u8; 16]>::try_from(&message[8..24]).ok()?;
        Some(format!("[{}]:{port}", Ipv6Addr::from(address)))
    } else {
        let address = <[u8; 4]>::try_from(&message[8..12]).ok()?;
        Some(format!("{}:{port}", Ipv4Addr::from(address)))
    }
}

/// What the answer says (`struct unix_diag_msg` and its attributes).
fn unix_answer(protocol: &str, inode: u32, answer: &[u8]) -> Option<String> {
    const BY_FAMILY: u16 = 20;
    const NAME: u16 = 0;
    const PEER: u16 = 2;
    let half = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    if half(4)? != BY_FAMILY || word(20)? != inode {
        return None;
    }
    let mut text = format!("{protocol}:[{inode}");
    let mut name = None;
    let mut at = 32;
    while let (Some(length), Some(attribute)) = (half(at), half(at + 2)) {
        let length = usize::from(length);
        if length < 4 {
            break;
        }
        match attribute {
            NAME => name = answer.get(at + 4..at + length),
            PEER => {
                let _ = write!(text, "->{}", word(at + 4)?);
            }
            _ => {}
        }
        at += length.next_multiple_of(4);
    }
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        let (sign, name) = match name.strip_prefix(b"\0") {
            Some(name) => ("@", name),
            None => ("", name.strip_suffix(b"\0").unwrap_or(name)),
        };
        let mut quoted = Vec::new();
        format::quoted(&mut quoted, name, EscapeStyle::Octal);
        let _ = write!(text, ",{sign}{}", String::from_utf8_lossy(&quoted));
    }
    text.push(']');
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        assert_eq!(
            addresses("0100007F:1538", "0100007F:9C40").unwrap(),
            "127.0.0.1:5432->127.0.0.1:40000"
        );
        assert_eq!(
            addresses("00000000:0050", "00000000:0000").unwrap(),
            "0.0.0.0:80"
        );
        assert_eq!(
            addresses(
                "00000000000000000000000001000000:0050",
                "00000000000000000000000000000000:0000"
            )
            .unwrap(),
            "[::1]:80"
        );
        assert_eq!(addresses("oops", "0:0"), None);
    }

    #[test]
    fn aspects_are_named_as_strace_names_them() {
        assert_eq!(
            DescriptorDetails::parse("path"),
            Ok(DescriptorDetails::PATHS)
        );
        assert_eq!(
            DescriptorDetails::parse("path,socket,dev,pidfd,eventfd,signalfd"),
            Ok(DescriptorDetails::ALL)
        );
        assert!(DescriptorDetails::parse("!all").unwrap().is_empty());
        assert!(!DescriptorDetails::parse("!path").unwrap().path);
        assert!(DescriptorDetails::parse("bogus").is_err());
    }

    #[test]
    fn the_ends_of_a_pair_know_each_other() {
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        let inode = |socket: &std::os::unix::net::UnixStream| {
            rustix::fs::fstat(socket).unwrap().st_ino as u32
        };
        let mut files = ProcResolver::new(DescriptorDetails::ALL);
        let told = files.unix("UNIX-STREAM", inode(&one)).unwrap();
        assert_eq!(
            told,
            format!("UNIX-STREAM:[{}->{}]", inode(&one), inode(&other))
        );
    }

    #[test]
    fn a_socket_that_is_only_bound_is_told_where_the_kernel_tells_it() {
        use rustix::net::{SocketAddrV4, bind, getsockname, socket};
        let bound = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&bound, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = SocketAddrV4::try_from(getsockname(&bound).unwrap())
            .unwrap()
            .port();
        let inode = rustix::fs::fstat(&bound).unwrap().st_ino as u32;
        if let Some(told) = ProcResolver::new(DescriptorDetails::ALL).bound("TCP", inode) {
            assert_eq!(told, format!("127.0.0.1:{port}"));
        }
    }

    #[test]
    fn an_answer_that_is_none_is_no_socket() {
        assert_eq!(unix_answer("UNIX", 7, &[]), None);
        assert_eq!(unix_answer("UNIX", 7, &[0; 64]), None);
        assert_eq!(bound_answer(7, &[]), Bound::Elsewhere);
        assert_eq!(bound_answer(7, &[0; 200]), Bound::Nowhere);
        assert_eq!(bound_answer(7, &[255; 200]), Bound::Nowhere);
    }
}
