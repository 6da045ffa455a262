//! Barriers that programs of a trial come to by `backsight barrier`: who has to come, who waits, and when all go on.
//!
//! A barrier is for all hosts of a role, each in the same step, or for so many steps of any role. When all are there, one
//! instant is agreed and every host hears of it; the next to come begin a new round. As soon as it is known that somebody won't
//! come, the trial fails, with that host's name: nobody is let go without the others, and nobody waits for a time limit.
//!
//! [`Rounds`] is the bookkeeping, without I/O; [`Barriers`] hears the agents and answers them.

use backsight_agent::{
    AgentError, AtBarrier, BarrierAnswer, BarrierReport, BarrierReports, Client, StepId,
};
use backsight_model::{
    BarrierName, Failure, FilledAction, HostName, Meeting, MeetingKind, Phase, RoleName, RoleTrial,
    Skew,
};
use futures_util::future::join_all;
use indexmap::IndexMap;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, task::JoinHandle, time::timeout};

use crate::{hosts::Connected, notice::Notice, start_line::monotonic_now};

/// How long the last reports may take after the last step.
const SETTLE_LIMIT: Duration = Duration::from_secs(1);

/// Each time that a program comes to a barrier: on which host, and which of that host's.
type ArrivalId = (HostName, u64);

/// A step of an instance, by the instance's number among the trial's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct InstanceStep {
    pub(crate) instance: usize,
    pub(crate) phase: Phase,
    pub(crate) number: usize,
}

/// Which barrier. That of a role is a step's own: another step of the same role doesn't come to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum BarrierKey {
    OfRole(RoleName, Phase, usize, BarrierName),
    OfSteps(u32, BarrierName),
}

impl BarrierKey {
    fn name(&self) -> &BarrierName {
        match self {
            Self::OfRole(_, _, _, name) | Self::OfSteps(_, name) => name,
        }
    }
}

/// What is to be done about an event.
#[derive(Debug, PartialEq)]
enum Reaction {
    /// All are there: they go at this instant of our clock.
    Release(Vec<ArrivalId>, u64),
    /// It can't wait there.
    Refuse(ArrivalId, String),
    /// Somebody won't come.
    Fail(Box<Failure>),
}

/// Who waits at which barrier of a trial, and how often each was passed.
struct Rounds {
    roles: Vec<RoleTrial>,
    steps: HashMap<StepId, InstanceStep>,
    ended: HashSet<InstanceStep>,
    waiting: IndexMap<BarrierKey, Vec<(ArrivalId, InstanceStep)>>,
    going: HashMap<ArrivalId, u64>,
    releases: HashMap<u64, Release>,
    passages: IndexMap<(Option<RoleName>, BarrierName), Passages>,
    released: u64,
    /// What a barrier's first round gives.
    notice: Notice,
    /// Why nobody may wait any more.
    closed: Option<String>,
}

/// Programs that were let go together and haven't all said when they went on.
struct Release {
    passage: (Option<RoleName>, BarrierName),
    decided_ns: u64,
    left: usize,
    /// Whether all of them have said it so far.
    whole: bool,
    heard_ns: u64,
    earliest_ns: u64,
    latest_ns: u64,
}

/// What is known of a barrier's rounds so far.
struct Passages {
    parties: u32,
    times: u64,
    skews_ns: Vec<u64>,
    notice: Notice,
}

impl Rounds {
    fn new(roles: Vec<RoleTrial>, notice: Notice) -> Self {
        Self {
            roles,
            notice,
            steps: HashMap::new(),
            ended: HashSet::new(),
            waiting: IndexMap::new(),
            going: HashMap::new(),
            releases: HashMap::new(),
            passages: IndexMap::new(),
            released: 0,
            closed: None,
        }
    }

