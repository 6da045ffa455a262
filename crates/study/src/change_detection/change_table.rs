//! The table of changes, for spreadsheets, data frames and further counting: one row a change, epoch, pending change or trend
//! from the first version to the last, and
//! one of kind `none` for each series whose level didn't change.
//!
//! What is believed among all series is known only when all are searched. So the rows are first kept in a temporary file,
//! and their p-values alone in memory; then they are written with `adjusted` and `believed`. Parts of a table (`--shard`)
//! are joined by the same second pass.

use backsight_exchange::table::{
    ColumnKind, ReadOptions, TableCell, TableFormat, TableOutput, TableReader, TableRows,
    TableSource, TableWriter,
};
use backsight_policy::ChangeDirection;
use backsight_report::change_points::{ChangeRange, FoundChange, SeriesChanges};
use backsight_stats::{
    benjamini_hochberg,
    changes::{ChangeKind, Trend},
};
use miette::IntoDiagnostic as _;
use std::path::{Path, PathBuf};

use super::false_discovery::FalseDiscoveryRate;

/// The columns after those that name the series.
const COLUMNS: [(&str, ColumnKind); 32] = [
    ("metric", ColumnKind::Text),
    ("unit", ColumnKind::Text),
    ("better", ColumnKind::Text),
    ("kind", ColumnKind::Text),
    ("number", ColumnKind::Integer),
    ("version", ColumnKind::Text),
    ("after_version", ColumnKind::Text),
    ("until_version", ColumnKind::Text),
    ("before", ColumnKind::Number),
    ("after", ColumnKind::Number),
    ("size", ColumnKind::Number),
    ("size_low", ColumnKind::Number),
    ("size_high", ColumnKind::Number),
    ("percent", ColumnKind::Number),
    ("percent_low", ColumnKind::Number),
    ("percent_high", ColumnKind::Number),
    ("confidence", ColumnKind::Number),
    ("direction", ColumnKind::Text),
    ("p", ColumnKind::Number),
    ("probability", ColumnKind::Number),
    (ADJUSTED, ColumnKind::Number),
    (BELIEVED, ColumnKind::Text),
    ("versions", ColumnKind::Integer),
    ("samples", ColumnKind::Integer),
    ("missing", ColumnKind::Integer),
    ("noise", ColumnKind::Number),
    ("kept", ColumnKind::Number),
    ("period", ColumnKind::Integer),
    ("least_found", ColumnKind::Number),
    ("first_number_after", ColumnKind::Integer),
    ("last_number_until", ColumnKind::Integer),
    ("last_version", ColumnKind::Text),
];

const ADJUSTED: &str = "adjusted";
const BELIEVED: &str = "believed";

/// The kind of a row about a trend all along; `trend` is that of a change after which a level that never rests moves otherwise.
const STEADY_TREND: &str = "steady-trend";

/// Rows on their way, in a temporary file.
pub struct ChangeTable {
    folder: tempfile::TempDir,
    writer: TableWriter,
    confidence: f64,
}

impl ChangeTable {
    /// Begins a table of series that these columns name; `confidence` is a share.
    ///
    /// # Errors
    /// There is no room for a temporary file.
    pub fn new(keys: &[String], confidence: f64) -> miette::Result<Self> {
        let folder = tempfile::tempdir().into_diagnostic()?;
        let out = TableOutput::to(Some(&file_in(folder.path()))).into_diagnostic()?;
        let keys: Vec<String> = keys.iter().map(|key| apart(key)).collect();
        let columns = keys.iter().map(|key| (key.as_str(), ColumnKind::Text));
        let columns: Vec<_> = columns.chain(COLUMNS).collect();
        Ok(Self {
            writer: TableWriter::new(out, TableFormat::Parquet, &columns).into_diagnostic()?,
            folder,
            confidence,
        })
    }

