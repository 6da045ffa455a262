//! Input that is broken, endless, too deep or too long: it is said, and what was read before is kept.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_test_results::{
    Event, Exit, FORMATS, Format, LinePattern, MAX_LOG, MAX_NAME, Outcome, ReadOptions,
    ResultReader, TestResult,
};
use proptest::prelude::*;

fn read(format: Format, pieces: &[&[u8]]) -> (Vec<TestResult>, Vec<String>) {
    read_until(format, ReadOptions::default(), pieces, None)
}

fn read_until(
    format: Format,
    options: ReadOptions,
    pieces: &[&[u8]],
    exit: Option<Exit>,
) -> (Vec<TestResult>, Vec<String>) {
    let (mut results, mut problems) = (Vec::new(), Vec::new());
    let mut sort = |event| match event {
        Event::Result(result) => results.push(result),
        Event::Problem(problem) => problems.push(problem.to_string()),
        Event::Started { .. } => {}
    };
    let mut reader = ResultReader::new(format, options);
    pieces
        .iter()
        .for_each(|piece| reader.feed(piece, &mut sort));
    reader.finish(exit, &mut sort);
    (results, problems)
}

fn names(results: &[TestResult]) -> Vec<(&str, Outcome)> {
    results
        .iter()
        .map(|result| (result.name.as_str(), result.outcome))
        .collect()
}

#[test]
fn xml_that_breaks_off_keeps_what_came_before() {
    let start = "<testsuite name='s'>\n<testcase name='a'/>\n";
    for (rest, problem) in [
        (
            "  <testcase name='b'></testcas>",
            "line 3, column 22: invalid XML: `</testcas>` where `<testcase>` is open",
        ),
        (
            "<testcase name=b/>",
            "line 3, column 1: invalid XML: the value of `name` isn't quoted",
        ),
        (
            "<testcase name='b' <",
            "line 3, column 20: invalid XML: `<` within a tag",
        ),
        (
            "<testcase name='b'",
            "line 3, column 19: invalid XML: the document ends within a tag",
        ),
        (
            "",
            "line 3, column 1: invalid XML: the document ends within `<testsuite>`",
        ),
        (
            "</testsuite>\ngarbage",
            "line 4, column 1: invalid XML: text outside of any element",
        ),
    ] {
        let (results, problems) = read(Format::JUnit, &[start.as_bytes(), rest.as_bytes()]);
        assert_eq!(names(&results)[0], ("s/a", Outcome::Pass), "{rest}");
        assert_eq!(problems, [problem]);
    }
}

#[test]
fn a_test_in_whose_element_the_document_ends_never_ended() {
    let (results, _) = read(
        Format::JUnit,
        &[b"<testsuite><testcase name='a'><system-out>half"],
    );
    assert_eq!(names(&results), [("a", Outcome::NoExit)]);
}

#[test]
fn entities_of_a_document_are_not_expanded() {
    let bomb = b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>\
        <testsuite><testcase name='&b; &#65;&lt;'><failure>&b;&unknown</failure></testcase></testsuite>";
    let (results, problems) = read(Format::JUnit, &[bomb]);
    assert_eq!(names(&results), [("&b; A<", Outcome::Fail)]);
    assert_eq!(results[0].log, "&b;&unknown");
    assert_eq!(problems, [""; 0]);
}

#[test]
fn a_declared_encoding_is_read_in_pieces_and_an_unknown_one_is_said() {
    let document = |encoding: &str, name: &[u8]| {
        let start = format!("<?xml version='1.0' encoding='{encoding}'?><testcase name='");
        [start.as_bytes(), name, b"'/>"].concat()
    };
    for (encoding, name, expected, said) in [
        ("iso-8859-1", &b"caf\xe9"[..], "caf\u{e9}", ""),
        ("Windows-1252", b"\x80", "\u{20ac}", ""),
        ("Shift_JIS", b"\x93\xfa", "\u{65e5}", ""),
        // Its bytes are those of ASCII: it was converted.
        ("UTF-16", b"a", "a", ""),
        (
            "x-none",
            b"a",
            "a",
            "line 1: the encoding `x-none` isn't known: it is read as UTF-8",
        ),
        (
            "Shift_JIS",
            b"a\xff",
            "a\u{fffd}",
            "line 1: this isn't all Shift_JIS",
        ),
    ] {
        let document = document(encoding, name);
        let pieces: Vec<&[u8]> = document.chunks(1).collect();
        for pieces in [&[&document[..]][..], &pieces] {
            let (results, problems) = read(Format::JUnit, pieces);
            assert_eq!(names(&results), [(expected, Outcome::Pass)], "{encoding}");
            assert_eq!(problems.join("\n"), said, "{encoding}");
        }
    }
    // A document that ends in its declaration.
    let (results, problems) = read(Format::JUnit, &[b"<?xml version='1.0' enc"]);
    assert_eq!((results.len(), problems.len()), (0, 2));
}

