//! Where a thread stands.

use framehop::UnwindRegsNative;

/// Registers that it takes to find the functions that a thread is in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Registers {
    /// The next instruction.
    pub instruction: u64,
    /// Where its stack ends.
    pub stack: u64,
    /// Where the innermost function's part of it begins, if the function keeps to that.
    pub frame: u64,
    /// Where that function goes back to, while it says so.
    #[cfg(target_arch = "aarch64")]
    pub link: u64,
}

impl Registers {
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn for_unwinding(self) -> UnwindRegsNative {
        UnwindRegsNative::new(self.instruction, self.stack, self.frame)
    }

    #[cfg(target_arch = "aarch64")]
    pub(crate) fn for_unwinding(self) -> UnwindRegsNative {
        UnwindRegsNative::new(self.link, self.stack, self.frame)
    }
}
