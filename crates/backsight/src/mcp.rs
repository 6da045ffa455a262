//! `backsight mcp`: the store for programs that work with a language model, by the Model Context Protocol.

use backsight_access::{Gate, HeaderName, PERSON_HEADER};
use backsight_mcp::{Commands, McpServer, serve_http, serve_stdio};
use backsight_store::AccessScope;
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{ffi::OsString, net::SocketAddr, path::PathBuf, process::ExitCode};
use tokio::net::TcpListener;

use crate::{
    common_options::CommonOptions,
    files,
    session_args::stop_signal,
    value_parsers::{SCOPES, one_of},
};

/// Arguments of `mcp`.
#[derive(Debug, clap::Args)]
pub struct McpArgs {
    /// What the caller may do
    #[arg(long, value_name = "SCOPE", value_parser = one_of(&SCOPES[..3]), default_value = "read", conflicts_with = "listen")]
    scope: AccessScope,
    /// Serve by HTTP, below /mcp, in place of standard input and output, whoever has a token of the store (`backsight token`): an
    /// address of this machine alone; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
}

impl McpArgs {
    /// Serves until the caller goes, or it is told to stop.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let commands = commands(shared)?;
        let Some(address) = self.listen else {
            let server = McpServer::for_one(commands, self.scope);
            return crate::block_on(async {
                let mut stop = stop_signal();
                let served = tokio::select! {
                    served = serve_stdio(server) => served,
                    _ = stop.wait_for(|stop| *stop) => Ok(()),
                };
                served.map_err(|why| {
                    miette::miette!(
                        help = "programs start it by themselves; docs/how-to/ask-with-a-language-model.md says how",
                        "standard input isn't the Model Context Protocol: {why}"
                    )
                })?;
                Ok(ExitCode::SUCCESS)
            });
        };
        if !address.ip().is_loopback() {
            return Err(miette::miette!(
                help =
                    "let it listen on 127.0.0.1, and put a proxy before it that has a certificate",
                "{address} can be reached from other machines, and tokens would go there unencrypted"
            ));
        }
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let gate = Gate::new(store.clone(), None, HeaderName::from_static(PERSON_HEADER));
            let server = McpServer::for_known(commands, store);
            let listener = TcpListener::bind(address).await;
            let listener = listener
                .into_diagnostic()
                .wrap_err_with(|| format!("can't listen on {address}"))?;
            let address = listener.local_addr().into_diagnostic()?;
            // Whoever started it reads the port; a closed pipe is no reason to stop.
            let _ = files::print(&format!("serving http://{address}/mcp until ^C\n"));
            let mut stop = stop_signal();
            let stopped = async move {
                let _ = stop.wait_for(|stop| *stop).await;
            };
            let served = serve_http(server, listener, gate, stopped).await;
            served.into_diagnostic()?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// How callers' commands are run: on the same store, with the same definitions.
fn commands(shared: &CommonOptions) -> miette::Result<Commands> {
    let named = |option: &'static str, folders: &[PathBuf]| {
        let words = folders.iter().flat_map(move |folder| {
            let folder: OsString = folder.into();
            [OsString::from(option), folder]
        });
        words.collect::<Vec<_>>()
    };
    let store = shared.store.as_ref().map(|store| {
        // A password is no word of a command, which everybody sees.
        let store = store.for_environment();
        (OsString::from("BACKSIGHT_STORE"), store)
    });
    Ok(Commands {
        program: std::env::current_exe().into_diagnostic()?,
        options: [
            named("--benchmarks", &shared.benchmarks),
            named("--monitors-dir", &shared.monitors),
            named("--settings-dir", &shared.settings),
        ]
        .concat(),
        environment: store.into_iter().collect(),
    })
}
