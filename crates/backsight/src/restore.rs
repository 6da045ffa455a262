//! `backsight restore`: puts back what interrupted studies left changed on machines.

use backsight_conductor::{HostAccess, change_boot_units, restore_hosts};
use backsight_model::HostPattern;
use backsight_settings::{BootUnitAction, BootUnitReport, RestoreReport};
use miette::IntoDiagnostic as _;
use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

use crate::{common_options::CommonOptions, exit_status::ExitStatus, files};

/// Arguments of `restore`.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// Hosts of the lab: names, `client[01-05]`, a group's name, `tag:TAG`; all its machines unless said
    hosts: Vec<HostPattern>,
    /// The lab's file; else the lab.toml in this folder, else this machine alone
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
    /// Instead: have the hosts do it by themselves at each of their starts, by a unit of systemd
    #[arg(long, conflicts_with = "uninstall")]
    install: bool,
    /// Instead: remove that unit
    #[arg(long)]
    uninstall: bool,
}

impl RestoreArgs {
    /// Does it; fails if something can't be put back, or a host can't be reached.
    pub fn execute(self, _: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let lab = files::lab_or_this_machine(self.lab.as_deref())?;
            let (lab, hosts) = backsight_study::machines(&lab, &self.hosts)?;
            let reach = HostAccess::with_this_program().into_diagnostic()?;
            let action = match (self.install, self.uninstall) {
                (true, _) => Some(BootUnitAction::Install),
                (_, true) => Some(BootUnitAction::Uninstall),
                _ => None,
            };
            let answers: Vec<_> = match action {
                None => {
                    let restored = restore_hosts(&reach, &lab, &hosts).await;
                    let said = |it: RestoreReport| (it.sentences(), it.is_complete());
                    restored.into_iter().map(|it| it.map(said)).collect()
                }
                Some(action) => {
                    let changed = change_boot_units(&reach, &lab, &hosts, action).await;
                    let said = |it: BootUnitReport| (it.sentences(action), it.is_complete());
                    changed.into_iter().map(|it| it.map(said)).collect()
                }
            };
            let mut text = String::new();
            let mut complete = true;
            for (host, answer) in hosts.iter().zip(answers) {
                let (sentences, is_complete) =
                    answer.unwrap_or_else(|fault| (vec![fault.to_string()], false));
                complete &= is_complete;
                for sentence in sentences {
                    let _ = writeln!(text, "{host}: {sentence}");
                }
            }
            files::print(&text)?;
            Ok(ExitStatus::failed_if(!complete))
        })
    }
}