    /// Adds the rows of a series.
    ///
    /// # Errors
    /// There is no room for them.
    pub fn add(&mut self, series: &SeriesChanges) -> miette::Result<()> {
        for found in &series.changes {
            self.row(series, &Row::of_change(series, found, self.confidence))?;
        }
        if let Some(pending) = &series.pending {
            let row = Row {
                kind: "pending",
                ..Row::of_change(series, &pending.found, self.confidence)
            };
            self.row(series, &row)?;
        }
        for (epoch, between) in &series.epochs {
            let row = Row {
                kind: "epoch",
                between: Some(between),
                before: Some(epoch.before),
                after: Some(epoch.after),
                p: Some(epoch.p),
                ..Row::default()
            };
            self.row(series, &row)?;
        }
        if let Some(trend) = &series.trend {
            self.row(series, &Row::of_trend(series, trend, self.confidence))?;
        }
        let is_level = |found: &FoundChange| found.change.kind == ChangeKind::Level;
        if series.changes.iter().any(is_level) {
            return Ok(());
        }
        let row = Row {
            kind: "none",
            doubted: series
                .doubted
                .as_ref()
                .map(|(place, _)| (place.index, place.label.as_str())),
            p: Some(series.doubted.as_ref().map_or(1.0, |(_, p)| *p)),
            ..Row::default()
        };
        self.row(series, &row)
    }

    fn row(&mut self, series: &SeriesChanges, row: &Row<'_>) -> miette::Result<()> {
        let mut cells: Vec<TableCell<'_>> = series
            .keys
            .iter()
            .map(|(_, key)| TableCell::Text(key))
            .collect();
        cells.extend(row.cells(series));
        self.writer.row(&cells).into_diagnostic()
    }

    /// Writes what was kept, with what is believed among all, if that is to be said.
    ///
    /// # Errors
    /// `out` can't be written.
    pub fn write_to(
        self,
        out: TableOutput,
        format: TableFormat,
        share: Option<FalseDiscoveryRate>,
    ) -> miette::Result<BelievedCounts> {
        self.writer.finish().into_diagnostic()?;
        join_change_tables(&[file_in(self.folder.path())], out, format, share)
    }
}

fn file_in(folder: &Path) -> PathBuf {
    folder.join("rows.parquet")
}

/// The name of a key column, apart from those of our own.
fn apart(key: &str) -> String {
    if COLUMNS.iter().any(|(name, _)| *name == key) {
        format!("series_{key}")
    } else {
        key.to_owned()
    }
}

/// What differs between the rows of a series.
#[derive(Default)]
struct Row<'a> {
    kind: &'a str,
    between: Option<&'a ChangeRange>,
    doubted: Option<(usize, &'a str)>,
    before: Option<f64>,
    after: Option<f64>,
    size: Option<[f64; 3]>,
    percent: Option<[f64; 3]>,
    confidence: Option<f64>,
    direction: Option<&'a str>,
    p: Option<f64>,
    probability: Option<f64>,
}

impl<'a> Row<'a> {
    fn of_change(series: &SeriesChanges, found: &'a FoundChange, confidence: f64) -> Self {
        let change = &found.change;
        let interval = change.size_interval;
        Row {
            kind: match change.kind {
                ChangeKind::Level => "level",
                ChangeKind::Trend => "trend",
            },
            between: Some(&found.between),
            doubted: None,
            before: Some(change.before),
            after: Some(change.after),
            size: Some([change.size, interval.low, interval.high]),
            percent: found
                .percent()
                .map(|(percent, interval)| [percent, interval.low, interval.high]),
            confidence: Some(confidence),
            direction: Some(found.direction(series.better).as_str()),
            p: Some(change.p),
            probability: Some(change.probability),
        }
    }

