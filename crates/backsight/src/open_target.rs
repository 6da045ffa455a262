//! Opening the target that a user names, or that a study had which is measured like.

use backsight_study::OpenTarget;

use crate::{common_options::CommonOptions, files, plan_args::PlanArgs};

/// Finds a target by name or file, beside the plan, and opens its history; where none is named, that of the study that is measured
/// like.
pub async fn open_target(
    shared: &CommonOptions,
    named: Option<&str>,
    plan: &PlanArgs,
) -> miette::Result<OpenTarget> {
    if let Some(named) = named {
        return OpenTarget::named(named, plan.plan(), files::store_folder(shared)?).await;
    }
    match target_liked(shared, plan).await? {
        Some(target) => Ok(target),
        None => Err(miette::miette!(
            help = "name the target: --target NAME",
            "the study that is measured like has no target"
        )),
    }
}

/// The target of the study that is measured like, if one is named and has one.
pub async fn target_liked(
    shared: &CommonOptions,
    plan: &PlanArgs,
) -> miette::Result<Option<OpenTarget>> {
    match plan.liked(shared).await? {
        Some((store, study)) => OpenTarget::of_study(&store, &study).await,
        None => Ok(None),
    }
}
