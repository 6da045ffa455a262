//! JSON: one object a line for each event, with everything that was captured.
//!
//! docs/how-to/trace-system-calls.md describes the objects for users, and changes with them.

use crate::decode::{Bracket, DecodeStyle, ValueSink, Walk, signal_information};
use crate::format::{self, signal_name};
use crate::resolver::{CURRENT_DIRECTORY, DescriptorInfo, Resolver};
use crate::table::{self, SyscallDefinition};
use crate::{Abi, EventKind, SyscallOutcome, SyscallRecord, TraceEvent};

/// Makes JSON of events.
pub struct JsonWriter<'a> {
    /// Most bytes of a text or a buffer.
    string: usize,
    descriptors: Option<Box<dyn Resolver + 'a>>,
}

impl std::fmt::Debug for JsonWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Json").finish_non_exhaustive()
    }
}

impl<'a> JsonWriter<'a> {
    /// JSON without what file descriptors are, and no more than so many bytes of texts and buffers.
    pub fn new(string: usize) -> Self {
        Self {
            string,
            descriptors: None,
        }
    }

    /// Says of file descriptors what they are: `{"fd": 3, "is": "/etc/passwd"}`.
    pub fn with_resolver(mut self, descriptors: impl Resolver + 'a) -> Self {
        self.descriptors = Some(Box::new(descriptors));
        self
    }

    /// Appends an event and a newline.
    pub fn write(&mut self, event: &TraceEvent, out: &mut Vec<u8>) {
        let kind = match &event.kind {
            EventKind::Call(_) => "call",
            EventKind::Pending(_) => "pending",
            EventKind::Signal { .. } => "signal",
            EventKind::Stopped { .. } => "stopped",
            EventKind::Exited { .. } => "exited",
            EventKind::Killed { .. } => "killed",
            EventKind::Superseded { .. } => "superseded",
            EventKind::Attached { .. } => "attached",
            EventKind::Detached => "detached",
            EventKind::Lost { .. } => "lost",
            EventKind::Unchanged { .. } => "unchanged",
            EventKind::Stack(_) => "stack",
            EventKind::Stranger { .. } => "stranger",
            EventKind::Interrupted { .. } => "interrupted",
        };
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.push(b'"');
        number(out, "pid", i64::from(event.pid));
        number(out, "tid", i64::from(event.tid));
        key(out, "at");
        format::unsigned(out, event.at);
        match &event.kind {
            EventKind::Call(call) | EventKind::Pending(call) => self.call(event, call, out),
            EventKind::Signal {
                number: signal,
                info,
                instruction,
            } => {
                named_signal(out, *signal);
                number(out, "number", i64::from(*signal));
                place(out, *instruction);
                if !info.is_empty() {
                    key(out, "information");
                    signal_information(&mut JsonSink::new(out, None, event.pid), info, None);
                }
            }
            EventKind::Stopped { signal } => named_signal(out, *signal),
            EventKind::Exited { status } => number(out, "status", i64::from(*status)),
            EventKind::Killed { signal, core } => {
                named_signal(out, *signal);
                truth(out, "core", *core);
            }
            EventKind::Superseded { by } => number(out, "by", i64::from(*by)),
            EventKind::Attached { parent } => {
                if let Some(parent) = parent {
                    number(out, "parent", i64::from(*parent));
                }
            }
            EventKind::Detached => {}
            EventKind::Lost { number } => {
                key(out, "number");
                format::unsigned(out, *number);
            }
            EventKind::Stack(frames) => {
                key(out, "frames");
                out.push(b'[');
                for (index, frame) in frames.iter().enumerate() {
                    out.extend_from_slice(if index > 0 { b",{" } else { b"{" });
                    out.extend_from_slice(b"\"file\":");
                    string(out, &frame.file);
                    if let Some((name, offset)) = &frame.function {
                        key(out, "function");
                        string(out, name);
                        key(out, "into");
                        format::unsigned(out, *offset);
                    }
                    key(out, "offset");
                    format::unsigned(out, frame.offset);
                    out.push(b'}');
                }
                out.push(b']');
            }
            EventKind::Stranger { ended } => truth(out, "ended", *ended),
            EventKind::Interrupted {
                abi,
                number: resumed,
            } => {
                if let Some(row) = table::find_syscall(*abi, *resumed) {
                    key(out, "name");
                    string(out, row.name.as_bytes());
                }
                key(out, "number");
                format::unsigned(out, *resumed);
            }
            EventKind::Unchanged { argument, .. } => {
                key(out, "argument");
                format::unsigned(out, *argument as u64);
            }
        }
        out.extend_from_slice(b"}\n");
    }

