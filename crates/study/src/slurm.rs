//! Talking to Slurm by its commands: `sbatch`, `squeue`, `scancel`, and `sacct` where it keeps accounts.
//!
//! Nothing here knows of the queue of a store.

use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

/// How long a command that changes something may take: where Slurm's controller is away, they give up after twenty seconds at most.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a question may take: somebody looks at the queue, and can do without.
const QUESTION_LIMIT: Duration = Duration::from_secs(5);
/// Jobs that are asked about in one question.
const MOST_JOBS: usize = 1000;

/// A batch job for Slurm.
#[derive(Debug)]
pub(crate) struct Submission<'a> {
    /// What it is called in Slurm's lists.
    pub name: String,
    /// The folder that it is run in.
    pub folder: &'a Path,
    /// The file that its output is added to.
    pub output: &'a Path,
    /// Slurm's numbers of jobs that must have ended before, however they did.
    pub after: &'a [i64],
    /// More words for `sbatch`, which override what is said here.
    pub options: &'a [String],
    /// Variables that it needs besides those of this process.
    pub environment: Vec<(&'a str, OsString)>,
    /// A script for `sh`.
    pub script: String,
}

/// How a job stands in Slurm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SlurmState {
    /// It hasn't ended, or is begun again: Slurm's words for its state and for why it waits.
    Open {
        /// `PENDING`, `RUNNING`, ….
        state: String,
        /// `Resources`, `Priority`, …; `None` where it doesn't wait.
        reason: String,
    },
    /// It ended, with Slurm's word for how.
    Ended(String),
    /// Slurm doesn't know it, or not any more.
    Unknown,
}

/// States of jobs that have ended, without what follows the first word.
const ENDED: [&str; 10] = [
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
];

/// Whether jobs can be submitted from this machine.
///
/// # Errors
/// They can't.
pub async fn check_slurm() -> miette::Result<()> {
    let asked = run("sbatch", &["--version".to_owned()], LIMIT).await;
    asked.map(drop).map_err(|error| {
        miette::miette!(
            help = "submit jobs on a machine of the cluster that has Slurm's commands (Debian: slurm-client); without `--on slurm`, `backsight queue worker` runs them",
            "there is no Slurm on this machine: {error}"
        )
    })
}