#[test]
fn nesting_has_a_limit() {
    let (_, problems) = read(Format::JUnit, &["<a>".repeat(100_000).as_bytes()]);
    assert_eq!(
        problems[0],
        "line 1, column 385: more than 128 levels of nesting"
    );
    let mut tap = String::new();
    for level in 1..200 {
        tap.push_str(&format!("{}ok 1\n", "    ".repeat(level)));
    }
    let (results, problems) = read(Format::Tap, &[tap.as_bytes()]);
    assert!(
        problems
            .iter()
            .any(|problem| problem.contains("levels of nesting"))
    );
    assert!(!results.is_empty());
}

#[test]
fn names_lines_and_logs_have_limits_and_keep_both_ends() {
    let name = "n".repeat(10_000);
    let (results, problems) = read(Format::Automake, &[format!("PASS: {name}\n").as_bytes()]);
    assert_eq!(
        (results[0].name.as_str(), problems.len()),
        (name.as_str(), 0)
    );
    let longer = format!("PASS: {}\n", "n".repeat(MAX_NAME + 1));
    let (results, problems) = read(Format::Automake, &[longer.as_bytes()]);
    assert_eq!(results[0].name.len(), MAX_NAME);
    assert_eq!(
        problems,
        ["line 1: a name is longer than 16384 bytes: the rest is left out"]
    );
    // A line without end, in pieces, and results after it.
    let piece = vec![b'x'; 1 << 16];
    let mut pieces: Vec<&[u8]> = vec![&piece; 64];
    pieces.push(b"\nPASS: after\n");
    let (results, problems) = read(Format::Automake, &pieces);
    assert_eq!(names(&results), [("after", Outcome::Pass)]);
    assert_eq!(
        problems,
        ["line 1: a line is longer than 1048576 bytes: the rest is left out"]
    );
    let text = "é".repeat(MAX_LOG);
    let xml = format!("<testcase name='a'><system-out>first{text}last</system-out></testcase>");
    let (results, _) = read(Format::JUnit, &[xml.as_bytes()]);
    let log = &results[0].log;
    assert!(log.starts_with("firsté") && log.ends_with("élast") && log.contains("bytes left out]"));
    assert!(log.len() < MAX_LOG + 100);
}

#[test]
fn names_may_have_html_nuls_newlines_and_bytes_that_are_no_text() {
    let tap = b"1..2\nok 1 - <b>bold</b>\0\nok 2 - a\xff\n";
    let (results, problems) = read(Format::Tap, &[tap]);
    assert_eq!(
        names(&results),
        [
            ("<b>bold</b>\0", Outcome::Pass),
            ("a\u{fffd}", Outcome::Pass)
        ]
    );
    assert_eq!(problems, ["line 3: this isn't UTF-8"]);
    let xml = b"<testcase name='two&#10;lines'/>";
    assert_eq!(read(Format::JUnit, &[xml]).0[0].name, "two\nlines");
}

#[test]
fn a_huge_plan_and_too_many_tests_under_way_cost_nothing() {
    let (_, problems) = read(Format::Tap, &[b"1..18446744073709551615\nok\n"]);
    assert_eq!(
        problems,
        ["line 1: 18446744073709551615 results planned, 1 found"]
    );
    let (results, problems) = read(
        Format::Tap,
        &[b"1..99999999999999999999999\nok 18446744073709551616\n"],
    );
    assert_eq!((results.len(), problems.len()), (1, 1));
}

