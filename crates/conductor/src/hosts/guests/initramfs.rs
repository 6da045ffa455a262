//! What an emulated machine starts with: an archive in memory with the agent as its first process, a shell, and the
//! programs that a lab lists, each with the libraries that it needs.
//!
//! The archive's format is the kernel's `newc` (Documentation/driver-api/early-userspace/buffer-format.rst).
//!
//! Files that a program opens by itself (modules, locales, settings) aren't included.

use backsight_model::Located;
use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufWriter, Write},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// Programs that every guest has: what runs lines of text, and what tells which kernel runs.
const ALWAYS: &[&str] = &["sh", "uname"];
/// What gives a guest its addresses.
const NETWORK: &str = "ip";
const FOLDERS: &[&str] = &[
    "dev",
    "etc",
    "proc",
    "root",
    "run",
    "sys",
    "tmp",
    "usr",
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib64",
    "var",
    "var/tmp",
];
/// Folders that are `usr`'s.
const MERGED: &[&str] = &["bin", "sbin", "lib", "lib64"];
const FILES: &[(&str, &str)] = &[
    ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
    ("etc/group", "root:x:0:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n"),
];

const FOLDER: u32 = 0o040_755;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;
const PROGRAM: u32 = 0o100_755;
const PLAIN: u32 = 0o100_644;

/// What a kernel needs of its memory beside the archive and what is unpacked of it, in bytes.
const KERNEL: u64 = 64 << 20;

/// Why an archive can't be made.
#[derive(Debug, thiserror::Error)]
pub enum InitramfsError {
    /// A program isn't on this machine.
    #[error("program `{0}` for the guest is not on this machine")]
    Missing(String),
    /// A program's libraries can't be found.
    #[error("can't tell which libraries {} needs: {message}", program.display())]
    Libraries {
        /// The program.
        program: PathBuf,
        /// What the system said.
        message: String,
    },
    /// A library isn't on this machine.
    #[error("{} needs the library `{library}`, which is not on this machine", program.display())]
    Library {
        /// The program.
        program: PathBuf,
        /// The library.
        library: String,
    },
    /// The guest has no room for it.
    #[error(
        "the agent and the programs of the guest take {} MiB, twice while they are unpacked: give it memory = \"{}MiB\" or more",
        archive >> 20, least >> 20
    )]
    Memory {
        /// The archive's size, in bytes.
        archive: u64,
        /// The least memory that will do, in bytes.
        least: u64,
    },
    /// The archive can't be written, or what goes into it can't be read.
    #[error("{}: {cause}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

/// Writes the archive for a guest with this much memory.
///
/// # Errors
/// As [`InitramfsError`] says.
pub(crate) fn write(
    path: &Path,
    agent: &Path,
    programs: &[Located<String>],
    linked: bool,
    memory: u64,
) -> Result<(), InitramfsError> {
    let wanted = ALWAYS
        .iter()
        .copied()
        .chain(linked.then_some(NETWORK))
        .chain(programs.iter().map(|program| program.as_str()));
    let mut files = BTreeSet::new();
    for program in wanted {
        let found = find(program).ok_or_else(|| InitramfsError::Missing(program.to_owned()))?;
        with_what_it_needs(found, &mut files)?;
    }
    let mut of_agent = BTreeSet::new();
    with_what_it_needs(agent.to_path_buf(), &mut of_agent)?;
    of_agent.remove(agent);
    files.extend(of_agent);
    let fault = |cause| InitramfsError::File {
        path: path.to_path_buf(),
        cause,
    };
    let file = File::create(path).map_err(fault)?;
    let mut archive = Archive {
        out: BufWriter::new(file),
        entries: 0,
        folders: BTreeSet::new(),
    };
    archive.fill(agent, &files).map_err(fault)?;
    let archive = path.metadata().map_err(fault)?.len();
    // A kernel that runs out of room here goes on with half of the files.
    let least = (2 * archive + KERNEL).next_multiple_of(1 << 20);
    if memory < least {
        return Err(InitramfsError::Memory { archive, least });
    }
    Ok(())
}

