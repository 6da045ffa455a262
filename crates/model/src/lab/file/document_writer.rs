//! A document that is written out, with the places where its parts were written first.

use std::ops::Range;

use super::node::{Node, NodeValue};
use crate::document::SourcePlace;

/// Writes a document, and keeps where its parts come from.
#[derive(Default)]
pub(super) struct DocumentWriter {
    pub(super) text: String,
    pub(super) parts: Vec<(Range<usize>, SourcePlace)>,
}

impl DocumentWriter {
    /// A line that says something to people.
    pub(super) fn comment(&mut self, text: &str) {
        let line: String = text
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        self.text.push_str("# ");
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn part(&mut self, start: usize, place: &SourcePlace) {
        self.parts.push((start..self.text.len(), place.clone()));
    }

    pub(super) fn header(&mut self, path: &[&str], place: &SourcePlace, is_item: bool) {
        let (open, close) = if is_item {
            ("[[", "]]\n")
        } else {
            ("[", "]\n")
        };
        self.text.push('\n');
        let start = self.text.len();
        self.text.push_str(open);
        for (position, key) in path.iter().enumerate() {
            if position > 0 {
                self.text.push('.');
            }
            self.key(key);
        }
        self.text.push_str(close);
        self.part(start, place);
    }

    /// A table of tables, a list of tables, or a table, below headers of their own.
    pub(super) fn section(&mut self, name: &str, place: &SourcePlace, node: &Node) {
        let keys = |writer: &mut Self, node: &Node| {
            if let NodeValue::Table(table) = &node.value {
                for (key, (place, node)) in table {
                    writer.entry(key, place, node);
                }
            }
        };
        match &node.value {
            NodeValue::List(list) => {
                for item in list {
                    self.header(&[name], &item.place, true);
                    keys(self, item);
                }
            }
            NodeValue::Table(table) => {
                let is_table = |node: &Node| matches!(node.value, NodeValue::Table(_));
                if !table.is_empty() && table.values().all(|(_, node)| is_table(node)) {
                    for (key, (place, node)) in table {
                        self.header(&[name, key], place, false);
                        keys(self, node);
                    }
                } else {
                    self.header(&[name], place, false);
                    keys(self, node);
                }
            }
            NodeValue::Text(_) | NodeValue::Literal(_) => self.entry(name, place, node),
        }
    }

    pub(super) fn entry(&mut self, key: &str, place: &SourcePlace, node: &Node) {
        let start = self.text.len();
        self.key(key);
        self.part(start, place);
        self.text.push_str(" = ");
        self.value(node);
        self.text.push('\n');
    }

    fn value(&mut self, node: &Node) {
        let start = self.text.len();
        match &node.value {
            NodeValue::Text(text) => self.quoted(text),
            NodeValue::Literal(literal) => self.text.push_str(literal),
            NodeValue::List(list) => {
                self.text.push('[');
                for (position, item) in list.iter().enumerate() {
                    if position > 0 {
                        self.text.push_str(", ");
                    }
                    self.value(item);
                }
                self.text.push(']');
            }
            NodeValue::Table(table) => {
                self.text.push('{');
                for (position, (key, (place, item))) in table.iter().enumerate() {
                    self.text.push_str(if position > 0 { ", " } else { " " });
                    let start = self.text.len();
                    self.key(key);
                    self.part(start, place);
                    self.text.push_str(" = ");
                    self.value(item);
                }
                self.text.push_str(" }");
            }
        }
        self.part(start, &node.place);
    }

    fn key(&mut self, key: &str) {
        let is_bare = !key.is_empty()
            && key
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        match is_bare {
            true => self.text.push_str(key),
            false => self.quoted(key),
        }
    }

    fn quoted(&mut self, text: &str) {
        self.text.push_str(&toml_quoted(text));
    }
}

/// A text as TOML writes it, in quotes.
pub fn toml_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
