//! Definitions of calls: by ABI and number the name, the arguments with their types and meanings, and the result.
//!
//! Names, numbers and types of arguments come from `backsight-syscall-tables`; meanings are written by hand beside them, as data. An
//! argument without a meaning is shown by its type.

pub(crate) mod address;
mod classes;
pub(crate) mod ioctl;
pub(crate) mod kind;
mod meaning;
pub(crate) mod netlink;
pub(crate) mod option;
pub(crate) mod structure;

use std::sync::OnceLock;

pub use backsight_syscall_tables::Argument;
pub(crate) use backsight_syscall_tables::sets as flags;
use backsight_syscall_tables::syscalls as numbered;

use crate::Abi;
pub use classes::{SyscallClass, SyscallClasses};
pub use kind::{
    BitField, BitFieldStyle, CustomFormat, DataDirection, ExtensibleStructure, FieldCondition,
    FieldSource, FieldVisibility, IntegerWidth, LengthSource, Names, NetworkKind, PidKind,
    SpecialKind, StructureField, StructureLayout, TeeSessionLayout, UnnamedStyle, ValueKind,
};
pub use meaning::ResultKind;
pub(crate) use meaning::{
    ERROR_OR_NUMBER, bpf, counters, filter, prctl_answer, rings, security, tracing,
};

/// A call of the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyscallDefinition {
    /// Its name, as the kernel has it: `openat`.
    pub name: &'static str,
    /// Its arguments, in order.
    pub arguments: &'static [Argument],
    /// What the arguments mean, in the same order; those beyond the last mean nothing.
    pub kinds: [ValueKind; 6],
    /// What its result means.
    pub result: ResultKind,
    /// Whether what it is given lies where the program's stack ends, whose address stands for its first argument.
    pub stacked: bool,
    /// The classes that it belongs to.
    pub classes: SyscallClasses,
}

impl SyscallDefinition {
    /// Whether what is shown of it lies behind pointers that themselves lie in memory, more of them than are captured as
    /// it is made: where everything is shown, all that there are.
    pub fn reaches_far(&self, everything: bool) -> bool {
        let lists = |kind: &ValueKind| {
            matches!(
                kind,
                ValueKind::Special(
                    SpecialKind::Arguments
                        | SpecialKind::Environment
                        | SpecialKind::Vectors(..)
                        | SpecialKind::Message(_)
                        | SpecialKind::Messages(_)
                )
            )
        };
        let mut kinds = self.kinds.iter();
        kinds.any(|kind| is_far(*kind, false) || everything && lists(kind))
    }

    /// Whether something goes through the socket that is its first argument.
    pub fn uses_socket_data(&self) -> bool {
        self.kinds.iter().any(|kind| {
            matches!(
                kind,
                ValueKind::Special(
                    SpecialKind::Spoken(..) | SpecialKind::Message(_) | SpecialKind::Messages(_)
                )
            )
        })
    }
}

/// Whether something lies behind a pointer that itself lies in memory: what a thing means, and whether that is in memory.
fn is_far(kind: ValueKind, inside: bool) -> bool {
    let any = |structure: &StructureLayout, inside| {
        let mut fields = structure.fields.iter();
        fields.any(|field| is_far(field.kind, inside))
    };
    match kind {
        ValueKind::Path(_)
        | ValueKind::Text(_)
        | ValueKind::Name(..)
        | ValueKind::Limited(..)
        | ValueKind::Bytes(..)
        | ValueKind::Binary(..)
        | ValueKind::Value(..) => inside,
        ValueKind::To(_, behind) | ValueKind::Many(_, behind, _) => inside || is_far(*behind, true),
        ValueKind::Exchange(one, other)
        | ValueKind::Answered(one, other)
        | ValueKind::Cleared(one, other) => inside || is_far(*one, true) || is_far(*other, true),
        ValueKind::Sized(_, structure, ..) | ValueKind::InOut(structure) => {
            inside || any(structure, true)
        }
        ValueKind::Growing(growing, _) => {
            let others = growing.instead.map_or(&[][..], |instead| instead.cases);
            let mut others = others.iter();
            any(growing.structure, true) || others.any(|(_, other)| any(other.structure, true))
        }
        ValueKind::Structure(structure) => any(structure, inside),
        ValueKind::Array(inner, _)
        | ValueKind::Counted(inner, ..)
        | ValueKind::Verbose(inner)
        | ValueKind::Within(.., inner)
        | ValueKind::Only(_, inner)
        | ValueKind::Tail(inner) => is_far(*inner, inside),
        ValueKind::ByAbi(one, other) => is_far(*one, inside) || is_far(*other, inside),
        ValueKind::By(_, cases, otherwise)
        | ValueKind::ByBits(.., cases, otherwise)
        | ValueKind::ByField(.., cases, otherwise) => {
            let mut cases = cases.iter();
            cases.any(|(_, kind)| is_far(*kind, inside)) || is_far(*otherwise, inside)
        }
        ValueKind::Per(.., cases) => {
            let mut kinds = cases.iter().flat_map(|(_, kinds)| kinds.iter());
            kinds.any(|kind| is_far(*kind, inside))
        }
        ValueKind::Special(
            SpecialKind::RegisterSet(_) | SpecialKind::Counter | SpecialKind::RingQueries,
        ) => true,
        _ => false,
    }
}

