//! Working through the queue of a store: one job after the other, each as a process of this program in a folder of its own choice.
//!
//! What a job prints is kept beside the store, in `jobs/NUMBER.log`. A worker that is told to stop stops its job, which then waits
//! for the next worker; a job whose study was begun goes on with it.

use backsight_model::{Job, JobState, StudyState};
use backsight_store::{JOB_VARIABLE, Runner, Store};
use miette::{IntoDiagnostic as _, WrapErr as _};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    process::{Child, Command},
    sync::watch,
    time::{MissedTickBehavior, interval, timeout},
};

/// How often the queue is asked whether something waits, and whether the job that runs is still wanted.
const LOOK: Duration = Duration::from_millis(500);
/// How long a job that is told to stop may take to put things back, before it is killed.
const GRACE: Duration = Duration::from_secs(120);
/// How long a job waits for hosts that another study has, unless its command says so.
const WAIT: &str = "7d";
/// The variable that says so.
pub const WAIT_VARIABLE: &str = "BACKSIGHT_WAIT";

/// Who works through a queue.
pub struct JobWorker<'a> {
    /// The store with the queue.
    pub store: &'a Store,
    /// The program that jobs are commands of.
    pub program: PathBuf,
    /// Whether it ends when nothing waits.
    pub until_empty: bool,
    /// What an exit status of a verb means.
    pub meaning: fn(&str, i32) -> String,
    /// Tells who started it what it does.
    pub tell: fn(&str),
    /// Says when it is to stop.
    pub stop: watch::Receiver<bool>,
}

/// What a worker did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// Jobs that did what was asked.
    pub done: usize,
    /// Jobs that ended in another way.
    pub failed: usize,
    /// Whether it was stopped.
    pub stopped: bool,
}

