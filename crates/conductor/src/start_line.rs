//! Starting together: programs are loaded and held on every host, and let go at one agreed instant.
//!
//! Nobody starts before everybody is there.

use backsight_model::{FilledAction, Meeting, MeetingKind, Phase, RoleName, RoleTrial, Skew};
use indexmap::IndexMap;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

use crate::notice::Notice;

/// A step in a phase: the number of its instance among the trial's, and its own.
type StepPlace = (usize, usize);

/// Where some roles wait for each other to start together.
#[derive(Debug)]
pub(crate) struct StartLine {
    /// The phase that begins so, or the barrier after which they start.
    name: String,
    expected: usize,
    arrived: Mutex<usize>,
    /// When each began, on our monotonic clock in nanoseconds.
    began: Mutex<HashMap<StepPlace, u64>>,
    instant: watch::Sender<Option<Agreed>>,
    notice: Arc<Mutex<Notice>>,
}

/// Instants of our monotonic clock, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agreed {
    /// When it was agreed.
    decided_ns: u64,
    /// When they begin.
    pub(crate) start_ns: u64,
}

impl StartLine {
    fn new(name: String, expected: usize, notice: Arc<Mutex<Notice>>) -> Self {
        Self {
            name,
            expected,
            arrived: Mutex::new(0),
            began: Mutex::default(),
            instant: watch::channel(None).0,
            notice,
        }
    }

    /// One more is ready to go; the last one to come sets the instant.
    pub(crate) fn arrive(&self) {
        let mut arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        *arrived += 1;
        if *arrived == self.expected {
            let decided_ns = monotonic_now();
            let start_ns = decided_ns.saturating_add(self.notice().unhurried_ns(self.expected));
            self.instant.send_replace(Some(Agreed {
                decided_ns,
                start_ns,
            }));
        }
    }

    /// A host has heard of the instant.
    pub(crate) fn heard(&self, agreed: Agreed) {
        let took_ns = monotonic_now().saturating_sub(agreed.decided_ns);
        self.notice().observe(took_ns);
    }

    fn notice(&self) -> MutexGuard<'_, Notice> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One has begun, at this instant of our monotonic clock in nanoseconds.
    pub(crate) fn begin(&self, step: StepPlace, at_ns: u64) {
        let mut began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        began.insert(step, at_ns);
    }

    /// By how much the last of some steps began after the first, if all have begun.
    fn skew_of(&self, steps: &[StepPlace]) -> Option<u64> {
        let began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        let instants = steps.iter().map(|step| began.get(step).copied());
        let instants: Vec<u64> = instants.collect::<Option<_>>()?;
        Some(instants.iter().max()? - instants.iter().min()?)
    }

