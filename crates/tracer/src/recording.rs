//! Recordings: events in a compact file.
//!
//! Format: eight bytes of magic and version; then one Zstandard stream of a [`RecordingHeader`] and of events, each as its length in
//! four bytes (little-endian) and itself as `postcard`. A tracer that is killed leaves a file that ends in the middle: the reader
//! returns what is there, then an error. Files of another version, and events longer than any can be, are errors too.

use std::io::{self, BufReader, Read, Write as _};

use serde::{Deserialize, Serialize};

use backsight_syscall_decode::TraceEvent;

/// What a recording begins with; the last byte is the version.
const MAGIC: [u8; 8] = *b"BSTRACE\x03";
/// No event is longer.
const LONGEST: usize = 64 << 20;
/// How hard it is compressed: little, since that goes on beside what is traced.
const LEVEL: i32 = 1;

/// What is known of a recording as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// What is added to an event's clock to have nanoseconds since 1970.
    pub wall: i64,
    /// The command that was traced; empty if there was none.
    pub command: Vec<String>,
}

/// What is added to the monotonic clock now to have nanoseconds since 1970.
pub fn wall_clock_offset() -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    let nanoseconds = |clock| {
        let now = clock_gettime(clock);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    };
    nanoseconds(ClockId::Realtime) - nanoseconds(ClockId::Monotonic)
}

/// Why a recording can't be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It is something else.
    #[error("this is no recording of `backsight trace --record`, or one of another version")]
    Foreign,
    /// It ends too early.
    #[error("the recording ends in the middle, after {events} events: its tracer was killed")]
    Short {
        /// What could be read.
        events: u64,
    },
    /// It is damaged.
    #[error("the recording is damaged after {events} events")]
    Damaged {
        /// What could be read.
        events: u64,
    },
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// Makes a recording.
pub struct RecordingWriter {
    stream: zstd::stream::write::Encoder<'static, Vec<u8>>,
    entry: Vec<u8>,
}

impl std::fmt::Debug for RecordingWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl RecordingWriter {
    /// Begins one.
    ///
    /// # Errors
    ///
    /// The library that compresses has no memory.
    pub fn new(header: &RecordingHeader) -> io::Result<Self> {
        let mut recorder = Self {
            stream: zstd::stream::write::Encoder::new(MAGIC.to_vec(), LEVEL)?,
            entry: Vec::new(),
        };
        recorder.put(header)?;
        Ok(recorder)
    }

    /// Adds an event; what is ready to be written is appended to `out`.
    ///
    /// # Errors
    ///
    /// As [`RecordingWriter::new`].
    pub fn write(&mut self, event: &TraceEvent, out: &mut Vec<u8>) -> io::Result<()> {
        self.put(event)?;
        out.append(self.stream.get_mut());
        Ok(())
    }

    /// Ends it: the rest is appended to `out`.
    ///
    /// # Errors
    ///
    /// As [`RecordingWriter::new`].
    pub fn finish(self, out: &mut Vec<u8>) -> io::Result<()> {
        out.append(&mut self.stream.finish()?);
        Ok(())
    }

    fn put(&mut self, what: &impl Serialize) -> io::Result<()> {
        self.entry.clear();
        let entry = std::mem::take(&mut self.entry);
        self.entry = postcard::to_extend(what, entry).map_err(io::Error::other)?;
        let length = u32::try_from(self.entry.len()).map_err(io::Error::other)?;
        self.stream.write_all(&length.to_le_bytes())?;
        self.stream.write_all(&self.entry)
    }
}

/// Reads a recording, event by event. After an error there is nothing more.
pub struct RecordingReader<R: Read> {
    /// What is known of it as a whole.
    pub header: RecordingHeader,
    stream: Option<zstd::stream::read::Decoder<'static, BufReader<R>>>,
    entry: Vec<u8>,
    events: u64,
}

impl<R: Read> std::fmt::Debug for RecordingReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl<R: Read> RecordingReader<R> {
    /// Opens one.
    ///
    /// # Errors
    ///
    /// It is none, or can't be read.
    pub fn open(mut from: R) -> Result<Self, RecordingError> {
        let mut magic = [0; MAGIC.len()];
        match from.read_exact(&mut magic) {
            Ok(()) if magic == MAGIC => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error.into()),
            _ => return Err(RecordingError::Foreign),
        }
        let mut recording = Self {
            header: RecordingHeader {
                wall: 0,
                command: Vec::new(),
            },
            stream: Some(zstd::stream::read::Decoder::new(from)?),
            entry: Vec::new(),
            events: 0,
        };
        recording.header = recording
            .entry()?
            .ok_or(RecordingError::Short { events: 0 })?;
        Ok(recording)
    }

    /// The next entry; nothing at the end.
    fn entry<T: for<'a> Deserialize<'a>>(&mut self) -> Result<Option<T>, RecordingError> {
        let events = self.events;
        let Some(stream) = &mut self.stream else {
            return Ok(None);
        };
        let short = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => RecordingError::Short { events },
            io::ErrorKind::Other | io::ErrorKind::InvalidData => RecordingError::Damaged { events },
            _ => RecordingError::Read(error),
        };
        let mut length = [0; 4];
        let first = stream.read(&mut length).map_err(short)?;
        if first == 0 {
            return Ok(None);
        }
        stream.read_exact(&mut length[first..]).map_err(short)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(RecordingError::Damaged { events });
        }
        // Room is made as bytes come: a length alone makes none.
        self.entry.clear();
        let read = stream.by_ref().take(length as u64);
        let read = { read }.read_to_end(&mut self.entry).map_err(short)?;
        if read < length {
            return Err(RecordingError::Short { events });
        }
        postcard::from_bytes(&self.entry)
            .map(Some)
            .map_err(|_| RecordingError::Damaged { events })
    }
}

