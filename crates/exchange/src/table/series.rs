//! Series out of a table: one a combination of the key columns' values and a value column.
//!
//! Rows of a series that stand together (`sorted`) are read one series at a time. Rows in any order are gathered, which
//! holds the whole table's points in memory, up to [`MOST_GATHERED`].

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hasher as _},
};

use super::{ColumnContent, TableError, TableField, TableReader, TableRows};

/// The points that are held at once, in bytes: 4 GiB.
pub const MOST_GATHERED: usize = 4 << 30;

/// Which columns are what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRoles {
    /// The columns whose values name a series.
    pub keys: Vec<String>,
    /// The columns with the numbers, each a series of its own; empty: every column of numbers that is nothing else.
    pub values: Vec<String>,
    /// The column that names the versions; else a first column of text does, if it is the only one and doesn't repeat;
    /// else rows are numbered from 1.
    pub label: Option<String>,
    /// The column that says the order of the points: by number if all are, else as text. Else they are in order.
    pub order: Option<String>,
    /// The rows of a series stand together.
    pub sorted: bool,
    /// The most points to gather, in bytes.
    pub most: usize,
}

impl Default for ColumnRoles {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            values: Vec::new(),
            label: None,
            order: None,
            sorted: false,
            most: MOST_GATHERED,
        }
    }
}

/// Many short texts, close together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    text: String,
    ends: Vec<u32>,
}

impl Labels {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The `i`th.
    ///
    /// # Panics
    /// If there aren't so many.
    #[must_use]
    pub fn get(&self, i: usize) -> &str {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.text[start..self.ends[i] as usize]
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Appends one. Nothing is appended beyond 4 GiB of text in all.
    pub fn push(&mut self, label: &str) {
        if let Ok(end) = u32::try_from(self.text.len() + label.len()) {
            self.text.push_str(label);
            self.ends.push(end);
        }
    }
}

impl<T: AsRef<str>> FromIterator<T> for Labels {
    fn from_iter<I: IntoIterator<Item = T>>(labels: I) -> Self {
        let mut all = Self::default();
        for label in labels {
            all.push(label.as_ref());
        }
        all
    }
}

/// A series of numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NumberSeries {
    /// The values of the key columns.
    pub keys: Vec<String>,
    /// The name of the value column.
    pub column: String,
    /// The name of each point's version; several points may have the same.
    pub labels: Labels,
    /// The values, finite, in order.
    pub values: Vec<f64>,
    /// Rows of the series without a value.
    pub missing: usize,
}

/// The series of a table, in the order in which they begin.
#[derive(Debug)]
pub struct SeriesStream {
    reader: Reader,
    /// Of a sorted table: the series that are complete; of another: all.
    ready: std::vec::IntoIter<NumberSeries>,
    /// The rows are at their end.
    ended: bool,
    /// The column whose texts were taken for labels without having been asked for.
    guessed: Option<String>,
    keys: Vec<String>,
}

/// Opens the series of a table.
///
/// # Errors
/// A column isn't there, none has numbers, or it isn't clear which column of text is what.
pub fn series(table: TableReader, columns: &ColumnRoles) -> Result<SeriesStream, TableError> {
    let find = |names: &[String]| -> Result<Vec<usize>, TableError> {
        names.iter().map(|name| table.column(name)).collect()
    };
    let keys = find(&columns.keys)?;
    let order = columns.order.as_ref().map(|name| table.column(name));
    let order = order.transpose()?;
    let label = columns.label.as_ref().map(|name| table.column(name));
    let label = label.transpose()?.or(order);
    let named = find(&columns.values)?;
    let is_used = |i: &usize| keys.contains(i) || order == Some(*i) || label == Some(*i);
    let (holds, names) = (table.holds(), table.columns().to_vec());
    let texts = (0..names.len())
        .filter(|i| holds[*i] == ColumnContent::Text && !is_used(i) && !named.contains(i));
    let texts: Vec<usize> = texts.collect();
    let mut guessed = None;
    if label.is_none() && keys.is_empty() {
        match texts[..] {
            // A text elsewhere is a remark.
            [0] => guessed = Some(0),
            [_, _, ..] if named.is_empty() => {
                return Err(TableError::WhichText {
                    place: table.place().to_owned(),
                    columns: texts.iter().map(|&i| names[i].clone()).collect(),
                });
            }
            _ => {}
        }
    }
    let label = label.or(guessed);
    let values = if named.is_empty() {
        (0..names.len())
            .filter(|i| holds[*i] != ColumnContent::Text && !is_used(i))
            .collect()
    } else {
        named
    };
    if values.is_empty() {
        return Err(TableError::NoNumbers {
            place: table.place().to_owned(),
            columns: names,
        });
    }
    let mut wanted = keys.clone();
    wanted.extend(&values);
    wanted.extend(label);
    wanted.extend(order);
    let value_names = values.iter().map(|&i| names[i].clone()).collect();
    let keys_at = keys.len();
    let labels_at = keys_at + values.len();
    let reader = Reader {
        rows: table.rows(&wanted)?,
        keys: keys_at,
        values: value_names,
        label: label.map(|_| labels_at),
        order: order.map(|_| wanted.len() - 1),
        guessed: guessed.map(|i| names[i].clone()),
        sorted: columns.sorted,
        most: columns.most,
        key: Vec::new(),
        last_key: Vec::new(),
        text: String::new(),
        current: None,
        seen: HashSet::new(),
    };
    Ok(SeriesStream {
        reader,
        ready: Vec::new().into_iter(),
        ended: false,
        guessed: guessed.map(|i| names[i].clone()),
        keys: keys.iter().map(|&i| names[i].clone()).collect(),
    })
}

