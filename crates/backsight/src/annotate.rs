//! `backsight annotate`: notes beside versions of a target.

use backsight_report::{escape, list_table};
use backsight_store::Store;
use backsight_study::{AnnotationStatement, annotate_version, find_target};
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{common_options::CommonOptions, files, user_name::user_name};

/// Arguments of `annotate`.
#[derive(Debug, clap::Args)]
pub struct AnnotateArgs {
    /// The target; needn't be said where the store has one
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// The version: a version, a commit, a tag or a date, HEAD~2; without one, notes are listed
    #[arg(requires = "text")]
    version: Option<String>,
    /// What there is to know: it stands in the chart and on the version's page
    text: Option<String>,
    /// Who says it; else the user's name
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Remove the note with this number
    #[arg(long, value_name = "NUMBER", conflicts_with = "version")]
    remove: Option<i64>,
}

impl AnnotateArgs {
    /// Keeps, removes or lists notes.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let target = find_target(&store, self.target.as_deref()).await?;
            if let Some(number) = self.remove {
                if !store
                    .remove_annotation(&target, number)
                    .await
                    .into_diagnostic()?
                {
                    return Err(miette::miette!(
                        help = format!("`backsight annotate --target {target}` lists them"),
                        "{target} has no note {number}"
                    ));
                }
                files::print(&format!("note {number} is removed\n"))?;
                return Ok(ExitCode::SUCCESS);
            }
            let (Some(version), Some(text)) = (self.version, self.text) else {
                files::print(&table(&store, &target).await?)?;
                return Ok(ExitCode::SUCCESS);
            };
            let said = AnnotationStatement {
                version,
                text,
                by: user_name(self.by.as_deref())?,
            };
            let (number, note) = annotate_version(&store, &target, said).await?;
            files::print(&format!(
                "note {number} stands beside {} of {target}\n",
                escape::line(&note.name)
            ))?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

async fn table(store: &Store, target: &backsight_model::TargetName) -> miette::Result<String> {
    let notes = store.annotations(target).await.into_diagnostic()?;
    if notes.is_empty() {
        return Ok("no notes\n".to_owned());
    }
    let mut table = list_table(&["note", "version", "by", "text"], files::width());
    for (number, note) in &notes {
        table.add_row([
            number.to_string(),
            escape::line(&note.name),
            escape::line(&note.by),
            escape::line(&note.text),
        ]);
    }
    Ok(format!("{table}\n"))
}
