//! Records of hosts as people name them: a file, a study, a host of the lab.

use backsight_conductor::{Conductor, Events, HostAccess, RecordedHost, record_hosts};
use backsight_model::{
    EXPLAINING_WEIGHT, Event, HostKind, HostName, HostPattern, HostRecord, HostRecordMap, Lab,
    RecordDifference, counted, differences_of_hosts,
};
use backsight_report::host_record::{HostOfStudy, RecordComparison};
use backsight_store::{Store, StoreError, StoredHostRecord, StudyId};
use indexmap::IndexMap;
use miette::{IntoDiagnostic as _, WrapErr as _};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
    sync::Arc,
};

/// The hosts of a lab that are meant: those with these names; without names every machine of it, this one among them where its
/// hosts are namespaces and guests.
///
/// # Errors
/// The lab has no such host.
pub fn machines(lab: &Lab, patterns: &[HostPattern]) -> miette::Result<(Lab, Vec<HostName>)> {
    let has = |is_kind: fn(HostKind) -> bool| lab.host.values().any(|host| is_kind(host.kind));
    // Namespaces and guests are parts of this machine, which studies on them prepare.
    let is_this_one =
        has(HostKind::is_part_of_this_machine) && !has(|kind| kind == HostKind::Local);
    let this_machine = is_this_one.then(|| lab.name_for_this_machine());
    let named = lab.select(patterns, this_machine.as_slice())?;
    let machines = lab.host.iter().filter(|(_, host)| host.kind.is_machine());
    let machines = machines.map(|(name, _)| (**name).clone());
    let machines: Vec<HostName> = machines.chain(this_machine.clone()).collect();
    Ok(match (&named[..], &machines[..]) {
        ([], []) => (Lab::this_machine(), vec![Lab::this_machine_name()]),
        ([], _) => (lab.clone(), machines),
        (named, _) => (lab.clone(), named.to_vec()),
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
    /// Records these hosts of a lab now; without patterns, every machine of it: this one where the lab has none but namespaces and
    /// guests.
    ///
    /// # Errors
    /// The lab has no such host; a host can't be reached.
    pub async fn record(lab: &Lab, patterns: &[HostPattern]) -> miette::Result<Self> {
        let (lab, hosts) = machines(lab, patterns)?;
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

    /// What a study knows of its hosts: their records when it began; of a study that has none, the facts that were asked then.
    ///
    /// # Errors
    /// What the store says.
    pub async fn from_study(store: &Store, study: &str) -> miette::Result<Self> {
        let study = store.study(study).await.into_diagnostic()?;
        let records = store.host_records_at_begin(&[study.id]).await;
        let hosts = match records.into_diagnostic()?.remove(&study.id.0) {
            Some(records) => {
                let records = records.into_iter();
                let owned = records.map(|(host, record)| (host, Arc::unwrap_or_clone(record)));
                owned.collect()
            }
            None => {
                let results = store.result_set(study.id).await.into_diagnostic()?;
                let hosts = results.hosts.into_iter().map(|(host, facts)| {
                    let facts = facts.into_iter().collect();
                    (
                        host,
                        HostRecord(BTreeMap::from([("machine".to_owned(), facts)])),
                    )
                });
                hosts.collect()
            }
        };
        Ok(Self {
            recorded: study.began,
            hosts,
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

/// What the hosts of studies were when each began, by the studies' numbers; nothing where a record is damaged: what was measured
/// stands without it, and `store check` tells of the damage.
pub(crate) async fn records_of_studies(
    store: &Store,
    studies: &[StudyId],
) -> HashMap<i64, HostRecordMap> {
    let records = store.host_records_at_begin(studies).await;
    records.unwrap_or_default()
}

/// Warns of earlier studies whose measurements are evidence for this one, and whose hosts were otherwise.
///
/// # Errors
/// The store's; what of a record is damaged is none.
pub(crate) async fn warn_of_other_hosts(
    store: &Store,
    study: StudyId,
    events: &Events,
) -> Result<(), StoreError> {
    let mut studies = store.studies_of_same_questions(study).await?;
    studies.push(study);
    let mut records = records_of_studies(store, &studies).await;
    let Some(own) = records.remove(&study.0) else {
        return Ok(());
    };
    for earlier in &studies {
        let Some(theirs) = records.get(&earlier.0) else {
            continue;
        };
        let differences = differences_of_hosts(theirs, &own).into_iter();
        let weighty = differences.filter(|(it, _)| it.weight >= EXPLAINING_WEIGHT);
        let shown: Vec<String> = weighty.map(|(it, _)| it.to_string()).collect();
        if !shown.is_empty() {
            let name = store.study_of(*earlier).await?.name;
            let message = format!(
                "what `{name}` measured counts here too, and its hosts were otherwise, which may look like a change: {}",
                shown.join("; ")
            );
            events.emit(&Event::Warning { message });
        }
    }
    Ok(())
}

/// What the hosts of a study were: again after each time that it went on.
///
/// # Errors
/// There is no such study; it has no records of its hosts; what the store says.
pub async fn hosts_of_study(store: &Store, study: &str) -> miette::Result<Vec<HostOfStudy>> {
    let study = store.study(study).await.into_diagnostic()?;
    let stored = store.host_records(study.id).await.into_diagnostic()?;
    if stored.is_empty() {
        return Err(miette::miette!(
            help = "studies that were imported, or begun by an older Backsight, have none; `backsight record --diff` knows their facts",
            "study `{}` has no records of its hosts",
            study.name
        ));
    }
    let hosts = stored.into_iter().map(|it| HostOfStudy {
        host: it.host.to_string(),
        began: it.began.to_string(),
        ended: it.ended.map(|ended| ended.to_string()),
        changes: it.at_end.map(|at_end| it.at_begin.differences(&at_end)),
        record: it.at_begin,
        kernel_log: it.kernel_log,
    });
    Ok(hosts.collect())
}

/// A host that changes so is said while its study is measured: from this weight on.
const CHANGE_WEIGHT: u8 = 65;

/// Stores what the hosts of testbeds are as a study begins, or goes on.
///
/// # Errors
/// The store's.
pub(crate) async fn store_records_at_begin(
    store: &Store,
    study: StudyId,
    testbeds: impl Iterator<Item = &Conductor>,
    events: &Events,
) -> Result<(), StoreError> {
    for testbed in testbeds {
        for RecordedHost { host, record } in testbed.record().await {
            let began = jiff::Timestamp::now();
            match record {
                Ok((record, _)) => {
                    store
                        .begin_host_record(study, &host, began, &record)
                        .await?
                }
                Err(fault) => events.emit(&Event::Warning {
                    message: format!("{host}: what it is isn't recorded: {fault}"),
                }),
            }
        }
    }
    Ok(())
}

/// Stores what the hosts of a testbed are as a study ends, and says what changed there meanwhile. What was measured stands, whether
/// or not this can be stored.
pub(crate) async fn store_records_at_end(
    store: &Store,
    study: StudyId,
    testbed: &Conductor,
    events: &Events,
) {
    if let Err(fault) = try_to_store_at_end(store, study, testbed, events).await {
        let message = format!("what the hosts are at the end isn't recorded: {fault}");
        events.emit(&Event::Warning { message });
    }
}

async fn try_to_store_at_end(
    store: &Store,
    study: StudyId,
    testbed: &Conductor,
    events: &Events,
) -> Result<(), StoreError> {
    let warn = |message: String| events.emit(&Event::Warning { message });
    let ended = jiff::Timestamp::now();
    let mut has_news = false;
    for RecordedHost { host, record } in testbed.record().await {
        match record {
            Ok((record, kernel_log)) => {
                let end = store.end_host_record(study, &host, ended, &record, &kernel_log);
                has_news |= end.await? || !kernel_log.is_empty();
            }
            Err(fault) => warn(format!(
                "{host}: what it is at the end isn't recorded: {fault}"
            )),
        }
    }
    if !has_news {
        return Ok(());
    }
    let mut said = HashSet::new();
    for stored in store.host_records(study).await? {
        if stored.ended == Some(ended) {
            // Hosts on one machine say the same.
            let changes = changes_meanwhile(&stored).into_iter();
            changes
                .filter(|it| said.insert(it.clone()))
                .for_each(|it| warn(format!("{}: {it}", stored.host)));
        }
    }
    Ok(())
}

/// What changed on a host between the beginning of its study and the end, and what its kernel complained of.
fn changes_meanwhile(stored: &StoredHostRecord) -> Vec<String> {
    let Some(at_end) = &stored.at_end else {
        return Vec::new();
    };
    let differences = stored.at_begin.differences(at_end).into_iter();
    let weighty = differences.filter(|it| it.weight >= CHANGE_WEIGHT);
    let changed = weighty.filter_map(|difference| {
        let RecordDifference {
            name,
            base: Some(was),
            new: Some(is),
            reason,
            ..
        } = difference
        else {
            return None;
        };
        let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        Some(format!(
            "{name} changed while it was measured: was {was}, is {is}{reason}"
        ))
    });
    let mut sentences: Vec<String> = changed.collect();
    let complaints = stored.kernel_log.lines().filter(|line| is_complaint(line));
    let complaints: Vec<&str> = complaints.collect();
    if let Some(last) = complaints.last() {
        sentences.push(format!(
            "its kernel complained while it was measured ({}): {last}",
            counted(complaints.len(), "message")
        ));
    }
    sentences
}

/// Whether a line of the kernel's log is an error or worse.
fn is_complaint(line: &str) -> bool {
    let level = line
        .split_once("] ")
        .and_then(|(_, rest)| rest.split_once(':'));
    level.is_some_and(|(level, _)| ["emerg", "alert", "crit", "err"].contains(&level))
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
