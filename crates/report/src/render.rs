//! One renderer a format over the verdicts of all verbs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Document, Format, Look, json, json_line};

/// A study with its verdict, which every format is written from.
pub trait Render {
    /// What a program gets.
    type View<'v>: Serialize + JsonSchema
    where
        Self: 'v;

    /// The view for programs.
    fn view(&self) -> Self::View<'_>;

    /// The sentences and tables for readers.
    fn document(&self) -> Document;

    /// The study in this format; a terminal's text as `look` says.
    ///
    /// # Errors
    /// None that is known: every name and number has a form in JSON.
    fn render(&self, format: Format, look: &Look) -> Result<String, serde_json::Error> {
        Ok(match format {
            Format::Text => self.document().text(look),
            Format::Markdown => self.document().markdown(),
            Format::Json => json(&self.view())?,
            Format::Html => self.document().html(),
        })
    }

    /// The last line of a verb's events.
    ///
    /// # Errors
    /// As those of [`Render::render`].
    fn event(&self, verb: &str) -> Result<String, serde_json::Error> {
        json_line(&VerdictEvent {
            event: "verdict",
            verb,
            verdict: self.view(),
        })
    }
}

/// The last line of a verb's events.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VerdictEvent<'a, T> {
    /// `verdict`.
    event: &'static str,
    /// The verb.
    verb: &'a str,
    /// The verdict.
    #[serde(flatten)]
    verdict: T,
}
