//! Core files that programs of a trial left: found below its folder, read, and said why there can't be any.
//!
//! Which files may be some is said by the kernel's pattern of their names; whether one is, by its ELF header. A core file that the kernel
//! cut at its limit is no more than named.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::sys::resource::{Resource, getrlimit};
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader as _};
use object::{Endianness, ReadCache, ReadRef};
use prost::bytes::Bytes;

use crate::proto::{self, core_file_event::Event};

/// The kernel's pattern of the names of core files.
const PATTERN: &str = "/proc/sys/kernel/core_pattern";
/// Core files of a trial that are named: of more, only their number is.
const MOST_FILES: usize = 64;
/// How much of a file goes into one event, bytes.
const PIECE: usize = 256 << 10;
/// The longest note that is read, bytes.
const LONGEST_NOTE: u64 = 1 << 20;
/// Where the kernel's `struct elf_prpsinfo` of 64-bit machines has the name of the program, and how long that is at most.
const PROGRAM_NAME: std::ops::Range<usize> = 40..56;

/// A core file that was found.
#[derive(Debug, PartialEq, Eq)]
struct FoundCore {
    /// The file.
    path: PathBuf,
    /// What the kernel calls the program that crashed.
    program: Option<String>,
    /// The signal that ended it.
    signal: Option<i32>,
    /// How long it is, or would be if it weren't cut.
    bytes: u64,
    made: (i64, i64),
}

/// Sends what programs left below a folder since, with the content of files that are together no longer than a limit. Ends early where
/// nobody listens.
pub(crate) fn send(
    folder: &Path,
    since: SystemTime,
    limit: u64,
    mut send: impl FnMut(Event) -> bool,
) {
    let (found, left_out) = find(folder, since);
    let mut left = limit;
    for core in found {
        let content = match core.bytes <= left {
            true => fs::read(&core.path).ok(),
            false => None,
        };
        // One that is shorter than its header says was cut.
        let content = content.filter(|content| content.len() as u64 == core.bytes);
        let path = core.path.strip_prefix(folder).unwrap_or(&core.path);
        let file = Event::File(proto::CoreFile {
            path: path.to_string_lossy().into_owned(),
            program: core.program.unwrap_or_default(),
            signal: core.signal.unwrap_or_default(),
            bytes: core.bytes,
            taken: content.is_some(),
        });
        if !send(file) {
            return;
        }
        let content = content.map(Bytes::from).unwrap_or_default();
        left -= content.len() as u64;
        for from in (0..content.len()).step_by(PIECE) {
            let piece = content.slice(from..content.len().min(from + PIECE));
            if !send(Event::Piece(piece)) {
                return;
            }
        }
    }
    if left_out > 0 && !send(Event::LeftOut(left_out as u64)) {
        return;
    }
    if let Some(why) = hindrance() {
        let _nobody_listens = send(Event::Hindrance(why));
    }
}

/// The core files below a folder that were made since, the oldest first; and how many there are besides.
fn find(folder: &Path, since: SystemTime) -> (Vec<FoundCore>, usize) {
    let pattern = fs::read_to_string(PATTERN).unwrap_or_default();
    let start = start_of_names(pattern.trim_end());
    let mut found = Vec::new();
    find_below(folder, start, since, &mut found);
    found.sort_by(|a, b| (a.made, &a.path).cmp(&(b.made, &b.path)));
    let left_out = found.len().saturating_sub(MOST_FILES);
    found.truncate(MOST_FILES);
    (found, left_out)
}

/// Why programs that crash here leave no core file in the folder in which they run; none where they do.
fn hindrance() -> Option<String> {
    let is_forbidden = getrlimit(Resource::RLIMIT_CORE).is_ok_and(|(_, most)| most == 0);
    let pattern = fs::read_to_string(PATTERN).ok()?;
    hindrance_of(pattern.trim_end(), is_forbidden)
}

fn hindrance_of(pattern: &str, is_forbidden: bool) -> Option<String> {
    if let Some(program) = pattern.strip_prefix('|') {
        let program = program.split_whitespace().next().unwrap_or_default();
        return Some(format!(
            "kernel.core_pattern hands core files to {program}, which keeps them by its own rules"
        ));
    }
    if pattern.starts_with('/') {
        return Some(format!(
            "kernel.core_pattern puts core files elsewhere: {pattern}"
        ));
    }
    is_forbidden.then(|| "its hard limit of core files (`ulimit -Hc`) is 0".to_owned())
}

