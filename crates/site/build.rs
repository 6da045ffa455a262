//! Builds the scripts and styles of interactive pages (`web/`) with Vite; `src/pages/assets.rs` puts them into the program.

use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
    process::Command,
};

/// What the build reads, from `web/`.
const INPUTS: [&str; 4] = ["src", "package.json", "package-lock.json", "vite.config.js"];

fn main() -> Result<(), Box<dyn Error>> {
    let project = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let web = project.join("web").canonicalize()?;
    for input in INPUTS {
        println!("cargo::rerun-if-changed={}", web.join(input).display());
    }
    let vite = web.join("node_modules/vite/bin/vite.js");
    println!("cargo::rerun-if-changed={}", vite.display());
    if !vite.is_file() {
        return Err("web/node_modules is missing: run `scripts/setup build`".into());
    }
    let out = Path::new(&env::var("OUT_DIR")?).join("web");
    let built = Command::new("node")
        .arg(&vite)
        .args(["build", "--logLevel", "warn", "--emptyOutDir", "--outDir"])
        .arg(&out)
        .current_dir(&web)
        .status()
        .map_err(|why| format!("Node.js (20.19 or newer) can't be started: {why}"))?;
    if !built.success() {
        return Err(format!("Vite failed: {built}").into());
    }
    Ok(())
}
