//! `backsight report`: a study as one self-contained page.

use miette::IntoDiagnostic as _;
use std::{path::PathBuf, process::ExitCode};

use crate::{cli::Shared, files};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct Report {
    /// The study: its name or its number
    study: String,
    /// The page's file; else NAME.html
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What the page compares: `variant`, or a parameter; unless said, the variants if there are several
    #[arg(long, value_name = "WHAT")]
    by: Option<String>,
    /// Another study to compare with; may be repeated
    #[arg(long = "with", value_name = "STUDY")]
    others: Vec<String>,
}

impl Report {
    /// Writes the page and says where.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.study).await.into_diagnostic()?;
            let path = self.output.unwrap_or_else(|| PathBuf::from(format!("{}.html", study.name)));
            todo!("{path:?}")
        })
    }
}
