//! Samples out of plain text: regular expressions and columns.
//!
//! The text is bytes: what a program printed needn't be UTF-8. `^` and `$` match at the ends of lines. The
//! groups of an expression are `value` (the number), perhaps `unit` (converted into the metric's) and
//! perhaps `per` (the number is divided by it: events ÷ seconds).
//!
//! An expression without `value`, and any other named group, are errors.

use backsight_model::{Unit, did_you_mean};
use regex::bytes::{Regex, RegexBuilder};

/// Most samples that one metric has in one trial.
pub const MOST_SAMPLES: usize = 100_000;

/// Names of groups that mean something.
const GROUPS: &[&str] = &["value", "unit", "per"];

/// A mistake in an expression, and perhaps a way out.
pub type PatternError = (String, Option<String>);

/// Why a match gave no number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberError {
    /// This text isn't a number.
    NotANumber(String),
    /// This number isn't finite, or is divided by nothing.
    NotFinite,
    /// This unit can't become the metric's.
    Unit(String),
    /// A line that was picked has only so many fields.
    Fields(usize),
    /// More matches than anybody needs.
    TooMany,
}

/// A regular expression with its groups.
#[derive(Debug)]
pub struct Expression(Regex);

impl Expression {
    /// The expression that this text writes.
    pub fn compile(source: &str) -> Result<Self, PatternError> {
        let regex = regex(source)?;
        let mut has_value = false;
        for name in regex.capture_names().flatten() {
            has_value |= name == "value";
            if !GROUPS.contains(&name) {
                return Err((
                    format!("the group `{name}` has no meaning: expected `value`, `unit` or `per`"),
                    did_you_mean(name, GROUPS.iter().copied()),
                ));
            }
        }
        if !has_value {
            return Err((
                "this expression doesn't say which part is the value".into(),
                Some(r"name a group: (?<value>[\d.]+)".into()),
            ));
        }
        Ok(Self(regex))
    }

    /// The lines, from 1, that have the values of all matches.
    pub fn lines(&self, text: &[u8]) -> Vec<usize> {
        let matches = self.0.captures_iter(text);
        let places = matches.filter_map(|groups| Some(groups.name("value")?.start()));
        line_numbers(text, places)
    }

    /// The numbers of all matches, in this unit.
    pub fn numbers(&self, text: &[u8], unit: Unit) -> Result<Vec<f64>, NumberError> {
        let mut numbers = Vec::new();
        for groups in self.0.captures_iter(text) {
            let Some(value) = groups.name("value") else {
                continue;
            };
            let mut number = number(value.as_bytes())?;
            if let Some(per) = groups.name("per") {
                number /= self::number(per.as_bytes())?;
            }
            if let Some(written) = groups.name("unit") {
                let written = String::from_utf8_lossy(written.as_bytes());
                let factor = Unit::parse(&written)
                    .ok()
                    .and_then(|written| written.in_terms_of(unit));
                number *= factor.ok_or_else(|| NumberError::Unit(beginning(&written)))?;
            }
            push(&mut numbers, number)?;
        }
        Ok(numbers)
    }
}

/// The numbers of lines, from 1, at these places of a text, which ascend.
fn line_numbers(text: &[u8], places: impl Iterator<Item = usize>) -> Vec<usize> {
    let (mut line, mut seen) = (1, 0);
    let number = |place: usize| {
        line += text[seen..place]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        seen = place;
        line
    };
    places.map(number).collect()
}

/// A field of the lines that match.
#[derive(Debug)]
pub struct ColumnField {
    line: Regex,
    /// From 0.
    index: usize,
}

impl ColumnField {
    /// The field with this number, from 1, of the lines that match.
    pub fn compile(line: &str, number: std::num::NonZeroUsize) -> Result<Self, PatternError> {
        Ok(Self {
            line: regex(line)?,
            index: number.get() - 1,
        })
    }

