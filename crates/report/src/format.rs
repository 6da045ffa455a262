//! The formats of a verdict, and which of them a file's name asks for.

use std::{fmt, path::Path, str::FromStr};

/// How a verdict is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For a person at a terminal.
    #[default]
    Text,
    /// For a pull request.
    Markdown,
    /// For a program.
    Json,
    /// One self-contained page.
    Html,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Markdown, Self::Json, Self::Html];

    /// What it is called on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Json => "json",
            Self::Html => "html",
        }
    }

    /// The format that the end of a file's name stands for.
    pub fn from_path(path: &Path) -> Option<Self> {
        let end = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match end.as_str() {
            "txt" => Self::Text,
            "md" | "markdown" => Self::Markdown,
            "json" => Self::Json,
            "html" | "htm" => Self::Html,
            _ => return None,
        })
    }

    /// The format to write: the one that was asked for, else the one that the file's name ends in, else `usual`.
    ///
    /// # Errors
    /// The two contradict each other, or the name's end stands for no format and none was asked for.
    pub fn choose(
        requested: Option<Self>,
        path: Option<&Path>,
        usual: Self,
    ) -> Result<Self, FormatError> {
        let Some(path) = path else {
            return Ok(requested.unwrap_or(usual));
        };
        // A device or a pipe takes anything.
        if path.starts_with("/dev") {
            return Ok(requested.unwrap_or(usual));
        }
        let of_name = Self::from_path(path);
        let name = || path.display().to_string();
        match (requested, of_name) {
            (Some(requested), Some(of_name)) if requested != of_name => {
                Err(FormatError::Contradiction {
                    requested,
                    of_name,
                    name: name(),
                })
            }
            (Some(requested), _) => Ok(requested),
            (None, Some(of_name)) => Ok(of_name),
            (None, None) => Err(FormatError::Unknown { name: name() }),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == text);
        found.ok_or_else(|| "expected text, markdown, json or html".to_owned())
    }
}

/// Why a file can't be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatError {
    /// One format was asked for, and the name says another.
    Contradiction {
        /// What was asked for.
        requested: Format,
        /// What the name says.
        of_name: Format,
        /// The name.
        name: String,
    },
    /// The name says none.
    Unknown {
        /// The name.
        name: String,
    },
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contradiction {
                requested,
                of_name,
                name,
            } => write!(
                f,
                "`{name}` is the name of {of_name}, and --format says {requested}"
            ),
            Self::Unknown { name } => write!(
                f,
                "the name of `{name}` says no format: expected one that ends in .txt, .md, .json or .html, or --format"
            ),
        }
    }
}

impl std::error::Error for FormatError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_its_format() {
        let of =
            |requested, name: &str| Format::choose(requested, Some(Path::new(name)), Format::Text);
        assert_eq!(of(None, "a.md"), Ok(Format::Markdown));
        assert_eq!(of(None, "a.HTML"), Ok(Format::Html));
        assert_eq!(of(Some(Format::Json), "a.json"), Ok(Format::Json));
        assert_eq!(of(Some(Format::Json), "verdict"), Ok(Format::Json));
        assert_eq!(of(Some(Format::Json), "a.log"), Ok(Format::Json));
        assert_eq!(of(None, "/dev/stdout"), Ok(Format::Text));
        assert!(matches!(
            of(None, "a.pdf"),
            Err(FormatError::Unknown { .. })
        ));
        assert!(matches!(
            of(Some(Format::Json), "a.md"),
            Err(FormatError::Contradiction { .. })
        ));
    }
}
