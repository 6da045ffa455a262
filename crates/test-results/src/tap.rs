//! TAP 13 and 14, and the kernel's KTAP with kselftest's nesting.
//!
//! Formats: <https://testanything.org/tap-version-13-specification.html>,
//! <https://testanything.org/tap-version-14-specification.html>, <https://docs.kernel.org/dev-tools/ktap.html>.
//!
//! | | TAP | KTAP |
//! |---|---|---|
//! | a level of nesting | 4 spaces | 2 spaces (KUnit writes 4); kselftest: `# ` before each line |
//! | what is said of a result | follows it: YAML, comments | comes before it |
//! | after an unescaped `#` | a directive, or else part of the description | a directive or a message |
//! | `\#`, `\\` | a `#`, a `\` | as they are |
//!
//! Tests of one document, or of one group of subtests, that are called alike are told apart by a number: `name`, `name (2)`. So are
//! groups of subtests: `group/name`, `group (2)/name`.
//! The name of a group of subtests stands in a comment before them or on the result after them. In the second case they are held
//! until it is there.

use crate::{
    lines::LineDecoder,
    result::{Log, Outcome, ProblemKind, TestResult, path, seconds},
    sink::Sink,
};
use std::{collections::HashMap, fmt::Write as _, hash::BuildHasher as _};

/// Levels of subtests.
const MAX_DEPTH: usize = 64;
/// Subtests that wait for the name of their group, in bytes of names, messages and logs. More are handed over without it.
const MAX_HELD: usize = 64 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Tap,
    Ktap,
}

pub(crate) struct Tap {
    dialect: Dialect,
    /// The document, and the groups of subtests in it that are open.
    levels: Vec<Level>,
    /// A group's name out of a comment and the comment's indentation, for the next level that opens.
    group: Option<(usize, String)>,
    /// A result whose details may follow.
    last: Option<TestResult>,
    /// Indentation of the YAML block that is being read.
    yaml: Option<usize>,
    log: Log,
    /// The first line that explains the last result (TAP).
    said: String,
    /// The next line of YAML is the first one of a message.
    message_follows: bool,
    held_bytes: usize,
    bailed_out: bool,
    /// kselftest: lines after `# ` are of a test of this name.
    selftest: bool,
    /// A result's line that ends with `{`, and its number: what follows it says whether its subtests stand between braces.
    brace: Option<(String, u64)>,
}

#[derive(Default)]
struct Level {
    indent: usize,
    /// The group's name, if it was said before its results.
    name: Option<String>,
    plan: Option<(u64, u64)>,
    results: u64,
    /// How many results have a name, by the name's hash: tests of one document that are called alike are different tests.
    names: HashMap<u64, u64>,
    held: Vec<TestResult>,
    /// It stands between braces, after the result of its group.
    in_braces: bool,
}

impl Level {
    /// The name of the next result here that is called so: where others are, it is told apart by a number.
    fn unused_name(&self, name: &str) -> String {
        let mut name = path([name]);
        let alike = self.names.get(&self.names.hasher().hash_one(&name));
        if let Some(alike) = alike {
            let _infallible = write!(name, " ({})", alike + 1);
        }
        name
    }
}

impl Tap {
    pub(crate) fn new(dialect: Dialect) -> Tap {
        Tap {
            dialect,
            levels: vec![Level::default()],
            group: None,
            last: None,
            yaml: None,
            log: Log::default(),
            said: String::new(),
            message_follows: false,
            held_bytes: 0,
            bailed_out: false,
            selftest: false,
            brace: None,
        }
    }

    /// Hands over the last result, or holds it until the names of its groups are known.
    fn release_last(&mut self, to: &mut Sink<'_>) {
        let Some(mut result) = self.last.take() else {
            return;
        };
        if self.dialect == Dialect::Tap {
            let said = std::mem::take(&mut self.said);
            if result.outcome != Outcome::Pass && result.message.is_none() {
                result = result.with_message(&said);
            }
            result.log = std::mem::take(&mut self.log).into_string();
        }
        self.emit(result, to);
    }

