//! Leases: two studies never disturb each other's measurements.
//!
//! A lease is a lock on a file of the machine that is leased (`backsight_agent`'s machine leases). Of this machine it is held by the
//! process that measures and by the agents that it starts; of another machine, by the agent there. The system drops it when the
//! last of them ends, however it ends. So when the conductor is killed, nobody else gets the hosts before the agents have put
//! them back.
//!
//! Every host of kind `local` is this machine, whatever labs call it: one lock for all of them. Namespaces and guests are
//! parts of this machine: each has a lock of its own, and they share the machine's, so that studies may measure in
//! different ones at once, and none while somebody measures on the machine itself. Hosts of one study don't exclude each other.
//!
//! A host of kind `ssh` is leased on its machine, so that it is one for all users and controllers. Before, its login and options are
//! leased here: of studies of this machine only one starts an agent there.
//!
//! Everybody takes machines in one order, that of their boots' ids, this machine among them. So two studies that want the same
//! two machines never hold one each.

use backsight_agent::{
    AgentError, LeaseFault, LeaseHolder, LeaseInForce, LockMode, MachineLease, lease_file,
    lease_folder,
};
use backsight_model::{HostKind, HostName, Lab};
use futures_util::future::join_all;
use std::{fs::File, path::Path, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};

use crate::{
    ConnectError, HostAccess,
    host_locks::{AGENTS_LIMIT, HostLockError, own_locks},
    hosts::{GreetedHost, LeaseClaim, this_boot},
};

/// How long a machine that went away is left to whoever has it, before it is waited for again: a reboot ends leases, and the
/// study that asked for it comes first.
const REBOOT_COURTESY: Duration = Duration::from_secs(10);

/// Why hosts can't be had.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// A lock of one can't.
    #[error(transparent)]
    Locked(#[from] HostLockError),
    /// A host that has to be asked can't be.
    #[error(transparent)]
    NotReached(Box<ConnectError>),
}

impl LeaseError {
    /// Whether somebody else has a host.
    pub fn is_taken(&self) -> bool {
        self.taken_host().is_some()
    }

    /// The host that somebody else has.
    pub fn taken_host(&self) -> Option<&HostName> {
        match self {
            Self::Locked(HostLockError::Taken { host, .. }) => Some(host),
            _ => None,
        }
    }
}

/// Hosts that are ours until this is dropped, and the agents of other machines that it has brought forth have ended.
#[derive(Debug)]
pub struct Lease {
    _files: Vec<File>,
    claim: Arc<LeaseClaim>,
}

/// A machine that is to be leased.
enum MachinePlace {
    /// This one, for a host.
    Here(HostName, LockMode),
    /// Another one.
    There(HostName, Box<GreetedHost>),
}

impl Lease {
    /// Takes these hosts for `work` (shown to whoever comes next), waiting at most this long. `awaited` hears of each host
    /// and holder that is waited for. Agents are started on those of other machines; hosts that can't be reached yet, and that
    /// `reach` waits for, take their leases when they are reached.
    ///
    /// # Errors
    /// [`LeaseError::Taken`] when another study still has one of them at the end of the wait; [`LeaseError::NotReached`].
    #[tracing::instrument(name = "lease", level = "info", skip_all)]
    pub async fn take(
        reach: &HostAccess,
        lab: &Lab,
        hosts: &[HostName],
        work: &str,
        wait: Duration,
        awaited: impl Fn(&HostName, &LeaseInForce),
    ) -> Result<Self, LeaseError> {
        let some_host = hosts
            .first()
            .cloned()
            .unwrap_or_else(Lab::this_machine_name);
        let folder = lease_folder().map_err(|fault| HostLockError::new(&some_host, fault))?;
        Self::take_in(&folder, reach, lab, hosts, work, wait, awaited).await
    }

