//! Puts the data files of a folder of the project into a program: for build scripts. Adding a file there is all it takes.
//!
//! A macro doesn't notice that a file is added to a folder; a build script is run again then.
//!
//! ```no_run
//! // build.rs; the crate includes it: `include!(concat!(env!("OUT_DIR"), "/importers.rs"))`.
//! backsight_embed::embed_toml("importers", "importers.rs")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{env, error::Error, fmt::Write as _, fs, path::PathBuf};

/// Writes a list of name and text of each TOML file in a folder of the project, in the order of their names, as Rust into this file
/// of the build's folder.
///
/// # Errors
/// The folder can't be read; a name isn't UTF-8; this isn't a build script.
pub fn embed_toml(folder: &str, into: &str) -> Result<(), Box<dyn Error>> {
    let project = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let folder = project.join(folder);
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "toml")
    });
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .ok_or("a file's name is not UTF-8")?;
        let path = file.canonicalize()?;
        writeln!(
            list,
            "    ({name:?}, include_str!({:?})),",
            path.display().to_string()
        )?;
    }
    list.push_str("]\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join(into), list)?;
    Ok(())
}
