//! A scenario matrix: one metric over two parameters (or the variants) of a study, with speed-ups to a row or a column, and
//! the shares of a limit that its plan says.
//!
//! It is a comparison of the study's parts, laid out: no statistics are made here. A combination that the plan leaves out is
//! `n/a`, one that it has and that gave nothing is `not measured`.

use backsight_model::{Better, Cell, ResultSet, Unit};
use backsight_policy::{
    CompareOptions, ComparisonRow, Difference, MissingReason, RowEntry, SplitError, SplitKey,
    compare, parts_of_cells, split,
};
use backsight_stats::Interval;
use indexmap::{IndexMap, IndexSet};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::HashMap, fmt, str::FromStr};

use crate::{
    Document, Field, Render, Section, Table, Tone, field, left,
    numbers::{self, Rounding, Scale, direction_words},
    right,
};

/// What a matrix is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixAxes {
    /// What its rows are.
    pub rows: SplitKey,
    /// What its columns are.
    pub columns: SplitKey,
    /// The row or column that speed-ups are to; the first column unless said.
    pub base: Option<String>,
    /// The metric; every primary one unless said.
    pub metric: Option<String>,
}

impl FromStr for MatrixAxes {
    type Err = String;

    /// `rows=system,columns=cipher`, perhaps with `base=none` and `metric=throughput`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts: HashMap<&str, &str> = HashMap::new();
        for part in text.split(',') {
            let (name, value) = part
                .split_once('=')
                .filter(|(_, value)| !value.is_empty())
                .ok_or_else(|| format!("`{part}` isn't `NAME=VALUE`"))?;
            if !["rows", "columns", "base", "metric"].contains(&name) {
                return Err(format!(
                    "`{name}` isn't one of rows, columns, base and metric"
                ));
            }
            if parts.insert(name, value).is_some() {
                return Err(format!("`{name}` is there twice"));
            }
        }
        let axis = |name: &str| match parts.get(name).map(|value| value.parse::<SplitKey>()) {
            Some(Ok(key)) => Ok(key),
            _ => Err(format!(
                "`{name}` is missing: expected for example rows=variant,columns=clients"
            )),
        };
        let (rows, columns) = (axis("rows")?, axis("columns")?);
        if rows == columns {
            return Err(format!("rows and columns are both {rows}"));
        }
        let said = |name: &str| parts.get(name).map(|value| (*value).to_owned());
        Ok(Self {
            rows,
            columns,
            base: said("base"),
            metric: said("metric"),
        })
    }
}

impl MatrixAxes {
    /// The first two of what has several values in a study, variants before parameters; none where there is one at most. What
    /// a variant sets is a part of it.
    pub fn first_of(set: &ResultSet) -> Option<Self> {
        let mut values: IndexMap<SplitKey, HashMap<&str, IndexSet<String>>> = IndexMap::new();
        for Cell {
            variant, params, ..
        } in set.series.iter().map(|series| &series.cell)
        {
            let params = params.iter();
            let params =
                params.map(|(name, value)| (SplitKey::Param(name.to_string()), value.to_string()));
            let own = (SplitKey::Variant, variant.to_string());
            for (key, value) in std::iter::once(own).chain(params) {
                // All variants are of one set.
                let of = match key {
                    SplitKey::Variant => "",
                    SplitKey::Param(_) => variant.as_str(),
                };
                let by_variant = values.entry(key).or_default();
                by_variant.entry(of).or_default().insert(value);
            }
        }
        values.retain(|_, by_variant| by_variant.values().any(|values| values.len() > 1));
        let mut keys = values.into_keys();
        Some(Self {
            rows: keys.next()?,
            columns: keys.next()?,
            base: None,
            metric: None,
        })
    }
}

/// Why there is no matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatrixError {
    /// A study hasn't several values of an axis.
    Axis(SplitError),
    /// No row or column is the base that was asked for.
    Base {
        /// What was asked for.
        base: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Nothing has the metric that was asked for.
    Metric(String),
}

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Axis(error) => error.fmt(f),
            Self::Base { base, known } => write!(
                f,
                "no row or column is `{base}`; there are: {}",
                known.join(", ")
            ),
            Self::Metric(metric) => write!(f, "no cell of this study has a metric `{metric}`"),
        }
    }
}

impl std::error::Error for MatrixError {}

