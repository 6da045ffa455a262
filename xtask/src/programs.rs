//! Other programs, and files, with what can go wrong with them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// A file or folder.
    #[error("{}: {cause}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A program couldn't be started, or failed.
    #[error("`{line}` {message}")]
    Program {
        /// Its words.
        line: String,
        /// What became of it.
        message: String,
    },
}

/// Runs a program to its end; what it printed. What it says on standard error is seen.
pub fn call(command: &mut Command) -> Result<String, ProgramError> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>();
    let line = line.join(" ");
    let failed = |message: String| ProgramError::Program {
        line: line.clone(),
        message,
    };
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|cause| failed(format!("can't be run: {cause}")))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(format!("failed: {}", output.status))),
    }
}

/// Removes a folder, if it is there.
pub fn remove(folder: &Path) -> Result<(), ProgramError> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(in_file(folder)(cause)),
        _ => Ok(()),
    }
}

/// Says which file it is about.
pub fn in_file(path: &Path) -> impl FnOnce(io::Error) -> ProgramError {
    let path = path.to_owned();
    move |cause| ProgramError::File { path, cause }
}
