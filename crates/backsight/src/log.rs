//! The log: what the program is doing, in `tracing` spans that say when each began, when it ended and what it is a part of.
//!
//! It goes to standard error with `-v` or `BACKSIGHT_LOG`, and always into a file of the study that is measured. What is open now is
//! listed on SIGUSR1. The log never ends a study: where it can't be written there is none.

use backsight_conductor::Listener;
use backsight_model::{Event, TestbedName};
use backsight_store::{StudyId, earlier_log_path, log_path};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError},
    time::Instant,
};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{Subscriber, level_filters::LevelFilter, span};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::Targets,
    fmt::{
        FormatFields as _,
        format::{DefaultFields, FmtSpan, Writer},
    },
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

use crate::{
    common_options::CommonOptions,
    files,
    progress::{say_above, sentence},
};

/// The environment variable that says what goes to standard error, in the syntax of `EnvFilter`.
const VARIABLE: &str = "BACKSIGHT_LOG";
/// What the targets of all our crates begin with.
const OURS: &str = "backsight";
/// A study's log is begun anew when it is longer, in bytes; the one before is kept.
const LONGEST: u64 = 16 << 20;
/// What is kept of the time before a study has begun, in bytes.
const LONGEST_BEFORE: usize = 64 << 10;

/// The log of this process, once it is on.
static LOG: OnceLock<Log> = OnceLock::new();

struct Log {
    store: PathBuf,
    file: StudyFile,
    open: OpenSpans,
}

/// Begins the log of a command.
///
/// # Errors
/// `BACKSIGHT_LOG` is no filter.
pub fn start(shared: &CommonOptions) -> miette::Result<()> {
    let filter = match shared.verbose {
        0 => filter_of_environment()?,
        1 => Some(EnvFilter::new("backsight=info")),
        _ => Some(EnvFilter::new("backsight=debug")),
    };
    let (file, open) = (StudyFile::default(), OpenSpans::default());
    // A command that has no store has no study either.
    if let Ok(store) = files::store_folder(shared) {
        let (file, open) = (file.clone(), open.clone());
        let _ = LOG.set(Log { store, file, open });
    }
    let ours = || Targets::new().with_target(OURS, LevelFilter::DEBUG);
    let subscriber = tracing_subscriber::registry()
        .with(open.with_filter(ours()))
        .with(lines_to(move || file.clone()).with_filter(ours()))
        .with(filter.map(|filter| lines_to(StandardError::default).with_filter(filter)));
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// Begins the log of what runs in a trial: to its standard error, and only where `BACKSIGHT_LOG` asks for it.
///
/// # Errors
/// `BACKSIGHT_LOG` is no filter.
pub fn start_in_trial() -> miette::Result<()> {
    if let Some(filter) = filter_of_environment()? {
        let lines = lines_to(StandardError::default).with_filter(filter);
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines));
    }
    Ok(())
}

fn filter_of_environment() -> miette::Result<Option<EnvFilter>> {
    let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let text = value.to_string_lossy();
    let parsed = EnvFilter::builder().parse(&text);
    parsed.map(Some).map_err(|error| {
        miette::miette!(
            help = "a level (`debug`), or levels of crates and spans: `backsight=info,backsight_agent[request]=debug`",
            "{VARIABLE} is `{text}`, which is no filter: {error}"
        )
    })
}

/// A line for every span that begins or ends, and for every event.
fn lines_to<S, W>(writer: impl Fn() -> W + Send + Sync + 'static) -> impl Layer<S> + Send + Sync
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

/// Standard error, above the progress line.
#[derive(Default)]
struct StandardError(Vec<u8>);

impl Write for StandardError {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for StandardError {
    fn drop(&mut self) {
        say_above(String::from_utf8_lossy(&self.0).trim_end());
    }
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

/// Opens the log of the study that begins, and writes into it what everybody has to know of its events.
pub struct StudyLog;

impl Listener for StudyLog {
    fn hear(&mut self, event: &Event, testbed: Option<&TestbedName>) {
        if let (Event::StudyStarted { study, .. }, Some(log)) = (event, LOG.get()) {
            log.file.begin(log_path(&log.store, StudyId(*study)));
        }
        let testbed = testbed.map(tracing::field::display);
        if let Event::TrialStarted { trial, of, .. } = event {
            tracing::info!(testbed, "trial {trial} of {of}");
        }
        if let Some(sentence) = sentence(event) {
            tracing::warn!(testbed, "{sentence}");
        }
    }
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

/// Lists what is open whenever SIGUSR1 comes, on standard error and in the study's log: on a thread of its own, which answers when
/// nothing else does.
pub fn list_open_spans_on_signal() {
    static THREAD: Once = Once::new();
    let Some(log) = LOG.get() else { return };
    THREAD.call_once(|| {
        let _no_list = std::thread::Builder::new()
            .name("log".into())
            .spawn(|| log.answer_signals());
    });
}

impl Log {
    fn answer_signals(&self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut asked = signal(SignalKind::user_defined1())?;
            while asked.recv().await.is_some() {
                let list = self.open.list();
                say_above(&list);
                let lines = format!("{} {list}\n", jiff::Timestamp::now());
                self.file.clone().write_all(lines.as_bytes())?;
            }
            Ok(())
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
