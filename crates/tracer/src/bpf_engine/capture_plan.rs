//! Capture plans: which memory the programs read of each call, and when, as a few steps a call that are loaded beside them.
//!
//! They are the engine's only knowledge of single calls. What no step reads is read when the record arrives, as far as
//! [`missing_memory`](backsight_syscall_decode::capture::missing_memory) asks for it and the program's memory is still there.

use backsight_syscall_decode::Abi;
use backsight_syscall_decode::memory::{CaptureLimits, MAX_ELEMENTS, MOST_OF_DESCRIPTOR_SET};
use backsight_syscall_decode::table::{
    DataDirection, IntegerWidth, LengthSource, ResultKind, SpecialKind, SyscallDefinition,
    ValueKind, find_syscall,
};

use super::records::PIECE_MOST;
use crate::options::TraceOptions;

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
    /// The bytes of a set of so many descriptors as the first argument says.
    Set,
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
pub(super) struct CapturePlan {
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
pub(super) fn plan(abi: Abi, row: &SyscallDefinition) -> CapturePlan {
    let mut plan = CapturePlan {
        steps: Vec::new(),
        whole: true,
        speaks: row.uses_socket_data(),
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
        row.result,
        ResultKind::Ready | ResultKind::Selected | ResultKind::Received
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

fn at(way: DataDirection) -> At {
    match way {
        DataDirection::In => At::Entry,
        DataDirection::Out => At::Exit,
    }
}

fn behind(kind: ValueKind, argument: u8) -> Behind {
    use At::Entry;
    use Behind::{Guessed, Known, Nothing};
    match kind {
        ValueKind::Path(way) => Known(vec![Step {
            at: at(way),
            ..path(argument)
        }]),
        ValueKind::Text(way) | ValueKind::Name(way, _) => Known(vec![Step {
            at: at(way),
            ..text(argument)
        }]),
        ValueKind::Within(.., inner) => behind(*inner, argument),
        ValueKind::Bytes(way, length)
        | ValueKind::Value(way, length)
        | ValueKind::Binary(way, length) => bytes(argument, way, length),
        ValueKind::By(_, cases, otherwise) | ValueKind::ByBits(_, _, cases, otherwise) => {
            let kinds = cases.iter().map(|(_, kind)| *kind);
            Guessed(either(kinds.chain([*otherwise]), argument))
        }
        ValueKind::Per(place, _, cases) => {
            let index = usize::from(argument).wrapping_sub(place + 1);
            let kinds = cases.iter().filter_map(|(_, kinds)| kinds.get(index));
            Guessed(either(kinds.copied(), argument))
        }
        ValueKind::Despite(inner) => behind(*inner, argument),
        ValueKind::InOut(inner) => Guessed(both(argument, u32::try_from(inner.size).unwrap_or(0))),
        ValueKind::Exchange(before, after)
        | ValueKind::Answered(before, after)
        | ValueKind::Cleared(before, after) => {
            Guessed(both(argument, size(*before).max(size(*after)).unwrap_or(0)))
        }
        ValueKind::To(way, kind) => match size(*kind) {
            Some(size) if holds_filter(*kind) => Known(vec![
                structure(argument, size, at(way)),
                step(What::Filter, argument, Entry),
            ]),
            Some(size) => Known(vec![structure(argument, size, at(way))]),
            None => Guessed(Vec::new()),
        },
        ValueKind::Sized(way, _, _, length) => match count(length) {
            Some(count) => Known(vec![Step {
                count,
                most: Most::Bytes(4096),
                ..step(What::Bytes, argument, at(way))
            }]),
            None => Guessed(Vec::new()),
        },
        ValueKind::Growing(_, length) => {
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
        ValueKind::Limited(way, _) => Guessed(vec![Step {
            at: at(way),
            ..text(argument)
        }]),
        ValueKind::Many(way, kind, LengthSource::Fixed(count)) => {
            let whole = size(*kind).zip(u32::try_from(count).ok());
            match whole.and_then(|(size, count)| size.checked_mul(count)) {
                Some(whole) => Known(vec![structure(argument, whole, at(way))]),
                None => Guessed(Vec::new()),
            }
        }
        ValueKind::Many(way, kind, length) => match (size(*kind), count(length)) {
            (Some(size), Some(count)) => Known(vec![Step {
                size,
                count,
                most: Most::Elements,
                ..step(What::Bytes, argument, at(way))
            }]),
            _ => Guessed(Vec::new()),
        },
        ValueKind::ByAbi(here, elsewhere) => behind(
            if cfg!(target_arch = "x86_64") {
                *here
            } else {
                *elsewhere
            },
            argument,
        ),
        ValueKind::Special(special) => special_behind(special, argument),
        _ => Nothing,
    }
}

/// Whether this says how many operations a filter has, and where they are, as the programs expect it.
fn holds_filter(kind: ValueKind) -> bool {
    let ValueKind::Structure(structure) = kind else {
        return false;
    };
    structure.fields.iter().any(|field| {
        let operations = match field.kind {
            ValueKind::Verbose(inner) => *inner,
            kind => kind,
        };
        field.at == 8
            && matches!(
                operations,
                ValueKind::Many(
                    DataDirection::In,
                    _,
                    LengthSource::Field(0, IntegerWidth::Two, 1)
                )
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
fn either(kinds: impl Iterator<Item = ValueKind>, argument: u8) -> Vec<Step> {
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

fn bytes(argument: u8, way: DataDirection, length: LengthSource) -> Behind {
    let all = step(What::Bytes, argument, at(way));
    match (length, count(length)) {
        (_, Some(count)) => Behind::Known(vec![Step { count, ..all }]),
        (LengthSource::Fixed(fixed), None) => Behind::Known(vec![Step {
            size: u32::try_from(fixed).unwrap_or(0),
            ..all
        }]),
        _ => Behind::Guessed(Vec::new()),
    }
}

fn count(length: LengthSource) -> Option<Count> {
    let small = |argument: usize| u8::try_from(argument).ok().filter(|argument| *argument < 6);
    match length {
        LengthSource::Argument(argument)
        | LengthSource::UpTo(argument, _)
        | LengthSource::First(argument, _) => small(argument).map(Count::Argument),
        LengthSource::Result | LengthSource::ResultWithin(_) => Some(Count::Result),
        LengthSource::Behind(argument) => small(argument).map(Count::Behind),
        LengthSource::Fixed(_)
        | LengthSource::Field(..)
        | LengthSource::Few(..)
        | LengthSource::Capped(..)
        | LengthSource::Positive(..)
        | LengthSource::Whole(..)
        | LengthSource::Most(..)
        | LengthSource::Pairs(..)
        | LengthSource::Both(..)
        | LengthSource::Without(..)
        | LengthSource::Glyphs(..)
        | LengthSource::At(..) => None,
    }
}

/// The bytes that something takes in memory.
fn size(kind: ValueKind) -> Option<u32> {
    let size = match kind {
        ValueKind::Signed(width)
        | ValueKind::Unsigned(width)
        | ValueKind::Hex(width)
        | ValueKind::Octal(width)
        | ValueKind::Flags(width, _)
        | ValueKind::One(width, _)
        | ValueKind::Named(width, _)
        | ValueKind::Known(width, _)
        | ValueKind::Parts(width, _)
        | ValueKind::Several(width, _)
        | ValueKind::Joined(width, _)
        | ValueKind::Worded(width, _)
        | ValueKind::OneAndFlags(width, ..) => width.bytes(),
        ValueKind::Structure(structure) => structure.size,
        ValueKind::Array(kind, number) => {
            usize::try_from(size(*kind)?).ok()?.checked_mul(number)?
        }
        ValueKind::Characters(size) => size,
        ValueKind::Permissions => 2,
        ValueKind::Fd
        | ValueKind::FdOf(_)
        | ValueKind::FdBehind(_)
        | ValueKind::Process(_)
        | ValueKind::Id
        | ValueKind::Signal => 4,
        ValueKind::Address | ValueKind::Moment | ValueKind::Special(SpecialKind::Limit) => 8,
        ValueKind::Special(SpecialKind::Stat) => STAT,
        ValueKind::Special(SpecialKind::Statx) => 256,
        ValueKind::Special(SpecialKind::TimevalMoment) => 16,
        ValueKind::ByAbi(here, elsewhere) => {
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

fn special_behind(special: SpecialKind, argument: u8) -> Behind {
    use At::{Both, BothAlways, Entry, Exit, ExitAlways};
    use Behind::{Guessed, Known, Nothing};
    let other = |argument: usize| u8::try_from(argument).unwrap_or(0).min(5);
    match special {
        SpecialKind::OpenFlags
        | SpecialKind::OpenMode(_)
        | SpecialKind::Request
        | SpecialKind::Protocol
        | SpecialKind::OptionName
        | SpecialKind::FutexOperation
        | SpecialKind::FutexValue
        | SpecialKind::NodeDevice(_)
        | SpecialKind::NewAddress
        | SpecialKind::IpcKey
        | SpecialKind::IpcMode
        | SpecialKind::StatxFlags
        | SpecialKind::MountFlags
        | SpecialKind::SyslogType
        | SpecialKind::LogLevel
        | SpecialKind::SwapFlags
        | SpecialKind::Priority
        | SpecialKind::Membarrier
        | SpecialKind::Persona => Nothing,
        SpecialKind::Spoken(way, length) => bytes(argument, way, length),
        SpecialKind::Queued(way) => Guessed(vec![structure(argument, 4096, at(way))]),
        SpecialKind::Arguments => Known(vec![step(What::Texts, argument, Entry)]),
        SpecialKind::Environment => Known(vec![step(What::Pointers, argument, Entry)]),
        SpecialKind::Signals(way) => Known(vec![structure(argument, 8, at(way))]),
        SpecialKind::SignalFrame => Known(vec![structure(argument, FRAME, Entry)]),
        SpecialKind::Action(way) => Known(vec![structure(argument, 32, at(way))]),
        SpecialKind::Watched => Known(vec![structure(
            argument,
            if cfg!(target_arch = "x86_64") { 12 } else { 16 },
            Entry,
        )]),
        SpecialKind::Entries => Known(vec![Step {
            most: Most::Bytes(32768),
            ..got(argument)
        }]),
        SpecialKind::Vectors(way, count) => {
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
                DataDirection::In => vec![vectors],
                DataDirection::Out => vec![places, vectors],
            })
        }
        SpecialKind::Message(DataDirection::In) => {
            Known(vec![step(What::Message, argument, Entry)])
        }
        // Its lengths are shown as they were, too.
        SpecialKind::Message(DataDirection::Out) => Known(vec![
            structure(argument, 56, Entry),
            step(What::Message, argument, Exit),
        ]),
        // Where they failed is only told of what was to be sent.
        SpecialKind::Messages(DataDirection::In) => Guessed(vec![
            step(What::Messages, argument, Entry),
            step(What::Messages, argument, Exit),
        ]),
        SpecialKind::Messages(DataDirection::Out) => Guessed(vec![
            step(What::Messages, argument, Entry),
            step(What::Messages, argument, Exit),
        ]),
        SpecialKind::Address(length) => Guessed(vec![Step {
            count: Count::Argument(other(length)),
            most: Most::Bytes(128),
            ..step(What::Bytes, argument, Entry)
        }]),
        SpecialKind::AddressOut(length) => Guessed(vec![Step {
            count: Count::Behind(other(length)),
            most: Most::Bytes(128),
            ..step(What::Bytes, argument, Exit)
        }]),
        SpecialKind::Random => Known(vec![got(argument)]),
        SpecialKind::ArchPrctl => Guessed(vec![structure(argument, 8, Exit)]),
        SpecialKind::CapabilityHeader => Guessed(vec![structure(argument, 8, Entry)]),
        SpecialKind::Capabilities(way) => Guessed(vec![structure(argument, 24, at(way))]),
        SpecialKind::SignalsAndSize => Guessed(vec![
            structure(argument, 16, Entry),
            step(What::Mask, argument, Entry),
        ]),
        // Where these are no addresses, nothing is there.
        SpecialKind::Requested => Guessed(vec![
            Step {
                count: Count::Request,
                most: Most::Bytes(REQUESTED),
                ..step(What::Bytes, argument, BothAlways)
            },
            step(What::Beneath, argument, BothAlways),
        ]),
        SpecialKind::Nodes(way, count) => Guessed(vec![Step {
            size: 8,
            count: Count::Argument(other(count)),
            most: Most::Elements,
            ..step(What::Bytes, argument, at(way))
        }]),
        SpecialKind::Terminal(way, settings) => {
            Guessed(vec![structure(argument, settings.bytes() as u32, at(way))])
        }
        SpecialKind::Fcntl => Guessed(vec![structure(argument, 32, Both)]),
        SpecialKind::ThreadName(way) => Guessed(vec![structure(argument, 16, at(way))]),
        // How long an option is, is said also where there was no place for it.
        SpecialKind::OptionLength => Guessed(vec![structure(argument, 4, BothAlways)]),
        SpecialKind::AddressLength | SpecialKind::Offset => Guessed(vec![structure(
            argument,
            if special == SpecialKind::Offset { 8 } else { 4 },
            Both,
        )]),
        SpecialKind::Descriptors => Guessed(vec![Step {
            count: Count::Set,
            most: Most::Bytes(MOST_OF_DESCRIPTOR_SET as u32),
            ..step(What::Bytes, argument, Both)
        }]),
        // Which of them are ready is told of all.
        SpecialKind::Polled => Guessed(vec![Step {
            size: 8,
            count: Count::Argument(1),
            most: Most::Bytes(8 * 1024),
            ..step(What::Bytes, argument, Both)
        }]),
        SpecialKind::Schedule(DataDirection::In) => {
            Guessed(vec![structure(argument, 56, BothAlways)])
        }
        SpecialKind::Schedule(DataDirection::Out) => Guessed(vec![Step {
            count: Count::Argument(2),
            most: Most::Bytes(4096),
            ..step(What::Bytes, argument, Exit)
        }]),
        // Of the size that the newest kernels know; too large a one is answered with that.
        SpecialKind::Counter => Guessed(vec![structure(argument, 144, BothAlways)]),
        SpecialKind::Event => Guessed(vec![structure(argument, 32, Entry)]),
        SpecialKind::Status => Guessed(vec![structure(argument, 4, Exit)]),
        SpecialKind::Usage => Guessed(vec![structure(argument, 144, Exit)]),
        SpecialKind::Information(way) => Guessed(vec![structure(argument, 128, at(way))]),
        // One byte for each page, at most for so many as are shown.
        SpecialKind::Resident => Guessed(vec![structure(argument, 64, Exit)]),
        SpecialKind::Times => Guessed(vec![structure(argument, 32, Entry)]),
        SpecialKind::Remainder => Guessed(vec![structure(argument, 16, ExitAlways)]),
        SpecialKind::Clone => Guessed(vec![
            Step {
                count: Count::Argument(1),
                most: Most::Bytes(4096),
                ..step(What::Bytes, argument, Entry)
            },
            step(What::Tids, argument, Entry),
        ]),
        SpecialKind::Option(DataDirection::In) => Guessed(vec![
            Step {
                count: Count::Argument(4),
                most: Most::Bytes(256),
                ..step(What::Bytes, argument, Entry)
            },
            step(What::Filter, argument, Entry),
        ]),
        // Of a filter the length counts operations of eight bytes.
        SpecialKind::Option(DataDirection::Out) => Guessed(vec![Step {
            size: 8,
            count: Count::Behind(4),
            most: Most::Bytes(4096),
            ..step(What::Bytes, argument, Exit)
        }]),
        SpecialKind::Processors(DataDirection::Out) => Guessed(vec![Step {
            most: Most::Bytes(1024),
            ..got(argument)
        }]),
        SpecialKind::Processors(DataDirection::In) => Guessed(vec![Step {
            count: Count::Argument(1),
            most: Most::Bytes(1024),
            ..step(What::Bytes, argument, Entry)
        }]),
        SpecialKind::MountType | SpecialKind::MountData => Guessed(vec![text(argument)]),
        // How long it is, it says itself: as much as is looked at.
        SpecialKind::Measured(..) => Guessed(vec![structure(argument, 4096, Entry)]),
        SpecialKind::MountStatus => Guessed(vec![Step {
            count: Count::Argument(2),
            most: Most::Bytes(512 + 4096),
            ..step(What::Bytes, argument, Exit)
        }]),
        SpecialKind::Listed => Guessed(vec![Step {
            size: 8,
            most: Most::Elements,
            ..got(argument)
        }]),
        SpecialKind::RestartableSequences => Guessed(vec![structure(argument, 33, Entry)]),
        // Its head and the longest handle that the kernel takes.
        SpecialKind::FileHandle(DataDirection::In) => {
            Guessed(vec![structure(argument, 136, Entry)])
        }
        SpecialKind::FileHandle(DataDirection::Out) => Guessed(vec![
            structure(argument, 8, Entry),
            structure(argument, 136, ExitAlways),
        ]),
        // Those of floating numbers are the longest.
        SpecialKind::Registers(way, _) => Guessed(vec![structure(argument, 512, at(way))]),
        SpecialKind::StopInformation(way) => Guessed(vec![structure(argument, 88, at(way))]),
        SpecialKind::SecurityContexts => Guessed(vec![
            structure(argument, 32, Entry),
            structure(argument, 512, Exit),
        ]),
        SpecialKind::SecurityContext => Guessed(vec![Step {
            count: Count::Argument(2),
            most: Most::Bytes(4096),
            ..step(What::Bytes, argument, Entry)
        }]),
        SpecialKind::IpcCommand(_) => Nothing,
        // A number for most of what a futex can be asked, a time for waiting: then it is readable.
        SpecialKind::FutexTimeout => Guessed(vec![structure(argument, 16, Entry)]),
        _ => Guessed(Vec::new()),
    }
}

/// Most elements of an array: where everything is shown, all of them.
pub(super) fn elements(limits: CaptureLimits) -> usize {
    match limits.verbose {
        true => MAX_ELEMENTS,
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

/// Calls that make a thread or a process, which comes back from them with 0.
fn forks(name: &str) -> bool {
    matches!(name, "fork" | "vfork" | "clone" | "clone3")
}

/// Which of a call's arguments, and whether its result, are descriptors of which it is said what they are.
fn described(row: &SyscallDefinition) -> u32 {
    const RESULT: u32 = 1 << 14;
    let arguments = row
        .kinds
        .iter()
        .enumerate()
        .map(|(argument, kind)| match kind {
            ValueKind::Fd | ValueKind::DirFd => 1 << (8 + argument),
            _ => 0,
        });
    let result = match row.result {
        ResultKind::Fd => RESULT,
        _ => 0,
    };
    arguments.fold(result, |all, one| all | one)
}

/// The plans of all calls, as the programs read them: `struct plan plans[2][512]`, a way of calling after the other.
pub(super) fn table(options: &TraceOptions) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 * ROWS * PLAN_BYTES);
    for abi in ABIS {
        for number in 0..ROWS as u64 {
            let row = find_syscall(abi, number);
            let name = row.map_or("", |row| row.name);
            // What never comes back is neither a failure nor a success.
            let chosen =
                options.calls.contains(abi, number) && (options.statuses.is_all() || !ends(name));
            let wanted = row.zip(options.limits);
            let mut plan = wanted.map(|(row, _)| plan(abi, row)).unwrap_or_default();
            // Where everything is shown, a program's environment is.
            if options.limits.is_some_and(|limits| limits.verbose) {
                for step in &mut plan.steps {
                    if step.what == What::Pointers {
                        step.what = What::Texts;
                    }
                }
            }
            let described = match row.filter(|_| options.descriptors && options.limits.is_some()) {
                Some(row) => described(row),
                None => 0,
            };
            let limits = options.limits.unwrap_or_default();
            plan.write(name, chosen, described, limits, &mut bytes);
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

    fn most(&self, limits: CaptureLimits) -> u32 {
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

    fn write(&self, limits: CaptureLimits, bytes: &mut Vec<u8>) {
        let count = match self.count {
            Count::One => 0xff,
            Count::Argument(argument) => argument,
            Count::Result => 0x10,
            Count::Behind(argument) => 0x20 + argument,
            Count::Request => 0x30,
            Count::Set => 0x31,
        };
        bytes.extend_from_slice(&[self.what as u8, self.argument, count, self.at as u8]);
        bytes.extend_from_slice(&self.size.to_ne_bytes());
        bytes.extend_from_slice(&self.most(limits).to_ne_bytes());
    }
}

impl CapturePlan {
    fn write(
        &self,
        name: &str,
        chosen: bool,
        described: u32,
        limits: CaptureLimits,
        bytes: &mut Vec<u8>,
    ) {
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
            (forks(name), 128),
        ];
        let flags: u32 = flags.iter().map(|(set, bit)| u32::from(*set) * bit).sum();
        let end = bytes.len() + PLAN_BYTES;
        bytes.extend_from_slice(&(flags | described).to_ne_bytes());
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

    const LIMITS: CaptureLimits = CaptureLimits {
        string: 32,
        elements: 16,
        verbose: false,
    };

    #[test]
    fn the_table_has_the_size_that_the_programs_expect() {
        assert_eq!(table(&TraceOptions::default()).len(), 2 * 512 * PLAN_BYTES);
    }

    fn plan_of(name: &str) -> CapturePlan {
        plan(
            ABIS[0],
            find_syscall(
                ABIS[0],
                backsight_syscall_decode::table::syscall_number(ABIS[0], name).unwrap(),
            )
            .unwrap(),
        )
    }

    #[test]
    fn a_path_is_captured_in_full_and_other_text_as_far_as_is_asked() {
        assert_eq!(plan_of("openat").steps[0].most(LIMITS), PATH);
        assert_eq!(plan_of("memfd_create").steps[0].most(LIMITS), 34);
        assert_eq!(plan_of("write").steps[0].most(LIMITS), 33);
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
            assert!(plan_of(name).whole, "{name}");
        }
        assert!(!plan_of("ioctl").whole);
    }

    #[test]
    fn no_plan_has_more_steps_than_fit_or_an_argument_too_many() {
        for abi in ABIS {
            for (_, row) in backsight_syscall_decode::table::syscalls(abi) {
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