/// The matrices of a study.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ScenarioMatrix {
    /// The study.
    pub study: String,
    /// What the rows are: `variant`, or a parameter's name.
    pub rows: String,
    /// What the columns are.
    pub columns: String,
    /// The row or column that speed-ups are to.
    pub base: String,
    /// What that is a value of: `variant`, or a parameter's name.
    pub base_of: String,
    /// One for each metric and what of its cells isn't on an axis.
    pub tables: Vec<MatrixTable>,
}

/// One metric over two axes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MatrixTable {
    /// The benchmark with what of its cells isn't on an axis.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// The unit of its values.
    pub unit: String,
    /// Which direction is good.
    pub better: String,
    /// The highest possible value, if the plan says one.
    pub limit: Option<f64>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<MatrixRow>,
    /// The unit as a type.
    #[serde(skip)]
    scale: Option<Unit>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MatrixRow {
    /// Its name.
    pub name: String,
    /// One for each column.
    pub cells: Vec<MatrixCell>,
}

/// What is known of a combination.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum MatrixCell {
    /// It was measured.
    Measured {
        /// The mean of its trials.
        value: f64,
        /// Half the width of the mean's 95 % interval; none of a single trial.
        reach: Option<f64>,
        /// How many trials.
        trials: usize,
        /// So many times as good as the base; none of the base, and where it can't be said.
        speed_up: Option<SpeedUp>,
        /// The value as a share of the limit, if the plan says one.
        utilisation: Option<f64>,
    },
    /// The plan has it, and it gave nothing.
    NotMeasured {
        /// Why.
        why: String,
    },
    /// The plan leaves it out.
    NotApplicable,
}

/// How many times as good something is as its base.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SpeedUp {
    /// value / base where higher is better or neither is, else base / value.
    pub ratio: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// `better`, `worse`, `changed`, `no change` or `can't tell`.
    pub verdict: &'static str,
}

/// A limit of a metric: what it may be at most, by benchmark and metric and in the unit asked for.
pub type LimitOf<'a> = dyn Fn(&Cell, &str, Unit) -> Option<f64> + 'a;

impl ScenarioMatrix {
    /// The matrices of this set.
    ///
    /// # Errors
    /// It hasn't two values of an axis, or what was asked for.
    pub fn new(
        set: &ResultSet,
        axes: &MatrixAxes,
        limit_of: &LimitOf<'_>,
    ) -> Result<Self, MatrixError> {
        let cells: Vec<Cell> = set
            .series
            .iter()
            .map(|series| series.cell.clone())
            .collect();
        let names = |key: &SplitKey| -> IndexSet<String> {
            let parts = parts_of_cells(&cells, key).into_iter().flatten();
            parts.map(|(value, _)| value).collect()
        };
        let (rows, columns) = (names(&axes.rows), names(&axes.columns));
        // The base is a part, and the rows of the comparison are the other axis.
        let by_row = axes
            .base
            .as_ref()
            .is_some_and(|base| rows.contains(base) && !columns.contains(base));
        let (by, along) = match by_row {
            true => (&axes.rows, &axes.columns),
            false => (&axes.columns, &axes.rows),
        };
        split(set, along).map_err(MatrixError::Axis)?;
        let (mut parts, _) = split(set, by).map_err(MatrixError::Axis)?;
        if let Some(base) = &axes.base {
            let place = parts.iter().position(|part| part.name == *base);
            let place = place.ok_or_else(|| MatrixError::Base {
                base: base.clone(),
                known: rows.iter().chain(&columns).cloned().collect(),
            })?;
            parts[..=place].rotate_right(1);
        }
        let comparison = compare(&parts, CompareOptions::default());
        let is_asked = |row: &&ComparisonRow| match &axes.metric {
            Some(metric) => row.metric.as_str() == metric,
            None => row.primary,
        };
        let asked: Vec<&ComparisonRow> = comparison.rows.iter().filter(is_asked).collect();
        if let (true, Some(metric)) = (asked.is_empty(), &axes.metric) {
            return Err(MatrixError::Metric(metric.clone()));
        }
        let of_rows: Vec<Cell> = asked.iter().map(|row| row.cell.clone()).collect();
        let mut drafts: IndexMap<String, Draft<'_>> = IndexMap::new();
        for (row, part) in asked.into_iter().zip(parts_of_cells(&of_rows, along)) {
            let Some((value, cell)) = part else { continue };
            let identity = format!("{cell} {:?} {}", cell.params, row.metric);
            let draft = drafts.entry(identity).or_insert_with(|| Draft {
                cell,
                row,
                entries: HashMap::new(),
            });
            for (side, entry) in comparison.sides.iter().zip(&row.entries) {
                let place = match by_row {
                    true => (side.name.clone(), value.clone()),
                    false => (value.clone(), side.name.clone()),
                };
                draft.entries.insert(place, entry);
            }
        }
        let mut drafts: Vec<Draft<'_>> = drafts.into_values().collect();
        // As the plan has them.
        drafts.sort_by_key(|draft| {
            set.series.iter().position(|series| {
                series.cell.benchmark == draft.row.cell.benchmark
                    && series.metric == draft.row.metric
            })
        });
        let tables = drafts.iter();
        Ok(Self {
            study: set.name.clone(),
            rows: axes.rows.to_string(),
            columns: axes.columns.to_string(),
            base: parts[0].name.clone(),
            base_of: by.to_string(),
            tables: tables
                .map(|draft| draft.table((&rows, &columns), limit_of))
                .collect(),
        })
    }
}

