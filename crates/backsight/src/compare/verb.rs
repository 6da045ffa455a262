//! The verb: its arguments, where the result sets come from, where the text goes.

use backsight_model::{BenchmarkName, ResultSet, Unit};
use backsight_policy::{
    CompareOptions, Comparison, SplitKey, compare, compare_by, compare_lists, compare_with_spreads,
};
use backsight_report::{
    Format, MoreRounds,
    comparison::{ComparisonFormat, DisplayOptions, render},
};
use backsight_site::Report;
use backsight_stats::{Better, Confidence};
use backsight_store::{Store, StudyId};
use backsight_study::verbs::{
    Verb as _,
    overhead::known_costs,
    run::{self, RunVerb},
};
use clap::ValueEnum;
use indexmap::IndexSet;
use miette::IntoDiagnostic as _;
use std::{path::Path, path::PathBuf, process::ExitCode};

use super::{
    file::{Source, Wanted},
    status::Asked,
};
use crate::{cli::Shared, files, output::chosen};

/// More digits than this are none.
const MOST_DIGITS: u8 = 17;
/// Older studies than so many are not asked how much their runs differ.
const MOST_OTHERS: usize = 20;

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// Studies, by name or number, or files of numbers; the first is the baseline. A file has `VALUE` or `CELL VALUE` a
    /// line, `-` is standard input, and `./NAME` is a file where a study has that name too
    #[arg(required = true, value_name = "STUDY|FILE")]
    sides: Vec<String>,
    /// Compare the parts of one study: `variant`, or the name of a parameter
    #[arg(long, value_name = "WHAT")]
    by: Option<SplitKey>,
    /// Files: which numbers are better. A study's metrics say it themselves
    #[arg(long, value_name = "lower|higher")]
    better: Option<Better>,
    /// Files: the unit of the numbers, such as `ms` or `Gbit/s`
    #[arg(long, value_name = "UNIT")]
    unit: Option<Unit>,
    /// Files with names above their columns: a column with the numbers, by name or number; may be repeated. Else every
    /// column of numbers
    #[arg(long = "column", value_name = "NAME")]
    columns: Vec<String>,
    /// Files with names above their columns: the columns that name what was measured, separated by commas. Else every
    /// column of text
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    series: Vec<String>,
    /// Show the ratios to the baseline and their geometric mean
    #[arg(long)]
    ratio: bool,
    /// Every metric: show secondary ones that don't differ, too, and let each of them count for the exit status
    #[arg(long)]
    all_metrics: bool,
    /// Show every summary of the samples, and the p-values
    #[arg(long)]
    stats: bool,
    /// How it is written; else as the name of --output ends, else text
    #[arg(long, value_enum)]
    format: Option<Written>,
    /// How the tables of --format text and markdown are laid out
    #[arg(long, value_enum, default_value_t = Style::Verdicts)]
    style: Style,
    /// Digits behind the point, and as many significant ones where that is more; else as many as tell something
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=i64::from(MOST_DIGITS)))]
    digits: Option<u8>,
    /// Confidence of the intervals, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    confidence: Confidence,
    /// A change within this is no matter: an interval inside of it is called no change
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    margin: f64,
    #[command(flatten)]
    asked: Asked,
    /// Compare also what was measured on other processors: the machines are the question
    #[arg(long)]
    other_machines: bool,
    /// Compare in spite of a difference in how the sides were measured
    #[arg(long, value_enum, value_name = "WHAT")]
    despite: Option<Despite>,
    /// Write it to a file; its name ends in .txt, .md, .csv, .json or .html, unless --format says which it is
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Values of `--despite`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Despite {
    /// The benchmark's definition, the version of its tool, or what watched meanwhile
    Definition,
}

/// Values of `--style`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Style {
    /// A row a metric and cell, with its verdict
    Verdicts,
    /// The rows of MMTests' compare-mmtests.pl, for people who compare by eye
    Mmtests,
}

/// Values of `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Written {
    /// Tables for a person
    Text,
    /// Tables for a pull request
    Markdown,
    /// One line a cell, metric and side, every number in full
    Csv,
    /// Everything, for programs
    Json,
    /// One self-contained page, with charts, machines and raw outputs
    Html,
}

