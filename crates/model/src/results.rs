//! What a study has measured, as the floors above the store read it: series of samples by cell and metric.
//!
//! Everything is kept, nothing averaged: a trial without samples is in `failed`.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::{
    Better, Cell, Definitions, Failure, HostName, MetricName, MonitorName, Simulator, StudyName,
    Unit,
};

/// Where a study stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StudyState {
    /// It measures now, or was killed while it did: `backsight resume` tells.
    Running,
    /// It was stopped before its end and can go on.
    Stopped,
    /// It has its verdict.
    Finished,
}

impl fmt::Display for StudyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Finished => "finished",
        })
    }
}

/// The samples that one trial gave for one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSamples {
    /// The trial's number in the study, from 1.
    pub trial: u32,
    /// Its round, from 1.
    pub round: u32,
    /// The number of its boot in the study; 0 where nothing was booted.
    pub boot: u32,
    /// The session of the study that it was measured in, from 1: what one sitting measured.
    pub session: u32,
    /// The one host of the study that it was measured on, by its number in [`ResultSet::hosts`] from 1; 0 where the hosts of a
    /// testbed made it together, or nobody says it.
    pub host: u32,
    /// The trial's samples: mostly one.
    pub values: Vec<f64>,
    /// The interval samples within the trial, in order of time.
    pub each: Vec<f64>,
    /// Share of the processors that others took meanwhile, from 0 to 1, of the machine where it was worst.
    pub neighbours: f64,
}

/// All samples of one metric in one cell, in order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSeries {
    /// The cell.
    pub cell: Cell,
    /// The metric.
    pub metric: MetricName,
    /// Unit of every sample.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// One line about the metric.
    pub about: String,
    /// Whether the benchmark is run for this metric.
    pub primary: bool,
    /// The monitor that measured it; none if its benchmark declares it.
    pub monitor: Option<MonitorName>,
    /// What counted it, where it wasn't a real machine's clock.
    pub simulator: Option<Simulator>,
    /// The samples, by trial.
    pub trials: Vec<TrialSamples>,
}

impl CellSeries {
    /// Every trial's samples, one after the other.
    pub fn values(&self) -> Vec<f64> {
        self.trials
            .iter()
            .flat_map(|trial| trial.values.iter().copied())
            .collect()
    }
}

impl ResultSet {
    /// The host that a trial was measured on, if it was one and is known: where the study has a single host, that one.
    pub fn host_of(&self, trial: &TrialSamples) -> Option<&HostName> {
        let number = match (trial.host, self.hosts.len()) {
            (0, 1) => 0,
            (number, _) => usize::try_from(number).ok()?.checked_sub(1)?,
        };
        self.hosts.get_index(number).map(|(name, _)| name)
    }
}

/// What one study has measured.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultSet {
    /// The study's number in the store.
    pub study: i64,
    /// The name of this set: the study's, or what a part of it is called in a comparison.
    pub name: String,
    /// The study's name.
    pub study_name: StudyName,
    /// When it began.
    pub began: jiff::Timestamp,
    /// Where it stands.
    pub state: StudyState,
    /// Whether its cells were measured in turn, so that all of them had the same sessions. Nobody knows it of an import.
    pub interleaved: bool,
    /// What each host was.
    pub hosts: IndexMap<HostName, IndexMap<String, String>>,
    /// How it was measured, as far as that is known.
    pub definitions: Definitions,
    /// The samples, in the plan's order.
    pub series: Vec<CellSeries>,
    /// Trials that failed: number, round, cell, reason.
    pub failed: Vec<(u32, u32, Cell, Failure)>,
}
