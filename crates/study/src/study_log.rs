//! The log of a study: what the program is doing, in `tracing` spans that say when each began, when it ended and what it is a part
//! of. It is written into a file of the study; what is open can be listed at any time.
//!
//! The log never ends a study: where it can't be written there is none.

use backsight_store::{StudyId, earlier_log_path, log_path};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tracing::{Subscriber, level_filters::LevelFilter, span};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    fmt::{
        FormatFields as _,
        format::{DefaultFields, FmtSpan, Writer},
    },
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

/// What the targets of all our crates begin with.
const OURS: &str = "backsight";
/// A study's log is begun anew when it is longer, in bytes; the one before is kept.
const LONGEST: u64 = 16 << 20;
/// What is kept of the time before a study has begun, in bytes.
const LONGEST_BEFORE: usize = 64 << 10;

/// The log of the studies of a store.
pub struct StudyLog {
    store: PathBuf,
    file: StudyFile,
    open: OpenSpans,
}

impl StudyLog {
    /// A log of the studies in this store, and the subscriber that writes it; `shown` is a layer that shows lines to the user.
    pub fn new<L>(store: PathBuf, shown: L) -> (Self, impl Subscriber + Send + Sync)
    where
        L: Layer<tracing_subscriber::Registry> + Send + Sync,
    {
        let (file, open) = (StudyFile::default(), OpenSpans::default());
        let ours = || Targets::new().with_target(OURS, LevelFilter::DEBUG);
        let written = file.clone();
        let subscriber = tracing_subscriber::registry()
            .with(shown)
            .with(open.clone().with_filter(ours()))
            .with(log_lines(move || written.clone()).with_filter(ours()));
        (Self { store, file, open }, subscriber)
    }

    /// From now on writes into the file of this study.
    pub fn begin(&self, study: StudyId) {
        self.file.begin(log_path(&self.store, study));
    }

    /// A line for every open span in which no other one is open: what it is a part of, and since when it is open. The file has
    /// it too.
    pub fn list_open_spans(&self) -> String {
        let list = self.open.list();
        locked(&self.file.0).add(format!("{} {list}\n", jiff::Timestamp::now()).as_bytes());
        list
    }
}

/// A layer that writes a line for every span that begins or ends, and for every event.
pub fn log_lines<S, W>(
    writer: impl Fn() -> W + Send + Sync + 'static,
) -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Write + 'static,
{
    tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
        .with_ansi(false)
        .with_target(false)
}

/// The file of the study that is measured; before there is one, what will be at its beginning.
#[derive(Clone, Default)]
struct StudyFile(Arc<Mutex<Written>>);

enum Written {
    Before(Vec<u8>),
    Into {
        file: File,
        path: PathBuf,
        length: u64,
    },
    /// The disk is full or read-only.
    Nowhere,
}

impl Default for Written {
    fn default() -> Self {
        Self::Before(Vec::new())
    }
}

impl StudyFile {
    /// From now on writes into this file.
    fn begin(&self, path: PathBuf) {
        let mut written = locked(&self.0);
        let before = match std::mem::replace(&mut *written, Written::Nowhere) {
            Written::Before(lines) => lines,
            Written::Into { .. } | Written::Nowhere => Vec::new(),
        };
        *written = open(path).unwrap_or(Written::Nowhere);
        written.add(&before);
    }
}

impl Write for StudyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        locked(&self.0).add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Before(lines) if lines.len() + bytes.len() <= LONGEST_BEFORE => {
                lines.extend_from_slice(bytes);
            }
            Self::Into { file, path, length } => {
                if file.write_all(bytes).is_err() {
                    *self = Self::Nowhere;
                    return;
                }
                *length += bytes.len() as u64;
                if *length > LONGEST {
                    *self = anew(path).unwrap_or(Self::Nowhere);
                }
            }
            Self::Before(_) | Self::Nowhere => {}
        }
    }
}

fn open(path: PathBuf) -> io::Result<Written> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = File::options().create(true).append(true).open(&path)?;
    let length = file.metadata()?.len();
    Ok(Written::Into { file, path, length })
}

fn anew(path: &Path) -> io::Result<Written> {
    fs::rename(path, earlier_log_path(path))?;
    open(path.to_owned())
}

/// The spans that are open, by their numbers.
#[derive(Clone, Default)]
struct OpenSpans(Arc<Mutex<BTreeMap<u64, OpenSpan>>>);

struct OpenSpan {
    began: Instant,
    parent: Option<u64>,
    words: String,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for OpenSpans {
    fn on_new_span(&self, span: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let mut words = format!("{}{{", span.metadata().name());
        let _ = DefaultFields::new().format_fields(Writer::new(&mut words), span);
        words.push('}');
        let parent = context.span(id).and_then(|span| span.parent());
        let open = OpenSpan {
            began: Instant::now(),
            parent: parent.map(|parent| parent.id().into_u64()),
            words,
        };
        locked(&self.0).insert(id.into_u64(), open);
    }

    fn on_close(&self, id: span::Id, _: Context<'_, S>) {
        locked(&self.0).remove(&id.into_u64());
    }
}

impl OpenSpans {
    /// A line for every open span in which no other one is open: what it is a part of, and since when it is open.
    fn list(&self) -> String {
        let open = locked(&self.0);
        let outer: Vec<u64> = open.values().filter_map(|span| span.parent).collect();
        let mut innermost: Vec<&OpenSpan> = open
            .iter()
            .filter(|(id, _)| !outer.contains(id))
            .map(|(_, span)| span)
            .collect();
        innermost.sort_by_key(|span| span.began);
        let mut list = format!("{} open:", innermost.len());
        for span in innermost {
            let parents = std::iter::successors(span.parent, |id| open.get(id)?.parent);
            let mut words: Vec<&str> = parents
                .filter_map(|id| open.get(&id))
                .map(|parent| parent.words.as_str())
                .collect();
            words.reverse();
            words.push(&span.words);
            let seconds = span.began.elapsed().as_secs_f64();
            let _ = write!(list, "\n  for {seconds:.1} s: {}", words.join(": "));
        }
        list
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
