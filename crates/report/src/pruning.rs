//! What rules of keep.toml keep in a store and what they remove: how much of which kind, and why.

use backsight_model::{KeepRules, grouped};
use backsight_store::{RetentionFate, RetentionRow, RetentionTable};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Document, Render, Section, Table, Tone, field, left, numbers, right};

/// What stays in a store and what goes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pruning {
    /// When: RFC 3339.
    pub at: String,
    /// Whether it was only said, and nothing removed.
    pub dry_run: bool,
    /// The file of the rules; nothing where there are none.
    pub rules: Option<String>,
    /// How much has which fate and why, by kind.
    pub rows: Vec<PruningRow>,
    /// All that stays.
    pub stays: Amount,
    /// All that goes, or would go.
    pub goes: Amount,
    /// What a reader should know besides.
    pub notes: Vec<String>,
}

/// How much there is of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Amount {
    /// How many objects, files and builds.
    pub count: u64,
    /// Their size on disk, in bytes.
    pub bytes: u64,
}

/// How much of one kind has one fate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PruningRow {
    /// `outputs`, `cores`, `monitors`, `logs`, `builds` or `records`.
    pub kind: &'static str,
    /// Whether it goes.
    pub goes: bool,
    /// The rule by which it goes, or the reason why it stays.
    pub why: String,
    /// How many there are.
    pub count: u64,
    /// Their size on disk, in bytes.
    pub bytes: u64,
}

impl Pruning {
    /// What these rules, which are in this file if there are any, keep and remove at this time.
    pub fn new(
        table: &RetentionTable,
        rules: &KeepRules,
        file: Option<String>,
        at: Timestamp,
        dry_run: bool,
    ) -> Self {
        let rows: Vec<PruningRow> = table.rows().map(|row| pruning_row(row, rules)).collect();
        let amount = |goes: bool| {
            let of_fate = rows.iter().filter(|row| row.goes == goes);
            of_fate.fold(Amount::default(), |sum, row| Amount {
                count: sum.count + row.count,
                bytes: sum.bytes + row.bytes,
            })
        };
        Self {
            at: at.to_string(),
            dry_run,
            rules: file,
            stays: amount(false),
            goes: amount(true),
            rows,
            notes: Vec::new(),
        }
    }

    fn sentence(&self) -> String {
        let Amount { count, bytes } = self.goes;
        let goes = match (self.dry_run, count) {
            (_, 0) => return "nothing is to be removed".to_owned(),
            (true, _) => "would go",
            (false, _) => "went",
        };
        let all = count + self.stays.count;
        let (gone, whole) = (
            numbers::size(bytes),
            numbers::size(bytes + self.stays.bytes),
        );
        format!(
            "{} of {} {goes}: {gone} of {whole}",
            grouped(count),
            grouped(all)
        )
    }
}

fn pruning_row(row: RetentionRow, rules: &KeepRules) -> PruningRow {
    let (goes, why) = match row.fate {
        RetentionFate::Kept(reason) => (false, reason.as_str().to_owned()),
        RetentionFate::Pruned(rule) => (true, rules.text_of(rule)),
    };
    PruningRow {
        kind: row.kind.as_str(),
        goes,
        why,
        count: row.count,
        bytes: row.bytes,
    }
}

impl Render for Pruning {
    type View<'v> = &'v Self;

    fn view(&self) -> &Self {
        self
    }

    fn document(&self) -> Document {
        let mut table = Table::new(vec![
            left("kind"),
            left(""),
            right("count"),
            right("size"),
            left("why"),
        ]);
        for row in &self.rows {
            let fate = match row.goes {
                true => field("goes").with_tone(Tone::Changed),
                false => field("stays"),
            };
            table.row(vec![
                field(row.kind),
                fate,
                field(grouped(row.count)),
                field(numbers::size(row.bytes)),
                field(&row.why),
            ]);
        }
        Document::new("")
            .with_sentence(self.sentence(), Tone::Plain)
            .with_sentences(self.notes.iter().cloned())
            .with_section(Section::table("", table))
    }
}