pub fn confidence(percent: &str) -> Result<Confidence, String> {
    let number: Option<f64> = percent.trim_end_matches('%').parse().ok();
    number
        .and_then(|number| Confidence::new(number / 100.0))
        .ok_or_else(|| "expected a percentage between 0 and 100, such as 95".to_owned())
}

/// A percentage from nothing on.
pub fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    number
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| "expected a percentage of 0 or more, such as 2.5".to_owned())
}

/// What was named on the command line.
enum Named {
    Studies,
    Files(Vec<Source>),
}

/// Whether an argument is a path that leads to something that can be read.
fn is_file(argument: &str) -> bool {
    argument == "-"
        || Path::new(argument)
            .metadata()
            .is_ok_and(|found| !found.is_dir())
}

/// Whether an argument can be nothing but a path: no study has such a name.
fn is_path(argument: &str) -> bool {
    argument == "-" || argument.contains(std::path::MAIN_SEPARATOR)
}

/// The result sets of these studies, read from the database side by side.
async fn load(store: &Store, studies: &[StudyId]) -> miette::Result<Vec<ResultSet>> {
    let reading: Vec<_> = studies
        .iter()
        .map(|study| {
            let (store, study) = (store.clone(), *study);
            tokio::spawn(async move { store.result_set(study).await })
        })
        .collect();
    let mut sets = Vec::new();
    for read in reading {
        sets.push(read.await.into_diagnostic()?.into_diagnostic()?);
    }
    Ok(sets)
}

/// How to measure what isn't decided in a comparison of these studies.
///
/// # Errors
/// The store's own.
pub async fn more_rounds(
    store: &Store,
    studies: &[StudyId],
    comparison: &Comparison,
) -> miette::Result<Option<MoreRounds>> {
    let mut takes_rounds = Vec::new();
    for study in studies {
        let row = store.study_of(*study).await.into_diagnostic()?;
        takes_rounds.extend((row.verb == RunVerb::NAME).then_some(study.0));
    }
    Ok(MoreRounds::of_comparison(comparison, &takes_rounds))
}

/// Other studies of the store that measured the same benchmarks, the newest first.
async fn others(
    store: &Store,
    studies: &[StudyId],
    sets: &[ResultSet],
) -> miette::Result<Vec<ResultSet>> {
    let series = sets.iter().flat_map(|set| &set.series);
    let benchmarks: IndexSet<&BenchmarkName> =
        series.map(|series| &series.cell.benchmark).collect();
    let mut found = IndexSet::new();
    for benchmark in benchmarks {
        let of_benchmark = store.studies_of_benchmark(benchmark, MOST_OTHERS).await;
        found.extend(of_benchmark.into_diagnostic()?);
    }
    found.retain(|study| !studies.contains(study));
    let found: Vec<StudyId> = found.into_iter().collect();
    load(store, &found).await
}

