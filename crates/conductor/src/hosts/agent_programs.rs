//! The programs that are agents of other machines: this one for machines like this, and for others those that somebody put into a
//! folder, by the machine's name as `uname -m` says it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// The folder of agents for other machines, if it isn't where this program is installed.
const FOLDER_VARIABLE: &str = "BACKSIGHT_AGENTS";
/// Where they are unless said, from the folder of this program.
const INSTALLED: &str = "../share/backsight/agents";
/// What their files are called, before the machine's name.
const PREFIX: &str = "backsight-agent-";

/// A program that is an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentProgram {
    /// The machines that it is for: `x86_64`, `aarch64`.
    pub(crate) machine: String,
    /// Where it is here.
    pub(crate) path: PathBuf,
    /// The name of its file there: another program, another name.
    pub(crate) file: String,
    /// Its size, in bytes.
    pub(crate) size: u64,
}

impl AgentProgram {
    fn new(machine: &str, path: PathBuf) -> io::Result<Self> {
        let meta = path.metadata()?;
        let changed = meta.modified()?.duration_since(UNIX_EPOCH);
        let changed = changed.unwrap_or_default().as_nanos();
        let (version, size) = (env!("CARGO_PKG_VERSION"), meta.len());
        let suffix = match machine {
            env::consts::ARCH => String::new(),
            other => format!("-{other}"),
        };
        Ok(Self {
            machine: machine.to_owned(),
            path,
            file: format!("agent-{version}-{size}-{changed}{suffix}"),
            size,
        })
    }

    /// This program.
    ///
    /// # Errors
    /// It can't be read.
    pub(crate) fn own(path: &Path) -> io::Result<Self> {
        Self::new(env::consts::ARCH, path.to_owned())
    }

    /// All that are here: this program for machines like this one, then those for others.
    ///
    /// # Errors
    /// This program can't be read.
    pub(crate) fn all(own: &Path) -> io::Result<Vec<Self>> {
        let named = env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
        let installed = || Some(own.parent()?.join(INSTALLED));
        let folder = named.or_else(installed).unwrap_or_default();
        let mut all = vec![Self::own(own)?];
        all.extend(Self::in_folder(&folder));
        Ok(all)
    }

    /// Those for other machines in a folder, which needn't be there.
    fn in_folder(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut all: Vec<Self> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let machine = name.strip_prefix(PREFIX)?;
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let is_other = machine != env::consts::ARCH && !machine.is_empty();
                let fits = is_other && machine.chars().all(is_name) && entry.path().is_file();
                fits.then(|| Self::new(machine, entry.path()).ok())?
            })
            .collect();
        all.sort_by(|one, other| one.machine.cmp(&other.machine));
        all
    }

    /// What to do where there is none for a machine.
    pub(crate) fn missing(machine: &str) -> String {
        format!(
            "it is {machine}, and there is no agent for that here: build this program for it, and put it as `{PREFIX}ARCHITECTURE` into the \
             folder that {FOLDER_VARIABLE} names"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_for_other_machines_are_known_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let own = env::consts::ARCH;
        for file in [
            "backsight-agent-aarch64x",
            "backsight-agent-riscv64",
            &format!("backsight-agent-{own}"),
            "backsight-agent-",
            "backsight-agent-a;b",
            "other",
        ] {
            fs::write(folder.path().join(file), "x").unwrap();
        }
        let found = AgentProgram::in_folder(folder.path());
        let machines: Vec<&str> = found.iter().map(|it| it.machine.as_str()).collect();
        assert_eq!(machines, ["aarch64x", "riscv64"]);
        assert!(found[1].file.ends_with("-riscv64") && found[1].file.starts_with("agent-0"));
        assert!(AgentProgram::in_folder(&folder.path().join("gone")).is_empty());
        let this = env::current_exe().unwrap();
        let all = AgentProgram::all(&this).unwrap();
        assert_eq!((all[0].machine.as_str(), &all[0].path), (own, &this));
    }
}
