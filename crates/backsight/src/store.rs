//! `backsight store`: what is done to a store as a whole.

use std::process::ExitCode;

use crate::{common_options::CommonOptions, store_check, store_copy, store_raw};

/// Arguments of `store`.
#[derive(Debug, clap::Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    action: StoreAction,
}

#[derive(Debug, clap::Subcommand)]
enum StoreAction {
    /// Check that the store holds what was recorded, and mend it
    Check(store_check::StoreCheckArgs),
    /// Copy studies into another store, a folder or a database; what it has already is left out
    Copy(store_copy::StoreCopyArgs),
    /// Say where raw outputs are kept, or move them: into a bucket, or back into the store's folder
    Raw(store_raw::RawArgs),
}

impl StoreArgs {
    /// Does what was asked.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        match self.action {
            StoreAction::Check(verb) => verb.execute(shared),
            StoreAction::Copy(verb) => verb.execute(),
            StoreAction::Raw(verb) => verb.execute(shared),
        }
    }
}
