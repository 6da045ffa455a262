//! What the programs capture of each call's memory, and when: a few steps a call, loaded into the kernel beside them.
//!
//! This is the engine's only knowledge of single calls. What no step covers comes with the event as far as
//! [`wants`](backsight_syscall_decode::table::wants) asks for it and the program's memory can still be read when its record arrives.
//! Refuses: calls whose numbers don't fit the kernel's table of plans.

use backsight_syscall_decode::Abi;
use backsight_syscall_decode::memory::{Limits, MOST_ELEMENTS};
use backsight_syscall_decode::table::{Answer, Kind, Length, Row, Special, Way, Width, row};

use super::records::PIECE_MOST;
use crate::options::Asked;

/// Calls that a table holds.
const ROWS: usize = 512;
const STEPS: usize = 16;
const STEP_BYTES: usize = 12;
const PLAN_BYTES: usize = 4 + STEPS * STEP_BYTES;
/// The size of what `stat` says.
const STAT: usize = if cfg!(target_arch = "x86_64") {
    144
} else {
    128
};
/// Most bytes of a path, its end included, and one for the zero that the kernel puts behind what it has cut.
const PATH: u32 = 4097;

/// As much of what a signal's handler goes back to as holds the signals that were blocked.
const FRAME: u32 = 304;

/// Most bytes of what an `ioctl` is given.
const REQUESTED: u32 = 1 << 14;

/// What is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum What {
    Text = 1,
    Bytes = 2,
    Vectors = 3,
    Message = 4,
    Texts = 5,
    Pointers = 6,
    Messages = 16,
    Filter = 17,
    Mask = 18,
    Tids = 19,
    Beneath = 20,
}

/// How many there are of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    One,
    Argument(u8),
    Result,
    /// The 32 bits behind an argument.
    Behind(u8),
    /// What the request of an `ioctl` says that it is given.
    Request,
}

/// When it is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum At {
    Entry = 1,
    Exit = 2,
    Both = 3,
    /// Also where the call failed.
    ExitAlways = 6,
    BothAlways = 7,
}

/// How much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Most {
    /// As much as is asked for of strings and buffers.
    String,
    /// As many as are asked for of an array's elements.
    Elements,
    /// So many bytes.
    Bytes(u32),
}

/// One thing to capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    what: What,
    argument: u8,
    count: Count,
    at: At,
    size: u32,
    most: Most,
}

/// What is captured of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan {
    steps: Vec<Step>,
    /// Whether that is all that is wanted, as far as it can be read.
    pub whole: bool,
    /// Whether it goes through a socket.
    speaks: bool,
    /// Whether what it is given lies where the stack ends.
    stacked: bool,
}

const fn step(what: What, argument: u8, at: At) -> Step {
    Step {
        what,
        argument,
        count: Count::One,
        at,
        size: 1,
        most: Most::String,
    }
}

/// A path, always in full.
const fn path(argument: u8) -> Step {
    Step {
        most: Most::Bytes(PATH),
        ..step(What::Text, argument, At::Entry)
    }
}

/// Any other text.
const fn text(argument: u8) -> Step {
    step(What::Text, argument, At::Entry)
}

/// A buffer whose length is the result.
const fn got(argument: u8) -> Step {
    Step {
        count: Count::Result,
        ..step(What::Bytes, argument, At::Exit)
    }
}

/// A structure.
const fn structure(argument: u8, size: u32, at: At) -> Step {
    Step {
        size,
        most: Most::Bytes(size),
        ..step(What::Bytes, argument, at)
    }
}

/// The plan of a call. What its arguments mean says what is behind them; a plan that doesn't cover them all is completed
/// where records are read.
pub(super) fn plan(abi: Abi, row: &Row) -> Plan {
    let mut plan = Plan {
        steps: Vec::new(),
        whole: true,
        speaks: row.speaks(),
        stacked: row.stacked,
    };
    for (number, kind) in row.kinds.iter().enumerate() {
        let argument = u8::try_from(number).unwrap_or(0);
        match behind(*kind, argument) {
            Behind::Nothing => {}
            Behind::Known(steps) => plan.steps.extend(steps),
            Behind::Guessed(steps) => {
                plan.steps.extend(steps);
                plan.whole = false;
            }
        }
    }
    if matches!(
        row.answer,
        Answer::Ready | Answer::Selected | Answer::Received
    ) {
        // What is left of the time is part of the result.
        for step in plan
            .steps
            .iter_mut()
            .filter(|step| step.at == At::Entry && step.size == 16)
        {
            step.at = At::Both;
        }
    }
    if plan.steps.len() > STEPS {
        plan.steps.truncate(STEPS);
        plan.whole = false;
    }
    if abi == Abi::I386 && !plan.steps.iter().all(Step::fits_both) {
        plan.steps.retain(Step::fits_both);
        plan.whole = false;
    }
    plan
}