    /// A program came. `now_ns` is on our clock.
    fn arrive(
        &mut self,
        id: ArrivalId,
        (step, name, of): (StepId, &str, Option<u32>),
        now_ns: u64,
    ) -> Option<Reaction> {
        if let Some(reason) = &self.closed {
            return Some(Reaction::Refuse(id, reason.clone()));
        }
        let Some(step) = self.steps.get(&step).copied() else {
            let reason = "its step isn't one of a benchmark".to_owned();
            return Some(Reaction::Refuse(id, reason));
        };
        let name = match BarrierName::new(name) {
            Ok(name) => name,
            Err(error) => return Some(Reaction::Refuse(id, error.to_string())),
        };
        let role = &self.roles[step.instance].role;
        let key = match of {
            None => BarrierKey::OfRole(role.clone(), step.phase, step.number, name),
            Some(of) => BarrierKey::OfSteps(of, name),
        };
        let there = self.waiting.entry(key.clone()).or_default();
        if there.iter().any(|(_, other)| *other == step) {
            let reason = "a program of this step waits there already".to_owned();
            return Some(Reaction::Refuse(id, reason));
        }
        there.push((id, step));
        let all_there = there.len() >= self.parties(&key);
        if all_there {
            return Some(self.release(&key, now_ns));
        }
        self.hopeless(&key).map(|failure| self.fail(failure))
    }

    /// How many have to come.
    fn parties(&self, key: &BarrierKey) -> usize {
        match key {
            BarrierKey::OfRole(role, ..) => self.roles.iter().filter(|it| it.role == *role).count(),
            BarrierKey::OfSteps(of, _) => usize::try_from(*of).unwrap_or(usize::MAX),
        }
    }

    fn release(&mut self, key: &BarrierKey, now_ns: u64) -> Reaction {
        let there = self.waiting.shift_remove(key).unwrap_or_default();
        let role = match key {
            BarrierKey::OfRole(role, ..) => Some(role.clone()),
            BarrierKey::OfSteps(..) => None,
        };
        let passage = (role, key.name().clone());
        let first = || Passages {
            parties: 0,
            times: 0,
            skews_ns: Vec::new(),
            notice: self.notice.clone(),
        };
        let passages = self.passages.entry(passage.clone()).or_insert_with(first);
        passages.parties = u32::try_from(there.len()).unwrap_or(u32::MAX);
        passages.times += 1;
        let instant = now_ns.saturating_add(passages.notice.length_ns(there.len()));
        self.released += 1;
        let release = Release {
            passage,
            decided_ns: now_ns,
            left: there.len(),
            whole: there.len() > 1,
            heard_ns: 0,
            earliest_ns: u64::MAX,
            latest_ns: 0,
        };
        self.releases.insert(self.released, release);
        let arrivals: Vec<ArrivalId> = there.into_iter().map(|(id, _)| id).collect();
        let going = arrivals.iter().map(|id| (id.clone(), self.released));
        self.going.extend(going);
        Reaction::Release(arrivals, instant)
    }

    /// A program went on; both instants are on our clock, in nanoseconds. Or it went away without a word.
    fn gone(&mut self, id: &ArrivalId, said: Option<(u64, u64)>) {
        let Some(number) = self.going.remove(id) else {
            // It had enough of waiting: its step goes on without having passed, or ends.
            for there in self.waiting.values_mut() {
                there.retain(|(waiting, _)| waiting != id);
            }
            return;
        };
        let Some(release) = self.releases.get_mut(&number) else {
            return;
        };
        release.left -= 1;
        match said {
            Some((heard_ns, woke_ns)) => {
                release.heard_ns = release.heard_ns.max(heard_ns);
                release.earliest_ns = release.earliest_ns.min(woke_ns);
                release.latest_ns = release.latest_ns.max(woke_ns);
            }
            None => release.whole = false,
        }
        if release.left > 0 {
            return;
        }
        if let Some(release) = self.releases.remove(&number)
            && release.whole
            && let Some(passages) = self.passages.get_mut(&release.passage)
        {
            let skew = release.latest_ns.saturating_sub(release.earliest_ns);
            passages.skews_ns.push(skew);
            let took = release.heard_ns.saturating_sub(release.decided_ns);
            passages.notice.observe(took);
        }
    }

    /// A step ended, and well: it comes to no barrier any more.
    fn end_step(&mut self, step: InstanceStep) -> Option<Reaction> {
        self.ended.insert(step);
        if self.closed.is_some() {
            return None;
        }
        let failure = self.waiting.keys().find_map(|key| self.hopeless(key))?;
        Some(self.fail(failure))
    }