    /// The lines, from 1, that match.
    pub fn lines(&self, text: &[u8]) -> Vec<usize> {
        let lines = text.split(|byte| *byte == b'\n').zip(1..);
        let matching = lines.filter(|(line, _)| self.line.is_match(line));
        matching.map(|(_, number)| number).collect()
    }

    /// The numbers in the field of all lines that match.
    pub fn numbers(&self, text: &[u8]) -> Result<Vec<f64>, NumberError> {
        let mut numbers = Vec::new();
        for line in text
            .split(|byte| *byte == b'\n')
            .filter(|line| self.line.is_match(line))
        {
            let mut fields = line
                .split(u8::is_ascii_whitespace)
                .filter(|field| !field.is_empty());
            let field = fields.nth(self.index).ok_or_else(|| {
                let all = line
                    .split(u8::is_ascii_whitespace)
                    .filter(|field| !field.is_empty());
                NumberError::Fields(all.count())
            })?;
            push(&mut numbers, number(field)?)?;
        }
        Ok(numbers)
    }
}

/// The expression that this text writes, if it is one.
pub(crate) fn regex(source: &str) -> Result<Regex, PatternError> {
    RegexBuilder::new(source)
        .multi_line(true)
        .build()
        .map_err(|error| {
            let text = error.to_string();
            // A syntax error is drawn over several lines; the last says what it is.
            let last = text.lines().last().unwrap_or_default();
            let why = last.strip_prefix("error: ").unwrap_or(last);
            (format!("this isn't a regular expression: {why}"), None)
        })
}

/// A number, with or without commas between its thousands.
fn number(text: &[u8]) -> Result<f64, NumberError> {
    let written = std::str::from_utf8(text).ok().map(str::trim);
    let number = written.and_then(|text| match text.contains(',') {
        true if has_thousands(text) => text.replace(',', "").parse().ok(),
        true => None,
        false => text.parse::<f64>().ok(),
    });
    number.ok_or_else(|| NumberError::NotANumber(beginning(&String::from_utf8_lossy(text))))
}

/// Whether all commas stand between thousands: `2,421,115.5`.
fn has_thousands(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.trim_start_matches(['+', '-']).split(',');
    let digits = |group: &str| group.bytes().all(|c| c.is_ascii_digit());
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len())
        && digits(first)
        && !fraction.contains(',')
        && groups.all(|group| group.len() == 3 && digits(group))
}

fn push(numbers: &mut Vec<f64>, number: f64) -> Result<(), NumberError> {
    if !number.is_finite() {
        return Err(NumberError::NotFinite);
    }
    if numbers.len() == MOST_SAMPLES {
        return Err(NumberError::TooMany);
    }
    numbers.push(number);
    Ok(())
}

