//! What a study was asked: the plan, the lab and the definitions as they were, and the choices of the
//! command line. Kept with the study, they can be published and asked again, here or elsewhere.
//!
//! Refuses: plans that name what doesn't exist; the problem points at the place.

use backsight_catalog::{Catalog, CatalogError};
use backsight_model::{
    Arrangement, At, Benchmark, BenchmarkName, Document, HostName, Lab, Layout, Missing, Monitor,
    MonitorName, Plan, PlanMonitor, PlanParam, Problem, TestbedName, did_you_mean,
};
use backsight_policy::{SearchPolicy, StepOrder};
use serde::{Deserialize, Serialize};
use std::{num::NonZeroU32, path::PathBuf, time::Duration};

/// What the command line chose over the plan's file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Choices {
    /// Rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<NonZeroU32>,
    /// The first round that is to be measured, where rounds were added to those that decided something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NonZeroU32>,
    /// What `run --until` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilChoices>,
    /// Benchmarks, instead of the plan's.
    #[serde(default, rename = "use", skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<BenchmarkName>,
    /// The plan's folder, where the commands of its variants run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// What `step` asks for along a history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepChoices>,
    /// What `overhead` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<OverheadChoices>,
    /// What `try` asks for.
    #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptChoices>,
    /// What `bisect` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bisect: Option<BisectChoices>,
    /// What `noise` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseChoices>,
    /// What `search` looks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchChoices>,
}

impl Choices {
    /// What every verb along a history has chosen, if this is of one.
    pub fn along(&self) -> Option<AlongChoices> {
        let of_step = self.step.as_ref().map(StepChoices::along);
        of_step
            .or_else(|| Some(self.attempt.as_ref()?.along.clone()))
            .or_else(|| Some(self.bisect.as_ref()?.along.clone()))
            .or_else(|| self.noise.as_ref()?.along.clone())
    }
}

/// What `search` looks for, with everything that decides what it asks for next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchChoices {
    /// The policy.
    pub policy: SearchPolicy,
    /// The variant or the testbed that is without the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// How long it may measure at a stretch, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
}

/// What `run --until decided` asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UntilChoices {
    /// What the trials may take together.
    pub budget: Option<Duration>,
    /// Rounds at most.
    pub most: u32,
    /// A difference within this percentage is no matter.
    pub margin_percent: f64,
    /// That no verdict is false: 0.95.
    pub confidence: f64,
}

/// What `overhead` asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverheadChoices {
    /// The monitors whose cost is asked for.
    pub monitors: Vec<MonitorName>,
    /// What the trials may take in all, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// A cost within this percentage is no matter.
    pub margin_percent: f64,
    /// How often it was looked at before rounds were added to it.
    #[serde(default)]
    pub looked: usize,
}

/// What every verb along a history has chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlongChoices {
    /// Where the target's file is: its patches and its repository are beside it.
    pub folder: PathBuf,
    /// The layouts, by number.
    pub layouts: Vec<Layout>,
    /// Whether versions that didn't build or boot before are tried again.
    pub retry: bool,
    /// Whether versions are built while other machines measure.
    pub builds_ahead: bool,
    /// The testbeds that measure at once with the plan's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<TestbedName>,
}

/// How often a version is measured, at each level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    /// Trials of each cell on each boot.
    pub again: u32,
    /// Boots of each build.
    pub reboot: u32,
    /// The layouts of each version.
    pub layouts: Vec<Layout>,
}

/// What `step` asks for along a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepChoices {
    /// Where the target's file is: its patches and its repository are beside it.
    pub folder: PathBuf,
    /// Positions of the versions that are wanted.
    pub wanted: Vec<usize>,
    /// How often.
    pub modes: Modes,
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

impl StepChoices {
    fn along(&self) -> AlongChoices {
        AlongChoices {
            folder: self.folder.clone(),
            layouts: self.modes.layouts.clone(),
            retry: self.retry,
            builds_ahead: self.builds_ahead,
            beside: Vec::new(),
        }
    }
}

fn yes() -> bool {
    true
}

