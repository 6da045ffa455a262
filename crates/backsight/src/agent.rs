//! `backsight agent`: what runs on a host, speaking to its conductor over standard input and output.

use miette::IntoDiagnostic as _;
use std::{path::PathBuf, process::ExitCode};

/// Arguments of `agent`.
#[derive(Debug, clap::Args)]
pub struct Agent {
    /// Live in this network namespace: a file such as /run/netns/NAME
    #[arg(long, value_name = "FILE")]
    netns: Option<PathBuf>,
}

impl Agent {
    /// Serves one conductor, then ends.
    pub fn execute(self) -> miette::Result<ExitCode> {
        use std::io::IsTerminal as _;
        if std::io::stdin().is_terminal() {
            return Err(miette::miette!(
                help = "to measure, use `backsight run`; it starts agents by itself",
                "an agent speaks to a conductor over its standard input, and this is a terminal"
            ));
        }
        backsight_agent::serve_stdio(self.netns.as_deref()).into_diagnostic()?;
        Ok(ExitCode::SUCCESS)
    }
}
