//! A summary for programs: an object on one line, which stands behind the lines of a trace or alone. Times are in nanoseconds.

use serde::Serialize;

use super::by_file::FileRow;
use super::by_process::ProcessRow;
use super::{CallStatistics, CallSummary, SummaryGrouping, SummaryRow, TableOptions};

/// A summary.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SummaryLine {
    /// Always `summary`.
    r#type: LineType,
    /// What its rows are.
    by: GroupingName,
    /// Which time of a call is counted.
    times: TimeKind,
    /// The rows, in the order that was asked for.
    rows: Vec<SummaryLineRow>,
    /// How many more rows there are.
    not_shown: usize,
    /// All calls that were counted, each once.
    total: FigureLine,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum LineType {
    Summary,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
enum GroupingName {
    /// Calls.
    #[serde(rename = "call")]
    Call,
    /// Calls, for each process.
    #[serde(rename = "process,call")]
    ProcessAndCall,
    /// Files by their paths.
    #[serde(rename = "path")]
    Path,
    /// Descriptors of each process.
    #[serde(rename = "fd")]
    Descriptor,
    /// Processes, each before its children.
    #[serde(rename = "process")]
    Process,
}

/// Which time of a call is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum TimeKind {
    /// From its beginning to its end.
    Clock,
    /// As long as processors worked on it.
    Processor,
}

/// A row: a call, a file, a descriptor or a process, with its figures.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SummaryLineRow {
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    /// The process that made it, where that was traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<i32>,
    /// The name of the process's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<String>,
    /// The name of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// The descriptor.
    #[serde(skip_serializing_if = "Option::is_none")]
    fd: Option<i32>,
    /// The file: its path, or what it is instead, as `pipe`. Of a descriptor that was several, the one with most calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// How many files the descriptor was, one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    /// Its own calls.
    #[serde(flatten)]
    figures: FigureLine,
    /// The calls of a process and of all below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<FigureLine>,
}

/// Counts and times, in nanoseconds.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FigureLine {
    /// How many calls.
    calls: u64,
    /// How many of them failed.
    errors: u64,
    /// How long all took together.
    time: u64,
    /// How long one took, on average.
    mean: u64,
    /// The shortest.
    min: u64,
    /// The longest.
    max: u64,
    /// The time that half of them didn't exceed, where the distribution is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50: Option<u64>,
    /// The time that nine of ten didn't exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    p90: Option<u64>,
    /// The time that 99 of 100 didn't exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99: Option<u64>,
    /// Bytes that were read from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<u64>,
    /// Bytes that were written to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<u64>,
    /// How many took how long, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    histogram: Option<Vec<HistogramBin>>,
}

/// The calls that took from `from` to less than `to`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct HistogramBin {
    /// In nanoseconds.
    from: u64,
    /// In nanoseconds.
    to: u64,
    /// How many.
    calls: u64,
}

impl FigureLine {
    fn new(figures: &CallStatistics, histogram: bool) -> Self {
        let is_known = figures.times.quantile(0.5).is_some();
        let quantile = |part| is_known.then(|| figures.quantile(part));
        let bins = figures.times.doublings().into_iter();
        Self {
            calls: figures.calls,
            errors: figures.errors,
            time: figures.total,
            mean: figures.mean(),
            min: figures.least,
            max: figures.most,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            histogram: histogram.then(|| {
                bins.map(|(from, to, calls)| HistogramBin { from, to, calls })
                    .collect()
            }),
            ..Self::default()
        }
    }

    fn of_file(row: &SummaryRow, histogram: bool) -> Self {
        Self {
            read: Some(row.read),
            written: Some(row.written),
            ..Self::new(&row.figures, histogram)
        }
    }
}

impl SummaryLine {
    pub(super) fn new(by: SummaryGrouping, times: TimeKind) -> Self {
        Self {
            r#type: LineType::Summary,
            by: match by {
                SummaryGrouping::Call => GroupingName::Call,
                SummaryGrouping::ProcessAndCall => GroupingName::ProcessAndCall,
                SummaryGrouping::Path => GroupingName::Path,
                SummaryGrouping::Descriptor => GroupingName::Descriptor,
                SummaryGrouping::Process => GroupingName::Process,
            },
            times,
            rows: Vec::new(),
            not_shown: 0,
            total: FigureLine::default(),
        }
    }

    pub(super) fn with_calls(
        mut self,
        mut rows: Vec<SummaryRow>,
        options: &TableOptions,
        histograms: bool,
    ) -> Self {
        let (total, cut) = options.apply(&mut rows);
        self.not_shown = cut;
        self.total = FigureLine::new(&total.figures, histograms);
        self.rows.extend(rows.into_iter().map(|row| SummaryLineRow {
            figures: FigureLine::new(&row.figures, histograms),
            call: Some(row.name),
            ..SummaryLineRow::default()
        }));
        self
    }

    /// Of each process so many rows.
    pub(super) fn with_calls_of_processes(
        mut self,
        calls: &CallSummary,
        options: &TableOptions,
        histograms: bool,
    ) -> Self {
        let mut total = vec![SummaryRow {
            figures: calls.total(),
            ..SummaryRow::default()
        }];
        options.without_limit().apply(&mut total);
        self.total = FigureLine::new(&total[0].figures, histograms);
        for (pid, calls) in calls.processes() {
            let mut rows = calls.into_iter().map(SummaryRow::from).collect();
            self.not_shown += options.apply(&mut rows).1;
            self.rows.extend(rows.into_iter().map(|row| SummaryLineRow {
                pid: Some(pid),
                figures: FigureLine::new(&row.figures, histograms),
                call: Some(row.name),
                ..SummaryLineRow::default()
            }));
        }
        self
    }

    pub(super) fn with_files(
        mut self,
        files: &[FileRow],
        (total, cut): (&SummaryRow, usize),
        histograms: bool,
    ) -> Self {
        self.not_shown = cut;
        self.total = FigureLine::of_file(total, histograms);
        self.rows.extend(files.iter().map(|file| SummaryLineRow {
            pid: file.descriptor.map(|(pid, _)| pid),
            fd: file.descriptor.map(|(_, fd)| fd),
            file: Some(file.row.name.clone()),
            files: file.descriptor.map(|_| file.files),
            figures: FigureLine::of_file(&file.row, histograms),
            ..SummaryLineRow::default()
        }));
        self
    }

    pub(super) fn with_processes(
        mut self,
        rows: Vec<ProcessRow>,
        total: &CallStatistics,
        top: Option<usize>,
    ) -> Self {
        let shown = top.unwrap_or(usize::MAX).min(rows.len());
        self.not_shown = rows.len() - shown;
        self.total = FigureLine::new(total, false);
        let rows = rows.into_iter().take(shown);
        self.rows.extend(rows.map(|row| SummaryLineRow {
            pid: Some(row.pid),
            parent: row.parent,
            process: Some(row.name),
            figures: FigureLine::new(&row.own, false),
            tree: Some(FigureLine::new(&row.tree, false)),
            ..SummaryLineRow::default()
        }));
        self
    }
}
