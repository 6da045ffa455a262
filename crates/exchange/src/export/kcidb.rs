//! Reports for KCIDB, KernelCI's common database, in its schema 5.3
//! (<https://github.com/kernelci/kcidb-io/blob/main/kcidb_io/schema/v05_03.py>).
//!
//! A study is a checkout, a build of it a build, and each test a test beside one for the suite as a whole, so that a run that broke
//! off is seen. What the schema has no word for stands in `misc`: a test's name as it is, and our word for its outcome.

use backsight_model::{Outcome, SuiteRun, TestCount, TestResultRef};
use serde::{Serialize, Serializer};
use std::io::{self, Write};

use super::exported_tests::ExportedTests;

/// Longest excerpt of a log, in characters.
const LONGEST_LOG: usize = 16_384;

#[derive(Serialize)]
struct Report<'a> {
    version: SchemaVersion,
    checkouts: [Checkout<'a>; 1],
    builds: [Build<'a>; 1],
    #[serde(serialize_with = "all_tests")]
    tests: &'a Tests<'a>,
}

#[derive(Serialize)]
struct SchemaVersion {
    major: u8,
    minor: u8,
}

#[derive(Serialize)]
struct Checkout<'a> {
    id: &'a str,
    origin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_commit_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_commit_name: Option<String>,
    comment: &'a str,
    valid: bool,
}

#[derive(Serialize)]
struct Build<'a> {
    id: &'a str,
    checkout_id: &'a str,
    origin: &'a str,
    status: Status,
}

#[derive(Serialize)]
struct Test<'a> {
    id: String,
    build_id: &'a str,
    origin: &'a str,
    path: String,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_excerpt: Option<String>,
    misc: Misc<'a>,
}

#[derive(Serialize)]
struct Misc<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reruns: Vec<String>,
}

/// Ordered as the schema orders them: the lowest of a suite's tests is the suite's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    Fail,
    Error,
    Miss,
    Pass,
    Skip,
}

impl Status {
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Pass | Outcome::ExpectedFail => Self::Pass,
            Outcome::Fail | Outcome::UnexpectedPass | Outcome::Crash(_) => Self::Fail,
            // It didn't complete, and whether the tested code is at fault isn't known.
            Outcome::Error | Outcome::Timeout | Outcome::NoExit => Self::Error,
            Outcome::NotRun | Outcome::NoLog => Self::Miss,
            Outcome::Skip => Self::Skip,
        }
    }

    fn of_run(run: &SuiteRun) -> Self {
        let tests = run.results.outcomes().iter().copied().map(Self::of);
        let is_missing = !run.complete || run.count(TestCount::NotRun) > 0;
        let all = tests.chain(is_missing.then_some(Self::Miss));
        all.min().unwrap_or(Self::Miss)
    }
}

struct Tests<'a> {
    of: &'a ExportedTests,
    checkout: String,
    build: String,
    origin: &'a str,
}

impl<'a> Tests<'a> {
    fn id(&self, number: usize) -> String {
        format!("{}/trial-{}/{number}", self.checkout, self.of.trial)
    }

    fn suite(&'a self) -> Test<'a> {
        let problems = self.of.run.problems.join("\n");
        Test {
            id: self.id(0),
            build_id: &self.build,
            origin: self.origin,
            path: path(&self.of.suite, ""),
            status: Status::of_run(&self.of.run),
            duration: None,
            comment: (!problems.is_empty()).then(|| without_nul(&problems)),
            log_excerpt: None,
            misc: Misc {
                name: &self.of.suite,
                outcome: None,
                reruns: Vec::new(),
            },
        }
    }

    fn test(&'a self, number: usize, result: TestResultRef<'a>) -> Test<'a> {
        Test {
            id: self.id(number),
            build_id: &self.build,
            origin: self.origin,
            path: path(&self.of.suite, result.name),
            status: Status::of(result.outcome),
            duration: result.seconds,
            comment: result.message.map(without_nul),
            log_excerpt: excerpt(result.log),
            misc: Misc {
                name: result.name,
                outcome: Some(result.outcome.to_string()),
                reruns: result.reruns.iter().map(ToString::to_string).collect(),
            },
        }
    }
}

