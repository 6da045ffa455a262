//! The loop of every verb that measures: evidence to a policy, its request to a measurer, the result to the store.
//!
//! A study has one measurer, or several that measure at once, each on its own testbed. An idle one gets the next request;
//! whatever ends first is stored first. Long work beside measuring (deciding, writing to the disk) is done while the other
//! testbeds go on, so that no trial waits for it.

use backsight_conductor::Events;
use backsight_model::{
    BootRecord, BuildRecord, Cell, Event, MetricName, MetricSamples, OnFailure, StudyName,
    StudyState, SuspectRange, TestbedName, TrialRecord, Version,
};
use backsight_policy::{
    ChangeLocation, Decision, Evidence, Observation, Policy, Request, RequestOutcome,
};
use backsight_store::{Store, StoreError, StudyId, StudyRow};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// How many builds may be made ahead of the one that is measured.
const AHEAD: usize = 2;
/// A policy isn't asked more often what it foresees: that takes it as long as a decision, and is for who watches.
const FORESEEN: Duration = Duration::from_secs(1);

/// What came of asking a measurer.
#[derive(Debug)]
pub enum Measurement {
    /// A trial; its outcome may be a failure.
    Trial(Box<TrialRecord>),
    /// First there had to be a build; here it is, or why there is none. Ask again.
    Built(Box<BuildRecord>),
    /// There is no such build: it was made ahead, and told then. Why there is none.
    NoBuild(String),
    /// First it had to be booted; here is what came of it. Ask again.
    Booted(Box<BootRecord>),
    /// The user wants to stop; nothing was measured.
    Interrupted,
}

/// Why nothing more can be measured for now.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unmeasurable(pub String);

/// Turns a request into a trial. Policies can't tell which kind of measurer answers.
pub trait Measurer {
    /// Executes what is asked.
    ///
    /// # Errors
    /// Nothing can be measured until somebody has mended something.
    fn measure(
        &mut self,
        request: Request,
    ) -> impl Future<Output = Result<Measurement, Unmeasurable>>;

    /// Learns of a cell after those that it knows; of a policy that makes cells as it goes.
    fn add_cell(&mut self, _cell: Cell) {}

    /// Where builds are told that are made while something is measured; asked for once. None of a measurer that makes
    /// none.
    fn background_builds(&mut self) -> Option<mpsc::UnboundedReceiver<Box<BuildRecord>>> {
        None
    }

    /// Says on which builds the requests after the next one will be, if all goes well. Said only where some may be made
    /// ahead.
    fn announce_requests(&mut self, _coming: Vec<Request>) {}
}

/// A study as the loop measures it.
#[derive(Debug, Clone)]
pub struct StudySetup {
    /// Its number in the store.
    pub id: StudyId,
    /// Its name.
    pub name: StudyName,
    /// Its cells, by number.
    pub cells: Vec<Cell>,
    /// Rounds, for the display.
    pub rounds: u32,
    /// Seed of its order, for the display.
    pub seed: u32,
    /// What happens after a failed trial.
    pub on_failure: OnFailure,
    /// The versions of its target, by position; none where the software is measured as it is found.
    pub versions: Vec<Version>,
    /// Trials that it has already.
    pub trials: u32,
    /// The testbeds that measure at once, in the order of their measurers; none where it is measured on its plan's alone.
    pub testbeds: Vec<TestbedName>,
    /// Boots that can be gone back to, with their numbers. `None` where none can be, because what was booted ends with the
    /// next boot.
    pub boots: Option<HashMap<BootPlace, u32>>,
}

impl StudySetup {
    /// A study of the software as it is found, with the plan's rounds to be filled in.
    pub(crate) fn as_found(row: &StudyRow, cells: Vec<Cell>, evidence: &Evidence) -> Self {
        Self {
            id: row.id,
            name: row.name.clone(),
            cells,
            rounds: 0,
            seed: row.seed,
            on_failure: OnFailure::default(),
            versions: Vec::new(),
            trials: u32::try_from(evidence.observations.len()).unwrap_or(u32::MAX),
            testbeds: Vec::new(),
            boots: None,
        }
    }
}

/// What tells boots of a study apart: testbed, version, layout, ordinal.
pub type BootPlace = (usize, usize, usize, u32);

