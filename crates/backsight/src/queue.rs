//! `backsight queue`: commands that wait for hosts, and the worker that runs them one after the other.

mod add;

use backsight_model::{Job, JobState, Lab, WorkerScope};
use backsight_report::{
    escape,
    queue::{QueueView, job_command, queue_table},
};
use backsight_store::{JobMove, Store, this_machine};
use backsight_study::{
    JobWorker, QueueLimits, check_slurm, job_log_path, list_queue, needs_of_named_testbeds,
    slurm_log_path, submit_to_slurm, update_from_slurm, withdraw_from_slurm,
};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    common_options::CommonOptions,
    exit_status::{self, ExitStatus},
    files, session_args,
    user_name::user_name,
};

/// Arguments of `queue`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct QueueArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    list: ListArgs,
}

/// How the queue is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ListFormat {
    /// A table
    Text,
    /// For programs
    Json,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// All jobs, also all that ended
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// How many of those that wait are listed
    #[arg(long, value_name = "N", default_value = "50")]
    limit: usize,
    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    format: ListFormat,
    /// As JSON: --format json
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List jobs in the order in which they are run, then those that ended lately
    List(ListArgs),
    /// Add a command: `queue add -- step plan.toml --target app --last 1w`
    Add(add::AddArgs),
    /// Cancel a job that waits, or stop one that runs
    Cancel {
        /// Its number
        job: i64,
        /// Who cancels; else the user's name
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Hold a job back, which stops it where it runs; or the whole queue, where what runs goes on
    Pause {
        /// Its number
        #[arg(required_unless_present = "all")]
        job: Option<i64>,
        /// The whole queue
        #[arg(long, conflicts_with = "job")]
        all: bool,
        /// Who; else the user's name
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
        /// Why
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
    /// Let a job that is held back wait again, or the whole queue go on
    Continue {
        /// Its number
        #[arg(required_unless_present = "all")]
        job: Option<i64>,
        /// The whole queue
        #[arg(long, conflicts_with = "job")]
        all: bool,
    },
    /// Move a job: before all that wait, or to another priority
    #[command(group = clap::ArgGroup::new("to").required(true))]
    Move {
        /// Its number
        job: i64,
        /// Before all that wait; what runs goes on
        #[arg(long, group = "to")]
        first: bool,
        /// To this priority
        #[arg(
            long,
            value_name = "NUMBER",
            allow_negative_numbers = true,
            group = "to"
        )]
        priority: Option<i64>,
    },
    /// Print what a job printed
    Log {
        /// Its number
        job: i64,
    },
    /// Run jobs one after the other, until ^C
    Worker {
        /// End when nothing waits but what is held back, reserved, or for other workers
        #[arg(long)]
        until_empty: bool,
        /// A testbed that it serves; else all of its lab. May be repeated
        #[arg(long, value_name = "NAME")]
        testbed: Vec<String>,
        /// The lab's file; else the lab.toml in this folder; without one, it takes jobs of all labs
        #[arg(long, value_name = "FILE")]
        lab: Option<PathBuf>,
        /// Run this job alone, on whatever it measures, and end when it is over: what Slurm starts
        #[arg(long, value_name = "JOB", conflicts_with_all = ["testbed", "lab", "until_empty"])]
        job: Option<i64>,
    },
}