/// Writes the report of a run.
pub fn write(tests: &ExportedTests, origin: &str, out: &mut impl Write) -> io::Result<()> {
    // Studies of two stores may be called the same: they began at other times.
    let checkout = format!("{origin}:{}@{}", tests.study, tests.began);
    let of_run = Tests {
        of: tests,
        build: format!("{checkout}/build-{}", tests.build),
        checkout,
        origin,
    };
    let version = tests.version.as_ref();
    let is_hash =
        |id: &&str| id.len() == 40 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let report = Report {
        version: SchemaVersion { major: 5, minor: 3 },
        checkouts: [Checkout {
            id: &of_run.checkout,
            origin,
            git_commit_hash: version.map(|version| version.id.as_str()).filter(is_hash),
            git_commit_name: version.map(|version| version.full_name()),
            comment: &tests.study,
            valid: true,
        }],
        builds: [Build {
            id: &of_run.build,
            checkout_id: &of_run.checkout,
            origin,
            status: Status::Pass,
        }],
        tests: &of_run,
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}

fn all_tests<S: Serializer>(tests: &&Tests<'_>, to: S) -> Result<S::Ok, S::Error> {
    let numbered = (1..).zip(tests.of.run.results.iter());
    let each = numbered.map(|(number, result)| tests.test(number, result));
    to.collect_seq([tests.suite()].into_iter().chain(each))
}

/// A suite's test as the schema's path: parts with dots between them, of letters, digits, `_` and `-`.
fn path(suite: &str, name: &str) -> String {
    let legal = |c: char| match c {
        '-' | '_' => c,
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    };
    let parts = [suite].into_iter().chain(name.split('/'));
    let parts = parts.filter(|part| !part.is_empty());
    let parts: Vec<String> = parts
        .map(|part| part.chars().map(legal).collect())
        .collect();
    parts.join(".")
}

/// The end of a log, where there is one.
fn excerpt(log: &str) -> Option<String> {
    let from = log.char_indices().rev().nth(LONGEST_LOG - 1);
    let end = from.map_or(log, |(at, _)| &log[at..]);
    (!end.is_empty()).then(|| without_nul(end))
}

/// The schema's texts have no NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::TestResult;

    fn written(run: SuiteRun) -> serde_json::Value {
        let tests = ExportedTests {
            study: "nightly".into(),
            began: "2026-11-26T12:00:00Z".parse().unwrap(),
            trial: 1,
            build: 0,
            version: None,
            suite: "net".into(),
            run,
        };
        let mut text = Vec::new();
        write(&tests, "my_ci", &mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn a_report_has_the_suite_and_each_of_its_tests() {
        let mut failed = TestResult::new("tcp/a.b c\0", Outcome::Crash(Some(11)));
        failed.log = "é".repeat(LONGEST_LOG + 5);
        failed.message = Some("no\0route".into());
        failed.seconds = Some(0.1);
        let run = SuiteRun {
            results: [failed, TestResult::new("udp", Outcome::Pass)]
                .into_iter()
                .collect(),
            complete: true,
            ..SuiteRun::default()
        };
        let report = written(run);
        let checkout = "my_ci:nightly@2026-11-26T12:00:00Z";
        assert_eq!(
            report["version"],
            serde_json::json!({"major": 5, "minor": 3})
        );
        assert_eq!(report["checkouts"][0]["id"], checkout);
        assert_eq!(report["builds"][0]["checkout_id"], checkout);
        let tests = report["tests"].as_array().unwrap();
        let seen: Vec<(&str, &str)> = tests
            .iter()
            .map(|test| {
                assert_eq!(test["build_id"], report["builds"][0]["id"]);
                let text = |key: &str| test[key].as_str().unwrap();
                (text("path"), text("status"))
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("net", "FAIL"),
                ("net.tcp.a_b_c_", "FAIL"),
                ("net.udp", "PASS")
            ]
        );
        let crash = &tests[1];
        assert_eq!(crash["misc"]["outcome"], "crash 11");
        assert_eq!(crash["misc"]["name"], "tcp/a.b c\0");
        assert_eq!(crash["comment"], "no\u{fffd}route");
        assert_eq!(crash["duration"].to_string(), "0.1");
        let log = crash["log_excerpt"].as_str().unwrap();
        assert_eq!(log.chars().count(), LONGEST_LOG);
    }

    #[test]
    fn a_run_that_broke_off_is_missing_tests() {
        let run = |complete| SuiteRun {
            results: [TestResult::new("a", Outcome::Pass)].into_iter().collect(),
            complete,
            ..SuiteRun::default()
        };
        assert_eq!(written(run(true))["tests"][0]["status"], "PASS");
        assert_eq!(written(run(false))["tests"][0]["status"], "MISS");
        assert_eq!(written(SuiteRun::default())["tests"][0]["status"], "MISS");
    }
}
