//! The log of this process: of a study into its file, with `-v` or `BACKSIGHT_LOG` to standard error too. What is open now is listed
//! on SIGUSR1.

use backsight_conductor::Listener;
use backsight_model::{Event, TestbedName};
use backsight_store::StudyId;
use backsight_study::{StudyLog, log_lines};
use miette::IntoDiagnostic as _;
use std::{
    io::{self, Write},
    sync::{Once, OnceLock},
};
use tokio::signal::unix::{SignalKind, signal};
use tracing::subscriber::set_global_default;
use tracing_subscriber::{EnvFilter, Layer as _, layer::SubscriberExt as _};

use crate::{
    common_options::CommonOptions,
    files,
    progress::{print_above, sentence},
};

/// The environment variable that says what goes to standard error, in the syntax of `EnvFilter`.
const VARIABLE: &str = "BACKSIGHT_LOG";

/// The target of what everybody has to know of a study.
const SENTENCES: &str = "backsight::sentences";

/// The log of this process, once it is on.
static LOG: OnceLock<StudyLog> = OnceLock::new();

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
    // The progress shows sentences already.
    let sentences = format!("{SENTENCES}=off").parse().into_diagnostic()?;
    let filter = filter.map(|filter| filter.add_directive(sentences));
    let shown = filter.map(|filter| log_lines(StandardError::default).with_filter(filter));
    // A command that has no store has no study either.
    let _ = match files::store_folder(shared) {
        Ok(store) => {
            let (log, subscriber) = StudyLog::new(store, shown);
            let _ = LOG.set(log);
            set_global_default(subscriber)
        }
        Err(_) => set_global_default(tracing_subscriber::registry().with(shown)),
    };
    Ok(())
}

/// Begins the log of what runs in a trial: to its standard error, and only where `BACKSIGHT_LOG` asks for it.
///
/// # Errors
/// `BACKSIGHT_LOG` is no filter.
pub fn start_in_trial() -> miette::Result<()> {
    if let Some(filter) = filter_of_environment()? {
        let lines = log_lines(StandardError::default).with_filter(filter);
        let _ = set_global_default(tracing_subscriber::registry().with(lines));
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
        print_above(String::from_utf8_lossy(&self.0).trim_end());
    }
}

/// Opens the log of the study that begins, and writes into it what everybody has to know of its events.
pub struct LogListener;

impl Listener for LogListener {
    fn on_event(&mut self, event: &Event, testbed: Option<&TestbedName>) {
        if let (Event::StudyStarted { study, .. }, Some(log)) = (event, LOG.get()) {
            log.begin(StudyId(*study));
        }
        let testbed = testbed.map(tracing::field::display);
        if let Event::TrialStarted { trial, of, .. } = event {
            tracing::info!(testbed, "trial {trial} of {of}");
        }
        match (sentence(event), event) {
            (Some(note), Event::Note { .. } | Event::JobStep { .. }) => {
                tracing::info!(target: SENTENCES, testbed, "{note}")
            }
            (Some(fault), _) => tracing::warn!(target: SENTENCES, testbed, "{fault}"),
            (None, _) => {}
        }
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
            .spawn(|| answer_signals(log));
    });
}

fn answer_signals(log: &StudyLog) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut asked = signal(SignalKind::user_defined1())?;
        while asked.recv().await.is_some() {
            print_above(&log.list_open_spans());
        }
        Ok(())
    })
}
