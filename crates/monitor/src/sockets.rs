//! TCP sockets of the watched processes, as `ss --info` shows them: asked of the kernel by sock_diag.

use std::{collections::HashMap, fs, io, os::fd::OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use crate::{
    process_tree::Members,
    sampler::{ProcessTree, Sampler, SamplerError, Scratch},
    series::Series,
};

const HEADER_BYTES: usize = 16;
const MESSAGE_BYTES: usize = 72;
/// Where a message has the socket's inode.
const INODE: usize = 68;
/// TCPDIAG_GETSOCK: the older request, which gives the sockets of both families in one walk over the kernel's table.
const ALL_FAMILIES: u16 = 18;
const END: u16 = 3;
const ERROR: u16 = 2;
/// NLM_F_REQUEST and NLM_F_DUMP.
const REQUEST_ALL: u16 = 0x301;
const INFO: u16 = 2;

/// The states of TCP, from 1 on (the kernel's net/tcp_states.h).
const STATES: &[&str] = &[
    "established",
    "syn_sent",
    "syn_received",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "closed",
    "close_wait",
    "last_ack",
    "listening",
    "closing",
    "new_syn_received",
];
const LISTENING: usize = 9;

/// Counters of `struct tcp_info`: where they are and how many bytes they have. What a kernel lacks is left out.
const COUNTERS: &[(&str, usize, usize)] = &[
    ("retransmits", 100, 4),
    ("bytes_acked", 120, 8),
    ("bytes_received", 128, 8),
    ("segments_out", 136, 4),
    ("segments_in", 140, 4),
    ("busy_us", 168, 8),
    ("receiver_limited_us", 176, 8),
    ("buffer_limited_us", 184, 8),
    ("delivered", 192, 4),
    ("delivered_ce", 196, 4),
    ("bytes_sent", 200, 8),
    ("bytes_retransmitted", 208, 8),
];
const UNACKED: usize = 24;
const LOST: usize = 32;
const RTT: usize = 68;
const CONGESTION_WINDOW: usize = 80;
const UNSENT_BYTES: usize = 144;
/// As long as one from Linux 4.6 at least.
const LEAST_INFO: usize = 152;

/// A socket of this machine.
#[derive(Debug, Default, Clone, Copy)]
struct Socket {
    /// Whether one of the watched processes has it.
    ours: bool,
    counted: [i64; COUNTERS.len()],
    seen: bool,
}

/// The sampler of sockets.
pub(crate) struct Sockets {
    kernel: OwnedFd,
    members: Members,
    /// By their inodes.
    sockets: HashMap<u32, Socket>,
    /// What sockets that have been closed had counted.
    ended: [i64; COUNTERS.len()],
    /// How many of the counters this kernel has.
    known: usize,
    answer: Vec<u8>,
}

/// What is added up in one sample.
#[derive(Default)]
struct Totals {
    states: [i64; STATES.len()],
    counted: [i64; COUNTERS.len()],
    connections: i64,
    rtt_us: i64,
    longest_rtt_us: i64,
    window: i64,
    unacked: i64,
    lost: i64,
    unsent_bytes: i64,
    received_queue: i64,
    sent_queue: i64,
}

impl Sockets {
    /// # Errors
    /// There are no processes to watch, or the kernel tells nothing of sockets.
    pub(crate) fn open(tree: Option<&ProcessTree>) -> Result<Self, SamplerError> {
        let members = Members::new(tree)?;
        let kernel = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        );
        let kernel = kernel.map_err(|error| refused(&error.into()))?;
        Ok(Self {
            kernel,
            members,
            sockets: HashMap::new(),
            ended: [0; COUNTERS.len()],
            known: COUNTERS.len(),
            answer: vec![0; 64 << 10],
        })
    }

    /// Goes through all TCP sockets: their messages, attributes included.
    fn for_each(&mut self, each: &mut impl FnMut(&mut Self, &[u8])) -> io::Result<()> {
        let mut request = [0_u8; HEADER_BYTES + 60];
        let length = u32::try_from(request.len()).unwrap_or(0);
        request[..4].copy_from_slice(&length.to_ne_bytes());
        request[4..6].copy_from_slice(&ALL_FAMILIES.to_ne_bytes());
        request[6..8].copy_from_slice(&REQUEST_ALL.to_ne_bytes());
        // `struct inet_diag_req`: the fourth byte has a bit for each attribute; after an address that says nothing a bit for each state.
        let body = &mut request[HEADER_BYTES..];
        body[3] = 1 << (INFO - 1);
        body[52..56].copy_from_slice(&u32::MAX.to_ne_bytes());
        send(&self.kernel, &request, SendFlags::empty())?;
        loop {
            let mut answer = std::mem::take(&mut self.answer);
            let (_, length) = recv(&self.kernel, &mut answer[..], RecvFlags::empty())?;
            let ended = self.read_answer(&answer[..length.min(answer.len())], each);
            self.answer = answer;
            if ended? {
                return Ok(());
            }
        }
    }

    /// Whether this was the end.
    fn read_answer(
        &mut self,
        mut answer: &[u8],
        each: &mut impl FnMut(&mut Self, &[u8]),
    ) -> io::Result<bool> {
        while answer.len() >= HEADER_BYTES {
            let length = usize::try_from(unsigned(answer, 0, 4)).unwrap_or(0);
            let kind = u16::from_ne_bytes([answer[4], answer[5]]);
            let Some(message) = answer.get(HEADER_BYTES..length) else {
                break;
            };
            match kind {
                END => return Ok(true),
                ERROR => {
                    let error = unsigned(message, 0, 4) as i32;
                    return Err(io::Error::from_raw_os_error(-error));
                }
                _ if message.len() >= MESSAGE_BYTES => each(self, message),
                _ => {}
            }
            answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(false)
    }

    /// Which of the sockets are the watched processes'.
    fn find_owners(&mut self, scratch: &mut Scratch) -> Result<(), SamplerError> {
        self.members.refresh(scratch)?;
        for member in self.members.members() {
            let files = fs::read_dir(format!("/proc/{}/fd", member.pid));
            for file in files.into_iter().flatten().flatten() {
                let inode = fs::read_link(file.path()).ok().and_then(|target| {
                    let inode = target.to_str()?.strip_prefix("socket:[")?;
                    inode.strip_suffix(']')?.parse().ok()
                });
                let socket = inode.and_then(|inode: u32| self.sockets.get_mut(&inode));
                if let Some(socket) = socket {
                    socket.ours = true;
                }
            }
        }
        Ok(())
    }

    /// Adds up the sockets of the watched processes; says whether there are new ones, which may be theirs too.
    fn sum(&mut self) -> io::Result<(Totals, bool)> {
        let mut totals = Totals::default();
        let mut new = false;
        let mut add = |sockets: &mut Self, message: &[u8]| {
            // Without an inode no process has it any more.
            let inode = unsigned(message, INODE, 4) as u32;
            if inode == 0 {
                return;
            }
            let socket = sockets.sockets.entry(inode).or_insert_with(|| {
                new = true;
                Socket::default()
            });
            socket.seen = true;
            if socket.ours {
                sockets.known = sockets.known.min(totals.add(message, socket));
            }
        };
        self.for_each(&mut add)?;
        Ok((totals, new))
    }
}

impl Sampler for Sockets {
    fn sample(&mut self, scratch: &mut Scratch, series: &mut Series) -> Result<(), SamplerError> {
        let (mut totals, new) = self.sum().map_err(|error| refused(&error))?;
        if new {
            self.find_owners(scratch)?;
            totals = self.sum().map_err(|error| refused(&error))?.0;
        }
        let ended = &mut self.ended;
        self.sockets.retain(|_, socket| {
            if !socket.seen && socket.ours {
                for (sum, counted) in ended.iter_mut().zip(socket.counted) {
                    *sum += counted;
                }
            }
            std::mem::take(&mut socket.seen)
        });
        totals.write(&self.ended, self.known, series);
        Ok(())
    }
}

impl Totals {
    /// Adds a socket; says how many counters this kernel has.
    fn add(&mut self, message: &[u8], socket: &mut Socket) -> usize {
        let state = usize::from(message[1]).wrapping_sub(1);
        if let Some(count) = self.states.get_mut(state) {
            *count += 1;
        }
        let info = attribute(&message[MESSAGE_BYTES..], INFO).unwrap_or_default();
        // A socket that listens has other things in these fields.
        if state == LISTENING || info.len() < LEAST_INFO {
            return COUNTERS.len();
        }
        self.received_queue += unsigned(message, 56, 4);
        self.sent_queue += unsigned(message, 60, 4);
        let number = |at| unsigned(info, at, 4);
        self.connections += 1;
        self.rtt_us += number(RTT);
        self.longest_rtt_us = self.longest_rtt_us.max(number(RTT));
        self.window += number(CONGESTION_WINDOW);
        self.unacked += number(UNACKED);
        self.lost += number(LOST);
        self.unsent_bytes += number(UNSENT_BYTES);
        for (counted, (_, at, bytes)) in socket.counted.iter_mut().zip(COUNTERS) {
            *counted = unsigned(info, *at, *bytes);
        }
        for (sum, counted) in self.counted.iter_mut().zip(socket.counted) {
            *sum += counted;
        }
        let known = COUNTERS
            .iter()
            .take_while(|(_, at, bytes)| at + bytes <= info.len());
        known.count()
    }

    fn write(&self, ended: &[i64], known: usize, series: &mut Series) {
        for (state, count) in STATES.iter().zip(self.states) {
            series.push(&[b"state.", state.as_bytes()], count);
        }
        let counters = COUNTERS.iter().zip(self.counted).zip(ended).take(known);
        for (((name, ..), counted), ended) in counters {
            series.push(&[name.as_bytes()], counted + ended);
        }
        for (name, value) in [
            ("receive_queue_bytes", self.received_queue),
            ("send_queue_bytes", self.sent_queue),
            ("unsent_bytes", self.unsent_bytes),
            ("unacked", self.unacked),
            ("lost", self.lost),
            ("window.sum", self.window),
        ] {
            series.push(&[name.as_bytes()], value);
        }
        // Without connections there is no time.
        if let Some(mean) = self.rtt_us.checked_div(self.connections) {
            series.push(&[b"rtt_us.mean"], mean);
            series.push(&[b"rtt_us.max"], self.longest_rtt_us);
        }
    }
}

/// A number of some bytes in the machine's order; 0 beyond the end.
fn unsigned(bytes: &[u8], at: usize, length: usize) -> i64 {
    let bytes = bytes.get(at..at + length).unwrap_or_default();
    match *bytes {
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => i64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// An attribute among those of a message.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]);
        let value = attributes.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn refused(error: &io::Error) -> SamplerError {
    SamplerError::Missing(format!(
        "the kernel tells nothing of TCP sockets: {error}: it needs sock_diag (CONFIG_INET_TCP_DIAG, the module tcp_diag)"
    ))
}
