//! Results of other tools as trials of ours.
//!
//! An importer is a data file ([`Importer`]): how a tool's files are recognised, where in them the items are, and a jq
//! program that makes records of an item. [`import`] reads files with it and puts the records together: cells, metrics,
//! trials, with the files that each came from.
//!
//! Directions and units are never guessed. An error anywhere is an error of the whole: no part is imported.
//!
//! Results of tests ([`import_tests`]) are read by `backsight-test-results` and need no importer. There, what is wrong in a file
//! that has results is a problem of the run.

mod assembly;
mod choices;
pub(crate) mod columns;
mod definition;
mod record;
mod source;
mod test_results;

pub use assembly::{ImportedMetric, ImportedStudy, ImportedTrial};
pub use choices::{ImportChoice, ImportChoices};
pub use definition::{ImportFormat, Importer, MeasuredLevel};
pub use source::SourceFile;
pub use test_results::{CopiedFile, ImportedTests, guess_test_format, import_tests, test_formats};

use backsight_catalog::{JsonDocument, QueryRunError, QueryValue};
use std::{
    fmt,
    path::{Path, PathBuf},
};

use assembly::Assembly;
use definition::{Reads, Shape, searching};
use record::{Record, printable, shown};
use source::SourceDocument;

/// Why a file wasn't imported: where, what, and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The file, as it was named; empty where it is about all of them.
    pub file: String,
    /// Where in it: a line, a path in its JSON; empty where it is about the whole.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl ImportError {
    fn new(file: &Path, message: impl Into<String>) -> Self {
        Self {
            file: printable_path(file),
            place: String::new(),
            message: message.into(),
            help: None,
        }
    }

    fn of_all(message: impl Into<String>) -> Self {
        Self {
            file: String::new(),
            place: String::new(),
            message: message.into(),
            help: None,
        }
    }

    fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match (self.file.as_str(), self.place.as_str()) {
            (_, "") => {}
            ("", place) => f.write_str(place)?,
            (_, place) => write!(f, ", {place}")?,
        }
        if !(self.file.is_empty() && self.place.is_empty()) {
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ImportError {}

impl miette::Diagnostic for ImportError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
}

fn printable_path(path: &Path) -> String {
    path.display()
        .to_string()
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// What these files (and folders, where the format has folders) hold, read by this importer.
///
/// # Errors
/// A file can't be read or isn't what the importer reads; a number isn't one; a direction or a unit isn't known and
/// `choices` doesn't say it.
pub fn import(
    importer: &Importer,
    paths: &[PathBuf],
    choices: &ImportChoices,
) -> Result<ImportedStudy, ImportError> {
    let read = || {
        let level = choices.level.unwrap_or(importer.format.level);
        let mut assembly = Assembly::new(choices, level);
        if let Some(format) = importer.table() {
            for path in paths {
                columns::add(format, path, choices, &mut assembly)?;
            }
        } else {
            let mut alike = None;
            for path in paths {
                for file in files_of(importer, path)? {
                    add_file(importer, &file, &mut alike, &mut assembly)?;
                }
            }
        }
        assembly.finish()
    };
    searching(read)
        .unwrap_or_else(|why| Err(ImportError::of_all(format!("the importer broke: {why}"))))
}

/// The files that a path names: itself, or those of the format in its folder.
fn files_of(importer: &Importer, path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    if importer.shapes.iter().all(|shape| shape.path.is_none()) {
        let message = format!("this is a folder; `{}` reads files", importer.format.name);
        return Err(ImportError::new(path, message).help(format!(
            "name the file that `{}` writes",
            importer.format.made_by
        )));
    }
    let files = source::files_in(path, &importer.shapes)?;
    if files.is_empty() {
        return Err(not_it(importer, path, "nothing in this folder"));
    }
    Ok(files)
}

fn not_it(importer: &Importer, path: &Path, what: &str) -> ImportError {
    let message = format!(
        "{what} is what `{}` reads: expected {}",
        importer.format.name,
        importer.expects()
    );
    ImportError::new(path, message).help(format!(
        "`{}` makes it; `backsight list importers` shows the other formats",
        importer.format.made_by
    ))
}

/// The document of a file and the shape that it has.
fn recognised<'a>(
    importer: &'a Importer,
    file: &SourceFile,
) -> Result<(&'a Shape, SourceDocument), ImportError> {
    let whole = std::path::absolute(&file.path).unwrap_or_else(|_| file.path.clone());
    let whole = whole.to_string_lossy();
    let by_path = |shape: &&Shape| {
        let path = shape.path.as_ref();
        path.is_none_or(|path| path.is_match(&whole))
    };
    let mut candidates: Vec<&Shape> = importer.shapes.iter().filter(by_path).collect();
    if candidates.is_empty() {
        candidates = importer.shapes.iter().collect();
    }
    candidates.retain(|shape| may_be(shape.reads, &file.content));
    let mut broken = None;
    for shape in candidates {
        match SourceDocument::from_file(file, shape) {
            Ok(reading) if has_shape(shape, &reading) => return Ok((shape, reading)),
            Ok(_) => {}
            Err(error) => broken = Some(error),
        }
    }
    Err(broken.unwrap_or_else(|| not_it(importer, &file.path, "this isn't it: nothing in it")))
}

