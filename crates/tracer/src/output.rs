//! The output of a trace: events as text, JSON, a viewer's list or a recording, and summaries; into files, a command or a
//! standard stream.
//!
//! What is gathered is written within a tenth of a second, so that whoever watches a program that hangs sees where. Tracing
//! is asked to end when nobody reads any more.

use backsight_syscall_decode::json::JsonWriter;
use backsight_syscall_decode::text::{AttachedThreads, RENUMBERED, TextWriter};
use backsight_syscall_decode::{EventKind, TraceEvent, table};
use rustix::event::{PollFd, PollFlags, poll};
use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, BufWriter, IsTerminal as _, Write},
    os::{fd::AsFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    process::{self, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use crate::Signal;
use crate::error::OutputError;
use crate::interrupt::Interrupt;
use crate::perfetto::PerfettoWriter;
use crate::recording::RecordingWriter;
use crate::summary::{SummaryView, TraceSummary};

/// How much is gathered before it is written to a file.
const GATHERED: usize = 1 << 18;

/// How long what was gathered waits at most.
const WAITS: Duration = Duration::from_millis(100);

/// Where it is to be written, and how.
pub struct OutputTarget {
    /// A file or a command.
    pub file: Option<OsString>,
    /// A file for each thread.
    pub each: bool,
    /// Behind what is in the file.
    pub append: bool,
    /// Whether a line is written before its program goes on, where both may write to one place: so what the program writes stands
    /// between the lines where it happened.
    pub in_order: bool,
}

/// Where what is traced is written.
pub struct TraceOutput {
    shown: EventView,
    /// Ends before the place does.
    writer: Option<FlushThread>,
    place: Arc<Mutex<BufferedOutput>>,
    line: Vec<u8>,
    /// Whether each line is to be seen at once.
    at_once: bool,
    /// The command that reads, and is waited for.
    reader: Option<JoinHandle<io::Result<process::ExitStatus>>>,
}

enum OutputSink {
    One(Box<dyn Write + Send>),
    /// A file for each thread.
    Each {
        path: PathBuf,
        append: bool,
        files: HashMap<i32, BufWriter<File>>,
    },
}

/// A place, and whether something waits there to be written.
struct BufferedOutput {
    place: OutputSink,
    waits: bool,
}

impl BufferedOutput {
    fn flush(&mut self) -> io::Result<()> {
        self.waits = false;
        match &mut self.place {
            OutputSink::One(out) => out.flush(),
            OutputSink::Each { files, .. } => files.values_mut().try_for_each(Write::flush),
        }
    }
}

/// The command that reads what is written, where an output names one and no file: `|sort`, or `!sort`.
pub fn reading_command(output: &OsStr) -> Option<&[u8]> {
    match output.as_bytes() {
        [b'|' | b'!', command @ ..] => Some(command),
        _ => None,
    }
}

fn held(place: &Mutex<BufferedOutput>) -> MutexGuard<'_, BufferedOutput> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TraceOutput {
    /// Into this file or command; else to the standard error, or to the standard output where nothing is traced now, which
    /// is where there is no `interrupt` to ask that tracing ends when nobody reads any more.
    ///
    /// # Errors
    /// The file can't be made, or the command not be started.
    pub fn open(
        into: OutputTarget,
        interrupt: Option<&Arc<Interrupt>>,
        shown: EventView,
    ) -> Result<Self, OutputError> {
        let (mut at_once, mut reader) = (false, None);
        let mut terminal = false;
        let replayed = interrupt.is_none();
        let to_standard_error = into.file.is_none() && !replayed;
        let OutputTarget {
            file,
            each,
            append,
            in_order,
        } = into;
        let place = match file {
            None if replayed => gathered(io::stdout()),
            None if io::stderr().is_terminal() => {
                (at_once, terminal) = (true, true);
                OutputSink::One(Box::new(io::stderr()))
            }
            None => {
                at_once = in_order;
                gathered(io::stderr())
            }
            Some(file) => match reading_command(&file) {
                Some(command) => {
                    let (place, read) = piped(command).map_err(OutputError::Unstarted)?;
                    reader = Some(read);
                    place
                }
                None if each => OutputSink::Each {
                    path: PathBuf::from(file),
                    append,
                    files: HashMap::new(),
                },
                None => {
                    let path = PathBuf::from(file);
                    match created(&path, append) {
                        Ok(made) => {
                            // As /dev/stdout, which may be the program's too.
                            let is_file = made.get_ref().metadata().is_ok_and(|it| it.is_file());
                            at_once = in_order && !is_file;
                            OutputSink::One(Box::new(made))
                        }
                        Err(why) => return Err(OutputError::NotMade { path, why }),
                    }
                }
            },
        };
        let place = Arc::new(Mutex::new(BufferedOutput {
            place,
            waits: false,
        }));
        let writer = match interrupt {
            Some(interrupt) if !terminal => {
                let writer = FlushThread::start(&place, interrupt, to_standard_error);
                Some(writer.map_err(OutputError::Unstarted)?)
            }
            _ => None,
        };
        Ok(Self {
            shown,
            writer,
            place,
            line: Vec::new(),
            at_once,
            reader,
        })
    }

    /// Shows an event.
    ///
    /// # Errors
    /// It can't be written; as broken pipe where nobody reads any more.
    pub fn show(&mut self, event: &TraceEvent) -> io::Result<()> {
        self.line.clear();
        self.shown.write(event, &mut self.line)?;
        if self.line.is_empty() {
            return Ok(());
        }
        let mut gathered = held(&self.place);
        gathered.waits = true;
        match &mut gathered.place {
            OutputSink::One(out) => {
                out.write_all(&self.line)?;
                if self.at_once {
                    gathered.flush()?;
                }
            }
            OutputSink::Each {
                path,
                append,
                files,
            } => {
                let mut line = &self.line[..];
                // The line of who takes another number ends in its own file.
                if let EventKind::Superseded { by } = event.kind
                    && let Some(mut before) = files.remove(&by)
                {
                    let end = line.starts_with(RENUMBERED).then_some(b'\n');
                    let end = line.iter().position(|byte| Some(*byte) == end);
                    let (end, rest) = line.split_at(end.map_or(0, |end| end + 1));
                    before.write_all(end)?;
                    before.flush()?;
                    line = rest;
                }
                let file = match files.entry(event.tid) {
                    std::collections::hash_map::Entry::Occupied(file) => file.into_mut(),
                    std::collections::hash_map::Entry::Vacant(place) => {
                        let mut name = path.clone().into_os_string();
                        name.push(format!(".{}", event.tid));
                        place.insert(created(Path::new(&name), *append)?)
                    }
                };
                file.write_all(line)?;
                if matches!(
                    event.kind,
                    EventKind::Exited { .. } | EventKind::Killed { .. }
                ) && let Some(mut file) = files.remove(&event.tid)
                {
                    file.flush()?;
                }
            }
        }
        Ok(())
    }

    /// Shows this summary at the end.
    pub fn summarize(&mut self, summary: TraceSummary) {
        self.shown.summary = Some(summary);
    }

    /// Ends it.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub fn close(mut self) -> io::Result<()> {
        self.line.clear();
        self.shown.finish(&mut self.line)?;
        drop(self.writer);
        let mut gathered = held(&self.place);
        if let OutputSink::One(out) = &mut gathered.place {
            out.write_all(&self.line)?;
        }
        gathered.flush()?;
        drop(gathered);
        // Nobody else has it any more: what reads it comes to its end.
        drop(self.place);
        if let Some(reader) = self.reader {
            let _its_own_status = reader.join();
        }
        Ok(())
    }
}

