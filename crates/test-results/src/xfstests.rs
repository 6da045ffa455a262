//! xfstests' `check`.
//!
//! Format: `check` in <https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git>.
//!
//! ```text
//! generic/001 3s ...  4s                       passed, in 4 s (last time in 3)
//! generic/005 files ...  2s                    passed, in older versions
//! generic/002        [not run] needs reflink   skipped
//! generic/003 5s ... [failed, exit status 1]   failed; what differs follows, indented
//! generic/004 5s ... - output mismatch (see …)
//! ```

use crate::{
    lines::LineDecoder,
    result::{Log, Outcome, TestResult, outcome_of_exit, path, seconds},
    sink::Sink,
};

#[derive(Default)]
pub(crate) struct Xfstests {
    /// What all lines begin with, where the log stands indented in another; known from its first line of a test.
    indent: Option<String>,
    /// A test that isn't in order: more of it follows.
    last: Option<(TestResult, Log)>,
    /// A test whose name came, and whose result is at the end of a later line.
    begun: Option<TestResult>,
}

impl Xfstests {
    fn release(&mut self, to: &mut Sink<'_>) {
        if let Some((result, log)) = self.last.take() {
            to.result(result.with_log(log.into_string()));
        }
    }
}

/// A test's name at the start of a line, and what follows it.
fn test(line: &str) -> Option<(&str, &str)> {
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let (group, number) = name.split_once('/')?;
    let word = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    let is_test = !group.is_empty()
        && word(group)
        && word(number)
        && number.starts_with(|c: char| c.is_ascii_digit());
    is_test.then_some((name, rest))
}

/// What a line says after a test's name. Nothing if that is still to come.
fn said(name: &str, rest: &str) -> Option<TestResult> {
    let rest = rest.trim();
    // How long it took last time; older ones have a word there (`files ...`).
    let rest = match rest.split_once("...") {
        Some((before, after))
            if before.trim().bytes().all(|byte| byte.is_ascii_lowercase())
                || duration(before).is_some() =>
        {
            after.trim()
        }
        _ => rest,
    };
    let rest = without_times(rest);
    let result = |outcome| TestResult::new(path([name]), outcome);
    if let Some(reason) = rest
        .strip_prefix("[not run]")
        .or(rest.strip_prefix("[expunged]"))
    {
        return Some(result(Outcome::Skip).with_message(reason));
    }
    if let Some(took) = duration(rest) {
        return Some(result(Outcome::Pass).with_seconds(Some(took)));
    }
    if let Some(failed) = rest.strip_prefix("[failed, exit status ") {
        let status = failed
            .split(']')
            .next()
            .and_then(|status| status.parse().ok())
            .unwrap_or(1);
        // 77 and 99 mean nothing here.
        let outcome = match outcome_of_exit(status) {
            crash @ Outcome::Crash(_) => crash,
            _ => Outcome::Fail,
        };
        return Some(result(outcome).with_message(rest));
    }
    let failed = rest.starts_with("- output mismatch")
        || rest.starts_with("- no qualified output")
        || rest.starts_with('_')
        || rest.starts_with("[dmesg,")
        || rest.starts_with("[failed");
    failed.then(|| result(Outcome::Fail).with_message(rest))
}

/// A text without the times of day before it, when the test began and ended (`check -T`).
fn without_times(mut text: &str) -> &str {
    while let Some((time, rest)) = text.strip_prefix('[').and_then(|it| it.split_once(']')) {
        let is_time = time.len() == 8
            && time
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b':');
        if !is_time {
            break;
        }
        text = rest.trim_start();
    }
    text
}

fn duration(text: &str) -> Option<f64> {
    text.trim().strip_suffix('s').and_then(seconds)
}

impl Xfstests {
    /// A line as `check` wrote it.
    fn unindented<'a>(&mut self, line: &'a str) -> &'a str {
        if self.indent.is_none() {
            let written = line.trim_start();
            let begins = test(written).is_some_and(|(name, rest)| said(name, rest).is_some());
            if begins || written.starts_with("FSTYP ") {
                self.indent = Some(line[..line.len() - written.len()].to_owned());
            }
        }
        let indent = self.indent.as_deref().unwrap_or_default();
        line.strip_prefix(indent).unwrap_or(line)
    }
}

impl LineDecoder for Xfstests {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        let line = self.unindented(line);
        if let Some((name, rest)) = test(line) {
            self.release(to);
            self.begun = None;
            if let Some(mut result) = said(name, rest) {
                result.line = to.line();
                if result.outcome.is_failure() {
                    self.last = Some((result, Log::default()));
                } else {
                    to.result(result);
                }
            } else if rest.contains("...") || rest.trim().is_empty() {
                to.started(path([name]));
                self.begun = Some(TestResult::new(name, Outcome::NoExit));
            }
            return;
        }
        let summary = ["Ran: ", "Not run: ", "Failures: ", "Failed ", "Passed all "];
        if summary.iter().any(|word| line.starts_with(word)) {
            self.release(to);
        } else if let Some(begun) = self.begun.take() {
            // Something was written between the name and the result.
            match said(&begun.name, line) {
                Some(result) if result.outcome.is_failure() => {
                    self.last = Some((result, Log::default()))
                }
                Some(result) => to.result(result),
                None => {
                    to.log(&begun.name, &format!("{line}\n"));
                    self.begun = Some(begun);
                }
            }
        } else if let Some((_, log)) = &mut self.last {
            log.push_line(line);
        }
    }

    fn unfinished(&mut self, line: &str, to: &mut Sink<'_>) {
        if let Some((name, rest)) = test(line)
            && rest.ends_with("... ")
        {
            to.started(path([name]));
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        self.release(to);
    }

    fn held(&self) -> u64 {
        u64::from(self.last.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_the_dots_is_no_result() {
        for (rest, outcome, took) in [
            (" 3s ...  4s", Outcome::Pass, Some(4.0)),
            (" files ...  15s", Outcome::Pass, Some(15.0)),
            (" ...  15s", Outcome::Pass, Some(15.0)),
            (" 1s ... [21:30:00][21:30:04] 4s", Outcome::Pass, Some(4.0)),
            (" [21:30:00] [21:30:04] [not run] x", Outcome::Skip, None),
            (" files ... [not run] no quota", Outcome::Skip, None),
            (" files ... - output mismatch (see x)", Outcome::Fail, None),
        ] {
            let result = said("generic/001", rest);
            let read = result.map(|result| (result.outcome, result.seconds));
            assert_eq!(read, Some((outcome, took)), "{rest}");
        }
    }
}
