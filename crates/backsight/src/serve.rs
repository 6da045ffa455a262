//! `backsight serve`: the site and the read API on an address of this machine, live.

use backsight_model::TargetName;
use backsight_server::{Control, LiveSite, serve};
use backsight_study::find_target;
use miette::IntoDiagnostic as _;
use std::{fmt::Write as _, fs::File, io::Read as _, net::SocketAddr, process::ExitCode};
use tokio::signal::unix::{SignalKind, signal};

use crate::{common_options::CommonOptions, files};

/// Arguments of `serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Where: an address of this machine alone; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8420")]
    listen: SocketAddr,
    /// Let who has the token that it prints say how changes stand, from the pages or with POST /api/v1/triage
    #[arg(long)]
    control: bool,
    /// Only this target; may be repeated
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
}

impl ServeArgs {
    /// Serves until it is told to stop.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let mut targets: Vec<TargetName> = Vec::new();
            for asked in &self.targets {
                targets.push(find_target(&store, Some(asked)).await?);
            }
            let mut interrupted = signal(SignalKind::interrupt()).into_diagnostic()?;
            let mut terminated = signal(SignalKind::terminate()).into_diagnostic()?;
            let stop = async move {
                tokio::select! {
                    _ = interrupted.recv() => {}
                    _ = terminated.recv() => {}
                }
            };
            let live = LiveSite::open(store, targets, self.control, files::print_note).await?;
            let token = match self.control {
                true => Some(new_token()?),
                false => None,
            };
            let say = |address| {
                // Whoever started it reads the port; a closed pipe is no reason to stop.
                let _ = files::print(&format!("serving http://{address}/ until ^C\n"));
                if let Some(token) = &token {
                    let _ = files::print(&format!(
                        "say how changes stand from http://{address}/#control={token}\n"
                    ));
                }
            };
            let control = token.clone().map(Control::new);
            serve(live, control, self.listen, say, stop)
                .await
                .into_diagnostic()?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// A secret that nobody guesses: 32 bytes in hexadecimal digits.
pub fn new_token() -> miette::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .into_diagnostic()?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
