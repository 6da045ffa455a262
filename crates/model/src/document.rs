//! Files that users write: reading them, and saying what is wrong with them, where, and the way out.
//!
//! Nothing is guessed: an unknown key is an error that names the nearest known one.

use miette::{Diagnostic, NamedSource, SourceSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de, de::DeserializeOwned};
use std::{fmt, ops::Range, path::Path, sync::Arc};

use crate::nearest;

/// The text of a file that a user wrote, and the name by which messages call it.
///
/// Two are equal when name and text are: a document that was written out of others is the same without them.
#[derive(Debug, Clone)]
pub struct TomlDocument {
    /// A path, or what stands for one (`catalogue: ping-rtt.toml`).
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    /// Where its parts were written, if it was made out of other documents.
    sources: Option<Arc<SourceMap>>,
}

impl PartialEq for TomlDocument {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }
}

impl Eq for TomlDocument {}

/// Where the parts of a document were written that was made out of others: faults are said of these.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceMap {
    /// The documents that somebody wrote.
    pub(crate) documents: Vec<TomlDocument>,
    /// Parts of the document that was made, each with its place. Parts may contain others.
    pub(crate) parts: Vec<(Range<usize>, SourcePlace)>,
}

/// A place in one of the documents that another was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourcePlace {
    /// Which document.
    pub(crate) document: usize,
    /// Its bytes.
    pub(crate) span: Range<usize>,
}

impl SourceMap {
    /// The place of the smallest part that has all of this, else of the first one that begins there or later.
    fn origin(&self, span: &Range<usize>) -> Option<(&TomlDocument, Range<usize>)> {
        let around = self
            .parts
            .iter()
            .filter(|(part, _)| part.start <= span.start && span.end <= part.end);
        let smallest = around.min_by_key(|(part, _)| part.len());
        let next = || {
            let behind = self
                .parts
                .iter()
                .filter(|(part, _)| part.start >= span.start);
            behind.min_by_key(|(part, _)| part.start)
        };
        let (_, place) = smallest.or_else(next)?;
        Some((self.documents.get(place.document)?, place.span.clone()))
    }
}

/// A fault in a document, pointing at its place.
#[derive(Debug, Clone, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub struct DocumentError {
    message: String,
    #[source_code]
    source_code: NamedSource<Arc<str>>,
    #[label("{label}")]
    span: SourceSpan,
    label: String,
    #[help]
    help: Option<String>,
}

/// A file that can't be read.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("can't read {path}: {cause}")]
pub struct UnreadableFileError {
    /// Which file.
    pub path: String,
    /// What the system said.
    pub cause: std::io::Error,
    /// What to do about it.
    #[help]
    pub help: Option<String>,
}

impl TomlDocument {
    /// A document made from text.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            sources: None,
        }
    }

    /// The same document, of which faults are said where its parts were written.
    pub(crate) fn with_sources(mut self, sources: SourceMap) -> Self {
        self.sources = Some(Arc::new(sources));
        self
    }

    /// The file at this path.
    ///
    /// # Errors
    /// It can't be read, or isn't UTF-8.
    pub fn open(path: &Path) -> Result<Self, UnreadableFileError> {
        let text = std::fs::read_to_string(path).map_err(|cause| UnreadableFileError {
            path: path.display().to_string(),
            help: (cause.kind() == std::io::ErrorKind::NotFound).then(|| {
                "`backsight init` writes a lab.toml and a plan.toml that run here".to_owned()
            }),
            cause,
        })?;
        Ok(Self::new(path.display().to_string(), text))
    }

    /// The document as a typed value.
    ///
    /// # Errors
    /// It isn't TOML, has a key that nobody knows, or a value of the wrong kind; the problem points at it.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        toml::from_str(&self.text).map_err(|error| self.problem_of(&error))
    }

    /// The fault that the parser found.
    pub(crate) fn problem_of(&self, error: &toml::de::Error) -> DocumentError {
        let message = error.message().trim().to_owned();
        let help = suggestion(&message);
        self.problem(error.span().unwrap_or(0..0), message, "here", help)
    }

    /// A fault at this place.
    pub fn problem(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
        help: Option<String>,
    ) -> DocumentError {
        let origin = self
            .sources
            .as_ref()
            .and_then(|sources| sources.origin(&span));
        if let Some((document, span)) = origin {
            return document.problem(span, message, label, help);
        }
        let end = span.end.min(self.text.len());
        let start = span.start.min(end);
        DocumentError {
            message: readable(&message.into()),
            source_code: NamedSource::new(&self.name, readable_text(&self.text))
                .with_language("TOML"),
            span: (start..end).into(),
            label: readable(&label.into()),
            help: help.map(|help| readable(&help)),
        }
    }
}

