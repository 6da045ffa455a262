//! Results of tests, by column: a million of them take little more than their names, which stand in one string.
//!
//! Durations have the precision that the store keeps, that of a 32-bit float.

use backsight_test_results::{Outcome, TestResult};
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, collections::HashMap, iter::Peekable, mem::take, ops::Range, slice};

/// Results of tests, in the order in which they were added.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TestResults {
    /// All names, one behind the other.
    names: String,
    /// Where each name ends.
    ends: Vec<usize>,
    outcomes: Vec<Outcome>,
    /// Negative where nobody says it.
    seconds: Vec<f32>,
    /// What is known besides, with the result's number, in the order of these.
    details: Vec<(usize, TestDetail)>,
}

/// What few results have.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct TestDetail {
    message: Option<String>,
    log: String,
    reruns: Vec<Outcome>,
    line: u64,
}

/// A test's result in a table of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestResultRef<'a> {
    /// Path of names, from suite to test.
    pub name: &'a str,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: Option<f32>,
    /// Why it was skipped, or the first line of its failure.
    pub message: Option<&'a str>,
    /// Its own part of the output.
    pub log: &'a str,
    /// Outcomes of earlier runs of the same test, oldest first.
    pub reruns: &'a [Outcome],
    /// Line of the document, from 1; 0 for a result with neither message, log nor reruns.
    pub line: u64,
}

impl TestResultRef<'_> {
    /// The result by itself.
    pub fn to_result(&self) -> TestResult {
        // The shortest decimal that is this float, as it was in the document.
        let seconds = self.seconds.and_then(|it| it.to_string().parse().ok());
        TestResult {
            message: self.message.map(str::to_owned),
            seconds,
            log: self.log.to_owned(),
            reruns: self.reruns.to_vec(),
            line: self.line,
            ..TestResult::new(self.name, self.outcome)
        }
    }
}

impl TestResults {
    /// How many results there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a result.
    pub fn push(&mut self, result: TestResult) {
        let is_plain =
            result.message.is_none() && result.log.is_empty() && result.reruns.is_empty();
        if !is_plain {
            let detail = TestDetail {
                message: result.message,
                log: result.log,
                reruns: result.reruns,
                line: result.line,
            };
            self.details.push((self.len(), detail));
        }
        let seconds = result.seconds.map(|seconds| seconds as f32);
        let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        self.push_plain(&result.name, result.outcome, seconds.unwrap_or(-1.0));
    }

    fn push_plain(&mut self, name: &str, outcome: Outcome, seconds: f32) {
        self.names.push_str(name);
        self.ends.push(self.names.len());
        self.outcomes.push(outcome);
        self.seconds.push(seconds);
    }

    /// The name of the result that was added last.
    pub fn last_name(&self) -> Option<&str> {
        self.len().checked_sub(1).map(|last| self.name(last))
    }

    /// All of them.
    pub fn iter(&self) -> TestResultIter<'_> {
        TestResultIter {
            of: self,
            next: 0,
            details: self.details.iter().peekable(),
        }
    }

    /// The result of the test of this name, if there is one, among results that are [`sorted`](Self::sorted).
    pub fn find(&self, test: &str) -> Option<TestResultRef<'_>> {
        let (mut from, mut until) = (0, self.len());
        while from < until {
            let middle = from.midpoint(until);
            match self.name(middle).cmp(test) {
                Ordering::Less => from = middle + 1,
                Ordering::Greater => until = middle,
                Ordering::Equal => {
                    let detail = self.details.binary_search_by_key(&middle, |(of, _)| *of);
                    let detail = detail.ok().map(|at| &self.details[at].1);
                    return Some(self.row(middle, detail));
                }
            }
        }
        None
    }

    /// The outcomes of all of them.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    fn row<'a>(&'a self, at: usize, detail: Option<&'a TestDetail>) -> TestResultRef<'a> {
        let seconds = self.seconds[at];
        TestResultRef {
            name: self.name(at),
            outcome: self.outcomes[at],
            seconds: (seconds >= 0.0).then_some(seconds),
            message: detail.and_then(|detail| detail.message.as_deref()),
            log: detail.map_or("", |detail| &detail.log),
            reruns: detail.map_or(&[], |detail| &detail.reruns),
            line: detail.map_or(0, |detail| detail.line),
        }
    }

    /// The name of a result, counted from 0.
    ///
    /// # Panics
    /// There are fewer.
    pub fn name(&self, at: usize) -> &str {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let place: Range<usize> = from..self.ends[at];
        &self.names[place]
    }

    /// The results in the order of their names, one of each test: of several the worst counts, of several that are as bad the last.
    /// Besides, the tests that have several: which result it is, and how many there were.
    #[must_use]
    pub fn sorted(mut self) -> (Self, Vec<(usize, usize)>) {
        let mut repeated = Vec::new();
        if (1..self.len()).all(|at| self.name(at - 1) < self.name(at)) {
            return (self, repeated);
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by(|a, b| self.name(*a).cmp(self.name(*b)).then(a.cmp(b)));
        let mut details: HashMap<usize, TestDetail> = take(&mut self.details).into_iter().collect();
        let mut sorted = Self {
            names: String::with_capacity(self.names.len()),
            ..Self::default()
        };
        for alike in order.chunk_by(|a, b| self.name(*a) == self.name(*b)) {
            let worst = alike.iter().max_by_key(|at| self.outcomes[**at].severity());
            let Some(&at) = worst else { continue };
            if alike.len() > 1 {
                repeated.push((sorted.len(), alike.len()));
            }
            if let Some(detail) = details.remove(&at) {
                sorted.details.push((sorted.len(), detail));
            }
            sorted.push_plain(self.name(at), self.outcomes[at], self.seconds[at]);
        }
        (sorted, repeated)
    }
}

