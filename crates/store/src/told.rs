//! What was told of changes, channel by channel, and how the channels are.
//!
//! A message is kept as being said before it is sent, and as told after it arrived: a crash in between leads to the same message, with
//! the same key, once more. One process at a time sends on a channel: whoever takes it raises its generation, and has it until a time.

use backsight_model::TargetName;
use jiff::Timestamp;
use std::{fmt, str::FromStr};

use crate::{Store, StoreError, database::AnswerRow, query::query};

/// What a channel is told of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToldState {
    /// It is there.
    Open,
    /// It went away.
    Over,
}

impl ToldState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Over => "over",
        }
    }
}

impl fmt::Display for ToldState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ToldState {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "open" => Ok(Self::Open),
            "over" => Ok(Self::Over),
            other => Err(format!("`{other}` is nothing that is told of a change")),
        }
    }
}

/// What a channel knows of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldChange {
    /// Made of channel, target and version: the same for as long as the change is.
    pub thread: String,
    /// The channel.
    pub channel: String,
    /// The target along whose history it lies.
    pub target: TargetName,
    /// The identity of the version that named it when it was told first.
    pub version: String,
    /// That version's name.
    pub name: String,
    /// The identity of the last version that was known to be before it.
    pub after: Option<String>,
    /// The identity of the first version that was known to be after it.
    pub until: String,
    /// What the channel was told last; nothing where nothing has arrived.
    pub state: Option<ToldState>,
    /// The key of the message that arrived last.
    pub message: Option<String>,
    /// When that was.
    pub told: Option<Timestamp>,
    /// Messages that arrived.
    pub messages: u32,
    /// What is being said.
    pub saying: Option<PendingNews>,
}

/// Something that is being said, or wasn't taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingNews {
    /// What.
    pub state: ToldState,
    /// The key of the message; several changes of one message have the same.
    pub message: String,
    /// How often it was tried and is known not to have arrived.
    pub attempts: u32,
    /// Not before this time.
    pub next_try: Option<Timestamp>,
    /// Why it didn't arrive; nothing where that isn't known: whoever sent it died.
    pub problem: Option<String>,
}

/// How a channel is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelState {
    /// Counts up with each process that takes it.
    pub generation: i64,
    /// Until when the process of this generation has it.
    pub taken_until: Option<Timestamp>,
    /// How often it failed since it last worked.
    pub failures: u32,
    /// Not before this time.
    pub next_try: Option<Timestamp>,
    /// Why it failed.
    pub problem: Option<String>,
    /// Since when something waits for the end of quiet hours.
    pub held_since: Option<Timestamp>,
}

