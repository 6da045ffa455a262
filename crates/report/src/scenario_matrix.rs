//! A scenario matrix: one metric over two axes of a study, each the variants, the versions, a parameter, or a combination of these,
//! with speed-ups to a row or a column, and the shares of a limit that its plan says.
//!
//! It is a comparison of the study's parts, laid out: no statistics are made here. A combination that the plan leaves out is
//! `n/a`, also where it leaves out all of a row; one that it has and that gave nothing is `not measured`.

use backsight_model::{Better, Cell, CrossedCell, LeaveOut, Plan, ResultSet, Unit, Value};
use backsight_policy::{
    CompareOptions, ComparisonRow, Difference, MissingReason, RowEntry, SplitError, SplitKey,
    VERSION_AXIS, combined_name, compare, parts_of_cells, split,
};
use backsight_stats::Interval;
use indexmap::{IndexMap, IndexSet};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::HashMap, fmt};

mod axes;
mod document;
#[cfg(test)]
mod tests;

pub use axes::MatrixAxes;

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
    /// What the rows are: `variant`, `version`, a parameter's name, or several of these with `+` between them.
    pub rows: String,
    /// What the columns are.
    pub columns: String,
    /// The row or column that speed-ups are to.
    pub base: String,
    /// What that is a value of, as `rows` or `columns` says it.
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
    NotApplicable {
        /// Why, if the plan says it.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
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

impl ScenarioMatrix {
    /// The matrices of this set, with the limits of its plan and the cells that this leaves out. In a set along a history each
    /// version is a value of the parameter [`VERSION_AXIS`].
    ///
    /// # Errors
    /// It hasn't two values of an axis, or what was asked for.
    pub fn new(
        set: &ResultSet,
        axes: &MatrixAxes,
        plan: Option<&Plan>,
    ) -> Result<Self, MatrixError> {
        let cells: Vec<Cell> = set
            .series
            .iter()
            .map(|series| series.cell.clone())
            .collect();
        let crossed = plan.map_or_else(Vec::new, |plan| cross_product(plan, &cells));
        let names = |key: &SplitKey| axis_names(key, &crossed, &cells);
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
        // What the plan leaves out may be all that an axis has beside one value.
        let along_names = if by_row { &columns } else { &rows };
        if along_names.len() < 2 {
            split(set, along).map_err(MatrixError::Axis)?;
        }
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
        let place = |part: &str, row: &str| match by_row {
            true => (part.to_owned(), row.to_owned()),
            false => (row.to_owned(), part.to_owned()),
        };
        let left_out = LeftOut::new(&crossed, &cells, (by, along), place);
        let of_rows: Vec<Cell> = asked.iter().map(|row| row.cell.clone()).collect();
        let mut drafts: IndexMap<String, Draft<'_>> = IndexMap::new();
        for (row, part) in asked.into_iter().zip(parts_of_cells(&of_rows, along)) {
            let Some((value, cell)) = part else { continue };
            let identity = format!("{} {}", identity(&cell), row.metric);
            let draft = drafts.entry(identity).or_insert_with(|| Draft {
                cell,
                row,
                entries: HashMap::new(),
            });
            for (side, entry) in comparison.sides.iter().zip(&row.entries) {
                draft.entries.insert(place(&side.name, &value), entry);
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
                .map(|draft| draft.table((&rows, &columns), &left_out, plan))
                .collect(),
        })
    }
}

/// The plan's cross product, for each version of the measured cells where they have any.
fn cross_product<'p>(plan: &'p Plan, measured: &[Cell]) -> Vec<CrossedCell<'p>> {
    let crossed = plan.cross_product(measured);
    let mut versions: Vec<&Value> = Vec::new();
    for version in measured.iter().filter_map(|it| it.params.get(VERSION_AXIS)) {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    if versions.is_empty() {
        return crossed;
    }
    let mut all = Vec::new();
    for version in versions {
        for it in &crossed {
            let mut it = it.clone();
            if let Some(param) = it.cell.params.get_mut(VERSION_AXIS) {
                *param = version.clone();
            }
            all.push(it);
        }
    }
    all
}

