//! A host set: names that are written in one go, `client[01-30]`, `node[1-3,7,9-12]`, `rack[1-2]n[01-10]`.
//!
//! A bracket holds numbers and ranges of numbers, with commas between them. A range whose first number has leading zeros gives
//! numbers of that width. Several brackets are combined, the last one runs fastest. Two sets are the same where their names are.
//!
//! A set is counted before it is expanded: `[1-99999999]` costs nothing but its error.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, collections::BTreeSet, fmt, str::FromStr};

use crate::{HostName, NameError};

/// The most hosts that a lab, and so a set, may have.
pub const MOST_HOSTS: usize = 4096;

/// Longest set accepted, in bytes: as many long numbers as there may be hosts.
const LONGEST: usize = 128 * 1024;

/// The most brackets of one set.
const MOST_BRACKETS: usize = 8;

/// Why a text isn't a host set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostSetError {
    /// A bracket has no partner, or stands in another one.
    #[error("`{0}` has a `[` without its `]`, or a bracket in a bracket")]
    Bracket(String),
    /// What stands in brackets is neither a number nor a range.
    #[error("`{0}` is neither a number nor a range of numbers such as 01-30")]
    Item(String),
    /// A range runs backwards, or its ends are written with different widths.
    #[error(
        "the range `{0}` isn't one: expected the smaller number first, and leading zeros to the same width"
    )]
    Range(String),
    /// It stands for more hosts than a lab may have.
    #[error("`{0}` stands for more than {MOST_HOSTS} hosts")]
    TooMany(String),
    /// One of its names isn't a name.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// Numbers from one to another, with leading zeros up to a width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NumberRange {
    first: u64,
    last: u64,
    width: usize,
}

impl NumberRange {
    fn parse(text: &str) -> Result<Self, HostSetError> {
        let item = || HostSetError::Item(shortened(text));
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.trim(), last.trim());
        let number = |digits: &str| -> Result<u64, HostSetError> {
            let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let number = is_number.then(|| digits.parse().ok()).flatten();
            number.ok_or_else(item)
        };
        let has_zeros = |digits: &str| digits.len() > 1 && digits.starts_with('0');
        let width = if has_zeros(first) { first.len() } else { 0 };
        let range = Self {
            first: number(first)?,
            last: number(last)?,
            width,
        };
        let widths_differ = match width {
            0 => has_zeros(last),
            width => last.len() < width || (has_zeros(last) && last.len() != width),
        };
        match range.first > range.last || widths_differ {
            true => Err(HostSetError::Range(shortened(text))),
            false => Ok(range),
        }
    }

    /// Whether one of its numbers is written so.
    fn writes(&self, digits: &str) -> bool {
        let number = digits
            .parse::<u64>()
            .ok()
            .filter(|number| (self.first..=self.last).contains(number));
        let width = self.width;
        number.is_some_and(|number| format!("{number:0width$}") == digits)
    }

    fn len(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, width } = *self;
        match first == last {
            true => write!(f, "{first:0width$}"),
            false => write!(f, "{first:0width$}-{last:0width$}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Numbers(Vec<NumberRange>),
}

/// Names that are written in one go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSet {
    source: String,
    parts: Vec<Part>,
}

/// One set, or a list of sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSets(pub Vec<HostSet>);

struct SetsVisitor;

impl<'de> de::Visitor<'de> for SetsVisitor {
    type Value = HostSets;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hosts such as \"client[01-30]\", or a list of such texts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<HostSets, E> {
        Ok(HostSets(vec![HostSet::parse(text).map_err(E::custom)?]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<HostSets, A::Error> {
        let mut sets = Vec::new();
        while let Some(set) = list.next_element()? {
            sets.push(set);
        }
        Ok(HostSets(sets))
    }
}

impl<'de> Deserialize<'de> for HostSets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SetsVisitor)
    }
}

impl JsonSchema for HostSets {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HostSets".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let set = generator.subschema_for::<HostSet>();
        schemars::json_schema!({ "anyOf": [set, { "type": "array", "items": set }] })
    }
}

/// So much of a text as fits into a message.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

