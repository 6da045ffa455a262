//! Records of hosts: what each is. Nothing is measured or changed.

use backsight_agent::AgentError;
use backsight_model::{HostName, HostRecord, Lab, RecordSection};
use futures_util::future::join_all;
use indexmap::IndexSet;
use std::time::Duration;

use crate::{
    Conductor, ConnectError, HostAccess,
    host_query::ask_host,
    hosts::{Connected, guests::promised},
};

/// How long one host may take, the agent's way there included.
const LIMIT: Duration = Duration::from_secs(120);

/// Records these hosts of a lab, all at once.
pub async fn record_hosts(
    reach: &HostAccess,
    lab: &Lab,
    hosts: &[HostName],
) -> Vec<Result<HostRecord, ConnectError>> {
    let records = hosts.iter().map(|host| {
        ask_host(reach, lab, host, LIMIT, async |connected| {
            let (record, _) = connected.client.record(Vec::new()).await?;
            Ok(record)
        })
    });
    join_all(records).await
}

/// What a host of a testbed is, and what its kernel said since it was recorded last.
#[derive(Debug)]
pub struct RecordedHost {
    /// The host.
    pub host: HostName,
    /// What it is, with what the programs hold that run there; or why nobody knows.
    pub record: Result<(HostRecord, String), AgentError>,
}

impl Conductor {
    /// Records the hosts that have an agent now, guests left out, all at once.
    pub async fn record(&self) -> Vec<RecordedHost> {
        let hosts = self
            .hosts
            .values()
            .filter(|host| !self.is_guest(&host.name));
        let records = hosts.map(async |host| RecordedHost {
            host: host.name.clone(),
            record: host.client.record(self.programs_on(host)).await,
        });
        join_all(records).await
    }

    /// Records the guests that are booted, all at once.
    pub async fn record_guests(&self) -> Vec<RecordedHost> {
        let guests = self.hosts.values().filter(|host| self.is_guest(&host.name));
        let records = guests.map(async |guest| {
            let recorded = guest.client.record(Vec::new()).await;
            let settings = self.arrangement.lab.host.get(&guest.name);
            let record = recorded.map(|(mut record, log)| {
                // What its lab gives it; how much of the memory its kernel leaves differs from boot to boot.
                let mut section = RecordSection::new();
                if let Some(settings) = settings {
                    section.insert("kind".to_owned(), settings.kind.to_string());
                    let sizes = promised(settings);
                    let sizes = sizes.sizes();
                    section.extend(sizes.map(|(name, size)| (name.to_owned(), size.to_string())));
                }
                record.0.insert(HostRecord::GUEST.to_owned(), section);
                (record, log)
            });
            RecordedHost {
                host: guest.name.clone(),
                record,
            }
        });
        join_all(records).await
    }

    /// The programs that benchmarks and monitors run on a host.
    fn programs_on(&self, host: &Connected) -> Vec<String> {
        let seats = self.arrangement.seats.iter();
        let roles = seats.filter(|(_, seat)| seat.is_played_by(&host.name));
        let mut programs: IndexSet<String> = IndexSet::new();
        for (role, _) in roles {
            let benchmarks = self.arrangement.benchmarks.values();
            let of_role = benchmarks.filter(|it| it.roles.iter().any(|known| **known == *role));
            programs.extend(
                of_role
                    .flat_map(|it| it.programs_of(role))
                    .map(str::to_owned),
            );
        }
        for (monitor, on) in self.monitored() {
            if on.name == host.name {
                programs.extend(monitor.programs.iter().cloned());
            }
        }
        programs.into_iter().collect()
    }
}
