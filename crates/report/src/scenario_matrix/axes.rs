//! The axes of a scenario matrix: as somebody asks for them, as a plan says them, or those that a study has.

use backsight_model::{Cell, Located, PlanMatrix, ResultSet};
use backsight_policy::{SplitKey, VERSION_AXIS};
use indexmap::{IndexMap, IndexSet};
use std::{collections::HashMap, str::FromStr};

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

    /// `rows=system,columns=cipher` or `rows=version+processors,columns=filter+cipher`, perhaps with `base=none` and `metric=throughput`.
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
    /// What a plan says its matrix is of.
    pub fn of_plan(matrix: &PlanMatrix) -> Self {
        let axis = |text: &str| {
            let Ok(key) = text.parse();
            key
        };
        let said = |text: &Option<Located<String>>| text.as_ref().map(|text| (**text).clone());
        Self {
            rows: axis(&matrix.rows),
            columns: axis(&matrix.columns),
            base: said(&matrix.base),
            metric: said(&matrix.metric),
        }
    }

    /// The first two of what has several values in a study, variants before parameters; none where there is one at most. What
    /// a variant sets is a part of it.
    ///
    /// Versions are the rows of a set that has several.
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
                    SplitKey::Param(_) | SplitKey::Combined(_) => variant.as_str(),
                };
                let by_variant = values.entry(key).or_default();
                by_variant.entry(of).or_default().insert(value);
            }
        }
        values.retain(|_, by_variant| by_variant.values().any(|values| values.len() > 1));
        // After the variants, which every set has.
        if let Some(versions) = values.get_index_of(&SplitKey::Param(VERSION_AXIS.to_owned())) {
            values.move_index(versions, 0);
        }
        let mut keys = values.into_keys();
        let (rows, columns) = (keys.next()?, keys.next()?);
        let first_variant = || Some(set.series.first()?.cell.variant.to_string());
        let base = match rows {
            SplitKey::Variant => first_variant(),
            SplitKey::Param(_) | SplitKey::Combined(_) => None,
        };
        Some(Self {
            rows,
            columns,
            base,
            metric: None,
        })
    }
}
