//! `backsight publish`: the histories of targets as a site of plain files.
//!
//! Refuses: a folder with files that it hasn't written.

use backsight_history::History;
use backsight_model::{Document, Target, TargetName, Version};
use backsight_site::{Between, publish};
use backsight_store::{Store, StudyRow};
use backsight_study::Choices;
use miette::IntoDiagnostic as _;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{cli::Shared, files, history};

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

/// Most of a difference that stands on a page, in bytes: a history may have thousands of pages.
const MOST_OF_A_DIFF: usize = 128 << 10;

/// Publishes these targets into a folder, and says so.
pub async fn into(store: &Store, targets: &[TargetName], folder: &Path) -> miette::Result<()> {
    let sources = Sources::of(store, targets).await?;
    let between =
        |target: &TargetName, from: &Version, to: &Version| sources.between(target, from, to);
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

/// Where the histories of targets are kept, as the latest study of each names it; or why one can't be read. Studies
/// keep versions, not what lies between them.
struct Sources {
    opened: HashMap<TargetName, Result<Box<dyn History>, String>>,
}

impl Sources {
    async fn of(store: &Store, targets: &[TargetName]) -> miette::Result<Self> {
        let studies = store.studies().await.into_diagnostic()?;
        let mut opened = HashMap::new();
        for target in targets {
            let of_target = studies
                .iter()
                .filter(|study| study.target.as_ref() == Some(target));
            let latest = of_target.max_by_key(|study| study.id.0);
            if let Some(study) = latest {
                opened.insert(target.clone(), open(store, study).await?);
            }
        }
        Ok(Self { opened })
    }

    fn between(
        &self,
        target: &TargetName,
        from: &Version,
        to: &Version,
    ) -> Result<Option<Between>, String> {
        let history = match self.opened.get(target) {
            None => return Ok(None),
            Some(Err(why)) => return Err(why.clone()),
            Some(Ok(history)) => history,
        };
        let changes = history.between(from, to).map_err(|e| e.to_string())?;
        let diff = history
            .diff(from, to, MOST_OF_A_DIFF)
            .map_err(|e| e.to_string())?;
        // Packages without a change log say nothing; that isn't the same as that nothing changed.
        Ok((!changes.is_empty() || diff.is_some()).then_some(Between { changes, diff }))
    }
}

/// The history of a study's target. That it can't be opened is told on the pages, and no reason to publish none.
async fn open(store: &Store, study: &StudyRow) -> miette::Result<Result<Box<dyn History>, String>> {
    let documents = store.documents(study.id).await.into_diagnostic()?;
    let Some(document) = documents.iter().find(|document| document.kind == "target") else {
        return Ok(Err("the study has no target".to_owned()));
    };
    let target = match Target::read(&Document::new(
        document.name.clone(),
        document.text.as_str(),
    )) {
        Ok(target) => target,
        Err(problem) => return Ok(Err(problem.to_string())),
    };
    let choices: Result<Choices, _> = serde_json::from_str(&study.arguments);
    let folder = choices
        .ok()
        .and_then(|choices| choices.step)
        .map(|step| step.folder);
    let place = store.dir().join("targets").join(target.name.as_str());
    // It may ask the network, which takes long and isn't this thread's business.
    let opened = tokio::task::spawn_blocking(move || {
        std::fs::create_dir_all(&place).map_err(|e| e.to_string())?;
        let place = place.canonicalize().map_err(|e| e.to_string())?;
        let folder = folder.unwrap_or_default();
        backsight_history::open(&target, &folder, &place).map_err(|e| e.to_string())
    });
    opened.await.into_diagnostic()
}
