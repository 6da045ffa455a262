//! Puts the definitions in `benchmarks/` and `monitors/` into the program: adding a file there is all it takes.

use std::{env, error::Error, fmt::Write as _, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    put("benchmarks", "definitions.rs")?;
    put("monitors", "monitors.rs")
}

/// Writes a list of name and text of each definition in a folder of the project.
fn put(folder: &str, into: &str) -> Result<(), Box<dyn Error>> {
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
