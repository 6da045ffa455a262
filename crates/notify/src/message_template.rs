//! Bodies of requests as data files: a jq program that makes a chat's JSON of a [`ChangesEvent`]. Those in `messages/` come with the
//! program; others are files beside the configuration.

use backsight_catalog::{JsonDocument, Query, QueryRunError, QueryValue, with_deep_stack};
use backsight_model::{DocumentError, Located, TomlDocument, did_you_mean};
use indexmap::IndexMap;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

use crate::{event::ChangesEvent, send_error::SendError};

/// The templates of the program: names and texts.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/messages.rs"));

/// How a message is written for a chat or a program.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TemplateFile {
    /// What takes such messages.
    about: String,
    /// The method of the request.
    #[serde(default)]
    method: RequestMethod,
    /// What follows the channel's address: `{key}` is the key of the message, other placeholders are `values` of the channel.
    #[serde(default)]
    path: String,
    /// The body: a jq program whose input is the message as JSON (`backsight schema changes-event`).
    body: Located<String>,
}

/// A method of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum RequestMethod {
    #[default]
    Post,
    Put,
}

/// How a message is written for a chat or a program.
#[derive(Debug, Clone)]
pub struct MessageTemplate {
    file: TemplateFile,
}

/// The names of the templates that come with the program, with what each is for.
pub fn message_templates() -> impl Iterator<Item = (&'static str, String)> {
    BUILT_IN.iter().map(|(name, text)| {
        let read = MessageTemplate::read(&TomlDocument::new(*name, *text));
        (
            *name,
            read.map_or_else(|error| error.to_string(), |it| it.file.about),
        )
    })
}

impl MessageTemplate {
    /// The template of this name, or in this file.
    pub(crate) fn find(
        document: &TomlDocument,
        name: &Located<String>,
        folder: &Path,
    ) -> Result<Self, DocumentError> {
        if name.ends_with(".toml") {
            let path = folder.join(&**name);
            let opened = TomlDocument::open(&path);
            let opened = opened
                .map_err(|error| document.problem(name.span(), error.to_string(), "here", None))?;
            return Self::read(&opened);
        }
        match BUILT_IN.iter().find(|(known, _)| *known == name.as_str()) {
            Some((name, text)) => Self::read(&TomlDocument::new(*name, *text)),
            None => {
                let names = || BUILT_IN.iter().map(|(name, _)| *name);
                let help = did_you_mean(name, names()).unwrap_or_else(|| {
                    let names: Vec<&str> = names().collect();
                    format!(
                        "there are {}; or name a file: ./mine.toml",
                        names.join(", ")
                    )
                });
                let message = format!("there is no template `{}`", **name);
                Err(document.problem(name.span(), message, "here", Some(help)))
            }
        }
    }

    fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        let file: TemplateFile = document.read()?;
        if let Err(error) = Query::compile(&program(&file.body), []) {
            return Err(document.problem(file.body.span(), error.message, "here", error.help));
        }
        Ok(Self { file })
    }

    pub(crate) fn method(&self) -> Method {
        match self.file.method {
            RequestMethod::Post => Method::POST,
            RequestMethod::Put => Method::PUT,
        }
    }

    /// The path with its values.
    pub(crate) fn fill_path(
        &self,
        key: &str,
        values: &IndexMap<String, String>,
    ) -> Result<String, SendError> {
        let mut parts = self.file.path.split('{');
        let mut path = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap_or((part, ""));
            let value = match name {
                "key" => key,
                name => values.get(name).ok_or_else(|| {
                    SendError::Channel(format!(
                        "the template needs a value: values = {{ {name} = \"…\" }}"
                    ))
                })?,
            };
            path.push_str(&utf8_percent_encode(value, NON_ALPHANUMERIC).to_string());
            path.push_str(rest);
        }
        Ok(path)
    }

    /// The body of the request.
    pub(crate) fn body(&self, event: &ChangesEvent) -> Result<Vec<u8>, SendError> {
        let failed = |why: String| SendError::Message(format!("the template's jq program: {why}"));
        let event = serde_json::to_vec(event).map_err(|error| failed(error.to_string()))?;
        let found = with_deep_stack(|| {
            let document = JsonDocument::parse(&event).map_err(|error| error.to_string())?;
            let query =
                Query::compile(&program(&self.file.body), []).map_err(|error| error.message)?;
            query.found(&document, []).map_err(|error| match error {
                QueryRunError::Error(why) => why,
                QueryRunError::TooManySteps => "it takes too many steps".to_owned(),
                QueryRunError::NotANumber(_) | QueryRunError::NotFinite => {
                    "it makes no text".to_owned()
                }
            })
        });
        match found.and_then(|found| found).map_err(failed)?.as_slice() {
            [QueryValue::Text(body)] => Ok(body.clone().into_bytes()),
            found => Err(failed(format!(
                "it makes {} bodies and not one",
                found.len()
            ))),
        }
    }
}

/// The program whose result is text.
fn program(body: &str) -> String {
    format!("({body}) | tojson")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_message::tests::message;
    use serde_json::Value;

    fn body(name: &str, event: &ChangesEvent) -> Value {
        let nowhere = TomlDocument::new("notify.toml", "");
        let name = Located::nowhere(name.to_owned());
        let template = MessageTemplate::find(&nowhere, &name, Path::new(".")).unwrap();
        serde_json::from_slice(&template.body(event).unwrap()).unwrap()
    }

    #[test]
    fn every_template_makes_the_body_that_its_chat_takes() {
        let mut message = message();
        message.news[0].change.sentence = "a <!channel> & @all got worse".to_owned();
        let event = ChangesEvent::new(&message).unwrap();
        assert_eq!(message_templates().count(), 3);
        let slack = body("slack", &event);
        assert_eq!(
            slack["text"],
            "app: a &lt;!channel&gt; &amp; @all got worse"
        );
        assert_eq!(slack["blocks"][0]["type"], "section");
        let mattermost = body("mattermost", &event);
        assert!(
            !mattermost["text"].as_str().unwrap().contains("@all"),
            "{mattermost}"
        );
        let matrix = body("matrix", &event);
        assert_eq!(matrix["msgtype"], "m.notice");
        assert!(
            matrix["formatted_body"]
                .as_str()
                .unwrap()
                .contains("&lt;!channel&gt;"),
            "{matrix}"
        );
    }

    #[test]
    fn values_of_paths_are_one_part_of_them() {
        let nowhere = TomlDocument::new("notify.toml", "");
        let name = Located::nowhere("matrix".to_owned());
        let template = MessageTemplate::find(&nowhere, &name, Path::new(".")).unwrap();
        let values = IndexMap::from([("room".to_owned(), "!a/b:example.org".to_owned())]);
        assert_eq!(
            template.fill_path("k", &values).unwrap(),
            "/_matrix/client/v3/rooms/%21a%2Fb%3Aexample%2Eorg/send/m.room.message/k"
        );
        assert!(template.fill_path("k", &IndexMap::new()).is_err());
    }
}
