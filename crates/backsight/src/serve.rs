//! `backsight serve`: the site and the read API on an address of this machine, live.

use backsight_model::TargetName;
use backsight_server::{LiveSite, serve};
use backsight_study::find_target;
use miette::IntoDiagnostic as _;
use std::{net::SocketAddr, process::ExitCode};
use tokio::signal::unix::{SignalKind, signal};

use crate::{common_options::CommonOptions, files};

/// Arguments of `serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Where: an address of this machine alone; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8420")]
    listen: SocketAddr,
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
            let live = LiveSite::open(store, targets, files::print_note).await?;
            let say = |address| {
                // Whoever started it reads the port; a closed pipe is no reason to stop.
                let _ = files::print(&format!("serving http://{address}/ until ^C\n"));
            };
            serve(live, self.listen, say, stop)
                .await
                .into_diagnostic()?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
