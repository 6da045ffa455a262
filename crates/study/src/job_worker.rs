//! Working through the queue of a store: one job after the other, each as a process of this program in a folder of its own choice.
//!
//! What a job prints is kept beside the store, in `jobs/NUMBER.log`. A worker that is told to stop stops its job, which then waits
//! for the next worker; a job whose study was begun goes on with it. A store that is full, locked or away is waited for.

use backsight_model::{Job, JobState, QueueSnapshot, StudyState, WorkerScope, counted};
use backsight_policy::{JobWait, choose_job};
use backsight_report::{
    escape,
    queue::{ListedJob, near_time},
};
use backsight_store::{JOB_BEGAN_VARIABLE, JOB_VARIABLE, JobEnding, Runner, Store, StoreError};
use jiff::{Timestamp, tz::TimeZone};
use miette::{IntoDiagnostic as _, WrapErr as _};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    cell::Cell,
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
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use crate::{
    queue_listing::{QueueLimits, list_queue},
    slurm_queue::{give_node_back, update_from_slurm},
};

/// How often the queue is asked whether something waits, and whether the job that runs is still wanted.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is noted how long a job has run.
const BEAT: Duration = Duration::from_secs(15);
/// How often Slurm is asked about its jobs by a worker that has nothing to do.
const SLURM_LOOK: Duration = Duration::from_secs(30);
/// How long a job that Slurm has begun and that can't begin yet keeps its node: the job that it waits for may need it.
const NODE_WAIT: Duration = Duration::from_secs(5);
/// How long a store that is full, locked or away is left alone.
const STORE_REST: Duration = Duration::from_secs(5);
/// How long a job that is told to stop may take to put things back, before it is killed.
const GRACE: Duration = Duration::from_secs(120);
/// Of jobs that wait when a worker ends it is said of so many why.
const MOST_TOLD: usize = 3;
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
    /// Which jobs it takes.
    pub scope: WorkerScope,
    /// Whether it ends when nothing waits that it could begin sooner or later without anybody's doing.
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
    /// Jobs that it cancelled: they couldn't be begun any more.
    pub cancelled: usize,
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
        let registered = self.store.register_worker(&worker, &self.scope).await;
        registered.into_diagnostic()?;
        let work = self.work_as(&worker).await;
        // Who looks finds out by itself that it has gone.
        let _ = self.store.remove_worker(&worker).await;
        work
    }

    async fn work_as(&mut self, worker: &Runner) -> miette::Result<WorkDone> {
        let mut work = WorkDone::default();
        let mut is_told = false;
        let mut asked_slurm: Option<Instant> = None;
        let (mut waits_since, mut is_given_back) = (None, false);
        loop {
            if *self.stop.borrow() {
                work.stopped = true;
                return Ok(work);
            }
            let awaits_running = Cell::new(false);
            let choose = |queue: &QueueSnapshot| {
                let choice = choose_job(queue, &self.scope);
                awaits_running.set(choice.awaits_running);
                let lost = choice.lost.into_iter();
                let lost = lost.map(|(number, loss)| (number, loss.to_string()));
                (choice.next, lost.collect())
            };
            let (tell, own, cancelled) = (self.tell, self.scope.job, &mut work.cancelled);
            let dropped = |number: i64, why: &str| {
                tell(&format!("job {number} is cancelled: {why}"));
                // Of one job's worker only that one is its work.
                *cancelled += usize::from(own.is_none_or(|own| own == number));
            };
            let claimed = self.store.claim_job(worker, choose, dropped).await;
            is_told &= claimed.is_err();
            match claimed {
                Ok(Some(job)) => match self.run(&job, worker).await? {
                    Some(JobState::Done) => work.done += 1,
                    Some(JobState::Failed) => work.failed += 1,
                    _ => {}
                },
                Ok(None) if self.scope.job.is_some() => {
                    let job = self.only_job().await;
                    if job.as_ref().is_some_and(|job| job.is_none()) {
                        return Ok(work);
                    }
                    waits_since = waits_since.or_else(|| Some(Instant::now()));
                    if let (Some(Some(job)), Some(since)) = (job, waits_since)
                        && since.elapsed() > NODE_WAIT
                        && !is_given_back
                    {
                        is_given_back = true;
                        match give_node_back(&job).await {
                            Ok(true) => (self.tell)(&format!(
                                "job {} can't begin yet: Slurm has its node back, and begins it again",
                                job.number
                            )),
                            Ok(false) => {}
                            Err(error) => {
                                (self.tell)(&format!("Slurm keeps its node waiting: {error}"))
                            }
                        }
                    }
                    let _ = timeout(LOOK, told(&mut self.stop)).await;
                }
                Ok(None) if self.until_empty && !awaits_running.get() => {
                    self.tell_what_waits().await.into_diagnostic()?;
                    return Ok(work);
                }
                Ok(None) => {
                    if asked_slurm.is_none_or(|asked| asked.elapsed() > SLURM_LOOK) {
                        asked_slurm = Some(Instant::now());
                        // Another machine may be able to ask it.
                        if let Err(error) = update_from_slurm(self.store).await {
                            tracing::debug!("Slurm can't be asked about its jobs: {error}");
                        }
                    }
                    let _ = timeout(LOOK, told(&mut self.stop)).await;
                }
                Err(error) if is_passing(&error) => {
                    if !is_told {
                        (self.tell)(&format!("nothing is begun for now: {error}"));
                    }
                    is_told = true;
                    let _ = timeout(STORE_REST, told(&mut self.stop)).await;
                }
                Err(error) => return Err(error).into_diagnostic(),
            }
        }
    }

    /// Says which jobs wait still, and why the first ones do.
    async fn tell_what_waits(&self) -> Result<(), StoreError> {
        let limits = QueueLimits {
            waiting: MOST_TOLD,
            over: 0,
        };
        let listing = list_queue(self.store, limits).await?;
        let count = |state| {
            let mut counts = listing.counts.iter();
            counts.find(|(its, _)| *its == state).map_or(0, |it| it.1)
        };
        let mut parts = Vec::new();
        let waiting = count(JobState::Waiting);
        if waiting > 0 {
            let waits = if waiting == 1 { "waits" } else { "wait" };
            let listed = listing.jobs.iter();
            let listed = listed.filter(|it| it.job.state == JobState::Waiting);
            let mut reasons: Vec<String> = listed
                .take(MOST_TOLD)
                .map(|it| self.why_it_waits(it, listing.now))
                .collect();
            reasons.dedup();
            parts.push(format!(
                "{} {waits} still: {}",
                counted(waiting, "job"),
                reasons.join("; ")
            ));
        }
        let held = count(JobState::Paused);
        if held > 0 {
            let are = if held == 1 { "is" } else { "are" };
            parts.push(format!("{} {are} held back", counted(held, "job")));
        }
        if !parts.is_empty() {
            (self.tell)(&escape::line(&parts.join("; ")));
        }
        Ok(())
    }

    fn why_it_waits(&self, listed: &ListedJob, now: Timestamp) -> String {
        let number = listed.job.number;
        let zone = TimeZone::system();
        match &listed.outlook.wait {
            None | Some(JobWait::Turn) => format!("job {number} isn't for this worker"),
            Some(wait @ JobWait::QueuePaused { .. }) => wait.clause(|at| near_time(at, now, &zone)),
            Some(wait) => {
                let why = wait.clause(|at| near_time(at, now, &zone));
                format!("job {number} {why}")
            }
        }
    }

    /// The one job that it is for; `Some(None)` where nothing is to be done of that any more, or not by this worker: who lets a job go on that
    /// was held back sees to it that a worker comes. `None` where the store can't say: one that is locked or full for a moment is asked again.
    async fn only_job(&self) -> Option<Option<Job>> {
        let number = self.scope.job?;
        let job = self.store.job(number).await.ok()?;
        Some(job.filter(|job| !job.state.is_over() && job.state != JobState::Paused))
    }

    /// Runs a job; returns how it ended, or nothing where it waits again.
    async fn run(&mut self, job: &Job, worker: &Runner) -> miette::Result<Option<JobState>> {
        let number = job.number;
        let began = Instant::now();
        let ended = match self.arguments(job).await? {
            None => JobEnd::Known,
            Some(arguments) => {
                (self.tell)(&format!("job {number}: backsight {}", arguments.join(" ")));
                match self.start(job, &arguments) {
                    Ok(child) => self.wait(number, worker, child).await?,
                    Err(why) => JobEnd::Unstarted(why.to_string()),
                }
            }
        };
        let verb = job.request.arguments.first().map_or("", String::as_str);
        let ending = match ended {
            JobEnd::Stopped => None,
            JobEnd::Lost => {
                (self.tell)(&format!("job {number} was stopped: another worker has it"));
                return Ok(None);
            }
            JobEnd::Unstarted(why) => Some((JobState::Failed, why)),
            JobEnd::Known => Some((
                JobState::Done,
                "its study came to its end after its worker was gone".to_owned(),
            )),
            JobEnd::Exited(status) => Some(match (status.code(), status.signal()) {
                (Some(0), _) => (JobState::Done, (self.meaning)(verb, 0)),
                (Some(code), _) => (
                    JobState::Failed,
                    format!("ended with {code}: {}", (self.meaning)(verb, code)),
                ),
                (None, signal) => (
                    JobState::Failed,
                    format!("was ended by signal {}", signal.unwrap_or_default()),
                ),
            }),
        };
        let seconds = began.elapsed().as_secs_f64();
        let left = match &ending {
            None => JobEnding::Stopped,
            Some((state, outcome)) => JobEnding::Over(*state, outcome),
        };
        let state = loop {
            // How long it took is known even where how it ended can't be written yet.
            let noted = async {
                self.store.record_run_time(number, worker, seconds).await?;
                self.store.leave_job(number, worker, left).await
            };
            match noted.await {
                Ok(state) => break state,
                // A worker that is told to stop leaves it to the next one, which sees that its study has ended.
                Err(error) if is_passing(&error) && !*self.stop.borrow() => {
                    (self.tell)(&format!("how job {number} ended isn't noted yet: {error}"));
                    let _ = timeout(STORE_REST, told(&mut self.stop)).await;
                }
                Err(error) => return Err(error).into_diagnostic(),
            }
        };
        match (ending, state) {
            (None, Some(JobState::Paused)) => {
                (self.tell)(&format!("job {number} was stopped, and is held back"));
                Ok(None)
            }
            (None, _) => {
                (self.tell)(&format!("job {number} was stopped, and waits again"));
                Ok(None)
            }
            (Some((ended, outcome)), state) => {
                let state = state.unwrap_or(ended);
                (self.tell)(&format!("job {number} is {state}: {outcome}"));
                Ok(Some(state))
            }
        }
    }

    /// What is run: the command that was asked for, or what goes on with the study that it began; nothing where that is finished.
    async fn arguments(&mut self, job: &Job) -> miette::Result<Option<Vec<String>>> {
        let Some(name) = &job.study else {
            return Ok(Some(job.request.arguments.clone()));
        };
        let mut begun = self.store.study(name.as_str()).await.into_diagnostic()?;
        // A process whose worker was killed may have begun it while the job was taken.
        while begun.is_measuring() && !*self.stop.borrow() {
            let _ = timeout(LOOK, told(&mut self.stop)).await;
            begun = self.store.study(name.as_str()).await.into_diagnostic()?;
        }
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
            .envs((job.began).map(|began| (JOB_BEGAN_VARIABLE, began.to_string())))
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

    /// Waits for a job's process, which is stopped when the worker is or nobody wants it now.
    async fn wait(
        &mut self,
        number: i64,
        worker: &Runner,
        mut child: Child,
    ) -> miette::Result<JobEnd> {
        let (began, mut heard) = (Instant::now(), Instant::now());
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let cause = loop {
            tokio::select! {
                exited = child.wait() => return exited.map(JobEnd::Exited).into_diagnostic(),
                () = told(&mut self.stop) => break JobState::Waiting,
                _ = looks.tick() => {
                    let state = match heard.elapsed() > BEAT {
                        true => {
                            heard = Instant::now();
                            let seconds = began.elapsed().as_secs_f64();
                            match self.store.record_run_time(number, worker, seconds).await {
                                Ok(None) => {
                                    stopped(&mut child).await.into_diagnostic()?;
                                    return Ok(JobEnd::Lost);
                                }
                                state => state,
                            }
                        }
                        false => {
                            let job = self.store.job(number).await;
                            job.map(|job| job.map(|job| job.state))
                        }
                    };
                    // A store that is locked or full for a moment is asked again.
                    if let Ok(Some(state @ (JobState::Cancelled | JobState::Paused))) = state {
                        break state;
                    }
                }
            }
        };
        let exited = stopped(&mut child).await.into_diagnostic()?;
        Ok(match cause {
            JobState::Cancelled => JobEnd::Exited(exited),
            // It may have come to its end by itself at that moment.
            _ if exited.code() != Some(0) => JobEnd::Stopped,
            _ => JobEnd::Exited(exited),
        })
    }
}

/// Whether a fault of the store may be over by itself, or by somebody who makes room or starts the server again.
fn is_passing(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Full { .. } | StoreError::Locked { .. } | StoreError::Unreachable { .. }
    )
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
    /// With its worker, or since it is held back.
    Stopped,
    /// Since another worker has it.
    Lost,
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
