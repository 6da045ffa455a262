//! Any table of a store, row by row, as its schema describes it.

use backsight_model::StudyName;
use std::collections::HashMap;

use super::TRIALS_AT_ONCE;
use crate::{
    Store, StoreError,
    database::{AnswerRow, Database},
    query::{Argument, PerEngine, QueryBuilder, Transaction, query_per_engine, without_nul},
};

/// Arguments in one statement: SQLite takes 32,766 of them.
const ARGUMENTS_AT_ONCE: usize = 30_000;
/// Bytes in one statement, but for a row that is larger.
const BYTES_AT_ONCE: usize = 8 * 1024 * 1024;

/// The values of a row, in the order of its table's columns.
pub(super) type CopyRow = Vec<Argument>;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Whole,
    Float,
    Bytes,
    Boolean,
}

impl ColumnKind {
    /// Of the type that the schema names, in the words of either engine.
    fn new(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "text" => Self::Text,
            "bigint" | "integer" => Self::Whole,
            "double precision" => Self::Float,
            "bytea" => Self::Bytes,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }
}

/// Which rows of a study: all, or those of trials from one number to another.
pub(super) type Part = Option<(i64, i64)>;

/// A table.
#[derive(Debug)]
pub(super) struct CopyTable {
    pub(super) name: &'static str,
    pub(super) columns: Vec<(String, ColumnKind)>,
}

