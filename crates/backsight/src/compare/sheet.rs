//! The tables of a comparison before anybody draws them: what stands in which column. The terminal and the pull request
//! draw the same ones.
//!
//! Refuses: layout.

use backsight_model::Better;
use backsight_policy::{Against, Comparison, Entry, Measured, Row, Word};
use backsight_stats::{Undefined, difference_percent};
use indexmap::IndexMap;

use super::{
    numbers::{self, Scale, one_line},
    statistics::{self, Statistic},
};

/// What a cell's text is about, for who can show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// A change for the better.
    Good,
    /// A change for the worse.
    Bad,
    /// Something missing.
    Faint,
}

/// A text in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The text.
    pub text: String,
    /// What it is about.
    pub tone: Tone,
}

fn field(text: impl Into<String>) -> Field {
    Field {
        text: text.into(),
        tone: Tone::Plain,
    }
}

fn toned(text: impl Into<String>, tone: Tone) -> Field {
    Field {
        text: text.into(),
        tone,
    }
}

/// A line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A heading over the lines below it.
    Group(String),
    /// One text a column.
    Fields(Vec<Field>),
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What is above it.
    pub title: String,
    /// Whether its texts end below each other.
    pub right: bool,
}

fn left(title: impl Into<String>) -> Column {
    Column {
        title: title.into(),
        right: false,
    }
}

fn right(title: impl Into<String>) -> Column {
    Column {
        title: title.into(),
        right: true,
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Sheet {
    fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            lines: Vec::new(),
        }
    }
}

/// Rows in which a side has something, those of one benchmark together, with what a table needs to say where each is:
/// the benchmark where it is a new one, the rest of the cell where that is.
fn places(comparison: &Comparison) -> Vec<(Option<String>, String, &Row)> {
    let mut benchmarks: IndexMap<&str, Vec<&Row>> = IndexMap::new();
    for row in &comparison.rows {
        if row.entries.iter().any(|entry| entry.measured().is_some()) {
            benchmarks
                .entry(row.cell.benchmark.as_str())
                .or_default()
                .push(row);
        }
    }
    let mut places = Vec::new();
    for (benchmark, rows) in benchmarks {
        let mut heading = Some(benchmark.to_owned());
        let mut last = None;
        for row in rows {
            let label = label(row);
            let shown = if last.as_ref() == Some(&label) {
                String::new()
            } else {
                label.clone()
            };
            last = Some(label);
            places.push((heading.take(), shown, row));
        }
    }
    places
}

/// A cell without its benchmark.
fn label(row: &Row) -> String {
    let text = row.cell.to_string();
    let rest = text
        .strip_prefix(row.cell.benchmark.as_str())
        .unwrap_or(&text);
    one_line(rest.trim_start())
}

/// `throughput Gbit/s ↑`.
fn metric(row: &Row, scale: &Scale) -> String {
    let arrow = match row.better {
        Better::Higher => '↑',
        Better::Lower => '↓',
    };
    format!("{} {} {arrow}", row.metric, scale.unit)
}

fn entry(entry: &Entry, scale: &Scale) -> Field {
    match entry {
        Entry::Measured(measured) => field(numbers::mean(measured, scale)),
        Entry::Missing(why) => toned(why.to_string(), Tone::Faint),
    }
}

/// The difference and its word.
fn relation(row: &Row, side: usize, scale: &Scale) -> [Field; 2] {
    let Some(measured) = row.entries[side].measured() else {
        return [field(""), field("")];
    };
    match &measured.against {
        None if side == 0 => [field(""), field("")],
        None => [field(""), toned("no baseline", Tone::Faint)],
        Some(Against::NotComparable(why)) => [
            toned(why.to_string(), Tone::Faint),
            toned("not comparable", Tone::Faint),
        ],
        Some(Against::Compared(difference)) => [
            field(numbers::difference(difference, scale)),
            toned(word(difference.word), tone(difference.word)),
        ],
    }
}

/// The counts beside it, and the warnings, say why it can't be told.
fn word(word: Word) -> String {
    match word {
        Word::CannotTell(_) => "can't tell".to_owned(),
        told => told.to_string(),
    }
}

fn tone(word: Word) -> Tone {
    match word {
        Word::Better => Tone::Good,
        Word::Worse => Tone::Bad,
        Word::NoDifferenceSeen => Tone::Plain,
        Word::CannotTell(_) => Tone::Faint,
    }
}

/// Whether a difference is given in a row's unit instead of in percent.
pub fn has_absolute_differences(comparison: &Comparison) -> bool {
    let measured = comparison
        .rows
        .iter()
        .flat_map(|row| row.entries.iter().filter_map(Entry::measured));
    measured.into_iter().any(|side| match &side.against {
        Some(Against::Compared(difference)) => {
            difference.percent_interval.is_err()
                && (difference.percent.is_err() || difference.absolute_interval.is_ok())
        }
        _ => false,
    })
}

