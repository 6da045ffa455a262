//! Importers as data files: what a file of a tool looks like, and the jq programs that make records of it.
//!
//! An importer's name must be its file's; its programs and expressions are compiled when it is read.

use backsight_catalog::{Query, QueryError, with_deep_stack};
use backsight_model::{BenchmarkName, DocumentError, Located, TomlDocument};
use regex::Regex;
use serde::Deserialize;
use std::{collections::HashMap, str::FromStr};

use super::by_benchmark::{LogReader, is_known};
use crate::table::TableFormat;

/// Name and text of each importer that comes with the program.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/importers.rs"));

/// What programs may name: the key of the item in the document, the whole document, what the file's path says, and the
/// files beside it.
pub(super) const VARIABLES: [&str; 4] = ["$key", "$root", "$path", "$beside"];

/// A program of an importer.
pub(super) type Program = Query<4>;

/// What an importer's numbers are: the level of replication that each one belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredLevel {
    /// Iterations of one process: all of a file are samples of one trial.
    Iteration,
    /// Runs of the program: each is a trial.
    Run,
}

impl MeasuredLevel {
    /// The name that an importer writes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iteration => "iteration",
            Self::Run => "run",
        }
    }
}

impl FromStr for MeasuredLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "iteration" => Ok(Self::Iteration),
            "run" => Ok(Self::Run),
            _ => Err("expected `iteration` (of one process) or `run` (of the program)".to_owned()),
        }
    }
}

/// How a format's files are read before a program sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reads {
    /// One JSON document.
    Json,
    /// A JSON document a line: an array of them.
    JsonLines,
    /// JSON documents that follow each other, perhaps with other lines before and between them: an array of them.
    Documents,
    /// XML: an element is an object that has lists of its children by name, `#text`, and attributes with `@`.
    Xml,
    /// Lines of text: an array of what `line` finds in them.
    Lines,
    /// Rows between commas below their names: an array of objects of texts.
    CsvRows,
    /// A table between commas, whose columns tell what they are; no program reads it.
    Csv,
    /// The same between tabs.
    Tsv,
    /// The same, a JSON object a row.
    JsonRows,
    /// The same in Parquet.
    Parquet,
    /// What sar recorded, in any of its forms: series by host, device and name.
    Sysstat,
    /// A log of a program: no program of the shape's reads it, but the rules of a benchmark (`by`) or of another importer (`as`).
    Log,
}

