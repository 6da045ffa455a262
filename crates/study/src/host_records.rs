//! Records of hosts as people name them: a file, a study, a host of the lab.

use backsight_conductor::{HostAccess, record_hosts};
use backsight_model::{HostName, HostRecord, Lab};
use backsight_report::host_record::RecordComparison;
use backsight_store::Store;
use indexmap::IndexMap;
use miette::{IntoDiagnostic as _, WrapErr as _};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};

/// The hosts of a lab that are meant: those with these names; without names every machine of it, which is this one where the lab has
/// none but namespaces and guests.
///
/// # Errors
/// The lab has no such host.
pub fn machines(lab: &Lab, names: &[HostName]) -> miette::Result<(Lab, Vec<HostName>)> {
    if let Some(name) = names.iter().find(|name| !lab.host.contains_key(*name)) {
        let known: Vec<&str> = lab.host.keys().map(|name| name.as_str()).collect();
        return Err(miette::miette!(
            help = format!("the lab has {}", known.join(", ")),
            "there is no host `{name}` in the lab"
        ));
    }
    let machines = lab.host.iter().filter(|(_, host)| host.kind.is_machine());
    let machines: Vec<HostName> = machines.map(|(name, _)| (**name).clone()).collect();
    Ok(match (names, &machines[..]) {
        ([], []) => (Lab::this_machine(), vec![Lab::this_machine_name()]),
        ([], _) => (lab.clone(), machines),
        (names, _) => (lab.clone(), names.to_vec()),
    })
}

/// Records of hosts, as a file keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecords {
    /// When they were made.
    pub recorded: jiff::Timestamp,
    /// By the hosts' names.
    pub hosts: IndexMap<HostName, HostRecord>,
}

impl HostRecords {
    /// Records these hosts of a lab now; without names, every machine of it: this one where the lab has none but namespaces and
    /// guests.
    ///
    /// # Errors
    /// The lab has no such host; a host can't be reached.
    pub async fn record(lab: &Lab, names: &[HostName]) -> miette::Result<Self> {
        let (lab, hosts) = machines(lab, names)?;
        let reach = HostAccess::with_this_program().into_diagnostic()?;
        let records = record_hosts(&reach, &lab, &hosts).await;
        let hosts = hosts
            .into_iter()
            .zip(records)
            .map(|(host, record)| Ok((host, record?)));
        let hosts: Result<_, backsight_conductor::ConnectError> = hosts.collect();
        Ok(Self {
            recorded: jiff::Timestamp::now(),
            hosts: hosts.into_diagnostic()?,
        })
    }

    /// Reads them from a file.
    ///
    /// # Errors
    /// It can't be read; it holds something else.
    pub fn read(path: &Path) -> miette::Result<Self> {
        let text = std::fs::read(path).into_diagnostic();
        let text = text.wrap_err_with(|| format!("can't read {}", path.display()))?;
        serde_json::from_slice(&text).map_err(|error| {
            miette::miette!(
                help = "`backsight record --output FILE` writes such a file",
                "{} has no records of hosts: {error}",
                path.display()
            )
        })
    }

    /// What a study knows of its hosts: the facts that were asked when it began.
    ///
    /// # Errors
    /// What the store says.
    pub async fn from_study(store: &Store, study: &str) -> miette::Result<Self> {
        let study = store.study(study).await.into_diagnostic()?;
        let results = store.result_set(study.id).await.into_diagnostic()?;
        let hosts = results.hosts.into_iter().map(|(host, facts)| {
            let facts = facts.into_iter().collect();
            (
                host,
                HostRecord(BTreeMap::from([("machine".to_owned(), facts)])),
            )
        });
        Ok(Self {
            recorded: study.began,
            hosts: hosts.collect(),
        })
    }

    /// Only this host's.
    ///
    /// # Errors
    /// There is no such host.
    pub fn of_host(mut self, host: &HostName) -> miette::Result<Self> {
        let Some(record) = self.hosts.swap_remove(host) else {
            let known: Vec<&str> = self.hosts.keys().map(HostName::as_str).collect();
            return Err(miette::miette!(
                "no record of `{host}`: there are {}",
                known.join(", ")
            ));
        };
        self.hosts = IndexMap::from([(host.clone(), record)]);
        Ok(self)
    }
}

/// The hosts of two named sides compared, each with its namesake or the only ones; and the hosts that only one side has.
///
/// # Errors
/// No host of one side is on the other one.
pub fn compare_records(
    (base_name, base): (&str, &HostRecords),
    (new_name, new): (&str, &HostRecords),
) -> miette::Result<(Vec<RecordComparison>, Vec<String>)> {
    let compared = |(base, one), (new, other)| {
        let names = (format!("{base_name}:{base}"), format!("{new_name}:{new}"));
        RecordComparison::new((names.0, one), (names.1, other))
    };
    if let (1, 1) = (base.hosts.len(), new.hosts.len()) {
        let both = base.hosts.iter().zip(&new.hosts);
        return Ok((
            both.map(|(one, other)| compared(one, other)).collect(),
            Vec::new(),
        ));
    }
    let namesakes = base
        .hosts
        .iter()
        .filter_map(|one| Some((one, new.hosts.get_key_value(one.0)?)));
    let comparisons: Vec<_> = namesakes.map(|(one, other)| compared(one, other)).collect();
    if comparisons.is_empty() {
        return Err(miette::miette!(
            help = "name one host of each side: FILE:HOST or STUDY:HOST",
            "the sides have no host in common"
        ));
    }
    let mut alone = Vec::new();
    for (name, side, other) in [(base_name, base, new), (new_name, new, base)] {
        let missing = side
            .hosts
            .keys()
            .filter(|host| !other.hosts.contains_key(*host));
        alone.extend(missing.map(|host| format!("{name}:{host}")));
    }
    Ok((comparisons, alone))
}
