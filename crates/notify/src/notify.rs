//! Telling what hasn't been told, channel by channel. Channels don't wait for each other.

use backsight_model::TargetName;
use backsight_store::{ChannelState, Store, StoreError, ToldChange, ToldState};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use miette::IntoDiagnostic as _;
use std::collections::BTreeMap;

use crate::{
    change_matching::MatchedChanges,
    change_message::{ChangeMessage, ChangeNews, NewsKind, Picture},
    config::{NotifyChannel, NotifyConfig},
    send::send,
    send_error::SendError,
    software_change::{SoftwareChange, TargetChanges},
};

/// How long a channel is a process's before it has to ask for more: longer than a message may take.
const TAKEN_FOR: SignedDuration = SignedDuration::from_secs(120);
/// How long is waited after the first failure; twice as long after each further one.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(60);
/// The longest wait of a channel that fails.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(1);
/// The longest wait of a message that isn't taken.
const LONGEST_WAIT_OF_MESSAGE: SignedDuration = SignedDuration::from_hours(24);
/// Most charts of a message.
const MOST_PICTURES: usize = 8;
/// Hexadecimal digits of a key.
const KEY_DIGITS: usize = 32;

/// What is told, and how.
#[derive(Debug, Clone)]
pub struct NotifyOptions {
    /// By these channels; by all where none is named.
    pub channels: Vec<String>,
    /// Of these targets; of all where none is named.
    pub targets: Vec<TargetName>,
    /// The time.
    pub now: Timestamp,
    /// Only make the messages: nothing is sent, and nothing kept.
    pub dry_run: bool,
    /// Don't wait: neither for the end of quiet hours nor until a channel that failed is tried again.
    pub at_once: bool,
    /// What a channel doesn't know yet is told only where it lies between these versions, by their identities: the last without it
    /// and the first with it. Everywhere unless said.
    pub between: Option<Vec<(String, String)>>,
}

impl NotifyOptions {
    /// Whether a change of a target is one of those that are to be told.
    fn fit(&self, target: &TargetChanges, change: &SoftwareChange) -> bool {
        let Some(between) = &self.between else {
            return true;
        };
        let place = |id: &str| target.versions.iter().position(|it| it == id);
        let stretch = change.stretch;
        between.iter().any(|(after, until)| {
            let ends = place(after).zip(place(until));
            ends.is_some_and(|(after, until)| {
                after < stretch.until && stretch.after.is_none_or(|first| first < until)
            })
        })
    }
}

/// What became of a channel.
#[derive(Debug, Clone)]
pub struct ChannelReport {
    /// Its name.
    pub channel: String,
    /// The messages that were sent; of a dry run those that would be.
    pub sent: Vec<ChangeMessage>,
    /// News that weren't told now.
    pub waiting: usize,
    /// Why they wait, where nothing failed.
    pub because: Option<String>,
    /// What failed.
    pub problems: Vec<String>,
    /// When what waits may be told: the end of quiet hours, or the next try of the channel or of a message.
    pub next_try: Option<Timestamp>,
}

impl ChannelReport {
    /// Notes a time at which something may be told; the first one counts.
    fn try_at(&mut self, time: Timestamp) {
        self.next_try = Some(self.next_try.map_or(time, |known| known.min(time)));
    }
}

/// Tells what a store knows and hasn't told.
///
/// # Errors
/// A channel or a target isn't known; the store's own. That a channel fails is in its report.
pub async fn notify(
    store: &Store,
    config: &NotifyConfig,
    options: &NotifyOptions,
) -> miette::Result<Vec<ChannelReport>> {
    let targets = match &options.targets[..] {
        [] => store.targets().await.into_diagnostic()?,
        named => named.to_vec(),
    };
    let mut changes = Vec::new();
    for target in &targets {
        changes.push(TargetChanges::from_store(store, target, options.now).await?);
    }
    notify_of(store, config, options, &changes).await
}

