//! subunit, version 2 (binary) and version 1 (text).
//!
//! Format: <https://github.com/testing-cabal/subunit#the-protocol>. Which version it is is found out byte by byte, as the protocol has it: a packet of version 2
//! begins with 0xB3 at the start, after a packet or after a newline. All else is text, and read as version 1.

use crate::{
    lines::{LineDecoder, Lines},
    open::{Held, OpenTests},
    result::{
        Log, Outcome, ProblemKind, TestResult, first_line, floor_char_boundary, path, seconds,
    },
    sink::{Decoder, Sink},
};

const SIGNATURE: u8 = 0xb3;
/// Longest packet, by the protocol.
const MAX_PACKET: usize = (4 << 20) - 1;
/// The attached file that says why a test was skipped.
const REASON: &str = "reason";

pub(crate) struct Subunit {
    text: Lines<SubunitText>,
    buffer: Vec<u8>,
    /// A packet may begin here.
    synchronized: bool,
    /// What comes up to the next newline is of a packet that can't be read.
    damaged: bool,
    /// Packets and lines that were read.
    place: u64,
    /// Tests that were listed or began, and have no result.
    open: OpenTests<OpenTest>,
    any_result: bool,
}

#[derive(Default)]
struct OpenTest {
    /// In seconds since 1970.
    begun: Option<f64>,
    reason: String,
    /// It began or wrote something.
    running: bool,
}

impl Held for OpenTest {
    fn bytes(&self) -> usize {
        self.reason.len()
    }
}

impl Subunit {
    pub(crate) fn new() -> Subunit {
        Subunit {
            text: Lines::new(SubunitText::default()),
            buffer: Vec::new(),
            synchronized: true,
            damaged: false,
            place: 0,
            open: OpenTests::default(),
            any_result: false,
        }
    }

    /// Reads as much as can be read; how much that was.
    fn steps(&mut self, bytes: &[u8], end: bool, to: &mut Sink<'_>) -> usize {
        let mut read = 0;
        while let Some(length) = self.step(&bytes[read..], end, to) {
            read += length;
        }
        read
    }

    /// Reads a packet or a piece of text at the start; how long it was, or nothing if more is needed.
    fn step(&mut self, bytes: &[u8], end: bool, to: &mut Sink<'_>) -> Option<usize> {
        if bytes.is_empty() {
            return None;
        }
        if self.synchronized && bytes[0] == SIGNATURE {
            match packet_length(bytes) {
                Length::Missing if !end => return None,
                Length::Known(length) if length > bytes.len() && !end => return None,
                Length::Known(length) if length <= bytes.len() => {
                    self.place += 1;
                    to.at_line(self.place);
                    let (packet, sum) = bytes[..length].split_at(length - 4);
                    if crc32fast::hash(packet).to_be_bytes() == *sum {
                        if self.packet(packet, to).is_none() {
                            to.problem(ProblemKind::Invalid(
                                "a packet that contradicts itself".to_owned(),
                            ));
                        }
                        return Some(length);
                    }
                    to.problem(ProblemKind::Invalid(
                        "a packet with a wrong checksum".to_owned(),
                    ));
                }
                _ => {
                    to.at_line(self.place + 1);
                    let what = if end {
                        "a packet without its end"
                    } else {
                        "a packet that none can read"
                    };
                    to.problem(ProblemKind::Invalid(what.to_owned()));
                }
            }
            // The protocol's way out: the next packet begins after a newline.
            self.damaged = true;
        }
        let newline = bytes.iter().position(|byte| *byte == b'\n');
        let length = newline.map_or(bytes.len(), |at| at + 1);
        if !self.damaged {
            self.text.feed(&bytes[..length], to);
        }
        self.synchronized = newline.is_some();
        self.damaged &= newline.is_none();
        Some(length)
    }

