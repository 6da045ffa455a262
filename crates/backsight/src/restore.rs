//! `backsight restore`: puts back what interrupted studies left changed on machines.

use backsight_conductor::{HostAccess, restore_hosts};
use backsight_model::HostName;
use miette::IntoDiagnostic as _;
use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

use crate::{common_options::CommonOptions, exit_status::ExitStatus, files};

/// Arguments of `restore`.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// Hosts of the lab; all its machines unless said
    hosts: Vec<HostName>,
    /// The lab's file; else the lab.toml in this folder, else this machine alone
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
}

impl RestoreArgs {
    /// Does it; fails if something can't be put back.
    pub fn execute(self, _: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let lab = files::lab_or_this_machine(self.lab.as_deref())?;
            let (lab, hosts) = backsight_study::machines(&lab, &self.hosts)?;
            let reach = HostAccess::with_this_program().into_diagnostic()?;
            let mut text = String::new();
            let mut complete = true;
            for (host, restored) in hosts.iter().zip(restore_hosts(&reach, &lab, &hosts).await) {
                let report = match restored {
                    Ok(report) => report,
                    Err(fault) => {
                        complete = false;
                        let _ = writeln!(text, "{host}: {fault}");
                        continue;
                    }
                };
                complete &= report.is_complete();
                for change in &report.changes {
                    let _ = writeln!(text, "{host}: {change}");
                }
                let _ = match (report.changes.is_empty(), report.held) {
                    (true, 0) => writeln!(text, "{host}: nothing is left changed"),
                    (_, 0) => Ok(()),
                    (_, held) => writeln!(text, "{host}: {held} settings of studies that run stay"),
                };
            }
            files::print(&text)?;
            Ok(match complete {
                true => ExitStatus::Success.into(),
                false => ExitStatus::Failed.into(),
            })
        })
    }
}