/// A table of which the places are being filled.
struct Draft<'a> {
    cell: Cell,
    row: &'a ComparisonRow,
    /// By row and column.
    entries: HashMap<(String, String), &'a RowEntry>,
}

impl Draft<'_> {
    fn table(
        &self,
        (rows, columns): (&IndexSet<String>, &IndexSet<String>),
        limit_of: &LimitOf<'_>,
    ) -> MatrixTable {
        let unit = self.row.unit;
        let limit = unit.and_then(|unit| limit_of(&self.cell, self.row.metric.as_str(), unit));
        let cell = |row: &String, column: &String| {
            let entry = self.entries.get(&(row.clone(), column.clone()));
            entry.map_or(MatrixCell::NotApplicable, |entry| {
                cell(entry, self.row.better, limit)
            })
        };
        let rows = rows.iter().map(|name| MatrixRow {
            name: name.clone(),
            cells: columns.iter().map(|column| cell(name, column)).collect(),
        });
        let is_empty = |row: &MatrixRow| {
            let mut cells = row.cells.iter();
            cells.all(|cell| *cell == MatrixCell::NotApplicable)
        };
        MatrixTable {
            cell: self.cell.to_string(),
            metric: self.row.metric.to_string(),
            unit: unit.map_or(String::new(), |unit| unit.to_string()),
            better: self.row.better.to_string(),
            limit,
            columns: columns.iter().cloned().collect(),
            rows: rows.filter(|row| !is_empty(row)).collect(),
            scale: unit,
        }
    }
}

fn cell(entry: &RowEntry, better: Better, limit: Option<f64>) -> MatrixCell {
    match entry {
        RowEntry::Missing(MissingReason::NotInPlan | MissingReason::OtherParams { .. }) => {
            MatrixCell::NotApplicable
        }
        RowEntry::Missing(why) => MatrixCell::NotMeasured {
            why: why.to_string(),
        },
        RowEntry::Measured(measured) => MatrixCell::Measured {
            value: measured.mean,
            reach: measured.reach,
            trials: measured.trials,
            speed_up: entry.difference().and_then(|it| speed_up(it, better)),
            utilisation: limit.map(|limit| measured.mean / limit),
        },
    }
}

fn speed_up(difference: &Difference, better: Better) -> Option<SpeedUp> {
    let ratio = difference.ratio.ok().filter(|ratio| *ratio > 0.0)?;
    let interval = difference.ratio_interval.ok();
    let (ratio, interval) = match better {
        Better::Higher | Better::Neither => (ratio, interval),
        Better::Lower => (
            1.0 / ratio,
            interval.filter(|ends| ends.low > 0.0).map(|ends| Interval {
                low: 1.0 / ends.high,
                high: 1.0 / ends.low,
            }),
        ),
    };
    Some(SpeedUp {
        ratio,
        interval,
        verdict: difference.call.as_str(),
    })
}

impl MatrixTable {
    fn scale(&self) -> Scale {
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        let values = cells.filter_map(|cell| match cell {
            MatrixCell::Measured { value, .. } => Some(*value),
            _ => None,
        });
        Scale::fitting(self.scale, values)
    }