#[test]
fn two_results_of_one_test_and_tests_that_never_end_are_said() {
    let go = br#"{"Action":"run","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Test":"B","Output":"waits\n"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"pass","Package":"p","Test":
"#;
    let (results, problems) = read(Format::GoTest, &[go]);
    let wanted = [
        ("p/A", Outcome::Pass),
        ("p/A", Outcome::Pass),
        ("p/B", Outcome::NoExit),
    ];
    assert_eq!(names(&results), wanted);
    assert_eq!((results[2].line, results[2].log.as_str()), (2, "waits\n"));
    assert_eq!(
        problems,
        [
            "line 5: a second result of `p/A`",
            "line 6, column 38: invalid JSON: EOF while parsing a value",
            "line 2: `p/B` began and never ended",
        ]
    );
}

#[test]
fn text_that_is_no_subunit_is_refused_with_its_line() {
    let (results, problems) = read(Format::Subunit, &[b"Lorem ipsum\ndolor\n"]);
    assert_eq!(results.len(), 0);
    assert_eq!(problems, ["line 2: there is no result in it"]);
}

#[test]
fn a_subunit_packet_with_a_wrong_checksum_is_passed_over() {
    // The specification's example, as a success.
    let mut packet = vec![0xb3, 0x29, 0x03, 0x0c, 3, b'f', b'o', b'o'];
    packet.extend(crc32(&packet).to_be_bytes());
    let mut wrong = packet.clone();
    wrong[5] = b'x';
    let list = [
        0xb3, 0x29, 0x01, 0x0c, 0x03, 0x66, 0x6f, 0x6f, 0x08, 0x55, 0x5f, 0x1b,
    ];
    let mut other = vec![0xb3, 0x29, 0x01, 0x0c, 3, b'b', b'a', b'r'];
    other.extend(crc32(&other).to_be_bytes());
    let (results, problems) = read(Format::Subunit, &[&list, &other, &wrong, b"\n", &packet]);
    assert_eq!(
        names(&results),
        [("foo", Outcome::Pass), ("bar", Outcome::NotRun)]
    );
    assert_eq!(problems, ["line 3: a packet with a wrong checksum"]);
}

fn crc32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(!0, |sum: u32, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    }) ^ !0
}

#[test]
fn a_program_that_fails_without_a_failed_result_is_said() {
    let read = |exit| {
        read_until(
            Format::Tap,
            ReadOptions::default(),
            &[b"ok 1 - a\n1..1\n"],
            Some(exit),
        )
        .1
    };
    assert_eq!(read(Exit::Code(0)), [""; 0]);
    assert_eq!(
        read(Exit::Signal(9)),
        ["line 2: every result is in order, but the program ended with signal 9"]
    );
}

#[test]
fn an_exit_status_alone_is_a_result() {
    for (exit, outcome) in [
        (Exit::Code(0), Outcome::Pass),
        (Exit::Code(1), Outcome::Fail),
        (Exit::Code(77), Outcome::Skip),
        (Exit::Code(139), Outcome::Crash(Some(11))),
        (Exit::Signal(6), Outcome::Crash(Some(6))),
        (Exit::TimedOut, Outcome::Timeout),
    ] {
        let options = ReadOptions {
            name: "smoke".to_owned(),
            pattern: None,
        };
        let (results, problems) =
            read_until(Format::ExitStatus, options, &[b"one\ntwo\n"], Some(exit));
        assert_eq!(names(&results), [("smoke", outcome)]);
        assert_eq!((results[0].log.as_str(), problems.len()), ("one\ntwo\n", 0));
        assert_eq!(
            results[0].message.as_deref(),
            (outcome != Outcome::Pass).then_some("two")
        );
    }
}

