//! `backsight watch`: standing jobs, which follow the histories of targets unattended.

use backsight_model::{DocumentError, TomlDocument, numbers::counted};
use backsight_notify::{NOTIFY_FILE, NotifyConfig, NotifyOptions, notify};
use backsight_policy::WatchAction;
use backsight_report::escape;
use backsight_store::Store;
use backsight_study::{
    ExplainSelection, ResolvedPlan, explain,
    verbs::{Verb as _, step::StepVerb},
};
use backsight_watch::{
    FoundChange, JobConfig, JobFailures, JobPlace, NextStep, Outlook, StandingJob, Teller,
    WatchConfig, WorkEnd, WorkUntil, work,
};
use jiff::Timestamp;
use std::{num::NonZeroU32, path::PathBuf, process::ExitCode, time::Duration};

use crate::{
    common_options::CommonOptions,
    exit_status::ExitStatus,
    files,
    notify::print_report,
    output::Output,
    plan_args::{question_of, seed_of},
    session_args::{self, UnattendedArgs},
};

/// Arguments of `watch`.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// The jobs' file: which trees to follow, what to measure of new versions, what that may take a day
    #[arg(value_name = "FILE", default_value = "watch.toml")]
    file: PathBuf,
    /// Only these jobs; may be repeated
    #[arg(long = "job", value_name = "NAME")]
    jobs: Vec<String>,
    /// End when nothing is to be done: for a hook, a timer or cron
    #[arg(long, conflicts_with = "dry_run")]
    once: bool,
    /// Say what each job would do next, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    session: UnattendedArgs,
}

impl WatchArgs {
    /// Works at the jobs.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let (config, document) = WatchConfig::open(&self.file)?;
        let jobs = self.jobs(shared, &config, &document)?;
        let channels = files::store_folder(shared)?.join(NOTIFY_FILE);
        // Before anything is measured it is known whether people can be told.
        let channels = match channels.exists() {
            true => Some(NotifyConfig::open(&channels)?),
            false => None,
        };
        crate::block_on(async {
            let options = self.session.options()?;
            let trees = files::store_folder(shared)?;
            if self.dry_run {
                let store = files::store_or_empty(shared).await?;
                let place = JobPlace {
                    store: &store.store,
                    options: &options,
                    trees: &trees,
                };
                return say_what_is_next(&jobs, &place).await;
            }
            let store = files::open_store(shared).await?;
            let place = JobPlace {
                store: &store,
                options: &options,
                trees: &trees,
            };
            let teller = PeopleTeller {
                store: &store,
                channels,
                shows: !self.session.json,
            };
            let until = match self.once {
                true => WorkUntil::Idle,
                false => WorkUntil::Stopped,
            };
            let stop = session_args::stop_signal();
            let end = work(&jobs, &place, &teller, until, stop).await?;
            store.close().await;
            Ok(match end {
                WorkEnd::Idle => ExitCode::SUCCESS,
                WorkEnd::Failed => ExitStatus::Failed.into(),
                // A standing job ends by being stopped.
                WorkEnd::Stopped if !self.once => ExitCode::SUCCESS,
                WorkEnd::Stopped => ExitStatus::Interrupted.into(),
            })
        })
    }

    /// The jobs that are asked for, with everything that they name.
    fn jobs(
        &self,
        shared: &CommonOptions,
        config: &WatchConfig,
        document: &TomlDocument,
    ) -> miette::Result<Vec<StandingJob>> {
        for name in &self.jobs {
            if !config.jobs.contains_key(name) {
                let known: Vec<&str> = config.jobs.keys().map(String::as_str).collect();
                let near = backsight_model::did_you_mean(name, known.iter().copied());
                return Err(miette::miette!(
                    help = near.unwrap_or_else(|| format!("there are: {}", known.join(", "))),
                    "{} has no job `{}`",
                    self.file.display(),
                    escape::line(name)
                ));
            }
        }
        let asked = config.jobs.iter();
        let asked = asked.filter(|(name, _)| self.jobs.is_empty() || self.jobs.contains(name));
        asked
            .map(|(name, job)| standing_job(shared, name, job, document))
            .collect()
    }
}