/// What `try` asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptChoices {
    /// What every verb along a history has chosen.
    pub along: AlongChoices,
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
    /// Up to how many percent a difference is no matter, if equality is asked for.
    pub equal: Option<f64>,
    /// That no decision is false: 0.95.
    pub confidence: f64,
    /// What the base and the version that is changed were called by who asked, such as `main` and `feature`.
    #[serde(default)]
    pub called: Option<(String, String)>,
}

/// What `bisect` asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectChoices {
    /// What every verb along a history has chosen.
    pub along: AlongChoices,
    /// The metric, `time` or `work.time`.
    pub metric: String,
    /// The cell, where the plan has several with this metric.
    pub cell: Option<String>,
    /// Trials of a measurement; learnt unless said.
    pub trials: Option<u32>,
    /// What builds, boots and trials may take together.
    pub budget: Option<Duration>,
    /// How sure the answer is to be: 0.95.
    pub confidence: f64,
    /// A change is known closely enough when it is one of so many versions.
    pub resolution: usize,
    /// Smaller changes than this don't count, in percent of the first version.
    pub smallest: Option<f64>,
    /// Whether changes that cancel are looked for.
    pub cancelling: bool,
    /// The command line that asks the same again.
    pub command: String,
}

/// What `noise` asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseChoices {
    /// What every verb along a history has chosen; nothing where the software is measured as it is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub along: Option<AlongChoices>,
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

/// A question with everything that it refers to.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The plan.
    pub plan: Document,
    /// The lab; this machine alone, if there is none.
    pub lab: Option<Document>,
    /// What the command line chose.
    pub choices: Choices,
    /// Whether versions of a target are measured, so that there are builds.
    pub along_history: bool,
}

/// What is wrong with a question.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum QuestionError {
    /// A fault in a document.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Problem(#[from] Problem),
    /// The catalogue's fault.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Catalog(#[from] CatalogError),
}

impl Question {
    /// The plan that `run --use` makes when there is no file.
    pub fn plan_of(benchmarks: &[BenchmarkName]) -> Document {
        let names: Vec<String> = benchmarks
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect();
        Document::new(
            "the command line",
            format!("use = [{}]\n", names.join(", ")),
        )
    }

    /// Finds everything that the plan names.
    ///
    /// # Errors
    /// A fault in one of the documents, or something named that doesn't exist.
    pub fn arrange(&self, catalog: &Catalog) -> Result<Arrangement, QuestionError> {
        self.arrange_on(catalog, None)
    }

    /// The same on another testbed than the plan's, if one is named.
    ///
    /// # Errors
    /// As [`Question::arrange`].
    pub fn arrange_on(
        &self,
        catalog: &Catalog,
        testbed: Option<&TestbedName>,
    ) -> Result<Arrangement, QuestionError> {
        let lab = match &self.lab {
            Some(document) => Lab::read(document)?,
            None => Lab::this_machine(),
        };
        let mut plan = Plan::read(&self.plan)?;
        if let Some(testbed) = testbed {
            plan.testbed = Some(At::nowhere(testbed.clone()));
        }
        if let Some(rounds) = self.choices.rounds {
            plan.rounds = rounds;
        }
        if !self.choices.benchmarks.is_empty() {
            narrow(&mut plan, &self.choices.benchmarks, catalog);
        }
        if let Some(overhead) = &self.choices.overhead {
            choose_monitors(&mut plan, &overhead.monitors);
        }
        let mut arrangement = plan.arrange(&self.plan, &lab, |name| match catalog.find(name) {
            Ok(Some(definition)) => Ok(definition.benchmark.clone()),
            Ok(None) => Err(Missing::Unknown {
                help: did_you_mean(
                    name.as_str(),
                    catalog.names().iter().map(BenchmarkName::as_str),
                )
                .or_else(|| Some("`backsight list benchmarks` shows what there is".into())),
            }),
            Err(error) => Err(Missing::Faulty(QuestionError::from(error))),
        })?;
        if !self.along_history {
            let of_build = plan.benchmarks.iter().find(|name| {
                let benchmark = arrangement.benchmarks.get(&***name);
                benchmark.is_some_and(Benchmark::asks_for_a_build)
            });
            if let Some(name) = of_build {
                return Err(self.plan.problem(
                    name.span(),
                    format!("`{name}` measures a build of a target"),
                    "here",
                    Some("measure it along the target's history: backsight step PLAN --target NAME --last 1w".into()),
                ).into());
            }
        }
        plan.arrange_monitors(&self.plan, &mut arrangement, |name| {
            find_monitor(catalog, name)
        })?;
        arrangement.folder = self.choices.folder.clone();
        Ok(arrangement)
    }

