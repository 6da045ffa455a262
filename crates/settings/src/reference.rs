//! Definitions as people read them: lines of a list, the page of a setting or a set, the reference.

use std::fmt::Write as _;

use crate::{
    catalog::{SettingCatalog, SettingSet},
    definition::{RequiredRight, SettingDefinition},
    mechanism::{Mechanism, ServiceAction},
    value::ValueType,
};

impl SettingDefinition {
    /// How a file asks for it: `irq.affinity = { interface = …, cpus = … }`.
    pub fn form(&self) -> String {
        let name = &self.name;
        if let Some(parameter) = &self.name_parameter {
            return format!("{name}.\"{}\" = …", parameter.to_uppercase());
        }
        let own = (self.value_type != ValueType::None).then_some(&self.key);
        let keys = self.parameters.keys().chain(own);
        match self.parameters.is_empty() {
            true => format!("{name} = …"),
            false => {
                let keys: Vec<String> = keys.map(|key| format!("{key} = …")).collect();
                format!("{name} = {{ {} }}", keys.join(", "))
            }
        }
    }

    /// What it takes to change it.
    pub fn needs(&self) -> &'static str {
        match self.right {
            RequiredRight::Root => "root",
            RequiredRight::None => "nothing",
        }
    }

    /// How it is read, written and read again, and what undoes it; sentences in Markdown.
    pub fn way(&self) -> String {
        let code = |words: &[String]| format!("`{}`", words.join(" "));
        match &self.mechanism {
            Mechanism::Files(alternatives) => {
                let paths = alternatives.iter().map(|one| format!("`{}`", one.path));
                let paths: Vec<String> = paths.collect();
                let files = format!("Files: {}.", paths.join(", or "));
                let one = |is: fn(&crate::FileAlternative) -> bool| alternatives.iter().any(is);
                if let Some(by_hand) = alternatives.iter().find_map(|it| it.read_only.as_ref()) {
                    return format!("{files} It is only read; to change it, {by_hand}.");
                }
                match one(|it| it.once) {
                    true => format!("{files} It is written once; there is nothing to put back."),
                    false => format!("{files} Each is read, written and read again; the text that stood is written back."),
                }
            }
            Mechanism::Folder(it) => {
                format!("A folder `{}`, with its files; the folder is removed.", it.path)
            }
            Mechanism::Command(it) => format!(
                "Read by {}, written by {}; put back by {}.",
                code(&it.read),
                code(&it.write),
                code(if it.undo.is_empty() { &it.write } else { &it.undo })
            ),
            Mechanism::Hold(it) => format!(
                "`{}` is kept open with the value; the kernel puts it back when it is closed.",
                it.path
            ),
            Mechanism::Services(it) => match it.action {
                ServiceAction::Stop => "`systemctl stop`; those that ran are started again.".into(),
                ServiceAction::Start => "`systemctl start`; those that didn't run are stopped.".into(),
            },
            Mechanism::Mount(_) => {
                "`mkfs` and `mount`; it is unmounted, and a file made for it is removed.".into()
            }
            Mechanism::Route(_) => {
                "`ip route replace`, read again by `ip route show`; what is new is deleted, and what stood is written again.".into()
            }
            Mechanism::Limit(it) => {
                let names = |files: &crate::LimitFiles| {
                    let names = files.files.iter().map(|file| format!("`{}`", file.name));
                    names.collect::<Vec<_>>().join(", ")
                };
                let legacy = it.legacy.as_ref().map_or_else(
                    || " There is none of version 1.".to_owned(),
                    |files| format!(" Of version 1: {}.", names(files)),
                );
                format!(
                    "A control group is made for each trial, for the programs of its steps, those of monitors left out, and is removed after it. Of version 2: {}.{legacy}",
                    names(&it.unified)
                )
            }
            Mechanism::Process(_) => {
                "Given to the programs of a trial's steps as they are started, those of monitors left out; nothing of the machine is changed.".into()
            }
        }
    }

    /// Its page: what it is, its values, how it is made, what it doesn't go with.
    pub fn page(&self) -> String {
        let mut text = format!(
            "{}\n\n{}\n\nwritten:    {}\n",
            self.name,
            self.about,
            self.form()
        );
        let _ = writeln!(text, "value:      {}", self.value_type);
        for (name, kind) in &self.parameters {
            let _ = writeln!(text, "parameter:  {name}: {kind}");
        }
        let _ = writeln!(text, "needs:      {}", self.needs());
        let _ = writeln!(text, "made:       {}", self.way());
        if let Some(why) = &self.whole_study {
            let _ = writeln!(text, "variants:   not in a variant: {why}");
        }
        for sentence in self.conflict_sentences() {
            let _ = writeln!(text, "conflict:   {sentence}");
        }
        text
    }

    fn conflict_sentences(&self) -> impl Iterator<Item = String> {
        self.conflicts.iter().map(|conflict| {
            let value = |value: &Option<crate::SettingValue>| {
                value
                    .as_ref()
                    .map(|value| format!(" = {value}"))
                    .unwrap_or_default()
            };
            let when = conflict
                .when
                .as_ref()
                .map(|own| format!("{own}, "))
                .unwrap_or_default();
            let with = &*conflict.with;
            format!(
                "{when}with `{with}{}`: {}",
                value(&conflict.value),
                conflict.why
            )
        })
    }

    /// Its section of the reference.
    fn section(&self) -> String {
        let mut text = format!("\n## {}\n\n{}\n\n", self.name, self.about);
        let _ = write!(text, "`{}`; a value is {}.", self.form(), self.value_type);
        for (name, kind) in &self.parameters {
            let _ = write!(text, " `{name}` is {kind}.");
        }
        let _ = write!(text, " Needs {}. {}", self.needs(), self.way());
        if let Some(why) = &self.whole_study {
            let _ = write!(text, " Not in a variant: {why}.");
        }
        for sentence in self.conflict_sentences() {
            let _ = write!(text, " Not {sentence}.");
        }
        text.push('\n');
        text
    }
}

impl SettingSet {
    /// Its page: what it is for, and its text.
    pub fn page(&self) -> String {
        format!("{}\n\n{}\n\n{}", self.name, self.about, self.document.text)
    }
}

/// The reference page of all settings and sets, below a line that says what made it.
pub fn reference_page(catalog: &SettingCatalog, generated: &str) -> String {
    let mut text = format!(
        "# Settings of machines\n\n{generated}\nWhat `prepare` in a lab, a plan or a variant may ask for: see [how to prepare a machine](../how-to/prepare-a-machine.md). A value, or a text in one, may have placeholders (`{{cpus}}`, `{{ROLE.interface}}`); `\"as-is\"` leaves a setting as it stands.\n"
    );
    for definition in catalog.settings() {
        text.push_str(&definition.section());
    }
    text.push_str("\n# Sets\n\nNames in a list: `prepare = [\"quiet\"]`.\n");
    for set in catalog.sets() {
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\n```toml\n{}```\n",
            set.name, set.about, set.document.text
        );
    }
    text
}
