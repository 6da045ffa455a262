//! `backsight audit`: what was asked through servers, by whom.

use backsight_report::access::{AuditView, audit_table};
use miette::IntoDiagnostic as _;
use std::{num::NonZeroU32, process::ExitCode};

use crate::{common_options::CommonOptions, files, value_parsers::at_least_one};

/// Arguments of `audit`.
#[derive(Debug, clap::Args)]
pub struct AuditArgs {
    /// How many entries, the last ones
    #[arg(long, value_name = "N", default_value = "50", value_parser = at_least_one)]
    limit: NonZeroU32,
    /// As JSON, with everything that was said
    #[arg(long)]
    json: bool,
}

impl AuditArgs {
    /// Lists entries.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let entries = store.audit_entries(self.limit.get()).await;
            let entries = entries.into_diagnostic()?;
            let views: Vec<AuditView<'_>> = entries.iter().map(AuditView::from).collect();
            files::print(&match self.json {
                true => backsight_report::json(&views).into_diagnostic()?,
                false => audit_table(&views, files::width()),
            })?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
