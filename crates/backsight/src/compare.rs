//! `backsight compare`: result sets, or files of numbers, beside each other.

use backsight_exchange::{
    number_file::{NumberColumns, read_numbers},
    table::TableSource,
};
use backsight_model::Unit;
use backsight_policy::{
    CompareOptions, Comparison, ComparisonGate, GateCondition, MeasuredTestbeds, NumberList,
    SplitKey, compare_lists,
};
use backsight_report::{
    Format,
    comparison::{ComparedBackground, ComparisonFormat, DisplayOptions, render},
    escape,
};
use backsight_site::{ReportContent, Surroundings};
use backsight_stats::{Better, Confidence};
use backsight_store::{Store, StudyId};
use backsight_study::{
    ComparedArguments, ComparedStudies, FileOptions, KnownHistory, compared_background,
    find_target, find_version, testbed_parts,
};
use clap::ValueEnum;
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::{path::Path, path::PathBuf, process::ExitCode};

use crate::{
    common_options::CommonOptions,
    exit_status::ExitStatus,
    files,
    output::chosen,
    value_parsers::{NamedValues, confidence, one_of, percent},
};

/// More digits than this are none.
const MOST_DIGITS: u8 = 17;
/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// Studies, by name or number, or files of numbers; the first is the baseline. A file has `VALUE` or `CELL VALUE` a
    /// line, `-` is standard input, and `./NAME` is a file where a study has that name too
    #[arg(required = true, value_name = "STUDY|FILE|VERSION|TESTBED")]
    sides: Vec<String>,
    /// Compare versions of this target, as `backsight history` names them, by what all studies measured of them
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["by", "better", "unit", "columns", "series", "other_machines", "despite"]
    )]
    target: Option<String>,
    /// Compare testbeds of the target instead: what the latest study on each measured of one version
    #[arg(long, requires = "target")]
    testbeds: bool,
    /// The version that testbeds are compared by; else the newest that all of them measured
    #[arg(long, value_name = "VERSION", requires = "testbeds")]
    at: Option<String>,
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
    /// Compare what monitors measured, too: what changed first, the largest change before the others
    #[arg(long)]
    monitors: bool,
    /// Show every summary of the samples, and the p-values
    #[arg(long)]
    stats: bool,
    /// How it is written; else as the name of --output ends, else text
    #[arg(long, value_parser = one_of(FORMATS))]
    format: Option<CompareFormat>,
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
    /// What makes the exit status 1 or 3; may be several, with commas. Unless said it is `worse`; with --by, nothing
    #[arg(
        long,
        value_name = "WHAT",
        value_delimiter = ',',
        value_parser = one_of(CONDITIONS)
    )]
    fail_on: Vec<GateCondition>,
    /// What is worse by no more than this doesn't count for the exit status; with --by it means --fail-on worse
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,
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

/// What is written: a verdict's document, or a line a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompareFormat {
    Document(Format),
    Csv,
}

/// Values of `--format`.
const FORMATS: &NamedValues<CompareFormat> = {
    use CompareFormat::{Csv, Document};
    &[
        ("text", Document(Format::Text), "Tables for a person"),
        (
            "markdown",
            Document(Format::Markdown),
            "Tables for a pull request",
        ),
        (
            "csv",
            Csv,
            "One line a cell, metric and side, every number in full",
        ),
        ("json", Document(Format::Json), "Everything, for programs"),
        (
            "html",
            Document(Format::Html),
            "One self-contained page, with charts, machines and raw outputs",
        ),
    ]
};

/// Values of `--fail-on`.
const CONDITIONS: &NamedValues<GateCondition> = &[
    (
        "worse",
        GateCondition::Worse,
        "Status 1 if a cell is worse by more than the threshold; else 3 if it can't be known: what both sides asked for wasn't measured on one, or isn't comparable",
    ),
    (
        "any-change",
        GateCondition::AnyChange,
        "Status 1 if a cell is better or worse by more than the threshold; else 3 likewise",
    ),
    (
        "cant-tell",
        GateCondition::CantTell,
        "Status 3 if a cell has no answer: can't tell, not comparable, or missing on a side",
    ),
    (
        "never",
        GateCondition::Never,
        "Status 0 whatever the verdicts are",
    ),
];

