//! What the rows of a table come to, whichever store has them.

use std::collections::HashMap;

use super::{
    Sections,
    reseal::is_checksum,
    table::{CopyRow, CopyTable},
};
use crate::query::Argument;

/// Columns that each store numbers on its own; their values aren't compared.
const OWN_COLUMNS: &[&str] = &["study", "id", "name", "job", "at_begin", "at_end"];

/// How many rows, and a sum over them that doesn't depend on their order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest {
    pub(super) rows: usize,
    sum: u128,
}

impl Digest {
    /// Adds a row but for the numbers and the name that each store gives on its own; records of hosts count by what they say.
    pub(super) fn add(
        &mut self,
        table: &CopyTable,
        row: &CopyRow,
        records: &HashMap<i64, Sections>,
    ) {
        let mut hasher = blake3::Hasher::new();
        for ((column, _), value) in table.columns.iter().zip(row) {
            let is_own = is_checksum(table.name, column)
                || OWN_COLUMNS.contains(&column.as_str())
                    && (column == "study" || matches!(table.name, "study" | "host_record"));
            match (is_own, value) {
                (false, value) => hash(&mut hasher, value),
                (true, Argument::Whole(Some(number))) if column.starts_with("at_") => {
                    for (name, object) in records.get(number).into_iter().flatten() {
                        hash(&mut hasher, &name.into());
                        hash(&mut hasher, &object.to_string().into());
                    }
                }
                (true, _) => {}
            }
        }
        let mut first = [0; 16];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        self.rows += 1;
        self.sum = self.sum.wrapping_add(u128::from_le_bytes(first));
    }
}

/// What the values of a row come to.
pub(super) type RowHash = [u8; 32];

/// The hash of a row with all its values.
pub(super) fn row_hash(row: &CopyRow) -> RowHash {
    let mut hasher = blake3::Hasher::new();
    for value in row {
        hash(&mut hasher, value);
    }
    *hasher.finalize().as_bytes()
}

/// Hashes a value so that no two rows of different values hash the same bytes.
fn hash(hasher: &mut blake3::Hasher, value: &Argument) {
    let mut bytes = |kind: u8, bytes: Option<&[u8]>| {
        hasher.update(&[kind, u8::from(bytes.is_some())]);
        let bytes = bytes.unwrap_or_default();
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    match value {
        Argument::Text(text) => bytes(0, text.as_deref().map(str::as_bytes)),
        Argument::Whole(number) => {
            bytes(1, number.map(i64::to_le_bytes).as_ref().map(|it| &it[..]))
        }
        Argument::Float(number) => {
            bytes(2, number.map(f64::to_le_bytes).as_ref().map(|it| &it[..]))
        }
        Argument::Bytes(content) => bytes(3, content.as_deref()),
        Argument::Boolean(value) => {
            bytes(4, value.map(|it| [u8::from(it)]).as_ref().map(|it| &it[..]))
        }
    }
}
