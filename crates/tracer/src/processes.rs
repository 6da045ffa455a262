//! Process ids of a program: their number in this process's namespace, and the name of the process.
//!
//! `/proc/PID/status` lists a process's numbers in every namespace that it is in (proc_pid_status(5)); a number is searched for
//! among all of them. A number that isn't certain is left as it is.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::sync::LazyLock;
use std::{fs, io};

use backsight_syscall_decode::format::{self, EscapeStyle};
use backsight_syscall_decode::table::{self, PidKind};
use backsight_syscall_decode::value_list::ValueList;
use backsight_syscall_decode::{EventKind, SyscallOutcome, SyscallRecord, TraceEvent};

use crate::error::ExpressionError;

/// Which of what is known of processes is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PidDetails {
    /// What they are called.
    pub name: bool,
    /// Their numbers in this process's name space, where a program has others.
    pub number: bool,
}

impl PidDetails {
    /// Reads a set as `-e decode-pids=` names it: `comm` and `pidns`, as [`ValueList`] has them.
    ///
    /// # Errors
    ///
    /// If it is no list or something isn't known.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let list = ValueList::parse(text)?;
        let mut told = Self {
            name: list.negated,
            number: list.negated,
        };
        for value in list.values {
            let detail = match value {
                "comm" => &mut told.name,
                "pidns" => &mut told.number,
                _ => return Err(ExpressionError::PidDetail(value.to_owned())),
            };
            *detail = !list.negated;
        }
        Ok(told)
    }

    /// Whether nothing is told.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// What is known of processes.
#[derive(Debug)]
pub(crate) struct PidTranslator {
    details: PidDetails,
    /// This process's name space.
    here: Option<u64>,
    /// How deep it is within the one that `/proc` shows.
    base: usize,
    /// What numbers of other name spaces mean here, as far as they were looked for.
    found: HashMap<(u64, i32, PidKind), i32>,
    /// What threads were called when they were seen last.
    names: HashMap<i32, Vec<u8>>,
    /// The name spaces that processes lived in when they were seen last, or that of their parent when they were made.
    homes: HashMap<i32, Home>,
    /// What threads have just made, until the call by which they did says its number.
    made: HashMap<i32, i32>,
}

/// Most numbers of which is remembered whose they are.
const MOST_FOUND: usize = 1 << 16;

/// Where a process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Home {
    /// The name space of numbers.
    space: u64,
    /// How deep it is within the first one.
    depth: usize,
}

impl PidTranslator {
    /// Tells this.
    pub fn new(details: PidDetails) -> Self {
        Self {
            details,
            here: space_of("self"),
            base: base(),
            found: HashMap::new(),
            names: HashMap::new(),
            homes: HashMap::new(),
            made: HashMap::new(),
        }
    }

    /// Learns from an event: who makes whom, and what number it has there. An engine that stops nobody tells of processes that are gone
    /// already.
    pub fn note_event(&mut self, event: &TraceEvent) {
        match &event.kind {
            EventKind::Attached {
                parent: Some(parent),
            } => {
                if let Some(home) = self.home(event.tid).or_else(|| self.home(*parent)) {
                    self.homes.insert(event.tid, home);
                }
                if self.details.name {
                    let name = name_of(event.tid).or_else(|| self.names.get(parent).cloned());
                    self.names.extend(name.map(|name| (event.tid, name)));
                }
                self.made.insert(*parent, event.tid);
            }
            EventKind::Call(call) if !self.made.is_empty() => self.note_call(event, call),
            EventKind::Exited { .. } | EventKind::Killed { .. } | EventKind::Detached => {
                self.homes.remove(&event.tid);
                self.made.remove(&event.tid);
            }
            _ => {}
        }
    }

    fn note_call(&mut self, event: &TraceEvent, call: &SyscallRecord) {
        let row = table::find_syscall(call.abi, call.number);
        if !row.is_some_and(|row| matches!(row.name, "fork" | "vfork" | "clone" | "clone3")) {
            return;
        }
        let Some(made) = self.made.remove(&event.tid) else {
            return;
        };
        let SyscallOutcome::Returned { value, .. } = call.outcome else {
            return;
        };
        if let (Ok(number @ 1..), Some(home)) = (i32::try_from(value), self.home(event.pid)) {
            if self.found.len() >= MOST_FOUND {
                self.found.clear();
            }
            for whose in [PidKind::Thread, PidKind::Process] {
                self.found.insert((home.space, number, whose), made);
            }
        }
    }

