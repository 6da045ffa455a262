//! Opening the target that a user names.

use backsight_study::OpenTarget;
use std::path::Path;

use crate::{common_options::CommonOptions, files};

/// Finds a target by name or file, beside the plan, and opens its history.
pub async fn open_target(
    shared: &CommonOptions,
    named: &str,
    plan: Option<&Path>,
) -> miette::Result<OpenTarget> {
    OpenTarget::named(named, plan, files::store_folder(shared)?).await
}