impl QueueArgs {
    /// Does it; jobs are of this command line.
    pub fn execute(
        self,
        shared: &CommonOptions,
        command: clap::Command,
    ) -> miette::Result<ExitCode> {
        let what = self.what.unwrap_or(What::List(self.list));
        crate::block_on(async {
            match what {
                What::List(how) => list(shared, how).await,
                What::Add(asked) => asked.execute(shared, command).await,
                What::Cancel { job, by } => cancel(shared, job, by.as_deref()).await,
                What::Pause { job, by, why, .. } => {
                    pause(shared, job, (by.as_deref(), why.as_deref())).await
                }
                What::Continue { job, .. } => go_on(shared, job).await,
                What::Move { job, priority, .. } => {
                    let to = priority.map_or(JobMove::First, JobMove::Priority);
                    move_to(shared, job, to).await
                }
                What::Log { job } => log(shared, job).await,
                What::Worker {
                    until_empty,
                    testbed,
                    lab,
                    job,
                } => {
                    let scope = match job {
                        None => scope(&testbed, lab.as_deref())?,
                        Some(_) => WorkerScope {
                            machine: Some(this_machine()),
                            job,
                            ..WorkerScope::default()
                        },
                    };
                    work(shared, until_empty, scope).await
                }
            }
        })
    }
}