impl HostSet {
    /// The set that this text writes.
    ///
    /// # Errors
    /// The text isn't a set, stands for too many hosts, or for names that can't be.
    pub fn parse(source: &str) -> Result<Self, HostSetError> {
        let bracket = || HostSetError::Bracket(shortened(source));
        if source.len() > LONGEST {
            return Err(HostSetError::TooMany(shortened(source)));
        }
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some(at) = rest.find(['[', ']']) {
            if !rest[at..].starts_with('[') {
                return Err(bracket());
            }
            if at > 0 {
                parts.push(Part::Text(rest[..at].to_owned()));
            }
            let (inside, after) = rest[at + 1..].split_once(']').ok_or_else(bracket)?;
            if inside.contains('[') {
                return Err(bracket());
            }
            let ranges: Result<Vec<_>, _> = inside.split(',').map(NumberRange::parse).collect();
            parts.push(Part::Numbers(ranges?));
            rest = after;
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        let set = Self {
            source: source.to_owned(),
            parts,
        };
        let brackets = set
            .parts
            .iter()
            .filter(|part| matches!(part, Part::Numbers(_)));
        let is_small = brackets.count() <= MOST_BRACKETS && set.len() <= MOST_HOSTS as u64;
        if !is_small {
            return Err(HostSetError::TooMany(shortened(source)));
        }
        // A name that can't be is said where the set is written, not where it is used.
        set.expand_names(|name| HostName::new(name).map(drop))?;
        Ok(set)
    }

    /// The set of one host.
    pub fn single(name: &HostName) -> Self {
        Self {
            source: name.to_string(),
            parts: vec![Part::Text(name.to_string())],
        }
    }

    /// How many names are written; a name that is written twice counts twice.
    fn len(&self) -> u64 {
        let lengths = self.parts.iter().map(|part| match part {
            Part::Text(_) => 1,
            Part::Numbers(ranges) => ranges
                .iter()
                .fold(0u64, |sum, range| sum.saturating_add(range.len())),
        });
        lengths.fold(1, u64::saturating_mul)
    }

    /// Whether this host is in it.
    pub fn has(&self, host: &HostName) -> bool {
        matches(&self.parts, host.as_str())
    }

    /// Its name, if it is written as one, without brackets.
    pub fn as_single(&self) -> Option<&str> {
        (!self.source.contains('[')).then_some(self.source.as_str())
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Its hosts, each once, in the order in which they are written.
    pub fn expand(&self) -> Vec<HostName> {
        let mut names = indexmap::IndexSet::new();
        let all =
            self.expand_names(|name| HostName::new(name).map(|name| names.insert(name)).map(drop));
        debug_assert!(all.is_ok(), "names were checked when the set was read");
        names.into_iter().collect()
    }

    fn expand_names(
        &self,
        mut take: impl FnMut(String) -> Result<(), NameError>,
    ) -> Result<(), NameError> {
        let mut heads = vec![String::new()];
        for part in &self.parts {
            match part {
                Part::Text(text) => heads.iter_mut().for_each(|head| head.push_str(text)),
                Part::Numbers(ranges) => {
                    let numbers = || {
                        let each = ranges.iter().flat_map(|range| {
                            (range.first..=range.last).map(|number| (number, range.width))
                        });
                        each.map(|(number, width)| format!("{number:0width$}"))
                    };
                    let longer = heads
                        .iter()
                        .flat_map(|head| numbers().map(move |it| format!("{head}{it}")));
                    heads = longer.collect();
                }
            }
        }
        heads.into_iter().try_for_each(&mut take)
    }

    /// Few sets that have these names and no others: numbers at one place of names that are alike else become ranges.
    pub fn compress<'a>(names: impl IntoIterator<Item = &'a HostName>) -> Vec<Self> {
        let names: indexmap::IndexSet<&HostName> = names.into_iter().collect();
        let mut sets: Vec<String> = names.iter().map(ToString::to_string).collect();
        for from_end in 0..MOST_BRACKETS {
            sets = fold_numbers(&sets, from_end);
        }
        let sets: Result<Vec<Self>, _> = sets.iter().map(|set| Self::parse(set)).collect();
        // More names than a set may have.
        sets.unwrap_or_else(|_| names.into_iter().map(Self::single).collect())
    }
}

/// Whether these parts write this text.
fn matches(parts: &[Part], text: &str) -> bool {
    match parts.split_first() {
        None => text.is_empty(),
        Some((Part::Text(start), rest)) => text
            .strip_prefix(start.as_str())
            .is_some_and(|text| matches(rest, text)),
        Some((Part::Numbers(ranges), rest)) => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            (1..=digits).any(|end| {
                ranges.iter().any(|range| range.writes(&text[..end])) && matches(rest, &text[end..])
            })
        }
    }
}