    fn emit(&mut self, result: TestResult, to: &mut Sink<'_>) {
        let (_, groups) = self.levels.split_first().unwrap_or((&self.levels[0], &[]));
        let names = groups.iter().map(|level| level.name.as_deref());
        if let Some(names) = names.collect::<Option<Vec<_>>>() {
            let name = path(names.into_iter().chain([result.name.as_str()]));
            to.result(TestResult { name, ..result });
            return;
        }
        self.held_bytes += held_size(&result);
        if let Some(level) = self.levels.last_mut() {
            level.held.push(result);
        }
        if self.held_bytes > MAX_HELD {
            to.problem(ProblemKind::TooLong {
                what: "a group of subtests without a name",
                limit: MAX_HELD,
            });
            let held: Vec<_> = self
                .levels
                .iter_mut()
                .flat_map(|l| l.held.drain(..))
                .collect();
            self.held_bytes = 0;
            held.into_iter().for_each(|result| to.result(result));
        }
    }

    /// Closes the levels deeper than this; their group has this name.
    fn close_deeper(&mut self, indent: usize, name: &str, to: &mut Sink<'_>) {
        while self.levels.len() > 1 && self.levels.last().is_some_and(|l| l.indent > indent) {
            let Some(level) = self.levels.pop() else {
                return;
            };
            check_plan(&level, to);
            // Levels may open several at a time: the group's own is between.
            self.level(indent, to);
            let above = self.levels.last().filter(|above| above.indent <= indent);
            let name = level
                .name
                .or_else(|| above.map(|above| above.unused_name(name)));
            for mut result in level.held {
                self.held_bytes = self.held_bytes.saturating_sub(held_size(&result));
                result.name = path(name.as_deref().into_iter().chain([result.name.as_str()]));
                self.emit(result, to);
            }
        }
    }

    /// The level of this indentation, opened if it is deeper than all that are open.
    fn level(&mut self, indent: usize, to: &mut Sink<'_>) -> Option<&mut Level> {
        if self
            .levels
            .last()
            .is_some_and(|level| level.indent < indent)
        {
            if self.levels.len() > MAX_DEPTH {
                to.problem(ProblemKind::TooDeep(MAX_DEPTH));
                return None;
            }
            let above = self.levels.last();
            let group = self.group.take();
            let name = group
                .zip(above)
                .map(|((_, name), above)| above.unused_name(&name));
            self.levels.push(Level {
                indent,
                name,
                ..Level::default()
            });
        }
        self.levels.last_mut()
    }

    fn test_point(&mut self, indent: usize, point: Point, to: &mut Sink<'_>) {
        self.release_last(to);
        // The C functions of kselftest put the name of a test that is skipped after the directive.
        let named_after = self.dialect == Dialect::Ktap && point.outcome == Outcome::Skip;
        let described = match point.description.is_empty() && named_after {
            true => path([point.message.as_str()]),
            false => path([point.description.as_str()]),
        };
        self.close_deeper(indent, &described, to);
        let Some(level) = self.level(indent, to) else {
            return;
        };
        level.results += 1;
        let number = point.number.unwrap_or(level.results);
        let outside = level
            .plan
            .is_some_and(|(plan, _)| number > plan || number == 0);
        if outside {
            to.problem(ProblemKind::OutsidePlan(number));
        }
        let mut name = if described.is_empty() {
            number.to_string()
        } else {
            described
        };
        let used = level.names.hasher().hash_one(&name);
        name = level.unused_name(&name);
        *level.names.entry(used).or_default() += 1;
        let mut result = TestResult::new(name, point.outcome)
            .with_message(&point.message)
            .with_seconds(point.seconds);
        result.line = to.line();
        self.said.clear();
        if self.dialect == Dialect::Ktap {
            result.log = std::mem::take(&mut self.log).into_string();
            if result.message.is_none() && result.outcome != Outcome::Pass {
                let line = result.log.lines().find(|line| line.starts_with('#'));
                let line = line
                    .unwrap_or(&result.log)
                    .trim_start_matches(['#', ' '])
                    .to_owned();
                result = result.with_message(&line);
            }
            self.emit(result, to);
        } else {
            self.last = Some(result);
        }
        // A comment that named a group without subtests names no later one.
        self.group = None;
    }

