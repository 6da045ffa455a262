//! Summaries: how often each call was made, how often it failed, how long it took; strace's table, one with percentiles, and the
//! differences of two summaries.
//!
//! Times are wall-clock times, sleeping included, or processor times where the options ask for them.

mod by_file;
mod by_process;
mod call_counts;
mod changes;
mod column;
mod grouping;
mod histogram;
mod run_comparison;
mod summary_line;
mod tables;
mod trace_summary;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use backsight_syscall_decode::{Abi, EventKind, SyscallOutcome, SyscallRecord, TraceEvent, table};
use serde::{Deserialize, Serialize};

use crate::emit::Emit;

pub use call_counts::CallCounts;
pub use changes::{CallChange, compare_summaries, format_changes};
pub use column::{SummaryColumn, SummaryOrder};
pub use grouping::{SummaryGrouping, calls_of_summary};
pub use histogram::Histogram;
#[cfg(test)]
pub(crate) use histogram::bucket;
pub use run_comparison::{
    CallComparison, FEWEST_RUNS, MeasureComparison, MeasureVerdict, RunComparison,
};
pub use summary_line::{FigureLine, HistogramBin, SummaryLine, SummaryLineRow};
pub use tables::{SummaryRow, TableOptions};
pub use trace_summary::{SummaryForm, SummaryView, TraceSummary};

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
        self.count(took, failed, true);
    }

    /// Counts a call, with or without the distribution of times.
    fn count(&mut self, took: u64, failed: bool, distribution: bool) {
        self.least = if self.calls == 0 {
            took
        } else {
            self.least.min(took)
        };
        self.most = self.most.max(took);
        self.calls += 1;
        self.errors += u64::from(failed);
        self.total = self.total.saturating_add(took);
        if distribution {
            self.times.add(took);
        }
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
    pub(crate) fn counting(&mut self, rest: &mut Emit<'_>) -> impl FnMut(TraceEvent) + Send {
        |event| match &event.kind {
            EventKind::Call(call) => self.count(event.pid, call),
            _ => rest(event),
        }
    }

    fn count(&mut self, pid: i32, call: &SyscallRecord) {
        let (took, failed) = time_and_failure(call);
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
        self.together()
            .into_iter()
            .map(|((abi, number), figures)| (name(abi, number), figures))
            .collect()
    }

    fn together(&self) -> BTreeMap<(Abi, u64), CallStatistics> {
        let mut together: BTreeMap<(Abi, u64), CallStatistics> = BTreeMap::new();
        for ((_, abi, number), figures) in &self.counted {
            together.entry((*abi, *number)).or_default().merge(figures);
        }
        together
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

    /// strace's tables of `-c`: one for each way of calling that was used, none where no call was made.
    pub fn strace_table(&self, options: &TableOptions) -> String {
        let (narrow, wide): (Vec<_>, Vec<_>) = self
            .together()
            .into_iter()
            .partition(|((abi, _), _)| abi.is_narrow());
        let title = "System call usage summary for 32 bit mode:\n";
        let mut text = String::new();
        for (title, calls) in [("", wide), (title, narrow)] {
            if calls.is_empty() {
                continue;
            }
            let named = calls
                .into_iter()
                .map(|((abi, number), figures)| (bare_name(abi, number), figures));
            let rows = named.map(SummaryRow::from).collect();
            text.push_str(title);
            text.push_str(&tables::strace_table(rows, options));
        }
        text
    }

    /// A wider table, as with percentiles.
    pub fn aligned_table(&self, options: &TableOptions) -> String {
        tables::aligned_table(self.rows(), options, "call")
    }

    /// The wider table, or a histogram of each call, for each process.
    pub fn by_process(&self, options: &TableOptions, histograms: bool) -> String {
        let mut text = String::new();
        for (pid, calls) in self.processes() {
            let rows = calls.into_iter().map(SummaryRow::from).collect();
            let _ = writeln!(text, "process {pid}");
            let table = match histograms {
                true => tables::histograms(rows, options),
                false => tables::aligned_table(rows, options, "call"),
            };
            text.push_str(&table);
            text.push('\n');
        }
        text
    }

    /// A histogram of each call's times.
    pub fn histograms(&self, options: &TableOptions) -> String {
        tables::histograms(self.rows(), options)
    }

    fn rows(&self) -> Vec<SummaryRow> {
        self.calls().into_iter().map(SummaryRow::from).collect()
    }
}

/// How long a call took, or a processor worked on it where that was asked for, and whether it failed.
fn time_and_failure(call: &SyscallRecord) -> (u64, bool) {
    let took = match call.outcome {
        SyscallOutcome::Returned { took, .. } => call.worked.unwrap_or(took),
        SyscallOutcome::Open => 0,
    };
    (took, call.error().is_some())
}

/// A name that a program chose: what isn't UTF-8 as `\xNN`.
fn name_from_bytes(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// A name on one line of a terminal: what controls it, or the order of letters, is escaped.
fn printable_name(name: &str) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        match is_hidden(letter) {
            true => text.extend(letter.escape_default()),
            false => text.push(letter),
        }
    }
    text
}

