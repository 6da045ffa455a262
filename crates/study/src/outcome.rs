//! How a study ended: its verdict, how far it came, and what that means to a script.

use backsight_conductor::Events;
use backsight_model::{StudyName, TargetName};
use backsight_store::StudyRow;
use miette::IntoDiagnostic as _;

use crate::{Progress, StudyLoopError, VerdictReport};

/// What the end of a study means to a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudyEnding {
    /// It was done.
    Success,
    /// Something failed, nothing could be measured, or it is worse.
    Failed,
    /// There is no answer.
    Undecided,
    /// The user stopped it.
    Interrupted,
}

/// How a study ended.
pub enum StudyOutcome {
    /// It ended, or was stopped.
    Ended(Box<EndedStudy>),
    /// No study was made: what it asks is known already.
    NothingMissing {
        /// Whose history it is about.
        target: TargetName,
        /// The answer in words.
        answer: String,
        /// What it means to a script.
        ending: StudyEnding,
    },
    /// A trial couldn't be kept. What was measured before it is.
    BrokeOff {
        /// The study's name.
        name: StudyName,
        /// Why.
        error: StudyLoopError,
    },
}

impl StudyOutcome {
    /// What it means to a script.
    pub fn ending(&self) -> StudyEnding {
        match self {
            Self::Ended(ended) => ended.ending,
            Self::NothingMissing { ending, .. } => *ending,
            Self::BrokeOff { .. } => StudyEnding::Failed,
        }
    }
}

/// A study that ended, or was stopped.
pub struct EndedStudy {
    /// The study as the store has it.
    pub study: StudyRow,
    /// Its verdict as its evidence stands.
    pub verdict: VerdictReport,
    /// What else there is to say, a sentence each.
    pub notes: Vec<String>,
    /// How far it came.
    pub progress: Progress<()>,
    /// What it means to a script.
    pub ending: StudyEnding,
}

impl EndedStudy {
    /// A study that ended so, with nothing else to say.
    pub(crate) fn new<Verdict>(
        study: StudyRow,
        verdict: VerdictReport,
        progress: Progress<Verdict>,
        ending: StudyEnding,
    ) -> Self {
        Self {
            study,
            verdict,
            notes: Vec::new(),
            progress: progress.without_verdict(),
            ending,
        }
    }
}

impl StudyOutcome {
    /// The outcome of a study whose loop has come to an end: its verdict is an event like others.
    pub(crate) fn from_ended(ended: EndedStudy, events: &Events) -> miette::Result<Self> {
        if let Some(verdict) = ended.verdict.event().into_diagnostic()? {
            events.emit(&verdict);
        }
        Ok(Self::Ended(Box::new(ended)))
    }
}

impl<Verdict> Progress<Verdict> {
    /// What it means that a study came so far, where its verdict doesn't say more.
    pub fn ending(&self) -> StudyEnding {
        match self {
            Self {
                interrupted: true, ..
            } => StudyEnding::Interrupted,
            Self {
                failed: 0,
                left: 0,
                stopped: None,
                ..
            } => StudyEnding::Success,
            _ => StudyEnding::Failed,
        }
    }
}
