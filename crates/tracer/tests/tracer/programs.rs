//! Programs whose calls are known: tests/programs, compiled when a test needs them; and the tracer that ours is compared with.

use backsight_test_needs::Need;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A program of tests/programs, compiled.
pub fn program(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&folder).unwrap();
    let source = source(name);
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

/// What a program of tests/programs is compiled from.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"))
}

fn is_older(built: &Path, source: &Path) -> bool {
    let changed = |file: &Path| file.metadata().and_then(|about| about.modified());
    match (changed(built), changed(source)) {
        (Ok(built), Ok(source)) => built < source,
        _ => true,
    }
}

/// What the newest strace says of itself. What it tells is told so here, line by line.
pub const NEWEST_STRACE: &str = "strace -- version 7.2";

/// Whether strace isn't here in the version that this is compared with.
pub fn is_strace_missing() -> bool {
    let output = Command::new("strace").arg("-V").output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let said = said.unwrap_or_else(|error| error.to_string());
    Need::Strace.is_missing_in(match said.lines().next() {
        Some("strace -- version 6.1" | NEWEST_STRACE) => Ok(()),
        _ => Err(said),
    })
}
