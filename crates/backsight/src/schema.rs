//! `backsight schema`: JSON schemas of the files that users write.

use std::process::ExitCode;

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub struct Schema {
    /// Which kind of file
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(backsight_model::schema::KINDS))]
    kind: String,
}

impl Schema {
    /// Prints the schema.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let schema = backsight_model::schema::of(&self.kind)
            .ok_or_else(|| miette::miette!("there is no schema of `{}`", self.kind))?;
        crate::files::print(&format!("{schema:#}\n"))?;
        Ok(ExitCode::SUCCESS)
    }
}
