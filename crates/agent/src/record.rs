//! The record of a machine: hardware, firmware, kernel, settings, packages, each as a name with a value. Secrets aren't recorded
//! ([`redaction`]), and neither is what changes by itself from one moment to the next. Missing is missing: what the machine doesn't
//! say has no line.

mod hardware;
mod kernel_log;
mod programs;
pub(crate) mod redaction;
mod software;
mod sysctl;

use std::path::Path;

use backsight_model::{HostRecord, RecordSection as Section};

use kernel_log::KernelLog;
use programs::HashedFiles;

use crate::facts;
use crate::machine_files::MachineFiles;

/// Reads one section.
type Collector = fn(&MachineFiles) -> Section;

/// The longest value that is kept, bytes.
const LONGEST_VALUE: usize = 4096;

/// Records this machine, again and again: what can't have changed since the last time isn't read again.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    kernel_log: KernelLog,
    files: HashedFiles,
}

impl Recorder {
    /// The record of this machine, with what these programs hold; and what the kernel said since the last record.
    pub(crate) fn record(&mut self, programs: &[String]) -> (HostRecord, String) {
        let mut record = collect(Path::new("/"));
        for (name, section) in self.files.sections(programs) {
            if !section.is_empty() {
                record.0.insert(name.to_owned(), section);
            }
        }
        (record, self.kernel_log.news())
    }
}

/// The record of the machine whose files are below `root`, by the names of its sections.
fn collect(root: &Path) -> HostRecord {
    let machine = MachineFiles::new(root);
    let collectors: [(&str, Collector); 13] = [
        ("cpu", hardware::cpu),
        ("disk", hardware::disks),
        ("environment", software::environment),
        ("filesystem", software::file_systems),
        ("kernel-config", software::kernel_config),
        ("limit", software::limits),
        ("link", hardware::links),
        ("machine", machine_facts),
        ("memory", hardware::memory),
        ("module", software::modules),
        ("package", software::packages),
        ("service", software::services),
        ("sysctl", sysctl::all),
    ];
    let sections = collectors.into_iter().map(|(name, collector)| {
        let values = collector(&machine).into_iter();
        let told = values.filter(|(_, value)| !value.is_empty());
        let kept = told.map(|(name, value)| {
            let value = redaction::without_secrets(&name, &value);
            (name, shortened(value))
        });
        (name.to_owned(), kept.collect::<Section>())
    });
    let sections = sections.filter(|(_, section)| !section.is_empty());
    HostRecord(sections.collect())
}

fn machine_facts(machine: &MachineFiles) -> Section {
    match machine.is_here() {
        true => facts::all(),
        false => Section::new(),
    }
}

fn shortened(mut value: String) -> String {
    if value.len() > LONGEST_VALUE {
        value.truncate(value.floor_char_boundary(LONGEST_VALUE));
        value.push('…');
    }
    value
}

/// Puts values into a section, where there are some.
trait AddValue {
    fn add(&mut self, name: impl Into<String>, value: Option<String>);
}

impl AddValue for Section {
    fn add(&mut self, name: impl Into<String>, value: Option<String>) {
        if let Some(value) = value {
            self.insert(name.into(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_s_record_is_the_same_twice() {
        let first = collect(Path::new("/"));
        for section in ["cpu", "machine", "memory", "sysctl", "filesystem", "limit"] {
            assert!(first.0.contains_key(section), "{section}");
        }
        assert!(first.0["sysctl"].contains_key("kernel.osrelease"));
        let second = collect(Path::new("/"));
        for (name, section) in &first.0 {
            assert_eq!(Some(section), second.0.get(name), "{name}");
        }
    }

    #[test]
    fn a_machine_that_says_nothing_has_an_empty_record() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(collect(folder.path()), HostRecord::default());
    }

    #[test]
    #[ignore = "prints how long a record takes: cargo test --release -p backsight-agent time_of_a_record -- --ignored --nocapture"]
    fn time_of_a_record() {
        let programs = ["sh", "python3", "git"].map(str::to_owned);
        let mut recorder = Recorder::default();
        for _ in 0..9 {
            let begin = std::time::Instant::now();
            let (record, _) = recorder.record(&programs);
            let values: usize = record.0.values().map(Section::len).sum();
            println!("{values} values in {:?}", begin.elapsed());
        }
    }
}
