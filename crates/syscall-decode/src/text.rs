//! strace's text, made of [`TraceEvent`]s alone.
//!
//! It appends to a buffer of the caller, and allocates nothing for an argument. The line of a call that goes on stays open until
//! something else is written: then it ends with `<unfinished ...>`, and is resumed when the call comes back.

mod clock;
mod color;
mod hex_dump;
mod line;
mod result;
mod sink;

use std::collections::{HashMap, HashSet};

use crate::decode::{DecodeStyle, Walk, signal_information};
use crate::descriptor_set::DescriptorSet;
use crate::format::{self, ConstantStyle, EscapeStyle, signal_name};
use crate::resolver::Resolver;
use crate::table::{self, ResultKind, SyscallDefinition};
use crate::{EventKind, StackFrame, SyscallOutcome, SyscallRecord, SyscallSet, TraceEvent};
use backsight_syscall_tables::manual_names;
pub use clock::{TimePrecision, TimestampFormat, TimestampWords};
use color::Color;
use line::{
    TAKE_UP, line_start, place_of, put_name, put_number, put_numbers, put_unknown, raw_arguments,
    takes_up,
};
use result::put_result;
use sink::TextSink;

/// How text is to look. What is told here has strace's options beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct TextOptions {
    /// Most bytes of a string, and most elements of an array (`-s`).
    pub string: usize,
    /// The calls whose structures are shown in full (all: `-v`; all but those of `-e abbrev=`).
    pub full: SyscallSet,
    /// The calls whose structures are shown as addresses (all but those of `-e verbose=`).
    pub opaque: SyscallSet,
    /// The calls whose arguments and results are shown as numbers (`-e raw=`).
    pub raw: SyscallSet,
    /// The descriptors of which everything that is read is shown (`-e read=`).
    pub reads: DescriptorSet,
    /// The descriptors of which everything that is written is shown (`-e write=`).
    pub writes: DescriptorSet,
    /// Which bytes are shown in hexadecimal (`-x`, `-xx`).
    pub escapes: EscapeStyle,
    /// How what has a name is shown (`-X`).
    pub constants: ConstantStyle,
    /// The column at which ` = ` stands (`-a`).
    pub column: usize,
    /// What stands before each line.
    pub prefix: LinePrefix,
    /// The time of day before each line (`-t`, `-tt`, `-ttt`).
    pub time: Option<TimestampFormat>,
    /// How long after the line before (`-r`).
    pub since: Option<TimePrecision>,
    /// How long each call took (`-T`).
    pub took: Option<TimePrecision>,
    /// The number of each call before its name (`-n`).
    pub numbered: bool,
    /// The name of each argument before it (`-N`).
    pub argument_names: bool,
    /// Whether names, results and errors are in colours (`--color`).
    pub colors: bool,
    /// Where in the program calls were made and signals came (`-i`).
    pub instructions: bool,
    /// What is added to an event's clock to have nanoseconds since 1970.
    pub wall: i64,
    /// How far local time is ahead of UTC, in seconds.
    pub zone: i64,
    /// Whether it is told that a thread was attached to, and detached from (without `-e quiet=attach`).
    pub attached: bool,
    /// Whether exits are told (without `-e quiet=exit`).
    pub exits: bool,
    /// Whether it is told that a thread calls the kernel in another way than before (without `-e quiet=personality`).
    pub modes: bool,
    /// Whether it is told that a thread is gone because of another's `execve` (without `-e quiet=thread-execve`).
    pub superseded: bool,
    /// The signals that are told, and those whose killing is: bit N − 1 for signal N, as the kernel's sets have it (`-e signal=`).
    pub signals: u64,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            string: 32,
            full: SyscallSet::none(),
            opaque: SyscallSet::none(),
            raw: SyscallSet::none(),
            reads: DescriptorSet::default(),
            writes: DescriptorSet::default(),
            escapes: EscapeStyle::Octal,
            constants: ConstantStyle::Names,
            column: 40,
            prefix: LinePrefix::Nobody,
            time: None,
            since: None,
            took: None,
            numbered: false,
            argument_names: false,
            colors: false,
            instructions: false,
            wall: 0,
            zone: 0,
            attached: false,
            exits: true,
            modes: false,
            superseded: true,
            signals: u64::MAX,
        }
    }
}