/// One set by itself.
pub fn alone(comparison: &Comparison) -> Sheet {
    let mut sheet = Sheet::new(vec![
        left(""),
        left("metric"),
        right("mean"),
        right("least"),
        right("most"),
    ]);
    for (benchmark, label, row) in places(comparison) {
        sheet.lines.extend(benchmark.map(Line::Group));
        let scale = Scale::of(row);
        let extremes = row.entries[0]
            .measured()
            .map(|m| [m.of_samples.min, m.of_samples.max]);
        let [least, most] =
            extremes.map_or([String::new(), String::new()], |e| e.map(|v| scale.show(v)));
        sheet.lines.push(Line::Fields(vec![
            field(label),
            field(metric(row, &scale)),
            entry(&row.entries[0], &scale),
            field(least),
            field(most),
        ]));
    }
    sheet
}

/// Two sides in columns beside each other.
pub fn beside(comparison: &Comparison) -> Sheet {
    let name = |side: usize| right(comparison.sides[side].name.clone());
    let columns = vec![
        left(""),
        left("metric"),
        name(0),
        name(1),
        right("difference"),
        left(""),
    ];
    let mut sheet = Sheet::new(columns);
    for (benchmark, label, row) in places(comparison) {
        sheet.lines.extend(benchmark.map(Line::Group));
        let scale = Scale::of(row);
        let mut fields = vec![field(label), field(metric(row, &scale))];
        fields.extend(row.entries.iter().map(|side| entry(side, &scale)));
        fields.extend(relation(row, 1, &scale));
        sheet.lines.push(Line::Fields(fields));
    }
    sheet
}

/// Any number of sides below each other, under a heading for each cell.
pub fn stacked(comparison: &Comparison) -> Sheet {
    let columns = vec![
        left("metric"),
        left("side"),
        right("mean"),
        right("difference"),
        left(""),
    ];
    let mut sheet = Sheet::new(columns);
    let mut last = None;
    for (_, _, row) in places(comparison) {
        let cell = row.cell.to_string();
        if last.as_ref() != Some(&cell) {
            sheet.lines.push(Line::Group(cell.clone()));
            last = Some(cell);
        }
        let scale = Scale::of(row);
        for (number, (side, name)) in row.entries.iter().zip(&comparison.sides).enumerate() {
            let first = if number == 0 {
                metric(row, &scale)
            } else {
                String::new()
            };
            let mut fields = vec![field(first), field(name.name.clone()), entry(side, &scale)];
            fields.extend(relation(row, number, &scale));
            sheet.lines.push(Line::Fields(fields));
        }
    }
    sheet
}

/// Rows that no side has anything in, as `cell metric: why`.
pub fn empty_rows(comparison: &Comparison) -> Vec<String> {
    let empty = comparison
        .rows
        .iter()
        .filter(|row| row.entries.iter().all(|e| e.measured().is_none()));
    empty
        .map(|row| {
            let mut reasons: Vec<String> = row
                .entries
                .iter()
                .filter_map(|entry| match entry {
                    Entry::Missing(why) => Some(why.to_string()),
                    Entry::Measured(_) => None,
                })
                .collect();
            reasons.dedup();
            format!(
                "{} {}: {}",
                one_line(&row.cell.to_string()),
                row.metric,
                reasons.join("; ")
            )
        })
        .collect()
}

/// New over base for each side but the first, and their geometric means.
pub fn ratios(comparison: &Comparison) -> Sheet {
    let others = comparison
        .sides
        .iter()
        .skip(1)
        .map(|side| right(side.name.clone()));
    let mut sheet = Sheet::new(
        [left(""), left("metric")]
            .into_iter()
            .chain(others)
            .collect(),
    );
    for (benchmark, label, row) in places(comparison) {
        sheet.lines.extend(benchmark.map(Line::Group));
        let mut fields = vec![field(label), field(metric(row, &Scale::of(row)))];
        fields.extend(row.entries.iter().skip(1).map(ratio));
        sheet.lines.push(Line::Fields(fields));
    }
    sheet.lines.push(Line::Group("geometric mean".to_owned()));
    for (better, arrow) in [(Better::Higher, '↑'), (Better::Lower, '↓')] {
        let means: Vec<_> = comparison
            .ratios
            .iter()
            .filter(|mean| mean.better == better)
            .collect();
        if means.is_empty() {
            continue;
        }
        let mut fields = vec![field(""), field(format!("{better} is better {arrow}"))];
        fields.extend(means.iter().map(|mean| field(ratio_mean(mean))));
        sheet.lines.push(Line::Fields(fields));
    }
    sheet
}

