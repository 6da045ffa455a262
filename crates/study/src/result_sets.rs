//! Result sets of studies that a user names.

use backsight_model::ResultSet;
use backsight_store::{Store, StudyId, StudyRow};
use miette::IntoDiagnostic as _;

use crate::verbs::{Verb as _, try_patch::TryVerb};

/// Refuses a study whose trials are those of several sides, where trials of one thing are asked for.
///
/// # Errors
/// The study is a try.
pub fn refuse_sides(study: &StudyRow) -> miette::Result<()> {
    match study.verb == TryVerb::NAME {
        false => Ok(()),
        true => Err(miette::miette!(
            help = format!(
                "backsight show {0}, or backsight report {0}: they tell the sides apart",
                study.name
            ),
            "study `{}` is a try: its trials are those of a base and of patched sides",
            study.name
        )),
    }
}

/// The result sets of studies that are named where a file might be.
///
/// # Errors
/// There is no store or no such study, or one is a try; the store's own.
pub async fn named_result_sets(
    store: miette::Result<Store>,
    names: &[String],
) -> miette::Result<Vec<ResultSet>> {
    let missing = |name: &str, why: miette::Report| {
        miette::miette!(
            help =
                "name a file, `-` for standard input, or a study: `backsight studies` lists those",
            "`{}` is neither a file nor a study here: {why}",
            name.escape_debug()
        )
    };
    let store = store.map_err(|why| missing(names.first().map_or("", String::as_str), why))?;
    let mut studies = Vec::new();
    for name in names {
        let found = store.study(name).await.into_diagnostic();
        let study = found.map_err(|why| missing(name, why))?;
        refuse_sides(&study)?;
        studies.push(study.id);
    }
    result_sets(&store, &studies).await
}

/// The result sets of these studies, read from the database side by side.
///
/// # Errors
/// The store's own.
pub async fn result_sets(store: &Store, studies: &[StudyId]) -> miette::Result<Vec<ResultSet>> {
    let reading: Vec<_> = studies
        .iter()
        .map(|study| {
            let (store, study) = (store.clone(), *study);
            tokio::spawn(async move { store.result_set(study).await })
        })
        .collect();
    let mut sets = Vec::new();
    for read in reading {
        sets.push(read.await.into_diagnostic()?.into_diagnostic()?);
    }
    Ok(sets)
}
