//! JSON for programs: types of serde, never a value made by hand.

use serde::Serialize;
use std::fmt::Write as _;

use crate::escape::is_unseen;

/// A value as a JSON document of several lines.
///
/// # Errors
/// A map of it has keys that are no text.
pub fn json<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    Ok(seen(&serde_json::to_string_pretty(value)?) + "\n")
}

/// A value as one line of JSON.
///
/// # Errors
/// A map of it has keys that are no text.
pub fn json_line<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    Ok(seen(&serde_json::to_string(value)?) + "\n")
}

/// Characters that aren't seen stand in JSON within texts only, where `\u202e` means the same.
fn seen(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || !is_unseen(c) {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String doesn't fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_is_the_same_and_nothing_in_it_acts(text in ".{0,80}", tag in "[\u{e0000}-\u{e007f}\u{202a}-\u{202e}]{0,4}") {
            let text = text + &tag;
            let json = json_line(&[&text]).unwrap();
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), vec![text]);
            prop_assert!(!json.trim_end().contains(is_unseen));
        }
    }
}