impl TextOptions {
    fn tells_signal(&self, number: i32) -> bool {
        let bit = u32::try_from(number).ok().and_then(|it| it.checked_sub(1));
        bit.is_none_or(|bit| self.signals.checked_shr(bit).unwrap_or(1) & 1 == 1)
    }

    fn strings_and_constants(&self) -> (EscapeStyle, ConstantStyle) {
        (self.escapes, self.constants)
    }
}

/// How the line of a thread ends that takes another number.
pub const RENUMBERED: &[u8] = b" <pid changed to ";

/// What stands before each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePrefix {
    /// Nothing.
    Nobody,
    /// The thread's number, as in files.
    Plain,
    /// `[pid 123]` wherever more than one thread is traced, as on a terminal.
    Bracketed,
}

/// The threads of processes that ran already and are attached to: of each process it is told once, with the number of its threads. The
/// first thread's event comes last.
#[derive(Debug, Default)]
pub struct AttachedThreads(HashMap<i32, usize>);

impl AttachedThreads {
    /// What is said of a thread that was attached to, where it is said now: as `attached with 4 threads`.
    pub fn attached(&mut self, pid: i32, tid: i32, parent: Option<i32>) -> Option<String> {
        if parent.is_some() {
            return Some("attached".to_owned());
        }
        if tid != pid {
            *self.0.entry(pid).or_default() += 1;
            return None;
        }
        match self.0.remove(&pid) {
            Some(others) => Some(format!("attached with {} threads", others + 1)),
            None => Some("attached".to_owned()),
        }
    }
}

/// Makes text of events.
pub struct TextWriter<'a> {
    options: TextOptions,
    descriptors: Option<Box<dyn Resolver + 'a>>,
    /// The threads that are alive, as far as was told.
    threads: HashSet<i32>,
    /// The call that a line was begun with and not ended.
    open: Option<Open>,
    /// Calls that were begun and interrupted by others' lines, with how many arguments were shown.
    begun: HashMap<i32, usize>,
    /// The calls that threads are to take up again.
    interrupted: HashMap<i32, &'static str>,
    /// The threads of processes that are being attached to.
    attachments: AttachedThreads,
    /// The threads that last called the kernel in the 32-bit way.
    narrow: HashSet<i32>,
    /// The number of each thread's last call, where numbers are shown.
    numbers: HashMap<i32, u64>,
    /// When the line before began.
    last: Option<u64>,
}

struct Open {
    tid: i32,
    shown: usize,
    columns: usize,
}

impl std::fmt::Debug for TextWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<'a> TextWriter<'a> {
    /// Text of this look, without what file descriptors are.
    pub fn new(options: TextOptions) -> Self {
        TextWriter {
            options,
            descriptors: None,
            threads: HashSet::new(),
            open: None,
            begun: HashMap::new(),
            interrupted: HashMap::new(),
            attachments: AttachedThreads::default(),
            narrow: HashSet::new(),
            numbers: HashMap::new(),
            last: None,
        }
    }

    /// Shows beside file descriptors what they are (`-y`, `-yy`: by what is told of them).
    pub fn with_resolver(mut self, descriptors: impl Resolver + 'a) -> Self {
        self.descriptors = Some(Box::new(descriptors));
        self
    }