impl CopyTable {
    /// A table as a database has it.
    pub(super) async fn new(db: &Database, name: &'static str) -> Result<Self, StoreError> {
        let asked = query_per_engine(PerEngine {
            sqlite: "SELECT name, type AS kind FROM pragma_table_info($1) ORDER BY cid",
            postgres: "SELECT CAST(column_name AS TEXT) AS name, CAST(data_type AS TEXT) AS kind FROM information_schema.columns \
                       WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position",
        });
        let mut columns = Vec::new();
        for row in &db.rows(asked.bind(name)).await? {
            let (column, kind): (String, &str) = (db.column(row, "name")?, db.column(row, "kind")?);
            let known = ColumnKind::new(kind);
            let known = known.ok_or_else(|| db.strange("a type of column that is known", kind))?;
            columns.push((column, known));
        }
        Ok(Self { name, columns })
    }

    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, _)| name == column)
    }

    /// The column with the number of the study.
    fn study_column(&self) -> &'static str {
        if self.name == "study" { "id" } else { "study" }
    }

    /// The parts in which the rows of a study are read.
    pub(super) async fn parts(
        &self,
        db: &Database,
        tx: &mut Transaction,
        study: i64,
    ) -> Result<Vec<Part>, StoreError> {
        if !self.has("trial") {
            return Ok(vec![None]);
        }
        let mut asked = QueryBuilder::new(&format!(
            "SELECT CAST(COALESCE(MAX(trial), 0) AS BIGINT) AS last FROM {} WHERE study = ",
            self.name
        ));
        asked.separated("").push_bind(study);
        let rows = asked.build().fetch_all(&mut **tx).await;
        let last = match rows.map_err(|e| db.fault(e))?.first() {
            Some(row) => db.column(row, "last")?,
            None => 0,
        };
        let firsts = (0..=last).step_by(TRIALS_AT_ONCE as usize);
        Ok(firsts
            .map(|first| Some((first, first + TRIALS_AT_ONCE - 1)))
            .collect())
    }

    /// Reads these rows of a study.
    pub(super) async fn read(
        &self,
        db: &Database,
        tx: &mut Transaction,
        study: i64,
        part: Part,
    ) -> Result<Vec<CopyRow>, StoreError> {
        let mut asked = QueryBuilder::new(&format!(
            "SELECT {} FROM {} WHERE {} = ",
            self.column_list(),
            self.name,
            self.study_column()
        ));
        asked.separated("").push_bind(study);
        if let Some((first, last)) = part {
            asked.push(" AND trial BETWEEN ");
            asked.separated(" AND ").push_bind(first).push_bind(last);
        }
        self.rows(db, tx, asked).await
    }

    /// Reads every row.
    pub(super) async fn read_all(
        &self,
        db: &Database,
        tx: &mut Transaction,
    ) -> Result<Vec<CopyRow>, StoreError> {
        let asked = format!(
            "SELECT {} FROM {} ORDER BY 1",
            self.column_list(),
            self.name
        );
        self.rows(db, tx, QueryBuilder::new(&asked)).await
    }

    async fn rows(
        &self,
        db: &Database,
        tx: &mut Transaction,
        mut asked: QueryBuilder,
    ) -> Result<Vec<CopyRow>, StoreError> {
        let mut rows = Vec::new();
        db.each_row_of(&mut **tx, asked.build(), |row| {
            rows.push(self.row(db, row)?);
            Ok(())
        })
        .await?;
        Ok(rows)
    }

    fn row(&self, db: &Database, row: &AnswerRow) -> Result<CopyRow, StoreError> {
        let value = |(name, kind): &(String, ColumnKind)| {
            Ok(match kind {
                // A server holds no NUL in a text: what it makes of one is the same on both sides.
                ColumnKind::Text => {
                    Argument::Text(db.column::<Option<String>>(row, name)?.map(without_nul))
                }
                ColumnKind::Whole => Argument::Whole(db.column(row, name)?),
                ColumnKind::Float => Argument::Float(db.column(row, name)?),
                ColumnKind::Bytes => Argument::Bytes(db.column(row, name)?),
                ColumnKind::Boolean => Argument::Boolean(db.column(row, name)?),
            })
        };
        self.columns.iter().map(value).collect()
    }

    fn column_list(&self) -> String {
        let names = self.columns.iter().map(|(name, _)| name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// The row with the other store's numbers: of the study, and of its records of hosts.
    pub(super) fn renumbered(
        &self,
        mut row: CopyRow,
        study: i64,
        name: &StudyName,
        records: &HashMap<i64, i64>,
    ) -> CopyRow {
        self.set(&mut row, self.study_column(), Argument::Whole(Some(study)));
        match self.name {
            "study" => {
                self.set(&mut row, "name", name.as_str().into());
                // The queue stays where it is.
                self.set(&mut row, "job", Argument::Whole(None));
            }
            "host_record" => {
                for column in ["at_begin", "at_end"] {
                    if let Some(Argument::Whole(Some(number))) = self.get(&row, column) {
                        let number = records.get(number).copied();
                        self.set(&mut row, column, Argument::Whole(number));
                    }
                }
            }
            _ => {}
        }
        row
    }

    fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|(name, _)| name == column)
    }

    /// The value of a column, where there is such a one.
    pub(super) fn get<'r>(&self, row: &'r CopyRow, column: &str) -> Option<&'r Argument> {
        row.get(self.position(column)?)
    }

    /// The text of a column; none where it has none.
    pub(super) fn text<'r>(&self, row: &'r CopyRow, column: &str) -> Option<&'r str> {
        match self.get(row, column) {
            Some(Argument::Text(text)) => text.as_deref(),
            _ => None,
        }
    }

    /// Sets a column, where there is such a one.
    pub(super) fn set(&self, row: &mut CopyRow, column: &str, value: Argument) {
        if let Some(there) = self.position(column).and_then(|at| row.get_mut(at)) {
            *there = value;
        }
    }

    /// The row without a column.
    pub(super) fn without(&self, row: &CopyRow, column: Option<&str>) -> CopyRow {
        let gone = column.and_then(|column| self.position(column));
        let values = row.iter().enumerate();
        values
            .filter(|(at, _)| Some(*at) != gone)
            .map(|(_, value)| value.clone())
            .collect()
    }

    /// Writes rows.
    pub(super) async fn insert(
        &self,
        store: &Store,
        tx: &mut Transaction,
        rows: Vec<CopyRow>,
    ) -> Result<(), StoreError> {
        self.insert_with(store, tx, rows, "").await.map(drop)
    }

    /// Writes rows but those whose key is there: how many were written.
    pub(super) async fn insert_new(
        &self,
        store: &Store,
        tx: &mut Transaction,
        rows: Vec<CopyRow>,
    ) -> Result<usize, StoreError> {
        self.insert_with(store, tx, rows, " ON CONFLICT DO NOTHING")
            .await
    }

    async fn insert_with(
        &self,
        store: &Store,
        tx: &mut Transaction,
        rows: Vec<CopyRow>,
        rest: &str,
    ) -> Result<usize, StoreError> {
        let at_once = (ARGUMENTS_AT_ONCE / self.columns.len().max(1)).max(1);
        let mut written = 0;
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let (mut chunk, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next_if(|row| {
                chunk.is_empty() || (chunk.len() < at_once && bytes + size(row) <= BYTES_AT_ONCE)
            }) {
                bytes += size(&row);
                chunk.push(row);
            }
            let mut insert = QueryBuilder::new(&format!(
                "INSERT INTO {} ({}) ",
                self.name,
                self.column_list()
            ));
            insert.push_values(chunk, |mut values, row| {
                for value in row {
                    values.push_bind(value);
                }
            });
            insert.push(rest);
            let done = insert.build().execute(&mut **tx).await;
            written += done.map_err(|e| store.database.fault(e))?.rows_affected() as usize;
        }
        Ok(written)
    }
}

/// About how many bytes a row has.
fn size(row: &CopyRow) -> usize {
    let bytes = row.iter().map(|value| match value {
        Argument::Text(Some(text)) => text.len(),
        Argument::Bytes(Some(bytes)) => bytes.len(),
        _ => 8,
    });
    bytes.sum()
}
