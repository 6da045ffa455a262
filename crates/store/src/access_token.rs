//! Tokens with which people and programs ask through a server. The store keeps a hash of each, from which nobody makes the token.

use jiff::Timestamp;
use std::{fmt, str::FromStr};

use crate::{
    AuditEntry, Store, StoreError,
    database::AnswerRow,
    query::{Query, query},
};

/// What who has a token may do. Each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessScope {
    /// Read.
    Read,
    /// Have more measured, and cancel jobs.
    Queue,
    /// Say how alerts stand, and write notes.
    Control,
    /// All that in the names of others: a proxy that knows who they are.
    Proxy,
}

impl AccessScope {
    /// All of them, what may least first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Queue, Self::Control, Self::Proxy];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Queue => "queue",
            Self::Control => "control",
            Self::Proxy => "proxy",
        }
    }
}

impl fmt::Display for AccessScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for AccessScope {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == word);
        found.ok_or_else(|| format!("`{word}` is no scope of a token"))
    }
}

/// The hash of a token. The token is 32 random bytes: nobody finds it by trying, however fast the hash is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenHash(String);

impl TokenHash {
    /// Of a token's text.
    pub fn of(token: &str) -> Self {
        Self(blake3::hash(token.as_bytes()).to_hex().to_string())
    }

    /// Its hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessToken {
    /// Its name, which no other token of the store ever has.
    pub name: String,
    /// Who asks with it.
    pub person: String,
    /// What that one may do.
    pub scope: AccessScope,
    /// Its hash.
    pub hash: TokenHash,
    /// When it was made.
    pub made: Timestamp,
    /// By whom.
    pub made_by: String,
    /// From when on it isn't taken any more.
    pub ends: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// By whom.
    pub revoked_by: Option<String>,
}

impl AccessToken {
    /// Whether it is taken at this time.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.ends.is_none_or(|end| now < end)
    }
}

impl Store {
    /// Keeps a token, and that it was made; false where another has its name.
    ///
    /// # Errors
    /// The store's own.
    pub async fn add_access_token(&self, token: &AccessToken) -> Result<bool, StoreError> {
        let asked = query(
            "INSERT INTO access_token (name, person, scope, hash, made, made_by, ends) VALUES ($1, $2, $3, $4, $5, $6, $7) \
             ON CONFLICT (name) DO NOTHING",
        )
        .bind(&token.name)
        .bind(&token.person)
        .bind(token.scope.as_str())
        .bind(token.hash.as_str())
        .bind(token.made.to_string())
        .bind(&token.made_by)
        .bind(token.ends.map(|end| end.to_string()));
        let made = serde_json::json!({
            "name": token.name,
            "person": token.person,
            "scope": token.scope.as_str(),
            "until": token.ends,
        });
        let entry = entry_of("token add", &token.made_by, token.made, &made);
        self.change_token(asked, &entry).await
    }

    /// Changes a token and writes that down, both or neither; whether anything changed.
    async fn change_token(&self, change: Query, entry: &AuditEntry) -> Result<bool, StoreError> {
        let fault = |e| self.database.fault(e);
        let mut tx = self.begin_audited().await?;
        let done = change.execute(&mut *tx).await.map_err(fault)?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        self.insert_audit(&mut tx, entry).await?;
        tx.commit().await.map_err(fault)?;
        Ok(true)
    }

    /// All tokens that were ever made, by their names.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn access_tokens(&self) -> Result<Vec<AccessToken>, StoreError> {
        let asked = query(
            "SELECT name, person, scope, hash, made, made_by, ends, revoked, revoked_by FROM access_token ORDER BY name",
        );
        let rows = self.database.rows(asked).await?;
        rows.iter().map(|row| self.access_token_row(row)).collect()
    }

    /// Takes a token back, and writes down who did; whether one of this name was there and not taken back yet.
    ///
    /// # Errors
    /// The store's own.
    pub async fn revoke_access_token(&self, name: &str, by: &str) -> Result<bool, StoreError> {
        let now = Timestamp::now();
        let asked = query(
            "UPDATE access_token SET revoked = $1, revoked_by = $2 WHERE name = $3 AND revoked IS NULL",
        )
        .bind(now.to_string())
        .bind(by)
        .bind(name);
        let revoked = serde_json::json!({ "name": name });
        let entry = entry_of("token revoke", by, now, &revoked);
        self.change_token(asked, &entry).await
    }

    fn access_token_row(&self, row: &AnswerRow) -> Result<AccessToken, StoreError> {
        let db = &self.database;
        Ok(AccessToken {
            name: db.column(row, "name")?,
            person: db.column(row, "person")?,
            scope: db.parsed(row, "scope", "a scope of a token")?,
            hash: TokenHash(db.column(row, "hash")?),
            made: db.parsed(row, "made", "a time")?,
            made_by: db.column(row, "made_by")?,
            ends: db.parsed_if_any(row, "ends", "a time")?,
            revoked: db.parsed_if_any(row, "revoked", "a time")?,
            revoked_by: db.column(row, "revoked_by")?,
        })
    }
}

/// That somebody did this with a token, by a command.
fn entry_of(action: &str, by: &str, at: Timestamp, said: &serde_json::Value) -> AuditEntry {
    AuditEntry {
        at,
        person: by.to_owned(),
        token: None,
        way: "command".to_owned(),
        action: action.to_owned(),
        detail: said.to_string(),
    }
}