/// What there is behind an argument.
enum Behind {
    Nothing,
    /// All of it.
    Known(Vec<Step>),
    /// As far as can be said beforehand.
    Guessed(Vec<Step>),
}

fn at(way: Way) -> At {
    match way {
        Way::In => At::Entry,
        Way::Out => At::Exit,
    }
}

fn behind(kind: Kind, argument: u8) -> Behind {
    use At::Entry;
    use Behind::{Guessed, Known, Nothing};
    match kind {
        Kind::Path(way) => Known(vec![Step {
            at: at(way),
            ..path(argument)
        }]),
        Kind::Text(way) | Kind::Name(way, _) => Known(vec![Step {
            at: at(way),
            ..text(argument)
        }]),
        Kind::Within(.., inner) => behind(*inner, argument),
        Kind::Bytes(way, length) | Kind::Value(way, length) | Kind::Binary(way, length) => {
            bytes(argument, way, length)
        }
        Kind::By(_, cases, otherwise) => {
            let kinds = cases.iter().map(|(_, kind)| *kind);
            Guessed(either(kinds.chain([*otherwise]), argument))
        }
        Kind::Per(place, _, cases) => {
            let index = usize::from(argument).wrapping_sub(place + 1);
            let kinds = cases.iter().filter_map(|(_, kinds)| kinds.get(index));
            Guessed(either(kinds.copied(), argument))
        }
        Kind::Despite(inner) => behind(*inner, argument),
        Kind::InOut(inner) => Guessed(both(argument, u32::try_from(inner.size).unwrap_or(0))),
        Kind::Exchange(before, after)
        | Kind::Answered(before, after)
        | Kind::Cleared(before, after) => {
            Guessed(both(argument, size(*before).max(size(*after)).unwrap_or(0)))
        }
        Kind::To(way, kind) => match size(*kind) {
            Some(size) if holds_filter(*kind) => Known(vec![
                structure(argument, size, at(way)),
                step(What::Filter, argument, Entry),
            ]),
            Some(size) => Known(vec![structure(argument, size, at(way))]),
            None => Guessed(Vec::new()),
        },
        Kind::Sized(way, _, _, length) => match count(length) {
            Some(count) => Known(vec![Step {
                count,
                most: Most::Bytes(4096),
                ..step(What::Bytes, argument, at(way))
            }]),
            None => Guessed(Vec::new()),
        },
        Kind::Growing(_, length) => {
            let whole = Step {
                count: Count::Argument(u8::try_from(length).unwrap_or(0).min(5)),
                most: Most::Bytes(4096),
                ..step(What::Bytes, argument, Entry)
            };
            let after = Step {
                at: At::ExitAlways,
                ..whole
            };
            Guessed(vec![whole, after])
        }
        Kind::Limited(way, _) => Guessed(vec![Step {
            at: at(way),
            ..text(argument)
        }]),
        Kind::Many(way, kind, length) => match (size(*kind), count(length)) {
            (Some(size), Some(count)) => Known(vec![Step {
                size,
                count,
                most: Most::Elements,
                ..step(What::Bytes, argument, at(way))
            }]),
            _ => Guessed(Vec::new()),
        },
        Kind::ByAbi(here, elsewhere) => behind(
            if cfg!(target_arch = "x86_64") {
                *here
            } else {
                *elsewhere
            },
            argument,
        ),
        Kind::Special(special) => special_behind(special, argument),
        _ => Nothing,
    }
}

/// Whether this says how many operations a filter has, and where they are, as the programs expect it.
fn holds_filter(kind: Kind) -> bool {
    let Kind::Structure(structure) = kind else {
        return false;
    };
    structure.fields.iter().any(|field| {
        let operations = match field.kind {
            Kind::Verbose(inner) => *inner,
            kind => kind,
        };
        field.at == 8
            && matches!(
                operations,
                Kind::Many(Way::In, _, Length::Field(0, Width::Two, 1))
            )
    })
}

