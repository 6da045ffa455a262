//! `backsight detect`: where series of numbers changed, by how much and how surely, whoever measured them.

use backsight_exchange::table::{self, ColumnRoles, ReadOptions};
use backsight_policy::ChangeDirection;
use backsight_report::{
    Format,
    change_points::{ChangePoints, SeriesChanges},
    escape,
};
use backsight_stats::{Better, Confidence, changes::DetectionOptions};
use backsight_study::{
    change_detection::{
        ChangeTable, DetectionInput, DetectionJob, DetectionStream, FalseDiscoveryRate,
        FoundSeries, PictureFolder, Shard, join_change_tables,
    },
    named_result_sets,
};
use clap::ValueEnum;
use miette::IntoDiagnostic as _;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    common_options::CommonOptions,
    exit_status::ExitStatus,
    files,
    output::chosen,
    value_parsers::{NamedValues, one_of},
};

/// Arguments of `detect`.
#[derive(Debug, clap::Args)]
pub struct DetectArgs {
    /// A table of numbers, `-` for standard input, or studies in the order of their versions; one study is searched trial
    /// by trial
    #[arg(required = true, value_name = "FILE|STUDY")]
    inputs: Vec<String>,
    /// Column with the numbers, by name or number; may be repeated. Else every column of numbers is a series
    #[arg(long = "column", visible_alias = "value", value_name = "NAME")]
    columns: Vec<String>,
    /// Columns that name the series, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    series: Vec<String>,
    /// Column that names the versions; rows with the same name are samples of one version
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// Column to order the rows by, as numbers if all are, else as text; else they are in order
    #[arg(long, value_name = "COLUMN")]
    order: Option<String>,
    /// The rows of each series stand together: hold one series at a time in memory
    #[arg(long)]
    sorted: bool,
    /// What the input is; else as its name or its beginning says
    #[arg(long, value_name = "FORMAT", value_parser = one_of(INPUT_FORMATS))]
    from: Option<table::TableFormat>,
    /// Whether the first line names the columns; else it does if no field of it is a number
    #[arg(long, value_name = "YES|NO", value_parser = yes_or_no)]
    header: Option<bool>,
    /// Which direction is good; else changes are up or down
    #[arg(long, value_name = "lower|higher")]
    better: Option<Better>,
    /// How it is written; else as the name of --output ends, else text
    #[arg(long, value_parser = one_of(FORMATS))]
    format: Option<DetectFormat>,
    /// Write it to a file; its name ends in .txt, .md, .json, .html, .csv, .tsv, .jsonl or .parquet, unless --format says
    /// which it is
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a picture of each series with a change into this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Confidence of the intervals, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = share)]
    confidence: f64,
    /// False changes to accept per 1000 versions that don't change
    #[arg(long, value_name = "N", default_value = "0.18", value_parser = false_alarms)]
    false_alarms: f64,
    /// Over several series: share of the believed changes that may be false, in percent
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = share)]
    false_share: f64,
    /// Search a part of the series, such as 2/8, or the one of this task of a job array (slurm); needs a format of rows. Join the parts' files
    /// with --join
    #[arg(long, value_name = "I/N", conflicts_with = "join")]
    shard: Option<Shard>,
    /// Join the files that --shard has written, and say what is believed among all of their series
    #[arg(long)]
    join: bool,
    /// Threads to search with; else one a processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Exit with 1 if there is such a change, with 3 if a series has fewer versions than can show one
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "join")]
    fail_on: Option<FailOn>,
    /// With --fail-on: only if it may have happened within the last N versions
    #[arg(long, value_name = "N", requires = "fail_on")]
    last: Option<usize>,
}

/// What is written: a document about all series, or a row a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DetectFormat {
    Document(Format),
    Rows(table::TableFormat),
}

/// Values of `--format`.
const FORMATS: &NamedValues<DetectFormat> = {
    use DetectFormat::{Document, Rows};
    &[
        ("text", Document(Format::Text), "For a person"),
        (
            "markdown",
            Document(Format::Markdown),
            "A table for a pull request",
        ),
        (
            "json",
            Document(Format::Json),
            "Everything, in one document",
        ),
        (
            "html",
            Document(Format::Html),
            "One self-contained page, with a picture of each series that changed",
        ),
        ("csv", Rows(table::TableFormat::Csv), "A line a change"),
        (
            "tsv",
            Rows(table::TableFormat::Tsv),
            "A line a change, tabs between",
        ),
        (
            "json-lines",
            Rows(table::TableFormat::JsonLines),
            "A JSON object a change",
        ),
        (
            "parquet",
            Rows(table::TableFormat::Parquet),
            "A row a change",
        ),
    ]
};