/// Submits a batch job; its number.
///
/// # Errors
/// Slurm refuses it, or can't be asked.
pub(crate) async fn submit(submission: &Submission<'_>) -> miette::Result<i64> {
    let mut command = command("sbatch");
    command
        .args(submission_words(submission))
        .envs(
            submission
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .stdin(Stdio::piped());
    let mut child = command
        .spawn()
        .into_diagnostic()
        .wrap_err("sbatch can't be started")?;
    if let Some(mut input) = child.stdin.take() {
        // One that refuses its words doesn't read on; what it says is read below.
        let _ = input.write_all(submission.script.as_bytes()).await;
    }
    let output = timeout(LIMIT, child.wait_with_output()).await;
    let output = output
        .map_err(|_| miette::miette!("sbatch doesn't answer"))?
        .into_diagnostic()?;
    let said = said_by("sbatch", &output)?;
    submitted_job(&said).ok_or_else(|| miette::miette!("sbatch says no number: {said}"))
}

/// Words of `sbatch` before the script, which it reads.
fn submission_words(submission: &Submission<'_>) -> Vec<String> {
    let mut words = vec![
        "--parsable".to_owned(),
        format!("--job-name={}", submission.name),
        format!("--chdir={}", submission.folder.display()),
        format!("--output={}", submission.output.display()),
        "--open-mode=append".to_owned(),
        "--requeue".to_owned(),
    ];
    if !submission.after.is_empty() {
        let after: Vec<String> = submission.after.iter().map(i64::to_string).collect();
        words.push(format!("--dependency=afterany:{}", after.join(":")));
    }
    words.extend(submission.options.iter().cloned());
    words
}

/// The number in what `sbatch --parsable` prints: `12`, or `12;cluster`.
fn submitted_job(said: &str) -> Option<i64> {
    said.trim().lines().last()?.split(';').next()?.parse().ok()
}

/// Takes a job out of Slurm's queue, or stops it.
///
/// # Errors
/// Slurm can't be asked, or refuses.
pub(crate) async fn cancel(job: i64) -> miette::Result<()> {
    let output = run("scancel", &["--quiet".to_owned(), job.to_string()], LIMIT).await?;
    match is_unknown_job(&output) {
        true => Ok(()),
        false => said_by("scancel", &output).map(drop),
    }
}

/// Stops a job, which is begun again, by default two minutes later at the earliest.
///
/// # Errors
/// Slurm can't be asked, or refuses.
pub(crate) async fn requeue(job: i64) -> miette::Result<()> {
    let output = run("scontrol", &["requeue".to_owned(), job.to_string()], LIMIT).await?;
    said_by("scontrol", &output).map(drop)
}

/// How these jobs stand.
///
/// # Errors
/// Slurm can't be asked.
pub(crate) async fn states(jobs: &[i64]) -> miette::Result<BTreeMap<i64, SlurmState>> {
    let mut states = BTreeMap::new();
    for part in jobs.chunks(MOST_JOBS) {
        let list: Vec<String> = part.iter().map(i64::to_string).collect();
        let words = ["--noheader", "--states=all", "--format=%i|%T|%r", "--jobs"];
        let mut words = words.map(str::to_owned).to_vec();
        words.push(list.join(","));
        let output = run("squeue", &words, QUESTION_LIMIT).await?;
        if !is_unknown_job(&output) {
            states.extend(listed_states(&said_by("squeue", &output)?));
        }
    }
    // What ended some minutes ago isn't listed any more, but in the accounts, if somebody keeps them.
    for job in jobs {
        if !states.contains_key(job) {
            let words = [
                "--noheader",
                "--parsable2",
                "--allocations",
                "--format=State",
                "--jobs",
            ];
            let mut words = words.map(str::to_owned).to_vec();
            words.push(job.to_string());
            let accounts = run("sacct", &words, QUESTION_LIMIT).await;
            let said = accounts
                .ok()
                .and_then(|output| said_by("sacct", &output).ok());
            let state = said.as_deref().and_then(accounted_state);
            states.insert(*job, state.unwrap_or(SlurmState::Unknown));
        }
    }
    Ok(states)
}

/// The lines `12|PENDING|Resources` of `squeue`; others are left out.
fn listed_states(text: &str) -> BTreeMap<i64, SlurmState> {
    let line = |line: &str| {
        let mut fields = line.trim().split('|');
        let (job, state) = (fields.next()?.parse().ok()?, fields.next()?);
        Some((
            job,
            state_of_words(state, fields.next().unwrap_or_default()),
        ))
    };
    text.lines().filter_map(line).collect()
}

/// The last line of `sacct`, `CANCELLED by 1000`; a job that was begun several times has a line each.
fn accounted_state(text: &str) -> Option<SlurmState> {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(state_of_words(last, ""))
}

fn state_of_words(state: &str, reason: &str) -> SlurmState {
    let word = state.split_whitespace().next().unwrap_or_default();
    match ENDED.contains(&word) {
        true => SlurmState::Ended(word.to_owned()),
        false => SlurmState::Open {
            state: word.to_owned(),
            reason: reason.to_owned(),
        },
    }
}

/// Whether a command failed since Slurm doesn't know the job.
fn is_unknown_job(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    !output.status.success() && said.contains("Invalid job id specified")
}

fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn run(program: &str, words: &[String], limit: Duration) -> miette::Result<Output> {
    let output = timeout(limit, command(program).args(words).output()).await;
    output
        .map_err(|_| miette::miette!("{program} doesn't answer"))?
        .map_err(|error| miette::miette!("{program} can't be started: {error}"))
}

/// What a command printed.
fn said_by(program: &str, output: &Output) -> miette::Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said
        .lines()
        .map(|line| line.trim_start_matches(&format!("{program}: error: ")))
        .collect();
    Err(miette::miette!("{program}: {}", lines.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(state: &str, reason: &str) -> SlurmState {
        SlurmState::Open {
            state: state.to_owned(),
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn what_a_person_asks_of_sbatch_comes_last() {
        let options = ["-p", "lab"].map(str::to_owned);
        let words = submission_words(&Submission {
            name: "backsight-7".to_owned(),
            folder: Path::new("/lab/my plans"),
            output: Path::new("/store/jobs/7.slurm.log"),
            after: &[12, 15],
            options: &options,
            environment: Vec::new(),
            script: String::new(),
        });
        assert_eq!(
            words[1..],
            [
                "--job-name=backsight-7",
                "--chdir=/lab/my plans",
                "--output=/store/jobs/7.slurm.log",
                "--open-mode=append",
                "--requeue",
                "--dependency=afterany:12:15",
                "-p",
                "lab"
            ]
        );
    }

    #[test]
    fn numbers_are_read_with_and_without_a_cluster() {
        assert_eq!(submitted_job("12\n"), Some(12));
        assert_eq!(submitted_job("12;lab\n"), Some(12));
        assert_eq!(submitted_job("a notice\n13\n"), Some(13));
        assert_eq!(submitted_job(""), None);
    }

    #[test]
    fn states_are_read_as_slurm_prints_them() {
        let listed = "3|PENDING|Dependency\n1|RUNNING|None\n2|PENDING|Nodes required for job are DOWN, DRAINED or reserved\n\
                      4|CANCELLED|Resources\n5|NODE_FAIL|None\n6|COMPLETING|None\nslurm_load_jobs error\n";
        let states = listed_states(listed);
        assert_eq!(states.len(), 6);
        assert_eq!(states[&3], open("PENDING", "Dependency"));
        assert_eq!(states[&1], open("RUNNING", "None"));
        assert_eq!(states[&4], SlurmState::Ended("CANCELLED".to_owned()));
        assert_eq!(states[&5], SlurmState::Ended("NODE_FAIL".to_owned()));
        assert_eq!(states[&6], open("COMPLETING", "None"));
    }

    #[test]
    fn accounts_say_how_a_job_ended_last() {
        let ended = |word: &str| Some(SlurmState::Ended(word.to_owned()));
        assert_eq!(accounted_state("CANCELLED by 1000\n"), ended("CANCELLED"));
        assert_eq!(accounted_state("PREEMPTED\nTIMEOUT\n"), ended("TIMEOUT"));
        assert_eq!(accounted_state("RUNNING\n"), Some(open("RUNNING", "")));
        assert_eq!(accounted_state("\n"), None);
    }
}
