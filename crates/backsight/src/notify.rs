//! `backsight notify`: tells people of changes, by the channels of notify.toml.

use backsight_model::TargetName;
use backsight_notify::{
    ChannelReport, NOTIFY_FILE, NotifyConfig, NotifyOptions, VerdictComment, VerdictState,
    comment_verdict, notify,
};
use backsight_policy::TrySideOutcome;
use backsight_report::{Document, Format, TerminalStyle, escape};
use backsight_site::study_page;
use backsight_store::Store;
use backsight_study::{VerdictReport, find_target, no_history};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::{path::PathBuf, process::ExitCode};

use crate::{common_options::CommonOptions, exit_status::ExitStatus, files};

/// Arguments of `notify`.
#[derive(Debug, clap::Args)]
pub struct NotifyArgs {
    /// Only of these targets; of all unless named
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Print the messages that would be sent, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// Only by this channel; may be repeated
    #[arg(long = "channel", value_name = "NAME")]
    channels: Vec<String>,
    /// Don't wait for the end of quiet hours, nor until a channel that failed is tried again
    #[arg(long)]
    now: bool,
    /// The channels; else `notify.toml` in the store's folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Say the verdict of this study on a pull request, in one comment that is updated, in place of telling of changes
    #[arg(
        long,
        value_name = "STUDY",
        requires = "pull_request",
        requires = "channels",
        conflicts_with_all = ["targets", "now"]
    )]
    study: Option<String>,
    /// The number of the pull request
    #[arg(long, value_name = "NUMBER", requires = "study", value_parser = clap::value_parser!(u64).range(1..))]
    pull_request: Option<u64>,
    /// The commit that gets a status
    #[arg(long, value_name = "HASH", requires = "study", value_parser = commit_hash)]
    commit: Option<String>,
}

impl NotifyArgs {
    /// Tells what hasn't been told.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let own = files::store_folder(shared)?.join(NOTIFY_FILE);
        let file = match &self.config {
            Some(file) => file.clone(),
            None if own.exists() => own,
            None => {
                return Err(miette::miette!(
                    help = "docs/how-to/tell-people.md says how, `backsight schema notify` what it can have",
                    "nobody is to be told: there is no {}",
                    own.display()
                ));
            }
        };
        let config = NotifyConfig::open(&file)?;
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let failed = match &self.study {
                Some(study) => self.say_verdict(&store, &config, study).await?,
                None => self.tell(&store, &config).await?,
            };
            store.close().await;
            Ok(ExitStatus::failed_if(failed))
        })
    }

    /// Tells of changes; whether a channel failed.
    async fn tell(&self, store: &Store, config: &NotifyConfig) -> miette::Result<bool> {
        let mut targets: Vec<TargetName> = Vec::new();
        for asked in &self.targets {
            targets.push(find_target(store, Some(asked)).await?);
        }
        if store.targets().await.into_diagnostic()?.is_empty() {
            return Err(no_history());
        }
        let options = NotifyOptions {
            channels: self.channels.clone(),
            targets,
            now: Timestamp::now(),
            dry_run: self.dry_run,
            at_once: self.now,
            between: None,
        };
        let reports = notify(store, config, &options).await?;
        for report in &reports {
            print_report(report, self.dry_run)?;
        }
        Ok(reports.iter().any(|report| !report.problems.is_empty()))
    }

    /// Says a verdict on a pull request; whether a channel failed.
    async fn say_verdict(
        &self,
        store: &Store,
        config: &NotifyConfig,
        study: &str,
    ) -> miette::Result<bool> {
        config.check_channels(&self.channels)?;
        let study = store.study(study).await.into_diagnostic()?;
        let verdict = VerdictReport::from_store(store, &study).await?;
        let style = TerminalStyle::default();
        let markdown = backsight_server::render(&verdict, Format::Markdown, &style, false)?;
        let state = match &verdict {
            VerdictReport::Try(report) => match report.verdict.overall() {
                TrySideOutcome::Worse | TrySideOutcome::Dead => Some(VerdictState::Bad),
                TrySideOutcome::Undecided => Some(VerdictState::Undecided),
                TrySideOutcome::Better | TrySideOutcome::Equal => Some(VerdictState::Good),
            },
            _ => None,
        };
        if self.commit.is_some() && state.is_none() {
            return Err(miette::miette!(
                help = "leave out --commit",
                "only the verdict of `try` is a status of a commit, and {} isn't one",
                study.name
            ));
        }
        // A status is plain text.
        let document = match &verdict {
            VerdictReport::Try(report) => report.study().document(),
            _ => Document::default(),
        };
        let headline = document.sentences.first();
        let headline = headline.map_or_else(String::new, |first| escape::line(&first.text));
        let subject = study
            .target
            .as_ref()
            .map_or(study.name.as_str(), TargetName::as_str);
        let comment = VerdictComment {
            subject: format!("{} {subject}", study.verb),
            request: self.pull_request.unwrap_or_default(),
            commit: self.commit.clone(),
            state: state.unwrap_or(VerdictState::Undecided),
            summary: headline,
            markdown,
            link: (config.site.as_ref())
                .map(|site| format!("{site}{}", study_page(study.name.as_str()))),
        };
        if self.dry_run {
            files::print(&comment.markdown)?;
            return Ok(false);
        }
        let mut failed = false;
        for channel in &self.channels {
            match comment_verdict(config, channel, &comment).await {
                Ok(()) => files::print(&format!("{channel} got the verdict of {}\n", study.name))?,
                Err(error) => {
                    files::print_note(&format!("{}: {error}", escape::line(channel)));
                    failed = true;
                }
            }
        }
        Ok(failed)
    }
}

/// Prints what became of a channel.
pub fn print_report(report: &ChannelReport, is_dry_run: bool) -> miette::Result<()> {
    let name = &report.channel;
    for message in &report.sent {
        match is_dry_run {
            true => files::print(&format!(
                "{name} would get: {}\n\n{}\n",
                message.subject(),
                message.text()
            ))?,
            false => files::print(&format!("{name} got: {}\n", message.subject()))?,
        }
    }
    match (&report.because, report.waiting) {
        (Some(why), 0) => files::print(&format!("{name}: {why}\n"))?,
        (Some(why), waiting) => files::print(&format!("{name}: {waiting} to tell, {why}\n"))?,
        (None, 0) if report.sent.is_empty() => files::print(&format!("{name}: nothing new\n"))?,
        _ => {}
    }
    for problem in &report.problems {
        files::print_note(&format!("{name}: {problem}"));
    }
    Ok(())
}

/// Reads the hash of a commit.
fn commit_hash(text: &str) -> Result<String, String> {
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit());
    match is_hash {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("expected a whole hash of 40 or 64 hexadecimal digits".to_owned()),
    }
}
