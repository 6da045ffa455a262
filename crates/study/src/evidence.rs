//! Evidence along a target's history, from all its studies.
//!
//! A trial is evidence for a question only if the build and what identifies the question ([`crate::question_identity`]) are the
//! same.

use crate::HistoryChoices;
use backsight_history::Workshop;
use backsight_model::{Boot, Build, Layout, MetricName, StudyHistory};
use backsight_policy::{Evidence, Observation, Request, RequestOutcome};
use backsight_store::{RequestRecord, Store, StoreError, StoredOutcome, StudyId};
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

/// Which evidence counts for a study along a history.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceScope<'a> {
    /// The study, if it was begun already.
    pub study: Option<StudyId>,
    /// The study's layouts, by number.
    pub layouts: &'a [Layout],
    /// What identifies each cell's question, on each of the study's testbeds.
    pub questions: &'a [Vec<String>],
    /// Whether what didn't build or boot in other studies is tried again.
    pub retry: bool,
}

/// Everything that the store knows of what this study asks.
///
/// # Errors
/// The store's own.
pub async fn evidence_along(
    store: &Store,
    workshop: &Workshop,
    scope: EvidenceScope<'_>,
) -> Result<Evidence, StoreError> {
    let asked = store.requests_along(&workshop.target().name).await?;
    // A version may be there several times, amended otherwise: their builds tell them apart.
    let mut versions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (position, version) in workshop.versions().iter().enumerate() {
        versions.entry(&version.id).or_default().push(position);
    }
    let mut keys = HashMap::new();
    let mut of = |seen: &RequestRecord| -> Option<Observation> {
        let layout = scope.layouts.iter().position(|l| *l == seen.layout)?;
        let mut alike = versions.get(seen.version.as_str())?.iter().copied();
        let version = alike.find(|version| {
            let key = keys
                .entry((*version, layout))
                .or_insert_with(|| workshop.place(*version, seen.layout).key);
            *key == seen.content
        })?;
        let place = asked_at(scope.questions, &seen.question);
        let own = scope.study == Some(seen.study);
        observation(seen, (version, layout), place, own, scope.retry)
    };
    let observations = asked.iter().filter_map(&mut of).collect();
    let mut evidence = Evidence::from_observations(observations);
    if let Some(study) = scope.study {
        let own = store.study_history(study).await?;
        let made = own.builds.iter().filter(|build| !build.cached);
        evidence.builds = made.map(|build| build.took).collect();
        evidence.boots = own.boots.iter().map(|boot| boot.took).collect();
    }
    Ok(evidence)
}

/// The testbed and the cell that a question is about.
fn asked_at(questions: &[Vec<String>], asked: &str) -> Option<(usize, usize)> {
    let mut testbeds = questions.iter().enumerate();
    testbeds.find_map(|(testbed, cells)| Some((testbed, cells.iter().position(|q| q == asked)?)))
}

/// What was asked, as evidence about a version in a layout; nothing where it doesn't count for who asks now. `place` is the
/// testbed and the cell.
fn observation(
    seen: &RequestRecord,
    (version, layout): (usize, usize),
    place: Option<(usize, usize)>,
    own: bool,
    retry: bool,
) -> Option<Observation> {
    let (outcome, counts) = match seen.standing {
        StoredOutcome::Measured => (RequestOutcome::Measured, true),
        // A failed trial of another study is no answer: it is tried again.
        StoredOutcome::Failed => (RequestOutcome::Failed, own),
        StoredOutcome::NoBoot => (RequestOutcome::NoBoot, own || !retry),
        StoredOutcome::NoBuild => (RequestOutcome::NoBuild, own || !retry),
    };
    if !counts {
        return None;
    }
    let is_trial = matches!(outcome, RequestOutcome::Measured | RequestOutcome::Failed);
    let (testbed, cell) = if is_trial { place? } else { (0, 0) };
    Some(Observation {
        request: Request {
            testbed,
            version,
            layout,
            boot: seen.ordinal,
            cell,
            round: seen.round,
        },
        outcome,
        figures: figures(seen),
        // What others took isn't this study's to pay.
        took: if own { seen.took } else { Duration::ZERO },
    })
}