const ROWS: usize = numbered::SYSCALLS.len();

/// The rows, and the same for 32-bit programs, whose structures lie otherwise in memory. Each is made when it is first asked for: a
/// short program makes few different calls, and all of them take longer to make than it runs.
static ROWS_MADE: [[OnceLock<Box<SyscallDefinition>>; ROWS]; 2] =
    [const { [const { OnceLock::new() }; ROWS] }; 2];

/// The row of a call; nothing if the kernel has none with this number, as far as we know.
pub fn find_syscall(abi: Abi, number: u64) -> Option<&'static SyscallDefinition> {
    let index = index_of(abi, number)?;
    let narrow = abi == Abi::I386;
    let call = numbered::SYSCALLS.get(index)?;
    let row = ROWS_MADE.get(usize::from(narrow))?.get(index)?;
    Some(row.get_or_init(|| Box::new(meaning::row(call.name, call.arguments, narrow))))
}

fn index_of(abi: Abi, number: u64) -> Option<usize> {
    let index = numbers(abi).get(usize::try_from(number).ok()?)?;
    Some(usize::from(*index))
}

/// A call that can be named.
#[derive(Debug, Clone)]
pub struct NamedSyscall<'a> {
    /// How it is made.
    pub abi: Abi,
    /// Its number there.
    pub number: u64,
    /// Its name.
    pub name: &'a str,
    /// The classes that it is of.
    pub classes: SyscallClasses,
}

/// The names of the calls of a way of calling, with their numbers and classes, in the order of the numbers.
pub fn named_syscalls(abi: Abi) -> impl Iterator<Item = NamedSyscall<'static>> {
    (0..numbers(abi).len() as u64).filter_map(move |number| {
        let name = numbered::SYSCALLS.get(index_of(abi, number)?)?.name;
        Some(NamedSyscall {
            abi,
            number,
            name,
            classes: classes::classes_of_call(name),
        })
    })
}

/// Every call of a way of calling, with its number, in the order of the numbers.
pub fn syscalls(abi: Abi) -> impl Iterator<Item = (u64, &'static SyscallDefinition)> {
    (0..numbers(abi).len() as u64)
        .filter_map(move |number| Some((number, find_syscall(abi, number)?)))
}

/// Whether the kernel has no error for a call.
pub(crate) fn never_fails(abi: Abi, number: u64) -> bool {
    const NEVER: [&str; 18] = [
        "getegid",
        "getegid32",
        "geteuid",
        "geteuid32",
        "getgid",
        "getgid32",
        "getpgrp",
        "getpid",
        "getppid",
        "gettid",
        "getuid",
        "getuid32",
        "personality",
        "setfsgid",
        "setfsgid32",
        "setfsuid",
        "setfsuid32",
        "umask",
    ];
    find_syscall(abi, number).is_some_and(|row| NEVER.contains(&row.name))
}

/// Why a virtual processor came back, by the number that it left.
pub fn processor_exit(reason: u64) -> String {
    let names = &flags::IOCTL_KVM_EXIT;
    match names.name(reason) {
        Some(name) => name.to_owned(),
        None => format!("{reason:#x} /* {} */", names.unknown),
    }
}

/// The number of a call by its name.
pub fn syscall_number(abi: Abi, name: &str) -> Option<u64> {
    named_syscalls(abi)
        .find(|call| call.name == name)
        .map(|call| call.number)
}

fn numbers(abi: Abi) -> &'static [u16] {
    match abi {
        Abi::X86_64 => numbered::X86_64,
        Abi::I386 => numbered::I386,
        Abi::Aarch64 => numbered::AARCH64,
    }
}
