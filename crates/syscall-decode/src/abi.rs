//! Ways of calling the kernel.

use serde::{Deserialize, Serialize};

/// How a program calls the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Abi {
    /// 64-bit calls on x86.
    X86_64,
    /// 32-bit calls on x86, of 32-bit programs and of `int $0x80` in 64-bit ones.
    I386,
    /// 64-bit calls on ARM.
    Aarch64,
}

impl Abi {
    /// The way of this machine's own programs.
    pub const NATIVE: Self = if cfg!(target_arch = "aarch64") {
        Self::Aarch64
    } else {
        Self::X86_64
    };

    /// Whether it is a way of 32-bit programs.
    pub fn is_narrow(self) -> bool {
        self == Self::I386
    }
}
