//! Files behind the descriptors of traced processes, known from the calls that open, duplicate and close them: from events alone, so
//! that both engines and recordings tell the same.
//!
//! What a process has open when it is seen first is looked up in `/proc` where it runs now. A child has what its parent had when it
//! began. Descriptors that come through a socket, and those of tables that two processes share, are looked up when they are used
//! first. A relative path is put behind the directory that it is relative to, and `..` at its beginning
//! takes a part off that; symbolic links stay as they are written.

mod socket_name;

use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::Arc;

use backsight_syscall_decode::table::{DataDirection, ResultKind, SyscallDefinition, ValueKind};
use backsight_syscall_decode::{
    CapturePoint, EventKind, SyscallOutcome, SyscallRecord, TraceEvent, table,
};

use crate::processes::shown_as;
use socket_name::{address_at, family_name, peer_of};

/// The calls that say which file a descriptor is: without them a file's name is missing.
pub(crate) const OPENING_CALLS: [&str; 29] = [
    "open",
    "openat",
    "openat2",
    "creat",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    "fcntl64",
    "close",
    "close_range",
    "pipe",
    "pipe2",
    "socket",
    "socketpair",
    "connect",
    "accept",
    "accept4",
    "memfd_create",
    "epoll_create",
    "epoll_create1",
    "eventfd",
    "eventfd2",
    "timerfd_create",
    "execve",
    "execveat",
    "chdir",
    "fchdir",
    "getcwd",
];

/// The longest path that the kernel takes.
const PATH_MAX: usize = 4096;
/// The number that stands for the current directory.
const AT_FDCWD: i32 = -100;
/// `O_CLOEXEC`, of all machines that are traced here.
const O_CLOEXEC: u64 = 0o2_000_000;

/// A file that a call concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConcernedFile {
    /// Its path, or what it is instead, as `pipe`.
    pub name: Arc<[u8]>,
    /// The descriptor by which the call names it; none where it does by its path.
    pub descriptor: Option<i32>,
    /// Bytes that the call read from it.
    pub read: u64,
    /// Bytes that the call wrote to it.
    pub written: u64,
}

/// The files of every traced process.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    processes: HashMap<i32, DescriptorTable>,
    /// Of each thread its process.
    threads: HashMap<i32, i32>,
    /// How many threads of each process are known.
    counts: HashMap<i32, usize>,
    /// Whether what is traced runs now, so that it can be looked up.
    live: bool,
}

/// The descriptors of a process.
#[derive(Debug, Clone, Default)]
struct DescriptorTable {
    files: HashMap<i32, OpenFile>,
    /// The current directory, where it is known.
    directory: Option<Arc<[u8]>>,
    /// When the call that is looked at was made, and when it was told.
    times: (u64, u64),
}

#[derive(Debug, Clone)]
struct OpenFile {
    name: Arc<[u8]>,
    closes_on_exec: bool,
    /// When it was opened, as it was told.
    since: u64,
    /// What the descriptor was before, where that wasn't closed yet as far as was told: a thread may open it again before it is told
    /// that another one closed it.
    former: Option<Arc<[u8]>>,
}

impl OpenFiles {
    /// Nothing is known yet; of what runs now (`live`), what is open already is looked up.
    pub fn new(live: bool) -> Self {
        Self {
            live,
            ..Self::default()
        }
    }

    /// Takes notice of an event. Of a call, the files that it concerns, each once.
    pub fn add(&mut self, event: &TraceEvent) -> Vec<ConcernedFile> {
        let concerned = match &event.kind {
            EventKind::Attached { parent } => {
                let parent = parent.and_then(|thread| self.threads.get(&thread).copied());
                if let Some(parent) = parent.filter(|parent| *parent != event.pid)
                    && let Some(inherited) = self.processes.get(&parent).cloned()
                {
                    self.processes.insert(event.pid, inherited);
                }
                Vec::new()
            }
            EventKind::Call(call) => {
                self.meet(event);
                self.call(event, call)
            }
            _ => Vec::new(),
        };
        match event.kind {
            EventKind::Exited { .. } | EventKind::Killed { .. } | EventKind::Superseded { .. } => {
                self.forget(event.tid);
            }
            _ => self.meet(event),
        }
        concerned
    }

    /// Takes notice of a thread, and of what its process has open already.
    fn meet(&mut self, event: &TraceEvent) {
        if self.threads.insert(event.tid, event.pid) != Some(event.pid) {
            *self.counts.entry(event.pid).or_default() += 1;
        }
        let live = self.live;
        let unseen = || match live {
            true => DescriptorTable::from_process(event.pid),
            false => DescriptorTable::default(),
        };
        self.processes.entry(event.pid).or_insert_with(unseen);
    }

