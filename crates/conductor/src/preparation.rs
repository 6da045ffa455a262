//! Settings of the testbed's machines: made by their agents before anything is measured, changed between trials of different
//! variants, put back at the end of the lease.

use backsight_agent::AgentError;
use backsight_model::{Event, Failure, HostKind, HostName, Lab, PreparationPolicy, VariantName};
use backsight_settings::{
    BootUnitAction, BootUnitReport, PreparationReport, RestoreReport, RestoreScope, RestoredChange,
    SettingOutcome, WantedSetting, merge_hosts,
};
use futures_util::future::join_all;
use indexmap::IndexMap;
use std::{collections::BTreeSet, sync::PoisonError, time::Duration};

use crate::{
    Conductor, ConnectError, HostAccess,
    host_query::ask_host,
    hosts::Connected,
    machine_settings::{MachineSettings, WantedSettings},
};

/// How long putting back may take on one host, the agent's way there included.
const LIMIT: Duration = Duration::from_secs(300);

impl Conductor {
    /// Puts back what ended studies left changed on the testbed's machines, then makes the settings that the arrangement asks
    /// for: those of each variant once, so that what can't be made is known before anything is measured, then those of the study.
    /// A machine that is reached anew, also after a restart, gets these again.
    ///
    /// # Errors
    /// A setting can't be made; then none of that machine is.
    pub async fn prepare_machines(
        &mut self,
        study: &str,
        wanted: WantedSettings,
    ) -> Result<(), ConnectError> {
        let mut wanted = wanted;
        for by_host in wanted.each_mut() {
            self.give_to_machines(by_host)?;
        }
        self.leave_out_namespaces(&mut wanted)?;
        self.settings = MachineSettings::new(study, wanted);
        self.reach_beside(true).await?;
        let prepared = join_all(self.hosts.values().map(|host| self.try_machine(host)));
        prepared.await.into_iter().collect()
    }