/// What a study along a history stood on: what it has seen itself, after what studies before it had found of the same
/// builds and questions, as [`evidence_along`] gave it then. `asked` is all that studies of the target asked
/// ([`Store::requests_along`]), `along` is as the study chose it.
pub fn evidence_for_study(
    asked: &[RequestRecord],
    history: &StudyHistory,
    along: &HistoryChoices,
) -> Evidence {
    let own = evidence_of_study(history, &along.layouts);
    let versions = history.versions.iter().enumerate();
    let versions: HashMap<&str, usize> = versions
        .filter(|(_, version)| version.is_plain())
        .map(|(position, version)| (version.id.as_str(), position))
        .collect();
    let builds = history.builds.iter();
    let builds: HashMap<(usize, Layout), &str> = builds
        .map(|build| ((build.version, build.layout), build.key.as_str()))
        .collect();
    let questions = history.questions();
    let of = |seen: &RequestRecord| -> Option<Observation> {
        let version = *versions.get(seen.version.as_str())?;
        let layout = along.layouts.iter().position(|l| *l == seen.layout)?;
        // A build that the study didn't need itself can't be told from another of the same version, built by another recipe.
        let own_build = builds.get(&(version, seen.layout));
        if !seen.plain || own_build.is_some_and(|key| *key != seen.content) {
            return None;
        }
        let place = asked_at(&questions, &seen.question);
        observation(seen, (version, layout), place, false, along.retry)
    };
    let before = asked.iter().filter(|seen| seen.study.0 < history.study);
    let mut observations: Vec<Observation> = before.filter_map(of).collect();
    observations.extend(own.observations);
    Evidence {
        observations,
        ..own
    }
}

fn figures(seen: &RequestRecord) -> BTreeMap<MetricName, f64> {
    let figures = seen.figures.iter();
    figures
        .filter_map(|(metric, value)| Some((metric.parse().ok()?, *value)))
        .collect()
}

/// What one study has seen itself, in order of time; `layouts` are its own, by number. For verbs that compare what was
/// measured side by side: what others measured at another time is no evidence for them.
pub fn evidence_of_study(history: &StudyHistory, layouts: &[Layout]) -> Evidence {
    let place = |build: &Build| {
        let layout = layouts.iter().position(|layout| *layout == build.layout)?;
        Some((build.version, layout))
    };
    let nothing = |(version, layout): (usize, usize), boot, outcome| Observation {
        request: Request {
            testbed: 0,
            version,
            layout,
            boot,
            cell: 0,
            round: 0,
        },
        outcome,
        figures: BTreeMap::new(),
        took: Duration::ZERO,
    };
    let unbuilt = history.builds.iter().filter(|b| b.failure.is_some());
    let unbuilt = unbuilt.filter_map(|b| Some(nothing(place(b)?, 0, RequestOutcome::NoBuild)));
    let boots: HashMap<u32, ((usize, usize), &Boot)> = history
        .boots
        .iter()
        .filter_map(|boot| {
            let mut builds = history.builds.iter();
            let build = builds.find(|build| build.number == boot.build)?;
            Some((boot.number, (place(build)?, boot)))
        })
        .collect();
    let unbooted = history.boots.iter().filter(|boot| boot.failure.is_some());
    let unbooted = unbooted.filter_map(|boot| {
        let (place, boot) = boots.get(&boot.number)?;
        let mut seen = nothing(*place, boot.ordinal, RequestOutcome::NoBoot);
        seen.request.testbed = boot.testbed;
        Some(seen)
    });
    let trials = history.trials.iter().filter_map(|trial| {
        let (place, boot) = boots.get(&trial.boot)?;
        let outcome = match trial.failure {
            None => RequestOutcome::Measured,
            Some(_) => RequestOutcome::Failed,
        };
        let mut seen = nothing(*place, boot.ordinal, outcome);
        (seen.request.cell, seen.request.round) = (trial.cell, trial.round);
        seen.request.testbed = boot.testbed;
        seen.took = trial.took;
        let metrics = &history.cells.get(trial.cell)?.metrics;
        let given = metrics.iter().zip(&trial.samples);
        let given = given.filter(|(_, values)| !values.is_empty());
        seen.figures = given
            .map(|(metric, values)| {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                (metric.name.clone(), mean)
            })
            .collect();
        Some(seen)
    });
    let made = history.builds.iter().filter(|build| !build.cached);
    Evidence {
        builds: made.map(|build| build.took).collect(),
        boots: history.boots.iter().map(|boot| boot.took).collect(),
        observations: unbuilt.chain(unbooted).chain(trials).collect(),
    }
}
