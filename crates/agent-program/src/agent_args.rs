//! `agent`: what runs on a host, speaking to its conductor over standard input and output.

use miette::IntoDiagnostic as _;
use std::{ffi::OsString, path::PathBuf, process::ExitCode};

/// Arguments of `agent`.
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// Live in this network namespace: a file such as /run/netns/NAME
    #[arg(long, value_name = "FILE")]
    netns: Option<PathBuf>,
    /// Serve on this port of a virtual machine (vsock:NUMBER is one of its sockets), as a service of it
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["netns", "channel"])]
    port: Option<PathBuf>,
    /// Change settings of this machine as standard input says, once
    #[arg(long, conflicts_with_all = ["netns", "channel"])]
    change_settings: bool,
    /// Become a program whose descriptor 3 is a stream to this unix socket
    #[arg(
        long,
        value_name = "SOCKET",
        requires = "program",
        conflicts_with = "netns"
    )]
    channel: Option<PathBuf>,
    /// That program
    #[arg(requires = "channel")]
    program: Option<PathBuf>,
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl AgentArgs {
    /// Serves one conductor, then ends.
    ///
    /// # Errors
    /// It can't serve here, or isn't asked to.
    pub fn execute(self) -> miette::Result<ExitCode> {
        use std::io::IsTerminal as _;
        if let (Some(socket), Some(program)) = (&self.channel, &self.program) {
            let fault = backsight_agent::exec_with_channel(socket, program, &self.arguments);
            return Err(miette::miette!("{}: {fault}", program.display()));
        }
        if self.change_settings {
            return backsight_agent::serve_settings().into_diagnostic();
        }
        if let Some(port) = &self.port {
            backsight_agent::serve_device(port).into_diagnostic()?;
            return Ok(ExitCode::SUCCESS);
        }
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