/// A thread that writes what has waited for a while. What can't be written stays, and whoever writes next is told; if that
/// is because nobody reads it, tracing is asked to end.
struct FlushThread {
    ends: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FlushThread {
    fn start(
        place: &Arc<Mutex<BufferedOutput>>,
        interrupt: &Arc<Interrupt>,
        to_standard_error: bool,
    ) -> io::Result<Self> {
        let (ends, ended) = mpsc::channel();
        let (place, interrupt) = (Arc::clone(place), Arc::clone(interrupt));
        let thread = std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || {
                while ended.recv_timeout(WAITS) == Err(mpsc::RecvTimeoutError::Timeout) {
                    let mut gathered = held(&place);
                    let unread = match gathered.waits {
                        true => gathered
                            .flush()
                            .is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe),
                        false => to_standard_error && nobody_reads(io::stderr()),
                    };
                    // The engine may wait for the place.
                    drop(gathered);
                    if unread {
                        interrupt.trigger(Signal::SIGPIPE as i32);
                        break;
                    }
                }
            })?;
        Ok(Self {
            ends: Some(ends),
            thread: Some(thread),
        })
    }
}

impl Drop for FlushThread {
    fn drop(&mut self) {
        self.ends = None;
        let _panicked = self.thread.take().map(JoinHandle::join);
    }
}

