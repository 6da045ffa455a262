//! What can be wrong with a page.

/// Why a page can't be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    /// The file can't be read there.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// Bytes are missing.
    #[error("a page ends within its {0}")]
    Ends(&'static str),
    /// A number that no such page can have.
    #[error("a page says {what}: {value}")]
    Implausible {
        /// What the number is.
        what: &'static str,
        /// The number.
        value: i64,
    },
    /// A field of a page's header has another type, or is missing.
    #[error("the header of a page is damaged: {0}")]
    Header(&'static str),
    /// The bytes aren't those that were written.
    #[error("a page isn't what its checksum says")]
    Checksum,
    /// A page that can't be decompressed.
    #[error("a page can't be decompressed: {0}")]
    Decompress(String),
    /// A compression that isn't read.
    #[error(
        "it is compressed with {0}: write the file uncompressed, or compressed with snappy, gzip or zstd"
    )]
    Compression(String),
    /// An encoding that isn't read, or not for this type.
    #[error(
        "values of this type that are encoded as {0} aren't read: write the file with another encoding"
    )]
    Encoding(i32),
    /// More would have to be held.
    #[error("pages of more than {} MiB would have to be held at once: write the file with smaller pages, or read fewer columns", super::MOST_HELD >> 20)]
    TooLarge,
}

impl PageError {
    pub fn implausible(what: &'static str, value: impl TryInto<i64>) -> Self {
        Self::Implausible {
            what,
            value: value.try_into().unwrap_or(i64::MAX),
        }
    }
}
