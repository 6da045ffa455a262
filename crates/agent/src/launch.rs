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

use crate::launch_conditions::LaunchConditions;
use crate::shell::shell_needed;
use crate::step::{EndReason, StepCommand};

const SHELL: &str = "/bin/sh";
/// What to search if the environment doesn't say.
pub(crate) const DEFAULT_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program that was found.
#[derive(Debug)]
pub(crate) struct Launch {
    program: PathBuf,
    words: Vec<String>,
    env: BTreeMap<String, String>,
    folder: PathBuf,
    conditions: LaunchConditions,
}

impl Launch {
    /// Finds the program of a command.
    ///
    /// # Errors
    ///
    /// The reason why the step can't run: no such program, not executable, no such folder.
    pub(crate) fn find(
        command: &StepCommand,
        env: BTreeMap<String, String>,
        folder: PathBuf,
        conditions: LaunchConditions,
    ) -> Result<Self, EndReason> {
        let words = words(command);
        let Some(name) = words.first().cloned() else {
            return Err(EndReason::CannotStart {
                why: "the command is empty".into(),
            });
        };
        if !folder.is_dir() {
            return Err(EndReason::CannotStart {
                why: format!("there is no folder {}", folder.display()),
            });
        }
        let program = search(&name, &env, &folder)?;
        Ok(Self {
            program,
            words,
            env,
            folder,
            conditions,
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
        self.conditions.give_to(&mut process);
        process
    }

    /// The program's file, for messages.
    pub(crate) fn name(&self) -> String {
        self.program.display().to_string()
    }
}

fn words(command: &StepCommand) -> Vec<String> {
    match command {
        StepCommand::Argv(words) => words.clone(),
        StepCommand::Text(text) if shell_needed(text) => {
            vec![SHELL.into(), "-c".into(), text.clone()]
        }
        StepCommand::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
    }
}

fn search(name: &str, env: &BTreeMap<String, String>, folder: &Path) -> Result<PathBuf, EndReason> {
    if name.contains('/') {
        let program = folder.join(name);
        return match usable(&program) {
            Usable::Yes => Ok(program),
            Usable::No => Err(EndReason::CannotStart {
                why: format!("{name} isn't executable"),
            }),
            Usable::Missing => Err(EndReason::NotFound {
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
        Some(program) => EndReason::CannotStart {
            why: format!("{} isn't executable", program.display()),
        },
        None => EndReason::NotFound {
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

    fn find(text: &str, path: &str) -> Result<Launch, EndReason> {
        let env = BTreeMap::from([("PATH".to_owned(), path.to_owned())]);
        let command = StepCommand::Text(text.into());
        Launch::find(&command, env, "/tmp".into(), LaunchConditions::default())
    }

    #[test]
    fn a_program_is_sought_along_the_steps_own_path() {
        assert_eq!(
            find("sh", "/nowhere:/bin").unwrap().program,
            Path::new("/bin/sh")
        );
        assert_eq!(
            find("sh", "/nowhere").unwrap_err(),
            EndReason::NotFound {
                program: "sh".into()
            }
        );
    }

    #[test]
    fn a_file_that_is_no_program_is_not_called_missing() {
        assert!(matches!(
            find("/etc/passwd", ""),
            Err(EndReason::CannotStart { .. })
        ));
        assert!(matches!(
            find("passwd", "/etc"),
            Err(EndReason::CannotStart { .. })
        ));
    }

    #[test]
    fn an_empty_command_and_a_missing_folder_are_refused() {
        assert!(matches!(
            find("  ", "/bin"),
            Err(EndReason::CannotStart { .. })
        ));
        let nowhere = Launch::find(
            &StepCommand::Argv(vec!["sh".into()]),
            BTreeMap::new(),
            "/no/such/folder".into(),
            LaunchConditions::default(),
        );
        assert_eq!(
            nowhere.unwrap_err(),
            EndReason::CannotStart {
                why: "there is no folder /no/such/folder".into()
            }
        );
    }
}
