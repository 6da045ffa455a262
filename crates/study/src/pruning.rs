//! What the rules of keep.toml remove from a store: raw objects, logs of studies, builds of targets.

use backsight_history::{cached_builds, remove_builds};
use backsight_model::{KeepRule, KeepRules, KeptFor};
use backsight_report::pruning::Pruning;
use backsight_store::{
    KeptReferences, RetainedKind, RetentionFate, RetentionReason, RetentionTable, Store,
};
use jiff::Timestamp;
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{open_target::targets_folder, retention_references::retention_references};

/// How a store is pruned.
#[derive(Debug, Clone)]
pub struct PruneOptions {
    /// The rules.
    pub rules: KeepRules,
    /// The file that has them; none where nobody wrote any.
    pub file: Option<PathBuf>,
    /// The time that ages are counted to.
    pub now: Timestamp,
    /// Whether it is only said what would go.
    pub dry_run: bool,
}

/// Removes what the rules don't keep, unless it is only asked what that would be.
///
/// # Errors
/// What verdicts and histories refer to isn't known, because one can't be made; somebody records trials for longer than five seconds;
/// the store can only be read. What is removed until then stays removed, and is marked.
pub async fn prune(store: &Store, options: &PruneOptions) -> miette::Result<Pruning> {
    let PruneOptions {
        rules,
        file,
        now,
        dry_run,
    } = options;
    let references = match rules.removes_anything() {
        true => {
            let studies = store.studies().await.into_diagnostic()?;
            let references = retention_references(store, &studies, *now).await;
            references.wrap_err(
                "nothing is removed: it isn't known what verdicts and histories refer to",
            )?
        }
        false => KeptReferences::default(),
    };
    let table = match dry_run {
        true => store.retention(rules, &references, *now).await,
        false => store.prune(rules, &references, *now).await,
    };
    let mut table = table.into_diagnostic()?;
    prune_study_logs(store, options, &mut table).await?;
    let in_use = prune_builds(store, options, &references, &mut table).await?;
    let file = file.as_ref().map(|file| file.display().to_string());
    let mut pruning = Pruning::new(&table, rules, file, *now, *dry_run);
    pruning.notes.extend(in_use);
    Ok(pruning)
}

async fn prune_study_logs(
    store: &Store,
    options: &PruneOptions,
    table: &mut RetentionTable,
) -> miette::Result<()> {
    let fates = store.study_log_fates(&options.rules, options.now).await;
    for (path, bytes, fate) in fates.into_diagnostic()? {
        table.add(RetainedKind::Logs, fate, bytes);
        if matches!(fate, RetentionFate::Pruned(_)) && !options.dry_run {
            let removed = fs::remove_file(&path).into_diagnostic();
            removed.wrap_err_with(|| format!("can't remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// Removes builds of all targets; a sentence for each target whose builds a study uses, which all stay.
async fn prune_builds(
    store: &Store,
    options: &PruneOptions,
    references: &KeptReferences,
    table: &mut RetentionTable,
) -> miette::Result<Vec<String>> {
    let mut in_use = Vec::new();
    for place in places(&targets_folder(store.dir())).into_diagnostic()? {
        let builds = cached_builds(&place).into_diagnostic()?;
        let made: Vec<(String, Timestamp)> = builds
            .iter()
            .map(|build| Ok((build.key.clone(), Timestamp::try_from(build.made)?)))
            .collect::<Result<_, jiff::Error>>()
            .into_diagnostic()?;
        let fates = store.build_fates(&options.rules, references, options.now, &made);
        let mut fates = fates.await.into_diagnostic()?;
        let with_fates = builds.iter().zip(&fates);
        let doomed = with_fates.filter(|(_, fate)| matches!(fate, RetentionFate::Pruned(_)));
        let doomed: Vec<String> = doomed.map(|(build, _)| build.key.clone()).collect();
        let limit = options.rules.limit(KeepRule::Builds);
        // Where nothing goes, what a killed process left half removed does.
        if matches!(limit, Some(KeptFor::Period(_))) && !options.dry_run {
            let asked = (place.clone(), doomed.clone());
            let removed = tokio::task::spawn_blocking(move || remove_builds(&asked.0, &asked.1));
            if let Err(why) = removed.await.into_diagnostic()?
                && !doomed.is_empty()
            {
                in_use.push(format!("builds stay: {why}"));
                for fate in &mut fates {
                    *fate = (*fate).min(RetentionFate::Kept(RetentionReason::Measuring));
                }
            }
        }
        for (build, fate) in builds.iter().zip(&fates) {
            table.add(RetainedKind::Builds, *fate, build.bytes);
        }
    }
    Ok(in_use)
}

/// The folders in this folder; none if it isn't there.
fn places(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut places = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            places.push(path);
        }
    }
    places.sort();
    Ok(places)
}
