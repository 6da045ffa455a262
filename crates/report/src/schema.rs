//! JSON schemas of the views: of what `--format json` prints.

use schemars::{JsonSchema, generate::SchemaSettings};

use crate::{
    alerts::AlertsView,
    bisect::BisectView,
    change_points::ChangePointsView,
    comparison::ComparisonView,
    counters::Counters,
    cross_checks::CrossChecks,
    doctor::{DoctorHistoryView, DoctorView},
    explain::ExplanationsView,
    history::HistoryView,
    lab::{LabCheckView, LabView},
    noise::NoiseView,
    overhead::OverheadView,
    profile::ProfileView,
    pruning::Pruning,
    queue::QueueView,
    scenario_matrix::ScenarioMatrix,
    search::SearchView,
    try_patch::TryView,
};

/// Kinds of JSON that have a schema, each with a line on what prints it.
pub const KINDS: &[(&str, &str)] = &[
    ("verdict-try", "What `try` and `run --until` print."),
    ("verdict-bisect", "What `bisect` prints."),
    ("verdict-noise", "What `noise` prints."),
    ("verdict-overhead", "What `overhead` prints."),
    ("verdict-search", "What `search` prints."),
    (
        "comparison",
        "What `compare` prints, and `show` of a study that only measured.",
    ),
    ("explanation", "What `explain` prints."),
    ("change-points", "What `detect` prints."),
    ("profile", "What `profile` prints."),
    ("counters", "What `show --counters` prints."),
    ("cross-checks", "What `show --cross-checks` prints."),
    ("scenario-matrix", "What `show --matrix` prints."),
    ("history", "What `history` and `step` print."),
    ("doctor", "What `doctor --json` prints."),
    ("doctor-history", "What `doctor --history --json` prints."),
    ("lab-hosts", "What `lab show --json` prints."),
    ("lab-check", "What `lab check --json` prints."),
    ("alerts", "What `alerts --json` prints."),
    ("pruning", "What `prune` prints."),
    ("queue", "What `queue --json` prints."),
];

/// The JSON schema of this kind, if there is such a kind.
pub fn schema_for(kind: &str) -> Option<serde_json::Value> {
    Some(match kind {
        "verdict-try" => schema_of::<TryView<'_>>(),
        "verdict-bisect" => schema_of::<BisectView<'_>>(),
        "verdict-noise" => schema_of::<NoiseView<'_>>(),
        "verdict-overhead" => schema_of::<OverheadView<'_>>(),
        "verdict-search" => schema_of::<SearchView<'_>>(),
        "comparison" => schema_of::<ComparisonView<'_>>(),
        "explanation" => schema_of::<ExplanationsView<'_>>(),
        "change-points" => schema_of::<ChangePointsView<'_>>(),
        "profile" => schema_of::<ProfileView<'_>>(),
        "counters" => schema_of::<Counters>(),
        "cross-checks" => schema_of::<CrossChecks>(),
        "scenario-matrix" => schema_of::<ScenarioMatrix>(),
        "history" => schema_of::<HistoryView<'_>>(),
        "doctor" => schema_of::<DoctorView>(),
        "lab-hosts" => schema_of::<LabView>(),
        "lab-check" => schema_of::<LabCheckView<'_>>(),
        "alerts" => schema_of::<AlertsView<'_>>(),
        "pruning" => schema_of::<Pruning>(),
        "queue" => schema_of::<QueueView>(),
        "doctor-history" => schema_of::<DoctorHistoryView>(),
        _ => return None,
    })
}

/// The schema of what is written, not of what would be read: a field that is always written is required.
pub fn schema_of<T: JsonSchema>() -> serde_json::Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_schema_whose_fields_are_documented() {
        for (kind, _) in KINDS {
            let schema = schema_for(kind).unwrap();
            let parts = schema["$defs"].as_object().into_iter().flatten();
            let parts = parts.map(|(name, part)| (name.as_str(), part));
            for (name, part) in parts.chain([(*kind, &schema)]) {
                for (field, about) in part["properties"].as_object().into_iter().flatten() {
                    assert!(
                        about["description"].is_string(),
                        "{kind}: {name}.{field}: {about}"
                    );
                }
            }
        }
        assert!(schema_for("sonnet").is_none());
    }
}
