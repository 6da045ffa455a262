//! What sar recorded of machines, as series: JSON and rows of sadf, and what sar prints.
//!
//! A recording of a day has millions of numbers. They are put together here, so that an importer's program sees a series at a time:
//! `{hosts: [{hostname, …}], when, series: [{host, group, of, name, values}]}`. `of` says which device it is of; `group` is where JSON says it.
//! `group` is also told where two tables of a text have a column of the same name. Whatever is no number is left out, but for numbers
//! that were rounded for people: a text that has some is refused.

use backsight_catalog::JsonDocument;
use indexmap::IndexMap;
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap};

/// Why a text is no recording that can be read: each with its line, from 1.
#[derive(Debug)]
pub(super) enum MachineSeriesError {
    /// It isn't JSON.
    Json(serde_json::Error),
    /// All of an interval is in one row (`sadf -d -h`).
    Horizontal(usize),
    /// A number was rounded for people (`sar --human`).
    Rounded(usize, String),
}

/// What a series is of: host, group, devices, name.
type SeriesKey = (String, String, BTreeMap<String, String>, String);

/// Names of JSON's numbers that say which device a row is of.
const COUNTED_DEVICES: &[&str] = &["number", "node", "line", "bus_number"];

/// Columns of rows that say so and aren't written in capitals: what a USB device is.
const NAMED_DEVICES: &[&str] = &["idvendor", "idprod", "manufact", "product"];

/// Series that are being read.
#[derive(Debug, Default)]
struct Recording {
    hosts: IndexMap<String, BTreeMap<String, String>>,
    when: Option<String>,
    series: IndexMap<SeriesKey, Vec<f64>>,
}

/// A recording as a document; without series where it is none.
pub(super) fn document(content: &[u8]) -> Result<JsonDocument, MachineSeriesError> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut recording = Recording::default();
    if content.trim_ascii_start().starts_with(b"{") {
        let whole = serde_json::from_slice(content).map_err(MachineSeriesError::Json)?;
        recording.read_json(&whole);
    } else {
        let text = String::from_utf8_lossy(content);
        let text = without_colours(&text);
        let first = text.lines().find(|line| !is_mark(line));
        let first = first.unwrap_or_default();
        if first.starts_with("# hostname;") {
            recording.read_rows(&text)?;
        } else if first.starts_with("Linux ") {
            recording.read_tables(&text)?;
        }
    }
    Ok(recording.into_document())
}

impl Recording {
    fn read_json(&mut self, whole: &Value) {
        let hosts = whole.pointer("/sysstat/hosts").and_then(Value::as_array);
        for host in hosts.into_iter().flatten() {
            let said = |name: &str| host.get(name).and_then(Value::as_str).map(str::to_owned);
            let name = said("nodename").unwrap_or_default();
            let facts = [("kernel", "release"), ("machine", "machine")];
            let facts = facts.into_iter();
            let facts = facts.filter_map(|(fact, field)| Some((fact.to_owned(), said(field)?)));
            self.hosts.entry(name.clone()).or_default().extend(facts);
            if let (None, Some(date), Some(time)) =
                (&self.when, said("file-date"), said("file-utc-time"))
            {
                self.when = Some(format!("{date}T{time}"));
            }
            let statistics = host.get("statistics").and_then(Value::as_array);
            for (group, value) in statistics
                .into_iter()
                .flatten()
                .filter_map(Value::as_object)
                .flatten()
                .filter(|(group, _)| *group != "timestamp")
            {
                self.read_group(&name, group, value);
            }
        }
    }

    fn read_group(&mut self, host: &str, group: &str, value: &Value) {
        let fields = match value {
            Value::Array(rows) => {
                return rows
                    .iter()
                    .for_each(|row| self.read_group(host, group, row));
            }
            Value::Object(fields) => fields,
            _ => return,
        };
        let device = |(name, value): (&String, &Value)| {
            let text = match value {
                // A battery that is full now is the same one.
                Value::String(_) if name == "status" => return None,
                Value::String(text) => text.clone(),
                Value::Number(number) if COUNTED_DEVICES.contains(&&name[..]) => number.to_string(),
                _ => return None,
            };
            Some((name.clone(), text))
        };
        let of: BTreeMap<String, String> = fields.iter().filter_map(device).collect();
        for (name, value) in fields {
            match value {
                Value::Number(number) if !of.contains_key(name) => {
                    let key = (host, group, of.clone(), &name[..]);
                    self.add(key, number.as_f64());
                }
                Value::Object(_) | Value::Array(_) => self.read_group(host, name, value),
                _ => {}
            }
        }
    }

