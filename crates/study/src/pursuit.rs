//! The loop of every measuring verb.
//!
//! Refuses: to know what a verb wants or how a trial is made.

use backsight_conductor::Events;
use backsight_model::{
    BootRecord, BuildRecord, Cell, Event, MetricName, MetricSamples, OnFailure, StudyName,
    StudyState, TrialRecord, Version,
};
use backsight_policy::{Decision, Evidence, Observation, Outcome, Policy, Request};
use backsight_store::{Store, StoreError, StudyId};
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};
use tokio::sync::mpsc;

/// How many builds may be made ahead of the one that is measured.
const AHEAD: usize = 2;

/// What came of asking a measurer.
#[derive(Debug)]
pub enum Measured {
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
    fn measure(&mut self, request: Request)
    -> impl Future<Output = Result<Measured, Unmeasurable>>;

    /// Where builds are told that are made while something is measured; asked for once. None of a measurer that makes
    /// none.
    fn ahead(&mut self) -> Option<mpsc::UnboundedReceiver<Box<BuildRecord>>> {
        None
    }

    /// Says on which builds the requests after the next one will be, if all goes well. Said only where some may be made
    /// ahead.
    fn foresee(&mut self, _coming: Vec<Request>) {}
}

/// The study that a pursuit belongs to.
#[derive(Debug, Clone)]
pub struct Study {
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
    /// Boots that can be gone back to, with their numbers: version, layout, ordinal. `None` where none can be, because
    /// what was booted ends with the next boot.
    pub boots: Option<HashMap<(usize, usize, u32), u32>>,
}

/// How far a pursuit came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pursuit<Verdict> {
    /// The policy's answer, if it came to one.
    pub verdict: Option<Verdict>,
    /// Trials with samples, of this and of earlier pursuits.
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

/// Why a pursuit broke off.
#[derive(Debug, thiserror::Error)]
pub enum PursuitError {
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

/// Measures what the policy asks for until it has its verdict, the user stops, or nothing can be measured.
///
/// Every build, boot and trial is durable before the next one begins. What is evidence already isn't measured
/// again.
///
/// # Errors
/// The store refuses. What was kept before stays.
pub async fn pursue<P: Policy>(
    policy: &P,
    study: Study,
    evidence: Evidence,
    store: &Store,
    measurer: &mut impl Measurer,
    events: &Events,
) -> Result<Pursuit<P::Verdict>, PursuitError> {
    let trials = study.trials;
    events.tell(&Event::StudyStarted {
        study: study.id.0,
        name: study.name.clone(),
        trials: trials as usize + policy.left(&evidence),
        done: trials as usize,
        seed: study.seed,
    });
    store.set_state(study.id, StudyState::Running).await?;
    let mut chase = Chase {
        policy,
        study,
        evidence,
        store,
        events,
        round: 0,
        announced: None,
        boot: 0,
        ahead: measurer.ahead(),
    };
    let (verdict, stop) = loop {
        let request = match policy.decide(&chase.evidence) {
            Decision::Done(verdict) => break (Some(verdict), None),
            Decision::Measure(request) => request,
        };
        chase.announce(request);
        let (measured, kept_ahead) = chase.measure(measurer, request).await;
        let measured = match measured {
            Ok(measured) => measured,
            Err(Unmeasurable(why)) => break (None, Some((why, false))),
        };
        let kept = match measured {
            Measured::Interrupted => break (None, Some(("stopped by the user".to_owned(), true))),
            Measured::Built(build) => chase.built(request, &build).await,
            Measured::NoBuild(why) => Ok(Some(chase.has_no_build(request, &why))),
            Measured::Booted(boot) => chase.booted(request, &boot).await,
            Measured::Trial(record) => chase.tried(request, *record).await,
        };
        match kept_ahead.and(kept) {
            Ok(None) => {}
            Ok(Some(failure)) if chase.study.on_failure == OnFailure::Stop => {
                let why = format!("{failure}; the plan says to stop then");
                break (None, Some((why, false)));
            }
            Ok(Some(_)) => {}
            Err(cause) => {
                // What the study is now is on disk as far as the disk allows; `resume` finds the rest.
                let _ = store.set_state(chase.study.id, StudyState::Stopped).await;
                let trial = chase.study.trials + 1;
                return Err(PursuitError::Store { trial, cause });
            }
        }
    };
    let state = match verdict {
        Some(_) => StudyState::Finished,
        None => StudyState::Stopped,
    };
    store.set_state(chase.study.id, state).await?;
    chase.keep_ahead().await?;
    Ok(chase.finished(verdict, stop))
}

/// A pursuit that is under way.
struct Chase<'a, P> {
    policy: &'a P,
    study: Study,
    evidence: Evidence,
    store: &'a Store,
    events: &'a Events,
    /// The round that was told last.
    round: u32,
    /// The request that was told last.
    announced: Option<Request>,
    /// Number of the boot that trials run on; 0 where nothing is booted.
    boot: u32,
    /// Where builds are told that are made ahead.
    ahead: Option<mpsc::UnboundedReceiver<Box<BuildRecord>>>,
}

