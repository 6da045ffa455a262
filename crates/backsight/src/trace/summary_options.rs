//! Options of summaries: of what they are, in which order, and how they are shown.

use std::{path::PathBuf, time::Duration};

use backsight_tracer::summary::{
    SummaryColumn, SummaryForm, SummaryGrouping, SummaryOrder, SummaryView, TableOptions,
};

/// Files or descriptors that a table shows where nothing is said: a screenful.
const TOP_FILES: usize = 40;

/// What is summarised, and how.
#[derive(Debug, clap::Args)]
pub(super) struct SummaryOptions {
    /// Only a summary: calls, errors, times
    #[arg(short = 'c', long)]
    pub summary_only: bool,
    /// A summary too
    #[arg(short = 'C', long, conflicts_with = "summary_only")]
    pub summary: bool,
    /// Summarise the time from a call's beginning to its end, not that for which a processor worked on it
    #[arg(short = 'w', long)]
    pub summary_wall_clock: bool,
    /// What is taken off each call's time in a summary, as what tracing costs: a number with s, ms, us or ns
    #[arg(short = 'O', long, value_name = "TIME", value_parser = overhead)]
    pub summary_syscall_overhead: Option<Duration>,
    /// By what a summary is sorted: time, calls, errors, min-time, max-time, avg-time, name, bytes (of files) or none
    #[arg(short = 'S', long, value_name = "COLUMN")]
    pub summary_sort_by: Option<String>,
    /// The columns of a summary: time-percent, total-time, min-time, max-time, avg-time, p50, p90, p99, calls, errors, name; of files
    /// also read and written
    #[arg(short = 'U', long, value_name = "COLUMNS")]
    pub summary_columns: Option<String>,
    /// What a summary has rows of
    #[arg(long, value_name = "WHAT")]
    pub by: Option<Grouping>,
    /// A wider summary: with the median, the 90th and the 99th percentile of the times, and the longest
    #[arg(long)]
    pub percentiles: bool,
    /// A summary with a histogram of the times of each row: how many took how long
    #[arg(long)]
    pub histogram: bool,
    /// Most rows of a summary; of files and descriptors 40 where nothing is said, but in JSON all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub top: Option<u64>,
    /// A flame graph of the time in system calls, by the stacks that they were made in: a page (FILE.html), a line a stack
    /// (FILE.folded) or a profile (FILE.json), which `backsight profile` shows and compares
    #[arg(long, value_name = "FILE", conflicts_with = "perfetto")]
    pub flame_graph: Option<PathBuf>,
}

/// What a summary has rows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Grouping {
    /// Calls
    Call,
    /// Files: time, calls, errors, bytes read and written; calls that concern two files count for both
    Path,
    /// Descriptors of each process, likewise
    Fd,
    /// The process tree: each process's own calls, and those of it and all below it; with -f
    Process,
    /// Calls, for each process apart
    #[value(name = "process,call")]
    ProcessAndCall,
}

impl SummaryOptions {
    /// Whether something but strace's table is asked for.
    fn is_own(&self) -> bool {
        let of_calls = matches!(self.by, None | Some(Grouping::Call));
        self.percentiles || self.histogram || !of_calls
    }

    /// Whether calls are counted and not told.
    pub fn only_counts(&self) -> bool {
        let stands_alone = self.has_rows() || self.flame_graph.is_some();
        self.summary_only || (stands_alone && !self.summary)
    }

    /// Refuses what says how a summary is where none is asked for.
    pub fn check_use(&self) -> miette::Result<()> {
        miette::ensure!(
            self.is_asked_for() || !self.summary_wall_clock,
            "-w, --summary-wall-clock: it is of summaries; ask for one with -c or -C"
        );
        miette::ensure!(
            self.is_asked_for() || self.summary_columns.is_none(),
            "-U, --summary-columns: they are a summary's; ask for one with -c or -C"
        );
        Ok(())
    }

    /// Whether there is a summary.
    pub fn is_asked_for(&self) -> bool {
        self.summary_only || self.summary || self.has_rows()
    }

    /// Whether an option asks for a summary that strace has none for.
    fn has_rows(&self) -> bool {
        self.is_own() || self.by.is_some()
    }

    /// Whether what is summarised is how long processors worked.
    pub fn counts_work(&self) -> bool {
        self.is_asked_for() && !self.is_own() && !self.summary_wall_clock
    }

    /// What rows are of.
    pub fn grouping(&self) -> SummaryGrouping {
        match self.by {
            None | Some(Grouping::Call) => SummaryGrouping::Call,
            Some(Grouping::Path) => SummaryGrouping::Path,
            Some(Grouping::Fd) => SummaryGrouping::Descriptor,
            Some(Grouping::Process) => SummaryGrouping::Process,
            Some(Grouping::ProcessAndCall) => SummaryGrouping::ProcessAndCall,
        }
    }

