//! Secrets that nobody guesses.

use std::{fmt::Write as _, fs::File, io, io::Read as _};

/// What all tokens begin with, so that who finds one in a file knows what it is.
const BEGINNING: &str = "backsight_";

/// A new token: 32 random bytes in hexadecimal digits, behind a word that says what it is.
///
/// # Errors
/// The system has no random bytes.
pub fn new_token() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes))?;
    Ok(bytes.iter().fold(BEGINNING.to_owned(), |mut text, byte| {
        // Writing into a string doesn't fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
