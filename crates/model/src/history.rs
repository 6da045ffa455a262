//! What a study finds along a target's history: builds, boots, and the trials on them, as they are kept
//! and read back.
//!
//! Everything is kept, nothing averaged: a version that doesn't build is a build with a failure, not a missing one.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, time::Duration};

use crate::{
    Better, Cell, Failure, HostRecordMap, Layout, MetricName, MonitorName, Simulator, StudyName,
    StudyState, TestbedName, Unit, Version, fairness_metric,
};

/// Why there is no build of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum BuildFailure {
    /// A quirk says that it isn't built.
    #[error("skipped: {0}")]
    Skipped(String),
    /// It doesn't build, or not in this layout.
    #[error("{0}")]
    Broken(String),
}

/// A build of a version in a layout, as a study made or found it.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildRecord {
    /// The version's position among the study's versions, from 0.
    pub version: usize,
    /// Its layout.
    pub layout: Layout,
    /// What identifies its content: version, patches, quirks, layout, recipe, tool chain.
    pub key: String,
    /// The quirks that it has: why each.
    pub quirks: Vec<String>,
    /// The compilers that made it, as its programs say.
    pub compilers: Vec<String>,
    /// Why there is none, if there is none.
    pub failure: Option<BuildFailure>,
    /// Whether it was there already.
    pub cached: bool,
    /// When it was begun.
    pub began: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// What its commands were and printed.
    pub log: Vec<u8>,
}

/// One start of a system under test from a build.
#[derive(Debug, Clone, PartialEq)]
pub struct BootRecord {
    /// The number of the testbed that it is on, among the study's; 0 where it has only its plan's.
    pub testbed: usize,
    /// The version's position among the study's versions, from 0.
    pub version: usize,
    /// The build's layout.
    pub layout: Layout,
    /// Which start of this build it is, from 1, over all studies.
    pub ordinal: u32,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// When it was begun.
    pub began: Timestamp,
    /// How long it took until the system answered and had proved which build it is.
    pub took: Duration,
    /// What the system is: the proof that it gave, and the facts of its hosts.
    pub facts: IndexMap<String, String>,
    /// What its console said, or the commands that activated it.
    pub log: Vec<u8>,
    /// What its guests are, at the first boot of each build.
    pub guests: HostRecordMap,
}

/// A build as it is read back; its log stays in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Build {
    /// Its number in the study, from 1.
    pub number: u32,
    /// The version's position among the study's versions, from 0.
    pub version: usize,
    /// Its layout.
    pub layout: Layout,
    /// What identifies its content.
    pub key: String,
    /// The quirks that it has: why each.
    pub quirks: Vec<String>,
    /// The compilers that made it, as its programs say.
    pub compilers: Vec<String>,
    /// Why there is none, if there is none.
    pub failure: Option<BuildFailure>,
    /// Whether it was there already.
    pub cached: bool,
    /// When it was begun.
    pub began: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// Where its log is among the raw outputs, if it printed anything.
    pub log: Option<String>,
}

/// A boot as it is read back; its log stays in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Boot {
    /// Its number in the study, from 1.
    pub number: u32,
    /// The number of its build.
    pub build: u32,
    /// The number of the testbed that it was on, among the study's; 0 where it has only its plan's.
    pub testbed: usize,
    /// Which start of this build it is, from 1, over all studies.
    pub ordinal: u32,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// When it was begun.
    pub began: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// What the system is.
    pub facts: IndexMap<String, String>,
    /// Where its log is among the raw outputs, if there was anything.
    pub log: Option<String>,
}

/// What must be known of a metric to read its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct CellMetric {
    /// Its name.
    pub name: MetricName,
    /// Unit of every sample.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// One line about it.
    pub about: String,
    /// Whether the benchmark is run for it.
    pub primary: bool,
    /// The monitor that measured it; none if its benchmark declares it.
    pub monitor: Option<MonitorName>,
    /// What counted it, where it wasn't a real machine's clock.
    pub simulator: Option<Simulator>,
}

/// Metrics whose changes are believed or not among each other, so that many of little interest take no certainty from the few that
/// matter; in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricFamily {
    /// What a benchmark is run for.
    Primary,
    /// What it measures besides.
    Secondary,
    /// What monitors measure meanwhile.
    Monitored,
}

impl MetricFamily {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Primary, Self::Secondary, Self::Monitored];

    /// The family of a metric that may be `primary`, or measured by a monitor.
    pub fn new(primary: bool, monitor: Option<&MonitorName>) -> Self {
        match (primary, monitor) {
            (true, _) => Self::Primary,
            (false, None) => Self::Secondary,
            (false, Some(_)) => Self::Monitored,
        }
    }
}

impl CellMetric {
    /// The metrics that it is one of.
    pub fn family(&self) -> MetricFamily {
        MetricFamily::new(self.primary, self.monitor.as_ref())
    }

    /// The metric that says how evenly so many hosts share this one: without unit, 1 is even.
    pub fn fairness(of: &MetricName, hosts: usize) -> Option<Self> {
        Some(Self {
            name: fairness_metric(of)?,
            unit: Unit::parse("ratio").ok()?,
            better: Better::Higher,
            about: format!(
                "how evenly {hosts} hosts share `{of}` (Jain's index: 1 is even, {:.2} is all to one)",
                1.0 / hosts as f64
            ),
            primary: false,
            monitor: None,
            simulator: None,
        })
    }
}

