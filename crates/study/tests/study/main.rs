//! Studies with real agents, and in made-up worlds.

#![allow(clippy::unwrap_used)]

mod background_builds;
mod growing;
mod library;
mod several_testbeds;

use std::path::PathBuf;

/// An example of this package, which its tests start. Cargo builds it before them.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().with_file_name("examples");
    let program = folder.join(name);
    assert!(program.exists(), "{}", program.display());
    program
}
