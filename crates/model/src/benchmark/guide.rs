//! How the numbers of a benchmark are to be read: what it measures, what it doesn't, and known traps. Prose for people: no number
//! depends on it.

use schemars::JsonSchema;
use serde::Deserialize;

/// What a definition says to who reads its numbers. Nothing is said where a key is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BenchmarkGuide {
    /// What it measures.
    pub measures: Option<String>,
    /// What is wrongly read into its numbers.
    pub measures_not: Option<String>,
    /// Known traps; an empty list says that none is known.
    pub traps: Option<Vec<Trap>>,
}

/// Something that makes the numbers of a benchmark mislead.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trap {
    /// What goes wrong, and what to do about it.
    pub trap: String,
    /// The address of a manual, an issue or a paper that says so; without one the authors of the definition saw it themselves.
    #[serde(default)]
    pub source: Option<String>,
}
