//! `keep.toml`: how long a store keeps raw outputs and builds. Samples, verdicts and what hosts were are always kept.
//!
//! What the file doesn't say is kept for ever: nothing is removed by a rule that nobody wrote.

use jiff::{Timestamp, Zoned, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use std::{borrow::Cow, fmt, path::Path};

use crate::{
    DocumentError, Located, Lookback, NamePattern, StudyName, TimeUnit, TomlDocument,
    UnreadableFileError, span,
};

/// The name of the file in a store's folder.
pub const KEEP_FILE: &str = "keep.toml";

/// Rules of a store: `keep.toml` in its folder, or the file that `backsight prune --keep` names.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KeepFile {
    /// How long what is kept that can be large.
    keep: KeepRules,
}

/// How long a store keeps what can be large. What isn't named is kept for ever; so are all samples, and with them every verdict.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeepRules {
    /// What steps of benchmarks printed, and the files that imports read: `4 weeks`, `6 months`, `always`.
    pub outputs: Option<Located<KeptFor>>,
    /// Core files of programs that crashed in suites.
    pub cores: Option<Located<KeptFor>>,
    /// What monitors printed: series of samplers, profiles, recordings.
    pub monitors: Option<Located<KeptFor>>,
    /// What builds printed, what boots and consoles said, and the logs of studies.
    pub logs: Option<Located<KeptFor>>,
    /// Builds of targets, counted from their last use. One that is needed again is made again.
    pub builds: Option<Located<KeptFor>>,
    /// Which trials' outputs are left of older ones: of each question one in each period. What steps and what monitors printed is
    /// thinned, unless it is kept `always`.
    pub thin: Option<Located<Thinning>>,
    /// Studies of which everything is kept: names, in which `*` stands for any characters.
    pub studies: Vec<StudyPattern>,
}

/// A rule by which something is removed: a key of [`KeepRules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeepRule {
    /// [`KeepRules::outputs`].
    Outputs,
    /// [`KeepRules::cores`].
    Cores,
    /// [`KeepRules::monitors`].
    Monitors,
    /// [`KeepRules::logs`].
    Logs,
    /// [`KeepRules::builds`].
    Builds,
    /// [`KeepRules::thin`].
    Thin,
}

/// That trials of some age are thinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thinning {
    /// The age from which on trials are thinned: `1 month`.
    pub after: Period,
    /// The period of which one trial's outputs are kept, the first measured one's: `1 day`.
    pub every: Period,
}

impl fmt::Display for Thinning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, every } = self;
        write!(f, "{{ after = \"{after}\", every = \"{every}\" }}")
    }
}

/// How long something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptFor {
    /// For ever.
    Always,
    /// So long.
    Period(Period),
}

/// A length of the calendar: `12 hours`, `3 days`, `4 weeks`, `1 month`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period(Lookback);

/// A text that is no period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no period: expected for example 12 hours, 3 days, 4 weeks or 6 months")]
pub struct PeriodError(String);

impl Period {
    /// The time that lies so long before `now`.
    pub fn before(self, now: Timestamp) -> Timestamp {
        let Lookback(number, unit) = self.0;
        let before = utc(now).checked_sub(span(number, unit));
        before.map_or(Timestamp::MIN, |before| before.timestamp())
    }

    /// The number of the period that this time lies in. Periods follow each other from 1970 on.
    pub fn number_of(self, time: Timestamp) -> i64 {
        const HOUR: i64 = 3600;
        let Lookback(number, unit) = self.0;
        let number = i64::from(number);
        match unit {
            TimeUnit::Hour => time.as_second().div_euclid(number * HOUR),
            TimeUnit::Day => time.as_second().div_euclid(number * 24 * HOUR),
            TimeUnit::Week => time.as_second().div_euclid(number * 168 * HOUR),
            TimeUnit::Month => {
                let date = utc(time);
                (i64::from(date.year()) * 12 + i64::from(date.month()) - 1).div_euclid(number)
            }
        }
    }
}

fn utc(time: Timestamp) -> Zoned {
    time.to_zoned(TimeZone::UTC)
}