    /// A packet without its checksum. Nothing if its lengths go beyond it.
    fn packet(&mut self, packet: &[u8], to: &mut Sink<'_>) -> Option<()> {
        let flags = u16::from_be_bytes([packet[1], packet[2]]);
        let mut rest = Fields(&packet[3..]);
        let _length = rest.number()?;
        let mut time = None;
        if flags & 0x0200 != 0 {
            let whole = u32::from_be_bytes(rest.take(4)?.try_into().ok()?);
            time = Some(f64::from(whole) + f64::from(rest.number()?) / 1e9);
        }
        let mut test = String::new();
        if flags & 0x0800 != 0 {
            test = rest.text()?;
        }
        if flags & 0x0080 != 0 {
            for _ in 0..rest.number()? {
                rest.text()?;
            }
        }
        if flags & 0x0020 != 0 {
            rest.text()?;
        }
        let mut file = None;
        if flags & 0x0040 != 0 {
            let name = rest.text()?;
            let length = rest.number()? as usize;
            file = Some((name, rest.take(length)?));
        }
        if flags & 0x0400 != 0 {
            rest.text()?;
        }
        let name = path([test.as_str()]);
        if name.is_empty() {
            return Some(());
        }
        if let Some((file, bytes)) = file {
            let text = String::from_utf8_lossy(bytes);
            if file == REASON {
                let reason = first_line(&text).unwrap_or_default();
                self.open.change(&name, to, |test| test.reason = reason);
            } else {
                self.start(&name, None, to);
                to.log(&name, &text);
            }
        }
        let outcome = match flags & 7 {
            1 => {
                self.open.change(&name, to, |_listed| {});
                return Some(());
            }
            2 => {
                self.start(&name, time, to);
                return Some(());
            }
            3 => Outcome::Pass,
            4 => Outcome::UnexpectedPass,
            5 => Outcome::Skip,
            6 => Outcome::Fail,
            7 => Outcome::ExpectedFail,
            _ => return Some(()),
        };
        self.any_result = true;
        let test = self.open.remove(&name).unwrap_or_default();
        let took = test.begun.zip(time).map(|(begun, ended)| ended - begun);
        let reason = Some(test.reason).filter(|reason| !reason.is_empty());
        let result = TestResult::new(name, outcome).with_seconds(took.filter(|took| *took >= 0.0));
        to.result_with(result, |result, log| {
            let failed = matches!(result.outcome, Outcome::Fail | Outcome::ExpectedFail);
            let last = log.lines().rev().find(|line| !line.trim().is_empty());
            result.message = reason.or(last.filter(|_| failed).map(str::to_owned));
        });
        Some(())
    }

    /// A test is under way, since this time if it is known.
    fn start(&mut self, name: &str, time: Option<f64>, to: &mut Sink<'_>) {
        let running = self.open.change(name, to, |test| {
            test.begun = test.begun.or(time);
            std::mem::replace(&mut test.running, true)
        });
        if !running {
            to.started(name.to_owned());
        }
    }
}

impl Decoder for Subunit {
    fn feed(&mut self, bytes: &[u8], to: &mut Sink<'_>) {
        // Only a packet's beginning is kept: where none is, pieces are read where they are.
        let mut kept = std::mem::take(&mut self.buffer);
        if kept.is_empty() {
            let read = self.steps(bytes, false, to);
            kept.extend_from_slice(&bytes[read..]);
        } else {
            kept.extend_from_slice(bytes);
            let read = self.steps(&kept, false, to);
            kept.drain(..read);
        }
        self.buffer = kept;
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        let buffer = std::mem::take(&mut self.buffer);
        self.steps(&buffer, true, to);
        self.text.finish(to);
        // Where all is text, its lines are counted there.
        if self.place > 0 {
            to.at_line(self.place);
        }
        // A list of tests alone (`--list`) says nothing of their results.
        if self.any_result {
            for (name, test) in self.open.drain() {
                if !test.running {
                    to.result(TestResult::new(name, Outcome::NotRun).with_message(&test.reason));
                }
            }
        }
    }
}

enum Length {
    /// More bytes are needed to know it.
    Missing,
    /// This is no packet that can be read.
    Wrong,
    Known(usize),
}

fn packet_length(bytes: &[u8]) -> Length {
    let Some(version) = bytes.get(1) else {
        return Length::Missing;
    };
    if version >> 4 != 2 || bytes.get(2).is_some_and(|low| low & 8 != 0) {
        return Length::Wrong;
    }
    let mut fields = Fields(bytes.get(3..).unwrap_or_default());
    match fields.number() {
        None => Length::Missing,
        // Signature, flags, length, checksum.
        Some(length) if (8..=MAX_PACKET as u32).contains(&length) => Length::Known(length as usize),
        Some(_) => Length::Wrong,
    }
}

/// A packet's fields from here.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of one to four bytes, whose first two bits say how many.
    fn number(&mut self) -> Option<u32> {
        let more = usize::from(self.0.first()? >> 6);
        let bytes = self.take(more + 1)?;
        let first = u32::from(bytes[0] & 0x3f);
        Some(
            bytes[1..]
                .iter()
                .fold(first, |number, byte| number << 8 | u32::from(*byte)),
        )
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number()? as usize;
        self.take(length)
            .map(|text| String::from_utf8_lossy(text).into_owned())
    }
}

