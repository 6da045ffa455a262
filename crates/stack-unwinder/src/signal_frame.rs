//! What a signal's handler goes back to: code that asks the kernel for what the thread was in, which has no caller. What
//! that was lies on the stack, as in `rt_sigframe`, `ucontext` and `sigcontext` of the kernel's headers.

use framehop::FrameAddress;

use crate::registers::Registers;

/// Its code: the number of `rt_sigreturn` into the call's register, and the call.
#[cfg(target_arch = "x86_64")]
const CODE: &[u8] = &[0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
#[cfg(target_arch = "aarch64")]
const CODE: &[u8] = &[0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4];

/// Whether an address is that of such code: where it begins, or within it where its call has been made.
pub(crate) fn is_returned_from(
    address: FrameAddress,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> bool {
    let start = match address {
        FrameAddress::InstructionPointer(after) => after.wrapping_sub(CODE.len() as u64),
        FrameAddress::ReturnAddress(start) => start.get(),
    };
    let mut words = [0; 16];
    let (first, second) = words.split_at_mut(8);
    let Ok(word) = read(start) else {
        return false;
    };
    first.copy_from_slice(&word.to_ne_bytes());
    if CODE.len() > 8 {
        let Ok(word) = read(start.wrapping_add(CODE.len() as u64 - 8)) else {
            return false;
        };
        // The last eight bytes, of which all but the last few are those of before.
        let rest = CODE.len() - 8;
        second[..rest].copy_from_slice(&word.to_ne_bytes()[8 - rest..]);
    }
    words.starts_with(CODE)
}

/// Where a thread was when the signal came, by where its stack ends as the handler has gone back.
pub(crate) fn interrupted(
    stack: u64,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<Registers> {
    #[cfg(target_arch = "x86_64")]
    let registers = stack.wrapping_add(40);
    #[cfg(target_arch = "aarch64")]
    let registers = stack.wrapping_add(128 + 176 + 8);
    let mut register = |at: u64| read(registers.wrapping_add(8 * at)).ok();
    #[cfg(target_arch = "x86_64")]
    let place = Registers {
        frame: register(10)?,
        stack: register(15)?,
        instruction: register(16)?,
    };
    #[cfg(target_arch = "aarch64")]
    let place = Registers {
        frame: register(29)?,
        link: register(30)?,
        stack: register(31)?,
        instruction: register(32)?,
    };
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn such_code_is_known_from_its_beginning_and_from_its_end() {
        let mut memory = [0x90; 32];
        memory[8..8 + CODE.len()].copy_from_slice(CODE);
        let mut read = |address: u64| {
            let from = usize::try_from(address).map_err(drop)?;
            let word = memory.get(from..).and_then(|rest| rest.first_chunk());
            word.map(|word| u64::from_ne_bytes(*word)).ok_or(())
        };
        let at = |start| FrameAddress::from_return_address(start).unwrap();
        assert!(is_returned_from(at(8), &mut read));
        assert!(!is_returned_from(at(7), &mut read));
        assert!(!is_returned_from(at(40), &mut read));
        let end = 8 + CODE.len() as u64;
        assert!(is_returned_from(
            FrameAddress::InstructionPointer(end),
            &mut read
        ));
        assert!(!is_returned_from(
            FrameAddress::InstructionPointer(8),
            &mut read
        ));
    }
}