    fn fail(&mut self, failure: Failure) -> Reaction {
        self.closed = Some(failure.to_string());
        Reaction::Fail(Box::new(failure))
    }

    /// Why a barrier that somebody waits at can't be passed any more, if it can't.
    fn hopeless(&self, key: &BarrierKey) -> Option<Failure> {
        let there = self.waiting.get(key).filter(|there| !there.is_empty())?;
        let missing = match key {
            BarrierKey::OfRole(role, phase, number, _) => {
                self.ended_of_role(role, *phase, *number, there)?
            }
            BarrierKey::OfSteps(of, _) => {
                let wanted = usize::try_from(*of).unwrap_or(usize::MAX);
                let may_come: usize = (0..self.roles.len())
                    .map(|instance| self.may_come(instance, there))
                    .sum();
                if there.len() + may_come >= wanted {
                    return None;
                }
                return Some(self.too_few(wanted, key.name(), there));
            }
        };
        let of = &self.roles[missing.instance];
        let command = of.steps.get(&missing.phase)?.get(missing.number)?;
        let reason = format!(
            "`{}` has ended and won't come to barrier `{}`, where {} wait{}",
            command.command,
            key.name(),
            self.hosts_of(there),
            if there.len() == 1 { "s" } else { "" },
        );
        Some(Failure {
            reason,
            host: Some(of.host.clone()),
            role: Some(of.role.clone()),
            phase: Some(missing.phase),
            host_lost: false,
        })
    }

    /// The first instance of a role whose step has ended, and that doesn't wait.
    fn ended_of_role(
        &self,
        role: &RoleName,
        phase: Phase,
        number: usize,
        there: &[(ArrivalId, InstanceStep)],
    ) -> Option<InstanceStep> {
        let of_role = self.roles.iter().enumerate();
        let of_role = of_role.filter(|(_, it)| it.role == *role);
        of_role
            .map(|(instance, _)| InstanceStep {
                instance,
                phase,
                number,
            })
            .find(|step| self.ended.contains(step) && !there.iter().any(|(_, it)| it == step))
    }

    /// How many steps of an instance that don't wait there may come to a barrier of any role: its program that isn't in the
    /// background, and all that are. As long as one that isn't in the background waits, its phase doesn't end, and nothing of a
    /// later phase comes.
    fn may_come(&self, instance: usize, there: &[(ArrivalId, InstanceStep)]) -> usize {
        let in_background = |step: &InstanceStep| {
            let steps = self.roles[step.instance].steps.get(&step.phase);
            let step = steps.and_then(|steps| steps.get(step.number));
            step.is_some_and(|step| matches!(step.action, FilledAction::Spawn { .. }))
        };
        let blocking = |(_, step): &&(ArrivalId, InstanceStep)| !in_background(step);
        let last_phase = there.iter().filter(blocking).map(|(_, step)| step.phase);
        let last_phase = last_phase.min().unwrap_or(Phase::Collect);
        let waits_itself = there
            .iter()
            .filter(blocking)
            .any(|(_, step)| step.instance == instance);
        let begun: HashSet<&InstanceStep> = self.steps.values().collect();
        let mut may_come = 0;
        let mut has_foreground = false;
        for (phase, steps) in &self.roles[instance].steps {
            for (number, step) in steps.iter().enumerate() {
                let phase = *phase;
                let it = InstanceStep {
                    instance,
                    phase,
                    number,
                };
                let waits = there.iter().any(|(_, other)| *other == it);
                let is_program = !matches!(step.action, FilledAction::Barrier(_));
                if !is_program || waits || self.ended.contains(&it) {
                    continue;
                }
                let has_begun = begun.contains(&it);
                if !has_begun && (waits_itself || phase > last_phase) {
                    continue;
                }
                match in_background(&it) {
                    true => may_come += 1,
                    false => has_foreground = true,
                }
            }
        }
        may_come + usize::from(has_foreground)
    }

