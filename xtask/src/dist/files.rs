//! The files of a release as they lie below `usr` or `usr/local`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use super::{ReleaseMachine, Result};
use crate::programs::{call, in_file, remove};

/// Files of the work tree, and where they lie in a release.
const FILES: [(&str, &str); 8] = [
    ("README.md", "share/doc/backsight/README.md"),
    ("CHANGELOG.md", "share/doc/backsight/CHANGELOG.md"),
    ("SECURITY.md", "share/doc/backsight/SECURITY.md"),
    ("LICENSE-MIT", "share/doc/backsight/LICENSE-MIT"),
    ("LICENSE-APACHE", "share/doc/backsight/LICENSE-APACHE"),
    (
        "packaging/systemd/backsight-serve.service",
        "lib/systemd/system/backsight-serve.service",
    ),
    (
        "packaging/systemd/backsight-worker.service",
        "lib/systemd/system/backsight-worker.service",
    ),
    (
        "packaging/systemd/backsight-watch.service",
        "lib/systemd/system/backsight-watch.service",
    ),
];
/// Shells, and where each looks for how to complete our words.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/backsight"),
    ("zsh", "share/zsh/vendor-completions/_backsight"),
    ("fish", "share/fish/vendor_completions.d/backsight.fish"),
];
const PAGES: &str = "share/man/man1";

/// The files of a release for a machine, in a folder.
pub struct ReleaseFiles {
    /// The folder.
    pub folder: PathBuf,
    /// The machine.
    pub machine: ReleaseMachine,
}

impl ReleaseFiles {
    /// Copies them into a folder here: the program, and what the one of this machine says of its use.
    pub fn copy(
        folder: &Path,
        machine: ReleaseMachine,
        program: &Path,
        own: &Path,
        bill: &Path,
    ) -> Result<Self> {
        let files = Self {
            folder: folder.join(format!("files-{}", machine.name)),
            machine,
        };
        remove(&files.folder)?;
        let place = files.place("bin/backsight")?;
        fs::copy(program, &place).map_err(in_file(&place))?;
        allow(&place, 0o755)?;
        if machine.is_own() {
            // One that was built to be debugged is five times as large. Sections of ours stay.
            call(Command::new("strip").arg("--strip-all").arg(&place))?;
        }
        let place = files.place("share/doc/backsight/backsight.cdx.json")?;
        fs::copy(bill, &place).map_err(in_file(bill))?;
        allow(&place, 0o644)?;
        for (source, name) in FILES {
            let place = files.place(name)?;
            fs::copy(source, &place).map_err(in_file(Path::new(source)))?;
            allow(&place, 0o644)?;
        }
        for (shell, name) in COMPLETIONS {
            let script = call(Command::new(own).args(["completions", shell]))?;
            let place = files.place(name)?;
            fs::write(&place, script).map_err(in_file(&place))?;
        }
        let pages = files.folder.join(PAGES);
        call(Command::new(own).arg("man").arg(&pages))?;
        files.compress_pages(&pages)?;
        Ok(files)
    }

    /// Pages are read as they are and compressed; Debian wants them so.
    fn compress_pages(&self, pages: &Path) -> Result<()> {
        let listed = fs::read_dir(pages).map_err(in_file(pages))?;
        let mut files = Vec::new();
        for entry in listed {
            files.push(entry.map_err(in_file(pages))?.path());
        }
        files.sort();
        call(Command::new("gzip").args(["-9", "-n"]).args(files))?;
        Ok(())
    }

    /// Where a file lies; its folder is made.
    fn place(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(in_file(folder))?;
        }
        Ok(path)
    }

    /// Removes them.
    pub fn remove(self) -> Result<()> {
        Ok(remove(&self.folder)?)
    }
}

/// Says who may do what with a file.
pub fn allow(path: &Path, mode: u32) -> Result<()> {
    let permissions = fs::Permissions::from_mode(mode);
    Ok(fs::set_permissions(path, permissions).map_err(in_file(path))?)
}
