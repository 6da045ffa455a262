//! Systems that recipes of a lab describe: made once, kept by the content of their recipe.
//!
//! In: a recipe. Out: a folder that a container runs, or the disk of a virtual machine with what boots it: of packages of Debian (`debian`)
//! or of a cloud's image (`cloud_image`). The agent is in neither: a container is shown this program, and a virtual machine finds it on a disk of
//! its own, so that another version of this program needs no other system. What is made appears under its name only whole.

mod cloud_image;
mod debian;

use backsight_agent::cache_folder;
use backsight_model::{HostKind, Located, Recipe};
use std::{
    env,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::program_search::find_program;

/// Changes when another system is made of the same recipe.
const VERSION: u32 = 1;
/// The script that a virtual machine starts its agent with, and where it lies there.
const START: &str = include_str!("made_system/start.sh");
const START_PLACE: &str = "usr/local/lib/backsight/start";
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
    /// An image of a cloud didn't set itself up.
    #[error("{}: {said}", image.display())]
    Image {
        /// The image.
        image: PathBuf,
        /// What it said last.
        said: String,
    },
    /// The packages have no kernel.
    #[error("the recipe's packages have no kernel: kernel = \"linux-image-amd64\"")]
    NoKernel,
}

/// A system that a recipe describes, made or not.
pub(crate) struct MadeSystem<'a> {
    recipe: &'a Recipe,
    is_machine: bool,
    place: PathBuf,
}

impl<'a> MadeSystem<'a> {
    /// The system of a host of this kind.
    pub(crate) fn new(recipe: &'a Recipe, kind: HostKind) -> Self {
        Self::in_folder(recipe, kind, &cache_folder().join("systems"))
    }

    fn in_folder(recipe: &'a Recipe, kind: HostKind, cache: &Path) -> Self {
        let is_machine = kind == HostKind::Vm;
        // An image counts by its content, wherever it lies.
        let by_content = |image: &Located<String>| {
            let known = cache.with_file_name("images");
            let hash = cloud_image::content_hash(Path::new(&**image), &known);
            Located::nowhere(hash.unwrap_or_else(|| (**image).clone()))
        };
        let described = Recipe {
            image: recipe.image.as_ref().map(by_content),
            ..recipe.clone()
        };
        let recipe_text = serde_json::to_string(&described).unwrap_or_default();
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
        if self.recipe.image.is_some() {
            return Some(Disk {
                disk: self.place.join(cloud_image::DISK),
                kernel: None,
                initrd: None,
                append: String::new(),
            });
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
        match &self.recipe.image {
            Some(image) => cloud_image::make_disk(self.recipe, Path::new(&**image), folder, lock),
            None => debian::fill(self.recipe, self.is_machine, folder, lock),
        }
    }
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
    run(command, "mke2fs", "e2fsprogs")
}

/// Runs a program of this package to its end. What it says goes to a file, so that it can't be kept waiting.
fn run(
    mut command: Command,
    program: &'static str,
    package: &'static str,
) -> Result<(), SystemError> {
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

/// Refuses where this machine has no program of this package.
fn require_program(program: &'static str, package: &'static str) -> Result<(), SystemError> {
    match find_program(program) {
        Some(_) => Ok(()),
        None => Err(SystemError::Missing { program, package }),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe() -> Recipe {
        Recipe {
            debian: Some(Located::nowhere("trixie".into())),
            image: None,
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
            MadeSystem::in_folder(recipe, kind, folder)
                .place()
                .to_path_buf()
        };
        let known = name(&one, HostKind::Vm);
        assert_eq!(name(&recipe(), HostKind::Vm), known);
        assert_ne!(name(&one, HostKind::Container), known);
        let mut other = recipe();
        other.packages.push(Located::nowhere("iperf3".into()));
        assert_ne!(name(&other, HostKind::Vm), known);
        // Of an image its content counts.
        let images = tempfile::tempdir().unwrap();
        let of_image = |file: &str, content: &str| {
            let path = images.path().join(file);
            fs::write(&path, content).unwrap();
            let mut of_image = recipe();
            of_image.debian = None;
            of_image.image = Some(Located::nowhere(path.display().to_string()));
            let cache = images.path().join("systems");
            let system = MadeSystem::in_folder(&of_image, HostKind::Vm, &cache);
            system.place().to_path_buf()
        };
        let known = of_image("a", "one");
        assert_eq!(of_image("b", "one"), known);
        assert_ne!(of_image("a", "another"), known);
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
        let system = MadeSystem::in_folder(&recipe, HostKind::Vm, folder.path());
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