    /// A trend: from the first version to the last, at which `before` and `after` are the values of its line.
    fn of_trend(series: &SeriesChanges, trend: &Trend, confidence: f64) -> Self {
        let interval = trend.size_interval;
        let base = trend.from.abs();
        let percent = [trend.size, interval.low, interval.high].map(|x| 100.0 * x / base);
        Row {
            kind: STEADY_TREND,
            before: Some(trend.from),
            after: Some(trend.to),
            size: Some([trend.size, interval.low, interval.high]),
            percent: (base > 0.0).then_some(percent),
            confidence: Some(confidence),
            direction: Some(ChangeDirection::from_size(trend.size, series.better).as_str()),
            p: Some(trend.p),
            ..Row::default()
        }
    }

    fn cells<'b>(&self, series: &'b SeriesChanges) -> Vec<TableCell<'b>>
    where
        'a: 'b,
    {
        let count = |n: usize| TableCell::Integer(i64::try_from(n).unwrap_or(i64::MAX));
        let number = |x: Option<f64>| TableCell::from(x.filter(|x| x.is_finite()));
        let three = |of: Option<[f64; 3]>| (0..3).map(move |i| number(of.map(|of| of[i])));
        let at = self
            .between
            .map(|between| (between.at.index, between.at.label.as_str()));
        let at = at.or(self.doubted);
        let after = self.between.and_then(|between| between.after.as_ref());
        let until = self.between.map(|between| &between.until);
        let mut cells = vec![
            TableCell::Text(&series.metric),
            series.unit.as_deref().into(),
            series.better.map(|better| better.as_str()).into(),
            TableCell::Text(self.kind),
            at.map_or(TableCell::Missing, |(index, _)| count(index + 1)),
            at.map(|(_, label)| label).into(),
            after.map(|place| place.label.as_str()).into(),
            until.map(|place| place.label.as_str()).into(),
            number(self.before),
            number(self.after),
        ];
        cells.extend(three(self.size));
        cells.extend(three(self.percent));
        cells.extend([
            number(self.confidence),
            self.direction.into(),
            number(self.p),
            number(self.probability),
            TableCell::Missing,
            TableCell::Missing,
            count(series.versions),
            count(series.samples),
            count(series.missing),
            number(Some(series.noise)),
            number(Some(series.kept)),
            series.period.map_or(TableCell::Missing, count),
            number(series.least_found),
            after.map_or(TableCell::Missing, |place| count(place.index + 1)),
            until.map_or(TableCell::Missing, |place| count(place.index + 1)),
            series
                .last
                .as_ref()
                .map(|place| place.label.as_str())
                .into(),
        ]);
        cells
    }
}

/// What was counted while a table was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BelievedCounts {
    /// Changes of level that are believed.
    pub believed: usize,
    /// Changes of level that aren't, among so many series.
    pub doubted: usize,
}

impl std::fmt::Display for BelievedCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "changes of level: {} believed, {} not among so many series",
            self.believed, self.doubted
        )
    }
}

