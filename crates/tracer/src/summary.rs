//! Summaries: how often each call was made, how often it failed, how long it took; strace's table, one with percentiles, and the
//! differences of two summaries.
//!
//! Times are wall-clock times, sleeping included, or processor times where the options ask for them. A histogram counts them in 32
//! buckets for each doubling, so that a percentile is wrong by 3 % at most.

mod call_counts;
mod changes;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::time::Duration;

use backsight_syscall_decode::{Abi, EventKind, SyscallOutcome, SyscallRecord, TraceEvent, table};
use serde::{Deserialize, Serialize};

pub use call_counts::CallCounts;
pub use changes::{CallChange, compare_summaries, format_changes};

/// Buckets of each doubling, as a power of two.
const FINE: u32 = 5;

/// Counts of times in buckets that grow with them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Histogram {
    buckets: Vec<u64>,
}

impl Histogram {
    /// Counts a time in nanoseconds.
    pub fn add(&mut self, value: u64) {
        self.fill(bucket(value), 1);
    }

    /// Counts so many times that belong into this bucket.
    pub(crate) fn fill(&mut self, bucket: usize, times: u64) {
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += times;
    }

    /// Counts what another counted.
    pub fn merge(&mut self, other: &Histogram) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }

    /// The time that this part of all, from 0 to 1, didn't exceed; the middle of its bucket, in nanoseconds. Nothing if
    /// nothing was counted.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let all: u64 = self.buckets.iter().sum();
        if all == 0 {
            return None;
        }
        let rank = ((part * all as f64).ceil() as u64).clamp(1, all);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(middle(bucket));
            }
        }
        None
    }
}

/// Where a time is counted; `bpf/bucket.h` is its twin.
pub(crate) fn bucket(value: u64) -> usize {
    let doublings = (63 - (value | 1).leading_zeros()).saturating_sub(FINE);
    ((u64::from(doublings) << FINE) + (value >> doublings)) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let doublings = (bucket >> FINE).saturating_sub(1);
    let start = (bucket - (doublings << FINE)) << doublings;
    start + ((1 << doublings) - 1) / 2
}

/// What is known of one call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallStatistics {
    /// How often it was made.
    pub calls: u64,
    /// How often it failed.
    pub errors: u64,
    /// How long all took together, in nanoseconds.
    pub total: u64,
    /// The shortest, in nanoseconds.
    pub least: u64,
    /// The longest, in nanoseconds.
    pub most: u64,
    /// How the times are distributed.
    pub times: Histogram,
}

impl CallStatistics {
    fn add(&mut self, took: u64, failed: bool) {
        self.least = if self.calls == 0 {
            took
        } else {
            self.least.min(took)
        };
        self.most = self.most.max(took);
        self.calls += 1;
        self.errors += u64::from(failed);
        self.total = self.total.saturating_add(took);
        self.times.add(took);
    }

    fn merge(&mut self, other: &CallStatistics) {
        if other.calls == 0 {
            return;
        }
        self.least = if self.calls == 0 {
            other.least
        } else {
            self.least.min(other.least)
        };
        self.most = self.most.max(other.most);
        self.calls += other.calls;
        self.errors += other.errors;
        self.total = self.total.saturating_add(other.total);
        self.times.merge(&other.times);
    }

    /// Takes so much off each call; what is left of one isn't less than nothing.
    fn shorten(&mut self, overhead: u64) {
        let less = |time: u64, calls: u64| time.saturating_sub(overhead.saturating_mul(calls));
        self.total = less(self.total, self.calls);
        self.least = less(self.least, 1);
        self.most = less(self.most, 1);
    }

    /// How long one took, in nanoseconds.
    pub fn mean(&self) -> u64 {
        self.total.checked_div(self.calls).unwrap_or(0)
    }

    /// A quantile of the times, never outside of the shortest and the longest.
    pub fn quantile(&self, part: f64) -> u64 {
        self.times
            .quantile(part)
            .unwrap_or(0)
            .clamp(self.least, self.most.max(self.least))
    }
}

/// Counts of every call of every process. Where the kernel counted, it counted those of all processes together, and they
/// are said to be of process 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallSummary {
    counted: HashMap<(i32, Abi, u64), CallStatistics>,
}