    /// Forgets a thread, and its process where it was the last.
    fn forget(&mut self, tid: i32) {
        let Some(pid) = self.threads.remove(&tid) else {
            return;
        };
        let count = self.counts.entry(pid).or_insert(1);
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.counts.remove(&pid);
            self.processes.remove(&pid);
        }
    }

    fn call(&mut self, event: &TraceEvent, call: &SyscallRecord) -> Vec<ConcernedFile> {
        let pid = event.pid;
        let Some(row) = table::find_syscall(call.abi, call.number) else {
            return Vec::new();
        };
        let live = self.live;
        let Some(files) = self.processes.get_mut(&pid) else {
            return Vec::new();
        };
        files.times = (call.entered, event.at);
        let mut concerned = files.concerned(pid, call, row, live);
        let moved = bytes_moved(row.name, call);
        for file in &mut concerned {
            for (argument, read, written) in moved {
                if file.descriptor.is_some()
                    && file.descriptor == argument.map(|it| call.arguments[it] as i32)
                {
                    (file.read, file.written) = (read, written);
                }
            }
        }
        if let SyscallOutcome::Returned { value, .. } = call.outcome {
            let opened = concerned.first().map(|file| Arc::clone(&file.name));
            files.apply(call, row, value, opened);
        }
        concerned
    }
}

impl DescriptorTable {
    /// What a process has open now.
    fn from_process(pid: i32) -> Self {
        let shown = shown_as(pid);
        let mut table = Self::default();
        let entries = std::fs::read_dir(format!("/proc/{shown}/fd")).into_iter();
        for entry in entries.flatten().flatten() {
            let number = entry.file_name().to_str().and_then(|it| it.parse().ok());
            if let (Some(number), Ok(link)) = (number, std::fs::read_link(entry.path())) {
                table.open(number, link.into_os_string().into_vec().into(), false);
            }
        }
        let directory = std::fs::read_link(format!("/proc/{shown}/cwd")).ok();
        table.directory = directory.map(|link| link.into_os_string().into_vec().into());
        table
    }

    fn open(&mut self, number: i32, name: Arc<[u8]>, closes_on_exec: bool) {
        let former = self.files.remove(&number).map(|file| file.name);
        let file = OpenFile {
            name,
            closes_on_exec,
            since: self.times.1,
            former,
        };
        self.files.insert(number, file);
    }

    /// The file of a descriptor; where it isn't known, its number stands for it.
    fn file(&mut self, pid: i32, number: i32, is_open: bool, live: bool) -> Arc<[u8]> {
        let made = self.times.0;
        match self.files.get(&number) {
            Some(file) if made >= file.since => return Arc::clone(&file.name),
            // The call was made before this file was opened.
            Some(OpenFile {
                former: Some(former),
                ..
            }) => return Arc::clone(former),
            Some(file) => return Arc::clone(&file.name),
            None => {}
        }
        if live && is_open {
            let place = format!("/proc/{}/fd/{number}", shown_as(pid));
            if let Ok(link) = std::fs::read_link(place) {
                let name: Arc<[u8]> = link.into_os_string().into_vec().into();
                self.open(number, Arc::clone(&name), false);
                return name;
            }
        }
        let why = if is_open { "" } else { ", not open" };
        format!("(descriptor {number}{why})").into_bytes().into()
    }

    /// The files that a call concerns: by a path, with the directory before it, or by a descriptor.
    fn concerned(
        &mut self,
        pid: i32,
        call: &SyscallRecord,
        row: &SyscallDefinition,
        live: bool,
    ) -> Vec<ConcernedFile> {
        const BAD: i64 = 9;
        let is_open = call.error() != Some(BAD);
        let mut found: Vec<ConcernedFile> = Vec::new();
        let mut add = |name: Arc<[u8]>, descriptor| {
            if !found
                .iter()
                .any(|file| file.name == name && file.descriptor == descriptor)
            {
                found.push(ConcernedFile {
                    name,
                    descriptor,
                    read: 0,
                    written: 0,
                });
            }
        };
        // A directory is a file of its own only where no path follows.
        let mut directory = None;
        for (place, kind) in row.kinds.iter().take(row.arguments.len()).enumerate() {
            let number = call.arguments[place] as i32;
            match kind {
                ValueKind::DirFd => directory = Some(number),
                ValueKind::Path(DataDirection::In) if !is_text_of_link(row.name, place) => {
                    let path = text_at(call, call.arguments[place], CapturePoint::Entered);
                    let base = directory.take().unwrap_or(AT_FDCWD);
                    match path {
                        Some(path) if !path.is_empty() => {
                            let within = match base {
                                _ if path[0] == b'/' => None,
                                AT_FDCWD => self.directory.clone(),
                                base => Some(self.file(pid, base, is_open, live)),
                            };
                            add(joined(within.as_deref(), path), None);
                        }
                        _ if base >= 0 => add(self.file(pid, base, is_open, live), Some(base)),
                        _ => {}
                    }
                }
                ValueKind::Fd | ValueKind::FdOr(_) if number >= 0 && is_named(row.name, place) => {
                    add(self.file(pid, number, is_open, live), Some(number));
                }
                _ => {}
            }
        }
        if let Some(number) = directory.filter(|number| *number >= 0) {
            add(self.file(pid, number, is_open, live), Some(number));
        }
        found
    }

