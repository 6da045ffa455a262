//! The choices of a study: what the command line, or a program, chose over the plan's file.
//!
//! [`Choices`] is stored with the study as JSON: `{"rounds": …, "use": […], "folder": …, "bisect": {…}}`. Each verb's own
//! choices stand under its name, those of `run` beside the common ones.

use backsight_model::{BenchmarkName, HostName, Layout, MonitorName, TestbedName};
use backsight_policy::{SearchPolicy, StepOrder};
use backsight_store::StudyRow;
use serde::{Deserialize, Serialize, de::Error as _, ser::Error as _};
use serde_json::{Map, Value};
use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use crate::verbs::{InRegistry, VerbChoices};

/// The choices of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// Rounds, instead of the plan's.
    pub rounds: Option<NonZeroU32>,
    /// The testbed, instead of the plan's.
    pub testbed: Option<TestbedName>,
    /// Benchmarks, instead of the plan's; the plan's if empty.
    pub benchmarks: Vec<BenchmarkName>,
    /// Monitors, instead of the plan's; the plan's if empty.
    pub monitors: Vec<MonitorName>,
    /// The plan's folder, where the commands of its variants run.
    pub folder: Option<PathBuf>,
    /// The hosts that it took for roles that any of several can play; those that were free.
    pub hosts: Vec<HostName>,
    /// The verb with its own choices.
    pub verb: VerbChoices,
}

/// The common choices, as they are stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rounds: Option<NonZeroU32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    testbed: Option<TestbedName>,
    #[serde(default, rename = "use", skip_serializing_if = "Vec::is_empty")]
    benchmarks: Vec<BenchmarkName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    monitors: Vec<MonitorName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<HostName>,
    #[serde(flatten)]
    verb: Map<String, Value>,
}

impl Serialize for Choices {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = Stored {
            rounds: self.rounds,
            testbed: self.testbed.clone(),
            benchmarks: self.benchmarks.clone(),
            monitors: self.monitors.clone(),
            folder: self.folder.clone(),
            hosts: self.hosts.clone(),
            verb: self.verb.to_stored().map_err(S::Error::custom)?,
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Choices {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        Ok(Self {
            rounds: stored.rounds,
            testbed: stored.testbed,
            benchmarks: stored.benchmarks,
            monitors: stored.monitors,
            folder: stored.folder,
            hosts: stored.hosts,
            verb: VerbChoices::from_stored(stored.verb).map_err(D::Error::custom)?,
        })
    }
}

impl Choices {
    /// The choices of a verb over a plan: no rounds, testbed, benchmarks or folder of its own.
    pub fn new(verb: impl Into<VerbChoices>) -> Self {
        Self {
            rounds: None,
            testbed: None,
            benchmarks: Vec::new(),
            monitors: Vec::new(),
            folder: None,
            hosts: Vec::new(),
            verb: verb.into(),
        }
    }

    /// Reads the choices that a study was made with.
    ///
    /// # Errors
    /// Another program wrote them.
    pub fn from_study(study: &StudyRow) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&study.arguments)
    }

    /// The verb's own choices.
    ///
    /// # Errors
    /// They are another verb's: another program wrote the study.
    pub fn of_verb<V: InRegistry>(&self) -> miette::Result<&V::Choices> {
        V::choices_in(&self.verb)
            .ok_or_else(|| miette::miette!("this study says nothing of what `{}` asks", V::NAME))
    }
}

/// Choices of `run`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunChoices {
    /// The first round that is to be measured, where rounds were added to those that decided something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NonZeroU32>,
    /// What `run --until` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilChoices>,
    /// The testbeds that measure at once with the plan's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_testbeds: Vec<TestbedName>,
}

/// Choices of `run --until decided`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UntilChoices {
    /// What the trials may take together.
    pub budget: Option<Duration>,
    /// Rounds at most.
    pub most: u32,
    /// The largest difference, in percent, that doesn't matter.
    pub margin_percent: f64,
    /// The probability that no verdict is false, such as 0.95.
    pub confidence: f64,
}

/// Choices of `test`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TestChoices {
    /// How often a suite is run again at most while each of its runs had a failure or broke off.
    #[serde(default)]
    pub retries: u32,
}

/// Choices of `search`, with everything that decides what it asks for next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchChoices {
    /// The policy.
    pub policy: SearchPolicy,
    /// The variant or the testbed without the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// How long it may measure at a stretch, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
}

/// Choices of `overhead`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverheadChoices {
    /// What the trials may take in all, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The largest cost, in percent, that doesn't matter.
    pub margin_percent: f64,
    /// How often it was looked at before rounds were added to it.
    #[serde(default)]
    pub looked: usize,
}

/// Choices that every verb along a history has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryChoices {
    /// The folder of the target's file: its patches and its repository are beside it.
    pub folder: PathBuf,
    /// The layouts, by number.
    pub layouts: Vec<Layout>,
    /// Whether versions that didn't build or boot before are tried again.
    pub retry: bool,
    /// Whether versions are built while other machines measure.
    pub builds_ahead: bool,
    /// The testbeds that measure at once with the plan's own.
    #[serde(default, rename = "beside", skip_serializing_if = "Vec::is_empty")]
    pub more_testbeds: Vec<TestbedName>,
}

/// How often a version is measured, at each level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// Trials of each cell on each boot.
    pub again: u32,
    /// Boots of each build.
    pub reboot: u32,
    /// The layouts of each version.
    pub layouts: Vec<Layout>,
}

