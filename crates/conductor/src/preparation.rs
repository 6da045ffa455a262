//! Settings of the testbed's machines: made by their agents before anything is measured, put back at the end of the lease.

use backsight_agent::AgentError;
use backsight_model::{Event, HostName, Lab};
use backsight_settings::{
    PreparationPolicy, PreparationReport, RestoreReport, RestoreScope, RestoredChange,
    SettingOutcome, WantedSetting,
};
use futures_util::future::join_all;
use indexmap::IndexMap;
use std::time::Duration;

use crate::{
    Conductor, ConnectError, HostAccess, host_query::ask_host, hosts::Connected,
    machine_settings::MachineSettings,
};

/// How long putting back may take on one host, the agent's way there included.
const LIMIT: Duration = Duration::from_secs(300);

impl Conductor {
    /// Puts back what ended studies left changed on the testbed's machines, then makes the settings that the arrangement asks
    /// for. A machine that is reached anew gets them again.
    ///
    /// # Errors
    /// A setting can't be made; then none of that machine is.
    pub async fn prepare_machines(
        &mut self,
        study: &str,
        wanted: IndexMap<HostName, Vec<WantedSetting>>,
    ) -> Result<(), ConnectError> {
        self.settings = MachineSettings {
            study: study.to_owned(),
            wanted,
        };
        let prepared = join_all(self.hosts.values().map(|host| self.prepare_machine(host)));
        prepared.await.into_iter().collect()
    }

    /// Prepares a machine that was just reached.
    pub(crate) async fn prepare_machine(&self, host: &Connected) -> Result<(), ConnectError> {
        let kind = self.arrangement.lab.host.get(&host.name).map(|it| it.kind);
        if self.settings.study.is_empty() || !kind.is_some_and(|kind| kind.is_machine()) {
            return Ok(());
        }
        let name = &host.name;
        match host.client.restore(&RestoreScope::Abandoned).await {
            Ok(report) => self.warn_of(name, report.changes.iter()),
            Err(error) => self.events.emit(&Event::Warning {
                message: format!("{name}: what ended studies left changed isn't put back: {error}"),
            }),
        }
        let Some(wanted) = self.settings.wanted.get(name) else {
            return Ok(());
        };
        let (study, policy) = (&self.settings.study, PreparationPolicy::default());
        let failed = |cause: AgentError| ConnectError::Agent {
            host: name.clone(),
            cause,
            message: String::new(),
        };
        let report = host
            .client
            .prepare(study, wanted, policy)
            .await
            .map_err(failed)?;
        if !report.stands {
            let faults = sentences(&report).join("; ");
            let host = name.clone();
            return Err(ConnectError::NotPrepared { host, faults });
        }
        for message in sentences(&report) {
            let message = format!("{name}: {message}");
            self.events.emit(&Event::Warning { message });
        }
        let count = |outcome: SettingOutcome| {
            let all = report.settings.iter();
            all.filter(|setting| setting.outcome == outcome).count()
        };
        let (made, so) = (
            count(SettingOutcome::Made),
            count(SettingOutcome::AlreadySo),
        );
        let message = format!("{name}: {made} settings made, {so} were so");
        self.events.emit(&Event::Note { message });
        Ok(())
    }

    /// Puts the machines' settings back.
    pub(crate) async fn restore_machines(&self) {
        let study = &self.settings.study;
        let prepared = self.settings.wanted.keys();
        let prepared = prepared.filter_map(|host| self.hosts.get(host));
        let restored = prepared.map(|host| async move {
            let scope = RestoreScope::Study(study.clone());
            (&host.name, host.client.restore(&scope).await)
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

/// What isn't as it was asked for.
fn sentences(report: &PreparationReport) -> Vec<String> {
    let failures = report.failures();
    let failures = failures.map(|it| {
        format!(
            "{} = {} ({}): {}",
            it.setting, it.value, it.place, it.outcome
        )
    });
    failures.collect()
}

/// Puts back what ended studies left changed on these hosts of a lab, all at once.
pub async fn restore_hosts(
    reach: &HostAccess,
    lab: &Lab,
    hosts: &[HostName],
) -> Vec<Result<RestoreReport, ConnectError>> {
    let restored = hosts.iter().map(|host| {
        ask_host(reach, lab, host, LIMIT, async |connected| {
            connected.client.restore(&RestoreScope::Abandoned).await
        })
    });
    join_all(restored).await
}
