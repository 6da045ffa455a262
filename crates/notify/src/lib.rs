//! Telling people of changes: by mail, to chats and programs, on commits, pull requests and reviews.
//!
//! In: the alerts of a store, as `backsight_study` makes them of stored evidence, and a [`NotifyConfig`], which `notify.toml` writes.
//! Out: one message for each change and channel, and a note in the store of what was told.
//!
//! Nothing is told twice: what a channel was told last is in the store (`backsight_store::ToldChange`). A message is kept before it is sent
//! and noted when it has arrived, so that a crash in between leads to one repeat, with the same key ([`ChangeMessage::key`]). A change
//! that went away is said once on the channels that were told of it. A channel that fails is tried again later and
//! holds up no other one.
//!
//! Nothing is measured or judged here; the Atom feed is a part of the site.
//!
//! ```
//! use backsight_notify::NotifyConfig;
//! use backsight_model::TomlDocument;
//!
//! let text = "[channel.team.mail]\nfrom = \"lab@example.org\"\nto = [\"team@example.org\"]\nsmtp = { host = \"mail.example.org\" }\n";
//! let config = NotifyConfig::read(&TomlDocument::new("notify.toml", text), ".").unwrap();
//! assert!(config.channels.contains_key("team"));
//! ```

mod change_matching;
mod change_message;
mod channel_rules;
mod config;
mod event;
mod forge;
mod gerrit;
mod http;
mod mail;
mod message_template;
mod notify;
mod quiet_hours;
mod schema;
mod secret;
mod send;
mod send_error;
mod software_change;
#[cfg(test)]
mod tests;
mod verdict_comment;
mod webhook;

pub use change_message::{ChangeMessage, ChangeNews, NewsKind, Picture};
pub use channel_rules::ChannelRules;
pub use config::{
    ChannelKind, ForgeChannel, ForgeKind, GerritChannel, MailChannel, MailEncryption,
    MailTransport, NOTIFY_FILE, NotifyChannel, NotifyConfig, SmtpServer, WebhookChannel,
};
pub use event::{ChangeEvent, ChangesEvent, MovedEvent};
pub use message_template::{MessageTemplate, message_templates};
pub use notify::{ChannelReport, NotifyOptions, notify, notify_of};
pub use quiet_hours::QuietHours;
pub use schema::{KINDS, schema_for};
pub use secret::Secret;
pub use send_error::SendError;
pub use software_change::{ChangeState, MovedSeries, SoftwareChange, TargetChanges};
pub use verdict_comment::{VerdictComment, VerdictState, comment_verdict};