/// Choices of `step`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepChoices {
    /// The folder of the target's file: its patches and its repository are beside it.
    pub folder: PathBuf,
    /// Positions of the versions that are wanted.
    pub wanted: Vec<usize>,
    /// How often each version is measured.
    #[serde(rename = "modes")]
    pub repeats: Repeats,
    /// The order of the first pass.
    pub order: StepOrder,
    /// Whether a neighbour stands in for a broken version.
    pub skip_broken: bool,
    /// Whether it ends when the change points are stable.
    pub until_stable: bool,
    /// Whether versions that didn't build or boot before are tried again.
    pub retry: bool,
    /// Whether versions are built while other machines measure.
    #[serde(default = "yes")]
    pub builds_ahead: bool,
}

fn yes() -> bool {
    true
}

/// Choices of `try`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TryChoices {
    /// The choices along the history.
    #[serde(rename = "along")]
    pub history: HistoryChoices,
    /// The metrics that decide, `time` or `work.time`; the primary ones if none is named.
    pub metrics: Vec<String>,
    /// Trials of each cell on each side in a pass.
    pub trials: u32,
    /// Passes at most.
    pub most: u32,
    /// The first boot's ordinal.
    pub first_boot: u32,
    /// Whether a boot can be gone back to after others.
    pub revisits: bool,
    /// What builds, boots and trials may take together.
    pub budget: Option<Duration>,
    /// The largest difference, in percent, that doesn't matter, if equality is asked for.
    pub equal: Option<f64>,
    /// The probability that no decision is false, such as 0.95.
    pub confidence: f64,
    /// The user's names of the base and of the version that is changed, such as `main` and `feature`.
    #[serde(default)]
    pub called: Option<(String, String)>,
    /// What `check` asked; none of any other try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckChoices>,
    /// The one cell that is measured; all of the plan unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
}

/// Choices of `check`: a try of a working copy beside what it is to be merged into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckChoices {
    /// The base as it was asked for, such as `origin/main`.
    pub base: String,
    /// Whether it is compared with that version itself, and not with where it left that.
    pub tip: bool,
    /// Whether it is measured anew, whatever an earlier study measured of the same.
    pub anew: bool,
}

/// Choices of `bisect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectChoices {
    /// The choices along the history.
    #[serde(rename = "along")]
    pub history: HistoryChoices,
    /// The metric, `time` or `work.time`.
    pub metric: String,
    /// The cell, where the plan has several with this metric.
    pub cell: Option<String>,
    /// Trials of a measurement; learnt unless given.
    pub trials: Option<u32>,
    /// What builds, boots and trials may take together.
    pub budget: Option<Duration>,
    /// The probability that the answer is to have, such as 0.95.
    pub confidence: f64,
    /// The number of versions down to which a change is narrowed.
    pub resolution: usize,
    /// The smallest change that counts, as a share of the first version.
    pub smallest: Option<f64>,
    /// Whether changes that cancel are looked for.
    pub cancelling: bool,
    /// The command line that asks the same again.
    pub command: String,
}

/// Choices of `bisect --test`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestBisectChoices {
    /// The choices along the history.
    #[serde(rename = "along")]
    pub history: HistoryChoices,
    /// The test.
    pub test: String,
    /// The cell, where the plan has several with this suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// What builds, boots and trials may take together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Duration>,
    /// The probability that the answer is to have, such as 0.95.
    pub confidence: f64,
    /// The smallest change of the failure probability that counts; the usual one unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest: Option<f64>,
    /// The command line that asks the same again.
    pub command: String,
}

/// Choices of `noise`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseChoices {
    /// The choices along the history; none where the software is measured as it is found.
    #[serde(default, rename = "along", skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryChoices>,
    /// Boots of each layout at most.
    pub boots: u32,
    /// Trials of each cell on each boot at most.
    pub trials: u32,
    /// The first boot's ordinal.
    pub first_boot: u32,
    /// What builds, boots and trials may take together.
    pub budget: Option<Duration>,
    /// The difference between two versions that is to be seen, in percent.
    pub precision: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stored: &str) -> Choices {
        serde_json::from_str(stored).unwrap()
    }

    #[test]
    fn choices_that_were_stored_before_there_was_a_registry_are_read_and_written_alike() {
        let run = r#"{"rounds":3,"use":["ping-rtt"],"folder":"/plans"}"#;
        let until = r#"{"from":4,"until":{"budget":{"secs":360,"nanos":0},"most":10000,"margin_percent":5.0,"confidence":0.95}}"#;
        let bisect = r#"{"folder":"/plans","bisect":{"along":{"folder":"/t","layouts":[{"kind":"kept","seed":0}],"retry":false,"builds_ahead":false},"metric":"work.time","cell":null,"trials":null,"budget":null,"confidence":0.95,"resolution":1,"smallest":null,"cancelling":false,"command":"backsight bisect"}}"#;
        let parallel = r#"{"rounds":8,"hosts":["h2"],"more_testbeds":["b","c"]}"#;
        for stored in [run, until, parallel, bisect] {
            let choices = read(stored);
            let again: Value = serde_json::to_value(&choices).unwrap();
            assert_eq!(again, serde_json::from_str::<Value>(stored).unwrap());
        }
        assert_eq!(read(bisect).verb.name(), "bisect");
        assert_eq!(read(run).verb.name(), "run");
    }

    #[test]
    fn choices_of_no_known_verb_are_refused() {
        let refused = serde_json::from_str::<Choices>(r#"{"dance":{}}"#).unwrap_err();
        assert!(refused.to_string().contains("dance"), "{refused}");
    }
}