/// Tells these changes, as far as they haven't been told.
///
/// # Errors
/// As [`notify`].
pub async fn notify_of(
    store: &Store,
    config: &NotifyConfig,
    options: &NotifyOptions,
    changes: &[TargetChanges],
) -> miette::Result<Vec<ChannelReport>> {
    config.check_channels(&options.channels)?;
    let is_asked = |name: &String| options.channels.is_empty() || options.channels.contains(name);
    let channels = config.channels.iter().filter(|(name, _)| is_asked(name));
    let telling = channels.map(|(name, channel)| {
        let teller = Teller {
            store,
            config,
            options,
            name,
            channel,
        };
        async move { teller.tell(changes).await }
    });
    let reports = join_all(telling).await;
    reports
        .into_iter()
        .collect::<Result<_, _>>()
        .into_diagnostic()
}

/// Who tells by one channel.
struct Teller<'a> {
    store: &'a Store,
    config: &'a NotifyConfig,
    options: &'a NotifyOptions,
    name: &'a str,
    channel: &'a NotifyChannel,
}

/// Something that is to be told.
struct News<'a> {
    /// What the channel knows of it; of something new what it will know.
    told: ToldChange,
    news: ChangeNews,
    /// Where its chart comes from.
    picture: Option<(&'a TargetChanges, usize)>,
}

impl News<'_> {
    fn state(&self) -> ToldState {
        match self.news.kind {
            NewsKind::Over => ToldState::Over,
            NewsKind::New | NewsKind::Again => ToldState::Open,
        }
    }
}

