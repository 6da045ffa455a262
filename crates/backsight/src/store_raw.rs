//! `backsight store raw`: where raw outputs are kept.

use backsight_model::{RawLocation, counted};
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{common_options::CommonOptions, exit_status::ExitStatus, files};

/// Arguments of `store raw`.
#[derive(Debug, clap::Args)]
pub struct RawArgs {
    /// Where they are to be: s3://BUCKET/PREFIX; folder: beside the database; database: where the store is in one
    #[arg(value_name = "PLACE")]
    to: Option<RawLocation>,
}

impl RawArgs {
    /// Moves them, or says where they are.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let Some(to) = self.to else {
                let store = files::existing_store(shared).await?;
                let place = store.raw_location();
                let (objects, bytes) = store.raw_size().await.into_diagnostic()?;
                store.close().await;
                let objects = counted(objects as usize, "raw output");
                let size = backsight_model::numbers::size(bytes);
                files::print(&format!("{place}: {objects}, {size}\n"))?;
                return Ok(ExitCode::SUCCESS);
            };
            let store = files::open_store(shared).await?;
            let moved = store.move_raw(&to).await.into_diagnostic()?;
            store.close().await;
            let mut said = format!(
                "raw outputs are in {to}: {} moved, {} there already\n",
                moved.copied, moved.there
            );
            for raw in &moved.damaged {
                said.push_str(&format!(
                    "damaged: raw output {raw} stays where it was: `backsight store check` says whose it is\n"
                ));
            }
            files::print(&said)?;
            Ok(ExitStatus::failed_if(!moved.damaged.is_empty()))
        })
    }
}
