//! Working at standing jobs: one step after the other, then waiting until a job looks again, somebody asks for it, or the user
//! stops it.

use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use rustix::fs::{FlockOperation, flock};
use std::{fs::File, path::Path, sync::Arc, time::Duration};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch::Receiver,
    time::sleep,
};

use crate::{
    found_change::FoundChange,
    standing_job::{JobFailures, JobPlace, NextStep, Outlook, StandingJob, StepEnd},
};
use backsight_model::numbers::counted;
use backsight_policy::WatchAction;

/// After a failure a job is looked at again so much later, twice as long after each further one.
const FIRST_WAIT: Duration = Duration::from_secs(60);
/// But not later than this.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// People are told of what is new so much later at the latest, whether or not something failed.
const TELL_AGAIN: Duration = Duration::from_secs(3600);

/// Who is told of what jobs found.
pub trait Teller {
    /// Says that a job found a change.
    ///
    /// # Errors
    /// The store's own.
    fn found(&self, found: &FoundChange) -> impl Future<Output = miette::Result<()>>;

    /// Tells people, as far as they don't know it yet, of what jobs found along this target's history. Returns when what couldn't be
    /// told now may be told.
    ///
    /// # Errors
    /// The store's own. That people can't be reached isn't one.
    fn tell(
        &self,
        job: &StandingJob,
        outlook: &Outlook,
    ) -> impl Future<Output = miette::Result<Option<Timestamp>>>;
}

/// How long jobs are worked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkUntil {
    /// Until the user stops it.
    Stopped,
    /// Until each job waits.
    Idle,
}

/// How the work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkEnd {
    /// Each job waits.
    Idle,
    /// The same, but a step of a job failed.
    Failed,
    /// The user stopped it.
    Stopped,
}

/// A job that this process works at.
struct JobInWork<'a> {
    job: &'a StandingJob,
    failures: JobFailures,
    /// When it is looked at again.
    next: Timestamp,
    /// Failures one after the other.
    in_a_row: u32,
    has_failed: bool,
    /// What was said last: it isn't said twice.
    said: String,
    said_lost: usize,
    told: Option<ToldFindings>,
    /// The last step, with how much had been measured: doing it again would lead to nothing.
    last: Option<(NextStep, usize)>,
    /// Nobody else works at it meanwhile.
    _lock: File,
}

/// What people were told last.
struct ToldFindings {
    /// What was known then.
    outlook: Arc<Outlook>,
    /// When they are told again, also where nothing more is found.
    again: Timestamp,
}

/// Works at these jobs. `stop` says that the user wants it to end; SIGUSR2 makes every job look at once.
///
/// # Errors
/// Another process works at one of them.
pub async fn work(
    jobs: &[StandingJob],
    place: &JobPlace<'_>,
    teller: &impl Teller,
    until: WorkUntil,
    mut stop: Receiver<bool>,
) -> miette::Result<WorkEnd> {
    let mut asked = signal(SignalKind::user_defined2()).into_diagnostic()?;
    let mut all = Vec::with_capacity(jobs.len());
    for job in jobs {
        all.push(JobInWork {
            job,
            failures: JobFailures::default(),
            next: Timestamp::MIN,
            in_a_row: 0,
            has_failed: false,
            said: String::new(),
            said_lost: 0,
            told: None,
            last: None,
            _lock: lock(place.store.dir(), &job.name)?,
        });
    }
    loop {
        let now = Timestamp::now();
        let mut is_idle = true;
        for it in &mut all {
            if *stop.borrow() {
                return Ok(WorkEnd::Stopped);
            }
            if it.next > now {
                it.tell_again(place, teller, now).await;
                continue;
            }
            match it.step(place, teller, now).await {
                Some(StepEnd::Stopped) => return Ok(WorkEnd::Stopped),
                Some(_) => is_idle = false,
                None => {}
            }
        }
        if !is_idle {
            continue;
        }
        if until == WorkUntil::Idle {
            return Ok(match all.iter().any(|it| it.has_failed) {
                true => WorkEnd::Failed,
                false => WorkEnd::Idle,
            });
        }
        let next = all.iter().map(JobInWork::wakes).min().unwrap_or(now);
        if wait(next, &mut stop, &mut asked).await {
            for it in &mut all {
                it.next = Timestamp::MIN;
            }
        }
    }
}

/// Waits until this time, or until somebody asks for a look, which is the answer, or the user wants to stop.
async fn wait(next: Timestamp, stop: &mut Receiver<bool>, asked: &mut Signal) -> bool {
    let left = Duration::try_from(next.duration_since(Timestamp::now())).unwrap_or_default();
    tokio::select! {
        () = sleep(left) => false,
        _ = stop.wait_for(|stop| *stop) => false,
        _ = asked.recv() => true,
    }
}