/// A program by its path, or by its name along this machine's `PATH` and where programs of root are.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = ["/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    std::env::split_paths(&path)
        .chain(others.map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|path| {
            path.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
}

/// A program, the libraries that the system's own loader gives it, and the interpreter of a script.
fn with_what_it_needs(
    program: PathBuf,
    files: &mut BTreeSet<PathBuf>,
) -> Result<(), InitramfsError> {
    if files.contains(&program) {
        return Ok(());
    }
    let fault = |cause: io::Error| InitramfsError::File {
        path: program.clone(),
        cause,
    };
    let mut start = [0; 256];
    let length = io::Read::read(&mut File::open(&program).map_err(fault)?, &mut start);
    let start = &start[..length.map_err(fault)?];
    files.insert(program.clone());
    if let Some(line) = start.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_whitespace();
        let interpreter = words.next().unwrap_or_default();
        with_what_it_needs(PathBuf::from(interpreter), files)?;
        if let (true, Some(name)) = (interpreter.ends_with("/env"), words.next()) {
            let found = find(name).ok_or_else(|| InitramfsError::Missing(name.to_owned()))?;
            with_what_it_needs(found, files)?;
        }
        return Ok(());
    }
    let listed = Command::new("ldd").arg(&program).output();
    let listed = listed.map_err(|error| InitramfsError::Libraries {
        program: program.clone(),
        message: format!("ldd: {error}"),
    })?;
    // A static program: it says so, and fails.
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    for line in text.lines() {
        if let Some(library) = library(line) {
            files.insert(library.map_err(|name| InitramfsError::Library {
                program: program.clone(),
                library: name.to_owned(),
            })?);
        }
    }
    Ok(())
}

/// The file that a line of `ldd` names, if it names one; a library that isn't there by its name.
fn library(line: &str) -> Option<Result<PathBuf, &str>> {
    let line = line.trim();
    if let Some((name, place)) = line.split_once(" => ") {
        if place.starts_with("not found") {
            return Some(Err(name));
        }
        let path = place.split(" (").next()?;
        return path.starts_with('/').then(|| Ok(PathBuf::from(path)));
    }
    let path = line.split(" (").next()?;
    (path.starts_with('/') && line.ends_with(')')).then(|| Ok(PathBuf::from(path)))
}

struct Archive<W> {
    out: W,
    entries: u32,
    folders: BTreeSet<PathBuf>,
}

impl<W: Write> Archive<W> {
    fn fill(&mut self, agent: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
        for folder in FOLDERS {
            self.folder(Path::new(folder))?;
        }
        for name in MERGED {
            self.entry(name, LINK, (0, 0), format!("usr/{name}").as_bytes())?;
        }
        // A kernel opens its console before anything is mounted.
        self.entry("dev/console", CHARACTER_DEVICE, (5, 1), b"")?;
        self.entry("dev/null", CHARACTER_DEVICE, (1, 3), b"")?;
        for (name, text) in FILES {
            self.entry(name, PLAIN, (0, 0), text.as_bytes())?;
        }
        self.entry("init", PROGRAM, (0, 0), &std::fs::read(agent)?)?;
        for file in files {
            let place = place(file);
            if let Some(folder) = place.parent() {
                self.folder(folder)?;
            }
            let contents = std::fs::read(file)?;
            self.entry(&place.to_string_lossy(), PROGRAM, (0, 0), &contents)?;
        }
        self.entry("TRAILER!!!", 0, (0, 0), b"")?;
        self.out.flush()
    }

    /// A folder and those above it.
    fn folder(&mut self, folder: &Path) -> io::Result<()> {
        if folder.as_os_str().is_empty() || !self.folders.insert(folder.to_path_buf()) {
            return Ok(());
        }
        if let Some(above) = folder.parent() {
            self.folder(above)?;
        }
        self.entry(&folder.to_string_lossy(), FOLDER, (0, 0), b"")
    }

    fn entry(
        &mut self,
        name: &str,
        mode: u32,
        device: (u32, u32),
        contents: &[u8],
    ) -> io::Result<()> {
        self.entries += 1;
        let size = u32::try_from(contents.len())
            .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, name.to_owned()))?;
        let name_size = u32::try_from(name.len() + 1)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a long name"))?;
        // Magic, inode, mode, user, group, links, time, size, device twice, length of the name, checksum.
        write!(self.out, "070701")?;
        for number in [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            size,
            0,
            0,
            device.0,
            device.1,
            name_size,
            0,
        ] {
            write!(self.out, "{number:08X}")?;
        }
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(b"\0")?;
        self.pad(110 + name.len() + 1)?;
        self.out.write_all(contents)?;
        self.pad(contents.len())
    }

    fn pad(&mut self, length: usize) -> io::Result<()> {
        self.out.write_all(&[0; 3][..(4 - length % 4) % 4])
    }
}