    /// The same with this machine's locks in this folder.
    async fn take_in(
        folder: &Path,
        reach: &HostAccess,
        lab: &Lab,
        hosts: &[HostName],
        work: &str,
        wait: Duration,
        awaited: impl Fn(&HostName, &LeaseInForce),
    ) -> Result<Self, LeaseError> {
        let until = Instant::now() + wait;
        let holder = LeaseHolder::new(work.to_owned()).map_err(HostLockError::system)?;
        let claim = Arc::new(LeaseClaim::new(holder));
        let mut files = Vec::new();
        for (name, host) in own_locks(lab, hosts) {
            let path = folder.join(name);
            let file = retried(until, async |until| {
                let tell = |in_force: &LeaseInForce| awaited(host, in_force);
                lease_file(&path, LockMode::Alone, &claim.holder, until, tell).await
            });
            files.push(
                file.await
                    .map_err(|fault| HostLockError::new(host, fault))?,
            );
        }
        let mut far: Vec<&HostName> = hosts.iter().filter(|host| is_far(lab, host)).collect();
        far.sort();
        far.dedup();
        let bare = reach.without_lease();
        let greeted = join_all(far.iter().map(|host| GreetedHost::start(&bare, lab, host)));
        let mut places = Vec::new();
        for (host, greeted) in far.iter().zip(greeted.await) {
            match greeted {
                Ok(greeted) => {
                    let boot = greeted.boot_id().to_owned();
                    places.push((
                        boot,
                        MachinePlace::There((*host).clone(), Box::new(greeted)),
                    ));
                }
                // It takes its lease when it is back.
                Err(ConnectError::Unreachable { .. }) if !reach.host_wait.is_zero() => {}
                Err(fault) => return Err(LeaseError::NotReached(Box::new(fault))),
            }
        }
        if let Some((mode, host)) = on_machine(lab, hosts) {
            places.push((this_boot(), MachinePlace::Here(host.clone(), mode)));
        }
        // Hosts of one boot stay in the order of their names, with this machine last.
        places.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, place) in places {
            match place {
                MachinePlace::Here(host, mode) => {
                    let taken = retried(until, async |until| {
                        let tell = |in_force: &LeaseInForce| awaited(&host, in_force);
                        MachineLease::take(folder, mode, &claim.holder, until, tell).await
                    });
                    let taken = taken.await;
                    files.extend(
                        taken
                            .map_err(|fault| HostLockError::new(&host, fault))?
                            .into_files(),
                    );
                }
                MachinePlace::There(host, greeted) => {
                    let tell = |in_force: &LeaseInForce| awaited(&host, in_force);
                    let leased = lease_far(&bare, lab, &host, *greeted, &claim.holder, until, tell);
                    let leased = leased.await?;
                    claim.keep(host, leased);
                }
            }
        }
        for file in &files {
            // The agents inherit it.
            let inherited = rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty());
            inherited.map_err(|errno| HostLockError::system(errno.into()))?;
        }
        Ok(Self {
            _files: files,
            claim,
        })
    }

    /// Takes these hosts now or not at all.
    ///
    /// # Errors
    /// As [`Lease::take`].
    pub async fn try_take(
        reach: &HostAccess,
        lab: &Lab,
        hosts: &[HostName],
        work: &str,
    ) -> Result<Self, LeaseError> {
        Self::take(reach, lab, hosts, work, Duration::ZERO, |_, _| {}).await
    }

    /// Takes a host for an order from outside, such as to switch it, now or not at all; nothing where the order is forced. A machine that
    /// is off, or stands still, is nobody's.
    ///
    /// # Errors
    /// As [`Lease::take`].
    pub(crate) async fn for_order(
        reach: &HostAccess,
        lab: &Lab,
        host: &HostName,
        work: &str,
        force: bool,
    ) -> Result<Option<Self>, LeaseError> {
        if force {
            return Ok(None);
        }
        match Self::try_take(reach, lab, std::slice::from_ref(host), work).await {
            Err(LeaseError::NotReached(_)) => Ok(None),
            lease => lease.map(Some),
        }
    }

    /// The way to its hosts: agents that are started on other machines hold their leases.
    #[must_use]
    pub fn reach(&self, reach: &HostAccess) -> HostAccess {
        reach.with_lease(&self.claim)
    }
}

/// Takes a lease, and if a controller has it that was killed here, once more within the time that its agents may take to end.
async fn retried<T>(
    until: Instant,
    take: impl AsyncFn(Instant) -> Result<T, LeaseFault>,
) -> Result<T, LeaseFault> {
    match take(until).await {
        Err(LeaseFault::Taken(in_force)) if is_ending(&in_force) => {
            take(Instant::now() + AGENTS_LIMIT).await
        }
        taken => taken,
    }
}

fn is_ending(in_force: &LeaseInForce) -> bool {
    let holder = in_force.holder.as_ref();
    holder.is_some_and(LeaseHolder::is_dead_here)
}

