//! Why a message didn't arrive.

/// Why a message didn't arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The channel fails, whatever the message: a server that is down, a password that is wrong.
    #[error("{0}")]
    Channel(String),
    /// This message isn't taken; others may be.
    #[error("{0}")]
    Message(String),
}