/// A call's name where calls of every way stand together.
fn name(abi: Abi, number: u64) -> String {
    let named = bare_name(abi, number);
    // Calls of 32-bit programs have other numbers, and some other arguments: they are counted apart.
    if abi.is_narrow() {
        format!("{named} (32 bit)")
    } else {
        named
    }
}

fn bare_name(abi: Abi, number: u64) -> String {
    table::find_syscall(abi, number)
        .map_or_else(|| format!("syscall_{number:#x}"), |row| row.name.to_owned())
}

fn total(rows: &[(String, CallStatistics)]) -> CallStatistics {
    let mut total = CallStatistics::default();
    for (_, figures) in rows {
        total.merge(figures);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::CapturedMemory;
    use proptest::prelude::*;

    pub fn event(pid: i32, name: &str, value: i64, took: u64) -> TraceEvent {
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
            summary.strace_table(&TableOptions::new(&SummaryColumn::USUAL)),
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
            summary.strace_table(&TableOptions {
                sort: SummaryOrder::Name,
                ..TableOptions::new(&[
                    SummaryColumn::Name,
                    SummaryColumn::Calls,
                    SummaryColumn::Least
                ])
            }),
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
    fn calls_of_another_way_have_a_table_of_their_own() {
        let options = TableOptions::new(&[SummaryColumn::Name, SummaryColumn::Calls]);
        assert_eq!(CallSummary::new().strace_table(&options), "");
        let mut summary = summary(&[(1, "read", 5, 30_000)]);
        let once = CallStatistics {
            calls: 1,
            ..CallStatistics::default()
        };
        summary.merge(1, Abi::I386, 20, &once);
        let native = "\
syscall              calls
---------------- ---------
read                     1
---------------- ---------
total                    1
";
        let narrow = "\
System call usage summary for 32 bit mode:
syscall              calls
---------------- ---------
getpid                   1
---------------- ---------
total                    1
";
        assert_eq!(summary.strace_table(&options), format!("{native}{narrow}"));
        // Elsewhere they stand together, and their names say which they are.
        let rows: Vec<String> = summary.calls().into_iter().map(|(name, _)| name).collect();
        assert_eq!(rows, ["read", "getpid (32 bit)"]);
    }

    #[test]
    fn names_cannot_change_the_line_that_they_are_in() {
        let name = name_from_bytes(b"/a\n\x1b[31m\xff\xe2\x80\xae\xc3\xa9");
        assert_eq!(name, "/a\n\u{1b}[31m\\xff\u{202e}é");
        assert_eq!(printable_name(&name), "/a\\n\\u{1b}[31m\\xff\\u{202e}é");
    }

    #[test]
    fn the_wide_table_has_percentiles() {
        let events: Vec<_> = (1..=100)
            .map(|number| (1, "read", 1, number * 1000))
            .collect();
        let options = TableOptions::new(&SummaryColumn::PERCENTILES);
        let text = summary(&events).aligned_table(&options);
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
                .by_process(&options, false)
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