/// Has an agent take the lease of its machine. One that goes away meanwhile, as in a reboot, is started again.
async fn lease_far(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    greeted: GreetedHost,
    holder: &LeaseHolder,
    until: Instant,
    mut awaited: impl FnMut(&LeaseInForce),
) -> Result<GreetedHost, LeaseError> {
    let mut asked = Ok(greeted);
    let mut until = until;
    loop {
        let fault = match asked {
            Ok(greeted) => {
                let left = until.saturating_duration_since(Instant::now());
                match greeted.lease(holder, left, &mut awaited).await {
                    Ok(None) => return Ok(greeted),
                    Ok(Some(in_force)) if is_ending(&in_force) && until <= Instant::now() => {
                        until = Instant::now() + AGENTS_LIMIT;
                        asked = Ok(greeted);
                        continue;
                    }
                    Ok(Some(in_force)) => {
                        return Err(HostLockError::new(
                            host,
                            LeaseFault::Taken(Box::new(in_force)),
                        )
                        .into());
                    }
                    Err(cause) => greeted.into_fault(cause).await,
                }
            }
            Err(fault) => fault,
        };
        let is_away = matches!(
            &fault,
            ConnectError::Unreachable { .. }
                | ConnectError::Agent {
                    cause: AgentError::Lost { .. },
                    ..
                }
        );
        let again = Instant::now() + REBOOT_COURTESY;
        if !is_away || until < again {
            return Err(LeaseError::NotReached(Box::new(fault)));
        }
        sleep_until(again).await;
        asked = GreetedHost::start(reach, lab, host).await;
    }
}

/// How hosts take part in the lock of this machine, with the first of them; none if all are other machines.
fn on_machine<'a>(lab: &Lab, hosts: &'a [HostName]) -> Option<(LockMode, &'a HostName)> {
    let mode = |host: &HostName| match lab.host.get(host).map(|settings| settings.kind) {
        Some(HostKind::Ssh) => None,
        Some(HostKind::Local) | None => Some(LockMode::Alone),
        Some(_) => Some(LockMode::Shared),
    };
    hosts
        .iter()
        .filter_map(|host| mode(host).map(|mode| (mode, host)))
        .min()
}

/// Whether its agent runs on another machine, which leases it.
fn is_far(lab: &Lab, host: &HostName) -> bool {
    let settings = lab.host.get(host);
    settings.is_some_and(|settings| settings.kind == HostKind::Ssh)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::TomlDocument;

    fn lab(name: &str, hosts: &[(&str, &str)]) -> (Lab, Vec<HostName>) {
        let mut text = format!("name = \"{name}\"\n");
        for (host, kind) in hosts {
            text.push_str(&format!("[host.{host}]\nkind = \"{kind}\"\n"));
        }
        let lab = Lab::read(&TomlDocument::new("lab.toml", text)).unwrap();
        let hosts = lab.host.keys().map(|h| (**h).clone()).collect();
        (lab, hosts)
    }

    /// Takes hosts with the locks in a folder of the test's own.
    async fn take(
        folder: &Path,
        (lab, hosts): &(Lab, Vec<HostName>),
        holder: &str,
    ) -> Result<Lease, LeaseError> {
        let reach = HostAccess::with_program("/bin/false".into());
        Lease::take_in(
            folder,
            &reach,
            lab,
            hosts,
            holder,
            Duration::ZERO,
            |_, _| {},
        )
        .await
    }

    #[tokio::test]
    async fn a_namespace_is_leased_to_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let both = lab("one", &[("a", "netns"), ("b", "netns")]);
        let (lab, hosts) = &both;
        let first = take(folder.path(), &both, "study one").await.unwrap();
        let only_b = (lab.clone(), hosts[1..].to_vec());
        let refused = take(folder.path(), &only_b, "study two").await.unwrap_err();
        assert!(
            refused.to_string().contains("`b` is leased to study one"),
            "{refused}"
        );
        drop(first);
        take(folder.path(), &only_b, "study two").await.unwrap();
    }

    #[tokio::test]
    async fn this_machine_is_one_host_whatever_labs_call_it() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (
            lab("ours", &[("here", "local"), ("again", "local")]),
            lab("theirs", &[("there", "local")]),
        );
        let first = take(folder.path(), &ours, "study one").await.unwrap();
        let refused = take(folder.path(), &theirs, "study two").await.unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("`there` is leased to study one"),
            "{refused}"
        );
        drop(first);
        take(folder.path(), &theirs, "study two").await.unwrap();
    }

    #[tokio::test]
    async fn parts_of_this_machine_exclude_the_whole_and_not_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (lab("one", &[("a", "netns")]), lab("two", &[("a", "netns")]));
        let whole = lab("whole", &[("here", "local")]);
        let first = take(folder.path(), &one, "study one").await.unwrap();
        let second = take(folder.path(), &two, "study two").await.unwrap();
        drop(first);
        let refused = take(folder.path(), &whole, "study three")
            .await
            .unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("`here` is leased to study two (process "),
            "{refused}"
        );
        drop(second);
        let third = take(folder.path(), &whole, "study three").await.unwrap();
        let refused = take(folder.path(), &one, "study one").await.unwrap_err();
        assert!(
            refused.to_string().contains("leased to study three"),
            "{refused}"
        );
        drop(third);
        // One study may have both.
        take(
            folder.path(),
            &lab("both", &[("a", "netns"), ("here", "local")]),
            "study four",
        )
        .await
        .unwrap();
    }
}
