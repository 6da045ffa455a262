//! Entry points of fuzz targets to parsers that are private otherwise.

use crate::{kernel_symbols, perf_map::PerfMap, record, sched_switch::SchedSwitch};

/// Reads bytes as the map of functions that a program wrote, and looks up some addresses in it.
pub fn perf_map(bytes: &[u8]) {
    let map = PerfMap::parse(bytes);
    for address in [0, 0x1000, 0x101f, u64::MAX] {
        let _name = map.function(address);
    }
}

/// Reads bytes as records of a ring, each as its length in two bytes (little-endian) and itself, with and without what a tracepoint
/// says.
pub fn perf_records(bytes: &[u8]) {
    let mut rest = bytes;
    while let [low, high, after @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(after.len());
        let (one, after) = after.split_at(length);
        let _time = record::time(one);
        for with_raw in [false, true] {
            if let Some(record::Record::Sampled(sampled)) = record::parse(one, with_raw)
                && let Some(user) = sampled.user
            {
                let stack = user.registers.stack;
                for address in [
                    stack,
                    stack.wrapping_sub(1),
                    stack.saturating_add(user.copy.len() as u64),
                ] {
                    let _word = user.read(address);
                }
            }
        }
        rest = after;
    }
}

/// Reads bytes as the kernel's description of the tracepoint of switches and, after a NUL, what it says of one.
pub fn sched_switch(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let format = String::from_utf8_lossy(parts.next().unwrap_or_default());
    if let Some(described) = SchedSwitch::parse(1, &format) {
        let _ended = described.thread_ended(parts.next().unwrap_or_default());
    }
}

/// Reads bytes as the kernel's list of its functions.
pub fn kernel_symbols(bytes: &[u8]) {
    let _found =
        kernel_symbols::find_in(&String::from_utf8_lossy(bytes), vec![0, 0x1000, u64::MAX]);
}
