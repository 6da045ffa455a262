//! What a reader should know of how result sets were measured: what was said of their trials, and what their monitors cost.

use backsight_model::ResultSet;
use backsight_policy::Warning;
use backsight_store::{Store, StudyId};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;

use crate::verbs::overhead::known_costs;

/// Most different things that are told of the trials of a study, those of most trials first.
const MOST_SAID: usize = 5;

/// Warnings about how these result sets were measured.
///
/// # Errors
/// The store's own.
pub async fn measurement_warnings<'a>(
    store: &Store,
    sets: impl IntoIterator<Item = &'a ResultSet>,
) -> miette::Result<Vec<Warning>> {
    let sets: Vec<&ResultSet> = sets.into_iter().collect();
    let mut warnings = known_costs(store, sets.iter().copied()).await?;
    let mut seen = Vec::new();
    for set in sets {
        if !seen.contains(&set.study) {
            seen.push(set.study);
            warnings.extend(warnings_of_trials(store, set).await?);
        }
    }
    Ok(warnings)
}

/// What was said of the trials of a study. What differs by its numbers alone is one thing.
async fn warnings_of_trials(store: &Store, set: &ResultSet) -> miette::Result<Vec<Warning>> {
    let told = store.trial_warnings(StudyId(set.study)).await;
    let (of, told) = told.into_diagnostic()?;
    let mut kinds: IndexMap<String, (String, usize)> = IndexMap::new();
    for of_trial in told {
        let mut here = Vec::new();
        for said in of_trial {
            let kind: String = said.chars().filter(|c| !c.is_ascii_digit()).collect();
            if here.contains(&kind) {
                continue;
            }
            kinds.entry(kind.clone()).or_insert((said, 0)).1 += 1;
            here.push(kind);
        }
    }
    let mut kinds: Vec<(String, usize)> = kinds.into_values().collect();
    kinds.sort_by_key(|(_, trials)| std::cmp::Reverse(*trials));
    kinds.truncate(MOST_SAID);
    let warning = |(said, trials)| Warning::Trials {
        study: set.study_name.clone(),
        trials,
        of,
        said,
    };
    Ok(kinds.into_iter().map(warning).collect())
}
