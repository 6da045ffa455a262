//! `backsight store check`: whether the store still holds what was recorded, and what can be mended is mended.

use backsight_model::RawLocation;
use backsight_store::StoreError;
use backsight_study::check_store;
use std::process::ExitCode;

use crate::{common_options::CommonOptions, exit_status::ExitStatus, files};

/// Arguments of `store check`.
#[derive(Debug, clap::Args)]
pub struct StoreCheckArgs {
    /// Take damaged samples from their raw output again, and add checksums where there are none. A trial of which both are
    /// damaged becomes a failed one
    #[arg(long)]
    repair: bool,
}

impl StoreCheckArgs {
    /// Checks everything, and says what was found.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = match files::existing_store(shared).await {
                Ok(store) => store,
                Err(error) => match error.downcast_ref::<StoreError>() {
                    Some(StoreError::Damaged { .. }) => {
                        files::print_note(&format!("{error}"));
                        return Ok(ExitStatus::Failed.into());
                    }
                    _ => return Err(error),
                },
            };
            if let place @ RawLocation::Bucket(_) = store.raw_location() {
                files::print_note(&format!("every raw output is read from {place}"));
            }
            let check = check_store(&store, self.repair).await?;
            store.close().await;
            files::print(&check.to_string())?;
            Ok(ExitStatus::failed_if(!check.is_sound()))
        })
    }
}
