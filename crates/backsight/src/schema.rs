//! `backsight schema`: JSON schemas of the files that users write, and of the JSON that verbs print.

use backsight_exchange::export::StudyExport;
use backsight_report::schema as report;
use std::process::ExitCode;

/// The kind of what `export` prints.
const EXPORT: &str = "export";
/// The kind of what webhooks get.
const CHANGES_EVENT: &str = "changes-event";

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// Which kind: of file, or of what a verb prints with --format json
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(kinds()))]
    kind: String,
}

fn kinds() -> impl Iterator<Item = &'static str> {
    file_kinds().chain(printed().map(|(kind, _)| kind))
}

/// The kinds of files that users write.
pub fn file_kinds() -> impl Iterator<Item = &'static str> {
    let files = backsight_model::schema::KINDS.iter();
    files
        .chain(backsight_settings::KINDS)
        .chain(backsight_notify::KINDS)
        .chain(backsight_watch::KINDS)
        .copied()
}

/// The schema of a kind of file that users write.
pub fn file_schema(kind: &str) -> Option<serde_json::Value> {
    backsight_model::schema::schema_for(kind)
        .or_else(|| backsight_settings::schema_for(kind))
        .or_else(|| backsight_notify::schema_for(kind))
        .or_else(|| backsight_watch::schema_for(kind))
}

/// The kinds of JSON that verbs print, each with a line on what prints it.
pub fn printed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let export = (EXPORT, "What `export --format json` prints.");
    let event = (CHANGES_EVENT, "What `notify` sends to a webhook.");
    report::KINDS.iter().copied().chain([export, event])
}

/// The schema of a kind of JSON that a verb prints.
pub fn output_schema(kind: &str) -> Option<serde_json::Value> {
    match kind {
        EXPORT => Some(report::schema_of::<StudyExport<'_>>()),
        CHANGES_EVENT => Some(report::schema_of::<backsight_notify::ChangesEvent>()),
        _ => report::schema_for(kind),
    }
}

impl SchemaArgs {
    /// Prints the schema.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let schema = file_schema(&self.kind)
            .or_else(|| output_schema(&self.kind))
            .ok_or_else(|| miette::miette!("there is no schema of `{}`", self.kind))?;
        crate::files::print(&format!("{schema:#}\n"))?;
        Ok(ExitCode::SUCCESS)
    }
}