impl Compare {
    /// Compares them.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        let format = self.table()?;
        crate::block_on(async {
            let (comparison, more, page) = match self.named(shared).await? {
                Named::Files(sources) => {
                    let comparison = self.compare_files(&sources)?;
                    let page = format.is_none().then(|| Report {
                        title: self.sides.join(" and "),
                        studies: Vec::new(),
                        comparison: Some(comparison.clone()),
                        more_rounds: None,
                        overhead: None,
                        notes: Vec::new(),
                    });
                    (comparison, None, page)
                }
                Named::Studies => {
                    let store = files::existing_store(shared).await?;
                    let (studies, comparison) = self.compare_studies(&store).await?;
                    let more = more_rounds(&store, &studies, &comparison).await?;
                    let page = match format {
                        Some(_) => None,
                        None => {
                            let page = self.page(&store, &studies, comparison.clone()).await?;
                            Some(Report {
                                more_rounds: more.clone(),
                                ..page
                            })
                        }
                    };
                    (comparison, more, page)
                }
            };
            let text = match (&page, format) {
                (None, Some(format)) => {
                    render(&comparison, more.as_ref(), format, &self.display()).into_diagnostic()?
                }
                (Some(page), _) => backsight_site::report(page).into_diagnostic()?,
                (None, None) => String::new(),
            };
            match &self.output {
                Some(path) => files::write_whole(path, &text)?,
                // A program reads the values as they are.
                None if format == Some(ComparisonFormat::Csv) => {
                    files::print_foreign(text.as_bytes())?
                }
                None => files::print(&text)?,
            }
            Ok(self.asked.status(&comparison, self.all_metrics).into())
        })
    }

    /// The format that was asked for, else that of the file's name.
    fn written(&self) -> miette::Result<Written> {
        let is_csv = |path: &Path| path.extension().is_some_and(|end| end == "csv");
        let path = self.output.as_deref();
        if path.is_some_and(is_csv) && self.format.is_none_or(|format| format == Written::Csv) {
            return Ok(Written::Csv);
        }
        let asked = match self.format {
            None => None,
            Some(Written::Text) => Some(Format::Text),
            Some(Written::Markdown) => Some(Format::Markdown),
            Some(Written::Json) => Some(Format::Json),
            Some(Written::Html) => Some(Format::Html),
            Some(Written::Csv) => match path.and_then(Format::of_path) {
                None => return Ok(Written::Csv),
                Some(of_name) => {
                    return Err(miette::miette!(
                        help = "leave out --format, or name a file that ends in .csv",
                        "the name of the file is that of {of_name}, and --format says csv"
                    ));
                }
            },
        };
        Ok(match chosen(asked, path, Format::Text)? {
            Format::Text => Written::Text,
            Format::Markdown => Written::Markdown,
            Format::Json => Written::Json,
            Format::Html => Written::Html,
        })
    }

    /// The table to write; none if a page is.
    fn table(&self) -> miette::Result<Option<ComparisonFormat>> {
        Ok(Some(match (self.style, self.written()?) {
            (Style::Verdicts, Written::Text) => ComparisonFormat::Text,
            (Style::Verdicts, Written::Markdown) => ComparisonFormat::Markdown,
            (Style::Mmtests, Written::Text) => ComparisonFormat::Mmtests,
            (Style::Mmtests, Written::Markdown) => ComparisonFormat::MmtestsInMarkdown,
            (Style::Verdicts, Written::Csv) => ComparisonFormat::Csv,
            (Style::Verdicts, Written::Json) => ComparisonFormat::Json,
            (Style::Verdicts, Written::Html) => return Ok(None),
            (Style::Mmtests, _) => {
                return Err(miette::miette!(
                    help = "leave out --style: csv, json and html have every one of its numbers",
                    "--style mmtests is a table of --format text and markdown"
                ));
            }
        }))
    }

    /// Files if every argument is one, studies if none is.
    async fn named(&self, shared: &Shared) -> miette::Result<Named> {
        let (of_files, others): (Vec<&String>, Vec<&String>) =
            self.sides.iter().partition(|side| is_file(side));
        let lost = others
            .iter()
            .find(|side| is_path(side) || self.better.is_some() || !of_files.is_empty());
        if of_files.is_empty() && lost.is_none() {
            if self.unit.is_some() {
                return Err(miette::miette!(
                    help = "leave out --unit: the metrics of a study have their own",
                    "--unit is for files of numbers, and these are studies"
                ));
            }
            if !(self.columns.is_empty() && self.series.is_empty()) {
                return Err(miette::miette!(
                    help = "leave them out: a study knows its cells and metrics",
                    "--column and --series are for files of numbers, and these are studies"
                ));
            }
            return Ok(Named::Studies);
        }
        if let Some(lost) = lost {
            return Err(miette::miette!(
                help = "files are compared with files, studies with studies; `backsight studies` lists what is in the store",
                "there is no file `{lost}`"
            ));
        }
        if let Ok(store) = files::existing_store(shared).await {
            for name in of_files.iter().filter(|name| !is_path(name)) {
                if store.study(name).await.is_ok() {
                    return Err(miette::miette!(
                        help = format!(
                            "`./{name}` is the file; `backsight studies` says the study's number"
                        ),
                        "`{name}` is a file here and a study in the store"
                    ));
                }
            }
        }
        Ok(Named::Files(
            of_files.iter().map(|side| Source::of(side)).collect(),
        ))
    }

    fn options(&self) -> CompareOptions {
        CompareOptions {
            confidence: self.confidence,
            margin_percent: self.margin,
            other_machines: self.other_machines,
            other_definitions: self.despite == Some(Despite::Definition),
        }
    }

    fn compare_files(&self, sources: &[Source]) -> miette::Result<Comparison> {
        if let Some(by) = &self.by {
            return Err(miette::miette!(
                help = "leave out --by, and begin each line with the name of its cell",
                "--by {by} is about the parts of a study, and these are files"
            ));
        }
        let Some(better) = self.better else {
            return Err(miette::miette!(
                help = "--better lower for durations, --better higher for rates",
                "a file of numbers doesn't say which ones are better"
            ));
        };
        if sources
            .iter()
            .filter(|source| **source == Source::StandardInput)
            .count()
            > 1
        {
            return Err(miette::miette!(
                help = "write one of them to a file",
                "`-` is standard input, which can be read once"
            ));
        }
        if let [only] = sources {
            return Err(miette::miette!(
                help = "name a second file",
                "there is nothing to compare {only} with"
            ));
        }
        let wanted = Wanted {
            columns: self.columns.clone(),
            series: self.series.clone(),
        };
        let mut lists = Vec::new();
        for source in sources {
            lists.push(source.read(&wanted)?);
        }
        Ok(compare_lists(lists, better, self.unit, self.options()))
    }

    async fn compare_studies(&self, store: &Store) -> miette::Result<(Vec<StudyId>, Comparison)> {
        let options = self.options();
        let mut studies = Vec::new();
        for asked in &self.sides {
            let study = store.study(asked).await.into_diagnostic()?;
            backsight_study::refuse_sides(&study)?;
            studies.push(study.id);
        }
        let sets = load(store, &studies).await?;
        let mut comparison = match (&self.by, &sets[..]) {
            (Some(by), [only]) => {
                let comparison = compare_by(only, by, options).into_diagnostic()?;
                let row = store.study_of(studies[0]).await.into_diagnostic()?;
                run::at_every_look(store, &row, comparison).await?
            }
            (Some(by), _) => {
                return Err(miette::miette!(
                    help = format!(
                        "name one study: `backsight compare {} --by {by}`",
                        self.sides[0]
                    ),
                    "--by compares the parts of one study, and {} were named",
                    self.sides.len()
                ));
            }
            (None, [only]) => {
                return Err(miette::miette!(
                    help = "name a second study, or say which of its parts to compare: `--by variant` or `--by PARAMETER`",
                    "there is nothing to compare `{}` with",
                    only.name
                ));
            }
            (None, sets) => {
                let comparison = compare(sets, options);
                match comparison.lacks_a_spread() {
                    true => {
                        compare_with_spreads(sets, &others(store, &studies, sets).await?, options)
                    }
                    false => comparison,
                }
            }
        };
        let known = known_costs(store, &sets).await?;
        comparison.warnings.extend(known);
        Ok((studies, comparison))
    }

    async fn page(
        &self,
        store: &Store,
        studies: &[StudyId],
        comparison: Comparison,
    ) -> miette::Result<Report> {
        let mut title = self.sides.join(" and ");
        if let Some(by) = &self.by {
            title.push_str(&format!(" by {by}"));
        }
        let report = backsight_site::report_of(store, title, studies, Some(comparison)).await;
        report.into_diagnostic()
    }

    fn display(&self) -> DisplayOptions {
        let usual = match self.output {
            Some(_) => backsight_report::Look::default(),
            None => files::look(),
        };
        DisplayOptions {
            all_metrics: self.all_metrics,
            statistics: self.stats,
            ratio: self.ratio,
            colour: usual.colour,
            width: usual.width,
            digits: self.digits.map(usize::from),
        }
    }
}
