//! Where things are: the store, the lab's file, the user's own definitions; and printing without a panic
//! when the reader has gone.

use backsight_catalog::{Catalog, Monitors};
use backsight_exchange::table::TableOutput;
use backsight_model::{Lab, TomlDocument};
use backsight_report::{
    TerminalStyle,
    escape::{visible, visible_bytes},
};
use backsight_settings::setting_documents;
use backsight_store::{Store, StoreError, StoreLocation, data_folder};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

use crate::common_options::CommonOptions;

/// A narrower terminal is treated as if it were so wide.
const NARROWEST: u16 = 40;

/// The folder that marks a project, and holds its store.
pub const PROJECT: &str = ".backsight";

/// The folder of the store; of one in a database, the folder of what this controller keeps for itself.
pub fn store_folder(shared: &CommonOptions) -> miette::Result<PathBuf> {
    Ok(store_location(shared)?.folder())
}

/// Where the store is.
fn store_location(shared: &CommonOptions) -> miette::Result<StoreLocation> {
    if let Some(location) = &shared.store {
        return Ok(location.clone());
    }
    let here = std::env::current_dir()
        .into_diagnostic()
        .wrap_err("this folder is gone")?;
    let project = here
        .ancestors()
        .map(|folder| folder.join(PROJECT))
        .find(|folder| folder.is_dir());
    if let Some(project) = project {
        return Ok(project.into());
    }
    let data = data_folder().ok_or_else(|| {
        miette::miette!(
            help = "say where the store is: --store DIR, or run `backsight init` in a folder of your own",
            "neither HOME nor a `.backsight` folder says where the store is"
        )
    })?;
    Ok(data.join("backsight").into())
}

/// The store, made if it isn't there.
pub async fn open_store(shared: &CommonOptions) -> miette::Result<Store> {
    Store::open(store_location(shared)?).await.into_diagnostic()
}

/// A store to be read.
pub struct StoreOrEmpty {
    /// The store.
    pub store: Store,
    /// Where an empty one is, until nobody needs it any more.
    _folder: Option<TempDir>,
}

/// The store; where there is none, an empty one, so that none is made.
pub async fn store_or_empty(shared: &CommonOptions) -> miette::Result<StoreOrEmpty> {
    match Store::open_existing(store_location(shared)?).await {
        Err(StoreError::NoStore { .. }) => {
            let folder = tempfile::tempdir().into_diagnostic()?;
            Ok(StoreOrEmpty {
                store: Store::open(folder.path()).await.into_diagnostic()?,
                _folder: Some(folder),
            })
        }
        opened => Ok(StoreOrEmpty {
            store: opened.into_diagnostic()?,
            _folder: None,
        }),
    }
}

/// The store, which must be there.
pub async fn existing_store(shared: &CommonOptions) -> miette::Result<Store> {
    Store::open_existing(store_location(shared)?)
        .await
        .into_diagnostic()
}

/// The catalogue with the user's own definitions: those of `--benchmarks`, `--monitors-dir` and `--settings-dir`, and of
/// folders `benchmarks`, `suites`, `monitors` and `settings` beside the plan.
pub fn catalog(shared: &CommonOptions, plan: Option<&Path>) -> miette::Result<Catalog> {
    let folders = |kind: &str, named: &[PathBuf]| -> Vec<PathBuf> {
        let beside = plan
            .map(|plan| plan.parent().unwrap_or(Path::new("")).join(kind))
            .filter(|folder| folder.is_dir());
        beside.into_iter().chain(named.iter().cloned()).collect()
    };
    let monitors = Monitors::load(&folders("monitors", &shared.monitors))?;
    let suites = folders("suites", &[]);
    let benchmarks = [suites, folders("benchmarks", &shared.benchmarks)].concat();
    let settings = setting_documents(&folders("settings", &shared.settings))?;
    let catalog = Catalog::load(&benchmarks)?.with_monitors(monitors);
    Ok(catalog.with_settings(settings))
}

/// The lab of a plan: the file that was named, else the `lab.toml` beside the plan; none if there is none.
pub fn lab(named: Option<&Path>, plan: Option<&Path>) -> miette::Result<Option<TomlDocument>> {
    if let Some(path) = named {
        return Ok(Some(Lab::open(path)?));
    }
    let Some(plan) = plan else { return Ok(None) };
    let beside = plan.parent().unwrap_or(Path::new("")).join("lab.toml");
    if beside.exists() {
        Ok(Some(Lab::open(&beside)?))
    } else {
        Ok(None)
    }
}

/// The lab that a command is about: the named one, else the lab.toml in this folder, else this machine alone.
pub fn lab_or_this_machine(named: Option<&Path>) -> miette::Result<Lab> {
    Ok(match lab(named, Some(Path::new("plan.toml")))? {
        Some(document) => Lab::read(&document)?,
        None => Lab::this_machine(),
    })
}

/// Prints to standard output, with a mark for every character that would do something to a terminal instead of being
/// read. A reader that has seen enough (`| head`) is no fault.
pub fn print(text: &str) -> miette::Result<()> {
    print_bytes(visible(text).as_bytes())
}

/// Prints what the report crate has written: names of others are marked in it, and colours are our own.
pub fn print_made(text: &str) -> miette::Result<()> {
    print_bytes(text.as_bytes())
}

/// The width and the colours of standard output.
pub fn terminal_style() -> TerminalStyle {
    let to_terminal = std::io::stdout().is_terminal();
    TerminalStyle {
        width: width(),
        colour: to_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// The columns of the terminal that standard output is; none where it is a pipe or a file.
pub fn width() -> Option<u16> {
    let to_terminal = std::io::stdout().is_terminal();
    let width = comfy_table::Table::new().width().filter(|_| to_terminal);
    width.map(|width| width.max(NARROWEST))
}

fn print_bytes(bytes: &[u8]) -> miette::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result
            .into_diagnostic()
            .wrap_err("can't write to standard output"),
    }
}

/// Prints a file that others wrote or that a program reads, such as CSV: into a file or a pipe byte for byte; on a
/// terminal with marks.
pub fn print_foreign(bytes: &[u8]) -> miette::Result<()> {
    if std::io::stdout().is_terminal() {
        print_bytes(visible_bytes(bytes).as_bytes())
    } else {
        print_bytes(bytes)
    }
}

/// Writes rows into a file, or to standard output: into a pipe byte for byte, on a terminal with marks.
pub fn rows<T>(
    path: Option<&Path>,
    write: impl FnOnce(TableOutput) -> miette::Result<T>,
) -> miette::Result<T> {
    if path.is_some() || !std::io::stdout().is_terminal() {
        return write(TableOutput::to(path).into_diagnostic()?);
    }
    let file = tempfile::NamedTempFile::new().into_diagnostic()?;
    let written = write(TableOutput::to(Some(file.path())).into_diagnostic()?)?;
    print_foreign(&std::fs::read(file.path()).into_diagnostic()?)?;
    Ok(written)
}

/// Prints a line for the user on standard error. That nobody reads standard error any more is no fault either:
/// a study must not end because a terminal was closed.
pub fn print_note(text: &str) {
    let _ = std::io::stderr()
        .lock()
        .write_all(format!("{}\n", visible(text)).as_bytes());
}

/// Writes a file whole or not at all; what is no file, such as a device, is written into.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> miette::Result<()> {
    let fault = || format!("can't write {}", path.display());
    let mut out = TableOutput::to(Some(path)).into_diagnostic()?;
    let written = out.write_all(content.as_ref());
    written.into_diagnostic().wrap_err_with(fault)?;
    out.finish().into_diagnostic()
}
