//! `backsight log`: what lies between two versions of a target.

use backsight_report::change_list;
use backsight_study::OpenTarget;
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{common_options::CommonOptions, files};

/// Arguments of `log`.
#[derive(Debug, clap::Args)]
pub struct LogArgs {
    /// The target: its file, or the NAME of NAME.toml here or in targets/
    #[arg(long, value_name = "NAME|FILE")]
    target: String,
    /// The older version
    from: String,
    /// The newer version
    to: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the difference as well, as a unified diff
    #[arg(long, conflicts_with = "json")]
    patch: bool,
}

/// Most of a difference that is printed, in bytes.
const MOST_OF_A_DIFF: usize = 4 << 20;

impl LogArgs {
    /// Prints what lies between two versions.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let opened =
                OpenTarget::named(&self.target, None, files::store_folder(shared)?).await?;
            let Self {
                from, to, patch, ..
            } = self;
            let (between, diff) = opened
                .query(move |history| {
                    let (from, to) = (history.resolve(&from)?, history.resolve(&to)?);
                    let diff = match patch {
                        true => history.diff(&from, &to, MOST_OF_A_DIFF)?,
                        false => None,
                    };
                    Ok((history.between(&from, &to)?, diff))
                })
                .await?;
            if self.json {
                let text = serde_json::to_string_pretty(&between).into_diagnostic()?;
                files::print(&format!("{text}\n"))?;
            } else {
                files::print_foreign(change_list::render(&between).as_bytes())?;
            }
            if let Some(diff) = diff {
                files::print_foreign(format!("\n{diff}").as_bytes())?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}
