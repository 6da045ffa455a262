//! The text that strace would have printed, byte for byte as far as that goes, made of [`Event`]s alone.
//!
//! It appends to a buffer that its caller keeps, and allocates nothing for an argument. A call that is told while it goes on
//! stays an open line until something else is to be said: then it is `<unfinished ...>`, and resumed when it comes back.
//!
//! Refuses: to look anything up by itself; what a file descriptor is comes from whoever asks for the text.

mod errors;
pub(crate) mod put;
mod sink;

use std::collections::{HashMap, HashSet};

pub use put::Escapes;

use crate::decode::{
    CURRENT_DIRECTORY, Descriptors, Style, Walk, moment, put_persona, signal_information,
    signal_name,
};
use crate::table::{self, Answer, Row, flags};
use crate::{Call, Event, Outcome, What};
use sink::TextSink;

/// How text is to look. What is told here has strace's options beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Most bytes of a string, and most elements of an array (`-s`).
    pub string: usize,
    /// Whether structures are shown in full (`-v`).
    pub verbose: bool,
    /// Which bytes are shown in hexadecimal (`-x`, `-xx`).
    pub escapes: Escapes,
    /// The column at which ` = ` stands (`-a`).
    pub column: usize,
    /// What stands before each line.
    pub who: Who,
    /// The time of day before each line (`-t`, `-tt`, `-ttt`).
    pub time: Option<Time>,
    /// How long after the line before (`-r`).
    pub since: bool,
    /// How long each call took (`-T`).
    pub took: bool,
    /// What is added to an event's clock to have nanoseconds since 1970.
    pub wall: i64,
    /// How far local time is ahead of UTC, in seconds.
    pub zone: i64,
    /// Whether exits are told (without `-q`).
    pub exits: bool,
    /// Whether signals are told.
    pub signals: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            string: 32,
            verbose: false,
            escapes: Escapes::Octal,
            column: 40,
            who: Who::Nobody,
            time: None,
            since: false,
            took: false,
            wall: 0,
            zone: 0,
            exits: true,
            signals: true,
        }
    }
}

/// What stands before each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Nothing.
    Nobody,
    /// The thread's number, as in files.
    Plain,
    /// `[pid 123]` wherever more than one thread is traced, as on a terminal.
    Bracketed,
}

/// How the time of day is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// `13:51:09`
    Seconds,
    /// `13:51:09.800511`
    Microseconds,
    /// `1795355469.800511`
    Epoch,
}

/// Makes text of events.
pub struct Text<'a> {
    options: Options,
    descriptors: Option<Box<dyn Descriptors + 'a>>,
    /// The threads that are alive, as far as was told.
    threads: HashSet<i32>,
    /// The call that a line was begun with and not ended.
    open: Option<Open>,
    /// Calls that were begun and interrupted by others' lines, with how many arguments were shown.
    begun: HashMap<i32, usize>,
    /// When the line before began.
    last: Option<u64>,
}

struct Open {
    tid: i32,
    shown: usize,
    columns: usize,
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<'a> Text<'a> {
    /// Text of this look, without what file descriptors are.
    pub fn new(options: Options) -> Self {
        Text {
            options,
            descriptors: None,
            threads: HashSet::new(),
            open: None,
            begun: HashMap::new(),
            last: None,
        }
    }

    /// Shows beside file descriptors what they are (`-y`, `-yy`: by what is told of them).
    pub fn with_descriptors(mut self, descriptors: impl Descriptors + 'a) -> Self {
        self.descriptors = Some(Box::new(descriptors));
        self
    }

    /// Appends what an event says.
    pub fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        match &event.what {
            What::Call(call) => {
                self.threads.insert(event.tid);
                self.call(event, call, out);
            }
            What::Pending(call) => {
                self.threads.insert(event.tid);
                self.begin(event, call, out);
            }
            What::Signal { number, info } if self.options.signals => {
                self.signal(event, *number, info, out)
            }
            What::Stopped { signal } if self.options.signals => {
                self.line(event, event.at, out);
                out.extend_from_slice(b"--- stopped by ");
                signal_name(out, *signal);
                out.extend_from_slice(b" ---\n");
            }
            What::Signal { .. } | What::Stopped { .. } => {}
            What::Exited { .. } | What::Killed { .. } | What::Superseded { .. } => {
                self.end(event, out)
            }
            What::Attached { .. } => {
                self.threads.insert(event.tid);
            }
            What::Detached => {
                self.close(out);
                self.threads.remove(&event.tid);
            }
            What::Lost { number } => {
                self.close(out);
                put::unsigned(out, *number);
                out.extend_from_slice(b" events were lost here\n");
            }
        }
    }