/// Values of `--from`.
const INPUT_FORMATS: &NamedValues<table::TableFormat> = &[
    (
        "csv",
        table::TableFormat::Csv,
        "Fields between commas or semicolons; also one number a line",
    ),
    ("tsv", table::TableFormat::Tsv, "Fields between tabs"),
    (
        "json-lines",
        table::TableFormat::JsonLines,
        "An object or a number a line",
    ),
    ("parquet", table::TableFormat::Parquet, "Apache Parquet"),
];

impl DetectFormat {
    /// The format of rows that the end of a file's name stands for.
    fn rows_of_path(path: &Path) -> Option<table::TableFormat> {
        Some(match path.extension()?.to_str()? {
            "csv" => table::TableFormat::Csv,
            "tsv" => table::TableFormat::Tsv,
            "jsonl" => table::TableFormat::JsonLines,
            "parquet" => table::TableFormat::Parquet,
            _ => return None,
        })
    }
}

impl std::fmt::Display for DetectFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = FORMATS.iter().find(|(_, format, _)| format == self);
        f.write_str(named.map_or("", |(name, ..)| name))
    }
}

/// Values of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Any change
    Change,
    /// A change for the worse; a table needs --better
    Worse,
}

fn yes_or_no(word: &str) -> Result<bool, String> {
    match word {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("expected yes or no".to_owned()),
    }
}

fn share(percent: &str) -> Result<f64, String> {
    let number: Option<f64> = percent.trim_end_matches('%').parse().ok();
    number
        .filter(|number| *number > 0.0 && *number < 100.0)
        .ok_or_else(|| "expected a percentage between 0 and 100, such as 95".to_owned())
}

fn false_alarms(number: &str) -> Result<f64, String> {
    let number: Option<f64> = number.parse().ok();
    number
        .filter(|number| *number > 0.0 && *number <= 100.0)
        .ok_or_else(|| "expected a number above 0 and at most 100, such as 0.18".to_owned())
}

