//! Puts the definitions in `settings/` and `settings/sets/` into the program: adding a file there is all it takes.

use std::{env, error::Error, fmt::Write as _, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    embed("settings", "settings.rs")?;
    embed("settings/sets", "sets.rs")
}

/// Writes a list of name and text of each TOML file in a folder of the project.
fn embed(folder: &str, into: &str) -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?)
        .join("../..")
        .join(folder);
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