    fn call(&mut self, event: &TraceEvent, call: &SyscallRecord, out: &mut Vec<u8>) {
        let row = table::find_syscall(call.abi, call.number);
        let abi = match call.abi {
            Abi::X86_64 => "x86-64",
            Abi::I386 => "i386",
            Abi::Aarch64 => "arm64",
        };
        key(out, "abi");
        string(out, abi.as_bytes());
        if let Some(row) = row {
            key(out, "name");
            string(out, row.name.as_bytes());
        }
        key(out, "number");
        format::unsigned(out, call.number);
        key(out, "entered");
        format::unsigned(out, call.entered);
        place(out, call.instruction);
        key(out, "arguments");
        let pending = matches!(event.kind, EventKind::Pending(_));
        self.arguments(event.pid, call, row, pending, out);
        if !pending {
            outcome(call, out);
            if let Some(row) = row {
                let mut sink = JsonSink::new(out, self.descriptors.as_deref_mut(), event.pid);
                Walk::showing(call, row, &mut sink, full(self.string)).beside_result();
            }
        }
        if call.injected {
            truth(out, "injected", true);
        }
        if call.rewritten {
            truth(out, "rewritten", true);
        }
        if call.delayed {
            truth(out, "delayed", true);
        }
    }

    fn arguments(
        &mut self,
        pid: i32,
        call: &SyscallRecord,
        row: Option<&'static SyscallDefinition>,
        pending: bool,
        out: &mut Vec<u8>,
    ) {
        let Some(row) = row else {
            out.push(b'[');
            for (index, argument) in call.arguments.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                string_hex(out, *argument);
            }
            out.push(b']');
            return;
        };
        out.push(b'{');
        let mut sink = JsonSink::new(out, self.descriptors.as_deref_mut(), pid);
        let mut walk = Walk::showing(call, row, &mut sink, full(self.string));
        let (order, count) = walk.shown();
        let until = if pending {
            walk.known_at_entry()
        } else {
            count
        };
        let mut first = true;
        for place in &order[..until] {
            let Some(argument) = row.arguments.get(*place) else {
                continue;
            };
            walk.sink.field(first, argument.name);
            first = false;
            let start = walk.sink.out.len();
            walk.argument(*place);
            if walk.becomes(*place) && !pending {
                let middle = walk.sink.out.len();
                walk.became(*place);
                before_and_after(walk.sink.out, start, middle);
            }
        }
        out.push(b'}');
    }
}

/// JSON shows all that was captured, but for texts.
fn full(string: usize) -> DecodeStyle {
    DecodeStyle {
        string,
        elements: usize::MAX,
        verbose: true,
        opaque: false,
        partial: true,
    }
}

/// Sets what was written from `start` on and from `middle` on as before and after, if there is an after.
fn before_and_after(out: &mut Vec<u8>, start: usize, middle: usize) {
    if out.len() == middle {
        return;
    }
    out.splice(middle..middle, *b",\"after\":");
    out.splice(start..start, *b"{\"before\":");
    out.push(b'}');
}

fn outcome(call: &SyscallRecord, out: &mut Vec<u8>) {
    key(out, "result");
    let SyscallOutcome::Returned { value, took } = call.outcome else {
        out.extend_from_slice(b"null");
        return;
    };
    if let Some(error) = call.error() {
        format::signed(out, -1);
        key(out, "errno");
        let start = out.len();
        format::error_name(out, error);
        requote(out, start);
    } else {
        format::signed(out, value);
    }
    key(out, "took");
    format::unsigned(out, took);
}

fn key(out: &mut Vec<u8>, name: &str) {
    out.push(b',');
    string(out, name.as_bytes());
    out.push(b':');
}

fn number(out: &mut Vec<u8>, name: &str, value: i64) {
    key(out, name);
    format::signed(out, value);
}