/// What rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryOrder {
    /// All the time, longest first.
    Time,
    /// The shortest, longest first.
    Least,
    /// The longest, longest first.
    Most,
    /// The mean, longest first.
    Mean,
    /// How often, most first.
    Calls,
    /// Failures, most first.
    Errors,
    /// The name.
    Name,
    /// Not at all: by number.
    Nothing,
}

impl SummaryOrder {
    /// By strace's name for it.
    pub fn named(name: &str) -> Option<SummaryOrder> {
        Some(match name.replace('_', "-").as_str() {
            "time" | "time-total" | "total-time" | "time-percent" => SummaryOrder::Time,
            "min-time" | "shortest" | "time-min" => SummaryOrder::Least,
            "max-time" | "longest" | "time-max" => SummaryOrder::Most,
            "avg-time" | "time-avg" => SummaryOrder::Mean,
            "calls" | "count" => SummaryOrder::Calls,
            "errors" | "error" => SummaryOrder::Errors,
            "name" | "syscall" | "syscall-name" => SummaryOrder::Name,
            "none" | "nothing" => SummaryOrder::Nothing,
            _ => return None,
        })
    }
}

/// A column of strace's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryColumn {
    /// Which part of all the time.
    Percent,
    /// All the time, in seconds.
    Total,
    /// The shortest, in seconds.
    Least,
    /// The longest, in seconds.
    Most,
    /// The mean, in microseconds.
    Mean,
    /// How often.
    Calls,
    /// How often it failed.
    Errors,
    /// The name.
    Name,
}

impl SummaryColumn {
    /// What strace shows when nothing else is asked for.
    pub const USUAL: [SummaryColumn; 6] = [
        SummaryColumn::Percent,
        SummaryColumn::Total,
        SummaryColumn::Mean,
        SummaryColumn::Calls,
        SummaryColumn::Errors,
        SummaryColumn::Name,
    ];

    /// Columns by strace's names for them, with commas between; that of the names of calls is always there.
    ///
    /// # Errors
    /// The name that no column has.
    pub fn parse_list(names: &str) -> Result<Vec<SummaryColumn>, String> {
        let named = |name: &str| Self::from_name(name).ok_or_else(|| name.to_owned());
        let mut columns: Vec<_> = names.split(',').map(named).collect::<Result<_, _>>()?;
        if !columns.contains(&SummaryColumn::Name) {
            columns.push(SummaryColumn::Name);
        }
        Ok(columns)
    }

    /// By strace's name for it.
    pub fn from_name(name: &str) -> Option<SummaryColumn> {
        Some(match name.replace('_', "-").as_str() {
            "time-percent" | "time" => SummaryColumn::Percent,
            "total-time" | "time-total" => SummaryColumn::Total,
            "min-time" | "shortest" | "time-min" => SummaryColumn::Least,
            "max-time" | "longest" | "time-max" => SummaryColumn::Most,
            "avg-time" | "time-avg" => SummaryColumn::Mean,
            "calls" | "count" => SummaryColumn::Calls,
            "errors" | "error" => SummaryColumn::Errors,
            "name" | "syscall" | "syscall-name" => SummaryColumn::Name,
            _ => return None,
        })
    }

    fn title(self) -> &'static str {
        match self {
            SummaryColumn::Percent => "% time",
            SummaryColumn::Total => "seconds",
            SummaryColumn::Least => "shortest",
            SummaryColumn::Most => "longest",
            SummaryColumn::Mean => "usecs/call",
            SummaryColumn::Calls => "calls",
            SummaryColumn::Errors => "errors",
            SummaryColumn::Name => "syscall",
        }
    }

    fn width(self) -> usize {
        match self {
            SummaryColumn::Percent => 6,
            SummaryColumn::Total | SummaryColumn::Mean => 11,
            SummaryColumn::Least | SummaryColumn::Most => 8,
            SummaryColumn::Calls | SummaryColumn::Errors => 9,
            SummaryColumn::Name => 16,
        }
    }

    fn value(self, name: &str, figures: &CallStatistics, all: u64) -> String {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        match self {
            SummaryColumn::Percent if all == 0 => "0.00".to_owned(),
            SummaryColumn::Percent => format!("{:.2}", 100.0 * figures.total as f64 / all as f64),
            SummaryColumn::Total => format!("{:.6}", seconds(figures.total)),
            SummaryColumn::Least => format!("{:.6}", seconds(figures.least)),
            SummaryColumn::Most => format!("{:.6}", seconds(figures.most)),
            SummaryColumn::Mean => (figures.mean() / 1000).to_string(),
            SummaryColumn::Calls => figures.calls.to_string(),
            SummaryColumn::Errors if figures.errors == 0 => String::new(),
            SummaryColumn::Errors => figures.errors.to_string(),
            SummaryColumn::Name => name.to_owned(),
        }
    }
}

