//! What a look at hosts found out: of a whole lab, or of those that a plan needs.

use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, fmt};

use crate::HostName;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// All is well.
    Ok,
    /// Programs are missing.
    Missing,
    /// It can't be known whether programs are missing.
    Unknown,
    /// A host can't be reached.
    Failed,
    /// A namespace isn't up.
    Down,
    /// A clock is far off.
    Clock,
    /// Too little room for what trials write.
    Full,
    /// An address isn't there.
    Address,
    /// One end of a link doesn't reach the other.
    Route,
    /// A host's power is off.
    Off,
    /// A host's power can't be asked.
    Power,
    /// A console can't be heard.
    Console,
}

impl fmt::Display for CheckKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Down => "down",
            Self::Clock => "clock",
            Self::Full => "full",
            Self::Address => "address",
            Self::Route => "route",
            Self::Off => "off",
            Self::Power => "power",
            Self::Console => "console",
        })
    }
}

/// Something that was found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckFinding {
    /// What it is about; `ok` where nothing is wrong.
    pub kind: CheckKind,
    /// The host that it is about; not there where that is a link, a benchmark or a program of the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// The finding with its way out, as a sentence.
    pub text: String,
}

/// A host that answered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CheckedHost {
    /// The host.
    pub host: HostName,
    /// What it is: its system and kernel with their versions, its processors, its memory, …
    pub facts: BTreeMap<String, String>,
    /// Seconds that its wall clock is ahead of the controller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_ahead: Option<f64>,
    /// That is right within so many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_uncertainty: Option<f64>,
    /// Bytes that are free where trials have their files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<u64>,
}
