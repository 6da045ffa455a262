//! The machine code of the builds on both sides of a change: kept builds of a target, read and compared.

use backsight_history::kept_programs;
use backsight_machine_code::{CodeDifference, CodeError, CodeImage, code_difference};
use backsight_model::{Build, StudyHistory, TargetName};
use backsight_report::explain::{CodeChange, ProgramDifference};
use miette::IntoDiagnostic as _;
use std::{
    collections::BTreeSet,
    ops::Range,
    path::{Path, PathBuf},
};

use crate::open_target::target_folder;

/// The versions of a study on both sides of a change.
pub(super) struct ChangeEnds {
    /// The last version known to be before it, and how far back another one stands in for it.
    pub before: Range<usize>,
    /// The first version known to be after it, and up to which another one stands in for it.
    pub after: Range<usize>,
}

impl ChangeEnds {
    /// The last version before it, and the first one after it.
    pub(super) fn nearest(&self) -> [usize; 2] {
        [self.before.end - 1, self.after.start]
    }
}

/// A build that the target's cache still has.
struct KeptBuild {
    folder: PathBuf,
    programs: Vec<PathBuf>,
}

/// Compares the builds of the last version before a change that was built and of the first one after it. Where one isn't kept any
/// more it is a note that is added.
///
/// # Errors
/// None of its own.
pub(super) async fn changed_code(
    store: &Path,
    target: &TargetName,
    history: &StudyHistory,
    ends: &ChangeEnds,
    notes: &mut Vec<String>,
) -> miette::Result<Option<CodeChange>> {
    let built = |version: usize, like: Option<&Build>| {
        let mut built = history
            .builds
            .iter()
            .filter(|build| build.version == version && build.failure.is_none());
        let same_layout = |build: &&Build| like.is_none_or(|like| like.layout == build.layout);
        built.clone().find(same_layout).or_else(|| built.next())
    };
    let base = ends
        .before
        .clone()
        .rev()
        .find_map(|version| built(version, None));
    let new = ends.after.clone().find_map(|version| built(version, base));
    let (Some(base), Some(new)) = (base, new) else {
        return Ok(None);
    };
    if base.key == new.key {
        return Ok(None);
    }
    let work = target_folder(store, target);
    let mut kept = |build: &Build| {
        let found = kept_programs(&work, &build.key);
        if found.is_none() {
            let note = format!(
                "the build of {} isn't kept any more: its code can't be compared",
                history.versions[build.version].full_name()
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        found.map(|(folder, programs)| KeptBuild { folder, programs })
    };
    let (Some(kept_base), Some(kept_new)) = (kept(base), kept(new)) else {
        return Ok(None);
    };
    let compared = tokio::task::spawn_blocking(move || compare_builds(&kept_base, &kept_new));
    let name = |build: &Build| history.versions[build.version].full_name();
    Ok(Some(CodeChange {
        base: name(base),
        new: name(new),
        programs: compared.await.into_diagnostic()?,
    }))
}

/// Compares the programs that both builds have; one that only one has is said to be there alone.
fn compare_builds(base: &KeptBuild, new: &KeptBuild) -> Vec<ProgramDifference> {
    let paths: BTreeSet<&PathBuf> = base.programs.iter().chain(&new.programs).collect();
    let program = |path: &PathBuf| {
        let has = |build: &KeptBuild| build.programs.contains(path);
        let difference = match (has(base), has(new)) {
            (true, true) => compare_programs(&base.folder.join(path), &new.folder.join(path))
                .map_err(|error| error.to_string()),
            (false, _) => Err("it is new".to_owned()),
            (_, false) => Err("it is gone".to_owned()),
        };
        ProgramDifference {
            path: path.display().to_string(),
            difference,
        }
    };
    paths.into_iter().map(program).collect()
}

fn compare_programs(base: &Path, new: &Path) -> Result<CodeDifference, CodeError> {
    Ok(code_difference(
        &CodeImage::open(base)?,
        &CodeImage::open(new)?,
    ))
}
