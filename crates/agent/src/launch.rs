//! From what a step says to a program that can be started: which file, with which arguments, where.
//!
//! Programs are looked up here and not by `exec`, so that a missing one can be named, and so that the standard library
//! takes its quickest way to start a process (`posix_spawn`, which needs a path).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use nix::unistd::{AccessFlags, access};

use crate::shell::shell_needed;
use crate::step::{Command, Reason};

const SHELL: &str = "/bin/sh";
/// What to search if the environment doesn't say.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program that was found.
#[derive(Debug)]
pub(crate) struct Launch {
    program: PathBuf,
    words: Vec<String>,
    env: BTreeMap<String, String>,
    folder: PathBuf,
    pub(crate) by_shell: bool,
}

impl Launch {
    /// Finds the program of a command.
    ///
    /// # Errors
    ///
    /// The reason why the step can't run: no such program, not executable, no such folder.
    pub(crate) fn find(
        command: &Command,
        env: BTreeMap<String, String>,
        folder: PathBuf,
    ) -> Result<Self, Reason> {
        let (words, by_shell) = words(command);
        let Some(name) = words.first().cloned() else {
            return Err(Reason::CannotStart {
                why: "the command is empty".into(),
            });
        };
        if !folder.is_dir() {
            return Err(Reason::CannotStart {
                why: format!("there is no folder {}", folder.display()),
            });
        }
        let program = search(&name, &env, &folder)?;
        Ok(Self {
            program,
            words,
            env,
            folder,
            by_shell,
        })
    }

    /// The process to start, in a process group of its own.
    pub(crate) fn process(&self, stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> Process {
        let mut process = Process::new(&self.program);
        process
            .arg0(&self.words[0])
            .args(&self.words[1..])
            .envs(&self.env)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0);
        process
    }

    /// The program's file, for messages.
    pub(crate) fn name(&self) -> String {
        self.program.display().to_string()
    }
}

fn words(command: &Command) -> (Vec<String>, bool) {
    match command {
        Command::Argv(words) => (words.clone(), false),
        Command::Text(text) if shell_needed(text) => {
            (vec![SHELL.into(), "-c".into(), text.clone()], true)
        }
        Command::Text(text) => (text.split_whitespace().map(str::to_owned).collect(), false),
    }
}

fn search(name: &str, env: &BTreeMap<String, String>, folder: &Path) -> Result<PathBuf, Reason> {
    if name.contains('/') {
        let program = folder.join(name);
        return match usable(&program) {
            Usable::Yes => Ok(program),
            Usable::No => Err(Reason::CannotStart {
                why: format!("{name} isn't executable"),
            }),
            Usable::Missing => Err(Reason::NotFound {
                program: name.to_owned(),
            }),
        };
    }
    let path = env
        .get("PATH")
        .map(OsString::from)
        .or_else(|| std::env::var_os("PATH"))
        .unwrap_or_else(|| DEFAULT_PATH.into());
    let mut barred = None;
    for place in std::env::split_paths(&path) {
        let program = folder.join(place).join(name);
        match usable(&program) {
            Usable::Yes => return Ok(program),
            Usable::No => barred = barred.or(Some(program)),
            Usable::Missing => {}
        }
    }
    Err(match barred {
        Some(program) => Reason::CannotStart {
            why: format!("{} isn't executable", program.display()),
        },
        None => Reason::NotFound {
            program: name.to_owned(),
        },
    })
}

enum Usable {
    Yes,
    No,
    Missing,
}

fn usable(program: &Path) -> Usable {
    match fs::metadata(program) {
        Ok(file) if file.is_file() && access(program, AccessFlags::X_OK).is_ok() => Usable::Yes,
        Ok(_) => Usable::No,
        Err(_) => Usable::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, path: &str) -> Result<Launch, Reason> {
        let env = BTreeMap::from([("PATH".to_owned(), path.to_owned())]);
        Launch::find(&Command::Text(text.into()), env, "/tmp".into())
    }

    #[test]
    fn a_program_is_sought_along_the_steps_own_path() {
        assert_eq!(
            find("sh", "/nowhere:/bin").unwrap().program,
            Path::new("/bin/sh")
        );
        assert_eq!(
            find("sh", "/nowhere").unwrap_err(),
            Reason::NotFound {
                program: "sh".into()
            }
        );
    }

    #[test]
    fn a_file_that_is_no_program_is_not_called_missing() {
        assert!(matches!(
            find("/etc/passwd", ""),
            Err(Reason::CannotStart { .. })
        ));
        assert!(matches!(
            find("passwd", "/etc"),
            Err(Reason::CannotStart { .. })
        ));
    }

    #[test]
    fn an_empty_command_and_a_missing_folder_are_refused() {
        assert!(matches!(
            find("  ", "/bin"),
            Err(Reason::CannotStart { .. })
        ));
        let nowhere = Launch::find(
            &Command::Argv(vec!["sh".into()]),
            BTreeMap::new(),
            "/no/such/folder".into(),
        );
        assert_eq!(
            nowhere.unwrap_err(),
            Reason::CannotStart {
                why: "there is no folder /no/such/folder".into()
            }
        );
    }
}
