//! Requests for the memory that a call is shown with. The walk that shows a call makes them, so that what is captured and what is
//! shown can't differ.

use crate::SyscallRecord;
use crate::decode::{DecodeStyle, NullSink, Walk};
use crate::memory::{CaptureLimits, CapturePoint, MemoryRequest};
use crate::table::{SpecialKind, ValueKind, find_syscall};

/// The descriptors that a call waits for: in what it polls, and in its sets.
pub fn polled_descriptors(call: &SyscallRecord) -> Vec<i32> {
    const MOST: usize = 1024;
    let mut found = Vec::new();
    let Some(row) = find_syscall(call.abi, call.number) else {
        return found;
    };
    for (kind, address) in row.kinds.iter().zip(call.arguments) {
        let said = |length| call.memory.at(address, length, CapturePoint::Entered);
        match kind {
            ValueKind::Special(SpecialKind::Polled) => {
                let polled = said(8 * MOST).unwrap_or_default();
                let numbers = polled.chunks_exact(8).map(|one| &one[..4]);
                found.extend(
                    numbers.filter_map(|one| Some(i32::from_ne_bytes(one.try_into().ok()?))),
                );
            }
            ValueKind::Special(SpecialKind::Descriptors) => {
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
pub fn missing_memory(
    call: &SyscallRecord,
    when: CapturePoint,
    limits: CaptureLimits,
) -> Vec<MemoryRequest> {
    let mut missing = Vec::new();
    if let Some(row) = find_syscall(call.abi, call.number) {
        let style = DecodeStyle {
            string: limits.string,
            elements: limits.elements,
            verbose: limits.verbose,
            opaque: false,
            partial: false,
        };
        Walk::capturing(call, row, &mut NullSink, style, when, &mut missing).everything();
    }
    missing
}