/// Where a file of this machine lies in the archive: as here, with what is `usr`'s in `usr`.
fn place(file: &Path) -> PathBuf {
    let place = file.strip_prefix("/").unwrap_or(file);
    if MERGED.iter().any(|name| place.starts_with(name)) {
        Path::new("usr").join(place)
    } else {
        place.to_path_buf()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_list_is_understood() {
        let of = |line| library(line).map(|found| found.map(|p| p.display().to_string()));
        assert_eq!(of("\tlinux-vdso.so.1 (0x00007ffd)"), None);
        assert_eq!(
            of("\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)"),
            Some(Ok("/lib/x86_64-linux-gnu/libc.so.6".into()))
        );
        assert_eq!(
            of("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)"),
            Some(Ok("/lib64/ld-linux-x86-64.so.2".into()))
        );
        assert_eq!(of("\tlibgone.so => not found"), Some(Err("libgone.so")));
        assert_eq!(of("\tnot a dynamic executable"), None);
    }

    /// The entries of an archive: names, modes and sizes.
    fn entries(archive: &[u8]) -> Vec<(String, u32, usize)> {
        let mut found = Vec::new();
        let mut at = 0;
        loop {
            let header = std::str::from_utf8(&archive[at..at + 110]).unwrap();
            assert_eq!(&header[..6], "070701");
            let field =
                |n: usize| usize::from_str_radix(&header[6 + 8 * n..14 + 8 * n], 16).unwrap();
            let (mode, size, name_size) = (field(1), field(6), field(11));
            let name = &archive[at + 110..at + 110 + name_size - 1];
            let name = String::from_utf8(name.to_vec()).unwrap();
            at = (at + 110 + name_size).next_multiple_of(4);
            at = (at + size).next_multiple_of(4);
            if name == "TRAILER!!!" {
                assert_eq!(at, archive.len());
                return found;
            }
            found.push((name, u32::try_from(mode).unwrap(), size));
        }
    }

    #[test]
    fn an_archive_has_the_agent_first_and_what_a_shell_needs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        let agent = std::env::current_exe().unwrap();
        write(&path, &agent, &[], true, u64::MAX).unwrap();
        let entries = entries(&std::fs::read(&path).unwrap());
        let of = |name: &str| entries.iter().find(|entry| entry.0 == name);
        let size = usize::try_from(agent.metadata().unwrap().len()).unwrap();
        assert_eq!(of("init"), Some(&("init".into(), PROGRAM, size)));
        assert_eq!(of("bin").map(|entry| entry.1), Some(LINK));
        assert_eq!(
            of("dev/console").map(|entry| entry.1),
            Some(CHARACTER_DEVICE)
        );
        for program in ["sh", "uname", "ip"] {
            let found = entries.iter().any(|(name, mode, _)| {
                *mode == PROGRAM
                    && name.starts_with("usr/")
                    && name.ends_with(&format!("/{program}"))
            });
            assert!(found, "{program}: {entries:?}");
        }
        // A folder comes before what is in it.
        for (at, (name, ..)) in entries.iter().enumerate() {
            if let Some((folder, _)) = name.rsplit_once('/') {
                assert!(
                    entries[..at].iter().any(|entry| entry.0 == folder),
                    "{name}"
                );
            }
        }
        let error = write(&path, &agent, &[], true, 65 << 20).unwrap_err();
        assert!(matches!(error, InitramfsError::Memory { .. }), "{error}");
    }

    #[test]
    fn a_program_that_is_not_here_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let programs = [Located::nowhere("no-such-program".to_owned())];
        let error = write(
            &folder.path().join("archive"),
            Path::new("/bin/sh"),
            &programs,
            false,
            u64::MAX,
        )
        .unwrap_err();
        assert!(error.to_string().contains("`no-such-program`"), "{error}");
    }
}
