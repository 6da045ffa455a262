//! Activation of a build on remote hosts: its files are uploaded, a command installs it, another reboots the host into
//! it, and the host proves that it runs it.

use backsight_conductor::RestartFault;
use backsight_history::BuildLocation;
use backsight_model::{BootKind, BootRecord, HostCommands, HostKind, HostName, Template};
use std::{path::PathBuf, time::Duration};

use crate::history_measurer::{ACTIVATION_LIMIT, Activation, HistoryMeasurer, check_proof};

/// How long a host may take to come back, unless the target says otherwise.
const RESTART_LIMIT: Duration = Duration::from_secs(600);
/// How long a host may take to tell what its kernel has said.
const KERNEL_LOG_LIMIT: Duration = Duration::from_secs(10);
/// What a kernel has said.
const KERNEL_LOG: &str = "dmesg";
/// How much of it is kept with a boot, in bytes.
const KERNEL_LOG_KEPT: usize = 256 << 10;

impl HistoryMeasurer<'_> {
    /// How long each part of a build's way to run may take.
    pub(crate) fn limit(&self) -> Duration {
        let activate = &self.workshop.target().activate;
        let otherwise = match activate.boot.restarts_hosts() {
            true => RESTART_LIMIT,
            false => ACTIVATION_LIMIT,
        };
        activate.timeout.map_or(otherwise, |time| time.0)
    }

    /// Puts the build on every host that doesn't see this machine's files. A host that is booting is awaited.
    pub(crate) async fn upload_build(&mut self, place: &BuildLocation) -> Result<(), Activation> {
        if self.conductor.remote_hosts().is_empty() {
            return Ok(());
        }
        let hindered =
            |fault: backsight_conductor::ConnectError| Activation::Hindered(fault.to_string());
        self.conductor
            .reach_or_power_cycle(self.limit())
            .await
            .map_err(hindered)?;
        let put = self.conductor.upload_build(&place.key).await;
        put.map_err(hindered)
    }

    /// The hosts that the target is on.
    pub(crate) fn carriers(&self) -> Result<Vec<HostName>, Activation> {
        let activate = &self.workshop.target().activate;
        let seats = &self.conductor.arrangement().seats;
        let mut carriers: Vec<HostName> = if activate.on.is_empty() {
            self.conductor.arrangement().hosts().cloned().collect()
        } else {
            let of = |role: &backsight_model::RoleName| {
                let seat = seats.get(role.as_str()).ok_or_else(|| {
                    let roles: Vec<&str> = seats.keys().map(|role| role.as_str()).collect();
                    Activation::Hindered(format!(
                        "the target goes on the host of role `{role}`, which nobody plays here: the roles are {}",
                        roles.join(", ")
                    ))
                })?;
                Ok(seat.hosts().cloned())
            };
            let seats = activate.on.iter().map(of).collect::<Result<Vec<_>, _>>()?;
            seats.into_iter().flatten().collect()
        };
        carriers.sort();
        carriers.dedup();
        Ok(carriers)
    }

    /// Installs a build on the hosts that the target is on, reboots them all, and asks each for its proof.
    pub(crate) async fn restart_hosts(
        &mut self,
        place: &BuildLocation,
        record: &mut BootRecord,
    ) -> Result<(), Activation> {
        let hosts = self.rebooted_hosts()?;
        let limit = self.limit();
        for host in &hosts {
            let run = self.command_for(host, |commands| &commands.run);
            self.run_there(host, run.as_ref(), place, record).await?;
        }
        let mut orders = Vec::new();
        for host in &hosts {
            let reboot = self.command_for(host, |commands| &commands.reboot);
            let text = match reboot {
                Some(template) => self.filled_for(host, &template, place, record)?,
                None => self.usual_reboot().to_owned(),
            };
            orders.push((host.clone(), text));
        }
        let restarted = self.conductor.restart(&orders, limit).await;
        let (output, consoles) = match &restarted {
            Ok(restarted) => (&restarted.output, &restarted.consoles),
            Err(error) => (&error.output, &error.consoles),
        };
        for (host, command) in &orders {
            note(
                &mut record.log,
                host,
                command,
                output.get(host).map_or(&[], Vec::as_slice),
            );
            if let Some(console) = consoles.get(host) {
                note_console(&mut record.log, host, console);
            }
        }
        let restarted = restarted.map_err(|error| match error.fault {
            // That says nothing of the version.
            RestartFault::Leased { .. } => Activation::Hindered(error.to_string()),
            _ => Activation::Failed(error.to_string()),
        })?;
        for (host, facts) in restarted.facts {
            let named = facts
                .into_iter()
                .map(|(fact, value)| (format!("{host}: {fact}"), value));
            record.facts.extend(named);
        }
        // A reboot may have taken it along.
        self.upload_build(place).await?;
        for host in &hosts {
            self.keep_kernel_log(host, record).await;
            self.prove_there(host, place, record).await?;
        }
        Ok(())
    }

    fn usual_reboot(&self) -> &'static str {
        match self.workshop.target().activate.boot {
            // The jump itself writes nothing back.
            BootKind::Kexec => "sync && kexec -e",
            _ => "reboot",
        }
    }

    /// The hosts that the target is on, which must be machines that can be rebooted.
    fn rebooted_hosts(&self) -> Result<Vec<HostName>, Activation> {
        let activate = &self.workshop.target().activate;
        let arrangement = self.conductor.arrangement();
        let mut hosts = self.carriers()?;
        let can_reboot = |host: &HostName| {
            let settings = arrangement.lab.host.get(host);
            settings.is_some_and(|settings| settings.kind == HostKind::Ssh)
        };
        if activate.on.is_empty() {
            hosts.retain(can_reboot);
        }
        if let Some(host) = hosts.iter().find(|host| !can_reboot(host)) {
            let kind = arrangement
                .lab
                .host
                .get(host)
                .map_or(HostKind::Local, |host| host.kind);
            return Err(Activation::Hindered(format!(
                "the target reboots host `{host}`, which is of kind \"{kind}\": `{}` is for hosts of kind \"ssh\"",
                activate.boot
            )));
        }
        if hosts.is_empty() {
            return Err(Activation::Hindered(format!(
                "the target reboots hosts of kind \"ssh\" (`{}`), and this testbed has none",
                activate.boot
            )));
        }
        Ok(hosts)
    }

    /// A command of the target, or the host's own in its place.
    fn command_for(
        &self,
        host: &HostName,
        which: impl Fn(&HostCommands) -> &Option<Template>,
    ) -> Option<Template> {
        let activate = &self.workshop.target().activate;
        let settings = self.conductor.arrangement().lab.host.get(host);
        let own = settings.and_then(|settings| match activate.boot {
            BootKind::SshReboot => settings.ssh_reboot.as_deref(),
            BootKind::Kexec => settings.kexec.as_deref(),
            _ => None,
        });
        let of_target = HostCommands {
            run: activate.run.clone(),
            reboot: activate.reboot.clone(),
        };
        let own = own.and_then(|own| which(own).clone());
        own.or_else(|| which(&of_target).clone())
    }

    /// A command of the target with its placeholders filled for a host.
    fn filled_for(
        &self,
        host: &HostName,
        template: &Template,
        place: &BuildLocation,
        record: &BootRecord,
    ) -> Result<String, Activation> {
        let there = self.conductor.arrangement().build_on.get(host);
        let folder = there.unwrap_or(&place.folder);
        let filled = self
            .workshop
            .command_at(template, record.version, record.layout, folder);
        filled.map_err(|error| Activation::Hindered(error.to_string()))
    }

    /// Runs a command of the target on another machine, in the build's folder there, and keeps what it says.
    pub(crate) async fn run_there(
        &self,
        host: &HostName,
        template: Option<&Template>,
        place: &BuildLocation,
        record: &mut BootRecord,
    ) -> Result<(), Activation> {
        let Some(template) = template else {
            return Ok(());
        };
        let text = self.filled_for(host, template, place, record)?;
        let folder = self.conductor.arrangement().build_on.get(host);
        let asked =
            self.conductor
                .run_command_in(host, &text, folder.map(PathBuf::as_path), self.limit());
        let done = asked.await.map_err(|error| {
            Activation::Hindered(format!(
                "lost while it ran `{text}`, which is to be done again: {error}"
            ))
        })?;
        note(&mut record.log, host, &text, &done.stdout.bytes);
        record.log.extend(&done.stderr.bytes);
        if done.succeeded() {
            return Ok(());
        }
        Err(Activation::Failed(format!(
            "host `{host}`: `{text}` ended with {:?}",
            done.ending
        )))
    }

    /// Asks a host for its proof that it runs this build.
    pub(crate) async fn prove_there(
        &self,
        host: &HostName,
        place: &BuildLocation,
        record: &mut BootRecord,
    ) -> Result<(), Activation> {
        let activate = &self.workshop.target().activate;
        let text = match &activate.proof {
            Some(template) => self.filled_for(host, template, place, record)?,
            None if activate.boot.restarts_hosts() => "uname -v".to_owned(),
            None => return Ok(()),
        };
        let asked = self.conductor.run_command(host, &text, self.limit()).await;
        let done = asked.map_err(|error| Activation::Failed(error.to_string()))?;
        let said = String::from_utf8_lossy(&done.stdout.bytes)
            .trim()
            .to_owned();
        note(&mut record.log, host, &text, said.as_bytes());
        check_proof(&said, &place.stamp).map_err(|fault| fault.on(host))?;
        record.facts.insert(format!("{host}: proof"), said);
        Ok(())
    }

    /// Keeps the end of what a host's kernel has said since it was booted, if the host tells it.
    async fn keep_kernel_log(&self, host: &HostName, record: &mut BootRecord) {
        let asked = self
            .conductor
            .run_command(host, KERNEL_LOG, KERNEL_LOG_LIMIT)
            .await;
        if let Ok(done) = asked
            && done.succeeded()
        {
            let all = &done.stdout.bytes;
            let end = &all[all.len().saturating_sub(KERNEL_LOG_KEPT)..];
            note(&mut record.log, host, KERNEL_LOG, end);
        }
    }
}

/// Adds a host's command and what it printed to a boot's log.
fn note(log: &mut Vec<u8>, host: &HostName, command: &str, said: &[u8]) {
    add_lines(log, &format!("[{host}] $ {command}\n"), said);
}

/// Adds what a host's console told from before the reboot on to a boot's log.
fn note_console(log: &mut Vec<u8>, host: &HostName, console: &[u8]) {
    add_lines(
        log,
        &format!("== {host}: its console, from before the reboot on\n"),
        console,
    );
}

fn add_lines(log: &mut Vec<u8>, title: &str, lines: &[u8]) {
    log.extend(title.as_bytes());
    log.extend(lines);
    if !lines.is_empty() && !lines.ends_with(b"\n") {
        log.push(b'\n');
    }
}