fn standing_job(
    shared: &CommonOptions,
    name: &str,
    job: &JobConfig,
    document: &TomlDocument,
) -> miette::Result<StandingJob> {
    let plan_file = Some(job.plan.as_path());
    let named = (&[][..], None);
    let asked = question_of(
        shared,
        (StepVerb::NAME, plan_file),
        named,
        job.lab.as_deref(),
    );
    let (mut question, catalog) = asked?;
    question.along_history = true;
    question.choices.testbed = job.testbed.clone();
    let seed = seed_of(&question.plan, None)?;
    let plan = ResolvedPlan::new(question, catalog, seed)?;
    for benchmark in &job.sentinel {
        if !plan.arrangement.benchmarks.contains_key(&**benchmark) {
            return Err(no_such_benchmark(document, benchmark.span(), &plan).into());
        }
    }
    let rounds = job.rounds.map_or(plan.arrangement.rounds, NonZeroU32::get);
    Ok(StandingJob {
        name: name.to_owned(),
        target: job.target.clone(),
        plan_file: job.plan.clone(),
        sentinel: job.sentinel.iter().map(|it| (**it).clone()).collect(),
        rounds,
        sentinel_rounds: job.sentinel_rounds.map_or(rounds, NonZeroU32::get),
        budget: job.budget,
        since: job.since.clone(),
        look: job.look.clone(),
        plan,
    })
}

fn no_such_benchmark(
    document: &TomlDocument,
    place: std::ops::Range<usize>,
    plan: &ResolvedPlan,
) -> DocumentError {
    let known = plan.arrangement.benchmarks.keys();
    let known: Vec<String> = known.map(ToString::to_string).collect();
    document.problem(
        place,
        "the job's plan has no such benchmark",
        "here",
        Some(format!("it has: {}", known.join(", "))),
    )
}

/// Prints what each job would do next.
async fn say_what_is_next(jobs: &[StandingJob], place: &JobPlace<'_>) -> miette::Result<ExitCode> {
    for job in jobs {
        let now = Timestamp::now();
        let outlook = job.look(place, &JobFailures::default(), now).await?;
        let mut text = format!("{}: {}", job.name, job.describe(&outlook));
        if let NextStep::Act(WatchAction::Wait { .. }) = &outlook.next {
            let next = job.look.next(now).map_or_else(String::new, |next| {
                format!(
                    "; it looks again at {}",
                    next.strftime("%Y-%m-%d %H:%M:%SZ")
                )
            });
            text.push_str(&next);
        }
        let versions = counted(outlook.versions(), "version");
        let found = counted(outlook.found().count(), "change");
        files::print(&format!(
            "{text}\n  follows {versions}, found {found}, spent {} of {} today\n",
            minutes(outlook.spent),
            minutes(job.budget)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

/// Tells whoever looks at standard output, and the people of notify.toml.
struct PeopleTeller<'a> {
    store: &'a Store,
    /// The channels, if there are any.
    channels: Option<NotifyConfig>,
    /// Whether what is found is printed for people.
    shows: bool,
}

impl Teller for PeopleTeller<'_> {
    async fn found(&self, found: &FoundChange) -> miette::Result<()> {
        if !self.shows {
            return Ok(());
        }
        files::print(&format!("{}\n", found.sentence()))?;
        if let Some(study) = &found.verification {
            let studies = [study.to_string()];
            match explain(self.store, &studies, &ExplainSelection::default()).await {
                Ok(explained) => Output::default().render(&explained)?,
                Err(why) => files::print_note(&format!("it can't be explained: {why}")),
            }
        }
        Ok(())
    }

    async fn tell(
        &self,
        _job: &StandingJob,
        outlook: &Outlook,
    ) -> miette::Result<Option<Timestamp>> {
        let Some(channels) = &self.channels else {
            return Ok(None);
        };
        let found = outlook.found();
        let found = found.map(|(after, until)| (after.to_owned(), until.to_owned()));
        let options = NotifyOptions {
            channels: Vec::new(),
            targets: vec![outlook.target()],
            now: Timestamp::now(),
            dry_run: false,
            at_once: false,
            between: Some(found.collect()),
        };
        let reports = notify(self.store, channels, &options).await?;
        let again = reports.iter().filter_map(|report| report.next_try).min();
        for report in reports {
            let is_news = !report.sent.is_empty() || !report.problems.is_empty();
            if is_news && self.shows {
                print_report(&report, false)?;
            }
        }
        Ok(again)
    }
}
