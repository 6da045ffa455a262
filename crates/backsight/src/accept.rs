//! `backsight accept`: marks a change as known. It stays in the history and raises no alarm.
//!
//! A version is named as for `bisect`: by its name, its identity, or whatever the target's history resolves, as `HEAD~2`.

use backsight_model::{Acceptance, TargetName, Version, did_you_mean};
use backsight_policy::{TargetHistory, history};
use backsight_report::escape;
use backsight_store::Store;
use backsight_study::{OpenTarget, resolve_version};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{cli::Shared, files, history as verb, list::table};

/// Fewer characters of an identity don't name a version.
const SHORTEST: usize = 7;

/// Arguments of `accept`.
#[derive(Debug, clap::Args)]
pub struct Accept {
    /// The version that made the change: a version, a commit, a tag or a date, HEAD~2
    #[arg(value_name = "VERSION", required_unless_present = "list")]
    version: Option<String>,
    /// List what was accepted, of every target unless one is named
    #[arg(long, conflicts_with_all = ["version", "reason", "work_around", "until", "withdraw", "metric"])]
    list: bool,
    /// Which target; needed if the store has several
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Only by this metric: `throughput` or `tbench.throughput`
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Why it is accepted
    #[arg(long, value_name = "TEXT", required_unless_present_any = ["list", "withdraw"])]
    reason: Option<String>,
    /// What those do who can't live with it
    #[arg(long, value_name = "TEXT")]
    work_around: Option<String>,
    /// Who accepts it; else the user's name
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// Until when, that day excluded: 2030-01-31; for ever unless said
    #[arg(long, value_name = "DATE")]
    until: Option<Date>,
    /// It isn't accepted any longer
    #[arg(long, conflicts_with_all = ["reason", "work_around", "until", "by"])]
    withdraw: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

impl Accept {
    /// Keeps it, withdraws it, or lists what there is.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            if self.list && self.target.is_none() {
                return self
                    .print(&store, store.targets().await.into_diagnostic()?)
                    .await;
            }
            let target = verb::target(&store, self.target.as_deref()).await?;
            if let Some(version) = &self.version {
                let studies = store.target_history(&target).await.into_diagnostic()?;
                let mut history = history(&studies);
                let (id, name) = version_of(&store, &target, &history, version).await?;
                if self.withdraw {
                    self.withdraw(&store, &target, (&id, &name)).await?;
                } else {
                    let acceptance = self.acceptance(&target, &history, (id, name))?;
                    store.accept(&acceptance).await.into_diagnostic()?;
                    history.accept(std::slice::from_ref(&acceptance), acceptance.at);
                    files::say(&effect(&history, &acceptance));
                }
            }
            self.print(&store, vec![target]).await
        })
    }

    /// Prints what was accepted of these targets.
    async fn print(&self, store: &Store, targets: Vec<TargetName>) -> miette::Result<ExitCode> {
        if targets.is_empty() {
            return Err(verb::no_history());
        }
        let (mut all, mut text) = (Vec::new(), Vec::new());
        for target in targets {
            let accepted = store.acceptances(&target).await.into_diagnostic()?;
            text.push(listed(&target, &accepted, Timestamp::now()));
            all.extend(accepted);
        }
        files::print(&match self.json {
            true => format!(
                "{}\n",
                serde_json::to_string_pretty(&all).into_diagnostic()?
            ),
            false => text.join("\n"),
        })?;
        Ok(ExitCode::SUCCESS)
    }

    fn acceptance(
        &self,
        target: &TargetName,
        history: &TargetHistory,
        (version, name): (String, String),
    ) -> miette::Result<Acceptance> {
        let reason = self.reason.as_deref().unwrap_or_default().trim();
        if reason.is_empty() {
            return Err(miette::miette!(
                help = "say it in a sentence: --reason \"spilling is what makes it safe\"",
                "the reason is empty"
            ));
        }
        if let Some(metric) = &self.metric {
            verb::known_metric(metric, &history.series)?;
        }
        let at = Timestamp::now();
        let until = match self.until {
            Some(date) => Some(
                date.to_zoned(TimeZone::system())
                    .into_diagnostic()?
                    .timestamp(),
            ),
            None => None,
        };
        if until.is_some_and(|until| until <= at) {
            return Err(miette::miette!(
                help = "name a day to come; or leave out --until",
                "it would be over already"
            ));
        }
        // Neither is set in many a container and service.
        let named = || {
            let names = ["USER", "LOGNAME"].iter();
            names
                .filter_map(|name| std::env::var(name).ok())
                .find(|name| !name.is_empty())
        };
        let user = || named().or_else(user_of_system);
        let by = self.by.clone().or_else(user).ok_or_else(|| {
            miette::miette!(
                help = "--by WHO",
                "nobody knows who accepts it: this user has no name"
            )
        })?;
        Ok(Acceptance {
            target: target.clone(),
            version,
            name,
            metric: self.metric.clone(),
            reason: reason.to_owned(),
            work_around: self.work_around.clone(),
            by,
            at,
            until,
        })
    }

    async fn withdraw(
        &self,
        store: &Store,
        target: &TargetName,
        (id, name): (&str, &str),
    ) -> miette::Result<()> {
        let metric = self.metric.as_deref();
        let gone = store.withdraw(target, id, metric).await.into_diagnostic()?;
        if !gone {
            return Err(miette::miette!(
                help = "`backsight accept --list` shows what was accepted, with its metric where it is about one",
                "nothing was accepted of {}{}",
                escape::line(name),
                metric.map_or_else(String::new, |metric| format!(
                    " by {}",
                    escape::line(metric)
                ))
            ));
        }
        Ok(())
    }
}