    /// Rows between semicolons below their names.
    fn read_rows(&mut self, text: &str) -> Result<(), MachineSeriesError> {
        let mut names: Vec<Cow<'_, str>> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if let Some(said) = line.strip_prefix('#') {
                names = said.trim().split(';').skip(3).map(Cow::from).collect();
                // sadf names the texts first, and writes them last.
                if names.starts_with(&["manufact".into(), "product".into(), "BUS".into()]) {
                    names.rotate_left(2);
                }
                if names.iter().any(|name| name.ends_with("[...]")) {
                    return Err(MachineSeriesError::Horizontal(number));
                }
                continue;
            }
            let mut fields = line.trim_end().split(';');
            let (Some(host), Some(_), Some(_)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let fields: Vec<&str> = fields.collect();
            // Of interrupts, processors have a column each, all together before them.
            if names.last().is_some_and(|name| name == "CPU*") {
                names.pop();
                names.push("all".into());
                let processors = fields.len().saturating_sub(names.len());
                names.extend((0..processors).map(|number| format!("CPU{number}").into()));
            }
            self.read_row(host, &names, &fields, number)?;
        }
        Ok(())
    }

    /// Tables whose first column is a time.
    fn read_tables(&mut self, text: &str) -> Result<(), MachineSeriesError> {
        let mut host = String::new();
        let mut names: Vec<Cow<'_, str>> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if let Some(said) = line.strip_prefix("Linux ") {
                let (kernel, rest) = said.split_once(" (").unwrap_or((said, ""));
                host = rest.split(')').next().unwrap_or_default().to_owned();
                let facts = self.hosts.entry(host.clone()).or_default();
                facts.insert("kernel".to_owned(), kernel.trim().to_owned());
                continue;
            }
            let mut words = line.split_whitespace().peekable();
            // Some languages write other signs between the numbers.
            let is_time = |word: &str| {
                word.bytes().filter(u8::is_ascii_digit).count() == 6
                    && word
                        .chars()
                        .all(|c| c.is_ascii_digit() || c == ':' || !c.is_ascii())
            };
            if !words.next().is_some_and(is_time) {
                continue;
            }
            if matches!(words.peek(), Some(&("AM" | "PM"))) {
                words.next();
            }
            let row: Vec<&str> = words.collect();
            let is_name = |word: &&str| word.starts_with(|c: char| c == '%' || c.is_alphabetic());
            if row.iter().all(is_name) {
                names = row.into_iter().map(Cow::from).collect();
            } else if row.len() == names.len() {
                self.read_row(&host, &names, &row, number)?;
            }
        }
        Ok(())
    }

    /// Columns that say what a row is of are written in capitals.
    fn read_row(
        &mut self,
        host: &str,
        names: &[Cow<'_, str>],
        fields: &[&str],
        line: usize,
    ) -> Result<(), MachineSeriesError> {
        let is_processor = |name: &str| {
            let number = name.strip_prefix("CPU").unwrap_or_default();
            !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
        };
        let is_device = |name: &str| {
            NAMED_DEVICES.contains(&name)
                || name.starts_with(|c: char| c.is_ascii_uppercase())
                    && !name.contains(|c: char| c.is_ascii_lowercase() || "%/".contains(c))
                    && !is_processor(name)
        };
        let columns = || names.iter().zip(fields);
        let of = columns().filter(|(name, _)| is_device(name));
        let of: BTreeMap<String, String> = of
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| {
                let text = if *text == "-1" { "all" } else { text };
                (name.to_ascii_lowercase(), text.to_owned())
            })
            .collect();
        for (name, text) in columns().filter(|(name, _)| !is_device(name)) {
            // Some languages write a comma.
            let number = text.replacen(',', ".", 1).parse().ok();
            if number.is_none() && is_rounded(text) {
                return Err(MachineSeriesError::Rounded(line, (*text).to_owned()));
            }
            let key = (host, group(names, name), of.clone(), &**name);
            self.add(key, number);
        }
        Ok(())
    }

    fn add(
        &mut self,
        (host, group, of, name): (&str, &str, BTreeMap<String, String>, &str),
        value: Option<f64>,
    ) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.hosts.entry(host.to_owned()).or_default();
            let key = (host.to_owned(), group.to_owned(), of, name.to_owned());
            self.series.entry(key).or_default().push(value);
        }
    }

    fn into_document(self) -> JsonDocument {
        let text = |text: String| JsonDocument::text(text);
        let table = |texts: BTreeMap<String, String>| {
            JsonDocument::table(texts.into_iter().map(|(name, it)| (name, text(it))))
        };
        let hosts = self.hosts.into_iter().map(|(host, mut facts)| {
            facts.insert("hostname".to_owned(), host);
            table(facts)
        });
        let series = self.series.into_iter().map(|(key, values)| {
            let (host, group, of, name) = key;
            JsonDocument::table([
                ("host".to_owned(), text(host)),
                ("group".to_owned(), text(group)),
                ("of".to_owned(), table(of)),
                ("name".to_owned(), text(name)),
                (
                    "values".to_owned(),
                    JsonDocument::list(values.into_iter().map(JsonDocument::number).collect()),
                ),
            ])
        });
        let when = self.when.map_or_else(JsonDocument::nothing, text);
        JsonDocument::table([
            ("hosts".to_owned(), JsonDocument::list(hosts.collect())),
            ("when".to_owned(), when),
            ("series".to_owned(), JsonDocument::list(series.collect())),
        ])
    }
}

/// Whether a row says that the machine started, or what somebody noted: such may stand above the names.
fn is_mark(line: &str) -> bool {
    let said = line.split(';').nth(3).unwrap_or_default();
    !line.starts_with('#') && (said.starts_with("LINUX-RESTART") || said.starts_with("COM"))
}

/// A text without the colours that sar prints if it's told to.
fn without_colours(text: &str) -> Cow<'_, str> {
    let Some((first, rest)) = text.split_once("\x1b[") else {
        return text.into();
    };
    let mut plain = first.to_owned();
    for part in rest.split("\x1b[") {
        let numbers = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        plain.push_str(numbers.strip_prefix('m').unwrap_or(part));
    }
    plain.into()
}

/// The group of a column that two tables have, as JSON calls it.
fn group(names: &[Cow<'_, str>], name: &str) -> &'static str {
    match name {
        "retrans/s" if names.iter().any(|it| it == "call/s") => "net-nfs",
        "retrans/s" => "net-etcp",
        _ => "",
    }
}

/// Whether a number was written for people: with its unit, and rounded.
fn is_rounded(text: &str) -> bool {
    let number = text.strip_suffix(|c| "%sBkMGTP".contains(c));
    number.is_some_and(|number| number.replacen(',', ".", 1).parse::<f64>().is_ok())
}
