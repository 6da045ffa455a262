//! Files of other tools as documents that programs can search.
//!
//! A file that is longer than outputs are searched is an error.

use backsight_catalog::{JsonDocument, LONGEST_OUTPUT};
use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};
use regex::Regex;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::{
    collections::{HashMap, HashSet},
    fmt, fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{
    ImportError,
    definition::{Reads, Shape, groups},
    machine_series::{self, MachineSeriesError},
    record::printable,
};

/// Most files that are looked at in a folder.
pub(super) const MOST_FILES: usize = 100_000;
/// Deepest nesting of folders, and of XML elements.
pub(super) const DEEPEST: usize = 64;
/// Longest line of a text that is looked at: no program prints a result in a longer one.
const LONGEST_LINE: usize = 64 * 1024;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it was.
    pub path: PathBuf,
    /// What was in it.
    pub content: Vec<u8>,
}

impl SourceFile {
    /// The file at this path.
    pub(super) fn open(path: &Path) -> Result<Self, ImportError> {
        let unreadable = |cause: std::io::Error| {
            ImportError::new(path, format!("it can't be read: {cause}"))
                .help("name a file that you may read")
        };
        let file = fs::File::open(path).map_err(unreadable)?;
        let mut content = Vec::new();
        let limit = LONGEST_OUTPUT as u64 + 1;
        file.take(limit)
            .read_to_end(&mut content)
            .map_err(unreadable)?;
        if content.len() > LONGEST_OUTPUT {
            return Err(too_long(path));
        }
        if content.iter().all(u8::is_ascii_whitespace) {
            return Err(empty(path));
        }
        Ok(Self {
            path: path.to_owned(),
            content,
        })
    }
}

/// Refuses a file that is longer than outputs are read.
pub(super) fn too_long(path: &Path) -> ImportError {
    let most = LONGEST_OUTPUT >> 20;
    ImportError::new(path, format!("it is longer than {most} MiB"))
        .help("split it: several files become one study")
}

/// Refuses a file with nothing in it.
pub(super) fn empty(path: &Path) -> ImportError {
    ImportError::new(path, "it is empty").help("did the tool that should have written it fail?")
}

/// Refuses a text of two bytes a character, as PowerShell writes it.
pub(super) fn refuse_wide(path: &Path, content: &[u8]) -> Result<(), ImportError> {
    if content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff") {
        return Err(ImportError::new(path, "it is UTF-16, which isn't read")
            .help("make it UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW"));
    }
    Ok(())
}

/// A path from the root, as an importer's `path` sees it.
pub(super) fn whole_path(path: &Path) -> String {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .to_string_lossy()
        .into_owned()
}

/// A document and what is known of its place.
pub(super) struct SourceDocument {
    /// What was read.
    pub document: JsonDocument,
    /// What its path says.
    pub path: JsonDocument,
    /// What the files beside it say.
    pub beside: JsonDocument,
    /// The files beside it that were read.
    pub others: Vec<SourceFile>,
    /// The lines of its items, from 1, where it is read line by line.
    pub lines: Vec<usize>,
}

impl SourceDocument {
    /// A file read as a shape says.
    pub fn from_file(
        file: &SourceFile,
        shape: &Shape,
        known: &HashMap<PathBuf, Vec<u8>>,
    ) -> Result<Self, ImportError> {
        let (document, lines) = match shape.reads {
            Reads::Json => (json(file, shape)?, Vec::new()),
            Reads::JsonLines => json_lines(file)?,
            Reads::Documents => (documents(file, shape.twice.as_deref())?, Vec::new()),
            Reads::Xml => (xml(file)?, Vec::new()),
            Reads::Lines => text_lines(file, shape),
            Reads::CsvRows => csv_rows(file)?,
            Reads::Sysstat => {
                let read = machine_series::document(&file.content);
                (read.map_err(|error| no_recording(file, error))?, Vec::new())
            }
            Reads::Csv | Reads::Tsv | Reads::JsonRows | Reads::Parquet | Reads::Log => {
                (JsonDocument::nothing(), Vec::new())
            }
        };
        let path = shape.path.as_ref();
        let path = path.and_then(|path| groups(path, &whole_path(&file.path)));
        let (beside, others) = beside(file, shape, known)?;
        Ok(Self {
            document,
            path: texts(path.unwrap_or_default()),
            beside,
            others,
            lines,
        })
    }
}

