//! The programs that are agents of other machines, by the machine's name: what `uname -m` says on Linux (`aarch64`), what `uname -s` and
//! `uname -m` say elsewhere (`FreeBSD-amd64`).
//!
//! Looked for in this order: `backsight-agent-MACHINE` in a folder, for who builds agents; small agents inside of this program, which a
//! release has; this program itself, for machines like this one. Where a host has to have the tracer, this program goes before the others.

use crc::{CRC_32_CKSUM, Crc};
use object::{Object as _, ObjectSection as _, ReadCache};
use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{sync::OnceCell, task::spawn_blocking};
use zlib_rs::{
    DeflateConfig, InflateConfig, ReturnCode, compress_bound, compress_slice, decompress_slice,
};

/// The folder of agents for other machines, if it isn't where this program is installed.
const FOLDER_VARIABLE: &str = "BACKSIGHT_AGENTS";
/// Where they are unless said, from the folder of this program.
const INSTALLED: &str = "../share/backsight/agents";
/// What their files are called, before the machine's name.
const PREFIX: &str = "backsight-agent-";
/// What the sections of this program with the others in it are called, before the machine's name: `make build` makes them. Each is
/// a program as gzip packs it.
const SECTION_PREFIX: &str = ".backsight.agent.";
/// The system whose agents are named by their architecture alone.
const LINUX: &str = "Linux";
/// The system that agents have only been compiled for.
const COMPILED: &str = "FreeBSD";
/// What gzip adds to what zlib makes, at most.
const GZIP_WRAPPER: usize = 32;

/// A program that is an agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentProgram {
    /// The machines that it is for: `x86_64`, `aarch64`, `FreeBSD-amd64`.
    pub(crate) machine: String,
    /// The name of its file there, by content: other content, another name.
    pub(crate) file: String,
    /// Where it is here; none if it was packed from the first.
    path: Option<PathBuf>,
    packed: Arc<OnceCell<PackedProgram>>,
}

/// A program as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct PackedProgram {
    /// What gzip unpacks.
    pub(crate) bytes: Arc<[u8]>,
    /// The size of the program, in bytes.
    pub(crate) size: u64,
}

impl AgentProgram {
    fn new(machine: &str, content: &blake3::Hash) -> Self {
        let (version, hash) = (env!("CARGO_PKG_VERSION"), content.to_hex());
        Self {
            machine: machine.to_owned(),
            file: format!("agent-{version}-{}-{machine}", &hash[..16]),
            path: None,
            packed: Arc::default(),
        }
    }

    fn from_file(machine: &str, path: PathBuf) -> io::Result<Self> {
        let mut content = blake3::Hasher::new();
        io::copy(&mut File::open(&path)?, &mut content)?;
        Ok(Self {
            path: Some(path),
            ..Self::new(machine, &content.finalize())
        })
    }

    /// This program.
    ///
    /// # Errors
    /// It can't be read.
    pub(crate) fn own(path: &Path) -> io::Result<Self> {
        Self::from_file(env::consts::ARCH, path.to_owned())
    }

    fn from_section(machine: &str, packed: &[u8]) -> Option<Self> {
        // The last word that gzip writes.
        let size = packed.last_chunk().copied().map(u32::from_le_bytes)?;
        let packed = PackedProgram {
            bytes: packed.into(),
            size: size.into(),
        };
        Some(Self {
            packed: Arc::new(OnceCell::new_with(Some(packed.clone()))),
            ..Self::new(machine, &blake3::hash(&packed.bytes))
        })
    }

    /// All that are here, one a machine.
    ///
    /// # Errors
    /// This program can't be read.
    pub(crate) fn all(own: &Path, needs_tracer: bool) -> io::Result<Vec<Self>> {
        let named = env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
        let installed = || Some(own.parent()?.join(INSTALLED));
        let folder = named.or_else(installed).unwrap_or_default();
        let mut all = Vec::new();
        if needs_tracer {
            all.push(Self::own(own)?);
        }
        all.extend(Self::in_folder(&folder));
        all.extend(Self::in_program(own));
        let is_known = |all: &[Self], machine: &str| all.iter().any(|it| it.machine == machine);
        if !is_known(&all, env::consts::ARCH) {
            all.push(Self::own(own)?);
        }
        let mut kept: Vec<Self> = Vec::new();
        for program in all {
            if !is_known(&kept, &program.machine) {
                kept.push(program);
            }
        }
        kept.sort_by(|one, other| one.machine.cmp(&other.machine));
        Ok(kept)
    }