    fn plan(&mut self, indent: usize, plan: u64, reason: &str, to: &mut Sink<'_>) {
        self.release_last(to);
        if indent == 0 || self.levels.len() > 1 {
            // A plan after the results of a level closes what is deeper than it.
            self.close_deeper(indent, "", to);
        }
        let line = to.line();
        let top = indent == 0;
        let Some(level) = self.level(indent, to) else {
            return;
        };
        if level.plan.replace((plan, line)).is_some() {
            to.problem(ProblemKind::Invalid("a second plan".to_owned()));
        }
        if plan == 0 && top {
            let reason = directive(reason).map_or(reason.to_owned(), |(_, reason)| reason);
            let name = path([to.default_name().as_str()]);
            to.result(TestResult::new(name, Outcome::Skip).with_message(&unescape(&reason)));
        }
    }

    /// A version's line: a document in a document, or the next one.
    fn version(&mut self, indent: usize, to: &mut Sink<'_>) {
        self.release_last(to);
        self.yaml = None;
        if indent == 0 {
            self.close_document(to);
        } else {
            self.close_deeper(indent, "", to);
            self.level(indent, to);
        }
    }

    fn close_document(&mut self, to: &mut Sink<'_>) {
        self.close_deeper(0, "", to);
        if let Some(document) = self.levels.first_mut() {
            let document = std::mem::take(document);
            if document.plan.is_none()
                && document.results > 0
                && self.dialect == Dialect::Tap
                && !self.bailed_out
            {
                to.problem(ProblemKind::NoPlan);
            }
            check_plan(&document, to);
        }
        self.group = None;
    }

    /// A line of a YAML block. The key `message`, or Node's `error`, is the result's message, `duration_ms` its duration.
    fn yaml(&mut self, line: &str) {
        let Some(result) = &mut self.last else { return };
        if std::mem::take(&mut self.message_follows) {
            line.clone_into(&mut self.said);
        } else if let Some((key, value)) = line.split_once(':') {
            let value = value.trim();
            match key {
                "message" | "error" if value.starts_with(['|', '>']) => self.message_follows = true,
                "message" | "error" => self.said = yaml_scalar(value),
                "duration_ms" => result.seconds = seconds(value).map(|ms| ms / 1000.0),
                _ => {}
            }
        }
        self.log.push_line(line);
    }

    fn comment(&mut self, indent: usize, line: &str, to: &mut Sink<'_>) {
        let text = line.trim_start_matches('#').trim_start();
        if let Some(rest) = text.strip_prefix("Subtest") {
            let name = rest.strip_prefix(':').map(str::trim);
            let name = name.map(|name| match self.dialect {
                Dialect::Tap => unescape(name),
                Dialect::Ktap => name.to_owned(),
            });
            self.release_last(to);
            // Of two names one within the other, the first is that of the level in which the second stands.
            if self.group.as_ref().is_some_and(|(of, _)| *of < indent) {
                self.level(indent, to);
            }
            let inside = self.levels.len() > 1
                && self
                    .levels
                    .last()
                    .is_some_and(|l| l.indent == indent && l.name.is_none());
            let above = self.levels.len().checked_sub(2).map(|at| &self.levels[at]);
            let unused = above
                .zip(name.as_deref())
                .map(|(above, name)| above.unused_name(name));
            match self.levels.last_mut() {
                // KUnit: the name stands within its group, after the version.
                Some(level) if inside && level.results == 0 && level.held.is_empty() => {
                    level.name = unused;
                }
                _ => self.group = name.map(|name| (indent, name)),
            }
            return;
        }
        // kselftest's runner says it of each test.
        if self.dialect == Dialect::Ktap && text.starts_with("timeout set to ") {
            return;
        }
        if self.said.is_empty() {
            text.clone_into(&mut self.said);
        }
        self.log.push_line(line);
    }
}