    /// Ends a line that was left open.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.close(out);
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if let Some(open) = self.open.take() {
            out.extend_from_slice(b" <unfinished ...>\n");
            self.begun.insert(open.tid, open.shown);
        }
    }

    /// Ends what was open and begins a line.
    fn line(&mut self, event: &Event, at: u64, out: &mut Vec<u8>) {
        self.close(out);
        match self.options.who {
            Who::Nobody => {}
            Who::Plain => {
                let start = out.len();
                put::signed(out, i64::from(event.tid));
                while out.len() < start + 5 {
                    out.push(b' ');
                }
                out.push(b' ');
            }
            Who::Bracketed if self.threads.len() > 1 => {
                out.extend_from_slice(b"[pid ");
                let mut buffer = itoa::Buffer::new();
                let digits = buffer.format(event.tid).as_bytes();
                out.extend(std::iter::repeat_n(
                    b' ',
                    5_usize.saturating_sub(digits.len()),
                ));
                out.extend_from_slice(digits);
                out.extend_from_slice(b"] ");
            }
            Who::Bracketed => {}
        }
        self.clock(at, out);
        self.last = Some(at);
    }

    fn clock(&self, at: u64, out: &mut Vec<u8>) {
        if let Some(time) = self.options.time {
            let wall = i128::from(at) + i128::from(self.options.wall);
            let seconds = wall.div_euclid(1_000_000_000) as i64;
            let micros = (wall.rem_euclid(1_000_000_000) / 1000) as u64;
            if time == Time::Epoch {
                put::signed(out, seconds);
            } else {
                let local = (seconds + self.options.zone).rem_euclid(86_400) as u64;
                for (index, part) in [local / 3600, local / 60 % 60, local % 60]
                    .into_iter()
                    .enumerate()
                {
                    if index > 0 {
                        out.push(b':');
                    }
                    put::padded(out, part, 2);
                }
            }
            if time != Time::Seconds {
                out.push(b'.');
                put::padded(out, micros, 6);
            }
            if !self.options.since {
                out.push(b' ');
            }
        }
        if self.options.since {
            let passed = at.saturating_sub(self.last.unwrap_or(at)) / 1000;
            if self.options.time.is_some() {
                out.extend_from_slice(b" (+");
            }
            let mut buffer = itoa::Buffer::new();
            let seconds = buffer.format(passed / 1_000_000).as_bytes();
            out.extend(std::iter::repeat_n(
                b' ',
                6_usize.saturating_sub(seconds.len()),
            ));
            out.extend_from_slice(seconds);
            out.push(b'.');
            put::padded(out, passed % 1_000_000, 6);
            out.extend_from_slice(if self.options.time.is_some() {
                b") "
            } else {
                b" "
            });
        }
    }

    fn style(&self) -> Style {
        Style {
            string: self.options.string,
            elements: self.options.string,
            verbose: self.options.verbose,
            partial: false,
        }
    }

    fn begin(&mut self, event: &Event, call: &Call, out: &mut Vec<u8>) {
        let start = out.len();
        self.line(event, call.entered, out);
        let start = line_start(out, start);
        let row = table::row(call.abi, call.number);
        put_name(out, call, row);
        out.push(b'(');
        let shown = match row {
            Some(row) => {
                let style = self.style();
                let mut sink = TextSink::new(
                    out,
                    self.options.escapes,
                    self.descriptors.as_deref_mut(),
                    event.pid,
                );
                let mut walk = Walk::showing(call, row, &mut sink, style);
                let (order, count) = walk.shown();
                let known = walk.known_at_entry();
                put_arguments(&mut walk, &order[..count], 0, known);
                let becomes = known > 0 && walk.becomes(order[known - 1]);
                if known < count && known > 0 && !becomes {
                    out.extend_from_slice(b", ");
                }
                known
            }
            None => {
                put_unknown(out, call);
                6
            }
        };
        self.open = Some(Open {
            tid: event.tid,
            shown,
            columns: out.len() - start,
        });
    }

    fn call(&mut self, event: &Event, call: &Call, out: &mut Vec<u8>) {
        let row = table::row(call.abi, call.number);
        let start = out.len();
        // What of it was shown before, and how wide the line is that it goes on with.
        let (shown, before) = match self.open.take_if(|open| open.tid == event.tid) {
            Some(open) => (Some(open.shown), open.columns),
            None => {
                self.line(event, call.entered, out);
                let resumed = if self.begun.is_empty() {
                    None
                } else {
                    self.begun.remove(&event.tid)
                };
                if resumed.is_some() {
                    out.extend_from_slice(b"<... ");
                    put_name(out, call, row);
                    out.extend_from_slice(b" resumed>");
                } else {
                    put_name(out, call, row);
                    out.push(b'(');
                }
                (resumed, 0)
            }
        };
        let start = if before > 0 {
            start
        } else {
            line_start(out, start)
        };
        let style = self.style();
        match row {
            Some(row) => {
                let mut sink = TextSink::new(
                    out,
                    self.options.escapes,
                    self.descriptors.as_deref_mut(),
                    event.pid,
                );
                let mut walk = Walk::showing(call, row, &mut sink, style);
                let (order, count) = walk.shown();
                let gone = walk_is_gone(call, row);
                let until = if gone { walk.known_at_entry() } else { count };
                put_arguments(&mut walk, &order[..count], shown.unwrap_or(0), until);
                if gone && until < count {
                    if until > 0 && shown.is_none() {
                        out.extend_from_slice(b", ");
                    }
                    out.extend_from_slice(b" <unfinished ...>");
                }
            }
            None if shown.is_none() => put_unknown(out, call),
            None => {}
        }
        out.extend_from_slice(b") ");
        let columns = before + out.len() - start;
        if columns < self.options.column {
            out.resize(out.len() + self.options.column - columns, b' ');
        }
        out.extend_from_slice(b"= ");
        let mut sink = TextSink::new(
            out,
            self.options.escapes,
            self.descriptors.as_deref_mut(),
            event.pid,
        );
        put_result(&mut sink, call, row, style);
        if call.injected {
            out.extend_from_slice(b" (INJECTED)");
        }
        if let (true, Outcome::Returned { took, .. }) = (self.options.took, call.outcome) {
            out.extend_from_slice(b" <");
            put::unsigned(out, took / 1_000_000_000);
            out.push(b'.');
            put::padded(out, took / 1000 % 1_000_000, 6);
            out.push(b'>');
        }
        out.push(b'\n');
    }

    fn signal(&mut self, event: &Event, number: i32, info: &[u8], out: &mut Vec<u8>) {
        self.line(event, event.at, out);
        out.extend_from_slice(b"--- ");
        signal_name(out, number);
        if !info.is_empty() {
            out.push(b' ');
            let mut sink = TextSink::new(out, self.options.escapes, None, event.pid);
            signal_information(&mut sink, info, native());
        }
        out.extend_from_slice(b" ---\n");
    }

    fn end(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.close(out);
        let superseded = match event.what {
            What::Superseded { by } => {
                self.threads.remove(&by);
                Some(by)
            }
            _ => None,
        };
        if self.options.exits {
            self.line(event, event.at, out);
            out.extend_from_slice(b"+++ ");
            match event.what {
                What::Exited { status } => {
                    out.extend_from_slice(b"exited with ");
                    put::signed(out, i64::from(status));
                }
                What::Killed { signal, core } => {
                    out.extend_from_slice(b"killed by ");
                    signal_name(out, signal);
                    if core {
                        out.extend_from_slice(b" (core dumped)");
                    }
                }
                What::Superseded { by } => {
                    out.extend_from_slice(b"superseded by execve in pid ");
                    put::signed(out, i64::from(by));
                }
                _ => {}
            }
            out.extend_from_slice(b" +++\n");
        }
        self.begun.remove(&event.tid);
        // The call that replaced it goes on under its number.
        match superseded {
            Some(by) => {
                if let Some(shown) = self.begun.remove(&by) {
                    self.begun.insert(event.tid, shown);
                }
            }
            None => {
                self.threads.remove(&event.tid);
            }
        }
    }
}