/// What the names of core files begin with by this pattern.
fn start_of_names(pattern: &str) -> &str {
    let name = pattern.rsplit('/').next().unwrap_or_default();
    name.split('%').next().unwrap_or_default()
}

fn find_below(folder: &Path, start: &str, since: SystemTime, found: &mut Vec<FoundCore>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            find_below(&entry.path(), start, since, found);
        } else if kind.is_file()
            && entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(start.as_bytes())
        {
            found.extend(examine(entry.path(), since));
        }
    }
}

/// What this file is, if it is a core file that was made since.
fn examine(path: PathBuf, since: SystemTime) -> Option<FoundCore> {
    let file = File::open(&path).ok()?;
    let metadata = file.metadata().ok()?;
    if metadata.modified().ok()? < since {
        return None;
    }
    let data = &ReadCache::new(file);
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    if header.e_type(endian) != elf::ET_CORE {
        return None;
    }
    let mut found = FoundCore {
        program: None,
        signal: None,
        bytes: metadata.len(),
        made: (metadata.mtime(), metadata.mtime_nsec()),
        path,
    };
    for segment in header.program_headers(endian, data).ok()? {
        let end = segment
            .p_offset(endian)
            .saturating_add(segment.p_filesz(endian));
        found.bytes = found.bytes.max(end);
        if segment.p_filesz(endian) <= LONGEST_NOTE {
            read_notes(segment, endian, data, &mut found);
        }
    }
    Some(found)
}

fn read_notes<'data>(
    segment: &elf::ProgramHeader64<Endianness>,
    endian: Endianness,
    data: impl ReadRef<'data>,
    found: &mut FoundCore,
) {
    let Ok(Some(mut notes)) = segment.notes(endian, data) else {
        return;
    };
    while let Ok(Some(note)) = notes.next() {
        let content = note.desc();
        match note.n_type(endian) {
            // The first one is of the thread that crashed: its `struct elf_prstatus` begins with the signal.
            elf::NT_PRSTATUS if found.signal.is_none() => {
                let signal = content.first_chunk().copied().map(i32::from_le_bytes);
                found.signal = signal.filter(|signal| (1..=64).contains(signal));
            }
            elf::NT_PRPSINFO => {
                let name = content.get(PROGRAM_NAME).unwrap_or_default();
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                let name = String::from_utf8_lossy(name).into_owned();
                found.program = Some(name).filter(|name| !name.is_empty());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_core_files_begin_as_the_pattern_says() {
        assert_eq!(start_of_names("core"), "core");
        assert_eq!(start_of_names("cores/core.%e.%p"), "core.");
        assert_eq!(start_of_names("%e.core"), "");
    }

    #[test]
    fn a_machine_that_keeps_core_files_elsewhere_says_where() {
        let why = |pattern| hindrance_of(pattern, false);
        assert_eq!(why("core"), None);
        assert_eq!(why("cores/core.%p"), None);
        let piped = why("|/usr/lib/systemd/systemd-coredump %P %u").unwrap();
        assert!(piped.contains("to /usr/lib/systemd/systemd-coredump, which"));
        assert!(
            why("/var/crash/core.%p")
                .unwrap()
                .ends_with("/var/crash/core.%p")
        );
        assert!(hindrance_of("core", true).unwrap().contains("ulimit -Hc"));
    }

    #[test]
    fn a_file_that_only_begins_as_a_core_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut header = vec![0; 64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        header[16] = 4;
        // Program headers that lie behind the file's end.
        header[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        header[54..58].copy_from_slice(&[56, 0, 9, 0]);
        fs::write(folder.path().join("core.1"), header).unwrap();
        fs::write(folder.path().join("core.h"), "#define CORE\n").unwrap();
        let mut found = Vec::new();
        find_below(folder.path(), "core", SystemTime::UNIX_EPOCH, &mut found);
        assert_eq!(found, []);
    }
}
