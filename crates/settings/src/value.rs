//! Values of settings and their types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::cpu_list::CpuList;
use backsight_model::did_you_mean;

/// A value that somebody wants a setting to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SettingValue {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
    /// Several texts: names of services.
    List(Vec<String>),
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
            Self::List(values) => f.write_str(&values.join(" ")),
        }
    }
}

/// Which values a setting takes: `type = "boolean"`, `type = { choice = ["always", "never"] }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ValueType {
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Choice(Vec<String>),
    /// One word; the machine says which there are.
    Word,
    /// A whole number from `min` to `max`.
    Integer {
        /// Least.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A list of CPUs.
    Cpus,
    /// A list of CPUs that leaves one at least to everything else.
    SomeCpus,
    /// Any text of one line.
    Text,
    /// Names of units.
    Names,
    /// No value: the parameters say everything.
    None,
}

/// Most names in a list.
const MOST_NAMES: usize = 256;

/// What is wrong with a value, and the way out.
pub type ValueFault = (String, Option<String>);

impl ValueType {
    /// The value as this type has it: `3` for a list of CPUs is the CPU of this number.
    ///
    /// # Errors
    /// It isn't of this type; says what is allowed.
    pub fn check(&self, value: SettingValue) -> Result<SettingValue, ValueFault> {
        let allowed = || (format!("`{value}` isn't {self}"), None);
        match (self, &value) {
            (Self::Boolean, SettingValue::Boolean(_)) => {}
            (Self::Choice(words), value) => {
                let text = match value {
                    SettingValue::Text(text) => text.clone(),
                    SettingValue::Integer(number) => number.to_string(),
                    // `on` and `off` may be written so.
                    SettingValue::Boolean(true) => "on".to_owned(),
                    SettingValue::Boolean(false) => "off".to_owned(),
                    SettingValue::List(_) => return Err(allowed()),
                };
                if !words.contains(&text) {
                    let near = did_you_mean(&text, words.iter().map(String::as_str));
                    return Err((allowed().0, near));
                }
                return Ok(SettingValue::Text(text));
            }
            (Self::Integer { min, max }, SettingValue::Integer(number))
                if (min..=max).contains(&number) => {}
            (Self::Cpus | Self::SomeCpus, value) => {
                let text = match value {
                    SettingValue::Text(text) => text.clone(),
                    SettingValue::Integer(number) => number.to_string(),
                    _ => return Err(allowed()),
                };
                let list = CpuList::parse(&text).map_err(|fault| (fault, None))?;
                if list.is_empty() {
                    return Err(("a list of CPUs can't be empty".into(), None));
                }
                return Ok(SettingValue::Text(list.to_string()));
            }
            (Self::Word, SettingValue::Text(word))
                if !word.is_empty() && word.chars().all(|c| c.is_ascii_graphic()) => {}
            (Self::Text, SettingValue::Text(text))
                if !text.chars().any(char::is_control) && text.len() <= 4096 => {}
            (Self::Text, SettingValue::Integer(number)) => {
                return Ok(SettingValue::Text(number.to_string()));
            }
            (Self::Names, SettingValue::Text(name)) => {
                return self.check(SettingValue::List(vec![name.clone()]));
            }
            (Self::Names, SettingValue::List(names)) if names.len() <= MOST_NAMES => {
                if let Some(wrong) = names.iter().find(|name| !is_unit_name(name)) {
                    return Err((format!("`{wrong}` is no unit's name"), None));
                }
            }
            _ => return Err(allowed()),
        }
        Ok(value)
    }
}

/// Whether systemd would take this as a unit's name; a leading dash would be an option.
fn is_unit_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    !name.is_empty() && name.len() < 256 && !name.starts_with('-') && name.chars().all(fits)
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("`true` or `false`"),
            Self::Choice(words) => write!(f, "one of `{}`", words.join("`, `")),
            Self::Word => f.write_str("a word"),
            Self::Integer {
                min: i64::MIN,
                max: i64::MAX,
            } => f.write_str("a whole number"),
            Self::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Cpus | Self::SomeCpus => f.write_str("a list of CPUs such as `0-3,8`"),
            Self::Text => f.write_str("a text of one line"),
            Self::Names => f.write_str("a list of names"),
            Self::None => f.write_str("a table of parameters"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> SettingValue {
        SettingValue::Text(text.into())
    }

    #[test]
    fn a_wrong_value_says_what_is_allowed() {
        let governor = ValueType::Choice(vec!["performance".into(), "powersave".into()]);
        let (message, help) = governor.check(text("performanse")).unwrap_err();
        assert_eq!(
            message,
            "`performanse` isn't one of `performance`, `powersave`"
        );
        assert_eq!(help.unwrap(), "did you mean `performance`?");
        let number = ValueType::Integer { min: 0, max: 200 };
        assert!(number.check(SettingValue::Integer(200)).is_ok());
        let (message, _) = number.check(SettingValue::Integer(201)).unwrap_err();
        assert_eq!(message, "`201` isn't a whole number from 0 to 200");
        assert!(ValueType::Boolean.check(text("true")).is_err());
        assert!(ValueType::Text.check(text("a\nb")).is_err());
        assert!(ValueType::Word.check(text("a b")).is_err());
    }

    #[test]
    fn lists_of_cpus_and_names_have_one_form() {
        let cpus = ValueType::Cpus.check(text("1,0,2")).unwrap();
        assert_eq!(cpus, text("0-2"));
        assert_eq!(
            ValueType::Cpus.check(SettingValue::Integer(1)).unwrap(),
            text("1")
        );
        assert!(ValueType::Cpus.check(text("")).is_err());
        let one = ValueType::Names.check(text("cron")).unwrap();
        assert_eq!(one, SettingValue::List(vec!["cron".into()]));
        assert!(ValueType::Names.check(text("--force")).is_err());
        assert!(ValueType::Names.check(text("a b")).is_err());
    }
}
