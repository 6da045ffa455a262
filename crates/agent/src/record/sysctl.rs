//! Every sysctl that is a setting.

use std::fs;
use std::path::Path;

use super::{MachineFiles, Section};

/// Files that count, name the moment or draw a number; the last part of a name may begin with what stands before `*`.
const NOT_SETTINGS: &[&str] = &[
    "fs.aio-nr",
    "fs.dentry-state",
    "fs.file-nr",
    "fs.inode-nr",
    "fs.inode-state",
    "fs.quota.*",
    "kernel.domainname",
    "kernel.ns_last_pid",
    "kernel.perf_event_max_sample_rate",
    "kernel.pty.nr",
    "kernel.random.*",
    "kernel.seccomp.actions_avail",
    "kernel.tainted",
    "net.netfilter.nf_conntrack_count",
    "vm.drop_caches",
    "vm.stat_refresh",
    "vm.compact_memory",
];

/// Settings that are secrets themselves.
const SECRET: &[&str] = &["stable_secret", "tcp_fastopen_key"];

/// Names as `sysctl` prints them, with their values.
pub(super) fn all(machine: &MachineFiles) -> Section {
    let mut found = Section::new();
    add_folder(&machine.path("proc/sys"), &mut Vec::new(), &mut found);
    found
}

fn add_folder(folder: &Path, place: &mut Vec<String>, found: &mut Section) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
            continue;
        };
        let is_secret = SECRET.contains(&name.as_str());
        // A dot in the name of an interface is a slash where names have dots between them.
        place.push(name.replace('.', "/"));
        let name = place.join(".");
        if kind.is_dir() {
            add_folder(&entry.path(), place, found);
        } else if !is_secret
            && !NOT_SETTINGS.iter().any(|pattern| fits(pattern, &name))
            && let Ok(value) = fs::read(entry.path())
        {
            let value = String::from_utf8_lossy(&value);
            let words: Vec<&str> = value.split_ascii_whitespace().collect();
            found.insert(name, words.join(" "));
        }
        place.pop();
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_recorded_and_counters_and_secrets_are_not() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("vm/swappiness", "60\n"),
            ("net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
            ("net/ipv4/tcp_fastopen_key", "01234567-89abcdef\n"),
            ("net/ipv6/conf/eth0.5/stable_secret", "2001:db8::1\n"),
            ("net/ipv6/conf/eth0.5/mtu", "1500\n"),
            ("kernel/random/uuid", "c0ffee\n"),
            ("fs/file-nr", "1 2 3\n"),
        ] {
            let file = folder.path().join("proc/sys").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let found = all(&MachineFiles::new(folder.path()));
        let wanted = [
            ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("net.ipv6.conf.eth0/5.mtu", "1500"),
            ("vm.swappiness", "60"),
        ];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, wanted.into());
    }
}
