//! `backsight completions` and `backsight man`: made from the command line's own definition.

use clap::CommandFactory as _;
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{path::PathBuf, process::ExitCode};

use crate::cli::Arguments;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// Which shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints the completions.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "backsight", &mut script);
        crate::files::print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub struct Man {
    /// Folder for the pages; made if it isn't there
    #[arg(default_value = "man")]
    folder: PathBuf,
}

impl Man {
    /// Writes a page for the command and one for each verb.
    pub fn execute(self) -> miette::Result<ExitCode> {
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(Arguments::command(), &self.folder))
            .into_diagnostic()
            .wrap_err_with(|| format!("can't write manual pages into {}", self.folder.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}
