//! A message as JSON: what a webhook gets, and what templates are given.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    change_message::{ChangeMessage, ChangeNews},
    send_error::SendError,
};

/// News of changes, as a webhook gets them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangesEvent {
    /// What tells this message from all others: one that comes again has the same.
    pub key: String,
    /// The message in a line.
    pub subject: String,
    /// The message as text.
    pub text: String,
    /// The message as Markdown; nothing in it that others wrote is markup.
    pub markdown: String,
    /// The message as a page.
    pub html: String,
    /// What it says of each change.
    pub changes: Vec<ChangeEvent>,
}

/// What is said of a change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangeEvent {
    /// `new`, `again`: it went away and is back; or `over`: it went away.
    pub news: &'static str,
    /// What identifies the change on this channel for as long as it is there.
    pub change: String,
    /// The target.
    pub target: String,
    /// The identity of the version that most probably made it: a commit's hash.
    pub version: String,
    /// That version's name.
    pub name: String,
    /// What that version says of itself: a commit's subject; may be empty.
    pub title: String,
    /// The identity of the last version known to be before it.
    pub after: Option<String>,
    /// The identity of the first version known to have it.
    pub until: String,
    /// Whether it is known to lie at that version and no other.
    pub located: bool,
    /// `worse`, `better` or `other`: nobody has said which direction is good.
    pub kind: &'static str,
    /// `new`, `investigating`, `confirmed`, `accepted`, `fixed`, `invalid` or `withdrawn`.
    pub state: &'static str,
    /// Who said so.
    pub by: Option<String>,
    /// Why.
    pub note: Option<String>,
    /// It in a sentence.
    pub sentence: String,
    /// The address of its page.
    pub link: Option<String>,
    /// What moved, the worst first.
    pub moved: Vec<MovedEvent>,
}

/// A series or a test that moved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MovedEvent {
    /// What it is called.
    pub name: String,
    /// `worse`, `better` or `other`.
    pub kind: &'static str,
    /// Its size with its interval, as it is shown.
    pub size: String,
    /// The size in percent; nothing of a test, and where the level before was zero.
    pub percent: Option<f64>,
}

impl ChangesEvent {
    pub(crate) fn new(message: &ChangeMessage) -> Result<Self, SendError> {
        let html = message.html();
        Ok(Self {
            key: message.key.clone(),
            subject: message.subject(),
            text: message.text(),
            markdown: message.markdown(),
            html: html.map_err(|error| SendError::Message(error.to_string()))?,
            changes: message.news.iter().map(ChangeEvent::new).collect(),
        })
    }
}

impl ChangeEvent {
    fn new(news: &ChangeNews) -> Self {
        let change = &news.change;
        Self {
            news: news.kind.as_str(),
            change: news.thread.clone(),
            target: change.target.to_string(),
            version: change.version.clone(),
            name: change.name.clone(),
            title: change.title.clone(),
            after: change.after.as_ref().map(|(id, _)| id.clone()),
            until: change.until.0.clone(),
            located: change.is_located(),
            kind: change.kind.as_str(),
            state: change.state.as_str(),
            by: change.by.clone(),
            note: change.note.clone(),
            sentence: change.sentence.clone(),
            link: news.link.clone(),
            moved: (change.moved.iter())
                .map(|moved| MovedEvent {
                    name: moved.name.clone(),
                    kind: moved.kind.as_str(),
                    size: moved.size.clone(),
                    percent: moved.percent,
                })
                .collect(),
        }
    }
}