fn texts(texts: HashMap<String, String>) -> JsonDocument {
    JsonDocument::table(texts.into_iter().map(|(k, v)| (k, JsonDocument::text(v))))
}

fn json(file: &SourceFile, shape: &Shape) -> Result<JsonDocument, ImportError> {
    let content = &file.content[..];
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let parsed = if shape.nan_is_missing {
        JsonDocument::parse(&without_nan(content))
    } else {
        JsonDocument::parse(content)
    };
    parsed.map_err(|error| not_json(file, error.line(), &error))
}

/// The text with `null` for every `NaN` that stands in no string.
fn without_nan(content: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(content.len());
    let mut in_string = false;
    let mut rest = content;
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'\\' if in_string => {
                let taken = rest.len().min(2);
                written.extend_from_slice(&rest[..taken]);
                rest = &rest[taken..];
                continue;
            }
            b'"' => in_string = !in_string,
            b'N' if !in_string && rest.starts_with(b"NaN") => {
                written.extend_from_slice(b"null");
                rest = &rest[3..];
                continue;
            }
            _ => {}
        }
        written.push(byte);
        rest = after;
    }
    written
}

fn no_recording(file: &SourceFile, error: MachineSeriesError) -> ImportError {
    let refused =
        |line: usize, what: &str| ImportError::new(&file.path, what).at(format!("line {line}"));
    match error {
        MachineSeriesError::Json(error) => not_json(file, error.line(), &error),
        MachineSeriesError::Horizontal(line) => refused(
            line,
            "all of an interval is in one row, without names of its devices",
        )
        .help("have it written anew without `-h`: sadf -d FILE -- -A"),
        MachineSeriesError::Rounded(line, number) => {
            let what = format!("`{}` is rounded for people", printable(&number));
            refused(line, &what).help("have it written anew without `--human`: sar -A -f FILE")
        }
    }
}

fn not_json(file: &SourceFile, line: usize, error: &serde_json::Error) -> ImportError {
    // serde_json ends its message with the place.
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text).to_owned();
    ImportError::new(&file.path, format!("this isn't JSON: {}", printable(&what)))
        .at(format!("line {line}, column {}", error.column()))
}

fn json_lines(file: &SourceFile) -> Result<(JsonDocument, Vec<usize>), ImportError> {
    let mut documents = Vec::new();
    let mut lines = Vec::new();
    for (number, line) in file.content.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let document = JsonDocument::parse(line);
        documents.push(document.map_err(|error| not_json(file, number + 1, &error))?);
        lines.push(number + 1);
    }
    Ok((JsonDocument::list(documents), lines))
}

/// The JSON documents of a text. Each begins where a line does, or where the one before it ends: what a program warns of before its
/// results, and what stands between several of them, is none. With a way out for it (`twice`), one with a name twice is refused.
fn documents(file: &SourceFile, twice: Option<&str>) -> Result<JsonDocument, ImportError> {
    let content = &file.content[..];
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = begin_of_document(&content[at..]) {
        at += begin;
        let mut documents =
            serde_json::Deserializer::from_slice(&content[at..]).into_iter::<IgnoredAny>();
        let fault = |error: serde_json::Error| {
            let before = content[..at].iter().filter(|byte| **byte == b'\n').count();
            not_json(file, before + error.line(), &error)
        };
        if let Some(read) = documents.next() {
            read.map_err(fault)?;
        }
        let end = at + documents.byte_offset();
        if let Some(way_out) = twice
            && let Some(name) = name_twice(&content[at..end])
        {
            let what = format!("`{}` stands twice in one object", printable(&name));
            return Err(ImportError::new(&file.path, what).help(way_out));
        }
        found.push(JsonDocument::parse(&content[at..end]).map_err(fault)?);
        at = end;
    }
    Ok(JsonDocument::list(found))
}