/// A string of YAML on one line: quoted in one of two ways, or bare.
fn yaml_scalar(text: &str) -> String {
    let single = text
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''));
    match single {
        Some(text) => text.replace("''", "'"),
        // JSON's strings are all but those with escapes of YAML's own.
        None => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
    }
}

fn held_size(result: &TestResult) -> usize {
    let message = result.message.as_ref().map_or(0, String::len);
    size_of::<TestResult>() + result.name.len() + message + result.log.len()
}

fn check_plan(level: &Level, to: &mut Sink<'_>) {
    if let Some((planned, line)) = level.plan
        && planned != level.results
    {
        let found = level.results;
        to.problem_at(line, None, ProblemKind::PlanMismatch { planned, found });
    }
}

/// A result's line without the `{` that opens its subtests (node-tap), if it may be one.
fn without_brace(line: &str) -> Option<String> {
    Point::parse(line.trim_start(), Dialect::Tap)?;
    let line = line.trim_end();
    match (line.strip_suffix(" {"), line.split_once(" { #")) {
        (Some(before), _) => Some(before.to_owned()),
        (None, Some((before, after))) => Some(format!("{before} #{after}")),
        (None, None) => None,
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

impl LineDecoder for Tap {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        if let Some((result, number)) = self.brace.take() {
            let indent = indentation(&result);
            // YAML follows a result without subtests.
            let opens = indentation(line) > indent && line.trim() != "---";
            let opens = opens || line.trim_end() == format!("{:indent$}}}", "");
            let plain = without_brace(&result).filter(|_| opens);
            let here = to.line();
            to.at_line(number);
            self.plain_line(plain.as_deref().unwrap_or(&result), to);
            if plain.is_some() {
                self.open_braces(indent, to);
            }
            to.at_line(here);
        }
        let may_open = self.dialect == Dialect::Tap && self.yaml.is_none();
        match may_open && without_brace(line).is_some() {
            true => self.brace = Some((line.to_owned(), to.line())),
            false => self.plain_line(line, to),
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        if let Some((result, number)) = self.brace.take() {
            to.at_line(number);
            self.plain_line(&result, to);
        }
        self.release_last(to);
        self.close_document(to);
    }

    fn held(&self) -> u64 {
        let held: usize = self.levels.iter().map(|level| level.held.len()).sum();
        held as u64 + u64::from(self.last.is_some()) + u64::from(self.brace.is_some())
    }
}

impl Tap {
    /// Subtests of the last result follow it, between braces.
    fn open_braces(&mut self, indent: usize, to: &mut Sink<'_>) {
        let Some(name) = self.last.as_ref().map(|result| result.name.clone()) else {
            return;
        };
        self.release_last(to);
        if self.levels.len() > MAX_DEPTH {
            return to.problem(ProblemKind::TooDeep(MAX_DEPTH));
        }
        self.levels.push(Level {
            indent: indent + 4,
            name: Some(name),
            in_braces: true,
            ..Level::default()
        });
    }

    /// A line that isn't held.
    fn plain_line(&mut self, line: &str, to: &mut Sink<'_>) {
        let mut line = line;
        let mut shift = 0;
        if self.dialect == Dialect::Ktap {
            line = without_log_prefix(line);
            if let Some(test) = line.strip_prefix("# selftests: ") {
                self.close_deeper(0, "", to);
                let name = selftest_name(test);
                to.started(name.clone());
                self.group = Some((0, name));
                self.selftest = true;
                return;
            }
            // What a selftest wrote stands after `# `.
            if self.selftest
                && let Some(inner) = line.strip_prefix("# ")
            {
                line = inner;
                shift = 2;
            }
        }
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len() + shift;
        if let Some(yaml) = self.yaml {
            if indent == yaml && text.trim_end() == "..." {
                self.yaml = None;
                return;
            }
            // A block without an end is over where something of less indentation stands.
            if indent >= yaml || text.is_empty() {
                self.yaml(line.get(yaml..).unwrap_or_default());
                return;
            }
            self.yaml = None;
        }
        let text = text.trim_end();
        let nested = match self.dialect {
            Dialect::Tap => indent.is_multiple_of(4),
            Dialect::Ktap => indent.is_multiple_of(2),
        };
        let deepest = self.levels.last().map_or(0, |level| level.indent);
        if text.is_empty() || text.starts_with("pragma +") || text.starts_with("pragma -") {
        } else if text == "---" && self.last.is_some() && indent == deepest + 2 {
            self.yaml = Some(indent);
        } else if text == "{" && self.last.is_some() && indent == deepest {
            self.open_braces(indent, to);
        } else if text == "}"
            && self
                .levels
                .iter()
                .any(|l| l.in_braces && l.indent == indent + 4)
        {
            self.release_last(to);
            self.close_deeper(indent, "", to);
        } else if text.starts_with('#') {
            self.comment(indent, text, to);
        } else if nested && let Some(point) = Point::parse(text, self.dialect) {
            if self.selftest && shift == 0 {
                self.selftest = false;
            }
            self.test_point(indent, point, to);
        } else if nested && let Some((plan, reason)) = plan(text) {
            self.plan(indent, plan, reason, to);
        } else if nested && is_version(text) {
            self.version(indent, to);
        } else if let Some(reason) = bail_out(text) {
            self.release_last(to);
            self.bailed_out = true;
            to.problem(ProblemKind::BailOut(unescape(reason)));
        } else {
            // Anything else: output of the test.
            self.log.push_line(text);
        }
    }
}

/// `net: test.sh` is the test `net/test.sh`.
fn selftest_name(text: &str) -> String {
    path(text.split(": "))
}

fn is_version(text: &str) -> bool {
    let rest = text.strip_prefix("KTAP version ");
    let rest = rest.or_else(|| text.strip_prefix("TAP version "));
    rest.is_some_and(|version| version.parse::<u32>().is_ok())
}

fn plan(text: &str) -> Option<(u64, &str)> {
    let rest = text.strip_prefix("1..")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (number, rest) = rest.split_at(end);
    let rest = rest.trim_start();
    let reason = rest.strip_prefix('#');
    if reason.is_none() && !rest.is_empty() {
        return None;
    }
    Some((number.parse().ok()?, reason.unwrap_or_default().trim()))
}

fn bail_out(text: &str) -> Option<&str> {
    let (words, reason) = text.split_at_checked("Bail out!".len())?;
    words
        .eq_ignore_ascii_case("Bail out!")
        .then(|| reason.trim())
}

/// A line without what the kernel's log puts before it: `<6>[   12.345678][  T287] `.
fn without_log_prefix(line: &str) -> &str {
    let mut rest = line;
    if let Some(level) = rest.strip_prefix('<')
        && let Some((digits, after)) = level.split_once('>')
        && !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
    {
        rest = after;
    }
    let bracket = |text: &str, allowed: fn(u8) -> bool| -> Option<usize> {
        let end = text.find(']')?;
        let inside = text.strip_prefix('[')?.get(..end - 1)?;
        let inside = inside.trim_start();
        (!inside.is_empty() && inside.bytes().all(allowed)).then_some(end + 1)
    };
    let Some(end) = bracket(rest, |b| b.is_ascii_digit() || b == b'.') else {
        return line;
    };
    rest = &rest[end..];
    if let Some(end) = bracket(rest, |b| b.is_ascii_digit() || matches!(b, b'T' | b'C')) {
        rest = &rest[end..];
    }
    rest.strip_prefix(' ').unwrap_or(rest)
}

/// A line with a result.
struct Point {
    outcome: Outcome,
    number: Option<u64>,
    description: String,
    message: String,
    seconds: Option<f64>,
}

impl Point {
    fn parse(text: &str, dialect: Dialect) -> Option<Point> {
        let (ok, rest) = match text.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, text.strip_prefix("ok")?),
        };
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return None;
        }
        let rest = rest.trim_start();
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let number = rest[..end].parse::<u64>().ok();
        // `ok 2nd try` has no number.
        let number =
            number.filter(|_| rest[end..].is_empty() || rest[end..].starts_with([' ', '\t', '#']));
        if number.is_none() && dialect == Dialect::Ktap {
            return None;
        }
        let rest = if number.is_some() {
            rest[end..].trim_start()
        } else {
            rest
        };
        let rest = match rest.strip_prefix('-') {
            Some(after) if after.is_empty() || after.starts_with([' ', '\t']) => after,
            _ => rest,
        };
        let (mut description, said, message) = split_description(rest, dialect);
        if dialect == Dialect::Ktap
            && let Some(test) = description.strip_prefix("selftests: ")
        {
            description = selftest_name(test);
        }
        let outcome = match (said, ok) {
            (Some(Directive::Skip), _) => Outcome::Skip,
            // TAP 14 and prove count it as passed.
            (Some(Directive::Todo), true) => Outcome::Pass,
            (Some(Directive::Todo), false) | (Some(Directive::Is(Outcome::ExpectedFail)), _) => {
                Outcome::ExpectedFail
            }
            (Some(Directive::Is(outcome)), _) => outcome,
            (None, true) => Outcome::Pass,
            (None, false) => Outcome::Fail,
        };
        let is_mended = ok && matches!(said, Some(Directive::Todo));
        let message = match message.as_str() {
            "" if is_mended => "TODO".to_owned(),
            reason if is_mended => format!("TODO: {reason}"),
            _ => message,
        };
        let mut point = Point {
            outcome,
            number,
            description,
            message,
            seconds: None,
        };
        point.take_duration(dialect);
        Some(point)
    }

    /// bats `--timing` writes ` in 12ms` after the description, node-tap ` # time=12.5ms`: these would be another name each time.
    fn take_duration(&mut self, dialect: Dialect) {
        if dialect == Dialect::Ktap {
            return;
        }
        let text = &self.description;
        let found = text.rfind(" in ").map(|at| (at, " in ".len()));
        let found = text
            .rfind(" # time=")
            .map(|at| (at, " # time=".len()))
            .or(found);
        let Some((at, length)) = found else { return };
        let duration = text[at + length..].trim();
        let seconds = if let Some(ms) = duration.strip_suffix("ms") {
            seconds(ms).map(|ms| ms / 1000.0)
        } else if length > " in ".len() {
            duration.strip_suffix('s').and_then(seconds)
        } else {
            None
        };
        if seconds.is_some() {
            self.seconds = seconds;
            self.description.truncate(at);
        }
    }
}