    /// The testbeds of the lab on which the plan can be measured while it is measured on this one: with the same roles, on
    /// hosts of the same kinds, of which none has two.
    pub fn arrangements_beside(&self, catalog: &Catalog, own: &Arrangement) -> Vec<Arrangement> {
        let mut all: Vec<Arrangement> = Vec::new();
        for name in own.lab.testbed.keys() {
            let Ok(other) = self.arrange_on(catalog, Some(name)) else {
                continue;
            };
            let is_taken = {
                let mut taken = all.iter().chain([own]).flat_map(hosts);
                taken.any(|host| hosts(&other).any(|its| its == host))
            };
            if !is_taken && is_like(own, &other) {
                all.push(other);
            }
        }
        all
    }
}

/// Whether a plan that is arranged to both is measured alike: the same roles, on hosts of the same kinds.
fn is_like(one: &Arrangement, other: &Arrangement) -> bool {
    let kinds = |it: &Arrangement| -> Vec<_> {
        let kind = |host: &HostName| it.lab.host.get(host).map(|settings| settings.kind);
        let mut roles: Vec<_> = (it.seats.iter())
            .map(|(role, seat)| (role.clone(), kind(&seat.host)))
            .collect();
        roles.sort_by(|a, b| a.0.cmp(&b.0));
        roles
    };
    kinds(one) == kinds(other)
}

fn hosts(arrangement: &Arrangement) -> impl Iterator<Item = &HostName> {
    arrangement.seats.values().map(|seat| &*seat.host)
}

fn find_monitor(catalog: &Catalog, name: &MonitorName) -> Result<Monitor, Missing<QuestionError>> {
    match catalog.monitors().find(name) {
        Ok(Some(monitor)) => Ok(monitor),
        Ok(None) => {
            let names = catalog.monitors().names();
            let near = did_you_mean(name.as_str(), names.iter().map(MonitorName::as_str));
            let list = || "`backsight list monitors` shows what there is".into();
            Err(Missing::Unknown {
                help: near.or_else(|| Some(list())),
            })
        }
        Err(error) => Err(Missing::Faulty(error.into())),
    }
}

/// Chooses monitors over the plan's own; what the plan says of one of them stays.
fn choose_monitors(plan: &mut Plan, chosen: &[MonitorName]) {
    let planned = std::mem::take(&mut plan.monitors);
    let of_plan = |name: &MonitorName| planned.iter().find(|own| own.name == *name).cloned();
    let named = |name: &MonitorName| At::nowhere(PlanMonitor::named(name.clone()));
    plan.monitors = chosen
        .iter()
        .map(|name| of_plan(name).unwrap_or_else(|| named(name)))
        .collect();
}

/// Chooses benchmarks over the plan's own. Parameters that only those take that aren't chosen go with them; what
/// nobody takes stays, to be complained of.
fn narrow(plan: &mut Plan, chosen: &[BenchmarkName], catalog: &Catalog) {
    let left_out: Vec<BenchmarkName> = plan
        .benchmarks
        .iter()
        .map(|name| (**name).clone())
        .filter(|name| !chosen.contains(name))
        .collect();
    let take = |names: &[BenchmarkName], param: &str| {
        let mut found = names
            .iter()
            .filter_map(|name| catalog.find(name).ok().flatten());
        found.any(|definition| definition.benchmark.params.contains_key(param))
    };
    let is_asked = |param: &str| take(chosen, param) || !take(&left_out, param);
    plan.params.retain(|key, entry| match entry {
        PlanParam::Values(_) => is_asked(key),
        PlanParam::Of(_) => !left_out.iter().any(|name| name.as_str() == key.as_str()),
    });
    for variant in &mut plan.variant {
        variant.params.retain(|param, _| is_asked(param.as_str()));
    }
    plan.benchmarks = chosen.iter().cloned().map(At::nowhere).collect();
}
