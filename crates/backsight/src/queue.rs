//! `backsight queue`: commands that wait for hosts, and the worker that runs them one after the other.

use backsight_model::{Job, JobRequest};
use backsight_report::{
    escape,
    queue::{QueueView, job_command, queue_table, recent_jobs},
};
use backsight_store::Store;
use backsight_study::{JobWorker, job_log_path};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::process::ExitCode;

use crate::{
    common_options::CommonOptions,
    exit_status::{self, ExitStatus},
    files, session_args,
    user_name::user_name,
};

/// Verbs that never end by themselves, or would wait for the worker that runs them.
const NO_JOBS: [&str; 2] = ["queue", "serve"];

/// Arguments of `queue`.
#[derive(Debug, clap::Args)]
pub struct QueueArgs {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List jobs in the order in which they are run, then those that ended lately
    List {
        /// Also all that ended
        #[arg(long)]
        all: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a command: `queue add -- step plan.toml --target app --last 1w`
    Add {
        /// Of those that wait the greatest comes first; of several the one that was asked for first
        #[arg(
            long,
            value_name = "NUMBER",
            default_value = "0",
            allow_negative_numbers = true
        )]
        priority: i64,
        /// Who asks; else the user's name
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
        /// The words behind `backsight`; files are named from this folder
        #[arg(last = true, required = true, value_name = "COMMAND")]
        arguments: Vec<String>,
    },
    /// Cancel a job that waits, or stop one that runs
    Cancel {
        /// Its number
        job: i64,
        /// Who cancels; else the user's name
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Print what a job printed
    Log {
        /// Its number
        job: i64,
    },
    /// Run jobs one after the other, until ^C
    Worker {
        /// End when nothing waits
        #[arg(long)]
        until_empty: bool,
    },
}

impl QueueArgs {
    /// Does it; jobs are of this command line.
    pub fn execute(
        self,
        shared: &CommonOptions,
        command: clap::Command,
    ) -> miette::Result<ExitCode> {
        let what = self.what.unwrap_or(What::List {
            all: false,
            json: false,
        });
        crate::block_on(async {
            match what {
                What::List { all, json } => list(shared, all, json).await,
                What::Add {
                    priority,
                    by,
                    arguments,
                } => {
                    check_command(command, &arguments)?;
                    add(shared, arguments, by.as_deref(), priority).await
                }
                What::Cancel { job, by } => cancel(shared, job, by.as_deref()).await,
                What::Log { job } => log(shared, job).await,
                What::Worker { until_empty } => work(shared, until_empty).await,
            }
        })
    }
}

async fn list(shared: &CommonOptions, all: bool, json: bool) -> miette::Result<ExitCode> {
    let store = files::existing_store(shared).await?;
    let jobs = store.jobs().await.into_diagnostic()?;
    let listed = if all { &jobs[..] } else { recent_jobs(&jobs) };
    files::print(&match json {
        true => backsight_report::json(&QueueView::new(listed)).into_diagnostic()?,
        false => queue_table(listed, files::width()),
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn add(
    shared: &CommonOptions,
    arguments: Vec<String>,
    by: Option<&str>,
    priority: i64,
) -> miette::Result<ExitCode> {
    let store = files::open_store(shared).await?;
    let asked = JobRequest {
        arguments,
        folder: std::env::current_dir().into_diagnostic()?,
        by: user_name(by)?,
        priority,
    };
    let number = store.add_job(&asked).await.into_diagnostic()?;
    let jobs = store.jobs().await.into_diagnostic()?;
    let ahead = jobs.iter().take_while(|job| job.number != number).count();
    files::print(&format!(
        "job {number} waits; {ahead} before it. `backsight queue worker` runs jobs\n"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a job can be this command: it would be known too late that nobody understands it.
fn check_command(command: clap::Command, arguments: &[String]) -> miette::Result<()> {
    let words = std::iter::once("backsight").chain(arguments.iter().map(String::as_str));
    let matches = command.try_get_matches_from(words).map_err(|error| {
        let text = error.to_string();
        miette::miette!(
            help = "what stands behind `--` is a command without `backsight`: queue add -- run plan.toml",
            "the job isn't understood: {}",
            text.trim_start_matches("error: ").trim_end()
        )
    })?;
    match matches.subcommand_name() {
        Some(verb) if NO_JOBS.contains(&verb) => Err(miette::miette!(
            help = "start it yourself",
            "`{verb}` is no job: it has no end"
        )),
        _ => Ok(()),
    }
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
    files::print(&format!(
        "job {number} is cancelled: {}\n",
        escape::line(&job_command(&job))
    ))?;
    Ok(ExitCode::SUCCESS)
}

async fn log(shared: &CommonOptions, number: i64) -> miette::Result<ExitCode> {
    let store = files::existing_store(shared).await?;
    let job = known_job(&store, number).await?;
    let path = job_log_path(store.dir(), number);
    match std::fs::read(&path) {
        Ok(text) => files::print_foreign(&text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
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

async fn work(shared: &CommonOptions, until_empty: bool) -> miette::Result<ExitCode> {
    let store = files::open_store(shared).await?;
    let worker = JobWorker {
        store: &store,
        program: std::env::current_exe().into_diagnostic()?,
        until_empty,
        meaning: exit_status::meaning_of,
        tell: files::print_note,
        stop: session_args::stop_signal(),
    };
    let work = worker.work().await?;
    let failed = match work.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    files::print(&format!("{} done{failed}\n", work.done))?;
    Ok(match work.stopped {
        true => ExitStatus::Interrupted.into(),
        false => ExitStatus::failed_if(work.failed > 0),
    })
}