/// Whether this is a pipe that nobody reads from any more.
fn nobody_reads(out: impl AsFd) -> bool {
    let mut options = [PollFd::new(&out, PollFlags::empty())];
    let now = rustix::time::Timespec::default();
    poll(&mut options, Some(&now)).is_ok() && options[0].revents().contains(PollFlags::ERR)
}

fn gathered(out: impl Write + Send + 'static) -> OutputSink {
    OutputSink::One(Box::new(BufWriter::with_capacity(GATHERED, out)))
}

fn created(path: &Path, append: bool) -> io::Result<BufWriter<File>> {
    let mut options = File::options();
    let options = options.create(true).append(append);
    let file = options.write(true).truncate(!append).open(path)?;
    Ok(BufWriter::with_capacity(GATHERED, file))
}

/// Why what lies behind an argument of a call wasn't changed, in the words that scripts look for; nothing of other events.
/// Wherever the calls go to, whoever asked for the change is to know.
pub fn tampering_failure(event: &TraceEvent) -> Option<String> {
    let EventKind::Unchanged {
        abi,
        number,
        argument,
    } = event.kind
    else {
        return None;
    };
    let (name, arguments) = table::find_syscall(abi, number)
        .map_or(("unknown", 0), |row| (row.name, row.arguments.len()));
    let why = if argument < arguments {
        "couldn't poke".to_owned()
    } else {
        format!(
            "requested to tamper with argument #{}, but system call '{name}' has only {arguments} arguments",
            argument + 1
        )
    };
    let tid = event.tid;
    Some(format!("Failed to tamper with process {tid}: {why}"))
}

/// What is said of threads that were attached to or detached from, where that stands beside the lines.
#[derive(Debug, Default)]
pub struct AttachmentNotes(AttachedThreads);

impl AttachmentNotes {
    /// What is said of this event; nothing of others.
    pub fn note(&mut self, event: &TraceEvent) -> Option<String> {
        let tid = event.tid;
        match event.kind {
            EventKind::Attached { parent } => {
                let what = self.0.attached(event.pid, tid, parent)?;
                Some(format!("Process {tid} {what}"))
            }
            EventKind::Detached => Some(format!("Process {tid} detached")),
            _ => None,
        }
    }
}

/// What is said of a task that came to the tracer though nobody asked for it, unless nothing is to be said of what is detached
/// from or of ends; nothing of other events.
pub fn stranger_note(event: &TraceEvent, quiet_attach: bool, quiet_exit: bool) -> Option<String> {
    let tid = event.tid;
    match event.kind {
        EventKind::Stranger { ended: true } if !quiet_exit => {
            Some(format!("Exit of unknown pid {tid} ignored"))
        }
        EventKind::Stranger { ended: false } if !quiet_attach => {
            Some(format!("Detached unknown pid {tid}"))
        }
        _ => None,
    }
}

/// A command that reads what is written. Its end is awaited by a thread of its own: the tracer's waits for all of its
/// children at once.
fn piped(command: &[u8]) -> io::Result<(OutputSink, JoinHandle<io::Result<process::ExitStatus>>)> {
    let (input, output) = io::pipe()?;
    let command = OsStr::from_bytes(command).to_owned();
    let reader = std::thread::Builder::new()
        .name("reader".to_owned())
        .spawn(move || {
            let mut shell = process::Command::new("sh");
            shell.arg("-c").arg(command).stdin(Stdio::from(input));
            let mut child = shell.spawn()?;
            drop(shell);
            child.wait()
        })?;
    let out = BufWriter::with_capacity(GATHERED, output);
    Ok((OutputSink::One(Box::new(out)), reader))
}

