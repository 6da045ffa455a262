//! Names of things, each kind a type of its own, so that a host can't be taken for a role.
//!
//! A name has 1 to 64 characters out of `A-Z a-z 0-9 . _ + -` and starts with a letter or a digit, so that it can stand in a file's
//! path, a command line and a page.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Longest name accepted, in characters.
pub const LONGEST: usize = 64;

/// Why a text isn't a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a name: use 1 to 64 characters out of A-Z a-z 0-9 . _ + - that start with a letter or a digit"
)]
pub struct NameError {
    /// The text that was given.
    pub text: String,
}

fn check(text: &str) -> Result<(), NameError> {
    let mut chars = text.chars();
    let first_fits = chars.next().is_some_and(|c| c.is_ascii_alphanumeric());
    let rest_fits = chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-'));
    if first_fits && rest_fits && text.len() <= LONGEST {
        Ok(())
    } else {
        Err(NameError {
            text: text.chars().take(80).collect(),
        })
    }
}

macro_rules! name_types {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(#[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$"))] String);

        impl $name {
            /// The name of this text.
            ///
            /// # Errors
            /// The text isn't 1 to 64 of the permitted characters.
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                let text = text.into();
                check(&text)?;
                Ok(Self(text))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    )*};
}

name_types! {
    /// A lab's name.
    LabName
    /// A host's name, as its lab calls it.
    HostName
    /// The name of a group of hosts.
    GroupName
    /// A tag of hosts.
    TagName
    /// The part that a host plays in a benchmark: `client`, `server`, `dut`, …
    RoleName
    /// A link's name.
    LinkName
    /// A testbed's name.
    TestbedName
    /// A benchmark's name; also the name of its file.
    BenchmarkName
    /// A parameter's name.
    ParamName
    /// A metric's name, within its benchmark.
    MetricName
    /// A variant's name, within its plan.
    VariantName
    /// The name of a barrier that programs of a benchmark come to.
    BarrierName
    /// A monitor's name; also the name of its file.
    MonitorName
    /// A study's name: what `compare` takes.
    StudyName
    /// The name of a release of a system: `bookworm`, `7.5`.
    ReleaseName
    /// A target's name: what `--target` takes.
    TargetName
}

/// The known name nearest to a mistyped one, if one is near enough to be worth a question.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = typed.chars().count();
    known
        .into_iter()
        .filter_map(|k| {
            let most = (k.len().max(typed.len()) / 3).max(1);
            // The distance of two names is at least the difference of their lengths, and long to find for a long one.
            let may_be_near = k.chars().count().abs_diff(length) <= most;
            let distance = may_be_near.then(|| strsim::damerau_levenshtein(typed, k))?;
            (distance <= most).then_some((distance, k))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_be_awkward_in_a_path_are_refused() {
        for bad in ["", "-x", "a/b", "a b", "..", "ä", "a\n", &"x".repeat(65)] {
            assert!(HostName::new(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "iperf3-tcp", "6.1.170", "g++", "A_b"] {
            assert_eq!(HostName::new(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn a_typing_error_finds_its_name_and_nonsense_finds_none() {
        let known = ["rounds", "testbed", "use"];
        assert_eq!(nearest("runds", known), Some("rounds"));
        assert_eq!(nearest("testbde", known), Some("testbed"));
        assert_eq!(nearest("zzzzzz", known), None);
        assert_eq!(nearest("usee", known), Some("use"));
        assert_eq!(nearest(&"rounds".repeat(1000), known), None);
        assert_eq!(nearest("ü", ["u"]), Some("u"));
    }
}