#[test]
fn lines_are_read_by_a_pattern_and_words() {
    let regex = r"^(?<outcome>\S+) (?<name>\S+)(?: in (?<duration>[\d.]+))?(?:: (?<message>.*))?$";
    let pattern =
        LinePattern::new(regex, [("good", Outcome::Pass), ("bad", Outcome::Fail)]).unwrap();
    let options = ReadOptions {
        pattern: Some(pattern),
        ..ReadOptions::default()
    };
    let text = b"good a/b in 1.5\nbad c: wrong\nXFAIL d\nsome words\n";
    let (results, problems) = read_until(Format::Lines, options, &[text], None);
    let wanted = [
        ("a/b", Outcome::Pass),
        ("c", Outcome::Fail),
        ("d", Outcome::ExpectedFail),
    ];
    assert_eq!(names(&results), wanted);
    assert_eq!(
        (results[0].seconds, results[1].message.as_deref()),
        (Some(1.5), Some("wrong"))
    );
    assert_eq!(
        problems,
        ["line 4: `some` is no outcome that this format has"]
    );
    for (regex, error) in [
        ("(?<name>.)", "the pattern has no group (?<outcome>…)"),
        (
            "(?<outcome>.)(?<name>.)(?<x>.)",
            "the pattern's group `x` isn't one of name, outcome, duration, message",
        ),
    ] {
        let refused = LinePattern::new(regex, [("", Outcome::Pass)]).unwrap_err();
        assert_eq!(refused.to_string(), error);
    }
}

#[test]
fn results_are_known_before_their_details_end_and_tests_before_their_lines_end() {
    let mut reader = ResultReader::new(Format::Tap, ReadOptions::default());
    let mut events = Vec::new();
    reader.feed(b"ok 1 - a\n", &mut |event| events.push(event));
    assert_eq!((reader.known(), events.len()), (1, 0));
    for (format, start, name) in [
        (Format::Xfstests, "generic/001 3s ... ", "generic/001"),
        (Format::Libtest, "test a::b ... ", "a/b"),
    ] {
        let mut reader = ResultReader::new(format, ReadOptions::default());
        let mut events = Vec::new();
        reader.feed(start.as_bytes(), &mut |event| events.push(event));
        assert_eq!(
            events,
            [Event::Started {
                name: name.to_owned()
            }]
        );
    }
}

#[test]
fn rows_of_formats_stand_in_their_order_and_names_are_read_again() {
    for row in FORMATS {
        assert_eq!(row.format.name(), row.name);
        assert_eq!(row.name.parse(), Ok(row.format));
    }
    let refused = "xunit".parse::<Format>().unwrap_err().to_string();
    assert!(
        refused.starts_with(
            "`xunit` is no format of test results: expected one of tap, ktap, junit, "
        )
    );
}

/// Words that formats are made of, and bytes that are in none.
fn document() -> impl Strategy<Value = Vec<u8>> {
    let words: Vec<&[u8]> = vec![
        b"ok 1 - a", b"not ok", b"    ok 2", b"1..3", b"1..0", b"  ---", b"  ...", b"# Subtest: s", b"ok 3 - b {", b"{", b"}", b"    # Subtest",
        b"KTAP version 1", b"TAP version 14", b"# SKIP", b" # TODO ", b"\\#", b"Bail out!", b"# selftests: a: b", b"# ",
        b"<testsuite name='s'>", b"<testcase name=\"", b"'/>", b"</testcase>", b"<failure>", b"<![CDATA[", b"]]>", b"<!--", b"-->",
        b"&#10;", b"&#xffffffff;", b"<?x?>", b"<?xml encoding='latin1'?>", b"<!DOCTYPE [", b"</testsuite>", b"<Test Status='failed'>", b"<Name>", b"</Name>", b"</Test>",
        b"\xb3\x29\x03\x0c\x03foo", b"\xb3\x2f\xff\x90\xff\xff", b"test: a", b"failure: a [ multipart", b"FF", b"]",
        b"{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"t\"}", b"{\"Action\":\"fail\",\"Package\":\"p\"}",
        b"{\"type\":\"test\",\"event\":\"ok\",\"name\":\"a$b#9\"}", b"{\"tests\":[{\"nodeid\":\"a\",\"outcome\":\"rerun\"},", b"{", b"]}",
        b"{\"$report_type\":\"TestReport\",\"nodeid\":\"a::b\",\"when\":\"teardown\",\"outcome\":\"passed\"}",
        b"running 3 tests", b"test a::b ... ", b"FAILED", b"---- a::b stdout ----", b"failures:", b"test result: ok",
        b" 1/3 Test #1: a .......   Passed    0.01 sec", b"Start 1: a", b"100% tests passed, ", b"1: out", b"PASS: a", b":test-result: PASS 1 - a",
        b"a.c:1: TPASS: x", b"a 1 TFAIL : x", b"<<<test_start>>>", b"tag=a", b"termination_type=exited termination_id=2", b"<<<test_end>>>", b"Testcase Result",
        b"generic/001 3s ... ", b" 4s", b"[not run]", b"==== a ====", b"===> d", b"SKIPPED", b"*** Error 1",
        b"\n", b"\n", b"\n", b"\r\n", b"\0", b"\xff", b"\xc3", "é".as_bytes(), b" ", b"/", b"[    1.5] ", b"=", b"\"",
    ];
    let word = prop_oneof![9 => proptest::sample::select(words).prop_map(<[u8]>::to_vec), 1 => any::<Vec<u8>>()];
    proptest::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// No document makes a reader fail, the pieces in which it comes make no difference, and what is handed over keeps its promises.
    #[test]
    fn any_document_is_read(bytes in document(), piece in 1..30_usize) {
        for row in FORMATS {
            let whole = read(row.format, &[&bytes]);
            let pieces: Vec<&[u8]> = bytes.chunks(piece).collect();
            prop_assert_eq!(&read(row.format, &pieces), &whole, "{}", row.name);
            for result in &whole.0 {
                prop_assert!(!result.name.is_empty() && result.name.split('/').all(|part| !part.is_empty()));
                prop_assert!(result.line > 0);
                prop_assert!(result.seconds.is_none_or(|seconds| seconds >= 0.0));
            }
        }
        let _any = Format::guess("", &bytes);
    }
}

