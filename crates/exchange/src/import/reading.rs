//! One file of a tool as records: which of the importer's shapes it has, and what the shape's programs, or the rules of a
//! benchmark, find in it.
//!
//! Nothing is kept here: a file that can't be read leaves no trace.

use backsight_catalog::{JsonDocument, QueryRunError, QueryValue};
use backsight_model::Value;
use indexmap::IndexMap;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use super::{
    ImportError, Importer, SourceFile, by_benchmark,
    definition::{LogRules, Program, Reads, Shape, groups},
    not_it,
    record::{Record, printable, shown},
    source::{SourceDocument, whole_path},
};

/// What is known of a host.
type Facts = IndexMap<String, String>;

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct FileRecords {
    /// The files beside it that say more.
    pub others: Vec<SourceFile>,
    /// What it says of its hosts.
    pub hosts: Vec<Facts>,
    /// When it was measured.
    pub when: Option<jiff::Timestamp>,
    /// Its records, each with its place in the file.
    pub records: Vec<(Record, String)>,
}

/// What reading a file needs to know of the others.
#[derive(Debug, Default)]
pub(super) struct ReadingContext {
    /// What must be the same in all files, as the one before had it.
    alike: Option<String>,
    /// Files out of archives that say more about others.
    pub beside: HashMap<PathBuf, Vec<u8>>,
}

impl ReadingContext {
    /// What a file says, read by the first shape of the importer that it has.
    pub fn read(
        &mut self,
        importer: &Importer,
        file: &SourceFile,
    ) -> Result<FileRecords, ImportError> {
        let whole = whole_path(&file.path);
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
            if let Some(rules) = &shape.rules {
                match self.by_rules(rules, shape, file, &whole) {
                    Ok(found) if !found.records.is_empty() => return Ok(found),
                    Ok(_) => {
                        let message = format!("it has no results: expected {}", shape.expects);
                        broken.get_or_insert(ImportError::new(&file.path, message));
                    }
                    Err(error) => broken = Some(error),
                }
                continue;
            }
            match SourceDocument::from_file(file, shape, &self.beside) {
                Ok(reading) if has_shape(shape, &reading) => {
                    return self.of_shape(shape, reading, &file.path);
                }
                Ok(_) => {}
                Err(error) => broken = Some(error),
            }
        }
        Err(broken.unwrap_or_else(|| not_it(importer, &file.path, "this isn't it: nothing in it")))
    }

    /// What the rules of a benchmark or of another importer find in a log.
    fn by_rules(
        &mut self,
        rules: &LogRules,
        shape: &Shape,
        file: &SourceFile,
        whole: &str,
    ) -> Result<FileRecords, ImportError> {
        let path = shape.path.as_ref();
        let said = path.and_then(|path| groups(path, whole));
        match rules {
            LogRules::Benchmarks { reader, repeats } => {
                let said = said.unwrap_or_default();
                let records = by_benchmark::records(reader, *repeats, &file.content, &said);
                Ok(FileRecords {
                    records: records.into_iter().map(|it| (it, String::new())).collect(),
                    ..FileRecords::default()
                })
            }
            LogRules::Importer(importer) => {
                let Some(said) = said else {
                    return Ok(FileRecords::default());
                };
                let mut found = self.read(importer, file)?;
                for (record, _) in &mut found.records {
                    say_by_path(record, &said);
                }
                Ok(found)
            }
        }
    }

    fn of_shape(
        &mut self,
        shape: &Shape,
        mut reading: SourceDocument,
        path: &Path,
    ) -> Result<FileRecords, ImportError> {
        refuse_unlike(shape, &reading, path, &mut self.alike)?;
        let mut found = FileRecords {
            others: std::mem::take(&mut reading.others),
            hosts: hosts(shape, &reading, path)?,
            ..FileRecords::default()
        };
        if let Some(program) = &shape.when
            && let Ok(times) = whole_document(program, &reading, path)
        {
            found.when = times.first().and_then(time);
        }
        for (item, place) in items(shape, &reading, path)? {
            let [key, what] = place;
            for it in records_of(shape, &reading, &item, &key, path, &what)? {
                let at = |message: String| ImportError::new(path, message).at(what.as_text());
                let record = Record::read(&it).map_err(at)?;
                found.records.push((record, what.as_text()));
            }
        }
        if found.records.is_empty() {
            let message = format!("it has no results: expected {}", shape.expects);
            return Err(ImportError::new(path, message));
        }
        Ok(found)
    }
}

/// Adds what a log's path says to what the log says.
fn say_by_path(record: &mut Record, said: &HashMap<String, String>) {
    let mut params = by_benchmark::params(said);
    let known = |name: &str, all: &[(String, Value)]| all.iter().any(|(known, _)| known == name);
    if let Some(name) = said.get("benchmark")
        && *name != record.benchmark
    {
        let test = std::mem::replace(&mut record.benchmark, name.clone());
        if !known("test", &record.params) {
            record.params.push(("test".to_owned(), Value::Text(test)));
        }
    }
    params.retain(|(name, _)| !known(name, &record.params));
    record.params.append(&mut params);
}

/// Whether a file may be read so, by how it begins. A zero byte there is of no text.
fn may_be(reads: Reads, content: &[u8]) -> bool {
    const BEGINNING: usize = 8192;
    let is_text = !content[..content.len().min(BEGINNING)].contains(&0);
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let first = content.trim_ascii_start().first();
    match reads {
        Reads::Json | Reads::JsonLines => matches!(first, Some(b'{' | b'[')),
        Reads::Xml => first == Some(&b'<'),
        Reads::CsvRows => is_text && !matches!(first, Some(b'{' | b'[' | b'<')),
        Reads::Documents | Reads::Lines | Reads::Log | Reads::Sysstat => is_text,
        Reads::Csv | Reads::Tsv | Reads::JsonRows | Reads::Parquet => true,
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
    let found = whole_document(program, reading, path)?;
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

fn hosts(shape: &Shape, reading: &SourceDocument, path: &Path) -> Result<Vec<Facts>, ImportError> {
    let Some(program) = &shape.host else {
        return Ok(Vec::new());
    };
    let found = whole_document(program, reading, path)?;
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
    Ok(hosts.collect())
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
fn whole_document(
    program: &Program,
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