    /// Nobody is left to come to a barrier for so many steps.
    fn too_few(
        &self,
        wanted: usize,
        name: &BarrierName,
        there: &[(ArrivalId, InstanceStep)],
    ) -> Failure {
        // One that has ended is what somebody forgot; where none has, the number is wrong.
        let instances = self.roles.iter().enumerate();
        let ended = instances
            .map(|(instance, role)| (instance, &role.host))
            .filter(|(instance, _)| {
                let its = self.ended.iter().any(|step| step.instance == *instance);
                its && !there.iter().any(|(_, step)| step.instance == *instance)
            });
        let ended: Vec<&HostName> = ended.map(|(_, host)| host).collect();
        let names: Vec<String> = ended.iter().map(ToString::to_string).collect();
        let who = match names.is_empty() {
            true => "no other step is left to come".to_owned(),
            false => format!("the steps of {} have ended", names.join(", ")),
        };
        let reason = format!(
            "barrier `{name}` is for {wanted} steps, {} wait{} there, and {who}",
            self.hosts_of(there),
            if there.len() == 1 { "s" } else { "" },
        );
        Failure {
            host: ended.first().map(|host| (*host).clone()),
            phase: there.iter().map(|(_, step)| step.phase).min(),
            ..Failure::of_trial(reason)
        }
    }

    fn hosts_of(&self, there: &[(ArrivalId, InstanceStep)]) -> String {
        let hosts: Vec<String> = there
            .iter()
            .map(|(_, step)| self.roles[step.instance].host.to_string())
            .collect();
        hosts.join(", ")
    }

    /// Nobody may wait any more; who does is to be sent away.
    fn close(&mut self, reason: &str) -> Vec<ArrivalId> {
        self.closed.get_or_insert_with(|| reason.to_owned());
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_values().flatten().map(|(id, _)| id).collect()
    }

    fn meetings(&self) -> Vec<Meeting> {
        let passages = self.passages.iter();
        passages
            .map(|((role, name), passages)| Meeting {
                kind: MeetingKind::Barrier,
                role: role.clone(),
                name: name.to_string(),
                parties: passages.parties,
                times: passages.times,
                skew: Skew::new(passages.skews_ns.clone()),
            })
            .collect()
    }
}

/// A host whose programs come to barriers.
struct Host {
    client: Client,
    /// What its monotonic clock is ahead of ours, in nanoseconds.
    ahead_ns: i64,
}

struct Inside {
    rounds: Mutex<Rounds>,
    hosts: HashMap<HostName, Host>,
    failure: watch::Sender<Option<Failure>>,
    /// How many programs were let go and haven't said yet when they went on.
    going: watch::Sender<usize>,
}

/// The barriers of one trial, from its beginning to its end.
pub(crate) struct Barriers {
    inside: Arc<Inside>,
    readers: Vec<JoinHandle<()>>,
}

/// What tells barriers that a step has ended.
#[derive(Clone)]
pub(crate) struct EndedSteps(Arc<Inside>);

impl EndedSteps {
    /// A step ended, and well. One that fails fails its trial anyway.
    pub(crate) fn end(&self, step: InstanceStep) {
        let reaction = self.0.rounds().end_step(step);
        self.0.react(reaction);
    }
}

impl Barriers {
    /// Hears of every host that has begun its trial.
    ///
    /// # Errors
    /// The first host that can't be heard.
    pub(crate) async fn open(
        hosts: &IndexMap<HostName, Connected>,
        roles: &[RoleTrial],
        notice: Notice,
    ) -> Result<Self, (HostName, AgentError)> {
        let opened = hosts.values().map(|host| async move {
            let reports = host.client.watch_barriers().await;
            (host, reports)
        });
        let mut streams = Vec::new();
        for (host, reports) in join_all(opened).await {
            let reports = reports.map_err(|error| (host.name.clone(), error))?;
            streams.push((host.name.clone(), reports));
        }
        let of_host = |(name, host): (&HostName, &Connected)| {
            let client = host.client.clone();
            let ahead_ns = host.clock_offset();
            (name.clone(), Host { client, ahead_ns })
        };
        let inside = Arc::new(Inside {
            rounds: Mutex::new(Rounds::new(roles.to_vec(), notice)),
            hosts: hosts.iter().map(of_host).collect(),
            failure: watch::channel(None).0,
            going: watch::channel(0).0,
        });
        let readers = streams
            .into_iter()
            .map(|(host, reports)| tokio::spawn(read(Arc::clone(&inside), host, reports)))
            .collect();
        Ok(Self { inside, readers })
    }