    /// Gives the settings of hosts that are one machine to the first of its hosts: each is made once. What programs are started with
    /// stays with their host; of this machine as a whole it is its namespaces'.
    ///
    /// # Errors
    /// Two hosts of one machine ask for what can't both stand; programs of a guest are meant too.
    fn give_to_machines(
        &self,
        wanted: &mut IndexMap<HostName, Vec<WantedSetting>>,
    ) -> Result<(), ConnectError> {
        let first_of = |host: &HostName| {
            let boot = self.hosts.get(host).map(Connected::boot_id);
            let boot = boot.filter(|boot| !boot.is_empty());
            let first = boot.and_then(|boot| self.first_of_machine(boot));
            first.map_or(host, |first| &first.name).clone()
        };
        let namespaces = || -> Vec<HostName> {
            let lab = &self.arrangement.lab;
            let is_one = |host: &&HostName| {
                let settings = lab.host.get(*host);
                settings.is_some_and(|settings| settings.kind.is_plain_namespace())
            };
            self.hosts.keys().filter(is_one).cloned().collect()
        };
        let asked = std::mem::take(wanted);
        for host in asked.keys() {
            // A variant that asks for nothing has what others asked for put back.
            let machine = first_of(host);
            let hosts = asked.iter().filter(|(host, _)| first_of(host) == machine);
            let merged = merge_hosts(hosts)?;
            wanted.insert(machine, merged);
        }
        for (host, settings) in &asked {
            for one in settings {
                if !one.mechanism.is_of_programs() {
                    continue;
                }
                let is_used = self.used().contains(host);
                let guest = self.guests().into_iter().next();
                if let (false, Some(guest)) = (is_used, guest) {
                    return Err(ConnectError::NotPrepared {
                        host: guest,
                        faults: format!(
                            "{} ({}): it is a guest, whose programs aren't started with settings",
                            one.setting, one.place
                        ),
                    });
                }
                let receivers = match is_used {
                    true => vec![host.clone()],
                    false => namespaces(),
                };
                for receiver in receivers {
                    let its = wanted.entry(receiver).or_default();
                    if !its.iter().any(|known| known.is_same(one)) {
                        its.push(one.clone());
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes out what would be set in the initial network namespace for hosts that have others. Says so of what a set brought along.
    ///
    /// # Errors
    /// The plan asks for such a setting by its name.
    fn leave_out_namespaces(&self, wanted: &mut WantedSettings) -> Result<(), ConnectError> {
        let lab = &self.arrangement.lab;
        let mut noted = BTreeSet::new();
        for (host, settings) in wanted.each_mut().flatten() {
            // A host of the lab is a machine, with its initial namespace.
            if lab.host.contains_key(host) {
                continue;
            }
            let refused = settings
                .iter()
                .find(|one| one.is_of_network_namespace() && !one.optional);
            if let Some(one) = refused {
                return Err(ConnectError::NotPrepared {
                    host: host.clone(),
                    faults: format!(
                        "{} ({}): each network namespace has its own, and the testbed's hosts aren't in this machine's: set it in a \
                         variant's `setup`, or give the lab a host of kind \"local\" if the machine's own is meant",
                        one.setting, one.place
                    ),
                });
            }
            settings.retain(|one| {
                let is_made = !one.is_of_network_namespace();
                if !is_made {
                    let message = format!(
                        "{host}: {} isn't made: each network namespace has its own, and the testbed's hosts aren't in this machine's",
                        one.setting
                    );
                    if noted.insert(message.clone()) {
                        self.events.emit(&Event::Note { message });
                    }
                }
                is_made
            });
        }
        Ok(())
    }

    /// Sees to it that hosts are prepared that play no role: this machine where the testbed's hosts are only parts of it, by an agent
    /// beside them in the initial namespaces, and machines that forward between others. The first time it is tried for each variant.
    ///
    /// # Errors
    /// One can't be reached or prepared.
    pub(crate) async fn reach_beside(&mut self, is_first: bool) -> Result<(), ConnectError> {
        let used = self.used();
        let wanted = self.settings.wanted.hosts().into_iter();
        let beside: Vec<HostName> = wanted
            .filter(|host| !used.contains(host))
            .cloned()
            .collect();
        for host in beside {
            self.reach_one_beside(host, is_first).await?;
        }
        Ok(())
    }

    async fn reach_one_beside(
        &mut self,
        host: HostName,
        is_first: bool,
    ) -> Result<(), ConnectError> {
        if let Some(agent) = self.settings.beside.shift_remove(&host) {
            if agent.client.clock_offset(1).await.is_ok() {
                self.settings.beside.insert(host, agent);
                return Ok(());
            }
            agent.bury().await;
        }
        let agent = Connected::start(&self.reach, &self.arrangement.lab, &host).await?;
        let prepared = match is_first {
            true => self.try_machine(&agent).await,
            false => self.prepare_machine(&agent).await,
        };
        match prepared {
            Ok(()) => {
                self.settings.beside.insert(host, agent);
                Ok(())
            }
            Err(fault) => {
                agent.dismiss().await;
                Err(fault)
            }
        }
    }

    /// Prepares a machine for each variant, then for the study.
    async fn try_machine(&self, host: &Connected) -> Result<(), ConnectError> {
        self.restore_abandoned(host).await;
        for (variant, by_host) in &self.settings.wanted.of_variants {
            if let Some(wanted) = by_host.get(&host.name) {
                let (made, so) = self.make_settings(host, wanted).await?;
                let of_variant = format!("{} for variant `{variant}`", host.name);
                self.note_made(&of_variant, made, so);
            }
        }
        self.make_study_settings(host).await
    }

    /// Prepares a machine that was just reached.
    pub(crate) async fn prepare_machine(&self, host: &Connected) -> Result<(), ConnectError> {
        self.restore_abandoned(host).await;
        self.make_study_settings(host).await
    }

    async fn restore_abandoned(&self, host: &Connected) {
        let settings = self.arrangement.lab.host.get(&host.name);
        let kind = settings.map_or(HostKind::Local, |settings| settings.kind);
        if self.settings.study.is_empty() || !kind.is_machine() {
            return;
        }
        let name = &host.name;
        let become_root = self.become_root(name);
        let restored = host.client.restore(&RestoreScope::Abandoned, become_root);
        match restored.await {
            // What a restart for this study itself has undone is no news.
            Ok(report) => self.warn_of(
                name,
                report.changes.iter().filter(|change| {
                    change.study != self.settings.study || !change.outcome.is_back()
                }),
            ),
            Err(error) => self.events.emit(&Event::Warning {
                message: format!("{name}: what ended studies left changed isn't put back: {error}"),
            }),
        }
    }

    async fn make_study_settings(&self, host: &Connected) -> Result<(), ConnectError> {
        let of_study = self.settings.wanted.of_study.get(&host.name);
        if let Some(wanted) = of_study {
            let (made, so) = self.make_settings(host, wanted).await?;
            self.note_made(host.name.as_str(), made, so);
        } else if self.settings.wanted.has(&host.name) {
            self.make_settings(host, &[]).await?;
        }
        Ok(())
    }

    fn note_made(&self, whose: &str, made: usize, so: usize) {
        if made + so == 0 {
            return;
        }
        let noun = if made == 1 { "setting" } else { "settings" };
        let verb = if so == 1 { "was" } else { "were" };
        let message = format!("{whose}: {made} {noun} made, {so} {verb} so");
        self.events.emit(&Event::Note { message });
    }

    /// Gives a machine these settings and no others; how many were made, and how many were so.
    async fn make_settings(
        &self,
        host: &Connected,
        wanted: &[WantedSetting],
    ) -> Result<(usize, usize), ConnectError> {
        let MachineSettings {
            study,
            session,
            wanted: settings,
            ..
        } = &self.settings;
        let name = &host.name;
        let become_root = self.become_root(name);
        let made = host
            .client
            .prepare(study, *session, wanted, settings.policy, become_root);
        let report = made.await.map_err(|cause| ConnectError::Agent {
            host: name.clone(),
            cause,
            message: String::new(),
        })?;
        if !report.stands {
            let stuck = report.stuck().map(ToString::to_string);
            let faults: Vec<String> = sentences(&report).chain(stuck).collect();
            return Err(ConnectError::NotPrepared {
                host: name.clone(),
                faults: faults.join("; "),
            });
        }
        self.warn_of(name, report.put_back.iter());
        if settings.policy != PreparationPolicy::Skip {
            for message in sentences(&report) {
                self.warn_once(format!("{name}: {message}"));
            }
        }
        self.settings.keep_changed(name, changed(&report));
        let count = |outcome: SettingOutcome| {
            let all = report.settings.iter();
            all.filter(|setting| setting.outcome == outcome).count()
        };
        Ok((
            count(SettingOutcome::Made),
            count(SettingOutcome::AlreadySo),
        ))
    }

    /// Gives the machines what they shall have in a trial of this variant: what differs from the trial before is written.
    ///
    /// # Errors
    /// A setting can't be made, or a host is lost: the trial's failure.
    pub(crate) async fn prepare_for(&self, variant: &VariantName) -> Result<(), Failure> {
        let Some(by_host) = self.settings.wanted.of_variants.get(variant) else {
            return Ok(());
        };
        let known = by_host.iter();
        let known = known.filter_map(|(name, wanted)| Some((self.machine_agent(name)?, wanted)));
        let made = known.map(|(host, wanted)| self.make_settings(host, wanted));
        for made in join_all(made).await {
            made.map_err(|fault| {
                let (host, host_lost) = match &fault {
                    ConnectError::Agent { host, cause, .. } => (
                        Some(host.clone()),
                        !matches!(cause, AgentError::Refused { .. }),
                    ),
                    ConnectError::NotPrepared { host, .. } => (Some(host.clone()), false),
                    _ => (None, false),
                };
                Failure {
                    host,
                    host_lost,
                    ..Failure::of_trial(fault.to_string())
                }
            })?;
        }
        Ok(())
    }

    /// The agent that prepares a machine.
    fn machine_agent(&self, host: &HostName) -> Option<&Connected> {
        let beside = || self.settings.beside.get(host);
        self.hosts.get(host).or_else(beside)
    }

    fn become_root(&self, host: &HostName) -> &[String] {
        let settings = self.arrangement.lab.host.get(host);
        settings.map_or(&[], |settings| &settings.become_root)
    }

    fn warn_once(&self, message: String) {
        let warned = self.settings.warned.lock();
        let is_new = warned
            .unwrap_or_else(PoisonError::into_inner)
            .insert(message.clone());
        if is_new {
            self.events.emit(&Event::Warning { message });
        }
    }

    /// Puts the machines' settings back.
    pub(crate) async fn restore_machines(&self) {
        let study = &self.settings.study;
        let wanted = self.settings.wanted.hosts();
        for host in &wanted {
            let changed = self.settings.changed(host);
            if self.machine_agent(host).is_none() && !changed.is_empty() {
                self.events.emit(&Event::Warning {
                    message: format!(
                        "{host} is gone, and isn't put back: {}; its agent does it if it still runs there, else a restart of the machine \
                         undoes what one can undo, and the next study there, or `backsight restore {host}`, all that is left",
                        changed.join(", ")
                    ),
                });
            }
        }
        let prepared = wanted.iter().filter_map(|host| self.machine_agent(host));
        let restored = prepared.map(|host| async move {
            let scope = RestoreScope::Study(study.clone());
            let become_root = self.become_root(&host.name);
            (&host.name, host.client.restore(&scope, become_root).await)
        });
        for (host, restored) in join_all(restored).await {
            let message = match restored {
                Ok(report) => {
                    self.warn_of(
                        host,
                        report.changes.iter().filter(|it| !it.outcome.is_back()),
                    );
                    continue;
                }
                Err(error) => format!(
                    "{host}: settings aren't put back: {error}; `backsight restore {host}` puts them back"
                ),
            };
            self.events.emit(&Event::Warning { message });
        }
    }

    fn warn_of<'a>(&self, host: &HostName, changes: impl Iterator<Item = &'a RestoredChange>) {
        for change in changes {
            let message = format!("{host}: {change}");
            self.events.emit(&Event::Warning { message });
        }
    }
}

/// What was changed, with what stood before.
fn changed(report: &PreparationReport) -> Vec<String> {
    let made = report.settings.iter();
    let made = made.filter(|setting| setting.outcome == SettingOutcome::Made);
    let changes = made.flat_map(|setting| {
        let changes = setting.changes.iter().filter(|it| it.old != it.new);
        changes.map(|it| format!("{} ({}, was {})", setting.setting, it.target, it.old))
    });
    changes.collect()
}

/// What isn't as it was asked for.
fn sentences(report: &PreparationReport) -> impl Iterator<Item = String> {
    report.failures().map(|it| {
        format!(
            "{} = {} ({}): {}",
            it.setting, it.value, it.place, it.outcome
        )
    })
}

/// Puts back what ended studies left changed on these hosts of a lab, all at once.
pub async fn restore_hosts(
    reach: &HostAccess,
    lab: &Lab,
    hosts: &[HostName],
) -> Vec<Result<RestoreReport, ConnectError>> {
    let restored = hosts.iter().map(|host| {
        let become_root = lab.host.get(host).map(|it| &*it.become_root);
        let become_root = become_root.unwrap_or_default();
        ask_host(reach, lab, host, LIMIT, async |connected| {
            let scope = RestoreScope::Abandoned;
            connected.client.restore(&scope, become_root).await
        })
    });
    join_all(restored).await
}

/// Has these hosts of a lab put back by themselves at each of their starts what an interrupted study left changed, or no more; all at
/// once.
pub async fn change_boot_units(
    reach: &HostAccess,
    lab: &Lab,
    hosts: &[HostName],
    action: BootUnitAction,
) -> Vec<Result<BootUnitReport, ConnectError>> {
    let changed = hosts.iter().map(|host| {
        ask_host(reach, lab, host, LIMIT, async |connected| {
            connected.client.change_boot_unit(action).await
        })
    });
    join_all(changed).await
}
