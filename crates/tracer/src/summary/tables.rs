//! Tables of summaries as text: strace's, wider ones whose columns are as wide as they must be, and histograms.

use std::fmt::Write as _;
use std::time::Duration;

use super::{CallStatistics, SummaryColumn, SummaryOrder};

/// Characters of a histogram's longest bar.
const LONGEST_BAR: u64 = 40;

/// What is known of one thing that a summary has a row for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryRow {
    /// What it is: a call, a file.
    pub name: String,
    /// Its calls.
    pub figures: CallStatistics,
    /// Bytes that were read, of files.
    pub read: u64,
    /// Bytes that were written, of files.
    pub written: u64,
}

impl From<(String, CallStatistics)> for SummaryRow {
    fn from((name, figures): (String, CallStatistics)) -> Self {
        Self {
            name,
            figures,
            ..Self::default()
        }
    }
}

/// What a table shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOptions {
    /// Its columns.
    pub columns: Vec<SummaryColumn>,
    /// What rows are sorted by.
    pub sort: SummaryOrder,
    /// Most rows; the others are summed up in the total alone.
    pub top: Option<usize>,
    /// How much less each call took.
    pub overhead: Duration,
}

impl TableOptions {
    /// All rows with these columns, those that took longest first.
    pub fn new(columns: &[SummaryColumn]) -> Self {
        Self {
            columns: columns.to_vec(),
            sort: SummaryOrder::Time,
            top: None,
            overhead: Duration::ZERO,
        }
    }

    /// The same with all rows.
    pub(super) fn without_limit(&self) -> Self {
        Self {
            top: None,
            ..self.clone()
        }
    }

    /// Sorts and cuts rows, each call having taken so much less. The sum of all, and how many rows were cut.
    pub(super) fn apply(&self, rows: &mut Vec<SummaryRow>) -> (SummaryRow, usize) {
        let overhead = u64::try_from(self.overhead.as_nanos()).unwrap_or(u64::MAX);
        for row in &mut *rows {
            row.figures.shorten(overhead);
        }
        sort_rows(rows, self.sort);
        let mut total = SummaryRow {
            name: "total".to_owned(),
            ..SummaryRow::default()
        };
        for row in &*rows {
            total.figures.merge(&row.figures);
            total.read = total.read.saturating_add(row.read);
            total.written = total.written.saturating_add(row.written);
        }
        let kept = self.top.unwrap_or(usize::MAX).min(rows.len());
        let cut = rows.len() - kept;
        rows.truncate(kept);
        (total, cut)
    }
}

pub(super) fn sort_rows(rows: &mut [SummaryRow], sort: SummaryOrder) {
    let key = |row: &SummaryRow| match sort {
        SummaryOrder::Time => row.figures.total,
        SummaryOrder::Least => row.figures.least,
        SummaryOrder::Most => row.figures.most,
        SummaryOrder::Mean => row.figures.mean(),
        SummaryOrder::Calls => row.figures.calls,
        SummaryOrder::Errors => row.figures.errors,
        SummaryOrder::Bytes => row.read.saturating_add(row.written),
        SummaryOrder::Name | SummaryOrder::Nothing => 0,
    };
    match sort {
        SummaryOrder::Nothing => {}
        SummaryOrder::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
        // Of equal ones the order stays: calls come by number, as in strace's table.
        _ => rows.sort_by_key(|row| std::cmp::Reverse(key(row))),
    }
}

/// strace's table of `-c`.
pub(super) fn strace_table(mut rows: Vec<SummaryRow>, options: &TableOptions) -> String {
    let (total, _) = options.apply(&mut rows);
    let columns = &options.columns;
    let mut text = String::new();
    let line = |text: &mut String, cell: &dyn Fn(SummaryColumn) -> String| {
        for (index, column) in columns.iter().enumerate() {
            let (cell, width) = (cell(*column), strace_width(*column));
            let separator = if index == 0 { "" } else { " " };
            // Writing to a string can't fail.
            let _ = match column {
                SummaryColumn::Name if index + 1 == columns.len() => {
                    write!(text, "{separator}{cell}")
                }
                SummaryColumn::Name => write!(text, "{separator}{cell:<width$}"),
                _ => write!(text, "{separator}{cell:>width$}"),
            };
        }
        text.push('\n');
    };
    let rule = |column: SummaryColumn| "-".repeat(strace_width(column));
    line(&mut text, &|column| strace_title(column).to_owned());
    line(&mut text, &rule);
    for row in &rows {
        line(&mut text, &|column| {
            strace_cell(column, row, total.figures.total)
        });
    }
    line(&mut text, &rule);
    // Of all, it is all of it, also where that is too little to be seen.
    line(&mut text, &|column| match column {
        SummaryColumn::Percent => "100.00".to_owned(),
        _ => strace_cell(column, &total, total.figures.total),
    });
    text
}

