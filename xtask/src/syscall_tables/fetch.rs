//! Fetches the pinned headers with pip, which checks their hash, and unpacks them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::{GeneratorError, in_file};

/// Where constants come from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    package: String,
    version: String,
    platform: String,
    sha256: String,
    /// Headers of the C library that define what the kernel's own headers leave to it.
    pub libc: Vec<String>,
}

impl Sources {
    /// Reads `sources.toml`.
    pub fn read(file: &Path) -> Result<Sources, GeneratorError> {
        let text = std::fs::read_to_string(file).map_err(in_file(file))?;
        toml::from_str(&text).map_err(|cause| GeneratorError::Toml {
            path: file.to_owned(),
            cause,
        })
    }

    /// The folder of the headers; they are fetched once a version.
    pub fn fetch(&self, scratch: &Path) -> Result<PathBuf, GeneratorError> {
        let home = scratch.join(format!("{}-{}", self.package, self.version));
        let include = home.join(&self.package).join("lib/libc/include");
        if include.is_dir() {
            return Ok(include);
        }
        let pins = scratch.join("requirements.txt");
        let pin = format!(
            "{}=={} --hash=sha256:{}\n",
            self.package, self.version, self.sha256
        );
        std::fs::write(&pins, pin).map_err(in_file(&pins))?;
        let unpacked = scratch.join("unpacked");
        if unpacked.exists() {
            std::fs::remove_dir_all(&unpacked).map_err(in_file(&unpacked))?;
        }
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--require-hashes"])
            .args(["--no-deps", "--no-compile", "--only-binary", ":all:"])
            .args(["--platform", &self.platform, "--requirement"])
            .arg(&pins)
            .arg("--target")
            .arg(&unpacked);
        super::compiler::output(pip)?;
        std::fs::rename(&unpacked, &home).map_err(in_file(&home))?;
        Ok(include)
    }
}
