//! What came of making settings and of putting them back, as values for people and programs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What came of a preparation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparationReport {
    /// The study.
    pub study: String,
    /// Whether the machine is prepared: under `strict` all or nothing is.
    pub stands: bool,
    /// Every setting that was asked for, in the order in which they are made.
    pub settings: Vec<SettingReport>,
    /// What was put back again because another setting failed.
    pub put_back: Vec<RestoredChange>,
}

/// What came of one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingReport {
    /// Its name.
    pub setting: String,
    /// Its parameters: `interface=eth0`.
    pub parameters: String,
    /// The value that was asked for.
    pub value: String,
    /// Where it was asked for.
    pub place: String,
    /// How it ended.
    pub outcome: SettingOutcome,
    /// What it changes, with what stood before.
    pub changes: Vec<ChangeReport>,
}

/// One thing that a setting changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeReport {
    /// The file, the unit, the device.
    pub target: String,
    /// What stood.
    pub old: String,
    /// What stands, or should.
    pub new: String,
    /// Why this one of several couldn't be changed.
    pub refused: Option<String>,
}

/// How a setting ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum SettingOutcome {
    /// It was made, and read again.
    Made,
    /// It was so before.
    AlreadySo,
    /// It would be made: nothing was changed yet.
    Pending,
    /// The machine hasn't it.
    Missing {
        /// What isn't there.
        why: String,
    },
    /// Only root may change it.
    NeedsRoot,
    /// The machine, or another study, refused.
    Refused {
        /// What it said.
        why: String,
    },
    /// It was written, and another value was read; it was put back.
    NotHeld {
        /// What was read.
        found: String,
    },
    /// It could have been made, and wasn't or was put back, because of another setting.
    NotMade,
}

impl SettingOutcome {
    /// Whether the setting has the wanted value.
    pub fn is_so(&self) -> bool {
        matches!(self, Self::Made | Self::AlreadySo)
    }
}

impl fmt::Display for SettingOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made => f.write_str("made"),
            Self::AlreadySo => f.write_str("already so"),
            Self::Pending => f.write_str("would be made"),
            Self::Missing { why } => write!(f, "missing: {why}"),
            Self::NeedsRoot => f.write_str("it needs root"),
            Self::Refused { why } => write!(f, "refused: {why}"),
            Self::NotHeld { found } => write!(f, "doesn't hold: it reads `{found}`"),
            Self::NotMade => f.write_str("not made, because of another one"),
        }
    }
}

impl PreparationReport {
    /// The settings that haven't the wanted value and should.
    pub fn failures(&self) -> impl Iterator<Item = &SettingReport> {
        let failed = |setting: &&SettingReport| {
            use SettingOutcome::{NotMade, Pending};
            !setting.outcome.is_so() && ![NotMade, Pending].contains(&setting.outcome)
        };
        self.settings.iter().filter(failed)
    }
}

/// What came of putting back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RestoreReport {
    /// Every change that was looked at, the last one first.
    pub changes: Vec<RestoredChange>,
    /// Changes of studies that still run: they are left alone.
    pub held: usize,
    /// Lines of the journal that nobody wrote so; they were moved to a file beside it.
    pub damaged_lines: Vec<usize>,
}

/// What came of putting one change back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredChange {
    /// The study that changed it.
    pub study: String,
    /// The setting.
    pub setting: String,
    /// The file, the unit, the device.
    pub target: String,
    /// What stood before the study.
    pub old: String,
    /// How it ended.
    pub outcome: RestoreOutcome,
}

impl fmt::Display for RestoredChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            study,
            setting,
            target,
            outcome,
            ..
        } = self;
        write!(f, "{setting} ({target}) of study `{study}`: {outcome}")
    }
}

/// How it ended to put something back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum RestoreOutcome {
    /// It is as it was.
    PutBack,
    /// It was as before already.
    AlreadyBack,
    /// The machine was started anew since, which put it back.
    UndoneByRestart,
    /// Somebody else changed it since; it is left as they made it.
    ChangedByOthers {
        /// What it is now.
        now: String,
    },
    /// It can't be put back; it stays in the journal.
    Stuck {
        /// Why.
        why: String,
        /// What a person can type.
        by_hand: String,
    },
}

impl fmt::Display for RestoreOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PutBack => f.write_str("put back"),
            Self::AlreadyBack => f.write_str("as it was"),
            Self::UndoneByRestart => f.write_str("undone by the restart of the machine"),
            Self::ChangedByOthers { now } => {
                write!(f, "changed by somebody else to `{now}`: left so")
            }
            Self::Stuck { why, by_hand } => {
                write!(f, "can't be put back: {why}; by hand: {by_hand}")
            }
        }
    }
}

impl RestoreOutcome {
    /// Whether it is as it was before the study.
    pub fn is_back(&self) -> bool {
        matches!(
            self,
            Self::PutBack | Self::AlreadyBack | Self::UndoneByRestart
        )
    }
}

impl RestoreReport {
    /// What came of it, a sentence each, for people.
    pub fn sentences(&self) -> Vec<String> {
        let mut said: Vec<String> = self.changes.iter().map(ToString::to_string).collect();
        if self.held > 0 {
            said.push(format!("{} settings of studies that run stay", self.held));
        }
        if !self.damaged_lines.is_empty() {
            let lines: Vec<String> = self.damaged_lines.iter().map(ToString::to_string).collect();
            said.push(format!(
                "nobody wrote line {} of its journal so: what it said was changed isn't put back; it is in the file `journal.damaged`",
                lines.join(", ")
            ));
        }
        if said.is_empty() {
            said.push("nothing is left changed".to_owned());
        }
        said
    }

    /// Whether everything that was looked at is as it was, or somebody else's.
    pub fn is_complete(&self) -> bool {
        let stuck =
            |change: &RestoredChange| matches!(change.outcome, RestoreOutcome::Stuck { .. });
        !self.changes.iter().any(stuck)
    }
}
