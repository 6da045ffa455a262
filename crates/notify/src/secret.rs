//! Secrets: read from a file or an environment variable when they are needed, and never shown.

use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

use crate::send_error::SendError;

/// Longest secret, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Where a secret stands; a configuration has none itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Secret {
    /// In this file, beside the configuration; ends of lines at its end don't count.
    File(PathBuf),
    /// In this environment variable.
    Env(String),
}

/// A text that may be secret: an address that is itself the permission.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PerhapsSecret {
    /// The text.
    Text(String),
    /// Where it stands.
    Secret(Secret),
}

impl Secret {
    /// The secret; files are those of this folder.
    pub(crate) fn read(&self, folder: &Path) -> Result<String, SendError> {
        let text = match self {
            Self::File(file) => {
                let path = folder.join(file);
                let unreadable = |why: String| {
                    SendError::Channel(format!(
                        "can't read the secret in {}: {why}",
                        path.display()
                    ))
                };
                let size = std::fs::metadata(&path).map_err(|e| unreadable(e.to_string()))?;
                if size.len() > LONGEST {
                    return Err(unreadable("it is too long for one".to_owned()));
                }
                std::fs::read_to_string(&path).map_err(|e| unreadable(e.to_string()))?
            }
            Self::Env(name) => std::env::var(name).map_err(|_| {
                SendError::Channel(format!("the environment variable {name} isn't set"))
            })?,
        };
        let text = text.trim_end_matches(['\r', '\n']).to_owned();
        match text.is_empty() {
            true => Err(SendError::Channel(format!("the secret in {self} is empty"))),
            false => Ok(text),
        }
    }
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Env(name) => f.write_str(name),
        }
    }
}

impl PerhapsSecret {
    /// The text.
    pub(crate) fn read(&self, folder: &Path) -> Result<String, SendError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Secret(secret) => secret.read(folder),
        }
    }
}