impl DetectArgs {
    /// Searches.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let format = self.chosen_format()?;
        if self.join {
            return self.join_parts(format);
        }
        if let (Some(_), DetectFormat::Document(document)) = (self.shard, format) {
            return Err(miette::miette!(
                help = "say `--format parquet -o part.parquet` (or csv, tsv, json-lines), and join the files with `--join`",
                "a part of the series is written as rows, and {document} has none"
            ));
        }
        if self.fail_on.is_some() && matches!(format, DetectFormat::Rows(_)) {
            return Err(miette::miette!(
                help = "ask with `--format text`, `markdown` or `json`",
                "--fail-on is for reports, and {format} is for rows"
            ));
        }
        let input = DetectionInput::from_arguments(&self.inputs)?;
        let (source, series) = match &input {
            DetectionInput::Table(source) => {
                if self.fail_on == Some(FailOn::Worse) && self.better.is_none() {
                    return Err(miette::miette!(
                        help = "--better lower for durations, --better higher for rates; or --fail-on change",
                        "--fail-on worse can't find anything: a table doesn't say which direction is good"
                    ));
                }
                let (reading, columns) = (self.reading(), self.columns());
                let series = DetectionStream::open_table(source, reading, &columns, self.better);
                (source.to_string(), series.into_diagnostic()?)
            }
            DetectionInput::Studies(names) => {
                let sets = crate::block_on(async {
                    named_result_sets(files::existing_store(shared).await, names).await
                })?;
                let series = DetectionStream::from_studies(&sets, self.better);
                (names.join(", "), series)
            }
        };
        match format {
            DetectFormat::Rows(format) => self.write_rows(series, format),
            DetectFormat::Document(format) => self.write_document(series, source, format),
        }
    }

    fn reading(&self) -> ReadOptions {
        ReadOptions {
            format: self.from,
            header: self.header,
        }
    }

    fn columns(&self) -> ColumnRoles {
        ColumnRoles {
            keys: self.series.clone(),
            values: self.columns.clone(),
            label: self.label.clone(),
            order: self.order.clone(),
            sorted: self.sorted,
            ..ColumnRoles::default()
        }
    }

    fn job(&self, with_svg: bool) -> DetectionJob {
        DetectionJob {
            search: DetectionOptions {
                false_per_point: self.false_alarms / 1000.0,
                confidence: Confidence::new(self.confidence / 100.0).unwrap_or_default(),
            },
            shard: self.shard.unwrap_or(Shard::WHOLE),
            threads: self.jobs.map_or(0, usize::from),
            with_svg: with_svg || self.svg.is_some(),
        }
    }

    /// The format that was asked for, else that of the file's name.
    fn chosen_format(&self) -> miette::Result<DetectFormat> {
        use DetectFormat::{Document, Rows};
        let path = self.output.as_deref();
        let contradiction = |of_name: DetectFormat, asked: DetectFormat| {
            miette::miette!(
                help = "leave out --format, or name a file whose end is the format's",
                "the name of the file is that of {of_name}, and --format says {asked}"
            )
        };
        let asked = match (self.format, path.and_then(DetectFormat::rows_of_path)) {
            (Some(asked), Some(of_name)) if asked != Rows(of_name) => {
                return Err(contradiction(Rows(of_name), asked));
            }
            (_, Some(of_name)) => return Ok(Rows(of_name)),
            (Some(asked @ Rows(_)), None) => {
                return match path.and_then(Format::from_path) {
                    None => Ok(asked),
                    Some(of_name) => Err(contradiction(Document(of_name), asked)),
                };
            }
            (Some(Document(asked)), None) => Some(asked),
            (None, None) => None,
        };
        chosen(asked, path, Format::Text).map(Document)
    }

    fn false_share(&self) -> FalseDiscoveryRate {
        FalseDiscoveryRate(self.false_share / 100.0)
    }

    /// A row a change: nothing but p-values is held.
    fn write_rows(
        &self,
        series: DetectionStream,
        format: table::TableFormat,
    ) -> miette::Result<ExitCode> {
        let mut rows = ChangeTable::new(&series.keys(), self.confidence / 100.0)?;
        let mut pictures = PictureFolder::new(self.svg.as_deref())?;
        let mut count = 0;
        self.job(false).run(series, |mut series| {
            count += 1;
            pictures.write(&mut series)?;
            rows.add(&series)
        })?;
        // A part can't know what is believed among all; one series needs no such doubt.
        let share = match (self.shard, count) {
            (Some(_), _) => None,
            (None, 0 | 1) => Some(FalseDiscoveryRate(1.0)),
            (None, _) => Some(self.false_share()),
        };
        let counted = files::rows(self.output.as_deref(), |out| {
            rows.write_to(out, format, share)
        })?;
        if self.output.is_some() && share.is_some() {
            files::print_note(&counted.to_string());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write_document(
        &self,
        series: DetectionStream,
        source: String,
        format: Format,
    ) -> miette::Result<ExitCode> {
        let guessed_label = series.guessed_label().map(str::to_owned);
        let keep_all = format == Format::Json;
        let mut pictures = PictureFolder::new(self.svg.as_deref())?;
        let FoundSeries {
            series: all,
            count,
            too_short,
        } = self.job(format == Format::Html).find(
            series,
            keep_all,
            &mut pictures,
            self.false_share(),
        )?;
        let found = ChangePoints {
            source,
            guessed_label,
            series_changes: &all,
            series: count,
            false_percent: Some(self.false_share),
            confidence: self.confidence,
        };
        let text = found.render(format, files::width());
        let text = text.into_diagnostic()?;
        match &self.output {
            Some(path) => files::write_whole(path, &text)?,
            None => files::print_made(&match format {
                Format::Text => escape::visible(&text),
                _ => text,
            })?,
        }
        if all.iter().any(|series| self.fails(series)) {
            return Ok(ExitStatus::Failed.into());
        }
        match (self.fail_on, too_short.sentence(count)) {
            (Some(_), Some(said)) => {
                files::print_note(&said);
                Ok(ExitStatus::Undecided.into())
            }
            _ => Ok(ExitCode::SUCCESS),
        }
    }

    fn join_parts(&self, format: DetectFormat) -> miette::Result<ExitCode> {
        let DetectFormat::Rows(format) = format else {
            return Err(miette::miette!(
                help = "say `--format parquet -o all.parquet` (or csv, tsv, json-lines)",
                "parts are joined as rows, and {format} has none"
            ));
        };
        let parts: Vec<PathBuf> = self.inputs.iter().map(PathBuf::from).collect();
        let counted = files::rows(self.output.as_deref(), |out| {
            join_change_tables(&parts, out, format, Some(self.false_share()))
        })?;
        files::print_note(&counted.to_string());
        Ok(ExitCode::SUCCESS)
    }

    /// Whether the series has a change that `--fail-on` asks for.
    fn fails(&self, series: &SeriesChanges) -> bool {
        let Some(fail_on) = self.fail_on else {
            return false;
        };
        let since = series
            .versions
            .saturating_sub(self.last.unwrap_or(series.versions));
        series.believed().any(|found| {
            let asked = fail_on == FailOn::Change
                || found.direction(series.better) == ChangeDirection::Worse;
            asked && found.between.until.index >= since
        })
    }
}