    /// Programs of this step may come from now on.
    pub(crate) fn begin_step(&self, id: StepId, step: InstanceStep) {
        self.inside.rounds().steps.insert(id, step);
    }

    pub(crate) fn ended_steps(&self) -> EndedSteps {
        EndedSteps(Arc::clone(&self.inside))
    }

    /// Why a barrier can't be passed, as soon as one can't.
    pub(crate) async fn failure(&self) -> Failure {
        let mut failure = self.inside.failure.subscribe();
        let failed = failure.wait_for(Option::is_some).await;
        match failed.map(|failure| failure.clone()) {
            Ok(Some(failure)) => failure,
            _ => std::future::pending().await,
        }
    }

    /// The same, if it is so already.
    pub(crate) fn known_failure(&self) -> Option<Failure> {
        self.inside.failure.borrow().clone()
    }

    /// Sends away whoever waits, and whoever comes later.
    pub(crate) fn close(&self, reason: &str) {
        let waiting = self.inside.rounds().close(reason);
        self.inside.send_away(waiting, reason);
    }

    /// How often each barrier was passed, and how exactly; once the last that were let go have said when they went on.
    pub(crate) async fn meetings(&self) -> Vec<Meeting> {
        let mut going = self.inside.going.subscribe();
        let settled = going.wait_for(|going| *going == 0);
        let _too_late_to_count = timeout(SETTLE_LIMIT, settled).await.is_err();
        self.inside.rounds().meetings()
    }
}

impl Drop for Barriers {
    fn drop(&mut self) {
        for reader in &self.readers {
            reader.abort();
        }
    }
}

async fn read(inside: Arc<Inside>, host: HostName, mut reports: BarrierReports) {
    // That the host is lost is seen elsewhere.
    while let Ok(Some(report)) = reports.next().await {
        inside.hear(&host, report);
    }
}

impl Inside {
    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(self: &Arc<Self>, host: &HostName, report: BarrierReport) {
        let id = (host.clone(), report.arrival);
        let ahead_ns = self.hosts.get(host).map_or(0, |host| host.ahead_ns);
        let on_our_clock = |theirs: u64| theirs.saturating_add_signed(ahead_ns.saturating_neg());
        let reaction = {
            let mut rounds = self.rounds();
            match report.what {
                AtBarrier::Arrived { step, name, of } => {
                    rounds.arrive(id, (step, &name, of), monotonic_now())
                }
                AtBarrier::Gone { heard_ns, woke_ns } => {
                    let said = (on_our_clock(heard_ns), on_our_clock(woke_ns));
                    rounds.gone(&id, Some(said));
                    None
                }
                AtBarrier::Left => {
                    rounds.gone(&id, None);
                    None
                }
            }
        };
        self.react(reaction);
    }

    fn react(self: &Arc<Self>, reaction: Option<Reaction>) {
        match reaction {
            Some(Reaction::Release(arrivals, instant)) => {
                self.answer(arrivals, |host| {
                    BarrierAnswer::Go(instant.saturating_add_signed(host.ahead_ns))
                });
            }
            Some(Reaction::Refuse(id, reason)) => self.send_away(vec![id], &reason),
            Some(Reaction::Fail(failure)) => {
                self.failure.send_replace(Some(*failure));
            }
            None => {}
        }
        let going = self.rounds().going.len();
        self.going.send_replace(going);
    }

    fn send_away(&self, arrivals: Vec<ArrivalId>, reason: &str) {
        self.answer(arrivals, |_| BarrierAnswer::Refused(reason.to_owned()));
    }