/// A cell of a study along a history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryCell {
    /// The cell.
    pub cell: Cell,
    /// What identifies the question over studies: definition, parameters, variant, testbed and machine.
    pub key: String,
    /// The metrics of its benchmark, in the definition's order.
    pub metrics: Vec<CellMetric>,
}

/// A trial on a boot.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryTrial {
    /// Its number in the study, from 1.
    pub number: u32,
    /// The number of its boot.
    pub boot: u32,
    /// The cell's number in the plan's order, from 0.
    pub cell: usize,
    /// Its round within its boot, from 1.
    pub round: u32,
    /// When it began.
    pub began: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// By metric, in the cell's order: the samples of the trial; none where it failed or printed nothing.
    pub samples: Vec<Vec<f64>>,
    /// Share of the processors that others took meanwhile, from 0 to 1.
    pub neighbours: f64,
}

/// One of the testbeds that a study measures on at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryTestbed {
    /// Its name in the lab.
    pub name: TestbedName,
    /// What identifies each cell's question on it, in the order of the cells.
    pub questions: Vec<String>,
}

/// What one study measured along the history of a target.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyHistory {
    /// The study's number in the store.
    pub study: i64,
    /// Its name.
    pub name: StudyName,
    /// When it began.
    pub began: Timestamp,
    /// Where it stands.
    pub state: StudyState,
    /// Its versions, oldest first; where they are sides, the base first.
    pub versions: Vec<Version>,
    /// Whether its versions are the sides of a comparison, in the order in which they were named: that is no order of the
    /// history.
    pub sides: bool,
    /// The testbeds that it measures on at once, its plan's own first; none where an older Backsight measured on that alone.
    pub testbeds: Vec<HistoryTestbed>,
    /// Its builds, by number from 1.
    pub builds: Vec<Build>,
    /// Its boots, by number from 1.
    pub boots: Vec<Boot>,
    /// Its cells, in the plan's order.
    pub cells: Vec<HistoryCell>,
    /// Its trials, in order of time.
    pub trials: Vec<HistoryTrial>,
}

impl StudyHistory {
    /// The build that a trial ran on, with its boot.
    pub fn place(&self, trial: &HistoryTrial) -> Option<(&Build, &Boot)> {
        let boot = self.boots.iter().find(|boot| boot.number == trial.boot)?;
        let build = self
            .builds
            .iter()
            .find(|build| build.number == boot.build)?;
        Some((build, boot))
    }

    /// Its testbeds, where it measures on several at once.
    pub fn several_testbeds(&self) -> &[HistoryTestbed] {
        match self.testbeds.len() {
            0 | 1 => &[],
            _ => &self.testbeds,
        }
    }

    /// What identifies each cell's question on each testbed, in the order of both.
    pub fn questions(&self) -> Vec<Vec<String>> {
        match &self.testbeds[..] {
            [] => vec![self.cells.iter().map(|cell| cell.key.clone()).collect()],
            some => some.iter().map(|it| it.questions.clone()).collect(),
        }
    }

    /// What was measured on each testbed by itself: machines differ, so that it isn't one history. The first of them has
    /// what didn't build.
    pub fn by_testbed(mut self) -> Vec<Self> {
        if self.testbeds.len() < 2 {
            return vec![self];
        }
        let testbeds = std::mem::take(&mut self.testbeds);
        let of = |(number, testbed): (usize, HistoryTestbed)| {
            let mut own = self.clone();
            own.boots.retain(|boot| boot.testbed == number);
            let boots: HashSet<u32> = own.boots.iter().map(|boot| boot.number).collect();
            let builds: HashSet<u32> = own.boots.iter().map(|boot| boot.build).collect();
            own.trials.retain(|trial| boots.contains(&trial.boot));
            own.builds
                .retain(|build| number == 0 || builds.contains(&build.number));
            for boot in &mut own.boots {
                boot.testbed = 0;
            }
            for (cell, question) in own.cells.iter_mut().zip(&testbed.questions) {
                cell.key.clone_from(question);
            }
            own.testbeds = vec![testbed];
            own
        };
        testbeds.into_iter().enumerate().map(of).collect()
    }

    /// The same without amended versions and what was measured of them.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.keep_versions(Version::is_plain);
        self
    }

    /// The same without these versions, by their identities, and what was measured of them.
    #[must_use]
    pub fn without(mut self, versions: &HashSet<String>) -> Self {
        self.keep_versions(|version| !versions.contains(&version.id));
        self
    }

    fn keep_versions(&mut self, keeps: impl Fn(&Version) -> bool) {
        if self.versions.iter().all(&keeps) {
            return;
        }
        let mut places = Vec::with_capacity(self.versions.len());
        let mut kept = 0;
        for version in &self.versions {
            let is_kept = keeps(version);
            places.push(is_kept.then_some(kept));
            kept += usize::from(is_kept);
        }
        let place = |version: usize| places.get(version).copied().flatten();
        self.versions.retain(keeps);
        self.builds.retain_mut(|build| {
            let place = place(build.version);
            build.version = place.unwrap_or_default();
            place.is_some()
        });
        let builds: HashSet<u32> = self.builds.iter().map(|build| build.number).collect();
        self.boots.retain(|boot| builds.contains(&boot.build));
        let boots: HashSet<u32> = self.boots.iter().map(|boot| boot.number).collect();
        self.trials.retain(|trial| boots.contains(&trial.boot));
    }
}