    /// Where a process lives, or lived.
    fn home(&mut self, process: i32) -> Option<Home> {
        let shown = shown_as(process);
        let home = || {
            let space = space_of(shown)?;
            let depth = match self.here == Some(space) {
                true => self.base,
                false => numbers(&status(shown)?, PidKind::Thread)
                    .len()
                    .checked_sub(1)?,
            };
            Some(Home { space, depth })
        };
        match home() {
            Some(home) => {
                self.homes.insert(process, home);
                Some(home)
            }
            None => self.homes.get(&process).copied(),
        }
    }

    /// What stands behind the number of a process that `of` knows.
    pub fn explain(
        &mut self,
        of: i32,
        number: i32,
        whose: PidKind,
        escapes: EscapeStyle,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let (number, whose) = match whose {
            PidKind::ProcessOrGroup if number < -1 => (number.saturating_neg(), PidKind::Group),
            PidKind::ProcessOrGroup => (number, PidKind::Process),
            _ => (number, whose),
        };
        if number <= 0 {
            return out;
        }
        let Some(here) = self.number_here(of, number, whose) else {
            return out;
        };
        if self.details.name && matches!(whose, PidKind::Thread | PidKind::Process) {
            // One that is gone may have another's number.
            if let Some(name) = name_of(here).or_else(|| self.names.get(&here).cloned()) {
                put_name(&name, escapes, &mut out);
            }
        }
        if self.details.number && here != number {
            out.extend_from_slice(b" /* ");
            format::signed(&mut out, i64::from(here));
            out.extend_from_slice(b" in strace's PID NS */");
        }
        out
    }

    /// What stands behind the number of a thread at the beginning of a line.
    pub fn thread(&mut self, tid: i32, escapes: EscapeStyle) -> Vec<u8> {
        let mut out = Vec::new();
        if self.details.name {
            if let Some(name) = name_of(tid) {
                self.names.insert(tid, name);
            }
            if let Some(name) = self.names.get(&tid) {
                put_name(name, escapes, &mut out);
            }
        }
        out
    }

    /// The number here of one that a process calls so; nothing where it isn't known which name space that process lives in.
    fn number_here(&mut self, of: i32, number: i32, whose: PidKind) -> Option<i32> {
        let home = self.home(of)?;
        if self.here == Some(home.space) {
            return Some(number);
        }
        self.translate(home, shown_as(of), number, whose)
    }

    fn translate(&mut self, home: Home, of: i32, number: i32, whose: PidKind) -> Option<i32> {
        let Home { space, depth } = home;
        if depth <= self.base {
            return None;
        }
        let known = self.found.get(&(space, number, whose)).copied();
        // Numbers come again late, so that nobody else has it by now.
        if let Some(gone) = known.filter(|it| status(shown_as(*it)).is_none()) {
            return Some(gone);
        }
        let first = known.map(shown_as).into_iter().chain([of]);
        let found = first.chain(candidates(whose)).find_map(|one| {
            means(one, space, depth, number, whose)?
                .get(self.base)
                .copied()
        })?;
        self.found.insert((space, number, whose), found);
        Some(found)
    }
}

/// What a thread is called.
fn name_of(tid: i32) -> Option<Vec<u8>> {
    let mut name = fs::read(format!("/proc/{}/comm", shown_as(tid))).ok()?;
    if name.last() == Some(&b'\n') {
        name.pop();
    }
    Some(name)
}

fn put_name(name: &[u8], escapes: EscapeStyle, out: &mut Vec<u8>) {
    out.push(b'<');
    format::escaped(out, name, escapes, b"<>\"\\");
    out.push(b'>');
}

/// The name space of numbers that a process lives in.
fn space_of(process: impl std::fmt::Display) -> Option<u64> {
    let about = fs::metadata(format!("/proc/{process}/ns/pid")).ok()?;
    Some(about.ino())
}

fn status(process: i32) -> Option<String> {
    fs::read_to_string(format!("/proc/{process}/status")).ok()
}

/// What the kernel knows of a thread: its process, and its parent's number.
pub(crate) fn process_and_parent(tid: i32) -> io::Result<(i32, i32)> {
    let text = fs::read_to_string(format!("/proc/{tid}/status"))?;
    let number = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
            .ok_or_else(|| io::Error::other(format!("no {name} in /proc/{tid}/status")))
    };
    Ok((number("Tgid:")?, number("PPid:")?))
}