impl CallSummary {
    /// Nothing counted yet.
    pub fn new() -> Self {
        CallSummary::default()
    }

    /// Counts what an event says: calls that came back, and those that never do, with no time.
    pub fn add(&mut self, event: &TraceEvent) {
        if let EventKind::Call(call) = &event.kind {
            self.count(event.pid, call);
        }
    }

    /// Takes what happens: counts the calls, and passes the rest on.
    pub(crate) fn counting(&mut self, rest: &mut dyn FnMut(TraceEvent)) -> impl FnMut(TraceEvent) {
        |event| match &event.kind {
            EventKind::Call(call) => self.count(event.pid, call),
            _ => rest(event),
        }
    }

    fn count(&mut self, pid: i32, call: &SyscallRecord) {
        let took = match call.outcome {
            SyscallOutcome::Returned { took, .. } => call.worked.unwrap_or(took),
            SyscallOutcome::Open => 0,
        };
        let failed = call.error().is_some();
        self.counted
            .entry((pid, call.abi, call.number))
            .or_default()
            .add(took, failed);
    }

    /// Counts calls that were counted elsewhere, as within the kernel.
    pub fn merge(&mut self, pid: i32, abi: Abi, number: u64, figures: &CallStatistics) {
        self.counted
            .entry((pid, abi, number))
            .or_default()
            .merge(figures);
    }

    /// The figures of each call of all processes together, by number.
    pub fn calls(&self) -> Vec<(String, CallStatistics)> {
        let mut together: BTreeMap<(Abi, u64), CallStatistics> = BTreeMap::new();
        for ((_, abi, number), figures) in &self.counted {
            together.entry((*abi, *number)).or_default().merge(figures);
        }
        together
            .into_iter()
            .map(|((abi, number), figures)| (name(abi, number), figures))
            .collect()
    }

    /// The figures of all calls of all processes together.
    pub fn total(&self) -> CallStatistics {
        total(&self.calls())
    }

    /// The figures of each call of each process, by process and number.
    pub fn processes(&self) -> Vec<(i32, Vec<(String, CallStatistics)>)> {
        let mut processes: BTreeMap<i32, BTreeMap<(Abi, u64), &CallStatistics>> = BTreeMap::new();
        for ((pid, abi, number), figures) in &self.counted {
            processes
                .entry(*pid)
                .or_default()
                .insert((*abi, *number), figures);
        }
        let named = |calls: BTreeMap<(Abi, u64), &CallStatistics>| {
            calls
                .into_iter()
                .map(|((abi, number), figures)| (name(abi, number), figures.clone()))
                .collect()
        };
        processes
            .into_iter()
            .map(|(pid, calls)| (pid, named(calls)))
            .collect()
    }