/// The text with marks in the place of control characters, which would act on the reader's terminal. Every mark is as
/// long as what it stands for, so that places stay the same.
fn readable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            '\r' => ' ',
            '\0'..='\u{1f}' | '\u{7f}' => '?',
            '\u{80}'..='\u{9f}' => '¿',
            _ => c,
        })
        .collect()
}

/// The same of a whole document, which is shared where it has no such characters.
fn readable_text(text: &Arc<str>) -> Arc<str> {
    // Those of two bytes begin with 0xc2, as some harmless ones do.
    let perhaps_unreadable = |byte: u8| match byte {
        b'\n' | b'\t' => false,
        byte => byte.is_ascii_control() || byte == 0xc2,
    };
    match text.bytes().any(perhaps_unreadable) {
        true => readable(text).into(),
        false => Arc::clone(text),
    }
}

impl DocumentError {
    /// Line and column of the fault, both from 1.
    pub fn place(&self) -> (usize, usize) {
        let before = &self.source_code.inner().as_bytes()[..self.span.offset()];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        (line, column)
    }
}

/// "Did you mean", out of serde's own message: ``unknown field `runds`, expected one of `rounds`, `use` ``.
fn suggestion(message: &str) -> Option<String> {
    let (wrong, expected) = message.split_once(", expected")?;
    if !wrong.starts_with("unknown ") {
        return None;
    }
    let quoted = |text: &str| -> Vec<String> {
        text.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let typed = quoted(wrong).pop()?;
    let known = quoted(expected);
    did_you_mean(&typed, known.iter().map(String::as_str))
}

/// The question "did you mean …?", when a known name is near to the typed one.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(typed, known).map(|near| format!("did you mean `{near}`?"))
}

/// A value that remembers where in its document it stands.
///
/// Two are equal when their values are: the place isn't part of what was said.
#[derive(Clone)]
pub struct Located<T> {
    value: T,
    span: Range<usize>,
}

impl<T> Located<T> {
    /// A value that stands in no document.
    pub fn nowhere(value: T) -> Self {
        Self { value, span: 0..0 }
    }

    /// A value that stands at this place.
    pub fn spanning(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }

    /// Bytes of the document that say this value.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The value alone.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Default> Default for Located<T> {
    fn default() -> Self {
        Self::nowhere(T::default())
    }
}

impl<T> std::ops::Deref for Located<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Located<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for Located<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Located<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Located<T> {}

impl<T: std::hash::Hash> std::hash::Hash for Located<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl<T> std::borrow::Borrow<T> for Located<T> {
    fn borrow(&self) -> &T {
        &self.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = toml::Spanned::<T>::deserialize(deserializer)?;
        let span = spanned.span();
        Ok(Self {
            value: spanned.into_inner(),
            span,
        })
    }
}

impl<T: Serialize> Serialize for Located<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

/// A table of type `T`, or something that isn't a table: tells a role's table, whose key is free, from
/// a mistyped key of another kind.
pub(crate) enum IfTable<T> {
    /// The table.
    Table(T),
    /// Anything else.
    Other,
}

struct IfTableVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for IfTableVisitor<T> {
    type Value = IfTable<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(IfTable::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(IfTable::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(IfTable::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(IfTable::Other)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<de::IgnoredAny>()?.is_some() {}
        Ok(IfTable::Other)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map)).map(IfTable::Table)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for IfTable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IfTableVisitor(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_shows_no_control_characters_and_keeps_its_place() {
        let document = TomlDocument::new("x.toml", "a = \"\u{1b}[2J\u{9b}\"\r\nb = 1\n");
        let problem = document.problem(14..15, "what is `\u{1b}[2J`?", "here", None);
        assert_eq!(problem.to_string(), "what is `?[2J`?");
        assert_eq!(problem.place(), (2, 1));
        let shown = problem.source_code.inner();
        assert!(
            !shown.chars().any(|c| c.is_control() && c != '\n'),
            "{shown:?}"
        );
        assert_eq!(shown.len(), document.text.len());
    }
}
