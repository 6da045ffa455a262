//! The formats: one row each.

use crate::{
    automake::{Automake, Trs},
    ctest::{CTestText, CTestXml},
    exit_status::ExitStatus,
    json::{GoTest, LibtestJson, LibtestText, PytestLog, PytestReport},
    junit::JUnit,
    lines::Lines,
    ltp::Ltp,
    pattern::{LinePattern, PatternLines},
    regress::{Regress, is_logged},
    sink::Decoder,
    subunit::Subunit,
    tap::{Dialect, Tap},
    xfstests::Xfstests,
    xml::Xml,
};
use std::{fmt, str::FromStr};

/// What a reader has to know besides the format.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The name of what has none in the document: the only test of a program's exit status or of a `.trs` file, a TAP document
    /// that is skipped as a whole.
    pub name: String,
    /// Where lines have results, for [`Format::Lines`].
    pub pattern: Option<LinePattern>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            name: "all".to_owned(),
            pattern: None,
        }
    }
}

/// A format of test results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "FORMATS describes each")]
pub enum Format {
    Tap,
    Ktap,
    JUnit,
    Subunit,
    GoTest,
    LibtestJson,
    Libtest,
    PytestReport,
    PytestReportlog,
    CTest,
    CTestXml,
    Automake,
    AutomakeTrs,
    Ltp,
    Xfstests,
    BsdRegress,
    Lines,
    ExitStatus,
}

/// A format's row.
#[derive(Clone, Copy, Debug)]
pub struct FormatDescription {
    /// The format.
    pub format: Format,
    /// Its name, for users.
    pub name: &'static str,
    /// What writes it.
    pub about: &'static str,
    /// Whether results are known while the suite runs. Of the others some come at its end.
    pub streams: bool,
}

const fn row(
    format: Format,
    name: &'static str,
    streams: bool,
    about: &'static str,
) -> FormatDescription {
    FormatDescription {
        format,
        name,
        about,
        streams,
    }
}

/// All formats, in the order in which they are shown.
pub const FORMATS: &[FormatDescription] = &[
    row(
        Format::Tap,
        "tap",
        true,
        "TAP 13 and 14: Perl's Test::More, bats, node --test, Meson's and Automake's TAP tests",
    ),
    row(
        Format::Ktap,
        "ktap",
        true,
        "KTAP: KUnit, kselftest (make run_tests), out of the kernel's log too",
    ),
    row(
        Format::JUnit,
        "junit",
        false,
        "JUnit's XML: Surefire, Gradle, pytest, nextest, CTest --output-junit, Meson, GoogleTest",
    ),
    row(
        Format::Subunit,
        "subunit",
        true,
        "subunit, version 2 and 1: stestr, testtools, Check, Samba's selftest",
    ),
    row(Format::GoTest, "go-test", true, "go test -json"),
    row(
        Format::LibtestJson,
        "libtest-json",
        true,
        "cargo nextest run --message-format libtest-json or libtest-json-plus; libtest's --format json",
    ),
    row(
        Format::Libtest,
        "libtest",
        true,
        "cargo test: the text of Rust's libtest",
    ),
    row(
        Format::PytestReport,
        "pytest-json-report",
        false,
        "pytest --json-report",
    ),
    row(
        Format::PytestReportlog,
        "pytest-reportlog",
        true,
        "pytest --report-log",
    ),
    row(Format::CTest, "ctest", true, "ctest: its text"),
    row(
        Format::CTestXml,
        "ctest-xml",
        false,
        "ctest -T Test: Testing/TAG/Test.xml",
    ),
    row(
        Format::Automake,
        "automake",
        true,
        "make check of Automake: lines like `PASS: name`",
    ),
    row(
        Format::AutomakeTrs,
        "automake-trs",
        false,
        "Automake's .trs files",
    ),
    row(
        Format::Ltp,
        "ltp",
        true,
        "Linux Test Project: output of a test, runltp's output and its file of results",
    ),
    row(Format::Xfstests, "xfstests", true, "xfstests' check"),
    row(
        Format::BsdRegress,
        "bsd-regress",
        true,
        "OpenBSD's make regress",
    ),
    row(
        Format::Lines,
        "lines",
        true,
        "lines that a regular expression describes",
    ),
    row(
        Format::ExitStatus,
        "exit-status",
        false,
        "a program's exit status: one test",
    ),
];

impl Format {
    /// Its row.
    pub fn description(self) -> &'static FormatDescription {
        // Rows stand in the order of the variants; a test says so.
        &FORMATS[self as usize]
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    pub(crate) fn decoder(self, options: &ReadOptions) -> Box<dyn Decoder + Send> {
        match self {
            Format::Tap => Box::new(Lines::new(Tap::new(Dialect::Tap))),
            Format::Ktap => Box::new(Lines::new(Tap::new(Dialect::Ktap))),
            Format::JUnit => Box::new(Xml::new(JUnit::default())),
            Format::Subunit => Box::new(Subunit::new()),
            Format::GoTest => Box::new(Lines::new(GoTest::default())),
            Format::LibtestJson => Box::new(Lines::new(LibtestJson::default())),
            Format::Libtest => Box::new(Lines::new(LibtestText::default())),
            Format::PytestReport => Box::new(PytestReport::default()),
            Format::PytestReportlog => Box::new(Lines::new(PytestLog::default())),
            Format::CTest => Box::new(Lines::new(CTestText::default())),
            Format::CTestXml => Box::new(Xml::new(CTestXml::default())),
            Format::Automake => Box::new(Lines::new(Automake::default())),
            Format::AutomakeTrs => Box::new(Lines::new(Trs::default())),
            Format::Ltp => Box::new(Lines::new(Ltp::default())),
            Format::Xfstests => Box::new(Lines::new(Xfstests::default())),
            Format::BsdRegress => Box::new(Lines::new(Regress::default())),
            Format::Lines => Box::new(Lines::new(PatternLines(options.pattern.clone()))),
            Format::ExitStatus => Box::new(ExitStatus::default()),
        }
    }

