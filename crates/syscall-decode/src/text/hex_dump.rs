//! Dumps of what a call read or wrote (`-e read=`, `-e write=`), below its line. Bytes that couldn't be read are reported as
//! missing.

use crate::descriptor_set::DescriptorSet;
use crate::{CapturePoint, SyscallOutcome, SyscallRecord, format};

/// Most bytes that are shown or missing together.
const TOGETHER: usize = 1 << 16;
/// Bytes of a line.
const LINE: usize = 16;

/// What is dumped of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Buffers {
    /// So many bytes at the second argument.
    One(u64),
    /// The vectors at the second argument, as many as the third says.
    Vectors,
    /// The message at the second argument.
    Message,
    /// So many messages at the second argument.
    Messages(u64),
}

/// Appends what a call has read or written, if its descriptor is one of these.
pub(super) fn dump(
    (call, tid): (&SyscallRecord, i32),
    name: &str,
    reads: &DescriptorSet,
    writes: &DescriptorSet,
    out: &mut Vec<u8>,
) {
    let SyscallOutcome::Returned { value, .. } = call.outcome else {
        return;
    };
    // What was to be written is shown also where that failed.
    let value = u64::try_from(value).unwrap_or(0);
    let fd = call.arguments[0];
    let (when, most, buffers) = match name {
        "read" | "pread64" | "recvfrom" | "recv" | "mq_timedreceive" if reads.contains(fd) => {
            (CapturePoint::Left, value, Buffers::One(value))
        }
        "readv" | "preadv" | "preadv2" if reads.contains(fd) => {
            (CapturePoint::Left, value, Buffers::Vectors)
        }
        "recvmsg" if reads.contains(fd) => (CapturePoint::Left, value, Buffers::Message),
        "write" | "pwrite64" | "sendto" | "send" | "mq_timedsend" if writes.contains(fd) => (
            CapturePoint::Entered,
            u64::MAX,
            Buffers::One(call.arguments[2]),
        ),
        "writev" | "pwritev" | "pwritev2" | "vmsplice" if writes.contains(fd) => {
            (CapturePoint::Entered, u64::MAX, Buffers::Vectors)
        }
        "recvmmsg" if reads.contains(fd) => (CapturePoint::Left, value, Buffers::Messages(value)),
        "sendmmsg" if writes.contains(fd) => {
            (CapturePoint::Entered, value, Buffers::Messages(value))
        }
        "sendmsg" if writes.contains(fd) => (CapturePoint::Entered, u64::MAX, Buffers::Message),
        _ => return,
    };
    match buffers {
        Buffers::One(length) => lines((call, tid), call.arguments[1], length, when, out),
        Buffers::Vectors => {
            let (array, count) = (call.arguments[1], call.arguments[2]);
            vectors((call, tid), array, count, most, when, out)
        }
        Buffers::Messages(count) => messages((call, tid), count, when, out),
        Buffers::Message => {
            let word = |at| word(call, call.arguments[1].wrapping_add(at), when);
            if let (Some(array), Some(count)) = (word(16), word(24)) {
                vectors((call, tid), array, count, most, when, out);
            }
        }
    }
}

/// As much of a stretch of memory as any one piece has.
fn held(call: &SyscallRecord, address: u64, most: usize, when: CapturePoint) -> &[u8] {
    let longest = call.memory.longest(address, when).unwrap_or_default();
    &longest[..longest.len().min(most)]
}

