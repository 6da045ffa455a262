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

use std::sync::LazyLock;

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

struct Table {
    rows: Vec<SyscallDefinition>,
    /// The same for 32-bit programs, whose structures lie otherwise in memory.
    narrow: Vec<SyscallDefinition>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let made = |narrow| {
        let calls = numbered::SYSCALLS.iter();
        calls
            .map(|call| meaning::row(call.name, call.arguments, narrow))
            .collect()
    };
    Table {
        rows: made(false),
        narrow: made(true),
    }
});

/// The row of a call; nothing if the kernel has none with this number, as far as we know.
pub fn find_syscall(abi: Abi, number: u64) -> Option<&'static SyscallDefinition> {
    let index = *numbers(abi).get(usize::try_from(number).ok()?)?;
    let rows = if abi == Abi::I386 {
        &TABLE.narrow
    } else {
        &TABLE.rows
    };
    rows.get(usize::from(index))
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
    syscalls(abi)
        .find(|(_, row)| row.name == name)
        .map(|(number, _)| number)
}

fn numbers(abi: Abi) -> &'static [u16] {
    match abi {
        Abi::X86_64 => numbered::X86_64,
        Abi::I386 => numbered::I386,
        Abi::Aarch64 => numbered::AARCH64,
    }
}