impl Reads {
    /// What a table is written in, if it is one.
    pub fn table(self) -> Option<TableFormat> {
        match self {
            Self::Csv => Some(TableFormat::Csv),
            Self::Tsv => Some(TableFormat::Tsv),
            Self::JsonRows => Some(TableFormat::JsonLines),
            Self::Parquet => Some(TableFormat::Parquet),
            Self::Json
            | Self::JsonLines
            | Self::Documents
            | Self::Xml
            | Self::Lines
            | Self::CsvRows
            | Self::Sysstat
            | Self::Log => None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Located<String>,
    about: String,
    made_by: String,
    level: MeasuredLevel,
    #[serde(default)]
    also: Vec<String>,
    folder: Option<WrittenFolder>,
    /// What the programs of several shapes have in common: definitions that stand before each of them.
    #[serde(default)]
    define: String,
    shape: Vec<WrittenShape>,
}

/// A folder that others write into too.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFolder {
    part: Located<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenShape {
    reads: Reads,
    expects: String,
    #[serde(rename = "is")]
    test: Option<Located<String>>,
    items: Option<Located<String>>,
    record: Option<Located<String>>,
    alike: Option<Located<String>>,
    host: Option<Located<String>>,
    when: Option<Located<String>>,
    path: Option<Located<String>>,
    unless: Option<Located<String>>,
    #[serde(default)]
    by: Vec<Located<String>>,
    #[serde(default)]
    repeats: bool,
    #[serde(rename = "as")]
    importer: Option<Located<String>>,
    #[serde(default)]
    beside: Vec<String>,
    line: Option<Located<String>>,
    state: Option<Located<String>>,
    #[serde(default)]
    nan_is_missing: bool,
    twice: Option<String>,
}

/// One way in which a format's files are written.
#[derive(Debug)]
pub(super) struct Shape {
    pub reads: Reads,
    /// What such a file has, for messages.
    pub expects: String,
    /// Whether a document is one.
    pub test: Option<Program>,
    /// The paths of its items.
    pub paths: Option<Program>,
    /// The items themselves.
    pub items: Option<Program>,
    /// The records of an item.
    pub record: Option<Program>,
    /// What must be the same in all files of one study, and how it is called.
    pub alike: Option<(String, Program)>,
    /// Facts about the machine: an object for each.
    pub host: Option<Program>,
    /// When it was measured: seconds since 1970, or a date and a time.
    pub when: Option<Program>,
    /// Files of this shape in a folder.
    pub path: Option<Regex>,
    /// Files below the folder of one, by their path in it, that say the same in more detail: where one is, this isn't read.
    pub unless: Option<Regex>,
    /// Whose rules read it, if it is a log.
    pub rules: Option<LogRules>,
    /// Files beside it that say more, by their path from its folder.
    pub beside: Vec<String>,
    /// Lines that are items.
    pub line: Option<Regex>,
    /// Lines that hold for all that follow.
    pub state: Option<Regex>,
    /// Whether the tool writes `NaN`, which isn't JSON, where it has no value.
    pub nan_is_missing: bool,
    /// What to do about JSON that has a name twice in one object, where the tool writes such: the last alone would count.
    pub twice: Option<String>,
}

/// Whose rules read a log.
#[derive(Debug)]
pub(super) enum LogRules {
    /// Those of benchmarks of the catalogue.
    Benchmarks {
        /// Of which.
        reader: LogReader,
        /// Whether the program measures several times in a log, each a trial.
        repeats: bool,
    },
    /// Those of another importer.
    Importer(Box<Importer>),
}

/// A format that can be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFormat {
    /// Its name, which is its importer's file's.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// The command that makes such files.
    pub made_by: String,
    /// What its numbers are.
    pub level: MeasuredLevel,
    /// Other names of it.
    pub also: Vec<String>,
}

impl ImportFormat {
    /// Every format that the program has an importer for, in the order of their files.
    ///
    /// # Errors
    /// An importer isn't TOML, or something is missing in it.
    pub fn all() -> Result<Vec<Self>, DocumentError> {
        let described = BUILT_IN.iter().map(|(name, text)| {
            let written: Written = document(name, text).read()?;
            Ok(written.describe())
        });
        described.collect()
    }
}

impl Written {
    fn describe(&self) -> ImportFormat {
        ImportFormat {
            name: self.name.to_string(),
            about: self.about.clone(),
            made_by: self.made_by.clone(),
            level: self.level,
            also: self.also.clone(),
        }
    }
}

fn document(name: &str, text: &str) -> TomlDocument {
    TomlDocument::new(format!("importers: {name}.toml"), text)
}

/// Reads files of one format.
#[derive(Debug)]
pub struct Importer {
    /// What it reads.
    pub format: ImportFormat,
    /// Its text; the document's name says where it comes from.
    pub document: TomlDocument,
    pub(super) shapes: Vec<Shape>,
    /// The name of the part of a folder that a file is of, in its group `name`, where others write into the folder too.
    part: Option<Regex>,
}

impl Importer {
    /// The importer that a document writes.
    ///
    /// # Errors
    /// It isn't one, or a program or an expression in it is none; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        let written: Written = document.read()?;
        let format = written.describe();
        let part = written.folder.map(|folder| regex(&folder.part, document));
        let part = part.transpose()?;
        let shapes = written
            .shape
            .into_iter()
            .map(|shape| compiled(shape, &written.define, document))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            format,
            document: document.clone(),
            shapes,
            part,
        })
    }

    /// Whether a folder of it has files of others too: those that can't be read are left alone.
    pub(super) fn is_mixed(&self) -> bool {
        self.part.is_some()
    }

    /// The name of the part of the folder that the file at this path is of.
    pub(super) fn part_of(&self, path: &str) -> Option<String> {
        groups(self.part.as_ref()?, path)?.remove("name")
    }

    /// The first shape that files of this path may have, of those that look for files in a folder.
    pub(super) fn shape_of(&self, path: &str) -> Option<&Shape> {
        let mut shapes = self.shapes.iter();
        shapes.find(|shape| shape.path.as_ref().is_some_and(|it| it.is_match(path)))
    }

    /// The importer of this name, if there is one.
    ///
    /// # Errors
    /// It is at fault.
    pub fn find(name: &str) -> Result<Option<Self>, DocumentError> {
        for (known, text) in BUILT_IN {
            let document = document(known, text);
            let written: Written = document.read()?;
            if *known == name || written.also.iter().any(|also| also == name) {
                return Self::read(&document).map(Some);
            }
        }
        Ok(None)
    }

    /// What its tables are written in, if it reads tables.
    pub(super) fn table(&self) -> Option<TableFormat> {
        self.shapes.iter().find_map(|shape| shape.reads.table())
    }

    /// What its files have, for messages.
    pub(super) fn expects(&self) -> String {
        let expected: Vec<&str> = self
            .shapes
            .iter()
            .map(|shape| shape.expects.as_str())
            .collect();
        expected.join("; or ")
    }
}

