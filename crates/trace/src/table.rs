//! What the calls are: by way of calling and number the name, the arguments with their types, and what lies behind them.
//!
//! Names, numbers, and the arguments' names and types are generated from the kernel's own metadata (`examples/table.rs`);
//! what they mean is written by hand beside it, as data. What is neither is guessed from the type.
//!
//! Refuses: to say what a call does.

pub(crate) mod address;
mod classes;
mod generated;
pub(crate) mod ioctl;
pub(crate) mod kind;
mod meaning;
pub(crate) mod netlink;
pub(crate) mod option;
pub(crate) mod structure;

use std::sync::LazyLock;

pub(crate) use backsight_syscall_tables::sets as flags;
pub use classes::{Class, Classes};
pub use kind::{
    Bare, Field, Growing, Kind, Length, Names, Part, PartShown, Said, Shown, Special, Structure,
    Test, Way, Whose, Width, Wire, Wording,
};
pub use meaning::Answer;
pub(crate) use meaning::{ERROR_OR_NUMBER, counters, filter, prctl_answer, rings, tracing};

use crate::decode::{Nothing, Style, Walk};
use crate::{Abi, Call, When};

/// A call of the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Its name, as the kernel has it: `openat`.
    pub name: &'static str,
    /// Its arguments, in order.
    pub arguments: &'static [Argument],
    /// What the arguments mean, in the same order; those beyond the last mean nothing.
    pub kinds: [Kind; 6],
    /// What its result means.
    pub answer: Answer,
    /// Whether what it is given lies where the program's stack ends, whose address stands for its first argument.
    pub stacked: bool,
    /// Whether every number that it comes back with is a result, and none an error.
    pub succeeds: bool,
    /// The classes that it belongs to.
    pub classes: Classes,
}

impl Row {
    /// Whether what is shown of it lies behind pointers that themselves lie in memory, more of them than are captured as
    /// it is made: where everything is shown, all that there are.
    pub fn reaches_far(&self, everything: bool) -> bool {
        let lists = |kind: &Kind| {
            matches!(
                kind,
                Kind::Special(
                    Special::Arguments
                        | Special::Environment
                        | Special::Vectors(..)
                        | Special::Message(_)
                        | Special::Messages(_)
                )
            )
        };
        let mut kinds = self.kinds.iter();
        kinds.any(|kind| is_far(*kind, false) || everything && lists(kind))
    }

    /// Whether something goes through the socket that is its first argument.
    pub fn speaks(&self) -> bool {
        self.kinds.iter().any(|kind| {
            matches!(
                kind,
                Kind::Special(Special::Spoken(..) | Special::Message(_) | Special::Messages(_))
            )
        })
    }
}

/// Whether something lies behind a pointer that itself lies in memory: what a thing means, and whether that is in memory.
fn is_far(kind: Kind, inside: bool) -> bool {
    let any = |structure: &Structure, inside| {
        let mut fields = structure.fields.iter();
        fields.any(|field| is_far(field.kind, inside))
    };
    match kind {
        Kind::Path(_)
        | Kind::Text(_)
        | Kind::Name(..)
        | Kind::Limited(..)
        | Kind::Bytes(..)
        | Kind::Binary(..)
        | Kind::Value(..) => inside,
        Kind::To(_, behind) | Kind::Many(_, behind, _) => inside || is_far(*behind, true),
        Kind::Exchange(one, other) | Kind::Answered(one, other) | Kind::Cleared(one, other) => {
            inside || is_far(*one, true) || is_far(*other, true)
        }
        Kind::Sized(_, structure, ..) | Kind::InOut(structure) => inside || any(structure, true),
        Kind::Growing(growing, _) => {
            let others = growing.instead.map_or(&[][..], |(_, others)| others);
            let mut others = others.iter();
            any(growing.structure, true) || others.any(|(_, other)| any(other.structure, true))
        }
        Kind::Structure(structure) => any(structure, inside),
        Kind::Array(inner, _)
        | Kind::Counted(inner, ..)
        | Kind::Verbose(inner)
        | Kind::Within(.., inner)
        | Kind::Only(_, inner)
        | Kind::Tail(inner) => is_far(*inner, inside),
        Kind::ByAbi(one, other) => is_far(*one, inside) || is_far(*other, inside),
        Kind::By(_, cases, otherwise) | Kind::ByField(.., cases, otherwise) => {
            let mut cases = cases.iter();
            cases.any(|(_, kind)| is_far(*kind, inside)) || is_far(*otherwise, inside)
        }
        Kind::Per(.., cases) => {
            let mut kinds = cases.iter().flat_map(|(_, kinds)| kinds.iter());
            kinds.any(|kind| is_far(*kind, inside))
        }
        Kind::Special(Special::RegisterSet(_) | Special::Counter) => true,
        _ => false,
    }
}