/// A structure as it was and as it became.
fn both(argument: u8, size: u32) -> Vec<Step> {
    vec![
        structure(argument, size, At::Entry),
        structure(argument, size, At::Exit),
    ]
}

/// What one of several kinds needs, whichever it turns out to be: of structures the largest.
fn either(kinds: impl Iterator<Item = Kind>, argument: u8) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    for kind in kinds {
        let (Behind::Known(steps) | Behind::Guessed(steps)) = behind(kind, argument) else {
            continue;
        };
        for step in steps {
            let alike =
                |one: &&mut Step| (one.what, one.at, one.count) == (step.what, step.at, step.count);
            match all.iter_mut().find(alike) {
                Some(one) if one.size < step.size => *one = step,
                Some(one) if step.most == Most::Bytes(PATH) => *one = step,
                Some(_) => {}
                None => all.push(step),
            }
        }
    }
    all
}

fn bytes(argument: u8, way: Way, length: Length) -> Behind {
    let all = step(What::Bytes, argument, at(way));
    match (length, count(length)) {
        (_, Some(count)) => Behind::Known(vec![Step { count, ..all }]),
        (Length::Fixed(fixed), None) => Behind::Known(vec![Step {
            size: u32::try_from(fixed).unwrap_or(0),
            ..all
        }]),
        _ => Behind::Guessed(Vec::new()),
    }
}

fn count(length: Length) -> Option<Count> {
    let small = |argument: usize| u8::try_from(argument).ok().filter(|argument| *argument < 6);
    match length {
        Length::Argument(argument) | Length::UpTo(argument, _) | Length::First(argument, _) => {
            small(argument).map(Count::Argument)
        }
        Length::Result | Length::ResultWithin(_) => Some(Count::Result),
        Length::Behind(argument) => small(argument).map(Count::Behind),
        Length::Fixed(_)
        | Length::Field(..)
        | Length::Few(..)
        | Length::Capped(..)
        | Length::Positive(..)
        | Length::Whole(..)
        | Length::Most(..)
        | Length::Pairs(..)
        | Length::Without(..)
        | Length::Glyphs(..)
        | Length::At(..) => None,
    }
}

/// The bytes that something takes in memory.
fn size(kind: Kind) -> Option<u32> {
    let size = match kind {
        Kind::Signed(width)
        | Kind::Unsigned(width)
        | Kind::Hex(width)
        | Kind::Octal(width)
        | Kind::Flags(width, _)
        | Kind::One(width, _)
        | Kind::Named(width, _)
        | Kind::Known(width, _)
        | Kind::Parts(width, _)
        | Kind::Several(width, _)
        | Kind::Joined(width, _)
        | Kind::Worded(width, _)
        | Kind::OneAndFlags(width, ..) => width.bytes(),
        Kind::Structure(structure) => structure.size,
        Kind::Array(kind, number) => usize::try_from(size(*kind)?).ok()?.checked_mul(number)?,
        Kind::Characters(size) => size,
        Kind::Permissions => 2,
        Kind::Fd
        | Kind::FdOf(_)
        | Kind::FdBehind(_)
        | Kind::Process(_)
        | Kind::Id
        | Kind::Signal => 4,
        Kind::Address | Kind::Moment | Kind::Special(Special::Limit) => 8,
        Kind::Special(Special::Stat) => STAT,
        Kind::Special(Special::Statx) => 256,
        Kind::Special(Special::TimevalMoment) => 16,
        Kind::ByAbi(here, elsewhere) => {
            return size(if cfg!(target_arch = "x86_64") {
                *here
            } else {
                *elsewhere
            });
        }
        _ => return None,
    };
    u32::try_from(size)
        .ok()
        .filter(|size| usize::try_from(*size).is_ok_and(|size| size <= PIECE_MOST))
}

