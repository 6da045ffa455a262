//! What may be asked of a server by who may: the bodies of requests, and what is done.

use backsight_model::{JobRequest, TriageState, shell_line};
use backsight_policy::AlertState;
use backsight_site::MeasureRequest;
use backsight_study::{
    AcceptanceStatement, AlertStatement, AnnotationStatement, accept_change, annotate_version,
    find_target, job_needs_of_study, triage_alert, withdraw_from_slurm,
};
use miette::IntoDiagnostic as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::LiveSite;

/// Longest name of who says something, in characters.
const LONGEST_NAME: usize = 200;

/// Something that is asked.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ControlRequest {
    /// How an alert stands.
    Triage(TriageRequest),
    /// A note beside a version.
    Annotate(AnnotateRequest),
    /// More measurements.
    Queue(QueueRequest),
    /// That a job isn't wanted any more.
    Cancel(CancelRequest),
}

/// How an alert stands, as somebody says.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriageRequest {
    /// The target.
    target: String,
    /// The version that names the alert, or another that it may lie at.
    version: String,
    /// `investigating`, `confirmed`, `accepted`, `fixed` or `invalid`.
    state: String,
    /// Why, or what comes next; `accepted` wants it.
    #[serde(default)]
    note: Option<String>,
    /// The version that it lies at, where who says it knows better.
    #[serde(default)]
    at: Option<String>,
    /// Who says it; left out where the token says that.
    #[serde(default)]
    by: String,
}

/// A note beside a version.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnnotateRequest {
    /// The target.
    target: String,
    /// The version.
    version: String,
    /// What there is to know.
    note: String,
    /// Who says it; left out where the token says that.
    #[serde(default)]
    by: String,
}

/// What is to be measured: `step` or `bisect`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueRequest {
    /// The target.
    target: String,
    /// All versions of a series between two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<StepRequest>,
    /// The versions that an alert may lie at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bisect: Option<BisectRequest>,
    /// Of the jobs that wait the greatest comes first.
    #[serde(default)]
    priority: i64,
    /// Who asks; left out where the token says that.
    #[serde(default)]
    by: String,
}

/// All versions of a series between two, these included.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// The series, as its page's address names it.
    series: String,
    /// The oldest version.
    from: String,
    /// The newest version.
    to: String,
}

/// The versions that an alert may lie at.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BisectRequest {
    /// One of them.
    version: String,
}

/// A job that isn't wanted any more.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    /// Its number.
    job: i64,
    /// Who says it; left out where the token says that.
    #[serde(default)]
    by: String,
}

impl ControlRequest {
    /// Who says it.
    pub fn by(&self) -> &str {
        match self {
            Self::Triage(asked) => &asked.by,
            Self::Annotate(asked) => &asked.by,
            Self::Queue(asked) => &asked.by,
            Self::Cancel(asked) => &asked.by,
        }
    }

    /// The same, said by this person if it is known who asks, whatever name it has.
    ///
    /// # Errors
    /// Nobody says who asks.
    pub fn said_by(mut self, person: Option<&str>) -> Result<Self, String> {
        if let Some(person) = person {
            let by = match &mut self {
                Self::Triage(asked) => &mut asked.by,
                Self::Annotate(asked) => &mut asked.by,
                Self::Queue(asked) => &mut asked.by,
                Self::Cancel(asked) => &mut asked.by,
            };
            person.clone_into(by);
        }
        let by = self.by().trim();
        if by.is_empty() || by.chars().count() > LONGEST_NAME {
            return Err(format!("`by` says who: 1 to {LONGEST_NAME} characters"));
        }
        Ok(self)
    }

    /// Does it; returns what was done, in a sentence.
    ///
    /// # Errors
    /// What is asked can't be done; the store's own.
    pub async fn carry_out(self, live: &LiveSite) -> miette::Result<String> {
        match self {
            Self::Triage(asked) => asked.carry_out(live).await,
            Self::Annotate(asked) => asked.carry_out(live).await,
            Self::Queue(asked) => asked.carry_out(live).await,
            Self::Cancel(asked) => asked.carry_out(live).await,
        }
    }
}