/// How events are shown.
pub struct EventView {
    /// Line by line.
    pub lines: EventFormat,
    /// And in sum.
    pub summary: Option<TraceSummary>,
    /// How that is shown.
    pub view: SummaryView,
}

/// How each event is written.
pub enum EventFormat {
    /// strace's text.
    Text(Box<TextWriter<'static>>),
    /// An object a line.
    Json(JsonWriter<'static>),
    /// A list for a trace viewer.
    Perfetto(PerfettoWriter),
    /// A recording; nothing once it is ended.
    Recording(Option<RecordingWriter>),
    /// Not at all.
    None,
}

impl EventView {
    fn write(&mut self, event: &TraceEvent, out: &mut Vec<u8>) -> io::Result<()> {
        if let Some(summary) = &mut self.summary {
            summary.add(event);
        }
        match &mut self.lines {
            EventFormat::Text(text) => text.write(event, out),
            EventFormat::Json(json) => json.write(event, out),
            EventFormat::Perfetto(perfetto) => perfetto.write(event, out),
            EventFormat::Recording(Some(recorder)) => recorder.write(event, out)?,
            EventFormat::Recording(None) | EventFormat::None => {}
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.lines {
            EventFormat::Text(text) => text.finish(out),
            EventFormat::Perfetto(perfetto) => perfetto.finish(out),
            EventFormat::Recording(recorder) => {
                if let Some(recorder) = recorder.take() {
                    recorder.finish(out)?;
                }
            }
            EventFormat::Json(_) | EventFormat::None => {}
        }
        if let Some(summary) = &self.summary {
            out.extend_from_slice(summary.show(&self.view)?.as_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use backsight_syscall_decode::text::{LinePrefix, TextOptions};
    use backsight_syscall_decode::{Abi, CapturedMemory, SyscallOutcome, SyscallRecord};

    use super::*;
    use crate::summary::{SummaryColumn, SummaryForm, SummaryGrouping, TableOptions};

    #[test]
    fn a_thread_s_file_ends_where_it_takes_its_process_s_number() {
        let folder = tempfile::tempdir().unwrap();
        let text = TextOptions {
            prefix: LinePrefix::Nobody,
            column: 0,
            superseded: true,
            ..TextOptions::default()
        };
        let shown = EventView {
            lines: EventFormat::Text(Box::new(TextWriter::new(text))),
            summary: None,
            view: SummaryView {
                by: SummaryGrouping::Call,
                form: SummaryForm::Strace,
                table: TableOptions::new(&SummaryColumn::USUAL),
            },
        };
        let target = OutputTarget {
            file: Some(folder.path().join("trace").into_os_string()),
            each: true,
            append: false,
            in_order: false,
        };
        let interrupt = Arc::new(Interrupt::new());
        let mut output = TraceOutput::open(target, Some(&interrupt), shown).unwrap();
        let number = table::syscall_number(Abi::X86_64, "execve").unwrap();
        let open = SyscallRecord::open(Abi::X86_64, number, [0; 6], 1);
        let returned = SyscallRecord {
            outcome: SyscallOutcome::Returned { value: 0, took: 1 },
            memory: CapturedMemory::default(),
            ..open.clone()
        };
        for (tid, kind) in [
            (8, EventKind::Pending(open)),
            (7, EventKind::Superseded { by: 8 }),
            (7, EventKind::Call(returned)),
        ] {
            let event = TraceEvent {
                pid: 7,
                tid,
                at: 2,
                kind,
            };
            output.show(&event).unwrap();
        }
        output.close().unwrap();
        let file = |tid: i32| {
            let file = folder.path().join(format!("trace.{tid}"));
            std::fs::read_to_string(file).unwrap()
        };
        assert_eq!(file(8), "execve(NULL, NULL, NULL <pid changed to 7 ...>\n");
        assert_eq!(
            file(7),
            "+++ superseded by execve in pid 8 +++\n<... execve resumed>) = 0\n"
        );
    }
}
