//! Splits one result set into parts by variant or by one parameter, to compare them. Reports the series that belong to no part.

use backsight_model::{BenchmarkName, Cell, ParamName, ResultSet, VariantName, nearest};
use indexmap::{IndexMap, IndexSet};
use std::{collections::HashSet, convert::Infallible, fmt, str::FromStr};

use super::{CompareOptions, Comparison, Warning, compare};

/// What makes the parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SplitKey {
    /// Each variant is a part.
    Variant,
    /// Each value of this parameter is a part.
    Param(String),
    /// Each combination of values of these is a part; none of them is a combination itself.
    Combined(Vec<SplitKey>),
}

impl SplitKey {
    /// What it combines: itself where it is no combination.
    pub fn keys(&self) -> &[Self] {
        match self {
            Self::Combined(keys) => keys,
            single => std::slice::from_ref(single),
        }
    }

    /// The value that a cell has of it; none where it lacks a parameter.
    pub fn value_of(&self, cell: &Cell) -> Option<String> {
        match self {
            Self::Variant => Some(cell.variant.to_string()),
            Self::Param(name) => cell.params.get(name.as_str()).map(ToString::to_string),
            Self::Combined(keys) => {
                let values: Option<Vec<String>> = keys.iter().map(|it| it.value_of(cell)).collect();
                values.map(|values| combined_name(&values))
            }
        }
    }
}

/// What a combination of values is called.
pub fn combined_name(values: &[impl AsRef<str>]) -> String {
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    values.join(" / ")
}

impl FromStr for SplitKey {
    type Err = Infallible;

    /// `variant`, a parameter's name, or several of these: `variant+size`.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let single = |name: &str| match name {
            "variant" => Self::Variant,
            name => Self::Param(name.to_owned()),
        };
        Ok(match text.contains('+') {
            true => Self::Combined(text.split('+').map(single).collect()),
            false => single(text),
        })
    }
}

impl fmt::Display for SplitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variant => f.pad("variant"),
            Self::Param(name) => f.pad(name),
            Self::Combined(keys) => {
                let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
                f.pad(&keys.join("+"))
            }
        }
    }
}

/// A result set has no two parts of the kind asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitError {
    /// No cell has such a parameter.
    Unknown {
        /// What was asked for.
        by: String,
        /// What could be asked for: everything that has two values or more.
        known: Vec<String>,
    },
    /// All cells agree in it.
    OneValue {
        /// What was asked for.
        by: String,
        /// The value that they have.
        value: String,
        /// What could be asked for.
        known: Vec<String>,
    },
}

impl fmt::Display for SplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unknown { by, known } | Self::OneValue { by, known, .. }) = self;
        match self {
            Self::Unknown { .. } => write!(f, "no cell of this study has a parameter `{by}`")?,
            Self::OneValue { value, .. } => {
                write!(
                    f,
                    "every cell of this study has {by} {value}: there is nothing to compare"
                )?;
            }
        }
        match (nearest(by, known.iter().map(String::as_str)), &known[..]) {
            (Some(name), _) if matches!(self, Self::Unknown { .. }) => {
                write!(f, "; did you mean `{name}`?")
            }
            (_, []) => f.write_str("; compare it with another study"),
            (_, known) => write!(f, "; it has several values of: {}", known.join(", ")),
        }
    }
}

impl std::error::Error for SplitError {}

/// The parts of a result set, in the order in which its plan has their values. A part is named by its value, and its
/// cells no longer have what it was split by, so that they ask the same question in every part. Also the series of
/// cells that have no such parameter and so belong to no part.
///
/// # Errors
/// There are no two parts.
pub fn split(set: &ResultSet, by: &SplitKey) -> Result<(Vec<ResultSet>, Vec<String>), SplitError> {
    // Counted first: a set may be large, and each part is a copy of its series.
    let failed = set.failed.iter().map(|(_, _, cell, _)| cell);
    let cells = set.series.iter().map(|series| &series.cell);
    let values: IndexSet<String> = cells
        .chain(failed)
        .filter_map(|cell| by.value_of(cell))
        .collect();
    if values.len() < 2 {
        let known = several(set);
        return Err(match values.into_iter().next() {
            // Of a combination the one that nobody has.
            None => {
                let has = |key: &&SplitKey| {
                    let mut cells = set.series.iter().map(|series| &series.cell);
                    cells.any(|cell| key.value_of(cell).is_some())
                };
                let by = by.keys().iter().find(|key| !has(key)).unwrap_or(by);
                SplitError::Unknown {
                    by: by.to_string(),
                    known,
                }
            }
            Some(value) => SplitError::OneValue {
                by: by.to_string(),
                value,
                known,
            },
        });
    }
    let mut parts: IndexMap<String, ResultSet> = IndexMap::new();
    let mut left_out = IndexSet::new();
    let failed = set.failed.iter().map(|(_, _, cell, _)| cell);
    let cells = set.series.iter().map(|series| &series.cell);
    let of_variant = set_by_variant(cells.chain(failed));
    let strip = |cell: &mut Cell| strip(cell, by, &of_variant);
    for series in &set.series {
        match by.value_of(&series.cell) {
            Some(value) => {
                let mut series = series.clone();
                strip(&mut series.cell);
                part(&mut parts, set, value).series.push(series);
            }
            None => {
                left_out.insert(format!("{} {}", series.cell, series.metric));
            }
        }
    }
    for (trial, round, cell, failure) in &set.failed {
        if let Some(value) = by.value_of(cell) {
            let mut cell = cell.clone();
            strip(&mut cell);
            let failed = &mut part(&mut parts, set, value).failed;
            failed.push((*trial, *round, cell, failure.clone()));
        }
    }
    Ok((
        parts.into_values().collect(),
        left_out.into_iter().collect(),
    ))
}