/// Results of a table, one after the other.
#[derive(Debug)]
pub struct TestResultIter<'a> {
    of: &'a TestResults,
    next: usize,
    details: Peekable<slice::Iter<'a, (usize, TestDetail)>>,
}

impl<'a> Iterator for TestResultIter<'a> {
    type Item = TestResultRef<'a>;

    fn next(&mut self) -> Option<TestResultRef<'a>> {
        let at = self.next;
        if at == self.of.len() {
            return None;
        }
        self.next += 1;
        let detail = self.details.next_if(|(of, _)| *of == at);
        Some(self.of.row(at, detail.map(|(_, detail)| detail)))
    }
}

impl<'a> IntoIterator for &'a TestResults {
    type Item = TestResultRef<'a>;
    type IntoIter = TestResultIter<'a>;

    fn into_iter(self) -> TestResultIter<'a> {
        self.iter()
    }
}

impl FromIterator<TestResult> for TestResults {
    fn from_iter<I: IntoIterator<Item = TestResult>>(results: I) -> Self {
        let mut table = Self::default();
        results.into_iter().for_each(|result| table.push(result));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn result() -> impl Strategy<Value = TestResult> {
        let outcome = proptest::sample::select(Outcome::ALL.to_vec());
        let seconds = proptest::option::of((0_u32..1 << 20).prop_map(|it| f64::from(it) / 1000.0));
        let message = proptest::option::of("[a-zé]{1,3}");
        let reruns = proptest::collection::vec(outcome.clone(), 0..2);
        (
            "[a-cé/\n]{1,2}",
            outcome,
            seconds,
            message,
            "[a-z\n]{0,3}",
            reruns,
            1..9_u64,
        )
            .prop_map(|(name, outcome, seconds, message, log, reruns, line)| {
                let is_plain = message.is_none() && log.is_empty() && reruns.is_empty();
                let line = if is_plain { 0 } else { line };
                TestResult {
                    seconds,
                    message,
                    log,
                    reruns,
                    line,
                    ..TestResult::new(name, outcome)
                }
            })
    }

    fn listed(table: &TestResults) -> Vec<TestResult> {
        table.iter().map(|row| row.to_result()).collect()
    }

    proptest! {
        #[test]
        fn a_table_has_what_was_added(results in proptest::collection::vec(result(), 0..9)) {
            let table: TestResults = results.iter().cloned().collect();
            prop_assert_eq!(table.len(), results.len());
            prop_assert_eq!(listed(&table), results);
        }

        #[test]
        fn sorted_it_has_the_worst_result_of_each_test(results in proptest::collection::vec(result(), 0..30)) {
            let table: TestResults = results.iter().cloned().collect();
            let (sorted, repeated) = table.sorted();
            let mut of_test = std::collections::BTreeMap::<_, Vec<TestResult>>::new();
            for result in &results {
                of_test.entry(result.name.clone()).or_default().push(result.clone());
            }
            let several = of_test.values().enumerate().filter(|(_, all)| all.len() > 1);
            prop_assert_eq!(repeated, several.map(|(at, all)| (at, all.len())).collect::<Vec<_>>());
            for (name, all) in &of_test {
                let counts = sorted.find(name).unwrap().to_result();
                let worst = all.iter().map(|it| it.outcome.severity()).max();
                prop_assert_eq!(Some(counts.outcome.severity()), worst);
                prop_assert_eq!(counts.outcome.is_failure(), all.iter().any(|it| it.outcome.is_failure()));
                let as_bad = all.iter().rfind(|it| it.outcome.severity() == counts.outcome.severity());
                prop_assert_eq!(Some(&counts), as_bad);
            }
            prop_assert!(sorted.find("d").is_none());
            prop_assert_eq!(sorted.len(), of_test.len());
            prop_assert!(listed(&sorted).windows(2).all(|pair| pair[0].name < pair[1].name));
        }
    }
}