impl std::str::FromStr for Period {
    type Err = PeriodError;
    fn from_str(text: &str) -> Result<Self, PeriodError> {
        let period = text.parse().map(Self);
        period.map_err(|_| PeriodError(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lookback(number, unit) = self.0;
        let unit = match unit {
            TimeUnit::Hour => "hour",
            TimeUnit::Day => "day",
            TimeUnit::Week => "week",
            TimeUnit::Month => "month",
        };
        let plural = if number == 1 { "" } else { "s" };
        write!(f, "{number} {unit}{plural}")
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

const PERIOD_PATTERN: &str = "[0-9]* ?(h|hour|hours|d|day|days|w|week|weeks|mo|month|months)";

impl JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A length of the calendar: 12 hours, 3 days, 4 weeks, 6 months",
            "pattern": format!("^{PERIOD_PATTERN}$")
        })
    }
}

impl fmt::Display for KeptFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Period(period) => period.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for KeptFor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.trim() {
            "always" => Ok(Self::Always),
            period => {
                let period = period.parse().map(Self::Period);
                period.map_err(|error: PeriodError| {
                    serde::de::Error::custom(format!("{error}; or always"))
                })
            }
        }
    }
}

impl JsonSchema for KeptFor {
    fn schema_name() -> Cow<'static, str> {
        "KeptFor".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "How long: 12 hours, 3 days, 4 weeks, 6 months, always",
            "pattern": format!("^(always|{PERIOD_PATTERN})$")
        })
    }
}

/// Names of studies: `base`, `release-*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StudyPattern(NamePattern);

impl StudyPattern {
    /// Whether the study of this name is meant.
    pub fn matches(&self, name: &StudyName) -> bool {
        self.0.matches(name.as_str())
    }
}

impl KeepRules {
    /// The rules in the file at this path.
    ///
    /// # Errors
    /// It can't be read, or as [`KeepRules::read`].
    pub fn open(path: &Path) -> miette::Result<Self> {
        let document = TomlDocument::open(path).map_err(|error| UnreadableFileError {
            help: Some("`backsight schema keep` says what rules there are".to_owned()),
            ..error
        })?;
        Ok(Self::read(&document)?)
    }

    /// The rules that this document has.
    ///
    /// # Errors
    /// It isn't TOML of the right shape, or a rule can't do anything; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        let KeepFile { keep } = document.read()?;
        keep.check(document)?;
        Ok(keep)
    }

    fn check(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let Some(thin) = &self.thin else {
            return Ok(());
        };
        // Months have no one length: any day will do to tell which of two periods is longer.
        let day = Timestamp::UNIX_EPOCH;
        let thinned_from = thin.after.before(day);
        let leaves_any = |limit: &Option<Located<KeptFor>>| match limit.as_deref() {
            None => true,
            Some(KeptFor::Always) => false,
            Some(KeptFor::Period(period)) => period.before(day) < thinned_from,
        };
        match leaves_any(&self.outputs) || leaves_any(&self.monitors) {
            true => Ok(()),
            false => Err(document.problem(
                thin.span(),
                format!(
                    "nothing is left to be thinned after {}: outputs and monitors are kept no longer, or always",
                    thin.after
                ),
                "here",
                Some("thin them earlier, or keep outputs or monitors longer".to_owned()),
            )),
        }
    }

    /// The limit that a rule is; none where nothing is said, and of [`KeepRule::Thin`], which has no one limit.
    pub fn limit(&self, rule: KeepRule) -> Option<KeptFor> {
        let limit = match rule {
            KeepRule::Outputs => &self.outputs,
            KeepRule::Cores => &self.cores,
            KeepRule::Monitors => &self.monitors,
            KeepRule::Logs => &self.logs,
            KeepRule::Builds => &self.builds,
            KeepRule::Thin => return None,
        };
        limit.as_deref().copied()
    }

    /// A rule as the file has it: `outputs = "4 weeks"`.
    pub fn text_of(&self, rule: KeepRule) -> String {
        let name = match rule {
            KeepRule::Outputs => "outputs",
            KeepRule::Cores => "cores",
            KeepRule::Monitors => "monitors",
            KeepRule::Logs => "logs",
            KeepRule::Builds => "builds",
            KeepRule::Thin => {
                let thin = self.thin.as_ref().map(ToString::to_string);
                return format!("thin = {}", thin.unwrap_or_default());
            }
        };
        let limit = self.limit(rule).unwrap_or(KeptFor::Always);
        format!("{name} = \"{limit}\"")
    }

    /// Whether something may be removed at all.
    pub fn removes_anything(&self) -> bool {
        let limits = [
            &self.outputs,
            &self.cores,
            &self.monitors,
            &self.logs,
            &self.builds,
        ];
        let mut limits = limits.into_iter().flatten();
        self.thin.is_some() || limits.any(|limit| **limit != KeptFor::Always)
    }
}

