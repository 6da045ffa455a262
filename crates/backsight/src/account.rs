//! What a study came to, as the verb that made it tells it: `show` prints it, `report` makes it a page.
//!
//! Refuses: studies whose verbs only measure. Those are told as tables of what was measured.

use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;

use crate::{attempt, bisect, noise, until};

/// A verdict with everything that is told of it.
pub enum Account {
    /// Sides, side by side.
    Attempt(Box<attempt::Account>),
    /// The changes along a history.
    Bisect(Box<bisect::Account>),
    /// How much it varies.
    Noise(Box<noise::Account>),
}

impl Account {
    /// Of a study; nothing if its verb only measures.
    pub async fn of(store: &Store, study: &StudyRow) -> miette::Result<Option<Self>> {
        Ok(Some(match study.verb.as_str() {
            attempt::VERB => Self::Attempt(Box::new(attempt::Account::of(store, study.id).await?)),
            bisect::VERB => Self::Bisect(Box::new(bisect::Account::of(store, study).await?)),
            noise::VERB => Self::Noise(Box::new(noise::Account::of(store, study).await?)),
            _ => match until::account(store, study).await? {
                Some(account) => Self::Attempt(Box::new(account)),
                None => return Ok(None),
            },
        }))
    }

    /// It as the terminal shows it.
    pub fn text(&self) -> String {
        match self {
            Self::Attempt(account) => account.text(),
            Self::Bisect(account) => account.text(),
            Self::Noise(account) => account.text(),
        }
    }

    /// It as one self-contained HTML file.
    pub fn page(&self) -> miette::Result<String> {
        let page = match self {
            Self::Attempt(account) => account.words().page(),
            Self::Bisect(account) => account.words().page(),
            Self::Noise(account) => account.words().page(),
        };
        page.into_diagnostic()
    }

    /// It as Markdown, for a mail; nothing where it isn't told in that way.
    pub fn markdown(&self) -> Option<String> {
        match self {
            Self::Bisect(account) => Some(account.words().markdown()),
            Self::Attempt(_) | Self::Noise(_) => None,
        }
    }
}