/// The first name that an object of a JSON document has twice.
fn name_twice(document: &[u8]) -> Option<String> {
    struct Names<'a>(&'a mut Option<String>);

    impl<'de> DeserializeSeed<'de> for Names<'_> {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
            from.deserialize_any(self)
        }
    }

    impl<'de> Visitor<'de> for Names<'_> {
        type Value = ();

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("JSON")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
            let mut known = HashSet::new();
            while let Some(name) = members.next_key::<String>()? {
                members.next_value_seed(Names(self.0))?;
                if self.0.is_none() && known.contains(&name) {
                    *self.0 = Some(name);
                } else {
                    known.insert(name);
                }
            }
            Ok(())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
            while items.next_element_seed(Names(self.0))?.is_some() {}
            Ok(())
        }

        fn visit_str<E>(self, _: &str) -> Result<(), E> {
            Ok(())
        }

        fn visit_bool<E>(self, _: bool) -> Result<(), E> {
            Ok(())
        }

        fn visit_u64<E>(self, _: u64) -> Result<(), E> {
            Ok(())
        }

        fn visit_i64<E>(self, _: i64) -> Result<(), E> {
            Ok(())
        }

        fn visit_f64<E>(self, _: f64) -> Result<(), E> {
            Ok(())
        }

        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }
    }

    let mut found = None;
    let mut document = serde_json::Deserializer::from_slice(document);
    Names(&mut found).deserialize(&mut document).ok()?;
    found
}

/// Where the first line of a text begins that begins a JSON document.
fn begin_of_document(text: &[u8]) -> Option<usize> {
    let text_begins = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut at = text.len() - text_begins.len();
    for line in text_begins.split_inclusive(|byte| *byte == b'\n') {
        let blank = line.len() - line.trim_ascii_start().len();
        if matches!(line.get(blank), Some(b'{')) {
            return Some(at + blank);
        }
        at += line.len();
    }
    None
}

fn text_lines(file: &SourceFile, shape: &Shape) -> (JsonDocument, Vec<usize>) {
    let text = String::from_utf8_lossy(&file.content);
    let mut state: HashMap<String, String> = HashMap::new();
    let mut items = Vec::new();
    let mut lines = Vec::new();
    let lines_of_text = text.lines().enumerate();
    for (number, line) in lines_of_text.filter(|(_, line)| line.len() <= LONGEST_LINE) {
        let matched = |expression: &Option<Regex>| {
            let expression = expression.as_ref();
            expression.and_then(|expression| groups(expression, line))
        };
        if let Some(item) = matched(&shape.line) {
            let state = ("state".to_owned(), texts(state.clone()));
            let groups = item.into_iter().map(|(k, v)| (k, JsonDocument::text(v)));
            items.push(JsonDocument::table(groups.chain([state])));
            lines.push(number + 1);
        } else if let Some(mut said) = matched(&shape.state)
            && let (Some(key), Some(value)) = (said.remove("key"), said.remove("value"))
        {
            state.insert(key, value);
        }
    }
    (JsonDocument::list(items), lines)
}

/// The rows below the first, each an object of its texts by the names in the first.
fn csv_rows(file: &SourceFile) -> Result<(JsonDocument, Vec<usize>), ImportError> {
    let content = &file.content[..];
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    // A program may leave out what is missing at the end of a row.
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(content);
    let fault = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let what = format!("this isn't a table between commas: {error}");
        ImportError::new(&file.path, printable(&what)).at(format!("line {line}"))
    };
    let names = reader.headers().map_err(fault)?.clone();
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for row in reader.records() {
        let row = row.map_err(fault)?;
        let fields = names.iter().zip(&row);
        let fields =
            fields.map(|(name, text)| (name.to_owned(), JsonDocument::text(text.to_owned())));
        rows.push(JsonDocument::table(fields));
        lines.push(row.position().map_or(1, csv::Position::line) as usize);
    }
    Ok((JsonDocument::list(rows), lines))
}

