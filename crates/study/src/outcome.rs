//! How a study ended: its verdict, how far it came, and what that means to a script.

use backsight_model::{StudyName, TargetName};
use backsight_store::StudyRow;

use crate::{Progress, StudyLoopError, VerdictReport};

/// What the end of a study means to a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was done.
    Success,
    /// Something failed, nothing could be measured, or it is worse.
    Failed,
    /// There is no answer.
    Undecided,
    /// The user stopped it.
    Interrupted,
}

/// What a study came to.
pub enum Outcome {
    /// It ended, or was stopped.
    Ended(Box<EndedStudy>),
    /// No study was made: what it asks is known already.
    NothingMissing {
        /// Whose history it is about.
        target: TargetName,
        /// The answer in words.
        said: String,
        /// What it means to a script.
        ending: Ending,
    },
    /// A trial couldn't be kept. What was measured before it is.
    BrokeOff {
        /// The study's name.
        name: StudyName,
        /// Why.
        error: StudyLoopError,
    },
}

impl Outcome {
    /// What it means to a script.
    pub fn ending(&self) -> Ending {
        match self {
            Self::Ended(ended) => ended.ending,
            Self::NothingMissing { ending, .. } => *ending,
            Self::BrokeOff { .. } => Ending::Failed,
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
    pub ending: Ending,
}

impl<Verdict> Progress<Verdict> {
    /// What it means that a study came so far, where its verdict doesn't say more.
    pub fn ending(&self) -> Ending {
        match self {
            Self {
                interrupted: true, ..
            } => Ending::Interrupted,
            Self {
                failed: 0,
                left: 0,
                stopped: None,
                ..
            } => Ending::Success,
            _ => Ending::Failed,
        }
    }
}
