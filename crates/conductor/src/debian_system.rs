//! Systems of Debian that recipes of a lab describe: made once by `mmdebstrap`, kept by the content of their recipe.
//!
//! In: a recipe. Out: a folder that a container runs, or the disk of a virtual machine with its kernel. The agent is in neither: a
//! container is shown this program, and a virtual machine finds it on a disk of its own, so that another version of this program needs
//! no other system. What is made appears under its name only whole.

use backsight_agent::cache_folder;
use backsight_model::{HostKind, Recipe};
use std::{
    env,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Seek as _, SeekFrom},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::program_search::find_program;

/// Changes when another system is made of the same recipe.
const VERSION: u32 = 1;
/// The size of a disk unless the recipe says it, in bytes.
const DISK_SIZE: u64 = 4 << 30;
/// What every virtual machine has, for its kernel to find its disk, and for its addresses.
const ALWAYS: [&str; 2] = ["initramfs-tools", "iproute2"];
/// The script that a virtual machine starts its agent with, and where it lies there.
const START: &str = include_str!("debian_system/start.sh");
const START_PLACE: &str = "usr/local/lib/backsight/start";
/// Where the agent is found there.
const AGENT_PLACE: &str = "usr/local/lib/backsight/agent";
/// The agent as a service of systemd.
const SERVICE: &str = "[Unit]
Description=Backsight's agent
After=local-fs.target systemd-modules-load.service
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/lib/backsight/start
Restart=always
RestartSec=1
TasksMax=infinity

[Install]
WantedBy=multi-user.target
";
const SERVICE_PLACE: &str = "etc/systemd/system/backsight.service";
const WANTED_PLACE: &str = "etc/systemd/system/multi-user.target.wants/backsight.service";
/// How much of what a program said is quoted, in lines.
const QUOTED: usize = 5;

/// The disk of a virtual machine, and the kernel that boots it where that isn't the disk's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) disk: PathBuf,
    pub(crate) kernel: Option<PathBuf>,
    pub(crate) initrd: Option<PathBuf>,
    pub(crate) append: String,
}

/// Why a system can't be made.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// A program isn't there.
    #[error("this machine has no program `{program}`: apt-get install {package}")]
    Missing {
        /// The program.
        program: &'static str,
        /// The package of Debian that has it.
        package: &'static str,
    },
    /// Only root may.
    #[error("making a system needs root: run it with sudo")]
    NotRoot,
    /// A program failed.
    #[error("`{command}` failed: {said}")]
    Failed {
        /// The command.
        command: String,
        /// What it said last.
        said: String,
    },
    /// A file can't be written or read.
    #[error("{}: {cause}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The packages have no kernel.
    #[error("the recipe's packages have no kernel: kernel = \"linux-image-amd64\"")]
    NoKernel,
}

/// A system that a recipe describes, made or not.
pub(crate) struct DebianSystem<'a> {
    recipe: &'a Recipe,
    is_machine: bool,
    place: PathBuf,
}

impl<'a> DebianSystem<'a> {
    /// The system of a host of this kind.
    pub(crate) fn new(recipe: &'a Recipe, kind: HostKind) -> Self {
        Self::in_folder(recipe, kind, &cache_folder().join("systems"))
    }

    fn in_folder(recipe: &'a Recipe, kind: HostKind, cache: &Path) -> Self {
        let is_machine = kind == HostKind::Vm;
        let recipe_text = serde_json::to_string(recipe).unwrap_or_default();
        let parts = [&recipe_text, START, SERVICE, &is_machine.to_string()];
        let text = format!("{VERSION}\n{}", parts.join("\n"));
        let hash = blake3::hash(text.as_bytes()).to_hex();
        Self {
            recipe,
            is_machine,
            place: cache.join(&hash[..32]),
        }
    }

    /// Where it is, or would be.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Whether it was made.
    pub(crate) fn is_made(&self) -> bool {
        self.place.is_dir()
    }

    /// The root of a container; none until it is made.
    pub(crate) fn root(&self) -> Option<PathBuf> {
        (self.is_made() && !self.is_machine).then(|| self.place.join("root"))
    }