fn strace_title(column: SummaryColumn) -> &'static str {
    match column {
        SummaryColumn::Percent => "% time",
        SummaryColumn::Total => "seconds",
        SummaryColumn::Least => "shortest",
        SummaryColumn::Most => "longest",
        SummaryColumn::Mean => "usecs/call",
        SummaryColumn::Name => "syscall",
        other => title(other),
    }
}

fn strace_width(column: SummaryColumn) -> usize {
    match column {
        SummaryColumn::Percent => 6,
        SummaryColumn::Total | SummaryColumn::Mean => 11,
        SummaryColumn::Least
        | SummaryColumn::Most
        | SummaryColumn::P50
        | SummaryColumn::P90
        | SummaryColumn::P99 => 8,
        SummaryColumn::Calls
        | SummaryColumn::Errors
        | SummaryColumn::Read
        | SummaryColumn::Written => 9,
        SummaryColumn::Name => 16,
    }
}

fn strace_cell(column: SummaryColumn, row: &SummaryRow, all: u64) -> String {
    let figures = &row.figures;
    let seconds = |nanoseconds: u64| format!("{:.6}", nanoseconds as f64 / 1e9);
    match column {
        SummaryColumn::Percent => share(figures.total, all),
        SummaryColumn::Total => seconds(figures.total),
        SummaryColumn::Least => seconds(figures.least),
        SummaryColumn::Most => seconds(figures.most),
        SummaryColumn::Mean => (figures.mean() / 1000).to_string(),
        SummaryColumn::P50 => seconds(figures.quantile(0.5)),
        SummaryColumn::P90 => seconds(figures.quantile(0.9)),
        SummaryColumn::P99 => seconds(figures.quantile(0.99)),
        SummaryColumn::Calls => figures.calls.to_string(),
        SummaryColumn::Errors if figures.errors == 0 => String::new(),
        SummaryColumn::Errors => figures.errors.to_string(),
        SummaryColumn::Read => row.read.to_string(),
        SummaryColumn::Written => row.written.to_string(),
        SummaryColumn::Name => row.name.clone(),
    }
}

/// A percentage with two digits behind the point.
fn share(part: u64, all: u64) -> String {
    match all {
        0 => "0.00".to_owned(),
        all => format!("{:.2}", 100.0 * part as f64 / all as f64),
    }
}

/// A table with units, and what its rows are in the title of the last column.
pub(super) fn aligned_table(
    mut rows: Vec<SummaryRow>,
    options: &TableOptions,
    what: &str,
) -> String {
    let (total, cut) = options.apply(&mut rows);
    with_units(&rows, (&total, cut), &options.columns, what)
}

/// The same of rows that are sorted and cut already.
pub(super) fn with_units(
    rows: &[SummaryRow],
    (total, cut): (&SummaryRow, usize),
    columns: &[SummaryColumn],
    what: &str,
) -> String {
    let titles = columns.iter().map(|column| match column {
        SummaryColumn::Name => what.to_owned(),
        column => title(*column).to_owned(),
    });
    let mut lines = vec![titles.collect()];
    for row in rows.iter().chain([total]) {
        let cells = columns.iter();
        lines.push(
            cells
                .map(|column| cell(*column, row, total.figures.total))
                .collect(),
        );
    }
    let mut text = aligned(&lines);
    note_cut(&mut text, cut, "row");
    text
}

/// Says how many of something aren't shown.
pub(super) fn note_cut(text: &mut String, cut: usize, what: &str) {
    let ending = match what {
        _ if cut == 1 => " isn't",
        "process" => "es aren't",
        _ => "s aren't",
    };
    if cut > 0 {
        let _ = writeln!(text, "{cut} more {what}{ending} shown");
    }
}

fn title(column: SummaryColumn) -> &'static str {
    match column {
        SummaryColumn::Percent => "% time",
        SummaryColumn::Total => "total",
        SummaryColumn::Least => "min",
        SummaryColumn::Most => "max",
        SummaryColumn::Mean => "mean",
        SummaryColumn::Calls => "calls",
        SummaryColumn::Errors => "errors",
        SummaryColumn::P50 => "p50",
        SummaryColumn::P90 => "p90",
        SummaryColumn::P99 => "p99",
        SummaryColumn::Read => "read",
        SummaryColumn::Written => "written",
        SummaryColumn::Name => "name",
    }
}

fn cell(column: SummaryColumn, row: &SummaryRow, all: u64) -> String {
    let figures = &row.figures;
    match column {
        SummaryColumn::Percent => share(figures.total, all),
        SummaryColumn::Total => duration(figures.total),
        SummaryColumn::Least => duration(figures.least),
        SummaryColumn::Most => duration(figures.most),
        SummaryColumn::Mean => duration(figures.mean()),
        SummaryColumn::P50 => duration(figures.quantile(0.5)),
        SummaryColumn::P90 => duration(figures.quantile(0.9)),
        SummaryColumn::P99 => duration(figures.quantile(0.99)),
        SummaryColumn::Calls => figures.calls.to_string(),
        SummaryColumn::Errors => figures.errors.to_string(),
        SummaryColumn::Read => size(row.read),
        SummaryColumn::Written => size(row.written),
        SummaryColumn::Name => row.name.clone(),
    }
}

