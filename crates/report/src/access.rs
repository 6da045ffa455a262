//! Who may ask through a server, and what was asked: as tables, and for programs.

use backsight_store::{AccessToken, AuditEntry};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{clipped, escape, list_table, stored_study::local_time};

/// Widest text of what was said in the table, in characters.
const SAID_WIDTH: usize = 120;

/// A token.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Who asks with it.
    pub person: &'a str,
    /// What it is for: `read`, `queue`, `control`, `proxy`.
    pub scope: &'static str,
    /// Whether it is taken.
    pub valid: bool,
    /// When it was made.
    #[schemars(with = "String")]
    pub made: Timestamp,
    /// By whom.
    pub made_by: &'a str,
    /// When it ends by itself.
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
    /// When it was revoked.
    #[schemars(with = "Option<String>")]
    pub revoked: Option<Timestamp>,
    /// By whom.
    pub revoked_by: Option<&'a str>,
}

impl<'a> TokenView<'a> {
    /// Of a token as it is at this time.
    pub fn new(token: &'a AccessToken, now: Timestamp) -> Self {
        Self {
            name: &token.name,
            person: &token.person,
            scope: token.scope.as_str(),
            valid: token.is_valid(now),
            made: token.made,
            made_by: &token.made_by,
            until: token.ends,
            revoked: token.revoked,
            revoked_by: token.revoked_by.as_deref(),
        }
    }

    /// How it is, in a few words.
    fn state(&self, now: Timestamp) -> String {
        match (self.revoked, self.until) {
            (Some(at), _) => format!(
                "revoked {} by {}",
                local_time(at),
                escape::line(self.revoked_by.unwrap_or_default())
            ),
            (None, Some(end)) if end <= now => format!("over since {}", local_time(end)),
            (None, Some(end)) => format!("until {}", local_time(end)),
            (None, None) => "valid".to_owned(),
        }
    }
}

/// Tokens as a table.
pub fn token_table(tokens: &[TokenView<'_>], now: Timestamp, width: Option<u16>) -> String {
    if tokens.is_empty() {
        return "no tokens\n".to_owned();
    }
    let mut table = list_table(&["token", "person", "scope", "state", "made", "by"], width);
    for token in tokens {
        table.add_row([
            escape::line(token.name),
            escape::line(token.person),
            token.scope.to_owned(),
            token.state(now),
            local_time(token.made),
            escape::line(token.made_by),
        ]);
    }
    format!("{table}\n")
}

/// Something that was asked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditView<'a> {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Who asked.
    pub person: &'a str,
    /// The name of the token, where one of the store's was used.
    pub token: Option<&'a str>,
    /// Through what: `serve`, `mcp`, `command`.
    pub way: &'a str,
    /// What: a path of the API, a tool, a command.
    pub action: &'a str,
    /// What else was said.
    pub said: Value,
}

impl<'a> From<&'a AuditEntry> for AuditView<'a> {
    fn from(entry: &'a AuditEntry) -> Self {
        let text = || Value::String(entry.detail.clone());
        Self {
            at: entry.at,
            person: &entry.person,
            token: entry.token.as_deref(),
            way: &entry.way,
            action: &entry.action,
            said: serde_json::from_str(&entry.detail).unwrap_or_else(|_| text()),
        }
    }
}

/// What was asked as a table.
pub fn audit_table(entries: &[AuditView<'_>], width: Option<u16>) -> String {
    if entries.is_empty() {
        return "nothing was asked\n".to_owned();
    }
    let mut table = list_table(
        &["at", "person", "token", "by way of", "asked", "said"],
        width,
    );
    for entry in entries {
        table.add_row([
            local_time(entry.at),
            escape::line(entry.person),
            escape::line(entry.token.unwrap_or_default()),
            escape::line(entry.way),
            escape::line(entry.action),
            escape::line(&clipped(&entry.said.to_string(), SAID_WIDTH)),
        ]);
    }
    format!("{table}\n")
}