/// Version 1.
#[derive(Default)]
struct SubunitText {
    /// A result whose details are being read.
    open: Option<(TestResult, Log)>,
    /// Details are of several parts: of each the type, the name, and pieces with their lengths.
    parts: bool,
    /// Bytes of the piece that are still to come.
    piece: usize,
    /// A part's name comes next.
    part_name: bool,
    clock: Option<f64>,
    begun: OpenTests<Begun>,
}

/// When a test began, on the document's clock.
#[derive(Default)]
struct Begun(Option<f64>);

impl Held for Begun {
    fn bytes(&self) -> usize {
        0
    }
}

impl LineDecoder for SubunitText {
    fn line(&mut self, line: &str, to: &mut Sink<'_>) {
        if self.open.is_some() {
            return self.details(line, to);
        }
        let Some((word, rest)) = line.split_once(' ') else {
            return;
        };
        let word = word.strip_suffix(':').unwrap_or(word);
        // Samba's: a suite begins and ends as a test does.
        let suite = match word {
            "skip-testsuite" => Some("skip"),
            _ => word.strip_prefix("testsuite-"),
        };
        let outcome = match suite.unwrap_or(word) {
            "test" | "testing" | "testsuite" => {
                let name = path([rest]);
                self.begun.change(&name, to, |begun| begun.0 = self.clock);
                return to.started(name);
            }
            "time" => {
                self.clock = clock(rest);
                return;
            }
            "success" | "successful" => Outcome::Pass,
            "failure" => Outcome::Fail,
            "error" => Outcome::Error,
            "skip" => Outcome::Skip,
            "xfail" => Outcome::ExpectedFail,
            "uxsuccess" => Outcome::UnexpectedPass,
            _ => return,
        };
        let parts = rest.strip_suffix(" [ multipart");
        let details = parts.or(rest.strip_suffix(" ["));
        let mut result = TestResult::new(path([details.unwrap_or(rest)]), outcome);
        result.line = to.line();
        // What isn't under way may be a line of a program that only looks like a result.
        let begun = match self.begun.remove(&result.name) {
            Some(Begun(begun)) => begun,
            // Samba's words for suites look like nothing else, and a suite that is skipped never begins.
            None if suite.is_some() => None,
            None => return,
        };
        let took = begun.zip(self.clock).map(|(begun, ended)| ended - begun);
        result.seconds = took.filter(|took| *took >= 0.0);
        self.parts = parts.is_some();
        self.piece = 0;
        self.part_name = false;
        self.open = Some((result, Log::default()));
        if details.is_none() {
            self.close(to);
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        if self.open.is_some() {
            to.problem(ProblemKind::Invalid("details without their end".to_owned()));
            self.close(to);
        }
    }
}

impl SubunitText {
    fn details(&mut self, line: &str, to: &mut Sink<'_>) {
        let Some((_, log)) = &mut self.open else {
            return;
        };
        let mut line = line;
        if self.piece > 0 {
            if line.len() < self.piece {
                log.push_line(line);
                self.piece -= line.len() + 1;
                return;
            }
            // The next length follows a piece at once.
            let (end, rest) = line.split_at(floor_char_boundary(line, self.piece));
            log.push_line(end);
            self.piece = 0;
            line = rest;
        }
        if line == "]" {
            self.close(to);
        } else if !self.parts {
            // A line that begins with `]` has a blank before it.
            log.push_line(
                line.strip_prefix(' ')
                    .filter(|rest| rest.starts_with(']'))
                    .unwrap_or(line),
            );
        } else if line.starts_with("Content-Type: ") {
            self.part_name = true;
        } else if !std::mem::take(&mut self.part_name) {
            self.piece = usize::from_str_radix(line.trim_end(), 16).unwrap_or(0);
        }
    }

    fn close(&mut self, to: &mut Sink<'_>) {
        let Some((result, log)) = self.open.take() else {
            return;
        };
        let log = log.into_string();
        let line = match result.outcome {
            Outcome::Skip => log.lines().next(),
            Outcome::Pass | Outcome::UnexpectedPass => None,
            _ => log.lines().rev().find(|line| !line.trim().is_empty()),
        };
        let line = line.unwrap_or_default().to_owned();
        to.result(result.with_message(&line).with_log(log));
    }
}

/// `2026-11-26 11:49:56.432470Z` in seconds, of the month: only differences matter, and tests are shorter.
fn clock(text: &str) -> Option<f64> {
    let (day, time) = text.trim().trim_end_matches('Z').split_once(' ')?;
    let day = seconds(day.rsplit('-').next()?)?;
    let mut parts = time.split(':').map(seconds);
    let (hours, minutes) = (parts.next()??, parts.next()??);
    Some(((day * 24.0 + hours) * 60.0 + minutes) * 60.0 + parts.next()??)
}