    /// Changes the table as a call did that returned this; `opened` is the first file that it concerns.
    fn apply(
        &mut self,
        call: &SyscallRecord,
        row: &SyscallDefinition,
        value: i64,
        opened: Option<Arc<[u8]>>,
    ) {
        const BAD: i64 = 9;
        const IN_PROGRESS: i64 = 115;
        let (name, arguments) = (row.name, &call.arguments);
        let first = arguments[0] as i32;
        match (name, call.error()) {
            // It is closed whatever else went wrong.
            ("close", error) if error != Some(BAD) => {
                let made = self.times.0;
                match self.files.get_mut(&first) {
                    // It closed what was there before.
                    Some(file) if made < file.since => file.former = None,
                    _ => {
                        self.files.remove(&first);
                    }
                }
                return;
            }
            ("connect", None | Some(IN_PROGRESS)) => {
                if let Some(address) = address_at(call, 1, 2, CapturePoint::Entered)
                    && let Some(file) = self.files.get_mut(&first)
                {
                    file.name = address.into();
                }
                return;
            }
            (_, Some(_)) => return,
            (_, None) => {}
        }
        let number = i32::try_from(value).unwrap_or(-1);
        let flags = |place: usize| arguments[place] & O_CLOEXEC != 0;
        let path = opened.unwrap_or_else(|| (*b"(unknown path)").into());
        match name {
            "open" | "openat" | "openat2" | "creat" => {
                let closes = match name {
                    "open" => flags(1),
                    "openat" => flags(2),
                    "openat2" => {
                        let how = call.memory.at(arguments[2], 8, CapturePoint::Entered);
                        let how =
                            how.and_then(|how| Some(u64::from_le_bytes(how.try_into().ok()?)));
                        how.is_some_and(|flags| flags & O_CLOEXEC != 0)
                    }
                    _ => false,
                };
                self.open(number, path, closes);
            }
            "dup" => self.open(number, path, false),
            "dup2" if first == number => {}
            "dup2" => self.open(number, path, false),
            "dup3" => self.open(number, path, flags(2)),
            "fcntl" | "fcntl64" => self.control(arguments, number, path),
            "close_range" => self.close_range(arguments),
            "pipe" | "pipe2" => self.open_two(call, 0, "pipe", name == "pipe2" && flags(1)),
            "socketpair" => self.open_two(call, 3, "socketpair", flags(1)),
            "socket" => self.open(
                number,
                family_name(arguments[0]).into_bytes().into(),
                flags(1),
            ),
            "accept" | "accept4" => {
                let peer = peer_of(call).unwrap_or_else(|| b"socket".to_vec());
                self.open(number, peer.into(), name == "accept4" && flags(3));
            }
            "memfd_create" => {
                const CLOSES: u64 = 1;
                let text = text_at(call, arguments[0], CapturePoint::Entered).unwrap_or_default();
                let name = [b"memfd:", text].concat();
                self.open(number, name.into(), arguments[1] & CLOSES != 0);
            }
            "chdir" | "fchdir" => self.directory = Some(path),
            "getcwd" => {
                let said = text_at(call, arguments[0], CapturePoint::Left);
                self.directory = said.map(Arc::from).or(self.directory.take());
            }
            "execve" | "execveat" => self.files.retain(|_, file| !file.closes_on_exec),
            // What else makes a descriptor is named as it was made.
            _ if row.result == ResultKind::Fd && number >= 0 => {
                self.open(number, format!("({name})").into_bytes().into(), false);
            }
            _ => {}
        }
    }

    fn control(&mut self, arguments: &[u64; 6], number: i32, name: Arc<[u8]>) {
        const DUPLICATE: u64 = 0;
        const DUPLICATE_CLOSING: u64 = 1030;
        const SET_FLAGS: u64 = 2;
        match arguments[1] & 0xffff_ffff {
            DUPLICATE => self.open(number, name, false),
            DUPLICATE_CLOSING => self.open(number, name, true),
            SET_FLAGS => {
                if let Some(file) = self.files.get_mut(&(arguments[0] as i32)) {
                    file.closes_on_exec = arguments[2] & 1 != 0;
                }
            }
            _ => {}
        }
    }

