//! Versions of a target and what lies between them, whatever keeps its history.

use jiff::{Span, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One point of a target's history.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Version {
    /// What identifies it for ever: a full commit hash, an instant with its branch, a package's version.
    pub id: String,
    /// What people call it: a tag, an abbreviated hash, a date, a package's version.
    pub name: String,
    /// When it was made, where its history says so.
    pub at: Option<Timestamp>,
    /// What it says of itself: a commit's subject; may be empty.
    pub title: String,
    /// Whether it is a release: a tagged commit, a package's version.
    pub release: bool,
    /// Patches and reverts on top of it, in this order. A version that has some is no point of its target's history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amendments: Vec<Amendment>,
}

impl Version {
    /// Its name, with those of its amendments: `v6.1 + fix.diff`.
    pub fn full_name(&self) -> String {
        let amendments = self.amendments.iter();
        amendments.fold(self.name.clone(), |name, amendment| {
            format!("{name} + {amendment}")
        })
    }

    /// Whether it is as its history has it.
    pub fn is_plain(&self) -> bool {
        self.amendments.is_empty()
    }
}

/// What is changed on top of a version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Amendment {
    /// A patch that the user gave.
    Patch {
        /// What the user calls it: its file's name.
        name: String,
        /// What identifies the diff: a hash of it.
        content: String,
    },
    /// A change of the history taken back.
    Revert {
        /// What people call the change.
        name: String,
        /// What identifies the diff that takes it back: a hash of it.
        content: String,
    },
}

impl Amendment {
    /// What identifies the diff that makes it.
    pub fn content(&self) -> &str {
        match self {
            Self::Patch { content, .. } | Self::Revert { content, .. } => content,
        }
    }
}

impl fmt::Display for Amendment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patch { name, .. } => f.write_str(name),
            Self::Revert { name, .. } => write!(f, "revert of {name}"),
        }
    }
}

/// A commit, or whatever a history has between two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What identifies it.
    pub id: String,
    /// The short form of it.
    pub name: String,
    /// Who made it.
    pub author: String,
    /// When, where that is known.
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
    /// The whole message.
    pub message: String,
    /// Its parents' identities; two or more for a merge.
    pub parents: Vec<String>,
    /// The files that it touches, with lines added and removed where they can be counted.
    pub files: Vec<ChangedFile>,
}

impl Change {
    /// The first line of its message.
    pub fn title(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

/// A file that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Its path in the tree.
    pub path: String,
    /// Lines added; nothing where lines can't be counted.
    pub added: Option<u64>,
    /// Lines removed, likewise.
    pub removed: Option<u64>,
}

/// How far apart the versions are that a history is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Every {
    /// Every version that there is.
    All,
    /// Releases: tagged commits, packages' versions.
    Release,
    /// Every so many commits.
    Commits(u32),
    /// The last version before each boundary of so many of a unit of time, counted back from the newest.
    Time(u32, TimeUnit),
}

/// Units in which a history is stepped through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week.
    Week,
    /// A calendar month.
    Month,
}

impl TimeUnit {
    fn letter(self) -> &'static str {
        match self {
            Self::Hour => "h",
            Self::Day => "d",
            Self::Week => "w",
            Self::Month => "mo",
        }
    }
}

/// A text that says no step through a history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no step through a history: expected all, release, hour, day, week, month, a number of them (6h, 2d, 1w, 3mo), or a number of commits (10 commits)"
)]
pub struct EveryError(String);