    /// Appends what an event says.
    pub fn write(&mut self, event: &TraceEvent, out: &mut Vec<u8>) {
        if let Some(descriptors) = &mut self.descriptors {
            descriptors.note_event(event);
        }
        match &event.kind {
            EventKind::Call(call) => {
                self.threads.insert(event.tid);
                self.call(event, call, out);
            }
            EventKind::Pending(call) => {
                self.threads.insert(event.tid);
                self.begin(event, call, out);
            }
            EventKind::Signal { number, info, .. } if self.options.tells_signal(*number) => {
                self.signal(event, *number, info, out)
            }
            EventKind::Stopped { signal } if self.options.tells_signal(*signal) => {
                self.line(event, event.at, out);
                out.extend_from_slice(b"--- stopped by ");
                signal_name(out, *signal);
                out.extend_from_slice(b" ---\n");
            }
            // It is no line of the calls: who traces is told beside them.
            EventKind::Signal { .. }
            | EventKind::Stopped { .. }
            | EventKind::Unchanged { .. }
            | EventKind::Stranger { .. } => {}
            EventKind::Interrupted { abi, number } => {
                if let Some(row) = table::find_syscall(*abi, *number) {
                    self.interrupted.insert(event.tid, row.name);
                }
            }
            EventKind::Stack(frames) => frames.iter().for_each(|frame| put_frame(frame, out)),
            EventKind::Exited { .. } | EventKind::Killed { .. } | EventKind::Superseded { .. } => {
                self.end(event, out)
            }
            EventKind::Attached { parent } => {
                self.threads.insert(event.tid);
                // Who made it may have told nothing yet.
                self.threads.extend(parent);
                if parent.is_some_and(|parent| self.narrow.contains(&parent)) {
                    self.narrow.insert(event.tid);
                }
                if let Some(descriptors) = &mut self.descriptors {
                    // How it is called is asked while it is there to be asked.
                    let _remembered = descriptors.describe_thread(event.tid);
                }
                // Amid a line that is open, as strace does it.
                if let Some(what) = self.attachments.attached(event.pid, event.tid, *parent) {
                    self.attachment(event.tid, &what, out);
                }
            }
            EventKind::Detached => {
                if self.open.take_if(|open| open.tid == event.tid).is_some() {
                    out.extend_from_slice(b" <detached ...>\n");
                }
                self.threads.remove(&event.tid);
                self.narrow.remove(&event.tid);
                self.attachment(event.tid, "detached", out);
            }
            EventKind::Lost { number } => {
                self.close(out);
                format::unsigned(out, *number);
                out.extend_from_slice(b" events were lost here\n");
            }
        }
    }

