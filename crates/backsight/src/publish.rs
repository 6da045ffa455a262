//! `backsight publish`: the histories of targets as a site of plain files.
//!
//! Refuses: a folder with files that it hasn't written.

use backsight_model::{TargetName, Version};
use backsight_site::{Between, publish};
use backsight_store::Store;
use miette::IntoDiagnostic as _;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{cli::Shared, files, history, target::Opened};

/// Most of a difference that a page shows, in bytes.
const MOST_OF_A_DIFF: usize = 256 << 10;

/// Arguments of `publish`.
#[derive(Debug, clap::Args)]
pub struct Publish {
    /// Folder of the site: a new one, an empty one, or one that was published into before
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only this target; may be repeated
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
}

impl Publish {
    /// Writes what has changed, and says how much that was.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let mut targets = Vec::new();
            for asked in &self.targets {
                targets.push(history::target(&store, Some(asked)).await?);
            }
            if targets.is_empty() {
                targets = store.targets().await.into_diagnostic()?;
            }
            if targets.is_empty() {
                return Err(history::no_history());
            }
            targets.sort();
            targets.dedup();
            into(&store, &targets, &self.folder).await?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Publishes these targets into a folder, and says so.
pub async fn into(store: &Store, targets: &[TargetName], folder: &Path) -> miette::Result<()> {
    let mut opened = HashMap::new();
    for target in targets {
        match Opened::of_store(store, target).await {
            Ok(Some(history)) => drop(opened.insert(target.clone(), history)),
            Ok(None) => {}
            Err(error) => files::say(&format!(
                "{target}: its history can't be read, so what lies between versions isn't shown: {error}"
            )),
        }
    }
    let between = |target: &TargetName, from: &Version, to: &Version| match opened.get(target) {
        Some(opened) => between(opened, from, to),
        None => Ok(None),
    };
    let published = publish(store, targets, &between, folder).await;
    let published = published.into_diagnostic()?;
    files::print(&format!(
        "{}: {} files written, {} unchanged, {} removed\n",
        folder.join("index.html").display(),
        published.written,
        published.unchanged,
        published.removed
    ))
}

/// What lies between two versions, as their history says.
fn between(opened: &Opened, from: &Version, to: &Version) -> Result<Option<Between>, String> {
    let history = &opened.history;
    let changes = history.between(from, to).map_err(|e| e.to_string())?;
    let diff = history
        .diff(from, to, MOST_OF_A_DIFF)
        .map_err(|e| e.to_string())?;
    Ok(Some(Between { changes, diff }))
}