    /// The disk of a virtual machine; none until it is made.
    pub(crate) fn disk(&self) -> Option<Disk> {
        if !self.is_made() || !self.is_machine {
            return None;
        }
        let append = fs::read_to_string(self.place.join("append")).ok()?;
        Some(Disk {
            disk: self.place.join("disk.img"),
            kernel: Some(self.place.join("vmlinuz")),
            initrd: Some(self.place.join("initrd.img")),
            append: append.trim().to_owned(),
        })
    }

    /// Makes it, unless it is there; one that somebody else makes is waited for. Whether there was something to do.
    ///
    /// # Errors
    /// A program is missing or fails; nothing of it is left.
    pub(crate) fn make(&self) -> Result<bool, SystemError> {
        if self.is_made() {
            return Ok(false);
        }
        let above = self.place.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(above).map_err(in_file(above))?;
        let lock_path = self.place.with_extension("lock");
        let lock = File::create(&lock_path).map_err(in_file(&lock_path))?;
        lock.lock().map_err(in_file(&lock_path))?;
        if self.is_made() {
            return Ok(false);
        }
        let making = self.place.with_extension("making");
        // What was killed here before.
        remove(&making)?;
        fs::create_dir(&making).map_err(in_file(&making))?;
        let made = self.fill(&making, &lock);
        let made = made.and_then(|()| fs::rename(&making, &self.place).map_err(in_file(&making)));
        if made.is_err() {
            let _what_is_left_is_removed_next_time = remove(&making);
        }
        made.map(|()| true)
    }

    fn fill(&self, folder: &Path, lock: &File) -> Result<(), SystemError> {
        let root = folder.join("root");
        self.install(&root, lock)?;
        if !self.is_machine {
            return Ok(());
        }
        for name in ["vmlinuz", "initrd.img"] {
            let to = folder.join(name);
            let from = newest(&root.join("boot"), name).ok_or(SystemError::NoKernel)?;
            fs::copy(&from, &to).map_err(in_file(&from))?;
        }
        let init = add_agent(&root)?;
        let append = folder.join("append");
        fs::write(&append, format!("root=/dev/vda rw quiet{init}\n")).map_err(in_file(&append))?;
        let size = self.recipe.size.as_deref().map_or(DISK_SIZE, |size| size.0);
        make_file_system(&root, &folder.join("disk.img"), size, &[])?;
        remove(&root)
    }

    /// Installs the packages into a folder. The installer has processes and mounts of its own: all of them are gone when it ends, and
    /// it ends when this program dies. Until then the lock is held: it is what they have as standard input.
    fn install(&self, root: &Path, lock: &File) -> Result<(), SystemError> {
        let recipe = self.recipe;
        let own = recipe.packages.iter().map(|package| package.as_str());
        let mut packages: Vec<&str> = own.collect();
        if self.is_machine {
            packages.extend(ALWAYS);
            packages.push(recipe.kernel_package());
        }
        let program = "mmdebstrap";
        if find_program(program).is_none() {
            return Err(SystemError::Missing {
                program,
                package: program,
            });
        }
        if !rustix::process::geteuid().is_root() {
            return Err(SystemError::NotRoot);
        }
        // What it leaves when it is killed goes with what was being made.
        let temporary = root.with_file_name("tmp");
        fs::create_dir(&temporary).map_err(in_file(&temporary))?;
        let mut command = Command::new("setpriv");
        command
            .env("TMPDIR", &temporary)
            .args([
                "--pdeathsig",
                "KILL",
                "unshare",
                "--mount",
                "--pid",
                "--fork",
            ])
            .args([
                "--kill-child",
                "--mount-proc",
                "--propagation",
                "private",
                program,
            ])
            .stdin(lock.try_clone().map_err(in_file(&self.place))?);
        command.args(["--quiet", "--variant=minbase"]);
        if !packages.is_empty() {
            command.arg(format!("--include={}", packages.join(",")));
        }
        command.arg(&**recipe.debian).arg(root);
        let sources = match recipe.sources.is_empty() {
            true => own_sources(&recipe.debian),
            false => recipe.sources.iter().map(|line| (**line).clone()).collect(),
        };
        command.args(sources);
        run(command, "util-linux")?;
        remove(&temporary)
    }
}