    fn attachment(&self, tid: i32, what: &str, out: &mut Vec<u8>) {
        if self.options.attached {
            out.extend_from_slice(format!("strace: Process {tid} {what}\n").as_bytes());
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

    /// Ends a line that was left open; if it is a thread's that has another number now, that is said there.
    fn renumber(&mut self, before: i32, now: i32, out: &mut Vec<u8>) {
        if let Some(open) = self.open.take_if(|open| open.tid == before) {
            out.extend_from_slice(RENUMBERED);
            format::signed(out, i64::from(now));
            out.extend_from_slice(b" ...>\n");
            self.begun.insert(open.tid, open.shown);
        }
        self.close(out);
    }

    /// Ends what was open and begins a line.
    fn line(&mut self, event: &TraceEvent, at: u64, out: &mut Vec<u8>) {
        self.close(out);
        match self.options.prefix {
            LinePrefix::Nobody => {}
            LinePrefix::Plain => {
                let start = out.len();
                format::signed(out, i64::from(event.tid));
                if let Some(descriptors) = &mut self.descriptors {
                    out.extend_from_slice(&descriptors.describe_thread(event.tid));
                }
                while out.len() < start + 5 {
                    out.push(b' ');
                }
                out.push(b' ');
            }
            LinePrefix::Bracketed if self.threads.len() > 1 => {
                out.extend_from_slice(b"[pid ");
                let mut buffer = itoa::Buffer::new();
                let digits = buffer.format(event.tid).as_bytes();
                out.extend(std::iter::repeat_n(
                    b' ',
                    5_usize.saturating_sub(digits.len()),
                ));
                out.extend_from_slice(digits);
                if let Some(descriptors) = &mut self.descriptors {
                    out.extend_from_slice(&descriptors.describe_thread(event.tid));
                }
                out.extend_from_slice(b"] ");
            }
            LinePrefix::Bracketed => {}
        }
        clock::leader(&self.options, at, self.last, out);
        self.last = Some(at);
        if self.options.numbered {
            if let EventKind::Call(call) | EventKind::Pending(call) = &event.kind {
                self.numbers.insert(event.tid, call.number);
            }
            put_number(self.numbers.get(&event.tid).copied(), out);
        }
        if self.options.instructions {
            place_of(&event.kind, out);
        }
    }

    /// Which call is taken up again.
    fn put_taken_up(&self, tid: i32, out: &mut Vec<u8>) {
        let name = self.interrupted.get(&tid).copied();
        out.extend_from_slice(b"<... resuming interrupted ");
        out.extend_from_slice(name.unwrap_or("system call").as_bytes());
        out.extend_from_slice(b" ...>");
    }

    /// A call's name.
    fn name(&self, call: &SyscallRecord, row: Option<&SyscallDefinition>, out: &mut Vec<u8>) {
        let start = out.len();
        put_name(out, call, row);
        if self.options.colors {
            Color::NAME.surround(out, start);
        }
    }

    /// How many columns of what was written since there are no characters: those that change the colour.
    fn invisible(&self, written: &[u8]) -> usize {
        match self.options.colors {
            true => color::width_of_changes(written),
            false => 0,
        }
    }

    fn style(&self, call: &SyscallRecord) -> DecodeStyle {
        DecodeStyle {
            string: self.options.string,
            elements: self.options.string,
            verbose: self.options.full.contains(call.abi, call.number),
            opaque: self.options.opaque.contains(call.abi, call.number),
            partial: false,
        }
    }

    fn is_raw(&self, call: &SyscallRecord) -> bool {
        self.options.raw.contains(call.abi, call.number)
    }

    /// A line that says in which way a thread calls the kernel from here on, where that is another than before.
    fn mode(&mut self, event: &TraceEvent, call: &SyscallRecord, out: &mut Vec<u8>) {
        if !self.options.modes || (!call.abi.is_narrow() && self.narrow.is_empty()) {
            return;
        }
        let changes = match call.abi.is_narrow() {
            true => self.narrow.insert(event.tid),
            false => self.narrow.remove(&event.tid),
        };
        if changes {
            self.line(event, call.entered, out);
            out.extend_from_slice(b"[ Process PID=");
            format::signed(out, i64::from(event.tid));
            out.extend_from_slice(match call.abi.is_narrow() {
                true => b" runs in 32 bit mode. ]\n",
                false => b" runs in 64 bit mode. ]\n",
            });
        }
    }

    fn begin(&mut self, event: &TraceEvent, call: &SyscallRecord, out: &mut Vec<u8>) {
        self.mode(event, call, out);
        let start = out.len();
        self.line(event, call.entered, out);
        let start = line_start(out, start);
        let row = table::find_syscall(call.abi, call.number);
        self.name(call, row, out);
        out.push(b'(');
        let shown = match row {
            Some(row) if takes_up(row) => {
                self.put_taken_up(event.tid, out);
                6
            }
            Some(row) if self.is_raw(call) => {
                let shown = &call.arguments[..raw_arguments(row)];
                put_numbers(out, shown, self.options.argument_names);
                6
            }
            Some(row) => {
                let style = self.style(call);
                let mut sink = TextSink::new(
                    out,
                    self.options.strings_and_constants(),
                    self.descriptors.as_deref_mut(),
                    event.pid,
                );
                let mut walk = Walk::showing(call, row, &mut sink, style);
                let names = self.options.argument_names;
                let (order, count) = walk.shown();
                let known = walk.known_at_entry();
                put_arguments(&mut walk, &order[..count], (0, known), names);
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
            columns: out.len() - start - self.invisible(&out[start..]),
        });
    }

    fn call(&mut self, event: &TraceEvent, call: &SyscallRecord, out: &mut Vec<u8>) {
        let row = table::find_syscall(call.abi, call.number);
        let mut start = out.len();
        // What of it was shown before, and how wide the line is that it goes on with.
        let (shown, before) = match self.open.take_if(|open| open.tid == event.tid) {
            Some(open) => (Some(open.shown), open.columns),
            None => {
                let resumed = if self.begun.is_empty() {
                    None
                } else {
                    self.begun.remove(&event.tid)
                };
                if resumed.is_none() {
                    self.mode(event, call, out);
                    start = out.len();
                }
                self.line(event, call.entered, out);
                if resumed.is_some() {
                    out.extend_from_slice(b"<... ");
                    put_name(out, call, row);
                    out.extend_from_slice(b" resumed>");
                } else {
                    self.name(call, row, out);
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
        let style = self.style(call);
        let raw = self.is_raw(call);
        match row {
            Some(row) if takes_up(row) && shown.is_none() => self.put_taken_up(event.tid, out),
            Some(row) if takes_up(row) => {}
            Some(row) if raw && shown.is_none() => {
                let shown = &call.arguments[..raw_arguments(row)];
                put_numbers(out, shown, self.options.argument_names);
            }
            Some(_) if raw => {}
            Some(row) => {
                let mut sink = TextSink::new(
                    out,
                    self.options.strings_and_constants(),
                    self.descriptors.as_deref_mut(),
                    event.pid,
                );
                let mut walk = Walk::showing(call, row, &mut sink, style);
                let names = self.options.argument_names;
                let (order, count) = walk.shown();
                let gone = walk_is_gone(call, row);
                let until = if gone { walk.known_at_entry() } else { count };
                put_arguments(
                    &mut walk,
                    &order[..count],
                    (shown.unwrap_or(0), until),
                    names,
                );
                if gone && until < count {
                    out.extend_from_slice(b" <unfinished ...>");
                }
            }
            None if shown.is_none() => put_unknown(out, call),
            None => {}
        }
        if let (Some(row), SyscallOutcome::Returned { value: TAKE_UP, .. }) = (row, call.outcome) {
            self.interrupted.insert(event.tid, row.name);
        }
        out.extend_from_slice(b") ");
        let columns = before + out.len() - start - self.invisible(&out[start..]);
        if columns < self.options.column {
            out.resize(out.len() + self.options.column - columns, b' ');
        }
        out.extend_from_slice(b"= ");
        if let (true, SyscallOutcome::Returned { value, .. }) = (raw, call.outcome)
            && call.error().is_none()
        {
            format::hex(out, value.cast_unsigned());
            self.end_call((call, event.tid), row, out);
            return;
        }
        let mut sink = TextSink::new(
            out,
            self.options.strings_and_constants(),
            self.descriptors.as_deref_mut(),
            event.pid,
        );
        let start = sink.out.len();
        put_result(&mut sink, call, row, style);
        if self.options.colors {
            let color = match call.error() {
                Some(_) => Color::ERROR,
                None => Color::RESULT,
            };
            color.surround(out, start);
        }
        if let Some(descriptors) = &mut self.descriptors
            && let Some(said) = descriptors.describe_result(event.tid, call)
        {
            out.extend_from_slice(b" (");
            out.extend_from_slice(&said);
            out.push(b')');
        }
        self.end_call((call, event.tid), row, out);
    }

    /// What stands behind a result, and below its line.
    fn end_call(
        &self,
        (call, tid): (&SyscallRecord, i32),
        row: Option<&SyscallDefinition>,
        out: &mut Vec<u8>,
    ) {
        match (call.rewritten, call.injected) {
            (true, true) => out.extend_from_slice(b" (INJECTED: args, retval)"),
            (true, false) => out.extend_from_slice(b" (INJECTED: args)"),
            (false, true) => out.extend_from_slice(b" (INJECTED)"),
            (false, false) => {}
        }
        if call.delayed {
            out.extend_from_slice(b" (DELAYED)");
        }
        if let (Some(precision), SyscallOutcome::Returned { took, .. }) =
            (self.options.took, call.outcome)
        {
            clock::took(precision, took, out);
        }
        out.push(b'\n');
        if let Some(row) = row {
            hex_dump::dump(
                (call, tid),
                row.name,
                &self.options.reads,
                &self.options.writes,
                out,
            );
        }
    }

    fn signal(&mut self, event: &TraceEvent, number: i32, info: &[u8], out: &mut Vec<u8>) {
        self.line(event, event.at, out);
        out.extend_from_slice(b"--- ");
        signal_name(out, number);
        if !info.is_empty() {
            out.push(b' ');
            let mut sink = TextSink::new(
                out,
                self.options.strings_and_constants(),
                self.descriptors.as_deref_mut(),
                event.pid,
            );
            signal_information(&mut sink, info, None);
        }
        out.extend_from_slice(b" ---\n");
    }

    fn end(&mut self, event: &TraceEvent, out: &mut Vec<u8>) {
        match event.kind {
            EventKind::Superseded { by } => self.renumber(by, event.tid, out),
            _ => self.close(out),
        }
        let superseded = match event.kind {
            EventKind::Superseded { by } => {
                self.threads.remove(&by);
                Some(by)
            }
            _ => None,
        };
        let told = match event.kind {
            EventKind::Superseded { .. } => self.options.superseded,
            // A signal is told whatever isn't said of exits.
            EventKind::Killed { signal, .. } => self.options.tells_signal(signal),
            _ => self.options.exits,
        };
        if told {
            self.line(event, event.at, out);
            out.extend_from_slice(b"+++ ");
            match event.kind {
                EventKind::Exited { status } => {
                    out.extend_from_slice(b"exited with ");
                    format::signed(out, i64::from(status));
                }
                EventKind::Killed { signal, core } => {
                    out.extend_from_slice(b"killed by ");
                    signal_name(out, signal);
                    if core {
                        out.extend_from_slice(b" (core dumped)");
                    }
                }
                EventKind::Superseded { by } => {
                    out.extend_from_slice(b"superseded by execve in pid ");
                    format::signed(out, i64::from(by));
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
                self.narrow.remove(&event.tid);
                if self.narrow.remove(&by) {
                    self.narrow.insert(event.tid);
                }
            }
            None => {
                self.threads.remove(&event.tid);
                self.narrow.remove(&event.tid);
                self.numbers.remove(&event.tid);
            }
        }
    }
}

/// A place on a thread's stack, as strace has it.
fn put_frame(frame: &StackFrame, out: &mut Vec<u8>) {
    out.extend_from_slice(b" > ");
    out.extend_from_slice(&frame.file);
    out.push(b'(');
    if let Some((name, offset)) = &frame.function {
        out.extend_from_slice(name);
        out.extend_from_slice(b"+0x");
        format::hex_digits(out, *offset);
    }
    out.extend_from_slice(b") [0x");
    format::hex_digits(out, frame.offset);
    out.extend_from_slice(b"]\n");
}

/// Whether the thread vanished within the call; `exit` is meant not to come back.
fn walk_is_gone(call: &SyscallRecord, row: &SyscallDefinition) -> bool {
    call.outcome == SyscallOutcome::Open && row.result != ResultKind::Never
}

fn put_arguments(
    walk: &mut Walk<'_, TextSink<'_, '_>>,
    order: &[usize],
    (from, until): (usize, usize),
    with_names: bool,
) {
    let manual = manual_names(walk.row.name);
    let ends = until == order.len();
    // What was begun may have been another call, of more arguments, in a recording that is damaged.
    let before = from.checked_sub(1).and_then(|before| order.get(before));
    if let Some(before) = before.filter(|before| walk.becomes(**before)) {
        walk.became(*before);
    }
    for (index, number) in order.iter().enumerate().take(until).skip(from) {
        if index > 0 {
            walk.sink.out.extend_from_slice(b", ");
        }
        if walk.is_clone() {
            let name = walk.clone_name(*number);
            walk.sink.out.extend_from_slice(name.as_bytes());
            walk.sink.out.push(b'=');
        } else if with_names {
            let manual = manual.and_then(|names| names.get(index).copied());
            let name = manual.unwrap_or(walk.row.arguments[*number].name);
            walk.sink.out.extend_from_slice(name.as_bytes());
            walk.sink.out.push(b'=');
        }
        walk.argument(*number);
        if ends {
            walk.became(*number);
        }
    }
}
