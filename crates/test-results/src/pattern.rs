//! Lines that a user describes: a regular expression with named groups, and which words mean which outcome.

use crate::{
    lines::LineDecoder,
    result::{Outcome, ProblemKind, TestResult, path, seconds},
    sink::Sink,
};
use regex::Regex;

/// A line with a result.
///
/// ```
/// use backsight_test_results::{LinePattern, Outcome};
///
/// let words = [("good", Outcome::Pass), ("bad", Outcome::Fail)];
/// let pattern = LinePattern::new(r"^(?<name>\S+) is (?<outcome>\w+)", words)?;
/// # Ok::<(), backsight_test_results::PatternError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinePattern {
    regex: Regex,
    words: Vec<(String, Outcome)>,
}

/// A pattern that finds no results.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PatternError {
    /// No regular expression.
    #[error(transparent)]
    Regex(#[from] regex::Error),
    /// A group that is needed isn't there.
    #[error("the pattern has no group (?<{0}>…)")]
    MissingGroup(&'static str),
    /// A group that nothing is made of.
    #[error("the pattern's group `{0}` isn't one of name, outcome, duration, message")]
    UnknownGroup(String),
}

impl LinePattern {
    /// A pattern with the groups `name` and `outcome`, and perhaps `duration` (in seconds) and `message`. Words that aren't
    /// given mean the outcome that is called so (`pass`, `xfail`, …), in any case. A line that matches without an `outcome` says that the test
    /// begins.
    ///
    /// # Errors
    /// No regular expression, a group that is missing or unknown.
    pub fn new<W: Into<String>>(
        regex: &str,
        words: impl IntoIterator<Item = (W, Outcome)>,
    ) -> Result<LinePattern, PatternError> {
        let regex = Regex::new(regex)?;
        const GROUPS: [&str; 4] = ["name", "outcome", "duration", "message"];
        for name in regex.capture_names().flatten() {
            if !GROUPS.contains(&name) {
                return Err(PatternError::UnknownGroup(name.to_owned()));
            }
        }
        for needed in &GROUPS[..2] {
            if !regex.capture_names().flatten().any(|name| name == *needed) {
                return Err(PatternError::MissingGroup(needed));
            }
        }
        let words = words
            .into_iter()
            .map(|(word, outcome)| (word.into(), outcome))
            .collect();
        Ok(LinePattern { regex, words })
    }

    fn outcome(&self, word: &str) -> Option<Outcome> {
        let known = self.words.iter().find(|(known, _)| known == word);
        known
            .map(|(_, outcome)| *outcome)
            .or_else(|| word.to_lowercase().parse().ok())
    }
}

pub(crate) struct PatternLines(pub(crate) Option<LinePattern>);

impl LineDecoder for PatternLines {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        let Some(pattern) = &self.0 else { return };
        let Some(found) = pattern.regex.captures(line) else {
            return;
        };
        let group = |name| found.name(name).map_or("", |group| group.as_str());
        let Some(word) = found.name("outcome").map(|word| word.as_str()) else {
            return to.started(path([group("name")]));
        };
        let Some(outcome) = pattern.outcome(word) else {
            return to.problem(ProblemKind::UnknownOutcome(word.to_owned()));
        };
        let result = TestResult::new(path([group("name")]), outcome)
            .with_message(group("message"))
            .with_seconds(seconds(group("duration")));
        to.result(result);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Event, Format, LinePattern, Outcome, ReadOptions, ResultReader};

    #[test]
    fn a_line_without_an_outcome_says_that_a_test_begins() {
        let pattern = LinePattern::new(
            r"^(?<name>\S+) (?<outcome>PASS)?",
            [("PASS", Outcome::Pass)],
        );
        let options = ReadOptions {
            pattern: Some(pattern.unwrap()),
            ..ReadOptions::default()
        };
        let mut seen = Vec::new();
        let mut to = |event| match event {
            Event::Started { name } => seen.push(format!("{name} began")),
            Event::Result(result) => seen.push(format!("{} {}", result.name, result.outcome)),
            Event::Problem(problem) => seen.push(problem.to_string()),
        };
        let mut reader = ResultReader::new(Format::Lines, options);
        reader.feed(b"a PASS\nb \nb PASS\nc ", &mut to);
        reader.finish(None, &mut to);
        assert_eq!(
            seen,
            [
                "a pass",
                "b began",
                "b pass",
                "c began",
                "line 4: `c` began and never ended",
                "c noexit"
            ]
        );
    }
}
