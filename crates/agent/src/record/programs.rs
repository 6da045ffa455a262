//! Programs that a study runs, and the libraries that they load: where they are, and what they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader as _};

use super::Section;
use super::software::{Program, output_of};

/// A program's headers stand in its first bytes.
const HEADERS: u64 = 64 << 10;

/// What identifies a file that wasn't written to: device, inode, size, and when it was changed.
type FileIdentity = (u64, u64, u64, i64, i64);

/// Files that were hashed already; a program is read once, however often its record is asked for.
#[derive(Debug, Default)]
pub(crate) struct HashedFiles(BTreeMap<FileIdentity, String>);

impl HashedFiles {
    /// The sections of these programs, by name or path, and of their libraries: of each its path and the first 16 digits of the
    /// BLAKE3 hash of its content. One that isn't there has no line.
    pub(crate) fn sections(&mut self, names: &[String]) -> [(&'static str, Section); 2] {
        let (mut programs, mut libraries) = (Section::new(), Section::new());
        let mut found: BTreeSet<PathBuf> = BTreeSet::new();
        for name in names {
            let Some(path) = find(name) else { continue };
            self.add(&mut programs, name, &path);
            // What a script is run by.
            let reader = script_reader(&path);
            if let Some(reader) = reader {
                let name = reader.display().to_string();
                self.add(&mut programs, &name, &reader);
                found.insert(reader);
            } else {
                found.insert(path);
            }
        }
        for program in found {
            for (name, path) in libraries_of(&program) {
                self.add(&mut libraries, &name, &path);
            }
        }
        [("library", libraries), ("program", programs)]
    }

    fn add(&mut self, section: &mut Section, name: &str, path: &Path) {
        if let Some(hash) = self.hash(path) {
            section.insert(name.to_owned(), format!("{} {hash}", path.display()));
        }
    }

    fn hash(&mut self, path: &Path) -> Option<String> {
        let file = File::open(path).ok()?;
        let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let changed = about.ctime().saturating_mul(1_000_000_000);
        let identity = (
            about.dev(),
            about.ino(),
            about.size(),
            about.mtime(),
            changed.saturating_add(about.ctime_nsec()),
        );
        if let Some(hash) = self.0.get(&identity) {
            return Some(hash.clone());
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file).ok()?;
        let hash = hasher.finalize().to_hex()[..16].to_owned();
        self.0.insert(identity, hash.clone());
        Some(hash)
    }
}

/// The file that a shell would run.
fn find(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        let about = path.metadata();
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let folders = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&folders).map(|folder| folder.join(name));
    places.into_iter().find(is_program)
}

/// The program that a script names in its first line.
fn script_reader(path: &Path) -> Option<PathBuf> {
    let head = head(path)?;
    let line = head
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    match Path::new(first).file_name()?.to_str()? {
        "env" => find(words.find(|word| !word.starts_with('-'))?),
        _ => find(first),
    }
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(HEADERS).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The libraries that a program is loaded with, as its own loader says; none of a static program.
fn libraries_of(program: &Path) -> Vec<(String, PathBuf)> {
    let loader = head(program).and_then(|head| {
        loader::<FileHeader64<Endianness>>(&head)
            .or_else(|| loader::<FileHeader32<Endianness>>(&head))
    });
    let Some(loader) = loader else {
        return Vec::new();
    };
    let (loader, program) = (loader.to_string_lossy(), program.to_string_lossy());
    let text = output_of(Program::Loader(&loader, &program)).unwrap_or_default();
    libraries_in(&text)
}

/// What starts a program that has libraries.
fn loader<Header: FileHeader<Endian = Endianness>>(head: &[u8]) -> Option<PathBuf> {
    let header = Header::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let parts = header.program_headers(endian, head).ok()?;
    let name = parts
        .iter()
        .find_map(|part| part.interpreter(endian, head).ok()?)?;
    Some(PathBuf::from(std::str::from_utf8(name).ok()?))
}

/// `NAME => PATH (ADDRESS)` or `PATH (ADDRESS)`, as loaders list them.
fn libraries_in(text: &str) -> Vec<(String, PathBuf)> {
    let libraries = text.lines().filter_map(|line| {
        let line = line.trim().rsplit_once(" (")?.0;
        let (name, path) = match line.split_once(" => ") {
            Some((name, path)) => (name, path),
            None => (line.rsplit('/').next()?, line),
        };
        path.starts_with('/').then(|| {
            (
                name.rsplit('/').next().unwrap_or(name).to_owned(),
                path.into(),
            )
        })
    });
    libraries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_and_its_libraries_have_paths_and_hashes_and_a_changed_file_another_one() {
        let mut hashed = HashedFiles::default();
        let [(_, libraries), (_, programs)] =
            hashed.sections(&["sh".into(), "no-such-program".into()]);
        let [(name, value)] = &programs.into_iter().collect::<Vec<_>>()[..] else {
            panic!("one program");
        };
        assert!(name == "sh" && value.contains("/sh "), "{value}");
        assert!(
            libraries.keys().any(|name| name.starts_with("libc.")),
            "{libraries:?}"
        );

        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("benchmark");
        let write = |text: &str| {
            fs::write(&script, text).unwrap();
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        };
        write("#!/bin/sh\ntrue\n");
        let name = script.display().to_string();
        let [_, (_, first)] = hashed.sections(std::slice::from_ref(&name));
        assert!(first.contains_key("/bin/sh"), "{first:?}");
        write("#!/bin/sh\nfalse\n");
        let [_, (_, second)] = hashed.sections(std::slice::from_ref(&name));
        assert_ne!(first[&name], second[&name]);
        assert_eq!(first["/bin/sh"], second["/bin/sh"]);
    }

    #[test]
    fn what_loaders_list_is_read() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f1)\n\tlibgone.so => not found\n\t/lib64/ld-linux.so.2 (0x0007f2)\n";
        let wanted = [
            ("libc.so.6".to_owned(), PathBuf::from("/lib/libc.so.6")),
            ("ld-linux.so.2".to_owned(), "/lib64/ld-linux.so.2".into()),
        ];
        assert_eq!(libraries_in(text), wanted);
    }

    #[test]
    fn a_static_or_damaged_program_has_no_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        for content in [
            &b""[..],
            b"\x7fELF",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0",
        ] {
            fs::write(&file, content).unwrap();
            assert_eq!(libraries_of(&file), []);
        }
    }
}