impl JobWorker<'_> {
    /// Works until it is told to stop, or nothing waits where that is enough.
    ///
    /// # Errors
    /// The store's.
    pub async fn work(mut self) -> miette::Result<WorkDone> {
        let worker = Runner::this_process()
            .ok_or_else(|| miette::miette!("this system doesn't tell processes apart: no /proc"))?;
        let mut work = WorkDone::default();
        loop {
            if *self.stop.borrow() {
                work.stopped = true;
                return Ok(work);
            }
            match self.store.claim_job(&worker).await.into_diagnostic()? {
                Some(job) => match self.run(&job, &worker).await? {
                    Some(JobState::Done) => work.done += 1,
                    Some(JobState::Failed) => work.failed += 1,
                    _ => {}
                },
                None if self.until_empty => return Ok(work),
                None => {
                    let _ = timeout(LOOK, told(&mut self.stop)).await;
                }
            }
        }
    }

    /// Runs a job; returns how it ended, or nothing where it waits again.
    async fn run(&mut self, job: &Job, worker: &Runner) -> miette::Result<Option<JobState>> {
        let number = job.number;
        let ended = match self.arguments(job).await? {
            None => JobEnd::Known,
            Some(arguments) => {
                (self.tell)(&format!("job {number}: backsight {}", arguments.join(" ")));
                match self.start(job, &arguments) {
                    Ok(child) => self.wait(number, child).await?,
                    Err(why) => JobEnd::Unstarted(why.to_string()),
                }
            }
        };
        let verb = job.request.arguments.first().map_or("", String::as_str);
        let (state, outcome) = match ended {
            JobEnd::Stopped => {
                self.store
                    .put_job_back(number, worker)
                    .await
                    .into_diagnostic()?;
                (self.tell)(&format!("job {number} was stopped, and waits again"));
                return Ok(None);
            }
            JobEnd::Unstarted(why) => (JobState::Failed, why),
            JobEnd::Known => (
                JobState::Done,
                "its study came to its end after its worker was gone".to_owned(),
            ),
            JobEnd::Exited(status) => match (status.code(), status.signal()) {
                (Some(0), _) => (JobState::Done, (self.meaning)(verb, 0)),
                (Some(code), _) => (
                    JobState::Failed,
                    format!("ended with {code}: {}", (self.meaning)(verb, code)),
                ),
                (None, signal) => (
                    JobState::Failed,
                    format!("was ended by signal {}", signal.unwrap_or_default()),
                ),
            },
        };
        let ended = self.store.end_job(number, state, &outcome).await;
        ended.into_diagnostic()?;
        let known = self.store.job(number).await.into_diagnostic()?;
        let state = known.map_or(state, |job| job.state);
        (self.tell)(&format!("job {number} is {state}: {outcome}"));
        Ok(Some(state))
    }

    /// What is run: the command that was asked for, or what goes on with the study that it began; nothing where that is finished.
    async fn arguments(&self, job: &Job) -> miette::Result<Option<Vec<String>>> {
        let Some(name) = &job.study else {
            return Ok(Some(job.request.arguments.clone()));
        };
        let begun = self.store.study(name.as_str()).await.into_diagnostic()?;
        let goes_on = begun.state != StudyState::Finished;
        Ok(goes_on.then(|| vec!["resume".to_owned(), name.to_string()]))
    }

    fn start(&self, job: &Job, arguments: &[String]) -> miette::Result<Child> {
        let folder = &job.request.folder;
        if !folder.is_dir() {
            return Err(miette::miette!("folder {} isn't there", folder.display()));
        }
        let mut log = open_log(self.store, job.number)?;
        writeln!(log, "$ backsight {}", arguments.join(" ")).into_diagnostic()?;
        let mut command = std::process::Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(folder)
            .env("BACKSIGHT_STORE", self.store.location().for_environment())
            .env(JOB_VARIABLE, job.number.to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone().into_diagnostic()?)
            .stderr(log)
            // What stops the worker in its terminal is passed on by the worker.
            .process_group(0);
        if std::env::var_os(WAIT_VARIABLE).is_none() {
            command.env(WAIT_VARIABLE, WAIT);
        }
        let spawned = Command::from(command).spawn();
        spawned
            .into_diagnostic()
            .wrap_err_with(|| format!("{} can't be started", self.program.display()))
    }

    /// Waits for a job's process, which is stopped when the worker is or nobody wants it any more.
    async fn wait(&mut self, number: i64, mut child: Child) -> miette::Result<JobEnd> {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let is_stopped = loop {
            tokio::select! {
                exited = child.wait() => return exited.map(JobEnd::Exited).into_diagnostic(),
                () = told(&mut self.stop) => break true,
                _ = looks.tick() => {
                    let job = self.store.job(number).await;
                    // A store that is locked for a moment is asked again.
                    if matches!(job, Ok(Some(job)) if job.state == JobState::Cancelled) {
                        break false;
                    }
                }
            }
        };
        let exited = stopped(&mut child).await.into_diagnostic()?;
        Ok(match is_stopped {
            // It may have come to its end by itself at that moment.
            true if exited.code() != Some(0) => JobEnd::Stopped,
            _ => JobEnd::Exited(exited),
        })
    }
}

/// Waits until the worker is told to stop; for ever where nobody can tell it any more.
async fn told(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending().await
    }
}

/// How a job's process ended.
enum JobEnd {
    Exited(ExitStatus),
    /// With its worker.
    Stopped,
    /// Before this worker had it.
    Known,
    /// It couldn't be started.
    Unstarted(String),
}

/// Stops a process as ^C does; kills it where that doesn't help.
async fn stopped(child: &mut Child) -> std::io::Result<ExitStatus> {
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    if let Some(pid) = pid {
        // One that has just ended isn't there any more.
        let _ = kill_process(pid, Signal::INT);
    }
    match timeout(GRACE, child.wait()).await {
        Ok(exited) => exited,
        Err(_) => {
            child.start_kill()?;
            child.wait().await
        }
    }
}

/// Where what a job prints is kept.
pub fn job_log_path(store: &Path, number: i64) -> PathBuf {
    store.join("jobs").join(format!("{number}.log"))
}

fn open_log(store: &Store, number: i64) -> miette::Result<File> {
    let path = job_log_path(store.dir(), number);
    let open = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        OpenOptions::new().append(true).create(true).open(&path)
    };
    open()
        .into_diagnostic()
        .wrap_err_with(|| format!("{} can't be written", path.display()))
}