/// How far a study came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress<Verdict> {
    /// The policy's answer, if it came to one.
    pub verdict: Option<Verdict>,
    /// Trials with samples, of this and of earlier runs of the loop.
    pub measured: usize,
    /// Failed trials, likewise.
    pub failed: usize,
    /// Trials that are still to do.
    pub left: usize,
    /// Why it stopped before its end, if it did.
    pub stopped: Option<String>,
    /// The user stopped it.
    pub interrupted: bool,
}

impl<Verdict> Progress<Verdict> {
    /// How far it came, without the answer.
    pub fn without_verdict(self) -> Progress<()> {
        self.map_verdict(|_| Some(()))
    }

    fn map_verdict<Other>(self, map: impl FnOnce(Verdict) -> Option<Other>) -> Progress<Other> {
        Progress {
            verdict: self.verdict.and_then(map),
            measured: self.measured,
            failed: self.failed,
            left: self.left,
            stopped: self.stopped,
            interrupted: self.interrupted,
        }
    }
}

/// Why a study broke off.
#[derive(Debug, thiserror::Error)]
pub enum StudyLoopError {
    /// The last trial couldn't be kept. It isn't in the store, and will be measured again.
    #[error("trial {trial} can't be kept: {cause}")]
    Store {
        /// The trial's number.
        trial: u32,
        /// What the store said.
        cause: StoreError,
    },
    /// The study's state can't be read or written.
    #[error(transparent)]
    State(#[from] StoreError),
}

/// Measures what the policy asks for, on all measurers at once, until it has its verdict, the user stops, or nothing can be
/// measured. What is under way then comes to its end.
///
/// Every build, boot and trial is durable before the next one of its testbed begins. What is evidence already isn't
/// measured again.
///
/// # Errors
/// The store refuses. What was kept before stays.
#[tracing::instrument(name = "study", level = "info", skip_all, fields(id = study.id.0, name = %study.name))]
pub async fn run_study_loop<P: Policy, M: Measurer>(
    policy: &P,
    study: StudySetup,
    evidence: Evidence,
    store: &Store,
    measurers: &mut [M],
    events: &Events,
) -> Result<Progress<P::Verdict>, StudyLoopError> {
    let policy = Arc::new(PolicyWithVerdict {
        policy: policy.clone(),
        verdict: Mutex::new(None),
    });
    let study_loop = StudyLoop {
        testbeds: measurers.iter().map(|_| TestbedState::default()).collect(),
        foreseen: None,
        policy: Arc::<PolicyWithVerdict<P>>::clone(&policy),
        study,
        evidence: Arc::new(evidence),
        store,
        events,
        round: 0,
        builds_ahead: measurers.iter_mut().find_map(Measurer::background_builds),
    };
    let progress = study_loop.run(measurers).await?;
    Ok(progress.map_verdict(|()| policy.take_verdict()))
}

/// What the loop asks of a policy, whatever its verdict is: one loop is compiled for all of them.
trait LoopPolicy: Send + Sync {
    /// As [`Policy::decide_for_testbed`].
    fn decide_for_testbed(
        &self,
        evidence: &Evidence,
        testbed: usize,
        under_way: &[Request],
    ) -> Option<Decision<()>>;
    /// As [`Policy::left`].
    fn remaining_trials(&self, evidence: &Evidence) -> usize;
    /// As [`Policy::cell`].
    fn cell(&self, evidence: &Evidence, request: Request) -> Option<Cell>;
    /// As [`Policy::coming`].
    fn upcoming_builds(&self, evidence: &Evidence, most: usize) -> Vec<Request>;
    /// As [`Policy::suspects`].
    fn suspects(&self, evidence: &Evidence) -> Vec<(ChangeLocation, f64)>;
}

/// A policy with its verdict, once it has one.
struct PolicyWithVerdict<P: Policy> {
    policy: P,
    verdict: Mutex<Option<P::Verdict>>,
}

impl<P: Policy> PolicyWithVerdict<P> {
    fn take_verdict(&self) -> Option<P::Verdict> {
        self.verdict
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl<P: Policy> LoopPolicy for PolicyWithVerdict<P> {
    fn decide_for_testbed(
        &self,
        evidence: &Evidence,
        testbed: usize,
        under_way: &[Request],
    ) -> Option<Decision<()>> {
        Some(
            match self
                .policy
                .decide_for_testbed(evidence, testbed, under_way)?
            {
                Decision::Measure(request) => Decision::Measure(request),
                Decision::Done(verdict) => {
                    *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
                    Decision::Done(())
                }
            },
        )
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        self.policy.remaining_trials(evidence)
    }

    fn cell(&self, evidence: &Evidence, request: Request) -> Option<Cell> {
        self.policy.cell(evidence, request)
    }

    fn upcoming_builds(&self, evidence: &Evidence, most: usize) -> Vec<Request> {
        self.policy.upcoming_builds(evidence, most)
    }

    fn suspects(&self, evidence: &Evidence) -> Vec<(ChangeLocation, f64)> {
        self.policy.suspects(evidence)
    }
}

/// The loop of a study that is under way.
struct StudyLoop<'a> {
    policy: Arc<dyn LoopPolicy>,
    study: StudySetup,
    evidence: Arc<Evidence>,
    store: &'a Store,
    events: &'a Events,
    /// The round that was told last.
    round: u32,
    /// By testbed.
    testbeds: Vec<TestbedState>,
    /// What the policy foresaw when it was asked for that last.
    foreseen: Option<Foreseen>,
    /// Where builds are told that are made ahead.
    builds_ahead: Option<mpsc::UnboundedReceiver<Box<BuildRecord>>>,
}

/// What one testbed is doing.
#[derive(Default)]
struct TestbedState {
    /// The request that is under way.
    under_way: Option<Request>,
    /// The request that was told last.
    announced: Option<Request>,
    /// Number of the boot that trials run on; 0 where nothing is booted.
    boot: u32,
}

/// How much is left, as far as a policy could tell when the study had so many trials.
#[derive(Clone, Copy)]
struct Foreseen {
    at: Instant,
    trials: usize,
    left: usize,
}

/// What the policy says when it is asked for a testbed.
struct PolicyAnswer {
    decision: Option<Decision<()>>,
    /// What is suspected and how much is left, unless it was asked for the same before, or a moment ago.
    foreseen: Option<(Vec<(ChangeLocation, f64)>, usize)>,
    /// What will be built next, where that can be done ahead.
    coming: Vec<Request>,
}

/// A measurer that has come to the end of what it was asked.
struct Ended<'m, M> {
    testbed: usize,
    measurer: &'m mut M,
    measured: Result<Measurement, Unmeasurable>,
}

async fn measure_request<M: Measurer>(
    testbed: usize,
    measurer: &mut M,
    request: Request,
) -> Ended<'_, M> {
    let measured = measurer.measure(request).await;
    Ended {
        testbed,
        measurer,
        measured,
    }
}

