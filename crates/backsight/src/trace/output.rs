//! Where what is traced is written, and how it looks.
//!
//! Refuses: to keep a program waiting for a line that nobody sees at once.

use backsight_trace::{
    CURRENT_DIRECTORY, Call, Descriptors, Event, What,
    json::Json,
    perfetto::Perfetto,
    recording::Recorder,
    summary::{Column, Sort, Summary},
    text::Text,
};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    collections::HashMap,
    ffi::OsString,
    fs::File,
    io::{self, BufWriter, IsTerminal as _, Write},
    path::{Path, PathBuf},
    process::{self, Stdio},
    thread::JoinHandle,
};

/// How much is gathered before it is written to a file.
const GATHERED: usize = 1 << 18;

/// Where what is traced is written.
pub struct Output {
    shown: Shown,
    place: Place,
    line: Vec<u8>,
    /// Whether each line is to be seen at once.
    at_once: bool,
    /// The command that reads, and is waited for.
    reader: Option<JoinHandle<io::Result<process::ExitStatus>>>,
}

enum Place {
    One(Box<dyn Write>),
    /// A file for each thread.
    Each(PathBuf, HashMap<i32, BufWriter<File>>),
}

impl Output {
    /// Into this file or command; else to the standard error, or to the standard output where nothing is traced now.
    pub fn open(
        file: Option<OsString>,
        each: bool,
        replayed: bool,
        shown: Shown,
    ) -> miette::Result<Self> {
        use std::os::unix::ffi::OsStrExt as _;
        let mut output = Self {
            shown,
            place: Place::One(Box::new(io::stderr())),
            line: Vec::new(),
            at_once: false,
            reader: None,
        };
        let Some(file) = file else {
            output.at_once = io::stderr().is_terminal();
            if replayed {
                output.place = gathered(io::stdout());
            } else if !output.at_once {
                output.place = gathered(io::stderr());
            }
            return Ok(output);
        };
        if let [b'|' | b'!', command @ ..] = file.as_bytes() {
            let (place, reader) = piped(command).into_diagnostic()?;
            output.place = place;
            output.reader = Some(reader);
            return Ok(output);
        }
        let path = PathBuf::from(file);
        output.place = if each {
            Place::Each(path, HashMap::new())
        } else {
            let made = created(&path).into_diagnostic();
            Place::One(Box::new(made.wrap_err_with(|| path.display().to_string())?))
        };
        Ok(output)
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event) -> io::Result<()> {
        self.line.clear();
        self.shown.write(event, &mut self.line)?;
        if self.line.is_empty() {
            return Ok(());
        }
        match &mut self.place {
            Place::One(out) => {
                out.write_all(&self.line)?;
                if self.at_once {
                    out.flush()?;
                }
            }
            Place::Each(path, files) => {
                let file = match files.entry(event.tid) {
                    std::collections::hash_map::Entry::Occupied(file) => file.into_mut(),
                    std::collections::hash_map::Entry::Vacant(place) => {
                        let mut name = path.clone().into_os_string();
                        name.push(format!(".{}", event.tid));
                        place.insert(created(Path::new(&name))?)
                    }
                };
                file.write_all(&self.line)?;
                if matches!(event.what, What::Exited { .. } | What::Killed { .. })
                    && let Some(mut file) = files.remove(&event.tid)
                {
                    file.flush()?;
                }
            }
        }
        Ok(())
    }

    /// Ends it.
    pub fn close(mut self) -> io::Result<()> {
        self.line.clear();
        self.shown.finish(&mut self.line)?;
        match self.place {
            Place::One(mut out) => {
                out.write_all(&self.line)?;
                out.flush()?;
            }
            Place::Each(_, files) => {
                for mut file in files.into_values() {
                    file.flush()?;
                }
            }
        }
        if let Some(reader) = self.reader {
            let _its_own_status = reader.join();
        }
        Ok(())
    }
}

fn gathered(out: impl Write + 'static) -> Place {
    Place::One(Box::new(BufWriter::with_capacity(GATHERED, out)))
}

fn created(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(GATHERED, File::create(path)?))
}

/// A command that reads what is written. Its end is awaited by a thread of its own: the tracer's waits for all of its
/// children at once.
fn piped(command: &[u8]) -> io::Result<(Place, JoinHandle<io::Result<process::ExitStatus>>)> {
    use std::os::unix::ffi::OsStrExt as _;
    let (input, output) = io::pipe()?;
    let command = std::ffi::OsStr::from_bytes(command).to_owned();
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
    Ok((Place::One(Box::new(out)), reader))
}

/// What is made of events.
pub struct Shown {
    /// Line by line.
    pub lines: Lines,
    /// And in sum.
    pub summary: Option<Summary>,
    /// How that is shown.
    pub table: Table,
    /// What it is sorted by.
    pub sort: Sort,
}

/// How a summary is shown.
pub enum Table {
    /// As strace does, with these columns.
    Narrow(Vec<Column>),
    /// With percentiles.
    Wide,
    /// That for each process.
    ByProcess,
}

/// How each event is written.
pub enum Lines {
    /// strace's text.
    Text(Text<'static>),
    /// An object a line.
    Json(Json<'static>),
    /// A list for a trace viewer.
    Perfetto(Perfetto),
    /// A recording; nothing once it is ended.
    Recording(Option<Recorder>),
    /// Not at all.
    None,
}

impl Shown {
    fn write(&mut self, event: &Event, out: &mut Vec<u8>) -> io::Result<()> {
        if let Some(summary) = &mut self.summary {
            summary.add(event);
        }
        match &mut self.lines {
            Lines::Text(text) => text.write(event, out),
            Lines::Json(json) => json.write(event, out),
            Lines::Perfetto(perfetto) => perfetto.write(event, out),
            Lines::Recording(Some(recorder)) => recorder.write(event, out)?,
            Lines::Recording(None) | Lines::None => {}
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.lines {
            Lines::Text(text) => text.finish(out),
            Lines::Perfetto(perfetto) => perfetto.finish(out),
            Lines::Recording(recorder) => {
                if let Some(recorder) = recorder.take() {
                    recorder.finish(out)?;
                }
            }
            Lines::Json(_) | Lines::None => {}
        }
        if let Some(summary) = &self.summary {
            let text = match &self.table {
                Table::Narrow(columns) => summary.strace(columns, self.sort),
                Table::Wide => summary.wide(self.sort),
                Table::ByProcess => summary.wide_by_process(self.sort),
            };
            out.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }
}

/// The files of descriptors, looked up while their process stands still. One that was just closed is what it was.
#[derive(Default)]
pub struct Files {
    seen: HashMap<(i32, i32), Vec<u8>>,
}

impl Descriptors for Files {
    fn describe(&mut self, pid: i32, fd: i32, _call: &Call, out: &mut Vec<u8>) {
        use std::os::unix::ffi::OsStringExt as _;
        let link = if fd == CURRENT_DIRECTORY {
            format!("/proc/{pid}/cwd")
        } else {
            format!("/proc/{pid}/fd/{fd}")
        };
        match std::fs::read_link(link) {
            Ok(file) => {
                let file = file.into_os_string().into_vec();
                out.extend_from_slice(&file);
                self.seen.insert((pid, fd), file);
            }
            Err(_) => out.extend(self.seen.remove(&(pid, fd)).unwrap_or_default()),
        }
    }
}
