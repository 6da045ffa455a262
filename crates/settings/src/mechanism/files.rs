//! Settings that are files of the kernel's: each file is its own old value.

use indexmap::IndexMap;
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChangeState, SettingObstacle};
use crate::{
    cpu_list::CpuList, machine_root::MachineRoot, placeholder, request::SettingRequest,
    value::SettingValue,
};
use backsight_model::did_you_mean;

/// Files that have the setting on some machines: `[[files]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileAlternative {
    /// The files: a path in which `*` stands for any part of one component, with placeholders.
    pub path: String,
    /// A placeholder in `path` that stands for the names of the files that one of these patterns names.
    #[serde(default)]
    pub for_each: IndexMap<String, Vec<String>>,
    /// Texts by value, where they differ: `false = "1"`.
    #[serde(default)]
    pub values: IndexMap<String, String>,
    /// What of the file is the value.
    #[serde(default)]
    pub reading: FileReading,
    /// How values are written and compared.
    #[serde(default)]
    pub format: FileFormat,
    /// A file beside each that says which words there are.
    #[serde(default)]
    pub choices_from: Option<String>,
    /// Texts with which the kernel says that the machine hasn't it.
    #[serde(default)]
    pub absent_when: Vec<String>,
    /// Files that the kernel changes when this one is written: kept and put back too.
    #[serde(default)]
    pub disturbs: Vec<String>,
    /// A file that refuses keeps the others from nothing.
    #[serde(default)]
    pub partial: bool,
    /// Written, never read: nothing is put back.
    #[serde(default)]
    pub once: bool,
    /// It can only be verified; what a person can do where it isn't so.
    #[serde(default)]
    pub read_only: Option<String>,
}

/// What of a file's text is the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileReading {
    /// All of it.
    #[default]
    Whole,
    /// The word in brackets: `always [madvise] never`.
    Selected,
    /// Whether a word is in it: `+cpuset` adds it, `-cpuset` takes it out.
    Member,
}

/// How a value is written, and when two texts are the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileFormat {
    /// Words, with any space between.
    #[default]
    Text,
    /// A list of CPUs.
    CpuList,
    /// A mask of CPUs.
    CpuMask,
}

impl FileFormat {
    fn write(self, value: &SettingValue) -> Result<String, String> {
        let text = value.to_string();
        match self {
            Self::Text => Ok(text),
            Self::CpuList => CpuList::parse(&text).map(|list| list.to_string()),
            Self::CpuMask => CpuList::parse(&text).map(|list| list.as_mask()),
        }
    }

    fn is_same(self, one: &str, other: &str) -> bool {
        let lists = |parse: fn(&str) -> Result<CpuList, String>| matches!((parse(one), parse(other)), (Ok(one), Ok(other)) if one == other);
        one.split_whitespace().eq(other.split_whitespace())
            || match self {
                Self::Text => false,
                Self::CpuList => lists(CpuList::parse),
                Self::CpuMask => lists(CpuList::parse_mask),
            }
    }
}

/// A file's text, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file, on the machine.
    pub path: String,
    /// What of it is the value.
    pub reading: FileReading,
    /// When two texts are the same.
    pub format: FileFormat,
    /// What stood: the whole text, or the word.
    pub old: String,
    /// What is wanted; none for a file that the kernel changes along with another.
    pub new: Option<String>,
    /// A refusal keeps the others of the setting from nothing.
    #[serde(default)]
    pub partial: bool,
    /// Written, never read or put back.
    #[serde(default)]
    pub once: bool,
}

impl FileAlternative {
    pub(super) fn templates(&self) -> impl Iterator<Item = &str> {
        let each = self.for_each.values().flatten();
        [&self.path]
            .into_iter()
            .chain(each)
            .chain(&self.disturbs)
            .chain(&self.read_only)
            .map(String::as_str)
    }

