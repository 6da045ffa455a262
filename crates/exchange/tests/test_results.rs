//! Results of tests that others wrote come in, and go out as they came.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_exchange::{
    export::{ExportedTests, TestExportFormat, export_tests},
    import::{ImportError, guess_test_format, has_go_benchmarks, import_tests, test_formats},
    table::TableOutput,
};
use backsight_model::{MetricSamples, Outcome, SuiteRun, TestResult};
use backsight_test_results::Format;
use proptest::prelude::*;
use std::{
    fs,
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

fn imported(format: Format, path: &Path) -> SuiteRun {
    import_tests(format, &[path.to_owned()]).unwrap().run
}

fn refused(format: Format, path: &Path) -> ImportError {
    import_tests(format, &[path.to_owned()]).unwrap_err()
}

fn outcomes(run: &SuiteRun) -> Vec<(&str, Outcome)> {
    let rows = run.results.iter();
    rows.map(|row| (row.name, row.outcome)).collect()
}

fn exported(run: &SuiteRun, form: TestExportFormat, path: &Path) {
    let tests = ExportedTests {
        study: "x".into(),
        began: jiff::Timestamp::UNIX_EPOCH,
        trial: 1,
        build: 0,
        version: None,
        suite: "x".into(),
        run: run.clone(),
    };
    export_tests(&tests, form, "x", TableOutput::to(Some(path)).unwrap()).unwrap();
}

/// The results without the lines of their documents.
fn without_lines(run: &SuiteRun) -> Vec<TestResult> {
    let rows = run.results.iter().map(|row| row.to_result());
    rows.map(|result| TestResult { line: 0, ..result })
        .collect()
}

/// A document of JUnit with these tests: the suite, the name, the seconds, what is within.
fn document(tests: &[(String, String, u32, String)]) -> String {
    let cases = tests.iter().map(|(suite, name, milliseconds, within)| {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let (suite, name) = (escaped(suite), escaped(name));
        let time = f64::from(*milliseconds) / 1000.0;
        format!("<testsuite name=\"{suite}\"><testcase name=\"{name}\" time=\"{time}\">{within}</testcase></testsuite>\n")
    });
    format!("<testsuites>{}</testsuites>", cases.collect::<String>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn junit_comes_back_as_it_went(
        tests in proptest::collection::vec((
            "[a-c<&\"./ é]{0,4}",
            "[a-c<&\"./\n é]{1,4}",
            0..2_000_000_u32,
            proptest::sample::select(vec![
                "", "<failure message=\"no &lt;route&gt;\">a\nb</failure>", "<error>x&#10;y</error>", "<skipped/>",
                "<skipped message=\"no disk\"/>", "<flakyFailure/>", "<failure/><rerunFailure/><rerunError/>",
                "<error type=\"crash 11\"/>", "<system-out>said</system-out>", "<failure/><system-err>x]]&gt;</system-err>",
            ]).prop_map(str::to_owned),
        ), 1..20),
    ) {
        let folder = Folder::new();
        let first = imported(Format::JUnit, &folder.file("a.xml", document(&tests)));
        let path = folder.0.path().join("b.xml");
        exported(&first, TestExportFormat::JUnit, &path);
        let second = imported(Format::JUnit, &path);
        prop_assert_eq!(without_lines(&first), without_lines(&second));
        prop_assert_eq!(MetricSamples::of_suite(&first), MetricSamples::of_suite(&second));
        prop_assert_eq!(&second.problems, &Vec::<String>::new());
        prop_assert!(second.complete);
    }
}

#[test]
fn files_are_one_run_in_the_order_of_names_and_are_kept_as_they_were() {
    let folder = Folder::new();
    let texts = [
        "<testsuite name='b'><testcase name='x'/></testsuite>",
        "<testsuite name='a'><testcase name='x'/></testsuite>\n",
    ];
    let files = [
        folder.file("1.xml", texts[0]),
        folder.file("2.xml", texts[1]),
    ];
    let imported = import_tests(Format::JUnit, &files).unwrap();
    assert_eq!(
        outcomes(&imported.run),
        [("a/x", Outcome::Pass), ("b/x", Outcome::Pass)]
    );
    assert!(imported.run.complete && imported.run.problems.is_empty());
    let lengths = imported.files.iter().map(|file| file.length as usize);
    assert!(lengths.eq(texts.map(str::len)));
    let (mut copy, mut content) = (imported.copy, String::new());
    copy.rewind().unwrap();
    copy.read_to_string(&mut content).unwrap();
    assert_eq!(content, texts.concat());
}

#[test]
fn of_several_results_of_a_test_the_worst_counts_and_how_many_there_are_is_said() {
    let folder = Folder::new();
    let twice = "<testsuite name='a'><testcase name='x'/>\n<testcase name='x'><failure/></testcase></testsuite>";
    let once = "<testsuite name='a'><testcase name='x'><skipped/></testcase></testsuite>";
    let files = [
        folder.file("twice.xml", twice),
        folder.file("once.xml", once),
    ];
    let run = import_tests(Format::JUnit, &files).unwrap().run;
    assert_eq!(outcomes(&run), [("a/x", Outcome::Fail)]);
    let [said] = &run.problems[..] else {
        panic!("{:?}", run.problems)
    };
    assert!(
        said.ends_with("twice.xml: line 2: 3 results of `a/x`: the worst counts"),
        "{said}"
    );
    // Each of two documents has one: there is no line of the second.
    let files = ["a.xml", "b.xml"].map(|name| folder.file(name, once));
    let run = import_tests(Format::JUnit, &files).unwrap().run;
    assert_eq!(outcomes(&run), [("a/x", Outcome::Skip)]);
    assert_eq!(run.problems, ["2 results of `a/x`: the worst counts"]);
}

#[test]
fn a_failure_of_one_of_several_runs_is_a_failure() {
    let folder = Folder::new();
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-results/tests/fixtures");
    for (format, file, test, others) in [
        // go test -count=3, of which the first run failed.
        (Format::GoTest, "go-count.json", "ex/TestFlaky", 3),
        // Two files of Node have a suite and a test of one name.
        (Format::JUnit, "node-two-files.xml", "suite/test/x", 2),
        (Format::JUnit, "mocha-xunit.xml", "Mocha Tests/A/same", 2),
        // A test of Check in a loop.
        (Format::Subunit, "check-loop.subunit", "core:lp", 3),
    ] {
        let run = imported(format, &published.join(file));
        assert_eq!(run.failed(test), Some(true), "{file}");
        let said = format!("{others} results of `{test}`: the worst counts");
        assert!(
            run.problems.iter().any(|problem| problem.ends_with(&said)),
            "{file}: {:?}",
            run.problems
        );
    }
    let once = folder.file("a.json", r#"{"Action":"fail","Package":"ex"}"#);
    assert_eq!(
        outcomes(&imported(Format::GoTest, &once)),
        [("ex", Outcome::Error)]
    );
}

#[test]
fn what_precedes_broken_xml_is_kept_and_the_run_is_incomplete() {
    let folder = Folder::new();
    let path = folder.file(
        "cut.xml",
        "<testsuite name='a'>\n<testcase name='x'/>\n<testcase name='y'></oops></testsuite>",
    );
    let run = imported(Format::JUnit, &path);
    assert_eq!(
        outcomes(&run),
        [("a/x", Outcome::Pass), ("a/y", Outcome::NoExit)]
    );
    assert!(!run.complete);
    assert!(
        run.problems[0].contains("cut.xml: line 3, column"),
        "{:?}",
        run.problems
    );
}

#[test]
fn a_plan_with_more_tests_than_results_is_said() {
    let folder = Folder::new();
    let run = imported(
        Format::Tap,
        &folder.file("a.t", "TAP version 14\n1..3\nok 1 - a\n"),
    );
    assert_eq!((run.complete, run.missing), (false, 2));
    assert!(
        run.problems[0].ends_with("3 results planned, 1 found"),
        "{:?}",
        run.problems
    );
}

#[test]
fn documents_of_tap_that_are_imported_together_are_told_apart_by_their_files() {
    let folder = Folder::new();
    let files = ["a.t", "b.t"].map(|name| folder.file(name, "1..1\nok 1 - works\n"));
    let run = import_tests(Format::Tap, &files).unwrap().run;
    assert_eq!(
        outcomes(&run),
        [("a/works", Outcome::Pass), ("b/works", Outcome::Pass)]
    );
    let trs = ["a.sh.trs", "b.sh.trs"].map(|name| folder.file(name, ":test-result: PASS\n"));
    let run = import_tests(Format::AutomakeTrs, &trs).unwrap().run;
    assert_eq!(
        outcomes(&run),
        [("a.sh", Outcome::Pass), ("b.sh", Outcome::Pass)]
    );
}

#[test]
fn files_that_are_called_alike_are_told_apart_by_their_folders() {
    let folder = Folder::new();
    let written = |name: &str, content: &str| {
        let path = folder.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    };
    let trs = |outcome: &str| format!(":test-result: {outcome}\n:global-test-result: {outcome}\n");
    let files = [
        written("a/check.trs", &trs("FAIL")),
        written("b/check.trs", &trs("PASS")),
        written("b/other.trs", &trs("PASS")),
    ];
    let run = import_tests(Format::AutomakeTrs, &files).unwrap().run;
    assert_eq!(
        outcomes(&run),
        [
            ("a/check", Outcome::Fail),
            ("b/check", Outcome::Pass),
            ("other", Outcome::Pass)
        ]
    );
    assert_eq!(run.problems, [""; 0]);
    // One file, twice.
    let twice = [files[0].clone(), files[0].clone()];
    let run = import_tests(Format::AutomakeTrs, &twice).unwrap().run;
    assert_eq!(outcomes(&run), [("check", Outcome::Fail)]);
    assert_eq!(run.problems, ["2 results of `check`: the worst counts"]);
}

#[test]
fn hostile_names_are_kept_and_problems_are_short_lines() {
    let folder = Folder::new();
    let name = format!("&lt;script&gt;&#10;\u{202e}{}", "n".repeat(10 << 10));
    let case = format!("<testcase name=\"{name}\"/>");
    let run = imported(
        Format::JUnit,
        &folder.file("a.xml", format!("<testsuite>{case}{case}</testsuite>")),
    );
    assert_eq!(run.results.len(), 1);
    let kept = run.results.iter().next().unwrap().name;
    assert!(kept.starts_with("<script>\n") && kept.len() > 10 << 10);
    let problem = &run.problems[0];
    assert!(
        problem.chars().count() <= 501 && !problem.contains('\n') && problem.ends_with('…'),
        "{problem}"
    );
}

#[test]
fn what_has_no_results_is_refused_in_every_format() {
    let folder = Folder::new();
    let empty = folder.file("empty", "");
    let blank = folder.file("blank", " \n\t\n");
    let other = folder.file("other", r#"{"hello": ["world"]}"#);
    let words = folder.file("words", "Lorem ipsum\ndolor, sit\tamet\n");
    let garbage: Vec<u8> = (0..1_u32 << 20)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let garbage = folder.file("garbage", garbage);
    for format in test_formats().map(|row| row.format) {
        for path in [&empty, &blank, Path::new("/dev/null")] {
            assert_eq!(refused(format, path).message, "it is empty", "{format}");
        }
        for path in [&other, &words, &garbage] {
            let refused = refused(format, path);
            assert!(
                refused
                    .message
                    .starts_with("it has no result of a test: expected "),
                "{format}: {refused}"
            );
        }
        let of_folder = refused(format, folder.0.path());
        assert!(
            of_folder.message.contains("folder"),
            "{format}: {of_folder}"
        );
        let missing = refused(format, Path::new("/nonexistent/results"));
        assert!(
            missing.message.contains("it can't be read"),
            "{format}: {missing}"
        );
    }
}

#[test]
fn a_file_of_another_format_is_named() {
    let folder = Folder::new();
    let tap = folder.file("a", "TAP version 14\n1..1\nok 1 - a\n");
    assert_eq!(
        refused(Format::JUnit, &tap).help.unwrap(),
        "it looks like `tap`"
    );
}

#[test]
fn xml_of_tests_that_is_not_read_is_named() {
    let folder = Folder::new();
    for (text, called) in [
        (
            "<?xml version=\"1.0\"?>\n<!-- x -->\n<test-run id=\"2\" testcasecount=\"1\"><test-suite type=\"Assembly\"><test-case name=\"a\" result=\"Passed\"/></test-suite></test-run>",
            "NUnit 3's XML",
        ),
        (
            "<assemblies timestamp=\"x\"><assembly name=\"a.dll\"><collection><test name=\"a\" result=\"Pass\"/></collection></assembly></assemblies>",
            "xUnit.net 2's XML",
        ),
        (
            "<TestRun id=\"1\" xmlns=\"http://microsoft.com/schemas/VisualStudio/TeamTest/2010\"></TestRun>",
            "Visual Studio's TRX",
        ),
    ] {
        let refused = refused(Format::JUnit, &folder.file("a.xml", text));
        assert_eq!(refused.message, format!("it is {called}, which isn't read"));
        assert!(refused.help.unwrap().contains("JUnit"));
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

#[test]
fn packed_files_are_read_as_what_they_pack_and_kept_as_they_are() {
    let folder = Folder::new();
    let junit = "<testsuite name='a'><testcase name='x'/></testsuite>";
    let packed = gzip(junit);
    let path = folder.file("a.xml.gz", &packed);
    assert_eq!(guess_test_format(&path), Some(Format::JUnit));
    let imported_files = import_tests(Format::JUnit, &[path]).unwrap();
    assert_eq!(outcomes(&imported_files.run), [("a/x", Outcome::Pass)]);
    assert_eq!(imported_files.files[0].length as usize, packed.len());
    let (mut copy, mut content) = (imported_files.copy, Vec::new());
    copy.rewind().unwrap();
    copy.read_to_end(&mut content).unwrap();
    assert_eq!(content, packed);
    // Names are those of what is packed, and the file is called as it would be.
    let tap = ["a.t", "b.t"].map(|name| {
        let packed = zstd::encode_all(&b"1..1\nok 1 - works\n"[..], 1).unwrap();
        folder.file(&format!("{name}.zst"), packed)
    });
    let run = import_tests(Format::Tap, &tap).unwrap().run;
    assert_eq!(
        outcomes(&run),
        [("a/works", Outcome::Pass), ("b/works", Outcome::Pass)]
    );
    let cut = folder.file("cut.gz", &packed[..packed.len() - 9]);
    assert!(
        refused(Format::JUnit, &cut)
            .message
            .contains("can't be unpacked")
    );
    let empty = folder.file("empty.gz", gzip("\n"));
    assert_eq!(refused(Format::JUnit, &empty).message, "it is empty");
    let other = folder.file("other.gz", gzip("1..1\nok 1 - works\n"));
    assert_eq!(
        refused(Format::JUnit, &other).help.unwrap(),
        "it looks like `tap`"
    );
}

#[test]
fn utf_16_is_refused_with_the_way_out() {
    let folder = Folder::new();
    let text = "<testsuite name='a'><testcase name='x'/></testsuite>";
    let wide = "\u{feff}".encode_utf16().chain(text.encode_utf16());
    let path = folder.file(
        "a.xml",
        wide.flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
    );
    let refused = refused(Format::JUnit, &path);
    assert_eq!(refused.message, "it is UTF-16, which isn't read");
    assert!(refused.help.unwrap().contains("iconv"));
}

#[test]
fn benchmarks_of_go_are_seen_in_packed_files_too() {
    let folder = Folder::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/go-test.json");
    let plain = fs::read(&path).unwrap();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&plain).unwrap();
    let packed = folder.file("go.json.gz", packer.finish().unwrap());
    assert!(has_go_benchmarks(&packed));
    assert!(has_go_benchmarks(&path));
    let tests = folder.file(
        "tests.json",
        r#"{"Action":"pass","Package":"a","Test":"TestA"}"#,
    );
    assert!(!has_go_benchmarks(&tests));
    let broken = folder.file("broken.json.gz", [0x1f, 0x8b, 8, 0, 1, 2, 3]);
    assert!(!has_go_benchmarks(&broken));
}