    /// A table with a field for each measured combination.
    fn fields(&self, corner: &str, of: impl Fn(&MatrixCell) -> Field) -> Table {
        let mut columns = vec![left(corner)];
        columns.extend(self.columns.iter().map(right));
        let mut table = Table::new(columns);
        for row in &self.rows {
            let fields = row.cells.iter().map(|cell| match cell {
                MatrixCell::Measured { .. } => of(cell),
                MatrixCell::NotMeasured { .. } => field("not measured").with_tone(Tone::Bad),
                MatrixCell::NotApplicable => field("n/a").with_tone(Tone::Faint),
            });
            let mut all = vec![field(&row.name)];
            all.extend(fields);
            table.row(all);
        }
        table
    }

    fn values(&self, corner: &str) -> Table {
        let scale = self.scale();
        self.fields(corner, |cell| match cell {
            MatrixCell::Measured { value, reach, .. } => {
                let reach = reach.map(|reach| scale.convert(reach));
                field(numbers::mean(scale.convert(*value), reach))
            }
            _ => Field::default(),
        })
    }

    fn speed_ups(&self, corner: &str) -> Table {
        self.fields(corner, |cell| match cell {
            MatrixCell::Measured {
                speed_up: Some(it), ..
            } => {
                let rounding = Rounding::from_interval(it.ratio, it.interval);
                let interval = it.interval.map_or(String::new(), |ends| {
                    format!(" {}", rounding.interval(ends))
                });
                let (mark, tone) = match it.verdict {
                    "better" => ("✓ ", Tone::Good),
                    "worse" => ("✗ ", Tone::Bad),
                    "changed" => ("○ ", Tone::Changed),
                    "no change" => ("= ", Tone::Plain),
                    _ => ("? ", Tone::Plain),
                };
                let ratio = rounding.value(it.ratio);
                field(format!("{mark}×{ratio}{interval}")).with_tone(tone)
            }
            _ => field("–").with_tone(Tone::Faint),
        })
    }

    fn utilisations(&self, corner: &str) -> Table {
        self.fields(corner, |cell| match cell {
            MatrixCell::Measured {
                utilisation: Some(share),
                ..
            } => field(format!("{:.0} %", share * 100.0)).with_shade(*share),
            _ => Field::default(),
        })
    }

    fn missing(&self) -> impl Iterator<Item = String> {
        self.rows.iter().flat_map(move |row| {
            let cells = row.cells.iter().zip(&self.columns);
            cells.filter_map(move |(cell, column)| match cell {
                MatrixCell::NotMeasured { why } => Some(format!(
                    "{} {}, {} and {column}: {why}",
                    self.cell, self.metric, row.name
                )),
                _ => None,
            })
        })
    }
}

impl Render for ScenarioMatrix {
    type View<'v> = &'v Self;

    fn view(&self) -> &Self {
        self
    }

    fn document(&self) -> Document {
        let (rows, columns) = (&self.rows, &self.columns);
        let title = format!("{}: {rows} × {columns}", self.study);
        let corner = format!("{rows} \\ {columns}");
        let mut document = Document::new(title);
        for table in &self.tables {
            let name = format!("{} {}", table.cell, table.metric);
            let scale = table.scale();
            let unit = scale.unit.map_or(String::new(), |unit| format!("{unit}, "));
            let better = table
                .better
                .parse()
                .map_or("", |better: Better| direction_words(better));
            document = document
                .with_section(Section::table(
                    format!("{name}: {unit}{better}"),
                    table.values(&corner),
                ))
                .with_section(
                    Section::table(
                        format!("{name}: speed-up to {}={}", self.base_of, self.base),
                        table.speed_ups(&corner),
                    )
                    .with_about(
                        "So many times as good, with the interval of the comparison that it is from; above 1 is better. ✓ better, ✗ worse, = no change, ? can't tell.",
                    ),
                );
            if let Some(limit) = table.limit {
                let limit = scale.convert(limit);
                let limit = format!("{}{}", numbers::value(limit, 3), scale.unit_after());
                document = document.with_section(Section::table(
                    format!("{name}: share of {limit}"),
                    table.utilisations(&corner),
                ));
            }
        }
        let missing: Vec<String> = self.tables.iter().flat_map(MatrixTable::missing).collect();
        document.with_section(Section::list("Not measured", missing))
    }
}
