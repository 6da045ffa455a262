//! jq programs that find more than numbers: what an importer asks of a document that another tool wrote.
//!
//! The same programs as a metric's, with the same end to everything; they may name variables.
//!
//! A document that nests deeper than the reader of JSON goes is an error, so that nothing here can exhaust the stack.

use jaq_json::{Num, Val};
use jaq_std::ValT as _;

use crate::jq::Program;
pub use crate::jq::{QueryError, QueryRunError, with_deep_stack};

/// A document that programs search. It stays on the thread that read it: work with it within [`with_deep_stack`].
#[derive(Debug, Clone)]
pub struct JsonDocument {
    value: Val,
    bytes: usize,
}

impl JsonDocument {
    /// The document that this text writes.
    ///
    /// # Errors
    /// It isn't JSON; the error knows line and column.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(Self {
            value: serde_json::from_slice(text)?,
            bytes: text.len(),
        })
    }

    /// A document that has these parts, one after the other.
    pub fn list(parts: Vec<Self>) -> Self {
        let bytes = parts.iter().map(|part| part.bytes).sum();
        Self {
            value: parts.into_iter().map(|part| part.value).collect(),
            bytes,
        }
    }

    /// A document that has these parts by name.
    pub fn table(parts: impl IntoIterator<Item = (String, Self)>) -> Self {
        let mut bytes = 0;
        let entries = parts.into_iter().map(|(name, part)| {
            bytes += name.len() + part.bytes;
            (Val::from(name), part.value)
        });
        let value = Val::obj(entries.collect());
        Self { value, bytes }
    }

    /// A text, as a document.
    pub fn text(text: String) -> Self {
        let bytes = text.len();
        Self {
            value: Val::from(text),
            bytes,
        }
    }

    /// A whole number, as a document.
    pub fn whole(number: isize) -> Self {
        Self {
            value: Val::from(number),
            bytes: size_of::<isize>(),
        }
    }

    /// A number, as a document.
    pub fn number(number: f64) -> Self {
        Self {
            value: Val::from(number),
            bytes: size_of::<f64>(),
        }
    }

    /// No document: `null`.
    pub fn nothing() -> Self {
        Self {
            value: Val::Null,
            bytes: 0,
        }
    }
}

/// Something that a program found.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryValue {
    /// `null`: nothing is there.
    Nothing,
    /// `true` or `false`.
    Truth(bool),
    /// A whole number of one word.
    Whole(i64),
    /// Another number, perhaps not a finite one.
    Number(f64),
    /// A text.
    Text(String),
    /// An array.
    List(Vec<QueryValue>),
    /// An object, in its order; keys that aren't texts are written as JSON.
    Table(Vec<(String, QueryValue)>),
}

impl QueryValue {
    fn from_val(value: &Val) -> Self {
        match value {
            Val::Null => Self::Nothing,
            Val::Bool(truth) => Self::Truth(*truth),
            Val::Num(Num::Int(whole)) => Self::Whole(*whole as i64),
            Val::Num(_) => Self::Number(value.as_f64().unwrap_or(f64::NAN)),
            Val::BStr(bytes) | Val::TStr(bytes) => {
                Self::Text(String::from_utf8_lossy(bytes).into_owned())
            }
            Val::Arr(values) => Self::List(values.iter().map(Self::from_val).collect()),
            Val::Obj(entries) => Self::Table(
                entries
                    .iter()
                    .map(|(key, value)| {
                        let key = match Self::from_val(key) {
                            Self::Text(text) => text,
                            _ => key.to_string(),
                        };
                        (key, Self::from_val(value))
                    })
                    .collect(),
            ),
        }
    }

    /// What stands under this name in a table.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Table(entries) => entries
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }
}

/// A compiled program that may name variables.
#[derive(Debug)]
pub struct Query<const N: usize> {
    program: Program,
}

impl<const N: usize> Query<N> {
    /// The program that this text writes; it may name these variables, each written with its `$`.
    ///
    /// # Errors
    /// It isn't jq, names a filter that doesn't exist or isn't permitted here, or calls itself.
    pub fn compile(code: &str, variables: [&'static str; N]) -> Result<Self, QueryError> {
        Ok(Self {
            program: Program::compile_with_variables(code, &variables)?,
        })
    }

    /// The parts of a document that the program finds.
    ///
    /// # Errors
    /// The program's own, or it takes more steps than any document needs.
    pub fn parts(
        &self,
        input: &JsonDocument,
        variables: [&JsonDocument; N],
    ) -> Result<Vec<JsonDocument>, QueryRunError> {
        let bytes = variables.iter().fold(input.bytes, |sum, variable| {
            sum.saturating_add(variable.bytes)
        });
        let values = variables.map(|variable| variable.value.clone());
        let found = self.program.values(&input.value, values, bytes)?;
        Ok(found
            .into_iter()
            .map(|value| JsonDocument {
                value,
                bytes: input.bytes,
            })
            .collect())
    }

    /// What the program finds in a document, as values of ours.
    ///
    /// # Errors
    /// As [`Query::parts`].
    pub fn found(
        &self,
        input: &JsonDocument,
        variables: [&JsonDocument; N],
    ) -> Result<Vec<QueryValue>, QueryRunError> {
        let parts = self.parts(input, variables)?;
        Ok(parts
            .iter()
            .map(|part| QueryValue::from_val(&part.value))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_finds_tables_lists_and_texts_and_knows_its_variables() {
        let found = with_deep_stack(|| {
            let query = Query::compile(
                "{name: $name, n: [.a[] | . * 2], at: path(.a[1]), none: null, yes: true}",
                ["$name"],
            )
            .unwrap();
            let document = JsonDocument::parse(br#"{"a": [1, 2.25]}"#).unwrap();
            query
                .found(&document, [&JsonDocument::text("x".into())])
                .unwrap()
        })
        .unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].get("name"), Some(&QueryValue::Text("x".into())));
        assert_eq!(
            found[0].get("n"),
            Some(&QueryValue::List(vec![
                QueryValue::Whole(2),
                QueryValue::Number(4.5)
            ]))
        );
        assert_eq!(
            found[0].get("at"),
            Some(&QueryValue::List(vec![
                QueryValue::Text("a".into()),
                QueryValue::Whole(1)
            ]))
        );
        assert_eq!(found[0].get("none"), Some(&QueryValue::Nothing));
        assert_eq!(found[0].get("yes"), Some(&QueryValue::Truth(true)));
        assert_eq!(found[0].get("no"), None);
    }

    #[test]
    fn a_variable_that_was_not_promised_is_a_mistake_at_its_place() {
        let mistake = Query::compile(". + $nmae", ["$name"]).unwrap_err();
        assert_eq!(mistake.place, 4..9);
    }

    #[test]
    fn documents_are_put_together_of_parts() {
        let counted = with_deep_stack(|| {
            let lines = [b"1".as_slice(), b"[2, 3]"].map(|line| JsonDocument::parse(line).unwrap());
            let list = JsonDocument::list(lines.to_vec());
            let table = JsonDocument::table([("lines".to_owned(), list)]);
            Query::compile(".lines | length, (.[1] | add)", [])
                .unwrap()
                .found(&table, [])
                .unwrap()
        })
        .unwrap();
        assert_eq!(counted, [QueryValue::Whole(2), QueryValue::Whole(5)]);
    }
}
