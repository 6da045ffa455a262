//! The scenario matrix of a study, with the axes and limits that its plan says.

use backsight_model::{Plan, ResultSet};
use backsight_policy::{join_versions, parts_by_version};
use backsight_report::scenario_matrix::{MatrixAxes, ScenarioMatrix};
use backsight_store::{Store, StudyDocument, StudyRow};
use miette::IntoDiagnostic as _;

use crate::refuse_sides;

/// One metric or more of a study over two axes: these, else those of its plan, else the first two that it has.
///
/// # Errors
/// The study hasn't several values of them; the store's own.
pub async fn scenario_matrix(
    store: &Store,
    study: &StudyRow,
    axes: Option<&MatrixAxes>,
) -> miette::Result<ScenarioMatrix> {
    refuse_sides(study)?;
    let mut set: ResultSet = store.result_set(study.id).await.into_diagnostic()?;
    if study.target.is_some() {
        let history = store.study_history(study.id).await.into_diagnostic()?;
        let parts = parts_by_version(&history).into_iter();
        let parts: Vec<ResultSet> = parts.map(|part| part.of_results(set.clone())).collect();
        set = join_versions(&parts).unwrap_or(set);
    }
    let documents = store.documents(study.id).await.into_diagnostic()?;
    // A plan that today's program doesn't read is no reason to have no matrix.
    let plans = StudyDocument::of_kind(&documents, "plan");
    let plans = plans.map(|it| Plan::read(&it));
    let plan = plans.flatten().next();
    let of_plan = || {
        let matrix = plan.as_ref()?.matrix.as_ref()?;
        Some(MatrixAxes::of_plan(matrix))
    };
    let axes = axes.cloned().or_else(of_plan);
    let axes = axes.or_else(|| MatrixAxes::first_of(&set));
    let axes = axes.ok_or_else(|| {
        miette::miette!(
            help = "a matrix is of a study with several values of two parameters, or several variants and one parameter",
            "`{}` has no two axes of several values",
            study.name
        )
    })?;
    ScenarioMatrix::new(&set, &axes, plan.as_ref()).into_diagnostic()
}
