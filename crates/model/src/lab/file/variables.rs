//! Variables of a lab's file, and the texts that they are put into.

use std::collections::BTreeMap;

use crate::{HostName, document::SourcePlace};

/// The longest text in which variables were replaced, in bytes.
const LONGEST_TEXT: usize = 64 * 1024;
/// Variables, each with where it was written.
pub(super) type Variables = BTreeMap<String, (SourcePlace, String)>;

/// Whether a variable may have this name.
pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= crate::name::LONGEST
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Why a text can't be filled.
pub(super) enum VariableFault {
    /// There is no such variable.
    Unknown(String),
    /// A brace alone, or around what is no variable.
    Brace,
    /// It becomes too long.
    TooLong,
}

impl VariableFault {
    pub(super) fn message(&self, host: &HostName) -> String {
        match self {
            Self::Unknown(name) => format!("host `{host}` has no variable `{name}`"),
            Self::Brace => "a brace that isn't around a variable's name".into(),
            Self::TooLong => format!(
                "a text of host `{host}` that is longer than {LONGEST_TEXT} bytes with its variables"
            ),
        }
    }
}

/// The text with the values of its variables.
pub(super) fn filled<'a>(
    text: &str,
    value: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, VariableFault> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let (brace, tail) = rest[at..].split_at(1);
        if let Some(tail) = tail.strip_prefix(brace) {
            out.push_str(brace);
            rest = tail;
            continue;
        }
        let inside = (brace == "{").then(|| tail.split_once('}')).flatten();
        let (name, after) = inside
            .filter(|(name, _)| is_variable(name))
            .ok_or(VariableFault::Brace)?;
        out.push_str(value(name).ok_or_else(|| VariableFault::Unknown(name.to_owned()))?);
        if out.len() > LONGEST_TEXT {
            return Err(VariableFault::TooLong);
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The same of a text that is filled again when it is used: what isn't a variable, or is known there, stays.
pub(super) fn filled_later<'a>(
    text: &str,
    value: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, VariableFault> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let (brace, tail) = rest[at..].split_at(1);
        if tail.starts_with(brace) {
            out.push_str(&rest[at..at + 2]);
            rest = &tail[1..];
            continue;
        }
        let inside = (brace == "{").then(|| tail.split_once('}')).flatten();
        let is_free = |name: &str| !crate::target_placeholders().any(|known| known == name);
        let known = inside.filter(|(name, _)| is_variable(name) && is_free(name));
        match known.and_then(|(name, after)| Some((value(name)?, after))) {
            Some((value, after)) => {
                out.push_str(&value.replace('{', "{{").replace('}', "}}"));
                rest = after;
            }
            None => {
                out.push_str(brace);
                rest = tail;
            }
        }
        if out.len() > LONGEST_TEXT {
            return Err(VariableFault::TooLong);
        }
    }
    out.push_str(rest);
    Ok(out)
}