/// Sets that differ in one number alone become one set: in the number at this place, counted from the end, brackets as well.
fn fold_numbers(sets: &[String], from_end: usize) -> Vec<String> {
    // By what stands before and after the number; a name without one stays alone.
    let mut families: indexmap::IndexMap<(&str, Option<&str>), Vec<&str>> =
        indexmap::IndexMap::new();
    for set in sets {
        let (family, digits) = match number_from_end(set, from_end) {
            Some((before, digits, after)) => ((before, Some(after)), digits),
            None => ((set.as_str(), None), ""),
        };
        families.entry(family).or_default().push(digits);
    }
    let written = families.into_iter().map(|((before, after), numbers)| {
        let inside = match &numbers[..] {
            [only] => (*only).to_owned(),
            _ => bracket_of(&numbers),
        };
        format!("{before}{inside}{}", after.unwrap_or_default())
    });
    written.collect()
}

/// The number at this place, counted from the end, with what stands before and after it; none where a bracket stands there.
fn number_from_end(set: &str, from_end: usize) -> Option<(&str, &str, &str)> {
    let mut end = set.len();
    for place in 0.. {
        end = set[..end].rfind(|c: char| c.is_ascii_digit() || c == ']')? + 1;
        let is_bracket = set[..end].ends_with(']');
        let start = match is_bracket {
            true => set[..end].rfind('[')?,
            false => set[..end]
                .rfind(|c: char| !c.is_ascii_digit())
                .map_or(0, |at| at + 1),
        };
        if place == from_end {
            let digits = &set[start..end];
            // More digits than the largest number surely has stay as they are.
            let is_number = !is_bracket && digits.len() < 19;
            return is_number.then(|| (&set[..start], digits, &set[end..]));
        }
        end = start;
    }
    None
}

/// A bracket with these numbers, which are written with digits alone.
fn bracket_of(numbers: &[&str]) -> String {
    let has_zeros = |digits: &str| digits.len() > 1 && digits.starts_with('0');
    let padded: BTreeSet<usize> = numbers
        .iter()
        .filter(|it| has_zeros(it))
        .map(|it| it.len())
        .collect();
    let mut written: Vec<(usize, u64)> = numbers
        .iter()
        .filter_map(|digits| {
            // `10` is of the width of `09`, where that is there, and of none beside `9`.
            let width = if padded.contains(&digits.len()) {
                digits.len()
            } else {
                0
            };
            Some((width, digits.parse().ok()?))
        })
        .collect();
    written.sort_unstable();
    let mut ranges: Vec<NumberRange> = Vec::new();
    for (width, number) in written {
        match ranges.last_mut() {
            Some(range) if range.width == width && range.last + 1 == number => range.last = number,
            _ => ranges.push(NumberRange {
                first: number,
                last: number,
                width,
            }),
        }
    }
    let ranges: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    format!("[{}]", ranges.join(","))
}

impl fmt::Display for HostSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.source)
    }
}

impl FromStr for HostSet {
    type Err = HostSetError;
    fn from_str(text: &str) -> Result<Self, HostSetError> {
        Self::parse(text)
    }
}

impl Serialize for HostSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl<'de> Deserialize<'de> for HostSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for HostSet {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HostSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Hosts that are written in one go: client[01-30], node[1-3,7,9-12], rack[1-2]n[01-10]"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(set: &str) -> Vec<String> {
        let set = HostSet::parse(set).unwrap_or_else(|error| panic!("{set}: {error}"));
        set.expand().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn sets_stand_for_their_names() {
        assert_eq!(names("dut"), ["dut"]);
        assert_eq!(names("c[08-11]"), ["c08", "c09", "c10", "c11"]);
        assert_eq!(
            names("n[1-3,7, 9-10]"),
            ["n1", "n2", "n3", "n7", "n9", "n10"]
        );
        assert_eq!(
            names("r[1-2]n[01-02].lab"),
            ["r1n01.lab", "r1n02.lab", "r2n01.lab", "r2n02.lab"]
        );
        assert_eq!(names("n[1-3,2]"), ["n1", "n2", "n3"]);
        assert_eq!(names("n[098-101]"), ["n098", "n099", "n100", "n101"]);
        assert_eq!(names("[1-2]"), ["1", "2"]);
        assert_eq!(names("n[1-4096]").len(), MOST_HOSTS);
    }