impl Teller<'_> {
    async fn tell(&self, changes: &[TargetChanges]) -> Result<ChannelReport, StoreError> {
        let mut report = ChannelReport {
            channel: self.name.to_owned(),
            sent: Vec::new(),
            waiting: 0,
            because: None,
            problems: Vec::new(),
            next_try: None,
        };
        let mut state = self.store.channel_state(self.name).await?;
        let now = self.options.now;
        if let Some(until) = state
            .taken_until
            .filter(|until| *until > now && !self.options.dry_run)
        {
            report.because = Some(format!(
                "another process tells by it, until {until} at the latest"
            ));
            report.try_at(until);
            return Ok(report);
        }
        if !self.options.dry_run
            && !self
                .store
                .take_channel(self.name, &mut state, now + TAKEN_FOR)
                .await?
        {
            report.because = Some("another process tells by it".to_owned());
            return Ok(report);
        }
        let told = self.tell_taken(changes, &mut state, &mut report).await;
        if !self.options.dry_run {
            self.store.release_channel(self.name, &state).await?;
        }
        told.map(|()| report)
    }

    /// The same of a channel that is ours.
    async fn tell_taken(
        &self,
        changes: &[TargetChanges],
        state: &mut ChannelState,
        report: &mut ChannelReport,
    ) -> Result<(), StoreError> {
        let mut news = Vec::new();
        for target in changes {
            self.gather(target, &mut news, report).await?;
        }
        report.waiting = news.len();
        if news.is_empty() {
            state.held_since = None;
            return Ok(());
        }
        let (now, is_patient) = (self.options.now, !self.options.at_once);
        let quiet = self
            .config
            .quiet_hours
            .as_ref()
            .filter(|_| self.channel.is_quiet);
        if let Some(end) = quiet
            .and_then(|quiet| quiet.end(now))
            .filter(|_| is_patient)
        {
            state.held_since = state.held_since.or(Some(now));
            report.because = Some(format!("quiet until {}", end.strftime("%Y-%m-%d %H:%M %Z")));
            report.try_at(end.timestamp());
            if !self.options.dry_run {
                return Ok(());
            }
        }
        if let Some(next) = state.next_try.filter(|next| *next > now && is_patient) {
            let why = state.problem.as_deref().unwrap_or("it failed");
            report.problems.push(format!(
                "{why}; tried again after {next}, with --now at once"
            ));
            report.try_at(next);
            if !self.options.dry_run {
                return Ok(());
            }
        }
        for messages in self.messages(news, state.held_since.is_some()) {
            let (message, news) = messages;
            if self.options.dry_run {
                report.waiting -= news.len();
                report.sent.push(message);
                continue;
            }
            // Whoever took the channel meanwhile took us for dead.
            let until = Timestamp::now().max(now) + TAKEN_FOR;
            if !self.store.take_channel(self.name, state, until).await? {
                report.because = Some("another process tells by it".to_owned());
                return Ok(());
            }
            for it in &news {
                self.store
                    .record_saying(&it.told, it.state(), &message.key)
                    .await?;
            }
            let sent = send(self.channel, &self.config.folder, &message).await;
            tracing::info!(channel = self.name, key = message.key, "sent: {sent:?}");
            match sent {
                Ok(()) => {
                    self.store.record_told(self.name, &message.key, now).await?;
                    *state = ChannelState {
                        failures: 0,
                        next_try: None,
                        problem: None,
                        ..state.clone()
                    };
                    report.waiting -= news.len();
                    report.sent.push(message);
                }
                Err(SendError::Message(problem)) => {
                    let attempts = news.iter().filter_map(|it| it.told.saying.as_ref());
                    let attempts = attempts.map(|saying| saying.attempts).max().unwrap_or(0);
                    let next = now + wait(attempts + 1, LONGEST_WAIT_OF_MESSAGE);
                    self.store
                        .record_untold(self.name, &message.key, &problem, Some(next))
                        .await?;
                    report.try_at(next);
                    report
                        .problems
                        .push(format!("{}: {problem}", message.subject()));
                }
                Err(SendError::Channel(problem)) => {
                    self.store
                        .record_untold(self.name, &message.key, &problem, None)
                        .await?;
                    state.failures = state.failures.saturating_add(1);
                    let next = now + wait(state.failures, LONGEST_WAIT);
                    state.next_try = Some(next);
                    report.try_at(next);
                    state.problem = Some(problem.clone());
                    report.problems.push(problem);
                    return Ok(());
                }
            }
        }
        state.held_since = None;
        Ok(())
    }

    /// What there is to tell of a target.
    async fn gather<'a>(
        &self,
        target: &'a TargetChanges,
        news: &mut Vec<News<'a>>,
        report: &mut ChannelReport,
    ) -> Result<(), StoreError> {
        let rows = self.store.told_changes(self.name, &target.target).await?;
        let matched = MatchedChanges::new(target, &rows);
        for (number, (change, told)) in target.changes.iter().zip(&matched.told).enumerate() {
            let picture = Some((target, number));
            match told {
                Some(told) => {
                    self.gather_known(change.clone(), told, picture, (news, report))
                        .await?
                }
                None if change.state.is_open()
                    && self.channel.rules.fit(change)
                    && self.options.fit(target, change) =>
                {
                    let told = self.first_told(change, &rows);
                    news.push(self.news(NewsKind::New, change.clone(), told, picture));
                }
                None => {}
            }
        }
        for (told, stretch) in matched.gone {
            let change = SoftwareChange::withdrawn(told, stretch);
            self.gather_known(change, told, None, (news, report))
                .await?;
        }
        Ok(())
    }

    /// What there is to tell of a change that the channel may know.
    async fn gather_known<'a>(
        &self,
        change: SoftwareChange,
        told: &ToldChange,
        picture: Option<(&'a TargetChanges, usize)>,
        (news, report): (&mut Vec<News<'a>>, &mut ChannelReport),
    ) -> Result<(), StoreError> {
        let is_open = change.state.is_open();
        // Of what was being said when somebody died nobody knows whether it arrived: it is said again where it still holds,
        // and taken for told where it doesn't.
        let perhaps = told
            .saying
            .as_ref()
            .filter(|saying| saying.problem.is_none());
        let known = perhaps.map(|saying| saying.state).or(told.state);
        let wanted = if is_open {
            ToldState::Open
        } else {
            ToldState::Over
        };
        let is_pending = told
            .saying
            .as_ref()
            .is_some_and(|saying| saying.state == wanted);
        let kind = match (wanted, told.state) {
            (ToldState::Over, _) => NewsKind::Over,
            (ToldState::Open, Some(ToldState::Over)) => NewsKind::Again,
            (ToldState::Open, _) => NewsKind::New,
        };
        if is_pending {
            let next = told.saying.as_ref().and_then(|saying| saying.next_try);
            match next.filter(|next| *next > self.options.now && !self.options.at_once) {
                Some(next) => report.try_at(next),
                None => news.push(self.news(kind, change, told.clone(), picture)),
            }
            return Ok(());
        }
        let is_news = match (wanted, known) {
            (ToldState::Open, None | Some(ToldState::Over)) => self.channel.rules.fit(&change),
            (ToldState::Over, Some(ToldState::Open)) => true,
            (ToldState::Open, Some(ToldState::Open))
            | (ToldState::Over, None | Some(ToldState::Over)) => false,
        };
        if is_news {
            let told = ToldChange {
                state: known,
                saying: None,
                ..told.clone()
            };
            news.push(self.news(kind, change, told, picture));
        } else if told.saying.is_some() && !self.options.dry_run {
            // It never arrived, and doesn't hold any more.
            self.store.forget_saying(&told.thread).await?;
        }
        Ok(())
    }

    /// What the channel will know of a change that is told first.
    fn first_told(&self, change: &SoftwareChange, rows: &[ToldChange]) -> ToldChange {
        let earlier = rows
            .iter()
            .filter(|row| row.version == change.version)
            .count();
        let earlier = earlier.to_string();
        ToldChange {
            thread: key(&[
                "change",
                self.name,
                change.target.as_str(),
                &change.version,
                &earlier,
            ]),
            channel: self.name.to_owned(),
            target: change.target.clone(),
            version: change.version.clone(),
            name: change.name.clone(),
            after: change.after.as_ref().map(|(id, _)| id.clone()),
            until: change.until.0.clone(),
            state: None,
            message: None,
            told: None,
            messages: 0,
            saying: None,
        }
    }

    fn news<'a>(
        &self,
        kind: NewsKind,
        change: SoftwareChange,
        told: ToldChange,
        picture: Option<(&'a TargetChanges, usize)>,
    ) -> News<'a> {
        let link = self.config.site.as_ref().zip(change.page.as_ref());
        News {
            news: ChangeNews {
                kind,
                link: link.map(|(site, page)| format!("{site}{page}")),
                thread: told.thread.clone(),
                change,
            },
            told,
            picture,
        }
    }

    /// The messages: those that were being sent as they were, then one for each change, or one for all.
    fn messages<'a>(
        &self,
        news: Vec<News<'a>>,
        was_held: bool,
    ) -> Vec<(ChangeMessage, Vec<News<'a>>)> {
        let mut begun: BTreeMap<String, Vec<News<'a>>> = BTreeMap::new();
        let mut rest = Vec::new();
        for it in news {
            match it.told.saying.as_ref().map(|saying| saying.message.clone()) {
                Some(message) => begun.entry(message).or_default().push(it),
                None => rest.push(it),
            }
        }
        let most = self
            .channel
            .at_once
            .map(|most| if was_held { 1 } else { most });
        let groups: Vec<Vec<News<'a>>> = match most {
            Some(most) if rest.len() > most => vec![rest],
            _ => rest.into_iter().map(|it| vec![it]).collect(),
        };
        let keyed = groups.into_iter().map(|group| (group_key(&group), group));
        let all = begun.into_iter().chain(keyed);
        all.map(|(key, group)| (message(key, &group), group))
            .collect()
    }
}

