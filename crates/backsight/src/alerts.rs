//! `backsight alerts` and `backsight triage`: what moved at which version, the worst first, and what people found out about it.

use backsight_model::TriageState;
use backsight_policy::{Alert, AlertState};
use backsight_report::{
    alerts::{AlertsView, alerts_table},
    escape,
};
use backsight_study::{AlertStatement, KnownAlerts, find_target, no_history, triage_alert};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{
    common_options::CommonOptions,
    files,
    user_name::user_name,
    value_parsers::{NamedValues, one_of},
};

/// Values of `--state`.
const STATES: &NamedValues<AlertState> = &[
    ("new", AlertState::New, "Nobody has said anything of it"),
    (
        "investigating",
        AlertState::Investigating,
        "Somebody looks into it",
    ),
    (
        "confirmed",
        AlertState::Confirmed,
        "The software did change",
    ),
    (
        "accepted",
        AlertState::Accepted,
        "All of it is accepted: see `backsight accept`",
    ),
    (
        "fixed",
        AlertState::Fixed,
        "Somebody said so; or nobody said anything, and the level from before came back",
    ),
    (
        "invalid",
        AlertState::Invalid,
        "The software didn't change: noise, a machine, the benchmark",
    ),
];

/// Arguments of `alerts`.
#[derive(Debug, clap::Args)]
pub struct AlertsArgs {
    /// Only of this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Only those in this state; may be several, with commas
    #[arg(long = "state", value_name = "STATE", value_delimiter = ',', value_parser = one_of(STATES))]
    states: Vec<AlertState>,
    /// Print them as JSON, with all that moved
    #[arg(long)]
    json: bool,
}

impl AlertsArgs {
    /// Lists them.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let targets = match &self.target {
                Some(asked) => vec![find_target(&store, Some(asked)).await?],
                None => store.targets().await.into_diagnostic()?,
            };
            if targets.is_empty() {
                return Err(no_history());
            }
            let now = Timestamp::now();
            let mut known = Vec::new();
            for target in &targets {
                let of_target = KnownAlerts::from_store(&store, target, now).await?;
                (of_target.known.left_out.iter()).for_each(|why| files::print_note(why));
                known.push((target, of_target));
            }
            let is_asked =
                |alert: &Alert| self.states.is_empty() || self.states.contains(&alert.state());
            let alerts = AlertsView::new(known.iter().flat_map(|(target, known)| {
                let history = &known.known.history;
                let alerts = known.alerts.iter().filter(|alert| is_asked(alert));
                alerts.map(move |alert| (target.as_str(), history, Some(&known.tests), alert))
            }));
            files::print(&match self.json {
                true => backsight_report::json(&alerts).into_diagnostic()?,
                false => alerts_table(&alerts.alerts, files::width()),
            })?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Arguments of `triage`.
#[derive(Debug, clap::Args)]
pub struct TriageArgs {
    /// The target
    target: String,
    /// The version that names the alert, or another that it may lie at: a version, a commit, a tag or a date, HEAD~2
    version: String,
    /// How it stands: investigating, confirmed, fixed or invalid
    #[arg(value_parser = triage_state)]
    state: TriageState,
    /// Why, or what comes next
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// The version that it lies at, where you know better: one of those that it may lie at
    #[arg(long, value_name = "VERSION")]
    at: Option<String>,
    /// Who says it; else the user's name
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl TriageArgs {
    /// Keeps it.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let target = find_target(&store, Some(&self.target)).await?;
            let said = AlertStatement {
                version: self.version,
                state: self.state,
                note: self.note,
                lies_at: self.at,
                by: user_name(self.by.as_deref())?,
            };
            let triage = triage_alert(&store, &target, said).await?;
            files::print(&format!(
                "{} of {} is {}, says {}\n",
                escape::line(&triage.name),
                triage.target,
                triage.state,
                escape::line(&triage.by)
            ))?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Reads a state that somebody says.
fn triage_state(word: &str) -> Result<TriageState, String> {
    match word {
        "accepted" => {
            Err("`backsight accept` accepts a change, with its reason and until when".to_owned())
        }
        word => word.parse().map_err(|unknown| {
            let states = TriageState::ALL.map(TriageState::as_str).join(", ");
            format!("{unknown}: there are {states}")
        }),
    }
}