    /// Answers these programs, all hosts at once.
    fn answer(&self, arrivals: Vec<ArrivalId>, answer: impl Fn(&Host) -> BarrierAnswer) {
        let mut by_host: IndexMap<HostName, Vec<u64>> = IndexMap::new();
        for (host, arrival) in arrivals {
            by_host.entry(host).or_default().push(arrival);
        }
        for (host, arrivals) in by_host {
            let Some(host) = self.hosts.get(&host) else {
                continue;
            };
            let (client, answer) = (host.client.clone(), answer(host));
            tokio::spawn(async move {
                // A host that doesn't answer is lost, which is seen elsewhere.
                let _ = client.answer_at_barrier(arrivals, answer).await;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::FilledStep;

    fn step(command: &str) -> FilledStep {
        let action = match command.strip_prefix('&') {
            Some(_) => FilledAction::Spawn {
                ready: None,
                within: Duration::from_secs(1),
                stop: backsight_model::StopSignal::Term,
            },
            None => FilledAction::Run,
        };
        FilledStep {
            iteration: None,
            action,
            command: command.into(),
            timeout: Duration::from_secs(1),
            expect: vec![0],
            tolerant: false,
            silence: None,
            core_limit: None,
            env: Vec::new(),
            shell: None,
            grace: None,
            output_limit: 1,
            folder: None,
        }
    }

    /// A client on each of these hosts, and a server, with the same steps of `run`; those begun have the numbers 1, 2, …
    fn rounds(clients: &[&str], steps: &[&str], server: &[(Phase, &str)]) -> Rounds {
        let steps: Vec<FilledStep> = steps.iter().map(|command| step(command)).collect();
        let mut roles: Vec<RoleTrial> = clients
            .iter()
            .map(|host| RoleTrial {
                role: "client".parse().unwrap(),
                host: host.parse().unwrap(),
                processors: None,
                steps: [(Phase::Run, steps.clone())].into_iter().collect(),
            })
            .collect();
        let of_server = server
            .iter()
            .map(|(phase, command)| (*phase, vec![step(command)]));
        roles.push(RoleTrial {
            role: "server".parse().unwrap(),
            host: "s".parse().unwrap(),
            processors: None,
            steps: of_server.collect(),
        });
        let mut rounds = Rounds::new(roles, Notice::default());
        for instance in 0..clients.len() {
            rounds
                .steps
                .insert(StepId(instance as u64 + 1), first(instance));
        }
        if let Some((phase, _)) = server.first() {
            let it = InstanceStep {
                instance: clients.len(),
                phase: *phase,
                number: 0,
            };
            rounds.steps.insert(StepId(clients.len() as u64 + 1), it);
        }
        rounds
    }

    fn first(instance: usize) -> InstanceStep {
        InstanceStep {
            instance,
            phase: Phase::Run,
            number: 0,
        }
    }

    fn id(host: &str, arrival: u64) -> ArrivalId {
        (host.parse().unwrap(), arrival)
    }

    fn failed(reaction: Option<Reaction>) -> Failure {
        match reaction {
            Some(Reaction::Fail(failure)) => *failure,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_go_when_the_last_has_come_and_the_next_round_begins_anew() {
        let mut it = rounds(&["a", "b", "c"], &["loop"], &[]);
        for round in 0..3 {
            let now = 1_000_000_000 * (round + 1);
            let come = |it: &mut Rounds, host: &str, step| {
                it.arrive(id(host, round), (StepId(step), "x", None), now)
            };
            assert_eq!(come(&mut it, "c", 3), None);
            assert_eq!(come(&mut it, "a", 1), None);
            let Some(Reaction::Release(arrivals, instant)) = come(&mut it, "b", 2) else {
                panic!("nobody goes");
            };
            assert_eq!(arrivals, [id("c", round), id("a", round), id("b", round)]);
            assert!(instant > now);
            for (host, late) in [("a", 5), ("b", 0), ("c", 2 * round)] {
                it.gone(&id(host, round), Some((now + 100_000, instant + late)));
            }
        }
        let meetings = it.meetings();
        assert_eq!(meetings.len(), 1);
        assert_eq!((meetings[0].times, meetings[0].parties), (3, 3));
        let skew = meetings[0].skew.unwrap();
        assert_eq!((skew.median_ns, skew.p99_ns, skew.largest_ns), (5, 5, 5));
        assert!(it.going.is_empty() && it.releases.is_empty() && it.waiting.is_empty());
    }

    #[test]
    fn a_host_that_has_ended_fails_those_who_wait_and_those_who_come_later() {
        let mut it = rounds(&["a", "b", "c"], &["loop"], &[]);
        it.arrive(id("a", 1), (StepId(1), "x", None), 0);
        let failure = failed(it.end_step(first(1)));
        assert_eq!(
            failure.to_string(),
            "run of client on b: `loop` has ended and won't come to barrier `x`, where a waits"
        );
        let late = it.arrive(id("c", 1), (StepId(3), "x", None), 0);
        assert!(matches!(late, Some(Reaction::Refuse(..))), "{late:?}");

        let mut it = rounds(&["a", "b"], &["loop"], &[]);
        assert_eq!(it.end_step(first(0)), None);
        let failure = failed(it.arrive(id("b", 1), (StepId(2), "x", None), 0));
        assert_eq!(failure.host.unwrap().as_str(), "a");
    }

    #[test]
    fn one_that_went_away_is_waited_for_again() {
        let mut it = rounds(&["a", "b"], &["loop"], &[]);
        it.arrive(id("a", 1), (StepId(1), "x", None), 0);
        it.gone(&id("a", 1), None);
        assert_eq!(it.arrive(id("b", 1), (StepId(2), "x", None), 0), None);
        let both = it.arrive(id("a", 2), (StepId(1), "x", None), 0);
        assert!(matches!(both, Some(Reaction::Release(..))));
        // One of them dies before it says when it went on: it was passed, and not measured.
        it.gone(&id("a", 2), None);
        it.gone(&id("b", 1), Some((1, 2)));
        let meetings = it.meetings();
        assert_eq!((meetings[0].times, meetings[0].skew), (1, None));
    }

    #[test]
    fn a_step_waits_once_and_unknown_ones_not_at_all() {
        let mut it = rounds(&["a", "b"], &["loop"], &[]);
        it.arrive(id("a", 1), (StepId(1), "x", None), 0);
        for (step, name) in [(1, "x"), (99, "x"), (2, "../x"), (2, "")] {
            let refused = it.arrive(id("a", 2), (StepId(step), name, None), 0);
            assert!(
                matches!(refused, Some(Reaction::Refuse(..))),
                "{step} {name}"
            );
        }
        // Another barrier is another one.
        assert_eq!(it.arrive(id("b", 1), (StepId(2), "y", None), 0), None);
    }

    #[test]
    fn so_many_of_any_role_pass_and_too_few_fail_at_once() {
        let server = [(Phase::Startup, "& serve")];
        let mut it = rounds(&["a", "b"], &["loop"], &server);
        assert_eq!(it.arrive(id("s", 1), (StepId(3), "x", Some(3)), 0), None);
        assert_eq!(it.arrive(id("a", 1), (StepId(1), "x", Some(3)), 0), None);
        let all = it.arrive(id("b", 1), (StepId(2), "x", Some(3)), 0);
        assert!(matches!(all, Some(Reaction::Release(ref all, _)) if all.len() == 3));

        let mut it = rounds(&["a", "b"], &["loop"], &server);
        it.arrive(id("s", 1), (StepId(3), "x", Some(3)), 0);
        it.arrive(id("a", 1), (StepId(1), "x", Some(3)), 0);
        let failure = failed(it.end_step(first(1)));
        assert_eq!(
            failure.to_string(),
            "startup on b: barrier `x` is for 3 steps, s, a wait there, and the steps of b have ended"
        );

        // Four will never be there.
        let mut it = rounds(&["a", "b"], &["loop"], &server);
        let failure = failed(it.arrive(id("a", 1), (StepId(1), "x", Some(4)), 0));
        assert!(
            failure
                .to_string()
                .contains("no other step is left to come"),
            "{failure}"
        );
    }

    #[test]
    fn steps_of_a_later_phase_dont_come_while_this_one_waits() {
        let mut it = rounds(&["a"], &["loop"], &[(Phase::Collect, "look")]);
        it.steps.remove(&StepId(2));
        let failure = failed(it.arrive(id("a", 1), (StepId(1), "x", Some(2)), 0));
        assert!(
            failure.to_string().contains("`x` is for 2 steps"),
            "{failure}"
        );

        // One in the background doesn't keep its phase from ending.
        let mut it = rounds(&["a"], &["& loop"], &[(Phase::Collect, "look")]);
        it.steps.remove(&StepId(2));
        assert_eq!(it.arrive(id("a", 1), (StepId(1), "x", Some(2)), 0), None);
    }
}