impl JobInWork<'_> {
    /// When it is looked at again, or people are told again.
    fn wakes(&self) -> Timestamp {
        let told = self.told.as_ref();
        told.map_or(self.next, |told| told.again.min(self.next))
    }

    /// Tells people again where it is time, without looking at the history: a job may look at its own times only.
    async fn tell_again(&mut self, place: &JobPlace<'_>, teller: &impl Teller, now: Timestamp) {
        let Some(told) = self.told.take_if(|told| told.again <= now) else {
            return;
        };
        if let Err(why) = self.tell(teller, told.outlook, now).await {
            self.say(place, &format!("{why:?}"));
        }
    }

    /// Tells people of what is known.
    async fn tell(
        &mut self,
        teller: &impl Teller,
        outlook: Arc<Outlook>,
        now: Timestamp,
    ) -> miette::Result<()> {
        let told = teller.tell(self.job, &outlook).await;
        let again = match &told {
            Ok(again) => again.unwrap_or(Timestamp::MAX),
            Err(_) => now + FIRST_WAIT,
        };
        self.told = Some(ToldFindings {
            outlook,
            again: again.min(now + TELL_AGAIN),
        });
        told.map(drop)
    }

    /// Looks what is next and does it; nothing if the job waits now.
    async fn step(
        &mut self,
        place: &JobPlace<'_>,
        teller: &impl Teller,
        now: Timestamp,
    ) -> Option<StepEnd> {
        match self.step_or_fail(place, teller, now).await {
            Ok(done) => {
                if done.is_some() || self.next > now {
                    self.in_a_row = 0;
                }
                done
            }
            Err(why) => {
                self.has_failed = true;
                self.say(place, &format!("{why:?}"));
                let factor = 2_u32.saturating_pow(self.in_a_row.min(16));
                self.in_a_row += 1;
                let wait = FIRST_WAIT.saturating_mul(factor).min(LONGEST_WAIT);
                self.next = now + wait;
                self.last = None;
                None
            }
        }
    }

    async fn step_or_fail(
        &mut self,
        place: &JobPlace<'_>,
        teller: &impl Teller,
        now: Timestamp,
    ) -> miette::Result<Option<StepEnd>> {
        let job = self.job;
        let outlook = Arc::new(job.look(place, &self.failures, now).await?);
        let target = outlook.target();
        let placed = outlook.memory.place_versions(place.store, &target);
        placed.await?;
        if outlook.memory.lost > self.said_lost {
            self.said_lost = outlook.memory.lost;
            let versions = counted(outlook.memory.lost, "measured version");
            place.note(
                &job.name,
                &format!("the branch was rewritten: {versions} not on it any more"),
            );
        }
        let knows_more = (self.told.as_ref())
            .is_none_or(|told| told.outlook.findings() != outlook.findings() || told.again <= now);
        if knows_more && outlook.findings() > 0 {
            self.tell(teller, outlook.clone(), now).await?;
        }
        let what = job.describe(&outlook);
        if let NextStep::Act(WatchAction::Wait { until, .. }) = &outlook.next {
            self.say(place, &what);
            self.last = None;
            let look = job.look.next(now).unwrap_or(*until);
            self.next = match job.look.is_periodic() {
                true => look.min(*until),
                // It works at its times only.
                false => look,
            };
            return Ok(None);
        }
        let known = outlook.measured();
        if self.last.as_ref() == Some(&(outlook.next.clone(), known)) {
            self.say(
                place,
                &format!("{what}: nothing came of it, and it is tried again later"),
            );
            // Whoever asked for this one look is to know that it didn't do what was to be done.
            self.has_failed = true;
            self.next = job.look.next(now).unwrap_or(now + LONGEST_WAIT);
            self.last = None;
            return Ok(None);
        }
        self.last = Some((outlook.next.clone(), known));
        place.note(&job.name, &what);
        self.said.clear();
        let end = job.act(place, &outlook, &mut self.failures).await?;
        if let StepEnd::Found(found) = &end {
            teller.found(found).await?;
        }
        Ok(Some(end))
    }

    /// Says something, but not the same twice one after the other.
    fn say(&mut self, place: &JobPlace<'_>, message: &str) {
        if self.said != message {
            place.note(&self.job.name, message);
            self.said = message.to_owned();
        }
    }
}

/// A lock that nobody else has: two processes that work at one job would measure everything twice.
fn lock(folder: &Path, job: &str) -> miette::Result<File> {
    let path = folder.join(format!("watch-{job}.lock"));
    let file = File::create(&path).into_diagnostic()?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(_) => Err(miette::miette!(
            help = "stop that one, or name other jobs with --job",
            "another process works at the job `{job}`"
        )),
    }
}
