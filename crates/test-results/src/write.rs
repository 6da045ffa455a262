//! Writing: JUnit's XML and TAP 14.

use crate::result::{Outcome, TestResult};
use std::{
    fmt::Write as _,
    io::{self, Write},
};

/// Writes results as JUnit's XML, one by one. Results that follow each other in one suite stand in one `testsuite`; what comes before a name's last `/`
/// is its suite. What JUnit has no word for is the `type` of a `failure`, an `error` or a `skipped`, in the words of [`Outcome`];
/// earlier runs are Surefire's `flakyFailure` and `rerunFailure`. Characters that XML can't have are written as `\u{1b}`.
#[derive(Debug)]
pub struct JUnitWriter<W: Write> {
    to: W,
    suite: Option<String>,
}

impl<W: Write> JUnitWriter<W> {
    /// Begins a document.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(mut to: W) -> io::Result<JUnitWriter<W>> {
        to.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n")?;
        Ok(JUnitWriter { to, suite: None })
    }

    /// Writes a result.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, result: &TestResult) -> io::Result<()> {
        let (suite, name) = result.name.rsplit_once('/').unwrap_or(("", &result.name));
        if self.suite.as_deref() != Some(suite) {
            self.end_suite()?;
            writeln!(self.to, "  <testsuite name=\"{}\">", Escaped(suite, true))?;
            self.suite = Some(suite.to_owned());
        }
        let mut text = String::new();
        let (suite, name) = (Escaped(suite, true), Escaped(name, true));
        let _infallible = write!(text, "    <testcase classname=\"{suite}\" name=\"{name}\"");
        if let Some(seconds) = result.seconds {
            let _infallible = write!(text, " time=\"{seconds}\"");
        }
        text.push_str(">\n");
        let passed = result.outcome == Outcome::Pass;
        let message = result.message.as_deref();
        // What passed has no place for a message of its own.
        if let Some((element, kind)) = element(result.outcome) {
            let _infallible = write!(text, "      <{element}");
            if let Some(message) = message {
                let _infallible = write!(text, " message=\"{}\"", Escaped(message, true));
            }
            if let Some(kind) = kind {
                let _infallible = write!(text, " type=\"{kind}\"");
            }
            text.push_str("/>\n");
        }
        for earlier in &result.reruns {
            let start = if passed { "flaky" } else { "rerun" };
            let end = if matches!(element(*earlier), Some(("error", _))) {
                "Error"
            } else {
                "Failure"
            };
            let _infallible = writeln!(text, "      <{start}{end} type=\"{earlier}\"/>");
        }
        if !result.log.is_empty() {
            let _infallible = writeln!(
                text,
                "      <system-out>{}</system-out>",
                Escaped(&result.log, false)
            );
        }
        text.push_str("    </testcase>\n");
        self.to.write_all(text.as_bytes())
    }

    /// Ends the document.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_suite()?;
        self.to.write_all(b"</testsuites>\n")?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn end_suite(&mut self) -> io::Result<()> {
        match self.suite.take() {
            Some(_) => self.to.write_all(b"  </testsuite>\n"),
            None => Ok(()),
        }
    }
}

/// The element for an outcome, and its type where the element alone doesn't say it.
fn element(outcome: Outcome) -> Option<(&'static str, Option<Outcome>)> {
    Some(match outcome {
        Outcome::Pass => return None,
        Outcome::Fail => ("failure", None),
        Outcome::Error => ("error", None),
        Outcome::Skip => ("skipped", None),
        Outcome::UnexpectedPass => ("failure", Some(outcome)),
        Outcome::ExpectedFail | Outcome::NotRun => ("skipped", Some(outcome)),
        Outcome::Timeout | Outcome::Crash(_) | Outcome::NoExit | Outcome::NoLog => {
            ("error", Some(outcome))
        }
    })
}

/// Text for XML; of an attribute if so.
struct Escaped<'a>(&'a str, bool);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut from = 0;
        for (at, character) in self.0.char_indices() {
            let reference = match character {
                '<' => "&lt;",
                '>' => "&gt;",
                '&' => "&amp;",
                '"' if self.1 => "&quot;",
                // Readers make blanks of these in attributes, and newlines of returns.
                '\n' if self.1 => "&#10;",
                '\t' if self.1 => "&#9;",
                '\r' => "&#13;",
                '\n' | '\t' => continue,
                '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => "",
                _ => continue,
            };
            f.write_str(&self.0[from..at])?;
            if reference.is_empty() {
                write!(f, "\\u{{{:x}}}", u32::from(character))?;
            } else {
                f.write_str(reference)?;
            }
            from = at + character.len_utf8();
        }
        f.write_str(&self.0[from..])
    }
}

/// Writes results as TAP 14, one by one; the plan comes last. Names are paths: there are no subtests.
#[derive(Debug)]
pub struct TapWriter<W: Write> {
    to: W,
    number: u64,
}

impl<W: Write> TapWriter<W> {
    /// Begins a document.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(mut to: W) -> io::Result<TapWriter<W>> {
        to.write_all(b"TAP version 14\n")?;
        Ok(TapWriter { to, number: 0 })
    }

    /// Writes a result. What is neither passed, failed, skipped nor expected to fail has its outcome in the YAML block.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, result: &TestResult) -> io::Result<()> {
        self.number += 1;
        let (ok, directive) = match result.outcome {
            Outcome::Pass => ("ok", None),
            Outcome::ExpectedFail => ("not ok", Some("TODO")),
            Outcome::Skip | Outcome::NotRun => ("ok", Some("SKIP")),
            _ => ("not ok", None),
        };
        let mut text = format!("{ok} {} - {}", self.number, escaped(&result.name));
        let message = result.message.as_deref();
        if let Some(directive) = directive {
            let _infallible = write!(
                text,
                " # {directive} {}",
                escaped(message.unwrap_or_default())
            );
            text.truncate(text.trim_end().len());
        }
        text.push('\n');
        let mut yaml = String::new();
        if directive.is_none()
            && let Some(message) = message
        {
            let _infallible = writeln!(yaml, "  message: {}", quoted(message));
        }
        if !matches!(
            result.outcome,
            Outcome::Pass | Outcome::Fail | Outcome::Skip
        ) && directive != Some("TODO")
        {
            let _infallible = writeln!(yaml, "  outcome: {}", result.outcome);
        }
        if let Some(seconds) = result.seconds {
            let _infallible = writeln!(yaml, "  duration_ms: {}", seconds * 1000.0);
        }
        if !result.reruns.is_empty() {
            let reruns = result
                .reruns
                .iter()
                .map(|outcome| quoted(&outcome.to_string()));
            let _infallible = writeln!(
                yaml,
                "  reruns: [{}]",
                reruns.collect::<Vec<_>>().join(", ")
            );
        }
        if !result.log.is_empty() {
            let _infallible = writeln!(yaml, "  log: {}", quoted(&result.log));
        }
        if !yaml.is_empty() {
            let _infallible = write!(text, "  ---\n{yaml}  ...\n");
        }
        self.to.write_all(text.as_bytes())
    }

    /// Ends the document with its plan.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        writeln!(self.to, "1..{}", self.number)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// A description or a reason: `#` and `\` have a `\` before them; it is one line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '#' | '\\' => escaped.extend(['\\', character]),
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// A string of YAML between double quotes: JSON's are such.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