/// The names of an axis's values that were measured, or that the plan leaves out: in the plan's order, of a combination by its first
/// key, then by its second.
fn axis_names(key: &SplitKey, crossed: &[CrossedCell<'_>], measured: &[Cell]) -> IndexSet<String> {
    let keys = key.keys();
    let mut values: Vec<IndexSet<String>> = vec![IndexSet::new(); keys.len()];
    let mut places = |cell: &Cell| -> Option<Vec<usize>> {
        let of_keys = keys.iter().zip(&mut values);
        of_keys
            .map(|(key, values)| Some(values.insert_full(key.value_of(cell)?).0))
            .collect()
    };
    let mut found = IndexSet::new();
    for it in crossed {
        let place = places(&it.cell);
        found.extend(place.filter(|_| it.left_out.is_some()));
    }
    found.extend(measured.iter().filter_map(places));
    found.sort_unstable();
    let name = |place: &Vec<usize>| {
        let of_keys = values.iter().zip(place);
        let names: Vec<&String> = of_keys.map(|(values, at)| &values[*at]).collect();
        combined_name(&names)
    };
    found.iter().map(name).collect()
}

/// What identifies a cell among those of the tables.
fn identity(cell: &Cell) -> String {
    format!("{cell} {:?}", cell.params)
}

/// A row and a column.
type Place = (String, String);

/// The places that the plan leaves out, by what of their cells isn't on an axis, each with the reason if the plan says one.
struct LeftOut(HashMap<String, HashMap<Place, Option<String>>>);

impl LeftOut {
    fn new(
        crossed: &[CrossedCell<'_>],
        measured: &[Cell],
        (by, along): (&SplitKey, &SplitKey),
        place: impl Fn(&str, &str) -> Place,
    ) -> Self {
        let rule = |it: &CrossedCell<'_>| it.left_out.map(|rule: &LeaveOut| rule.why.clone());
        let reasons: Vec<Option<String>> = crossed.iter().filter_map(rule).collect();
        let cells = crossed.iter().filter(|it| it.left_out.is_some());
        let mut cells: Vec<Cell> = cells.map(|it| it.cell.clone()).collect();
        let count = cells.len();
        // What variants set shows in all cells together.
        cells.extend_from_slice(measured);
        let (sides, rest): (Vec<String>, Vec<Cell>) =
            parts_of_cells(&cells, by).into_iter().flatten().unzip();
        let mut all: HashMap<String, HashMap<Place, Option<String>>> = HashMap::new();
        if rest.len() == cells.len() {
            let of_left_out = sides.iter().zip(parts_of_cells(&rest, along)).take(count);
            for ((side, part), why) in of_left_out.zip(reasons) {
                if let Some((value, cell)) = part {
                    let places = all.entry(identity(&cell)).or_default();
                    places.insert(place(side, &value), why);
                }
            }
        }
        Self(all)
    }
}

/// A table of which the places are being filled.
struct Draft<'a> {
    cell: Cell,
    row: &'a ComparisonRow,
    /// By row and column.
    entries: HashMap<Place, &'a RowEntry>,
}

impl Draft<'_> {
    fn table(
        &self,
        (rows, columns): (&IndexSet<String>, &IndexSet<String>),
        left_out: &LeftOut,
        plan: Option<&Plan>,
    ) -> MatrixTable {
        let unit = self.row.unit;
        let metric = self.row.metric.as_str();
        let limit = unit
            .zip(plan)
            .and_then(|(unit, plan)| plan.limit(&self.cell.benchmark, metric, unit));
        let left_out = left_out.0.get(&identity(&self.cell));
        let why = |place: &Place| left_out.and_then(|places| places.get(place));
        let cell = |place: &Place| {
            let entry = self.entries.get(place);
            let measured = entry.and_then(|entry| cell(entry, self.row.better, limit));
            measured.unwrap_or_else(|| MatrixCell::NotApplicable {
                why: why(place).cloned().flatten(),
            })
        };
        let rows = rows.iter().filter_map(|name| {
            let places = columns.iter().map(|column| (name.clone(), column.clone()));
            let places: Vec<Place> = places.collect();
            let cells: Vec<MatrixCell> = places.iter().map(&cell).collect();
            let is_measured = |cell: &MatrixCell| !matches!(cell, MatrixCell::NotApplicable { .. });
            let is_there =
                cells.iter().any(is_measured) || places.iter().any(|it| why(it).is_some());
            is_there.then(|| MatrixRow {
                name: name.clone(),
                cells,
            })
        });
        MatrixTable {
            cell: self.cell.to_string(),
            metric: self.row.metric.to_string(),
            unit: unit.map_or(String::new(), |unit| unit.to_string()),
            better: self.row.better.to_string(),
            limit,
            rows: rows.collect(),
            columns: columns.iter().cloned().collect(),
            scale: unit,
        }
    }
}

/// What is known of a combination; none where the plan leaves it out.
fn cell(entry: &RowEntry, better: Better, limit: Option<f64>) -> Option<MatrixCell> {
    Some(match entry {
        RowEntry::Missing(MissingReason::NotInPlan | MissingReason::OtherParams { .. }) => {
            return None;
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
    })
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
