//! `backsight accept`: marks a change as known. It stays in the history and raises no alarm.
//!
//! A version is named as for `bisect`: by its name, its identity, or whatever the target's history resolves, as `HEAD~2`.

use backsight_model::TargetName;
use backsight_report::{
    acceptances::{acceptance_effect, acceptances_table},
    escape,
};
use backsight_store::Store;
use backsight_study::{
    AcceptanceStatement, accept_change, find_target, find_version, known_versions, no_history,
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{common_options::CommonOptions, files, user_name::user_name};

/// Arguments of `accept`.
#[derive(Debug, clap::Args)]
pub struct AcceptArgs {
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

impl AcceptArgs {
    /// Keeps it, withdraws it, or lists what there is.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            if self.list && self.target.is_none() {
                return self
                    .print(&store, store.targets().await.into_diagnostic()?)
                    .await;
            }
            let target = find_target(&store, self.target.as_deref()).await?;
            if let Some(version) = &self.version {
                match self.withdraw {
                    true => self.withdraw(&store, &target, version).await?,
                    false => {
                        let said = self.statement(version)?;
                        let (acceptance, history) = accept_change(&store, &target, said).await?;
                        files::print_note(&acceptance_effect(&history, &acceptance));
                    }
                }
            }
            self.print(&store, vec![target]).await
        })
    }

    /// Prints what was accepted of these targets.
    async fn print(&self, store: &Store, targets: Vec<TargetName>) -> miette::Result<ExitCode> {
        if targets.is_empty() {
            return Err(no_history());
        }
        let (mut all, mut text) = (Vec::new(), Vec::new());
        for target in targets {
            let accepted = store.acceptances(&target).await.into_diagnostic()?;
            text.push(acceptances_table(
                &target,
                &accepted,
                Timestamp::now(),
                files::width(),
            ));
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

    fn statement(&self, version: &str) -> miette::Result<AcceptanceStatement> {
        let until = match self.until {
            Some(date) => Some(
                date.to_zoned(TimeZone::system())
                    .into_diagnostic()?
                    .timestamp(),
            ),
            None => None,
        };
        Ok(AcceptanceStatement {
            version: version.to_owned(),
            metric: self.metric.clone(),
            reason: self.reason.clone().unwrap_or_default(),
            work_around: self.work_around.clone(),
            by: user_name(self.by.as_deref())?,
            until,
        })
    }

    async fn withdraw(
        &self,
        store: &Store,
        target: &TargetName,
        version: &str,
    ) -> miette::Result<()> {
        let known = known_versions(store, target).await?;
        let (id, name) = find_version(store, target, &known, version).await?;
        let metric = self.metric.as_deref();
        let gone = store
            .withdraw(target, &id, metric)
            .await
            .into_diagnostic()?;
        if !gone {
            return Err(miette::miette!(
                help = "`backsight accept --list` shows what was accepted, with its metric where it is about one",
                "nothing was accepted of {}{}",
                escape::line(&name),
                metric.map_or_else(String::new, |metric| format!(
                    " by {}",
                    escape::line(metric)
                ))
            ));
        }
        Ok(())
    }
}