    /// Those in a folder, which needn't be there.
    fn in_folder(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let all = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let machine = name.strip_prefix(PREFIX)?;
            let fits = is_machine(machine) && entry.path().is_file();
            fits.then(|| Self::from_file(machine, entry.path()).ok())?
        });
        all.collect()
    }

    /// Those inside of a program.
    fn in_program(program: &Path) -> Vec<Self> {
        let Ok(file) = File::open(program) else {
            return Vec::new();
        };
        let file = ReadCache::new(file);
        let Ok(elf) = object::File::parse(&file) else {
            return Vec::new();
        };
        let agents = elf.sections().filter_map(|section| {
            let machine = section.name().ok()?.strip_prefix(SECTION_PREFIX)?;
            is_machine(machine).then(|| Self::from_section(machine, section.data().ok()?))?
        });
        agents.collect()
    }

    /// The program as it is sent; packed once, whoever asks.
    ///
    /// # Errors
    /// It can't be read.
    pub(crate) async fn packed(&self) -> io::Result<PackedProgram> {
        let packed = self.packed.get_or_try_init(async || {
            let path = self.path.clone().unwrap_or_default();
            let packed = spawn_blocking(move || pack(&fs::read(path)?)).await;
            packed.map_err(io::Error::from)?
        });
        packed.await.cloned()
    }

    /// The rest of the program behind so many bytes as it is sent, and the checksum of the whole.
    ///
    /// # Errors
    /// It can't be read, or isn't longer.
    pub(crate) async fn rest(&self, there: usize) -> io::Result<(PackedProgram, u32)> {
        let (path, packed) = (self.path.clone(), self.packed().await?);
        let rest = spawn_blocking(move || {
            let program = match path {
                Some(path) => fs::read(path)?,
                None => unpack(&packed)?,
            };
            let rest = program.get(there..).ok_or(io::ErrorKind::UnexpectedEof)?;
            Ok((pack(rest)?, cksum(&program)))
        });
        rest.await?
    }

    /// What `uname -s` and `uname -m` say on its machines, with a blank between.
    pub(crate) fn system_and_architecture(&self) -> String {
        match self.machine.split_once('-') {
            Some((system, architecture)) => format!("{system} {architecture}"),
            None => format!("{LINUX} {}", self.machine),
        }
    }

    /// What to do where there is none for a machine whose `uname -s` and `uname -m` say this.
    pub(crate) fn missing(system_and_architecture: &str) -> String {
        let (system, architecture) = system_and_architecture
            .split_once(' ')
            .unwrap_or((system_and_architecture, ""));
        let put = |machine: &str| {
            format!(
                "it is {system_and_architecture}, and there is no agent for that here: build `backsight-agent` for it, and put it as \
                 `{PREFIX}{machine}` into the folder that {FOLDER_VARIABLE} names"
            )
        };
        match system {
            LINUX => put(architecture),
            COMPILED => format!(
                "{}; agents have been compiled for {COMPILED} and never run there",
                put(&format!("{system}-{architecture}"))
            ),
            _ => format!(
                "it is {system_and_architecture}, and agents are for {LINUX} and {COMPILED} alone"
            ),
        }
    }
}