#[derive(Clone, Copy)]
enum Directive {
    Skip,
    Todo,
    Is(Outcome),
}

/// A directive's word at the start of what follows a `#`, and the reason after it.
fn directive(text: &str) -> Option<(Directive, String)> {
    const WORDS: [(&str, Directive); 6] = [
        ("SKIP", Directive::Skip),
        ("TODO", Directive::Todo),
        ("XFAIL", Directive::Is(Outcome::ExpectedFail)),
        ("XPASS", Directive::Is(Outcome::UnexpectedPass)),
        ("TIMEOUT", Directive::Is(Outcome::Timeout)),
        ("ERROR", Directive::Is(Outcome::Error)),
    ];
    let text = text.trim_start();
    let starts = |word: &str| {
        text.get(..word.len())
            .is_some_and(|t| t.eq_ignore_ascii_case(word))
    };
    let (_, found) = WORDS.iter().find(|(word, _)| starts(word))?;
    // Older producers write `Skipped:`; all that hangs on the word belongs to it.
    let reason = text
        .split_once([' ', '\t'])
        .map_or("", |(_, reason)| reason.trim());
    Some((*found, reason.to_owned()))
}

/// Description, directive and message of what follows a result's number.
fn split_description(text: &str, dialect: Dialect) -> (String, Option<Directive>, String) {
    if dialect == Dialect::Ktap {
        let at = if text.starts_with('#') {
            Some(0)
        } else {
            text.find(" #").map(|at| at + 1)
        };
        let (description, rest) = at.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
        let description = description.trim().to_owned();
        return match directive(rest) {
            Some((found, reason)) => (description, Some(found), reason),
            None => (description, None, rest.trim().to_owned()),
        };
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if matches!(bytes.get(at + 1), Some(b'\\' | b'#')) => at += 1,
            b'#' => {
                let blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
                let before = blank(at.checked_sub(1).and_then(|before| bytes.get(before)));
                let after = blank(bytes.get(at + 1));
                // KTAP's directives aren't TAP's.
                let found = directive(&text[at + 1..])
                    .filter(|(found, _)| !matches!(found, Directive::Is(_)) && (before || after));
                if let Some((found, reason)) = found {
                    let description = unescape(text[..at].trim());
                    return (description, Some(found), unescape(&reason));
                }
                if before && after {
                    break;
                }
            }
            _ => {}
        }
        at += 1;
    }
    (unescape(text.trim()), None, String::new())
}

