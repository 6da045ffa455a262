//! Jobs of the store's queue that Slurm begins: each is a batch job in Slurm, which runs a worker for this one job.
//!
//! Slurm chooses when and where. What it runs then is a worker like any other, that goes by the rules of the queue: it takes the job when the jobs
//! before it are done and its testbeds are free, and not after its deadline. One that Slurm stops in order to begin it again leaves the job
//! waiting, and goes on with its study afterwards. A batch job that is lost in Slurm ends the job, which says so.

use backsight_model::{Job, JobEngine, JobState, shell_quoted};
use backsight_store::Store;
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::slurm::{self, SlurmState, Submission};

/// Where the worker of a job that Slurm began says what it does.
pub fn slurm_log_path(store: &Path, number: i64) -> PathBuf {
    store.join("jobs").join(format!("{number}.slurm.log"))
}

/// Gives a job that waits to Slurm, by a worker that is `program`; Slurm's number. A job that Slurm refuses is cancelled.
///
/// # Errors
/// The store's own; Slurm refuses the job.
pub async fn submit_to_slurm(store: &Store, job: &Job, program: &Path) -> miette::Result<i64> {
    let number = job.number;
    let JobEngine::Slurm { options } = &job.request.engine else {
        return Err(miette::miette!("job {number} isn't for Slurm"));
    };
    let output = slurm_log_path(store.dir(), number);
    if let Some(folder) = output.parent() {
        std::fs::create_dir_all(folder)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} can't be made", folder.display()))?;
    }
    let before = store.jobs_numbered(&job.request.after).await;
    let before = before.into_diagnostic()?;
    let after: Vec<i64> = (before.values())
        .filter(|job| !job.state.is_over())
        .filter_map(|job| job.slurm.as_ref()?.id)
        .collect();
    let submission = Submission {
        name: format!("backsight-{number}"),
        folder: &job.request.folder,
        output: &output,
        after: &after,
        options,
        // Not among the words, which everybody on the node can read: it may have a password.
        environment: vec![("BACKSIGHT_STORE", store.location().for_environment())],
        script: format!(
            "#!/bin/sh\nexec {} queue worker --job {number}\n",
            shell_quoted(&program.to_string_lossy())
        ),
    };
    match slurm::submit(&submission).await {
        Ok(id) => {
            let noted = store.set_slurm_job(number, Some(id)).await;
            noted.into_diagnostic()?;
            Ok(id)
        }
        Err(error) => {
            let why = format!("Slurm didn't take it: {error}");
            let cancelled = store.cancel_job(number, &why).await;
            cancelled.into_diagnostic()?;
            Err(error).wrap_err_with(|| format!("job {number} is cancelled: Slurm didn't take it"))
        }
    }
}

/// Takes a job that is cancelled or held back out of Slurm, as it stood before that; one that runs is stopped by its worker, which sees it.
///
/// # Errors
/// Slurm can't be asked.
pub async fn withdraw_from_slurm(store: &Store, before: &Job) -> miette::Result<()> {
    let id = before.slurm.as_ref().and_then(|standing| standing.id);
    let Some(id) = id.filter(|_| before.state != JobState::Running) else {
        return Ok(());
    };
    slurm::cancel(id).await?;
    let noted = store.set_slurm_job(before.number, None).await;
    noted.into_diagnostic()
}

/// Gives the node back to Slurm on which this process is the worker of the job, which Slurm begins again later; false where it isn't on such a
/// node.
///
/// # Errors
/// Slurm can't be asked, or doesn't begin it again.
pub(crate) async fn give_node_back(job: &Job) -> miette::Result<bool> {
    let own = std::env::var("SLURM_JOB_ID").ok();
    let own: Option<i64> = own.and_then(|id| id.parse().ok());
    let its = job.slurm.as_ref().and_then(|standing| standing.id);
    // Somebody may have started it by hand, in an allocation for other things.
    match own.filter(|id| Some(*id) == its) {
        Some(id) => slurm::requeue(id).await.map(|()| true),
        None => Ok(false),
    }
}

/// Asks Slurm about its jobs that aren't over: why they wait is noted, and those that it lost are ended.
///
/// # Errors
/// Slurm can't be asked; the store's own.
pub async fn update_from_slurm(store: &Store) -> miette::Result<()> {
    let open = store.open_slurm_jobs().await.into_diagnostic()?;
    let in_slurm: BTreeMap<i64, &Job> = (open.iter())
        .filter_map(|job| Some((job.slurm.as_ref()?.id?, job)))
        .collect();
    if in_slurm.is_empty() {
        return Ok(());
    }
    // One that a node took with it isn't run by anybody.
    store.release_orphans().await.into_diagnostic()?;
    let ids: Vec<i64> = in_slurm.keys().copied().collect();
    for (id, state) in slurm::states(&ids).await? {
        let Some(job) = in_slurm.get(&id) else {
            continue;
        };
        match standing_of(id, &state) {
            Standing::Waits(reason) => {
                let known = job.slurm.as_ref().and_then(|it| it.reason.as_ref());
                if known != reason.as_ref() {
                    let noted = store.set_slurm_reason(job.number, reason.as_deref()).await;
                    noted.into_diagnostic()?;
                }
            }
            Standing::Lost(state, why) => {
                let ended = store.end_lost_slurm_job(job.number, id, state, &why).await;
                ended.into_diagnostic()?;
            }
        }
    }
    Ok(())
}

/// What the state of a batch job means for the job, as long as no worker has it.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// Its worker will come, and why it isn't there yet.
    Waits(Option<String>),
    /// Its worker won't come.
    Lost(JobState, String),
}

fn standing_of(id: i64, state: &SlurmState) -> Standing {
    match state {
        SlurmState::Open { state, reason } => Standing::Waits(Some(match state.as_str() {
            "PENDING" => reason.clone(),
            state => state.to_lowercase(),
        })),
        SlurmState::Ended(word) if word == "CANCELLED" => Standing::Lost(
            JobState::Cancelled,
            format!("was cancelled in Slurm, as {id}"),
        ),
        SlurmState::Ended(word) => Standing::Lost(
            JobState::Failed,
            format!("wasn't done when Slurm ended its job {id}: {word}"),
        ),
        SlurmState::Unknown => Standing::Lost(
            JobState::Failed,
            format!("is lost: Slurm doesn't know its job {id} any more"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_in_slurm_is_lost_and_what_didnt_waits() {
        let open = |state: &str, reason: &str| SlurmState::Open {
            state: state.to_owned(),
            reason: reason.to_owned(),
        };
        assert_eq!(
            standing_of(12, &open("PENDING", "Resources")),
            Standing::Waits(Some("Resources".to_owned()))
        );
        assert_eq!(
            standing_of(12, &open("COMPLETING", "None")),
            Standing::Waits(Some("completing".to_owned()))
        );
        for (word, expected) in [
            ("CANCELLED", JobState::Cancelled),
            ("NODE_FAIL", JobState::Failed),
            ("COMPLETED", JobState::Failed),
        ] {
            let standing = standing_of(12, &SlurmState::Ended(word.to_owned()));
            assert!(matches!(standing, Standing::Lost(state, _) if state == expected));
        }
        let Standing::Lost(JobState::Failed, why) = standing_of(12, &SlurmState::Unknown) else {
            panic!("it isn't lost");
        };
        assert_eq!(why, "is lost: Slurm doesn't know its job 12 any more");
    }
}
