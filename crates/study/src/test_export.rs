//! The results of tests of a trial, for others.

use backsight_exchange::export::ExportedTests;
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;

/// The results of this trial of a study, or of its only one that has some.
///
/// # Errors
/// It has none, or several and none was named; the store's own.
pub async fn exported_tests(
    store: &Store,
    study: &StudyRow,
    trial: Option<u32>,
) -> miette::Result<ExportedTests> {
    let runs = store.suite_runs(study.id).await.into_diagnostic()?;
    let name = &study.name;
    if runs.is_empty() {
        return Err(miette::miette!(
            help = "suites have some, and what `backsight import junit` and its like read",
            "`{name}` has no results of tests"
        ));
    }
    let run = match (trial, &runs[..]) {
        (None, [only]) => only,
        (None, several) => {
            return Err(miette::miette!(
                help = format!("say which one: --trial {}", several[0].trial),
                "{} trials of `{name}` have results of tests",
                several.len()
            ));
        }
        (Some(wanted), _) => {
            let found = runs.iter().find(|run| run.trial == wanted);
            found.ok_or_else(|| {
                miette::miette!(
                    help = format!("`backsight show {name}` lists its trials"),
                    "trial {wanted} of `{name}` has no results of tests"
                )
            })?
        }
    };
    let history = store.study_history(study.id).await.into_diagnostic()?;
    let of_trial = history.trials.iter().find(|it| it.number == run.trial);
    let of_trial =
        of_trial.ok_or_else(|| miette::miette!("trial {} of `{name}` is gone", run.trial))?;
    let build = history.place(of_trial).map(|(build, _)| build);
    let cell = history.cells.get(of_trial.cell);
    Ok(ExportedTests {
        study: name.to_string(),
        began: study.began,
        trial: run.trial,
        build: build.map_or(0, |build| build.number),
        version: build.and_then(|build| history.versions.get(build.version).cloned()),
        suite: cell.map_or_else(String::new, |it| it.cell.benchmark.to_string()),
        run: store.suite_run(run).await.into_diagnostic()?,
    })
}
