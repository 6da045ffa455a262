//! The loop of every measuring verb.
//!
//! Refuses: to know what a verb wants or how a trial is made.

use backsight_conductor::Events;
use backsight_model::{Cell, Event, OnFailure, StudyName, StudyState, TrialRecord};
use backsight_policy::{Decision, Evidence, Observation, Policy, Request};
use backsight_store::{Store, StoreError, StudyId};

/// What came of asking a measurer.
#[derive(Debug)]
pub enum Measured {
    /// A trial; its outcome may be a failure.
    Trial(Box<TrialRecord>),
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
/// Every trial is durable before the next one begins. Evidence that is in the store already isn't measured
/// again.
///
/// # Errors
/// The store refuses. What was kept before stays.
pub async fn pursue<P: Policy>(
    policy: &P,
    study: &Study,
    store: &Store,
    measurer: &mut impl Measurer,
    events: &Events,
) -> Result<Pursuit<P::Verdict>, PursuitError> {
    let mut evidence = evidence(store, study.id).await?;
    let of = policy.expected_trials(&evidence);
    events.tell(&Event::StudyStarted {
        study: study.id.0,
        name: study.name.clone(),
        trials: of,
        done: evidence.observations.len(),
        seed: study.seed,
    });
    store.set_state(study.id, StudyState::Running).await?;
    let mut round = 0;
    let mut stopped = None;
    let mut interrupted = false;
    let verdict = loop {
        let request = match policy.decide(&evidence) {
            Decision::Done(verdict) => break Some(verdict),
            Decision::Measure(request) => request,
        };
        if request.round != round {
            round = request.round;
            events.tell(&Event::RoundStarted {
                round,
                of: study.rounds,
            });
        }
        let trial = u32::try_from(evidence.observations.len() + 1).unwrap_or(u32::MAX);
        let cell = study.cells[request.cell].clone();
        events.tell(&Event::TrialStarted {
            trial,
            of,
            round,
            cell: cell.clone(),
        });
        let record = match measurer.measure(request).await {
            Ok(Measured::Trial(record)) => record,
            Ok(Measured::Interrupted) => {
                interrupted = true;
                stopped = Some("stopped by the user".to_owned());
                break None;
            }
            Err(Unmeasurable(why)) => {
                stopped = Some(why);
                break None;
            }
        };
        let kept = store
            .record_trial(study.id, trial, request.cell, request.round, &record)
            .await;
        if let Err(cause) = kept {
            // What the study is now is on disk as far as the disk allows; `resume` finds the rest.
            let _ = store.set_state(study.id, StudyState::Stopped).await;
            return Err(PursuitError::Store { trial, cause });
        }
        let measured = record.outcome.is_ok();
        for message in &record.warnings {
            events.tell(&Event::Warning {
                message: message.clone(),
            });
        }
        let (samples, failure) = match record.outcome {
            Ok(samples) => (samples, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        evidence
            .observations
            .push(Observation { request, measured });
        let why = failure.as_ref().map(ToString::to_string);
        events.tell(&Event::TrialFinished {
            trial,
            of,
            cell,
            samples,
            failure,
            seconds: record.took.as_secs_f64(),
        });
        if let (OnFailure::Stop, Some(why)) = (study.on_failure, why) {
            stopped = Some(format!(
                "a trial failed, and the plan says to stop then: {why}"
            ));
            break None;
        }
    };
    let state = if verdict.is_some() {
        StudyState::Finished
    } else {
        StudyState::Stopped
    };
    store.set_state(study.id, state).await?;
    Ok(finished(
        policy,
        study,
        &evidence,
        events,
        verdict,
        stopped,
        interrupted,
    ))
}

async fn evidence(store: &Store, study: StudyId) -> Result<Evidence, StoreError> {
    let observed = store.evidence(study).await?;
    let observations = observed
        .into_iter()
        .map(|seen| Observation {
            request: Request {
                cell: seen.cell,
                round: seen.round,
            },
            measured: seen.measured,
        })
        .collect();
    Ok(Evidence { observations })
}

fn finished<P: Policy>(
    policy: &P,
    study: &Study,
    evidence: &Evidence,
    events: &Events,
    verdict: Option<P::Verdict>,
    stopped: Option<String>,
    interrupted: bool,
) -> Pursuit<P::Verdict> {
    let done = evidence.observations.len();
    let measured = evidence.observations.iter().filter(|o| o.measured).count();
    let left = policy.expected_trials(evidence).saturating_sub(done);
    let failed = done - measured;
    events.tell(&Event::StudyFinished {
        study: study.id.0,
        name: study.name.clone(),
        measured,
        failed,
        left,
    });
    Pursuit {
        verdict,
        measured,
        failed,
        left,
        stopped,
        interrupted,
    }
}
