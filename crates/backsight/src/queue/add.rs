//! `backsight queue add`: checks a command, finds out what it measures on, and gives it to the workers or to Slurm.

use backsight_model::{JobEngine, JobNeeds, JobRequest, StudyName};
use backsight_store::Store;
use backsight_study::{
    QueueLimits, check_slurm, list_queue, needs_of_named_testbeds, slurm_words_of_testbeds,
    submit_to_slurm,
};
use clap::FromArgMatches as _;
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::{io::ErrorKind, path::PathBuf, process::ExitCode};

use super::known_job;
use crate::{
    common_options::CommonOptions, files, plan_args::PlanArgs, user_name::user_name,
    value_parsers::moment,
};

/// Verbs that never end by themselves, or would wait for the worker that runs them.
const NO_JOBS: [&str; 4] = ["mcp", "queue", "serve", "watch"];

/// Who begins a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum QueueEngine {
    /// `backsight queue worker`
    Workers,
    /// Slurm, by a batch job of its own
    Slurm,
}

/// Arguments of `queue add`.
#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    /// Of those that wait the greatest comes first
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
    /// A testbed that it measures on; else those of its plan. May be repeated
    #[arg(long, value_name = "NAME")]
    testbed: Vec<String>,
    /// The lab's file for --testbed; else the lab.toml in this folder
    #[arg(long, value_name = "FILE", requires = "testbed")]
    lab: Option<PathBuf>,
    /// Don't begin it later: 18:00, 3h, "YYYY-MM-DD 09:30", "18:00 Europe/Berlin"; of one priority the nearest comes first
    #[arg(long, value_name = "TIME", value_parser = moment)]
    deadline: Option<Timestamp>,
    /// Begin it when this job is done; it is cancelled where that one isn't done in the end. May be repeated
    #[arg(long, value_name = "JOB")]
    after: Vec<i64>,
    /// Put it before all that wait; what runs goes on
    #[arg(long)]
    now: bool,
    /// Who begins it
    #[arg(long, value_enum, value_name = "ENGINE", default_value = "workers")]
    on: QueueEngine,
    /// Words for sbatch, between blanks: which nodes, for how long. May be repeated
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// The words behind `backsight`; files are named from this folder
    #[arg(last = true, required = true, value_name = "COMMAND")]
    arguments: Vec<String>,
}