    /// The format of a file with this name and these first bytes (some kilobytes are enough). Nothing where both say nothing.
    pub fn guess(name: &str, start: &[u8]) -> Option<Format> {
        if name.ends_with(".trs") {
            return Some(Format::AutomakeTrs);
        }
        if start.first() == Some(&0xb3) {
            return Some(Format::Subunit);
        }
        let text = String::from_utf8_lossy(start);
        let text = text.trim_start_matches('\u{feff}');
        let begins = text.trim_start();
        if begins.starts_with('<') && !begins.starts_with("<<<") && !begins.starts_with("<6>") {
            let has = |element: &str| text.contains(&format!("<{element}"));
            return if has("testsuite") {
                Some(Format::JUnit)
            } else {
                (has("Site") || has("Testing")).then_some(Format::CTestXml)
            };
        }
        if begins.starts_with('{') {
            let has = |key: &str| text.contains(&format!("\"{key}\""));
            return if has("$report_type") {
                Some(Format::PytestReportlog)
            } else if has("Action") {
                Some(Format::GoTest)
            } else if has("type") && has("event") {
                Some(Format::LibtestJson)
            } else {
                has("exitcode").then_some(Format::PytestReport)
            };
        }
        let by_line = text.lines().find_map(by_line);
        // kselftest's documents begin as TAP's.
        let kernel = text.contains("# selftests: ");
        by_line
            .map(|format| {
                if format == Format::Tap && kernel {
                    Format::Ktap
                } else {
                    format
                }
            })
            .or_else(|| name.ends_with(".tap").then_some(Format::Tap))
    }
}

/// The XML of tests that isn't read and that a document with these first bytes is: what it is called.
pub fn unread_xml(start: &[u8]) -> Option<&'static str> {
    // The element at the top, and words that it has.
    const KNOWN: [(&str, &str, &str); 6] = [
        ("test-run", "", "NUnit 3's XML"),
        ("test-results", "", "NUnit 2's XML"),
        ("assemblies", "", "xUnit.net 2's XML"),
        ("assembly", "", "xUnit.net's XML"),
        ("TestRun", "VisualStudio/TeamTest", "Visual Studio's TRX"),
        ("robot", "", "Robot Framework's XML"),
    ];
    let text = String::from_utf8_lossy(start);
    // Comments and declarations come before it.
    let elements = text.split('<').skip(1);
    let mut elements = elements.filter(|element| !element.starts_with(['?', '!']));
    let top = elements.next()?;
    let name = top
        .split(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))
        .next()?;
    let found = KNOWN
        .iter()
        .find(|(element, words, _)| *element == name && top.contains(words));
    found.map(|(_, _, called)| *called)
}

/// The format that writes such a line, and no other does.
fn by_line(line: &str) -> Option<Format> {
    let starts = |start: &str| line.starts_with(start);
    let first = line.split(' ').next().unwrap_or_default();
    if line.contains("KTAP version ") {
        Some(Format::Ktap)
    } else if matches!(line.trim_end(), "TAP version 13" | "TAP version 14")
        || (starts("1..") && first[3..].parse::<u64>().is_ok())
        || starts("ok ")
        || starts("not ok ")
    {
        Some(Format::Tap)
    } else if starts("Test project ") || line.trim_start().starts_with("Start  1: ") {
        Some(Format::CTest)
    } else if starts("running ") && (line.ends_with(" test") || line.ends_with(" tests")) {
        Some(Format::Libtest)
    } else if starts("<<<test_start>>>")
        || (starts("Testcase ") && line.contains("Exit Value"))
        || [": TINFO: ", ": TPASS: ", ": TCONF: ", "  TPASS  :  "]
            .iter()
            .any(|w| line.contains(w))
    {
        Some(Format::Ltp)
    } else if starts("FSTYP  ")
        || (line.contains(" ... ")
            && line.ends_with('s')
            && first.contains('/')
            && !starts("test "))
    {
        Some(Format::Xfstests)
    } else if (starts("==== ") && line.ends_with(" ====")) || starts("===> ") || is_logged(line) {
        Some(Format::BsdRegress)
    } else if starts("test: ")
        || starts("testing: ")
        || starts("testsuite: ")
        || (starts("time: ") && line.ends_with('Z'))
    {
        Some(Format::Subunit)
    } else if [
        "PASS: ", "FAIL: ", "SKIP: ", "XFAIL: ", "XPASS: ", "ERROR: ",
    ]
    .iter()
    .any(|w| starts(w))
    {
        Some(Format::Automake)
    } else if starts(":test-result: ") {
        Some(Format::AutomakeTrs)
    } else {
        None
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no format's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no format of test results: expected one of {}", FORMATS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "))]
pub struct FormatError {
    /// The name.
    pub name: String,
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Format, FormatError> {
        let found = FORMATS.iter().find(|row| row.name == name);
        found.map(|row| row.format).ok_or_else(|| FormatError {
            name: name.to_owned(),
        })
    }
}