/// A histogram for each row: a line for each doubling of the time, with its count and a bar.
pub(super) fn histograms(mut rows: Vec<SummaryRow>, options: &TableOptions) -> String {
    let (_, cut) = options.apply(&mut rows);
    let mut text = String::new();
    for row in &rows {
        let figures = &row.figures;
        let plural = if figures.calls == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "{}: {} call{plural}, {} errors, p50 {}, p90 {}, p99 {}, max {}",
            row.name,
            figures.calls,
            figures.errors,
            duration(figures.quantile(0.5)),
            duration(figures.quantile(0.9)),
            duration(figures.quantile(0.99)),
            duration(figures.most),
        );
        let doublings = figures.times.doublings();
        let longest = doublings.iter().map(|(.., count)| *count).max();
        let longest = longest.unwrap_or(1).max(1);
        let lines: Vec<Vec<String>> = doublings
            .iter()
            .map(|(start, end, count)| {
                // Whatever was counted has a bar.
                let bar = (u128::from(*count) * u128::from(LONGEST_BAR))
                    .div_ceil(u128::from(longest))
                    .min(u128::from(LONGEST_BAR));
                vec![
                    format!("  {}", duration(*start)),
                    format!("to {}", duration(*end)),
                    count.to_string(),
                    "#".repeat(bar as usize),
                ]
            })
            .collect();
        text.push_str(&aligned(&lines));
        text.push('\n');
    }
    note_cut(&mut text, cut, "histogram");
    text
}

/// A time in nanoseconds with a unit and three figures.
pub(super) fn duration(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{} µs", three_figures(value / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", three_figures(value / 1e6)),
        _ => format!("{} s", three_figures(value / 1e9)),
    }
}

/// A number of bytes with a unit and three figures.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while value >= 1024.0 && units.len() > 0 {
        (value, unit) = (value / 1024.0, units.next());
    }
    format!("{} {}", three_figures(value), unit.unwrap_or(&"EiB"))
}

fn three_figures(value: f64) -> String {
    let digits = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.digits$}")
}

/// Cells in columns that are as wide as they must be, to the right but for the last.
pub(super) fn aligned(lines: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for line in lines {
        widths.resize(widths.len().max(line.len()), 0);
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in lines {
        for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = match index + 1 == line.len() {
                true => write!(text, "{cell}"),
                false => write!(text, "{cell:>width$}  "),
            };
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, times: &[u64]) -> SummaryRow {
        let mut figures = CallStatistics::default();
        for time in times {
            figures.add(*time, false);
        }
        SummaryRow {
            name: name.to_owned(),
            figures,
            read: 5000,
            written: 0,
        }
    }

    #[test]
    fn rows_that_are_cut_are_in_the_total() {
        let options = TableOptions {
            top: Some(1),
            ..TableOptions::new(&SummaryColumn::OF_FILES)
        };
        let rows = vec![row("/a", &[10]), row("/b", &[1000, 1000])];
        assert_eq!(
            aligned_table(rows, &options, "file"),
            [
                "  total  calls  errors      read  written  file\n",
                "2.00 µs      2       0  4.88 KiB      0 B  /b\n",
                "2.01 µs      3       0  9.77 KiB      0 B  total\n",
                "1 more row isn't shown\n",
            ]
            .concat()
        );
    }

    #[test]
    fn rows_that_are_equal_keep_their_order() {
        let mut rows = vec![
            row("read", &[10]),
            row("access", &[10]),
            row("close", &[20]),
        ];
        sort_rows(&mut rows, SummaryOrder::Time);
        let names = rows.iter().map(|row| row.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["close", "read", "access"]);
    }

    #[test]
    fn a_histogram_has_a_bar_for_each_doubling() {
        let options = TableOptions::new(&SummaryColumn::PERCENTILES);
        let times = [vec![1500; 299], vec![5000; 1]].concat();
        assert_eq!(
            histograms(vec![row("read", &times)], &options),
            "\
read: 300 calls, 0 errors, p50 1.50 µs, p90 1.50 µs, p99 1.50 µs, max 5.00 µs
  1.02 µs  to 2.05 µs  299  ########################################
  2.05 µs  to 4.10 µs    0
  4.10 µs  to 8.19 µs    1  #

"
        );
    }

    #[test]
    fn sizes_have_units() {
        let said = [0, 1023, 1024, 1 << 20, u64::MAX].map(size);
        assert_eq!(said, ["0 B", "1023 B", "1.00 KiB", "1.00 MiB", "16.0 EiB"]);
    }
}