impl CompareArgs {
    /// Compares them.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let format = self.table()?;
        crate::block_on(async {
            let alone = |comparison: Comparison| {
                let page = format.is_none().then(|| ReportContent {
                    title: self.sides.join(" and "),
                    studies: Vec::new(),
                    comparison: Some(comparison.clone()),
                    versions: None,
                    background: ComparedBackground::default(),
                    overhead: None,
                    notes: Vec::new(),
                });
                (comparison, ComparedBackground::default(), page)
            };
            let named = match self.target {
                Some(_) => None,
                None => Some(self.named(shared).await?),
            };
            let (comparison, background, page) = match named {
                None if self.testbeds => {
                    let store = files::existing_store(shared).await?;
                    let compared = self.compare_testbeds(&store).await?;
                    self.with_page(&store, compared, format).await?
                }
                None => alone(self.compare_versions(shared).await?),
                Some(ComparedArguments::Files(sources)) => alone(self.compare_files(&sources)?),
                Some(ComparedArguments::Studies) => {
                    let store = files::existing_store(shared).await?;
                    let (by, options) = (self.by.as_ref(), self.options());
                    let compared =
                        ComparedStudies::from_store(&store, &self.sides, by, options).await?;
                    self.with_page(&store, compared, format).await?
                }
            };
            let text = match (&page, format) {
                (None, Some(format)) => {
                    render(&comparison, &background, format, &self.display()).into_diagnostic()?
                }
                (Some(page), _) => {
                    backsight_site::report(page, &Surroundings::default()).into_diagnostic()?
                }
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
            Ok(ExitStatus::from(self.gate().judge(&comparison)).into())
        })
    }

    /// A comparison of studies with what is known of these, and its page where one is asked for.
    async fn with_page(
        &self,
        store: &Store,
        compared: ComparedStudies,
        format: Option<ComparisonFormat>,
    ) -> miette::Result<(Comparison, ComparedBackground, Option<ReportContent>)> {
        let ComparedStudies {
            studies,
            comparison,
            ..
        } = compared;
        let background = compared_background(store, &studies, &comparison).await?;
        let page = match format {
            Some(_) => None,
            None => {
                let page = self.page(store, &studies, comparison.clone()).await?;
                Some(ReportContent {
                    background: background.clone(),
                    ..page
                })
            }
        };
        Ok((comparison, background, page))
    }

    fn gate(&self) -> ComparisonGate {
        ComparisonGate {
            conditions: self.fail_on.clone(),
            threshold: self.threshold,
            all_metrics: self.all_metrics,
        }
    }

    /// The format that was asked for, else that of the file's name.
    fn chosen_format(&self) -> miette::Result<CompareFormat> {
        use CompareFormat::{Csv, Document};
        let path = self.output.as_deref();
        let is_csv = |path: &Path| path.extension().is_some_and(|end| end == "csv");
        let asked = match self.format {
            None | Some(Csv) if path.is_some_and(is_csv) => return Ok(Csv),
            None => None,
            Some(Document(asked)) => Some(asked),
            Some(Csv) => match path.and_then(Format::from_path) {
                None => return Ok(Csv),
                Some(of_name) => {
                    return Err(miette::miette!(
                        help = "leave out --format, or name a file that ends in .csv",
                        "the name of the file is that of {of_name}, and --format says csv"
                    ));
                }
            },
        };
        chosen(asked, path, Format::Text).map(Document)
    }

