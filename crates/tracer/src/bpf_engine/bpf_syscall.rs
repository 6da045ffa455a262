//! Requests to bpf(2), each once, without decisions. The kernel's `include/uapi/linux/bpf.h` (`union bpf_attr`) says what a
//! request takes; the kernel fills up a shorter one with zeroes.

#![allow(unsafe_code, reason = "bpf(2) has no safe wrapper")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use aya_obj::generated::bpf_insn;
use aya_obj::{Function, Map};

const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP: libc::c_long = 1;
const MAP_UPDATE: libc::c_long = 2;
const MAP_DELETE: libc::c_long = 3;
const PROGRAM_LOAD: libc::c_long = 5;
const TRACEPOINT_OPEN: libc::c_long = 17;
const TYPES_LOAD: libc::c_long = 18;
const MAP_FREEZE: libc::c_long = 22;
const LINK_CREATE: libc::c_long = 28;
const ITERATOR_CREATE: libc::c_long = 33;

const KIND_OF_PROGRAM_RAW_TRACEPOINT: u32 = 17;
const KIND_OF_PROGRAM_TRACING: u32 = 26;
const ATTACHED_TO_TRACEPOINT: u32 = 23;
const ATTACHED_TO_ITERATOR: u32 = 28;
const KIND_OF_MAP_CGROUPS: u32 = 8;
const KIND_OF_MAP_RING: u32 = 27;

/// Bytes of what the kernel says of a program that it refuses.
const LOG: usize = 1 << 20;

/// Asks. Every field that is an address must be that of memory which lives through the call and is as long as the request
/// says.
unsafe fn ask<T>(what: libc::c_long, request: &T) -> io::Result<i32> {
    // SAFETY: the request is read only, as far as its size; what it points to is the caller's promise.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            what,
            std::ptr::from_ref(request),
            size_of::<T>(),
        )
    };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(answer).map_err(io::Error::other)
}

/// Asks for something that is answered with a descriptor; as [`ask`].
unsafe fn open<T>(what: libc::c_long, request: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise.
    let fd = unsafe { ask(what, request) }?;
    // SAFETY: the kernel just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn number(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

/// A name as the kernel takes it: cut, and ended with zero.
fn name(name: &str) -> [u8; 16] {
    let mut all = [0; 16];
    for (to, from) in all.iter_mut().take(15).zip(name.bytes()) {
        *to = from;
    }
    all
}

/// Gives the kernel the types of programs and maps.
pub fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    // Without bytes behind the last field: Linux before 6.4 refuses what it doesn't know there, unless it is zero.
    #[repr(C, packed(4))]
    struct Request {
        types: u64,
        log: u64,
        size: u32,
        log_size: u32,
        log_level: u32,
    }
    let request = Request {
        types: types.as_ptr() as u64,
        log: 0,
        size: u32::try_from(types.len()).map_err(io::Error::other)?,
        log_size: 0,
        log_level: 0,
    };
    // SAFETY: the types live through the call.
    unsafe { open(TYPES_LOAD, &request) }
}

/// Makes a map.
pub fn create_map(called: &str, map: &Map, types: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Request {
        kind: u32,
        key_size: u32,
        value_size: u32,
        most: u32,
        flags: u32,
        inner: u32,
        node: u32,
        name: [u8; 16],
        device: u32,
        types: u32,
        key: u32,
        value: u32,
        filler: u32,
        extra: u64,
    }
    // What is in a ring has no type, nor has a cgroup.
    let untyped = [KIND_OF_MAP_CGROUPS, KIND_OF_MAP_RING];
    let (types, key, value) = match map {
        Map::Btf(map_of) if !untyped.contains(&map.map_type()) => (
            number(types),
            map_of.def.btf_key_type_id,
            map_of.def.btf_value_type_id,
        ),
        _ => (0, 0, 0),
    };
    let request = Request {
        kind: map.map_type(),
        key_size: map.key_size(),
        value_size: map.value_size(),
        most: map.max_entries(),
        flags: map.map_flags(),
        inner: 0,
        node: 0,
        name: name(called),
        device: 0,
        types,
        key,
        value,
        filler: 0,
        extra: map.map_extra(),
    };
    // SAFETY: it holds no address.
    unsafe { open(MAP_CREATE, &request) }
}

/// Of an element of a map.
#[repr(C)]
struct Element {
    map: u32,
    filler: u32,
    key: u64,
    value: u64,
    flags: u64,
}

fn element(map: BorrowedFd<'_>, key: &i32, value: u64) -> Element {
    Element {
        map: number(map),
        filler: 0,
        key: std::ptr::from_ref(key) as u64,
        value,
        flags: 0,
    }
}

/// Sets an element of a map whose keys are numbers; the value must have the size that the map was made with.
pub fn update(map: BorrowedFd<'_>, key: i32, value: &[u8]) -> io::Result<()> {
    // SAFETY: key and value live through the call, and the value is as long as said.
    unsafe { ask(MAP_UPDATE, &element(map, &key, value.as_ptr() as u64)) }.map(drop)
}

/// Reads an element into a value of the size that the map was made with.
pub fn look_up(map: BorrowedFd<'_>, key: i32, value: &mut [u8]) -> io::Result<()> {
    // SAFETY: key and value live through the call, and the value is as long as said.
    unsafe { ask(MAP_LOOKUP, &element(map, &key, value.as_mut_ptr() as u64)) }.map(drop)
}

