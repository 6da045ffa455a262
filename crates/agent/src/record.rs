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

/// Sections that a guest shares with its host.
const OF_HOST: [&str; 3] = ["environment", "package", "service"];
/// Values that another boot of the same kernel changes, and those of its build that stand in the small section of the machine too: the
/// large one of settings is the same for most builds. How much of a guest's memory its kernel takes for itself differs from boot to boot,
/// and with it what the kernel makes of the rest.
const OF_BOOT: [&str; 22] = [
    "boot_id",
    "kernel.osrelease",
    "kernel.version",
    "MemTotal",
    "fs.epoll.max_user_watches",
    "kernel.threads-max",
    "max_pending_signals",
    "max_processes",
    "memory.bytes",
    "net.ipv4.tcp_ehash_entries",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
    "net.tcp_rmem",
    "net.tcp_wmem",
    "user.max_",
    "vm.admin_reserve_kbytes",
    "vm.min_free_kbytes",
    "vm.user_reserve_kbytes",
];
/// A word of a guest's command line that is another one in each boot.
const BOOT_WORD: &str = "uml_dir=";

fn is_of_boot(name: &str) -> bool {
    let is_it = |known: &&str| *known == name || known.ends_with('_') && name.starts_with(*known);
    OF_BOOT.iter().any(is_it)
}

/// What of a guest's section every boot of its kernel has.
fn without_boot(section: Section) -> Section {
    let lasting = section.into_iter().filter(|(name, _)| !is_of_boot(name));
    let lasting = lasting.map(|(name, value)| match name.as_str() {
        "kernel.cmdline" => {
            let words = value.split(' ').filter(|word| !word.starts_with(BOOT_WORD));
            let words: Vec<&str> = words.collect();
            let value = words.join(" ");
            (name, value)
        }
        _ => (name, value),
    });
    lasting.collect()
}

/// The longest value that is kept, bytes.
const LONGEST_VALUE: usize = 4096;

/// Records this machine, again and again: what can't have changed since the last time isn't read again.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    kernel_log: KernelLog,
    files: HashedFiles,
}

impl Recorder {
    /// The record of this machine, with what these programs hold; and what the kernel said since the last record. Of a guest, whose
    /// files are its host's, only what its kernel says, so that what many builds share is kept once.
    pub(crate) fn record(&mut self, programs: &[String], is_guest: bool) -> (HostRecord, String) {
        let mut record = collect(Path::new("/"), is_guest);
        for (name, section) in self.files.sections(programs) {
            if !section.is_empty() {
                record.0.insert(name.to_owned(), section);
            }
        }
        (record, self.kernel_log.news())
    }
}

/// The record of the machine whose files are below `root`, by the names of its sections.
fn collect(root: &Path, is_guest: bool) -> HostRecord {
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
    let is_own = |name: &str| !is_guest || !OF_HOST.contains(&name);
    let collectors = collectors.into_iter().filter(|(name, _)| is_own(name));
    let sections = collectors.map(|(name, collector)| {
        let mut values = collector(&machine);
        if is_guest {
            values = without_boot(values);
        }
        let values = values.into_iter();
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
        let first = collect(Path::new("/"), false);
        for section in ["cpu", "machine", "memory", "sysctl", "filesystem", "limit"] {
            assert!(first.0.contains_key(section), "{section}");
        }
        assert!(first.0["sysctl"].contains_key("kernel.osrelease"));
        let second = collect(Path::new("/"), false);
        for (name, section) in &first.0 {
            assert_eq!(Some(section), second.0.get(name), "{name}");
        }
    }

    #[test]
    fn of_a_guest_only_what_each_boot_has_is_recorded() {
        let section = Section::from(
            [
                ("kernel.cmdline", "mem=64M uml_dir=/tmp/1/ quiet"),
                ("user.max_mnt_namespaces", "186"),
                ("user.maximum", "1"),
                ("MemTotal", "47668 kB"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let kept: Vec<(String, String)> = without_boot(section).into_iter().collect();
        let wanted = [("kernel.cmdline", "mem=64M quiet"), ("user.maximum", "1")];
        assert_eq!(
            kept,
            wanted.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn a_machine_that_says_nothing_has_an_empty_record() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(collect(folder.path(), false), HostRecord::default());
    }

    #[test]
    #[ignore = "prints how long a record takes: cargo test --release -p backsight-agent time_of_a_record -- --ignored --nocapture"]
    fn time_of_a_record() {
        let programs = ["sh", "python3", "git"].map(str::to_owned);
        let mut recorder = Recorder::default();
        for _ in 0..9 {
            let begin = std::time::Instant::now();
            let (record, _) = recorder.record(&programs, false);
            let values: usize = record.0.values().map(Section::len).sum();
            println!("{values} values in {:?}", begin.elapsed());
        }
    }
}
