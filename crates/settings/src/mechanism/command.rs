//! Settings that programs read and write. A regular expression takes the old value out of what the program prints.

use indexmap::IndexMap;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::{ChangeState, SettingChange, SettingObstacle};
use crate::{
    machine_root::MachineRoot,
    placeholder,
    program::{self, ProgramFault},
    request::SettingRequest,
    value::SettingValue,
};

/// `[command]`: words of commands, with placeholders. No shell reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CommandMechanism {
    /// Prints what stands.
    pub read: Vec<String>,
    /// The first group of this regular expression is what stands; parameters are put in literally.
    pub pattern: String,
    /// What the program must print for it to be put back by `undo`.
    #[serde(default)]
    pub requires: Option<String>,
    /// Why it isn't changed where that doesn't match.
    #[serde(default)]
    pub because: Option<String>,
    /// Makes it: `{value}` is the text of the wanted value.
    pub write: Vec<String>,
    /// Puts it back: `{old}` is what stood, `{old*}` alone in its word each of its words. Unless said, `write` with the old text.
    #[serde(default)]
    pub undo: Vec<String>,
    /// Texts by value, where they differ: `true = "on"`.
    #[serde(default)]
    pub values: IndexMap<String, String>,
    /// What stands where the pattern matches nothing; unless said, the machine hasn't the setting then.
    #[serde(default)]
    pub absent: Option<String>,
    /// Every match is a thing of its own that is taken away: `swapoff {item}` for each device in use. Only `false` has anything to
    /// do then.
    #[serde(default)]
    pub each: bool,
    /// Whether a restart of the machine undoes it; true unless said.
    #[serde(default = "yes")]
    pub volatile: bool,
    /// Seconds that each command may take; 10 unless said.
    #[serde(default = "usual_limit")]
    pub limit: u64,
}

fn yes() -> bool {
    true
}

fn usual_limit() -> u64 {
    10
}

/// What a program sets, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramChange {
    /// The setting with its parameters.
    pub target: String,
    /// Prints what stands.
    pub read: Vec<String>,
    /// Takes it out of that.
    pub pattern: String,
    /// What stands where the pattern matches nothing.
    pub absent: Option<String>,
    /// Makes it.
    pub make: Vec<String>,
    /// Puts it back.
    pub undo: Vec<String>,
    /// What stood.
    pub old: String,
    /// What is wanted.
    pub new: String,
    /// Whether a restart of the machine undoes it.
    pub volatile: bool,
    /// Seconds that each command may take.
    pub limit: u64,
}

/// Longest that a command may take, whatever a file says.
const LONGEST: u64 = 600;

fn limit(seconds: u64) -> Duration {
    Duration::from_secs(seconds.clamp(1, LONGEST))
}

/// What stands, out of what a program printed.
fn find(pattern: &Regex, absent: Option<&str>, printed: &str) -> Option<String> {
    let found = pattern.captures(printed).map(|captures| {
        let group = captures.get(1).or_else(|| captures.get(0));
        group.map_or("", |group| group.as_str()).trim().to_owned()
    });
    found.or_else(|| absent.map(str::to_owned))
}

fn compile(pattern: &str) -> Result<Regex, String> {
    let built = regex::RegexBuilder::new(pattern)
        .size_limit(1 << 20)
        .build();
    built.map_err(|error| format!("`{pattern}` is no regular expression: {error}"))
}

impl CommandMechanism {
    pub(super) fn templates(&self) -> Vec<&str> {
        let words = self.read.iter().chain(&self.write);
        words.chain([&self.pattern]).map(String::as_str).collect()
    }

    /// Checks that the pattern is one, with any parameters.
    pub(crate) fn check(&self) -> Result<(), String> {
        let pattern = placeholder::fill(&self.pattern, &|_| Some("x".into()))?;
        let requires = self
            .requires
            .iter()
            .try_for_each(|text| compile(text).map(|_| ()));
        compile(&pattern).and(requires)
    }