/// Joins tables that [`ChangeTable::write_to`] has written, and says what is believed among all of their series.
///
/// # Errors
/// A part can't be read or has other columns than the first, or `out` can't be written.
pub fn join_change_tables(
    parts: &[PathBuf],
    out: TableOutput,
    format: TableFormat,
    share: Option<FalseDiscoveryRate>,
) -> miette::Result<BelievedCounts> {
    let adjusted = match share {
        Some(_) => adjusted(parts)?,
        None => Vec::new(),
    };
    let mut adjusted = adjusted.into_iter();
    let mut counted = BelievedCounts::default();
    let mut writer: Option<(TableWriter, Vec<String>)> = None;
    let mut out = Some(out);
    for part in parts {
        let table = open(part)?;
        let columns = table.columns().to_vec();
        let kind_at = table.column("kind").into_diagnostic()?;
        let kinds: Vec<ColumnKind> = columns.iter().map(|name| kind_of(name)).collect();
        let (writer, known) = match (&mut writer, out.take()) {
            (Some(writer), _) => (&mut writer.0, &writer.1),
            (none, Some(out)) => {
                let named = columns
                    .iter()
                    .map(String::as_str)
                    .zip(kinds.iter().copied());
                let named: Vec<_> = named.collect();
                let begun = TableWriter::new(out, format, &named).into_diagnostic()?;
                let begun = none.insert((begun, columns.clone()));
                (&mut begun.0, &begun.1)
            }
            (None, None) => break,
        };
        if *known != columns {
            return Err(miette::miette!(
                help = "join only parts of one table: those of `--shard 1/n` to `--shard n/n`",
                "{} has other columns than {}",
                part.display(),
                parts[0].display()
            ));
        }
        let mut rows = table
            .rows(&(0..columns.len()).collect::<Vec<_>>())
            .into_diagnostic()?;
        let mut texts = vec![String::new(); columns.len()];
        while rows.advance().into_diagnostic()? {
            rows.field(kind_at).write_to(&mut texts[kind_at]);
            let is_level = texts[kind_at] == "level";
            let q = if is_test(&texts[kind_at]) {
                adjusted.next()
            } else {
                None
            };
            let is_believed = q.zip(share).map(|(q, share)| q <= share.0);
            if is_level {
                counted.believed += usize::from(is_believed != Some(false));
                counted.doubted += usize::from(is_believed == Some(false));
            }
            let mut cells = Vec::with_capacity(columns.len());
            for (i, kind) in kinds.iter().enumerate() {
                if *kind == ColumnKind::Text {
                    rows.field(i).write_to(&mut texts[i]);
                }
            }
            for (i, kind) in kinds.iter().enumerate() {
                cells.push(match (columns[i].as_str(), kind) {
                    (ADJUSTED, _) => q.into(),
                    (BELIEVED, _) if is_level => {
                        is_believed.map(|yes| if yes { "yes" } else { "no" }).into()
                    }
                    (BELIEVED, _) => TableCell::Missing,
                    (_, ColumnKind::Text) if texts[i].is_empty() => TableCell::Missing,
                    (_, ColumnKind::Text) => TableCell::Text(&texts[i]),
                    (_, ColumnKind::Number) => rows.number(i).into_diagnostic()?.into(),
                    (_, ColumnKind::Integer) => match rows.number(i).into_diagnostic()? {
                        Some(number) => TableCell::Integer(number as i64),
                        None => TableCell::Missing,
                    },
                });
            }
            writer.row(&cells).into_diagnostic()?;
        }
    }
    if let Some((writer, _)) = writer {
        writer.finish().into_diagnostic()?;
    }
    Ok(counted)
}

/// Whether a row of this kind is one of the tests whose false discoveries are bounded.
fn is_test(kind: &str) -> bool {
    kind == "level" || kind == "none"
}

fn kind_of(column: &str) -> ColumnKind {
    let ours = COLUMNS.iter().find(|(name, _)| *name == column);
    ours.map_or(ColumnKind::Text, |(_, kind)| *kind)
}

fn open(part: &Path) -> miette::Result<TableReader> {
    let reading = ReadOptions {
        format: None,
        header: Some(true),
    };
    TableReader::open(&TableSource::Path(part.to_owned()), reading).into_diagnostic()
}

/// The adjusted p-values of all tests of all parts, in order.
fn adjusted(parts: &[PathBuf]) -> miette::Result<Vec<f64>> {
    let mut tests = Vec::new();
    for part in parts {
        let table = open(part)?;
        let kind = table.column("kind").into_diagnostic()?;
        let p = table.column("p").into_diagnostic()?;
        let mut rows: TableRows = table.rows(&[kind, p]).into_diagnostic()?;
        let mut kind = String::new();
        while rows.advance().into_diagnostic()? {
            rows.field(0).write_to(&mut kind);
            if is_test(&kind) {
                let p = rows.number(1).into_diagnostic()?;
                tests.push(p.unwrap_or(1.0));
            }
        }
    }
    Ok(benjamini_hochberg(&tests))
}