impl SeriesStream {
    /// The names of the key columns.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The names of the value columns.
    #[must_use]
    pub fn values(&self) -> &[String] {
        &self.reader.values
    }

    /// The column that was taken for the versions' names without having been asked for.
    #[must_use]
    pub fn guessed_label(&self) -> Option<&str> {
        self.guessed.as_deref()
    }
}

impl Iterator for SeriesStream {
    type Item = Result<NumberSeries, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(series) = self.ready.next() {
                return Some(Ok(series));
            }
            if self.ended {
                return None;
            }
            let read = if self.reader.sorted {
                self.reader.next_together()
            } else {
                self.ended = true;
                self.reader.gather().map(Some)
            };
            match read {
                Ok(Some(series)) => self.ready = series.into_iter(),
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Reads rows and puts their values where they belong.
#[derive(Debug)]
struct Reader {
    rows: TableRows,
    /// Of the wanted columns the first ones are keys; then the values, the label and the order.
    keys: usize,
    values: Vec<String>,
    label: Option<usize>,
    order: Option<usize>,
    guessed: Option<String>,
    sorted: bool,
    most: usize,
    /// The row's key, each part with its length before it.
    key: Vec<u8>,
    last_key: Vec<u8>,
    text: String,
    /// Of a sorted table: the series that are being read, and the keys that came.
    current: Option<Group>,
    seen: HashSet<u64>,
}

/// The series of one key: one a value column.
#[derive(Debug)]
struct Group {
    series: Vec<NumberSeries>,
    /// What the points are to be ordered by, one list a series.
    order: Vec<Labels>,
    rows: u64,
    /// Of labels that were guessed: those that came, which must not repeat.
    seen: HashSet<u64>,
}

impl Reader {
    /// Reads the key of the row into `self.key`.
    fn read_key(&mut self) {
        self.key.clear();
        for i in 0..self.keys {
            match self.rows.field(i) {
                // Most keys are texts: they needn't be copied twice.
                TableField::Text(text) => {
                    self.key
                        .extend_from_slice(&(text.len() as u64).to_le_bytes());
                    self.key.extend_from_slice(text.as_bytes());
                }
                other => {
                    other.write_to(&mut self.text);
                    self.key
                        .extend_from_slice(&(self.text.len() as u64).to_le_bytes());
                    self.key.extend_from_slice(self.text.as_bytes());
                }
            }
        }
    }

    fn key_parts(&self) -> Vec<String> {
        let part = |i| {
            let mut text = String::new();
            self.rows.field(i).write_to(&mut text);
            text
        };
        (0..self.keys).map(part).collect()
    }

    fn new_group(&self) -> Group {
        let keys = self.key_parts();
        let series = self.values.iter().map(|column| NumberSeries {
            keys: keys.clone(),
            column: column.clone(),
            ..NumberSeries::default()
        });
        Group {
            series: series.collect(),
            order: vec![Labels::default(); self.values.len()],
            rows: 0,
            seen: HashSet::new(),
        }
    }

    /// Puts the row's values into its group; returns how many bytes that took.
    fn put(&mut self, group: &mut Group) -> Result<usize, TableError> {
        group.rows += 1;
        match self.label {
            Some(i) => self.rows.field(i).write_to(&mut self.text),
            None => TableField::Integer(group.rows.cast_signed()).write_to(&mut self.text),
        }
        if let Some(column) = &self.guessed
            && !group.seen.insert(hash(&self.text))
        {
            return Err(TableError::Repeats {
                place: self.rows.place().to_owned(),
                at: self.rows.at(),
                column: column.clone(),
                label: self.text.clone(),
            });
        }
        let mut order = String::new();
        if let Some(i) = self.order {
            self.rows.field(i).write_to(&mut order);
        }
        let mut bytes = 0;
        for (i, series) in group.series.iter_mut().enumerate() {
            match self.rows.number(self.keys + i)? {
                Some(value) => {
                    series.values.push(value);
                    series.labels.push(&self.text);
                    bytes += 12 + self.text.len();
                    if self.order.is_some() {
                        group.order[i].push(&order);
                        bytes += 4 + order.len();
                    }
                }
                None => series.missing += 1,
            }
        }
        Ok(bytes)
    }

    /// All series of the table.
    fn gather(&mut self) -> Result<Vec<NumberSeries>, TableError> {
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let (mut held, mut last) = (0, 0);
        while self.rows.advance()? {
            self.read_key();
            if groups.is_empty() || self.key != self.last_key {
                last = match places.get(&self.key) {
                    Some(&place) => place,
                    None => {
                        let group = self.new_group();
                        held += 200 * group.series.len() + 2 * self.key.len();
                        groups.push(group);
                        places.insert(self.key.clone(), groups.len() - 1);
                        groups.len() - 1
                    }
                };
                self.last_key.clone_from(&self.key);
            }
            held += self.put(&mut groups[last])?;
            if held > self.most {
                return Err(TableError::TooMuch {
                    place: self.rows.place().to_owned(),
                    most: self.most,
                });
            }
        }
        if groups.is_empty() {
            return Err(TableError::Empty {
                place: self.rows.place().to_owned(),
            });
        }
        Ok(groups.into_iter().flat_map(Group::ordered).collect())
    }

    /// The series of the next key of a sorted table; none at its end.
    fn next_together(&mut self) -> Result<Option<Vec<NumberSeries>>, TableError> {
        while self.rows.advance()? {
            self.read_key();
            let same = self.current.is_some() && self.key == self.last_key;
            let mut group = match self.current.take() {
                Some(group) if same => group,
                complete => {
                    let next = self.begin()?;
                    if let Some(complete) = complete {
                        let mut next = next;
                        self.put(&mut next)?;
                        self.current = Some(next);
                        return Ok(Some(complete.ordered()));
                    }
                    next
                }
            };
            self.put(&mut group)?;
            self.current = Some(group);
        }
        match self.current.take() {
            Some(group) => Ok(Some(group.ordered())),
            None if self.seen.is_empty() => Err(TableError::Empty {
                place: self.rows.place().to_owned(),
            }),
            None => Ok(None),
        }
    }

    /// A group for the row's key, which must not have been there before.
    fn begin(&mut self) -> Result<Group, TableError> {
        if !self.seen.insert(hash(&self.key)) {
            return Err(TableError::NotTogether {
                place: self.rows.place().to_owned(),
                at: self.rows.at(),
                name: self.key_parts().join(" "),
            });
        }
        self.last_key.clone_from(&self.key);
        Ok(self.new_group())
    }
}

fn hash(of: &(impl std::hash::Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Group {
    /// Its series, each with its points in order.
    fn ordered(self) -> Vec<NumberSeries> {
        let mut series = self.series;
        for (series, order) in series.iter_mut().zip(&self.order) {
            if !order.is_empty() {
                put_in_order(series, order);
            }
        }
        series
    }
}

/// Orders the points: by number if all of them have one, else as text. Equal ones stay as they are.
fn put_in_order(series: &mut NumberSeries, by: &Labels) {
    let numbers: Option<Vec<f64>> = by
        .iter()
        .map(|text| text.parse().ok().filter(|number: &f64| !number.is_nan()))
        .collect();
    let mut order: Vec<usize> = (0..by.len()).collect();
    match &numbers {
        Some(numbers) => order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b])),
        None => order.sort_by(|&a, &b| by.get(a).cmp(by.get(b))),
    }
    series.values = order.iter().map(|&i| series.values[i]).collect();
    series.labels = order.iter().map(|&i| series.labels.get(i)).collect();
}