/// Does this while what is busy goes on; what comes to its end meanwhile is put aside.
async fn run_meanwhile<T, E>(
    busy: &mut FuturesUnordered<impl Future<Output = E>>,
    ended: &mut VecDeque<E>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            Some(one) = busy.next() => ended.push_back(one),
        }
    }
}

/// Why the last request failed, if it did.
type FailureOrStoreError = Result<Option<String>, StoreError>;
/// Why a study stopped before its end, and whether the user stopped it.
type Stop = (String, bool);

/// What follows from what came of a testbed's request.
enum Next {
    /// The policy says.
    Ask,
    /// It is booted for this: that is measured, whatever others do by now. If it were asked again, two testbeds could each
    /// boot something else for ever because the other one does.
    Measure(Request),
    /// Nothing more is asked for.
    Stop(Stop),
}

impl StudyLoop<'_> {
    async fn run<M: Measurer>(
        mut self,
        measurers: &mut [M],
    ) -> Result<Progress<()>, StudyLoopError> {
        self.start().await?;
        match self.measure_all(measurers).await {
            Ok(stop) => Ok(self.finish(stop).await?),
            Err(cause) => Err(self.study_loop_error(cause).await),
        }
    }

    /// Tells that the study begins, or goes on, and stores it.
    async fn start(&self) -> Result<(), StoreError> {
        let (study, trials) = (&self.study, self.study.trials as usize);
        self.events.emit(&Event::StudyStarted {
            study: study.id.0,
            name: study.name.clone(),
            trials: trials + self.policy.remaining_trials(&self.evidence),
            done: trials,
            seed: study.seed,
        });
        self.store.set_state(study.id, StudyState::Running).await
    }

    /// The loop: asks for every idle measurer, then keeps what ends first. Why it stopped before the policy was done, if it
    /// did.
    async fn measure_all<M: Measurer>(
        &mut self,
        measurers: &mut [M],
    ) -> Result<Option<Stop>, StoreError> {
        let mut idle: Vec<Option<&mut M>> = measurers.iter_mut().map(Some).collect();
        let (mut busy, mut ended) = (FuturesUnordered::new(), VecDeque::new());
        let mut stop: Option<Stop> = None;
        loop {
            for testbed in 0..idle.len() {
                let Some(measurer) = idle[testbed].take().filter(|_| stop.is_none()) else {
                    continue;
                };
                let asked = run_meanwhile(&mut busy, &mut ended, self.ask(testbed)).await;
                match asked.decision {
                    None => idle[testbed] = Some(measurer),
                    Some(Decision::Done(())) => return Ok(None),
                    Some(Decision::Measure(request)) => {
                        if let Some(cell) = self.add_cell(request).await? {
                            let others = idle.iter_mut().flatten();
                            others.for_each(|other| other.add_cell(cell.clone()));
                            measurer.add_cell(cell);
                        }
                        self.announce(testbed, request, asked.foreseen);
                        if self.builds_ahead.is_some() {
                            measurer.announce_requests(asked.coming);
                        }
                        self.testbeds[testbed].under_way = Some(request);
                        busy.push(measure_request(testbed, measurer, request));
                    }
                }
            }
            let first = match ended.pop_front() {
                Some(first) => Some(first),
                None => self.first_ended(&mut busy).await?,
            };
            let Some(Ended {
                testbed,
                measurer,
                measured,
            }) = first
            else {
                let nobody = || ("no testbed has anything to do".to_owned(), false);
                return Ok(Some(stop.unwrap_or_else(nobody)));
            };
            let settled = self.settle(testbed, measured);
            let next = run_meanwhile(&mut busy, &mut ended, settled).await?;
            if let (Next::Measure(request), None) = (&next, &stop) {
                self.testbeds[testbed].under_way = Some(*request);
                busy.push(measure_request(testbed, measurer, *request));
                continue;
            }
            idle[testbed] = Some(measurer);
            if let Next::Stop(why) = next {
                stop.get_or_insert(why);
            }
        }
    }

    /// What ends first, with what is built ahead kept before; nothing if nobody is busy.
    async fn first_ended<E>(
        &mut self,
        busy: &mut FuturesUnordered<impl Future<Output = E>>,
    ) -> Result<Option<E>, StoreError> {
        let Some(mut ahead) = self.builds_ahead.take() else {
            return Ok(busy.next().await);
        };
        let mut kept = Ok(());
        let first = loop {
            tokio::select! {
                Some(build) = ahead.recv() => kept = kept.and(self.keep(None, &build).await),
                first = busy.next() => break first,
            }
        };
        self.builds_ahead = Some(ahead);
        kept.and(self.store_background_builds().await)?;
        Ok(first)
    }

    /// Asks the policy what a testbed does next, on a thread of its own.
    async fn ask(&self, testbed: usize) -> PolicyAnswer {
        let (policy, evidence) = (Arc::clone(&self.policy), Arc::clone(&self.evidence));
        let under_way = self.testbeds.iter().filter_map(|it| it.under_way);
        let under_way: Vec<Request> = under_way.collect();
        let announced = self.testbeds[testbed].announced;
        let ahead = self.builds_ahead.is_some();
        let is_due = self
            .foreseen
            .is_none_or(|foreseen| foreseen.at.elapsed() >= FORESEEN);
        let asked = tokio::task::spawn_blocking(move || {
            let decision = policy.decide_for_testbed(&evidence, testbed, &under_way);
            let is_new = match &decision {
                Some(Decision::Measure(request)) => announced != Some(*request),
                _ => false,
            };
            let mut coming = match ahead {
                true => policy.upcoming_builds(&evidence, AHEAD + 1),
                false => Vec::new(),
            };
            // The first of them is the one that is asked for now.
            coming.drain(..1.min(coming.len()));
            PolicyAnswer {
                foreseen: (is_new && is_due).then(|| {
                    (
                        policy.suspects(&evidence),
                        policy.remaining_trials(&evidence),
                    )
                }),
                decision,
                coming,
            }
        });
        match asked.await {
            Ok(asked) => asked,
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }

    /// How many more trials the policy will ask for; worked out on a thread of its own.
    async fn remaining_trials(&self) -> usize {
        let (policy, evidence) = (Arc::clone(&self.policy), Arc::clone(&self.evidence));
        let left = tokio::task::spawn_blocking(move || policy.remaining_trials(&evidence));
        match left.await {
            Ok(left) => left,
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }

    /// Keeps what came of a testbed's request.
    async fn settle(
        &mut self,
        testbed: usize,
        measured: Result<Measurement, Unmeasurable>,
    ) -> Result<Next, StoreError> {
        let Some(request) = self.testbeds[testbed].under_way.take() else {
            return Ok(Next::Ask);
        };
        let (failure, next) = match measured {
            Err(Unmeasurable(why)) => {
                let why = match self.study.testbeds.get(testbed) {
                    Some(name) => format!("testbed {name}: {why}"),
                    None => why,
                };
                return Ok(Next::Stop((why, false)));
            }
            Ok(Measurement::Interrupted) => {
                return Ok(Next::Stop(("stopped by the user".to_owned(), true)));
            }
            Ok(Measurement::Built(build)) => (self.store_build(request, &build).await?, Next::Ask),
            Ok(Measurement::NoBuild(why)) => (Some(self.fail_build(request, &why)), Next::Ask),
            Ok(Measurement::Booted(boot)) => match self.store_boot(request, &boot).await? {
                None => (None, Next::Measure(request)),
                failed => (failed, Next::Ask),
            },
            Ok(Measurement::Trial(record)) => {
                (self.store_trial(request, *record).await?, Next::Ask)
            }
        };
        let stops = self.study.on_failure == OnFailure::Stop;
        Ok(match failure.filter(|_| stops) {
            Some(why) => Next::Stop((format!("{why}; the plan says to stop then"), false)),
            None => next,
        })
    }

    /// Where is told what happens on a testbed.
    fn events_on(&self, testbed: usize) -> Events {
        match self.study.testbeds.get(testbed) {
            Some(name) => self.events.on_testbed(name.clone()),
            None => self.events.clone(),
        }
    }

    fn observe(
        &mut self,
        request: Request,
        outcome: RequestOutcome,
        figures: BTreeMap<MetricName, f64>,
        took: Duration,
    ) {
        let evidence = Arc::make_mut(&mut self.evidence);
        evidence.observations.push(Observation {
            request,
            outcome,
            figures,
            took,
        });
    }

    /// Makes the cell that a request is about, where the study hasn't it yet. A cell that was kept before a trial of it
    /// could be is there again after a resume: the same evidence asks for the same.
    async fn add_cell(&mut self, request: Request) -> Result<Option<Cell>, StoreError> {
        let number = self.study.cells.len();
        if request.cell != number {
            return Ok(None);
        }
        let cell = self.policy.cell(&self.evidence, request);
        if let Some(cell) = &cell {
            self.store.add_cell(self.study.id, number, cell).await?;
            self.study.cells.push(cell.clone());
        }
        Ok(cell)
    }

    /// What the study is now is on disk as far as the disk allows; `resume` finds the rest.
    async fn study_loop_error(&self, cause: StoreError) -> StudyLoopError {
        let _ = self
            .store
            .set_state(self.study.id, StudyState::Stopped)
            .await;
        let trial = self.study.trials + 1;
        StudyLoopError::Store { trial, cause }
    }

    /// Says what is measured next on a testbed; once, even where a build and a boot come before it.
    fn announce(
        &mut self,
        testbed: usize,
        request: Request,
        foreseen: Option<(Vec<(ChangeLocation, f64)>, usize)>,
    ) {
        if self.testbeds[testbed].announced.replace(request) == Some(request) {
            return;
        }
        let events = self.events_on(testbed);
        let trials = self.study.trials as usize;
        let suspects = match foreseen {
            None => Vec::new(),
            Some((suspects, left)) => {
                let at = Instant::now();
                self.foreseen = Some(Foreseen { at, trials, left });
                suspects
            }
        };
        let left = self.foreseen.map_or(1, |foreseen| {
            let since = trials - foreseen.trials;
            foreseen.left.saturating_sub(since).max(1)
        });
        if !suspects.is_empty() {
            let changes = suspects
                .into_iter()
                .map(|(place, probability)| SuspectRange {
                    after: self.version(place.after),
                    until: self.version(place.until),
                    places: [place.after, place.until],
                    probability,
                });
            events.emit(&Event::Suspected {
                changes: changes.collect(),
                versions: self.study.versions.len(),
            });
        }
        if request.round != self.round {
            self.round = request.round;
            events.emit(&Event::RoundStarted {
                round: request.round,
                of: self.study.rounds,
            });
        }
        let version = self.study.versions.get(request.version);
        events.emit(&Event::TrialStarted {
            trial: self.study.trials + 1,
            of: trials + left,
            round: request.round,
            cell: self.study.cells[request.cell].clone(),
            version: version.map(Version::full_name),
        });
    }

    fn version(&self, position: usize) -> String {
        let version = self.study.versions.get(position);
        version.map_or_else(String::new, Version::full_name)
    }

    /// Keeps the builds that were made ahead and not kept yet.
    async fn store_background_builds(&mut self) -> Result<(), StoreError> {
        let ahead = &mut self.builds_ahead;
        let mut told = Vec::new();
        while let Some(Ok(build)) = ahead.as_mut().map(mpsc::UnboundedReceiver::try_recv) {
            told.push(build);
        }
        for build in told {
            self.keep(None, &build).await?;
        }
        Ok(())
    }

    /// Keeps a build that a testbed asked for, or one that was made ahead.
    async fn keep(
        &mut self,
        testbed: Option<usize>,
        build: &BuildRecord,
    ) -> Result<(), StoreError> {
        self.store.record_build(self.study.id, build).await?;
        if !build.cached {
            Arc::make_mut(&mut self.evidence).builds.push(build.took);
        }
        let events = match testbed {
            Some(testbed) => self.events_on(testbed),
            None => self.events.clone(),
        };
        events.emit(&Event::BuildFinished {
            version: self.version(build.version),
            layout: build.layout,
            cached: build.cached,
            failure: build.failure.as_ref().map(ToString::to_string),
            seconds: build.took.as_secs_f64(),
            ahead: testbed.is_none(),
        });
        Ok(())
    }

    async fn store_build(&mut self, request: Request, build: &BuildRecord) -> FailureOrStoreError {
        self.keep(Some(request.testbed), build).await?;
        let failure = build.failure.as_ref().map(ToString::to_string);
        Ok(failure.map(|why| self.fail_build(request, &why)))
    }

    fn fail_build(&mut self, request: Request, why: &str) -> String {
        self.observe(
            request,
            RequestOutcome::NoBuild,
            BTreeMap::new(),
            Duration::ZERO,
        );
        format!("{} has no build: {why}", self.version(request.version))
    }

    async fn store_boot(&mut self, request: Request, boot: &BootRecord) -> FailureOrStoreError {
        let testbed = request.testbed;
        let place = (testbed, request.version, request.layout, request.boot);
        let known = self.study.boots.as_ref();
        if let Some(known) = known.and_then(|boots| boots.get(&place)) {
            self.testbeds[testbed].boot = *known;
            return Ok(None);
        }
        let number = self.store.record_boot(self.study.id, boot).await?;
        for (guest, record) in &boot.guests {
            self.store
                .record_guest(self.study.id, guest, boot.began, record)
                .await?;
        }
        Arc::make_mut(&mut self.evidence).boots.push(boot.took);
        self.events_on(testbed).emit(&Event::BootFinished {
            version: self.version(boot.version),
            layout: boot.layout,
            ordinal: boot.ordinal,
            failure: boot.failure.clone(),
            seconds: boot.took.as_secs_f64(),
        });
        match &boot.failure {
            Some(why) => {
                self.observe(
                    request,
                    RequestOutcome::NoBoot,
                    BTreeMap::new(),
                    Duration::ZERO,
                );
                Ok(Some(format!(
                    "{} didn't boot: {why}",
                    self.version(boot.version)
                )))
            }
            None => {
                if let Some(boots) = &mut self.study.boots {
                    boots.insert(place, number);
                }
                self.testbeds[testbed].boot = number;
                Ok(None)
            }
        }
    }

    async fn store_trial(
        &mut self,
        request: Request,
        mut record: TrialRecord,
    ) -> FailureOrStoreError {
        record.boot = self.testbeds[request.testbed].boot;
        let events = self.events_on(request.testbed);
        let trial = self.study.trials + 1;
        let cell = self.study.cells[request.cell].clone();
        self.store
            .record_trial(self.study.id, trial, request.cell, request.round, &record)
            .await?;
        self.study.trials = trial;
        for message in &record.warnings {
            events.emit(&Event::Warning {
                message: message.clone(),
            });
        }
        let (samples, failure) = match record.outcome {
            Ok(samples) => (samples, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        let outcome = match failure {
            None => RequestOutcome::Measured,
            Some(_) => RequestOutcome::Failed,
        };
        self.observe(request, outcome, figures(&samples), record.took);
        let why = failure.as_ref().map(|why| format!("a trial failed: {why}"));
        events.emit(&Event::TrialFinished {
            trial,
            of: trial as usize + self.remaining_trials().await,
            cell,
            samples,
            meetings: record.meetings,
            clocks: record.clocks,
            failure,
            seconds: record.took.as_secs_f64(),
        });
        Ok(why)
    }

    /// Stores how the study ended, and tells it.
    async fn finish(mut self, stop: Option<Stop>) -> Result<Progress<()>, StoreError> {
        let state = match stop {
            None => StudyState::Finished,
            Some(_) => StudyState::Stopped,
        };
        self.store.set_state(self.study.id, state).await?;
        self.store_background_builds().await?;
        let count = |outcome| {
            let with = |o: &&Observation| o.outcome == outcome;
            self.evidence.observations.iter().filter(with).count()
        };
        let (measured, failed) = (
            count(RequestOutcome::Measured),
            count(RequestOutcome::Failed),
        );
        let left = match stop {
            None => 0,
            Some(_) => self.policy.remaining_trials(&self.evidence),
        };
        self.events.emit(&Event::StudyFinished {
            study: self.study.id.0,
            name: self.study.name.clone(),
            measured,
            failed,
            left,
        });
        let interrupted = stop.as_ref().is_some_and(|(_, by_user)| *by_user);
        Ok(Progress {
            verdict: stop.is_none().then_some(()),
            measured,
            failed,
            left,
            stopped: stop.map(|(why, _)| why),
            interrupted,
        })
    }
}

/// The mean of each metric's samples in a trial.
fn figures(samples: &[MetricSamples]) -> BTreeMap<MetricName, f64> {
    let with_values = samples.iter().filter(|samples| !samples.values.is_empty());
    with_values
        .map(|samples| {
            let sum: f64 = samples.values.iter().sum();
            (samples.metric.clone(), sum / samples.values.len() as f64)
        })
        .collect()
}

/// What a study of the software as it is found has seen so far.
///
/// # Errors
/// The store's own.
pub async fn evidence_as_found(store: &Store, study: StudyId) -> Result<Evidence, StoreError> {
    let observed = store.evidence(study).await?;
    let observations = observed
        .into_iter()
        .map(|seen| Observation {
            request: Request::as_found(seen.cell, seen.round),
            outcome: match seen.measured {
                true => RequestOutcome::Measured,
                false => RequestOutcome::Failed,
            },
            figures: BTreeMap::new(),
            took: seen.took,
        })
        .collect();
    Ok(Evidence::from_observations(observations))
}

/// The same with the figures of every trial, for policies that look at them.
///
/// # Errors
/// The store's own.
pub async fn evidence_with_figures(store: &Store, study: StudyId) -> Result<Evidence, StoreError> {
    let mut evidence = evidence_as_found(store, study).await?;
    for series in store.result_set(study).await?.series {
        for trial in series
            .trials
            .iter()
            .filter(|trial| !trial.values.is_empty())
        {
            // Trials have their numbers in the order of the evidence, from 1.
            let at = (trial.trial as usize).wrapping_sub(1);
            if let Some(observation) = evidence.observations.get_mut(at) {
                let sum: f64 = trial.values.iter().sum();
                let mean = sum / trial.values.len() as f64;
                observation.figures.insert(series.metric.clone(), mean);
            }
        }
    }
    Ok(evidence)
}
