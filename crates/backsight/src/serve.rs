//! `backsight serve`: the site and the read API on an address of this machine, live.

use backsight_access::{Gate, HeaderName, PERSON_HEADER, new_token};
use backsight_model::TargetName;
use backsight_server::{LiveSite, PublicUrl, ServerAccess, serve};
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
    /// Let who has the token that it prints, or one of the store (`backsight token`), say how changes stand and queue measurements, from
    /// the pages or with POST /api/v1/triage
    #[arg(long)]
    control: bool,
    /// Let only who has a token of the store read, or whoever a proxy names that has one
    #[arg(long)]
    private: bool,
    /// What browsers call the proxy before it, such as https://lab.example.org
    #[arg(long, value_name = "URL")]
    public_url: Option<PublicUrl>,
    /// The header in which a proxy with a token of scope `proxy` says who asks
    #[arg(long, value_name = "HEADER", default_value = PERSON_HEADER)]
    person_header: HeaderName,
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
                true => Some(new_token().into_diagnostic()?),
                false => None,
            };
            let access = ServerAccess {
                gate: Gate::new(live.store().clone(), token.as_deref(), self.person_header),
                is_controlled: self.control,
                is_private: self.private,
                public: self.public_url,
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
            serve(live, access, self.listen, say, stop)
                .await
                .into_diagnostic()?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