fn beginning(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(text: &str) -> Unit {
        Unit::parse(text).unwrap()
    }

    fn numbers(source: &str, text: &str, unit_text: &str) -> Result<Vec<f64>, NumberError> {
        Expression::compile(source)
            .unwrap()
            .numbers(text.as_bytes(), unit(unit_text))
    }

    #[test]
    fn every_match_is_a_number_in_the_metrics_unit() {
        let text = "a=1.5 ms\nb=2 ms\na=250 us\n";
        assert_eq!(
            numbers(r"^a=(?<value>[\d.]+) (?<unit>\w+)$", text, "ms"),
            Ok(vec![1.5, 0.25])
        );
        assert_eq!(
            numbers(r"(?<value>[\d.]+) (?<unit>ms)", text, "s"),
            Ok(vec![0.0015, 0.002])
        );
        assert_eq!(numbers("c=(?<value>.*)", text, "s"), Ok(vec![]));
    }

    #[test]
    fn a_number_is_divided_by_the_group_per() {
        let text = "time: 2.5s\nevents: 10\n";
        let source = r"time: (?<per>[\d.]+)s\s+events: (?<value>\d+)";
        assert_eq!(numbers(source, text, "events/s"), Ok(vec![4.0]));
        assert_eq!(
            numbers(source, "time: 0s\nevents: 3", "events/s"),
            Err(NumberError::NotFinite)
        );
    }

    #[test]
    fn what_is_no_finite_number_is_refused() {
        let of = |text: &str| numbers("x=(?<value>.*)", text, "s");
        assert_eq!(of("x=fast"), Err(NumberError::NotANumber("fast".into())));
        for not_thousands in ["1,5", "1,2345", ",123", "1234,567", "1,", "1.5,000"] {
            let refused = Err(NumberError::NotANumber(not_thousands.into()));
            assert_eq!(of(&format!("x={not_thousands}")), refused);
        }
        assert_eq!(of("x="), Err(NumberError::NotANumber(String::new())));
        for endless in ["nan", "-inf", "infinity", "1e999"] {
            assert_eq!(
                of(&format!("x={endless}")),
                Err(NumberError::NotFinite),
                "{endless}"
            );
        }
        let with_unit = |text| numbers(r"x=(?<value>\d+) (?<unit>\S+)", text, "s");
        assert_eq!(with_unit("x=1 B"), Err(NumberError::Unit("B".into())));
        assert_eq!(
            with_unit("x=1 parsec"),
            Err(NumberError::Unit("parsec".into()))
        );
    }

    #[test]
    fn commas_may_stand_between_thousands() {
        let text = "2,421,115 ops/sec\n12,000.5 ops/sec\n-1,000 ops/sec\n999 ops/sec";
        assert_eq!(
            numbers(r"^(?<value>\S+) ops", text, "ops/s"),
            Ok(vec![2_421_115.0, 12_000.5, -1000.0, 999.0])
        );
    }

    #[test]
    fn text_that_is_not_utf_8_is_searched_all_the_same() {
        let expression = Expression::compile(r"x=(?<value>\d+)").unwrap();
        assert_eq!(
            expression.numbers(b"\xff\xfe\0x=7\xff", unit("s")),
            Ok(vec![7.0])
        );
    }

    #[test]
    fn a_field_is_counted_from_one_between_white_space() {
        let field = |number, text: &str| {
            let number = std::num::NonZeroUsize::new(number).unwrap();
            ColumnField::compile(r"^cpu\d", number)
                .unwrap()
                .numbers(text.as_bytes())
        };
        let text = "cpu  1 2\ncpu0   3\t4\r\n  cpu1 9 9\ncpu2 5 6";
        assert_eq!(field(2, text), Ok(vec![3.0, 5.0]));
        assert_eq!(field(3, text), Ok(vec![4.0, 6.0]));
        assert_eq!(field(4, text), Err(NumberError::Fields(3)));
        assert_eq!(field(1, text), Err(NumberError::NotANumber("cpu0".into())));
    }

    #[test]
    fn more_matches_than_anybody_needs_are_refused() {
        let text = "1\n".repeat(MOST_SAMPLES + 1);
        assert_eq!(
            numbers(r"(?<value>\d)", &text, "s"),
            Err(NumberError::TooMany)
        );
    }

    #[test]
    fn mistakes_in_expressions_say_what_they_are() {
        let mistake = |source: &str| Expression::compile(source).unwrap_err();
        assert!(
            mistake("(?<value>").0.contains("unclosed"),
            "{:?}",
            mistake("(?<value>")
        );
        assert_eq!(mistake("(?<vaule>x)").1.unwrap(), "did you mean `value`?");
        assert!(mistake(r"\d+").0.contains("which part"));
        assert!(
            mistake(r"(?<value>\d{1000}{1000})").0.contains("size"),
            "{:?}",
            mistake(r"(?<value>\d{1000}{1000})")
        );
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_numbers_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let expression = Expression::compile(r"(?<value>\S+) (?<unit>\S+)").unwrap();
            let found = expression.numbers(&bytes, unit("s"));
            prop_assert!(found.is_err() || found.unwrap().iter().all(|number| number.is_finite()));
            let field = ColumnField::compile("", std::num::NonZeroUsize::MIN).unwrap().numbers(&bytes);
            prop_assert!(field.is_err() || field.unwrap().iter().all(|number| number.is_finite()));
        }
    }
}