/// Where the last line begins, at or behind a place.
fn line_start(out: &[u8], from: usize) -> usize {
    out[from..]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(from, |at| from + at + 1)
}

fn native() -> crate::Abi {
    if cfg!(target_arch = "aarch64") {
        crate::Abi::Aarch64
    } else {
        crate::Abi::X86_64
    }
}

/// Whether the thread vanished within the call; `exit` is meant not to come back.
fn walk_is_gone(call: &Call, row: &Row) -> bool {
    call.outcome == Outcome::Open && row.answer != Answer::Never
}

fn put_name(out: &mut Vec<u8>, call: &Call, row: Option<&Row>) {
    match row {
        Some(row) => out.extend_from_slice(row.name.as_bytes()),
        None => {
            out.extend_from_slice(b"syscall_");
            put::hex(out, call.number);
        }
    }
}

fn put_unknown(out: &mut Vec<u8>, call: &Call) {
    for (index, argument) in call.arguments.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        put::hex(out, *argument);
    }
}

fn put_arguments(
    walk: &mut Walk<'_, TextSink<'_, '_>>,
    order: &[usize],
    from: usize,
    until: usize,
) {
    let ends = until == order.len();
    // Where a part was shown before, its last comma was too, but for what becomes something.
    let mut separate = false;
    if from > 0 && walk.becomes(order[from - 1]) {
        walk.became(order[from - 1]);
        separate = true;
    }
    for (index, number) in order.iter().enumerate().take(until).skip(from) {
        if index > from || separate {
            walk.sink.out.extend_from_slice(b", ");
        }
        if walk.is_clone() {
            let name = walk.clone_name(*number);
            walk.sink.out.extend_from_slice(name.as_bytes());
            walk.sink.out.push(b'=');
        }
        walk.argument(*number);
        if ends {
            walk.became(*number);
        }
    }
}

