//! A session: the testbeds of a study are leased, an agent runs on each host, and somebody watches.

use backsight_conductor::{
    Conductor, ConnectError, Events, HostAccess, Lease, LeaseError, LeaseInForce, WantedSettings,
};
use backsight_model::{Arrangement, Cell, Event, HostName, Lab, StudyName, TestbedName};
use backsight_store::{Store, StudyId};
use miette::IntoDiagnostic as _;
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::sync::watch;

use crate::{
    ReservationRule,
    host_records::store_records_at_begin,
    shared_machine::leave_out_made,
    wanted_settings::{UnresolvedSettings, wanted_settings},
};

/// How a session is watched, stopped, and how long it waits for its hosts.
#[derive(Clone)]
pub struct SessionOptions {
    /// How hosts are reached, and how long to wait for one that doesn't answer, at the start and before each trial.
    pub reach: HostAccess,
    /// Whoever shows what happens listens here.
    pub events: Events,
    /// Gives what becomes true when the user wants to stop: the trial under way is put back, and the study stops in order.
    /// It is called when the hosts are leased and their agents are there; before, nothing has to be put back, and a signal
    /// may end the program at once.
    pub listen_for_stop: Arc<dyn Fn() -> watch::Receiver<bool> + Send + Sync>,
    /// How long to wait for hosts that another study has, or somebody has reserved.
    pub wait: Duration,
    /// What reservations mean.
    pub reservations: ReservationRule,
}

/// The testbeds of a study.
#[derive(Debug, Clone)]
pub struct StudyTestbeds {
    /// The plan on those that are measured, its own first.
    pub measured: Vec<Arrangement>,
    /// The plan on its reference.
    pub reference: Option<Arrangement>,
}

impl StudyTestbeds {
    fn all(&self) -> impl Iterator<Item = &Arrangement> {
        self.measured.iter().chain(&self.reference)
    }
}

/// A testbed that is leased, with agents on its hosts; and others, where several measure at once.
pub struct Session {
    /// The plan's testbed.
    pub conductor: Conductor,
    /// The other testbeds, in their order.
    pub others: Vec<Conductor>,
    /// The testbed that is measured beside them, so that what drifts shows.
    pub reference: Option<Conductor>,
    /// Whoever shows what happens listens here.
    pub events: Events,
    /// Becomes true when the user wants to stop.
    pub stop: watch::Receiver<bool>,
    _lease: Lease,
}

impl Session {
    /// Leases the hosts of these testbeds, the plan's own first, unless they are `leased` already, and starts their agents.
    ///
    /// # Errors
    /// A host is taken, or doesn't answer.
    pub async fn open(
        testbeds: &StudyTestbeds,
        name: &StudyName,
        options: &SessionOptions,
        leased: Option<Lease>,
    ) -> miette::Result<Self> {
        Self::on(testbeds, name, options, leased, false).await
    }