    fn close_range(&mut self, arguments: &[u64; 6]) {
        const CLOSES_ON_EXEC: u64 = 4;
        let (first, last) = (arguments[0] as u32, arguments[1] as u32);
        let within = |number: i32| (first..=last).contains(&number.cast_unsigned());
        if arguments[2] & CLOSES_ON_EXEC != 0 {
            let files = self.files.iter_mut();
            files
                .filter(|(number, _)| within(**number))
                .for_each(|(_, file)| file.closes_on_exec = true);
        } else {
            self.files.retain(|number, _| !within(*number));
        }
    }

    /// Opens two descriptors whose numbers the kernel wrote behind this argument.
    fn open_two(&mut self, call: &SyscallRecord, argument: usize, name: &str, closes: bool) {
        let said = call
            .memory
            .at(call.arguments[argument], 8, CapturePoint::Left);
        for number in said.unwrap_or_default().chunks_exact(4) {
            if let Ok(number) = number.try_into() {
                self.open(i32::from_le_bytes(number), name.as_bytes().into(), closes);
            }
        }
    }
}

/// Whether a path is only the text of a symbolic link that is made.
fn is_text_of_link(name: &str, place: usize) -> bool {
    place == 0 && matches!(name, "symlink" | "symlinkat")
}

/// Whether a descriptor is one that the call works on, and not one that it makes.
fn is_named(name: &str, place: usize) -> bool {
    !(place == 1 && matches!(name, "dup2" | "dup3")) && name != "close_range"
}

/// The text behind an address, without the zero at its end.
fn text_at(call: &SyscallRecord, address: u64, when: CapturePoint) -> Option<&[u8]> {
    let bytes = call.memory.at(address, PATH_MAX, when)?;
    Some(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
}

/// A path behind the directory that it is relative to, without parts that say nothing. A `..` at its beginning takes the last part off
/// the directory; one behind a name stays, as that may be a symbolic link.
fn joined(directory: Option<&[u8]>, path: &[u8]) -> Arc<[u8]> {
    let mut whole = directory.map(<[u8]>::to_vec).unwrap_or_default();
    let is_absolute = whole.first() == Some(&b'/') || path.first() == Some(&b'/');
    let parts = path.split(|byte| *byte == b'/');
    while whole.last() == Some(&b'/') {
        whole.pop();
    }
    let mut climbs = is_absolute && path.first() != Some(&b'/');
    for part in parts.filter(|part| !part.is_empty() && *part != b".") {
        climbs &= part == b".." && !whole.ends_with(b"/..");
        if climbs {
            let parent = whole.iter().rposition(|byte| *byte == b'/');
            whole.truncate(parent.unwrap_or(0));
            continue;
        }
        if is_absolute || !whole.is_empty() {
            whole.push(b'/');
        }
        whole.extend_from_slice(part);
    }
    if whole.is_empty() {
        whole.push(if is_absolute { b'/' } else { b'.' });
    }
    whole.into()
}

/// What a call moved: of each descriptor's argument, the bytes that were read from it and written to it.
fn bytes_moved(name: &str, call: &SyscallRecord) -> [(Option<usize>, u64, u64); 2] {
    let count = match call.outcome {
        SyscallOutcome::Returned { value, .. } if call.error().is_none() => {
            u64::try_from(value).unwrap_or(0)
        }
        _ => 0,
    };
    let nothing = (None, 0, 0);
    match name {
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "recv" | "recvfrom" | "recvmsg" => {
            [(Some(0), count, 0), nothing]
        }
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "send" | "sendto"
        | "sendmsg" => [(Some(0), 0, count), nothing],
        "sendfile" | "sendfile64" => [(Some(0), 0, count), (Some(1), count, 0)],
        "copy_file_range" | "splice" => [(Some(0), count, 0), (Some(2), 0, count)],
        "tee" => [(Some(0), count, 0), (Some(1), 0, count)],
        _ => [nothing, nothing],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stand_behind_their_directories() {
        let named = |directory: &str, path: &str| {
            let directory = (!directory.is_empty()).then_some(directory.as_bytes());
            String::from_utf8(joined(directory, path.as_bytes()).to_vec()).unwrap()
        };
        for (directory, path, whole) in [
            ("/a/b", "c", "/a/b/c"),
            ("/a/b", "./c//d/", "/a/b/c/d"),
            ("/a/b", "..", "/a"),
            ("/a/b", "../../c", "/c"),
            ("/a", "../..", "/"),
            ("/", "../x", "/x"),
            // A name may be a link that leads elsewhere.
            ("/a/b", "c/../d", "/a/b/c/../d"),
            ("/a/c/..", "../d", "/a/c/../../d"),
            ("", "/a/../b", "/a/../b"),
            ("", "../b", "../b"),
            ("", ".", "."),
            ("b", "../c", "b/../c"),
            ("", "/", "/"),
        ] {
            assert_eq!(named(directory, path), whole, "{directory} {path}");
        }
    }
}