    /// The instant, as soon as it is known.
    pub(crate) async fn instant(&self) -> Agreed {
        let mut instant = self.instant.subscribe();
        loop {
            if let Some(at) = *instant.borrow_and_update() {
                return at;
            }
            if instant.changed().await.is_err() {
                // The sender is `self`, which we borrow: it can't go.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub(crate) fn monotonic_now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// A barrier or a start line that some step of some role comes to in a phase.
#[derive(Debug, Default)]
pub(crate) struct MeetingPoints {
    /// Where a role waits for the others before its step, or as its step.
    pub(crate) barriers: HashMap<StepPlace, Arc<tokio::sync::Barrier>>,
    /// Where a role's program is held until all of them go.
    pub(crate) starts: HashMap<StepPlace, Arc<StartLine>>,
    /// The starts that are told of: each line with all of its steps.
    lines: Vec<(Arc<StartLine>, Vec<StepPlace>)>,
    /// The iterations of each role that several hosts play: the same one on all of them.
    iterations: IndexMap<RoleName, Vec<Vec<StepPlace>>>,
    phase: Option<Phase>,
}

impl MeetingPoints {
    /// The meetings of a phase. The first programs of `run` start together, so do the next ones after
    /// a barrier, and each iteration of a step on all hosts of its role; a program that would start together with no other isn't held.
    pub(crate) fn new(roles: &[RoleTrial], phase: Phase, notice: &Arc<Mutex<Notice>>) -> Self {
        let mut at_barrier: HashMap<&str, Vec<StepPlace>> = HashMap::new();
        let mut together: Vec<(String, Vec<StepPlace>)> = Vec::new();
        let mut after_barrier: IndexMap<&str, Vec<StepPlace>> = IndexMap::new();
        let mut first = Vec::new();
        for (role, steps) in roles
            .iter()
            .enumerate()
            .map(|(n, r)| (n, r.steps.get(&phase)))
        {
            let steps = steps.map_or(&[][..], Vec::as_slice);
            let program = |number: usize| {
                steps
                    .get(number)
                    .is_some_and(|s| !matches!(s.action, FilledAction::Barrier(_)))
            };
            if phase == Phase::Run && program(0) {
                first.push((role, 0));
            }
            for (number, step) in steps.iter().enumerate() {
                if let FilledAction::Barrier(name) = &step.action {
                    at_barrier.entry(name).or_default().push((role, number));
                    if program(number + 1) {
                        after_barrier
                            .entry(name)
                            .or_default()
                            .push((role, number + 1));
                    }
                }
            }
        }
        together.push((phase.to_string(), first));
        let after_barrier = after_barrier.into_iter();
        together.extend(after_barrier.map(|(name, places)| (name.to_owned(), places)));
        let mut meetings = Self {
            phase: Some(phase),
            ..Self::default()
        };
        for places in at_barrier.into_values() {
            let barrier = Arc::new(tokio::sync::Barrier::new(places.len()));
            meetings.barriers.extend(
                places
                    .into_iter()
                    .map(|place| (place, Arc::clone(&barrier))),
            );
        }
        for (name, places) in together.into_iter().filter(|(_, places)| places.len() > 1) {
            let line = Arc::new(StartLine::new(name, places.len(), Arc::clone(notice)));
            let steps = places.iter();
            meetings
                .starts
                .extend(steps.map(|place| (*place, Arc::clone(&line))));
            meetings.lines.push((line, places));
        }
        for (role, places) in iterations(roles, phase) {
            // One that begins with the phase, or after a barrier, is at a line already.
            if !meetings.starts.contains_key(&places[0]) {
                // A program that is held is loaded, and held for a limited time: first all are there.
                let barrier = Arc::new(tokio::sync::Barrier::new(places.len()));
                let line = StartLine::new(phase.to_string(), places.len(), Arc::clone(notice));
                let line = Arc::new(line);
                for place in &places {
                    meetings.barriers.insert(*place, Arc::clone(&barrier));
                    meetings.starts.insert(*place, Arc::clone(&line));
                }
            }
            meetings.iterations.entry(role).or_default().push(places);
        }
        meetings
    }

    /// How exactly programs began together.
    pub(crate) fn kept(&self) -> Vec<Meeting> {
        let of_lines = self.lines.iter().filter_map(|(line, steps)| {
            let skew_ns = line.skew_of(steps)?;
            Some(meeting(
                MeetingKind::Start,
                None,
                line.name.clone(),
                steps,
                vec![skew_ns],
            ))
        });
        let of_iterations = self.iterations.iter().filter_map(|(role, iterations)| {
            let skew = |steps: &Vec<StepPlace>| self.starts.get(&steps[0])?.skew_of(steps);
            let skews_ns: Vec<u64> = iterations.iter().filter_map(skew).collect();
            let name = self.phase?.to_string();
            let role = Some(role.clone());
            let any = iterations.first().filter(|_| !skews_ns.is_empty())?;
            Some(meeting(MeetingKind::Iteration, role, name, any, skews_ns))
        });
        of_lines.chain(of_iterations).collect()
    }
}

fn meeting(
    kind: MeetingKind,
    role: Option<RoleName>,
    name: String,
    steps: &[StepPlace],
    skews_ns: Vec<u64>,
) -> Meeting {
    Meeting {
        kind,
        role,
        name,
        parties: u32::try_from(steps.len()).unwrap_or(u32::MAX),
        times: skews_ns.len() as u64,
        skew: Skew::new(skews_ns),
    }
}

/// The iterations of a phase on all hosts of their role, of roles that several hosts play.
fn iterations(roles: &[RoleTrial], phase: Phase) -> Vec<(RoleName, Vec<StepPlace>)> {
    // Where a host is put back, nobody waits.
    if phase.always() {
        return Vec::new();
    }
    let mut same: IndexMap<(&RoleName, usize), Vec<StepPlace>> = IndexMap::new();
    for (instance, role) in roles.iter().enumerate() {
        let steps = role.steps.get(&phase).into_iter().flatten().enumerate();
        for (number, _) in steps.filter(|(_, step)| step.iteration.is_some()) {
            let of_all = same.entry((&role.role, number)).or_default();
            of_all.push((instance, number));
        }
    }
    let several = same.into_iter().filter(|(_, places)| places.len() > 1);
    several
        .map(|((role, _), places)| (role.clone(), places))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{FilledStep, HostName};
    use std::time::Duration;

    fn role(name: &str, steps: &[&str]) -> RoleTrial {
        let filled = steps
            .iter()
            .map(|text| {
                let action = match text.strip_prefix('|') {
                    Some(barrier) => FilledAction::Barrier(barrier.into()),
                    None => FilledAction::Run,
                };
                FilledStep {
                    action,
                    iteration: text
                        .strip_prefix('#')
                        .and_then(|number| number.parse().ok()),
                    command: (*text).into(),
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
            })
            .collect();
        RoleTrial {
            role: RoleName::new(name).unwrap(),
            host: HostName::new(name).unwrap(),
            processors: None,
            steps: [(Phase::Run, filled)].into_iter().collect(),
        }
    }

    #[test]
    fn first_programs_and_those_after_a_barrier_start_together() {
        let roles = [
            role("a", &["x", "|go", "y"]),
            role("b", &["x", "|go"]),
            role("c", &["|go", "z"]),
        ];
        let meetings = MeetingPoints::new(&roles, Phase::Run, &Default::default());
        let mut starts: Vec<_> = meetings.starts.keys().copied().collect();
        starts.sort_unstable();
        assert_eq!(starts, [(0, 0), (0, 2), (1, 0), (2, 1)]);
        assert!(Arc::ptr_eq(
            &meetings.starts[&(0, 2)],
            &meetings.starts[&(2, 1)]
        ));
        assert_eq!(meetings.barriers.len(), 3);
    }

    #[test]
    fn nobody_is_held_who_starts_alone() {
        assert!(
            MeetingPoints::new(&[role("a", &["x"])], Phase::Run, &Default::default())
                .starts
                .is_empty()
        );
        assert!(
            MeetingPoints::new(
                &[role("a", &["x"]), role("b", &["x"])],
                Phase::Collect,
                &Default::default()
            )
            .starts
            .is_empty()
        );
    }
    #[test]
    fn each_iteration_begins_on_all_hosts_of_its_role_and_its_skew_is_kept() {
        let mut roles = [
            role("client", &["#1", "#2", "x"]),
            role("client", &["#1", "#2", "x"]),
            role("server", &["y"]),
        ];
        roles[1].host = HostName::new("other").unwrap();
        let meetings = MeetingPoints::new(&roles, Phase::Run, &Default::default());
        let line = |instance, number| &meetings.starts[&(instance, number)];
        // The first begins with the phase.
        assert!(Arc::ptr_eq(line(0, 0), line(2, 0)));
        assert!(Arc::ptr_eq(line(0, 1), line(1, 1)));
        let mut waits: Vec<_> = meetings.barriers.keys().copied().collect();
        waits.sort_unstable();
        assert_eq!(waits, [(0, 1), (1, 1)]);
        for (step, at_ns) in [((0, 0), 10), ((1, 0), 14), ((2, 0), 30), ((0, 1), 50)] {
            meetings.starts[&step].begin(step, at_ns);
        }
        let kept = |meetings: &MeetingPoints| {
            let kept = meetings.kept().into_iter();
            kept.map(|it| (it.kind, it.parties, it.times, it.skew.unwrap().largest_ns))
                .collect::<Vec<_>>()
        };
        // The second hasn't begun on all.
        let start = (MeetingKind::Start, 3, 1, 20);
        assert_eq!(kept(&meetings), [start, (MeetingKind::Iteration, 2, 1, 4)]);
        meetings.starts[&(1, 1)].begin((1, 1), 57);
        assert_eq!(kept(&meetings), [start, (MeetingKind::Iteration, 2, 2, 7)]);

        // In a phase whose first programs don't begin together, the first iteration does.
        let steps = roles
            .each_mut()
            .map(|role| role.steps.shift_remove(&Phase::Run));
        for (role, steps) in roles.iter_mut().zip(steps) {
            role.steps.insert(Phase::Startup, steps.unwrap());
        }
        let meetings = MeetingPoints::new(&roles, Phase::Startup, &Default::default());
        assert_eq!((meetings.barriers.len(), meetings.starts.len()), (4, 4));
        assert!(
            MeetingPoints::new(&roles[..1], Phase::Startup, &Default::default())
                .starts
                .is_empty()
        );
    }
}
