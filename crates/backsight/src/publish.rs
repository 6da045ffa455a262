//! `backsight publish`: the histories of targets as a site of plain files. Never overwrites files of others.

use backsight_history::HistoryError;
use backsight_model::{TargetName, Version};
use backsight_policy::history;
use backsight_site::{Site, SiteTarget, VersionChanges, publish};
use backsight_store::Store;
use backsight_study::{
    Intervals, OpenTarget, TestSelection, VersionInterval, add_failure_messages, find_target,
    no_history, reference_drift, test_history, verbs::bisect::named_changes,
};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{common_options::CommonOptions, files, test_matrix::PAGE_COLUMNS};

/// Arguments of `publish`.
#[derive(Debug, clap::Args)]
pub struct PublishArgs {
    /// Folder of the site: a new one, an empty one, or one that was published into before
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only this target; may be repeated
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
}

impl PublishArgs {
    /// Writes what has changed, and says how much that was.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let mut targets = Vec::new();
            for asked in &self.targets {
                targets.push(find_target(&store, Some(asked)).await?);
            }
            if targets.is_empty() {
                targets = store.targets().await.into_diagnostic()?;
            }
            if targets.is_empty() {
                return Err(no_history());
            }
            targets.sort();
            targets.dedup();
            into(&store, &targets, &self.folder).await?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Most of a difference that stands on a page, in bytes: a history may have thousands of pages.
const MOST_OF_A_DIFF: usize = 128 << 10;

/// Publishes these targets into a folder, and says so.
pub async fn into(store: &Store, targets: &[TargetName], folder: &Path) -> miette::Result<()> {
    let sources = Sources::open(store, targets).await;
    let mut contents = Vec::new();
    for target in targets {
        contents.push(content(store, target).await?);
    }
    let between =
        |target: &TargetName, from: &Version, to: &Version| sources.between(target, from, to);
    let site = Site::new(store, contents, Box::new(between));
    let published = publish(&site, folder).await.into_diagnostic()?;
    drop(site);
    sources.remove_unused();
    files::print(&format!(
        "{}: {} files written, {} unchanged, {} removed\n",
        folder.join("index.html").display(),
        published.written,
        published.unchanged,
        published.removed
    ))
}

/// What a site tells of a target.
async fn content(store: &Store, target: &TargetName) -> miette::Result<SiteTarget> {
    let studies = store.target_history(target).await.into_diagnostic()?;
    let mut history = history(&studies);
    let accepted = store.acceptances(target).await.into_diagnostic()?;
    history.accept(&accepted, Timestamp::now());
    let (named, left_out) = named_changes(store, target).await?;
    left_out.iter().for_each(|why| files::print_note(why));
    history.name_changes(&named);
    history.tell_of_drift(&studies, reference_drift(store, target).await?);
    let selection = TestSelection {
        target: Some(target.clone()),
        newest: Some(PAGE_COLUMNS),
        ..TestSelection::default()
    };
    let mut tests = test_history(store, &selection).await.into_diagnostic()?;
    add_failure_messages(store, &mut tests)
        .await
        .into_diagnostic()?;
    Ok(SiteTarget {
        target: target.clone(),
        studies,
        history,
        tests: Some(tests),
    })
}

/// The histories of targets, as the latest study of each names them; or why one can't be read, which is told on the pages
/// and no reason to publish none. Studies keep versions, not what lies between them.
struct Sources {
    opened: HashMap<TargetName, Result<(OpenTarget, Intervals), String>>,
}

impl Sources {
    async fn open(store: &Store, targets: &[TargetName]) -> Self {
        let mut opened = HashMap::new();
        for target in targets {
            let history = match OpenTarget::from_store(store, target).await {
                Ok(Some(history)) => {
                    let intervals = Intervals::new(&history);
                    Ok((history, intervals))
                }
                Ok(None) => Err("its studies don't say where".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            opened.insert(target.clone(), history);
        }
        Self { opened }
    }

    fn between(
        &self,
        target: &TargetName,
        from: &Version,
        to: &Version,
    ) -> Result<Option<VersionChanges>, String> {
        let (history, intervals) = match self.opened.get(target) {
            None => return Ok(None),
            Some(Err(why)) => return Err(why.clone()),
            Some(Ok((opened, intervals))) => (&opened.history, intervals),
        };
        let fetch = || {
            Ok(VersionInterval {
                changes: history.between(from, to)?,
                diff: history.diff(from, to, MOST_OF_A_DIFF)?,
            })
        };
        let known = intervals.get_or_fetch(from, to, MOST_OF_A_DIFF, fetch);
        let VersionInterval { changes, diff } = known.map_err(|e: HistoryError| e.to_string())?;
        // Packages without a change log say nothing; that isn't the same as that nothing changed.
        Ok((!changes.is_empty() || diff.is_some()).then_some(VersionChanges { changes, diff }))
    }

    /// Forgets intervals that no page has any more.
    fn remove_unused(&self) {
        for (_, intervals) in self.opened.values().flatten() {
            intervals.remove_unused();
        }
    }
}
