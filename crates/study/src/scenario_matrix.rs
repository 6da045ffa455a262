//! The scenario matrix of a study, with the limits that its plan says.

use backsight_model::{Cell, Plan, ResultSet};
use backsight_report::scenario_matrix::{MatrixAxes, ScenarioMatrix};
use backsight_store::{Store, StudyDocument, StudyRow};
use miette::IntoDiagnostic as _;

use crate::refuse_sides;

/// One metric or more of a study over two parameters.
///
/// # Errors
/// The study hasn't several values of them; the store's own.
pub async fn scenario_matrix(
    store: &Store,
    study: &StudyRow,
    axes: &MatrixAxes,
) -> miette::Result<ScenarioMatrix> {
    refuse_sides(study)?;
    let set: ResultSet = store.result_set(study.id).await.into_diagnostic()?;
    let documents = store.documents(study.id).await.into_diagnostic()?;
    // A plan that today's program doesn't read is no reason to have no matrix.
    let plans = StudyDocument::of_kind(&documents, "plan");
    let plans = plans.map(|it| Plan::read(&it));
    let plan = plans.flatten().next();
    let limit_of =
        |cell: &Cell, metric: &str, unit| plan.as_ref()?.limit(&cell.benchmark, metric, unit);
    ScenarioMatrix::new(&set, axes, &limit_of).into_diagnostic()
}