/// The key of a message about this: the same whoever makes it, and another one for each thing that is said of a change.
fn group_key(group: &[News<'_>]) -> String {
    let parts = group.iter().flat_map(|it| {
        [
            it.told.thread.clone(),
            it.told.messages.to_string(),
            it.state().to_string(),
        ]
    });
    let parts: Vec<String> = parts.collect();
    key(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn message(key: String, group: &[News<'_>]) -> ChangeMessage {
    let shown = group.iter().filter(|it| it.news.kind != NewsKind::Over);
    let pictures = shown.filter_map(|it| {
        let (changes, number) = it.picture?;
        let name = format!(
            "{}-{}.svg",
            file_part(changes.target.as_str()),
            file_part(&it.news.change.name)
        );
        Some(Picture {
            name,
            svg: changes.picture(number)?,
        })
    });
    let before = match group {
        [only] => only.told.message.clone(),
        _ => None,
    };
    ChangeMessage {
        key,
        in_reply_to: before,
        news: group.iter().map(|it| it.news.clone()).collect(),
        pictures: pictures.take(MOST_PICTURES).collect(),
    }
}

/// What of a name may stand in a file's name.
fn file_part(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') {
            c
        } else {
            '-'
        }
    };
    name.chars().take(40).map(plain).collect()
}

/// What stands for these parts.
fn key(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut digits = hasher.finalize().to_hex().to_string();
    digits.truncate(KEY_DIGITS);
    digits
}

/// How long is waited after so many failures.
fn wait(failures: u32, longest: SignedDuration) -> SignedDuration {
    let doublings = failures.saturating_sub(1).min(16);
    (FIRST_WAIT * (1 << doublings)).min(longest)
}
