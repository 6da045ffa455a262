//! Comparison of lists of numbers from any source. Known are the order of measurement, the cell of each number, and the
//! direction and unit that the user gives; the direction is never guessed.

use backsight_model::{
    Better, Cell, CellSeries, ResultSet, StudyName, StudyState, TrialSamples, Unit,
};
use backsight_model::{MetricName, Value};
use indexmap::IndexMap;

use super::{CompareOptions, Comparison, Origin, compare_sets};

/// One side: numbers by cell, each cell's in the order of measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberList {
    /// What it is called.
    pub name: String,
    /// The cells in the order in which they were first named, none of them empty. A list without cells has one
    /// without a name.
    pub cells: Vec<(String, Vec<f64>)>,
}

/// Compares lists of numbers; the first is the baseline. Each number counts as a repetition of its own.
pub fn compare_lists(
    lists: Vec<NumberList>,
    better: Better,
    unit: Option<Unit>,
    options: CompareOptions,
) -> Comparison {
    // Whoever has no unit has every number in the same one.
    let any = Unit::parse("ratio").ok();
    let sets: Vec<ResultSet> = lists
        .into_iter()
        .enumerate()
        .filter_map(|(number, list)| set(number, list, better, unit.or(any)?))
        .collect();
    let origin = match unit {
        Some(_) => Origin::Lists,
        None => Origin::ListsWithoutUnit,
    };
    compare_sets(&sets, &[], options, origin)
}

fn set(number: usize, list: NumberList, better: Better, unit: Unit) -> Option<ResultSet> {
    let metric = MetricName::new("value").ok()?;
    let series = list
        .cells
        .into_iter()
        .filter_map(|(name, values)| {
            Some(CellSeries {
                cell: cell(&name)?,
                metric: metric.clone(),
                unit,
                better,
                about: String::new(),
                primary: true,
                monitor: None,
                simulator: None,
                trials: vec![TrialSamples {
                    trial: 1,
                    round: 1,
                    boot: 0,
                    session: 1,
                    host: 0,
                    values,
                    each: Vec::new(),
                    neighbours: 0.0,
                }],
            })
        })
        .collect();
    Some(ResultSet {
        study: number as i64,
        name: list.name,
        study_name: StudyName::new("list").ok()?,
        began: jiff::Timestamp::UNIX_EPOCH,
        state: StudyState::Finished,
        interleaved: true,
        hosts: IndexMap::new(),
        definitions: Default::default(),
        series,
        failed: Vec::new(),
    })
}

/// A cell of this name: a benchmark's where it may be one, else a parameter's value, which may be any text.
fn cell(name: &str) -> Option<Cell> {
    let mut params = IndexMap::new();
    let mut chosen = Vec::new();
    let benchmark = match name {
        "" => "numbers".parse(),
        name => name.parse(),
    };
    let benchmark = match benchmark {
        Ok(benchmark) => benchmark,
        Err(_) => {
            params.insert("name".parse().ok()?, Value::Text(name.to_owned()));
            chosen.push("name".parse().ok()?);
            "cell".parse().ok()?
        }
    };
    Some(Cell {
        benchmark,
        params,
        chosen,
        variant: "default".parse().ok()?,
        monitors: None,
    })
}