fn word(call: &SyscallRecord, address: u64, when: CapturePoint) -> Option<u64> {
    let both = [when, CapturePoint::Entered, CapturePoint::Left];
    let mut found = both.into_iter().map(|when| held(call, address, 8, when));
    let bytes = found.find(|bytes| bytes.len() == 8)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// The buffers of messages, each as far as it was filled or sent.
fn messages((call, tid): (&SyscallRecord, i32), count: u64, when: CapturePoint, out: &mut Vec<u8>) {
    const SIZE: u64 = 64;
    const LENGTH: u64 = 56;
    for number in 0..count.min(1024) {
        let message = call.arguments[1].wrapping_add(number * SIZE);
        let word = |at| word(call, message.wrapping_add(at), when);
        let (Some(array), Some(vectors_in_it)) = (word(16), word(24)) else {
            return;
        };
        let came = held(call, message.wrapping_add(LENGTH), 4, CapturePoint::Left);
        let Ok(came) = <[u8; 4]>::try_from(came) else {
            return;
        };
        out.extend_from_slice(b" = ");
        format::unsigned(out, vectors_in_it);
        out.extend_from_slice(b" buffers in vector ");
        format::unsigned(out, number);
        out.push(b'\n');
        let came = u64::from(u32::from_ne_bytes(came));
        vectors((call, tid), array, vectors_in_it, came, when, out);
    }
}

/// Buffers by vectors, of which `most` bytes in all are meant.
fn vectors(
    (call, tid): (&SyscallRecord, i32),
    array: u64,
    count: u64,
    most: u64,
    when: CapturePoint,
    out: &mut Vec<u8>,
) {
    let mut left = most;
    let count = count.min(1024);
    let place_of = |number: u64| array.wrapping_add(number * 16);
    // Of vectors that aren't all there nothing is shown.
    if count > 0 && word(call, place_of(count - 1), when).is_none() {
        return;
    }
    for number in 0..count {
        let place = place_of(number);
        let (Some(address), Some(length)) = (
            word(call, place, when),
            word(call, place.wrapping_add(8), when),
        ) else {
            return;
        };
        let length = length.min(left);
        left -= length;
        if length == 0 {
            break;
        }
        out.extend_from_slice(b" * ");
        format::unsigned(out, length);
        out.extend_from_slice(b" bytes in buffer ");
        format::unsigned(out, number);
        out.push(b'\n');
        lines((call, tid), address, length, when, out);
    }
}

fn lines(
    (call, tid): (&SyscallRecord, i32),
    address: u64,
    length: u64,
    when: CapturePoint,
    out: &mut Vec<u8>,
) {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut bytes = held(call, address, length, when);
    if bytes.len() < length {
        bytes = &bytes[..bytes.len() / TOGETHER * TOGETHER];
        if bytes.is_empty() {
            return;
        }
    }
    let digits = format!("{:x}", length.saturating_sub(1)).len().max(5);
    for (number, line) in bytes.chunks(LINE).enumerate() {
        let mut text = format!(" | {:0digits$x} ", number * LINE);
        for place in 0..LINE {
            if place % 8 == 0 {
                text.push(' ');
            }
            match line.get(place) {
                Some(byte) => text.push_str(&format!("{byte:02x} ")),
                None => text.push_str("   "),
            }
        }
        text.push(' ');
        for place in 0..LINE {
            text.push(match line.get(place) {
                Some(byte) if (b' '..=b'~').contains(byte) => char::from(*byte),
                Some(_) => '.',
                None => ' ',
            });
        }
        text.push_str(" |\n");
        out.extend_from_slice(text.as_bytes());
    }
    let missing = (length - bytes.len()).min(TOGETHER);
    if missing > 0 {
        let unit = if missing == 1 { "byte" } else { "bytes" };
        let from = address.wrapping_add(bytes.len() as u64);
        let text = format!(" | <Cannot fetch {missing} {unit} from pid {tid} @{from:#x}>\n");
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_descriptors_is_read_as_strace_reads_it() {
        let has = |text: &str, number| DescriptorSet::parse(text).unwrap().contains(number);
        assert!(has("3,5", 5) && !has("3,5", 4));
        assert!(has("all", 7) && !has("none", 7));
        assert!(has("!0,1", 2) && !has("!0,1", 1));
        assert!(!has("!all", 3) && has("!!3", 3) && !has("!!!3", 3));
        assert!(DescriptorSet::parse("x").is_err());
    }
}