    /// The same along a history: agents of guests come with each boot.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub async fn open_along_history(
        testbeds: &StudyTestbeds,
        name: &StudyName,
        options: &SessionOptions,
        leased: Option<Lease>,
    ) -> miette::Result<Self> {
        Self::on(testbeds, name, options, leased, true).await
    }

    /// Leases the hosts of these testbeds.
    pub(crate) async fn lease(
        testbeds: &StudyTestbeds,
        name: &StudyName,
        options: &SessionOptions,
    ) -> Result<Lease, LeaseError> {
        let prepared = testbeds.all().flat_map(|it| &it.preparations);
        // Whose machine is prepared has it alone, also where its hosts are only parts of it.
        let hosts = testbeds.all().flat_map(Arrangement::hosts).cloned();
        let hosts: Vec<HostName> = hosts.chain(prepared.map(|it| it.host.clone())).collect();
        let work = format!("study `{name}`");
        let SessionOptions {
            reach,
            events,
            wait,
            ..
        } = options;
        let awaited = |host: &HostName, in_force: &LeaseInForce| {
            events.emit(&Event::LeaseAwaited {
                host: host.clone(),
                holder: in_force.to_string(),
                since: in_force.holder.as_ref().map(|holder| holder.since),
                seconds: wait.as_secs_f64(),
            });
        };
        // All testbeds are of one lab.
        let lab = testbeds.all().next().map(|it| it.lab.clone());
        let lab = lab.unwrap_or_else(Lab::this_machine);
        Lease::take(
            &reach.for_monitors(testbeds.all()),
            &lab,
            &hosts,
            &work,
            *wait,
            awaited,
        )
        .await
    }

    async fn on(
        testbeds: &StudyTestbeds,
        name: &StudyName,
        options: &SessionOptions,
        leased: Option<Lease>,
        along_history: bool,
    ) -> miette::Result<Self> {
        let [arrangement, others @ ..] = &testbeds.measured[..] else {
            return Err(miette::miette!("there is no testbed"));
        };
        let lease = match leased {
            Some(lease) => Ok(lease),
            None => Self::lease(testbeds, name, options).await,
        };
        let lease = lease.map_err(|error| match error {
            LeaseError::NotReached(fault) => not_begun(*fault),
            error if error.is_taken() => miette::miette!(
                help = "wait for it with --wait 10m, or use another testbed",
                "{error}"
            ),
            other => miette::Report::msg(other.to_string()),
        })?;
        let SessionOptions { reach, events, .. } = options;
        let reach = &lease.reach(&reach.for_monitors(testbeds.all()));
        // Testbeds that are parts of one machine have its settings made once.
        let (first, made) = (
            arrangement.testbed.clone(),
            OnceLock::<WantedSettings>::new(),
        );
        let is_alone = testbeds.all().count() == 1;
        let begun = async |arrangement: &Arrangement, along_history: bool| {
            let events = match is_alone {
                true => events.clone(),
                false => events.on_testbed(arrangement.testbed.clone()),
            };
            let (reach, arrangement) = (reach.clone(), arrangement.clone());
            let started = match along_history {
                true => Conductor::start_without_guests(reach, arrangement, events).await,
                false => Conductor::start(reach, arrangement, events).await,
            };
            let mut conductor = started.map_err(not_begun)?;
            let wanted =
                wanted_settings(conductor.arrangement(), |host| conductor.machine_of(host));
            let prepared = match wanted {
                Ok(mut wanted) => {
                    let made = made.get_or_init(|| wanted.clone());
                    if conductor.arrangement().testbed != first {
                        let lab = &conductor.arrangement().lab;
                        leave_out_made(lab, &made.of_study, &mut wanted.of_study);
                    }
                    let prepared = conductor.prepare_machines(name.as_str(), wanted).await;
                    prepared.map_err(not_begun)
                }
                Err(fault) => Err(fault.into()),
            };
            match prepared {
                Ok(()) => Ok(conductor),
                Err(fault) => {
                    conductor.finish().await;
                    Err(fault)
                }
            }
        };
        let conductor = begun(arrangement, along_history).await?;
        let mut more = Vec::with_capacity(others.len() + 1);
        let others = others.iter().map(|other| (other, along_history));
        for (other, along_history) in others.chain(testbeds.reference.iter().map(|it| (it, false)))
        {
            match begun(other, along_history).await {
                Ok(conductor) => more.push(conductor),
                Err(fault) => {
                    for begun in more.into_iter().chain([conductor]) {
                        begun.finish().await;
                    }
                    let testbed = &other.testbed;
                    return Err(miette::miette!("testbed {testbed}: {fault}"));
                }
            }
        }
        let reference = testbeds.reference.as_ref().and_then(|_| more.pop());
        Ok(Self {
            conductor,
            others: more,
            reference,
            events: events.clone(),
            stop: (options.listen_for_stop)(),
            _lease: lease,
        })
    }

    /// The plan's cells on these machines, which must be the same on all testbeds.
    ///
    /// # Errors
    /// They differ.
    pub fn cells(&self) -> miette::Result<Vec<Cell>> {
        let of = |conductor: &Conductor| {
            let arrangement = conductor.arrangement();
            let cells = arrangement.cells(|role| conductor.machine(role));
            cells.map_err(miette::Report::msg)
        };
        let cells = of(&self.conductor)?;
        let own = &self.conductor.arrangement().testbed;
        for other in &self.others {
            if of(other)? != cells {
                let testbed = &other.arrangement().testbed;
                return Err(miette::miette!(
                    help = format!(
                        "say in the plan what depends on the machine (as `{{cpus}}` does), or measure on {own} alone"
                    ),
                    "testbeds {own} and {testbed} can't measure at once: the plan's parameters aren't the same on their machines"
                ));
            }
        }
        Ok(cells)
    }

    /// Of each testbed, the plan's own first.
    pub(crate) fn conductors(&self) -> impl Iterator<Item = &Conductor> {
        std::iter::once(&self.conductor).chain(&self.others)
    }

    /// The testbeds that measure at once; none where only the plan's measures.
    pub fn testbeds(&self) -> Vec<TestbedName> {
        let all = self.conductors();
        match self.others.is_empty() {
            true => Vec::new(),
            false => all.map(|it| it.arrangement().testbed.clone()).collect(),
        }
    }

    /// Ends the agents where nothing is to be measured after all.
    pub async fn finish(self) {
        let all = self.others.into_iter().chain(self.reference);
        for conductor in all.chain([self.conductor]) {
            conductor.finish().await;
        }
    }

    /// Puts back what a killed study left, warns of missing programs, and stores what the hosts are.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn prepare(
        &mut self,
        store: &Store,
        id: StudyId,
        cells: &[Cell],
        after_kill: bool,
    ) -> miette::Result<()> {
        let testbeds = std::iter::once(&mut self.conductor).chain(&mut self.others);
        let testbeds = testbeds.collect();
        prepare_testbeds(testbeds, store, id, (cells, after_kill), &self.events).await
    }
}