fn special_behind(special: Special, argument: u8) -> Behind {
    use At::{Both, BothAlways, Entry, Exit, ExitAlways};
    use Behind::{Guessed, Known, Nothing};
    let other = |argument: usize| u8::try_from(argument).unwrap_or(0).min(5);
    match special {
        Special::OpenFlags
        | Special::OpenMode(_)
        | Special::Request
        | Special::Protocol
        | Special::OptionName
        | Special::FutexOperation
        | Special::FutexValue
        | Special::NodeDevice(_)
        | Special::NewAddress
        | Special::IpcKey
        | Special::IpcMode
        | Special::MountFlags
        | Special::SyslogType
        | Special::LogLevel
        | Special::SwapFlags
        | Special::Priority
        | Special::Membarrier
        | Special::Persona => Nothing,
        Special::Spoken(way, length) => bytes(argument, way, length),
        Special::Queued(way) => Guessed(vec![structure(argument, 4096, at(way))]),
        Special::Arguments => Known(vec![step(What::Texts, argument, Entry)]),
        Special::Environment => Known(vec![step(What::Pointers, argument, Entry)]),
        Special::Signals(way) => Known(vec![structure(argument, 8, at(way))]),
        Special::SignalFrame => Known(vec![structure(argument, FRAME, Entry)]),
        Special::Action(way) => Known(vec![structure(argument, 32, at(way))]),
        Special::Watched => Known(vec![structure(
            argument,
            if cfg!(target_arch = "x86_64") { 12 } else { 16 },
            Entry,
        )]),
        Special::Entries => Known(vec![Step {
            most: Most::Bytes(32768),
            ..got(argument)
        }]),
        Special::Vectors(way, count) => {
            let count = Count::Argument(other(count));
            let vectors = Step {
                count,
                ..step(What::Vectors, argument, at(way))
            };
            // Where they are is shown of a call that failed, too.
            let places = Step {
                count,
                size: 16,
                most: Most::Elements,
                ..step(What::Bytes, argument, Entry)
            };
            Known(match way {
                Way::In => vec![vectors],
                Way::Out => vec![places, vectors],
            })
        }
        Special::Message(Way::In) => Known(vec![step(What::Message, argument, Entry)]),
        // Its lengths are shown as they were, too.
        Special::Message(Way::Out) => Known(vec![
            structure(argument, 56, Entry),
            step(What::Message, argument, Exit),
        ]),
        // Where they failed is only told of what was to be sent.
        Special::Messages(Way::In) => Guessed(vec![
            step(What::Messages, argument, Entry),
            step(What::Messages, argument, Exit),
        ]),
        Special::Messages(Way::Out) => Guessed(vec![
            step(What::Messages, argument, Entry),
            step(What::Messages, argument, Exit),
        ]),
        Special::Address(length) => Guessed(vec![Step {
            count: Count::Argument(other(length)),
            most: Most::Bytes(128),
            ..step(What::Bytes, argument, Entry)
        }]),
        Special::AddressOut(length) => Guessed(vec![Step {
            count: Count::Behind(other(length)),
            most: Most::Bytes(128),
            ..step(What::Bytes, argument, Exit)
        }]),
        Special::Random => Known(vec![got(argument)]),
        Special::ArchPrctl => Guessed(vec![structure(argument, 8, Exit)]),
        Special::CapabilityHeader => Guessed(vec![structure(argument, 8, Entry)]),
        Special::Capabilities(way) => Guessed(vec![structure(argument, 24, at(way))]),
        Special::SignalsAndSize => Guessed(vec![
            structure(argument, 16, Entry),
            step(What::Mask, argument, Entry),
        ]),
        // Where these are no addresses, nothing is there.
        Special::Requested => Guessed(vec![
            Step {
                count: Count::Request,
                most: Most::Bytes(REQUESTED),
                ..step(What::Bytes, argument, BothAlways)
            },
            step(What::Beneath, argument, BothAlways),
        ]),
        Special::Nodes(way, count) => Guessed(vec![Step {
            size: 8,
            count: Count::Argument(other(count)),
            most: Most::Elements,
            ..step(What::Bytes, argument, at(way))
        }]),
        Special::Terminal(way, settings) => {
            Guessed(vec![structure(argument, settings.bytes() as u32, at(way))])
        }
        Special::Fcntl => Guessed(vec![structure(argument, 32, Both)]),
        Special::ThreadName(way) => Guessed(vec![structure(argument, 16, at(way))]),
        Special::AddressLength | Special::OptionLength | Special::Offset => {
            Guessed(vec![structure(
                argument,
                if special == Special::Offset { 8 } else { 4 },
                Both,
            )])
        }
        Special::Descriptors => Guessed(vec![structure(argument, 128, Both)]),
        // Which of them are ready is told of all.
        Special::Polled => Guessed(vec![Step {
            size: 8,
            count: Count::Argument(1),
            most: Most::Bytes(8 * 1024),
            ..step(What::Bytes, argument, Both)
        }]),
        Special::Schedule(Way::In) => Guessed(vec![structure(argument, 56, BothAlways)]),
        Special::Schedule(Way::Out) => Guessed(vec![Step {
            count: Count::Argument(2),
            most: Most::Bytes(4096),
            ..step(What::Bytes, argument, Exit)
        }]),
        Special::Event => Guessed(vec![structure(argument, 64, Entry)]),
        Special::Status => Guessed(vec![structure(argument, 4, Exit)]),
        Special::Usage => Guessed(vec![structure(argument, 144, Exit)]),
        Special::Information(way) => Guessed(vec![structure(argument, 128, at(way))]),
        // One byte for each page, at most for so many as are shown.
        Special::Resident => Guessed(vec![structure(argument, 64, Exit)]),
        Special::Times => Guessed(vec![structure(argument, 32, Entry)]),
        Special::Remainder => Guessed(vec![structure(argument, 16, ExitAlways)]),
        Special::Clone => Guessed(vec![
            Step {
                count: Count::Argument(1),
                most: Most::Bytes(4096),
                ..step(What::Bytes, argument, Entry)
            },
            step(What::Tids, argument, Entry),
        ]),
        Special::Option(Way::In) => Guessed(vec![
            Step {
                count: Count::Argument(4),
                most: Most::Bytes(256),
                ..step(What::Bytes, argument, Entry)
            },
            step(What::Filter, argument, Entry),
        ]),
        // Of a filter the length counts operations of eight bytes.
        Special::Option(Way::Out) => Guessed(vec![Step {
            size: 8,
            count: Count::Behind(4),
            most: Most::Bytes(4096),
            ..step(What::Bytes, argument, Exit)
        }]),
        Special::Processors(Way::Out) => Guessed(vec![Step {
            most: Most::Bytes(1024),
            ..got(argument)
        }]),
        Special::Processors(Way::In) => Guessed(vec![Step {
            count: Count::Argument(1),
            most: Most::Bytes(1024),
            ..step(What::Bytes, argument, Entry)
        }]),
        Special::MountType | Special::MountData => Guessed(vec![text(argument)]),
        // A number for most of what a futex can be asked, a time for waiting: then it is readable.
        Special::FutexTimeout => Guessed(vec![structure(argument, 16, Entry)]),
        _ => Guessed(Vec::new()),
    }
}

