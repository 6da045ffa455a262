//! Where things are: the store, the lab's file, the user's own definitions; and printing without a panic
//! when the reader has gone.

use backsight_catalog::{Catalog, Monitors};
use backsight_exchange::table::Out;
use backsight_model::Document;
use backsight_store::Store;
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use crate::cli::Shared;

/// The folder that marks a project, and holds its store.
pub const PROJECT: &str = ".backsight";

/// Where the store is.
pub fn store_folder(shared: &Shared) -> miette::Result<PathBuf> {
    if let Some(folder) = &shared.store {
        return Ok(folder.clone());
    }
    let here = std::env::current_dir()
        .into_diagnostic()
        .wrap_err("this folder is gone")?;
    let project = here
        .ancestors()
        .map(|folder| folder.join(PROJECT))
        .find(|folder| folder.is_dir());
    if let Some(project) = project {
        return Ok(project);
    }
    let data = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")))
        .ok_or_else(|| {
            miette::miette!(
                help = "say where the store is: --store DIR, or run `backsight init` in a folder of your own",
                "neither HOME nor a `.backsight` folder says where the store is"
            )
        })?;
    Ok(data.join("backsight"))
}

/// The store, made if it isn't there.
pub async fn open_store(shared: &Shared) -> miette::Result<Store> {
    Store::open(store_folder(shared)?).await.into_diagnostic()
}

/// The store, which must be there.
pub async fn existing_store(shared: &Shared) -> miette::Result<Store> {
    Store::open_existing(store_folder(shared)?)
        .await
        .into_diagnostic()
}

/// The catalogue with the user's own definitions: those of `--benchmarks` and `--monitors-dir`, and of folders
/// `benchmarks` and `monitors` beside the plan.
pub fn catalog(shared: &Shared, plan: Option<&Path>) -> miette::Result<Catalog> {
    let folders = |kind: &str, named: &[PathBuf]| -> Vec<PathBuf> {
        let beside = plan
            .map(|plan| plan.parent().unwrap_or(Path::new("")).join(kind))
            .filter(|folder| folder.is_dir());
        beside.into_iter().chain(named.iter().cloned()).collect()
    };
    let monitors = Monitors::load(&folders("monitors", &shared.monitors))?;
    let benchmarks = folders("benchmarks", &shared.benchmarks);
    Ok(Catalog::load(&benchmarks)?.with_monitors(monitors))
}

/// The lab of a plan: the file that was named, else the `lab.toml` beside the plan; none if there is none.
pub fn lab(named: Option<&Path>, plan: Option<&Path>) -> miette::Result<Option<Document>> {
    if let Some(path) = named {
        return Ok(Some(Document::open(path)?));
    }
    let Some(plan) = plan else { return Ok(None) };
    let beside = plan.parent().unwrap_or(Path::new("")).join("lab.toml");
    if beside.exists() {
        Ok(Some(Document::open(&beside)?))
    } else {
        Ok(None)
    }
}

/// Prints to standard output. A reader that has seen enough (`| head`) is no fault.
pub fn print(text: &str) -> miette::Result<()> {
    print_bytes(text.as_bytes())
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

/// Prints what others wrote: into a file or a pipe byte for byte; on a terminal with every character spelled out
/// that would do something to it instead of being read.
pub fn print_foreign(bytes: &[u8]) -> miette::Result<()> {
    if std::io::stdout().is_terminal() {
        print(&harmless(&String::from_utf8_lossy(bytes)))
    } else {
        print_bytes(bytes)
    }
}

/// The text with control characters and those that change the direction of writing as `\u{1b}`.
fn harmless(text: &str) -> String {
    let acts = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Says something to whoever runs the program. That nobody reads standard error any more is no fault either:
/// a study must not end because a terminal was closed.
pub fn say(text: &str) {
    let _ = std::io::stderr()
        .lock()
        .write_all(format!("{text}\n").as_bytes());
}

/// Writes a file whole or not at all; what is no file, such as a device, is written into.
pub fn write_whole(path: &Path, text: &str) -> miette::Result<()> {
    let fault = || format!("can't write {}", path.display());
    let mut out = Out::to(Some(path)).into_diagnostic()?;
    let written = out.write_all(text.as_bytes());
    written.into_diagnostic().wrap_err_with(fault)?;
    out.finish().into_diagnostic()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_is_spelled_out() {
        assert_eq!(
            harmless("a\tb\nc\u{1b}[31m\r\u{202e}é"),
            "a\tb\nc\\u{1b}[31m\\u{d}\\u{202e}é"
        );
    }
}
