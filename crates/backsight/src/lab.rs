//! `backsight lab`: the namespaces of a lab; the power and the consoles of its machines.

use backsight_conductor::{
    HostAccess, PowerAction, attach_console, check_hosts, install_release, netns, provision_host,
    switch_hosts,
};
use backsight_exchange::inventory::ImportedLab;
use backsight_model::{GroupName, HostName, HostPattern, Lab, ReleaseName, TagName, Time};
use backsight_report::lab::{LabCheckView, LabView};
use miette::IntoDiagnostic as _;
use std::{path::PathBuf, process::ExitCode};

use crate::{exit_status::ExitStatus, files, value_parsers::one_of};

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
    /// Write a lab's file from the list of hosts of another tool
    Import {
        /// Whose list it is
        #[arg(value_parser = ["ansible"])]
        format: String,
        /// The list; for Ansible an inventory as INI or YAML, with `group_vars` and `host_vars` beside it
        file: PathBuf,
        /// Write into this file, which must not be there yet; else to standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Show hosts: their kinds, groups, tags, addresses, and whether they are up
    Show {
        /// Names, `client[01-05]`, a group's name, `tag:TAG`; all hosts unless said
        hosts: Vec<HostPattern>,
        /// Of these only hosts with this tag; may be repeated
        #[arg(long)]
        tag: Vec<TagName>,
        /// Of these only hosts of this group; may be repeated
        #[arg(long)]
        group: Vec<GroupName>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask hosts, all at once: whether they answer, are fit to measure and on, and their consoles heard
    Check {
        /// Which hosts: names, host sets, groups, tags (`tag:10g`); all hosts unless said
        #[arg(value_name = "HOST")]
        hosts: Vec<HostPattern>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Switch machines on and off, all at once, until their status says so
    Power {
        #[arg(value_parser = one_of(PowerAction::NAMED))]
        action: PowerAction,
        /// Which hosts: names, host sets, groups, tags (`tag:10g`); for `status` all with `power` unless named
        #[arg(value_name = "HOST")]
        hosts: Vec<HostPattern>,
        /// Also a host that a study measures on
        #[arg(long)]
        force: bool,
    },
    /// Install another release of a machine's system as the lab says, and prove that it runs
    Install {
        host: HostName,
        /// The release's name, as the commands of the host's `install` know it
        release: ReleaseName,
        /// Also a host that a study measures on
        #[arg(long)]
        force: bool,
    },
    /// Make the systems of containers and virtual machines from their recipes, let the agent into domains, and prove that they run
    Provision {
        /// Which hosts: names, host sets, groups, tags
        #[arg(value_name = "HOST", required = true)]
        hosts: Vec<HostPattern>,
    },
    /// Show what the console of a machine says, and type there; Ctrl-] leaves it
    Console {
        host: HostName,
        /// Leave it after this time: 30s, 5m
        #[arg(long = "for", value_name = "TIME", value_parser = Time::parse)]
        limit: Option<Time>,
    },
}

impl LabArgs {
    /// Does it.
    pub fn execute(self) -> miette::Result<ExitCode> {
        if let What::Import { file, out, .. } = &self.what {
            let imported = ImportedLab::from_ansible(file)?;
            imported
                .notes
                .iter()
                .for_each(|note| files::print_note(note));
            match out {
                Some(out) => imported.save(out)?,
                None => files::print_foreign(imported.text.as_bytes())?,
            }
            return Ok(ExitCode::SUCCESS);
        }
        let lab = Lab::read(&Lab::open(&self.file)?)?;
        if lab.host.is_empty() && matches!(self.what, What::Check { .. } | What::Power { .. }) {
            return Err(miette::miette!(
                help = "describe one: [host.NAME]",
                "the lab has no host: there is nothing to ask"
            ));
        }
        match self.what {
            What::Up => {
                let made = netns::up(&lab).into_diagnostic()?;
                let hosts = netns::hosts(&lab).count();
                files::print(&match (hosts, made.len()) {
                    (0, _) => format!("{}: no namespaces to make\n", lab.name),
                    (_, 0) => format!("{}: up already ({hosts} hosts)\n", lab.name),
                    _ => format!("{}: up, {} of {hosts} hosts made\n", lab.name, made.len()),
                })?;
            }
            What::Down => {
                let removed = netns::down(&lab).into_diagnostic()?;
                files::print(&match removed.len() {
                    0 => format!("{}: down already\n", lab.name),
                    n => format!("{}: down, {n} hosts removed\n", lab.name),
                })?;
            }
            What::Import { .. } => {}
            What::Show {
                hosts,
                tag,
                group,
                json,
            } => {
                let hosts = lab.select_among(&hosts, &tag, &group)?;
                let view = LabView::new(&lab, &hosts, |host| netns::state(&lab, host).into());
                files::print_made(
                    &view
                        .shown(json, &files::terminal_style())
                        .into_diagnostic()?,
                )?;
            }
            What::Check { hosts, json } => {
                let hosts = lab.select_among(&hosts, &[], &[])?;
                let reach = HostAccess::with_this_program().into_diagnostic()?;
                let checking = async { Ok(check_hosts(&reach, &lab, &hosts).await) };
                let found = crate::block_on(checking)?;
                let view = LabCheckView {
                    lab: lab.name.as_str(),
                    faults: found.faults,
                    hosts: &found.hosts,
                    findings: &found.findings,
                };
                files::print(&match json {
                    true => backsight_report::json(&view).into_diagnostic()?,
                    false => found.to_string(),
                })?;
                return Ok(ExitStatus::failed_if(found.faults > 0));
            }
            What::Power {
                action,
                hosts,
                force,
            } => {
                if hosts.is_empty() && action != PowerAction::Status {
                    return Err(miette::miette!(
                        help = "name the hosts, a group, or a tag: `tag:10g`",
                        "`lab {action}` switches the hosts that it names, and it names none"
                    ));
                }
                let hosts = lab.select(&hosts, &[])?;
                let reach = HostAccess::with_this_program().into_diagnostic()?;
                let switching = switch_hosts(&reach, &lab, &hosts, action, force);
                let outcomes = crate::block_on(async { Ok(switching.await) })?;
                for outcome in &outcomes {
                    match outcome {
                        Ok(outcome) => files::print(&format!("{outcome}\n"))?,
                        Err(error) => files::print_note(&error.to_string()),
                    }
                }
                return Ok(ExitStatus::failed_if(outcomes.iter().any(Result::is_err)));
            }
            What::Install {
                host,
                release,
                force,
            } => {
                let reach = HostAccess::with_this_program().into_diagnostic()?;
                let installing =
                    install_release(&reach, &lab, &host, &release, force, files::print_note);
                let installed = crate::block_on(async { installing.await.into_diagnostic() })?;
                files::print(&format!("{installed}\n"))?;
            }
            What::Provision { hosts } => {
                let reach = HostAccess::with_this_program().into_diagnostic()?;
                for host in lab.select(&hosts, &[])? {
                    files::print_note(&format!("{host}: making its system may take some minutes"));
                    let provisioning = provision_host(&reach, &lab, &host);
                    let made = crate::block_on(async { provisioning.await.into_diagnostic() })?;
                    files::print(&format!("{made}\n"))?;
                }
            }
            What::Console { host, limit } => {
                let session = attach_console(&lab, &host, limit.map(|limit| limit.0));
                crate::block_on(async { session.await.into_diagnostic() })?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