/// The files beside a file that say more about it, those of an archive among these; one that isn't there isn't there.
fn beside(
    file: &SourceFile,
    shape: &Shape,
    known: &HashMap<PathBuf, Vec<u8>>,
) -> Result<(JsonDocument, Vec<SourceFile>), ImportError> {
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let mut documents = Vec::new();
    let mut others = Vec::new();
    let read = |other: &SourceFile| match other.path.extension() {
        Some(ending) if ending == "yaml" => Ok(plain_yaml(&other.content)),
        Some(ending) if ending == "csv" => csv_rows(other).map(|(rows, _)| rows),
        _ => json(other, shape),
    };
    for name in &shape.beside {
        let path = folder.join(name);
        if let Some(content) = known.get(&path) {
            let content = content.clone();
            documents.push((name.clone(), read(&SourceFile { path, content })?));
        } else if path.is_file() {
            let other = SourceFile::open(&path)?;
            documents.push((name.clone(), read(&other)?));
            others.push(other);
        }
    }
    Ok((JsonDocument::table(documents), others))
}

/// The plain values at the top of a YAML file, as texts. Whatever nests, and whatever isn't YAML, is left out.
fn plain_yaml(content: &[u8]) -> JsonDocument {
    let text = String::from_utf8_lossy(content);
    let value = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        let name = name.trim_start_matches(':');
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let value = value.trim().trim_matches(['"', '\'']);
        let plain = !name.is_empty() && name.chars().all(is_name);
        let is_value = !value.is_empty() && !value.starts_with(['{', '[', '|', '>', '&', '*', '!']);
        (plain && is_value).then(|| (name.to_owned(), JsonDocument::text(value.to_owned())))
    };
    JsonDocument::table(text.lines().filter_map(value))
}

/// An element that is being read: its attributes, children by name, and text.
#[derive(Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<(String, Vec<JsonDocument>)>,
    text: String,
}

impl Element {
    fn begin(start: &BytesStart<'_>) -> Result<Self, String> {
        let name = start.name().as_ref().to_owned();
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let key = attribute.key.as_ref();
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| error.to_string())?;
            attributes.push((format!("@{key}"), value.into_owned()));
        }
        Ok(Self {
            name,
            attributes,
            ..Self::default()
        })
    }

    fn put(&mut self, name: String, child: JsonDocument) {
        match self.children.iter_mut().find(|(known, _)| *known == name) {
            Some((_, children)) => children.push(child),
            None => self.children.push((name, vec![child])),
        }
    }

    fn end(self) -> (String, JsonDocument) {
        let attributes = self
            .attributes
            .into_iter()
            .map(|(name, value)| (name, JsonDocument::text(value)));
        let children = self
            .children
            .into_iter()
            .map(|(name, children)| (name, JsonDocument::list(children)));
        let text = (
            "#text".to_owned(),
            JsonDocument::text(self.text.trim().to_owned()),
        );
        let parts = attributes.chain(children).chain([text]);
        (self.name, JsonDocument::table(parts))
    }
}