/// Most elements of an array: where everything is shown, all of them.
pub(super) fn elements(limits: Limits) -> usize {
    match limits.verbose {
        true => MOST_ELEMENTS,
        false => limits.elements,
    }
}

/// Calls that don't come back where they succeed.
pub(super) fn ends(name: &str) -> bool {
    matches!(name, "exit" | "exit_group")
}

/// Calls that put another program where theirs was.
pub(super) fn replaces(name: &str) -> bool {
    matches!(name, "execve" | "execveat")
}

/// The plans of all calls, as the programs read them: `struct plan plans[2][512]`, a way of calling after the other.
pub(super) fn table(asked: &Asked) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 * ROWS * PLAN_BYTES);
    for abi in ABIS {
        for number in 0..ROWS as u64 {
            let row = row(abi, number);
            let name = row.map_or("", |row| row.name);
            // What never comes back is neither a failure nor a success.
            let chosen = asked.calls.has(abi, number) && (asked.statuses.is_all() || !ends(name));
            let wanted = row.zip(asked.limits);
            let mut plan = wanted.map(|(row, _)| plan(abi, row)).unwrap_or_default();
            // Where everything is shown, a program's environment is.
            if asked.limits.is_some_and(|limits| limits.verbose) {
                for step in &mut plan.steps {
                    if step.what == What::Pointers {
                        step.what = What::Texts;
                    }
                }
            }
            plan.write(name, chosen, asked.limits.unwrap_or_default(), &mut bytes);
        }
    }
    bytes
}

