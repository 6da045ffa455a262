//! What people found out about alerts.
//!
//! Kept as it was said, one after the other; the last counts. That a change is accepted is an [`Acceptance`](crate::Acceptance).

use jiff::Timestamp;
use serde::Serialize;
use std::{fmt, str::FromStr};

use crate::TargetName;

/// What somebody says of an alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Triage {
    /// The target along whose history it lies.
    pub target: TargetName,
    /// The identity of the version that named the alert then.
    pub version: String,
    /// Its name then.
    pub name: String,
    /// How the alert stands.
    pub state: TriageState,
    /// Why, or what comes next.
    pub note: Option<String>,
    /// The identity of the version that it lies at, where who says it knows better.
    pub lies_at: Option<String>,
    /// Who says it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// How an alert stands, as people say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TriageState {
    /// Somebody looks into it.
    Investigating,
    /// The software did change.
    Confirmed,
    /// It was mended.
    Fixed,
    /// The software didn't change: noise, a machine, the benchmark.
    Invalid,
}

impl TriageState {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Investigating,
        Self::Confirmed,
        Self::Fixed,
        Self::Invalid,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Investigating => "investigating",
            Self::Confirmed => "confirmed",
            Self::Fixed => "fixed",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for TriageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for TriageState {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| format!("`{word}` is no state of an alert"))
    }
}
