//! Starting together: programs are loaded and held on every host, and let go at one agreed instant.
//!
//! Nobody starts before everybody is there.

use backsight_model::{FilledAction, Meeting, MeetingKind, Phase, RoleTrial, Skew};
use indexmap::IndexMap;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

use crate::notice::Notice;

/// Where some roles wait for each other to start together.
#[derive(Debug)]
pub(crate) struct StartLine {
    /// The phase that begins so, or the barrier after which they start.
    name: String,
    expected: usize,
    arrived: Mutex<usize>,
    /// When they began, on our monotonic clock in nanoseconds.
    began: Mutex<Vec<u64>>,
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
    pub(crate) fn begin(&self, at_ns: u64) {
        let mut began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        began.push(at_ns);
    }

    /// How exactly they began together, if all have.
    fn meeting(&self) -> Option<Meeting> {
        let began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, last) = (began.iter().min()?, began.iter().max()?);
        (began.len() == self.expected).then(|| Meeting {
            kind: MeetingKind::Start,
            role: None,
            name: self.name.clone(),
            parties: u32::try_from(self.expected).unwrap_or(u32::MAX),
            times: 1,
            skew: Skew::new(vec![last - first]),
        })
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
    /// Where a role waits for the others, by (role's number, step's number).
    pub(crate) barriers: HashMap<(usize, usize), Arc<tokio::sync::Barrier>>,
    /// Where a role's program is held until all of them go.
    pub(crate) starts: HashMap<(usize, usize), Arc<StartLine>>,
    /// Each of them once.
    lines: Vec<Arc<StartLine>>,
}

impl MeetingPoints {
    /// The meetings of a phase. The first programs of `run` start together, and so do the next ones after
    /// a barrier; a program that would start together with no other isn't held.
    pub(crate) fn new(roles: &[RoleTrial], phase: Phase, notice: &Arc<Mutex<Notice>>) -> Self {
        let mut at_barrier: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        let mut together: Vec<(String, Vec<(usize, usize)>)> = Vec::new();
        let mut after_barrier: IndexMap<&str, Vec<(usize, usize)>> = IndexMap::new();
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
        let mut meetings = Self::default();
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
            meetings.lines.push(Arc::clone(&line));
            meetings
                .starts
                .extend(places.into_iter().map(|place| (place, Arc::clone(&line))));
        }
        meetings
    }

    /// How exactly programs began together.
    pub(crate) fn kept(&self) -> Vec<Meeting> {
        self.lines
            .iter()
            .filter_map(|line| line.meeting())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{FilledStep, HostName, RoleName};
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
                    command: (*text).into(),
                    timeout: Duration::from_secs(1),
                    expect: vec![0],
                    env: Vec::new(),
                    shell: None,
                    output_limit: 1,
                    folder: None,
                }
            })
            .collect();
        RoleTrial {
            role: RoleName::new(name).unwrap(),
            host: HostName::new(name).unwrap(),
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
}