/// Whether a machine may be called so; a shell is told of it.
fn is_machine(name: &str) -> bool {
    let is_word = |word: &str| {
        let mut characters = word.chars();
        !word.is_empty() && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match name.split_once('-') {
        Some((system, architecture)) => is_word(system) && is_word(architecture),
        None => is_word(name),
    }
}

/// The largest window, and a header of gzip, as zlib's deflateInit2 and inflateInit2 have them.
const GZIP_WINDOW: i32 = 15 + 16;

/// Packs a program as gzip does: fast, since it is done while hosts wait.
fn pack(program: &[u8]) -> io::Result<PackedProgram> {
    let config = DeflateConfig {
        window_bits: GZIP_WINDOW,
        ..DeflateConfig::new(1)
    };
    let mut packed = vec![0; compress_bound(program.len()) + GZIP_WRAPPER];
    let (packed, ending) = compress_slice(&mut packed, program, config);
    match ending {
        ReturnCode::Ok => Ok(PackedProgram {
            bytes: (&*packed).into(),
            size: program.len() as u64,
        }),
        other => Err(io::Error::other(format!("it can't be packed: {other:?}"))),
    }
}

fn unpack(packed: &PackedProgram) -> io::Result<Vec<u8>> {
    let mut program = vec![0; usize::try_from(packed.size).map_err(io::Error::other)?];
    let config = InflateConfig {
        window_bits: GZIP_WINDOW,
    };
    match decompress_slice(&mut program, &packed.bytes, config).1 {
        ReturnCode::Ok => Ok(program),
        other => Err(io::Error::other(format!("it can't be unpacked: {other:?}"))),
    }
}

/// The checksum of the program `cksum`, as POSIX has it: of the bytes and of their number.
fn cksum(bytes: &[u8]) -> u32 {
    let cksum = Crc::<u32>::new(&CRC_32_CKSUM);
    let mut sum = cksum.digest();
    sum.update(bytes);
    // The lowest byte first, without the leading zeros.
    let length = bytes.len().to_le_bytes();
    let zeros = length.iter().rev().take_while(|byte| **byte == 0).count();
    sum.update(&length[..length.len() - zeros]);
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn machines(programs: &[AgentProgram]) -> Vec<&str> {
        programs.iter().map(|it| it.machine.as_str()).collect()
    }

    /// What gzip itself makes of it.
    fn unpacked(packed: &PackedProgram) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("packed");
        fs::write(&file, &packed.bytes).unwrap();
        let output = Command::new("gzip")
            .arg("-dc")
            .stdin(Stdio::from(File::open(file).unwrap()))
            .output()
            .unwrap();
        assert!(output.status.success());
        output.stdout
    }

    #[tokio::test]
    async fn agents_in_a_folder_are_known_by_their_names_and_named_there_by_their_content() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "backsight-agent-aarch64x",
            "backsight-agent-riscv64",
            "backsight-agent-FreeBSD-amd64",
            "backsight-agent-a-b-c",
            "backsight-agent-",
            "backsight-agent-a;b",
            "other",
        ] {
            fs::write(folder.path().join(file), file).unwrap();
        }
        let found = || {
            let mut found = AgentProgram::in_folder(folder.path());
            found.sort_by(|one, other| one.machine.cmp(&other.machine));
            found
        };
        let before = found();
        assert_eq!(machines(&before), ["FreeBSD-amd64", "aarch64x", "riscv64"]);
        let said: Vec<String> = before
            .iter()
            .map(AgentProgram::system_and_architecture)
            .collect();
        assert_eq!(said, ["FreeBSD amd64", "Linux aarch64x", "Linux riscv64"]);
        assert!(before[2].file.ends_with("-riscv64") && before[2].file.starts_with("agent-0"));
        let packed = before[2].packed().await.unwrap();
        assert_eq!(unpacked(&packed), b"backsight-agent-riscv64");
        assert_eq!(packed.size, 23);
        fs::write(folder.path().join("backsight-agent-riscv64"), "new").unwrap();
        let after = found();
        assert_eq!(after[1].file, before[1].file);
        assert_ne!(after[2].file, before[2].file);
        assert!(AgentProgram::in_folder(&folder.path().join("gone")).is_empty());
    }

    #[test]
    fn a_machine_without_an_agent_is_told_which_file_would_be_one() {
        for (machine, expected) in [
            ("Linux riscv64", "put it as `backsight-agent-riscv64` into"),
            (
                "FreeBSD amd64",
                "put it as `backsight-agent-FreeBSD-amd64` into",
            ),
            ("FreeBSD amd64", "compiled for FreeBSD and never run there"),
            ("Darwin arm64", "agents are for Linux and FreeBSD alone"),
        ] {
            let said = AgentProgram::missing(machine);
            assert!(
                said.starts_with(&format!("it is {machine}, and ")),
                "{said}"
            );
            assert!(said.contains(expected), "{said}");
        }
    }

    #[tokio::test]
    async fn a_release_has_its_agents_inside_and_without_any_this_program_is_one() {
        let (own, folder) = (env::consts::ARCH, tempfile::tempdir().unwrap());
        let this = env::current_exe().unwrap();
        let all = AgentProgram::all(&this, false).unwrap();
        assert_eq!((machines(&all), &all[0].path), (vec![own], &Some(this)));

        let (agent, release) = (folder.path().join("agent"), folder.path().join("release"));
        fs::write(&agent, "an agent").unwrap();
        let script = "gzip -9nc \"$1\" > \"$1.gz\" && objcopy --add-section .backsight.agent.$3=\"$1.gz\" \
             --add-section .backsight.agent.riscv64=\"$1.gz\" /bin/true \"$2\"";
        let made = Command::new("sh")
            .args(["-ec", script, "sh"])
            .args([agent.as_path(), &release])
            .arg(own)
            .status();
        assert!(made.unwrap().success());
        let ours = |needs_tracer| {
            let all = AgentProgram::all(&release, needs_tracer).unwrap();
            assert_eq!(all.len(), 2, "{:?}", machines(&all));
            let mut all = all.into_iter();
            all.find(|it| it.machine == own).unwrap()
        };
        let packed = ours(false).packed().await.unwrap();
        assert_eq!(unpacked(&packed), b"an agent");
        assert_eq!(packed.size, 8);
        let (rest, sum) = ours(false).rest(3).await.unwrap();
        assert_eq!(unpacked(&rest), b"agent");
        let said = Command::new("cksum").arg(&agent).output().unwrap().stdout;
        assert!(
            String::from_utf8(said)
                .unwrap()
                .starts_with(&format!("{sum} 8 "))
        );
        assert!(ours(false).rest(9).await.is_err());
        assert_eq!(ours(true).path, Some(release.clone()));
    }
}
