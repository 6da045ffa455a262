//! Addresses of raw outputs.

use std::{fmt, str::FromStr};

/// The address of a raw output: the BLAKE3 hash of its content, 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawRef(blake3::Hash);

impl RawRef {
    /// The address of this content.
    pub fn from_content(content: &[u8]) -> Self {
        Self(blake3::hash(content))
    }
}

impl From<blake3::Hash> for RawRef {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash)
    }
}

impl fmt::Display for RawRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_hex())
    }
}

/// A text that is no address of a raw output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a raw output's address is 64 hexadecimal digits")]
pub struct RawRefError;

impl FromStr for RawRef {
    type Err = RawRefError;

    fn from_str(text: &str) -> Result<Self, RawRefError> {
        blake3::Hash::from_hex(text)
            .map(Self)
            .map_err(|_| RawRefError)
    }
}