fn truth(out: &mut Vec<u8>, name: &str, value: bool) {
    key(out, name);
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Where in the program something happened, if that is known.
fn place(out: &mut Vec<u8>, instruction: Option<u64>) {
    if let Some(instruction) = instruction {
        key(out, "instruction");
        format::unsigned(out, instruction);
    }
}

fn named_signal(out: &mut Vec<u8>, signal: i32) {
    key(out, "signal");
    out.push(b'"');
    signal_name(out, signal);
    out.push(b'"');
}

/// Bytes as a JSON string; what isn't UTF-8 as `\xNN`.
fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().bytes() {
            match letter {
                b'"' | b'\\' => out.extend_from_slice(&[b'\\', letter]),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\r' => out.extend_from_slice(b"\\r"),
                0..=0x1f | 0x7f => {
                    out.extend_from_slice(b"\\u00");
                    format::hex_padded(out, u64::from(letter), 2);
                }
                _ => out.push(letter),
            }
        }
        for byte in chunk.invalid() {
            out.extend_from_slice(b"\\\\x");
            format::hex_padded(out, u64::from(*byte), 2);
        }
    }
    out.push(b'"');
}

fn string_hex(out: &mut Vec<u8>, value: u64) {
    out.push(b'"');
    format::hex(out, value);
    out.push(b'"');
}

/// Makes a string of what was written from a place on.
fn requote(out: &mut Vec<u8>, start: usize) {
    let plain = out[start..]
        .iter()
        .all(|byte| (b' '..=b'~').contains(byte) && *byte != b'"' && *byte != b'\\');
    if plain {
        out.insert(start, b'"');
        out.push(b'"');
    } else {
        let written = out.split_off(start);
        string(out, &written);
    }
}

struct JsonSink<'o, 'd> {
    out: &'o mut Vec<u8>,
    descriptors: Option<&'o mut (dyn Resolver + 'd)>,
    pid: i32,
    beside: bool,
}

impl<'o, 'd> JsonSink<'o, 'd> {
    fn new(
        out: &'o mut Vec<u8>,
        descriptors: Option<&'o mut (dyn Resolver + 'd)>,
        pid: i32,
    ) -> Self {
        JsonSink {
            out,
            descriptors,
            pid,
            beside: false,
        }
    }

    fn separate(&mut self, first: bool) {
        if !first {
            self.out.push(b',');
        }
    }

    fn described(&mut self, fd: i32, call: &SyscallRecord, write: impl FnOnce(&mut Vec<u8>)) {
        let mut what = Vec::new();
        if let Some(descriptors) = &mut self.descriptors {
            let DescriptorInfo {
                path,
                deleted: gone,
                detail,
            } = descriptors.describe_descriptor(self.pid, fd, call);
            what.extend(path);
            what.extend(detail);
            if gone {
                what.extend_from_slice(b" (deleted)");
            }
        }
        if what.is_empty() {
            write(self.out);
            return;
        }
        self.out.extend_from_slice(b"{\"fd\":");
        write(self.out);
        self.out.extend_from_slice(b",\"is\":");
        string(self.out, &what);
        self.out.push(b'}');
    }
}

impl ValueSink for JsonSink<'_, '_> {
    fn signed(&mut self, value: i64) {
        format::signed(self.out, value);
    }

    fn unsigned(&mut self, value: u64) {
        format::unsigned(self.out, value);
    }

    fn hex(&mut self, value: u64) {
        string_hex(self.out, value);
    }

    fn address(&mut self, value: u64) {
        string_hex(self.out, value);
    }

    fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }

    fn word(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        write(self.out);
        requote(self.out, start);
    }

    fn zero_ended(&mut self, bytes: &[u8]) {
        string(self.out, bytes.strip_suffix(&[0]).unwrap_or(bytes));
    }

    fn remarked(&mut self, value: i64, _: impl FnOnce(&mut Vec<u8>)) {
        format::signed(self.out, value);
    }

    fn aside(&mut self, _: impl FnOnce(&mut Vec<u8>)) {}

    fn counted(&mut self, address: u64, _: u64, _: &str) {
        string_hex(self.out, address);
    }

    fn text(&mut self, bytes: &[u8], cut: bool) {
        if cut {
            self.out.extend_from_slice(b"{\"start\":");
        }
        string(self.out, bytes);
        if cut {
            self.out.push(b'}');
        }
    }

    fn abstract_text(&mut self, bytes: &[u8]) {
        let mut named = vec![b'@'];
        named.extend_from_slice(bytes);
        string(self.out, &named);
    }

    fn binary(&mut self, bytes: &[u8], cut: bool) {
        self.text(bytes, cut);
    }

    fn fd(&mut self, fd: i32, call: &SyscallRecord) {
        self.described(fd, call, |out| format::signed(out, i64::from(fd)));
    }

    fn dir_fd(&mut self, fd: i32, call: &SyscallRecord) {
        if fd == CURRENT_DIRECTORY {
            self.described(fd, call, |out| out.extend_from_slice(b"\"AT_FDCWD\""));
        } else {
            self.fd(fd, call);
        }
    }

    fn begin(&mut self, bracket: Bracket) {
        self.out.push(if bracket == Bracket::Structure {
            b'{'
        } else {
            b'['
        });
    }

    fn end(&mut self, bracket: Bracket) {
        self.out.push(if bracket == Bracket::Structure {
            b'}'
        } else {
            b']'
        });
    }

    fn field(&mut self, first: bool, name: &str) {
        self.separate(first);
        string(self.out, name.as_bytes());
        self.out.push(b':');
    }

    fn nameless(&mut self, first: bool, name: &str) {
        self.field(first, name);
    }

    fn item(&mut self, first: bool) {
        self.separate(first);
    }

    fn member(&mut self, first: bool) {
        self.separate(first);
    }

    fn more(&mut self, bracket: Bracket, first: bool) {
        self.separate(first);
        self.out
            .extend_from_slice(if bracket == Bracket::Structure {
                b"\"...\":null"
            } else {
                b"\"...\""
            });
    }

    fn unreadable(&mut self, _: u64) {
        self.out.extend_from_slice(b"\"...\"");
    }

    fn beside(&mut self, first: bool, name: &str) {
        if first {
            self.beside = true;
            key(self.out, "beside");
            self.out.push(b'{');
        } else {
            self.out.push(b',');
        }
        string(
            self.out,
            if name.is_empty() {
                b"ready"
            } else {
                name.as_bytes()
            },
        );
        self.out.push(b':');
    }

    fn beside_end(&mut self) {
        if std::mem::take(&mut self.beside) {
            self.out.push(b'}');
        }
    }

    fn became(&mut self) {}

    fn field_became(&mut self, name: &str) {
        self.field(false, &format!("{name}_after"));
    }

    fn begins(&self) -> usize {
        self.out.len()
    }

    fn turns(&mut self) -> usize {
        self.out.len()
    }

    fn turned(&mut self, start: usize, middle: usize) {
        before_and_after(self.out, start, middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CapturePoint, CapturedMemory, MemoryPiece, StackFrame};

    fn said(event: &TraceEvent) -> serde_json::Value {
        let mut out = Vec::new();
        JsonWriter::new(usize::MAX).write(event, &mut out);
        assert!(out.ends_with(b"}\n"));
        serde_json::from_slice(&out).unwrap()
    }

    fn call(
        name: &str,
        arguments: [u64; 6],
        value: i64,
        pieces: &[(u64, CapturePoint, &[u8])],
    ) -> TraceEvent {
        let mut memory = CapturedMemory::default();
        for (address, when, bytes) in pieces {
            memory.add(MemoryPiece {
                address: *address,
                when: *when,
                bytes: bytes.to_vec(),
            });
        }
        let call = SyscallRecord {
            abi: Abi::X86_64,
            number: table::syscall_number(Abi::X86_64, name).unwrap(),
            arguments,
            entered: 5,
            outcome: SyscallOutcome::Returned { value, took: 7 },
            memory,
            injected: false,
            rewritten: false,
            delayed: false,
            instruction: None,
            worked: None,
        };
        TraceEvent {
            pid: 1,
            tid: 2,
            at: 12,
            kind: EventKind::Call(call),
        }
    }

    #[test]
    fn a_call_has_its_arguments_by_name() {
        let event = call(
            "openat",
            [-100_i64 as u64, 64, 0o2_000_000, 0, 0, 0],
            -2,
            &[(64, CapturePoint::Entered, b"/a\"\xff\n\0")],
        );
        assert_eq!(
            said(&event),
            serde_json::json!({"type": "call", "pid": 1, "tid": 2, "at": 12, "abi": "x86-64", "name": "openat", "number": 257, "entered": 5,
                "arguments": {"dfd": "AT_FDCWD", "filename": "/a\"\\xff\n", "flags": "O_RDONLY|O_CLOEXEC"}, "result": -1, "errno": "ENOENT", "took": 7})
        );
    }

    #[test]
    fn what_was_cut_or_not_captured_is_seen_to_be() {
        let event = call(
            "read",
            [3, 64, 100, 0, 0, 0],
            100,
            &[(64, CapturePoint::Left, &[b'a'; 100])],
        );
        assert_eq!(
            said(&event)["arguments"]["buf"],
            serde_json::json!("a".repeat(100))
        );
        let event = call(
            "read",
            [3, 64, 100, 0, 0, 0],
            100,
            &[(64, CapturePoint::Left, b"aaa")],
        );
        assert_eq!(
            said(&event)["arguments"]["buf"],
            serde_json::json!({"start": "aaa"})
        );
        let event = call("read", [3, 64, 100, 0, 0, 0], 100, &[]);
        assert_eq!(said(&event)["arguments"]["buf"], serde_json::json!("0x40"));
    }

    #[test]
    fn what_stands_beside_a_result_is_an_object() {
        let asked = [&5_u32.to_le_bytes()[..], &1_u32.to_le_bytes()].concat();
        let came = [&5_u32.to_le_bytes()[..], &0x1_0001_u32.to_le_bytes()].concat();
        let event = call(
            "poll",
            [64, 1, 0, 0, 0, 0],
            1,
            &[
                (64, CapturePoint::Entered, &asked),
                (64, CapturePoint::Left, &came),
            ],
        );
        assert_eq!(
            said(&event)["beside"],
            serde_json::json!({"ready": [{"fd": 5, "revents": "POLLIN"}]})
        );
    }

    #[test]
    fn every_other_event_is_an_object_too() {
        for (what, kind) in [
            (EventKind::Exited { status: 3 }, "exited"),
            (
                EventKind::Killed {
                    signal: 9,
                    core: false,
                },
                "killed",
            ),
            (
                EventKind::Signal {
                    number: 17,
                    info: vec![0; 128],
                    instruction: None,
                },
                "signal",
            ),
            (EventKind::Stopped { signal: 19 }, "stopped"),
            (EventKind::Superseded { by: 4 }, "superseded"),
            (EventKind::Attached { parent: Some(1) }, "attached"),
            (EventKind::Detached, "detached"),
            (
                EventKind::Interrupted {
                    abi: Abi::X86_64,
                    number: 230,
                },
                "interrupted",
            ),
            (EventKind::Lost { number: 7 }, "lost"),
            (
                EventKind::Unchanged {
                    abi: Abi::X86_64,
                    number: 0,
                    argument: 1,
                },
                "unchanged",
            ),
            (
                EventKind::Stack(vec![StackFrame {
                    file: b"/bin/x".to_vec(),
                    function: Some((b"main".to_vec(), 3)),
                    offset: 9,
                }]),
                "stack",
            ),
        ] {
            let said = said(&TraceEvent {
                pid: 1,
                tid: 1,
                at: 0,
                kind: what,
            });
            assert_eq!(said["type"], kind);
            let keys = said.as_object().unwrap().keys();
            let frames = said["frames"].as_array().map(|all| &all[0]);
            let inner = frames
                .into_iter()
                .flat_map(|it| it.as_object().unwrap().keys());
            for word in keys.chain(inner).map(String::as_str).chain([kind]) {
                assert!(
                    PAGE.contains(&format!("`{word}`")),
                    "{word} isn't explained"
                );
            }
        }
    }

    /// What users are told of the lines.
    const PAGE: &str = include_str!("../../../docs/how-to/trace-system-calls.md");

    #[test]
    fn the_line_that_users_are_shown_is_one() {
        let mut event = call("close", [3, 0, 0, 0, 0, 0], 0, &[]);
        (event.pid, event.tid, event.at) = (77, 77, 1200);
        if let EventKind::Call(call) = &mut event.kind {
            call.entered = 900;
            call.outcome = SyscallOutcome::Returned {
                value: 0,
                took: 300,
            };
        }
        let mut line = Vec::new();
        JsonWriter::new(usize::MAX).write(&event, &mut line);
        let line = String::from_utf8(line).unwrap();
        assert!(PAGE.contains(&format!("`{}`", line.trim_end())), "{line}");
    }
}
