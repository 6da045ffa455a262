//! Compilers of a build, as its programs themselves say: the notes that a compiler leaves in the section `.comment` of an ELF file, and
//! what Go writes into `.go.buildinfo`.
//!
//! A file without such a note says nothing, and neither does a script: no compiler is guessed from what is installed.

use object::{
    Endianness, ReadCache, ReadRef,
    elf::{self, FileHeader32, FileHeader64},
    read::elf::{FileHeader, SectionHeader as _},
};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

/// Most entries of a build's folder that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Most files that are read.
const MOST_FILES: usize = 64;
/// Most compilers that are kept of a build, and the longest name of one.
const MOST_COMPILERS: usize = 8;
const LONGEST: usize = 120;
/// Before the version in `.go.buildinfo`.
const GO_MAGIC: &[u8] = b"\xff Go buildinf:";
/// Where the version begins there, since Go 1.18.
const GO_VERSION: usize = 32;

/// The compilers that made the programs in this folder, or object files where there are no programs.
pub(crate) fn compilers_in(folder: &Path) -> Vec<String> {
    let files = elf_files(folder);
    for wanted in [[elf::ET_EXEC, elf::ET_DYN].as_slice(), &[elf::ET_REL]] {
        let mut found = BTreeSet::new();
        let fitting = files.iter().filter(|(_, kind)| wanted.contains(kind));
        for (path, _) in fitting.take(MOST_FILES) {
            found.extend(compilers_of(path).unwrap_or_default());
        }
        if !found.is_empty() {
            return found.into_iter().take(MOST_COMPILERS).collect();
        }
    }
    Vec::new()
}

/// ELF files in a folder, with their types, in the order of their names.
pub(crate) fn elf_files(folder: &Path) -> Vec<(PathBuf, u16)> {
    let mut files = Vec::new();
    list(folder, &mut 0, &mut files);
    files
}

fn list(folder: &Path, entries: &mut usize, files: &mut Vec<(PathBuf, u16)>) {
    let mut here: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    here.sort_by_key(fs::DirEntry::file_name);
    for entry in here {
        *entries += 1;
        if *entries > MOST_ENTRIES {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list(&entry.path(), entries, files),
            Ok(kind) if kind.is_file() => {
                let path = entry.path();
                files.extend(elf_type(&path).map(|kind| (path, kind)));
            }
            _ => {}
        }
    }
}

/// The type of an ELF file; none of any other.
fn elf_type(path: &Path) -> Option<u16> {
    let mut head = [0; 18];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    let kind = [head[16], head[17]];
    let is_little = head[5] == elf::ELFDATA2LSB;
    head.starts_with(&elf::ELFMAG).then(|| match is_little {
        true => u16::from_le_bytes(kind),
        false => u16::from_be_bytes(kind),
    })
}

/// What a file says; nothing of one that is damaged.
fn compilers_of(path: &Path) -> Option<BTreeSet<String>> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let class = (&cache).read_bytes_at(4, 1).ok()?.first().copied()?;
    match class {
        elf::ELFCLASS64 => in_sections::<FileHeader64<Endianness>, _>(&cache),
        elf::ELFCLASS32 => in_sections::<FileHeader32<Endianness>, _>(&cache),
        _ => None,
    }
}

fn in_sections<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
    data: R,
) -> Option<BTreeSet<String>> {
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let section = |name: &[u8]| {
        let (_, section) = sections.section_by_name(endian, name)?;
        section.data(endian, data).ok()
    };
    let mut found: BTreeSet<String> = section(b".comment").map(comments).unwrap_or_default();
    found.extend(section(b".go.buildinfo").and_then(go_version));
    Some(found)
}

/// The texts of `.comment` that name a compiler: linkers leave notes there too.
fn comments(section: &[u8]) -> BTreeSet<String> {
    let texts = section.split(|byte| *byte == 0);
    let texts = texts.map(|text| String::from_utf8_lossy(text).trim().to_owned());
    let compilers = texts.filter(|text| {
        let is_text = !text.is_empty() && !text.chars().any(char::is_control);
        is_text && text.len() <= LONGEST && !text.starts_with("Linker:")
    });
    compilers.take(MOST_COMPILERS).collect()
}

/// `go1.22.1`, from a length and so many bytes.
fn go_version(section: &[u8]) -> Option<String> {
    if !section.starts_with(GO_MAGIC) {
        return None;
    }
    let length = usize::from(*section.get(GO_VERSION)?);
    let text = section.get(GO_VERSION + 1..GO_VERSION + 1 + length)?;
    let version = std::str::from_utf8(text).ok()?;
    version.starts_with("go").then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_which_compiler_made_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("script"), "#!/bin/sh\n").unwrap();
        assert_eq!(compilers_in(folder.path()), Vec::<String>::new());
        let this = std::env::current_exe().unwrap();
        std::os::unix::fs::symlink(&this, folder.path().join("link")).unwrap();
        fs::copy(&this, folder.path().join("bin/test")).unwrap();
        let found = compilers_in(folder.path());
        assert!(
            found.iter().any(|it| it.starts_with("rustc version")),
            "{found:?}"
        );
        // Cut off, it says nothing, and nothing is read beyond its end.
        let whole = fs::read(&this).unwrap();
        fs::write(folder.path().join("bin/test"), &whole[..1000]).unwrap();
        assert_eq!(compilers_in(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn notes_of_compilers_are_told_from_those_of_linkers() {
        let notes = b"GCC: (Debian 12.2.0) 12.2.0\0Linker: LLD 16\0\0clang version 16\0\x01\0";
        let found: Vec<String> = comments(notes).into_iter().collect();
        assert_eq!(found, ["GCC: (Debian 12.2.0) 12.2.0", "clang version 16"]);
        let mut go = GO_MAGIC.to_vec();
        go.resize(GO_VERSION, 2);
        go.extend_from_slice(b"\x08go1.22.1\x00");
        assert_eq!(go_version(&go), Some("go1.22.1".to_owned()));
        assert_eq!(go_version(&go[..36]), None);
        assert_eq!(go_version(b"other"), None);
    }
}
