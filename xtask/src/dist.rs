//! Makes what a release consists of: for each machine an archive and a Debian package of the same files, one list of what is in the program
//! (SBOM), and the checksums of all of them. The same commit gives the same bytes.

mod files;
mod packages;
mod sbom;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::programs::{ProgramError, call, in_file, remove};
use files::ReleaseFiles;

/// What `cargo xtask dist` calls a release.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The list of what is in the program, by the standard of CycloneDX.
const SBOM: &str = "backsight.cdx.json";
const CHECKSUMS: &str = "SHA256SUMS";

/// Why a release can't be made.
#[derive(Debug, thiserror::Error)]
pub enum DistError {
    /// A file, or a program that is needed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// What another program or file says can't be read.
    #[error("{what}: {why}")]
    Unreadable {
        /// The program or file.
        what: String,
        /// Why.
        why: String,
    },
    /// A machine that no release is made for.
    #[error("there is no release for `{0}`: x86_64, aarch64")]
    Machine(String),
}

type Result<T> = std::result::Result<T, DistError>;

/// A machine that a release is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleaseMachine {
    /// The kernel's name for it.
    pub name: &'static str,
    /// Debian's.
    pub debian: &'static str,
}

const MACHINES: [ReleaseMachine; 2] = [
    ReleaseMachine {
        name: "x86_64",
        debian: "amd64",
    },
    ReleaseMachine {
        name: "aarch64",
        debian: "arm64",
    },
];

impl ReleaseMachine {
    fn named(name: &str) -> Result<Self> {
        let found = MACHINES.into_iter().find(|machine| machine.name == name);
        found.ok_or_else(|| DistError::Machine(name.to_owned()))
    }

    fn is_own(self) -> bool {
        self.name == std::env::consts::ARCH
    }

    fn target(self) -> String {
        format!("{}-unknown-linux-musl", self.name)
    }
}

/// Options of the task.
#[derive(Debug)]
pub struct Options {
    machines: Vec<String>,
    program: Option<PathBuf>,
    folder: PathBuf,
}

impl Options {
    /// Reads the words behind the task; nothing where they are none of its.
    pub fn parse(words: &[String]) -> Option<Self> {
        let mut options = Self {
            machines: Vec::new(),
            program: None,
            folder: PathBuf::from("target/dist"),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--machine" => options.machines.push(words.next()?.clone()),
                "--program" => options.program = Some(words.next()?.into()),
                "--folder" => options.folder = words.next()?.into(),
                _ => return None,
            }
        }
        // A program that is there is this machine's.
        (options.machines.is_empty() || options.program.is_none()).then_some(options)
    }
}

/// Makes it.
///
/// # Errors
/// A program that is needed is missing or fails; the folder can't be written.
pub fn run(options: &Options) -> Result<()> {
    let named = options.machines.iter();
    let named = named.map(|name| ReleaseMachine::named(name));
    let named = named.collect::<Result<Vec<_>>>()?;
    let machines = match &options.program {
        Some(program) => {
            fs::metadata(program).map_err(in_file(program))?;
            vec![ReleaseMachine::named(std::env::consts::ARCH)?]
        }
        None if named.is_empty() => MACHINES.to_vec(),
        None => named,
    };
    if options.program.is_none() {
        call(Command::new("make").args(["setup-dist", "agents"]))?;
    }
    let folder = &options.folder;
    remove(folder)?;
    fs::create_dir_all(folder).map_err(in_file(folder))?;
    // The one of this machine also says how it is used.
    let own = match &options.program {
        Some(program) => program.clone(),
        None => build(ReleaseMachine::named(std::env::consts::ARCH)?)?,
    };
    let moment = commit_time()?;
    let bill = folder.join(SBOM);
    fs::write(&bill, sbom::sbom(&moment)?).map_err(in_file(&bill))?;
    let mut made = vec![bill.clone()];
    for machine in machines {
        let program = match machine.is_own() {
            true => own.clone(),
            false => build(machine)?,
        };
        let files = ReleaseFiles::copy(folder, machine, &program, &own, &bill)?;
        made.push(packages::archive(&files, folder, &moment)?);
        made.push(packages::debian(&files, folder, &moment)?);
        files.remove()?;
    }
    let names = made.iter().filter_map(|file| file.file_name());
    let sums = call(Command::new("sha256sum").args(names).current_dir(folder))?;
    let path = folder.join(CHECKSUMS);
    fs::write(&path, sums).map_err(in_file(&path))?;
    made.push(path);
    for file in made {
        println!("{}", file.display());
    }
    Ok(())
}

/// Prints what is in the program.
///
/// # Errors
/// Cargo's or git's.
pub fn print_sbom() -> Result<()> {
    print!("{}", sbom::sbom(&commit_time()?)?);
    Ok(())
}

/// The program for a machine, with the agents for others in it.
fn build(machine: ReleaseMachine) -> Result<PathBuf> {
    let target = machine.target();
    let mut cargo = Command::new("cargo");
    match machine.is_own() {
        true => cargo.arg("build"),
        // What it has in C needs a compiler and a libc for the other machine.
        false => cargo
            .arg("zigbuild")
            .env("PATH", with_tools("target/crossing/bin")?),
    };
    call(cargo.args([
        "--release",
        "--locked",
        "--target",
        &target,
        "-p",
        "backsight",
    ]))?;
    let program = PathBuf::from(format!("target/{target}/release/backsight"));
    let mut adding = Command::new("scripts/add-agents");
    adding.arg(&program).arg("target/agents");
    if !machine.is_own() {
        // The compiler's own, which knows programs of all machines.
        let rust = call(Command::new("rustc").args(["--print", "target-libdir"]))?;
        let objcopy = Path::new(rust.trim()).join("../bin/rust-objcopy");
        adding.env("OBJCOPY", objcopy);
    }
    call(&mut adding)?;
    Ok(program)
}

/// When the commit was made, in seconds since 1970: what files of a release say of themselves.
fn commit_time() -> Result<String> {
    if let Ok(said) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(said);
    }
    let said = call(Command::new("git").args(["log", "-1", "--format=%ct"]))?;
    Ok(said.trim().to_owned())
}

/// The paths of programs, tools of ours in this folder first.
fn with_tools(folder: &str) -> Result<std::ffi::OsString> {
    let mut path = std::path::absolute(folder)
        .map_err(in_file(Path::new(folder)))?
        .into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    Ok(path)
}
