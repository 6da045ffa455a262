//! `backsight mcp`: the store for programs that work with a language model, by the Model Context Protocol.

use backsight_mcp::{Commands, McpServer, Permission, Token, serve_http, serve_stdio};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::Write as _,
    net::SocketAddr,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
};
use tokio::net::TcpListener;

use crate::{common_options::CommonOptions, files, serve::new_token, session_args::stop_signal};

/// Fewer characters of a token can be guessed.
const SHORTEST_TOKEN: usize = 20;

/// What callers may do beside reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Allowed {
    /// Add measurements to the queue, and cancel jobs.
    Queue,
    /// Say how alerts stand, and put notes beside versions.
    Triage,
}

impl From<Allowed> for Permission {
    fn from(allowed: Allowed) -> Self {
        match allowed {
            Allowed::Queue => Self::Queue,
            Allowed::Triage => Self::Triage,
        }
    }
}

/// Arguments of `mcp`.
#[derive(Debug, clap::Args)]
pub struct McpArgs {
    /// What callers may do beside reading: queue, triage; with a comma between them
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    allow: Vec<Allowed>,
    /// Serve by HTTP, below /mcp, in place of standard input and output: an address of this machine alone; port 0 is any that is
    /// free
    #[arg(long, value_name = "ADDRESS:PORT", requires = "token_file")]
    listen: Option<SocketAddr>,
    /// The file with the token that callers by HTTP have to send; made with a new one if it isn't there
    #[arg(long, value_name = "FILE", requires = "listen")]
    token_file: Option<PathBuf>,
}

impl McpArgs {
    /// Serves until the caller goes, or it is told to stop.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let permissions = self.allow.iter().map(|allowed| (*allowed).into());
        let server = McpServer::new(commands(shared)?, permissions.collect());
        let Some((address, file)) = self.listen.zip(self.token_file) else {
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
                "{address} can be reached from other machines, and the token would go there unencrypted"
            ));
        }
        let token = Token::new(&token_of(&file)?);
        crate::block_on(async {
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
            let served = serve_http(server, listener, token, stopped).await;
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

/// The token in a file that nobody else reads; a new one where there is no file.
fn token_of(file: &Path) -> miette::Result<String> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(file) {
        Ok(mut made) => {
            let token = new_token()?;
            let written = made.write_all(format!("{token}\n").as_bytes());
            written
                .into_diagnostic()
                .wrap_err_with(|| format!("can't write {}", file.display()))?;
            return Ok(token);
        }
        Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(why) => {
            return Err(why)
                .into_diagnostic()
                .wrap_err_with(|| format!("can't make {}", file.display()));
        }
    }
    let fault = || format!("can't read {}", file.display());
    let about = fs::metadata(file).into_diagnostic().wrap_err_with(fault)?;
    if about.permissions().mode() & 0o077 != 0 {
        return Err(miette::miette!(
            help = format!("chmod 600 {}", file.display()),
            "others can read the token in {}",
            file.display()
        ));
    }
    let text = fs::read_to_string(file)
        .into_diagnostic()
        .wrap_err_with(fault)?;
    let token = text.trim();
    let is_plain = token.chars().all(|c| c.is_ascii_graphic());
    if token.len() < SHORTEST_TOKEN || !is_plain {
        return Err(miette::miette!(
            help = "remove the file: a new one is made",
            "{} has no token: one line of {SHORTEST_TOKEN} letters and digits at least",
            file.display()
        ));
    }
    Ok(token.to_owned())
}