/// An argument of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Argument {
    /// Its name, as the kernel has it: `filename`.
    pub name: &'static str,
    /// Its type in C: `const char *`.
    pub c_type: &'static str,
}

/// A stretch of memory that a call is to be shown with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// Where it begins.
    pub address: u64,
    /// How much of it.
    pub extent: Extent,
}

/// How much is read from an address on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many bytes.
    Bytes(usize),
    /// Up to the first zero byte, that included, but no more than so many bytes.
    Text(usize),
}

/// How much of what lies behind pointers is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a string or a buffer.
    pub string: usize,
    /// Most elements of an array.
    pub elements: usize,
    /// Also what only `-v` shows: the environment of a program.
    pub verbose: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            string: 32,
            elements: 32,
            verbose: false,
        }
    }
}

struct Table {
    rows: Vec<Row>,
    /// The same for 32-bit programs, whose structures lie otherwise in memory.
    narrow: Vec<Row>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let made = |narrow| {
        let calls = generated::CALLS.iter();
        calls
            .map(|(name, arguments)| meaning::row(name, arguments, narrow))
            .collect()
    };
    Table {
        rows: made(false),
        narrow: made(true),
    }
});

/// The row of a call; nothing if the kernel has none with this number, as far as we know.
pub fn row(abi: Abi, number: u64) -> Option<&'static Row> {
    let index = *numbers(abi).get(usize::try_from(number).ok()?)?;
    let rows = if abi == Abi::I386 {
        &TABLE.narrow
    } else {
        &TABLE.rows
    };
    rows.get(usize::from(index))
}

/// Every call of a way of calling, with its number, in the order of the numbers.
pub fn rows(abi: Abi) -> impl Iterator<Item = (u64, &'static Row)> {
    (0..numbers(abi).len() as u64).filter_map(move |number| Some((number, row(abi, number)?)))
}

/// The number of a call by its name.
pub fn number(abi: Abi, name: &str) -> Option<u64> {
    rows(abi)
        .find(|(_, row)| row.name == name)
        .map(|(number, _)| number)
}

fn numbers(abi: Abi) -> &'static [u16] {
    match abi {
        Abi::X86_64 => generated::X86_64,
        Abi::I386 => generated::I386,
        Abi::Aarch64 => generated::AARCH64,
    }
}

/// The descriptors that a call waits for: in what it polls, and in its sets.
pub fn waited_for(call: &Call) -> Vec<i32> {
    const MOST: usize = 1024;
    let mut found = Vec::new();
    let Some(row) = row(call.abi, call.number) else {
        return found;
    };
    for (kind, address) in row.kinds.iter().zip(call.arguments) {
        let said = |length| call.memory.at(address, length, When::Entered);
        match kind {
            Kind::Special(Special::Polled) => {
                let polled = said(8 * MOST).unwrap_or_default();
                let numbers = polled.chunks_exact(8).map(|one| &one[..4]);
                found.extend(
                    numbers.filter_map(|one| Some(i32::from_ne_bytes(one.try_into().ok()?))),
                );
            }
            Kind::Special(Special::Descriptors) => {
                let most = (call.arguments[0] as i32).max(0) as usize;
                let whole = most.min(MOST).div_ceil(64) * 8;
                // A set of which a part can't be read is none.
                let set = said(whole).unwrap_or_default();
                let set = if set.len() < whole { &[] } else { set };
                let is_set = |fd: &usize| set[fd / 8] & (1 << (fd % 8)) != 0;
                let all = (0..(8 * set.len()).min(most)).filter(is_set);
                found.extend(all.filter_map(|fd| i32::try_from(fd).ok()));
            }
            _ => {}
        }
    }
    found
}

/// What is still to be read for a call, given what was read of it before: pieces may hold pointers to others. An engine
/// asks and reads until nothing is wanted, once when the call is entered and once when it came back.
pub fn wants(call: &Call, when: When, limits: Limits) -> Vec<Want> {
    let mut missing = Vec::new();
    if let Some(row) = row(call.abi, call.number) {
        let style = Style {
            string: limits.string,
            elements: limits.elements,
            verbose: limits.verbose,
            opaque: false,
            partial: false,
        };
        Walk::asking(call, row, &mut Nothing, style, when, &mut missing).everything();
    }
    missing
}