/// Why the last request failed, if it did.
type Kept = Result<Option<String>, StoreError>;

impl<P: Policy> Chase<'_, P> {
    fn observe(
        &mut self,
        request: Request,
        outcome: Outcome,
        figures: BTreeMap<MetricName, f64>,
        took: Duration,
    ) {
        self.evidence.observations.push(Observation {
            request,
            outcome,
            figures,
            took,
        });
    }

    /// Says what is measured next; once, even where a build and a boot come before it.
    fn announce(&mut self, request: Request) {
        if self.announced.replace(request) == Some(request) {
            return;
        }
        if request.round != self.round {
            self.round = request.round;
            self.events.tell(&Event::RoundStarted {
                round: request.round,
                of: self.study.rounds,
            });
        }
        let version = self.study.versions.get(request.version);
        self.events.tell(&Event::TrialStarted {
            trial: self.study.trials + 1,
            of: self.in_all(),
            round: request.round,
            cell: self.study.cells[request.cell].clone(),
            version: version.map(Version::full_name),
        });
    }

    fn version(&self, position: usize) -> String {
        let version = self.study.versions.get(position);
        version.map_or_else(String::new, Version::full_name)
    }

    /// Has it measured, and keeps what is built meanwhile; whether that could be kept.
    async fn measure(
        &mut self,
        measurer: &mut impl Measurer,
        request: Request,
    ) -> (Result<Measured, Unmeasurable>, Result<(), StoreError>) {
        let Some(mut ahead) = self.ahead.take() else {
            return (measurer.measure(request).await, Ok(()));
        };
        // The first of them is the one that is asked for now.
        let mut coming = self.policy.coming(&self.evidence, AHEAD + 1);
        coming.drain(..1.min(coming.len()));
        measurer.foresee(coming);
        let mut kept = Ok(());
        let measured = {
            let mut measuring = std::pin::pin!(measurer.measure(request));
            loop {
                tokio::select! {
                    Some(build) = ahead.recv() => kept = kept.and(self.keep(&build, true).await),
                    measured = &mut measuring => break measured,
                }
            }
        };
        self.ahead = Some(ahead);
        (measured, kept.and(self.keep_ahead().await))
    }

    /// Keeps the builds that were made ahead and not kept yet.
    async fn keep_ahead(&mut self) -> Result<(), StoreError> {
        while let Some(Ok(build)) = self.ahead.as_mut().map(mpsc::UnboundedReceiver::try_recv) {
            self.keep(&build, true).await?;
        }
        Ok(())
    }

    async fn keep(&mut self, build: &BuildRecord, ahead: bool) -> Result<(), StoreError> {
        self.store.record_build(self.study.id, build).await?;
        if !build.cached {
            self.evidence.builds.push(build.took);
        }
        self.events.tell(&Event::BuildFinished {
            version: self.version(build.version),
            layout: build.layout,
            cached: build.cached,
            failure: build.failure.as_ref().map(ToString::to_string),
            seconds: build.took.as_secs_f64(),
            ahead,
        });
        Ok(())
    }

    async fn built(&mut self, request: Request, build: &BuildRecord) -> Kept {
        self.keep(build, false).await?;
        let failure = build.failure.as_ref().map(ToString::to_string);
        Ok(failure.map(|why| self.has_no_build(request, &why)))
    }

    fn has_no_build(&mut self, request: Request, why: &str) -> String {
        self.observe(request, Outcome::NoBuild, BTreeMap::new(), Duration::ZERO);
        format!("{} has no build: {why}", self.version(request.version))
    }

    async fn booted(&mut self, request: Request, boot: &BootRecord) -> Kept {
        let place = (request.version, request.layout, request.boot);
        let known = self
            .study
            .boots
            .as_ref()
            .and_then(|boots| boots.get(&place));
        if let Some(known) = known {
            self.boot = *known;
            return Ok(None);
        }
        let number = self.store.record_boot(self.study.id, boot).await?;
        self.evidence.boots.push(boot.took);
        self.events.tell(&Event::BootFinished {
            version: self.version(boot.version),
            layout: boot.layout,
            ordinal: boot.ordinal,
            failure: boot.failure.clone(),
            seconds: boot.took.as_secs_f64(),
        });
        match &boot.failure {
            Some(why) => {
                self.observe(request, Outcome::NoBoot, BTreeMap::new(), Duration::ZERO);
                Ok(Some(format!(
                    "{} didn't boot: {why}",
                    self.version(boot.version)
                )))
            }
            None => {
                if let Some(boots) = &mut self.study.boots {
                    boots.insert(place, number);
                }
                self.boot = number;
                Ok(None)
            }
        }
    }

    async fn tried(&mut self, request: Request, mut record: TrialRecord) -> Kept {
        record.boot = self.boot;
        let trial = self.study.trials + 1;
        let cell = self.study.cells[request.cell].clone();
        self.store
            .record_trial(self.study.id, trial, request.cell, request.round, &record)
            .await?;
        self.study.trials = trial;
        for message in &record.warnings {
            self.events.tell(&Event::Warning {
                message: message.clone(),
            });
        }
        let (samples, failure) = match record.outcome {
            Ok(samples) => (samples, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        let outcome = match failure {
            None => Outcome::Measured,
            Some(_) => Outcome::Failed,
        };
        self.observe(request, outcome, figures(&samples), record.took);
        let why = failure.as_ref().map(|why| format!("a trial failed: {why}"));
        self.events.tell(&Event::TrialFinished {
            trial,
            of: self.in_all(),
            cell,
            samples,
            failure,
            seconds: record.took.as_secs_f64(),
        });
        Ok(why)
    }

    /// Trials that the study will have, as far as can be told.
    fn in_all(&self) -> usize {
        self.study.trials as usize + self.policy.left(&self.evidence)
    }

    fn finished(
        self,
        verdict: Option<P::Verdict>,
        stop: Option<(String, bool)>,
    ) -> Pursuit<P::Verdict> {
        let count = |outcome| {
            let with = |o: &&Observation| o.outcome == outcome;
            self.evidence.observations.iter().filter(with).count()
        };
        let (measured, failed) = (count(Outcome::Measured), count(Outcome::Failed));
        let left = match verdict {
            Some(_) => 0,
            None => self.policy.left(&self.evidence),
        };
        self.events.tell(&Event::StudyFinished {
            study: self.study.id.0,
            name: self.study.name.clone(),
            measured,
            failed,
            left,
        });
        let interrupted = stop.as_ref().is_some_and(|(_, by_user)| *by_user);
        Pursuit {
            verdict,
            measured,
            failed,
            left,
            stopped: stop.map(|(why, _)| why),
            interrupted,
        }
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
                true => Outcome::Measured,
                false => Outcome::Failed,
            },
            figures: BTreeMap::new(),
            took: seen.took,
        })
        .collect();
    Ok(Evidence::of(observations))
}