async fn list(shared: &CommonOptions, how: ListArgs) -> miette::Result<ExitCode> {
    let store = files::existing_store(shared).await?;
    let limits = match how.all {
        true => QueueLimits::ALL,
        false => QueueLimits {
            waiting: how.limit,
            ..QueueLimits::default()
        },
    };
    if let Err(error) = update_from_slurm(&store).await {
        files::print_note(&format!(
            "how jobs stand in Slurm is as it was when it was last asked: {error}"
        ));
    }
    let listing = list_queue(&store, limits).await.into_diagnostic()?;
    files::print(&match how.json || how.format == ListFormat::Json {
        true => backsight_report::json(&QueueView::new(&listing)).into_diagnostic()?,
        false => queue_table(&listing, files::width()),
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn pause(
    shared: &CommonOptions,
    number: Option<i64>,
    (by, why): (Option<&str>, Option<&str>),
) -> miette::Result<ExitCode> {
    let store = files::existing_store(shared).await?;
    let by = user_name(by)?;
    let Some(number) = number else {
        let paused = store.pause_queue(Some((&by, why))).await;
        paused.into_diagnostic()?;
        files::print("the queue is paused: what runs goes on, and nothing is begun\n")?;
        return Ok(ExitCode::SUCCESS);
    };
    let before = known_job(&store, number).await?;
    let because = why.map(|why| format!(": {why}")).unwrap_or_default();
    let said = format!("paused by {by}{because}");
    if !store.pause_job(number, &said).await.into_diagnostic()? {
        let job = known_job(&store, number).await?;
        return Err(miette::miette!("job {number} is {} already", job.state));
    }
    withdraw(&store, &before).await;
    files::print(&format!("job {number} is paused\n"))?;
    Ok(ExitCode::SUCCESS)
}

async fn go_on(shared: &CommonOptions, number: Option<i64>) -> miette::Result<ExitCode> {
    let store = files::existing_store(shared).await?;
    let Some(number) = number else {
        store.pause_queue(None).await.into_diagnostic()?;
        files::print("the queue goes on\n")?;
        return Ok(ExitCode::SUCCESS);
    };
    let job = known_job(&store, number).await?;
    let is_for_slurm = job.slurm.is_some();
    if is_for_slurm && job.state == JobState::Paused {
        check_slurm().await?;
        // What ended there while it was held back says nothing of it any more.
        let forgotten = store.set_slurm_job(number, None).await;
        forgotten.into_diagnostic()?;
    }
    if !store.continue_job(number).await.into_diagnostic()? {
        return Err(miette::miette!(
            "job {number} is {}, and not paused",
            job.state
        ));
    }
    files::print(&match is_for_slurm {
        true => {
            let program = std::env::current_exe().into_diagnostic()?;
            let id = submit_to_slurm(&store, &job, &program).await?;
            format!("job {number} waits in Slurm again, as {id}\n")
        }
        false => format!("job {number} waits again\n"),
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn move_to(shared: &CommonOptions, number: i64, to: JobMove) -> miette::Result<ExitCode> {
    let store = files::existing_store(shared).await?;
    let job = known_job(&store, number).await?;
    if !store.move_job(number, to).await.into_diagnostic()? {
        return Err(miette::miette!("job {number} is {} already", job.state));
    }
    files::print(&match to {
        JobMove::First => format!("job {number} comes before all that wait\n"),
        JobMove::Priority(priority) => format!("job {number} has priority {priority}\n"),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Which jobs a worker takes: those of its lab, if there is one, on these testbeds.
fn scope(testbeds: &[String], file: Option<&Path>) -> miette::Result<WorkerScope> {
    let lab = files::lab(file, Some(Path::new("plan.toml")))?;
    let lab = lab.map(|document| Lab::read(&document)).transpose()?;
    let testbeds = match (&lab, testbeds) {
        (_, []) => None,
        (Some(lab), names) => Some(needs_of_named_testbeds(lab, names)?.testbeds),
        (None, names) => Some(needs_of_named_testbeds(&Lab::this_machine(), names)?.testbeds),
    };
    Ok(WorkerScope {
        machine: Some(this_machine()),
        lab: lab.map(|lab| lab.name),
        testbeds,
        job: None,
    })
}

async fn known_job(store: &Store, number: i64) -> miette::Result<Job> {
    let job = store.job(number).await.into_diagnostic()?;
    job.ok_or_else(|| {
        miette::miette!(
            help = "`backsight queue list --all` lists them",
            "there is no job {number}"
        )
    })
}

async fn cancel(shared: &CommonOptions, number: i64, by: Option<&str>) -> miette::Result<ExitCode> {
    let store = files::existing_store(shared).await?;
    let by = user_name(by)?;
    let job = known_job(&store, number).await?;
    let why = format!("cancelled by {by}");
    if !store.cancel_job(number, &why).await.into_diagnostic()? {
        let job = known_job(&store, number).await?;
        return Err(miette::miette!("job {number} is {} already", job.state));
    }
    withdraw(&store, &job).await;
    files::print(&format!(
        "job {number} is cancelled: {}\n",
        escape::line(&job_command(&job))
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Takes a job out of Slurm that is cancelled or held back, as it stood before.
async fn withdraw(store: &Store, before: &Job) {
    if let Err(error) = withdraw_from_slurm(store, before).await {
        files::print_note(&format!(
            "job {} is in Slurm still, where it will end as soon as it is begun: {error}",
            before.number
        ));
    }
}

async fn log(shared: &CommonOptions, number: i64) -> miette::Result<ExitCode> {
    let store = files::existing_store(shared).await?;
    let job = known_job(&store, number).await?;
    let path = job_log_path(store.dir(), number);
    match std::fs::read(&path) {
        Ok(text) => files::print_foreign(&text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // Why its worker didn't begin it.
            if let Ok(text) = std::fs::read(slurm_log_path(store.dir(), number)) {
                files::print_foreign(&text)?;
            }
            files::print_note(&format!(
                "job {number} is {} and has printed nothing",
                job.state
            ));
        }
        Err(error) => {
            return Err(error)
                .into_diagnostic()
                .wrap_err_with(|| format!("{} can't be read", path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn work(
    shared: &CommonOptions,
    until_empty: bool,
    scope: WorkerScope,
) -> miette::Result<ExitCode> {
    let store = files::open_store(shared).await?;
    if let Some(number) = scope.job {
        known_job(&store, number).await?;
    }
    let worker = JobWorker {
        store: &store,
        program: std::env::current_exe().into_diagnostic()?,
        scope,
        until_empty,
        meaning: exit_status::meaning_of,
        tell: files::print_note,
        stop: session_args::stop_signal(),
    };
    let work = worker.work().await?;
    let part = |count: usize, word: &str| match count {
        0 => String::new(),
        count => format!(", {count} {word}"),
    };
    files::print(&format!(
        "{} done{}{}\n",
        work.done,
        part(work.failed, "failed"),
        part(work.cancelled, "cancelled")
    ))?;
    Ok(match work.stopped {
        true => ExitStatus::Interrupted.into(),
        false => ExitStatus::failed_if(work.failed + work.cancelled > 0),
    })
}
