//! `backsight lab`: the namespaces of a lab.

use backsight_conductor::netns;
use backsight_model::{HostKind, Lab, TomlDocument};
use miette::IntoDiagnostic as _;
use std::{path::PathBuf, process::ExitCode};

/// Arguments of `lab`.
#[derive(Debug, clap::Args)]
pub struct LabArgs {
    #[command(subcommand)]
    what: What,
    /// The lab's file
    #[arg(
        long = "lab",
        global = true,
        value_name = "FILE",
        default_value = "lab.toml"
    )]
    file: PathBuf,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Make what isn't there yet; may be repeated
    Up,
    /// Remove it, and the processes in it; may be repeated
    Down,
    /// Show hosts, addresses and whether they are up
    Show,
}

impl LabArgs {
    /// Does it.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let lab = Lab::read(&TomlDocument::open(&self.file)?)?;
        match self.what {
            What::Up => {
                let made = netns::up(&lab).into_diagnostic()?;
                let hosts = netns::hosts(&lab).count();
                crate::files::print(&match (hosts, made.len()) {
                    (0, _) => format!("{}: no namespaces to make\n", lab.name),
                    (_, 0) => format!("{}: up already ({hosts} hosts)\n", lab.name),
                    _ => format!("{}: up, {} of {hosts} hosts made\n", lab.name, made.len()),
                })?;
            }
            What::Down => {
                let removed = netns::down(&lab).into_diagnostic()?;
                crate::files::print(&match removed.len() {
                    0 => format!("{}: down already\n", lab.name),
                    n => format!("{}: down, {n} hosts removed\n", lab.name),
                })?;
            }
            What::Show => show(&lab)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn show(lab: &Lab) -> miette::Result<()> {
    let mut table = crate::list::table(&["host", "kind", "state", "addresses"]);
    for (name, host) in &lab.host {
        let state = if !netns::is_namespace(lab, name) && host.kind.is_guest() {
            "booted by step"
        } else if host.kind == HostKind::Ssh {
            "reached with ssh"
        } else if host.kind == HostKind::Local || netns::is_up(&lab.name, name) {
            "up"
        } else {
            "down"
        };
        let addresses: Vec<String> = lab
            .addresses(name)
            .map(|(link, address, peer)| {
                let by = link
                    .name
                    .as_ref()
                    .map_or_else(|| format!("to {peer}"), |name| name.to_string());
                format!("{address} ({by})")
            })
            .collect();
        table.add_row([
            name.to_string(),
            host.kind.to_string(),
            state.into(),
            addresses.join(", "),
        ]);
    }
    crate::files::print(&format!("{table}\n"))
}
