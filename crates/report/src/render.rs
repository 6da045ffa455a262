//! One renderer a format over the verdicts of all verbs.

use backsight_model::Event;
use schemars::JsonSchema;
use serde::{Serialize, ser::Error as _};
use serde_json::Value;

use crate::{Document, Format, TerminalStyle, json};

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
    fn render(&self, format: Format, look: &TerminalStyle) -> Result<String, serde_json::Error> {
        Ok(match format {
            Format::Text => self.document().text(look),
            Format::Markdown => self.document().markdown(),
            Format::Json => json(&self.view())?,
            Format::Html => self.document().html(),
        })
    }

    /// The verdict as an event of its study.
    ///
    /// # Errors
    /// As those of [`Render::render`].
    fn event(&self, verb: &str) -> Result<Event, serde_json::Error> {
        match serde_json::to_value(self.view())? {
            Value::Object(verdict) => Ok(Event::Verdict {
                verb: verb.to_owned(),
                verdict,
            }),
            _ => Err(serde_json::Error::custom("a view isn't an object")),
        }
    }
}
