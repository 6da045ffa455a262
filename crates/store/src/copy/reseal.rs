//! Checksums of samples and of results of tests: they hold for one place, and a copy stands in another.

use super::table::{CopyRow, CopyTable};
use crate::{
    packed::{SampleKey, SampleKind, checksum},
    query::Argument,
    suite_run::run_key,
};

/// A column with a checksum: of which columns, one behind the other, and as which kind of samples.
struct Sealed {
    tables: &'static [&'static str],
    checksum: &'static str,
    content: &'static [&'static str],
    kind: SampleKind,
}

const SEALED: &[Sealed] = &[
    Sealed {
        tables: &["sample", "instance_sample"],
        checksum: "measured_checksum",
        content: &["measured"],
        kind: SampleKind::Measured,
    },
    Sealed {
        tables: &["sample", "instance_sample"],
        checksum: "within_checksum",
        content: &["within"],
        kind: SampleKind::Within,
    },
    Sealed {
        tables: &["suite_run"],
        checksum: "checksum",
        content: &["outcomes", "seconds"],
        kind: SampleKind::Measured,
    },
];

/// Whether a column is a checksum.
pub(super) fn is_checksum(table: &str, column: &str) -> bool {
    let mut sealed = SEALED.iter();
    sealed.any(|it| it.checksum == column && it.tables.contains(&table))
}

/// Gives a row the checksums of the other study's number. The error is the number of the trial of which the row isn't what was
/// recorded.
pub(super) fn reseal(table: &CopyTable, row: &mut CopyRow, study: i64) -> Result<(), i64> {
    for sealed in SEALED.iter().filter(|it| it.tables.contains(&table.name)) {
        let whole = |column| match table.get(row, column) {
            Some(Argument::Whole(value)) => *value,
            _ => None,
        };
        // What was recorded before there were checksums has none.
        let Some(kept) = whole(sealed.checksum) else {
            continue;
        };
        let trial = whole("trial").unwrap_or_default();
        let key = |study| match table.name {
            "suite_run" => run_key(study, trial),
            _ => SampleKey {
                study,
                trial,
                metric: whole("metric").unwrap_or_default(),
            },
        };
        let mut content = Vec::new();
        for column in sealed.content {
            if let Some(Argument::Bytes(Some(bytes))) = table.get(row, column) {
                content.extend_from_slice(bytes);
            }
        }
        let own = whole("study").unwrap_or_default();
        if checksum(key(own), sealed.kind, &content) != kept {
            return Err(trial);
        }
        let new = checksum(key(study), sealed.kind, &content);
        table.set(row, sealed.checksum, Argument::Whole(Some(new)));
    }
    Ok(())
}
