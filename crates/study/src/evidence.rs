//! What is known already along a target's history, from all its studies.
//!
//! Refuses: evidence of another question. A version counts as measured only on the same build, with the same
//! definition, parameters, variant and testbed, on the same kind of machine.

use backsight_history::Workshop;
use backsight_model::{Arrangement, BenchmarkName, Cell, Document, Layout};
use backsight_policy::{Evidence, Observation, Outcome, Request};
use backsight_store::{Asked, Standing, Store, StoreError, StudyId};
use std::collections::{BTreeMap, HashMap};

/// What a study along a history is about, as its evidence is looked up.
#[derive(Debug, Clone, Copy)]
pub struct Along<'a> {
    /// The study, if it was begun already.
    pub study: Option<StudyId>,
    /// The study's layouts, by number.
    pub layouts: &'a [Layout],
    /// What identifies each cell's question.
    pub questions: &'a [String],
    /// Whether what didn't build or boot in other studies is tried again.
    pub retry: bool,
}

/// What identifies each cell's question over studies.
///
/// `definition` finds a benchmark's document, `machine` is what the machine that measures is.
pub fn questions(
    arrangement: &Arrangement,
    cells: &[Cell],
    definition: impl Fn(&BenchmarkName) -> Option<Document>,
    machine: &[(String, String)],
) -> Vec<String> {
    let place = format!(
        "{:?} {:?} {:?} {machine:?}",
        arrangement.lab.host, arrangement.lab.link, arrangement.seats
    );
    let meanings: HashMap<&BenchmarkName, String> = arrangement
        .benchmarks
        .keys()
        .map(|name| {
            (
                name,
                definition(name).as_ref().map_or_else(String::new, meaning),
            )
        })
        .collect();
    let of = |cell: &Cell| {
        let mut hasher = blake3::Hasher::new();
        let params: BTreeMap<&str, String> = cell
            .params
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_string()))
            .collect();
        let variant = arrangement.variants.get(&cell.variant);
        for part in [
            cell.benchmark.to_string(),
            meanings.get(&cell.benchmark).cloned().unwrap_or_default(),
            format!("{params:?}"),
            format!("{variant:?}"),
            place.clone(),
        ] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex()[..32].to_owned()
    };
    cells.iter().map(of).collect()
}

/// What a definition says, without its comments and its prose.
fn meaning(document: &Document) -> String {
    let Ok(mut table) = document.read::<serde_json::Map<String, serde_json::Value>>() else {
        return document.text.to_string();
    };
    table.shift_remove("about");
    serde_json::Value::Object(table).to_string()
}

/// Everything that the store knows of what this study asks.
///
/// # Errors
/// The store's own.
pub async fn evidence_along(
    store: &Store,
    workshop: &Workshop,
    along: Along<'_>,
) -> Result<Evidence, StoreError> {
    let asked = store.asked_along(&workshop.target().name).await?;
    let versions: HashMap<&str, usize> = workshop
        .versions()
        .iter()
        .enumerate()
        .map(|(position, version)| (version.id.as_str(), position))
        .collect();
    let mut keys = HashMap::new();
    let mut of = |seen: &Asked| -> Option<Observation> {
        let version = *versions.get(seen.version.as_str())?;
        let layout = along.layouts.iter().position(|l| *l == seen.layout)?;
        let key = keys
            .entry((version, layout))
            .or_insert_with(|| workshop.place(version, seen.layout).key);
        let own = along.study == Some(seen.study);
        let (outcome, counts) = match seen.standing {
            Standing::Measured => (Outcome::Measured, true),
            // A failed trial of another study is no answer: it is tried again.
            Standing::Failed => (Outcome::Failed, own),
            Standing::NoBoot => (Outcome::NoBoot, own || !along.retry),
            Standing::NoBuild => (Outcome::NoBuild, own || !along.retry),
        };
        if !counts || *key != seen.content {
            return None;
        }
        let is_trial = matches!(outcome, Outcome::Measured | Outcome::Failed);
        let cell = along.questions.iter().position(|q| *q == seen.question);
        Some(Observation {
            request: Request {
                version,
                layout,
                boot: seen.ordinal,
                cell: if is_trial { cell? } else { 0 },
                round: seen.round,
            },
            outcome,
            figures: seen
                .figures
                .iter()
                .filter_map(|(metric, value)| Some((metric.parse().ok()?, *value)))
                .collect(),
            took: std::time::Duration::ZERO,
        })
    };
    Ok(Evidence::of(asked.iter().filter_map(&mut of).collect()))
}
