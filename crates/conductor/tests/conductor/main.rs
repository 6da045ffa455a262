//! Real agents on this machine, and kernels that are processes of it.

#![allow(clippy::unwrap_used)]

mod guests;
mod workbench;

use backsight_conductor::HostAccess;
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// Nothing here takes that long, unless something is broken.
const LIMIT: Duration = Duration::from_secs(60);

/// Reaches hosts with the agent that is built beside the tests.
fn reach() -> HostAccess {
    let test = std::env::current_exe().unwrap();
    let program = test
        .parent()
        .unwrap()
        .with_file_name("examples")
        .join("conducted");
    assert!(
        program.exists(),
        "{} is built by `cargo test`",
        program.display()
    );
    HostAccess::with_program(program)
}

/// A kernel that boots here: Debian's, helped over processors that it doesn't know.
fn uml() -> PathBuf {
    const KERNEL: &str = "/usr/bin/linux.uml";
    assert!(
        Path::new(KERNEL).exists(),
        "these tests boot {KERNEL}: apt-get install user-mode-linux"
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conductor/xstate.c");
    // Tests are processes that run at once: each puts the same whole file in its place.
    let (program, own) = (
        folder.join("uml"),
        folder.join(std::process::id().to_string()),
    );
    let library = folder.join("xstate.so");
    let made = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(&own)
        .arg(source)
        .status()
        .unwrap();
    assert!(made.success());
    std::fs::rename(&own, &library).unwrap();
    let script = format!(
        "#!/bin/sh\nLD_PRELOAD='{}' exec {KERNEL} \"$@\"\n",
        library.display()
    );
    std::fs::write(&own, script).unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&own, &program).unwrap();
    program
}
