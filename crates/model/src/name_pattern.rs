//! Patterns of names, in which `*` stands for any characters: `release-*`.

use schemars::JsonSchema;
use serde::Deserialize;

/// A pattern of names: `base`, `release-*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NamePattern(String);

impl NamePattern {
    /// The pattern that this text writes.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether a name is meant.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            return rest.is_empty();
        };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let matches = |pattern: &str, name: &str| NamePattern::new(pattern).matches(name);
        for (pattern, name) in [
            ("base", "base"),
            ("release-*", "release-1"),
            ("*-base", "a-base"),
            ("a*b*c", "a-b-b-c"),
            ("*", "x"),
            ("a**", "a"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("base", "base-2"),
            ("a*b", "ab-c"),
            ("ab*ba", "aba"),
            ("", "x"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
