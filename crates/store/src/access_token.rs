//! Tokens with which people and programs ask through a server. The store keeps a hash of each, from which nobody makes the token.

use jiff::Timestamp;
use std::{fmt, str::FromStr};

use crate::{Store, StoreError, database::AnswerRow, query::query};

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
    /// Keeps a token; false where another has its name.
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
        Ok(self.database.execute(asked).await? > 0)
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

    /// Takes a token back; whether one of this name was there and still valid.
    ///
    /// # Errors
    /// The store's own.
    pub async fn revoke_access_token(&self, name: &str, by: &str) -> Result<bool, StoreError> {
        let asked = query(
            "UPDATE access_token SET revoked = $1, revoked_by = $2 WHERE name = $3 AND revoked IS NULL",
        )
        .bind(Timestamp::now().to_string())
        .bind(by)
        .bind(name);
        Ok(self.database.execute(asked).await? > 0)
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