/// Whether a file may be read so, by how it begins.
fn may_be(reads: Reads, content: &[u8]) -> bool {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let first = content.trim_ascii_start().first();
    match reads {
        Reads::Json | Reads::JsonLines => matches!(first, Some(b'{' | b'[')),
        Reads::Xml => first == Some(&b'<'),
        Reads::CsvRows => !matches!(first, Some(b'{' | b'[' | b'<')),
        Reads::Lines | Reads::Csv | Reads::Tsv | Reads::JsonRows | Reads::Parquet => true,
    }
}

fn has_shape(shape: &Shape, reading: &SourceDocument) -> bool {
    if shape.reads == Reads::Lines && reading.lines.is_empty() {
        return false;
    }
    let Some(test) = &shape.test else { return true };
    let nothing = JsonDocument::nothing();
    let found = test.found(
        &reading.document,
        [&nothing, &reading.document, &reading.path, &reading.beside],
    );
    found.is_ok_and(|found| found == [QueryValue::Truth(true)])
}

fn add_file(
    importer: &Importer,
    path: &Path,
    alike: &mut Option<String>,
    assembly: &mut Assembly<'_>,
) -> Result<(), ImportError> {
    let file = SourceFile::open(path)?;
    let (shape, mut reading) = recognised(importer, &file)?;
    refuse_unlike(shape, &reading, path, alike)?;
    let others = std::mem::take(&mut reading.others);
    let sources = assembly.begin_file([file].into_iter().chain(others));
    add_hosts(shape, &reading, path, assembly)?;
    if let Some(program) = &shape.when
        && let Ok(found) = whole(program, &reading, path)
        && let Some(when) = found.first().and_then(time)
    {
        assembly.measured_at(when);
    }
    let mut records = 0;
    for (item, place) in items(shape, &reading, path)? {
        let [key, what] = place;
        for found in records_of(shape, &reading, &item, &key, path, &what)? {
            let at = |message: String| ImportError::new(path, message).at(what.as_text());
            let record = Record::read(&found).map_err(at)?;
            assembly.add(record, &sources).map_err(at)?;
            records += 1;
        }
    }
    if records == 0 {
        let message = format!("it has no results: expected {}", shape.expects);
        return Err(ImportError::new(path, message));
    }
    Ok(())
}

/// Refuses a file that can't belong to one study with those before it.
fn refuse_unlike(
    shape: &Shape,
    reading: &SourceDocument,
    path: &Path,
    before: &mut Option<String>,
) -> Result<(), ImportError> {
    let Some((name, program)) = &shape.alike else {
        return Ok(());
    };
    let found = whole(program, reading, path)?;
    let now = found.iter().map(shown).collect::<Vec<_>>().join(", ");
    match before {
        Some(before) if *before != now => {
            let message = format!("its `{name}` is {now}, and {before} in the file before it");
            Err(ImportError::new(path, message)
                .help("import each as a study of its own, then compare them"))
        }
        _ => {
            *before = Some(now);
            Ok(())
        }
    }
}

fn add_hosts(
    shape: &Shape,
    reading: &SourceDocument,
    path: &Path,
    assembly: &mut Assembly<'_>,
) -> Result<(), ImportError> {
    let Some(program) = &shape.host else {
        return Ok(());
    };
    let found = whole(program, reading, path)?;
    let tables = found.into_iter().filter_map(|found| match found {
        QueryValue::Table(facts) => Some(facts),
        _ => None,
    });
    let text = |value: QueryValue| match value {
        QueryValue::Text(text) => Some(text),
        QueryValue::Whole(whole) => Some(whole.to_string()),
        QueryValue::Number(number) => Some(number.to_string()),
        QueryValue::Truth(truth) => Some(truth.to_string()),
        QueryValue::Nothing | QueryValue::List(_) | QueryValue::Table(_) => None,
    };
    let hosts = tables.map(|facts| {
        let facts = facts.into_iter();
        let facts = facts.filter_map(|(fact, value)| Some((fact, text(value)?)));
        facts.collect()
    });
    assembly
        .add_hosts(hosts.collect())
        .map_err(|message| ImportError::new(path, message))
}