    #[test]
    fn what_is_no_set_is_refused_without_being_expanded() {
        for (set, says) in [
            ("", "not a name"),
            ("n[1-99999999]", "more than 4096"),
            ("n[0-18446744073709551615]", "more than 4096"),
            ("n[1-100][1-100]", "more than 4096"),
            ("n[0][0][0][0][0][0][0][0][0]", "more than 4096"),
            ("n[3-1]", "isn't one"),
            ("n[1-030]", "isn't one"),
            ("n[001-20]", "isn't one"),
            ("n[]", "neither a number"),
            ("n[1,]", "neither a number"),
            ("n[a-f]", "neither a number"),
            ("n[1-2-3]", "neither a number"),
            ("n[-1]", "neither a number"),
            ("n[99999999999999999999]", "neither a number"),
            ("n[1-2", "without its `]`"),
            ("n1-2]", "without its `]`"),
            ("n[[1-2]]", "bracket in a bracket"),
            ("n [1-2]", "not a name"),
            ("-[1-2]", "not a name"),
            ("tag:10g", "not a name"),
        ] {
            let error = HostSet::parse(set).unwrap_err().to_string();
            assert!(error.contains(says), "{set}: {error}");
        }
        let long = format!("n{}", "[0]".repeat(100_000));
        assert!(HostSet::parse(&long).unwrap_err().to_string().len() < 300);
    }

    #[test]
    fn names_that_are_alike_are_written_in_one_go() {
        let compressed = |sets: &[&str]| -> Vec<String> {
            let all: Vec<HostName> = sets
                .iter()
                .flat_map(|set| HostSet::parse(set).unwrap().expand())
                .collect();
            HostSet::compress(&all)
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        assert_eq!(compressed(&["client[01-30]"]), ["client[01-30]"]);
        assert_eq!(compressed(&["n9", "n10", "n8", "dut"]), ["n[8-10]", "dut"]);
        assert_eq!(compressed(&["rack[1-2]n[01-10]"]), ["rack[1-2]n[01-10]"]);
        assert_eq!(compressed(&["n[01-99]", "n100"]), ["n[100,01-99]"]);
        assert_eq!(
            compressed(&["r1n[1-3]", "r2n[1-2]"]),
            ["r1n[1-3]", "r2n[1-2]"]
        );
    }

    proptest! {
        #[test]
        fn compressed_names_expand_to_themselves(
            names in proptest::collection::vec("[a-c]{1,2}[0-9]{0,3}(-[x-y][0-9]{1,2})?", 0..60)
        ) {
            let names: Vec<HostName> = names.into_iter().map(|it| HostName::new(it).unwrap()).collect();
            let sets = HostSet::compress(&names);
            let mut expanded: Vec<HostName> = sets.iter().flat_map(HostSet::expand).collect();
            let count = expanded.len();
            expanded.sort();
            expanded.dedup();
            prop_assert_eq!(count, expanded.len(), "a name stands in two sets");
            let mut wanted = names;
            wanted.sort();
            wanted.dedup();
            prop_assert_eq!(expanded, wanted);
        }

        #[test]
        fn an_expanded_set_compresses_to_its_names(
            set in "n\\[(0?[1-9]-[1-9][0-9],)?[0-9]{1,3}\\](x\\[[1-3]-[4-6]\\])?"
        ) {
            if let Ok(set) = HostSet::parse(&set) {
                let mut names = set.expand();
                let sets = HostSet::compress(&names);
                let mut again: Vec<HostName> = sets.iter().flat_map(HostSet::expand).collect();
                again.sort();
                names.sort();
                prop_assert_eq!(again, names);
            }
        }

        #[test]
        fn any_text_is_a_set_or_refused(text in "[a-c0-9,\\-\\[\\] é:]{0,30}") {
            if let Ok(set) = HostSet::parse(&text) {
                let names = set.expand();
                prop_assert!(names.len() <= MOST_HOSTS);
                prop_assert!(names.iter().all(|name| set.has(name)));
                for other in ["a", "b0", "c10", "1"] {
                    let other = HostName::new(other).unwrap();
                    prop_assert_eq!(set.has(&other), names.contains(&other));
                }
            }
        }
    }
}