/// Puts the script that starts the agent into a root, and has it started: by systemd where the root has it, else by the kernel, whose
/// command line gets what is returned.
fn add_agent(root: &Path) -> Result<&'static str, SystemError> {
    let write = |place: &str, text: &str, mode: u32| {
        let path = root.join(place);
        let folder = path.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
            .map_err(in_file(&path))
    };
    write(START_PLACE, START, 0o755)?;
    let agent = root.join(AGENT_PLACE);
    fs::create_dir_all(&agent).map_err(in_file(&agent))?;
    if fs::symlink_metadata(root.join("usr/sbin/init")).is_err() {
        return Ok(" init=/usr/local/lib/backsight/start");
    }
    write(SERVICE_PLACE, SERVICE, 0o644)?;
    let wanted = root.join(WANTED_PLACE);
    if let Some(folder) = wanted.parent() {
        fs::create_dir_all(folder).map_err(in_file(folder))?;
    }
    symlink("../backsight.service", &wanted).map_err(in_file(&wanted))?;
    Ok("")
}

/// The last of the files in a folder whose names begin so, by their names.
fn newest(folder: &Path, beginning: &str) -> Option<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = files.map(|file| file.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(beginning))
    });
    names.max()
}

/// Makes a file system of a folder in a file of this size, with these options besides.
pub(crate) fn make_file_system(
    folder: &Path,
    disk: &Path,
    size: u64,
    options: &[&str],
) -> Result<(), SystemError> {
    let file = File::create(disk).map_err(in_file(disk))?;
    file.set_len(size.next_multiple_of(1 << 20))
        .map_err(in_file(disk))?;
    // It lies where only root looks for programs.
    let path = env::var("PATH").unwrap_or_default();
    let mut command = Command::new("mke2fs");
    command
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .args(["-q", "-F", "-t", "ext4", "-m", "0", "-E", "root_owner=0:0"])
        .args(options)
        .arg("-d")
        .args([folder, disk])
        .stdin(Stdio::null());
    run(command, "e2fsprogs")
}

/// Runs a program of this package to its end. What it says goes to a file, so that it can't be kept waiting.
fn run(mut command: Command, package: &'static str) -> Result<(), SystemError> {
    let program = match package {
        "e2fsprogs" => "mke2fs",
        _ => "setpriv",
    };
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let failed = |said: String| SystemError::Failed {
        command: words.join(" "),
        said,
    };
    let said = rustix::fs::memfd_create("said", rustix::fs::MemfdFlags::CLOEXEC);
    let mut said = File::from(said.map_err(|error| failed(error.to_string()))?);
    let ours = said
        .try_clone()
        .map_err(|error| failed(error.to_string()))?;
    let status = command
        .stdout(Stdio::null())
        .stderr(ours)
        .status()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => SystemError::Missing { program, package },
            _ => failed(error.to_string()),
        })?;
    if status.success() {
        return Ok(());
    }
    let _the_beginning = said.seek(SeekFrom::Start(0));
    let lines: Vec<String> = BufReader::new(said).lines().map_while(Result::ok).collect();
    let last = &lines[lines.len().saturating_sub(QUOTED)..];
    Err(failed(format!("{status}: {}", last.join("; "))))
}

fn in_file(path: &Path) -> impl FnOnce(io::Error) -> SystemError {
    let path = path.to_path_buf();
    move |cause| SystemError::File { path, cause }
}

fn remove(folder: &Path) -> Result<(), SystemError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(in_file(folder)(error)),
        _ => Ok(()),
    }
}

/// The sources of packages that this machine has of Debian, for another release; none where it has none, and then `mmdebstrap` takes
/// Debian's own.
fn own_sources(release: &str) -> Vec<String> {
    let os = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let codename = os
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let Some(codename) = codename.map(|name| name.trim_matches('"')) else {
        return Vec::new();
    };
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let more = fs::read_dir("/etc/apt/sources.list.d")
        .into_iter()
        .flatten()
        .flatten();
    files.extend(more.map(|file| file.path()));
    let texts = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let mut sources: Vec<String> = texts
        .flat_map(|text| sources_in(&text, codename, release))
        .collect();
    sources.sort();
    sources.dedup();
    sources
}

