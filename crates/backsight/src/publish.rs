//! `backsight publish`: the histories of targets as a site of plain files. Never overwrites files of others.

use backsight_model::TargetName;
use backsight_server::SiteContent;
use backsight_site::publish;
use backsight_store::Store;
use backsight_study::{find_target, no_history};
use miette::IntoDiagnostic as _;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{common_options::CommonOptions, files};

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

/// Publishes these targets into a folder, and says so.
pub async fn into(store: &Store, targets: &[TargetName], folder: &Path) -> miette::Result<()> {
    let content = SiteContent::collect(store, targets).await?;
    content.notes.iter().for_each(|why| files::print_note(why));
    let remove_unused = content.interval_cleaner();
    let published = publish(content.into_site(), folder).await;
    let published = published.into_diagnostic()?;
    if published.left == 0 {
        remove_unused();
    }
    files::print(&format!(
        "{}: {} files written, {} unchanged, {} removed\n",
        folder.join("index.html").display(),
        published.written,
        published.unchanged,
        published.removed
    ))
}
