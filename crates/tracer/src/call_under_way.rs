//! The call that a thread waits in, as /proc says it: what was called before tracing began is told by no record until it comes back.

use backsight_syscall_decode::{Abi, SyscallRecord};
use std::fs;

use crate::clock::now;

/// The call that a thread waits in, without its memory, as entered now; nothing of one that runs or was stopped.
pub(crate) fn call_under_way(tid: i32) -> Option<SyscallRecord> {
    let text = fs::read_to_string(format!("/proc/{tid}/syscall")).ok()?;
    let (abi, number, arguments) = parse_call(&text)?;
    Some(SyscallRecord::open(abi, number, arguments, now()))
}

/// Reads `230 0x0 0x0 0x7ffd 0x0 0x0 0x0 0x7ffe… 0x7f…`: a call's number and arguments, the stack and the instruction. It is
/// `running` of one that runs, and has the number -1 where a thread is in no call.
fn parse_call(text: &str) -> Option<(Abi, u64, [u64; 6])> {
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut address = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = address()?;
    }
    // Which way it called isn't said; programs of 64 bits have their stacks further up.
    let abi = match u32::try_from(address()?) {
        Ok(_) => Abi::I386,
        Err(_) => Abi::NATIVE,
    };
    Some((abi, number, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_waits_in_a_call_has_one() {
        let waits = "230 0x0 0x1 0x7ffd10 0x0 0xa 0x0 0x7ffe0123f000 0x7f0000000000\n";
        let arguments = [0, 1, 0x7ffd10, 0, 10, 0];
        assert_eq!(parse_call(waits), Some((Abi::NATIVE, 230, arguments)));
        let narrow = "3 0x0 0x1 0x7ffd10 0x0 0xa 0x0 0xffd0f000 0xf7f00000\n";
        assert_eq!(parse_call(narrow), Some((Abi::I386, 3, arguments)));
        for text in [
            "running\n",
            "-1 0x7ffe0123f000 0x7f0000000000\n",
            "",
            "0 0x1\n",
        ] {
            assert_eq!(parse_call(text), None, "{text}");
        }
    }
}
