//! Values of options that several verbs read alike.

use backsight_model::moment_after;
use backsight_stats::Confidence;
use backsight_store::AccessScope;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::num::NonZeroU32;

/// The values that an option may have: the name of each, what it stands for, and what the help says of it.
pub type NamedValues<T> = [(&'static str, T, &'static str)];

/// Reads one of the named values.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    table: &'static NamedValues<T>,
) -> impl TypedValueParser<Value = T> {
    let values = table
        .iter()
        .map(|(name, _, about)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(values).try_map(|name| {
        let found = table.iter().find(|(known, ..)| *known == name);
        found.map(|(_, value, _)| *value).ok_or("no such name")
    })
}

/// How often something is done.
pub fn at_least_one(text: &str) -> Result<NonZeroU32, String> {
    let expected = || format!("expected a whole number from 1 to {}", u32::MAX);
    text.parse().map_err(|_| expected())
}

/// What a token is for, what may least first.
pub static SCOPES: [(&str, AccessScope, &str); 4] = [
    ("read", AccessScope::Read, "Read"),
    (
        "queue",
        AccessScope::Queue,
        "Have more measured, and cancel jobs, too",
    ),
    (
        "control",
        AccessScope::Control,
        "Say how alerts stand, and write notes, too",
    ),
    (
        "proxy",
        AccessScope::Proxy,
        "All that in the names of those whom a proxy knows",
    ),
];

/// A moment to come, in this machine's zone unless another is named.
pub fn moment(text: &str) -> Result<jiff::Timestamp, String> {
    moment_after(text, &jiff::Zoned::now()).map_err(|why| why.to_string())
}

/// A percentage from nothing on.
pub fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    number
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| "expected a percentage of 0 or more, such as 2.5".to_owned())
}

/// A confidence in percent.
pub fn confidence(percent: &str) -> Result<Confidence, String> {
    let number: Option<f64> = percent.trim_end_matches('%').parse().ok();
    number
        .and_then(|number| Confidence::new(number / 100.0))
        .ok_or_else(|| "expected a percentage between 0 and 100, such as 95".to_owned())
}