/// The numbers that a process has, from this name space inwards.
fn numbers(status: &str, whose: PidKind) -> Vec<i32> {
    let name = match whose {
        PidKind::Thread => "NSpid:",
        PidKind::Process | PidKind::ProcessOrGroup => "NStgid:",
        PidKind::Group => "NSpgid:",
        PidKind::Session => "NSsid:",
    };
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.into_iter()
        .flat_map(str::split_ascii_whitespace)
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// What numbers one has, from the outermost name space inwards, that has this number so deep in this name space.
fn means(process: i32, space: u64, depth: usize, number: i32, whose: PidKind) -> Option<Vec<i32>> {
    let status = status(process)?;
    let all = numbers(&status, whose);
    if *all.get(depth)? != number {
        return None;
    }
    lives_in(process, &status, space, depth).then_some(all)
}

/// How deep this process's name space is within the one whose processes `/proc` shows.
fn base() -> usize {
    static BASE: LazyLock<usize> = LazyLock::new(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        numbers(&status, PidKind::Thread).len().saturating_sub(1)
    });
    *BASE
}

/// The number under which `/proc` shows a thread: another one where it is mounted of a name space around this process's.
pub(crate) fn shown_as(thread: i32) -> i32 {
    let base = base();
    if base == 0 {
        return thread;
    }
    let Some(here) = space_of("self") else {
        return thread;
    };
    let found = candidates(PidKind::Thread)
        .find(|one| means(*one, here, base, thread, PidKind::Thread).is_some());
    found.unwrap_or(thread)
}

/// The number here of a process that another one calls so.
pub(crate) fn here(of: i32, number: i32) -> Option<i32> {
    PidTranslator::new(PidDetails::default()).number_here(of, number, PidKind::Process)
}

/// Whether a process is in a name space so deep, be it by way of one that is within it: then who made it is nearer.
fn lives_in(process: i32, status: &str, space: u64, depth: usize) -> bool {
    const FARTHEST: usize = 64;
    let (mut process, mut status) = (process, status.to_owned());
    for _ in 0..FARTHEST {
        match numbers(&status, PidKind::Thread).len().cmp(&(depth + 1)) {
            Ordering::Less => return false,
            // One that ended and isn't waited for yet has no name spaces any more: it had those of who made it.
            Ordering::Equal => match space_of(process) {
                Some(own) => return own == space,
                None if !has_ended(&status) => return false,
                None => {}
            },
            Ordering::Greater => {}
        }
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let Some(parent) = parent.and_then(|parent| parent.trim().parse().ok()) else {
            return false;
        };
        let Some(next) = self::status(parent) else {
            return false;
        };
        (process, status) = (parent, next);
    }
    false
}

fn has_ended(status: &str) -> bool {
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| state.trim_start().starts_with(['Z', 'X']))
}

/// Every process, or every thread.
fn candidates(whose: PidKind) -> impl Iterator<Item = i32> {
    let processes = numbered("/proc");
    processes.into_iter().flat_map(move |process| match whose {
        PidKind::Thread => numbered(&format!("/proc/{process}/task")),
        _ => vec![process],
    })
}

/// The entries of a folder that are numbers.
fn numbered(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_from_here_inwards() {
        let status = "Name:\tsh\nNStgid:\t70\t1\nNSpid:\t71\t2\nNSpgid:\t70\t1\nNSsid:\t60\t0\n";
        assert_eq!(numbers(status, PidKind::Thread), [71, 2]);
        assert_eq!(numbers(status, PidKind::Process), [70, 1]);
        assert_eq!(numbers(status, PidKind::Session), [60, 0]);
    }

    #[test]
    fn sets_name_what_is_told() {
        let told = |name, number| Ok(PidDetails { name, number });
        assert_eq!(PidDetails::parse("comm"), told(true, false));
        assert_eq!(PidDetails::parse("!comm"), told(false, true));
        assert_eq!(PidDetails::parse("pidns,comm"), told(true, true));
        assert_eq!(PidDetails::parse("none"), told(false, false));
        let unknown = Err(ExpressionError::PidDetail("x".to_owned()));
        assert_eq!(PidDetails::parse("comm,x"), unknown);
    }
}
