//! The requests of `ioctl`: by its number the names of each, and what it is given. A family of requests, those of one driver
//! or kind of file, has a file of its own with its names and structures.

mod block;
mod btrfs;
pub mod console;
mod descriptors;
pub mod device_mapper;
mod devices;
mod disk;
mod filesystem;
mod flash;
mod general;
mod gpio;
mod input;
mod keys;
mod kvm;
mod perf_event;
mod pidfd;
mod ptp;
pub mod scsi;
mod seccomp;
mod sockets;
mod storage;
mod tee;
mod userfaultfd;
mod video;

use std::collections::HashMap;
use std::sync::LazyLock;

use backsight_syscall_tables::{REQUESTS, request_names};

use super::kind::DataDirection::{self, In, Out};
use super::kind::IntegerWidth::{Eight, Four, One as Byte, Two};
use super::kind::ValueKind::{self, *};
use super::kind::{
    BitField, BitFieldStyle, CustomFormat, FieldCondition, LengthSource, Names, NetworkKind,
    PidKind, SpecialKind as S, TermiosVersion, UnnamedStyle,
};
use super::structure::{
    awaited, both, changed, field, more, more_out, more_set_out, out, renewed, set, structure,
};
use super::{flags as f, structure as s};
use crate::format;

const U8: ValueKind = Unsigned(Byte);
const U16: ValueKind = Unsigned(Two);
const INT: ValueKind = Signed(Four);
const UINT: ValueKind = Unsigned(Four);
const LONG: ValueKind = Signed(Eight);
const ULONG: ValueKind = Unsigned(Eight);
const BITS: ValueKind = Hex(Four);
const LONG_BITS: ValueKind = Hex(Eight);
const INT_IN: ValueKind = To(In, &INT);
const INT_OUT: ValueKind = To(Out, &INT);
const UINT_IN: ValueKind = To(In, &UINT);
const UINT_OUT: ValueKind = To(Out, &UINT);

/// A pointer to a value that the program passes to the kernel.
const fn pointer_in(layout: &'static ValueKind) -> ValueKind {
    To(In, layout)
}

/// A pointer to a value that the kernel writes.
const fn pointer_out(layout: &'static ValueKind) -> ValueKind {
    To(Out, layout)
}

/// A family of requests: by their names what each is given.
type Family = &'static [(&'static str, ValueKind)];

/// What stands beside the result of a request that came back.
#[derive(Debug, Clone, Copy)]
pub enum RequestResult {
    /// It is a descriptor: what that is stands behind it.
    Descriptor,
    /// The name of the result.
    Named(&'static Names),
    /// A structure that the kernel wrote where the argument points.
    Behind(&'static super::StructureLayout),
}

/// Requests by their names, and what stands beside the results.
type Results = &'static [(&'static str, RequestResult)];

static RESULT_FAMILIES: &[Results] = &[devices::RESULTS, kvm::RESULTS, video::RESULTS];

static FAMILIES: &[Family] = &[
    general::ARGUMENTS,
    block::ARGUMENTS,
    btrfs::ARGUMENTS,
    console::ARGUMENTS,
    perf_event::ARGUMENTS,
    descriptors::ARGUMENTS,
    devices::ARGUMENTS,
    disk::ARGUMENTS,
    userfaultfd::ARGUMENTS,
    filesystem::ARGUMENTS,
    flash::ARGUMENTS,
    gpio::ARGUMENTS,
    input::ARGUMENTS,
    kvm::ARGUMENTS,
    device_mapper::ARGUMENTS,
    pidfd::ARGUMENTS,
    ptp::ARGUMENTS,
    scsi::ARGUMENTS,
    seccomp::ARGUMENTS,
    sockets::ARGUMENTS,
    storage::ARGUMENTS,
    tee::ARGUMENTS,
    video::ARGUMENTS,
];

static ARGUMENTS: LazyLock<HashMap<u32, ValueKind>> =
    LazyLock::new(|| by_number(FAMILIES.iter().flat_map(|family| family.iter())));

static RESULTS: LazyLock<HashMap<u32, RequestResult>> =
    LazyLock::new(|| by_number(RESULT_FAMILIES.iter().flat_map(|family| family.iter())));

fn by_number<T: Copy + 'static>(
    rows: impl Iterator<Item = &'static (&'static str, T)>,
) -> HashMap<u32, T> {
    let by_name: HashMap<&str, T> = rows
        .flat_map(|(names, what)| names.split(' ').map(|name| (name, *what)))
        .collect();
    let known = REQUESTS.iter().filter_map(|(number, names)| {
        let what = names.split(" or ").find_map(|name| by_name.get(name))?;
        Some((*number, *what))
    });
    known.collect()
}

/// Requests of which strace shows nothing where it shows no structures.
static NO_STRUCTURES: LazyLock<HashMap<u32, ValueKind>> =
    LazyLock::new(|| by_number(video::ARGUMENTS.iter()));

/// What stands beside the result of a request.
pub fn result_kind(request: u32) -> Option<RequestResult> {
    RESULTS.get(&request).copied()
}

/// The kind of a request's argument, where structures are shown or where they aren't.
pub fn argument_kind(request: u32, opaque: bool) -> ValueKind {
    if opaque && NO_STRUCTURES.contains_key(&request) {
        return LONG_BITS;
    }
    let known = ARGUMENTS.get(&request).copied();
    known
        .or_else(|| input::argument_kind(request))
        .or_else(|| pidfd::argument_kind(request))
        .unwrap_or(Special(S::Carried))
}

/// The name that terminals have for a request that sound devices have too.
pub fn terminal_name(request: u32) -> Option<&'static str> {
    let names = request_names(request)?;
    let of_terminal = names.split(" or ").find(|name| name.starts_with("TC"))?;
    (names != of_terminal).then_some(of_terminal)
}

/// Writes the names of a request, what is unknown within them with or without a remark; whether it has any.
pub fn put_name(out: &mut Vec<u8>, request: u32, remarks: bool) -> bool {
    let sized = input::put_mixer(out, request) || input::put_name(out, request, remarks);
    let Some(names) = request_names(request) else {
        return sized;
    };
    if sized {
        out.extend_from_slice(b" or ");
    }
    out.extend_from_slice(names.as_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_of_a_family_has_a_number() {
        let all = REQUESTS.iter().flat_map(|(_, names)| names.split(" or "));
        let known: std::collections::HashSet<_> = all.collect();
        for (names, _) in FAMILIES.iter().flat_map(|family| family.iter()) {
            for name in names.split(' ') {
                assert!(known.contains(name), "{name}");
            }
        }
    }
}