fn compiled(
    shape: WrittenShape,
    define: &str,
    document: &TomlDocument,
) -> Result<Shape, DocumentError> {
    let program = |code: &Located<String>| match define {
        "" => compile(code, code, document),
        define => compile(&format!("{define}\n{}", code.as_str()), code, document),
    };
    let maybe = |code: &Option<Located<String>>| code.as_ref().map(program).transpose();
    let expression = |source: &Option<Located<String>>| {
        let source = source.as_ref();
        source.map(|source| regex(source, document)).transpose()
    };
    let items = maybe(&shape.items)?;
    let paths = shape
        .items
        .as_ref()
        .map(|code| compile(&format!("path({})", code.as_str()), code, document))
        .transpose()?;
    let alike = shape
        .alike
        .as_ref()
        .map(|code| Ok((code.to_string(), program(code)?)))
        .transpose()?;
    let rules = log_rules(&shape, document)?;
    Ok(Shape {
        reads: shape.reads,
        rules,
        test: maybe(&shape.test)?,
        paths,
        items,
        record: maybe(&shape.record)?,
        alike,
        host: maybe(&shape.host)?,
        when: maybe(&shape.when)?,
        path: expression(&shape.path)?,
        unless: expression(&shape.unless)?,
        line: expression(&shape.line)?,
        state: expression(&shape.state)?,
        beside: shape.beside,
        nan_is_missing: shape.nan_is_missing,
        twice: shape.twice,
        expects: shape.expects,
    })
}

fn regex(source: &Located<String>, document: &TomlDocument) -> Result<Regex, DocumentError> {
    Regex::new(source).map_err(|error| {
        let message = format!("this isn't a regular expression: {error}");
        document.problem(source.span(), message, "here", None)
    })
}

/// Whose rules read a log; none where a program of the shape's own reads it.
fn log_rules(
    shape: &WrittenShape,
    document: &TomlDocument,
) -> Result<Option<LogRules>, DocumentError> {
    if let Some(name) = &shape.importer {
        let importer = Importer::find(name)?;
        let importer = importer.ok_or_else(|| {
            document.problem(name.span(), "there is no such importer", "here", None)
        })?;
        return Ok(Some(LogRules::Importer(Box::new(importer))));
    }
    if shape.reads != Reads::Log {
        return Ok(None);
    }
    let known = |name: &Located<String>| {
        let found = BenchmarkName::new(name.as_str()).ok();
        let found = found.filter(is_known);
        found.ok_or_else(|| {
            document.problem(name.span(), "there is no such benchmark", "here", None)
        })
    };
    let names: Vec<BenchmarkName> = shape.by.iter().map(known).collect::<Result<_, _>>()?;
    let reader = match names.is_empty() {
        true => LogReader::Alike,
        false => LogReader::Benchmarks(names),
    };
    let repeats = shape.repeats;
    Ok(Some(LogRules::Benchmarks { reader, repeats }))
}

