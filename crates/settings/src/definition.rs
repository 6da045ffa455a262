//! A setting's definition: one file a setting. It says what the setting does, which values it takes, and how it is made.

use backsight_model::{DocumentError, Located, TomlDocument, did_you_mean};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    mechanism::{
        CommandMechanism, FileAlternative, FolderMechanism, HoldMechanism, LimitMechanism,
        Mechanism, MountMechanism, ProcessMechanism, RouteMechanism, ServicesMechanism,
    },
    parameter::ParameterType,
    placeholder,
    value::{SettingValue, ValueType},
};

/// What it takes to change a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequiredRight {
    /// To be root.
    #[default]
    Root,
    /// Nothing.
    None,
}

/// Two settings that don't go together.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingConflict {
    /// The other setting.
    pub with: Located<String>,
    /// Only with this value of the other.
    #[serde(default)]
    pub value: Option<SettingValue>,
    /// Only with this value of its own.
    #[serde(default)]
    pub when: Option<SettingValue>,
    /// Why not.
    pub why: String,
}

/// A setting of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDefinition {
    /// Its name: `cpu.governor`.
    pub name: String,
    /// What it does, and why it disturbs measurements.
    pub about: String,
    /// Which values it takes.
    pub value_type: ValueType,
    /// The key of its value in a table with parameters.
    pub key: String,
    /// Its parameters.
    pub parameters: IndexMap<String, ParameterType>,
    /// The parameter whose value is the key below the setting's name: `sysctl."vm.swappiness"`.
    pub name_parameter: Option<String>,
    /// What it takes to change it.
    pub right: RequiredRight,
    /// Settings are made in this order, and put back in the reverse one: 10 for services, 50 unless said, 90 for what takes processors away.
    pub order: u8,
    /// Why it can't be changed between the trials of a study, where it can't.
    pub whole_study: Option<String>,
    /// What it doesn't go together with.
    pub conflicts: Vec<SettingConflict>,
    /// How it is made.
    pub mechanism: Mechanism,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DefinitionFile {
    /// Its name, which is its file's: `memory.thp`.
    name: Located<String>,
    /// What it does, and why it disturbs measurements.
    about: Located<String>,
    /// Which values it takes.
    #[serde(rename = "type")]
    value_type: ValueType,
    /// The key of its value in a table with parameters; `value` unless said.
    #[serde(default = "value_key")]
    key: String,
    /// Its parameters, each with its type.
    #[serde(default)]
    parameters: IndexMap<String, ParameterType>,
    /// The parameter whose value is the key below the setting's name.
    #[serde(default)]
    name_parameter: Option<Located<String>>,
    /// What it takes to change it; root unless said.
    #[serde(default)]
    right: RequiredRight,
    /// Settings are made in this order, and put back in the reverse one; 50 unless said.
    #[serde(default = "usual_order")]
    order: u8,
    /// Why it can't be changed between the trials of a study, where it can't: a variant may not ask for it.
    #[serde(default)]
    whole_study: Option<String>,
    /// What it doesn't go together with.
    #[serde(default, rename = "conflict")]
    conflicts: Vec<SettingConflict>,
    /// Made by files; the first alternative of which the machine has files.
    #[serde(default)]
    files: Vec<FileAlternative>,
    /// Made by a folder that the kernel fills.
    #[serde(default)]
    folder: Option<FolderMechanism>,
    /// Made by programs.
    #[serde(default)]
    command: Option<CommandMechanism>,
    /// Made by a file that is kept open.
    #[serde(default)]
    hold: Option<HoldMechanism>,
    /// Made by starting or stopping units.
    #[serde(default)]
    services: Option<ServicesMechanism>,
    /// Made by a file system that is mounted.
    #[serde(default)]
    mount: Option<MountMechanism>,
    /// Made as a route.
    #[serde(default)]
    route: Option<RouteMechanism>,
    /// Given to the programs of trials as they are started.
    #[serde(default)]
    process: Option<ProcessMechanism>,
    /// Kept by the control groups of a trial.
    #[serde(default)]
    limit: Option<LimitMechanism>,
}

fn value_key() -> String {
    "value".to_owned()
}

fn usual_order() -> u8 {
    50
}

/// Whether this can be a setting's name: words of small letters, digits and dashes with dots between.
fn is_name(text: &str) -> bool {
    let is_word = |word: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(fits)
    };
    text.len() <= 64 && text.split('.').all(is_word)
}

