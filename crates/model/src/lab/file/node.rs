//! Values of a lab's file, each with the place where it was written.

use indexmap::IndexMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

use crate::document::SourcePlace;

/// A value with the place where it was written.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) place: SourcePlace,
    pub(super) value: NodeValue,
}

#[derive(Debug, Clone)]
pub(super) enum NodeValue {
    Text(String),
    /// A number, a truth or a time, as it was written.
    Literal(String),
    List(Vec<Node>),
    Table(Table),
}

/// Keys with their places and values, in the file's order.
pub(super) type Table = IndexMap<String, (SourcePlace, Node)>;

/// Whether two values say the same, wherever they stand.
pub(super) fn is_same(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (NodeValue::Text(a), NodeValue::Text(b))
        | (NodeValue::Literal(a), NodeValue::Literal(b)) => a == b,
        (NodeValue::List(a), NodeValue::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (NodeValue::Table(a), NodeValue::Table(b)) => {
            let in_other = |(key, (_, a)): (&String, &(SourcePlace, Node))| {
                b.get(key).is_some_and(|(_, b)| is_same(a, b))
            };
            a.len() == b.len() && a.iter().all(in_other)
        }
        _ => false,
    }
}

/// Whether a value is written below a header of its own.
pub(super) fn is_section(node: &Node) -> bool {
    match &node.value {
        NodeValue::Table(_) => true,
        NodeValue::List(list) => {
            !list.is_empty()
                && list
                    .iter()
                    .all(|item| matches!(item.value, NodeValue::Table(_)))
        }
        _ => false,
    }
}

/// Whether a text of a value has braces.
pub(super) fn has_braces(node: &Node) -> bool {
    match &node.value {
        NodeValue::Text(text) => text.contains(['{', '}']),
        NodeValue::Literal(_) => false,
        NodeValue::List(list) => list.iter().any(has_braces),
        NodeValue::Table(table) => table.values().any(|(_, node)| has_braces(node)),
    }
}

/// The keys and values of a parsed table.
pub(super) fn table(document: usize, text: &str, parsed: &DeTable<'_>) -> Table {
    let place = |span: Range<usize>| SourcePlace { document, span };
    let entries = parsed.iter().map(|(key, value)| {
        let node = node(document, text, value.get_ref(), value.span());
        (key.get_ref().to_string(), (place(key.span()), node))
    });
    entries.collect()
}

fn node(document: usize, text: &str, value: &DeValue<'_>, span: Range<usize>) -> Node {
    let value = match value {
        DeValue::String(text) => NodeValue::Text(text.to_string()),
        DeValue::Array(list) => {
            let items = list
                .iter()
                .map(|item| node(document, text, item.get_ref(), item.span()));
            NodeValue::List(items.collect())
        }
        DeValue::Table(inner) => NodeValue::Table(table(document, text, inner)),
        _ => NodeValue::Literal(text.get(span.clone()).unwrap_or_default().to_owned()),
    };
    Node {
        place: SourcePlace { document, span },
        value,
    }
}
