//! `backsight prune`: removes what the rules of keep.toml don't keep.

use backsight_model::{KEEP_FILE, KeepRules};
use backsight_study::PruneOptions;
use jiff::Timestamp;
use std::{path::PathBuf, process::ExitCode};

use crate::{common_options::CommonOptions, files, output::Output};

/// Arguments of `prune`.
#[derive(Debug, clap::Args)]
pub struct PruneArgs {
    /// Say what would go and what stays, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// The rules; else `keep.toml` in the store's folder. Without rules everything is kept
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

impl PruneArgs {
    /// Removes it, and says what stays and what went.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let own = files::store_folder(shared)?.join(KEEP_FILE);
        let file = self.keep.or_else(|| own.exists().then(|| own.clone()));
        let rules = match &file {
            Some(file) => KeepRules::open(file)?,
            None => KeepRules::default(),
        };
        let options = PruneOptions {
            rules,
            file,
            now: Timestamp::now(),
            dry_run: self.dry_run,
        };
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let mut pruning = backsight_study::prune(&store, &options).await?;
            store.close().await;
            if options.file.is_none() {
                pruning.notes.push(format!(
                    "there are no rules, so that everything is kept: write some into {}",
                    own.display()
                ));
            }
            self.output.render(&pruning)?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
