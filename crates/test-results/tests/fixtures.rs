//! Outputs of real programs (`fixtures/README.md` says of which), and what is read from them: `fixtures/FILE.results`.
//! `BACKSIGHT_BLESS=1` writes these anew; look at the difference.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_test_results::{Event, Format, ReadOptions, ResultReader};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// Fixtures by format.
const FIXTURES: &[(Format, &[&str])] = &[
    (
        Format::Tap,
        &[
            "perl-more.tap",
            "perl-bail.tap",
            "perl-skip-all.tap",
            "bats.tap",
            "bats-tap13.tap",
            "tap14.tap",
            "node-two-files.tap",
            "node.tap",
            "node-todo.tap",
            "node-tap-nested.tap",
        ],
    ),
    (Format::Ktap, &["kunit.txt", "ktap.txt", "kselftest.txt"]),
    (
        Format::JUnit,
        &[
            "pytest.xml",
            "nextest.xml",
            "ctest-junit.xml",
            "meson.xml",
            "bats.xml",
            "surefire.xml",
            "node-two-files.xml",
            "mocha-xunit.xml",
            "latin1.xml",
            "suite-error.xml",
            "googletest-1.10.xml",
        ],
    ),
    (
        Format::Subunit,
        &[
            "subunit2.bin",
            "subunit1.txt",
            "check-loop.subunit",
            "samba.subunit",
        ],
    ),
    (
        Format::GoTest,
        &["go.json", "go-crash.json", "go-count.json"],
    ),
    (
        Format::LibtestJson,
        &["libtest.json", "nextest-plus.json", "nextest-ignored.json"],
    ),
    (
        Format::Libtest,
        &["libtest.txt", "cargo-test.txt", "libtest-bench.txt"],
    ),
    (
        Format::PytestReport,
        &[
            "pytest-report.json",
            "pytest9-report.json",
            "pytest9-uncollected.json",
        ],
    ),
    (
        Format::PytestReportlog,
        &[
            "pytest-reportlog.jsonl",
            "pytest9-reportlog.jsonl",
            "pytest-rerunfailures12.jsonl",
        ],
    ),
    (Format::CTest, &["ctest.txt", "ctest-repeat.txt"]),
    (Format::CTestXml, &["ctest-Test.xml"]),
    (
        Format::Automake,
        &[
            "automake.txt",
            "automake-subdirs.txt",
            "automake-test-suite.log",
        ],
    ),
    (Format::AutomakeTrs, &["automake.trs", "automake-tap.trs"]),
    (
        Format::Ltp,
        &[
            "ltp-new.txt",
            "ltp-old.txt",
            "runltp.txt",
            "ltp-results.txt",
        ],
    ),
    (Format::Xfstests, &["xfstests.txt"]),
    (
        Format::BsdRegress,
        &[
            "bsd-regress.txt",
            "bsd-regress-unbuilt.txt",
            "bsd-regress-skipped.txt",
            "bsd-regress-log.txt",
        ],
    ),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn fixtures() -> impl Iterator<Item = (Format, &'static str, Vec<u8>)> {
    FIXTURES.iter().flat_map(|(format, files)| {
        let read = |file: &&'static str| (*format, *file, fs::read(folder().join(file)).unwrap());
        files.iter().map(read)
    })
}

fn events(format: Format, bytes: &[u8], piece: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut reader = ResultReader::new(format, ReadOptions::default());
    for piece in bytes.chunks(piece) {
        reader.feed(piece, &mut |event| events.push(event));
    }
    reader.finish(None, &mut |event| events.push(event));
    events
}

/// A line for each event, and a result's log after a bar.
fn shown(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::Started { name } => writeln!(text, "began {name:?}").unwrap(),
            Event::Problem(problem) => writeln!(text, "problem {problem}").unwrap(),
            Event::Result(result) => {
                write!(
                    text,
                    "{} {:?} line {}",
                    result.outcome, result.name, result.line
                )
                .unwrap();
                if let Some(seconds) = result.seconds {
                    write!(text, ", {seconds:.6} s").unwrap();
                }
                if !result.reruns.is_empty() {
                    write!(text, ", before {:?}", result.reruns).unwrap();
                }
                if let Some(message) = &result.message {
                    write!(text, ": {message}").unwrap();
                }
                text.push('\n');
                for line in result.log.lines() {
                    writeln!(text, "    | {}", line.escape_debug()).unwrap();
                }
            }
        }
    }
    text
}

#[test]
fn every_fixture_is_read_as_its_results_say() {
    for (format, file, bytes) in fixtures() {
        let found = shown(&events(format, &bytes, usize::MAX));
        let expected = folder().join(format!("{file}.results"));
        if std::env::var_os("BACKSIGHT_BLESS").is_some() {
            fs::write(&expected, &found).unwrap();
        }
        let expected = fs::read_to_string(expected).unwrap();
        assert_eq!(found, expected, "{file}");
    }
}

#[test]
fn in_pieces_of_any_size_the_same_is_read() {
    for (format, file, bytes) in fixtures() {
        // What began is known earlier from unfinished lines.
        let ended = |piece| {
            let mut events = events(format, &bytes, piece);
            events.retain(|event| !matches!(event, Event::Started { .. }));
            events
        };
        let whole = ended(usize::MAX);
        for piece in [1, 2, 7, 64] {
            assert_eq!(ended(piece), whole, "{file} in pieces of {piece}");
        }
    }
}

#[test]
fn every_fixtures_format_is_guessed() {
    for (format, file, bytes) in fixtures() {
        let start = &bytes[..bytes.len().min(4096)];
        let name = if file.ends_with(".trs") { file } else { "a" };
        assert_eq!(Format::guess(name, start), Some(format), "{file}");
    }
    assert_eq!(Format::guess("a.txt", b"hello\nworld\n"), None);
    assert_eq!(Format::guess("a.tap", b""), Some(Format::Tap));
}