/// Reads a request of a kind.
///
/// # Errors
/// It isn't one.
pub fn read_request<T: DeserializeOwned>(
    body: &[u8],
    of_kind: fn(T) -> ControlRequest,
) -> Result<ControlRequest, String> {
    let read = serde_json::from_slice(body).map(of_kind);
    read.map_err(|why| why.to_string())
}

/// What isn't empty.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

impl TriageRequest {
    async fn carry_out(self, live: &LiveSite) -> miette::Result<String> {
        let store = live.store();
        let target = find_target(store, Some(&self.target)).await?;
        let (note, by) = (given(self.note), self.by.trim().to_owned());
        if self.state == AlertState::Accepted.as_str() {
            let said = AcceptanceStatement {
                version: self.version,
                metric: None,
                reason: note.unwrap_or_default(),
                work_around: None,
                by,
                until: None,
            };
            let (acceptance, _) = accept_change(store, &target, said).await?;
            return Ok(format!(
                "{} of {target} is accepted, says {}",
                acceptance.name, acceptance.by
            ));
        }
        let state: TriageState = self.state.parse().map_err(|why: String| {
            let states = TriageState::ALL.map(TriageState::as_str).join(", ");
            miette::miette!("{why}: there are {states}, accepted")
        })?;
        let said = AlertStatement {
            version: self.version,
            state,
            note,
            lies_at: given(self.at),
            by,
        };
        let triage = triage_alert(store, &target, said).await?;
        Ok(format!(
            "{} of {target} is {}, says {}",
            triage.name, triage.state, triage.by
        ))
    }
}

impl AnnotateRequest {
    async fn carry_out(self, live: &LiveSite) -> miette::Result<String> {
        let store = live.store();
        let target = find_target(store, Some(&self.target)).await?;
        let said = AnnotationStatement {
            version: self.version,
            text: self.note,
            by: self.by.trim().to_owned(),
        };
        let (number, note) = annotate_version(store, &target, said).await?;
        Ok(format!("note {number} stands beside {}", note.name))
    }
}

impl QueueRequest {
    async fn carry_out(self, live: &LiveSite) -> miette::Result<String> {
        let request = match (self.step, self.bisect) {
            (Some(StepRequest { series, from, to }), None) => {
                MeasureRequest::Step { series, from, to }
            }
            (None, Some(BisectRequest { version })) => MeasureRequest::Bisect { version },
            _ => {
                return Err(miette::miette!(
                    "say what is to be measured: `step` or `bisect`"
                ));
            }
        };
        let edition = live.edition();
        let arguments = edition
            .site
            .measuring_words(&self.target, &request)
            .map_err(miette::Report::msg)?;
        let line = shell_line(&arguments);
        let folder = live.store().dir().to_owned();
        let like = arguments.iter().position(|word| word == "--like");
        let like = like.and_then(|at| arguments.get(at + 1)).cloned();
        let mut asked = JobRequest::new(arguments, folder, self.by.trim().to_owned());
        asked.priority = self.priority;
        if let Some(study) = like {
            // What it measures on is found out when it is begun where it can't be read now.
            let needs = job_needs_of_study(live.store(), &study).await;
            asked.needs = needs.unwrap_or_default();
        }
        let number = live.store().add_job(&asked).await.into_diagnostic()?;
        Ok(format!("job {number} waits in the queue: backsight {line}"))
    }
}

impl CancelRequest {
    async fn carry_out(self, live: &LiveSite) -> miette::Result<String> {
        let (number, by) = (self.job, self.by.trim());
        let why = format!("cancelled by {by}");
        let before = live.store().job(number).await.into_diagnostic()?;
        let cancelled = live.store().cancel_job(number, &why).await;
        match (cancelled.into_diagnostic()?, before) {
            (true, before) => {
                let withdrawn = match &before {
                    Some(before) => withdraw_from_slurm(live.store(), before).await,
                    None => Ok(()),
                };
                // Where this machine has no Slurm, its worker ends as soon as it is begun.
                Ok(match withdrawn {
                    Ok(()) => format!("job {number} is cancelled, says {by}"),
                    Err(error) => format!(
                        "job {number} is cancelled, says {by}; in Slurm it will end when it is begun: {error}"
                    ),
                })
            }
            (false, _) => Err(miette::miette!("no job {number} waits or runs")),
        }
    }
}