    pub(super) fn plan(
        &self,
        machine: &MachineRoot,
        setting: &str,
        request: &SettingRequest,
    ) -> Result<Vec<SettingChange>, SettingObstacle> {
        let refused = SettingObstacle::Refused;
        let literal = |name: &str| request.lookup(name).map(|value| regex::escape(&value));
        let pattern = placeholder::fill(&self.pattern, &literal).map_err(refused)?;
        let expression = compile(&pattern).map_err(refused)?;
        let fill_all =
            |words: &[String], value: &str, old: &str| -> Result<Vec<String>, SettingObstacle> {
                let mut filled = Vec::new();
                for word in words {
                    if word == "{old*}" {
                        filled.extend(old.split_whitespace().map(str::to_owned));
                        continue;
                    }
                    let lookup = |name: &str| match name {
                        "value" => Some(value.to_owned()),
                        "old" | "item" => Some(old.to_owned()),
                        _ => request.lookup(name),
                    };
                    filled.push(placeholder::fill(word, &lookup).map_err(refused)?);
                }
                Ok(filled)
            };
        let read = fill_all(&self.read, "", "")?;
        let printed =
            program::run(machine, &read, limit(self.limit)).map_err(|fault| match fault {
                ProgramFault::Missing(text) => SettingObstacle::Missing(text),
                ProgramFault::Failed(text) => SettingObstacle::Refused(text),
            })?;
        if let Some(requires) = &self.requires
            && !compile(requires).map_err(refused)?.is_match(&printed)
        {
            let because = self.because.as_deref().unwrap_or("it couldn't be put back");
            return Err(refused(because.to_owned()));
        }
        let change = |pattern: String, old: String, new: String, target: String| {
            let undo = match self.undo.is_empty() {
                true => fill_all(&self.write, &old, &old)?,
                false => fill_all(&self.undo, &new, &old)?,
            };
            Ok(SettingChange::Program(ProgramChange {
                target,
                read: read.clone(),
                pattern,
                absent: self.absent.clone(),
                make: fill_all(&self.write, &new, &old)?,
                undo,
                old,
                new,
                volatile: self.volatile,
                limit: self.limit,
            }))
        };
        let target = format!("{setting} {}", request.shown_parameters());
        let target = target.trim_end().to_owned();
        if self.each {
            if request.value != Some(SettingValue::Boolean(false)) {
                let text = "what isn't there can't be made of it: only `false` can be asked for";
                return Err(refused(text.to_owned()));
            }
            let items = expression.captures_iter(&printed).filter_map(|captures| {
                let group = captures.get(1).or_else(|| captures.get(0))?;
                Some(group.as_str().to_owned())
            });
            let changes = items.map(|item| {
                // The item stands at the place of the group, and nothing stands where it doesn't.
                let own = format!(r"(?m)^({})(?:\s|$)", regex::escape(&item));
                let target = format!("{target} {item}");
                change(own, item, String::new(), target)
            });
            let mut changes: Vec<SettingChange> = changes.collect::<Result<_, _>>()?;
            for change in &mut changes {
                if let SettingChange::Program(change) = change {
                    change.absent = Some(String::new());
                }
            }
            return Ok(changes);
        }
        let value = request.value.as_ref().map(ToString::to_string);
        let value = value.unwrap_or_default();
        let new = self.values.get(&value).cloned().unwrap_or(value);
        let old = find(&expression, self.absent.as_deref(), &printed).ok_or_else(|| {
            SettingObstacle::Missing(format!("`{}` doesn't say it here", read.join(" ")))
        })?;
        Ok(vec![change(pattern, old, new, target)?])
    }
}

impl ProgramChange {
    pub(super) fn make(&self, machine: &MachineRoot) -> Result<(), String> {
        self.run(machine, &self.make)
    }

    pub(super) fn undo(&self, machine: &MachineRoot) -> Result<(), String> {
        self.run(machine, &self.undo)
    }

    fn run(&self, machine: &MachineRoot, words: &[String]) -> Result<(), String> {
        let ran = program::run(machine, words, limit(self.limit));
        ran.map(|_| ()).map_err(ProgramFault::into_text)
    }

    pub(super) fn state(&self, machine: &MachineRoot) -> ChangeState {
        let printed = match program::run(machine, &self.read, limit(self.limit)) {
            Ok(printed) => printed,
            Err(fault) => return ChangeState::Unreadable(fault.into_text()),
        };
        let now = match compile(&self.pattern) {
            Ok(pattern) => find(&pattern, self.absent.as_deref(), &printed),
            Err(fault) => return ChangeState::Unreadable(fault),
        };
        match now {
            None => ChangeState::Unreadable(format!("`{}` doesn't say it", self.read.join(" "))),
            Some(now) if now == self.old => ChangeState::Old,
            Some(now) if now == self.new => ChangeState::New,
            Some(now) => ChangeState::Other(now),
        }
    }
}
