//! Who holds a file's lock, as far as /proc/locks tells: an error that names the process is one that can be mended.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt, path::Path};

/// `by process 123 (sqlite3)`, or in general words where the system doesn't tell.
pub(crate) fn of_any(files: &[&Path]) -> String {
    let inodes: Vec<u64> = files
        .iter()
        .filter_map(|file| fs::metadata(file).ok())
        .map(|meta| meta.ino())
        .collect();
    // The table is read piece by piece while others change it, so that a line may slip through.
    const LOOKS: usize = 3;
    let holders = (0..LOOKS)
        .map(|_| fs::read_to_string("/proc/locks").unwrap_or_default())
        .map(|locks| holders(&locks, &inodes))
        .find(|holders| !holders.is_empty());
    let named: Vec<String> = holders.into_iter().flatten().map(name).collect();
    if named.is_empty() {
        "by another process (`fuser` tells which)".to_owned()
    } else {
        format!("by {}", named.join(", "))
    }
}

fn holders(locks: &str, inodes: &[u64]) -> BTreeSet<u32> {
    locks
        .lines()
        .filter_map(exclusive_lock)
        .filter(|(_, inode)| inodes.contains(inode))
        .map(|(pid, _)| pid)
        .collect()
}

/// The process and the inode of a line such as `3: POSIX  ADVISORY  WRITE 4711 fe:01:131 120 120`.
fn exclusive_lock(line: &str) -> Option<(u32, u64)> {
    let mut fields = line.split_ascii_whitespace().skip_while(|f| *f != "WRITE");
    let pid = fields.nth(1)?.parse().ok()?;
    let inode = fields.next()?.rsplit(':').next()?.parse().ok()?;
    Some((pid, inode))
}

fn name(pid: u32) -> String {
    if pid == std::process::id() {
        return format!("process {pid} (this one)");
    }
    match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(comm) => format!("process {pid} ({})", comm.trim()),
        Err(_) => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_lock_table_is_read() {
        assert_eq!(
            exclusive_lock("3: POSIX  ADVISORY  WRITE 4711 fe:01:131 120 120"),
            Some((4711, 131))
        );
        assert_eq!(
            exclusive_lock("3: POSIX  ADVISORY  READ 4711 fe:01:131 123 123"),
            None
        );
        assert_eq!(exclusive_lock("1: -> OFDLCK WRITE -1 00:01:9 0 EOF"), None);
        assert_eq!(exclusive_lock("WRITE"), None);
    }

    #[test]
    fn without_a_known_holder_the_words_are_general() {
        assert!(of_any(&[Path::new("/does/not/exist")]).contains("another process"));
    }
}