impl Store {
    /// What a channel knows of the changes of a target.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn told_changes(
        &self,
        channel: &str,
        target: &TargetName,
    ) -> Result<Vec<ToldChange>, StoreError> {
        let asked = query(
            "SELECT thread, version, name, after_version, until_version, state, message, told, messages, saying, saying_message, \
             attempts, next_try, problem FROM told WHERE channel = $1 AND target = $2 ORDER BY thread",
        )
        .bind(channel)
        .bind(target.as_str());
        let rows = self.database.rows(asked).await?;
        rows.iter()
            .map(|row| self.told_change(channel, target, row))
            .collect()
    }

    /// Keeps that something is being said of a change, before it is sent.
    ///
    /// # Errors
    /// The store's own.
    pub async fn record_saying(
        &self,
        change: &ToldChange,
        state: ToldState,
        message: &str,
    ) -> Result<(), StoreError> {
        let asked = query(
            "UPDATE told SET attempts = CASE WHEN saying_message = $2 THEN attempts ELSE 0 END, saying = $1, saying_message = $2, \
             next_try = NULL, problem = NULL WHERE thread = $3",
        )
        .bind(state.as_str())
        .bind(message)
        .bind(&change.thread);
        let updated = self.database.execute(asked).await?;
        if updated > 0 {
            return Ok(());
        }
        let asked = query(
            "INSERT INTO told (thread, channel, target, version, name, after_version, until_version, messages, saying, \
             saying_message, attempts) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, 0)",
        )
        .bind(&change.thread)
        .bind(&change.channel)
        .bind(change.target.as_str())
        .bind(&change.version)
        .bind(&change.name)
        .bind(change.after.as_deref())
        .bind(&change.until)
        .bind(state.as_str())
        .bind(message);
        self.database.execute(asked).await?;
        Ok(())
    }

    /// Keeps that a message arrived: of every change that it was about.
    ///
    /// # Errors
    /// The store's own.
    pub async fn record_told(
        &self,
        channel: &str,
        message: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let asked = query(
            "UPDATE told SET state = saying, message = saying_message, told = $1, messages = messages + 1, saying = NULL, \
             saying_message = NULL, attempts = 0, next_try = NULL, problem = NULL WHERE channel = $2 AND saying_message = $3",
        )
        .bind(at.to_string())
        .bind(channel)
        .bind(message);
        self.database.execute(asked).await?;
        Ok(())
    }

    /// Keeps why a message didn't arrive, and when it is tried again.
    ///
    /// # Errors
    /// The store's own.
    pub async fn record_untold(
        &self,
        channel: &str,
        message: &str,
        problem: &str,
        next_try: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let asked = query(
            "UPDATE told SET attempts = attempts + 1, next_try = $1, problem = $2 WHERE channel = $3 AND saying_message = $4",
        )
        .bind(next_try.map(|at| at.to_string()))
        .bind(problem)
        .bind(channel)
        .bind(message);
        self.database.execute(asked).await?;
        Ok(())
    }

    /// Forgets what was being said of a change and didn't arrive; the change too, if nothing ever did.
    ///
    /// # Errors
    /// The store's own.
    pub async fn forget_saying(&self, thread: &str) -> Result<(), StoreError> {
        for statement in [
            "DELETE FROM told WHERE thread = $1 AND state IS NULL",
            "UPDATE told SET saying = NULL, saying_message = NULL, attempts = 0, next_try = NULL, problem = NULL WHERE thread = $1",
        ] {
            let asked = query(statement).bind(thread);
            self.database.execute(asked).await?;
        }
        Ok(())
    }

    /// How a channel is; as a new one where nothing was ever told by it.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn channel_state(&self, channel: &str) -> Result<ChannelState, StoreError> {
        let asked = query(
            "SELECT generation, taken_until, failures, next_try, problem, held_since FROM notify_channel WHERE channel = $1",
        )
        .bind(channel);
        let rows = self.database.rows(asked).await?;
        let Some(row) = rows.first() else {
            return Ok(ChannelState::default());
        };
        let db = &self.database;
        Ok(ChannelState {
            generation: db.column(row, "generation")?,
            taken_until: db.parsed_if_any(row, "taken_until", "a time")?,
            failures: db.whole(row, "failures")?,
            next_try: db.parsed_if_any(row, "next_try", "a time")?,
            problem: db.column(row, "problem")?,
            held_since: db.parsed_if_any(row, "held_since", "a time")?,
        })
    }

    /// Takes a channel that is as `known`, until this time; whether nobody else was faster. Who has it may take it for longer so, too.
    ///
    /// # Errors
    /// The store's own.
    pub async fn take_channel(
        &self,
        channel: &str,
        known: &mut ChannelState,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let take = match known.generation {
            0 => {
                "INSERT INTO notify_channel (channel, generation, taken_until, failures) \
                 VALUES ($1, $2 + 1, $3, 0) ON CONFLICT (channel) DO NOTHING"
            }
            _ => {
                "UPDATE notify_channel SET generation = generation + 1, taken_until = $3 WHERE channel = $1 AND generation = $2"
            }
        };
        let asked = query(take)
            .bind(channel)
            .bind(known.generation)
            .bind(until.to_string());
        let taken = self.database.execute(asked).await?;
        let is_ours = taken > 0;
        if is_ours {
            known.generation += 1;
            known.taken_until = Some(until);
        }
        Ok(is_ours)
    }

    /// Gives back a channel that this process has taken, as it is now: what failed, when it is tried again, and what waits.
    ///
    /// # Errors
    /// The store's own.
    pub async fn release_channel(
        &self,
        channel: &str,
        state: &ChannelState,
    ) -> Result<(), StoreError> {
        let asked = query(
            "UPDATE notify_channel SET taken_until = NULL, failures = $1, next_try = $2, problem = $3, held_since = $4 \
             WHERE channel = $5 AND generation = $6",
        )
        .bind(i64::from(state.failures))
        .bind(state.next_try.map(|at| at.to_string()))
        .bind(state.problem.as_deref())
        .bind(state.held_since.map(|at| at.to_string()))
        .bind(channel)
        .bind(state.generation);
        self.database.execute(asked).await?;
        Ok(())
    }

    fn told_change(
        &self,
        channel: &str,
        target: &TargetName,
        row: &AnswerRow,
    ) -> Result<ToldChange, StoreError> {
        let db = &self.database;
        let message: Option<String> = db.column(row, "saying_message")?;
        let saying = match (db.parsed_if_any(row, "saying", "what is told")?, message) {
            (Some(state), Some(message)) => Some(PendingNews {
                state,
                message,
                attempts: db.whole(row, "attempts")?,
                next_try: db.parsed_if_any(row, "next_try", "a time")?,
                problem: db.column(row, "problem")?,
            }),
            _ => None,
        };
        Ok(ToldChange {
            thread: db.column(row, "thread")?,
            channel: channel.to_owned(),
            target: target.clone(),
            version: db.column(row, "version")?,
            name: db.column(row, "name")?,
            after: db.column(row, "after_version")?,
            until: db.column(row, "until_version")?,
            state: db.parsed_if_any(row, "state", "what is told")?,
            message: db.column(row, "message")?,
            told: db.parsed_if_any(row, "told", "a time")?,
            messages: db.whole(row, "messages")?,
            saying,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn change() -> ToldChange {
        ToldChange {
            thread: "t".into(),
            channel: "team".into(),
            target: "app".parse().unwrap(),
            version: "b".into(),
            name: "v2".into(),
            after: Some("a".into()),
            until: "b".into(),
            state: None,
            message: None,
            told: None,
            messages: 0,
            saying: None,
        }
    }

    async fn known(store: &Store) -> Vec<ToldChange> {
        let target = "app".parse().unwrap();
        store.told_changes("team", &target).await.unwrap()
    }

    #[tokio::test]
    async fn a_change_is_being_said_then_told_then_over() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let change = change();
        store
            .record_saying(&change, ToldState::Open, "m1")
            .await
            .unwrap();
        let saying = known(&store).await.remove(0).saying.unwrap();
        assert_eq!(
            (saying.state, saying.problem, saying.attempts),
            (ToldState::Open, None, 0)
        );
        let later = time("2026-11-27T10:00:00Z");
        store
            .record_untold("team", "m1", "it is down", Some(later))
            .await
            .unwrap();
        let saying = known(&store).await.remove(0).saying.unwrap();
        assert_eq!(
            (saying.next_try, saying.problem.as_deref(), saying.attempts),
            (Some(later), Some("it is down"), 1)
        );
        // The same message once more counts its attempts on.
        store
            .record_saying(&change, ToldState::Open, "m1")
            .await
            .unwrap();
        assert_eq!(known(&store).await[0].saying.as_ref().unwrap().attempts, 1);
        store.record_told("team", "m1", later).await.unwrap();
        let told = known(&store).await.remove(0);
        assert_eq!(
            (told.state, told.message.as_deref(), told.messages),
            (Some(ToldState::Open), Some("m1"), 1)
        );
        assert_eq!(told.saying, None);
        store
            .record_saying(&told, ToldState::Over, "m2")
            .await
            .unwrap();
        store.forget_saying("t").await.unwrap();
        assert_eq!(known(&store).await, [told]);
        store.close().await;
    }

    #[tokio::test]
    async fn what_never_arrived_is_forgotten_with_its_change() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store
            .record_saying(&change(), ToldState::Open, "m1")
            .await
            .unwrap();
        store.forget_saying("t").await.unwrap();
        assert_eq!(known(&store).await, []);
        store.close().await;
    }

    #[tokio::test]
    async fn one_of_several_takes_a_channel() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let until = time("2026-11-27T10:00:00Z");
        let mut one = store.channel_state("team").await.unwrap();
        let mut other = one.clone();
        assert!(store.take_channel("team", &mut one, until).await.unwrap());
        assert!(!store.take_channel("team", &mut other, until).await.unwrap());
        // Who has it may have it for longer.
        assert!(store.take_channel("team", &mut one, until).await.unwrap());
        one.failures = 2;
        one.next_try = Some(until);
        one.problem = Some("it is down".into());
        store.release_channel("team", &one).await.unwrap();
        let mut other = store.channel_state("team").await.unwrap();
        assert_eq!(
            other,
            ChannelState {
                taken_until: None,
                ..one.clone()
            }
        );
        assert!(store.take_channel("team", &mut other, until).await.unwrap());
        // What the first one would say now isn't its to say.
        store.release_channel("team", &one).await.unwrap();
        let state = store.channel_state("team").await.unwrap();
        assert_eq!(state.taken_until, Some(until));
        store.close().await;
    }
}
