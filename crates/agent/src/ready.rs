//! Whether a step is ready: a socket, a file, a line.
//!
//! The kernel tells nobody when somebody else's socket begins to listen: these are questions, asked again and again.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use regex::bytes::Regex;
use tokio::time::Instant;

use crate::step::{Condition, ReadyCheck};

/// The first pause between two questions; each is twice the one before, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// A condition that is awaited.
pub(crate) struct PendingCondition {
    sign: Sign,
    pub(crate) why: String,
    pub(crate) until: Instant,
    pub(crate) ask_at: Instant,
    pause: Duration,
}

enum Sign {
    /// A socket in this table, on this port, that isn't one of those from before.
    Socket {
        table: Table,
        port: u16,
        before: HashSet<u64>,
    },
    File(PathBuf),
    /// Seen by who reads the output.
    Line,
}

#[derive(Clone, Copy)]
enum Table {
    Tcp,
    Udp,
}

impl PendingCondition {
    /// To be made before the step starts: what is there already is no sign. Its limit counts from [`PendingCondition::begin`].
    pub(crate) fn new(ready: &ReadyCheck, folder: &std::path::Path) -> Self {
        let socket = |table, port| Sign::Socket {
            table,
            port,
            before: sockets(table, port),
        };
        let now = Instant::now();
        Self {
            sign: match &ready.condition {
                Condition::Listens(port) => socket(Table::Tcp, *port),
                Condition::Binds(port) => socket(Table::Udp, *port),
                Condition::File(path) => Sign::File(folder.join(path)),
                Condition::Line(_) => Sign::Line,
            },
            why: ready.condition.to_string(),
            until: now,
            ask_at: now,
            pause: FIRST_PAUSE,
        }
    }

    /// The step begins now and has this long.
    pub(crate) fn begin(&mut self, limit: Duration) {
        let now = Instant::now();
        self.until = now
            .checked_add(limit)
            .unwrap_or(now + Duration::from_secs(365 * 86400));
        self.ask_at = match self.sign {
            Sign::Line => self.until,
            _ => now + self.pause,
        };
    }

    /// Whether it has come true; plans the next question.
    pub(crate) fn ask(&mut self) -> bool {
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.ask_at = Instant::now() + self.pause;
        match &self.sign {
            Sign::Socket {
                table,
                port,
                before,
            } => sockets(*table, *port)
                .iter()
                .any(|socket| !before.contains(socket)),
            Sign::File(path) => path.exists(),
            Sign::Line => false,
        }
    }

    /// Why it hasn't come true, with what is worth knowing about it.
    pub(crate) fn why(&self) -> String {
        match &self.sign {
            Sign::Socket { before, .. } if !before.is_empty() => {
                format!("{} (another program had that port already)", self.why)
            }
            _ => self.why.clone(),
        }
    }
}

/// The inodes of the sockets on a port in this network namespace: listening ones of TCP, bound ones of UDP.
fn sockets(table: Table, port: u16) -> HashSet<u64> {
    let (names, listening) = match table {
        Table::Tcp => (["tcp", "tcp6"], true),
        Table::Udp => (["udp", "udp6"], false),
    };
    let files = names
        .iter()
        .filter_map(|name| File::open(format!("/proc/self/net/{name}")).ok());
    files
        .flat_map(|file| on_port(BufReader::new(file), port, listening))
        .collect()
}

/// Reads a table (proc_pid_net(5)). That of TCP begins with the listening sockets: the others aren't even read.
fn on_port(table: impl BufRead, port: u16, listening: bool) -> Vec<u64> {
    const LISTENING: &str = "0A";
    let mut found = Vec::new();
    for line in table.lines().skip(1).map_while(Result::ok) {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (Some(address), Some(&state), Some(inode)) =
            (fields.get(1), fields.get(3), fields.get(9))
        else {
            continue;
        };
        if listening && state != LISTENING {
            break;
        }
        let there = address
            .rsplit_once(':')
            .and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        if there == Some(port) {
            found.extend(inode.parse::<u64>());
        }
    }
    found
}

/// Looks for a line in output that comes in pieces.
pub(crate) struct LineSearch {
    pattern: Regex,
    begun: Vec<u8>,
}

impl LineSearch {
    /// A line longer than this is looked at in parts.
    const LONGEST: usize = 64 << 10;

    pub(crate) fn new(pattern: Regex) -> Self {
        Self {
            pattern,
            begun: Vec::new(),
        }
    }

    /// Whether one of the lines that end in this piece matches; or the last one, which hasn't ended: a prompt.
    pub(crate) fn seen(&mut self, piece: &[u8]) -> bool {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(line);
            if self
                .pattern
                .is_match(self.begun.strip_suffix(b"\n").unwrap_or(&self.begun))
            {
                return true;
            }
            if line.ends_with(b"\n") || self.begun.len() > Self::LONGEST {
                self.begun.clear();
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
   2: 0100007F:1451 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0
";

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        assert_eq!(on_port(TCP.as_bytes(), 0x1451, true), [111]);
        assert_eq!(on_port(TCP.as_bytes(), 0x1452, true), [] as [u64; 0]);
        assert_eq!(on_port(TCP.as_bytes(), 0x1451, false), [111, 333]);
    }

    #[test]
    fn a_line_is_found_wherever_the_pieces_break() {
        let text = b"noise\nserver ready on 80\nmore\n";
        let pattern = Regex::new("^server ready").unwrap();
        for cut in 0..text.len() {
            let mut sought = LineSearch::new(pattern.clone());
            assert!(
                sought.seen(&text[..cut]) || sought.seen(&text[cut..]),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn the_end_of_one_line_and_the_beginning_of_the_next_do_not_match_together() {
        let mut sought = LineSearch::new(Regex::new("ready").unwrap());
        assert!(!sought.seen(b"rea\ndy\n"));
    }

    #[test]
    fn a_line_without_end_takes_no_memory_without_end() {
        let mut sought = LineSearch::new(Regex::new("ready").unwrap());
        for _ in 0..100 {
            assert!(!sought.seen(&[b'x'; 10_000]));
        }
        assert!(sought.begun.len() <= LineSearch::LONGEST + 10_000);
    }
}
