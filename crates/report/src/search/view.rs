//! The view of a search: its JSON.

use backsight_policy::{GeneratorLimit, LoadBounds, LoadPoint};
use schemars::JsonSchema;
use serde::Serialize;

use super::SearchStudy;

/// A search for the highest loads that meet goals. Loads are in the parameter's unit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SearchView<'a> {
    /// The study's name.
    pub name: &'a str,
    /// The parameter that is the load.
    pub load: &'a str,
    /// Its unit.
    pub unit: Option<&'a str>,
    /// Whether every search is over.
    pub complete: bool,
    /// What was searched.
    pub subjects: Vec<SubjectView<'a>>,
    /// The answers as sentences.
    pub sentences: Vec<String>,
    /// How it was searched, as sentences.
    pub notes: Vec<String>,
}

/// The answers on one subject.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SubjectView<'a> {
    /// Its parameters and variant.
    pub searched: String,
    /// Trials that its searches took, failed ones too.
    pub trials: usize,
    /// A goal each.
    pub goals: Vec<GoalView<'a>>,
    /// What was seen at each load, ascending.
    pub loads: &'a [LoadPoint],
}

/// The answer for one goal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GoalView<'a> {
    /// What it asks for.
    pub goal: String,
    /// The load up to which it was met: the median of the searches.
    pub met: Option<f64>,
    /// The bounds of each search, in order of time.
    pub searches: &'a [LoadBounds],
    /// Whose limit it is.
    pub limit: GeneratorLimit,
}

impl<'a> SearchView<'a> {
    /// The view of a study.
    pub fn new(study: &SearchStudy<'a>) -> Self {
        let (policy, verdict) = (study.policy, study.verdict);
        let param = study.benchmark.params.get(&policy.load);
        let subjects = verdict.subjects.iter().map(|answer| SubjectView {
            searched: study.subject(answer.subject),
            trials: answer.trials,
            goals: answer
                .goals
                .iter()
                .map(|goal| GoalView {
                    goal: study.goal(&policy.goals[goal.goal]),
                    met: goal.median(),
                    searches: &goal.searches,
                    limit: goal.generator,
                })
                .collect(),
            loads: &answer.loads,
        });
        Self {
            name: study.name,
            load: policy.load.as_str(),
            unit: param.and_then(|param| param.unit.as_deref()),
            complete: verdict.complete,
            subjects: subjects.collect(),
            sentences: study.sentences(),
            notes: study.notes(),
        }
    }
}