    /// Whether the distribution of times is shown.
    pub fn shows_distributions(&self) -> miette::Result<bool> {
        let columns = self.columns()?;
        Ok(self.histogram || columns.iter().any(|column| column.is_percentile()))
    }

    /// How the summary is shown. `processor_time`: its times are those that processors worked.
    pub fn view(&self, json: bool, processor_time: bool) -> miette::Result<SummaryView> {
        let by = self.grouping();
        self.check(by)?;
        let top = self
            .top
            .map(|top| usize::try_from(top).unwrap_or(usize::MAX));
        let usual = (by.is_of_files() && !json).then_some(TOP_FILES);
        let form = if json {
            SummaryForm::Json {
                processor_time,
                histograms: self.histogram,
            }
        } else if self.histogram {
            SummaryForm::Histograms
        } else if self.is_own() {
            SummaryForm::Aligned
        } else {
            SummaryForm::Strace
        };
        Ok(SummaryView {
            by,
            form,
            table: TableOptions {
                columns: self.columns()?,
                sort: self.sort(by)?,
                top: top.or(usual),
                overhead: self.summary_syscall_overhead.unwrap_or_default(),
            },
        })
    }

    /// Refuses what makes no sense together.
    fn check(&self, by: SummaryGrouping) -> miette::Result<()> {
        let has_distribution = self.shows_distributions()?;
        miette::ensure!(
            by != SummaryGrouping::Process || !has_distribution,
            "--by process sums up whole processes, whose calls have no common distribution: for percentiles and histograms of the calls of each process use --by process,call"
        );
        miette::ensure!(
            by != SummaryGrouping::Process || self.summary_columns.is_none(),
            "-U: the process tree has columns of its own; --by process,call has those that -U chooses"
        );
        miette::ensure!(
            self.summary_syscall_overhead.is_none() || !has_distribution,
            "-O: what tracing costs is taken off sums, not off percentiles and histograms; leave out -O, or --percentiles and --histogram"
        );
        miette::ensure!(
            !self.histogram || self.summary_columns.is_none(),
            "-U chooses the columns of a table, and --histogram shows no table; leave out one of them"
        );
        let asks_bytes = self.columns()?.iter().any(|column| column.is_of_bytes());
        miette::ensure!(
            by.is_of_files() || !asks_bytes,
            "-U: only files have the columns read and written; add --by path or --by fd"
        );
        miette::ensure!(
            self.top.is_none() || self.is_asked_for(),
            "--top is the most rows of a summary, and none is asked for; add -c, or --by"
        );
        Ok(())
    }

    fn sort(&self, by: SummaryGrouping) -> miette::Result<SummaryOrder> {
        let Some(name) = &self.summary_sort_by else {
            return Ok(SummaryOrder::Time);
        };
        let sort = SummaryOrder::named(name).ok_or_else(|| {
            miette::miette!(
                "a summary isn't sorted by `{name}`; there are {}",
                SummaryOrder::NAMES
            )
        })?;
        miette::ensure!(
            by.is_of_files() || sort != SummaryOrder::Bytes,
            "-S bytes: only files have bytes; add --by path or --by fd"
        );
        Ok(sort)
    }

    fn columns(&self) -> miette::Result<Vec<SummaryColumn>> {
        if let Some(names) = &self.summary_columns {
            let columns = SummaryColumn::parse_list(names)
                .map_err(|name| miette::miette!("a summary has no column `{name}`"))?;
            let mut before = columns.iter().enumerate();
            miette::ensure!(
                before.all(|(at, column)| !columns[..at].contains(column)),
                "-U, --summary-columns: `{names}` has a column twice"
            );
            return Ok(columns);
        }
        let columns: &[SummaryColumn] = match (self.grouping(), self.percentiles) {
            (SummaryGrouping::Process, false) => &[],
            (by, true) if by.is_of_files() => &SummaryColumn::PERCENTILES_OF_FILES,
            (by, false) if by.is_of_files() => &SummaryColumn::OF_FILES,
            (SummaryGrouping::ProcessAndCall, _) | (_, true) => &SummaryColumn::PERCENTILES,
            (_, false) => &SummaryColumn::USUAL,
        };
        Ok(columns.to_vec())
    }
}

/// Reads a time.
fn overhead(text: &str) -> Result<Duration, String> {
    backsight_tracer::options::parse_duration(text).map_err(|error| error.to_string())
}