/// Cells that ask the same question of each variant.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantQuestion {
    /// The question: a cell without its variant and without what the variants set.
    pub cell: Cell,
    /// The number of each variant's cell, in the order of the variants; nothing where a variant has none.
    pub numbers: Vec<Option<usize>>,
}

/// The variants of these cells in their order, and the questions that are asked of them.
pub fn questions_by_variant(cells: &[Cell]) -> (Vec<VariantName>, Vec<VariantQuestion>) {
    let variants: IndexSet<VariantName> = cells.iter().map(|cell| cell.variant.clone()).collect();
    let of_variant = set_by_variant(cells.iter());
    let mut beside: IndexMap<String, VariantQuestion> = IndexMap::new();
    for (number, cell) in cells.iter().enumerate() {
        let mut asked = cell.clone();
        strip(&mut asked, &SplitKey::Variant, &of_variant);
        let of_question =
            beside
                .entry(super::question(&asked))
                .or_insert_with(|| VariantQuestion {
                    cell: asked,
                    numbers: vec![None; variants.len()],
                });
        if let Some(variant) = variants.get_index_of(&cell.variant) {
            of_question.numbers[variant] = Some(number);
        }
    }
    (
        variants.into_iter().collect(),
        beside.into_values().collect(),
    )
}

/// The part of this value, made if it isn't there.
fn part<'a>(
    parts: &'a mut IndexMap<String, ResultSet>,
    whole: &ResultSet,
    value: String,
) -> &'a mut ResultSet {
    parts.entry(value).or_insert_with_key(|value| ResultSet {
        study: whole.study,
        name: value.clone(),
        study_name: whole.study_name.clone(),
        began: whole.began,
        state: whole.state,
        interleaved: whole.interleaved,
        hosts: whole.hosts.clone(),
        definitions: whole.definitions.clone(),
        series: Vec::new(),
        failed: Vec::new(),
    })
}

/// The parts of a result set beside each other: [`split`], then [`compare`].
///
/// # Errors
/// There are no two parts.
pub fn compare_by(
    set: &ResultSet,
    by: &SplitKey,
    options: CompareOptions,
) -> Result<Comparison, SplitError> {
    let (parts, left_out) = split(set, by)?;
    let mut comparison = Comparison {
        by: Some(by.clone()),
        ..compare(&parts, options)
    };
    if !left_out.is_empty() {
        comparison.warnings.push(Warning::LeftOut {
            by: by.to_string(),
            rows: left_out,
        });
    }
    Ok(comparison)
}

/// The part that each cell belongs to, with the cell as it asks the same question in every part; none of a cell that belongs to no part.
pub fn parts_of_cells(cells: &[Cell], by: &SplitKey) -> Vec<Option<(String, Cell)>> {
    let of_variant = set_by_variant(cells.iter());
    let part = |cell: &Cell| {
        let value = by.value_of(cell)?;
        let mut cell = cell.clone();
        strip(&mut cell, by, &of_variant);
        Some((value, cell))
    };
    cells.iter().map(part).collect()
}

/// Parameters, by benchmark, that the variants set: within a variant they have one value, and another in another one.
/// They are a part of what the variant is. What a plan crosses has the same values in every variant.
fn set_by_variant<'a>(
    cells: impl Iterator<Item = &'a Cell>,
) -> HashSet<(BenchmarkName, ParamName)> {
    type Values<'a> = IndexMap<&'a VariantName, IndexSet<String>>;
    let mut values: IndexMap<(&BenchmarkName, &ParamName), Values<'_>> = IndexMap::new();
    for cell in cells {
        for (param, value) in &cell.params {
            let of_param = values.entry((&cell.benchmark, param)).or_default();
            of_param
                .entry(&cell.variant)
                .or_default()
                .insert(value.to_string());
        }
    }
    let set = values.into_iter().filter(|(_, variants)| {
        let one_each = variants.values().all(|values| values.len() == 1);
        one_each && variants.values().any(|values| values != &variants[0])
    });
    set.map(|((benchmark, param), _)| (benchmark.clone(), param.clone()))
        .collect()
}

fn strip(cell: &mut Cell, by: &SplitKey, of_variant: &HashSet<(BenchmarkName, ParamName)>) {
    match by {
        SplitKey::Variant => {
            let Cell {
                benchmark,
                params,
                chosen,
                ..
            } = &mut *cell;
            let is_its =
                |param: &ParamName| of_variant.contains(&(benchmark.clone(), param.clone()));
            params.retain(|param, _| !is_its(param));
            chosen.retain(|param| !is_its(param));
            // A cell's text doesn't mention the variant of this name.
            if let Ok(name) = VariantName::new("default") {
                cell.variant = name;
            }
        }
        SplitKey::Param(name) => {
            cell.params.shift_remove(name.as_str());
            cell.chosen
                .retain(|chosen: &ParamName| chosen.as_str() != name);
        }
        SplitKey::Combined(keys) => {
            for key in keys {
                strip(cell, key, of_variant);
            }
        }
    }
}

/// Everything that a set could be split by.
fn several(set: &ResultSet) -> Vec<String> {
    let mut values: IndexMap<String, IndexSet<String>> = IndexMap::new();
    for series in &set.series {
        let variant = ("variant".to_owned(), series.cell.variant.to_string());
        let params = series
            .cell
            .params
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        for (name, value) in std::iter::once(variant).chain(params) {
            values.entry(name).or_default().insert(value);
        }
    }
    values.retain(|_, values| values.len() > 1);
    values.into_keys().collect()
}