impl Every {
    /// The step that this text says.
    ///
    /// # Errors
    /// It says none, or one of no length.
    pub fn parse(text: &str) -> Result<Self, EveryError> {
        let bad = || EveryError(text.chars().take(40).collect());
        let trimmed = text.trim();
        match trimmed {
            "all" | "commit" => return Ok(Self::All),
            "release" | "releases" | "tag" | "tags" => return Ok(Self::Release),
            _ => {}
        }
        let digits = trimmed
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let number: u32 = if number.is_empty() {
            1
        } else {
            number.parse().map_err(|_| bad())?
        };
        if number == 0 {
            return Err(bad());
        }
        let unit = match unit.trim() {
            "" if digits > 0 => return Ok(Self::Commits(number)),
            "commit" | "commits" => return Ok(Self::Commits(number)),
            "h" | "hour" | "hours" => TimeUnit::Hour,
            "d" | "day" | "days" => TimeUnit::Day,
            "w" | "week" | "weeks" => TimeUnit::Week,
            "mo" | "month" | "months" => TimeUnit::Month,
            _ => return Err(bad()),
        };
        Ok(Self::Time(number, unit))
    }
}

impl std::str::FromStr for Every {
    type Err = EveryError;
    fn from_str(text: &str) -> Result<Self, EveryError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Every {
    type Error = EveryError;
    fn try_from(text: String) -> Result<Self, EveryError> {
        Self::parse(&text)
    }
}

impl From<Every> for String {
    fn from(every: Every) -> Self {
        every.to_string()
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.pad("all"),
            Self::Release => f.pad("release"),
            Self::Commits(number) => f.pad(&format!("{number} commits")),
            Self::Time(number, unit) => f.pad(&format!("{number}{}", unit.letter())),
        }
    }
}

/// How far back from the newest version a history is asked for: `1w`, `36h`, `2mo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lookback(pub u32, pub TimeUnit);

impl std::str::FromStr for Lookback {
    type Err = LookbackError;
    fn from_str(text: &str) -> Result<Self, LookbackError> {
        match Every::parse(text) {
            Ok(Every::Time(number, unit)) => Ok(Self(number, unit)),
            _ => Err(LookbackError(text.chars().take(40).collect())),
        }
    }
}

impl fmt::Display for Lookback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1.letter())
    }
}

impl Lookback {
    /// The length as a span of the calendar.
    pub fn span(self) -> Span {
        span(self.0, self.1)
    }
}

/// So many of a unit as a span of the calendar.
pub fn span(number: u32, unit: TimeUnit) -> Span {
    let number = i64::from(number);
    match unit {
        TimeUnit::Hour => Span::new().hours(number.min(175_307_616)),
        TimeUnit::Day => Span::new().days(number.min(7_304_484)),
        TimeUnit::Week => Span::new().weeks(number.min(1_043_497)),
        TimeUnit::Month => Span::new().months(number.min(239_976)),
    }
}

/// A text that says no length of history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no length of history: expected for example 12h, 7d, 1w or 3mo")]
pub struct LookbackError(String);

/// Which versions of a history are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Range {
    /// From one to another, both included.
    Between {
        /// The older end, as the user wrote it.
        from: String,
        /// The newer end.
        to: String,
    },
    /// So much of the newest part.
    Last(Lookback),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_people_write_them() {
        for (text, every) in [
            ("all", Every::All),
            ("release", Every::Release),
            ("tag", Every::Release),
            ("week", Every::Time(1, TimeUnit::Week)),
            ("1w", Every::Time(1, TimeUnit::Week)),
            ("3mo", Every::Time(3, TimeUnit::Month)),
            ("6 hours", Every::Time(6, TimeUnit::Hour)),
            ("10 commits", Every::Commits(10)),
            ("10", Every::Commits(10)),
        ] {
            assert_eq!(Every::parse(text), Ok(every.clone()), "{text}");
            assert_eq!(Every::parse(&every.to_string()), Ok(every));
        }
        for text in [
            "",
            "0",
            "0w",
            "1m",
            "w1",
            "fortnight",
            "-1d",
            "99999999999d",
        ] {
            assert!(Every::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_length_of_history_is_a_length_of_time() {
        assert_eq!("1w".parse(), Ok(Lookback(1, TimeUnit::Week)));
        assert!("10 commits".parse::<Lookback>().is_err());
        assert!("all".parse::<Lookback>().is_err());
        assert!(span(u32::MAX, TimeUnit::Hour).get_hours() > 0);
    }
}