    /// The files of this alternative that the machine has.
    fn files(
        &self,
        machine: &MachineRoot,
        request: &SettingRequest,
    ) -> Result<Vec<String>, String> {
        let Some((name, patterns)) = self.for_each.first() else {
            let path = placeholder::fill(&self.path, &|name| request.lookup(name))?;
            return Ok(machine.files(&path));
        };
        let mut found = Vec::new();
        for pattern in patterns {
            let pattern = placeholder::fill(pattern, &|name| request.lookup(name))?;
            for file in machine.files(&pattern) {
                let value = file.rsplit('/').next().unwrap_or_default().to_owned();
                let lookup = |asked: &str| match asked == name {
                    true => Some(value.clone()),
                    false => request.lookup(asked),
                };
                found.extend(machine.files(&placeholder::fill(&self.path, &lookup)?));
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    fn text(&self, request: &SettingRequest) -> Result<String, String> {
        let value = request.value.as_ref().ok_or("no value is given")?;
        match self.values.get(&value.to_string()) {
            Some(text) => Ok(text.clone()),
            None => self.format.write(value),
        }
    }

    fn change(
        &self,
        machine: &MachineRoot,
        path: String,
        text: &str,
    ) -> Result<FileChange, SettingObstacle> {
        let mut change = FileChange {
            path,
            reading: self.reading,
            format: self.format,
            old: String::new(),
            new: Some(text.to_owned()),
            partial: self.partial,
            once: self.once,
        };
        if self.once {
            return Ok(change);
        }
        let read = machine.read(&change.path);
        let raw = read.map_err(|error| {
            let said = format!("{} can't be read: {error}", change.path);
            // A driver without it has the file all the same.
            match Errno::from_io_error(&error) {
                Some(Errno::NOENT | Errno::OPNOTSUPP | Errno::NODEV | Errno::NXIO) => {
                    SettingObstacle::Missing(said)
                }
                _ => SettingObstacle::Refused(said),
            }
        })?;
        if self.absent_when.iter().any(|word| word == raw.trim()) {
            let said = format!(
                "this machine hasn't it: {} says `{}`",
                change.path,
                raw.trim()
            );
            return Err(SettingObstacle::Missing(said));
        }
        change.old = change.value_in(&raw);
        let offered = match (&self.choices_from, self.reading) {
            (Some(beside), _) => {
                let folder = change
                    .path
                    .rsplit_once('/')
                    .map_or("", |(folder, _)| folder);
                machine.read(&format!("{folder}/{beside}")).ok()
            }
            (None, FileReading::Selected) => Some(raw.replace(['[', ']'], "")),
            _ => None,
        };
        if let Some(offered) = offered {
            let words: Vec<&str> = offered.split_whitespace().collect();
            if !words.contains(&text) {
                let near = did_you_mean(text, words.iter().copied()).unwrap_or_default();
                let said = format!(
                    "`{text}` isn't offered by {}: {} {near}",
                    change.path,
                    words.join(", ")
                );
                return Err(SettingObstacle::Refused(said.trim_end().to_owned()));
            }
        }
        Ok(change)
    }
}

/// The changes that the first alternative with files needs.
pub(super) fn plan(
    machine: &MachineRoot,
    request: &SettingRequest,
    alternatives: &[FileAlternative],
) -> Result<Vec<super::SettingChange>, SettingObstacle> {
    for alternative in alternatives {
        let files = alternative
            .files(machine, request)
            .map_err(SettingObstacle::Refused)?;
        if files.is_empty() {
            continue;
        }
        let text = alternative
            .text(request)
            .map_err(SettingObstacle::Refused)?;
        let mut changes = Vec::new();
        for path in files {
            changes.push(alternative.change(machine, path, &text)?);
        }
        if let Some(way_out) = &alternative.read_only {
            let wrong = changes.iter().find(|change| !change.is_already_so());
            let Some(wrong) = wrong else {
                return Ok(changes
                    .into_iter()
                    .map(super::SettingChange::File)
                    .collect());
            };
            let way_out = placeholder::fill(way_out, &|name| request.lookup(name));
            return Err(SettingObstacle::Refused(format!(
                "{} is `{}` and can't be changed while the machine runs: {}",
                wrong.path,
                wrong.old.trim(),
                way_out.unwrap_or_default()
            )));
        }
        if changes.iter().all(FileChange::is_already_so) {
            return Ok(changes
                .into_iter()
                .map(super::SettingChange::File)
                .collect());
        }
        // They are put back last, after what disturbed them.
        let mut all = Vec::new();
        for pattern in &alternative.disturbs {
            let pattern = placeholder::fill(pattern, &|name| request.lookup(name));
            for path in machine.files(&pattern.map_err(SettingObstacle::Refused)?) {
                if let Ok(old) = machine.read(&path) {
                    all.push(FileChange {
                        path,
                        reading: FileReading::Whole,
                        format: FileFormat::Text,
                        old,
                        new: None,
                        partial: false,
                        once: false,
                    });
                }
            }
        }
        all.extend(changes);
        return Ok(all.into_iter().map(super::SettingChange::File).collect());
    }
    let first = alternatives.first().map_or("", |first| first.path.as_str());
    let path = placeholder::fill(first, &|name| {
        request.lookup(name).or_else(|| Some(format!("{{{name}}}")))
    });
    let path = path.unwrap_or_default();
    Err(SettingObstacle::Missing(format!(
        "this machine hasn't {path}"
    )))
}

impl FileChange {
    /// The value in a file's text.
    fn value_in(&self, raw: &str) -> String {
        match self.reading {
            FileReading::Whole => raw.to_owned(),
            FileReading::Selected => {
                let selected = raw
                    .split_whitespace()
                    .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
                selected.map_or_else(|| raw.trim().to_owned(), str::to_owned)
            }
            FileReading::Member => {
                let sign_and_word = self.new.as_deref().unwrap_or_default();
                let word = sign_and_word.trim_start_matches(['+', '-']);
                match raw.split_whitespace().any(|found| found == word) {
                    true => format!("+{word}"),
                    false => format!("-{word}"),
                }
            }
        }
    }

    pub(super) fn is_already_so(&self) -> bool {
        let new = self.new.as_deref();
        !self.once && new.is_some_and(|new| self.format.is_same(&self.old, new))
    }

    fn write(&self, machine: &MachineRoot, text: &str) -> Result<(), String> {
        let written = match self.reading {
            FileReading::Selected => machine.select(&self.path, text),
            // An empty text would be no write at all.
            FileReading::Whole if text.is_empty() => machine.write(&self.path, "\n"),
            FileReading::Whole => machine.write(&self.path, text),
            FileReading::Member => machine.toggle(&self.path, text),
        };
        written.map_err(|error| {
            format!(
                "`{}` can't be written to {}: {error}",
                text.trim(),
                self.path
            )
        })
    }

    pub(super) fn make(&self, machine: &MachineRoot) -> Result<(), String> {
        match &self.new {
            Some(new) if self.reading == FileReading::Whole => {
                self.write(machine, &format!("{new}\n"))
            }
            Some(new) => self.write(machine, new),
            None => Ok(()),
        }
    }

    pub(super) fn state(&self, machine: &MachineRoot) -> ChangeState {
        let raw = match machine.read(&self.path) {
            Ok(raw) => raw,
            Err(error) => {
                return ChangeState::Unreadable(format!("{} can't be read: {error}", self.path));
            }
        };
        let now = self.value_in(&raw);
        // Until it is read again as it was, byte for byte, nothing of ours is left in it.
        if now == self.old {
            return ChangeState::Old;
        }
        match &self.new {
            Some(new) if self.format.is_same(&now, new) => ChangeState::New,
            None => ChangeState::New,
            Some(_) if self.format.is_same(&now, &self.old) => ChangeState::Old,
            Some(_) => ChangeState::Other(now.trim().to_owned()),
        }
    }

    pub(super) fn undo(&self, machine: &MachineRoot) -> Result<(), String> {
        self.write(machine, &self.old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(reading: FileReading, format: FileFormat, old: &str, new: &str) -> FileChange {
        FileChange {
            path: "/f".into(),
            reading,
            format,
            old: old.into(),
            new: Some(new.into()),
            partial: false,
            once: false,
        }
    }

    #[test]
    fn the_same_value_in_other_words_is_already_so() {
        assert!(
            change(
                FileReading::Whole,
                FileFormat::CpuMask,
                "00000000,00000003\n",
                "3"
            )
            .is_already_so()
        );
        assert!(change(FileReading::Whole, FileFormat::CpuList, "0,1\n", "0-1").is_already_so());
        assert!(
            change(
                FileReading::Whole,
                FileFormat::Text,
                "4096\t87380 1\n",
                "4096 87380 1"
            )
            .is_already_so()
        );
        assert!(!change(FileReading::Whole, FileFormat::Text, "10\n", "1").is_already_so());
    }

    #[test]
    fn what_is_put_back_is_the_whole_text_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let machine = MachineRoot::in_folder(folder.path(), Vec::new());
        std::fs::write(folder.path().join("f"), "  powersave \n\n").unwrap();
        let change = change(
            FileReading::Whole,
            FileFormat::Text,
            "  powersave \n\n",
            "performance",
        );
        assert_eq!(change.state(&machine), ChangeState::Old);
        change.make(&machine).unwrap();
        assert_eq!(machine.read("/f").unwrap(), "performance\n");
        assert_eq!(change.state(&machine), ChangeState::New);
        change.undo(&machine).unwrap();
        assert_eq!(machine.read("/f").unwrap(), "  powersave \n\n");
        machine.write("/f", "ondemand\n").unwrap();
        assert_eq!(
            change.state(&machine),
            ChangeState::Other("ondemand".into())
        );
        std::fs::remove_file(folder.path().join("f")).unwrap();
        assert!(matches!(change.state(&machine), ChangeState::Unreadable(_)));
    }

    #[test]
    fn a_member_is_added_and_taken_out() {
        let folder = tempfile::tempdir().unwrap();
        let machine = MachineRoot::in_folder(folder.path(), Vec::new());
        std::fs::write(folder.path().join("f"), "cpu memory\n").unwrap();
        let change = change(FileReading::Member, FileFormat::Text, "-cpuset", "+cpuset");
        assert_eq!(change.state(&machine), ChangeState::Old);
        change.make(&machine).unwrap();
        assert_eq!(machine.read("/f").unwrap(), "cpu memory cpuset\n");
        assert_eq!(change.state(&machine), ChangeState::New);
        change.undo(&machine).unwrap();
        assert_eq!(machine.read("/f").unwrap(), "cpu memory\n");
    }
}
