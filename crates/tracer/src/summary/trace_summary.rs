//! A summary of a trace by what was asked for, and how it is shown.

use backsight_syscall_decode::TraceEvent;
use backsight_syscall_decode::syscall_set::SyscallSet;

use super::by_file::{FileKey, FileRow, FileSummary};
use super::by_process::ProcessSummary;
use super::summary_line::{SummaryLine, TimeKind};
use super::tables::{self, with_units};
use super::{CallSummary, SummaryGrouping, SummaryRow, TableOptions, printable_name};

/// How a summary is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryForm {
    /// As strace does.
    Strace,
    /// A table with units.
    Aligned,
    /// A histogram for each row.
    Histograms,
    /// An object on one line; its times are those that processors worked, or those by the clock.
    Json {
        /// Whether the times are those that processors worked.
        processor_time: bool,
        /// Whether rows have histograms.
        histograms: bool,
    },
}

/// What of a summary is shown, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryView {
    /// What its rows are.
    pub by: SummaryGrouping,
    /// How it is shown.
    pub form: SummaryForm,
    /// The order of its rows, how many, and which columns.
    pub table: TableOptions,
}

/// The counts of a trace.
#[derive(Debug)]
pub enum TraceSummary {
    /// Of calls.
    Calls(CallSummary),
    /// Of files.
    Files(FileSummary),
    /// Of processes.
    Processes(ProcessSummary),
}

impl TraceSummary {
    /// Nothing counted yet. Of files and processes only calls of `counted` are counted, with the distribution of times only where
    /// `distributions` asks for it. `live`: what is traced runs now, and can be looked up.
    pub fn new(by: SummaryGrouping, counted: SyscallSet, distributions: bool, live: bool) -> Self {
        let files = |key| Self::Files(FileSummary::new(key, counted.clone(), distributions, live));
        match by {
            SummaryGrouping::Call | SummaryGrouping::ProcessAndCall => {
                Self::Calls(CallSummary::new())
            }
            SummaryGrouping::Path => files(FileKey::Path),
            SummaryGrouping::Descriptor => files(FileKey::Descriptor),
            SummaryGrouping::Process => Self::Processes(ProcessSummary::new(counted, live)),
        }
    }

    /// Counts what an event says.
    pub fn add(&mut self, event: &TraceEvent) {
        match self {
            Self::Calls(calls) => calls.add(event),
            Self::Files(files) => files.add(event),
            Self::Processes(processes) => processes.add(event),
        }
    }

    /// The summary as text or JSON.
    ///
    /// # Errors
    /// None is known: what is written are numbers and text.
    pub fn show(&self, view: &SummaryView) -> Result<String, serde_json::Error> {
        let options = &view.table;
        if let SummaryForm::Json {
            processor_time,
            histograms,
        } = view.form
        {
            let times = match processor_time {
                true => TimeKind::Processor,
                false => TimeKind::Clock,
            };
            let line = self.line(view, times, histograms);
            return Ok(format!("{}\n", serde_json::to_string(&line)?));
        }
        Ok(match self {
            Self::Calls(calls) => match (view.by, view.form) {
                (SummaryGrouping::ProcessAndCall, form) => {
                    calls.by_process(options, form == SummaryForm::Histograms)
                }
                (_, SummaryForm::Strace) => calls.strace_table(options),
                (_, SummaryForm::Histograms) => calls.histograms(options),
                _ => calls.aligned_table(options),
            },
            Self::Files(files) => {
                let (rows, total, cut) = shown_files(files, options);
                let (rows, what) = labelled(rows);
                match view.form {
                    SummaryForm::Histograms => {
                        let in_order = TableOptions {
                            sort: super::SummaryOrder::Nothing,
                            top: None,
                            ..options.clone()
                        };
                        let mut text = tables::histograms(rows, &in_order);
                        tables::note_cut(&mut text, cut, "histogram");
                        text
                    }
                    _ => with_units(&rows, (&total, cut), &options.columns, what),
                }
            }
            Self::Processes(processes) => processes.table(options),
        })
    }

    fn line(&self, view: &SummaryView, times: TimeKind, histograms: bool) -> SummaryLine {
        let options = &view.table;
        let line = SummaryLine::new(view.by, times);
        match self {
            Self::Calls(calls) if view.by == SummaryGrouping::ProcessAndCall => {
                line.with_calls_of_processes(calls, options, histograms)
            }
            Self::Calls(calls) => line.with_calls(calls.rows(), options, histograms),
            Self::Files(files) => {
                let (rows, total, cut) = shown_files(files, options);
                line.with_files(&rows, (&total, cut), histograms)
            }
            Self::Processes(processes) => {
                let total = processes.total(options);
                line.with_processes(processes.rows(options), &total, options.top)
            }
        }
    }
}

/// The rows of files that are shown, the total of all, and how many aren't shown.
fn shown_files(files: &FileSummary, options: &TableOptions) -> (Vec<FileRow>, SummaryRow, usize) {
    let mut all = files.rows();
    let mut rows: Vec<SummaryRow> = Vec::with_capacity(all.len());
    // Rows are sorted and cut by their names, which say then which they are.
    for (place, file) in all.iter_mut().enumerate() {
        let key = match file.descriptor {
            Some((pid, fd)) => format!("{:010}:{:010}", pid, fd),
            None => file.row.name.clone(),
        };
        rows.push(SummaryRow {
            name: format!("{key}\0{place}"),
            ..file.row.clone()
        });
    }
    let (_, cut) = options.apply(&mut rows);
    let mut total = vec![files.total()];
    options.without_limit().apply(&mut total);
    let shown = rows.into_iter().filter_map(|row| {
        let place: usize = row.name.rsplit('\0').next()?.parse().ok()?;
        let mut file = all.get(place)?.clone();
        file.row.figures = row.figures;
        Some(file)
    });
    (shown.collect(), total.remove(0), cut)
}

/// The rows with what they are of in their names, and the title of that.
fn labelled(files: Vec<FileRow>) -> (Vec<SummaryRow>, &'static str) {
    let mut of_descriptors = false;
    let digits = |number: i32| number.to_string().len();
    let widths = files.iter().filter_map(|file| file.descriptor);
    let widths = widths.fold((0, 0), |(a, b), (pid, fd)| {
        (digits(pid).max(a), digits(fd).max(b))
    });
    let rows = files.into_iter().map(|file| {
        let mut row = file.row;
        row.name = printable_name(&row.name);
        if let Some((pid, fd)) = file.descriptor {
            of_descriptors = true;
            let others = match file.files {
                0 | 1 => String::new(),
                2 => " and 1 other".to_owned(),
                files => format!(" and {} others", files - 1),
            };
            row.name = format!(
                "{pid:>pids$} fd {fd:>fds$}  {}{others}",
                row.name,
                pids = widths.0,
                fds = widths.1
            );
        }
        row
    });
    let rows = rows.collect();
    let what = match of_descriptors {
        true => "process, descriptor and file",
        false => "file",
    };
    (rows, what)
}
