//! `backsight doctor`: what is missing for a plan, and the exact command that installs it.
//!
//! Looks at this machine, where every host of a lab lives but those that `ssh` reaches; guests' roots included. Refuses:
//! to install anything.

use backsight_conductor::netns;
use backsight_model::HostKind;
use indexmap::IndexMap;
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{cli::Shared, run::Asked};

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Doctor {
    #[command(flatten)]
    asked: Asked,
}

impl Doctor {
    /// Says it; fails if something is missing.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        let (mut question, catalog) = self.asked.question(shared)?;
        question.along_history = true;
        let arrangement = question.arrange(&catalog)?;
        let mut packages: Vec<String> = Vec::new();
        let mut words = String::new();
        let mut faults = 0;
        let system = system();
        let kind_of = |host: &str| arrangement.lab.host.get(host).map(|host| host.kind);
        for (name, benchmark) in &arrangement.benchmarks {
            let mut missing: Vec<&str> = benchmark
                .roles
                .iter()
                // An emulated machine has programs of its own, and so has another machine.
                .filter(|role| {
                    let seat = arrangement.seats.get(role.as_str());
                    let kind = seat.and_then(|seat| kind_of(seat.host.as_str()));
                    !matches!(kind, Some(HostKind::Qemu | HostKind::Ssh))
                })
                .flat_map(|role| benchmark.programs_of(role))
                .filter(|program| find_program(program).is_none())
                .collect();
            missing.sort_unstable();
            missing.dedup();
            if missing.is_empty() {
                words.push_str(&format!("ok       {name}\n"));
                continue;
            }
            faults += 1;
            words.push_str(&format!("missing  {name}: {}\n", missing.join(", ")));
            packages.extend(packages_in(&benchmark.needs, &system));
        }
        for planned in &arrangement.monitors {
            let monitor = &planned.monitor;
            let mut seats = arrangement.seats.iter();
            let runs_here = seats.any(|(role, seat)| {
                let meant = planned.roles.is_empty() || planned.roles.contains(role);
                let kind = kind_of(seat.host.as_str());
                meant && !matches!(kind, Some(HostKind::Qemu | HostKind::Ssh))
            });
            let programs = monitor.programs.iter().filter(|_| runs_here);
            let missing: Vec<&str> = programs
                .map(String::as_str)
                .filter(|program| find_program(program).is_none())
                .collect();
            if missing.is_empty() {
                words.push_str(&format!("ok       monitor {}\n", monitor.name));
                continue;
            }
            faults += 1;
            let missing = missing.join(", ");
            words.push_str(&format!("missing  monitor {}: {missing}\n", monitor.name));
            packages.extend(packages_in(&monitor.needs, &system));
        }
        for seat in arrangement.seats.values() {
            let host = &*seat.host;
            let lab = &arrangement.lab;
            let line = if netns::is_namespace(lab, host) && !netns::is_up(&lab.name, host) {
                faults += 1;
                format!("down     host {host}: run `backsight lab up`\n")
            } else {
                format!("ok       host {host}\n")
            };
            if !words.contains(&line) {
                words.push_str(&line);
            }
        }
        let needs_ip = netns::hosts(&arrangement.lab).next().is_some();
        let has = |kind: HostKind| {
            let mut seats = arrangement.seats.values();
            seats.any(|seat| kind_of(seat.host.as_str()) == Some(kind))
        };
        for (program, package, needed) in [
            ("ip", "iproute2", needs_ip),
            ("nft", "nftables", question.plan.text.contains("nft ")),
            ("qemu-system-x86_64", "qemu-system-x86", has(HostKind::Qemu)),
            ("ssh", "openssh-client", has(HostKind::Ssh)),
        ] {
            if needed && find_program(program).is_none() {
                faults += 1;
                words.push_str(&format!("missing  {program}\n"));
                packages.push(package.to_owned());
            }
        }
        packages.sort();
        packages.dedup();
        if !packages.is_empty() {
            words.push_str(&format!(
                "\nInstall what is missing:\n\n  apt-get install {}\n",
                packages.join(" ")
            ));
        }
        if faults == 0 {
            words.push_str("\nNothing is missing.\n");
        }
        crate::files::print(&words)?;
        Ok(if faults == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(crate::SOMETHING_FAILED)
        })
    }
}

fn packages_in(needs: &IndexMap<String, Vec<String>>, system: &str) -> Vec<String> {
    needs
        .get(system)
        .or_else(|| needs.get("debian"))
        .cloned()
        .unwrap_or_default()
}

/// The system's own word for itself: `debian`, `ubuntu`, …
fn system() -> String {
    std::fs::read_to_string("/etc/os-release")
        .ok()
        .and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("ID="))?;
            Some(line.trim_matches('"').to_owned())
        })
        .unwrap_or_else(|| "debian".into())
}

/// Where a program is, if the path has it.
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_executable(path));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