/// The JSON schema of the file.
pub(crate) fn file_schema() -> serde_json::Value {
    schemars::schema_for!(KeepFile).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<KeepRules, DocumentError> {
        KeepRules::read(&TomlDocument::new(KEEP_FILE, text))
    }

    fn period(text: &str) -> Period {
        text.parse().unwrap()
    }

    #[test]
    fn a_whole_file_is_read() {
        let rules = read(
            "[keep]\noutputs = \"6 months\"\nmonitors = \"2w\"\nlogs = \"4 weeks\"\nbuilds = \"3 days\"\n\
             thin = { after = \"1 month\", every = \"day\" }\nstudies = [\"base\", \"release-*\"]\n",
        )
        .unwrap();
        let said = |limit: &Option<Located<KeptFor>>| limit.as_ref().unwrap().to_string();
        assert_eq!(said(&rules.outputs), "6 months");
        assert_eq!(said(&rules.monitors), "2 weeks");
        assert_eq!(
            rules.thin.as_ref().unwrap().to_string(),
            "{ after = \"1 month\", every = \"1 day\" }"
        );
        assert!(rules.removes_anything());
    }

    #[test]
    fn what_isnt_said_is_kept() {
        for text in ["[keep]\n", "[keep]\noutputs = \"always\"\n"] {
            assert!(!read(text).unwrap().removes_anything(), "{text}");
        }
    }

    #[test]
    fn faults_point_at_their_place() {
        for (text, place, said) in [
            ("keep = 1\n", (1, 8), "expected"),
            ("[keep]\nlog = \"1 day\"\n", (2, 1), "unknown field `log`"),
            ("[keep]\nlogs = \"soon\"\n", (2, 8), "`soon` is no period"),
            (
                "[keep]\nlogs = \"0 days\"\n",
                (2, 8),
                "`0 days` is no period",
            ),
            (
                "[keep]\nlogs = \"3 commits\"\n",
                (2, 8),
                "`3 commits` is no period",
            ),
            (
                "[keep]\noutputs = \"4 weeks\"\nmonitors = \"always\"\nthin = { after = \"1 month\", every = \"1 day\" }\n",
                (4, 8),
                "nothing is left to be thinned after 1 month",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.to_string().contains(said), "{text}: {error}");
            assert_eq!(error.place(), place, "{text}: {error}");
        }
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let month = period("1 month");
        assert_eq!(
            month.before(time("2026-03-31T12:00:00Z")),
            time("2026-02-28T12:00:00Z")
        );
        let numbers = [
            "2025-12-31T23:59:59Z",
            "2026-01-01T00:00:00Z",
            "2026-01-31T00:00:00Z",
        ];
        let [december, first, last] = numbers.map(|it| month.number_of(time(it)));
        assert_eq!((december + 1, first), (first, last));
    }

    proptest! {
        #[test]
        fn times_of_one_period_are_no_further_apart_than_it(
            number in 1u32..50,
            unit in prop::sample::select(vec!["h", "d", "w", "mo"]),
            one in 0i64..4_000_000_000,
            other in 0i64..4_000_000_000,
        ) {
            let period = period(&format!("{number}{unit}"));
            let [one, other] = [one.min(other), one.max(other)].map(|at| Timestamp::from_second(at).unwrap());
            let numbers = (period.number_of(one), period.number_of(other));
            prop_assert!(numbers.0 <= numbers.1);
            if period.before(other) >= one {
                prop_assert!(numbers.0 < numbers.1);
            }
        }

        #[test]
        fn any_text_is_rules_or_an_error(text in ".{0,60}") {
            let _ = read(&text);
            let _ = read(&format!("[keep]\nlogs = {text:?}\n"));
        }
    }
}