impl SettingDefinition {
    /// Reads a definition.
    ///
    /// # Errors
    /// It isn't one; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        let file: DefinitionFile = document.read()?;
        let at_name = |message: String, help: &str| {
            document.problem(
                file.name.span(),
                message,
                "of this setting",
                Some(help.into()),
            )
        };
        if !is_name(&file.name) {
            return Err(at_name(
                format!("`{}` can't be a setting's name", *file.name),
                "small letters, digits and dashes, with dots between: `memory.thp-defrag`",
            ));
        }
        if file.about.trim().is_empty() {
            let help = Some("say what it does, and why it disturbs measurements".into());
            return Err(document.problem(file.about.span(), "nothing is said", "here", help));
        }
        if let Some(name) = &file.name_parameter
            && !file.parameters.contains_key(&**name)
        {
            let help = did_you_mean(name, file.parameters.keys().map(String::as_str));
            let message = format!("there is no parameter `{}`", **name);
            return Err(document.problem(name.span(), message, "here", help));
        }
        let mut mechanisms = Vec::new();
        if !file.files.is_empty() {
            mechanisms.push(Mechanism::Files(file.files.clone()));
        }
        mechanisms.extend(file.folder.clone().map(Mechanism::Folder));
        mechanisms.extend(file.command.clone().map(Mechanism::Command));
        mechanisms.extend(file.hold.clone().map(Mechanism::Hold));
        mechanisms.extend(file.services.clone().map(Mechanism::Services));
        mechanisms.extend(file.mount.clone().map(Mechanism::Mount));
        mechanisms.extend(file.route.clone().map(Mechanism::Route));
        mechanisms.extend(file.process.clone().map(Mechanism::Process));
        mechanisms.extend(file.limit.clone().map(Mechanism::Limit));
        let Ok([mechanism]) = <[Mechanism; 1]>::try_from(mechanisms) else {
            return Err(at_name(
                format!("`{}` isn't made in exactly one way", *file.name),
                "one of `[[files]]`, `[folder]`, `[command]`, `[hold]`, `[services]`, `[mount]`, `[route]`, `[process]`, `[limit]`",
            ));
        };
        let definition = Self {
            name: file.name.clone().into_inner(),
            about: file.about.into_inner(),
            value_type: file.value_type,
            key: file.key,
            parameters: file.parameters,
            name_parameter: file.name_parameter.map(Located::into_inner),
            right: file.right,
            order: file.order,
            whole_study: file.whole_study,
            conflicts: file.conflicts,
            mechanism,
        };
        definition.check_templates(document)?;
        Ok(definition)
    }

    /// Checks that every placeholder is a parameter.
    fn check_templates(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let at_text = |text: &str, message: String, help: Option<String>| {
            let found = document.text.find(text);
            let span = found.map_or(0..0, |at| at..at + text.len());
            document.problem(span, message, "here", help)
        };
        let each: Vec<&String> = match &self.mechanism {
            Mechanism::Files(alternatives) => alternatives
                .iter()
                .flat_map(|a| a.for_each.keys())
                .collect(),
            _ => Vec::new(),
        };
        let known = || {
            let parameters = self.parameters.keys().chain(each.iter().copied());
            let own = ["value", "old", "item", "old*", "number"];
            parameters.map(String::as_str).chain(own)
        };
        for text in self.mechanism.templates() {
            let names = placeholder::names(text).map_err(|fault| at_text(text, fault, None))?;
            if let Some(name) = names.into_iter().find(|name| !known().any(|k| k == *name)) {
                let message = format!("`{{{name}}}` is no parameter of `{}`", self.name);
                return Err(at_text(text, message, did_you_mean(name, known())));
            }
        }
        if let Mechanism::Command(command) = &self.mechanism {
            let checked = command.check();
            checked.map_err(|fault| at_text(&command.pattern, fault, None))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOVERNOR: &str = "name = 'cpu.governor'\nabout = 'x'\ntype = 'word'\n[[files]]\npath = '/sys/cpu*/{a}'\n[parameters]\na = 'interface'\n";

    fn read(text: &str) -> Result<SettingDefinition, (String, (usize, usize))> {
        let read = SettingDefinition::read(&TomlDocument::new("x.toml", text));
        read.map_err(|error| (error.to_string(), error.place()))
    }

    #[test]
    fn a_fault_of_a_definition_is_told_with_its_place() {
        assert!(read(GOVERNOR).is_ok());
        let (message, place) = read(&GOVERNOR.replace("{a}", "{b}")).unwrap_err();
        assert_eq!(message, "`{b}` is no parameter of `cpu.governor`");
        assert_eq!(place, (5, 9));
        let (message, _) = read(&GOVERNOR.replace("path", "pth")).unwrap_err();
        assert!(message.contains("unknown field `pth`"), "{message}");
        let (message, _) = read(&GOVERNOR.replace("cpu.governor", "CPU")).unwrap_err();
        assert!(message.contains("can't be a setting's name"), "{message}");
        let two = format!("{GOVERNOR}[services]\naction = 'stop'\n");
        assert!(read(&two).unwrap_err().0.contains("exactly one way"));
        let wrong = "name = 'a'\nabout = 'x'\ntype = 'word'\n[command]\nread = ['x']\nwrite = ['x']\npattern = '('\n";
        let (message, place) = read(wrong).unwrap_err();
        assert!(message.contains("no regular expression"), "{message}");
        assert_eq!(place, (7, 12));
    }
}