impl AddArgs {
    /// Adds it.
    pub(super) async fn execute(
        self,
        shared: &CommonOptions,
        command: clap::Command,
    ) -> miette::Result<ExitCode> {
        let matches = check_command(command, &self.arguments)?;
        let mut engine = self.engine()?;
        if engine != JobEngine::Workers {
            check_slurm().await?;
        }
        let store = files::open_store(shared).await?;
        let measured = measured_question(shared, &matches)?;
        if let Some(measured) = &measured {
            measured.check(&store).await?;
        }
        let (needs, slurm_words) = match (&measured, self.testbed.is_empty()) {
            (Some(measured), true) => measured.needs_or_note().await,
            (None, true) => Default::default(),
            (_, false) => {
                let lab = files::lab_or_this_machine(self.lab.as_deref())?;
                let needs = needs_of_named_testbeds(&lab, &self.testbed)?;
                let words = slurm_words_of_testbeds(&lab, &needs.testbeds);
                (needs, words)
            }
        };
        if let JobEngine::Slurm { options } = &mut engine {
            // What is asked for here comes last, and so counts.
            options.splice(0..0, slurm_words);
        }
        let folder = std::env::current_dir().into_diagnostic()?;
        let asked = JobRequest {
            priority: self.priority,
            needs,
            after: self.after,
            deadline: self.deadline,
            first: self.now,
            engine,
            ..JobRequest::new(self.arguments, folder, user_name(self.by.as_deref())?)
        };
        let number = store.add_job(&asked).await.into_diagnostic()?;
        if asked.engine != JobEngine::Workers {
            let job = known_job(&store, number).await?;
            let program = std::env::current_exe().into_diagnostic()?;
            let id = submit_to_slurm(&store, &job, &program).await?;
            files::print(&format!("job {number} waits in Slurm as {id}\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let listing = list_queue(&store, QueueLimits::default()).await;
        let listing = listing.into_diagnostic()?;
        let its = listing.jobs.iter().position(|it| it.job.number == number);
        let ahead = match its {
            Some(ahead) => format!("{ahead} before it"),
            None => format!("more than {} before it", listing.jobs.len()),
        };
        files::print(&format!(
            "job {number} waits; {ahead}. `backsight queue worker` runs jobs\n"
        ))?;
        Ok(ExitCode::SUCCESS)
    }

    fn engine(&self) -> miette::Result<JobEngine> {
        match self.on {
            QueueEngine::Workers if self.sbatch.is_empty() => Ok(JobEngine::Workers),
            QueueEngine::Workers => Err(miette::miette!(
                help = "say `--on slurm`",
                "--sbatch is for jobs that Slurm begins"
            )),
            QueueEngine::Slurm => {
                let words = self
                    .sbatch
                    .iter()
                    .flat_map(|words| words.split_whitespace());
                Ok(JobEngine::Slurm {
                    options: words.map(str::to_owned).collect(),
                })
            }
        }
    }
}

/// Whether a job can be this command: it would be known too late that nobody understands it.
fn check_command(command: clap::Command, arguments: &[String]) -> miette::Result<clap::ArgMatches> {
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
        _ => Ok(matches),
    }
}

/// What a job is to measure.
struct MeasuredQuestion {
    verb: String,
    shared: CommonOptions,
    plan: PlanArgs,
    /// The name that its study is to have.
    name: Option<StudyName>,
    testbeds: usize,
}

/// What a command measures; nothing of one that takes no plan.
fn measured_question(
    shared: &CommonOptions,
    matches: &clap::ArgMatches,
) -> miette::Result<Option<MeasuredQuestion>> {
    let Some((verb, its)) = matches.subcommand() else {
        return Ok(None);
    };
    // Only verbs that take a plan have both.
    if its.try_contains_id("use").is_err() || its.try_contains_id("like").is_err() {
        return Ok(None);
    }
    let of_job = CommonOptions::from_arg_matches(matches).into_diagnostic()?;
    let parallel = its.try_get_one::<u32>("parallel").ok().flatten();
    let name = its.try_get_one::<StudyName>("name").ok().flatten();
    Ok(Some(MeasuredQuestion {
        verb: verb.to_owned(),
        shared: CommonOptions {
            store: shared.store.clone(),
            ..of_job
        },
        plan: PlanArgs::from_arg_matches(its).into_diagnostic()?,
        name: name.cloned(),
        testbeds: parallel.copied().unwrap_or(1) as usize,
    }))
}

impl MeasuredQuestion {
    /// Refuses what would fail in the night: a plan that isn't there, a name that a study has.
    async fn check(&self, store: &Store) -> miette::Result<()> {
        if let Some(plan) = self.plan.plan()
            && let Err(error) = std::fs::metadata(plan)
        {
            let why = match error.kind() {
                ErrorKind::NotFound => "no such file".to_owned(),
                _ => error.to_string(),
            };
            return Err(miette::miette!(
                help = "files of a job are named from the folder that you are in",
                "the plan {} can't be read: {why}",
                plan.display()
            ));
        }
        if let Some(name) = &self.name {
            store.check_new_name(name).await.into_diagnostic()?;
        }
        Ok(())
    }

    /// What it measures on, with the lab's words for Slurm, as its plan and its lab say now. A plan that says nothing now may be mended
    /// until the job begins.
    async fn needs_or_note(&self) -> (JobNeeds, Vec<String>) {
        let why = match self.needs().await {
            Ok(needs) => return needs,
            Err(why) => why,
        };
        if self.plan.plan().is_some() {
            files::print_note(&format!(
                "as it is now, the job would fail, and on which hosts it measures isn't known: {why}"
            ));
        }
        Default::default()
    }

    async fn needs(&self) -> miette::Result<(JobNeeds, Vec<String>)> {
        let resolved = self.plan.resolve(&self.shared, &self.verb, true, Some(0));
        let resolved = resolved.await?;
        Ok((
            resolved.job_needs(self.testbeds)?,
            resolved.slurm_words(self.testbeds)?,
        ))
    }
}
