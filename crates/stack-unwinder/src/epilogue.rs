//! Ends of functions that were compiled while their program ran, and have no unwind tables: what follows a call may be all that there is
//! left to do, giving back a stretch of the stack and returning. CPython's trampolines for perf (`-X perf`) are such.

use framehop::UnwindRegsNative;

/// `add $N, %rsp` with one byte of N, and `ret`.
#[cfg(target_arch = "x86_64")]
const GIVE_BACK: [u8; 3] = [0x48, 0x83, 0xc4];
#[cfg(target_arch = "x86_64")]
const RETURN: u8 = 0xc3;

/// The address that the code at an address returns to, with the registers as they are then; none for other code.
#[cfg(target_arch = "x86_64")]
pub(crate) fn return_from(
    address: u64,
    registers: &mut UnwindRegsNative,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<u64> {
    let code = read(address).ok()?.to_le_bytes();
    if !code.starts_with(&GIVE_BACK) || code[4] != RETURN || code[3] > i8::MAX as u8 {
        return None;
    }
    let kept = registers.sp().checked_add(code[3].into())?;
    let caller = read(kept).ok()?;
    *registers = UnwindRegsNative::new(caller, kept.checked_add(8)?, registers.bp());
    Some(caller)
}

/// Code of this machine keeps to frame pointers.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn return_from(
    _address: u64,
    _registers: &mut UnwindRegsNative,
    _read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<u64> {
    None
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_trampoline_returns_behind_what_it_gives_back() {
        let mut read = |address| match address {
            0x1000 => Ok(u64::from_le_bytes([0x48, 0x83, 0xc4, 8, 0xc3, 0, 0, 0])),
            0x2000 => Ok(u64::from_le_bytes([0x5d, 0xc3, 0, 0, 0, 0, 0, 0])),
            0x7008 => Ok(0x3000),
            _ => Err(()),
        };
        let mut registers = UnwindRegsNative::new(0x1000, 0x7000, 5);
        assert_eq!(return_from(0x2000, &mut registers, &mut read), None);
        let caller = return_from(0x1000, &mut registers, &mut read);
        assert_eq!(
            (caller, registers.sp(), registers.bp()),
            (Some(0x3000), 0x7010, 5)
        );
    }
}