fn xml(file: &SourceFile) -> Result<JsonDocument, ImportError> {
    let text = String::from_utf8_lossy(&file.content);
    let mut reader = Reader::from_str(&text);
    let mut open = vec![Element::default()];
    loop {
        let event = reader.read_event();
        let at = reader.buffer_position() as usize;
        let fault = |what: String| {
            let line = text.as_bytes()[..at.min(text.len())]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
                + 1;
            ImportError::new(&file.path, format!("this isn't XML: {}", printable(&what)))
                .at(format!("line {line}"))
        };
        let event = event.map_err(|error| fault(error.to_string()))?;
        match event {
            Event::Start(start) => {
                if open.len() > DEEPEST {
                    return Err(fault(format!("elements nest deeper than {DEEPEST}")));
                }
                open.push(Element::begin(&start).map_err(fault)?);
            }
            Event::Empty(start) => {
                let (name, element) = Element::begin(&start).map_err(fault)?.end();
                if let Some(parent) = open.last_mut() {
                    parent.put(name, element);
                }
            }
            Event::End(_) => {
                let ended = if open.len() > 1 { open.pop() } else { None };
                let ended =
                    ended.ok_or_else(|| fault("an element ends that wasn't begun".into()))?;
                let (name, element) = ended.end();
                if let Some(parent) = open.last_mut() {
                    parent.put(name, element);
                }
            }
            Event::Text(part) => {
                append(&mut open, &part);
            }
            Event::CData(part) => append(&mut open, &part),
            Event::GeneralRef(reference) => {
                let character = reference
                    .resolve_char_ref()
                    .map_err(|error| fault(error.to_string()))?;
                let name: &str = &reference;
                let said = match (character, name) {
                    (Some(character), _) => character.to_string(),
                    (None, "amp") => "&".into(),
                    (None, "lt") => "<".into(),
                    (None, "gt") => ">".into(),
                    (None, "quot") => "\"".into(),
                    (None, "apos") => "'".into(),
                    (None, other) => return Err(fault(format!("what is `&{other};`?"))),
                };
                append(&mut open, &said);
            }
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    let unfinished = || ImportError::new(&file.path, "this isn't XML, or not all of it".to_owned());
    match (open.pop(), open.pop()) {
        (Some(document), None) if !document.children.is_empty() => Ok(document.end().1),
        _ => Err(unfinished()),
    }
}

fn append(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_missing_outside_of_strings() {
        let text = br#"{"NaN \" NaN": [NaN, 1, "a\\", NaN]}"#;
        let expected = br#"{"NaN \" NaN": [null, 1, "a\\", null]}"#;
        assert_eq!(without_nan(text), expected);
    }

    #[test]
    fn documents_of_a_text_are_found_among_its_lines() {
        let read = |text: &str| {
            let file = SourceFile {
                path: "x".into(),
                content: text.as_bytes().to_vec(),
            };
            let query = backsight_catalog::Query::compile(".[].a", [] as [&str; 0]).unwrap();
            documents(&file, None).map(|found| query.found(&found, []).unwrap().len())
        };
        assert_eq!(read("note: {x}\n{\"a\": 1}\nbye\n").unwrap(), 1);
        assert_eq!(
            read("\u{feff}{\"a\":\n1}{\"a\": 2}\n\n  {\"a\": 3}").unwrap(),
            3
        );
        assert_eq!(read("nothing\n[ 1s ] 2\n").unwrap(), 0);
        let cut = read("warning\n{\"a\": 1}\n{\"a\":\n").unwrap_err();
        assert!(cut.to_string().contains("line 4"), "{cut}");
    }

    #[test]
    fn plain_values_of_a_yaml_file_are_texts_and_all_else_is_left_out() {
        let text = b"---\n\n# a comment: x\ntestcase: netperf\n:commit: \"0a1b\"\nrunwith:\n  nested: 1\nlist: [1, 2]\nbomb: *a\n\xff: 1\n";
        let query = backsight_catalog::Query::compile(".", [] as [&str; 0]).unwrap();
        let found = query.found(&plain_yaml(text), []).unwrap();
        let said = |name: &str| found[0].get(name).cloned();
        let text = |text: &str| Some(backsight_catalog::QueryValue::Text(text.to_owned()));
        assert_eq!(said("testcase"), text("netperf"));
        assert_eq!(said("commit"), text("0a1b"));
        for name in ["nested", "  nested", "list", "bomb", "runwith"] {
            assert_eq!(said(name), None, "{name}");
        }
    }
}
