//! Automake's `PASS: name` lines, and its `.trs` files.
//!
//! Format: <https://www.gnu.org/software/automake/manual/html_node/Scripts_002dbased-Testsuites.html> and
//! <https://www.gnu.org/software/automake/manual/html_node/Log-files-generation-and-test-results-recording.html>.

use crate::{
    lines::LineDecoder,
    result::{Outcome, ProblemKind, TestResult, path},
    sink::Sink,
};

fn outcome(word: &str) -> Option<Outcome> {
    Some(match word {
        "PASS" => Outcome::Pass,
        "FAIL" => Outcome::Fail,
        "SKIP" => Outcome::Skip,
        "XFAIL" => Outcome::ExpectedFail,
        "XPASS" => Outcome::UnexpectedPass,
        "ERROR" => Outcome::Error,
        _ => return None,
    })
}

/// Lines of `make check`. They may be coloured.
pub(crate) struct Automake;

impl LineDecoder for Automake {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        let plain = without_colours(line);
        let Some((word, name)) = plain.split_once(": ") else {
            return;
        };
        if let Some(outcome) = outcome(word) {
            to.result(point(name, outcome));
        }
    }
}

/// A `.trs` file: the result of one script, or of each of its test points (`PASS 1 - description`).
pub(crate) struct Trs;

impl LineDecoder for Trs {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        let Some(result) = line.strip_prefix(":test-result:") else {
            return;
        };
        let result = result.trim();
        let (word, name) = result.split_once(' ').unwrap_or((result, ""));
        let Some(outcome) = outcome(word) else {
            return to.problem(ProblemKind::UnknownOutcome(word.to_owned()));
        };
        let script = to.default_name();
        let point = point(name, outcome);
        let name = path([script.as_str(), point.name.as_str()]);
        to.result(TestResult { name, ..point });
    }
}

/// A result of Automake's driver for TAP is `script 1 - description # SKIP why`, of others only a name.
fn point(name: &str, outcome: Outcome) -> TestResult {
    let (name, reason) = name.split_once(" # ").unwrap_or((name, ""));
    let reason = ["SKIP", "TODO"]
        .iter()
        .find_map(|word| reason.strip_prefix(word))
        .unwrap_or(reason);
    // The number counts what came before, and is no name.
    let numbered = name.split_once(" - ").and_then(|(before, description)| {
        let (script, number) = before.rsplit_once(' ').unwrap_or(("", before));
        number
            .parse::<u64>()
            .ok()
            .map(|_| path([script, description]))
    });
    let name = numbered.unwrap_or_else(|| path([name]));
    TestResult::new(name, outcome).with_message(reason)
}

/// A line without a terminal's colours.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix('m').unwrap_or(rest);
    }
    plain.push_str(rest);
    plain
}