/// Removes an element.
pub fn delete(map: BorrowedFd<'_>, key: i32) -> io::Result<()> {
    // SAFETY: the key lives through the call.
    unsafe { ask(MAP_DELETE, &element(map, &key, 0)) }.map(drop)
}

/// Lets nobody change a map from here on: what is in it is known to the verifier.
pub fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: it holds no address.
    unsafe { ask(MAP_FREEZE, &number(map)) }.map(drop)
}

/// What a program is for. Typed ones are told what they get by a type of the kernel's, which has this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    /// For a tracepoint.
    Raw,
    /// For the tracepoint that has this type.
    Typed(u32),
    /// To be run over what this iterator goes through.
    Iterator(u32),
}

/// Has the kernel check a program. An error ends with the last that the kernel says of it.
pub fn load_program(
    called: &str,
    licence: &CStr,
    code: &Function,
    types: BorrowedFd<'_>,
    kind: ProgramKind,
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Request {
        kind: u32,
        instructions_count: u32,
        instructions: u64,
        licence: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        version: u32,
        flags: u32,
        name: [u8; 16],
        device: u32,
        attached: u32,
        types: u32,
        function_size: u32,
        functions: u64,
        functions_count: u32,
        line_size: u32,
        lines: u64,
        lines_count: u32,
        attached_to: u32,
    }
    let length = |length: usize| u32::try_from(length).map_err(io::Error::other);
    let instructions: &[bpf_insn] = &code.instructions;
    let functions = code.func_info.func_info_bytes();
    let (kind, attached, attached_to) = match kind {
        ProgramKind::Raw => (KIND_OF_PROGRAM_RAW_TRACEPOINT, 0, 0),
        ProgramKind::Typed(point) => (KIND_OF_PROGRAM_TRACING, ATTACHED_TO_TRACEPOINT, point),
        ProgramKind::Iterator(point) => (KIND_OF_PROGRAM_TRACING, ATTACHED_TO_ITERATOR, point),
    };
    let mut request = Request {
        kind,
        instructions_count: length(instructions.len())?,
        instructions: instructions.as_ptr() as u64,
        licence: licence.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        version: 0,
        flags: 0,
        name: name(called),
        device: 0,
        attached,
        types: number(types),
        function_size: length(code.func_info_rec_size)?,
        functions: functions.as_ptr() as u64,
        functions_count: length(code.func_info.len())?,
        line_size: 0,
        lines: 0,
        lines_count: 0,
        attached_to,
    };
    // SAFETY: everything that is pointed to lives through the call, and is as long as said.
    let refused = match unsafe { open(PROGRAM_LOAD, &request) } {
        Ok(program) => return Ok(program),
        Err(refused) => refused,
    };
    let mut log = vec![0_u8; LOG];
    request.log_level = 1;
    request.log_size = length(log.len())?;
    request.log = log.as_mut_ptr() as u64;
    // SAFETY: as above; the log is written to as far as said.
    let _refused_again = unsafe { open(PROGRAM_LOAD, &request) };
    let text = CStr::from_bytes_until_nul(&log).unwrap_or_default();
    let text = text.to_string_lossy();
    let last: Vec<&str> = text.lines().rev().take(8).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(io::Error::new(
        refused.kind(),
        format!("{refused}\n{}", last.join("\n")),
    ))
}

/// Attaches a program to its tracepoint, as long as the result lives. A typed one knows it, the others are told its name.
pub fn attach(tracepoint: Option<&str>, program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Request {
        name: u64,
        program: u32,
        filler: u32,
    }
    let name = tracepoint.map(CString::new).transpose()?;
    let request = Request {
        name: name.as_ref().map_or(0, |name| name.as_ptr() as u64),
        program: number(program),
        filler: 0,
    };
    // SAFETY: the name ends with zero and lives through the call.
    unsafe { open(TRACEPOINT_OPEN, &request) }
}

/// Runs an iterator's program over the threads of a process.
pub fn visit_threads(program: BorrowedFd<'_>, process: i32) -> io::Result<()> {
    #[repr(C)]
    struct Iterated {
        thread: u32,
        process: u32,
        process_fd: u32,
        filler: u32,
    }
    #[repr(C)]
    struct Link {
        program: u32,
        target: u32,
        attached: u32,
        flags: u32,
        iterated: u64,
        iterated_size: u32,
        filler: u32,
    }
    #[repr(C)]
    struct Opened {
        link: u32,
        flags: u32,
    }
    let iterated = Iterated {
        thread: 0,
        process: process.cast_unsigned(),
        process_fd: 0,
        filler: 0,
    };
    let link = Link {
        program: number(program),
        target: 0,
        attached: ATTACHED_TO_ITERATOR,
        flags: 0,
        iterated: std::ptr::from_ref(&iterated) as u64,
        iterated_size: size_of::<Iterated>() as u32,
        filler: 0,
    };
    // SAFETY: what says what is iterated over lives through the call, and is as long as said.
    let link = unsafe { open(LINK_CREATE, &link) }?;
    let opened = Opened {
        link: number(link.as_fd()),
        flags: 0,
    };
    // SAFETY: it holds no address.
    let iterator = unsafe { open(ITERATOR_CREATE, &opened) }?;
    // The program runs as this is read, and writes nothing.
    let mut nothing = [0; 64];
    while rustix::io::read(&iterator, &mut nothing)? > 0 {}
    Ok(())
}