/// The lines of `sources.list` for a release, from what a file of sources says of the release that this machine runs. Sources of
/// others, which don't know releases, are left out.
fn sources_in(text: &str, codename: &str, release: &str) -> Vec<String> {
    let is_of_release = |suite: &str| {
        let rest = suite.strip_prefix(codename);
        rest.is_some_and(|rest| matches!(rest, "" | "-updates" | "-security" | "/updates"))
    };
    let line =
        |uri: &str, suite: &str| format!("deb {uri} {} main", suite.replacen(codename, release, 1));
    let mut found = Vec::new();
    for one in text.lines() {
        let words: Vec<&str> = one
            .split_whitespace()
            .filter(|word| !word.starts_with('[') && !word.ends_with(']'))
            .collect();
        if let ["deb", uri, suite, components @ ..] = words.as_slice()
            && is_of_release(suite)
            && components.contains(&"main")
        {
            found.push(line(uri, suite));
        }
    }
    for stanza in text.split("\n\n") {
        let field = |name: &str| -> Vec<&str> {
            let lines = stanza.lines();
            let mut values = lines.filter_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
            values
                .next()
                .into_iter()
                .flat_map(str::split_whitespace)
                .collect()
        };
        if field("Types").contains(&"deb") && field("Components").contains(&"main") {
            for uri in field("URIs") {
                let suites = field("Suites");
                let suites = suites.iter().filter(|suite| is_of_release(suite));
                found.extend(suites.map(|suite| line(uri, suite)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::Located;

    fn recipe() -> Recipe {
        Recipe {
            debian: Located::nowhere("trixie".into()),
            packages: Vec::new(),
            kernel: None,
            sources: Vec::new(),
            size: None,
        }
    }

    #[test]
    fn a_system_has_the_name_of_its_recipes_content() {
        let folder = Path::new("/cache");
        let one = recipe();
        let name = |recipe: &Recipe, kind| {
            DebianSystem::in_folder(recipe, kind, folder)
                .place()
                .to_path_buf()
        };
        let known = name(&one, HostKind::Vm);
        assert_eq!(name(&recipe(), HostKind::Vm), known);
        assert_ne!(name(&one, HostKind::Container), known);
        let mut other = recipe();
        other.packages.push(Located::nowhere("iperf3".into()));
        assert_ne!(name(&other, HostKind::Vm), known);
    }

    #[test]
    fn the_machines_own_mirrors_are_used_for_another_release() {
        let listed = "# deb http://old bookworm main\ndeb [arch=amd64] http://mirror/debian bookworm main contrib\n\
                      deb http://mirror/security bookworm-security main\ndeb-src http://mirror/debian bookworm main\n\
                      deb http://other/apt stable main\n";
        assert_eq!(
            sources_in(listed, "bookworm", "trixie"),
            [
                "deb http://mirror/debian trixie main",
                "deb http://mirror/security trixie-security main"
            ]
        );
        let stanzas = "Types: deb\n# old\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates bookworm-backports\nComponents: main\n\n\
                       Types: deb\nURIs: https://other\nSuites: nodistro\nComponents: main\n";
        assert_eq!(
            sources_in(stanzas, "bookworm", "bookworm"),
            [
                "deb http://mirror/debian bookworm main",
                "deb http://mirror/debian bookworm-updates main"
            ]
        );
    }

    #[test]
    fn the_page_shows_the_script_and_the_service() {
        let page = "../../docs/how-to/measure-in-virtual-machines-and-containers.md";
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
        assert!(page.contains(START) && page.contains(SERVICE));
    }

    #[test]
    fn a_system_that_cannot_be_made_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut recipe = recipe();
        recipe.sources = vec![Located::nowhere("no source".into())];
        let system = DebianSystem::in_folder(&recipe, HostKind::Vm, folder.path());
        assert!(!system.is_made() && system.disk().is_none());
        system.make().unwrap_err();
        let left = fs::read_dir(folder.path()).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert!(
            left.iter()
                .all(|name| name.to_string_lossy().ends_with(".lock")),
            "{left:?}"
        );
    }
}