impl Step {
    /// Whether 32-bit programs have it laid out as 64-bit ones have.
    fn fits_both(&self) -> bool {
        match self.what {
            What::Text => true,
            What::Bytes => self.size == 1 && !matches!(self.count, Count::One),
            What::Vectors
            | What::Message
            | What::Messages
            | What::Filter
            | What::Mask
            | What::Tids
            | What::Beneath
            | What::Texts
            | What::Pointers => false,
        }
    }

    fn most(&self, limits: Limits) -> u32 {
        let most = match self.most {
            Most::Bytes(bytes) => return bytes,
            // One more, for whether it goes on is shown; and of text, one for the zero that the kernel puts behind what
            // it has cut.
            Most::String => limits
                .string
                .saturating_add(1 + usize::from(matches!(self.what, What::Text | What::Texts))),
            // One more, for whether it is there is shown.
            Most::Elements => elements(limits)
                .saturating_add(1)
                .saturating_mul(self.size as usize),
        };
        u32::try_from(most.min(PIECE_MOST)).unwrap_or(0)
    }

    fn write(&self, limits: Limits, bytes: &mut Vec<u8>) {
        let count = match self.count {
            Count::One => 0xff,
            Count::Argument(argument) => argument,
            Count::Result => 0x10,
            Count::Behind(argument) => 0x20 + argument,
            Count::Request => 0x30,
        };
        bytes.extend_from_slice(&[self.what as u8, self.argument, count, self.at as u8]);
        bytes.extend_from_slice(&self.size.to_ne_bytes());
        bytes.extend_from_slice(&self.most(limits).to_ne_bytes());
    }
}

impl Plan {
    fn write(&self, name: &str, chosen: bool, limits: Limits, bytes: &mut Vec<u8>) {
        let at = |when: At| {
            self.steps
                .iter()
                .any(|step| step.at as u8 & when as u8 != 0)
        };
        let flags = [
            (chosen, 1),
            (at(At::Entry), 2),
            (at(At::Exit), 4),
            (ends(name), 8),
            (replaces(name), 16),
            (self.speaks, 32),
            (self.stacked, 64),
        ];
        let flags: u32 = flags.iter().map(|(set, bit)| u32::from(*set) * bit).sum();
        let end = bytes.len() + PLAN_BYTES;
        bytes.extend_from_slice(&flags.to_ne_bytes());
        for step in self.steps.iter().take(STEPS) {
            step.write(limits, bytes);
        }
        bytes.resize(end, 0);
    }
}

/// The ways of calling, in the programs' order.
pub(super) const ABIS: [Abi; 2] = [Abi::NATIVE, Abi::I386];

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        string: 32,
        elements: 16,
        verbose: false,
    };

    #[test]
    fn the_table_has_the_size_that_the_programs_expect() {
        assert_eq!(table(&Asked::default()).len(), 2 * 512 * PLAN_BYTES);
    }

    fn of(name: &str) -> Plan {
        plan(
            ABIS[0],
            row(
                ABIS[0],
                backsight_syscall_decode::table::number(ABIS[0], name).unwrap(),
            )
            .unwrap(),
        )
    }

    #[test]
    fn a_path_is_captured_in_full_and_other_text_as_far_as_is_asked() {
        assert_eq!(of("openat").steps[0].most(LIMITS), PATH);
        assert_eq!(of("memfd_create").steps[0].most(LIMITS), 34);
        assert_eq!(of("write").steps[0].most(LIMITS), 33);
    }

    #[test]
    fn the_calls_that_programs_make_most_are_captured_whole() {
        for name in [
            "read",
            "write",
            "openat",
            "close",
            "fstat",
            "newfstatat",
            "mmap",
            "lseek",
            "getdents64",
            "execve",
            "writev",
        ] {
            assert!(of(name).whole, "{name}");
        }
        assert!(!of("ioctl").whole);
    }

    #[test]
    fn no_plan_has_more_steps_than_fit_or_an_argument_too_many() {
        for abi in ABIS {
            for (_, row) in backsight_syscall_decode::table::rows(abi) {
                let plan = plan(abi, row);
                assert!(plan.steps.len() <= STEPS, "{}", row.name);
                assert!(
                    plan.steps.iter().all(|step| step.argument < 6),
                    "{}",
                    row.name
                );
            }
        }
    }
}