fn put_result(sink: &mut TextSink<'_, '_>, call: &Call, row: Option<&'static Row>, style: Style) {
    let Outcome::Returned { value, .. } = call.outcome else {
        sink.out.push(b'?');
        return;
    };
    if (-4095..0).contains(&value) {
        put_error(sink.out, -value);
        if let Some(row) = row {
            Walk::showing(call, row, sink, style).beside_result();
        }
        return;
    }
    let Some(row) = row else {
        put::signed(sink.out, value);
        return;
    };
    put_value(sink, call, row, value);
    Walk::showing(call, row, sink, style).beside_result();
}

fn put_error(out: &mut Vec<u8>, number: i64) {
    if let Some((name, text)) = errors::restart(number) {
        put_named_error(out, b"? ", name, text);
    } else if let Some((name, text)) = errors::named(number) {
        put_named_error(out, b"-1 ", name, text);
    } else {
        out.extend_from_slice(b"-1 (errno ");
        put::signed(out, number);
        out.push(b')');
    }
}

fn put_named_error(out: &mut Vec<u8>, value: &[u8], name: &str, text: &str) {
    out.extend_from_slice(value);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b" (");
    out.extend_from_slice(text.as_bytes());
    out.push(b')');
}

fn put_value(sink: &mut TextSink<'_, '_>, call: &Call, row: &Row, value: i64) {
    const GET_DUMPABLE: u64 = 3;
    match row.answer {
        Answer::Hex => put::hex(sink.out, value as u64),
        Answer::Fd => {
            put::signed(sink.out, value);
            sink.describe(value as i32, call);
        }
        Answer::Octal => put::permissions(sink.out, value as u64),
        Answer::Fcntl => put_fcntl(sink, call, value),
        Answer::Moment => {
            put::signed(sink.out, value);
            sink.out.extend_from_slice(b" (");
            moment(sink.out, value, 0, 0);
            sink.out.push(b')');
        }
        Answer::Signal => {
            put::signed(sink.out, value);
            parenthesised(sink.out, |out| signal_name(out, value as i32));
        }
        Answer::Persona => {
            put::hex(sink.out, value as u64);
            parenthesised(sink.out, |out| put_persona(out, value as u64));
        }
        Answer::Policy => {
            put::signed(sink.out, value);
            parenthesised(sink.out, |out| put::one(out, value as u64, &flags::SCHED));
        }
        Answer::Prctl if call.arguments[0] == GET_DUMPABLE => {
            put::signed(sink.out, value);
            if let Some(name) = usize::try_from(value)
                .ok()
                .and_then(|value| DUMPABLE.get(value))
            {
                parenthesised(sink.out, |out| out.extend_from_slice(name.as_bytes()));
            }
        }
        Answer::Membarrier if call.arguments[0] == 0 && value != 0 => {
            put::hex(sink.out, value as u64);
            parenthesised(sink.out, |out| {
                put::flags(out, value as u64, &flags::MEMBARRIER)
            });
        }
        _ => put::signed(sink.out, value),
    }
}