/// [`Session::prepare`] of these testbeds.
pub(crate) async fn prepare_testbeds(
    mut testbeds: Vec<&mut Conductor>,
    store: &Store,
    id: StudyId,
    (cells, after_kill): (&[Cell], bool),
    events: &Events,
) -> miette::Result<()> {
    let mut known = Vec::new();
    for conductor in &mut testbeds {
        if after_kill {
            conductor.put_back_all(cells).await;
        }
        let (missing, versions) = conductor.survey().await;
        for message in missing {
            events.emit(&Event::Warning { message });
        }
        let facts = conductor.facts().into_iter();
        known.extend(facts.map(|(host, facts)| (host, facts, versions.clone())));
    }
    for (host, mut facts, versions) in known {
        facts.extend(versions.get(&host).cloned().unwrap_or_default());
        let facts = facts.into_iter().collect();
        for change in store
            .record_facts(id, &host, &facts)
            .await
            .into_diagnostic()?
        {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
            let message = format!(
                "{host} is not what it was when the study began: {} was {}, is {}",
                change.fact,
                shown(&change.was),
                shown(&change.is)
            );
            events.emit(&Event::Warning { message });
        }
    }
    let testbeds = testbeds.iter().map(|conductor| &**conductor);
    let stored = store_records_at_begin(store, id, testbeds, events).await;
    stored.into_diagnostic()
}

/// Why no agent is there to measure with.
fn not_begun(fault: ConnectError) -> miette::Report {
    match fault {
        ConnectError::Unreachable { .. } => miette::miette!(
            help = "switch it on; --host-wait 10m waits for a host that comes back",
            "{fault}"
        ),
        ConnectError::NotPrepared { .. } => miette::miette!(
            help = "nothing is changed; with `prepare-policy = \"warn\"` in the plan (or \"skip\") it is measured without them",
            "{fault}"
        ),
        ConnectError::OneMachine(conflict) => UnresolvedSettings::from(conflict).into(),
        _ => miette::Report::msg(fault.to_string()),
    }
}