    /// The table to write; none if a page is.
    fn table(&self) -> miette::Result<Option<ComparisonFormat>> {
        use CompareFormat::{Csv, Document};
        Ok(Some(match (self.style, self.chosen_format()?) {
            (Style::Verdicts, Document(Format::Text)) => ComparisonFormat::Text,
            (Style::Verdicts, Document(Format::Markdown)) => ComparisonFormat::Markdown,
            (Style::Mmtests, Document(Format::Text)) => ComparisonFormat::Mmtests,
            (Style::Mmtests, Document(Format::Markdown)) => ComparisonFormat::MmtestsInMarkdown,
            (Style::Verdicts, Csv) => ComparisonFormat::Csv,
            (Style::Verdicts, Document(Format::Json)) => ComparisonFormat::Json,
            (Style::Verdicts, Document(Format::Html)) => return Ok(None),
            (Style::Mmtests, _) => {
                return Err(miette::miette!(
                    help = "leave out --style: csv, json and html have every one of its numbers",
                    "--style mmtests is a table of --format text and markdown"
                ));
            }
        }))
    }

    /// Files if every argument is one, studies if none is.
    async fn named(&self, shared: &CommonOptions) -> miette::Result<ComparedArguments> {
        let for_files = FileOptions {
            better: self.better.is_some(),
            unit: self.unit.is_some(),
            columns: !(self.columns.is_empty() && self.series.is_empty()),
        };
        let store = files::existing_store(shared).await.ok();
        ComparedArguments::from_arguments(&self.sides, for_files, store.as_ref()).await
    }

    fn options(&self) -> CompareOptions {
        CompareOptions {
            confidence: self.confidence,
            margin_percent: self.margin,
            other_machines: self.other_machines,
            other_definitions: self.despite == Some(Despite::Definition),
            monitors: self.monitors,
        }
    }

    async fn compare_versions(&self, shared: &CommonOptions) -> miette::Result<Comparison> {
        let store = files::existing_store(shared).await?;
        let target = find_target(&store, self.target.as_deref()).await?;
        let mut known = KnownHistory::without_samples(&store, &target, Timestamp::now()).await?;
        let mut versions = Vec::new();
        for side in &self.sides {
            let (id, _) = find_version(&store, &target, &known.history, side).await?;
            let mut all = known.history.versions.iter();
            versions.extend(all.position(|known| known.version.id == id));
        }
        if let [_] = versions[..] {
            return Err(miette::miette!(
                help = "name a second version: `backsight history` shows them",
                "there is nothing to compare {} with",
                escape::line(&self.sides[0])
            ));
        }
        known.read_versions(&store, &versions).await?;
        Ok(known.evidence().compare(&versions, self.options()))
    }

    async fn compare_testbeds(&self, store: &Store) -> miette::Result<ComparedStudies> {
        let target = find_target(store, self.target.as_deref()).await?;
        let known = KnownHistory::from_store(store, &target, Timestamp::now(), false).await?;
        let testbeds = MeasuredTestbeds::new(&known.studies);
        let names: Vec<&str> = self.sides.iter().map(String::as_str).collect();
        let at = match &self.at {
            Some(at) => Some(find_version(store, &target, &known.history, at).await?.0),
            None => None,
        };
        let parts = testbed_parts(&testbeds, &known.history, &names, at.as_deref())?;
        let options = CompareOptions {
            other_machines: true,
            ..self.options()
        };
        ComparedStudies::from_parts(store, &parts, options).await
    }

    fn compare_files(&self, sources: &[TableSource]) -> miette::Result<Comparison> {
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
            .filter(|source| **source == TableSource::Stdin)
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
        let columns = NumberColumns {
            values: self.columns.clone(),
            keys: self.series.clone(),
        };
        let mut lists = Vec::new();
        for source in sources {
            lists.push(NumberList {
                name: source.to_string(),
                cells: read_numbers(source, &columns)?,
            });
        }
        Ok(compare_lists(lists, better, self.unit, self.options()))
    }

    async fn page(
        &self,
        store: &Store,
        studies: &[StudyId],
        comparison: Comparison,
    ) -> miette::Result<ReportContent> {
        let mut title = self.sides.join(" and ");
        if let Some(by) = &self.by {
            title.push_str(&format!(" by {by}"));
        }
        let report = backsight_site::report_of(store, title, studies, Some(comparison)).await;
        report.into_diagnostic()
    }

    fn display(&self) -> DisplayOptions {
        let usual = match self.output {
            Some(_) => backsight_report::TerminalStyle::default(),
            None => files::terminal_style(),
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