/// `\#` is a `#` and `\\` a `\`; every other `\` is itself.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = character == '\\' && matches!(characters.peek(), Some('\\' | '#'));
        plain.push(if escaped {
            characters.next().unwrap_or('\\')
        } else {
            character
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]
    use super::*;

    fn parsed(line: &str) -> (Outcome, String, String) {
        let point = Point::parse(line, Dialect::Tap).unwrap();
        (point.outcome, point.description, point.message)
    }

    #[test]
    fn escapes_and_directives_are_those_of_the_specification() {
        use Outcome::*;
        for (line, outcome, description, message) in [
            ("not ok 1 - hello # todo", ExpectedFail, "hello", ""),
            ("ok 2 - hello \\# todo", Pass, "hello # todo", ""),
            (
                "not ok 3 - hello # todo hash \\# character",
                ExpectedFail,
                "hello",
                "hash # character",
            ),
            (
                "not ok 4 - hello # todo hash # character",
                ExpectedFail,
                "hello",
                "hash # character",
            ),
            (
                "not ok 5 - hello \\\\# todo hash \\# character",
                ExpectedFail,
                "hello \\",
                "hash # character",
            ),
            (
                "ok 7 - hello # description # todo",
                Pass,
                "hello # description # todo",
                "",
            ),
            (
                "ok 8 - hello \\\\\\\\\\\\\\# todo",
                Pass,
                "hello \\\\\\# todo",
                "",
            ),
            ("ok 1 - do it later # Skipped", Skip, "do it later", ""),
            (
                "ok 2 - works # Skipped: only here",
                Skip,
                "works",
                "only here",
            ),
            ("ok 1 # skip this test", Skip, "", "this test"),
            (
                "ok 2 not skipped: example.org/page.html#skip is a url",
                Pass,
                "not skipped: example.org/page.html#skip is a url",
                "",
            ),
            (
                "ok 3 - #SkIp case insensitive",
                Skip,
                "",
                "case insensitive",
            ),
            (
                "ok 3 - C# passes # TODO later",
                Pass,
                "C# passes",
                "TODO: later",
            ),
            ("ok", Pass, "", ""),
            ("ok 2nd try", Pass, "2nd try", ""),
        ] {
            let wanted = (outcome, description.to_owned(), message.to_owned());
            assert_eq!(parsed(line), wanted, "{line}");
        }
        for line in ["okay", "not okay", "no ok", "not  ok"] {
            assert!(Point::parse(line, Dialect::Tap).is_none(), "{line}");
        }
    }

    fn names(format: crate::Format, text: &str) -> Vec<String> {
        let mut names = Vec::new();
        let mut take = |event| match event {
            crate::Event::Result(result) => names.push(result.name),
            other => panic!("{other:?}"),
        };
        let mut reader = crate::ResultReader::new(format, crate::ReadOptions::default());
        reader.feed(text.as_bytes(), &mut take);
        reader.finish(None, &mut take);
        names
    }

    #[test]
    fn tests_of_one_group_that_are_called_alike_are_told_apart() {
        let text = "    not ok 1 - set up\n    ok 2 - set up\n    1..2\nnot ok 1 - a\n    ok 1 - set up\n    1..1\nok 2 - b\n1..2\n";
        let names = names(crate::Format::Tap, text);
        assert_eq!(names, ["a/set up", "a/set up (2)", "a", "b/set up", "b"]);
    }

    #[test]
    fn groups_within_groups_are_named_before_them() {
        // Test::More.
        let perl = "# Subtest: alpha\n    # Subtest: one\n        ok 1 - a\n        not ok 2 - b\n        1..2\n    not ok 1 - one\n    1..1\nnot ok 1 - alpha\n\
            # Subtest: beta\n    # Subtest: one\n        ok 1 - a\n        ok 2 - b\n        1..2\n    ok 1 - one\n    1..1\nok 2 - beta\n1..2\n";
        let expected =
            "alpha/one/a alpha/one/b alpha/one alpha beta/one/a beta/one/b beta/one beta";
        assert_eq!(names(crate::Format::Tap, perl).join(" "), expected);
        // node, which names what has no subtests too.
        let node = "TAP version 13\n# Subtest: A\n    # Subtest: works\n    not ok 1 - works\n      ---\n      duration_ms: 0.7\n      ...\n    # Subtest: z\n    ok 2 - z\n\
            \x20   1..2\nnot ok 1 - A\n# Subtest: B\n    # Subtest: works\n    ok 1 - works\n    1..1\nok 2 - B\n1..2\n";
        assert_eq!(
            names(crate::Format::Tap, node),
            ["A/works", "A/z", "A", "B/works", "B"]
        );
        // Test::More before 1.3: the name stands where its tests do.
        let older = "    # Subtest: alpha\n    ok 1 - a\n    1..1\nok 1 - alpha\n1..1\n";
        assert_eq!(names(crate::Format::Tap, older), ["alpha/a", "alpha"]);
    }

    #[test]
    fn a_brace_opens_subtests_only_where_such_follow() {
        let text = "TAP version 14\nok 1 - parses {\nok 2 - a {\n    ok 1 - inner\n    1..1\n}\n# later\nnot ok 3 - b # time=5ms\n  ---\n  at: x\n  ...\n{\n    \
            ok 1 - inner\n    1..1\n}\nok 4 - ends {\n1..4\n";
        assert_eq!(
            names(crate::Format::Tap, text),
            ["parses {", "a", "a/inner", "b", "b/inner", "ends {"]
        );
    }

    #[test]
    fn groups_that_are_called_alike_are_told_apart() {
        let node = "TAP version 13\n# Subtest: s\n    # Subtest: x\n    not ok 1 - x\n    1..1\nnot ok 1 - s\n# Subtest: s\n    # Subtest: x\n    ok 1 - x\n    1..1\n\
            ok 2 - s\n1..2\n";
        assert_eq!(
            names(crate::Format::Tap, node),
            ["s/x", "s", "s (2)/x", "s (2)"]
        );
        let unnamed = "    ok 1 - x\n    1..1\nok 1 - s\n    ok 1 - x\n    1..1\nok 2 - s\n1..2\n";
        assert_eq!(
            names(crate::Format::Tap, unnamed),
            ["s/x", "s", "s (2)/x", "s (2)"]
        );
    }

    #[test]
    fn a_test_that_kselftest_skips_has_its_name_after_the_directive() {
        let text = "TAP version 13\n1..2\nok 1 CLOCK_TAI\nok 2 # SKIP CLOCK_REALTIME_ALARM\n";
        assert_eq!(
            names(crate::Format::Ktap, text),
            ["CLOCK_TAI", "CLOCK_REALTIME_ALARM"]
        );
    }

    #[test]
    fn what_the_kernels_log_puts_before_lines_is_taken_off() {
        for line in [
            "ok 1 a",
            "[   12.345678] ok 1 a",
            "<6>[ 1.2] ok 1 a",
            "[ 343.782774][ T1682] ok 1 a",
        ] {
            assert_eq!(without_log_prefix(line), "ok 1 a");
        }
        assert_eq!(without_log_prefix("[    0.1]     ok 1 a"), "    ok 1 a");
        for line in ["[not run] x", "[]", "[", "[1.2", "<6>"] {
            assert_eq!(without_log_prefix(line), line);
        }
    }
}