fn compile(
    code: &str,
    written: &Located<String>,
    document: &TomlDocument,
) -> Result<Program, DocumentError> {
    Query::compile(code, VARIABLES).map_err(|mistake: QueryError| {
        let span = written.span();
        let text = document.text.get(span.clone()).unwrap_or_default();
        let place = match text.find(written.as_str()) {
            Some(at) if code.len() == written.len() => {
                span.start + at + mistake.place.start..span.start + at + mistake.place.end
            }
            _ => span,
        };
        document.problem(place, mistake.message, "here", mistake.help)
    })
}

/// The named groups of an expression in a text.
pub(super) fn groups(expression: &Regex, text: &str) -> Option<HashMap<String, String>> {
    let captures = expression.captures(text)?;
    let named = expression.capture_names().flatten();
    Some(
        named
            .filter_map(|name| {
                let group = captures.name(name)?;
                Some((name.to_owned(), group.as_str().to_owned()))
            })
            .collect(),
    )
}

/// Does this where documents may be searched.
pub(super) fn searching<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    with_deep_stack(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_importer_that_comes_with_the_program_is_sound() {
        let all = ImportFormat::all().unwrap();
        assert!(
            all.iter()
                .map(|d| d.name.as_str())
                .eq(BUILT_IN.iter().map(|(name, _)| *name))
        );
        let mut names: Vec<&String> = all
            .iter()
            .flat_map(|described| described.also.iter().chain([&described.name]))
            .collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "two importers have one name");
        for described in all {
            let importer = Importer::find(&described.name).unwrap().unwrap();
            assert_eq!(importer.format, described);
            assert!(!importer.shapes.is_empty(), "{}", described.name);
            for shape in &importer.shapes {
                let whole = shape.record.is_some() && shape.paths.is_some();
                let by_others = shape.rules.is_some() || shape.reads.table().is_some();
                assert!(whole || by_others, "{}", described.name);
            }
        }
        assert_eq!(
            Importer::find("go").unwrap().unwrap().format.name,
            "benchfmt"
        );
        assert!(Importer::find("goo").unwrap().is_none());
    }

    #[test]
    fn an_importer_says_what_its_numbers_are() {
        let text = "name = 'x'\nabout = 'x'\nmade_by = 'x'\nlevel = 'round'\n[[shape]]\nreads = 'csv'\nexpects = 'x'\n";
        let problem = Importer::read(&TomlDocument::new("x", text)).unwrap_err();
        assert_eq!(problem.place().0, 4, "{problem}");
        let silent = text.replace("level = 'round'\n", "");
        let problem = Importer::read(&TomlDocument::new("x", silent)).unwrap_err();
        assert!(problem.to_string().contains("level"), "{problem}");
        for (name, level) in [
            ("pytest-benchmark", MeasuredLevel::Iteration),
            ("google-benchmark", MeasuredLevel::Iteration),
            ("criterion", MeasuredLevel::Iteration),
            ("benchfmt", MeasuredLevel::Iteration),
            ("hyperfine", MeasuredLevel::Run),
            ("fio", MeasuredLevel::Run),
        ] {
            let importer = Importer::find(name).unwrap().unwrap();
            assert_eq!(importer.format.level, level, "{name}");
        }
    }

    #[test]
    fn a_mistake_in_an_importer_is_pointed_at() {
        let text = "name = 'x'\nabout = 'x'\nmade_by = 'x'\nlevel = 'run'\n[[shape]]\nreads = 'json'\nexpects = 'x'\nitems = '.a[]'\nrecord = '. | slect(.)'\n";
        let problem = Importer::read(&TomlDocument::new("x", text)).unwrap_err();
        assert_eq!(problem.place(), (9, 15), "{problem}");
        let problem =
            Importer::read(&TomlDocument::new("x", text.replace("slect", "select"))).err();
        assert!(problem.is_none());
        let broken = text.replace("record = '. | slect(.)'", "path = '(?<a'");
        let problem = Importer::read(&TomlDocument::new("x", broken)).unwrap_err();
        assert_eq!(problem.place().0, 9);
    }
}