fn ratio(entry: &Entry) -> Field {
    let Entry::Measured(measured) = entry else {
        return toned("missing", Tone::Faint);
    };
    match &measured.against {
        None => toned("no baseline", Tone::Faint),
        Some(Against::NotComparable(_)) => toned("not comparable", Tone::Faint),
        Some(Against::Compared(difference)) => {
            let text = format!(
                "{} {}",
                numbers::ratio(difference),
                numbers::count(measured)
            );
            toned(
                text,
                difference
                    .ratio
                    .map_or(Tone::Faint, |_| tone(difference.word)),
            )
        }
    }
}

fn ratio_mean(mean: &backsight_policy::RatioMean) -> String {
    let left_out = match mean.left_out {
        0 => String::new(),
        rows => format!(", {rows} without"),
    };
    match (mean.gmean, mean.range) {
        (Ok(gmean), Some(range)) => format!(
            "{} (from {} to {}) rows={}{left_out}",
            numbers::plain_ratio(gmean),
            numbers::plain_ratio(range.low),
            numbers::plain_ratio(range.high),
            mean.rows
        ),
        _ => format!("undefined: rows=0{left_out}"),
    }
}

/// Every summary of the samples of every row.
pub fn statistics(comparison: &Comparison) -> Sheet {
    let sides = comparison.sides.iter().map(|side| right(side.name.clone()));
    let mut sheet = Sheet::new([left("statistic")].into_iter().chain(sides).collect());
    for row in &comparison.rows {
        let measured: Vec<Option<&Measured>> = row.entries.iter().map(Entry::measured).collect();
        if measured.iter().all(Option::is_none) {
            continue;
        }
        let scale = Scale::of(row);
        let cell = one_line(&row.cell.to_string());
        sheet
            .lines
            .push(Line::Group(format!("{cell} {}", metric(row, &scale))));
        let counts = row.entries.iter().map(|entry| match entry {
            Entry::Measured(measured) => field(numbers::count(measured)),
            Entry::Missing(why) => toned(why.to_string(), Tone::Faint),
        });
        sheet.lines.push(Line::Fields(
            [field("trials (samples)")]
                .into_iter()
                .chain(counts)
                .collect(),
        ));
        sheet
            .lines
            .extend(statistics_of_row(row, &measured, &scale));
    }
    sheet
}

fn statistics_of_row(row: &Row, measured: &[Option<&Measured>], scale: &Scale) -> Vec<Line> {
    let sides: Vec<Option<Vec<Statistic>>> = measured
        .iter()
        .map(|side| side.map(|side| statistics::of(&side.of_samples)))
        .collect();
    let Some(first) = sides.iter().flatten().next() else {
        return Vec::new();
    };
    let line = |(number, statistic): (usize, &Statistic)| {
        let mut fields = vec![field(statistic_name(statistic, row.better))];
        let of_side =
            |side: &Option<Vec<Statistic>>| side.as_ref().map(|side| side[number].clone());
        let base = sides.first().and_then(of_side);
        for (at, side) in sides.iter().enumerate() {
            let comparable =
                measured[at].is_some_and(|side| matches!(side.against, Some(Against::Compared(_))));
            let base = base.as_ref().filter(|_| comparable);
            fields.push(field(of_side(side).map_or(String::new(), |side| {
                statistic_text(&side, base, row.better, scale)
            })));
        }
        Line::Fields(fields)
    };
    first.iter().enumerate().map(line).collect()
}

/// Percentiles count from the best; which side of the distribution that is depends on the direction.
fn statistic_name(statistic: &Statistic, better: Better) -> String {
    if !statistic.name.starts_with("Pctile") {
        return statistic.name.clone();
    }
    let end = match better {
        Better::Lower => "high end",
        Better::Higher => "low end",
    };
    format!("{} ({end})", statistic.name)
}

fn statistic_text(
    statistic: &Statistic,
    base: Option<&Statistic>,
    better: Better,
    scale: &Scale,
) -> String {
    let value = match (statistic.value, statistic.kind) {
        (Err(why), _) => return numbers::undefined(why).to_owned(),
        (Ok(value), statistics::Kind::Percent) => (
            value,
            format!("{}%", backsight_model::significant(value, 4)),
        ),
        (Ok(value), _) => (value, scale.show(value)),
    };
    let (value, text) = value;
    let change = base
        .ok_or(Undefined::NotPositive)
        .and_then(|base| base.value)
        .and_then(|base| difference_percent(base, value, statistic.kind.better(better)));
    match change {
        Ok(change) => format!("{text} ({})", numbers::percent(change, 2)),
        Err(_) => text,
    }
}