impl<R: Read> Iterator for RecordingReader<R> {
    type Item = Result<TraceEvent, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.entry() {
            Ok(Some(event)) => {
                self.events += 1;
                Some(Ok(event))
            }
            Ok(None) => None,
            Err(error) => {
                self.stream = None;
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::{
        Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    };
    use proptest::prelude::*;

    fn event(number: u64) -> TraceEvent {
        let mut memory = CapturedMemory::default();
        memory.add(MemoryPiece {
            address: 4096,
            when: CapturePoint::Entered,
            bytes: b"/etc/hostname\0".to_vec(),
        });
        TraceEvent {
            pid: 10,
            tid: 11,
            at: 1000 * number,
            kind: EventKind::Call(SyscallRecord {
                abi: Abi::X86_64,
                number: 257,
                arguments: [4096, number, 0, 0, 0, 0],
                entered: 1000 * number - 7,
                outcome: SyscallOutcome::Returned { value: 3, took: 7 },
                memory,
                injected: false,
                rewritten: false,
                delayed: false,
                instruction: None,
                worked: None,
            }),
        }
    }

    fn recorded(events: u64) -> Vec<u8> {
        let header = RecordingHeader {
            wall: 5,
            command: vec!["true".to_owned()],
        };
        let (mut recorder, mut out) = (RecordingWriter::new(&header).unwrap(), Vec::new());
        for number in 1..=events {
            recorder.write(&event(number), &mut out).unwrap();
        }
        recorder.finish(&mut out).unwrap();
        out
    }

    #[test]
    fn what_was_recorded_is_told_again() {
        let bytes = recorded(5000);
        assert!(bytes.len() < 5000 * 30, "{} bytes", bytes.len());
        let recording = RecordingReader::open(&bytes[..]).unwrap();
        assert_eq!(
            (recording.header.wall, recording.header.command.len()),
            (5, 1)
        );
        let told: Result<Vec<TraceEvent>, _> = recording.collect();
        assert_eq!(told.unwrap(), (1..=5000).map(event).collect::<Vec<_>>());
    }

    #[test]
    fn one_that_ends_in_the_middle_is_read_up_to_there() {
        let bytes = recorded(20_000);
        let mut told = RecordingReader::open(&bytes[..bytes.len() / 2]).unwrap();
        let good = told.by_ref().take_while(Result::is_ok).count();
        assert!(good > 1000, "{good}");
        assert!(told.next().is_none());
        assert!(matches!(
            RecordingReader::open(&b"BSTR"[..]),
            Err(RecordingError::Foreign)
        ));
        assert!(matches!(
            RecordingReader::open(&b"strace's text"[..]),
            Err(RecordingError::Foreign)
        ));
    }

    #[test]
    fn a_call_that_ends_as_another_than_it_began_as_is_told() {
        use backsight_syscall_decode::text::{TextOptions, TextWriter};
        let of = |number: u64| {
            let mut event = event(1);
            if let EventKind::Call(call) = &mut event.kind {
                call.number = number;
            }
            event
        };
        // Unknown, raw or of six arguments, then of one, two or none: what a flipped bit makes of a recording.
        for begun in [257, 9, 9999, 56] {
            for ended in [3, 39, 11, 9999, 202, 72] {
                let (mut text, mut out) = (TextWriter::new(TextOptions::default()), Vec::new());
                let mut pending = of(begun);
                if let EventKind::Call(call) = pending.kind {
                    pending.kind = EventKind::Pending(call);
                }
                text.write(&pending, &mut out);
                text.write(&of(ended), &mut out);
                text.finish(&mut out);
                assert!(!out.is_empty());
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_a_file_holds_it_is_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0usize..400, at in 0usize..400, by: u8,
        ) {
            let mut mangled = recorded(20);
            let place = at % mangled.len();
            mangled[place] ^= by;
            mangled.truncate(cut.max(1));
            for file in [[&MAGIC[..], &bytes].concat(), mangled] {
                if let Ok(recording) = RecordingReader::open(&file[..]) {
                    let _read_or_refused = recording.count();
                }
            }
        }
    }
}