#[test]
fn a_directory_of_regress_that_does_not_build_leaves_the_test_before_it_passed() {
    let log = b"===> sys/netinet
==== run-regress-args ====
./args

cc -O2 -pipe -c pair.c
pair.c:9:7: error: call to undeclared function 'pair'
1 error generated.
*** Error 1 in sys/netinet (<sys.mk>:87 'pair.o')
*** Error 2 in /usr/src/regress/sys (<bsd.subdir.mk>:48 'all')
";
    let (results, problems) = read(Format::BsdRegress, &[log]);
    assert_eq!(
        names(&results),
        [
            ("sys/netinet/args", Outcome::Pass),
            ("sys/netinet", Outcome::Error),
        ]
    );
    let said = "pair.c:9:7: error: call to undeclared function 'pair'";
    assert_eq!(results[1].message.as_deref(), Some(said));
    assert_eq!(problems, Vec::<String>::new());
    // The test's own target failed: that is the test.
    let own = b"===> sys/netinet
==== run-regress-args ====
it says

*** Error 1 in sys/netinet (Makefile:12 'run-regress-args')
FAILED
";
    let (results, _) = read(Format::BsdRegress, &[own]);
    assert_eq!(names(&results), [("sys/netinet/args", Outcome::Fail)]);
}

#[test]
fn a_log_of_xfstests_that_stands_indented_in_another_is_read() {
    let log = b"  FSTYP         -- ext4
  generic/001 3s ...  4s
  generic/002        [not run] needs reflink
  generic/003 5s ... [failed, exit status 1]- output mismatch (see x)
      --- tests/generic/003.out
      +++ x
      generic/009 is what it wrote
  generic/004 1s ...  1s
  Ran: generic/001 generic/002 generic/003 generic/004
";
    let (results, problems) = read(Format::Xfstests, &[log]);
    let wanted = [
        ("generic/001", Outcome::Pass),
        ("generic/002", Outcome::Skip),
        ("generic/003", Outcome::Fail),
        ("generic/004", Outcome::Pass),
    ];
    assert_eq!(names(&results), wanted);
    assert!(
        results[2]
            .log
            .as_str()
            .contains("generic/009 is what it wrote")
    );
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn a_benchmark_of_go_has_passed_where_its_package_has() {
    let go = br#"{"Action":"run","Package":"p","Test":"BenchmarkSum"}
{"Action":"output","Package":"p","Test":"BenchmarkSum","Output":"BenchmarkSum-2 100 5.5 ns/op\n"}
{"Action":"run","Package":"p","Test":"TestLost"}
{"Action":"pass","Package":"p","Elapsed":1.5}
"#;
    let (results, problems) = read(Format::GoTest, &[go]);
    let wanted = [
        ("p/BenchmarkSum", Outcome::Pass),
        ("p/TestLost", Outcome::NoExit),
    ];
    assert_eq!(names(&results), wanted);
    assert_eq!(problems, ["line 3: `p/TestLost` began and never ended"]);
}