/// The name that the system's list of users has for who runs this.
fn user_of_system() -> Option<String> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut users = users.lines().map(|line| line.split(':'));
    users.find_map(|mut user| {
        let (name, own) = (user.next()?, user.nth(1)?);
        (own == uid && !name.is_empty()).then(|| name.to_owned())
    })
}

/// Identity and name of the version that is named: as studies know it, else as the target's history resolves it.
async fn version_of(
    store: &Store,
    target: &TargetName,
    history: &TargetHistory,
    asked: &str,
) -> miette::Result<(String, String)> {
    let unknown = match known_version(history, asked) {
        Ok(known) => return Ok(known),
        Err(unknown) => unknown,
    };
    let asked = asked.to_owned();
    let resolved: Option<Version> = match OpenTarget::from_store(store, target).await {
        Ok(Some(opened)) => opened.ask(move |h| resolve_version(h, &asked)).await.ok(),
        _ => None,
    };
    let Some(version) = resolved else {
        return Err(unknown);
    };
    let mut versions = history.versions.iter().map(|known| &known.version);
    match versions.find(|known| known.id == version.id) {
        Some(known) => Ok((known.id.clone(), known.name.clone())),
        None => Err(miette::miette!(
            help = "measure it, or the stretch that it lies in, with `backsight step` or `backsight bisect`",
            "{} is a version of {target} that no study measured",
            escape::line(&version.name)
        )),
    }
}

/// The version that is named: by its name, its identity or the beginning of that.
fn known_version(history: &TargetHistory, asked: &str) -> miette::Result<(String, String)> {
    let versions = || history.versions.iter().map(|version| &version.version);
    let exactly = versions().filter(|v| v.name == asked || v.id == asked || v.full_name() == asked);
    let mut found: Vec<_> = exactly.collect();
    if found.is_empty() && asked.len() >= SHORTEST {
        found = versions().filter(|v| v.id.starts_with(asked)).collect();
    }
    match found[..] {
        [only] => Ok((only.id.clone(), only.name.clone())),
        [] => Err(miette::miette!(
            help = did_you_mean(asked, versions().map(|v| v.name.as_str())).unwrap_or_else(|| {
                "`backsight history --all` lists the versions that studies of the target know"
                    .to_owned()
            }),
            "no study of the target knows a version {}",
            escape::line(asked)
        )),
        _ => Err(miette::miette!(
            help = "name it by its whole identity",
            "{} versions are called {}",
            found.len(),
            escape::line(asked)
        )),
    }
}

/// Which changes are accepted by this.
fn effect(history: &TargetHistory, acceptance: &Acceptance) -> String {
    let changes = history.series.iter().flat_map(|series| {
        let accepted = series.believed().filter(|change| change.accepted.is_some());
        accepted.map(move |_| series.name())
    });
    let changes: Vec<String> = changes.collect();
    match &changes[..] {
        [] => format!(
            "no study has seen a change at {}: it is accepted when one does",
            escape::line(&acceptance.name)
        ),
        some => format!(
            "accepted: what {} did to {}",
            escape::line(&acceptance.name),
            escape::line(&some.join(", "))
        ),
    }
}

fn listed(target: &TargetName, all: &[Acceptance], now: Timestamp) -> String {
    if all.is_empty() {
        return format!("nothing is accepted along the history of {target}\n");
    }
    let mut rows = table(&["version", "metric", "by", "until", "reason", "work-around"]);
    for one in all {
        let until = one.until.map_or_else(|| "for ever".to_owned(), day);
        let until = match one.holds(now) {
            true => until,
            false => format!("{until}, which is over"),
        };
        rows.add_row([
            escape::line(&one.name),
            one.metric
                .as_deref()
                .map_or_else(|| "all".to_owned(), escape::line),
            escape::line(&one.by),
            until,
            escape::line(&one.reason),
            one.work_around
                .as_deref()
                .map_or_else(String::new, escape::line),
        ]);
    }
    format!("{rows}\n")
}

fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).date().to_string()
}