/// A time as tools write it: seconds since 1970, or a date and a time, without a zone in UTC.
fn time(found: &QueryValue) -> Option<jiff::Timestamp> {
    match found {
        QueryValue::Whole(seconds) => jiff::Timestamp::from_second(*seconds).ok(),
        QueryValue::Number(seconds) => {
            let since = jiff::SignedDuration::try_from_secs_f64(*seconds).ok()?;
            jiff::Timestamp::from_duration(since).ok()
        }
        QueryValue::Text(text) => {
            let without_zone = || {
                // Google Benchmark once wrote 2016/08/02-11:22:33.
                let time = jiff::civil::DateTime::strptime("%Y/%m/%d-%H:%M:%S", text);
                let time = time.or_else(|_| text.parse()).ok()?;
                time.to_zoned(jiff::tz::TimeZone::UTC).ok()
            };
            let told = text.parse().ok();
            told.or_else(|| without_zone().map(|zoned| zoned.timestamp()))
        }
        _ => None,
    }
}

/// What a program finds in the whole document.
fn whole(
    program: &definition::Program,
    reading: &SourceDocument,
    path: &Path,
) -> Result<Vec<QueryValue>, ImportError> {
    let nothing = JsonDocument::nothing();
    program
        .found(
            &reading.document,
            [&nothing, &reading.document, &reading.path, &reading.beside],
        )
        .map_err(|stopped| ImportError::new(path, why(&stopped)))
}

/// A step on the way from a document to an item.
#[derive(Debug, Clone)]
enum Step {
    /// The whole document.
    Whole,
    /// Under this name.
    Name(String),
    /// At this place of a list.
    Index(i64),
    /// A place that is known better: a line.
    Known(String),
    /// All steps, as jq writes them.
    All(String),
}

impl Step {
    fn as_document(&self) -> JsonDocument {
        match self {
            Self::Name(name) => JsonDocument::text(name.clone()),
            Self::Index(index) => JsonDocument::whole(*index as isize),
            Self::Whole | Self::Known(_) | Self::All(_) => JsonDocument::nothing(),
        }
    }

    fn as_text(&self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::Name(text) | Self::Known(text) | Self::All(text) => text.clone(),
            Self::Index(index) => format!("[{index}]"),
        }
    }
}

/// The items of a document, each with its last step and its place.
fn items(
    shape: &Shape,
    reading: &SourceDocument,
    path: &Path,
) -> Result<Vec<(JsonDocument, [Step; 2])>, ImportError> {
    let (Some(items), Some(paths)) = (&shape.items, &shape.paths) else {
        return Ok(vec![(reading.document.clone(), [Step::Whole, Step::Whole])]);
    };
    let nothing = JsonDocument::nothing();
    let variables = [&nothing, &reading.document, &reading.path, &reading.beside];
    let refused = |stopped: QueryRunError| ImportError::new(path, why(&stopped));
    let places = paths.found(&reading.document, variables).map_err(refused)?;
    let items = items.parts(&reading.document, variables).map_err(refused)?;
    let places = places.iter().map(|place| steps(place, &reading.lines));
    Ok(items.into_iter().zip(places).collect())
}

fn steps(place: &QueryValue, lines: &[usize]) -> [Step; 2] {
    let QueryValue::List(steps) = place else {
        return [Step::Whole, Step::Whole];
    };
    let mut text = String::new();
    let mut last = Step::Whole;
    for step in steps {
        last = match step {
            QueryValue::Text(name) => {
                text.push_str(&format!(".{}", printable(name)));
                Step::Name(name.clone())
            }
            QueryValue::Whole(index) => {
                text.push_str(&format!("[{index}]"));
                Step::Index(*index)
            }
            _ => Step::Whole,
        };
    }
    if text.starts_with('[') {
        text.insert(0, '.');
    }
    let line = match (&last, steps.len()) {
        (Step::Index(index), 1) => usize::try_from(*index).ok().and_then(|i| lines.get(i)),
        _ => None,
    };
    let place = match line {
        Some(line) => Step::Known(format!("line {line}")),
        None => Step::All(text),
    };
    [last, place]
}

fn records_of(
    shape: &Shape,
    reading: &SourceDocument,
    item: &JsonDocument,
    key: &Step,
    path: &Path,
    place: &Step,
) -> Result<Vec<QueryValue>, ImportError> {
    let Some(program) = &shape.record else {
        return Ok(Vec::new());
    };
    let key = key.as_document();
    program
        .found(
            item,
            [&key, &reading.document, &reading.path, &reading.beside],
        )
        .map_err(|stopped| ImportError::new(path, why(&stopped)).at(place.as_text()))
}

fn why(stopped: &QueryRunError) -> String {
    match stopped {
        QueryRunError::Error(message) => printable_message(message),
        QueryRunError::NotANumber(text) => format!("`{text}` isn't a number"),
        QueryRunError::NotFinite => "a number isn't finite".into(),
        QueryRunError::TooManySteps => "it is too large for the importer's program".into(),
    }
}

fn printable_message(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(300)
        .collect()
}