/// What `prctl` says of whether memory may be dumped.
pub(crate) const DUMPABLE: [&str; 3] = ["SUID_DUMP_DISABLE", "SUID_DUMP_USER", "SUID_DUMP_ROOT"];

fn parenthesised(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b" (");
    write(out);
    out.push(b')');
}

fn put_fcntl(sink: &mut TextSink<'_, '_>, call: &Call, value: i64) {
    let arm = call.abi == crate::Abi::Aarch64;
    let bits = value as u64;
    match call.arguments[1] {
        0 | 1030 => {
            put::signed(sink.out, value);
            sink.describe(value as i32, call);
        }
        1 if value != 0 => {
            put::hex(sink.out, bits);
            parenthesised(sink.out, |out| {
                out.extend_from_slice(b"flags ");
                put::flags(out, bits, &flags::FD_FLAGS);
            });
        }
        3 => {
            put::hex(sink.out, bits);
            parenthesised(sink.out, |out| {
                out.extend_from_slice(b"flags ");
                put::open_flags(out, bits, arm);
            });
        }
        11 if value != 0 => {
            put::signed(sink.out, value);
            parenthesised(sink.out, |out| signal_name(out, value as i32));
        }
        1025 => {
            put::hex(sink.out, bits);
            parenthesised(sink.out, |out| put::one(out, bits, &flags::LOCK_TYPE));
        }
        1034 if value != 0 => {
            put::hex(sink.out, bits);
            parenthesised(sink.out, |out| {
                out.extend_from_slice(b"seals ");
                put::flags(out, bits, &flags::SEALS);
            });
        }
        _ => put::signed(sink.out, value),
    }
}

/// Whether a number means the current directory.
pub(crate) fn is_current(fd: i32) -> bool {
    fd == CURRENT_DIRECTORY
}
