//! Results, written and read again, are the same.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_test_results::{
    Event, Format, JUnitWriter, Outcome, ReadOptions, ResultReader, TapWriter, TestResult,
};
use proptest::prelude::*;

/// Results and problems of a document.
fn read(format: Format, bytes: &[u8]) -> (Vec<TestResult>, Vec<String>) {
    let (mut results, mut problems) = (Vec::new(), Vec::new());
    let reader = ResultReader::new(format, ReadOptions::default());
    let mut sort = |event| match event {
        Event::Result(result) => results.push(TestResult { line: 0, ..result }),
        Event::Problem(problem) => problems.push(problem.to_string()),
        Event::Started { .. } => {}
    };
    reader.read(bytes, &mut sort).unwrap();
    (results, problems)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        proptest::sample::select(Outcome::ALL.to_vec()),
        (1..64_i32).prop_map(|signal| Outcome::Crash(Some(signal))),
    ]
}

/// A result as readers make it: no blanks around names' parts, a message of one line.
fn result() -> impl Strategy<Value = TestResult> {
    let part = r#"[!-.0-~é<>&"'\n#\\]([ -.0-~é]{0,20}[!-.0-~é\t\r<&])?"#;
    let part = part
        .prop_map(|part| part.trim().to_owned())
        .prop_filter("empty", |part| !part.is_empty());
    let name = proptest::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    let message = proptest::option::of(r#"[!-~é<&"']([ -~é]{0,40}[!-~])?"#);
    let seconds = proptest::option::of(0.0..1e6);
    let log = r#"([ -~\n\t\ré<>&]|\]\]>){0,80}"#;
    let reruns = proptest::collection::vec(outcome(), 0..3);
    (name, outcome(), message, seconds, log, reruns).prop_map(
        |(name, outcome, message, seconds, log, reruns)| TestResult {
            name,
            outcome,
            message: message.filter(|_| outcome != Outcome::Pass),
            seconds,
            log,
            reruns,
            line: 0,
        },
    )
}

fn junit(results: &[TestResult]) -> Vec<u8> {
    let mut writer = JUnitWriter::new(Vec::new()).unwrap();
    results
        .iter()
        .for_each(|result| writer.write(result).unwrap());
    writer.finish().unwrap()
}

proptest! {
    #[test]
    fn junit_keeps_everything(mut results in proptest::collection::vec(result(), 1..10)) {
        // Two results of one test are said to be.
        results.sort_by(|a, b| a.name.cmp(&b.name));
        results.dedup_by(|a, b| a.name == b.name);
        let (again, problems) = read(Format::JUnit, &junit(&results));
        prop_assert_eq!(problems, Vec::<String>::new());
        prop_assert_eq!(again, results);
    }

    #[test]
    fn tap_keeps_names_and_outcomes_that_it_has(mut results in proptest::collection::vec(result(), 1..10)) {
        // Tests that are called alike are told apart.
        results.sort_by(|a, b| a.name.cmp(&b.name));
        results.dedup_by(|a, b| a.name == b.name);
        let mut writer = TapWriter::new(Vec::new()).unwrap();
        results.iter().for_each(|result| writer.write(result).unwrap());
        let text = writer.finish().unwrap();
        let (again, problems) = read(Format::Tap, &text);
        prop_assert_eq!(problems, Vec::<String>::new());
        prop_assert_eq!(again.len(), results.len());
        for (again, result) in again.iter().zip(&results) {
            let outcome = match result.outcome {
                Outcome::NotRun => Outcome::Skip,
                known @ (Outcome::Pass | Outcome::Skip | Outcome::ExpectedFail) => known,
                _ => Outcome::Fail,
            };
            prop_assert_eq!(again.outcome, outcome);
            prop_assert_eq!(&again.name, &result.name.replace(['\n', '\r'], " "));
            prop_assert_eq!(&again.message, &result.message);
        }
    }

    #[test]
    fn what_xml_cannot_have_is_written_visibly(text in "\\PC{0,10}[\0\u{1b}\u{fffe}]\\PC{0,10}") {
        let mut result = TestResult::new("a/b", Outcome::Fail);
        result.log = text.clone();
        result.message = Some(text.replace('\n', ""));
        let document = String::from_utf8(junit(&[result])).unwrap();
        let allowed = document.chars().all(|c| c >= ' ' && c != '\u{fffe}' || c == '\n');
        prop_assert!(allowed, "{}", document);
        let (again, problems) = read(Format::JUnit, document.as_bytes());
        prop_assert_eq!(problems, Vec::<String>::new());
        let visible = again[0].log.contains("\\u{");
        prop_assert!(visible, "{}", again[0].log);
    }
}

#[test]
fn words_of_outcomes_are_read_again() {
    for outcome in Outcome::ALL.into_iter().chain([Outcome::Crash(Some(11))]) {
        assert_eq!(outcome.to_string().parse(), Ok(outcome));
    }
    assert!("passed".parse::<Outcome>().is_err());
}
