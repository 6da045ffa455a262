//! The plan's folder on hosts that don't see it: commands of variants find the same files there, by the same relative paths.
//!
//! They are read once, when the study begins, so that every trial has the same.

use backsight_agent::{AgentError, PlanFiles, PlanFilesError, UploadFiles};
use backsight_model::Arrangement;
use std::{path::PathBuf, sync::Arc};

use crate::hosts::Connected;

/// The files that the plan's commands need on hosts that don't see its folder; none where no host needs any.
///
/// # Errors
/// They can't be read or sent.
pub(crate) async fn read_plan_files(
    arrangement: &Arrangement,
) -> Result<Option<Arc<UploadFiles>>, PlanFilesError> {
    let Some(folder) = arrangement
        .hosts()
        .find_map(|host| arrangement.folder_for(host))
    else {
        return Ok(None);
    };
    let folder = folder.to_owned();
    let only = arrangement.files.as_ref();
    let only: Option<Vec<String>> =
        only.map(|files| files.iter().map(|file| (**file).clone()).collect());
    let read = tokio::task::spawn_blocking(move || PlanFiles::read(&folder, only.as_deref()));
    let read = read.await.map_err(std::io::Error::other)?;
    Ok(Some(Arc::new(UploadFiles::of_plan(read?))))
}

/// Puts the plan's files on a host, if its commands need them there: their folder.
///
/// # Errors
/// The host's agent.
pub(crate) async fn put_plan_files(
    files: Option<&UploadFiles>,
    arrangement: &Arrangement,
    host: &Connected,
) -> Result<Option<PathBuf>, AgentError> {
    match (files, arrangement.folder_for(&host.name)) {
        (Some(files), Some(_)) => host.client.upload(files, |_| ()).await.map(Some),
        _ => Ok(None),
    }
}