    /// strace's table of `-c`, each call having taken so much less.
    pub fn strace_table(
        &self,
        columns: &[SummaryColumn],
        sort: SummaryOrder,
        overhead: Duration,
    ) -> String {
        let mut rows = self.calls();
        for (_, figures) in &mut rows {
            figures.shorten(u64::try_from(overhead.as_nanos()).unwrap_or(u64::MAX));
        }
        sort_rows(&mut rows, sort);
        let total = total(&rows);
        let mut text = String::new();
        let line = |text: &mut String, cell: &dyn Fn(SummaryColumn) -> String| {
            for (index, column) in columns.iter().enumerate() {
                let (cell, width) = (cell(*column), column.width());
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
        let rule = |column: SummaryColumn| "-".repeat(column.width());
        line(&mut text, &|column| column.title().to_owned());
        line(&mut text, &rule);
        for (name, figures) in &rows {
            line(&mut text, &|column| {
                column.value(name, figures, total.total)
            });
        }
        line(&mut text, &rule);
        line(&mut text, &|column| {
            column.value("total", &total, total.total)
        });
        text
    }

    /// A wider table: calls, errors, time, mean, percentiles and the longest.
    pub fn percentile_table(&self, sort: SummaryOrder) -> String {
        let mut rows = self.calls();
        sort_rows(&mut rows, sort);
        percentile_table(&rows)
    }

    /// The wider table for each process.
    pub fn percentile_table_by_process(&self, sort: SummaryOrder) -> String {
        let mut text = String::new();
        for (pid, mut rows) in self.processes() {
            sort_rows(&mut rows, sort);
            let _ = writeln!(text, "process {pid}");
            text.push_str(&percentile_table(&rows));
            text.push('\n');
        }
        text
    }
}

fn name(abi: Abi, number: u64) -> String {
    let named = table::find_syscall(abi, number)
        .map_or_else(|| format!("syscall_{number:#x}"), |row| row.name.to_owned());
    // Calls of 32-bit programs have other numbers, and some other arguments: they are counted apart.
    if abi == Abi::I386 {
        format!("{named} (32 bit)")
    } else {
        named
    }
}

fn total(rows: &[(String, CallStatistics)]) -> CallStatistics {
    let mut total = CallStatistics::default();
    for (_, figures) in rows {
        total.merge(figures);
    }
    total
}

fn sort_rows(rows: &mut [(String, CallStatistics)], sort: SummaryOrder) {
    let key = |figures: &CallStatistics| match sort {
        SummaryOrder::Time => figures.total,
        SummaryOrder::Least => figures.least,
        SummaryOrder::Most => figures.most,
        SummaryOrder::Mean => figures.mean(),
        SummaryOrder::Calls => figures.calls,
        SummaryOrder::Errors => figures.errors,
        SummaryOrder::Name | SummaryOrder::Nothing => 0,
    };
    match sort {
        SummaryOrder::Nothing => {}
        SummaryOrder::Name => rows.sort_by(|a, b| a.0.cmp(&b.0)),
        _ => rows.sort_by(|a, b| key(&b.1).cmp(&key(&a.1)).then_with(|| a.0.cmp(&b.0))),
    }
}

/// A time in nanoseconds with a unit and three figures.
fn duration(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    let (value, unit) = match nanoseconds {
        0..1_000 => return format!("{nanoseconds} ns"),
        1_000..1_000_000 => (value / 1e3, "µs"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    let digits = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.digits$} {unit}")
}

fn percentile_table(rows: &[(String, CallStatistics)]) -> String {
    let total = total(rows);
    let titles = [
        "calls", "errors", "total", "mean", "p50", "p90", "p99", "max", "call",
    ];
    let mut lines = vec![titles.map(str::to_owned)];
    let every = rows.iter().map(|(name, figures)| (name.as_str(), figures));
    for (name, figures) in every.chain(std::iter::once(("total", &total))) {
        lines.push([
            figures.calls.to_string(),
            figures.errors.to_string(),
            duration(figures.total),
            duration(figures.mean()),
            duration(figures.quantile(0.5)),
            duration(figures.quantile(0.9)),
            duration(figures.quantile(0.99)),
            duration(figures.most),
            name.to_owned(),
        ]);
    }
    aligned(&lines)
}

/// Cells in columns that are as wide as they must be, to the right but for the last.
fn aligned<const N: usize>(lines: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in lines {
        for (index, (cell, width)) in line.iter().zip(widths).enumerate() {
            let _ = if index + 1 == N {
                writeln!(text, "{cell}")
            } else {
                write!(text, "{cell:>width$}  ")
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::CapturedMemory;
    use proptest::prelude::*;

    fn event(pid: i32, name: &str, value: i64, took: u64) -> TraceEvent {
        let call = SyscallRecord {
            abi: Abi::X86_64,
            number: table::syscall_number(Abi::X86_64, name).unwrap(),
            arguments: [0; 6],
            entered: 0,
            outcome: SyscallOutcome::Returned { value, took },
            memory: CapturedMemory::default(),
            injected: false,
            rewritten: false,
            delayed: false,
            instruction: None,
            worked: None,
        };
        TraceEvent {
            pid,
            tid: pid,
            at: 0,
            kind: EventKind::Call(call),
        }
    }

    pub fn summary(events: &[(i32, &str, i64, u64)]) -> CallSummary {
        let mut summary = CallSummary::new();
        for (pid, name, value, took) in events {
            summary.add(&event(*pid, name, *value, *took));
        }
        summary
    }

    #[test]
    fn the_table_is_that_of_strace() {
        let summary = summary(&[
            (1, "read", 5, 30_000),
            (2, "read", -11, 10_000),
            (1, "close", 0, 10_400),
        ]);
        assert_eq!(
            summary.strace_table(&SummaryColumn::USUAL, SummaryOrder::Time, Duration::ZERO),
            "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 79.37    0.000040          20         2         1 read
 20.63    0.000010          10         1           close
------ ----------- ----------- --------- --------- ----------------
100.00    0.000050          16         3         1 total
"
        );
        assert_eq!(
            summary.strace_table(
                &[
                    SummaryColumn::Name,
                    SummaryColumn::Calls,
                    SummaryColumn::Least
                ],
                SummaryOrder::Name,
                Duration::ZERO
            ),
            "\
syscall              calls shortest
---------------- --------- --------
close                    1 0.000010
read                     2 0.000010
---------------- --------- --------
total                    3 0.000010
"
        );
    }

    #[test]
    fn the_wide_table_has_percentiles() {
        let events: Vec<_> = (1..=100)
            .map(|number| (1, "read", 1, number * 1000))
            .collect();
        let text = summary(&events).percentile_table(SummaryOrder::Time);
        assert!(
            text.lines()
                .nth(1)
                .unwrap()
                .starts_with("  100       0  5.05 ms  50.5 µs  49.7 µs  89.1 µs  99.3 µs"),
            "{text}"
        );
        assert!(
            text.lines().nth(1).unwrap().ends_with("100 µs  read"),
            "{text}"
        );
        assert!(
            summary(&[(7, "read", 1, 1)])
                .percentile_table_by_process(SummaryOrder::Time)
                .starts_with("process 7\n")
        );
    }

    proptest! {
        #[test]
        fn quantiles_are_right_to_three_percent(mut times in proptest::collection::vec(0_u64..1 << 40, 1..200), part in 0.0_f64..=1.0) {
            let mut histogram = Histogram::default();
            for time in &times {
                histogram.add(*time);
            }
            times.sort_unstable();
            let rank = ((part * times.len() as f64).ceil() as usize).clamp(1, times.len());
            let (exact, said) = (times[rank - 1] as f64, histogram.quantile(part).unwrap() as f64);
            prop_assert!((said - exact).abs() <= exact * 0.032 + 0.5, "{said} instead of {exact}");
        }

        #[test]
        fn counting_apart_and_together_is_the_same(
            events in proptest::collection::vec((1..4_i32, 0_usize..3, -20_i64..20, 0_u64..1 << 50), 0..60), split in 0_usize..60,
        ) {
            let events: Vec<_> = events.iter().map(|(pid, name, value, took)| (*pid, ["read", "write", "close"][*name], *value, *took)).collect();
            let (first, second) = events.split_at(split.min(events.len()));
            let mut merged = summary(first);
            for ((pid, abi, number), figures) in summary(second).counted {
                merged.merge(pid, abi, number, &figures);
            }
            let together = summary(&events);
            prop_assert_eq!(merged.calls().into_iter().map(|(name, figures)| (name, figures.calls, figures.errors, figures.total, figures.least, figures.most)).collect::<Vec<_>>(),
                together.calls().into_iter().map(|(name, figures)| (name, figures.calls, figures.errors, figures.total, figures.least, figures.most)).collect::<Vec<_>>());
        }
    }
}
