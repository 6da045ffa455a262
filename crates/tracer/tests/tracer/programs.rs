//! Programs whose calls are known: tests/programs, compiled when a test needs them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A program of tests/programs, compiled.
pub fn program(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&folder).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
    let built = folder.join(name);
    if is_older(&built, &source) {
        // Tests run side by side: each compiles for itself, and what is in place is always whole.
        let own = folder.join(format!("{name}.{}", std::process::id()));
        let done = Command::new("cc")
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
            .args([&own, &source])
            .status()
            .expect("a C compiler, `cc`, is needed");
        assert!(done.success(), "{name}.c doesn't compile");
        std::fs::rename(own, &built).unwrap();
    }
    built
}

fn is_older(built: &Path, source: &Path) -> bool {
    let changed = |file: &Path| file.metadata().and_then(|about| about.modified());
    match (changed(built), changed(source)) {
        (Ok(built), Ok(source)) => built < source,
        _ => true,
    }
}
