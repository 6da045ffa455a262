//! A study of what watching costs, as the store has it.
//!
//! Its cells are those of the plan, each with every side: unwatched, watched by each monitor alone, by all together.
//!
//! Refuses: a study of another verb.

use backsight_model::{Cell, MonitorName, Unit};
use backsight_policy::{AskedMetric, OverheadPolicy, Watched};
use backsight_store::{Store, StoreError, StudyRow};
use std::time::Duration;

use crate::Choices;

/// What such a study asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Overhead {
    /// Its policy.
    pub policy: OverheadPolicy,
    /// The monitors, by number.
    pub monitors: Vec<MonitorName>,
    /// The cells of the plan.
    pub cells: Vec<Cell>,
    /// The units of each cell's metrics, in the order of the policy's.
    pub units: Vec<Vec<Unit>>,
}

impl Overhead {
    /// What this study asks; `None` if its verb asks something else.
    ///
    /// # Errors
    /// The store's own.
    pub async fn of(store: &Store, study: &StudyRow) -> Result<Option<Self>, StoreError> {
        let choices: Option<Choices> = serde_json::from_str(&study.arguments).ok();
        let Some(choices) = choices else {
            return Ok(None);
        };
        let Some(asked) = choices.overhead else {
            return Ok(None);
        };
        let metrics = store.declared_metrics(study.id).await?;
        let all = store.cells(study.id).await?;
        let unwatched = |cell: &&Cell| cell.monitors.as_ref().is_some_and(Vec::is_empty);
        let cells: Vec<Cell> = all
            .iter()
            .filter(unwatched)
            .map(|cell| Cell {
                monitors: None,
                ..cell.clone()
            })
            .collect();
        let of_cell = |cell: &Cell| metrics.get(&cell.benchmark).cloned().unwrap_or_default();
        let policy = OverheadPolicy {
            cells: cells
                .iter()
                .map(|cell| {
                    let shapes = of_cell(cell).into_iter();
                    let asked = shapes.map(|shape| AskedMetric {
                        name: shape.name,
                        better: shape.better,
                        decides: shape.primary,
                    });
                    asked.collect()
                })
                .collect(),
            monitors: asked.monitors.len(),
            rounds: choices.rounds.map(std::num::NonZeroU32::get),
            looked: asked.looked,
            budget: asked
                .budget
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            margin_percent: asked.margin_percent,
        };
        let units = cells
            .iter()
            .map(|cell| of_cell(cell).into_iter().map(|shape| shape.unit).collect());
        Ok(Some(Self {
            policy,
            monitors: asked.monitors,
            units: units.collect(),
            cells,
        }))
    }
}

/// The cells of a study of what watching costs, as [`OverheadPolicy`] numbers them.
pub fn watched_cells(plan: &[Cell], monitors: &[MonitorName]) -> Vec<Cell> {
    let policy = OverheadPolicy {
        cells: Vec::new(),
        monitors: monitors.len(),
        rounds: None,
        looked: 0,
        budget: None,
        margin_percent: 0.0,
    };
    let sides = policy.sides();
    let watched = |side: &Watched| match side {
        Watched::Not => Vec::new(),
        Watched::By(number) => monitors.get(*number).cloned().into_iter().collect(),
        Watched::Together => monitors.to_vec(),
    };
    let of_cell = |cell: &Cell| -> Vec<Cell> {
        let with = |side| Cell {
            monitors: Some(watched(side)),
            ..cell.clone()
        };
        sides.iter().map(with).collect()
    };
    plan.iter().flat_map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmap::IndexMap;

    #[test]
    fn every_cell_is_there_unwatched_with_each_monitor_and_with_all() {
        let cell = Cell {
            benchmark: "b".parse().unwrap(),
            params: IndexMap::new(),
            chosen: Vec::new(),
            variant: "default".parse().unwrap(),
            monitors: None,
        };
        let names = ["one", "two"].map(|name| name.parse().unwrap());
        let cells = watched_cells(&[cell.clone(), cell.clone()], &names);
        let shown: Vec<String> = cells.iter().map(ToString::to_string).collect();
        let of_one = [
            "b unwatched",
            "b with one",
            "b with two",
            "b with 2 monitors",
        ];
        assert_eq!(shown, [of_one, of_one].concat());
        assert_eq!(watched_cells(&[cell], &names[..1]).len(), 2);
    }
}
