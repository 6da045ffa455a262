//! `watch.toml`: the standing jobs.

use backsight_model::{
    BenchmarkName, DocumentError, Located, TestbedName, Time, TomlDocument, UnreadableFileError,
};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::look_times::LookTimes;

/// Longest name of a job, in characters: names of studies begin with it.
const LONGEST_NAME: usize = 40;
/// How far apart looks are, unless said.
const LOOK: Duration = Duration::from_secs(300);

/// Standing jobs: trees that are followed, what is measured of their new versions, and what that may take.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct WatchFile {
    /// The jobs by their names.
    job: Located<IndexMap<Located<String>, JobFile>>,
}

/// A standing job.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct JobFile {
    /// The target that is followed: its file, or the NAME of NAME.toml beside the plan or in targets/ there.
    target: String,
    /// The file of the plan: what is measured.
    plan: PathBuf,
    /// The lab's file; else the lab.toml beside the plan, else this machine alone.
    lab: Option<PathBuf>,
    /// The testbed, instead of the plan's.
    testbed: Option<TestbedName>,
    /// Benchmarks of the plan that are measured of as many versions as the budget allows; all of them unless said.
    #[serde(default)]
    sentinel: Vec<Located<BenchmarkName>>,
    /// How often each cell is measured of a version; the plan's rounds unless said.
    rounds: Option<NonZeroU32>,
    /// The same of the sentinel; as `rounds` unless said.
    sentinel_rounds: Option<NonZeroU32>,
    /// Machine time of a day (UTC): builds, boots and trials together.
    budget: Located<Time>,
    /// The oldest version that counts: a version, a commit, a tag or a date. The newest when the job began unless said.
    since: Option<String>,
    /// When it looks for new versions: every so often, `5m`, or at the times of a line of crontab, `30 22 * * 1-5`; every 5 minutes
    /// unless said.
    look: Option<Located<String>>,
}

/// The standing jobs of a file.
#[derive(Debug, Clone)]
pub struct WatchConfig {
    /// The jobs by their names; at least one.
    pub jobs: IndexMap<String, JobConfig>,
}

/// What a file says of a standing job.
#[derive(Debug, Clone)]
pub struct JobConfig {
    /// The target: its file or its name. A file that is named is found from the folder of `watch.toml`.
    pub target: String,
    /// The plan's file.
    pub plan: PathBuf,
    /// The lab's file.
    pub lab: Option<PathBuf>,
    /// The testbed, instead of the plan's.
    pub testbed: Option<TestbedName>,
    /// Benchmarks of the sentinel; all of the plan if empty.
    pub sentinel: Vec<Located<BenchmarkName>>,
    /// Trials of each cell of a version, instead of the plan's rounds.
    pub rounds: Option<NonZeroU32>,
    /// Trials of each cell of the sentinel, instead of those.
    pub sentinel_rounds: Option<NonZeroU32>,
    /// Machine time of a day.
    pub budget: Duration,
    /// The oldest version that counts.
    pub since: Option<String>,
    /// When it looks for new versions.
    pub look: LookTimes,
}

impl WatchConfig {
    /// The jobs in the file at this path.
    ///
    /// # Errors
    /// It can't be read, or as [`WatchConfig::read`].
    pub fn open(path: &Path) -> miette::Result<(Self, TomlDocument)> {
        let document = TomlDocument::open(path).map_err(|error| UnreadableFileError {
            help: Some("`backsight schema watch` says what it can have".to_owned()),
            ..error
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok((Self::read(&document, folder)?, document))
    }

    /// The jobs that this document has; files are named from this folder.
    ///
    /// # Errors
    /// It isn't TOML of the right shape, or something in it can't work; the problem points at the place.
    pub fn read(document: &TomlDocument, folder: &Path) -> Result<Self, DocumentError> {
        let file: WatchFile = document.read()?;
        let place = file.job.span();
        let mut jobs = IndexMap::new();
        for (name, job) in file.job.into_inner() {
            check_name(document, &name)?;
            jobs.insert(name.into_inner(), read_job(document, job, folder)?);
        }
        match jobs.is_empty() {
            false => Ok(Self { jobs }),
            true => Err(document.problem(place, "there is no job", "[job.NAME] is one", None)),
        }
    }
}

/// Names of studies begin with it.
fn check_name(document: &TomlDocument, name: &Located<String>) -> Result<(), DocumentError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(document.problem(
            name.span(),
            "a job's name has letters, digits, `-` and `_`, and begins with a letter or a digit",
            "here",
            None,
        )),
    }
}

fn read_job(
    document: &TomlDocument,
    job: JobFile,
    folder: &Path,
) -> Result<JobConfig, DocumentError> {
    if job.budget.0.is_zero() {
        return Err(document.problem(
            job.budget.span(),
            "without machine time nothing is measured",
            "here",
            None,
        ));
    }
    let look = match &job.look {
        None => LookTimes::Every(LOOK),
        Some(text) => LookTimes::parse(text).map_err(|why| {
            document.problem(
                text.span(),
                format!("neither `5m` nor a line of crontab such as `30 22 * * 1-5`: {why}"),
                "here",
                None,
            )
        })?,
    };
    let is_file = job.target.contains('/') || job.target.ends_with(".toml");
    let target = match is_file {
        true => folder.join(&job.target).display().to_string(),
        false => job.target,
    };
    Ok(JobConfig {
        target,
        plan: folder.join(job.plan),
        lab: job.lab.map(|lab| folder.join(lab)),
        testbed: job.testbed,
        sentinel: job.sentinel,
        rounds: job.rounds,
        sentinel_rounds: job.sentinel_rounds,
        budget: job.budget.0,
        since: job.since,
        look,
    })
}
