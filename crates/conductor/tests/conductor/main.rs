//! Real agents on this machine, and kernels that are processes of it.

#![allow(clippy::unwrap_used)]

mod guests;
mod workbench;

use backsight_conductor::Reach;
use std::{path::PathBuf, time::Duration};

/// Nothing here takes that long, unless something is broken.
const LIMIT: Duration = Duration::from_secs(60);

/// Reaches hosts with the agent that is built beside the tests.
fn reach() -> Reach {
    let test = std::env::current_exe().unwrap();
    let program = test
        .parent()
        .unwrap()
        .with_file_name("examples")
        .join("agent");
    assert!(
        program.exists(),
        "{} is built by `cargo test`",
        program.display()
    );
    Reach { program }
}

/// A kernel that boots here.
fn uml() -> PathBuf {
    std::env::var_os("BACKSIGHT_TEST_UML")
        .map(PathBuf::from)
        .unwrap()
}
